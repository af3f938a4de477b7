//! A number of flows from one set to another.

use super::WorkloadError;
use super::pairs::Pairs;
use super::sizes::Sizes;
use super::source::{Flow, Staggered};
use super::stream::{Drawn, stream};
use leafspine_core::{HostId, Rng};

/// Flows from senders to receivers in the sets' order, wrapping round.
///
/// The i-th sender is paired with the i-th receiver. A receiver that the pattern does not allow is
/// passed over, and the next flow goes on from there, so that receivers keep their turns.
pub(super) struct LongFlows {
    pairs: Pairs,
    receivers: Vec<HostId>,
    sizes: Sizes,
    count: u32,
    next: u32,
    next_receiver: usize,
    starts: Staggered,
    how_much: Rng,
}

impl LongFlows {
    pub(super) fn new(
        (pairs, receivers): (Pairs, Vec<HostId>),
        sizes: Sizes,
        (count, starts): (u32, Staggered),
        (seed, workload): (u64, usize),
    ) -> Result<LongFlows, WorkloadError> {
        if count == 0 {
            return Err(WorkloadError::at("count", "0", "at least 1"));
        }
        pairs.require_a_receiver_for_each()?;
        let how_much = stream(seed, workload, Drawn::Sizes);
        Ok(LongFlows {
            pairs,
            receivers,
            sizes,
            count,
            next: 0,
            next_receiver: 0,
            starts,
            how_much,
        })
    }

    /// Flows in all.
    pub(super) fn total(&self) -> u64 {
        u64::from(self.count)
    }

    pub(super) fn next(&mut self) -> Option<Flow> {
        if self.next == self.count {
            return None;
        }
        let src = self.pairs.senders()[self.next as usize % self.pairs.senders().len()];
        let many = self.receivers.len();
        let turn = (0..many)
            .map(|step| (self.next_receiver + step) % many)
            .find(|at| self.pairs.allows(src, self.receivers[*at]))?;
        self.next += 1;
        self.next_receiver = (turn + 1) % many;
        let bytes = self.sizes.sample(&mut self.how_much);
        Some(Flow::new(self.starts.next(), src, self.receivers[turn], bytes))
    }
}
