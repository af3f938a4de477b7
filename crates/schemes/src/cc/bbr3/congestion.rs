//! What losses and marks change of the model (§5.5.10), and how it is undone (§5.5.11).

use super::super::rate::{LostSegment, RateSample, Repair};
use super::{Bbr3, NO_BOUND, State, Undo};
use leafspine_core::Time;

/// Ranges that must be lost in a round trip for Startup to end (`BBRStartupFullLossCnt`).
const FULL_LOSS_COUNT: u32 = 6;
/// Round trips of marks for Startup to end (release).
const FULL_ECN_COUNT: u32 = 2;
/// Weight of a round trip in alpha (release).
const ALPHA_GAIN: f64 = 1.0 / 16.0;

impl Bbr3 {
    /// `UpdateLatestDeliverySignals`, near the start of an ACK.
    pub(super) fn update_latest_delivery_signals(&mut self, sample: &RateSample) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(sample.rate);
        self.inflight_latest = self.inflight_latest.max(volume(sample));
        if sample.newly_acked > 0 && sample.prior >= self.loss_round_delivered {
            self.loss_round_delivered = sample.total;
            self.loss_round_start = true;
        }
    }

    /// `AdvanceLatestDeliverySignals`, near its end.
    pub(super) fn advance_latest_delivery_signals(&mut self, sample: &RateSample) {
        if self.loss_round_start {
            self.bw_latest = sample.rate;
            self.inflight_latest = volume(sample);
            self.loss_ranges = 0;
        }
    }

    /// `ResetCongestionSignals`.
    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.ecn_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0;
    }

    /// `ResetShortTermModel`.
    pub(super) fn reset_short_term_model(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = NO_BOUND;
    }

    /// `UpdateCongestionSignals`: rates with each ACK, bounds once a round trip.
    pub(super) fn update_congestion_signals(&mut self, sample: &RateSample) {
        self.update_max_bw(sample);
        self.update_ecn_alpha(sample);
        if !self.loss_round_start {
            return;
        }
        self.adapt_lower_bounds_from_congestion();
        self.is_loss_in_round = false;
        self.ecn_in_round = false;
    }

    /// `AdaptLowerBoundsFromCongestion`: while nothing is probed for, the bounds of the short term follow
    /// what was delivered, by `Beta` a round trip at most; marks lower what may be in flight alone.
    fn adapt_lower_bounds_from_congestion(&mut self) {
        if self.state.accelerates() || !(self.is_loss_in_round || self.ecn_in_round) {
            return;
        }
        if self.inflight_shortterm == NO_BOUND {
            self.inflight_shortterm = self.cwnd;
        }
        let cut = 1.0 - self.settings.ecn_factor * self.ecn_alpha;
        let marked = match self.ecn_in_round {
            true => scaled(self.inflight_shortterm, cut),
            false => NO_BOUND,
        };
        if self.is_loss_in_round {
            if self.bw_shortterm == f64::INFINITY {
                self.bw_shortterm = self.max_bw;
            }
            let beta = self.settings.beta;
            self.bw_shortterm = self.bw_latest.max(beta * self.bw_shortterm);
            self.inflight_shortterm =
                self.inflight_latest.max(scaled(self.inflight_shortterm, beta));
        }
        self.inflight_shortterm = self.inflight_shortterm.min(marked);
    }

    /// Whether marks are answered: on a short path, unless the scenario says not to.
    fn answers_marks(&self) -> bool {
        self.settings.ecn_factor > 0.0
            && self.min_rtt.is_some_and(|min_rtt| min_rtt <= self.settings.ecn_max_rtt)
    }

    /// Alpha, once a round trip, and the end of Startup by marks (release).
    fn update_ecn_alpha(&mut self, sample: &RateSample) {
        self.round_acked += u64::from(sample.newly_acked);
        self.round_marked += u64::from(sample.newly_marked);
        if !self.answers_marks() {
            return;
        }
        self.ecn_in_round |= sample.newly_marked > 0;
        if !self.round_start {
            return;
        }
        let share = self.round_marked as f64 / self.round_acked as f64;
        self.ecn_alpha += ALPHA_GAIN * (share - self.ecn_alpha);
        let many = share >= self.settings.ecn_threshold;
        (self.round_acked, self.round_marked) = (0, 0);
        self.ecn_rounds = if many { self.ecn_rounds + 1 } else { 0 };
        if self.state == State::Startup && self.ecn_rounds >= FULL_ECN_COUNT {
            self.handle_queue_too_high_in_startup();
        }
    }

    /// `CheckStartupHighLoss`: fast recovery for a round trip, more than the threshold lost in one, in six
    /// ranges.
    pub(super) fn check_startup_high_loss(&mut self, sample: &RateSample) {
        let recovering = self.repair == Repair::Fast && sample.prior >= self.repair_from;
        if self.state == State::Startup
            && !self.full_bw_reached
            && self.loss_round_start
            && recovering
            && self.loss_ranges >= FULL_LOSS_COUNT
            && self.loses_too_much(sample.lost, sample.tx_in_flight)
        {
            self.undo.state = Some(State::Startup);
            self.handle_queue_too_high_in_startup();
        }
    }

    /// The pipe is full, and what was delivered in a round trip is what may be in flight.
    fn handle_queue_too_high_in_startup(&mut self) {
        self.full_bw_reached = true;
        self.inflight_longterm = self.bdp_multiple(1.0).max(self.inflight_latest);
    }

    fn loses_too_much(&self, lost: u64, tx_in_flight: u32) -> bool {
        lost as f64 > f64::from(tx_in_flight) * self.settings.loss_threshold
    }

    /// `IsInflightTooHigh`, of an ACK.
    pub(super) fn is_inflight_too_high(&self, sample: &RateSample) -> bool {
        self.marks_too_much(sample) || self.loses_too_much(sample.lost, sample.tx_in_flight)
    }

    /// The same by marks (release).
    pub(super) fn marks_too_much(&self, sample: &RateSample) -> bool {
        let enough = sample.delivered as f64 * self.settings.ecn_threshold;
        sample.marked > 0 && self.answers_marks() && sample.marked as f64 >= enough
    }

    /// `HandleInflightTooHigh`: once a probe, by `Beta` at most.
    pub(super) fn handle_inflight_too_high(
        &mut self,
        tx_in_flight: u32,
        app_limited: bool,
        now: Time,
    ) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !app_limited {
            let least = scaled(self.target_inflight(), self.settings.beta);
            self.inflight_longterm = tx_in_flight.max(least);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now);
        }
    }

    /// `NoteLoss`.
    pub(super) fn note_loss(&mut self) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = self.total;
            self.save_state_upon_loss();
        }
        self.is_loss_in_round = true;
    }

    /// `HandleLostPacket`.
    pub(super) fn handle_lost_packet(&mut self, segment: &LostSegment, now: Time) {
        self.total = segment.total;
        self.note_loss();
        if self.loss_ranges == 0 || segment.number != self.loss_range_end {
            self.loss_ranges += 1;
        }
        self.loss_range_end = segment.number + 1;
        if self.is_bw_probe_sample && self.loses_too_much(segment.lost, segment.tx_in_flight) {
            let at_loss = self.inflight_at_loss(segment);
            self.handle_inflight_too_high(at_loss, segment.app_limited, now);
        }
    }

    /// `InflightAtLoss`: at how much in flight the share of losses passed the threshold.
    fn inflight_at_loss(&self, segment: &LostSegment) -> u32 {
        let threshold = self.settings.loss_threshold;
        let before = f64::from(segment.tx_in_flight.saturating_sub(segment.size));
        let lost_before = segment.lost.saturating_sub(u64::from(segment.size)) as f64;
        let prefix = (threshold * before - lost_before) / (1.0 - threshold);
        (before + prefix) as u32
    }

    /// `SaveStateUponLoss`: as it was before the first of the losses that an ACK or a timer tells of, whatever
    /// they have changed since.
    pub(super) fn save_state_upon_loss(&mut self) {
        if std::mem::replace(&mut self.saved, true) {
            return;
        }
        self.save_cwnd();
        self.undo = Undo {
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// `HandleSpuriousLossDetection`.
    pub(super) fn handle_spurious_loss_detection(&mut self) {
        self.restore_cwnd();
        self.is_loss_in_round = false;
        self.reset_full_bw();
        let undo = self.undo;
        self.bw_shortterm = self.bw_shortterm.max(undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(undo.inflight_longterm);
        let back = undo.state.filter(|state| *state != self.state);
        if back == Some(State::Startup) {
            self.full_bw_reached = false;
        }
        if self.state != State::ProbeRtt {
            match back {
                Some(State::Startup) => self.state = State::Startup,
                Some(State::Up) => self.start_refill(),
                _ => {}
            }
        }
        self.undo.state = None;
    }
}

fn scaled(bytes: u32, factor: f64) -> u32 {
    (f64::from(bytes) * factor) as u32
}

/// `RS.delivered`, as what is in flight is counted.
fn volume(sample: &RateSample) -> u32 {
    u32::try_from(sample.delivered).unwrap_or(NO_BOUND)
}
