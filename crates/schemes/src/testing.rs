//! A mock switch, for the tests of schemes: ports with a backlog one can set, a clock,
//! a random stream, and packets of every kind. Not part of the public interface.

use crate::edge::{Deliver, EdgeContext, FlowView, HostEdge, HostEnv, Waiting};
use crate::lb::LoadBalancer;
use crate::{
    Amount, Backlog, Context, Kind, Level, Neighbour, Param, Params, Paths, PortInfo, Ports,
    QueueView, Scale, SwitchEnv, Value,
};
use leafspine_core::{
    Bytes, Ecn, FiveTuple, Flags, HostId, PacketMeta, PortId, Rate, Rng, Role, Span, SwitchId,
    Time, TorId,
};
use std::sync::Arc;

/// One port: what waits in its queues, and its link.
#[derive(Clone, Debug)]
pub struct FakePort {
    /// What waits, by service queue. `in_service` is the port's, below.
    pub queues: Vec<Backlog>,
    /// Bytes of the packet in transmission.
    pub in_service: u32,
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link.
    pub delay: Span,
    /// Whether the link is up.
    pub up: bool,
}

/// A switch's ports as a test has set them.
#[derive(Clone, Debug)]
pub struct FakePorts {
    /// The clock that `free_at` counts from.
    pub now: Time,
    /// The ports, by [`PortId`].
    pub ports: Vec<FakePort>,
}

impl FakePorts {
    fn at(&self, port: PortId) -> &FakePort {
        &self.ports[usize::from(port.0)]
    }
}

impl Ports for FakePorts {
    fn backlog(&mut self, port: PortId) -> Backlog {
        let port = self.at(port);
        Backlog {
            packets: port.queues.iter().map(|q| q.packets).sum(),
            bytes: port.queues.iter().map(|q| q.bytes).sum(),
            in_service: port.in_service,
        }
    }

    fn queue(&mut self, port: PortId, queue: u8) -> Backlog {
        let port = self.at(port);
        Backlog { in_service: port.in_service, ..port.queues[usize::from(queue)] }
    }

    fn free_at(&mut self, port: PortId) -> Time {
        let waiting = self.backlog(port);
        let bytes = u64::from(waiting.bytes) + u64::from(waiting.in_service);
        self.now + self.rate(port).time_for(bytes)
    }

    fn rate(&self, port: PortId) -> Rate {
        self.at(port).rate
    }

    fn delay(&self, port: PortId) -> Span {
        self.at(port).delay
    }

    fn is_up(&self, port: PortId) -> bool {
        self.at(port).up
    }
}

/// A leaf with hosts on its first ports and spines on the others (or a spine), and all that a
/// balancer is handed there. Hosts are numbered leaf by leaf, this leaf first.
#[derive(Clone, Debug)]
pub struct FakeLeaf {
    /// What a scheme is made from.
    pub env: SwitchEnv,
    /// The clock.
    pub now: Time,
    /// The ports.
    pub ports: FakePorts,
    /// The balancer's stream.
    pub rng: Rng,
    /// What the balancer has sent itself.
    pub outbox: Vec<(PortId, PacketMeta)>,
    /// The live uplinks: what `pick` is offered. A test takes ports out and puts them back.
    pub live: Vec<PortId>,
    /// Capacity beside each live uplink, in kb/s.
    pub capacity: Vec<u32>,
    /// Propagation delay to the destination's leaf beside each live uplink.
    pub delay: Vec<Span>,
}

/// So many hosts at each of [`LEAVES`] leaves, numbered leaf by leaf.
fn tor_of(hosts: u16) -> Arc<[TorId]> {
    (0..hosts * LEAVES).map(|host| TorId(host / hosts)).collect()
}

/// Leaves in the fabric that a [`FakeLeaf`] stands in.
pub const LEAVES: u16 = 4;

