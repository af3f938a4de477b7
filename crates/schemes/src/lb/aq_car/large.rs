//! The large flows that a leaf receives: how many by each ingress port, and which should move (§II-B2c).
//!
//! "Once a destination leaf switch detects that two large flows share the same port and there exists
//! another port with no large flows, it piggybacks one of the large flows' ACK packets with the ports
//! that do not have large flows." The two may be of different source leaves: either's can move its own.
//! Or, as a narrower reading, they must be of one.

use super::super::hash::region;
use super::table::PortSet;
use leafspine_core::{FiveTuple, Span, Time, mix};

/// One large flow.
#[derive(Clone, Copy, Debug)]
struct Flow {
    flow: FiveTuple,
    /// When its last packet came; `NEVER` if the entry is empty.
    last: Time,
    /// It is not asked to move before this.
    quiet_until: Time,
    /// Which flows it may be parted from: the source's leaf, or 0.
    group: u16,
    /// The ingress port that it comes by.
    port: u8,
    /// Whether its ACKs name the free ports.
    notified: bool,
}

/// `Flow::last` of an empty entry.
const NEVER: Time = Time::MAX;

/// The flows that may be parted from each other: those of one source leaf, or all.
#[derive(Clone, Debug)]
struct Group {
    /// By ingress port.
    flows: Vec<u16>,
    /// Ports of which one flow is asked to leave.
    notified: PortSet,
}

/// See the module's text. Hashed: a flow whose entry another has is not counted.
pub(super) struct LargeFlows {
    seed: u64,
    table: Vec<Flow>,
    /// By ingress port, all source leaves together: §II-B2's "large" table.
    per_port: Vec<u32>,
    groups: Vec<Group>,
    /// Whether a group is a source leaf's flows; else there is one group.
    by_leaf: bool,
    /// Ports that have a large flow.
    used: PortSet,
    /// All ports.
    ports: PortSet,
    /// No entry's last packet is older than this, so none has fallen silent before this and `silence`.
    oldest: Time,
    /// A flow ends after so long without a packet.
    silence: Span,
    /// At most one move per flow in this time.
    pause: Span,
    /// Flows that are asked to move now: mostly none, which saves the search.
    notified: usize,
}

impl LargeFlows {
    /// Only flows of one source leaf are parted if there are `leaves` apart; `None`: any two.
    pub(super) fn new(
        entries: usize,
        leaves: Option<usize>,
        uplinks: usize,
        (silence, pause): (Span, Span),
        seed: u64,
    ) -> LargeFlows {
        let flow = FiveTuple(0);
        let empty =
            Flow { flow, last: NEVER, quiet_until: Time::ZERO, group: 0, port: 0, notified: false };
        let mut ports = PortSet::default();
        (0..uplinks).for_each(|port| ports.insert(port as u8));
        let group = Group { flows: vec![0; uplinks], notified: PortSet::default() };
        LargeFlows {
            seed,
            table: vec![empty; entries],
            per_port: vec![0; uplinks],
            groups: vec![group; leaves.unwrap_or(1)],
            by_leaf: leaves.is_some(),
            used: PortSet::default(),
            ports,
            oldest: NEVER,
            silence,
            pause,
            notified: 0,
        }
    }

    fn slot(&self, flow: FiveTuple) -> usize {
        region(mix(flow.0 ^ self.seed), self.table.len())
    }

    /// The ports without large flows.
    fn free(&self) -> PortSet {
        PortSet(self.ports.0 & !self.used.0)
    }

    /// A packet of a large flow from `leaf` has come by ingress port `port`; `last` if it ends its flow.
    pub(super) fn arrived(&mut self, flow: FiveTuple, leaf: u16, port: u8, fin: bool, now: Time) {
        let group = if self.by_leaf { leaf } else { 0 };
        if usize::from(group) >= self.groups.len() || usize::from(port) >= self.per_port.len() {
            return;
        }
        self.end_silent(now);
        let slot = self.slot(flow);
        let entry = self.table[slot];
        let known = entry.last != NEVER;
        if known && entry.flow != flow {
            return;
        }
        if fin {
            if known {
                self.end(slot);
            }
            return;
        }
        if !known {
            let quiet_until = Time::ZERO;
            self.table[slot] = Flow { flow, last: now, quiet_until, group, port, notified: false };
            self.count(group, port);
            self.oldest = self.oldest.min(now);
        } else if entry.port != port {
            self.moved(slot, port, now);
        }
        self.table[slot].last = now;
        self.consider(slot, now);
    }

