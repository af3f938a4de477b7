//! CUBIC: the window is a cubic function of the time since the last congestion event.

use super::newreno::{NewReno, SLOW_START_LIMIT};
use super::steps::Curve;
use super::{AckSample, CongestionControl, Control, Entry, FlowEnv, Loss};
use crate::{Demands, Kind, Param, ParamError, Params, Provenance, SchemeInfo, parameters};
use leafspine_core::{Span, Time};
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "cubic",
        summary: "Grows the window as a cubic of the time since the last congestion event.",
        source: "RFC 9438",
        provenance: Provenance::Rfc,
        unspecified: &[
            "HyStart++ (RFC 9438 §4.10 recommends it) is a switch: `transport.slow_start`.",
            "The RTT in the target (§4.2) is the smoothed one of RFC 6298.",
            "The window and W_est grow by whole segments; what is less is carried over.",
            "Time in which the window was not used up does not count as elapsed (§4.2, §5.8).",
            "Undoing a reduction that turned out spurious (§4.9) is a switch: `undo_dsack`, \
             `eifel` and `frto` of `transport`. The time of the recovery does not count as elapsed.",
        ],
        params: Settings::PARAMS,
        demands: Demands::NONE,
    },
    build,
    ecn: false,
};

parameters! {
    struct Settings {
        c: f64 = Param::new(
            Kind::Float(0.001, 1000.0),
            "0.4",
            "C: how fast the window grows, in segments per cubic second (§5.1).",
        ),
        beta: f64 = Param::new(
            Kind::Float(0.1, 0.99),
            "0.7",
            "The factor by which a congestion event shrinks the window (§4.6).",
        ),
        fast_convergence: bool = Param::new(
            Kind::Bool,
            "true",
            "Gives up more when the window was still below its last maximum (§4.7).",
        ),
        tcp_friendliness: bool = Param::new(
            Kind::Bool,
            "true",
            "Never grows more slowly than Reno would (§4.3).",
        ),
        slow_start_limit: u64 = SLOW_START_LIMIT,
    }
}

fn build(params: &Params, env: &FlowEnv) -> Result<Control, ParamError> {
    let settings = Settings::read(params)?;
    let beta = settings.beta;
    let shape = Shape {
        c: settings.c,
        beta,
        alpha: 3.0 * (1.0 - beta) / (1.0 + beta),
        fast_convergence: settings.fast_convergence,
        reno_friendly: settings.tcp_friendliness,
    };
    Ok(Control::Cubic(Cubic {
        reno: NewReno::new(env, settings.slow_start_limit),
        shape: Arc::new(shape),
        in_epoch: false,
        searching: true,
        w_est: 0,
        w_max: 0.0,
        k: 0.0,
        elapsed: Span::ZERO,
        last_ack: Time::ZERO,
        credit: 0.0,
        est_credit: 0.0,
    }))
}

/// What all flows of a run share.
#[derive(Debug)]
struct Shape {
    c: f64,
    beta: f64,
    /// Reno's increase that matches a decrease by `beta` (RFC 9438 §4.3), in segments.
    alpha: f64,
    fast_convergence: bool,
    reno_friendly: bool,
}

/// RFC 9438's sender. Sizes in bytes; the cubic itself in segments and seconds.
#[derive(Clone, Debug)]
pub struct Cubic {
    pub(super) reno: NewReno,
    shape: Arc<Shape>,
    /// Whether a congestion avoidance stage has begun.
    in_epoch: bool,
    /// No congestion event but timeouts has been.
    searching: bool,
    /// What Reno's window would be.
    w_est: u32,
    /// Carried towards the next segment of `w_est`, in bytes.
    est_credit: f64,
    /// W_max in bytes; 0: none, because the last event was a timeout.
    w_max: f64,
    /// K in seconds.
    k: f64,
    /// Time in the stage, as far as the window was used up.
    elapsed: Span,
    last_ack: Time,
    /// Carried towards the next segment of the window: (target - cwnd) x acked bytes.
    credit: f64,
}

impl Cubic {
    /// K, in seconds: when the cubic will reach W_max (RFC 9438 §4.2 fig. 2).
    #[must_use]
    pub fn k(&self) -> f64 {
        self.k
    }

    /// W_max in bytes; 0 before the first congestion event and after a timeout.
    #[must_use]
    pub fn w_max(&self) -> f64 {
        self.w_max
    }

    /// A congestion avoidance stage begins (RFC 9438 §4.2).
    fn start_epoch(&mut self) {
        let cwnd = f64::from(self.reno.cwnd);
        if self.w_max <= cwnd {
            // §4.8 after a timeout: K = 0, W_max = cwnd. A window already at W_max has no concave
            // region either.
            self.w_max = cwnd;
            self.k = 0.0;
        } else {
            let missing = (self.w_max - cwnd) / f64::from(self.reno.mss);
            self.k = libm::cbrt(missing / self.shape.c);
        }
        self.in_epoch = true;
        self.elapsed = Span::ZERO;
        self.w_est = self.reno.cwnd;
        self.credit = 0.0;
        self.est_credit = 0.0;
    }

    /// RFC 9438 §4.2 fig. 1, in bytes.
    #[inline]
    fn w_cubic(&self, secs: f64) -> f64 {
        let past = secs - self.k;
        self.shape.c * past * past * past * f64::from(self.reno.mss) + self.w_max
    }

    /// RFC 9438 §4.3 fig. 4: Reno's window, with an increase that matches CUBIC's decrease.
    #[inline]
    fn grow_estimate(&mut self, acked: u32) {
        let alpha = if self.w_est >= self.reno.prior { 1.0 } else { self.shape.alpha };
        self.est_credit += alpha * f64::from(acked);
        let window = f64::from(self.reno.cwnd);
        if self.est_credit >= window {
            self.est_credit -= window;
            self.w_est += self.reno.mss;
        }
    }

