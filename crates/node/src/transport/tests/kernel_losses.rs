//! What Linux's kernel takes for lost, and when it does not: by RACK, by the timer of what is late, after a timeout
//! (timeouts themselves are in `kernel_timeouts.rs`). Segments of 1000 bytes; all
//! of a window leave at 0.

use super::flow::{Flow, NONE, kernel, us};
use super::pipe::{config, spec};
use crate::spec::{Reduction, Stack, TransportSpec};
use crate::transport::config::stamp;
use crate::transport::extra::FirstAgain;
use crate::transport::sender::{Phase, Sender};
use leafspine_core::{Flags, PacketMeta, Span};
use leafspine_schemes::Amount;

/// The early timer fires; gives what leaves.
fn fire_early(flow: &mut Flow) -> Vec<u32> {
    let due = flow.sender.deadline();
    assert!(due < flow.extra().rto_at, "the early one");
    flow.sender.on_timer(&flow.cfg, due);
    flow.leaving(due)
}

/// Breaks if what a recovery in vain had given up, and had not sent again, is given up once more,
/// or if nothing else is.
///
/// Of 0 to 2, which counted as lost, 0 and 1 are sent again, and come late themselves: 2 does not
/// count as lost any more. At 310 us 20 has come, which was sent at 200: all before it that is
/// missing is late, 2 with the rest, and only the rest is lost.
#[test]
fn what_was_given_up_in_vain_is_not_given_up_again() {
    let mut flow = Flow::begun("newreno", 20, kernel());
    assert_eq!(flow.ack(100, 0, &[(3, 6)], NONE), [0, 1]);
    flow.ack(110, 1, &[(3, 6)], NONE);
    assert!(!flow.ack(200, 2, &[(3, 6)], NONE).contains(&2));
    assert_eq!(flow.sender.undos(), 1);
    let sent = flow.ack_of(200, 310, 2, &[(3, 6), (20, 21)], NONE);
    assert_eq!((sent[0], sent.contains(&2)), (6, false));
}

/// Breaks if a timeout does not give it up: 2 is sent again, first of all, and may be given up like
/// any other from then on.
#[test]
fn a_timeout_gives_up_what_was_given_up_in_vain() {
    let mut flow = Flow::begun("newreno", 20, kernel());
    flow.ack(100, 0, &[(3, 6)], NONE);
    flow.ack(110, 1, &[(3, 6)], NONE);
    flow.ack(200, 2, &[(3, 6)], NONE);
    flow.time_out();
    assert_eq!(flow.leaving(flow.sender.deadline())[0], 2);
}

/// Breaks if an ACK that tells of progress and of a loss lets a segment more go than it delivers,
/// as one does that tells of progress alone. What is lost may be below what was lost before.
///
/// 17 to 19 come: 0 to 16 are lost, and three are sent again. 0 comes, or 0 and 2: then 1 was lost once more.
#[test]
fn a_retransmission_that_is_lost_is_a_loss() {
    let sent = |sacked: &[(u32, u32)]| {
        let mut flow = Flow::begun("newreno", 20, kernel());
        assert_eq!(flow.ack(100, 0, &[(17, 20)], NONE), [0, 1, 2]);
        flow.ack_of(100, 210, 1, sacked, NONE)
    };
    assert_eq!([sent(&[(17, 20)]), sent(&[(2, 3), (17, 20)])], [[3, 4], [1, 3]]);
}

/// Breaks if a D-SACK of a segment that was sent after the recovery had begun, and sent again in
/// it, does not count: when all four retransmissions have come twice the reduction is undone.
#[test]
fn what_was_sent_in_a_recovery_may_have_come_twice() {
    let mut flow = Flow::begun("newreno", 10, kernel());
    assert_eq!(flow.ack(100, 0, &[(1, 8)], NONE), [0, 10, 11]);
    flow.ack_of(100, 205, 8, &[(11, 12)], NONE);
    let undos = [0, 8, 9, 10].map(|segment| {
        flow.ack_of(205, 310, 12, &[(segment, segment + 1)], NONE);
        flow.sender.undos()
    });
    assert_eq!(undos, [0, 0, 0, 1]);
}

