//! Hosts: transports at both ends of a flow, and the host's edge between them and the wire.

use super::Simulation;
use crate::calendar::{Class, Key};
use crate::measure::{FlowStats, FlowTable};
use crate::output::Counters;
use crate::pool::Handle;
use crate::transport::{Receiver, Sender, TcpConfig};
use crate::workload::Flow;
use leafspine_core::{Bytes, FiveTuple, Flags, HostId, PacketMeta, PortId, Rng, Time};
use leafspine_schemes::edge::{EdgeContext, FlowView, HostEdge, Waiting};
use leafspine_schemes::lb::LoadBalancer;

use super::RunError;

/// A flow under way, besides its transport.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) tuple: FiveTuple,
    /// Number in the flow table.
    pub(super) number: u32,
    /// Packets of the flow in the network.
    pub(super) in_flight: u32,
    /// The ports of its two hosts.
    src_port: u32,
    dst_port: u32,
    path: u16,
    ack_path: u16,
    /// The last uplink that its data took; `NO_UPLINK` before the first.
    uplink: u16,
    pub(super) live: bool,
    path_changes: u32,
    /// Data packets that its receiver has got.
    pub(super) packets: u32,
    /// When the pending retransmission event is due; `Time::MAX` if none is.
    pub(super) timer: Time,
    pub(super) ack_timer: Time,
}

/// What both ends of a flow under way take, with their timers and what they grow to: the sets of
/// segments that have come out of order.
pub(super) const FLOW_BYTES: u64 = (size_of::<Place>()
    + size_of::<Sender>()
    + size_of::<Receiver>()
    + size_of::<EdgeFlow>()
    + 2 * 24
    + 128) as u64;

const NO_UPLINK: u16 = u16::MAX;

/// The state that edges keep, and what they hold back; only in runs that have edges.
pub(super) struct EdgeFlow {
    size: u64,
    bytes_sent: u64,
    sending: [u64; 4],
    receiving: [u64; 4],
    pub(super) held: Vec<(Handle, Waiting)>,
    timer: Time,
}

/// A host's edge.
pub(super) struct EdgeHost {
    pub(super) edge: Box<dyn HostEdge>,
    pub(super) rng: Rng,
    pub(super) reassembles: bool,
    /// Its rack's number.
    pub(super) rack: u16,
}

/// All flows under way. Slots are reused, with the storage they have grown.
pub(super) struct Endpoints {
    pub(super) places: Vec<Place>,
    pub(super) senders: Vec<Sender>,
    pub(super) receivers: Vec<Receiver>,
    free: Vec<u32>,
    /// Per host; empty without edges.
    edges: Vec<EdgeHost>,
    pub(super) edge_flows: Vec<EdgeFlow>,
    /// Per rack, the words that its edges share.
    boards: Vec<Vec<u64>>,
    /// What an edge has sent itself; emptied after every call.
    outbox: Vec<PacketMeta>,
    waiting: Vec<Waiting>,
    delivering: Vec<Handle>,
}

impl Endpoints {
    pub(super) fn new(edges: Vec<EdgeHost>) -> Endpoints {
        let racks = edges.iter().map(|edge| usize::from(edge.rack) + 1).max().unwrap_or(0);
        let mut boards = vec![Vec::new(); racks];
        for host in &edges {
            let board: &mut Vec<u64> = &mut boards[usize::from(host.rack)];
            board.resize(board.len().max(host.edge.needs().board_words), 0);
        }
        Endpoints {
            boards,
            outbox: Vec::new(),
            places: Vec::new(),
            senders: Vec::new(),
            receivers: Vec::new(),
            free: Vec::new(),
            edges,
            edge_flows: Vec::new(),
            waiting: Vec::new(),
            delivering: Vec::new(),
        }
    }

    /// Hosts whose edges do time-driven work.
    pub(super) fn ticking_edges(&self) -> Vec<u32> {
        let ticks =
            |(host, edge): (usize, &EdgeHost)| edge.edge.needs().tick.then_some(host as u32);
        self.edges.iter().enumerate().filter_map(ticks).collect()
    }

