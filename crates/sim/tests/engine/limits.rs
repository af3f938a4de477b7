//! At the edges of what the engine's numbers hold: every run ends, or is refused in one line.

use crate::common::*;
use leafspine_core::{Bytes, Span, Time};
use leafspine_schemes::{Amount, Value};
use leafspine_sim::spec::*;
use leafspine_sim::{Column, Memory, Output, Progress, RunError, Simulation};

/// Two flows from two hosts to a third, all under one switch.
fn two_to_one() -> Spec {
    let mut spec = base();
    spec.topology.kind = TopologyKind::Star { hosts: 3 };
    spec.workloads = vec![long_flows(2, 100_000, hosts(&[0, 1]), hosts(&[2]))];
    spec
}

fn outcome(spec: &Spec) -> Result<Output, RunError> {
    Simulation::new(spec).expect("a valid spec").checked().run(&Progress::default())
}

/// The key and what was found, of a run that is refused when its flows are made.
fn refused(spec: &Spec) -> (String, String) {
    match outcome(spec) {
        Err(RunError::Workload(error)) => (error.key, error.found),
        other => panic!("not refused: {:?}", other.map(|output| output.end)),
    }
}

/// Breaks if a flow of more segments than can be numbered panics instead of being refused, be its
/// size fixed or drawn.
#[test]
fn flows_of_too_many_segments_are_refused() {
    let mut spec = two_to_one();
    let found = "a flow of 18446744073709551615B".to_owned();
    for sizes in [
        SizeSpec::Fixed(Bytes(u64::MAX)),
        SizeSpec::Uniform(Bytes(u64::MAX), Bytes(u64::MAX)),
        SizeSpec::Pareto { mean: Bytes(u64::MAX), shape: 1.5, max: None },
    ] {
        spec.workloads[0].sizes = sizes;
        let (key, said) = refused(&spec);
        assert_eq!(key, "workload.0.sizes");
        assert!(said == found || said.starts_with("a flow of "), "{said}");
    }
    spec.workloads[0].sizes = SizeSpec::Fixed(Bytes((1460 << 31) + 1));
    assert_eq!(refused(&spec).0, "workload.0.sizes");
}

/// Breaks if a flow that starts after the end of time wraps round to its beginning, or is left out
/// in silence; one that starts after `until` is none of the run.
#[test]
fn flows_after_the_end_of_time_are_refused() {
    let mut spec = two_to_one();
    spec.workloads[0].start = Time::MAX;
    let late = "a flow that starts at 18446744.073709551615s".to_owned();
    assert_eq!(refused(&spec), ("workload.0.start".to_owned(), late.clone()));
    let stagger = Span(u64::MAX);
    spec.workloads[0].start = Time::ZERO;
    spec.workloads[0].kind = WorkloadKind::LongFlows { count: 2, stagger };
    assert_eq!(refused(&spec).1, late);
    spec.run.until = Some(Time(1_000_000_000));
    assert_eq!(run(&spec).flows.len(), 1);
    spec.run.until = Some(Time::MAX);
    assert_eq!(refused(&spec).1, late);
}

/// Breaks if a run in which nothing can arrive goes beyond the end of time, or ends with time before
/// its start: each packet is larger than the buffer.
#[test]
fn a_run_ends_with_time_at_the_latest() {
    let mut spec = two_to_one();
    spec.switch.buffer = Amount::Bytes(39);
    spec.run.until = Some(Time::MAX);
    let output = outcome(&spec).expect("a run that ends");
    assert_eq!((output.end, output.flows.finished()), (Time::END, 0));
    assert!(output.counters.conserved());
}

/// Breaks if a timeout or a delayed ACK beyond the end of time wraps into the past.
#[test]
fn timers_beyond_the_end_of_time_do_not_fire() {
    let mut spec = two_to_one();
    let never = Span(u64::MAX);
    let times = |output: &Output| output.flows.fct_ps.clone();
    let plain = times(&run(&spec));
    (spec.transport.min_rto, spec.transport.max_rto) = (never, never);
    spec.transport.initial_rto = Some(never);
    let output = run(&spec);
    assert_eq!(times(&output), plain);
    assert_eq!(output.flows.timeouts, [0, 0]);
    spec.transport.delayed_ack = Some(never);
    assert_eq!(run(&spec).flows.timeouts, [0, 0]);
}

