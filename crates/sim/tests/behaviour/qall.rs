//! QALL in a running fabric: the two kinds of port, queue occupancy beside other balancers, a slow link.

use super::common::*;
use super::{numbers, probe};
use leafspine_core::{Bytes, Rate, Span};
use leafspine_schemes::{Amount, Params, Value};
use leafspine_sim::spec::*;

/// The paper's fabric (§VI-A): 2 leaves, 2 spines, two links of 400 Mb/s between each pair, 16 hosts of
/// 100 Mb/s a leaf; drop-tail queues of 64 packets, CUBIC, as its testbed's defaults are.
fn fabric(balancer: SchemeSpec, load: f64, flows: u64) -> Spec {
    let mut spec = base();
    let delay = Span::from_micros(10);
    spec.topology.kind =
        TopologyKind::LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 16, links_per_pair: 2 };
    spec.topology.host_link = link(Rate::from_mbps(100), delay);
    spec.topology.fabric_link = link(Rate::from_mbps(400), delay);
    spec.switch.buffer = Amount::Packets(64);
    spec.aqm = scheme("droptail");
    spec.transport.scheme = scheme("cubic");
    spec.transport.min_rto = Span::from_millis(200);
    spec.balancer = balancer;
    spec.workloads = vec![WorkloadSpec {
        sizes: SizeSpec::Uniform(Bytes(10_000), Bytes(390_000)),
        ..fixed_flows(flows, 1, load)
    }];
    spec
}

fn qall(changes: &[(&str, Value)]) -> SchemeSpec {
    let SchemeSpec { name, params } = scheme("qall");
    let change = |params: Params, (key, value): &(&str, Value)| params.with(key, value.clone());
    SchemeSpec { name, params: changes.iter().fold(params, change) }
}

fn word(text: &str) -> Value {
    Value::Word(text.to_owned())
}

fn micros(us: u64) -> Value {
    Value::Span(Span::from_micros(us))
}

/// Breaks if a decision depends on how a port is simulated: on one-event ports QALL is told of dequeues
/// when packets are queued, on general ports when they are sent. Every variant, either end of L, clones
/// under way, packets and bytes.
#[test]
fn both_kinds_of_port_give_the_same_trace() {
    let short = ("update_period", micros(40));
    let late = ("clone_delay", micros(615));
    let left = ("occupancy_at", word("dequeue"));
    let cases = [
        vec![],
        vec![short.clone()],
        vec![short.clone(), left.clone()],
        vec![short.clone(), late.clone()],
        vec![short.clone(), late.clone(), left.clone()],
        vec![short.clone(), ("idle_growth", Value::Bool(false))],
        vec![short.clone(), ("trend_since", word("packet"))],
        vec![short.clone(), ("granularity", word("flowlet")), ("gap", micros(500))],
        vec![short.clone(), ("variant", word("linear"))],
        vec![short.clone(), ("variant", word("poly2")), left],
        vec![short, ("variant", word("poly3")), late],
    ];
    let plain = run(&fabric(scheme("rps"), 0.8, 100)).trace_hash;
    for changes in cases {
        for buffer in [Amount::Packets(64), Amount::Bytes(60_000)] {
            let mut spec = fabric(qall(&changes), 0.8, 100);
            spec.switch.buffer = buffer;
            let fast = run(&spec);
            spec.run.ports = PortModel::General;
            let slow = run(&spec);
            assert_eq!(fast.trace_hash, slow.trace_hash, "{buffer} {changes:?}");
            assert_ne!(fast.trace_hash, plain, "QALL must have decided something");
        }
    }
}

/// Mean and variance of the occupancy (0..1) of the leaves' uplinks, over ports and time, sampled every
/// 100 us in the window of arrivals: what the paper calls network shock (§VI-D5).
fn occupancy(balancer: SchemeSpec, seed: u64) -> (f64, f64) {
    let mut spec = fabric(balancer, 0.7, 600);
    spec.run.seed = seed;
    spec.probes = vec![probe(ProbeKind::Queue, "leaf*-spine*", Span::from_micros(100))];
    let output = run(&spec);
    let series = &output.probes[0];
    let (from, to) = (output.window.0.0, output.window.1.0);
    let times = numbers(series, "time_ps").into_iter();
    let samples = times.zip(numbers(series, "packets"));
    let inside = samples.filter(|(time, _)| (from..=to).contains(time));
    let shares: Vec<f64> = inside.map(|(_, packets)| packets as f64 / 64.0).collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    let squares = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>();
    (mean, squares / shares.len() as f64)
}

