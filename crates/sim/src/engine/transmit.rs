//! A port queues a packet and sends it.

use super::Simulation;
use super::forward::SwitchState;
use crate::calendar::{Class, Key};
use crate::output::Cause;
use crate::pool::Handle;
use crate::port::{Limit, Manager, NO_SWITCH, Port, Queued, Store, Turn};

use crate::spec::Classifier;
use leafspine_core::{Ecn, PacketMeta, Rng, Span, Time, mix};
use leafspine_schemes::aqm::{Admit, Aqm, Release};
use leafspine_schemes::{Backlog, QueueView};

/// The queue manager of a port of `switch`, wherever it lives.
#[inline]
fn manager<'a>(
    own: &'a mut Manager,
    switch: u16,
    switches: &'a mut [SwitchState],
) -> Option<&'a mut dyn Aqm> {
    match own {
        Manager::DropTail => None,
        Manager::Own(aqm) => Some(aqm.as_mut()),
        Manager::Balancer => switches[usize::from(switch)].balancer.roles().aqm(),
    }
}

/// What the manager says, and the mark put into the packet. Counts packets that had none yet.
#[inline]
fn admit(
    aqm: &mut dyn Aqm,
    packet: &mut PacketMeta,
    view: &QueueView,
    now: Time,
    rng: &mut Rng,
    marked: &mut u64,
) -> Admit {
    let verdict = aqm.admit(packet, view, now, rng);
    if verdict == Admit::Mark {
        debug_assert!(packet.ecn != Ecn::NotCapable, "only ECN-capable packets are marked");
        *marked += u64::from(packet.ecn != Ecn::Congested);
        packet.ecn = Ecn::Congested;
    }
    verdict
}

fn view(port: &Port, queue: u8, this: Backlog, port_total: Backlog) -> QueueView {
    QueueView { port: port.local, queue, this, port_total, rate: port.rate }
}

/// The service queue, of several, that `packet` belongs to.
fn classify(packet: &PacketMeta, queues: usize, by: Classifier, stage_queues: &[u8]) -> usize {
    match by {
        Classifier::Hash => ((mix(packet.tuple.0) >> 32) as usize * queues) >> 32,
        Classifier::Stage => {
            let last = stage_queues.len() - 1;
            usize::from(stage_queues[usize::from(packet.class).min(last)]).min(queues - 1)
        }
        Classifier::Dscp => usize::from(packet.class) % queues,
    }
}

/// Whether the switch's shared buffer has room (Choudhury and Hahne 1998, eq. 1: a port may hold
/// `alpha` times what is free).
#[inline]
fn shared_admits(port: &Port, switches: &[SwitchState], total: Backlog, size: u32) -> bool {
    if !matches!(port.limit, Limit::Shared) {
        return true;
    }
    let Some(shared) = &switches[usize::from(port.switch)].shared else { return true };
    let free = shared.size.saturating_sub(shared.used);
    let threshold = (shared.alpha * free as f64) as u64;
    u64::from(size) <= free && u64::from(total.bytes) + u64::from(size) <= threshold
}

/// So many bytes more of the switch's shared buffer, if there is one, are in use.
#[inline]
pub(super) fn shared_use(port: &Port, switches: &mut [SwitchState], bytes: i64) {
    if !matches!(port.limit, Limit::Shared) {
        return;
    }
    if let Some(shared) = &mut switches[usize::from(port.switch)].shared {
        shared.used = shared.used.saturating_add_signed(bytes);
    }
}

impl Simulation {
    /// Queues a packet at a port, or drops it.
    #[inline]
    pub(super) fn enqueue(&mut self, at: u32, handle: Handle) {
        let now = self.now;
        let port = &mut self.ports[at as usize];
        let Store::Fifo(fifo) = &mut port.store else {
            return self.enqueue_general(at, handle);
        };
        let packet = &mut self.pool[handle];
        let size = u32::from(packet.size);
        let backlog = fifo.backlog(now);
        if !port.limit.admits(backlog, size) {
            return self.drop_packet(at, handle, Cause::Buffer);
        }
        // A balancer that manages queues has general ports, so the manager is the port's own or none.
        if let Manager::Own(aqm) = &mut port.manager {
            let (local, rate) = (port.local, port.rate);
            let view =
                QueueView { port: local, queue: 0, this: backlog, port_total: backlog, rate };
            let marks = &mut self.counters.marks;
            match admit(aqm.as_mut(), packet, &view, now, &mut port.rng, marks) {
                Admit::Take => {}
                Admit::Mark => port.stats.marks += u64::from(self.measuring),
                Admit::Drop => return self.drop_packet(at, handle, Cause::Manager),
            }
        }
        let placed = fifo.accept(now, size);
        port.line_time += (placed.end - placed.start).0;
        if self.measuring {
            let (wait, sending) = (placed.start - now, placed.end - placed.start);
            port.stats.accepted(size, backlog.packets, wait, sending);
        }
        let arrives = placed.end + port.delay;
        if port.special {
            self.special_departure(at, handle, placed.start, placed.start - now);
        }
        self.calendar.push(arrives, Key::new(Class::Arrival, at), handle);
    }

