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

/// Shuffles to try for one that the pattern allows as it is. Without a pattern one in e is, so none in
/// a hundred is as good as never.
const SHUFFLES: usize = 100;

/// Random moves that mix a mended permutation, per sender.
const MOVES: usize = 16;

/// An assignment of receivers to the senders.
///
/// The first of a number of shuffles that is allowed, which is uniform over all that are allowed. If
/// chance finds none, as with many leaves and flows between them alone, a shuffle is mended and then
/// mixed by random moves: forth and back equally likely, so they lead towards the uniform law too.
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
    let allowed = |receivers: &[HostId]| {
        senders.iter().zip(receivers).all(|(src, dst)| pairs.allows(*src, *dst))
    };
    let by_chance = (0..SHUFFLES).any(|_| {
        shuffle_front(&mut receivers, wanted, rng);
        allowed(&receivers)
    });
    if !by_chance {
        mend(pairs, senders, &mut receivers, rng)?;
        for _ in 0..MOVES * wanted {
            let [i, j, k] = [(); 3].map(|()| rng.below(many as u64) as usize);
            swap_if_allowed(pairs, senders, &mut receivers, (i, j));
            rotate_if_allowed(pairs, senders, &mut receivers, [i, j, k]);
        }
    }
    Ok(senders.iter().copied().zip(receivers).collect())
}

/// Mends each pair that the pattern forbids by a swap with a random other.
///
/// If there is any allowed permutation, a swap is always found: a pair inside leaf T finds none only
/// if every sender outside T has a receiver inside T already and no receiver outside T is free, and
/// then fewer receivers are outside T than T has senders.
fn mend(
    pairs: &Pairs,
    senders: &[HostId],
    receivers: &mut [HostId],
    rng: &mut Rng,
) -> Result<(), WorkloadError> {
    let many = receivers.len();
    for i in 0..senders.len() {
        if pairs.allows(senders[i], receivers[i]) {
            continue;
        }
        let from = rng.below(many as u64) as usize;
        let mut others = (0..many).map(|step| (from + step) % many);
        if !others.any(|j| swap_if_allowed(pairs, senders, receivers, (i, j))) {
            return Err(pairs.no_pair(&format!("host {}, which sends", senders[i].0)));
        }
    }
    Ok(())
}

/// Whether the sender at `at` may send to `to`. Receivers beyond the senders are free.
fn fits(pairs: &Pairs, senders: &[HostId], at: usize, to: HostId) -> bool {
    senders.get(at).is_none_or(|from| pairs.allows(*from, to))
}

/// Swaps two receivers if their senders may then send.
fn swap_if_allowed(
    pairs: &Pairs,
    senders: &[HostId],
    receivers: &mut [HostId],
    (i, j): (usize, usize),
) -> bool {
    let allowed = fits(pairs, senders, i, receivers[j]) && fits(pairs, senders, j, receivers[i]);
    if allowed {
        receivers.swap(i, j);
    }
    allowed
}

/// Passes three receivers on in a ring if their senders may then send. Swaps alone never change how
/// many flows go from leaf to leaf where there are three leaves.
fn rotate_if_allowed(
    pairs: &Pairs,
    senders: &[HostId],
    receivers: &mut [HostId],
    [i, j, k]: [usize; 3],
) {
    let apart = i != j && j != k && k != i;
    if apart
        && fits(pairs, senders, i, receivers[j])
        && fits(pairs, senders, j, receivers[k])
        && fits(pairs, senders, k, receivers[i])
    {
        receivers.swap(i, j);
        receivers.swap(j, k);
    }
}
