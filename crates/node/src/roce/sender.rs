//! The sending side of a queue pair.

use super::control::Feedback;
use super::each::Known;
use super::{ASKS, CNP, NAK, PULL, QueuePair, Recovery, RoceConfig};
use crate::transport::{AckOutcome, SegmentSet, since_stamp, stamp};
use leafspine_core::{Ecn, Flags, PacketMeta, SackBlock, Span, Time};
use leafspine_schemes::rdma::Hop;

/// A queue pair's sending side.
#[derive(Debug)]
pub struct Sender {
    total: u32,
    last_payload: u16,
    /// The oldest packet that is not acknowledged, the next to send, and one past the highest sent.
    pub(super) una: u32,
    nxt: u32,
    pub(super) high: u32,
    /// Its queue pair, by the network card's number.
    pub(crate) pair: u32,
    /// Since when the timer runs, and when it is to be looked at.
    since: Time,
    deadline: Time,
    /// Timeouts since something was acknowledged.
    backed_off: u32,
    /// Whether the network card has it in a list.
    pub(crate) listed: bool,
    /// IRN: what came out of order, beyond `una`.
    sacked: SegmentSet,
    /// IRN: packets below this that are not in `sacked` are lost, and those below `again` have been sent again.
    lost_below: u32,
    /// Those below were sent before the last timeout.
    expired: u32,
    again: u32,
    /// IRN: recovery ends when this is acknowledged.
    recover: Option<u32>,
    /// Packet by packet: what is known of each.
    pub(super) known: Known,
    /// What its queue pair counts as left of it.
    left: u32,
    /// One past the last packet that asks for an acknowledgment.
    answer_due: u32,
    /// That packet's header has come back: nobody was asked.
    unasked: bool,
    windows: Windows,
    retransmits: u32,
    timeouts: u32,
    naks: u32,
}

/// Windows of a queue pair that moves them, as a message has seen them.
#[derive(Clone, Copy, Debug, Default)]
struct Windows {
    seen: u32,
    sum: f64,
    count: u32,
}

impl Windows {
    fn add(&mut self, window: u32) {
        self.seen = window;
        self.sum += f64::from(window);
        self.count += 1;
    }

    fn mean(&self) -> f64 {
        if self.count == 0 { self.seen.into() } else { self.sum / f64::from(self.count) }
    }
}

impl Default for Sender {
    fn default() -> Sender {
        Sender {
            total: 0,
            last_payload: 0,
            una: 0,
            nxt: 0,
            high: 0,
            pair: 0,
            since: Time::ZERO,
            deadline: Time::MAX,
            backed_off: 0,
            listed: false,
            sacked: SegmentSet::default(),
            lost_below: 0,
            expired: 0,
            again: 0,
            recover: None,
            known: Known::default(),
            left: 0,
            answer_due: 0,
            unasked: false,
            windows: Windows::default(),
            retransmits: 0,
            timeouts: 0,
            naks: 0,
        }
    }
}

impl Sender {
    /// Makes this the sender of a message of `bytes`, and keeps the heap memory.
    pub fn reset(&mut self, cfg: &RoceConfig, bytes: u64) {
        let total = bytes.div_ceil(u64::from(cfg.mss));
        let mut sacked = std::mem::take(&mut self.sacked);
        let mut known = std::mem::take(&mut self.known);
        sacked.clear();
        known.clear();
        *self = Sender {
            total: total as u32,
            last_payload: (bytes - (total - 1) * u64::from(cfg.mss)) as u16,
            sacked,
            known,
            ..Sender::default()
        };
    }

    /// When the next packet may leave; `None`: none may, until something else happens.
    #[inline]
    #[must_use]
    pub fn ready_at(&self, cfg: &RoceConfig, pair: &QueuePair) -> Option<Time> {
        self.next_packet(cfg, pair).map(|_| pair.next_at)
    }

    /// The packet that may be sent next.
    #[inline(always)]
    fn next_packet(&self, cfg: &RoceConfig, pair: &QueuePair) -> Option<u32> {
        if let Some(lost) = self.next_lost() {
            return Some(lost);
        }
        let next = self.known.first_missing(self.una).unwrap_or(self.nxt);
        // The first packet tells the receiver of its message.
        let credited = pair.has_credit(cfg) || self.high == 0;
        let may =
            next < self.total && credited && (pair.has_room(cfg) || self.expects_no_answer(cfg));
        may.then_some(next)
    }

