//! A fabric as flat arrays: hosts, switches, ports, links.

use crate::{TopologyError, TopologyKind, TopologySpec, build};
use leafspine_core::{HostId, PortId, Rate, Span, SwitchId, TorId};
use leafspine_schemes::{Level, Neighbour};
use std::ops::Range;

/// A host or a switch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Owner {
    /// A host.
    Host(HostId),
    /// A switch.
    Switch(SwitchId),
}

/// One end of a link: where its owner sends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkEnd {
    /// Whose port it is.
    pub owner: Owner,
    /// Its number at its switch; 0 at a host.
    pub local: PortId,
    /// Global index of the port at the other end.
    pub peer: u32,
    /// Index of the link.
    pub link: u32,
    /// Rate of the link.
    pub rate: Rate,
    /// One-way propagation delay. A host's link has the spec's `host_delay` added, in both
    /// directions.
    pub delay: Span,
    /// Probability that a packet is lost on the wire.
    pub loss: f64,
}

/// A switch.
#[derive(Clone, PartialEq, Debug)]
pub struct Switch {
    /// Global index of its port 0; the others follow.
    pub first_port: u32,
    /// How many ports it has.
    pub ports: u16,
    /// Of which so many lead to hosts: ports `0..host_ports`.
    pub host_ports: u16,
    /// How far it stands from the hosts.
    pub level: Level,
    /// Its number among the switches with hosts, if it has any.
    pub tor: Option<TorId>,
    /// Its name: `leaf3`.
    pub name: String,
}

/// A link between two ports.
#[derive(Clone, PartialEq, Debug)]
pub struct Link {
    /// Its name as the scenario has it, lower end first: `host5-leaf0`, `leaf0-spine1`,
    /// `leaf0-spine1#1` (the second parallel link).
    pub name: String,
    /// Global index of the port at the lower end (the end nearer to the hosts).
    pub a: u32,
    /// Global index of the port at the upper end.
    pub b: u32,
    /// Its number among the parallel links of the same two ends.
    pub parallel: u16,
}

/// A fabric before any change.
///
/// All orders are a contract (traces name paths by number, random streams are keyed by number):
///
/// - **Hosts** are numbered through the fabric, switch by switch.
/// - **Switches**: those with hosts first, so that `SwitchId(i)` is `TorId(i)`; then the next tier,
///   and so on upwards. Switches of pods are numbered pod by pod.
///   Aggregation switch `j` of a pod is linked to cores `j*k/2 .. (j+1)*k/2`.
/// - **Links**: link `h` is host `h`'s; then the links between the lowest two tiers, by (lower
///   switch, upper switch, parallel link); then those between the next two.
/// - **Local ports** of a switch are numbered in the order of its links. So a switch with hosts has
///   its hosts first, then its uplinks by (upper switch, parallel link); any other switch has its
///   downlinks by (lower switch, parallel link), then its uplinks likewise.
/// - **Global ports**: switch by switch, `first_port + local`; then one for each host, in order.
#[derive(Clone, PartialEq, Debug)]
pub struct Graph {
    /// Its kind.
    pub kind: TopologyKind,
    /// All ports: those of switches, then those of hosts.
    pub ports: Vec<LinkEnd>,
    /// The switches, by [`SwitchId`].
    pub switches: Vec<Switch>,
    /// The links: those of hosts, then those of the fabric.
    pub links: Vec<Link>,
    /// Global port of each host.
    pub host_port: Vec<u32>,
    /// The switch that each host hangs on, by its number among those with hosts.
    pub host_tor: Vec<TorId>,
    /// The port of that switch that leads to the host.
    pub host_port_at_tor: Vec<PortId>,
    /// The switches with hosts, by [`TorId`].
    pub tor_switch: Vec<SwitchId>,
    /// The first host under each of them, and the number of all hosts.
    pub first_host: Vec<u32>,
    /// The hosts' names, where they have others than `host0`, `host1`.
    pub host_names: Vec<String>,
    /// Added to the delay of a host's link, each way; [`LinkEnd::delay`] has it already.
    pub host_delay: Span,
}

