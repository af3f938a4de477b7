//! Frames sent and frames obeyed.

use super::{Frame, NO_INGRESS, PAUSED_BYTES, PRIORITIES};
use crate::egress::{Departure, Egress};
use crate::event::{Class, Key};
use crate::network::Network;
use crate::world::World;
use leafspine_core::{PortId, Rate, Span, Time};

/// What a flow-control event is about, as its item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    /// A pause that has not been renewed ends.
    Expiry(usize),
    /// The far end is told again to stop.
    Renewal(usize),
    /// The watchdog looks at a queue that was paused.
    Detection(usize),
    /// The watchdog looks whether a storm is over.
    Restoration(usize),
}

impl Due {
    pub(crate) fn item(self) -> u32 {
        let (kind, priority) = match self {
            Due::Expiry(priority) => (0, priority),
            Due::Renewal(priority) => (1, priority),
            Due::Detection(priority) => (2, priority),
            Due::Restoration(priority) => (3, priority),
        };
        (kind * PRIORITIES + priority) as u32
    }

    fn of(item: u32) -> Due {
        let (kind, priority) = (item as usize / PRIORITIES, item as usize % PRIORITIES);
        match kind {
            0 => Due::Expiry(priority),
            1 => Due::Renewal(priority),
            2 => Due::Detection(priority),
            _ => Due::Restoration(priority),
        }
    }
}

/// The longest pause that a frame asks for, at a line's rate.
fn longest(rate: Rate) -> Span {
    rate.time_for(PAUSED_BYTES)
}

impl Egress {
    fn plan<W: World>(&self, at: PortId, time: Time, due: Due, world: &mut W) {
        world.schedule(time, Key::new(Class::Pause, self.global(at)), due.item());
    }

    /// A flow-control event of a port.
    pub(crate) fn pause_due<W: World>(
        &mut self,
        at: PortId,
        item: u32,
        net: &Network,
        world: &mut W,
    ) {
        match Due::of(item) {
            Due::Expiry(priority) => self.expire(at, priority, net, world),
            Due::Renewal(priority) => self.renew(at, priority, net, world),
            Due::Detection(priority) => self.detect(at, priority, net, world),
            Due::Restoration(priority) => self.restore(at, priority, net, world),
        }
    }

    /// What has come in by a port of one priority is now more, or less, than before: its far end is
    /// told if it should know.
    #[inline(always)]
    pub(crate) fn tell_far_end<W: World>(
        &mut self,
        from: u16,
        priority: u8,
        net: &Network,
        world: &mut W,
    ) {
        if from != NO_INGRESS
            && let Some(pfc) = &self.pfc
            && pfc.ports[usize::from(from)].may_tell(usize::from(priority))
        {
            self.tell_what_differs(from, priority, net, world);
        }
    }

    #[inline(never)]
    fn tell_what_differs<W: World>(
        &mut self,
        from: u16,
        priority: u8,
        net: &Network,
        world: &mut W,
    ) {
        let Some(pfc) = &mut self.pfc else { return };
        let port = &mut pfc.ports[usize::from(from)];
        let group = &port.groups[usize::from(priority)];
        let differs = u8::from(group.stop != group.announced) << priority;
        let pending = port.pending & !(1 << priority) | differs;
        if pending == port.pending {
            return;
        }
        port.pending = pending;
        if pending != 0 {
            self.send_frame_soon(PortId(from), net, world);
        }
    }

    /// Sends the frame that a port has to send, or sees that it is sent when the line has done what it is doing.
    fn send_frame_soon<W: World>(&mut self, at: PortId, net: &Network, world: &mut W) {
        let (now, global) = (world.now(), self.global(at));
        let port = self.port(at);
        if !port.up {
            return;
        }
        let general = port.store.general();
        if general.wake_pending {
            // The line is busy, or it is about to be told that it is not.
            return;
        }
        if now >= general.busy_until {
            self.sends_frame(at, net, world);
        } else {
            general.wake_pending = true;
            world.schedule(general.busy_until, Key::new(Class::Departure, global), 0);
        }
    }

