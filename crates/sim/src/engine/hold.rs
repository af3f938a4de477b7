//! A switch keeps arriving packets back, and lets them go when its port's backlog says so.

use super::Simulation;
use super::forward::{HoldState, Holder};
use crate::calendar::{Class, Key};
use crate::pool::{Handle, Pool};
use leafspine_core::{Flags, PortId};
use leafspine_schemes::hold::{Held, Ingress, IngressHold};
use leafspine_schemes::lb::LoadBalancer;

/// A packet that has been let go and goes on as if it had just arrived.
#[derive(Clone, Copy)]
pub(super) struct Released {
    switch: u32,
    from: PortId,
    handle: Handle,
}

fn holder<'a>(
    holder: &'a mut Holder,
    balancer: &'a mut dyn LoadBalancer,
) -> &'a mut dyn IngressHold {
    match holder {
        Holder::Own(hold) => hold.as_mut(),
        Holder::Balancer => balancer.roles().hold().expect("checked when the run was built"),
    }
}

/// Sets ECE.
fn echo(pool: &mut Pool, handle: Handle) {
    let packet = &mut pool[handle];
    packet.flags = packet.flags.with(Flags::ECE);
}

impl Simulation {
    /// Whether the packet is kept back.
    pub(super) fn held_back(&mut self, switch: u32, from: PortId, handle: Handle) -> bool {
        let now = self.now;
        let state = &mut self.switches[switch as usize];
        let port = state.first_port + u32::from(from.0);
        let backlog = self.ports[port as usize].backlog(now).packets;
        let Some(hold) = &mut state.hold else { return false };
        let HoldState { holder: role, held, expiry_pending } = hold.as_mut();
        let role = holder(role, state.balancer.as_mut());
        if role.arrived(&self.pool[handle], from, backlog, now) == Ingress::Pass {
            return false;
        }
        let needs = role.needs();
        let queue = &mut held[usize::from(from.0)];
        let oldest = if queue.len() >= needs.capacity { queue.pop_front() } else { None };
        queue.push_back((handle, now));
        if let Some(limit) = needs.max_hold
            && !std::mem::replace(&mut expiry_pending[usize::from(from.0)], true)
        {
            let key = Key::new(Class::HoldExpiry, switch);
            self.calendar.push(now + limit, key, u32::from(from.0));
        }
        if let Some((handle, _)) = oldest {
            self.counters.hold_overflows += 1;
            if needs.ece_when_forced {
                echo(&mut self.pool, handle);
            }
            self.released.push(Released { switch, from, handle });
        }
        true
    }

    /// A port's backlog has changed: whoever holds packets back there is asked.
    #[inline]
    pub(super) fn tell_hold(&mut self, at: u32) {
        if self.ports[at as usize].has_hold {
            self.ask_hold(at);
        }
    }

    #[cold]
    fn ask_hold(&mut self, at: u32) {
        let now = self.now;
        let port = &mut self.ports[at as usize];
        let (switch, local) = (port.switch, port.local);
        let backlog = port.backlog(now).packets;
        let state = &mut self.switches[usize::from(switch)];
        let Some(hold) = &mut state.hold else { return };
        let HoldState { holder: role, held, .. } = hold.as_mut();
        let verdict = holder(role, state.balancer.as_mut()).backlog_changed(local, backlog, now);
        if let Held::Release { ece } = verdict {
            for (handle, _) in held[usize::from(local.0)].drain(..) {
                if ece {
                    echo(&mut self.pool, handle);
                }
                self.released.push(Released { switch: u32::from(switch), from: local, handle });
            }
        }
    }

    /// The oldest held packet of a port may have waited its longest.
    pub(super) fn hold_expired(&mut self, switch: u32, port: u32) {
        let now = self.now;
        let state = &mut self.switches[switch as usize];
        let Some(hold) = &mut state.hold else { return };
        let HoldState { holder: role, held, expiry_pending } = hold.as_mut();
        expiry_pending[port as usize] = false;
        let needs = holder(role, state.balancer.as_mut()).needs();
        let Some(limit) = needs.max_hold else { return };
        let ece = needs.ece_when_forced;
        let queue = &mut held[port as usize];
        while let Some((handle, since)) = queue.front().copied() {
            if since + limit > now {
                expiry_pending[port as usize] = true;
                self.calendar.push(since + limit, Key::new(Class::HoldExpiry, switch), port);
                return;
            }
            queue.pop_front();
            self.counters.hold_expiries += 1;
            if ece {
                echo(&mut self.pool, handle);
            }
            self.released.push(Released { switch, from: PortId(port as u16), handle });
        }
    }

    /// Forwards what has been let go. Forwarding may let go more; it is a list, not a recursion.
    pub(super) fn forward_released(&mut self) {
        let mut next = 0;
        while next < self.released.len() {
            let Released { switch, from, handle } = self.released[next];
            next += 1;
            self.pass(switch, from, handle);
        }
        self.released.clear();
    }
}
