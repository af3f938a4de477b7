//! Programs in guests, and the connections that they make: those are not announced, so that each direction of a
//! connection gets its places at both hosts when its first segment is there.

use super::{CalendarDriver, Guests, Layout, LinuxDriver, Watch, guests_time};
use crate::engine::FIRST_CONNECTION;
use crate::output::ProgramRow;
use crate::workload::Launch;
use leafspine_core::{FiveTuple, HostId, PacketMeta, PortId, Time};
use leafspine_linux::Fleet;
use leafspine_linux::frame::{ACK, FIN, RST, SYN, Segment};
use leafspine_node::{Address, FlowId, Full, Network, Opening};

/// What is kept of what a program writes to one of its two streams: 16 MiB.
const MOST_OUTPUT: usize = 16 << 20;
/// What edges are told of the bytes of a connection, which are unknown: more than a short flow has.
const UNKNOWN_BYTES: u64 = 1 << 30;

/// The programs of a run, and their connections.
#[derive(Default)]
pub(super) struct Programs {
    launches: Vec<Launch>,
    rows: Vec<ProgramRow>,
    /// Programs that the run waits for.
    awaited: usize,
    /// Connections' directions so far: their numbers are counted from [`FIRST_CONNECTION`].
    opened: u32,
    /// Those that are over, until nothing of them is left in the network.
    closing: Vec<Address>,
    /// Where each host hangs: the switch's node, and its port there.
    places: Vec<(u32, PortId)>,
    /// Bytes that programs have written, and packets that they have sent.
    done: u64,
}

impl Programs {
    pub(super) fn new(
        launches: Vec<Launch>,
        layout: &Layout,
        ports: &[(u16, impl Sized)],
    ) -> Programs {
        let row = |launch: &Launch| ProgramRow {
            workload: launch.workload,
            host: launch.host.0,
            command: launch.program.command.clone(),
            start: launch.start,
            end: None,
            status: None,
            stdout: Vec::new(),
            stderr: Vec::new(),
            cut: false,
        };
        let mut places = vec![(0, PortId(0)); layout.hosts.len()];
        for ((host, _), target) in ports.iter().zip(&layout.targets) {
            if let Some(place) = places.get_mut(usize::from(*host)) {
                *place = (target.node, target.into);
            }
        }
        Programs {
            rows: launches.iter().map(row).collect(),
            awaited: launches.iter().filter(|launch| !launch.background).count(),
            launches,
            places,
            ..Programs::default()
        }
    }

    /// Whether the run has any.
    pub(super) fn any(&self) -> bool {
        !self.launches.is_empty()
    }

    /// Whether the run has to wait for one.
    pub(super) fn awaits(&self) -> bool {
        self.awaited > 0
    }

    /// Whether their ends are one of the run.
    pub(super) fn end_the_run(&self) -> bool {
        self.launches.iter().any(|launch| !launch.background)
    }

    /// Tells all guests what they will run, and when.
    pub(super) fn tell(&self, fleet: &mut Fleet) {
        for (number, launch) in (0..).zip(&self.launches) {
            for order in launch.program.orders(number) {
                fleet.order(launch.host.0, guests_time(launch.start), &order);
            }
        }
    }

    /// A program has written something.
    pub(super) fn wrote(&mut self, number: u32, error: bool, text: &[u8]) {
        let Some(row) = self.rows.get_mut(number as usize) else { return };
        let stream = if error { &mut row.stderr } else { &mut row.stdout };
        let room = MOST_OUTPUT - stream.len();
        row.cut |= text.len() > room;
        stream.extend(&text[..text.len().min(room)]);
        self.done += text.len() as u64;
    }

    /// A program has ended.
    pub(super) fn ended(&mut self, number: u32, status: i32, now: Time) {
        let Some(row) = self.rows.get_mut(number as usize) else { return };
        (row.end, row.status) = (Some(now), Some(status));
        let awaited = !self.launches[number as usize].background;
        self.awaited -= usize::from(awaited);
    }
}

