//! A host's network card in a run with queue pairs: whose packet leaves next.
//!
//! Queue pairs that may send take turns, one packet each. A packet is taken only when the port can send it at once, so what a host has to
//! send waits in its memory and not in the port; acknowledgments go to the port when they are made. While the port is paused, one
//! packet waits there.

use crate::ends::{Receiver, Sender};
use crate::event::{Class, Key};
use crate::flow::{Address, FlowId};
use crate::host::{Host, PORT};
use crate::network::Network;
use crate::port::Store;
use crate::roce::{self, CNP};
use crate::world::World;
use leafspine_core::{PacketMeta, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Which queue pairs have something to send.
#[derive(Debug)]
pub(crate) struct Nic {
    /// May send now, in turn.
    ready: VecDeque<u16>,
    /// May send later, by their rates: when, the flow's number and its slot. Of those of one instant the older flow is first;
    /// which slot a flow has depends on when others were freed.
    later: BinaryHeap<Reverse<(Time, u32, u16)>>,
    /// When the line has sent what was taken last: with jitter the port does not know yet.
    line_free: Time,
    /// When the pending event is due; `Time::MAX` if none is.
    wake: Time,
}

impl Default for Nic {
    fn default() -> Nic {
        Nic {
            ready: VecDeque::new(),
            later: BinaryHeap::new(),
            line_free: Time::ZERO,
            wake: Time::MAX,
        }
    }
}

impl Nic {
    /// Moves those whose time has come to the others that may send. Before any other comes there: turns go by who was ready
    /// first, and not by when the card was called.
    fn ripen(&mut self, now: Time) {
        while let Some(Reverse((at, _, slot))) = self.later.peek().copied()
            && at <= now
        {
            self.later.pop();
            self.ready.push_back(slot);
        }
    }
}

impl Host {
    /// The queue pair in `slot`.
    fn pair(&mut self, slot: u16) -> &mut roce::Sender {
        let Sender::Roce(sender) = &mut self.senders[usize::from(slot)] else {
            unreachable!("a run has one transport")
        };
        sender
    }

    /// A queue pair's flow starts, or its timer is due, or something has come for it: it may have something to send.
    pub(crate) fn offer<W: World>(&mut self, slot: u16, net: &Network, world: &mut W) {
        let now = world.now();
        let sender = self.pair(slot);
        if !sender.listed
            && let Some(at) = sender.ready_at(net.roce())
        {
            sender.listed = true;
            self.list(slot, at, now);
        }
        self.arm(slot, world);
        self.send_in_turn(net, world);
    }

    fn list(&mut self, slot: u16, at: Time, now: Time) {
        let number = self.sending[usize::from(slot)].number;
        let Some(nic) = &mut self.nic else { return };
        if at <= now {
            nic.ripen(now);
            nic.ready.push_back(slot);
        } else {
            nic.later.push(Reverse((at, number, slot)));
        }
    }

    /// When the port would send a packet that is handed down: now or later; `None` if something else waits there, after which the
    /// card is called again.
    fn port_free_at(&mut self, now: Time) -> Option<Time> {
        let port = &self.egress.ports[usize::from(PORT.0)];
        match &port.store {
            Store::Fifo(fifo) => Some(fifo.free_at(now)),
            Store::General(general) if general.has_packets() => None,
            Store::General(general) => Some(general.busy_until.max(now)),
        }
    }

    /// Sends a packet of the queue pair whose turn it is, if the line is free, and sees that it goes on when it is.
    pub(crate) fn send_in_turn<W: World>(&mut self, net: &Network, world: &mut W) {
        let now = world.now();
        loop {
            let Some(nic) = &mut self.nic else { return };
            nic.ripen(now);
            let line_free = nic.line_free;
            let (first, idle) = (nic.ready.front().copied(), nic.later.peek().map(|next| next.0.0));
            let Some(slot) = first else {
                if let Some(at) = idle {
                    self.wake_at(at, world);
                }
                return;
            };
            let Some(free) = self.port_free_at(now) else { return };
            let free = free.max(line_free);
            if free > now {
                return self.wake_at(free, world);
            }
            if let Some(nic) = &mut self.nic {
                nic.ready.pop_front();
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
        let Some(nic) = &mut self.nic else { return };
        if nic.wake == world.now() {
            nic.wake = Time::MAX;
            self.send_in_turn(net, world);
        }
    }

    /// Sends a packet of a queue pair and puts it behind the others.
    fn send_of<W: World>(&mut self, slot: u16, net: &Network, world: &mut W) {
        let now = world.now();
        let mut packet = PacketMeta::default();
        let sender = self.pair(slot);
        sender.listed = false;
        if !sender.poll_send(net.roce(), now, &mut packet) {
            return;
        }
        let sending = &mut self.sending[usize::from(slot)];
        packet.tuple = sending.tuple;
        packet.flow = sending.id.bits();
        packet.path = sending.path;
        sending.sent += 1;
        if self.edge.is_some() {
            self.edge_sends(slot, &mut packet, net, world);
        }
        world.record().sent(&packet);
        let rate = self.egress.ports[usize::from(PORT.0)].rate;
        if let Some(nic) = &mut self.nic {
            nic.line_free = now + rate.time_for(u64::from(packet.size));
        }
        self.hand_down(&mut packet, net, world);
        let sender = self.pair(slot);
        if let Some(at) = sender.ready_at(net.roce()) {
            sender.listed = true;
            self.list(slot, at, now);
        }
        self.arm(slot, world);
    }

    /// Takes a queue pair that is done out of the lists: its slot may be another flow's next.
    fn unlist(&mut self, slot: u16) {
        if !std::mem::take(&mut self.pair(slot).listed) {
            return;
        }
        if let Some(nic) = &mut self.nic {
            nic.ready.retain(|listed| *listed != slot);
            nic.later.retain(|Reverse((.., listed))| *listed != slot);
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
        let outcome = self.pair(slot).on_packet(net.roce(), packet, now);
        let sending = &mut self.sending[usize::from(slot)];
        sending.got += 1;
        sending.last = now;
        if outcome.finished && !std::mem::replace(&mut sending.done, true) {
            let record = world.record();
            record.senders_done += 1;
            record.done.push(Address::new(self.id, slot));
            self.unlist(slot);
        }
        if self.edge.is_some() {
            self.edge_acked(slot, packet, outcome, net, world);
        }
        self.offer(slot, net, world);
    }

    /// A queue pair's timer is due.
    pub(crate) fn pair_timer<W: World>(&mut self, slot: u16, net: &Network, world: &mut W) {
        let now = world.now();
        if self.pair(slot).on_timer(net.roce(), now) {
            self.edge_timeout(slot, net, world);
            self.offer(slot, net, world);
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
        let Receiver::Roce(receiver) = &mut self.receivers[usize::from(slot)] else {
            unreachable!("a run has one transport")
        };
        let mut reply = PacketMeta::default();
        let received = receiver.on_packet(cfg, packet, now, &mut reply);
        self.took(slot, packet, &received, world);
        if received.notify {
            let size = (cfg.header + roce::CNP_BYTES) as u16;
            let class = cfg.spec.classes.1;
            let mut cnp = PacketMeta { size, flags: CNP, class, ..PacketMeta::default() };
            self.send_reply(slot, &mut cnp, net, world);
        }
        if received.reply {
            self.send_reply(slot, &mut reply, net, world);
        }
    }
}
