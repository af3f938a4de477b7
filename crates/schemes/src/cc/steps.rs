//! CUBIC's growth as Linux counts it (`tcp_cubic.c`): in whole segments, on a clock that ticks once a millisecond,
//! and looking at its curve again only when the window has changed or a 32nd of a second has passed.
//!
//! In a datacentre that decides: where a round trip takes 100 us, a window that has been cut stays as it is for 31 ms,
//! whatever RFC 9438 would have it do in 300 round trips.

use leafspine_core::{Span, Time};

/// A tick of the kernel's clock.
const TICK: Span = Span::from_millis(1);
/// So long the step lasts while the window stays as it is.
const PERIOD: u64 = 31;
/// What the window grows by where the curve is not above it: a segment for so many windows.
const SLOWLY: u32 = 100;

/// What it goes by, and how far it is. Windows in segments, times in ticks.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    /// A segment more for so many acknowledged.
    count: u32,
    /// Acknowledged since the window last grew.
    credit: u32,
    /// Acknowledged, and not yet in Reno's estimate.
    acked: u32,
    /// What Reno's window would be.
    estimate: u32,
    /// The window and the time when the curve was looked at.
    window: u32,
    at: u64,
    /// When the epoch began; the curve's middle.
    began: Option<u64>,
    origin: u32,
    /// K in seconds.
    k: f64,
    /// The shortest round trip.
    shortest: Option<Span>,
}

/// The curve's constants, and what is known of its maximum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curve {
    pub(super) c: f64,
    /// Segments that a window acknowledged adds to Reno's estimate.
    pub(super) alpha: f64,
    pub(super) friendly: bool,
    /// The window at the last congestion event in segments; 0: none is known.
    pub(super) maximum: u32,
    /// The least growth in a round trip while none is known.
    pub(super) least: f64,
}

impl Steps {
    /// A round trip has been measured.
    pub(super) fn sample(&mut self, rtt: Span) {
        self.shortest = Some(self.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
    }

    /// A congestion event ends the epoch. What the curve gave stays until it is looked at again: if
    /// the event is undone and the window is the one of before, that is when the period is over,
    /// and only then the next epoch begins.
    pub(super) fn end_epoch(&mut self) {
        (self.began, self.credit) = (None, 0);
    }

    /// A timeout forgets everything (`bictcp_reset`).
    pub(super) fn forget(&mut self) {
        *self = Steps::default();
    }

    /// So many segments have been acknowledged with a window of `window`; gives by how many it grows.
    pub(super) fn on_ack(&mut self, acked: u32, window: u32, curve: &Curve, now: Time) -> u32 {
        self.look(acked, window, curve, now.0 / TICK.0);
        let mut more = 0;
        if self.credit >= self.count {
            self.credit = 0;
            more = 1;
        }
        self.credit += acked;
        if self.credit >= self.count {
            more += self.credit / self.count;
            self.credit %= self.count;
        }
        more
    }

    /// Looks at the curve, if it is time to.
    fn look(&mut self, acked: u32, window: u32, curve: &Curve, now: u64) {
        self.acked += acked;
        let same = self.window == window && self.count > 0;
        if same && now - self.at <= PERIOD {
            return;
        }
        if self.began.is_none() || now != self.at {
            (self.window, self.at) = (window, now);
            self.step(acked, window, curve, now);
        }
        self.be_fair(window, curve);
        self.count = self.count.max(2);
    }

    /// How fast the curve grows here.
    fn step(&mut self, acked: u32, window: u32, curve: &Curve, now: u64) {
        let began = *self.began.get_or_insert_with(|| {
            (self.acked, self.estimate) = (acked, window);
            let missing = curve.maximum.saturating_sub(window);
            self.k = libm::cbrt(f64::from(missing) / curve.c);
            self.origin = curve.maximum.max(window);
            now
        });
        // Where the curve will be when this is acknowledged: no less than a tick, so that at an
        // epoch's start it is past its own first segment.
        let ahead = self.shortest.map_or(0, |shortest| shortest.0.div_ceil(TICK.0));
        let past = (now - began + ahead) as f64 / 1000.0 - self.k;
        let target = f64::from(self.origin) + libm::trunc(curve.c * past * past * past);
        let gap = target - f64::from(window);
        self.count = if gap >= 1.0 { window / gap as u32 } else { SLOWLY.saturating_mul(window) };
        if curve.maximum == 0 && curve.least > 0.0 {
            self.count = self.count.min((1.0 / curve.least) as u32);
        }
    }

    /// Never more slowly than Reno.
    fn be_fair(&mut self, window: u32, curve: &Curve) {
        if !curve.friendly {
            return;
        }
        let each = ((f64::from(window) / curve.alpha) as u32).max(1);
        self.estimate += self.acked.saturating_sub(1) / each;
        self.acked -= self.acked.saturating_sub(1) / each * each;
        if self.estimate > window {
            self.count = self.count.min(window / (self.estimate - window));
        }
    }
}