    /// What it has to send, beyond what is under way, may have changed: its queue pair counts that of all its messages.
    #[inline]
    pub(super) fn recount(&mut self, pair: &mut QueuePair) {
        let left = self.total - self.nxt + self.known.missing();
        pair.recount(self.left, left);
        self.left = left;
    }

    /// Whether nothing under way asks for an acknowledgment: a window may have become smaller than what is under way
    /// since it was sent, and a switch may have sent back what asked. Then another packet may go, which asks.
    fn expects_no_answer(&self, cfg: &RoceConfig) -> bool {
        let asked = self.una < self.answer_due && !self.unasked;
        cfg.has_window && self.una < self.high && !asked
    }

    /// IRN: the next packet to be sent again.
    #[inline(always)]
    fn next_lost(&self) -> Option<u32> {
        self.recover?;
        self.next_gap()
    }

    #[cold]
    fn next_gap(&self) -> Option<u32> {
        let from = self.again.max(self.una);
        let lost = if self.sacked.is_empty() { from } else { self.sacked.first_absent(from) };
        (lost < self.lost_below).then_some(lost)
    }

    /// Writes the next packet, if one may be sent.
    pub fn poll_send(
        &mut self,
        cfg: &RoceConfig,
        pair: &mut QueuePair,
        now: Time,
        out: &mut PacketMeta,
    ) -> bool {
        let Some(seq) = self.next_packet(cfg, pair) else { return false };
        let repeat = seq < self.high;
        pair.use_credit(cfg, self.high == 0);
        if seq == self.nxt {
            self.nxt += 1;
            pair.count(1, 0);
            self.high = self.high.max(self.nxt);
        } else if cfg.spec.recovery == Recovery::Each {
            self.known.sent_again(self.una, seq);
            pair.count(1, 0);
        } else {
            self.again = seq + 1;
        }
        self.recount(pair);
        self.retransmits += u32::from(repeat);
        let mut payload = cfg.mss as u16;
        let mut flags = Flags::DATA;
        let last = seq + 1 == self.total;
        if last {
            payload = self.last_payload;
            flags = flags.with(Flags::FIN);
        }
        // A window that is full waits for an acknowledgment, which a packet has to ask for.
        let full = !pair.has_room(cfg);
        if last || full || repeat || (seq + 1).is_multiple_of(cfg.spec.ack_every) {
            flags = flags.with(ASKS);
            self.answer_due = self.answer_due.max(seq + 1);
            self.unasked = false;
        }
        out.seq = seq;
        out.stamp = stamp(now);
        out.size = payload + cfg.header as u16;
        out.payload = payload;
        out.flags = flags;
        out.ecn = Ecn::Capable;
        out.class = cfg.spec.classes.0;
        out.notes = if repeat { PacketMeta::RETRANSMIT } else { 0 };
        out.sack[1] = SackBlock { start: pair.number(), end: pair.wanted() };
        if cfg.has_window {
            self.windows.seen = pair.window(cfg);
        }
        pair.pace(cfg, u32::from(out.size), now);
        if self.deadline == Time::MAX {
            self.restart_timer(cfg, pair, now);
        }
        true
    }

    fn timeout(&self, cfg: &RoceConfig, pair: &QueuePair) -> Span {
        let base = match cfg.spec.recovery {
            Recovery::Selective { low, few, .. } if pair.under_way() < few => low,
            _ => cfg.spec.timeout,
        };
        let longer = base.0.saturating_mul(1 << self.backed_off.min(40));
        Span(longer.min(cfg.spec.max_timeout.0.max(base.0)))
    }

    fn restart_timer(&mut self, cfg: &RoceConfig, pair: &QueuePair, now: Time) {
        // What waits for credit waits for a packet that may be lost.
        let end = if cfg.spec.credits.is_some() { self.total } else { self.high };
        let waits = self.una < end;
        self.since = now;
        self.deadline = if waits { now + self.timeout(cfg, pair) } else { Time::MAX };
    }

