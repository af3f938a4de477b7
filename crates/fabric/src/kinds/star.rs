//! One switch and its hosts.

use super::{Entry, Shape, Tier, TopologyKind, count};

pub(super) const ENTRY: Entry = Entry {
    name: "star",
    keys: &[count("hosts")],
    hosts_key: "hosts",
    tors: None,
    fabric: false,
    kind: Some(|counts| TopologyKind::Star { hosts: counts[0] }),
};

pub(super) fn shape(hosts: u32) -> Shape {
    Shape { entry: &ENTRY, counts: vec![hosts], tiers: vec![Tier::of_hosts("switch", hosts)] }
}
