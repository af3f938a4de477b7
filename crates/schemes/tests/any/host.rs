//! Four hosts of two racks with an edge each, and a network between them that loses, delays, marks
//! and writes into headers. Not TCP: segments go and are acknowledged in any order.

use super::packets::{Fields, assert_own, assert_probe, digest, packet};
use super::world::{params, staged};
use leafspine_core::{Ecn, Flags, HostId, PacketMeta, Rng, Role, Span, Time};
use leafspine_schemes::Params;
use leafspine_schemes::edge::{EdgeContext, Entry, FlowView, HostEdge, HostEnv, Waiting};
use leafspine_schemes::testing::FakeHost;

const MSS: u32 = 1_460;
/// Two hosts of rack 0 and two of rack 1.
const HOSTS: [HostId; 4] = [HostId(0), HostId(1), HostId(8), HostId(9)];

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Op {
    /// A flow sends its next segments, or one that it has sent before.
    Send { flow: usize, count: u8, again: Option<u32> },
    /// A flow sends a packet without payload.
    Control { flow: usize, kind: u8, fields: Option<Fields> },
    /// A packet on its way arrives, perhaps marked, perhaps with what another wrote.
    Deliver { which: usize, mark: bool, fields: Option<Fields> },
    /// A packet on its way is lost.
    Drop(usize),
    /// A flow learns of a loss.
    Lost { flow: usize, timeout: bool },
    /// Time passes.
    Wait(u64),
}

/// A host: its edge, and when this wants to be called.
struct Host {
    edge: Box<dyn HostEdge>,
    rng: Rng,
    rack: usize,
    due: Option<Time>,
}

/// A flow between two of the hosts.
#[derive(Default)]
struct Flow {
    /// Indices of the hosts.
    ends: [usize; 2],
    size: u64,
    sent: u64,
    next: u32,
    expected: u32,
    sending: [u64; 4],
    memory: Vec<u64>,
    receiving: [u64; 4],
    waiting: Vec<Waiting>,
    again: Option<Time>,
    /// Segments that have come to the receiving host, and that have gone up to its TCP.
    came: Vec<u32>,
    up: Vec<u32>,
}

pub struct World {
    name: &'static str,
    now: Time,
    hosts: Vec<Host>,
    boards: Vec<Vec<u64>>,
    flows: Vec<Flow>,
    /// Oldest first, with the flow's number.
    wire: Vec<(Option<usize>, PacketMeta)>,
    outbox: Vec<PacketMeta>,
    fabric: u32,
    decisions: Vec<u64>,
}

/// Which of a flow's two ends.
#[derive(Clone, Copy)]
enum Side {
    Sending,
    Receiving,
}

impl World {
    pub fn new(entry: &'static Entry, seed: u64) -> Option<World> {
        let mut rng = Rng::new(seed, Role::Hash, 8);
        let standard = FakeHost::new(MSS).env;
        let drawn = params(entry.info.params, &mut rng);
        let stage_queues = staged(&mut rng);
        let make = |host: HostId, params: &Params| {
            let env = HostEnv {
                host,
                tor: standard.tor_of[usize::from(host.0)],
                seed,
                stage_queues: stage_queues.clone(),
                ..standard.clone()
            };
            let edge = (entry.build)(params, &env).ok()?;
            let due = edge.needs().tick.then_some(Time::ZERO);
            let rng = Rng::new(seed, Role::Edge, host.0.into());
            Some(Host { edge, rng, rack: usize::from(env.tor.0), due })
        };
        let all = |params: &Params| HOSTS.map(|host| make(host, params)).into_iter().collect();
        // Not all that is drawn fits together; the defaults do.
        let hosts: Option<Vec<Host>> = all(&drawn);
        let hosts = match hosts {
            Some(hosts) => hosts,
            None => all(&Params::defaults(entry.info.params))?,
        };
        let board = |rack| {
            let of_rack = hosts.iter().filter(|host| host.rack == rack);
            vec![0; of_rack.map(|host| host.edge.needs().board_words).max().unwrap_or(0)]
        };
        let boards = (0..2).map(board).collect();
        let flows = (0..6).map(|n| Flow {
            ends: [n % 4, (n + 1 + n / 4) % 4],
            size: [1, 50_000, 100_000, 1_000_000, 20_000_000, u64::MAX][n],
            memory: vec![0; hosts[n % 4].edge.needs().memory],
            ..Flow::default()
        });
        Some(World {
            name: entry.info.name,
            now: Time::ZERO,
            boards,
            flows: flows.collect(),
            wire: Vec::new(),
            outbox: Vec::new(),
            fabric: standard.hosts,
            decisions: Vec::new(),
            hosts,
        })
    }

