//! For what share of the time since the last sample a line has been sending.

use super::{Columns, port_names};
use crate::output::Column;
use leafspine_core::{Span, Time};
use leafspine_fabric::Graph;

pub(super) struct UtilisationProbe {
    /// By global number.
    ports: Vec<u32>,
    /// The time between two samples.
    every: Span,
    /// Of each port: for how long it had been sending at the last sample.
    before: Vec<u64>,
    times: Vec<u64>,
    /// Index into `ports`.
    which: Vec<u32>,
    shares: Vec<f64>,
}

impl UtilisationProbe {
    pub(super) fn new(ports: Vec<u32>, every: Span) -> UtilisationProbe {
        let (times, which, shares) = (Vec::new(), Vec::new(), Vec::new());
        UtilisationProbe { before: vec![0; ports.len()], ports, every, times, which, shares }
    }

    pub(super) fn rows(&self) -> usize {
        self.times.len()
    }

    /// `sent_until` tells for how long a port's line has been sending.
    pub(super) fn sample(&mut self, now: Time, mut sent_until: impl FnMut(u32) -> u64) {
        for ((index, at), before) in (0..).zip(&self.ports).zip(&mut self.before) {
            let sent = sent_until(*at);
            self.times.push(now.0);
            self.which.push(index);
            self.shares.push((sent - *before) as f64 / self.every.0 as f64);
            *before = sent;
        }
    }

    pub(super) fn columns(self, graph: &Graph) -> Columns {
        Columns {
            kind: "utilisation",
            names: port_names(graph, &self.ports),
            columns: vec![
                ("time_ps", Column::U64(self.times)),
                ("port", Column::Index(self.which)),
                ("utilisation", Column::F64(self.shares)),
            ],
        }
    }
}
