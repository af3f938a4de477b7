//! Pacing as Linux's kernel has it, by whole pieces: BBR with trains, and ACKs by hand. Segments of
//! 1000 bytes.

use super::flow::{Flow, NONE, kernel, us};
use super::pipe::{Pipe, losing, spec};
use crate::spec::{Stack, TransportSpec};
use leafspine_core::{Span, Time};
use leafspine_schemes::Amount;
use leafspine_schemes::cc::Control;

fn stack() -> Stack {
    Stack { gso: true, ..kernel() }
}

/// A flow of so many segments without a handshake; its first window has left at 0.
fn begun(window: u32, segments: u64) -> Flow {
    let init_cwnd = Amount::Packets(window);
    Flow::of(&TransportSpec { init_cwnd, stack: stack(), ..spec("bbr1") }, segments)
}

/// In 2^-24 segments a microsecond.
fn bw(flow: &Flow) -> u64 {
    match flow.sender.control() {
        Control::LinuxBbr1(bbr) => bbr.bw(),
        other => panic!("{other:?}"),
    }
}

fn free_at(flow: &Flow) -> Time {
    flow.extra().free_at
}

/// Breaks if anything is paced before the tenth segment, if a piece is not paced as a whole and in
/// whole nanoseconds, or if another leaves before that time is over.
///
/// By hand: before a round trip is known a window of 10 leaves at 739/256 x 10 segments a
/// millisecond, less one percent: 28,578,488 bytes a second. Trains are of five, and the second is
/// the one with the tenth: 5,000 bytes take 174,956 ns. The ACK of five at 100 us is the first
/// round trip, of 99 us in units of the timestamp, and ten segments in it are 288,671,826 bytes a
/// second. Of the window of 15 ten may leave, and no train has more than seven: 7,000 bytes take
/// 24,248 ns, of which 44 have passed.
#[test]
fn pieces_are_paced() {
    assert_eq!(free_at(&begun(9, 1000)), us(0));
    let mut flow = begun(10, 1000);
    assert_eq!(free_at(&flow), Time(174_956_000));
    assert_eq!(flow.extra().in_a_millisecond, Some(28_578_488 >> 10));
    assert_eq!(flow.ack(100, 5, &[], NONE), []);
    assert_eq!(flow.sender.deadline(), Time(174_956_000));
    assert_eq!(flow.extra().in_a_millisecond, Some(288_671_826 >> 10));
    assert_eq!(flow.leaving(us(175)), (10..17).collect::<Vec<_>>());
    assert_eq!(free_at(&flow), Time(175_000_000 + 24_204_000));
}

/// Breaks if more than half of what a piece takes is made up for when it is late.
#[test]
fn half_is_made_up_for() {
    let mut flow = begun(10, 1000);
    assert_eq!(flow.ack(100, 5, &[], NONE), []);
    assert_eq!(flow.leaving(us(1_000)).len(), 7);
    assert_eq!(free_at(&flow), Time(1_000_000_000 + 12_124_000));
}

/// Breaks if what is lost leaves before its time, or what has timed out does not at once.
#[test]
fn what_is_lost_is_paced() {
    let mut flow = begun(10, 1000);
    assert_eq!(flow.ack(100, 0, &[(4, 10)], NONE), []);
    assert!(!flow.extra().rack.lost.is_empty());
    let at = free_at(&flow);
    assert_eq!(flow.leaving(Time(at.0 - 1)), []);
    let sent = flow.leaving(at);
    assert_eq!(sent[0], 0);
    assert!(free_at(&flow) > at);
    flow.time_out();
    flow.sender.extra.as_mut().unwrap().free_at = us(1_000_000);
    assert_eq!(flow.leaving(us(20_000))[0], 0);
}

/// Breaks if the application sleeps while a piece waits for its time.
#[test]
fn the_application_writes_while_a_piece_waits() {
    let mut flow = begun(10, 1000);
    let written = flow.extra().buffer.written();
    for una in 1..=6 {
        flow.ack(100 + u64::from(una), una, &[], NONE);
    }
    assert!(flow.extra().buffer.written() > written, "{written}");
}

/// Breaks if a sender that its pace has held counts as one that has paused: it waits for more ACKs
/// for a millisecond after its pace would have let it go.
///
/// A window of 30 leaves in two trains, the second at 175 us. One ACK lets two go, which are no
/// third of it.
#[test]
fn the_pace_is_no_pause() {
    let mut flow = begun(30, 1000);
    assert_eq!(flow.leaving(us(175)).len(), 15);
    let ends = free_at(&flow) + Span::from_millis(1);
    assert!(ends > us(1_300), "long after the last one was sent");
    assert_eq!(flow.ack(300, 1, &[], NONE), []);
    assert_eq!(flow.leaving(ends), []);
    assert_eq!(flow.leaving(ends + Span(1)).len(), 2);
}

/// Breaks if a flow is not limited by its application before the first ACK, or is later on although
/// there is data in the send buffer, or has been sent as soon as it was written.
#[test]
fn limited_by_the_application() {
    let limited = |flow: &Flow| flow.extra().rate.as_ref().unwrap().is_app_limited();
    let mut flow = begun(10, 12);
    assert!(limited(&flow), "nothing had been written");
    flow.ack(100, 5, &[], NONE);
    assert!(!limited(&flow));
    flow.leaving(us(1_000));
    flow.ack(1_005, 6, &[], NONE);
    assert!(!limited(&flow), "all was written at once");
    flow.ack(1_100, 12, &[], NONE);
    assert!(!limited(&flow), "all was written at once");
}

