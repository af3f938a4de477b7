//! A packet's way through a general port: there is room for it, its manager takes it, it waits, its
//! turn comes, it is sent.

use super::{Departure, Egress, manager, mark};
use crate::counters::Cause;
use crate::event::{Class, Key};
use crate::network::Network;
use crate::pfc::NO_INGRESS;
use crate::port::{Direct, Port, Queued, Stay, Turn};
use crate::switch::Chooser;
use crate::world::World;
use leafspine_core::{Ecn, PacketMeta, PortId, Span, Time};
use leafspine_schemes::aqm::{Admit, Release};
use leafspine_schemes::{Backlog, QueueView};

impl Egress {
    /// A packet for a general port.
    #[inline(always)]
    pub(super) fn enqueue_general<W: World>(
        &mut self,
        at: PortId,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let general = self.ports[usize::from(at.0)].store.general();
        if !general.plain {
            return self.enqueue_managed(at, packet, net, world);
        }
        if !general.is_free_for(0, world.now()) {
            return self.wait_plain(at, packet, net, world);
        }
        if !self.is_sent_unseen::<W, true>(at, 0, packet, net, world) {
            self.send_at_once(at, 0, packet, net, world);
        }
    }

    /// A packet for a port that is not plain.
    #[inline(never)]
    pub(super) fn enqueue_managed<W: World>(
        &mut self,
        at: PortId,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let now = world.now();
        let general = self.ports[usize::from(at.0)].store.general();
        let queue = net.queue_of(packet, general.queues());
        if !general.sends_at_once(queue, now) {
            return self.place(at, queue, packet, net, world);
        }
        let unasked = general.direct == Direct::Unasked;
        if !(unasked && self.is_sent_unseen::<W, false>(at, queue, packet, net, world)) {
            self.send_at_once(at, queue, packet, net, world);
        }
    }

    /// Sends a packet that finds an idle line and empty queues, if nobody has to see it: what
    /// [`Egress::send_at_once`] would do. `PLAIN`: the port has one queue.
    #[inline(always)]
    pub(super) fn is_sent_unseen<W: World, const PLAIN: bool>(
        &mut self,
        at: PortId,
        queue: usize,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) -> bool {
        let now = world.now();
        let fits = self.is_lossless(queue) || self.room(at, packet, Backlog::default()).is_ok();
        let port = &mut self.ports[usize::from(at.0)];
        if !fits || port.special || packet.notes & PacketMeta::TELEMETRY != 0 {
            return false;
        }
        let general = port.store.general();
        let size = u32::from(packet.size);
        let turn = if PLAIN { None } else { general.pass(queue, size, now) };
        let sending = general.transmit(now, size);
        let arrives = now + sending + port.delay;
        port.line_time += sending.0;
        if net.measuring {
            port.stats.accepted(size, 0, Span::ZERO, sending);
        }
        world.deliver(port.link, arrives, packet);
        self.end_turn(at, turn, now);
        true
    }

    /// Sends a packet that finds an idle line and empty queues: what [`Egress::place`] would do, less what makes
    /// no difference there.
    #[inline(never)]
    pub(super) fn send_at_once<W: World>(
        &mut self,
        at: PortId,
        queue: usize,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let (now, size) = (world.now(), u32::from(packet.size));
        let lossless = self.is_lossless(queue);
        if !lossless && let Err(cause) = self.room(at, packet, Backlog::default()) {
            return self.drop_packet(at, packet, cause, net, world);
        }
        let asks = self.port(at).store.general().asks.admits_idle;
        if asks && !self.ask_manager(at, queue, lossless, packet, net, world) {
            return self.drop_packet(at, packet, Cause::Manager, net, world);
        }
        if net.measuring && !asks {
            self.port(at).stats.placed(size, 0);
        }
        if !self.may_leave_at_once(at, queue, packet, net, world) {
            return;
        }
        if packet.notes & PacketMeta::TELEMETRY != 0 {
            self.write_hop(at, packet, world);
        }
        let port = &mut self.ports[usize::from(at.0)];
        // Its header may just have grown.
        let sending = port.store.general().transmit(now, u32::from(packet.size));
        port.line_time += sending.0;
        if net.measuring {
            port.stats.began(size, Span::ZERO, sending);
            port.stats.delayed(Span::ZERO);
        }
        let arrives = now + sending + port.delay;
        if port.special {
            let departure = Departure { start: now, wait: Span::ZERO, arrives };
            return self.depart_specially(at, packet, departure, net, world);
        }
        world.deliver(port.link, arrives, packet);
    }

