//! BBR, version 1, as Linux 6.12 has it (`net/ipv4/tcp_bbr.c`), which is the draft's in whole
//! segments and microseconds, and more in flight: bursts of 64 KB are allowed for, and ACKs that
//! come in bunches.
//!
//! Rates are in 2^-24 segments a microsecond, gains in 256ths, as the kernel counts them.

use super::aggregation::Aggregation;
use super::policer::{Policer, Progress, Verdict};
use super::running_max::RunningMax;
use super::{Settings, State};
use crate::cc::rate::{LostSegment, RateControl, RateSample, Repair};
use crate::cc::{AckSample, CongestionControl, FlowEnv, Loss};
use leafspine_core::{Rng, Role, Span, Time};

/// A gain of one.
const UNIT: u64 = 256;
/// A rate of one segment a microsecond, as a shift.
const BW_SCALE: u32 = 24;
const BW_UNIT: u64 = 1 << BW_SCALE;
/// Gains of `ProbeBW`'s phases.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Round trips that a delivery rate counts for.
const BW_ROUNDS: u64 = 10;
/// Percent of the rate that packets are paced at.
const MARGIN: u64 = 99;
/// Segments in flight at least, and at most in `ProbeRTT`.
const MIN_PIPE: u32 = 4;
/// The window of a flow that no round trip is known of, and until which it grows in any case.
const INIT_CWND: u32 = 10;
/// Bytes a second below which segments leave one by one.
const SLOW: u64 = 1_200_000 / 8;
/// Bytes of the longest burst that a host builds: 64 KB less one and the room for headers.
const LONGEST: u64 = 65_536 - 1 - 192;
/// The most segments of a burst.
const MOST_SEGMENTS: u32 = 127;
/// A burst is what leaves in 2^-10 s.
const BURST: u32 = 10;
/// Before there is a round trip.
const NOMINAL_RTT_US: u64 = 1000;
const MICRO: u64 = Span::from_micros(1).0;
const MILLI: u64 = Span::from_millis(1).0;

/// Segments that a rate delivers in so many microseconds.
pub(super) fn in_time(bw: u64, micros: u64) -> u64 {
    ((u128::from(bw) * u128::from(micros)) >> BW_SCALE) as u64
}

fn micros(at: Time) -> u64 {
    at.0 / MICRO
}

/// Ticks of the kernel's clock.
fn ticks(at: Time) -> u64 {
    at.0 / MILLI
}

/// The kernel's sender, in the names of [`super::Bbr1`].
#[derive(Clone, Debug)]
pub struct LinuxBbr1 {
    settings: Settings,
    high_gain: u64,
    drain_gain: u64,
    probe_gain: u64,
    mss: u64,
    /// Segments.
    cwnd: u32,
    prior_cwnd: u32,
    ssthresh: u32,
    /// Bytes of payload a second.
    pacing_rate: u64,
    state: State,
    pacing_gain: u64,
    cwnd_gain: u64,
    rates: RunningMax<BW_ROUNDS>,
    /// Microseconds.
    min_rtt: Option<u64>,
    /// Ticks.
    min_rtt_at: u64,
    probe_rtt_done: Option<u64>,
    probe_rtt_round_done: bool,
    round: u64,
    round_start: bool,
    next_round: u64,
    has_seen_rtt: bool,
    filled_pipe: bool,
    full_bw: u64,
    full_bw_count: u32,
    cycle: usize,
    /// Microseconds.
    cycle_at: u64,
    idle_restart: bool,
    /// What is repaired now, and was at the last ACK (`prev_ca_state`).
    repair: Repair,
    repaired: Repair,
    packet_conservation: bool,
    aggregation: Aggregation,
    policer: Policer,
    /// Segments delivered and lost, and when something was last delivered.
    delivered: u64,
    lost: u64,
    delivered_at: u64,
    random: Rng,
}

