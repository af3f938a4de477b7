//! RACK, tail loss probes and proportional rate reduction, as traces to read. Segments of 1000 bytes,
//! 50 us each way, 1 us a packet; the first round trip is 101 us.

use super::pipe::{Fate, MSS, Network, Pipe, losing, script, spec};
use crate::spec::{Reduction, Stack, TransportSpec};
use leafspine_core::{Span, Time};
use leafspine_schemes::Amount;
use leafspine_schemes::cc::{CongestionControl, SlowStart};

const SECOND: Time = Time(1_000_000_000_000);

fn reno(window: u32, stack: Stack) -> TransportSpec {
    TransportSpec { init_cwnd: Amount::Packets(window), stack, ..spec("newreno") }
}

fn run(spec: &TransportSpec, segments: u32, network: Network) -> Pipe {
    let mut pipe = Pipe::new(spec, u64::from(segments * MSS), network);
    pipe.run(SECOND);
    assert!(pipe.sender.done(), "{}", pipe.trace);
    assert_eq!(pipe.delivered, u64::from(segments * MSS));
    pipe
}

fn plain() -> Stack {
    Stack::default()
}

fn rack() -> Stack {
    Stack { rack: true, ..plain() }
}

/// Breaks if RACK takes a segment for lost that is late by less than a quarter of a round trip, once it
/// has seen reordering; the threshold of three does.
///
/// 1 is late by 2 us: two SACKs, and then it is known that segments are reordered. 12 is late by 20
/// us, less than 25: some ten segments overtake it.
#[test]
fn rack_waits_for_what_is_late() {
    let late = || {
        let us = |us| Fate::Late(Span::from_micros(us));
        script(&[(1, 1, us(2)), (12, 1, us(20))])
    };
    let pipe = run(&reno(10, rack()), 40, late());
    assert_eq!(
        (pipe.sender.retransmits(), pipe.receiver.assembly.reordered()),
        (0, 2),
        "{}",
        pipe.trace
    );
    assert_eq!(pipe.sender.control().ssthresh(), u32::MAX);
    insta::assert_snapshot!(pipe.trace);
    let threshold = run(&reno(10, plain()), 40, late());
    let (again, twice) = (threshold.sender.retransmits(), threshold.receiver.assembly.duplicates());
    assert!(again > 0 && again == twice, "all it sends again is spurious: {}", threshold.trace);
}

/// Breaks if a lost retransmission waits for the timer: one that was sent after it has arrived
/// (RFC 8985 §3.1). RFC 6675 alone needs the timeout.
#[test]
fn rack_finds_a_lost_retransmission() {
    let twice = [(1, 1), (1, 2)];
    let pipe = run(&reno(8, rack()), 24, losing(&twice));
    assert_eq!((pipe.sender.timeouts(), pipe.sender.retransmits()), (0, 2), "{}", pipe.trace);
    insta::assert_snapshot!(pipe.trace);
    assert_eq!(run(&reno(8, plain()), 24, losing(&twice)).sender.timeouts(), 1);
}

/// Breaks if two SACKs, too few for the threshold, do not let the timer for what is late find the
/// loss: at 103 us, when 3 and 4 are there, 2 is due at 1 + 101 + 25 us (RFC 8985 §6.2 step 5).
#[test]
fn rack_needs_no_third_duplicate() {
    let pipe = run(&reno(5, rack()), 5, losing(&[(2, 1)]));
    assert_eq!((pipe.sender.timeouts(), pipe.sender.retransmits()), (0, 1), "{}", pipe.trace);
    insta::assert_snapshot!(pipe.trace);
    assert_eq!(run(&reno(5, plain()), 5, losing(&[(2, 1)])).sender.timeouts(), 1);
}

/// Breaks if after a timeout more is sent than the window, or less than what is lost (§6.3).
#[test]
fn rack_after_a_timeout() {
    let all: Vec<(u32, u32)> = (0..6).map(|segment| (segment, 1)).collect();
    let pipe = run(&reno(6, rack()), 12, losing(&all));
    assert_eq!((pipe.sender.timeouts(), pipe.sender.retransmits()), (1, 6), "{}", pipe.trace);
    insta::assert_snapshot!(pipe.trace);
}

