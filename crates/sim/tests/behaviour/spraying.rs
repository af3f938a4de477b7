//! What hosts that spray make of the switches' hash, over each transport that takes packets out of order.

use super::common::*;
use super::{two_leaves, uplink_packets};
use leafspine_core::{Rate, Span};
use leafspine_schemes::Value;
use leafspine_sim::Output;
use leafspine_sim::spec::*;

const SPINES: u32 = 4;
const SPRAYING: [&str; 4] = ["oblivious", "bitmap", "reps", "mixed"];

/// Selective repeat that takes a packet for lost once one has come that was sent 64 after it.
const TOLERANT: Recovery = Recovery::Selective { low: Span::from_micros(500), few: 3, after: 64 };

/// TCP, and queue pairs at the line's rate and under DCQCN.
fn transports() -> Vec<Option<RoceSpec>> {
    let irn = RoceSpec { recovery: TOLERANT, window: Some(100_000), ..roce() };
    vec![None, Some(irn), Some(RoceSpec { control: PairControl::Dcqcn(dcqcn()), ..irn })]
}

/// Two leaves and four spines whose hosts spray.
fn sprayed(edge_scheme: SchemeSpec, transport: Option<RoceSpec>, hosts: u32) -> Spec {
    let mut spec = two_leaves(hosts, SPINES);
    spec.edge = Some(edge_scheme);
    spec.switch.host_ports = HostPorts::Unlimited;
    if let Some(roce) = transport {
        carry_by_pairs(&mut spec, roce);
    }
    spec
}

fn edge_with(name: &str, key: &str, value: Value) -> SchemeSpec {
    let SchemeSpec { name, params } = edge(name);
    SchemeSpec { name, params: params.with(key, value) }
}

/// Breaks if the entropy value of some spraying edge does not reach the hash over some transport: a
/// lone flow of 4,000 packets has a quarter on each of four uplinks, if values do not depend on
/// what comes back (Binomial(4000, 1/4) has a standard deviation of 27, six are allowed; the turn
/// through 256 values repeats what their hashes are). A buffer of eight values that all come back
/// well is used again and again: it has more than one path, and no more is asked for.
#[test]
fn a_lone_flow_takes_all_paths() {
    for name in SPRAYING {
        for transport in transports() {
            let mut spec = sprayed(edge(name), transport, 1);
            spec.workloads = vec![long_flows(1, 4_000 * 1460, hosts(&[0]), hosts(&[1]))];
            let packets = uplink_packets(&run(&spec), SPINES);
            let roce = transport.is_some();
            let even = packets.iter().all(|n| (840..1_160).contains(n));
            let several = packets.iter().filter(|n| **n > 100).count() > 1;
            let blind = name == "oblivious" || name == "bitmap";
            assert!(if blind { even } else { several }, "{name}, {roce}: {packets:?}");
        }
    }
}

/// Breaks if ACKs are not sprayed as data is.
#[test]
fn acknowledgments_take_all_paths() {
    let mut spec = sprayed(edge("reps"), None, 1);
    spec.workloads = vec![long_flows(1, 4_000 * 1460, hosts(&[0]), hosts(&[1]))];
    let output = run(&spec);
    let back: Vec<u64> =
        (0..SPINES).map(|s| port(&output, &format!("leaf1-spine{s}")).packets).collect();
    assert!(back.iter().all(|n| *n > 700), "{back:?}");
}

/// The share of leaf 0's packets that goes by the spine whose link to leaf 1 has a quarter of the
/// others' rate: eight pairs of hosts, 2.5 Gb/s each in the mean.
fn share_by_the_slow_spine(edge_scheme: SchemeSpec, transport: Option<RoceSpec>) -> f64 {
    let mut spec = sprayed(edge_scheme, transport, 8);
    let rate = Some(Rate::from_mbps(2_500));
    spec.changes = vec![LinkChange { rate, ..change("leaf1-spine2", Span::ZERO) }];
    spec.workloads = vec![WorkloadSpec {
        senders: HostSet::Under("leaf0".to_owned()),
        receivers: HostSet::Under("leaf1".to_owned()),
        ..fixed_flows(300, 600_000, 0.5)
    }];
    let packets = uplink_packets(&run(&spec), SPINES);
    packets[2] as f64 / packets.iter().sum::<u64>() as f64
}

/// Breaks if marks do not come back to the edges that go by them, over a transport whose ACKs echo
/// marks and over ones whose do not: an even quarter of the load (5 Gb/s) is twice what the slow
/// path carries. Oblivious spraying stays at a quarter.
#[test]
fn marks_keep_packets_off_a_slow_link() {
    for transport in transports() {
        let share = |name: &str| share_by_the_slow_spine(edge(name), transport);
        let even = share("oblivious");
        assert!((0.22..0.28).contains(&even), "{even}");
        for name in ["bitmap", "reps", "mixed"] {
            let moved = share(name);
            assert!(moved < 0.9 * even, "{name}, {}: {moved}, {even}", transport.is_some());
        }
    }
}

/// Eight flows over a fabric with half the capacity that they could use, one of whose links loses
/// nearly all from 2 ms on.
fn broken(freeze: Value) -> Output {
    let irn = RoceSpec {
        control: PairControl::Dcqcn(dcqcn()),
        recovery: TOLERANT,
        window: Some(60_000),
        timeout: Span::from_micros(500),
        ..roce()
    };
    let mut spec = sprayed(edge_with("reps", "freeze", freeze), Some(irn), 8);
    let loss = Some(0.999);
    spec.changes = vec![LinkChange { loss, ..change("leaf0-spine2", Span::from_millis(2)) }];
    let (from, to) = ((0..8).collect::<Vec<u16>>(), (8..16).collect::<Vec<u16>>());
    spec.workloads = vec![long_flows(8, 4_000 * 1460, hosts(&from), hosts(&to))];
    run(&spec)
}

/// Marks take values out of the buffer, so a sender has to take others: random ones, a quarter of
/// which lead into the broken path, or when it is frozen old ones, which have come back.
///
/// Breaks if a timeout does not freeze the sender.
#[test]
fn a_frozen_sender_stays_off_a_broken_link() {
    let frozen = broken(Value::Span(Span::from_millis(1_000)));
    let never = broken(Value::Word("never".to_owned()));
    let lost = [&frozen, &never].map(|output| output.counters.lost);
    assert!(lost[0] > 0 && 3 * lost[0] < lost[1], "{lost:?}");
    let last = |output: &Output| *output.flows.fct_ps.iter().max().expect("eight flows");
    assert!(last(&frozen) < last(&never), "{} {}", last(&frozen), last(&never));
}
