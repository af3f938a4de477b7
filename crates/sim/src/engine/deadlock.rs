//! Ports that wait for each other in a ring: each is paused because packets wait that can only leave by the next.
//!
//! A paused queue is given the benefit of the doubt: all queues that may still drain are thought to be empty. If the
//! far end would still not let it go on, it never will, since what arrives meanwhile only makes it worse.

use super::agenda::Item;
use super::{RunError, Simulation};
use crate::output::Deadlock;
use leafspine_core::{Span, SwitchId, Time};
use leafspine_fabric::{Owner, ResolvedChange};
use leafspine_node::pfc::{Held, PRIORITIES};
use leafspine_node::{Egress, Key, Store};
use std::collections::{BTreeMap, BTreeSet};

/// A service queue of a port, by the port's global number.
type Queue = (u32, usize);

/// For each queue of a switch: what waits there by ingress port, of the queue's own priority.
type Waiting = BTreeMap<Queue, BTreeMap<u16, u64>>;

/// So long after the start and after each other ports are looked at, or a part of the time so far if
/// that is longer: times that are the same whoever drives the run, and few in a long one. A look comes
/// after all that happens at its time, changes of links above all.
const EVERY: Span = Span::from_millis(1);
/// Such a part of the time so far.
const PART: u64 = 1024;

impl Simulation {
    /// A run without an end of its own is looked at now and then; one with an end goes on to it.
    pub(super) fn start_watching_pauses(&mut self) {
        if self.until.is_none() && self.may_deadlock() {
            self.agenda.add((Time::ZERO + EVERY, Key::LAST), Item::Pauses);
        }
    }

    /// Ends a run whose ports wait for each other.
    pub(super) fn watch_pauses(&mut self, time: Time) -> Result<(), RunError> {
        let nodes_go_on = self.driver.next_time().is_some() || self.flows.next_at().is_some();
        if !nodes_go_on && self.agenda.next().is_none() {
            // Nothing is left to happen: the run's time stays that of the last event.
            return Ok(());
        }
        self.now = time;
        if let Some(deadlock) = self.find_deadlock() {
            return Err(self.stuck(self.events(), deadlock.to_string()));
        }
        let later = Span((time.0 / PART).max(EVERY.0));
        self.agenda.add((time + later, Key::LAST), Item::Pauses);
        Ok(())
    }

    fn may_deadlock(&self) -> bool {
        let pfc = self.driver.switch(SwitchId(0)).egress.pfc();
        pfc.is_some_and(|pfc| pfc.watchdog.is_none())
    }

    /// Ports that wait for each other, unless something is to come that can free them.
    pub(super) fn find_deadlock(&self) -> Option<Deadlock> {
        let end = self.until.unwrap_or(Time::MAX);
        let to_come = |change: &ResolvedChange| change.at > self.now && change.at <= end;
        if !self.may_deadlock() || self.changes.iter().any(to_come) {
            return None;
        }
        let mut blocked = self.paused_queues();
        if blocked.is_empty() {
            return None;
        }
        let waiting = self.waiting_by_ingress();
        loop {
            let stay: BTreeSet<Queue> = blocked
                .iter()
                .copied()
                .filter(|queue| self.stays(*queue, &blocked, &waiting))
                .collect();
            if stay.len() == blocked.len() {
                break;
            }
            blocked = stay;
        }
        let ring = self.ring(*blocked.first()?, &blocked, &waiting);
        let since = ring.iter().filter_map(|queue| self.paused_since(*queue)).max();
        Some(Deadlock { since: since.unwrap_or(self.now), ring: self.ring_text(&ring) })
    }

    fn paused_since(&self, (at, priority): Queue) -> Option<Time> {
        let Owner::Switch(id) = self.graph.ports[at as usize].owner else { return None };
        let egress = &self.driver.switch(id).egress;
        match &egress.ports[(at - egress.first) as usize].store {
            Store::General(general) => general.paused_since(priority),
            Store::Fifo(_) => None,
        }
    }

