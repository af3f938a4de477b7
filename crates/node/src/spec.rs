//! What a scenario says of nodes: queues, buffers, transport. Every default is already filled in.

use leafspine_core::{Bytes, Span};
use leafspine_schemes::rdma::Hop;
use leafspine_schemes::{Amount, Params};

pub use crate::roce::{CreditSpec, PairControl, Recovery, RoceSpec};
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

/// Priority-based flow control (IEEE 802.1Qbb). A priority is a service queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PfcSpec {
    /// The priorities that are lossless, a bit each; the others are dropped as without flow control.
    pub lossless: u8,
    /// How much of the shared pool packets of one ingress port and priority may have.
    pub threshold: PfcThreshold,
    /// What each ingress port and lossless priority has for itself.
    pub reserve: Bytes,
    /// So far below the threshold the far end goes on.
    pub resume: Bytes,
    /// Room, for each ingress port and lossless priority, for what comes until a pause takes effect. `None`: what
    /// the link's rate and delay make necessary.
    pub headroom: Option<Bytes>,
    /// What becomes of a switch's port that stays paused.
    pub watchdog: Option<WatchdogSpec>,
}

/// Trimming at switches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TrimSpec {
    /// The class (DSCP) that headers get, by which they find their queue.
    pub class: u8,
    /// What may wait in that queue.
    pub buffer: Bytes,
    /// Whether what was queued last may be trimmed instead of what arrives, by a coin.
    pub either: bool,
    /// Whether headers that have no room are sent back to their senders.
    pub returns: bool,
}

/// When the far end is paused.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PfcThreshold {
    /// At so many bytes.
    Static(Bytes),
    /// At this multiple of what is free of the pool.
    Dynamic(f64),
}

/// A watchdog over the service queues of switch ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WatchdogSpec {
    /// A queue that has been paused for so long and has packets is in a storm.
    pub detect: Span,
    /// A storm is over when the queue has not been paused for so long.
    pub restore: Span,
    /// What happens meanwhile.
    pub action: WatchdogAction,
}

/// What becomes of a queue's packets in a storm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WatchdogAction {
    /// They are dropped.
    Drop,
    /// They are sent in spite of the pause.
    Forward,
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
    /// Which protocol it is. Of the settings above, those of others than TCP are `mss`, `header`, `source_ports` and,
    /// as a measure of patience, the timeouts; `scheme` names the rate control.
    pub protocol: Protocol,
}

/// A protocol that carries flows, with what only it has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// Queue pairs of RDMA over converged Ethernet.
    Roce(RoceSpec),
}

impl Protocol {
    /// Its word in a scenario.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Protocol::Tcp => "tcp",
            Protocol::Roce(_) => "roce",
        }
    }

    /// Queue pairs, if these are what it has.
    #[must_use]
    pub fn roce(&self) -> Option<&RoceSpec> {
        match self {
            Protocol::Tcp => None,
            Protocol::Roce(roce) => Some(roce),
        }
    }

    /// Whether a receiver keeps what has come out of order. Where it does not, all of that is sent again.
    #[must_use]
    pub fn keeps_out_of_order(&self) -> bool {
        match self {
            Protocol::Tcp => true,
            Protocol::Roce(roce) => roce.recovery != Recovery::GoBackN,
        }
    }

    /// Whether a sender learns of each mark by what comes back.
    #[must_use]
    pub fn echoes_marks(&self) -> bool {
        match self {
            Protocol::Tcp => true,
            Protocol::Roce(_) => false,
        }
    }

    /// Whether a receiver tells of headers whose payload was cut off.
    #[must_use]
    pub fn tells_of_trimmed(&self) -> bool {
        match self {
            Protocol::Tcp => false,
            Protocol::Roce(roce) => roce.recovery == Recovery::Each,
        }
    }

    /// Bytes that switches add to a packet on its way, at the most: 0 if they have nothing to tell.
    #[must_use]
    pub fn telemetry(&self) -> u32 {
        match self {
            Protocol::Roce(roce) if roce.control.has_telemetry() => {
                u32::from(Hop::BASE) + Hop::MOST as u32 * u32::from(Hop::BYTES)
            }
            Protocol::Tcp | Protocol::Roce(_) => 0,
        }
    }

    /// The key of the timeout that a sender waits at least.
    #[must_use]
    pub fn timeout_key(&self) -> &'static str {
        match self {
            Protocol::Tcp => "min_rto",
            Protocol::Roce(_) => "timeout",
        }
    }

    /// The class of its data packets where neither a workload nor a host edge says another.
    #[must_use]
    pub fn class(&self) -> u8 {
        match self {
            Protocol::Tcp => 0,
            Protocol::Roce(roce) => roce.classes.0,
        }
    }
}

impl TransportSpec {
    /// Queue pairs, with `scheme` as the name of their rate control.
    #[must_use]
    pub fn pairs(scheme: String, (mss, header): (u32, u32), roce: RoceSpec) -> TransportSpec {
        let scheme = SchemeSpec { name: scheme, params: Params::default() };
        TransportSpec {
            mss,
            header,
            protocol: Protocol::Roce(roce),
            ..TransportSpec::other(scheme, (roce.timeout, roce.max_timeout))
        }
    }

    /// What TCP's settings are in a run with another protocol, of these shortest and longest timeouts: packets can be
    /// marked, and no handshake goes ahead of the data.
    #[must_use]
    pub fn other(scheme: SchemeSpec, (shortest, longest): (Span, Span)) -> TransportSpec {
        TransportSpec {
            ecn: Some(true),
            init_cwnd: Amount::Packets(1),
            min_rto: shortest,
            max_rto: longest,
            sack: false,
            limited_transmit: false,
            handshake: false,
            ..TransportSpec::tcp(scheme)
        }
    }

    /// The largest packet: telemetry adds to it on its way.
    #[must_use]
    pub fn largest_packet(&self) -> u32 {
        self.mss + self.header + self.protocol.telemetry()
    }

    /// TCP with SACK and limited transmit in packets of 1,500 bytes, an initial window of ten and a lower bound of 10 ms
    /// for timeouts: what a program that has no scenario file begins with.
    #[must_use]
    pub fn tcp(scheme: SchemeSpec) -> TransportSpec {
        TransportSpec {
            scheme,
            ecn: None,
            mss: 1460,
            header: 40,
            init_cwnd: Amount::Packets(10),
            max_cwnd: None,
            min_rto: Span::from_millis(10),
            initial_rto: None,
            max_rto: Span::from_millis(60_000),
            dupack_threshold: 3,
            sack: true,
            limited_transmit: true,
            delayed_ack: None,
            handshake: true,
            handshake_ack: false,
            source_ports: None,
            stack: Stack::default(),
            protocol: Protocol::Tcp,
        }
    }
}
