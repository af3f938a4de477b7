//! The check that can be switched on in any run: what has been counted is what is there.
//!
//! An audit walks over all packets: there are as many as the counters say, in packets and in bytes;
//! ports' backlogs and shared buffers are what really waits; flows have as many packets under way
//! as they think; who is paused is who has been told to stop. It looks and changes nothing, so a
//! checked run is the same run.

use super::Simulation;
use super::fault::FaultKind;
use super::flow_control::miscounted;
use super::flows::in_flight;
use crate::drive::Driver;
use crate::flow_table::UNFINISHED;
use leafspine_core::{Flags, HostId, PacketMeta, SwitchId};
use leafspine_fabric::Owner;
use leafspine_node::pfc::Frame;
use leafspine_node::{Address, Egress, Port, Store};
use std::collections::HashMap;

/// Where a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spot {
    /// On the link of a port, or (one-event ports) before it.
    Link(u32),
    /// In a queue of a port.
    Queue(u32),
    /// Held back by a switch, at one of its ports.
    Hold(u32),
    /// Kept by a switch's balancer; the switch's first port.
    Kept(u32),
    /// Held back by the edge of the host that it is for.
    Reassembly(HostId),
    /// Between a host and its port.
    Jitter(HostId),
}

/// What an audit needs to remember, kept from one to the next so that it allocates but once.
#[derive(Default)]
pub(super) struct Audit {
    /// Per port: packets found on its link.
    links: Vec<u32>,
    /// Per port: pause frames among them.
    frames: Vec<u32>,
    /// Per port: its paused priorities.
    paused: Vec<u8>,
    /// Per flow: packets found.
    flows: HashMap<Address, u32>,
    /// Packets found that carry telemetry.
    telemetry: usize,
}

/// Where and what.
pub(super) type Wrong = (String, String);

/// The fewest events between two audits.
const EVERY: u64 = 256;

fn wrong<T>(place: impl Into<String>, what: impl Into<String>) -> Result<T, Wrong> {
    Err((place.into(), what.into()))
}

