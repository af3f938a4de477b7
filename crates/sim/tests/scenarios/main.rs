//! Random small runs: whatever is put together, what must hold of every run holds.

#[path = "../common/mod.rs"]
mod common;
mod fabrics;
mod schemes;
mod traffic;

use common::*;
use fabrics::*;
use leafspine_core::{Bytes, Rate, Rng, Role, Span, Time, mix};
use leafspine_fabric::Graph;
use leafspine_fabric::kinds::{Clos, ClosTier, Defaults, Edge, Vertex, Wiring};
use leafspine_schemes::cc::SlowStart;
use leafspine_schemes::edge::classes_written;
use leafspine_schemes::rdma::{DcqcnSettings, HpccSettings, NsccSettings, SwiftSettings};
use leafspine_schemes::registry::{self, Place};
use leafspine_schemes::testing::{FakeHost, FakeLeaf};
use leafspine_schemes::{Amount, Kind, Params, Value};
use leafspine_sim::spec::*;
use leafspine_sim::{Factories, Output, PortRow, SetupError, Simulation};
use proptest::prelude::*;
use schemes::*;
use std::path::PathBuf;
use std::sync::Arc;
use traffic::*;

/// The whole run, or arrivals after a warm-up that some runs are too short for.
fn measure() -> impl Strategy<Value = MeasureSpec> {
    let warmup = prop_oneof![2 => Just(0), 1 => 1u64..200];
    let recovery = (0.1f64..1.0, 1u64..500)
        .prop_map(|(share, us)| RecoverySpec { share, window: Span::from_micros(us) });
    let recovery = proptest::option::weighted(0.2, recovery);
    (any::<bool>(), warmup, recovery).prop_map(|(all, warmup, recovery)| MeasureSpec {
        window: if all { Window::All } else { Window::Arrivals },
        warmup: Time(Span::from_micros(warmup).0),
        recovery,
    })
}

fn spec() -> impl Strategy<Value = Spec> {
    let transport = (transport(), proptest::option::weighted(0.3, queue_pairs()));
    let transport = transport.prop_map(|(tcp, roce)| with_queue_pairs(tcp, roce));
    let transport_and_switch =
        transport.prop_flat_map(|t| (switch(t.mss + t.header + 122), Just(t)));
    let workloads = proptest::collection::vec(workload(), 1..3);
    let rest = (workloads, measure(), 0u64..1000, trim());
    (topology(), events(), transport_and_switch, schemes(), rest).prop_map(
        |(topology, events, (switch, transport), schemes, (mut workloads, measure, seed, trim))| {
            if topology.kind.tors() > 1 && seed % 2 == 0 {
                workloads.iter_mut().for_each(load_the_fabric);
            }
            let [balancer, aqm, hold, edge] = schemes;
            let mut spec = Spec {
                changes: changes(&topology, &events),
                topology,
                switch,
                aqm: aqm.expect("always there"),
                balancer: balancer.expect("always there"),
                hold,
                edge,
                transport,
                workloads,
                run: RunSpec::new(seed, None),
                measure,
                ..base()
            };
            enough_queues(&mut spec);
            add_trimming(&mut spec, trim);
            if may_never_end(&spec) {
                spec.run.until = Some(Time(Span::from_millis(100).0));
            }
            if spec.switch.pfc.is_some() {
                // Pauses are renewed for as long as flows wait for their timeouts.
                be_impatient(&mut spec.transport);
            }
            if ticks(&spec) {
                be_impatient(&mut spec.transport);
                spec.hold = spec.hold.map(bounded);
            }
            spec
        },
    )
}

/// Whether a run may repeat itself for ever: go-back-N where queues drop. All timeouts become the longest, and the same
/// bursts meet at the same instants.
fn may_never_end(spec: &Spec) -> bool {
    let roce = spec.transport.protocol.roce();
    spec.switch.pfc.is_none() && roce.is_some_and(|roce| roce.recovery == Recovery::GoBackN)
}

/// Whether a scheme does something all the time (probes): a run that waits seconds for a timeout
/// would then be millions of packets long.
fn ticks(spec: &Spec) -> bool {
    let leaf = FakeLeaf::new(4, 4, 1);
    let balancer = registry::load_balancer(&spec.balancer.name).expect("a registered balancer");
    let balancer = (balancer.build)(&spec.balancer.params, &leaf.env);
    let edge = spec.edge.as_ref().map(|edge| {
        let entry = registry::host_edge(&edge.name).expect("a registered edge");
        (entry.build)(&edge.params, &FakeHost::new(1460).env)
    });
    balancer.is_ok_and(|b| b.needs().tick) || edge.is_some_and(|e| e.is_ok_and(|e| e.needs().tick))
}

