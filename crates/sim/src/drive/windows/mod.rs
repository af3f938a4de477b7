//! Nodes run ahead of each other, by the shortest link's latency.
//!
//! What a node sends arrives a link's latency later or more. So time advances in windows of the
//! shortest latency: within one, no node can learn of what another does, and each handles all its
//! events of the window in one go, while its state is in the cache. The order of a node's events is
//! that of the contract, so nothing that can be seen depends on the order of nodes, or on which thread
//! they are handled.
//!
//! Where every link leads from one side of the fabric to the other (hosts and spines on one, leaves on
//! the other; no ring of odd length), the sides take turns, and windows are twice as long: what a node
//! sends comes back to its own side two latencies later or more. When the nodes of one side have
//! handled all before `t`, those of the other may go on to `t` and a latency.
//!
//! Hosts whose links are longer than that (by what network cards and kernels take, say) are a third side,
//! with longer windows: one is as long as their shortest link's latency.
//!
//! When all flows have their last byte, the run may end at any event: from then on events are handled
//! one after the other over the whole fabric, as the calendar does.

mod blocks;
mod crew;
mod dealing;
mod domain;
mod lines;
mod partition;
mod rest;
mod sides;
mod timers;
mod tray;
mod wheel;

pub(crate) use dealing::Deals;
pub(crate) use sides::Lookahead;

use super::{Bound, Came, Ending, Layout, Task};
use crew::Crew;
use dealing::{Dealing, Passed};
use domain::{Domains, Pass};
use leafspine_core::{PacketMeta, Span, Time};
use leafspine_node::{Counters, Event, Key, Network, Node, Record, World};
use lines::Line;
use partition::{Parts, most_domains, partition};
use sides::{SIDES, Sides};
use std::sync::Arc;
use wheel::Grid;

/// So many windows may pass before flows are opened, records looked at, links changed.
const WINDOWS: u64 = 16;

/// After so many packet-hops it is time to look at the run, which may have been interrupted: some tenths
/// of a second.
const AT_ONCE: u64 = 1 << 21;

/// All nodes, in domains.
pub(crate) struct WindowsDriver {
    domains: Domains,
    /// Per node: its domain, and its place there.
    places: Vec<(u32, u32)>,
    /// The windows of each side.
    grids: [Grid; SIDES],
    sides: Sides,
    /// How many domains there are to be.
    dealing: Dealing,
    /// Threads for all domains but the first.
    crew: Crew,
    /// Before this some nodes have handled all; others may be behind.
    ahead: Time,
}

impl WindowsDriver {
    /// Of `nodes`, on at most so many threads.
    pub(crate) fn new(
        nodes: Vec<Node>,
        layout: &Layout,
        lookahead: Lookahead,
        (threads, deals): (usize, Deals),
    ) -> WindowsDriver {
        assert!(lookahead.least() > Span::ZERO, "links without latency leave no window");
        let most = threads.clamp(1, most_domains(&nodes));
        let dealing = Dealing::new(deals, most, layout.targets.len());
        let sides = Sides::new(layout, lookahead);
        let Parts { domains, places } = partition(nodes, layout, &sides, dealing.first());
        let (grids, crew, ahead) = (sides.grids(), Crew::default(), Time::ZERO);
        WindowsDriver { domains, places, grids, sides, dealing, crew, ahead }
    }

    /// Deals the nodes, with all that is on its way to them, out to another number of domains.
    fn deal(&mut self, layout: &Layout, domains: usize) {
        let (mut old, before) =
            (std::mem::take(&mut self.domains), std::mem::take(&mut self.places));
        let mut nodes: Vec<Vec<Option<Node>>> = old.iter_mut().map(|d| d.take_nodes()).collect();
        let node = |(domain, place): &(u32, u32)| {
            let node = nodes[*domain as usize][*place as usize].take();
            node.expect("each node has its place")
        };
        let nodes = before.iter().map(node).collect();
        let Parts { domains, places } = partition(nodes, layout, &self.sides, domains);
        (self.domains, self.places) = (domains, places);
        for domain in &mut self.domains {
            domain.turn_to(old[0].currents());
        }
        for ((from, there), (to, place)) in before.into_iter().zip(&self.places) {
            self.domains[*to as usize].take_over(*place, &mut old[from as usize], there);
        }
        for domain in old {
            self.domains[0].now = self.domains[0].now.max(domain.now);
            self.domains[0].outside.record.absorb(domain.outside.record);
        }
    }

    /// How long the shortest windows are, at most, in which nodes handle their events in one go, and
    /// how many nodes have such: all, or the switches.
    pub(crate) fn window(layout: &Layout, lookahead: Lookahead) -> (Span, usize) {
        let sides = Sides::new(layout, lookahead);
        (sides.window(), sides.nodes())
    }

