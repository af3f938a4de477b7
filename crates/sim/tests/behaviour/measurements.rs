//! Whether what is measured is what happened.

use super::common::*;
use super::{numbers, probe, two_leaves};
use leafspine_core::{Span, Time};
use leafspine_schemes::{Amount, Value};
use leafspine_sim::spec::*;
use leafspine_sim::{Column, Output, Simulation};

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
        // CONGA knows when feedback came, not when it set out.
        let delays = state.columns.iter().find(|(name, _)| *name == "decision_delay_ps");
        let Some((_, Column::F64(delays))) = delays else { panic!("no delays") };
        assert!(ages.iter().zip(delays).all(|(age, delay)| age.to_bits() == delay.to_bits()));
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

/// Breaks if signals are missed or told twice, or are those of the measurement window alone: over a run
/// that goes on after its last flow they add up to what the ports have counted.
#[test]
fn signals_add_up() {
    for model in [PortModel::Auto, PortModel::General] {
        let mut spec = two_leaves(4, 2);
        spec.run.ports = model;
        spec.workloads = vec![fixed_flows(100, 200_000, 0.9)];
        spec.switch.buffer = Amount::Packets(12);
        let threshold = Value::Amount(Amount::Packets(8));
        spec.aqm = scheme_with("ecn-threshold", "threshold", threshold);
        // A tiny flow, long after: the last sample has seen all the others.
        let mut last = long_flows(1, 1, hosts(&[0]), hosts(&[1]));
        last.start = Time(900_000_000_000);
        spec.workloads.push(last);
        spec.probes = vec![probe(ProbeKind::Signals, "*", Span::from_micros(50))];
        let output = run(&spec);
        let series = &output.probes[0];
        let sum = |column| numbers(series, column).iter().sum::<u64>();
        let counted =
            |of: fn(&leafspine_sim::PortRow) -> u64| output.ports.iter().map(of).sum::<u64>();
        assert!(sum("marks") > 0 && sum("drops") > 0);
        assert_eq!((sum("marks"), sum("drops")), (counted(|p| p.marks), counted(|p| p.drops)));
        spec.measure.window = Window::Between(Time(1_000_000_000), Time(2_000_000_000));
        let narrow = run(&spec);
        assert_eq!(numbers(&narrow.probes[0], "marks"), numbers(series, "marks"));
        assert!(narrow.ports.iter().map(|p| p.marks).sum::<u64>() < sum("marks"));
    }
}

/// Breaks if a warm-up changes a packet, opens the window of arrivals at any other time, or counts
/// what came before it: the run is the same to the bit, the ports' counts are those of a window
/// from there on, and what was dropped and delivered before and after adds up.
#[test]
fn a_warmup_only_moves_the_statistics() {
    let mut plain = loaded(0.9, 1);
    plain.switch.buffer = Amount::Packets(8);
    let cold = run(&plain);
    let mut spec = plain.clone();
    spec.measure.warmup = Time(3_000_000_000);
    let warm = run(&spec);
    assert_eq!((warm.trace_hash, warm.end), (cold.trace_hash, cold.end));
    assert_eq!(warm.flows.fct_ps, cold.flows.fct_ps);
    assert_eq!(warm.window, (Time(3_000_000_000), cold.window.1));
    let early = cold.flows.start_ps.iter().filter(|start| **start < 3_000_000_000).count();
    assert!(early > 1_000 && early < cold.flows.len());
    assert_eq!(warm.warmup.flows, early as u64);
    let dropped: u64 = warm.counters.dropped.iter().sum();
    assert!(0 < warm.warmup.dropped && warm.warmup.dropped < dropped);
    assert!(0 < warm.warmup.data_packets && warm.warmup.data_packets < warm.counters.data_packets);
    // The same window, asked for by its edges; and the time before it.
    let between = |from, until| {
        let mut spec = plain.clone();
        spec.measure.window = Window::Between(Time(from), Time(until));
        run(&spec)
    };
    let (before, after) = (between(0, 3_000_000_000), between(3_000_000_000, warm.window.1.0));
    assert_eq!(after.delivered_in_window, warm.delivered_in_window);
    let drops = |output: &Output| output.ports.iter().map(|port| port.drops).sum::<u64>();
    assert_eq!(drops(&before), warm.warmup.dropped);
    assert_eq!(drops(&after), drops(&warm));
    for (a, b) in after.ports.iter().zip(&warm.ports) {
        assert_eq!((a.packets, a.utilisation, &a.name), (b.packets, b.utilisation, &b.name));
    }
}