impl FakeLeaf {
    /// Leaf 0 of [`LEAVES`], with so many hosts and uplinks, all links 10 Gb/s and 1 us. The n-th uplink
    /// leads to the n-th spine.
    #[must_use]
    pub fn new(hosts: u16, uplinks: u16, seed: u64) -> FakeLeaf {
        let host = |n| Neighbour::Host(HostId(n));
        let spine = |n| Neighbour::Switch(SwitchId(LEAVES + n), PortId(0));
        let ends = (0..hosts).map(host).chain((0..uplinks).map(spine)).collect();
        let mut leaf = FakeLeaf::at(Level(0), hosts, ends, seed);
        leaf.offer(hosts..hosts + uplinks);
        leaf
    }

    /// The first spine above [`LEAVES`] leaves of so many hosts, with so many parallel links to each.
    /// `live` has those to leaf 1.
    #[must_use]
    pub fn spine(hosts: u16, links: u16, seed: u64) -> FakeLeaf {
        let leaf = |n| Neighbour::Switch(SwitchId(n / links), PortId(hosts + n % links));
        let ends = (0..LEAVES * links).map(leaf).collect();
        let mut spine = FakeLeaf::at(Level(1), hosts, ends, seed);
        spine.offer(links..2 * links);
        spine
    }

    /// A switch with these neighbours, and no live path yet.
    fn at(level: Level, hosts: u16, ends: Vec<Neighbour>, seed: u64) -> FakeLeaf {
        let rate = Rate::from_gbps(10);
        let delay = Span::from_micros(1);
        let leaf = level == Level(0);
        let switch = SwitchId(if leaf { 0 } else { LEAVES });
        let ports = ends.len();
        let env = SwitchEnv {
            switch,
            level,
            tor: leaf.then_some(TorId(0)),
            tors: LEAVES,
            hosts: u32::from(hosts) * u32::from(LEAVES),
            ports: ends.into_iter().map(|neighbour| PortInfo { neighbour, rate, delay }).collect(),
            hash_seed: Rng::new(seed, Role::Hash, u64::from(switch.0)).next_u64(),
            base_rtt: Span::from_micros(20),
            mtu: 1500,
            queues: 2,
            weights: vec![1, 1],
            in_turns: true,
            stage_queues: vec![0, 1, 1, 1, 1, 2],
            tor_of: tor_of(hosts),
            buffer: Amount::Packets(256),
            mean_flow: Some(Bytes(1_600_000)),
        };
        let idle = vec![Backlog::default(); usize::from(env.queues)];
        let port = FakePort { queues: idle, in_service: 0, rate, delay, up: true };
        FakeLeaf {
            now: Time::ZERO,
            ports: FakePorts { now: Time::ZERO, ports: vec![port; ports] },
            rng: Rng::new(seed, Role::Balancer, u64::from(switch.0)),
            outbox: Vec::new(),
            live: Vec::new(),
            capacity: Vec::new(),
            delay: Vec::new(),
            env,
        }
    }

    /// Makes these ports the live paths, all alike.
    pub fn offer(&mut self, ports: std::ops::Range<u16>) {
        self.live = ports.map(PortId).collect();
        self.capacity = vec![10_000_000; self.live.len()];
        self.delay = vec![Span::from_micros(2); self.live.len()];
    }

    /// Lets `span` pass.
    pub fn wait(&mut self, span: Span) {
        self.now += span;
        self.ports.now = self.now;
    }

