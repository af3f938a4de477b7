//! A small switch: packets come in, are held, balanced, queued, managed, sent. It does what the
//! engine does around a scheme, with links that fail and backlogs from nowhere.

use super::packets::{Fields, assert_own, assert_probe, digest, packet};
use super::world::{params, staged};
use leafspine_core::{
    Bytes, Ecn, Flags, HostId, PacketMeta, PortId, Rate, Rng, Role, Span, SwitchId, Time, TorId,
};
use leafspine_schemes::aqm::{Admit, Aqm, Release};
use leafspine_schemes::hold::{Expired, Held, HoldQueue, Ingress, IngressHold, Unit};
use leafspine_schemes::lb::{Arrival, LoadBalancer};
use leafspine_schemes::registry::{self, Place};
use leafspine_schemes::testing::{FakeLeaf, FakePort, LEAVES, queue_view};
use leafspine_schemes::{
    Amount, Backlog, Context, Level, Neighbour, Params, PortInfo, Ports, QueueView, SchemeInfo,
    SwitchEnv,
};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Hosts a leaf, and at a leaf as many ports to hosts.
pub const HOSTS: u16 = 4;
/// Ports to other switches.
pub const FABRIC: u16 = 8;
/// More than so many packets do not fit into a port.
const BUFFER: u32 = 64;
/// The engine's runs end before this.
pub const END: Time = Time(8_640_000_000_000_000_000);

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Op {
    /// A packet comes in by a port. Any port: a switch trusts no sender.
    Packet { kind: u8, flow: u16, src: u16, from: u16, seq: u32, fields: Option<Fields> },
    /// A probe that was sent before comes in, as it was or with another header.
    Probe { which: usize, from: u16, fields: Option<Fields> },
    /// A port sends its next packets.
    Serve { port: u16, count: u8 },
    /// So many packets from nowhere wait in a queue.
    Load { port: u16, queue: u8, packets: u32, in_service: bool },
    /// The ports to other switches that are up (at least one), and what leads where.
    Links { up: u8, random: u64 },
    /// A port's rate changes.
    Rate { port: u16, rate: u64 },
    /// A round robin scheduler's turn ends.
    Turn { queue: u8, ago: u64 },
    /// Time passes.
    Wait(u64),
}

/// What is under test; what it is not, is as simple as can be.
pub struct Scheme {
    balancer: Box<dyn LoadBalancer>,
    /// One a port; none if the balancer manages queues, or nothing does.
    managers: Vec<Box<dyn Aqm>>,
    hold: Option<Box<dyn IngressHold>>,
}

impl Scheme {
    /// `None` if these parameters are refused here.
    pub fn make(place: Place, name: &str, params: &Params, env: &SwitchEnv) -> Option<Scheme> {
        let known = "a registered scheme";
        let plain = || {
            let entry = registry::load_balancer("ecmp").expect(known);
            (entry.build)(&Params::default(), env).expect("it has no parameters")
        };
        let mut scheme = Scheme { balancer: plain(), managers: Vec::new(), hold: None };
        match place {
            Place::Aqm => {
                let entry = registry::queue_manager(name).expect(known);
                let ports = (0..env.ports.len()).map(|port| PortId(port as u16));
                let made = ports.map(|port| (entry.build)(params, env, port).ok());
                scheme.managers = made.collect::<Option<_>>()?;
            }
            Place::Hold => {
                let entry = registry::ingress_hold(name).expect(known);
                scheme.hold = Some((entry.build)(params, env).ok()?);
            }
            _ => {
                let entry = registry::load_balancer(name).expect(known);
                scheme.balancer = (entry.build)(params, env).ok()?;
            }
        }
        Some(scheme)
    }

    fn manager(&mut self, port: PortId) -> Option<&mut dyn Aqm> {
        match self.managers.get_mut(usize::from(port.0)) {
            Some(own) => Some(own.as_mut()),
            None => self.balancer.roles().aqm(),
        }
    }

