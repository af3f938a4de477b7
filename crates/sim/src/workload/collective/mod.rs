//! Jobs of ranks that communicate, as operations that wait for each other.
//!
//! Each algorithm is a file, and adds its messages to a [`Draft`]. It is given the operation that lets
//! each rank begin, and gives the operations after which each rank has done: when all data that it is
//! to have has come.

mod count;
mod exchange;
mod halving;
mod pipeline;
mod place;
mod ring;
mod split;
mod tree;

pub(crate) use count::Room;

use super::WorkloadError;
use super::dag::{Dags, Draft, Job, Op, Phase, Template};
use super::hosts::{Fabric, HostSets};
use super::schedule::Schedule;
use super::sizes::Sizes;
use super::stream::{Drawn, stream};
use crate::spec::{
    Algorithm, Collective, CollectiveSpec, JobKind, JobSpec, Pattern, WorkloadKind, WorkloadSpec,
};
use leafspine_core::{Bytes, HostId, Span};

/// The ranks of a job, and where each begins.
struct Group<'a> {
    hosts: &'a [HostId],
    begin: &'a [Op],
}

/// Per rank: what it has done when these have ended at its host.
pub(super) type Ends = Vec<Vec<Op>>;

/// The jobs of a run's workloads; `None` if it has none.
///
/// # Errors
/// What [`HostSets::resolve`] refuses, more ranks than hosts, fewer than two, bytes or ranks that the
/// algorithm cannot divide, more operations than are built or can be numbered.
pub(crate) fn jobs(
    workloads: &[WorkloadSpec],
    fabric: &Fabric,
    seed: u64,
) -> Result<Option<Dags>, WorkloadError> {
    jobs_within(workloads, fabric, seed, Room::default())
}

fn jobs_within(
    workloads: &[WorkloadSpec],
    fabric: &Fabric,
    seed: u64,
    mut room: Room,
) -> Result<Option<Dags>, WorkloadError> {
    let mut jobs = Vec::new();
    for (workload, spec) in workloads.iter().enumerate() {
        if let WorkloadKind::Job(job) = &spec.kind {
            let made = of_workload(spec, job, fabric, (seed, workload), &mut room);
            jobs.extend(made.map_err(|error| error.within(workload))?);
        }
    }
    if jobs.is_empty() {
        return Ok(None);
    }
    let count: u64 = jobs.iter().map(Job::messages).sum();
    let dags = Dags::new(jobs).ok_or_else(|| {
        let found = format!("jobs of {count} messages in all");
        WorkloadError::at("workload", found, "at most 2^27 messages and 2^26 computations")
    })?;
    Ok(Some(dags))
}

/// The jobs of one workload, which take of the `room` that there is for all.
pub(crate) fn of_workload(
    spec: &WorkloadSpec,
    job: &JobSpec,
    fabric: &Fabric,
    (seed, workload): (u64, usize),
    room: &mut Room,
) -> Result<Vec<Job>, WorkloadError> {
    let any = WorkloadSpec { pattern: Pattern::Any, ..spec.clone() };
    let hosts = HostSets::resolve(&any, fabric, seed, workload)
        .map_err(|error| WorkloadError { key: error.key.replace("senders", "hosts"), ..error })?
        .senders;
    let mut drawn = match job.what {
        JobKind::Collective(CollectiveSpec { collective: Collective::AllToAllV, .. }) => {
            let rng = stream(seed, workload, Drawn::Sizes);
            Some((Sizes::new(&spec.sizes)?, rng))
        }
        _ => None,
    };
    let schedule = Schedule::read(&job.what)?;
    // A schedule says how many ranks it has.
    let ranks = schedule.as_ref().and_then(Schedule::ranks).or(job.ranks);
    let job = &JobSpec { ranks, ..job.clone() };
    let placed = place::place(job, hosts, (seed, workload))?;
    let each = placed.first().map_or(0, Vec::len) as u64;
    let counted = room.check_jobs(&job.what, placed.len() as u64, each)?;
    // What is counted only when it is made (drawn sizes, a schedule's collectives), over all jobs.
    let counts = !matches!(job.what, JobKind::Goal(_));
    let (mut messages, key) = (0, if schedule.is_some() { "path" } else { "collective" });
    let made = placed.into_iter().map(|ranks| {
        let mut sizes = || drawn.as_mut().map_or(1, |(sizes, rng)| sizes.sample(rng));
        let template = match &schedule {
            Some(schedule) => schedule.template(&ranks)?,
            None => template(job, &ranks, &mut sizes)?,
        };
        messages += template.messages();
        if counts {
            room.check(messages, key, "collectives")?;
        }
        let times = (spec.start, job.delay, job.compute_jitter);
        Ok(Job::new(template, job.iterations, ranks, workload as u16, times, seed))
    });
    let made = made.collect();
    room.take(if counts { counted.max(messages) } else { 0 });
    made
}

