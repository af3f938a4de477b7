//! What a run leaves behind: columns, counts and the trace hash.

use crate::flow_table::FlowTable;
use leafspine_core::Time;
pub use leafspine_node::{Cause, Counters, Payload};

/// What came before the statistics: all that was counted up to the end of the warm-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Warmup {
    /// Flows that start at this time or later count; zero: all.
    pub end: Time,
    /// Flows that started before.
    pub flows: u64,
    /// Packets dropped at ports.
    pub dropped: u64,
    /// Packets lost on the wire.
    pub lost: u64,
    /// Packets marked CE.
    pub marks: u64,
    /// Data packets that had arrived.
    pub data_packets: u64,
}

/// A port's statistics over the measurement window. See [`Output::ports`].
#[derive(Clone, Debug)]
pub struct PortRow {
    /// `leaf0-spine3`: this end first.
    pub name: String,
    /// Rate at the end of the run, b/s.
    pub rate_bps: u64,
    /// Packets accepted.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that this port marked, whether or not another had marked them before.
    pub marks: u64,
    /// Packets dropped here.
    pub drops: u64,
    /// Packets lost on this link.
    pub lost: u64,
    /// Share of the window in which the line was sending.
    pub utilisation: f64,
    /// Packets waiting, mean over time.
    pub queue_mean_packets: f64,
    /// Bytes waiting, mean over time.
    pub queue_mean_bytes: f64,
    /// Packets waiting, 99th percentile of what accepted packets found (within 0.8 %).
    pub queue_p99_packets: f64,
    /// The most packets that an accepted packet found waiting.
    pub queue_max_packets: u32,
    /// Mean wait of a packet, ps.
    pub delay_mean_ps: f64,
    /// 99th percentile of packets' waits, ps (within 0.8 %).
    pub delay_p99_ps: f64,
    /// Whether it is a switch's port to a switch of a higher tier.
    pub uplink: bool,
    /// The tier of the node whose port it is: 0 of hosts, from 1 on of switches.
    pub tier: u16,
}

/// A probe's series: equally long columns.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its file's name.
    pub name: String,
    /// `queue`, `utilisation`, `window` or `packets`.
    pub kind: &'static str,
    /// Names of the ports that [`Column::Index`] columns refer to.
    pub ports: Vec<String>,
    /// Column names and values.
    pub columns: Vec<(&'static str, Column)>,
}

/// A column of a series.
#[derive(Clone, Debug)]
pub enum Column {
    /// Whole numbers.
    U64(Vec<u64>),
    /// Whole numbers.
    U32(Vec<u32>),
    /// Numbers.
    F64(Vec<f64>),
    /// Index into [`Series::ports`].
    Index(Vec<u32>),
}

/// How flows under way shared the entries of their source leaf's flow table: summed over the looks that
/// were taken, at every 64th start of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TableUse {
    /// Flows, in both directions, that had an entry.
    pub flows: u64,
    /// Of which not alone in it, but for one an entry.
    pub sharing: u64,
}

/// What a run leaves behind.
#[derive(Clone, Debug)]
pub struct Output {
    /// Every flow that has started.
    pub flows: FlowTable,
    /// Every port, switch ports first.
    pub ports: Vec<PortRow>,
    /// The probes, in the scenario's order.
    pub probes: Vec<Series>,
    /// Flows that had not started when the run ended. `None` if nobody has counted them: a trace has
    /// more rows, or a duration was not over.
    pub not_started: Option<u64>,
    /// Counts.
    pub counters: Counters,
    /// How flows shared the entries of flow tables.
    pub table_use: TableUse,
    /// Hash over all packet-hops, in order: equal if and only if the runs are.
    pub trace_hash: u64,
    /// When the run ended.
    pub end: Time,
    /// The window over which ports were measured.
    pub window: (Time, Time),
    /// Payload that applications got within that window, each byte once and in order.
    pub delivered_in_window: u64,
    /// What is in no statistic.
    pub warmup: Warmup,
}