/// Breaks if an ACK behind a later one widens RACK's window: the next does.
#[test]
fn an_old_ack_widens_nothing() {
    let mut flow = Flow::begun("newreno", 20, kernel());
    flow.ack(100, 2, &[(4, 5)], NONE);
    flow.ack(101, 3, &[(4, 5)], NONE);
    flow.ack(102, 2, &[(0, 1), (6, 7)], NONE);
    assert_eq!(flow.extra().rack.persist, 0);
    flow.ack(103, 3, &[(4, 5), (6, 8)], NONE);
    assert_eq!(flow.extra().rack.persist, 16);
}

/// Breaks if the timer that begins a recovery counts no segment as having left, or if in a recovery
/// it does not let as much go as it gives up.
///
/// Of 24 segments the first two are acknowledged, 4 and then 2 come: what is late has 24 us more. 3
/// has until 125: it is sent again, and half of 23 is to be left. With 8 and 9 three have left, so
/// that two may have been sent; by 164 us 5 to 7 are late.
#[test]
fn the_timer_begins_a_recovery_and_goes_on_with_it() {
    let mut flow = Flow::begun("newreno", 20, kernel());
    assert_eq!(flow.ack(100, 2, &[(4, 5)], NONE), [20, 21, 22, 23]);
    assert_eq!(flow.ack(101, 3, &[(4, 5)], NONE), [24, 25]);
    assert_eq!((flow.sender.deadline(), fire_early(&mut flow)), (us(125), vec![3]));
    assert_eq!(flow.window().1, 11);
    assert_eq!(flow.ack(140, 3, &[(4, 5), (8, 10)], NONE), [26]);
    assert_eq!((flow.sender.deadline(), fire_early(&mut flow)), (us(164), vec![5, 6, 7]));
    assert_eq!(flow.ack(180, 3, &[(4, 5), (8, 11)], NONE), []);
}

/// Breaks if a retransmission that is lost after a timeout does not begin a recovery, which halves
/// again: 0 to 9 are lost, 1 and 2 are sent again when 0 has come, and 2 comes alone.
#[test]
fn what_is_lost_once_more_ends_a_timeouts_recovery() {
    let mut flow = Flow::begun("newreno", 10, kernel());
    flow.time_out();
    assert_eq!((flow.leaving(us(10_000)), flow.window()), (vec![0], (1, 5)));
    assert_eq!((flow.ack_of(10_000, 10_200, 1, &[], NONE), flow.window()), (vec![1, 2], (2, 5)));
    assert_eq!(flow.sender.phase, Phase::Loss);
    assert_eq!(flow.ack_of(10_200, 10_400, 1, &[(2, 3)], NONE), [1]);
    assert_eq!((flow.sender.phase, flow.window()), (Phase::Recovery, (2, 2)));
}

/// Breaks if what is lost for the first time does. When the timer fires at 10.1 ms, 10 and 11,
/// which left at 100 us, may still come (8 took so long); when 1 and 2 have come, which were sent
/// again, they may no more.
#[test]
fn what_is_lost_once_does_not_end_it() {
    let mut flow = Flow::begun("newreno", 10, kernel());
    assert_eq!(flow.ack(100, 1, &[], NONE), [10, 11]);
    flow.ack(110, 1, &[(4, 7)], NONE);
    flow.ack(10_050, 1, &[(4, 9)], NONE);
    flow.time_out();
    flow.leaving(us(10_100));
    assert_eq!((flow.sender.phase, flow.extra().rack.lost.contains(10)), (Phase::Loss, false));
    let sent = flow.ack_of(10_101, 10_250, 3, &[(4, 9)], NONE);
    assert_eq!((flow.sender.phase, sent.contains(&10)), (Phase::Loss, true));
}

