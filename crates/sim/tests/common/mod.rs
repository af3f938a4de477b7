//! Specs for tests: a base that each test changes where it matters.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use leafspine_core::{Bytes, Rate, Span, Time};
use leafspine_schemes::rdma::DcqcnSettings;
use leafspine_schemes::{Amount, Param, Params, Value};
use leafspine_sim::spec::*;
use leafspine_sim::{Column, Factories, Output, Progress, Series, Simulation};

pub fn link(rate: Rate, delay: Span) -> LinkSpec {
    LinkSpec { rate, delay, loss: 0.0 }
}

/// Parameters that follow from the fabric in a scenario file: the fabrics of these tests state them.
const STATED: &[(&str, &str, &str)] = &[
    ("a-ecn", "threshold", "65pkt"),
    ("aq-car", "threshold", "64pkt"),
    ("codel", "interval", "fabric"),
    ("conga", "gap", "500us"),
    ("conga", "tau", "auto"),
    ("conweave", "theta_inactive", "1600us"),
    ("conweave", "theta_path_busy", "20us"),
    ("conweave", "theta_reply", "20us"),
    ("conweave", "theta_resume", "800us"),
    ("conweave", "theta_resume_extra", "100us"),
    ("ecn-threshold", "threshold", "65pkt"),
    ("hermes", "hop_delay", "65pkt"),
    ("hermes", "low_delay", "25pkt"),
    ("hula", "gap", "500us"),
    ("letflow", "gap", "500us"),
    ("ml-ecn", "threshold", "64pkt"),
    ("mq-ecn", "threshold", "65pkt"),
    ("qall", "gap", "10ms"),
    ("qdaps", "marking", "65"),
    ("qdaps", "threshold", "41pkt"),
    ("qdaps-star", "marking", "65"),
    ("qdaps-star", "threshold", "41pkt"),
    ("tam", "gap", "by-rate"),
    ("tam", "rtt", "base"),
    ("tam", "threshold", "by-rate"),
    ("tcn", "rtt", "fabric"),
];

fn params(name: &str, declared: &[Param]) -> Params {
    let stated: Vec<_> = STATED
        .iter()
        .filter(|(scheme, key, _)| *scheme == name && declared.iter().any(|p| p.name == *key))
        .map(|(_, key, text)| (*key, *text))
        .collect();
    leafspine_schemes::testing::stated(declared, &stated)
}

/// A registered scheme with its default parameters, or what [`STATED`] has for it.
pub fn scheme(name: &str) -> SchemeSpec {
    use leafspine_schemes::{aqm, cc, edge, hold, lb};
    let infos = lb::ALL
        .iter()
        .map(|e| e.info)
        .chain(aqm::ALL.iter().map(|e| e.info))
        .chain(hold::ALL.iter().map(|e| e.info))
        .chain(cc::ALL.iter().map(|e| e.info))
        .chain(edge::ALL.iter().map(|e| e.info));
    let mut found = infos.filter(|info| info.name == name);
    let info = found.next().unwrap_or_else(|| panic!("no scheme is called {name}"));
    SchemeSpec { name: name.to_owned(), params: params(name, info.params) }
}

/// The same with one parameter changed.
pub fn scheme_with(name: &str, key: &str, value: Value) -> SchemeSpec {
    let SchemeSpec { name, params } = scheme(name);
    SchemeSpec { name, params: params.with(key, value) }
}

/// A registered host edge with its default parameters; a balancer may have the same name.
pub fn edge(name: &str) -> SchemeSpec {
    let entry = leafspine_schemes::registry::host_edge(name).expect("a registered edge");
    SchemeSpec { name: name.to_owned(), params: params(name, entry.info.params) }
}

pub fn leaf_spine(leaves: u32, spines: u32, hosts_per_leaf: u32) -> TopologyKind {
    TopologyKind::LeafSpine { leaves, spines, hosts_per_leaf, links_per_pair: 1 }
}