    /// A packet that finds an idle line and empty queues has a turn, and the manager its last say. Whether it is sent;
    /// else it has been dropped.
    #[inline(always)]
    fn may_leave_at_once<W: World>(
        &mut self,
        at: PortId,
        queue: usize,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) -> bool {
        let (now, nothing) = (world.now(), Backlog::default());
        let size = u32::from(packet.size);
        let port = &mut self.ports[usize::from(at.0)];
        let general = port.store.general();
        if let Some(turn) = general.pass(queue, size, now)
            && let Some(aqm) = manager(&mut port.manager, &mut self.chooser)
        {
            aqm.turn_ended(turn.queue, turn.since, now);
        }
        if !general.asks.releases_idle {
            return true;
        }
        let view = port.view(queue as u8, nothing, nothing);
        match ask_at_release(port, &mut self.chooser, packet, &view, now, Span::ZERO) {
            Release::Send => return true,
            Release::Mark => {
                mark(port, packet, self.owner, net, world);
                return true;
            }
            Release::Drop if self.is_lossless(queue) => return true,
            Release::Drop => {}
        }
        self.drop_packet(at, packet, Cause::Manager, net, world);
        self.serve(at, net, world);
        false
    }

    /// Queues a packet at a general port, sends it if the line is idle, or drops it.
    #[inline(never)]
    fn place<W: World>(
        &mut self,
        at: PortId,
        queue: usize,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let now = world.now();
        let port = &mut self.ports[usize::from(at.0)];
        if !port.up {
            return self.drop_packet(at, packet, Cause::LinkDown, net, world);
        }
        if net.trim.is_some() && self.chooser.is_some() {
            return self.enqueue_trimming(at, queue, packet, net, world);
        }
        let waits = !port.store.general().is_free_for(queue, now);
        let lossless = self.is_lossless(queue);
        let room = match lossless {
            true => self.lossless_room(at, queue, packet, waits, world),
            false => {
                let total = self.port(at).store.general().backlog(now);
                self.room(at, packet, total)
            }
        };
        let from = match room {
            Ok(from) => from,
            Err(cause) => return self.drop_packet(at, packet, cause, net, world),
        };
        if !self.ask_manager(at, queue, lossless, packet, net, world) {
            return self.drop_packet(at, packet, Cause::Manager, net, world);
        }
        self.take_in(at, queue, from, packet, net, world);
        self.tell_far_end(from, queue as u8, net, world);
    }

    /// A packet that has been accepted waits, or is sent if the line is idle.
    #[inline(always)]
    pub(crate) fn take_in<W: World>(
        &mut self,
        at: PortId,
        queue: usize,
        from: u16,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let now = world.now();
        let stay = Stay { since: now, counted: net.measuring };
        if self.port(at).store.general().is_free_for(queue, now) {
            self.pass_through(at, queue, stay, packet, net, world);
        } else {
            let queued = Queued::new(stay, queue, from, *packet);
            if from == NO_INGRESS {
                self.use_shared(at, i64::from(queued.size()));
            }
            self.wait(at, queue, queued, net, world);
        }
        self.tell_hold(at, world);
    }

