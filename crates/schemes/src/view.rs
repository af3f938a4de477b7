//! What a scheme at a switch is shown.

use leafspine_core::{Bytes, PacketMeta, PortId, Rate, Rng, Span, SwitchId, Time, TorId};
use std::ops::Range;
use std::sync::Arc;

/// What waits at a port or in one of its queues. A packet that has begun transmission no longer
/// waits (ns-2 and ns-3 count alike); `in_service` has its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting.
    pub bytes: u32,
    /// Bytes of the packet in transmission, whole; 0 when the line is idle.
    pub in_service: u32,
}

/// What waits at a port, and how fast it goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// Bytes waiting, as in [`Backlog`].
    pub bytes: u32,
    /// The rate of the link now.
    pub rate: Rate,
}

/// The places of `ports` in an array by [`PortId`], if they stand there side by side. They ascend.
#[inline]
#[must_use]
pub fn side_by_side(ports: &[PortId]) -> Option<Range<usize>> {
    let (first, last) = (usize::from(ports.first()?.0), usize::from(ports.last()?.0));
    (last - first + 1 == ports.len()).then_some(first..last + 1)
}

/// A switch's ports, as a balancer may see them.
pub trait Ports {
    /// What waits at `port`, all service queues together.
    fn backlog(&mut self, port: PortId) -> Backlog;
    /// What waits in one service queue of `port`.
    fn queue(&mut self, port: PortId, queue: u8) -> Backlog;
    /// When the line has sent all that is queued at `port` now: the time a new packet would start
    /// in a FIFO port. Never earlier than now.
    fn free_at(&mut self, port: PortId) -> Time;
    /// The rate of `port`'s link now.
    fn rate(&self, port: PortId) -> Rate;
    /// What waits at `port`, and the rate of its link now: one look for both.
    fn line(&mut self, port: PortId) -> (Backlog, Rate) {
        (self.backlog(port), self.rate(port))
    }
    /// The load of each of `ports`, in their order: one call for all. What was in `found` goes.
    fn loads(&mut self, ports: &[PortId], found: &mut Vec<Load>) {
        found.clear();
        found.extend(ports.iter().map(|port| {
            let (waits, rate) = self.line(*port);
            Load { bytes: waits.bytes, rate }
        }));
    }
    /// The propagation delay of `port`'s link now.
    fn delay(&self, port: PortId) -> Span;
    /// Whether `port`'s link is up.
    fn is_up(&self, port: PortId) -> bool;
}

/// What a scheme at a switch is handed with every call.
pub struct Context<'a> {
    /// The time.
    pub now: Time,
    /// The switch's own random stream for this role.
    pub rng: &'a mut Rng,
    /// The switch's ports.
    pub ports: &'a mut dyn Ports,
    /// Packets that the scheme sends itself (probes), each with the port it leaves by. The engine
    /// empties it after the call and fills in nothing: size, tuple and flags are the scheme's.
    pub outbox: &'a mut Vec<(PortId, PacketMeta)>,
}

/// The live equal-cost next hops towards a destination. Never empty when a scheme is asked.
#[derive(Clone, Copy, Debug)]
pub struct Paths<'a> {
    /// The switch under which the destination is.
    pub to: TorId,
    /// Live ports, in ascending order.
    pub ports: &'a [PortId],
    /// Beside each port, the capacity from here to `to` through it in kb/s: the smallest rate along
    /// the way, where a next switch's equal-cost links count together.
    pub capacity: &'a [u32],
    /// Beside each port, the propagation delay from here to `to` through it: the sum along the way,
    /// where a next switch takes the nearest of its equal-cost links.
    pub delay: &'a [Span],
}

/// How far from the hosts a switch stands: leaf 0, spine (or aggregation) 1, core 2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Level(pub u8);

/// What is at the other end of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Neighbour {
    /// A host.
    Host(leafspine_core::HostId),
    /// A switch, and the port that the link has there.
    Switch(SwitchId, PortId),
}

/// A port at the start of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortInfo {
    /// The other end.
    pub neighbour: Neighbour,
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link.
    pub delay: Span,
}

/// Where a switch scheme is placed: handed to it once, when it is made.
#[derive(Clone, Debug)]
pub struct SwitchEnv {
    /// This switch.
    pub switch: SwitchId,
    /// Its level.
    pub level: Level,
    /// Its number among the switches that have hosts, if it has any.
    pub tor: Option<TorId>,
    /// How many switches have hosts.
    pub tors: u16,
    /// Hosts in the fabric.
    pub hosts: u32,
    /// The ports, by [`PortId`].
    pub ports: Vec<PortInfo>,
    /// This switch's hash seed, different at every switch.
    pub hash_seed: u64,
    /// Round-trip time of an empty fabric between the farthest hosts, full-sized data and its ACK.
    pub base_rtt: Span,
    /// Bytes of a full-sized packet.
    pub mtu: u32,
    /// Service queues a port.
    pub queues: u8,
    /// Their weights: packets a turn for WRR, full-sized packets' bytes for DWRR.
    pub weights: Vec<u32>,
    /// Whether they are served in turns (WRR, DWRR).
    pub in_turns: bool,
    /// The service queue of each stage that a host edge may write; stages beyond take the last's.
    /// Empty if queues are not chosen by stage.
    pub stage_queues: Vec<u8>,
    /// The ToR of each host.
    pub tor_of: Arc<[TorId]>,
    /// The buffer of a port; shared buffers give their whole size.
    pub buffer: crate::Amount,
    /// Mean flow size of the run's workloads, where one is known.
    pub mean_flow: Option<Bytes>,
}

impl SwitchEnv {
    /// Whether `port` leads away from the hosts. Switches are numbered tier by tier, those with hosts
    /// first, so the number of the switch at the other end decides.
    #[must_use]
    pub fn leads_up(&self, port: PortId) -> bool {
        match self.ports.get(usize::from(port.0)).map(|port| port.neighbour) {
            Some(Neighbour::Switch(other, _)) => other > self.switch,
            _ => false,
        }
    }
}

/// A queue as its manager sees it, at the moment a packet arrives or leaves.
#[derive(Clone, Copy, Debug)]
pub struct QueueView {
    /// The port.
    pub port: PortId,
    /// The service queue.
    pub queue: u8,
    /// What waits in this queue, the packet in question not included.
    pub this: Backlog,
    /// What waits at the port, all queues, the packet in question not included.
    pub port_total: Backlog,
    /// The port's rate.
    pub rate: Rate,
}
