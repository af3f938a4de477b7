//! Small queues: how much of a flow may wait in its host's port (Linux: `tcp_small_queue_check`).
//!
//! What does not fit waits in the sender, where it takes no place of others: two trains, or what the
//! flow sends in a millisecond, a megabyte at most. New data, what is lost and probes are held
//! against the port piece by piece, as the kernel sends them; the segments that follow in a piece
//! are not asked again. Nor is a segment sent again while the driver has its last copy, unless that
//! was cut from a longer piece (`skb_still_in_host_queue`).
//!
//! The driver reclaims the memory of what has left when it puts another packet into its ring, when
//! an ACK arrives, and with TX completion interrupts. It asks for one after three quarters of what
//! was in the ring before the last packet came, and one packet more (virtio:
//! `virtqueue_enable_cb_delayed`); then every packet has one, until another is put in. While the ring
//! is full, packets stay in the queueing discipline before it. The sender is asked again when
//! something was reclaimed. Only this flow's packets are counted.

use super::TcpConfig;
use super::config::stamp;
use super::extra::Extra;
use super::send_buffer::{BESIDES, memory_of};
use super::sender::Sender;
use leafspine_core::{Flags, PacketMeta, Time};
use std::collections::VecDeque;
use std::ops::Range;

/// A ring takes so many segments, into which trains are cut; pieces before it are whole. It has 256
/// places, and takes no more once fewer are free than the longest packet may need (virtio:
/// `check_sq_full_and_disable`).
const RING: usize = 256 - 19 + 1;
/// Trains that fit however slow the flow is.
const TRAINS: u64 = 2;
/// Bytes that fit however fast it is, unless its packets are paced (Linux: `tcp_limit_output_bytes`).
const MOST: u64 = 1 << 20;

/// A segment in the port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Waiting {
    /// When it will have left.
    until: Time,
    segment: u32,
    /// It is of the same piece as the one before.
    joins: bool,
}

/// What of a flow is in the port.
#[derive(Debug)]
pub(super) struct Backlog {
    /// The first to leave first; some may have left that the driver has not reclaimed.
    packets: VecDeque<Waiting>,
    /// When the next TX completion interrupt comes.
    completion: Time,
    /// A piece waits until the driver has reclaimed something.
    full: bool,
    /// The piece that was let go last, and when.
    released: (Range<u32>, Time),
    /// When a segment that is still there was last to be sent again.
    tried: Option<Time>,
}

impl Default for Backlog {
    fn default() -> Backlog {
        Backlog {
            packets: VecDeque::new(),
            completion: Time::MAX,
            full: false,
            released: (0..0, Time::ZERO),
            tried: None,
        }
    }
}

impl Backlog {
    /// Another flow's; keeps the heap memory.
    pub(super) fn reset(&mut self) {
        let mut packets = std::mem::take(&mut self.packets);
        packets.clear();
        *self = Backlog { packets, ..Backlog::default() };
    }

    /// What has left by then is reclaimed. The sender waits no longer if something has: it is asked
    /// in the same instant (`tcp_wfree`).
    fn reclaim(&mut self, at: Time) {
        while self.packets.front().is_some_and(|first| first.until <= at) {
            self.packets.pop_front();
            self.full = false;
        }
    }

    /// The next interrupt comes after three quarters of so many packets, and one more.
    fn interrupt_after(&mut self, packets: usize) {
        let next = self.packets.get(3 * packets / 4);
        self.completion = next.map_or(Time::MAX, |next| next.until);
    }

    /// A packet has been put into the ring.
    fn put_in(&mut self) {
        let there = self.packets.len().min(RING);
        self.interrupt_after(if there == RING { RING } else { there - 1 });
    }

    /// The driver reclaims what has left by then, and what was before a full ring comes into it.
    /// Returns whether the ring was full and something is left.
    fn refills(&mut self, at: Time) -> bool {
        let waited = self.packets.len() > RING;
        self.reclaim(at);
        let refills = waited && !self.packets.is_empty();
        if refills {
            self.put_in();
        }
        refills
    }

