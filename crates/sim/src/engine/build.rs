//! Putting a run together from its spec.

use super::Simulation;
use super::agenda::Agenda;
use super::flows::Flows;
use super::observe::Measurement;
use super::parts::Builder;
use super::recovery::Recovery;
use super::standstill::Standstill;
use crate::drive::Layout;
use crate::output::TableUse;
use crate::progress::{Cancelled, Part, Progress};
use crate::spec::{
    HostsSpec, Protocol, SchemeSpec, Spec, TransportSpec, WorkloadKind, WorkloadSpec,
};
use crate::workload::{Dags, Fabric, FlowSource, Launch, Sizes, WorkloadError, jobs, programs};
use leafspine_core::{Bytes, PortId, Rate, Rng, Role, Span, SwitchId, Time, TorId};
use leafspine_fabric::{Graph, Ideal, LinkState, Routes, TopologyError, check_changes};
use leafspine_node::transport::{LONGEST_ROUND_TRIP, Sender, TcpConfig};
use leafspine_node::{Attachment, Key, Lossy, Network, Port, ProtocolConfig, Store};
use leafspine_schemes::aqm::Aqm;
use leafspine_schemes::cc::{CongestionControl, Control};
use leafspine_schemes::edge::{HostEdge, HostEnv};
use leafspine_schemes::hold::IngressHold;
use leafspine_schemes::lb::LoadBalancer;
use leafspine_schemes::registry::{self, Place};
use leafspine_schemes::{ParamError, Params, SwitchEnv};
use std::sync::Arc;

/// Why a spec cannot be run.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum SetupError {
    /// The graph, a name in it, or a change to it.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// A workload.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A scheme's parameter does not fit where it is placed.
    #[error("{section}.{error}")]
    Scheme {
        /// The scenario's section.
        section: &'static str,
        /// What is wrong.
        error: ParamError,
    },
    /// A scheme that is not there, or not in this place.
    #[error("{section}.scheme: found {found}; allowed: {allowed}")]
    NoScheme {
        /// The scenario's section.
        section: &'static str,
        /// The name found, and what is wrong with it if it is known.
        found: String,
        /// What is allowed.
        allowed: String,
    },
}

/// Why there is no [`Simulation`].
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum BuildError {
    /// The spec cannot be run.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// [`Progress::cancel`] was called.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<TopologyError> for BuildError {
    fn from(error: TopologyError) -> BuildError {
        SetupError::from(error).into()
    }
}

impl From<WorkloadError> for BuildError {
    fn from(error: WorkloadError) -> BuildError {
        SetupError::from(error).into()
    }
}

type MakeBalancer<'a> = Box<dyn Fn(&SwitchEnv) -> Box<dyn LoadBalancer> + 'a>;
type MakeAqm<'a> = Box<dyn Fn(&SwitchEnv, PortId) -> Box<dyn Aqm> + 'a>;
type MakeHold<'a> = Box<dyn Fn(&SwitchEnv) -> Box<dyn IngressHold> + 'a>;
type MakeEdge<'a> = Box<dyn Fn(&HostEnv) -> Box<dyn HostEdge> + 'a>;

/// Schemes from outside the registry, each in place of what the spec names.
#[derive(Default)]
pub struct Factories<'a> {
    /// Makes each switch's balancer.
    pub balancer: Option<MakeBalancer<'a>>,
    /// Makes each port's queue manager.
    pub aqm: Option<MakeAqm<'a>>,
    /// Makes each switch's ingress hold.
    pub hold: Option<MakeHold<'a>>,
    /// Makes each host's edge.
    pub edge: Option<MakeEdge<'a>>,
    /// The congestion control that every flow starts from. Its data is ECN-capable if the spec's
    /// transport says so.
    pub control: Option<Control>,
}

/// The name that takes a role from the balancer's own object.
pub(super) const FROM_BALANCER: &str = "balancer";

impl Simulation {
    /// A run of `spec`, with schemes from the registry.
    ///
    /// # Errors
    /// What only the graph can tell: see [`SetupError`].
    pub fn new(spec: &Spec) -> Result<Simulation, SetupError> {
        Simulation::with(spec, &Factories::default())
    }

