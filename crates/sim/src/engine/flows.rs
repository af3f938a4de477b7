//! Flows: where they come from, their start, their end, their rows.

use super::agenda::Item;
use super::operations::Operations;
use super::{RunError, Simulation};
use crate::drive::{Bound, Driver, Ending};
use crate::flow_table::{FlowStats, FlowTable};
use crate::workload::{Dags, Flow, FlowSource, WorkloadError};
use leafspine_core::{Bytes, FiveTuple, HostId, SwitchId, Time};
use leafspine_fabric::Ideal;
use leafspine_node::{Address, Class, Ended, Event, FIRST_MESSAGE, FlowId, Full, Key, Opening};
use leafspine_node::{Operated, Seen, Tapped};
use leafspine_node::{Receiving, Sending, transport::Sender};

/// All flows of a run.
pub(super) struct Flows {
    pub(super) table: FlowTable,
    pub(super) source: FlowSource,
    /// The next to start.
    next: Option<Flow>,
    /// By workload: the class of its data, if that is not the transport's.
    classes: Vec<Option<u8>>,
    pub(super) ideal: Ideal,
    /// Flows opened; those that have ended are no longer among `open`.
    pub(super) opened: u64,
    pub(super) open: u64,
    /// All is acknowledged, but packets may still be under way.
    closing: Vec<Address>,
    /// Segments of ended flows that came after a later one.
    pub(super) reordered: u64,
    /// When flows ended, in no order.
    ends: Vec<Time>,
    notes: Notes,
    /// In runs in which flows wait for each other: the others have none of its cost.
    pub(super) operations: Option<Box<Operations>>,
    /// Messages that have started and that have not, when the run is over.
    pub(super) messages_started: u64,
    pub(super) left_over: u64,
}

/// What nodes have written down, on its way into the tables: kept for its memory.
#[derive(Default)]
struct Notes {
    finished: Vec<(u32, Time)>,
    done: Vec<Address>,
    ended: Vec<Ended>,
    seen: Vec<Seen>,
    tapped: Vec<Tapped>,
    operated: Vec<Operated>,
}

/// Every flow goes to this port of its destination.
pub(crate) const SERVICE_PORT: u16 = 5001;

/// Directions of the connections that programs make are counted from here, and flows beside them below.
pub(crate) const FIRST_CONNECTION: u32 = 1 << 26;

/// The flow tables are looked at when every 64th flow starts: what there is to look at grows with the
/// flows under way, and costs nothing beside the packets of 64 flows.
const LOOK_EVERY: u32 = 64;

impl Flows {
    pub(super) fn new(
        source: FlowSource,
        classes: Vec<Option<u8>>,
        ideal: Ideal,
        jobs: Option<Dags>,
    ) -> Flows {
        Flows {
            table: FlowTable::default(),
            source,
            next: None,
            classes,
            ideal,
            opened: 0,
            open: 0,
            closing: Vec::new(),
            reordered: 0,
            ends: Vec::new(),
            notes: Notes::default(),
            operations: jobs.map(|jobs| Box::new(Operations::new(jobs))),
            messages_started: 0,
            left_over: 0,
        }
    }

    /// The table and the row of the flow with this number.
    pub(super) fn row_of(&self, number: u32) -> (&FlowTable, usize) {
        match &self.operations {
            Some(operations) if number >= FIRST_MESSAGE => {
                (&operations.table, (number - FIRST_MESSAGE) as usize)
            }
            _ => (&self.table, number as usize),
        }
    }

    fn row_of_mut(&mut self, number: u32) -> (&mut FlowTable, u32) {
        match &mut self.operations {
            Some(operations) if number >= FIRST_MESSAGE => {
                (&mut operations.table, number - FIRST_MESSAGE)
            }
            _ => (&mut self.table, number),
        }
    }

    /// Flows whose last byte has arrived.
    pub(super) fn finished(&self) -> u64 {
        self.table.finished() + self.operations.as_ref().map_or(0, |more| more.table.finished())
    }

    /// Where the next flow starts, in the order of events.
    pub(super) fn next_at(&self) -> Option<Bound> {
        let number = self.table.len() as u32;
        self.next.as_ref().map(|flow| (flow.start, Key::new(Class::FlowStart, number)))
    }

    /// When the run is over; `None` while flows are to come.
    pub(super) fn ending(&self) -> Option<Ending> {
        let incomplete = self.opened - self.table.finished();
        let flows = Ending { flows: self.opened, incomplete };
        match &self.operations {
            Some(operations) => operations.ending(flows).filter(|_| self.next.is_none()),
            None => self.next.is_none().then_some(flows),
        }
    }

