//! Where each balancer sends its packets.

use super::common::*;
use super::{two_leaves, uplink_packets};
use leafspine_core::{Rate, Span};
use leafspine_schemes::{Amount, Value};
use leafspine_sim::Output;
use leafspine_sim::spec::*;

const SPINES: u32 = 4;

/// One flow of 7,000 segments from leaf 0 to leaf 1. Only data and the SYN use leaf 0's uplinks.
fn one_long_flow(balancer: SchemeSpec) -> Output {
    let mut spec = two_leaves(1, SPINES);
    spec.balancer = balancer;
    spec.workloads = vec![long_flows(1, 7_000 * 1460, hosts(&[0]), hosts(&[1]))];
    let output = run(&spec);
    assert_eq!(output.flows.retransmits, [0], "7,001 packets, each sent once");
    output
}

/// Breaks if ECMP looks at anything but the flow: one flow has one five-tuple, so one uplink.
#[test]
fn ecmp_keeps_a_flow_on_one_uplink() {
    let mut packets = uplink_packets(&one_long_flow(scheme("ecmp")), SPINES);
    packets.sort_unstable();
    assert_eq!(packets, [0, 0, 0, 7_001]);
}

/// Breaks if RPS favours an uplink: each packet draws one of four, Binomial(7,001, 1/4), mean 1750
/// and standard deviation 36.2; four of them.
#[test]
fn rps_spreads_a_flow_evenly() {
    for packets in uplink_packets(&one_long_flow(scheme("rps")), SPINES) {
        assert!(packets.abs_diff(1750) < 145, "{packets}");
    }
}

/// Breaks if a packet scheme does not use all of several equal paths for one long flow: all queues are
/// alike, so every choice by their lengths is a draw, and an even share is a quarter.
#[test]
fn packet_schemes_spread_one_flow_over_all_paths() {
    for name in ["rps", "drb", "drill", "qall", "qdaps"] {
        let packets = uplink_packets(&one_long_flow(scheme(name)), SPINES);
        assert!(packets.iter().all(|n| *n > 7_001 / 5), "{name}: {packets:?}");
    }
}

/// Breaks if DRB skips or repeats an uplink: with one destination there is one round, so the
/// uplinks' counts differ by one at most.
#[test]
fn drb_spreads_a_flow_exactly() {
    let mut packets = uplink_packets(&one_long_flow(scheme("drb")), SPINES);
    packets.sort_unstable();
    assert_eq!(packets, [1_750, 1_750, 1_750, 1_751]);
}

/// Breaks if rounds of different destinations disturb each other: a leaf has a round for each of
/// the 12 hosts elsewhere, each of which gives two uplinks counts that differ by one at most.
#[test]
fn drb_counts_differ_by_at_most_the_destinations() {
    let mut spec = base();
    spec.balancer = scheme("drb");
    spec.switch.buffer = Amount::Packets(10_000);
    spec.measure.window = Window::All;
    let output = run(&spec);
    assert_eq!(output.counters.dropped, [0; 4], "ports count what they accept");
    for leaf in 0..4 {
        let name = |spine| format!("leaf{leaf}-spine{spine}");
        let packets = (0..4).map(|spine| port(&output, &name(spine)).packets);
        let (least, most) = packets.fold((u64::MAX, 0), |(a, b), p| (a.min(p), b.max(p)));
        assert!(least > 1_000 && most - least <= 12, "leaf {leaf}: {least} to {most}");
    }
}

/// `flows` flows of ten segments from leaf 0 to leaf 1: eleven packets each on one of the uplinks.
fn many_flows(balancer: &str, flows: u64, changes: Vec<LinkChange>) -> Vec<u64> {
    let mut spec = two_leaves(4, SPINES);
    spec.balancer = scheme(balancer);
    spec.switch.buffer = Amount::Packets(10_000);
    spec.changes = changes;
    spec.workloads = vec![WorkloadSpec {
        senders: HostSet::Under("leaf0".to_owned()),
        receivers: HostSet::Under("leaf1".to_owned()),
        ..fixed_flows(flows, 14_600, 0.3)
    }];
    let output = run(&spec);
    assert!(output.flows.retransmits.iter().all(|n| *n == 0));
    let packets = uplink_packets(&output, SPINES);
    assert!(packets.iter().all(|n| n % 11 == 0), "flows stay on an uplink: {packets:?}");
    packets.into_iter().map(|n| n / 11).collect()
}

