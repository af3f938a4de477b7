//! A host: transports at the ends of its flows, its edge, its port.

use crate::edge::EdgeState;
use crate::egress::Egress;
use crate::ends::{Receiver, Sender};
use crate::event::{Class, Key};
use crate::flow::{Address, FlowId, Opening, Receiving, Sending};
use crate::jitter::Jitter;
use crate::network::Network;
use crate::nic::Nic;
use crate::port::Store;
use crate::program::{FIRST_MESSAGE, Program, Step};
use crate::record::Operated;
use crate::roce::{Credit, Incoming, QueuePair};
use crate::transport::{Fired, Received};
use crate::world::World;
use leafspine_core::{FiveTuple, Flags, HostId, PacketMeta, PortId, Time};

/// A host. Slots of flows are reused, with the storage that their transports have grown.
pub struct Host {
    /// Its number.
    pub id: HostId,
    /// Its port.
    pub egress: Egress,
    /// Its edge, in runs that have edges.
    pub edge: Option<Box<EdgeState>>,
    /// In runs whose hosts delay what they send.
    pub jitter: Option<Box<Jitter>>,
    /// In runs with operations that wait for each other.
    pub program: Option<Box<Program>>,
    /// In runs with queue pairs.
    pub(crate) nic: Option<Box<Nic>>,
    /// Flows that it sends, by slot.
    pub sending: Vec<Sending>,
    /// Their transports.
    pub senders: Vec<Sender>,
    free_sending: Vec<u16>,
    /// Flows that it receives, by slot.
    pub receiving: Vec<Receiving>,
    /// Their transports.
    pub receivers: Vec<Receiver>,
    free_receiving: Vec<u16>,
}

/// A host has 65,536 flows already, in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// A free slot; `None` where all that a packet can name are taken.
fn slot(free: &mut Vec<u16>, used: usize) -> Result<u16, Full> {
    match free.pop() {
        Some(slot) => Ok(slot),
        None => u16::try_from(used).map_err(|_| Full),
    }
}

/// Puts `item` at `slot`, which is one of the list or the next.
fn put<T>(list: &mut Vec<T>, slot: u16, item: T) {
    match list.get_mut(usize::from(slot)) {
        Some(place) => *place = item,
        None => list.push(item),
    }
}

pub(crate) const PORT: PortId = PortId(0);

/// Sees that an operation of `host` is begun when it is due.
fn due<W: World>(host: HostId, number: u32, at: Time, world: &mut W) {
    world.schedule(at, Key::new(Class::Operation, number), Address::new(host, 0).item());
}

impl Host {
    /// A host without flows. `egress` has one port.
    #[must_use]
    pub fn new(
        id: HostId,
        egress: Egress,
        edge: Option<Box<EdgeState>>,
        jitter: Option<Box<Jitter>>,
    ) -> Host {
        Host {
            id,
            egress,
            edge,
            jitter,
            program: None,
            nic: None,
            sending: Vec::new(),
            senders: Vec::new(),
            free_sending: Vec::new(),
            receiving: Vec::new(),
            receivers: Vec::new(),
            free_receiving: Vec::new(),
        }
    }

    /// Takes a slot for a flow that this host will send; [`Class::FlowStart`] starts it.
    ///
    /// # Errors
    /// If it sends as many flows as packets can name.
    pub fn open_sending(&mut self, net: &Network, flow: &Opening) -> Result<u16, Full> {
        let slot = slot(&mut self.free_sending, self.sending.len())?;
        let sending = Sending {
            tuple: flow.tuple,
            number: flow.number,
            sent: 0,
            got: 0,
            ended: 0,
            id: FlowId { sending: slot, receiving: 0 },
            path: flow.path,
            class: flow.class,
            live: true,
            done: false,
            timer: Time::MAX,
            last: Time::ZERO,
        };
        put(&mut self.sending, slot, sending);
        if self.senders.len() < self.sending.len() {
            self.senders.push(Sender::of(net));
        }
        let sender = &mut self.senders[usize::from(slot)];
        sender.reset(net, flow);
        if let Sender::Roce(sender) = sender {
            let nic = Nic::of(&mut self.nic, self.edge.as_deref(), net);
            let rate = self.egress.ports[0].rate;
            let pair = || QueuePair::new(net.roce(), rate);
            sender.pair = nic.pairs.take(flow.connection(), pair);
        }
        if let Some(edge) = &mut self.edge {
            edge.open_sending(slot, flow);
        }
        Ok(slot)
    }