/// Bounds the time that packets are held: a queue that probes keep long would hold ACKs for ever.
fn bounded(hold: SchemeSpec) -> SchemeSpec {
    let SchemeSpec { name, params } = hold;
    let params = match params.0.get("max_hold") {
        Some(Value::Word(_)) => params.with("max_hold", Value::Span(Span::from_millis(1))),
        _ => params,
    };
    SchemeSpec { name, params }
}

/// Shortens the timeouts, to what no period of probes divides: a packet that is sent again at the
/// instant of each burst of probes may find the same full queue for ever.
fn be_impatient(transport: &mut TransportSpec) {
    let most = Span::from_micros(20_011);
    transport.min_rto = transport.min_rto.min(most);
    transport.initial_rto = transport.initial_rto.map(|rto| rto.min(most));
    transport.max_rto = transport.max_rto.min(most * 2).max(transport.min_rto);
}

/// Turns a load of the hosts' links into one of the links between switches.
fn load_the_fabric(workload: &mut WorkloadSpec) {
    if let WorkloadKind::Poisson { arrivals: Arrivals::Load { basis, .. }, .. } = &mut workload.kind
    {
        *basis = LoadBasis::Fabric;
        workload.pattern = Pattern::InterLeaf;
    }
}

/// Whether two runs are one: in every packet-hop, every flow and every count. How many events it
/// took may differ, and with it how many packets were in the pool for a moment.
fn assert_same(a: &Output, b: &Output) {
    assert_eq!(a.trace_hash, b.trace_hash);
    assert_eq!(a.flows.fct_ps, b.flows.fct_ps);
    assert_eq!(a.flows.path_changes, b.flows.path_changes);
    assert_eq!(a.flows.mean_window, b.flows.mean_window);
    assert_eq!((a.end, a.window), (b.end, b.window));
    assert_eq!((a.delivered_in_window, a.warmup), (b.delivered_in_window, b.warmup));
    assert_eq!(a.recovery, b.recovery);
    let counts = |o: &Output| leafspine_sim::Counters { events: 0, peak_packets: 0, ..o.counters };
    assert_eq!(counts(a), counts(b));
    for (p, q) in a.ports.iter().zip(&b.ports) {
        let exact = |r: &PortRow| {
            let counts = (r.packets, r.bytes, r.marks, r.drops, r.lost, r.queue_max_packets);
            (counts, r.utilisation, r.queue_mean_packets, r.queue_mean_bytes)
        };
        assert_eq!(exact(p), exact(q), "{}", p.name);
        let waits = |r: &PortRow| (r.delay_mean_ps, r.delay_p99_ps, r.queue_p99_packets);
        assert_eq!(waits(p), waits(q), "{}", p.name);
    }
}

