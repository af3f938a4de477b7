//! Scenarios put together from overrides: one that is accepted runs to its end, conserves its
//! packets, and is the same run whoever looks at it and whichever ports it has.

use crate::overrides::parse;
use crate::scenario_toml::{base, reads_as_itself};
use leafspine_core::{Span, Time};
use leafspine_fabric::{Graph, Size, size};
use leafspine_scenario::{Source, expand};
use leafspine_schemes::testing::FakeLeaf;
use leafspine_schemes::{Params, Value, registry};
use leafspine_sim::spec::{
    DriverKind, JobKind, LinkChange, PortModel, ProbeKind, ProbeSpec, RunSpec, Spec, Stop,
    WorkloadKind,
};
use leafspine_sim::{
    Counters, Memory, Output, PortRow, Progress, RunError, SetupError, Simulation,
};

/// What is overridden: small, and slow enough that a run of milliseconds is short.
const BASE: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 3
host_link = { rate = "100Mbps", delay = "5us" }
fabric_link = { rate = "100Mbps", delay = "5us" }

[transport]
min_rto = "1ms"

[[workload]]
load = 0.6
flows = 30
sizes = { kind = "uniform", low = "1B", high = "60KB" }
"#;

/// The same with a job, whose workload has none of the keys of the other.
const JOBS: &str = r#"
[[workload]]
kind = "collective"
collective = "all-reduce"
bytes = "60KB"
"#;

/// And with stages that pass work on.
const PIPELINE: &str = r#"
[[workload]]
kind = "pipeline"
bytes = "60KB"
microbatches = 3
"#;

/// Keys that only pipelines have: the text that has one is of [`PIPELINE`].
const OF_PIPELINES: &[&str] = &["microbatches", "forward", "backward", "schedule"];

/// Keys that only jobs have: the text that has one is of [`JOBS`].
const OF_JOBS: &[&str] = &[
    "collective",
    "algorithm",
    "channels",
    "chunk",
    "hosts",
    "jobs",
    "ranks",
    "placement",
    "iterations",
    "compute",
    "compute_jitter",
    "delay",
];

/// A link that changes, for overrides of how: without it there is none whose key could be set.
const CHANGE: &str = r#"
[[topology.change]]
link = "leaf0-spine1"
"#;

/// The line of [`BASE`] that queue pairs refuse.
const OF_TCP: &str = "min_rto = \"1ms\"\n";

/// What the overrides are of.
fn base_text(sets: &[(String, String)]) -> String {
    let names = |keys: &[&str]| {
        let mut own = sets.iter().filter_map(|(key, _)| key.strip_prefix("workload.0."));
        own.any(|key| keys.contains(&key))
    };
    let pairs = sets.iter().any(|(key, value)| key == "transport.kind" && value == "roce");
    let base = if pairs { BASE.replace(OF_TCP, "") } else { BASE.to_owned() };
    let changes = sets.iter().any(|(key, _)| key.starts_with("topology.change.0."));
    let change = if changes { CHANGE } else { "" };
    let (fabric, _) = base.split_once("[[workload]]").unwrap_or((base.as_str(), ""));
    if names(OF_PIPELINES) {
        format!("{fabric}{PIPELINE}{change}")
    } else if names(OF_JOBS) {
        format!("{fabric}{JOBS}{change}")
    } else {
        format!("{base}{change}")
    }
}

/// Whether the text's overrides make a scenario that is accepted and small: one that is run.
#[must_use]
pub fn is_run(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let sets = parse(text);
    let text = base_text(&sets);
    let source = Source { text: &text, file: "fuzz.toml", base: base(), sets: &sets, options: &[] };
    expand(&source).is_ok_and(|cases| cases.first().is_some_and(|case| small(&case.spec)))
}

/// Packets of up to 200 bytes that all links together could send until a run ends.
const PACKETS: u64 = 20_000;

