//! What nodes' events mean for the guests behind hosts' ports: a flow starts, a packet is there.

use super::{Layout, LinuxDriver, guests_time};
use crate::drive::hash_hop;
use leafspine_core::{PacketMeta, Time};
use leafspine_linux::frame::Segment;
use leafspine_linux::orders::{FlowOrder, Order};
use leafspine_node::{Address, Network, Node, World};

impl LinuxDriver {
    /// Calls a node with its world.
    pub(crate) fn with(
        &mut self,
        node: u32,
        now: Time,
        what: &mut dyn FnMut(&mut Node, &mut dyn World),
    ) {
        self.nodes.now = now;
        self.guests.ended = self.nodes.record.ended.len();
        self.guests.call(&mut self.nodes, node, |node, world| what(node, world));
        self.settle_ends();
    }

    /// Both hosts are told of a flow that starts.
    pub(super) fn start(&mut self, number: u32, sender: Address, layout: &Layout) {
        let Some(fleet) = &mut self.fleet else { return };
        let (node, place) = layout.hosts[usize::from(sender.host().0)];
        let host = &self.nodes.nodes[node as usize].hosts()[usize::from(place)];
        let tuple = host.sending[usize::from(sender.slot())].tuple;
        let [s1, s2, s3, s4, d1, d2, d3, d4, _, p1, p2, ..] = tuple.wire_bytes();
        let (port, bytes) = (u16::from_be_bytes([p1, p2]), self.guests.flows[&number].bytes);
        let order = |peer| FlowOrder { number, peer, port, bytes };
        let at = guests_time(self.nodes.now);
        fleet.order(tuple.dst().0, at, &Order::Expect(order([s1, s2, s3, s4])));
        fleet.order(tuple.src().0, at, &Order::Start(order([d1, d2, d3, d4])));
    }

    /// A packet has come to the end of the link of `port`.
    pub(super) fn arrival(&mut self, port: u32, handle: u32, net: &Network) {
        let nodes = &mut self.nodes;
        let mut packet = nodes.pool[handle];
        nodes.pool.free(handle);
        let now = nodes.now;
        nodes.record.counters.packet_hops += 1;
        let link = &mut nodes.links[port as usize];
        link.chain = hash_hop(link.chain, &packet, now);
        let target = link.target;
        if packet.notes & PacketMeta::LOST != 0 {
            return nodes.record.lost(&packet, port, net.measuring, now);
        }
        if nodes.nodes[target.node as usize].switch().is_some() {
            return self.guests.call(nodes, target.node, |node, world| {
                node.arrive(target.into, &mut packet, net, world);
            });
        }
        let place = usize::from(target.into.0);
        let of_flow =
            nodes.with(target.node, |node, world| node.hosts_mut()[place].take_for(&packet, world));
        if of_flow {
            self.deliver(&packet);
        }
    }

    /// A packet goes up to the guest that it is for.
    fn deliver(&mut self, packet: &PacketMeta) {
        let guests = &mut self.guests;
        let bytes = guests.frames.take(packet);
        let reply = packet.notes & PacketMeta::REPLY != 0;
        let tuple = if reply { packet.tuple.reversed() } else { packet.tuple };
        let number = guests.numbers.get(&tuple);
        let watch = number.and_then(|number| guests.flows.get_mut(number));
        if let (Some(watch), Some(segment)) = (watch, Segment::parse(&bytes)) {
            if reply {
                watch.comes_back(&segment);
            } else {
                let again = packet.notes & PacketMeta::RETRANSMIT != 0;
                self.nodes.record.counters.bytes_delivered += watch.arrives(&segment, again);
            }
            if watch.is_over() {
                guests.over.push(watch.sender);
            }
        }
        if let Some(fleet) = &mut self.fleet {
            fleet.deliver(packet.dst().0, guests_time(self.nodes.now), bytes);
        }
    }
}