    /// What only some runs have: random loss, a balancer that is told of departures, a probe.
    #[cold]
    fn special_departure(&mut self, at: u32, handle: Handle, start: Time, wait: Span) {
        let port = &mut self.ports[at as usize];
        if let Some(lossy) = &mut port.loss
            && lossy.rng.chance(lossy.probability)
        {
            self.pool[handle].notes |= PacketMeta::LOST;
        }
        let (switch, local) = (port.switch, port.local);
        if switch != NO_SWITCH && self.switches[usize::from(switch)].needs.leaving {
            self.tell_leaving(switch, local, handle, start);
        }
        for watch in 0..self.ports[at as usize].watched.len() {
            let probe = self.ports[at as usize].watched[watch];
            self.record_packet(probe, at, handle, start, wait);
        }
    }

    fn enqueue_general(&mut self, at: u32, handle: Handle) {
        let now = self.now;
        let (port, packet) = (&mut self.ports[at as usize], &mut self.pool[handle]);
        if !port.up {
            return self.drop_packet(at, handle, Cause::LinkDown);
        }
        let size = u32::from(packet.size);
        let general = port.store.general();
        let queue = match general.queues() {
            1 => 0,
            several => classify(packet, several, self.classifier, &self.stage_queues),
        };
        let (total, own) = (general.backlog(now), general.queue(queue, now));
        if !port.limit.admits(total, size) || !shared_admits(port, &self.switches, total, size) {
            return self.drop_packet(at, handle, Cause::Buffer);
        }
        let view = view(port, queue as u8, own, total);
        if let Some(aqm) = manager(&mut port.manager, port.switch, &mut self.switches) {
            match admit(aqm, packet, &view, now, &mut port.rng, &mut self.counters.marks) {
                Admit::Take => {}
                Admit::Mark => port.stats.marks += u64::from(self.measuring),
                Admit::Drop => return self.drop_packet(at, handle, Cause::Manager),
            }
        }
        if self.measuring {
            port.stats.placed(size, total.packets);
        }
        self.place(at, queue, Queued::new(handle, size, now, self.measuring));
        self.tell_hold(at);
    }

    /// Queues a packet that has been accepted, or sends it if the line is idle.
    #[inline]
    fn place(&mut self, at: u32, queue: usize, queued: Queued) {
        let port = &mut self.ports[at as usize];
        let general = port.store.general();
        if general.wake_pending || self.now < general.busy_until {
            general.push(queue, queued);
            if !std::mem::replace(&mut general.wake_pending, true) {
                self.calendar.push(general.busy_until, Key::new(Class::Departure, at), 0);
            }
            return shared_use(port, &mut self.switches, i64::from(queued.size()));
        }
        let turn = general.pass(queue, queued.size(), self.now);
        self.end_turn(at, turn);
        let sent = self.send(at, queue, queued);
        self.tell_hold(at);
        if !sent {
            self.serve(at);
        }
    }

    /// The line of a general port has fallen free.
    pub(super) fn line_free(&mut self, at: u32) {
        let port = &mut self.ports[at as usize];
        let general = port.store.general();
        general.wake_pending = false;
        if port.up && self.now >= general.busy_until {
            self.serve(at);
        }
    }

    /// Sends the next packet of a general port whose line is free.
    pub(super) fn serve(&mut self, at: u32) {
        let mut sent = false;
        while !sent {
            let (taken, turn) = self.ports[at as usize].store.general().pop(self.now);
            self.end_turn(at, turn);
            let Some((queue, queued)) = taken else { return };
            let size = i64::from(queued.size());
            shared_use(&self.ports[at as usize], &mut self.switches, -size);
            sent = self.send(at, queue, queued);
            self.tell_hold(at);
        }
    }

