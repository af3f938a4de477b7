//! What a run knows of a flow between two kernels: what their segments say as they pass.

use crate::flow_table::{FlowStats, UNKNOWN};
use leafspine_core::{Ecn, Flags, PacketMeta, Time};
use leafspine_linux::frame::{ACK, CWR, ECE, FIN, RST, SYN, Segment};
use leafspine_linux::orders::TcpInfo;
use leafspine_node::Address;

/// A flow under way.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    /// Its sender.
    pub(crate) sender: Address,
    /// Payload.
    pub(crate) bytes: u64,
    /// Sequence number of its SYN.
    first: Option<u32>,
    /// Beyond the last byte that was sent and acknowledged, from the first.
    high: u64,
    acknowledged: u64,
    /// Where the receiver's FIN is, by its sequence number.
    last_of_receiver: Option<u32>,
    received: Received,
    /// The segments that were sent again.
    pub(crate) retransmits: u32,
    /// ACKs that came and acknowledged nothing new, while something was to be acknowledged.
    pub(crate) dup_acks: u32,
    /// What the sender's kernel said of it last.
    pub(crate) info: TcpInfo,
    /// Whether the sender's application has seen the other end close.
    pub(crate) sent: bool,
    /// Whether the receiver's end has no more to wait for.
    closed: bool,
    /// Where the sender's FIN is, by its sequence number: of a program's connection.
    last: Option<u32>,
    /// Whether such a direction is over, and waits for its last packets.
    pub(crate) closing: bool,
}

/// What has come to a receiver.
#[derive(Clone, Debug, Default)]
struct Received {
    /// All before it is there.
    next: u64,
    /// What is there beyond, in order, with gaps between.
    beyond: Vec<(u64, u64)>,
    /// The beginning of the farthest segment that came.
    farthest: u64,
    reordered: u32,
    duplicates: u32,
}

impl Watch {
    pub(crate) fn new(sender: Address, bytes: u64) -> Watch {
        Watch {
            sender,
            bytes,
            first: None,
            high: 0,
            acknowledged: 0,
            last_of_receiver: None,
            received: Received::default(),
            retransmits: 0,
            dup_acks: 0,
            info: TcpInfo::default(),
            sent: false,
            closed: false,
            last: None,
            closing: false,
        }
    }

    /// Bytes that the receiver's kernel has, in order.
    pub(crate) fn delivered(&self) -> u64 {
        self.received.next.min(self.bytes)
    }

    /// What its row says of both ends. What only the inside of a model's transport shows is not there.
    pub(crate) fn stats(&self) -> FlowStats {
        FlowStats {
            retransmits: self.retransmits,
            timeouts: self.info.timeouts,
            reordered: self.received.reordered,
            dup_acks: self.dup_acks,
            spurious_retransmits: self.received.duplicates,
            undos: UNKNOWN,
            tail_probes: UNKNOWN,
            mean_window: f64::NAN,
            ..FlowStats::default()
        }
    }

    /// Whether nothing more is to be expected of either end.
    pub(crate) fn is_over(&self) -> bool {
        self.sent && self.closed
    }

    /// Whether a segment ends a direction of a program's connection: a reset, or the acknowledgment of its FIN.
    pub(crate) fn ends_with(&mut self, s: &Segment, reply: bool) -> bool {
        if !reply && s.flags & FIN != 0 {
            self.last = Some(s.sequence.wrapping_add(u32::from(s.payload)));
        }
        let acknowledges = |end: u32| s.flags & ACK != 0 && s.acknowledged == end.wrapping_add(1);
        s.flags & RST != 0 || reply && self.last.is_some_and(acknowledges)
    }

    /// How far from the flow's first byte a sequence number is that lies near `near`.
    fn offset(&self, sequence: u32, near: u64) -> u64 {
        let Some(first) = self.first else { return 0 };
        let low = sequence.wrapping_sub(first).wrapping_sub(1);
        let ahead = low.wrapping_sub(near as u32).cast_signed();
        near.saturating_add_signed(i64::from(ahead))
    }