    /// Whether there is room behind `total` for a packet that may be dropped. It comes in nowhere that is counted.
    #[inline]
    pub(crate) fn room(
        &self,
        at: PortId,
        packet: &PacketMeta,
        total: Backlog,
    ) -> Result<u16, Cause> {
        let size = u32::from(packet.size);
        let limit = self.ports[usize::from(at.0)].limit;
        let shared = self.shared.as_ref().filter(|_| limit.is_shared());
        if !limit.admits(total, size) || shared.is_some_and(|shared| !shared.admits(total, size)) {
            return Err(Cause::Buffer);
        }
        Ok(NO_INGRESS)
    }

    /// Whether the port's manager takes a packet for which there is room. It may mark it; what it would drop
    /// of a lossless priority is marked, too, if it can be. What it takes is counted as queued.
    #[inline(never)]
    pub(crate) fn ask_manager<W: World>(
        &mut self,
        at: PortId,
        queue: usize,
        lossless: bool,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) -> bool {
        let now = world.now();
        let port = &mut self.ports[usize::from(at.0)];
        let general = port.store.general();
        let (total, own) = (general.backlog(now), general.queue(queue, now));
        let view = port.view(queue as u8, own, total);
        let verdict = match manager(&mut port.manager, &mut self.chooser) {
            Some(aqm) => aqm.admit(packet, &view, now, &mut port.rng),
            None => Admit::Take,
        };
        self.is_taken(at, verdict, (lossless, total), packet, net, world)
    }

    /// What comes of a manager's word on a packet behind `total`. Whether it is taken.
    #[inline(always)]
    pub(super) fn is_taken<W: World>(
        &mut self,
        at: PortId,
        verdict: Admit,
        (lossless, total): (bool, Backlog),
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) -> bool {
        let port = &mut self.ports[usize::from(at.0)];
        match verdict {
            Admit::Take => {}
            Admit::Drop if !lossless => return false,
            Admit::Drop if packet.ecn == Ecn::NotCapable => {}
            Admit::Mark | Admit::Drop => mark(port, packet, self.owner, net, world),
        }
        if net.measuring {
            port.stats.placed(u32::from(packet.size), total.packets);
        }
        true
    }

    /// Puts a packet that cannot be sent now into its queue.
    #[inline(always)]
    pub(super) fn wait<W: World>(
        &mut self,
        at: PortId,
        queue: usize,
        queued: Queued,
        net: &Network,
        world: &mut W,
    ) {
        let (now, global) = (world.now(), self.global(at));
        let general = self.port(at).store.general();
        general.push(queue, queued);
        if general.wake_pending {
            return;
        }
        if now < general.busy_until {
            general.wake_pending = true;
            world.schedule(general.busy_until, Key::new(Class::Departure, global), 0);
        } else {
            // Its own queue is paused.
            self.serve(at, net, world);
        }
    }

    /// Sends a packet that finds an idle line.
    #[inline]
    fn pass_through<W: World>(
        &mut self,
        at: PortId,
        queue: usize,
        stay: Stay,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let now = world.now();
        let turn = self.port(at).store.general().pass(queue, u32::from(packet.size), now);
        self.end_turn(at, turn, now);
        let sent = self.send(at, queue, stay, packet, net, world);
        self.tell_hold(at, world);
        if !sent {
            self.serve(at, net, world);
        }
    }

    /// A packet no longer waits.
    #[inline(always)]
    pub(crate) fn leave(&mut self, at: PortId, queued: &Queued) {
        if queued.from == NO_INGRESS {
            return self.use_shared(at, -i64::from(queued.size()));
        }
        self.leave_ingress(queued);
    }

    /// So many bytes more of the buffer that the ports share, if there is one, are in use.
    #[inline]
    pub(super) fn use_shared(&mut self, at: PortId, bytes: i64) {
        if let Some(shared) = &mut self.shared
            && self.ports[usize::from(at.0)].limit.is_shared()
        {
            shared.used = shared.used.saturating_add_signed(bytes);
        }
    }