    /// Runs `call` with the context as it is now.
    pub fn with<T>(&mut self, call: impl FnOnce(&mut Context<'_>) -> T) -> T {
        call(&mut Context {
            now: self.now,
            rng: &mut self.rng,
            ports: &mut self.ports,
            outbox: &mut self.outbox,
        })
    }

    /// Asks `balancer` for a port towards `to`.
    pub fn pick_towards(
        &mut self,
        balancer: &mut dyn LoadBalancer,
        packet: &mut PacketMeta,
        to: TorId,
    ) -> PortId {
        let (ports, capacity, delay) = (&self.live, &self.capacity, &self.delay);
        let paths = Paths { to, ports, capacity, delay };
        let mut cx = Context {
            now: self.now,
            rng: &mut self.rng,
            ports: &mut self.ports,
            outbox: &mut self.outbox,
        };
        balancer.pick(packet, &paths, &mut cx)
    }

    /// Asks `balancer` for a port towards the leaf of the packet's destination.
    pub fn pick(&mut self, balancer: &mut dyn LoadBalancer, packet: &mut PacketMeta) -> PortId {
        let hosts_per_leaf = self.env.hosts / u32::from(LEAVES);
        let leaf = u32::from(packet.dst().0) / hosts_per_leaf;
        self.pick_towards(balancer, packet, TorId(leaf as u16))
    }
}

/// A host with one flow, and all that an edge is handed there.
#[derive(Clone, Debug)]
pub struct FakeHost {
    /// What an edge is made from.
    pub env: HostEnv,
    /// The clock.
    pub now: Time,
    /// The edge's stream.
    pub rng: Rng,
    /// Bytes the application has given.
    pub size: u64,
    /// Payload sent so far, retransmissions not counted.
    pub bytes_sent: u64,
    /// Receiving side: the next segment the transport expects.
    pub expected: u32,
    /// The edge's words for the flow.
    pub state: [u64; 4],
    /// The connection's words: as many as the edge asks for.
    pub memory: Vec<u64>,
    /// The rack's words.
    pub board: Vec<u64>,
    /// What the edge has sent itself.
    pub outbox: Vec<PacketMeta>,
}

impl FakeHost {
    /// Host 0 of 8 at leaf 0 of [`LEAVES`], with a flow that has sent nothing; 4 uplinks, all links
    /// 10 Gb/s.
    #[must_use]
    pub fn new(mss: u32) -> FakeHost {
        let base_rtt = Span::from_micros(20);
        FakeHost {
            env: HostEnv {
                host: HostId(0),
                hosts: 32,
                seed: 1,
                mss,
                mtu: mss + 40,
                tor: TorId(0),
                tor_of: tor_of(8),
                uplinks: 4,
                rate: Rate::from_gbps(10),
                uplink_rate: Rate::from_gbps(10),
                stage_queues: vec![0, 1, 1, 1, 1, 2],
                base_rtt,
            },
            now: Time::ZERO,
            rng: Rng::new(1, Role::Edge, 0),
            size: u64::MAX,
            bytes_sent: 0,
            expected: 0,
            state: [0; 4],
            memory: Vec::new(),
            board: vec![0; 4096],
            outbox: Vec::new(),
        }
    }

    /// Runs `call` with the flow and the context as they are now.
    pub fn with<T>(
        &mut self,
        call: impl FnOnce(&mut FlowView<'_>, &mut EdgeContext<'_>) -> T,
    ) -> T {
        let mut flow = FlowView {
            size: self.size,
            bytes_sent: self.bytes_sent,
            expected: self.expected,
            state: &mut self.state,
            memory: &mut self.memory,
        };
        let mut cx = EdgeContext {
            now: self.now,
            rng: &mut self.rng,
            board: &mut self.board,
            outbox: &mut self.outbox,
        };
        call(&mut flow, &mut cx)
    }

    /// Passes `packet` through `edge` on its way out.
    pub fn send(&mut self, edge: &mut dyn HostEdge, packet: &mut PacketMeta) {
        self.with(|flow, cx| edge.sending(packet, flow, cx));
    }

