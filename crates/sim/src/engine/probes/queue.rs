//! What waits at ports.

use super::{Columns, port_names};
use crate::output::Column;
use leafspine_core::Time;
use leafspine_fabric::Graph;
use leafspine_schemes::Backlog;

pub(super) struct QueueProbe {
    /// By global number.
    ports: Vec<u32>,
    times: Vec<u64>,
    /// Index into `ports`.
    which: Vec<u32>,
    packets: Vec<u64>,
    bytes: Vec<u64>,
}

impl QueueProbe {
    pub(super) fn new(ports: Vec<u32>) -> QueueProbe {
        let (times, which) = (Vec::new(), Vec::new());
        QueueProbe { ports, times, which, packets: Vec::new(), bytes: Vec::new() }
    }

    pub(super) fn rows(&self) -> usize {
        self.times.len()
    }

    /// `backlog` tells what waits at a port.
    pub(super) fn sample(&mut self, now: Time, mut backlog: impl FnMut(u32) -> Backlog) {
        for (index, at) in (0..).zip(&self.ports) {
            let backlog = backlog(*at);
            self.times.push(now.0);
            self.which.push(index);
            self.packets.push(u64::from(backlog.packets));
            self.bytes.push(u64::from(backlog.bytes));
        }
    }

    pub(super) fn columns(self, graph: &Graph) -> Columns {
        Columns {
            kind: "queue",
            names: port_names(graph, &self.ports),
            columns: vec![
                ("time_ps", Column::U64(self.times)),
                ("port", Column::Index(self.which)),
                ("packets", Column::U64(self.packets)),
                ("bytes", Column::U64(self.bytes)),
            ],
        }
    }
}
