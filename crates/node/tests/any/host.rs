//! Four real hosts of two racks with an edge each, and a network between them that loses, delays, reorders, marks
//! and writes into headers.

use super::common::{Notebook, leaf_spine, network_of, port};
use super::packets::{Fields, assert_own, assert_probe, digest};
use super::world::{params, staged};
use leafspine_core::{Ecn, FiveTuple, Flags, HostId, PacketMeta, PortId, Rng, Role, Span, Time};
use leafspine_fabric::{Graph, Owner};
use leafspine_node::{
    Address, Class, EdgeState, Egress, Event, FlowId, Host, Key, Network, Node, Opening,
};
use leafspine_schemes::edge::{
    Deliver, EdgeContext, Entry, FlowView, HostEdge, HostEnv, Needs, Waiting,
};
use leafspine_schemes::testing::FakeHost;
use leafspine_schemes::{Inspect, Params};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

const MSS: u32 = 1_460;
/// Two hosts of rack 0 and two of rack 1.
const HOSTS: [HostId; 4] = [HostId(0), HostId(1), HostId(8), HostId(9)];
/// Flows between them, and their sizes.
pub const FLOWS: usize = SIZES.len();
const SIZES: [u64; 6] = [1, 3_000, 20_000, 50_000, 60_000, 120_000];

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Op {
    /// A flow starts, if it has not yet.
    Start(usize),
    /// A packet on its way arrives, perhaps marked, perhaps with what another wrote.
    Deliver { which: usize, mark: bool, fields: Option<Fields> },
    /// A packet on its way is lost.
    Drop(usize),
    /// Time passes.
    Wait(u64),
}

/// An edge, and that it changes only what is its own.
struct Watched {
    name: &'static str,
    edge: Box<dyn HostEdge>,
}

impl Watched {
    fn watch(
        &mut self,
        packet: &mut PacketMeta,
        call: impl FnOnce(&mut dyn HostEdge, &mut PacketMeta),
    ) {
        let before = *packet;
        call(self.edge.as_mut(), packet);
        assert_own(self.name, &before, packet);
    }
}

type View<'a, 'b> = &'a mut FlowView<'b>;
type Cx<'a, 'b> = &'a mut EdgeContext<'b>;

impl HostEdge for Watched {
    fn needs(&self) -> Needs {
        self.edge.needs()
    }

    fn sending(&mut self, packet: &mut PacketMeta, flow: View<'_, '_>, cx: Cx<'_, '_>) {
        self.watch(packet, |edge, packet| edge.sending(packet, flow, cx));
    }

    fn acked(&mut self, ack: &PacketMeta, rtt: Option<Span>, flow: View<'_, '_>, cx: Cx<'_, '_>) {
        self.edge.acked(ack, rtt, flow, cx);
    }

    fn lost(&mut self, timeout: bool, flow: View<'_, '_>, cx: Cx<'_, '_>) {
        self.edge.lost(timeout, flow, cx);
    }

    fn receiving(&mut self, packet: &mut PacketMeta, flow: View<'_, '_>, cx: Cx<'_, '_>) {
        self.watch(packet, |edge, packet| edge.receiving(packet, flow, cx));
    }

    fn trimmed(&mut self, header: &PacketMeta, flow: View<'_, '_>, cx: Cx<'_, '_>) {
        self.edge.trimmed(header, flow, cx);
    }

    fn replying(&mut self, packet: &mut PacketMeta, flow: View<'_, '_>, cx: Cx<'_, '_>) {
        self.watch(packet, |edge, packet| edge.replying(packet, flow, cx));
    }

    fn tick(&mut self, cx: Cx<'_, '_>) -> Option<Time> {
        self.edge.tick(cx)
    }

    fn probed(&mut self, probe: &PacketMeta, cx: Cx<'_, '_>) {
        self.edge.probed(probe, cx);
    }

    fn reassemble(&mut self, waiting: &[Waiting], flow: View<'_, '_>, cx: Cx<'_, '_>) -> Deliver {
        let deliver = self.edge.reassemble(waiting, flow, cx);
        let all = deliver.count == waiting.len();
        assert!(all || deliver.again.is_some(), "{} forgets packets", self.name);
        deliver
    }

    fn inspect(&self) -> &dyn Inspect {
        self.edge.inspect()
    }
}

/// A packet on its way, and when it is there at the earliest.
struct Flying {
    at: Time,
    packet: PacketMeta,
}

/// How often what is rare has happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Happened {
    /// Probes that edges have sent.
    pub probes: u64,
    /// Packets that edges held, summed over calls.
    pub held: u64,
    /// Segments that were sent again.
    pub again: u64,
}

