//! What has come of a flow, in order and beyond.

use super::SegmentSet;
use leafspine_core::{Flags, PacketMeta};

/// Puts segments in order, whatever the transport makes of those that are not: the flow's length is
/// learnt from the last one's FIN, and each byte goes to the application once.
#[derive(Debug)]
pub(crate) struct Assembly {
    /// RCV.NXT: the next segment expected.
    expected: u32,
    /// RFC 4737's `NextExp`: one past the highest segment seen.
    next_exp: u32,
    /// One past the last segment; `u32::MAX` until it has been seen.
    end: u32,
    /// Payload of the last segment, once seen.
    last_payload: u16,
    /// Bytes given to the application.
    delivered: u64,
    held: SegmentSet,
    reordered: u32,
    duplicates: u32,
}

impl Default for Assembly {
    fn default() -> Assembly {
        Assembly {
            expected: 0,
            next_exp: 0,
            end: u32::MAX,
            last_payload: 0,
            delivered: 0,
            held: SegmentSet::default(),
            reordered: 0,
            duplicates: 0,
        }
    }
}

impl Assembly {
    /// That of another flow; keeps the heap memory.
    pub(crate) fn reset(&mut self) {
        let mut held = std::mem::take(&mut self.held);
        held.clear();
        *self = Assembly { held, ..Assembly::default() };
    }

    /// Notes that a segment has come. Whether it is reordered: overtaken by one that was sent later
    /// (RFC 4737 §3). A retransmission is not.
    #[inline]
    pub(crate) fn note(&mut self, p: &PacketMeta) -> bool {
        if p.flags.has(Flags::FIN) {
            (self.end, self.last_payload) = (p.seq + 1, p.payload);
        }
        if p.seq >= self.next_exp {
            self.next_exp = p.seq + 1;
            return false;
        }
        let reordered = p.notes & PacketMeta::RETRANSMIT == 0;
        self.reordered += u32::from(reordered);
        reordered
    }

    /// Takes the segment that was expected, and what is held behind it: gives the bytes that are in
    /// order now (`mss` each but the last's) and whether they are the flow's last.
    #[inline]
    pub(crate) fn take(&mut self, mss: u32) -> (u32, bool) {
        let segment = self.expected;
        self.expected += 1;
        if !self.held.is_empty() {
            self.expected = self.held.first_absent(self.expected);
            self.held.remove_below(segment, self.expected);
        }
        let complete = self.expected == self.end;
        let mut bytes = (self.expected - segment) * mss;
        if complete {
            bytes -= mss - u32::from(self.last_payload);
        }
        self.delivered += u64::from(bytes);
        (bytes, complete)
    }

    /// Holds a segment beyond the one expected. Returns whether it is new.
    #[inline]
    pub(crate) fn hold(&mut self, segment: u32) -> bool {
        self.held.insert(self.expected, segment, segment + 1) == 1
    }

    /// Segments that have come and are not in order yet.
    pub(super) fn held(&self) -> u32 {
        self.held.len()
    }

    /// Whether `segment` has come.
    pub(crate) fn has(&self, segment: u32) -> bool {
        segment < self.expected || !self.held.is_empty() && self.held.contains(segment)
    }

    /// The run of held segments that `segment`, which is held, is part of. `known`: a segment from
    /// which on, up to it, all are.
    pub(super) fn run(&self, segment: u32, known: Option<u32>) -> (u32, u32) {
        let start = known.unwrap_or_else(|| self.held.run_start(self.expected, segment));
        (start, self.held.first_absent(segment))
    }

    /// Counts a segment that had come before.
    #[inline]
    pub(crate) fn count_duplicate(&mut self, duplicate: bool) {
        self.duplicates += u32::from(duplicate);
    }

    /// Whether something is held out of order.
    #[inline]
    pub(crate) fn has_gap(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether no segment has come.
    #[inline]
    pub(super) fn is_new(&self) -> bool {
        self.next_exp == 0
    }

    /// Whether every byte has come.
    pub(crate) fn complete(&self) -> bool {
        self.expected == self.end
    }

    /// The next segment expected.
    #[inline]
    pub(crate) fn expected(&self) -> u32 {
        self.expected
    }

    /// Bytes given to the application, each once and in order.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Reordered packets, retransmissions not counted.
    pub(crate) fn reordered(&self) -> u32 {
        self.reordered
    }

    /// Segments that came more than once, each further time counted.
    pub(crate) fn duplicates(&self) -> u32 {
        self.duplicates
    }
}