    pub(super) fn active(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub(super) fn peak(&self) -> usize {
        self.places.len()
    }

    pub(super) fn number(&self, slot: u32) -> u32 {
        self.places.get(slot as usize).map_or(u32::MAX, |place| place.number)
    }

    /// The slots that the flows under way have in the flow table of the switch with this number
    /// among those with hosts: their data at the source's, what is sent back at the destination's.
    pub(super) fn slots_at(
        &self,
        tor: u16,
        balancer: &dyn LoadBalancer,
        hosts: &[(u16, PortId)],
        slots: &mut Vec<u32>,
    ) {
        slots.clear();
        for place in self.places.iter().filter(|place| place.live) {
            let at = |host: HostId| hosts[usize::from(host.0)].0;
            let (from, to) = (at(place.tuple.src()), at(place.tuple.dst()));
            let ways = [
                (from, place.tuple, Flags::DATA.with(Flags::ACK)),
                (to, place.tuple.reversed(), Flags::ACK),
            ];
            for (here, tuple, flags) in ways {
                if here == tor && from != to {
                    let packet = PacketMeta { tuple, flags, ..PacketMeta::default() };
                    slots.extend(balancer.inspect().slot(&packet));
                }
            }
        }
    }

    pub(super) fn window(&self, slot: u32, tcp: &TcpConfig) -> u32 {
        self.senders[slot as usize].window(tcp)
    }

    #[inline]
    pub(super) fn note_uplink(&mut self, slot: u32, picked: PortId) {
        let place = &mut self.places[slot as usize];
        if place.uplink != picked.0 {
            place.path_changes += u32::from(place.uplink != NO_UPLINK);
            place.uplink = picked.0;
        }
    }

    /// Takes a slot for `flow`. Source ports count upwards, so that concurrent flows of a pair of
    /// hosts differ.
    fn occupy(&mut self, tcp: &TcpConfig, flow: &Flow, number: u32, ports: (u32, u32)) -> u32 {
        const FIRST_PORT: u32 = 1024;
        let sport = FIRST_PORT + number % (u32::from(u16::MAX) + 1 - FIRST_PORT);
        let place = Place {
            tuple: FiveTuple::new(flow.src, flow.dst, sport as u16, SERVICE_PORT),
            number,
            in_flight: 0,
            src_port: ports.0,
            dst_port: ports.1,
            path: flow.path,
            ack_path: flow.ack_path,
            uplink: NO_UPLINK,
            live: true,
            path_changes: 0,
            packets: 0,
            timer: Time::MAX,
            ack_timer: Time::MAX,
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.senders.push(Sender::new());
            self.receivers.push(Receiver::new());
            self.places.push(place);
            (self.places.len() - 1) as u32
        });
        self.places[slot as usize] = place;
        self.senders[slot as usize].reset(tcp, flow.bytes);
        self.receivers[slot as usize].reset();
        if !self.edges.is_empty() {
            self.occupy_edge(slot, flow.bytes);
        }
        slot
    }

    fn occupy_edge(&mut self, slot: u32, size: u64) {
        while self.edge_flows.len() <= slot as usize {
            self.edge_flows.push(EdgeFlow {
                size: 0,
                bytes_sent: 0,
                sending: [0; 4],
                receiving: [0; 4],
                held: Vec::new(),
                timer: Time::MAX,
            });
        }
        let flow = &mut self.edge_flows[slot as usize];
        (flow.size, flow.bytes_sent, flow.timer) = (size, 0, Time::MAX);
        (flow.sending, flow.receiving) = ([0; 4], [0; 4]);
    }

