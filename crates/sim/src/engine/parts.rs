//! Making the parts of a run: switches with their schemes, ports with their queues, hosts' edges.

use super::build::{BuildError, FROM_BALANCER, Factories, SetupError, lossy, no_scheme};
use crate::drive::linux::About;
use crate::drive::queue::Calendar;
use crate::drive::{CalendarDriver, Deals, Driver, Layout, LinuxDriver, Lookahead, WindowsDriver};
use crate::progress::{Part, Progress};
use crate::spec::{
    Classifier, DriverKind, HostPorts, HostsSpec, LinuxSpec, PortModel, RunSpec, SchedulerKind,
    SchemeSpec, Spec,
};
use crate::workload::Launch;
use leafspine_core::{Bytes, HostId, Pace, PortId, Rate, Rng, Role, Span, SwitchId, Time, TorId};
use leafspine_fabric::{Graph, Owner, ResolvedChange};
use leafspine_node::{
    Chooser, EdgeState, Egress, FifoPort, GeneralPort, HoldState, Holder, Host, Jitter, Limit,
    Manager, Node, Port, PortStats, Scheduler, Shared, Store, Switch,
};
use leafspine_schemes::aqm;
use leafspine_schemes::edge::HostEnv;
use leafspine_schemes::lb::LoadBalancer;
use leafspine_schemes::registry::{self, Place};
use leafspine_schemes::{Amount, Level, PortInfo, SwitchEnv};
use std::sync::Arc;

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

/// A switch's balancer, and who keeps packets back there.
pub(super) type Schemes = (Chooser, Option<Holder>);