    /// A run of `spec` in which `factories` take the place of schemes that the spec names.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn with(spec: &Spec, factories: &Factories<'_>) -> Result<Simulation, SetupError> {
        Simulation::watched(spec, factories, &Progress::default()).map_err(|error| match error {
            BuildError::Setup(error) => error,
            BuildError::Cancelled(_) => unreachable!("nobody else has the progress"),
        })
    }

    /// The same, with what is being built told to `progress`, and given up within a fraction of a
    /// second when that is cancelled: large fabrics take a while.
    ///
    /// # Errors
    /// As [`Simulation::new`], and [`BuildError::Cancelled`].
    pub fn watched(
        spec: &Spec,
        factories: &Factories<'_>,
        progress: &Progress,
    ) -> Result<Simulation, BuildError> {
        let graph = Graph::build(&spec.topology)?;
        let changes = check_changes(&graph, &spec.changes)?;
        let tcp = tcp_config(spec, factories)?;
        let routes = Routes::watched(&graph, |done, all| progress.built(Part::Routes, done, all))?;
        let TransportSpec { mss, header, handshake, .. } = spec.transport;
        let ideal = Ideal::watched(&graph, &routes, (mss, header, handshake), |done, all| {
            progress.built(Part::Ideal, done, all)
        })?;
        check_round_trip(ideal.base_rtt() + spec.topology.host_jitter * 2)?;
        let fabric = fabric(&graph);
        let source = FlowSource::new(&spec.workloads, &fabric, spec.run.seed)?;
        let jobs = jobs(&spec.workloads, &fabric, spec.run.seed)?;
        check_flows(spec, &source)?;
        check_messages(spec, jobs.as_ref())?;
        let programs = programs(&spec.workloads, &fabric, &graph.host_names, spec.run.seed)?;
        check_programs(spec, &programs)?;
        check_warmup(spec, &fabric)?;
        let builder = Builder {
            spec,
            factories,
            graph: &graph,
            changes: &changes,
            base_rtt: ideal.base_rtt(),
            mean_flow: mean_flow(spec)?,
            tor_of: graph.host_tor.iter().copied().collect(),
            progress,
        };
        let switches = builder.switches()?;
        let switches = builder.ports(switches)?;
        let edges = builder.edges()?;
        let racks = edges.iter().any(|edge| edge.edge.needs().board_words > 0);
        let layout = Layout::new(&graph, racks);
        let nodes = builder.nodes(switches, edges, &layout)?;
        let is_linux = matches!(spec.hosts, HostsSpec::Linux(_));
        let classes = spec.workloads.iter().map(|workload| workload.class).collect();
        let net = Network {
            routes,
            places: places(&graph),
            tcp,
            protocol: ProtocolConfig::new(&spec.transport),
            classifier: spec.switch.classifier,
            stage_queues: spec.switch.stage_queues.clone(),
            trim: spec.switch.trim,
            measuring: false,
            balancer: spec.balancer.name.clone(),
        };
        let mut simulation = Simulation {
            now: Time::ZERO,
            driver: builder.driver(nodes, &layout, programs),
            layout,
            net: Arc::new(net),
            agenda: Agenda::default(),
            reached: (Time::ZERO, Key::FIRST),
            flows: Flows::new(source, classes, ideal, jobs),
            link_state: LinkState::initial(&graph),
            measurement: Measurement::new(spec.measure.window, spec.measure.warmup),
            table_use: TableUse::default(),
            entries: Vec::new(),
            probes: Vec::new(),
            priorities: distinct_kinds(spec),
            recovery: spec.measure.recovery.map(|recovery| Box::new(Recovery::new(recovery))),
            capture: None,
            until: spec.run.until,
            seed: spec.run.seed,
            finished: false,
            fault: None,
            is_linux,
            own_events: 0,
            audit: None,
            standstill: Standstill::default(),
            deadlock: None,
            most_memory: u64::MAX,
            peak_packets: 0,
            changes,
            graph,
        };
        simulation.add_probes(&spec.probes)?;
        progress.all_built();
        Ok(simulation)
    }

    /// Whether some port of a switch is a general one: slower, for what the one-event port cannot
    /// serve.
    #[must_use]
    pub fn has_general_ports(&self) -> bool {
        let general = |port: &Port| matches!(port.store, Store::General(_));
        let switches = (0..self.layout.nodes).filter_map(|node| self.driver.node(node).switch());
        switches.flat_map(|switch| &switch.egress.ports).any(general)
    }
}

