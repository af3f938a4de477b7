//! Drivers: in which order nodes are told of their events. The nodes and what they do are the same.
//!
//! [`calendar`] handles one event after the other over the whole fabric, from one queue. [`windows`]
//! lets each node run ahead of the others by the shortest link's latency, which is as exact, faster,
//! and works on several cores.

pub(crate) mod calendar;
pub(crate) mod layout;
pub(crate) mod linux;
pub(crate) mod pool;
pub(crate) mod queue;
pub(crate) mod windows;

pub(crate) use calendar::CalendarDriver;
pub(crate) use layout::Layout;
pub(crate) use linux::LinuxDriver;
pub(crate) use windows::{Deals, Lookahead, WindowsDriver};

use leafspine_core::{HostId, PacketMeta, SwitchId, Time};
use leafspine_node::{
    Address, Counters, Event, Host, Key, Network, Node, Port, Record, Switch, World,
};

/// A point in the order of events: everything before it has happened, nothing from it on.
pub(crate) type Bound = (Time, Key);

/// How far a driver came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Came {
    /// Up to the bound: nothing before it is left.
    ToBound,
    /// Not so far: there is more to do, and it is time to look at the run.
    PartOfTheWay,
    /// The same, with some nodes ahead of others.
    PartOfTheWayAhead,
    /// To the end of the run's last flow.
    ToTheEnd,
    /// A node has found a fault.
    ToAFault,
    /// Nowhere: a node has had so many events at one instant.
    Nowhere(u64),
}

/// When the run is over, if its flows end it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ending {
    /// Flows that have been opened, which are all there will be.
    pub(crate) flows: u64,
    /// Of which so many have not got their last byte.
    pub(crate) incomplete: u64,
}

/// What drives a run.
pub(crate) enum Driver {
    /// One event after the other.
    Calendar(Box<CalendarDriver>),
    /// Nodes ahead of each other.
    Windows(Box<WindowsDriver>),
    /// One event after the other, with kernels behind the hosts' ports.
    Linux(Box<LinuxDriver>),
}

/// What [`Driver::advance`] has to know of the run.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) net: &'a std::sync::Arc<Network>,
    /// Events before it may be handled.
    pub(crate) bound: Bound,
    /// Where flows end the run.
    pub(crate) ending: Option<Ending>,
    /// Whether to return when an operation has begun, before anything that it lets go can.
    pub(crate) operations: bool,
    /// So many events, if that is possible.
    pub(crate) budget: u64,
}

impl Driver {
    /// Handles events in the order of the contract (or with the same results).
    pub(crate) fn advance(&mut self, task: Task<'_>) -> Came {
        match self {
            Driver::Calendar(driver) => driver.advance(task),
            Driver::Windows(driver) => driver.advance(task),
            Driver::Linux(driver) => driver.advance(task),
        }
    }

    /// How far nodes may be driven in one go, if a flow may start at `first`.
    pub(crate) fn horizon(&self, first: Option<Time>) -> Bound {
        match self {
            Driver::Calendar(_) | Driver::Linux(_) => (Time::MAX, Key::LAST),
            Driver::Windows(driver) => driver.horizon(first),
        }
    }

    /// Whether some nodes are ahead of others between two bounds.
    pub(crate) fn runs_ahead(&self) -> bool {
        match self {
            Driver::Calendar(_) | Driver::Linux(_) => false,
            Driver::Windows(_) => true,
        }
    }

    /// Adds an event of a node, not before the last bound.
    pub(crate) fn schedule(&mut self, layout: &Layout, event: Event) {
        match self {
            Driver::Calendar(driver) => {
                driver.calendar.push(event.time, event.key(), event.item());
            }
            Driver::Linux(driver) => {
                driver.nodes.calendar.push(event.time, event.key(), event.item());
            }
            Driver::Windows(driver) => {
                driver.schedule(layout.node_of(event.key(), event.item()), event);
            }
        }
    }

    pub(crate) fn node(&self, node: u32) -> &Node {
        match self {
            Driver::Calendar(driver) => &driver.nodes[node as usize],
            Driver::Windows(driver) => driver.node(node),
            Driver::Linux(driver) => &driver.nodes.nodes[node as usize],
        }
    }

    pub(crate) fn node_mut(&mut self, node: u32) -> &mut Node {
        match self {
            Driver::Calendar(driver) => &mut driver.nodes[node as usize],
            Driver::Windows(driver) => driver.node_mut(node),
            Driver::Linux(driver) => &mut driver.nodes.nodes[node as usize],
        }
    }

    /// Calls a node with its world, at a time up to which all has happened.
    pub(crate) fn with(
        &mut self,
        node: u32,
        now: Time,
        what: &mut dyn FnMut(&mut Node, &mut dyn World),
    ) {
        match self {
            Driver::Calendar(driver) => {
                driver.now = now;
                driver.with(node, |node, world| what(node, world));
            }
            Driver::Windows(driver) => driver.with(node, now, what),
            Driver::Linux(driver) => driver.with(node, now, what),
        }
    }

    /// Calls `visit` with what each part has written down.
    pub(crate) fn each_record(&mut self, visit: &mut dyn FnMut(&mut Record)) {
        match self {
            Driver::Calendar(driver) => visit(&mut driver.record),
            Driver::Windows(driver) => driver.each_record(visit),
            Driver::Linux(driver) => visit(&mut driver.nodes.record),
        }
    }

