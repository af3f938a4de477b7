//! A switch: a packet comes in, may be held back, is given a port, and is queued there.

use crate::counters::Cause;
use crate::egress::Egress;
use crate::event::{Class, Key};
use crate::fault::FaultKind;
use crate::flow::FlowId;
use crate::kept::Kept;
use crate::network::Network;
use crate::pfc::{Frame, NO_INGRESS};
use crate::port::{Port, SwitchPorts};
use crate::world::World;
use leafspine_core::{PacketMeta, PortId, Rng, SwitchId, Time, TorId};
use leafspine_fabric::Onward;
use leafspine_schemes::lb::{Arrival, FlowHash, LoadBalancer, Needs};
use leafspine_schemes::{Context, Paths};

/// A switch's balancer with what it is handed.
pub struct Chooser {
    /// What it wants to be called for: asked once.
    pub needs: Needs,
    /// The balancer.
    pub balancer: Box<dyn LoadBalancer>,
    /// Its random stream.
    pub rng: Rng,
    /// What it has sent itself; emptied after every call.
    pub(crate) outbox: Vec<(PortId, PacketMeta)>,
    /// Outboxes that are being emptied, one within the other.
    pub(crate) nested: u32,
}

impl Chooser {
    /// `balancer`, with its random stream.
    #[must_use]
    pub fn new(balancer: Box<dyn LoadBalancer>, rng: Rng) -> Chooser {
        Chooser { needs: balancer.needs(), balancer, rng, outbox: Vec::new(), nested: 0 }
    }

    /// Calls the balancer with its context. What it puts into the outbox is for the caller to send.
    #[inline(always)]
    fn call<T>(
        &mut self,
        ports: &mut [Port],
        now: Time,
        what: impl FnOnce(&mut dyn LoadBalancer, &mut Context<'_>) -> T,
    ) -> T {
        let mut ports = SwitchPorts { ports, now };
        let mut context =
            Context { now, rng: &mut self.rng, ports: &mut ports, outbox: &mut self.outbox };
        what(self.balancer.as_mut(), &mut context)
    }

    #[inline]
    fn pick(
        &mut self,
        ports: &mut [Port],
        packet: &mut PacketMeta,
        paths: &Paths<'_>,
        now: Time,
    ) -> PortId {
        self.call(ports, now, |balancer, cx| balancer.pick(packet, paths, cx))
    }

    pub(crate) fn leaving(
        &mut self,
        ports: &mut [Port],
        packet: &mut PacketMeta,
        to: PortId,
        at: Time,
        now: Time,
    ) {
        self.call(ports, now, |balancer, cx| balancer.leaving(packet, to, at, cx));
    }
}

/// The uplink that a flow's data last took at its source's switch, and how often it changed.
#[derive(Clone, Copy, Debug)]
struct Uplink {
    last: u16,
    changes: u32,
}

const NO_UPLINK: u16 = u16::MAX;

/// A switch.
pub struct Switch {
    /// Its number.
    pub id: SwitchId,
    /// Its number among the switches with hosts; [`Switch::NO_TOR`] if it has none.
    pub tor: u16,
    /// Its ports and schemes.
    pub egress: Egress,
    /// What the balancer needs: of what is the chooser's, this is looked at for every packet.
    needs: Needs,
    /// The balancer, if it is a hash and nothing else.
    hash: Option<FlowHash>,
    /// By port of a host and the slot of a flow that it sends.
    uplinks: Vec<Vec<Uplink>>,
}

/// Whether `port` is among `paths`, of which there is one at least. They ascend, mostly without a gap:
/// so it is looked for where it would be then, which takes no loop of unpredictable length.
#[inline]
fn is_path(paths: &[PortId], port: PortId) -> bool {
    let guess = usize::from(port.0.wrapping_sub(paths[0].0));
    paths.get(guess) == Some(&port) || paths.contains(&port)
}

impl Switch {
    /// `tor` of a switch without hosts.
    pub const NO_TOR: u16 = u16::MAX;