/// Breaks if what a timeout has given up is not outstanding to a delivery rate: what is sent again
/// would begin another interval, and a segment in the last round trip be its rate.
#[test]
fn a_timeout_begins_no_interval() {
    let mut flow = begun(10, 1000);
    flow.time_out();
    assert_eq!(flow.leaving(us(20_000))[0], 0);
    flow.ack_of(20_000, 20_100, 1, &[], NONE);
    assert_eq!(bw(&flow), (1 << 24) / 20_100, "a segment since 0");
}

/// Breaks if what came twice is not delivered: the window does not grow by it.
#[test]
fn what_came_twice_is_delivered() {
    let mut flow = begun(10, 1000);
    flow.ack(100, 2, &[], NONE);
    let before = flow.window().0;
    flow.ack(101, 2, &[(0, 1)], NONE);
    assert_eq!(flow.window().0, before + 1);
}

/// Breaks if a flow counts as limited by its application while what it has sent is still in its
/// host's port.
#[test]
fn what_is_in_the_port_is_under_way() {
    let mut flow = begun(10, 12);
    flow.ack(100, 5, &[], NONE);
    flow.leaves = Some(us(5_000));
    assert_eq!(flow.leaving(us(1_000)), [10, 11]);
    let mut dry = |at| flow.sender.is_dry(&flow.cfg, us(at));
    assert_eq!([dry(4_999), dry(5_000)], [false, true]);
}

/// Breaks if the first rate is not of the handshake's round trip in whole microseconds: 100 us,
/// which are 1,525 units of the timestamp, or 99.9 us.
#[test]
fn the_first_rate_is_of_the_handshake() {
    let spec = TransportSpec { handshake: true, stack: stack(), ..spec("bbr1") };
    let mut pipe = Pipe::new(&spec, 1_000_000, losing(&[]));
    pipe.run(us(120));
    let rate = pipe.sender.extra.as_ref().unwrap().in_a_millisecond;
    assert_eq!(rate, Some(279_086));
}

/// Breaks if a train has two segments at least although the rate is below 1.2 Mb/s.
#[test]
fn slow_flows_send_segments() {
    let mut flow = begun(10, 1000);
    flow.sender.extra.as_mut().unwrap().rack.measured(Span::from_millis(100));
    let mut most = |rate: u64| {
        flow.sender.extra.as_mut().unwrap().in_a_millisecond = Some(rate >> 10);
        flow.sender.longest_train(&flow.cfg)
    };
    assert_eq!([most(140_000), most(160_000)], [1, 2]);
}

/// Breaks if what an old ACK SACKs counts as delivered: four come, then 6 by an ACK that was late,
/// then 4 and 5. Six are delivered in 102 us.
#[test]
fn what_an_old_ack_sacks_is_never_delivered() {
    let mut flow = begun(10, 1000);
    flow.ack(100, 4, &[], NONE);
    flow.ack(101, 2, &[(6, 7)], NONE);
    flow.ack(102, 7, &[], NONE);
    assert_eq!(bw(&flow), (6 << 24) / 102);
}

/// Breaks if an ACK of what was sent twice gives anything but a round trip in whole ticks, or if one
/// of a short segment alone does not count as one that may have been delayed.
#[test]
fn what_an_ack_says_of_the_round_trip() {
    let of_ack = |flow: &Flow| flow.extra().rate.as_ref().unwrap().of_ack();
    let init_cwnd = Amount::Packets(10);
    let stack = Stack { kernel_timers: true, ..stack() };
    let mut flow = Flow::of(&TransportSpec { init_cwnd, stack, ..spec("bbr1") }, 10);
    flow.sender.last_payload = 500;
    flow.time_out();
    let again = flow.sender.deadline().0.min(us(20_000).0);
    assert_eq!(flow.leaving(Time(again))[0], 0);
    flow.ack_of(20_000, 20_100, 2, &[], NONE);
    assert_eq!(of_ack(&flow), (Some(Span::from_millis(1)), false));
    flow.ack_of(20_000, 20_200, 9, &[], NONE);
    assert!(!of_ack(&flow).1);
    flow.ack_of(20_000, 20_300, 10, &[], NONE);
    assert!(of_ack(&flow).1);
}

/// Breaks if what F-RTO sends is paced as a piece of all that the window lets go.
#[test]
fn frto_sends_a_piece_of_two() {
    let init_cwnd = Amount::Packets(10);
    let stack = Stack { frto: true, small_queues: true, ..stack() };
    let mut flow = Flow::of(&TransportSpec { init_cwnd, stack, ..spec("bbr1") }, 1000);
    flow.time_out();
    flow.leaving(us(20_000));
    let at = us(20_200);
    flow.comes(20_000, 20_100, 1, &[], NONE);
    let sent = flow.leaving(at);
    assert_eq!(sent, [10, 11]);
    assert_eq!(flow.extra().backlog.piece_end(10, at), 12);
}
