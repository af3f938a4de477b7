//! BBR, version 3: a model of the path's rate and of what may be in flight, for the long term as probing finds
//! it and for the short term as losses and marks bound it.
//!
//! `model.rs` has what is measured, `congestion.rs` what losses and marks change of it, `probe_bw.rs` and
//! `probe_rtt.rs` the states, `output.rs` what follows for rate and window. Functions have the draft's names.

mod congestion;
mod model;
mod output;
mod probe_bw;
mod probe_rtt;

use super::rate::{LostSegment, RateControl, RateSample, Repair, WindowedMax};
use super::{AckSample, CongestionControl, Control, Entry, FlowEnv, Loss, Needs};
use crate::{Demands, Kind, Param, ParamError, Params, Provenance, SchemeInfo, parameters};
use leafspine_core::{Rng, Role, Span, Time};
use probe_bw::AckPhase;

pub(super) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "bbr3",
        summary: "Paces at the rate that probing finds, within what losses and marks say may be in flight.",
        source: "draft-ietf-ccwg-bbr-06; the answer to marks as Google's release of BBRv3 has it (Cardwell et al., IETF 106 and 117)",
        provenance: Provenance::Paper,
        unspecified: &[
            "The draft has no answer to marks. Here it is that of the release, where `transport.ecn` is on: alpha as \
             DCTCP's, from 1 and each round trip; bounds for the short term shrink by `ecn_factor` of it, and a \
             round trip of which `ecn_threshold` is marked was too much in flight. Receivers echo each mark. Left out: \
             the release's longer first step of a probe after a cycle with marks and no losses.",
            "The send quantum is up to 64 KB with `transport.gso`, as the draft has it; without, where segments leave \
             one by one, `transport.pacing_quantum`, one segment by default. \
             Three of it are in flight at least.",
            "A rate is measured in payload, and a segment of so many bytes of payload takes as long.",
            "Startup's end by losses: ranges are counted by the order in which segments are marked lost, and the \
             recovery must have lasted since before the round trip began.",
            "A probing cycle without a sample of its own keeps the rate of the one before, as in the release.",
            "The state that a spurious recovery goes back to is that before the first loss of an ACK, which is \
             before recovery begins.",
            "In Drain the long-term bound does not bound the window: the draft's table says that it does, its \
             function that it does not.",
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
        loss_threshold: f64 = Param::new(
            Kind::Float(0.0, 1.0),
            "0.02",
            "Share of a round trip's data whose loss means that too much was in flight (LossThresh, §2.6).",
        ),
        beta: f64 = Param::new(
            Kind::Float(0.1, 1.0),
            "0.7",
            "Least factor by which a round trip with losses lowers a bound (Beta, §2.6).",
        ),
        headroom: f64 = Param::new(
            Kind::Float(0.0, 0.9),
            "0.15",
            "Share of the long-term bound that is left to others between probes (Headroom, §2.6).",
        ),
        ecn_factor: f64 = Param::new(
            Kind::Float(0.0, 1.0),
            "0.333",
            "Share of alpha by which a round trip with marks lowers the short-term bound; 0: marks are not answered (release).",
        ),
        ecn_threshold: f64 = Param::new(
            Kind::Float(0.0, 1.0),
            "0.5",
            "Share of marked data that means that too much was in flight (release).",
        ),
        ecn_max_rtt: Span = Param::new(
            Kind::Span(1, u64::MAX),
            "5ms",
            "Longest shortest round trip at which marks are answered: those of a datacentre mark early (release).",
        ),
        probe_rtt_interval: Span = Param::new(
            Kind::Span(1, u64::MAX),
            "5s",
            "How long without a shorter round trip until ProbeRTT looks for one; it is remembered for twice as long (ProbeRTTInterval, MinRTTFilterLen).",
        ),
        probe_rtt_duration: Span = Param::new(
            Kind::Span(1, u64::MAX),
            "200ms",
            "How long ProbeRTT keeps half a bandwidth-delay product in flight at most (ProbeRTTDuration).",
        ),
    }
}

/// No bound.
const NO_BOUND: u32 = u32::MAX;
/// `BBR.MinPipeCwnd`, in segments.
const MIN_PIPE: u32 = 4;
/// Round trips for which aggregation is remembered (`BBR.ExtraAckedFilterLen`).
const EXTRA_ROUNDS: usize = 10;

fn build(params: &Params, env: &FlowEnv) -> Result<Control, ParamError> {
    Ok(Control::Bbr3(Box::new(Bbr3::new(Settings::read(params)?, env))))
}

/// `BBR.state`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// The rate doubles each round trip.
    Startup,
    /// What Startup queued leaves.
    Drain,
    /// `ProbeBW_DOWN`: a queue of a probe leaves, and some of the long-term bound.
    Down,
    /// `ProbeBW_CRUISE`: at the path's rate.
    Cruise,
    /// `ProbeBW_REFILL`: a round trip at the path's rate without short-term bounds.
    Refill,
    /// `ProbeBW_UP`: a quarter faster, to see whether more is delivered.
    Up,
    /// Half a bandwidth-delay product in flight, to see the path without a queue.
    ProbeRtt,
}

