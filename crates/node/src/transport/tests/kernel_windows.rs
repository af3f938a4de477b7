//! Windows as Linux's kernel counts, cuts and gives them back. Segments of 1000 bytes; all of a
//! window leave at 0 and a round trip takes 100 us.

use super::flow::{Flow, NONE, kernel, us};
use super::pipe::{Pipe, losing, spec, with_param};
use crate::spec::{Stack, TransportSpec};
use leafspine_core::{Flags, PacketMeta, Span};
use leafspine_schemes::cc::{CongestionControl, Control};
use leafspine_schemes::{Amount, Value};

/// Breaks if what was SACKed counts again when it is acknowledged, if nothing does that is SACKed
/// although packets are known to come out of order by more than three, or if something does before.
///
/// In slow start. After 0 come 8 and 9: the window stays. Then 1, eight segments late, and 7; at
/// last 2 to 6, and with them all ten are acknowledged. By the RFC eight are with that ACK.
#[test]
fn windows_grow_by_what_is_delivered() {
    let windows = |whole_windows| {
        let stack = Stack { whole_windows, rack: true, ..Stack::default() };
        let limit = Value::Int(100);
        let spec =
            with_param(TransportSpec { stack, ..spec("newreno") }, "slow_start_limit", limit);
        let mut flow = Flow::of(&spec, 1000);
        let acks: [(u32, (u32, u32)); 5] =
            [(1, (0, 0)), (1, (8, 10)), (2, (8, 10)), (2, (7, 10)), (10, (0, 0))];
        let mut at = 100;
        acks.map(|(una, sacked)| {
            flow.ack(at, una, &[sacked], NONE);
            at += 1;
            flow.window().0
        })
    };
    assert_eq!(windows(true), [11, 11, 12, 13, 18]);
    assert_eq!(windows(false), [11, 11, 12, 12, 20]);
}

/// Breaks if a segment that came twice does not count as delivered along with what is acknowledged,
/// or if telling of it alone lets the window grow.
#[test]
fn what_came_twice_is_delivered() {
    let windows = |whole_windows| {
        let stack = Stack { whole_windows, rack: true, ..Stack::default() };
        let spec = TransportSpec { stack, ..spec("newreno") };
        let mut flow = Flow::of(&with_param(spec, "slow_start_limit", Value::Int(100)), 1000);
        let acks = [(1, (0, 0)), (2, (0, 1)), (2, (0, 1)), (3, (0, 0))];
        acks.map(|(una, twice)| {
            flow.ack(100, una, &[twice], NONE);
            flow.window().0
        })
    };
    assert_eq!(windows(true), [11, 13, 13, 14]);
    assert_eq!(windows(false), [11, 12, 12, 13]);
}

/// Breaks if the share of a reduction does not count what came twice. From 21 to 10: three that
/// come let two go, the fourth none, the fifth the third; the fourth is the fifth as well where the
/// ACK tells of a second copy of 0.
#[test]
fn what_came_twice_lets_others_go() {
    let sent = |twice: bool| {
        let mut flow = Flow::begun("newreno", 20, kernel());
        flow.ack(99, 1, &[], NONE);
        assert_eq!(flow.ack(100, 1, &[(2, 5)], NONE).len(), 2);
        let blocks: &[(u32, u32)] = if twice { &[(0, 1), (2, 6)] } else { &[(2, 6)] };
        flow.ack(101, 1, blocks, NONE).len()
    };
    assert_eq!([sent(true), sent(false)], [1, 0]);
}

/// Breaks if alpha does not count a segment that came twice, marked or not: with 1, which no mark is
/// on, comes a marked copy of 0, in an ACK of its own. Half is marked: of 1,024 parts 960 - 60 + 64 / 2.
#[test]
fn alpha_counts_what_came_twice() {
    let mut flow = Flow::begun("dctcp", 10, kernel());
    let mut after = |una, twice, flags| {
        flow.ack(100, una, &[twice], flags);
        match flow.sender.control() {
            Control::Dctcp(control) => control.alpha() * 1024.0,
            _ => unreachable!("DCTCP"),
        }
    };
    assert_eq!(after(1, (0, 0), NONE), 960.0);
    assert_eq!(after(1, (0, 1), Flags::ECE), 960.0);
    assert_eq!(after(10, (0, 0), NONE), 906.0);
}

