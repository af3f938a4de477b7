//! What a host's edge keeps, and the calls to it.

use crate::event::{Class, Key};
use crate::fault::FaultKind;
use crate::flow::{Address, FlowId, Opening};
use crate::host::{Host, PORT};
use crate::network::Network;
use crate::pfc::Frame;
use crate::roce::Shared;
use crate::world::World;
use leafspine_core::{Flags, PacketMeta, Rng, Time};
use leafspine_fabric::Owner;
use leafspine_schemes::edge::{EdgeContext, FlowView, HostEdge, Waiting};

/// A host's edge, with what it keeps per flow.
pub struct EdgeState {
    /// The edge.
    pub edge: Box<dyn HostEdge>,
    rng: Rng,
    reassembles: bool,
    /// The words that the edges of a rack share; they are here while this host is called.
    pub(crate) board: Vec<u64>,
    sending: Vec<EdgeSending>,
    /// Words that each sending connection keeps, and how many.
    memory: Shared<Vec<u64>>,
    words: usize,
    receiving: Vec<EdgeReceiving>,
    /// What the edge has sent itself; emptied after every call.
    outbox: Vec<PacketMeta>,
    delivering: Vec<PacketMeta>,
}

#[derive(Clone, Copy, Default)]
struct EdgeSending {
    size: u64,
    bytes_sent: u64,
    state: [u64; 4],
    /// Its connection's, in `EdgeState::memory`.
    memory: u32,
}

#[derive(Clone, Default)]
struct EdgeReceiving {
    size: u64,
    state: [u64; 4],
    held: Vec<Waiting>,
    timer: Option<Time>,
}

impl EdgeState {
    /// `edge`, with its random stream.
    #[must_use]
    pub fn new(edge: Box<dyn HostEdge>, rng: Rng) -> EdgeState {
        EdgeState {
            reassembles: edge.needs().reassembly,
            words: edge.needs().memory,
            memory: Shared::default(),
            edge,
            rng,
            board: Vec::new(),
            sending: Vec::new(),
            receiving: Vec::new(),
            outbox: Vec::new(),
            delivering: Vec::new(),
        }
    }

    pub(crate) fn open_sending(&mut self, slot: u16, flow: &Opening) {
        let memory = match self.words {
            0 => 0,
            words => self.memory.take(flow.connection(), || vec![0; words]),
        };
        let slot = usize::from(slot);
        if self.sending.len() <= slot {
            self.sending.resize(slot + 1, EdgeSending::default());
        }
        self.sending[slot] = EdgeSending { size: flow.bytes, memory, ..EdgeSending::default() };
    }

    /// A flow that was no message of a job has ended, and its memory with it.
    pub(crate) fn close_sending(&mut self, slot: u16) {
        if self.words > 0 {
            self.memory.give_back(self.sending[usize::from(slot)].memory);
        }
    }

    pub(crate) fn open_receiving(&mut self, slot: u16, size: u64) {
        let slot = usize::from(slot);
        if self.receiving.len() <= slot {
            self.receiving.resize(slot + 1, EdgeReceiving::default());
        }
        let flow = &mut self.receiving[slot];
        flow.held.clear();
        (flow.size, flow.state, flow.timer) = (size, [0; 4], None);
    }

    /// The packets that wait for reassembly, and their flows' slots.
    pub fn held(&self) -> impl Iterator<Item = (u16, &PacketMeta)> {
        let flows = self.receiving.iter().enumerate();
        flows.flat_map(|(slot, flow)| flow.held.iter().map(move |w| (slot as u16, &w.packet)))
    }

    /// The same, to be changed.
    pub(crate) fn held_mut(&mut self) -> impl Iterator<Item = &mut PacketMeta> {
        self.receiving.iter_mut().flat_map(|flow| &mut flow.held).map(|waits| &mut waits.packet)
    }

