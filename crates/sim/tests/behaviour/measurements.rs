//! Whether what is measured is what happened.

use super::common::*;
use super::{numbers, probe, two_leaves};
use leafspine_core::{Span, Time};
use leafspine_schemes::{Amount, Value};
use leafspine_sim::spec::*;
use leafspine_sim::{Column, Output};

/// Short Poisson flows on a 4x4 fabric at this load, with buffers that nothing overflows.
fn loaded(load: f64, seed: u64) -> Spec {
    let mut spec = base();
    spec.workloads = vec![fixed_flows(FLOWS, BYTES, load)];
    spec.switch.buffer = Amount::Packets(10_000);
    spec.run.seed = seed;
    spec
}

const FLOWS: u64 = 20_000;
const BYTES: u64 = 4 * 1460;
/// Bytes on the wire for a flow of four segments: what its leaf sends up (SYN, data) and what the
/// other leaf does (SYN-ACK, ACKs).
const WIRE: u64 = 40 + 4 * 1500 + 40 + 4 * 40;

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    sum / n
}

fn uplinks(output: &Output) -> impl Iterator<Item = &leafspine_sim::PortRow> {
    output.ports.iter().filter(|p| p.name.starts_with("leaf") && p.name.contains("-spine"))
}

/// Breaks if a load does not offer that share of the leaves' capacity, or if utilisation is not what
/// it carries. Load counts application bytes; the wire carries WIRE bytes for BYTES of them, so the
/// uplinks are busy for load x WIRE / BYTES of the window of arrivals. Arrivals are Poisson, so the
/// standard error over `n` flows is 1/sqrt(n) of it; three of them, four seeds together. (What is
/// under way when the window closes, 25 us of 10 ms, takes away another 0.7.)
#[test]
fn uplinks_carry_the_load() {
    for load in [0.3, 0.6] {
        let seeds = 1..=4u64;
        let busy =
            mean(seeds.map(|seed| mean(uplinks(&run(&loaded(load, seed))).map(|p| p.utilisation))));
        let expected = load * WIRE as f64 / BYTES as f64;
        let error = expected / (4.0 * FLOWS as f64).sqrt();
        println!("load {load}: {busy:.5}, expected {expected:.5}, standard error {error:.5}");
        assert!((busy - expected).abs() < 3.0 * error, "load {load}: {busy} for {expected}");
    }
}

/// Breaks if a single byte on an uplink is not counted, or counted twice: no packet is lost, so the
/// uplinks carry exactly WIRE bytes a flow.
#[test]
fn uplinks_carry_every_byte_once() {
    let mut spec = loaded(0.6, 1);
    spec.measure.window = Window::All;
    let output = run(&spec);
    assert_eq!(output.flows.retransmits.iter().sum::<u32>(), 0);
    assert_eq!(uplinks(&output).map(|p| p.bytes).sum::<u64>(), FLOWS * WIRE);
}

/// What waits at each port at the instants of a queue probe, from the life of every packet: one
/// waits from its arrival until its transmission begins.
fn backlog_by_hand(output: &Output) -> Vec<(u64, u64)> {
    let packets = &output.probes[1];
    let get = |name| numbers(packets, name);
    let (start, port, size, waited) = (get("time_ps"), get("port"), get("size"), get("waited_ps"));
    let samples = &output.probes[0];
    let (at, of) = (numbers(samples, "time_ps"), numbers(samples, "port"));
    assert_eq!(samples.ports, packets.ports);
    let one = |(at, of): (&u64, &u64)| {
        let waits = |i: &usize| port[*i] == *of && start[*i] - waited[*i] <= *at && *at < start[*i];
        let waiting = (0..start.len()).filter(waits);
        waiting.fold((0, 0), |(packets, bytes), i| (packets + 1, bytes + size[i]))
    };
    at.iter().zip(&of).map(one).collect()
}

/// Breaks if a queue probe's samples are not the backlog: the same from either kind of port, and the
/// same as what the `packets` probe tells of each packet. A packet that begins its transmission at
/// the instant of a sample no longer waits; without a handshake the first packets begin at multiples
/// of 200 ns.
#[test]
fn queue_samples_are_the_backlog() {
    for model in [PortModel::Auto, PortModel::General] {
        let mut spec = two_leaves(4, 2);
        spec.run.ports = model;
        spec.transport.handshake = false;
        spec.workloads = vec![long_flows(8, 100_000, hosts(&[0, 1, 2, 3]), hosts(&[4, 5, 6, 7]))];
        spec.probes = vec![
            probe(ProbeKind::Queue, "leaf0-*", Span::from_nanos(200)),
            probe(ProbeKind::Packets, "leaf0-*", Span::ZERO),
        ];
        let output = run(&spec);
        let sampled = &output.probes[0];
        let sampled: Vec<_> =
            numbers(sampled, "packets").into_iter().zip(numbers(sampled, "bytes")).collect();
        assert!(sampled.iter().filter(|(packets, _)| *packets > 0).count() > 100);
        let starts = numbers(&output.probes[1], "time_ps");
        assert!(starts.iter().filter(|start| **start % 200_000 == 0).count() > 20, "at a sample");
        assert_eq!(sampled, backlog_by_hand(&output), "{model:?}");
    }
}