/// Breaks if what the timer of late segments finds does not end a timeout's recovery though it is
/// lost for the first time.
///
/// Packets have been out of order before: 1 came after 2. The retransmission timer fires at 10.1
/// ms; 10 to 14 left at 100 us and may still come, since 8 took so long. 13 does, and those that
/// left before it have a quarter of the shortest round trip more.
#[test]
fn what_the_timer_finds_ends_a_timeouts_recovery() {
    let mut flow = Flow::begun("newreno", 10, kernel());
    assert_eq!(flow.ack(100, 1, &[(2, 3)], NONE), [10, 11, 12]);
    assert_eq!(flow.ack(101, 3, &[], NONE), [13, 14]);
    flow.ack(10_050, 3, &[(6, 9)], NONE);
    flow.time_out();
    flow.leaving(us(10_100));
    flow.ack_of(101, 10_110, 3, &[(13, 14), (6, 9)], NONE);
    assert_eq!((flow.sender.phase, flow.extra().rack.lost.contains(10)), (Phase::Loss, false));
    fire_early(&mut flow);
    assert_eq!(flow.sender.phase, Phase::Recovery);
}

/// Breaks if a mark's reduction keeps NewReno from finding out that losses in it were none: 1 to 3
/// counted as lost, one was sent again, and all three come late. The window is what the mark has
/// left.
#[test]
fn losses_in_a_marks_reduction_may_be_none() {
    let mut flow = Flow::begun("newreno", 20, kernel());
    flow.ack(100, 1, &[], Flags::ECE);
    flow.ack(101, 1, &[(4, 8)], NONE);
    assert_eq!((flow.sender.phase, flow.window().1), (Phase::Recovery, 10));
    (2..4).for_each(|una| drop(flow.ack(110, una, &[(4, 8)], NONE)));
    flow.ack(112, 8, &[], NONE);
    assert_eq!((flow.sender.phase, flow.sender.undos(), flow.window().1), (Phase::Open, 1, 10));
}

/// Breaks if a recovery that begins with an ACK that has ECE gives the window back, or if one that
/// begins without does not.
#[test]
fn a_recovery_that_begins_with_ece_gives_nothing_back() {
    let after = |flags| {
        let mut flow = Flow::begun("dctcp", 20, kernel());
        flow.ack(100, 0, &[(3, 6)], flags);
        (1..=3).for_each(|una| drop(flow.ack(110, una, &[(3, 6)], NONE)));
        (flow.sender.undos(), flow.window().1 > 10)
    };
    assert_eq!([after(Flags::ECE), after(NONE)], [(1, false), (1, true)]);
}

/// Breaks if the ACK of a segment that a timer has sent again, exactly as a tick begins, is taken
/// for one of its first transmission, since what it echoes is cut off: then what left before would
/// not be lost with it.
///
/// 5 comes, and by 5 ms 1 to 4 are late; 1 is sent again. When it comes 6 to 9 are late as well.
#[test]
fn what_a_timer_sends_is_of_its_tick() {
    let stack = Stack { kernel_timers: true, rack_slack: Some(Span::from_millis(2)), ..kernel() };
    let mut flow = Flow::begun("dctcp", 10, stack);
    flow.ack(1_000, 1, &[], Flags::ECE);
    flow.ack(1_070, 1, &[(5, 6)], Flags::ECE);
    assert_eq!((flow.sender.deadline(), fire_early(&mut flow)[0]), (us(5_000), 1));
    assert!(!flow.extra().rack.lost.contains(6));
    flow.ack_of(5_000, 6_200, 2, &[(5, 6)], Flags::ECE);
    assert!(flow.extra().rack.lost.contains(6));
}

