//! All-to-all: every rank has something for every other. All at once, or pairwise: in the k-th of
//! n - 1 steps each rank sends to the k-th after it and receives from the k-th before it, and goes on when
//! both are done (Thakur, Rabenseifner and Gropp, IJHPCA 2005).

use super::super::WorkloadError;
use super::super::dag::{Draft, Op};
use super::split::{part, pieces};
use super::{Ends, Group, Room, at_least};
use crate::spec::{Algorithm, Collective, CollectiveSpec};

/// Adds it. `sizes`: what the next rank has for the next, for an all-to-allv.
pub(super) fn exchange(
    draft: &mut Draft,
    group: &Group<'_>,
    spec: &CollectiveSpec,
    sizes: &mut dyn FnMut() -> u64,
) -> Result<Ends, WorkloadError> {
    let n = group.hosts.len();
    let drawn = spec.collective == Collective::AllToAllV;
    let channels = u64::from(spec.channels);
    if !drawn {
        at_least(spec, n as u64 * channels)?;
    }
    let mut ends: Ends = vec![Vec::new(); n];
    // What a rank waits for in the pairwise exchange.
    let mut ready: Vec<Vec<Op>> = group.begin.iter().map(|begin| vec![*begin]).collect();
    for step in 1..n {
        let mut next: Vec<Vec<Op>> = vec![Vec::new(); n];
        for rank in 0..n {
            let to = (rank + step) % n;
            let whole = if drawn { sizes() } else { part(spec.bytes.0, n as u64, to as u64) };
            for channel in 0..spec.channels {
                let bytes = part(whole, channels, u64::from(channel));
                if bytes == 0 {
                    continue;
                }
                let many = pieces(spec, bytes);
                if drawn {
                    // How many pieces these go in is known only now.
                    let all = draft.messages().saturating_add(many);
                    Room::default().check(all, "collective", "an all-to-allv")?;
                }
                for piece in 0..many {
                    let size = part(bytes, many, piece);
                    let message = draft.message(group.hosts[rank], group.hosts[to], size, channel);
                    ready[rank].iter().for_each(|op| draft.after(*op, message));
                    ends[to].push(message);
                    next[rank].push(message);
                    next[to].push(message);
                }
            }
        }
        if spec.algorithm == Algorithm::Pairwise {
            ready = next;
            join(draft, group, &mut ready);
        }
    }
    Ok(ends)
}

/// Where a rank waits for several operations, one point does.
fn join(draft: &mut Draft, group: &Group<'_>, ready: &mut [Vec<Op>]) {
    for (ready, host) in ready.iter_mut().zip(group.hosts) {
        if ready.len() > 2 {
            let point = draft.point(*host);
            ready.iter().for_each(|op| draft.after(*op, point));
            *ready = vec![point];
        }
    }
}
