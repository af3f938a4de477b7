//! The egress side of a switch or host: packets are queued at its ports and sent. What a general
//! port does with one is in [`general`], and of a plain one in [`plain`].

mod general;
mod plain;

use crate::counters::Cause;
use crate::fault::FaultKind;
use crate::flow::Address;
use crate::hold::{HoldState, Released};
use crate::kept::Kept;
use crate::network::Network;
use crate::pfc::{NO_INGRESS, Pfc};
use crate::port::{Manager, Port, Stay, Store};
use crate::record::{Seen, Tapped};
use crate::switch::Chooser;
use crate::world::World;
use leafspine_core::{Ecn, Flags, PacketMeta, PortId, Span, Time};
use leafspine_fabric::Owner;
use leafspine_schemes::aqm::{Admit, Aqm};
use leafspine_schemes::{Backlog, QueueView};

/// A buffer that all ports of a switch share.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// Its size in bytes.
    pub size: u64,
    /// Bytes in use.
    pub used: u64,
    /// The dynamic threshold's alpha (Choudhury and Hahne 1998, eq. 1): a port may hold `alpha` times
    /// what is free.
    pub alpha: f64,
}

impl Shared {
    /// An empty one.
    #[must_use]
    pub fn new(size: u64, alpha: f64) -> Shared {
        Shared { size, used: 0, alpha }
    }

    /// Bytes that are free.
    #[inline]
    #[must_use]
    pub fn free(&self) -> u64 {
        self.size.saturating_sub(self.used)
    }

    /// Whether a port in which `total` waits may take `size` bytes more.
    pub(crate) fn admits(&self, total: Backlog, size: u32) -> bool {
        let free = self.free();
        let threshold = (self.alpha * free as f64) as u64;
        u64::from(size) <= free && u64::from(total.bytes) + u64::from(size) <= threshold
    }
}

/// Ports, what they share, and a switch's schemes that act on them. What every packet needs comes first.
pub struct Egress {
    /// By [`PortId`].
    pub ports: Vec<Port>,
    /// The global number of the first port.
    pub first: u32,
    /// A switch's balancer, with the other roles that it may have.
    pub chooser: Option<Chooser>,
    /// Whether what arrives at a switch is looked at before it passes: by a hold, by flow control.
    pub(crate) guarded: bool,
    /// With flow control: the lossless priorities, a bit each.
    pub(crate) lossless: u8,
    /// By which port the packet that is passing came in, where flow control counts it.
    pub(crate) arriving: u16,
    /// A switch's ingress hold.
    pub(crate) hold: Option<Box<HoldState>>,
    /// What a balancer keeps that keeps packets.
    pub(crate) kept: Option<Box<Kept>>,
    /// Priority-based flow control.
    pub(crate) pfc: Option<Box<Pfc>>,
    /// Packets that the hold has let go: they go on when the event is over.
    pub(crate) released: Vec<Released>,
    /// A buffer that the ports share.
    pub shared: Option<Shared>,
    /// Whose ports they are.
    pub owner: Owner,
}

/// The manager of a port's queues, wherever it lives.
#[inline]
pub(crate) fn manager<'a>(
    own: &'a mut Manager,
    chooser: &'a mut Option<Chooser>,
) -> Option<&'a mut dyn Aqm> {
    match own {
        Manager::DropTail => None,
        Manager::Threshold(threshold) => Some(threshold),
        Manager::Own(aqm) => Some(aqm.as_mut()),
        Manager::Balancer => chooser.as_mut().and_then(|chooser| chooser.balancer.roles().aqm()),
    }
}

/// What the manager of a port with one queue says that is not a balancer: the port's own, or none. (A balancer that
/// manages queues has general ports, and is asked when packets leave.)
#[inline]
fn admit(port: &mut Port, packet: &PacketMeta, backlog: Backlog, now: Time) -> Admit {
    // Asked for first, so that there is no table of jumps.
    if let Manager::Threshold(threshold) = &port.manager {
        return threshold.admit_to(packet, backlog);
    }
    match &mut port.manager {
        Manager::Threshold(_) | Manager::DropTail | Manager::Balancer => Admit::Take,
        Manager::Own(aqm) => {
            let view = QueueView {
                port: port.local,
                queue: 0,
                this: backlog,
                port_total: backlog,
                rate: port.rate,
            };
            aqm.admit(packet, &view, now, &mut port.rng)
        }
    }
}

/// The manager of a port of `owner` marks a packet. Counts it, if it had no mark yet.
#[cold]
pub(crate) fn mark<W: World>(
    port: &mut Port,
    packet: &mut PacketMeta,
    owner: Owner,
    net: &Network,
    world: &mut W,
) {
    if packet.ecn == Ecn::NotCapable {
        let now = world.now();
        return world.record().fail(now, owner, FaultKind::Unmarkable);
    }
    world.record().counters.marks += u64::from(packet.ecn != Ecn::Congested);
    packet.ecn = Ecn::Congested;
    port.stats.marked(net.measuring);
}

