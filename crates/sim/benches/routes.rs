//! Routes: what a link that goes down costs.

use crate::common::base;
use criterion::Criterion;
use leafspine_fabric::{Graph, LinkState, Routes, TopologyKind};
use std::hint::black_box;

/// The state of all links when only `link` is down.
fn without(graph: &Graph, link: &str) -> Vec<LinkState> {
    let index = graph.links.iter().position(|other| other.name == link).expect("a link");
    let mut state = LinkState::initial(graph);
    state[index].up = false;
    state
}

/// `routes/fat-tree-8-link-down`: us to recompute all next hops of a fat-tree of 8-port switches (80
/// switches, 128 hosts, 256 links between switches) when a link goes down. Links take turns, one
/// between edge and aggregation, one between aggregation and core: each goes down as the other comes
/// up.
///
/// Once per link change, never per packet: it counts in runs whose links flap. It grows with
/// switches with hosts times links. Should links ever be recomputed one by one, expect a fall by
/// more than ten.
pub(crate) fn bench(criterion: &mut Criterion) {
    let mut spec = base().topology;
    spec.kind = TopologyKind::FatTree { k: 8 };
    let graph = Graph::build(&spec).expect("a fabric");
    let states = [without(&graph, "edge0-agg0"), without(&graph, "agg0-core0")];
    let mut group = criterion.benchmark_group("routes");
    group.bench_function("fat-tree-8-link-down", |bencher| {
        let mut routes = Routes::new(&graph);
        let mut turn = 0;
        bencher.iter(|| {
            turn ^= 1;
            let recomputed = routes.update(&graph, &states[turn]);
            assert!(black_box(recomputed), "a link has changed");
        });
    });
    group.finish();
}
