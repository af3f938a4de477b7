//! BBR, version 1: sends at the largest rate that was delivered lately, and keeps little more in flight than
//! that takes in the shortest round trip.

mod aggregation;
mod linux;
mod policer;
mod running_max;
#[cfg(test)]
mod tests;

pub use linux::LinuxBbr1;

use super::rate::{LostSegment, RateControl, RateSample, Repair, WindowedMax, quantum};
use super::{AckSample, CongestionControl, Control, Entry, FlowEnv, Loss};
use crate::{Demands, Kind, Param, ParamError, Params, Provenance, SchemeInfo, parameters};
use leafspine_core::{Rng, Role, Span, Time};

pub(super) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "bbr1",
        summary: "Paces at the largest delivery rate of ten round trips, with two bandwidth-delay products in flight at most.",
        source: "draft-cardwell-iccrg-bbr-congestion-control-00; Cardwell et al., ACM Queue, 2016",
        provenance: Provenance::Paper,
        unspecified: &[
            "The send quantum is up to 64 KB with `transport.gso`, as the draft has it; without, where segments leave \
             one by one, `transport.pacing_quantum`, one segment by default. \
             Three of it are in flight beyond the gain's product.",
            "A rate is measured in payload, and a segment of so many bytes of payload takes as long.",
            "A rate of an earlier round trip counts for ten, the present one included.",
            "A recovery that turns out to have answered no loss gives the window back and starts the \
             search for a full pipe anew, as Linux has it; the draft does not speak of it.",
            "Where windows are counted as Linux counts them (`whole_windows`, as under `profile = \"linux\"`) it is \
             Linux's (`tcp_bbr.c` of 6.12): whole segments and microseconds, room in the window for bursts of \
             64 KB and for ACKs that come in bunches, a rate one percent below the estimate, and the detection of \
             policers. `pacing_quantum` does nothing there.",
            "Marks are not answered: BBR 1 does not know ECN.",
        ],
        params: Settings::PARAMS,
        demands: Demands::NONE,
    },
    build,
    ecn: false,
};

parameters! {
    #[derive(Copy)]
    struct Settings {
        high_gain: f64 = Param::new(
            Kind::Float(1.0, 10.0),
            "2.885",
            "Gain of rate and window in Startup: 2/ln 2, the least that doubles the rate each round trip (§4.2).",
        ),
        cwnd_gain: f64 = Param::new(
            Kind::Float(1.0, 10.0),
            "2.0",
            "Gain of the window in ProbeBW (§4.3).",
        ),
        min_rtt_window: Span = Param::new(
            Kind::Span(1, u64::MAX),
            "10s",
            "How long a shortest round trip stands, and how often ProbeRTT looks for a new one (RTpropFilterLen, §4.1).",
        ),
        probe_rtt_duration: Span = Param::new(
            Kind::Span(1, u64::MAX),
            "200ms",
            "How long ProbeRTT keeps four segments in flight at least (§4.3).",
        ),
    }
}

/// Round trips that a delivery rate counts for (BtlBwFilterLen, §4.1).
const BW_ROUNDS: u64 = 10;
/// The gains of ProbeBW's phases (§4.3).
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// BBRMinPipeCwnd, in segments (§4.2).
const MIN_PIPE: u32 = 4;

fn build(params: &Params, env: &FlowEnv) -> Result<Control, ParamError> {
    let settings = Settings::read(params)?;
    Ok(if env.whole {
        Control::LinuxBbr1(Box::new(LinuxBbr1::new(settings, env)))
    } else {
        Control::Bbr1(Box::new(Bbr1::new(settings, env)))
    })
}

/// `BBR.state`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// The rate doubles each round trip.
    Startup,
    /// What Startup queued leaves.
    Drain,
    /// Cycles of gains around the rate.
    ProbeBw,
    /// Four segments in flight, to see the path without a queue.
    ProbeRtt,
}

