//! Lines into nodes: links as their receiving ends see them, and each node's own events.

use super::blocks::{Blocks, Place};
use super::sides::SIDES;
use super::timers::Timers;
use super::wheel::{Grid, NEVER, Wheel};
use leafspine_core::{PacketMeta, PortId, Time};
use leafspine_node::Event;
use std::hint::select_unpredictable;

/// A link, as a list of blocks of packets, or a node's own events. All that an arriving packet needs
/// to know of its link is here.
#[repr(align(32))]
pub(super) struct Line {
    /// The hash over what has arrived.
    pub(super) chain: u64,
    /// Places of the next packet that is taken out, that is foreseen, and that is put in. Each may
    /// stand at a block's end, while the packet itself is (or will be) at the beginning of the next.
    head: Place,
    seen: Place,
    tail: Place,
    /// The global number of the port that sends into the link; [`Line::TIMERS`] of a node's own events.
    pub(super) port: u32,
    /// The node's place in the domain.
    pub(super) node: u32,
    /// A switch's port, or a host's place in its rack.
    pub(super) into: PortId,
}

impl Line {
    /// No port has this number.
    pub(super) const TIMERS: u32 = u32::MAX;

    fn new(node: u32, port: u32, into: PortId) -> Line {
        let at = Blocks::END;
        Line { chain: 0, head: at, seen: at, tail: at, port, node, into }
    }

    #[inline(always)]
    fn push(&mut self, at: Time, packet: &PacketMeta, blocks: &mut Blocks) {
        if Blocks::is_end(self.tail) {
            self.extend(blocks);
        }
        blocks.put(self.tail, at.0, packet);
        self.tail += 1;
    }

    /// One more block.
    #[inline(never)]
    fn extend(&mut self, blocks: &mut Blocks) {
        let first = blocks.take();
        if self.head == self.tail {
            // The link's first: it had none.
            (self.head, self.seen) = (first, first);
        } else {
            blocks.link(self.tail, first);
        }
        self.tail = first;
    }

    /// Puts what arrives before `limit` into `due`. Gives the time of the first arrival after.
    #[inline(always)]
    fn foresee(&mut self, line: u32, window: Window, blocks: &Blocks, due: &mut Vec<Due>) -> u64 {
        while self.seen != self.tail {
            if Blocks::is_end(self.seen) {
                self.seen = blocks.after(self.seen);
            }
            let time = blocks.time(self.seen);
            if time >= window.limit {
                return time;
            }
            blocks.prefetch(self.seen);
            due.push(Due::new(time - window.start, line - window.first));
            self.seen += 1;
        }
        NEVER
    }

    /// Takes the next packet, which has been foreseen for `time`, off the link.
    #[inline(always)]
    pub(super) fn pop(&mut self, time: u64, blocks: &mut Blocks) -> PacketMeta {
        if Blocks::is_end(self.head) {
            self.head = blocks.give_back(self.head);
        }
        debug_assert_eq!(blocks.time(self.head), time, "the first packet goes first");
        let packet = *blocks.packet(self.head);
        // An empty link begins its block again, where the cache has it.
        let (next, first) = (self.head + 1, Blocks::first_of(self.head));
        let empty = next == self.tail;
        self.head = select_unpredictable(empty, first, next);
        self.seen = select_unpredictable(empty, first, self.seen);
        self.tail = select_unpredictable(empty, first, self.tail);
        packet
    }

