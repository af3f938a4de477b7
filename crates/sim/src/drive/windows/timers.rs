//! The events that one node has scheduled.

use super::wheel::NEVER;
use leafspine_node::Event;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The next few events in order, the others in a heap, and the time of the first beside them. Most
/// of what a busy node schedules is its next event or nearly (a line that becomes idle, a packet
/// that may be sent), and a short list finds its place with fewer guesses of the processor's that
/// fail than a heap does.
pub(super) struct Timers {
    pub(super) first: u64,
    /// The window in which they are noted; [`NEVER`] if in none.
    pub(super) noted: u64,
    /// The last one comes first. None is later than one of the heap.
    near: Vec<Event>,
    far: BinaryHeap<Reverse<Event>>,
}

/// So many events are kept in order.
const NEAR: usize = 16;

impl Default for Timers {
    fn default() -> Timers {
        Timers { first: NEVER, noted: NEVER, near: Vec::new(), far: BinaryHeap::new() }
    }
}

impl Timers {
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        self.first = self.first.min(event.time.0);
        if self.near.len() < NEAR && self.far.is_empty() {
            return self.put_in_order(event);
        }
        match self.near.first() {
            Some(latest) if event.comes_before(*latest) => self.put_in_order(event),
            _ => self.far.push(Reverse(event)),
        }
        if self.near.len() > NEAR {
            self.far.push(Reverse(self.near.remove(0)));
        }
    }

    /// Puts one among those that are in order: near the end, mostly.
    #[inline]
    fn put_in_order(&mut self, event: Event) {
        let earlier = self.near.iter().rev().take_while(|other| other.comes_before(event)).count();
        self.near.insert(self.near.len() - earlier, event);
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<Event> {
        self.near.last().copied()
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        let event = self.near.pop();
        if self.near.is_empty() {
            self.refill();
        }
        self.first = self.near.last().map_or(NEVER, |event| event.time.0);
        event
    }

    /// Puts the heap's first half a list in order.
    #[cold]
    fn refill(&mut self) {
        let next = std::iter::from_fn(|| self.far.pop()).take(NEAR / 2).map(|Reverse(event)| event);
        self.near.extend(next);
        self.near.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafspine_core::Time;
    use leafspine_node::{Class, Key};
    use proptest::prelude::*;

    proptest! {
        /// Breaks if an event gets lost between list and heap, or one comes before another that is due earlier.
        #[test]
        fn events_come_in_order(steps in proptest::collection::vec((0u64..50, 0u32..3, 0usize..3), 1..300)) {
            let (mut timers, mut plain) = (Timers::default(), BinaryHeap::new());
            for (item, (time, id, pops)) in steps.into_iter().enumerate() {
                let event = Event::new(Time(time), Key::new(Class::Nic, id), item as u32);
                timers.push(event);
                plain.push(Reverse(event));
                for _ in 0..pops {
                    let expected = plain.pop().map(|Reverse(event)| event);
                    prop_assert_eq!(timers.peek(), expected);
                    prop_assert_eq!(timers.pop(), expected);
                }
                let first = plain.peek().map_or(NEVER, |Reverse(event)| event.time.0);
                prop_assert_eq!(timers.first, first);
            }
        }
    }
}
