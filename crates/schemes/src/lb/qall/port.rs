//! State collection and state return at one egress port (§IV-E, Algorithm 3).

use super::index::{Behaviour, micros};
use crate::p4::{self, Word};
use leafspine_core::{Span, Time};
use std::cmp::Ordering;
use std::collections::VecDeque;

/// A clone packet's contents on its way back to the ingress (Fig. 6), most significant byte first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Clone10(pub(super) [u8; 10]);

impl Clone10 {
    /// Queue occupancy in 16 bits, interval in 48, trend in 8, port in 8 (the low ones: a switch with
    /// more than 256 ports would need another format).
    pub(super) fn encode(behaviour: Behaviour, port: u8) -> Clone10 {
        let mut bytes = [0; 10];
        bytes[..2].copy_from_slice(&u16::from(behaviour.occupancy).to_be_bytes());
        bytes[2..8].copy_from_slice(&behaviour.interval.to_be_bytes()[2..]);
        bytes[8] = behaviour.trend;
        bytes[9] = port;
        Clone10(bytes)
    }

    /// What the ingress writes into its registers, and whose they are (Algorithm 1 line 2).
    pub(super) fn decode(self) -> (Behaviour, u8) {
        let Clone10([o0, o1, i0, i1, i2, i3, i4, i5, trend, port]) = self;
        let occupancy = u16::from_be_bytes([o0, o1]).min(100) as u8;
        let interval = u64::from_be_bytes([0, 0, i0, i1, i2, i3, i4, i5]);
        (Behaviour { occupancy, interval, trend }, port)
    }
}

/// A return of state: the dequeue at `at` found that `update_period` had passed.
#[derive(Clone, Copy, Debug)]
struct Return {
    at: Time,
    interval: u64,
    /// Settled: what waited, in the buffer's unit. Until then: the port's `queued` after the packet.
    waiting: u64,
    /// V, with `by_packet`.
    trend: u8,
}

/// What all ports of a switch go by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// tau in microseconds.
    pub(super) tau: u64,
    pub(super) update_period: Span,
    pub(super) clone_delay: Span,
    /// V of a growing queue.
    pub(super) growth_weight: u8,
    /// The buffer, in packets or bytes.
    pub(super) buffer: u64,
    /// L is what the packet leaves behind, not what it found.
    pub(super) at_dequeue: bool,
    /// V is of L at the dequeue before, not of the L that was returned last.
    pub(super) by_packet: bool,
    /// On a P4 switch, whose clock is one of whole microseconds.
    pub(super) p4: bool,
}

impl Rules {
    /// The time that is written down for what happens at `time`.
    #[inline]
    fn stamp(&self, time: Time) -> Time {
        if self.p4 { p4::ticked(time) } else { time }
    }

    /// L in percent: `waiting` of the buffer.
    fn occupancy(&self, waiting: u64) -> u8 {
        if self.p4 {
            return p4::percent(Word(waiting), Word(p4::per_unit(self.buffer))).0 as u8;
        }
        (waiting.saturating_mul(100) / self.buffer.max(1)).min(100) as u8
    }
}

/// §IV-C: V is larger while the occupancy grows than while it shrinks; `before` while it is what it was.
fn trend(change: Ordering, before: u8, rules: &Rules) -> u8 {
    match change {
        Ordering::Greater => rules.growth_weight,
        Ordering::Less => 1,
        Ordering::Equal => before,
    }
}

/// One port: the egress pipeline's registers, clones on their way, and the ingress pipeline's copy.
///
/// A one-event port announces a dequeue when the packet is queued. Whether that dequeue returns state
/// follows from its time alone, so only returns are kept until their time comes, not packets.
#[derive(Debug)]
pub(super) struct PortState {
    /// Egress: the last dequeue that was announced, which may lie ahead.
    dequeued: Option<Time>,
    /// Egress: the last that returned state (Algorithm 3's `Timestamp_port_register`, 0 at first).
    returned: Time,
    /// Egress, with `by_packet` only: what the packet before found, and V there.
    found: (u32, u8),
    /// Egress, with `at_dequeue` only: all that was ever queued, in the buffer's unit.
    queued: u64,
    returns: VecDeque<Return>,
    /// With `at_dequeue`: so many of `returns`, from the front, are settled.
    settled: u32,
    most_returns: u32,
    /// When the next clone reaches the ingress.
    pub(super) next: Time,
    /// Ingress: what the last clone brought.
    pub(super) known: Behaviour,
    /// Its weight (eq. 6).
    pub(super) weight: u64,
    /// An idle time longer than this changes the weight.
    pub(super) fades_after: Span,
    /// When that was so which is known. Nothing is decided by it.
    since: Option<Time>,
}

impl PortState {
    /// Bytes that a switch would keep of it.
    pub(super) const BYTES: u32 = (size_of::<PortState>() - size_of::<Option<Time>>()) as u32;

