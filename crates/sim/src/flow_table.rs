//! The row of every flow: written when it starts, completed when it ends.

use crate::workload::Flow;
use leafspine_core::{Span, Time};

/// `fct_ps` of a flow that has not finished.
pub const UNFINISHED: u64 = u64::MAX;

/// A count of a flow that is unknown: those of the inside of a kernel's TCP. Its `mean_window` is no
/// number.
pub const UNKNOWN: u32 = u32::MAX;

/// What a flow leaves behind besides when it came and went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowStats {
    pub(crate) retransmits: u32,
    pub(crate) timeouts: u32,
    pub(crate) reordered: u32,
    pub(crate) dup_acks: u32,
    pub(crate) spurious_retransmits: u32,
    pub(crate) undos: u32,
    pub(crate) tail_probes: u32,
    pub(crate) path_changes: u32,
    pub(crate) packets: u32,
    pub(crate) mean_window: f64,
}

/// All flows, a column each, in the order of their start.
#[derive(Clone, Debug, Default)]
pub struct FlowTable {
    /// Source host.
    pub src: Vec<u16>,
    /// Destination host.
    pub dst: Vec<u16>,
    /// Bytes of payload.
    pub bytes: Vec<u64>,
    /// Start, ps.
    pub start_ps: Vec<u64>,
    /// Completion time, ps; [`UNFINISHED`] if the run ended before.
    pub fct_ps: Vec<u64>,
    /// Completion time alone in the unchanged fabric, ps.
    pub ideal_fct_ps: Vec<u64>,
    /// Segments sent again.
    pub retransmits: Vec<u32>,
    /// Retransmission timeouts.
    pub timeouts: Vec<u32>,
    /// Data packets that arrived after a later one, retransmissions not counted (RFC 4737).
    pub reordered: Vec<u32>,
    /// Duplicate ACKs that the sender saw.
    pub dup_acks: Vec<u32>,
    /// Segments that arrived more than once: sent again, though the first would have done.
    pub spurious_retransmits: Vec<u32>,
    /// Reductions of the window that the sender undid; may be [`UNKNOWN`].
    pub undos: Vec<u32>,
    /// Tail loss probes; may be [`UNKNOWN`].
    pub tail_probes: Vec<u32>,
    /// How often a data packet left the source's switch by another uplink than the one before.
    pub path_changes: Vec<u32>,
    /// Data packets that arrived.
    pub packets: Vec<u32>,
    /// Mean congestion window over the sender's life, weighted by time, in bytes.
    pub mean_window: Vec<f64>,
    /// Which workload of the scenario it came from.
    pub workload: Vec<u16>,
    finished: u64,
}

impl FlowTable {
    /// Adds a flow that starts. Returns its number.
    pub(crate) fn start(&mut self, flow: &Flow, ideal: Span) -> u32 {
        self.src.push(flow.src.0);
        self.dst.push(flow.dst.0);
        self.bytes.push(flow.bytes);
        self.start_ps.push(flow.start.0);
        self.fct_ps.push(UNFINISHED);
        self.ideal_fct_ps.push(ideal.0);
        self.retransmits.push(0);
        self.timeouts.push(0);
        self.reordered.push(0);
        self.dup_acks.push(0);
        self.spurious_retransmits.push(0);
        self.undos.push(0);
        self.tail_probes.push(0);
        self.path_changes.push(0);
        self.packets.push(0);
        self.mean_window.push(0.0);
        self.workload.push(flow.workload);
        (self.src.len() - 1) as u32
    }

    /// Sees that there are so many rows; those that are added are of flows that start at `start`.
    pub(crate) fn reserve_rows(&mut self, rows: usize, start: u64) {
        if rows <= self.len() {
            return;
        }
        self.start_ps.resize(rows, start);
        self.fct_ps.resize(rows, UNFINISHED);
        for column in [&mut self.src, &mut self.dst, &mut self.workload] {
            column.resize(rows, 0);
        }
        for column in [&mut self.bytes, &mut self.ideal_fct_ps] {
            column.resize(rows, 0);
        }
        for column in self.counts() {
            column.resize(rows, 0);
        }
        self.mean_window.resize(rows, 0.0);
    }

    /// Whose row it is.
    pub(crate) fn set(&mut self, row: usize, flow: &Flow) {
        (self.src[row], self.dst[row]) = (flow.src.0, flow.dst.0);
        (self.bytes[row], self.workload[row]) = (flow.bytes, flow.workload);
    }

    fn counts(&mut self) -> [&mut Vec<u32>; 9] {
        [
            &mut self.retransmits,
            &mut self.timeouts,
            &mut self.reordered,
            &mut self.dup_acks,
            &mut self.spurious_retransmits,
            &mut self.undos,
            &mut self.tail_probes,
            &mut self.path_changes,
            &mut self.packets,
        ]
    }

    /// These rows of this table and another, in this order; of the other where the flag is set.
    pub(crate) fn merged(&mut self, other: &mut FlowTable, rows: &[(bool, usize)]) -> FlowTable {
        fn pick<T: Copy>(rows: &[(bool, usize)], a: &[T], b: &[T]) -> Vec<T> {
            rows.iter().map(|(other, row)| if *other { b[*row] } else { a[*row] }).collect()
        }
        let mut all = FlowTable {
            src: pick(rows, &self.src, &other.src),
            dst: pick(rows, &self.dst, &other.dst),
            bytes: pick(rows, &self.bytes, &other.bytes),
            start_ps: pick(rows, &self.start_ps, &other.start_ps),
            fct_ps: pick(rows, &self.fct_ps, &other.fct_ps),
            ideal_fct_ps: pick(rows, &self.ideal_fct_ps, &other.ideal_fct_ps),
            mean_window: pick(rows, &self.mean_window, &other.mean_window),
            workload: pick(rows, &self.workload, &other.workload),
            finished: self.finished + other.finished,
            ..FlowTable::default()
        };
        let counts = all.counts().into_iter().zip(self.counts()).zip(other.counts());
        counts.for_each(|((all, a), b)| *all = pick(rows, a, b));
        all
    }

    /// The receiver has the last byte.
    pub(crate) fn finish(&mut self, flow: u32, now: Time) {
        let flow = flow as usize;
        self.fct_ps[flow] = now.0 - self.start_ps[flow];
        self.finished += 1;
    }

    /// The sender has no more to do, or the run has ended.
    pub(crate) fn close(&mut self, flow: u32, stats: FlowStats) {
        let flow = flow as usize;
        self.retransmits[flow] = stats.retransmits;
        self.timeouts[flow] = stats.timeouts;
        self.reordered[flow] = stats.reordered;
        self.dup_acks[flow] = stats.dup_acks;
        self.spurious_retransmits[flow] = stats.spurious_retransmits;
        self.undos[flow] = stats.undos;
        self.tail_probes[flow] = stats.tail_probes;
        self.path_changes[flow] = stats.path_changes;
        self.packets[flow] = stats.packets;
        self.mean_window[flow] = stats.mean_window;
    }

    /// Flows in the table.
    #[must_use]
    pub fn len(&self) -> usize {
        self.src.len()
    }

    /// Whether no flow has started.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.src.is_empty()
    }

    /// Flows whose last byte has arrived.
    #[must_use]
    pub fn finished(&self) -> u64 {
        self.finished
    }
}
