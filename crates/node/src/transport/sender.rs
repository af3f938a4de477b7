//! The sending side of a flow.

use super::TcpConfig;
use super::acks::RoundTrip;
use super::config::{STAMP_UNIT, since_stamp, stamp, stamped};
use super::extra::Extra;
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use super::ticks::{fires, in_micros, in_ticks};
use crate::spec::Timestamps;
use leafspine_core::{Ecn, Flags, PacketMeta, SackBlock, Span, Time};
use leafspine_schemes::cc::{AckSample, CongestionControl, Control, FlowEnv, Loss, NewReno};

/// Where a flow is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Not opened yet.
    Closed,
    /// SYN sent.
    Opening,
    /// The SYN-ACK is here, and the third ACK goes before all data (`TcpConfig::handshake_ack`).
    Answering,
    /// Nothing is known to be lost.
    Open,
    /// Fast recovery (RFC 6675 §5, or RFC 6582 without SACK).
    Recovery,
    /// After a timeout, until all that was outstanding is acknowledged.
    Loss,
    /// Nothing is known to be lost, and a tail loss probe is the next to be sent.
    Probing,
}

/// What [`Sender::on_timer`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fired {
    /// Nothing: it was early.
    Nothing,
    /// A retransmission timeout: something is to be sent.
    Timeout,
    /// Another timer: something may be to be sent.
    Other,
}

/// What an acknowledgment did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AckOutcome {
    /// The round-trip sample, if the packet gave one.
    pub rtt: Option<Span>,
    /// Segments newly acknowledged, cumulatively.
    pub acked: u32,
    /// Whether fast retransmit was entered.
    pub fast_retransmit: bool,
    /// Whether this packet acknowledged the last segment.
    pub finished: bool,
}

/// A flow's sending side. In the common case, an ACK of new data with no loss under way, only the
/// fields up to `control` are touched: three cache lines with the smaller controls.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Sender {
    /// SND.UNA: the oldest segment not acknowledged.
    pub(super) una: u32,
    /// SND.NXT: what is sent next; below `high` only after a timeout.
    pub(super) nxt: u32,
    /// SND.MAX: the first segment never sent.
    pub(super) high: u32,
    /// Segments of the flow.
    pub(super) total: u32,
    /// Payload of the last segment.
    pub(super) last_payload: u16,
    pub(super) phase: Phase,
    /// The next new segment carries CWR.
    pub(super) cwr_due: bool,
    /// The SYN, or segment `una` in (or after) recovery, is to be sent whatever the window.
    pub(super) resend_due: bool,
    /// A partial ACK has come in this recovery (RFC 6582).
    pub(super) partial_seen: bool,
    /// Duplicate ACKs in a row (`DupAcks`).
    pub(super) dup_streak: u32,
    /// One reduction per window: none for ECE until `una` is beyond this. 0: none has been.
    pub(super) reduced_until: u32,
    pub(super) deadline: Time,
    pub(super) rtt: RttEstimator,
    pub(super) board: Scoreboard,
    pub(super) control: Control,
    /// When the window last changed.
    pub(super) window_since: Time,
    /// Byte-picoseconds of window up to `window_since`.
    pub(super) window_area: f64,
    /// When data could first be sent.
    pub(super) window_from: Time,
    /// Fast recovery and timeout recovery: all below was sent before the loss was seen.
    pub(super) recover: u32,
    /// Recovery and loss phases: segments thought to be in the network.
    pub(super) pipe: u32,
    /// RFC 6582: bytes by which duplicate ACKs inflate the window, and partial ACKs deflate it. Zero
    /// outside of recoveries, unless they linger.
    pub(super) inflation: i32,
    pub(super) retransmits: u32,
    pub(super) timeouts: u32,
    pub(super) dup_acks: u32,
    /// What the switches of `TcpConfig::stack` need, if one is on.
    pub(super) extra: Option<Box<Extra>>,
}

/// What a message leaves to the next of its connection.
#[derive(Clone, Debug)]
pub(crate) struct Carried {
    control: Control,
    rtt: RttEstimator,
}

impl Default for Sender {
    fn default() -> Sender {
        Sender::new()
    }
}

