//! The random streams of a workload.

use leafspine_core::{Rng, Role};

/// What is drawn. Each has a stream of its own, so that other sizes leave starts and pairs alone.
#[derive(Clone, Copy)]
pub(super) enum Drawn {
    /// When flows start.
    Starts = 0,
    /// Who sends to whom.
    Pairs = 1,
    /// How much.
    Sizes = 2,
}

/// The stream of what is drawn for a workload.
pub(super) fn stream(seed: u64, workload: usize, drawn: Drawn) -> Rng {
    Rng::new(seed, Role::Workload, (workload as u64) << 2 | drawn as u64)
}

/// Shuffles the first `n` places of `items`, each an equally likely choice from all the items.
pub(super) fn shuffle_front<T>(items: &mut [T], n: usize, rng: &mut Rng) {
    for i in 0..n.min(items.len()) {
        let rest = (items.len() - i) as u64;
        items.swap(i, i + rng.below(rest) as usize);
    }
}