    /// The places of its packets.
    fn places<'a>(&self, blocks: &'a Blocks) -> impl Iterator<Item = Place> + use<'a> {
        let (mut next, tail) = (self.head, self.tail);
        std::iter::from_fn(move || {
            (next != tail).then(|| {
                let place = if Blocks::is_end(next) { blocks.after(next) } else { next };
                next = place + 1;
                place
            })
        })
    }

    /// When the next packet arrives.
    fn first(&self, blocks: &Blocks) -> Option<u64> {
        self.places(blocks).next().map(|place| blocks.time(place))
    }

    fn lose(&self, blocks: &mut Blocks) {
        let places: Vec<Place> = self.places(blocks).collect();
        for place in places {
            blocks.packet_mut(place).notes |= PacketMeta::LOST;
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
    pub(super) list: Vec<Line>,
    /// What is on them.
    pub(super) blocks: Blocks,
    /// What is due at the nodes of each side.
    pub(super) wheels: [Wheel; SIDES],
    /// The first line of the second side, and of the third.
    borders: [u32; SIDES - 1],
    /// Per node: its lines, from the first to before the second.
    pub(super) spans: Vec<(u32, u32)>,
    /// Per node.
    pub(super) timers: Vec<Timers>,
}

impl Lines {
    /// Of nodes with these links: the ports that send into them, ascending, and where they come in. So
    /// many nodes are on each side, side by side, each with its windows.
    pub(super) fn new(
        grids: [Grid; SIDES],
        links: &[Vec<(u32, PortId)>],
        sizes: [usize; SIDES],
    ) -> Lines {
        let (mut list, mut spans) = (Vec::new(), Vec::with_capacity(links.len()));
        for (node, links) in (0..).zip(links) {
            let first = list.len() as u32;
            list.push(Line::new(node, Line::TIMERS, PortId(0)));
            list.extend(links.iter().map(|(port, into)| Line::new(node, *port, *into)));
            spans.push((first, list.len() as u32));
        }
        let timers = links.iter().map(|_| Timers::default()).collect();
        let lines = list.len() as u32;
        let border = |node: usize| spans.get(node).map_or(lines, |(first, _)| *first);
        let borders @ [second, third] = [border(sizes[0]), border(sizes[0] + sizes[1])];
        let [first, of_second, of_third] = grids;
        let wheels = [
            Wheel::new(first, 0..second),
            Wheel::new(of_second, second..third),
            Wheel::new(of_third, third..lines),
        ];
        Lines { list, blocks: Blocks::default(), wheels, borders, spans, timers }
    }

    /// The wheel that a line is on.
    #[inline(always)]
    pub(super) fn wheel(&mut self, line: u32) -> &mut Wheel {
        &mut self.wheels[side_of(line, self.borders)]
    }

    /// A packet is on a link.
    #[inline(always)]
    pub(super) fn push(&mut self, line: u32, at: Time, packet: &PacketMeta) {
        let link = &mut self.list[line as usize];
        debug_assert!(
            link.head == link.tail || self.blocks.time(link.tail - 1) < at.0,
            "packets of a link arrive in the order in which they were sent"
        );
        let idle = link.seen == link.tail;
        link.push(at, packet, &mut self.blocks);
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
        let wheel = &mut self.wheels[side_of(line, self.borders)];
        let window = wheel.grid.window_of(timers.first);
        if window < timers.noted {
            timers.noted = window;
            wheel.note_in(line, window);
        }
    }

    /// Puts what arrives on a line before `limit` into `due`, to be taken off it by [`Line::pop`].
    #[inline(always)]
    pub(super) fn foresee(&mut self, line: u32, window: Window, due: &mut Vec<Due>) {
        let link = &mut self.list[line as usize];
        if link.port == Line::TIMERS {
            self.timers[link.node as usize].noted = NEVER;
            return;
        }
        let after = link.foresee(line, window, &self.blocks, due);
        if after != NEVER {
            self.wheel(line).note(line, after);
        }
    }

    /// When something is due on a line.
    pub(super) fn first(&self, line: u32) -> Option<u64> {
        let link = &self.list[line as usize];
        if link.port != Line::TIMERS {
            return link.first(&self.blocks);
        }
        let first = self.timers[link.node as usize].first;
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
        let link = &self.list[line as usize];
        if link.port == Line::TIMERS {
            let node = link.node;
            self.timers[node as usize].noted = NEVER;
            self.note_timers(node);
        } else if let Some(first) = first {
            self.wheel(line).note_in(line, first);
        }
        false
    }

    /// What is on the lines of a node elsewhere is on the lines of this one, whose links are the same.
    /// `change` is called with every packet.
    pub(super) fn take_over(
        &mut self,
        node: u32,
        from: &mut Lines,
        there: u32,
        mut change: impl FnMut(&mut PacketMeta),
    ) {
        let (old, new) = (from.spans[there as usize], self.spans[node as usize]);
        for (old, new) in (old.0..old.1).zip(new.0..new.1) {
            let link = &from.list[old as usize];
            self.list[new as usize].chain = link.chain;
            for place in link.places(&from.blocks) {
                let mut packet = *from.blocks.packet(place);
                change(&mut packet);
                self.push(new, Time(from.blocks.time(place)), &packet);
            }
        }
        let timers = &mut self.timers[node as usize];
        *timers = std::mem::take(&mut from.timers[there as usize]);
        timers.noted = NEVER;
        self.note_timers(node);
    }

    /// Calls `visit` with every packet, and the port that sent it.
    pub(super) fn each(&self, visit: &mut dyn FnMut(u32, &PacketMeta)) {
        for link in &self.list {
            let places = link.places(&self.blocks);
            places.for_each(|place| visit(link.port, self.blocks.packet(place)));
        }
    }

    /// Packets on the link from `port` will not arrive.
    pub(super) fn lose(&mut self, port: u32) {
        let links = self.list.iter().filter(|link| link.port == port);
        links.for_each(|link| link.lose(&mut self.blocks));
    }
}

/// The side that a line is on.
#[inline(always)]
fn side_of(line: u32, borders: [u32; SIDES - 1]) -> usize {
    borders.iter().map(|first| usize::from(line >= *first)).sum()
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
        /// Breaks if a link loses or reorders packets where one block follows another, or if what is
        /// next is not noted. A queue is the judge.
        #[test]
        fn a_link_is_a_queue(steps in proptest::collection::vec((1u64..100, 0u64..150), 1..300)) {
            let links = vec![vec![(7, PortId(0))]];
            let mut lines = Lines::new([Grid::new(Span(10), Span::ZERO); SIDES], &links, [1, 0, 0]);
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
                    prop_assert_eq!(queue.pop_front(), Some((at, lines.list[1].pop(at, &mut lines.blocks))));
                }
                prop_assert!(queue.front().is_none_or(|(time, _)| *time >= limit));
                prop_assert_eq!(queue.front().map(|(time, _)| *time), lines.first(1));
                let front = queue.front().map(|(time, _)| lines.wheels[0].grid.window_of(*time));
                prop_assert_eq!(front, first_window(&mut lines));
            }
        }
    }
}
