//! All workloads of a run as one stream of flows.

use super::WorkloadError;
use super::all_to_all::AllToAll;
use super::collective::{Room, of_workload};
use super::dag::Job;
use super::hosts::{Fabric, HostSets};
use super::incast::{Incast, Rounds};
use super::load::mean_interarrival;
use super::long_flows::LongFlows;
use super::pairs::Pairs;
use super::permutation::Permutation;
use super::poisson::Poisson;
use super::replay::Replay;
use super::sizes::Sizes;
use crate::spec::{JobSpec, Stop, WorkloadKind, WorkloadSpec};
use leafspine_core::{HostId, PacketMeta, Span, Time};

/// A flow that is to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// When its sender opens it.
    pub start: Time,
    /// Application bytes, at least 1.
    pub bytes: u64,
    /// Its sender.
    pub src: HostId,
    /// Its receiver, another host.
    pub dst: HostId,
    /// Uplink that its data takes at the sender's leaf; [`PacketMeta::NO_PATH`] if not given.
    pub path: u16,
    /// Uplink that its ACKs take at the receiver's leaf; [`PacketMeta::NO_PATH`] if not given.
    pub ack_path: u16,
    /// Number of the workload that it belongs to.
    pub workload: u16,
}

impl Flow {
    /// A flow of no particular path.
    pub(super) fn new(start: Time, src: HostId, dst: HostId, bytes: u64) -> Flow {
        let path = PacketMeta::NO_PATH;
        Flow { start, bytes, src, dst, path, ack_path: path, workload: 0 }
    }
}

/// Starts at a fixed distance.
#[derive(Clone, Copy)]
pub(super) struct Staggered {
    next: Time,
    stagger: Span,
}

impl Staggered {
    pub(super) fn next(&mut self) -> Time {
        let now = self.next;
        self.next = Time(now.0.saturating_add(self.stagger.0));
        now
    }
}

/// Makes one workload's flows, in order of their starts.
enum Generator {
    Poisson(Poisson),
    Incast(Incast),
    LongFlows(LongFlows),
    Permutation(Permutation),
    AllToAll(AllToAll),
    Trace(Box<Replay>),
}

impl Generator {
    fn new(
        spec: &WorkloadSpec,
        fabric: &Fabric,
        seed: u64,
        workload: usize,
    ) -> Result<Generator, WorkloadError> {
        if let WorkloadKind::Trace(trace) = &spec.kind {
            return Ok(Generator::Trace(Box::new(Replay::open(trace, fabric, spec.start)?)));
        }
        let sets = HostSets::resolve(spec, fabric, seed, workload)?;
        let pairs = Pairs::new(&sets, fabric, spec.pattern);
        let (to, sizes, key) = (sets.receivers, Sizes::new(&spec.sizes)?, (seed, workload));
        let every = |stagger: Span| Staggered { next: spec.start, stagger };
        Ok(match spec.kind {
            WorkloadKind::Poisson { stop: Stop::Flows(0), .. } => {
                return Err(WorkloadError::at("flows", "0", "at least 1"));
            }
            WorkloadKind::Poisson { arrivals, stop } => {
                pairs.require_a_receiver_for_each()?;
                let apart = mean_interarrival(arrivals, sizes.mean(), &pairs, fabric)?;
                let when = (spec.start, apart, stop);
                Generator::Poisson(Poisson::new((pairs, sizes), when, key))
            }
            WorkloadKind::Incast { fan_in, rounds, every, jitter } => {
                let rounds = Rounds { origin: spec.start, rounds, every, jitter, fan_in };
                Generator::Incast(Incast::new((pairs, to), sizes, rounds, key)?)
            }
            WorkloadKind::LongFlows { count, stagger } => {
                let flows = LongFlows::new((pairs, to), sizes, (count, every(stagger)), key)?;
                Generator::LongFlows(flows)
            }
            WorkloadKind::Permutation { stagger } => {
                let how = (sizes, every(stagger));
                Generator::Permutation(Permutation::new((&pairs, &to), spec.pattern, how, key)?)
            }
            WorkloadKind::AllToAll { stagger } => {
                Generator::AllToAll(AllToAll::new((pairs, to), sizes, every(stagger), key)?)
            }
            WorkloadKind::Trace(_) | WorkloadKind::Job(_) | WorkloadKind::Program(_) => {
                unreachable!("a trace is opened above, jobs and programs are no source")
            }
        })
    }

