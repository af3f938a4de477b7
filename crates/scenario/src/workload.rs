//! `[[workload]]`.

use crate::error::ScenarioError;
use crate::hosts::host_set;
use crate::job;
use crate::program;
use crate::section::{Around, Section, content, tables};
use crate::sizes::sizes;
use crate::trace;
use crate::tree::{Data, Node};
use leafspine_core::{Bytes, Time};
use leafspine_fabric::TopologyKind;
use leafspine_schemes::Kind;
use leafspine_sim::spec::{
    Arrivals, HostSet, LoadBasis, Pattern, SizeSpec, Stop, TimeUnit, TraceSpec, WorkloadKind,
    WorkloadSpec,
};

const KINDS: &[&str] = &[
    "poisson",
    "incast",
    "long-flows",
    "permutation",
    "all-to-all",
    "trace",
    "collective",
    "pipeline",
    "goal",
    "simai",
    "chakra",
    "program",
];
const ANY: (u32, u32) = (1, u32::MAX);
/// DSCPs.
const CLASSES: Kind = Kind::Int(0, 63);
/// A load may be an overload; more than ten times what links carry is a percentage.
const LOAD: Kind = Kind::Float(f64::MIN_POSITIVE, 10.0);

/// Every `[[workload]]`, and all of them written out.
pub(crate) fn workloads(
    place: Around<'_>,
    node: Option<&Node>,
    graph: &TopologyKind,
) -> Result<(Vec<WorkloadSpec>, String), ScenarioError> {
    let sections = tables(place, "workload", node)?;
    if sections.is_empty() {
        let origin = node.map(|node| node.origin);
        return Err(place.error(origin, "workload", "nothing", "at least one [[workload]]"));
    }
    let (mut specs, mut text) = (Vec::new(), String::new());
    for section in sections {
        let (spec, block) = workload(section, graph)?;
        specs.push(spec);
        text += &format!("\n{block}");
    }
    Ok((specs, text))
}

fn workload(
    mut section: Section<'_>,
    graph: &TopologyKind,
) -> Result<(WorkloadSpec, String), ScenarioError> {
    let kind = section.word("kind", KINDS, Some("poisson"))?;
    let own: &[&str] = match kind.as_str() {
        "poisson" if section.has("load") => &["load", "load_basis", "flows", "duration"],
        "poisson" if section.has("interarrival") => &["interarrival", "flows", "duration"],
        "poisson" if section.has("rate") => &["rate", "flows", "duration"],
        "poisson" => &["load", "interarrival", "rate", "flows", "duration"],
        "incast" => &["fan_in", "rounds", "every", "jitter"],
        "long-flows" => &["count", "stagger"],
        "trace" => &["path", "checksum", "time_unit", "load", "load_basis"],
        _ => &["stagger"],
    };
    let mut keys = vec!["kind"];
    if job::KINDS.contains(&kind.as_str()) {
        keys.extend(job::keys(&section, &kind));
    } else if kind == "program" {
        keys.extend(program::KEYS);
    } else {
        keys.extend(own);
        if kind != "trace" {
            keys.extend(["sizes", "senders", "receivers", "pattern"]);
        }
    }
    keys.push("start");
    if kind != "program" {
        keys.push("class");
    }
    check_alternatives(&section)?;
    section.allow(&keys, &format!("a key that a workload of kind \"{kind}\" does not have"))?;
    let spec = match kind.as_str() {
        "trace" => trace_workload(&mut section, graph)?,
        "program" => program::program(&mut section, graph)?,
        kind if job::KINDS.contains(&kind) => job::job(&mut section, kind, graph)?,
        _ => generated(&mut section, &kind, graph)?,
    };
    let start = Time(section.span("start", Some("0us"))?.0);
    let class = if kind == "program" { None } else { section.given("class", CLASSES)? };
    let class = class.map(|class| content!(class, Int) as u8);
    Ok((WorkloadSpec { start, class, ..spec }, section.block("[[workload]]")))
}

