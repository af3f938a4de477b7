//! How much memory a run will take, from its spec; and how much one has taken so far.

use super::build::{Factories, fabric, mean_flow};
use super::parts::Builder;
use super::{SetupError, Simulation};
use crate::memory::{Memory, Overrun};
use crate::progress::Progress;
use crate::spec::{HostsSpec, ProbeKind, Protocol, Spec};
use crate::workload::{Demand, programs};
use leafspine_core::{HostId, PacketMeta, PortId, Span, Time};
use leafspine_fabric::{Graph, size};
use leafspine_node::{Port, flow_bytes};
use leafspine_schemes::Amount;

/// What a port grows to besides itself: its histograms (a kilobyte of lengths, four of delays).
const HISTOGRAMS: u64 = 5 << 10;
/// A packet that waits: its place in a queue.
const WAITING: u64 = 16;
/// A block of seven packets on a link, with their times.
const BLOCK: u64 = 8 * (size_of::<PacketMeta>() as u64 + 8);
/// A packet under way: its part of a block, twice over, because blocks are in arrays that double; its
/// place in a queue.
const PACKET: u64 = 2 * BLOCK / 7 + WAITING;
/// A link as long as there is little on it: a block, twice over, as above.
const QUIET: u64 = 32 + 8 + 2 * BLOCK;
/// A link in the graph: two ports and its names.
const LINK: u64 = 256;
/// A flow's result row, twice over, because columns double.
const ROW: u64 = 2 * 82;
/// A probe's row, likewise: most have up to 28 bytes.
const PROBE_ROW: u64 = 2 * 32;
/// Those of what balancers keep, and of what kernels say, have more columns.
const STATE_ROW: u64 = 2 * 64;
const TCP_INFO_ROW: u64 = 2 * 128;
/// A guest's kernel and what it touches (docs/linux.md).
const GUEST: u64 = 9 << 20;
/// What a program and the files that it reads take of a guest's memory, as a Python server does (docs/linux.md).
pub(crate) const MEMORY_OF_A_PROGRAM: u64 = 40 << 20;
/// The same rows at the end of the run, when whoever has asked for it has made tables of them.
const ROW_OUT: u64 = 400;
const PROBE_OUT: u64 = 384;
/// Packets that a host has in the network where links carry the load, besides those on wires.
const USUAL: u64 = 32;

impl Memory {
    /// What a run of `spec` will need. Gives up, with a part of the sum, as soon as that is above
    /// `enough`: nothing much larger than the fabric's graph is allocated.
    ///
    /// # Errors
    /// What makes the estimate impossible makes the run impossible: as [`Simulation::new`].
    pub fn of(spec: &Spec, enough: u64) -> Result<Memory, SetupError> {
        Memory::beside(None, spec, enough)
    }

    /// The same beside another run's estimate: if both have the same schemes in the same places,
    /// which may have tables to be made and counted, the other's count stands. Points of a sweep,
    /// seeds above all, have.
    ///
    /// # Errors
    /// As [`Memory::of`].
    pub fn beside(
        other: Option<(&Spec, &Memory)>,
        spec: &Spec,
        enough: u64,
    ) -> Result<Memory, SetupError> {
        let size = size(&spec.topology.kind)?;
        let ports = 2 * size.links;
        let queue = match spec.switch.buffer {
            Amount::Packets(packets) => u64::from(packets),
            Amount::Bytes(bytes) => bytes / u64::from(spec.transport.mss.max(1)),
        };
        let port = size_of::<Port>() as u64 + HISTOGRAMS + QUIET + WAITING * queue.min(1024);
        let mut memory = Memory {
            fabric: ports * port + size.links * LINK + size.switches * (size.tors * 4 + 512),
            ..Memory::default()
        };
        if memory.total() > enough {
            return Ok(memory);
        }
        let graph = Graph::build(&spec.topology)?;
        memory.count_flows(spec, &graph, queue)?;
        if matches!(spec.hosts, HostsSpec::Linux(_)) {
            memory.fabric += u64::from(graph.hosts()) * GUEST;
        }
        if memory.total() <= enough {
            memory.schemes = match other {
                Some((known, memory)) if memory.total() <= enough && same_schemes(known, spec)? => {
                    memory.schemes
                }
                _ => schemes(spec, &graph)?,
            };
        }
        Ok(memory)
    }

    fn count_flows(&mut self, spec: &Spec, graph: &Graph, queue: u64) -> Result<(), SetupError> {
        let fabric = fabric(graph);
        let programs = programs(&spec.workloads, &fabric, &graph.host_names, spec.run.seed)?;
        self.fabric += programs.len() as u64 * MEMORY_OF_A_PROGRAM;
        let (mut at_once, mut piled_up, mut last) = (0, 0, 0.0_f64);
        for (workload, what) in spec.workloads.iter().enumerate() {
            let demand = Demand::of(what, &fabric, spec.run.seed, workload)?;
            // What starts after the end is none of the run.
            let until = spec.run.until.map_or(f64::INFINITY, |until| until.0 as f64);
            let share = if demand.last_start > until { until / demand.last_start } else { 1.0 };
            let cut = |flows: u64| (flows as f64 * share).ceil() as u64;
            self.rows = self.rows.saturating_add(cut(demand.flows));
            at_once += cut(demand.at_once);
            piled_up += cut(demand.at_once).saturating_sub(USUAL * u64::from(graph.hosts()));
            last = last.max(demand.last_start.min(until));
        }
        let each = flow_bytes(&spec.transport.protocol, &spec.transport.stack);
        self.flows = self.rows.saturating_mul(ROW).saturating_add(at_once.saturating_mul(each));
        self.packets = packets(spec, graph, queue, at_once, piled_up) * PACKET;
        let end = spec.run.until.map_or(last, |until| until.0 as f64);
        for probe in &spec.probes {
            let targets = match probe.kind {
                ProbeKind::Packets => continue,
                ProbeKind::Window | ProbeKind::TcpInfo => probe.flows.len().max(16),
                ProbeKind::Queue
                | ProbeKind::Utilisation
                | ProbeKind::State
                | ProbeKind::Signals
                | ProbeKind::Pause => graph.ports_matching(&probe.ports)?.len(),
            };
            let row = match probe.kind {
                ProbeKind::State => STATE_ROW,
                ProbeKind::TcpInfo => TCP_INFO_ROW,
                ProbeKind::Queue
                | ProbeKind::Utilisation
                | ProbeKind::Window
                | ProbeKind::Signals
                | ProbeKind::Pause
                | ProbeKind::Packets => PROBE_ROW,
            };
            let rows = end / probe.every.0.max(1) as f64 * targets as f64;
            self.probes = self.probes.saturating_add((rows * row as f64) as u64);
        }
        Ok(())
    }
}

