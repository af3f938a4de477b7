//! Loss recovery, as traces to read. Segments of 1000 bytes, 50 us each way, 1 us a packet.
//!
//! Each test states what the RFC makes happen; the snapshot shows all of it.

use super::pipe::{Fate, MSS, Pipe, config, losing, script, spec};
use crate::spec::{Stack, TransportSpec};
use leafspine_core::{PacketMeta, Span, Time};
use leafspine_schemes::Amount;
use leafspine_schemes::cc::CongestionControl;

const SECOND: Time = Time(1_000_000_000_000);

fn reno(window: u32) -> TransportSpec {
    TransportSpec { init_cwnd: Amount::Packets(window), ..spec("newreno") }
}

fn without_sack(window: u32) -> TransportSpec {
    TransportSpec { sack: false, ..reno(window) }
}

/// A flow of `segments` full segments with these losses, run to its end.
fn lossy(spec: &TransportSpec, segments: u32, lost: &[(u32, u32)]) -> Pipe {
    let mut pipe = Pipe::new(spec, u64::from(segments * MSS), losing(lost));
    pipe.run(SECOND);
    assert!(pipe.sender.done(), "{}", pipe.trace);
    assert_eq!(pipe.delivered, u64::from(segments * MSS));
    pipe
}

/// Breaks if the retransmission leaves before or after the third duplicate ACK, or if the window
/// is not halved: 8 and one for the first ACK in flight, so 4.5 (RFC 5681 §3.2, RFC 6675 §5 step 4).
#[test]
fn fast_retransmit_at_the_third_duplicate() {
    let pipe = lossy(&reno(8), 20, &[(1, 1)]);
    assert_eq!((pipe.fast_retransmits, pipe.sender.retransmits()), (1, 1));
    assert_eq!(pipe.sender.control().ssthresh(), 4_500);
    assert_eq!(pipe.sender.timeouts(), 0);
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if the threshold is not the one configured.
#[test]
fn dupack_threshold_of_five() {
    let pipe = lossy(&TransportSpec { dupack_threshold: 5, ..reno(8) }, 20, &[(1, 1)]);
    assert_eq!((pipe.fast_retransmits, pipe.sender.timeouts()), (1, 0));
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if segments that are late by less than three packets are retransmitted.
#[test]
fn slight_reordering_is_no_loss() {
    let late = script(&[(1, 1, Fate::Late(Span::from_micros(3)))]);
    let mut pipe = Pipe::new(&reno(8), 12_000, late);
    pipe.run(SECOND);
    assert_eq!((pipe.sender.retransmits(), pipe.receiver.assembly.reordered()), (0, 1));
    assert_eq!(pipe.sender.dup_acks(), 2);
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if holes are not all filled in one recovery, in order, as the pipe allows (RFC 6675 §5).
#[test]
fn sack_recovers_several_losses_of_one_window() {
    let pipe = lossy(&reno(12), 26, &[(1, 1), (3, 1), (4, 1), (8, 1)]);
    assert_eq!((pipe.fast_retransmits, pipe.sender.retransmits()), (1, 4));
    assert_eq!(pipe.sender.timeouts(), 0);
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if the last segment of a window, lost with an earlier one, waits for the timer although
/// NextSeg's rule 4 may send it once (RFC 6675 §4).
#[test]
fn rescue_retransmission_saves_the_tail() {
    let pipe = lossy(&reno(8), 8, &[(1, 1), (7, 1)]);
    assert_eq!((pipe.sender.timeouts(), pipe.sender.retransmits()), (0, 2));
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if a partial ACK does not retransmit the next hole at once, without duplicates
/// (RFC 6582 §3.2 step 3), or if the two losses halve the window twice.
#[test]
fn newreno_recovers_one_hole_a_round_trip() {
    let pipe = lossy(&without_sack(10), 20, &[(2, 1), (5, 1)]);
    assert_eq!((pipe.fast_retransmits, pipe.sender.retransmits()), (1, 2));
    assert_eq!(pipe.sender.timeouts(), 0);
    assert_eq!(pipe.sender.control().ssthresh(), 6 * MSS, "12 in flight at the third duplicate");
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if a lost retransmission is noticed by anything but the timer, if the timeout does not
/// go back to the hole with a window of one segment (RFC 5681 §3.1), or if it sends again what the
/// SACKs have reported.
#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    let pipe = lossy(&reno(8), 12, &[(1, 1), (1, 2), (4, 1)]);
    assert_eq!((pipe.sender.timeouts(), pipe.fast_retransmits), (1, 1));
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if all that was outstanding is not sent again after a timeout without SACK, in slow
/// start, skipping what the cumulative ACKs reveal.
#[test]
fn go_back_after_a_timeout_without_sack() {
    let pipe = lossy(&without_sack(4), 6, &[(1, 1), (2, 1), (3, 1)]);
    assert_eq!((pipe.sender.timeouts(), pipe.fast_retransmits), (1, 0));
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if the timeout does not double, stops at something else than `max_rto`, or does not
/// restart from the timeout (RFC 6298 §5.5): 10, 20, 40, 80, 80 ms.
#[test]
fn the_timeout_doubles() {
    let pipe = lossy(&reno(4), 1, &[(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)]);
    assert_eq!(pipe.sender.timeouts(), 5);
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if the first two duplicates do not let one new segment each go (RFC 3042): a window of
/// three alone would never see a third duplicate.
#[test]
fn limited_transmit_finds_the_third_duplicate() {
    let with = lossy(&reno(3), 8, &[(0, 1)]);
    assert_eq!((with.sender.timeouts(), with.fast_retransmits), (0, 1));
    insta::assert_snapshot!(with.trace);
    let without = TransportSpec { limited_transmit: false, ..reno(3) };
    let without = lossy(&without, 8, &[(0, 1)]);
    assert_eq!((without.sender.timeouts(), without.fast_retransmits), (1, 0));
}

/// Breaks if duplicate ACKs below `recover` start a fast retransmit after a timeout (RFC 6582 §4).
///
/// 24 segments leave; 0, 2, 4, 10 and 17 are lost, and so are all duplicate ACKs. After the timeout
/// the sender goes back and sends much that has arrived: 0; 2, 3; 4, 5, 6; 10 to 13; and so on. The
/// copies give duplicate ACKs, three of 17 among them.
#[test]
fn no_fast_retransmit_below_recover() {
    let mut hole = losing(&[0, 2, 4, 10, 17].map(|segment| (segment, 1)));
    let mut acks_to_lose = 19;
    let network = Box::new(move |packet: &PacketMeta, to_receiver: bool| {
        if !to_receiver && acks_to_lose > 0 {
            acks_to_lose -= 1;
            return Fate::Drop;
        }
        hole(packet, to_receiver)
    });
    let mut pipe = Pipe::new(&without_sack(24), 40_000, network);
    pipe.run(SECOND);
    assert!(pipe.sender.done());
    assert_eq!((pipe.sender.timeouts(), pipe.fast_retransmits), (1, 0), "{}", pipe.trace);
    assert_eq!(pipe.trace.matches("R>S  ack 17\n").count(), 4, "{}", pipe.trace);
}

/// Breaks if a classic retransmission is ECN-capable (RFC 3168 §6.1.5), or DCTCP's is not.
#[test]
fn retransmissions_and_ecn() {
    let classic = TransportSpec { ecn: Some(true), ..reno(8) };
    let pipe = lossy(&classic, 10, &[(1, 1)]);
    assert!(pipe.trace.contains("data 1 retx  "), "{}", pipe.trace);
    let dctcp = TransportSpec { init_cwnd: Amount::Packets(8), ..spec("dctcp") };
    let pipe = lossy(&dctcp, 10, &[(1, 1)]);
    assert!(pipe.trace.contains("data 1 retx ECT"), "{}", pipe.trace);
}

/// Breaks if a loss halves the window again that a mark of the same window has halved (RFC 3168
/// §6.1.2), or if DCTCP lets a mark's small cut stand for a loss's half (RFC 8257 §3.5) but where one
/// reduction a window is asked for.
#[test]
fn a_mark_and_a_loss_in_one_window() {
    let mishaps = [(1, 1, Fate::Mark), (4, 1, Fate::Drop)];
    let ssthresh = |spec: &TransportSpec| {
        let mut pipe = Pipe::new(spec, 40_000, script(&mishaps));
        pipe.run(Time(190_000_000));
        assert_eq!(pipe.fast_retransmits, 1, "{}", pipe.trace);
        (pipe.sender.control().ssthresh(), pipe.trace)
    };
    // One ACK has grown the window from 10 to 11 when the mark's ECE halves it to 5.5.
    let (once, trace) = ssthresh(&TransportSpec { ecn: Some(true), ..spec("newreno") });
    assert_eq!(once, 5_500, "{trace}");
    // DCTCP, alpha 15/16 after the first ACK: the mark cuts to 5.843, and the loss halves that.
    let (twice, trace) = ssthresh(&spec("dctcp"));
    assert_eq!(twice, 2_921, "{trace}");
    let stack = Stack { one_reduction: true, ..Stack::default() };
    let (once, trace) = ssthresh(&TransportSpec { stack, ..spec("dctcp") });
    assert_eq!(once, 5_843, "{trace}");
}

/// Breaks if bitmaps are touched, or anything is allocated, while nothing is lost.
#[test]
fn a_clean_flow_never_touches_the_bitmaps() {
    let pipe = lossy(&reno(10), 5_000, &[]);
    assert!(pipe.sender.board.never_used(), "the sender's scoreboard has memory");
    let cfg = config(&reno(10));
    assert_eq!(pipe.sender.window(&cfg), pipe.sender.control().window());
}