/// Overrides [`BASE`] by the text's lines, and runs it if it is accepted and small: as it is, with probes, driven by
/// the calendar, by three threads, and over general ports.
///
/// # Panics
/// If anything does, if a packet is lost without account, or if the runs are not one.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let sets = parse(text);
    if sets.iter().any(|(_, value)| value.contains("/dev")) {
        return;
    }
    let text = base_text(&sets);
    let source = Source { text: &text, file: "fuzz.toml", base: base(), sets: &sets, options: &[] };
    let Ok(cases) = expand(&source) else { return };
    let Some(case) = cases.first() else { return };
    reads_as_itself(&case.toml);
    if !small(&case.spec) {
        return;
    }
    let spec = tamed(case.spec.clone());
    // The first one checks its invariants.
    let Some(first) = made(&spec).and_then(|simulation| run(simulation.checked())) else { return };
    assert_sound(&spec, &first);
    let again = |other: &Spec| made(other).and_then(run).expect("it ran before");
    let same = |other: &Spec| assert_same(&first, &again(other));
    same(&probed(&spec));
    let run = RunSpec { driver: DriverKind::Calendar, ..spec.run };
    same(&Spec { run, ..spec.clone() });
    let run = RunSpec { driver: DriverKind::Threads, threads: 3, ..spec.run };
    same(&Spec { run, ..spec.clone() });
    if !foresees(&spec) {
        same(&Spec { run: RunSpec { ports: PortModel::General, ..spec.run }, ..spec.clone() });
    }
}

/// The largest table whose making is not most of an input's time.
const ENTRIES: u64 = 1 << 16;

/// Whether all that a scheme counts is small.
pub fn few(params: &Params) -> bool {
    let counts = |value: &Value| matches!(value, Value::Int(number) if *number > ENTRIES);
    !params.0.values().any(counts)
}

/// Whether a fabric is small enough to be run many times a second.
fn small(spec: &Spec) -> bool {
    let times = |change: &LinkChange| u64::from(change.flap.map_or(0, |flap| flap.times));
    let flaps: u64 = spec.changes.iter().map(times).sum();
    let schemes = [Some(&spec.balancer), Some(&spec.aqm), spec.hold.as_ref(), spec.edge.as_ref()];
    let few = schemes.into_iter().flatten().all(|scheme| few(&scheme.params));
    let fits = |size: Size| size.hosts <= 32 && size.links - size.hosts <= 64;
    let fabric = size(&spec.topology.kind).is_ok_and(fits);
    few && fabric && flaps <= 1_000 && spec.changes.len() <= 20 && few_messages(spec)
}

/// Chunks of a large buffer are many messages.
fn few_messages(spec: &Spec) -> bool {
    spec.workloads.iter().all(|workload| match &workload.kind {
        WorkloadKind::Job(job) => match job.what {
            JobKind::Collective(what) => {
                what.chunk.is_none_or(|chunk| what.bytes.0 / chunk.0.max(1) <= 100)
            }
            _ => true,
        },
        _ => true,
    })
}

/// At most so many flows of a Poisson workload. A duration stays if all workloads together are not
/// thought to have many more.
fn few_flows(stop: Stop, many: u64) -> Stop {
    match stop {
        Stop::Flows(flows) => Stop::Flows(flows.min(300)),
        Stop::After(_) if many > 600 => Stop::Flows(300),
        Stop::After(duration) => Stop::After(duration),
    }
}

/// The same with an end that comes after a bounded number of packets, flows and samples.
fn tamed(mut spec: Spec) -> Spec {
    let many = Memory::of(&spec, u64::MAX).map_or(u64::MAX, |memory| memory.rows);
    for workload in &mut spec.workloads {
        match &mut workload.kind {
            WorkloadKind::Poisson { stop, .. } => *stop = few_flows(*stop, many),
            WorkloadKind::Incast { rounds, .. } => *rounds = (*rounds).min(5),
            WorkloadKind::LongFlows { count, .. } => *count = (*count).min(100),
            WorkloadKind::Job(job) => job.iterations = job.iterations.min(3),
            _ => {}
        }
    }
    let links = Graph::build(&spec.topology).map_or(0, |graph| graph.links.len() as u64);
    let fastest = spec.changes.iter().filter_map(|change| change.rate.map(|rate| rate.0));
    let topology = &spec.topology;
    let rates = fastest.chain([topology.host_link.rate.0, topology.fabric_link.rate.0]);
    let rate = u128::from(rates.max().unwrap_or(1)) * u128::from(2 * links.max(1));
    let bits = 8 * u128::from(spec.transport.header + spec.transport.mss).min(200);
    let most = u128::from(PACKETS) * bits * 1_000_000_000_000 / rate;
    // Ten seconds: a scheme that ticks, and a link at some bits per second.
    let most = u64::try_from(most).unwrap_or(u64::MAX).min(10_000_000_000_000);
    let sampled = spec.probes.iter().map(|probe| probe.every.0.saturating_mul(1_000));
    let most = sampled.chain([most]).min().unwrap_or(most);
    spec.run.until = Some(Time(spec.run.until.map_or(most, |until| until.0.min(most))));
    spec
}

