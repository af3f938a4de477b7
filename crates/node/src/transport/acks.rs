//! An ACK at a sender that does more than RFC 6675.

use super::TcpConfig;
use super::config::{since_stamp, stamp, stamped};
use super::sender::{AckOutcome, Phase, Sender};
use super::ticks::{in_micros, in_ticks};
use crate::spec::Timestamps;
use leafspine_core::{Flags, PacketMeta, SackBlock, Span, Time};
use leafspine_schemes::cc::{AckSample, CongestionControl, Loss};

/// The round trips that an ACK measures.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrip {
    /// For the smoothed one, and the timeout.
    pub(super) smoothed: Span,
    /// Of what was delivered last, for the congestion control.
    pub(super) latest: Span,
}

impl RoundTrip {
    pub(super) fn alike(rtt: Span) -> RoundTrip {
        RoundTrip { smoothed: rtt, latest: rtt }
    }
}

/// The D-SACK that the first of `blocks` is (RFC 2883 §4): below the cumulative ACK, or part of the
/// second block.
pub(super) fn duplicate(blocks: &[SackBlock; 3], ack: u32) -> Option<SackBlock> {
    let (first, second) = (blocks[0], blocks[1]);
    let below = first.end > first.start && first.end <= ack;
    let within = first.end > first.start
        && second.end > second.start
        && second.start <= first.start
        && first.end <= second.end;
    (below || within).then_some(first)
}

/// The tick of the timestamp clock at `at`.
pub(super) fn tick(cfg: &TcpConfig, at: Time) -> u64 {
    at.0 / cfg.stack.eifel.map_or(1, |tick| tick.0.max(1))
}

/// The tick of the timestamp clock in which `stamp` was taken.
pub(super) fn tick_of(cfg: &TcpConfig, stamp: u32, now: Time) -> u64 {
    tick(cfg, stamped(now, stamp))
}

/// What the ACK in hand tells.
struct AckInfo<'a> {
    p: &'a PacketMeta,
    /// What it says to have come twice.
    reported: Option<SackBlock>,
    /// It has ECE, and the flow ECN.
    echo: bool,
    /// The first segment that was outstanding before it, and how many bytes were in the network.
    from: u32,
    in_flight: u32,
    /// Segments that it SACKs and that were not known before.
    newly_sacked: u32,
}

impl Sender {
    /// [`Sender::on_packet`] of an ACK, with all that [`Stack`](crate::spec::Stack) may ask for.
    pub(super) fn on_ack_extra(
        &mut self,
        cfg: &TcpConfig,
        p: &PacketMeta,
        now: Time,
    ) -> AckOutcome {
        if p.seq > self.high {
            return AckOutcome::default();
        }
        self.begin_ack(cfg, now);
        let reported = if cfg.sack { duplicate(&p.sack, p.seq) } else { None };
        self.see_duplicate(cfg, reported);
        if p.seq < self.una {
            return self.on_old_ack(cfg, p, reported, now);
        }
        let (from, in_flight) = (self.una, self.in_flight() * cfg.mss);
        self.begin_sample(cfg);
        let newly_sacked = self.deliver(cfg, p, reported, now);
        let echo = cfg.ecn && p.flags.has(Flags::ECE);
        let ack = AckInfo { p, reported, echo, from, in_flight, newly_sacked };
        let original = self.original_delivered();
        let mut outcome = self.note_acknowledged(cfg, &ack, now);
        let marked = self.note_echo(cfg, &ack, outcome.acked > 0, now);
        let spurious = self.detect_spurious(cfg, &ack, (outcome.acked, original), now);
        outcome.fast_retransmit = self.update_recovery(cfg, &ack, outcome.acked, now);
        if marked && !spurious && self.phase == Phase::Open {
            // Linux: what the ACK tells of losses comes first.
            self.on_echo(cfg, now);
        }
        if outcome.acked == 0 && cfg.stack.whole_windows && self.delivered(cfg) > 0 {
            self.on_delivered(cfg, (in_flight, outcome.rtt), echo, now);
        }
        self.end_sample(cfg, now);
        self.share_out(cfg, self.delivered(cfg), outcome.acked > 0);
        if cfg.stack.gso {
            self.note_rate(cfg);
        }
        self.arm_early(cfg, self.high, now);
        self.set_deadline();
        outcome
    }

    /// An ACK has come: what the one before told is over.
    fn begin_ack(&mut self, cfg: &TcpConfig, now: Time) {
        let Some(x) = &mut self.extra else { return };
        self.deadline = x.rto_at;
        x.waits = false;
        x.echo = false;
        x.buffer.ask();
        if cfg.stack.small_queues {
            x.backlog.ack_arrives(now);
        }
    }

