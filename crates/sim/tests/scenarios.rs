//! Random small runs: whatever is put together, what must hold of every run holds.

mod common;

use common::*;
use leafspine_core::{Bytes, Rate, Rng, Role, Span, Time, mix};
use leafspine_fabric::Graph;
use leafspine_fabric::kinds::{Clos, ClosTier, Defaults, Edge, Vertex, Wiring};
use leafspine_schemes::cc::SlowStart;
use leafspine_schemes::registry::{self, Place};
use leafspine_schemes::testing::{FakeHost, FakeLeaf};
use leafspine_schemes::{Amount, Kind, Params, Value};
use leafspine_sim::spec::*;
use leafspine_sim::{Factories, Output, PortRow, SetupError, Simulation};
use proptest::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// Some are whole picoseconds a byte, some are not; some have no delay, which leaves no window.
fn link() -> impl Strategy<Value = LinkSpec> {
    let mbps = prop_oneof![Just(10_000u64), Just(1_000), Just(300), Just(937), Just(12_345)];
    let loss = prop_oneof![6 => Just(0.0), 1 => 0.001f64..0.03];
    (mbps, delay(), loss).prop_map(|(mbps, delay, loss)| LinkSpec {
        rate: Rate::from_mbps(mbps),
        delay,
        loss,
    })
}

fn delay() -> impl Strategy<Value = Span> {
    prop_oneof![Just(0u64), 1u64..20_000].prop_map(Span::from_nanos)
}

