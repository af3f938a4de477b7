//! Fabrics, the ways through them, their changes, and a lone flow's ideal time.

mod changes;
mod clos;
mod graph;
mod ideal;
mod kinds;
mod routes;
mod wiring;

use leafspine_core::{Rate, Span};
use leafspine_fabric::kinds::{ALL, Key};
use leafspine_fabric::{Graph, LinkSpec, TopologyKind, TopologySpec};
use proptest::prelude::*;
use proptest::sample::select;

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

/// Any small fabric of any kind that is made from counts.
fn counted_kind() -> impl Strategy<Value = TopologyKind> {
    let counted =
        ALL.iter().filter_map(|entry| Some((entry.keys, entry.kind?))).collect::<Vec<_>>();
    (select(counted), proptest::array::uniform8(0u32..4)).prop_map(|((keys, kind), drawn)| {
        let count = |(key, more): (&Key, u32)| match key.even {
            true => key.range.0 + more % 2 * 2,
            false => key.range.0 + more,
        };
        let counts: Vec<u32> = keys.iter().zip(drawn).map(count).collect();
        kind(&counts)
    })
}

/// Any small fabric of any kind.
fn small_kind() -> impl Strategy<Value = TopologyKind> {
    prop_oneof![4 => counted_kind(), 2 => clos::small_clos(), 2 => wiring::small_wiring()]
}