    /// A switch with these ports and schemes; `egress` has a chooser.
    #[must_use]
    pub fn new(id: SwitchId, tor: u16, mut egress: Egress) -> Switch {
        let chooser = egress.chooser.as_ref().expect("a switch has a balancer");
        let (needs, hash) = (chooser.needs, chooser.balancer.as_flow_hash());
        if needs.keeps {
            (egress.kept, egress.guarded) = (Some(Box::new(Kept::new())), true);
        }
        Switch { id, tor, egress, needs, hash, uplinks: Vec::new() }
    }

    /// The balancer.
    #[inline]
    #[must_use]
    pub fn chooser(&self) -> &Chooser {
        self.egress.chooser.as_ref().expect("a switch has a balancer")
    }

    /// A packet has come in by a port.
    #[inline(always)]
    pub fn arrive<W: World>(
        &mut self,
        from: PortId,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let guarded = self.egress.guarded;
        if guarded && !self.comes_in(from, packet) && self.is_kept(from, packet, net, world) {
            return;
        }
        self.pass(from, packet, net, world);
        if guarded {
            self.forward_released(net, world);
        }
    }

    /// A packet comes in where flow control counts it. Whether that is all: no hold has to see it,
    /// and it is no pause frame.
    #[inline(always)]
    fn comes_in(&mut self, from: PortId, packet: &PacketMeta) -> bool {
        self.egress.comes_from(from.0);
        self.egress.hold.is_none() && Frame::of(packet).is_none()
    }

    /// Whether a packet ends here, because it is a pause frame, or is held back. What it has the hold let go is
    /// forwarded.
    #[inline(never)]
    fn is_kept<W: World>(
        &mut self,
        from: PortId,
        packet: &PacketMeta,
        net: &Network,
        world: &mut W,
    ) -> bool {
        if self.egress.pfc.is_some()
            && let Some(frame) = Frame::of(packet)
        {
            self.obey(from, packet, frame, net, world);
            return true;
        }
        let held = self.egress.holds_back(self.id, from, packet, world);
        if held {
            self.forward_released(net, world);
        }
        held
    }

    /// A pause frame has come.
    #[cold]
    fn obey<W: World>(
        &mut self,
        from: PortId,
        packet: &PacketMeta,
        frame: Frame,
        net: &Network,
        world: &mut W,
    ) {
        let now = world.now();
        world.record().consumed(packet, now);
        self.egress.obey(from, frame, net, world);
        self.forward_released(net, world);
    }

    /// An event that was scheduled for this switch is due.
    pub fn on_timer<W: World>(&mut self, key: Key, item: u32, net: &Network, world: &mut W) {
        match key.class() {
            Class::Departure => {
                let port = PortId((key.id() - self.egress.first) as u16);
                self.egress.line_idle(port, net, world);
            }
            Class::HoldExpiry => self.egress.hold_due(self.id, item, world),
            Class::Tick => self.tick(net, world),
            Class::Pause => {
                let port = PortId((key.id() - self.egress.first) as u16);
                self.egress.pause_due(port, item, net, world);
            }
            // Named one by one, so that a class that is added has to be thought of here.
            other @ (Class::Link
            | Class::Arrival
            | Class::FlowStart
            | Class::Retransmit
            | Class::DelayedAck
            | Class::Reassembly
            | Class::EdgeTick
            | Class::HandDown
            | Class::Operation
            | Class::Nic
            | Class::Window
            | Class::Probe) => unreachable!("{other:?} is no switch's event"),
        }
        self.forward_released(net, world);
    }

    /// Forwards what the hold has let go, and the balancer. To be called after [`Egress::take_down`]; the other
    /// events do it themselves.
    #[inline]
    pub fn forward_released<W: World>(&mut self, net: &Network, world: &mut W) {
        if self.needs.keeps || !self.egress.released.is_empty() {
            self.forward_all_released(net, world);
        }
    }

