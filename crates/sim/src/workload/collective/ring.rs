//! Rings (Patarasuk and Yuan, JPDC 2009): each rank sends to the next only. In n - 1 steps the parts
//! of the buffer go once around and are summed up on the way, in n - 1 more the sums go around.

use super::super::WorkloadError;
use super::super::dag::{Draft, Op};
use super::split::{part, pieces};
use super::{Ends, Group, at_least};
use crate::spec::CollectiveSpec;

/// Adds the steps that sum up (`reduce`), those that hand the sums out (`gather`), or both.
pub(super) fn ring(
    draft: &mut Draft,
    group: &Group<'_>,
    spec: &CollectiveSpec,
    (reduce, gather): (bool, bool),
) -> Result<Ends, WorkloadError> {
    let n = group.hosts.len();
    let (ranks, channels) = (n as u64, u64::from(spec.channels));
    at_least(spec, ranks * channels)?;
    let mut ends: Ends = vec![Vec::new(); n];
    let steps = (n - 1) * (usize::from(reduce) + usize::from(gather));
    for channel in 0..spec.channels {
        let bytes = part(spec.bytes.0, channels, u64::from(channel));
        let many = pieces(spec, bytes.div_ceil(ranks));
        // What each rank got, and sent, in the step before.
        let mut got: Vec<Vec<Op>> = Vec::new();
        let mut sent: Vec<Vec<Op>> = Vec::new();
        for step in 0..steps {
            let mut now: Vec<Vec<Op>> = Vec::with_capacity(n);
            for rank in 0..n {
                let block = block(n, rank, step);
                let bytes = part(bytes, ranks, block);
                let to = group.hosts[(rank + 1) % n];
                let mut messages = Vec::with_capacity(many as usize);
                for piece in 0..many {
                    let size = part(bytes, many, piece);
                    let message = draft.message(group.hosts[rank], to, size, channel);
                    if step == 0 {
                        draft.after(group.begin[rank], message);
                    } else {
                        draft.after(got[rank][piece as usize], message);
                        draft.after_start(sent[rank][piece as usize], message);
                    }
                    messages.push(message);
                }
                now.push(messages);
            }
            got.clone_from(&now);
            got.rotate_right(1);
            sent = now;
        }
        for (ends, got) in ends.iter_mut().zip(got) {
            ends.extend(got);
        }
    }
    Ok(ends)
}

/// The block that a rank sends in a step: first its own, then the one that it got in the step before.
fn block(n: usize, rank: usize, step: usize) -> u64 {
    ((rank + 2 * n - step) % n) as u64
}
