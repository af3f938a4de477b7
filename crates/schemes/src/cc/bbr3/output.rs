//! What follows from the model: pacing rate, quantum, window (§5.6).

use super::super::rate::{RateSample, Repair, quantum};
use super::{Bbr3, MIN_PIPE, NO_BOUND, State};
use leafspine_core::Span;

/// By how much the pacing rate stays below the path's (`BBR.PacingMarginPercent`).
const MARGIN: f64 = 0.99;

impl Bbr3 {
    /// `InitPacingRate`.
    pub(super) fn init_pacing_rate(&mut self, srtt: Span) {
        let seconds = if srtt == Span::ZERO { 1e-3 } else { srtt.as_secs_f64() };
        let nominal = f64::from(self.init_cwnd) / seconds;
        self.pacing_rate = State::Startup.pacing_gain() * nominal;
        self.rate_known = srtt > Span::ZERO;
    }

    /// `SetPacingRateWithGain`: until the pipe has been full the rate only grows.
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * MARGIN;
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `SetSendQuantum`.
    pub(super) fn set_send_quantum(&mut self) {
        self.send_quantum = quantum(self.pacing_rate, self.mss, self.most_quantum);
    }

    /// `SetCwnd`, with `UpdateMaxInflight`: down to the model at once, up by what is acknowledged.
    pub(super) fn set_cwnd(&mut self, sample: &RateSample) {
        let cap = self.bdp_multiple(self.state.cwnd_gain()).saturating_add(self.extra_acked);
        let max_inflight = self.quantization_budget(cap);
        let more = self.cwnd.saturating_add(sample.newly_acked);
        if self.full_bw_reached {
            self.cwnd = more.min(max_inflight);
        } else if self.cwnd < max_inflight || sample.total < u64::from(self.init_cwnd) {
            self.cwnd = more;
        }
        self.cwnd = self.cwnd.max(MIN_PIPE * self.mss);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    /// `BoundCwndForModel`.
    fn bound_cwnd_for_model(&mut self) {
        let longterm = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => NO_BOUND,
        };
        let cap = longterm.min(self.inflight_shortterm).max(MIN_PIPE * self.mss);
        self.cwnd = self.cwnd.min(cap);
    }

    /// `SaveCwnd`: the last window that neither a recovery nor `ProbeRTT` has changed.
    pub(super) fn save_cwnd(&mut self) {
        let modulated = self.repair != Repair::Nothing || self.state == State::ProbeRtt;
        self.prior_cwnd = if modulated { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// `RestoreCwnd`.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}
