//! Timeouts as Linux's kernel takes them (`tcp_enter_loss`): which reduce, which may be in vain, and what F-RTO looks at. Segments of 1000
//! bytes; all of a window leave at 0.

use super::flow::{Flow, NONE, kernel, us};
use crate::spec::Stack;
use crate::transport::extra::{FirstAgain, Frto};
use crate::transport::sender::Phase;
use leafspine_core::{Flags, Span};
use leafspine_schemes::cc::CongestionControl;

/// Breaks if F-RTO looks at a timeout that breaks off a fast recovery, does not at a second one of the same segment, or does at one of another
/// while that recovery goes on.
#[test]
fn f_rto_looks_at_the_first_and_at_what_is_repeated() {
    let stack = Stack { frto: true, ..kernel() };
    let mut flow = Flow::begun("newreno", 10, stack);
    let looks = |flow: &mut Flow| {
        flow.time_out();
        flow.extra().frto == Frto::Resent
    };
    assert_eq!([looks(&mut flow), looks(&mut flow)], [true, true]);
    flow.leaving(us(50_000));
    flow.ack_of(50_000, 50_200, 1, &[], NONE);
    assert!(!looks(&mut flow));
    let mut flow = Flow::begun("newreno", 10, stack);
    flow.ack(100, 0, &[(3, 6)], NONE);
    assert!(!looks(&mut flow));
}

/// Breaks if a second timeout of the same segment is another reduction, or one after progress is the same: the first may be undone to the window of
/// before it, 10, the other to what the first has left.
#[test]
fn a_timeout_after_progress_is_another_reduction() {
    let mut flow = Flow::begun("newreno", 10, kernel());
    let begins = |flow: &mut Flow| {
        flow.time_out();
        let episode = flow.extra().episode.as_ref().unwrap();
        (episode.from, episode.before.window())
    };
    assert_eq!([begins(&mut flow), begins(&mut flow)], [(0, 10_000); 2]);
    flow.leaving(us(50_000));
    flow.ack_of(50_001, 50_200, 1, &[], NONE);
    assert_eq!(begins(&mut flow), (1, 2_000));
}

/// Breaks if a timeout leaves what is thought of reordering though three are SACKed and no recovery is under way, or does not in a recovery,
/// or with two. 0 was out of order by six or five; the recovery ends when 1 has come as well.
#[test]
fn a_timeout_thinks_less_of_reordering() {
    let by = |sacked: (u32, u32), comes: u32| {
        let mut flow = Flow::begun("newreno", 20, kernel());
        flow.ack(100, 0, &[sacked], NONE);
        (1..=comes).for_each(|una| drop(flow.ack(110, una, &[sacked], NONE)));
        flow.time_out();
        flow.extra().rack.reordered_by()
    };
    assert_eq!([by((3, 6), 1), by((3, 5), 2), by((3, 6), 2)], [6, 5, 3]);
}

/// Breaks if one in a mark's reduction does: 0 was out of order by six, and four are SACKed, the last with the mark, when the timer fires.
#[test]
fn in_a_marks_reduction_it_does_not() {
    let by = |flags| {
        let mut flow = Flow::begun("newreno", 20, kernel());
        flow.ack(100, 0, &[(3, 6)], NONE);
        (1..=2).for_each(|una| drop(flow.ack(110, una, &[(3, 6)], NONE)));
        flow.ack(111, 2, &[(3, 7)], flags);
        flow.time_out();
        flow.extra().rack.reordered_by()
    };
    assert_eq!([by(Flags::ECE), by(NONE)], [6, 3]);
}

/// Breaks if a timeout in a mark's reduction may be undone by what is echoed; or if F-RTO, which may, gives the window back.
#[test]
fn a_timeout_in_a_marks_reduction_stands() {
    let after = |frto| {
        let mut flow = Flow::begun("dctcp", 20, Stack { frto, ..kernel() });
        flow.ack(100, 1, &[], Flags::ECE);
        flow.time_out();
        flow.leaving(us(10_100));
        flow.ack(10_200, 2, &[], NONE);
        flow.ack(10_201, 4, &[], NONE);
        (flow.sender.undos(), flow.sender.phase, flow.window().1)
    };
    assert_eq!(after(false), (0, Phase::Loss, 10));
    assert_eq!(after(true), (1, Phase::Open, 10));
}

