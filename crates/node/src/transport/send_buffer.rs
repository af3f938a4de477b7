//! What an application has written and the other end has not acknowledged: Linux's send buffer (`tcp_sendmsg_locked`).
//!
//! The application writes whenever it may, in pieces that are as long as a train can be, and waits
//! once the buffer is full. An ACK that leaves a third of it free wakes it. What it then writes
//! goes to the end of the last piece first; and if that piece is the next to leave, a train leaves
//! at once, whether or not waiting for more acknowledgments would make it longer.

use super::growth::{Growth, SHORT};
use super::scoreboard::Scoreboard;
use leafspine_core::Time;
use std::collections::VecDeque;

/// Memory that a piece takes besides its data: what a kernel that printed `sk_wmem_queued` added for each.
pub(super) const BESIDES: u64 = 832;
/// Memory in the buffer for each segment of the window, as multiples of what a segment takes: of
/// other controls, and of those that go by delivery rates (`tcp_sndbuf_expand`,
/// `bbr_sndbuf_expand`).
const WINDOWS: [u64; 2] = [2, 3];
/// Room for headers before the data, in whole cache lines of a kernel without radio or tunnels, and
/// for the description of memory (`MAX_TCP_HEADER`, `struct skb_shared_info`).
const HEADERS: u32 = 192;
const SHARED: u32 = 320;
/// What a segment takes is its length and these two, rounded up to a power of two, and its own
/// description (`struct sk_buff`).
const DESCRIPTION: u64 = 256;
/// No buffer is larger (`tcp_wmem`).
const LARGEST: u64 = 4_194_304;
/// The smallest is for so many segments.
const LEAST: u32 = 10;
/// The longest piece, and train, in bytes: 64 KB less the room for headers and one (`sk_setup_caps`).
pub(super) const LONGEST: u64 = 65_536 - HEADERS as u64 - 1;

/// What follows what was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Push {
    /// Nothing.
    None,
    /// One train leaves, which does not wait for more acknowledgments (`tcp_push_one`).
    One,
    /// What may leave does.
    Pending,
}

/// See the module. Numbers are of segments.
#[derive(Debug)]
pub(super) struct SendBuffer {
    /// One past the last segment of each piece; those that are acknowledged are gone.
    ends: VecDeque<u32>,
    /// All that was written.
    written: u32,
    /// What was written when it was last pushed.
    pushed: u32,
    /// Bytes of memory that it may take; 0 before the first look.
    size: u64,
    /// The application is writing.
    writes: bool,
    /// An ACK has come: the application may be woken.
    ack_came: bool,
    /// What the other end offers. ACKs do not say it here: it is worked out from when they come, by
    /// the receiver's own rules.
    growth: Growth,
}

impl Default for SendBuffer {
    fn default() -> SendBuffer {
        SendBuffer {
            ends: VecDeque::new(),
            written: 0,
            pushed: 0,
            size: 0,
            writes: true,
            ack_came: false,
            growth: Growth::default(),
        }
    }
}

/// Where the sender stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing<'a> {
    pub(super) una: u32,
    pub(super) nxt: u32,
    /// Segments of the flow.
    pub(super) total: u32,
    /// The window, and what of it is in the network.
    pub(super) window: u32,
    pub(super) in_flight: u32,
    /// By how many segments packets have been out of order.
    pub(super) reordered_by: u32,
    /// The control goes by delivery rates.
    pub(super) by_rate: bool,
    pub(super) board: &'a Scoreboard,
}

/// Segments of a full piece: no more than half of what the other end has offered.
fn goal(mss: u32, offered: u64) -> u32 {
    let bytes = (offered / 2).min(LONGEST);
    (bytes / u64::from(mss)).max(1) as u32
}

/// Memory that a segment takes of its own, once a train has been cut: all of it lies behind its headers
/// (`skb_segment` for a device without scatter and gather).
pub(super) fn memory_of(mss: u32) -> u64 {
    u64::from((mss + HEADERS + SHARED).next_power_of_two()) + DESCRIPTION
}

/// Bytes for a window of so many segments.
fn size_for(mss: u32, segments: u32, by_rate: bool) -> u64 {
    let windows = WINDOWS[usize::from(by_rate)];
    (windows * u64::from(segments.max(LEAST)) * memory_of(mss)).min(LARGEST)
}