    /// Sends a packet whose turn it is, unless the manager drops it.
    #[inline]
    fn send(&mut self, at: u32, queue: usize, queued: Queued) -> bool {
        if self.ports[at as usize].store.general().asks_at_release {
            match self.ask_at_release(at, queue, queued) {
                Release::Send => {}
                Release::Mark => self.mark(at, queued.handle()),
                Release::Drop => {
                    self.abandon(at, queued, Cause::Manager);
                    return false;
                }
            }
        }
        self.put_on_wire(at, queued);
        true
    }

    /// A turn of a service queue may have ended: the port's manager is told.
    #[inline]
    fn end_turn(&mut self, at: u32, turn: Option<Turn>) {
        let Some(turn) = turn else { return };
        let port = &mut self.ports[at as usize];
        if let Some(aqm) = manager(&mut port.manager, port.switch, &mut self.switches) {
            aqm.turn_ended(turn.queue, turn.since, self.now);
        }
    }

    /// A manager marks a packet that leaves.
    fn mark(&mut self, at: u32, handle: Handle) {
        let packet = &mut self.pool[handle];
        self.counters.marks += u64::from(packet.ecn != Ecn::Congested);
        packet.ecn = Ecn::Congested;
        self.ports[at as usize].stats.marks += u64::from(self.measuring);
    }

    /// What the port's manager says of a packet that is about to leave.
    fn ask_at_release(&mut self, at: u32, queue: usize, queued: Queued) -> Release {
        let now = self.now;
        let port = &mut self.ports[at as usize];
        let general = port.store.general();
        let (total, own) = (general.backlog(now), general.queue(queue, now));
        let view = view(port, queue as u8, own, total);
        let aqm = match manager(&mut port.manager, port.switch, &mut self.switches) {
            Some(aqm) if aqm.needs().release => aqm,
            _ => return Release::Send,
        };
        let packet = &mut self.pool[queued.handle()];
        aqm.release(packet, &view, now - queued.since, now, &mut port.rng)
    }

    #[inline]
    fn put_on_wire(&mut self, at: u32, queued: Queued) {
        let (now, handle) = (self.now, queued.handle());
        let wait = now - queued.since;
        let port = &mut self.ports[at as usize];
        let general = port.store.general();
        let sending = general.transmit(now, queued.size());
        port.line_time += sending.0;
        if self.measuring {
            port.stats.began(queued.size(), wait, sending);
        }
        if queued.counted() {
            port.stats.delayed(wait);
        }
        let mut arrives = now + sending + port.delay;
        if port.special
            && let Some(wire) = &mut port.wire
        {
            arrives = wire.enter(handle, arrives);
        }
        self.calendar.push(arrives, Key::new(Class::Arrival, at), handle);
        if general.has_packets() {
            general.wake_pending = true;
            self.calendar.push(general.busy_until, Key::new(Class::Departure, at), 0);
        }
        // Last, when the line is taken: a balancer that is told may queue a packet of its own here.
        if port.special {
            self.special_departure(at, handle, now, wait);
        }
    }

    /// A queued packet will not be sent after all.
    pub(super) fn abandon(&mut self, at: u32, queued: Queued, cause: Cause) {
        if self.measuring {
            let waited = i128::from((self.now - queued.since).0);
            self.ports[at as usize].stats.correct(queued.size(), -waited);
        }
        self.drop_packet(at, queued.handle(), cause);
    }

    /// A packet ends at a port that did not take it.
    #[cold]
    pub(super) fn drop_packet(&mut self, at: u32, handle: Handle, cause: Cause) {
        self.counters.dropped[cause as usize] += 1;
        self.counters.payload.dropped += u64::from(self.pool[handle].payload);
        self.ports[at as usize].stats.drops += u64::from(self.measuring);
        self.end_packet(handle);
    }

    /// A packet was lost on the wire.
    #[cold]
    pub(super) fn lose(&mut self, port: u32, handle: Handle) {
        self.counters.lost += 1;
        self.counters.payload.lost += u64::from(self.pool[handle].payload);
        self.ports[port as usize].stats.lost += u64::from(self.measuring);
        self.end_packet(handle);
    }
}