impl State {
    /// `IsInAProbeBWState`.
    fn probes_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// `IsProbingBW`.
    fn accelerates(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }

    /// The pacing gain (§5.6.1).
    fn pacing_gain(self) -> f64 {
        match self {
            State::Startup => 2.77,
            State::Drain => 0.5,
            State::Down => 0.9,
            State::Up => 1.25,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    /// The window's gain (§5.6.1).
    fn cwnd_gain(self) -> f64 {
        match self {
            State::Up => 2.25,
            State::ProbeRtt => 0.5,
            _ => 2.0,
        }
    }
}

/// What is saved when losses begin (§2.13).
#[derive(Clone, Copy, Debug)]
struct Undo {
    state: Option<State>,
    bw_shortterm: f64,
    inflight_shortterm: u32,
    inflight_longterm: u32,
}

/// The draft's sender, in the draft's names.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    settings: Settings,
    mss: u32,
    init_cwnd: u32,
    most_quantum: u32,
    random: Rng,
    cwnd: u32,
    prior_cwnd: u32,
    pacing_rate: f64,
    send_quantum: u32,
    /// A round trip has been seen, and the first pacing rate made from it.
    rate_known: bool,
    state: State,
    repair: Repair,
    /// `C.delivered` as far as the last event told.
    total: u64,

    round_count: u64,
    round_start: bool,
    next_round_delivered: u64,
    drain_start_round: u64,
    idle_restart: bool,

    /// Of the probing cycle before, and of this one.
    max_bw_filter: [f64; 2],
    max_bw: f64,
    bw_shortterm: f64,
    bw: f64,
    min_rtt: Option<Span>,
    min_rtt_stamp: Time,
    inflight_longterm: u32,
    inflight_shortterm: u32,
    extra_acked_filter: WindowedMax<EXTRA_ROUNDS>,
    extra_acked: u32,
    extra_acked_interval_start: Time,
    extra_acked_delivered: f64,

    bw_latest: f64,
    inflight_latest: u32,
    is_loss_in_round: bool,
    loss_round_delivered: u64,
    loss_round_start: bool,
    /// Ranges of segments that were lost in this round trip, and one past the last of them.
    loss_ranges: u32,
    loss_range_end: u32,
    /// `total` when fast recovery began.
    repair_from: u64,
    undo: Undo,
    /// Whether that has been written since the last ACK.
    saved: bool,

    /// Marks: the estimate, and what it had been told of.
    ecn_alpha: f64,
    ecn_in_round: bool,
    ecn_rounds: u32,
    round_marked: u64,
    round_acked: u64,

    full_bw_reached: bool,
    full_bw_now: bool,
    full_bw: f64,
    full_bw_count: u32,

    ack_phase: AckPhase,
    is_bw_probe_sample: bool,
    bw_probe_up_acked: u32,
    probe_up_acked_per_inc: u32,
    bw_probe_up_rounds: u32,
    rounds_since_probe_up: u64,
    bw_probe_wait: Span,
    cycle_stamp: Time,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,

    probe_rtt_min_delay: Option<Span>,
    probe_rtt_min_stamp: Time,
    probe_rtt_expired: bool,
    probe_rtt_done_stamp: Option<Time>,
    probe_rtt_round_done: bool,
}

impl Bbr3 {
    fn new(settings: Settings, env: &FlowEnv) -> Bbr3 {
        Bbr3 {
            settings,
            mss: env.mss,
            init_cwnd: env.init_cwnd,
            most_quantum: env.quantum,
            random: Rng::new(0, Role::Transport, 0),
            cwnd: env.init_cwnd,
            prior_cwnd: 0,
            pacing_rate: 0.0,
            send_quantum: env.quantum,
            rate_known: false,
            state: State::Startup,
            repair: Repair::Nothing,
            total: 0,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            drain_start_round: 0,
            idle_restart: false,
            max_bw_filter: [0.0; 2],
            max_bw: 0.0,
            bw_shortterm: f64::INFINITY,
            bw: 0.0,
            min_rtt: None,
            min_rtt_stamp: Time::ZERO,
            inflight_longterm: NO_BOUND,
            inflight_shortterm: NO_BOUND,
            extra_acked_filter: WindowedMax::new(),
            extra_acked: 0,
            extra_acked_interval_start: Time::ZERO,
            extra_acked_delivered: 0.0,
            bw_latest: 0.0,
            inflight_latest: 0,
            is_loss_in_round: false,
            loss_round_delivered: 0,
            loss_round_start: false,
            loss_ranges: 0,
            loss_range_end: 0,
            repair_from: 0,
            undo: Undo {
                state: None,
                bw_shortterm: 0.0,
                inflight_shortterm: 0,
                inflight_longterm: 0,
            },
            saved: false,
            ecn_alpha: 1.0,
            ecn_in_round: false,
            ecn_rounds: 0,
            round_marked: 0,
            round_acked: 0,
            full_bw_reached: false,
            full_bw_now: false,
            full_bw: 0.0,
            full_bw_count: 0,
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            bw_probe_up_acked: 0,
            probe_up_acked_per_inc: NO_BOUND,
            bw_probe_up_rounds: 0,
            rounds_since_probe_up: 0,
            bw_probe_wait: Span::ZERO,
            cycle_stamp: Time::ZERO,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            probe_rtt_min_delay: None,
            probe_rtt_min_stamp: Time::ZERO,
            probe_rtt_expired: false,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
        }
    }

