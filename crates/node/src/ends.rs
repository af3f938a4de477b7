//! The ends of a flow by any transport. A slot keeps the transport that it was made with: a run has one.

use crate::network::Network;
use crate::{roce, transport};
use leafspine_core::Time;

/// A flow's sending transport.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "TCP's stands in the list of its host, without a pointer"
)]
pub enum Sender {
    /// TCP's.
    Tcp(transport::Sender),
    /// A queue pair's.
    Roce(Box<roce::Sender>),
}

/// A flow's receiving transport.
#[derive(Debug)]
pub enum Receiver {
    /// TCP's.
    Tcp(transport::Receiver),
    /// A queue pair's.
    Roce(Box<roce::Receiver>),
}

/// What a sender has done.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct SenderReport {
    /// Data packets sent again.
    pub retransmits: u32,
    /// Timeouts.
    pub timeouts: u32,
    /// TCP: duplicate ACKs. RoCE: negative ones.
    pub dup_acks: u32,
    /// TCP: reductions of the window that were undone.
    pub undos: u32,
    /// TCP: tail loss probes.
    pub tail_probes: u32,
    /// The mean window, bytes.
    pub mean_window: f64,
}

impl Sender {
    /// Whether all segments have been sent once.
    #[inline]
    pub(crate) fn has_sent_all(&self) -> bool {
        match self {
            Sender::Tcp(sender) => sender.has_sent_all(),
            Sender::Roce(sender) => sender.has_sent_all(),
        }
    }

    /// What a message leaves to the next of its connection; nothing, where both belong to a queue pair.
    pub(crate) fn carried(&self) -> Option<transport::Carried> {
        match self {
            Sender::Tcp(sender) => Some(sender.carried()),
            Sender::Roce(_) => None,
        }
    }

    /// When the transport's timer is due.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Time {
        match self {
            Sender::Tcp(sender) => sender.deadline(),
            Sender::Roce(sender) => sender.deadline(),
        }
    }

    /// Timeouts.
    #[must_use]
    pub fn timeouts(&self) -> u32 {
        match self {
            Sender::Tcp(sender) => sender.timeouts(),
            Sender::Roce(sender) => sender.timeouts(),
        }
    }

    /// Bytes that may be under way.
    #[must_use]
    pub fn window(&self, net: &Network) -> u32 {
        match self {
            Sender::Tcp(sender) => sender.window(&net.tcp),
            Sender::Roce(sender) => sender.window(net.roce()),
        }
    }

    /// What it has done until `now`.
    #[must_use]
    pub fn report(&self, net: &Network, now: Time) -> SenderReport {
        match self {
            Sender::Tcp(sender) => SenderReport {
                retransmits: sender.retransmits(),
                timeouts: sender.timeouts(),
                dup_acks: sender.dup_acks(),
                undos: sender.undos(),
                tail_probes: sender.probes(),
                mean_window: sender.mean_window(&net.tcp, now),
            },
            Sender::Roce(sender) => SenderReport {
                retransmits: sender.retransmits(),
                timeouts: sender.timeouts(),
                dup_acks: sender.naks(),
                mean_window: sender.mean_window(net.roce()),
                ..SenderReport::default()
            },
        }
    }
}

impl Receiver {
    #[inline]
    fn assembly(&self) -> &transport::Assembly {
        match self {
            Receiver::Tcp(receiver) => &receiver.assembly,
            Receiver::Roce(receiver) => &receiver.assembly,
        }
    }

    /// The next segment in order.
    #[inline]
    #[must_use]
    pub fn expected(&self) -> u32 {
        self.assembly().expected()
    }

    /// Bytes given to the application.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.assembly().delivered()
    }

    /// Segments that came after a later one, retransmissions not counted.
    #[must_use]
    pub fn reordered(&self) -> u32 {
        self.assembly().reordered()
    }

    /// Segments that had come before.
    #[must_use]
    pub fn duplicates(&self) -> u32 {
        self.assembly().duplicates()
    }
}

// The enums cost TCP's ends no memory.
const _: () = assert!(size_of::<Sender>() == size_of::<transport::Sender>());
const _: () = assert!(size_of::<Receiver>() == size_of::<transport::Receiver>());
