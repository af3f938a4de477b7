//! Rates, pacing and BBR on the pipe: 8 Gb/s, a round trip of 101 us, so that 101 segments of 1000 bytes fill it.

use super::pipe::{Fate, MSS, Network, Pipe, losing, script, spec};
use crate::spec::{Stack, TransportSpec};
use leafspine_core::{Span, Time};
use leafspine_schemes::Amount;
use leafspine_schemes::cc::{CongestionControl, Control};
use std::fmt::Write as _;

const SECOND: Time = Time(1_000_000_000_000);

/// With a handshake, so that the first round trip is known.
fn bbr(scheme: &str) -> TransportSpec {
    TransportSpec { handshake: true, ..spec(scheme) }
}

fn run(spec: &TransportSpec, segments: u32, network: Network) -> Pipe {
    let mut pipe = Pipe::new(spec, u64::from(segments * MSS), network);
    pipe.run(SECOND);
    assert!(pipe.sender.done(), "{}", pipe.trace);
    assert_eq!(pipe.delivered, u64::from(segments * MSS));
    pipe
}

/// When data was sent, in tenths of a microsecond.
fn departures(pipe: &Pipe) -> Vec<u64> {
    let sent = pipe.trace.lines().filter(|line| line.contains("S>R  data"));
    sent.map(|line| {
        let us: f64 = line.split("us").next().expect("a time").trim().parse().expect("a number");
        (us * 10.0).round() as u64
    })
    .collect()
}

/// Breaks if a burst is larger than the quantum, or if what follows it does not wait for all of it.
///
/// By hand: a handshake of 100 us, a window of 10 far below the threshold, so 20 segments in 100 us: 1.04 of
/// five microseconds each, with the header. Bursts of two and of three.
#[test]
fn bursts_are_of_a_quantum() {
    for (quantum, expected) in [
        (0, [0, 52, 104, 156, 208, 260]),
        (2, [0, 0, 104, 104, 208, 208]),
        (3, [0, 0, 0, 156, 156, 156]),
    ] {
        let stack = Stack { pacing: true, pacing_quantum: quantum, ..Stack::default() };
        let reno = TransportSpec { handshake: true, stack, ..spec("newreno") };
        let pipe = run(&reno, 6, losing(&[]));
        let sent = departures(&pipe);
        assert_eq!(sent.iter().map(|at| at - sent[0]).collect::<Vec<_>>(), expected);
    }
}

/// Breaks if BBR sends its first window at another rate than 2.77 (2.885) windows a round trip of 100 us, and
/// in bursts.
#[test]
fn the_first_window_is_paced() {
    for (scheme, gain) in [("bbr1", 2.885), ("bbr3", 2.77)] {
        let pipe = run(&bbr(scheme), 10, losing(&[]));
        let sent = departures(&pipe);
        let apart = 1000.0 / (gain * 10.0);
        for (n, at) in sent.iter().enumerate() {
            let due = n as f64 * apart;
            assert!(((at - sent[0]) as f64 - due).abs() < 1.5, "{n}: {at}, not {due}");
        }
    }
}

/// Where the control is, after each of the first 30 round trips.
fn states(scheme: &str) -> String {
    let mut pipe = Pipe::new(&bbr(scheme), 50_000_000, losing(&[]));
    let mut text = String::new();
    for round in 0..30 {
        pipe.run(Time(round * 101_000_000));
        let sender = &pipe.sender;
        let (state, bw) = match sender.control() {
            Control::Bbr1(bbr) => (format!("{:?} {:.3}", bbr.state(), bbr.pacing_gain()), bbr.bw()),
            Control::Bbr3(bbr) => (format!("{:?}", bbr.state()), bbr.bw()),
            other => panic!("{other:?}"),
        };
        let window = sender.control().window() / MSS;
        writeln!(
            text,
            "{round:2} {state:<14} {:4.0} MB/s, window {window:3}, in flight {:3}",
            bw / 1e6,
            sender.in_flight()
        )
        .expect("strings take all");
    }
    text
}

/// Breaks if a lone flow does not find the line's rate in six round trips, lets more than the bandwidth-delay
/// product and what its gains add stand in flight later on, or takes its states in another order.
#[test]
fn a_lone_flow_finds_the_line() {
    insta::assert_snapshot!("bbr1_alone", states("bbr1"));
    insta::assert_snapshot!("bbr3_alone", states("bbr3"));
}

/// Breaks if losses in a window leave a byte behind, cost a timeout, or are sent again more than once.
#[test]
fn losses_are_made_good_once() {
    for scheme in ["bbr1", "bbr3"] {
        let lost: Vec<(u32, u32)> = (0..60).map(|n| (40 + n * 37, 1)).collect();
        let pipe = run(&bbr(scheme), 2_500, losing(&lost));
        assert_eq!((pipe.sender.timeouts(), pipe.sender.retransmits()), (0, 60), "{scheme}");
        assert_eq!(pipe.receiver.assembly.duplicates(), 0);
    }
}

/// Breaks if a flow that loses a whole window does not go on after its timeout with a segment, and to the line's
/// rate again.
#[test]
fn a_timeout_is_survived() {
    for scheme in ["bbr1", "bbr3"] {
        let lost: Vec<(u32, u32)> = (300..700).map(|segment| (segment, 1)).collect();
        let pipe = run(&bbr(scheme), 5_000, losing(&lost));
        assert_eq!(pipe.sender.timeouts(), 1, "{scheme}");
        let window = pipe.sender.control().window() / MSS;
        assert!((100..=320).contains(&window), "{scheme}: {window}");
    }
}

/// Breaks if version 3 does not keep its window below twice the bandwidth-delay product when every fifth segment
/// is marked, if version 1 does anything, or if version 3 answers although its data is not ECN-capable.
#[test]
fn marks_are_answered_by_version_3() {
    let mean = |scheme: &str, ecn: bool| {
        let marks: Vec<_> = (0..8_000).step_by(5).map(|n| (n, 1, Fate::Mark)).collect();
        let spec = TransportSpec { ecn: Some(ecn), ..bbr(scheme) };
        let pipe = run(&spec, 8_000, script(&marks));
        pipe.sender.mean_window(&pipe.cfg, pipe.now) / f64::from(MSS)
    };
    let [one, three] = ["bbr1", "bbr3"].map(|scheme| (mean(scheme, true), mean(scheme, false)));
    assert!((one.0 - one.1).abs() < 1e-9, "{one:?}");
    assert!(three.0 < 0.8 * three.1, "{three:?}");
}

/// Breaks if a spurious recovery leaves the window smaller: twenty segments are late by 80 us, and Eifel sees it.
#[test]
fn late_segments_cost_no_window() {
    for scheme in ["bbr1", "bbr3"] {
        let late: Vec<_> =
            (1_000..1_020).map(|n| (n, 1, Fate::Late(Span::from_micros(80)))).collect();
        let mut spec = TransportSpec { init_cwnd: Amount::Packets(20), ..bbr(scheme) };
        spec.stack =
            Stack { dsack: true, undo_dsack: true, eifel: Some(Span(0)), frto: true, ..spec.stack };
        let pipe = run(&spec, 3_000, script(&late));
        assert_eq!(pipe.sender.timeouts(), 0);
        assert!(pipe.sender.undos() > 0, "{scheme}: nothing was undone");
        assert!(pipe.sender.control().window() >= 190 * MSS, "{scheme}");
    }
}