    fn hold(&mut self) -> Option<&mut dyn IngressHold> {
        match &mut self.hold {
            Some(own) => Some(own.as_mut()),
            None => self.balancer.roles().hold(),
        }
    }
}

/// A leaf with hosts and uplinks, or a spine with two links to each leaf; one to four queues.
pub fn env(info: &SchemeInfo, rng: &mut Rng) -> SwitchEnv {
    let leaf = FakeLeaf::new(HOSTS, FABRIC, rng.next_u64()).env;
    let queues = info.demands.queues.max(1 + rng.below(4) as u8);
    let some = |rng: &mut Rng, n: u64| rng.below(n);
    let rate = [1_000_000, 1_000_000_000, 10_000_000_000, 400_000_000_000][some(rng, 4) as usize];
    let leaf = SwitchEnv {
        queues,
        weights: (0..queues).map(|_| 1 + some(rng, 8) as u32).collect(),
        in_turns: rng.chance(0.5),
        stage_queues: match queues {
            0..=2 => (0..=some(rng, 6)).map(|_| some(rng, u64::from(queues)) as u8).collect(),
            3.. => staged(rng),
        },
        base_rtt: Span(1 + some(rng, 1_000_000_000)),
        mean_flow: rng.chance(0.5).then(|| Bytes(1 + some(rng, 10_000_000))),
        buffer: match rng.chance(0.5) {
            true => Amount::Packets(1 + some(rng, 500) as u32),
            false => Amount::Bytes(1_500 + some(rng, 1_000_000)),
        },
        ports: leaf.ports.iter().map(|port| PortInfo { rate: Rate(rate), ..*port }).collect(),
        ..leaf
    };
    if rng.chance(0.7) {
        return leaf;
    }
    let to_leaf = |n: u16| Neighbour::Switch(SwitchId(n / 2), PortId(HOSTS + n % 2));
    SwitchEnv {
        switch: SwitchId(LEAVES),
        level: Level(1),
        tor: None,
        ports: (0..FABRIC).map(|n| PortInfo { neighbour: to_leaf(n), ..leaf.ports[0] }).collect(),
        ..leaf
    }
}

#[derive(Clone, Copy)]
struct Queued {
    packet: PacketMeta,
    since: Time,
}

/// Live ports, and what the way through each has.
#[derive(Clone, Default)]
struct Ways {
    ports: Vec<PortId>,
    capacity: Vec<u32>,
    delay: Vec<Span>,
}

/// What has become of packets.
#[derive(Default)]
struct Count {
    entered: u64,
    injected: u64,
    sent: u64,
    dropped: u64,
    consumed: u64,
}

pub struct World {
    name: &'static str,
    scheme: Scheme,
    leaf: FakeLeaf,
    /// Whether the balancer is told of a departure when it happens, or when it is foreseen: ports
    /// with a real queue do the one, others the other.
    tells_at_dequeue: bool,
    /// By port and queue.
    queues: Vec<Vec<VecDeque<Queued>>>,
    /// What waits there from nowhere.
    phantom: Vec<Vec<Backlog>>,
    /// By destination leaf.
    paths: Vec<Ways>,
    /// By port: when the last packet leaves of which the balancer was told ahead.
    foreseen: Vec<Time>,
    /// By port: held back.
    held: Vec<HoldQueue<PacketMeta>>,
    /// What the balancer keeps, by the number of its queue.
    kept: BTreeMap<u32, Vec<PacketMeta>>,
    /// Let go, not yet forwarded.
    released: VecDeque<(PortId, PacketMeta)>,
    probes: Vec<PacketMeta>,
    due: Option<Time>,
    count: Count,
    decisions: Vec<u64>,
}

/// A backlog in the hold's unit.
fn counted(backlog: Backlog, hold: &dyn IngressHold) -> u32 {
    match hold.needs().unit {
        Unit::Packets => backlog.packets,
        Unit::Bytes => backlog.bytes,
    }
}

