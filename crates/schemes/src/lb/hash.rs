//! The hash of a flow, and what several balancers make of it.

use crate::Paths;
use leafspine_core::{PacketMeta, PortId, mix};

/// The flow's hash at a switch: five-tuple and entropy tag under the switch's own seed. With one
/// seed for all, the flows that meet at a second switch would all hash alike (polarisation).
#[inline]
pub(crate) fn flow_hash(packet: &PacketMeta, seed: u64) -> u64 {
    mix(packet.entropy() ^ seed)
}

/// Maps a hash evenly to `0..n`: the hash space is cut into `n` equal regions (RFC 2992,
/// hash-threshold), by a multiplication instead of a division.
#[inline]
pub(crate) fn region(hash: u64, n: usize) -> usize {
    ((u128::from(hash) * n as u128) >> 64) as usize
}

/// The port that the flow's hash gives: ECMP's choice.
#[inline]
pub(crate) fn by_hash(packet: &PacketMeta, paths: &Paths<'_>, seed: u64) -> PortId {
    paths.ports[region(flow_hash(packet, seed), paths.ports.len())]
}

/// A balancer that is nothing but ECMP: switches keep it by value, which saves a virtual
/// call for each packet.
#[derive(Clone, Copy, Debug)]
pub struct FlowHash {
    pub(crate) seed: u64,
}

impl FlowHash {
    /// What the balancer's own `pick` would say.
    #[inline]
    #[must_use]
    pub fn pick(self, packet: &PacketMeta, paths: &Paths<'_>) -> PortId {
        by_hash(packet, paths, self.seed)
    }
}
