//! What ConWeave writes into packets: into data at the source's ToR, into packets of its own at the destination's.

use leafspine_core::{PacketMeta, SchemeHeader, Span, Time};

/// Bits of the first word; the epoch and a time stamp are above.
const VALID: u32 = 1;
pub(super) const REQUEST: u32 = 2;
pub(super) const REROUTED: u32 = 4;
pub(super) const TAIL: u32 = 8;
const FLAGS: u32 = 0xf;
const EPOCH: u32 = 4;
/// The upper 24 bits of both words are time stamps.
const STAMP: u32 = 8;
/// Of a packet of its own the flags say what it is.
pub(super) const REPLY: u32 = REQUEST;
pub(super) const CLEAR: u32 = TAIL;
pub(super) const NOTIFY: u32 = REROUTED;

/// A time stamp counts in units of 2^14 ps, 16.384 ns, and comes round after 2^24 of them (275 ms).
const UNIT_BITS: u32 = 14;
const MASK: u32 = (1 << 24) - 1;

/// A time as a header has it.
pub(super) fn stamp(now: Time) -> u32 {
    (now.0 >> UNIT_BITS) as u32 & MASK
}

/// The time from one stamp to a later one, rounded up by a unit.
pub(super) fn between(from: u32, to: u32) -> Span {
    Span((u64::from(to.wrapping_sub(from) & MASK) + 1) << UNIT_BITS)
}

/// An epoch's number: 4 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Epoch(u8);

impl Epoch {
    pub(super) fn next(self) -> Epoch {
        Epoch((self.0 + 1) % 16)
    }

    /// Whether it begins after `other`.
    pub(super) fn is_after(self, other: Epoch) -> bool {
        (1..=8).contains(&(self.0.wrapping_sub(other.0) % 16))
    }
}

/// The header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Header {
    pub(super) flags: u32,
    pub(super) epoch: Epoch,
    /// When the packet was sent by the source's ToR (TX_TSTAMP).
    pub(super) sent: u32,
    /// When the TAIL before it was (TAIL_TX_TSTAMP).
    pub(super) tail_sent: u32,
    /// The source ToR's uplink.
    pub(super) path: u8,
}

impl Header {
    pub(super) fn write(self, packet: &mut PacketMeta) {
        let low = VALID | self.flags & FLAGS | u32::from(self.epoch.0) << EPOCH;
        packet.header = SchemeHeader([
            low | self.sent << STAMP,
            u32::from(self.path) | self.tail_sent << STAMP,
        ]);
    }

    /// `None`: no ConWeave switch has written one.
    pub(super) fn read(packet: &PacketMeta) -> Option<Header> {
        let [low, high] = packet.header.0;
        (low & VALID != 0).then_some(Header {
            flags: low & FLAGS & !VALID,
            epoch: Epoch((low >> EPOCH) as u8 & 0xf),
            sent: low >> STAMP,
            tail_sent: high >> STAMP,
            path: high as u8,
        })
    }

    pub(super) fn has(self, flag: u32) -> bool {
        self.flags & flag != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a field of the header runs into another, or if one is read from a packet that was given none.
    #[test]
    fn what_is_written_is_read() {
        let mut packet = PacketMeta::default();
        assert_eq!(Header::read(&packet), None);
        for header in [
            Header { flags: REQUEST, sent: MASK, path: 255, ..Header::default() },
            Header {
                flags: REROUTED | TAIL,
                epoch: Epoch(15),
                tail_sent: MASK,
                ..Header::default()
            },
        ] {
            header.write(&mut packet);
            assert_eq!(Header::read(&packet), Some(header));
        }
    }

    /// Breaks if epochs or stamps do not come round.
    #[test]
    fn numbers_come_round() {
        let last = Epoch(15);
        assert!(last.next().is_after(last) && !last.is_after(last.next()));
        assert!(!last.is_after(last));
        let before = stamp(Time((1 << 38) - (1 << 14)));
        assert_eq!(between(before, stamp(Time(1 << 38))), Span(2 << 14));
    }
}
