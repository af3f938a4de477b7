//! Fabrics from lists of links: how they are numbered, and what cannot be one.

use crate::build;
use leafspine_core::{HostId, Rate, Span, TorId};
use leafspine_fabric::kinds::{Defaults, Edge, Vertex, Wiring};
use leafspine_fabric::{Graph, LinkSpec, Owner, Routes, TopologyKind};
use proptest::prelude::*;
use std::sync::Arc;

const LINK: LinkSpec = LinkSpec { rate: Rate(10_000_000_000), delay: Span(1_000_000), loss: 0.0 };
const BOTH: Defaults = Defaults { host: Some(LINK), fabric: Some(LINK) };

fn vertex(name: &str) -> Vertex {
    Vertex { name: name.to_owned(), host: None, tier: None }
}

fn edge(a: usize, b: usize) -> Edge {
    Edge { ends: (a, b), rate: None, delay: None, loss: None }
}

/// Nodes in the order in which links first name them.
fn listed(links: &[(&str, &str)]) -> (Vec<Vertex>, Vec<Edge>) {
    let mut vertices: Vec<Vertex> = Vec::new();
    let mut number = |name: &str| {
        vertices.iter().position(|other| other.name == name).unwrap_or_else(|| {
            vertices.push(vertex(name));
            vertices.len() - 1
        })
    };
    let edges = links.iter().map(|(a, b)| edge(number(a), number(b))).collect();
    (vertices, edges)
}

fn wired(links: &[(&str, &str)]) -> Graph {
    let (vertices, edges) = listed(links);
    let wiring = Wiring::new(&vertices, &edges, &BOTH).expect("a fabric");
    build(TopologyKind::File(Arc::new(wiring)))
}

/// Any small fabric: a tree of switches, more links between them, and hosts under some.
pub(crate) fn small_wiring() -> impl Strategy<Value = TopologyKind> {
    let switches = proptest::collection::vec(any::<prop::sample::Index>(), 0..6);
    let more = proptest::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 0..6);
    let hosts = proptest::collection::vec(any::<prop::sample::Index>(), 1..8);
    (switches, more, hosts).prop_map(|(tree, more, hosts)| {
        let switches = tree.len() + 1;
        let mut vertices: Vec<Vertex> = (0..switches + hosts.len())
            .map(|number| Vertex {
                host: Some(number >= switches),
                ..vertex(&format!("n-{number}"))
            })
            .collect();
        vertices[0].name = "first".to_owned();
        let tree = tree.iter().enumerate().map(|(at, to)| edge(at + 1, to.index(at + 1)));
        let more = more.iter().map(|(a, b)| edge(a.index(switches), b.index(switches)));
        let hosts =
            hosts.iter().enumerate().map(|(at, to)| edge(switches + at, to.index(switches)));
        let all = tree.chain(more.filter(|edge| edge.ends.0 != edge.ends.1)).chain(hosts);
        let edges: Vec<Edge> = all.collect();
        TopologyKind::File(Arc::new(Wiring::new(&vertices, &edges, &BOTH).expect("a fabric")))
    })
}

/// Breaks if nodes are numbered otherwise than documented, if nodes with one link are no hosts, or if
/// names of the file's own are lost on the way: parallel links, a dash in a name, a switch of a higher
/// tier that stands first in the list.
#[test]
fn a_list_by_hand() {
    let graph = wired(&[
        ("top", "rack-b"),
        ("rack-b", "db"),
        ("rack-a", "web"),
        ("rack-a", "top"),
        ("rack-a", "top"),
        ("rack-a", "app"),
    ]);
    let switches: Vec<(&str, u8)> =
        graph.switches.iter().map(|switch| (switch.name.as_str(), switch.level.0)).collect();
    assert_eq!(switches, [("rack-b", 0), ("rack-a", 0), ("top", 1)]);
    let hosts: Vec<String> =
        (0..3).map(|host| graph.node_name(Owner::Host(HostId(host)))).collect();
    assert_eq!(hosts, ["db", "web", "app"]);
    assert_eq!((graph.hosts_under(TorId(0)), graph.hosts_under(TorId(1))), (0..1, 1..3));
    let links: Vec<&str> = graph.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(
        links,
        ["db-rack-b", "web-rack-a", "app-rack-a", "rack-b-top", "rack-a-top", "rack-a-top#1"]
    );
    for (number, link) in graph.links.iter().enumerate() {
        assert_eq!(graph.link_by_name(&link.name), Ok(number as u32));
        assert_eq!(graph.link_by_name(&graph.port_name(link.b)), Ok(number as u32));
    }
    assert_eq!(graph.tor_by_name("rack-a"), Ok(TorId(1)));
    let up: Vec<String> = (0..graph.ports.len() as u32)
        .filter(|port| graph.is_uplink(*port))
        .map(|port| graph.port_name(port))
        .collect();
    assert_eq!(up, ["rack-b-top", "rack-a-top", "rack-a-top#1"]);
    let tiers = |first: &str| -> Vec<u16> {
        let ports = 0..graph.ports.len() as u32;
        ports.filter(|p| graph.port_name(*p).starts_with(first)).map(|p| graph.tier(p)).collect()
    };
    assert_eq!((tiers("db-"), tiers("rack-b-"), tiers("top-")), (vec![0], vec![1; 2], vec![2; 3]));
}

