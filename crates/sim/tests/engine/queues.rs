//! Service queues, schedulers and shared buffers in a running fabric.

use crate::common::*;
use leafspine_core::{Bytes, PacketMeta, Rate, Span, Time};
use leafspine_schemes::Amount;
use leafspine_schemes::edge::{EdgeContext, FlowView, HostEdge};
use leafspine_sim::Factories;
use leafspine_sim::spec::*;

/// Gives every packet of a host the host's number as its class.
struct ByHost(u8);

impl HostEdge for ByHost {
    fn sending(&mut self, packet: &mut PacketMeta, _: &mut FlowView<'_>, _: &mut EdgeContext<'_>) {
        packet.class = self.0;
    }
}

/// Three hosts send to a fourth, each in its own queue at the switch. Bytes that each got through
/// while all three were backlogged.
fn strict_shares() -> Vec<f64> {
    let mut spec = base();
    spec.topology.kind = TopologyKind::Star { hosts: 4 };
    spec.topology.host_link = link(Rate::from_gbps(1), Span::from_micros(5));
    spec.switch.queues = 3;
    spec.switch.scheduler = SchedulerKind::Strict;
    spec.switch.weights = vec![1; 3];
    spec.switch.classifier = Classifier::Stage;
    let list =
        |hosts: &[u16]| HostSet::List(hosts.iter().map(|h| leafspine_core::HostId(*h)).collect());
    spec.workloads = vec![WorkloadSpec {
        kind: WorkloadKind::LongFlows { count: 3, stagger: Span::ZERO },
        sizes: SizeSpec::Fixed(Bytes(200_000_000)),
        senders: list(&[0, 1, 2]),
        receivers: list(&[3]),
        pattern: Pattern::Any,
        start: Time::ZERO,
        class: None,
    }];
    spec.run.until = Some(Time(Span::from_millis(200).0));
    let factories = Factories {
        edge: Some(Box::new(|env| Box::new(ByHost(env.host.0 as u8)))),
        ..Factories::default()
    };
    let output = run_with(&spec, &factories);
    output.flows.packets.iter().map(|p| f64::from(*p)).collect()
}

/// Breaks if a lower queue gets more than scraps while queue 0 is backlogged.
#[test]
fn strict_priority_starves() {
    let got = strict_shares();
    assert!(got[0] > 20.0 * (got[1] + got[2]), "{got:?}");
}

/// Gives every packet the number of the host that it goes to as its class.
struct ByReceiver;

impl HostEdge for ByReceiver {
    fn sending(&mut self, packet: &mut PacketMeta, _: &mut FlowView<'_>, _: &mut EdgeContext<'_>) {
        packet.class = packet.dst().0 as u8;
    }
}

/// Breaks if a host's own port has the switch's service queues unasked, or not when asked. Two long flows
/// of a host, whose port is the bottleneck, are in queues 1 and 2 under strict priority: with the queues the
/// second gets nothing but scraps, in one FIFO queue they share.
#[test]
fn a_hosts_port_has_queues_when_asked() {
    let shares = |host_ports: HostPorts| {
        let mut spec = base();
        spec.topology.kind = TopologyKind::Star { hosts: 3 };
        spec.switch.queues = 3;
        spec.switch.scheduler = SchedulerKind::Strict;
        spec.switch.weights = vec![1; 3];
        spec.switch.classifier = Classifier::Stage;
        spec.switch.stage_queues = vec![0, 1, 2];
        spec.switch.host_ports = host_ports;
        let flow = |to: u16| long_flows(1, 1_000_000_000, hosts(&[0]), hosts(&[to]));
        spec.workloads = vec![flow(1), flow(2)];
        spec.run.until = Some(Time(Span::from_millis(20).0));
        let edge = |_: &_| Box::new(ByReceiver) as Box<dyn HostEdge>;
        let factories = Factories { edge: Some(Box::new(edge)), ..Factories::default() };
        let output = run_with(&spec, &factories);
        assert!(port(&output, "host0-switch0").utilisation > 0.99);
        output.flows.packets.iter().map(|p| f64::from(*p)).collect::<Vec<f64>>()
    };
    let together = shares(HostPorts::LikeSwitch);
    assert!(together[0] < 2.0 * together[1], "{together:?}");
    let apart = shares(HostPorts::WithQueues);
    assert!(apart[0] > 20.0 * apart[1], "{apart:?}");
}

fn incast(shared: Option<SharedBuffer>) -> leafspine_sim::Output {
    let mut spec = base();
    spec.topology.kind = TopologyKind::Star { hosts: 33 };
    spec.aqm = scheme("droptail");
    spec.transport.scheme = scheme("newreno");
    spec.transport.handshake = false;
    spec.switch.buffer = Amount::Bytes(30_000);
    spec.switch.shared = shared;
    spec.workloads = vec![WorkloadSpec {
        kind: WorkloadKind::Incast {
            fan_in: None,
            rounds: 1,
            every: Span::from_millis(1),
            jitter: Span::ZERO,
        },
        sizes: SizeSpec::Fixed(Bytes(14 * 1460)),
        senders: HostSet::Rest,
        receivers: HostSet::First(1),
        pattern: Pattern::Any,
        start: Time::ZERO,
        class: None,
    }];
    run(&spec)
}

/// Breaks if the dynamic threshold is not `alpha` times the free buffer: a single congested port
/// with alpha 1 settles at half of the shared buffer (Choudhury and Hahne 1998, eq. 3: alpha/(1+alpha)).
#[test]
fn a_lone_congested_port_gets_its_share_of_a_shared_buffer() {
    let size = 200_000.0;
    for alpha in [0.5, 1.0, 2.0] {
        let shared = SharedBuffer { size: Bytes(size as u64), alpha };
        let output = incast(Some(shared));
        let bottleneck = port(&output, "switch0-host0");
        assert!(bottleneck.drops > 0, "the port must reach its threshold");
        let most = f64::from(bottleneck.queue_max_packets) * 1500.0;
        let expected = size * alpha / (1.0 + alpha);
        assert!((most - expected).abs() < 3.0 * 1500.0, "alpha {alpha}: {most} for {expected}");
    }
}

/// Breaks if a buffer in bytes is counted in packets, or is exceeded.
#[test]
fn a_port_keeps_within_its_buffer() {
    let output = incast(None);
    let bottleneck = port(&output, "switch0-host0");
    assert!(bottleneck.drops > 0);
    // 30 KB are 20 full packets: the last one found 19.
    assert_eq!(bottleneck.queue_max_packets, 19);
    assert!(bottleneck.queue_mean_bytes <= 30_000.0);
}
