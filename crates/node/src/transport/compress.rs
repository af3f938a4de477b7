//! ACKs that tell of segments beyond a gap, put off for a moment (Linux: `tcp_comp_sack_delay_ns`, `tcp_comp_sack_nr`).
//!
//! The first three go at once, so that a loss is found as soon as ever; what comes then shares ACKs.

use super::TcpConfig;
use super::config::since_stamp;
use super::growth::Growth;
use super::receiver::Receiver;
use leafspine_core::{Flags, PacketMeta, SackBlock, Span, Time};

/// ACKs that are not put off after each that acknowledges something new.
const AT_ONCE: u8 = 3;
/// Segments that share an ACK at most.
const MOST: u8 = 44;
/// A part of the round trip, no more than this, and what the kernel's timer takes longer.
const PART: u64 = 20;
const LONGEST: Span = Span::from_millis(1);
const SLACK: Span = Span::from_micros(100);

/// How far it is with that.
#[derive(Debug, Default)]
pub(super) struct Compressed {
    /// When the SYN-ACK was sent, and then the round trip of the handshake.
    time: u64,
    measured: bool,
    /// How long before the first answer was sent the SYN-ACK had been: the way from here to the sender.
    back: u64,
    /// ACKs that went at once since the receiver expected this segment.
    sent: u8,
    expected: u32,
    /// Segments that wait for an ACK.
    waiting: u8,
    /// How the window grows (`growth_acks`).
    pub(super) growth: Growth,
}

impl Compressed {
    /// Something has come: a SYN, which is answered at once, or what follows the answer.
    pub(super) fn heard(&mut self, p: &PacketMeta, now: Time) {
        if p.flags.has(Flags::SYN) {
            (self.time, self.measured) = (now.0, false);
        } else if !self.measured && self.time > 0 {
            (self.time, self.measured) = (now.0 - self.time, true);
            self.back = self.time.saturating_sub(since_stamp(now, p.stamp).0);
        }
    }

    /// When that was sent from here which the sender of `p` had last heard, as its timestamp would
    /// tell; an ACK waits in no queue.
    pub(super) fn echoed_by(&self, p: &PacketMeta, now: Time) -> Time {
        Time(now.0.saturating_sub(since_stamp(now, p.stamp).0 + self.back))
    }

    /// The round trip of the handshake; zero before it is over.
    pub(super) fn round_trip(&self) -> Span {
        if self.measured { Span(self.time) } else { Span::ZERO }
    }

    /// An ACK is sent.
    pub(super) fn sent(&mut self) {
        self.waiting = 0;
    }

    /// How long an ACK may wait.
    fn delay(&self) -> Span {
        Span((self.round_trip().0 / PART).min(LONGEST.0)) + SLACK
    }

    /// Whether segments wait for an ACK.
    pub(super) fn waits(&self) -> bool {
        self.waiting > 0
    }

    /// A segment has come and left a gap, before which `expected` is the next; gives until when its ACK may wait.
    pub(super) fn puts_off(&mut self, expected: u32, now: Time) -> Option<Time> {
        if self.waiting >= MOST {
            return None;
        }
        if self.expected != expected {
            (self.expected, self.sent) = (expected, 0);
        }
        if self.sent < AT_ONCE {
            self.sent += 1;
            return None;
        }
        self.waiting += 1;
        Some(now + self.delay())
    }
}

/// Blocks that an ACK surely has room for.
const SURE: usize = 2;

impl Receiver {
    /// Whether an ACK that waits goes before `segment` is taken, since that would move a block to
    /// where it may not be reported: it opens another one, or touches one that is there already.
    pub(super) fn must_tell(&self, segment: u32) -> bool {
        let waits = self.compressed.as_ref().is_some_and(|compressed| compressed.waits());
        if !waits || segment < self.assembly.expected() {
            return false;
        }
        let blocks = self.blocks.iter().filter(|block| block.end > block.start);
        let touched = |block: &&SackBlock| block.start <= segment + 1 && segment <= block.end;
        match blocks.clone().position(|block| touched(&block)) {
            Some(place) => place >= SURE,
            None => blocks.count() >= SURE,
        }
    }

    /// Whether the ACK for a segment that leaves a gap waits: not for a duplicate, nor while ACKs are quick.
    pub(super) fn compresses(
        &mut self,
        cfg: &TcpConfig,
        duplicate: bool,
        delivered: u32,
        now: Time,
    ) -> bool {
        let gap = self.assembly.has_gap();
        let quick = cfg.delayed_ack.is_some() && self.is_quick();
        if !cfg.stack.comp_sack || !gap || duplicate || delivered > cfg.mss || quick {
            return false;
        }
        let expected = self.assembly.expected();
        match self.compressed.as_mut().and_then(|compressed| compressed.puts_off(expected, now)) {
            Some(at) => {
                self.deadline = self.deadline.min(at);
                true
            }
            None => false,
        }
    }
}