/// Breaks if a role does not decide over the number of links, or a link's own rate over the default.
#[test]
fn roles_and_rates_of_the_list_count() {
    let (mut vertices, mut edges) = listed(&[("a", "s"), ("b", "s"), ("stub", "s")]);
    (vertices[0].host, vertices[2].host) = (Some(true), Some(true));
    edges[2].rate = Some(Rate::from_gbps(400));
    let wiring = Wiring::new(&vertices, &edges, &BOTH).expect("a fabric");
    let graph = build(TopologyKind::File(Arc::new(wiring)));
    assert_eq!((graph.hosts(), graph.switches.len()), (2, 2));
    let stub = graph.ports_matching("s-stub").expect("a port")[0];
    assert_eq!(graph.ports[stub as usize].rate, Rate::from_gbps(400));
}

/// Breaks if a list that is no fabric is taken for one, or if another entry of it is blamed.
#[test]
fn what_is_no_fabric_is_refused() {
    let said = |vertices: &[Vertex], edges: &[Edge], defaults: &Defaults| {
        let error = Wiring::new(vertices, edges, defaults).expect_err("no fabric");
        format!(
            "{:?} {}: found {}; allowed: {}",
            error.place, error.key, error.found, error.allowed
        )
    };
    let refused = |links: &[(&str, &str)]| {
        let (vertices, edges) = listed(links);
        said(&vertices, &edges, &BOTH)
    };
    let (vertices, edges) = listed(&[("a", "s"), ("b", "s")]);
    let none = Defaults { host: None, fabric: None };
    for (found, start) in [
        (refused(&[("a*", "s")]), "Vertex(0) name: found \"a*\"; allowed: a name without"),
        (refused(&[("a", "b"), ("b", "c"), ("c", "a")]), "Whole role: found no hosts"),
        (refused(&[("a", "b")]), "Edge(0) target: found a link between the hosts \"a\" and \"b\""),
        (refused(&[("a", "s"), ("s", "s")]), "Edge(1) target: found a link from \"s\" to itself"),
        (
            refused(&[("a", "s"), ("b", "s"), ("c", "t"), ("d", "t")]),
            "Vertex(3) : found no path from \"s\" to \"c\"",
        ),
        (
            refused(&[
                ("h", "x"),
                ("x", "a-b"),
                ("a-b", "c"),
                ("x", "a"),
                ("a", "b-c"),
                ("b-c", "x"),
                ("c", "x"),
            ]),
            "Edge(4) : found two ports called \"a-b-c\", of \"a\" and \"a-b\"",
        ),
        (
            said(&vertices, &edges, &none),
            "Edge(0) rate: found nothing; allowed: a rate and a delay",
        ),
    ] {
        assert!(found.starts_with(start), "{found}");
    }
    let mut roles = vertices.clone();
    roles[1].host = Some(true);
    let found = said(&roles, &edges, &BOTH);
    assert!(found.starts_with("Vertex(1) role: found 2 links of the host \"s\""), "{found}");
}

/// Breaks if tiers that the list gives are not those of the switches, or gaps in them are accepted.
#[test]
fn tiers_of_the_list_count() {
    let (mut vertices, edges) = listed(&[("a", "s"), ("b", "t"), ("s", "u"), ("u", "t")]);
    let tiers = |vertices: &[Vertex]| {
        Wiring::new(vertices, &edges, &BOTH)
            .map(|wiring| wiring.switches.iter().map(|(_, level)| level.0).collect::<Vec<u8>>())
    };
    assert_eq!(tiers(&vertices), Ok(vec![0, 0, 1]));
    for (name, tier) in [("s", 1), ("t", 1), ("u", 4)] {
        vertices.iter_mut().find(|v| v.name == name).expect(name).tier = Some(tier);
    }
    assert_eq!(tiers(&vertices), Ok(vec![0, 0, 3]));
    vertices[3].tier = Some(2);
    let error = tiers(&vertices).expect_err("two tiers of switches with hosts");
    assert_eq!(error.found, "tier 2 of \"t\", a switch with hosts");
    vertices[3].tier = None;
    assert!(tiers(&vertices).expect_err("one without").found.starts_with("no tier of \"t\""));
}

proptest! {
    /// Breaks if hosts of a connected list have no way to each other.
    #[test]
    fn every_pair_has_a_way(kind in small_wiring()) {
        let graph = build(kind);
        prop_assert_eq!(Routes::new(&graph).partitioned(&graph), None);
    }
}
