//! Every sender to a receiver of its own.

use super::WorkloadError;
use super::pairs::Pairs;
use super::sizes::Sizes;
use super::source::{Flow, Staggered};
use super::stream::{Drawn, shuffle_front, stream};
use crate::spec::Pattern;
use leafspine_core::{HostId, Rng};

/// One flow from each sender, no receiver twice, nobody to itself.
pub(super) struct Permutation {
    pairs: Vec<(HostId, HostId)>,
    next: usize,
    sizes: Sizes,
    starts: Staggered,
    how_much: Rng,
}

impl Permutation {
    pub(super) fn new(
        (pairs, receivers): (&Pairs, &[HostId]),
        pattern: Pattern,
        (sizes, starts): (Sizes, Staggered),
        (seed, workload): (u64, usize),
    ) -> Result<Permutation, WorkloadError> {
        pairs.require_a_receiver_for_each()?;
        let mut rng = stream(seed, workload, Drawn::Pairs);
        let matched = match pattern {
            // Leaves have nothing to do with each other.
            Pattern::IntraLeaf => leaf_by_leaf(pairs, receivers, &mut rng)?,
            Pattern::Any | Pattern::InterLeaf => {
                assign(pairs, pairs.senders(), receivers.to_vec(), &mut rng)?
            }
        };
        // Starts follow the senders' order.
        let mut of = vec![HostId::default(); 1 << 16];
        matched.iter().for_each(|(src, dst)| of[usize::from(src.0)] = *dst);
        let pairs = pairs.senders().iter().map(|src| (*src, of[usize::from(src.0)])).collect();
        let how_much = stream(seed, workload, Drawn::Sizes);
        Ok(Permutation { pairs, next: 0, sizes, starts, how_much })
    }

    /// Flows in all.
    pub(super) fn total(&self) -> u64 {
        self.pairs.len() as u64
    }

    pub(super) fn next(&mut self) -> Option<Flow> {
        let (src, dst) = *self.pairs.get(self.next)?;
        self.next += 1;
        Some(Flow::new(self.starts.next(), src, dst, self.sizes.sample(&mut self.how_much)))
    }
}

/// A permutation within each leaf.
fn leaf_by_leaf(
    pairs: &Pairs,
    receivers: &[HostId],
    rng: &mut Rng,
) -> Result<Vec<(HostId, HostId)>, WorkloadError> {
    let mut tors: Vec<_> = pairs.senders().iter().map(|host| pairs.tor(*host)).collect();
    tors.sort_unstable();
    tors.dedup();
    let mut matched = Vec::with_capacity(pairs.senders().len());
    for tor in tors {
        let here = |hosts: &[HostId]| -> Vec<HostId> {
            hosts.iter().copied().filter(|host| pairs.tor(*host) == tor).collect()
        };
        matched.extend(assign(pairs, &here(pairs.senders()), here(receivers), rng)?);
    }
    Ok(matched)
}

/// Shuffles the receivers and mends each pair that the pattern forbids by a swap with a random other.
///
/// Close to uniform over the allowed permutations, not exactly so: mending favours some. If there is
/// any allowed permutation, a swap is always found: a pair inside leaf T finds none only if every
/// sender outside T has a receiver inside T already and no receiver outside T is free, and then
/// fewer receivers are outside T than T has senders.
fn assign(
    pairs: &Pairs,
    senders: &[HostId],
    mut receivers: Vec<HostId>,
    rng: &mut Rng,
) -> Result<Vec<(HostId, HostId)>, WorkloadError> {
    let (wanted, many) = (senders.len(), receivers.len());
    if many < wanted {
        let found = format!("{many} for {wanted} senders");
        return Err(WorkloadError::at("receivers", found, "as many receivers as senders, or more"));
    }
    shuffle_front(&mut receivers, wanted, rng);
    for i in 0..wanted {
        if pairs.allows(senders[i], receivers[i]) {
            continue;
        }
        let from = rng.below(many as u64) as usize;
        // Receivers beyond the senders are free, so they may go anywhere.
        let fits = |j: &usize| {
            pairs.allows(senders[i], receivers[*j])
                && (*j >= wanted || pairs.allows(senders[*j], receivers[i]))
        };
        let Some(j) = (0..many).map(|step| (from + step) % many).find(fits) else {
            return Err(pairs.no_pair(&format!("host {}, which sends", senders[i].0)));
        };
        receivers.swap(i, j);
    }
    Ok(senders.iter().copied().zip(receivers).collect())
}
