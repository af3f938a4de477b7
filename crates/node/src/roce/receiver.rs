//! The receiving side of a queue pair.

use super::config::ACK_BYTES;
use super::{ASKS, NAK, Recovery, RoceConfig};
use crate::transport::{Assembly, Received};
use leafspine_core::{Ecn, Flags, PacketMeta, SackBlock, Time};

/// A queue pair's receiving side.
#[derive(Debug, Default)]
pub struct Receiver {
    /// What has come.
    pub(crate) assembly: Assembly,
    /// A NAK has been sent for the gap before `expected`.
    nak_sent: bool,
    /// A packet was marked since the last answer.
    marked: bool,
    /// Packets below this are answered one by one: a header without payload that asks for an
    /// acknowledgment has overtaken them.
    prompt_below: u32,
    /// The time from which on its queue pair may send a CNP, by the network card's number.
    pub(crate) pair: u32,
}

impl Receiver {
    /// Makes this the receiver of another flow, and keeps the heap memory.
    pub fn reset(&mut self) {
        self.assembly.reset();
        (self.nak_sent, self.marked, self.prompt_below) = (false, false, 0);
    }

    /// Whether the whole message has come.
    pub(crate) fn is_complete(&self) -> bool {
        self.assembly.complete()
    }

    /// A data packet has come. `notify_at`: from when on the queue pair may send a CNP. `reply` is
    /// written only if it is to be sent.
    pub fn on_packet(
        &mut self,
        cfg: &RoceConfig,
        notify_at: &mut Time,
        p: &PacketMeta,
        now: Time,
        reply: &mut PacketMeta,
    ) -> Received {
        if p.notes & PacketMeta::TRIMMED != 0 {
            return self.on_trimmed(cfg, notify_at, p, now, reply);
        }
        self.marked |= p.ecn == Ecn::Congested;
        let mut seen = Received { notify: notifies(cfg, notify_at, p, now), ..Received::default() };
        seen.reordered = self.assembly.note(p);
        let each = cfg.spec.recovery == Recovery::Each;
        let selective = each || matches!(cfg.spec.recovery, Recovery::Selective { .. });
        let flags = if p.seq == self.assembly.expected() {
            let fills = self.nak_sent || self.assembly.has_gap();
            self.nak_sent = false;
            (seen.delivered, seen.complete_now) = self.assembly.take(cfg.mss);
            let asked = p.flags.has(ASKS) || p.seq < self.prompt_below;
            let asks = asked || fills || seen.complete_now;
            asks.then_some(Flags::ACK)
        } else if p.seq < self.assembly.expected() {
            seen.duplicate = true;
            Some(Flags::ACK)
        } else {
            // Once for each gap, or for each packet beyond it; IRN tells of each packet that comes
            // out of order, also of one that has come before: its NAK may be lost.
            seen.duplicate = selective && !self.assembly.hold(p.seq);
            let first = !selective && !std::mem::replace(&mut self.nak_sent, true);
            let tells = selective || first || cfg.spec.nak_each;
            tells.then_some(if each { Flags::ACK } else { NAK })
        };
        self.assembly.count_duplicate(seen.duplicate);
        if let Some(flags) = flags {
            self.write(cfg, p, flags, reply);
            seen.reply = true;
        }
        seen
    }

    /// A header has come without its payload: that is reported, unless the packet has come before.
    /// Headers overtake data. If the packet was to ask for an acknowledgment of those before it, the
    /// request has come all the same (Ultra Ethernet's packets have a flag for it, too): none of them
    /// waits for another, as the sender, whose window may be full, waits for them.
    fn on_trimmed(
        &mut self,
        cfg: &RoceConfig,
        notify_at: &mut Time,
        p: &PacketMeta,
        now: Time,
        reply: &mut PacketMeta,
    ) -> Received {
        let flags = if self.assembly.has(p.seq) { Flags::ACK } else { NAK };
        if p.flags.has(ASKS) {
            self.prompt_below = self.prompt_below.max(p.seq);
        }
        // A NAK tells the sender's control of its loss and of nothing else: the mark of a packet
        // before it waits for an acknowledgment.
        let waits = flags == NAK && std::mem::take(&mut self.marked);
        self.write(cfg, p, flags, reply);
        self.marked |= waits;
        let notify = notifies(cfg, notify_at, p, now);
        Received { notify, reply: true, ..Received::default() }
    }

    /// An answer: what is expected, and of IRN's NAKs the packet that came (§3.1); packet by
    /// packet, which one it is about.
    fn write(&mut self, cfg: &RoceConfig, p: &PacketMeta, flags: Flags, reply: &mut PacketMeta) {
        reply.seq = self.assembly.expected();
        reply.stamp = p.stamp;
        reply.sack[1] = p.sack[1];
        reply.size = (cfg.header + ACK_BYTES) as u16;
        reply.flags = flags;
        reply.class = cfg.spec.classes.1;
        if std::mem::take(&mut self.marked) && cfg.spec.control.asks_for_marks() {
            reply.flags = flags.with(Flags::ECE);
        }
        if flags == NAK || cfg.spec.recovery == Recovery::Each {
            reply.sack[0] = SackBlock { start: p.seq, end: p.seq + 1 };
        }
    }
}

/// DCQCN's notification point: the first marked (or trimmed) packet, and then at most one an interval (§3.1).
fn notifies(cfg: &RoceConfig, notify_at: &mut Time, p: &PacketMeta, now: Time) -> bool {
    let Some(dcqcn) = cfg.spec.control.dcqcn() else { return false };
    let congested = p.ecn == Ecn::Congested || p.notes & PacketMeta::TRIMMED != 0;
    let notifies = congested && now >= *notify_at;
    if notifies {
        *notify_at = now + dcqcn.cnp_interval;
    }
    notifies
}
