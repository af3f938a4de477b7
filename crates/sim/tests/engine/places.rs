//! The four places where a scheme acts, each proven by a scheme of a few lines: a switch choosing,
//! a switch's queue, a switch's ingress, a host's edge. None of them is in the registry.

use crate::common::*;
use leafspine_core::{Flags, PacketMeta, PortId, Rng, Span, Time};
use leafspine_schemes::aqm::{self, Admit, Aqm, Release};
use leafspine_schemes::cc::{AckSample, CongestionControl, Control, CustomControl, Loss};
use leafspine_schemes::edge::{self, Deliver, EdgeContext, FlowView, HostEdge, Waiting};
use leafspine_schemes::hold::{self, Held, Ingress, IngressHold};
use leafspine_schemes::lb::{Arrival, LoadBalancer, Needs};
use leafspine_schemes::{Context, Paths, QueueView, SwitchEnv};
use leafspine_sim::Factories;
use leafspine_sim::spec::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// Always the last path; beacons to every fabric neighbour each 100 us, which neighbours consume.
struct Beacon {
    fabric_ports: Vec<PortId>,
    arrived: Arc<AtomicU64>,
    left: Arc<AtomicU64>,
    beacons: Arc<AtomicU64>,
    exact: bool,
}

impl LoadBalancer for Beacon {
    fn needs(&self) -> Needs {
        Needs {
            arrived: true,
            leaving: true,
            exact_dequeue: self.exact,
            tick: true,
            ..Needs::default()
        }
    }

    fn pick(&mut self, _: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        let last = paths.ports[paths.ports.len() - 1];
        assert!(cx.ports.is_up(last));
        last
    }

    fn arrived(&mut self, packet: &mut PacketMeta, _: PortId, _: &mut Context<'_>) -> Arrival {
        count(&self.arrived);
        if packet.flags.has(Flags::PROBE) { Arrival::Consume } else { Arrival::Forward }
    }

    fn leaving(&mut self, _: &mut PacketMeta, _: PortId, at: Time, cx: &mut Context<'_>) {
        assert!(at >= cx.now && (!self.exact || at == cx.now));
        count(&self.left);
    }

    fn tick(&mut self, cx: &mut Context<'_>) -> Option<Time> {
        for port in &self.fabric_ports {
            count(&self.beacons);
            let probe = PacketMeta { flags: Flags::PROBE, size: 64, ..PacketMeta::default() };
            cx.outbox.push((*port, probe));
        }
        Some(cx.now + Span::from_micros(100))
    }
}

/// Breaks if a balancer's choice is not taken, or if it is not told of arrivals, departures and
/// time, or if its own packets are not sent.
#[test]
fn choosing() {
    for exact in [false, true] {
        let counters: [Arc<AtomicU64>; 3] = Default::default();
        let [arrived, left, beacons] = counters.clone();
        let make = |env: &SwitchEnv| -> Box<dyn LoadBalancer> {
            let fabric = |p: &leafspine_schemes::PortInfo| {
                matches!(p.neighbour, leafspine_schemes::Neighbour::Switch(..))
            };
            let ports = env.ports.iter().enumerate().filter(|(_, p)| fabric(p));
            Box::new(Beacon {
                fabric_ports: ports.map(|(i, _)| PortId(i as u16)).collect(),
                arrived: arrived.clone(),
                left: left.clone(),
                beacons: beacons.clone(),
                exact,
            })
        };
        let factories = Factories { balancer: Some(Box::new(make)), ..Factories::default() };
        let mut spec = base();
        spec.measure.window = Window::All;
        let output = run_once(&spec, &factories);
        // Beacons alone take the first spine's links; data takes the last's.
        assert!(port(&output, "leaf0-spine0").bytes < port(&output, "leaf0-spine3").bytes / 20);
        assert_eq!(output.counters.injected, read(&beacons));
        assert!(output.counters.consumed > 0);
        let flying = output.counters.in_flight;
        assert!(output.counters.consumed + output.counters.dropped[0] + flying >= read(&beacons));
        assert!(read(&arrived) > output.counters.delivered, "every switch on the way is told");
        let departures: u64 =
            output.ports.iter().filter(|p| !p.name.starts_with("host")).map(|p| p.packets).sum();
        assert!(read(&left).abs_diff(departures) <= flying, "{} {departures}", read(&left));
    }
}

