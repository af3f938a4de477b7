//! Who and where: hosts, switches, ports, five-tuples.

/// A host, `0..hosts`. At most 65,536 hosts in a fabric.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct HostId(pub u16);

/// A switch, `0..switches`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SwitchId(pub u16);

/// A switch that hosts hang on (top of rack), counted `0..tors`: the unit of destination.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TorId(pub u16);

/// A port of one switch, `0..ports` of that switch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PortId(pub u16);

/// Source and destination host and port number; the protocol is always TCP.
///
/// Kept as one word, because that is how it is hashed: `src:16 | dst:16 | sport:16 | dport:16`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FiveTuple(pub u64);

impl FiveTuple {
    /// A five-tuple from its parts.
    #[must_use]
    pub fn new(src: HostId, dst: HostId, sport: u16, dport: u16) -> FiveTuple {
        FiveTuple(
            u64::from(src.0) << 48
                | u64::from(dst.0) << 32
                | u64::from(sport) << 16
                | u64::from(dport),
        )
    }

    /// The source host.
    #[inline]
    #[must_use]
    pub fn src(self) -> HostId {
        HostId((self.0 >> 48) as u16)
    }

    /// The destination host.
    #[inline]
    #[must_use]
    pub fn dst(self) -> HostId {
        HostId((self.0 >> 32) as u16)
    }

    /// The five-tuple of the opposite direction.
    #[inline]
    #[must_use]
    pub fn reversed(self) -> FiveTuple {
        let (hosts, ports) = ((self.0 >> 32) as u32, self.0 as u32);
        FiveTuple(u64::from(hosts.rotate_left(16)) << 32 | u64::from(ports.rotate_left(16)))
    }

    /// The thirteen bytes of the header fields that a CRC is taken over, in wire order:
    /// source address (4), destination address (4), protocol (1), source port (2), destination port (2).
    #[must_use]
    pub fn wire_bytes(self) -> [u8; 13] {
        let [s1, s0, d1, d0, sp1, sp0, dp1, dp0] = self.0.to_be_bytes();
        [10, 0, s1, s0, 10, 0, d1, d0, 6, sp1, sp0, dp1, dp0]
    }
}

/// Spreads the bits of `x`: every input bit moves about half of the output bits.
///
/// Two rounds of multiply and fold, a bijection on `u64`. Switches hash `tuple ^ seed` with it.
#[inline]
#[must_use]
pub const fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a part lands in another's place, or if an ACK's tuple is not its data's reversed.
    #[test]
    fn tuples_keep_and_reverse_their_parts() {
        let tuple = FiveTuple::new(HostId(3), HostId(9), 1024, 80);
        assert_eq!((tuple.src(), tuple.dst()), (HostId(3), HostId(9)));
        assert_eq!(tuple.reversed(), FiveTuple::new(HostId(9), HostId(3), 80, 1024));
        assert_eq!(tuple.wire_bytes(), [10, 0, 0, 3, 10, 0, 0, 9, 6, 4, 0, 0, 80]);
    }

    /// Breaks if hashing neighbouring tuples under two seeds is correlated (polarisation).
    #[test]
    fn seeds_give_independent_hashes() {
        let (mut same, n) = (0, 40_000u64);
        for i in 0..n {
            let tuple = i << 16;
            same += u64::from(mix(tuple ^ 17) % 8 == mix(tuple ^ 91) % 8);
        }
        // Binomial(n, 1/8): mean 5000, standard deviation 66; five of them.
        assert!((4_670..=5_330).contains(&same), "{same} of {n} agree, 5000 expected");
    }
}