    /// Takes a slot for a flow that this host will receive.
    ///
    /// # Errors
    /// If it receives as many flows as packets can name.
    pub fn open_receiving(&mut self, net: &Network, flow: &Opening) -> Result<u16, Full> {
        let slot = slot(&mut self.free_receiving, self.receiving.len())?;
        let receiving = Receiving {
            tuple: flow.tuple,
            number: flow.number,
            sent: 0,
            got: 0,
            packets: 0,
            id: FlowId { sending: 0, receiving: slot },
            path: flow.ack_path,
            live: true,
            timer: Time::MAX,
            last: Time::ZERO,
        };
        put(&mut self.receiving, slot, receiving);
        if self.receivers.len() < self.receiving.len() {
            self.receivers.push(Receiver::of(net));
        }
        let receiver = &mut self.receivers[usize::from(slot)];
        receiver.reset();
        if let Receiver::Roce(receiver) = receiver {
            let nic = Nic::of(&mut self.nic, self.edge.as_deref(), net);
            receiver.pair = nic.notifies.take(flow.connection(), Incoming::default);
        }
        if let Some(edge) = &mut self.edge {
            edge.open_receiving(slot, flow.bytes);
        }
        Ok(slot)
    }

    /// The slots of a flow at both its hosts, for the side that this host is.
    pub fn name_sending(&mut self, id: FlowId) {
        self.sending[usize::from(id.sending)].id = id;
    }

    /// The same for a flow that this host receives.
    pub fn name_receiving(&mut self, id: FlowId) {
        self.receiving[usize::from(id.receiving)].id = id;
    }

    /// The other side's slot of a flow that this host sends.
    #[must_use]
    pub fn peer_slot(&self, slot: u16) -> u16 {
        self.sending[usize::from(slot)].id.receiving
    }

    /// Frees the slot of a flow of which nothing is left in the network.
    pub fn close_sending(&mut self, slot: u16) {
        let sending = &mut self.sending[usize::from(slot)];
        sending.live = false;
        if sending.number < FIRST_MESSAGE
            && let (Sender::Roce(sender), Some(nic)) =
                (&self.senders[usize::from(slot)], &mut self.nic)
        {
            nic.pairs.give_back(sender.pair);
        }
        if sending.number < FIRST_MESSAGE
            && let Some(edge) = &mut self.edge
        {
            edge.close_sending(slot);
        }
        self.free_sending.push(slot);
    }

    /// The same for a flow that this host received.
    pub fn close_receiving(&mut self, slot: u16) {
        let receiving = &mut self.receiving[usize::from(slot)];
        receiving.live = false;
        if let (Receiver::Roce(receiver), Some(nic)) =
            (&self.receivers[usize::from(slot)], &mut self.nic)
        {
            nic.notifies.get_mut(receiver.pair).demand.end(slot);
        }
        if receiving.number < FIRST_MESSAGE
            && let (Receiver::Roce(receiver), Some(nic)) =
                (&self.receivers[usize::from(slot)], &mut self.nic)
        {
            nic.notifies.give_back(receiver.pair);
            nic.pacer.forget(receiver.pair);
        }
        self.free_receiving.push(slot);
    }

    /// The credit of the queue pair that a flow is sent by, and the packets that this has sent.
    #[must_use]
    pub fn credit(&self, slot: u16) -> Option<(Credit, u32)> {
        match (&self.senders[usize::from(slot)], &self.nic) {
            (Sender::Roce(sender), Some(nic)) => Some(nic.pairs.get(sender.pair).credit()),
            _ => None,
        }
    }

    /// Has a queue pair's sender think that it was asked for more: for tests of what finds that.
    #[doc(hidden)]
    pub fn miscount_credit(&mut self, slot: u16) {
        if let (Sender::Roce(sender), Some(nic)) = (&self.senders[usize::from(slot)], &mut self.nic)
        {
            let pair = nic.pairs.get_mut(sender.pair);
            pair.grant(pair.credit().0.granted.wrapping_add(1 << 20));
        }
    }

    /// The packets that the queue pair of a flow which is received has been asked for.
    #[must_use]
    pub fn granted(&self, slot: u16) -> Option<u32> {
        match (&self.receivers[usize::from(slot)], &self.nic) {
            (Receiver::Roce(receiver), Some(nic)) => {
                Some(nic.notifies.get(receiver.pair).demand.granted)
            }
            _ => None,
        }
    }

    /// A packet has come from the network.
    #[inline]
    pub fn arrive<W: World>(&mut self, packet: &mut PacketMeta, net: &Network, world: &mut W) {
        match self.edge {
            None => self.deliver(packet, net, world),
            Some(_) => self.arrive_at_edge(packet, net, world),
        }
    }