    /// An ACK below another one, which came before it, tells of duplicates all the same. In Linux
    /// its SACK blocks count (`tcp_ack`, `old_ack`): what they tell of has arrived, a reduction may
    /// have been in vain, and segments may be lost. It lets go what has left the network, and
    /// nothing grows by it.
    fn on_old_ack(
        &mut self,
        cfg: &TcpConfig,
        p: &PacketMeta,
        reported: Option<SackBlock>,
        now: Time,
    ) -> AckOutcome {
        let mut outcome = AckOutcome::default();
        if cfg.stack.rack_any_rtt {
            self.deliver(cfg, p, reported, now);
            self.note_duplicate(cfg, reported, now);
            outcome.fast_retransmit = cfg.stack.rack && self.look_for_losses(cfg, false, now);
            self.keep_window(cfg);
            self.arm_early(cfg, self.high, now);
        } else {
            if let Some(x) = &mut self.extra {
                x.fresh.clear();
            }
            self.widen(cfg, reported, now);
            self.note_duplicate(cfg, reported, now);
        }
        self.set_deadline();
        outcome
    }

    /// The window and the timer follow what is acknowledged, or is not.
    fn note_acknowledged(&mut self, cfg: &TcpConfig, ack: &AckInfo, now: Time) -> AckOutcome {
        let &AckInfo { p, echo, from, in_flight, .. } = ack;
        let mut outcome = AckOutcome::default();
        if p.seq > from {
            if let Some(x) = self.extra.as_mut().filter(|_| cfg.stack.gso) {
                let (limits, sent) = ((cfg.mss, cfg.max_cwnd), x.sent.at(p.seq - 1));
                x.buffer.acknowledged(limits, (from, p.seq), sent, now);
            }
            self.on_new_ack(cfg, p, in_flight, echo, now, &mut outcome);
            if let Some(x) = &mut self.extra {
                x.rack.acknowledged(from, p.seq);
            }
        } else if from < self.high {
            self.dup_acks += 1;
            if cfg.stack.kernel_timers {
                outcome.rtt = self.time_sacked(cfg, p, now);
            }
        }
        outcome
    }

    /// What a mark means, if the ACK has one. Returns whether it is still to reduce the window,
    /// after the losses that the ACK may tell of.
    fn note_echo(&mut self, cfg: &TcpConfig, ack: &AckInfo, acked: bool, now: Time) -> bool {
        let echo = ack.echo;
        // Linux: where nothing was outstanding, an ACK tells nothing (`tcp_ack`); and a reduction
        // that is shared out would have no end.
        let idle = cfg.stack.mark_prr && ack.from == self.high;
        let counts = echo && !idle && (acked || !cfg.stack.ignore_duplicate_ece);
        if counts && !cfg.stack.mark_prr {
            self.on_echo(cfg, now);
        }
        if echo && cfg.stack.ece_forbids_undo {
            self.forbid_undo();
        }
        if let Some(x) = &mut self.extra {
            x.echo = echo;
        }
        counts && cfg.stack.mark_prr
    }

    /// Whether a reduction or a timeout was in vain. `acked`: segments that are newly acknowledged;
    /// `original`: whether it delivers what was sent before a timeout. Returns whether a recovery
    /// has ended before its time: in Linux a mark reduces nothing then (`tcp_fastretrans_alert`).
    fn detect_spurious(
        &mut self,
        cfg: &TcpConfig,
        ack: &AckInfo,
        (acked, original): (u32, bool),
        now: Time,
    ) -> bool {
        let &AckInfo { p, reported, newly_sacked, .. } = ack;
        self.widen(cfg, reported, now);
        self.note_duplicate(cfg, reported, now);
        self.look_at_probe(cfg, p, reported, newly_sacked, now);
        let spurious = acked > 0 && self.look_at_stamp(cfg, p, now);
        if self.phase == Phase::Loss {
            self.look_at_timeout(cfg, (acked, original), reported, now);
        }
        spurious
    }

    /// A recovery goes on, ends or begins. Returns whether one begins.
    fn update_recovery(&mut self, cfg: &TcpConfig, ack: &AckInfo, acked: u32, now: Time) -> bool {
        if acked > 0 && self.phase != Phase::Open {
            self.on_progress(cfg, acked, now);
        }
        let begins = if cfg.stack.rack {
            self.look_for_losses(cfg, false, now)
        } else {
            acked == 0 && self.on_duplicate(cfg, ack.newly_sacked, now)
        };
        if self.phase == Phase::Open {
            self.forget_first_again(cfg);
        }
        begins
    }

    /// Linux's `tcp_dsack_seen`: what was sent again in vain is delivered too, and RACK may wait
    /// longer for what is late.
    fn see_duplicate(&mut self, cfg: &TcpConfig, reported: Option<SackBlock>) {
        let Some(x) = &mut self.extra else { return };
        x.twice = 0;
        let Some(block) = reported else { return };
        if cfg.stack.whole_windows {
            x.twice = block.end - block.start;
        }
        if cfg.stack.rack_any_rtt {
            let probe = x.probe.is_some_and(|probe| block.end == probe.end && x.twice <= 1);
            x.rack.see_dsack(probe);
        }
    }

