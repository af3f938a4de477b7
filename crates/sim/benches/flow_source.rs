//! The flow source: how fast flows are made.

use crate::workload_common::{at_load, leaf_spine, source, workload};
use criterion::{Criterion, Throughput};
use leafspine_sim::spec::{LoadBasis, Pattern, WorkloadSpec};
use leafspine_sim::workload::named;
use std::hint::black_box;

/// `flow-source/poisson-web-search`: flows per second (and ns per flow) of one Poisson workload with
/// web-search sizes between the leaves of a fabric of 128 hosts, load 0.6.
///
/// A flow is an exponential, a pair of hosts and a size by interpolation. A mean web-search flow
/// makes some 9,000 packet-hops, so this is nothing to such a run; in one of flows of a packet or two
/// it is comparable with the transport. A change here means another way to draw; if the flows
/// themselves have changed, tests say so.
pub(crate) fn bench(criterion: &mut Criterion) {
    let spec = WorkloadSpec {
        sizes: named("web-search").expect("ships"),
        pattern: Pattern::InterLeaf,
        ..workload(at_load(0.6, LoadBasis::Fabric, 1 << 40))
    };
    let mut group = criterion.benchmark_group("flow-source");
    group.throughput(Throughput::Elements(1));
    group.bench_function("poisson-web-search", |bencher| {
        let mut flows = source(std::slice::from_ref(&spec), &leaf_spine(8, 8, 16), 1);
        bencher.iter(|| black_box(flows.next().expect("no trace").expect("flows are left")));
    });
    group.finish();
}
