//! The engine: one run, from its first flow to its last.
//!
//! [`Simulation`] owns everything; there is no global state, so two runs may live in one process.
//! What happens to packets is in the nodes ([`leafspine_node`]), in which order they are told of it in
//! [`crate::drive`]. The files beside this one are what concerns the whole: flows that start and end
//! (`flows`), links that change (`links`), looking on (`observe`, `probes`), checks (`audit`,
//! `standstill`).

mod agenda;
mod audit;
mod audit_pauses;
#[cfg(test)]
mod audit_tests;
mod build;
mod captures;
mod control;
mod deadlock;
mod estimate;
mod fault;
mod flow_control;
mod flows;
mod guests;
#[cfg(test)]
mod guests_tests;
mod links;
mod observe;
mod operations;
mod parts;
mod probes;
mod recovery;
mod standstill;
#[cfg(test)]
mod standstill_tests;
mod work;

pub use build::{BuildError, Factories, SetupError};
pub use control::control_planes;
pub(crate) use estimate::MEMORY_OF_A_PROGRAM;
pub use fault::{Fault, FaultKind};
pub(crate) use flows::{FIRST_CONNECTION, SERVICE_PORT, in_flight};
pub use standstill::Stuck;
pub use work::Work;

use crate::capture::{Capture, CaptureError};
use crate::drive::{Bound, Came, Driver, Layout, Task};
use crate::memory::Overrun;
use crate::output::{Counters, Deadlock, Output, TableUse};
use crate::progress::Progress;
use crate::workload::WorkloadError;
use agenda::{Agenda, Item};
use audit::Audit;
use flows::Flows;
use leafspine_core::Time;
use leafspine_fabric::{Graph, LinkState, ResolvedChange};
use leafspine_node::{Class, Event, Key, Network};
use observe::Measurement;
use probes::Probe;
use standstill::Standstill;
use std::sync::Arc;

/// Why a run ended without an output.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The flow source met something it cannot use (a trace's bad line).
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// [`Progress::cancel`] was called.
    #[error("cancelled")]
    Cancelled,
    /// The run got nowhere.
    #[error(transparent)]
    Stuck(Box<Stuck>),
    /// The run holds more than it may ([`Simulation::within`]).
    #[error(transparent)]
    Memory(Overrun),
    /// A capture cannot be written.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// What a kernel that is a host does not take.
    #[error(transparent)]
    Setup(Box<SetupError>),
    /// A kernel that is a host cannot go on.
    #[error(transparent)]
    Linux(Box<leafspine_linux::LinuxError>),
    /// Something is wrong with leafspine or a scheme.
    #[error(transparent)]
    Fault(Box<Fault>),
}

/// One run.
pub struct Simulation {
    now: Time,
    /// The nodes, and the order in which they are told of their events.
    driver: Driver,
    layout: Layout,
    net: Arc<Network>,
    /// What concerns the whole run and is still to come.
    agenda: Agenda,
    /// Everything before it has happened.
    reached: Bound,
    flows: Flows,
    graph: Graph,
    changes: Vec<ResolvedChange>,
    link_state: Vec<LinkState>,
    measurement: Measurement,
    table_use: TableUse,
    /// The entries that flows have at a switch, while one looks: kept for its memory.
    entries: Vec<u32>,
    probes: Vec<Probe>,
    /// The lossless priorities, where there are several: their pauses are told apart.
    priorities: Vec<u8>,
    recovery: Option<Box<recovery::Recovery>>,
    capture: Option<Box<Capture>>,
    until: Option<Time>,
    seed: u64,
    finished: bool,
    fault: Option<Box<Fault>>,
    /// Whether the hosts are kernels.
    is_linux: bool,
    /// Items of the agenda done.
    own_events: u64,
    /// Only in checked runs.
    audit: Option<Box<Audit>>,
    standstill: Standstill,
    /// Seen at the end that the run was given.
    deadlock: Option<Deadlock>,
    /// Bytes that it may hold.
    most_memory: u64,
    /// The most packets in the network when a flow started at which that is looked at.
    peak_packets: u64,
}

/// The most events between two looks at the progress and its cancel flag.
const PROGRESS_EVERY: u64 = 1 << 14;

impl Simulation {
    /// Runs to the end: until every flow has ended, or until the spec's `until`, or until
    /// [`Time::END`].
    ///
    /// # Errors
    /// If the flow source fails or makes a flow that cannot be run, if `progress` was cancelled, if
    /// the run gets nowhere, or if something is wrong with the engine or a scheme.
    pub fn run(mut self, progress: &Progress) -> Result<Output, RunError> {
        self.advance(progress)?;
        Ok(self.into_output())
    }

    /// The run without its output.
    fn advance(&mut self, progress: &Progress) -> Result<(), RunError> {
        self.start()?;
        self.boot(progress)?;
        let end = self.until.unwrap_or(Time::END).min(Time::END);
        let last = (Time(end.0 + 1), Key::FIRST);
        let mut next_look = self.first_look();
        while !self.finished {
            let bound = self.open_flows(self.next_stop().min(last))?;
            let came = self.drive(bound, next_look);
            self.take_notes()?;
            self.fail_with_guests()?;
            self.write_captures()?;
            match came {
                Came::ToTheEnd | Came::ToAFault => self.finished = true,
                Came::ToBound => self.do_what_is_due(bound)?,
                Came::PartOfTheWay | Came::PartOfTheWayAhead => {}
                Came::Nowhere(events) => return Err(self.stands_still(events)),
            }
            if came == Came::ToBound && bound == last {
                self.meet_the_end(end)?;
            }
            if self.events() >= next_look {
                next_look = self.events() + self.look(progress, came)?;
            }
        }
        self.ask_guests();
        self.fail_with_guests()?;
        self.last_audit();
        self.finish_captures()?;
        self.report(progress)?;
        let events = self.events();
        match self.fault.take() {
            Some(fault) => Err(RunError::Fault(Box::new(Fault { events, ..*fault }))),
            None => Ok(()),
        }
    }

