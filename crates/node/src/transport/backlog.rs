//! Small queues: how much of a flow may wait in its host's port (Linux: `tcp_small_queue_check`).
//!
//! What does not fit waits in the sender, where it takes no place of others: two trains, or what the flow sends in a
//! millisecond, a megabyte at most. When a packet has left the port, the sender is asked again.

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
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// When each packet will have left, the first to leave first.
    leaves: VecDeque<Time>,
    /// A train has to wait for the first of them.
    full: bool,
}

impl Backlog {
    /// Another flow's; keeps the heap memory.
    pub(super) fn reset(&mut self) {
        self.leaves.clear();
        self.full = false;
    }

    /// When the sender wants to be asked again, if it waits.
    pub(super) fn until(&self) -> Option<Time> {
        if self.full { self.leaves.front().copied() } else { None }
    }

    /// The sender waits no longer.
    pub(super) fn look_again(&mut self) {
        self.full = false;
    }

    /// Whether a train of so many segments has to wait; `rate`: bytes that the flow sends in a millisecond.
    fn is_full(&mut self, cfg: &TcpConfig, train: u32, rate: u64, now: Time) -> bool {
        while self.leaves.front().is_some_and(|at| *at <= now) {
            self.leaves.pop_front();
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
    /// The packet that was sent last will have left the host's port at `at`.
    pub(crate) fn note_leaving(&mut self, at: Time) {
        if let Some(x) = &mut self.extra {
            x.backlog.leaves.push_back(at);
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