/// A workload that is drawn.
fn generated(
    section: &mut Section<'_>,
    word: &str,
    graph: &TopologyKind,
) -> Result<WorkloadSpec, ScenarioError> {
    let kind = match word {
        "poisson" => poisson(section, graph)?,
        "incast" => incast(section)?,
        "long-flows" => WorkloadKind::LongFlows {
            count: section.count("count", ANY, None)?,
            stagger: section.span("stagger", Some("0us"))?,
        },
        "permutation" => {
            WorkloadKind::Permutation { stagger: section.span("stagger", Some("0us"))? }
        }
        _ => WorkloadKind::AllToAll { stagger: section.span("stagger", Some("0us"))? },
    };
    let sizes = sizes(section, "sizes")?;
    let senders = host_set(section, "senders", graph)?;
    let receivers = host_set(section, "receivers", graph)?;
    if senders == HostSet::Rest && receivers == HostSet::Rest {
        let found = "\"the rest\" on both sides";
        return Err(section.wrong("receivers", found, "\"the rest\" for one of the two"));
    }
    let pattern = pattern(section, word, graph)?;
    Ok(WorkloadSpec { kind, sizes, senders, receivers, pattern, start: Time::ZERO, class: None })
}

/// Keys of which a workload has one: how often flows start, and when that ends.
const ALTERNATIVES: [&[&str]; 2] = [&["load", "interarrival", "rate"], &["flows", "duration"]];

/// Refuses alternatives beside each other.
fn check_alternatives(section: &Section<'_>) -> Result<(), ScenarioError> {
    for keys in ALTERNATIVES {
        let given: Vec<&str> = keys.iter().copied().filter(|key| section.has(key)).collect();
        if let [first, second, ..] = given.as_slice() {
            let found = format!("both {first} and {second}");
            return Err(section.wrong(second, found, format!("one of {}", keys.join(", "))));
        }
    }
    Ok(())
}

fn poisson(section: &mut Section<'_>, graph: &TopologyKind) -> Result<WorkloadKind, ScenarioError> {
    let arrivals = if section.has("interarrival") {
        let mean = section.value("interarrival", Kind::Span(1, u64::MAX), None)?;
        Arrivals::Interarrival(content!(mean, Span))
    } else if section.has("rate") {
        Arrivals::Rate(content!(section.value("rate", Kind::Rate, None)?, Rate))
    } else if section.has("load") {
        let load = section.value("load", LOAD, None);
        let load = content!(load.map_err(|error| a_fraction(error, section.node("load")))?, Float);
        Arrivals::Load { load, basis: basis(section, graph)? }
    } else {
        let allowed = "a load such as 0.6, or an interarrival time, or a rate";
        return Err(section.wrong("load", "nothing", allowed));
    };
    Ok(WorkloadKind::Poisson { arrivals, stop: stop(section)? })
}

fn stop(section: &mut Section<'_>) -> Result<Stop, ScenarioError> {
    if section.has("duration") {
        let duration = section.value("duration", Kind::Span(1, u64::MAX), None)?;
        return Ok(Stop::After(content!(duration, Span)));
    }
    if !section.has("flows") {
        let allowed = "a number of flows, or a duration such as \"200ms\"";
        return Err(section.wrong("flows", "nothing", allowed));
    }
    let flows = section.value("flows", Kind::Int(1, i64::MAX as u64), None)?;
    Ok(Stop::Flows(content!(flows, Int)))
}

/// Says of a wrong load that it is a fraction, by the example of the percentage that was found.
fn a_fraction(mut error: ScenarioError, node: Option<&Node>) -> ScenarioError {
    let percent = match node.map(|node| &node.data) {
        Some(Data::Int(number)) => Some(*number as f64),
        Some(Data::Float(number)) => Some(*number),
        Some(Data::Text(text)) => text.trim_end_matches('%').trim_end().parse().ok(),
        _ => None,
    };
    let percent = percent.filter(|percent| (1.0..=1000.0).contains(percent)).unwrap_or(30.0);
    error.allowed += &format!(": a fraction, so {percent} % is {}", percent / 100.0);
    error
}

