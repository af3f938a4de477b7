//! Nodes as a driver holds them.

use crate::egress::Egress;
use crate::event::{Class, Key};
use crate::flow::Address;
use crate::host::Host;
use crate::network::Network;
use crate::port::Port;
use crate::switch::Switch;
use crate::world::World;
use leafspine_core::{PacketMeta, PortId};

/// What acts by itself between two packets: nothing passes between nodes but by links.
pub enum Node {
    /// A switch.
    Switch(Switch),
    /// A host.
    Host(Host),
    /// Several hosts.
    Rack(Rack),
}

/// Hosts whose edges share words without delay: hypervisors that exchange what they know.
pub struct Rack {
    /// In ascending order, without a gap.
    pub hosts: Vec<Host>,
    /// The words.
    pub board: Vec<u64>,
}

/// Words that a host's edge shares with others.
fn words(host: &Host) -> usize {
    host.edge.as_ref().map_or(0, |edge| edge.edge.needs().board_words)
}

impl Rack {
    /// Calls a host, by its place in `hosts`, with the words that it shares.
    #[inline(never)]
    fn call(&mut self, host: usize, what: impl FnOnce(&mut Host)) {
        self.lend(host);
        what(&mut self.hosts[host]);
        self.lend(host);
    }

    /// Exchanges the words with the host's.
    fn lend(&mut self, host: usize) {
        if let Some(edge) = &mut self.hosts[host].edge {
            std::mem::swap(&mut edge.board, &mut self.board);
        }
    }
}

impl Node {
    /// One or more hosts, in ascending order without a gap, and as many words as the most that one of
    /// their edges uses.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn of_hosts(mut hosts: Vec<Host>) -> Node {
        let board = vec![0; hosts.iter().map(words).max().expect("a host at least")];
        if hosts.len() > 1 {
            return Node::Rack(Rack { hosts, board });
        }
        let mut host = hosts.remove(0);
        if let Some(edge) = &mut host.edge {
            edge.board = board;
        }
        Node::Host(host)
    }

    /// The switch that it is, if it is one.
    #[must_use]
    pub fn switch(&self) -> Option<&Switch> {
        if let Node::Switch(switch) = self { Some(switch) } else { None }
    }

    /// The same, to be changed.
    pub fn switch_mut(&mut self) -> Option<&mut Switch> {
        if let Node::Switch(switch) = self { Some(switch) } else { None }
    }

    /// Its hosts: none of a switch.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        match self {
            Node::Switch(_) => &[],
            Node::Host(host) => std::slice::from_ref(host),
            Node::Rack(rack) => &rack.hosts,
        }
    }

    /// The same, to be changed.
    pub fn hosts_mut(&mut self) -> &mut [Host] {
        match self {
            Node::Switch(_) => &mut [],
            Node::Host(host) => std::slice::from_mut(host),
            Node::Rack(rack) => &mut rack.hosts,
        }
    }

    /// Its switch's or hosts' ports with what acts on them.
    pub fn egresses(&self) -> impl Iterator<Item = &Egress> {
        let switch = self.switch().map(|switch| &switch.egress);
        switch.into_iter().chain(self.hosts().iter().map(|host| &host.egress))
    }

    /// What has the port of this global number, and the port's number there.
    ///
    /// # Panics
    /// If it is no port of this node.
    pub fn egress_of(&mut self, port: u32) -> (&mut Egress, PortId) {
        let (egress, local) = match self {
            Node::Switch(switch) => {
                let local = port - switch.egress.first;
                (&mut switch.egress, local)
            }
            // Hosts' ports are numbered as hosts are.
            _ => {
                let hosts = self.hosts_mut();
                let host = port - hosts[0].egress.first;
                (&mut hosts[host as usize].egress, 0)
            }
        };
        (egress, PortId(local as u16))
    }

    /// A packet has come in: by a switch's port, or for the host with this place in its rack.
    #[inline(always)]
    pub fn arrive<W: World>(
        &mut self,
        into: PortId,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        match self {
            Node::Switch(switch) => switch.arrive(into, packet, net, world),
            Node::Host(host) => host.arrive(packet, net, world),
            Node::Rack(rack) => {
                rack.call(usize::from(into.0), |host| host.arrive(packet, net, world));
            }
        }
    }

    /// Calls `visit` with each of its ports and the port's global number.
    pub fn each_port(&mut self, visit: &mut dyn FnMut(u32, &mut Port)) {
        let mut of = |egress: &mut Egress| {
            (egress.first..).zip(&mut egress.ports).for_each(|(number, port)| visit(number, port));
        };
        if let Some(switch) = self.switch_mut() {
            of(&mut switch.egress);
        }
        self.hosts_mut().iter_mut().for_each(|host| of(&mut host.egress));
    }

    /// Calls `visit` with every packet that is here.
    pub fn each_packet(&mut self, visit: &mut dyn FnMut(&mut PacketMeta)) {
        if let Some(switch) = self.switch_mut() {
            switch.egress.each_packet(visit);
        }
        for host in self.hosts_mut() {
            host.egress.each_packet(visit);
            host.edge.iter_mut().flat_map(|edge| edge.held_mut()).for_each(&mut *visit);
            host.jitter.iter_mut().flat_map(|jitter| jitter.packets_mut()).for_each(&mut *visit);
        }
    }

    /// An event that was scheduled for this node is due.
    #[inline(always)]
    pub fn on_timer<W: World>(&mut self, key: Key, item: u32, net: &Network, world: &mut W) {
        match self {
            Node::Switch(switch) => switch.on_timer(key, item, net, world),
            Node::Host(host) => host.on_timer(key, item, net, world),
            Node::Rack(rack) => {
                let host = rack.host_of(key, item);
                rack.call(host, |host| host.on_timer(key, item, net, world));
            }
        }
    }
}

impl Rack {
    /// The place of the host whose event it is.
    fn host_of(&self, key: Key, item: u32) -> usize {
        let first = self.hosts[0].id.0;
        match key.class() {
            Class::EdgeTick | Class::HandDown | Class::Nic => usize::from(key.id() as u16 - first),
            Class::Departure | Class::Pause => (key.id() - self.hosts[0].egress.first) as usize,
            Class::FlowStart
            | Class::Retransmit
            | Class::DelayedAck
            | Class::Reassembly
            | Class::Operation => usize::from(Address::from_item(item).host().0 - first),
            other @ (Class::Link
            | Class::Arrival
            | Class::HoldExpiry
            | Class::Tick
            | Class::Window
            | Class::Probe) => unreachable!("{other:?} is no host's event"),
        }
    }
}