    #[inline(never)]
    fn arrive_at_edge<W: World>(&mut self, packet: &mut PacketMeta, net: &Network, world: &mut W) {
        if packet.flags.has(Flags::DATA) {
            return self.receive_through_edge(packet, net, world);
        }
        if packet.notes & PacketMeta::TRIMMED != 0 {
            self.edge_trimmed(packet, net, world);
        }
        self.deliver(packet, net, world);
    }

    /// An event that was scheduled for this host is due.
    #[inline]
    pub fn on_timer<W: World>(&mut self, key: Key, item: u32, net: &Network, world: &mut W) {
        let (number, slot) = (key.id(), Address::from_item(item).slot());
        match key.class() {
            Class::Departure => {
                self.egress.line_idle(PORT, net, world);
                self.look(world);
            }
            Class::Pause => {
                self.egress.pause_due(PORT, item, net, world);
                self.look(world);
            }
            Class::FlowStart => {
                let sender = &mut self.senders[usize::from(slot)];
                sender.open(net, world.now());
                if sender.is_of_card() {
                    return self.offer(slot, net, world);
                }
                self.pump(slot, net, world);
            }
            Class::Nic => self.nic_due(net, world),
            Class::Retransmit => self.retransmit_timer(number, slot, net, world),
            Class::DelayedAck if net.protocol.is_of_card() => self.take_turn(net, world),
            Class::DelayedAck => self.delayed_ack_timer(number, slot, net, world),
            Class::Reassembly => self.reassembly_timer(number, slot, net, world),
            Class::EdgeTick => self.edge_tick(net, world),
            Class::HandDown => self.handed_down(net, world),
            Class::Operation => self.operate(number, net, world),
            // Named one by one, so that a class that is added has to be thought of here.
            other @ (Class::Link
            | Class::Arrival
            | Class::HoldExpiry
            | Class::Tick
            | Class::Window
            | Class::Probe) => unreachable!("{other:?} is no host's event"),
        }
    }

    /// An operation is due: a message starts, or a computation has ended.
    fn operate<W: World>(&mut self, number: u32, net: &Network, world: &mut W) {
        let now = world.now();
        let Some(program) = &mut self.program else { return };
        let Some(step) = program.take(number) else { return };
        let Step::Send(slot, _) = step else {
            let record = world.record();
            record.operations.push(Operated { time: now, number, sender: None, connected: false });
            record.senders_done += 1;
            return self.has_ended(number, world);
        };
        let connection = self.sending[usize::from(slot)].tuple;
        program.queue(connection, number, slot);
        self.serve(connection, net, world);
    }

    /// Begins the messages of a connection whose turn it is.
    fn serve<W: World>(&mut self, connection: FiveTuple, net: &Network, world: &mut W) {
        let (now, id) = (world.now(), self.id);
        while let Some(program) = &mut self.program {
            let senders = &mut self.senders;
            let flight = |slot: u16| senders[usize::from(slot)].flight(net);
            let Some((number, slot, carried)) = program.next(connection, flight) else { return };
            let connected = carried.is_some();
            match carried {
                Some(carried) => senders[usize::from(slot)].resume(net, carried, now),
                None => senders[usize::from(slot)].open(net, now),
            }
            let sender = Some(Address::new(id, slot));
            world.record().operations.push(Operated { time: now, number, sender, connected });
            program.started(number, now, |next, at| due(id, next, at, world));
            if self.senders[usize::from(slot)].is_of_card() {
                // The card says when all are sent.
                return self.offer(slot, net, world);
            }
            self.pump(slot, net, world);
            self.has_sent(slot);
        }
    }

    /// A message may have been sent to its end: then it is the next one's turn.
    fn has_sent(&mut self, slot: u16) {
        let at = usize::from(slot);
        if let Some(program) = &mut self.program
            && self.senders[at].has_sent_all()
        {
            let connection = self.sending[at].tuple;
            if program.sent(connection, slot) {
                program.carry(connection, slot, || self.senders[at].carried());
            }
        }
    }

    /// A sender has been called: its connection's next message may begin.
    #[inline(never)]
    pub(crate) fn go_on<W: World>(&mut self, slot: u16, net: &Network, world: &mut W) {
        if self.senders[usize::from(slot)].has_sent_all() {
            self.has_sent(slot);
            self.serve(self.sending[usize::from(slot)].tuple, net, world);
        }
    }

