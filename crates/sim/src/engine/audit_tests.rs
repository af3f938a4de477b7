//! The check finds what does not add up: each test breaks one count in a run that has been cut.

use super::audit::{Audit, Spot};
use super::{RunError, Simulation};
use crate::Progress;
use crate::spec::*;
use crate::specs::*;
use leafspine_core::{Bytes, PacketMeta, Span, SwitchId, Time};
use leafspine_node::pfc::Pfc;
use leafspine_node::{Egress, GeneralPort, Limit, Record, Store};
use leafspine_schemes::Value;
use leafspine_schemes::rdma::HpccSettings;
use proptest::prelude::*;
use std::sync::Arc;

/// A run cut while packets are on wires and in queues.
fn cut(change: impl FnOnce(&mut Spec)) -> Simulation {
    let mut spec = base();
    spec.run.until = Some(Time(2_000_000_000));
    change(&mut spec);
    let mut simulation = Simulation::new(&spec).expect("a valid spec").checked();
    simulation.advance(&Progress::default()).expect("all adds up until here");
    assert!(simulation.driver.counters().in_network() > 0, "nothing is under way");
    simulation
}

/// What the check says of a run in which `damage` has been done.
fn said(mut simulation: Simulation, damage: impl FnOnce(&mut Simulation)) -> String {
    simulation.audit = Some(Box::new(Audit::default()));
    damage(&mut simulation);
    simulation.last_audit();
    simulation.fault.map_or_else(|| "nothing".to_owned(), |fault| fault.to_string())
}

fn general(spec: &mut Spec) {
    spec.run.ports = PortModel::General;
}

/// Calls `damage` with a general port that has something in its queue.
fn waiting(simulation: &mut Simulation, damage: impl FnOnce(&mut GeneralPort)) {
    let mut damage = Some(damage);
    for at in 0..simulation.graph.ports.len() as u32 {
        let port = simulation.driver.port_mut(&simulation.layout, at);
        if let Store::General(general) = &mut port.store
            && general.has_packets()
            && let Some(damage) = damage.take()
        {
            damage(general);
        }
    }
    assert!(damage.is_none(), "nothing waits");
}

/// What nodes have written down, all in the first part.
fn record(simulation: &mut Simulation, change: impl FnOnce(&mut Record)) {
    let mut change = Some(change);
    simulation.driver.each_record(&mut |record| {
        if let Some(change) = change.take() {
            change(record);
        }
    });
}

/// Breaks if a run in which all adds up is refused at its end.
#[test]
fn sound_runs_pass() {
    assert_eq!(said(cut(|_| {}), |_| {}), "nothing");
    assert_eq!(said(cut(general), |_| {}), "nothing");
}

/// Breaks if a packet that was sent and not counted, or counted and not sent, goes unnoticed.
#[test]
fn counters_are_checked() {
    let text = said(cut(|_| {}), |run| record(run, |r| r.counters.sent += 1));
    assert!(text.starts_with("of ") && text.contains(" packets sent and 0 injected, "), "{text}");
    assert!(text.contains("at 2ms, after ") && text.contains("please report it"), "{text}");
    let text = said(cut(|_| {}), |run| record(run, |r| r.counters.dropped[2] += 1));
    assert!(text.contains(" packets sent"), "{text}");
    let text = said(cut(|_| {}), |run| record(run, |r| r.counters.payload.delivered -= 1));
    assert!(text.contains(" bytes of payload sent"), "{text}");
    let text = said(cut(|_| {}), |run| record(run, |r| r.counters.bytes_delivered += 1));
    assert!(text.contains("applications have"), "{text}");
}

/// Breaks if a packet that is nowhere, or that is there twice, goes unnoticed.
#[test]
fn no_packet_is_lost_or_doubled() {
    let text = said(cut(general), |run| waiting(run, |general| drop(general.flush())));
    assert!(text.contains(" are in the network"), "{text}");
    let text = said(cut(|_| {}), |run| {
        let mut doubled: Option<(u32, PacketMeta)> = None;
        run.driver.each_on_link(&mut |port, packet| doubled = Some((port, *packet)));
        let (port, packet) = doubled.expect("a packet is on a link");
        let node = run.layout.owners[port as usize];
        let link = run.driver.port_mut(&run.layout, port).link;
        let (now, late) = (run.now, Time(run.now.0 + 1_000_000_000_000));
        run.driver.with(node, now, &mut |_, world| world.deliver(link, late, &packet));
    });
    assert!(text.contains(" are in the network"), "{text}");
}

