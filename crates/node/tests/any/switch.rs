//! A real switch of a small fabric, with random schemes, queues and buffers: packets come in, time passes, links
//! fail. What its schemes do is seen by what it sends.

use super::common::{Notebook, Sent, leaf_spine, network, port};
use super::packets::{Fields, assert_own, assert_probe, digest, packet};
use super::world::{params, staged};
use leafspine_core::{
    Bytes, HostId, Pace, PacketMeta, PortId, Rate, Rng, Role, Span, SwitchId, Time,
};
use leafspine_fabric::{Graph, LinkState, Owner};
use leafspine_node::spec::{Classifier, SchedulerKind};
use leafspine_node::{
    Chooser, Class, Counters, Egress, Event, GeneralPort, HoldState, Holder, Key, Limit, Manager,
    Network, Port, Scheduler, Shared, Store, Switch,
};
use leafspine_schemes::aqm::Aqm;
use leafspine_schemes::hold::{HoldQueue, IngressHold};
use leafspine_schemes::lb::LoadBalancer;
use leafspine_schemes::registry::{self, Place};
use leafspine_schemes::testing::FakeLeaf;
use leafspine_schemes::{Amount, Params, PortInfo, SchemeInfo, SwitchEnv};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::RangeInclusive;

/// Leaves and spines, hosts a leaf, links between a leaf and a spine.
const SIDE: u16 = 4;
pub const HOSTS: u16 = 4;
const LINKS: u16 = 2;
/// A leaf's ports to spines, and a spine's to leaves.
pub const FABRIC: u16 = SIDE * LINKS;
/// No packet comes in after this.
pub const END: Time = Time(8_640_000_000_000_000_000);
/// Rates that a port may change to: a packet of 9,000 bytes takes less than a second.
pub const RATES: RangeInclusive<u64> = 100_000..=1_000_000_000_000_000;
/// As many packets may come in: each has a number of its own, by which it is known when it goes out.
const MOST: usize = u16::MAX as usize;

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Op {
    /// Packets come in by a port, so many at one instant. Any port: a switch trusts no sender.
    Packets {
        kind: u8,
        flow: u16,
        src: u16,
        from: u16,
        seq: u32,
        count: u16,
        fields: Option<Fields>,
    },
    /// A probe that was sent before comes in, as it was or with another header.
    Probe { which: usize, from: u16, fields: Option<Fields> },
    /// The ports to other switches that are up; the links elsewhere are up or not at random.
    Links { up: u8, random: u64 },
    /// A port's rate changes.
    Rate { port: u16, rate: u64 },
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

    fn holder(&mut self) -> Option<Holder> {
        let own = self.hold.take().map(Holder::Own);
        own.or_else(|| self.balancer.roles().hold().map(|_| Holder::Balancer))
    }
}

/// How a switch keeps packets, beside its schemes.
struct Around {
    scheduler: SchedulerKind,
    shared: Option<Shared>,
    /// Whether links change, and whether ports have real queues though nothing asks for them.
    changes: bool,
    general: bool,
}

