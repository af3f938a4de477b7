//! Random transports and workloads.

use super::*;

/// Each of TCP's switches, or none.
pub(super) fn stack() -> impl Strategy<Value = Stack> {
    let us = |most: u64| proptest::option::of((0..most).prop_map(Span::from_micros));
    let words = (
        proptest::sample::select(vec![Reduction::AtOnce, Reduction::Prr6937, Reduction::Prr9937]),
        proptest::sample::select(vec![Timestamps::Free, Timestamps::Option, Timestamps::Off]),
        proptest::sample::select(vec![
            SlowStart::Standard,
            SlowStart::HyStart,
            SlowStart::HyStartPlusPlus,
        ]),
    );
    let counts = (0u32..20, 0u32..3, 0u32..5);
    let any = (any::<[bool; 25]>(), words, us(2_000), us(1_000), counts).prop_map(
        |(flags, (reduction, timestamps, slow_start), tlp, eifel, counts)| {
            let (quick_acks, spared, pacing_quantum) = counts;
            let [idle_restart, sack_bytes, rack, dsack, undo_dsack, frto, pacing, more @ ..] =
                flags;
            let [less_careful, ignore_duplicate_ece, one_reduction, more @ ..] = more;
            let [lingering_recovery, more @ ..] = more;
            let [mark_prr, gso, ecn_fallback, whole_windows, comp_sack, more @ ..] = more;
            let [undo_waits, ece_forbids_undo, rack_any_rtt, ecn_all, small_queues, more @ ..] =
                more;
            let [ack_changes, growth_acks, push_acks, kernel_timers] = more;
            Stack {
                syn_losses_spared: spared,
                idle_restart,
                quick_acks,
                sack_bytes,
                timestamps,
                reduction,
                rack,
                tlp,
                dsack,
                undo_dsack,
                eifel,
                frto,
                slow_start,
                pacing,
                pacing_quantum,
                less_careful,
                lingering_recovery,
                ignore_duplicate_ece,
                one_reduction,
                mark_prr,
                gso,
                syn_options: spared * 4,
                ecn_fallback,
                whole_windows,
                comp_sack,
                rack_slack: eifel,
                undo_waits,
                ece_forbids_undo,
                rack_any_rtt,
                ecn_all,
                small_queues,
                ack_changes,
                growth_acks,
                push_acks,
                kernel_timers,
            }
        },
    );
    prop_oneof![1 => Just(Stack::default()), 1 => any]
}

pub(super) fn transport() -> impl Strategy<Value = TransportSpec> {
    let windows = (
        1u32..20,
        proptest::option::of((4u32..40).prop_map(Amount::Packets)),
        1u32..6,
        proptest::sample::select(&[100u32, 536, 1460, 8960][..]),
    );
    let times = (
        500u64..5_000,
        proptest::option::of(Just(Span::from_millis(10))),
        proptest::option::of((1u64..2_000).prop_map(Span::from_micros)),
    );
    let switches =
        (any::<bool>(), any::<bool>(), any::<[bool; 2]>(), proptest::option::of(any::<bool>()));
    (any_of(Place::Transport), windows, times, switches, stack()).prop_map(
        |(scheme, (window, max, dupacks, mss), (min_rto, initial_rto, delayed_ack), s, stack)| {
            let (sack, limited_transmit, [handshake, handshake_ack], ecn) = s;
            let by_rate = scheme.name.starts_with("bbr");
            let sack = sack || by_rate;
            TransportSpec {
                scheme,
                ecn,
                mss,
                header: 40,
                init_cwnd: Amount::Packets(window),
                max_cwnd: max,
                min_rto: Span::from_micros(min_rto),
                initial_rto,
                max_rto: Span::from_millis(50),
                dupack_threshold: dupacks,
                sack,
                limited_transmit,
                delayed_ack,
                handshake,
                handshake_ack,
                source_ports: None,
                // RACK goes by SACKs, and rates by RACK.
                stack: Stack { rack: stack.rack && sack || by_rate, ..stack },
                protocol: Protocol::Tcp,
            }
        },
    )
}

