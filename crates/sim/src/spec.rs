//! A run's full description, typed: what the scenario crate makes from a file and the engine runs.
//!
//! Every default is already filled in. The scenario crate has checked what can be checked from the
//! file alone; what needs the graph (a link that does not exist, a fabric split in two) is refused
//! by [`crate::Simulation::new`].

pub use leafspine_fabric::{Flap, LinkChange, LinkSpec, TopologyKind, TopologySpec};
pub use leafspine_node::pfc::PRIORITIES;
pub use leafspine_node::spec::{
    Classifier, CreditSpec, PairControl, PfcSpec, PfcThreshold, Protocol, Recovery, Reduction,
    RoceSpec, SchedulerKind, SchemeSpec, SharedBuffer, Stack, Timestamps, TransportSpec, TrimSpec,
    WatchdogAction, WatchdogSpec,
};

use leafspine_core::{Bytes, HostId, Rate, Span, Time};
use leafspine_schemes::Amount;
use std::path::PathBuf;
use std::sync::Arc;

/// One run.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The graph.
    pub topology: TopologySpec,
    /// What happens to links, in the file's order.
    pub changes: Vec<LinkChange>,
    /// Buffers, queues, scheduler.
    pub switch: SwitchSpec,
    /// Queue manager of every switch port (and host port, see [`SwitchSpec::host_ports`]).
    /// The name `balancer` takes the balancer's own.
    pub aqm: SchemeSpec,
    /// Load balancer of every switch.
    pub balancer: SchemeSpec,
    /// Ingress hold of every switch. The name `balancer` takes the balancer's own.
    pub hold: Option<SchemeSpec>,
    /// Host edge of every host.
    pub edge: Option<SchemeSpec>,
    /// What the hosts are.
    pub hosts: HostsSpec,
    /// Transport of every flow. Of hosts that are kernels it says how large packets are.
    pub transport: TransportSpec,
    /// Flows. At least one workload.
    pub workloads: Vec<WorkloadSpec>,
    /// Seed, end, engine choices.
    pub run: RunSpec,
    /// What is measured of ports, and when.
    pub measure: MeasureSpec,
    /// Time series.
    pub probes: Vec<ProbeSpec>,
}

/// What the hosts are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostsSpec {
    /// Leafspine's own TCP.
    Model,
    /// Kernels, as guests on the run's clock.
    Linux(LinuxSpec),
}

/// Hosts that are kernels. Each has the run's seed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinuxSpec {
    /// Which kernel: its version and a hash ([`leafspine_linux::Installed`]).
    pub kernel: String,
    /// The congestion control of all connections, by the kernel's name for it.
    pub congestion: String,
    /// Whether connections ask for ECN whatever their congestion control.
    pub ecn: bool,
    /// Files under `/proc/sys`, with points for slashes, and what is written to them.
    pub sysctl: Vec<(String, String)>,
    /// At least so far apart are interrupts for what arrives at a host; zero: one for each arrival.
    pub interrupt_moderation: Span,
}

/// Switch ports.
#[derive(Clone, PartialEq, Debug)]
pub struct SwitchSpec {
    /// Buffer of each port, unless shared.
    pub buffer: Amount,
    /// Shared buffer of each switch with the dynamic threshold's alpha (Choudhury and Hahne, 1998):
    /// a port may use `alpha` times what is free.
    pub shared: Option<SharedBuffer>,
    /// Priority-based flow control, which counts in the shared buffer.
    pub pfc: Option<PfcSpec>,
    /// Trimming of packets that have no room.
    pub trim: Option<TrimSpec>,
    /// Service queues a port, at least 1.
    pub queues: u8,
    /// How they share the line.
    pub scheduler: SchedulerKind,
    /// One weight a queue (packets a round for WRR, MTUs a round for DWRR). As many as `queues`.
    pub weights: Vec<u32>,
    /// How packets find their queue.
    pub classifier: Classifier,
    /// The service queue of each stage, below `queues`; stages beyond take the last's. At least one.
    pub stage_queues: Vec<u8>,
    /// Buffer, queue manager and queues of the hosts' own ports.
    pub host_ports: HostPorts,
    /// Whether all switches hash with one seed.
    pub one_hash: bool,
}

