//! Three tiers in pods, from switches with `k` ports each.

use super::{Entry, Key, Shape, Tier, TopologyKind, count};

pub(super) const ENTRY: Entry = Entry {
    name: "fat-tree",
    keys: &[Key { range: (2, 64), even: true, ..count("k") }],
    hosts_key: "k",
    tors: None,
    fabric: true,
    kind: |counts| TopologyKind::FatTree { k: counts[0] },
};

pub(super) fn shape(k: u32) -> Shape {
    let ports = u64::from(k);
    let (half, edges) = (ports / 2, ports * ports / 2);
    let tier = |name, count| Tier { name, count };
    Shape {
        entry: &ENTRY,
        counts: vec![k],
        tiers: vec![tier("edge", edges), tier("agg", edges), tier("core", ports * ports / 4)],
        hosts_per_tor: k / 2,
        links_per_pair: 1,
        most_ports: ports,
        // Up to a core and down again: there are always two pods.
        farthest: 4,
        pairs: edges.saturating_mul(half).saturating_mul(2),
        wiring: Box::new(in_pods(edges, half).chain(to_cores(edges, half))),
        note: ", edge to agg within a pod",
    }
}

/// Every edge switch to the aggregation switches of its pod.
fn in_pods(edges: u64, half: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..edges).flat_map(move |edge| {
        let first = edges + edge / half * half;
        (0..half).map(move |j| (edge, first + j))
    })
}

/// Every aggregation switch to the cores of its place in the pod.
fn to_cores(edges: u64, half: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..edges).flat_map(move |agg| {
        let first = 2 * edges + agg % half * half;
        (0..half).map(move |core| (edges + agg, first + core))
    })
}
