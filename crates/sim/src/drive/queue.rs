//! The calendar: what happens next.
//!
//! A ring of buckets, each a slice of time, holds the near future; a binary heap holds the rest.
//! The bucket that time stands in is kept sorted; the others are unsorted lists. A bitmap finds
//! the next bucket that has anything. Storage is reused, so a run allocates only while it warms up.

use leafspine_core::Time;
use leafspine_node::{Event, Key, prefetch};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NONE: u32 = u32::MAX;

/// An event in a bucket's list. Written word by word: a copy of a struct that has just been put
/// together from words stalls until they have reached the cache.
#[derive(Clone, Copy)]
struct Node {
    time: u64,
    tag: u64,
    next: u32,
}

/// The pending events. See the module's text.
pub(crate) struct Calendar {
    /// Events of the bucket that time stands in, latest first.
    current: Vec<Event>,
    /// Number of that bucket since the start of time.
    cursor: u64,
    /// A bucket is `2^shift` ps wide.
    shift: u32,
    /// Heads of the buckets' lists; a power of two of them, a multiple of 64.
    heads: Vec<u32>,
    /// One bit a bucket: whether its list has anything.
    occupied: Vec<u64>,
    /// Events in the ring, `current` not counted.
    in_ring: usize,
    nodes: Vec<Node>,
    free: u32,
    far: BinaryHeap<Reverse<Event>>,
    /// How far [`Calendar::foresee`] has come in the list of the next bucket.
    foreseen: u32,
}

impl Calendar {
    /// A calendar with buckets of about `width_ps`, `buckets` of them (rounded up to powers of two).
    pub(crate) fn new(width_ps: u64, buckets: usize) -> Calendar {
        let buckets = buckets.next_power_of_two().max(64);
        Calendar {
            current: Vec::with_capacity(64),
            cursor: 0,
            shift: width_ps.max(1).next_power_of_two().trailing_zeros(),
            heads: vec![NONE; buckets],
            occupied: vec![0; buckets / 64],
            in_ring: 0,
            nodes: Vec::with_capacity(1024),
            free: NONE,
            far: BinaryHeap::new(),
            foreseen: NONE,
        }
    }

    /// Adds an event. It may be at the present instant, not before.
    #[inline(always)]
    pub(crate) fn push(&mut self, time: Time, key: Key, item: u32) {
        let event = Event::new(time, key, item);
        let bucket = time.0 >> self.shift;
        let ahead = bucket.wrapping_sub(self.cursor);
        if ahead.wrapping_sub(1) < self.heads.len() as u64 - 1 {
            self.put(bucket, time.0, event.tag());
        } else if bucket <= self.cursor {
            self.insert_current(event);
        } else {
            self.far.push(Reverse(event));
        }
    }

    /// Every pending event, in no order.
    pub(crate) fn events(&self) -> impl Iterator<Item = Event> {
        let lists = self.occupied.iter().enumerate().flat_map(|(word, bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
        });
        let following = |index: u32| (index != NONE).then_some(index);
        let ring = lists.flat_map(move |slot| {
            let next = move |index: &u32| following(self.nodes[*index as usize].next);
            std::iter::successors(following(self.heads[slot]), next)
        });
        let ring = ring.map(|index| {
            let node = &self.nodes[index as usize];
            Event::from_tag(Time(node.time), node.tag)
        });
        let far = self.far.iter().map(|Reverse(event)| *event);
        self.current.iter().copied().chain(ring).chain(far)
    }