/// Queue pairs in place of TCP: any recovery, window and rate control.
pub(super) fn queue_pairs() -> impl Strategy<Value = RoceSpec> {
    let us = |range: std::ops::Range<u64>| Strategy::prop_map(range, Span::from_micros);
    let steps = (1u32..6, any::<[bool; 3]>(), proptest::option::of(us(1..100)));
    let bytes = proptest::option::weighted(0.7, 1u64..100);
    let dcqcn = (us(0..100), 0.0f64..1.0, us(1..100), us(1..100), bytes, steps).prop_map(
        |(cnp_interval, g, alpha_timer, increase_timer, bytes, (steps, flags, decrease_timer))| {
            let [clamp_target, alpha_by_timer, hyper_grows] = flags;
            DcqcnSettings {
                cnp_interval,
                g,
                alpha_timer,
                alpha_by_timer,
                decrease_timer,
                increase_timer,
                byte_counter: bytes.map(|bytes| bytes * 65_536),
                fast_recovery: steps,
                clamp_target,
                additive: Rate::from_mbps(40),
                hyper: Rate::from_mbps(400),
                hyper_grows,
                least: Rate::from_mbps(1),
            }
        },
    );
    let hpcc = (us(1..100), 0.5f64..1.0, 0u32..8, 1u64..5_000).prop_map(
        |(base_rtt, eta, stages, additive)| HpccSettings { base_rtt, eta, stages, additive },
    );
    let rest = (0u32..8, 0.0f64..1.0, 0.1f64..3.0);
    let nscc = (us(1..100), us(1..100), us(0..9), 0u64..20_000, rest).prop_map(
        |(base_rtt, target, no_wait, step, (gate, share, most))| NsccSettings {
            base_rtt,
            target,
            proportional: step,
            fair: step / 2,
            eta: step / 8,
            fast: share,
            gamma: share,
            gate,
            no_wait,
            weight: share,
            packet: 1500,
            most,
        },
    );
    let swift = (us(1..100), us(0..100), 0.0f64..1.0, 0.01f64..0.5).prop_map(
        |(target, range, share, least)| SwiftSettings {
            target,
            range,
            small: least,
            large: 50.0,
            additive: 2.0 * share,
            beta: share,
            most_cut: share,
            least,
            reset: 1 + (share * 4.0) as u32,
            packet: 1500,
            base_rtt: target,
        },
    );
    let control = prop_oneof![
        2 => swift.prop_map(PairControl::Swift),
        2 => nscc.prop_map(PairControl::Nscc),
        2 => Just(PairControl::LineRate),
        2 => dcqcn.prop_map(PairControl::Dcqcn),
        2 => hpcc.prop_map(PairControl::Hpcc),
    ];
    let recovery = prop_oneof![
        Just(Recovery::GoBackN),
        Just(Recovery::Each),
        (us(50..500), 0u32..6, prop_oneof![Just(1), 1u32..40])
            .prop_map(|(low, few, after)| Recovery::Selective { low, few, after }),
    ];
    let window = proptest::option::of(1u64..200_000);
    let credits = proptest::option::weighted(0.5, (1u64..100_000, 0.1f64..1.0))
        .prop_map(|credits| credits.map(|(first, share)| CreditSpec { first, share }));
    let naks = (any::<bool>(), any::<bool>());
    let rest = (1u32..20, us(500..5_000), naks, (0u8..8, 0u8..8), credits);
    (control, recovery, window, rest).prop_map(
        |(control, recovery, window, (ack_every, timeout, naks, classes, credits))| RoceSpec {
            control,
            recovery,
            window,
            ack_every,
            timeout,
            max_timeout: Span::from_millis(50),
            nak_each: naks.0 && recovery == Recovery::GoBackN,
            nak_cuts: naks.1,
            classes,
            // What is sent again needs one, too.
            credits: credits.filter(|_| recovery == Recovery::Each),
        },
    )
}

/// A transport with queue pairs instead of TCP's ends.
pub(super) fn with_queue_pairs(tcp: TransportSpec, roce: Option<RoceSpec>) -> TransportSpec {
    let Some(roce) = roce else { return tcp };
    TransportSpec {
        ecn: Some(true),
        handshake: false,
        min_rto: roce.timeout,
        max_rto: roce.max_timeout,
        protocol: Protocol::Roce(roce),
        ..tcp
    }
}