/// Marks every tenth capable packet on its way in, drops every hundredth data packet on its way out.
struct Tenth {
    seen: u64,
    sent: u64,
}

impl Aqm for Tenth {
    fn admit(&mut self, packet: &PacketMeta, view: &QueueView, _: Time, _: &mut Rng) -> Admit {
        assert!(view.this.packets <= view.port_total.packets);
        self.seen += u64::from(packet.is_data());
        if packet.is_data() && self.seen.is_multiple_of(10) { Admit::Mark } else { Admit::Take }
    }

    fn needs(&self) -> aqm::Needs {
        aqm::Needs { release: true, ..aqm::Needs::default() }
    }

    fn release(
        &mut self,
        packet: &mut PacketMeta,
        _: &QueueView,
        _: Span,
        _: Time,
        _: &mut Rng,
    ) -> Release {
        self.sent += u64::from(packet.is_data());
        if packet.is_data() && self.sent.is_multiple_of(100) {
            Release::Drop
        } else {
            Release::Send
        }
    }
}

/// Breaks if a manager's marks or drops do not happen, at either end of the queue.
#[test]
fn queue() {
    let factories = Factories {
        aqm: Some(Box::new(|_, _| Box::new(Tenth { seen: 0, sent: 0 }))),
        ..Factories::default()
    };
    let mut spec = base();
    spec.measure.window = Window::All;
    let output = run_with(&spec, &factories);
    let c = output.counters;
    let data_hops = c.data_packets as f64 * 4.0;
    let marks: u64 = output.ports.iter().map(|p| p.marks).sum();
    assert!((marks as f64 / data_hops - 0.1).abs() < 0.01, "{marks} {c:?}");
    // A packet that two ports mark is one marked packet: 1 - 0.9^4 of all.
    let share = c.marks as f64 / c.data_packets as f64;
    assert!((share - (1.0 - 0.9f64.powi(4))).abs() < 0.02, "{share}");
    assert!((c.dropped[1] as f64 / data_hops - 0.01).abs() < 0.002, "{c:?}");
}

/// Holds ACKs while more than `HIGH` packets wait at the same port's output, lets them go with ECE
/// at `LOW`.
struct HoldAcks {
    congested: Vec<bool>,
    held: Arc<AtomicU64>,
    capacity: usize,
    max_hold: Option<Span>,
}

const HIGH: u32 = 10;
const LOW: u32 = 5;

impl IngressHold for HoldAcks {
    fn arrived(&mut self, packet: &PacketMeta, port: PortId, _: u32, _: Time) -> Ingress {
        if packet.is_pure_ack() && self.congested[usize::from(port.0)] {
            count(&self.held);
            return Ingress::Hold;
        }
        Ingress::Pass
    }

    fn backlog_changed(&mut self, port: PortId, backlog: u32, _: Time) -> Held {
        let congested = &mut self.congested[usize::from(port.0)];
        if backlog > HIGH {
            *congested = true;
        } else if backlog <= LOW && *congested {
            *congested = false;
            return Held::Release { ece: true };
        }
        Held::Keep
    }

    fn needs(&self) -> hold::Needs {
        hold::Needs { capacity: self.capacity, max_hold: self.max_hold, ..hold::Needs::default() }
    }
}

fn with_hold(capacity: usize, max_hold: Option<Span>) -> (leafspine_sim::Output, u64) {
    let held = Arc::new(AtomicU64::new(0));
    let make = |env: &SwitchEnv| -> Box<dyn IngressHold> {
        Box::new(HoldAcks {
            congested: vec![false; env.ports.len()],
            held: held.clone(),
            capacity,
            max_hold,
        })
    };
    let factories = Factories { hold: Some(Box::new(make)), ..Factories::default() };
    let mut spec = base();
    spec.aqm = scheme("droptail");
    let output = run_with(&spec, &factories);
    (output, read(&held))
}

/// Breaks if a held packet is lost or never let go, or if ECE does not reach the senders: with
/// DCTCP and no marking anywhere, ECE on released ACKs alone must shrink the windows.
#[test]
fn ingress() {
    let (held_back, held) = with_hold(1024, None);
    assert!(held > 100, "{held} ACKs held");
    let mut spec = base();
    spec.aqm = scheme("droptail");
    let free = run(&spec);
    let mean =
        |o: &leafspine_sim::Output| o.flows.mean_window.iter().sum::<f64>() / o.flows.len() as f64;
    assert!(mean(&held_back) < mean(&free), "{} {}", mean(&held_back), mean(&free));
    assert_eq!(held_back.counters.hold_overflows, 0);
}