/// What one run must fulfil besides what `run` checks.
fn assert_sound(spec: &Spec, output: &Output) {
    let (flows, c) = (&output.flows, &output.counters);
    assert_eq!(c.data_packets, flows.packets.iter().map(|n| u64::from(*n)).sum::<u64>());
    assert_eq!(c.reordered_packets, flows.reordered.iter().map(|n| u64::from(*n)).sum::<u64>());
    for (packets, bytes) in flows.packets.iter().zip(&flows.bytes) {
        let segments = bytes.div_ceil(u64::from(spec.transport.mss));
        let cut_off = spec.run.until.is_some();
        assert!(
            cut_off || u64::from(*packets) >= segments,
            "{packets} packets, {segments} segments"
        );
    }
    if spec.switch.pfc.is_some_and(|pfc| pfc.headroom.is_none()) {
        // A watchdog sends in spite of a pause, or drops.
        assert!(c.lossless_drops == 0 || c.storms > 0 || lossy_links(spec), "{c:?}");
    }
    if let (Amount::Packets(n), None) = (spec.switch.buffer, spec.switch.shared) {
        let limited = |p: &&PortRow| {
            spec.switch.host_ports != HostPorts::Unlimited || !p.name.starts_with("host")
        };
        let limited = |p: &&PortRow| spec.switch.trim.is_none() && limited(p);
        for port in output.ports.iter().filter(limited) {
            assert!(port.queue_max_packets < n, "{} over {n}", port.name);
        }
    }
    assert_warmup(spec, output);
    if spec.changes.is_empty() && spec.measure.window == Window::All {
        // The last packets of a run may still be on their way, and what dequeueing drops has been
        // accepted before; otherwise what ports accept is what arrives at the other end.
        let accepted: u64 = output.ports.iter().map(|p| p.packets).sum();
        let [_, managed, _, _] = c.dropped;
        // Pause frames are no port's to accept.
        let left = (accepted + c.pause_frames) - c.packet_hops;
        // A trimmed packet may have been accepted before, and the header is again; one sent back has come in nowhere.
        let twice = c.trimmed + c.returned;
        assert!(left <= c.in_flight + managed + twice, "{accepted} accepted, {c:?}");
        // Links of a list differ on equally short ways: one with less capacity may be nearer.
        let alike = !matches!(spec.topology.kind, TopologyKind::File(_));
        if alike && keeps_order(spec) {
            // Rates of fractions of a picosecond a byte: one picosecond a hop, 3 x 6 hops at most.
            for (fct, ideal) in flows.fct_ps.iter().zip(&flows.ideal_fct_ps) {
                assert!(
                    fct.saturating_add(18) >= *ideal,
                    "{fct} ps is faster than the ideal {ideal}"
                );
            }
        }
    }
}

/// Whether a pause frame may be lost: on a link with random loss, or one that goes down.
fn lossy_links(spec: &Spec) -> bool {
    let of_changes = |change: &LinkChange| {
        let down = change.up == Some(false) || change.flap.is_some();
        down || change.loss.is_some_and(|loss| loss > 0.0)
    };
    let graph = Graph::build(&spec.topology).expect("a fabric");
    graph.ports.iter().any(|port| port.loss > 0.0) || spec.changes.iter().any(of_changes)
}

/// What the warm-up sets aside is a part of the whole, and some flow comes after it.
fn assert_warmup(spec: &Spec, output: &Output) {
    let (warmup, c, end) = (output.warmup, &output.counters, spec.measure.warmup);
    let starts = &output.flows.start_ps;
    assert_eq!(warmup.flows, starts.iter().filter(|start| **start < end.0).count() as u64);
    // When a job's messages start is unknown before.
    let jobs = spec.workloads.iter().any(|load| matches!(load.kind, WorkloadKind::Job(_)));
    assert!(jobs || warmup.flows < starts.len() as u64, "no flow counts");
    let parts = [warmup.dropped, warmup.lost, warmup.marks, warmup.data_packets];
    let whole = [c.dropped.iter().sum(), c.lost, c.marks, c.data_packets];
    assert!(parts.iter().zip(&whole).all(|(part, whole)| part <= whole), "{parts:?} {whole:?}");
    assert!(end > Time::ZERO || parts == [0; 4], "{parts:?} before a run without warm-up");
    let (open, _) = output.window;
    match spec.measure.window {
        Window::All => assert_eq!(output.delivered_in_window, c.bytes_delivered),
        _ => {
            // A job may be over before the warm-up is.
            assert!(open >= end || jobs && output.end < end, "{open:?} {:?}", output.end);
            assert!(output.delivered_in_window <= c.bytes_delivered);
        }
    }
}

/// Whether a flow's packets take one way and stay in order on it: what the ideal time assumes. Over
/// several ways a flow may be faster, by their rates if each is narrower than the host's link, and
/// by the last segment's time where that overtakes the one before.
fn keeps_order(spec: &Spec) -> bool {
    let one_way = ["ecmp", "wcmp", "pinned"].contains(&spec.balancer.name.as_str());
    // Other edges change what switches hash or obey.
    let steers =
        spec.edge.as_ref().is_some_and(|edge| !["presto", "stage"].contains(&edge.name.as_str()));
    one_way && !steers && spec.switch.queues == 1
}

fn probed(spec: &Spec) -> Spec {
    let kinds = [
        ProbeKind::Queue,
        ProbeKind::Utilisation,
        ProbeKind::Window,
        ProbeKind::Pause,
        ProbeKind::Packets,
    ];
    let probe = |(i, kind): (usize, ProbeKind)| ProbeSpec {
        kind,
        ports: "*".to_owned(),
        flows: Vec::new(),
        every: Span::from_micros(170),
        name: format!("probe{i}"),
    };
    Spec { probes: kinds.into_iter().enumerate().map(probe).collect(), ..spec.clone() }
}

