//! The events that one node has scheduled.

use super::super::Bound;
use super::wheel::NEVER;
use leafspine_core::Time;
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
    /// So many of `near` are there.
    count: usize,
    /// The last one comes first. None is later than one of the heap.
    near: [Event; NEAR + 1],
    far: BinaryHeap<Reverse<Event>>,
}

/// So many events are kept in order, and one more for a moment.
const NEAR: usize = 16;

impl Default for Timers {
    fn default() -> Timers {
        let nothing = Event::from_tag(Time(NEVER), 0);
        let (near, far) = ([nothing; NEAR + 1], BinaryHeap::new());
        Timers { first: NEVER, noted: NEVER, count: 0, near, far }
    }
}

impl Timers {
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        self.first = self.first.min(event.time.0);
        let near = match self.far.is_empty() {
            true => self.count < NEAR || event.comes_before(self.near[0]),
            false => event.comes_before(self.near[0]),
        };
        if !near {
            return self.far.push(Reverse(event));
        }
        let mut at = self.count;
        while at > 0 && self.near[at - 1].comes_before(event) {
            self.near[at] = self.near[at - 1];
            at -= 1;
        }
        self.near[at] = event;
        self.count += 1;
        if self.count > NEAR {
            self.far.push(Reverse(self.near[0]));
            self.near.copy_within(1.., 0);
            self.count = NEAR;
        }
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<Event> {
        self.near[..self.count].last().copied()
    }

    /// Takes the first event, if it comes before `bound`.
    #[inline(always)]
    pub(super) fn pop_before(&mut self, bound: Bound) -> Option<Event> {
        if self.first > bound.0.0 {
            return None;
        }
        let event = self.peek()?;
        let before = event.time < bound.0 || event.key() < bound.1;
        if before {
            self.drop_first();
        }
        before.then_some(event)
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        let event = self.peek()?;
        self.drop_first();
        Some(event)
    }

    #[inline(always)]
    fn drop_first(&mut self) {
        self.count -= 1;
        if self.count == 0 {
            self.refill();
        }
        self.first = self.peek().map_or(NEVER, |event| event.time.0);
    }

    /// Puts the heap's first half a list in order.
    #[cold]
    fn refill(&mut self) {
        let next = std::iter::from_fn(|| self.far.pop()).take(NEAR / 2);
        for Reverse(event) in next {
            self.near[self.count] = event;
            self.count += 1;
        }
        self.near[..self.count].reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
