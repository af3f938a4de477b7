//! The check that can be switched on in any run: what has been counted is what is there.
//!
//! An audit walks over all packets and asks where each is: exactly one place, and as many as the
//! counters say, in packets and in bytes; ports' backlogs and shared buffers are what really
//! waits; flows have as many packets under way as they think. It looks and changes nothing, so a
//! checked run is the same run.

use super::Simulation;
use super::fault::FaultKind;
use crate::calendar::Class;
use crate::pool::Handle;
use crate::port::{Limit, Port, Store};
use leafspine_core::{Flags, PortId};

/// Where a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spot {
    /// On the wire of a port, or (one-event ports) before it.
    Wire(u32),
    /// In a queue of a port.
    Queue(u32),
    /// Held back by a switch, at one of its ports.
    Hold(u32, PortId),
    /// Held back by the edge of the host that it is for; the flow's slot.
    Reassembly(u32),
    /// Between a host and its port.
    Jitter(u32),
    /// Nowhere: its place in the pool is free.
    Unused,
}

/// What an audit needs to remember, kept from one to the next so that it allocates but once.
#[derive(Default)]
pub(super) struct Audit {
    /// Per place in the pool: where its packet was found.
    found: Vec<Option<Spot>>,
    /// Per port: packets found on its wire.
    wires: Vec<u32>,
    /// Per slot: packets of its flow found.
    flows: Vec<u32>,
}

/// Where and what.
type Wrong = (String, String);

/// The fewest events between two audits.
const EVERY: u64 = 256;

fn wrong<T>(place: impl Into<String>, what: impl Into<String>) -> Result<T, Wrong> {
    Err((place.into(), what.into()))
}

impl Simulation {
    /// The same run with its books checked, every few hundred events (more if there is much to look
    /// at, so that a checked run takes about a tenth longer) and at the end: packets, bytes, queues,
    /// buffers. The results are the same; what does not add up ends the run with
    /// [`RunError::Fault`](super::RunError::Fault).
    #[must_use]
    pub fn checked(mut self) -> Simulation {
        self.audit = Some(Box::default());
        self
    }

    /// Looks at everything, if the run is checked. Gives the number of events after which to look
    /// again.
    pub(super) fn audit(&mut self) -> Option<u64> {
        let mut audit = self.audit.take()?;
        if let Err((place, what)) = self.books(&mut audit) {
            self.fail(place, FaultKind::Count(what));
        }
        self.audit = Some(audit);
        let things = self.ports.len() + self.pool.high_water() + self.endpoints.places.len();
        Some(((things + self.calendar.extent()) as u64).max(EVERY))
    }

    /// Looks at everything for the last time.
    pub(super) fn last_audit(&mut self) {
        if self.audit().is_some()
            && let Err((place, what)) = self.flows_have_ended_well()
        {
            self.fail(place, FaultKind::Count(what));
        }
    }

    fn books(&mut self, audit: &mut Audit) -> Result<(), Wrong> {
        let payload = self.find_all(audit)?;
        self.counters_add_up(payload)?;
        self.flows_add_up(&audit.flows)?;
        for at in 0..self.ports.len() as u32 {
            self.port_adds_up(at, audit.wires[at as usize])?;
        }
        self.buffers_add_up()
    }

