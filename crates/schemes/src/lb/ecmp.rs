//! ECMP: every packet of a flow takes the port that a hash of its headers gives.
//!
//! Source: RFC 2992 (C. Hopps, 2000), hash-threshold: a hash of the header fields that identify a flow selects
//! one of N equal regions of the hash space. Removing a port moves between
//! 1/4 and 1/2 of the flows, where modulo-N (RFC 2991) would move nearly all.
//!
//! State per switch: the hash seed, 8 bytes. Cost per packet: one hash of 8 bytes (five-tuple and
//! entropy tag), one multiplication.
//!
//! Unspecified in the source: it leaves the hash function open. Here it is two rounds of multiply
//! and fold over `five-tuple ^ seed`, the seed different at every switch, so that choices at
//! successive switches are independent.
//!
//! Provenance: RFC.

use super::hash::{FlowHash, by_hash};
use super::{Entry, LoadBalancer};
use crate::{
    Context, Demands, Footprint, Inspect, ParamError, Params, Paths, Provenance, SchemeInfo,
    SwitchEnv,
};
use leafspine_core::{PacketMeta, PortId, Time};

struct Ecmp {
    seed: u64,
}

impl LoadBalancer for Ecmp {
    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, _: &mut Context<'_>) -> PortId {
        by_hash(packet, paths, self.seed)
    }

    fn as_flow_hash(&self) -> Option<FlowHash> {
        Some(FlowHash { seed: self.seed })
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Ecmp {
    fn footprint(&self, _: Time) -> Footprint {
        Footprint { bytes: size_of::<Ecmp>() as u64, ..Footprint::default() }
    }
}

fn build(_: &Params, env: &SwitchEnv) -> Result<Box<dyn LoadBalancer>, ParamError> {
    Ok(Box::new(Ecmp { seed: env.hash_seed }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "ecmp",
        summary: "Hashes each flow to one of the equal-cost ports and keeps it there.",
        source: "RFC 2992 (hash-threshold)",
        provenance: Provenance::Rfc,
        unspecified: &[
            "The hash function is left open: a 64-bit multiply-and-fold over five-tuple and entropy \
             tag, with a seed of each switch's own.",
        ],
        params: &[],
        demands: Demands::NONE,
    },
    build,
    edge: None,
    host_aqm: None,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FakeLeaf, chi_square, control, data};
    use leafspine_core::Flags;

    fn made(leaf: &FakeLeaf) -> Box<dyn LoadBalancer> {
        build(&Params::default(), &leaf.env).unwrap()
    }

    fn choices(leaf: &mut FakeLeaf, flows: u16) -> Vec<PortId> {
        let mut ecmp = made(leaf);
        (0..flows).map(|sport| leaf.pick(&mut *ecmp, &mut data(0, 9, sport, 0))).collect()
    }

    /// Breaks if anything but the headers decides: time, size, sequence number or flags.
    #[test]
    fn a_flow_keeps_its_port() {
        let mut leaf = FakeLeaf::new(8, 8, 1);
        let mut ecmp = made(&leaf);
        let first = leaf.pick(&mut *ecmp, &mut data(0, 9, 5, 0));
        for seq in 1..100 {
            leaf.wait(leafspine_core::Span::from_millis(1));
            assert_eq!(leaf.pick(&mut *ecmp, &mut data(0, 9, 5, seq)), first);
            assert_eq!(leaf.pick(&mut *ecmp, &mut control(0, 9, 5, Flags::SYN)), first);
        }
    }

    /// Breaks if the hash favours a port: chi-square with 7 degrees of freedom, 0.1 % point 24.3.
    #[test]
    fn flows_spread_evenly() {
        let mut leaf = FakeLeaf::new(8, 8, 1);
        let mut cells = [0u64; 8];
        for port in choices(&mut leaf, 40_000) {
            cells[usize::from(port.0 - 8)] += 1;
        }
        let chi2 = chi_square(&cells, &[5_000.0; 8]);
        assert!(chi2 < 24.3, "chi-square {chi2}: {cells:?}");
    }

    /// Breaks if two switches hash alike (polarisation): agreement is Binomial(n, 1/8), mean 5000,
    /// standard deviation 66.1; five of them are allowed.
    #[test]
    fn switches_choose_independently() {
        let (mut one, mut two) = (FakeLeaf::new(8, 8, 1), FakeLeaf::new(8, 8, 2));
        let pairs = choices(&mut one, 40_000).into_iter().zip(choices(&mut two, 40_000));
        let same = pairs.filter(|(a, b)| a == b).count();
        assert!((4_670..=5_330).contains(&same), "{same} of 40000 agree");
    }

    /// Breaks if the entropy tag of a host edge does not move a flow.
    #[test]
    fn the_tag_is_hashed() {
        let mut leaf = FakeLeaf::new(8, 8, 1);
        let mut ecmp = made(&leaf);
        let ports: std::collections::BTreeSet<PortId> = (0..=255)
            .map(|tag| leaf.pick(&mut *ecmp, &mut PacketMeta { tag, ..data(0, 9, 5, 0) }))
            .collect();
        assert_eq!(ports.len(), 8, "256 tags reach every port");
    }

    /// Breaks if the regions are not those of RFC 2992: with the last of four ports gone, 1/12 +
    /// 1/6 of the flows move between the others and 1/4 lose their port, half in all.
    /// Binomial(n, 1/2): standard deviation 100; five of them.
    #[test]
    fn a_lost_port_disrupts_as_the_rfc_computes() {
        let mut leaf = FakeLeaf::new(8, 4, 1);
        let before = choices(&mut leaf, 40_000);
        leaf.live.pop();
        leaf.capacity.pop();
        let after = choices(&mut leaf, 40_000);
        let moved = before.iter().zip(&after).filter(|(b, a)| b != a).count();
        assert!((19_500..=20_500).contains(&moved), "{moved} of 40000 moved");
    }
}