/// Breaks if a D-SACK of what was sent again, is SACKed and lies beyond the acknowledged does not
/// tell of packets out of order, or if one of what was not sent again does: 0 and 2 are sent again,
/// 2 comes, and its first transmission; 4 was sent once.
#[test]
fn a_late_copy_is_out_of_order() {
    let by = |twice: (u32, u32)| {
        let mut flow = Flow::begun("newreno", 20, kernel());
        let mut sent = flow.ack(100, 0, &[(1, 2), (3, 8)], NONE);
        sent.extend(flow.ack(101, 0, &[(8, 12)], NONE));
        assert_eq!(sent[..2], [0, 2]);
        flow.ack(201, 0, &[(1, 12)], NONE);
        flow.ack(202, 0, &[twice, (1, 12)], NONE);
        flow.extra().rack.reordered_by()
    };
    assert_eq!([by((2, 3)), by((4, 5))], [10, 0]);
}

/// Breaks if a loss that comes with a mark is not the loss alone: the window of 20 is halved once.
/// Cut for the mark first, the window of the moment would be the 15 that are outstanding, and half
/// of it 7.
#[test]
fn a_loss_comes_before_a_mark() {
    let mut flow = Flow::begun("dctcp", 20, Stack { rack_any_rtt: false, ..kernel() });
    assert_eq!(flow.ack(100, 5, &[(8, 12)], Flags::ECE)[0], 5);
    assert_eq!(flow.window(), (10, 10));
}

/// Breaks if a loss while a mark's reduction is under way halves something else than the window of that moment.
///
/// Of 20 segments the first is marked: 10 are to be left, and the ACK lets one go. With 2 and 3
/// come none and one: 18 are in flight. Then 7 to 9 are SACKed: before that the window was 18, half
/// of it is 9.
#[test]
fn a_loss_halves_what_a_mark_has_left_by_then() {
    let mut flow = Flow::begun("dctcp", 20, kernel());
    assert_eq!(flow.ack(100, 1, &[], Flags::ECE).len(), 1);
    assert_eq!(flow.window(), (10, 10));
    assert_eq!(flow.ack(101, 2, &[], NONE).len(), 0);
    assert_eq!(flow.ack(102, 3, &[], NONE).len(), 1);
    flow.ack(103, 3, &[(6, 9)], NONE);
    assert_eq!(flow.window(), (9, 9));
}

/// Breaks if that window is taken for what is outstanding, part of which has come. Of 11 segments 4
/// comes with a mark: six are to be left, and one may leave; with 5 another. That is 11 in the
/// network, and half of it are 5; 13 are outstanding.
#[test]
fn what_has_come_is_not_in_the_window() {
    let mut flow = Flow::begun("dctcp", 10, kernel());
    flow.ack(99, 1, &[], NONE);
    let marked = [5, 6].map(|end| flow.ack(100, 1, &[(4, end)], Flags::ECE).len());
    assert_eq!((marked, flow.window()), ([1, 1], (6, 6)));
    flow.ack(101, 1, &[(4, 7)], Flags::ECE);
    assert_eq!(flow.window(), (5, 5));
}

/// Breaks if a timeout while a mark's reduction is under way reduces the threshold a second time:
/// with the ninth ACK 16 are outstanding, of which half would be 8.
#[test]
fn a_timeout_after_a_mark_reduces_once() {
    let mut flow = Flow::begun("dctcp", 20, kernel());
    flow.ack(100, 1, &[], Flags::ECE);
    (2..=9).for_each(|una| drop(flow.ack(100 + u64::from(una), una, &[], NONE)));
    flow.time_out();
    assert_eq!(flow.window().1, 10);
}

