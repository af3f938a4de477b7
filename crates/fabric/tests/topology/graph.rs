//! Counts, names and orders of the four shapes, and what is refused.

use crate::{build, leaf_spine, small_kind, spec};
use leafspine_core::{HostId, PortId, Rate, Span, SwitchId, TorId};
use leafspine_fabric::{Graph, Owner, TopologyKind};
use leafspine_schemes::{Level, Neighbour};
use proptest::prelude::*;

/// Names of a switch's ports, in order.
fn ports(graph: &Graph, switch: u16) -> Vec<String> {
    graph.ports_of(SwitchId(switch)).map(|port| graph.port_name(port)).collect()
}

fn counts(graph: &Graph) -> [usize; 5] {
    let (hosts, tors) = (graph.hosts() as usize, usize::from(graph.tors()));
    [hosts, tors, graph.switches.len(), graph.ports.len(), graph.links.len()]
}

/// Breaks if a shape has a host, switch, port or link too many or too few.
#[test]
fn counts_of_each_shape() {
    assert_eq!(counts(&build(TopologyKind::Star { hosts: 5 })), [5, 1, 1, 10, 5]);
    assert_eq!(counts(&build(leaf_spine(8, 8, 32, 1))), [256, 8, 16, 640, 320]);
    assert_eq!(counts(&build(leaf_spine(2, 3, 4, 2))), [8, 2, 5, 40, 20]);
    let tree = TopologyKind::Tree { tors: 3, hosts_per_tor: 2, links_per_pair: 2 };
    assert_eq!(counts(&build(tree)), [6, 3, 4, 24, 12]);
    assert_eq!(counts(&build(TopologyKind::FatTree { k: 2 })), [2, 2, 5, 12, 6]);
    assert_eq!(counts(&build(TopologyKind::FatTree { k: 4 })), [16, 8, 20, 96, 48]);
    assert_eq!(counts(&build(TopologyKind::FatTree { k: 16 })), [1024, 128, 320, 6144, 3072]);
}

/// Breaks if a leaf's uplinks are not ordered by (spine, parallel link), which traces rely on.
#[test]
fn order_of_leaf_spine() {
    let graph = build(leaf_spine(2, 2, 2, 2));
    let leaf1 = [
        "leaf1-host2",
        "leaf1-host3",
        "leaf1-spine0",
        "leaf1-spine0#1",
        "leaf1-spine1",
        "leaf1-spine1#1",
    ];
    assert_eq!(ports(&graph, 1), leaf1);
    assert_eq!(
        ports(&graph, 3),
        ["spine1-leaf0", "spine1-leaf0#1", "spine1-leaf1", "spine1-leaf1#1"]
    );
    assert_eq!(graph.uplinks(TorId(1)), 2..6);
    assert_eq!(graph.hosts_under(TorId(1)), 2..4);
    let levels: Vec<Level> = graph.switches.iter().map(|switch| switch.level).collect();
    assert_eq!(levels, [Level(0), Level(0), Level(1), Level(1)]);
    let names: Vec<&str> = graph.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(
        names[..5],
        ["host0-leaf0", "host1-leaf0", "host2-leaf1", "host3-leaf1", "leaf0-spine0"]
    );
    assert_eq!(names[9], "leaf1-spine0#1");
}

/// Breaks if pods are wired to the wrong cores, or if a tier's numbers restart in each pod.
#[test]
fn order_of_fat_tree() {
    let graph = build(TopologyKind::FatTree { k: 4 });
    let named = |name: &str| {
        let switch = graph.switches.iter().position(|switch| switch.name == name);
        ports(&graph, switch.expect(name) as u16)
    };
    assert_eq!(named("edge3"), ["edge3-host6", "edge3-host7", "edge3-agg2", "edge3-agg3"]);
    assert_eq!(named("agg2"), ["agg2-edge2", "agg2-edge3", "agg2-core0", "agg2-core1"]);
    assert_eq!(named("agg7"), ["agg7-edge6", "agg7-edge7", "agg7-core2", "agg7-core3"]);
    assert_eq!(named("core2"), ["core2-agg1", "core2-agg3", "core2-agg5", "core2-agg7"]);
    let levels: Vec<u8> = graph.switches.iter().map(|switch| switch.level.0).collect();
    assert_eq!(levels, [[0u8; 8].as_slice(), &[1; 8], &[2; 4]].concat());
}

