//! Timeouts as Linux's kernel takes them (`tcp_enter_loss`): which reduce, which may be in vain,
//! and what F-RTO looks at. Segments of 1000 bytes; all of a window leave at 0.

use super::flow::{Flow, NONE, kernel, us};
use crate::spec::Stack;
use crate::transport::extra::{FirstAgain, Frto};
use crate::transport::sender::Phase;
use leafspine_core::{Flags, Span};
use leafspine_schemes::cc::CongestionControl;

/// Breaks if F-RTO looks at a timeout that breaks off a fast recovery, does not at a second one of
/// the same segment, or does at one of another while that recovery goes on.
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

/// Breaks if a second timeout of the same segment is another reduction, or one after progress is
/// the same: the first may be undone to the window of before it, 10, the other to what the first
/// has left.
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

/// Breaks if a timeout leaves what is thought of reordering though three are SACKed and no recovery
/// is under way, or does not in a recovery, or with two. 0 was out of order by six or five; the
/// recovery ends when 1 has come as well.
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

/// Breaks if one in a mark's reduction does: 0 was out of order by six, and four are SACKed, the
/// last with the mark, when the timer fires.
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

/// Breaks if a timeout in a mark's reduction may be undone by what is echoed; or if F-RTO, which
/// may, gives the window back.
#[test]
fn only_f_rto_undoes_a_timeout_in_a_marks_reduction() {
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

/// A flow whose first segment has timed out, and was sent again at 10 ms.
fn watched_by_f_rto() -> Flow {
    let mut flow = Flow::begun("newreno", 10, Stack { frto: true, eifel: None, ..kernel() });
    flow.time_out();
    flow.leaving(us(10_000));
    flow
}

/// Breaks if F-RTO waits for a second ACK where the first delivers what was sent once, also by SACK
/// alone; or if it does not give up when new data comes and nothing else.
#[test]
fn f_rto_takes_the_first_ack() {
    let begun = watched_by_f_rto;
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

/// Breaks if what a timeout gives up counts as under way again: of 1 and 2, which were sent again
/// and are lost, only the first is afterwards.
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

/// Breaks if what a probe sends counts as the first retransmission: 9 to 11 are late, a probe sends
/// 11 again, and after a timeout 9, sent again, comes from its first time.
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

/// Breaks if F-RTO gives up with an ACK that tells nothing: before it lets new data go a duplicate,
/// after it a D-SACK. What was sent once comes later.
#[test]
fn f_rto_goes_on_when_nothing_is_told() {
    let mut flow = watched_by_f_rto();
    flow.ack_of(10_000, 10_150, 0, &[], NONE);
    flow.ack_of(10_000, 10_200, 2, &[], NONE);
    assert_eq!((flow.sender.undos(), flow.sender.phase), (1, Phase::Open));
    let mut flow = watched_by_f_rto();
    flow.ack_of(10_000, 10_200, 1, &[], NONE);
    flow.ack_of(10_000, 10_300, 1, &[(0, 1)], NONE);
    flow.ack_of(10_000, 10_400, 1, &[(5, 6)], NONE);
    assert_eq!(flow.sender.undos(), 1);
}

/// Breaks if nothing that is lost is sent again once F-RTO has had its new data and what comes then
/// decides nothing: 1 was sent again before the timeouts, so that its ACK tells nothing of the
/// others.
#[test]
fn losses_are_repaired_while_f_rto_waits() {
    let mut flow = Flow::begun("newreno", 10, Stack { frto: true, eifel: None, ..kernel() });
    assert_eq!(flow.ack(100, 0, &[(4, 7)], NONE)[..2], [0, 1]);
    flow.time_out();
    flow.leaving(us(10_000));
    flow.time_out();
    assert_eq!(flow.leaving(us(50_000)), [0]);
    let new = flow.ack_of(50_000, 50_100, 1, &[(4, 7)], NONE);
    assert!(!new.is_empty() && new.iter().all(|segment| *segment >= 10), "{new:?}");
    assert_eq!(flow.extra().frto, Frto::Waiting);
    assert_eq!(flow.ack_of(50_000, 50_200, 2, &[(4, 7)], NONE)[0], 2);
    assert_eq!(flow.extra().frto, Frto::Sent);
    flow.ack_of(0, 50_300, 2, &[(9, 10), (4, 7)], NONE);
    assert_eq!(flow.sender.undos(), 1, "9 was sent once");
}

/// Breaks if a control by delivery rates is not told that a timeout has been in vain where no
/// window is given back: it would keep the one of after the timeout.
#[test]
fn a_rate_control_hears_of_an_undoing_without_an_episode() {
    let mut flow = Flow::begun("bbr1", 10, Stack { frto: true, eifel: None, ..kernel() });
    (1..100).for_each(|at| drop(flow.leaving(us(10 * at))));
    flow.time_out();
    flow.leaving(us(10_000));
    let after_timeout = flow.window().0;
    flow.sender.extra.as_mut().unwrap().episode = None;
    flow.ack_of(10_000, 10_200, 0, &[(1, 2)], NONE);
    assert_eq!(flow.sender.phase, Phase::Open);
    assert!(after_timeout < 10 && flow.window().0 >= 10, "{after_timeout}, {}", flow.window().0);
}

/// Breaks if a D-SACK of what a probe sent again is not expected when a recovery or a timeout comes
/// after it, so that it undoes the reduction for a loss; or if probes do not count with other
/// stacks, whose D-SACKs do.
///
/// 11 is slow, and a probe sends it again; 10 is lost.
#[test]
fn a_probes_report_is_expected() {
    let probed = || {
        let mut flow =
            Flow::begun("newreno", 12, Stack { tlp: Some(Span::from_millis(2)), ..kernel() });
        flow.sender.total = 12;
        flow.ack(100, 10, &[], NONE);
        flow.sender.on_timer(&flow.cfg, flow.sender.deadline());
        assert_eq!((flow.leaving(us(3_000)), flow.sender.probes()), (vec![11], 1));
        flow
    };
    let unreported = |flow: &Flow| flow.extra().episode.as_ref().unwrap().unreported;
    let mut flow = probed();
    assert_eq!(flow.ack(3_200, 10, &[(11, 12)], NONE), [10]);
    assert_eq!(unreported(&flow), 2);
    flow.ack_of(3_000, 3_300, 10, &[(11, 12), (11, 12)], NONE);
    assert_eq!((flow.sender.undos(), flow.sender.phase), (0, Phase::Recovery));
    let mut flow = probed();
    flow.time_out();
    assert_eq!(unreported(&flow), 1);
}

/// Breaks if in an episode that goes on a probe counts under Linux, or does not with others.
#[test]
fn a_probe_in_an_episode() {
    let unreported = |undo_waits| {
        let stack = Stack { tlp: Some(Span::from_millis(2)), undo_waits, ..kernel() };
        let mut flow = Flow::begun("newreno", 12, stack);
        flow.sender.total = 14;
        flow.ack(100, 0, &[(1, 8)], NONE);
        flow.ack_of(100, 200, 12, &[], NONE);
        flow.ack_of(200, 300, 13, &[], NONE);
        flow.sender.on_timer(&flow.cfg, flow.sender.deadline());
        assert_eq!((flow.leaving(us(6_000)), flow.sender.probes()), (vec![13], 1));
        flow.extra().episode.as_ref().unwrap().unreported
    };
    assert_eq!([unreported(true), unreported(false)], [1, 2]);
}

/// Breaks if what has timed out waits for a crowded port: five segments, of which nothing else that
/// is lost may follow more than four.
#[test]
fn a_timeout_does_not_wait_for_the_port() {
    let mut flow = Flow::begun("newreno", 20, Stack { small_queues: true, ..kernel() });
    flow.ack(100_000, 1, &[], NONE);
    (0..5).for_each(|n| flow.sender.note_leaving(100 + 2 * n, us(90_000_000), us(0)));
    flow.time_out();
    assert_eq!(flow.leaving(us(400_000)), [1]);
}
