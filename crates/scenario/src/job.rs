//! `[[workload]]` of the kinds whose messages wait for each other.

use crate::error::ScenarioError;
use crate::hosts::host_set;
use crate::section::{Section, content};
use crate::sizes::sizes;
use crate::trace;
use leafspine_core::{Bytes, Span, Time};
use leafspine_fabric::TopologyKind;
use leafspine_schemes::Kind;
use leafspine_sim::spec::{
    Algorithm, Collective, CollectiveSpec, GoalSpec, HostSet, JobKind, JobSpec, Pattern,
    PipelineSpec, Placement, Schedule, SizeSpec, TimeUnit, WorkloadKind, WorkloadSpec,
};

/// The kinds of workload that are jobs.
pub(crate) const KINDS: &[&str] = &["collective", "pipeline", "goal"];

const COLLECTIVES: &[&str] =
    &["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "all-to-allv"];
const ALGORITHMS: &[&str] = &["ring", "tree", "halving-doubling", "direct", "pairwise"];
const SCHEDULES: &[&str] = &["1f1b", "all-forward"];
const ANY: (u32, u32) = (1, u32::MAX);
/// A message of less is a packet.
const CHUNK: Kind = Kind::Bytes(1000, u64::MAX);
const BYTES: Kind = Kind::Bytes(1, u64::MAX);
/// Fewer have nobody to talk to; how many hosts there are the engine knows.
const RANKS: Kind = Kind::Int(2, 65_536);
/// Channels that a job may have.
const CHANNELS: (u32, u32) = (1, 64);

/// The keys of a schedule: how many ranks, how often and what is computed is in the file.
const GOAL: &[&str] = &["path", "checksum", "time_unit", "hosts", "jobs", "placement", "delay"];

/// The keys of a kind besides `kind` and `start`.
pub(crate) fn keys(section: &Section<'_>, kind: &str) -> Vec<&'static str> {
    let mut keys = match kind {
        "pipeline" => vec!["bytes", "microbatches", "forward", "backward", "schedule"],
        "goal" => return GOAL.to_vec(),
        _ => {
            let text = section.node("collective").and_then(|node| node.text());
            let sizes = if text == Some("all-to-allv") { "sizes" } else { "bytes" };
            vec!["collective", "algorithm", sizes, "channels", "chunk"]
        }
    };
    keys.extend(["hosts", "jobs", "ranks", "placement", "iterations"]);
    keys.extend(["compute", "compute_jitter", "delay"]);
    keys
}

/// A workload of jobs.
pub(crate) fn job(
    section: &mut Section<'_>,
    kind: &str,
    graph: &TopologyKind,
) -> Result<WorkloadSpec, ScenarioError> {
    let mut drawn = SizeSpec::Fixed(Bytes(1));
    let what = match kind {
        "pipeline" => JobKind::Pipeline(pipeline(section)?),
        "goal" => JobKind::Goal(goal(section)?),
        _ => JobKind::Collective(collective(section, &mut drawn)?),
    };
    let hosts = host_set(section, "hosts", graph)?;
    if hosts == HostSet::Rest {
        let found = "\"the rest\" of a job, which has one set of hosts";
        return Err(section.wrong("hosts", found, "the hosts themselves"));
    }
    let jobs = section.count("jobs", ANY, Some("1"))?;
    let placement = section.word("placement", &["packed", "random"], Some("packed"))?;
    let mut job = JobSpec {
        what,
        jobs,
        ranks: None,
        placement: if placement == "random" { Placement::Random } else { Placement::Packed },
        iterations: 1,
        compute: Span::ZERO,
        compute_jitter: Span::ZERO,
        delay: section.span("delay", Some("0us"))?,
    };
    if kind != "goal" {
        let ranks = section.unless("ranks", RANKS, "all")?;
        job.ranks = ranks.map(|value| content!(value, Int) as u32); // At most 65,536.
        job.iterations = section.count("iterations", ANY, Some("1"))?;
        job.compute = section.span("compute", Some("0us"))?;
        job.compute_jitter = section.span("compute_jitter", Some("0us"))?;
    }
    Ok(WorkloadSpec {
        kind: WorkloadKind::Job(Box::new(job)),
        sizes: drawn,
        senders: hosts,
        receivers: HostSet::All,
        pattern: Pattern::Any,
        start: Time::ZERO,
    })
}

fn collective(
    section: &mut Section<'_>,
    drawn: &mut SizeSpec,
) -> Result<CollectiveSpec, ScenarioError> {
    let name = section.word("collective", COLLECTIVES, None)?;
    let (collective, allowed): (_, &[&str]) = match name.as_str() {
        "all-reduce" => (Collective::AllReduce, &["ring", "tree", "halving-doubling"]),
        "all-gather" => (Collective::AllGather, &["ring", "halving-doubling"]),
        "reduce-scatter" => (Collective::ReduceScatter, &["ring", "halving-doubling"]),
        "all-to-all" => (Collective::AllToAll, &["direct", "pairwise"]),
        _ => (Collective::AllToAllV, &["direct", "pairwise"]),
    };
    let word = section.word("algorithm", ALGORITHMS, allowed.first().copied())?;
    if !allowed.contains(&word.as_str()) && section.place.survey.is_none() {
        let found = format!("\"{word}\", which an {name} does not have");
        let found = if name.starts_with('r') { found.replace("an r", "a r") } else { found };
        let allowed: Vec<String> = allowed.iter().map(|name| format!("\"{name}\"")).collect();
        return Err(section.wrong("algorithm", found, allowed.join(", ")));
    }
    let algorithm = match word.as_str() {
        "ring" => Algorithm::Ring,
        "tree" => Algorithm::Tree,
        "halving-doubling" => Algorithm::HalvingDoubling,
        "direct" => Algorithm::Direct,
        _ => Algorithm::Pairwise,
    };
    let mut bytes = Bytes(1);
    if collective == Collective::AllToAllV {
        *drawn = sizes(section, "sizes")?;
    } else {
        bytes = content!(section.value("bytes", BYTES, None)?, Bytes);
    }
    let channels = section.count("channels", CHANNELS, Some("1"))? as u16; // At most 64.
    let chunk = section.unless("chunk", CHUNK, "none")?.map(|value| content!(value, Bytes));
    Ok(CollectiveSpec { collective, algorithm, bytes, channels, chunk })
}

fn goal(section: &mut Section<'_>) -> Result<GoalSpec, ScenarioError> {
    let file = trace::path(section, "a GOAL schedule in its text form")?;
    let unit = section.word("time_unit", &TimeUnit::NAMES, Some("ns"))?;
    let at = TimeUnit::NAMES.iter().position(|name| *name == unit).unwrap_or_default();
    Ok(GoalSpec { file, unit: TimeUnit::ALL[at] })
}

fn pipeline(section: &mut Section<'_>) -> Result<PipelineSpec, ScenarioError> {
    Ok(PipelineSpec {
        bytes: content!(section.value("bytes", BYTES, None)?, Bytes),
        microbatches: section.count("microbatches", ANY, None)?,
        forward: section.span("forward", Some("0us"))?,
        backward: section.span("backward", Some("0us"))?,
        schedule: match section.word("schedule", SCHEDULES, Some("1f1b"))?.as_str() {
            "1f1b" => Schedule::Alternating,
            _ => Schedule::AllForward,
        },
    })
}
