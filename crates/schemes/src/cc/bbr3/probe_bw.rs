//! Probing for bandwidth: down, cruise, refill, up (§5.3.3).

use super::super::rate::RateSample;
use super::{Bbr3, MIN_PIPE, NO_BOUND, State};
use leafspine_core::{Span, Time};

/// What ACKs say of probing (`BBR.ack_phase`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AckPhase {
    /// Nothing.
    Init,
    /// The pipe is being refilled.
    Refilling,
    /// What was sent faster is not acknowledged yet.
    ProbeStarting,
    /// It is being acknowledged.
    ProbeFeedback,
    /// No more is sent faster, and the last of it is being acknowledged.
    ProbeStopping,
}

/// Round trips after which bandwidth is probed for, at most, so that Reno gets its share.
const RENO_ROUNDS: u64 = 63;

impl Bbr3 {
    /// `StartProbeBW_DOWN`, and `EnterProbeBW`.
    pub(super) fn start_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = NO_BOUND;
        self.pick_probe_wait();
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::Down;
    }

    /// `PickProbeWait`: two to three seconds, or 62 or 63 round trips.
    fn pick_probe_wait(&mut self) {
        self.rounds_since_probe_up = self.random.below(2);
        self.bw_probe_wait = Span::from_secs_f64(2.0 + self.random.unit());
    }

    /// `StartProbeBW_REFILL`.
    pub(super) fn start_refill(&mut self) {
        self.reset_short_term_model();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    /// `StartProbeBW_UP`.
    fn start_up(&mut self, sample: &RateSample) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bw();
        self.full_bw = sample.rate;
        self.state = State::Up;
        self.raise_inflight_longterm_slope();
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_probe_bw_cycle_phase(&mut self, sample: &RateSample, now: Time) {
        if !self.full_bw_reached || sample.newly_acked == 0 {
            return;
        }
        if self.adapt_long_term_model(sample, now) {
            return;
        }
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe_bw(now) => self.start_refill(),
            State::Down if self.is_time_to_cruise(sample) => self.state = State::Cruise,
            State::Refill if self.round_start => {
                self.is_bw_probe_sample = true;
                self.start_up(sample);
            }
            State::Up if self.is_time_to_go_down(sample) => {
                // No excess loss, so far.
                self.prev_probe_too_high = false;
                self.start_down(now);
            }
            _ => {}
        }
    }

    /// `IsTimeToProbeBW`, with `IsRenoCoexistenceProbeTime`.
    fn is_time_to_probe_bw(&self, now: Time) -> bool {
        let reno_rounds = u64::from(self.target_inflight().div_ceil(self.mss)).min(RENO_ROUNDS);
        now > self.cycle_stamp + self.bw_probe_wait || self.rounds_since_probe_up >= reno_rounds
    }

    /// `IsTimeToCruise`.
    fn is_time_to_cruise(&self, sample: &RateSample) -> bool {
        sample.in_flight <= self.inflight_with_headroom() && sample.in_flight <= self.inflight(1.0)
    }

    /// `IsTimeToGoDown`.
    fn is_time_to_go_down(&mut self, sample: &RateSample) -> bool {
        if self.prev_probe_too_high && sample.in_flight >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if sample.cwnd_limited && self.cwnd >= self.inflight_longterm {
            // The bound, not the path, limits the rate.
            self.reset_full_bw();
            self.full_bw = sample.rate;
            return false;
        }
        self.full_bw_now
    }

    /// `InflightWithHeadroom`.
    pub(super) fn inflight_with_headroom(&self) -> u32 {
        if self.inflight_longterm == NO_BOUND {
            return NO_BOUND;
        }
        let share = (f64::from(self.inflight_longterm) * self.settings.headroom) as u32;
        let headroom = share.max(self.mss);
        self.inflight_longterm.saturating_sub(headroom).max(MIN_PIPE * self.mss)
    }

    /// `RaiseInflightLongtermSlope`: the growth doubles each round trip.
    fn raise_inflight_longterm_slope(&mut self) {
        let growth = 1_u32 << self.bw_probe_up_rounds;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.probe_up_acked_per_inc = (self.cwnd / growth).max(self.mss);
    }

    /// `ProbeInflightLongtermUpward`.
    fn probe_inflight_longterm_upward(&mut self, sample: &RateSample) {
        if !sample.cwnd_limited || self.cwnd < self.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked += sample.newly_acked;
        if self.bw_probe_up_acked >= self.probe_up_acked_per_inc {
            let segments = self.bw_probe_up_acked / self.probe_up_acked_per_inc;
            self.bw_probe_up_acked -= segments * self.probe_up_acked_per_inc;
            self.inflight_longterm = self.inflight_longterm.saturating_add(segments * self.mss);
        }
        if self.round_start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// `AdaptLongTermModel`: where ACKs are in the probe, and the long-term bound. Returns whether the state
    /// has changed by that.
    fn adapt_long_term_model(&mut self, sample: &RateSample, now: Time) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.state.probes_bw() && !sample.app_limited {
                self.advance_max_bw_filter();
            }
            if self.state.probes_bw() && self.prev_probe_precautionary && !self.prev_probe_too_high
            {
                self.start_refill();
                return true;
            }
        }
        if self.is_bw_probe_sample && self.marks_too_much(sample) {
            // Losses have been looked at one by one (`HandleLostPacket`).
            let was = self.state;
            self.handle_inflight_too_high(sample.tx_in_flight, sample.app_limited, now);
            return was != self.state;
        }
        if self.inflight_longterm != NO_BOUND && !self.is_inflight_too_high(sample) {
            self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight);
            if self.state == State::Up {
                self.probe_inflight_longterm_upward(sample);
            }
        }
        false
    }
}