impl SendBuffer {
    /// Another flow's; keeps the heap memory.
    pub(super) fn reset(&mut self) {
        let mut ends = std::mem::take(&mut self.ends);
        ends.clear();
        *self = SendBuffer { ends, ..SendBuffer::default() };
    }

    /// Segments written so far.
    pub(super) fn written(&self) -> u32 {
        self.written
    }

    /// An ACK has come: there may be room.
    pub(super) fn ask(&mut self) {
        self.ack_came = true;
    }

    /// All below `una` is acknowledged, `from` was the first before; the last of it was sent at
    /// `sent`. `limit`: the largest window.
    pub(super) fn acknowledged(
        &mut self,
        (mss, limit): (u32, u32),
        (from, una): (u32, u32),
        sent: Time,
        now: Time,
    ) {
        if self.growth.is_unused() {
            self.growth.begin(mss, now);
        }
        let limit = u64::from(limit);
        for segment in from..una {
            let delivered = u64::from(segment + 1) * u64::from(mss);
            if mss >= SHORT {
                self.growth.comes(limit, u64::from(mss));
            }
            self.growth.measure(delivered, sent, now);
            self.growth.read(delivered, limit, now);
        }
        while self.ends.front().is_some_and(|end| *end <= una) {
            self.ends.pop_front();
        }
    }

    /// Where the piece that has `segment` ends: `segment` if none has.
    pub(super) fn end_of(&self, segment: u32) -> u32 {
        let at = self.ends.partition_point(|end| *end <= segment);
        self.ends.get(at).copied().unwrap_or(segment)
    }

    /// Whether the piece that has `segment` is the last.
    pub(super) fn is_last(&self, segment: u32) -> bool {
        self.end_of(segment) == self.written
    }

    /// A piece ends before `segment`.
    pub(super) fn split(&mut self, segment: u32) {
        let at = self.ends.partition_point(|end| *end < segment);
        if self.ends.get(at).is_some_and(|end| *end != segment) {
            self.ends.insert(at, segment);
        }
    }

    /// The piece that has `segment` takes so many of the next one's (`tcp_grow_skb`).
    pub(super) fn grow(&mut self, segment: u32, more: u32) {
        let at = self.ends.partition_point(|end| *end <= segment);
        let Some(next) = self.ends.get(at + 1).copied() else { return };
        let end = (self.ends[at] + more).min(next);
        self.ends[at] = end;
        if end == next {
            self.ends.remove(at);
        }
    }

    /// The application writes up to the end of a piece, if it is awake. `None`: it waits.
    pub(super) fn write(&mut self, mss: u32, at: &Standing) -> Option<Push> {
        if std::mem::take(&mut self.ack_came) && !self.writes {
            self.wake(mss, at);
        }
        if !self.writes {
            return None;
        }
        if self.size == 0 {
            self.expand(mss, at);
        }
        let goal = goal(mss, self.growth.offered());
        let (begin, end) = self.last_unsent(at.nxt);
        let fills = begin < end && end - begin < goal;
        if !fills && self.memory(mss, at) >= self.size {
            self.writes = false;
            self.pushed = self.written;
            return Some(Push::Pending);
        }
        let begin = if fills { begin } else { end };
        self.written = at.total.min(begin + goal);
        if fills {
            self.ends.pop_back();
        }
        self.ends.push_back(self.written);
        self.writes = self.written < at.total;
        let unpushed = u64::from(self.written - self.pushed) * u64::from(mss);
        if !self.writes || unpushed > self.growth.offered() / 2 {
            self.pushed = self.written;
            return Some(Push::Pending);
        }
        Some(if begin == at.nxt { Push::One } else { Push::None })
    }

    /// Where the last piece begins and ends, or what of it has not left.
    fn last_unsent(&self, nxt: u32) -> (u32, u32) {
        let before = self.ends.len().checked_sub(2).map_or(0, |at| self.ends[at]);
        (before.max(nxt).min(self.written), self.written)
    }

    /// `tcp_new_space`: while the window is not used up the buffer grows with it, and the
    /// application is woken where a third of it is free.
    fn wake(&mut self, mss: u32, at: &Standing) {
        if self.written == at.total {
            return;
        }
        if at.in_flight < at.window {
            self.expand(mss, at);
        }
        let fits = |taken: u64| taken + taken / 2 <= self.size;
        // Pieces are counted only where the data alone would fit.
        self.writes = fits(self.data(mss, at)) && fits(self.memory(mss, at));
    }

