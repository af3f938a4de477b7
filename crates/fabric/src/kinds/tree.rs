//! Two tiers with one core: a leaf-spine with a single spine, under other names.

use super::{Entry, LINKS_PER_PAIR, Shape, Tier, TopologyKind, count};

pub(super) const ENTRY: Entry = Entry {
    name: "tree",
    keys: &[count("tors"), count("hosts_per_tor"), LINKS_PER_PAIR],
    hosts_key: "hosts_per_tor",
    tors: Some("switches"),
    fabric: true,
    kind: Some(|counts| TopologyKind::Tree {
        tors: counts[0],
        hosts_per_tor: counts[1],
        links_per_pair: counts[2],
    }),
};

pub(super) fn shape(tors: u32, hosts_per_tor: u32, links_per_pair: u32) -> Shape {
    Shape {
        entry: &ENTRY,
        counts: vec![tors, hosts_per_tor, links_per_pair],
        tiers: vec![
            Tier::of_hosts("tor", hosts_per_tor),
            Tier::new("core", tors, 1, links_per_pair),
        ],
    }
}