impl LinuxBbr1 {
    pub(super) fn new(settings: Settings, env: &FlowEnv) -> LinuxBbr1 {
        let high_gain = (settings.high_gain * UNIT as f64) as u64 + 1;
        LinuxBbr1 {
            settings,
            high_gain,
            drain_gain: (UNIT as f64 / settings.high_gain) as u64,
            probe_gain: (settings.cwnd_gain * UNIT as f64) as u64,
            mss: u64::from(env.mss),
            cwnd: env.init_cwnd / env.mss,
            prior_cwnd: 0,
            ssthresh: u32::MAX,
            pacing_rate: 0,
            state: State::Startup,
            pacing_gain: high_gain,
            cwnd_gain: high_gain,
            rates: RunningMax::default(),
            min_rtt: None,
            min_rtt_at: 0,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            round: 0,
            round_start: false,
            next_round: 0,
            has_seen_rtt: false,
            filled_pipe: false,
            full_bw: 0,
            full_bw_count: 0,
            cycle: 0,
            cycle_at: 0,
            idle_restart: false,
            repair: Repair::Nothing,
            repaired: Repair::Nothing,
            packet_conservation: false,
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            delivered: 0,
            lost: 0,
            delivered_at: 0,
            random: Rng::new(0, Role::Transport, 0),
        }
    }

    /// Where the state machine is.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// The gain of the pacing rate, in 256ths.
    #[must_use]
    pub fn pacing_gain(&self) -> u64 {
        self.pacing_gain
    }