/// How deep a balancer may send packets about packets that it has just sent. Each level is a few
/// calls of the engine's own.
pub(crate) const MOST_NESTED: u32 = 256;

impl Egress {
    /// The `ports` of `owner`, the first with this global number; a switch has a chooser.
    #[must_use]
    pub fn new(owner: Owner, first: u32, ports: Vec<Port>, chooser: Option<Chooser>) -> Egress {
        Egress {
            ports,
            first,
            chooser,
            guarded: false,
            lossless: 0,
            arriving: NO_INGRESS,
            hold: None,
            kept: None,
            pfc: None,
            released: Vec::new(),
            shared: None,
            owner,
        }
    }

    /// A switch's ingress hold.
    #[must_use]
    pub fn hold(&self) -> Option<&HoldState> {
        self.hold.as_deref()
    }

    /// What a switch's balancer keeps, if it keeps packets.
    #[must_use]
    pub fn kept(&self) -> Option<&Kept> {
        self.kept.as_deref()
    }

    /// The same, to be damaged: for tests of what finds that.
    #[doc(hidden)]
    pub fn kept_mut(&mut self) -> Option<&mut Kept> {
        self.kept.as_deref_mut()
    }

    /// Calls `visit` with every packet that waits here: in queues, held back, or kept.
    pub(crate) fn each_packet(&mut self, visit: &mut dyn FnMut(&mut PacketMeta)) {
        for port in &mut self.ports {
            if let Store::General(general) = &mut port.store {
                general.waiting_mut().for_each(&mut *visit);
            }
        }
        let held = self.hold.iter_mut().flat_map(|hold| &mut hold.held);
        held.flat_map(|queue| queue.iter_mut()).for_each(&mut *visit);
        self.kept.iter_mut().flat_map(|kept| kept.packets_mut()).for_each(visit);
    }

    /// Gives a switch its ingress hold.
    pub fn set_hold(&mut self, hold: HoldState) {
        self.hold = Some(Box::new(hold));
        self.guarded = true;
    }

    /// A switch sends headers back that have no room: what it sends so goes on as what a hold lets go.
    pub fn set_returning(&mut self) {
        self.guarded = true;
    }

    /// Priority-based flow control, in runs that have it.
    #[must_use]
    pub fn pfc(&self) -> Option<&Pfc> {
        self.pfc.as_deref()
    }

    /// Has its ports, which must be general ones, obey pause frames and (a switch's) send them.
    pub fn set_pfc(&mut self, pfc: Pfc) {
        self.ports.iter_mut().for_each(|port| port.store.general().obey_pauses());
        self.lossless = pfc.lossless;
        self.pfc = Some(Box::new(pfc));
        self.guarded = true;
    }

    #[inline]
    pub(crate) fn port(&mut self, at: PortId) -> &mut Port {
        &mut self.ports[usize::from(at.0)]
    }

    /// The global number of a port.
    #[inline]
    pub(crate) fn global(&self, at: PortId) -> u32 {
        self.first + u32::from(at.0)
    }

    /// Queues a packet at a port, or drops it.
    #[inline(always)]
    pub(crate) fn enqueue<W: World>(
        &mut self,
        at: PortId,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let now = world.now();
        let port = &mut self.ports[usize::from(at.0)];
        let Store::Fifo(fifo) = &mut port.store else {
            return self.enqueue_general(at, packet, net, world);
        };
        let size = u32::from(packet.size);
        let backlog = fifo.backlog(now);
        if !port.limit.admits(backlog, size) {
            return self.drop_packet(at, packet, Cause::Buffer, net, world);
        }
        match admit(port, packet, backlog, now) {
            Admit::Take => {}
            Admit::Mark => mark(port, packet, self.owner, net, world),
            Admit::Drop => return self.drop_packet(at, packet, Cause::Manager, net, world),
        }
        let Store::Fifo(fifo) = &mut port.store else { unreachable!("it is one") };
        let placed = fifo.accept(now, size);
        port.line_time += (placed.end - placed.start).0;
        if net.measuring {
            let (wait, sending) = (placed.start - now, placed.end - placed.start);
            port.stats.accepted(size, backlog.packets, wait, sending);
        }
        let arrives = placed.end + port.delay;
        if port.special {
            let departure = Departure { start: placed.start, wait: placed.start - now, arrives };
            return self.depart_specially(at, packet, departure, net, world);
        }
        world.deliver(port.link, arrives, packet);
    }

