//! What hosts that steer their flows make of the switches' hash.

use super::common::*;
use super::{numbers, probe, two_leaves, uplink_packets};
use leafspine_core::{Bytes, Span, Time};
use leafspine_schemes::Value;
use leafspine_sim::Output;
use leafspine_sim::spec::*;

const SPINES: u32 = 4;

/// Four long flows, each between hosts of its own, over four uplinks as fast as the hosts' links:
/// leaf 0's uplinks from 100 to 150 ms.
fn four_flows(edge_scheme: Option<SchemeSpec>, seed: u64) -> Output {
    let mut spec = two_leaves(4, SPINES);
    spec.run.seed = seed;
    spec.edge = edge_scheme;
    // A lone flow's queue is at its own host. Marks from there would bend it for nothing.
    spec.switch.host_ports = HostPorts::Unlimited;
    let flow = |host: u16| long_flows(1, 10_000_000_000, hosts(&[host]), hosts(&[host + 4]));
    spec.workloads = (0..4).map(flow).collect();
    let at = |ms| Time(Span::from_millis(ms).0);
    spec.measure.window = Window::Between(at(100), at(150));
    spec.run.until = Some(at(150));
    run(&spec)
}

/// Breaks if FlowBender does not leave a path that it shares: as long as two of four flows share an
/// uplink, one is idle, and both see marks; only one flow to an uplink is at rest. ECMP's hash
/// leaves at least one idle with these seeds (each does with probability 1 - 4!/4^4 = 0.91).
#[test]
fn flowbender_ends_collisions() {
    for seed in [1, 2, 3] {
        let hashed = uplink_packets(&four_flows(None, seed), SPINES);
        assert!(hashed.contains(&0), "seed {seed}: {hashed:?}");
        let bent = uplink_packets(&four_flows(Some(edge("flowbender")), seed), SPINES);
        // 50 ms are 41,666 packets of a full line.
        assert!(bent.iter().all(|n| *n > 37_500), "seed {seed}: {bent:?}");
    }
}

/// Breaks if Flex's tag does not reach the hash, or has more than one bit: the pauses between the
/// round trips of slow start end flowlets, and the flow has two paths.
#[test]
fn flex_gives_a_flow_two_paths() {
    let mut spec = two_leaves(1, SPINES);
    let mut flex = edge("flex");
    flex.params = flex.params.with("lowest", Value::Span(Span::from_micros(4)));
    spec.edge = Some(flex);
    spec.workloads = vec![long_flows(1, 7_000 * 1460, hosts(&[0]), hosts(&[1]))];
    let packets = uplink_packets(&run(&spec), SPINES);
    assert_eq!(packets.iter().filter(|n| **n > 0).count(), 2, "{packets:?}");
}

/// Duplicate ACKs of 300 flows at a high load, sprayed by DRILL.
fn drilled(cell: Option<u64>) -> u32 {
    let mut spec = two_leaves(8, SPINES);
    spec.balancer = scheme("drill");
    spec.edge = cell.map(|cell| {
        let SchemeSpec { name, params } = edge("presto");
        let params = params.with("reassemble", Value::Bool(true));
        SchemeSpec { name, params: params.with("cell", Value::Bytes(Bytes(cell))) }
    });
    spec.workloads = vec![fixed_flows(300, 1_000_000, 0.9)];
    run(&spec).flows.dup_acks.iter().sum()
}

/// Breaks if Presto's receiver does not put in order what another balancer has mixed up: with cells of
/// one byte, a packet each, what arrives out of order waits, and TCP sees losses only. With cells of
/// 64 KiB a gap within one is taken for a loss, and TCP sees as much as without.
#[test]
fn flowcells_of_a_packet_put_any_spray_in_order() {
    let (bare, ordered, cells) = (drilled(None), drilled(Some(1)), drilled(Some(65_536)));
    assert!(10 * ordered < bare && 10 * ordered < cells, "{bare}, {ordered}, {cells}");
}

/// The share of leaf 0's packets that goes by the spine whose link to leaf 1 has a quarter of the
/// others' rate: 600 flows of 300 KB at half the load of the uplinks.
fn share_by_the_slow_spine(balancer: &str, edge_scheme: Option<SchemeSpec>) -> f64 {
    let mut spec = two_leaves(8, SPINES);
    spec.balancer = scheme(balancer);
    spec.edge = edge_scheme;
    let rate = Some(leafspine_core::Rate::from_mbps(2_500));
    spec.changes = vec![LinkChange { rate, ..change("leaf1-spine2", Span::ZERO) }];
    spec.workloads = vec![WorkloadSpec {
        senders: HostSet::Under("leaf0".to_owned()),
        receivers: HostSet::Under("leaf1".to_owned()),
        ..fixed_flows(600, 300_000, 0.5)
    }];
    let packets = uplink_packets(&run(&spec), SPINES);
    packets[2] as f64 / packets.iter().sum::<u64>() as f64
}

/// Breaks if CLOVE's weights do not move: the slow link is past its capacity at an even quarter of
/// the load (5 Gb/s of 2.5), so its marks cut the path's weight until it carries about what it can,
/// an eighth. ECMP, blind to it, stays at a quarter.
#[test]
fn clove_shifts_load_from_a_slow_remote_link() {
    let even = share_by_the_slow_spine("ecmp", None);
    assert!((0.2..0.3).contains(&even), "{even}");
    let moved = share_by_the_slow_spine("pinned", Some(edge("clove-ecn")));
    assert!(moved < 0.17, "{moved}");
}