    /// A general port has sent a packet.
    pub(crate) fn line_idle<W: World>(&mut self, at: PortId, net: &Network, world: &mut W) {
        let now = world.now();
        let port = self.port(at);
        let general = port.store.general();
        general.wake_pending = false;
        if port.up && now >= general.busy_until {
            let plain = general.plain;
            if self.has_frame(at) && self.sends_frame(at, net, world) {
                return;
            }
            match plain {
                true => self.serve_plain(at, net, world),
                false => self.serve(at, net, world),
            }
        }
    }

    /// Sends the next packet of a general port whose line is idle.
    pub(crate) fn serve<W: World>(&mut self, at: PortId, net: &Network, world: &mut W) {
        let mut sent = false;
        while !sent {
            let now = world.now();
            let (queue, turn) = self.port(at).store.general().choose(now);
            self.end_turn(at, turn, now);
            let Some(queue) = queue else { return };
            let mut queued = self.port(at).store.general().take(queue);
            self.leave(at, &queued);
            sent = self.send(at, queue, queued.stay(), &mut queued.packet, net, world);
            self.tell_hold(at, world);
            self.tell_far_end(queued.from, queued.queue, net, world);
        }
    }

    /// Sends a packet whose turn it is, unless the manager drops it.
    #[inline(always)]
    fn send<W: World>(
        &mut self,
        at: PortId,
        queue: usize,
        stay: Stay,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) -> bool {
        let now = world.now();
        let port = &mut self.ports[usize::from(at.0)];
        let general = port.store.general();
        if general.asks.at_release {
            let (total, own) = (general.backlog(now), general.queue(queue, now));
            let view = port.view(queue as u8, own, total);
            let waited = now - stay.since;
            match ask_at_release(port, &mut self.chooser, packet, &view, now, waited) {
                Release::Send => {}
                Release::Mark => mark(port, packet, self.owner, net, world),
                Release::Drop if self.is_lossless(queue) => {}
                Release::Drop => {
                    self.abandon(at, stay, packet, Cause::Manager, net, world);
                    return false;
                }
            }
        }
        self.put_on_wire(at, stay, packet, net, world);
        true
    }

    /// A turn of a service queue may have ended: the port's manager is told.
    #[inline]
    fn end_turn(&mut self, at: PortId, turn: Option<Turn>, now: Time) {
        let Some(turn) = turn else { return };
        let port = &mut self.ports[usize::from(at.0)];
        if let Some(aqm) = manager(&mut port.manager, &mut self.chooser) {
            aqm.turn_ended(turn.queue, turn.since, now);
        }
    }

    #[inline(always)]
    pub(super) fn put_on_wire<W: World>(
        &mut self,
        at: PortId,
        stay: Stay,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let now = world.now();
        let (wait, size) = (now - stay.since, u32::from(packet.size));
        if packet.notes & PacketMeta::TELEMETRY != 0 {
            self.write_hop(at, packet, world);
        }
        let global = self.global(at);
        let port = self.port(at);
        let general = port.store.general();
        let sending = general.transmit(now, u32::from(packet.size));
        port.line_time += sending.0;
        if net.measuring {
            port.stats.began(size, wait, sending);
        }
        if stay.counted {
            port.stats.delayed(wait);
        }
        let arrives = now + sending + port.delay;
        if general.has_packets() {
            general.wake_pending = true;
            world.schedule(general.busy_until, Key::new(Class::Departure, global), 0);
        }
        if port.special {
            let departure = Departure { start: now, wait, arrives };
            return self.depart_specially(at, packet, departure, net, world);
        }
        world.deliver(port.link, arrives, packet);
    }
}

/// What the port's manager says of a packet that is about to leave.
#[inline(always)]
fn ask_at_release(
    port: &mut Port,
    chooser: &mut Option<Chooser>,
    packet: &mut PacketMeta,
    view: &QueueView,
    now: Time,
    waited: Span,
) -> Release {
    match manager(&mut port.manager, chooser) {
        Some(aqm) if aqm.needs().release => aqm.release(packet, view, waited, now, &mut port.rng),
        _ => Release::Send,
    }
}
