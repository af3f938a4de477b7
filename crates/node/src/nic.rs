//! A host's network card in a run with queue pairs: whose packet leaves next.
//!
//! Queue pairs that may send take turns, one packet each. A packet is taken only when the port can
//! send it at once, so what a host has to send waits in its memory and not in the port;
//! acknowledgments go to the port when they are made. While a priority is paused (IEEE 802.1Qbb), one
//! packet of it waits there; queue pairs whose packets are of others go on.

use crate::edge::EdgeState;
use crate::ends::{Receiver, Sender};
use crate::event::{Class, Key};
use crate::flow::{Address, FlowId};
use crate::host::{Host, PORT};
use crate::network::Network;
use crate::pfc::PRIORITIES;
use crate::port::Store;
use crate::pull::Pacer;
use crate::roce::{self, CNP, Incoming, QueuePair, Shared};
use crate::spec::Classifier;
use crate::world::World;
use leafspine_core::{PacketMeta, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Which queue pairs have something to send.
#[derive(Debug)]
pub(crate) struct Nic {
    /// May send now, in turn.
    ready: VecDeque<u16>,
    /// By priority: may send but for its pause, in turn. They go before the others when it is over.
    held: [VecDeque<u16>; PRIORITIES],
    /// The priorities of which there may be some, a bit each.
    holds: u8,
    /// May send later, by their rates: when, the flow's number and its slot. Of those of one
    /// instant the older flow is first; which slot a flow has depends on when others were freed.
    later: BinaryHeap<Reverse<(Time, u32, u16)>>,
    /// When the line has sent what was taken last: with jitter the port does not know yet.
    line_free: Time,
    /// When the pending event is due; `Time::MAX` if none is.
    wake: Time,
    /// Queue pairs that send.
    pub(crate) pairs: Shared<QueuePair>,
    /// Queue pairs that receive.
    pub(crate) notifies: Shared<Incoming>,
    /// In runs with credits: who is asked for packets when.
    pub(crate) pacer: Pacer,
    /// It can tell which service queue a queue pair's next packet is for.
    sees_queues: bool,
    /// With jitter: data packets on their way to the port, by service queue.
    on_way: [u32; PRIORITIES],
}

impl Default for Nic {
    fn default() -> Nic {
        Nic {
            ready: VecDeque::new(),
            held: Default::default(),
            holds: 0,
            later: BinaryHeap::new(),
            line_free: Time::ZERO,
            wake: Time::MAX,
            pairs: Shared::default(),
            notifies: Shared::default(),
            pacer: Pacer::default(),
            sees_queues: false,
            on_way: [0; PRIORITIES],
        }
    }
}

impl Nic {
    /// The card of a host, which it has from its first queue pair on. A host's edge may give a packet
    /// another class, or other ports to hash: then its queue is not known before its turn.
    pub(crate) fn of<'a>(
        nic: &'a mut Option<Box<Nic>>,
        edge: Option<&EdgeState>,
        net: &Network,
    ) -> &'a mut Nic {
        nic.get_or_insert_with(|| {
            let by_class = net.classifier != Classifier::Hash;
            let sees_queues = edge.is_none_or(|edge| edge.edge.needs().keeps_class && by_class);
            Box::new(Nic { sees_queues, ..Nic::default() })
        })
    }

    /// Moves those whose time has come to the others that may send. Before any other comes there:
    /// turns go by who was ready first, and not by when the card was called.
    #[inline(always)]
    fn ripen(&mut self, now: Time) {
        while let Some(Reverse((at, _, slot))) = self.later.peek()
            && *at <= now
        {
            self.ready.push_back(*slot);
            self.later.pop();
        }
    }
}

impl Host {
    /// The message in `slot`, and its queue pair.
    fn pair(&mut self, slot: u16) -> (&mut roce::Sender, &mut QueuePair) {
        match (&mut self.senders[usize::from(slot)], &mut self.nic) {
            (Sender::Roce(sender), Some(nic)) => {
                let pair = nic.pairs.get_mut(sender.pair);
                (sender, pair)
            }
            _ => unreachable!("a run has one transport"),
        }
    }

    /// A message starts, or its timer is due, or something has come for it: it may have something to send.
    pub(crate) fn offer<W: World>(&mut self, slot: u16, net: &Network, world: &mut W) {
        self.list_if_ready(slot, net, world);
        self.look(world);
    }