    /// Asks `edge` what of `waiting` goes up.
    pub fn reassemble(&mut self, edge: &mut dyn HostEdge, waiting: &[Waiting]) -> Deliver {
        self.with(|flow, cx| edge.reassemble(waiting, flow, cx))
    }
}

/// A full-sized ECN-capable data packet of the flow `sport` between two hosts.
#[must_use]
pub fn data(src: u16, dst: u16, sport: u16, seq: u32) -> PacketMeta {
    PacketMeta {
        tuple: FiveTuple::new(HostId(src), HostId(dst), sport, 80),
        seq,
        size: 1500,
        payload: 1460,
        flags: Flags::DATA.with(Flags::ACK),
        ecn: Ecn::Capable,
        path: PacketMeta::NO_PATH,
        ..PacketMeta::default()
    }
}

/// A packet without payload: `Flags::ACK`, `Flags::SYN`, ...
#[must_use]
pub fn control(src: u16, dst: u16, sport: u16, flags: Flags) -> PacketMeta {
    PacketMeta { size: 40, payload: 0, flags, ecn: Ecn::NotCapable, ..data(src, dst, sport, 0) }
}

/// A queue of a 10 Gb/s port with only this queue in use: `packets` of 1500 bytes wait, another is
/// in transmission if `busy`.
#[must_use]
pub fn queue_view(packets: u32, busy: bool) -> QueueView {
    let in_service = if busy { 1500 } else { 0 };
    let this = Backlog { packets, bytes: packets * 1500, in_service };
    QueueView { port: PortId(0), queue: 0, this, port_total: this, rate: Rate::from_gbps(10) }
}

/// The defaults of `declared`, with `stated` ones as a scenario file would write them.
#[must_use]
pub fn stated(declared: &[Param], stated: &[(&str, &str)]) -> Params {
    stated.iter().fold(Params::defaults(declared), |params, (key, text)| {
        let param = declared.iter().find(|param| param.name == *key).expect("declared");
        params.with(key, Value::parse(&param.kind, text, &Scale::REFERENCE).expect("in range"))
    })
}

/// Parameters within their declared ranges, drawn by `rng`: often the default, often the lowest
/// value (small tables, short gaps), or else anything up to 4096 times it.
#[must_use]
pub fn random_params(declared: &[Param], rng: &mut Rng) -> Params {
    let draw = |low: u64, high: u64, rng: &mut Rng| {
        let span = low.saturating_mul(4096).saturating_add(4096).min(high) - low;
        if rng.chance(0.5) { low } else { low + rng.below(span + 1) }
    };
    let value = |param: &Param, rng: &mut Rng| match (param.kind, param.default) {
        (kind, Some(text)) if rng.chance(0.3) => {
            Value::default(&kind, text, &Scale::REFERENCE).expect("a default")
        }
        (Kind::Span(low, high), _) => Value::Span(Span(draw(low, high, rng))),
        (Kind::SpanOr(_, _, word), _) if rng.chance(0.3) => Value::Word(word.to_owned()),
        (Kind::SpanOr(low, high, _), _) => Value::Span(Span(draw(low, high, rng))),
        (Kind::Bytes(low, high), _) => Value::Bytes(Bytes(draw(low, high, rng))),
        (Kind::AmountOr(word), _) if rng.chance(0.3) => Value::Word(word.to_owned()),
        (Kind::Amount | Kind::AmountOr(_), _) if rng.chance(0.5) => {
            Value::Amount(Amount::Packets(1 + rng.below(100) as u32))
        }
        (Kind::Amount | Kind::AmountOr(_), _) => {
            Value::Amount(Amount::Bytes(1 + rng.below(150_000)))
        }
        (Kind::Depth, _) if rng.chance(0.3) => {
            Value::Amount(Amount::Packets(1 + rng.below(100) as u32))
        }
        (Kind::Depth, _) if rng.chance(0.5) => Value::Amount(Amount::Bytes(1 + rng.below(150_000))),
        (Kind::Depth, _) => Value::Span(Span(1 + rng.below(100_000_000))),
        (Kind::Rate, _) => Value::Rate(Rate(1 + rng.below(100_000_000_000))),
        (Kind::Int(low, high) | Kind::Packets(low, high), _) => Value::Int(draw(low, high, rng)),
        (Kind::Float(low, high), _) => {
            Value::Float(if rng.chance(0.3) { low } else { low + (high - low) * rng.unit() })
        }
        (Kind::Bool, _) => Value::Bool(rng.chance(0.5)),
        (Kind::Numbers(most), _) => {
            let count = rng.below(most as u64 + 1);
            Value::Numbers((0..count).map(|_| 200.0 * rng.unit() - 100.0).collect())
        }
        (Kind::Word(words), _) => {
            Value::Word(words[rng.below(words.len() as u64) as usize].to_owned())
        }
    };
    Params(declared.iter().map(|p| (p.name.to_owned(), value(p, rng))).collect())
}

/// Pearson's chi-square of observed counts against expected ones.
#[must_use]
pub fn chi_square(observed: &[u64], expected: &[f64]) -> f64 {
    observed
        .iter()
        .zip(expected)
        .map(|(o, e)| {
            let difference = *o as f64 - e;
            difference * difference / e
        })
        .sum()
}