    /// Calls the edge with its context.
    fn call<T>(
        &mut self,
        now: Time,
        what: impl FnOnce(&mut dyn HostEdge, &mut EdgeContext<'_>) -> T,
    ) -> T {
        let mut cx = EdgeContext {
            now,
            rng: &mut self.rng,
            board: &mut self.board,
            outbox: &mut self.outbox,
        };
        what(self.edge.as_mut(), &mut cx)
    }

    /// The same about a flow that the host sends.
    fn call_sending<T>(
        &mut self,
        slot: u16,
        now: Time,
        what: impl FnOnce(&mut dyn HostEdge, &mut FlowView<'_>, &mut EdgeContext<'_>) -> T,
    ) -> T {
        let mut flow = self.sending[usize::from(slot)];
        let EdgeSending { size, bytes_sent, memory, .. } = flow;
        let mut words = match self.words {
            0 => Vec::new(),
            _ => std::mem::take(self.memory.get_mut(memory)),
        };
        let (state, words_of) = (&mut flow.state, &mut words[..]);
        let mut view = FlowView { size, bytes_sent, expected: 0, state, memory: words_of };
        let answer = self.call(now, |edge, cx| what(edge, &mut view, cx));
        if self.words > 0 {
            *self.memory.get_mut(memory) = words;
        }
        self.sending[usize::from(slot)] = flow;
        answer
    }

    /// The same about a flow that the host receives, whose transport expects segment `expected`.
    fn call_receiving<T>(
        &mut self,
        slot: u16,
        expected: u32,
        now: Time,
        what: impl FnOnce(&mut dyn HostEdge, &mut FlowView<'_>, &mut EdgeContext<'_>) -> T,
    ) -> T {
        let EdgeReceiving { size, mut state, .. } = self.receiving[usize::from(slot)];
        let (state_of, memory) = (&mut state, &mut [][..]);
        let mut view = FlowView { size, bytes_sent: 0, expected, state: state_of, memory };
        let answer = self.call(now, |edge, cx| what(edge, &mut view, cx));
        self.receiving[usize::from(slot)].state = state;
        answer
    }
}

impl Host {
    /// A packet of the flow in `slot` leaves its sending transport.
    pub(crate) fn edge_sends<W: World>(
        &mut self,
        slot: u16,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let Some(edge) = &mut self.edge else { return };
        edge.call_sending(slot, world.now(), |edge, flow, cx| edge.sending(packet, flow, cx));
        if packet.notes & PacketMeta::RETRANSMIT == 0 {
            edge.sending[usize::from(slot)].bytes_sent += u64::from(packet.payload);
        }
        self.empty_edge_outbox(net, world);
    }

    /// An ACK or SYN-ACK leaves its receiving transport.
    pub(crate) fn edge_replies<W: World>(
        &mut self,
        slot: u16,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let Some(edge) = &mut self.edge else { return };
        let expected = self.receivers[usize::from(slot)].expected();
        edge.call_receiving(slot, expected, world.now(), |edge, flow, cx| {
            edge.replying(packet, flow, cx);
        });
        self.empty_edge_outbox(net, world);
    }

    /// A timeout has hit the flow in `slot`.
    pub(crate) fn edge_timeout<W: World>(&mut self, slot: u16, net: &Network, world: &mut W) {
        let Some(edge) = &mut self.edge else { return };
        edge.call_sending(slot, world.now(), |edge, flow, cx| edge.lost(true, flow, cx));
        self.empty_edge_outbox(net, world);
    }

    /// What has come back for the flow in `slot` has been taken in by its sender.
    pub(crate) fn edge_acked<W: World>(
        &mut self,
        slot: u16,
        ack: &PacketMeta,
        outcome: crate::transport::AckOutcome,
        net: &Network,
        world: &mut W,
    ) {
        let Some(edge) = &mut self.edge else { return };
        edge.call_sending(slot, world.now(), |edge, flow, cx| {
            edge.acked(ack, outcome.rtt, flow, cx);
            if outcome.fast_retransmit {
                edge.lost(false, flow, cx);
            }
        });
        self.empty_edge_outbox(net, world);
    }

    /// Time-driven work of the edge.
    pub(crate) fn edge_tick<W: World>(&mut self, net: &Network, world: &mut W) {
        let now = world.now();
        let Some(edge) = &mut self.edge else { return };
        let again = edge.call(now, |edge, cx| edge.tick(cx));
        self.empty_edge_outbox(net, world);
        let Some(time) = again else { return };
        if time <= now {
            return world.record().fail(now, Owner::Host(self.id), FaultKind::Backward(time));
        }
        world.schedule(time, Key::new(Class::EdgeTick, u32::from(self.id.0)), 0);
    }

    /// A scheme's probe has come, or a pause frame.
    #[cold]
    pub(crate) fn probed<W: World>(&mut self, probe: &PacketMeta, net: &Network, world: &mut W) {
        if let Some(frame) = Frame::of(probe) {
            self.egress.obey(PORT, frame, net, world);
            return self.look(world);
        }
        world.record().counters.payload.delivered += u64::from(probe.payload);
        if let Some(edge) = &mut self.edge {
            edge.call(world.now(), |edge, cx| edge.probed(probe, cx));
            self.empty_edge_outbox(net, world);
        }
    }

    /// Sends what the edge has made. A queue at the host's port calls no edge, so the box stays empty
    /// meanwhile.
    #[inline]
    fn empty_edge_outbox<W: World>(&mut self, net: &Network, world: &mut W) {
        if self.edge.as_ref().is_some_and(|edge| !edge.outbox.is_empty()) {
            self.send_edge_outbox(net, world);
        }
    }