fn general(spec: &Spec) -> Spec {
    Spec { run: RunSpec { ports: PortModel::General, ..spec.run }, ..spec.clone() }
}

/// Whether a balancer is told of departures before they happen where ports can foresee them: then it
/// may decide otherwise over ports that cannot.
fn foresees(spec: &Spec) -> bool {
    let entry = registry::load_balancer(&spec.balancer.name).expect("a registered balancer");
    let balancer = (entry.build)(&spec.balancer.params, &FakeLeaf::new(4, 4, 1).env);
    balancer.is_ok_and(|b| b.needs().leaving && !b.needs().exact_dequeue)
}

/// Whether a scheme refuses its parameters, or its place, with a reason, or no flow starts in the
/// duration or after the warm-up. Anything else that is wrong with a spec fails the test.
fn refused(spec: &Spec) -> bool {
    match Simulation::with(spec, &Factories::default()) {
        Err(SetupError::Scheme { error, .. }) => {
            assert!(!error.allowed.is_empty(), "no reason: {error}");
            true
        }
        Err(SetupError::Workload(error)) => {
            let too_short = error.key == "measure.warmup" || error.key.ends_with(".duration");
            assert!(too_short, "{error}");
            true
        }
        Err(other) => panic!("{other}"),
        Ok(_) => false,
    }
}

/// Runs a spec four ways, which must be one.
fn check(spec: &Spec) {
    let first = run(spec);
    assert_sound(spec, &first);
    assert_same(&first, &run(spec));
    assert_same(&first, &run(&probed(spec)));
    if !foresees(spec) {
        assert_same(&first, &run(&general(spec)));
    }
}

/// 1,500 unless `PROPTEST_CASES` says otherwise: `make soak` draws many more.
fn cases() -> u32 {
    let wanted = std::env::var("PROPTEST_CASES").ok();
    wanted.map_or(1500, |cases| cases.parse().expect("PROPTEST_CASES is a number"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// Breaks if any combination of fabric, changes, switches, schemes, transport and workloads does
    /// not end, loses or repeats a byte, or depends on anything but its spec: run twice, looked at
    /// by every probe, or over the other kind of port, it must be the same run. Combinations that a
    /// scheme refuses with a reason are passed over.
    #[test]
    fn every_run_is_sound(spec in spec()) {
        if !refused(&spec) {
            check(&spec);
        }
    }
}

/// Breaks if a registered scheme cannot run with its defaults: then the test above would pass it by.
#[test]
fn every_scheme_runs() {
    for place in [Place::LoadBalancer, Place::Aqm, Place::Hold, Place::HostEdge] {
        for info in place.schemes() {
            let scheme =
                SchemeSpec { name: info.name.to_owned(), params: Params::defaults(info.params) };
            let workloads = vec![fixed_flows(60, 200_000, 0.8)];
            let measure = MeasureSpec { window: Window::All, warmup: Time::ZERO, recovery: None };
            let mut spec = Spec { workloads, measure, ..base() };
            match place {
                Place::LoadBalancer => {
                    let entry = registry::load_balancer(info.name).expect("registered");
                    spec.edge = entry.edge.map(common::edge);
                    spec.balancer = scheme;
                }
                Place::Aqm => spec.aqm = scheme,
                Place::Hold => spec.hold = Some(scheme),
                _ => {
                    let entry = registry::host_edge(info.name).expect("registered");
                    if let Some(balancer) = entry.balancers.first() {
                        spec.balancer = common::scheme(balancer);
                    }
                    spec.edge = Some(scheme);
                }
            }
            enough_queues(&mut spec);
            // Managers of round robin queues want such queues.
            if refused(&spec) {
                spec.switch.queues = spec.switch.queues.max(2);
                spec.switch.scheduler = SchedulerKind::Dwrr;
                spec.switch.weights = vec![1; usize::from(spec.switch.queues)];
            }
            // Schemes that read stages want queues chosen by them.
            if refused(&spec) {
                spec.switch.classifier = Classifier::Stage;
                spec.switch.stage_queues = stage_queues(3);
            }
            check(&spec);
        }
    }
}