    fn list_if_ready<W: World>(&mut self, slot: u16, net: &Network, world: &mut W) {
        let now = world.now();
        let (sender, pair) = self.pair(slot);
        if !sender.listed
            && let Some(at) = sender.ready_at(net.roce(), pair)
        {
            sender.listed = true;
            self.list(slot, at, now);
        }
        self.arm(slot, world);
    }

    #[inline(always)]
    fn list(&mut self, slot: u16, at: Time, now: Time) {
        let Some(nic) = &mut self.nic else { return };
        if at <= now {
            nic.ripen(now);
            nic.ready.push_back(slot);
        } else {
            let number = self.sending[usize::from(slot)].number;
            nic.later.push(Reverse((at, number, slot)));
        }
    }

    /// When the port would send a packet that is handed down: now or later; `None` if something
    /// else waits there, after which the card is called again. What waits for the end of a pause is
    /// in nobody's way but its own priority's.
    fn port_free_at(&self, now: Time) -> Option<Time> {
        let port = &self.egress.ports[usize::from(PORT.0)];
        match &port.store {
            Store::Fifo(fifo) => Some(fifo.free_at(now)),
            Store::General(general) if general.has_packets() => {
                (!general.can_send() && self.knows_queues()).then(|| general.busy_until.max(now))
            }
            Store::General(general) => Some(general.busy_until.max(now)),
        }
    }

    /// Whether the card can tell which of several service queues a queue pair's next packet is for.
    fn knows_queues(&self) -> bool {
        let sees = self.nic.as_ref().is_some_and(|nic| nic.sees_queues);
        sees && self.egress.ports[usize::from(PORT.0)].queues() > 1
    }

    /// Whether the card can tell queues apart, and has to: some is paused.
    fn minds_queues(&self) -> bool {
        let paused = match &self.egress.ports[usize::from(PORT.0)].store {
            Store::Fifo(_) => false,
            Store::General(general) => general.has_stopped(),
        };
        paused && self.knows_queues()
    }

    /// The service queue of a queue pair's data.
    fn queue_of_data(&self, slot: u16, net: &Network) -> usize {
        let sending = &self.sending[usize::from(slot)];
        let class = sending.class.unwrap_or(net.roce().spec.classes.0);
        let data = PacketMeta { tuple: sending.tuple, class, ..PacketMeta::default() };
        net.queue_of(&data, self.egress.ports[usize::from(PORT.0)].queues())
    }

    /// Whether a service queue of the port is paused.
    fn is_paused(&self, queue: usize) -> bool {
        match &self.egress.ports[usize::from(PORT.0)].store {
            Store::Fifo(_) => false,
            Store::General(general) => general.is_stopped(queue),
        }
    }

    /// Whether a service queue is paused and has its packet, or will have: no other of it is taken.
    fn is_held_back(&self, queue: usize, now: Time) -> bool {
        let Store::General(general) = &self.egress.ports[usize::from(PORT.0)].store else {
            return false;
        };
        let on_way = self.nic.as_ref().is_some_and(|nic| nic.on_way[queue] > 0);
        general.is_stopped(queue) && (on_way || general.queue(queue, now).packets > 0)
    }

    /// With jitter: a data packet is on its way to the port, or is there.
    pub(crate) fn note_on_way(&mut self, packet: &PacketMeta, begins: bool, net: &Network) {
        let queue = net.queue_of(packet, self.egress.ports[usize::from(PORT.0)].queues());
        let on_way = self.nic.as_mut().and_then(|nic| nic.on_way.get_mut(queue));
        if let Some(on_way) = on_way.filter(|_| packet.is_data()) {
            *on_way = if begins { *on_way + 1 } else { *on_way - 1 };
        }
    }

    /// Puts those back in turn whose priority may be sent again, before all others.
    #[cold]
    fn release_held(&mut self, holds: u8, now: Time) {
        for priority in (0..PRIORITIES).rev() {
            if holds >> priority & 1 == 0 || self.is_held_back(priority, now) {
                continue;
            }
            let Some(nic) = &mut self.nic else { return };
            nic.holds &= !(1 << priority);
            let mut held = std::mem::take(&mut nic.held[priority]);
            held.append(&mut nic.ready);
            nic.ready = held;
        }
    }

