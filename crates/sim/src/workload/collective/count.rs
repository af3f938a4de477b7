//! How much an iteration is, by formula: what cannot be built is refused before any of it is.

use super::super::WorkloadError;
use super::split::pieces;
use crate::spec::{Algorithm, Collective, CollectiveSpec, JobKind};

/// Messages and computations that an iteration of a workload may have, in all its jobs: they are
/// in memory all at once, and so many are gigabytes already. An all-to-all of 4,096 ranks has fewer.
pub(super) const MOST: u64 = 1 << 24;

/// Refuses so many messages of an iteration.
pub(super) fn check(messages: u64, key: &str, what: &str) -> Result<(), WorkloadError> {
    let found = || format!("{what} of {messages} messages an iteration");
    refuse(messages, key, found, "fewer ranks, jobs or channels, or longer chunks")
}

fn refuse(
    operations: u64,
    key: &str,
    found: impl FnOnce() -> String,
    less: &str,
) -> Result<(), WorkloadError> {
    if operations <= MOST {
        return Ok(());
    }
    Err(WorkloadError::at(key, found(), format!("at most 2^24, {MOST}: {less}")))
}

/// The same of a workload whose jobs have so many ranks each, before they are made.
pub(super) fn check_jobs(what: &JobKind, jobs: u64, ranks: u64) -> Result<(), WorkloadError> {
    match what {
        JobKind::Collective(spec) => {
            check(jobs.saturating_mul(messages(spec, ranks)), "collective", "collectives")
        }
        JobKind::Pipeline(spec) => {
            let each = ranks.saturating_mul(u64::from(spec.microbatches));
            // Forward and back: a computation, and a message to the next stage.
            let all = jobs.saturating_mul(each).saturating_mul(4);
            let found = || format!("pipelines of {all} messages and computations an iteration");
            refuse(all, "microbatches", found, "fewer microbatches, ranks or jobs")
        }
        // These are as large as their files; the collectives that they name are counted when they are made.
        JobKind::Goal(_) | JobKind::Simai(_) | JobKind::Chakra(_) => Ok(()),
    }
}

/// Messages of a collective: where parts differ by a byte, as if all were as large as the largest.
/// Those of an all-to-allv, whose sizes are drawn, as if each went in one piece.
pub(super) fn messages(spec: &CollectiveSpec, ranks: u64) -> u64 {
    let (bytes, channels) = (spec.bytes.0, u64::from(spec.channels));
    let channel = bytes.div_ceil(channels);
    let passes = if spec.collective == Collective::AllReduce { 2 } else { 1 };
    let of_channel = match spec.algorithm {
        Algorithm::Ring => {
            (passes * ranks * (ranks - 1)).saturating_mul(pieces(spec, channel.div_ceil(ranks)))
        }
        Algorithm::Tree => (4 * (ranks - 1)).saturating_mul(pieces(spec, channel.div_ceil(2))),
        Algorithm::HalvingDoubling => {
            let power = 1 << ranks.ilog2();
            let half = |bit: u32| {
                let blocks = u128::from(channel) << bit;
                pieces(spec, blocks.div_ceil(u128::from(power)) as u64)
            };
            let steps = (0..ranks.ilog2()).map(half).fold(0, u64::saturating_add);
            let extra = (2 * (ranks - power)).saturating_mul(pieces(spec, channel));
            (passes * power).saturating_mul(steps).saturating_add(extra)
        }
        Algorithm::Direct | Algorithm::Pairwise => {
            let drawn = spec.collective == Collective::AllToAllV;
            let whole = bytes.div_ceil(ranks).div_ceil(channels);
            (ranks * (ranks - 1)).saturating_mul(if drawn { 1 } else { pieces(spec, whole) })
        }
    };
    channels.saturating_mul(of_channel)
}

#[cfg(test)]
mod tests {
    use super::super::template;
    use super::*;
    use crate::spec::{JobSpec, PipelineSpec, Placement, Schedule};
    use leafspine_core::{Bytes, HostId, Span};

    /// The messages of an iteration of a job of so many ranks, built.
    fn built(what: JobKind, ranks: u64) -> Option<u64> {
        let hosts: Vec<HostId> = (0..ranks as u16).map(HostId).collect();
        let (compute, compute_jitter, delay) = (Span::ZERO, Span::ZERO, Span::ZERO);
        let (jobs, iterations, placement) = (1, 1, Placement::Packed);
        let job = JobSpec {
            what,
            jobs,
            ranks: None,
            placement,
            iterations,
            compute,
            compute_jitter,
            delay,
        };
        template(&job, &hosts, &mut || 1).ok().map(|made| made.messages())
    }

    /// Breaks if a collective has more messages than were counted before it was built, or, where
    /// all parts are alike, fewer.
    #[test]
    fn what_is_built_was_counted() {
        use Algorithm::{Direct, HalvingDoubling, Pairwise, Ring, Tree};
        use Collective::{AllGather, AllReduce, AllToAll, ReduceScatter};
        let mut compared = 0;
        for ranks in 2..=9u64 {
            for collective in [AllReduce, AllGather, ReduceScatter, AllToAll] {
                for algorithm in [Ring, Tree, HalvingDoubling, Direct, Pairwise] {
                    for (channels, chunk, bytes) in
                        [(1, None, 4_001), (3, None, 4_001), (2, Some(1_000), 65_537)]
                    {
                        let chunk = chunk.map(Bytes);
                        let bytes = Bytes(bytes);
                        let spec = CollectiveSpec { collective, algorithm, bytes, channels, chunk };
                        let Some(found) = built(JobKind::Collective(spec), ranks) else {
                            continue;
                        };
                        let counted = messages(&spec, ranks);
                        assert!(found <= counted, "{spec:?} of {ranks}: {found}, {counted}");
                        assert!(chunk.is_some() || found == counted, "{spec:?} of {ranks}");
                        assert!(counted < found + found / 2, "{spec:?} of {ranks}: {counted}");
                        compared += 1;
                    }
                }
            }
        }
        assert!(compared > 100, "{compared}");
    }

    /// Breaks if a pipeline's computations are forgotten: of one microbatch on two stages there are
    /// four, and two messages.
    #[test]
    fn pipelines_compute() {
        let pipeline = |microbatches| {
            JobKind::Pipeline(PipelineSpec {
                bytes: Bytes(1),
                microbatches,
                forward: Span::ZERO,
                backward: Span::ZERO,
                schedule: Schedule::Alternating,
            })
        };
        assert_eq!(built(pipeline(1), 2), Some(2));
        assert!(check_jobs(&pipeline(1 << 20), 1, 4).is_ok());
        assert!(check_jobs(&pipeline((1 << 20) + 1), 1, 4).is_err());
    }
}
