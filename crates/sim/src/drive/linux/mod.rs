//! Hosts that are kernels: switches and hosts' ports are nodes in a calendar, and what is behind a
//! host's port is a guest ([`leafspine_linux`]) on the same clock.
//!
//! Guests count nanoseconds from [`BOOTED`] on. A frame arrives at the first nanosecond that is not
//! before its packet does; what a guest does at a nanosecond it does at that picosecond. At one instant
//! all events of nodes come first, then guests by number, so that a guest is woken once for all that
//! reaches it then.

mod frames;
mod hand_over;
mod outside;
mod programs;
mod watch;

use super::calendar::CalendarDriver;
use super::{Bound, Came, Ending, Layout, Task};
use crate::engine::{FIRST_CONNECTION, MEMORY_OF_A_PROGRAM};
use crate::workload::Launch;
use frames::Frames;
use leafspine_core::{FiveTuple, Flags, PacketMeta, Span, Time};
use leafspine_linux::fleet::BOOTED;
use leafspine_linux::orders::{Order, TcpInfo};
use leafspine_linux::{Fleet, Installed, LinuxError, Setup, installed};
use leafspine_node::{Address, Class, Event, Key, Network, Node, Record, World};
use programs::Programs;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
pub(crate) use watch::Watch;

/// No host's port.
const NO_HOST: u16 = u16::MAX;

/// Nodes, and the guests behind them.
pub(crate) struct LinuxDriver {
    pub(crate) nodes: CalendarDriver,
    about: About,
    /// From the start of the run on.
    fleet: Option<Fleet>,
    guests: Guests,
}

/// What the guests are to be.
pub(crate) struct About {
    /// Version and hash of their kernel.
    pub(crate) kernel: String,
    /// How many.
    pub(crate) guests: u16,
    /// Of their entropy.
    pub(crate) seed: u64,
    /// Payload of a full segment.
    pub(crate) mss: u32,
    /// The largest IP packet.
    pub(crate) mtu: u32,
    /// The kernel's name of their congestion control.
    pub(crate) congestion: String,
    /// Files under `/proc/sys` and what is written to them.
    pub(crate) sysctl: Vec<(String, String)>,
    /// At least so far apart are interrupts for what arrives at one of them.
    pub(crate) interrupt_gap: Span,
    /// What they run besides sending flows.
    pub(crate) programs: Vec<Launch>,
}

/// Bytes that a guest has touched that has sent and received: less than this, since what its
/// sockets hold hangs on the run.
const TOUCHED_BY_A_GUEST: u64 = 16 << 20;
/// In MiB. Pages that a guest never touches are none of this machine's.
const MEMORY_OF_A_GUEST: u32 = 64;
/// The same where guests run programs, whose files are in their memory, too.
const WITH_PROGRAMS: u32 = 512;

impl About {
    /// With the kernel that is there, if it is the one that is wanted.
    fn setup(&self) -> Result<Setup, LinuxError> {
        let Installed { kernel, files, identity } = installed()?;
        if identity != self.kernel {
            return Err(LinuxError::Other { wanted: self.kernel.clone(), found: identity });
        }
        Ok(Setup {
            kernel,
            files,
            guests: self.guests,
            seed: self.seed,
            mtu: self.mtu,
            congestion: Some(self.congestion.clone()),
            sysctl: self.sysctl.clone(),
            touched: u64::from(self.guests) * TOUCHED_BY_A_GUEST
                + self.programs.len() as u64 * MEMORY_OF_A_PROGRAM,
            memory_mib: if self.programs.is_empty() { MEMORY_OF_A_GUEST } else { WITH_PROGRAMS },
            interrupt_gap: self.interrupt_gap.0.div_ceil(1000),
        })
    }
}

/// What is known of the guests' doings.
struct Guests {
    frames: Frames,
    flows: HashMap<u32, Watch>,
    /// The flow of a five-tuple, in the direction of its data.
    numbers: HashMap<FiveTuple, u32>,
    /// Per port: the host that has it, and the delay of its link.
    ports: Vec<(u16, Span)>,
    /// Frames that have left their hosts, or never will: host, when, token.
    left: Vec<(u16, u64, u16)>,
    /// How many of the record's ended packets have been seen to.
    ended: usize,
    /// The bytes of the packets that captured ports have sent, in the order of the record's.
    tapped: Vec<Arc<[u8]>>,
    /// Reports of flows that are on their way: for which probe, and when they were requested.
    requested: HashMap<u32, VecDeque<(u32, Time)>>,
    /// Senders of flows that are over at both ends.
    over: Vec<Address>,
    samples: Vec<Sample>,
    programs: Programs,
    mss: u32,
    error: Option<LinuxError>,
    /// The run is over: what guests send now is none of it.
    is_over: bool,
}