/// The hosts' own ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostPorts {
    /// Same buffer and same queue manager as switch ports, one FIFO queue.
    LikeSwitch,
    /// Same service queues, too (ns-2's links have the same at both ends).
    WithQueues,
    /// No limit, no marks.
    Unlimited,
}

/// A source of flows.
#[derive(Clone, Debug)]
pub struct WorkloadSpec {
    /// What it does.
    pub kind: WorkloadKind,
    /// Sizes; unused by traces.
    pub sizes: SizeSpec,
    /// Who sends.
    pub senders: HostSet,
    /// Who receives.
    pub receivers: HostSet,
    /// Which pairs are drawn.
    pub pattern: Pattern,
    /// When the first flow may start.
    pub start: Time,
    /// Class (DSCP) of the data; `None`: the transport's.
    pub class: Option<u8>,
}

/// The kinds of workload.
#[derive(Clone, PartialEq, Debug)]
pub enum WorkloadKind {
    /// Exponential times between starts.
    Poisson {
        /// How often.
        arrivals: Arrivals,
        /// How many.
        stop: Stop,
    },
    /// `rounds` times, all senders start one flow to one receiver at once.
    Incast {
        /// How many senders take part, drawn from the sender set in order; `None`: all.
        fan_in: Option<u32>,
        /// Rounds.
        rounds: u32,
        /// Time between rounds.
        every: Span,
        /// Each flow starts this much later, uniform in `0..=jitter`.
        jitter: Span,
    },
    /// `count` flows from senders to receivers (i-th to i-th, wrapping round), each `stagger`
    /// after the one before.
    LongFlows {
        /// How many.
        count: u32,
        /// Time between starts.
        stagger: Span,
    },
    /// Each sender starts one flow to the receiver that a random permutation without fixed points
    /// gives it.
    Permutation {
        /// Time between starts.
        stagger: Span,
    },
    /// Every sender starts one flow to every receiver but itself.
    AllToAll {
        /// Time between starts.
        stagger: Span,
    },
    /// A file's flows.
    Trace(TraceSpec),
    /// Jobs of ranks that communicate: messages that wait for each other. The senders are the hosts
    /// that the ranks are placed on.
    Job(Box<JobSpec>),
    /// A program that the senders run, which are kernels.
    Program(Box<ProgramSpec>),
}

/// A program in hosts that are kernels. What it needs is read from this machine's files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramSpec {
    /// Its name or path, and its arguments.
    pub command: Vec<String>,
    /// What is added to its environment.
    pub environment: Vec<(String, String)>,
    /// The scenario's folder: `/scenario` for the program, where it starts.
    pub folder: std::path::PathBuf,
    /// Whether the run does not wait for its end (a server).
    pub background: bool,
}

/// Jobs that are alike, and where their ranks are.
#[derive(Clone, PartialEq, Debug)]
pub struct JobSpec {
    /// What a job does in an iteration.
    pub what: JobKind,
    /// Jobs, at least 1.
    pub jobs: u32,
    /// Ranks of each; `None`: as many as the hosts allow.
    pub ranks: Option<u32>,
    /// Which of the hosts they are on.
    pub placement: Placement,
    /// How often it does so, at least 1.
    pub iterations: u32,
    /// How long each rank computes at the beginning of an iteration.
    pub compute: Span,
    /// Each computation is longer by a time drawn uniformly from 0 to this.
    pub compute_jitter: Span,
    /// From the end of what a message waits for at its host to its start.
    pub delay: Span,
}

