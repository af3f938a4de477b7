//! Next hops and capacities against brute force, and the counts that every textbook has.

use crate::{build, leaf_spine, small_kind};
use leafspine_core::{PortId, Rate, Span, SwitchId, TorId};
use leafspine_fabric::kinds::Plan;
use leafspine_fabric::{Graph, LinkState, Owner, Routes, TopologyKind};
use proptest::prelude::*;
use proptest::sample::Index;

/// Live links out of a switch: port, next switch, link.
fn live(graph: &Graph, state: &[LinkState], switch: usize) -> Vec<(PortId, usize, LinkState)> {
    graph
        .ports
        .iter()
        .filter(|port| port.owner == Owner::Switch(SwitchId(switch as u16)))
        .filter(|port| state[port.link as usize].up)
        .filter_map(|port| match graph.ports[port.peer as usize].owner {
            Owner::Switch(next) => {
                Some((port.local, usize::from(next.0), state[port.link as usize]))
            }
            Owner::Host(_) => None,
        })
        .collect()
}

/// Hops between all switches, by relaxing every link until nothing moves.
fn distances(graph: &Graph, state: &[LinkState]) -> Vec<Vec<Option<u32>>> {
    let n = graph.switches.len();
    let mut hops = vec![vec![None; n]; n];
    (0..n).for_each(|switch| hops[switch][switch] = Some(0));
    for _ in 0..n {
        for from in 0..n {
            for (_, next, _) in live(graph, state, from) {
                for to in 0..n {
                    let longer = hops[next][to].map(|hops| hops + 1);
                    hops[from][to] = [hops[from][to], longer].into_iter().flatten().min();
                }
            }
        }
    }
    hops
}

/// What all equal-cost ways from `here` to `to` can carry, straight from the definition, in b/s.
fn onward(
    graph: &Graph,
    state: &[LinkState],
    hops: &[Vec<Option<u32>>],
    here: usize,
    to: usize,
) -> u128 {
    if here == to {
        return u128::MAX;
    }
    live(graph, state, here)
        .into_iter()
        .filter(|(_, next, _)| hops[*next][to].map(|hops| hops + 1) == hops[here][to])
        .map(|(_, next, link)| u128::from(link.rate.0).min(onward(graph, state, hops, next, to)))
        .sum()
}

/// The delay of the nearest equal-cost way from `here` to `to`, straight from the definition.
fn nearest(
    graph: &Graph,
    state: &[LinkState],
    hops: &[Vec<Option<u32>>],
    here: usize,
    to: usize,
) -> Span {
    live(graph, state, here)
        .into_iter()
        .filter(|(_, next, _)| hops[*next][to].map(|hops| hops + 1) == hops[here][to])
        .map(|(_, next, link)| link.delay + nearest(graph, state, hops, next, to))
        .min()
        .unwrap_or(Span::ZERO)
}

/// Checks the routes of every switch to every switch with hosts.
fn check(graph: &Graph, state: &[LinkState], routes: &Routes) {
    let hops = distances(graph, state);
    for here in 0..graph.switches.len() {
        for (tor, to) in graph.tor_switch.iter().enumerate() {
            let (to, switch) = (usize::from(to.0), SwitchId(here as u16));
            let paths = routes.paths(switch, TorId(tor as u16));
            assert_eq!(paths.to, TorId(tor as u16));
            let nearer = |next: usize| {
                here != to
                    && hops[here][to].is_some()
                    && hops[next][to] < hops[here][to]
                    && hops[next][to].is_some()
            };
            let expected: Vec<(PortId, u32, Span)> = live(graph, state, here)
                .into_iter()
                .filter(|(_, next, _)| nearer(*next))
                .map(|(port, next, link)| {
                    let bits = u128::from(link.rate.0).min(onward(graph, state, &hops, next, to));
                    let delay = link.delay + nearest(graph, state, &hops, next, to);
                    (port, (bits / 1000) as u32, delay)
                })
                .collect();
            assert_eq!(paths.ports.len(), paths.capacity.len());
            assert_eq!(paths.ports.len(), paths.delay.len());
            let found: Vec<(PortId, u32, Span)> = (0..paths.ports.len())
                .map(|i| (paths.ports[i], paths.capacity[i], paths.delay[i]))
                .collect();
            assert_eq!(
                found, expected,
                "{} to {}",
                graph.switches[here].name, graph.switches[to].name
            );
        }
    }
    let split = graph.tor_switch.iter().any(|to| {
        graph.tor_switch.iter().any(|from| hops[usize::from(from.0)][usize::from(to.0)].is_none())
    });
    assert_eq!(routes.partitioned(graph).is_some(), split);
}