pub fn fixed_flows(flows: u64, bytes: u64, load: f64) -> WorkloadSpec {
    WorkloadSpec {
        kind: WorkloadKind::Poisson {
            arrivals: Arrivals::Load { load, basis: LoadBasis::Fabric },
            stop: Stop::Flows(flows),
        },
        sizes: SizeSpec::Fixed(Bytes(bytes)),
        senders: HostSet::All,
        receivers: HostSet::All,
        pattern: Pattern::InterLeaf,
        start: Time::ZERO,
        class: None,
    }
}

pub fn hosts(list: &[u16]) -> HostSet {
    HostSet::List(list.iter().map(|host| leafspine_core::HostId(*host)).collect())
}

/// `count` flows of `bytes` at once, from the i-th of `from` to the i-th of `to`, wrapping round.
pub fn long_flows(count: u32, bytes: u64, from: HostSet, to: HostSet) -> WorkloadSpec {
    WorkloadSpec {
        kind: WorkloadKind::LongFlows { count, stagger: Span::ZERO },
        sizes: SizeSpec::Fixed(Bytes(bytes)),
        senders: from,
        receivers: to,
        pattern: Pattern::Any,
        start: Time::ZERO,
        class: None,
    }
}

/// A change of one link that changes nothing yet.
pub fn change(link: &str, at: Span) -> LinkChange {
    LinkChange {
        link: link.to_owned(),
        at: Time(at.0),
        rate: None,
        delay: None,
        loss: None,
        up: None,
        flap: None,
    }
}

/// 10 Gb/s leaf-spine, DCTCP, ECMP, web-search flows at load 0.6.
pub fn base() -> Spec {
    let ten = link(Rate::from_gbps(10), Span::from_micros(1));
    Spec {
        topology: TopologySpec {
            kind: leaf_spine(4, 4, 4),
            host_link: ten,
            fabric_link: ten,
            host_delay: Span::ZERO,
            host_jitter: Span::ZERO,
        },
        changes: Vec::new(),
        switch: SwitchSpec {
            buffer: Amount::Packets(256),
            shared: None,
            pfc: None,
            trim: None,
            queues: 1,
            scheduler: SchedulerKind::Fifo,
            weights: vec![1],
            classifier: Classifier::Hash,
            stage_queues: (0..64).collect(),
            host_ports: HostPorts::LikeSwitch,
            one_hash: false,
        },
        aqm: scheme("ecn-threshold"),
        balancer: scheme("ecmp"),
        hold: None,
        edge: None,
        hosts: HostsSpec::Model,
        transport: TransportSpec::tcp(scheme("dctcp")),
        workloads: vec![WorkloadSpec {
            sizes: leafspine_sim::workload::named("web-search").expect("ships"),
            ..fixed_flows(200, 1, 0.6)
        }],
        run: RunSpec::new(1, None),
        measure: MeasureSpec { window: Window::Arrivals, warmup: Time::ZERO, recovery: None },
        probes: Vec::new(),
    }
}

/// Packet-hops of a long run.
const LONG: u64 = 1_000_000;

/// Runs and checks what holds in every run: its invariants hold all the time (see
/// `Simulation::checked`), every flow of a run without an end has its bytes exactly once, no port is
/// busier than its line. And whatever drives the nodes, the packets are the same: the calendar is the
/// oracle of the windows, on one thread and, where the run is not long, on two, three or four.
pub fn run(spec: &Spec) -> Output {
    run_with(spec, &Factories::default())
}

pub fn run_with(spec: &Spec, factories: &Factories<'_>) -> Output {
    let output = driven(spec, factories, DriverKind::Windows, 1);
    assert_same_packets(&output, &driven(spec, factories, DriverKind::Calendar, 1));
    // Long runs, which are there for what they measure, are not dealt out.
    if output.counters.packet_hops <= LONG {
        compare_parts(spec, factories, &output);
    }
    assert!(output.counters.conserved(), "packets are conserved: {:?}", output.counters);
    if spec.run.until.is_none() {
        let flows = &output.flows;
        assert_eq!(flows.finished(), flows.len() as u64, "every flow ends");
        let asked: u64 = flows.bytes.iter().sum();
        assert_eq!(output.counters.bytes_delivered, asked, "every byte exactly once");
    }
    for port in &output.ports {
        assert!(port.utilisation <= 1.0 + 1e-9, "{} is busier than its line", port.name);
    }
    output
}