    fn stats(&self, slot: u32, tcp: &TcpConfig, now: Time) -> FlowStats {
        let slot = slot as usize;
        let (sender, receiver) = (&self.senders[slot], &self.receivers[slot]);
        FlowStats {
            retransmits: sender.retransmits(),
            timeouts: sender.timeouts(),
            dup_acks: sender.dup_acks(),
            mean_window: sender.mean_window(tcp, now),
            reordered: receiver.reordered(),
            path_changes: self.places[slot].path_changes,
            packets: self.places[slot].packets,
        }
    }

    /// Writes what the flows still under way have to say.
    pub(super) fn close_all(
        &self,
        tcp: &TcpConfig,
        table: &mut FlowTable,
        counters: &mut Counters,
        now: Time,
    ) {
        for slot in 0..self.places.len() as u32 {
            if self.places[slot as usize].live {
                self.account(slot, tcp, table, counters, now);
            }
        }
    }

    fn account(
        &self,
        slot: u32,
        tcp: &TcpConfig,
        table: &mut FlowTable,
        counters: &mut Counters,
        now: Time,
    ) {
        let stats = self.stats(slot, tcp, now);
        table.close(self.places[slot as usize].number, stats);
        counters.data_packets += u64::from(stats.packets);
        counters.reordered_packets += u64::from(stats.reordered);
    }
}

/// Every flow goes to this port of its destination.
const SERVICE_PORT: u16 = 5001;

/// Calls the edge of `host` with its context, then sends what it has put into its outbox.
macro_rules! edge_ask {
    ($self:ident, $host:expr, |$edge:ident, $cx:ident| $call:expr) => {{
        let id = $host;
        let host = &mut $self.endpoints.edges[usize::from(id.0)];
        let mut $cx = EdgeContext {
            now: $self.now,
            rng: &mut host.rng,
            board: &mut $self.endpoints.boards[usize::from(host.rack)],
            outbox: &mut $self.endpoints.outbox,
        };
        let $edge = &mut host.edge;
        let answer = $call;
        if !$self.endpoints.outbox.is_empty() {
            $self.empty_edge_outbox(id);
        }
        answer
    }};
}

/// The same for a call about a flow.
macro_rules! edge_call {
    ($self:ident, $host:expr, $slot:expr, $side:ident, |$edge:ident, $view:ident, $cx:ident| $call:expr) => {{
        let expected = $self.endpoints.receivers[$slot as usize].expected();
        let flow = &mut $self.endpoints.edge_flows[$slot as usize];
        let mut $view = FlowView {
            size: flow.size,
            bytes_sent: flow.bytes_sent,
            expected,
            state: &mut flow.$side,
        };
        edge_ask!($self, $host, |$edge, $cx| $call)
    }};
}

impl Simulation {
    /// The next flow's time has come. Starts it and schedules the one after.
    pub(super) fn start_flow(&mut self) -> Result<(), RunError> {
        let Some(flow) = self.next_flow.take() else { return Ok(()) };
        if self.table.is_empty() {
            self.first_flow();
        }
        let ideal = self.ideal.fct(flow.src, flow.dst, Bytes(flow.bytes));
        let number = self.table.start(&flow, ideal);
        let port = |host: HostId| self.graph.host_port[usize::from(host.0)];
        let ports = (port(flow.src), port(flow.dst));
        let slot = self.endpoints.occupy(&self.tcp, &flow, number, ports);
        self.watch_flow(number, slot, true);
        self.look_at_table(number, flow.src);
        self.endpoints.senders[slot as usize].open(&self.tcp, self.now);
        self.pump(slot);
        self.schedule_flow()
    }

    /// Sends all that the sender may send now, and sees to its timer.
    #[inline]
    fn pump(&mut self, slot: u32) {
        loop {
            let handle = self.pool.take();
            let packet = &mut self.pool[handle];
            let sender = &mut self.endpoints.senders[slot as usize];
            if !sender.poll_send(&self.tcp, self.now, packet) {
                self.pool.free(handle);
                break;
            }
            let place = &mut self.endpoints.places[slot as usize];
            packet.tuple = place.tuple;
            packet.flow = slot;
            packet.path = place.path;
            place.in_flight += 1;
            self.counters.payload.sent += u64::from(packet.payload);
            let (host, port) = (place.tuple.src(), place.src_port);
            if !self.endpoints.edges.is_empty() {
                self.edge_sends(slot, handle);
            }
            self.counters.sent += 1;
            self.hand_down(host, port, handle);
        }
        self.arm(slot);
    }