/// Follows a choice at every switch and returns how many switches were passed on the way.
fn walk(graph: &Graph, routes: &Routes, from: SwitchId, to: TorId, choices: &[Index]) -> usize {
    let (mut here, mut steps) = (from, 0);
    while here != graph.tor_switch[usize::from(to.0)] {
        let ports = routes.paths(here, to).ports;
        let port = graph.global(here, *choices[steps].get(ports));
        let Owner::Switch(next) = graph.ports[graph.ports[port as usize].peer as usize].owner
        else {
            panic!("{} leads to a host", graph.port_name(port));
        };
        (here, steps) = (next, steps + 1);
    }
    steps
}

proptest! {
    /// Breaks if a next hop is dead, is missing, does not come nearer, or has another capacity or
    /// delay than the definition gives; or if a later recomputation remembers an earlier one.
    #[test]
    fn routes_are_what_brute_force_finds(
        kind in small_kind(),
        down in proptest::collection::vec((any::<Index>(), any::<Index>()), 0..12),
        rates in proptest::collection::vec((any::<Index>(), 1u64..400_000, 0..200u64), 0..12),
    ) {
        let graph = build(kind);
        let initial = LinkState::initial(&graph);
        let mut routes = Routes::new(&graph);
        check(&graph, &initial, &routes);
        let mut state = initial.clone();
        for (link, mbps, us) in rates {
            let link = &mut state[link.index(graph.links.len())];
            (link.rate, link.delay) = (Rate::from_mbps(mbps), Span::from_micros(us));
        }
        for (link, revive) in down {
            state[link.index(graph.links.len())].up = false;
            routes.update(&graph, &state);
            check(&graph, &state, &routes);
            state[revive.index(graph.links.len())].up = true;
        }
        routes.update(&graph, &state);
        check(&graph, &state, &routes);
        routes.update(&graph, &initial);
        check(&graph, &initial, &routes);
    }

    /// Breaks if any choice at any switch leads astray: on an unchanged fabric every host reaches
    /// every other in twice as many steps between switches as tiers have to be climbed.
    #[test]
    fn every_choice_arrives(
        kind in small_kind(),
        choices in proptest::collection::vec(any::<Index>(), 8),
    ) {
        let graph = build(kind.clone());
        let routes = Routes::new(&graph);
        for src in 0..graph.hosts() as usize {
            for dst in 0..graph.hosts() as usize {
                let (from, to) = (graph.host_tor[src], graph.host_tor[dst]);
                let steps = walk(&graph, &routes, graph.tor_switch[usize::from(from.0)], to, &choices);
                let Plan::Tiers(shape) = kind.plan() else { continue };
                let (mut one, mut other, mut expected) = (u64::from(from.0), u64::from(to.0), 0);
                for tier in shape.tiers.iter().skip(1).take_while(|_| from != to) {
                    if one != other {
                        (one, other, expected) = (one / tier.below, other / tier.below, expected + 2);
                    }
                }
                prop_assert_eq!(steps, expected);
            }
        }
    }
}

/// Breaks if a fat tree offers another number of next hops than k/2 upwards and 1 downwards.
#[test]
fn fat_tree_has_half_k_ways_up_and_one_down() {
    for k in [4u16, 8, 16] {
        let graph = build(TopologyKind::FatTree { k: u32::from(k) });
        let routes = Routes::new(&graph);
        let half = k / 2;
        let pod_of = |number: u16| number / half;
        for (index, switch) in graph.switches.iter().enumerate() {
            for to in 0..graph.tors() {
                let index = index as u16;
                let aggs = graph.tors();
                let ways = match switch.level.0 {
                    0 if index == to => 0,
                    0 => half,
                    1 if pod_of(index - aggs) == pod_of(to) => 1,
                    1 => half,
                    _ => 1,
                };
                let paths = routes.paths(SwitchId(index), TorId(to));
                assert_eq!(paths.ports.len(), usize::from(ways), "{} to edge{to}", switch.name);
                assert!(paths.capacity.iter().all(|capacity| *capacity == 40_000_000));
            }
        }
    }
}