/// An iteration of a job on these hosts. `sizes`: the next message of an all-to-allv.
fn template(
    job: &JobSpec,
    hosts: &[HostId],
    sizes: &mut dyn FnMut() -> u64,
) -> Result<Template, WorkloadError> {
    let mut draft = Draft::default();
    let computes = job.compute > Span::ZERO || job.compute_jitter > Span::ZERO;
    let mut first = Vec::new();
    if computes {
        draft.phase(Phase::unmeasured("compute"));
        first = hosts.iter().map(|host| draft.compute(*host, job.compute, true)).collect();
    }
    draft.phase(phase(&job.what, hosts.len()));
    let begin: Vec<Op> = hosts.iter().map(|host| draft.point(*host)).collect();
    first.iter().zip(&begin).for_each(|(compute, begin)| draft.after(*compute, *begin));
    let group = Group { hosts, begin: &begin };
    let ends = match &job.what {
        JobKind::Collective(spec) => collective(&mut draft, &group, spec, sizes)?,
        JobKind::Pipeline(spec) => pipeline::pipeline(&mut draft, &group, spec),
        JobKind::Goal(_) | JobKind::Simai(_) | JobKind::Chakra(_) => {
            unreachable!("a schedule is a template of its own")
        }
    };
    let first = if computes { &first } else { &begin };
    for (ends, first) in ends.iter().zip(first) {
        ends.iter().for_each(|end| draft.next_after(*end, *first));
    }
    draft.finish().map_err(|error| {
        let found = format!("operations that cannot be put in order ({error:?})");
        WorkloadError::at("algorithm", found, "fewer ranks, channels or chunks")
    })
}

/// How an iteration's work is measured: bandwidth as NCCL's tests count it.
fn phase(what: &JobKind, ranks: usize) -> Phase {
    match what {
        JobKind::Collective(spec) => phase_of(spec, ranks),
        _ => Phase { name: "pipeline".to_owned(), bytes: 0, bus_factor: 0.0, measured: true },
    }
}

/// The same of a collective among so many ranks, which is called what it is.
fn phase_of(spec: &CollectiveSpec, ranks: usize) -> Phase {
    let others = (ranks - 1) as f64 / ranks as f64;
    let (name, bus_factor) = match spec.collective {
        Collective::AllReduce => ("all-reduce", 2.0 * others),
        Collective::AllGather => ("all-gather", others),
        Collective::ReduceScatter => ("reduce-scatter", others),
        Collective::AllToAll => ("all-to-all", others),
        Collective::AllToAllV => ("all-to-allv", 0.0),
    };
    let bytes = if bus_factor > 0.0 { spec.bytes.0 } else { 0 };
    Phase { name: name.to_owned(), bytes, bus_factor, measured: true }
}

/// The phase of a schedule's collective, which is called `label` and what the collective is.
pub(super) fn named_phase(spec: &CollectiveSpec, ranks: usize, label: &str) -> Phase {
    let phase = phase_of(spec, ranks);
    Phase { name: format!("{label} {}", phase.name), ..phase }
}

/// Adds one collective of a schedule's to the present phase: among `hosts`, of which each begins after what `ready`
/// says of it. What each has done when it ends is given back.
///
/// # Errors
/// What the algorithm cannot divide.
pub(super) fn add(
    draft: &mut Draft,
    (hosts, ready): (&[HostId], &[Vec<Op>]),
    spec: &CollectiveSpec,
) -> Result<Ends, WorkloadError> {
    // A buffer of fewer bytes, such as a sum of one number, has one for each message.
    let parts = hosts.len() as u64 * u64::from(spec.channels);
    let spec = CollectiveSpec { bytes: Bytes(spec.bytes.0.max(parts)), ..*spec };
    let all = count::messages(&spec, hosts.len() as u64).saturating_add(draft.messages());
    Room::default().check(all, "path", "collectives")?;
    let begin: Vec<Op> = hosts.iter().map(|host| draft.point(*host)).collect();
    for (begin, ready) in begin.iter().zip(ready) {
        ready.iter().for_each(|before| draft.after(*before, *begin));
    }
    collective(draft, &Group { hosts, begin: &begin }, &spec, &mut || 1)
}

fn collective(
    draft: &mut Draft,
    group: &Group<'_>,
    spec: &CollectiveSpec,
    sizes: &mut dyn FnMut() -> u64,
) -> Result<Ends, WorkloadError> {
    use Algorithm::{Direct, HalvingDoubling, Pairwise, Ring, Tree};
    use Collective::{AllGather, AllReduce, AllToAll, AllToAllV, ReduceScatter};
    let (reduce, gather) = match spec.collective {
        AllReduce => (true, true),
        ReduceScatter => (true, false),
        _ => (false, true),
    };
    match (spec.collective, spec.algorithm) {
        (AllReduce | AllGather | ReduceScatter, Ring) => {
            ring::ring(draft, group, spec, (reduce, gather))
        }
        (AllReduce, Tree) => tree::all_reduce(draft, group, spec),
        (AllReduce | AllGather | ReduceScatter, HalvingDoubling) => {
            halving::halving_doubling(draft, group, spec, (reduce, gather))
        }
        (AllToAll | AllToAllV, Direct | Pairwise) => exchange::exchange(draft, group, spec, sizes),
        _ => {
            let found = "an algorithm that the collective does not have";
            Err(WorkloadError::at("algorithm", found, "another one"))
        }
    }
}

/// Refuses a buffer of which somebody would have nothing to send.
fn at_least(spec: &CollectiveSpec, parts: u64) -> Result<(), WorkloadError> {
    if spec.bytes.0 >= parts {
        return Ok(());
    }
    let allowed = format!("at least {parts}B: a byte for each rank and channel");
    Err(WorkloadError::at("bytes", spec.bytes.to_string(), allowed))
}
