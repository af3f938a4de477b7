//! The general port: real queues, a scheduler, and an event when the line falls free.
//!
//! It serves what the one-event port cannot: several service queues, decisions at dequeue, shared
//! buffers, links that change, ingress holds.

use super::scheduler::{Head, Scheduler, Turn};
use crate::pool::Handle;
use leafspine_core::{Pace, Span, Time};
use leafspine_schemes::Backlog;
use std::collections::VecDeque;

/// A packet in a queue: two whole words, because a copy of a struct with smaller fields that have
/// just been written waits for them (`calendar::Node` likewise).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub(crate) since: Time,
    /// The handle above the size above one bit, `counted`.
    what: u64,
}

impl Queued {
    #[inline]
    pub(crate) fn new(handle: Handle, size: u32, since: Time, counted: bool) -> Queued {
        Queued { since, what: u64::from(handle) << 32 | u64::from(size) << 1 | u64::from(counted) }
    }

    #[inline]
    pub(crate) fn handle(self) -> Handle {
        (self.what >> 32) as Handle
    }

    #[inline]
    pub(crate) fn size(self) -> u32 {
        self.what as u32 >> 1
    }

    /// Whether it was accepted while the measurement window was open.
    #[inline]
    pub(crate) fn counted(self) -> bool {
        self.what & 1 == 1
    }
}

#[derive(Debug, Default)]
struct ServiceQueue {
    packets: VecDeque<Queued>,
    bytes: u32,
}

/// See the module's text.
#[derive(Debug)]
pub(crate) struct GeneralPort {
    pub(crate) busy_until: Time,
    pub(crate) pace: Pace,
    /// Whether an event is pending for `busy_until`.
    pub(crate) wake_pending: bool,
    scheduler: Scheduler,
    queues: Vec<ServiceQueue>,
    total: Backlog,
    /// Packets on the wire, oldest first; kept only for links that go down.
    pub(crate) on_wire: Option<VecDeque<Handle>>,
    /// No arrival at the other end may be earlier than this: packets do not overtake.
    pub(crate) last_arrival: Time,
}

impl GeneralPort {
    pub(crate) fn new(pace: Pace, queues: u8, scheduler: Scheduler) -> GeneralPort {
        GeneralPort {
            busy_until: Time::ZERO,
            pace,
            wake_pending: false,
            scheduler,
            queues: (0..queues).map(|_| ServiceQueue::default()).collect(),
            total: Backlog::default(),
            on_wire: None,
            last_arrival: Time::ZERO,
        }
    }

    pub(crate) fn queues(&self) -> usize {
        self.queues.len()
    }

    /// What waits in all queues.
    #[inline]
    pub(crate) fn backlog(&self, now: Time) -> Backlog {
        let in_service = if now < self.busy_until { self.total.in_service } else { 0 };
        Backlog { in_service, ..self.total }
    }

    /// What waits in one queue. The packet in service is reported with every queue.
    #[inline]
    pub(crate) fn queue(&self, queue: usize, now: Time) -> Backlog {
        let own = &self.queues[queue];
        Backlog {
            packets: own.packets.len() as u32,
            bytes: own.bytes,
            in_service: self.backlog(now).in_service,
        }
    }

    /// When the line would have sent all that is queued, at its present rate.
    pub(crate) fn free_at(&self, now: Time) -> Time {
        let mut pace = self.pace.clone();
        self.busy_until.max(now) + pace.take(self.total.bytes)
    }

    #[inline]
    pub(crate) fn push(&mut self, queue: usize, packet: Queued) {
        let own = &mut self.queues[queue];
        own.packets.push_back(packet);
        own.bytes += packet.size();
        self.total.packets += 1;
        self.total.bytes += packet.size();
    }

    /// Takes the packet that the scheduler would send next, and the turn that ended with it.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time) -> (Option<(usize, Queued)>, Option<Turn>) {
        let queues = &self.queues;
        let head = |q: usize| Head { size: queues[q].packets.front().map_or(0, |p| p.size()) };
        let (choice, turn) = self.scheduler.choose(now, head, queues.len());
        let taken = choice.map(|queue| {
            let own = &mut self.queues[queue];
            let packet = own.packets.pop_front().expect("schedulers choose queues with packets");
            own.bytes -= packet.size();
            self.total.packets -= 1;
            self.total.bytes -= packet.size();
            (queue, packet)
        });
        (taken, turn)
    }

    /// Puts a packet on the line, which must be free. Returns the time it takes.
    #[inline]
    pub(crate) fn transmit(&mut self, now: Time, size: u32) -> Span {
        debug_assert!(now >= self.busy_until, "a line sends one packet at a time");
        let span = self.pace.take(size);
        self.busy_until = now + span;
        self.total.in_service = size;
        span
    }

    /// Empties all queues (the link has gone down).
    pub(crate) fn flush(&mut self) -> impl Iterator<Item = Queued> {
        self.total.packets = 0;
        self.total.bytes = 0;
        self.queues.iter_mut().flat_map(|queue| {
            queue.bytes = 0;
            queue.packets.drain(..)
        })
    }

    /// The packets that wait now, all queues.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Queued> {
        self.queues.iter().flat_map(|queue| queue.packets.iter())
    }
}