impl Happened {
    pub fn add(&mut self, other: Happened) {
        self.probes += other.probes;
        self.held += other.held;
        self.again += other.again;
    }
}

pub struct World {
    name: &'static str,
    net: Network,
    racks: [Node; 2],
    outside: Notebook,
    due: BinaryHeap<Reverse<Event>>,
    /// By flow: its sender, until it starts.
    flows: Vec<Option<Address>>,
    started: usize,
    /// Oldest first.
    wire: Vec<Flying>,
    hosts: u32,
    /// The global number of the first host's port.
    first: u32,
    happened: Happened,
    decisions: Vec<u64>,
}

/// A host with an edge; `None` if these parameters are refused here.
fn host(entry: &Entry, params: &Params, env: &HostEnv, graph: &Graph) -> Option<Host> {
    let (id, name) = (env.host, entry.info.name);
    let edge = Box::new(Watched { name, edge: (entry.build)(params, env).ok()? });
    let edge = EdgeState::new(edge, Rng::new(env.seed, Role::Edge, id.0.into()));
    let at = graph.host_port[usize::from(id.0)];
    let egress = Egress::new(Owner::Host(id), at, vec![port(graph, at, 10_000)], None);
    Some(Host::new(id, egress, Some(Box::new(edge)), None))
}

/// Opens the flow of this number at both its ends. Its sender.
fn open(number: usize, hosts: &mut [Host], net: &Network) -> Address {
    let ends = [number % 4, (number + 1 + number / 4) % 4];
    let [src, dst] = ends.map(|end| HOSTS[end]);
    let opening = Opening {
        number: number as u32,
        tuple: FiveTuple::new(src, dst, 1024 + number as u16, 5001),
        bytes: SIZES[number],
        path: PacketMeta::NO_PATH,
        ack_path: PacketMeta::NO_PATH,
        class: None,
    };
    let sending = hosts[ends[0]].open_sending(net, &opening).expect("a few flows");
    let receiving = hosts[ends[1]].open_receiving(net, &opening).expect("a few flows");
    let id = FlowId { sending, receiving };
    hosts[ends[0]].name_sending(id);
    hosts[ends[1]].name_receiving(id);
    Address::new(src, sending)
}

impl World {
    pub fn new(entry: &'static Entry, seed: u64) -> Option<World> {
        let mut rng = Rng::new(seed, Role::Hash, 7);
        let drawn = params(entry.info.params, &mut rng);
        let standard = FakeHost::new(MSS).env;
        let stage_queues = staged(&mut rng);
        // The fabric of the environment.
        let graph = leaf_spine([4, 4, 1, 8], standard.rate);
        let env = |host: HostId| HostEnv {
            host,
            tor: standard.tor_of[usize::from(host.0)],
            seed,
            stage_queues: stage_queues.clone(),
            ..standard.clone()
        };
        let all = |params: &Params| -> Option<Vec<Host>> {
            HOSTS.map(|id| host(entry, params, &env(id), &graph)).into_iter().collect()
        };
        // Not all that is drawn fits together; the defaults do.
        let mut hosts = all(&drawn).or_else(|| all(&Params::defaults(entry.info.params)))?;
        let net = network_of(&graph, "dctcp");
        let flows = (0..FLOWS).map(|flow| Some(open(flow, &mut hosts, &net))).collect();
        let tick = |host: &Host| {
            let edge = host.edge.as_ref()?;
            let key = Key::new(Class::EdgeTick, host.id.0.into());
            edge.edge.needs().tick.then(|| Reverse(Event::new(Time::ZERO, key, 0)))
        };
        let due = hosts.iter().filter_map(tick).collect();
        let second = hosts.split_off(2);
        Some(World {
            name: entry.info.name,
            net,
            racks: [Node::of_hosts(hosts), Node::of_hosts(second)],
            outside: Notebook::default(),
            due,
            flows,
            started: 0,
            wire: Vec::new(),
            hosts: standard.hosts,
            first: graph.host_port[0],
            happened: Happened::default(),
            decisions: Vec::new(),
        })
    }

