//! Small queues: how much of a flow may wait in its host's port (Linux: `tcp_small_queue_check`).
//!
//! What does not fit waits in the sender, where it takes no place of others: two trains, or what the flow sends in a
//! millisecond, a megabyte at most. The device's driver hears that packets have left when three quarters of those have that were in the
//! port when the last one came (virtio: `virtqueue_enable_cb_delayed`), or when the next one comes; from then on of each. When it has
//! heard so, the sender is asked again.

use super::TcpConfig;
use super::sender::Sender;
use leafspine_core::Time;
use std::collections::VecDeque;

/// What a kernel's memory for a piece of data counts beyond the data, in bytes: a head of 640 and the 256 of its description
/// (`SKB_TRUESIZE`). A train is one piece until it is cut for the device, then each segment is one.
const BEYOND: u64 = 896;
/// Segments of which a train has no more, for what it counts beyond its data.
const WHOLE: u64 = 45;
/// A device's ring takes so many segments, which are cut; what waits before it is not.
const RING: u64 = 256;
/// Trains that fit however slow the flow is.
const TRAINS: u64 = 2;
/// Bytes that fit however fast it is, unless its packets are paced (Linux: `tcp_limit_output_bytes`).
const MOST: u64 = 1 << 20;

/// What of a flow is in the port.
#[derive(Debug)]
pub(super) struct Backlog {
    /// When each packet will have left, the first to leave first; of some the driver has not heard yet.
    leaves: VecDeque<Time>,
    /// When it hears next.
    heard: Time,
    /// A train has to wait for the first of them.
    full: bool,
}

impl Default for Backlog {
    fn default() -> Backlog {
        Backlog { leaves: VecDeque::new(), heard: Time::MAX, full: false }
    }
}

impl Backlog {
    /// Another flow's; keeps the heap memory.
    pub(super) fn reset(&mut self) {
        self.leaves.clear();
        self.heard = Time::MAX;
        self.full = false;
    }

    /// The driver hears of all that have left by now.
    fn hear(&mut self, now: Time) {
        while self.leaves.front().is_some_and(|at| *at <= now) {
            self.leaves.pop_front();
        }
        self.heard = self.leaves.front().copied().unwrap_or(Time::MAX);
    }

    /// A packet comes into the port, which it leaves at `at`.
    fn comes(&mut self, at: Time, now: Time) {
        self.hear(now);
        self.leaves.push_back(at);
        self.heard = self.leaves[3 * self.leaves.len() / 4];
    }

    /// When the sender wants to be asked again, if it waits.
    pub(super) fn until(&self) -> Option<Time> {
        self.full.then_some(self.heard)
    }

    /// The sender waits no longer.
    pub(super) fn look_again(&mut self) {
        self.full = false;
    }

    /// Whether a train of so many segments has to wait; `rate`: bytes that the flow sends in a millisecond.
    fn is_full(&mut self, cfg: &TcpConfig, train: u32, rate: u64, now: Time) -> bool {
        if self.heard <= now {
            self.hear(now);
        }
        let mss = u64::from(cfg.mss);
        let most = if cfg.paced { u64::MAX } else { MOST };
        let limit = rate.max(TRAINS * (u64::from(train) * mss + BEYOND)).min(most);
        let there = self.leaves.len() as u64;
        let cut = there.min(RING);
        self.full = cut * (mss + BEYOND) + (there - cut) * (mss + BEYOND / WHOLE) > limit;
        self.full
    }
}

impl Sender {
    /// The packet that was sent now will have left the host's port at `at`.
    pub(crate) fn note_leaving(&mut self, at: Time, now: Time) {
        if let Some(x) = &mut self.extra {
            x.backlog.comes(at, now);
        }
    }

    /// Whether a train of `segments` has to wait for the port. One that follows no more than one other never has.
    pub(super) fn waits_for_port(&mut self, cfg: &TcpConfig, segments: u32, now: Time) -> bool {
        let rate = self.in_a_millisecond();
        let una = self.una;
        let Some(x) = &mut self.extra else { return false };
        let full = x.backlog.is_full(cfg, segments, rate, now);
        if full && x.train.is_first(una) {
            x.backlog.look_again();
            return false;
        }
        if full {
            self.deadline = x.deadline();
        }
        full
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafspine_core::Span;

    /// By hand: of five packets, which leave at 1 to 5 us, the driver hears when three quarters and one more have left, 4; then of each. With another
    /// packet at 2.5 us it hears at once of two, and of the four that are left then when all have.
    ///
    /// Breaks if it hears sooner or later.
    #[test]
    fn what_the_driver_hears() {
        let at = |ns| Time::ZERO + Span::from_nanos(ns);
        let five = || {
            let mut backlog = Backlog { full: true, ..Backlog::default() };
            (1..=5).for_each(|us| backlog.comes(at(1_000 * us), at(0)));
            backlog
        };
        let mut backlog = five();
        assert_eq!(backlog.until(), Some(at(4_000)));
        backlog.hear(at(4_000));
        assert_eq!((backlog.until(), backlog.leaves.len()), (Some(at(5_000)), 1));
        let mut backlog = five();
        backlog.comes(at(6_000), at(2_500));
        assert_eq!((backlog.until(), backlog.leaves.len()), (Some(at(6_000)), 4));
    }
}
