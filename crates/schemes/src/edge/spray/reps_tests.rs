//! REPS' rules, one by one; the numbers are those of the module.

use super::*;
use crate::testing::{FakeHost, control, data, stated};
use leafspine_core::{Ecn, Flags};

/// A sender of a connection, and a network that answers as the test says.
struct Bench {
    edge: Box<dyn HostEdge>,
    here: FakeHost,
    there: FakeHost,
}

impl Bench {
    /// With 65,536 values, so that a random one is none of the few that a test puts in.
    fn new(params: &[(&str, &str)]) -> Bench {
        let mut here = FakeHost::new(1_000);
        let edge = build(&stated(ENTRY.info.params, params), &here.env).unwrap();
        here.memory = vec![0; edge.needs().memory];
        Bench { edge, here, there: FakeHost::new(1_000) }
    }

    fn send(&mut self) -> u16 {
        let mut packet = data(0, 9, 1, 0);
        self.here.send(&mut *self.edge, &mut packet);
        packet.tag
    }

    fn sends(&mut self, count: usize) -> Vec<u16> {
        (0..count).map(|_| self.send()).collect()
    }

    /// Packets with these values come, some marked, and one ACK answers them.
    fn come(&mut self, packets: &[(u16, bool)]) {
        let mut ack = control(9, 0, 1, Flags::ACK);
        let edge = &mut self.edge;
        for (ev, marked) in packets {
            let ecn = if *marked { Ecn::Congested } else { Ecn::Capable };
            let mut packet = PacketMeta { tag: *ev, ecn, ..data(0, 9, 1, 0) };
            self.there.with(|flow, cx| edge.receiving(&mut packet, flow, cx));
        }
        self.there.with(|flow, cx| edge.replying(&mut ack, flow, cx));
        self.here.with(|flow, cx| edge.acked(&ack, None, flow, cx));
    }

    /// Each is answered by an ACK of its own, without a mark.
    fn clean(&mut self, values: &[u16]) {
        values.iter().for_each(|ev| self.come(&[(*ev, false)]));
    }

    fn lost(&mut self, timeout: bool) {
        let edge = &mut self.edge;
        self.here.with(|flow, cx| edge.lost(timeout, flow, cx));
    }
}

/// Values that no test puts in: below 100 are the tests' own.
fn random(values: &[u16]) -> bool {
    values.iter().all(|ev| *ev >= 100)
}

const NO_EXPLORING: &[(&str, &str)] = &[("explore", "0pkt"), ("freeze", "100us")];

/// Rule 1. Breaks if the first packets are fewer or more than asked for, or take what has come back.
#[test]
fn the_first_packets_explore() {
    let mut bench = Bench::new(&[("explore", "5pkt")]);
    bench.clean(&[1, 2, 3]);
    assert!(random(&bench.sends(5)));
    assert_eq!(bench.sends(3), [1, 2, 3]);
    // 1 Gb/s and 100 us are the reference that defaults are made for: 12,500 bytes.
    let mut bench = Bench::new(&[]);
    bench.clean(&[1]);
    let first = bench.sends(20).iter().position(|ev| *ev == 1);
    assert_eq!(first, Some(9), "a bandwidth-delay product of 9 packets of 1,500 bytes");
}