impl World {
    pub fn new(place: Place, info: &'static SchemeInfo, seed: u64) -> Option<World> {
        let mut rng = Rng::new(seed, Role::Hash, 7);
        let env = env(info, &mut rng);
        let drawn = params(info.params, &mut rng);
        // Not all that is drawn fits together; the defaults do.
        let scheme = Scheme::make(place, info.name, &drawn, &env)
            .or_else(|| Scheme::make(place, info.name, &Params::defaults(info.params), &env))?;
        let mut leaf = FakeLeaf::new(1, 1, seed);
        let idle = vec![Backlog::default(); usize::from(env.queues)];
        let port = |info: &PortInfo| FakePort {
            queues: idle.clone(),
            in_service: 0,
            rate: info.rate,
            delay: info.delay,
            up: true,
        };
        leaf.ports.ports = env.ports.iter().map(port).collect();
        let ports = env.ports.len();
        leaf.env = env;
        let mut world = World {
            name: info.name,
            due: scheme.balancer.needs().tick.then_some(Time::ZERO),
            tells_at_dequeue: scheme.balancer.needs().exact_dequeue || rng.chance(0.5),
            scheme,
            queues: vec![vec![VecDeque::new(); idle.len()]; ports],
            phantom: vec![idle; ports],
            paths: vec![Ways::default(); usize::from(LEAVES)],
            foreseen: vec![Time::ZERO; ports],
            held: vec![HoldQueue::default(); ports],
            kept: BTreeMap::new(),
            released: VecDeque::new(),
            probes: Vec::new(),
            count: Count::default(),
            decisions: Vec::new(),
            leaf,
        };
        world.set_links(u8::MAX, 0);
        Some(world)
    }

    fn ports(&self) -> u16 {
        self.leaf.env.ports.len() as u16
    }

    /// The ports to other switches.
    fn fabric(&self) -> Range<u16> {
        self.ports() - FABRIC..self.ports()
    }

    fn port(&self, any: u16) -> PortId {
        PortId(any % self.ports())
    }

    fn queue(&self, any: u8) -> usize {
        usize::from(any % self.leaf.env.queues)
    }

    /// What the scheme sees of a port follows from what is there.
    fn sync(&mut self, port: PortId) {
        let at = usize::from(port.0);
        for (queue, phantom) in self.phantom[at].iter().enumerate() {
            let real = &self.queues[at][queue];
            let bytes: u32 = real.iter().map(|q| u32::from(q.packet.size)).sum();
            self.leaf.ports.ports[at].queues[queue] = Backlog {
                packets: real.len() as u32 + phantom.packets,
                bytes: bytes + phantom.bytes,
                in_service: 0,
            };
        }
    }