impl Sender {
    /// The most segments of a flow.
    pub const MOST_SEGMENTS: u64 = 1 << 31;

    /// A sender without a flow; [`Sender::reset`] gives it one.
    #[must_use]
    pub fn new() -> Sender {
        let env = FlowEnv::of_segments(1);
        Sender {
            una: 0,
            nxt: 0,
            high: 0,
            total: 0,
            last_payload: 0,
            phase: Phase::Closed,
            cwr_due: false,
            resend_due: false,
            partial_seen: false,
            dup_streak: 0,
            reduced_until: 0,
            deadline: Time::MAX,
            rtt: RttEstimator::default(),
            control: Control::NewReno(NewReno::new(&env, 1)),
            window_since: Time::ZERO,
            window_area: 0.0,
            window_from: Time::ZERO,
            recover: 0,
            pipe: 0,
            inflation: 0,
            board: Scoreboard::default(),
            retransmits: 0,
            timeouts: 0,
            dup_acks: 0,
            extra: None,
        }
    }

    /// Makes this the sender of a flow of `bytes`, and keeps the heap memory.
    ///
    /// # Panics
    /// If `bytes` is zero, or more than 2^31 segments.
    pub fn reset(&mut self, cfg: &TcpConfig, bytes: u64) {
        assert!(bytes > 0, "a flow has at least one byte");
        let total = bytes.div_ceil(u64::from(cfg.mss));
        assert!(total <= Sender::MOST_SEGMENTS, "{bytes} bytes are more than 2^31 segments");
        let last = bytes - (total - 1) * u64::from(cfg.mss);
        let mut board = std::mem::take(&mut self.board);
        board.reset();
        let mut extra = self.extra.take();
        match &mut extra {
            Some(extra) => extra.reset(),
            None if cfg.extra => extra = Some(Box::default()),
            None => {}
        }
        if cfg.by_rate
            && let Some(extra) = &mut extra
        {
            extra.rate.get_or_insert_default();
        }
        let idle = Sender::new();
        let mut control = std::mem::replace(&mut self.control, idle.control);
        control.clone_from(&cfg.control);
        *self = Sender {
            total: total as u32,
            last_payload: last as u16,
            control,
            board,
            extra,
            ..Sender::new()
        };
        self.rtt.reset(cfg);
    }

    /// Opens the flow: a SYN, or data at once.
    pub fn open(&mut self, cfg: &TcpConfig, now: Time) {
        if cfg.handshake {
            self.phase = Phase::Opening;
            self.resend_due = true;
        } else {
            self.start_data(cfg, now);
        }
    }

    /// What the connection's next message begins with, when this one is all acknowledged.
    pub(crate) fn carried(&self) -> Carried {
        Carried { control: self.control.clone(), rtt: self.rtt.clone() }
    }

    /// Opens the flow as the next message of a connection: no handshake, the window and the round trip
    /// as the message before has left them. A control that goes by delivery rates begins anew: its
    /// samples are those of one message.
    pub(crate) fn resume(&mut self, cfg: &TcpConfig, from: &Carried, now: Time) {
        if !cfg.by_rate {
            self.control.clone_from(&from.control);
            self.control.on_message();
        }
        self.rtt = from.rtt.clone();
        self.start_data(cfg, now);
    }

    fn start_data(&mut self, cfg: &TcpConfig, now: Time) {
        self.phase = Phase::Open;
        self.window_from = now;
        self.window_since = now;
        if cfg.by_rate {
            self.begin_rates(cfg, now);
        }
    }

