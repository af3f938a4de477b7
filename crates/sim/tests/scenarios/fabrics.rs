//! Random fabrics, and how their links change.

use super::*;
use proptest::strategy::ValueTree;

/// Some are whole picoseconds a byte, some are not. Whether some have no delay, which leaves no window.
pub(super) fn link(instant: bool) -> impl Strategy<Value = LinkSpec> {
    let mbps = prop_oneof![Just(10_000u64), Just(1_000), Just(300), Just(937), Just(12_345)];
    let loss = prop_oneof![6 => Just(0.0), 1 => 0.001f64..0.03];
    (mbps, delay(instant), loss).prop_map(|(mbps, delay, loss)| LinkSpec {
        rate: Rate::from_mbps(mbps),
        delay,
        loss,
    })
}

pub(super) fn delay(instant: bool) -> impl Strategy<Value = Span> {
    let least = u64::from(!instant);
    prop_oneof![Just(least), 1u64..20_000].prop_map(Span::from_nanos)
}

/// Two or three tiers, in pods, with a link for each.
pub(super) fn clos(instant: bool) -> impl Strategy<Value = TopologyKind> {
    let tier = move || (1u32..4, 1u32..3, 1u32..3, link(instant));
    (1u32..4, 2u32..4, tier(), proptest::option::of(tier())).prop_map(
        |(hosts, tors, (pods, aggs, links, link), top)| {
            let pods = if top.is_some() { pods } else { 1 };
            let tier = |name: &str, switches, pods, links_per_pair, link| ClosTier {
                name: name.to_owned(),
                switches,
                pods,
                links_per_pair,
                link,
            };
            let mut tiers = vec![
                tier("tor", tors * pods, 1, 1, link),
                tier("agg", aggs * pods, pods, links, link),
            ];
            if let Some((_, cores, links, link)) = top {
                tiers.push(tier("core", aggs * cores, 1, links, link));
            }
            TopologyKind::Clos(Arc::new(Clos::new(hosts, tiers).expect("even tiers")))
        },
    )
}

/// Switches in any order of links, every link its own; at least two hosts under some of them.
pub(super) fn wiring(instant: bool) -> impl Strategy<Value = TopologyKind> {
    let end = any::<prop::sample::Index>;
    let tree = proptest::collection::vec((end(), link(instant)), 0..5);
    let more = proptest::collection::vec((end(), end(), link(instant)), 0..4);
    let hosts = proptest::collection::vec((end(), link(instant)), 2..8);
    (tree, more, hosts).prop_map(|(tree, more, hosts)| {
        let switches = tree.len() + 1;
        let vertex = |number: usize| {
            let host = number >= switches;
            let name = if host { "host-" } else { "switch-" };
            Vertex { name: format!("{name}{number}"), host: Some(host), tier: None }
        };
        let vertices: Vec<Vertex> = (0..switches + hosts.len()).map(vertex).collect();
        let edge = |a, b, link: &LinkSpec| Edge {
            ends: (a, b),
            rate: Some(link.rate),
            delay: Some(link.delay),
            loss: Some(link.loss),
        };
        let tree =
            tree.iter().enumerate().map(|(at, (to, link))| edge(at + 1, to.index(at + 1), link));
        let more = more.iter().map(|(a, b, link)| edge(a.index(switches), b.index(switches), link));
        let hosts = hosts.iter().enumerate();
        let hosts = hosts.map(|(at, (to, link))| edge(switches + at, to.index(switches), link));
        let between = tree.chain(more).filter(|edge| edge.ends.0 != edge.ends.1);
        let edges: Vec<Edge> = between.chain(hosts).collect();
        let none = Defaults { host: None, fabric: None };
        TopologyKind::File(Arc::new(Wiring::new(&vertices, &edges, &none).expect("a fabric")))
    })
}

pub(super) fn topology() -> impl Strategy<Value = TopologySpec> {
    prop_oneof![7 => topology_of(false), 1 => topology_of(true)]
}

