//! The timers before the retransmission timer: for what is late (RFC 8985 §6.2), for tail loss probes
//! (§7) and for pacing; and the window after a pause (RFC 2861).

use super::TcpConfig;
use super::extra::{Early, Probe};
use super::sender::{Phase, Sender};
use super::ticks::fires;
use leafspine_core::{PacketMeta, Span, Time};
use leafspine_schemes::cc::CongestionControl;

/// A probe's delay before there is a round-trip sample (RFC 8985 §7.2).
const NO_SAMPLE: Span = Span::from_millis(1000);
/// Segments at the start of a flow that a rate does not pace.
const UNPACED: u32 = 10;
/// A kernel's pace counts in nanoseconds.
const NANO: u64 = 1000;

/// When what is late is looked at again that may come within `wait`: then, or by a kernel's timer, which ticks once
/// a millisecond and takes so much longer at least (Linux: `tcp_rack_mark_lost`, `TCP_TIMEOUT_MIN_US`).
pub(super) fn reorder_at(cfg: &TcpConfig, wait: Span, now: Time) -> Time {
    const TICK: u64 = Span::from_millis(1).0;
    match cfg.stack.rack_slack {
        Some(slack) if cfg.stack.kernel_timers => fires(cfg, wait + slack, now),
        None => now + wait,
        Some(slack) => Time((now.0 / TICK + (wait + slack).0.div_ceil(TICK)) * TICK),
    }
}

impl Sender {
    /// Sets the early timer: for what is late, or for a probe, in the retransmission timer's place where
    /// that would fire before. `high` is one past what has been sent.
    pub(super) fn arm_early(&mut self, cfg: &TcpConfig, high: u32, now: Time) {
        let probe = self.probe_delay(cfg, high);
        let rto_at = self.deadline;
        let Some(x) = &mut self.extra else { return };
        x.rto_at = rto_at;
        let kept = x.early.filter(|(_, early)| x.keeps_wait && *early == Early::Reorder);
        x.early = match (x.wait, probe) {
            (Some(_), _) if kept.is_some() => kept,
            (Some(wait), _) => Some((reorder_at(cfg, wait, now), Early::Reorder)),
            (None, Some(delay)) => Some((fires(cfg, delay, now).min(rto_at), Early::Probe)),
            (None, None) => None,
        };
    }

    /// `TLP_calc_PTO` (RFC 8985 §7.2), if a probe is to be scheduled: nothing is known to be lost,
    /// nothing is SACKed, no probe is under way.
    fn probe_delay(&self, cfg: &TcpConfig, high: u32) -> Option<Span> {
        let (slack, x) = (cfg.stack.tlp?, self.extra.as_ref()?);
        let due = self.phase == Phase::Open
            && cfg.sack
            && self.una < high
            && self.board.is_empty()
            && x.probe.is_none();
        if !due {
            return None;
        }
        let srtt = self.rtt.srtt();
        if srtt == Span::ZERO {
            return Some(NO_SAMPLE);
        }
        let alone = high - self.una == 1;
        if alone && cfg.stack.kernel_timers {
            // Linux takes the receiver's patience for its own.
            return Some(srtt * 2 + cfg.min_rto);
        }
        let for_ack = if alone { cfg.delayed_ack.unwrap_or(Span::ZERO) } else { Span::ZERO };
        Some(srtt * 2 + for_ack + slack)
    }

    /// Publishes the earlier timer.
    pub(super) fn set_deadline(&mut self) {
        if let Some(x) = &self.extra {
            self.deadline = x.deadline();
        }
    }

    /// A segment of data has been put into `out`.
    pub(super) fn note_sent(&mut self, cfg: &TcpConfig, out: &PacketMeta, now: Time) {
        let again = out.notes & PacketMeta::RETRANSMIT != 0;
        if again {
            self.count_retransmission(cfg, out.seq, out.stamp);
        }
        let (una, rto) = (self.una, self.rtt.rto());
        if cfg.by_rate {
            self.shoot(cfg, out, now);
        }
        if cfg.paced {
            self.note_pace(cfg, out, now);
        }
        let Some(x) = &mut self.extra else { return };
        x.sent.note(una, out.seq, again, now);
        x.last_sent = Some(now);
        if x.rto_at == Time::MAX {
            x.rto_at = fires(cfg, rto, now);
        }
        self.deadline = x.rto_at;
        if !again && x.wait.is_none() {
            self.arm_early(cfg, out.seq + 1, now);
        }
        self.set_deadline();
    }