    /// The next packet that may be sent now. `false`: none, until something else happens.
    #[inline]
    pub fn poll_send(&mut self, cfg: &TcpConfig, now: Time, out: &mut PacketMeta) -> bool {
        if cfg.paced && !self.is_urgent(cfg) && self.is_held(now) {
            // The application is woken all the same, and what it pushes then has to wait.
            while cfg.stack.gso && self.application_writes(cfg, now).is_some() {}
            return false;
        }
        if self.phase != Phase::Open || self.resend_due {
            return self.poll_recovering(cfg, now, out)
                || (cfg.stack.gso && self.poll_written(cfg, now, out));
        }
        if self.nxt == self.total {
            return false;
        }
        if cfg.stack.idle_restart && self.nxt == self.una {
            self.after_pause(cfg, now);
        }
        let mut window = self.control.window();
        let told = self.dup_streak > 0 || self.inflation > 0;
        let mut beyond = if told { self.limited_transmit(cfg) } else { 0 };
        let shares = cfg.extra && self.is_sharing();
        if shares {
            (window, beyond) = (self.shared_window(cfg), 0);
        }
        let may = if cfg.stack.gso {
            self.may_leave(cfg, (window, beyond), now)
        } else {
            (self.nxt - self.una + 1) * cfg.mss <= (window + beyond).min(cfg.max_cwnd)
        };
        if may {
            self.emit_new(cfg, now, out);
        }
        if may && shares {
            self.count_shared(cfg);
        }
        may
    }

    /// Bytes that the last segment lacks of a full one.
    pub(super) fn short_of(&self, cfg: &TcpConfig) -> u32 {
        cfg.mss - u32::from(self.last_payload)
    }

    /// RFC 3042: each of the first duplicate ACKs lets a new segment go. Its two are the usual
    /// threshold less one, which is also as far as RFC 6675 §5 step 3 goes.
    ///
    /// With RACK, what has been SACKed has left the network, and as much may follow: what is late is
    /// waited for longer than three segments take (RFC 8985 §3.3).
    fn limited_transmit(&self, cfg: &TcpConfig) -> u32 {
        if cfg.stack.rack {
            return self.dup_streak * cfg.mss;
        }
        if cfg.lingers() {
            // With limited transmit, the first duplicates are in it.
            return self.inflation as u32;
        }
        u32::from(cfg.limited_transmit) * self.dup_streak.min(cfg.dupack_threshold - 1) * cfg.mss
    }

    /// A segment that was never sent.
    #[inline]
    pub(super) fn emit_new(&mut self, cfg: &TcpConfig, now: Time, out: &mut PacketMeta) {
        let mut flags = Flags::DATA.with(Flags::ACK);
        if self.cwr_due {
            // RFC 3168 §6.1.2: on the first new data after the reduction.
            flags = flags.with(Flags::CWR);
            self.cwr_due = false;
        }
        out.ecn = if self.has_ecn(cfg) { Ecn::Capable } else { Ecn::NotCapable };
        out.notes = if cfg.stack.push_acks { self.push_note() } else { 0 };
        self.emit_segment(cfg, self.nxt, flags, now, out);
        self.nxt += 1;
        self.high = self.nxt;
        if cfg.stack.gso {
            self.end_piece(now);
        }
    }

    /// A segment that was sent before.
    pub(super) fn emit_again(
        &mut self,
        cfg: &TcpConfig,
        segment: u32,
        now: Time,
        out: &mut PacketMeta,
    ) {
        // RFC 3168 §6.1.5: retransmissions are not ECN-capable. DCTCP's are, as all its data: in a
        // fabric that marks at a threshold they would be dropped first.
        let capable = cfg.precise_echo && self.has_ecn(cfg);
        out.ecn = if capable { Ecn::Capable } else { Ecn::NotCapable };
        out.notes = PacketMeta::RETRANSMIT;
        self.emit_segment(cfg, segment, Flags::DATA.with(Flags::ACK), now, out);
        self.retransmits += 1;
    }

    /// Whether the connection has ECN.
    #[inline]
    fn has_ecn(&self, cfg: &TcpConfig) -> bool {
        cfg.ecn && !(cfg.extra && self.extra.as_ref().is_some_and(|x| x.no_ecn))
    }

    #[inline]
    fn emit_segment(
        &mut self,
        cfg: &TcpConfig,
        segment: u32,
        mut flags: Flags,
        now: Time,
        out: &mut PacketMeta,
    ) {
        let mut payload = cfg.mss as u16;
        if segment + 1 == self.total {
            payload = self.last_payload;
            flags = flags.with(Flags::FIN);
        }
        out.seq = segment;
        out.stamp = stamp(now);
        out.size = payload + cfg.header as u16;
        out.payload = payload;
        out.flags = flags;
        out.sack = [SackBlock::default(); 3];
        if cfg.extra {
            return self.note_sent(cfg, out, now);
        }
        self.arm_if_idle(cfg, now);
    }