    /// The interrupts that were to come by now have come.
    pub(super) fn complete(&mut self, now: Time) {
        while self.completion <= now {
            if !self.refills(self.completion) {
                self.interrupt_after(0);
            }
        }
    }

    /// An ACK has arrived (`virtnet_poll_cleantx`).
    pub(super) fn ack_arrives(&mut self, now: Time) {
        if !self.refills(now) {
            self.interrupt_after(self.packets.len());
        }
    }

    /// A segment comes into the port, which it leaves at `until`.
    fn enqueue(&mut self, segment: u32, until: Time, now: Time) {
        self.complete(now);
        // While the ring is full the driver is not called.
        if self.packets.len() < RING {
            self.reclaim(now);
        }
        // What is before it leaves before it: the link has become faster, or the port was emptied.
        let late = self.packets.iter_mut().rev().take_while(|before| before.until > until);
        late.for_each(|before| before.until = until);
        let joins = self.is_released(segment, now) && segment > self.released.0.start;
        self.packets.push_back(Waiting { until, segment, joins });
        self.put_in();
    }

    /// Places from the front on whose segments are in the ring or have been cut for it. A piece is cut
    /// as a whole.
    fn cut(&self) -> usize {
        let ring = self.packets.len().min(RING);
        ring + self.packets.range(ring..).take_while(|waiting| waiting.joins).count()
    }

    /// Whether a segment is there as the sender gave it: of a piece that was cut the sender's own
    /// memory is no longer in use.
    fn has(&mut self, segment: u32, now: Time) -> bool {
        self.complete(now);
        let place = self.packets.iter().rposition(|waiting| waiting.segment == segment);
        let Some(place) = place else { return false };
        let followed = self.packets.get(place + 1).is_some_and(|next| next.joins);
        let alone = !self.packets[place].joins && !followed;
        alone || place >= self.cut()
    }

    /// When the sender wants to be asked again, if it waits.
    pub(super) fn until(&self) -> Option<Time> {
        self.full.then_some(self.completion)
    }

    /// Whether the port has too much for a piece of so many segments; `rate`: bytes that the flow
    /// sends in a millisecond. Twice as much may be there before what was lost has to wait
    /// (`again`).
    fn is_full(&mut self, cfg: &TcpConfig, piece: u32, again: bool, rate: u64, now: Time) -> bool {
        self.complete(now);
        let mss = u64::from(cfg.mss);
        let most = if cfg.paced { u64::MAX } else { MOST };
        let least = TRAINS * (u64::from(piece) * mss + BESIDES);
        let limit = rate.max(least).min(most) << u32::from(again);
        let cut = self.cut();
        let whole = (self.packets.len() - cut) as u64;
        let pieces = self.packets.range(cut..).filter(|waiting| !waiting.joins).count() as u64;
        // A socket counts one byte with nothing there (`sk_wmem_alloc`). A lone segment, which is not
        // cut, counts as if it were: with 1,448 bytes that is 24 of 2,304 too many.
        1 + cut as u64 * memory_of(cfg.mss) + whole * mss + pieces * BESIDES > limit
    }

    /// Whether nothing is there.
    pub(super) fn is_empty(&mut self, now: Time) -> bool {
        self.complete(now);
        self.packets.is_empty()
    }

    /// One past the last segment of the piece that leaves with this one.
    pub(super) fn piece_end(&self, segment: u32, now: Time) -> u32 {
        if self.is_released(segment, now) { self.released.0.end } else { segment + 1 }
    }

    /// These segments leave as one piece.
    pub(super) fn release(&mut self, segments: Range<u32>, now: Time) {
        self.released = (segments, now);
    }