    /// What this host waited for has ended: whatever waited for nothing else is due.
    #[inline]
    fn has_ended<W: World>(&mut self, number: u32, world: &mut W) {
        let (now, id) = (world.now(), self.id);
        if let Some(program) = &mut self.program {
            program.ended(number, now, |next, at| due(id, next, at, world));
        }
    }

    /// All of a flow's data is acknowledged.
    #[inline]
    pub(crate) fn is_acknowledged<W: World>(&mut self, slot: u16, world: &mut W) {
        let at = usize::from(slot);
        if let Some(program) = &mut self.program
            && self.sending[at].number >= FIRST_MESSAGE
        {
            let connection = self.sending[at].tuple;
            program.carry(connection, slot, || self.senders[at].carried());
            program.acknowledged(connection, slot);
            self.has_ended(self.sending[at].number, world);
        }
    }

    /// A transport or the edge sends a packet.
    #[inline]
    pub(crate) fn hand_down<W: World>(
        &mut self,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let Some(jitter) = &mut self.jitter else {
            return self.egress.enqueue(PORT, packet, net, world);
        };
        let at = jitter.put_off(packet, world.now());
        self.note_on_way(packet, true, net);
        world.schedule(at, Key::new(Class::HandDown, u32::from(self.id.0)), 0);
    }

    /// The first of the packets on their way to the port is there. Which one that is does not depend
    /// on the order of events at one instant.
    fn handed_down<W: World>(&mut self, net: &Network, world: &mut W) {
        if let Some(mut packet) = self.jitter.as_mut().and_then(|jitter| jitter.arrived()) {
            self.note_on_way(&packet, false, net);
            self.egress.enqueue(PORT, &mut packet, net, world);
        }
    }

    /// Sends all that the sender may send now, and sees to its timer.
    #[inline]
    fn pump<W: World>(&mut self, slot: u16, net: &Network, world: &mut W) {
        let at = usize::from(slot);
        loop {
            let mut packet = PacketMeta::default();
            if !self.senders[at].poll_send(net, world.now(), &mut packet) {
                break;
            }
            let sending = &mut self.sending[at];
            packet.tuple = sending.tuple;
            packet.flow = sending.id.bits();
            packet.path = sending.path;
            packet.class = sending.class.unwrap_or(packet.class);
            sending.sent += 1;
            if self.edge.is_some() {
                self.edge_sends(slot, &mut packet, net, world);
            }
            world.record().sent(&packet);
            self.hand_down(&mut packet, net, world);
            if net.tcp.stack.small_queues {
                self.tell_leaving(slot, &packet, world);
            }
        }
        self.arm(slot, world);
    }

    /// Tells a sender when the packet that it has sent will have left the port.
    fn tell_leaving<W: World>(&mut self, slot: u16, packet: &PacketMeta, world: &mut W) {
        let now = world.now();
        let port = &mut self.egress.ports[usize::from(PORT.0)];
        let free = match &port.store {
            Store::Fifo(fifo) => fifo.free_at(now),
            Store::General(general) => general.free_at(now),
        };
        // What is put off is not there yet.
        let takes = port.rate.time_for(u64::from(packet.size));
        let at = self.jitter.as_mut().map_or(free, |jitter| jitter.leaves(free, takes));
        self.senders[usize::from(slot)].note_packet(packet, at, now);
    }

    /// Sees that an event is pending no later than the sender's deadline. An event that comes too
    /// early looks again, so a deadline that moves on with every ACK costs nothing.
    #[inline]
    pub(crate) fn arm<W: World>(&mut self, slot: u16, world: &mut W) {
        let deadline = self.senders[usize::from(slot)].deadline();
        let sending = &mut self.sending[usize::from(slot)];
        if deadline < sending.timer {
            sending.timer = deadline;
            let key = Key::new(Class::Retransmit, sending.number);
            world.schedule(deadline, key, Address::new(self.id, slot).item());
        }
    }

    fn retransmit_timer<W: World>(&mut self, number: u32, slot: u16, net: &Network, world: &mut W) {
        let (at, now) = (usize::from(slot), world.now());
        let sending = &mut self.sending[at];
        if sending.number != number || !sending.live || sending.timer != now {
            return;
        }
        sending.timer = Time::MAX;
        if self.senders[at].is_of_card() {
            return self.pair_timer(slot, net, world);
        }
        match self.senders[at].on_timer(net, now) {
            Fired::Nothing => return self.arm(slot, world),
            Fired::Timeout => self.edge_timeout(slot, net, world),
            Fired::Other => {}
        }
        self.pump(slot, net, world);
        if self.program.is_some() {
            self.go_on(slot, net, world);
        }
    }

