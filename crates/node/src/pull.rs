//! A receiver's card asks its senders for packets, one after the other, as fast as its line can
//! take them (EQDS: Olteanu et al., NSDI 2022, section 3; NDP's pull queue).

use crate::ends::Receiver;
use crate::event::{Class, Key};
use crate::flow::Address;
use crate::host::{Host, PORT};
use crate::network::Network;
use crate::roce::{self, PULL};
use crate::world::World;
use leafspine_core::{PacketMeta, SackBlock, Time};
use std::collections::VecDeque;

/// Whose turn it is.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
    /// Queue pairs that want to be asked, in turn.
    turns: VecDeque<u32>,
    /// No credit is sent before.
    free_at: Time,
    /// Whether an event is pending for the next turn.
    pending: bool,
}

impl Pacer {
    /// A queue pair is no more.
    pub(crate) fn forget(&mut self, number: u32) {
        self.turns.retain(|turn| *turn != number);
    }
}

impl Host {
    /// A packet has come for the message in `slot`, trimmed or not: its queue pair may want to be asked for more.
    pub(crate) fn note_demand<W: World>(
        &mut self,
        slot: u16,
        packet: &PacketMeta,
        complete: bool,
        world: &mut W,
    ) {
        let (Receiver::Roce(receiver), Some(nic)) =
            (&self.receivers[usize::from(slot)], &mut self.nic)
        else {
            return;
        };
        let number = receiver.pair;
        let demand = &mut nic.notifies.get_mut(number).demand;
        let wanted = packet.sack[1].end;
        let trimmed = packet.notes & PacketMeta::TRIMMED != 0;
        let missing = trimmed && !receiver.assembly.has(packet.seq);
        demand.note(slot, wanted, missing);
        if complete || receiver.is_complete() {
            demand.end(slot);
        }
        if demand.joins() {
            nic.pacer.turns.push_back(number);
            self.plan_turn(world);
        }
    }

    fn plan_turn<W: World>(&mut self, world: &mut W) {
        let (now, id) = (world.now(), self.id);
        let Some(nic) = &mut self.nic else { return };
        let pacer = &mut nic.pacer;
        if !pacer.turns.is_empty() && !std::mem::replace(&mut pacer.pending, true) {
            let key = Key::new(Class::DelayedAck, u32::from(id.0));
            world.schedule(pacer.free_at.max(now), key, Address::new(id, 0).item());
        }
    }

    /// The next turn: a queue pair is asked for one packet, and the next one for another as soon as
    /// the line has had time for this one.
    pub(crate) fn take_turn<W: World>(&mut self, net: &Network, world: &mut W) {
        let (now, rate) = (world.now(), self.egress.ports[usize::from(PORT.0)].rate);
        let Some(nic) = &mut self.nic else { return };
        nic.pacer.pending = false;
        let mut turn = None;
        while turn.is_none()
            && let Some(number) = nic.pacer.turns.pop_front()
        {
            let demand = &mut nic.notifies.get_mut(number).demand;
            turn = demand.take_turn().map(|slot| (slot, demand.granted));
            if demand.joins() {
                nic.pacer.turns.push_back(number);
            }
        }
        if let Some((slot, granted)) = turn {
            nic.pacer.free_at = now + rate.time_for(net.roce().bytes_of_a_credit());
            self.send_credit(slot, granted, net, world);
        }
        self.plan_turn(world);
    }

    fn send_credit<W: World>(&mut self, slot: u16, granted: u32, net: &Network, world: &mut W) {
        let cfg = net.roce();
        let mut credit = PacketMeta {
            size: (cfg.header + roce::ACK_BYTES) as u16,
            flags: PULL,
            class: cfg.spec.classes.1,
            ..PacketMeta::default()
        };
        credit.sack[1] = SackBlock { start: granted, end: 0 };
        world.record().counters.credits += 1;
        self.send_reply(slot, &mut credit, net, world);
    }
}
