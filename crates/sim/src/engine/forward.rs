//! A switch takes a packet in and chooses where it goes.

use super::Simulation;
use super::fault::FaultKind;
use crate::calendar::{Class, Key};
use crate::output::Cause;
use crate::pool::Handle;
use crate::port::SwitchPorts;
use leafspine_core::{PortId, Rng, SwitchId, Time, TorId};
use leafspine_schemes::Context;
use leafspine_schemes::hold::IngressHold;
use leafspine_schemes::lb::{Arrival, LoadBalancer, Needs};
use std::collections::VecDeque;

/// A buffer that all ports of a switch share.
pub(super) struct Shared {
    pub(super) size: u64,
    pub(super) used: u64,
    pub(super) alpha: f64,
}

/// Who holds packets back at a switch.
pub(super) enum Holder {
    Own(Box<dyn IngressHold>),
    Balancer,
}

/// Packets held back, per port, and who decides.
pub(super) struct HoldState {
    pub(super) holder: Holder,
    pub(super) held: Vec<VecDeque<(Handle, Time)>>,
    /// Per port: whether an expiry event is pending.
    pub(super) expiry_pending: Vec<bool>,
}

/// A switch. What every packet needs comes first, in one cache line.
#[repr(C, align(64))]
pub(super) struct SwitchState {
    pub(super) first_port: u32,
    pub(super) ports: u32,
    /// Its number among the switches with hosts; `NO_TOR` if it has none.
    pub(super) tor: u16,
    pub(super) needs: Needs,
    pub(super) hold: Option<Box<HoldState>>,
    pub(super) balancer: Box<dyn LoadBalancer>,
    pub(super) rng: Rng,
    pub(super) shared: Option<Shared>,
}

/// How deep a balancer may send packets about packets that it has just sent. Each level is a few
/// calls of the engine's own.
const MOST_NESTED: u32 = 256;

/// `SwitchState::tor` of switches without hosts.
pub(super) const NO_TOR: u16 = u16::MAX;

/// Whether `port` is among `paths`, of which there is one at least. They ascend, mostly without a gap:
/// so it is looked for where it would be then, which takes no loop whose length nobody can predict.
#[inline]
fn is_path(paths: &[PortId], port: PortId) -> bool {
    let guess = usize::from(port.0.wrapping_sub(paths[0].0));
    paths.get(guess) == Some(&port) || paths.contains(&port)
}

/// Calls a balancer with its context. What it puts into the outbox is for the caller to send.
macro_rules! ask {
    ($self:ident, $switch:expr, |$balancer:ident, $cx:ident| $call:expr) => {{
        let state = &mut $self.switches[$switch as usize];
        let first = state.first_port as usize;
        let mut ports = SwitchPorts {
            ports: &mut $self.ports[first..first + state.ports as usize],
            now: $self.now,
        };
        let mut $cx = Context {
            now: $self.now,
            rng: &mut state.rng,
            ports: &mut ports,
            outbox: &mut $self.outbox,
        };
        let $balancer = &mut state.balancer;
        $call
    }};
}

impl Simulation {
    /// A packet has come in by a switch's port.
    #[inline]
    pub(super) fn enter_switch(&mut self, switch: u32, from: PortId, handle: Handle) {
        let state = &self.switches[switch as usize];
        if state.hold.is_some() && self.held_back(switch, from, handle) {
            return;
        }
        self.pass(switch, from, handle);
    }