/// Nodes in several parts send the same packets. Threads wait for each other in each of their windows, which takes
/// time: so it is a quarter of the seeds, and a sixteenth with two, three and four of them.
fn compare_parts(spec: &Spec, factories: &Factories<'_>, output: &Output) {
    let seed = spec.run.seed as usize;
    let driver = if seed % 4 == 1 { DriverKind::Threads } else { DriverKind::Domains };
    let counts = if seed % 16 == 5 { 2..=4 } else { 2 + seed % 3..=2 + seed % 3 };
    for threads in counts {
        assert_same_packets(output, &driven(spec, factories, driver, threads));
    }
}

/// Long runs and those without an end: windows on one thread give the same packets as the calendar, for one
/// seed of sixteen, the first among them.
pub fn run_long(spec: &Spec) -> Output {
    run_long_with(spec, &Factories::default())
}

pub fn run_long_with(spec: &Spec, factories: &Factories<'_>) -> Output {
    let output = driven(spec, factories, DriverKind::Windows, 1);
    if spec.run.seed % 16 == 1 {
        assert_same_packets(&output, &driven(spec, factories, DriverKind::Calendar, 1));
    }
    output
}

/// Runs a spec once, driven by windows: for tests that count what it calls or allocates.
pub fn run_once(spec: &Spec, factories: &Factories<'_>) -> Output {
    driven(spec, factories, DriverKind::Windows, 1)
}

/// A checked run.
fn driven(spec: &Spec, factories: &Factories<'_>, driver: DriverKind, threads: usize) -> Output {
    let run = RunSpec { driver, threads, ..spec.run };
    let spec = Spec { run, ..spec.clone() };
    let simulation = Simulation::with(&spec, factories).expect("a valid spec").checked();
    simulation.run(&Progress::default()).expect("a run that ends")
}

/// Whether two runs are one, in every packet-hop, every flow, every port, every sample.
pub fn assert_same_packets(a: &Output, b: &Output) {
    assert_eq!(a.trace_hash, b.trace_hash, "other packets");
    assert_eq!(a.counters, b.counters);
    assert_eq!((a.end, a.window, a.warmup), (b.end, b.window, b.warmup));
    assert_eq!(a.recovery, b.recovery);
    assert_eq!((a.delivered_in_window, a.table_use), (b.delivered_in_window, b.table_use));
    let text =
        |o: &Output| [format!("{:?}", o.flows), format!("{:?}", o.probes), format!("{:?}", o.jobs)];
    assert_eq!(text(a), text(b));
    for (p, q) in a.ports.iter().zip(&b.ports) {
        assert_eq!(format!("{p:?}"), format!("{q:?}"));
    }
}

pub fn port<'a>(output: &'a Output, name: &str) -> &'a leafspine_sim::PortRow {
    output.ports.iter().find(|p| p.name == name).unwrap_or_else(|| panic!("no port {name}"))
}

/// Selective repeat with its low timeout.
pub const IRN: Recovery = Recovery::Selective { low: Span::from_micros(100), few: 3, after: 1 };

/// Rate control by the paper's constants, as the queue pairs' control.
pub fn by_dcqcn() -> PairControl {
    PairControl::Dcqcn(dcqcn())
}

