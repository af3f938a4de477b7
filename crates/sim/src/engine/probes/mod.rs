//! Probes: time series of what a run does. Each kind is a file: what it looks at, its columns, and
//! the series that they become. Nothing here changes what packets do.

mod packets;
mod pause;
mod queue;
mod signals;
mod state;
mod tcp_info;
mod utilisation;
mod window;

use super::Simulation;
use super::agenda::Item;
use crate::drive::linux::Sample;
use crate::output::{Column, Series};
use crate::spec::{ProbeKind, ProbeSpec};
use leafspine_core::{Span, Time};
use leafspine_fabric::{Graph, TopologyError};
use leafspine_node::{Address, Class, Key, Seen};
use packets::PacketsProbe;
use pause::PauseProbe;
use queue::QueueProbe;
use signals::SignalsProbe;
use state::StateProbe;
use tcp_info::TcpInfoProbe;
use utilisation::UtilisationProbe;
use window::WindowProbe;

/// A probe of the scenario.
pub(super) struct Probe {
    /// Its file's name.
    name: String,
    /// How often it samples; unused by those that do not.
    every: Span,
    kind: Kind,
}

/// What it has seen, by what it looks at.
enum Kind {
    Queue(QueueProbe),
    Utilisation(UtilisationProbe),
    Window(WindowProbe),
    TcpInfo(TcpInfoProbe),
    State(StateProbe),
    Signals(SignalsProbe),
    Pause(PauseProbe),
    Packets(PacketsProbe),
}

/// The columns of a series, and the names of what its index column refers to.
struct Columns {
    kind: &'static str,
    names: Vec<String>,
    columns: Vec<(&'static str, Column)>,
}

impl Probe {
    fn new(spec: &ProbeSpec, graph: &Graph, priorities: &[u8]) -> Result<Probe, TopologyError> {
        let ports = || graph.ports_matching(&spec.ports);
        let kind = match spec.kind {
            ProbeKind::Queue => Kind::Queue(QueueProbe::new(ports()?)),
            ProbeKind::Utilisation => {
                Kind::Utilisation(UtilisationProbe::new(ports()?, spec.every))
            }
            ProbeKind::Window => Kind::Window(WindowProbe::new(&spec.flows)),
            ProbeKind::TcpInfo => Kind::TcpInfo(TcpInfoProbe::new(&spec.flows)),
            ProbeKind::State => Kind::State(StateProbe::new(&ports()?, graph)),
            ProbeKind::Signals => Kind::Signals(SignalsProbe::new(ports()?)),
            ProbeKind::Pause => Kind::Pause(PauseProbe::new(ports()?, priorities)),
            ProbeKind::Packets => Kind::Packets(PacketsProbe::new(ports()?)),
        };
        Ok(Probe { name: spec.name.clone(), every: spec.every, kind })
    }

    /// Rows so far.
    pub(super) fn rows(&self) -> usize {
        match &self.kind {
            Kind::Queue(probe) => probe.rows(),
            Kind::Utilisation(probe) => probe.rows(),
            Kind::Window(probe) => probe.rows(),
            Kind::TcpInfo(probe) => probe.rows(),
            Kind::State(probe) => probe.rows(),
            Kind::Signals(probe) => probe.rows(),
            Kind::Pause(probe) => probe.rows(),
            Kind::Packets(probe) => probe.rows(),
        }
    }

    /// A kernel has said how a flow is doing.
    pub(super) fn answered(&mut self, sample: &Sample) {
        match &mut self.kind {
            Kind::Window(probe) => {
                let bytes = u64::from(sample.info.window) * u64::from(sample.info.segment);
                probe.answered(sample.time, sample.flow, bytes);
            }
            Kind::TcpInfo(probe) => probe.answered(sample),
            _ => unreachable!("it asks no kernel"),
        }
    }

