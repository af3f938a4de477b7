//! Some of a run's nodes with all that they need in a window: what one thread works on.

use super::super::{Bound, hash_hop};
use super::lines::{Due, Lines, NEVER};
use super::timers::Timers;
use leafspine_core::{PacketMeta, PortId, Time};
use leafspine_node::{Class, Event, Key, Network, Node, Record, World};
use std::sync::Arc;

/// Where a link ends.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wire {
    /// The domain.
    pub(super) domain: u32,
    /// The node's place there.
    pub(super) node: u32,
    /// The link's place there.
    pub(super) line: u32,
}

/// A packet for another domain.
pub(super) struct Mail {
    wire: Wire,
    at: Time,
    packet: PacketMeta,
}

/// See the module's text.
pub(crate) struct Domain {
    /// Its number.
    id: u32,
    pub(super) nodes: Vec<Node>,
    /// Per node: its links, from the first to before the second.
    spans: Vec<(u32, u32)>,
    /// Per node: when its next event is.
    pub(super) next: Vec<u64>,
    timers: Vec<Timers>,
    pub(super) lines: Lines,
    /// Per port by its global number.
    pub(super) wires: Arc<Vec<Wire>>,
    /// Per domain: what is for it.
    mail: Vec<Vec<Mail>>,
    pub(super) record: Record,
    /// When the last event was.
    pub(super) now: Time,
    /// What arrives at a node in a window: kept for its memory.
    due: Vec<Due>,
    following: Vec<Due>,
}

/// Events that a node may schedule for one instant: more than its flows and ports could.
const MOST_AT_ONE_INSTANT: u64 = 1 << 24;

/// A domain as one of its nodes sees it.
struct Outside<'a> {
    now: Time,
    domain: u32,
    next: &'a mut [u64],
    timers: &'a mut Timers,
    lines: &'a mut Lines,
    wires: &'a [Wire],
    mail: &'a mut [Vec<Mail>],
    record: &'a mut Record,
}

impl World for Outside<'_> {
    #[inline]
    fn now(&self) -> Time {
        self.now
    }

    #[inline]
    fn deliver(&mut self, port: u32, at: Time, packet: &PacketMeta) {
        let wire = self.wires[port as usize];
        if wire.domain == self.domain {
            let next = &mut self.next[wire.node as usize];
            *next = (*next).min(at.0);
            self.lines.push(wire.line, at, packet);
        } else {
            self.mail[wire.domain as usize].push(Mail { wire, at, packet: *packet });
        }
    }

    #[inline]
    fn schedule(&mut self, at: Time, key: Key, item: u32) {
        self.timers.push(Event::new(at, key, item));
    }

    #[inline]
    fn record(&mut self) -> &mut Record {
        self.record
    }
}

/// An event of a node: one that it has scheduled, or a packet on one of its links.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Timer,
    Line(u32),
}

impl Domain {
    pub(super) fn new(id: u32, domains: usize) -> Domain {
        Domain {
            id,
            nodes: Vec::new(),
            spans: Vec::new(),
            next: Vec::new(),
            timers: Vec::new(),
            lines: Lines::default(),
            wires: Arc::default(),
            mail: (0..domains).map(|_| Vec::new()).collect(),
            record: Record::default(),
            now: Time::ZERO,
            due: Vec::new(),
            following: Vec::new(),
        }
    }

    /// One more node, at which these links end: the ports that send into them, ascending, and where
    /// they come in. Gives its place.
    pub(super) fn add(&mut self, node: Node, links: &[(u32, PortId)]) -> u32 {
        let first = self.lines.len() as u32;
        links.iter().for_each(|(port, into)| self.lines.add(*port, *into));
        self.nodes.push(node);
        self.spans.push((first, self.lines.len() as u32));
        self.next.push(NEVER);
        self.timers.push(Timers::default());
        (self.nodes.len() - 1) as u32
    }

    /// The links that end at a node.
    pub(super) fn span(&self, node: u32) -> std::ops::Range<u32> {
        let (from, to) = self.spans[node as usize];
        from..to
    }

