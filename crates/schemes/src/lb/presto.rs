//! Presto at the switch: flowcell n of a flow takes the n-th path after the flow's start.
//!
//! Source: He, Rozner, Agarwal, Felter, Carter, Akella, "Presto: Edge-based Load Balancing for
//! Fast Datacenter Networks", SIGCOMM 2015, §3.1 (flowcells round robin over all paths) and §3.3
//! (weights for asymmetric paths: a path appears in the round as often as it weighs). The host
//! edge [`crate::edge`] `presto` cuts the flowcells and must run beside this balancer: packets
//! without a flowcell (ACKs, SYN, FIN, or all if there is no such edge) follow the hash.
//!
//! In the paper the host names a whole path by a label (a shadow MAC). Here the packet carries the
//! number of its path, and each switch with a choice takes one digit of it: position `number mod n`
//! of its n ports, leaving `number / n` for the next. A flow thus visits all end-to-end paths in
//! turn, in fat-trees and over parallel links too.
//!
//! State per switch: the seed, 8 bytes; if weighted, a table of at most 128 slots of 2 bytes per
//! destination leaf. Cost per packet: one hash, two divisions of 32 bits.
//!
//! Unspecified in the source: where a flow's round starts. `start = "flow"` hashes the five-tuple,
//! `"source"` the sending host, so that all its flows start alike. Weights are whole numbers, exact
//! up to 128 slots and rounded by WCMP's reduction beyond. When a port goes away, the round goes on
//! over those that are left (the paper's controller prunes the path).
//!
//! Provenance: paper.

use super::hash::{by_hash, flow_hash, region};
use super::slots::Slots;
use super::{Entry, LoadBalancer};
use crate::edge::presto::{path_number, set_path_number};
use crate::{
    Context, Demands, Footprint, Inspect, Kind, Param, ParamError, Params, Paths, Provenance,
    SchemeInfo, SwitchEnv, parameters, words,
};
use leafspine_core::{PacketMeta, PortId, Time, mix};

/// Most slots of a weighted round.
const SLOTS: usize = 128;

struct Presto {
    seed: u64,
    start_by_source: bool,
    slots: Option<Slots>,
}