/// Breaks if Hermes does not sense the slow link by its delay and marks: flows that are new avoid it
/// while it is grey or congested and another is good.
#[test]
fn hermes_shifts_load_from_a_slow_remote_link() {
    let moved = share_by_the_slow_spine("pinned", Some(edge("hermes")));
    assert!(moved < 0.17, "{moved}");
}

/// Retransmissions of 1,500 flows from leaf 0 to leaf 1 in 100 ms, one of whose four links up loses 3 %
/// of what it is given, in silence: the switches know nothing of it.
fn retransmits_over_a_lossy_link(balancer: &str, edge_scheme: Option<SchemeSpec>) -> u32 {
    let mut spec = two_leaves(8, SPINES);
    spec.balancer = scheme(balancer);
    spec.edge = edge_scheme;
    spec.changes = vec![LinkChange { loss: Some(0.03), ..change("leaf0-spine2", Span::ZERO) }];
    spec.workloads = vec![WorkloadSpec {
        senders: HostSet::Under("leaf0".to_owned()),
        receivers: HostSet::Under("leaf1".to_owned()),
        ..fixed_flows(1_500, 100_000, 0.3)
    }];
    run(&spec).flows.retransmits.iter().sum()
}

/// Breaks if hosts do not leave a path that loses at random: ECMP keeps a quarter of the packets on it
/// throughout; with Hermes each host judges it after its first 10 ms of some 300 packets, 3 % of them
/// sent again, and leaves it alone for the next 100 ms.
#[test]
fn hermes_leaves_a_lossy_link() {
    let hashed = retransmits_over_a_lossy_link("ecmp", None);
    let sensed = retransmits_over_a_lossy_link("pinned", Some(edge("hermes")));
    assert!(3 * sensed < hashed, "{sensed} retransmissions against {hashed}");
}

/// Breaks if an agent does not send three probes of 64 bytes every 500 us to the other rack, if they are
/// not answered, or if they are shown as a flow's: one long flow of 5 ms, so ten times three from leaf
/// 0 and as many answers to leaf 1's.
#[test]
fn hermes_probes_are_packets() {
    let mut spec = two_leaves(2, SPINES);
    spec.balancer = scheme("pinned");
    spec.edge = Some(edge("hermes"));
    spec.workloads = vec![long_flows(1, 1_000_000_000, hosts(&[0]), hosts(&[2]))];
    spec.run.until = Some(Time(Span::from_micros(4_900).0));
    spec.probes = vec![probe(ProbeKind::Packets, "leaf0-spine*", Span::ZERO)];
    let output = run(&spec);
    let packets = &output.probes[0];
    let (flags, flow) = (numbers(packets, "flags"), numbers(packets, "flow"));
    let probes: Vec<usize> = (0..flags.len()).filter(|row| flags[*row] == 128).collect();
    assert_eq!(probes.len(), 60);
    assert!(probes.iter().all(|row| numbers(packets, "size")[*row] == 64));
    assert!((0..flags.len()).all(|row| (flow[row] == 0) != (flags[row] == 128)));
}

/// Breaks if hosts that begin to send together send by the same path: each begins its round robin over the
/// paths anywhere. Sixteen hosts with one flow of one flowlet each leave none of four paths unused
/// (they would with probability 4 (3/4)^16, 4 %; not with this seed).
#[test]
fn clove_flows_that_start_together_part() {
    let mut spec = two_leaves(16, SPINES);
    spec.balancer = scheme("pinned");
    let mut clove = edge("clove-ecn");
    clove.params = clove.params.with("gap", Value::Span(Span::from_millis(900)));
    spec.edge = Some(clove);
    let flow = |host: u16| long_flows(1, 300_000, hosts(&[host]), hosts(&[host + 16]));
    spec.workloads = (0..16).map(flow).collect();
    let packets = uplink_packets(&run(&spec), SPINES);
    assert!(packets.iter().all(|n| *n > 0), "{packets:?}");
}

/// Breaks if flows stay in a black hole, data or their ACKs: one of four links loses all that it is given,
/// in both directions and in silence. With Hermes every flow of both leaves ends (`run` asserts it), at
/// the cost of some timeouts: three of 10, 20 and 40 ms at each of 16 hosts until it knows, and again after each
/// 100 ms. Hashed ACKs would lose a quarter of all flows for ever.
#[test]
fn hermes_leaves_a_black_hole() {
    let mut spec = two_leaves(8, SPINES);
    spec.balancer = scheme("pinned");
    spec.edge = Some(edge("hermes"));
    spec.changes = vec![LinkChange { loss: Some(0.999_999), ..change("leaf0-spine2", Span::ZERO) }];
    spec.workloads = vec![fixed_flows(1_000, 100_000, 0.3)];
    let output = run(&spec);
    let timeouts: u32 = output.flows.timeouts.iter().sum();
    println!("{timeouts} timeouts, {:?}", output.end);
    assert!(timeouts < 400, "{timeouts} timeouts of 1,000 flows");
}