    /// RFC 6298 §5.1: the timer runs whenever data is outstanding.
    #[inline]
    fn arm_if_idle(&mut self, cfg: &TcpConfig, now: Time) {
        if self.deadline == Time::MAX {
            self.deadline = fires(cfg, self.rtt.rto(), now);
        }
    }

    /// The SYN (RFC 9293 §3.5), 40 bytes with the usual header; not ECN-capable (RFC 3168 §6.1.1).
    pub(super) fn emit_syn(&mut self, cfg: &TcpConfig, now: Time, out: &mut PacketMeta) {
        self.resend_due = false;
        let again = self.rtt.backed_off();
        out.seq = 0;
        out.stamp = stamp(now);
        out.size = (cfg.header + cfg.stack.syn_options) as u16;
        out.payload = 0;
        out.flags = Flags::SYN;
        if cfg.stack.ecn_fallback && cfg.ecn && !again {
            // RFC 3168 §6.1.1: an ECN-setup SYN.
            out.flags = Flags::SYN.with(Flags::ECE).with(Flags::CWR);
        }
        out.ecn = cfg.other_ecn(!again);
        out.notes = if again { PacketMeta::RETRANSMIT } else { 0 };
        out.sack = [SackBlock::default(); 3];
        self.arm_if_idle(cfg, now);
    }

    /// The third packet of the handshake. Nothing depends on it here: if it is lost, data opens the
    /// receiver's side as well (RFC 9293 §3.10.7.4, SYN-RECEIVED), so no timer is set for it.
    pub(super) fn emit_third_ack(&mut self, cfg: &TcpConfig, now: Time, out: &mut PacketMeta) {
        self.phase = Phase::Open;
        out.seq = 0;
        out.stamp = stamp(now);
        out.size = cfg.header as u16;
        out.payload = 0;
        out.flags = Flags::ACK;
        out.ecn = cfg.other_ecn(self.has_ecn(cfg));
        out.notes = 0;
        out.sack = [SackBlock::default(); 3];
    }

    /// A SYN-ACK or an ACK has come.
    #[inline]
    pub fn on_packet(&mut self, cfg: &TcpConfig, p: &PacketMeta, now: Time) -> AckOutcome {
        let syn = p.flags.has(Flags::SYN);
        if syn || matches!(self.phase, Phase::Opening | Phase::Closed) {
            return self.on_syn_ack(cfg, p, now);
        }
        if cfg.extra {
            return self.on_ack_extra(cfg, p, now);
        }
        // RFC 9293 §3.10.7.4: an old ACK tells nothing; one of data never sent cannot be.
        if p.seq < self.una || p.seq > self.high {
            return AckOutcome::default();
        }
        let in_flight = self.in_flight() * cfg.mss;
        let mut newly_sacked = 0;
        if cfg.sack && p.sack[0].end > p.sack[0].start {
            newly_sacked = self.board.update(&p.sack, self.una, self.high);
        }
        let mut outcome = AckOutcome::default();
        let echo = cfg.ecn && p.flags.has(Flags::ECE);
        if p.seq > self.una {
            self.on_new_ack(cfg, p, in_flight, echo, now, &mut outcome);
        } else if self.una < self.high {
            self.dup_acks += 1;
        }
        if echo && (outcome.acked > 0 || !cfg.stack.ignore_duplicate_ece) {
            self.on_echo(cfg, now);
        }
        if outcome.acked == 0 {
            outcome.fast_retransmit = self.on_duplicate(cfg, newly_sacked, now);
        } else if self.phase != Phase::Open {
            self.on_progress(cfg, outcome.acked, now);
        }
        outcome
    }

