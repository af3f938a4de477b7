//! Memory: nothing is allocated once a run has warmed up, and a flow that waits or has finished
//! costs its result row and nothing else.

mod common;
#[path = "common/counting.rs"]
mod counting;

use common::*;
use leafspine_core::{PacketMeta, PortId, Rate, mix};
use leafspine_schemes::lb::LoadBalancer;
use leafspine_schemes::{Context, Paths, SwitchEnv};
use leafspine_sim::spec::PortModel;
use leafspine_sim::{Factories, Progress, Simulation};

/// Sends by the flow's hash; before that it may look at the lines of all ports.
struct Hashed {
    looks: bool,
}

impl LoadBalancer for Hashed {
    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        for port in paths.ports.iter().filter(|_| self.looks) {
            assert!(cx.ports.free_at(*port) >= cx.now);
        }
        paths.ports[(mix(packet.tuple.0) % paths.ports.len() as u64) as usize]
    }
}

/// Allocations of a run with real queues, and rates at which a byte takes no whole number of
/// picoseconds, whose balancers look at all lines for each packet or at none.
fn asking_when_lines_are_free(looks: bool) -> u64 {
    let mut spec = base();
    spec.run.ports = PortModel::General;
    spec.topology.fabric_link.rate = Rate::from_mbps(9_370);
    spec.workloads = vec![fixed_flows(2_000, 30_000, 0.5)];
    let run = || {
        let make = |_: &SwitchEnv| Box::new(Hashed { looks }) as Box<dyn LoadBalancer>;
        let factories = Factories { balancer: Some(Box::new(make)), ..Factories::default() };
        let run = Simulation::with(&spec, &factories).expect("a valid spec");
        run.run(&Progress::default()).expect("it ends")
    };
    counting::cost(run).allocations
}

/// Breaks if anything on the way of a packet, or of a flow, allocates: ten times the flows may cost
/// only the few doublings of the result columns and of queues that find a new longest length. Likewise
/// if a scheme's look at a line does.
/// And breaks if a waiting or finished flow keeps more than 300 bytes beyond its result row.
///
/// One test, because the allocator's counts are the process's.
#[test]
fn memory() {
    // HULA sends whatever comes within a probe period one way; at a load of 0.5 that loses packets, and
    // each loss grows a transport's lists.
    let others = ["ecmp", "rps", "letflow", "ars", "drb", "conga", "drill"].map(|name| (name, 0.5));
    for (balancer, load) in others.into_iter().chain([("hula", 0.3)]) {
        let flows = |n| {
            let mut spec = base();
            spec.balancer = scheme(balancer);
            spec.workloads = vec![fixed_flows(n, 30_000, load)];
            spec
        };
        let cost = |n| counting::cost(|| run_once(&flows(n), &Factories::default()));
        let (few, many) = (cost(2_000), cost(20_000));
        let more = many.allocations.saturating_sub(few.allocations);
        // Each host's lists of flows and each link's ring double a few times, too.
        assert!(more < 600, "{balancer}: {more} allocations for 18,000 more flows");
        // The result row of a flow is 70 bytes in 14 columns, and columns double.
        let per_flow = (many.peak - few.peak) as f64 / 18_000.0;
        println!("{balancer}: {more} more allocations, {per_flow:.0} bytes a flow");
        assert!(per_flow < 70.0 * 3.0 + 300.0, "{balancer}: {per_flow} bytes a flow");
    }
    let (looking, not) = (asking_when_lines_are_free(true), asking_when_lines_are_free(false));
    assert_eq!(looking, not, "looking at lines allocates");
}
