//! Putting a run together from its spec.

use super::endpoint::{EdgeHost, Endpoints};
use super::forward::{HoldState, Holder, NO_TOR, Shared, SwitchState};
use super::jitter::Jitter;
use super::standstill::Standstill;
use super::{Simulation, Wire};
use crate::calendar::{Calendar, Key};
use crate::measure::{FlowTable, PortStats};
use crate::output::{Counters, TableUse, Warmup};
use crate::pool::Pool;
use crate::port::{
    FifoPort, GeneralPort, Limit, Lossy, Manager, NO_SWITCH, Port, Scheduler, Store,
};
use crate::progress::{Cancelled, Part, Progress};
use crate::spec::{
    Classifier, HostPorts, PortModel, SchedulerKind, SchemeSpec, Spec, TransportSpec, WorkloadKind,
    WorkloadSpec,
};
use crate::transport::{LONGEST_ROUND_TRIP, TcpConfig};
use crate::workload::{Fabric, FlowSource, Sizes, WorkloadError};
use leafspine_core::{Bytes, HostId, Pace, PortId, Rate, Rng, Role, Span, SwitchId, Time, TorId};
use leafspine_fabric::{
    Graph, Ideal, LinkState, Node, ResolvedChange, Routes, TopologyError, check_changes,
};
use leafspine_schemes::aqm::Aqm;
use leafspine_schemes::cc::Control;
use leafspine_schemes::edge::{HostEdge, HostEnv};
use leafspine_schemes::hold::IngressHold;
use leafspine_schemes::lb::LoadBalancer;
use leafspine_schemes::registry::{self, Place};
use leafspine_schemes::{Amount, Level, ParamError, PortInfo, SwitchEnv};
use std::collections::VecDeque;
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
    #[error("{section}.scheme: found \"{found}\"; {message}")]
    NoScheme {
        /// The scenario's section.
        section: &'static str,
        /// The name found.
        found: String,
        /// What is allowed.
        message: String,
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
const FROM_BALANCER: &str = "balancer";

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
        check_flows(spec, &source)?;
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
        let ports = builder.ports(&switches)?;
        let wires = builder.wires(&ports);
        let endpoints = Endpoints::new(builder.edges()?);
        let mut simulation = Simulation {
            now: Time::ZERO,
            calendar: builder.calendar(),
            pool: Pool::default(),
            ports,
            wires,
            switches,
            balancer: spec.balancer.name.clone(),
            routes,
            places: places(&graph),
            endpoints,
            jitter: Jitter::new(spec.topology.host_jitter, graph.hosts(), spec.run.seed),
            tcp,
            outbox: Vec::new(),
            released: Vec::new(),
            measuring: false,
            trace_hash: 0,
            counters: Counters::default(),
            table_use: TableUse::default(),
            entries: Vec::new(),
            table: FlowTable::default(),
            source,
            next_flow: None,
            ideal,
            link_state: LinkState::initial(&graph),
            probes: Vec::new(),
            window: spec.measure.window,
            window_open: None,
            window_close: None,
            window_bytes: 0,
            warmup: Warmup { end: spec.measure.warmup, ..Warmup::default() },
            until: spec.run.until,
            classifier: spec.switch.classifier,
            stage_queues: spec.switch.stage_queues.clone(),
            seed: spec.run.seed,
            finished: false,
            fault: None,
            audit: None,
            standstill: Standstill::default(),
            most_memory: u64::MAX,
            nested: 0,
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
        self.ports.iter().any(|port| port.switch != NO_SWITCH && general(port))
    }

    /// Changes a port's random loss.
    pub(super) fn set_loss(&mut self, at: u32, probability: f64) {
        let port = &mut self.ports[at as usize];
        if let Some(lossy) = &mut port.loss {
            lossy.probability = probability;
        } else if probability > 0.0 {
            port.loss = Some(lossy(self.seed, at, probability));
            port.special = true;
        }
    }
}