pub(super) fn lossy(seed: u64, at: u32, probability: f64) -> Box<Lossy> {
    Box::new(Lossy { probability, rng: Rng::new(seed, Role::Link, u64::from(at)) })
}

/// The lossless priorities, if there are several.
fn distinct_kinds(spec: &Spec) -> Vec<u8> {
    let lossless = spec.switch.pfc.map_or(0, |pfc| pfc.lossless);
    let all: Vec<u8> = (0..8).filter(|priority| lossless >> priority & 1 == 1).collect();
    if all.len() > 1 { all } else { Vec::new() }
}

/// Timestamps are compared over half of what they hold.
fn check_round_trip(found: Span) -> Result<(), TopologyError> {
    let most = LONGEST_ROUND_TRIP;
    if found > most { Err(TopologyError::LongRoundTrip { found, most }) } else { Ok(()) }
}

/// Refuses more flows than can be numbered where all of them will start.
fn check_flows(spec: &Spec, source: &FlowSource) -> Result<(), WorkloadError> {
    const MOST: u64 = Key::MAX_ID as u64 + 1;
    match source.expected() {
        Some(found) if found > MOST && spec.run.until.is_none() => {
            let found = format!("{found} flows in all");
            Err(WorkloadError::at("workload", found, format!("at most 2^28, {MOST}")))
        }
        _ => Ok(()),
    }
}

/// Refuses messages where hosts are kernels, and one that a transport cannot number the segments of.
fn check_messages(spec: &Spec, jobs: Option<&Dags>) -> Result<(), WorkloadError> {
    let model = spec.hosts == HostsSpec::Model;
    if let Some(job) = jobs.and_then(|jobs| jobs.jobs.first()).filter(|_| !model) {
        let allowed = "flows: the messages of jobs are hosts' of the model";
        let refused = WorkloadError::at("kind", "a job", allowed);
        return Err(refused.within(usize::from(job.workload)));
    }
    let most = u64::from(spec.transport.mss) * Sender::MOST_SEGMENTS;
    for job in jobs.iter().flat_map(|jobs| &jobs.jobs) {
        if job.largest() > most {
            let found = format!("a message of {}", Bytes(job.largest()));
            let allowed = format!("at most {}, 2^31 segments", Bytes(most));
            return Err(
                WorkloadError::at("bytes", found, allowed).within(usize::from(job.workload))
            );
        }
    }
    Ok(())
}

/// Refuses programs where no kernel could run them.
fn check_programs(spec: &Spec, programs: &[Launch]) -> Result<(), WorkloadError> {
    match programs.first().filter(|_| spec.hosts == HostsSpec::Model) {
        Some(program) => {
            let allowed = "programs beside hosts.kind = \"linux\": hosts of the model run none";
            let refused = WorkloadError::at("kind", "\"program\"", allowed);
            Err(refused.within(usize::from(program.workload)))
        }
        None => Ok(()),
    }
}

/// Refuses a warm-up after which no flow starts: nothing would be measured. Draws the flows up to its
/// end, which is a small part of simulating them.
fn check_warmup(spec: &Spec, fabric: &Fabric) -> Result<(), WorkloadError> {
    let warmup = spec.measure.warmup;
    // When a job's messages start, or what a program does, is unknown before the run.
    let unknown =
        |kind: &WorkloadKind| matches!(kind, WorkloadKind::Job(_) | WorkloadKind::Program(_));
    let jobs = spec.workloads.iter().any(|workload| unknown(&workload.kind));
    if warmup == Time::ZERO || jobs {
        return Ok(());
    }
    let refuse = |why: String, allowed: &str| {
        Err(WorkloadError::at("measure.warmup", format!("{warmup}, but {why}"), allowed))
    };
    let until = spec.run.until.unwrap_or(Time::MAX);
    let mut source = FlowSource::new(&spec.workloads, fabric, spec.run.seed)?;
    while until >= warmup
        && let Some(flow) = source.next()?
    {
        if flow.start >= warmup && flow.start <= until {
            return Ok(());
        }
        if flow.start > until {
            break;
        }
    }
    match source.last_start().filter(|_| source.is_exhausted()) {
        Some(last) => {
            let last = last.since(Time::ZERO).about(4);
            let why = format!("the last flow starts at {last}, so no flow would be counted");
            refuse(why, "a shorter warm-up, or more flows")
        }
        None => {
            let why = format!("no flow starts between it and the run's end at {until} (run.until)");
            refuse(why, "a shorter warm-up, or a later end")
        }
    }
}