impl JobSpec {
    /// One job on all hosts, in their order, once, without computing.
    #[must_use]
    pub fn once(what: JobKind) -> JobSpec {
        JobSpec {
            what,
            jobs: 1,
            ranks: None,
            placement: Placement::Packed,
            iterations: 1,
            compute: Span::ZERO,
            compute_jitter: Span::ZERO,
            delay: Span::ZERO,
        }
    }
}

/// How ranks are placed on a job's hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// In the order of the hosts: job after job, rank after rank.
    Packed,
    /// In an order that is drawn by the run's seed.
    Random,
}

/// What a job does.
#[derive(Clone, PartialEq, Debug)]
pub enum JobKind {
    /// A collective.
    Collective(CollectiveSpec),
    /// Stages that pass activations on and gradients back.
    Pipeline(PipelineSpec),
    /// A GOAL schedule, which says how many ranks there are.
    Goal(GoalSpec),
    /// A training step in SimAI's workload text, which says how many ranks there are.
    Simai(SimaiSpec),
    /// Execution traces of Chakra, one of each rank.
    Chakra(ChakraSpec),
}

/// A training step in SimAI's workload text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SimaiSpec {
    /// The file that is read.
    pub file: PathBuf,
    /// The unit of its computations.
    pub unit: TimeUnit,
    /// How its collectives are done.
    pub how: HowSpec,
}

/// Execution traces of Chakra.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChakraSpec {
    /// The trace of each rank.
    pub files: Vec<PathBuf>,
    /// How its collectives are done.
    pub how: HowSpec,
}

/// How the collectives of a schedule are done, which names only what they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HowSpec {
    /// Of all but all-to-alls, which are direct.
    pub algorithm: Algorithm,
    /// As [`CollectiveSpec::channels`].
    pub channels: u16,
    /// As [`CollectiveSpec::chunk`].
    pub chunk: Option<Bytes>,
}

impl HowSpec {
    /// A collective of so many bytes.
    #[must_use]
    pub fn of(&self, collective: Collective, bytes: u64) -> CollectiveSpec {
        let direct = matches!(collective, Collective::AllToAll | Collective::AllToAllV);
        let algorithm = if direct { Algorithm::Direct } else { self.algorithm };
        let HowSpec { channels, chunk, .. } = *self;
        CollectiveSpec { collective, algorithm, bytes: Bytes(bytes), channels, chunk }
    }
}

/// A GOAL schedule, as text or in binary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GoalSpec {
    /// The file that is read.
    pub file: PathBuf,
    /// The unit of its computations.
    pub unit: TimeUnit,
}

/// A collective among all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectiveSpec {
    /// Which.
    pub collective: Collective,
    /// In which steps.
    pub algorithm: Algorithm,
    /// A rank's buffer, the larger of what goes in and what comes out (the size that NCCL's tests
    /// count); unused by all-to-allv, whose messages have the workload's sizes.
    pub bytes: Bytes,
    /// Parts of the buffer that are worked on side by side, each over connections of its own.
    pub channels: u16,
    /// Messages are at most so long: pieces are passed on one by one. `None`: steps are whole.
    pub chunk: Option<Bytes>,
}

/// What is communicated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collective {
    /// Every rank has the sum of all buffers.
    AllReduce,
    /// Every rank has all parts.
    AllGather,
    /// Every rank has its part of the sum.
    ReduceScatter,
    /// Every rank has a part from each, all of one size.
    AllToAll,
    /// The same with sizes of their own.
    AllToAllV,
}

/// How it is communicated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// Each rank sends to the next (Patarasuk and Yuan, 2009).
    Ring,
    /// Two binary trees, in which each rank is an inner node once at most (Sanders, Speck and Träff,
    /// 2009).
    Tree,
    /// Recursive halving and doubling (Thakur, Rabenseifner and Gropp, 2005).
    HalvingDoubling,
    /// All messages at once.
    Direct,
    /// In each step every rank sends to one and receives from one.
    Pairwise,
}

