//! One switch and its hosts.

use super::{Entry, Shape, Tier, TopologyKind, count};

pub(super) const ENTRY: Entry = Entry {
    name: "star",
    keys: &[count("hosts")],
    hosts_key: "hosts",
    tors: None,
    fabric: false,
    kind: |counts| TopologyKind::Star { hosts: counts[0] },
};

pub(super) fn shape(hosts: u32) -> Shape {
    Shape {
        entry: &ENTRY,
        counts: vec![hosts],
        tiers: vec![Tier { name: "switch", count: 1 }],
        hosts_per_tor: hosts,
        links_per_pair: 1,
        most_ports: u64::from(hosts),
        farthest: 0,
        pairs: 0,
        wiring: Box::new(std::iter::empty()),
        note: "",
    }
}