    /// The buffer is as large as the window asks for; it never shrinks.
    fn expand(&mut self, mss: u32, at: &Standing) {
        let segments = at.window.max(at.reordered_by + 1);
        self.size = self.size.max(size_for(mss, segments, at.by_rate));
    }

    /// Bytes of memory that it takes. What is SACKed is in pieces of its own, which its neighbours join.
    fn memory(&self, mss: u32, at: &Standing) -> u64 {
        let mut pieces = self.ends.len();
        if at.board.sacked() > 0 {
            let sacked = |segment| at.board.is_sacked(segment);
            let within = at.una + 1..self.written;
            let ends = self.ends.iter().filter(|end| within.contains(end));
            let apart = ends.filter(|end| !sacked(**end) && !sacked(**end - 1)).count();
            // A run is between two others, but at either end.
            let outermost = [at.una, self.written - 1].map(|s| usize::from(sacked(s)));
            let runs = 2 * at.board.runs(at.una) as usize - outermost[0] - outermost[1];
            pieces = 1 + runs + apart;
        }
        self.data(mss, at) + pieces as u64 * BESIDES
    }

    /// Bytes of data that it has.
    fn data(&self, mss: u32, at: &Standing) -> u64 {
        u64::from(self.written - at.una) * u64::from(mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1448;

    /// Breaks if BBR's buffer is not of three windows, the smallest not for ten segments, or the
    /// largest more than 4 MB. A segment takes 2,048 and 256 bytes.
    #[test]
    fn how_large_it_is() {
        let sizes = [(100, false), (100, true), (1, false), (2_000, false)];
        let found = sizes.map(|(segments, by_rate)| size_for(MSS, segments, by_rate));
        assert_eq!(found, [2 * 100 * 2_304, 3 * 100 * 2_304, 2 * 10 * 2_304, LARGEST]);
    }

    fn standing(
        board: &Scoreboard,
        (una, nxt): (u32, u32),
        window: u32,
        in_flight: u32,
    ) -> Standing<'_> {
        let (total, reordered_by, by_rate) = (10_000, 3, false);
        Standing { una, nxt, total, window, in_flight, reordered_by, by_rate, board }
    }

    /// A buffer, and what it is asked about a flow of many segments.
    struct Script {
        buffer: SendBuffer,
        board: Scoreboard,
        una: u32,
        nxt: u32,
        acked: u32,
    }

    impl Script {
        fn new() -> Script {
            let (buffer, board) = (SendBuffer::default(), Scoreboard::default());
            Script { buffer, board, una: 0, nxt: 0, acked: 0 }
        }

        fn at(&self, window: u32, in_flight: u32) -> Standing<'_> {
            standing(&self.board, (self.una, self.nxt), window, in_flight)
        }

        fn write(&mut self, window: u32) -> Option<Push> {
            let (una, nxt) = (self.una, self.nxt);
            let at = standing(&self.board, (una, nxt), window, nxt - una);
            self.buffer.write(MSS, &at)
        }

        /// Writes until the application waits; gives what is written.
        fn write_all(&mut self, window: u32) -> u32 {
            while self.write(window).is_some() {}
            self.buffer.written()
        }

        /// All up to `nxt` leaves, the last of it as one train.
        fn send(&mut self, nxt: u32) {
            self.buffer.split(nxt);
            self.nxt = nxt;
        }

        /// All up to `una` is acknowledged, with that window; gives what is written then.
        fn ack(&mut self, una: u32, window: u32) -> u32 {
            let at = Time::ZERO + leafspine_core::Span::from_micros(40);
            self.buffer.ask();
            self.buffer.acknowledged((MSS, 1 << 22), (self.acked, una), Time::ZERO, at);
            (self.acked, self.una) = (una, una);
            self.write_all(window)
        }

        fn memory(&self) -> u64 {
            self.buffer.memory(MSS, &self.at(10, 0))
        }
    }