/// Breaks if ECMP's hash is uneven: 1,000 flows draw one of four uplinks each; chi-square with 3
/// degrees of freedom, 0.1 % point 16.3.
#[test]
fn ecmp_spreads_flows() {
    let flows = many_flows("ecmp", 1_000, Vec::new());
    let chi2: f64 = flows.iter().map(|n| (*n as f64 - 250.0).powi(2) / 250.0).sum();
    assert!(chi2 < 16.3, "chi-square {chi2}: {flows:?}");
}

/// Breaks if WCMP does not follow a link's capacity, or ECMP does: one uplink of four has 2.5 Gb/s,
/// the others 10, so it gets 1/13 of 1,000 flows from the one (standard deviation 8.4) and 1/4 from
/// the other (13.7); four of them.
#[test]
fn wcmp_follows_capacity_and_ecmp_does_not() {
    let slow = || {
        let rate = Some(Rate::from_mbps(2_500));
        vec![LinkChange { rate, ..change("leaf0-spine1", Span::ZERO) }]
    };
    for (balancer, expected, deviation) in [("wcmp", 76.9, 8.4), ("ecmp", 250.0, 13.7)] {
        let flows = many_flows(balancer, 1_000, slow());
        let off = (flows[1] as f64 - expected).abs();
        assert!(off < 4.0 * deviation, "{balancer}: {flows:?}");
    }
}

/// Breaks if packets of one path overtake each other, or if spraying over unequal queues does not
/// reorder: a FIFO path keeps order whatever is lost on it, so per-flow hashing gives exactly none.
#[test]
fn spraying_reorders_and_hashing_never_does() {
    let reordered = |balancer: &str| {
        let mut spec = base();
        spec.balancer = scheme(balancer);
        // Small enough to lose packets: retransmissions are not reordering.
        spec.switch.buffer = Amount::Packets(30);
        let output = run(&spec);
        assert!(output.counters.dropped[0] > 0);
        (output.counters.reordered_packets, output.counters.data_packets)
    };
    for balancer in ["ecmp", "wcmp"] {
        assert_eq!(reordered(balancer).0, 0, "{balancer}");
    }
    for balancer in ["rps", "drb"] {
        let (reordered, data) = reordered(balancer);
        assert!(reordered * 50 > data, "{balancer}: {reordered} of {data}");
    }
}

fn letflow(gap: Span) -> SchemeSpec {
    scheme_with("letflow", "gap", Value::Span(gap))
}

/// Breaks if LetFlow cuts a flow that has not paused: no pause is longer than the run, so a gap of
/// ten seconds is per-flow routing.
#[test]
fn letflow_with_a_long_gap_routes_flows() {
    let mut spec = base();
    spec.balancer = letflow(Span::from_millis(10_000));
    let output = run(&spec);
    assert!(output.flows.path_changes.iter().all(|n| *n == 0));
    assert_eq!(output.counters.reordered_packets, 0);
}

/// Breaks if a gap shorter than any between two packets does not make each a flowlet: packets come
/// 1.2 us apart at least, so with 1 ns each of the 6,999 steps changes its uplink with 3/4: mean
/// 5249, standard deviation 36.2; four of them.
#[test]
fn letflow_with_a_tiny_gap_routes_packets() {
    let output = one_long_flow(letflow(Span::from_nanos(1)));
    let changes = output.flows.path_changes[0];
    assert!(changes.abs_diff(5_249) < 145, "{changes}");
}

/// Breaks if flowcells are not 64 KiB, or not in turn: 44 segments of 1460 bytes fit into 65,536, so
/// 7,000 segments are 160 cells, 159 changes, 40 cells an uplink (the last has 4 segments; the SYN
/// takes one of the uplinks, too).
#[test]
fn presto_changes_the_uplink_every_flowcell() {
    let mut spec = two_leaves(1, SPINES);
    spec.balancer = scheme("presto");
    spec.edge = Some(edge("presto"));
    spec.workloads = vec![long_flows(1, 7_000 * 1460, hosts(&[0]), hosts(&[1]))];
    let output = run(&spec);
    assert_eq!((output.flows.retransmits[0], output.flows.path_changes[0]), (0, 159));
    let mut packets = uplink_packets(&output, SPINES);
    packets.sort_unstable();
    assert_eq!(packets.iter().sum::<u64>(), 7_001);
    assert!(packets[0] >= 39 * 44 + 4 && packets[0] <= 39 * 44 + 5, "{packets:?}");
    assert!(packets[1..].iter().all(|n| *n == 1760 || *n == 1761), "{packets:?}");
}

