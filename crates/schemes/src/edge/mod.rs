//! Host edges: what a hypervisor or NIC does to packets between the transport and the wire.

pub(crate) mod presto;
mod stage;

use crate::{ParamError, Params, SchemeInfo};
use leafspine_core::{HostId, PacketMeta, Rng, Span, Time};

/// A flow as its host's edge sees it.
pub struct FlowView<'a> {
    /// Bytes of payload that the application has given in all.
    pub size: u64,
    /// Payload sent before this packet, retransmissions not counted.
    pub bytes_sent: u64,
    /// Receiving side: the next segment that the transport expects.
    pub expected: u32,
    /// Four words that the edge may keep per flow and side. Zero at first.
    pub state: &'a mut [u64; 4],
}

/// What an edge is handed with every call.
pub struct EdgeContext<'a> {
    /// The time.
    pub now: Time,
    /// The host's own random stream.
    pub rng: &'a mut Rng,
}

/// A packet that waits for reassembly.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The packet.
    pub packet: PacketMeta,
    /// When it came.
    pub since: Time,
}

/// What becomes of the packets that wait for reassembly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deliver {
    /// So many from the front (lowest segment first) go to the transport now.
    pub count: usize,
    /// When to be asked again about the rest, if nothing arrives before.
    pub again: Option<Time>,
}

/// One host's edge. One object per host.
pub trait HostEdge: Send {
    /// `packet` leaves the sending transport: tag it, choose its entropy, note the flowlet.
    fn sending(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    );

    /// An ACK of a flow that this host sends has come; `rtt` is its sample if it carried one.
    fn acked(
        &mut self,
        ack: &PacketMeta,
        rtt: Option<Span>,
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        let _ = (ack, rtt, flow, cx);
    }

    /// A flow that this host sends has lost packets: `timeout`, or else fast retransmit.
    fn lost(&mut self, timeout: bool, flow: &mut FlowView<'_>, cx: &mut EdgeContext<'_>) {
        let _ = (timeout, flow, cx);
    }

    /// A data packet has come for a flow that this host receives, before reassembly.
    fn receiving(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        let _ = (packet, flow, cx);
    }

    /// An ACK or SYN-ACK of a flow that this host receives leaves its transport: write into it what
    /// the sender's edge is to know (`flow.state` is the receiving side's).
    fn replying(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        let _ = (packet, flow, cx);
    }

    /// Whether this edge holds data packets back to put them in order.
    fn reassembles(&self) -> bool {
        false
    }

    /// `waiting` (by segment, ties by arrival) is what is held of a flow, the newcomer included:
    /// how many go up now? Called on every arrival and when `again` falls due.
    fn reassemble(
        &mut self,
        waiting: &[Waiting],
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) -> Deliver {
        let _ = (flow, cx);
        Deliver { count: waiting.len(), again: None }
    }
}

/// Where an edge is placed.
#[derive(Clone, Copy, Debug)]
pub struct HostEnv {
    /// The host.
    pub host: HostId,
    /// Hosts in the fabric.
    pub hosts: u32,
    /// The run's seed, for what must differ between runs but not between calls.
    pub seed: u64,
    /// Bytes of payload of a full segment.
    pub mss: u32,
    /// Round-trip time of an empty fabric between the farthest hosts.
    pub base_rtt: Span,
}

/// Makes an edge for one host.
pub type Build = fn(&Params, &HostEnv) -> Result<Box<dyn HostEdge>, ParamError>;

/// A host edge that scenarios can name.
#[derive(Clone, Copy)]
pub struct Entry {
    /// What it is.
    pub info: SchemeInfo,
    /// How it is made.
    pub build: Build,
}

/// Every host edge, in the catalogue's order.
pub const ALL: &[Entry] = &[presto::ENTRY, stage::ENTRY];