/// The state of `graph` with these links down.
fn with_down(graph: &Graph, names: &[&str]) -> Vec<LinkState> {
    let mut state = LinkState::initial(graph);
    for name in names {
        state[graph.link_by_name(name).expect(name) as usize].up = false;
    }
    state
}

/// Names and capacities (Gb/s) of the next hops from a switch to a switch with hosts.
fn ways(graph: &Graph, routes: &Routes, from: &str, to: &str) -> Vec<(String, u32)> {
    let from = graph.switches.iter().position(|switch| switch.name == from).expect(from);
    let from = SwitchId(from as u16);
    let paths = routes.paths(from, graph.tor_by_name(to).expect(to));
    let name = |port: &PortId| graph.port_name(graph.global(from, *port));
    paths.ports.iter().map(name).zip(paths.capacity.iter().map(|kbps| kbps / 1_000_000)).collect()
}

fn named(pairs: &[(&str, u32)]) -> Vec<(String, u32)> {
    pairs.iter().map(|(name, gbps)| ((*name).to_owned(), *gbps)).collect()
}

/// Breaks if a leaf gives up a spine that one of two parallel links still reaches, or if the other
/// leaves do not see that only half of the capacity behind that spine is left.
#[test]
fn one_of_two_parallel_links_down() {
    let graph = build(leaf_spine(3, 2, 1, 2));
    let mut routes = Routes::new(&graph);
    assert!(routes.update(&graph, &with_down(&graph, &["leaf0-spine1#1"])));
    assert_eq!(
        ways(&graph, &routes, "leaf0", "leaf1"),
        named(&[("leaf0-spine0", 40), ("leaf0-spine0#1", 40), ("leaf0-spine1", 40)])
    );
    assert_eq!(ways(&graph, &routes, "spine1", "leaf0"), named(&[("spine1-leaf0", 40)]));
    // Each of leaf1's own links carries 40 Gb/s, and so does the one link that is left behind.
    assert_eq!(ways(&graph, &routes, "leaf1", "leaf0").len(), 4);
    let mut slow = with_down(&graph, &["leaf0-spine1#1"]);
    slow[graph.link_by_name("leaf0-spine1").expect("a link") as usize].rate = Rate::from_gbps(20);
    routes.update(&graph, &slow);
    assert_eq!(
        ways(&graph, &routes, "leaf1", "leaf0"),
        named(&[
            ("leaf1-spine0", 40),
            ("leaf1-spine0#1", 40),
            ("leaf1-spine1", 20),
            ("leaf1-spine1#1", 20)
        ])
    );
}

/// Breaks if the links behind a next switch do not count together: two of 20 Gb/s carry 40.
#[test]
fn capacities_behind_a_switch_add_up_and_halve() {
    let graph = build(leaf_spine(2, 2, 1, 2));
    let mut routes = Routes::new(&graph);
    let mut state = LinkState::initial(&graph);
    for name in ["leaf0-spine0", "leaf0-spine0#1"] {
        state[graph.link_by_name(name).expect(name) as usize].rate = Rate::from_gbps(20);
    }
    routes.update(&graph, &state);
    assert_eq!(ways(&graph, &routes, "leaf1", "leaf0")[0], ("leaf1-spine0".to_owned(), 40));
    state[graph.link_by_name("leaf0-spine0#1").expect("a link") as usize].up = false;
    routes.update(&graph, &state);
    assert_eq!(ways(&graph, &routes, "leaf1", "leaf0")[0], ("leaf1-spine0".to_owned(), 20));
}

