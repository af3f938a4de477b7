//! Some of a run's nodes with all that they need in a window: what one thread works on.

use super::super::{Bound, hash_hop};
use super::lines::{Due, Line, Lines, Window};
use super::sides::SIDES;
use super::wheel::{Grid, NEVER, Sweep};
use leafspine_core::{PacketMeta, PortId, Time};
use leafspine_node::{Class, Event, Key, Network, Node, Record, World};
use leafspine_schemes::rdma::Hop;
use std::sync::Arc;

/// Packets from one domain to another, in the order in which they were sent.
pub(super) struct Mail {
    letters: Vec<Letter>,
    /// What those that have something beside their headers carry.
    lists: Vec<Vec<Hop>>,
    /// When the first of them arrives at a node of each side; [`NEVER`] if none does.
    first: [u64; SIDES],
}

/// A packet, by the link that it is on.
struct Letter {
    link: u32,
    at: Time,
    packet: PacketMeta,
}

impl Default for Mail {
    fn default() -> Mail {
        Mail { letters: Vec::new(), lists: Vec::new(), first: [NEVER; SIDES] }
    }
}

impl Mail {
    pub(super) fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }
}

/// See the module's text.
pub(crate) struct Domain {
    pub(super) nodes: Vec<Node>,
    pub(super) outside: Outside,
    /// Per domain: what has come from there, and has not been put on its links yet.
    pub(super) inbox: Vec<Mail>,
    /// What arrives at a node in a window: kept for its memory.
    due: Vec<Due>,
    following: Vec<Due>,
    /// When the last event was.
    pub(super) now: Time,
}

/// All domains of a run. They are handed from one thread to another twice a window: eight bytes each, not a
/// thousand.
pub(super) type Domains = Vec<Box<Domain>>;

/// A part of the work: a window of a side's nodes, or what of it comes before `bound`.
#[derive(Clone, Copy)]
pub(super) struct Pass {
    pub(super) side: usize,
    pub(super) window: u64,
    pub(super) bound: Bound,
}

/// Events that a node may schedule for one instant: more than its flows and ports could.
const MOST_AT_ONE_INSTANT: u64 = 1 << 24;

/// A domain as one of its nodes sees it.
pub(super) struct Outside {
    now: Time,
    /// The node that is called.
    node: u32,
    /// The number of the domain's first line among all domains' lines.
    first: u32,
    pub(super) lines: Lines,
    pub(super) record: Record,
    /// The first line of each side of each domain.
    homes: Arc<[[u32; SIDES]]>,
    /// Per domain: what is for it.
    pub(super) mail: Vec<Mail>,
}

impl World for Outside {
    #[inline(always)]
    fn now(&self) -> Time {
        self.now
    }

    #[inline(always)]
    fn deliver(&mut self, link: u32, at: Time, packet: &PacketMeta) {
        let line = link.wrapping_sub(self.first);
        if (line as usize) < self.lines.list.len() {
            self.lines.push(line, at, packet);
        } else {
            self.post(link, at, packet);
        }
    }

    #[inline]
    fn schedule(&mut self, at: Time, key: Key, item: u32) {
        self.lines.timers[self.node as usize].push(Event::new(at, key, item));
    }

    #[inline(always)]
    fn record(&mut self) -> &mut Record {
        &mut self.record
    }
}

impl Outside {
    /// An event of a node, which has been taken off its list, is due.
    #[inline(always)]
    fn handle_timer(&mut self, node: &mut Node, event: Event, net: &Network) {
        self.record.counters.events += 1;
        self.now = event.time;
        node.on_timer(event.key(), event.item(), net, self);
    }

    #[inline(never)]
    fn post(&mut self, link: u32, at: Time, packet: &PacketMeta) {
        let home = self.homes.partition_point(|[first, ..]| *first <= link) - 1;
        let side = self.homes[home].partition_point(|first| *first <= link) - 1;
        let mail = &mut self.mail[home];
        if packet.notes & PacketMeta::TELEMETRY != 0 {
            mail.lists.push(self.record.telemetry.detach(packet));
        }
        mail.first[side] = mail.first[side].min(at.0);
        mail.letters.push(Letter { link, at, packet: *packet });
    }
}