    /// Adds an event of a node.
    pub(super) fn schedule(&mut self, node: u32, event: Event) {
        self.timers[node as usize].push(event);
        let next = &mut self.next[node as usize];
        *next = (*next).min(event.time.0);
    }

    /// When the next event of the domain is.
    pub(super) fn next_time(&self) -> u64 {
        self.next.iter().copied().min().unwrap_or(NEVER)
    }

    /// Lets every node handle its events before `bound`: nothing that a node sends arrives before. What
    /// arrives at the next node is looked up while the one before is busy, so that it is in the cache.
    pub(super) fn run(&mut self, net: &Network, bound: Bound) {
        let (mut due, mut following) = (std::mem::take(&mut self.due), Vec::new());
        std::mem::swap(&mut following, &mut self.following);
        let mut node = self.foresee(0, bound, &mut due);
        while node < self.nodes.len() {
            let next = self.foresee(node + 1, bound, &mut following);
            self.run_node(node, net, bound, &due);
            due.clear();
            std::mem::swap(&mut due, &mut following);
            node = next;
        }
        (self.due, self.following) = (due, following);
    }

    /// The first node from this one on that has something before `bound`, and what arrives there.
    #[inline]
    fn foresee(&mut self, from: usize, bound: Bound, due: &mut Vec<Due>) -> usize {
        let limit = arrivals_before(bound);
        let Some(ahead) = self.next[from..].iter().position(|next| *next <= bound.0.0) else {
            return self.nodes.len();
        };
        let node = from + ahead;
        let (first, last) = self.spans[node];
        self.next[node] = self.lines.foresee(first..last, limit, due);
        if last - first > 1 {
            sort(due);
        }
        node
    }

    #[inline]
    fn run_node(&mut self, node: usize, net: &Network, bound: Bound, due: &[Due]) {
        self.record.counters.packet_hops += due.len() as u64;
        self.record.counters.events += due.len() as u64;
        if let Some(last) = due.last() {
            self.now = self.now.max(Time(last.time));
        }
        for arrival in due {
            if self.timers[node].first <= arrival.time {
                let key = Key::new(Class::Arrival, self.lines.rings[arrival.line()].port);
                self.run_timers(node, net, (Time(arrival.time), key));
            }
            self.handle_arrival(node, *arrival, net);
        }
        if self.timers[node].first <= bound.0.0 {
            self.run_timers(node, net, bound);
        }
        self.next[node] = self.next[node].min(self.timers[node].first);
    }

    /// Handles the events that the node has scheduled before `bound`. One that schedules ever more at
    /// one instant is given up.
    fn run_timers(&mut self, node: usize, net: &Network, bound: Bound) {
        let (mut since, mut still) = (Time::MAX, 0);
        while let Some(event) = self.timers[node].peek()
            && (event.time, event.key()) < bound
        {
            still = if event.time == since { still + 1 } else { 0 };
            since = event.time;
            if still >= MOST_AT_ONE_INSTANT {
                self.record.stalled = Some(still);
                return;
            }
            self.handle_timer(node, net);
        }
    }

    #[inline]
    fn find_next(&mut self, node: usize) {
        let (from, to) = self.spans[node];
        let heads = &self.lines.heads[from as usize..to as usize];
        let arrival = heads.iter().copied().min().unwrap_or(NEVER);
        self.next[node] = arrival.min(self.timers[node].first);
    }

    /// A packet arrives; its hop has been counted.
    #[inline(always)]
    fn handle_arrival(&mut self, node: usize, arrival: Due, net: &Network) {
        let now = Time(arrival.time);
        let ring = &mut self.lines.rings[arrival.line()];
        let mut packet = ring.pop(arrival.time);
        ring.chain = hash_hop(ring.chain, &packet, now);
        if packet.notes & PacketMeta::LOST != 0 {
            return self.record.lost(&packet, ring.port, net.measuring, now);
        }
        let into = ring.into;
        self.with(node, now, |node, world| node.arrive(into, &mut packet, net, world));
    }

    fn handle_timer(&mut self, node: usize, net: &Network) {
        let Some(event) = self.timers[node].pop() else { return };
        self.now = self.now.max(event.time);
        self.record.counters.events += 1;
        self.with(node, event.time, |node, world| {
            node.on_timer(event.key(), event.item(), net, world);
        });
    }