    /// Flows in all, asked before the first; unknown of a trace, and where time decides.
    fn total(&self) -> Option<u64> {
        match self {
            Generator::Poisson(flows) => flows.total(),
            Generator::Incast(flows) => Some(flows.total()),
            Generator::LongFlows(flows) => Some(flows.total()),
            Generator::Permutation(flows) => Some(flows.total()),
            Generator::AllToAll(flows) => Some(flows.total()),
            Generator::Trace(_) => None,
        }
    }

    /// Flows in all, about, asked at any time; unknown of a trace.
    fn expected(&self) -> Option<f64> {
        match self {
            Generator::Poisson(flows) => Some(flows.expected()),
            _ => None,
        }
    }

    /// The first flow. A duration may be too short for one.
    fn first(&mut self) -> Result<Option<Flow>, WorkloadError> {
        match (self.next(), &self) {
            (Ok(None), Generator::Poisson(flows)) => {
                let first = flows.reached().about(3);
                let found =
                    format!("a time in which no flow starts: the first would after {first}");
                Err(WorkloadError::at("duration", found, "a longer one, or more flows in it"))
            }
            (found, _) => found,
        }
    }

    fn next(&mut self) -> Result<Option<Flow>, WorkloadError> {
        Ok(match self {
            Generator::Poisson(flows) => flows.next(),
            Generator::Incast(flows) => flows.next(),
            Generator::LongFlows(flows) => flows.next(),
            Generator::Permutation(flows) => flows.next(),
            Generator::AllToAll(flows) => flows.next(),
            Generator::Trace(flows) => return flows.next(),
        })
    }
}

/// How much a workload asks for, before it runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Demand {
    /// Flows; of a trace an upper bound, from its length; of a duration more than will start, but
    /// for one run in a billion.
    pub(crate) flows: u64,
    /// The most of them that are thought to be under way at once.
    pub(crate) at_once: u64,
    /// When the last of them starts, about, in ps; zero if unknown.
    pub(crate) last_start: f64,
}

/// Standard errors of a Poisson number that are its margin.
const MARGIN: f64 = 6.0;
/// Bytes of a trace's shortest row: `0,0,1,1` and the end of the line.
const SHORTEST_ROW: u64 = 8;
/// How many bytes one of a compressed trace may stand for: numbers in text, compressed well.
const GZIP: u64 = 8;
/// Flows a sender that are under way at once where links can carry the load: far more than usual.
const USUAL: f64 = 16.0;
/// Of their capacity, what links carry of payload.
const GOODPUT: f64 = 0.95;

impl Demand {
    /// What one of the workloads asks for.
    ///
    /// # Errors
    /// As [`FlowSource::new`].
    pub(crate) fn of(
        spec: &WorkloadSpec,
        fabric: &Fabric,
        seed: u64,
        workload: usize,
    ) -> Result<Demand, WorkloadError> {
        Demand::within(spec, fabric, seed, workload).map_err(|error| error.within(workload))
    }