/// Breaks if a mark on an ACK of nothing new takes away what the window has left: nine of eleven
/// are in the network, and a train of two waits.
#[test]
fn a_mark_alone_leaves_what_may_be_sent() {
    let mut flow = Flow::begun("dctcp", 10, Stack { gso: true, ..kernel() });
    assert_eq!(flow.ack(166, 1, &[], NONE), []);
    flow.ack(167, 1, &[], Flags::ECE);
    let allowance = flow.extra().prr.allowance();
    assert_eq!((flow.window(), allowance), ((6, 6), 2_000));
}

/// Breaks if a timeout takes the window to one segment though others may still arrive: Linux leaves
/// what they take, and one more.
///
/// 4 to 6 come, 1 to 3 count as lost, and 1 is sent again. 7 and 8 take 10.05 ms and let 2 go. When
/// the timer fires at 10.1 ms, 1 and 3 are lost and so is 9, as late as they were; 2, and 10 and
/// 11, which left at 100 us, may still come.
#[test]
fn a_timeout_leaves_room_for_what_is_not_given_up() {
    let mut flow = Flow::begun("newreno", 10, kernel());
    flow.ack(100, 1, &[], NONE);
    assert_eq!(flow.ack(110, 1, &[(4, 7)], NONE), [1]);
    assert_eq!(flow.ack(10_050, 1, &[(4, 9)], NONE), [2]);
    assert_eq!(flow.sender.deadline(), us(10_100));
    flow.time_out();
    assert_eq!(flow.window(), (4, 5));
}

/// Breaks if a loss that a probe has repaired halves DCTCP's window, which Linux cuts by alpha
/// then: of 9 segments with 0.28 one.
#[test]
fn a_probe_reduces_by_alpha() {
    let threshold = |whole_windows| {
        let stack = Stack { tlp: Some(Span(0)), rack: true, whole_windows, ..Stack::default() };
        let spec = TransportSpec {
            init_cwnd: Amount::Packets(9),
            max_cwnd: Some(Amount::Packets(1)),
            stack,
            ..spec("dctcp")
        };
        let spec = with_param(spec, "initial_alpha", Value::Float(0.3));
        let mut pipe = Pipe::new(&spec, 5_000, losing(&[(1, 1)]));
        pipe.run(us(1_000_000));
        assert_eq!((pipe.sender.probes(), pipe.sender.timeouts()), (1, 0), "{}", pipe.trace);
        pipe.sender.control().ssthresh() / 1000
    };
    assert_eq!([threshold(true), threshold(false)], [8, 2]);
}

/// A recovery of Reno's with a window of 20 that was in vain: 3, 4 and 5 come first, 0 and 1 are
/// sent again, and then their first transmissions have come. `flags`: of the ACKs that tell.
fn in_vain(flags: Flags) -> Flow {
    let mut flow = Flow::begun("newreno", 20, kernel());
    assert_eq!(flow.ack(100, 0, &[(3, 6)], NONE), [0, 1]);
    assert_eq!(flow.window(), (10, 10));
    assert_eq!(flow.ack(110, 1, &[(3, 6)], flags), []);
    assert_eq!(flow.sender.undos(), 0, "1 may still be needed");
    flow.ack(120, 2, &[(3, 6)], flags);
    assert_eq!(flow.sender.undos(), 1);
    flow
}

/// Breaks if the next mark after a recovery that was in vain reduces nothing, since segments of
/// that recovery are outstanding, or if the data that follows the undoing tells of a reduction
/// (CWR).
#[test]
fn a_mark_may_follow_what_was_undone() {
    let mut flow = in_vain(NONE);
    assert_eq!((flow.window(), flow.cwr), ((20, u32::MAX / 1000), false));
    flow.ack(130, 3, &[(3, 6)], Flags::ECE);
    assert_eq!(flow.window(), (10, 10));
}