    /// Gives a packet to its transport.
    #[inline(always)]
    pub(crate) fn deliver<W: World>(
        &mut self,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let record = world.record();
        record.counters.delivered += 1;
        if packet.flags.has(Flags::PROBE) {
            return self.probed(packet, net, world);
        }
        record.flow_packets -= 1;
        if packet.notes & PacketMeta::REPLY == 0 {
            self.receiver_gets(packet, net, world);
        } else {
            self.sender_gets(packet, net, world);
        }
    }

    #[inline]
    fn receiver_gets<W: World>(&mut self, packet: &PacketMeta, net: &Network, world: &mut W) {
        let (slot, now) = (FlowId::of(packet).receiving, world.now());
        let at = usize::from(slot);
        let mut reply = PacketMeta::default();
        if self.receivers[at].is_of_card() {
            return self.pair_takes(packet, net, world);
        }
        let received = self.receivers[at].on_packet(net, packet, now, &mut reply);
        self.took(slot, packet, &received, world);
        if received.reply {
            self.send_reply(slot, &mut reply, net, world);
        }
        self.arm_ack(slot, world);
    }

    /// Notes what a receiver has made of a packet.
    #[inline]
    pub(crate) fn took<W: World>(
        &mut self,
        slot: u16,
        packet: &PacketMeta,
        received: &Received,
        world: &mut W,
    ) {
        let now = world.now();
        let flow = &mut self.receiving[usize::from(slot)];
        let data = u32::from(packet.is_data());
        flow.packets += data;
        flow.got += 1;
        flow.last = now;
        let record = world.record();
        record.counters.data_packets += u64::from(data);
        record.counters.payload.delivered += u64::from(packet.payload);
        record.counters.bytes_delivered += u64::from(received.delivered);
        if received.complete_now {
            let number = flow.number;
            record.finished.push((number, now));
            self.has_ended(number, world);
        }
    }

    #[inline]
    pub(crate) fn send_reply<W: World>(
        &mut self,
        slot: u16,
        reply: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let flow = &mut self.receiving[usize::from(slot)];
        reply.tuple = flow.tuple.reversed();
        reply.flow = flow.id.bits();
        reply.path = flow.path;
        reply.notes |= PacketMeta::REPLY;
        flow.sent += 1;
        if self.edge.is_some() {
            self.edge_replies(slot, reply, net, world);
        }
        world.record().sent(reply);
        self.hand_down(reply, net, world);
    }

    #[inline]
    fn arm_ack<W: World>(&mut self, slot: u16, world: &mut W) {
        let deadline = self.receivers[usize::from(slot)].deadline();
        let flow = &mut self.receiving[usize::from(slot)];
        if deadline < flow.timer {
            flow.timer = deadline;
            let key = Key::new(Class::DelayedAck, flow.number);
            world.schedule(deadline, key, Address::new(self.id, slot).item());
        }
    }

    fn delayed_ack_timer<W: World>(
        &mut self,
        number: u32,
        slot: u16,
        net: &Network,
        world: &mut W,
    ) {
        let (at, now) = (usize::from(slot), world.now());
        let flow = &mut self.receiving[at];
        if flow.number != number || !flow.live || flow.timer != now {
            return;
        }
        flow.timer = Time::MAX;
        if self.receivers[at].deadline() <= now {
            let mut reply = PacketMeta::default();
            if self.receivers[at].on_timer(net, now, &mut reply) {
                self.send_reply(slot, &mut reply, net, world);
            }
        }
        self.arm_ack(slot, world);
    }

    #[inline]
    fn sender_gets<W: World>(&mut self, packet: &PacketMeta, net: &Network, world: &mut W) {
        let (slot, now) = (FlowId::of(packet).sending, world.now());
        let at = usize::from(slot);
        if self.senders[at].is_of_card() {
            return self.pair_gets(packet, net, world);
        }
        let outcome = self.senders[at].on_packet(net, packet, now);
        let sending = &mut self.sending[at];
        sending.got += 1;
        sending.last = now;
        if outcome.finished && !std::mem::replace(&mut sending.done, true) {
            let record = world.record();
            record.senders_done += 1;
            record.done.push(Address::new(self.id, slot));
            self.is_acknowledged(slot, world);
        }
        if self.edge.is_some() {
            self.edge_acked(slot, packet, outcome, net, world);
        }
        self.pump(slot, net, world);
        if self.program.is_some() {
            self.go_on(slot, net, world);
        }
    }
}
