//! The events that one node has scheduled.

use super::wheel::NEVER;
use leafspine_node::Event;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A small heap, and the time of its first event beside it.
pub(super) struct Timers {
    pub(super) first: u64,
    /// The window in which they are noted; [`NEVER`] if in none.
    pub(super) noted: u64,
    heap: BinaryHeap<Reverse<Event>>,
}

impl Default for Timers {
    fn default() -> Timers {
        Timers { first: NEVER, noted: NEVER, heap: BinaryHeap::new() }
    }
}

impl Timers {
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        self.first = self.first.min(event.time.0);
        self.heap.push(Reverse(event));
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<Event> {
        self.heap.peek().map(|Reverse(event)| *event)
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        let event = self.heap.pop();
        self.first = self.heap.peek().map_or(NEVER, |Reverse(event)| event.time.0);
        event.map(|Reverse(event)| event)
    }
}
