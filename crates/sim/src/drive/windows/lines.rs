//! Lines into nodes: links as their receiving ends see them, and each node's own events.

use super::timers::Timers;
use super::wheel::{Grid, NEVER, Wheel};
use leafspine_core::{PacketMeta, PortId, Time};
use leafspine_node::{Event, prefetch};
use std::hint::select_unpredictable;

/// Some packets, with their arrival times beside them, so that looking for what is due does not touch
/// the packets: a cache line of times, and a line for each packet.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Block {
    times: [u64; Block::PLACES],
    packets: [PacketMeta; Block::PLACES],
}

impl Block {
    const PLACES: usize = 8;

    fn empty() -> Block {
        Block { times: [NEVER; Block::PLACES], packets: [PacketMeta::default(); Block::PLACES] }
    }
}

/// The packets on a link: a ring of blocks. All that an arriving packet needs to know of its link is in
/// one cache line.
#[repr(align(64))]
pub(super) struct Ring {
    /// A power of two of them; none before the first packet.
    blocks: Box<[Block]>,
    /// The hash over what has arrived.
    pub(super) chain: u64,
    /// Packets taken out, foreseen, and put in, since the start: places in the ring by their low bits.
    head: u32,
    seen: u32,
    tail: u32,
    /// The places.
    room: u32,
    /// The global number of the port that sends into the link; [`Ring::TIMERS`] of a node's own events.
    pub(super) port: u32,
    /// The node's place in the domain.
    pub(super) node: u32,
    /// A switch's port, or a host's place in its rack.
    pub(super) into: PortId,
}

/// A place in a ring: the block, and where in it.
#[inline(always)]
fn place(count: u32, blocks: usize) -> (usize, usize) {
    let count = count as usize;
    ((count / Block::PLACES) & blocks.wrapping_sub(1), count % Block::PLACES)
}

impl Ring {
    /// No port has this number.
    pub(super) const TIMERS: u32 = u32::MAX;

    fn new(node: u32, port: u32, into: PortId) -> Ring {
        let blocks = Box::default();
        Ring { blocks, chain: 0, head: 0, seen: 0, tail: 0, room: 0, port, node, into }
    }

    /// The arrival time at a place.
    #[inline(always)]
    fn time(&self, count: u32) -> u64 {
        let (block, at) = place(count, self.blocks.len());
        self.blocks[block].times[at]
    }

    #[inline(always)]
    fn push(&mut self, at: Time, packet: &PacketMeta) {
        if self.tail - self.head == self.room {
            self.grow();
        }
        debug_assert!(
            self.head == self.tail || self.time(self.tail.wrapping_sub(1)) < at.0,
            "packets of a link arrive in the order in which they were sent"
        );
        let (block, place) = place(self.tail, self.blocks.len());
        let block = &mut self.blocks[block];
        block.times[place] = at.0;
        block.packets[place] = *packet;
        self.tail += 1;
    }

    /// Puts what arrives before `limit` into `due`. Gives the time of the first arrival after.
    #[inline(always)]
    fn foresee(&mut self, line: u32, window: Window, due: &mut Vec<Due>) -> u64 {
        while self.seen != self.tail {
            let (block, at) = place(self.seen, self.blocks.len());
            let block = &self.blocks[block];
            let time = block.times[at];
            if time >= window.limit {
                return time;
            }
            prefetch(&block.packets, at);
            due.push(Due::new(time - window.start, line - window.first));
            self.seen += 1;
        }
        NEVER
    }

    /// Takes the next packet, which has been foreseen for `time`, off the link.
    #[inline(always)]
    pub(super) fn pop(&mut self, time: u64) -> PacketMeta {
        // Not where it was foreseen: the ring may have grown since.
        let (block, at) = place(self.head, self.blocks.len());
        let block = &self.blocks[block];
        debug_assert_eq!(block.times[at], time, "the first packet goes first");
        let packet = block.packets[at];
        self.head += 1;
        // An empty ring begins again, where the cache has it.
        let empty = self.head == self.tail;
        self.head = select_unpredictable(empty, 0, self.head);
        self.seen = select_unpredictable(empty, 0, self.seen);
        self.tail = select_unpredictable(empty, 0, self.tail);
        packet
    }

