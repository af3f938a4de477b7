//! The engine: one run, from its first flow to its last.
//!
//! [`Simulation`] owns everything; there is no global state, so two runs may live in one process.
//! The files beside this one are what happens to a packet, in order: [`endpoint`](self) (a host
//! sends and receives), `jitter` (between a host and its port), `transmit` (a port queues and sends), `forward` (a switch chooses), `hold`
//! (a switch keeps a packet back), `links` (a link changes), `observe` and `probes` (looking on).

mod audit;
#[cfg(test)]
mod audit_tests;
mod build;
mod endpoint;
mod estimate;
mod fault;
mod forward;
mod hold;
mod jitter;
mod links;
mod observe;
mod parts;
mod probes;
mod standstill;
#[cfg(test)]
mod standstill_tests;
mod transmit;

pub use build::{BuildError, Factories, SetupError};
pub use fault::{Fault, FaultKind};
pub use standstill::Stuck;

use crate::calendar::{Calendar, Class, Event, Key};
use crate::measure::FlowTable;
use crate::memory::Overrun;
use crate::output::{Counters, Output, TableUse, Warmup};
use crate::pool::Pool;
use crate::port::Port;
use crate::prefetch::prefetch;
use crate::progress::Progress;
use crate::spec::{Classifier, Window};
use crate::transport::{Sender, TcpConfig};
use crate::workload::{Flow, FlowSource, WorkloadError};
use audit::Audit;
use endpoint::Endpoints;
use forward::SwitchState;
use hold::Released;
use jitter::Jitter;
use leafspine_core::{Bytes, PacketMeta, PortId, Time};
use leafspine_fabric::{Graph, Ideal, LinkState, ResolvedChange, Routes};
use probes::Probe;
use standstill::Standstill;

/// Where a link ends: what an arriving packet needs to know, in eight bytes.
#[derive(Clone, Copy)]
struct Wire {
    /// The host, or the switch with this bit set.
    node: u32,
    /// The port it comes in by (a switch's own numbering).
    into: PortId,
    /// Whether the sending port keeps a list of what is on the wire.
    tracked: bool,
}

impl Wire {
    const SWITCH: u32 = 1 << 31;
}

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
    /// Something is wrong with leafspine or a scheme.
    #[error(transparent)]
    Fault(Box<Fault>),
}

