//! A host whose transport is elsewhere, a kernel of its own: flows' slots, the edge and the port are
//! used as ever, and what a transport would do is told by whoever drives it.

use crate::flow::{Address, FlowId};
use crate::host::Host;
use crate::network::Network;
use crate::world::World;
use leafspine_core::{Flags, PacketMeta};

impl Host {
    /// An end of the flow in `slot` sends a packet: the sender, or (with [`PacketMeta::REPLY`] in its
    /// notes) the receiver. What only this host knows of the packet is filled in.
    pub fn send_for<W: World>(
        &mut self,
        slot: u16,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let at = usize::from(slot);
        if packet.notes & PacketMeta::REPLY == 0 {
            let flow = &mut self.sending[at];
            (packet.tuple, packet.flow, packet.path) = (flow.tuple, flow.id.bits(), flow.path);
            flow.sent += 1;
            self.edge_sends(slot, packet, net, world);
        } else {
            let flow = &mut self.receiving[at];
            (packet.tuple, packet.flow) = (flow.tuple.reversed(), flow.id.bits());
            packet.path = flow.path;
            flow.sent += 1;
        }
        world.record().sent(packet);
        self.hand_down(packet, net, world);
    }

    /// A packet has come for a transport that is elsewhere: it is counted. Gives whether it is one of a
    /// flow, and not a scheme's own.
    pub fn take_for<W: World>(&mut self, packet: &PacketMeta, world: &mut W) -> bool {
        let now = world.now();
        let record = world.record();
        record.counters.delivered += 1;
        record.counters.payload.delivered += u64::from(packet.payload);
        if packet.flags.has(Flags::PROBE) {
            return false;
        }
        record.flow_packets -= 1;
        let id = FlowId::of(packet);
        if packet.notes & PacketMeta::REPLY == 0 {
            let flow = &mut self.receiving[usize::from(id.receiving)];
            flow.got += 1;
            flow.last = now;
            flow.packets += u32::from(packet.is_data());
            record.counters.data_packets += u64::from(packet.is_data());
        } else {
            let flow = &mut self.sending[usize::from(id.sending)];
            flow.got += 1;
            flow.last = now;
        }
        true
    }

    /// The flow in `slot` is over at both its ends.
    pub fn ended_for<W: World>(&mut self, slot: u16, world: &mut W) {
        let sending = &mut self.sending[usize::from(slot)];
        if !std::mem::replace(&mut sending.done, true) {
            sending.last = world.now();
            let record = world.record();
            record.senders_done += 1;
            record.done.push(Address::new(self.id, slot));
        }
    }
}
