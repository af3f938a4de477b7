//! Host edges: what a hypervisor or NIC does to packets between the transport and the wire.

mod aq_car;
mod by_bytes;
mod clove_ecn;
mod flex;
mod flowbender;
mod hermes;
pub(crate) mod presto;
mod racks;
mod round_trip;
mod spray;
mod stage;

use crate::{Inspect, ParamError, Params, SchemeInfo};
use leafspine_core::{HostId, PacketMeta, Rate, Rng, Span, Time, TorId};
use std::sync::Arc;

pub use by_bytes::classes_written;

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
    /// Sending side: [`Needs::memory`] words that the connection keeps, over all of its messages. Zero at first.
    pub memory: &'a mut [u64],
}

/// What an edge is handed with every call.
pub struct EdgeContext<'a> {
    /// The time.
    pub now: Time,
    /// The host's own random stream.
    pub rng: &'a mut Rng,
    /// Words that the hosts of one rack share (the exchange between their hypervisors, taken as free
    /// and instantaneous): as many as the largest [`Needs::board_words`] of the rack. Zero at first.
    pub board: &'a mut [u64],
    /// Packets that the edge sends itself (probes), from this host's port. The engine empties it after
    /// the call and fills in nothing: size, tuple and the flag `PROBE` are the edge's.
    pub outbox: &'a mut Vec<PacketMeta>,
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

/// What an edge asks of its host besides calls for every packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Call [`HostEdge::tick`] at the start of the run (and then when it says).
    pub tick: bool,
    /// Keep data packets that have come until [`HostEdge::reassemble`] delivers them.
    pub reassembly: bool,
    /// So many words of [`EdgeContext::board`].
    pub board_words: usize,
    /// So many words of [`FlowView::memory`].
    pub memory: usize,
    /// It leaves packets' classes as they are: then a network card knows the priority of a packet
    /// before its turn, and passes those over that are paused.
    pub keeps_class: bool,
}

/// One host's edge. One object per host.
pub trait HostEdge: Send {
    /// What this edge asks for. It does not change during a run.
    fn needs(&self) -> Needs {
        Needs::default()
    }

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

    /// The header of a data packet, whose payload a switch has cut off, has come for a flow that
    /// this host receives. The transport answers it at once.
    fn trimmed(&mut self, header: &PacketMeta, flow: &mut FlowView<'_>, cx: &mut EdgeContext<'_>) {
        let _ = (header, flow, cx);
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

    /// Time-driven work (probes). Returns when to be called again. Called only if [`Needs::tick`].
    fn tick(&mut self, cx: &mut EdgeContext<'_>) -> Option<Time> {
        let _ = cx;
        None
    }

    /// A probe addressed to this host has come.
    fn probed(&mut self, probe: &PacketMeta, cx: &mut EdgeContext<'_>) {
        let _ = (probe, cx);
    }

    /// `waiting` (by segment, ties by arrival) is what is held of a flow, the newcomer included:
    /// how many go up now? Called only if [`Needs::reassembly`], on every arrival and when
    /// `again` falls due.
    fn reassemble(
        &mut self,
        waiting: &[Waiting],
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) -> Deliver {
        let _ = (flow, cx);
        Deliver { count: waiting.len(), again: None }
    }

    /// What can be measured of it.
    fn inspect(&self) -> &dyn Inspect {
        &()
    }
}

/// Where an edge is placed.
#[derive(Clone, Debug)]
pub struct HostEnv {
    /// The host.
    pub host: HostId,
    /// Hosts in the fabric.
    pub hosts: u32,
    /// The run's seed, for what must differ between runs but not between calls.
    pub seed: u64,
    /// Bytes of payload of a full segment.
    pub mss: u32,
    /// Bytes of a full-sized packet.
    pub mtu: u32,
    /// This host's ToR.
    pub tor: TorId,
    /// The ToR of each host.
    pub tor_of: Arc<[TorId]>,
    /// Ports that this host's ToR has towards other switches. `packet.path` names one of them to the
    /// balancer `pinned`.
    pub uplinks: u16,
    /// Rate of this host's link.
    pub rate: Rate,
    /// Rate of its ToR's slowest uplink; of its own link if there is none (a star).
    pub uplink_rate: Rate,
    /// The service queue of each stage that an edge may write; stages beyond take the last's. Empty if
    /// queues are not chosen by stage.
    pub stage_queues: Vec<u8>,
    /// Round-trip time of an empty fabric between the farthest hosts.
    pub base_rtt: Span,
}

/// Makes an edge for one host.
pub type Build = fn(&Params, &HostEnv) -> Result<Box<dyn HostEdge>, ParamError>;

/// A receiving side that puts packets in order.
#[derive(Clone, Copy, Debug)]
pub struct InOrder {
    /// Whether it does, with these parameters. Then it is refused where the transport is a kernel's.
    pub on: fn(&Params) -> bool,
    /// Whether it does so whatever has reordered them, with these parameters and so many bytes of payload in a
    /// segment. Then it goes beside any balancer.
    pub beside_any: fn(&Params, u32) -> bool,
    /// How a scenario says the latter, for who had it beside a balancer that it is not made for.
    pub how: &'static str,
}

/// A host edge that scenarios can name.
#[derive(Clone, Copy)]
pub struct Entry {
    /// What it is.
    pub info: SchemeInfo,
    /// How it is made.
    pub build: Build,
    /// The balancers that it makes sense beside; empty: any.
    pub balancers: &'static [&'static str],
    /// Whether it steers by marks: it is refused without a transport with ECN and queues that mark.
    pub by_marks: bool,
    /// Whether it goes by what the hosts' transport tells of a flow (ACKs with their round trips, losses):
    /// it is refused where that is a kernel's.
    pub by_stack: bool,
    /// How its receiving side puts packets in order before the transport sees them, if it can.
    pub in_order: Option<InOrder>,
    /// Whether it gives each packet an entropy value of its own. Then its receiving side tells the
    /// sender of marks itself, whatever the transport's ACKs echo, and packets come out of order:
    /// it is refused over a transport that takes none such.
    pub sprays: bool,
}

/// Every host edge, in the catalogue's order.
pub const ALL: &[Entry] = &[
    presto::ENTRY,
    stage::ENTRY,
    aq_car::ENTRY,
    flowbender::ENTRY,
    clove_ecn::ENTRY,
    hermes::ENTRY,
    flex::ENTRY,
    spray::oblivious::ENTRY,
    spray::bitmap::ENTRY,
    spray::reps::ENTRY,
    spray::mixed::ENTRY,
];
