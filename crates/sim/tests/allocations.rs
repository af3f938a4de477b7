//! Memory: nothing is allocated once a run has warmed up, and a flow that waits or has finished
//! costs its result row and nothing else.

mod common;
#[path = "common/counting.rs"]
mod counting;

use common::*;

/// Breaks if anything on the way of a packet, or of a flow, allocates: ten times the flows may cost
/// only the few doublings of the result columns and of queues that find a new longest length.
/// And breaks if a waiting or finished flow keeps more than 300 bytes beyond its result row.
///
/// One test, because the allocator's counts are the process's.
#[test]
fn memory() {
    // HULA sends whatever comes within a probe period one way; at a load of 0.5 that loses packets, and
    // each loss grows a transport's lists.
    let others = ["ecmp", "rps", "letflow", "drb", "conga", "drill"].map(|name| (name, 0.5));
    for (balancer, load) in others.into_iter().chain([("hula", 0.3)]) {
        let flows = |n| {
            let mut spec = base();
            spec.balancer = scheme(balancer);
            spec.workloads = vec![fixed_flows(n, 30_000, load)];
            spec
        };
        let cost = |n| counting::cost(|| run(&flows(n)));
        let (few, many) = (cost(2_000), cost(20_000));
        let more = many.allocations.saturating_sub(few.allocations);
        assert!(more < 400, "{balancer}: {more} allocations for 18,000 more flows");
        // The result row of a flow is 70 bytes in 14 columns, and columns double.
        let per_flow = (many.peak - few.peak) as f64 / 18_000.0;
        println!("{balancer}: {more} more allocations, {per_flow:.0} bytes a flow");
        assert!(per_flow < 70.0 * 3.0 + 300.0, "{balancer}: {per_flow} bytes a flow");
    }
}