    /// Whether a port has a frame to send.
    #[inline]
    pub(crate) fn has_frame(&self, at: PortId) -> bool {
        let port = self.pfc.as_ref().and_then(|pfc| pfc.ports.get(usize::from(at.0)));
        port.is_some_and(|port| port.pending | port.renew != 0)
    }

    /// Sends the frame that a port has to send, if there is one. The line is idle.
    pub(crate) fn sends_frame<W: World>(
        &mut self,
        at: PortId,
        net: &Network,
        world: &mut W,
    ) -> bool {
        let now = world.now();
        let Some(pfc) = &mut self.pfc else { return false };
        let Some(port) = pfc.ports.get_mut(usize::from(at.0)) else { return false };
        let about = std::mem::take(&mut port.pending) | std::mem::take(&mut port.renew);
        if about == 0 {
            return false;
        }
        let lasts = longest(self.ports[usize::from(at.0)].rate);
        let mut frame = Frame { about, stop: 0, lasts };
        let again = now + Span(lasts.0 / 2);
        let mut renewals = 0u8;
        for (priority, group) in port.groups.iter_mut().enumerate() {
            if frame.about >> priority & 1 == 0 {
                continue;
            }
            group.announced = group.stop;
            if group.stop {
                frame.stop |= 1 << priority;
                group.again = again;
                // A look that comes too early is followed by another.
                renewals |= u8::from(again < group.look) << priority;
                group.look = group.look.min(again);
            }
        }
        for priority in (0..PRIORITIES).filter(|priority| renewals >> priority & 1 == 1) {
            self.plan(at, again, Due::Renewal(priority), world);
        }
        self.put_frame_on_wire(at, frame, net, world);
        true
    }

    fn put_frame_on_wire<W: World>(
        &mut self,
        at: PortId,
        frame: Frame,
        net: &Network,
        world: &mut W,
    ) {
        let (now, global) = (world.now(), self.global(at));
        let mut packet = frame.packet();
        let record = world.record();
        record.injected(&packet);
        record.counters.pause_frames += 1;
        let port = self.port(at);
        let general = port.store.general();
        let sending = general.transmit(now, u32::from(Frame::BYTES));
        port.line_time += sending.0;
        if net.measuring {
            port.stats.busy += sending.0 as i64;
        }
        let arrives = now + sending + port.delay;
        if general.can_send() && !std::mem::replace(&mut general.wake_pending, true) {
            world.schedule(general.busy_until, Key::new(Class::Departure, global), 0);
        }
        if port.special {
            let departure = Departure { start: now, wait: Span::ZERO, arrives };
            return self.depart_specially(at, &mut packet, departure, net, world);
        }
        world.deliver(port.link, arrives, &packet);
    }

    /// The far end still has to stop, and is told so before the pause is over.
    fn renew<W: World>(&mut self, at: PortId, priority: usize, net: &Network, world: &mut W) {
        let now = world.now();
        let Some(pfc) = &mut self.pfc else { return };
        let port = &mut pfc.ports[usize::from(at.0)];
        let group = &mut port.groups[priority];
        if now != group.look {
            return;
        }
        group.look = Time::MAX;
        if !(group.stop && group.announced) {
            return;
        }
        if now < group.again {
            let again = group.again;
            group.look = again;
            return self.plan(at, again, Due::Renewal(priority), world);
        }
        port.renew |= 1 << priority;
        self.send_frame_soon(at, net, world);
    }

    /// The rate of a port's link is another one now. Who has been told to stop is told again, for as
    /// long as a pause lasts at this rate: the renewal that was planned may be too late, behind a
    /// packet that takes much longer than before.
    pub fn tell_again<W: World>(&mut self, at: PortId, net: &Network, world: &mut W) {
        let Some(pfc) = &mut self.pfc else { return };
        let Some(port) = pfc.ports.get_mut(usize::from(at.0)) else { return };
        for (priority, group) in port.groups.iter().enumerate() {
            port.renew |= u8::from(group.stop && group.announced) << priority;
        }
        if port.renew != 0 {
            self.send_frame_soon(at, net, world);
        }
    }