    /// Notes what the ACK delivers, on the scoreboard and for RACK. Returns how many segments it
    /// SACKs that were not known before. `reported`: what it says to have come twice.
    fn deliver(
        &mut self,
        cfg: &TcpConfig,
        p: &PacketMeta,
        reported: Option<SackBlock>,
        now: Time,
    ) -> u32 {
        let Some(x) = &self.extra else { return 0 };
        let una = p.seq.max(self.una);
        // Linux: the copy of what is SACKed and was sent again has come late (`tcp_sacktag_one`).
        let late_copy =
            reported.filter(|b| cfg.stack.rack_any_rtt && b.start > una).and_then(|block| {
                (block.start..block.end).find(|s| self.board.is_sacked(*s) && x.sent.again(*s))
            });
        let newly_sacked = self.list_fresh(cfg, p);
        if cfg.stack.rack {
            self.tell_rack(cfg, p, late_copy, now);
        }
        if cfg.by_rate {
            self.sample_fresh(cfg, p, now);
        }
        newly_sacked
    }

    /// Lists the segments that the ACK delivers. Returns how many it SACKs that were not known before.
    fn list_fresh(&mut self, cfg: &TcpConfig, p: &PacketMeta) -> u32 {
        let Some(x) = &mut self.extra else { return 0 };
        x.fresh.clear();
        let una = p.seq.max(self.una);
        x.fresh.extend((self.una..p.seq).filter(|segment| !self.board.is_sacked(*segment)));
        if !cfg.sack || p.sack[0].end <= p.sack[0].start {
            return 0;
        }
        let acked = x.fresh.len();
        for block in &p.sack {
            let end = block.end.min(self.high);
            let mut segment = self.board.first_missing(block.start.max(una));
            while segment < end {
                x.fresh.push(segment);
                segment = self.board.first_missing(segment + 1);
            }
        }
        // Blocks do not overlap, but a D-SACK's, in which nothing is new.
        x.fresh[acked..].sort_unstable();
        self.board.update(&p.sack, self.una, self.high)
    }

    /// RFC 8985 §6.2 steps 1 to 3: the round trip, what left last of what is delivered, and whether
    /// packets come out of order.
    fn tell_rack(&mut self, cfg: &TcpConfig, p: &PacketMeta, late_copy: Option<u32>, now: Time) {
        let una = p.seq.max(self.una);
        let Some(x) = &mut self.extra else { return };
        x.rack.order(&x.sent, &x.fresh);
        if let Some(segment) = late_copy {
            x.rack.reordered(segment);
        }
        // Of a segment beyond the cumulative ACK the echo says nothing (RFC 7323 §4.3).
        let echoed_for = |segment| cfg.stack.timestamps != Timestamps::Off && segment < p.seq;
        if !cfg.stack.rack_any_rtt {
            for segment in x.fresh.iter().copied() {
                let last = stamp(x.sent.at(segment));
                let newer = !echoed_for(segment) || p.stamp.wrapping_sub(last) as i32 >= 0;
                x.rack.delivered(&x.sent, segment, newer, false, now);
            }
        } else {
            // Linux looks at the SACK option first, and tells timestamps apart by their ticks.
            let (acked, sacked) = x.fresh.split_at(x.fresh.partition_point(|s| *s < una));
            let echoed = tick_of(cfg, p.stamp, now);
            for segment in sacked.iter().chain(acked).copied() {
                let newer = !echoed_for(segment) || echoed >= tick(cfg, x.sent.at(segment));
                x.rack.delivered(&x.sent, segment, newer, true, now);
            }
        }
        for segment in &x.fresh {
            x.rack.settled(self.una, *segment);
        }
    }

    /// Whether the ACK in hand delivers a segment that was outstanding at the timeout and has been
    /// sent once only.
    fn original_delivered(&self) -> bool {
        let Some(x) = &self.extra else { return false };
        x.fresh.iter().any(|segment| *segment < self.recover && !x.sent.again(*segment))
    }

    /// Bytes that the ACK in hand delivers, in full segments: what was SACKed before is not
    /// delivered again. Linux counts what came twice as well.
    pub(super) fn delivered(&self, cfg: &TcpConfig) -> u32 {
        self.extra.as_ref().map_or(0, |x| x.fresh.len() as u32 + x.twice) * cfg.mss
    }