    /// Sees that an event is pending no later than the sender's deadline. An event that comes too
    /// early looks again, so a deadline that moves on with every ACK costs nothing.
    #[inline]
    fn arm(&mut self, slot: u32) {
        let deadline = self.endpoints.senders[slot as usize].deadline();
        let place = &mut self.endpoints.places[slot as usize];
        if deadline < place.timer {
            place.timer = deadline;
            let key = Key::new(Class::Retransmit, place.number);
            self.calendar.push(deadline, key, slot);
        }
    }

    pub(super) fn retransmit_timer(&mut self, number: u32, slot: u32) {
        let place = &mut self.endpoints.places[slot as usize];
        if place.number != number || !place.live || place.timer != self.now {
            return;
        }
        place.timer = Time::MAX;
        let sender = &mut self.endpoints.senders[slot as usize];
        if sender.on_timer(&self.tcp, self.now) {
            if !self.endpoints.edges.is_empty() {
                let host = self.endpoints.places[slot as usize].tuple.src();
                edge_call!(self, host, slot, sending, |edge, view, cx| {
                    edge.lost(true, &mut view, &mut cx);
                });
            }
            self.pump(slot);
        } else {
            self.arm(slot);
        }
    }

    fn edge_sends(&mut self, slot: u32, handle: Handle) {
        let packet = &mut self.pool[handle];
        edge_call!(self, packet.src(), slot, sending, |edge, view, cx| {
            edge.sending(packet, &mut view, &mut cx);
        });
        let packet = &self.pool[handle];
        if packet.notes & PacketMeta::RETRANSMIT == 0 {
            self.endpoints.edge_flows[slot as usize].bytes_sent += u64::from(packet.payload);
        }
    }

    /// A packet has come to its host.
    #[inline]
    pub(super) fn receive(&mut self, handle: Handle) {
        let packet = &self.pool[handle];
        if packet.flags.has(Flags::DATA) && !self.endpoints.edges.is_empty() {
            return self.receive_through_edge(handle);
        }
        self.deliver(handle);
    }

    /// Gives a packet to its transport.
    #[inline]
    fn deliver(&mut self, handle: Handle) {
        let packet = &self.pool[handle];
        let slot = packet.flow;
        self.counters.delivered += 1;
        if packet.flags.has(Flags::PROBE) {
            return self.probe_arrives(handle);
        }
        let place = &mut self.endpoints.places[slot as usize];
        place.in_flight -= 1;
        let to_receiver = packet.tuple == place.tuple;
        if to_receiver {
            self.receiver_gets(slot, handle);
        } else {
            self.sender_gets(slot, handle);
        }
    }

    #[inline]
    fn receiver_gets(&mut self, slot: u32, handle: Handle) {
        let answer = self.pool.take();
        let (packet, reply) = self.pool.pair(handle, answer);
        let receiver = &mut self.endpoints.receivers[slot as usize];
        let received = receiver.on_packet(&self.tcp, packet, self.now, reply);
        let place = &mut self.endpoints.places[slot as usize];
        place.packets += u32::from(packet.is_data());
        self.counters.payload.delivered += u64::from(packet.payload);
        self.counters.bytes_delivered += u64::from(received.delivered);
        if received.complete_now {
            self.table.finish(place.number, self.now);
        }
        self.pool.free(handle);
        if received.reply {
            self.send_reply(slot, answer);
        } else {
            self.pool.free(answer);
        }
        self.arm_ack(slot);
        if self.endpoints.places[slot as usize].in_flight == 0 {
            self.maybe_end(slot);
        }
    }