impl Graph {
    /// The fabric that `spec` describes.
    ///
    /// # Errors
    /// A count of zero, an odd `k`, a link without a rate, a loss outside `0..1`, a delay above
    /// 1000 s; more than 65,536 hosts, 65,535 switches, 65,535 ports at a switch, 1,048,576 links,
    /// or 2^28 pairs of a switch and a switch with hosts (the routing table's size).
    pub fn build(spec: &TopologySpec) -> Result<Graph, TopologyError> {
        build::build(spec)
    }

    /// How many hosts there are.
    #[must_use]
    pub fn hosts(&self) -> u32 {
        self.host_port.len() as u32
    }

    /// How many switches have hosts.
    #[must_use]
    pub fn tors(&self) -> u16 {
        self.tor_switch.len() as u16
    }

    /// The switch `id`.
    #[inline]
    #[must_use]
    pub fn switch(&self, id: SwitchId) -> &Switch {
        &self.switches[usize::from(id.0)]
    }

    /// Global index of a switch's port.
    #[inline]
    #[must_use]
    pub fn global(&self, switch: SwitchId, port: PortId) -> u32 {
        self.switch(switch).first_port + u32::from(port.0)
    }

    /// Global indices of a switch's ports, in the order of their local numbers.
    #[must_use]
    pub fn ports_of(&self, switch: SwitchId) -> Range<u32> {
        let switch = self.switch(switch);
        switch.first_port..switch.first_port + u32::from(switch.ports)
    }

    /// Global indices of a switch's ports that lead to other switches.
    #[must_use]
    pub fn fabric_ports_of(&self, switch: SwitchId) -> Range<u32> {
        let switch = self.switch(switch);
        switch.first_port + u32::from(switch.host_ports)
            ..switch.first_port + u32::from(switch.ports)
    }

    /// Local numbers of the uplinks of a switch with hosts: the `path` column of a trace is an
    /// index into this range.
    #[must_use]
    pub fn uplinks(&self, tor: TorId) -> Range<u16> {
        let switch = self.switch(self.tor_switch[usize::from(tor.0)]);
        switch.host_ports..switch.ports
    }

    /// The hosts under a switch with hosts, as numbers (65,536 does not fit a [`HostId`]).
    #[must_use]
    pub fn hosts_under(&self, tor: TorId) -> Range<u32> {
        let at = usize::from(tor.0);
        self.first_host[at]..self.first_host[at + 1]
    }

    /// The other end of the port with global index `port`, as schemes are shown it.
    #[must_use]
    pub fn neighbour(&self, port: u32) -> Neighbour {
        let peer = &self.ports[self.ports[port as usize].peer as usize];
        match peer.owner {
            Owner::Host(host) => Neighbour::Host(host),
            Owner::Switch(switch) => Neighbour::Switch(switch, peer.local),
        }
    }

    /// Whether a port of a switch leads to a switch of a higher tier.
    #[must_use]
    pub fn is_uplink(&self, port: u32) -> bool {
        let port = &self.ports[port as usize];
        match (port.owner, self.ports[port.peer as usize].owner) {
            (Owner::Switch(this), Owner::Switch(other)) => {
                self.switch(other).level > self.switch(this).level
            }
            _ => false,
        }
    }

    /// The tier of the node whose port this is: 0 of hosts, from 1 on of switches.
    #[must_use]
    pub fn tier(&self, port: u32) -> u16 {
        match self.ports[port as usize].owner {
            Owner::Host(_) => 0,
            Owner::Switch(switch) => u16::from(self.switch(switch).level.0) + 1,
        }
    }

    /// Whether a link is a host's.
    #[inline]
    #[must_use]
    pub fn is_host_link(&self, link: u32) -> bool {
        link < self.hosts()
    }
}
