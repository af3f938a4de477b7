//! What every registered kind says of itself, against the fabrics that are built from it.

use crate::{build, small_kind, spec};
use leafspine_core::{HostId, SwitchId, TorId};
use leafspine_fabric::kinds::{ALL, NAMES, Plan};
use leafspine_fabric::{Graph, Owner, Routes, size};
use proptest::prelude::*;

/// Breaks if a kind takes its counts in another order than that of its keys, is another kind than
/// the one it is registered as, or blames a key that it does not have.
#[test]
fn every_kind_is_made_from_its_keys() {
    assert_eq!(NAMES, ["star", "leaf-spine", "fat-tree", "tree", "clos", "file"]);
    for (entry, kind) in ALL.iter().filter_map(|entry| Some((entry, entry.kind?))) {
        let counts: Vec<u32> = (1..=entry.keys.len() as u32).map(|number| 2 * number).collect();
        let kind = kind(&counts);
        let Plan::Tiers(shape) = kind.plan() else { panic!("{} has no tiers", entry.name) };
        assert_eq!((shape.entry.name, &shape.counts), (entry.name, &counts));
        assert_eq!(entry.fabric, shape.tiers.len() > 1, "{}", entry.name);
        assert!(entry.keys.iter().any(|key| key.name == entry.hosts_key), "{}", entry.name);
        for key in entry.keys {
            let default = key.default.map_or(key.range.0, |text| text.parse().expect("a number"));
            assert!((key.range.0..=key.range.1).contains(&default), "{}", key.name);
        }
    }
}

/// Links between switches on a shortest way.
fn links_between(graph: &Graph, routes: &Routes, from: SwitchId, to: TorId) -> usize {
    let (mut here, mut links) = (from, 0);
    while let Some(port) = routes.paths(here, to).ports.first() {
        let peer = graph.ports[graph.global(here, *port) as usize].peer;
        let Owner::Switch(next) = graph.ports[peer as usize].owner else {
            unreachable!("routes lead through switches")
        };
        (here, links) = (next, links + 1);
    }
    links
}

proptest! {
    /// Breaks if a shape's numbers, which sizes are checked by and round trips computed from before
    /// anything is built, are not those of its fabric.
    #[test]
    fn a_shape_is_what_is_built(kind in small_kind()) {
        let graph = build(kind.clone());
        prop_assert_eq!(kind.hosts(), u64::from(graph.hosts()));
        prop_assert_eq!(kind.tors(), u64::from(graph.tors()));
        let size = size(&kind).expect("small enough");
        prop_assert_eq!(size.switches, graph.switches.len() as u64);
        prop_assert_eq!(size.links, graph.links.len() as u64);
        for switch in &graph.switches {
            prop_assert_eq!(kind.has_tor(&switch.name), switch.tor.is_some());
        }
        for host in 0..graph.hosts() {
            let name = graph.node_name(Owner::Host(HostId(host as u16)));
            prop_assert_eq!(kind.host_named(&name), Some(u64::from(host)));
        }
        let Plan::Tiers(shape) = kind.plan() else { return Ok(()) };
        let switches: Vec<String> = shape
            .tiers
            .iter()
            .enumerate()
            .flat_map(|(at, tier)| (0..shape.count(at)).map(|number| format!("{}{number}", tier.name)))
            .collect();
        let built: Vec<String> = graph.switches.iter().map(|switch| switch.name.clone()).collect();
        prop_assert_eq!(switches, built);
        let most = graph.switches.iter().map(|switch| u64::from(switch.ports)).max();
        prop_assert_eq!(Some(shape.most_ports()), most);
        prop_assert_eq!(shape.hosts() + shape.links(), graph.links.len() as u64);
        let routes = Routes::new(&graph);
        let tors = || (0..graph.tors()).map(TorId);
        let longest = graph
            .tor_switch
            .iter()
            .flat_map(|from| tors().map(|to| links_between(&graph, &routes, *from, to)))
            .max();
        prop_assert_eq!(Some(shape.farthest(spec(kind.clone()).fabric_link).len()), longest);
    }
}