    /// Twice as many places.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let (old, count) = (self.blocks.len(), self.tail - self.head);
        let size = (old * 2).max(1);
        let mut blocks = vec![Block::empty(); size];
        for ahead in 0..count {
            let (from, at) = place(self.head + ahead, old);
            let (to, into) = place(ahead, size);
            blocks[to].times[into] = self.blocks[from].times[at];
            blocks[to].packets[into] = self.blocks[from].packets[at];
        }
        self.blocks = blocks.into();
        self.room = (size * Block::PLACES) as u32;
        (self.head, self.seen, self.tail) = (0, self.seen - self.head, count);
    }

    /// When the next packet arrives.
    fn first(&self) -> Option<u64> {
        (self.head != self.tail).then(|| self.time(self.head))
    }

    fn waiting(&self) -> impl Iterator<Item = &PacketMeta> {
        (self.head..self.tail).map(|count| {
            let (block, at) = place(count, self.blocks.len());
            &self.blocks[block].packets[at]
        })
    }

    fn lose(&mut self) {
        for count in self.head..self.tail {
            let (block, at) = place(count, self.blocks.len());
            self.blocks[block].packets[at].notes |= PacketMeta::LOST;
        }
    }
}

/// What is looked for at a node.
#[derive(Clone, Copy)]
pub(super) struct Window {
    /// Nothing is due before.
    pub(super) start: u64,
    /// Only what is due before.
    pub(super) limit: u64,
    /// The node's first line.
    pub(super) first: u32,
}

/// A packet that is due: when (after a window's start) and on which of a node's lines. One word, which
/// is also the rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Due(u64);

impl Due {
    const LINE_BITS: u32 = 20;

    #[inline]
    pub(super) fn new(after: u64, line: u32) -> Due {
        Due(after << Due::LINE_BITS | u64::from(line))
    }

    #[inline]
    pub(super) fn after(self) -> u64 {
        self.0 >> Due::LINE_BITS
    }

    #[inline]
    pub(super) fn line(self) -> u32 {
        self.0 as u32 & ((1 << Due::LINE_BITS) - 1)
    }
}

/// All lines into the nodes of a domain: those of a node together, first its own events, then the links
/// by the numbers of the ports that send into them.
pub(super) struct Lines {
    pub(super) rings: Vec<Ring>,
    /// What is due at the nodes of each side.
    pub(super) wheels: [Wheel; 2],
    /// The first line of the second side.
    border: u32,
    /// Per node: its lines, from the first to before the second.
    pub(super) spans: Vec<(u32, u32)>,
    /// Per node.
    pub(super) timers: Vec<Timers>,
}

impl Lines {
    /// Of nodes with these links: the ports that send into them, ascending, and where they come in. So
    /// many nodes are on the first side, each side with its windows.
    pub(super) fn new(grids: [Grid; 2], links: &[Vec<(u32, PortId)>], side: usize) -> Lines {
        let (mut rings, mut spans) = (Vec::new(), Vec::with_capacity(links.len()));
        for (node, links) in (0..).zip(links) {
            let first = rings.len() as u32;
            rings.push(Ring::new(node, Ring::TIMERS, PortId(0)));
            rings.extend(links.iter().map(|(port, into)| Ring::new(node, *port, *into)));
            spans.push((first, rings.len() as u32));
        }
        let timers = links.iter().map(|_| Timers::default()).collect();
        let lines = rings.len() as u32;
        let border = spans.get(side).map_or(lines, |(first, _)| *first);
        let wheels = [Wheel::new(grids[0], 0..border), Wheel::new(grids[1], border..lines)];
        Lines { rings, wheels, border, spans, timers }
    }

    /// The wheel that a line is on.
    #[inline(always)]
    pub(super) fn wheel(&mut self, line: u32) -> &mut Wheel {
        &mut self.wheels[usize::from(line >= self.border)]
    }

    /// A packet is on a link.
    #[inline(always)]
    pub(super) fn push(&mut self, line: u32, at: Time, packet: &PacketMeta) {
        let ring = &mut self.rings[line as usize];
        let idle = ring.seen == ring.tail;
        ring.push(at, packet);
        if idle {
            self.wheel(line).note(line, at.0);
        }
    }

    /// An event of a node.
    pub(super) fn schedule(&mut self, node: u32, event: Event) {
        self.timers[node as usize].push(event);
        self.note_timers(node);
    }