    /// Whether a segment is of the piece that was let go in this instant.
    pub(super) fn is_released(&self, segment: u32, now: Time) -> bool {
        self.released.1 == now && self.released.0.contains(&segment)
    }
}

impl Extra {
    /// Whether no more than one piece is outstanding, which never waits for the port
    /// (`tcp_rtx_queue_empty_or_single_skb`). What is SACKed is a piece of its own, and so is what of
    /// a longer one has been sent again.
    fn has_one_piece(&self, una: u32, high: u32, sacked: u32) -> bool {
        let whole = self.resent_below <= una && self.buffer.end_of(una) >= high;
        high <= una + 1 || (sacked == 0 && whole)
    }

    /// Segments of the piece that begins with `segment`, which is lost.
    fn lost_piece(&self, segment: u32) -> u32 {
        let end = self.buffer.end_of(segment);
        let lost = (segment + 1..end).take_while(|next| self.rack.lost.contains(*next));
        1 + lost.count() as u32
    }
}

impl Sender {
    /// The packet that was sent now will have left the host's port at `until`. One without data counts
    /// for nothing there.
    pub(crate) fn note_packet(&mut self, packet: &PacketMeta, until: Time, now: Time) {
        if packet.flags.has(Flags::DATA) {
            self.note_leaving(packet.seq, until, now);
        }
    }

    /// The same of a segment.
    pub(super) fn note_leaving(&mut self, segment: u32, until: Time, now: Time) {
        if let Some(x) = &mut self.extra {
            x.backlog.enqueue(segment, until, now);
        }
    }

    /// Whether a piece of so many segments has to wait for the port; if so, the sender is asked
    /// again when the driver has reclaimed something. `again`: it is lost.
    pub(super) fn waits_for_port(
        &mut self,
        cfg: &TcpConfig,
        piece: u32,
        again: bool,
        now: Time,
    ) -> bool {
        let rate = self.in_a_millisecond(cfg);
        let (una, high, sacked) = (self.una, self.high, self.board.sacked());
        let Some(x) = self.extra.as_mut().filter(|_| cfg.stack.small_queues) else { return false };
        let full =
            x.backlog.is_full(cfg, piece, again, rate, now) && !x.has_one_piece(una, high, sacked);
        x.backlog.full |= full;
        self.set_deadline();
        full
    }

    /// Whether a lost segment has to wait for the port, or its last copy is still there, which
    /// counts as an attempt (`tcp_xmit_retransmit_queue`). What has timed out waits for its own copy
    /// alone, and leaves alone (`tcp_retransmit_timer`).
    pub(super) fn lost_waits_for_port(
        &mut self,
        cfg: &TcpConfig,
        segment: u32,
        timed_out: bool,
        now: Time,
    ) -> bool {
        let Some(x) = self.extra.as_ref().filter(|_| cfg.stack.small_queues) else { return false };
        if x.backlog.is_released(segment, now) {
            return false;
        }
        let piece = x.lost_piece(segment);
        if !timed_out && self.waits_for_port(cfg, piece, true, now) {
            return true;
        }
        if self.is_in_port(cfg, segment, now) {
            self.note_attempt(segment, piece, now);
            return true;
        }
        let most = self.room(cfg).min(self.longest_train(cfg)).max(1);
        let train = if timed_out { 1 } else { piece.min(most) };
        if let Some(x) = &mut self.extra {
            x.backlog.release(segment..segment + train, now);
        }
        false
    }

    /// Whether a segment is not to be sent again now, since its last copy is still in the host's
    /// port. The sender is asked again when the driver has reclaimed something.
    pub(super) fn is_in_port(&mut self, cfg: &TcpConfig, segment: u32, now: Time) -> bool {
        let Some(x) = self.extra.as_mut().filter(|_| cfg.stack.small_queues) else { return false };
        let there = x.backlog.has(segment, now);
        x.backlog.full |= there;
        self.set_deadline();
        there
    }