/// Breaks if a port's count of packets or bytes may drift from its queue, or if a queue that nobody
/// will serve goes unnoticed.
#[test]
fn backlogs_are_checked() {
    let text = said(cut(general), |run| waiting(run, |general| general.miscount(1, 0)));
    assert!(text.contains("the port counts "), "{text}");
    assert!(text.contains("leaf") || text.contains("host"), "{text}");
    let text = said(cut(general), |run| waiting(run, |general| general.miscount(0, 1500)));
    assert!(text.contains("the port counts "), "{text}");
    let text = said(cut(general), |run| waiting(run, |general| general.wake_pending = false));
    assert!(text.contains("nothing will send them"), "{text}");
}

/// Breaks if a shared buffer's count may drift from what waits at the switch's ports.
#[test]
fn shared_buffers_are_checked() {
    let shared = |spec: &mut Spec| {
        spec.switch.shared = Some(SharedBuffer { size: Bytes(1 << 20), alpha: 1.0 });
    };
    assert_eq!(said(cut(shared), |_| {}), "nothing");
    let text = said(cut(shared), |run| {
        let egress = &mut run.driver.switch_mut(SwitchId(0)).egress;
        egress.shared.as_mut().expect("a shared buffer").used += 40;
    });
    assert!(
        text.contains("shared buffer of 1048576 bytes") && text.contains("at leaf0 "),
        "{text}"
    );
}

/// Flow control among many senders.
fn controlled(spec: &mut Spec) {
    spec.switch.shared = Some(SharedBuffer { size: Bytes(1 << 20), alpha: 1.0 });
    spec.switch.pfc = Some(PfcSpec {
        lossless: 1,
        threshold: PfcThreshold::Static(Bytes(0)),
        reserve: Bytes(0),
        resume: Bytes(0),
        headroom: None,
        watchdog: None,
    });
}

/// The same, cut while some port stands still.
fn pausing() -> Simulation {
    cut(controlled)
}

/// Breaks if a pause that nobody asked for, or one that was asked for and has not begun, goes
/// unnoticed; or what came in by a port and is counted at another.
#[test]
fn pauses_are_checked() {
    assert_eq!(said(pausing(), |_| {}), "nothing");
    let told = |run: &mut Simulation, change: &mut dyn FnMut(&mut Pfc) -> bool| {
        let mut changed = false;
        for id in 0..run.graph.switches.len() as u16 {
            let egress = &mut run.driver.switch_mut(SwitchId(id)).egress;
            let mut pfc = egress.pfc().expect("flow control").clone();
            changed |= change(&mut pfc);
            egress.set_pfc(pfc);
        }
        assert!(changed, "nothing to change");
    };
    let text = said(pausing(), |run| {
        told(run, &mut |pfc| {
            let groups = pfc.ports.iter_mut().map(|port| &mut port.groups[0]);
            groups.filter(|group| group.announced).map(|group| group.announced = false).count() > 0
        });
    });
    assert!(text.contains("priorities [0] are paused, but "), "{text}");
    let text = said(pausing(), |run| {
        told(run, &mut |pfc| {
            let groups = pfc.ports.iter_mut().map(|port| &mut port.groups[0]);
            groups.filter(|group| !group.announced).map(|group| group.announced = true).count() > 0
        });
    });
    assert!(text.contains("told [0] to stop"), "{text}");
    let text = said(pausing(), |run| {
        told(run, &mut |pfc| {
            pfc.ports[0].groups[0].held.shared += 40;
            true
        });
    });
    assert!(text.contains("bytes wait that came in there"), "{text}");
    // One link that loses packets, frames perhaps among them, makes no other one unchecked.
    let text = said(
        cut(|spec| {
            controlled(spec);
            let loss = Some(0.01);
            spec.changes = vec![LinkChange { loss, ..change("leaf0-spine0", Span(1)) }];
        }),
        |run| {
            assert!(run.counters().lost > 0, "nothing is lost");
            told(run, &mut |pfc| {
                let groups = pfc.ports.iter_mut().map(|port| &mut port.groups[0]);
                let announced = groups.filter(|group| group.announced);
                announced.map(|group| group.announced = false).count() > 0
            });
        },
    );
    assert!(text.contains("priorities [0] are paused, but "), "{text}");
}