    /// Segments that were ever marked lost.
    #[cfg(test)]
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Segments, of which the last of a flow may be short.
    fn segments(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.mss)
    }

    /// `bbr_bw`: a policer's rate, or the largest of ten round trips, in 2^-24 segments a
    /// microsecond.
    #[must_use]
    pub fn bw(&self) -> u64 {
        self.policer.bw().unwrap_or(self.rates.largest())
    }

    /// `bbr_rate_bytes_per_sec`.
    fn bytes_a_second(&self, bw: u64, gain: u64) -> u64 {
        let bytes = (u128::from(bw) * u128::from(self.mss) * u128::from(gain)) >> 8;
        ((bytes * u128::from(10_000 * MARGIN)) >> BW_SCALE) as u64
    }

    /// `bbr_init_pacing_rate_from_rtt`.
    fn init_pacing_rate(&mut self, srtt: Span) {
        self.has_seen_rtt |= srtt > Span::ZERO;
        let rtt = if srtt > Span::ZERO { (srtt.0 / MICRO).max(1) } else { NOMINAL_RTT_US };
        let bw = (u64::from(self.cwnd) << BW_SCALE) / rtt;
        self.pacing_rate = self.bytes_a_second(bw, self.high_gain);
    }

    /// `bbr_set_pacing_rate`: until the pipe has been full the rate only grows.
    fn set_pacing_rate(&mut self, gain: u64) {
        let rate = self.bytes_a_second(self.bw(), gain);
        if self.filled_pipe || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `bbr_tso_segs_goal`: segments of a burst.
    fn burst(&self) -> u32 {
        let least = if self.pacing_rate < SLOW { 1 } else { 2 };
        let bytes = (self.pacing_rate >> BURST).min(LONGEST);
        ((bytes / self.mss) as u32).clamp(least, MOST_SEGMENTS)
    }

    /// `bbr_bdp`: rounded up, or a rate that is a little too low would become lower.
    fn bdp(&self, bw: u64, gain: u64) -> u32 {
        let Some(min_rtt) = self.min_rtt else { return INIT_CWND };
        let product = (u128::from(bw) * u128::from(min_rtt) * u128::from(gain)) >> 8;
        u32::try_from(product.div_ceil(u128::from(BW_UNIT))).unwrap_or(u32::MAX)
    }

    /// `bbr_quantization_budget`: three bursts more, an even number, and two more to probe with.
    fn budget(&self, cwnd: u32) -> u32 {
        let cwnd = cwnd.saturating_add(3 * self.burst());
        let cwnd = cwnd.saturating_add(cwnd & 1);
        let probes = self.state == State::ProbeBw && self.cycle == 0;
        cwnd.saturating_add(2 * u32::from(probes))
    }

    fn inflight(&self, gain: u64) -> u32 {
        self.budget(self.bdp(self.rates.largest(), gain))
    }

    /// `bbr_packets_in_net_at_edt`: what will be in the network when pacing lets the next burst go.
    fn in_flight_then(&self, in_flight: u32, next_at: Time, now: Time) -> u32 {
        let wait = next_at.max(now).since(now).0 / MICRO;
        let delivered = in_time(self.bw(), wait);
        let more = if self.pacing_gain > UNIT { self.burst() } else { 0 };
        let then = self.segments(u64::from(in_flight)) + u64::from(more);
        then.saturating_sub(delivered) as u32
    }

    /// `bbr_update_bw`.
    fn update_bw(&mut self, sample: &RateSample) {
        self.round_start = false;
        let Some(interval) = sample.interval else { return };
        if self.segments(sample.prior) >= self.next_round {
            self.next_round = self.delivered;
            self.round += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.look_for_policer(sample.newly_lost, sample.app_limited);
        let bw = (self.segments(sample.delivered) << BW_SCALE) / (interval.0 / MICRO);
        if !sample.app_limited || bw >= self.rates.largest() {
            self.rates.add(self.round, bw);
        }
    }

    fn progress(&self, losses: u32, app_limited: bool) -> Progress {
        Progress {
            delivered: self.delivered,
            lost: self.lost,
            at: self.delivered_at,
            losses,
            app_limited,
            round_start: self.round_start,
            cycling: self.state == State::ProbeBw,
        }
    }

    fn look_for_policer(&mut self, newly_lost: u32, app_limited: bool) {
        let at = self.progress(newly_lost, app_limited);
        let mut policer = std::mem::take(&mut self.policer);
        let verdict = policer.sample(&at, |bw| self.bytes_a_second(bw, UNIT));
        self.policer = policer;
        match verdict {
            Verdict::Nothing => {}
            Verdict::Found => self.pacing_gain = UNIT,
            Verdict::Over => self.enter_probe_bw(),
        }
    }

    fn update_aggregation(&mut self, sample: &RateSample) {
        if sample.newly_acked > 0 && sample.interval.is_some() {
            let acked = self.segments(u64::from(sample.newly_acked)) as u32;
            let (bw, cwnd) = (self.bw(), self.cwnd);
            self.aggregation.update((acked, cwnd), bw, self.round_start, self.delivered_at);
        }
    }

    /// `bbr_is_next_cycle_phase`: a phase lasts a shortest round trip; above 1 until its data is in
    /// flight or something is lost, below 1 until the queue is gone.
    fn is_next_phase(&self, sample: &RateSample, now: Time) -> bool {
        // As a kernel's, which compares with the largest number where none is known.
        let least = self.min_rtt.unwrap_or(u64::from(u32::MAX));
        let elapsed = self.delivered_at.saturating_sub(self.cycle_at) > least;
        if self.pacing_gain == UNIT {
            return elapsed;
        }
        let in_flight = self.in_flight_then(sample.prior_in_flight, sample.next_at, now);
        if self.pacing_gain > UNIT {
            let full = in_flight >= self.inflight(self.pacing_gain);
            return elapsed && (sample.newly_lost > 0 || full);
        }
        elapsed || in_flight <= self.inflight(UNIT)
    }

    fn advance_cycle(&mut self) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_at = self.delivered_at;
    }

    /// `bbr_reset_probe_bw_mode`: in any phase but the one that drains.
    fn enter_probe_bw(&mut self) {
        self.state = State::ProbeBw;
        self.cycle = CYCLE.len() - 1 - self.random.below(7) as usize;
        self.advance_cycle();
    }

    /// `bbr_check_full_bw_reached`: three round trips in which the rate grew by less than a
    /// quarter.
    fn check_full_pipe(&mut self, sample: &RateSample) {
        if self.filled_pipe || !self.round_start || sample.app_limited {
            return;
        }
        if self.rates.largest() >= (self.full_bw * (UNIT * 5 / 4)) >> 8 {
            self.full_bw = self.rates.largest();
            self.full_bw_count = 0;
            return;
        }
        self.full_bw_count += 1;
        self.filled_pipe = self.full_bw_count >= 3;
    }

    fn check_drain(&mut self, sample: &RateSample, now: Time) {
        if self.state == State::Startup && self.filled_pipe {
            self.state = State::Drain;
            self.ssthresh = self.inflight(UNIT);
        }
        let in_flight = self.in_flight_then(sample.in_flight, sample.next_at, now);
        if self.state == State::Drain && in_flight <= self.inflight(UNIT) {
            self.enter_probe_bw();
        }
    }

    /// `bbr_update_min_rtt`. Returns whether the flow counts as limited by its application.
    fn update_min_rtt(&mut self, sample: &RateSample, now: Time) -> bool {
        let expired = ticks(now) > self.min_rtt_at + self.settings.min_rtt_window.0 / MILLI;
        if let Some(rtt) = sample.rtt.map(|rtt| rtt.0 / MICRO) {
            let shorter = self.min_rtt.is_none_or(|least| rtt < least);
            if shorter || (expired && !sample.ack_delayed) {
                self.min_rtt = Some(rtt);
                self.min_rtt_at = ticks(now);
            }
        }
        if expired && !self.idle_restart && self.state != State::ProbeRtt {
            self.state = State::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done = None;
        }
        let probing = self.state == State::ProbeRtt;
        if probing {
            self.handle_probe_rtt(sample, now);
        }
        self.idle_restart &= sample.delivered == 0;
        probing
    }

    /// Four segments in flight for 200 ms and a round trip.
    fn handle_probe_rtt(&mut self, sample: &RateSample, now: Time) {
        if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(now);
            }
        } else if self.segments(u64::from(sample.in_flight)) <= u64::from(MIN_PIPE) {
            self.probe_rtt_done = Some(ticks(now) + self.settings.probe_rtt_duration.0 / MILLI);
            self.probe_rtt_round_done = false;
            self.next_round = self.delivered;
        }
    }

    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_done.is_none_or(|done| ticks(now) <= done) {
            return;
        }
        self.min_rtt_at = ticks(now);
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.filled_pipe {
            self.enter_probe_bw();
        } else {
            self.state = State::Startup;
        }
    }

    /// `bbr_update_gains`.
    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.state {
            State::Startup => (self.high_gain, self.high_gain),
            State::Drain => (self.drain_gain, self.high_gain),
            State::ProbeBw if self.policer.bw().is_some() => (UNIT, self.probe_gain),
            State::ProbeBw => (CYCLE[self.cycle], self.probe_gain),
            State::ProbeRtt => (UNIT, UNIT),
        };
    }

    /// `bbr_set_cwnd`.
    fn set_cwnd(&mut self, sample: &RateSample) {
        let acked = self.segments(u64::from(sample.newly_acked)) as u32;
        if acked > 0 && !self.recovers_or_restores(sample, acked) {
            let bw = self.bw();
            let mut target = self.bdp(bw, self.cwnd_gain);
            if self.filled_pipe {
                target = target.saturating_add(self.aggregation.extra(bw));
            }
            let target = self.budget(target);
            if self.filled_pipe {
                self.cwnd = self.cwnd.saturating_add(acked).min(target);
            } else if self.cwnd < target || self.delivered + 1 < u64::from(INIT_CWND) {
                // The kernel has delivered a segment more: the SYN.
                self.cwnd = self.cwnd.saturating_add(acked);
            }
            self.cwnd = self.cwnd.max(MIN_PIPE);
        }
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_PIPE);
        }
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: in the first round trip of a recovery what ACKs
    /// deliver is sent, and after it the window is as it was. Returns whether packets are
    /// conserved.
    fn recovers_or_restores(&mut self, sample: &RateSample, acked: u32) -> bool {
        let in_flight = self.segments(u64::from(sample.in_flight)) as u32;
        let lost = self.segments(u64::from(sample.newly_lost)) as u32;
        if lost > 0 {
            self.cwnd = self.cwnd.saturating_sub(lost).max(1);
        }
        if self.repair == Repair::Fast && self.repaired != Repair::Fast {
            self.packet_conservation = true;
            self.next_round = self.delivered;
            self.cwnd = in_flight + acked;
        } else if self.repair == Repair::Nothing && self.repaired != Repair::Nothing {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.repaired = self.repair;
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(in_flight + acked);
        }
        self.packet_conservation
    }

    /// `bbr_save_cwnd`.
    fn save_cwnd(&mut self) {
        let good = self.repaired == Repair::Nothing && self.state != State::ProbeRtt;
        self.prior_cwnd = if good { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }
}