    /// Sees that the card is called when it may send next: now, too, but after all else that
    /// happens now, so that which kind of port a host has makes no difference.
    pub(crate) fn look<W: World>(&mut self, world: &mut W) {
        let now = world.now();
        match self.nic.as_ref().map_or(0, |nic| nic.holds) {
            0 => {}
            holds => self.release_held(holds, now),
        }
        let Some(nic) = &self.nic else { return };
        // Nothing leaves before, and when it is called it looks again.
        let earliest = nic.line_free.max(now);
        if nic.wake <= earliest {
            return;
        }
        let due = match (nic.ready.is_empty(), nic.later.peek()) {
            (false, _) => self.port_free_at(now).map(|free| free.max(earliest)),
            (true, next) => next.map(|next| next.0.0.max(earliest)),
        };
        if let Some(at) = due {
            self.wake_at(at, world);
        }
    }

    /// Sends packets of the queue pairs whose turn it is, while the line is free.
    fn send_in_turn<W: World>(&mut self, net: &Network, world: &mut W) {
        let now = world.now();
        loop {
            let Some(nic) = &mut self.nic else { return };
            nic.ripen(now);
            let Some(slot) = nic.ready.front().copied() else { return };
            if nic.line_free > now || self.port_free_at(now).is_none_or(|free| free > now) {
                return;
            }
            let queue = self.minds_queues().then(|| self.queue_of_data(slot, net));
            let held = queue.filter(|queue| self.is_held_back(*queue, now));
            if let Some(nic) = &mut self.nic {
                nic.ready.pop_front();
                if let Some(queue) = held {
                    nic.held[queue].push_back(slot);
                    nic.holds |= 1 << queue;
                    continue;
                }
            }
            self.send_of(slot, net, world);
        }
    }

    fn wake_at<W: World>(&mut self, at: Time, world: &mut W) {
        let Some(nic) = &mut self.nic else { return };
        if at < nic.wake {
            nic.wake = at;
            world.schedule(at, Key::new(Class::Nic, u32::from(self.id.0)), 0);
        }
    }

    /// The card asked to be called.
    pub(crate) fn nic_due<W: World>(&mut self, net: &Network, world: &mut W) {
        let due = |nic: &&mut Box<Nic>| nic.wake == world.now();
        if self.nic.as_mut().filter(due).is_none() {
            return;
        }
        // Until all is sent that can be sent now, nothing else calls the card.
        self.send_in_turn(net, world);
        if let Some(nic) = &mut self.nic {
            nic.wake = Time::MAX;
        }
        self.look(world);
    }

    /// Sends a packet of a queue pair and puts it behind the others.
    fn send_of<W: World>(&mut self, slot: u16, net: &Network, world: &mut W) {
        let now = world.now();
        let mut packet = PacketMeta::default();
        let (sender, pair) = self.pair(slot);
        sender.listed = false;
        // Another message of the queue pair may have sent since this one was listed.
        if pair.next_at > now || !sender.poll_send(net.roce(), pair, now, &mut packet) {
            return self.list_if_ready(slot, net, world);
        }
        let sending = &mut self.sending[usize::from(slot)];
        packet.tuple = sending.tuple;
        packet.flow = sending.id.bits();
        packet.path = sending.path;
        packet.class = sending.class.unwrap_or(packet.class);
        sending.sent += 1;
        if self.edge.is_some() {
            self.edge_sends(slot, &mut packet, net, world);
        }
        if net.roce().spec.control.has_telemetry() {
            world.record().telemetry.open(&mut packet);
        }
        world.record().sent(&packet);
        let port = &self.egress.ports[usize::from(PORT.0)];
        let rate = port.rate;
        // What waits for the end of a pause leaves the line to others.
        let waits = self.minds_queues() && self.is_paused(net.queue_of(&packet, port.queues()));
        if let (false, Some(nic)) = (waits, &mut self.nic) {
            nic.line_free = now + rate.time_for(u64::from(packet.size));
        }
        self.hand_down(&mut packet, net, world);
        self.list_if_ready(slot, net, world);
        if self.program.is_some() {
            self.go_on(slot, net, world);
        }
    }