    /// Calls a host's edge, then takes what it has sent.
    fn ask<T>(
        &mut self,
        host: usize,
        call: impl FnOnce(&mut dyn HostEdge, &mut EdgeContext<'_>) -> T,
    ) -> T {
        let Host { edge, rng, rack, .. } = &mut self.hosts[host];
        let answer = call(
            edge.as_mut(),
            &mut EdgeContext {
                now: self.now,
                rng,
                board: &mut self.boards[*rack],
                outbox: &mut self.outbox,
            },
        );
        for probe in std::mem::take(&mut self.outbox) {
            assert_probe(self.name, &probe, self.fabric);
            assert_eq!(probe.src(), HOSTS[host], "{} sends in another's name", self.name);
            self.decisions.push(digest(&probe));
            self.wire.push((None, probe));
        }
        answer
    }

    /// The same about a flow.
    fn ask_flow<T>(
        &mut self,
        number: usize,
        side: Side,
        call: impl FnOnce(&mut dyn HostEdge, &mut FlowView<'_>, &mut EdgeContext<'_>) -> T,
    ) -> T {
        let flow = &self.flows[number];
        let (host, mut state, mut memory) = match side {
            Side::Sending => (flow.ends[0], flow.sending, flow.memory.clone()),
            Side::Receiving => (flow.ends[1], flow.receiving, Vec::new()),
        };
        let (size, bytes_sent, expected) = (flow.size, flow.sent, flow.expected);
        let answer = self.ask(host, |edge, cx| {
            let (state, memory) = (&mut state, &mut memory[..]);
            let mut view = FlowView { size, bytes_sent, expected, state, memory };
            call(edge, &mut view, cx)
        });
        let flow = &mut self.flows[number];
        match side {
            Side::Sending => (flow.sending, flow.memory) = (state, memory),
            Side::Receiving => flow.receiving = state,
        }
        answer
    }

    /// A packet between a flow's hosts, in the direction of its data or against it.
    fn packet(&self, number: usize, kind: u8, back: bool) -> PacketMeta {
        let [src, dst] = self.flows[number].ends.map(|end| HOSTS[end]);
        let forward = packet(kind, src, dst, number as u16, 0);
        if back { PacketMeta { tuple: forward.tuple.reversed(), ..forward } } else { forward }
    }

    fn send(&mut self, number: usize, mut packet: PacketMeta) {
        let before = packet;
        self.ask_flow(number, Side::Sending, |edge, flow, cx| {
            edge.sending(&mut packet, flow, cx);
        });
        assert_own(self.name, &before, &packet);
        self.decisions.push(digest(&packet));
        self.wire.push((Some(number), packet));
    }

    fn send_segment(&mut self, number: usize, again: Option<u32>) {
        let flow = &self.flows[number];
        let old = again.filter(|_| flow.next > 0).map(|old| old % flow.next);
        let seq = old.unwrap_or(flow.next);
        let notes = if old.is_some() { PacketMeta::RETRANSMIT } else { 0 };
        let full = self.packet(number, 15, false);
        self.send(number, PacketMeta { seq, notes, ..full });
        if old.is_none() {
            let flow = &mut self.flows[number];
            flow.next += 1;
            flow.sent += u64::from(MSS);
        }
    }

    fn deliver(&mut self, number: Option<usize>, mut packet: PacketMeta) {
        let Some(number) = number else {
            let host = HOSTS.iter().position(|host| *host == packet.dst());
            // Another host's probe ends at a host that is not here.
            if let Some(host) = host {
                self.ask(host, |edge, cx| edge.probed(&packet, cx));
            }
            return;
        };
        if packet.is_data() {
            let before = packet;
            self.ask_flow(number, Side::Receiving, |edge, flow, cx| {
                edge.receiving(&mut packet, flow, cx);
            });
            assert_own(self.name, &before, &packet);
            self.flows[number].came.push(packet.seq);
            if self.hosts[self.flows[number].ends[1]].edge.needs().reassembly {
                let waiting = &mut self.flows[number].waiting;
                let at = waiting.partition_point(|w| w.packet.seq <= packet.seq);
                waiting.insert(at, Waiting { packet, since: self.now });
                self.reassemble(number);
            } else {
                self.goes_up(number, &[packet]);
            }
        } else if packet.flags.has(Flags::ACK) {
            let rtt = packet.seq % 3;
            let rtt = (rtt > 0).then(|| Span(u64::from(packet.seq) * 1_000_000 + 1));
            self.ask_flow(number, Side::Sending, |edge, flow, cx| {
                edge.acked(&packet, rtt, flow, cx);
            });
        }
    }

    fn reassemble(&mut self, number: usize) {
        let waiting = std::mem::take(&mut self.flows[number].waiting);
        let deliver = self.ask_flow(number, Side::Receiving, |edge, flow, cx| {
            edge.reassemble(&waiting, flow, cx)
        });
        assert!(deliver.count <= waiting.len(), "{}: more than there is", self.name);
        let (up, stay) = waiting.split_at(deliver.count);
        let (name, now, again) = (self.name, self.now, deliver.again);
        assert!(stay.is_empty() || again.is_some(), "{name} forgets packets");
        assert!(again.is_none_or(|at| at > now), "{name} asks again at once");
        self.decisions.push(deliver.count as u64 ^ again.map_or(0, |at| at.0));
        let flow = &mut self.flows[number];
        (flow.waiting, flow.again) = (stay.to_vec(), again);
        let up: Vec<PacketMeta> = up.iter().map(|w| w.packet).collect();
        self.goes_up(number, &up);
    }

    /// TCP gets packets and answers each with an ACK.
    fn goes_up(&mut self, number: usize, packets: &[PacketMeta]) {
        for packet in packets {
            let flow = &mut self.flows[number];
            flow.up.push(packet.seq);
            while flow.up.contains(&flow.expected) {
                flow.expected += 1;
            }
            let seq = flow.expected;
            let flags = match packet.ecn {
                Ecn::Congested => Flags::ACK.with(Flags::ECE),
                _ => Flags::ACK,
            };
            let mut ack = PacketMeta { seq, flags, ..self.packet(number, 0, true) };
            let before = ack;
            self.ask_flow(number, Side::Receiving, |edge, flow, cx| {
                edge.replying(&mut ack, flow, cx);
            });
            assert_own(self.name, &before, &ack);
            self.decisions.push(digest(&ack));
            self.wire.push((Some(number), ack));
        }
    }

    /// The next time at which something is due, and whose it is: a host's tick or a flow's timer.
    fn next_due(&self) -> Option<(Time, Result<usize, usize>)> {
        let ticks = self.hosts.iter().enumerate().filter_map(|(n, h)| Some((h.due?, Ok(n))));
        let timers = self.flows.iter().enumerate().filter_map(|(n, f)| Some((f.again?, Err(n))));
        ticks.chain(timers).min_by_key(|(at, _)| *at)
    }

    /// Lets time pass, and what falls due; after so many events no more.
    fn wait(&mut self, span: Span, most: usize) {
        let end = self.now + span;
        for _ in 0..most {
            let Some((at, whose)) = self.next_due().filter(|(at, _)| *at <= end) else {
                self.now = end;
                return;
            };
            self.now = at;
            match whose {
                Ok(host) => {
                    let due = self.ask(host, |edge, cx| edge.tick(cx));
                    assert!(due.is_none_or(|due| due > at), "{} ticks on the spot", self.name);
                    self.hosts[host].due = due;
                }
                Err(flow) => self.reassemble(flow),
            }
        }
    }
}

impl super::world::World for World {
    type Op = Op;

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Send { flow, count, again } => {
                (0..count).for_each(|_| self.send_segment(flow, again));
            }
            Op::Control { flow, kind, fields } => {
                // No payload, no probe: those have their own ways here.
                let plain = self.packet(flow, kind % 5, false);
                self.send(flow, fields.map_or(plain, |fields| fields.on(plain)));
            }
            Op::Deliver { which, mark, fields } => {
                if self.wire.is_empty() {
                    return;
                }
                let (flow, mut packet) = self.wire.remove(which % self.wire.len());
                if mark && packet.ecn != Ecn::NotCapable {
                    packet.ecn = Ecn::Congested;
                }
                let packet = fields.map_or(packet, |fields| fields.on(packet));
                self.deliver(flow, packet);
            }
            Op::Drop(which) => {
                if !self.wire.is_empty() {
                    self.wire.remove(which % self.wire.len());
                }
            }
            Op::Lost { flow, timeout } => {
                self.ask_flow(flow, Side::Sending, |edge, flow, cx| edge.lost(timeout, flow, cx));
            }
            Op::Wait(span) => self.wait(Span(span), 200),
        }
    }

    /// What waits for reassembly goes up within a minute, if nothing more comes.
    fn finish(&mut self) {
        self.hosts.iter_mut().for_each(|host| host.due = None);
        self.wait(Span::from_millis(60_000), 10_000);
        for flow in &mut self.flows {
            let Flow { came, up, .. } = flow;
            came.sort_unstable();
            up.sort_unstable();
            assert_eq!(came, up, "{}: what came did not go up once each", self.name);
        }
        for Host { edge, .. } in &self.hosts {
            let _ = edge.inspect().footprint(self.now);
        }
        // What edges keep of flows, and share.
        let state = self.flows.iter().flat_map(|flow| {
            flow.sending.into_iter().chain(flow.receiving).chain(flow.memory.iter().copied())
        });
        self.decisions.extend(state.chain(self.boards.concat()));
    }

    fn decisions(&self) -> &[u64] {
        &self.decisions
    }
}