    /// Takes the earliest event.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        if self.current.is_empty() && !self.advance() {
            return None;
        }
        self.current.pop()
    }

    /// An event of the bucket that comes after the present one, another at each call, in no order; `None`
    /// when all have been seen that were there when time reached the present bucket. By then nothing is
    /// certain: who asks may prepare for the event, no more.
    ///
    /// Events are scattered over memory: the next one is prefetched here, long before its bucket's turn.
    #[inline]
    pub(crate) fn foresee(&mut self) -> Option<(Key, u32)> {
        let node = self.nodes.get(self.foreseen as usize)?;
        let event = Event::from_tag(Time(node.time), node.tag);
        self.foreseen = node.next;
        prefetch(&self.nodes, self.foreseen as usize);
        Some((event.key(), event.item()))
    }

    /// Puts back the event that [`Calendar::pop`] has just given.
    pub(crate) fn put_back(&mut self, event: Event) {
        self.current.push(event);
    }

    #[inline]
    fn put(&mut self, bucket: u64, time: u64, tag: u64) {
        let slot = (bucket as usize) & (self.heads.len() - 1);
        let next = self.heads[slot];
        if self.free == NONE {
            self.grow();
        }
        let index = self.free;
        let node = &mut self.nodes[index as usize];
        self.free = node.next;
        node.time = time;
        node.tag = tag;
        node.next = next;
        self.heads[slot] = index;
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.in_ring += 1;
    }

    /// Makes a place for one more event.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.nodes.push(Node { time: 0, tag: 0, next: NONE });
        self.free = (self.nodes.len() - 1) as u32;
    }

    /// Puts an event into its place in the sorted bucket.
    fn insert_current(&mut self, event: Event) {
        let mut at = self.current.len();
        while at > 0 && self.current[at - 1].comes_before(event) {
            at -= 1;
        }
        self.current.insert(at, event);
    }

    /// Moves on to the next bucket that has events. False if there is none at all.
    fn advance(&mut self) -> bool {
        let near = (self.in_ring > 0).then(|| self.cursor + self.distance());
        let far = self.far.peek().map(|Reverse(event)| event.time.0 >> self.shift);
        self.cursor = match (near, far) {
            (None, None) => return false,
            (Some(bucket), None) | (None, Some(bucket)) => bucket,
            (Some(near), Some(far)) => near.min(far),
        };
        if near == Some(self.cursor) {
            self.drain_bucket();
        }
        self.bring_near();
        true
    }

    /// How many buckets lie between the cursor and the next occupied one. There is one.
    #[inline]
    fn distance(&self) -> u64 {
        let mask = self.heads.len() - 1;
        let start = (self.cursor as usize + 1) & mask;
        let (mut word, bit) = (start / 64, start % 64);
        let mut bits = self.occupied[word] & (u64::MAX << bit);
        while bits == 0 {
            word = (word + 1) & (self.occupied.len() - 1);
            bits = self.occupied[word];
        }
        let slot = word * 64 + bits.trailing_zeros() as usize;
        (slot.wrapping_sub(start) & mask) as u64 + 1
    }

    /// Sorts the cursor's list into `current`.
    #[inline]
    fn drain_bucket(&mut self) {
        let slot = (self.cursor as usize) & (self.heads.len() - 1);
        let mut index = self.heads[slot];
        self.heads[slot] = NONE;
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        debug_assert!(self.current.is_empty(), "time moves on when nothing is left");
        while index != NONE {
            let node = &mut self.nodes[index as usize];
            let (event, next) = (Event::from_tag(Time(node.time), node.tag), node.next);
            node.next = self.free;
            self.free = index;
            index = next;
            self.current.push(event);
        }
        self.in_ring -= self.current.len();
        self.foreseen = match self.in_ring {
            0 => NONE,
            _ => self.heads[(self.cursor + self.distance()) as usize & (self.heads.len() - 1)],
        };
        prefetch(&self.nodes, self.foreseen as usize);
        sort_latest_first(&mut self.current);
    }

    /// Moves far events that the ring now reaches into it.
    #[inline]
    fn bring_near(&mut self) {
        let horizon = self.cursor.saturating_add(self.heads.len() as u64);
        while let Some(Reverse(event)) = self.far.peek() {
            let bucket = event.time.0 >> self.shift;
            if bucket >= horizon {
                return;
            }
            let event = *event;
            self.far.pop();
            if bucket <= self.cursor {
                self.insert_current(event);
            } else {
                self.put(bucket, event.time.0, event.tag());
            }
        }
    }
}