    /// Its series, in a run that has ended at `end`.
    fn series(self, graph: &Graph, end: Time) -> Series {
        let Columns { kind, names, columns } = match self.kind {
            Kind::Queue(probe) => probe.columns(graph),
            Kind::Utilisation(probe) => probe.columns(graph),
            Kind::Window(probe) => probe.columns(),
            Kind::TcpInfo(probe) => probe.columns(),
            Kind::State(probe) => probe.columns(graph),
            Kind::Signals(probe) => probe.columns(graph),
            Kind::Pause(probe) => probe.columns(graph),
            Kind::Packets(probe) => probe.columns(graph, end),
        };
        Series { name: self.name, kind, ports: names, columns }
    }
}

fn port_names(graph: &Graph, ports: &[u32]) -> Vec<String> {
    ports.iter().map(|at| graph.port_name(*at)).collect()
}

impl Simulation {
    pub(super) fn add_probes(&mut self, specs: &[ProbeSpec]) -> Result<(), TopologyError> {
        for (index, spec) in specs.iter().enumerate() {
            let probe = Probe::new(spec, &self.graph, &self.priorities)?;
            if let Kind::Packets(packets) = &probe.kind {
                for at in packets.ports() {
                    let port = self.driver.port_mut(&self.layout, *at);
                    port.watched.push(index as u16);
                    port.special = true;
                }
            }
            self.probes.push(probe);
        }
        Ok(())
    }

    /// All that sample do so at the start, and then when their time has come.
    pub(super) fn start_probes(&mut self) {
        for (index, probe) in (0..).zip(&self.probes) {
            if !matches!(probe.kind, Kind::Packets(_)) {
                self.agenda.add((Time::ZERO, Key::new(Class::Probe, index)), Item::Sample);
            }
        }
    }

    /// A probe looks.
    pub(super) fn sample(&mut self, index: u32) {
        let now = self.now;
        let Simulation { driver, layout, net, .. } = self;
        let probe = &mut self.probes[index as usize];
        let next = now + probe.every;
        match &mut probe.kind {
            Kind::Queue(probe) => probe.sample(now, |at| driver.port_mut(layout, at).backlog(now)),
            Kind::Utilisation(probe) => {
                probe.sample(now, |at| driver.port_mut(layout, at).sent_until(now));
            }
            Kind::TcpInfo(probe) => {
                if let Some(linux) = driver.linux() {
                    probe.flows().for_each(|flow| linux.ask(index, flow, now));
                }
            }
            Kind::Window(probe) if let Some(linux) = driver.linux() => {
                probe.flows().for_each(|flow| linux.ask(index, flow, now));
            }
            Kind::Window(probe) => probe.sample(now, |sender| {
                let host = driver.host(layout, sender.host());
                host.senders[usize::from(sender.slot())].window(net)
            }),
            Kind::State(probe) => {
                let mut taken = std::mem::take(probe);
                taken.sample(now, self);
                self.probes[index as usize].kind = Kind::State(taken);
            }
            Kind::Signals(probe) => {
                probe.sample(now, |at| driver.port_mut(layout, at).stats.ever);
            }
            Kind::Pause(probe) => {
                probe.sample(now, |at, priority| {
                    let port = driver.port_mut(layout, at);
                    let Some(priority) = priority else { return port.paused_until(now) };
                    port.pauses().map_or((Span::ZERO, 0), |p| p.of(usize::from(priority), now))
                });
            }
            Kind::Packets(_) => unreachable!("it is told of packets and does not sample"),
        }
        self.agenda.add((next, Key::new(Class::Probe, index)), Item::Sample);
    }

    /// Gives the `packets` probes what their ports have seen. Flows have their numbers now; their slots
    /// may be others' later.
    pub(super) fn note_seen(&mut self, seen: &mut Vec<Seen>) {
        for seen in seen.drain(..) {
            let number = |sender| self.driver.sending(&self.layout, sender).number;
            let flow = seen.sender.map(number);
            let Kind::Packets(probe) = &mut self.probes[usize::from(seen.probe)].kind else {
                unreachable!("ports know the packets probes that watch them")
            };
            probe.record(&seen, flow);
        }
    }

    /// Tells the window probes that a flow has started or ended.
    pub(super) fn watch_flow(&mut self, flow: u32, sender: Address, starts: bool) {
        for probe in &mut self.probes {
            match &mut probe.kind {
                Kind::Window(probe) if starts => probe.flow_starts(flow, sender),
                Kind::Window(probe) => probe.flow_ends(flow),
                Kind::TcpInfo(probe) if starts => probe.flow_starts(flow),
                Kind::TcpInfo(probe) => probe.flow_ends(flow),
                _ => {}
            }
        }
    }

    /// What the probes have seen, in the scenario's order.
    pub(super) fn take_series(&mut self) -> Vec<Series> {
        let probes = std::mem::take(&mut self.probes);
        probes.into_iter().map(|probe| probe.series(&self.graph, self.now)).collect()
    }
}