impl Domain {
    /// `nodes`, each with its links: the ports that send into them, ascending, and where they come in;
    /// side by side, so many on each. `at`: the domain's place among `homes`, which has the first
    /// line of each side of each.
    pub(super) fn new(
        nodes: Vec<Node>,
        links: &[Vec<(u32, PortId)>],
        sizes: [usize; SIDES],
        grids: [Grid; SIDES],
        at: usize,
        homes: Arc<[[u32; SIDES]]>,
    ) -> Domain {
        let outside = Outside {
            now: Time::ZERO,
            node: 0,
            first: homes[at][0],
            lines: Lines::new(grids, links, sizes),
            record: Record::default(),
            mail: homes.iter().map(|_| Mail::default()).collect(),
            homes,
        };
        let inbox = outside.homes.iter().map(|_| Mail::default()).collect();
        let (due, following) = (Vec::new(), Vec::new());
        Domain { nodes, outside, inbox, due, following, now: Time::ZERO }
    }

    /// Adds an event of a node.
    pub(super) fn schedule(&mut self, node: u32, event: Event) {
        self.outside.lines.schedule(node, event);
    }

    /// The next window in which there may be something to do at the nodes of a side.
    pub(super) fn next_window(&self, side: usize) -> Option<u64> {
        let wheel = &self.outside.lines.wheels[side];
        let mail = self.inbox.iter().map(|mail| mail.first[side]).min().filter(|at| *at != NEVER);
        let mail = mail.map(|at| wheel.grid.window_of(at));
        wheel.next().into_iter().chain(mail).min()
    }

    /// Lets every node of a side handle its events of this window that come before `bound`: nothing that
    /// a node sends arrives at its own side before the next. What arrives at the next node is looked up
    /// while the one before is busy, so that it is in the cache.
    pub(super) fn run(&mut self, net: &Network, pass: Pass) {
        self.receive();
        let Pass { side, window, bound } = pass;
        let wheel = &mut self.outside.lines.wheels[side];
        let end = wheel.grid.start_of(window + 1);
        if let Some(mut sweep) = wheel.sweep(window) {
            let start = wheel.grid.start_of(window).0;
            let arrivals = Window { start, limit: arrivals_before(bound), first: 0 };
            let (mut due, mut following) = (std::mem::take(&mut self.due), Vec::new());
            std::mem::swap(&mut following, &mut self.following);
            let mut node = self.foresee(side, &mut sweep, arrivals, &mut due);
            while let Some(this) = node {
                node = self.foresee(side, &mut sweep, arrivals, &mut following);
                self.run_node(this, net, bound, start, &due);
                due.clear();
                std::mem::swap(&mut due, &mut following);
            }
            (self.due, self.following) = (due, following);
        }
        if bound >= (end, Key::FIRST) {
            self.outside.lines.wheels[side].turn_to(window + 1);
        }
    }

    /// The next node of a window that has something to do, and what arrives there.
    #[inline]
    fn foresee(
        &mut self,
        side: usize,
        sweep: &mut Sweep,
        window: Window,
        due: &mut Vec<Due>,
    ) -> Option<u32> {
        let lines = &mut self.outside.lines;
        let first = lines.wheels[side].peek(sweep)?;
        let node = lines.list[first as usize].node;
        let (from, to) = lines.spans[node as usize];
        let window = Window { first: from, ..window };
        let mut line = first;
        loop {
            sweep.consume();
            lines.foresee(line, window, due);
            match lines.wheels[side].peek(sweep) {
                Some(next) if next < to => line = next,
                _ => break,
            }
        }
        if line != first {
            sort(due);
        }
        Some(node)
    }

    #[inline]
    fn run_node(&mut self, node: u32, net: &Network, bound: Bound, start: u64, due: &[Due]) {
        let place = node as usize;
        self.outside.node = node;
        self.outside.record.counters.packet_hops += due.len() as u64;
        self.outside.record.counters.events += due.len() as u64;
        if let Some(last) = due.last() {
            self.now = self.now.max(Time(start + last.after()));
        }
        let first = self.outside.lines.spans[place].0;
        for arrival in due {
            let (now, line) = (Time(start + arrival.after()), (first + arrival.line()) as usize);
            if self.outside.lines.timers[place].first <= now.0 {
                let key = Key::new(Class::Arrival, self.outside.lines.list[line].port);
                self.run_timers(node, net, (now, key));
            }
            self.handle_arrival(place, line, now, net);
        }
        if self.outside.lines.timers[place].first <= bound.0.0 {
            self.run_timers(node, net, bound);
        }
        self.outside.lines.note_timers(node);
    }