/// The draft's sender, in the draft's names: BtlBw is `bw`, `RTprop` `min_rtt`.
#[derive(Clone, Debug)]
pub struct Bbr1 {
    settings: Settings,
    mss: u32,
    init_cwnd: u32,
    most_quantum: u32,
    cwnd: u32,
    prior_cwnd: u32,
    pacing_rate: f64,
    quantum: u32,
    state: State,
    pacing_gain: f64,
    cwnd_gain: f64,
    rates: WindowedMax<{ BW_ROUNDS as usize }>,
    bw: f64,
    /// None before the first.
    min_rtt: Option<Span>,
    min_rtt_at: Time,
    min_rtt_expired: bool,
    round: u64,
    round_start: bool,
    next_round: u64,
    /// A round trip has been seen, and the first pacing rate made from it.
    rate_known: bool,
    filled_pipe: bool,
    full_bw: f64,
    full_bw_count: u32,
    cycle: usize,
    cycle_at: Time,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    repair: Repair,
    packet_conservation: bool,
    /// When packet conservation ends: `total` at its begin.
    conserve_until: u64,
    total: u64,
    random: Rng,
}

impl Bbr1 {
    fn new(settings: Settings, env: &FlowEnv) -> Bbr1 {
        Bbr1 {
            settings,
            mss: env.mss,
            init_cwnd: env.init_cwnd,
            most_quantum: env.quantum,
            cwnd: env.init_cwnd,
            prior_cwnd: 0,
            pacing_rate: 0.0,
            quantum: env.quantum,
            state: State::Startup,
            pacing_gain: settings.high_gain,
            cwnd_gain: settings.high_gain,
            rates: WindowedMax::new(),
            bw: 0.0,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            min_rtt_expired: false,
            round: 0,
            round_start: false,
            next_round: 0,
            rate_known: false,
            filled_pipe: false,
            full_bw: 0.0,
            full_bw_count: 0,
            cycle: 0,
            cycle_at: Time::ZERO,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            repair: Repair::Nothing,
            packet_conservation: false,
            conserve_until: 0,
            total: 0,
            random: Rng::new(0, Role::Transport, 0),
        }
    }

    /// Where the state machine is.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// The estimated bottleneck bandwidth, in bytes of payload a second.
    #[must_use]
    pub fn bw(&self) -> f64 {
        self.bw
    }

    /// The shortest round trip, if there was one.
    #[must_use]
    pub fn min_rtt(&self) -> Option<Span> {
        self.min_rtt
    }

    /// The gain of the pacing rate.
    #[must_use]
    pub fn pacing_gain(&self) -> f64 {
        self.pacing_gain
    }

    /// `BBRUpdateRound` (§4.1) and `BBRUpdateBtlBw` (§4.1).
    fn update_bw(&mut self, sample: &RateSample) {
        self.round_start = sample.newly_acked > 0 && sample.prior >= self.next_round;
        if self.round_start {
            self.next_round = sample.total;
            self.round += 1;
        }
        if sample.rate > 0.0 && (sample.rate >= self.bw || !sample.app_limited) {
            self.rates.add(self.round, sample.rate);
            self.bw = self.rates.largest(self.round, BW_ROUNDS);
        }
    }

    /// `BBRCheckCyclePhase` (§4.3).
    fn check_cycle(&mut self, sample: &RateSample, now: Time) {
        if self.state == State::ProbeBw && self.is_next_phase(sample, now) {
            self.advance_cycle(now);
        }
    }

    /// `BBRIsNextCyclePhase`: a phase lasts a shortest round trip; above 1 until its data is in flight or
    /// something is lost, below 1 until the queue is gone.
    fn is_next_phase(&self, sample: &RateSample, now: Time) -> bool {
        let elapsed = now.since(self.cycle_at) > self.min_rtt.unwrap_or(Span::ZERO);
        if self.pacing_gain > 1.0 {
            let full = sample.prior_in_flight >= self.inflight(self.pacing_gain);
            return elapsed && (sample.newly_lost > 0 || full);
        }
        if self.pacing_gain < 1.0 {
            return elapsed || sample.prior_in_flight <= self.inflight(1.0);
        }
        elapsed
    }

    fn advance_cycle(&mut self, now: Time) {
        self.cycle_at = now;
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.pacing_gain = CYCLE[self.cycle];
    }

    /// `BBRCheckFullPipe` (§4.3): three round trips in which the rate grew by less than a quarter.
    fn check_full_pipe(&mut self, sample: &RateSample) {
        if self.filled_pipe || !self.round_start || sample.app_limited {
            return;
        }
        if self.bw >= self.full_bw * 1.25 {
            self.full_bw = self.bw;
            self.full_bw_count = 0;
            return;
        }
        self.full_bw_count += 1;
        self.filled_pipe = self.full_bw_count >= 3;
    }

