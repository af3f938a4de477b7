//! What a scenario says of nodes: queues, buffers, transport. Every default is already filled in.

use leafspine_core::{Bytes, Span};
use leafspine_schemes::{Amount, Params};

pub use crate::stack::{Reduction, Stack, Timestamps};

/// A registered scheme and all its parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct SchemeSpec {
    /// Its name in the registry.
    pub name: String,
    /// Its parameters, defaults included.
    pub params: Params,
}

/// A buffer shared by a switch's ports.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SharedBuffer {
    /// Its size in bytes.
    pub size: Bytes,
    /// The dynamic threshold's alpha.
    pub alpha: f64,
}

/// How service queues share a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SchedulerKind {
    /// One queue, in order.
    Fifo,
    /// Weighted round robin by packets.
    Wrr,
    /// Deficit weighted round robin by bytes (Shreedhar and Varghese, 1995).
    Dwrr,
    /// Queue 0 first, then 1, and so on.
    Strict,
}

/// How packets find their service queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Classifier {
    /// By a hash of the five-tuple, the same at every switch.
    Hash,
    /// By the stage that a host edge wrote in `class`, through `stage_queues`.
    Stage,
    /// By DSCP: the same field, taken modulo the number of queues.
    Dscp,
}

/// The transport.
#[derive(Clone, PartialEq, Debug)]
pub struct TransportSpec {
    /// Congestion control and its parameters.
    pub scheme: SchemeSpec,
    /// Whether data is ECN-capable. `None`: as the congestion control has it.
    pub ecn: Option<bool>,
    /// Payload of a full segment.
    pub mss: u32,
    /// Header bytes of every packet; a pure ACK, SYN or SYN-ACK is these alone.
    pub header: u32,
    /// Initial window.
    pub init_cwnd: Amount,
    /// Upper bound of the window (the peer's receive window), if any.
    pub max_cwnd: Option<Amount>,
    /// Lower bound of the retransmission timeout.
    pub min_rto: Span,
    /// Timeout before there is a round-trip sample (SYN included). `None`: `min_rto`.
    pub initial_rto: Option<Span>,
    /// Upper bound of the backed-off timeout.
    pub max_rto: Span,
    /// Duplicate ACKs that trigger fast retransmit.
    pub dupack_threshold: u32,
    /// Selective acknowledgments (RFC 2018, 6675); without them NewReno (RFC 6582).
    pub sack: bool,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Delayed ACKs: every second segment, or after this long. `None`: every segment.
    pub delayed_ack: Option<Span>,
    /// Open with a three-way handshake. Without, data starts at once.
    pub handshake: bool,
    /// The handshake's third ACK is a packet of its own and does not ride on the first data.
    pub handshake_ack: bool,
    /// Source ports that the flows of a pair of hosts use in turn, at least 1; `None`: one a flow.
    pub source_ports: Option<u16>,
    /// What is done beyond that.
    pub stack: Stack,
}