    /// Handles the events that the node has scheduled before `bound`. One that schedules ever more at
    /// one instant is given up.
    #[inline(never)]
    fn run_timers(&mut self, node: u32, net: &Network, bound: Bound) {
        let (place, outside) = (node as usize, &mut self.outside);
        let Some(this) = self.nodes.get_mut(place) else { return };
        let (mut since, mut still) = (Time::MAX, 0);
        outside.node = node;
        while let Some(event) = outside.lines.timers[place].pop_before(bound) {
            still = if event.time == since { still + 1 } else { 0 };
            since = event.time;
            if still >= MOST_AT_ONE_INSTANT {
                outside.record.stalled = Some(still);
                break;
            }
            outside.handle_timer(this, event, net);
        }
        if since != Time::MAX {
            self.now = self.now.max(since);
        }
    }

    /// A packet arrives; its hop has been counted.
    #[inline(always)]
    fn handle_arrival(&mut self, node: usize, line: usize, now: Time, net: &Network) {
        let outside = &mut self.outside;
        outside.now = now;
        let Lines { list, blocks, .. } = &mut outside.lines;
        let link = &mut list[line];
        let mut packet = link.pop(now.0, blocks);
        link.chain = hash_hop(link.chain, &packet, now);
        if packet.notes & PacketMeta::LOST != 0 {
            return outside.record.lost(&packet, link.port, net.measuring, now);
        }
        let into = link.into;
        self.nodes[node].arrive(into, &mut packet, net, outside);
    }

    /// Calls a node with its world, for a caller that is no event: what the node schedules is seen to.
    pub(super) fn call(
        &mut self,
        node: u32,
        now: Time,
        what: &mut dyn FnMut(&mut Node, &mut dyn World),
    ) {
        (self.outside.now, self.outside.node) = (now, node);
        what(&mut self.nodes[node as usize], &mut self.outside);
        self.outside.lines.note_timers(node);
    }

    /// The first event of a side's window, in the order of events, and its line. Nothing of the windows
    /// before is left. A line that is noted there without having anything due is noted where it has.
    pub(super) fn first_in(&mut self, side: usize, window: u64) -> Option<(Bound, u32)> {
        self.outside.lines.wheels[side].turn_to(window);
        let mut first = None;
        let mut from = 0;
        while let Some(line) = self.outside.lines.wheels[side].noted(window, from) {
            from = line + 1;
            if self.outside.lines.is_due_in(line, window) {
                let at = self.first_of(line).map(|at| (at, line));
                first = first.into_iter().chain(at).min();
            }
        }
        first
    }

    /// The first event of all.
    pub(super) fn first(&self) -> Option<Bound> {
        (0..self.outside.lines.list.len() as u32).filter_map(|line| self.first_of(line)).min()
    }

    fn first_of(&self, line: u32) -> Option<Bound> {
        let Lines { list, timers, .. } = &self.outside.lines;
        let Line { port, node, .. } = list[line as usize];
        if port == Line::TIMERS {
            return timers[node as usize].peek().map(|event| (event.time, event.key()));
        }
        let time = self.outside.lines.first(line)?;
        Some((Time(time), Key::new(Class::Arrival, port)))
    }

