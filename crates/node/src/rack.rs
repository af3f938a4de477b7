//! Nodes as a driver holds them.

use crate::event::{Class, Key};
use crate::flow::Address;
use crate::host::Host;
use crate::network::Network;
use crate::switch::Switch;
use crate::world::World;
use leafspine_core::{PacketMeta, PortId};

/// What acts by itself between two packets: nothing passes between nodes but by links.
pub enum Node {
    /// A switch.
    Switch(Box<Switch>),
    /// A host, or several.
    Rack(Rack),
}

/// Hosts whose edges share words without delay (hypervisors that exchange what they know), or one
/// host alone.
pub struct Rack {
    /// In ascending order, without a gap.
    pub hosts: Vec<Host>,
    /// The words; none where edges share nothing.
    pub board: Vec<u64>,
}

impl Rack {
    /// `hosts`, and as many words as the most that one of their edges uses.
    #[must_use]
    pub fn new(hosts: Vec<Host>) -> Rack {
        let words =
            |host: &Host| host.edge.as_ref().map_or(0, |edge| edge.edge.needs().board_words);
        let board = vec![0; hosts.iter().map(words).max().unwrap_or(0)];
        Rack { hosts, board }
    }

    /// Calls a host, by its place in `hosts`, with the words that it shares.
    #[inline]
    fn call<T>(&mut self, host: usize, what: impl FnOnce(&mut Host) -> T) -> T {
        if self.board.is_empty() {
            return what(&mut self.hosts[host]);
        }
        self.lend(host);
        let answer = what(&mut self.hosts[host]);
        self.lend(host);
        answer
    }

    /// Exchanges the words with the host's.
    fn lend(&mut self, host: usize) {
        if let Some(edge) = &mut self.hosts[host].edge {
            std::mem::swap(&mut edge.board, &mut self.board);
        }
    }

    fn first(&self) -> u16 {
        self.hosts[0].id.0
    }
}

impl Node {
    /// A packet has come in: by a switch's port, or for the host with this place in its rack.
    #[inline]
    pub fn arrive<W: World>(
        &mut self,
        into: PortId,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        match self {
            Node::Switch(switch) => switch.arrive(into, packet, net, world),
            Node::Rack(rack) => {
                rack.call(usize::from(into.0), |host| host.arrive(packet, net, world));
            }
        }
    }

    /// An event that was scheduled for this node is due.
    pub fn on_timer<W: World>(&mut self, key: Key, item: u32, net: &Network, world: &mut W) {
        match self {
            Node::Switch(switch) => switch.on_timer(key, item, net, world),
            Node::Rack(rack) => {
                let host = match key.class() {
                    Class::EdgeTick | Class::HandDown => key.id() as u16,
                    Class::Departure => rack.host_of(key.id()),
                    _ => Address::from_item(item).host().0,
                };
                let host = usize::from(host - rack.first());
                rack.call(host, |host| host.on_timer(key, item, net, world));
            }
        }
    }
}

impl Rack {
    /// The host with the port of this global number: hosts' ports are numbered as hosts are.
    fn host_of(&self, port: u32) -> u16 {
        self.first() + (port - self.hosts[0].egress.first) as u16
    }
}
