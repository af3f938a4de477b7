//! Small queues: how much of a flow may wait in its host's port (Linux: `tcp_small_queue_check`).
//!
//! What does not fit waits in the sender, where it takes no place of others: two trains, or what the
//! flow sends in a millisecond, a megabyte at most. The driver of the device looks what has left when
//! another packet comes to its ring, when an ACK arrives, and when the device tells it: once more than
//! three quarters have left of those that were in the ring before the last one came (virtio:
//! `virtqueue_enable_cb_delayed`), and then of each. A full ring tells after three quarters of it; what
//! comes then stays in front of it until the driver looks. Only this flow's packets are counted. When
//! the driver has looked, the sender is asked again.
//!
//! New data, what is lost and probes are held against the port piece by piece, as the kernel sends
//! them: the segments that follow in one are not asked again.
//!
//! A segment whose last copy has not left is not sent again (`skb_still_in_host_queue`).

use super::TcpConfig;
use super::config::stamp;
use super::extra::Extra;
use super::sender::{Phase, Sender};
use leafspine_core::Time;
use std::collections::VecDeque;
use std::ops::Range;

/// What a kernel's memory for a piece of data counts beyond the data, in bytes: a head of 640 and
/// the 256 of its description (`SKB_TRUESIZE`). A train is one piece until it is cut for the
/// device, then each segment is one.
const BEYOND: u64 = 896;
/// Segments of which a train has no more, for what it counts beyond its data.
const WHOLE: u64 = 45;
/// A device's ring takes so many segments, which are cut; what waits before it is not. It has 256
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
    /// It came with its neighbours, as a piece that is cut for the device.
    piece: bool,
}

/// What of a flow is in the port.
#[derive(Debug)]
pub(super) struct Backlog {
    /// The first to leave first; of some that have left the driver has not heard yet.
    leaves: VecDeque<Waiting>,
    /// When the last one came.
    last: Time,
    /// When the driver hears next.
    heard: Time,
    /// A train, or a retransmission, waits until the driver hears again.
    full: bool,
    /// The segments that leave as a piece without asking again, and when the first was let go.
    piece: (Range<u32>, Time),
    /// When a segment that is still there was last to be sent again.
    tried: Option<Time>,
}

impl Default for Backlog {
    fn default() -> Backlog {
        Backlog {
            leaves: VecDeque::new(),
            last: Time::ZERO,
            heard: Time::MAX,
            full: false,
            piece: (0..0, Time::ZERO),
            tried: None,
        }
    }
}

impl Backlog {
    /// Another flow's; keeps the heap memory.
    pub(super) fn reset(&mut self) {
        self.leaves.clear();
        self.heard = Time::MAX;
        self.full = false;
        self.piece = (0..0, Time::ZERO);
        self.tried = None;
    }

    /// What has left by now is gone.
    fn free(&mut self, now: Time) {
        while self.leaves.front().is_some_and(|first| first.until <= now) {
            self.leaves.pop_front();
        }
    }

    /// The driver hears next when more than three quarters of so many have left.
    fn expect(&mut self, of: usize) {
        self.heard = self.leaves.get(3 * of / 4).map_or(Time::MAX, |next| next.until);
    }

    /// A packet has come into the ring.
    fn filled(&mut self) {
        let there = self.leaves.len().min(RING);
        self.expect(if there == RING { RING } else { there - 1 });
    }

    /// The driver hears of all that have left by then. What has waited before the ring comes into
    /// it.
    fn hear(&mut self, at: Time) {
        let waited = self.leaves.len() > RING;
        self.free(at);
        if waited && !self.leaves.is_empty() {
            self.filled();
        } else {
            self.expect(0);
        }
    }

    /// The driver has heard all that it was to hear by now.
    fn catch_up(&mut self, now: Time) {
        while self.heard <= now {
            self.hear(self.heard);
        }
    }