impl RateControl for LinuxBbr1 {
    /// `bbr_init`.
    fn begin(&mut self, srtt: Span, random: Rng, now: Time) {
        self.random = random;
        self.min_rtt = (srtt > Span::ZERO).then_some(srtt.0 / MICRO);
        self.min_rtt_at = ticks(now);
        self.has_seen_rtt = false;
        self.init_pacing_rate(srtt);
        self.policer.reset(&self.progress(0, false));
        self.aggregation.restart(micros(now));
    }

    /// `bbr_main`.
    fn on_rate(&mut self, sample: &RateSample, now: Time) -> bool {
        self.delivered = self.segments(sample.total);
        self.lost = sample.total_lost;
        self.delivered_at = micros(sample.delivered_at);
        self.update_bw(sample);
        self.update_aggregation(sample);
        if self.state == State::ProbeBw && self.is_next_phase(sample, now) {
            self.advance_cycle();
        }
        self.check_full_pipe(sample);
        self.check_drain(sample, now);
        let limited = self.update_min_rtt(sample, now);
        self.update_gains();
        if !self.has_seen_rtt && sample.srtt > Span::ZERO {
            self.init_pacing_rate(sample.srtt);
        }
        self.set_pacing_rate(self.pacing_gain);
        self.set_cwnd(sample);
        limited
    }