    /// Congestion avoidance: RFC 9438 §4.3 where Reno is faster, else §4.4 and §4.5.
    fn avoid_congestion(&mut self, acked: u32, srtt: Span) {
        self.grow_estimate(acked);
        let t = self.elapsed.as_secs_f64();
        if self.shape.reno_friendly && self.w_cubic(t) < f64::from(self.w_est) {
            self.reno.cwnd = self.reno.cwnd.max(self.w_est);
            return;
        }
        let cwnd = f64::from(self.reno.cwnd);
        // §4.2: the target is where the cubic is a round trip later, within [cwnd, 1.5 cwnd].
        let target = self.w_cubic(t + srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
        // (target - cwnd) / cwnd of a segment for each segment acknowledged, without the division.
        self.credit += (target - cwnd) * f64::from(acked);
        let mss = f64::from(self.reno.mss);
        while self.credit >= f64::from(self.reno.cwnd) * mss {
            self.credit -= f64::from(self.reno.cwnd) * mss;
            self.reno.cwnd += self.reno.mss;
        }
    }

    /// Congestion avoidance as Linux counts it.
    fn step(&mut self, acked: u32, now: Time) {
        const LEAST: f64 = 0.05;
        let (mss, maximum) = (self.reno.mss, if self.searching { 0.0 } else { self.w_max });
        let curve = Curve {
            c: self.shape.c,
            alpha: self.shape.alpha,
            friendly: self.shape.reno_friendly,
            maximum: maximum as u32 / mss,
            least: LEAST,
        };
        let segments = self.reno.cwnd / mss;
        let Some(steps) = self.reno.steps() else { return };
        self.reno.cwnd += steps.on_ack(acked.div_ceil(mss), segments, &curve, now) * mss;
    }

    /// RFC 9438 §4.9: the curve goes on where `before` was on it.
    pub(super) fn undo(&mut self, before: &Cubic, now: Time) {
        if self.reno.whole {
            // Linux gives back window and threshold, and begins a curve.
            return self.reno.restore(&before.reno);
        }
        *self = Cubic { last_ack: now, ..before.clone() };
    }

    /// RFC 9438 §4.6 and §4.7: remembers the window, returns beta times what is in flight.
    fn reduce(&mut self, in_flight: u32) -> u32 {
        let cwnd = f64::from(self.reno.cwnd);
        self.reno.prior = self.reno.cwnd;
        self.w_max = if self.shape.fast_convergence && cwnd < self.w_max {
            cwnd * (1.0 + self.shape.beta) / 2.0
        } else {
            cwnd
        };
        self.in_epoch = false;
        self.searching = false;
        let Some(steps) = self.reno.steps() else {
            return (f64::from(in_flight) * self.shape.beta) as u32;
        };
        steps.end_epoch();
        self.reno.counted((cwnd * self.shape.beta) as u32)
    }
}

impl CongestionControl for Cubic {
    fn on_message(&mut self) {
        self.reno.on_message();
    }

    fn on_ack(&mut self, ack: &AckSample, now: Time) {
        if let (Some(rtt), Some(steps)) = (ack.rtt, self.reno.steps()) {
            steps.sample(rtt);
        }
        let gap = now.since(self.last_ack);
        self.last_ack = now;
        if !ack.window_limited {
            return;
        }
        self.elapsed = self.elapsed + gap;
        if !ack.may_grow() {
            return;
        }
        let mut acked = ack.acked;
        if self.reno.in_slow_start() {
            acked = self.reno.slow_start(ack, now);
            if acked == 0 {
                return;
            }
        }
        if self.reno.whole {
            return self.step(acked, now);
        }
        if !self.in_epoch {
            self.start_epoch();
        }
        self.avoid_congestion(acked, ack.srtt);
    }

    fn on_loss(&mut self, loss: Loss, in_flight: u32, _now: Time) {
        let two = 2 * self.reno.mss;
        match loss {
            Loss::Fast => {
                let reduced = self.reduce(in_flight).max(two);
                self.reno.shrink(reduced, reduced);
            }
            // §4.6: the window may go down to one segment, the threshold to two.
            Loss::Ecn => {
                let reduced = self.reduce(in_flight).max(self.reno.floor());
                self.reno.shrink(reduced, reduced.max(two));
            }
            // §4.8: as Reno, the threshold by beta; the next stage starts with K = 0.
            Loss::Timeout { first } => {
                let ssthresh =
                    if first { self.reduce(in_flight).max(two) } else { self.reno.ssthresh };
                self.reno.shrink(self.reno.mss, ssthresh);
                self.reno.watch_again();
                self.in_epoch = false;
                self.searching = true;
                if let Some(steps) = self.reno.steps() {
                    steps.forget();
                }
                self.w_max = 0.0;
            }
            Loss::Handshake => self.reno.cwnd = self.reno.mss,
        }
    }

    #[inline]
    fn window(&self) -> u32 {
        self.reno.window()
    }

    fn ssthresh(&self) -> u32 {
        self.reno.ssthresh()
    }

    /// Time in which nothing was sent does not count as elapsed (§5.8).
    fn on_idle(&mut self, restart: u32, timeouts: u32, now: Time) {
        self.reno.on_idle(restart, timeouts, now);
        self.last_ack = now;
    }

    fn on_recovered(&mut self, limit: u32, now: Time) {
        self.reno.on_recovered(limit, now);
    }

    fn on_broken_off(&mut self, window: u32) {
        self.reno.on_broken_off(window);
    }
}
