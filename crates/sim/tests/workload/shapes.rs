//! Incast, long flows, permutations, all-to-all.

use crate::common::*;
use leafspine_core::{Span, Time};
use leafspine_sim::spec::{HostSet, Pattern, WorkloadKind, WorkloadSpec};
use leafspine_sim::workload::Flow;
use proptest::prelude::*;

fn incast(fan_in: Option<u32>, rounds: u32, every: u64, jitter: u64) -> WorkloadKind {
    WorkloadKind::Incast { fan_in, rounds, every: Span(every), jitter: Span(jitter) }
}

fn starts(flows: &[Flow]) -> Vec<u64> {
    flows.iter().map(|flow| flow.start.0).collect()
}

/// Breaks if a round leaves out a sender, has the receiver send to itself, or starts at another time.
#[test]
fn incast_rounds_are_everybody_at_once() {
    let spec = WorkloadSpec {
        receivers: list(&[2]),
        start: Time(10_000),
        ..workload(incast(None, 2, 1_000, 0))
    };
    let flows = flows(&[spec], &star(4), 1);
    assert_eq!(pairs(&flows), [(0, 2), (1, 2), (3, 2), (0, 2), (1, 2), (3, 2)]);
    assert_eq!(starts(&flows), [10_000, 10_000, 10_000, 11_000, 11_000, 11_000]);
}

/// Breaks if receivers do not take turns, or `fan_in` takes others than the first senders that may.
#[test]
fn incast_receivers_take_turns() {
    let spec = WorkloadSpec {
        senders: list(&[3, 1, 0, 2]),
        receivers: list(&[1, 3]),
        ..workload(incast(Some(2), 3, 50, 0))
    };
    let flows = flows(&[spec], &star(4), 1);
    assert_eq!(pairs(&flows), [(3, 1), (0, 1), (1, 3), (0, 3), (3, 1), (0, 1)]);
    assert_eq!(starts(&flows), [0, 0, 50, 50, 100, 100]);
}

/// Breaks if jitter is not uniform from zero to its bound (Kolmogorov-Smirnov, 0.1 % point 1.95) or
/// rounds that overlap come out of order (`flows` checks that).
#[test]
fn incast_jitter_is_uniform_and_rounds_may_overlap() {
    let (jitter, rounds, every) = (1_000_000u64, 500u32, 100_000);
    let spec =
        WorkloadSpec { receivers: list(&[0]), ..workload(incast(None, rounds, every, jitter)) };
    let all = flows(std::slice::from_ref(&spec), &star(101), 1);
    assert_eq!(all.len(), 100 * rounds as usize);
    // One round alone tells which start is whose.
    let mut late = Vec::new();
    for seed in 0..500 {
        let one = WorkloadSpec { kind: incast(None, 1, every, jitter), ..spec.clone() };
        late.extend(starts(&flows(&[one], &star(101), seed)));
    }
    assert!(late.iter().all(|late| *late <= jitter));
    late.sort_unstable();
    let n = late.len() as f64;
    let off = |(i, late): (usize, &u64)| (*late as f64 / jitter as f64 - i as f64 / n).abs();
    let d = late.iter().enumerate().map(off).fold(0.0, f64::max) * n.sqrt();
    assert!(d < 1.95, "Kolmogorov-Smirnov {d}");
    // The bound itself can be drawn: one picosecond of jitter is a coin.
    let coin = WorkloadSpec { kind: incast(None, 1, every, 1), ..spec.clone() };
    let late: u64 = starts(&flows(&[coin], &star(101), 1)).iter().sum();
    assert!((30..=70).contains(&late), "{late} heads of 100");
    // Without jitter the very same senders take part.
    let plain = WorkloadSpec { kind: incast(None, 1, every, 0), ..spec };
    assert_eq!(starts(&flows(&[plain], &star(101), 1)), [0; 100]);
}

/// Breaks if an incast that cannot be is accepted, or a message changes.
#[test]
fn impossible_incasts_are_refused() {
    let refused = |kind, senders| {
        let spec = WorkloadSpec { senders, receivers: list(&[0]), ..workload(kind) };
        refusal(&spec, &star(4))
    };
    assert_eq!(
        refused(incast(None, 0, 1, 0), HostSet::All),
        "workload.0.rounds: found 0; allowed: at least 1"
    );
    assert_eq!(
        refused(incast(Some(0), 1, 1, 0), HostSet::All),
        "workload.0.fan_in: found 0; allowed: at least 1"
    );
    assert_eq!(
        refused(incast(Some(4), 1, 1, 0), HostSet::All),
        "workload.0.fan_in: found 4; allowed: at most 3, the senders that may send to host 0"
    );
    assert_eq!(
        refused(incast(None, 1, 1, 0), list(&[0])),
        "workload.0.receivers: found host 0, which receives, without any other host to pair it \
         with; allowed: senders and receivers that the pattern \"any\" can pair"
    );
}