    /// A port that has sent nothing, with room for so many returns on their way.
    pub(super) fn new(tau: u64, most_returns: usize) -> PortState {
        PortState {
            dequeued: None,
            returned: Time::ZERO,
            found: (0, 1),
            queued: 0,
            returns: VecDeque::with_capacity(most_returns),
            settled: 0,
            most_returns: u32::try_from(most_returns).unwrap_or(u32::MAX),
            next: Time::MAX,
            known: Behaviour { occupancy: 0, interval: tau, trend: 1 },
            weight: 0,
            fades_after: Span::MAX,
            since: None,
        }
    }

    /// Whether anything is collected here: not at ports towards hosts, among which there is no choice.
    pub(super) fn collects(&self) -> bool {
        self.most_returns > 0
    }

    /// Algorithm 3: a packet of `size` (in the buffer's unit) is dequeued at `at`, now or later. L comes
    /// from `waiting`, in the same unit.
    #[inline]
    pub(super) fn leaving(
        &mut self,
        at: Time,
        now: Time,
        size: u64,
        mut waiting: impl FnMut() -> u64,
        rules: &Rules,
    ) {
        if rules.at_dequeue {
            self.settle(now);
            self.queued += size;
        }
        let stamp = rules.stamp(at);
        let before = self.dequeued.replace(stamp);
        let mut waits = None;
        if rules.by_packet {
            let found = waiting();
            let before = self.found;
            // A buffer's content fits 32 bits, in either unit.
            self.found.0 = u32::try_from(found).unwrap_or(u32::MAX);
            self.found.1 = trend(self.found.0.cmp(&before.0), before.1, rules);
            waits = Some(found);
        }
        // Lines 3-4: dT2 = T1 - T2 <= Tb, the updating time has not come.
        if stamp.since(self.returned) <= rules.update_period {
            return;
        }
        self.returned = stamp;
        // T: between the last two dequeues (Fig. 2), at most tau (§IV-C).
        let interval =
            before.map_or(rules.tau, |before| micros(stamp.since(before)).min(rules.tau));
        let waiting = waits.unwrap_or_else(waiting);
        self.send_back(Return { at, interval, waiting, trend: self.found.1 }, now, rules);
    }

    #[cold]
    fn send_back(&mut self, mut sent: Return, now: Time, rules: &Rules) {
        // More clones on their way than can be are lost, as on a loop-back port that is full.
        if self.returns.len() >= self.most_returns as usize {
            return;
        }
        if rules.at_dequeue {
            match sent.at > now {
                true => sent.waiting = self.queued,
                // All before it have been sent, too.
                false => self.settled = self.returns.len() as u32 + 1,
            }
        }
        self.returns.push_back(sent);
        if self.returns.len() == 1 {
            self.next = sent.at + rules.clone_delay;
        }
    }

    /// What waited at a dequeue that has come: all that was queued behind the packet before it.
    fn settle(&mut self, now: Time) {
        while let Some(sent) = self.returns.get_mut(self.settled as usize)
            && sent.at <= now
        {
            sent.waiting = self.queued.saturating_sub(sent.waiting);
            self.settled += 1;
        }
    }

    /// Takes in the clones that have reached the ingress (Algorithm 1 lines 1-3). Returns whether
    /// there were any.
    #[inline]
    pub(super) fn receive(&mut self, port: u8, now: Time, rules: &Rules) -> bool {
        if self.next > now {
            return false;
        }
        self.receive_clones(port, now, rules);
        true
    }

    #[cold]
    fn receive_clones(&mut self, port: u8, now: Time, rules: &Rules) {
        if rules.at_dequeue {
            self.settle(now);
        }
        while let Some(sent) = self.returns.front()
            && sent.at + rules.clone_delay <= now
        {
            let (clone, at) = (Clone10::encode(self.behaviour(*sent, rules), port), sent.at);
            self.returns.pop_front();
            self.settled = self.settled.saturating_sub(1);
            (self.known, self.since) = (clone.decode().0, Some(at));
        }
        self.next = self.returns.front().map_or(Time::MAX, |sent| sent.at + rules.clone_delay);
    }

    fn behaviour(&self, sent: Return, rules: &Rules) -> Behaviour {
        let occupancy = rules.occupancy(sent.waiting);
        let trend = match rules.by_packet {
            true => sent.trend,
            false => trend(occupancy.cmp(&self.known.occupancy), self.known.trend, rules),
        };
        Behaviour { occupancy, interval: sent.interval, trend }
    }

    /// How long ago the last dequeue was; zero while one lies ahead, or if there was none.
    #[inline]
    pub(super) fn idle_for(&self, now: Time) -> Span {
        self.dequeued.map_or(Span::ZERO, |at| now.since(at))
    }

    /// The dequeue that the last clone to reach the ingress has reported.
    pub(super) fn known_since(&self, now: Time, rules: &Rules) -> Option<Time> {
        let arrived = self.returns.iter().take_while(|sent| sent.at + rules.clone_delay <= now);
        arrived.last().map(|sent| sent.at).or(self.since)
    }

    /// Returns on their way, and how many there can be.
    #[cfg(test)]
    pub(super) fn returns(&self) -> (usize, usize) {
        (self.returns.len(), self.most_returns as usize)
    }
}
