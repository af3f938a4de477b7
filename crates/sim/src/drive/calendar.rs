//! One event after the other, from one queue over the whole fabric.

use super::layout::Target;
use super::pool::{Handle, Pool};
use super::queue::Calendar;
use super::{Came, Ending, Layout, Task, hash_hop};
use leafspine_core::{PacketMeta, Time};
use leafspine_node::{Class, Event, Key, Network, Node, Record, World, prefetch};

/// All nodes, and the calendar of their events.
pub(crate) struct CalendarDriver {
    pub(crate) nodes: Vec<Node>,
    pub(crate) calendar: Calendar,
    /// Packets on links.
    pub(crate) pool: Pool,
    pub(crate) record: Record,
    pub(crate) now: Time,
    /// Per port: its link.
    pub(crate) links: Vec<Link>,
}

/// What an arriving packet needs to know of its link, in one place: the target is the layout's.
pub(crate) struct Link {
    /// The hash over what has arrived.
    pub(crate) chain: u64,
    pub(crate) target: Target,
}

/// The calendar driver as one of its nodes sees it.
pub(crate) struct Outside<'a> {
    now: Time,
    calendar: &'a mut Calendar,
    pool: &'a mut Pool,
    record: &'a mut Record,
}

impl World for Outside<'_> {
    #[inline]
    fn now(&self) -> Time {
        self.now
    }

    #[inline]
    fn deliver(&mut self, port: u32, at: Time, packet: &PacketMeta) {
        // Here a link has the global number of the port that sends into it.
        let handle = self.pool.put(packet);
        self.calendar.push(at, Key::new(Class::Arrival, port), handle);
    }

    #[inline]
    fn schedule(&mut self, at: Time, key: Key, item: u32) {
        self.calendar.push(at, key, item);
    }

    #[inline]
    fn record(&mut self) -> &mut Record {
        self.record
    }
}

impl CalendarDriver {
    pub(crate) fn new(nodes: Vec<Node>, layout: &Layout, calendar: Calendar) -> CalendarDriver {
        let link = |target: &Target| Link { chain: 0, target: *target };
        CalendarDriver {
            nodes,
            calendar,
            pool: Pool::default(),
            record: Record::default(),
            now: Time::ZERO,
            links: layout.targets.iter().map(link).collect(),
        }
    }

    /// Handles events before `bound`, at most so many.
    pub(crate) fn advance(&mut self, task: Task<'_>) -> Came {
        let Task { layout, net, bound, ending, operations, budget } = task;
        for _ in 0..budget {
            let Some(event) = self.calendar.pop() else { return Came::ToBound };
            if (event.time, event.key()) >= bound {
                self.calendar.put_back(event);
                return Came::ToBound;
            }
            self.now = event.time;
            self.record.counters.events += 1;
            self.foresee();
            self.handle(event, layout, net);
            if self.record.fault.is_some() {
                return Came::ToAFault;
            }
            if let Some(Ending { flows, .. }) = ending
                && self.record.flow_packets == 0
                && self.record.senders_done == flows
            {
                return Came::ToTheEnd;
            }
            if operations && !self.record.operations.is_empty() {
                return Came::PartOfTheWay;
            }
        }
        Came::PartOfTheWay
    }

    /// Prefetches what one of the next events will need: a hop is five or six lines of memory that may
    /// be far away.
    #[inline]
    fn foresee(&mut self) {
        let Some((key, item)) = self.calendar.foresee() else { return };
        if key.is(Class::Arrival) {
            self.pool.prefetch(item);
            prefetch(&self.links, key.id() as usize);
        }
    }

    #[inline]
    fn handle(&mut self, event: Event, layout: &Layout, net: &Network) {
        let key = event.key();
        if key.is(Class::Arrival) {
            return self.arrival(key.id(), event.item(), net);
        }
        let node = layout.node_of(key, event.item());
        self.with(node, |node, world| node.on_timer(key, event.item(), net, world));
    }

    /// A packet has come to the end of the link of `port`.
    #[inline]
    fn arrival(&mut self, port: u32, handle: Handle, net: &Network) {
        let mut packet = self.pool[handle];
        self.pool.free(handle);
        let now = self.now;
        self.record.counters.packet_hops += 1;
        let link = &mut self.links[port as usize];
        link.chain = hash_hop(link.chain, &packet, now);
        let target = link.target;
        if packet.notes & PacketMeta::LOST != 0 {
            return self.record.lost(&packet, port, net.measuring, now);
        }
        self.with(target.node, |node, world| node.arrive(target.into, &mut packet, net, world));
    }

    /// When the next event is.
    pub(crate) fn next_time(&mut self) -> Option<Time> {
        let event = self.calendar.pop()?;
        self.calendar.put_back(event);
        Some(event.time)
    }

    /// Calls a node with its world.
    #[inline]
    pub(crate) fn with<T>(
        &mut self,
        node: u32,
        what: impl FnOnce(&mut Node, &mut Outside<'_>) -> T,
    ) -> T {
        let CalendarDriver { nodes, calendar, pool, record, now, .. } = self;
        let mut outside = Outside { now: *now, calendar, pool, record };
        what(&mut nodes[node as usize], &mut outside)
    }

    /// Calls `visit` with every packet on a link (or, of one-event ports, before it) and the port that
    /// sent it.
    pub(crate) fn each_on_link(&self, visit: &mut dyn FnMut(u32, &PacketMeta)) {
        for event in self.calendar.events() {
            if event.key().is(Class::Arrival) {
                visit(event.key().id(), &self.pool[event.item()]);
            }
        }
    }

    /// Puts the hash over what has arrived into `chains`, by port.
    pub(crate) fn each_chain(&self, chains: &mut [u64]) {
        for (chain, link) in chains.iter_mut().zip(&self.links) {
            *chain = link.chain;
        }
    }

    /// Packets on the link of `port` will not arrive.
    pub(crate) fn lose_on_link(&mut self, port: u32) {
        for event in self.calendar.events() {
            if event.key() == Key::new(Class::Arrival, port) {
                self.pool[event.item()].notes |= PacketMeta::LOST;
            }
        }
    }
}