/// A leaf or a spine with one to four queues, and all that it is told of its place.
pub fn env(info: &SchemeInfo, rng: &mut Rng) -> (Graph, SwitchEnv) {
    let rates = [1_000_000, 1_000_000_000, 10_000_000_000, 400_000_000_000];
    let shape = [SIDE, SIDE, LINKS, HOSTS].map(u32::from);
    let graph = leaf_spine(shape, Rate(rates[rng.below(4) as usize]));
    let id = SwitchId(if rng.chance(0.7) { 0 } else { SIDE });
    let queues = info.demands.queues.max(1 + rng.below(4) as u8);
    let switch = graph.switch(id);
    let info = |at: u32| {
        let of = &graph.ports[at as usize];
        PortInfo { neighbour: graph.neighbour(at), rate: of.rate, delay: of.delay }
    };
    let env = SwitchEnv {
        switch: id,
        level: switch.level,
        tor: switch.tor,
        ports: graph.ports_of(id).map(info).collect(),
        queues,
        weights: (0..queues).map(|_| 1 + rng.below(8) as u32).collect(),
        in_turns: rng.chance(0.5),
        stage_queues: match queues {
            0..=2 => (0..=rng.below(6)).map(|_| rng.below(queues.into()) as u8).collect(),
            3.. => staged(rng),
        },
        base_rtt: Span(1 + rng.below(1_000_000_000)),
        mean_flow: rng.chance(0.5).then(|| Bytes(1 + rng.below(10_000_000))),
        buffer: match rng.chance(0.5) {
            true => Amount::Packets(1 + rng.below(500) as u32),
            false => Amount::Bytes(1_500 + rng.below(1_000_000)),
        },
        ..FakeLeaf::new(HOSTS, FABRIC, rng.next_u64()).env
    };
    (graph, env)
}

impl Around {
    fn draw(env: &SwitchEnv, rng: &mut Rng) -> Around {
        let kinds = match env.in_turns {
            true => [SchedulerKind::Wrr, SchedulerKind::Dwrr],
            false => [SchedulerKind::Strict, SchedulerKind::Fifo],
        };
        let shared = match env.buffer {
            Amount::Bytes(size) if rng.chance(0.4) => {
                Some(Shared::new(size, [0.125, 1.0, 8.0][rng.below(3) as usize]))
            }
            _ => None,
        };
        Around {
            // Several queues are served in some order.
            scheduler: kinds[if env.queues > 1 { 0 } else { rng.below(2) as usize }],
            shared,
            changes: rng.chance(0.5),
            general: rng.chance(0.5),
        }
    }

    /// The one-event port where it can serve, the general one elsewhere.
    fn store(&self, port: &Port, env: &SwitchEnv, chooser: &Chooser, held: bool) -> Store {
        let asks = port.manager.asks();
        let general = self.general
            || self.changes
            || self.shared.is_some()
            || asks.at_release
            || held
            || chooser.needs.exact_dequeue
            || env.queues > 1;
        let pace = Pace::new(port.rate);
        if !general {
            return Store::Fifo(leafspine_node::FifoPort::new(pace));
        }
        let scheduler = Scheduler::new(self.scheduler, &env.weights, env.mtu);
        let mut general = GeneralPort::new(pace, env.queues, scheduler);
        general.set_asks(asks, !self.changes && !held);
        general.set_admits_from(port.manager.passes_below());
        Store::General(Box::new(general))
    }

    /// The switch with its schemes.
    fn switch(self, mut scheme: Scheme, graph: &Graph, env: &SwitchEnv, rng: Rng) -> Switch {
        let holder = scheme.holder();
        let by_balancer = scheme.managers.is_empty() && scheme.balancer.roles().aqm().is_some();
        let chooser = Chooser::new(scheme.balancer, rng);
        let mut managers = scheme.managers.into_iter();
        let leaving = chooser.needs.leaving;
        let ports = graph.ports_of(env.switch).map(|at| {
            let local = graph.ports[at as usize].local;
            let to_host = env.tor.is_some() && local.0 < HOSTS;
            let mut port = Port {
                limit: if self.shared.is_some() { Limit::SHARED } else { Limit::of(env.buffer) },
                manager: match managers.next() {
                    Some(own) => Manager::own(own),
                    None if by_balancer => Manager::Balancer,
                    None => Manager::DropTail,
                },
                special: self.changes || leaving && !(to_host && chooser.needs.between_switches),
                last_arrival: self.changes.then_some(Time::ZERO),
                ..port(graph, at, 0)
            };
            port.store = self.store(&port, env, &chooser, holder.is_some());
            port
        });
        let ports: Vec<Port> = ports.collect();
        let (first, count) = (graph.switch(env.switch).first_port, ports.len());
        let mut egress = Egress::new(Owner::Switch(env.switch), first, ports, Some(chooser));
        egress.shared = self.shared;
        if let Some(holder) = holder {
            egress.set_hold(HoldState::new(holder, count));
        }
        let tor = env.tor.map_or(Switch::NO_TOR, |tor| tor.0);
        let mut switch = Switch::new(env.switch, tor, egress);
        (0..HOSTS).for_each(|port| switch.open_flow(PortId(port), 0));
        switch
    }
}

