//! With the stated headroom nothing lossless is dropped, whatever the fabric.

use super::*;
use crate::common::*;
use leafspine_core::{Bytes, Rate, Span, Time};
use leafspine_schemes::{Amount, Value};
use leafspine_sim::Output;
use leafspine_sim::spec::*;
use proptest::prelude::*;

/// Breaks if packets of a lossless priority are dropped though the headroom is what the link needs, or if those that
/// are dropped without it are not counted.
#[test]
fn headroom_is_what_keeps_packets() {
    let mut spec = incast(200);
    let output = run(&spec);
    assert_eq!((output.counters.dropped, output.counters.lossless_drops), ([0; 4], 0));
    assert_eq!(output.flows.retransmits, [0; 4]);
    spec.switch.pfc.as_mut().expect("on").headroom = Some(Bytes(0));
    let output = run(&spec);
    let lost = output.counters.lossless_drops;
    assert!(lost > 0, "nothing comes after a pause frame has left");
    assert_eq!(output.counters.dropped, [lost, 0, 0, 0]);
}

/// Breaks if what a hold has kept in its own memory is counted where it came in once it is let go:
/// hundreds of ACKs at once, of which the far end could not know, were more than the headroom.
#[test]
fn what_a_hold_lets_go_is_never_dropped() {
    let kind = fabric(2, &[1_000, 10_000], &[(0, 1)], 1);
    let mut spec = bursts(kind, 400, vec![long_flows(1, 400 * 1460, hosts(&[1]), hosts(&[0]))]);
    spec.switch.pfc = Some(PfcSpec { resume: Bytes(500), ..pfc(4_500) });
    let hold = scheme_with("abq", "threshold", Value::Amount(Amount::Packets(1)));
    spec.hold = Some(SchemeSpec {
        params: hold.params.with("floor", Value::Amount(Amount::Packets(1))),
        ..hold
    });
    let output = run(&spec);
    assert_eq!((output.counters.lossless_drops, output.counters.dropped), (0, [0; 4]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Breaks if with the stated headroom any lossless packet is dropped, whatever the fabric, the load, the
    /// threshold and the links' changes of rate and delay.
    #[test]
    fn nothing_lossless_is_dropped(
        (leaves, spines, hosts_per_leaf) in (1u32..4, 1u32..4, 1u32..5),
        (host_gbps, fabric_gbps, delay) in (1u64..40, 1u64..40, 1u64..30),
        (dynamic, level, reserve, resume) in (any::<bool>(), 1u64..100_000, 0u64..9_000, 0u64..9_000),
        (window, packets, mss) in (1u32..200, 1u64..300, 100u32..9_000),
        (rate, later, seed) in (1u64..40, 1u64..30, 0u64..1_000),
        balancer in proptest::sample::select(&["ecmp", "rps", "letflow", "drill", "conga"][..]),
    ) {
        prop_assume!(leaves * hosts_per_leaf > 1);
        let flows = WorkloadSpec {
            kind: WorkloadKind::AllToAll { stagger: Span::from_micros(1) },
            ..long_flows(1, packets * u64::from(mss), HostSet::All, HostSet::First(2))
        };
        let mut spec = bursts(leaf_spine(leaves, spines, hosts_per_leaf), window, vec![flows]);
        spec.topology.host_link = link(Rate::from_gbps(host_gbps), Span::from_micros(delay));
        spec.topology.fabric_link = link(Rate::from_gbps(fabric_gbps), Span::from_micros(delay));
        spec.transport.mss = mss;
        spec.balancer = scheme(balancer);
        flow_controlled(&mut spec, (dynamic, level), (reserve, resume));
        spec.changes = vec![LinkChange {
            rate: Some(Rate::from_gbps(rate)),
            delay: Some(Span::from_micros(later)),
            ..change("leaf0-spine0", Span::from_micros(20 + seed % 100))
        }];
        spec.run.seed = seed;
        let output = run(&spec);
        prop_assert_eq!(output.counters.lossless_drops, 0);
        prop_assert_eq!(output.counters.dropped, [0; 4]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Pauses that last for so long that they are renewed: host 1 takes 10 Mb/s, and the links over
    /// which its packets come become faster and slower, longer and shorter, at any time.
    ///
    /// Breaks if with the stated headroom any lossless packet is dropped, or if a port goes on that has
    /// been told to stop, which the check sees.
    #[test]
    fn nothing_lossless_is_dropped_in_long_pauses(
        (first, delay) in (proptest::sample::select(RATES), 1u64..50),
        changes in proptest::collection::vec(
            (any::<bool>(), 1u64..600, proptest::sample::select(RATES), any::<bool>(), 1u64..400),
            1..8,
        ),
        (mss, level, seed) in (100u32..9_000, 1u64..100_000, 0u64..1_000),
    ) {
        let kind = fabric(2, &[first, 10], &[(0, 1)], delay);
        let flows = long_flows(1, 1 << 30, hosts(&[0]), hosts(&[1]));
        let mut spec = bursts(kind, 1 << 16, vec![flows]);
        spec.transport.mss = mss;
        spec.transport.min_rto = Span::from_millis(60_000);
        spec.switch.shared = Some(SharedBuffer { size: Bytes(20_000_000_000), alpha: 1.0 });
        spec.switch.pfc = Some(pfc(level));
        spec.run.until = Some(Time(6_000_000_000));
        spec.run.seed = seed;
        let mut at = 0;
        for (host, gap, rate, longer, delay) in changes {
            at += gap;
            let link = if host { "h0-s0" } else { "s0-s1" };
            spec.changes.push(LinkChange {
                rate: Some(Rate::from_mbps(rate)),
                delay: longer.then(|| Span::from_micros(delay)),
                ..change(link, Span::from_micros(at))
            });
        }
        let output = run(&spec);
        prop_assert_eq!(output.counters.lossless_drops, 0);
        prop_assert_eq!(output.counters.dropped, [0; 4]);
    }
}

/// Mb/s.
const RATES: &[u64] = &[100, 1_000, 10_000, 40_000, 100_000, 400_000];

/// Flow control in a shared buffer of 20 MB, with a threshold of so many bytes, or of so many
/// ten-thousandths of what is free.
fn flow_controlled(spec: &mut Spec, (dynamic, level): (bool, u64), (reserve, resume): (u64, u64)) {
    spec.switch.shared = Some(SharedBuffer { size: Bytes(20_000_000), alpha: 1.0 });
    let threshold = match dynamic {
        true => PfcThreshold::Dynamic(level as f64 / 10_000.0),
        false => PfcThreshold::Static(Bytes(level)),
    };
    let (reserve, resume) = (Bytes(reserve), Bytes(resume));
    spec.switch.pfc = Some(PfcSpec { threshold, reserve, resume, ..pfc(0) });
}

/// Queue pairs by each control and each recovery that expects no loss.
fn transports() -> Vec<RoceSpec> {
    let hpcc = leafspine_schemes::rdma::HpccSettings {
        base_rtt: Span::from_micros(50),
        eta: 0.95,
        stages: 5,
        additive: 80,
    };
    let swift = crate::swift(Span::from_micros(100), Span::from_micros(50), Span::from_micros(50));
    vec![
        roce(),
        RoceSpec { control: by_dcqcn(), ..roce() },
        RoceSpec { recovery: IRN, window: Some(60_000), ..roce() },
        RoceSpec { control: PairControl::Hpcc(hpcc), ..roce() },
        RoceSpec { control: PairControl::Swift(swift), recovery: Recovery::Each, ..roce() },
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Trees of switches, in which no ports can wait for each other, with hosts and links of any rates.
    ///
    /// Breaks if with the stated headroom any packet of queue pairs is dropped: data, what
    /// telemetry adds to it, or answers.
    #[test]
    fn nothing_of_queue_pairs_is_dropped(
        parents in proptest::collection::vec(0usize..100, 1..6),
        rates in proptest::collection::vec(1_000u64..40_000, 6),
        (delay, dynamic, level) in (1u64..30, any::<bool>(), 1u64..100_000),
        (reserve, resume, packets, mss) in (0u64..9_000, 0u64..9_000, 1u64..200, 100u32..9_000),
        (transport, seed) in (0usize..5, 0u64..1_000),
    ) {
        let links: Vec<_> = parents.iter().enumerate().map(|(n, at)| (n + 1, at % (n + 1))).collect();
        let switches = links.len() + 1;
        let flows = WorkloadSpec {
            kind: WorkloadKind::AllToAll { stagger: Span::from_micros(1) },
            ..long_flows(1, packets * u64::from(mss), HostSet::All, HostSet::First(2))
        };
        let kind = fabric(switches, &rates[..switches], &links, delay);
        let mut spec = pairs(kind, transports()[transport], vec![flows]);
        spec.transport.mss = mss;
        spec.aqm = scheme("ecn-threshold");
        flow_controlled(&mut spec, (dynamic, level), (reserve, resume));
        spec.run.seed = seed;
        let output = run(&spec);
        prop_assert_eq!(output.counters.lossless_drops, 0);
        prop_assert_eq!(output.counters.dropped, [0; 4]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Breaks if a packet that finds an idle line makes any difference where the port sends it at once: a watchdog that
    /// never bites has every packet go the longer way. Lossless or not, whoever manages the queues.
    #[test]
    fn packets_sent_at_once_go_as_others(
        (leaves, spines, hosts_per_leaf) in (1u32..4, 1u32..4, 2u32..5),
        (gbps, delay, level) in (1u64..40, 1u64..30, 1_000u64..100_000),
        lossless in 1u8..3,
        manager in proptest::sample::select(&["droptail", "red", "ecn-threshold", "codel"][..]),
        (window, packets, seed) in (1u32..100, 1u64..100, 0u64..1_000),
    ) {
        let flows = WorkloadSpec {
            kind: WorkloadKind::AllToAll { stagger: Span::from_micros(1) },
            ..long_flows(1, packets * 1460, HostSet::All, HostSet::First(2))
        };
        let mut spec = bursts(leaf_spine(leaves, spines, hosts_per_leaf), window, vec![flows]);
        spec.topology.host_link = link(Rate::from_gbps(gbps), Span::from_micros(delay));
        spec.topology.fabric_link = link(Rate::from_gbps(gbps), Span::from_micros(delay));
        spec.aqm = scheme(manager);
        spec.transport.scheme = scheme("dctcp");
        let alpha = level as f64 / 1e7;
        spec.switch.shared = Some(SharedBuffer { size: Bytes(20_000_000), alpha });
        spec.switch.pfc = Some(PfcSpec { lossless, ..pfc(level) });
        spec.run.seed = seed;
        let at_once = run(&spec);
        let watchdog = WatchdogSpec {
            detect: Span::from_millis(100_000),
            restore: Span::from_millis(1),
            action: WatchdogAction::Drop,
        };
        spec.switch.pfc.as_mut().expect("on").watchdog = Some(watchdog);
        let longer = run(&spec);
        prop_assert_eq!(at_once.trace_hash, longer.trace_hash);
        prop_assert_eq!(at_once.counters.dropped, longer.counters.dropped);
        prop_assert_eq!(at_once.counters.marks, longer.counters.marks);
        let counted = |output: &Output| -> Vec<String> {
            output.ports.iter().map(|p| format!("{p:?}")).collect()
        };
        prop_assert_eq!(counted(&at_once), counted(&longer));
    }
}