    /// Forwarding may let go more; it is a list, not a recursion.
    #[cold]
    fn forward_all_released<W: World>(&mut self, net: &Network, world: &mut W) {
        self.forward_held(net, world);
        while self.needs.keeps && self.forward_kept(net, world) {
            self.forward_held(net, world);
        }
    }

    /// Forwards the next queue that the balancer lets go on. Whether there was one.
    fn forward_kept<W: World>(&mut self, net: &Network, world: &mut W) -> bool {
        let next = self.egress.chooser.as_mut().and_then(|chooser| chooser.balancer.released());
        let Some(queue) = next else {
            self.egress.see_to_wake(self.id, world);
            return false;
        };
        while let Some((from, mut packet)) =
            self.egress.kept.as_mut().and_then(|kept| kept.next(queue))
        {
            // As what a hold lets go: it was in a memory that flow control does not count.
            self.egress.comes_from(NO_INGRESS);
            self.goes_on(from, &mut packet, net, world);
        }
        true
    }

    fn forward_held<W: World>(&mut self, net: &Network, world: &mut W) {
        let mut next = 0;
        while next < self.egress.released.len() {
            let mut released = self.egress.released[next];
            next += 1;
            // It was in the hold's memory, of which the far end is not told: many may leave at once.
            self.egress.comes_from(NO_INGRESS);
            self.pass(released.from, &mut released.packet, net, world);
        }
        self.egress.released.clear();
    }

    /// A packet that is not (or no longer) held goes on to the output.
    #[inline(always)]
    fn pass<W: World>(
        &mut self,
        from: PortId,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let unseen = || self.needs.between_switches && self.is_from_source(from, packet, net);
        if self.needs.arrived && !unseen() && self.stays(from, packet, net, world) {
            return;
        }
        self.goes_on(from, packet, net, world);
    }

    /// Whether a packet that has come in by `from` comes straight from its source.
    #[inline]
    fn is_from_source(&self, from: PortId, packet: &PacketMeta, net: &Network) -> bool {
        let source = net.place(packet.src());
        source.tor == self.tor && source.port == from
    }

    /// A packet is given its port.
    #[inline(always)]
    fn goes_on<W: World>(
        &mut self,
        from: PortId,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let place = net.place(packet.dst());
        let port = if place.tor == self.tor {
            Some(place.port)
        } else {
            self.onward(TorId(place.tor), packet, net, world)
        };
        match port {
            Some(port) => self.egress.enqueue(port, packet, net, world),
            None => self.egress.drop_packet(from, packet, Cause::NoRoute, net, world),
        }
    }

    /// Tells the balancer of a packet. Whether it ends here, or is kept.
    #[inline(never)]
    fn stays<W: World>(
        &mut self,
        from: PortId,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) -> bool {
        let Egress { ports, chooser: Some(chooser), .. } = &mut self.egress else {
            unreachable!("a switch has a balancer")
        };
        let now = world.now();
        let arrival = chooser.call(ports, now, |balancer, cx| balancer.arrived(packet, from, cx));
        self.egress.send_outbox(net, world);
        match arrival {
            Arrival::Forward => return false,
            Arrival::Consume => world.record().consumed(packet, now),
            Arrival::Keep(queue) => {
                let kept = self.egress.kept.get_or_insert_with(|| Box::new(Kept::new()));
                kept.keep(queue, from, *packet);
                world.record().counters.kept_packets += 1;
            }
        }
        true
    }

