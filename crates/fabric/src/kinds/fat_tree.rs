//! Three tiers in pods, from switches with `k` ports each.

use super::{Entry, Key, Shape, Tier, TopologyKind, count};

pub(super) const ENTRY: Entry = Entry {
    name: "fat-tree",
    keys: &[Key { range: (2, 64), even: true, ..count("k") }],
    hosts_key: "k",
    tors: None,
    fabric: true,
    kind: Some(|counts| TopologyKind::FatTree { k: counts[0] }),
};

pub(super) fn shape(k: u32) -> Shape {
    let half = k / 2;
    Shape {
        entry: &ENTRY,
        counts: vec![k],
        tiers: vec![
            Tier::of_hosts("edge", half),
            Tier::new("agg", half, half, 1),
            Tier::new("core", k, half, 1),
        ],
    }
}