    /// Handles the first event of a line, in the window that the domain has turned to.
    pub(super) fn step(&mut self, line: u32, net: &Network) {
        let lines = &mut self.outside.lines;
        let Some(time) = lines.first(line) else { return };
        let wheel = lines.wheel(line);
        wheel.forget(line, wheel.grid.window_of(time));
        let Line { port, node, .. } = lines.list[line as usize];
        if port == Line::TIMERS {
            let timers = &mut lines.timers[node as usize];
            timers.noted = NEVER;
            if let Some(event) = timers.pop() {
                self.now = self.now.max(event.time);
                self.outside.node = node;
                self.outside.handle_timer(&mut self.nodes[node as usize], event, net);
            }
        } else {
            let mut due = std::mem::take(&mut self.due);
            let first = lines.spans[node as usize].0;
            let window = Window { start: time, limit: time + 1, first };
            lines.foresee(line, window, &mut due);
            self.run_node(node, net, (Time::ZERO, Key::FIRST), time, &due);
            due.clear();
            self.due = due;
        }
        self.outside.lines.note_timers(node);
    }

    /// Takes its nodes, which go to other domains.
    pub(super) fn take_nodes(&mut self) -> Vec<Option<Node>> {
        std::mem::take(&mut self.nodes).into_iter().map(Some).collect()
    }

    /// A node of another domain, and all that it has there, is this one's `node`. The node itself has come.
    pub(super) fn take_over(&mut self, node: u32, from: &mut Domain, there: u32) {
        let (Outside { lines, record, .. }, other) = (&mut self.outside, &mut from.outside);
        let mut bring = |packet: &mut PacketMeta| {
            if packet.notes & PacketMeta::TELEMETRY != 0 {
                let hops = other.record.telemetry.detach(packet);
                record.telemetry.attach(packet, hops);
            }
        };
        self.nodes[node as usize].each_packet(&mut bring);
        lines.take_over(node, &mut other.lines, there, bring);
    }

    /// The next window of each side that is not behind its nodes.
    pub(super) fn currents(&self) -> [u64; SIDES] {
        self.outside.lines.wheels.each_ref().map(|wheel| wheel.current)
    }

    /// Nothing of the windows before these is left.
    pub(super) fn turn_to(&mut self, currents: [u64; SIDES]) {
        let wheels = self.outside.lines.wheels.iter_mut();
        wheels.zip(currents).for_each(|(wheel, window)| wheel.turn_to(window));
    }

    /// Puts what other domains have sent onto its links.
    pub(super) fn receive(&mut self) {
        let Outside { lines, record, first, .. } = &mut self.outside;
        for Mail { letters, lists, first: arrive } in &mut self.inbox {
            let mut lists = lists.drain(..);
            for Letter { link, at, mut packet } in letters.drain(..) {
                if packet.notes & PacketMeta::TELEMETRY != 0 {
                    record.telemetry.attach(&mut packet, lists.next().unwrap_or_default());
                }
                lines.push(link - *first, at, &packet);
            }
            *arrive = [NEVER; SIDES];
        }
    }
}

/// Arrivals before this time come before `bound`: at one instant they are after changes of links and
/// general ports' departures, before all else.
fn arrivals_before(bound: Bound) -> u64 {
    let (time, key) = bound;
    time.0 + u64::from(key.class_or_last() > Class::Arrival)
}

/// Sorts what arrives by time, then link. In which order few arrivals are, no processor can guess: so
/// up to four are sorted without a branch.
#[inline]
fn sort(due: &mut [Due]) {
    match due {
        [] | [_] => {}
        [a, b] => (*a, *b) = (*a.min(b), *a.max(b)),
        [a, b, c] => {
            (*a, *b) = (*a.min(b), *a.max(b));
            (*b, *c) = (*b.min(c), *b.max(c));
            (*a, *b) = (*a.min(b), *a.max(b));
        }
        [a, b, c, d] => {
            (*a, *b) = (*a.min(b), *a.max(b));
            (*c, *d) = (*c.min(d), *c.max(d));
            (*a, *c) = (*a.min(c), *a.max(c));
            (*b, *d) = (*b.min(d), *b.max(d));
            (*b, *c) = (*b.min(c), *b.max(c));
        }
        _ => due.sort_unstable(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Breaks if few arrivals, or many, are not in order.
        #[test]
        fn arrivals_are_sorted(after in proptest::collection::vec(0u64..9, 0..40)) {
            let mut due: Vec<Due> = (0..).zip(&after).map(|(line, at)| Due::new(*at, line)).collect();
            let mut sorted = due.clone();
            sorted.sort();
            sort(&mut due);
            prop_assert_eq!(due, sorted);
        }
    }
}