    fn within(
        spec: &WorkloadSpec,
        fabric: &Fabric,
        seed: u64,
        workload: usize,
    ) -> Result<Demand, WorkloadError> {
        let usual = USUAL * fabric.hosts() as f64;
        if let WorkloadKind::Job(job) = &spec.kind {
            return Demand::of_jobs(spec, job, fabric, (seed, workload));
        }
        if let WorkloadKind::Program(_) = &spec.kind {
            HostSets::resolve(spec, fabric, seed, workload)?;
            return Ok(Demand { flows: 0, at_once: 0, last_start: spec.start.0 as f64 });
        }
        if let WorkloadKind::Trace(trace) = &spec.kind {
            let length = std::fs::metadata(&trace.file).map_or(0, |file| file.len());
            let gzip = trace.file.extension().is_some_and(|name| name == "gz");
            let flows = if gzip { length.saturating_mul(GZIP) } else { length } / SHORTEST_ROW;
            return Ok(Demand { flows, at_once: flows.min(usual as u64), last_start: 0.0 });
        }
        let generator = Generator::new(spec, fabric, seed, workload)?;
        let flows = generator.total().unwrap_or_else(|| {
            let expected = generator.expected().unwrap_or(0.0);
            (expected + MARGIN * (expected.sqrt() + 1.0)).ceil() as u64
        });
        let sets = HostSets::resolve(spec, fabric, seed, workload)?;
        let pairs = Pairs::new(&sets, fabric, spec.pattern);
        let mean = Sizes::new(&spec.sizes)?.mean();
        let apart = match spec.kind {
            WorkloadKind::Poisson { arrivals, .. } => {
                mean_interarrival(arrivals, mean, &pairs, fabric)?
            }
            WorkloadKind::Incast { rounds, every, .. } => {
                every.0 as f64 * f64::from(rounds) / flows.max(1) as f64
            }
            WorkloadKind::LongFlows { stagger, .. }
            | WorkloadKind::Permutation { stagger }
            | WorkloadKind::AllToAll { stagger } => stagger.0 as f64,
            WorkloadKind::Trace(_) | WorkloadKind::Job(_) | WorkloadKind::Program(_) => {
                unreachable!("looked at above")
            }
        };
        let links = |hosts: &[HostId]| -> f64 {
            hosts.iter().map(|host| fabric.host_links[usize::from(host.0)].0 as f64).sum()
        };
        // What arrives in the time that the links need for it, and what piles up if they need more.
        let capacity = links(pairs.senders()).min(links(&sets.receivers));
        let needs = 8e12 * mean / (GOODPUT * capacity);
        let piles_up = (1.0 - apart / needs).max(0.0);
        let at_once = (flows as f64 * piles_up + usual).min(flows as f64) as u64;
        let span = match spec.kind {
            WorkloadKind::Poisson { stop: Stop::After(duration), .. } => duration.0 as f64,
            _ => apart * flows as f64,
        };
        let last_start = spec.start.0 as f64 + span;
        Ok(Demand { flows, at_once, last_start })
    }
}

impl Demand {
    /// What jobs ask for. At once: the messages that wait for nothing but one another, twice over,
    /// because those that wait for them have their places, too.
    fn of_jobs(
        spec: &WorkloadSpec,
        job: &JobSpec,
        fabric: &Fabric,
        key: (u64, usize),
    ) -> Result<Demand, WorkloadError> {
        let jobs = of_workload(spec, job, fabric, key, &mut Room::default())?;
        let flows = jobs.iter().map(Job::messages).sum();
        let widest: u64 = jobs.iter().map(Job::widest).sum();
        Ok(Demand { flows, at_once: (2 * widest).min(flows), last_start: 0.0 })
    }
}

/// A workload and its next flow.
struct Lane {
    workload: u16,
    generator: Generator,
    head: Result<Option<Flow>, WorkloadError>,
    /// Flows in all, where that is known from the start.
    total: Option<u64>,
}

/// The flows of all workloads by (start, workload), made when asked for; jobs' messages, which wait for
/// each other, are none of them.
///
/// One flow of each workload is made ahead, so that a source knows that it is exhausted when it
/// hands out its last flow.
pub struct FlowSource {
    lanes: Vec<Lane>,
    handed_out: u64,
    last_start: Option<Time>,
}