/// Packets in the network at once: what is on the wires and a little more where links carry the load,
/// full queues at the hosts' links where flows pile up.
fn packets(spec: &Spec, graph: &Graph, queue: u64, at_once: u64, piled_up: u64) -> u64 {
    let mtu = u64::from(spec.transport.mss + spec.transport.header);
    let host = &graph.ports[graph.host_port[0] as usize];
    let bits = host.rate.0 as f64 * (host.delay.0 as f64 * 8e-12);
    let wires = (bits / (8.0 * mtu as f64)) as u64 + 1;
    let hosts = u64::from(graph.hosts());
    let usual = hosts * (wires + USUAL);
    let in_packets = |amount: Amount| match amount {
        Amount::Packets(packets) => u64::from(packets),
        Amount::Bytes(bytes) => bytes / mtu + 1,
    };
    // What a flow has on its way at once: TCP begins with its window; a queue pair has the line at
    // once, until its window is full.
    let window = match &spec.transport.protocol {
        Protocol::Tcp => in_packets(spec.transport.init_cwnd),
        Protocol::Roce(roce) => {
            roce.window.map_or(wires + USUAL, |bytes| in_packets(Amount::Bytes(bytes)))
        }
    };
    let full = hosts * 2 * (queue.min(1 << 20) + wires);
    if piled_up > 0 { full.min(at_once.saturating_mul(window + wires)).max(usual) } else { usual }
}

/// Whether two runs have the same schemes, made of the same parameters.
fn same_schemes(a: &Spec, b: &Spec) -> Result<bool, SetupError> {
    let places = |spec: &Spec| (spec.balancer.clone(), spec.aqm.clone(), spec.edge.clone());
    let same = a.topology == b.topology
        && a.switch == b.switch
        && (a.transport.mss, a.transport.header) == (b.transport.mss, b.transport.header)
        && places(a) == places(b);
    Ok(same && mean_flow(a)? == mean_flow(b)?)
}

/// Bytes that the schemes keep: one switch of each tier and one host stand for all of theirs.
fn schemes(spec: &Spec, graph: &Graph) -> Result<u64, SetupError> {
    let factories = Factories::default();
    let builder = Builder {
        spec,
        factories: &factories,
        graph,
        changes: &[],
        base_rtt: Span::from_micros(100),
        mean_flow: mean_flow(spec)?,
        tor_of: graph.host_tor.iter().copied().collect(),
        progress: &Progress::default(),
    };
    let mut sum = 0;
    let mut first = 0;
    while first < graph.switches.len() {
        let level = graph.switches[first].level;
        let alike = graph.switches[first..].iter().take_while(|switch| switch.level == level);
        let (count, ports) = (alike.clone().count() as u64, u64::from(graph.switches[first].ports));
        let env = builder.switch_env(first);
        let own = builder.balancer(&env)?.inspect().footprint(Time::ZERO).bytes;
        let manager = builder.manager(&env, PortId(0))?;
        let manager = manager.get().map_or(0, |aqm| aqm.inspect().footprint(Time::ZERO).bytes);
        sum += count * (own + ports * manager);
        first += count as usize;
    }
    if spec.edge.is_some() {
        let edge = builder.edge(HostId(0))?.edge;
        sum += u64::from(graph.hosts()) * edge.inspect().footprint(Time::ZERO).bytes;
        sum += graph.tor_switch.len() as u64 * edge.needs().board_words as u64 * 8;
    }
    Ok(sum)
}

impl Simulation {
    /// The same run, ended as soon as it holds more than so many bytes: rows of probes and flows
    /// whose number is unknown, packets, flows under way.
    #[must_use]
    pub fn within(mut self, bytes: u64) -> Simulation {
        self.most_memory = bytes;
        self
    }

    /// Sees that the run does not hold more than it may, the tables of its results included. What was
    /// there at its start is not counted.
    pub(super) fn watch_memory(&self) -> Result<(), super::RunError> {
        let rows: usize = self.probes.iter().map(super::probes::Probe::rows).sum();
        let messages = self.flows.operations.as_ref().map_or(0, |more| more.table.len() as u64);
        let results =
            rows as u64 * PROBE_OUT + (self.flows.table.len() as u64 + messages) * ROW_OUT;
        let flows = self.flows.open * flow_bytes(&self.net.protocol.spec(), &self.net.tcp.stack);
        let under_way = self.driver.counters().in_network() * PACKET + flows;
        let held = results + under_way;
        if held <= self.most_memory {
            return Ok(());
        }
        Err(super::RunError::Memory(Overrun { held, results, most: self.most_memory }))
    }
}
