//! Many senders to one receiver at once.

use super::WorkloadError;
use super::pairs::Pairs;
use super::sizes::Sizes;
use super::source::Flow;
use super::stream::{Drawn, stream};
use leafspine_core::{HostId, Rng, Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Rounds of incast.
///
/// The receivers take turns in the set's order, a round each. In a round the senders that may send
/// to its receiver take part, the first `fan_in` of them in the set's order if a number is given.
pub(super) struct Incast {
    pairs: Pairs,
    receivers: Vec<HostId>,
    sizes: Sizes,
    rounds: Rounds,
    next_round: u32,
    /// With a jitter longer than `every` several rounds mingle here.
    waiting: BinaryHeap<Reverse<Waiting>>,
    drawn: u64,
    starts: Rng,
    how_much: Rng,
}

/// A flow of a round that has begun, ordered by start and then as drawn.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    start: Time,
    drawn: u64,
    from: HostId,
    to: HostId,
    bytes: u64,
}

/// When rounds are, and how wide.
#[derive(Clone, Copy)]
pub(super) struct Rounds {
    pub(super) origin: Time,
    pub(super) rounds: u32,
    pub(super) every: Span,
    pub(super) jitter: Span,
    pub(super) fan_in: Option<u32>,
}

impl Incast {
    pub(super) fn new(
        (pairs, receivers): (Pairs, Vec<HostId>),
        sizes: Sizes,
        rounds: Rounds,
        (seed, workload): (u64, usize),
    ) -> Result<Incast, WorkloadError> {
        if rounds.rounds == 0 {
            return Err(WorkloadError::at("rounds", "0", "at least 1"));
        }
        if rounds.fan_in == Some(0) {
            return Err(WorkloadError::at("fan_in", "0", "at least 1"));
        }
        let incast = Incast {
            pairs,
            receivers,
            sizes,
            rounds,
            next_round: 0,
            waiting: BinaryHeap::new(),
            drawn: 0,
            starts: stream(seed, workload, Drawn::Starts),
            how_much: stream(seed, workload, Drawn::Sizes),
        };
        for to in incast.receivers.iter().take(rounds.rounds as usize) {
            incast.check(*to)?;
        }
        Ok(incast)
    }

    /// Whether enough senders may send to this receiver.
    fn check(&self, to: HostId) -> Result<(), WorkloadError> {
        let may = self.pairs.senders().iter().filter(|from| self.pairs.allows(**from, to)).count();
        match self.rounds.fan_in {
            _ if may == 0 => Err(self.pairs.no_pair(&format!("host {}, which receives", to.0))),
            Some(n) if n as usize > may => {
                let allowed = format!("at most {may}, the senders that may send to host {}", to.0);
                Err(WorkloadError::at("fan_in", n.to_string(), allowed))
            }
            _ => Ok(()),
        }
    }

    /// Those that take part in a round towards `to`.
    fn taking_part(&self, to: HostId) -> impl Iterator<Item = HostId> {
        let most = self.rounds.fan_in.map_or(usize::MAX, |n| n as usize);
        self.pairs
            .senders()
            .iter()
            .copied()
            .filter(move |from| self.pairs.allows(*from, to))
            .take(most)
    }

    /// Flows in all.
    pub(super) fn total(&self) -> u64 {
        let (rounds, receivers) = (u64::from(self.rounds.rounds), self.receivers.len() as u64);
        let (turns, rest) = (rounds / receivers, rounds % receivers);
        let flows = self.receivers.iter().enumerate().map(|(i, to)| {
            let rounds = turns + u64::from((i as u64) < rest);
            if rounds == 0 { 0 } else { rounds * self.taking_part(*to).count() as u64 }
        });
        flows.sum()
    }

    /// When a round begins.
    fn begins(&self, round: u32) -> Time {
        let after = self.rounds.every.0.saturating_mul(u64::from(round));
        Time(self.rounds.origin.0.saturating_add(after))
    }

    /// Draws the next round's flows.
    fn draw_round(&mut self) {
        let begins = self.begins(self.next_round);
        let to = self.receivers[self.next_round as usize % self.receivers.len()];
        let senders: Vec<HostId> = self.taking_part(to).collect();
        for from in senders {
            let late = self.starts.below(self.rounds.jitter.0.saturating_add(1));
            let bytes = self.sizes.sample(&mut self.how_much);
            let start = Time(begins.0.saturating_add(late));
            self.waiting.push(Reverse(Waiting { start, drawn: self.drawn, from, to, bytes }));
            self.drawn += 1;
        }
        self.next_round += 1;
    }

    pub(super) fn next(&mut self) -> Option<Flow> {
        while self.next_round < self.rounds.rounds {
            let first = self.waiting.peek().map_or(Time::MAX, |Reverse(flow)| flow.start);
            if first < self.begins(self.next_round) {
                break;
            }
            self.draw_round();
        }
        let Reverse(flow) = self.waiting.pop()?;
        Some(Flow::new(flow.start, flow.from, flow.to, flow.bytes))
    }
}
