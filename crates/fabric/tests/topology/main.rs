//! Fabrics, the ways through them, their changes, and a lone flow's ideal time.

mod changes;
mod graph;
mod ideal;
mod routes;

use leafspine_core::{Rate, Span};
use leafspine_fabric::{Graph, LinkSpec, TopologyKind, TopologySpec};
use proptest::prelude::*;

/// 10 Gb/s and 1 us at hosts, 40 Gb/s and 2 us in the fabric, 500 ns in hosts, no loss.
fn spec(kind: TopologyKind) -> TopologySpec {
    let link = |gbps, us| LinkSpec {
        rate: Rate::from_gbps(gbps),
        delay: Span::from_micros(us),
        loss: 0.0,
    };
    TopologySpec {
        kind,
        host_link: link(10, 1),
        fabric_link: link(40, 2),
        host_delay: Span::from_nanos(500),
        host_jitter: Span::ZERO,
    }
}

fn build(kind: TopologyKind) -> Graph {
    Graph::build(&spec(kind)).expect("a fabric")
}

fn leaf_spine(leaves: u32, spines: u32, hosts_per_leaf: u32, links_per_pair: u32) -> TopologyKind {
    TopologyKind::LeafSpine { leaves, spines, hosts_per_leaf, links_per_pair }
}

/// Any small fabric.
fn small_kind() -> impl Strategy<Value = TopologyKind> {
    prop_oneof![
        (1u32..6).prop_map(|hosts| TopologyKind::Star { hosts }),
        (1u32..5, 1u32..5, 1u32..3, 1u32..4).prop_map(|(leaves, spines, hosts, links)| {
            leaf_spine(leaves, spines, hosts, links)
        }),
        (1u32..3).prop_map(|half| TopologyKind::FatTree { k: 2 * half }),
        (1u32..5, 1u32..3, 1u32..4).prop_map(|(tors, hosts_per_tor, links_per_pair)| {
            TopologyKind::Tree { tors, hosts_per_tor, links_per_pair }
        }),
    ]
}