/// What a kernel says of a flow.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// Of which probe.
    pub(crate) probe: u32,
    /// When.
    pub(crate) time: Time,
    /// The flow.
    pub(crate) flow: u32,
    /// The answer.
    pub(crate) info: TcpInfo,
}

/// What is to be done next.
enum Next {
    Nothing,
    Event(Event),
    /// When, and whose turn.
    Guest((u64, u16)),
}

/// No probe: it is for the flow's row.
const FOR_ITS_ROW: u32 = u32::MAX;

/// Nanoseconds on the guests' clock, the first not before `time`.
fn guests_time(time: Time) -> u64 {
    BOOTED + time.0.div_ceil(1000)
}

/// The same on the run's clock.
fn runs_time(nanos: u64) -> Time {
    Time(nanos.saturating_sub(BOOTED).saturating_mul(1000))
}

impl LinuxDriver {
    pub(crate) fn new(
        nodes: CalendarDriver,
        layout: &Layout,
        about: About,
        delays: impl Iterator<Item = Span>,
    ) -> LinuxDriver {
        let hosts: HashMap<u32, u16> =
            layout.hosts.iter().zip(0..).map(|((node, _), host)| (*node, host)).collect();
        let host = |node: &u32| hosts.get(node).copied().unwrap_or(NO_HOST);
        let ports: Vec<(u16, Span)> = layout.owners.iter().map(host).zip(delays).collect();
        let programs = Programs::new(about.programs.clone(), layout, &ports);
        let guests = Guests {
            frames: Frames::default(),
            flows: HashMap::new(),
            numbers: HashMap::new(),
            ports,
            left: Vec::new(),
            ended: 0,
            tapped: Vec::new(),
            requested: HashMap::new(),
            over: Vec::new(),
            samples: Vec::new(),
            programs,
            mss: about.mss,
            error: None,
            is_over: false,
        };
        LinuxDriver { nodes, about, fleet: None, guests }
    }

    /// Boots the guests. Now and then, here and later, `cancel` is looked at, whether to give up.
    pub(crate) fn boot(&mut self, cancel: &Arc<AtomicBool>) -> Result<(), LinuxError> {
        let fleet = self.fleet.insert(Fleet::boot(&self.about.setup()?, cancel)?);
        self.guests.programs.tell(fleet);
        Ok(())
    }

    /// Why the guests cannot go on, if they cannot.
    pub(crate) fn take_error(&mut self) -> Option<LinuxError> {
        self.guests.error.take()
    }

    /// A flow is opened, whose sender this is.
    pub(crate) fn open(&mut self, number: u32, sender: Address, bytes: u64, tuple: FiveTuple) {
        self.guests.flows.insert(number, Watch::new(sender, bytes));
        self.guests.numbers.insert(tuple, number);
    }

    /// A flow's row has been written.
    pub(crate) fn close(&mut self, number: u32, tuple: FiveTuple) {
        self.guests.flows.remove(&number);
        self.guests.requested.remove(&number);
        self.guests.numbers.remove(&tuple);
    }

    /// A flow under way.
    pub(crate) fn flow(&self, number: u32) -> &Watch {
        &self.guests.flows[&number]
    }

    /// The delay of a port's link is another.
    pub(crate) fn set_delay(&mut self, port: u32, delay: Span) {
        self.guests.ports[port as usize].1 = delay;
    }

    /// Asks a flow's sender how it is doing; the answer is among [`LinuxDriver::take_samples`] later.
    pub(crate) fn ask(&mut self, probe: u32, flow: u32, now: Time) {
        let Some(watch) = self.guests.flows.get(&flow).filter(|watch| !watch.sent) else { return };
        let (Some(fleet), host) = (&mut self.fleet, watch.sender.host().0) else { return };
        fleet.order(host, guests_time(now), &Order::Sample(flow));
        self.guests.requested.entry(flow).or_default().push_back((probe, now));
    }