    /// Finds every packet once. Returns the bytes of payload in them.
    fn find_all(&self, audit: &mut Audit) -> Result<u64, Wrong> {
        let Audit { found, wires, flows } = audit;
        found.clear();
        found.resize(self.pool.high_water(), None);
        wires.clear();
        wires.resize(self.ports.len(), 0);
        flows.clear();
        flows.resize(self.endpoints.places.len(), 0);
        let (mut payload, mut twice) = (0, None);
        self.each_packet(&mut |handle, spot| {
            let Some(place) = found.get_mut(handle as usize) else {
                twice = twice.or(Some((handle, spot, None)));
                return;
            };
            if let Some(other) = place.replace(spot) {
                twice = twice.or(Some((handle, spot, Some(other))));
            }
            if let Spot::Wire(port) = spot {
                wires[port as usize] += 1;
            }
            let packet = &self.pool[handle];
            if spot != Spot::Unused {
                payload += u64::from(packet.payload);
                if !packet.flags.has(Flags::PROBE)
                    && let Some(count) = flows.get_mut(packet.flow as usize)
                {
                    *count += 1;
                }
            }
        });
        if let Some((handle, spot, other)) = twice {
            let other = other.map_or("beyond the pool".to_owned(), |other| self.spot_name(other));
            let what = format!(
                "a packet is in two places, the other {other}: {}",
                self.packet_text(handle)
            );
            return wrong(self.spot_name(spot), what);
        }
        if let Some(handle) = found.iter().position(Option::is_none) {
            let text = self.packet_text(handle as Handle);
            return wrong(
                "",
                format!("a packet is nowhere, neither in a queue nor on a wire nor held: {text}"),
            );
        }
        match self.calendar.events().find(|event| event.time < self.now) {
            Some(late) => wrong("", format!("an event of {} is still to come", late.time)),
            None => Ok(payload),
        }
    }

    /// Calls `visit` with every place in the pool and where its packet is.
    pub(super) fn each_packet(&self, visit: &mut dyn FnMut(Handle, Spot)) {
        self.pool.unused().iter().for_each(|handle| visit(*handle, Spot::Unused));
        for event in self.calendar.events() {
            if event.key().is(Class::Arrival) {
                visit(event.item(), Spot::Wire(event.key().id()));
            }
        }
        for (at, port) in self.ports.iter().enumerate() {
            if let Store::General(general) = &port.store {
                general.waiting().for_each(|queued| visit(queued.handle(), Spot::Queue(at as u32)));
            }
        }
        for (switch, state) in self.switches.iter().enumerate() {
            for (port, held) in state.hold.iter().flat_map(|hold| hold.held.iter().enumerate()) {
                let spot = Spot::Hold(switch as u32, PortId(port as u16));
                held.iter().for_each(|(handle, _)| visit(*handle, spot));
            }
        }
        for (slot, flow) in self.endpoints.edge_flows.iter().enumerate() {
            flow.held.iter().for_each(|(handle, _)| visit(*handle, Spot::Reassembly(slot as u32)));
        }
        if let Some(jitter) = &self.jitter {
            jitter.each_packet(|host, handle| visit(handle, Spot::Jitter(host)));
        }
    }

    /// Bytes of payload in the packets that are in the network.
    pub(super) fn payload_in_flight(&self) -> u64 {
        let mut sum = 0;
        self.each_packet(&mut |handle, spot| {
            sum += if spot == Spot::Unused { 0 } else { u64::from(self.pool[handle].payload) };
        });
        sum
    }

    fn counters_add_up(&self, payload: u64) -> Result<(), Wrong> {
        let mut counters = self.counters;
        counters.in_flight = self.pool.in_use() as u64;
        counters.payload.in_flight = payload;
        if counters.conserved() {
            return Ok(());
        }
        let (c, p) = (&counters, &counters.payload);
        if !p.conserved() {
            return wrong(
                "",
                format!(
                    "of {} bytes of payload sent, {} were delivered, {} dropped, {} lost, {} consumed and {} are in the network",
                    p.sent, p.delivered, p.dropped, p.lost, p.consumed, p.in_flight
                ),
            );
        }
        wrong(
            "",
            format!(
                "of {} packets sent and {} injected, {} were delivered, {} dropped, {} lost, {} consumed and {} are in the network",
                c.sent,
                c.injected,
                c.delivered,
                c.dropped.iter().sum::<u64>(),
                c.lost,
                c.consumed,
                c.in_flight
            ),
        )
    }

