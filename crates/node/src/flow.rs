//! A flow at its two hosts.

use crate::program::FIRST_MESSAGE;
use crate::transport::{Receiver, Sender};
use leafspine_core::{FiveTuple, HostId, PacketMeta, Time};

/// A flow's slots at its two hosts, as its packets carry them ([`PacketMeta::flow`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowId {
    /// Among the flows that its source sends.
    pub sending: u16,
    /// Among the flows that its destination receives.
    pub receiving: u16,
}

impl FlowId {
    /// What a packet carries.
    #[inline]
    #[must_use]
    pub fn of(packet: &PacketMeta) -> FlowId {
        FlowId { sending: (packet.flow >> 16) as u16, receiving: packet.flow as u16 }
    }

    #[inline]
    pub(crate) fn bits(self) -> u32 {
        u32::from(self.sending) << 16 | u32::from(self.receiving)
    }
}

/// A host and the slot of a flow there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address(u32);

impl Address {
    /// The flow in `slot` of `host`.
    #[inline]
    #[must_use]
    pub fn new(host: HostId, slot: u16) -> Address {
        Address(u32::from(host.0) << 16 | u32::from(slot))
    }

    /// From an event's item.
    #[inline]
    #[must_use]
    pub fn from_item(item: u32) -> Address {
        Address(item)
    }

    /// As an event's item.
    #[inline]
    #[must_use]
    pub fn item(self) -> u32 {
        self.0
    }

    /// The host.
    #[inline]
    #[must_use]
    pub fn host(self) -> HostId {
        HostId((self.0 >> 16) as u16)
    }

    /// The slot.
    #[inline]
    #[must_use]
    pub fn slot(self) -> u16 {
        self.0 as u16
    }

    /// The sender of the flow that `packet`, data or ACK, belongs to.
    #[inline]
    #[must_use]
    pub fn of_sender(packet: &PacketMeta) -> Address {
        let host = match packet.notes & PacketMeta::REPLY {
            0 => packet.src(),
            _ => packet.dst(),
        };
        Address::new(host, FlowId::of(packet).sending)
    }
}

/// A flow that is to be opened.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// Its number in the flow table.
    pub number: u32,
    /// Source, destination and port numbers.
    pub tuple: FiveTuple,
    /// Bytes of payload.
    pub bytes: u64,
    /// The uplink that `pinned` gives its data.
    pub path: u16,
    /// The same for what is sent back.
    pub ack_path: u16,
    /// The class (DSCP) of what its source sends; `None`: the transport's.
    pub class: Option<u8>,
}

impl Opening {
    /// The connection that it shares with other messages of a job, if it is one.
    pub(crate) fn connection(&self) -> Option<FiveTuple> {
        (self.number >= FIRST_MESSAGE).then_some(self.tuple)
    }
}

/// A flow's sending side, besides its transport.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// Source, destination and port numbers.
    pub tuple: FiveTuple,
    /// Number in the flow table.
    pub number: u32,
    /// Packets sent.
    pub sent: u32,
    /// Packets that have come back.
    pub got: u32,
    /// Packets of the flow, either way, that have ended on their way: written by the driver.
    pub ended: u32,
    pub(crate) id: FlowId,
    pub(crate) path: u16,
    pub(crate) class: Option<u8>,
    /// Whether a flow is in this slot.
    pub live: bool,
    pub(crate) done: bool,
    /// When the pending retransmission event is due; `Time::MAX` if none is.
    pub(crate) timer: Time,
    /// When a packet of the flow last ended as far as this side knows.
    pub last: Time,
}

/// A flow's receiving side, besides its transport.
#[derive(Clone, Copy, Debug)]
pub struct Receiving {
    /// Source, destination and port numbers.
    pub tuple: FiveTuple,
    /// Number in the flow table.
    pub number: u32,
    /// Packets sent back.
    pub sent: u32,
    /// Packets that have come.
    pub got: u32,
    /// Data packets that have come.
    pub packets: u32,
    pub(crate) id: FlowId,
    pub(crate) path: u16,
    /// Whether a flow is in this slot.
    pub live: bool,
    pub(crate) timer: Time,
    /// When a packet of the flow last came.
    pub last: Time,
}

/// What both ends of a flow under way take, with their timers and what they grow to: the sets of
/// segments that have come out of order.
pub const FLOW_BYTES: u64 = (size_of::<Sending>()
    + size_of::<Receiving>()
    + size_of::<Sender>()
    + size_of::<Receiver>()
    + 3 * size_of::<[u64; 4]>()
    + 2 * 24
    + 128) as u64;

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a packet leads to another flow's sender, or an ACK to the receiver's host.
    #[test]
    fn data_and_acks_have_one_sender() {
        let tuple = FiveTuple::new(HostId(7), HostId(9), 1024, 5001);
        let id = FlowId { sending: 0xabcd, receiving: 3 };
        let data = PacketMeta { tuple, flow: id.bits(), ..PacketMeta::default() };
        let ack = PacketMeta { tuple: tuple.reversed(), notes: PacketMeta::REPLY, ..data };
        assert_eq!(FlowId::of(&data), id);
        let sender = Address::new(HostId(7), 0xabcd);
        assert_eq!([Address::of_sender(&data), Address::of_sender(&ack)], [sender; 2]);
        let back = Address::from_item(sender.item());
        assert_eq!((back.host(), back.slot()), (HostId(7), 0xabcd));
    }
}