fn places(graph: &Graph) -> Vec<Attachment> {
    let place = |(tor, port): (&TorId, &PortId)| Attachment { tor: tor.0, port: *port };
    graph.host_tor.iter().zip(&graph.host_port_at_tor).map(place).collect()
}

/// What the workloads must know of the graph.
pub(super) fn fabric(graph: &Graph) -> Fabric {
    let uplinks = |tor: &SwitchId| {
        Rate(graph.fabric_ports_of(*tor).map(|at| graph.ports[at as usize].rate.0).sum())
    };
    let uplink_names =
        |tor: &SwitchId| graph.fabric_ports_of(*tor).map(|port| graph.port_name(port)).collect();
    Fabric {
        tor_of: graph.host_tor.clone(),
        tor_names: graph.tor_switch.iter().map(|id| graph.switch(*id).name.clone()).collect(),
        uplinks: graph.tor_switch.iter().map(uplinks).collect(),
        host_links: graph.host_port.iter().map(|at| graph.ports[*at as usize].rate).collect(),
        host_names: (0..).zip(&graph.host_names).map(|(host, name)| (name.clone(), host)).collect(),
        uplink_names: graph.tor_switch.iter().map(uplink_names).collect(),
    }
}

/// Mean flow size of the first workload that draws sizes.
pub(super) fn mean_flow(spec: &Spec) -> Result<Option<Bytes>, WorkloadError> {
    let draws = |w: &&WorkloadSpec| {
        !matches!(w.kind, WorkloadKind::Trace(_) | WorkloadKind::Job(_) | WorkloadKind::Program(_))
    };
    let Some(workload) = spec.workloads.iter().find(draws) else { return Ok(None) };
    Ok(Some(Bytes(Sizes::new(&workload.sizes)?.mean() as u64)))
}

pub(super) fn no_scheme(place: Place, found: &str) -> SetupError {
    SetupError::NoScheme {
        section: place.table(),
        found: format!("{found:?}"),
        allowed: place.names().join(", "),
    }
}

fn tcp_config(spec: &Spec, factories: &Factories<'_>) -> Result<TcpConfig, SetupError> {
    if let Some(control) = &factories.control {
        return by_rate(spec, control.clone(), false);
    }
    let section = "transport";
    let newreno = SchemeSpec {
        name: "newreno".to_owned(),
        params: registry::congestion_control("newreno")
            .map(|entry| Params::defaults(entry.info.params))
            .unwrap_or_default(),
    };
    // Of TCP's constants other protocols have those that are no control's.
    let scheme = match spec.transport.protocol {
        Protocol::Tcp => &spec.transport.scheme,
        Protocol::Roce(_) => &newreno,
    };
    let entry = registry::congestion_control(&scheme.name)
        .ok_or_else(|| no_scheme(Place::Transport, &scheme.name))?;
    let control = (entry.build)(&scheme.params, &TcpConfig::flow_env(&spec.transport))
        .map_err(|error| SetupError::Scheme { section, error })?;
    by_rate(spec, control, entry.ecn)
}

/// With the flows' random streams, and with RACK where the control goes by delivery rates.
fn by_rate(spec: &Spec, mut control: Control, ecn: bool) -> Result<TcpConfig, SetupError> {
    let transport = &spec.transport;
    if control.by_rate().is_some() && !(transport.sack && transport.stack.rack) {
        let found = format!("\"{}\" without sack and rack", transport.scheme.name);
        let allowed =
            "sack = true and rack = true beside it: it is told of each segment that is lost";
        let error = ParamError::new("scheme", found, allowed);
        return Err(SetupError::Scheme { section: "transport", error });
    }
    let mut tcp = TcpConfig::new(transport, control, ecn);
    tcp.seed = spec.run.seed;
    Ok(tcp)
}