/// Breaks if an ACK of new data that comes before the first retransmission has left undoes nothing:
/// what it is of was merely late.
#[test]
fn what_comes_before_anything_is_sent_again_is_late() {
    let mut flow = Flow::begun("newreno", 20, kernel());
    flow.comes(0, 100, 0, &[(1, 8)], NONE);
    assert_eq!(flow.sender.phase, Phase::Recovery);
    flow.comes(0, 101, 8, &[], NONE);
    assert_eq!((flow.sender.undos(), flow.sender.phase), (1, Phase::Open));
}

/// Breaks if a segment is sent again whose last copy is still in the host's port, if it does not
/// hold up others that are lost, or if it is not sent when the driver hears that the copy has left.
///
/// Of 0 to 2, which are lost, 0 still waits until 400 us; in its place goes new data.
#[test]
fn what_has_not_left_is_not_sent_again() {
    let mut flow = Flow::begun("newreno", 10, Stack { small_queues: true, ..kernel() });
    flow.sender.note_leaving(0, us(400), us(0));
    let sent = flow.ack(100, 0, &[(3, 7)], NONE);
    assert!(!sent.is_empty() && sent.iter().all(|segment| *segment >= 10), "{sent:?}");
    assert_eq!(flow.sender.deadline(), us(400));
    flow.sender.on_timer(&flow.cfg, us(400));
    let mut sent = flow.leaving(us(400));
    sent.extend(flow.ack(401, 0, &[(3, 10)], NONE));
    assert_eq!(sent[..3], [0, 1, 2]);
}

/// Breaks if the retransmission that a recovery begins with is forgotten when its segment has not
/// left: without proportional reduction only it may leave, of 20 segments with a window of 10.
#[test]
fn the_first_retransmission_is_made_up_for() {
    let stack = Stack { small_queues: true, reduction: Reduction::AtOnce, ..kernel() };
    let mut flow = Flow::begun("newreno", 20, stack);
    flow.sender.note_leaving(0, us(400), us(0));
    assert_eq!(flow.ack(100, 0, &[(1, 4)], NONE), []);
    flow.sender.on_timer(&flow.cfg, us(400));
    assert_eq!(flow.leaving(us(400)), [0]);
}

/// Breaks if the driver does not look what has left when an ACK comes: it would hear at 401 us,
/// when three quarters have, that 0 left at 150.
#[test]
fn the_driver_looks_when_an_ack_comes() {
    let mut flow = Flow::begun("newreno", 10, Stack { small_queues: true, ..kernel() });
    for (segment, until) in [(0, 150), (6, 400), (8, 401), (1, 402)] {
        flow.sender.note_leaving(segment, us(until), us(0));
    }
    assert_eq!(flow.ack(200, 0, &[(3, 7)], NONE)[0], 0);
}

/// Breaks if the rate that trains and the port go by changes with what is sent: it is that of the
/// last ACK, with what was outstanding then, where that is more than the window: two segments are
/// SACKed.
#[test]
fn the_rate_is_of_the_last_ack() {
    let mut flow = Flow::begun("newreno", 10, Stack { gso: true, ..kernel() });
    flow.ack(100, 2, &[], NONE);
    flow.comes(0, 110, 2, &[(3, 5)], NONE);
    let (rate, before) = (flow.sender.in_a_millisecond(&flow.cfg), flow.sender.high);
    flow.leaving(us(110));
    let outstanding = |flow: &Flow| u64::from(flow.sender.high - flow.sender.una);
    assert!(flow.sender.high > before);
    assert_eq!(flow.sender.in_a_millisecond(&flow.cfg), rate);
    flow.comes(0, 111, 2, &[(3, 5)], NONE);
    let window = u64::from(flow.window().0);
    assert!(outstanding(&flow) > window);
    let later = flow.sender.in_a_millisecond(&flow.cfg);
    assert!((later * window).abs_diff(rate * outstanding(&flow)) <= later, "{later}, {rate}");
}

