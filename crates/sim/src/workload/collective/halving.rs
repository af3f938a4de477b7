//! Recursive halving and doubling (Thakur, Rabenseifner and Gropp, IJHPCA 2005): ranks exchange halves
//! of what they have with a partner that is half as far away in each step, summing up; then they hand the
//! sums back over the same steps. An all-reduce of a number of ranks that is no power of two begins and
//! ends with as many as are too many giving all to a neighbour.

use super::super::WorkloadError;
use super::super::dag::{Draft, Op};
use super::split::{part, pieces, start_of};
use super::{Ends, Group, at_least};
use crate::spec::CollectiveSpec;

/// Adds the halving (`reduce`), the doubling (`gather`), or both.
pub(super) fn halving_doubling(
    draft: &mut Draft,
    group: &Group<'_>,
    spec: &CollectiveSpec,
    (reduce, gather): (bool, bool),
) -> Result<Ends, WorkloadError> {
    let n = group.hosts.len();
    let power = 1 << n.ilog2();
    if n != power && !(reduce && gather) {
        let allowed = format!("a power of two for this algorithm, such as {power}, or \"ring\"");
        return Err(WorkloadError::at("ranks", format!("{n} ranks"), allowed));
    }
    let channels = u64::from(spec.channels);
    at_least(spec, power as u64 * channels)?;
    let mut ends: Ends = vec![Vec::new(); n];
    for channel in 0..spec.channels {
        let bytes = part(spec.bytes.0, channels, u64::from(channel));
        let mut channel = Channel { draft, group, spec, channel, bytes };
        let extra = n - power;
        // The first ranks pair up, and the second of each pair goes on for both.
        let rank_of = |place: usize| if place < extra { 2 * place + 1 } else { place + extra };
        let mut ready: Vec<Vec<Op>> = group.begin.iter().map(|begin| vec![*begin]).collect();
        for pair in 0..extra {
            let all = channel.send((2 * pair, 2 * pair + 1), bytes, &[group.begin[2 * pair]], None);
            ready[2 * pair + 1].extend(all);
        }
        let ranks: Vec<usize> = (0..power).map(rank_of).collect();
        channel.exchange(&ranks, &mut ready, (reduce, gather));
        for pair in 0..extra {
            let from = ready[2 * pair + 1].clone();
            ends[2 * pair].extend(channel.send((2 * pair + 1, 2 * pair), bytes, &from, None));
        }
        for rank in ranks {
            ends[rank].append(&mut ready[rank]);
        }
    }
    Ok(ends)
}

/// A part of the buffer.
struct Channel<'a, 'b> {
    draft: &'a mut Draft,
    group: &'a Group<'b>,
    spec: &'a CollectiveSpec,
    channel: u16,
    bytes: u64,
}

impl Channel<'_, '_> {
    /// Messages of so many bytes in all from one rank to another, after all of `after` at the first
    /// and the start of its messages before.
    fn send(
        &mut self,
        (from, to): (usize, usize),
        bytes: u64,
        after: &[Op],
        before: Option<Op>,
    ) -> Vec<Op> {
        let many = pieces(self.spec, bytes);
        let hosts = self.group.hosts;
        let after = match after {
            [_, _, ..] if many > 1 => {
                let point = self.draft.point(hosts[from]);
                after.iter().for_each(|op| self.draft.after(*op, point));
                vec![point]
            }
            after => after.to_vec(),
        };
        let message = |piece| {
            let size = part(bytes, many, piece);
            let message = self.draft.message(hosts[from], hosts[to], size, self.channel);
            after.iter().for_each(|op| self.draft.after(*op, message));
            if let Some(before) = before {
                self.draft.after_start(before, message);
            }
            message
        };
        (0..many).map(message).collect()
    }

    /// All steps among so many ranks, a power of two. `ready`: what each waits for, and at last what
    /// it has got.
    fn exchange(&mut self, ranks: &[usize], ready: &mut [Vec<Op>], (reduce, gather): (bool, bool)) {
        let n = ranks.len();
        let mut before: Vec<Option<Op>> = vec![None; n];
        let halving = (0..n.ilog2()).rev().map(|bit| (bit, true)).filter(|_| reduce);
        let doubling = (0..n.ilog2()).map(|bit| (bit, false)).filter(|_| gather);
        for (bit, halves) in halving.chain(doubling) {
            let distance = 1 << bit;
            let mut got = vec![Vec::new(); n];
            for (place, rank) in ranks.iter().enumerate() {
                let partner = place ^ distance;
                // Of blocks, a place has those of all places with which it agrees above `bit`: it
                // keeps its own half in halving, and gives what it has in doubling.
                let half = if halves { partner } else { place } / distance * distance;
                let edge = |block: usize| start_of(self.bytes, n as u64, block as u64);
                let bytes = edge(half + distance) - edge(half);
                let after = ready[*rank].clone();
                let sent = self.send((*rank, ranks[partner]), bytes, &after, before[place]);
                before[place] = sent.last().copied();
                got[partner] = sent;
            }
            for (rank, got) in ranks.iter().zip(got) {
                ready[*rank] = got;
            }
        }
    }
}
