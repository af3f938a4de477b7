//! Slow start and additive increase, halving on loss.

use super::hystart::{Growth, HyStart};
use super::steps::Steps;
use super::{AckSample, CongestionControl, Control, Entry, FlowEnv, Loss};
use crate::{Demands, Kind, Param, ParamError, Params, Provenance, SchemeInfo, parameters};
use leafspine_core::Time;

/// `slow_start_limit`, which all controls here share.
pub(super) const SLOW_START_LIMIT: Param = Param::new(
    Kind::Int(1, 1_000_000),
    "1",
    "Segments that one ACK may add to the window in slow start (L of RFC 3465 §2.2).",
);

parameters! {
    struct Settings {
        slow_start_limit: u64 = SLOW_START_LIMIT,
    }
}

pub(super) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "newreno",
        summary: "Slow start, additive increase by one segment a round trip, halving on loss.",
        source: "RFC 5681, RFC 6582, RFC 3465; RFC 3168 for ECN",
        provenance: Provenance::Rfc,
        unspecified: &[
            "RFC 5681 §3.1 asks for an arbitrarily high initial threshold: the largest number.",
            "The window grows in congestion avoidance by counting acknowledged bytes (RFC 5681 \
             §3.1, second way), a whole segment at a time.",
            "On ECE the threshold is the halved window, at least one segment (RFC 3168 §6.1.2 \
             bounds the window by one segment and gives no bound for the threshold).",
            "With ECE and a window of one segment, the window stays at one segment; the slower \
             sending by timer that RFC 3168 §6.1.2 allows is left out.",
        ],
        params: Settings::PARAMS,
        demands: Demands::NONE,
    },
    build,
    ecn: false,
};

fn build(params: &Params, env: &FlowEnv) -> Result<Control, ParamError> {
    let settings = Settings::read(params)?;
    Ok(Control::NewReno(NewReno::new(env, settings.slow_start_limit)))
}

/// The window of RFC 5681, in bytes. The other controls grow from it.
#[derive(Clone, Debug)]
pub struct NewReno {
    pub(super) cwnd: u32,
    pub(super) ssthresh: u32,
    pub(super) mss: u32,
    /// Bytes acknowledged since congestion avoidance last added a segment.
    gathered: u32,
    /// Most segments that one ACK adds in slow start.
    per_ack: u16,
    /// Whole segments, as Linux counts them: reductions are of the window, and not of what is in flight, and leave two
    /// segments at least.
    pub(super) whole: bool,
    /// CUBIC's `cwnd_prior`, the window before its last congestion event: here it takes no memory.
    pub(super) prior: u32,
    /// Watches the first slow start, unless that ends by loss or mark only.
    watch: Option<Box<Aside>>,
}

/// What only some flows keep, in memory of its own.
#[derive(Clone, Debug)]
struct Aside {
    hystart: Option<HyStart>,
    /// It has ended a slow start, and says no more before a timeout (Linux's `found`).
    found: bool,
    /// CUBIC's.
    steps: Option<Steps>,
}

impl Aside {
    fn new(env: &FlowEnv) -> Option<Box<Aside>> {
        let hystart = HyStart::new(env.slow_start, env.gso);
        let steps = env.whole.then(Steps::default);
        (hystart.is_some() || steps.is_some())
            .then(|| Box::new(Aside { hystart, found: false, steps }))
    }
}

impl NewReno {
    /// A flow's start. `slow_start_limit` is in segments an ACK.
    #[must_use]
    pub fn new(env: &FlowEnv, slow_start_limit: u64) -> NewReno {
        NewReno {
            cwnd: env.init_cwnd.max(env.mss),
            ssthresh: u32::MAX,
            mss: env.mss,
            gathered: 0,
            per_ack: u16::try_from(slow_start_limit).unwrap_or(u16::MAX),
            whole: env.whole,
            prior: 0,
            watch: Aside::new(env),
        }
    }

    /// Whether the window is below the threshold.
    #[inline]
    pub(super) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// RFC 5681 §3.1 eq. 2: `cwnd += min(N, SMSS)`, with L segments for one by RFC 3465 §2.2.
    /// Returns what is left of the ACK: Linux ends slow start at the threshold, and the rest counts
    /// for what follows it (`tcp_slow_start`).
    #[inline]
    pub(super) fn slow_start(&mut self, ack: &AckSample, now: Time) -> u32 {
        let mut more = ack.acked.min(u32::from(self.per_ack).saturating_mul(self.mss));
        let mut left = 0;
        if self.whole {
            left = more.saturating_sub(self.ssthresh - self.cwnd);
            more -= left;
        }
        if self.watch.is_none() {
            self.cwnd += more;
        } else if self.watched(ack, more, now) && self.whole {
            // Linux looks first (`hystart_update`): none of it is slow start's.
            left = ack.acked;
        }
        left
    }

    /// CUBIC's growth, where windows are counted as Linux counts them.
    pub(super) fn steps(&mut self) -> Option<&mut Steps> {
        self.watch.as_mut()?.steps.as_mut()
    }

    /// No slow start is watched any more; in Linux those after a timeout are.
    fn end_watch(&mut self) {
        match &mut self.watch {
            Some(aside) if self.whole => aside.found = true,
            watch => *watch = None,
        }
    }