    /// Calls a node with its world.
    #[inline(always)]
    fn with(&mut self, node: usize, now: Time, what: impl FnOnce(&mut Node, &mut Outside<'_>)) {
        let mut outside = Outside {
            now,
            domain: self.id,
            next: &mut self.next,
            timers: &mut self.timers[node],
            lines: &mut self.lines,
            wires: &self.wires,
            mail: &mut self.mail,
            record: &mut self.record,
        };
        what(&mut self.nodes[node], &mut outside);
    }

    /// The same for a caller that is no event: what the node schedules is seen to.
    pub(super) fn call(
        &mut self,
        node: u32,
        now: Time,
        what: &mut dyn FnMut(&mut Node, &mut dyn World),
    ) {
        self.with(node as usize, now, |node, world| what(node, world));
        self.find_next(node as usize);
    }

    /// The first event of the domain, in the order of events.
    pub(super) fn first(&self) -> Option<(Bound, u32)> {
        let time = self.next_time();
        let nodes = self.next.iter().enumerate().filter(|(_, next)| **next == time);
        let first =
            nodes.filter_map(|(node, _)| self.first_of(node).map(|(at, _)| (at, node as u32)));
        first.min()
    }

    fn first_of(&self, node: usize) -> Option<(Bound, Next)> {
        let (from, to) = self.spans[node];
        let line = (from..to).min_by_key(|line| self.lines.heads[*line as usize]);
        let arrival = line.filter(|line| self.lines.heads[*line as usize] != NEVER).map(|line| {
            let key = Key::new(Class::Arrival, self.lines.rings[line as usize].port);
            ((Time(self.lines.heads[line as usize]), key), Next::Line(line))
        });
        let timer = self.timers[node].peek().map(|e| ((e.time, e.key()), Next::Timer));
        arrival.into_iter().chain(timer).min()
    }

    /// Handles the first event of a node.
    pub(super) fn step(&mut self, node: u32, net: &Network) {
        let node = node as usize;
        match self.first_of(node) {
            Some((_, Next::Line(line))) => {
                let mut due = std::mem::take(&mut self.due);
                due.clear();
                let limit = self.lines.heads[line as usize] + 1;
                self.lines.foresee(line..line + 1, limit, &mut due);
                self.run_node(node, net, (Time::ZERO, Key::FIRST), &due);
                due.clear();
                self.due = due;
            }
            Some((_, Next::Timer)) => self.handle_timer(node, net),
            None => {}
        }
        self.find_next(node);
    }

    /// Takes what is for another domain.
    pub(super) fn take_mail(&mut self, domain: usize) -> Vec<Mail> {
        std::mem::take(&mut self.mail[domain])
    }

    /// Puts what another domain has sent onto its links, and gives the emptied list back.
    pub(super) fn receive(&mut self, mut mail: Vec<Mail>) -> Vec<Mail> {
        for Mail { wire, at, packet } in mail.drain(..) {
            self.lines.push(wire.line, at, &packet);
            let next = &mut self.next[wire.node as usize];
            *next = (*next).min(at.0);
        }
        mail
    }

    /// Gives an emptied list back, for its memory.
    pub(super) fn reuse(&mut self, domain: usize, mail: Vec<Mail>) {
        self.mail[domain] = mail;
    }
}

/// Arrivals before this time come before `bound`: at one instant they are after changes of links and
/// general ports' departures, before all else.
fn arrivals_before(bound: Bound) -> u64 {
    let (time, key) = bound;
    time.0 + u64::from(key.class_or_last() > Class::Arrival)
}

/// Sorts what arrives by time, then link. What comes from one link is in order already.
#[inline]
fn sort(due: &mut [Due]) {
    const SMALL: usize = 16;
    if due.len() > SMALL {
        due.sort_unstable();
        return;
    }
    for i in 1..due.len() {
        let arrival = due[i];
        let mut at = i;
        while at > 0 && due[at - 1] > arrival {
            due[at] = due[at - 1];
            at -= 1;
        }
        due[at] = arrival;
    }
}