/// Breaks if F-RTO waits for a second ACK where the first delivers what was sent once, also by SACK alone; or if it gives up when all that comes
/// was sent again, after it has let new data go.
#[test]
fn f_rto_takes_the_first_ack() {
    let begun = || {
        let mut flow = Flow::begun("newreno", 10, Stack { frto: true, eifel: None, ..kernel() });
        flow.time_out();
        flow.leaving(us(10_000));
        flow
    };
    let after = |una, sacked: &[(u32, u32)]| {
        let mut flow = begun();
        flow.ack_of(10_000, 10_200, una, sacked, NONE);
        (flow.sender.undos(), flow.sender.phase)
    };
    let open = (1, Phase::Open);
    assert_eq!([after(0, &[(1, 2)]), after(2, &[]), after(1, &[])], [open, open, (0, Phase::Loss)]);
    let mut flow = begun();
    assert_eq!(flow.ack_of(10_000, 10_200, 1, &[], NONE), [10, 11]);
    assert_eq!(flow.extra().frto, Frto::Waiting);
    flow.ack_of(10_200, 10_400, 1, &[(10, 11)], NONE);
    assert_eq!(flow.extra().frto, Frto::Off);
}

/// Breaks if a second timeout of the same segment reduces the threshold because a round trip was measured between them.
///
/// 1 to 3 are lost, the recovery is broken off, and 4, which was sent once, comes late. Then the timer fires again.
#[test]
fn a_round_trip_between_timeouts_is_no_progress() {
    let stack = Stack { kernel_timers: true, ..kernel() };
    let mut flow = Flow::begun("newreno", 20, stack);
    flow.ack(100, 1, &[(5, 9)], NONE);
    assert_eq!(flow.window().1, 10);
    flow.time_out();
    assert!(flow.sender.rtt.backed_off());
    flow.leaving(us(300_000));
    flow.ack_of(300_000, 300_100, 1, &[(5, 9), (12, 13)], NONE);
    assert!(!flow.sender.rtt.backed_off());
    flow.time_out();
    assert_eq!(flow.window().1, 10);
}

/// Breaks if what a timeout gives up counts as under way again: of 1 and 2, which were sent again and are lost, only the first is afterwards.
#[test]
fn a_timeout_counts_what_is_still_under_way() {
    let mut flow = Flow::begun("newreno", 10, kernel());
    flow.time_out();
    flow.leaving(us(10_000));
    assert_eq!(flow.ack_of(10_000, 10_200, 1, &[], NONE), [1, 2]);
    flow.time_out();
    assert_eq!(flow.extra().episode.as_ref().unwrap().unreported, 0);
    let at = flow.sender.deadline();
    flow.leaving(at);
    assert_eq!(flow.extra().episode.as_ref().unwrap().unreported, 1);
}

/// Breaks if another timeout forgets when something was first sent again, while some of it may still come.
#[test]
fn the_first_retransmission_is_that_of_the_first_timeout() {
    let mut flow = Flow::begun("newreno", 10, Stack { frto: true, ..kernel() });
    flow.time_out();
    flow.leaving(us(10_000));
    let first = flow.extra().first_again;
    assert_ne!(first, FirstAgain::NotYet);
    flow.ack_of(10_000, 10_200, 1, &[], NONE);
    flow.time_out();
    flow.leaving(us(20_000));
    assert_eq!(flow.extra().first_again, first);
}

/// Breaks if what a probe sends counts as the first retransmission: 9 to 11 are late, a probe sends 11 again, and after a timeout 9, sent
/// again, comes from its first time.
#[test]
fn a_probe_is_no_first_retransmission() {
    let stack = Stack { tlp: Some(Span::from_millis(2)), ..kernel() };
    let mut flow = Flow::begun("newreno", 12, stack);
    flow.sender.total = 12;
    flow.ack(100, 9, &[], NONE);
    flow.sender.on_timer(&flow.cfg, flow.sender.deadline());
    assert_eq!((flow.leaving(us(3_000)), flow.sender.probes()), (vec![11], 1));
    assert_eq!(flow.extra().first_again, FirstAgain::NotYet);
    flow.time_out();
    flow.leaving(us(200_000));
    flow.ack_of(3_001, 201_000, 10, &[], NONE);
    assert_eq!((flow.sender.undos(), flow.sender.phase), (1, Phase::Open));
}
