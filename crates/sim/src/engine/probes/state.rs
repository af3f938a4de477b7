//! What balancers keep at their switches, and how the flows under way share the slots of their
//! tables.

use super::Columns;
use crate::engine::Simulation;
use crate::output::Column;
use leafspine_core::{Span, SwitchId, Time};
use leafspine_fabric::{Graph, Owner};

#[derive(Default)]
pub(super) struct StateProbe {
    switches: Vec<u32>,
    times: Vec<u64>,
    /// Index into `switches`.
    which: Vec<u32>,
    bytes: Vec<u64>,
    slots: Vec<u32>,
    occupied: Vec<u32>,
    flows: Vec<u32>,
    sharing: Vec<u32>,
    /// In picoseconds; NaN where a balancer has no information or needs none.
    ages: Vec<f64>,
    /// Likewise.
    delays: Vec<f64>,
}

impl StateProbe {
    /// Of the switches that have one of `ports`.
    pub(super) fn new(ports: &[u32], graph: &Graph) -> StateProbe {
        let owner = |at: &u32| match graph.ports[*at as usize].owner {
            Owner::Switch(id) => Some(u32::from(id.0)),
            Owner::Host(_) => None,
        };
        let mut switches: Vec<u32> = ports.iter().filter_map(owner).collect();
        switches.sort_unstable();
        switches.dedup();
        StateProbe { switches, ..StateProbe::default() }
    }

    pub(super) fn rows(&self) -> usize {
        self.times.len()
    }

    pub(super) fn sample(&mut self, now: Time, run: &mut Simulation) {
        for (index, switch) in (0..).zip(&self.switches) {
            let (flows, sharing) = run.shared_at(SwitchId(*switch as u16));
            let balancer = run.driver.switch(SwitchId(*switch as u16)).chooser().balancer.inspect();
            let found = balancer.footprint(now);
            let ps = |span: Option<Span>| span.map_or(f64::NAN, |span| span.0 as f64);
            let (age, delay) = (balancer.information_age(now), balancer.decision_delay(now));
            self.times.push(now.0);
            self.which.push(index);
            self.bytes.push(found.bytes);
            self.slots.push(found.slots);
            self.occupied.push(found.occupied);
            self.flows.push(flows as u32);
            self.sharing.push(sharing as u32);
            self.ages.push(ps(age));
            self.delays.push(ps(delay));
        }
    }

    pub(super) fn columns(self, graph: &Graph) -> Columns {
        let name = |id: &u32| graph.switches[*id as usize].name.clone();
        Columns {
            kind: "state",
            names: self.switches.iter().map(name).collect(),
            columns: vec![
                ("time_ps", Column::U64(self.times)),
                ("switch", Column::Index(self.which)),
                ("bytes", Column::U64(self.bytes)),
                ("slots", Column::U32(self.slots)),
                ("occupied", Column::U32(self.occupied)),
                ("flows", Column::U32(self.flows)),
                ("sharing", Column::U32(self.sharing)),
                ("information_age_ps", Column::F64(self.ages)),
                ("decision_delay_ps", Column::F64(self.delays)),
            ],
        }
    }
}
