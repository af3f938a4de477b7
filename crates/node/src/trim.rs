//! Packet trimming (Handley et al., NDP, SIGCOMM 2017, section 3.1; Ultra Ethernet calls it so,
//! too): where a switch's port has no room for a packet of data, its payload is cut off, and the
//! header goes on in another queue.

use crate::counters::Cause;
use crate::egress::Egress;
use crate::hold::Released;
use crate::network::Network;
use crate::pfc::NO_INGRESS;
use crate::port::Queued;
use crate::world::World;
use leafspine_core::{Flags, PacketMeta, PortId};
use leafspine_schemes::Backlog;

/// Cuts a packet's payload off. It carries no data any more, and no node on its way takes it for data.
fn cut(packet: &mut PacketMeta, class: u8) {
    packet.size -= packet.payload;
    packet.payload = 0;
    packet.class = class;
    packet.flags = packet.flags.without(Flags::DATA);
    packet.notes |= PacketMeta::TRIMMED;
}

impl Egress {
    /// Queues a packet at a port of a switch that trims.
    pub(crate) fn enqueue_trimming<W: World>(
        &mut self,
        at: PortId,
        queue: usize,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        if queue == net.header_queue(self.port(at)) {
            return self.enqueue_header(at, queue, packet, net, world);
        }
        match self.admit_data(at, queue, packet, net, world) {
            Ok(()) => self.take_in(at, queue, NO_INGRESS, packet, net, world),
            Err(cause) if !packet.is_data() => self.drop_packet(at, packet, cause, net, world),
            Err(cause) => self.make_room(at, queue, packet, (cause, net), world),
        }
    }

    /// Whether a packet may wait in a queue of data: the port's limit is for all such queues together.
    fn admit_data<W: World>(
        &mut self,
        at: PortId,
        queue: usize,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) -> Result<(), Cause> {
        let now = world.now();
        let port = &mut self.ports[usize::from(at.0)];
        let header_queue = net.header_queue(port);
        let general = port.store.general();
        let (all, headers) = (general.backlog(now), general.queue(header_queue, now));
        let (packets, bytes) = (all.packets - headers.packets, all.bytes - headers.bytes);
        self.room(at, packet, Backlog { packets, bytes, ..all })?;
        match self.ask_manager(at, queue, false, packet, net, world) {
            true => Ok(()),
            false => Err(Cause::Manager),
        }
    }

    /// Data has no room: it is trimmed, or (by a coin, if the switch does so) what was queued last.
    fn make_room<W: World>(
        &mut self,
        at: PortId,
        queue: usize,
        packet: &mut PacketMeta,
        (cause, net): (Cause, &Network),
        world: &mut W,
    ) {
        let either = net.trim.is_some_and(|trim| trim.either) && cause == Cause::Buffer;
        let port = self.port(at);
        if either
            && port.rng.chance(0.5)
            && let Some(last) = port.store.general().take_last(queue, Flags::DATA)
        {
            self.leave(at, &last);
            self.trim_queued(at, last, net, world);
            if self.admit_data(at, queue, packet, net, world).is_ok() {
                return self.take_in(at, queue, NO_INGRESS, packet, net, world);
            }
        }
        self.trim(at, packet, net, world);
    }

    /// Trims a packet that has waited.
    fn trim_queued<W: World>(&mut self, at: PortId, queued: Queued, net: &Network, world: &mut W) {
        if net.measuring {
            let waited = i128::from((world.now() - queued.since).0);
            self.port(at).stats.correct(queued.size(), -waited);
        }
        let mut packet = queued.packet;
        self.trim(at, &mut packet, net, world);
    }

    fn trim<W: World>(
        &mut self,
        at: PortId,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let Some(trim) = net.trim else { return };
        world.record().trimmed(packet);
        cut(packet, trim.class);
        self.port(at).stats.trimmed(net.measuring);
        let queue = net.header_queue(self.port(at));
        self.enqueue_header(at, queue, packet, net, world);
    }

    /// Queues a header, or what else has that queue. It has a limit of its own, and no manager.
    fn enqueue_header<W: World>(
        &mut self,
        at: PortId,
        queue: usize,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let Some(trim) = net.trim else { return };
        let (now, size) = (world.now(), u64::from(packet.size));
        let port = &mut self.ports[usize::from(at.0)];
        let waits = u64::from(port.store.general().queue(queue, now).bytes);
        let shared = self.shared.as_ref().filter(|_| port.limit.is_shared());
        let fits = waits + size <= trim.buffer.0;
        if fits && shared.is_none_or(|shared| size <= shared.free()) {
            if net.measuring {
                let found = port.store.general().backlog(now).packets;
                port.stats.placed(u32::from(packet.size), found);
            }
            return self.take_in(at, queue, NO_INGRESS, packet, net, world);
        }
        if trim.returns
            && packet.notes & (PacketMeta::TRIMMED | PacketMeta::REPLY) == PacketMeta::TRIMMED
        {
            return self.return_to_sender(at, packet, world);
        }
        self.drop_packet(at, packet, Cause::Buffer, net, world);
    }

    /// Sends a header back to where it came from (NDP, section 3.2.4). It is routed as if it had just come in.
    fn return_to_sender<W: World>(&mut self, at: PortId, packet: &PacketMeta, world: &mut W) {
        let mut packet = *packet;
        packet.tuple = packet.tuple.reversed();
        packet.notes |= PacketMeta::REPLY;
        packet.path = PacketMeta::NO_PATH;
        world.record().counters.returned += 1;
        self.released.push(Released { from: at, packet });
    }
}