/// Breaks if the two shapes with one top switch name or order their ports otherwise.
#[test]
fn order_of_star_and_tree() {
    let star = build(TopologyKind::Star { hosts: 2 });
    assert_eq!(ports(&star, 0), ["switch0-host0", "switch0-host1"]);
    assert_eq!(star.port_name(star.host_port[1]), "host1-switch0");
    let tree = build(TopologyKind::Tree { tors: 2, hosts_per_tor: 1, links_per_pair: 2 });
    assert_eq!(ports(&tree, 1), ["tor1-host1", "tor1-core0", "tor1-core0#1"]);
    let core = ["core0-tor0", "core0-tor0#1", "core0-tor1", "core0-tor1#1"];
    assert_eq!(ports(&tree, 2), core);
    assert_eq!(tree.switches[2].level, Level(1));
}

/// Breaks if a host's own delay is missing in a direction, or is added inside the fabric.
#[test]
fn host_delay_is_on_host_links_only() {
    let graph = build(leaf_spine(2, 1, 1, 1));
    let port = |name: &str| graph.ports[graph.ports_matching(name).expect(name)[0] as usize];
    for name in ["host1-leaf1", "leaf1-host1"] {
        assert_eq!((port(name).delay, port(name).rate), (Span(1_500_000), Rate::from_gbps(10)));
    }
    for name in ["leaf1-spine0", "spine0-leaf1"] {
        assert_eq!((port(name).delay, port(name).rate), (Span(2_000_000), Rate::from_gbps(40)));
    }
}

/// Breaks if a link has no name that finds it, or one that finds another.
#[test]
fn links_are_found_by_either_end() {
    let graph = build(leaf_spine(3, 3, 4, 2));
    for (number, link) in graph.links.iter().enumerate() {
        let number = number as u32;
        assert_eq!(graph.link_by_name(&link.name), Ok(number));
        assert_eq!(graph.link_by_name(&graph.port_name(link.b)), Ok(number), "{}", link.name);
        assert_eq!(graph.link_by_name(&graph.port_name(link.a)), Ok(number));
        if link.parallel == 0 {
            assert_eq!(graph.link_by_name(&format!("{}#0", link.name)), Ok(number));
        }
    }
    assert_eq!(graph.tor_by_name("leaf2"), Ok(TorId(2)));
}

/// Breaks if an unknown name is accepted, or if its error does not lead to the right one.
#[test]
fn unknown_names_are_answered_with_the_nearest() {
    let graph = build(leaf_spine(8, 8, 32, 2));
    let link = |name: &str| graph.link_by_name(name).unwrap_err().to_string();
    let links = "links are host0..host255 to leaf0..leaf7, leaf0..leaf7 to spine0..spine7 (#0..#1)";
    for (name, nearest) in [
        ("leaf0-spin3", "leaf0-spine3"),
        ("leaf0-spine3#2", "leaf0-spine3#1"),
        ("leaf0-spine03", "leaf0-spine0"),
        ("leaf0-leaf1", "host0-leaf0"),
        ("host256-leaf7", "host226-leaf7"),
        ("", "host0-leaf0"),
    ] {
        let text = format!("no link \"{name}\"; nearest is \"{nearest}\"; {links}");
        assert_eq!(link(name), text);
    }
    assert_eq!(
        graph.tor_by_name("spine1").unwrap_err().to_string(),
        "no switch with hosts \"spine1\"; nearest is \"leaf1\"; there are leaf0..leaf7"
    );
    assert_eq!(
        graph.ports_matching("leaf8-*").unwrap_err().to_string(),
        format!(
            "no port matches \"leaf8-*\"; nearest is \"leaf0-host0\"; a port is named after its \
             own end first, * stands for any text, and {links}"
        )
    );
    let fat = build(TopologyKind::FatTree { k: 4 });
    assert_eq!(
        fat.link_by_name("edge0-agg2").unwrap_err().to_string(),
        "no link \"edge0-agg2\"; nearest is \"edge0-agg0\"; links are host0..host15 to \
         edge0..edge7, edge0..edge7 to agg0..agg7, agg0..agg7 to core0..core3, edge to agg within \
         a pod"
    );
}