    /// `BBRCheckDrain` (§4.3).
    fn check_drain(&mut self, sample: &RateSample, now: Time) {
        if self.state == State::Startup && self.filled_pipe {
            self.state = State::Drain;
            self.pacing_gain = 1.0 / self.settings.high_gain;
            self.cwnd_gain = self.settings.high_gain;
        }
        if self.state == State::Drain && sample.in_flight <= self.inflight(1.0) {
            self.enter_probe_bw(now);
        }
    }

    fn enter_startup(&mut self) {
        self.state = State::Startup;
        self.pacing_gain = self.settings.high_gain;
        self.cwnd_gain = self.settings.high_gain;
    }

    /// `BBREnterProbeBW` (§4.3): in any phase but the one that drains.
    fn enter_probe_bw(&mut self, now: Time) {
        self.state = State::ProbeBw;
        self.cwnd_gain = self.settings.cwnd_gain;
        self.cycle = CYCLE.len() - 1 - self.random.below(7) as usize;
        self.advance_cycle(now);
    }

    /// `BBRUpdateRTprop` (§4.1).
    fn update_min_rtt(&mut self, sample: &RateSample, now: Time) {
        self.min_rtt_expired = now > self.min_rtt_at + self.settings.min_rtt_window;
        let Some(rtt) = sample.rtt else { return };
        if self.min_rtt_expired || self.min_rtt.is_none_or(|least| rtt <= least) {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = now;
        }
    }