    /// An ACK that acknowledges nothing new delivers segments all the same. Linux counts them
    /// (`tcp_newly_delivered`), and where packets are known to come out of order by more than the
    /// duplicate ACKs that mean a loss, the window grows by them (`tcp_may_raise_cwnd`).
    fn on_delivered(
        &mut self,
        cfg: &TcpConfig,
        (in_flight, rtt): (u32, Option<Span>),
        echo: bool,
        now: Time,
    ) {
        // What came twice is counted, but no progress.
        let raises = self
            .extra
            .as_ref()
            .is_some_and(|x| !x.fresh.is_empty() && x.rack.reordered_by() > cfg.dupack_threshold);
        let acked = self.delivered(cfg);
        let sample = AckSample {
            acked,
            marked: if echo { acked } else { 0 },
            in_flight,
            window_limited: self.is_window_limited(cfg, in_flight),
            in_recovery: !raises || self.is_reducing(cfg),
            rtt,
            srtt: self.rtt.srtt(),
            una: self.una,
            nxt: self.high,
        };
        let window = self.control.window();
        self.control.on_ack(&sample, now);
        self.note_window(cfg, window, now);
    }

    /// The round trip that an ACK of `from` and what follows measures. If any of it may have been sent
    /// twice there is none without timestamps (RFC 6298 §3).
    pub(super) fn measured(
        &self,
        cfg: &TcpConfig,
        from: u32,
        p: &PacketMeta,
        now: Time,
    ) -> Option<RoundTrip> {
        if cfg.stack.kernel_timers {
            return self.timed(cfg, from, p, now);
        }
        let known = cfg.stack.timestamps != Timestamps::Off
            || self.extra.as_ref().is_none_or(|x| from >= x.resent_below);
        known.then(|| RoundTrip::alike(since_stamp(now, p.stamp)))
    }

    /// The same as Linux does it (`tcp_clean_rtx_queue`, `tcp_ack_update_rtt`): the first segment
    /// that is acknowledged, and was neither SACKed before nor sent twice, is timed, unless
    /// something that was sent twice is acknowledged with it; else the first one that is SACKed.
    /// Only if there is neither do timestamps tell, in whole ticks.
    pub(super) fn timed(
        &self,
        cfg: &TcpConfig,
        from: u32,
        p: &PacketMeta,
        now: Time,
    ) -> Option<RoundTrip> {
        let x = self.extra.as_ref()?;
        let (acked, sacked) = x.fresh.split_at(x.fresh.partition_point(|s| *s < p.seq));
        let resent = (from..p.seq.min(x.resent_below)).any(|s| x.sent.again(s));
        let acked = if resent { &[] } else { acked };
        let mut once = acked.iter().chain(sacked).filter(|s| !x.sent.again(**s));
        let time = |s: &u32| in_micros(now.since(x.sent.at(*s)));
        if let Some(first) = once.next() {
            let last = once.next_back().unwrap_or(first);
            return Some(RoundTrip { smoothed: time(first), latest: time(last) });
        }
        let echoed = p.seq > from && cfg.stack.timestamps != Timestamps::Off;
        echoed.then(|| RoundTrip::alike(in_ticks(stamped(now, p.stamp), now)))
    }

    /// Linux: an ACK that only SACKs measures a round trip as well, and the retransmission timer
    /// begins anew if what it tells of was sent before the first segment was, that last time.
    fn time_sacked(&mut self, cfg: &TcpConfig, p: &PacketMeta, now: Time) -> Option<Span> {
        let rtt = self.timed(cfg, self.una, p, now)?;
        self.sample(cfg, rtt);
        let first = self.extra.as_ref().map_or(now, |x| x.sent.at(self.una));
        if rtt.smoothed > now.since(first) {
            self.restart_timer(cfg, now);
        }
        Some(rtt.latest)
    }

    /// RFC 8985 §7.4 `TLP_process_ack`.
    fn look_at_probe(
        &mut self,
        cfg: &TcpConfig,
        p: &PacketMeta,
        reported: Option<SackBlock>,
        newly_sacked: u32,
        now: Time,
    ) {
        let Some(x) = &mut self.extra else { return };
        let Some(probe) = x.probe.filter(|probe| p.seq >= probe.end) else { return };
        let arrived_twice = reported.is_some_and(|block| block.end == probe.end);
        let repaired = probe.again && !arrived_twice && p.seq > probe.end;
        let plain = p.seq == self.una && newly_sacked == 0 && p.sack[0] == SackBlock::default();
        if !probe.again || arrived_twice || repaired || (plain && x.fresh.is_empty()) {
            x.probe = None;
        }
        if repaired && cfg.by_rate {
            self.tell_tail_loss(now);
        } else if repaired {
            // The probe made good a loss that nothing else told of. Linux reduces as for a mark: DCTCP by alpha.
            let loss = if cfg.stack.whole_windows { Loss::Ecn } else { Loss::Fast };
            self.reduce(cfg, loss, now);
            self.end_reduction(cfg);
        }
    }
}
