//! Load balancers: one packet among eight uplinks.

use criterion::Criterion;
use leafspine_schemes::lb;
use leafspine_schemes::microbench::Balancer;
use std::hint::black_box;

/// `pick/<balancer>`: ns for one data packet of one of 1,000 flows to 48 hosts, defaults, all paths
/// live and idle, with all calls that the balancer needs. `pinned` finds its path in the packet;
/// `presto` finds its host edge's flowcell.
///
/// About 3 ns of each are the packet's copy and the choice of the flow, the same for all. A packet
/// that crosses a leaf-spine fabric makes four packet-hops, about 50 ns each, and is decided about
/// once: 10 ns more here are some 5 % of a run. `letflow` alone: its table's cache misses; all:
/// the arguments of `LoadBalancer::pick`, or the call.
pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pick");
    for entry in lb::ALL {
        let mut bench = Balancer::new(entry);
        group.bench_function(entry.info.name, |bencher| bencher.iter(|| black_box(bench.decide())));
    }
    group.finish();
}
