//! Runs that cannot end by themselves are stopped, and say which flows wait and where.

use crate::common::*;
use leafspine_core::{Flags, PacketMeta, PortId, Rng, Span, Time};
use leafspine_schemes::aqm::{Admit, Aqm};
use leafspine_schemes::edge::{self, Deliver, EdgeContext, FlowView, HostEdge, HostEnv, Waiting};
use leafspine_schemes::hold::{self, Held, Ingress, IngressHold};
use leafspine_schemes::lb::{LoadBalancer, Needs};
use leafspine_schemes::{Amount, Context, Paths, QueueView, SwitchEnv};
use leafspine_sim::spec::*;
use leafspine_sim::{Factories, Fault, FaultKind, Output, Progress, RunError, Simulation, Stuck};

/// Two flows from two hosts to a third, all under one switch.
fn two_to_one() -> Spec {
    let mut spec = base();
    spec.topology.kind = TopologyKind::Star { hosts: 3 };
    spec.workloads = vec![long_flows(2, 100_000, hosts(&[0, 1]), hosts(&[2]))];
    spec
}

fn outcome(spec: &Spec, factories: &Factories<'_>) -> Result<Output, RunError> {
    let simulation = Simulation::with(spec, factories).expect("a valid spec").checked();
    simulation.run(&Progress::default())
}

fn stuck(spec: &Spec, factories: &Factories<'_>) -> Stuck {
    match outcome(spec, factories) {
        Err(RunError::Stuck(stuck)) => *stuck,
        other => panic!("not stuck: {:?}", other.map(|output| output.end)),
    }
}

fn fault(spec: &Spec, factories: &Factories<'_>) -> Fault {
    match outcome(spec, factories) {
        Err(RunError::Fault(fault)) => *fault,
        other => panic!("no fault: {:?}", other.map(|output| output.end)),
    }
}

/// Breaks if a run in which no packet ever arrives goes on to the end of time: each is larger than
/// the buffer.
#[test]
fn flows_that_only_time_out_are_stuck() {
    let mut spec = two_to_one();
    spec.switch.buffer = Amount::Bytes(39);
    let found = stuck(&spec, &Factories::default());
    assert!(found.time < Time::END, "{found}");
    assert!(found.why.starts_with("no flow has had a new byte for "), "{found}");
    let flow = "flow 0 (host0 to host2, 0 of 100000 bytes, ";
    assert!(found.state.contains(flow), "{found}");
    assert!(found.state.contains("timeouts, no packet in the network)"), "{found}");
    assert!(found.state.contains("all queues are empty"), "{found}");
}

/// Breaks if a run in which nothing is left to happen ends as if all were well: the only packet of
/// each flow is dropped, and no timeout ever comes.
#[test]
fn a_run_without_events_and_with_flows_is_stuck() {
    let mut spec = two_to_one();
    spec.switch.buffer = Amount::Bytes(39);
    let never = Span(u64::MAX);
    (spec.transport.min_rto, spec.transport.max_rto) = (never, never);
    spec.transport.initial_rto = Some(never);
    let found = stuck(&spec, &Factories::default());
    assert_eq!(found.why, "nothing is left to happen");
    spec.run.until = Some(Time(1_000_000));
    let output = outcome(&spec, &Factories::default()).expect("it has an end of its own");
    assert_eq!(output.flows.finished(), 0);
}

/// Holds back all that the receiver sends, for ever.
struct Keeps;

impl IngressHold for Keeps {
    fn arrived(&mut self, _: &PacketMeta, port: PortId, _: u32, _: Time) -> Ingress {
        if port == PortId(2) { Ingress::Hold } else { Ingress::Pass }
    }

    fn backlog_changed(&mut self, _: PortId, _: u32, _: Time) -> Held {
        Held::Keep
    }

    fn needs(&self) -> hold::Needs {
        hold::Needs { capacity: 1 << 20, ..hold::Needs::default() }
    }
}

/// Breaks if packets that are held back for ever are not named, with the port that has them.
#[test]
fn the_diagnosis_says_who_holds_packets_back() {
    let make = |_: &SwitchEnv| Box::new(Keeps) as Box<dyn IngressHold>;
    let found =
        stuck(&two_to_one(), &Factories { hold: Some(Box::new(make)), ..Factories::default() });
    assert!(found.state.contains(" at switch0-host2 (held back)"), "{found}");
}

/// Keeps what has come, and asks to be asked again `after` (or so long before).
struct Reassembler {
    after: Span,
    before: Span,
}

impl HostEdge for Reassembler {
    fn sending(&mut self, _: &mut PacketMeta, _: &mut FlowView<'_>, _: &mut EdgeContext<'_>) {}

