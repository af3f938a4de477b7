//! Who sends and who receives.

use crate::common::*;
use leafspine_core::{Span, TorId};
use leafspine_sim::spec::{HostSet, WorkloadSpec};
use leafspine_sim::workload::{Fabric, HostSets};

fn sets(senders: HostSet, receivers: HostSet, fabric: &Fabric, seed: u64) -> (Vec<u16>, Vec<u16>) {
    let spec = WorkloadSpec { senders, receivers, ..workload(every(Span(1), 1)) };
    let sets = HostSets::resolve(&spec, fabric, seed, 0).expect("good sets");
    let numbers = |hosts: &[leafspine_core::HostId]| hosts.iter().map(|host| host.0).collect();
    (numbers(&sets.senders), numbers(&sets.receivers))
}

/// Breaks if a set is not the hosts that it names, or a list loses its order.
#[test]
fn sets_are_what_they_say() {
    let fabric = leaf_spine(3, 2, 2);
    for (set, hosts) in [
        (HostSet::All, vec![0, 1, 2, 3, 4, 5]),
        (HostSet::First(2), vec![0, 1]),
        (HostSet::Under("leaf1".into()), vec![2, 3]),
        (list(&[4, 0]), vec![4, 0]),
    ] {
        let (senders, receivers) = sets(set.clone(), HostSet::All, &fabric, 1);
        assert_eq!((senders, receivers.len()), (hosts.clone(), 6));
        assert_eq!(sets(HostSet::All, set, &fabric, 1).1, hosts);
    }
    assert_eq!(sets(list(&[4, 0]), HostSet::Rest, &fabric, 1), (vec![4, 0], vec![1, 2, 3, 5]));
    assert_eq!(sets(HostSet::Rest, list(&[4, 0]), &fabric, 1), (vec![1, 2, 3, 5], vec![4, 0]));
}

/// Breaks if a random half is not half of the hosts, if its rest overlaps it, or if the draw does not
/// depend on the seed alone.
#[test]
fn a_random_half_sends_to_the_rest() {
    let fabric = leaf_spine(10, 10, 20);
    let (senders, receivers) = sets(HostSet::RandomHalf, HostSet::Rest, &fabric, 1);
    assert_eq!((senders.len(), receivers.len()), (100, 100));
    let mut both = [senders.clone(), receivers].concat();
    both.sort_unstable();
    assert_eq!(both, (0..200).collect::<Vec<_>>());
    assert_eq!(sets(HostSet::RandomHalf, HostSet::All, &fabric, 1).0, senders);
    assert_ne!(sets(HostSet::RandomHalf, HostSet::Rest, &fabric, 2).0, senders);
    let (one, other) = sets(HostSet::RandomHalf, HostSet::RandomHalf, &fabric, 1);
    assert!(one == senders && one != other, "each side has a draw of its own");
    assert_eq!(sets(HostSet::RandomHalf, HostSet::All, &star(7), 1).0.len(), 3);
}

/// Breaks if a host is likelier than another to be drawn: 4000 draws of 5 of 20 hosts, binomial with
/// deviation 27.4 around 1000, four of them.
#[test]
fn random_hosts_are_drawn_alike() {
    let fabric = star(20);
    let mut counts = [0u32; 20];
    for seed in 0..4_000 {
        let (drawn, _) = sets(HostSet::Random(5), HostSet::All, &fabric, seed);
        assert!(drawn.len() == 5 && drawn.is_sorted_by(|a, b| a < b));
        drawn.iter().for_each(|host| counts[usize::from(*host)] += 1);
    }
    assert!(counts.iter().all(|n| (890..=1_110).contains(n)), "{counts:?}");
}

/// Breaks if sets that cannot be are accepted, or a message changes.
#[test]
fn impossible_sets_are_refused() {
    let fabric = leaf_spine(4, 2, 2);
    let refused = |senders, receivers| {
        let spec = WorkloadSpec { senders, receivers, ..workload(every(Span(1), 1)) };
        refusal(&spec, &fabric)
    };
    for (senders, text) in [
        (HostSet::First(0), "found no hosts; allowed: at least one host"),
        (HostSet::Random(0), "found no hosts; allowed: at least one host"),
        (HostSet::First(9), "found 9 hosts; allowed: at most 8, all there are"),
        (HostSet::Random(9), "found 9 hosts; allowed: at most 8, all there are"),
        (list(&[]), "found an empty list; allowed: at least one host"),
        (list(&[3, 8]), "found host 8; allowed: a host, 0 to 7"),
        (list(&[3, 1, 3]), "found host 3 twice; allowed: each host once"),
        (
            HostSet::Under("leaf9".into()),
            "found the switch \"leaf9\"; allowed: a switch with hosts, leaf0 to leaf3",
        ),
        (
            HostSet::Rest,
            "found no hosts in the rest; allowed: at least one host on the other side less",
        ),
    ] {
        assert_eq!(refused(senders, HostSet::All), format!("workload.0.senders: {text}"));
    }
    assert_eq!(
        refused(HostSet::All, HostSet::First(0)),
        "workload.0.receivers: found no hosts; allowed: at least one host"
    );
    assert_eq!(
        refused(HostSet::Rest, HostSet::Rest),
        "workload.0.receivers: found \"rest\" on both sides; allowed: \"rest\" for one of the two"
    );
    assert_eq!(
        refused(HostSet::All, list(&[2])),
        "workload.0.receivers: found host 2, which sends, without any other host to pair it with; \
         allowed: senders and receivers that the pattern \"any\" can pair"
    );
}

/// Breaks if a switch that has no hosts yields an empty set instead of an error.
#[test]
fn a_switch_without_hosts_is_refused() {
    let mut fabric = leaf_spine(2, 2, 2);
    fabric.tor_of[2] = TorId(0);
    fabric.tor_of[3] = TorId(0);
    let spec =
        WorkloadSpec { senders: HostSet::Under("leaf1".into()), ..workload(every(Span(1), 1)) };
    assert_eq!(
        refusal(&spec, &fabric),
        "workload.0.senders: found \"leaf1\", which has no hosts; allowed: a switch with hosts"
    );
}