    /// Calls the balancer, then takes what it has sent.
    fn ask<T>(&mut self, call: impl FnOnce(&mut dyn LoadBalancer, &mut Context<'_>) -> T) -> T {
        let World { leaf, scheme, .. } = self;
        let answer = leaf.with(|cx| call(scheme.balancer.as_mut(), cx));
        for (port, probe) in std::mem::take(&mut self.leaf.outbox) {
            assert!(port.0 < self.ports(), "{} sends by port {}", self.name, port.0);
            assert_probe(self.name, &probe, self.leaf.env.hosts);
            self.decisions.push(u64::from(port.0) ^ digest(&probe));
            self.count.injected += 1;
            self.probes.push(probe);
            self.enqueue(port, probe);
        }
        answer
    }

    fn packet_arrives(&mut self, from: PortId, packet: PacketMeta) {
        self.count.entered += 1;
        self.enter(from, packet);
        self.forward_released();
    }

    fn enter(&mut self, from: PortId, packet: PacketMeta) {
        let (now, backlog) = (self.leaf.now, self.leaf.ports.backlog(from));
        let Some(hold) = self.scheme.hold() else { return self.pass(from, packet) };
        let verdict = hold.arrived(&packet, from, counted(backlog, hold), now);
        let needs = hold.needs();
        self.decisions.push(verdict as u64);
        let held = &mut self.held[usize::from(from.0)];
        let oldest = match verdict {
            Ingress::Pass => return self.pass(from, packet),
            Ingress::Follow if !held.is_reading() => return self.pass(from, packet),
            Ingress::Follow => held.follow(packet, now, &needs),
            Ingress::Hold => held.keep(packet, now, &needs).0,
        };
        self.let_go(from, oldest);
    }

    /// Packets of a hold go on, with ECE or without.
    fn let_go(&mut self, from: PortId, packets: impl IntoIterator<Item = (PacketMeta, bool)>) {
        for (mut packet, ece) in packets {
            let set = if ece { Flags::ECE } else { Flags::default() };
            packet.flags = packet.flags.with(set);
            self.released.push_back((from, packet));
        }
    }

    fn pass(&mut self, from: PortId, mut packet: PacketMeta) {
        if self.scheme.balancer.needs().arrived {
            let before = packet;
            let arrival = self.ask(|balancer, cx| balancer.arrived(&mut packet, from, cx));
            assert_own(self.name, &before, &packet);
            self.decisions.push(digest(&packet));
            if arrival == Arrival::Consume {
                assert!(packet.flags.has(Flags::PROBE), "{} consumes {packet:?}", self.name);
                self.count.consumed += 1;
                return;
            }
            if let Arrival::Keep(queue) = arrival {
                assert!(self.scheme.balancer.needs().keeps, "{} keeps unasked", self.name);
                return self.kept.entry(queue).or_default().push(packet);
            }
        }
        self.goes_on(packet);
    }

    fn goes_on(&mut self, mut packet: PacketMeta) {
        let to = self.leaf.env.tor_of[usize::from(packet.dst().0)];
        if self.leaf.env.tor == Some(to) {
            return self.enqueue(PortId(packet.dst().0 % HOSTS), packet);
        }
        let port = self.pick(&mut packet, to);
        self.enqueue(port, packet);
    }

    fn pick(&mut self, packet: &mut PacketMeta, to: TorId) -> PortId {
        let ways = self.paths[usize::from(to.0)].clone();
        if let ([only], false) = (&ways.ports[..], self.scheme.balancer.needs().every_packet) {
            return *only;
        }
        (self.leaf.live, self.leaf.capacity, self.leaf.delay) =
            (ways.ports, ways.capacity, ways.delay);
        let before = *packet;
        let port = self.leaf.pick_towards(self.scheme.balancer.as_mut(), packet, to);
        // Nothing is called: what the pick has sent is taken.
        self.ask(|_, _| ());
        let live = &self.paths[usize::from(to.0)].ports;
        assert!(live.contains(&port), "{} picks {port:?} of {live:?}", self.name);
        assert_own(self.name, &before, packet);
        self.decisions.push(u64::from(port.0) ^ digest(packet));
        let kept = self.scheme.balancer.inspect();
        let (slot, slots) = (kept.slot(packet), kept.footprint(self.leaf.now).slots);
        assert!(slot.is_none_or(|slot| slot < slots), "{}: slot {slot:?} of {slots}", self.name);
        port
    }

    /// What a manager sees of a queue.
    fn view(&mut self, port: PortId, queue: usize) -> QueueView {
        let this = self.leaf.ports.queue(port, queue as u8);
        let port_total = self.leaf.ports.backlog(port);
        QueueView { port, queue: queue as u8, this, port_total, rate: self.leaf.ports.rate(port) }
    }

    fn enqueue(&mut self, port: PortId, mut packet: PacketMeta) {
        let (at, now) = (usize::from(port.0), self.leaf.now);
        let queue = self.queue(packet.class);
        let waiting: usize = self.queues[at].iter().map(VecDeque::len).sum();
        if !self.leaf.ports.is_up(port) || waiting as u32 >= BUFFER {
            self.count.dropped += 1;
            return;
        }
        let view = self.view(port, queue);
        if let Some(manager) = self.scheme.manager(port) {
            let verdict = manager.admit(&packet, &view, now, &mut self.leaf.rng);
            self.decisions.push(verdict as u64);
            match verdict {
                Admit::Take => {}
                Admit::Mark => self.mark(&mut packet),
                Admit::Drop => {
                    self.count.dropped += 1;
                    return;
                }
            }
        }
        if self.scheme.balancer.needs().leaving && !self.tells_at_dequeue {
            // A line does not take back what it has foreseen; here rates and backlogs change at will.
            let start = self.leaf.ports.free_at(port).max(self.foreseen[at]);
            self.foreseen[at] = start;
            self.leaving(&mut packet, port, start);
        }
        self.queues[at][queue].push_back(Queued { packet, since: now });
        self.sync(port);
        self.tell_hold(port);
    }

    fn mark(&self, packet: &mut PacketMeta) {
        assert!(packet.ecn != Ecn::NotCapable, "{} marks {packet:?}", self.name);
        packet.ecn = Ecn::Congested;
    }

    fn leaving(&mut self, packet: &mut PacketMeta, port: PortId, start: Time) {
        let before = *packet;
        self.ask(|balancer, cx| balancer.leaving(packet, port, start, cx));
        assert_own(self.name, &before, packet);
        self.decisions.push(digest(packet));
    }

    /// Sends the next packet of a port. What the manager drops is followed by the next.
    fn serve(&mut self, port: PortId) {
        let (at, now) = (usize::from(port.0), self.leaf.now);
        while let Some(queue) = self.queues[at].iter().position(|queue| !queue.is_empty()) {
            let Queued { mut packet, since } = self.queues[at][queue].pop_front().expect("looked");
            self.sync(port);
            let view = self.view(port, queue);
            let mut verdict = Release::Send;
            if let Some(manager) = self.scheme.manager(port)
                && manager.needs().release
            {
                let before = packet;
                verdict = manager.release(&mut packet, &view, now - since, now, &mut self.leaf.rng);
                assert_own(self.name, &before, &packet);
                self.decisions.push(verdict as u64 ^ digest(&packet));
            }
            if verdict == Release::Mark {
                self.mark(&mut packet);
            }
            if verdict != Release::Drop {
                if self.scheme.balancer.needs().leaving && self.tells_at_dequeue {
                    self.leaving(&mut packet, port, now);
                }
                self.leaf.ports.ports[at].in_service = packet.size.into();
                self.count.sent += 1;
                self.tell_hold(port);
                break;
            }
            self.count.dropped += 1;
            self.tell_hold(port);
        }
    }

    fn tell_hold(&mut self, port: PortId) {
        let (now, backlog) = (self.leaf.now, self.leaf.ports.backlog(port));
        let Some(hold) = self.scheme.hold() else { return };
        let verdict = hold.backlog_changed(port, counted(backlog, hold), now);
        let needs = hold.needs();
        self.decisions.push(match verdict {
            Held::Keep => 0,
            Held::Release { ece } => 1 + u64::from(ece),
            Held::Stop => 3,
        });
        let (held, mut gone) = (&mut self.held[usize::from(port.0)], Vec::new());
        match verdict {
            Held::Keep => {}
            Held::Release { ece } => {
                held.release(ece, now, needs.pace, |packet, ece| gone.push((packet, ece)));
            }
            Held::Stop => _ = held.stop(now, &needs),
        }
        self.let_go(port, gone);
    }

    /// So many of each port's packets that a paced release lets go have been read.
    fn read(&mut self, most: usize) {
        let Some(pace) = self.scheme.hold().map(|hold| hold.needs().pace) else { return };
        for port in (0..self.ports()).map(PortId) {
            for _ in 0..most.min(self.held[usize::from(port.0)].len()) {
                let next = self.held[usize::from(port.0)].read(self.leaf.now, pace).0;
                self.let_go(port, next);
            }
        }
        self.forward_released();
    }

    fn forward_released(&mut self) {
        loop {
            while let Some((from, packet)) = self.released.pop_front() {
                self.pass(from, packet);
            }
            if !self.scheme.balancer.needs().keeps {
                return;
            }
            let Some(queue) = self.scheme.balancer.released() else { break };
            self.decisions.push(u64::from(queue));
            let packets = self.kept.remove(&queue).unwrap_or_default();
            packets.into_iter().for_each(|packet| self.goes_on(packet));
        }
        self.due = self.scheme.balancer.wakes_at();
        assert!(self.due.is_none_or(|due| due > self.leaf.now), "{} wakes late", self.name);
    }

    /// Packets that have been held for as long as they may be go on.
    fn expire(&mut self) {
        let now = self.leaf.now;
        let Some(needs) = self.scheme.hold().map(|hold| hold.needs()) else { return };
        for port in (0..self.ports()).map(PortId) {
            let mut gone = Vec::new();
            let out = |expired| {
                if let Expired::Goes(packet, ece) = expired {
                    gone.push((packet, ece));
                }
            };
            self.held[usize::from(port.0)].expire(now, &needs, out);
            self.let_go(port, gone);
        }
        self.forward_released();
        self.read(1);
    }

    fn set_links(&mut self, up: u8, random: u64) {
        let mut rng = Rng::new(random, Role::Link, 0);
        let fabric = self.fabric();
        let is_up = |n: u16| up >> (n % 8) & 1 == 1;
        for n in fabric.clone() {
            let at = usize::from(n);
            let was = std::mem::replace(&mut self.leaf.ports.ports[at].up, is_up(n - fabric.start));
            if was && !self.leaf.ports.ports[at].up {
                let lost: usize = self.queues[at].iter_mut().map(|q| q.drain(..).count()).sum();
                self.count.dropped += lost as u64;
                self.phantom[at].fill(Backlog::default());
                self.sync(PortId(n));
                self.tell_hold(PortId(n));
            }
        }
        let live: Vec<PortId> =
            fabric.clone().filter(|n| is_up(n - fabric.start)).map(PortId).collect();
        let capacity = [0, 1, 200_000, 333_333, 1_000_000, 10_000_000, u32::MAX];
        for ways in &mut self.paths {
            // Some leaves are reached by some of the live ports only.
            let mask = if rng.chance(0.6) { u64::MAX } else { rng.next_u64() };
            let some = live.iter().filter(|port| mask >> port.0 & 1 == 1).copied();
            ways.ports = some.collect();
            if ways.ports.is_empty() {
                ways.ports.clone_from(&live);
            }
            let count = ways.ports.len();
            let same = rng.chance(0.5);
            let draw = |_| if same { 10_000_000 } else { capacity[rng.below(7) as usize] };
            ways.capacity = (0..count).map(draw).collect();
            let draw = |_| Span(if same { 2_000_000 } else { rng.below(1_000_000_000) });
            ways.delay = (0..count).map(draw).collect();
        }
        self.forward_released();
    }

    /// Lets time pass, and the ticks that are due; after twenty of them no more.
    fn wait(&mut self, span: Span) {
        let end = Time((self.leaf.now + span).0.min(END.0));
        for _ in 0..20 {
            let Some(at) = self.due.filter(|at| *at <= end) else {
                self.leaf.wait(end.since(self.leaf.now));
                return self.expire();
            };
            self.leaf.wait(at.since(self.leaf.now));
            self.expire();
            self.due = self.ask(|balancer, cx| balancer.tick(cx));
            assert!(self.due.is_none_or(|due| due > at), "{} ticks on the spot", self.name);
            self.decisions.push(self.due.map_or(0, |due| due.0));
            self.forward_released();
        }
    }

    fn host(&self, any: u16) -> HostId {
        HostId((u32::from(any) % self.leaf.env.hosts) as u16)
    }
}

impl super::world::World for World {
    type Op = Op;

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Packet { kind, flow, src, from, seq, fields } => {
                let (src, dst) = (self.host(src), self.host(flow));
                let plain = packet(kind, src, dst, flow, seq);
                let packet = fields.map_or(plain, |fields| fields.on(plain));
                self.packet_arrives(self.port(from), packet);
            }
            Op::Probe { which, from, fields } => {
                if !self.probes.is_empty() {
                    let sent = self.probes[which % self.probes.len()];
                    let probe = fields.map_or(sent, |fields| fields.on(sent));
                    self.packet_arrives(self.port(from), probe);
                }
            }
            Op::Serve { port, count } => {
                (0..count).for_each(|_| self.serve(self.port(port)));
                self.forward_released();
            }
            Op::Load { port, queue, packets, in_service } => {
                let (port, queue) = (self.port(port), self.queue(queue));
                let waits = Backlog { packets, bytes: packets * 1_500, in_service: 0 };
                self.phantom[usize::from(port.0)][queue] = waits;
                self.leaf.ports.ports[usize::from(port.0)].in_service =
                    u32::from(in_service) * 1_500;
                self.sync(port);
                self.tell_hold(port);
                self.forward_released();
            }
            Op::Links { up, random } => self.set_links(up, random),
            Op::Rate { port, rate } => {
                let port = self.port(port);
                self.leaf.ports.ports[usize::from(port.0)].rate = Rate(rate);
            }
            Op::Turn { queue, ago } => {
                let (queue, now) = (self.queue(queue) as u8, self.leaf.now);
                let since = Time(now.0.saturating_sub(ago));
                for port in 0..self.ports() {
                    if let Some(manager) = self.scheme.manager(PortId(port)) {
                        manager.turn_ended(queue, since, now);
                    }
                }
            }
            Op::Wait(span) => self.wait(Span(span)),
        }
    }

    /// Every port sends all it has, and one packet more, so that its backlog falls to nothing.
    fn finish(&mut self) {
        self.set_links(u8::MAX, 0);
        for port in (0..self.ports()).map(PortId) {
            self.phantom[usize::from(port.0)].fill(Backlog::default());
            self.sync(port);
            self.tell_hold(port);
        }
        self.forward_released();
        // What a balancer keeps it lets go in time.
        while let Some(at) = self.due.filter(|_| self.scheme.balancer.needs().keeps) {
            self.leaf.wait(at.since(self.leaf.now));
            self.due = self.ask(|balancer, cx| balancer.tick(cx));
            self.forward_released();
        }
        assert!(self.kept.is_empty(), "{} keeps packets for ever", self.name);
        // Sending may let go what goes out by a port that has been emptied already.
        let waits = |world: &World| world.queues.iter().flatten().any(|queue| !queue.is_empty());
        for round in 0.. {
            assert!(round < 1_000, "{}: its queues never end", self.name);
            for port in (0..self.ports()).map(PortId) {
                self.serve(port);
                self.forward_released();
            }
            self.read(usize::from(u16::MAX));
            if !waits(self) {
                break;
            }
        }
        let held: usize = self.held.iter().map(HoldQueue::len).sum();
        assert_eq!(held, 0, "{} keeps packets back though nothing waits", self.name);
        let Count { entered, injected, sent, dropped, consumed } = self.count;
        assert_eq!(entered + injected, sent + dropped + consumed, "{}: packets lost", self.name);
        let _ = self.scheme.balancer.inspect().footprint(self.leaf.now);
    }

    fn decisions(&self) -> &[u64] {
        &self.decisions
    }
}

/// A lone packet at an idle port of a manager with its defaults must be taken and sent.
pub fn lone_packet(info: &SchemeInfo) {
    let mut rng = Rng::new(1, Role::Aqm, 0);
    let env = SwitchEnv { queues: info.demands.queues.max(2), ..FakeLeaf::new(4, 4, 1).env };
    let defaults = Params::defaults(info.params);
    let mut scheme = Scheme::make(Place::Aqm, info.name, &defaults, &env).expect("its defaults");
    let manager = scheme.manager(PortId(0)).expect("a manager a port");
    let mut packet = leafspine_schemes::testing::data(0, 9, 1, 0);
    let idle = queue_view(0, false);
    assert_eq!(manager.admit(&packet, &idle, Time::ZERO, &mut rng), Admit::Take, "{}", info.name);
    if manager.needs().release {
        let verdict = manager.release(&mut packet, &idle, Span::ZERO, Time::ZERO, &mut rng);
        assert_eq!(verdict, Release::Send, "{}", info.name);
    }
}