/// One run.
pub struct Simulation {
    now: Time,
    calendar: Calendar,
    pool: Pool,
    ports: Vec<Port>,
    wires: Vec<Wire>,
    switches: Vec<SwitchState>,
    /// The name that the balancer has in the scenario.
    balancer: String,
    routes: Routes,
    /// Per host: its switch's number among those with hosts, and its port there.
    places: Vec<(u16, PortId)>,
    endpoints: Endpoints,
    /// Only in runs whose hosts delay what they send.
    jitter: Option<Box<Jitter>>,
    tcp: TcpConfig,
    outbox: Vec<(PortId, PacketMeta)>,
    released: Vec<Released>,
    measuring: bool,
    trace_hash: u64,
    counters: Counters,
    table_use: TableUse,
    /// The entries that flows have at a switch, while one looks: kept for its memory.
    entries: Vec<u32>,
    table: FlowTable,
    source: FlowSource,
    next_flow: Option<Flow>,
    ideal: Ideal,
    graph: Graph,
    changes: Vec<ResolvedChange>,
    link_state: Vec<LinkState>,
    probes: Vec<Probe>,
    window: Window,
    window_open: Option<Time>,
    window_close: Option<Time>,
    /// Payload that applications had when the window opened; what they got in it once it is closed.
    window_bytes: u64,
    /// What starts before `warmup.end` is in no statistic.
    warmup: Warmup,
    until: Option<Time>,
    classifier: Classifier,
    stage_queues: Vec<u8>,
    seed: u64,
    finished: bool,
    fault: Option<Box<Fault>>,
    /// Only in checked runs.
    audit: Option<Box<Audit>>,
    standstill: Standstill,
    /// Bytes that it may hold.
    most_memory: u64,
    /// Outboxes that are being emptied, one within the other.
    nested: u32,
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
        let end = self.until.unwrap_or(Time::END).min(Time::END);
        let (mut events, mut next_look) = (0, self.first_look());
        loop {
            let Some(event) = self.calendar.pop() else {
                self.ran_dry(events)?;
                break;
            };
            if event.time > end {
                // Its packet, if it has one, is still in the network.
                self.calendar.put_back(event);
                self.now = end;
                break;
            }
            self.now = event.time;
            events += 1;
            self.foresee();
            self.handle(event)?;
            if events >= next_look {
                next_look = events + self.look(events, progress)?;
            }
            if self.finished {
                break;
            }
        }
        self.counters.events = events;
        self.last_audit();
        self.report(progress)?;
        match self.fault.take() {
            Some(fault) => Err(RunError::Fault(Box::new(Fault { events, ..*fault }))),
            None => Ok(()),
        }
    }

    /// Sends for what one of the next events will need, so that it is there when the event comes: a hop is
    /// five or six lines of memory that may be far away.
    #[inline]
    fn foresee(&mut self) {
        let Some((key, item)) = self.calendar.foresee() else { return };
        if key.is(Class::Arrival) {
            self.pool.prefetch(item);
        } else if key.is(Class::Departure) {
            prefetch(&self.ports, key.id() as usize);
        }
    }

    /// Events until the first look.
    fn first_look(&self) -> u64 {
        if self.audit.is_some() { 1 } else { PROGRESS_EVERY }
    }

    /// What is done now and then: reporting, seeing that the run gets somewhere, checking. Gives the
    /// number of events until the next look.
    #[cold]
    fn look(&mut self, events: u64, progress: &Progress) -> Result<u64, RunError> {
        self.report(progress)?;
        self.watch_memory()?;
        self.watch_progress(events)?;
        Ok(self.audit().map_or(PROGRESS_EVERY, |audit| audit.min(PROGRESS_EVERY)))
    }

    #[inline]
    fn handle(&mut self, event: Event) -> Result<(), RunError> {
        let key = event.key();
        if key.is(Class::Arrival) {
            self.arrival(key.id(), event.item());
        } else if key.is(Class::Departure) {
            self.line_free(key.id());
        } else {
            self.handle_rare(event)?;
        }
        if !self.released.is_empty() {
            self.forward_released();
        }
        Ok(())
    }

    fn handle_rare(&mut self, event: Event) -> Result<(), RunError> {
        let (key, item) = (event.key(), event.item());
        match key.class() {
            Class::Departure | Class::Arrival => unreachable!("`handle` has seen to them"),
            Class::Link => self.change_link(item),
            Class::HoldExpiry => self.hold_expired(key.id(), item),
            Class::Tick => self.tick(key.id()),
            Class::FlowStart => return self.start_flow(),
            Class::Retransmit => self.retransmit_timer(key.id(), item),
            Class::DelayedAck => self.delayed_ack_timer(key.id(), item),
            Class::Reassembly => self.reassembly_timer(key.id(), item),
            Class::EdgeTick => self.edge_tick(key.id()),
            Class::HandDown => self.handed_down(key.id(), item),
            Class::Window => self.window_event(item),
            Class::Probe => self.sample(item),
        }
        Ok(())
    }

    /// Puts the first events into the calendar.
    fn start(&mut self) -> Result<(), RunError> {
        for (index, change) in self.changes.iter().enumerate() {
            self.calendar.push(change.at, Key::new(Class::Link, index as u32), index as u32);
        }
        for (index, switch) in self.switches.iter().enumerate() {
            if switch.needs.tick {
                self.calendar.push(Time::ZERO, Key::new(Class::Tick, index as u32), 0);
            }
        }
        for host in self.endpoints.ticking_edges() {
            self.calendar.push(Time::ZERO, Key::new(Class::EdgeTick, host), 0);
        }
        self.start_observing();
        self.schedule_flow()
    }

    /// Takes the next flow from the source, and sees that it starts when its time has come.
    fn schedule_flow(&mut self) -> Result<(), RunError> {
        self.next_flow = self.source.next()?;
        match &self.next_flow {
            Some(flow) => {
                self.check_flow(flow)?;
                self.calendar.push(flow.start, Key::new(Class::FlowStart, 0), 0);
            }
            None => {
                self.source_exhausted();
                self.finished |= self.endpoints.active() == 0;
            }
        }
        Ok(())
    }

    /// Refuses a flow that the engine's numbers cannot count. One that starts after the spec's
    /// `until` is none of this run.
    fn check_flow(&self, flow: &Flow) -> Result<(), WorkloadError> {
        let refuse = |key, found: String, allowed: String| {
            Err(WorkloadError::at(key, found, allowed).within(usize::from(flow.workload)))
        };
        let (mss, start) = (u64::from(self.tcp.mss), flow.start);
        if flow.bytes.div_ceil(mss) > Sender::MOST_SEGMENTS {
            let most = Bytes(mss * Sender::MOST_SEGMENTS);
            let found = format!("a flow of {}", Bytes(flow.bytes));
            return refuse("sizes", found, format!("at most {most}, 2^31 segments of {mss}B"));
        }
        if start > Time::END && self.until.is_none_or(|until| start <= until) {
            let found = format!("a flow that starts at {start}");
            return refuse("start", found, format!("a start within {}", Time::END));
        }
        if self.table.len() > Key::MAX_ID as usize {
            let found = format!("more than {} flows", self.table.len());
            return refuse("flows", found, "at most 2^28 flows in all".to_owned());
        }
        Ok(())
    }

    /// A packet has come to the end of the link of `port`.
    #[inline]
    fn arrival(&mut self, port: u32, handle: u32) {
        let wire = self.wires[port as usize];
        self.counters.packet_hops += 1;
        self.hash_hop(port, handle);
        if wire.tracked {
            self.leave_wire(port);
        }
        if self.pool[handle].notes & PacketMeta::LOST != 0 {
            self.lose(port, handle);
        } else if wire.node & Wire::SWITCH != 0 {
            self.enter_switch(wire.node & !Wire::SWITCH, wire.into, handle);
        } else {
            self.receive(handle);
        }
    }

    /// Folds a packet-hop into the trace hash: when, where, what. In the order of processing,
    /// which is a contract, so two runs agree in their hash if and only if they agree in all hops.
    #[inline]
    fn hash_hop(&mut self, port: u32, handle: u32) {
        const A: u64 = 0x9e37_79b9_7f4a_7c15;
        const B: u64 = 0xd6e8_feb8_6659_fd93;
        let packet = &self.pool[handle];
        let what = u64::from(packet.seq) << 32
            | u64::from(packet.size) << 16
            | u64::from(packet.flags.0) << 8
            | u64::from(packet.ecn as u8);
        let hop = (self.now.0 ^ u64::from(port) << 44).wrapping_mul(A)
            ^ (packet.tuple.0 ^ what.rotate_left(17)).wrapping_mul(B);
        self.trace_hash = (self.trace_hash.rotate_left(5) ^ hop).wrapping_mul(A);
    }

    fn report(&self, progress: &Progress) -> Result<(), RunError> {
        progress.set(
            self.table.finished(),
            self.source.expected(),
            self.now,
            self.counters.packet_hops,
        );
        if progress.cancelled() { Err(RunError::Cancelled) } else { Ok(()) }
    }
}
