//! Random switches and schemes.

use super::*;

/// Buffers are in multiples of the largest packet: a packet that fits nowhere never arrives.
pub(super) fn switch(mtu: u32) -> impl Strategy<Value = SwitchSpec> {
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
    (buffer, shared, queues, (classifier, pfc()), host_ports).prop_map(
        |(buffer, shared, (queues, scheduler, weights), (classifier, pfc), host_ports)| {
            SwitchSpec {
                buffer,
                // Room for the headroom of any of these fabrics' switches.
                shared: if pfc.is_some() {
                    Some(SharedBuffer { size: Bytes(1 << 40), alpha: 1e-6 })
                } else {
                    shared
                },
                trim: None,
                pfc: pfc
                    .map(|pfc| PfcSpec { lossless: pfc.lossless & ((1 << queues) - 1) | 1, ..pfc }),
                queues,
                scheduler,
                weights,
                classifier,
                stage_queues: stage_queues(queues),
                host_ports,
                one_hash: false,
            }
        },
    )
}

/// Flow control now and then, with thresholds low enough to act, and little headroom at times.
pub(super) fn pfc() -> impl Strategy<Value = Option<PfcSpec>> {
    let threshold = prop_oneof![
        (0u64..60_000).prop_map(|bytes| PfcThreshold::Static(Bytes(bytes))),
        (1e-9f64..1e-7).prop_map(PfcThreshold::Dynamic),
    ];
    let headroom = proptest::option::weighted(0.3, (0u64..40_000).prop_map(Bytes));
    let watchdog =
        (10u64..2_000, 10u64..2_000, any::<bool>()).prop_map(|(detect, restore, drops)| {
            let action = if drops { WatchdogAction::Drop } else { WatchdogAction::Forward };
            let (detect, restore) = (Span::from_micros(detect), Span::from_micros(restore));
            WatchdogSpec { detect, restore, action }
        });
    // Any of these fabrics may have a ring of links, in which ports can wait for each other for ever.
    let parts = (1u8..16, threshold, 0u64..9_000, 0u64..9_000, headroom, watchdog);
    let pfc =
        parts.prop_map(|(lossless, threshold, reserve, resume, headroom, watchdog)| PfcSpec {
            lossless,
            threshold,
            reserve: Bytes(reserve),
            resume: Bytes(resume),
            headroom,
            watchdog: Some(watchdog),
        });
    proptest::option::weighted(0.25, pfc)
}

/// Trimming now and then, with little room for headers.
pub(super) fn trim() -> impl Strategy<Value = Option<TrimSpec>> {
    let parts = (0u8..8, 64u64..4_000, any::<bool>(), any::<bool>());
    let trim = parts.prop_map(|(class, room, either, returns)| TrimSpec {
        class,
        buffer: Bytes(room),
        either,
        returns,
    });
    proptest::option::weighted(0.5, trim)
}

/// Has switches trim beside queue pairs that know of it, unless flow control is on.
pub(super) fn add_trimming(spec: &mut Spec, trim: Option<TrimSpec>) {
    let knows = spec.transport.protocol.tells_of_trimmed();
    let by_class = spec.switch.classifier != Classifier::Hash && spec.switch.queues > 1;
    if !(knows && by_class && spec.switch.pfc.is_none()) {
        return;
    }
    let queue = |class: u8| match spec.switch.classifier {
        Classifier::Stage => *spec
            .switch
            .stage_queues
            .get(usize::from(class))
            .unwrap_or(spec.switch.stage_queues.last().expect("a queue for each stage")),
        _ => class % spec.switch.queues,
    };
    let own = spec.transport.protocol.class();
    let written = spec.edge.as_ref().and_then(|edge| classes_written(&edge.name));
    let of_flows = spec.workloads.iter().map(|workload| workload.class.unwrap_or(own));
    let of_data: Vec<u8> = match written {
        Some(classes) => (0..classes).collect(),
        None => of_flows.chain([own]).collect(),
    };
    // Data in the queue of headers would have their room.
    let apart = |trim: &TrimSpec| of_data.iter().all(|class| queue(*class) != queue(trim.class));
    spec.switch.trim = trim.filter(apart);
}

/// A queue for each stage; from three queues on, several stages have the middle one.
pub(super) fn stage_queues(queues: u8) -> Vec<u8> {
    if queues < 3 { (0..queues).collect() } else { vec![0, 1, 1, 1, 1, 2] }
}

/// Any registered scheme of a place, with its defaults or parameters near them.
pub(super) fn any_of(place: Place) -> impl Strategy<Value = SchemeSpec> {
    let made = |(info, seed): (&leafspine_schemes::SchemeInfo, Option<u64>)| {
        let defaults = Params::defaults(info.params);
        let params = seed.map_or(defaults.clone(), |seed| near(info, defaults, seed));
        SchemeSpec { name: info.name.to_owned(), params }
    };
    let seed = prop_oneof![1 => Just(None), 1 => any::<u64>().prop_map(Some)];
    (proptest::sample::select(place.schemes()), seed).prop_map(made)
}

/// Each parameter up to eight times larger or smaller, within its bounds; any word.
pub(super) fn near(info: &leafspine_schemes::SchemeInfo, defaults: Params, seed: u64) -> Params {
    let mut rng = Rng::new(seed, Role::HostSet, 0);
    // Thresholds in time, all of a scheme's or none.
    let timed = seed.is_multiple_of(3);
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
            (_, Kind::Depth) if timed => Value::Span(Span(scaled(10_000_000))),
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
pub(super) fn roles(balancer: &SchemeSpec) -> [bool; 2] {
    let entry = registry::load_balancer(&balancer.name).expect("a registered balancer");
    let env = FakeLeaf::new(4, 4, 1).env;
    match (entry.build)(&balancer.params, &env) {
        Ok(mut balancer) => [balancer.roles().aqm().is_some(), balancer.roles().hold().is_some()],
        Err(_) => [false; 2],
    }
}

/// As above, and ECN thresholds low enough to act, at both ends of the queue.
pub(super) fn aqm() -> impl Strategy<Value = SchemeSpec> {
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

pub(super) fn edges() -> impl Strategy<Value = Option<SchemeSpec>> {
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

/// None or any registered one, and ABQ with bounds low enough to act.
pub(super) fn hold() -> impl Strategy<Value = Option<SchemeSpec>> {
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
pub(super) fn schemes() -> impl Strategy<Value = [Option<SchemeSpec>; 4]> {
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
pub(super) fn enough_queues(spec: &mut Spec) {
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