    /// Handles events before the task's bound, which is at most [`WindowsDriver::horizon`].
    pub(crate) fn advance(&mut self, task: Task<'_>) -> Came {
        let mut passed = Passed::default();
        let came = self.pass_windows(task, &mut passed);
        self.settle();
        let now = self.domains.len();
        let domains = self.dealing.after(passed, now, self.crew.rests_long());
        if domains != now {
            self.deal(task.layout, domains);
        }
        came
    }

    /// Packet-hops so far.
    fn hops(&self) -> u64 {
        self.records().map(|record| record.counters.packet_hops).sum()
    }

    fn pass_windows(&mut self, task: Task<'_>, passed: &mut Passed) -> Came {
        let Task { net, bound, ending, operations, .. } = task;
        // Sides that have handled all before the bound.
        let mut there = [false; SIDES];
        let first = self.hops();
        loop {
            if ending.is_some_and(|ending| self.may_end(ending)) {
                self.settle();
                return self.step(net, bound, ending);
            }
            let Some((start, side, window)) = self.next_window(there) else {
                return Came::ToBound;
            };
            if start > bound.0 {
                return Came::ToBound;
            }
            let end = (self.grids[side].start_of(window + 1), Key::FIRST).min(bound);
            self.run(net, Pass { side, window, bound: end });
            self.exchange();
            self.ahead = self.ahead.max(end.0);
            *passed = Passed { windows: passed.windows + 1, hops: self.hops() - first };
            if self.records().any(|record| record.fault.is_some()) {
                return Came::ToAFault;
            }
            if let Some(events) = self.records().find_map(|record| record.stalled) {
                return Came::Nowhere(events);
            }
            if operations && self.records().any(|record| !record.operations.is_empty()) {
                return Came::PartOfTheWayAhead;
            }
            if passed.hops >= AT_ONCE {
                return Came::PartOfTheWayAhead;
            }
            there[side] = end == bound;
        }
    }

    /// Lets all nodes of a side handle their events of a window before its bound.
    fn run(&mut self, net: &Arc<Network>, pass: Pass) {
        if self.domains.len() > 1 && self.dealing.has_threads() {
            self.crew.run(&mut self.domains, net, pass);
        } else {
            self.domains.iter_mut().for_each(|domain| domain.run(net, pass));
        }
    }

    fn records(&self) -> impl Iterator<Item = &Record> {
        self.domains.iter().map(|domain| &domain.outside.record)
    }

    /// The next window in which there may be something to do, and its start and side; of the sides that
    /// are not `there` yet. All of the other sides before that start has happened.
    fn next_window(&self, there: [bool; SIDES]) -> Option<(Time, usize, u64)> {
        let next = |side: usize| {
            let windows = self.domains.iter().filter_map(|domain| domain.next_window(side));
            let window = windows.min().filter(|_| !there[side])?;
            Some((self.grids[side].start_of(window), side, window))
        };
        // The first windows both begin with the run, the second side's with its second half.
        [1, 0, 2].into_iter().filter_map(next).min_by_key(|(start, ..)| *start)
    }

    /// Whether all flows have their last byte: then the next event may be the run's last.
    fn may_end(&self, ending: Ending) -> bool {
        let finished: usize = self.records().map(|record| record.finished.len()).sum();
        ending.incomplete == finished as u64
    }

    /// Handles events one after the other.
    fn step(&mut self, net: &Network, bound: Bound, ending: Option<Ending>) -> Came {
        const STEPS: u32 = 1 << 14;
        let mut came_to = Time::ZERO;
        for _ in 0..STEPS {
            let Some((start, ..)) = self.next_window([false; SIDES]) else { return Came::ToBound };
            if start > bound.0 {
                return Came::ToBound;
            }
            let Some(((at, line), domain)) = self.first_event(bound) else { continue };
            if at >= bound {
                return Came::ToBound;
            }
            self.domains[domain].step(line, net);
            self.settle();
            came_to = at.0;
            if self.domains[domain].outside.record.fault.is_some() {
                return Came::ToAFault;
            }
            if self.is_over(ending) {
                return Came::ToTheEnd;
            }
        }
        if came_to < self.ahead { Came::PartOfTheWayAhead } else { Came::PartOfTheWay }
    }