pub struct World {
    name: &'static str,
    env: SwitchEnv,
    graph: Graph,
    net: Network,
    switch: Switch,
    outside: Notebook,
    due: BinaryHeap<Reverse<Event>>,
    links: Vec<LinkState>,
    changes: bool,
    /// Packets that have come in, and whether they have gone out, by number: the first has number 1.
    entered: Vec<(PacketMeta, bool)>,
    probes: Vec<PacketMeta>,
    sent: u64,
    decisions: Vec<u64>,
}

impl World {
    pub fn new(place: Place, info: &'static SchemeInfo, seed: u64) -> Option<World> {
        let mut rng = Rng::new(seed, Role::Hash, 7);
        let (graph, env) = env(info, &mut rng);
        let drawn = params(info.params, &mut rng);
        // Not all that is drawn fits together; the defaults do.
        let scheme = Scheme::make(place, info.name, &drawn, &env)
            .or_else(|| Scheme::make(place, info.name, &Params::defaults(info.params), &env))?;
        let around = Around::draw(&env, &mut rng);
        Some(World::around(info.name, scheme, around, (graph, env), rng))
    }

    fn around(
        name: &'static str,
        scheme: Scheme,
        around: Around,
        (graph, env): (Graph, SwitchEnv),
        mut rng: Rng,
    ) -> World {
        let net = Network {
            classifier: [Classifier::Stage, Classifier::Hash][usize::from(rng.chance(0.3))],
            stage_queues: env.stage_queues.clone(),
            measuring: rng.chance(0.5),
            balancer: name.to_owned(),
            ..network(&graph)
        };
        let changes = around.changes;
        let switch = around.switch(scheme, &graph, &env, rng);
        let mut world = World {
            name,
            net,
            links: LinkState::initial(&graph),
            outside: Notebook::default(),
            due: BinaryHeap::new(),
            changes,
            entered: Vec::new(),
            probes: Vec::new(),
            sent: 0,
            decisions: Vec::new(),
            switch,
            graph,
            env,
        };
        if world.switch.chooser().needs.tick {
            let tick = Key::new(Class::Tick, u32::from(world.env.switch.0));
            world.due.push(Reverse(Event::new(Time::ZERO, tick, 0)));
        }
        world
    }

    fn ports(&self) -> u16 {
        self.env.ports.len() as u16
    }

    fn port(&self, any: u16) -> PortId {
        PortId(any % self.ports())
    }

    fn host(&self, any: u16) -> HostId {
        HostId((u32::from(any) % self.env.hosts) as u16)
    }

    /// Calls the switch, then looks at what it has asked for and sent.
    fn call(&mut self, what: impl FnOnce(&mut Switch, &Network, &mut Notebook)) {
        what(&mut self.switch, &self.net, &mut self.outside);
        for sent in self.outside.settle(self.name, &mut self.due) {
            self.goes_out(sent);
        }
    }

    fn goes_out(&mut self, (port, at, packet): Sent) {
        self.sent += 1;
        self.decisions.extend([u64::from(port), at.0, digest(&packet)]);
        if packet.flow == 0 {
            assert_probe(self.name, &packet, self.env.hosts);
            return self.probes.push(packet);
        }
        if !self.changes {
            self.assert_way(port, &packet);
        }
        let (before, gone) = &mut self.entered[packet.flow as usize - 1];
        assert!(!std::mem::replace(gone, true), "{} sends {packet:?} twice", self.name);
        assert_own(self.name, before, &packet);
    }