/// Breaks if the i-th sender is not paired with the i-th receiver, wrapping round, or starts are not
/// `stagger` apart.
#[test]
fn long_flows_pair_in_order() {
    let spec = WorkloadSpec {
        senders: HostSet::Under("leaf0".into()),
        receivers: HostSet::Under("leaf1".into()),
        start: Time(5),
        ..workload(WorkloadKind::LongFlows { count: 5, stagger: Span(100) })
    };
    let flows = flows(&[spec], &leaf_spine(2, 2, 3), 1);
    assert_eq!(pairs(&flows), [(0, 3), (1, 4), (2, 5), (0, 3), (1, 4)]);
    assert_eq!(starts(&flows), [5, 105, 205, 305, 405]);
}

/// Breaks if receivers that are passed over make flows pile up on the next allowed one.
#[test]
fn long_flows_pass_over_what_the_pattern_forbids() {
    let spec = WorkloadSpec {
        pattern: Pattern::InterLeaf,
        ..workload(WorkloadKind::LongFlows { count: 6, stagger: Span(1) })
    };
    let flows = flows(&[spec], &leaf_spine(3, 2, 2), 1);
    assert_eq!(pairs(&flows), [(0, 2), (1, 3), (2, 4), (3, 5), (4, 0), (5, 1)]);
}

/// Breaks if all-to-all leaves out a pair, has one twice, or sends everything to one receiver first.
#[test]
fn all_to_all_is_every_pair_once_in_shifts() {
    let kind = WorkloadKind::AllToAll { stagger: Span(7) };
    let all = flows(&[workload(kind.clone())], &star(3), 1);
    assert_eq!(pairs(&all), [(0, 1), (1, 2), (2, 0), (0, 2), (1, 0), (2, 1)]);
    assert_eq!(starts(&all), [0, 7, 14, 21, 28, 35]);
    let inter = WorkloadSpec { pattern: Pattern::InterLeaf, ..workload(kind.clone()) };
    let mut inter = pairs(&flows(&[inter], &leaf_spine(3, 2, 4), 1));
    assert_eq!(inter.len(), 12 * 8);
    inter.sort_unstable();
    inter.dedup();
    assert_eq!(inter.len(), 12 * 8);
    assert!(inter.iter().all(|(src, dst)| src / 4 != dst / 4));
    let nobody = WorkloadSpec { pattern: Pattern::InterLeaf, ..workload(kind) };
    assert!(refusal(&nobody, &star(3)).starts_with("workload.0.receivers: found host 0"));
}

/// Breaks if permutations of four hosts without fixed points are not equally likely: all nine occur,
/// chi-square with 8 degrees of freedom, 0.1 % point 26.1.
#[test]
fn permutations_are_equally_likely() {
    let spec = workload(WorkloadKind::Permutation { stagger: Span::ZERO });
    let mut counts = std::collections::BTreeMap::new();
    for seed in 0..9_000 {
        let flows = flows(std::slice::from_ref(&spec), &star(4), seed);
        *counts.entry(pairs(&flows)).or_insert(0u32) += 1;
    }
    assert_eq!(counts.len(), 9);
    let chi2: f64 = counts.values().map(|n| (f64::from(*n) - 1e3).powi(2) / 1e3).sum();
    assert!(chi2 < 26.1, "chi-square {chi2} of {counts:?}");
}