    #[cold]
    fn send_edge_outbox<W: World>(&mut self, net: &Network, world: &mut W) {
        let Some(edge) = &mut self.edge else { return };
        let mut outbox = std::mem::take(&mut edge.outbox);
        for mut packet in outbox.drain(..) {
            if !packet.flags.has(Flags::PROBE) {
                let now = world.now();
                world.record().fail(now, Owner::Host(self.id), FaultKind::NoProbe);
                continue;
            }
            world.record().injected(&packet);
            self.hand_down(&mut packet, net, world);
        }
        if let Some(edge) = &mut self.edge {
            edge.outbox = outbox;
        }
    }

    /// A data packet passes the edge on its way to the transport.
    pub(crate) fn receive_through_edge<W: World>(
        &mut self,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let Some(edge) = &mut self.edge else { return };
        let (now, slot) = (world.now(), FlowId::of(packet).receiving);
        let expected = self.receivers[usize::from(slot)].expected();
        edge.call_receiving(slot, expected, now, |edge, flow, cx| edge.receiving(packet, flow, cx));
        let reassembles = edge.reassembles;
        self.empty_edge_outbox(net, world);
        if !reassembles {
            return self.deliver(packet, net, world);
        }
        let Some(edge) = &mut self.edge else { return };
        let held = &mut edge.receiving[usize::from(slot)].held;
        let at = held.partition_point(|waiting| waiting.packet.seq <= packet.seq);
        held.insert(at, Waiting { packet: *packet, since: now });
        self.reassemble(slot, net, world);
    }

    /// A header without its payload passes the edge on its way to the transport. One that a switch
    /// has sent back is an answer.
    #[inline(never)]
    pub(crate) fn edge_trimmed<W: World>(
        &mut self,
        header: &PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let Some(edge) = self.edge.as_mut().filter(|_| header.notes & PacketMeta::REPLY == 0)
        else {
            return;
        };
        let (now, slot) = (world.now(), FlowId::of(header).receiving);
        let expected = self.receivers[usize::from(slot)].expected();
        edge.call_receiving(slot, expected, now, |edge, flow, cx| edge.trimmed(header, flow, cx));
        self.empty_edge_outbox(net, world);
    }

    /// Asks the edge what of the held packets goes up now.
    fn reassemble<W: World>(&mut self, slot: u16, net: &Network, world: &mut W) {
        let Some(edge) = &mut self.edge else { return };
        let (now, at) = (world.now(), usize::from(slot));
        let expected = self.receivers[at].expected();
        let mut held = std::mem::take(&mut edge.receiving[at].held);
        let verdict = edge
            .call_receiving(slot, expected, now, |edge, flow, cx| edge.reassemble(&held, flow, cx));
        let (count, waiting) = (verdict.count, held.len());
        if count > waiting {
            let place = Owner::Host(self.id);
            world.record().fail(now, place, FaultKind::TooMany { count, waiting });
        }
        let mut delivering = std::mem::take(&mut edge.delivering);
        delivering.extend(held.drain(..count.min(waiting)).map(|waiting| waiting.packet));
        let some_stay = !held.is_empty();
        edge.receiving[at].held = held;
        self.empty_edge_outbox(net, world);
        if let (Some(again), true) = (verdict.again, some_stay) {
            self.look_again(slot, again, world);
        }
        for mut packet in delivering.drain(..) {
            self.deliver(&mut packet, net, world);
        }
        if let Some(edge) = &mut self.edge {
            edge.delivering = delivering;
        }
    }

    fn look_again<W: World>(&mut self, slot: u16, again: Time, world: &mut W) {
        let Some(edge) = &mut self.edge else { return };
        let timer = &mut edge.receiving[usize::from(slot)].timer;
        if timer.is_some_and(|timer| timer <= again) {
            return;
        }
        let now = world.now();
        if again < now {
            return world.record().fail(now, Owner::Host(self.id), FaultKind::Backward(again));
        }
        *timer = Some(again);
        let number = self.receiving[usize::from(slot)].number;
        let item = Address::new(self.id, slot).item();
        world.schedule(again, Key::new(Class::Reassembly, number), item);
    }

    pub(crate) fn reassembly_timer<W: World>(
        &mut self,
        number: u32,
        slot: u16,
        net: &Network,
        world: &mut W,
    ) {
        let flow = &self.receiving[usize::from(slot)];
        if !flow.live || flow.number != number {
            return;
        }
        let Some(edge) = &mut self.edge else { return };
        let flow = &mut edge.receiving[usize::from(slot)];
        if flow.timer != Some(world.now()) {
            return;
        }
        flow.timer = None;
        if !flow.held.is_empty() {
            self.reassemble(slot, net, world);
        }
    }
}

#[cfg(test)]
#[path = "edge_tests.rs"]
mod tests;