    /// What nodes have counted.
    pub(crate) fn counters(&self) -> Counters {
        match self {
            Driver::Calendar(driver) => driver.record.counters,
            Driver::Windows(driver) => driver.counters(),
            Driver::Linux(driver) => driver.nodes.record.counters,
        }
    }

    /// Whether nothing of any flow is left to be done.
    pub(crate) fn is_over(&mut self, ending: Option<Ending>) -> bool {
        if let Driver::Linux(driver) = self {
            return driver.is_over(ending);
        }
        let (mut packets, mut done) = (0, 0);
        self.each_record(&mut |record| {
            packets += record.flow_packets;
            done += record.senders_done;
        });
        ending.is_some_and(|ending| packets == 0 && done == ending.flows)
    }

    /// When the last event was.
    pub(crate) fn now(&self) -> Time {
        match self {
            Driver::Calendar(driver) => driver.now,
            Driver::Windows(driver) => driver.now(),
            Driver::Linux(driver) => driver.nodes.now,
        }
    }

    /// When the next event is.
    pub(crate) fn next_time(&self) -> Option<Time> {
        match self {
            Driver::Calendar(driver) => driver.calendar.events().map(|event| event.time).min(),
            Driver::Windows(driver) => driver.next_event(),
            Driver::Linux(driver) => driver.next_time(),
        }
    }

    /// The hash over all packet-hops: a chain for each link, folded in the order of the ports that send
    /// into them. `ports`: how many there are.
    pub(crate) fn trace_hash(&self, ports: usize) -> u64 {
        let mut chains = vec![0; ports];
        match self {
            Driver::Calendar(driver) => driver.each_chain(&mut chains),
            Driver::Linux(driver) => driver.nodes.each_chain(&mut chains),
            Driver::Windows(driver) => {
                driver.each_chain(&mut |port, chain| chains[port as usize] = chain);
            }
        }
        chains.into_iter().fold(0, |hash: u64, chain| (hash.rotate_left(5) ^ chain).wrapping_mul(A))
    }

    /// Calls `visit` with every packet on a link (or, of one-event ports, before it) and the port that
    /// sent it.
    pub(crate) fn each_on_link(&self, visit: &mut dyn FnMut(u32, &PacketMeta)) {
        match self {
            Driver::Calendar(driver) => driver.each_on_link(visit),
            Driver::Windows(driver) => driver.each_on_link(visit),
            Driver::Linux(driver) => driver.nodes.each_on_link(visit),
        }
    }

    /// Packets on the link of `port` will not arrive.
    pub(crate) fn lose_on_link(&mut self, port: u32) {
        match self {
            Driver::Calendar(driver) => driver.lose_on_link(port),
            Driver::Windows(driver) => driver.lose_on_link(port),
            Driver::Linux(driver) => driver.nodes.lose_on_link(port),
        }
    }

    /// The driver of kernels, if the hosts are such.
    pub(crate) fn linux(&mut self) -> Option<&mut LinuxDriver> {
        if let Driver::Linux(driver) = self { Some(driver) } else { None }
    }

    pub(crate) fn switch(&self, id: SwitchId) -> &Switch {
        self.node(u32::from(id.0)).switch().expect("switches come first")
    }

    pub(crate) fn switch_mut(&mut self, id: SwitchId) -> &mut Switch {
        self.node_mut(u32::from(id.0)).switch_mut().expect("switches come first")
    }

    pub(crate) fn host(&self, layout: &Layout, id: HostId) -> &Host {
        let (node, place) = layout.hosts[usize::from(id.0)];
        &self.node(node).hosts()[usize::from(place)]
    }

    pub(crate) fn host_mut(&mut self, layout: &Layout, id: HostId) -> &mut Host {
        let (node, place) = layout.hosts[usize::from(id.0)];
        &mut self.node_mut(node).hosts_mut()[usize::from(place)]
    }

    /// The flow that a sender's address names, at its source.
    pub(crate) fn sending(&self, layout: &Layout, sender: Address) -> &leafspine_node::Sending {
        &self.host(layout, sender.host()).sending[usize::from(sender.slot())]
    }

    /// The port with this global number.
    pub(crate) fn port_mut(&mut self, layout: &Layout, at: u32) -> &mut Port {
        let (egress, local) = self.node_mut(layout.owners[at as usize]).egress_of(at);
        &mut egress.ports[usize::from(local.0)]
    }
}

const A: u64 = 0x9e37_79b9_7f4a_7c15;
const B: u64 = 0xd6e8_feb8_6659_fd93;

/// Adds a packet-hop to the chain of its link: when and what. Two runs agree in the chains of all links
/// if and only if they agree in all hops.
#[inline]
pub(crate) fn hash_hop(chain: u64, packet: &PacketMeta, now: Time) -> u64 {
    let what = u64::from(packet.seq) << 32
        | u64::from(packet.size) << 16
        | u64::from(packet.flags.0) << 8
        | u64::from(packet.ecn as u8);
    let hop = now.0.wrapping_mul(A) ^ (packet.tuple.0 ^ what.rotate_left(17)).wrapping_mul(B);
    (chain.rotate_left(5) ^ hop).wrapping_mul(A)
}