    /// The packet for a segment that one of the ends sends; `mss`: payload of a full one.
    pub(crate) fn leaves(&mut self, s: &Segment, reply: bool, mss: u32, now: Time) -> PacketMeta {
        let mss = u64::from(mss);
        let mut packet = PacketMeta {
            size: s.ip_bytes,
            payload: s.payload,
            flags: flags(s),
            ecn: ecn(s.service),
            class: s.service >> 2,
            stamp: (now.0 >> 16) as u32,
            notes: if reply { PacketMeta::REPLY } else { 0 },
            ..PacketMeta::default()
        };
        if reply {
            if s.flags & FIN != 0 {
                let end = s.sequence.wrapping_add(u32::from(s.payload));
                self.last_of_receiver = Some(end);
            }
            let acknowledged = self.offset(s.acknowledged, self.high);
            packet.seq = acknowledged.min(self.bytes).div_ceil(mss) as u32;
            return packet;
        }
        if s.flags & SYN != 0 {
            if self.first == Some(s.sequence) {
                packet.notes |= PacketMeta::RETRANSMIT;
            } else {
                // Also a program's next connection between the same ports, before the places of the last one are freed.
                let Watch { sender, bytes, closing, .. } = *self;
                let first = Some(s.sequence);
                *self = Watch { first, closing, ..Watch::new(sender, bytes) };
            }
            return packet;
        }
        if s.flags == 0 {
            // No TCP: packets without numbers.
            packet.seq = (self.high / mss) as u32;
            self.high += u64::from(s.payload);
            return packet;
        }
        // Of a direction of a program's connection only the other end may have sent a SYN without an ACK.
        self.first.get_or_insert(s.sequence.wrapping_sub(1));
        let at = self.offset(s.sequence, self.high);
        let segment = if s.payload > 0 { at } else { self.acknowledged.min(self.bytes) };
        packet.seq = (segment / mss) as u32;
        if s.payload > 0 && at < self.high {
            packet.notes |= PacketMeta::RETRANSMIT;
            self.retransmits += 1;
        }
        self.high = self.high.max(at + u64::from(s.payload));
        packet
    }

    /// A segment comes to the sender.
    pub(crate) fn comes_back(&mut self, s: &Segment) {
        let acknowledged = self.offset(s.acknowledged, self.high);
        let pure = s.payload == 0 && s.flags & (SYN | FIN | RST) == 0;
        if acknowledged > self.acknowledged {
            self.acknowledged = acknowledged;
        } else if pure && self.acknowledged < self.high {
            self.dup_acks += 1;
        }
    }

    /// A segment comes to the receiver. Gives how many bytes more its application can have.
    pub(crate) fn arrives(&mut self, s: &Segment, again: bool) -> u64 {
        let closes = |end: u32| s.flags & ACK != 0 && s.acknowledged == end.wrapping_add(1);
        self.closed |= self.last_of_receiver.is_some_and(closes) || s.flags & RST != 0;
        if s.payload == 0 {
            return 0;
        }
        let (from, before) = (self.offset(s.sequence, self.received.next), self.received.next);
        self.received.take(from, from + u64::from(s.payload), again);
        self.received.next - before
    }
}

impl Received {
    fn take(&mut self, from: u64, to: u64, again: bool) {
        if from < self.farthest && !again {
            self.reordered += 1;
        }
        self.farthest = self.farthest.max(from);
        let has = to <= self.next || self.beyond.iter().any(|(a, b)| *a <= from && to <= *b);
        if has {
            self.duplicates += 1;
            return;
        }
        // With what it touches it is one piece.
        let (mut from, mut to) = (from.max(self.next), to);
        self.beyond.retain(|(a, b)| {
            let apart = *b < from || *a > to;
            if !apart {
                (from, to) = (from.min(*a), to.max(*b));
            }
            apart
        });
        if from <= self.next {
            self.next = to;
        } else {
            let at = self.beyond.partition_point(|(a, _)| *a < from);
            self.beyond.insert(at, (from, to));
        }
    }
}

fn ecn(service: u8) -> Ecn {
    match service & 3 {
        0 => Ecn::NotCapable,
        3 => Ecn::Congested,
        _ => Ecn::Capable,
    }
}

fn flags(s: &Segment) -> Flags {
    const SAME: [(u8, Flags); 6] = [
        (SYN, Flags::SYN),
        (ACK, Flags::ACK),
        (FIN, Flags::FIN),
        (RST, Flags::RST),
        (ECE, Flags::ECE),
        (CWR, Flags::CWR),
    ];
    let data = if s.payload > 0 { Flags::DATA } else { Flags::default() };
    SAME.iter().filter(|(bit, _)| s.flags & bit != 0).fold(data, |all, (_, one)| all.with(*one))
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
