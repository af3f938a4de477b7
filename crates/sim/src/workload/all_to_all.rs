//! Everybody to everybody.

use super::WorkloadError;
use super::pairs::Pairs;
use super::sizes::Sizes;
use super::source::{Flow, Staggered};
use super::stream::{Drawn, stream};
use leafspine_core::{HostId, Rng};

/// One flow from every sender to every receiver that the pattern allows.
///
/// In shifts: in shift `k` the i-th sender sends to the receiver `k` places after the i-th, so that
/// staggered flows do not pile up on one receiver.
pub(super) struct AllToAll {
    pairs: Pairs,
    receivers: Vec<HostId>,
    sizes: Sizes,
    shift: usize,
    sender: usize,
    starts: Staggered,
    how_much: Rng,
}

impl AllToAll {
    pub(super) fn new(
        (pairs, receivers): (Pairs, Vec<HostId>),
        sizes: Sizes,
        starts: Staggered,
        (seed, workload): (u64, usize),
    ) -> Result<AllToAll, WorkloadError> {
        let how_much = stream(seed, workload, Drawn::Sizes);
        let all = AllToAll { pairs, receivers, sizes, shift: 0, sender: 0, starts, how_much };
        if all.total() == 0 {
            all.pairs.require_a_receiver_for_each()?;
        }
        Ok(all)
    }

    /// Flows in all.
    pub(super) fn total(&self) -> u64 {
        self.pairs.senders().iter().map(|sender| u64::from(self.pairs.choices(*sender))).sum()
    }

    pub(super) fn next(&mut self) -> Option<Flow> {
        while self.shift < self.receivers.len() {
            let src = self.pairs.senders()[self.sender];
            let dst = self.receivers[(self.sender + self.shift) % self.receivers.len()];
            self.sender += 1;
            if self.sender == self.pairs.senders().len() {
                (self.sender, self.shift) = (0, self.shift + 1);
            }
            if self.pairs.allows(src, dst) {
                let bytes = self.sizes.sample(&mut self.how_much);
                return Some(Flow::new(self.starts.next(), src, dst, bytes));
            }
        }
        None
    }
}
