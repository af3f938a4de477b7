//! Congestion windows of flows.

use super::Columns;
use crate::output::Column;
use leafspine_core::Time;
use leafspine_node::Address;

/// The flows watched where the scenario names none.
pub(super) const FIRST: u32 = 16;

pub(super) struct WindowProbe {
    /// By number.
    flows: Vec<u32>,
    /// Those of them that are under way: number and sender.
    live: Vec<(u32, Address)>,
    times: Vec<u64>,
    /// The flow's number.
    which: Vec<u32>,
    bytes: Vec<u64>,
}

impl WindowProbe {
    pub(super) fn new(flows: &[u32]) -> WindowProbe {
        let flows = if flows.is_empty() { (0..FIRST).collect() } else { flows.to_vec() };
        let (times, which, bytes) = (Vec::new(), Vec::new(), Vec::new());
        WindowProbe { flows, live: Vec::new(), times, which, bytes }
    }

    pub(super) fn rows(&self) -> usize {
        self.times.len()
    }

    pub(super) fn flow_starts(&mut self, flow: u32, sender: Address) {
        if self.flows.contains(&flow) {
            self.live.push((flow, sender));
        }
    }

    pub(super) fn flow_ends(&mut self, flow: u32) {
        self.live.retain(|(live, _)| *live != flow);
    }

    /// The flows under way, by number.
    pub(super) fn flows(&self) -> impl Iterator<Item = u32> {
        self.live.iter().map(|(flow, _)| *flow)
    }

    /// A kernel has told a window.
    pub(super) fn answered(&mut self, time: Time, flow: u32, bytes: u64) {
        self.times.push(time.0);
        self.which.push(flow);
        self.bytes.push(bytes);
    }

    /// `window` tells a sender's window in bytes.
    pub(super) fn sample(&mut self, now: Time, window: impl Fn(Address) -> u32) {
        for (flow, sender) in &self.live {
            self.times.push(now.0);
            self.which.push(*flow);
            self.bytes.push(u64::from(window(*sender)));
        }
    }

    pub(super) fn columns(self) -> Columns {
        Columns {
            kind: "window",
            names: Vec::new(),
            columns: vec![
                ("time_ps", Column::U64(self.times)),
                ("flow", Column::U32(self.which)),
                ("window_bytes", Column::U64(self.bytes)),
            ],
        }
    }
}