    /// A timeout: Linux watches the next slow start.
    pub(super) fn watch_again(&mut self) {
        if let Some(aside) = self.watch.as_mut().filter(|_| self.whole) {
            aside.hystart = aside.hystart.as_ref().and_then(HyStart::anew);
            aside.found = false;
        }
    }

    /// Slow start under watch: an ACK grows the window by all of `more`, by a part, or ends it, which is returned.
    fn watched(&mut self, ack: &AckSample, more: u32, now: Time) -> bool {
        let window = (self.cwnd / self.mss, self.cwnd);
        let watch = self.watch.as_mut().filter(|aside| !aside.found);
        let watch = watch.and_then(|aside| aside.hystart.as_mut());
        let growth = watch.map_or(Growth::Full, |watch| watch.on_ack(ack, window, now));
        match growth {
            Growth::Full => self.cwnd += more,
            Growth::Divided(by) => self.cwnd += more / by,
            Growth::End => {
                self.ssthresh = self.cwnd;
                self.end_watch();
            }
        }
        matches!(growth, Growth::End)
    }

    /// RFC 5681 §3.1: a segment more each time a whole window has been acknowledged.
    #[inline]
    pub(super) fn grow(&mut self, ack: &AckSample, now: Time) {
        let mut acked = ack.acked;
        if self.in_slow_start() {
            acked = self.slow_start(ack, now);
            if acked == 0 {
                return;
            }
        }
        self.gathered += acked;
        if self.gathered >= self.cwnd {
            self.gathered -= self.cwnd;
            self.cwnd += self.mss;
        }
    }

    /// Sets window and threshold after a congestion event, at least one segment each.
    pub(super) fn shrink(&mut self, cwnd: u32, ssthresh: u32) {
        self.cwnd = cwnd.max(self.mss);
        self.ssthresh = ssthresh.max(self.mss);
        self.gathered = 0;
        let hystart = self.watch.as_ref().and_then(|aside| aside.hystart.as_ref());
        // Linux goes on, in case this is undone. It has no HyStart++, which is for the first slow start alone.
        if !self.whole || hystart.is_some_and(HyStart::is_plus) {
            self.end_watch();
        }
    }

    /// All is as it was in `before`; in Linux window and threshold.
    pub(super) fn undo(&mut self, before: &NewReno) {
        if self.whole {
            self.restore(before);
        } else {
            self.clone_from(before);
        }
    }

    /// The window and threshold that `before` had; Linux's threshold is three quarters of the
    /// window at least (`tcp_current_ssthresh`).
    pub(super) fn restore(&mut self, before: &NewReno) {
        let segments = before.cwnd / self.mss;
        let least = if self.whole { segments / 2 + segments / 4 } else { 0 };
        (self.cwnd, self.ssthresh) = (before.cwnd, before.ssthresh.max(least * self.mss));
    }

    /// The least that a mark leaves of the window.
    pub(super) fn floor(&self) -> u32 {
        if self.whole { 2 * self.mss } else { 0 }
    }

    /// So many bytes as the window is counted.
    pub(super) fn counted(&self, bytes: u32) -> u32 {
        if self.whole { bytes / self.mss * self.mss } else { bytes }
    }

    /// RFC 5681 §3.1 eq. 4: half of what is in flight, at least two segments.
    fn half_of(&self, in_flight: u32) -> u32 {
        self.counted(in_flight / 2).max(2 * self.mss)
    }
}

impl CongestionControl for NewReno {
    fn on_message(&mut self) {
        if let Some(watch) = self.watch.as_mut().and_then(|aside| aside.hystart.as_mut()) {
            watch.recount();
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &AckSample, now: Time) {
        if ack.may_grow() {
            self.grow(ack, now);
        }
    }

    fn on_loss(&mut self, loss: Loss, in_flight: u32, _now: Time) {
        match loss {
            // RFC 5681 §3.2 step 2; the inflation by duplicate ACKs is the transport's.
            Loss::Fast => self.shrink(self.half_of(in_flight), self.half_of(in_flight)),
            // RFC 5681 §3.1: one segment, the "loss window".
            Loss::Timeout { first: true } => self.shrink(self.mss, self.half_of(in_flight)),
            Loss::Timeout { first: false } => self.shrink(self.mss, self.ssthresh),
            // RFC 3168 §6.1.2.
            Loss::Ecn => {
                let half = self.counted(self.cwnd / 2).max(self.floor());
                self.shrink(half, half);
            }
            Loss::Handshake => self.cwnd = self.mss,
        }
    }

    #[inline]
    fn window(&self) -> u32 {
        self.cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    /// RFC 2861 §3.1: the threshold remembers three quarters of the window, which halves for each
    /// timeout that has passed, down to the initial window.
    fn on_idle(&mut self, restart: u32, timeouts: u32, _now: Time) {
        self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
        let halved = self.cwnd.checked_shr(timeouts).unwrap_or(0);
        self.cwnd = halved.max(restart.min(self.cwnd));
        self.gathered = 0;
    }

    /// RFC 6582 §3.2 step 3, full acknowledgment, option 1.
    fn on_recovered(&mut self, limit: u32, _now: Time) {
        self.cwnd = self.cwnd.min(limit).max(self.mss);
    }

    fn on_broken_off(&mut self, window: u32) {
        self.cwnd = window.max(self.mss);
    }
}
