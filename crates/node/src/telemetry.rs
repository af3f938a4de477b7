//! In-band network telemetry: what switches' ports write into packets on their way, for HPCC.
//!
//! A packet of the engine fills a cache line, so what it carries beyond stands in a list beside it,
//! by a number in the packet. Lists are with the part of the run that has the packet; where a
//! packet changes parts its list does, too.

use crate::egress::Egress;
use crate::port::Store;
use crate::world::World;
use leafspine_core::{PacketMeta, PortId, SackBlock};
use leafspine_schemes::rdma::Hop;

/// The lists of the packets in a part of the run.
#[derive(Clone, Debug, Default)]
pub struct Telemetry {
    lists: Vec<Vec<Hop>>,
    free: Vec<u32>,
}

/// Whether the packet has a list.
#[inline]
pub(crate) fn is_carried(packet: &PacketMeta) -> bool {
    packet.notes & PacketMeta::TELEMETRY != 0
}

/// Where a packet that has a list says which one.
fn number(packet: &PacketMeta) -> usize {
    packet.sack[2].start as usize
}

impl Telemetry {
    /// A packet has a list from now on, an empty one.
    pub(crate) fn open(&mut self, packet: &mut PacketMeta) {
        self.attach(packet, Vec::new());
    }

    /// A packet has this list from now on.
    pub fn attach(&mut self, packet: &mut PacketMeta, hops: Vec<Hop>) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.lists.push(Vec::new());
            self.lists.len() as u32 - 1
        });
        if !hops.is_empty() {
            self.lists[number as usize] = hops;
        }
        packet.notes |= PacketMeta::TELEMETRY;
        packet.sack[2] = SackBlock { start: number, end: number };
    }

    /// Takes a packet's list, if it has one, to another part of the run.
    #[must_use]
    pub fn detach(&mut self, packet: &PacketMeta) -> Vec<Hop> {
        if !is_carried(packet) {
            return Vec::new();
        }
        self.free.push(number(packet) as u32);
        std::mem::take(&mut self.lists[number(packet)])
    }

    /// The packet has come to its end: so has its list.
    #[inline]
    pub(crate) fn close(&mut self, packet: &PacketMeta) {
        if is_carried(packet) {
            self.lists[number(packet)].clear();
            self.free.push(number(packet) as u32);
        }
    }

    /// What a packet carries.
    pub(crate) fn of(&self, packet: &PacketMeta) -> &[Hop] {
        if is_carried(packet) { &self.lists[number(packet)] } else { &[] }
    }

    /// An answer carries back what the data has brought; it is so much longer.
    pub(crate) fn hand_over(&self, data: &PacketMeta, reply: &mut PacketMeta) {
        reply.notes |= PacketMeta::TELEMETRY;
        reply.sack[2] = data.sack[2];
        reply.size += self.of(data).len() as u16 * Hop::BYTES;
    }

    /// Lists of packets.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.lists.len() - self.free.len()
    }
}

impl Egress {
    /// A packet with a list is about to be sent: a switch adds what its port is like, if it is
    /// data, and the packet grows by that.
    #[cold]
    pub(crate) fn write_hop<W: World>(
        &mut self,
        at: PortId,
        packet: &mut PacketMeta,
        world: &mut W,
    ) {
        let (now, global) = (world.now(), self.global(at));
        if self.chooser.is_none() || !packet.is_data() {
            return;
        }
        let port = &self.ports[usize::from(at.0)];
        let Store::General(general) = &port.store else { return };
        let (queue, sent) = (general.backlog(now).bytes, general.sent);
        let hop = Hop { port: global, queue, sent, at: now, rate: port.rate };
        let hops = &mut world.record().telemetry.lists[number(packet)];
        if hops.len() < Hop::MOST {
            hops.push(hop);
            packet.size += Hop::BYTES;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafspine_core::{Rate, Time};

    /// Breaks if a list is lost on its way to an answer or to another part, if two packets share
    /// one, or if one is kept for ever.
    #[test]
    fn lists_go_with_packets() {
        let hop = |port| Hop { port, queue: 1, sent: 2, at: Time(3), rate: Rate::from_gbps(4) };
        let (mut here, mut there) = (Telemetry::default(), Telemetry::default());
        let [mut one, mut other, mut ack] = [PacketMeta::default(); 3];
        here.open(&mut one);
        here.attach(&mut other, vec![hop(7), hop(8)]);
        assert_eq!(
            (here.of(&one), here.of(&other), here.in_use()),
            (&[][..], &[hop(7), hop(8)][..], 2)
        );
        let hops = here.detach(&other);
        there.attach(&mut other, hops);
        there.hand_over(&other, &mut ack);
        assert_eq!((there.of(&ack), ack.size), (&[hop(7), hop(8)][..], 16));
        here.close(&one);
        there.close(&ack);
        assert_eq!((here.in_use(), there.in_use()), (0, 0));
        there.open(&mut one);
        assert!(there.of(&one).is_empty());
        assert!(there.detach(&PacketMeta::default()).is_empty());
    }
}