    #[inline]
    fn send_reply(&mut self, slot: u32, handle: Handle) {
        let place = &mut self.endpoints.places[slot as usize];
        let reply = &mut self.pool[handle];
        reply.tuple = place.tuple.reversed();
        reply.flow = slot;
        reply.path = place.ack_path;
        place.in_flight += 1;
        let (host, port) = (place.tuple.dst(), place.dst_port);
        if !self.endpoints.edges.is_empty() {
            self.edge_replies(slot, handle);
        }
        self.counters.sent += 1;
        self.hand_down(host, port, handle);
    }

    fn edge_replies(&mut self, slot: u32, handle: Handle) {
        let packet = &mut self.pool[handle];
        edge_call!(self, packet.src(), slot, receiving, |edge, view, cx| {
            edge.replying(packet, &mut view, &mut cx);
        });
    }

    #[inline]
    fn arm_ack(&mut self, slot: u32) {
        let deadline = self.endpoints.receivers[slot as usize].deadline();
        let place = &mut self.endpoints.places[slot as usize];
        if deadline < place.ack_timer {
            place.ack_timer = deadline;
            let key = Key::new(Class::DelayedAck, place.number);
            self.calendar.push(deadline, key, slot);
        }
    }

    pub(super) fn delayed_ack_timer(&mut self, number: u32, slot: u32) {
        let place = &mut self.endpoints.places[slot as usize];
        if place.number != number || !place.live || place.ack_timer != self.now {
            return;
        }
        place.ack_timer = Time::MAX;
        let receiver = &mut self.endpoints.receivers[slot as usize];
        if receiver.deadline() <= self.now {
            let answer = self.pool.take();
            if receiver.on_timer(&self.tcp, self.now, &mut self.pool[answer]) {
                self.send_reply(slot, answer);
            } else {
                self.pool.free(answer);
            }
        }
        self.arm_ack(slot);
    }

    #[inline]
    fn sender_gets(&mut self, slot: u32, handle: Handle) {
        let packet = &self.pool[handle];
        let sender = &mut self.endpoints.senders[slot as usize];
        let outcome = sender.on_packet(&self.tcp, packet, self.now);
        if !self.endpoints.edges.is_empty() {
            let host = packet.dst();
            edge_call!(self, host, slot, sending, |edge, view, cx| {
                edge.acked(packet, outcome.rtt, &mut view, &mut cx);
                if outcome.fast_retransmit {
                    edge.lost(false, &mut view, &mut cx);
                }
            });
        }
        self.pool.free(handle);
        self.pump(slot);
        if self.endpoints.places[slot as usize].in_flight == 0 {
            self.maybe_end(slot);
        }
    }

    /// A packet has ended somewhere on its way.
    pub(super) fn end_packet(&mut self, handle: Handle) {
        let packet = &self.pool[handle];
        let (slot, probe) = (packet.flow, packet.flags.has(Flags::PROBE));
        self.pool.free(handle);
        if probe {
            return;
        }
        let place = &mut self.endpoints.places[slot as usize];
        place.in_flight -= 1;
        if place.in_flight == 0 {
            self.maybe_end(slot);
        }
    }

    /// Ends a flow whose sender is done and of which nothing is left in the network.
    fn maybe_end(&mut self, slot: u32) {
        let place = &self.endpoints.places[slot as usize];
        if !place.live || place.in_flight > 0 || !self.endpoints.senders[slot as usize].done() {
            return;
        }
        let number = place.number;
        self.endpoints.account(slot, &self.tcp, &mut self.table, &mut self.counters, self.now);
        self.endpoints.places[slot as usize].live = false;
        self.endpoints.free.push(slot);
        self.watch_flow(number, slot, false);
        if self.next_flow.is_none() && self.endpoints.active() == 0 {
            self.finished = true;
        }
    }

    /// Time-driven work of a host's edge.
    pub(super) fn edge_tick(&mut self, host: u32) {
        let again = edge_ask!(self, HostId(host as u16), |edge, cx| edge.tick(&mut cx));
        if let Some(time) = again {
            if time <= self.now {
                return self.fail(format!("host{host}"), super::FaultKind::Backward(time));
            }
            self.calendar.push(time, Key::new(Class::EdgeTick, host), 0);
        }
    }

