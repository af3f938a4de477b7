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
    Algorithm, ChakraSpec, Collective, CollectiveSpec, GoalSpec, HostSet, HowSpec, JobKind,
    JobSpec, Pattern, PipelineSpec, Placement, Schedule, SimaiSpec, SizeSpec, TimeUnit,
    WorkloadKind, WorkloadSpec,
};
use std::path::PathBuf;

/// The kinds of workload that are jobs.
pub(crate) const KINDS: &[&str] = &["collective", "pipeline", "goal", "simai", "chakra"];

const COLLECTIVES: &[&str] =
    &["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "all-to-allv"];
const ALGORITHMS: &[&str] = &["ring", "tree", "halving-doubling", "direct", "pairwise"];
/// Those that do all-reduces, all-gathers and reduce-scatters.
const IN_FILES: &[&str] = &["ring", "halving-doubling"];
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
/// The same of what names collectives, but not how they are done.
const SIMAI: &[&str] = &[
    "path",
    "checksum",
    "time_unit",
    "algorithm",
    "channels",
    "chunk",
    "hosts",
    "jobs",
    "placement",
    "iterations",
    "delay",
];
const CHAKRA: &[&str] =
    &["path", "checksum", "algorithm", "channels", "chunk", "hosts", "jobs", "placement", "delay"];
/// The end of the name of rank 0's trace.
const FIRST: &str = ".0.et";

/// The keys of a kind besides `kind` and `start`.
pub(crate) fn keys(section: &Section<'_>, kind: &str) -> Vec<&'static str> {
    let mut keys = match kind {
        "pipeline" => vec!["bytes", "microbatches", "forward", "backward", "schedule"],
        "goal" => return GOAL.to_vec(),
        "simai" => return SIMAI.to_vec(),
        "chakra" => return CHAKRA.to_vec(),
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
        "simai" => JobKind::Simai(simai(section)?),
        "chakra" => JobKind::Chakra(chakra(section)?),
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
    if !matches!(kind, "goal" | "chakra") {
        job.iterations = section.count("iterations", ANY, Some("1"))?;
    }
    if matches!(kind, "collective" | "pipeline") {
        let ranks = section.unless("ranks", RANKS, "all")?;
        job.ranks = ranks.map(|value| content!(value, Int) as u32); // At most 65,536.
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
        class: None,
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
    let (channels, chunk) = parts(section)?;
    Ok(CollectiveSpec { collective, algorithm, bytes, channels, chunk })
}

/// Into how many parts and pieces a buffer is divided.
fn parts(section: &mut Section<'_>) -> Result<(u16, Option<Bytes>), ScenarioError> {
    let channels = section.count("channels", CHANNELS, Some("1"))? as u16; // At most 64.
    let chunk = section.unless("chunk", CHUNK, "none")?.map(|value| content!(value, Bytes));
    Ok((channels, chunk))
}

/// How the collectives are done that a file names.
fn how(section: &mut Section<'_>) -> Result<HowSpec, ScenarioError> {
    let algorithm = match section.word("algorithm", IN_FILES, IN_FILES.first().copied())?.as_str() {
        "ring" => Algorithm::Ring,
        _ => Algorithm::HalvingDoubling,
    };
    let (channels, chunk) = parts(section)?;
    Ok(HowSpec { algorithm, channels, chunk })
}

fn simai(section: &mut Section<'_>) -> Result<SimaiSpec, ScenarioError> {
    let file = trace::path(section, "SimAI's workload text")?;
    Ok(SimaiSpec { file, unit: unit(section)?, how: how(section)? })
}

/// The traces of all ranks, whose files lie beside that of rank 0.
fn chakra(section: &mut Section<'_>) -> Result<ChakraSpec, ScenarioError> {
    const WHAT: &str = "rank 0's trace of Chakra, which ends in \".0.et\"";
    // A survey asks for keys, with a file that is none.
    let surveyed = section.place.survey.is_some();
    let files = trace::paths(section, WHAT, |first| {
        if surveyed {
            return Ok(Vec::new());
        }
        let Some(name) = first.to_str().and_then(|name| name.strip_suffix(FIRST)) else {
            return Err(format!("the path of {WHAT}"));
        };
        let ranks = (1..).map(|rank| PathBuf::from(format!("{name}.{rank}.et")));
        Ok(ranks.take_while(|file| file.is_file()).collect())
    })?;
    Ok(ChakraSpec { files, how: how(section)? })
}

fn goal(section: &mut Section<'_>) -> Result<GoalSpec, ScenarioError> {
    let file = trace::path(section, "a GOAL schedule, as text or in binary")?;
    Ok(GoalSpec { file, unit: unit(section)? })
}

/// The unit of a file's computations.
fn unit(section: &mut Section<'_>) -> Result<TimeUnit, ScenarioError> {
    let unit = section.word("time_unit", &TimeUnit::NAMES, Some("ns"))?;
    let at = TimeUnit::NAMES.iter().position(|name| *name == unit).unwrap_or_default();
    Ok(TimeUnit::ALL[at])
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