    /// `BBRCheckProbeRTT` (§4.3). Returns whether the flow counts as limited by its application.
    fn check_probe_rtt(&mut self, sample: &RateSample, now: Time) -> bool {
        if self.state != State::ProbeRtt && self.min_rtt_expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_cwnd();
            self.pacing_gain = 1.0;
            self.cwnd_gain = 1.0;
            self.probe_rtt_done = None;
        }
        let probing = self.state == State::ProbeRtt;
        if probing {
            self.handle_probe_rtt(sample, now);
        }
        self.idle_restart = false;
        probing
    }

    /// `BBRHandleProbeRTT`: four segments in flight for 200 ms and a round trip.
    fn handle_probe_rtt(&mut self, sample: &RateSample, now: Time) {
        let Some(done) = self.probe_rtt_done else {
            if sample.in_flight <= MIN_PIPE * self.mss {
                self.probe_rtt_done = Some(now + self.settings.probe_rtt_duration);
                self.probe_rtt_round_done = false;
                self.next_round = sample.total;
            }
            return;
        };
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done && now > done {
            self.min_rtt_at = now;
            self.restore_cwnd();
            if self.filled_pipe {
                self.enter_probe_bw(now);
            } else {
                self.enter_startup();
            }
        }
    }

    /// `BBRInflight` (§4.2).
    fn inflight(&self, gain: f64) -> u32 {
        let Some(min_rtt) = self.min_rtt else { return self.init_cwnd };
        let bdp = (gain * self.bw * min_rtt.as_secs_f64()).round() as u32;
        bdp.saturating_add(3 * self.quantum)
    }

    /// `BBRInitPacingRate` (§4.2).
    fn init_pacing_rate(&mut self, srtt: Span) {
        let seconds = if srtt == Span::ZERO { 1e-3 } else { srtt.as_secs_f64() };
        self.pacing_rate = self.settings.high_gain * f64::from(self.init_cwnd) / seconds;
        self.rate_known = srtt > Span::ZERO;
    }

    /// `BBRSetPacingRateWithGain` (§4.2): until the pipe has been full the rate only grows.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw;
        if self.filled_pipe || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `BBRSetSendQuantum` (§4.2): below 1.2 Mb/s a segment, below 24 Mb/s two.
    fn set_quantum(&mut self) {
        let segments = if self.pacing_rate < 1.2e6 / 8.0 { 1 } else { 2 };
        self.quantum = if self.pacing_rate < 24e6 / 8.0 {
            (segments * self.mss).min(self.most_quantum)
        } else {
            quantum(self.pacing_rate, self.mss, self.most_quantum)
        };
    }

    /// `BBRSetCwnd` (§4.2), with `BBRModulateCwndForRecovery` (§4.2) and
    /// `BBRModulateCwndForProbeRTT` (§4.2).
    fn set_cwnd(&mut self, sample: &RateSample) {
        let target = self.inflight(self.cwnd_gain);
        if sample.newly_lost > 0 {
            self.cwnd = self.cwnd.saturating_sub(sample.newly_lost).max(self.mss);
        }
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(sample.in_flight + sample.newly_acked);
        } else {
            let more = self.cwnd.saturating_add(sample.newly_acked);
            if self.filled_pipe {
                self.cwnd = more.min(target);
            } else if self.cwnd < target || sample.total < u64::from(self.init_cwnd) {
                self.cwnd = more;
            }
            self.cwnd = self.cwnd.max(MIN_PIPE * self.mss);
        }
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_PIPE * self.mss);
        }
    }

    /// `BBRSaveCwnd` (§4.2).
    fn save_cwnd(&mut self) {
        let modulated = self.repair != Repair::Nothing || self.state == State::ProbeRtt;
        self.prior_cwnd = if modulated { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

impl RateControl for Bbr1 {
    /// `BBRInit` (§4.3).
    fn begin(&mut self, srtt: Span, random: Rng, now: Time) {
        self.random = random;
        self.min_rtt = (srtt > Span::ZERO).then_some(srtt);
        self.min_rtt_at = now;
        self.init_pacing_rate(srtt);
        self.set_quantum();
    }

    /// `BBRUpdateOnACK` (§3.4.2).
    fn on_rate(&mut self, sample: &RateSample, now: Time) -> bool {
        if !self.rate_known && sample.srtt > Span::ZERO {
            self.init_pacing_rate(sample.srtt);
        }
        self.total = sample.total;
        self.update_bw(sample);
        if self.packet_conservation && sample.newly_acked > 0 && sample.prior >= self.conserve_until
        {
            self.packet_conservation = false;
        }
        self.check_cycle(sample, now);
        self.check_full_pipe(sample);
        self.check_drain(sample, now);
        self.update_min_rtt(sample, now);
        let limited = self.check_probe_rtt(sample, now);
        self.set_pacing_rate(self.pacing_gain);
        self.set_quantum();
        self.set_cwnd(sample);
        limited
    }

    fn on_lost(&mut self, segment: &LostSegment, _now: Time) {
        self.total = segment.total;
    }

    /// §4.2: after a timeout one segment, in fast recovery what ACKs let go for a round trip.
    fn on_repair(&mut self, repair: Repair, in_flight: u32, newly_acked: u32, _now: Time) {
        self.save_cwnd();
        self.repair = repair;
        if repair == Repair::Timeout {
            self.packet_conservation = false;
            self.cwnd = self.mss;
            return;
        }
        self.cwnd = in_flight + newly_acked.max(self.mss);
        self.packet_conservation = true;
        self.conserve_until = self.total;
    }

    fn on_repaired(&mut self, _now: Time) {
        self.repair = Repair::Nothing;
        self.packet_conservation = false;
        self.restore_cwnd();
    }

    /// Nothing: BBR 1 answers losses in recovery only.
    fn on_tail_loss(&mut self, _total: u64, _now: Time) {}

    fn on_spurious(&mut self, now: Time) {
        self.full_bw = 0.0;
        self.full_bw_count = 0;
        self.on_repaired(now);
    }

    /// `BBRHandleRestartFromIdle` (§4.3).
    fn on_restart(&mut self, _now: Time) {
        self.idle_restart = true;
        if self.state == State::ProbeBw {
            self.set_pacing_rate(1.0);
        }
    }

    fn pacing_rate(&self) -> f64 {
        self.pacing_rate
    }

    fn quantum(&self) -> u32 {
        self.quantum
    }
}

impl CongestionControl for Bbr1 {
    /// Nothing: all that ACKs tell comes with a rate.
    fn on_ack(&mut self, _ack: &AckSample, _now: Time) {}

    /// Losses come with rates, too; a lost SYN makes the initial window a segment (RFC 5681 §3.1).
    fn on_loss(&mut self, loss: Loss, _in_flight: u32, _now: Time) {
        if loss == Loss::Handshake {
            self.cwnd = self.mss;
        }
    }

    fn window(&self) -> u32 {
        self.cwnd
    }

    fn ssthresh(&self) -> u32 {
        u32::MAX
    }

    fn by_rate(&mut self) -> Option<&mut dyn RateControl> {
        Some(self)
    }
}