    /// What kernels have answered, in the order of time and flow.
    pub(crate) fn take_samples(&mut self) -> Vec<Sample> {
        self.guests.samples.sort_by_key(|sample| (sample.time, sample.flow, sample.probe));
        std::mem::take(&mut self.guests.samples)
    }

    /// The frames of what captured ports have sent, in the order of the record's `tapped`.
    pub(crate) fn take_tapped(&mut self) -> Vec<Arc<[u8]>> {
        std::mem::take(&mut self.guests.tapped)
    }

    /// The run ends now: asks all senders that are under way for the last time.
    pub(crate) fn ask_all(&mut self, layout: &Layout, net: &Network, now: Time) {
        self.guests.is_over = true;
        let mut flows: Vec<u32> = self.guests.flows.keys().copied().collect();
        // Programs' connections are none that a guest has been told of.
        flows.retain(|flow| *flow < FIRST_CONNECTION || !self.has_programs());
        flows.sort_unstable();
        flows.iter().for_each(|flow| self.ask(FOR_ITS_ROW, *flow, now));
        let (last, until) = (guests_time(now), Time(now.0.saturating_add(1_000_000)));
        while let Some((at, guest)) = self.fleet.as_ref().and_then(Fleet::next)
            && at <= last
            && self.guests.error.is_none()
        {
            self.turn((at, guest), layout, net, until);
        }
    }

    /// Handles events before the bound, at most so many.
    pub(crate) fn advance(&mut self, task: Task<'_>) -> Came {
        let Task { layout, net, bound, ending, budget, .. } = task;
        self.guests.ended = self.nodes.record.ended.len();
        for _ in 0..budget {
            match self.next(bound) {
                Next::Nothing => return Came::ToBound,
                Next::Event(event) => self.event(event, layout, net),
                Next::Guest(turn) => self.turn(turn, layout, net, bound.0),
            }
            self.settle(layout);
            self.nodes.record.counters.events += 1;
            if self.guests.error.is_some() || self.nodes.record.fault.is_some() {
                return Came::ToAFault;
            }
            if self.is_over(ending) {
                return Came::ToTheEnd;
            }
        }
        Came::PartOfTheWay
    }

    /// Whether nothing is left that the run waits for. What programs have sent last may be under way.
    pub(crate) fn is_over(&self, ending: Option<Ending>) -> bool {
        let record = &self.nodes.record;
        let programs = &self.guests.programs;
        let nothing_under_way = record.flow_packets == 0 || programs.any();
        // Programs in the background alone end no run.
        let may_end = |flows| flows > 0 || !programs.any() || programs.end_the_run();
        let done = |ending: Ending| record.senders_done == ending.flows && may_end(ending.flows);
        nothing_under_way && !programs.awaits() && ending.is_some_and(done)
    }

    fn next(&mut self, bound: Bound) -> Next {
        let event = self.nodes.calendar.pop();
        let guest = self.fleet.as_ref().and_then(Fleet::next);
        let first = |(at, _): &(u64, u16)| {
            let at = runs_time(*at);
            at < bound.0 && event.is_none_or(|event| at < event.time)
        };
        if let Some(turn) = guest.filter(first) {
            event.into_iter().for_each(|event| self.nodes.calendar.put_back(event));
            return Next::Guest(turn);
        }
        match event {
            Some(event) if (event.time, event.key()) < bound => Next::Event(event),
            event => {
                event.into_iter().for_each(|event| self.nodes.calendar.put_back(event));
                Next::Nothing
            }
        }
    }

    /// When something happens next.
    pub(crate) fn next_time(&self) -> Option<Time> {
        let events = self.nodes.calendar.events().map(|event| event.time);
        let guest = self.fleet.as_ref().and_then(Fleet::next).map(|(at, _)| runs_time(at));
        events.chain(guest).min()
    }

    /// A guest's turn.
    fn turn(&mut self, (at, guest): (u64, u16), layout: &Layout, net: &Network, until: Time) {
        let LinuxDriver { nodes, fleet: Some(fleet), guests, .. } = self else { return };
        // Also of a guest that does nothing in its turn.
        nodes.now = nodes.now.max(runs_time(at));
        let mut outside = outside::Network { nodes, guests, layout, net, until };
        if let Err(error) = fleet.run(guest, at, &mut outside) {
            guests.error.get_or_insert(error);
        }
    }

