//! A link changes: its rate, its delay, its loss, or whether it is up.

use super::Simulation;
use super::transmit::shared_use;
use crate::output::Cause;
use crate::port::Store;
use leafspine_core::{Pace, PacketMeta};

impl Simulation {
    /// Carries out the `index`-th change, on both directions of its link.
    pub(super) fn change_link(&mut self, index: u32) {
        let change = self.changes[index as usize];
        let link = &self.graph.links[change.link as usize];
        let (ends, was_up) = ([link.a, link.b], self.link_state[change.link as usize].up);
        for end in ends {
            let port = &mut self.ports[end as usize];
            if let Some(rate) = change.rate {
                port.rate = rate;
                if let Store::General(general) = &mut port.store {
                    general.pace = Pace::new(rate);
                }
            }
            if let Some(delay) = change.delay {
                port.delay = delay;
            }
            if let Some(loss) = change.loss {
                self.set_loss(end, loss);
            }
            match change.up {
                Some(false) => self.take_down(end),
                Some(true) if !was_up => self.bring_up(end),
                _ => {}
            }
        }
        let state = &mut self.link_state[change.link as usize];
        state.up = change.up.unwrap_or(state.up);
        state.rate = change.rate.unwrap_or(state.rate);
        state.delay = change.delay.unwrap_or(state.delay);
        if change.up.is_some() || change.rate.is_some() || change.delay.is_some() {
            self.routes.update(&self.graph, &self.link_state);
        }
    }

    /// What waits at the port and what is on the wire is lost.
    fn take_down(&mut self, at: u32) {
        let port = &mut self.ports[at as usize];
        port.up = false;
        if let Some(wire) = &port.wire {
            for handle in &wire.packets {
                self.pool[*handle].notes |= PacketMeta::LOST;
            }
        }
        for queued in port.store.general().flush() {
            let size = i64::from(queued.size());
            shared_use(&self.ports[at as usize], &mut self.switches, -size);
            self.abandon(at, queued, Cause::LinkDown);
        }
        self.tell_hold(at);
    }

    fn bring_up(&mut self, at: u32) {
        self.ports[at as usize].up = true;
    }

    /// The packet at the front of the wire has arrived.
    pub(super) fn leave_wire(&mut self, at: u32) {
        if let Some(wire) = &mut self.ports[at as usize].wire {
            wire.packets.pop_front();
        }
    }
}
