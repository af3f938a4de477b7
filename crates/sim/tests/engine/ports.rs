//! The one-event port and the general port are one port; neither depends on who looks.

use crate::common::*;
use leafspine_core::{Span, Time};
use leafspine_schemes::{Amount, Value};
use leafspine_sim::spec::*;
use proptest::prelude::*;

fn general(spec: &Spec) -> Spec {
    let mut spec = spec.clone();
    spec.run.ports = PortModel::General;
    spec
}

/// Breaks if the one-event port differs from the general one in a single packet-hop: drop-tail.
#[test]
fn both_ports_give_the_same_trace_for_drop_tail() {
    let mut spec = base();
    spec.aqm = scheme("droptail");
    spec.transport.scheme = scheme("newreno");
    spec.switch.buffer = Amount::Packets(20);
    let (fast, slow) = (run(&spec), run(&general(&spec)));
    assert!(fast.counters.dropped[0] > 0, "the buffers must overflow for this to mean something");
    assert_eq!(fast.counters.packet_hops, slow.counters.packet_hops);
    assert_eq!(fast.trace_hash, slow.trace_hash);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Breaks if there is any traffic, rate, buffer or scheme for which the ports differ, in the
    /// trace or in what they measure.
    #[test]
    fn both_ports_agree(
        seed in 0u64..1000,
        buffer in prop_oneof![
            (5u32..300).prop_map(Amount::Packets),
            (5_000u64..400_000).prop_map(Amount::Bytes),
        ],
        mbps in prop_oneof![Just(10_000u64), Just(300), Just(937)],
        lb in proptest::sample::select(
            vec!["ecmp", "rps", "drb", "letflow", "conga", "hula", "drill", "drill, late", "qall"]
        ),
        aqm in prop_oneof![Just("droptail"), Just("ecn-threshold"), Just("red")],
        load in 0.2f64..1.3,
    ) {
        let mut spec = base();
        spec.run.seed = seed;
        spec.switch.buffer = buffer;
        spec.topology.fabric_link.rate = leafspine_core::Rate::from_mbps(mbps);
        spec.balancer = match lb {
            // What is known of queues comes from packets that leave, which the ports tell of at other times.
            "drill, late" => scheme_with("drill", "clone_delay", Value::Span(Span::from_micros(20))),
            name => scheme(name),
        };
        spec.aqm = scheme(aqm);
        spec.workloads = vec![fixed_flows(60, 60_000, load)];
        let (fast, slow) = (run(&spec), run(&general(&spec)));
        prop_assert_eq!(fast.trace_hash, slow.trace_hash);
        prop_assert_eq!(&fast.flows.fct_ps, &slow.flows.fct_ps);
        for (f, s) in fast.ports.iter().zip(&slow.ports) {
            prop_assert_eq!((f.packets, f.drops, f.marks), (s.packets, s.drops, s.marks));
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (a.abs() + b.abs());
            prop_assert!(close(f.queue_mean_packets, s.queue_mean_packets), "{} {f:?} {s:?}", f.name);
            prop_assert!(close(f.utilisation, s.utilisation), "{f:?} {s:?}");
        }
    }
}

/// Breaks if a probe changes what packets do.
#[test]
fn probes_change_nothing() {
    let plain = base();
    let mut probed = base();
    probed.probes = [
        ProbeKind::Queue,
        ProbeKind::Utilisation,
        ProbeKind::Window,
        ProbeKind::State,
        ProbeKind::Signals,
        ProbeKind::Packets,
    ]
    .into_iter()
    .enumerate()
    .map(|(i, kind)| ProbeSpec {
        kind,
        ports: "leaf0-*".to_owned(),
        flows: Vec::new(),
        every: Span::from_micros(50),
        name: format!("probe{i}"),
    })
    .collect();
    let (a, b) = (run(&plain), run(&probed));
    assert_eq!(a.trace_hash, b.trace_hash);
    assert_eq!(a.flows.fct_ps, b.flows.fct_ps);
    assert_eq!(b.probes.len(), 6);
    for series in &b.probes {
        let length = |c: &leafspine_sim::Column| match c {
            leafspine_sim::Column::U64(v) => v.len(),
            leafspine_sim::Column::U32(v) | leafspine_sim::Column::Index(v) => v.len(),
            leafspine_sim::Column::F64(v) => v.len(),
        };
        let first = length(&series.columns[0].1);
        assert!(first > 0, "{} saw nothing", series.name);
        assert!(series.columns.iter().all(|(_, c)| length(c) == first), "{}", series.name);
    }
}

/// Breaks if the seed does not decide everything, or decides nothing.
#[test]
fn same_seed_same_trace() {
    let mut other = base();
    other.run.seed = 2;
    assert_eq!(run(&base()).trace_hash, run(&base()).trace_hash);
    assert_ne!(run(&base()).trace_hash, run(&other).trace_hash);
}

/// Breaks if dequeue marking marks by what was found at enqueue: the same threshold, two ports of
/// the same kind, different marks.
#[test]
fn marking_at_dequeue_sees_the_queue_at_dequeue() {
    let at = |at: &str| {
        let mut spec = base();
        spec.aqm = scheme_with("ecn-threshold", "at", Value::Word(at.to_owned()));
        run(&spec)
    };
    let (enqueue, dequeue) = (at("enqueue"), at("dequeue"));
    assert!(enqueue.counters.marks > 0 && dequeue.counters.marks > 0);
    assert_ne!(enqueue.trace_hash, dequeue.trace_hash);
}

/// Breaks if a window's edge is applied to the wrong side: two halves of a run must add up to the
/// whole, in time busy, packets waited and packets counted.
#[test]
fn windows_cut_exactly() {
    for model in [PortModel::Auto, PortModel::General] {
        let in_window = |window| {
            let mut spec = base();
            spec.run.ports = model;
            spec.measure.window = window;
            run(&spec)
        };
        let whole = in_window(Window::All);
        let (end, middle) = (whole.end, Time(whole.end.0 / 3));
        let halves = [
            in_window(Window::Between(Time::ZERO, middle)),
            in_window(Window::Between(middle, end)),
        ];
        let span = |o: &leafspine_sim::Output| (o.window.1 - o.window.0).0 as f64;
        for (at, port) in whole.ports.iter().enumerate() {
            let sum = |f: fn(&leafspine_sim::PortRow) -> f64| -> f64 {
                halves.iter().map(|h| f(&h.ports[at]) * span(h)).sum()
            };
            let total = span(&whole);
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-6 * (a.abs() + b.abs() + 1.0);
            assert!(close(sum(|p| p.utilisation), port.utilisation * total), "{}", port.name);
            let waited = sum(|p| p.queue_mean_packets);
            assert!(close(waited, port.queue_mean_packets * total), "{}", port.name);
            let packets: u64 = halves.iter().map(|h| h.ports[at].packets).sum();
            assert_eq!(packets, port.packets, "{}", port.name);
        }
    }
}
