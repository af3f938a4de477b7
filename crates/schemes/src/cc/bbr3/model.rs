//! What is measured: round trips, rates, aggregation, the shortest round trip (§5.5).

use super::super::rate::RateSample;
use super::{Bbr3, EXTRA_ROUNDS, MIN_PIPE, State};
use leafspine_core::{Span, Time};

impl Bbr3 {
    /// `UpdateRound`: a round trip ends with the first ACK of what was sent after its begin.
    pub(super) fn update_round(&mut self, sample: &RateSample) {
        self.round_start = sample.newly_acked > 0 && sample.prior >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
        }
    }

    /// `StartRound`.
    pub(super) fn start_round(&mut self) {
        self.next_round_delivered = self.total;
    }

    /// `UpdateMaxBw`: the largest rate of this probing cycle and the one before. A rate for which the
    /// application did not send enough counts only if it is larger than any.
    pub(super) fn update_max_bw(&mut self, sample: &RateSample) {
        self.update_round(sample);
        if sample.rate > 0.0 && (sample.rate >= self.max_bw || !sample.app_limited) {
            let [before, present] = &mut self.max_bw_filter;
            *present = present.max(sample.rate);
            self.max_bw = before.max(*present);
        }
    }

    /// `AdvanceMaxBwFilter`.
    pub(super) fn advance_max_bw_filter(&mut self) {
        let [_, present] = self.max_bw_filter;
        if present > 0.0 {
            self.max_bw_filter = [present, 0.0];
        }
    }

    /// `ResetFullBW`.
    pub(super) fn reset_full_bw(&mut self) {
        self.full_bw = 0.0;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    /// `CheckFullBWReached`: three round trips in which the rate grew by less than a quarter.
    pub(super) fn check_full_bw_reached(&mut self, sample: &RateSample) {
        if self.full_bw_now || !self.round_start || sample.app_limited {
            return;
        }
        if sample.rate >= self.full_bw * 1.25 {
            self.reset_full_bw();
            self.full_bw = sample.rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= 3;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// `UpdateACKAggregation`: by how much more than the rate says is acknowledged at once.
    pub(super) fn update_ack_aggregation(&mut self, sample: &RateSample, now: Time) {
        let interval = now.since(self.extra_acked_interval_start);
        let mut expected = self.bw * interval.as_secs_f64();
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0.0;
            self.extra_acked_interval_start = now;
            expected = 0.0;
        }
        self.extra_acked_delivered += f64::from(sample.newly_acked);
        let extra = (self.extra_acked_delivered - expected).min(f64::from(self.cwnd));
        let rounds = if self.full_bw_reached { EXTRA_ROUNDS as u64 } else { 1 };
        self.extra_acked_filter.add(self.round_count, extra);
        self.extra_acked = self.extra_acked_filter.largest(self.round_count, rounds) as u32;
    }

    /// `UpdateMinRTT`: one filter says when a new shortest round trip is to be looked for, the other, twice
    /// as long, remembers it over that time.
    pub(super) fn update_min_rtt(&mut self, sample: &RateSample, now: Time) {
        let interval = self.settings.probe_rtt_interval;
        self.probe_rtt_expired = now > self.probe_rtt_min_stamp + interval;
        let shorter = |rtt: Span, least: Option<Span>| least.is_none_or(|least| rtt < least);
        if let Some(rtt) = sample.rtt
            && (self.probe_rtt_expired || shorter(rtt, self.probe_rtt_min_delay))
        {
            self.probe_rtt_min_delay = Some(rtt);
            self.probe_rtt_min_stamp = now;
        }
        let expired = now > self.min_rtt_stamp + interval * 2;
        if let Some(delay) = self.probe_rtt_min_delay
            && (expired || shorter(delay, self.min_rtt))
        {
            self.min_rtt = Some(delay);
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }

    /// `BBR.bdp`, times `gain`; the initial window before the first round trip (`BDPMultiple`).
    pub(super) fn bdp_multiple(&self, gain: f64) -> u32 {
        let Some(min_rtt) = self.min_rtt else { return self.init_cwnd };
        (gain * self.bw * min_rtt.as_secs_f64()).round() as u32
    }

    /// `QuantizationBudget`.
    pub(super) fn quantization_budget(&self, inflight_cap: u32) -> u32 {
        let cap = inflight_cap.max(3 * self.send_quantum).max(MIN_PIPE * self.mss);
        if self.state == State::Up { cap.saturating_add(2 * self.mss) } else { cap }
    }

    /// `Inflight`.
    pub(super) fn inflight(&self, gain: f64) -> u32 {
        self.quantization_budget(self.bdp_multiple(gain))
    }

    /// `TargetInflight`: the bandwidth-delay product, unless congestion cut the window.
    pub(super) fn target_inflight(&self) -> u32 {
        self.bdp_multiple(1.0).min(self.cwnd)
    }
}