    /// Sees that a node's first event is noted.
    #[inline]
    pub(super) fn note_timers(&mut self, node: u32) {
        let timers = &mut self.timers[node as usize];
        if timers.first == NEVER {
            return;
        }
        let line = self.spans[node as usize].0;
        let wheel = &mut self.wheels[usize::from(line >= self.border)];
        let window = wheel.grid.window_of(timers.first);
        if window < timers.noted {
            timers.noted = window;
            wheel.note_in(line, window);
        }
    }

    /// Puts what arrives on a line before `limit` into `due`, to be taken off it by [`Ring::pop`].
    #[inline(always)]
    pub(super) fn foresee(&mut self, line: u32, window: Window, due: &mut Vec<Due>) {
        let ring = &mut self.rings[line as usize];
        if ring.port == Ring::TIMERS {
            self.timers[ring.node as usize].noted = NEVER;
            return;
        }
        let after = ring.foresee(line, window, due);
        if after != NEVER {
            self.wheel(line).note(line, after);
        }
    }

    /// When something is due on a line.
    pub(super) fn first(&self, line: u32) -> Option<u64> {
        let ring = &self.rings[line as usize];
        if ring.port != Ring::TIMERS {
            return ring.first();
        }
        let first = self.timers[ring.node as usize].first;
        (first != NEVER).then_some(first)
    }

    /// Whether what a line is noted for in `window` is due there. If not, its place is where it is due.
    pub(super) fn is_due_in(&mut self, line: u32, window: u64) -> bool {
        let first = self.first(line);
        let wheel = self.wheel(line);
        let first = first.map(|time| wheel.grid.window_of(time));
        if first == Some(window) {
            return true;
        }
        wheel.forget(line, window);
        let ring = &self.rings[line as usize];
        if ring.port == Ring::TIMERS {
            let node = ring.node;
            self.timers[node as usize].noted = NEVER;
            self.note_timers(node);
        } else if let Some(first) = first {
            self.wheel(line).note_in(line, first);
        }
        false
    }

    /// Calls `visit` with every packet, and the port that sent it.
    pub(super) fn each(&self, visit: &mut dyn FnMut(u32, &PacketMeta)) {
        for ring in &self.rings {
            ring.waiting().for_each(|packet| visit(ring.port, packet));
        }
    }

    /// Packets on the link from `port` will not arrive.
    pub(super) fn lose(&mut self, port: u32) {
        self.rings.iter_mut().filter(|ring| ring.port == port).for_each(Ring::lose);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafspine_core::Span;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// The first window in which something is due on line 1.
    fn first_window(lines: &mut Lines) -> Option<u64> {
        loop {
            let window = lines.wheels[0].next()?;
            lines.wheels[0].turn_to(window);
            if lines.wheels[0].noted(window, 0).is_some_and(|line| lines.is_due_in(line, window)) {
                return Some(window);
            }
        }
    }

    proptest! {
        /// Breaks if a ring loses or reorders packets when it grows or wraps round, or if what is next
        /// is not noted. A queue is the judge.
        #[test]
        fn a_link_is_a_queue(steps in proptest::collection::vec((1u64..100, 0u64..150), 1..300)) {
            let links = vec![vec![(7, PortId(0))]];
            let mut lines = Lines::new(Grid::of_sides(Span(10), false), &links, 1);
            let mut queue = VecDeque::new();
            let (mut time, mut due) = (0, Vec::new());
            for (seq, (gap, ahead)) in steps.into_iter().enumerate() {
                time += gap;
                let packet = PacketMeta { seq: seq as u32, ..PacketMeta::default() };
                lines.push(1, Time(time), &packet);
                queue.push_back((time, packet));
                let limit = time.saturating_sub(ahead);
                due.clear();
                lines.foresee(1, Window { start: 0, limit, first: 0 }, &mut due);
                for taken in &due {
                    let at = taken.after();
                    prop_assert_eq!(queue.pop_front(), Some((at, lines.rings[1].pop(at))));
                }
                prop_assert!(queue.front().is_none_or(|(time, _)| *time >= limit));
                prop_assert_eq!(queue.front().map(|(time, _)| *time), lines.first(1));
                let front = queue.front().map(|(time, _)| lines.wheels[0].grid.window_of(*time));
                prop_assert_eq!(front, first_window(&mut lines));
            }
        }
    }
}