    fn needs(&self) -> edge::Needs {
        edge::Needs { reassembly: true, ..edge::Needs::default() }
    }

    fn reassemble(
        &mut self,
        _: &[Waiting],
        _: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) -> Deliver {
        Deliver { count: 0, again: Some(Time((cx.now + self.after).0 - self.before.0)) }
    }
}

fn reassembler(after: Span, before: Span) -> Factories<'static> {
    let make = move |_: &HostEnv| Box::new(Reassembler { after, before }) as Box<dyn HostEdge>;
    Factories { edge: Some(Box::new(make)), ..Factories::default() }
}

/// Breaks if a scheme that asks to be called again at this very instant, for ever, hangs the run.
#[test]
fn a_loop_without_time_is_stuck() {
    let found = stuck(&two_to_one(), &reassembler(Span::ZERO, Span::ZERO));
    assert!(found.why.starts_with("time has stood still for "), "{found}");
    assert!(found.state.contains("at host2 (before its transport)"), "{found}");
}

/// Breaks if a scheme can send time backwards.
#[test]
fn a_scheme_that_asks_for_the_past_is_at_fault() {
    let found = fault(&two_to_one(), &reassembler(Span::ZERO, Span(1)));
    assert_eq!(found.place, "host2");
    assert!(found.what.to_string().contains("asks to be called again at "), "{found}");
}

/// Sends every data packet on, and does `damage` to it first.
struct Breaks<F> {
    damage: F,
    needs: Needs,
}

impl<F: FnMut(&mut PacketMeta, &mut Context<'_>) -> Option<Time> + Send> LoadBalancer
    for Breaks<F>
{
    fn needs(&self) -> Needs {
        self.needs
    }

    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        if !self.needs.tick && !self.needs.leaving {
            (self.damage)(packet, cx);
        }
        paths.ports[0]
    }

    fn leaving(&mut self, packet: &mut PacketMeta, to: PortId, _: Time, cx: &mut Context<'_>) {
        (self.damage)(packet, cx);
        if let Some((port, _)) = cx.outbox.last_mut() {
            *port = to;
        }
    }

    fn tick(&mut self, cx: &mut Context<'_>) -> Option<Time> {
        (self.damage)(&mut PacketMeta::default(), cx)
    }
}

fn breaks<F>(damage: F, needs: Needs) -> Factories<'static>
where
    F: FnMut(&mut PacketMeta, &mut Context<'_>) -> Option<Time> + Clone + Send + 'static,
{
    let make = move |_: &SwitchEnv| -> Box<dyn LoadBalancer> {
        Box::new(Breaks { damage: damage.clone(), needs })
    };
    Factories { balancer: Some(Box::new(make)), ..Factories::default() }
}

/// Breaks if a scheme from outside can make bytes vanish from packets without being found out.
#[test]
fn a_scheme_that_eats_payload_is_found_by_the_check() {
    let eat = |packet: &mut PacketMeta, _: &mut Context<'_>| {
        packet.payload = packet.payload.saturating_sub(1);
        None
    };
    let found = fault(&base(), &breaks(eat, Needs::default()));
    assert!(found.what.to_string().contains(" bytes of payload sent, "), "{found}");
}

/// Breaks if a scheme from outside can give a packet to another flow without being found out.
#[test]
fn a_scheme_that_swaps_flows_is_found_by_the_check() {
    let swap = |packet: &mut PacketMeta, _: &mut Context<'_>| {
        packet.flow = 0;
        None
    };
    let found = fault(&base(), &breaks(swap, Needs::default()));
    assert!(
        found.place.starts_with("flow ") && found.what.to_string().contains("in the network"),
        "{found}"
    );
}

/// A balancer that picks this port, whatever the paths are.
struct Astray(PortId);

impl LoadBalancer for Astray {
    fn pick(&mut self, _: &mut PacketMeta, _: &Paths<'_>, _: &mut Context<'_>) -> PortId {
        self.0
    }
}

/// Breaks if a packet goes where its balancer says though no path leads there: to another switch's
/// port, or down to a host of this one. Nor may it take a checked run or a debug assertion to find
/// that, which would be a panic here and nothing in a release build.
#[test]
fn a_pick_that_is_no_path_is_a_fault() {
    for port in [PortId(9999), PortId(0)] {
        let make = move |_: &SwitchEnv| Box::new(Astray(port)) as Box<dyn LoadBalancer>;
        let factories = Factories { balancer: Some(Box::new(make)), ..Factories::default() };
        let spec = Spec { balancer: scheme("rps"), ..base() };
        for checked in [false, true] {
            let run = Simulation::with(&spec, &factories).expect("a valid spec");
            let run = if checked { run.checked() } else { run };
            let found = match run.run(&Progress::default()) {
                Err(RunError::Fault(found)) => *found,
                other => panic!("no fault: {:?}", other.map(|output| output.end)),
            };
            let FaultKind::NoPath { scheme, port: picked, paths } = &found.what else {
                panic!("another fault: {found}")
            };
            assert_eq!((scheme.as_str(), *picked), ("rps", port));
            assert!(found.place.starts_with("leaf") && !paths.contains(&port), "{found}");
            let text = format!("the balancer \"rps\" picked port {}, no path; allowed: ", port.0);
            assert!(found.to_string().starts_with(&text), "{found}");
        }
    }
}

