//! The ends of a flow by any transport. A slot keeps the transport that it was made with: a run has one.

use crate::flow::{FLOW_BYTES, Opening};
use crate::network::{Network, ProtocolConfig};
use crate::spec::{Protocol, Stack};
use crate::transport::{AckOutcome, Fired, Received, TcpConfig};
use crate::{roce, transport};
use leafspine_core::{PacketMeta, Time};

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
    /// An idle one of the protocol that carries the run's flows.
    pub(crate) fn of(net: &Network) -> Sender {
        match &net.protocol {
            ProtocolConfig::Tcp => Sender::Tcp(transport::Sender::new()),
            ProtocolConfig::Roce(_) => Sender::Roce(Box::default()),
        }
    }

    /// Whether the host's card takes its packets, when the line is free (`nic.rs`). All others send at once what they
    /// have, and only of these the host asks what follows.
    #[inline(always)]
    pub(crate) fn is_of_card(&self) -> bool {
        match self {
            Sender::Tcp(_) => false,
            Sender::Roce(_) => true,
        }
    }

    /// Makes this the sender of a flow.
    pub(crate) fn reset(&mut self, net: &Network, flow: &Opening) {
        match self {
            Sender::Tcp(sender) => {
                sender.reset(&net.tcp, flow.bytes);
                sender.identify(flow.number);
            }
            Sender::Roce(sender) => sender.reset(net.roce(), flow.bytes),
        }
    }

    /// The flow starts.
    #[inline(always)]
    pub(crate) fn open(&mut self, net: &Network, now: Time) {
        match self {
            Sender::Tcp(sender) => sender.open(&net.tcp, now),
            Sender::Roce(_) => {}
        }
    }

    /// A message starts on what the one before it left to its connection.
    pub(crate) fn resume(&mut self, net: &Network, carried: &transport::Carried, now: Time) {
        match self {
            Sender::Tcp(sender) => sender.resume(&net.tcp, carried, now),
            Sender::Roce(_) => {}
        }
    }

    /// Whether it has a packet to send, which is then written.
    #[inline(always)]
    pub(crate) fn poll_send(&mut self, net: &Network, now: Time, packet: &mut PacketMeta) -> bool {
        match self {
            Sender::Tcp(sender) => sender.poll_send(&net.tcp, now, packet),
            Sender::Roce(_) => unreachable!("the card has it"),
        }
    }

    /// What a sender is told of the packet that it has just sent: when it will have left the port.
    pub(crate) fn note_packet(&mut self, packet: &PacketMeta, leaves: Time, now: Time) {
        match self {
            Sender::Tcp(sender) => sender.note_packet(packet, leaves, now),
            Sender::Roce(_) => {}
        }
    }

    /// A reply has come.
    #[inline(always)]
    pub(crate) fn on_packet(&mut self, net: &Network, reply: &PacketMeta, now: Time) -> AckOutcome {
        match self {
            Sender::Tcp(sender) => sender.on_packet(&net.tcp, reply, now),
            Sender::Roce(_) => unreachable!("the card has it"),
        }
    }

    /// Its timer may be due.
    #[inline(always)]
    pub(crate) fn on_timer(&mut self, net: &Network, now: Time) -> Fired {
        match self {
            Sender::Tcp(sender) => sender.on_timer(&net.tcp, now),
            Sender::Roce(_) => unreachable!("the card has it"),
        }
    }

    /// Bytes under way, of so many that may be: what a connection's next message waits for. A queue pair counts over
    /// all of its messages, packet by packet.
    pub(crate) fn flight(&self, net: &Network) -> (u32, u32) {
        match self {
            Sender::Tcp(sender) => (sender.in_flight() * net.tcp.mss, sender.window(&net.tcp)),
            Sender::Roce(_) => (0, u32::MAX),
        }
    }

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
    /// An idle one of the protocol that carries the run's flows.
    pub(crate) fn of(net: &Network) -> Receiver {
        match &net.protocol {
            ProtocolConfig::Tcp => Receiver::Tcp(transport::Receiver::new()),
            ProtocolConfig::Roce(_) => Receiver::Roce(Box::default()),
        }
    }

    /// Makes this the receiver of another flow.
    pub(crate) fn reset(&mut self) {
        match self {
            Receiver::Tcp(receiver) => receiver.reset(),
            Receiver::Roce(receiver) => receiver.reset(),
        }
    }

    /// As [`Sender::is_of_card`].
    #[inline(always)]
    pub(crate) fn is_of_card(&self) -> bool {
        match self {
            Receiver::Tcp(_) => false,
            Receiver::Roce(_) => true,
        }
    }

    /// A packet has come; a reply, if there is one, is written.
    #[inline(always)]
    pub(crate) fn on_packet(
        &mut self,
        net: &Network,
        packet: &PacketMeta,
        now: Time,
        reply: &mut PacketMeta,
    ) -> Received {
        match self {
            Receiver::Tcp(receiver) => receiver.on_packet(&net.tcp, packet, now, reply),
            Receiver::Roce(_) => unreachable!("the card has it"),
        }
    }

    /// When its timer is due.
    #[inline(always)]
    pub(crate) fn deadline(&self) -> Time {
        match self {
            Receiver::Tcp(receiver) => receiver.deadline(),
            Receiver::Roce(_) => Time::MAX,
        }
    }

    /// Its timer is due: whether a reply goes out, which is then written.
    #[inline(always)]
    pub(crate) fn on_timer(&mut self, net: &Network, now: Time, reply: &mut PacketMeta) -> bool {
        match self {
            Receiver::Tcp(receiver) => receiver.on_timer(&net.tcp, now, reply),
            Receiver::Roce(_) => unreachable!("the card has it"),
        }
    }

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

/// What both ends of a flow of this transport take: with the block that TCP's switches need, in a run that uses one;
/// with the ends that stand behind pointers.
#[must_use]
pub fn flow_bytes(protocol: &Protocol, stack: &Stack) -> u64 {
    let more = match protocol {
        Protocol::Tcp => TcpConfig::extra_bytes(stack),
        Protocol::Roce(_) => {
            let sender = size_of::<roce::Sender>() + size_of::<roce::QueuePair>();
            (sender + size_of::<roce::Receiver>()) as u64
        }
    };
    FLOW_BYTES + more
}

// The enums cost TCP's ends no memory.
const _: () = assert!(size_of::<Sender>() == size_of::<transport::Sender>());
const _: () = assert!(size_of::<Receiver>() == size_of::<transport::Receiver>());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::RoceSpec;
    use leafspine_core::Span;

    /// Breaks if a flow's memory is estimated without the block that TCP's switches need, or with it
    /// where none is on, or if a queue pair's has it or lacks its own ends.
    #[test]
    fn switches_take_memory() {
        let with = |stack: Stack| flow_bytes(&Protocol::Tcp, &stack) - FLOW_BYTES;
        assert_eq!(with(Stack::default()), 0);
        assert_eq!(with(Stack { dsack: true, quick_acks: 16, ..Stack::default() }), 0);
        let rack = Stack { rack: true, ..Stack::default() };
        assert!(with(rack) > 1_500);
        let pairs = Protocol::Roce(RoceSpec::line_rate(Span::from_micros(100)));
        assert!((200..800).contains(&(flow_bytes(&pairs, &rack) - FLOW_BYTES)));
    }
}