    /// A flow of a kernel that printed its `write_seq`, `sk_wmem_queued` and `sk_sndbuf` (1 Gb/s,
    /// 40 us): 32 segments are written at first, in pieces of 22 of which ten leave; the next ones
    /// when five are acknowledged and the window is 15.
    ///
    /// Breaks if pieces, memory, the buffer's size or the wake-up are other than the kernel's.
    #[test]
    fn a_kernels_first_segments() {
        let mut flow = Script::new();
        assert_eq!(flow.write(10), Some(Push::One));
        flow.send(5);
        assert_eq!((flow.write(10), flow.buffer.written()), (Some(Push::Pending), 27));
        flow.send(10);
        assert_eq!((flow.write(10), flow.buffer.written()), (Some(Push::One), 32));
        assert_eq!((flow.write(10), flow.write(10)), (Some(Push::Pending), None));
        assert_eq!((flow.memory(), flow.buffer.size), (48_832, 46_080));
        assert_eq!((flow.ack(1, 11), flow.memory(), flow.buffer.size), (32, 47_384, 50_688));
        flow.una = 2;
        flow.send(14);
        assert_eq!((flow.ack(2, 12), flow.memory(), flow.buffer.size), (32, 46_768, 50_688));
        assert_eq!((flow.ack(3, 13), flow.buffer.size), (32, 59_904));
        assert_eq!((flow.ack(4, 14), flow.memory(), flow.buffer.size), (32, 43_872, 64_512));
        flow.una = 5;
        flow.send(20);
        assert_eq!((flow.ack(5, 15), flow.memory(), flow.buffer.size), (74, 104_072, 64_512));
    }

    /// By hand: half of what is offered, 65,215 bytes at most. A kernel that was offered so much wrote such pieces.
    ///
    /// Breaks if pieces are longer or shorter.
    #[test]
    fn pieces_by_hand() {
        let found =
            [64_240, 78_720, 85_680, 91_472, 130_320, 1_000_000].map(|bytes| goal(MSS, bytes));
        assert_eq!(found, [22, 27, 29, 31, 45, 45]);
    }

    /// Breaks if what is SACKed is not a piece of its own: of [0, 5), [5, 10), [10, 32) come 2 and 3, then 1 to 5.
    #[test]
    fn what_is_sacked_is_in_pieces() {
        let mut flow = Script::new();
        flow.write(10);
        flow.send(5);
        flow.write(10);
        flow.send(10);
        flow.write_all(10);
        let mut pieces = |start, end| {
            let block = leafspine_core::SackBlock { start, end };
            flow.board.update(&[block; 3], 0, 10);
            (flow.memory() - 32 * u64::from(MSS)) / BESIDES
        };
        assert_eq!([pieces(2, 4), pieces(1, 6)], [5, 4]);
    }

    /// Breaks if runs of what is SACKed and ends of pieces are not counted as one piece after the other would be.
    #[test]
    fn pieces_one_by_one() {
        for sacked in 0u32..1 << 12 {
            let mut flow = Script::new();
            flow.buffer.ends.extend([3, 4, 7, 11, 12]);
            flow.buffer.written = 12;
            for start in (0..12).filter(|s| sacked >> s & 1 == 1) {
                let block = leafspine_core::SackBlock { start, end: start + 1 };
                flow.board.update(&[block; 3], 0, 12);
            }
            let is_end = |s| [3, 4, 7, 11].contains(&s);
            let bit = |s| sacked >> s & 1;
            let begins = |s: &u32| bit(*s) != bit(s - 1) || (bit(*s) == 0 && is_end(*s));
            let pieces = 1 + (1..12).filter(begins).count() as u64;
            assert_eq!(flow.memory(), 12 * u64::from(MSS) + pieces * BESIDES, "{sacked:b}");
        }
    }

    /// Breaks if a piece that takes of the next one takes more than there is, or leaves an empty one.
    #[test]
    fn pieces_take_of_the_next() {
        let mut flow = Script::new();
        flow.buffer.ends.extend([10, 20, 30]);
        flow.buffer.grow(5, 4);
        assert_eq!(flow.buffer.ends, [14, 20, 30]);
        flow.buffer.grow(5, 40);
        assert_eq!(flow.buffer.ends, [20, 30]);
        flow.buffer.grow(25, 40);
        assert_eq!(flow.buffer.ends, [20, 30]);
    }

    /// Breaks if short segments widen what the other end is thought to offer: the receiver leaves them out.
    #[test]
    fn short_segments_widen_nothing() {
        let widens = |mss| {
            let mut buffer = SendBuffer::default();
            let mut after = |from, una| {
                buffer.acknowledged((mss, 1 << 22), (from, una), Time::ZERO, Time::ZERO);
                buffer.growth.offered()
            };
            after(0, 0) < after(0, 10)
        };
        assert_eq!([widens(127), widens(128)], [false, true]);
    }
}