    fn on_lost(&mut self, segment: &LostSegment, _now: Time) {
        self.delivered = self.segments(segment.total);
        self.lost += 1;
    }

    /// `bbr_ssthresh`, and of a timeout `bbr_set_state`. Of a recovery the rest follows with the
    /// ACK's rate.
    fn on_repair(&mut self, repair: Repair, in_flight: u32, _newly_acked: u32, _now: Time) {
        if self.repair != Repair::Fast {
            self.save_cwnd();
        }
        self.repair = repair;
        if repair == Repair::Timeout {
            self.cwnd = self.segments(u64::from(in_flight)) as u32 + 1;
            self.repaired = Repair::Timeout;
            self.full_bw = 0;
            self.round_start = true;
            self.look_for_policer(1, false);
        }
    }

    fn on_repaired(&mut self, _now: Time) {
        self.repair = Repair::Nothing;
    }

    /// Nothing: it answers losses in recovery only.
    fn on_tail_loss(&mut self, _total: u64, _now: Time) {}

    /// `bbr_undo_cwnd`.
    fn on_spurious(&mut self, now: Time) {
        self.full_bw = 0;
        self.full_bw_count = 0;
        self.policer.reset(&self.progress(0, false));
        self.on_repaired(now);
    }

    /// `bbr_cwnd_event`.
    fn on_restart(&mut self, now: Time) {
        self.idle_restart = true;
        self.aggregation.restart(micros(now));
        match self.state {
            State::ProbeBw => self.set_pacing_rate(UNIT),
            State::ProbeRtt => self.check_probe_rtt_done(now),
            State::Startup | State::Drain => {}
        }
    }

    fn pacing_rate(&self) -> f64 {
        self.pacing_rate as f64
    }

    fn quantum(&self) -> u32 {
        self.burst() * self.mss as u32
    }
}

impl CongestionControl for LinuxBbr1 {
    /// Nothing: all that ACKs tell comes with a rate.
    fn on_ack(&mut self, _ack: &AckSample, _now: Time) {}

    /// Losses come with rates, too; a lost SYN makes the initial window a segment.
    fn on_loss(&mut self, loss: Loss, _in_flight: u32, _now: Time) {
        if loss == Loss::Handshake {
            self.cwnd = 1;
        }
    }

    fn window(&self) -> u32 {
        self.cwnd.saturating_mul(self.mss as u32)
    }

    fn ssthresh(&self) -> u32 {
        self.ssthresh.saturating_mul(self.mss as u32)
    }

    fn by_rate(&mut self) -> Option<&mut dyn RateControl> {
        Some(self)
    }
}
