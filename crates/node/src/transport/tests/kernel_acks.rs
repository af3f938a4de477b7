//! What Linux's kernel makes of an ACK: round trips, what is lost, and what an older ACK than the
//! last still tells. Each was seen in packets of kernels first, sprayed over two ways of which one
//! is longer (`validation/linux/reordering.toml`).

use super::flow::{Flow, NONE, kernel, us};
use super::pipe::{spec, with_param};
use crate::spec::{Stack, TransportSpec};
use crate::transport::sender::Phase;
use leafspine_core::{Flags, PacketMeta, Span};
use leafspine_schemes::{Amount, Value};

/// [`kernel`], with its timers.
fn timed() -> Stack {
    Stack { kernel_timers: true, ..kernel() }
}

/// The smoothed round trip, to the next microsecond.
fn srtt_us(flow: &Flow) -> u64 {
    (flow.sender.rtt.srtt().0 + 500_000) / 1_000_000
}

/// Breaks if an ACK that only SACKs measures no round trip: after one of 100 us comes one of 140,
/// of which the smoothed one takes an eighth.
#[test]
fn what_is_sacked_is_timed() {
    let srtt = |stack| {
        let mut flow = Flow::begun("newreno", 10, stack);
        flow.ack(100, 1, &[], NONE);
        flow.ack(140, 1, &[(2, 3)], NONE);
        srtt_us(&flow)
    };
    assert_eq!([srtt(timed()), srtt(kernel())], [105, 100]);
}

/// Breaks if an ACK of what was sent twice is not timed by what it SACKs, or without that not in
/// whole ticks of a millisecond, though it acknowledges others.
///
/// 100 us is the first round trip; then an eighth of 110 us, 10 having been sent at 100, or of
/// 1,000 us. For 4 and 5 it would be of 210.
#[test]
fn a_sack_times_what_was_sent_twice() {
    let srtt = |sacked: &[(u32, u32)]| {
        let mut flow = Flow::begun("newreno", 10, timed());
        assert_eq!(flow.ack(100, 0, &[(1, 4)], NONE)[..2], [0, 10]);
        flow.ack_of(100, 210, 6, sacked, NONE);
        srtt_us(&flow)
    };
    assert_eq!([srtt(&[(10, 11)]), srtt(&[])], [101, 213]);
}

/// Breaks if the retransmission timer does not begin anew with an ACK that SACKs what was sent
/// before the first segment was, that last time, or if it does with one of what was sent then. It
/// counts in milliseconds.
#[test]
fn what_is_sacked_restarts_the_timer() {
    let mut flow = Flow::begun("newreno", 10, timed());
    assert_eq!(flow.ack(100, 0, &[(1, 4)], NONE)[..2], [0, 10]);
    let fires = |flow: &Flow| flow.extra().rto_at.0 / 1_000_000_000;
    let first = fires(&flow);
    flow.ack(2_150, 0, &[(1, 5)], NONE);
    let second = fires(&flow);
    flow.ack_of(100, 4_210, 0, &[(10, 11), (1, 5)], NONE);
    assert!(second >= first + 2, "{first} {second}");
    assert_eq!(fires(&flow), second);
}

/// Breaks if it is not the first segment acknowledged that gives the smoothed round trip, whatever
/// the ACK echoes, and the last one the shortest: 1 was sent at 0 and 10 at 100 us; both are
/// acknowledged at 200.
#[test]
fn the_first_is_smoothed_and_the_last_may_be_the_shortest() {
    let mut flow = Flow::begun("newreno", 10, timed());
    flow.ack(120, 1, &[], NONE);
    flow.ack_of(120, 200, 11, &[], NONE);
    assert_eq!(srtt_us(&flow), 130);
    assert_eq!(flow.extra().rack.min_rtt(), Span::from_micros(80));
}

/// Breaks if the handshake's round trip, which no data waits in, is not among those of which the shortest is taken.
#[test]
fn the_handshake_may_be_the_shortest() {
    let spec = TransportSpec { handshake: true, stack: timed(), ..spec("newreno") };
    let mut flow = Flow::of(&spec, 1000);
    let answer = PacketMeta { flags: Flags::SYN.with(Flags::ACK), ..PacketMeta::default() };
    flow.sender.on_packet(&flow.cfg, &answer, us(60));
    assert!(!flow.leaving(us(60)).is_empty());
    flow.ack_of(60, 160, 1, &[], NONE);
    assert_eq!(flow.extra().rack.min_rtt(), Span::from_micros(60));
}