    /// Queues that are paused and have packets.
    fn paused_queues(&self) -> BTreeSet<Queue> {
        let mut found = BTreeSet::new();
        self.each_port(&mut |at, port| {
            let Store::General(general) = &port.store else { return };
            for queue in 0..general.queues() {
                let waits = general.queue(queue, self.now).packets > 0;
                if waits
                    && general
                        .pauses()
                        .is_some_and(|p| queue < PRIORITIES && p.paused_since(queue).is_some())
                {
                    found.insert((at, queue));
                }
            }
        });
        found
    }

    fn waiting_by_ingress(&self) -> Waiting {
        let mut found = Waiting::new();
        self.each_port(&mut |at, port| {
            let Store::General(general) = &port.store else { return };
            for queued in general.waiting() {
                let by_port = found.entry((at, usize::from(queued.queue))).or_default();
                *by_port.entry(queued.from).or_default() += u64::from(queued.size());
            }
        });
        found
    }

    /// The switch at the far end of a port's link, and the port there; a host sends no pauses.
    fn far_end(&self, at: u32) -> Option<(&Egress, u16)> {
        let peer = &self.graph.ports[self.graph.ports[at as usize].peer as usize];
        match peer.owner {
            Owner::Switch(id) => Some((&self.driver.switch(id).egress, peer.local.0)),
            Owner::Host(_) => None,
        }
    }

    /// Of a switch's ingress port and priority: bytes that wait in queues that are blocked.
    fn left(
        egress: &Egress,
        from: u16,
        priority: usize,
        blocked: &BTreeSet<Queue>,
        waiting: &Waiting,
    ) -> u64 {
        let queues = (egress.first..).take(egress.ports.len()).map(|at| (at, priority));
        let here = queues.filter(|queue| blocked.contains(queue));
        here.filter_map(|queue| waiting.get(&queue)?.get(&from)).sum()
    }

    /// Whether a queue would still be paused if all were sent that is not blocked.
    fn stays(&self, (at, priority): Queue, blocked: &BTreeSet<Queue>, waiting: &Waiting) -> bool {
        let Some((egress, from)) = self.far_end(at) else { return false };
        let (Some(pfc), Some(mut pool)) = (egress.pfc(), egress.shared) else { return false };
        let after = |from: u16, priority: usize| {
            let held = pfc.ports[usize::from(from)].groups[priority].held;
            drained(held, Self::left(egress, from, priority, blocked, waiting))
        };
        pool.used = 0;
        for from in 0..pfc.ports.len() as u16 {
            pool.used += (0..PRIORITIES).map(|priority| after(from, priority).shared).sum::<u64>();
        }
        let group = pfc.ports[usize::from(from)].groups[priority];
        group.stop && group.announced && pfc.keeps_stopped(after(from, priority), &pool)
    }

    /// A ring among the blocked queues.
    fn ring(&self, first: Queue, blocked: &BTreeSet<Queue>, waiting: &Waiting) -> Vec<Queue> {
        let (mut way, mut queue) = (Vec::new(), first);
        while !way.contains(&queue) {
            way.push(queue);
            let Some((egress, from)) = self.far_end(queue.0) else { break };
            let next =
                (egress.first..).take(egress.ports.len()).map(|at| (at, queue.1)).find(|next| {
                    blocked.contains(next)
                        && waiting.get(next).is_some_and(|by| by.contains_key(&from))
                });
            let Some(next) = next else { break };
            queue = next;
        }
        way.drain(..way.iter().position(|at| *at == queue).unwrap_or(0));
        way
    }

    fn ring_text(&self, ring: &[Queue]) -> String {
        let names: Vec<String> = ring.iter().map(|(at, _)| self.graph.port_name(*at)).collect();
        let priority = ring[0].1;
        format!("{} waits for {} (priority {priority})", names.join(" waits for "), names[0])
    }
}

/// What is held when only so many bytes of it are left.
fn drained(held: Held, left: u64) -> Held {
    let mut gone = held.total().saturating_sub(left);
    let mut part = |bytes: u64| {
        let taken = gone.min(bytes);
        gone -= taken;
        bytes - taken
    };
    let headroom = part(held.headroom);
    let shared = part(held.shared);
    Held { headroom, shared, reserve: part(held.reserve) }
}