    /// An answer or a CNP has come; `hops` is what it tells of its data's way.
    pub fn on_packet(
        &mut self,
        cfg: &RoceConfig,
        pair: &mut QueuePair,
        (p, hops): (&PacketMeta, &[Hop]),
        now: Time,
    ) -> AckOutcome {
        if p.flags == PULL {
            pair.grant(p.sack[1].start);
            return AckOutcome::default();
        }
        if p.flags == CNP {
            pair.cut(cfg, now);
            return AckOutcome::default();
        }
        if let Some(packet) = Sender::returned(p) {
            self.naks += 1;
            self.unasked |= packet + 1 == self.answer_due;
            let fast_retransmit = self.learn_of(pair, packet, true);
            pair.lose(cfg, u32::from(fast_retransmit), now);
            return AckOutcome { fast_retransmit, ..AckOutcome::default() };
        }
        // One that was overtaken on its way back still tells of its own packet, packet by packet
        // and if it is a NAK of IRN's: the number up to which all has come does not fall back by
        // it, the bitmap takes every packet that is reported (§3.1).
        let each = cfg.spec.recovery == Recovery::Each;
        let nak = p.flags.has(NAK);
        let selective = matches!(cfg.spec.recovery, Recovery::Selective { .. });
        let tells = each || nak && selective;
        if p.seq < self.una && !tells || p.seq > self.high {
            return AckOutcome::default();
        }
        let upto = p.seq.max(self.una);
        let acked = upto - self.una;
        let before = pair.under_way();
        self.advance(pair, upto);
        let news = each && !nak && self.learn_of(pair, p.sack[0].start, false);
        if cfg.has_window {
            self.tell(cfg, pair, (p, hops), (before, now));
        }
        if nak {
            self.naks += 1;
            let lost = self.repeat_from(cfg, pair, p);
            pair.lose(cfg, lost, now);
            if cfg.spec.nak_cuts {
                pair.cut_by_nak(cfg, now);
            }
        }
        if acked > 0 || news || self.una == self.high {
            self.backed_off = 0;
            self.restart_timer(cfg, pair, now);
        }
        AckOutcome {
            acked,
            rtt: (acked > 0).then(|| since_stamp(now, p.stamp)),
            finished: self.una == self.total && acked > 0,
            fast_retransmit: nak,
        }
    }

    /// Tells a congestion control that goes by answers of one, unless it is about a packet that was trimmed, and so tells of
    /// a loss.
    fn tell(
        &mut self,
        cfg: &RoceConfig,
        pair: &mut QueuePair,
        (p, hops): (&PacketMeta, &[Hop]),
        (before, now): (u32, Time),
    ) {
        let full = u64::from(cfg.mss + cfg.header);
        let under_way = pair.under_way();
        let answer = Feedback {
            number: p.sack[1].start,
            hops,
            come: u64::from(before - under_way) * full,
            under_way: u64::from(under_way) * full,
            rtt: since_stamp(now, p.stamp),
            marked: p.flags.has(Flags::ECE),
            now,
        };
        let trimmed = cfg.spec.recovery == Recovery::Each && p.flags.has(NAK);
        if !trimmed {
            pair.learn(cfg, &answer);
        }
        self.windows.add(pair.window(cfg));
    }

    /// All before `una` has come.
    fn advance(&mut self, pair: &mut QueuePair, una: u32) {
        let here = una.min(self.nxt) - self.una;
        let under_way = here.min(self.known.advance(self.una, una));
        pair.count(0, under_way);
        if !self.sacked.is_empty() {
            self.sacked.remove_below(self.una, una);
        }
        self.una = una;
        self.nxt = self.nxt.max(una);
        self.recount(pair);
        if self.recover.is_some_and(|recover| una >= recover) {
            self.recover = None;
        }
    }

    /// What a NAK asks for. How many packets are known to be missing by it that were not before.
    fn repeat_from(&mut self, cfg: &RoceConfig, pair: &mut QueuePair, p: &PacketMeta) -> u32 {
        match cfg.spec.recovery {
            // Of what is sent again one is known to be missing, the others may have come in vain.
            Recovery::GoBackN => {
                self.go_back(pair);
                1
            }
            Recovery::Each => {
                pair.header_reported();
                u32::from(self.learn_of(pair, p.sack[0].start, true))
            }
            Recovery::Selective { after, .. } => self.note_gap(p.sack[0].start, after),
        }
    }