/// Breaks if a leaf still sends to a spine that has lost the destination.
#[test]
fn a_spine_without_the_leaf_is_avoided() {
    let graph = build(leaf_spine(3, 3, 1, 1));
    let mut routes = Routes::new(&graph);
    assert!(routes.update(&graph, &with_down(&graph, &["leaf0-spine1"])));
    assert_eq!(
        ways(&graph, &routes, "leaf2", "leaf0"),
        named(&[("leaf2-spine0", 40), ("leaf2-spine2", 40)])
    );
    assert_eq!(ways(&graph, &routes, "leaf2", "leaf1").len(), 3);
    // A packet that is at spine1 all the same has to go round by another leaf and spine.
    assert_eq!(
        ways(&graph, &routes, "spine1", "leaf0"),
        named(&[("spine1-leaf1", 40), ("spine1-leaf2", 40)])
    );
}

/// Breaks if a split is missed, or if a change that routes do not see costs a recomputation.
#[test]
fn splits_are_seen_and_host_links_are_not() {
    let graph = build(leaf_spine(3, 1, 1, 2));
    let mut routes = Routes::new(&graph);
    assert!(!routes.update(&graph, &LinkState::initial(&graph)));
    assert!(!routes.update(&graph, &with_down(&graph, &["host1-leaf1"])));
    assert!(routes.update(&graph, &with_down(&graph, &["leaf1-spine0"])));
    assert_eq!(routes.partitioned(&graph), None);
    assert!(routes.update(&graph, &with_down(&graph, &["leaf1-spine0", "leaf1-spine0#1"])));
    assert_eq!(routes.partitioned(&graph), Some((SwitchId(0), SwitchId(1))));
    assert_eq!(ways(&graph, &routes, "leaf1", "leaf0"), []);
    assert_eq!(ways(&graph, &routes, "spine0", "leaf1"), []);
    assert_eq!(ways(&graph, &routes, "leaf0", "leaf2").len(), 2);
}

/// Breaks if a capacity overflows its 32 bits or a crawling link counts as none.
#[test]
fn capacities_saturate() {
    let graph = build(leaf_spine(2, 1, 1, 1));
    let mut routes = Routes::new(&graph);
    for (rate, kbps) in [(Rate::from_gbps(8_000), u32::MAX), (Rate(1), 1), (Rate(2_999), 2)] {
        let state = vec![LinkState { up: true, rate, delay: Span::ZERO }; graph.links.len()];
        routes.update(&graph, &state);
        assert_eq!(routes.paths(SwitchId(0), TorId(1)).capacity, [kbps]);
    }
}

/// Breaks if a port's delay is not the sum along the way, if a next switch's farther parallel link
/// counts instead of the nearest, or if a dead link's delay does.
#[test]
fn delays_add_up_by_the_nearest_links() {
    let graph = build(leaf_spine(2, 2, 1, 2));
    let mut routes = Routes::new(&graph);
    let mut state = LinkState::initial(&graph);
    let us = Span::from_micros;
    let delays = [
        ("leaf0-spine0", 25),
        ("leaf0-spine0#1", 40),
        ("leaf0-spine1", 100),
        ("leaf0-spine1#1", 25),
        ("leaf1-spine0", 30),
        ("leaf1-spine0#1", 7),
        ("leaf1-spine1", 5),
        ("leaf1-spine1#1", 6),
    ];
    for (name, delay) in delays {
        state[graph.link_by_name(name).expect(name) as usize].delay = us(delay);
    }
    assert!(routes.update(&graph, &state));
    assert_eq!(routes.paths(SwitchId(0), TorId(1)).delay, [us(32), us(47), us(105), us(30)]);
    assert_eq!(routes.paths(SwitchId(1), TorId(0)).delay, [us(55), us(32), us(30), us(31)]);
    assert_eq!(routes.paths(SwitchId(2), TorId(1)).delay, [us(30), us(7)]);
    state[graph.link_by_name("leaf1-spine0#1").expect("a link") as usize].up = false;
    assert!(routes.update(&graph, &state));
    assert_eq!(routes.paths(SwitchId(0), TorId(1)).delay, [us(55), us(70), us(105), us(30)]);
}