/// Breaks if a fat-tree's aggregation switches do not choose for themselves, or if a core is on no
/// way: between pods RPS sprays over the edges' and the aggregation switches' uplinks alike, so
/// each of the 16 links to the cores carries about 1/16 (200 flows, well over 500 packets each way).
#[test]
fn rps_uses_every_core_of_a_fat_tree() {
    let mut spec = base();
    spec.topology.kind = TopologyKind::FatTree { k: 4 };
    spec.balancer = scheme("rps");
    spec.measure.window = Window::All;
    // Pods are pairs of edge switches: hosts 0 to 3 send to the other three pods.
    let other: Vec<u16> = (4..16).collect();
    spec.workloads = vec![long_flows(200, 73_000, hosts(&[0, 1, 2, 3]), hosts(&other))];
    let output = run(&spec);
    let up = output.ports.iter().filter(|p| p.name.starts_with("agg") && p.name.contains("-core"));
    let from_pod_0 = up.filter(|p| p.name.starts_with("agg0-") || p.name.starts_with("agg1-"));
    let packets: Vec<u64> = from_pod_0.map(|p| p.packets).collect();
    let mean = packets.iter().sum::<u64>() as f64 / 4.0;
    assert_eq!(packets.len(), 4);
    // Binomial over four: standard deviation sqrt(3/4 mean); four of them.
    for n in &packets {
        assert!((*n as f64 - mean).abs() < 4.0 * (0.75 * mean).sqrt(), "{packets:?}");
    }
    let down = output.ports.iter().filter(|p| p.name.starts_with("core"));
    assert!(down.clone().count() == 16 && down.into_iter().all(|p| p.packets > 500));
}

/// Packets at the four uplinks of pod 0's aggregation switches, of 200 flows under ECMP.
fn agg_uplinks(one_hash: bool) -> Vec<u64> {
    let mut spec = base();
    spec.topology.kind = TopologyKind::FatTree { k: 4 };
    spec.balancer = scheme("ecmp");
    spec.switch.one_hash = one_hash;
    spec.measure.window = Window::All;
    let other: Vec<u16> = (4..16).collect();
    spec.workloads = vec![long_flows(200, 73_000, hosts(&[0, 1, 2, 3]), hosts(&other))];
    let output = run(&spec);
    let up = output.ports.iter().filter(|p| {
        (p.name.starts_with("agg0-") || p.name.starts_with("agg1-")) && p.name.contains("-core")
    });
    up.map(|p| p.packets).collect()
}

/// Breaks if switches that hash with one seed do not polarise: an aggregation switch gets only flows whose
/// hash lies in one half, so that it chooses among its own uplinks as the edge has chosen, and half of
/// them stay idle. With a seed each, all are used.
#[test]
fn one_hash_seed_polarises_a_fat_tree() {
    let each = agg_uplinks(false);
    assert!(each.len() == 4 && each.iter().all(|packets| *packets > 500), "{each:?}");
    let one = agg_uplinks(true);
    assert_eq!(one.iter().filter(|packets| **packets == 0).count(), 2, "{one:?}");
    assert_eq!(one.iter().sum::<u64>(), each.iter().sum::<u64>(), "{one:?} and {each:?}");
}

/// Breaks if flows of a pair of hosts do not share its source ports: with one they all hash to one uplink, with
/// two to at most two, and each with its own to all four.
#[test]
fn source_ports_are_what_ecmp_can_tell_apart() {
    let used = |source_ports| {
        let mut spec = two_leaves(1, SPINES);
        spec.transport.source_ports = source_ports;
        spec.measure.window = Window::All;
        spec.workloads = vec![long_flows(100, 14_600, hosts(&[0]), hosts(&[1]))];
        let output = run(&spec);
        let up = output.ports.iter().filter(|p| p.name.starts_with("leaf0-spine"));
        up.filter(|p| p.packets > 0).count()
    };
    assert_eq!(used(Some(1)), 1);
    assert!(used(Some(2)) <= 2);
    assert_eq!(used(None), 4);
}