fn lossy(seed: u64, at: u32, probability: f64) -> Box<Lossy> {
    Box::new(Lossy { probability, rng: Rng::new(seed, Role::Link, u64::from(at)) })
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

/// Refuses a warm-up after which no flow starts: nothing would be measured. Draws the flows up to its
/// end, which is a small part of simulating them.
fn check_warmup(spec: &Spec, fabric: &Fabric) -> Result<(), WorkloadError> {
    let warmup = spec.measure.warmup;
    if warmup == Time::ZERO {
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

fn places(graph: &Graph) -> Vec<(u16, PortId)> {
    graph.host_tor.iter().map(|tor| tor.0).zip(graph.host_port_at_tor.iter().copied()).collect()
}

/// What the workloads must know of the graph.
pub(super) fn fabric(graph: &Graph) -> Fabric {
    let uplinks = |tor: &SwitchId| {
        Rate(graph.fabric_ports_of(*tor).map(|at| graph.ports[at as usize].rate.0).sum())
    };
    Fabric {
        tor_of: graph.host_tor.clone(),
        tor_names: graph.tor_switch.iter().map(|id| graph.switch(*id).name.clone()).collect(),
        uplinks: graph.tor_switch.iter().map(uplinks).collect(),
        host_links: graph.host_port.iter().map(|at| graph.ports[*at as usize].rate).collect(),
    }
}

/// Mean flow size of the first workload that draws sizes.
pub(super) fn mean_flow(spec: &Spec) -> Result<Option<Bytes>, WorkloadError> {
    let draws = |w: &&WorkloadSpec| !matches!(w.kind, WorkloadKind::Trace { .. });
    let Some(workload) = spec.workloads.iter().find(draws) else { return Ok(None) };
    Ok(Some(Bytes(Sizes::new(&workload.sizes)?.mean() as u64)))
}

fn no_scheme(place: Place, found: &str) -> SetupError {
    SetupError::NoScheme {
        section: place.table(),
        found: found.to_owned(),
        message: format!("allowed: {}", place.names().join(", ")),
    }
}

fn tcp_config(spec: &Spec, factories: &Factories<'_>) -> Result<TcpConfig, SetupError> {
    if let Some(control) = &factories.control {
        return Ok(TcpConfig::new(&spec.transport, control.clone(), false));
    }
    let section = "transport";
    let scheme = &spec.transport.scheme;
    let entry = registry::congestion_control(&scheme.name)
        .ok_or_else(|| no_scheme(Place::Transport, &scheme.name))?;
    let control = (entry.build)(&scheme.params, &TcpConfig::flow_env(&spec.transport))
        .map_err(|error| SetupError::Scheme { section, error })?;
    Ok(TcpConfig::new(&spec.transport, control, entry.ecn))
}

/// Everything that making the parts needs to look at.
pub(super) struct Builder<'a> {
    pub(super) spec: &'a Spec,
    pub(super) factories: &'a Factories<'a>,
    pub(super) graph: &'a Graph,
    pub(super) changes: &'a [ResolvedChange],
    pub(super) base_rtt: Span,
    pub(super) mean_flow: Option<Bytes>,
    /// The ToR of each host.
    pub(super) tor_of: Arc<[TorId]>,
    pub(super) progress: &'a Progress,
}

/// Finds a scheme by name in the registry and makes it.
macro_rules! make {
    ($place:expr, $find:path, $spec:expr, |$entry:ident| $build:expr) => {{
        let spec: &SchemeSpec = $spec;
        let Some($entry) = $find(&spec.name) else {
            return Err(no_scheme($place, &spec.name));
        };
        $build.map_err(|error| SetupError::Scheme { section: $place.table(), error })
    }};
}

impl Builder<'_> {
    pub(super) fn mtu(&self) -> u32 {
        self.spec.transport.mss + self.spec.transport.header
    }

    fn buffer(&self) -> Amount {
        match self.spec.switch.shared {
            Some(shared) => Amount::Bytes(shared.size.0),
            None => self.spec.switch.buffer,
        }
    }

    /// The queue of each stage, for schemes that read stages; none, if ports do not.
    fn stage_queues(&self) -> Vec<u8> {
        match self.spec.switch.classifier {
            Classifier::Stage => self.spec.switch.stage_queues.clone(),
            Classifier::Hash | Classifier::Dscp => Vec::new(),
        }
    }

    /// What the schemes of switch `id` are told of their place.
    pub(super) fn switch_env(&self, id: usize) -> SwitchEnv {
        let switch = &self.graph.switches[id];
        let globals = self.graph.ports_of(SwitchId(id as u16));
        self.with_queues(SwitchEnv {
            switch: SwitchId(id as u16),
            level: switch.level,
            tor: switch.tor,
            ports: globals.map(|at| self.port_info(at)).collect(),
            ..self.common_env(id as u64)
        })
    }

    fn common_env(&self, hash_id: u64) -> SwitchEnv {
        SwitchEnv {
            switch: SwitchId(u16::MAX),
            level: Level(0),
            tor: None,
            tors: self.graph.tors(),
            hosts: self.graph.hosts(),
            ports: Vec::new(),
            hash_seed: Rng::new(self.spec.run.seed, Role::Hash, hash_id).next_u64(),
            base_rtt: self.base_rtt,
            mtu: self.mtu(),
            queues: 1,
            weights: vec![1],
            in_turns: false,
            stage_queues: self.stage_queues(),
            tor_of: self.tor_of.clone(),
            buffer: self.buffer(),
            mean_flow: self.mean_flow,
        }
    }

    fn port_info(&self, at: u32) -> PortInfo {
        let port = &self.graph.ports[at as usize];
        PortInfo { neighbour: self.graph.neighbour(at), rate: port.rate, delay: port.delay }
    }

    fn switches(&self) -> Result<Vec<SwitchState>, BuildError> {
        let all = self.graph.switches.len();
        let switch = |id| {
            self.progress.built(Part::Switches, id, all)?;
            Ok(self.switch(id)?)
        };
        (0..all).map(switch).collect()
    }

    fn switch(&self, id: usize) -> Result<SwitchState, SetupError> {
        let env = self.switch_env(id);
        let mut balancer = self.balancer(&env)?;
        let hold = self.hold(&env, balancer.as_mut())?;
        if self.spec.aqm.name == FROM_BALANCER
            && self.factories.aqm.is_none()
            && balancer.aqm().is_none()
        {
            return Err(self.no_role("aqm", "manages no queues"));
        }
        let switch = &self.graph.switches[id];
        let ports = u32::from(switch.ports);
        Ok(SwitchState {
            first_port: switch.first_port,
            ports,
            tor: switch.tor.map_or(NO_TOR, |tor| tor.0),
            needs: balancer.needs(),
            always_asked: balancer.always_asked(),
            balancer,
            rng: Rng::new(self.spec.run.seed, Role::Balancer, id as u64),
            hold: hold.map(|holder| {
                Box::new(HoldState {
                    holder,
                    held: (0..ports).map(|_| VecDeque::new()).collect(),
                    expiry_pending: vec![false; ports as usize],
                })
            }),
            shared: self.spec.switch.shared.map(|shared| Shared {
                size: shared.size.0,
                used: 0,
                alpha: shared.alpha,
            }),
        })
    }

    pub(super) fn balancer(&self, env: &SwitchEnv) -> Result<Box<dyn LoadBalancer>, SetupError> {
        if let Some(make) = &self.factories.balancer {
            return Ok(make(env));
        }
        make!(Place::LoadBalancer, registry::load_balancer, &self.spec.balancer, |entry| {
            (entry.build)(&self.spec.balancer.params, env)
        })
    }

    fn hold(
        &self,
        env: &SwitchEnv,
        balancer: &mut dyn LoadBalancer,
    ) -> Result<Option<Holder>, SetupError> {
        if let Some(make) = &self.factories.hold {
            return Ok(Some(Holder::Own(make(env))));
        }
        let Some(spec) = &self.spec.hold else { return Ok(None) };
        if spec.name == FROM_BALANCER {
            return match balancer.hold() {
                Some(_) => Ok(Some(Holder::Balancer)),
                None => Err(self.no_role("hold", "holds nothing back")),
            };
        }
        let made = make!(Place::Hold, registry::ingress_hold, spec, |entry| {
            (entry.build)(&spec.params, env)
        })?;
        Ok(Some(Holder::Own(made)))
    }

    fn no_role(&self, section: &'static str, does: &str) -> SetupError {
        SetupError::NoScheme {
            section,
            found: FROM_BALANCER.to_owned(),
            message: format!("the balancer \"{}\" {does}", self.spec.balancer.name),
        }
    }

    fn ports(&self, switches: &[SwitchState]) -> Result<Vec<Port>, BuildError> {
        let all = self.graph.ports.len();
        let mut ports = Vec::with_capacity(all);
        // Ports stand switch by switch, then host by host; those of a switch have one environment.
        for id in 0..self.graph.switches.len() {
            self.progress.built(Part::Ports, ports.len(), all)?;
            let env = self.switch_env(id);
            for at in self.graph.ports_of(SwitchId(id as u16)) {
                ports.push(self.port(at, &env, switches)?);
            }
        }
        for (host, at) in self.graph.host_port.iter().enumerate() {
            self.progress.built(Part::Ports, ports.len(), all)?;
            let env = self.host_port_env(HostId(host as u16), *at);
            ports.push(self.port(*at, &env, switches)?);
        }
        Ok(ports)
    }

    fn port(&self, at: u32, env: &SwitchEnv, switches: &[SwitchState]) -> Result<Port, SetupError> {
        let graph_port = &self.graph.ports[at as usize];
        let seed = self.spec.run.seed;
        let switch = match graph_port.owner {
            Node::Switch(id) => id.0,
            Node::Host(_) => NO_SWITCH,
        };
        let state = switches.get(usize::from(switch));
        let manager = match graph_port.owner {
            Node::Host(host) => self.host_manager(env, self.switch_above(host, switches))?,
            Node::Switch(_) => self.manager(env, graph_port.local)?,
        };
        let told = state.is_some_and(|s| s.needs.leaving);
        let changes = self.changes.iter().any(|change| change.link == graph_port.link);
        let store = self.store(at, state, &manager, changes);
        Ok(Port {
            store,
            limit: self.limit(state),
            manager,
            delay: graph_port.delay,
            rate: graph_port.rate,
            loss: (graph_port.loss > 0.0).then(|| lossy(seed, at, graph_port.loss)),
            up: true,
            has_hold: state.is_some_and(|s| s.hold.is_some()),
            special: graph_port.loss > 0.0 || told || changes,
            line_time: 0,
            switch,
            local: graph_port.local,
            rng: Rng::new(seed, Role::Aqm, u64::from(at)),
            stats: PortStats::default(),
            wire: changes.then(Box::default),
            watched: Vec::new(),
        })
    }

    fn host_port_env(&self, host: HostId, at: u32) -> SwitchEnv {
        const HOSTS_FROM: u64 = 1 << 20;
        let common = self.common_env(HOSTS_FROM + u64::from(host.0));
        let env = SwitchEnv { ports: vec![self.port_info(at)], ..common };
        if self.host_queues() { self.with_queues(env) } else { env }
    }

    /// Whether hosts' own ports have the service queues of a switch's.
    fn host_queues(&self) -> bool {
        self.spec.switch.host_ports == HostPorts::WithQueues
    }

    fn with_queues(&self, env: SwitchEnv) -> SwitchEnv {
        let switch = &self.spec.switch;
        SwitchEnv {
            queues: switch.queues,
            weights: switch.weights.clone(),
            in_turns: matches!(switch.scheduler, SchedulerKind::Wrr | SchedulerKind::Dwrr),
            ..env
        }
    }

    fn limit(&self, state: Option<&SwitchState>) -> Limit {
        match (state, self.spec.switch.host_ports) {
            (None, HostPorts::Unlimited) => Limit::None,
            (Some(_), _) if self.spec.switch.shared.is_some() => Limit::Shared,
            _ => Limit::of(self.spec.switch.buffer),
        }
    }

    fn switch_above<'s>(&self, host: HostId, switches: &'s [SwitchState]) -> &'s SwitchState {
        let tor = self.tor_of[usize::from(host.0)];
        &switches[usize::from(self.graph.tor_switch[usize::from(tor.0)].0)]
    }

    /// The manager of the port of a host under `above`.
    fn host_manager(&self, env: &SwitchEnv, above: &SwitchState) -> Result<Manager, SetupError> {
        if self.spec.switch.host_ports == HostPorts::Unlimited {
            return Ok(Manager::DropTail);
        }
        if self.factories.aqm.is_none() && self.spec.aqm.name == FROM_BALANCER {
            return Ok(above.balancer.host_aqm(env).map_or(Manager::DropTail, Manager::Own));
        }
        self.manager(env, PortId(0))
    }

    pub(super) fn manager(&self, env: &SwitchEnv, port: PortId) -> Result<Manager, SetupError> {
        if let Some(make) = &self.factories.aqm {
            return Ok(Manager::Own(make(env, port)));
        }
        let spec = &self.spec.aqm;
        match spec.name.as_str() {
            "droptail" => Ok(Manager::DropTail),
            FROM_BALANCER => Ok(Manager::Balancer),
            _ => make!(Place::Aqm, registry::queue_manager, spec, |entry| {
                (entry.build)(&spec.params, env, port)
            })
            .map(Manager::Own),
        }
    }

    /// The one-event port where it can serve, the general one elsewhere.
    fn store(
        &self,
        at: u32,
        state: Option<&SwitchState>,
        manager: &Manager,
        changes: bool,
    ) -> Store {
        let port = &self.graph.ports[at as usize];
        let pace = Pace::new(port.rate);
        let switch = &self.spec.switch;
        let at_release = matches!(manager, Manager::Own(aqm) if aqm.needs_release());
        let at_switch = state.is_some_and(|s| {
            switch.shared.is_some()
                || s.hold.is_some()
                || s.needs.exact_dequeue
                || matches!(manager, Manager::Balancer)
        });
        let like_switch = state.is_some() || self.host_queues();
        let several = like_switch && switch.queues > 1;
        let always = self.spec.run.ports == PortModel::General;
        let general = always || changes || at_release || at_switch || several;
        if !general {
            return Store::Fifo(FifoPort::new(pace));
        }
        let (queues, scheduler) = if like_switch {
            (switch.queues, Scheduler::new(switch.scheduler, &switch.weights, self.mtu()))
        } else {
            (1, Scheduler::new(SchedulerKind::Fifo, &[1], self.mtu()))
        };
        let mut general = GeneralPort::new(pace, queues, scheduler);
        // A balancer's manager is asked whether it wants to be.
        general.asks_at_release = at_release || matches!(manager, Manager::Balancer);
        Store::General(general)
    }

    fn wires(&self, ports: &[Port]) -> Vec<Wire> {
        let wire = |(at, port): (usize, &Port)| {
            let peer = &self.graph.ports[self.graph.ports[at].peer as usize];
            let node = match peer.owner {
                Node::Host(host) => u32::from(host.0),
                Node::Switch(switch) => Wire::SWITCH | u32::from(switch.0),
            };
            let tracked = port.wire.is_some();
            Wire { node, into: peer.local, tracked }
        };
        ports.iter().enumerate().map(wire).collect()
    }

    fn edges(&self) -> Result<Vec<EdgeHost>, BuildError> {
        if self.spec.edge.is_none() && self.factories.edge.is_none() {
            return Ok(Vec::new());
        }
        let all = self.graph.hosts();
        let edge = |host: u32| {
            self.progress.built(Part::Hosts, host as usize, all as usize)?;
            Ok(self.edge(HostId(host as u16))?)
        };
        (0..all).map(edge).collect()
    }

    pub(super) fn edge(&self, host: HostId) -> Result<EdgeHost, SetupError> {
        let tor = self.tor_of[usize::from(host.0)];
        let uplinks = self.graph.fabric_ports_of(self.graph.tor_switch[usize::from(tor.0)]);
        let rate = |at: u32| self.graph.ports[at as usize].rate.0;
        let own = self.graph.host_port[usize::from(host.0)];
        let env = HostEnv {
            host,
            hosts: self.graph.hosts(),
            seed: self.spec.run.seed,
            mss: self.spec.transport.mss,
            mtu: self.mtu(),
            tor,
            tor_of: self.tor_of.clone(),
            uplinks: uplinks.len() as u16,
            rate: Rate(rate(own)),
            uplink_rate: Rate(uplinks.map(rate).min().unwrap_or_else(|| rate(own))),
            stage_queues: self.stage_queues(),
            base_rtt: self.base_rtt,
        };
        let edge = match (&self.factories.edge, &self.spec.edge) {
            (Some(make), _) => make(&env),
            (None, Some(spec)) => make!(Place::HostEdge, registry::host_edge, spec, |entry| {
                (entry.build)(&spec.params, &env)
            })?,
            (None, None) => unreachable!("the caller has looked"),
        };
        let rng = Rng::new(self.spec.run.seed, Role::Edge, u64::from(host.0));
        Ok(EdgeHost { reassembles: edge.reassembles(), edge, rng, rack: tor.0 })
    }

    /// A calendar whose buckets hold about eight events each when all host links are busy, and
    /// whose ring reaches past a full queue of a typical fabric; what is further goes through the
    /// heap. Both were found by trying (`docs/performance.md`); they change no result.
    fn calendar(&self) -> Calendar {
        let rates = self.graph.host_port.iter().map(|at| self.graph.ports[*at as usize].rate.0);
        let total: u64 = rates.sum();
        let width = Rate(total.max(1)).time_for(u64::from(self.mtu()));
        Calendar::new(width.0.max(1), CALENDAR_BUCKETS)
    }
}

const CALENDAR_BUCKETS: usize = 1 << 13;