/// Breaks if a queue pair that has sent more than it was asked for, or telemetry of a packet that
/// is nowhere, goes unnoticed.
#[test]
fn credits_and_telemetry_are_checked() {
    let over_pairs = |control: PairControl, credits: Option<CreditSpec>| {
        cut(|spec| {
            let recovery = if credits.is_some() { Recovery::Each } else { Recovery::GoBackN };
            carry_by_pairs(spec, RoceSpec { control, credits, recovery, ..roce() });
        })
    };
    let credits = Some(CreditSpec { first: 15_000, share: 1.0 });
    let asked = || over_pairs(PairControl::LineRate, credits);
    assert_eq!(said(asked(), |_| {}), "nothing");
    let text = said(asked(), |run| {
        let sender = run.live_senders().next().expect("a flow is under way");
        run.driver.host_mut(&run.layout, sender.host()).miscount_credit(sender.slot());
    });
    assert!(text.contains("its queue pair has sent "), "{text}");
    let settings =
        HpccSettings { base_rtt: Span::from_micros(8), eta: 0.95, stages: 5, additive: 8 };
    let told = || over_pairs(PairControl::Hpcc(settings), None);
    assert_eq!(said(told(), |_| {}), "nothing");
    let text = said(told(), |run| {
        record(run, |r| r.telemetry.attach(&mut PacketMeta::default(), Vec::new()));
    });
    assert!(text.contains(" lists of telemetry are kept, for "), "{text}");
}

/// A run of which some moment is cut where `found` says that it has what a test looks for.
fn cut_where(change: impl Fn(&mut Spec), found: impl Fn(&mut Simulation) -> bool) -> Simulation {
    let at = |tenths: u64| {
        cut(|spec| {
            change(spec);
            spec.run.until = Some(Time(tenths * 100_000_000));
        })
    };
    let moments = (5..40).map(at);
    moments.into_iter().find_map(|mut run| found(&mut run).then_some(run)).expect("some moment")
}

/// ConWeave over queue pairs.
fn weaves(spec: &mut Spec) {
    spec.topology.kind = leaf_spine(2, 4, 8);
    carry_by_pairs(spec, RoceSpec { control: by_dcqcn(), classes: (1, 0), ..roce() });
    spec.balancer = scheme("conweave");
    spec.workloads = vec![fixed_flows(400, 300_000, 0.8)];
}

/// Breaks if a packet that a balancer keeps back may vanish.
#[test]
fn kept_packets_are_checked() {
    let keeper = |run: &mut Simulation| {
        let keeps = |egress: &Egress| egress.kept().is_some_and(|kept| kept.packets().count() > 0);
        let mut switches = (0..run.graph.switches.len() as u16).map(SwitchId);
        switches.find(|id| keeps(&run.driver.switch_mut(*id).egress))
    };
    let kept = || cut_where(weaves, |run| keeper(run).is_some());
    assert_eq!(said(kept(), |_| {}), "nothing");
    let text = said(kept(), |run| {
        let id = keeper(run).expect("a switch keeps some");
        let kept = run.driver.switch_mut(id).egress.kept_mut();
        assert!(kept.expect("a balancer that keeps packets").lose_one());
    });
    assert!(text.contains(" are in the network"), "{text}");
}

/// Breaks if nodes that are dealt out anew do not bring all of their packets along: what an audit finds at them,
/// one by one, is what they say is there. In queues, one or several; held back by ABQ, kept by ConWeave, waiting
/// for reassembly or on the way to a host's port.
#[test]
fn nodes_know_their_packets() {
    let several = |spec: &mut Spec| {
        general(spec);
        spec.switch.queues = 2;
    };
    let held = |spec: &mut Spec| spec.hold = Some(scheme("abq"));
    let sprayed = |spec: &mut Spec| {
        spec.topology.kind = leaf_spine(2, 4, 8);
        spec.workloads = vec![fixed_flows(400, 300_000, 0.8)];
        spec.balancer = scheme("drill");
        let SchemeSpec { name, params } = edge("presto");
        let params = params.with("reassemble", Value::Bool(true));
        let params = params.with("cell", Value::Bytes(Bytes(1)));
        spec.edge = Some(SchemeSpec { name, params });
    };
    let late = |spec: &mut Spec| spec.topology.host_jitter = Span::from_micros(5);
    type Case<'a> = (&'a str, &'a dyn Fn(&mut Spec));
    let cases: [Case<'_>; 6] = [
        ("Queue", &general),
        ("Queue", &several),
        ("Hold", &held),
        ("Kept", &weaves),
        ("Reassembly", &sprayed),
        ("Jitter", &late),
    ];
    for (place, change) in cases {
        let at = |run: &Simulation| {
            let (mut found, mut of_place) = (Vec::new(), 0);
            run.each_packet(&mut |packet, spot| {
                if !matches!(spot, Spot::Link(_)) {
                    found.push(format!("{packet:?}"));
                    of_place += usize::from(format!("{spot:?}").starts_with(place));
                }
            });
            found.sort();
            (found, of_place)
        };
        let mut run = cut_where(change, |run| at(run).1 > 0);
        let mut said = Vec::new();
        for node in 0..run.layout.nodes {
            run.driver.node_mut(node).each_packet(&mut |packet| said.push(format!("{packet:?}")));
        }
        said.sort();
        assert_eq!(at(&run).0, said, "{place}");
    }
}