impl Simulation {
    /// The same run with its invariants checked, every few hundred events (under windows every 16 of
    /// them; more if there is much to look at, so that a checked run takes about a tenth longer) and at
    /// the end: packets, bytes,
    /// queues, buffers. The results are the same; what does not add up ends the run with
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
        if let Err((place, what)) = self.invariants(&mut audit) {
            self.fail_at(self.now, place, FaultKind::Count(what));
        }
        self.audit = Some(audit);
        let things = self.graph.ports.len() + self.flows.open as usize;
        Some((things as u64 + self.driver.counters().in_network()).max(EVERY))
    }

    /// Looks at everything for the last time.
    pub(super) fn last_audit(&mut self) {
        if self.audit().is_some()
            && let Err((place, what)) = self.flows_have_ended_well()
        {
            self.fail_at(self.now, place, FaultKind::Count(what));
        }
    }

    fn invariants(&mut self, audit: &mut Audit) -> Result<(), Wrong> {
        let found = self.find_all(audit);
        self.counters_add_up(found)?;
        self.flows_add_up(&audit.flows)?;
        self.telemetry_adds_up(audit.telemetry)?;
        for at in 0..self.graph.ports.len() as u32 {
            self.port_adds_up(at, audit.links[at as usize])?;
        }
        self.buffers_add_up()?;
        self.pauses_add_up(&audit.frames, &mut audit.paused)
    }

    /// Finds every packet. Returns how many there are, and the bytes of payload in them.
    fn find_all(&self, audit: &mut Audit) -> (u64, u64) {
        let Audit { links, frames, flows, telemetry, .. } = audit;
        for counts in [&mut *links, &mut *frames] {
            counts.clear();
            counts.resize(self.graph.ports.len(), 0);
        }
        flows.clear();
        *telemetry = 0;
        let (mut packets, mut payload) = (0, 0);
        self.each_packet(&mut |packet, spot| {
            packets += 1;
            payload += u64::from(packet.payload);
            *telemetry += usize::from(packet.notes & PacketMeta::TELEMETRY != 0);
            if let Spot::Link(port) = spot {
                links[port as usize] += 1;
                frames[port as usize] += u32::from(Frame::of(packet).is_some());
            }
            if !packet.flags.has(Flags::PROBE) {
                *flows.entry(Address::of_sender(packet)).or_default() += 1;
            }
        });
        (packets, payload)
    }

    /// What packets carry beside their headers is there as long as they are.
    fn telemetry_adds_up(&mut self, found: usize) -> Result<(), Wrong> {
        let mut kept = 0;
        self.driver.each_record(&mut |record| kept += record.telemetry.in_use());
        if kept == found {
            return Ok(());
        }
        wrong("", format!("{kept} lists of telemetry are kept, for {found} packets"))
    }

    /// Calls `visit` with every port and its global number.
    pub(super) fn each_port(&self, visit: &mut dyn FnMut(u32, &Port)) {
        self.each_egress(&mut |egress| {
            (egress.first..).zip(&egress.ports).for_each(|(at, port)| visit(at, port));
        });
    }

    pub(super) fn each_egress(&self, visit: &mut dyn FnMut(&Egress)) {
        for node in 0..self.layout.nodes {
            self.driver.node(node).egresses().for_each(&mut *visit);
        }
    }

    /// Calls `visit` with every packet in the network and where it is.
    pub(super) fn each_packet(&self, visit: &mut dyn FnMut(&PacketMeta, Spot)) {
        self.driver.each_on_link(&mut |port, packet| visit(packet, Spot::Link(port)));
        self.each_port(&mut |at, port| {
            if let Store::General(general) = &port.store {
                general.waiting().for_each(|queued| visit(&queued.packet, Spot::Queue(at)));
            }
        });
        self.each_egress(&mut |egress| {
            for (port, held) in
                egress.hold().into_iter().flat_map(|hold| (egress.first..).zip(&hold.held))
            {
                held.iter().for_each(|packet| visit(packet, Spot::Hold(port)));
            }
            let kept = egress.kept().into_iter().flat_map(|kept| kept.packets());
            kept.for_each(|packet| visit(packet, Spot::Kept(egress.first)));
        });
        for host in 0..self.graph.hosts() {
            let host = self.driver.host(&self.layout, HostId(host as u16));
            if let Some(edge) = &host.edge {
                edge.held().for_each(|(_, packet)| visit(packet, Spot::Reassembly(host.id)));
            }
            if let Some(jitter) = &host.jitter {
                jitter.packets().for_each(|packet| visit(packet, Spot::Jitter(host.id)));
            }
        }
    }

    /// Packets in the network, and the bytes of payload in them.
    pub(super) fn in_network(&self) -> (u64, u64) {
        let (mut packets, mut payload) = (0, 0);
        self.each_packet(&mut |packet, _| {
            packets += 1;
            payload += u64::from(packet.payload);
        });
        (packets, payload)
    }

    fn counters_add_up(&self, (packets, payload): (u64, u64)) -> Result<(), Wrong> {
        let mut counters = self.counters();
        counters.in_flight = packets;
        counters.payload.in_flight = payload;
        if counters.conserved() {
            return Ok(());
        }
        let (c, p) = (&counters, &counters.payload);
        if !p.conserved() {
            return wrong(
                "",
                format!(
                    "of {} bytes of payload sent, {} were delivered, {} dropped, {} lost, {} consumed, {} cut off and {} are in the network",
                    p.sent, p.delivered, p.dropped, p.lost, p.consumed, p.trimmed, p.in_flight
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
    fn flows_add_up(&self, found: &HashMap<Address, u32>) -> Result<(), Wrong> {
        for sender in self.live_senders() {
            let (sending, receiving) = self.both_sides(sender);
            let name = || format!("flow {}", sending.number);
            let (counts, are) = (in_flight(sending, receiving), found.get(&sender).copied());
            if counts != are.unwrap_or(0) {
                let are = are.unwrap_or(0);
                let what = format!("it counts {counts} packets in the network, but {are} are");
                return wrong(name(), what);
            }
            if let Some(what) = self.wrong_credit(sender) {
                return wrong(name(), what);
            }
            let (table, row) = self.flows.row_of(sending.number);
            let (size, has) = (table.bytes[row], self.delivered(sender));
            let ended = table.fct_ps[row] != UNFINISHED;
            // A kernel has the last byte a moment before its application.
            let all_is_there =
                if self.is_linux { ended <= (has == size) } else { ended == (has == size) };
            if has > size || !all_is_there {
                let said = if ended { "has ended" } else { "has not ended" };
                return wrong(
                    name(),
                    format!("it {said} and its receiver has {has} of {size} bytes"),
                );
            }
        }
        Ok(())
    }

    /// What is wrong with a flow's credit, if anything is: it has sent no more than it may, and has
    /// been asked for no more than its receiver knows of.
    fn wrong_credit(&self, sender: Address) -> Option<String> {
        self.net.protocol.spec().roce().and_then(|roce| roce.credits)?;
        let source = self.driver.host(&self.layout, sender.host());
        let (credit, sent) = source.credit(sender.slot())?;
        let to = source.sending[usize::from(sender.slot())].tuple.dst();
        let destination = self.driver.host(&self.layout, to);
        let granted = destination.granted(source.peer_slot(sender.slot()))?;
        let over = credit.unasked.wrapping_add(credit.granted).wrapping_sub(sent) as i32;
        let ahead = granted.wrapping_sub(credit.granted) as i32;
        (over < 0 || ahead < 0).then(|| {
            format!("its queue pair has sent {sent} packets with {credit:?}, and was asked for {granted}")
        })
    }

    /// Bytes that the application at a flow's destination has.
    pub(super) fn delivered(&self, sender: Address) -> u64 {
        let source = self.driver.host(&self.layout, sender.host());
        if let Driver::Linux(driver) = &self.driver {
            return driver.flow(source.sending[usize::from(sender.slot())].number).delivered();
        }
        let to = source.sending[usize::from(sender.slot())].tuple.dst();
        let destination = self.driver.host(&self.layout, to);
        destination.receivers[usize::from(source.peer_slot(sender.slot()))].delivered()
    }

    fn port_adds_up(&mut self, at: u32, on_link: u32) -> Result<(), Wrong> {
        let now = self.now;
        let trims = self
            .net
            .trim
            .filter(|_| matches!(self.graph.ports[at as usize].owner, Owner::Switch(_)));
        let net = self.net.clone();
        let port = self.driver.port_mut(&self.layout, at);
        let waiting = port.backlog(now).packets;
        let headers = trims.map(|trim| (net.header_queue(port), trim.buffer.0));
        let said = port.wrong(now, headers).or_else(|| {
            (matches!(port.store, Store::Fifo(_)) && waiting > on_link)
                .then(|| format!("{waiting} packets wait, but {on_link} will arrive"))
        });
        match said {
            Some(what) => wrong(self.graph.port_name(at), what),
            None => Ok(()),
        }
    }

    /// What a switch's shared buffer counts is what waits at its ports.
    fn buffers_add_up(&mut self) -> Result<(), Wrong> {
        let now = self.now;
        for id in 0..self.graph.switches.len() as u16 {
            let egress = &mut self.driver.switch_mut(SwitchId(id)).egress;
            let Some(shared) = egress.shared else { continue };
            if egress.pfc().is_some() {
                if let Some(what) = miscounted(egress) {
                    return wrong(self.graph.switches[usize::from(id)].name.clone(), what);
                }
                continue;
            }
            let sharing = egress.ports.iter_mut().filter(|p| p.limit.is_shared());
            let waits: u64 = sharing.map(|port| u64::from(port.backlog(now).bytes)).sum();
            if waits != shared.used || waits > shared.size {
                let what = format!(
                    "its shared buffer of {} bytes counts {} in use, but {waits} wait at its ports",
                    shared.size, shared.used
                );
                return wrong(self.graph.switches[usize::from(id)].name.clone(), what);
            }
        }
        Ok(())
    }

    /// The bytes that applications have are those of the flows, each once.
    fn flows_have_ended_well(&self) -> Result<(), Wrong> {
        let messages = self.flows.operations.iter().flat_map(|more| &more.table.bytes);
        let mut expected: u64 = self.flows.table.bytes.iter().chain(messages).sum();
        for sender in self.live_senders() {
            let number = self.driver.sending(&self.layout, sender).number;
            let (table, row) = self.flows.row_of(number);
            expected -= table.bytes[row] - self.delivered(sender);
        }
        let counted = self.driver.counters().bytes_delivered;
        // What programs send each other is nowhere counted but there.
        if counted == expected || (counted > expected && self.has_programs()) {
            return Ok(());
        }
        wrong("", format!("applications have {counted} bytes, their flows {expected}"))
    }

    /// A place in words.
    pub(super) fn spot_name(&self, spot: Spot) -> String {
        match spot {
            Spot::Link(port) | Spot::Queue(port) => self.graph.port_name(port),
            Spot::Hold(port) => format!("{} (held back)", self.graph.port_name(port)),
            Spot::Kept(port) => {
                format!("{}'s switch (kept to be in order)", self.graph.port_name(port))
            }
            Spot::Reassembly(host) => format!("host{} (before its transport)", host.0),
            Spot::Jitter(host) => format!("host{} (before its port)", host.0),
        }
    }
}