/// Breaks if a window that is not given back, since the ACKs have a mark, is what the recovery was
/// to come to and not what it had come to, or if the mark reduces it at once. With the ACK before
/// 15 were in flight: 20 without 0, the three that came and 2, which counted as lost.
#[test]
fn a_window_that_is_not_given_back_stays_where_it_is() {
    assert_eq!(in_vain(Flags::ECE).window(), (15, 10));
}

/// Breaks if the ACK that ends a recovery lets nothing grow: it delivers 17 segments, more than the window of 10.
#[test]
fn the_ack_that_ends_a_recovery_counts() {
    let mut flow = Flow::begun("newreno", 20, kernel());
    assert_eq!(flow.ack(100, 0, &[(1, 4)], NONE)[0], 0);
    assert_eq!(flow.window(), (10, 10));
    let end = flow.sender.high;
    flow.ack_of(100, 200, end, &[], NONE);
    assert_eq!(flow.window(), (11, 10));
}

/// Breaks if a D-SACK for a recovery's two retransmissions gives the window back and leaves the
/// recovery, though 2 still counts as lost: Linux begins another one with the same ACK.
#[test]
fn what_is_still_lost_begins_another_recovery() {
    let mut flow = Flow::begun("newreno", 20, kernel());
    assert_eq!(flow.ack(100, 0, &[(3, 6)], NONE), [0, 1]);
    assert_eq!(flow.window(), (10, 10));
    flow.ack(110, 2, &[(0, 2), (3, 6)], NONE);
    assert_eq!((flow.sender.undos(), flow.window()), (1, (10, 10)));
}

/// Breaks if a reduction is undone that a mark's has replaced.
#[test]
fn a_mark_ends_what_may_be_undone() {
    let mut flow = Flow::begun("newreno", 10, kernel());
    flow.ack(100, 0, &[(3, 6)], NONE);
    let episode = |flow: &Flow| flow.sender.extra.as_ref().is_some_and(|x| x.episode.is_some());
    flow.ack_of(100, 200, 10, &[], NONE);
    assert!(episode(&flow), "a D-SACK could still tell that it was in vain");
    flow.ack_of(100, 210, 11, &[], Flags::ECE);
    assert!(!episode(&flow));
}

/// Breaks if a mark in slow start lets the window grow first, cuts it by what was known before its
/// ACK, or shares the reduction out in bytes; or if a loss then halves what the mark was to leave.
///
/// As a kernel was seen to do it, one of eighty senders to one: the first mark makes alpha one and
/// 5 of 10. With n of 10 that have come, n / 2 may have been sent, rounded up: one with the first,
/// third and fifth, which trains put off: two leave with the fourth ACK and one with the sixth.
/// Then 7 to 9 are SACKed, and the window of that time, seven, becomes three.
#[test]
fn a_mark_in_slow_start_by_hand() {
    let stack = Stack {
        mark_prr: true,
        gso: true,
        rack: true,
        whole_windows: true,
        push_acks: true,
        ..Stack::default()
    };
    let spec = TransportSpec { ecn: Some(true), stack, ..spec("dctcp") };
    let mut flow = Flow::of(&spec, 22);
    let times = [170, 360, 680, 1_085, 1_640, 2_260];
    let mut una = 0;
    let sent = times.map(|at| {
        una += 1;
        flow.ack(at, una, &[], Flags::ECE).len()
    });
    assert_eq!(sent, [0, 0, 0, 2, 0, 1]);
    flow.ack(2_300, 6, &[(7, 10)], NONE);
    assert_eq!(flow.window(), (3, 3));
}

/// Breaks if a mark with which nothing is outstanding begins a reduction that is shared out:
/// nothing would be let go, and no ACK would come that ends it. All ten are acknowledged, and a
/// second ACK comes before anything leaves.
#[test]
fn a_mark_needs_something_outstanding() {
    let mut flow = Flow::begun("dctcp", 10, kernel());
    let ack = PacketMeta { seq: 10, size: 40, flags: Flags::ACK, ..PacketMeta::default() };
    flow.sender.on_packet(&flow.cfg, &ack, us(100));
    assert_eq!(flow.ack(101, 10, &[], Flags::ECE).len(), 11);
}