    /// A segment comes into the port, which it leaves at `until`. `joins`: it is of the same piece
    /// as the segment before.
    fn comes(&mut self, (segment, joins): (u32, bool), until: Time, now: Time) {
        self.catch_up(now);
        // What waits before a full ring the driver does not see.
        if self.leaves.len() < RING {
            self.free(now);
        }
        // What is before it leaves before it: the link has become faster, or the port was emptied.
        let late = self.leaves.iter_mut().rev().take_while(|before| before.until > until);
        late.for_each(|before| before.until = until);
        let piece = joins && self.continues(segment, now);
        if let Some(neighbour) = self.leaves.back_mut().filter(|_| piece) {
            neighbour.piece = true;
        }
        self.leaves.push_back(Waiting { until, segment, piece });
        self.last = now;
        self.filled();
    }

    /// Whether the segment before came last, and in this instant.
    fn continues(&self, segment: u32, now: Time) -> bool {
        let last = self.leaves.back().filter(|_| self.last == now);
        last.is_some_and(|last| last.segment + 1 == segment)
    }

    /// Whether a segment is there as the sender gave it: of a piece the sender's own copy is gone once it has been cut.
    fn has(&mut self, segment: u32, now: Time) -> bool {
        self.catch_up(now);
        let place = self.leaves.iter().rposition(|waiting| waiting.segment == segment);
        place.is_some_and(|place| !self.leaves[place].piece || place >= RING)
    }

    /// A packet has arrived, upon which the driver looks what has left (`virtnet_poll_cleantx`).
    pub(super) fn look(&mut self, now: Time) {
        let waited = self.leaves.len() > RING;
        self.free(now);
        if waited && !self.leaves.is_empty() {
            self.filled();
        } else {
            self.expect(self.leaves.len());
        }
    }

    /// When the sender wants to be asked again, if it waits.
    pub(super) fn until(&self) -> Option<Time> {
        self.full.then_some(self.heard)
    }

    /// The sender waits no longer.
    pub(super) fn look_again(&mut self) {
        self.full = false;
    }

    /// Whether the port has too much for a piece of so many segments; `rate`: bytes that the flow
    /// sends in a millisecond. Twice as much may be there before what was lost has to wait
    /// (`again`).
    fn is_full(
        &mut self,
        cfg: &TcpConfig,
        (piece, again): (u32, bool),
        rate: u64,
        now: Time,
    ) -> bool {
        self.catch_up(now);
        let mss = u64::from(cfg.mss);
        let most = if cfg.paced { u64::MAX } else { MOST };
        let limit =
            rate.max(TRAINS * (u64::from(piece) * mss + BEYOND)).min(most) << u32::from(again);
        let there = self.leaves.len();
        let cut = there.min(RING);
        let (cut, whole) = (cut as u64, (there - cut) as u64);
        // A socket counts one byte with nothing there (`sk_wmem_alloc`).
        cut * (mss + BEYOND) + whole * (mss + BEYOND / WHOLE) + 1 > limit
    }

