//! Counts a flow's ACKs and marks per round trip, in one word of the flow's state.

use leafspine_core::{Flags, PacketMeta};

/// What one round trip's ACKs said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Share {
    /// ACKs counted.
    pub(crate) acks: u32,
    /// Of which with ECE.
    pub(crate) marked: u32,
}

impl Share {
    /// Whether more than `parts` of a million ACKs were marked.
    pub(crate) fn exceeds(self, parts: u32) -> bool {
        u64::from(self.marked) * 1_000_000 > u64::from(parts) * u64::from(self.acks)
    }
}

/// Counts `ack` in `word`. Returns the round trip's share once everything is acknowledged that had
/// been sent when it began (as DCTCP's observation window, RFC 8257 §3.3), and begins the next.
///
/// `next` is the segment that the flow sends next. The word holds the segment that ends the
/// round trip, and two counts that stop at 65,535; zero is a flow between two round trips.
pub(crate) fn count(word: &mut u64, ack: &PacketMeta, next: u32) -> Option<Share> {
    // A SYN-ACK acknowledges no data, and can say nothing of marks.
    if ack.flags.has(Flags::SYN) {
        return None;
    }
    let (end, counts) = ((*word >> 32) as u32, *word as u32);
    let acks = (counts >> 16).saturating_add(1).min(0xffff);
    let marked = (counts & 0xffff) + u32::from(ack.flags.has(Flags::ECE));
    let marked = marked.min(0xffff);
    let begun = |end: u32, counts: u32| u64::from(end) << 32 | u64::from(counts);
    if end == 0 {
        *word = begun(next.max(1), acks << 16 | marked);
        return None;
    }
    if ack.seq < end {
        *word = begun(end, acks << 16 | marked);
        return None;
    }
    // With nothing in flight, the next round trip begins with the next flight's first ACK.
    *word = if next > ack.seq { begun(next, 0) } else { 0 };
    Some(Share { acks, marked })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::control;

    fn ack(seq: u32, marked: bool) -> PacketMeta {
        let flags = if marked { Flags::ACK.with(Flags::ECE) } else { Flags::ACK };
        PacketMeta { seq, ..control(9, 0, 1, flags) }
    }

    /// Breaks if a round trip ends before the last segment is acknowledged that was sent when it
    /// began, or if one round trip's ACKs are counted in another.
    #[test]
    fn a_round_trip_ends_with_what_was_in_flight() {
        let mut word = 0;
        assert_eq!(count(&mut word, &ack(1, false), 10), None);
        for seq in 2..10 {
            assert_eq!(count(&mut word, &ack(seq, seq > 7), 10 + seq), None);
        }
        assert_eq!(count(&mut word, &ack(10, true), 20), Some(Share { acks: 10, marked: 3 }));
        assert_eq!(count(&mut word, &ack(19, true), 30), None);
        assert_eq!(count(&mut word, &ack(20, false), 31), Some(Share { acks: 2, marked: 1 }));
    }

    /// Breaks if a SYN-ACK begins a round trip, of which the first ACK would then be the end.
    #[test]
    fn a_syn_ack_is_no_round_trip() {
        let mut word = 0;
        let syn_ack = control(9, 0, 1, Flags::SYN.with(Flags::ACK));
        assert_eq!((count(&mut word, &syn_ack, 0), word), (None, 0));
        assert_eq!(count(&mut word, &ack(1, true), 10), None);
    }

    /// Breaks if the first ACK after a pause is a round trip of its own, with a share of 0 or 1.
    #[test]
    fn a_pause_is_no_round_trip() {
        let mut word = 0;
        count(&mut word, &ack(1, false), 2);
        assert_eq!(count(&mut word, &ack(2, false), 2), Some(Share { acks: 2, marked: 0 }));
        assert_eq!(count(&mut word, &ack(3, true), 12), None);
        assert_eq!(count(&mut word, &ack(12, false), 12), Some(Share { acks: 2, marked: 1 }));
    }

    /// Breaks if counts run into each other in a long round trip, or if a share at the bound exceeds.
    #[test]
    fn counts_stop_at_their_bounds() {
        let mut word = 0;
        for _ in 0..70_000 {
            assert_eq!(count(&mut word, &ack(1, true), 100_000), None);
        }
        let share = count(&mut word, &ack(100_000, true), 100_001).unwrap();
        assert_eq!(share, Share { acks: 65_535, marked: 65_535 });
        let half = Share { acks: 10, marked: 5 };
        assert!(half.exceeds(499_999) && !half.exceeds(500_000));
    }
}