/// Breaks if what an ACK SACKs that comes after a later one is not known.
///
/// Of 20 segments two are acknowledged, and three more leave. The older ACK SACKs 5 to 7, so that 2
/// to 4 are lost: 15 of 21 are in the network, and six may leave at once, since nothing is reduced
/// before the next ACK.
#[test]
fn an_old_ack_tells_what_has_come() {
    let sent = |rack_any_rtt| {
        let mut flow = Flow::begun("newreno", 20, Stack { rack_any_rtt, ..kernel() });
        assert_eq!(flow.ack(100, 2, &[], NONE), [20, 21, 22]);
        flow.ack(110, 1, &[(5, 8)], NONE)
    };
    assert_eq!([sent(true), sent(false)], [vec![2, 3, 4, 23, 24, 25], vec![]]);
}

/// Breaks if in a recovery an older ACK does not let as much go as has left the network, or if it
/// counts for the share. Of 21 segments three that come let two go, and the fourth none: only an
/// ACK that is not old reduces.
#[test]
fn an_old_ack_lets_go_what_has_left() {
    let sent = |una, sacked| {
        let mut flow = Flow::begun("newreno", 20, kernel());
        flow.ack(99, 2, &[], NONE);
        assert_eq!(flow.ack(100, 2, &[(3, 6)], NONE), [2, 23]);
        flow.ack(101, una, &[sacked], NONE)
    };
    assert_eq!([sent(1, (6, 7)), sent(2, (3, 7))], [vec![24], vec![]]);
}

/// Breaks if in a mark's reduction an older ACK lets more go than has left the network: one
/// segment, and none for telling of it again.
#[test]
fn an_old_ack_in_a_marks_reduction() {
    let mut flow = Flow::begun("dctcp", 20, kernel());
    flow.ack(99, 2, &[], NONE);
    flow.ack(100, 3, &[], Flags::ECE);
    assert_eq!(flow.window(), (12, 12));
    let mut sent = || flow.ack(101, 2, &[(6, 7)], NONE).len();
    assert_eq!([sent(), sent()], [1, 0]);
}

/// Breaks if an ACK that delivers nothing lets segments be lost by the time that has passed: the timer is there for it.
#[test]
fn nothing_is_lost_without_news() {
    let sends_again = |rack_any_rtt| {
        let mut flow = Flow::begun("newreno", 10, Stack { rack_any_rtt, ..timed() });
        flow.ack(100, 0, &[(1, 2)], NONE);
        let waits_until = flow.extra().early;
        let sent = flow.ack(130, 0, &[(1, 2)], NONE);
        let waits = flow.extra().early;
        (sent.contains(&0), waits == waits_until)
    };
    assert_eq!([sends_again(true), sends_again(false)], [(false, true), (true, false)]);
}

/// Breaks if the timer for what is late finds nothing: 1 comes, 0 is late by more than a quarter of
/// a round trip, and nothing else tells of it.
#[test]
fn the_timer_looks_without_news() {
    let mut flow = Flow::begun("newreno", 10, timed());
    flow.ack(100, 0, &[(1, 2)], NONE);
    let due = flow.sender.deadline();
    assert!(due < flow.extra().rto_at, "the early one");
    flow.sender.on_timer(&flow.cfg, due);
    assert_eq!(flow.leaving(due)[0], 0);
}

/// Breaks if a reduction that a D-SACK undoes does not ask for another look at what is lost, or
/// does not let a wider window last. After the recovery of 0, 21 and 22 are late; that 0 came twice
/// is told of when nothing else is.
#[test]
fn undoing_looks_for_losses() {
    let sent = |blocks: &[(u32, u32)]| {
        let mut flow = Flow::begun("newreno", 20, kernel());
        flow.ack(100, 0, &[(1, 4)], NONE);
        flow.ack_of(100, 200, 21, &[], NONE);
        flow.ack_of(200, 300, 21, &[(23, 24)], NONE);
        let sent = flow.ack_of(200, 400, 21, blocks, NONE);
        (sent.first() == Some(&21), flow.extra().rack.persist)
    };
    assert_eq!(sent(&[(23, 24)]), (false, 0));
    assert_eq!(sent(&[(0, 1), (23, 24)]), (true, 1));
}