/// Breaks if what is delivered in a window is not the payload that the receivers got in it: two
/// windows that share an edge add up to one over both, and one over the run has every byte once.
#[test]
fn delivered_payload_adds_up_over_windows() {
    let spec = loaded(0.6, 2);
    let within = |window| {
        let measure = MeasureSpec { window, ..spec.measure };
        run(&Spec { measure, ..spec.clone() }).delivered_in_window
    };
    let at = |ms: u64| Time(ms * 1_000_000_000);
    let (one, other) =
        (within(Window::Between(at(1), at(3))), within(Window::Between(at(3), at(4))));
    assert!(one > 0 && other > 0);
    assert_eq!(one + other, within(Window::Between(at(1), at(4))));
    assert_eq!(within(Window::All), FLOWS * BYTES);
    // What a load of 0.6 offers, sixteen uplinks of 10 Gb/s: three standard errors of 20,000 flows.
    let output = run(&spec);
    let length = (output.window.1 - output.window.0).as_secs_f64();
    let carried = 8.0 * output.delivered_in_window as f64 / length / (0.6 * 160e9);
    assert!((carried - 1.0).abs() < 3.0 / (FLOWS as f64).sqrt(), "{carried}");
}

/// Breaks if a warm-up that leaves no flow to count is run, or its message changes.
#[test]
fn a_warmup_that_leaves_no_flow_is_refused() {
    let said = |spec: &Spec| match Simulation::new(spec) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("accepted"),
    };
    let mut spec = loaded(0.6, 1);
    let last = Time(*run(&spec).flows.start_ps.last().expect("flows"));
    spec.measure.warmup = last;
    let output = run(&spec);
    assert_eq!((output.warmup.flows, output.window.0), (FLOWS - 1, last));
    spec.measure.warmup = Time(last.0 + 1);
    let message = format!(
        "measure.warmup: found {}, but the last flow starts at {}, so no flow would be counted; \
         allowed: a shorter warm-up, or more flows",
        spec.measure.warmup,
        last.since(Time::ZERO).about(4)
    );
    assert_eq!(said(&spec), message);
    spec.measure.warmup = Time(3_000_000_000);
    for until in [1_000_000_000, 3_000_000_000] {
        spec.run.until = Some(Time(until));
        let message = format!(
            "measure.warmup: found 3ms, but no flow starts between it and the run's end at {} \
             (run.until); allowed: a shorter warm-up, or a later end",
            Time(until)
        );
        assert_eq!(said(&spec), message);
    }
}

/// Breaks if a run with a duration stops early, loses count of what had not started, or closes the
/// window of arrivals at another time than the last flow's start.
#[test]
fn a_duration_ends_with_its_last_flow() {
    let mut spec = loaded(0.6, 1);
    let WorkloadKind::Poisson { arrivals, .. } = spec.workloads[0].kind else { panic!("poisson") };
    let stop = Stop::After(Span::from_millis(2));
    spec.workloads[0].kind = WorkloadKind::Poisson { arrivals, stop };
    let output = run(&spec);
    let starts = &output.flows.start_ps;
    let expected = run(&loaded(0.6, 1)).flows.start_ps;
    let within = expected.partition_point(|start| *start <= 2_000_000_000);
    assert_eq!(starts[..], expected[..within]);
    assert_eq!(output.window, (Time(starts[0]), Time(starts[within - 1])));
    assert_eq!(output.not_started, Some(0));
    spec.run.until = Some(Time(1_000_000_000));
    assert_eq!(run(&spec).not_started, None);
}