    /// A packet that is not (or no longer) held goes on to the output.
    #[inline]
    pub(super) fn pass(&mut self, switch: u32, from: PortId, handle: Handle) {
        if self.switches[switch as usize].needs.arrived {
            let arrival = ask!(self, switch, |balancer, cx| {
                balancer.arrived(&mut self.pool[handle], from, &mut cx)
            });
            self.send_outbox(switch);
            if arrival == Arrival::Consume {
                self.counters.consumed += 1;
                self.counters.payload.consumed += u64::from(self.pool[handle].payload);
                return self.pool.free(handle);
            }
        }
        let (tor, local) = self.places[usize::from(self.pool[handle].dst().0)];
        let state = &self.switches[switch as usize];
        if tor == state.tor {
            let port = state.first_port + u32::from(local.0);
            return self.enqueue(port, handle);
        }
        let paths = self.routes.paths(SwitchId(switch as u16), TorId(tor));
        let port = match paths.ports {
            [] => {
                let port = state.first_port + u32::from(from.0);
                return self.drop_packet(port, handle, Cause::NoRoute);
            }
            [only] if !state.needs.every_packet => {
                let only = *only;
                if state.tor != NO_TOR {
                    self.note_path(switch, handle, only);
                }
                only
            }
            _ => {
                let picked = ask!(self, switch, |balancer, cx| {
                    balancer.pick(&mut self.pool[handle], &paths, &mut cx)
                });
                let picked = match is_path(paths.ports, picked) {
                    true => picked,
                    false => self.astray(switch, TorId(tor), picked),
                };
                self.note_path(switch, handle, picked);
                self.send_outbox(switch);
                picked
            }
        };
        let port = self.switches[switch as usize].first_port + u32::from(port.0);
        self.enqueue(port, handle);
    }

    /// A balancer picked what is no path, which ends the run. Gives the path that the packet takes
    /// until then.
    #[cold]
    fn astray(&mut self, switch: u32, to: TorId, port: PortId) -> PortId {
        let paths = self.routes.paths(SwitchId(switch as u16), to).ports.to_vec();
        let first = paths[0];
        let scheme = self.balancer.clone();
        self.fail(self.switch_name(switch), FaultKind::NoPath { scheme, port, paths });
        first
    }

    fn switch_name(&self, switch: u32) -> String {
        self.graph.switches[switch as usize].name.clone()
    }

    /// Counts a flow's change of uplink at its source's switch.
    #[inline]
    fn note_path(&mut self, switch: u32, handle: Handle, picked: PortId) {
        let packet = &self.pool[handle];
        let source = self.places[usize::from(packet.src().0)].0;
        if packet.is_data() && source == self.switches[switch as usize].tor {
            self.endpoints.note_uplink(packet.flow, picked);
        }
    }

    pub(super) fn tell_leaving(&mut self, switch: u16, to: PortId, handle: Handle, at: Time) {
        ask!(self, switch, |balancer, cx| {
            balancer.leaving(&mut self.pool[handle], to, at, &mut cx);
        });
        self.send_outbox(u32::from(switch));
    }

    /// Time-driven work of a balancer.
    pub(super) fn tick(&mut self, switch: u32) {
        let again = ask!(self, switch, |balancer, cx| balancer.tick(&mut cx));
        self.send_outbox(switch);
        if let Some(time) = again {
            if time <= self.now {
                return self.fail(self.switch_name(switch), FaultKind::Backward(time));
            }
            self.calendar.push(time, Key::new(Class::Tick, switch), 0);
        }
    }

    /// Sends what a balancer has made. Queueing a packet may make the balancer send more: that goes
    /// into a box of its own.
    #[inline]
    fn send_outbox(&mut self, switch: u32) {
        if !self.outbox.is_empty() {
            self.empty_outbox(switch);
        }
    }

    #[cold]
    fn empty_outbox(&mut self, switch: u32) {
        let mut outbox = std::mem::take(&mut self.outbox);
        self.nested += 1;
        if self.nested > MOST_NESTED {
            outbox.clear();
            let (scheme, depth) = (self.balancer.clone(), MOST_NESTED);
            self.fail(self.switch_name(switch), FaultKind::Endless { scheme, depth });
        }
        let SwitchState { first_port, ports, .. } = self.switches[switch as usize];
        for (port, packet) in outbox.drain(..) {
            let at = first_port + u32::from(port.0);
            if u32::from(port.0) >= ports {
                let scheme = self.balancer.clone();
                self.fail(self.switch_name(switch), FaultKind::NoPort { scheme, port, ports });
                continue;
            }
            self.counters.injected += 1;
            self.counters.payload.sent += u64::from(packet.payload);
            let handle = self.pool.put(packet);
            self.enqueue(at, handle);
        }
        self.nested -= 1;
        self.outbox = outbox;
    }
}