/// Breaks if a full hold queue loses a packet, or a bound on the holding time is not kept.
#[test]
fn ingress_bounds() {
    let (full, _) = with_hold(1, None);
    assert!(full.counters.hold_overflows > 0);
    let (short, _) = with_hold(1024, Some(Span::from_micros(1)));
    assert!(short.counters.hold_expiries > 0);
}

/// A congestion control of three lines: a window that never moves.
#[derive(Clone, Debug)]
struct Fixed {
    window: u32,
}

impl CongestionControl for Fixed {
    fn on_ack(&mut self, _: &AckSample, _: Time) {}

    fn on_loss(&mut self, _: Loss, _: u32, _: Time) {}

    fn window(&self) -> u32 {
        self.window
    }

    fn ssthresh(&self) -> u32 {
        self.window
    }
}

impl CustomControl for Fixed {
    fn fresh(&self) -> Box<dyn CustomControl> {
        Box::new(self.clone())
    }
}

/// Breaks if a control from outside does not govern the window: it is what every flow reports.
#[test]
fn congestion_control() {
    let control = Control::Custom(Box::new(Fixed { window: 5 * 1460 }));
    let factories = Factories { control: Some(control), ..Factories::default() };
    let output = run_with(&base(), &factories);
    assert!(output.flows.mean_window.iter().all(|w| (w - 7300.0).abs() < 1e-6));
}

/// Tags data with class 1, tells the sender how many packets came, and puts what it receives in
/// order before the transport sees it.
struct InOrder {
    acks: Arc<AtomicU64>,
}

impl HostEdge for InOrder {
    fn sending(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) {
        assert!(flow.bytes_sent <= flow.size);
        packet.class = u8::from(packet.is_data());
        flow.state[0] += 1;
    }

    fn acked(
        &mut self,
        ack: &PacketMeta,
        rtt: Option<Span>,
        flow: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) {
        assert!(ack.flags.has(Flags::ACK) && flow.state[0] > 0);
        let told = u64::from(ack.header.0[0]);
        assert!(told <= flow.state[0], "no more can have come than were sent");
        flow.state[1] = flow.state[1].max(told);
        assert!(ack.flags.has(Flags::SYN) || flow.state[1] > 0, "the other side has told");
        assert!(rtt.is_none_or(|rtt| rtt > Span::ZERO));
        count(&self.acks);
    }

    fn receiving(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) {
        assert_eq!(packet.class, 1, "the tag travels");
        flow.state[0] += 1;
    }

    fn replying(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) {
        packet.header.0[0] = flow.state[0] as u32;
    }

    fn needs(&self) -> edge::Needs {
        edge::Needs { reassembly: true, ..edge::Needs::default() }
    }

    fn reassemble(
        &mut self,
        waiting: &[Waiting],
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) -> Deliver {
        const PATIENCE: Span = Span::from_millis(1);
        let in_order = waiting
            .iter()
            .zip(flow.expected..)
            .take_while(|(w, next)| w.packet.seq <= *next)
            .count();
        let oldest = waiting.iter().map(|w| w.since).min().unwrap_or(cx.now);
        if oldest + PATIENCE <= cx.now {
            return Deliver { count: waiting.len(), again: None };
        }
        Deliver { count: in_order, again: Some(oldest + PATIENCE) }
    }
}

/// Breaks if tags do not travel either way, ACKs are not shown, or packets that an edge holds are lost or
/// passed up too early: under random spraying the transport must then see no reordering at all.
#[test]
fn host_edge() {
    let mut spec = base();
    spec.balancer = scheme("rps");
    let plain = run(&spec);
    assert!(plain.counters.reordered_packets > 100);
    let acks = Arc::new(AtomicU64::new(0));
    let factories = Factories {
        edge: Some(Box::new(|_| Box::new(InOrder { acks: acks.clone() }))),
        ..Factories::default()
    };
    let ordered = run_with(&spec, &factories);
    assert!(read(&acks) > 1000);
    let share = |o: &leafspine_sim::Output| {
        o.counters.reordered_packets as f64 / o.counters.data_packets as f64
    };
    assert!(share(&ordered) < share(&plain) / 50.0, "{} {}", share(&ordered), share(&plain));
}
