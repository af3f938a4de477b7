//! Balancers that look at queues, at links, or at the whole way.

use super::common::*;
use super::{numbers, probe, two_leaves, uplink_packets};
use leafspine_core::{Rate, Span, Time};
use leafspine_schemes::{Amount, Value};
use leafspine_sim::Output;
use leafspine_sim::spec::*;

const SPINES: u32 = 4;

/// From all hosts of leaf 0 to all of leaf 1.
fn across(flows: WorkloadSpec) -> WorkloadSpec {
    WorkloadSpec {
        senders: HostSet::Under("leaf0".to_owned()),
        receivers: HostSet::Under("leaf1".to_owned()),
        ..flows
    }
}

/// Flows from leaf 0, 40 hosts of 1 Gb/s, over four spines. Leaf 0's uplinks have 10 Gb/s each, but
/// spine 1's link to leaf 1 only 2.5. Returns spine 1's share of packets and the mean FCT in us.
fn slow_far_away(balancer: &str, seed: u64) -> (f64, f64) {
    const FLOWS: u64 = 3_000;
    let mut spec = two_leaves(40, SPINES);
    spec.topology.host_link.rate = Rate::from_gbps(1);
    spec.balancer = scheme(balancer);
    spec.run.seed = seed;
    spec.measure.window = Window::Arrivals;
    let rate = Some(Rate::from_mbps(2_500));
    spec.changes = vec![LinkChange { rate, ..change("leaf1-spine1", Span::ZERO) }];
    spec.workloads = vec![across(fixed_flows(FLOWS, 150_000, 0.3))];
    let output = run(&spec);
    let packets = uplink_packets(&output, SPINES);
    let share = packets[1] as f64 / packets.iter().sum::<u64>() as f64;
    let fct: f64 = output.flows.fct_ps.iter().map(|fct| *fct as f64).sum();
    (share, fct / FLOWS as f64 / 1e6)
}

/// Breaks if what is known of a link that the leaf cannot see does not reach it. Every fourth packet
/// to a link of 2.5 Gb/s is 3 Gb/s at load 0.3 of 40 Gb/s: RPS overloads it, and since every flow has
/// packets there, all suffer. Where all links are used alike spine 1 gets 2.5 of 32.5 Gb/s, a thirteenth.
/// CONGA prefers emptier links to fuller ones, so less than that; HULA sends all that comes in a probe
/// period to one spine, two flows of 1 Gb/s, before it hears what that does to a link of 2.5: more, but
/// well below the quarter. Three seeds: 0.035 to 0.048 and 0.136 to 0.139.
#[test]
fn conga_and_hula_avoid_a_slow_link_far_away_and_rps_does_not() {
    for seed in 1..=3 {
        let [rps, conga, hula] = ["rps", "conga", "hula"].map(|name| slow_far_away(name, seed));
        println!("seed {seed}: RPS {rps:?}, CONGA {conga:?}, HULA {hula:?}");
        // 350,000 packets draw one of four: standard deviation 0.0007; five of them.
        assert!((rps.0 - 0.25).abs() < 0.0037, "{}", rps.0);
        assert!(conga.0 < 1.0 / 13.0, "{}", conga.0);
        assert!(hula.0 < 0.17, "{}", hula.0);
        assert!(rps.1 > 5.0 * conga.1 && rps.1 > 5.0 * hula.1);
    }
}

/// The variance over leaf 0's uplinks of the bytes that wait there, mean of all samples.
fn variance_of_queues(balancer: SchemeSpec, load: f64, seed: u64) -> f64 {
    let mut spec = two_leaves(8, SPINES);
    spec.balancer = balancer;
    spec.run.seed = seed;
    spec.switch.buffer = Amount::Packets(10_000);
    spec.workloads = vec![across(fixed_flows(600, 100_000, load))];
    spec.probes = vec![probe(ProbeKind::Queue, "leaf0-spine*", Span::from_micros(2))];
    let output = run(&spec);
    let bytes = numbers(&output.probes[0], "bytes");
    let variance = |at: &[u64]| {
        let mean = at.iter().sum::<u64>() as f64 / at.len() as f64;
        at.iter().map(|bytes| (*bytes as f64 - mean).powi(2)).sum::<f64>() / at.len() as f64
    };
    let samples = bytes.chunks(SPINES as usize);
    let count = samples.len() as f64;
    samples.map(variance).sum::<f64>() / count
}

/// Breaks if DRILL does not look at queues or remembers the wrong ones. Packets that draw a port make
/// queues that know nothing of each other and differ as the square root of what has come; the
/// shorter of two keeps them within a few packets (power of two choices). The same flows, so the same
/// load; measured: a thirtieth at load 0.5 and a hundredth at 0.8. A tenth is required.
#[test]
fn drill_keeps_queues_alike_and_rps_does_not() {
    for (load, seed) in [(0.5, 1), (0.5, 2), (0.8, 1), (0.8, 2)] {
        let [rps, drill] =
            ["rps", "drill"].map(|name| variance_of_queues(scheme(name), load, seed));
        println!("load {load}, seed {seed}: variance {rps:.0} with RPS, {drill:.0} with DRILL");
        assert!(drill < rps / 10.0, "load {load}: {drill} for {rps}");
    }
}

