//! What was once wrong, each with the smallest run that shows it.

use crate::common::*;
use leafspine_core::{Flags, PacketMeta, PortId, Span, Time};
use leafspine_schemes::lb::{Arrival, LoadBalancer, Needs};
use leafspine_schemes::{Context, Paths};
use leafspine_sim::spec::*;
use leafspine_sim::{Column, Factories};

/// One flow from leaf 0 to leaf 1 over two spines, all of the run measured.
fn one_flow() -> Spec {
    let mut spec = base();
    spec.topology.kind = leaf_spine(2, 2, 1);
    spec.workloads = vec![long_flows(1, 2_000_000, hosts(&[0]), hosts(&[1]))];
    spec.measure.window = Window::All;
    spec
}

/// Breaks if a flow that moves because one uplink is left has not changed its path: it leaves the
/// uplink that goes down and comes back, on one of the two.
#[test]
fn a_forced_move_is_a_path_change() {
    let moves = |spine: u32| {
        let mut spec = one_flow();
        let link = format!("leaf0-spine{spine}");
        spec.changes = vec![
            LinkChange { up: Some(false), ..change(&link, Span::from_micros(200)) },
            LinkChange { up: Some(true), ..change(&link, Span::from_micros(400)) },
        ];
        run(&spec).flows.path_changes[0]
    };
    assert_eq!(moves(0) + moves(1), 2);
}

/// Answers every seventh segment's departure with a packet of its own on the same port.
struct Answering {
    exact: bool,
}

impl LoadBalancer for Answering {
    fn needs(&self) -> Needs {
        Needs { leaving: true, exact_dequeue: self.exact, arrived: true, ..Needs::default() }
    }

    fn pick(&mut self, _: &mut PacketMeta, paths: &Paths<'_>, _: &mut Context<'_>) -> PortId {
        paths.ports[0]
    }

    fn arrived(&mut self, packet: &mut PacketMeta, _: PortId, _: &mut Context<'_>) -> Arrival {
        if packet.flags.has(Flags::PROBE) { Arrival::Consume } else { Arrival::Forward }
    }

    fn leaving(&mut self, packet: &mut PacketMeta, to: PortId, _: Time, cx: &mut Context<'_>) {
        if packet.is_data() && packet.seq.is_multiple_of(7) && to != PortId(0) {
            let probe = PacketMeta { flags: Flags::PROBE, size: 64, ..PacketMeta::default() };
            cx.outbox.push((to, probe));
        }
    }
}

/// Breaks if a packet that a balancer sends when it is told of a departure goes onto the line that
/// the departing packet is about to take: two packets at once.
#[test]
fn a_departure_may_be_answered_on_the_same_port() {
    for exact in [false, true] {
        let factories = Factories {
            balancer: Some(Box::new(move |_| Box::new(Answering { exact }))),
            ..Factories::default()
        };
        assert!(run_with(&one_flow(), &factories).counters.consumed > 100);
    }
}

/// Breaks if a second `packets` probe takes a port away from the first.
#[test]
fn packet_probes_may_overlap() {
    let mut spec = one_flow();
    for (index, ports) in ["leaf0-*", "leaf0-host0"].into_iter().enumerate() {
        spec.probes.push(ProbeSpec {
            kind: ProbeKind::Packets,
            ports: ports.to_owned(),
            flows: Vec::new(),
            every: Span::ZERO,
            name: format!("probe{index}"),
        });
    }
    let output = run(&spec);
    let seen = |probe: usize| {
        let series = &output.probes[probe];
        let at = series.ports.iter().position(|p| p == "leaf0-host0").expect("watched") as u32;
        match &series.columns[1].1 {
            Column::Index(ports) => ports.iter().filter(|p| **p == at).count(),
            other => panic!("{other:?}"),
        }
    };
    assert!(seen(0) > 0);
    assert_eq!(seen(0), seen(1));
}

/// Breaks if the packets whose delays count depend on the kind of port: they are those accepted
/// while the window is open.
#[test]
fn delays_in_a_cut_window_do_not_depend_on_the_port() {
    let mut spec = base();
    spec.measure.window = Window::Between(Time(300_000_000), Time(900_000_000));
    let fast = run(&spec);
    spec.run.ports = PortModel::General;
    let general = run(&spec);
    assert_eq!(fast.trace_hash, general.trace_hash);
    for (f, g) in fast.ports.iter().zip(&general.ports) {
        let delays = |p: &leafspine_sim::PortRow| (p.delay_mean_ps, p.delay_p99_ps);
        assert_eq!(delays(f), delays(g), "{}", f.name);
    }
}

/// Breaks if a window that the run never reached is reported as if it had been measured.
#[test]
fn a_window_after_the_end_is_empty() {
    let mut spec = one_flow();
    spec.measure.window = Window::Between(Time(1_000_000_000_000), Time(2_000_000_000_000));
    let output = run(&spec);
    assert_eq!(output.window, (output.end, output.end));
}