    /// A packet has gone out by a port that leads to where it wants to go.
    fn assert_way(&self, port: u32, packet: &PacketMeta) {
        let (id, dst) = (self.env.switch, usize::from(packet.dst().0));
        let (to, port) = (self.graph.host_tor[dst], self.graph.ports[port as usize].local);
        let way = match self.env.tor == Some(to) {
            true => port == self.graph.host_port_at_tor[dst],
            false => self.net.routes.paths(id, to).ports.contains(&port),
        };
        assert!(way, "{} sends {packet:?} by {port:?}", self.name);
    }

    fn comes_in(&mut self, from: PortId, packet: PacketMeta) {
        if self.entered.len() == MOST {
            return;
        }
        let mut packet = PacketMeta { flow: self.entered.len() as u32 + 1, ..packet };
        self.entered.push((packet, false));
        self.call(|switch, net, world| switch.arrive(from, &mut packet, net, world));
    }

    /// The flow of a packet that has come in has a place in the balancer's table, if it has one.
    fn check_slot(&self) {
        let Some((packet, _)) = self.entered.last() else { return };
        let kept = self.switch.chooser().balancer.inspect();
        let (slot, slots) = (kept.slot(packet), kept.footprint(self.outside.now).slots);
        assert!(slot.is_none_or(|slot| slot < slots), "{}: slot {slot:?} of {slots}", self.name);
    }

    /// What is due at the switch happens.
    fn happens(&mut self, event: Event) {
        self.outside.now = event.time;
        self.decisions.push(event.time.0);
        self.call(|switch, net, world| switch.on_timer(event.key(), event.item(), net, world));
    }

    /// Lets time pass, and what is due; after twenty ticks no more.
    fn wait(&mut self, span: Span) {
        let end = Time((self.outside.now + span).0.min(END.0));
        let mut ticks = 0;
        while let Some(Reverse(event)) = self.due.peek().copied()
            && event.time <= end
        {
            self.due.pop();
            self.happens(event);
            ticks += u32::from(event.key().class() == Class::Tick);
            if ticks == 20 {
                return;
            }
        }
        self.outside.now = self.outside.now.max(end);
    }

    /// Links go down and come up: the switch's own where `up` says so, the others of the fabric as drawn.
    fn set_links(&mut self, up: u8, mut is_up: impl FnMut() -> bool) {
        if !self.changes {
            return;
        }
        let own = self.graph.fabric_ports_of(self.env.switch);
        for (link, at) in (0u32..).zip(self.graph.links.clone()) {
            if self.graph.is_host_link(link) {
                continue;
            }
            let mine = [at.a, at.b].into_iter().find(|end| own.contains(end));
            let state = mine.map_or_else(&mut is_up, |end| up >> (end - own.start) & 1 == 1);
            let was = std::mem::replace(&mut self.links[link as usize].up, state);
            let Some(end) = mine.filter(|_| was != state) else { continue };
            let port = self.graph.ports[end as usize].local;
            self.call(|switch, net, world| match state {
                true => switch.egress.bring_up(port, net, world),
                false => switch.egress.take_down(port, net, world),
            });
        }
        self.links_changed();
    }

    /// Routes follow the links; what a hold let go meanwhile goes on.
    fn links_changed(&mut self) {
        self.net.routes.update(&self.graph, &self.links);
        self.call(|switch, net, world| switch.forward_released(net, world));
    }

    fn set_rate(&mut self, port: PortId, rate: Rate) {
        if !self.changes {
            return;
        }
        let at = self.graph.global(self.env.switch, port);
        let of = &mut self.switch.egress.ports[usize::from(port.0)];
        of.rate = rate;
        of.store.general().pace = Pace::new(rate);
        self.links[self.graph.ports[at as usize].link as usize].rate = rate;
        self.links_changed();
    }