    /// A pause frame has come from the far end of a port's link.
    pub(crate) fn obey<W: World>(
        &mut self,
        at: PortId,
        frame: Frame,
        net: &Network,
        world: &mut W,
    ) {
        let now = world.now();
        let watchdog = self.pfc.as_ref().and_then(|pfc| pfc.watchdog);
        let watchdog = watchdog.filter(|_| self.chooser.is_some());
        let end = now + frame.lasts;
        let mut resumed = false;
        for (priority, stop) in frame.orders() {
            let general = self.port(at).store.general();
            if !stop {
                resumed |= self.end_pause(at, priority, world);
                continue;
            }
            let begins = general.pause(priority, now, end);
            if begins.expiry {
                self.plan(at, end, Due::Expiry(priority), world);
            }
            if let (true, Some(watchdog)) = (begins.first, watchdog) {
                self.plan(at, now + watchdog.detect, Due::Detection(priority), world);
            }
        }
        if resumed {
            self.go_on(at, net, world);
        }
    }

    /// A priority may be sent again. Whether it was paused.
    fn end_pause<W: World>(&mut self, at: PortId, priority: usize, world: &mut W) -> bool {
        let now = world.now();
        let restore =
            self.pfc.as_ref().and_then(|pfc| pfc.watchdog).map(|watchdog| watchdog.restore);
        let general = self.port(at).store.general();
        let ended = general.resume(priority, now);
        if let (true, Some(restore)) = (ended && general.in_storm(priority), restore) {
            self.plan(at, now + restore, Due::Restoration(priority), world);
        }
        ended
    }

    /// A pause has not been renewed.
    fn expire<W: World>(&mut self, at: PortId, priority: usize, net: &Network, world: &mut W) {
        let now = world.now();
        match self.port(at).store.general().expiry(priority, now) {
            Some(later) => self.plan(at, later, Due::Expiry(priority), world),
            None => {
                if self.end_pause(at, priority, world) {
                    self.go_on(at, net, world);
                }
            }
        }
    }

    /// Some priority may be sent that was paused.
    pub(crate) fn go_on<W: World>(&mut self, at: PortId, net: &Network, world: &mut W) {
        let (now, global) = (world.now(), self.global(at));
        let port = self.port(at);
        let general = port.store.general();
        if !port.up || general.wake_pending || !general.can_send() {
            return;
        }
        if now < general.busy_until {
            general.wake_pending = true;
            world.schedule(general.busy_until, Key::new(Class::Departure, global), 0);
        } else {
            self.serve(at, net, world);
        }
    }

    /// The link of a port has gone down: neither end is paused when it comes up. A storm is over when the queue has
    /// not been paused for the restoration time, as after any other pause.
    pub(crate) fn forget_pauses<W: World>(&mut self, at: PortId, world: &mut W) {
        for priority in 0..PRIORITIES {
            self.end_pause(at, priority, world);
        }
        let Some(pfc) = &mut self.pfc else { return };
        if let Some(port) = pfc.ports.get_mut(usize::from(at.0)) {
            (port.pending, port.renew) = (0, 0);
            port.groups.iter_mut().for_each(|group| group.announced = false);
        }
    }

    /// The link of a port has come up: its far end is told at once to stop what still has too much here, not when
    /// the next packet of it has come.
    pub(crate) fn tell_anew<W: World>(&mut self, at: PortId, net: &Network, world: &mut W) {
        let Some(pfc) = &mut self.pfc else { return };
        let Some(port) = pfc.ports.get_mut(usize::from(at.0)) else { return };
        for (priority, group) in port.groups.iter().enumerate() {
            port.pending |= u8::from(group.stop) << priority;
        }
        if port.pending != 0 {
            self.send_frame_soon(at, net, world);
        }
    }
}