    /// A packet occupies the pace.
    fn note_pace(&mut self, cfg: &TcpConfig, out: &PacketMeta, now: Time) {
        if cfg.by_rate && cfg.stack.gso {
            return self.pace_piece(cfg, out, now);
        }
        let Some((apart, quantum)) = self.pace(cfg, out) else { return };
        let Some(x) = &mut self.extra else { return };
        if now >= x.free_at {
            x.burst_at = now;
            x.burst_left = quantum;
        }
        x.burst_left = x.burst_left.saturating_sub(cfg.mss);
        x.free_at = now.max(x.free_at) + apart;
    }

    /// How long a packet occupies the pace, and how much may leave in one burst with it: what does in a
    /// millisecond, two segments at least, within the quantum, as Linux has it.
    fn pace(&mut self, cfg: &TcpConfig, out: &PacketMeta) -> Option<(Span, u32)> {
        if cfg.by_rate {
            let control = self.control.by_rate()?;
            let rate = control.pacing_rate();
            let apart = Span((f64::from(out.payload) / rate * 1e12) as u64);
            return (rate > 0.0).then(|| (apart, control.quantum()));
        }
        let apart = self.apart(cfg, out.size)?;
        let most = cfg.stack.pacing_quantum.max(1);
        let in_time = Span::from_millis(1).0 / apart.0.max(1);
        let segments = u32::try_from(in_time).unwrap_or(u32::MAX).max(2).min(most);
        Some((apart, segments.saturating_mul(cfg.mss)))
    }

    /// A piece leaves as a whole, and the next one so much later as its rate says, but for half of
    /// what this one is late (`tcp_update_skb_after_send`). The first segments are not paced.
    fn pace_piece(&mut self, cfg: &TcpConfig, out: &PacketMeta, now: Time) {
        let rate = self.control.by_rate().map_or(0, |control| control.pacing_rate() as u64);
        let (total, short_of) = (self.total, self.short_of(cfg));
        let Some(x) = &mut self.extra else { return };
        x.data_out += 1;
        if now == x.burst_at && x.burst_left > 0 {
            x.burst_left = x.burst_left.saturating_sub(u32::from(out.payload));
            return;
        }
        let end = x.backlog.piece_end(out.seq, now);
        let more = end - out.seq - 1;
        let short = if end == total { short_of } else { 0 };
        let bytes = (more + 1) * cfg.mss - short;
        let late = now.max(x.free_at).since(x.free_at);
        x.free_at = now.max(x.free_at);
        x.burst_at = now;
        x.burst_left = bytes - u32::from(out.payload);
        if rate > 0 && x.data_out + more >= UNPACED {
            let takes = Span(u64::from(bytes) * 1_000_000_000 / rate * NANO);
            x.free_at += Span(takes.0 - late.0.min(takes.0 / 2));
        }
    }

    /// How long after a packet of `size` bytes the next may leave: in five sixths of a round trip
    /// the window has gone, in half of one while slow start is far from its threshold, as Linux paces.
    /// `None` before there is a round trip to go by.
    fn apart(&self, cfg: &TcpConfig, size: u16) -> Option<Span> {
        let srtt = self.rtt.srtt();
        if srtt == Span::ZERO {
            return None;
        }
        let window = self.window(cfg);
        let percent = if window < self.control.ssthresh() / 2 { 200 } else { 120 };
        let share = u128::from(srtt.0) * u128::from(size) * 100;
        Some(Span((share / (u128::from(window) * percent)) as u64))
    }

    /// Whether a window that pacing has not let fill up yet counts as used up: in slow start, if half
    /// of it has been in flight in this window of data, as Linux has it.
    pub(super) fn is_paced_full(&mut self, in_flight: u32) -> bool {
        let (window, una, high) = (self.control.window(), self.una, self.high);
        let Some(x) = &mut self.extra else { return false };
        if una >= x.most_until || in_flight > x.most_in_flight {
            x.most_in_flight = in_flight;
            x.most_until = high;
        }
        window < self.control.ssthresh() && window / 2 < x.most_in_flight
    }

