//! BBR in a running fabric.

use super::common::*;
use super::{numbers, probe};
use leafspine_core::{Rate, Span, Time};
use leafspine_schemes::{Amount, Value};
use leafspine_sim::Output;
use leafspine_sim::spec::*;

/// `senders` hosts that send to one by a switch, all links of that rate, 10 us each.
fn star(name: &str, senders: u32, rate: Rate, bytes: u64) -> Spec {
    let mut spec = base();
    spec.topology.kind = TopologyKind::Star { hosts: senders + 1 };
    spec.topology.host_link = link(rate, Span::from_micros(10));
    spec.switch.buffer = Amount::Packets(4_000);
    spec.aqm = scheme("droptail");
    spec.transport.scheme = scheme(name);
    spec.transport.min_rto = Span::from_millis(200);
    spec.transport.stack.rack = true;
    let receiver = HostSet::First(1);
    spec.workloads = vec![long_flows(senders, bytes, HostSet::Rest, receiver)];
    spec.measure.window = Window::All;
    spec
}

/// Packets that wait at a port, every `every`.
fn watched(mut spec: Spec, port: &str, every: Span) -> (Output, Vec<u64>) {
    spec.probes = vec![probe(ProbeKind::Queue, port, every)];
    let output = run(&spec);
    let queue = numbers(&output.probes[0], "packets");
    (output, queue)
}

/// Breaks if a lone flow does not have the line, or if more waits at its host's port than its probes for bandwidth put
/// there. The round trip is 46 us, so the line holds 38 packets; a probe sends a quarter of that more in a
/// round trip (version 1), and in the three that it takes to see that nothing comes of it (version 3), by when
/// the window, 2.25 times the product, has ended it: a queue of 1.25 x 38 and the two segments of the budget.
/// On average there are less than six, for most of the time nothing is probed for.
#[test]
fn a_lone_flow_has_the_line_and_no_queue() {
    for (name, most) in [("bbr1", 12), ("bbr3", 50)] {
        let spec = star(name, 1, Rate::from_gbps(10), 100_000_000);
        let (output, queue) = watched(spec, "host1-switch0", Span::from_micros(50));
        let ideal = output.flows.ideal_fct_ps[0] as f64 / output.flows.fct_ps[0] as f64;
        let steady = &queue[200..queue.len() - 20];
        let (largest, sum) = (steady.iter().max().expect("samples"), steady.iter().sum::<u64>());
        let mean = sum as f64 / steady.len() as f64;
        println!("{name}: {ideal:.4} of the line, queue {largest} at most, {mean:.2} on average");
        assert!(ideal > 0.95, "{name}: {ideal}");
        assert!(*largest <= most && mean < 6.0, "{name}: {largest}, {mean}");
        assert_eq!(output.counters.dropped, [0; 4]);
    }
}

/// Breaks if two flows do not share the line: neither has more than 1.5 times the other over 200 ms.
#[test]
fn two_flows_share_the_line() {
    for name in ["bbr1", "bbr3"] {
        let mut spec = star(name, 2, Rate::from_gbps(1), 40_000_000);
        spec.run.until = Some(Time(Span::from_millis(300).0));
        spec.probes = vec![probe(ProbeKind::Packets, "switch0-host0", Span::ZERO)];
        let output = run_long(&spec);
        let series = &output.probes[0];
        let (time, flow, size) =
            (numbers(series, "time_ps"), numbers(series, "flow"), numbers(series, "size"));
        let from = Span::from_millis(100).0;
        let got = [0, 1].map(|of| {
            let rows = (0..time.len()).filter(|row| time[*row] >= from && flow[*row] == of);
            rows.map(|row| size[row]).sum::<u64>() as f64
        });
        let share = got[0] / got[1];
        println!("{name}: {got:?}, {share:.3}");
        assert!((1.0 / 1.5..1.5).contains(&share), "{name}: {share}");
        let line = (got[0] + got[1]) * 8.0 / 0.2 / 1e9;
        assert!(line > 0.9, "{name}: {line} Gb/s");
    }
}

/// Breaks if `ProbeRTT` is not there ten (version 1) or five seconds (version 3) after the start, for 200 ms, or if
/// the window is not four segments, or half the product, then. The line is 20 Mb/s with a round trip of 101 ms,
/// a product of 161 segments of payload.
#[test]
fn the_round_trip_is_probed_for() {
    for (name, at, window) in [("bbr1", 10.0, 3..=5), ("bbr3", 5.0, 60..=90)] {
        let mut spec = star(name, 1, Rate::from_mbps(20), 100_000_000);
        spec.topology.host_link.delay = Span::from_millis(25);
        spec.run.until = Some(Time(Span::from_millis(12_000).0));
        spec.transport.min_rto = Span::from_millis(1_000);
        spec.probes = vec![probe(ProbeKind::Window, "", Span::from_millis(10))];
        let output = run_long(&spec);
        let series = &output.probes[0];
        let (time, bytes) = (numbers(series, "time_ps"), numbers(series, "window_bytes"));
        let low: Vec<f64> = (0..time.len())
            .filter(|row| time[*row] > 3_000_000_000_000 && window.contains(&(bytes[*row] / 1460)))
            .map(|row| time[row] as f64 / 1e12)
            .collect();
        let (first, last) = (low[0], low.iter().filter(|s| **s < low[0] + 1.0).count());
        println!("{name}: {first} s, {last} samples of 10 ms");
        assert!((at..at + 0.6).contains(&first), "{name}: {first}");
        assert!((20..60).contains(&last), "{name}: {last}");
    }
}

/// Breaks if the phases of version 1's cycle, or the waits of version 3, are not drawn for each flow and seed: a
/// run with another seed sends other packets, the same seed the same, whatever drives it (`run` checks).
#[test]
fn draws_follow_the_seed() {
    for name in ["bbr1", "bbr3"] {
        let hash = |seed| {
            let mut spec = star(name, 2, Rate::from_gbps(10), 20_000_000);
            spec.run.seed = seed;
            run(&spec).trace_hash
        };
        assert_eq!(hash(1), hash(1));
        assert_ne!(hash(1), hash(2), "{name}");
    }
}

/// Breaks if version 3 does not answer marks: with a threshold of 10 packets and four flows, the queue is shorter.
#[test]
fn marks_shorten_the_queue() {
    let mean = |ecn| {
        let mut spec = star("bbr3", 4, Rate::from_gbps(10), 20_000_000);
        spec.transport.ecn = Some(ecn);
        spec.aqm = scheme_with("ecn-threshold", "threshold", Value::Amount(Amount::Packets(10)));
        let (_, queue) = watched(spec, "switch0-host0", Span::from_micros(20));
        queue.iter().sum::<u64>() as f64 / queue.len() as f64
    };
    let (with, without) = (mean(true), mean(false));
    println!("{with:.1} packets with marks, {without:.1} without");
    assert!(with < 0.7 * without, "{with}, {without}");
}
