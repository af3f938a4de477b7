//! CRC-16 of a five-tuple, which QDAPS takes as the flow's number (§III-D, "Flow Table").
//!
//! The paper says "CRC16" only. This is the one that P4 software switches (BMv2) mean by `crc16`:
//! polynomial 0x8005, bits reflected, starting from 0, known as CRC-16/ARC. A CRC that starts from
//! 0 is linear: the CRC of a message is the exclusive or of what each of its bytes adds alone. So
//! eight look-ups that do not wait for each other do instead of thirteen that do.

use crc::{CRC_16_ARC, Crc, NoTable};
use leafspine_core::FiveTuple;

const ARC: Crc<u16, NoTable> = Crc::<u16, NoTable>::new(&CRC_16_ARC);
/// Bytes of a five-tuple on the wire ([`FiveTuple::wire_bytes`]).
const BYTES: usize = 13;
/// Where the eight bytes that differ between tuples stand among them, in the order of the word that
/// a tuple is kept as. The others are 10.0 of either address and the protocol.
const PLACE: [usize; 8] = [2, 3, 6, 7, 9, 10, 11, 12];
/// The CRC of a tuple of zeros.
const REST: u16 = ARC.checksum(&[10, 0, 0, 0, 10, 0, 0, 0, 6, 0, 0, 0, 0]);
/// What a byte adds, by its place in the word and its value.
static ADDS: [[u16; 256]; 8] = adds();

const fn adds() -> [[u16; 256]; 8] {
    let mut table = [[0; 256]; 8];
    let mut place = 0;
    while place < 8 {
        let mut value = 0;
        while value < 256 {
            let mut alone = [0; BYTES];
            alone[PLACE[place]] = value as u8;
            table[place][value] = ARC.checksum(&alone);
            value += 1;
        }
        place += 1;
    }
    table
}

/// The CRC-16 of a five-tuple.
#[inline]
pub(super) fn crc16(tuple: FiveTuple) -> u16 {
    let bytes = tuple.0.to_be_bytes();
    let each = ADDS.iter().zip(bytes).map(|(adds, byte)| adds[usize::from(byte)]);
    each.fold(REST, |crc, added| crc ^ added)
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafspine_core::{HostId, Rng, Role};

    /// Breaks if the look-ups give anything but the CRC of the thirteen bytes on the wire.
    #[test]
    fn look_ups_agree_with_the_definition() {
        let mut rng = Rng::new(1, Role::Hash, 0);
        for _ in 0..10_000 {
            let tuple = FiveTuple(rng.next_u64());
            assert_eq!(crc16(tuple), ARC.checksum(&tuple.wire_bytes()), "{tuple:?}");
        }
    }

    /// Breaks if neighbouring flows collide: a CRC is one to one on any sixteen bits in a row.
    #[test]
    fn flows_of_two_hosts_never_collide() {
        let mut seen = vec![false; 1 << 16];
        for sport in 0..=u16::MAX {
            let number = crc16(FiveTuple::new(HostId(3), HostId(9), sport, 5001));
            assert!(!std::mem::replace(&mut seen[usize::from(number)], true), "{sport}");
        }
    }
}