    /// Takes a queue pair that is done out of the lists: its slot may be another flow's next.
    fn unlist(&mut self, slot: u16) {
        if !std::mem::take(&mut self.pair(slot).0.listed) {
            return;
        }
        if let Some(nic) = &mut self.nic {
            nic.ready.retain(|listed| *listed != slot);
            nic.later.retain(|Reverse((.., listed))| *listed != slot);
            nic.held.iter_mut().for_each(|held| held.retain(|listed| *listed != slot));
        }
    }

    /// An answer or a CNP has come for a queue pair.
    pub(crate) fn pair_gets<W: World>(
        &mut self,
        packet: &PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let (slot, now) = (FlowId::of(packet).sending, world.now());
        let (sender, pair) = self.pair(slot);
        let telemetry = &mut world.record().telemetry;
        let outcome = sender.on_packet(net.roce(), pair, (packet, telemetry.of(packet)), now);
        telemetry.close(packet);
        let sending = &mut self.sending[usize::from(slot)];
        sending.got += 1;
        sending.last = now;
        if outcome.finished && !std::mem::replace(&mut sending.done, true) {
            let record = world.record();
            record.senders_done += 1;
            record.done.push(Address::new(self.id, slot));
            self.unlist(slot);
            self.is_acknowledged(slot, world);
        }
        if self.edge.is_some() {
            self.edge_acked(slot, packet, outcome, net, world);
        }
        self.list_if_ready(slot, net, world);
        self.offer_others(slot, net, world);
    }

    /// What a message has under way the others of its queue pair may not have, and a credit is for
    /// any of them: those that have begun before it may have something to send again, the one after
    /// it something new.
    #[inline]
    fn offer_others<W: World>(&mut self, slot: u16, net: &Network, world: &mut W) {
        if self.program.is_some() {
            self.list_others(slot, net, world);
        }
        self.look(world);
    }

    fn list_others<W: World>(&mut self, slot: u16, net: &Network, world: &mut W) {
        let connection = self.sending[usize::from(slot)].tuple;
        let begun = |host: &Host, at: usize| {
            let program = host.program.as_ref()?;
            program.begun(connection).get(at).copied()
        };
        let mut at = 0;
        while let Some(other) = begun(self, at) {
            if other != slot {
                self.list_if_ready(other, net, world);
            }
            at += 1;
        }
    }

    /// A queue pair's timer is due.
    pub(crate) fn pair_timer<W: World>(&mut self, slot: u16, net: &Network, world: &mut W) {
        let now = world.now();
        let (sender, pair) = self.pair(slot);
        if sender.on_timer(net.roce(), pair, now) {
            self.edge_timeout(slot, net, world);
            self.list_if_ready(slot, net, world);
            self.offer_others(slot, net, world);
        } else {
            self.arm(slot, world);
        }
    }

    /// A data packet has come for a queue pair: it may be answered by a CNP and an acknowledgment.
    pub(crate) fn pair_takes<W: World>(
        &mut self,
        packet: &PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let (slot, now, cfg) = (FlowId::of(packet).receiving, world.now(), net.roce());
        let (Receiver::Roce(receiver), Some(nic)) =
            (&mut self.receivers[usize::from(slot)], &mut self.nic)
        else {
            unreachable!("a run has one transport")
        };
        let mut reply = PacketMeta::default();
        let notify_at = &mut nic.notifies.get_mut(receiver.pair).notify_at;
        let received = receiver.on_packet(cfg, notify_at, packet, now, &mut reply);
        self.took(slot, packet, &received, world);
        if cfg.spec.credits.is_some() {
            self.note_demand(slot, packet, received.complete_now, world);
        }
        if received.notify {
            let size = (cfg.header + roce::CNP_BYTES) as u16;
            let class = cfg.spec.classes.1;
            let mut cnp = PacketMeta { size, flags: CNP, class, ..PacketMeta::default() };
            self.send_reply(slot, &mut cnp, net, world);
        }
        if received.reply {
            if cfg.spec.control.has_telemetry() && packet.is_data() {
                world.record().telemetry.hand_over(packet, &mut reply);
            } else {
                world.record().telemetry.close(packet);
            }
            self.send_reply(slot, &mut reply, net, world);
        } else {
            world.record().telemetry.close(packet);
        }
    }
}