/// What a port's owner has besides ports.
struct Around<'a> {
    /// A switch's balancer.
    chooser: Option<&'a Chooser>,
    /// Whether the switch holds packets back.
    held: bool,
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

    /// Whether switches write into packets.
    pub(super) fn has_telemetry(&self) -> bool {
        self.spec.transport.protocol.telemetry() > 0
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
        let hash = if self.spec.switch.one_hash { 0 } else { hash_id };
        SwitchEnv {
            switch: SwitchId(u16::MAX),
            level: Level(0),
            tor: None,
            tors: self.graph.tors(),
            hosts: self.graph.hosts(),
            ports: Vec::new(),
            hash_seed: Rng::new(self.spec.run.seed, Role::Hash, hash).next_u64(),
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

    /// All nodes, as `layout` numbers them.
    pub(super) fn nodes(
        &self,
        switches: Vec<Switch>,
        edges: Vec<EdgeState>,
        layout: &Layout,
    ) -> Result<Vec<Node>, BuildError> {
        let mut nodes = Vec::with_capacity(layout.nodes as usize);
        nodes.extend(switches.into_iter().map(Node::Switch));
        let mut rack: Vec<Host> = Vec::new();
        for host in self.hosts(edges)? {
            if layout.hosts[usize::from(host.id.0)].1 == 0 && !rack.is_empty() {
                nodes.push(Node::of_hosts(std::mem::take(&mut rack)));
            }
            rack.push(host);
        }
        nodes.push(Node::of_hosts(rack));
        Ok(nodes)
    }

    /// The schemes of all switches.
    pub(super) fn switches(&self) -> Result<Vec<Schemes>, BuildError> {
        let all = self.graph.switches.len();
        let schemes = |id| {
            self.progress.built(Part::Switches, id, all)?;
            Ok(self.schemes(id)?)
        };
        (0..all).map(schemes).collect()
    }

    fn schemes(&self, id: usize) -> Result<Schemes, SetupError> {
        let env = self.switch_env(id);
        let mut balancer = self.balancer(&env)?;
        let hold = self.hold(&env, balancer.as_mut())?;
        if self.spec.aqm.name == FROM_BALANCER
            && self.factories.aqm.is_none()
            && balancer.roles().aqm().is_none()
        {
            return Err(self.no_role("aqm", "manages no queues"));
        }
        let rng = Rng::new(self.spec.run.seed, Role::Balancer, id as u64);
        Ok((Chooser::new(balancer, rng), hold))
    }

    /// All switches, with these schemes and their ports.
    pub(super) fn ports(&self, schemes: Vec<Schemes>) -> Result<Vec<Switch>, BuildError> {
        schemes.into_iter().enumerate().map(|(id, schemes)| self.switch(id, schemes)).collect()
    }

    fn switch(&self, id: usize, (chooser, hold): Schemes) -> Result<Switch, BuildError> {
        let switch = &self.graph.switches[id];
        let (count, id) = (usize::from(switch.ports), SwitchId(id as u16));
        self.progress.built(Part::Ports, switch.first_port as usize, self.graph.ports.len())?;
        // All ports of a switch have one environment.
        let env = self.switch_env(usize::from(id.0));
        let around = Around { chooser: Some(&chooser), held: hold.is_some() };
        let mut ports = Vec::with_capacity(count);
        for at in self.graph.ports_of(id) {
            ports.push(self.port(at, &env, &around)?);
        }
        let mut egress = Egress::new(Owner::Switch(id), switch.first_port, ports, Some(chooser));
        if let Some(holder) = hold {
            egress.set_hold(HoldState::new(holder, count));
        }
        egress.shared =
            self.spec.switch.shared.map(|shared| Shared::new(shared.size.0, shared.alpha));
        self.control_flow(&mut egress)?;
        if self.spec.switch.trim.is_some_and(|trim| trim.returns) {
            egress.set_returning();
        }
        let tor = switch.tor.map_or(Switch::NO_TOR, |tor| tor.0);
        Ok(Switch::new(id, tor, egress))
    }

    fn hosts(&self, edges: Vec<EdgeState>) -> Result<Vec<Host>, BuildError> {
        let mut edges = edges.into_iter();
        let all = self.graph.ports.len();
        let host = |(id, at): (usize, &u32)| {
            self.progress.built(Part::Ports, *at as usize, all)?;
            let id = HostId(id as u16);
            let env = self.host_port_env(id, *at);
            let port = self.port(*at, &env, &Around { chooser: None, held: false })?;
            let mut egress = Egress::new(Owner::Host(id), *at, vec![port], None);
            self.control_flow(&mut egress)?;
            let jitter = Jitter::new(self.spec.topology.host_jitter, id, self.spec.run.seed);
            Ok(Host::new(id, egress, edges.next().map(Box::new), jitter))
        };
        self.graph.host_port.iter().enumerate().map(host).collect()
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
            return match balancer.roles().hold() {
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
            found: format!(
                "{FROM_BALANCER:?} (the balancer \"{}\" {does})",
                self.spec.balancer.name
            ),
            allowed: "a scheme by name".to_owned(),
        }
    }

    fn port(&self, at: u32, env: &SwitchEnv, around: &Around<'_>) -> Result<Port, SetupError> {
        let graph_port = &self.graph.ports[at as usize];
        let seed = self.spec.run.seed;
        let manager = match graph_port.owner {
            Owner::Host(_) => self.host_manager(env)?,
            Owner::Switch(_) => self.manager(env, graph_port.local)?,
        };
        let to_host = matches!(self.graph.ports[graph_port.peer as usize].owner, Owner::Host(_));
        let leaving = around.chooser.is_some_and(|chooser| {
            chooser.needs.leaving && !(to_host && chooser.needs.between_switches)
        });
        let changes = self.changes.iter().any(|change| change.link == graph_port.link);
        let store = self.store(at, around, &manager, changes);
        Ok(Port {
            store,
            limit: self.limit(around),
            manager,
            delay: graph_port.delay,
            rate: graph_port.rate,
            loss: (graph_port.loss > 0.0).then(|| lossy(seed, at, graph_port.loss)),
            up: true,
            special: graph_port.loss > 0.0 || leaving || changes,
            line_time: 0,
            link: at,
            local: graph_port.local,
            rng: Rng::new(seed, Role::Aqm, u64::from(at)),
            stats: PortStats::default(),
            last_arrival: changes.then_some(Time::ZERO),
            watched: Vec::new(),
            tapped: false,
        })
    }

    fn host_port_env(&self, host: HostId, at: u32) -> SwitchEnv {
        const HOSTS_FROM: u64 = 1 << 20;
        let common = self.common_env(HOSTS_FROM + u64::from(host.0));
        let env = SwitchEnv { ports: vec![self.port_info(at)], ..common };
        if self.host_queues() { self.with_queues(env) } else { env }
    }

    /// Whether hosts' own ports have the service queues of a switch's: with flow control their priorities are
    /// paused as a switch's are.
    fn host_queues(&self) -> bool {
        let switch = &self.spec.switch;
        switch.host_ports == HostPorts::WithQueues || switch.pfc.is_some()
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

    fn limit(&self, around: &Around<'_>) -> Limit {
        match (around.chooser, self.spec.switch.host_ports) {
            (None, HostPorts::Unlimited) => Limit::NONE,
            // What a paused host has to send waits in its memory.
            (None, _) if self.spec.switch.pfc.is_some() => Limit::NONE,
            (Some(_), _) if self.spec.switch.shared.is_some() => Limit::SHARED,
            _ => Limit::of(self.spec.switch.buffer),
        }
    }

    /// The manager of a host's port.
    fn host_manager(&self, env: &SwitchEnv) -> Result<Manager, SetupError> {
        if self.spec.switch.host_ports == HostPorts::Unlimited {
            return Ok(Manager::DropTail);
        }
        if self.factories.aqm.is_none() && self.spec.aqm.name == FROM_BALANCER {
            return self.beside_balancer(env);
        }
        self.manager(env, PortId(0))
    }

    /// The manager of a host's port where the switches' queues are their balancers'.
    fn beside_balancer(&self, env: &SwitchEnv) -> Result<Manager, SetupError> {
        if self.factories.balancer.is_some() {
            return Ok(Manager::DropTail);
        }
        let made =
            make!(Place::LoadBalancer, registry::load_balancer, &self.spec.balancer, |entry| {
                let build = |build: aqm::Build| build(&self.spec.balancer.params, env, PortId(0));
                entry.host_aqm.map(build).transpose()
            })?;
        Ok(made.map_or(Manager::DropTail, Manager::own))
    }

    pub(super) fn manager(&self, env: &SwitchEnv, port: PortId) -> Result<Manager, SetupError> {
        if let Some(make) = &self.factories.aqm {
            return Ok(Manager::own(make(env, port)));
        }
        let spec = &self.spec.aqm;
        match spec.name.as_str() {
            "droptail" => Ok(Manager::DropTail),
            FROM_BALANCER => Ok(Manager::Balancer),
            _ => make!(Place::Aqm, registry::queue_manager, spec, |entry| {
                (entry.build)(&spec.params, env, port)
            })
            .map(Manager::own),
        }
    }

    /// The one-event port where it can serve, the general one elsewhere.
    fn store(&self, at: u32, around: &Around<'_>, manager: &Manager, changes: bool) -> Store {
        let port = &self.graph.ports[at as usize];
        let pace = Pace::new(port.rate);
        let switch = &self.spec.switch;
        let asks = manager.asks();
        let at_switch = around.chooser.is_some_and(|chooser| {
            switch.shared.is_some()
                || around.held
                || chooser.needs.exact_dequeue
                // What waits behind a packet is known when it goes.
                || self.has_telemetry()
        });
        let like_switch = around.chooser.is_some() || self.host_queues();
        let several = like_switch && switch.queues > 1;
        let always = self.spec.run.ports == PortModel::General;
        let general =
            always || changes || asks.at_release || at_switch || several || switch.pfc.is_some();
        if !general {
            return Store::Fifo(FifoPort::new(pace));
        }
        let (queues, scheduler) = if like_switch {
            (switch.queues, Scheduler::new(switch.scheduler, &switch.weights, self.mtu()))
        } else {
            (1, Scheduler::new(SchedulerKind::Fifo, &[1], self.mtu()))
        };
        let mut general = GeneralPort::new(pace, queues, scheduler);
        let watched = switch.pfc.as_ref().is_some_and(|pfc| pfc.watchdog.is_some());
        let trims = switch.trim.is_some() && around.chooser.is_some();
        let direct = !changes && !around.held && !watched && !trims;
        general.set_asks(asks, direct);
        general.set_admits_from(manager.passes_below());
        Store::General(Box::new(general))
    }

    pub(super) fn edges(&self) -> Result<Vec<EdgeState>, BuildError> {
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

    pub(super) fn edge(&self, host: HostId) -> Result<EdgeState, SetupError> {
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
        Ok(EdgeState::new(edge, rng))
    }

    /// What drives the nodes. A link without latency leaves no window; see [`Builder::dense`].
    pub(super) fn driver(
        &self,
        nodes: Vec<Node>,
        layout: &Layout,
        programs: Vec<Launch>,
    ) -> Driver {
        if let HostsSpec::Linux(linux) = &self.spec.hosts {
            return self.linux(linux, nodes, layout, programs);
        }
        let lookahead = self.lookahead();
        let windows = match self.spec.run.driver {
            DriverKind::Auto => self.dense(lookahead, layout),
            DriverKind::Calendar => false,
            DriverKind::Windows | DriverKind::Domains | DriverKind::Threads => true,
        };
        if !windows || lookahead.least() == Span::ZERO {
            let driver = CalendarDriver::new(nodes, layout, self.calendar());
            return Driver::Calendar(Box::new(driver));
        }
        let RunSpec { threads, driver, .. } = self.spec.run;
        let deals = match driver {
            DriverKind::Domains => Deals::InTurn { threads: false },
            DriverKind::Threads => Deals::InTurn { threads: true },
            _ => Deals::ByLoad,
        };
        Driver::Windows(Box::new(WindowsDriver::new(nodes, layout, lookahead, (threads, deals))))
    }

    fn lookahead(&self) -> Lookahead {
        let links = self.graph.ports.iter().map(|port| (port.link, port.delay));
        let later = self.changes.iter().filter_map(|change| Some((change.link, change.delay?)));
        let shortest = |of_hosts: bool| {
            let links = links.clone().chain(later.clone());
            let of_kind = links.filter(|(link, _)| self.graph.is_host_link(*link) == of_hosts);
            of_kind.map(|(_, delay)| delay).min()
        };
        Lookahead { hosts: shortest(true).unwrap_or(Span::ZERO), switches: shortest(false) }
    }

    fn linux(
        &self,
        linux: &LinuxSpec,
        nodes: Vec<Node>,
        layout: &Layout,
        programs: Vec<Launch>,
    ) -> Driver {
        let ecn = linux.ecn.then(|| ("net.ipv4.tcp_ecn".to_owned(), "1".to_owned()));
        let about = About {
            kernel: linux.kernel.clone(),
            mss: self.spec.transport.mss,
            guests: layout.hosts.len() as u16,
            seed: self.spec.run.seed,
            mtu: self.mtu(),
            congestion: linux.congestion.clone(),
            sysctl: ecn.into_iter().chain(linux.sysctl.iter().cloned()).collect(),
            interrupt_gap: linux.interrupt_moderation,
            programs,
        };
        let nodes = CalendarDriver::new(nodes, layout, self.calendar());
        let delays = self.graph.ports.iter().map(|port| port.delay);
        Driver::Linux(Box::new(LinuxDriver::new(nodes, layout, about, delays)))
    }

    /// Whether windows are worth it: a node that is visited for less than a packet gains nothing by it, unless
    /// there may be threads and windows can have work for two. In full-sized packets that all hosts together
    /// can send in a window, or in half of one where sides take turns, found by trying
    /// (`docs/performance.md`); it changes no result.
    fn dense(&self, lookahead: Lookahead, layout: &Layout) -> bool {
        const WORTH_A_VISIT: u64 = 1;
        const WORTH_THREADS: u64 = 64;
        let packet = self.rate_of_all_hosts().time_for(u64::from(self.mtu()));
        let packets = |time: Span| time.0 / packet.0.max(1);
        let (window, nodes) = WindowsDriver::window(layout, lookahead);
        let threads = self.spec.run.threads > 1 && self.graph.tor_switch.len() > 1;
        packets(window) >= WORTH_A_VISIT * nodes as u64
            || threads && packets(lookahead.least()) >= WORTH_THREADS
    }

    fn rate_of_all_hosts(&self) -> Rate {
        let rates = self.graph.host_port.iter().map(|at| self.graph.ports[*at as usize].rate.0);
        Rate(rates.sum::<u64>().max(1))
    }

    /// A calendar whose buckets hold about eight events each when all host links are busy, and
    /// whose ring reaches past a full queue of a typical fabric; what is further goes through the
    /// heap. Both were found by trying (`docs/performance.md`); they change no result.
    fn calendar(&self) -> Calendar {
        let width = self.rate_of_all_hosts().time_for(u64::from(self.mtu()));
        Calendar::new(width.0.max(1), CALENDAR_BUCKETS)
    }
}

const CALENDAR_BUCKETS: usize = 1 << 13;