    /// What only some runs have: random loss, a balancer that is told of departures, a probe, a link
    /// that changes.
    #[cold]
    pub(crate) fn depart_specially<W: World>(
        &mut self,
        at: PortId,
        packet: &mut PacketMeta,
        departure: Departure,
        net: &Network,
        world: &mut W,
    ) {
        let Departure { start, wait, arrives } = departure;
        let global = self.global(at);
        let port = self.port(at);
        if let Some(lossy) = &mut port.loss
            && lossy.rng.chance(lossy.probability)
        {
            packet.notes |= PacketMeta::LOST;
        }
        let (arrives, link) = (port.arrival(arrives), port.link);
        if let Some(chooser) = &mut self.chooser
            && chooser.needs.leaving
            && packet.notes & PacketMeta::PAUSE == 0
        {
            chooser.leaving(&mut self.ports, packet, at, start, world.now());
        }
        for probe in &self.ports[usize::from(at.0)].watched {
            world.record().seen.push(Seen {
                probe: *probe,
                port: global,
                start,
                waited: wait,
                sender: (!packet.flags.has(Flags::PROBE)).then(|| Address::of_sender(packet)),
                segment: packet.seq,
                size: packet.size,
                flags: packet.flags.0,
                ecn: packet.ecn as u8,
            });
        }
        if self.ports[usize::from(at.0)].tapped {
            world.record().tapped.push(Tapped { port: global, start, packet: *packet });
        }
        world.deliver(link, arrives, packet);
        // Last, when the line is taken: a balancer may queue a packet of its own here.
        self.send_outbox(net, world);
    }

    /// The link of a port goes down: what waits there is dropped. What is on the wire is the driver's.
    pub fn take_down<W: World>(&mut self, at: PortId, net: &Network, world: &mut W) {
        let port = self.port(at);
        port.up = false;
        if self.pfc.is_some() {
            self.forget_pauses(at, world);
        }
        let port = self.port(at);
        for queued in port.store.general().flush() {
            self.leave(at, &queued);
            self.abandon(at, queued.stay(), &queued.packet, Cause::LinkDown, net, world);
            self.tell_far_end(queued.from, queued.queue, net, world);
        }
        self.tell_hold(at, world);
    }

    /// The link of a port comes up.
    pub fn bring_up<W: World>(&mut self, at: PortId, net: &Network, world: &mut W) {
        self.port(at).up = true;
        self.tell_anew(at, net, world);
    }

    /// A queued packet will not be sent after all.
    pub(crate) fn abandon<W: World>(
        &mut self,
        at: PortId,
        stay: Stay,
        packet: &PacketMeta,
        cause: Cause,
        net: &Network,
        world: &mut W,
    ) {
        if net.measuring {
            let waited = i128::from((world.now() - stay.since).0);
            self.port(at).stats.correct(u32::from(packet.size), -waited);
        }
        self.drop_packet(at, packet, cause, net, world);
    }

    /// A packet ends at a port that did not take it.
    #[cold]
    pub(crate) fn drop_packet<W: World>(
        &mut self,
        at: PortId,
        packet: &PacketMeta,
        cause: Cause,
        net: &Network,
        world: &mut W,
    ) {
        self.port(at).stats.dropped(net.measuring);
        let now = world.now();
        world.record().dropped(packet, cause, now);
    }

    /// Sends what a balancer has made. Queueing a packet may make the balancer send more: that goes
    /// into a box of its own.
    #[inline]
    pub(crate) fn send_outbox<W: World>(&mut self, net: &Network, world: &mut W) {
        if self.chooser.as_ref().is_some_and(|chooser| !chooser.outbox.is_empty()) {
            self.empty_outbox(net, world);
        }
    }

    #[cold]
    fn empty_outbox<W: World>(&mut self, net: &Network, world: &mut W) {
        let (now, owner, ports) = (world.now(), self.owner, self.ports.len() as u32);
        // What a balancer makes has come in by no port.
        let arriving = self.comes_from(NO_INGRESS);
        let Some(chooser) = &mut self.chooser else { return };
        let mut outbox = std::mem::take(&mut chooser.outbox);
        chooser.nested += 1;
        if chooser.nested > MOST_NESTED {
            outbox.clear();
            let (scheme, depth) = (net.balancer.clone(), MOST_NESTED);
            world.record().fail(now, owner, FaultKind::Endless { scheme, depth });
        }
        for (port, mut packet) in outbox.drain(..) {
            if u32::from(port.0) >= ports {
                let scheme = net.balancer.clone();
                world.record().fail(now, owner, FaultKind::NoPort { scheme, port, ports });
                continue;
            }
            world.record().injected(&packet);
            self.enqueue(port, &mut packet, net, world);
        }
        if let Some(chooser) = &mut self.chooser {
            chooser.nested -= 1;
            chooser.outbox = outbox;
        }
        self.comes_from(arriving);
    }
}

/// When a packet goes.
#[derive(Clone, Copy)]
pub(crate) struct Departure {
    /// Its transmission begins.
    pub(crate) start: Time,
    /// How long it has waited.
    pub(crate) wait: Span,
    /// It is at the other end, if nothing on the wire is later.
    pub(crate) arrives: Time,
}
