//! Which hosts a job's ranks are on.

use super::super::WorkloadError;
use super::super::stream::shuffle_front;
use crate::spec::{JobSpec, Placement};
use leafspine_core::{HostId, Rng, Role};

/// The hosts of each job, by rank: no two ranks of the workload share a host.
pub(super) fn place(
    job: &JobSpec,
    mut hosts: Vec<HostId>,
    (seed, workload): (u64, usize),
) -> Result<Vec<Vec<HostId>>, WorkloadError> {
    let there = hosts.len();
    let ranks = job.ranks.map_or(there / job.jobs.max(1) as usize, |ranks| ranks as usize);
    if ranks < 2 {
        let found = match job.ranks {
            Some(ranks) => format!("{ranks}"),
            None => format!("{there} hosts for {} jobs", job.jobs),
        };
        return Err(WorkloadError::at("ranks", found, "at least 2 ranks a job"));
    }
    if ranks.saturating_mul(job.jobs as usize) > there {
        let found = match job.jobs {
            1 => format!("{ranks} ranks"),
            jobs => format!("{jobs} jobs of {ranks} ranks"),
        };
        let allowed = format!("at most {there} ranks in all: each has a host of its own");
        return Err(WorkloadError::at("ranks", found, allowed));
    }
    if job.placement == Placement::Random {
        let mut rng = Rng::new(seed, Role::Placement, workload as u64);
        shuffle_front(&mut hosts, there, &mut rng);
    }
    Ok(hosts.chunks(ranks).take(job.jobs as usize).map(<[HostId]>::to_vec).collect())
}
