//! DCTCP: cuts the window in proportion to the share of marked bytes.

use super::newreno::{NewReno, SLOW_START_LIMIT};
use super::{AckSample, CongestionControl, Control, Entry, FlowEnv, Loss, Needs};
use crate::{Demands, Kind, Param, ParamError, Params, Provenance, SchemeInfo, parameters};
use leafspine_core::Time;

pub(super) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "dctcp",
        summary: "Reduces the window by half the estimated share of marked bytes, once a window.",
        source: "RFC 8257; Alizadeh et al., SIGCOMM 2010",
        provenance: Provenance::Rfc,
        unspecified: &[
            "RFC 8257 §3.3 starts alpha at 1; the ns-2 code of several papers starts it at 0: \
             `initial_alpha`.",
            "The threshold after a cut is the cut window, at least one segment.",
            "ACKs with ECE do not grow the window (RFC 3168 §6.1.2), in slow start neither.",
            "RFC 8257 §3.5 asks losses to be treated as in RFC 5681 and cuts once per window. A \
             cut by alpha/2 may be tiny, so a loss halves the window although marks have cut it in \
             the same window; marks after a loss in the same window cut nothing.",
        ],
        params: Settings::PARAMS,
        demands: Demands::NONE,
    },
    build,
    ecn: true,
};

parameters! {
    struct Settings {
        g: f64 = Param::new(
            Kind::Float(0.0, 1.0),
            "0.0625",
            "Weight of the newest window in alpha (RFC 8257 §4.2 recommends 1/16).",
        ),
        initial_alpha: f64 = Param::new(
            Kind::Float(0.0, 1.0),
            "1.0",
            "Estimated share of marked bytes before the first ACK.",
        ),
        slow_start_limit: u64 = SLOW_START_LIMIT,
    }
}

fn build(params: &Params, env: &FlowEnv) -> Result<Control, ParamError> {
    let settings = Settings::read(params)?;
    let reno = NewReno::new(env, settings.slow_start_limit);
    Ok(Control::Dctcp(Dctcp::new(reno, settings.g, settings.initial_alpha)))
}

/// RFC 8257's sender.
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: NewReno,
    /// `DCTCP.WindowEnd`, in segments.
    window_end: u32,
    /// `DCTCP.BytesAcked` in the observation window.
    acked: u32,
    /// `DCTCP.BytesMarked` in the observation window.
    marked: u32,
    alpha: f64,
    g: f64,
}

impl Dctcp {
    /// A flow's start.
    #[must_use]
    pub fn new(reno: NewReno, g: f64, initial_alpha: f64) -> Dctcp {
        Dctcp { reno, window_end: 0, acked: 0, marked: 0, alpha: initial_alpha, g }
    }

    /// The estimated share of marked bytes, `DCTCP.Alpha`.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The same as Linux counts it (`dctcp_update_alpha`): in 1024ths, of which a part too small to
    /// be one is taken whole; and the window ends with the ACK of its last segment, not with the
    /// next.
    fn end_whole_window(&mut self, nxt: u32) {
        const WHOLE: f64 = 1024.0;
        let alpha = (self.alpha * WHOLE) as u64;
        let part = (alpha as f64 * self.g) as u64;
        let kept = alpha - if part == 0 { alpha } else { part };
        let weight = (WHOLE * self.g) as u64;
        let marked = u64::from(self.marked.div_ceil(self.reno.mss));
        let acked = u64::from(self.acked.div_ceil(self.reno.mss)).max(1);
        self.alpha = (kept + marked * weight / acked).min(WHOLE as u64) as f64 / WHOLE;
        self.window_end = nxt;
        self.acked = 0;
        self.marked = 0;
    }

    /// Window and threshold are as `before`; what marks have told since is kept.
    pub(super) fn undo(&mut self, before: &Dctcp) {
        self.reno.restore(&before.reno);
    }

    /// RFC 8257 §3.3, steps 5 to 8. The only division, once a window.
    fn end_window(&mut self, nxt: u32) {
        let share = f64::from(self.marked) / f64::from(self.acked);
        self.alpha = self.alpha * (1.0 - self.g) + self.g * share;
        self.window_end = nxt;
        self.acked = 0;
        self.marked = 0;
    }
}

impl CongestionControl for Dctcp {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, now: Time) {
        // RFC 8257 §3.3, steps 1 to 4.
        self.acked += ack.acked;
        self.marked += ack.marked;
        if self.reno.whole && ack.una >= self.window_end {
            self.end_whole_window(ack.nxt);
        } else if !self.reno.whole && ack.una > self.window_end {
            self.end_window(ack.nxt);
        }
        self.reno.on_ack(ack, now);
    }

    fn on_loss(&mut self, loss: Loss, in_flight: u32, now: Time) {
        if loss == Loss::Ecn {
            // RFC 8257 §3.4: cwnd = cwnd * (1 - alpha / 2).
            let cwnd = self.reno.cwnd;
            let cut = if self.reno.whole {
                cwnd - self.reno.counted((f64::from(cwnd) * self.alpha / 2.0) as u32)
            } else {
                (f64::from(cwnd) * (1.0 - self.alpha / 2.0)) as u32
            };
            let cut = cut.max(self.reno.floor());
            self.reno.shrink(cut, cut);
        } else {
            self.reno.on_loss(loss, in_flight, now);
        }
    }

    #[inline]
    fn window(&self) -> u32 {
        self.reno.window()
    }

    fn ssthresh(&self) -> u32 {
        self.reno.ssthresh()
    }

    fn on_idle(&mut self, restart: u32, timeouts: u32, now: Time) {
        self.reno.on_idle(restart, timeouts, now);
    }

    fn on_recovered(&mut self, limit: u32, now: Time) {
        self.reno.on_recovered(limit, now);
    }

    fn on_broken_off(&mut self, window: u32) {
        self.reno.on_broken_off(window);
    }

    fn on_message(&mut self) {
        self.window_end = 0;
        self.reno.on_message();
    }

    fn needs(&self) -> Needs {
        Needs { precise_echo: true }
    }
}