/// By hand: ten segments leave, two are acknowledged after 1,024 us, and the window is 11. In slow
/// start twice as much leaves in a round trip: 2 x 11,000 bytes in 1,024 us. After a mark, with a
/// window of nine by then, six fifths of it. In 976.5625 us that is 20,980 and 10,299 bytes.
///
/// Breaks if the rate is of another share of the window.
#[test]
fn the_rate_by_hand() {
    let rate = |flags| {
        let mut flow = Flow::begun("newreno", 10, Stack { gso: true, ..kernel() });
        flow.comes(0, 1_024, 2, &[], flags);
        flow.sender.in_a_millisecond(&flow.cfg)
    };
    assert_eq!([rate(NONE), rate(Flags::ECE)], [20_980, 10_299]);
}

/// Breaks if a probe sends again what has not left the host.
#[test]
fn no_probe_of_what_has_not_left() {
    let probes = |until| {
        let stack = Stack { tlp: Some(Span::from_millis(2)), small_queues: true, ..kernel() };
        let mut flow = Flow::begun("newreno", 10, stack);
        flow.sender.total = 10;
        flow.sender.note_leaving(9, us(until), us(0));
        flow.ack(100, 8, &[], NONE);
        flow.sender.on_timer(&flow.cfg, flow.sender.deadline());
        flow.leaving(us(9_000)).len()
    };
    assert_eq!([probes(50), probes(60_000)], [1, 0]);
}

/// Breaks if an attempt to send again what has not left counts more than once an instant, not at
/// all, or goes by another time than that of the last copy: D-SACKs are expected of it
/// (`tcp_retransmit_skb`).
#[test]
fn an_attempt_counts() {
    let mut flow = Flow::begun("newreno", 10, Stack { small_queues: true, ..kernel() });
    flow.sender.note_leaving(0, us(400), us(0));
    flow.ack(100, 0, &[(3, 7)], NONE);
    flow.leaving(us(100));
    let unreported = |flow: &Flow| flow.extra().episode.as_ref().unwrap().unreported;
    assert_eq!((unreported(&flow), flow.extra().first_again), (1, FirstAgain::At(stamp(us(0)))));
    flow.ack(101, 0, &[(3, 8)], NONE);
    assert_eq!(unreported(&flow), 2);
}

/// Breaks if a recovery that begins in a mark's reduction sends a segment whatever the reduction
/// lets go: what that has sent counts on (`prr_out`). The timer for what is late finds 6 to 8; with
/// a reduction of its own the recovery sends one at once.
#[test]
fn a_recovery_in_a_marks_reduction_sends_by_it() {
    let again = |flags| {
        let mut flow = Flow::begun("newreno", 20, kernel());
        flow.ack(100, 2, &[], flags);
        flow.ack(101, 4, &[], NONE);
        flow.ack(102, 6, &[], NONE);
        let sent = flow.ack(103, 6, &[(9, 10)], NONE);
        assert!(sent.len() < 2, "{sent:?}");
        flow.sender.on_timer(&flow.cfg, flow.sender.deadline());
        assert_eq!(flow.sender.phase, Phase::Recovery);
        flow.sender.resend_due
    };
    assert_eq!([again(Flags::ECE), again(NONE)], [false, true]);
}

/// Breaks if new data in a recovery leaves though the port is full (Linux:
/// `tcp_small_queue_check`), or only once for several pieces; or if what is lost waits where twice as
/// much may be there.
///
/// A segment counts 2,304 bytes there, one of a piece 1,000 and the piece 832. Of the three that may
/// leave the first two are a piece, which leaves if no more than two are there; the third is one,
/// which leaves if one is. What is lost leaves if three are: 1, of which 2 to 8 tell.
#[test]
fn a_recovery_waits_for_the_port() {
    let sent = |there: u32| {
        let mut flow =
            Flow::begun("newreno", 20, Stack { small_queues: true, gso: true, ..kernel() });
        flow.ack(100_000, 1, &[], NONE);
        (0..there).for_each(|n| flow.sender.note_leaving(100 + 2 * n, us(900_000), us(0)));
        flow.ack(100_001, 1, &[(2, 9)], NONE)
    };
    assert_eq!([sent(1), sent(2)], [vec![1, 22, 23, 24], vec![1, 22, 23]]);
    assert_eq!([sent(3), sent(4)], [vec![1], vec![]]);
}