    /// Something that a guest does, without one.
    #[cfg(test)]
    pub(crate) fn by_hand(
        &mut self,
        (guest, at): (u16, Time),
        what: leafspine_linux::Happening,
        layout: &Layout,
        net: &Network,
    ) {
        use leafspine_linux::Outside as _;
        let LinuxDriver { nodes, guests, .. } = self;
        let mut outside = outside::Network { nodes, guests, layout, net, until: Time::MAX };
        outside.happened(guest, guests_time(at), what);
        self.settle(layout);
    }

    /// Segments that were sent again, of the flows and connections under way.
    #[cfg(test)]
    pub(crate) fn sent_again(&self) -> u32 {
        self.guests.flows.values().map(|watch| watch.retransmits).sum()
    }

    /// Flows and directions of connections that have places at their hosts.
    #[cfg(test)]
    pub(crate) fn known(&self) -> usize {
        self.guests.numbers.len()
    }

    fn event(&mut self, event: Event, layout: &Layout, net: &Network) {
        self.nodes.now = event.time;
        let (key, item) = (event.key(), event.item());
        match key.class() {
            Class::Arrival => self.arrival(key.id(), item, net),
            Class::FlowStart => self.start(key.id(), Address::from_item(item), layout),
            _ => {
                let node = layout.node_of(key, item);
                self.guests.call(&mut self.nodes, node, |node, world| {
                    node.on_timer(key, item, net, world);
                });
            }
        }
    }

    /// What the last event or turn has left to be done.
    fn settle(&mut self, layout: &Layout) {
        self.settle_ends();
        let mut over = std::mem::take(&mut self.guests.over);
        for sender in over.drain(..) {
            let (node, place) = layout.hosts[usize::from(sender.host().0)];
            self.nodes.with(node, |node, world| {
                node.hosts_mut()[usize::from(place)].ended_for(sender.slot(), world);
            });
        }
        self.guests.over = over;
    }

    fn settle_ends(&mut self) {
        self.guests.settle(&self.nodes.record);
        let Some(fleet) = &mut self.fleet else { return };
        self.guests.left.drain(..).for_each(|(host, at, token)| fleet.sent(host, at, token));
    }
}

impl Guests {
    /// Sees to frames that have ended on their way, and to those that captures want.
    fn settle(&mut self, record: &Record) {
        for tapped in &record.tapped[self.tapped.len()..] {
            let own = tapped.packet.flags.has(Flags::PROBE);
            let bytes = if own { Vec::new() } else { self.frames.of(&tapped.packet) };
            self.tapped.push(bytes.into());
        }
        for ended in &record.ended[self.ended..] {
            if let Some((host, token)) = self.frames.leaves(ended.frame) {
                self.left.push((host, guests_time(ended.time), token));
            }
            self.frames.drop(ended.frame);
        }
        self.ended = record.ended.len();
    }

    /// Calls a node with its world, and notes which frames leave their hosts.
    fn call<T>(
        &mut self,
        nodes: &mut CalendarDriver,
        node: u32,
        what: impl FnOnce(&mut Node, &mut Leaving<'_, super::calendar::Outside<'_>>) -> T,
    ) -> T {
        nodes.with(node, |node, world| what(node, &mut Leaving { world, guests: self }))
    }
}

/// The world of a node beside guests.
struct Leaving<'a, W> {
    world: &'a mut W,
    guests: &'a mut Guests,
}

impl<W: World> World for Leaving<'_, W> {
    fn now(&self) -> Time {
        self.world.now()
    }

    fn deliver(&mut self, link: u32, at: Time, packet: &PacketMeta) {
        let Guests { ports, frames, left, .. } = &mut *self.guests;
        let (host, delay) = ports[link as usize];
        if host != NO_HOST
            && !packet.flags.has(Flags::PROBE)
            && let Some((host, token)) = frames.leaves(packet.frame())
        {
            // Its last bit is on the wire.
            left.push((host, guests_time(Time(at.0 - delay.0)), token));
        }
        self.world.deliver(link, at, packet);
    }

    fn schedule(&mut self, at: Time, key: Key, item: u32) {
        self.world.schedule(at, key, item);
    }

    fn record(&mut self) -> &mut Record {
        self.world.record()
    }
}
