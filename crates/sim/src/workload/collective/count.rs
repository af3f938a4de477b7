//! How much an iteration is, by formula: what cannot be built is refused before any of it is.

use super::super::WorkloadError;
use super::split::pieces;
use crate::spec::{Algorithm, Collective, CollectiveSpec, JobKind};

/// Messages and computations that an iteration may have, in all jobs of all workloads: they are in
/// memory all at once, and so many are gigabytes already. An all-to-all of 4,096 ranks has fewer.
const MOST: u64 = 1 << 24;

/// What a workload's iteration may have beside those of the workloads before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    most: u64,
    taken: u64,
}

impl Default for Room {
    fn default() -> Room {
        Room { most: MOST, taken: 0 }
    }
}

impl Room {
    /// Room for another number, so that a test need not build so many.
    #[cfg(test)]
    pub(super) fn of(most: u64) -> Room {
        Room { most, taken: 0 }
    }

    /// Counts those of a workload.
    pub(super) fn take(&mut self, operations: u64) {
        self.taken = self.taken.saturating_add(operations);
    }

    /// Refuses so many messages of a workload's iteration.
    pub(super) fn check(self, messages: u64, key: &str, what: &str) -> Result<(), WorkloadError> {
        let found = || format!("{what} of {messages} messages an iteration");
        self.refuse(messages, key, found, "fewer ranks, jobs or channels, or longer chunks")
    }

    fn refuse(
        self,
        operations: u64,
        key: &str,
        found: impl FnOnce() -> String,
        less: &str,
    ) -> Result<(), WorkloadError> {
        if operations.saturating_add(self.taken) <= self.most {
            return Ok(());
        }
        let most = match self.most {
            MOST => format!("2^24, {MOST}"),
            most => most.to_string(),
        };
        if self.taken == 0 {
            return Err(WorkloadError::at(key, found(), format!("at most {most}: {less}")));
        }
        let found = format!("{}, beside {} of the workloads before", found(), self.taken);
        let allowed = format!("at most {most} in all workloads together: {less}");
        Err(WorkloadError::at(key, found, allowed))
    }

    /// The same of a workload whose jobs have so many ranks each, before they are made. How many it
    /// has, where that is known by then.
    pub(super) fn check_jobs(
        self,
        what: &JobKind,
        jobs: u64,
        ranks: u64,
    ) -> Result<u64, WorkloadError> {
        let all = match what {
            JobKind::Collective(spec) => {
                let all = jobs.saturating_mul(messages(spec, ranks));
                self.check(all, "collective", "collectives")?;
                all
            }
            JobKind::Pipeline(spec) => {
                let each = ranks.saturating_mul(u64::from(spec.microbatches));
                // Forward and back: a computation, and a message to the next stage.
                let all = jobs.saturating_mul(each).saturating_mul(4);
                let found = || format!("pipelines of {all} messages and computations an iteration");
                self.refuse(all, "microbatches", found, "fewer microbatches, ranks or jobs")?;
                all
            }
            // These are as large as their files; the collectives that they name are counted when they are made.
            JobKind::Goal(_) | JobKind::Simai(_) | JobKind::Chakra(_) => 0,
        };
        Ok(all)
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
    use super::super::{jobs_within, template};
    use super::*;
    use crate::spec::{
        HostSet, JobSpec, Pattern, PipelineSpec, Schedule, SizeSpec, WorkloadKind, WorkloadSpec,
    };
    use crate::workload::Fabric;
    use leafspine_core::{Bytes, HostId, Span, Time};

    /// The messages of an iteration of a job of so many ranks, built.
    fn built(what: JobKind, ranks: u64) -> Option<u64> {
        let hosts: Vec<HostId> = (0..ranks as u16).map(HostId).collect();
        template(&JobSpec::once(what), &hosts, &mut || 1).ok().map(|made| made.messages())
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
        let room = Room::default();
        assert!(room.check_jobs(&pipeline(1 << 20), 1, 4).is_ok());
        assert!(room.check_jobs(&pipeline((1 << 20) + 1), 1, 4).is_err());
    }

    /// A workload of an all-to-all between all hosts, 12 messages where these are four.
    fn exchange(collective: Collective) -> WorkloadSpec {
        let (bytes, algorithm) = (Bytes(4_000), Algorithm::Direct);
        let spec = CollectiveSpec { collective, algorithm, bytes, channels: 1, chunk: None };
        let job = JobSpec::once(JobKind::Collective(spec));
        WorkloadSpec {
            kind: WorkloadKind::Job(Box::new(job)),
            sizes: SizeSpec::Fixed(Bytes(1_000)),
            senders: HostSet::All,
            receivers: HostSet::All,
            pattern: Pattern::Any,
            start: Time::ZERO,
            class: None,
        }
    }

    /// Breaks if each workload has the whole limit, or if drawn sizes do not count.
    #[test]
    fn the_limit_is_that_of_all_workloads() {
        let drawn = Collective::AllToAllV;
        for last in [Collective::AllToAll, drawn] {
            let workloads = [Collective::AllToAll, drawn, last].map(exchange);
            let refused = |most| {
                let made = jobs_within(&workloads, &Fabric::of_hosts(4), 1, Room::of(most));
                made.err().map(|error| error.to_string())
            };
            assert_eq!(refused(36), None);
            let said = "workload.2.collective: found collectives of 12 messages an iteration, beside \
                        24 of the workloads before; allowed: at most 35 in all workloads together: \
                        fewer ranks, jobs or channels, or longer chunks";
            assert_eq!(refused(35).as_deref(), Some(said));
            assert!(
                refused(11).unwrap().contains("found collectives of 12 messages an iteration;")
            );
        }
    }
}