/// Rate control by the paper's constants.
pub fn dcqcn() -> DcqcnSettings {
    DcqcnSettings {
        cnp_interval: Span::from_micros(50),
        g: 1.0 / 256.0,
        alpha_timer: Span::from_micros(55),
        alpha_by_timer: false,
        decrease_timer: None,
        increase_timer: Span::from_micros(55),
        byte_counter: Some(10_000_000),
        fast_recovery: 5,
        clamp_target: true,
        additive: Rate::from_mbps(40),
        hyper: Rate::from_mbps(400),
        hyper_grows: true,
        least: Rate::from_mbps(10),
    }
}

/// Queue pairs without rate control.
pub fn roce() -> RoceSpec {
    RoceSpec { max_timeout: Span::from_millis(256), ..RoceSpec::line_rate(Span::from_millis(4)) }
}

/// Replaces TCP by queue pairs.
pub fn carry_by_pairs(spec: &mut Spec, roce: RoceSpec) {
    let TransportSpec { mss, header, source_ports, .. } = spec.transport;
    let pairs = TransportSpec::pairs("line-rate".to_owned(), (mss, header), roce);
    spec.transport = TransportSpec { source_ports, ..pairs };
}

/// Switches with a shared buffer of 9 MB that lose nothing of class 0.
pub fn flow_control(spec: &mut Spec) {
    spec.switch.shared = Some(SharedBuffer { size: Bytes(9_000_000), alpha: 1.0 });
    spec.switch.pfc = Some(PfcSpec {
        lossless: 1,
        threshold: PfcThreshold::Dynamic(0.125),
        reserve: Bytes(4_000),
        resume: Bytes(3_000),
        headroom: None,
        watchdog: None,
    });
}

/// Queue pairs at 10 Gb/s, packets of 1,000 bytes and headers of 50, over a fabric that loses nothing.
pub fn pairs(kind: TopologyKind, roce: RoceSpec, flows: Vec<WorkloadSpec>) -> Spec {
    let mut spec = base();
    spec.topology.kind = kind;
    spec.aqm = scheme("droptail");
    spec.transport.mss = 1000;
    spec.transport.header = 50;
    carry_by_pairs(&mut spec, roce);
    flow_control(&mut spec);
    spec.workloads = flows;
    spec.measure.window = Window::All;
    spec
}

/// Switches that trim, with room for so many packets of data at a port; headers and answers go first.
pub fn trim_at(spec: &mut Spec, packets: u32, trim: TrimSpec) {
    (spec.switch.pfc, spec.switch.shared) = (None, None);
    spec.switch.buffer = Amount::Packets(packets);
    spec.switch.queues = 2;
    spec.switch.scheduler = SchedulerKind::Strict;
    spec.switch.weights = vec![1; 2];
    spec.switch.stage_queues = vec![0, 1];
    spec.switch.classifier = Classifier::Dscp;
    spec.switch.trim = Some(trim);
}

/// Jain's index of fairness.
pub fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|x| x * x).sum::<f64>());
    sum * sum / (shares.len() as f64 * squares)
}

/// A probe of some ports.
pub fn probe_of(kind: ProbeKind, ports: &str, every: Span) -> ProbeSpec {
    let name = format!("{kind:?}");
    ProbeSpec { kind, ports: ports.to_owned(), flows: Vec::new(), every, name }
}

/// A column of whole numbers.
pub fn numbers_of(series: &Series, column: &str) -> Vec<u64> {
    let (_, values) = series.columns.iter().find(|(name, _)| *name == column).expect("a column");
    match values {
        Column::U64(v) => v.clone(),
        Column::U32(v) | Column::Index(v) => v.iter().map(|x| u64::from(*x)).collect(),
        Column::F64(_) => panic!("{column} holds no whole numbers"),
    }
}

/// A column of whole numbers.
pub fn numbers(series: &Series, column: &str) -> Vec<u64> {
    let (_, values) = series.columns.iter().find(|(name, _)| *name == column).expect("a column");
    match values {
        Column::U64(v) => v.clone(),
        Column::U32(v) | Column::Index(v) => v.iter().map(|x| u64::from(*x)).collect(),
        Column::F64(_) => panic!("{column} holds no whole numbers"),
    }
}
