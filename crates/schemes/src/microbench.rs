//! Schemes that decide again and again on a mock switch, to measure what a decision costs. Not part of
//! the public interface.
//!
//! They are called as the engine calls them, through a `Box<dyn ...>`; no engine runs, so a change of
//! these figures is a change of the scheme itself.

use crate::aqm::{self, Admit, Aqm, Release};
use crate::lb::{self, LoadBalancer, Needs};
use crate::testing::{FakeHost, FakeLeaf, LEAVES, data, queue_view};
use crate::{Context, Params, Paths, QueueView, registry};
use leafspine_core::{PacketMeta, PortId, Rng, Role, Span, Time, TorId};

/// Hosts of the leaf.
pub const HOSTS: u16 = 16;
/// Its uplinks.
pub const UPLINKS: u16 = 8;
/// Flows whose packets come by.
pub const FLOWS: u16 = 1_000;
/// Eight uplinks of 10 Gb/s, full: a packet every 150 ns. A flow then sends every 150 us on average,
/// and 4 % of its pauses are longer than 500 us.
const APART: Span = Span::from_nanos(150);
/// One 1500-byte packet after another at 10 Gb/s.
const PACKET: Span = Span(1_200_000);
/// Packets after which the same flows come again in the same order.
const ROUND: usize = 1 << 13;
/// The longest backlog that a manager is shown, in packets. Every default threshold lies below.
const LONGEST: u64 = 100;

/// A leaf with a balancer, and the packets that it decides about.
pub struct Balancer {
    leaf: FakeLeaf,
    balancer: Box<dyn LoadBalancer>,
    needs: Needs,
    packets: Vec<(PacketMeta, TorId)>,
    order: Vec<u16>,
    next: usize,
}

impl Balancer {
    /// With its defaults, on a leaf with [`HOSTS`] hosts and [`UPLINKS`] uplinks of 10 Gb/s.
    ///
    /// # Panics
    /// If the defaults do not fit that leaf.
    #[must_use]
    pub fn new(entry: &lb::Entry) -> Balancer {
        let mut leaf = FakeLeaf::new(HOSTS, UPLINKS, 1);
        leaf.env.queues = leaf.env.queues.max(entry.info.demands.queues);
        leaf.env.weights.resize(usize::from(leaf.env.queues), 1);
        let idle = leaf.ports.ports[0].queues[0];
        for port in &mut leaf.ports.ports {
            port.queues.resize(usize::from(leaf.env.queues), idle);
        }
        let params = Params::defaults(entry.info.params);
        let balancer = (entry.build)(&params, &leaf.env).expect("defaults fit");
        let mut rng = Rng::new(1, Role::Workload, 0);
        let packets = (0..FLOWS).map(|flow| packet(entry, flow, &mut rng)).collect();
        let order = (0..ROUND).map(|_| rng.below(u64::from(FLOWS)) as u16).collect();
        Balancer { leaf, needs: balancer.needs(), balancer, packets, order, next: 0 }
    }

    /// One packet from a host of this leaf to one of another: all calls that the balancer
    /// needs, and its choice.
    pub fn decide(&mut self) -> PortId {
        let flow = self.order[self.next % ROUND];
        self.next += 1;
        let (mut packet, to) = self.packets[usize::from(flow)];
        self.leaf.wait(APART);
        let now = self.leaf.now;
        let mut cx = Context {
            now,
            rng: &mut self.leaf.rng,
            ports: &mut self.leaf.ports,
            outbox: &mut self.leaf.outbox,
        };
        if self.needs.arrived {
            self.balancer.arrived(&mut packet, PortId(flow % HOSTS), &mut cx);
        }
        let paths = Paths {
            to,
            ports: &self.leaf.live,
            capacity: &self.leaf.capacity,
            delay: &self.leaf.delay,
        };
        let port = self.balancer.pick(&mut packet, &paths, &mut cx);
        if self.needs.leaving {
            self.balancer.leaving(&mut packet, port, now, &mut cx);
        }
        self.leaf.outbox.clear();
        port
    }

