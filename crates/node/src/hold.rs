//! A switch keeps arriving packets back, and lets them go when its port's backlog says so.

use crate::egress::Egress;
use crate::event::{Class, Key};
use crate::switch::Chooser;
use crate::world::World;
use leafspine_core::{Flags, PacketMeta, PortId, SwitchId, Time};
use leafspine_schemes::hold::{Held, Ingress, IngressHold};
use std::collections::VecDeque;

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
    /// Per port: the packets, oldest first, and since when.
    pub held: Vec<VecDeque<(PacketMeta, Time)>>,
    /// Per port: whether an expiry event is pending.
    pub expiry_pending: Vec<bool>,
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

/// Sets ECE.
fn echo(packet: &mut PacketMeta) {
    packet.flags = packet.flags.with(Flags::ECE);
}

impl HoldState {
    /// Nothing held at any of so many ports.
    #[must_use]
    pub fn new(holder: Holder, ports: usize) -> HoldState {
        HoldState {
            holder,
            held: (0..ports).map(|_| VecDeque::new()).collect(),
            expiry_pending: vec![false; ports],
        }
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
        let backlog = self.ports[port].backlog(now).packets;
        let HoldState { holder, held, expiry_pending } = hold.as_mut();
        let role = role(holder, &mut self.chooser);
        if role.arrived(packet, from, backlog, now) == Ingress::Pass {
            return false;
        }
        let needs = role.needs();
        let queue = &mut held[port];
        let oldest = if queue.len() >= needs.capacity { queue.pop_front() } else { None };
        queue.push_back((*packet, now));
        if let Some(limit) = needs.max_hold
            && !std::mem::replace(&mut expiry_pending[port], true)
        {
            let key = Key::new(Class::HoldExpiry, u32::from(switch.0));
            world.schedule(now + limit, key, u32::from(from.0));
        }
        if let Some((mut packet, _)) = oldest {
            world.record().counters.hold_overflows += 1;
            if needs.ece_when_forced {
                echo(&mut packet);
            }
            self.released.push(Released { from, packet });
        }
        true
    }

    /// A port's backlog has changed: whoever holds packets back there decides again.
    #[inline]
    pub(crate) fn tell_hold<W: World>(&mut self, at: PortId, world: &mut W) {
        if self.hold.is_some() {
            self.ask_hold(at, world.now());
        }
    }

    #[cold]
    fn ask_hold(&mut self, at: PortId, now: Time) {
        let Some(hold) = &mut self.hold else { return };
        let port = usize::from(at.0);
        let backlog = self.ports[port].backlog(now).packets;
        let HoldState { holder, held, .. } = hold.as_mut();
        let verdict = role(holder, &mut self.chooser).backlog_changed(at, backlog, now);
        if let Held::Release { ece } = verdict {
            for (mut packet, _) in held[port].drain(..) {
                if ece {
                    echo(&mut packet);
                }
                self.released.push(Released { from: at, packet });
            }
        }
    }

    /// The oldest held packet of a port may have waited its longest.
    pub(crate) fn hold_expired<W: World>(&mut self, switch: SwitchId, at: PortId, world: &mut W) {
        let Some(hold) = &mut self.hold else { return };
        let (now, port) = (world.now(), usize::from(at.0));
        let HoldState { holder, held, expiry_pending } = hold.as_mut();
        expiry_pending[port] = false;
        let needs = role(holder, &mut self.chooser).needs();
        let Some(limit) = needs.max_hold else { return };
        let ece = needs.ece_when_forced;
        while let Some((mut packet, since)) = held[port].front().copied() {
            if since + limit > now {
                expiry_pending[port] = true;
                let key = Key::new(Class::HoldExpiry, u32::from(switch.0));
                return world.schedule(since + limit, key, u32::from(at.0));
            }
            held[port].pop_front();
            world.record().counters.hold_expiries += 1;
            if ece {
                echo(&mut packet);
            }
            self.released.push(Released { from: at, packet });
        }
    }
}