    /// RFC 9293 §3.10.7.3. The third ACK of the handshake rides on the first data segment, unless
    /// it is to be a packet of its own.
    fn on_syn_ack(&mut self, cfg: &TcpConfig, p: &PacketMeta, now: Time) -> AckOutcome {
        if self.phase != Phase::Opening || !p.flags.has(Flags::SYN.with(Flags::ACK)) {
            return AckOutcome::default();
        }
        let mut rtt = since_stamp(now, p.stamp);
        if cfg.stack.kernel_timers && self.timeouts > 0 {
            rtt = in_ticks(stamped(now, p.stamp), now);
        }
        let measured = cfg.stack.timestamps != Timestamps::Off || self.timeouts == 0;
        if measured {
            // Stamps are cut off, and the shortest round trip is counted in whole microseconds.
            self.sample(cfg, RoundTrip { smoothed: rtt, latest: rtt + STAMP_UNIT });
        } else {
            self.rtt.after_lost_syn(cfg);
        }
        if cfg.stack.ecn_fallback
            && let Some(x) = &mut self.extra
        {
            x.no_ecn = !p.flags.has(Flags::ECE);
        }
        self.deadline = Time::MAX;
        self.resend_due = false;
        self.start_data(cfg, now);
        if cfg.handshake_ack {
            self.phase = Phase::Answering;
        }
        AckOutcome { rtt: measured.then_some(rtt), ..AckOutcome::default() }
    }

    /// An ACK of new data: RTT, window, timer.
    #[inline]
    pub(super) fn on_new_ack(
        &mut self,
        cfg: &TcpConfig,
        p: &PacketMeta,
        in_flight: u32,
        echo: bool,
        now: Time,
        outcome: &mut AckOutcome,
    ) {
        let (from, una) = (self.una, p.seq);
        outcome.acked = una - from;
        outcome.finished = una == self.total;
        self.una = una;
        self.nxt = self.nxt.max(una);
        self.dup_streak = 0;
        if !self.board.is_empty() {
            self.board.advance(from, una);
        }
        // RFC 7323 §4.1: an ACK of new data gives a sample, whatever was retransmitted.
        let rtt = if cfg.extra {
            self.measured(cfg, from, p, now)
        } else {
            Some(RoundTrip::alike(since_stamp(now, p.stamp)))
        };
        outcome.rtt = rtt.map(|rtt| rtt.latest);
        if let Some(rtt) = rtt {
            self.sample(cfg, rtt);
        }

        if cfg.lingers() && self.phase == Phase::Open {
            self.deflate(cfg, outcome.acked);
            self.resend_due = self.inflation > 0;
        }
        let mut acked = (una - from) * cfg.mss;
        if outcome.finished {
            acked -= cfg.mss - u32::from(self.last_payload);
        }
        if cfg.stack.whole_windows {
            acked = self.delivered(cfg);
        }
        let window = self.control.window();
        let sample = AckSample {
            acked,
            marked: if echo { acked } else { 0 },
            in_flight,
            window_limited: self.is_window_limited(cfg, in_flight),
            in_recovery: if cfg.extra {
                self.is_reducing(cfg)
            } else {
                self.phase == Phase::Recovery
            },
            rtt: outcome.rtt,
            srtt: self.rtt.srtt(),
            una,
            nxt: self.high,
        };
        self.control.on_ack(&sample, now);
        self.note_window(cfg, window, now);
        self.restart_timer(cfg, now);
    }

    /// Round trips. Linux takes the shortest one from these, the handshake's with them
    /// (`tcp_update_rtt_min`).
    #[inline]
    pub(super) fn sample(&mut self, cfg: &TcpConfig, rtt: RoundTrip) {
        self.rtt.sample(cfg, rtt.smoothed);
        if cfg.stack.rack_any_rtt
            && let Some(x) = &mut self.extra
        {
            x.rack.measured(in_micros(rtt.latest));
        }
    }

    /// Whether it was the window that let no more than `in_flight` bytes be in flight.
    #[inline]
    pub(super) fn is_window_limited(&mut self, cfg: &TcpConfig, in_flight: u32) -> bool {
        if cfg.stack.gso {
            return self.is_train_limited(cfg);
        }
        let paced_full = cfg.stack.pacing && self.is_paced_full(in_flight);
        paced_full || in_flight + cfg.mss > self.control.window()
    }

