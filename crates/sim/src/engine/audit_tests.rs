//! The check finds what does not add up: each test breaks one count in a run that has been cut.

use super::audit::Audit;
use super::{RunError, Simulation};
use crate::Progress;
use crate::calendar::{Class, Key};
use crate::port::Store;
use crate::spec::{PortModel, SharedBuffer, Spec};
use crate::specs::*;
use leafspine_core::{Bytes, Time};
use proptest::prelude::*;

/// A run cut while packets are on wires and in queues.
fn cut(change: impl FnOnce(&mut Spec)) -> Simulation {
    let mut spec = base();
    spec.run.until = Some(Time(2_000_000_000));
    change(&mut spec);
    let mut simulation = Simulation::new(&spec).expect("a valid spec").checked();
    simulation.advance(&Progress::default()).expect("the books are in order until here");
    assert!(simulation.pool.in_use() > 0, "nothing is under way");
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

/// A general port with something in its queue.
fn waiting(simulation: &mut Simulation) -> &mut crate::port::GeneralPort {
    let stores = simulation.ports.iter_mut().map(|port| &mut port.store);
    let generals = stores.filter_map(|store| match store {
        Store::General(general) => Some(general),
        Store::Fifo(_) => None,
    });
    generals.into_iter().find(|general| general.has_packets()).expect("something waits")
}

/// Breaks if a run whose books are in order is refused at its end.
#[test]
fn sound_books_pass() {
    assert_eq!(said(cut(|_| {}), |_| {}), "nothing");
    assert_eq!(said(cut(general), |_| {}), "nothing");
}

/// Breaks if a packet that was sent and not counted, or counted and not sent, goes unnoticed.
#[test]
fn counters_are_checked() {
    let text = said(cut(|_| {}), |run| run.counters.sent += 1);
    assert!(text.starts_with("of ") && text.contains(" packets sent and 0 injected, "), "{text}");
    assert!(text.contains("at 2ms, after ") && text.contains("please report it"), "{text}");
    let text = said(cut(|_| {}), |run| run.counters.dropped[2] += 1);
    assert!(text.contains(" packets sent"), "{text}");
    let text = said(cut(|_| {}), |run| run.counters.payload.delivered -= 1);
    assert!(text.contains(" bytes of payload sent"), "{text}");
    let text = said(cut(|_| {}), |run| run.counters.bytes_delivered += 1);
    assert!(text.contains("applications have"), "{text}");
}

/// Breaks if a packet that nobody has, or that two have, goes unnoticed.
#[test]
fn every_packet_is_in_one_place() {
    let text = said(cut(|_| {}), |run| {
        let handle = run.pool.take();
        run.pool[handle] = run.pool[0];
        run.counters.sent += 1;
        run.counters.payload.sent += u64::from(run.pool[handle].payload);
    });
    assert!(text.contains("nowhere"), "{text}");
    let text = said(cut(|_| {}), |run| {
        let key = Key::new(Class::Arrival, 3);
        let event = run.calendar.events().find(|event| event.key().is(Class::Arrival));
        run.calendar.push(run.now, key, event.expect("a packet is on a wire").item());
    });
    assert!(text.contains("in two places"), "{text}");
    let text = said(cut(general), |run| drop(waiting(run).flush()));
    assert!(text.contains("nowhere"), "{text}");
}

/// Breaks if a port's count of packets or bytes may drift from its queue, or if a queue that nobody
/// will serve goes unnoticed.
#[test]
fn backlogs_are_checked() {
    let text = said(cut(general), |run| waiting(run).miscount(1, 0));
    assert!(text.contains("the port counts "), "{text}");
    assert!(text.contains("leaf") || text.contains("host"), "{text}");
    let text = said(cut(general), |run| waiting(run).miscount(0, 1500));
    assert!(text.contains("the port counts "), "{text}");
    let text = said(cut(general), |run| waiting(run).wake_pending = false);
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
        run.switches[0].shared.as_mut().expect("a shared buffer").used += 40;
    });
    assert!(
        text.contains("shared buffer of 1048576 bytes") && text.contains("at leaf0 "),
        "{text}"
    );
}

/// Breaks if a flow's count of its packets in the network may drift, or if its end is written down
/// before its last byte has come.
#[test]
fn flows_are_checked() {
    let live = |run: &Simulation| {
        run.endpoints.places.iter().position(|place| place.live).expect("a flow is under way")
    };
    let text = said(cut(|_| {}), |run| {
        let slot = live(run);
        run.endpoints.places[slot].in_flight += 1;
    });
    assert!(text.contains("packets in the network, but"), "{text}");
    let text = said(cut(|_| {}), |run| {
        let slot = live(run);
        let number = run.endpoints.places[slot].number;
        let ended = run.table.fct_ps[number as usize] != crate::UNFINISHED;
        run.table.fct_ps[number as usize] = if ended { crate::UNFINISHED } else { 5 };
    });
    assert!(text.contains("it has ") && text.contains("at flow "), "{text}");
}

/// Breaks if the check waits for the end of a run that goes on for long.
#[test]
fn faults_are_found_under_way() {
    let mut simulation = Simulation::new(&base()).expect("a valid spec").checked();
    simulation.counters.sent += 1;
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
        prop_assert_eq!(plain.counters, checked.counters);
        prop_assert_eq!(plain.flows.fct_ps, checked.flows.fct_ps);
    }
}
