//! What kernels say of flows' connections (`TCP_INFO`).

use super::Columns;
use super::window::FIRST;
use crate::drive::linux::Sample;
use crate::output::Column;
use leafspine_linux::orders::TcpInfo;

/// A field of the answer, under the column's name.
type Field = (&'static str, fn(&TcpInfo) -> u32);

/// The columns beside time and flow, in their order. Windows are in segments, times in microseconds.
const FIELDS: [Field; 14] = [
    ("cwnd", |info| info.window),
    ("ssthresh", |info| info.threshold),
    ("mss", |info| info.segment),
    ("srtt_us", |info| info.round_trip_us),
    ("rttvar_us", |info| info.variation_us),
    ("min_rtt_us", |info| info.least_round_trip_us),
    ("unacked", |info| info.unacknowledged),
    ("lost", |info| info.lost),
    ("retransmits", |info| info.retransmits),
    ("timeouts", |info| info.timeouts),
    ("delivered", |info| info.delivered),
    ("delivered_ce", |info| info.delivered_marked),
    ("dsack_dups", |info| info.dsack_duplicates),
    ("ca_state", |info| info.state),
];

pub(super) struct TcpInfoProbe {
    /// By number.
    flows: Vec<u32>,
    /// Those of them that are under way.
    live: Vec<u32>,
    answers: Vec<Sample>,
}

impl TcpInfoProbe {
    pub(super) fn new(flows: &[u32]) -> TcpInfoProbe {
        let flows = if flows.is_empty() { (0..FIRST).collect() } else { flows.to_vec() };
        TcpInfoProbe { flows, live: Vec::new(), answers: Vec::new() }
    }

    pub(super) fn rows(&self) -> usize {
        self.answers.len()
    }

    pub(super) fn flows(&self) -> impl Iterator<Item = u32> {
        self.live.iter().copied()
    }

    pub(super) fn flow_starts(&mut self, flow: u32) {
        if self.flows.contains(&flow) {
            self.live.push(flow);
        }
    }

    pub(super) fn flow_ends(&mut self, flow: u32) {
        self.live.retain(|live| *live != flow);
    }

    pub(super) fn answered(&mut self, sample: &Sample) {
        self.answers.push(sample.clone());
    }

    pub(super) fn columns(self) -> Columns {
        let times = self.answers.iter().map(|answer| answer.time.0).collect();
        let flows = self.answers.iter().map(|answer| answer.flow).collect();
        let column = |(name, of): Field| {
            (name, Column::U32(self.answers.iter().map(|answer| of(&answer.info)).collect()))
        };
        let mut columns = vec![("time_ps", Column::U64(times)), ("flow", Column::U32(flows))];
        columns.extend(FIELDS.map(column));
        Columns { kind: "tcp-info", names: Vec::new(), columns }
    }
}