    /// RFC 6298 §5.2 and §5.3. Without SACK, only the first partial ACK of a recovery restarts the
    /// timer (RFC 6582 §3.2 step 3); with SACK, none is called partial.
    #[inline]
    pub(super) fn restart_timer(&mut self, cfg: &TcpConfig, now: Time) {
        if self.una == self.high {
            self.deadline = Time::MAX;
        } else if self.phase != Phase::Recovery || !self.partial_seen || self.una >= self.recover {
            self.deadline = fires(cfg, self.rtt.rto(), now);
        }
    }

    /// ECE: at most one reduction per window of data (RFC 3168 §6.1.2). The ACK that covers exactly
    /// what was outstanding at the last one was sent before the receiver could see CWR.
    pub(super) fn on_echo(&mut self, cfg: &TcpConfig, now: Time) {
        let next_window = self.una > self.reduced_until || self.reduced_until == 0;
        if next_window && self.una < self.total {
            let before = self.window(cfg);
            self.reduce(cfg, Loss::Ecn, now);
            if cfg.stack.mark_prr && self.phase == Phase::Open {
                self.begin_marked_share(cfg, before);
            }
        }
    }

    /// Tells the control of a congestion event; what is outstanding now belongs to it, and the
    /// next new segment carries CWR (RFC 3168 §6.1.2: whatever the reason of the reduction).
    pub(super) fn reduce(&mut self, cfg: &TcpConfig, loss: Loss, now: Time) {
        let window = self.control.window();
        let of =
            if cfg.stack.whole_windows { self.window_in_force() } else { self.flight_size(cfg) };
        self.control.on_loss(loss, of, now);
        self.note_window(cfg, window, now);
        self.reduced_until = self.high;
        self.cwr_due = cfg.ecn;
    }

    /// `FlightSize` (RFC 5681 §2) in bytes: what is outstanding, at most the window. The bound
    /// takes out limited transmit's segments (§3.2 step 2) and, when a retransmission was lost,
    /// what had already been given up.
    fn flight_size(&self, cfg: &TcpConfig) -> u32 {
        ((self.high - self.una) * cfg.mss).min(self.window(cfg))
    }

    /// Adds the time that `old` was the window, if it is no longer.
    #[inline]
    pub(super) fn note_window(&mut self, cfg: &TcpConfig, old: u32, now: Time) {
        if self.control.window() != old {
            let held = now.since(self.window_since).0;
            self.window_area += f64::from(old.min(cfg.max_cwnd)) * held as f64;
            self.window_since = now;
        }
    }

    /// When [`Sender::on_timer`] is to be called; `Time::MAX`: not at all.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// The time has come, or not: an early call does nothing.
    pub fn on_timer(&mut self, cfg: &TcpConfig, now: Time) -> Fired {
        if now < self.deadline {
            return Fired::Nothing;
        }
        if self.extra.is_some() && self.phase != Phase::Opening {
            if self.on_early(cfg, now) {
                return Fired::Other;
            }
            self.set_deadline();
            if now < self.deadline {
                return Fired::Nothing;
            }
        }
        self.timeouts += 1;
        if self.phase == Phase::Opening {
            // RFC 6298 §5.5 for the SYN. §5.7's three seconds for what follows are left out: a
            // datacentre's timeouts are set by `min_rto`, and the SYN-ACK gives a sample.
            if self.timeouts > cfg.stack.syn_losses_spared {
                self.control.on_loss(Loss::Handshake, 0, now);
            }
            self.resend_due = true;
        } else {
            self.enter_loss(cfg, now);
        }
        self.rtt.back_off(cfg);
        self.deadline = fires(cfg, self.rtt.rto(), now);
        if self.phase == Phase::Loss
            && let Some(extra) = &mut self.extra
        {
            extra.rto_at = self.deadline;
        }
        Fired::Timeout
    }

    /// Segments thought to be in the network.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        match self.phase {
            Phase::Recovery | Phase::Loss => self.pipe,
            _ => self.nxt - self.una,
        }
    }

    /// Whether every segment has been sent once.
    #[must_use]
    pub(crate) fn has_sent_all(&self) -> bool {
        self.high == self.total
    }

    /// Whether all segments are acknowledged.
    #[inline]
    #[must_use]
    pub fn done(&self) -> bool {
        self.una == self.total && self.phase != Phase::Closed
    }
}
