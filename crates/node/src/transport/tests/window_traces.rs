//! Handshake, windows, marks and delayed ACKs, as traces to read.

use super::pipe::{Fate, MSS, Network, Pipe, losing, script, spec, with_param};
use crate::spec::TransportSpec;
use leafspine_core::{Flags, PacketMeta, Span, Time};
use leafspine_schemes::cc::{CongestionControl, Control};
use leafspine_schemes::{Amount, Value};

const SECOND: Time = Time(1_000_000_000_000);

fn run(spec: &TransportSpec, bytes: u64, network: Network) -> Pipe {
    let mut pipe = Pipe::new(spec, bytes, network);
    pipe.run(SECOND);
    assert!(pipe.sender.done(), "{}", pipe.trace);
    assert_eq!((pipe.delivered, pipe.completions), (bytes, 1));
    pipe
}

fn small(scheme: &str, window: u32) -> TransportSpec {
    TransportSpec { init_cwnd: Amount::Packets(window), ..spec(scheme) }
}

/// Breaks if an ACK releases anything but two segments in slow start (RFC 5681 §3.1 eq. 2), or if
/// the last segment, a short one, lacks FIN.
#[test]
fn slow_start_doubles_every_round_trip() {
    let pipe = run(&small("newreno", 2), 13_500, losing(&[]));
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if the initial window is not what the scenario says, in packets or in bytes (RFC 6928).
#[test]
fn initial_window() {
    for (amount, segments) in [
        (Amount::Packets(1), 1),
        (Amount::Packets(10), 10),
        (Amount::Bytes(4_380), 4),
        (Amount::Bytes(1), 1),
    ] {
        let spec = TransportSpec { init_cwnd: amount, ..spec("newreno") };
        let mut pipe = Pipe::new(&spec, 100_000, losing(&[]));
        pipe.run(Time(50_000_000));
        assert_eq!(pipe.sender.sent(), segments, "{amount}");
    }
}

/// Breaks if data leaves before the SYN-ACK, if SYN or SYN-ACK are ECN-capable or larger than 40
/// bytes, or if the third ACK does not ride on data (RFC 9293 §3.5, RFC 3168 §6.1.1).
#[test]
fn three_way_handshake() {
    let spec = TransportSpec { handshake: true, ..small("dctcp", 2) };
    let network: Network = Box::new(|packet, _| {
        if packet.flags.has(Flags::SYN) {
            assert_eq!((packet.size, packet.payload), (40, 0));
        } else if packet.is_data() {
            assert!(packet.flags.has(Flags::ACK) && packet.size == 1040);
        }
        Fate::Arrive
    });
    let pipe = run(&spec, 4_000, network);
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if the third ACK, asked to be a packet of its own, is not one of 40 bytes that is not
/// ECN-capable, before all data, or if its loss holds anything up (RFC 9293 §3.10.7.4).
#[test]
fn the_third_ack_as_a_packet_of_its_own() {
    let spec = TransportSpec { handshake: true, handshake_ack: true, ..small("dctcp", 2) };
    for fate in [Fate::Arrive, Fate::Drop] {
        let network: Network = Box::new(move |packet, to_receiver| {
            let third = to_receiver && packet.is_pure_ack();
            if third {
                assert_eq!((packet.size, packet.ecn), (40, leafspine_core::Ecn::NotCapable));
            }
            if third { fate } else { Fate::Arrive }
        });
        let pipe = run(&spec, 4_000, network);
        assert_eq!((pipe.receiver.assembly.delivered(), pipe.sender.timeouts()), (4_000, 0));
        let forward = pipe.trace.lines().filter(|line| line.contains("S>R"));
        let kinds: Vec<bool> = forward.map(|line| line.contains("data")).collect();
        assert_eq!(kinds, [false, false, true, true, true, true], "{}", pipe.trace);
    }
}

/// The first `n` packets with these flags are lost.
fn losing_first(n: u32, flags: Flags) -> Network {
    let mut left = n;
    Box::new(move |packet: &PacketMeta, _| {
        if packet.flags.without(Flags::ECE) == flags && left > 0 {
            left -= 1;
            return Fate::Drop;
        }
        Fate::Arrive
    })
}

/// Breaks if a lost SYN is not sent again with back-off (RFC 6298 §5.5: after 10 and 20 ms), or if
/// data then starts with more than one segment (RFC 5681 §3.1).
#[test]
fn lost_syns_back_off() {
    let spec = TransportSpec { handshake: true, ..small("newreno", 10) };
    let pipe = run(&spec, 5_000, losing_first(2, Flags::SYN));
    assert_eq!((pipe.sender.timeouts(), pipe.sender.retransmits()), (2, 0));
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if a lost SYN-ACK is not made good by the SYN that follows.
#[test]
fn a_lost_syn_ack_is_asked_for_again() {
    let spec = TransportSpec { handshake: true, ..small("newreno", 10) };
    let pipe = run(&spec, 2_000, losing_first(1, Flags::SYN.with(Flags::ACK)));
    assert_eq!(pipe.sender.timeouts(), 1);
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if ECE does not last until CWR, if two marks of one window reduce it twice, or if CWR is
/// not on the first new segment after the reduction (RFC 3168 §6.1.2, §6.1.3).
#[test]
fn ece_and_cwr_once_a_window() {
    let spec = TransportSpec { ecn: Some(true), ..small("newreno", 8) };
    let marks = script(&[(1, 1, Fate::Mark), (3, 1, Fate::Mark)]);
    let pipe = run(&spec, 20_000, marks);
    // 8 and one ACK: 9, halved once.
    assert_eq!(pipe.sender.control().ssthresh(), 4_500);
    assert_eq!((pipe.trace.matches("CWR").count(), pipe.receiver.marks()), (1, 2));
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if a mark in the next window is ignored: one reduction per window, not per flow.
#[test]
fn the_next_window_is_reduced_again() {
    let spec = TransportSpec { ecn: Some(true), ..small("newreno", 8) };
    let marks = script(&[(1, 1, Fate::Mark), (12, 1, Fate::Mark)]);
    let pipe = run(&spec, 24_000, marks);
    assert_eq!(pipe.trace.matches("CWR").count(), 2, "{}", pipe.trace);
    assert_eq!(pipe.sender.control().ssthresh(), 2_250);
}

/// Breaks if the receiver's echo, the sender's count or its windows are off (RFC 8257 §3.2, §3.3).
///
/// By hand, g = 1/4, alpha from 0, window 4, no delayed ACKs. ACK 1 (no mark) ends the first
/// window: alpha 0; sent so far 0..4, so `WindowEnd` = 4. ACKs 2 to 5: those of segments 2 and 3
/// (ACKs 3, 4) carry ECE. ACK 5 > 4 ends the window: M = 2/4, alpha = 1/8. ACK 3 is the first with
/// ECE: it cuts by alpha/2 = 0, so the window stays. The next window's marks find alpha at 1/8.
#[test]
fn dctcp_alpha_after_known_marks() {
    let spec = with_param(small("dctcp", 4), "g", Value::Float(0.25));
    let spec = with_param(spec, "initial_alpha", Value::Float(0.0));
    let marks = script(&[(2, 1, Fate::Mark), (3, 1, Fate::Mark)]);
    let mut pipe = Pipe::new(&spec, 60_000, marks);
    let alpha = |pipe: &Pipe| match pipe.sender.control() {
        Control::Dctcp(dctcp) => dctcp.alpha(),
        other => panic!("{other:?}"),
    };
    pipe.run(Time(105_000_000));
    assert_eq!((pipe.sender.una(), alpha(&pipe)), (4, 0.0), "{}", pipe.trace);
    pipe.run(Time(205_000_000));
    assert!(pipe.sender.una() >= 5);
    assert_eq!(alpha(&pipe), 0.125, "{}", pipe.trace);
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if DCTCP cuts twice in a window, or by anything but alpha/2 (RFC 8257 §3.4).
///
/// By hand: alpha is 1; the first ACK, without a mark, ends a window: alpha = 15/16. It also grows
/// the window to 11. The second ACK has ECE: 11 x (1 - 15/32) = 5.84375. The other eight marks of
/// the window cut nothing.
#[test]
fn dctcp_cuts_once_a_window() {
    let marks: Vec<_> = (1..10).map(|segment| (segment, 1, Fate::Mark)).collect();
    let mut pipe = Pipe::new(&spec("dctcp"), 60_000, script(&marks));
    pipe.run(Time(112_000_000));
    assert_eq!(pipe.sender.una(), 10);
    assert_eq!(pipe.sender.control().window(), 5_843, "{}", pipe.trace);
}

/// Breaks if ACKs wait for more than a second segment or beyond the timer (500 us, for the first
/// segment here), or if the last segment's ACK waits (RFC 5681 §4.2).
#[test]
fn delayed_acks() {
    let spec = TransportSpec { delayed_ack: Some(Span::from_micros(500)), ..small("newreno", 1) };
    let pipe = run(&spec, 8_000, losing(&[]));
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if delayed ACKs are not at once for segments out of order and for one that fills a gap
/// (RFC 5681 §4.2).
#[test]
fn delayed_acks_do_not_delay_recovery() {
    let spec = TransportSpec { delayed_ack: Some(Span::from_micros(500)), ..small("newreno", 6) };
    let pipe = run(&spec, 14_000, losing(&[(1, 1)]));
    assert_eq!((pipe.sender.timeouts(), pipe.fast_retransmits), (0, 1));
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if an ACK speaks for segments with and without marks at once: each change of the mark
/// sends what has been put off with the old state (RFC 8257 §3.2 fig. 1).
///
/// Marked: 1, 2, 3 and 6. Put off: 0; then 1 changes the mark: ack 1 without ECE, 1 is put off;
/// 2 is the second: ack 3 ECE; 3 put off; 4 changes: ack 4 ECE; 4 put off; 5 the second: ack 6; 6
/// changes but nothing waits; 7 changes: ack 7 ECE, and so on.
#[test]
fn delayed_acks_under_changing_marks() {
    let spec = TransportSpec { delayed_ack: Some(Span::from_micros(500)), ..small("dctcp", 10) };
    let marks: Vec<_> = [1, 2, 3, 6].map(|segment| (segment, 1, Fate::Mark)).to_vec();
    let pipe = run(&spec, 10_000, script(&marks));
    let acks: Vec<_> = pipe
        .trace
        .lines()
        .filter_map(|line| line.split_once("R>S  "))
        .map(|(_, ack)| ack)
        .collect();
    assert_eq!(acks, ["ack 1", "ack 3 ECE", "ack 4 ECE", "ack 6", "ack 7 ECE", "ack 9", "ack 10"]);
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if the receive window is overrun, or if a window that it limits still grows (RFC 7661).
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let spec = TransportSpec { max_cwnd: Some(Amount::Packets(6)), ..small("newreno", 4) };
    let mut pipe = Pipe::new(&spec, 400_000, losing(&[]));
    pipe.check = |pipe, _| assert!(pipe.sender.in_flight() <= 6);
    pipe.run(SECOND);
    assert!(pipe.sender.done());
    assert_eq!(pipe.sender.control().window(), 7 * MSS, "one ACK past what is used, no more");
}

/// Breaks if the mean window is not weighted by time.
///
/// By hand: a window of 1 for 101 us (1 us of line time and a round trip of 100 us), then 2, whose
/// first ACK comes after another 101 us and makes it 3; the second, 1 us later, finishes the flow
/// of three segments and adds nothing, as one segment in a window of three is not all of it.
/// (1 x 101 + 2 x 101 + 3 x 1) / 203 segments.
#[test]
fn mean_window_is_weighted_by_time() {
    let pipe = run(&small("newreno", 1), 3_000, losing(&[]));
    assert_eq!(pipe.now, Time(203_000_000));
    let mean = pipe.sender.mean_window(&pipe.cfg, pipe.now);
    assert!((mean - 306_000.0 / 203.0).abs() < 1e-9, "{mean}");
}