/// Breaks if QALL's queues are as uneven as those of flow hashing, or flowlets of 10 ms even them
/// out as packets do, or if it evens out what DRILL does. With equal paths and short queues its weights
/// are nearly equal, so it can only be what a uniform draw per packet is: about RPS, whose variance DRILL
/// keeps to a tenth. (The paper's Table III has QALL 6 % below DRILL, and no RPS.)
#[test]
fn variance_of_queue_occupancy() {
    let flowlet = ("granularity", word("flowlet"));
    for seed in 1..=3 {
        let cases = [
            ("ecmp", scheme("ecmp")),
            ("qall-flowlet", qall(std::slice::from_ref(&flowlet))),
            ("rps", scheme("rps")),
            ("qall", qall(&[])),
            ("qall, 10 us", qall(&[("update_period", micros(10))])),
            ("drill", scheme("drill")),
        ];
        let found = cases.map(|(name, balancer)| {
            let (mean, variance) = occupancy(balancer, seed);
            println!("seed {seed}, {name}: mean {mean:.5}, variance {variance:.6}");
            variance
        });
        let [ecmp, flowlet, rps, packet, quick, drill] = found;
        assert!(ecmp > 10.0 * packet && ecmp > 10.0 * quick, "{found:?}");
        assert!(flowlet > 5.0 * packet && flowlet < 1.2 * ecmp, "{found:?}");
        assert!((0.7..1.2).contains(&(packet / rps)), "{found:?}");
        assert!((0.7..1.2).contains(&(quick / rps)), "{found:?}");
        assert!(drill < 0.5 * rps && drill < 0.5 * packet, "{found:?}");
    }
}

/// The part of the packets that leaf 0 offered to its uplink to spine 1, which has a quarter of the
/// others' rate, and how many it dropped there.
fn with_a_slow_uplink(balancer: SchemeSpec) -> (f64, u64) {
    let mut spec = fabric(balancer, 0.5, 300);
    spec.measure.window = Window::All;
    let rate = Some(Rate::from_mbps(100));
    spec.changes = vec![LinkChange { rate, ..change("leaf0-spine1", Span::ZERO) }];
    let output = run(&spec);
    let uplinks = output.ports.iter().filter(|port| port.name.starts_with("leaf0-spine"));
    let offered: u64 = uplinks.map(|port| port.packets + port.drops).sum();
    let slow = port(&output, "leaf0-spine1");
    ((slow.packets + slow.drops) as f64 / offered as f64, slow.drops)
}

/// Breaks if occupancy does not move packets away from a slow uplink, which RPS gives a fourth of
/// all, or if QALL loses as many there.
#[test]
fn a_slow_uplink_gets_less() {
    let (rps, rps_drops) = with_a_slow_uplink(scheme("rps"));
    let (qall, qall_drops) = with_a_slow_uplink(qall(&[]));
    println!("rps {rps:.3}, {rps_drops} drops; qall {qall:.3}, {qall_drops} drops");
    // Some 50,000 packets: the standard deviation of a fourth is 0.002.
    assert!((rps - 0.25).abs() < 0.01, "{rps}");
    assert!(qall < 0.17, "{qall}");
    assert!(qall_drops * 3 < rps_drops, "{qall_drops} of {rps_drops}");
}

/// Breaks if flowlets are cut within a flow: with a gap longer than the run no flow changes its path.
#[test]
fn flowlets_stay_on_their_path() {
    let changes = [("granularity", word("flowlet")), ("gap", micros(100_000_000))];
    let output = run(&fabric(qall(&changes), 0.5, 100));
    assert!(output.flows.path_changes.iter().all(|n| *n == 0));
}