    /// Calls a rack, then looks at what it has asked for and sent.
    fn call(&mut self, rack: usize, what: impl FnOnce(&mut Node, &Network, &mut Notebook)) {
        what(&mut self.racks[rack], &self.net, &mut self.outside);
        for (port, at, packet) in self.outside.settle(self.name, &mut self.due) {
            self.happened.again += u64::from(packet.notes & PacketMeta::RETRANSMIT != 0);
            if packet.flags.has(Flags::PROBE) {
                self.happened.probes += 1;
                assert_probe(self.name, &packet, self.hosts);
                assert_eq!(
                    u32::from(packet.src().0),
                    port - self.first,
                    "{}: in another's name",
                    self.name
                );
            }
            self.decisions.extend([at.0, digest(&packet)]);
            self.wire.push(Flying { at, packet });
        }
        let edges = self.racks[rack].hosts().iter().filter_map(|host| host.edge.as_ref());
        self.happened.held += edges.map(|edge| edge.held().count() as u64).sum::<u64>();
    }

    pub fn happened(&self) -> Happened {
        self.happened
    }

    /// What is due at a host happens.
    fn happens(&mut self, event: Event) {
        self.outside.now = self.outside.now.max(event.time);
        let (key, item) = (event.key(), event.item());
        let host = match key.class() {
            Class::EdgeTick => key.id() as u16,
            _ => Address::from_item(item).host().0,
        };
        let rack = usize::from(host >= HOSTS[2].0);
        self.call(rack, |node, net, world| node.on_timer(key, item, net, world));
    }

    /// Lets time pass, and what is due; after so many events no more. Whether there were fewer.
    fn wait_until(&mut self, end: Time, most: usize) -> bool {
        for _ in 0..most {
            match self.due.peek().copied() {
                Some(Reverse(event)) if event.time <= end => {
                    self.due.pop();
                    self.happens(event);
                }
                _ => {
                    self.outside.now = self.outside.now.max(end);
                    return true;
                }
            }
        }
        false
    }

    /// A packet arrives, as soon as it can.
    fn arrive(&mut self, Flying { at, mut packet }: Flying) {
        self.outside.now = self.outside.now.max(at);
        // Another host's probe ends at a host that is not here.
        if let Some(place) = HOSTS.iter().position(|host| *host == packet.dst()) {
            let into = PortId((place % 2) as u16);
            self.call(place / 2, |node, net, world| node.arrive(into, &mut packet, net, world));
        }
    }
}

impl super::world::World for World {
    type Op = Op;

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Start(flow) => {
                if let Some(sender) = self.flows[flow].take() {
                    self.started += 1;
                    let key = Key::new(Class::FlowStart, flow as u32);
                    self.happens(Event::new(self.outside.now, key, sender.item()));
                }
            }
            Op::Deliver { which, mark, fields } => {
                if self.wire.is_empty() {
                    return;
                }
                let which = which % self.wire.len();
                // What falls due meanwhile comes first; if that does not end, the packet stays where it is.
                if self.wait_until(self.wire[which].at, 200) {
                    let Flying { at, mut packet } = self.wire.remove(which);
                    if mark && packet.ecn != Ecn::NotCapable {
                        packet.ecn = Ecn::Congested;
                    }
                    let packet = fields.map_or(packet, |fields| fields.on(packet));
                    self.arrive(Flying { at, packet });
                }
            }
            Op::Drop(which) => {
                if !self.wire.is_empty() {
                    self.wire.remove(which % self.wire.len());
                }
            }
            Op::Wait(span) => _ = self.wait_until(self.outside.now + Span(span), 200),
        }
    }

    /// Nothing more is lost: each flow that has started comes to its end, and nothing is held then.
    fn finish(&mut self) {
        // Ticks have no end.
        self.due.retain(|event| event.0.key().class() != Class::EdgeTick);
        let mut flying = BTreeMap::new();
        for round in 0.. {
            flying
                .extend(self.wire.drain(..).enumerate().map(|(n, one)| ((one.at, round, n), one)));
            if self.outside.record.senders_done == self.started as u64 {
                break;
            }
            assert!(round < 1_000_000, "{}: its flows never end", self.name);
            let event = self.due.peek().map_or(Time::MAX, |event| event.0.time);
            match flying.first_entry().filter(|first| first.key().0 < event) {
                Some(first) => self.arrive(first.remove()),
                None => {
                    let Reverse(event) = self.due.pop().expect("an unfinished flow has a timer");
                    self.happens(event);
                }
            }
        }
        let hosts = self.racks.iter().flat_map(|rack| rack.hosts());
        let edges = hosts.filter_map(|host| host.edge.as_ref());
        for edge in edges {
            assert_eq!(edge.held().count(), 0, "{} holds packets of ended flows", self.name);
            let _ = edge.edge.inspect().footprint(self.outside.now);
        }
        assert_eq!(self.outside.record.finished.len(), self.started, "{}", self.name);
    }

    fn decisions(&self) -> &[u64] {
        &self.decisions
    }
}
