//! Where nodes stand among all nodes, and where links lead.

use leafspine_core::{HostId, PortId};
use leafspine_fabric::{Graph, Owner};
use leafspine_node::{Address, Class, Key};

/// Where a link ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// The node.
    pub(crate) node: u32,
    /// A switch's port, or a host's place in its rack.
    pub(crate) into: PortId,
}

/// Nodes are numbered: switches first, then racks. A rack is a host, or all hosts under a switch.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Per host: its node, and its place there.
    pub(crate) hosts: Vec<(u32, u16)>,
    /// Per port by global number: where what it sends arrives.
    pub(crate) targets: Vec<Target>,
    /// Per port by global number: the node that it is part of.
    pub(crate) owners: Vec<u32>,
    /// Nodes in all, of which so many are switches.
    pub(crate) nodes: u32,
    pub(crate) switches: u32,
}

impl Layout {
    /// Of `graph`; `racks`: whether hosts under a switch are one node.
    pub(crate) fn new(graph: &Graph, racks: bool) -> Layout {
        let switches = graph.switches.len() as u32;
        let mut hosts: Vec<(u32, u16)> = Vec::new();
        let mut nodes = switches;
        for (host, tor) in graph.host_tor.iter().enumerate() {
            let beside = racks && host > 0 && graph.host_tor[host - 1] == *tor;
            match hosts.last() {
                Some((node, place)) if beside => hosts.push((*node, place + 1)),
                _ => {
                    hosts.push((nodes, 0));
                    nodes += 1;
                }
            }
        }
        let node = |owner: Owner| match owner {
            Owner::Switch(switch) => u32::from(switch.0),
            Owner::Host(host) => hosts[usize::from(host.0)].0,
        };
        let target = |port: &leafspine_fabric::LinkEnd| {
            let peer = &graph.ports[port.peer as usize];
            let into = match peer.owner {
                Owner::Switch(_) => peer.local,
                Owner::Host(host) => PortId(hosts[usize::from(host.0)].1),
            };
            Target { node: node(peer.owner), into }
        };
        let targets = graph.ports.iter().map(target).collect();
        let owners = graph.ports.iter().map(|port| node(port.owner)).collect();
        Layout { hosts, targets, owners, nodes, switches }
    }

    /// The node that is told of an event.
    pub(crate) fn node_of(&self, key: Key, item: u32) -> u32 {
        let host = |host: HostId| self.hosts[usize::from(host.0)].0;
        match key.class() {
            Class::Departure | Class::Pause => self.owners[key.id() as usize],
            Class::Arrival => self.targets[key.id() as usize].node,
            Class::HoldExpiry | Class::Tick => key.id(),
            Class::FlowStart
            | Class::Retransmit
            | Class::DelayedAck
            | Class::Reassembly
            | Class::Operation => host(Address::from_item(item).host()),
            Class::EdgeTick | Class::HandDown | Class::Nic => host(HostId(key.id() as u16)),
            Class::Link | Class::Window | Class::Probe => {
                unreachable!("not an event of a node: {key:?}")
            }
        }
    }
}