fn basis(section: &mut Section<'_>, graph: &TopologyKind) -> Result<LoadBasis, ScenarioError> {
    let word = section.word("load_basis", &["fabric", "host"], Some("fabric"))?;
    if word == "host" {
        return Ok(LoadBasis::Host);
    }
    let kind = graph.entry();
    if !kind.fabric {
        let key = if section.has("load_basis") { "load_basis" } else { "load" };
        let found = format!("a load of the fabric on a {}, which has none", kind.name);
        return Err(section.wrong(key, found, "load_basis = \"host\", an interarrival or a rate"));
    }
    Ok(LoadBasis::Fabric)
}

fn incast(section: &mut Section<'_>) -> Result<WorkloadKind, ScenarioError> {
    let fan_in = section.unless("fan_in", Kind::Int(1, u64::from(u32::MAX)), "all")?;
    let rounds = section.count("rounds", ANY, Some("1"))?;
    // One round has nothing to wait for.
    let every = section.span("every", (rounds == 1).then_some("0us"))?;
    let jitter = section.span("jitter", Some("0us"))?;
    let fan_in = fan_in.map(|value| content!(value, Int) as u32);
    Ok(WorkloadKind::Incast { fan_in, rounds, every, jitter })
}

/// Between leaves for Poisson traffic on a fabric, else any pair.
fn pattern(
    section: &mut Section<'_>,
    word: &str,
    graph: &TopologyKind,
) -> Result<Pattern, ScenarioError> {
    let leaves = graph.tors() > 1;
    let default = if word == "poisson" && leaves { "inter-leaf" } else { "any" };
    let pattern = section.word("pattern", &["any", "inter-leaf", "intra-leaf"], Some(default))?;
    match pattern.as_str() {
        "any" => Ok(Pattern::Any),
        "intra-leaf" => Ok(Pattern::IntraLeaf),
        _ if leaves => Ok(Pattern::InterLeaf),
        _ => {
            let found = "\"inter-leaf\" where all hosts are under one switch";
            Err(section.wrong("pattern", found, "\"any\", \"intra-leaf\""))
        }
    }
}

/// A workload that is read from a file. Sizes, pairs and times are the file's.
fn trace_workload(
    section: &mut Section<'_>,
    graph: &TopologyKind,
) -> Result<WorkloadSpec, ScenarioError> {
    let name = trace::path(section, "a CSV file")?;
    let unit = match section.has("time_unit") {
        true => Some(section.word("time_unit", &TimeUnit::NAMES, None)?),
        false => None,
    };
    let unit = unit.and_then(|name| TimeUnit::NAMES.iter().position(|known| *known == name));
    let load = match section.has("load") {
        true => {
            let load = section.value("load", LOAD, None);
            let load = load.map_err(|error| a_fraction(error, section.node("load")))?;
            Some((content!(load, Float), basis(section, graph)?))
        }
        false if section.has("load_basis") => {
            let allowed = "load_basis beside load";
            return Err(section.wrong("load_basis", "load_basis without load", allowed));
        }
        false => None,
    };
    let file = section.place.files_read.streamed(&name).map_err(|found| {
        let allowed = "a CSV file, plain or gzip, or Parquet, with the columns of a trace";
        section.wrong("path", found, allowed)
    })?;
    let unit = unit.map(|at| TimeUnit::ALL[at]);
    Ok(WorkloadSpec {
        kind: WorkloadKind::Trace(TraceSpec { file, name, unit, load }),
        sizes: SizeSpec::Fixed(Bytes(1)),
        senders: HostSet::All,
        receivers: HostSet::All,
        pattern: Pattern::Any,
        start: Time::ZERO,
        class: None,
    })
}