/// Breaks if a pattern reaches ports of `leaf10` or of the other direction.
#[test]
fn patterns_select_ports() {
    let graph = build(leaf_spine(11, 2, 2, 2));
    let names = |pattern: &str| -> Vec<String> {
        let ports = graph.ports_matching(pattern).expect(pattern);
        ports.into_iter().map(|port| graph.port_name(port)).collect()
    };
    assert_eq!(
        names("leaf1-*"),
        [
            "leaf1-host2",
            "leaf1-host3",
            "leaf1-spine0",
            "leaf1-spine0#1",
            "leaf1-spine1",
            "leaf1-spine1#1"
        ]
    );
    assert_eq!(names("leaf1-spine0"), ["leaf1-spine0"]);
    assert_eq!(names("leaf1-spine0#0"), ["leaf1-spine0"]);
    assert_eq!(names("leaf1-spine0#*"), ["leaf1-spine0", "leaf1-spine0#1"]);
    assert_eq!(names("*-leaf0#1"), ["spine0-leaf0#1", "spine1-leaf0#1"]);
    assert_eq!(names("*").len(), graph.ports.len());
    assert_eq!(names("host*").len(), 22);
}

/// Breaks if a description that makes no fabric, or too large a one, is built.
#[test]
fn impossible_fabrics_are_refused() {
    let refused = |kind| Graph::build(&spec(kind)).unwrap_err().to_string();
    let tree = |tors, hosts_per_tor, links_per_pair| TopologyKind::Tree {
        tors,
        hosts_per_tor,
        links_per_pair,
    };
    for (kind, text) in [
        (TopologyKind::Star { hosts: 0 }, "topology.hosts = 0: allowed is 1 or more"),
        (leaf_spine(0, 1, 1, 1), "topology.leaves = 0: allowed is 1 or more"),
        (leaf_spine(1, 0, 1, 1), "topology.spines = 0: allowed is 1 or more"),
        (leaf_spine(1, 1, 0, 1), "topology.hosts_per_leaf = 0: allowed is 1 or more"),
        (leaf_spine(1, 1, 1, 0), "topology.links_per_pair = 0: allowed is 1 or more"),
        (tree(0, 1, 1), "topology.tors = 0: allowed is 1 or more"),
        (tree(1, 0, 1), "topology.hosts_per_tor = 0: allowed is 1 or more"),
        (tree(1, 1, 0), "topology.links_per_pair = 0: allowed is 1 or more"),
        (TopologyKind::FatTree { k: 0 }, "topology.k = 0: allowed is an even number, 2 or more"),
        (TopologyKind::FatTree { k: 5 }, "topology.k = 5: allowed is an even number, 2 or more"),
        (TopologyKind::FatTree { k: 66 }, "topology: 71874 hosts: allowed are at most 65536"),
        (leaf_spine(256, 1, 257, 1), "topology: 65792 hosts: allowed are at most 65536"),
        (leaf_spine(1, 65_535, 1, 1), "topology: 65536 switches: allowed are at most 65535"),
        (
            TopologyKind::Star { hosts: 65_536 },
            "topology: 65536 ports at one switch: allowed are at most 65535",
        ),
        (
            leaf_spine(2, 1024, 1, 64),
            "topology: 65537 ports at one switch: allowed are at most 65535",
        ),
        (tree(2, 1, 32_768), "topology: 65536 ports at one switch: allowed are at most 65535"),
        (leaf_spine(1024, 1024, 1, 1), "topology: 1049600 links: allowed are at most 1048576"),
        (
            tree(30_000, 1, 1),
            "topology: 900030000 pairs of a switch and a switch with hosts: allowed are at most \
             268435456",
        ),
        (
            leaf_spine(u32::MAX, u32::MAX, u32::MAX, u32::MAX),
            "topology: 18446744065119617025 hosts: allowed are at most 65536",
        ),
    ] {
        assert_eq!(refused(kind), text);
    }
    assert!(Graph::build(&spec(TopologyKind::Star { hosts: 65_535 })).is_ok());
}