    /// A piece of so many segments was to be sent again, and is still in the port. It counts as a
    /// retransmission would, once an instant at most; the first one is noted with the time when it
    /// was last sent (`tcp_retransmit_skb`).
    fn note_attempt(&mut self, segment: u32, piece: u32, now: Time) {
        let Some(x) = &mut self.extra else { return };
        if x.backlog.tried.replace(now) != Some(now) {
            let stamp = stamp(x.sent.at(segment));
            self.count_attempt(stamp, piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafspine_core::Span;

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_nanos(ns)
    }

    /// Packets that leave one each so many nanoseconds, with segments that are not neighbours, and a
    /// sender that waits.
    fn waiting(packets: u64, apart: u64) -> Backlog {
        let mut backlog = Backlog::default();
        (1..=packets).for_each(|n| backlog.enqueue(2 * n as u32, at(apart * n), at(0)));
        backlog.full = true;
        backlog
    }

    /// By hand: five packets leave at 1 to 5 us. Before the last one came there were four, of which
    /// three quarters are three: the interrupt comes when one more has left, and then with each. With
    /// another packet at 2.5 us two are reclaimed, and the interrupt comes when three quarters of the
    /// other three, and one more, have left. With an ACK then instead it comes with the last.
    ///
    /// Breaks if an interrupt comes sooner or later.
    #[test]
    fn when_interrupts_come() {
        let mut backlog = waiting(5, 1_000);
        assert_eq!(backlog.until(), Some(at(4_000)));
        backlog.complete(at(4_000));
        assert_eq!((backlog.completion, backlog.packets.len()), (at(5_000), 1));
        let mut backlog = waiting(5, 1_000);
        backlog.enqueue(60, at(6_000), at(2_500));
        assert_eq!((backlog.completion, backlog.packets.len()), (at(5_000), 4));
        let mut backlog = waiting(5, 1_000);
        backlog.ack_arrives(at(2_500));
        assert_eq!((backlog.completion, backlog.packets.len()), (at(5_000), 3));
    }

    /// Breaks if a sender waits on when something was reclaimed with an ACK, or no longer when
    /// nothing was: it would be asked once more, when Linux asks no sender.
    #[test]
    fn what_is_reclaimed_ends_the_wait() {
        let waits = |ns| {
            let mut backlog = waiting(5, 1_000);
            backlog.ack_arrives(at(ns));
            backlog.until().is_some()
        };
        assert_eq!([waits(999), waits(1_000)], [true, false]);
    }

    /// 300 packets wait for a slow link, which is then faster: another 300 leave before they would
    /// have. By 310 ns all but those from 311 on have left.
    ///
    /// Breaks if interrupts come again and again at one instant, for ever, or none before the slow
    /// link would have sent its first packet.
    #[test]
    fn a_link_that_becomes_faster() {
        let mut backlog = Backlog::default();
        (0..300u32).for_each(|n| backlog.enqueue(2 * n, at(9_000), at(0)));
        let faster = |n| at(100 + u64::from(n));
        (0..300u32).for_each(|n| backlog.enqueue(1_000 + 2 * n, faster(n), at(50)));
        assert_eq!(backlog.completion, at(100));
        assert!(!backlog.has(1_000, at(310)));
        assert!(backlog.completion > at(310));
    }

    /// By hand: 300 packets leave, one each nanosecond from 1 on. The ring takes 238, and the
    /// interrupt comes when 178 of them and one more have left, at 179 ns. Then 121 are there, and
    /// the ring is not full: the next comes when 90 of the 120 before the last one have left, and one
    /// more; with another packet that comes then, of the 121. An ACK at 100 ns leaves 200, which are
    /// all in the ring then.
    ///
    /// Of 600 packets 421 are left at 179 ns, and the ring is full again: another 178 and one. With
    /// an ACK at 100 ns 500 are.
    ///
    /// Breaks if the driver counts what is before its ring, or reclaims when a packet comes there; or
    /// if what was there does not come into it.
    #[test]
    fn a_full_ring() {
        let mut backlog = waiting(300, 1);
        assert_eq!(backlog.completion, at(179));
        backlog.enqueue(1_000, at(301), at(50));
        assert_eq!((backlog.completion, backlog.packets.len()), (at(179), 301));
        backlog = waiting(300, 1);
        backlog.complete(at(179));
        assert_eq!((backlog.completion, backlog.packets.len()), (at(179 + 91), 121));
        backlog = waiting(300, 1);
        backlog.enqueue(1_000, at(301), at(179));
        assert_eq!((backlog.completion, backlog.packets.len()), (at(180 + 90), 122));
        backlog = waiting(300, 1);
        backlog.ack_arrives(at(100));
        assert_eq!((backlog.completion, backlog.packets.len()), (at(100 + 150), 200));
        backlog = waiting(600, 1);
        backlog.complete(at(179));
        assert_eq!((backlog.completion, backlog.packets.len()), (at(179 + 179), 421));
        backlog = waiting(600, 1);
        backlog.ack_arrives(at(100));
        assert_eq!((backlog.completion, backlog.packets.len()), (at(100 + 179), 500));
        // 238 fill it: one more stays before it, and reclaims nothing.
        backlog = waiting(238, 1);
        backlog.enqueue(1_000, at(301), at(50));
        assert_eq!((backlog.completion, backlog.packets.len()), (at(179), 239));
    }

    /// By hand: 900, alone, leaves at 1 us; then come pieces of 100, from 1 on. The third begins in
    /// the ring, which has 238 places, and is cut as a whole; the fourth is whole. 900 is reclaimed
    /// at once, and nothing else before three quarters of the ring have left.
    ///
    /// Breaks if a segment counts as there when the driver has reclaimed it, or when it is a part of
    /// what was cut; or if it does not while the driver has not.
    #[test]
    fn what_is_still_there() {
        let mut backlog = Backlog::default();
        backlog.enqueue(900, at(1_000), at(0));
        for first in [1, 101, 201, 301] {
            backlog.release(first..first + 100, at(10));
            for segment in first..first + 100 {
                backlog.enqueue(segment, at(1_000 + u64::from(segment)), at(10));
            }
        }
        let there = |backlog: &mut Backlog, now| {
            [900, 1, 100, 238, 300, 301, 400].map(|segment| backlog.has(segment, at(now)))
        };
        let [whole, gone] = [true, false];
        assert_eq!(there(&mut backlog, 999), [whole, gone, gone, gone, gone, whole, whole]);
        assert_eq!(there(&mut backlog, 1_001), [whole, gone, gone, gone, gone, whole, whole]);
        backlog.ack_arrives(at(1_062));
        assert_eq!(there(&mut backlog, 1_062), [gone, gone, gone, gone, gone, whole, whole]);
        backlog.ack_arrives(at(1_063));
        assert_eq!(there(&mut backlog, 1_063), [gone; 7]);
        backlog.enqueue(900, at(9_000), at(2_000));
        assert_eq!(there(&mut backlog, 2_000), [whole, gone, gone, gone, gone, gone, gone]);
    }

    /// Breaks if segments that leave at different instants, or as pieces of their own, count as one
    /// piece, whose memory is no longer in use.
    #[test]
    fn pieces_are_apart() {
        let mut backlog = Backlog::default();
        backlog.release(1..2, at(0));
        backlog.enqueue(1, at(9_000), at(0));
        backlog.release(2..4, at(0));
        (2..4).for_each(|segment| backlog.enqueue(segment, at(9_000), at(0)));
        backlog.enqueue(4, at(9_000), at(0));
        backlog.enqueue(5, at(9_000), at(1));
        let there = [1, 2, 3, 4, 5].map(|segment| backlog.has(segment, at(2)));
        assert_eq!(there, [true, false, false, true, true]);
    }
}