    /// Lets nodes handle what comes before `bound`, or a part of it.
    fn drive(&mut self, bound: Bound, next_look: u64) -> Came {
        let budget = next_look.saturating_sub(self.events()).max(1);
        let ending = self.flows.ending();
        let came = self.driver.advance(Task {
            layout: &self.layout,
            net: &self.net,
            bound,
            ending,
            operations: self.flows.operations.is_some(),
            budget,
        });
        self.now = self.now.max(self.driver.now());
        came
    }

    /// Events until the first look.
    fn first_look(&self) -> u64 {
        if self.audit.is_some() { 1 } else { PROGRESS_EVERY }
    }

    /// Events so far: those of nodes, and what concerned the whole run.
    fn events(&self) -> u64 {
        self.driver.counters().events + self.own_events
    }

    /// What is done now and then: reporting, seeing that the run gets somewhere, checking. Gives the
    /// number of events until the next look.
    #[cold]
    fn look(&mut self, progress: &Progress, came: Came) -> Result<u64, RunError> {
        self.report(progress)?;
        self.watch_memory()?;
        self.watch_progress(self.events())?;
        // Nodes are at different times: what a port has at one that is not its own is not to be looked
        // at.
        if came == Came::PartOfTheWayAhead {
            return Ok(PROGRESS_EVERY.min(self.graph.ports.len() as u64));
        }
        Ok(self.audit().map_or(PROGRESS_EVERY, |audit| audit.min(PROGRESS_EVERY)))
    }

    /// Puts the first events in their places.
    fn start(&mut self) -> Result<(), RunError> {
        for (index, change) in self.changes.iter().enumerate() {
            self.agenda.add((change.at, Key::new(Class::Link, index as u32)), Item::Change);
        }
        for id in 0..self.graph.switches.len() as u32 {
            let switch = leafspine_core::SwitchId(id as u16);
            if self.driver.switch(switch).chooser().needs.tick {
                let event = Event::new(Time::ZERO, Key::new(Class::Tick, id), 0);
                self.driver.schedule(&self.layout, event);
            }
        }
        for host in 0..self.graph.hosts() {
            let edge = &self.driver.host(&self.layout, leafspine_core::HostId(host as u16)).edge;
            if edge.as_ref().is_some_and(|edge| edge.edge.needs().tick) {
                let event = Event::new(Time::ZERO, Key::new(Class::EdgeTick, host), 0);
                self.driver.schedule(&self.layout, event);
            }
        }
        self.start_observing();
        self.start_watching_pauses();
        self.start_operations()?;
        self.draw_flow()?;
        if self.has_programs() {
            self.start_programs();
        } else if self.flows.next_at().is_none() && self.flows.operations.is_none() {
            self.source_exhausted();
            self.finished = true;
        }
        Ok(())
    }

    /// How far nodes may go before something concerns the whole run.
    fn next_stop(&self) -> Bound {
        self.agenda.next().unwrap_or((Time::MAX, Key::LAST))
    }

    /// Does what the agenda has for this point.
    fn do_what_is_due(&mut self, bound: Bound) -> Result<(), RunError> {
        self.reached = bound;
        while let Some(((time, key), item)) = self.agenda.take_due(bound) {
            if item == Item::Pauses {
                self.watch_pauses(time)?;
                continue;
            }
            self.now = time;
            self.own_events += u64::from(item != Item::Exhausted);
            match item {
                Item::Change => {
                    self.change_link(key.id());
                    self.take_notes()?;
                    self.finished |= self.driver.is_over(self.flows.ending());
                }
                Item::Exhausted => self.source_exhausted(),
                Item::Open => self.move_window(true),
                Item::Close => self.move_window(false),
                Item::Warm => self.end_warmup(),
                Item::Sample => self.sample(key.id()),
                Item::Goodput => self.look_at_goodput(),
                Item::Pauses => unreachable!("it is no event"),
            }
        }
        Ok(())
    }

    /// Nothing is left before the end that the run was given.
    fn meet_the_end(&mut self, end: Time) -> Result<(), RunError> {
        self.finished = true;
        if self.driver.next_time().is_none() && self.flows.next_at().is_none() {
            return self.ran_dry();
        }
        self.now = end;
        self.deadlock = self.find_deadlock();
        Ok(())
    }

    /// Flows in all, as far as that can be told.
    fn expected(&self) -> Option<u64> {
        let messages = self.flows.operations.as_ref().map_or(0, |more| more.dags.messages());
        self.flows.source.expected().map(|flows| flows + messages)
    }

    fn counters(&self) -> Counters {
        let mut counters = self.driver.counters();
        counters.events += self.own_events;
        counters.reordered_packets = self.flows.reordered;
        counters
    }

    fn report(&self, progress: &Progress) -> Result<(), RunError> {
        progress.set(
            self.flows.finished(),
            self.expected(),
            self.now,
            self.driver.counters().packet_hops,
        );
        if progress.cancelled() { Err(RunError::Cancelled) } else { Ok(()) }
    }
}