    /// Flows have as many packets under way as they think, and no more bytes than they were to have.
    fn flows_add_up(&self, found: &[u32]) -> Result<(), Wrong> {
        for (slot, place) in self.endpoints.places.iter().enumerate() {
            let name = || format!("flow {}", place.number);
            if place.in_flight != found[slot] {
                let what = format!(
                    "it counts {} packets in the network, but {} are",
                    place.in_flight, found[slot]
                );
                return wrong(name(), what);
            }
            if !place.live {
                continue;
            }
            let (row, receiver) = (place.number as usize, &self.endpoints.receivers[slot]);
            let (size, has) = (self.table.bytes[row], receiver.delivered());
            let ended = self.table.fct_ps[row] != crate::measure::UNFINISHED;
            if has > size || (has == size) != ended {
                let said = if ended { "has ended" } else { "has not ended" };
                return wrong(
                    name(),
                    format!("it {said} and its receiver has {has} of {size} bytes"),
                );
            }
        }
        Ok(())
    }

    fn port_adds_up(&mut self, at: u32, on_wire: u32) -> Result<(), Wrong> {
        let now = self.now;
        let port = &mut self.ports[at as usize];
        let waiting = port.backlog(now).packets;
        let said = port.wrong(now).or_else(|| match &port.wire {
            Some(wire) if wire.packets.len() as u32 != on_wire => Some(format!(
                "{} packets are listed on its wire, but {on_wire} will arrive",
                wire.packets.len()
            )),
            _ if matches!(port.store, Store::Fifo(_)) && waiting > on_wire => {
                Some(format!("{waiting} packets wait, but {on_wire} will arrive"))
            }
            _ => None,
        });
        match said {
            Some(what) => wrong(self.graph.port_name(at), what),
            None => Ok(()),
        }
    }

    /// What a switch's shared buffer counts is what waits at its ports.
    fn buffers_add_up(&mut self) -> Result<(), Wrong> {
        let now = self.now;
        for (id, state) in self.switches.iter().enumerate() {
            let Some(shared) = &state.shared else { continue };
            let first = state.first_port as usize;
            let ports = &mut self.ports[first..first + state.ports as usize];
            let sharing = ports.iter_mut().filter(|port| matches!(port.limit, Limit::Shared));
            let waits: u64 =
                sharing.map(|port: &mut Port| u64::from(port.backlog(now).bytes)).sum();
            if waits != shared.used || waits > shared.size {
                let what = format!(
                    "its shared buffer of {} bytes counts {} in use, but {waits} wait at its ports",
                    shared.size, shared.used
                );
                return wrong(self.graph.switches[id].name.clone(), what);
            }
        }
        Ok(())
    }

    /// The bytes that applications have are those of the flows, each once.
    fn flows_have_ended_well(&self) -> Result<(), Wrong> {
        let mut expected: u64 = self.table.bytes.iter().sum();
        for (place, receiver) in self.endpoints.places.iter().zip(&self.endpoints.receivers) {
            if place.live {
                expected -= self.table.bytes[place.number as usize] - receiver.delivered();
            }
        }
        let counted = self.counters.bytes_delivered;
        if counted == expected {
            return Ok(());
        }
        wrong("", format!("applications have {counted} bytes, their flows {expected}"))
    }

    /// A place in words.
    pub(super) fn spot_name(&self, spot: Spot) -> String {
        match spot {
            Spot::Wire(port) | Spot::Queue(port) => self.graph.port_name(port),
            Spot::Hold(switch, port) => {
                let state = &self.switches[switch as usize];
                let port = self.graph.port_name(state.first_port + u32::from(port.0));
                format!("{port} (held back)")
            }
            Spot::Reassembly(slot) => {
                let host = self.endpoints.places[slot as usize].tuple.dst();
                format!("host{} (before its transport)", host.0)
            }
            Spot::Jitter(host) => format!("host{host} (before its port)"),
            Spot::Unused => "the places that are free".to_owned(),
        }
    }

    fn packet_text(&self, handle: Handle) -> String {
        if handle as usize >= self.pool.high_water() {
            return format!("number {handle}");
        }
        let packet = &self.pool[handle];
        let (from, to) = (packet.src().0, packet.dst().0);
        let ends = format!("host{from} to host{to}, {} bytes", packet.size);
        if packet.flags.has(Flags::PROBE) {
            return format!("a scheme's own, {ends}");
        }
        format!("flow {}, segment {}, {ends}", self.endpoints.number(packet.flow), packet.seq)
    }
}