/// Breaks if a balancer's own packet leaves by a port of another switch, or by none.
#[test]
fn a_packet_sent_by_no_port_is_a_fault() {
    let send = |packet: &mut PacketMeta, cx: &mut Context<'_>| {
        cx.outbox.push((PortId(999), PacketMeta { flags: Flags::PROBE, ..*packet }));
        None
    };
    let found = fault(&base(), &breaks(send, Needs::default()));
    assert!(found.place.starts_with("leaf"), "{found}");
    assert!(matches!(found.what, FaultKind::NoPort { port: PortId(999), .. }), "{found}");
}

/// Breaks if a balancer whose tick does not move on hangs the run.
#[test]
fn a_tick_that_does_not_move_on_is_a_fault() {
    let again = |_: &mut PacketMeta, cx: &mut Context<'_>| Some(cx.now);
    let found = fault(&base(), &breaks(again, Needs { tick: true, ..Needs::default() }));
    assert!(found.place.starts_with("leaf") || found.place.starts_with("spine"), "{found}");
}

/// Breaks if a balancer that answers every packet it sends with another overflows the stack, which
/// nothing can catch.
#[test]
fn packets_about_packets_end_somewhere() {
    let echo = |packet: &mut PacketMeta, cx: &mut Context<'_>| {
        cx.outbox.push((PortId(0), *packet));
        None
    };
    let found = fault(&base(), &breaks(echo, Needs { leaving: true, ..Needs::default() }));
    assert!(found.what.to_string().contains("answers each packet that it sends"), "{found}");
}

/// What a scheme of a switch or host does that its contract forbids.
#[derive(Clone, Copy)]
enum Forbidden {
    MarkAll,
    SendData,
    LetGoTooMany,
}

impl Aqm for Forbidden {
    fn admit(&mut self, _: &PacketMeta, _: &QueueView, _: Time, _: &mut Rng) -> Admit {
        Admit::Mark
    }
}

impl HostEdge for Forbidden {
    fn needs(&self) -> edge::Needs {
        edge::Needs { reassembly: true, ..edge::Needs::default() }
    }

    fn sending(&mut self, data: &mut PacketMeta, _: &mut FlowView<'_>, cx: &mut EdgeContext<'_>) {
        if matches!(self, Forbidden::SendData) {
            cx.outbox.push(*data);
        }
    }

    fn reassemble(
        &mut self,
        waiting: &[Waiting],
        _: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) -> Deliver {
        Deliver { count: waiting.len() + 3, again: None }
    }
}

/// Breaks if a scheme from outside may mark what nobody takes for marked, send data that is no
/// flow's, or let packets go that are not there; or if it takes a checked run or a debug assertion to
/// find that: a release build has neither.
#[test]
fn what_contracts_forbid_is_a_fault() {
    let at_ports = |_: &SwitchEnv, _: PortId| Box::new(Forbidden::MarkAll) as Box<dyn Aqm>;
    let at_hosts = |what: Forbidden| {
        let make = move |_: &HostEnv| Box::new(what) as Box<dyn HostEdge>;
        Factories { edge: Some(Box::new(make)), ..Factories::default() }
    };
    let by_manager = Factories { aqm: Some(Box::new(at_ports)), ..Factories::default() };
    for (factories, place, expected) in [
        (by_manager, "host0", FaultKind::Unmarkable),
        (at_hosts(Forbidden::SendData), "host0", FaultKind::NoProbe),
        (at_hosts(Forbidden::LetGoTooMany), "host2", FaultKind::TooMany { count: 4, waiting: 1 }),
    ] {
        for ports in [PortModel::Auto, PortModel::General] {
            let mut spec = two_to_one();
            (spec.transport.ecn, spec.run.ports) = (Some(false), ports);
            let run = Simulation::with(&spec, &factories).expect("a valid spec");
            let found = match run.run(&Progress::default()) {
                Err(RunError::Fault(found)) => *found,
                other => panic!("no fault: {:?}", other.map(|output| output.end)),
            };
            assert_eq!((found.place.as_str(), found.what), (place, expected.clone()));
        }
    }
}
