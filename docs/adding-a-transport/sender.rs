//! The sending side of a flow.

use super::{SteadyConfig, WINDOW};
use crate::transport::{AckOutcome, Fired, since_stamp, stamp};
use leafspine_core::{Flags, PacketMeta, Time};

/// A flow's sending side.
#[derive(Debug)]
pub struct Sender {
    total: u32,
    last_payload: u16,
    /// The oldest packet that is not acknowledged, the next to send, and one past the highest sent.
    una: u32,
    nxt: u32,
    high: u32,
    deadline: Time,
    retransmits: u32,
    timeouts: u32,
    dup_acks: u32,
}

impl Default for Sender {
    fn default() -> Sender {
        Sender {
            total: 0,
            last_payload: 0,
            una: 0,
            nxt: 0,
            high: 0,
            deadline: Time::MAX,
            retransmits: 0,
            timeouts: 0,
            dup_acks: 0,
        }
    }
}

impl Sender {
    /// Makes this the sender of a flow of `bytes`.
    pub fn reset(&mut self, cfg: &SteadyConfig, bytes: u64) {
        let mss = u64::from(cfg.mss);
        let total = bytes.div_ceil(mss).max(1);
        *self = Sender {
            total: total as u32,
            last_payload: (bytes - (total - 1) * mss) as u16,
            ..Sender::default()
        };
    }

    /// Writes the next packet, if one may be sent.
    #[inline]
    pub fn poll_send(&mut self, cfg: &SteadyConfig, now: Time, out: &mut PacketMeta) -> bool {
        if self.nxt >= self.total || self.nxt - self.una >= WINDOW {
            return false;
        }
        let (seq, last) = (self.nxt, self.nxt + 1 == self.total);
        let repeat = seq < self.high;
        self.nxt += 1;
        self.high = self.high.max(self.nxt);
        self.retransmits += u32::from(repeat);
        out.seq = seq;
        out.stamp = stamp(now);
        out.payload = if last { self.last_payload } else { cfg.mss as u16 };
        out.size = out.payload + cfg.header as u16;
        out.flags = if last { Flags::DATA.with(Flags::FIN) } else { Flags::DATA };
        out.notes = if repeat { PacketMeta::RETRANSMIT } else { 0 };
        if self.deadline == Time::MAX {
            self.deadline = now + cfg.spec.timeout;
        }
        true
    }

    /// An acknowledgment has come.
    #[inline]
    pub fn on_packet(&mut self, cfg: &SteadyConfig, p: &PacketMeta, now: Time) -> AckOutcome {
        if p.seq <= self.una {
            self.dup_acks += u32::from(p.seq == self.una && self.una < self.high);
            return AckOutcome::default();
        }
        let acked = p.seq - self.una;
        self.una = p.seq;
        // After a timeout what was under way may arrive all the same.
        self.nxt = self.nxt.max(self.una);
        let waits = self.una < self.high;
        self.deadline = if waits { now + cfg.spec.timeout } else { Time::MAX };
        AckOutcome {
            acked,
            rtt: Some(since_stamp(now, p.stamp)),
            finished: self.una == self.total,
            fast_retransmit: false,
        }
    }

    /// The time has come, or not: an early call does nothing.
    pub fn on_timer(&mut self, cfg: &SteadyConfig, now: Time) -> Fired {
        if now < self.deadline {
            return Fired::Nothing;
        }
        self.timeouts += 1;
        self.nxt = self.una;
        self.deadline = now + cfg.spec.timeout;
        Fired::Timeout
    }

    /// When [`Sender::on_timer`] is to be called; `Time::MAX`: not at all.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Bytes that it may have under way: the window, or as much as there is.
    #[must_use]
    pub fn window(&self, cfg: &SteadyConfig) -> u32 {
        WINDOW.min(self.total).saturating_mul(cfg.mss)
    }

    /// Bytes that are under way, as far as it knows.
    #[must_use]
    pub fn in_flight(&self, cfg: &SteadyConfig) -> u32 {
        (self.nxt - self.una).saturating_mul(cfg.mss)
    }

    /// Whether all packets have been sent once.
    #[inline]
    pub(crate) fn has_sent_all(&self) -> bool {
        self.high == self.total
    }

    /// Packets sent again.
    #[must_use]
    pub fn retransmits(&self) -> u32 {
        self.retransmits
    }

    /// Timeouts.
    #[must_use]
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Acknowledgments of nothing new while something was under way.
    #[must_use]
    pub fn dup_acks(&self) -> u32 {
        self.dup_acks
    }
}
