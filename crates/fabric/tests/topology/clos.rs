//! Clos networks: their numbers, their links, and what cannot be one.

use crate::{build, spec};
use leafspine_core::{Rate, Span, SwitchId, TorId};
use leafspine_fabric::kinds::{Bundle, Clos, ClosTier, Plan, of_radix, oversubscribed};
use leafspine_fabric::{Graph, LinkSpec, Owner, Routes, TopologyKind};
use leafspine_schemes::Level;
use proptest::prelude::*;
use std::sync::Arc;

fn link(gbps: u64, ns: u64) -> LinkSpec {
    LinkSpec { rate: Rate::from_gbps(gbps), delay: Span::from_nanos(ns), loss: 0.0 }
}

fn tier(name: &str, switches: u32, pods: u32, links_per_pair: u32, link: LinkSpec) -> ClosTier {
    ClosTier { name: name.to_owned(), switches, pods, links_per_pair, link }
}

fn clos(hosts_per_tor: u32, tiers: Vec<ClosTier>) -> TopologyKind {
    TopologyKind::Clos(Arc::new(Clos::new(hosts_per_tor, tiers).expect("a Clos network")))
}

/// What is drawn of a tier above the lowest: pods below, switches for each below, links, and a link.
type Drawn = (u32, u32, u32, (u64, u64));

/// A network from what is drawn: numbers multiply up, so that they always fit.
fn drawn(hosts_per_tor: u32, tiers: &[Drawn]) -> TopologyKind {
    const NAMES: [&str; 4] = ["tor", "agg", "spine", "core"];
    let pods = |tier: usize| tiers[tier..].iter().map(|tier| tier.0).product::<u32>();
    let mut all = vec![tier(NAMES[0], pods(0), 1, 1, link(1, 0))];
    let mut width = 1;
    for (at, (_, above, links, (gbps, ns))) in tiers.iter().enumerate() {
        width *= above;
        all.push(tier(NAMES[at + 1], pods(at + 1) * width, pods(at + 1), *links, link(*gbps, *ns)));
    }
    clos(hosts_per_tor, all)
}

/// Any small Clos network of two to four tiers.
pub(crate) fn small_clos() -> impl Strategy<Value = TopologyKind> {
    let tier = (1u32..4, 1u32..3, 1u32..3, (1u64..5, 0u64..900));
    (1u32..4, proptest::collection::vec(tier, 1..4)).prop_map(|(hosts, tiers)| drawn(hosts, &tiers))
}

fn names(graph: &Graph, switch: &str) -> Vec<String> {
    let at = graph.switches.iter().position(|other| other.name == switch).expect(switch);
    graph.ports_of(SwitchId(at as u16)).map(|port| graph.port_name(port)).collect()
}

/// Breaks if pods or planes are wired otherwise than a fabric that is counted by hand: two pods of two
/// ToRs and two aggregation switches, two cores a plane, two links between a core and an aggregation
/// switch.
#[test]
fn three_tiers_by_hand() {
    let kind = clos(
        1,
        vec![
            tier("tor", 4, 1, 1, link(1, 0)),
            tier("agg", 4, 2, 1, link(40, 500)),
            tier("core", 4, 1, 2, link(100, 900)),
        ],
    );
    let graph = build(kind);
    assert_eq!(names(&graph, "tor2"), ["tor2-host2", "tor2-agg2", "tor2-agg3"]);
    let agg1 =
        ["tor0", "tor1", "core2", "core2#1", "core3", "core3#1"].map(|n| match n.split_once('#') {
            Some((node, number)) => format!("agg1-{node}#{number}"),
            None => format!("agg1-{n}"),
        });
    assert_eq!(names(&graph, "agg1"), agg1);
    assert_eq!(
        names(&graph, "core0"),
        ["core0-agg0", "core0-agg0#1", "core0-agg2", "core0-agg2#1"]
    );
    let port = |name: &str| graph.ports[graph.ports_matching(name).expect(name)[0] as usize];
    assert_eq!(port("tor0-agg0").rate, Rate::from_gbps(40));
    assert_eq!(
        (port("core3-agg3").rate, port("core3-agg3").delay),
        (Rate::from_gbps(100), Span::from_nanos(900))
    );
    assert_eq!(port("host0-tor0").rate, Rate::from_gbps(10));
}

/// Breaks if a case of the Clos network is another fabric than the kind that has a name of its own.
#[test]
fn leaf_spines_and_fat_trees_are_cases() {
    let same = |one: TopologyKind, other: TopologyKind| {
        let (one, other) = (build(one), build(other));
        assert_eq!(one.ports, other.ports);
        assert_eq!(one.switches, other.switches);
        assert_eq!(one.links, other.links);
        assert_eq!(one.host_tor, other.host_tor);
    };
    let fabric = spec(TopologyKind::Star { hosts: 2 }).fabric_link;
    let two = vec![tier("leaf", 3, 1, 1, fabric), tier("spine", 2, 1, 2, fabric)];
    same(clos(4, two), crate::leaf_spine(3, 2, 4, 2));
    let three = vec![
        tier("edge", 8, 1, 1, fabric),
        tier("agg", 8, 4, 1, fabric),
        tier("core", 4, 1, 1, fabric),
    ];
    same(clos(2, three), TopologyKind::FatTree { k: 4 });
}