/// Breaks if a `packets` probe tells of packets that had not been sent when the run was cut, or in
/// an order that depends on the kind of port.
#[test]
fn packet_probes_end_with_the_run() {
    let mut spec = two_to_one();
    spec.run.until = Some(Time(50_000_000));
    spec.probes = vec![ProbeSpec {
        kind: ProbeKind::Packets,
        ports: "switch0-*".to_owned(),
        flows: Vec::new(),
        every: Span::ZERO,
        name: "packets".to_owned(),
    }];
    let rows = |spec: &Spec| {
        let output = run(spec);
        output.probes[0].columns.iter().map(|(_, column)| format!("{column:?}")).collect::<Vec<_>>()
    };
    let fast = run(&spec);
    let Column::U64(times) = &fast.probes[0].columns[0].1 else { panic!("times come first") };
    assert!(times.is_sorted() && times.len() > 20, "{times:?}");
    assert!(times.iter().all(|time| *time <= 50_000_000), "{times:?}");
    let one_event = rows(&spec);
    spec.run.ports = PortModel::General;
    assert_eq!(rows(&spec), one_event);
}

/// Breaks if the delays of packets that wait when the run is cut count with one kind of port only.
#[test]
fn delays_of_a_cut_run_do_not_depend_on_the_port() {
    let mut spec = two_to_one();
    spec.run.until = Some(Time(50_000_000));
    spec.measure.window = Window::All;
    let delays = |spec: &Spec| -> Vec<_> {
        run(spec).ports.iter().map(|p| (p.name.clone(), p.delay_mean_ps, p.delay_p99_ps)).collect()
    };
    let one_event = delays(&spec);
    assert!(one_event.iter().any(|(_, mean, _)| *mean > 0.0), "nothing waited: {one_event:?}");
    spec.run.ports = PortModel::General;
    assert_eq!(delays(&spec), one_event);
}

/// Breaks if a run that ends by time is thought to have fewer flows than one seed in a billion has,
/// or far more, or to need other memory than that many flows need.
#[test]
fn a_duration_is_estimated_with_a_margin() {
    let rows = |stop: Stop, seed: u64| {
        let mut spec = base();
        spec.workloads[0].kind =
            WorkloadKind::Poisson { arrivals: Arrivals::Interarrival(Span::from_micros(5)), stop };
        spec.run.seed = seed;
        Memory::of(&spec, u64::MAX).expect("an estimate")
    };
    for seed in 1..=20 {
        let found = rows(Stop::After(Span::from_millis(5)), seed);
        assert_eq!(found, rows(Stop::Flows(found.rows), seed));
        // A thousand are to be expected, with a standard error of 32.
        assert!((1_150..1_250).contains(&found.rows), "{}", found.rows);
    }
}

/// Breaks if an estimate beside another run's is not the run's own: where the balancer's table, the
/// fabric, the queue manager or the host edge is another, or where nothing of these is.
#[test]
fn an_estimate_beside_another_is_its_own() {
    let mut one = base();
    one.balancer = scheme("letflow");
    let changed = |change: fn(&mut Spec)| {
        let mut spec = one.clone();
        change(&mut spec);
        spec
    };
    let others = [
        changed(|spec| spec.run.seed += 1),
        changed(|spec| {
            let arrivals = Arrivals::Interarrival(Span::from_micros(5));
            spec.workloads[0].kind = WorkloadKind::Poisson { arrivals, stop: Stop::Flows(7) };
        }),
        changed(|spec| spec.balancer = scheme_with("letflow", "entries", Value::Int(1 << 10))),
        changed(|spec| spec.balancer = scheme("conga")),
        changed(|spec| spec.topology.kind = leaf_spine(8, 4, 4)),
        changed(|spec| spec.aqm = scheme("red")),
        changed(|spec| spec.edge = Some(edge("clove-ecn"))),
    ];
    let alone = |spec: &Spec| Memory::of(spec, u64::MAX).expect("an estimate");
    let first = alone(&one);
    let mut different = 0;
    for other in &others {
        let beside = Memory::beside(Some((&one, &first)), other, u64::MAX).expect("an estimate");
        assert_eq!(beside, alone(other));
        different += u32::from(beside.schemes != first.schemes);
    }
    assert_eq!(different, 5, "all but the first two keep something else");
}