/// Breaks if a link that cannot be gets through, or a star minds links that it has not.
#[test]
fn impossible_links_are_refused() {
    let good = spec(leaf_spine(2, 2, 2, 1));
    let refused = |spec| Graph::build(&spec).unwrap_err().to_string();
    let mut bad = good.clone();
    bad.host_link.rate = Rate(0);
    assert_eq!(refused(bad), "topology.host_link.rate = 0bps: allowed is a rate above zero");
    let mut bad = good.clone();
    bad.fabric_link.rate = Rate(0);
    assert_eq!(
        refused(bad.clone()),
        "topology.fabric_link.rate = 0bps: allowed is a rate above zero"
    );
    bad.kind = TopologyKind::Star { hosts: 2 };
    assert!(Graph::build(&bad).is_ok());
    for (loss, text) in [(1.0, "1"), (-0.5, "-0.5"), (f64::NAN, "NaN")] {
        let mut bad = good.clone();
        bad.fabric_link.loss = loss;
        let allowed = "allowed is a probability from 0 to below 1";
        assert_eq!(refused(bad), format!("topology.fabric_link.loss = {text}: {allowed}"));
    }
    let mut bad = good.clone();
    bad.host_delay = Span(u64::MAX);
    assert_eq!(
        refused(bad),
        "topology.host_delay = 18446744.073709551615s: allowed is at most 1000s"
    );
    let mut bad = good.clone();
    bad.host_jitter = Span(1_000_000_000_000_001);
    assert_eq!(refused(bad), "topology.host_jitter = 1000.000000000001s: allowed is at most 1000s");
    let mut bad = good;
    bad.fabric_link.delay = Span(1_000_000_000_000_001);
    assert_eq!(
        refused(bad),
        "topology.fabric_link.delay = 1000.000000000001s: allowed is at most 1000s"
    );
}

proptest! {
    /// Breaks if any of the arrays disagrees with another.
    #[test]
    fn arrays_agree(kind in small_kind()) {
        let graph = build(kind);
        for (at, port) in graph.ports.iter().enumerate() {
            let peer = graph.ports[port.peer as usize];
            prop_assert_eq!(peer.peer as usize, at);
            prop_assert_eq!((peer.link, peer.rate, peer.delay), (port.link, port.rate, port.delay));
            let link = &graph.links[port.link as usize];
            prop_assert!(link.a as usize == at || link.b as usize == at);
            match port.owner {
                Owner::Switch(switch) => {
                    prop_assert_eq!(graph.global(switch, port.local) as usize, at);
                    prop_assert!(graph.ports_of(switch).contains(&(at as u32)));
                    let to_host = matches!(graph.neighbour(at as u32), Neighbour::Host(_));
                    prop_assert_eq!(to_host, port.local.0 < graph.switch(switch).host_ports);
                }
                Owner::Host(host) => {
                    prop_assert_eq!(port.local, PortId(0));
                    prop_assert_eq!(graph.host_port[usize::from(host.0)] as usize, at);
                }
            }
        }
        for host in 0..graph.hosts() {
            let tor = graph.host_tor[host as usize];
            let switch = graph.tor_switch[usize::from(tor.0)];
            prop_assert_eq!(graph.switch(switch).tor, Some(tor));
            prop_assert!(graph.hosts_under(tor).contains(&host));
            prop_assert!(graph.is_host_link(graph.ports[graph.host_port[host as usize] as usize].link));
            let down = graph.global(switch, graph.host_port_at_tor[host as usize]);
            prop_assert_eq!(graph.neighbour(down), Neighbour::Host(HostId(host as u16)));
        }
    }
}