/// Whether a segment may be the first of its direction. What only acknowledges is one of the other's.
fn carries(segment: &Segment) -> bool {
    let opens = segment.flags & SYN != 0 && segment.flags & ACK == 0;
    segment.payload > 0 || opens || segment.flags & (FIN | RST) != 0
}

impl Guests {
    /// The number of the direction that a program's segment goes in or answers, and whether it answers; `None` for what
    /// leads to no host. A direction of which this is the first segment is opened.
    pub(super) fn connection_of(
        &mut self,
        nodes: &mut CalendarDriver,
        layout: &Layout,
        net: &Network,
        (tuple, segment): (FiveTuple, &Segment),
    ) -> Result<Option<(u32, bool)>, Full> {
        let [ten, zero, ..] = segment.destination;
        let hosts = layout.hosts.len();
        if ten != 10
            || zero != 0
            || usize::from(tuple.dst().0) >= hosts
            || tuple.src() == tuple.dst()
        {
            return Ok(None);
        }
        self.programs.done += 1;
        let number = |tuple: FiveTuple| self.numbers.get(&tuple).copied();
        let (own, other) = (number(tuple), number(tuple.reversed()));
        match (own, other) {
            (Some(number), _) if carries(segment) => return Ok(Some((number, false))),
            (_, Some(number)) if !carries(segment) => return Ok(Some((number, true))),
            (Some(number), _) => return Ok(Some((number, false))),
            _ => {}
        }
        let number = match self.open_connection(nodes, layout, net, tuple) {
            Err(Full) => {
                self.free_idle(nodes, layout);
                self.open_connection(nodes, layout, net, tuple)?
            }
            Ok(number) => number,
        };
        // What comes for a connection that is no more is the only segment of its kind.
        let alone = segment.payload == 0 && segment.flags & SYN == 0;
        if alone && other.is_none() && segment.flags != 0 {
            self.close_connection(number);
        }
        Ok(Some((number, false)))
    }

    fn open_connection(
        &mut self,
        nodes: &mut CalendarDriver,
        layout: &Layout,
        net: &Network,
        tuple: FiveTuple,
    ) -> Result<u32, Full> {
        let number = FIRST_CONNECTION + self.programs.opened % FIRST_CONNECTION;
        let path = PacketMeta::NO_PATH;
        let bytes = UNKNOWN_BYTES;
        let opening = Opening { number, tuple, bytes, path, ack_path: path, class: None };
        let place = |host: HostId| layout.hosts[usize::from(host.0)];
        let (from, to) = (place(tuple.src()), place(tuple.dst()));
        let mut host = |(node, place): (u32, u16),
                        what: &mut dyn FnMut(&mut leafspine_node::Host)| {
            what(&mut nodes.nodes[node as usize].hosts_mut()[usize::from(place)]);
        };
        let (mut sending, mut receiving) = (Err(Full), Err(Full));
        host(from, &mut |host| sending = host.open_sending(net, &opening));
        let slot = sending?;
        host(to, &mut |host| receiving = host.open_receiving(net, &opening));
        let Ok(receiving) = receiving else {
            host(from, &mut |host| host.close_sending(slot));
            return Err(Full);
        };
        let id = FlowId { sending: slot, receiving };
        host(from, &mut |host| host.name_sending(id));
        host(to, &mut |host| host.name_receiving(id));
        let (switch, port) = self.programs.places[usize::from(tuple.src().0)];
        if let Some(switch) = nodes.nodes[switch as usize].switch_mut() {
            switch.open_flow(port, slot);
        }
        self.flows.insert(number, Watch::new(Address::new(tuple.src(), slot), u64::MAX));
        self.numbers.insert(tuple, number);
        self.programs.opened += 1;
        Ok(number)
    }

    /// A direction's end has been sent: as soon as nothing of it is in the network its places are others'.
    pub(super) fn closes(&mut self, number: u32, segment: &Segment, reply: bool) {
        if number < FIRST_CONNECTION || !self.programs.any() {
            return;
        }
        let Some(watch) = self.flows.get_mut(&number) else { return };
        if !watch.ends_with(segment, reply) {
            return;
        }
        self.close_connection(number);
        // A reset ends both directions.
        let tuple = super::outside::tuple(segment);
        let other = if reply { tuple } else { tuple.reversed() };
        if segment.flags & RST != 0
            && let Some(other) = self.numbers.get(&other)
        {
            self.close_connection(*other);
        }
    }