    /// The most flows under way at once.
    pub(super) fn peak(&mut self, table: &FlowTable) -> u64 {
        self.ends.sort_unstable();
        let (mut ended, mut peak) = (0, 0);
        for (started, start) in table.start_ps.iter().enumerate() {
            ended += self.ends[ended..].iter().take_while(|end| end.0 <= *start).count();
            peak = peak.max(started + 1 - ended);
        }
        peak as u64
    }
}

impl Simulation {
    /// Opens the flows that start before `bound`. Gives how far nodes may go now: they have to be
    /// brought up to a flow at whose start something is looked at.
    pub(super) fn open_flows(&mut self, bound: Bound) -> Result<Bound, RunError> {
        let first = self.flows.next_at().map(|at| at.0);
        let bound = bound.min(self.driver.horizon(first));
        while let Some(at) = self.flows.next_at()
            && at < bound
        {
            if at != self.reached && (!self.driver.runs_ahead() || self.is_special(at.1.id())) {
                return Ok(at);
            }
            self.open_flow()?;
        }
        Ok(bound.min(self.next_stop()))
    }

    /// Whether something is looked at when the flow of this number starts: whatever drives the nodes,
    /// they are brought to that very point.
    fn is_special(&self, number: u32) -> bool {
        number < LOOK_EVERY || number.is_multiple_of(LOOK_EVERY)
    }

    /// Gives the next flow its row and its places at both hosts, and sees that it starts when its time
    /// has come.
    fn open_flow(&mut self) -> Result<(), RunError> {
        let Some(flow) = self.flows.next.take() else { return Ok(()) };
        if self.flows.table.is_empty() {
            self.first_flow(flow.start);
        }
        if self.is_special(self.flows.table.len() as u32) {
            let packets = self.driver.counters().in_network();
            self.peak_packets = self.peak_packets.max(packets);
        }
        let ideal = self.flows.ideal.fct(flow.src, flow.dst, Bytes(flow.bytes));
        let number = self.flows.table.start(&flow, ideal);
        let tuple = FiveTuple::new(flow.src, flow.dst, self.source_port(number), SERVICE_PORT);
        let sender = self.place_flow(&flow, number, tuple)?;
        self.open_at_guests(number, sender, flow.bytes);
        self.watch_flow(number, sender, true);
        self.look_at_table(number, flow.src);
        let start = Event::new(flow.start, Key::new(Class::FlowStart, number), sender.item());
        self.driver.schedule(&self.layout, start);
        self.draw_flow()?;
        if self.flows.next.is_none() {
            let after = (flow.start, Key::new(Class::Retransmit, 0));
            self.agenda.add(after, Item::Exhausted);
        }
        Ok(())
    }

    /// Takes the next flow from the source.
    pub(super) fn draw_flow(&mut self) -> Result<(), RunError> {
        self.flows.next = self.flows.source.next()?;
        if let Some(flow) = &self.flows.next {
            self.check_flow(flow)?;
        }
        Ok(())
    }

    /// Source ports count upwards, so that concurrent flows of a pair of hosts differ.
    pub(super) fn source_port(&self, number: u32) -> u16 {
        const FIRST_PORT: u32 = 1024;
        const PORTS: u32 = u16::MAX as u32 + 1 - FIRST_PORT;
        let ports = self.net.tcp.source_ports.map_or(PORTS, u32::from);
        match FIRST_PORT + number % ports {
            // A kernel does not connect from the port that it listens at.
            port if self.is_linux && port == u32::from(SERVICE_PORT) => FIRST_PORT as u16 - 1,
            port => port as u16,
        }
    }

    /// Takes slots for a flow at both hosts, and at its source's switch.
    pub(super) fn place_flow(
        &mut self,
        flow: &Flow,
        number: u32,
        tuple: FiveTuple,
    ) -> Result<Address, WorkloadError> {
        let opening = Opening {
            number,
            tuple,
            bytes: flow.bytes,
            path: flow.path,
            ack_path: flow.ack_path,
            class: self.flows.classes[usize::from(flow.workload)],
        };
        let full = |host: HostId, does: &str| {
            let found = format!("more than 65,536 flows at once that host{} {does}", host.0);
            WorkloadError::at("flows", found, "at most 65,536 at a host, in either direction")
                .within(usize::from(flow.workload))
        };
        let (layout, driver) = (&self.layout, &mut self.driver);
        let source = driver.host_mut(layout, flow.src);
        let sending =
            source.open_sending(&self.net, &opening).map_err(|Full| full(flow.src, "sends"))?;
        let receiving = driver
            .host_mut(layout, flow.dst)
            .open_receiving(&self.net, &opening)
            .map_err(|Full| full(flow.dst, "receives"))?;
        let id = FlowId { sending, receiving };
        driver.host_mut(layout, flow.src).name_sending(id);
        driver.host_mut(layout, flow.dst).name_receiving(id);
        let place = self.net.places[usize::from(flow.src.0)];
        let tor = self.graph.tor_switch[usize::from(place.tor)];
        driver.switch_mut(tor).open_flow(place.port, sending);
        self.flows.opened += 1;
        self.flows.open += 1;
        Ok(Address::new(flow.src, sending))
    }