impl LoadBalancer for Presto {
    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, _: &mut Context<'_>) -> PortId {
        let Some(number) = path_number(packet) else {
            return by_hash(packet, paths, self.seed);
        };
        let round = match &mut self.slots {
            Some(slots) => slots.towards(paths),
            None => paths.ports,
        };
        let hash = match self.start_by_source {
            true => mix(u64::from(packet.src().0) ^ self.seed),
            false => flow_hash(packet, self.seed),
        };
        let length = round.len() as u32;
        set_path_number(packet, number / length);
        let position = region(hash, round.len()) + (number % length) as usize;
        round[if position < round.len() { position } else { position - round.len() }]
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Presto {
    fn footprint(&self, _: Time) -> Footprint {
        let table = self.slots.as_ref().map_or(0, Slots::bytes);
        Footprint { bytes: 8 + table, ..Footprint::default() }
    }
}

words! {
    enum Start {
        Flow = "flow",
        Source = "source",
    }
}

parameters! {
    struct Settings {
        start: Start = Param::new(
            Start::KIND,
            "flow",
            "What a round's first port is hashed from: the five-tuple or the source host.",
        ),
        weighted: bool = Param::new(
            Kind::Bool,
            "false",
            "Whether a port appears in the round in proportion to its path's capacity.",
        ),
    }
}

fn build(params: &Params, env: &SwitchEnv) -> Result<Box<dyn LoadBalancer>, ParamError> {
    let settings = Settings::read(params)?;
    Ok(Box::new(Presto {
        seed: env.hash_seed,
        start_by_source: settings.start == Start::Source,
        slots: settings.weighted.then(|| Slots::new(env, SLOTS, 1.0)),
    }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "presto",
        summary: "Sends a flow's 64 KiB flowcells round robin over the paths; needs the host edge \
                  of the same name.",
        source: "He et al., Presto, SIGCOMM 2015, §3.1 and §3.3",
        provenance: Provenance::Paper,
        unspecified: &[
            "Where a flow's round starts: by a hash of the five-tuple, or of the source host.",
            "Packets without payload follow the hash of ecmp.",
            "Weights are exact up to 128 slots a round, reduced as WCMP does beyond.",
            "When a port goes away, the round goes on over those that are left.",
        ],
        params: Settings::PARAMS,
        demands: Demands { header_bits: 32, header_words: 3, queues: 1 },
    },
    build,
    edge: Some("presto"),
    host_aqm: None,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use crate::edge::presto::set_cell;
    use crate::testing::{FakeLeaf, control, data};
    use leafspine_core::Flags;

    fn defaults() -> Params {
        Params::defaults(ENTRY.info.params)
    }

    fn cell(src: u16, sport: u16, number: u32) -> PacketMeta {
        let mut packet = data(src, 9, sport, 0);
        set_cell(&mut packet, number);
        packet
    }

    fn round(leaf: &mut FakeLeaf, params: &Params, cells: u32) -> Vec<u16> {
        let mut presto = build(params, &leaf.env).unwrap();
        (0..cells).map(|n| leaf.pick(&mut *presto, &mut cell(0, 5, n)).0 - 8).collect()
    }

    /// Breaks if cell n + 1 does not take the port after cell n's, round and round (§3.1).
    #[test]
    fn cells_take_the_ports_in_turn() {
        let mut leaf = FakeLeaf::new(8, 4, 1);
        let ports = round(&mut leaf, &defaults(), 40);
        for pair in ports.windows(2) {
            assert_eq!(pair[1], (pair[0] + 1) % 4, "{ports:?}");
        }
    }

    /// Breaks if packets of one cell part, or if ACKs and SYNs go round.
    #[test]
    fn a_cell_stays_together_and_control_follows_the_hash() {
        let mut leaf = FakeLeaf::new(8, 4, 1);
        let mut presto = build(&defaults(), &leaf.env).unwrap();
        let first = leaf.pick(&mut *presto, &mut cell(0, 5, 7));
        let syn = leaf.pick(&mut *presto, &mut control(0, 9, 5, Flags::SYN));
        for _ in 0..50 {
            assert_eq!(leaf.pick(&mut *presto, &mut cell(0, 5, 7)), first);
            assert_eq!(leaf.pick(&mut *presto, &mut control(0, 9, 5, Flags::SYN)), syn);
        }
    }

    /// Breaks if all flows start at one port with `start = "flow"`, or if flows of one host do not
    /// with `"source"`.
    #[test]
    fn starts_are_hashed_as_said() {
        let mut leaf = FakeLeaf::new(8, 4, 1);
        for (start, ports) in [("flow", 4), ("source", 1)] {
            let params = defaults().with("start", Value::Word(start.to_owned()));
            let mut presto = build(&params, &leaf.env).unwrap();
            let firsts: std::collections::BTreeSet<PortId> =
                (0..100).map(|f| leaf.pick(&mut *presto, &mut cell(0, f, 0))).collect();
            assert_eq!(firsts.len(), ports, "start by {start}");
        }
    }

    /// Breaks if a weighted round is not §3.3's: weights 1, 2, 1 send p1, p2, p3, p2.
    #[test]
    fn weights_repeat_ports() {
        let mut leaf = FakeLeaf::new(8, 3, 1);
        leaf.capacity = vec![5_000_000, 10_000_000, 5_000_000];
        let params = defaults().with("weighted", Value::Bool(true));
        let ports = round(&mut leaf, &params, 8);
        let doubled = [0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1];
        assert!(doubled.windows(8).any(|window| window == ports), "{ports:?}");
    }

    /// Breaks if a weighted round has more or fewer than 128 slots: weights 127 and 1 are exact, so every
    /// 128th cell takes the second port; 128 and 1 would need 129, and come round after 128 all the same.
    #[test]
    fn a_weighted_round_has_128_slots_at_most() {
        let params = defaults().with("weighted", Value::Bool(true));
        for first in [127, 128] {
            let mut leaf = FakeLeaf::new(8, 2, 1);
            leaf.capacity = vec![first, 1];
            let ports = round(&mut leaf, &params, 256);
            assert_eq!(ports[..128], ports[128..], "weights {first} and 1");
            assert_eq!(ports[..128].iter().filter(|port| **port == 1).count(), 1);
        }
    }

    /// Breaks if the state is not the seed of 8 bytes, and the tables if there are any.
    #[test]
    fn the_footprint_is_what_is_kept() {
        let leaf = FakeLeaf::new(8, 2, 1);
        for (weighted, tables) in [(false, 0), (true, Slots::new(&leaf.env, 128, 1.0).bytes())] {
            let params = defaults().with("weighted", Value::Bool(weighted));
            let presto = build(&params, &leaf.env).unwrap();
            assert_eq!(presto.inspect().footprint(Time::ZERO).bytes, 8 + tables);
        }
    }

    /// Breaks if a second switch uses the same digit as the first: a flow would then see only some
    /// of the 4 x 2 paths. Eight cells must see all eight.
    #[test]
    fn successive_switches_use_successive_digits() {
        let (mut one, mut two) = (FakeLeaf::new(8, 4, 1), FakeLeaf::new(8, 2, 2));
        let mut first = build(&defaults(), &one.env).unwrap();
        let mut second = build(&defaults(), &two.env).unwrap();
        let paths: std::collections::BTreeSet<(PortId, PortId)> = (0..8)
            .map(|n| {
                let mut packet = cell(0, 5, n);
                (one.pick(&mut *first, &mut packet), two.pick(&mut *second, &mut packet))
            })
            .collect();
        assert_eq!(paths.len(), 8, "{paths:?}");
    }
}