    /// The port by which a packet goes on to another switch; `None` if there is no way.
    #[inline(always)]
    fn onward<W: World>(
        &mut self,
        to: TorId,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) -> Option<PortId> {
        let (paths, picked) = match net.routes.onward(self.id, to) {
            Onward::Nowhere => return None,
            Onward::Only(port) if !self.needs.every_packet => {
                if self.tor != Switch::NO_TOR {
                    self.note_uplink(packet, port, net);
                }
                return Some(port);
            }
            Onward::Only(_) => (net.routes.paths(self.id, to), None),
            Onward::OneOf(paths) => (paths, self.hash.map(|hash| hash.pick(packet, &paths))),
        };
        if let Some(picked) = picked {
            self.note_uplink(packet, picked, net);
            return Some(picked);
        }
        Some(self.pick(packet, &paths, net, world))
    }

    fn pick<W: World>(
        &mut self,
        packet: &mut PacketMeta,
        paths: &Paths<'_>,
        net: &Network,
        world: &mut W,
    ) -> PortId {
        let Egress { ports, chooser: Some(chooser), .. } = &mut self.egress else {
            unreachable!("a switch has a balancer")
        };
        let picked = chooser.pick(ports, packet, paths, world.now());
        let picked = match is_path(paths.ports, picked) {
            true => picked,
            false => self.astray(paths, picked, net, world),
        };
        self.note_uplink(packet, picked, net);
        self.egress.send_outbox(net, world);
        picked
    }

    /// A balancer picked what is no path, which ends the run. Gives the path that the packet takes
    /// until then.
    #[cold]
    fn astray<W: World>(
        &self,
        paths: &Paths<'_>,
        port: PortId,
        net: &Network,
        world: &mut W,
    ) -> PortId {
        let (scheme, now) = (net.balancer.clone(), world.now());
        let what = FaultKind::NoPath { scheme, port, paths: paths.ports.to_vec() };
        world.record().fail(now, self.egress.owner, what);
        paths.ports[0]
    }

    /// Counts a flow's change of uplink at its source's switch.
    #[inline]
    fn note_uplink(&mut self, packet: &PacketMeta, picked: PortId, net: &Network) {
        let source = net.place(packet.src());
        if !packet.is_data() || source.tor != self.tor {
            return;
        }
        let slot = usize::from(FlowId::of(packet).sending);
        let of_port = &mut self.uplinks[usize::from(source.port.0)];
        let uplink = &mut of_port[slot];
        if uplink.last != picked.0 {
            uplink.changes += u32::from(uplink.last != NO_UPLINK);
            uplink.last = picked.0;
        }
    }

    /// A flow that the host at `port` sends from `slot` is about to start.
    pub fn open_flow(&mut self, port: PortId, slot: u16) {
        let (port, slot) = (usize::from(port.0), usize::from(slot));
        if self.uplinks.len() <= port {
            self.uplinks.resize(port + 1, Vec::new());
        }
        let of_port = &mut self.uplinks[port];
        let fresh = Uplink { last: NO_UPLINK, changes: 0 };
        if of_port.len() <= slot {
            of_port.resize(slot + 1, fresh);
        }
        of_port[slot] = fresh;
    }

    /// How often the data of that flow left by another uplink than before.
    #[must_use]
    pub fn path_changes(&self, port: PortId, slot: u16) -> u32 {
        self.uplinks[usize::from(port.0)][usize::from(slot)].changes
    }

    /// Time-driven work of the balancer.
    fn tick<W: World>(&mut self, net: &Network, world: &mut W) {
        let now = world.now();
        if !self.egress.is_wanted(now) {
            return;
        }
        let Egress { ports, chooser: Some(chooser), .. } = &mut self.egress else {
            unreachable!("a switch has a balancer")
        };
        let again = chooser.call(ports, now, |balancer, cx| balancer.tick(cx));
        self.egress.send_outbox(net, world);
        // One that keeps packets is asked when to be called after each that arrives, too.
        let Some(time) = again.filter(|_| !self.needs.keeps) else { return };
        if time <= now {
            return world.record().fail(now, self.egress.owner, FaultKind::Backward(time));
        }
        world.schedule(time, Key::new(Class::Tick, u32::from(self.id.0)), 0);
    }
}
