//! Two tiers: every leaf is linked to every spine.

use super::{Entry, LINKS_PER_PAIR, Shape, Tier, TopologyKind, count};

pub(super) const ENTRY: Entry = Entry {
    name: "leaf-spine",
    keys: &[count("leaves"), count("spines"), count("hosts_per_leaf"), LINKS_PER_PAIR],
    hosts_key: "hosts_per_leaf",
    tors: Some("leaves"),
    fabric: true,
    kind: Some(|counts| TopologyKind::LeafSpine {
        leaves: counts[0],
        spines: counts[1],
        hosts_per_leaf: counts[2],
        links_per_pair: counts[3],
    }),
};

pub(super) fn shape(leaves: u32, spines: u32, hosts_per_leaf: u32, links_per_pair: u32) -> Shape {
    Shape {
        entry: &ENTRY,
        counts: vec![leaves, spines, hosts_per_leaf, links_per_pair],
        tiers: vec![
            Tier::of_hosts("leaf", hosts_per_leaf),
            Tier::new("spine", leaves, spines, links_per_pair),
        ],
    }
}