    /// The first event of all, its line, and the domain, or one that is not before `bound`; `None` if what
    /// was noted to be the first has turned out to be later.
    fn first_event(&mut self, bound: Bound) -> Option<((Bound, u32), usize)> {
        let alone = |side| self.next_window(std::array::from_fn(|other| other != side));
        let mut sides: [_; SIDES] = std::array::from_fn(alone);
        sides.sort_by_key(|next| next.map_or(Time::MAX, |(start, ..)| start));
        let mut first = None;
        for (start, side, window) in sides.into_iter().flatten() {
            // Turning a side to its window is right only if nothing happens before that: it could still
            // send into an earlier one.
            if start > bound.0 || first.is_some_and(|(((time, _), _), _)| time < start) {
                break;
            }
            let domains = (0..).zip(&mut self.domains);
            let found =
                domains.filter_map(|(at, domain)| Some((domain.first_in(side, window)?, at)));
            first = first.into_iter().chain(Some(found.min()?)).min();
        }
        first
    }

    fn is_over(&self, ending: Option<Ending>) -> bool {
        let sum = |of: fn(&Record) -> i64| self.records().map(of).sum::<i64>();
        ending.is_some_and(|ending| {
            sum(|record| record.flow_packets) == 0
                && sum(|record| record.senders_done as i64) == ending.flows as i64
        })
    }

    /// Hands over what domains have sent to each other. Each puts it on its links when it is its turn.
    fn exchange(&mut self) {
        let all = self.domains.len();
        for from in 0..all {
            for to in (0..all).filter(|to| *to != from) {
                let Ok([one, other]) = self.domains.get_disjoint_mut([from, to]) else { continue };
                let (mail, inbox) = (&mut one.outside.mail[to], &mut other.inbox[from]);
                if !mail.is_empty() {
                    debug_assert!(inbox.is_empty(), "what came before is on its links");
                    std::mem::swap(mail, inbox);
                }
            }
        }
    }

    /// The same, and all is on its links.
    fn settle(&mut self) {
        self.exchange();
        self.domains.iter_mut().for_each(|domain| domain.receive());
    }

    /// When the next event is.
    pub(crate) fn next_event(&self) -> Option<Time> {
        self.domains.iter().filter_map(|domain| domain.first()).min().map(|(time, _)| time)
    }

    /// How far nodes may be driven in one go, if a flow may start at `first`.
    pub(crate) fn horizon(&self, first: Option<Time>) -> Bound {
        let next = self.next_window([false; SIDES]).map(|(start, ..)| start);
        match next.into_iter().chain(first).min() {
            Some(time) => {
                // No other side's windows are longer than the hosts', if these have their own.
                let [.., grid] = self.grids;
                (grid.start_of(grid.window_of(time.0) + WINDOWS), Key::FIRST)
            }
            None => (Time::MAX, Key::FIRST),
        }
    }

    pub(crate) fn schedule(&mut self, node: u32, event: Event) {
        let (domain, place) = self.places[node as usize];
        self.domains[domain as usize].schedule(place, event);
    }

    pub(crate) fn node(&self, node: u32) -> &Node {
        let (domain, place) = self.places[node as usize];
        &self.domains[domain as usize].nodes[place as usize]
    }

    pub(crate) fn node_mut(&mut self, node: u32) -> &mut Node {
        let (domain, place) = self.places[node as usize];
        &mut self.domains[domain as usize].nodes[place as usize]
    }

    /// Calls a node with its world.
    pub(crate) fn with(
        &mut self,
        node: u32,
        now: Time,
        what: &mut dyn FnMut(&mut Node, &mut dyn World),
    ) {
        let (domain, place) = self.places[node as usize];
        self.domains[domain as usize].call(place, now, what);
        self.settle();
    }

    pub(crate) fn each_record(&mut self, visit: &mut dyn FnMut(&mut Record)) {
        self.domains.iter_mut().for_each(|domain| visit(&mut domain.outside.record));
    }

    pub(crate) fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.records().for_each(|record| sum.add(&record.counters));
        sum
    }

    pub(crate) fn now(&self) -> Time {
        self.domains.iter().map(|domain| domain.now).max().unwrap_or(Time::ZERO)
    }

    /// Calls `visit` with the hash of every link that packets have come over, and its port.
    pub(crate) fn each_chain(&self, visit: &mut dyn FnMut(u32, u64)) {
        for domain in &self.domains {
            let links = domain.outside.lines.list.iter().filter(|link| link.port != Line::TIMERS);
            links.for_each(|link| visit(link.port, link.chain));
        }
    }

    pub(crate) fn each_on_link(&self, visit: &mut dyn FnMut(u32, &PacketMeta)) {
        self.domains.iter().for_each(|domain| domain.outside.lines.each(visit));
    }

    pub(crate) fn lose_on_link(&mut self, port: u32) {
        self.domains.iter_mut().for_each(|domain| domain.outside.lines.lose(port));
    }
}