fn probing() -> Stack {
    Stack { tlp: Some(Span(0)), ..rack() }
}

/// Breaks if the last segment's loss waits for the retransmission timer and not for two round trips
/// (RFC 8985 §7.2), or if the probe is counted as a timeout.
#[test]
fn a_probe_repairs_the_tail() {
    let pipe = run(&reno(5, probing()), 5, losing(&[(4, 1)]));
    let counts = (pipe.sender.timeouts(), pipe.sender.retransmits(), pipe.sender.probes());
    assert_eq!(counts, (0, 1, 1), "{}", pipe.trace);
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if the probe of the last segment does not uncover the losses before it: 3 and 4 are lost, 4
/// comes by the probe, and RACK finds 3.
#[test]
fn a_probe_uncovers_the_losses_before_it() {
    let pipe = run(&reno(5, probing()), 5, losing(&[(3, 1), (4, 1)]));
    let counts = (pipe.sender.timeouts(), pipe.sender.retransmits(), pipe.sender.probes());
    assert_eq!(counts, (0, 2, 1), "{}", pipe.trace);
}

/// Breaks if new data, where there is some, is not the probe, or if a probe that repaired a loss alone
/// leaves the window as it is (RFC 8985 §7.3, §7.4).
///
/// The receive window of one is full, so 1 itself is the probe; the ACK of 2 shows that it was needed:
/// of a window of two, half is bounded by two segments.
#[test]
fn a_probe_that_repairs_a_loss_shrinks_the_window() {
    let spec = TransportSpec { max_cwnd: Some(Amount::Packets(1)), ..reno(1, probing()) };
    let pipe = run(&spec, 5, losing(&[(1, 1)]));
    assert_eq!((pipe.sender.probes(), pipe.sender.timeouts()), (1, 0), "{}", pipe.trace);
    assert_eq!(pipe.sender.control().ssthresh(), 2 * MSS, "{}", pipe.trace);
    // Without a sample the probe takes the timer's place; it is new data, and RACK finds the losses.
    let new_data = run(&reno(2, probing()), 8, losing(&[(0, 1), (1, 1)]));
    assert_eq!((new_data.sender.probes(), new_data.sender.timeouts()), (1, 0));
    assert!(new_data.trace.contains("10000.0us  S>R  data 2 "), "{}", new_data.trace);
}

/// Breaks if the window of a recovery is not handed out in proportion: between the retransmission and
/// the recovery's end, one new segment for two that arrive, where RFC 6675 sends nothing for half a
/// round trip and then one for one.
#[test]
fn proportional_rate_reduction() {
    let mut sent = vec![];
    for reduction in [Reduction::AtOnce, Reduction::Prr6937, Reduction::Prr9937] {
        let pipe = run(&reno(20, Stack { reduction, ..plain() }), 60, losing(&[(1, 1)]));
        assert_eq!((pipe.sender.retransmits(), pipe.sender.timeouts()), (1, 0), "{}", pipe.trace);
        if reduction == Reduction::Prr9937 {
            insta::assert_snapshot!(pipe.trace);
        }
        sent.push(pipe.trace);
    }
    assert_ne!(sent[0], sent[1]);
}

/// Breaks if segments are not a part of a round trip apart: with a window of 10 after the handshake's
/// 100 us, 5 us in slow start (a window each half round trip; a packet is 1040 bytes of 10,000, so
/// 5.2 us). The first leaves at once.
#[test]
fn paced_segments_are_apart() {
    let stack = Stack { pacing: true, ..plain() };
    let spec = TransportSpec { handshake: true, ..reno(10, stack) };
    let pipe = run(&spec, 24, losing(&[]));
    assert_eq!(pipe.sender.retransmits(), 0);
    // Slow start doubles the window all the same: each of the nine ACKs until then has added one.
    let last = "247.5us  S>R  data 23 FIN                     cwnd 19";
    assert!(pipe.trace.contains(last), "{}", pipe.trace);
    insta::assert_snapshot!(pipe.trace);
}

/// Breaks if what is lost is not found, or the timers starve each other, while segments are paced.
#[test]
fn paced_segments_are_recovered() {
    for stack in [plain(), rack(), probing(), Stack { reduction: Reduction::Prr9937, ..probing() }]
    {
        let spec = TransportSpec { handshake: true, ..reno(10, Stack { pacing: true, ..stack }) };
        let pipe = run(&spec, 60, losing(&[(3, 1), (17, 1), (18, 1)]));
        assert_eq!((pipe.sender.retransmits(), pipe.sender.timeouts()), (3, 0), "{}", pipe.trace);
    }
}

/// Breaks if a recovery whose pipe has fallen below the threshold grows it by more than what arrives
/// while ACKs only SACK (RFC 9937 §6: the bound is larger by a segment for an ACK that covers more and
/// shows no loss), or if RFC 6937's bound is not larger by a segment with each (§3: PRR-SSRB).
///
/// Of 20 segments 1 to 12 are lost. 13, 14 and 15 are SACKed, and 20 to 23 have left by limited transmit and
/// the ACK of 0. The threshold is half of 21.
#[test]
fn two_bounds_of_a_recovery_after_many_losses() {
    let lost: Vec<(u32, u32)> = (1..=12).map(|segment| (segment, 1)).collect();
    let mut sent = vec![];
    for reduction in [Reduction::Prr6937, Reduction::Prr9937] {
        let pipe = run(&reno(20, Stack { reduction, ..plain() }), 40, losing(&lost));
        assert_eq!((pipe.sender.retransmits(), pipe.sender.timeouts()), (12, 0), "{}", pipe.trace);
        let again = pipe.trace.lines().filter(|line| line.contains("retx"));
        let at = again.map(|line| line.split("us").next().expect("a time").trim().to_owned());
        sent.push(at.collect::<Vec<_>>());
        insta::assert_snapshot!(format!("two_bounds_{reduction:?}"), pipe.trace);
    }
    // The pipe is 8 when 16 to 23 are under way, two and a half below the threshold. RFC 6937: a segment for
    // what arrives and one more, then one for each; RFC 9937 has the one more when 1 is there, and the pipe
    // is 8 again.
    let expected = [
        [116, 116, 117, 118, 119, 120, 202, 203, 215, 216, 217, 218],
        [116, 117, 118, 119, 120, 202, 203, 215, 216, 217, 217, 218],
    ];
    assert_eq!(sent, expected.map(|times| times.map(|at: u32| format!("{at}.0")).to_vec()));
}

fn slow_start(slow_start: SlowStart) -> TransportSpec {
    reno(16, Stack { slow_start, ..plain() })
}

/// All segments of the second round trip, and those after, are late by 5 ms: 16 are in the first.
fn late_from_the_second_round() -> Network {
    let late = |segment| (segment, 1, Fate::Late(Span::from_millis(5)));
    script(&(16..400).map(late).collect::<Vec<_>>())
}

/// Breaks if HyStart does not end slow start when the first eight samples of a round are later than the
/// shortest round trip by more than 4 ms (Ha and Rhee §4.2), at the next ACK: 16 segments have become 32,
/// then 40.
#[test]
fn hystart_ends_slow_start_where_round_trips_grow() {
    let pipe = run(&slow_start(SlowStart::HyStart), 90, late_from_the_second_round());
    assert_eq!((pipe.sender.retransmits(), pipe.sender.timeouts()), (0, 0), "{}", pipe.trace);
    assert_eq!(pipe.sender.control().ssthresh(), 40 * MSS, "{}", pipe.trace);
    insta::assert_snapshot!(pipe.trace);
    let standard = run(&slow_start(SlowStart::Standard), 90, late_from_the_second_round());
    assert_eq!(standard.sender.control().ssthresh(), u32::MAX);
}

/// Breaks if HyStart++ ends slow start at once, or grows as before: from the eighth sample on a quarter of
/// a segment an ACK (RFC 9406 §4.2, conservative slow start).
#[test]
fn hystart_plus_plus_grows_a_quarter_as_fast() {
    let pipe = run(&slow_start(SlowStart::HyStartPlusPlus), 90, late_from_the_second_round());
    assert_eq!((pipe.sender.retransmits(), pipe.sender.timeouts()), (0, 0), "{}", pipe.trace);
    assert_eq!(pipe.sender.control().ssthresh(), u32::MAX, "{}", pipe.trace);
    insta::assert_snapshot!(pipe.trace);
}
