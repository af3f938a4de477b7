//! Pinned: every packet takes the uplink that its trace gives, so that another simulator can be
//! handed the very same flows on the very same paths.
//!
//! Source: none; it exists for validation. At the leaf that the source host hangs on,
//! `packet.path` is the index of the uplink among the leaf's ports to switches, in port order,
//! counted modulo their number. At every other switch, and for packets without a path, the choice
//! is `ecmp`'s.
//!
//! State per switch: the seed and a bit per local host. Cost per packet: one look-up.
//!
//! Choices: an uplink that is down is replaced by the live one of index `path` modulo the number
//! of live ones, so only the flows pinned to it move.
//!
//! Provenance: ours.

use super::hash::by_hash;
use super::{Entry, LoadBalancer};
use crate::{
    Context, Demands, Footprint, Inspect, Neighbour, ParamError, Params, Paths, Provenance,
    SchemeInfo, SwitchEnv,
};
use leafspine_core::{PacketMeta, PortId, Time};

struct Pinned {
    seed: u64,
    /// Whether a host hangs on this switch, by host.
    local: Vec<bool>,
    /// Ports to switches, in order.
    uplinks: Vec<PortId>,
}

impl LoadBalancer for Pinned {
    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, _: &mut Context<'_>) -> PortId {
        let local = self.local.get(usize::from(packet.src().0)).is_some_and(|local| *local);
        if !local || packet.path == PacketMeta::NO_PATH || self.uplinks.is_empty() {
            return by_hash(packet, paths, self.seed);
        }
        let index = usize::from(packet.path);
        let wanted = self.uplinks[index % self.uplinks.len()];
        match paths.ports.contains(&wanted) {
            true => wanted,
            false => paths.ports[index % paths.ports.len()],
        }
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Pinned {
    fn footprint(&self, _: Time) -> Footprint {
        let bytes = 8 + size_of_val(&self.local[..]) + size_of_val(&self.uplinks[..]);
        Footprint { bytes: bytes as u64, ..Footprint::default() }
    }
}

fn build(_: &Params, env: &SwitchEnv) -> Result<Box<dyn LoadBalancer>, ParamError> {
    let mut local = vec![false; env.hosts as usize];
    let mut uplinks = Vec::new();
    for (number, port) in env.ports.iter().enumerate() {
        match port.neighbour {
            Neighbour::Host(host) => local[usize::from(host.0)] = true,
            Neighbour::Switch(..) => uplinks.push(PortId(number as u16)),
        }
    }
    Ok(Box::new(Pinned { seed: env.hash_seed, local, uplinks }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "pinned",
        summary: "Obeys the uplink that a trace gives each flow; hashes where there is none.",
        source: "leafspine's own, for replaying another simulator's paths",
        provenance: Provenance::Own,
        unspecified: &[
            "An uplink that is down is replaced by a live one, the path modulo their number.",
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
    use crate::testing::{FakeLeaf, data};

    fn pick(leaf: &mut FakeLeaf, src: u16, dst: u16, sport: u16, path: u16) -> PortId {
        let mut pinned = build(&Params::default(), &leaf.env).unwrap();
        leaf.pick(&mut *pinned, &mut PacketMeta { path, ..data(src, dst, sport, 0) })
    }

    /// Breaks if path n is not the n-th uplink of the source's leaf.
    #[test]
    fn the_source_leaf_obeys() {
        let mut leaf = FakeLeaf::new(8, 4, 1);
        for (path, port) in [(0, 8), (1, 9), (3, 11), (4, 8), (6, 10)] {
            assert_eq!(pick(&mut leaf, 3, 9, 1, path), PortId(port), "path {path}");
        }
    }

    /// Breaks if a path is obeyed where it has no meaning, or if no path means path 65535.
    #[test]
    fn others_hash() {
        let mut leaf = FakeLeaf::new(8, 4, 1);
        for (src, path) in [(9, 2), (3, PacketMeta::NO_PATH)] {
            let ports: std::collections::BTreeSet<PortId> =
                (0..100).map(|sport| pick(&mut leaf, src, 17, sport, path)).collect();
            assert_eq!(ports.len(), 4, "source {src}, path {path}");
        }
    }

    /// Breaks if a dead uplink is chosen, or if it moves flows that were pinned elsewhere.
    #[test]
    fn a_dead_uplink_moves_only_its_own_flows() {
        let mut leaf = FakeLeaf::new(8, 4, 1);
        leaf.live.remove(1);
        leaf.capacity.remove(1);
        let ports: Vec<u16> = (0..4).map(|path| pick(&mut leaf, 3, 9, 1, path).0).collect();
        assert_eq!(ports, [8, 10, 10, 11]);
    }
}