pub(super) fn sizes() -> impl Strategy<Value = SizeSpec> {
    prop_oneof![
        (1u64..40_000).prop_map(|n| SizeSpec::Fixed(Bytes(n))),
        (1u64..100, 100u64..30_000).prop_map(|(a, b)| SizeSpec::Uniform(Bytes(a), Bytes(b))),
        Just(SizeSpec::Pareto { mean: Bytes(8_000), shape: 1.5, max: Some(Bytes(100_000)) }),
        Just(SizeSpec::Mix(vec![
            (0.9, SizeSpec::Fixed(Bytes(1_000))),
            (0.1, SizeSpec::Fixed(Bytes(60_000)))
        ])),
    ]
}

/// A trace between hosts 0 and 1, which every fabric has; some rows are pinned to a path.
pub(super) fn trace() -> impl Strategy<Value = WorkloadKind> {
    let path = || proptest::option::of(0u16..6);
    let row = (0u64..100_000_000, any::<bool>(), 1u64..30_000, path(), path());
    proptest::collection::vec(row, 1..20).prop_map(|mut rows| {
        rows.sort_unstable();
        let show = |path: Option<u16>| path.map_or(String::new(), |path| path.to_string());
        let mut text = "start_ps,src,dst,bytes,path,ack_path\n".to_owned();
        for (start, turned, bytes, path, ack_path) in rows {
            let (src, dst) = if turned { (1, 0) } else { (0, 1) };
            text += &format!("{start},{src},{dst},{bytes},{},{}\n", show(path), show(ack_path));
        }
        let name = text.bytes().fold(0u64, |sum, b| mix(sum ^ u64::from(b))) % 64;
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("scenario-{name}.csv"));
        std::fs::write(&path, text).expect("a writable directory for tests");
        WorkloadKind::Trace(TraceSpec::new(path))
    })
}

/// Steps in SimAI's workload text of two ranks, each in a file that is named by what is in it.
fn step() -> impl Strategy<Value = JobKind> {
    let comm = proptest::sample::select(vec![
        "NONE 0",
        "ALLREDUCE 9000",
        "ALLGATHER 20000",
        "REDUCESCATTER 3",
        "ALLTOALL 5000",
        "ALLREDUCE_DP 7000",
    ]);
    let pass = (0u64..3_000, comm).prop_map(|(time, comm)| format!("{time} {comm}"));
    let row = (pass.clone(), pass.clone(), pass, 0u64..500)
        .prop_map(|(a, b, c, update)| format!("layer -1 {a} {b} {c} {update}\n"));
    let rows = proptest::collection::vec(row, 1..4);
    (rows, 1u64..3, 1u16..3).prop_map(|(rows, tensor, channels)| {
        let head = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group:";
        let text = format!("{head} {tensor} all_gpus: 2\n{}\n{}", rows.len(), rows.concat());
        let name = text.bytes().fold(0u64, |sum, b| mix(sum ^ u64::from(b))) % 64;
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("step-{name}.txt"));
        std::fs::write(&file, text).expect("a writable directory for tests");
        let how = HowSpec { algorithm: Algorithm::Ring, channels, chunk: None };
        JobKind::Simai(SimaiSpec { file, unit: TimeUnit::Ns, how })
    })
}

