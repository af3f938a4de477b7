//! Looking for the shortest round trip (§5.3.4).

use super::super::rate::RateSample;
use super::probe_bw::AckPhase;
use super::{Bbr3, MIN_PIPE, State};
use leafspine_core::Time;

impl Bbr3 {
    /// `CheckProbeRTT`. Returns whether the flow counts as limited by its application, so that rates
    /// measured now are not the path's.
    pub(super) fn check_probe_rtt(&mut self, sample: &RateSample, now: Time) -> bool {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done_stamp = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        let probing = self.state == State::ProbeRtt;
        if probing {
            self.handle_probe_rtt(sample, now);
        }
        if sample.newly_acked > 0 {
            self.idle_restart = false;
        }
        probing
    }

    /// `HandleProbeRTT`: from when so little is in flight, 200 ms and a round trip.
    fn handle_probe_rtt(&mut self, sample: &RateSample, now: Time) {
        if self.probe_rtt_done_stamp.is_none() {
            if sample.in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt_done_stamp = Some(now + self.settings.probe_rtt_duration);
                self.probe_rtt_round_done = false;
                self.start_round();
            }
            return;
        }
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(now);
        }
    }

    /// `CheckProbeRTTDone`, and `ExitProbeRTT`: since little is in flight, to cruising at once.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_done_stamp.is_none_or(|done| now <= done) {
            return;
        }
        self.probe_rtt_min_stamp = now;
        self.restore_cwnd();
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// `ProbeRTTCwnd`.
    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp_multiple(State::ProbeRtt.cwnd_gain()).max(MIN_PIPE * self.mss)
    }
}