impl FlowSource {
    /// The flows of `workloads` on `fabric` under the run's `seed`. Opens traces and reads their
    /// headers and first rows.
    ///
    /// # Errors
    /// If no flow can be made of a workload: what [`HostSets::resolve`], [`Sizes::new`] and
    /// [`Trace::open`](super::Trace::open) refuse, senders and receivers that the pattern cannot pair, a count of zero,
    /// a load, interarrival time or rate that is not above zero, a load of a fabric that is not
    /// there, a duration in which no flow starts. Keys are counted from the scenario's root: `workload.0.load`.
    pub fn new(
        workloads: &[WorkloadSpec],
        fabric: &Fabric,
        seed: u64,
    ) -> Result<FlowSource, WorkloadError> {
        let mut lanes = Vec::with_capacity(workloads.len());
        let flows = |spec: &&WorkloadSpec| {
            !matches!(spec.kind, WorkloadKind::Job(_) | WorkloadKind::Program(_))
        };
        for (workload, spec) in workloads.iter().enumerate().filter(|(_, spec)| flows(spec)) {
            let mut generator =
                Generator::new(spec, fabric, seed, workload).map_err(|e| e.within(workload))?;
            let total = generator.total();
            let head = Ok(generator.first().map_err(|error| error.within(workload))?);
            lanes.push(Lane { workload: workload as u16, generator, head, total });
        }
        Ok(FlowSource { lanes, handed_out: 0, last_start: None })
    }

    /// The next flow, or `None` after the last.
    ///
    /// # Errors
    /// A trace's row that no flow can be made of, as soon as it is read: up to one flow before its
    /// turn. The same error again if asked again.
    #[allow(
        clippy::should_implement_trait,
        reason = "fallible: an iterator would go on after errors"
    )]
    pub fn next(&mut self) -> Result<Option<Flow>, WorkloadError> {
        let mut first: Option<(Time, usize)> = None;
        for (at, lane) in self.lanes.iter().enumerate() {
            match &lane.head {
                Err(error) => return Err(error.clone()),
                Ok(Some(flow)) if first.is_none_or(|(start, _)| flow.start < start) => {
                    first = Some((flow.start, at));
                }
                Ok(_) => {}
            }
        }
        let Some((start, at)) = first else { return Ok(None) };
        let lane = &mut self.lanes[at];
        let workload = lane.workload;
        let flow = std::mem::replace(&mut lane.head, lane.generator.next())?;
        self.handed_out += 1;
        self.last_start = Some(start);
        Ok(flow.map(|flow| Flow { workload, ..flow }))
    }

    /// Flows in all, handed out or not; `None` while a trace has rows left, or a duration lasts.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        if self.is_exhausted() {
            return Some(self.handed_out);
        }
        let sum = |sum: u64, lane: &Lane| Some(sum.saturating_add(lane.total?));
        self.lanes.iter().try_fold(0, sum)
    }

    /// Flows in all as far as that can be told: while a duration lasts, as many as are to be
    /// expected. `None` while a trace has rows left.
    #[must_use]
    pub fn expected(&self) -> Option<u64> {
        let of = |lane: &Lane| match lane.total {
            Some(flows) => Some(flows),
            None => lane.generator.expected().map(|flows| flows.round() as u64),
        };
        let sum = |sum: u64, lane: &Lane| Some(sum.saturating_add(of(lane)?));
        self.total().or_else(|| self.lanes.iter().try_fold(0, sum))
    }

    /// Flows handed out so far.
    #[must_use]
    pub fn handed_out(&self) -> u64 {
        self.handed_out
    }

    /// Start of the flow handed out last: of the run's last flow once the source is exhausted.
    #[must_use]
    pub fn last_start(&self) -> Option<Time> {
        self.last_start
    }

    /// Whether no flow and no error is to come.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.lanes.iter().all(|lane| matches!(lane.head, Ok(None)))
    }
}