/// A flow with small queues and trains, whose port has so many others until 900 ms.
fn crowded(segments: u64, window: u32, there: u32, stack: Stack) -> Flow {
    let stack = Stack { small_queues: true, ..stack };
    let init_cwnd = Amount::Packets(window);
    let mut flow = Flow::of(&TransportSpec { init_cwnd, stack, ..spec("newreno") }, segments);
    (0..there).for_each(|n| flow.sender.note_leaving(2_000 + 2 * n, us(900_000), us(0)));
    flow
}

/// Breaks if the last segment of a flow, which leaves alone, goes by a longer piece: one may be
/// there, and not two; or if what is lost does, of which three may.
#[test]
fn the_last_new_piece_is_as_long_as_what_is_left() {
    let sent = |there| {
        let mut flow = crowded(23, 20, there, Stack { gso: true, ..kernel() });
        flow.ack(100_000, 1, &[], NONE);
        flow.ack(100_001, 1, &[(2, 9)], NONE)
    };
    assert_eq!([sent(1), sent(2), sent(3)], [vec![1, 22], vec![1], vec![1]]);
}

/// Breaks if the segments of a recovery's piece ask one by one, or are pieces of their own from then
/// on: 22 and 23 leave as one, and with them and 1 the port has too much for 24.
#[test]
fn a_recovery_sends_pieces() {
    let mut flow = crowded(1_000, 20, 0, Stack { gso: true, ..kernel() });
    flow.ack(100_000, 1, &[], NONE);
    flow.leaves = Some(us(900_000));
    assert_eq!(flow.ack(100_001, 1, &[(2, 9)], NONE), [1, 22, 23]);
    assert_eq!([22, 23].map(|segment| flow.extra().buffer.end_of(segment)), [24, 24]);
    let cfg = flow.cfg.clone();
    let there = [1, 22, 23].map(|segment| flow.sender.is_in_port(&cfg, segment, us(100_002)));
    assert_eq!(there, [true, false, false]);
}

/// By hand: the ring's 238 segments take 2,304 bytes each, 548,352, and a piece before it 1,000 a
/// segment and 832. With one of 499 that is 1,048,184, and 1,048,575 is the most; one more is too
/// much. So is one fewer, if it is of two pieces.
///
/// Breaks if what is before the ring counts otherwise.
#[test]
fn what_is_before_the_ring_by_hand() {
    let waits = |pieces: &[u32]| {
        let mut flow = crowded(1_000, 20, 238, Stack { gso: true, ..kernel() });
        let mut first = 100_000;
        for piece in pieces {
            flow.sender.extra.as_mut().unwrap().backlog.release(first..first + piece, us(0));
            for segment in first..first + piece {
                flow.sender.note_leaving(segment, us(900_000), us(0));
            }
            first += piece;
        }
        let cfg = flow.cfg.clone();
        flow.sender.waits_for_port(&cfg, 1, false, us(0))
    };
    assert_eq!([waits(&[499]), waits(&[500]), waits(&[400, 99])], [false, true, true]);
}

/// Breaks if what is there may be as much as the limit (`sk_wmem_alloc` counts one byte more). By
/// hand: two pieces of 104 segments and 91 in the ring are 209,664 bytes.
#[test]
fn a_full_limit_is_full() {
    let waits = |there| {
        let mut flow = crowded(1_000, 20, there, Stack { gso: true, ..kernel() });
        flow.ack(100_000, 1, &[], NONE);
        let cfg = flow.cfg.clone();
        flow.sender.waits_for_port(&cfg, 104, false, us(100_000))
    };
    assert_eq!([waits(90), waits(91)], [false, true]);
}