/// Two or three tiers, in pods, with a link for each.
fn clos() -> impl Strategy<Value = TopologyKind> {
    let tier = || (1u32..4, 1u32..3, 1u32..3, link());
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
fn wiring() -> impl Strategy<Value = TopologyKind> {
    let end = any::<prop::sample::Index>;
    let tree = proptest::collection::vec((end(), link()), 0..5);
    let more = proptest::collection::vec((end(), end(), link()), 0..4);
    let hosts = proptest::collection::vec((end(), link()), 2..8);
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

fn topology() -> impl Strategy<Value = TopologySpec> {
    let kind = prop_oneof![
        2 => clos(),
        2 => wiring(),
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
    (kind, link(), link(), delay(), jitter).prop_map(
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
enum Event {
    DownAndUp(Span),
    Flap(u32),
    Rate(u64),
    Delay(Span),
    Loss(f64),
}

/// Link number, time and what happens; the link's number is taken modulo the links that there are.
fn events() -> impl Strategy<Value = Vec<(usize, Span, Event)>> {
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

fn changes(topology: &TopologySpec, events: &[(usize, Span, Event)]) -> Vec<LinkChange> {
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

/// Buffers are in multiples of the largest packet: a packet that fits nowhere never arrives.
fn switch(mtu: u32) -> impl Strategy<Value = SwitchSpec> {
    let mtu = u64::from(mtu);
    let buffer = prop_oneof![
        (2u32..200).prop_map(Amount::Packets),
        (2u64..100).prop_map(move |n| Amount::Bytes(n * mtu)),
    ];
    let shared = prop_oneof![
        4 => Just(None),
        1 => (20u64..200, 0.3f64..4.0).prop_map(move |(n, alpha)| {
            Some(SharedBuffer { size: Bytes(n * mtu), alpha })
        }),
    ];
    let queues = prop_oneof![
        2 => Just((1u8, SchedulerKind::Fifo, vec![1])),
        1 => (
            2u8..5,
            prop_oneof![
                Just(SchedulerKind::Wrr),
                Just(SchedulerKind::Dwrr),
                Just(SchedulerKind::Strict)
            ],
            proptest::collection::vec(1u32..6, 4),
        )
            .prop_map(|(n, kind, weights)| (n, kind, weights[..usize::from(n)].to_vec())),
    ];
    let classifier =
        prop_oneof![Just(Classifier::Hash), Just(Classifier::Stage), Just(Classifier::Dscp)];
    let host_ports = proptest::sample::select(vec![
        HostPorts::LikeSwitch,
        HostPorts::WithQueues,
        HostPorts::Unlimited,
    ]);
    (buffer, shared, queues, classifier, host_ports).prop_map(
        |(buffer, shared, (queues, scheduler, weights), classifier, host_ports)| SwitchSpec {
            buffer,
            shared,
            queues,
            scheduler,
            weights,
            classifier,
            stage_queues: stage_queues(queues),
            host_ports,
            one_hash: false,
        },
    )
}

/// A queue for each stage; from three queues on, several stages have the middle one.
fn stage_queues(queues: u8) -> Vec<u8> {
    if queues < 3 { (0..queues).collect() } else { vec![0, 1, 1, 1, 1, 2] }
}

/// Any registered scheme of a place, with its defaults or parameters near them.
fn any_of(place: Place) -> impl Strategy<Value = SchemeSpec> {
    let made = |(info, seed): (&leafspine_schemes::SchemeInfo, Option<u64>)| {
        let defaults = Params::defaults(info.params);
        let params = seed.map_or(defaults.clone(), |seed| near(info, defaults, seed));
        SchemeSpec { name: info.name.to_owned(), params }
    };
    let seed = prop_oneof![1 => Just(None), 1 => any::<u64>().prop_map(Some)];
    (proptest::sample::select(place.schemes()), seed).prop_map(made)
}

/// Each parameter up to eight times larger or smaller, within its bounds; any word.
fn near(info: &leafspine_schemes::SchemeInfo, defaults: Params, seed: u64) -> Params {
    let mut rng = Rng::new(seed, Role::HostSet, 0);
    info.params.iter().fold(defaults, |params, param| {
        let mut factor = [0.125, 0.5, 1.0, 1.0, 2.0, 8.0][rng.below(6) as usize];
        // More probes than a slow link carries would starve its flows for ever.
        match param.name {
            "probe_period" | "probe_interval" => factor = f64::max(factor, 1.0),
            "probe_size" => factor = f64::min(factor, 2.0),
            _ => {}
        }
        let scaled = |value: u64| (value as f64 * factor) as u64;
        let value = match (params.0[param.name].clone(), param.kind) {
            (Value::Span(v), _) => Value::Span(Span(scaled(v.0))),
            (Value::Bytes(v), _) => Value::Bytes(Bytes(scaled(v.0))),
            (Value::Rate(v), _) => Value::Rate(Rate(scaled(v.0))),
            (Value::Int(v), _) => Value::Int(scaled(v)),
            (Value::Float(v), _) => Value::Float(v * factor),
            (Value::Bool(_), _) => Value::Bool(rng.chance(0.5)),
            (Value::Amount(Amount::Packets(n)), _) => {
                Value::Amount(Amount::Packets(scaled(n.into()) as u32))
            }
            (Value::Amount(Amount::Bytes(n)), _) => Value::Amount(Amount::Bytes(scaled(n))),
            (Value::Word(_), Kind::Word(words)) => {
                Value::Word(words[rng.below(words.len() as u64) as usize].to_owned())
            }
            (other, _) => other,
        };
        if param.kind.check(&value).is_ok() { params.with(param.name, value) } else { params }
    })
}

/// The roles that a balancer hands out: queue manager, ingress hold.
fn roles(balancer: &SchemeSpec) -> [bool; 2] {
    let entry = registry::load_balancer(&balancer.name).expect("a registered balancer");
    let env = FakeLeaf::new(4, 4, 1).env;
    match (entry.build)(&balancer.params, &env) {
        Ok(mut balancer) => [balancer.roles().aqm().is_some(), balancer.roles().hold().is_some()],
        Err(_) => [false; 2],
    }
}

/// As above, and ECN thresholds low enough to act, at both ends of the queue.
fn aqm() -> impl Strategy<Value = SchemeSpec> {
    let word = |words: &'static [&'static str]| proptest::sample::select(words);
    let ecn = (1u32..40, word(&["enqueue", "dequeue"]), word(&["queue", "port"]), any::<bool>())
        .prop_map(|(k, at, scope, drop)| {
            let SchemeSpec { name, params } = scheme("ecn-threshold");
            let params = params
                .with("threshold", Value::Amount(Amount::Packets(k)))
                .with("at", Value::Word(at.to_owned()))
                .with("scope", Value::Word(scope.to_owned()))
                .with("drop_not_capable", Value::Bool(drop));
            SchemeSpec { name, params }
        });
    prop_oneof![any_of(Place::Aqm), ecn]
}

fn edges() -> impl Strategy<Value = Option<SchemeSpec>> {
    let reassembling = {
        let SchemeSpec { name, params } = edge("presto");
        SchemeSpec { name, params: params.with("reassemble", Value::Bool(true)) }
    };
    prop_oneof![
        2 => Just(None),
        1 => any_of(Place::HostEdge).prop_map(Some),
        1 => Just(Some(reassembling)),
    ]
}

/// Each of TCP's switches, or none.
fn stack() -> impl Strategy<Value = Stack> {
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
    let any = (any::<[bool; 7]>(), words, us(2_000), us(1_000), 0u32..20, 0u32..3).prop_map(
        |(flags, (reduction, timestamps, slow_start), tlp, eifel, quick_acks, spared)| {
            let [idle_restart, sack_bytes, rack, dsack, undo_dsack, frto, pacing] = flags;
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
            }
        },
    );
    prop_oneof![1 => Just(Stack::default()), 1 => any]
}

fn transport() -> impl Strategy<Value = TransportSpec> {
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
                // RACK goes by SACKs.
                stack: Stack { rack: stack.rack && sack, ..stack },
            }
        },
    )
}

fn sizes() -> impl Strategy<Value = SizeSpec> {
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
fn trace() -> impl Strategy<Value = WorkloadKind> {
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

fn workload() -> impl Strategy<Value = WorkloadSpec> {
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
    let kind = prop_oneof![6 => kind, 1 => trace().prop_map(move |kind| (kind, all.clone()))];
    (kind, sizes(), 0u64..300).prop_map(|((kind, (senders, receivers)), sizes, start)| {
        let start = Time(Span::from_micros(start).0);
        WorkloadSpec { kind, sizes, senders, receivers, pattern: Pattern::Any, start }
    })
}

/// None or any registered one, and ABQ with bounds low enough to act.
fn hold() -> impl Strategy<Value = Option<SchemeSpec>> {
    let max_hold = prop_oneof![
        1 => Just(Value::Word("none".to_owned())),
        1 => (1u64..2_000).prop_map(|us| Value::Span(Span::from_micros(us))),
    ];
    let capacity = prop_oneof![1 => 1u64..10, 2 => Just(1024)];
    let low = (1u32..12, 1u32..5, max_hold, capacity).prop_map(
        |(threshold, floor, max_hold, capacity)| {
            let packets = |n| Value::Amount(Amount::Packets(n));
            let SchemeSpec { name, params } = scheme("abq");
            let params = params
                .with("threshold", packets(threshold))
                .with("floor", packets(floor))
                .with("max_hold", max_hold)
                .with("capacity", Value::Int(capacity));
            SchemeSpec { name, params }
        },
    );
    prop_oneof![
        3 => Just(None),
        1 => any_of(Place::Hold).prop_map(Some),
        2 => low.prop_map(Some),
    ]
}

/// The schemes of a run: a balancer's own roles half of the time that it has any, the edge that a
/// balancer cannot do without nearly always.
fn schemes() -> impl Strategy<Value = [Option<SchemeSpec>; 4]> {
    let parts = (any_of(Place::LoadBalancer), aqm(), hold(), edges(), 0u8..16);
    parts.prop_map(|(balancer, aqm, hold, edge, chance)| {
        let own = || Some(SchemeSpec { name: "balancer".to_owned(), params: Params::default() });
        let [manages, holds] = roles(&balancer).map(|has| has && chance % 2 == 0);
        let entry = registry::load_balancer(&balancer.name).expect("a registered balancer");
        let needed = entry
            .edge
            .filter(|name| chance > 1 && edge.as_ref().is_none_or(|edge| edge.name != *name));
        let aqm = if manages { own() } else { Some(aqm) };
        let hold = if holds { own() } else { hold };
        [Some(balancer), aqm, hold, needed.map(common::edge).or(edge)]
    })
}

/// As many service queues as the schemes ask for, served in turns if there were fewer.
fn enough_queues(spec: &mut Spec) {
    let named = [
        (Place::LoadBalancer, Some(&spec.balancer)),
        (Place::Aqm, Some(&spec.aqm)),
        (Place::Hold, spec.hold.as_ref()),
        (Place::HostEdge, spec.edge.as_ref()),
    ];
    let demanded = named.into_iter().filter_map(|(place, scheme)| place.find(&scheme?.name));
    let queues = demanded.map(|info| info.demands.queues).max().unwrap_or(1);
    if spec.switch.queues < queues {
        spec.switch.queues = queues;
        spec.switch.scheduler = SchedulerKind::Wrr;
        spec.switch.weights = vec![1; usize::from(queues)];
        spec.switch.stage_queues = stage_queues(queues);
    }
}

/// The whole run, or arrivals after a warm-up that some runs are too short for.
fn measure() -> impl Strategy<Value = MeasureSpec> {
    let warmup = prop_oneof![2 => Just(0), 1 => 1u64..200];
    (any::<bool>(), warmup).prop_map(|(all, warmup)| MeasureSpec {
        window: if all { Window::All } else { Window::Arrivals },
        warmup: Time(Span::from_micros(warmup).0),
    })
}

fn spec() -> impl Strategy<Value = Spec> {
    let transport_and_switch = transport().prop_flat_map(|t| (switch(t.mss + t.header), Just(t)));
    let workloads = proptest::collection::vec(workload(), 1..3);
    let rest = (workloads, measure(), 0u64..1000);
    (topology(), events(), transport_and_switch, schemes(), rest).prop_map(
        |(topology, events, (switch, transport), schemes, (mut workloads, measure, seed))| {
            if topology.kind.tors() > 1 && seed % 2 == 0 {
                workloads.iter_mut().for_each(load_the_fabric);
            }
            let [balancer, aqm, hold, edge] = schemes;
            let mut spec = Spec {
                changes: changes(&topology, &events),
                topology,
                switch,
                aqm: aqm.expect("always there"),
                balancer: balancer.expect("always there"),
                hold,
                edge,
                transport,
                workloads,
                run: RunSpec::new(seed, None),
                measure,
                ..base()
            };
            enough_queues(&mut spec);
            if ticks(&spec) {
                be_impatient(&mut spec.transport);
                spec.hold = spec.hold.map(bounded);
            }
            spec
        },
    )
}

/// Whether a scheme does something all the time (probes): a run that waits seconds for a timeout
/// would then be millions of packets long.
fn ticks(spec: &Spec) -> bool {
    let leaf = FakeLeaf::new(4, 4, 1);
    let balancer = registry::load_balancer(&spec.balancer.name).expect("a registered balancer");
    let balancer = (balancer.build)(&spec.balancer.params, &leaf.env);
    let edge = spec.edge.as_ref().map(|edge| {
        let entry = registry::host_edge(&edge.name).expect("a registered edge");
        (entry.build)(&edge.params, &FakeHost::new(1460).env)
    });
    balancer.is_ok_and(|b| b.needs().tick) || edge.is_some_and(|e| e.is_ok_and(|e| e.needs().tick))
}

/// Bounds the time that packets are held: a queue that probes keep long would hold ACKs for ever.
fn bounded(hold: SchemeSpec) -> SchemeSpec {
    let SchemeSpec { name, params } = hold;
    let params = match params.0.get("max_hold") {
        Some(Value::Word(_)) => params.with("max_hold", Value::Span(Span::from_millis(1))),
        _ => params,
    };
    SchemeSpec { name, params }
}

/// Shortens the timeouts.
fn be_impatient(transport: &mut TransportSpec) {
    let most = Span::from_millis(20);
    transport.min_rto = transport.min_rto.min(most);
    transport.initial_rto = transport.initial_rto.map(|rto| rto.min(most));
    transport.max_rto = transport.max_rto.min(most * 2).max(transport.min_rto);
}

/// Turns a load of the hosts' links into one of the links between switches.
fn load_the_fabric(workload: &mut WorkloadSpec) {
    if let WorkloadKind::Poisson { arrivals: Arrivals::Load { basis, .. }, .. } = &mut workload.kind
    {
        *basis = LoadBasis::Fabric;
        workload.pattern = Pattern::InterLeaf;
    }
}

/// Whether two runs are one: in every packet-hop, every flow and every count. How many events it
/// took may differ, and with it how many packets were in the pool for a moment.
fn assert_same(a: &Output, b: &Output) {
    assert_eq!(a.trace_hash, b.trace_hash);
    assert_eq!(a.flows.fct_ps, b.flows.fct_ps);
    assert_eq!(a.flows.path_changes, b.flows.path_changes);
    assert_eq!(a.flows.mean_window, b.flows.mean_window);
    assert_eq!((a.end, a.window), (b.end, b.window));
    assert_eq!((a.delivered_in_window, a.warmup), (b.delivered_in_window, b.warmup));
    let counts = |o: &Output| leafspine_sim::Counters { events: 0, peak_packets: 0, ..o.counters };
    assert_eq!(counts(a), counts(b));
    for (p, q) in a.ports.iter().zip(&b.ports) {
        let exact = |r: &PortRow| {
            let counts = (r.packets, r.bytes, r.marks, r.drops, r.lost, r.queue_max_packets);
            (counts, r.utilisation, r.queue_mean_packets, r.queue_mean_bytes)
        };
        assert_eq!(exact(p), exact(q), "{}", p.name);
        let waits = |r: &PortRow| (r.delay_mean_ps, r.delay_p99_ps, r.queue_p99_packets);
        assert_eq!(waits(p), waits(q), "{}", p.name);
    }
}

/// What one run must fulfil besides what `run` checks.
fn assert_sound(spec: &Spec, output: &Output) {
    let (flows, c) = (&output.flows, &output.counters);
    assert_eq!(c.data_packets, flows.packets.iter().map(|n| u64::from(*n)).sum::<u64>());
    assert_eq!(c.reordered_packets, flows.reordered.iter().map(|n| u64::from(*n)).sum::<u64>());
    for (packets, bytes) in flows.packets.iter().zip(&flows.bytes) {
        let segments = bytes.div_ceil(u64::from(spec.transport.mss));
        assert!(u64::from(*packets) >= segments, "{packets} packets for {segments} segments");
    }
    if let (Amount::Packets(n), None) = (spec.switch.buffer, spec.switch.shared) {
        let limited = |p: &&PortRow| {
            spec.switch.host_ports != HostPorts::Unlimited || !p.name.starts_with("host")
        };
        for port in output.ports.iter().filter(limited) {
            assert!(port.queue_max_packets < n, "{} over {n}", port.name);
        }
    }
    assert_warmup(spec, output);
    if spec.changes.is_empty() && spec.measure.window == Window::All {
        // The last packets of a run may still be on their way, and what dequeueing drops has been
        // accepted before; otherwise what ports accept is what arrives at the other end.
        let accepted: u64 = output.ports.iter().map(|p| p.packets).sum();
        let [_, managed, _, _] = c.dropped;
        assert!(accepted - c.packet_hops <= c.in_flight + managed, "{accepted} accepted, {c:?}");
        // Links of a list differ on equally short ways: one with less capacity may be nearer.
        let alike = !matches!(spec.topology.kind, TopologyKind::File(_));
        if alike && keeps_order(spec) {
            // Rates of fractions of a picosecond a byte: one picosecond a hop, 3 x 6 hops at most.
            for (fct, ideal) in flows.fct_ps.iter().zip(&flows.ideal_fct_ps) {
                assert!(fct + 18 >= *ideal, "{fct} ps is faster than the ideal {ideal}");
            }
        }
    }
}

/// What the warm-up sets aside is a part of the whole, and some flow comes after it.
fn assert_warmup(spec: &Spec, output: &Output) {
    let (warmup, c, end) = (output.warmup, &output.counters, spec.measure.warmup);
    let starts = &output.flows.start_ps;
    assert_eq!(warmup.flows, starts.iter().filter(|start| **start < end.0).count() as u64);
    assert!(warmup.flows < starts.len() as u64, "no flow counts");
    let parts = [warmup.dropped, warmup.lost, warmup.marks, warmup.data_packets];
    let whole = [c.dropped.iter().sum(), c.lost, c.marks, c.data_packets];
    assert!(parts.iter().zip(&whole).all(|(part, whole)| part <= whole), "{parts:?} {whole:?}");
    assert!(end > Time::ZERO || parts == [0; 4], "{parts:?} before a run without warm-up");
    let (open, _) = output.window;
    match spec.measure.window {
        Window::All => assert_eq!(output.delivered_in_window, c.bytes_delivered),
        _ => assert!(open >= end && output.delivered_in_window <= c.bytes_delivered),
    }
}

/// Whether a flow's packets take one way and stay in order on it: what the ideal time assumes. Over
/// several ways a flow may be faster, by their rates if each is narrower than the host's link, and
/// by the last segment's time where that overtakes the one before.
fn keeps_order(spec: &Spec) -> bool {
    let one_way = ["ecmp", "wcmp", "pinned"].contains(&spec.balancer.name.as_str());
    // Other edges change what switches hash or obey.
    let steers =
        spec.edge.as_ref().is_some_and(|edge| !["presto", "stage"].contains(&edge.name.as_str()));
    one_way && !steers && spec.switch.queues == 1
}

fn probed(spec: &Spec) -> Spec {
    let kinds = [ProbeKind::Queue, ProbeKind::Utilisation, ProbeKind::Window, ProbeKind::Packets];
    let probe = |(i, kind): (usize, ProbeKind)| ProbeSpec {
        kind,
        ports: "*".to_owned(),
        flows: Vec::new(),
        every: Span::from_micros(170),
        name: format!("probe{i}"),
    };
    Spec { probes: kinds.into_iter().enumerate().map(probe).collect(), ..spec.clone() }
}

fn general(spec: &Spec) -> Spec {
    Spec { run: RunSpec { ports: PortModel::General, ..spec.run }, ..spec.clone() }
}

/// Whether a balancer is told of departures before they happen where ports can foresee them: then it
/// may decide otherwise over ports that cannot.
fn foresees(spec: &Spec) -> bool {
    let entry = registry::load_balancer(&spec.balancer.name).expect("a registered balancer");
    let balancer = (entry.build)(&spec.balancer.params, &FakeLeaf::new(4, 4, 1).env);
    balancer.is_ok_and(|b| b.needs().leaving && !b.needs().exact_dequeue)
}

/// Whether a scheme refuses its parameters, or its place, with a reason, or no flow starts in the
/// duration or after the warm-up. Anything else that is wrong with a spec fails the test.
fn refused(spec: &Spec) -> bool {
    match Simulation::with(spec, &Factories::default()) {
        Err(SetupError::Scheme { error, .. }) => {
            assert!(error.message.contains("; allowed: "), "no reason: {error}");
            true
        }
        Err(SetupError::Workload(error)) => {
            let too_short = error.key == "measure.warmup" || error.key.ends_with(".duration");
            assert!(too_short, "{error}");
            true
        }
        Err(other) => panic!("{other}"),
        Ok(_) => false,
    }
}

/// Runs a spec four ways, which must be one.
fn check(spec: &Spec) {
    let first = run(spec);
    assert_sound(spec, &first);
    assert_same(&first, &run(spec));
    assert_same(&first, &run(&probed(spec)));
    if !foresees(spec) {
        assert_same(&first, &run(&general(spec)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// Breaks if any combination of fabric, changes, switches, schemes, transport and workloads does
    /// not end, loses or repeats a byte, or depends on anything but its spec: run twice, looked at
    /// by every probe, or over the other kind of port, it must be the same run. Combinations that a
    /// scheme refuses with a reason are passed over.
    #[test]
    fn every_run_is_sound(spec in spec()) {
        if !refused(&spec) {
            check(&spec);
        }
    }
}

/// Breaks if a registered scheme cannot run with its defaults: then the test above would pass it by.
#[test]
fn every_scheme_runs() {
    for place in [Place::LoadBalancer, Place::Aqm, Place::Hold, Place::HostEdge] {
        for info in place.schemes() {
            let scheme =
                SchemeSpec { name: info.name.to_owned(), params: Params::defaults(info.params) };
            let workloads = vec![fixed_flows(60, 200_000, 0.8)];
            let measure = MeasureSpec { window: Window::All, warmup: Time::ZERO };
            let mut spec = Spec { workloads, measure, ..base() };
            match place {
                Place::LoadBalancer => {
                    let entry = registry::load_balancer(info.name).expect("registered");
                    spec.edge = entry.edge.map(common::edge);
                    spec.balancer = scheme;
                }
                Place::Aqm => spec.aqm = scheme,
                Place::Hold => spec.hold = Some(scheme),
                _ => {
                    let entry = registry::host_edge(info.name).expect("registered");
                    if let Some(balancer) = entry.balancers.first() {
                        spec.balancer = common::scheme(balancer);
                    }
                    spec.edge = Some(scheme);
                }
            }
            enough_queues(&mut spec);
            // Managers of round robin queues want such queues.
            if refused(&spec) {
                spec.switch.queues = spec.switch.queues.max(2);
                spec.switch.scheduler = SchedulerKind::Dwrr;
                spec.switch.weights = vec![1; usize::from(spec.switch.queues)];
            }
            // Schemes that read stages want queues chosen by them.
            if refused(&spec) {
                spec.switch.classifier = Classifier::Stage;
                spec.switch.stage_queues = stage_queues(3);
            }
            check(&spec);
        }
    }
}
