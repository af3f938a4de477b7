//! The receiving side of a queue pair.

use super::config::ACK_BYTES;
use super::{ASKS, NAK, Recovery, RoceConfig};
use crate::transport::{Received, SegmentSet};
use leafspine_core::{Ecn, Flags, PacketMeta, SackBlock, Time};

/// A queue pair's receiving side.
#[derive(Debug, Default)]
pub struct Receiver {
    /// The next packet in order.
    expected: u32,
    /// One past the highest packet seen.
    next: u32,
    /// One past the last packet; 0 until it has been seen.
    end: u32,
    last_payload: u16,
    /// The gap before `expected` has been told of.
    told: bool,
    /// When a CNP may be sent next.
    notify_at: Time,
    delivered: u64,
    held: SegmentSet,
    reordered: u32,
    duplicates: u32,
}

impl Receiver {
    /// Makes this the receiver of another flow, and keeps the heap memory.
    pub fn reset(&mut self) {
        let mut held = std::mem::take(&mut self.held);
        held.clear();
        *self = Receiver { held, ..Receiver::default() };
    }

    /// A data packet has come. `reply` is written only if it is to be sent.
    pub fn on_packet(
        &mut self,
        cfg: &RoceConfig,
        p: &PacketMeta,
        now: Time,
        reply: &mut PacketMeta,
    ) -> Received {
        let mut seen = Received { notify: self.notifies(cfg, p, now), ..Received::default() };
        if p.flags.has(Flags::FIN) {
            (self.end, self.last_payload) = (p.seq + 1, p.payload);
        }
        if p.seq < self.next {
            seen.reordered = p.notes & PacketMeta::RETRANSMIT == 0;
            self.reordered += u32::from(seen.reordered);
        } else {
            self.next = p.seq + 1;
        }
        let selective = matches!(cfg.spec.recovery, Recovery::Selective { .. });
        let flags = if p.seq == self.expected {
            let fills = self.told || !self.held.is_empty();
            self.take(cfg, p.seq, &mut seen);
            let asks = p.flags.has(ASKS) || fills || seen.complete_now;
            asks.then_some(Flags::ACK)
        } else if p.seq < self.expected {
            seen.duplicate = true;
            Some(Flags::ACK)
        } else {
            // Once for each gap; IRN tells of each packet that comes out of order, also of one that has come before: the NAK that
            // told of it may be lost.
            seen.duplicate = selective && !self.hold(p.seq);
            let tells = selective || !std::mem::replace(&mut self.told, true);
            tells.then_some(NAK)
        };
        self.duplicates += u32::from(seen.duplicate);
        if let Some(flags) = flags {
            self.write(cfg, p, flags, reply);
            seen.reply = true;
        }
        seen
    }

    /// DCQCN's notification point: the first marked packet, and then at most one an interval (§3.1).
    fn notifies(&mut self, cfg: &RoceConfig, p: &PacketMeta, now: Time) -> bool {
        let Some(dcqcn) = &cfg.spec.dcqcn else { return false };
        let notifies = p.ecn == Ecn::Congested && now >= self.notify_at;
        if notifies {
            self.notify_at = now + dcqcn.cnp_interval;
        }
        notifies
    }

    /// Takes the packet that was expected, and what is held behind it.
    fn take(&mut self, cfg: &RoceConfig, seq: u32, seen: &mut Received) {
        self.told = false;
        self.expected = seq + 1;
        if !self.held.is_empty() {
            self.expected = self.held.first_absent(seq + 1);
            self.held.remove_below(seq, self.expected);
        }
        seen.complete_now = self.expected == self.end;
        seen.delivered = (self.expected - seq) * cfg.mss;
        if seen.complete_now {
            seen.delivered -= cfg.mss - u32::from(self.last_payload);
        }
        self.delivered += u64::from(seen.delivered);
    }

    /// Keeps a packet that is not the next. Whether it is new.
    fn hold(&mut self, seq: u32) -> bool {
        self.held.insert(self.expected, seq, seq + 1) > 0
    }

    /// An answer: what is expected, and of IRN's NAKs the packet that came (§3.1).
    fn write(&self, cfg: &RoceConfig, p: &PacketMeta, flags: Flags, reply: &mut PacketMeta) {
        reply.seq = self.expected;
        reply.stamp = p.stamp;
        reply.size = (cfg.header + ACK_BYTES) as u16;
        reply.flags = flags;
        reply.class = cfg.spec.classes.1;
        if flags == NAK {
            reply.sack[0] = SackBlock { start: p.seq, end: p.seq + 1 };
        }
    }

    /// The next packet in order.
    #[must_use]
    pub fn expected(&self) -> u32 {
        self.expected
    }

    /// Bytes given to the application.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Packets that came after a later one, retransmissions not counted.
    #[must_use]
    pub fn reordered(&self) -> u32 {
        self.reordered
    }

    /// Packets that had come before.
    #[must_use]
    pub fn duplicates(&self) -> u32 {
        self.duplicates
    }
}