    /// Whether a segment is of the piece that was let go in this instant.
    pub(super) fn is_released(&self, segment: u32, now: Time) -> bool {
        self.piece.1 == now && self.piece.0.contains(&segment)
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
    /// The segment that was sent now will have left the host's port at `until`.
    pub(crate) fn note_leaving(&mut self, segment: u32, until: Time, now: Time) {
        if let Some(x) = &mut self.extra {
            let joins = segment > 0 && x.buffer.end_of(segment - 1) > segment;
            x.backlog.comes((segment, joins), until, now);
        }
    }

    /// Whether a piece of so many segments has to wait for the port; if so, the sender is asked
    /// again when the driver hears. (`tcp_small_queue_check`.)
    fn is_too_much(&mut self, cfg: &TcpConfig, piece: (u32, bool), now: Time) -> bool {
        let rate = self.in_a_millisecond(cfg);
        let (una, high, sacked) = (self.una, self.high, self.board.sacked());
        let Some(x) = &mut self.extra else { return false };
        let full = x.backlog.is_full(cfg, piece, rate, now) && !x.has_one_piece(una, high, sacked);
        x.backlog.full |= full;
        self.set_deadline();
        full
    }

    /// Whether a train of `segments` has to wait for the port.
    pub(super) fn waits_for_port(&mut self, cfg: &TcpConfig, segments: u32, now: Time) -> bool {
        cfg.stack.small_queues && self.is_too_much(cfg, (segments, false), now)
    }

    /// Whether new data that leaves in a recovery, or as a probe, has to wait for the port: asked
    /// for as much of it as may leave now.
    pub(super) fn new_waits_for_port(&mut self, cfg: &TcpConfig, now: Time) -> bool {
        let nxt = self.high;
        let Some(x) = self.extra.as_ref().filter(|_| cfg.stack.small_queues) else { return false };
        if x.backlog.is_released(nxt, now) {
            return false;
        }
        let room = if self.phase == Phase::Probing { 1 } else { self.room(cfg) };
        let half = self.window_in_force() / cfg.mss / 2;
        let piece = room.min(half.max(1)).min(self.longest_train(cfg));
        let mut piece = piece.min(self.written(cfg) - nxt).max(1);
        if let Some(x) = self.extra.as_mut().filter(|_| cfg.stack.gso) {
            let next = x.buffer.end_of(nxt) - nxt;
            x.buffer.grow(nxt, piece.saturating_sub(next));
            piece = piece.min(x.buffer.end_of(nxt) - nxt);
        }
        let waits = self.waits_for_port(cfg, piece, now);
        if !waits {
            self.release_piece(nxt..nxt + piece, now);
        }
        waits
    }

    /// Whether a lost segment has to wait for the port, or its last copy is still there, which
    /// counts as an attempt (`tcp_xmit_retransmit_queue`). What has just timed out waits for its own
    /// copy alone (`tcp_retransmit_timer`).
    pub(super) fn lost_waits_for_port(
        &mut self,
        cfg: &TcpConfig,
        (segment, timed_out): (u32, bool),
        now: Time,
    ) -> bool {
        let Some(x) = self.extra.as_ref().filter(|_| cfg.stack.small_queues) else { return false };
        if x.backlog.is_released(segment, now) {
            return false;
        }
        let piece = x.lost_piece(segment);
        if !timed_out && self.is_too_much(cfg, (piece, true), now) {
            return true;
        }
        if self.is_in_port(cfg, segment, now) {
            self.note_attempt((segment, piece), now);
            return true;
        }
        let train = piece.min(self.longest_train(cfg));
        self.release_piece(segment..segment + train, now);
        false
    }

    /// These segments leave as one piece.
    fn release_piece(&mut self, segments: Range<u32>, now: Time) {
        if let Some(x) = &mut self.extra {
            x.backlog.piece = (segments, now);
        }
    }

    /// Whether a segment is not to be sent again now, since its last copy is still in the host's
    /// port. The sender is asked again when the driver hears that something has left.
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
    fn note_attempt(&mut self, (segment, piece): (u32, u32), now: Time) {
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

    /// By hand: five packets leave at 1 to 5 us. Before the last one came there were four, of which
    /// three quarters are three: the driver hears when one more has left, and then of each. With
    /// another packet at 2.5 us it hears at once of two, and next when three quarters of the other
    /// three, and one more, have left. With an ACK then instead it hears of the two, and next of
    /// all.
    ///
    /// Breaks if it hears sooner or later.
    #[test]
    fn what_the_driver_hears() {
        let at = |ns| Time::ZERO + Span::from_nanos(ns);
        let five = || {
            let mut backlog = Backlog { full: true, ..Backlog::default() };
            (1..=5).for_each(|us| backlog.comes((us as u32, true), at(1_000 * us), at(0)));
            backlog
        };
        let mut backlog = five();
        assert_eq!(backlog.until(), Some(at(4_000)));
        backlog.hear(at(4_000));
        assert_eq!((backlog.until(), backlog.leaves.len()), (Some(at(5_000)), 1));
        let mut backlog = five();
        backlog.comes((6, true), at(6_000), at(2_500));
        assert_eq!((backlog.until(), backlog.leaves.len()), (Some(at(5_000)), 4));
        let mut backlog = five();
        backlog.look(at(2_500));
        assert_eq!((backlog.until(), backlog.leaves.len()), (Some(at(5_000)), 3));
        let mut backlog = Backlog { full: true, ..Backlog::default() };
        backlog.comes((1, true), at(5_000), at(0));
        backlog.comes((2, true), at(4_900), at(0));
        backlog.look(at(4_850));
        assert_eq!(backlog.until(), Some(at(4_900)), "the first leaves before the second");
    }

    /// 300 packets wait for a slow link, which is then faster: another one leaves before they would
    /// have. By 300 ns all but those from 290 on have left.
    ///
    /// Breaks if the driver hears again and again of one instant, for ever, or of nothing before
    /// the slow link would have sent its first packet.
    #[test]
    fn a_link_that_becomes_faster() {
        let at = |ns| Time::ZERO + Span::from_nanos(ns);
        let mut backlog = Backlog { full: true, ..Backlog::default() };
        (0..300u32).for_each(|n| backlog.comes((2 * n, true), at(9_000), at(0)));
        (0..300u32)
            .for_each(|n| backlog.comes((1_000 + 2 * n, true), at(100 + u64::from(n)), at(50)));
        assert_eq!(backlog.until(), Some(at(100)));
        assert!(!backlog.has(1_000, at(310)));
        assert!(backlog.until() > Some(at(310)));
    }

    /// By hand: 300 packets leave, one each nanosecond from 1 on. The ring takes 238, and the
    /// driver hears when 178 of them and one more have left, at 179 ns. Then 121 are there, and the
    /// ring is not full: it hears when 90 of the 120 before the last one have left, and one more;
    /// with another one that comes then, of the 121. An ACK at 100 ns leaves 200, which are all in
    /// the ring then.
    ///
    /// Breaks if the driver counts what waits before its ring, or looks when a packet comes there;
    /// or if what has waited does not come into it.
    #[test]
    fn a_full_ring() {
        let at = |ns| Time::ZERO + Span::from_nanos(ns);
        let full = || {
            let mut backlog = Backlog { full: true, ..Backlog::default() };
            (1..=300).for_each(|ns| backlog.comes((2 * ns as u32, true), at(ns), at(0)));
            backlog
        };
        let mut backlog = full();
        assert_eq!(backlog.until(), Some(at(179)));
        backlog.comes((1_000, true), at(301), at(50));
        assert_eq!((backlog.until(), backlog.leaves.len()), (Some(at(179)), 301));
        backlog = full();
        backlog.hear(at(179));
        assert_eq!((backlog.until(), backlog.leaves.len()), (Some(at(179 + 91)), 121));
        backlog = full();
        backlog.comes((1_000, true), at(301), at(179));
        assert_eq!((backlog.until(), backlog.leaves.len()), (Some(at(180 + 90)), 122));
        backlog = full();
        backlog.look(at(100));
        assert_eq!((backlog.until(), backlog.leaves.len()), (Some(at(100 + 150)), 200));
    }

    /// By hand: 900, alone, leaves at 1 us; 1 to 300 come as one piece, of which the first 238
    /// places are cut. The driver hears at once of 900, and of nothing else before three quarters
    /// of the ring.
    ///
    /// Breaks if a segment counts as there when the driver has heard that it left, or when it is a
    /// part of what was cut; or if it does not while the driver has not heard.
    #[test]
    fn what_is_still_there() {
        let at = |ns| Time::ZERO + Span::from_nanos(ns);
        let mut backlog = Backlog::default();
        backlog.comes((900, true), at(1_000), at(0));
        (1..=300).for_each(|s| backlog.comes((s, true), at(1_000 + u64::from(s)), at(10)));
        let there =
            |backlog: &mut Backlog, now| [900, 1, 237, 238, 300].map(|s| backlog.has(s, at(now)));
        assert_eq!(there(&mut backlog, 999), [true, false, false, true, true]);
        assert_eq!(there(&mut backlog, 1_001), [true, false, false, true, true], "not heard");
        backlog.look(at(1_001));
        assert_eq!(there(&mut backlog, 1_001), [false, false, false, false, true]);
        backlog.comes((900, true), at(9_000), at(2_000));
        assert_eq!(there(&mut backlog, 2_000), [true, false, false, false, false]);
    }
}