    /// Refuses a flow that the engine's numbers cannot count. One that starts after the spec's
    /// `until` is none of this run.
    fn check_flow(&self, flow: &Flow) -> Result<(), WorkloadError> {
        let refuse = |key, found: String, allowed: String| {
            Err(WorkloadError::at(key, found, allowed).within(usize::from(flow.workload)))
        };
        let (mss, start) = (u64::from(self.net.tcp.mss), flow.start);
        if flow.bytes.div_ceil(mss) > Sender::MOST_SEGMENTS {
            let most = Bytes(mss * Sender::MOST_SEGMENTS);
            let found = format!("a flow of {}", Bytes(flow.bytes));
            return refuse("sizes", found, format!("at most {most}, 2^31 segments of {mss}B"));
        }
        if start > Time::END && self.until.is_none_or(|until| start <= until) {
            let found = format!("a flow that starts at {start}");
            return refuse("start", found, format!("a start within {}", Time::END));
        }
        // Operations and programs' connections have the numbers above.
        let others = self.flows.operations.is_some() || self.has_programs();
        let most = if others { 26 } else { 28 };
        if self.flows.table.len() >= 1 << most {
            let found = format!("more than {} flows", self.flows.table.len());
            return refuse("flows", found, format!("at most 2^{most} flows in all"));
        }
        Ok(())
    }

    /// Takes what nodes have written down into the tables.
    ///
    /// # Errors
    /// If there is no place for a flow that is let go by others.
    pub(super) fn take_notes(&mut self) -> Result<(), RunError> {
        let mut notes = std::mem::take(&mut self.flows.notes);
        let mut fault = None;
        self.driver.each_record(&mut |record| {
            notes.finished.append(&mut record.finished);
            notes.done.append(&mut record.done);
            notes.ended.append(&mut record.ended);
            notes.seen.append(&mut record.seen);
            notes.tapped.append(&mut record.tapped);
            notes.operated.append(&mut record.operations);
            let earlier = record.fault.take().filter(|(time, place, _)| {
                fault
                    .as_ref()
                    .is_none_or(|(first, at, _): &(Time, _, _)| (time, place) < (first, at))
            });
            fault = earlier.or(fault.take());
        });
        if let Some((time, place, what)) = fault {
            self.fail(time, place, what);
        }
        if self.flows.operations.is_some() {
            self.follow_notes(&mut notes)?;
        }
        notes.finished.drain(..).for_each(|(flow, time)| self.flows.table.finish(flow, time));
        notes.ended.drain(..).for_each(|ended| self.note_end(ended));
        self.note_seen(&mut notes.seen);
        self.note_tapped(&mut notes.tapped);
        self.flows.closing.append(&mut notes.done);
        self.flows.notes = notes;
        self.note_samples();
        self.free_connections();
        if !self.flows.closing.is_empty() {
            self.close_flows();
        }
        Ok(())
    }

    /// Gives the notes of operations to where they belong.
    fn follow_notes(&mut self, notes: &mut Notes) -> Result<(), RunError> {
        let number = |sender: &Address| self.driver.sending(&self.layout, *sender).number;
        let done =
            notes.done.iter().map(number).filter(|number| *number >= FIRST_MESSAGE).collect();
        let done: Vec<u32> = done;
        let own = notes.finished.extract_if(.., |(number, _)| *number >= FIRST_MESSAGE);
        let finished: Vec<(u32, Time)> = own.collect();
        self.follow_operations(&mut notes.operated, &finished, &done)
    }

    /// A packet of a flow has ended on its way.
    fn note_end(&mut self, Ended { sender, time, .. }: Ended) {
        let host = self.driver.host_mut(&self.layout, sender.host());
        let flow = &mut host.sending[usize::from(sender.slot())];
        flow.ended += 1;
        flow.last = flow.last.max(time);
    }