/// Breaks if mending favours a receiver where no shuffle is allowed as it comes (here one in about
/// 3000 is): the first and the last host's receivers, each chi-square over 16 hosts with 15 degrees
/// of freedom, 0.1 % point 37.7.
#[test]
fn mended_permutations_favour_no_receiver() {
    let spec = WorkloadSpec {
        pattern: Pattern::InterLeaf,
        ..workload(WorkloadKind::Permutation { stagger: Span::ZERO })
    };
    let mut counts = [[0f64; 24]; 2];
    for seed in 0..16_000 {
        let pairs = pairs(&flows(std::slice::from_ref(&spec), &leaf_spine(3, 2, 8), seed));
        counts[0][usize::from(pairs[0].1)] += 1.0;
        counts[1][usize::from(pairs[23].1)] += 1.0;
    }
    let chi2 = |cells: &[f64]| cells.iter().map(|n| (n - 1e3).powi(2) / 1e3).sum::<f64>();
    let (first, last) = (chi2(&counts[0][8..]), chi2(&counts[1][..16]));
    assert!(first < 37.7 && last < 37.7, "chi-square {first} and {last}");
}

/// Breaks if a permutation that the sets do not allow is accepted, or a message changes.
#[test]
fn impossible_permutations_are_refused() {
    let permutation = workload(WorkloadKind::Permutation { stagger: Span::ZERO });
    let few = WorkloadSpec { receivers: HostSet::First(2), ..permutation.clone() };
    assert_eq!(
        refusal(&few, &star(4)),
        "workload.0.receivers: found 2 for 4 senders; allowed: as many receivers as senders, or more"
    );
    // Three of leaf 0 and one of leaf 1, but only one receiver outside leaf 0.
    let lopsided = WorkloadSpec {
        senders: list(&[0, 1, 2, 4]),
        receivers: list(&[0, 1, 2, 4]),
        pattern: Pattern::InterLeaf,
        ..permutation
    };
    assert!(refusal(&lopsided, &leaf_spine(2, 2, 4)).contains("found host"));
}

/// Breaks if a count of zero is accepted.
#[test]
fn no_long_flows_are_refused() {
    let spec = workload(WorkloadKind::LongFlows { count: 0, stagger: Span(1) });
    assert_eq!(refusal(&spec, &star(4)), "workload.0.count: found 0; allowed: at least 1");
}

proptest! {
    /// Breaks if a permutation has a fixed point or a forbidden pair, uses a receiver twice, leaves a
    /// sender out, or is not found although there is one: a fabric of equal leaves always has one.
    #[test]
    fn permutations_obey_the_pattern(
        leaves in 2u16..8,
        hosts in 2u16..8,
        seed in any::<u64>(),
        inter in any::<bool>(),
        intra in any::<bool>(),
    ) {
        let pattern = match (inter, intra) {
            (true, _) => Pattern::InterLeaf,
            (_, true) => Pattern::IntraLeaf,
            _ => Pattern::Any,
        };
        let kind = WorkloadKind::Permutation { stagger: Span(3) };
        let flows = flows(&[WorkloadSpec { pattern, ..workload(kind) }], &leaf_spine(leaves, 2, hosts), seed);
        let mut receivers: Vec<u16> = flows.iter().map(|flow| flow.dst.0).collect();
        receivers.sort_unstable();
        prop_assert_eq!(receivers, (0..leaves * hosts).collect::<Vec<_>>());
        for (i, (src, dst)) in pairs(&flows).into_iter().enumerate() {
            prop_assert_eq!(usize::from(src), i);
            prop_assert!(src != dst);
            let together = src / hosts == dst / hosts;
            prop_assert!(pattern == Pattern::Any || together == (pattern == Pattern::IntraLeaf));
        }
    }

    /// Breaks if mending a permutation misses one that exists: senders in one leaf need as many
    /// receivers in others, and no more is needed (Hall's condition for leaves).
    #[test]
    fn permutations_between_leaves_are_found_whenever_they_exist(
        senders in proptest::collection::btree_set(0u16..12, 1..12),
        receivers in proptest::collection::btree_set(0u16..12, 1..12),
        seed in any::<u64>(),
    ) {
        let of = |hosts: &std::collections::BTreeSet<u16>| list(&hosts.iter().copied().collect::<Vec<_>>());
        let spec = WorkloadSpec {
            senders: of(&senders),
            receivers: of(&receivers),
            pattern: Pattern::InterLeaf,
            ..workload(WorkloadKind::Permutation { stagger: Span::ZERO })
        };
        let exists = senders.len() <= receivers.len() && (0..3).all(|leaf| {
            let from = senders.iter().filter(|host| **host / 4 == leaf).count();
            from <= receivers.iter().filter(|host| **host / 4 != leaf).count()
        });
        let made = leafspine_sim::workload::FlowSource::new(&[spec], &leaf_spine(3, 2, 4), seed);
        prop_assert_eq!(made.is_ok(), exists);
    }
}