/// Breaks if more headers may wait than their queue has room for, or if they are counted against the room
/// for data, or data against theirs.
#[test]
fn queues_of_headers_are_checked() {
    let trims = |spec: &mut Spec| {
        spec.topology.kind = TopologyKind::Star { hosts: 9 };
        carry_by_pairs(spec, RoceSpec { recovery: Recovery::Each, classes: (1, 0), ..roce() });
        let from: Vec<u16> = (0..8).collect();
        spec.workloads = vec![long_flows(8, 1_000_000, hosts(&from), hosts(&[8]))];
        let buffer = Bytes(100_000);
        trim_at(spec, 8, TrimSpec { class: 0, buffer, either: false, returns: false });
    };
    let waiting = |run: &mut Simulation| {
        let now = run.now;
        let port = &mut run.driver.switch_mut(SwitchId(0)).egress.ports[8];
        let general = port.store.general();
        let (all, headers) = (general.backlog(now).packets, general.queue(0, now).packets);
        (all - headers, headers)
    };
    let busy = || cut_where(trims, |run| waiting(run).0 > 1 && waiting(run).1 > 1);
    assert_eq!(said(busy(), |_| {}), "nothing");
    let text = said(busy(), |run| {
        let net = Arc::get_mut(&mut run.net).expect("nobody else looks");
        net.trim.as_mut().expect("switches trim").buffer = Bytes(1);
    });
    assert!(text.contains("more headers wait than their queue may have"), "{text}");
    let text = said(busy(), |run| {
        run.driver.switch_mut(SwitchId(0)).egress.ports[8].limit = Limit::packets(1);
    });
    let (data, _) = waiting(&mut busy());
    assert!(text.contains(&format!("{data} packets and ")), "{text}");
}

/// Breaks if a flow's count of its packets in the network may drift, or if its end is written down
/// before its last byte has come.
#[test]
fn flows_are_checked() {
    let text = said(cut(|_| {}), |run| {
        let sender = run.live_senders().next().expect("a flow is under way");
        let host = run.driver.host_mut(&run.layout, sender.host());
        host.sending[usize::from(sender.slot())].sent += 1;
    });
    assert!(text.contains("packets in the network, but"), "{text}");
    let text = said(cut(|_| {}), |run| {
        let sender = run.live_senders().next().expect("a flow is under way");
        let number = run.driver.sending(&run.layout, sender).number as usize;
        let ended = run.flows.table.fct_ps[number] != crate::UNFINISHED;
        run.flows.table.fct_ps[number] = if ended { crate::UNFINISHED } else { 5 };
    });
    assert!(text.contains("it has ") && text.contains("at flow "), "{text}");
}

/// Breaks if the check waits for the end of a run that goes on for long.
#[test]
fn faults_are_found_under_way() {
    let mut simulation = Simulation::new(&base()).expect("a valid spec").checked();
    record(&mut simulation, |record| record.counters.sent += 1);
    match simulation.advance(&Progress::default()) {
        Err(RunError::Fault(fault)) => assert!(fault.events < 1000, "{fault}"),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    /// Breaks if the check changes a run: same hops, same counts, with it and without.
    #[test]
    fn a_checked_run_is_the_same_run(seed in 0u64..1000, general in any::<bool>()) {
        let mut spec = base();
        spec.run.seed = seed;
        if general {
            spec.run.ports = PortModel::General;
        }
        let plain = Simulation::new(&spec).unwrap().run(&Progress::default()).unwrap();
        let checked = Simulation::new(&spec).unwrap().checked().run(&Progress::default()).unwrap();
        prop_assert_eq!(plain.trace_hash, checked.trace_hash);
        let counts = |o: &crate::Output| crate::Counters { peak_packets: 0, ..o.counters };
        prop_assert_eq!(counts(&plain), counts(&checked));
        prop_assert_eq!(plain.flows.fct_ps, checked.flows.fct_ps);
    }
}