    /// Ends the flows that are done and of which nothing is left in the network.
    fn close_flows(&mut self) {
        let mut closing = std::mem::take(&mut self.flows.closing);
        closing.retain(|sender| {
            let (sending, receiving) = self.both_sides(*sender);
            let (last, left) = (sending.last.max(receiving.last), in_flight(sending, receiving));
            if left == 0 {
                self.close_flow(*sender, last);
            }
            left > 0
        });
        self.flows.closing = closing;
    }

    /// A flow at its source, and at its destination.
    pub(super) fn both_sides(&self, sender: Address) -> (&Sending, &Receiving) {
        let source = self.driver.host(&self.layout, sender.host());
        let sending = &source.sending[usize::from(sender.slot())];
        let destination = self.driver.host(&self.layout, sending.tuple.dst());
        let receiving = &destination.receiving[usize::from(source.peer_slot(sender.slot()))];
        (sending, receiving)
    }

    fn close_flow(&mut self, sender: Address, now: Time) {
        let number = self.write_row(sender, now);
        self.close_at_guests(number, sender);
        let source = self.driver.host_mut(&self.layout, sender.host());
        let peer = source.peer_slot(sender.slot());
        let destination = source.sending[usize::from(sender.slot())].tuple.dst();
        source.close_sending(sender.slot());
        self.driver.host_mut(&self.layout, destination).close_receiving(peer);
        self.watch_flow(number, sender, false);
        self.flows.open -= 1;
        self.flows.ends.push(now);
    }

    /// Completes the row of a flow. Gives its number.
    fn write_row(&mut self, sender: Address, now: Time) -> u32 {
        let (host, slot) = (sender.host(), usize::from(sender.slot()));
        let place = self.net.places[usize::from(host.0)];
        let tor: SwitchId = self.graph.tor_switch[usize::from(place.tor)];
        let path_changes = self.driver.switch(tor).path_changes(place.port, sender.slot());
        let source = self.driver.host(&self.layout, host);
        let sending = &source.sending[slot];
        let (number, peer) = (sending.number, usize::from(source.peer_slot(sender.slot())));
        let destination = self.driver.host(&self.layout, sending.tuple.dst());
        let packets = destination.receiving[peer].packets;
        let stats = if let Driver::Linux(driver) = &self.driver {
            FlowStats { path_changes, packets, ..driver.flow(number).stats() }
        } else {
            let sent = source.senders[slot].report(&self.net, now);
            let received = &destination.receivers[peer];
            FlowStats {
                retransmits: sent.retransmits,
                timeouts: sent.timeouts,
                dup_acks: sent.dup_acks,
                spurious_retransmits: received.duplicates(),
                undos: sent.undos,
                tail_probes: sent.tail_probes,
                mean_window: sent.mean_window,
                reordered: received.reordered(),
                path_changes,
                packets,
            }
        };
        let (table, row) = self.flows.row_of_mut(number);
        table.close(row, stats);
        self.flows.reordered += u64::from(stats.reordered);
        number
    }

    /// The senders of all flows under way, in the order of hosts.
    pub(super) fn live_senders(&self) -> impl Iterator<Item = Address> {
        (0..self.graph.hosts()).flat_map(|host| {
            let id = HostId(host as u16);
            let flows = self.driver.host(&self.layout, id).sending.iter().enumerate();
            let live = flows.filter(|(_, flow)| {
                flow.live && (flow.number < FIRST_CONNECTION || !self.has_programs())
            });
            live.map(move |(slot, _)| Address::new(id, slot as u16))
        })
    }

    /// Writes what the flows still under way have to say.
    pub(super) fn close_all(&mut self) {
        let live: Vec<Address> = self.live_senders().collect();
        for sender in live {
            self.write_row(sender, self.now);
        }
    }

    /// A flow starts: now and then, how the flows of its source's switch share the entries of the flow
    /// table there.
    fn look_at_table(&mut self, number: u32, source: HostId) {
        if !number.is_multiple_of(LOOK_EVERY) {
            return;
        }
        let tor = self.net.places[usize::from(source.0)].tor;
        let switch = self.graph.tor_switch[usize::from(tor)];
        let (flows, sharing) = self.shared_at(switch);
        self.table_use.flows += flows;
        self.table_use.sharing += sharing;
    }
}

/// Packets of a flow in the network, when both sides have been brought to one time.
pub(crate) fn in_flight(sending: &Sending, receiving: &Receiving) -> u32 {
    let sent = sending.sent.wrapping_add(receiving.sent);
    sent.wrapping_sub(sending.got).wrapping_sub(receiving.got).wrapping_sub(sending.ended)
}