    /// What has happened.
    pub fn counters(&self) -> &Counters {
        &self.outside.record.counters
    }

    /// Packets that are held back, and that the balancer keeps.
    pub fn kept_back(&self) -> usize {
        let held = self.switch.egress.hold().map_or(&[][..], |hold| &hold.held);
        let kept = self.switch.egress.kept().map_or(0, |kept| kept.packets().count());
        held.iter().map(HoldQueue::len).sum::<usize>() + kept
    }

    /// Packets that have ended here: dropped, or taken out by a scheme.
    fn ended(&self) -> u64 {
        let counters = self.counters();
        counters.dropped.iter().sum::<u64>() + counters.consumed
    }
}

impl super::world::World for World {
    type Op = Op;

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Packets { kind, flow, src, from, seq, count, fields } => {
                let (src, dst) = (self.host(src), self.host(flow));
                for ahead in 0..u32::from(count) {
                    let plain = packet(kind, src, dst, flow, seq.wrapping_add(ahead));
                    let packet = fields.map_or(plain, |fields| fields.on(plain));
                    self.comes_in(self.port(from), packet);
                }
                self.check_slot();
            }
            Op::Probe { which, from, fields } => {
                if !self.probes.is_empty() {
                    let sent = self.probes[which % self.probes.len()];
                    let probe = fields.map_or(sent, |fields| fields.on(sent));
                    self.comes_in(self.port(from), probe);
                }
            }
            Op::Links { up, random } => {
                let mut rng = Rng::new(random, Role::Link, 0);
                self.set_links(up, || rng.chance(0.7));
            }
            Op::Rate { port, rate } => self.set_rate(self.port(port), Rate(rate)),
            Op::Wait(span) => self.wait(Span(span)),
        }
    }

    /// All links come up, every port sends all it has, and nothing is kept back then.
    fn finish(&mut self) {
        self.set_links(u8::MAX, || true);
        // What a balancer keeps it lets go in time; others would tick for ever.
        let keeps = self.switch.chooser().needs.keeps;
        let mut round = 0;
        while let Some(Reverse(event)) = self.due.pop() {
            if keeps || event.key().class() != Class::Tick {
                self.happens(event);
                round += 1;
                assert!(round < 1_000_000, "{}: it never ends", self.name);
            }
        }
        let now = self.outside.now;
        assert_eq!(self.kept_back(), 0, "{} keeps packets back though nothing waits", self.name);
        let entered = self.entered.len() as u64 + self.counters().injected;
        assert_eq!(entered, self.sent + self.ended(), "{}: packets lost, or wait", self.name);
        let _ = self.switch.chooser().balancer.inspect().footprint(now);
    }

    fn decisions(&self) -> &[u64] {
        &self.decisions
    }
}

/// A lone packet at an idle port of a manager with its defaults must be taken and sent as it came.
pub fn lone_packet(info: &SchemeInfo) {
    let mut rng = Rng::new(1, Role::Aqm, 0);
    let defaults = Params::defaults(info.params);
    // The first of some places that it does not refuse.
    let mut places = std::iter::repeat_with(|| env(info, &mut rng)).take(20);
    let made = places.find_map(|(graph, env)| {
        Some((Scheme::make(Place::Aqm, info.name, &defaults, &env)?, graph, env))
    });
    let (scheme, graph, env) = made.expect("its defaults are refused nowhere");
    let around = Around::draw(&env, &mut rng);
    let mut world = World::around(info.name, scheme, around, (graph, env), rng);
    let data = leafspine_schemes::testing::data(0, 9, 1, 0);
    world.comes_in(PortId(0), data);
    super::world::World::finish(&mut world);
    assert_eq!((world.sent, world.ended()), (1, 0), "{}", info.name);
    assert_eq!(world.counters().marks, 0, "{}", info.name);
}