    /// What the balancer keeps now.
    #[must_use]
    pub fn footprint(&self) -> crate::Footprint {
        self.balancer.inspect().footprint(self.leaf.now)
    }
}

/// A data packet as the host edge that the balancer needs sends it.
fn packet(entry: &lb::Entry, flow: u16, rng: &mut Rng) -> (PacketMeta, TorId) {
    let dst = HOSTS + rng.below(u64::from(HOSTS * (LEAVES - 1))) as u16;
    let mut packet = data(flow % HOSTS, dst, flow, 0);
    packet.path = flow % UPLINKS;
    if let Some(name) = entry.edge {
        let mut host = FakeHost::new(u32::from(packet.payload));
        let edge = registry::host_edge(name).expect("registered");
        let params = Params::defaults(edge.info.params);
        let mut edge = (edge.build)(&params, &host.env).expect("defaults fit");
        // Flows are at different places, so that flowcells and stages are.
        for seq in 0..=u32::from(flow % 400) {
            packet.seq = seq;
            host.send(&mut *edge, &mut packet);
            host.bytes_sent += u64::from(packet.payload);
        }
    }
    (packet, TorId(dst / HOSTS))
}

/// A port with a queue manager, and the packet that it decides about.
pub struct Manager {
    aqm: Box<dyn Aqm>,
    releases: bool,
    packet: PacketMeta,
    backlogs: Vec<QueueView>,
    now: Time,
    rng: Rng,
    next: usize,
}

impl Manager {
    /// With its defaults, at a port of 10 Gb/s whose backlog wanders between none and 100 packets.
    ///
    /// # Panics
    /// If the defaults do not fit that port.
    #[must_use]
    pub fn new(entry: &aqm::Entry) -> Manager {
        let mut env = FakeLeaf::new(HOSTS, UPLINKS, 1).env;
        env.queues = env.queues.max(entry.info.demands.queues);
        env.weights.resize(usize::from(env.queues), 1);
        let port = PortId(HOSTS);
        let params = Params::defaults(entry.info.params);
        let aqm = (entry.build)(&params, &env, port).expect("defaults fit");
        let packet = data(0, 20, 1, 0);
        let rng = Rng::new(1, Role::Aqm, 16);
        let backlogs = backlogs(port);
        Manager {
            releases: aqm.needs().release,
            aqm,
            packet,
            backlogs,
            now: Time::ZERO,
            rng,
            next: 0,
        }
    }

    /// One packet that asks to be queued, and to be sent if the manager decides then, too.
    pub fn decide(&mut self) -> (Admit, Release) {
        let queue = &self.backlogs[self.next % ROUND];
        self.next += 1;
        self.now += PACKET;
        let admit = self.aqm.admit(&self.packet, queue, self.now, &mut self.rng);
        if !self.releases {
            return (admit, Release::Send);
        }
        let waited = PACKET * u64::from(queue.this.packets);
        let rng = &mut self.rng;
        (admit, self.aqm.release(&mut self.packet, queue, waited, self.now, rng))
    }

    /// What the manager keeps for its port.
    #[must_use]
    pub fn footprint(&self) -> crate::Footprint {
        self.aqm.inspect().footprint(self.now)
    }
}

/// Backlogs as a queue has them: each one packet more or less than the last.
fn backlogs(port: PortId) -> Vec<QueueView> {
    let mut rng = Rng::new(1, Role::Workload, 0);
    let mut waits = LONGEST / 2;
    let step = |_| {
        waits = if rng.chance(0.5) { (waits + 1).min(LONGEST) } else { waits.saturating_sub(1) };
        QueueView { port, ..queue_view(waits as u32, true) }
    };
    (0..ROUND).map(step).collect()
}