    /// The flow has come by another port than before.
    fn moved(&mut self, slot: usize, port: u8, now: Time) {
        self.withdraw(slot);
        let Flow { group, port: old, .. } = self.table[slot];
        self.uncount(group, old);
        self.count(group, port);
        let flow = &mut self.table[slot];
        flow.port = port;
        flow.quiet_until = now + self.pause;
    }

    /// Asks the flow to move if it shares its port, another is free, and no other of the two is asked.
    fn consider(&mut self, slot: usize, now: Time) {
        let Flow { group, port, notified, quiet_until, .. } = self.table[slot];
        let free = !self.free().is_empty();
        let group = &mut self.groups[usize::from(group)];
        let shared = group.flows[usize::from(port)] >= 2;
        if notified || !shared || !free || group.notified.has(port) || now < quiet_until {
            return;
        }
        group.notified.insert(port);
        self.table[slot].notified = true;
        self.notified += 1;
    }

    /// The ports that an ACK of `flow` names, if it is asked to move: those without large flows whose
    /// link is in `live`. Without any, or when it shares its port no longer, it is asked no more.
    #[inline]
    pub(super) fn named(
        &mut self,
        flow: FiveTuple,
        live: impl FnOnce() -> PortSet,
        now: Time,
    ) -> Option<PortSet> {
        if self.notified == 0 {
            return None;
        }
        self.end_silent(now);
        let slot = self.slot(flow);
        let Flow { flow: owner, last, group, port, notified, .. } = self.table[slot];
        if last == NEVER || owner != flow || !notified {
            return None;
        }
        let named = PortSet(self.free().0 & live().0);
        let shared = self.groups[usize::from(group)].flows[usize::from(port)] >= 2;
        if named.is_empty() || !shared {
            self.withdraw(slot);
            return None;
        }
        Some(named)
    }

    /// Ends flows that have been silent for long enough: by FIN or by silence.
    fn end_silent(&mut self, now: Time) {
        if now.since(self.oldest) < self.silence {
            return;
        }
        self.oldest = NEVER;
        for slot in 0..self.table.len() {
            let last = self.table[slot].last;
            if last == NEVER {
                continue;
            }
            if now.since(last) >= self.silence {
                self.end(slot);
            } else {
                self.oldest = self.oldest.min(last);
            }
        }
    }

    fn end(&mut self, slot: usize) {
        self.withdraw(slot);
        let Flow { group, port, .. } = self.table[slot];
        self.uncount(group, port);
        self.table[slot].last = NEVER;
    }

    fn withdraw(&mut self, slot: usize) {
        let Flow { group, port, notified, .. } = self.table[slot];
        if notified {
            self.table[slot].notified = false;
            self.groups[usize::from(group)].notified.remove(port);
            self.notified -= 1;
        }
    }

    fn count(&mut self, group: u16, port: u8) {
        self.groups[usize::from(group)].flows[usize::from(port)] += 1;
        self.per_port[usize::from(port)] += 1;
        self.used.insert(port);
    }

    fn uncount(&mut self, group: u16, port: u8) {
        self.groups[usize::from(group)].flows[usize::from(port)] -= 1;
        self.per_port[usize::from(port)] -= 1;
        if self.per_port[usize::from(port)] == 0 {
            self.used.remove(port);
        }
    }

    /// Bytes that all this takes.
    pub(super) fn bytes(&self) -> usize {
        let per_group = size_of::<Group>() + self.per_port.len() * size_of::<u16>();
        self.table.len() * size_of::<Flow>()
            + self.per_port.len() * size_of::<u32>()
            + self.groups.len() * per_group
    }
}

#[cfg(test)]
#[path = "large_tests.rs"]
mod tests;
