//! What a run leaves behind: columns, counts and the trace hash.

use crate::flow_table::FlowTable;
use leafspine_core::{Span, Time};
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

/// What became of goodput after a fault. See `[measure] recovery`.
#[derive(Clone, Debug, PartialEq)]
pub struct RecoveryRow {
    /// When links became worse.
    pub at: Time,
    /// Which: this end first.
    pub links: Vec<String>,
    /// Goodput before, b/s; `None` if there was none, or too little time to tell.
    pub before_bps: Option<f64>,
    /// The lowest window's share of that, until goodput was back.
    pub lowest: Option<f64>,
    /// After how long it was back; zero if it did not dip.
    pub after: Option<Span>,
    /// Bytes that applications would have got by then, and did not.
    pub missing: Option<u64>,
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
    /// Packets whose payload was cut off here.
    pub trims: u64,
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
    /// Time for which the far end had some priority paused, ps.
    pub pause_ps: u64,
    /// Pauses that began.
    pub pauses: u64,
    /// The same two of each of [`Output::priorities`].
    pub own_pauses: Vec<(u64, u64)>,
    /// Whether it is a switch's port to a switch of a higher tier.
    pub uplink: bool,
    /// The tier of the node whose port it is: 0 of hosts, from 1 on of switches.
    pub tier: u16,
}

/// A collective of a job: one phase of one iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectiveRow {
    /// The job, counted over all workloads.
    pub job: u32,
    /// The workload that the job is of.
    pub workload: u16,
    /// Counted from 0.
    pub iteration: u32,
    /// Its place among the phases of the iteration.
    pub phase: u32,
    /// What it is: `all-reduce`.
    pub name: String,
    /// Ranks of the job.
    pub ranks: u32,
    /// Bytes that the bandwidths count.
    pub bytes: u64,
    /// See [`Phase::bus_factor`](crate::workload::Phase::bus_factor).
    pub bus_factor: f64,
    /// When its first rank began.
    pub start: Time,
    /// When its last rank had ended; `None` if the run's end came first.
    pub end: Option<Time>,
    /// When its first rank had ended, and its last, if all have.
    pub rank_ends: Option<(Time, Time)>,
    /// The host of the rank that ended last.
    pub slowest: u16,
}

/// A rank of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankRow {
    /// The job, counted over all workloads.
    pub job: u32,
    /// Counted from 0.
    pub rank: u32,
    /// Where it is.
    pub host: u16,
    /// When the job starts.
    pub start: Time,
    /// When the rank's last operation had ended; `None` if the run's end has cut its job off.
    pub end: Option<Time>,
    /// When its job had ended, or the run, if that came first: from `start` until then it is idle where it
    /// does not compute.
    pub until: Time,
    /// How long it has computed.
    pub compute: Span,
}

/// What is known of each flow of a run with operations, besides its row: `u32::MAX` of a flow that waits
/// for nothing.
#[derive(Clone, Debug, Default)]
pub struct OperationColumns {
    /// The job, counted over all workloads.
    pub job: Vec<u32>,
    /// The iteration.
    pub iteration: Vec<u32>,
    /// The phase of the iteration.
    pub phase: Vec<u32>,
    /// The channel: messages of one channel of a pair of hosts share a connection.
    pub channel: Vec<u32>,
}

impl OperationColumns {
    /// A flow's: job, iteration, phase and channel of a message.
    pub(crate) fn push(&mut self, message: Option<[u32; 4]>) {
        let [job, iteration, phase, channel] = message.unwrap_or([u32::MAX; 4]);
        self.job.push(job);
        self.iteration.push(iteration);
        self.phase.push(phase);
        self.channel.push(channel);
    }
}

/// What jobs leave behind.
#[derive(Clone, Debug, Default)]
pub struct JobOutput {
    /// Beside the flows.
    pub columns: OperationColumns,
    /// By job, iteration and phase.
    pub collectives: Vec<CollectiveRow>,
    /// By job and rank.
    pub ranks: Vec<RankRow>,
}

/// A probe's series: equally long columns.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its file's name.
    pub name: String,
    /// `queue`, `utilisation`, `window`, `pause` or `packets`.
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

/// A program that a host ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramRow {
    /// The workload that it is of.
    pub workload: u16,
    /// Where it ran.
    pub host: u16,
    /// Its name and its arguments.
    pub command: Vec<String>,
    /// When it was started.
    pub start: Time,
    /// When it ended; `None` if the run's end came first.
    pub end: Option<Time>,
    /// How it ended, as `waitpid` has it.
    pub status: Option<i32>,
    /// What it wrote to its standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to its standard error.
    pub stderr: Vec<u8>,
    /// Whether it wrote more than is kept.
    pub cut: bool,
}

impl ProgramRow {
    /// The code with which it ended, if it did so by itself.
    #[must_use]
    pub fn exit_code(&self) -> Option<i32> {
        self.status.filter(|status| status & 0x7f == 0).map(|status| status >> 8 & 0xff)
    }

    /// The signal that ended it, if one did.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        self.status.map(|status| status & 0x7f).filter(|signal| *signal != 0)
    }
}

/// Ports that wait for each other for ever.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "ports have paused each other for ever (a deadlock of flow control) since {since}: {ring}; \
     switch.pfc_watchdog would end it"
)]
pub struct Deadlock {
    /// When the last of them was paused.
    pub since: Time,
    /// Which they are, in words.
    pub ring: String,
}

/// What a run leaves behind.
#[derive(Clone, Debug)]
pub struct Output {
    /// Every flow that has started.
    pub flows: FlowTable,
    /// Every port, switch ports first.
    pub ports: Vec<PortRow>,
    /// Where several priorities are lossless: these. Their pauses are told apart.
    pub priorities: Vec<u8>,
    /// The probes, in the scenario's order.
    pub probes: Vec<Series>,
    /// Flows that had not started when the run ended. `None` if they were not counted: a trace has
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
    /// Of runs with jobs.
    pub jobs: Option<JobOutput>,
    /// A row for each fault, of runs that measure it.
    pub recovery: Option<Vec<RecoveryRow>>,
    /// The programs that hosts ran.
    pub programs: Vec<ProgramRow>,
    /// Ports that wait for each other when a run is at the end that it was given.
    pub deadlock: Option<Deadlock>,
}
