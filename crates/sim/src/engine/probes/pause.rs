//! For how long ports were paused since the last sample, and how often.

use super::{Columns, port_names};
use crate::output::Column;
use leafspine_core::{Span, Time};
use leafspine_fabric::Graph;

pub(super) struct PauseProbe {
    /// By global number.
    ports: Vec<u32>,
    /// Of each port: all until the last sample.
    before: Vec<(Span, u64)>,
    times: Vec<u64>,
    /// Index into `ports`.
    which: Vec<u32>,
    paused: Vec<u64>,
    pauses: Vec<u64>,
}

impl PauseProbe {
    pub(super) fn new(ports: Vec<u32>) -> PauseProbe {
        let before = vec![(Span::ZERO, 0); ports.len()];
        let (times, which) = (Vec::new(), Vec::new());
        PauseProbe { ports, before, times, which, paused: Vec::new(), pauses: Vec::new() }
    }

    pub(super) fn rows(&self) -> usize {
        self.times.len()
    }

    /// `ever` tells for how long a port has been paused since the run began, and how often.
    pub(super) fn sample(&mut self, now: Time, mut ever: impl FnMut(u32) -> (Span, u64)) {
        for ((index, at), before) in (0..).zip(&self.ports).zip(&mut self.before) {
            let (time, count) = ever(*at);
            self.times.push(now.0);
            self.which.push(index);
            self.paused.push(time.0 - before.0.0);
            self.pauses.push(count - before.1);
            *before = (time, count);
        }
    }

    pub(super) fn columns(self, graph: &Graph) -> Columns {
        Columns {
            kind: "pause",
            names: port_names(graph, &self.ports),
            columns: vec![
                ("time_ps", Column::U64(self.times)),
                ("port", Column::Index(self.which)),
                ("paused_ps", Column::U64(self.paused)),
                ("pauses", Column::U64(self.pauses)),
            ],
        }
    }
}
