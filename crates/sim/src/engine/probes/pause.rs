//! For how long ports were paused since the last sample, and how often.

use super::{Columns, port_names};
use crate::output::Column;
use leafspine_core::{Span, Time};
use leafspine_fabric::Graph;
use leafspine_node::pfc::PRIORITIES;

pub(super) struct PauseProbe {
    /// By global number.
    ports: Vec<u32>,
    times: Vec<u64>,
    /// Index into `ports`.
    which: Vec<u32>,
    /// Of whatever priority, and then of each that is told apart.
    pauses: Vec<Pauses>,
}

/// Pauses of one priority, or of any.
struct Pauses {
    priority: Option<u8>,
    /// Of each port: all until the last sample.
    before: Vec<(Span, u64)>,
    paused: Vec<u64>,
    count: Vec<u64>,
}

/// What the columns of single priorities are called.
const OWN: [(&str, &str); PRIORITIES] = [
    ("paused_ps_0", "pauses_0"),
    ("paused_ps_1", "pauses_1"),
    ("paused_ps_2", "pauses_2"),
    ("paused_ps_3", "pauses_3"),
    ("paused_ps_4", "pauses_4"),
    ("paused_ps_5", "pauses_5"),
    ("paused_ps_6", "pauses_6"),
    ("paused_ps_7", "pauses_7"),
];

impl PauseProbe {
    pub(super) fn new(ports: Vec<u32>, priorities: &[u8]) -> PauseProbe {
        let before = vec![(Span::ZERO, 0); ports.len()];
        let of = |priority| Pauses {
            priority,
            before: before.clone(),
            paused: Vec::new(),
            count: Vec::new(),
        };
        let own = priorities.iter().map(|priority| of(Some(*priority)));
        let pauses = std::iter::once(of(None)).chain(own).collect();
        PauseProbe { ports, times: Vec::new(), which: Vec::new(), pauses }
    }

    pub(super) fn rows(&self) -> usize {
        self.times.len()
    }

    /// `ever` tells for how long a port, or a priority of it, has been paused since the run began, and
    /// how often.
    pub(super) fn sample(
        &mut self,
        now: Time,
        mut ever: impl FnMut(u32, Option<u8>) -> (Span, u64),
    ) {
        for (index, at) in self.ports.iter().enumerate() {
            self.times.push(now.0);
            self.which.push(index as u32);
            for pauses in &mut self.pauses {
                let (time, count) = ever(*at, pauses.priority);
                let before = std::mem::replace(&mut pauses.before[index], (time, count));
                pauses.paused.push(time.0 - before.0.0);
                pauses.count.push(count - before.1);
            }
        }
    }

    pub(super) fn columns(self, graph: &Graph) -> Columns {
        let mut columns =
            vec![("time_ps", Column::U64(self.times)), ("port", Column::Index(self.which))];
        for pauses in self.pauses {
            let own = pauses.priority.map(|priority| OWN[usize::from(priority)]);
            let (paused, count) = own.unwrap_or(("paused_ps", "pauses"));
            columns.push((paused, Column::U64(pauses.paused)));
            columns.push((count, Column::U64(pauses.count)));
        }
        Columns { kind: "pause", names: port_names(graph, &self.ports), columns }
    }
}