/// Breaks if a SYN or an ACK counts as a segment in the port.
#[test]
fn what_has_no_data_counts_for_nothing() {
    let mut flow = crowded(10, 10, 0, kernel());
    let cfg = flow.cfg.clone();
    for (flags, there) in [(Flags::SYN, false), (NONE, false), (Flags::DATA, true)] {
        let packet = PacketMeta { flags, ..PacketMeta::default() };
        flow.sender.note_packet(&packet, us(900), us(0));
        assert_eq!(flow.sender.is_in_port(&cfg, 0, us(1)), there);
    }
}

/// Breaks if a lone piece waits for the port, or if one that is not alone does not
/// (`tcp_rtx_queue_empty_or_single_skb`): ten segments that left as one train, or as two, have
/// timed out, and the first has come. Then 1 and 2 were sent again, as a piece of their own, and 2
/// waits with the others.
#[test]
fn a_lone_piece_does_not_wait() {
    let sent = |window| {
        let mut flow = crowded(10, window, 100, Stack { gso: true, ..kernel() });
        flow.time_out();
        assert_eq!(flow.leaving(us(10_000)), [0]);
        let sent = flow.ack_of(10_000, 110_000, 1, &[], NONE);
        (sent, flow.ack_of(110_000, 210_000, 2, &[], NONE))
    };
    assert_eq!([sent(20), sent(10)], [(vec![1, 2], vec![]), (vec![], vec![])]);
}

/// Breaks if a lone segment that was sent again counts as several pieces: two have timed out, the
/// first has come, and the second is sent again; new data follows it, however full the port is.
#[test]
fn a_lone_segment_is_one_piece_when_it_is_sent_again() {
    let mut flow = crowded(10, 2, 100, kernel());
    flow.time_out();
    assert_eq!(flow.leaving(us(10_000)), [0]);
    assert_eq!(flow.ack_of(10_000, 110_000, 1, &[], NONE), [1, 2]);
}

/// Breaks if a timeout sends anything while the first segment's last copy is still in the port, or
/// if that is not sent when the copy has been reclaimed; also with a window of one segment, which
/// those that left just before the timeout fill.
#[test]
fn a_timeout_waits_for_its_own_copy() {
    let plain = Stack { rack: true, ..Stack::default() };
    for (stack, sacked) in [(kernel(), &[][..]), (plain, &[(9, 10)][..])] {
        let mut flow = crowded(1_000, 10, 0, stack);
        flow.sender.note_leaving(0, us(20_000), us(0));
        flow.ack(9_999, 0, sacked, NONE);
        flow.time_out();
        assert_eq!(flow.leaving(us(10_000)), []);
        assert_eq!(flow.sender.deadline(), us(20_000));
        flow.sender.on_timer(&flow.cfg, us(20_000));
        assert_eq!(flow.leaving(us(20_000))[0], 0);
    }
}

/// Breaks if what follows the segment that a timeout sends, with an ACK of the same instant, leaves as
/// a part of its piece, without asking the port.
#[test]
fn what_has_timed_out_leaves_alone() {
    let mut flow = crowded(20, 10, 100, Stack { gso: true, ..kernel() });
    flow.time_out();
    assert_eq!(flow.leaving(us(10_000)), [0]);
    assert_eq!(flow.ack(10_000, 1, &[], NONE), []);
}

/// Breaks if two trains that leave at one instant count as one piece, of which the kernel's own
/// copies are gone: with a window of two each has one segment, with one of twenty each has ten.
#[test]
fn trains_of_one_instant_are_apart() {
    let there = |window| {
        let stack = Stack { gso: true, small_queues: true, ..kernel() };
        let init_cwnd = Amount::Packets(window);
        let cfg = config(&TransportSpec { init_cwnd, stack, ..spec("newreno") });
        let mut sender = Sender::new();
        sender.reset(&cfg, 1_000_000);
        sender.open(&cfg, us(0));
        let mut packet = PacketMeta::default();
        while sender.poll_send(&cfg, us(0), &mut packet) {
            sender.note_leaving(packet.seq, us(900_000), us(0));
        }
        [0, 1].map(|segment| sender.is_in_port(&cfg, segment, us(1)))
    };
    assert_eq!([there(2), there(20)], [[true, true], [false, false]]);
}