/// Pipeline parallelism.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PipelineSpec {
    /// What a stage passes on for a microbatch, and as much back.
    pub bytes: Bytes,
    /// Microbatches of an iteration, at least 1.
    pub microbatches: u32,
    /// What a stage computes for one on the way forward.
    pub forward: Span,
    /// On the way back.
    pub backward: Span,
    /// In which order.
    pub schedule: Schedule,
}

/// The order of a stage's work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Schedule {
    /// All forward, then all backward (`GPipe`: Huang et al., 2019).
    AllForward,
    /// One forward and one backward in turns (`PipeDream`: Narayanan et al., 2019).
    Alternating,
}

/// A trace: a CSV file, plain or in gzip's format, with the columns `start_ps,src,dst,bytes` and
/// optionally `path` and `ack_path`.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceSpec {
    /// The file that is read.
    pub file: PathBuf,
    /// What it is called in messages: the file that it was made from.
    pub name: PathBuf,
    /// The unit of a column `start`, which does not say it.
    pub unit: Option<TimeUnit>,
    /// Times are stretched such that the mean traffic is this load; `None`: they are as they are.
    pub load: Option<(f64, LoadBasis)>,
}

impl TraceSpec {
    /// The file as it is.
    #[must_use]
    pub fn new(file: impl Into<PathBuf>) -> TraceSpec {
        let file = file.into();
        TraceSpec { name: file.clone(), file, unit: None, load: None }
    }
}

/// A unit of time in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeUnit {
    /// Picoseconds.
    Ps,
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl TimeUnit {
    /// All, shortest first.
    pub const ALL: [TimeUnit; 5] =
        [TimeUnit::Ps, TimeUnit::Ns, TimeUnit::Us, TimeUnit::Ms, TimeUnit::S];
    /// Their names, likewise.
    pub const NAMES: [&str; 5] = ["ps", "ns", "us", "ms", "s"];

    /// Picoseconds in it, as a power of ten.
    #[must_use]
    pub fn power(self) -> u32 {
        3 * self as u32
    }
}

/// How often flows start.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Arrivals {
    /// Such that the mean traffic is this fraction of a capacity.
    Load {
        /// The fraction, above zero. More than 1 is overload.
        load: f64,
        /// Of what.
        basis: LoadBasis,
    },
    /// Mean time between starts.
    Interarrival(Span),
    /// Mean traffic in all.
    Rate(Rate),
}

/// Where a stream of flows that could go on for ever stops. The flows up to there are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// After so many flows.
    Flows(u64),
    /// Before the first flow that would start later than this after the workload's start.
    After(Span),
}

/// What a load is a fraction of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadBasis {
    /// The capacity that the leaves with senders have towards the spines; the traffic that counts is
    /// that between leaves.
    Fabric,
    /// The capacity of the senders' host links.
    Host,
}

/// Where sizes come from.
#[derive(Clone, Debug)]
pub enum SizeSpec {
    /// All the same.
    Fixed(Bytes),
    /// Uniform between the two, inclusive.
    Uniform(Bytes, Bytes),
    /// Pareto with this mean and shape (> 1), given that it is at most `max` if there is one.
    Pareto {
        /// Mean before the cut.
        mean: Bytes,
        /// Shape.
        shape: f64,
        /// Largest size.
        max: Option<Bytes>,
    },
    /// Points `(bytes, cumulative probability)`, linear between them. Shared: sweeps clone specs.
    Table {
        /// What to call it.
        name: String,
        /// The points: bytes and probabilities both rise, the last probability is 1.
        points: Arc<[(f64, f64)]>,
    },
    /// A mix by flows: weight and sizes.
    Mix(Vec<(f64, SizeSpec)>),
}