/// Breaks if a segment that was given up and sent again does not count as lost when a recovery
/// ends: another begins, and halves once more.
///
/// 0 is lost; 10, which is sent in the recovery, is as well, and is under way again when all before it is acknowledged.
#[test]
fn what_was_sent_again_begins_the_next_recovery() {
    let window = |rack_any_rtt| {
        let mut flow = Flow::begun("newreno", 10, Stack { rack_any_rtt, ..kernel() });
        let mut sent = flow.ack(100, 0, &[(1, 8)], NONE);
        sent.extend(flow.ack(101, 0, &[(1, 10)], NONE));
        assert_eq!(sent[..4], [0, 10, 11, 12]);
        assert!(flow.ack_of(100, 220, 0, &[(11, 13), (1, 10)], NONE).contains(&10));
        flow.ack_of(100, 221, 10, &[(11, 13)], NONE);
        flow.window().1
    };
    assert_eq!([window(true), window(false)], [2, 5]);
}

/// Breaks if a recovery that begins as another ends is undone without a D-SACK of what was under
/// way again by then, or by what is newer than that one's first retransmission.
///
/// 0 was sent again at 100 us and 10 at 220; in the next recovery, from 221 on, once more at 330.
#[test]
fn the_next_recovery_answers_for_what_is_under_way_again() {
    let undos = |echo| {
        let mut flow = Flow::begun("newreno", 10, kernel());
        flow.ack(100, 0, &[(1, 8)], NONE);
        flow.ack(101, 0, &[(1, 10)], NONE);
        flow.ack_of(100, 220, 0, &[(11, 13), (1, 10)], NONE);
        flow.ack_of(100, 221, 10, &[(11, 13)], NONE);
        let episode = flow.extra().episode.as_ref().unwrap();
        assert_eq!((episode.from, episode.unreported), (10, 1));
        assert_eq!(flow.ack_of(221, 330, 10, &[(11, 13), (15, 16)], NONE), [10]);
        flow.ack_of(echo, 340, 13, &[(15, 16)], NONE);
        flow.sender.undos()
    };
    assert_eq!([undos(90), undos(150)], [1, 0]);
}

/// Breaks if the first retransmission's stamp is not the one to go by where 10 has been lost once
/// more as the next recovery begins, so that nothing is under way again, or if what is counts
/// without `undo_waits`.
#[test]
fn the_next_recovery_goes_by_the_first_stamp() {
    let episode = |undo_waits, sacked: &[(u32, u32)]| {
        let mut flow = Flow::begun("newreno", 10, Stack { undo_waits, ..kernel() });
        flow.ack(100, 0, &[(1, 8)], NONE);
        let first = flow.extra().first_again;
        flow.ack(101, 0, &[(1, 10)], NONE);
        assert!(flow.ack_of(100, 220, 0, &[(11, 13), (1, 10)], NONE).contains(&10));
        // Of a first transmission: what was sent at 220 has not come.
        flow.ack_of(219, 330, 10, sacked, NONE);
        let x = flow.extra();
        (x.episode.as_ref().unwrap().unreported, x.first_again == first)
    };
    assert_eq!(episode(true, &[(11, 13)]), (1, true));
    assert_eq!(episode(true, &[(11, 13), (14, 15)]), (1, true), "10 is sent again at 330");
    assert_eq!(episode(false, &[(11, 13)]), (0, false));
}

/// Breaks if a probe that sent the last segment again counts as a loss: with the next ACK a
/// recovery would begin, also where recoveries are not Linux's (`profile = "linux"` without
/// timestamps).
#[test]
fn a_probe_is_no_loss() {
    let phase = |undo_waits| {
        let stack = Stack { tlp: Some(Span::from_millis(2)), undo_waits, ..timed() };
        let mut flow = Flow::of(&TransportSpec { stack, ..spec("newreno") }, 10);
        flow.ack(100, 8, &[], NONE);
        let due = flow.sender.deadline();
        flow.sender.on_timer(&flow.cfg, due);
        assert_eq!((flow.leaving(due), flow.sender.probes()), (vec![9], 1));
        flow.ack(9_000, 9, &[], NONE);
        flow.sender.phase
    };
    assert_eq!([phase(true), phase(false)], [Phase::Open, Phase::Open]);
}

/// Breaks if what has been SACKed makes a train look smaller beside the window: 12 segments after
/// an ACK of one that SACKs another, of which 4 may leave, a third. With the SACKed one it were 13.
#[test]
fn a_train_is_measured_by_the_window() {
    let stack = Stack { gso: true, ..timed() };
    let spec = TransportSpec { init_cwnd: Amount::Packets(10), stack, ..spec("newreno") };
    let mut flow = Flow::of(&with_param(spec, "slow_start_limit", Value::Int(100)), 1000);
    assert_eq!(flow.ack(166, 1, &[(3, 4)], NONE), [10, 11, 12, 13]);
}