/// Breaks if what is SACKed of a lone piece leaves it whole, so that the rest does not wait for the
/// port.
#[test]
fn what_is_sacked_is_another_piece() {
    let sent = |there| {
        let mut flow = crowded(10, 20, there, Stack { gso: true, ..kernel() });
        flow.comes(0, 100_000, 1, &[], NONE);
        flow.ack(100_001, 1, &[(5, 10)], NONE)
    };
    assert_eq!([sent(0), sent(100)], [vec![1, 2, 3, 4], vec![]]);
}

/// Breaks if what is lost goes by a segment and not by the piece that it begins, of eight: four
/// times 8,832 bytes may be there, of 2,304 each. One that has not left counts as an attempt to
/// send all eight, or the two before one that is SACKed, and new data leaves.
#[test]
fn what_is_lost_goes_by_its_piece() {
    let lost = |there, sacked: &[(u32, u32)]| {
        let mut flow = crowded(1_000, 20, there, Stack { gso: true, ..kernel() });
        flow.comes(0, 100_000, 2, &[], NONE);
        if there == 0 {
            flow.sender.note_leaving(2, us(400_000), us(0));
        }
        let sent = flow.ack(100_001, 2, sacked, NONE);
        (sent, flow.extra().episode.as_ref().unwrap().unreported)
    };
    let all = [(12, 20)];
    assert_eq!([lost(15, &all), lost(16, &all)], [(vec![2, 3], 2), (vec![], 0)]);
    assert_eq!(lost(0, &all), ((20..28).collect(), 8));
    assert_eq!(lost(0, &[(4, 5), (12, 20)]).1, 2);
}

/// Breaks if the rest of a piece that is lost is not asked for again when it leaves later.
#[test]
fn a_piece_is_let_go_for_an_instant() {
    let sent = |more| {
        let mut flow = crowded(1_000, 20, 0, Stack { gso: true, ..kernel() });
        flow.ack(2_000, 2, &[], NONE);
        assert_eq!(flow.ack(2_001, 2, &[(17, 20)], NONE), [2, 3, 4]);
        (0..more).for_each(|n| flow.sender.note_leaving(9_000 + 2 * n, us(900_000), us(2_001)));
        flow.ack(2_002, 2, &[(13, 20)], NONE)
    };
    assert_eq!([sent(10), sent(100)], [vec![5, 6, 7, 8], vec![]]);
}

/// Breaks if F-RTO sends new data though the port is full, or, since it cannot, nothing
/// (`tcp_xmit_recovery`); or if it sends as a piece more than half of the window, of two. One may be
/// there, and for what is lost three.
#[test]
fn frto_waits_for_the_port() {
    let sent = |there| {
        let mut flow = crowded(1_000, 10, there, Stack { frto: true, ..kernel() });
        flow.time_out();
        assert_eq!(flow.leaving(us(10_000)), [0]);
        flow.ack_of(10_000, 110_000, 1, &[], NONE)
    };
    assert_eq!([sent(1), sent(2), sent(4)], [vec![10, 11], vec![1, 2], vec![]]);
}

/// Breaks if a probe of new data leaves though the port is full, or does not if it is not.
#[test]
fn a_probe_of_new_data_waits_for_the_port() {
    let probes = |there| {
        let stack = Stack { tlp: Some(Span::from_millis(2)), gso: true, ..kernel() };
        let mut flow = crowded(1_000, 10, there, stack);
        flow.ack(9_000, 1, &[], NONE);
        (fire_early(&mut flow), flow.extra().probes)
    };
    assert_eq!([probes(1), probes(2)], [(vec![12], 1), (vec![], 0)]);
}