/// Breaks if a clone delay leaves DRILL's knowledge as fresh as it was: told 50 us late (40 packets'
/// time) it sends packet after packet to the queue that was the shortest, and its queues are less alike
/// than those of packets that draw a port. Measured: 27 to 65 times the variance of RPS; ten are required.
#[test]
fn drill_told_late_is_worse_than_chance() {
    for (load, seed) in [(0.5, 1), (0.8, 1), (0.8, 2)] {
        let late = scheme_with("drill", "clone_delay", Value::Span(Span::from_micros(50)));
        let [rps, late] = [scheme("rps"), late].map(|b| variance_of_queues(b, load, seed));
        println!("load {load}, seed {seed}: variance {rps:.0} with RPS, {late:.0} with late DRILL");
        assert!(late > 10.0 * rps, "load {load}: {late} for {rps}");
    }
}

/// HULA's probes alone: one flow within a rack, 20 ms long, so that nothing but probes is on the
/// fabric's links.
fn probes_alone(kind: TopologyKind) -> Output {
    let mut spec = base();
    spec.topology.kind = kind;
    spec.balancer = scheme("hula");
    spec.measure.window = Window::All;
    let mut last = long_flows(1, 1, hosts(&[0]), hosts(&[1]));
    last.start = Time(Span::from_millis(20).0);
    spec.workloads = vec![last];
    run(&spec)
}

/// Checks that each port of a switch `from` towards a switch `to` has carried the probes of `tors` ToRs. 64 bytes
/// every 200 us are 320 KB/s a ToR, or 100 probes in 20 ms; a ToR begins within its first period,
/// so one more or one less each.
fn assert_probes(output: &Output, from: &str, to: &str, tors: u64) {
    let middle = format!("-{to}");
    let ports =
        output.ports.iter().filter(|p| p.name.starts_with(from) && p.name.contains(&middle));
    let mut checked = 0;
    for port in ports {
        let expected = tors * 64 * 20_000 / 200;
        assert_eq!(port.bytes, 64 * port.packets);
        assert!(port.bytes.abs_diff(expected) <= 64 * tors, "{}: {} bytes", port.name, port.bytes);
        checked += 1;
    }
    assert!(checked > 3, "{from}-{to}");
}

/// Breaks if a link carries more or fewer probes than one a ToR and period (§3.5): up from a leaf only
/// its own, down from a spine those of all other leaves, whatever the number of parallel links by
/// which a spine hears of them.
#[test]
fn hulas_probes_cost_what_they_must() {
    for links_per_pair in [1, 2] {
        let kind =
            TopologyKind::LeafSpine { leaves: 5, spines: 3, hosts_per_leaf: 2, links_per_pair };
        let output = probes_alone(kind);
        assert_probes(&output, "leaf", "spine", 1);
        assert_probes(&output, "spine", "leaf", 4);
        assert_eq!(output.counters.dropped, [0; 4]);
    }
}

/// Breaks if probes in a fat-tree go round, or do not go everywhere. With k = 4, eight edge switches, two
/// a pod. Edge to aggregation: its own. Aggregation to edge: the pod's other and the six of other pods,
/// once each though two cores tell of them. Aggregation to core: the pod's two. Core to aggregation: six.
#[test]
fn hulas_probes_cost_what_they_must_in_a_fat_tree() {
    let output = probes_alone(TopologyKind::FatTree { k: 4 });
    assert_probes(&output, "edge", "agg", 1);
    assert_probes(&output, "agg", "edge", 7);
    assert_probes(&output, "agg", "core", 2);
    assert_probes(&output, "core", "agg", 6);
}

/// Breaks if a balancer leaves ways unused where there are three tiers or parallel links: every link
/// between the upper two tiers, and each of two parallel links, must carry a tenth of its even share.
#[test]
fn all_ways_are_used_in_fat_trees_and_over_parallel_links() {
    let parallel =
        TopologyKind::LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 8, links_per_pair: 2 };
    let kinds = [(TopologyKind::FatTree { k: 4 }, "agg", "core"), (parallel, "spine", "leaf")];
    for balancer in ["conga", "hula", "drill"] {
        for (kind, from, to) in &kinds {
            let mut spec = base();
            spec.topology.kind = kind.clone();
            spec.balancer = scheme(balancer);
            spec.measure.window = Window::All;
            spec.workloads = vec![fixed_flows(600, 100_000, 0.5)];
            let output = run(&spec);
            let middle = format!("-{to}");
            let of_tiers =
                |p: &&leafspine_sim::PortRow| p.name.starts_with(from) && p.name.contains(&middle);
            let bytes: Vec<u64> = output.ports.iter().filter(of_tiers).map(|p| p.bytes).collect();
            let share = bytes.iter().sum::<u64>() / bytes.len() as u64;
            assert!(bytes.iter().all(|b| *b > share / 10), "{balancer}, {kind:?}: {bytes:?}");
        }
    }
}

/// Breaks if CONGA-Flow cuts flows: 13 ms are longer than any pause of a flow that loses nothing, so
/// none changes its uplink and nothing is reordered.
#[test]
fn conga_flow_does_not_cut_flows() {
    let mut spec = base();
    spec.balancer = scheme_with("conga", "gap", Value::Span(Span::from_millis(13)));
    spec.switch.buffer = Amount::Packets(10_000);
    spec.workloads = vec![fixed_flows(300, 200_000, 0.6)];
    let output = run(&spec);
    assert!(output.flows.path_changes.iter().all(|n| *n == 0));
    assert_eq!(output.counters.reordered_packets, 0);
}