    /// Whether a train may leave whatever the pace: the retransmission of a timeout or of a probe
    /// (`tcp_retransmit_timer`, `tcp_send_loss_probe`).
    pub(super) fn is_urgent(&self, cfg: &TcpConfig) -> bool {
        let by_timer = match self.phase {
            Phase::Loss => self.resend_due,
            Phase::Probing => !self.has_new_data(cfg),
            _ => false,
        };
        by_timer && cfg.by_rate && cfg.stack.gso
    }

    /// Whether a packet would leave too soon after the one before; if so, the sender wants to be called
    /// when it may.
    pub(super) fn is_held(&mut self, now: Time) -> bool {
        let waits = self.una < self.total && self.phase != Phase::Opening;
        let Some(x) = &mut self.extra else { return false };
        let in_burst = now == x.burst_at && x.burst_left > 0;
        let held = waits && now < x.free_at && !in_burst;
        if held || x.held {
            x.held = held;
            self.deadline = x.deadline();
        }
        held
    }

    /// The early timer has fired, if it is due. Returns whether something may be sent now.
    pub(super) fn on_early(&mut self, cfg: &TcpConfig, now: Time) -> bool {
        let Some(x) = &mut self.extra else { return false };
        if x.held && x.free_at <= now {
            x.held = false;
            self.deadline = x.deadline();
            return true;
        }
        if x.backlog.until().is_some_and(|at| at <= now) {
            x.backlog.complete(now);
            self.deadline = x.deadline();
            return true;
        }
        let Some((_, why)) = x.early.filter(|(at, _)| *at <= now) else { return false };
        x.early = None;
        x.waits = false;
        self.deadline = x.rto_at;
        self.begin_sample(cfg);
        let Some(x) = &mut self.extra else { return false };
        match why {
            Early::Reorder => {
                x.fresh.clear();
                x.twice = 0;
                x.echo = false;
                x.rack.look_again();
                self.look_late(cfg, now);
            }
            // Linux: none if the port is full, or has not yet sent what would be sent again (`tcp_send_loss_probe`).
            Early::Probe => {
                self.phase = Phase::Probing;
                let waits = if self.has_new_data(cfg) {
                    !self.new_may_leave(cfg, now)
                } else {
                    self.is_in_port(cfg, self.high - 1, now)
                };
                if waits {
                    self.phase = Phase::Open;
                }
            }
        }
        self.set_deadline();
        true
    }

    /// The timer for what is late has fired. Linux counts a segment that has left where a recovery
    /// begins with it, lets go what is given up in one that is under way, and waits for ACKs then,
    /// or for a timeout (`tcp_rack_reo_timeout`).
    fn look_late(&mut self, cfg: &TcpConfig, now: Time) {
        let enters = self.look_for_losses(cfg, true, now);
        if !cfg.stack.whole_windows {
            self.share_out(cfg, self.delivered(cfg), false);
            self.arm_early(cfg, self.high, now);
        } else if enters {
            self.share_out(cfg, cfg.mss, false);
        } else {
            self.keep_window(cfg);
        }
    }

    /// RFC 8985 §7.3 `TLP_send_probe`: new data if there is any, else the last segment again; then the
    /// retransmission timer alone, from now.
    pub(super) fn emit_probe(&mut self, cfg: &TcpConfig, now: Time, out: &mut PacketMeta) {
        let again = !self.has_new_data(cfg);
        if again {
            self.emit_again(cfg, self.high - 1, now, out);
        } else {
            self.emit_new(cfg, now, out);
        }
        self.phase = Phase::Open;
        let rto = self.rtt.rto();
        let Some(x) = &mut self.extra else { return };
        x.probe = Some(Probe { end: self.high, again });
        x.probes += 1;
        x.early = None;
        x.rto_at = fires(cfg, rto, now);
        self.deadline = x.rto_at;
    }

    /// RFC 2861 §3.1, RFC 5681 §4.1: data after a pause of more than a timeout. (Called only with
    /// nothing in flight.)
    pub(super) fn after_pause(&mut self, cfg: &TcpConfig, now: Time) {
        let Some(last) = self.extra.as_ref().and_then(|x| x.last_sent) else { return };
        let (pause, rto) = (now.since(last), self.rtt.rto());
        if pause <= rto {
            return;
        }
        let timeouts = u32::try_from(pause.0 / rto.0.max(1)).unwrap_or(u32::MAX);
        let window = self.control.window();
        self.control.on_idle(cfg.init_cwnd, timeouts, now);
        self.note_window(cfg, window, now);
    }
}
