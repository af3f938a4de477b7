//! A switch keeps arriving packets back, and lets them go when its port's backlog says so.

use crate::egress::Egress;
use crate::event::{Class, Key};

use crate::switch::Chooser;
use crate::world::World;
use leafspine_core::{Flags, PacketMeta, PortId, SwitchId, Time};
use leafspine_fabric::Owner;
use leafspine_schemes::Backlog;
use leafspine_schemes::hold::{Expired, Held, HoldQueue, Ingress, IngressHold, Unit};

/// Who keeps packets back at a switch.
pub enum Holder {
    /// A scheme of its own.
    Own(Box<dyn IngressHold>),
    /// The switch's balancer.
    Balancer,
}

/// Packets held back, per port, and who decides.
pub struct HoldState {
    /// Who decides.
    pub holder: Holder,
    /// Per port: the packets.
    pub held: Vec<HoldQueue<PacketMeta>>,
}

/// A packet that has been let go and goes on as if it had just arrived.
#[derive(Clone, Copy)]
pub(crate) struct Released {
    pub(crate) from: PortId,
    pub(crate) packet: PacketMeta,
}

fn role<'a>(holder: &'a mut Holder, chooser: &'a mut Option<Chooser>) -> &'a mut dyn IngressHold {
    match holder {
        Holder::Own(hold) => hold.as_mut(),
        Holder::Balancer => {
            let balancer = chooser.as_mut().and_then(|chooser| chooser.balancer.roles().hold());
            balancer.expect("checked when the run was built")
        }
    }
}

/// A backlog in the hold's unit.
fn counted(backlog: Backlog, role: &dyn IngressHold) -> u32 {
    match role.needs().unit {
        Unit::Packets => backlog.packets,
        Unit::Bytes => backlog.bytes,
    }
}

/// A packet as it goes on, with ECE set if so.
fn released(from: PortId, mut packet: PacketMeta, ece: bool) -> Released {
    if ece {
        packet.flags = packet.flags.with(Flags::ECE);
    }
    Released { from, packet }
}

/// Beside the port in an event's item: a packet has been read, not one waited its longest.
const READ: u32 = 1 << 16;

/// Has the switch's hold asked at `at` to let the port's packets go that have waited their longest, or (with
/// [`READ`] in the item) the next that has been read.
fn schedule<W: World>(switch: SwitchId, at: Option<Time>, item: u32, world: &mut W) {
    if let Some(at) = at {
        world.schedule(at, Key::new(Class::HoldExpiry, u32::from(switch.0)), item);
    }
}

impl HoldState {
    /// Nothing held at any of so many ports.
    #[must_use]
    pub fn new(holder: Holder, ports: usize) -> HoldState {
        HoldState { holder, held: (0..ports).map(|_| HoldQueue::default()).collect() }
    }
}

impl Egress {
    /// Whether the packet is kept back.
    pub(crate) fn holds_back<W: World>(
        &mut self,
        switch: SwitchId,
        from: PortId,
        packet: &PacketMeta,
        world: &mut W,
    ) -> bool {
        let Some(hold) = &mut self.hold else { return false };
        let (now, port) = (world.now(), usize::from(from.0));
        let backlog = self.ports[port].backlog(now);
        let HoldState { holder, held } = hold.as_mut();
        let role = role(holder, &mut self.chooser);
        let backlog = counted(backlog, role);
        let queue = &mut held[port];
        let oldest = match role.arrived(packet, from, backlog, now) {
            Ingress::Pass => return false,
            Ingress::Follow if !queue.is_reading() => return false,
            Ingress::Follow => queue.follow(*packet, now, &role.needs()),
            Ingress::Hold => {
                let (oldest, expiry) = queue.keep(*packet, now, &role.needs());
                schedule(switch, expiry, u32::from(from.0), world);
                oldest
            }
        };
        if let Some((packet, ece)) = oldest {
            world.record().counters.hold_overflows += 1;
            self.released.push(released(from, packet, ece));
        }
        true
    }

    /// A port's backlog has changed: whoever holds packets back there decides again.
    #[inline]
    pub(crate) fn tell_hold<W: World>(&mut self, at: PortId, world: &mut W) {
        if self.hold.is_some() {
            self.ask_hold(at, world);
        }
    }

    #[cold]
    fn ask_hold<W: World>(&mut self, at: PortId, world: &mut W) {
        let (Some(hold), Owner::Switch(switch)) = (&mut self.hold, self.owner) else { return };
        let (now, port, item) = (world.now(), usize::from(at.0), u32::from(at.0));
        let backlog = self.ports[port].backlog(now);
        let HoldState { holder, held } = hold.as_mut();
        let role = role(holder, &mut self.chooser);
        let backlog = counted(backlog, role);
        match role.backlog_changed(at, backlog, now) {
            Held::Keep => {}
            Held::Release { ece } => {
                let out = |packet, ece| self.released.push(released(at, packet, ece));
                let read = held[port].release(ece, now, role.needs().pace, out);
                schedule(switch, read, item | READ, world);
            }
            Held::Stop => {
                let expiry = held[port].stop(now, &role.needs());
                schedule(switch, expiry, item, world);
            }
        }
    }

    /// What [`schedule`] has asked for is due: the oldest packet may have waited its longest, or one has been read.
    pub(crate) fn hold_due<W: World>(&mut self, switch: SwitchId, item: u32, world: &mut W) {
        let Some(hold) = &mut self.hold else { return };
        let (now, port) = (world.now(), item & (READ - 1));
        let at = PortId(port as u16);
        let HoldState { holder, held } = hold.as_mut();
        let (role, queue) = (role(holder, &mut self.chooser), &mut held[port as usize]);
        let again = if item & READ == 0 {
            queue.expire(now, &role.needs(), |expired| {
                world.record().counters.hold_expiries += 1;
                if let Expired::Goes(packet, ece) = expired {
                    self.released.push(released(at, packet, ece));
                }
            })
        } else {
            let (next, again) = queue.read(now, role.needs().pace);
            self.released.extend(next.map(|(packet, ece)| released(at, packet, ece)));
            again
        };
        schedule(switch, again, item, world);
    }
}
