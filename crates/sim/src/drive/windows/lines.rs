//! Links as their receiving ends see them: packets in the order of their arrival.

use leafspine_core::{PacketMeta, PortId, Time};
use leafspine_node::prefetch;
use std::ops::Range;

/// A time that does not come.
pub(super) const NEVER: u64 = u64::MAX;

/// The packets on a link: a ring, with their arrival times beside it, so that looking for what is due
/// does not touch the packets.
/// All that an arriving packet needs to know of its link is here, in one cache line.
#[repr(align(64))]
pub(super) struct Ring {
    times: Box<[u64]>,
    packets: Box<[PacketMeta]>,
    /// The hash over what has arrived.
    pub(super) chain: u64,
    /// Packets taken out, and put in, since the start: places in the ring by their low bits.
    head: u32,
    tail: u32,
    /// The global number of the port that sends into the link.
    pub(super) port: u32,
    /// A switch's port, or a host's place in its rack.
    pub(super) into: PortId,
}

impl Ring {
    const SMALLEST: usize = 8;

    fn new(port: u32, into: PortId) -> Ring {
        let (times, packets) = (Box::default(), Box::default());
        Ring { times, packets, chain: 0, head: 0, tail: 0, port, into }
    }

    #[inline]
    fn place(&self, count: u32) -> usize {
        count as usize & (self.times.len() - 1)
    }

    #[inline]
    fn push(&mut self, at: Time, packet: &PacketMeta) {
        if (self.tail - self.head) as usize == self.times.len() {
            self.grow();
        }
        let place = self.place(self.tail);
        debug_assert!(
            self.head == self.tail || self.times[self.place(self.tail.wrapping_sub(1))] < at.0,
            "packets of a link arrive in the order in which they were sent"
        );
        self.times[place] = at.0;
        self.packets[place] = *packet;
        self.tail += 1;
    }

    /// Puts what arrives before `limit` into `due`. Gives the time of the first arrival after.
    #[inline]
    fn foresee(&self, line: u32, limit: u64, due: &mut Vec<Due>) -> u64 {
        let mut count = self.head;
        while count != self.tail {
            let place = self.place(count);
            let time = self.times[place];
            if time >= limit {
                return time;
            }
            prefetch(&self.packets, place);
            due.push(Due { time, line });
            count += 1;
        }
        NEVER
    }

    /// Takes the next packet, which has been foreseen for `time`, off the link.
    #[inline]
    pub(super) fn pop(&mut self, time: u64) -> PacketMeta {
        // Not where it was foreseen: the ring may have grown since.
        let place = self.place(self.head);
        debug_assert_eq!(self.times[place], time, "the first packet goes first");
        let packet = self.packets[place];
        self.head += 1;
        if self.head == self.tail {
            // From the beginning again: those places are in the cache.
            (self.head, self.tail) = (0, 0);
        }
        packet
    }

    /// Twice as many places.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let (old, count) = (self.times.len(), self.tail - self.head);
        let size = (old * 2).max(Ring::SMALLEST);
        let (mut times, mut packets) = (vec![NEVER; size], vec![PacketMeta::default(); size]);
        for at in 0..count {
            let place = self.place(self.head + at);
            times[at as usize] = self.times[place];
            packets[at as usize] = self.packets[place];
        }
        (self.times, self.packets) = (times.into(), packets.into());
        (self.head, self.tail) = (0, count);
    }

    fn waiting(&self) -> impl Iterator<Item = usize> {
        (self.head..self.tail).map(|count| self.place(count))
    }
}

/// A packet that is due: when, and on which link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Due {
    pub(super) time: u64,
    line: u32,
}

impl Due {
    #[inline]
    pub(super) fn line(self) -> usize {
        self.line as usize
    }
}

/// All links that end at the nodes of a domain: those of a node together, by the numbers of the ports
/// that send into them.
#[derive(Default)]
pub(super) struct Lines {
    /// Per link: when the next packet arrives.
    pub(super) heads: Vec<u64>,
    pub(super) rings: Vec<Ring>,
}

impl Lines {
    /// One more link.
    pub(super) fn add(&mut self, port: u32, into: PortId) {
        self.heads.push(NEVER);
        self.rings.push(Ring::new(port, into));
    }

    pub(super) fn len(&self) -> usize {
        self.heads.len()
    }

    /// A packet is on a link.
    #[inline]
    pub(super) fn push(&mut self, line: u32, at: Time, packet: &PacketMeta) {
        let head = &mut self.heads[line as usize];
        *head = (*head).min(at.0);
        self.rings[line as usize].push(at, packet);
    }

    /// Puts what arrives on these links before `limit` into `due`, to be taken off them by
    /// [`Ring::pop`]. Gives the time of the first arrival after those.
    #[inline]
    pub(super) fn foresee(&mut self, lines: Range<u32>, limit: u64, due: &mut Vec<Due>) -> u64 {
        let first = lines.start;
        let mut after = NEVER;
        let heads = &mut self.heads[lines.start as usize..lines.end as usize];
        for (head, line) in heads.iter_mut().zip(first..) {
            if *head < limit {
                *head = self.rings[line as usize].foresee(line, limit, due);
            }
            after = after.min(*head);
        }
        after
    }

    /// Calls `visit` with every packet, and the port that sent it.
    pub(super) fn each(&self, visit: &mut dyn FnMut(u32, &PacketMeta)) {
        for ring in &self.rings {
            ring.waiting().for_each(|place| visit(ring.port, &ring.packets[place]));
        }
    }

    /// Packets on the link from `port` will not arrive.
    pub(super) fn lose(&mut self, port: u32) {
        for ring in &mut self.rings {
            if ring.port == port {
                let places: Vec<usize> = ring.waiting().collect();
                places.into_iter().for_each(|at| ring.packets[at].notes |= PacketMeta::LOST);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Breaks if a ring loses or reorders packets when it grows or wraps round, or if the time of
        /// the next arrival is not that of the first packet. A queue is the judge.
        #[test]
        fn a_link_is_a_queue(steps in proptest::collection::vec((1u64..100, 0u64..150), 1..300)) {
            let (mut lines, mut queue) = (Lines::default(), VecDeque::new());
            lines.add(7, PortId(0));
            let (mut time, mut due) = (0, Vec::new());
            for (seq, (gap, ahead)) in steps.into_iter().enumerate() {
                time += gap;
                let packet = PacketMeta { seq: seq as u32, ..PacketMeta::default() };
                lines.push(0, Time(time), &packet);
                queue.push_back((time, packet));
                let limit = time.saturating_sub(ahead);
                due.clear();
                lines.foresee(0..1, limit, &mut due);
                for taken in &due {
                    prop_assert_eq!(queue.pop_front(), Some((taken.time, lines.rings[0].pop(taken.time))));
                }
                prop_assert!(queue.front().is_none_or(|(time, _)| *time >= limit));
                prop_assert_eq!(queue.front().map_or(NEVER, |(time, _)| *time), lines.heads[0]);
            }
        }
    }
}