/// Jobs on all hosts.
pub(super) fn job() -> impl Strategy<Value = WorkloadKind> {
    use Algorithm::{Direct, HalvingDoubling, Pairwise, Ring, Tree};
    use Collective::{AllGather, AllReduce, AllToAll, AllToAllV, ReduceScatter};
    let how = proptest::sample::select(vec![
        (AllReduce, Ring),
        (AllReduce, Tree),
        (AllReduce, HalvingDoubling),
        (AllGather, Ring),
        (ReduceScatter, Ring),
        (AllToAll, Direct),
        (AllToAll, Pairwise),
        (AllToAllV, Direct),
        (AllToAllV, Pairwise),
    ]);
    let chunk = proptest::option::of((1_000u64..5_000).prop_map(Bytes));
    let collective = (how, 2_000u64..60_000, 1u16..4, chunk).prop_map(
        |((collective, algorithm), bytes, channels, chunk)| {
            let bytes = Bytes(bytes);
            let spec = CollectiveSpec { collective, algorithm, bytes, channels, chunk };
            JobKind::Collective(spec)
        },
    );
    let schedule = proptest::sample::select(vec![Schedule::AllForward, Schedule::Alternating]);
    let pipeline = (1u64..20_000, 1u32..5, 0u64..50, schedule).prop_map(
        |(bytes, microbatches, work, schedule)| {
            let (forward, backward) = (Span::from_micros(work), Span::from_micros(2 * work));
            let bytes = Bytes(bytes);
            JobKind::Pipeline(PipelineSpec { bytes, microbatches, forward, backward, schedule })
        },
    );
    let what = prop_oneof![4 => collective, 1 => pipeline, 1 => step()];
    let place = proptest::sample::select(vec![Placement::Packed, Placement::Random]);
    let times = (0u64..2, 0u64..40, 0u64..40, 0u64..3);
    (what, place, 1u32..4, times).prop_map(
        |(what, placement, iterations, (computes, compute, jitter, delay))| {
            let us = |time| Span::from_micros(time * computes);
            let delay = Span::from_micros(delay);
            let (compute, compute_jitter) = (us(compute), us(jitter));
            let jobs = 1;
            WorkloadKind::Job(Box::new(JobSpec {
                what,
                jobs,
                ranks: None,
                placement,
                iterations,
                compute,
                compute_jitter,
                delay,
            }))
        },
    )
}

pub(super) fn workload() -> impl Strategy<Value = WorkloadSpec> {
    let us = |range| Strategy::prop_map(range, Span::from_micros);
    let arrivals = prop_oneof![
        (0.1f64..1.5).prop_map(|load| Arrivals::Load { load, basis: LoadBasis::Host }),
        us(1u64..100).prop_map(Arrivals::Interarrival),
        (100u64..20_000).prop_map(|mbps| Arrivals::Rate(Rate::from_mbps(mbps))),
    ];
    // Some durations are over before the first flow, which is refused, and few are of many flows.
    let stop = prop_oneof![
        3 => (1u64..60).prop_map(Stop::Flows),
        1 => us(1u64..400).prop_map(Stop::After),
    ];
    let all = (HostSet::All, HostSet::All);
    let kind = prop_oneof![
        3 => (arrivals, stop).prop_map({
            let all = all.clone();
            move |(arrivals, stop)| (WorkloadKind::Poisson { arrivals, stop }, all.clone())
        }),
        1 => (1u32..4, us(0u64..500), us(0u64..20)).prop_map(|(rounds, every, jitter)| {
            let kind = WorkloadKind::Incast { fan_in: None, rounds, every, jitter };
            (kind, (HostSet::Rest, HostSet::First(1)))
        }),
        1 => (1u32..10, us(0u64..20)).prop_map({
            let all = all.clone();
            move |(count, stagger)| (WorkloadKind::LongFlows { count, stagger }, all.clone())
        }),
        1 => us(0u64..20).prop_map({
            let all = all.clone();
            move |stagger| (WorkloadKind::Permutation { stagger }, all.clone())
        }),
        1 => us(0u64..20).prop_map({
            move |stagger| {
                (WorkloadKind::AllToAll { stagger }, (HostSet::First(2), HostSet::RandomHalf))
            }
        }),
    ];
    let others = prop_oneof![trace(), job()].prop_map(move |kind| (kind, all.clone()));
    let kind = prop_oneof![6 => kind, 2 => others];
    let class = proptest::option::weighted(0.2, 0u8..8);
    (kind, sizes(), 0u64..300, class).prop_map(
        |((kind, (senders, receivers)), sizes, start, class)| {
            let start = Time(Span::from_micros(start).0);
            WorkloadSpec { kind, sizes, senders, receivers, pattern: Pattern::Any, start, class }
        },
    )
}