/// A set of hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostSet {
    /// All.
    All,
    /// These.
    List(Vec<HostId>),
    /// All under this switch: `leaf0`, `edge3`, `tor1`.
    Under(String),
    /// So many, drawn at random (by the run's seed).
    Random(u32),
    /// The complement of the other set (receivers: those that do not send).
    Rest,
    /// A random half.
    RandomHalf,
    /// The first so many.
    First(u32),
}

/// Which pairs of sender and receiver are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Any two different hosts.
    Any,
    /// Hosts under different leaves.
    InterLeaf,
    /// Hosts under the same leaf.
    IntraLeaf,
}

/// Seed, end, engine choices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunSpec {
    /// Seed of all random streams.
    pub seed: u64,
    /// When the run ends even if flows have not.
    pub until: Option<Time>,
    /// Which ports.
    pub ports: PortModel,
    /// In which order nodes are told of their events.
    pub driver: DriverKind,
    /// Threads that work on the run, at least 1.
    pub threads: usize,
}

impl RunSpec {
    /// With these and nothing else said.
    #[must_use]
    pub fn new(seed: u64, until: Option<Time>) -> RunSpec {
        RunSpec { seed, until, ports: PortModel::Auto, driver: DriverKind::Auto, threads: 1 }
    }
}

/// What drives the nodes. Results are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DriverKind {
    /// Whichever is faster for this fabric.
    Auto,
    /// One event after the other over the whole fabric.
    Calendar,
    /// Nodes ahead of each other, unless a link without latency leaves no window.
    Windows,
    /// The same, and nodes are dealt out to as many parts as there may be threads, to one, to two, and so on,
    /// over and over, whatever there is to do: for tests. One thread works on all.
    Domains,
    /// The same, and a thread works on each.
    Threads,
}

/// Which port implementation is used. Results are the same; `Auto` is faster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortModel {
    /// The one-event port wherever it can serve.
    Auto,
    /// The general port everywhere.
    General,
}

/// What is measured of ports, and when.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MeasureSpec {
    /// The window.
    pub window: Window,
    /// Flows that start before this are simulated and in no statistic; zero: none.
    pub warmup: Time,
    /// Whether it is measured how soon goodput is back after a fault.
    pub recovery: Option<RecoverySpec>,
}

/// When goodput is back after a fault.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RecoverySpec {
    /// At so much of what it was before, above 0 and at most 1.
    pub share: f64,
    /// Over such a time.
    pub window: Span,
}

/// A measurement window for ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Window {
    /// From the first flow's start, or the warm-up's end, to the last flow's start.
    Arrivals,
    /// Between two times.
    Between(Time, Time),
    /// The whole run.
    All,
}

/// A time series to record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProbeSpec {
    /// Of what.
    pub kind: ProbeKind,
    /// Which ports: `leaf0-*` is every port of `leaf0`, `leaf0-spine1` one; a port is named
    /// `<its switch or host>-<the other end>`. Which flows, for [`ProbeKind::Window`]: unused.
    pub ports: String,
    /// Which flows, by number, for [`ProbeKind::Window`] and [`ProbeKind::TcpInfo`]; empty: the first 16.
    pub flows: Vec<u32>,
    /// How often.
    pub every: Span,
    /// Its file's name without `.parquet`.
    pub name: String,
}

/// What a probe records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProbeKind {
    /// Packets and bytes waiting at ports.
    Queue,
    /// Share of the line's time used since the last sample.
    Utilisation,
    /// Congestion windows of flows in bytes.
    Window,
    /// What kernels say of flows' connections (`TCP_INFO`).
    TcpInfo,
    /// What the balancers of the switches that have these ports keep, and how flows share the slots of
    /// their tables.
    State,
    /// Packets marked and dropped at ports since the last sample.
    Signals,
    /// Time for which ports were paused since the last sample, and pauses that began.
    Pause,
    /// Every packet-hop on the ports (not sampled; `every` is ignored): time, port, flow, segment.
    Packets,
}