/// Rules 2, 4 and 5. Breaks if a value is taken twice, in another order than the oldest first, if the ninth does not
/// replace the first, or if a sender without a valid one takes an old one.
#[test]
fn unmarked_values_are_used_once_oldest_first() {
    let mut bench = Bench::new(NO_EXPLORING);
    assert!(random(&bench.sends(3)), "nothing has come back");
    bench.clean(&[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(bench.sends(4), [2, 3, 4, 5]);
    bench.clean(&[10]);
    assert_eq!(bench.sends(5), [6, 7, 8, 9, 10]);
    assert!(random(&bench.sends(5)));
    bench.clean(&[11]);
    assert_eq!(bench.send(), 11);
}

/// Rule 3. Breaks if a marked value is used again.
#[test]
fn marked_values_are_not_used_again() {
    let mut bench = Bench::new(NO_EXPLORING);
    bench.come(&[(1, true)]);
    bench.come(&[(2, false)]);
    bench.come(&[(3, true)]);
    assert_eq!(bench.send(), 2);
    assert!(random(&bench.sends(3)));
}

/// Rule 3. Breaks if the value of a packet that was trimmed is used again, or one that came before
/// it and is not yet told of is not.
#[test]
fn trimmed_values_are_not_used_again() {
    let mut bench = Bench::new(NO_EXPLORING);
    let mut nak = control(9, 0, 1, Flags::ACK);
    let header = PacketMeta { tag: 1, notes: PacketMeta::TRIMMED, ..data(0, 9, 1, 0) };
    let mut before = PacketMeta { tag: 2, ..data(0, 9, 1, 0) };
    let edge = &mut bench.edge;
    bench.there.with(|flow, cx| edge.receiving(&mut before, flow, cx));
    bench.there.with(|flow, cx| edge.trimmed(&header, flow, cx));
    bench.there.with(|flow, cx| edge.replying(&mut nak, flow, cx));
    bench.here.with(|flow, cx| edge.acked(&nak, None, flow, cx));
    assert!(random(&bench.sends(3)));
    bench.come(&[]);
    assert_eq!(bench.send(), 2);
}

/// Rules 6 and 7. Breaks if a NAK freezes, if a timeout does not, or if a frozen sender takes anything but the buffer's
/// values in turn.
#[test]
fn a_timeout_freezes() {
    let mut bench = Bench::new(NO_EXPLORING);
    bench.clean(&[1, 2, 3]);
    assert_eq!(bench.sends(3), [1, 2, 3]);
    bench.lost(false);
    assert!(random(&[bench.send()]));
    bench.lost(true);
    assert_eq!(bench.sends(7), [1, 2, 3, 1, 2, 3, 1]);
    let mut never = Bench::new(&[("explore", "0pkt"), ("freeze", "never")]);
    never.clean(&[1]);
    assert_eq!(never.send(), 1);
    never.lost(true);
    assert!(random(&never.sends(3)));
}

/// Rule 6. Breaks if a sender that explores is frozen by what it meets.
#[test]
fn who_explores_does_not_freeze() {
    let mut bench = Bench::new(&[("explore", "2pkt"), ("freeze", "100us")]);
    bench.clean(&[1]);
    bench.lost(true);
    assert!(random(&bench.sends(2)));
    assert_eq!(bench.send(), 1);
    assert!(random(&bench.sends(3)), "not frozen");
}

/// Rule 8. Breaks if a frozen sender ignores what comes back, or takes an old value before a valid one.
#[test]
fn a_frozen_sender_goes_on_to_learn() {
    let mut bench = Bench::new(NO_EXPLORING);
    bench.clean(&[1, 2]);
    bench.sends(2);
    bench.lost(true);
    assert_eq!(bench.sends(2), [1, 2]);
    bench.clean(&[3]);
    assert_eq!(bench.send(), 3);
    assert!([1, 2, 3].contains(&bench.send()));
}

/// Rule 9. Breaks if a sender thaws early, with a marked ACK, or by itself, if a second timeout
/// makes it longer, or if it does not explore after it.
#[test]
fn the_first_good_ack_after_the_time_thaws() {
    let mut bench = Bench::new(&[("explore", "2pkt"), ("freeze", "100us")]);
    bench.sends(2);
    bench.clean(&[1, 2]);
    bench.sends(2);
    bench.lost(true);
    bench.here.now += Span::from_micros(100);
    bench.lost(true);
    bench.clean(&[3]);
    assert_eq!(bench.sends(1), [3], "100 us have passed, not more");
    assert!(!random(&[bench.send()]), "still frozen");
    bench.here.now += Span(1);
    bench.come(&[(4, true)]);
    assert!(!random(&[bench.send()]), "a marked ACK does not thaw");
    bench.clean(&[5]);
    assert!(random(&bench.sends(2)), "explores");
    assert_eq!(bench.send(), 5);
    assert!(random(&bench.sends(2)), "thawed");
}

/// Rule 10. Breaks if an ACK for several packets tells of another than the last, if `carry` does
/// not tell of the last ones that were not marked, or if `reuse` is not the number of uses.
#[test]
fn acks_for_several_packets() {
    let several = [(1, false), (2, true), (3, false), (4, false)];
    let mut plain = Bench::new(NO_EXPLORING);
    plain.come(&several);
    assert_eq!(plain.send(), 4);
    assert!(random(&plain.sends(2)));
    let mut carry = Bench::new(&[("explore", "0pkt"), ("carry", "4")]);
    carry.come(&several);
    assert_eq!(carry.sends(3), [1, 3, 4]);
    assert!(random(&carry.sends(2)));
    let mut reuse = Bench::new(&[("explore", "0pkt"), ("reuse", "4")]);
    reuse.come(&several);
    assert_eq!(reuse.sends(4), [4; 4]);
    assert!(random(&reuse.sends(2)));
}