/// Breaks if tiers are accepted that cannot be wired evenly, or if the wrong key is blamed.
#[test]
fn uneven_tiers_are_refused() {
    let refused = |tiers: &[(u32, u32)]| {
        let tiers = tiers.iter().map(|(switches, pods)| tier("t", *switches, *pods, 1, link(1, 0)));
        let error = Clos::new(1, tiers.collect()).expect_err("uneven");
        format!("{} {}: found {}; allowed: {}", error.tier, error.key, error.found, error.allowed)
    };
    assert_eq!(
        refused(&[(4, 1), (4, 2)]),
        "1 pods: found 2 pods; allowed: 1: only switches of the top tier join them"
    );
    assert_eq!(
        refused(&[(4, 1), (6, 3), (2, 1)]),
        "1 pods: found 3 pods for 4 t switches; allowed: a divisor of 4"
    );
    assert_eq!(
        refused(&[(4, 1), (5, 2), (2, 1)]),
        "1 switches: found 5 switches in 2 pods; allowed: a multiple of 2"
    );
    assert_eq!(
        refused(&[(4, 1), (4, 2), (3, 1)]),
        "2 switches: found 3 switches above pods of 2 t switches; allowed: a multiple of 2"
    );
}

/// Breaks if the ports of a switch are split otherwise than its radix and its oversubscription say.
/// `k`-port switches in three tiers without any are the fat tree; at 3:1 the ToRs of 16 ports have 12
/// hosts; with uplinks of four times the rate 24 of 32.
#[test]
fn ports_are_split_by_their_rates() {
    let bundle = |gbps, links_per_pair| Bundle { links_per_pair, rate: Rate::from_gbps(gbps) };
    let ten = bundle(10, 1);
    assert_eq!(of_radix(4, &[ten; 3], |_| 1.0), Ok((2, vec![(8, 8), (8, 4), (4, 1)])));
    assert_eq!(of_radix(16, &[ten; 2], |_| 3.0), Ok((12, vec![(16, 16), (4, 1)])));
    assert_eq!(of_radix(32, &[ten, bundle(40, 1)], |_| 1.0), Ok((24, vec![(32, 32), (6, 1)])));
    assert_eq!(of_radix(16, &[ten, bundle(10, 2)], |_| 1.0), Ok((8, vec![(8, 8), (4, 1)])));
    assert_eq!(of_radix(4, &[ten; 2], |_| 7.0), Err(0));
    assert_eq!(oversubscribed(3.0, Rate::from_gbps(100), Rate::from_gbps(400), 4), Some(48));
    assert_eq!(oversubscribed(0.3, Rate::from_gbps(100), Rate::from_gbps(100), 4), None);
}

proptest! {
    /// Breaks if a pair of hosts has no way, if a way climbs again after it came down, or if a
    /// switch has other ports than its tier says.
    #[test]
    fn every_pair_has_its_ways(kind in small_clos()) {
        let graph = build(kind.clone());
        let Plan::Tiers(shape) = kind.plan() else { unreachable!("tiers") };
        let mut at = 0;
        for (number, tier) in shape.tiers.iter().enumerate() {
            let up = shape.tiers.get(number + 1).map_or(0, |up| up.above * up.links);
            for _ in 0..shape.count(number) {
                let ports = graph.ports_of(SwitchId(at));
                prop_assert_eq!(ports.len() as u64, tier.below * tier.links + up);
                let uplinks = ports.filter(|port| graph.is_uplink(*port)).count();
                prop_assert_eq!(uplinks as u64, up);
                prop_assert_eq!(graph.switch(SwitchId(at)).level, Level(number as u8));
                at += 1;
            }
        }
        let routes = Routes::new(&graph);
        for (from, to) in (0..graph.tors()).flat_map(|a| (0..graph.tors()).map(move |b| (a, b))) {
            let mut here = graph.tor_switch[usize::from(from)];
            let mut down = false;
            while here != graph.tor_switch[usize::from(to)] {
                let ports = routes.paths(here, TorId(to)).ports;
                prop_assert!(!ports.is_empty(), "no way");
                let port = graph.global(here, *ports.last().expect("not empty"));
                prop_assert!(!(down && graph.is_uplink(port)), "up again");
                down = !graph.is_uplink(port);
                let peer = graph.ports[port as usize].peer;
                let Owner::Switch(next) = graph.ports[peer as usize].owner else { unreachable!() };
                here = next;
            }
        }
    }
}