    /// A scheme's probe has come to a host.
    #[cold]
    fn probe_arrives(&mut self, handle: Handle) {
        let probe = self.pool[handle];
        self.counters.payload.delivered += u64::from(probe.payload);
        self.pool.free(handle);
        if !self.endpoints.edges.is_empty() {
            edge_ask!(self, probe.dst(), |edge, cx| edge.probed(&probe, &mut cx));
        }
    }

    /// Sends what a host's edge has made. A queue at the host's port calls no edge, so the box stays
    /// empty meanwhile.
    #[cold]
    fn empty_edge_outbox(&mut self, host: HostId) {
        let mut outbox = std::mem::take(&mut self.endpoints.outbox);
        let port = self.graph.host_port[usize::from(host.0)];
        for packet in outbox.drain(..) {
            debug_assert!(packet.flags.has(Flags::PROBE), "an edge sends probes only");
            self.counters.injected += 1;
            self.counters.payload.sent += u64::from(packet.payload);
            let handle = self.pool.put(packet);
            self.hand_down(host, port, handle);
        }
        self.endpoints.outbox = outbox;
    }

    /// A data packet passes the receiving host's edge.
    fn receive_through_edge(&mut self, handle: Handle) {
        let mut packet = self.pool[handle];
        let (slot, host) = (packet.flow, packet.dst());
        edge_call!(self, host, slot, receiving, |edge, view, cx| {
            edge.receiving(&mut packet, &mut view, &mut cx);
        });
        self.pool[handle] = packet;
        if !self.endpoints.edges[usize::from(host.0)].reassembles {
            return self.deliver(handle);
        }
        let held = &mut self.endpoints.edge_flows[slot as usize].held;
        let at = held.partition_point(|(_, w)| w.packet.seq <= packet.seq);
        held.insert(at, (handle, Waiting { packet, since: self.now }));
        self.reassemble(slot, host);
    }

    /// Asks the edge what of the held packets goes up now.
    fn reassemble(&mut self, slot: u32, host: HostId) {
        let mut waiting = std::mem::take(&mut self.endpoints.waiting);
        waiting.clear();
        let held = &self.endpoints.edge_flows[slot as usize].held;
        waiting.extend(held.iter().map(|(_, w)| *w));
        let verdict = edge_call!(self, host, slot, receiving, |edge, view, cx| {
            edge.reassemble(&waiting, &mut view, &mut cx)
        });
        self.endpoints.waiting = waiting;
        let flow = &mut self.endpoints.edge_flows[slot as usize];
        let mut delivering = std::mem::take(&mut self.endpoints.delivering);
        delivering.extend(flow.held.drain(..verdict.count).map(|(handle, _)| handle));
        if let (Some(again), false) = (verdict.again, flow.held.is_empty())
            && again < flow.timer
        {
            if again < self.now {
                return self.fail(format!("host{}", host.0), super::FaultKind::Backward(again));
            }
            let flow = &mut self.endpoints.edge_flows[slot as usize];
            flow.timer = again;
            let number = self.endpoints.places[slot as usize].number;
            self.calendar.push(again, Key::new(Class::Reassembly, number), slot);
        }
        for handle in delivering.drain(..) {
            self.deliver(handle);
        }
        self.endpoints.delivering = delivering;
    }

    pub(super) fn reassembly_timer(&mut self, number: u32, slot: u32) {
        let place = &self.endpoints.places[slot as usize];
        let (live, host) = (place.live && place.number == number, place.tuple.dst());
        let flow = &mut self.endpoints.edge_flows[slot as usize];
        if !live || flow.timer != self.now {
            return;
        }
        flow.timer = Time::MAX;
        if !flow.held.is_empty() {
            self.reassemble(slot, host);
        }
    }
}