/// `None` if the fabric or a scheme refuses it.
fn made(spec: &Spec) -> Option<Simulation> {
    let refused = |error: &SetupError| assert!(!error.to_string().is_empty(), "without a reason");
    Simulation::new(spec).inspect_err(refused).ok()
}

fn run(simulation: Simulation) -> Option<Output> {
    match simulation.run(&Progress::default()) {
        Ok(output) => Some(output),
        // A flow of more bytes than can be counted is refused when it comes.
        Err(RunError::Workload(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

fn assert_sound(spec: &Spec, output: &Output) {
    let (flows, counts) = (&output.flows, &output.counters);
    assert!(counts.conserved(), "packets are conserved: {counts:?}");
    let asked = flows.bytes.iter().fold(0u64, |sum, bytes| sum.saturating_add(*bytes));
    assert!(counts.bytes_delivered <= asked, "more bytes than were sent");
    assert!(output.delivered_in_window <= counts.bytes_delivered, "more in a part of the run");
    // When a job's messages start is known once it has run: results say so if none counts.
    let jobs = spec.workloads.iter().any(|workload| matches!(workload.kind, WorkloadKind::Job(_)));
    let left = output.warmup.flows < flows.len().max(1) as u64;
    assert!(jobs || left, "a warm-up that leaves no flow");
    assert!(spec.run.until.is_some_and(|until| output.end <= until), "it goes on");
    for port in &output.ports {
        assert!(port.utilisation <= 1.0 + 1e-9, "{} is busier than its line", port.name);
    }
}

fn probed(spec: &Spec) -> Spec {
    let kinds = [
        ProbeKind::Queue,
        ProbeKind::Utilisation,
        ProbeKind::State,
        ProbeKind::Signals,
        ProbeKind::Pause,
        ProbeKind::Packets,
    ];
    let until = spec.run.until.map_or(1, |until| until.0);
    let probe = |(i, kind): (usize, ProbeKind)| ProbeSpec {
        kind,
        ports: "*".to_owned(),
        flows: Vec::new(),
        every: Span((until / 37).max(1)),
        name: format!("probe{i}"),
    };
    let probes = kinds.into_iter().enumerate().map(probe);
    Spec { probes: spec.probes.iter().cloned().chain(probes).collect(), ..spec.clone() }
}

/// Whether a balancer is told of departures before they happen where ports can foresee them: then it
/// may decide otherwise over ports that cannot.
fn foresees(spec: &Spec) -> bool {
    let Some(entry) = registry::load_balancer(&spec.balancer.name) else { return true };
    let balancer = (entry.build)(&spec.balancer.params, &FakeLeaf::new(4, 4, 1).env);
    balancer.is_ok_and(|balancer| balancer.needs().leaving && !balancer.needs().exact_dequeue)
}

/// Whether two runs are one: in every packet-hop, flow and count. Events may differ, and with them
/// how many packets were in the pool for a moment.
fn assert_same(a: &Output, b: &Output) {
    assert_eq!(a.trace_hash, b.trace_hash, "another run");
    assert_eq!(a.flows.fct_ps, b.flows.fct_ps);
    assert_eq!(a.flows.mean_window, b.flows.mean_window);
    assert_eq!(a.end, b.end);
    assert_eq!((a.warmup, a.delivered_in_window), (b.warmup, b.delivered_in_window));
    let counts = |output: &Output| Counters { events: 0, peak_packets: 0, ..output.counters };
    assert_eq!(counts(a), counts(b));
    for (p, q) in a.ports.iter().zip(&b.ports) {
        let exact =
            |r: &PortRow| (r.packets, r.bytes, r.marks, r.drops, r.lost, r.queue_max_packets);
        assert_eq!(exact(p), exact(q), "{}", p.name);
    }
}
