//! Two tiers: every leaf is linked to every spine.

use super::{Entry, LINKS_PER_PAIR, Shape, Tier, TopologyKind, count};

pub(super) const ENTRY: Entry = Entry {
    name: "leaf-spine",
    keys: &[count("leaves"), count("spines"), count("hosts_per_leaf"), LINKS_PER_PAIR],
    hosts_key: "hosts_per_leaf",
    tors: Some("leaves"),
    fabric: true,
    kind: |counts| TopologyKind::LeafSpine {
        leaves: counts[0],
        spines: counts[1],
        hosts_per_leaf: counts[2],
        links_per_pair: counts[3],
    },
};

pub(super) fn shape(leaves: u32, spines: u32, hosts_per_leaf: u32, links_per_pair: u32) -> Shape {
    let (lower, upper) = (u64::from(leaves), u64::from(spines));
    let parallel = u64::from(links_per_pair);
    let leaf_ports = (upper * parallel).saturating_add(u64::from(hosts_per_leaf));
    Shape {
        entry: &ENTRY,
        counts: vec![leaves, spines, hosts_per_leaf, links_per_pair],
        tiers: vec![Tier { name: "leaf", count: lower }, Tier { name: "spine", count: upper }],
        hosts_per_tor: hosts_per_leaf,
        links_per_pair,
        most_ports: leaf_ports.max(lower * parallel),
        farthest: if leaves == 1 { 0 } else { 2 },
        pairs: lower * upper,
        wiring: Box::new(
            (0..lower).flat_map(move |leaf| (0..upper).map(move |spine| (leaf, lower + spine))),
        ),
        note: "",
    }
}