fn topology_of(instant: bool) -> impl Strategy<Value = TopologySpec> {
    let kind = prop_oneof![
        2 => clos(instant),
        2 => wiring(instant),
        1 => (3u32..9).prop_map(|hosts| TopologyKind::Star { hosts }),
        4 => (2u32..4, 1u32..4, 1u32..4, 1u32..3).prop_map(
            |(leaves, spines, hosts_per_leaf, links_per_pair)| TopologyKind::LeafSpine {
                leaves,
                spines,
                hosts_per_leaf,
                links_per_pair,
            }
        ),
        1 => Just(TopologyKind::FatTree { k: 4 }),
        1 => (2u32..4, 1u32..4, 1u32..3).prop_map(|(tors, hosts_per_tor, links_per_pair)| {
            TopologyKind::Tree { tors, hosts_per_tor, links_per_pair }
        }),
    ];
    let jitter = prop_oneof![3 => Just(0u64), 1 => 1u64..20_000_000].prop_map(Span);
    (kind, link(instant), link(instant), delay(true), jitter).prop_map(
        |(kind, host_link, fabric_link, host_delay, host_jitter)| TopologySpec {
            kind,
            host_link,
            fabric_link,
            host_delay,
            host_jitter,
        },
    )
}

/// A change of the n-th link, that ends well.
#[derive(Clone, Debug)]
pub(super) enum Event {
    DownAndUp(Span),
    Flap(u32),
    Rate(u64),
    Delay(Span),
    Loss(f64),
}

/// Link number, time and what happens; the link's number is taken modulo the links that there are.
pub(super) fn events() -> impl Strategy<Value = Vec<(usize, Span, Event)>> {
    let us = |range| Strategy::prop_map(range, Span::from_micros);
    let event = prop_oneof![
        us(1u64..2000).prop_map(Event::DownAndUp),
        (1u32..5).prop_map(Event::Flap),
        (50u64..20_000).prop_map(Event::Rate),
        us(0u64..100).prop_map(Event::Delay),
        (0.0f64..0.1).prop_map(Event::Loss),
    ];
    let some = proptest::collection::vec((0usize..1000, us(0u64..1500), event), 1..5);
    prop_oneof![1 => Just(Vec::new()), 1 => some]
}

pub(super) fn changes(topology: &TopologySpec, events: &[(usize, Span, Event)]) -> Vec<LinkChange> {
    let graph = Graph::build(topology).expect("a fabric");
    let one = |(number, at, event): &(usize, Span, Event)| {
        let link = &graph.links[number % graph.links.len()].name;
        let plain = change(link, *at);
        match *event {
            Event::DownAndUp(length) => vec![
                LinkChange { up: Some(false), ..plain },
                LinkChange { up: Some(true), ..change(link, *at + length) },
            ],
            Event::Flap(times) => {
                let (every, down_for) = (Span::from_micros(90), Span::from_micros(30));
                vec![LinkChange { flap: Some(Flap { every, down_for, times }), ..plain }]
            }
            Event::Rate(mbps) => vec![LinkChange { rate: Some(Rate::from_mbps(mbps)), ..plain }],
            Event::Delay(delay) => vec![LinkChange { delay: Some(delay), ..plain }],
            Event::Loss(loss) => vec![LinkChange { loss: Some(loss), ..plain }],
        }
    };
    let changes: Vec<_> = events.iter().flat_map(one).collect();
    // Overlapping changes of one link may leave it down: it is mended when all is over.
    let mend = |change: &LinkChange| {
        let at = Span::from_millis(5);
        LinkChange { up: Some(true), ..common::change(&change.link, at) }
    };
    let down = changes.iter().filter(|c| c.up == Some(false)).map(mend).collect::<Vec<_>>();
    changes.into_iter().chain(down).collect()
}

/// Breaks if most random fabrics have a link without delay: they leave no window, and comparing the
/// two drivers would compare the calendar with itself.
#[test]
fn most_fabrics_leave_windows() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut instant = 0;
    for _ in 0..400 {
        let topology = topology().new_tree(&mut runner).expect("a fabric").current();
        let graph = Graph::build(&topology).expect("a fabric");
        instant += u32::from(graph.ports.iter().any(|port| port.delay == Span::ZERO));
    }
    assert!((10..80).contains(&instant), "{instant} of 400 have a link without delay");
}
