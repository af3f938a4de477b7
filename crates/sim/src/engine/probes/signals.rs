//! How many packets ports have marked, dropped and trimmed since the last sample.

use super::{Columns, port_names};
use crate::output::Column;
use leafspine_core::Time;
use leafspine_fabric::Graph;
use leafspine_node::Signals;

pub(super) struct SignalsProbe {
    /// By global number.
    ports: Vec<u32>,
    /// Of each port: all until the last sample.
    before: Vec<Signals>,
    times: Vec<u64>,
    /// Index into `ports`.
    which: Vec<u32>,
    marks: Vec<u64>,
    drops: Vec<u64>,
    trims: Vec<u64>,
}

impl SignalsProbe {
    pub(super) fn new(ports: Vec<u32>) -> SignalsProbe {
        let (times, which) = (Vec::new(), Vec::new());
        let before = vec![Signals::default(); ports.len()];
        let [marks, drops, trims] = [(); 3].map(|()| Vec::new());
        SignalsProbe { ports, before, times, which, marks, drops, trims }
    }

    pub(super) fn rows(&self) -> usize {
        self.times.len()
    }

    /// `ever` tells what a port has marked, dropped and trimmed since the run began.
    pub(super) fn sample(&mut self, now: Time, mut ever: impl FnMut(u32) -> Signals) {
        for ((index, at), before) in (0..).zip(&self.ports).zip(&mut self.before) {
            let all = ever(*at);
            self.times.push(now.0);
            self.which.push(index);
            self.marks.push(all.marks - before.marks);
            self.drops.push(all.drops - before.drops);
            self.trims.push(all.trims - before.trims);
            *before = all;
        }
    }

    pub(super) fn columns(self, graph: &Graph) -> Columns {
        Columns {
            kind: "signals",
            names: port_names(graph, &self.ports),
            columns: vec![
                ("time_ps", Column::U64(self.times)),
                ("port", Column::Index(self.which)),
                ("marks", Column::U64(self.marks)),
                ("drops", Column::U64(self.drops)),
                ("trims", Column::U64(self.trims)),
            ],
        }
    }
}