    /// IRN: a packet has come, and so all are lost that were sent `after` packets before it, or
    /// earlier, and have not; of those that were sent before the last timeout all that were sent
    /// before it. How many more than before.
    fn note_gap(&mut self, came: u32, after: u32) -> u32 {
        if came < self.una || came >= self.high {
            return 0;
        }
        self.sacked.insert(self.una, came, came + 1);
        let lost_below = (came + 1).saturating_sub(after).max(came.min(self.expired));
        if lost_below <= self.una {
            return 0;
        }
        if self.recover.is_none() {
            (self.recover, self.again) = (Some(self.high), self.una);
            self.lost_below = self.una;
        }
        let from = self.lost_below.max(self.una);
        self.lost_below = self.lost_below.max(lost_below);
        let new = self.lost_below.saturating_sub(from);
        new - self.sacked.count(from, from + new)
    }

    /// IRN, after a timeout: a recovery begins, in which the oldest packet that is missing is sent
    /// again, and others only if one that was sent after them has come (§3.1): of those beyond it
    /// nothing is known, they may be on their way. What was sent before a timeout is not late any
    /// more, however much reordering is allowed for.
    fn recover_anew(&mut self) {
        let told = self.sacked.top().saturating_sub(1);
        (self.recover, self.again) = (Some(self.high), self.una);
        (self.lost_below, self.expired) = (told.max(self.una + 1), self.high);
    }

    /// All is sent again from the first that is not acknowledged.
    fn go_back(&mut self, pair: &mut QueuePair) {
        pair.count(0, self.nxt - self.una);
        self.nxt = self.una;
        self.recount(pair);
    }

    /// When [`Sender::on_timer`] is to be called; `Time::MAX`: not at all.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// The time has come, or not: an early call does nothing. Whether it was a timeout. What is
    /// sent again is by the recovery: all from the first that is missing, all that are, or IRN's.
    /// Few packets are under way if they are now: when the timer began, a message's first packet
    /// was alone.
    pub fn on_timer(&mut self, cfg: &RoceConfig, pair: &mut QueuePair, now: Time) -> bool {
        if now < self.deadline {
            return false;
        }
        let due = self.since + self.timeout(cfg, pair);
        if now < due {
            self.deadline = due;
            return false;
        }
        self.timeouts += 1;
        let before = pair.under_way();
        let mut lost = 0;
        match cfg.spec.recovery {
            Recovery::GoBackN => self.go_back(pair),
            Recovery::Each => self.lose_all(pair),
            Recovery::Selective { .. } => {
                lost = 1;
                self.recover_anew();
            }
        }
        // What is under way no longer is known to be missing; of IRN's packets, which stay so until
        // they are acknowledged, one is.
        pair.time_out(cfg, lost.max(before - pair.under_way()), now);
        pair.overdraw(cfg);
        self.backed_off += 1;
        self.restart_timer(cfg, pair, now);
        true
    }

    /// Bytes that it may have under way: the window, or as much as there is.
    #[must_use]
    pub fn window(&self, cfg: &RoceConfig) -> u32 {
        let all = self.total.saturating_mul(cfg.mss);
        if cfg.has_window { self.windows.seen.min(all) } else { self.bound(cfg) }
    }

    fn bound(&self, cfg: &RoceConfig) -> u32 {
        cfg.window.min(self.total).saturating_mul(cfg.mss)
    }

    /// The same over its time: the mean over all answers, where it moves.
    #[must_use]
    pub fn mean_window(&self, cfg: &RoceConfig) -> f64 {
        if cfg.has_window { self.windows.mean() } else { self.bound(cfg).into() }
    }

    /// Whether all packets have been sent once.
    #[inline]
    pub(crate) fn has_sent_all(&self) -> bool {
        self.high == self.total
    }

    /// Packets sent again.
    #[must_use]
    pub fn retransmits(&self) -> u32 {
        self.retransmits
    }

    /// Timeouts.
    #[must_use]
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Negative acknowledgments that have come.
    #[must_use]
    pub fn naks(&self) -> u32 {
        self.naks
    }
}