/// Breaks if a state probe miscounts: of 40 flows from leaf 0 and none to it, each has a slot at leaf 0
/// for its data and one at leaf 1 for its ACKs; with four slots, 36 share; no spine keeps a table
/// at the source's end of any flow.
#[test]
fn state_probes_count_flows_and_slots() {
    let mut spec = two_leaves(8, 2);
    spec.balancer = scheme_with("letflow", "entries", Value::Int(4));
    spec.workloads = vec![long_flows(
        40,
        1_000_000,
        HostSet::Under("leaf0".to_owned()),
        HostSet::Under("leaf1".to_owned()),
    )];
    let every = Span::from_micros(100);
    spec.probes = vec![probe(ProbeKind::State, "*-*", every)];
    let output = run(&spec);
    let state = &output.probes[0];
    assert_eq!(state.ports, ["leaf0", "leaf1", "spine0", "spine1"]);
    let get = |column| numbers(state, column);
    let (at, slots, occupied) = (get("switch"), get("slots"), get("occupied"));
    let (flows, sharing, bytes) = (get("flows"), get("sharing"), get("bytes"));
    // The second look, 100 us in: all flows are under way.
    for row in 4..8 {
        assert_eq!((slots[row], bytes[row]), (4, 4 * 16));
        let leaf = at[row] < 2;
        assert_eq!((flows[row], sharing[row]), if leaf { (40, 36) } else { (0, 0) });
        assert_eq!(occupied[row], if leaf { 4 } else { 0 });
    }
}

/// Breaks if a state probe does not say how old a balancer's information is: CONGA's is none at the first look
/// and later that of feedback at work, within the round trips that feed two uplinks back; spines and ECMP have none.
#[test]
fn state_probes_tell_the_age_of_information() {
    for (name, informed) in [("conga", true), ("ecmp", false)] {
        let mut spec = two_leaves(8, 2);
        spec.balancer = scheme(name);
        spec.workloads = vec![long_flows(
            8,
            1_000_000,
            HostSet::Under("leaf0".to_owned()),
            HostSet::Under("leaf1".to_owned()),
        )];
        spec.probes = vec![probe(ProbeKind::State, "*-*", Span::from_micros(100))];
        let state = &run(&spec).probes[0];
        let Some((_, Column::F64(ages))) =
            state.columns.iter().find(|(name, _)| *name == "information_age_ps")
        else {
            panic!("no ages")
        };
        let at = numbers(state, "switch");
        assert!(ages[..4].iter().all(|age| age.is_nan()), "{:?}", &ages[..4]);
        let rows = 4..12;
        for row in rows {
            let expected = informed && state.ports[at[row] as usize].starts_with("leaf");
            assert_eq!(ages[row].is_finite(), expected, "{name}, row {row}: {}", ages[row]);
            assert!(!expected || ages[row] < 50e6, "{} ps", ages[row]);
        }
    }
}

/// Breaks if utilisation samples lose or repeat a picosecond of the line's time: over the run they
/// add up to the time that the bytes take at 10 Gb/s, 800 ps each.
#[test]
fn utilisation_samples_add_up() {
    for model in [PortModel::Auto, PortModel::General] {
        let mut spec = two_leaves(4, 2);
        spec.run.ports = model;
        spec.workloads = vec![fixed_flows(60, 100_000, 0.9)];
        let every = Span::from_micros(7);
        spec.probes = vec![probe(ProbeKind::Utilisation, "leaf0-spine1", every)];
        // The last flow of all is a tiny one elsewhere, long after: the port has done its work.
        let mut last = long_flows(1, 1, hosts(&[0]), hosts(&[1]));
        last.start = Time(50_000_000_000);
        spec.workloads.push(last);
        let output = run(&spec);
        let Column::F64(shares) = &output.probes[0].columns[2].1 else { panic!("not shares") };
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
        let busy = shares.iter().sum::<f64>() * every.0 as f64;
        let expected = port(&output, "leaf0-spine1").bytes as f64 * 800.0;
        assert!((busy - expected).abs() < 1e-6 * expected, "{busy} for {expected}");
    }
}