    /// A host has no place left: of all connections of which nothing is in the network the places
    /// are freed. One that goes on gets another with its next segment. Nobody says when two have
    /// exchanged their last datagram, or when no answer comes any more.
    fn free_idle(&mut self, nodes: &mut CalendarDriver, layout: &Layout) {
        let of_programs = self.flows.iter().filter(|(number, _)| **number >= FIRST_CONNECTION);
        let mut senders: Vec<Address> = of_programs.map(|(_, watch)| watch.sender).collect();
        senders.retain(|sender| self.free_connection(nodes, *sender, layout));
        self.programs.closing.retain(|sender| !senders.contains(sender));
    }

    /// Gives whether it is free.
    fn free_connection(
        &mut self,
        nodes: &mut CalendarDriver,
        sender: Address,
        layout: &Layout,
    ) -> bool {
        let at = usize::from(sender.slot());
        let (node, place) = layout.hosts[usize::from(sender.host().0)];
        let source = &mut nodes.nodes[node as usize].hosts_mut()[usize::from(place)];
        let (sending, peer) = (source.sending[at], source.peer_slot(sender.slot()));
        let (to, to_place) = layout.hosts[usize::from(sending.tuple.dst().0)];
        let destination = &nodes.nodes[to as usize].hosts()[usize::from(to_place)];
        let receiving = &destination.receiving[usize::from(peer)];
        if crate::engine::in_flight(&sending, receiving) > 0 {
            return false;
        }
        let host = |node: u32| node as usize;
        nodes.nodes[host(node)].hosts_mut()[usize::from(place)].close_sending(sender.slot());
        nodes.nodes[host(to)].hosts_mut()[usize::from(to_place)].close_receiving(peer);
        self.flows.remove(&sending.number);
        self.numbers.remove(&sending.tuple);
        true
    }

    fn close_connection(&mut self, number: u32) {
        if let Some(watch) = self.flows.get_mut(&number)
            && !std::mem::replace(&mut watch.closing, true)
        {
            self.programs.closing.push(watch.sender);
        }
    }
}

impl LinuxDriver {
    /// Whether some of the hosts run programs.
    pub(crate) fn has_programs(&self) -> bool {
        self.guests.programs.any()
    }

    /// Whether the run has to wait for a program.
    pub(crate) fn awaits_programs(&self) -> bool {
        self.guests.programs.awaits()
    }

    /// When the first program starts.
    pub(crate) fn first_program(&self) -> Option<Time> {
        self.guests.programs.launches.iter().map(|launch| launch.start).min()
    }

    /// What programs have done so far, in a number that grows.
    pub(crate) fn programs_done(&self) -> u64 {
        self.guests.programs.done
    }

    /// The programs that the run waits for, in words.
    pub(crate) fn awaited_programs(&self) -> Vec<String> {
        let Guests { programs, .. } = &self.guests;
        let all = programs.launches.iter().zip(&programs.rows);
        all.filter(|(launch, row)| !launch.background && row.end.is_none())
            .map(|(_, row)| format!("{} on host{}", row.command.join(" "), row.host))
            .collect()
    }

    /// What programs leave behind.
    pub(crate) fn take_programs(&mut self) -> Vec<ProgramRow> {
        std::mem::take(&mut self.guests.programs.rows)
    }

    /// Frees the places of connections that are over and of which nothing is left in the network. To be called when the
    /// ends of packets have been noted.
    pub(crate) fn free_connections(&mut self, layout: &Layout) {
        if self.guests.programs.closing.is_empty() {
            return;
        }
        let mut closing = std::mem::take(&mut self.guests.programs.closing);
        let LinuxDriver { nodes, guests, .. } = self;
        closing.retain(|sender| !guests.free_connection(nodes, *sender, layout));
        self.guests.programs.closing = closing;
    }
}
