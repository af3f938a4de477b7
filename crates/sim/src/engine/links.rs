//! A link changes: its rate, its delay, its loss, or whether it is up.

use super::Simulation;
use super::build::lossy;
use leafspine_core::Pace;
use leafspine_fabric::{LinkChange, ResolvedChange, restores};
use leafspine_node::Store;
use std::sync::Arc;

impl Simulation {
    /// Whether all that a change sets is what its links were built with.
    #[must_use]
    pub fn restores(&self, change: &LinkChange) -> bool {
        restores(&self.graph, change)
    }

    /// Carries out the `index`-th change, on both directions of its link.
    pub(super) fn change_link(&mut self, index: u32) {
        let change = self.changes[index as usize];
        self.note_fault(&change);
        let link = &self.graph.links[change.link as usize];
        let (ends, before) = ([link.a, link.b], &self.link_state[change.link as usize]);
        let was_up = before.up;
        let other_rate = change.rate.is_some_and(|rate| rate != before.rate);
        for end in ends {
            self.change_port(end, &change);
            match change.up {
                Some(false) => self.take_down(end),
                Some(true) if !was_up => self.bring_up(end),
                _ if other_rate => self.tell_pauses_again(end),
                _ => {}
            }
        }
        let state = &mut self.link_state[change.link as usize];
        state.up = change.up.unwrap_or(state.up);
        state.rate = change.rate.unwrap_or(state.rate);
        state.delay = change.delay.unwrap_or(state.delay);
        if change.up.is_some() || change.rate.is_some() || change.delay.is_some() {
            Arc::make_mut(&mut self.net).routes.update(&self.graph, &self.link_state);
        }
        ends.into_iter().for_each(|end| self.forward_released(end));
    }

    fn change_port(&mut self, end: u32, change: &ResolvedChange) {
        let seed = self.seed;
        let port = self.driver.port_mut(&self.layout, end);
        if let Some(rate) = change.rate {
            port.rate = rate;
            if let Store::General(general) = &mut port.store {
                general.pace = Pace::new(rate);
            }
        }
        if let Some(delay) = change.delay {
            port.delay = delay;
        }
        if let (Some(delay), Some(driver)) = (change.delay, self.driver.linux()) {
            driver.set_delay(end, delay);
        }
        let port = self.driver.port_mut(&self.layout, end);
        if let Some(loss) = change.loss {
            if let Some(lossy) = &mut port.loss {
                lossy.probability = loss;
            } else if loss > 0.0 {
                port.loss = Some(lossy(seed, end, loss));
                port.special = true;
            }
        }
    }

    /// What waits at the port and what is on the wire is lost.
    fn take_down(&mut self, end: u32) {
        self.driver.lose_on_link(end);
        let (node, now, net) = (self.layout.owners[end as usize], self.now, self.net.clone());
        self.driver.with(node, now, &mut |node, mut world| {
            let (egress, at) = node.egress_of(end);
            egress.take_down(at, &net, &mut world);
        });
    }

    fn bring_up(&mut self, end: u32) {
        let (node, now, net) = (self.layout.owners[end as usize], self.now, self.net.clone());
        self.driver.with(node, now, &mut |node, mut world| {
            let (egress, at) = node.egress_of(end);
            egress.bring_up(at, &net, &mut world);
        });
    }

    fn tell_pauses_again(&mut self, end: u32) {
        let (node, now, net) = (self.layout.owners[end as usize], self.now, self.net.clone());
        self.driver.with(node, now, &mut |node, mut world| {
            let (egress, at) = node.egress_of(end);
            egress.tell_again(at, &net, &mut world);
        });
    }

    /// A switch forwards what its hold let go when the link of one of its ports changed.
    fn forward_released(&mut self, end: u32) {
        let (node, now, net) = (self.layout.owners[end as usize], self.now, self.net.clone());
        self.driver.with(node, now, &mut |node, mut world| {
            if let Some(switch) = node.switch_mut() {
                switch.forward_released(&net, &mut world);
            }
        });
    }
}
