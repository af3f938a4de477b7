//! Tests of large routing between two leaves (AQ-CAR §II-B2c).

use super::fabric::*;
use super::header::Feedback;
use super::table::PortSet;
use crate::Value;
use leafspine_core::Span;

/// A fabric of four spines in which large flows 1 and 2 take `spine`, and flow 2 is asked to move.
fn shared() -> (Fabric, u16) {
    let mut fabric = Fabric::new(4);
    for other in 1..4 {
        fabric.source.fill(HOSTS + other, 0, 16);
        fabric.source.fill(HOSTS + other, 2, 16);
    }
    assert_eq!((fabric.open(1).1, fabric.open(2).1), (0, 0));
    for sport in [1, 2] {
        assert_eq!(fabric.send(staged(sport, 5)), 0);
    }
    (fabric, 0)
}

/// Breaks if the flow that is asked does not move, moves to a port with large flows, or the other moves,
/// too ("the source leaf reroutes the flow to a new path that has no large flows").
#[test]
fn one_of_two_large_flows_moves_to_a_free_port() {
    let (mut fabric, spine) = shared();
    // A large flow of another leaf takes spine 1; of the free two, spine 3 is less congested here.
    fabric
        .deliver(leafspine_core::PacketMeta { class: 5, ..crate::testing::data(12, DST, 9, 0) }, 1);
    fabric.source.fill(HOSTS + 3, 2, 0);
    fabric.source.fill(HOSTS + 1, 2, 0);
    assert_eq!(fabric.reply(ack(1)), Feedback::None);
    assert_eq!(fabric.reply(ack(2)), Feedback::Free(PortSet(0b1100)));
    assert_eq!(fabric.send(staged(2, 5)), 3);
    assert_eq!(fabric.send(staged(1, 5)), spine);
    // It has moved: nothing more is asked of either, and they stay.
    for _ in 0..200 {
        fabric.wait(Span::from_micros(100));
        assert_eq!((fabric.reply(ack(1)), fabric.reply(ack(2))), (Feedback::None, Feedback::None));
        assert_eq!((fabric.send(staged(1, 5)), fabric.send(staged(2, 5))), (0, 3));
    }
}

/// Breaks if ACKs from before the move move the flow again.
#[test]
fn requests_from_before_a_move_are_not_heeded() {
    let (mut fabric, _) = shared();
    fabric.reply(ack(2));
    let mut old = ack(2);
    fabric.destination.pick(&mut old);
    let second = fabric.send(staged(2, 5));
    assert_ne!(second, 0);
    fabric.source.arrived(&mut old, HOSTS);
    assert_eq!(fabric.send(staged(2, 5)), second);
}

/// Breaks if a flow moves although none of the named ports is among its paths.
#[test]
fn without_a_live_free_port_the_flow_stays() {
    let (mut fabric, spine) = shared();
    fabric.source.place.live.truncate(1);
    assert_ne!(fabric.reply(ack(2)), Feedback::None);
    assert_eq!(fabric.send(staged(2, 5)), spine);
}

/// Breaks if a large flow that shares its port with one of another source leaf does not move where any two are
/// to be parted ("two large flows share the same port"), or does where both must be of one leaf.
#[test]
fn flows_of_different_leaves_are_parted_by_a_parameter() {
    for (word, moves) in [("any", true), ("one-leaf", false)] {
        let params = first_read().with("large_sharing", Value::Word(word.to_owned()));
        let mut fabric = Fabric::with(4, &params);
        let (_, spine) = fabric.open(1);
        let other = crate::testing::data(12, DST, 9, 0);
        fabric.deliver(leafspine_core::PacketMeta { class: 5, ..other }, spine);
        assert_eq!(fabric.send(staged(1, 5)), spine);
        let free = PortSet(0b1111 & !(1 << spine));
        let expected = if moves { Feedback::Free(free) } else { Feedback::None };
        assert_eq!(fabric.reply(ack(1)), expected, "{word}");
        assert_eq!(fabric.send(staged(1, 5)) != spine, moves, "{word}");
    }
}

/// Breaks if `large_rerouting = false` asks or moves.
#[test]
fn it_can_be_turned_off() {
    let mut fabric = Fabric::with(4, &first_read().with("large_rerouting", Value::Bool(false)));
    for sport in [1, 2, 1, 2] {
        fabric.deliver(staged(sport, 5), 0);
    }
    assert_eq!((fabric.reply(ack(1)), fabric.reply(ack(2))), (Feedback::None, Feedback::None));
}