    /// Where the state machine is.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// The rate that the model allows, in bytes of payload a second.
    #[must_use]
    pub fn bw(&self) -> f64 {
        self.bw
    }

    /// The shortest round trip, if there was one.
    #[must_use]
    pub fn min_rtt(&self) -> Option<Span> {
        self.min_rtt
    }

    /// The bounds of what may be in flight, for the long and the short term, in bytes; `u32::MAX`: none.
    #[must_use]
    pub fn bounds(&self) -> (u32, u32) {
        (self.inflight_longterm, self.inflight_shortterm)
    }

    /// The estimated share of marked data.
    #[must_use]
    pub fn ecn_alpha(&self) -> f64 {
        self.ecn_alpha
    }

    /// `CheckStartupDone`.
    fn check_startup_done(&mut self, sample: &RateSample) {
        self.check_startup_high_loss(sample);
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
            self.drain_start_round = self.round_count;
        }
    }

    /// `CheckDrainDone`.
    fn check_drain_done(&mut self, sample: &RateSample, now: Time) {
        let drained =
            sample.in_flight <= self.inflight(1.0) || self.round_count > self.drain_start_round + 3;
        if self.state == State::Drain && drained {
            self.start_down(now);
        }
    }
}

impl RateControl for Bbr3 {
    /// `OnInit`.
    fn begin(&mut self, srtt: Span, random: Rng, now: Time) {
        self.random = random;
        self.min_rtt = (srtt > Span::ZERO).then_some(srtt);
        self.min_rtt_stamp = now;
        self.probe_rtt_min_stamp = now;
        self.extra_acked_interval_start = now;
        self.init_pacing_rate(srtt);
        self.set_send_quantum();
    }

    /// `UpdateOnACK`.
    fn on_rate(&mut self, sample: &RateSample, now: Time) -> bool {
        if !self.rate_known && sample.srtt > Span::ZERO {
            self.init_pacing_rate(sample.srtt);
        }
        self.total = sample.total;
        self.update_latest_delivery_signals(sample);
        self.update_congestion_signals(sample);
        self.update_ack_aggregation(sample, now);
        self.check_full_bw_reached(sample);
        self.check_startup_done(sample);
        self.check_drain_done(sample, now);
        self.update_probe_bw_cycle_phase(sample, now);
        self.update_min_rtt(sample, now);
        let limited = self.check_probe_rtt(sample, now);
        self.advance_latest_delivery_signals(sample);
        self.bw = self.max_bw.min(self.bw_shortterm);
        self.set_pacing_rate(self.state.pacing_gain());
        self.set_send_quantum();
        self.set_cwnd(sample);
        self.saved = false;
        limited
    }

    fn on_lost(&mut self, segment: &LostSegment, now: Time) {
        self.handle_lost_packet(segment, now);
    }

    /// `OnEnterRTO`, `OnEnterFastRecovery`.
    fn on_repair(&mut self, repair: Repair, in_flight: u32, _newly_acked: u32, _now: Time) {
        self.save_state_upon_loss();
        if self.repair == Repair::Nothing {
            self.repair_from = self.total;
        }
        self.repair = repair;
        if repair == Repair::Timeout {
            self.cwnd = in_flight + self.mss;
        }
    }

    fn on_repaired(&mut self, _now: Time) {
        self.repair = Repair::Nothing;
        self.restore_cwnd();
    }

    fn on_tail_loss(&mut self, total: u64, _now: Time) {
        self.total = total;
        self.note_loss();
    }

    fn on_spurious(&mut self, _now: Time) {
        self.repair = Repair::Nothing;
        self.handle_spurious_loss_detection();
    }

    /// `HandleRestartFromIdle`.
    fn on_restart(&mut self, now: Time) {
        self.idle_restart = true;
        self.extra_acked_interval_start = now;
        if self.state.probes_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }

    fn pacing_rate(&self) -> f64 {
        self.pacing_rate
    }

    fn quantum(&self) -> u32 {
        self.send_quantum
    }
}

impl CongestionControl for Bbr3 {
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

    fn needs(&self) -> Needs {
        Needs { precise_echo: true }
    }

    fn by_rate(&mut self) -> Option<&mut dyn RateControl> {
        Some(self)
    }
}