/// Sorts a bucket's events. Buckets are small: insertion beats a general sort.
#[inline]
fn sort_latest_first(events: &mut [Event]) {
    const SMALL: usize = 20;
    if events.len() > SMALL {
        events.sort_unstable_by(|a, b| b.cmp(a));
        return;
    }
    for i in 1..events.len() {
        let event = events[i];
        let mut at = i;
        while at > 0 && events[at - 1].comes_before(event) {
            events[at] = events[at - 1];
            at -= 1;
        }
        events[at] = event;
    }
}

/// The calendar as benches see it: arrivals, each known by its item alone.
pub struct EventQueue(Calendar);

impl EventQueue {
    /// See [`Calendar::new`].
    #[must_use]
    pub fn new(width_ps: u64, buckets: usize) -> EventQueue {
        EventQueue(Calendar::new(width_ps, buckets))
    }

    /// Adds an arrival of `item`, below 2^28, at `time`, not before the last one popped.
    #[inline]
    pub fn push(&mut self, time: Time, item: u32) {
        self.0.push(time, Key::new(leafspine_node::Class::Arrival, item), item);
    }

    /// Takes the earliest arrival.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, u32)> {
        self.0.pop().map(|event| (event.time, event.item()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafspine_node::Class;
    use proptest::prelude::*;

    fn drain(calendar: &mut Calendar) -> Vec<Event> {
        std::iter::from_fn(|| calendar.pop()).collect()
    }

    /// Breaks if equal times come out in order of insertion instead of by key.
    #[test]
    fn equal_times_are_ordered_by_key() {
        let mut calendar = Calendar::new(1000, 64);
        calendar.push(Time(5), Key::new(Class::FlowStart, 1), 0);
        calendar.push(Time(5), Key::new(Class::Arrival, 9), 1);
        calendar.push(Time(5), Key::new(Class::Arrival, 3), 2);
        calendar.push(Time(5), Key::new(Class::Departure, 7), 3);
        let items: Vec<u32> = drain(&mut calendar).iter().map(|e| e.item()).collect();
        assert_eq!(items, [3, 2, 1, 0]);
    }

    /// Breaks if a packet of the next bucket is not foreseen, is foreseen twice, or if one of the present
    /// bucket or of the one after the next is.
    #[test]
    fn foresees_the_next_bucket() {
        let mut calendar = Calendar::new(1024, 64);
        for (item, time) in [2100, 2200, 6200, 6300, 9300, 1_000_000].into_iter().enumerate() {
            calendar.push(Time(time), Key::new(Class::Arrival, 7), item as u32);
        }
        let mut seen = |pops: usize| {
            let popped = (0..pops).map(|_| calendar.pop().unwrap().item()).last().unwrap();
            let mut items: Vec<u32> =
                std::iter::from_fn(|| calendar.foresee()).map(|e| e.1).collect();
            items.sort_unstable();
            (popped, items)
        };
        assert_eq!(seen(1), (0, vec![2, 3]));
        assert_eq!(seen(1), (1, vec![]));
        assert_eq!(seen(1), (2, vec![4]));
        assert_eq!(seen(2), (4, vec![]));
        assert_eq!(seen(1), (5, vec![]));
    }

    proptest! {
        /// Breaks if any event is lost, doubled or out of order, near, far, or pushed while time
        /// stands in its bucket. The heap is the judge.
        #[test]
        fn agrees_with_a_heap(
            width in 1u64..5000,
            steps in proptest::collection::vec((0u64..400_000, 0u32..8, 0usize..4), 1..400),
        ) {
            let mut calendar = Calendar::new(width, 64);
            let mut heap = BinaryHeap::new();
            let mut now = 0;
            for (item, (delay, id, pops)) in steps.into_iter().enumerate() {
                let key = Key::new(Class::Arrival, id);
                let event =
                    Event::new(Time(now + delay), key, item as u32);
                calendar.push(event.time, key, item as u32);
                heap.push(Reverse(event));
                for _ in 0..pops {
                    let expected = heap.pop().map(|Reverse(e)| e);
                    prop_assert_eq!(calendar.pop(), expected);
                    now = expected.map_or(now, |e| e.time.0);
                }
            }
            while let Some(Reverse(expected)) = heap.pop() {
                prop_assert_eq!(calendar.pop(), Some(expected));
            }
            prop_assert_eq!(calendar.pop(), None);
        }
    }
}
