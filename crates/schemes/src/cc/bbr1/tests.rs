//! BBR as Linux has it, driven by samples made by hand: segments of 1000 bytes, a round trip of 100
//! us. Ten segments in it are a tenth of a segment a microsecond.

use crate::cc::{ALL, CongestionControl, Control, FlowEnv, LinuxBbr1, RateSample, Repair};
use crate::cc::{Bbr1State as State, LostSegment, RateControl};
use crate::{Params, Value};
use leafspine_core::{Rng, Role, Span, Time};

const MSS: u32 = 1000;
const RTT: Span = Span::from_micros(100);
/// Bytes a second of a segment a round trip, and what of it is paced at.
const SEGMENT: f64 = 1e7;
const MARGIN: f64 = 0.99;
/// 2.885 in 256ths.
const HIGH: f64 = 739.0 / 256.0;
/// Segments of three bursts where the rate is so high that each is of 64 KB.
const BURSTS: u32 = 3 * 65;

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

/// A flow whose ACKs come once a round trip, each for all that was sent in the one before.
struct Flow {
    control: Control,
    now: Time,
    total: u64,
    lost: u64,
    /// Segments in flight after an ACK.
    in_flight: u32,
    rtt: Span,
}

impl Flow {
    fn with(changes: &[(&str, Value)]) -> Flow {
        let entry = ALL.iter().find(|entry| entry.info.name == "bbr1").expect("registered");
        let defaults = Params::defaults(entry.info.params);
        let params =
            changes.iter().fold(defaults, |all, (key, value)| all.with(key, value.clone()));
        let env = FlowEnv { init_cwnd: 10 * MSS, whole: true, ..FlowEnv::of_segments(MSS) };
        let mut control = (entry.build)(&params, &env).expect("valid");
        let rate = control.by_rate().expect("BBR goes by rates");
        rate.begin(RTT, Rng::new(1, Role::Transport, 0), us(100));
        Flow { control, now: us(100), total: 0, lost: 0, in_flight: 10, rtt: RTT }
    }

    fn new() -> Flow {
        Flow::with(&[])
    }

    fn bbr(&self) -> &LinuxBbr1 {
        match &self.control {
            Control::LinuxBbr1(bbr) => bbr,
            other => panic!("{other:?}"),
        }
    }

    fn rate(&mut self) -> &mut dyn RateControl {
        self.control.by_rate().expect("BBR goes by rates")
    }

    /// A round trip in which `segments` are delivered; all else as `change` has it.
    fn round(&mut self, segments: u32, change: impl FnOnce(&mut RateSample)) -> bool {
        self.now += self.rtt;
        let mut sample = RateSample {
            newly_acked: segments * MSS,
            prior: self.total,
            delivered: u64::from(segments * MSS),
            interval: Some(self.rtt),
            rtt: Some(self.rtt),
            srtt: self.rtt,
            prior_in_flight: (self.in_flight + segments) * MSS,
            in_flight: self.in_flight * MSS,
            delivered_at: self.now,
            next_at: self.now,
            ..RateSample::default()
        };
        self.total += u64::from(segments * MSS);
        sample.total = self.total;
        change(&mut sample);
        self.lost += u64::from(sample.newly_lost / MSS);
        sample.total_lost = self.lost;
        let now = self.now;
        self.rate().on_rate(&sample, now)
    }

    fn rounds(&mut self, n: u32, segments: u32) {
        (0..n).for_each(|_| {
            self.round(segments, |_| {});
        });
    }

    fn window(&self) -> u32 {
        self.control.window() / MSS
    }

    /// The pacing rate in segments a round trip.
    fn pace(&mut self) -> f64 {
        self.rate().pacing_rate() / SEGMENT
    }

    fn repairs(&mut self, repair: Repair, in_flight: u32) {
        let now = self.now;
        self.rate().on_repair(repair, in_flight * MSS, 0, now);
    }
}

/// Within what integers leave.
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-3 * expected, "{found}, not {expected}");
}

/// A flow whose pipe holds 100 segments, in `ProbeBW`.
fn cruising() -> Flow {
    let mut flow = Flow::new();
    for segments in [10, 29, 84] {
        flow.round(segments, |_| {});
    }
    flow.in_flight = 600;
    flow.rounds(4, 100);
    assert_eq!(flow.bbr().state(), State::Drain);
    flow.in_flight = 100;
    flow.rounds(1, 100);
    assert_eq!(flow.bbr().state(), State::ProbeBw);
    flow
}

/// Breaks if it does not start at 2.887 windows a round trip, one percent below that, or does not
/// leave Startup after three round trips without a quarter more, or Drain when the pipe is no more
/// than full.
#[test]
fn starts_up_and_drains() {
    let mut flow = Flow::new();
    near(flow.pace(), 10.0 * HIGH * MARGIN);
    for (segments, window) in [(10, 20), (29, 49), (84, 133)] {
        flow.round(segments, |_| {});
        assert_eq!((flow.window(), flow.bbr().state()), (window, State::Startup));
    }
    flow.in_flight = 600;
    flow.rounds(2, 100);
    assert_eq!(flow.bbr().state(), State::Startup);
    flow.rounds(1, 100);
    assert_eq!(flow.bbr().state(), State::Drain, "100 is less than a quarter above 84");
    near(flow.pace(), 100.0 * 88.0 / 256.0 * MARGIN);
    flow.in_flight = 296;
    flow.rounds(1, 100);
    assert_eq!(flow.bbr().state(), State::ProbeBw);
}

/// Breaks if a flow that runs out of data takes that for a full pipe.
#[test]
fn what_has_no_data_fills_no_pipe() {
    let mut flow = Flow::new();
    for _ in 0..10 {
        flow.round(10, |sample| sample.app_limited = true);
    }
    assert_eq!(flow.bbr().state(), State::Startup);
}

/// Breaks if the window is not twice what the pipe holds, with three bursts of 64 KB, even, two
/// more in the phase that probes, and what ACKs have delivered ahead of the rate.
///
/// 200 and 195 are 395, which is made even. All that a round trip delivers comes with one ACK: at
/// the end of an epoch's first round trip 100 are ahead of a rate of which nothing was due yet.
#[test]
fn bursts_and_bunches_have_room() {
    let mut flow = cruising();
    let mut windows = Vec::new();
    for _ in 0..16 {
        flow.rounds(1, 100);
        let probes = flow.bbr().pacing_gain() == 320;
        windows.push((probes, flow.window()));
    }
    let ahead = 100;
    let expected = |probes| (200 + ahead + BURSTS).next_multiple_of(2) + 2 * u32::from(probes);
    let last = windows[windows.len() - 8..].to_vec();
    assert!(last.iter().all(|(probes, window)| *window == expected(*probes)), "{windows:?}");
}

/// Breaks if a phase of the cycle is not a round trip, if the probing one ends before its data is
/// in flight or something is lost, or the draining one does not end when the queue is gone.
#[test]
fn phases_of_the_cycle() {
    let mut flow = cruising();
    let gains = |flow: &mut Flow, n: u32| -> Vec<u64> {
        let mut one = || {
            flow.now += Span::from_micros(1);
            flow.rounds(1, 100);
            flow.bbr().pacing_gain()
        };
        (0..n).map(|_| one()).collect()
    };
    while flow.bbr().pacing_gain() != 320 {
        gains(&mut flow, 1);
    }
    assert_eq!(gains(&mut flow, 2), [320; 2], "125 and bursts are not in flight");
    flow.in_flight = 400;
    assert_eq!(gains(&mut flow, 1), [192]);
    assert_eq!(gains(&mut flow, 7), [256, 256, 256, 256, 256, 256, 320]);
    flow.in_flight = 100;
    flow.round(100, |sample| sample.newly_lost = MSS);
    assert_eq!(flow.bbr().pacing_gain(), 320, "less than a round trip");
    flow.now += Span::from_micros(1);
    flow.round(100, |sample| sample.newly_lost = MSS);
    assert_eq!(flow.bbr().pacing_gain(), 192);
    flow.rtt = Span::from_micros(50);
    flow.in_flight = 100;
    flow.round(10, |sample| sample.rtt = None);
    assert_eq!(flow.bbr().pacing_gain(), 256, "no more than the pipe holds is in flight");
}

/// Breaks if what pacing holds back does not count as delivered by then, or the burst that follows
/// not as sent.
#[test]
fn in_flight_when_the_next_burst_leaves() {
    let ends = |wait: u64| {
        let mut flow = Flow::new();
        for segments in [10, 29, 84] {
            flow.round(segments, |_| {});
        }
        flow.in_flight = 600;
        flow.rounds(4, 100);
        // 300 are in flight; the pipe holds 100, and with its bursts 296.
        flow.in_flight = 300;
        flow.round(100, |sample| sample.next_at = sample.delivered_at + Span::from_micros(wait));
        flow.bbr().state() == State::ProbeBw
    };
    assert_eq!([ends(0), ends(3), ends(4)], [false, false, true]);
}

/// Breaks if the first round trip of a recovery does not send what ACKs deliver, if the window is
/// not given back after it, or if what is lost is not taken off.
#[test]
fn a_recovery_conserves_packets_for_a_round_trip() {
    let mut flow = cruising();
    flow.rounds(4, 100);
    let before = flow.window();
    flow.repairs(Repair::Fast, 90);
    flow.in_flight = 90;
    // Part of a round trip: the segments were sent before the recovery.
    let prior = flow.total;
    flow.round(10, |sample| sample.prior = prior - 50_000);
    assert_eq!(flow.window(), 100);
    flow.in_flight = 70;
    flow.round(10, |sample| {
        sample.prior = prior - 45_000;
        sample.newly_lost = 15 * MSS;
    });
    assert_eq!(flow.window(), 85, "of which 15 are lost");
    flow.in_flight = 95;
    flow.round(10, |sample| sample.prior = prior - 40_000);
    assert_eq!(flow.window(), 105);
    flow.in_flight = 100;
    flow.round(100, |_| {});
    assert_eq!(flow.window(), 205, "a round trip on it grows by what is delivered");
    flow.rate().on_repaired(us(0));
    flow.round(1, |sample| sample.prior = 0);
    assert!(flow.window() >= before, "{} of {before}", flow.window());
}

/// Breaks if a timeout does not leave a segment, or its end does not give the window back; or if
/// the pipe is not searched anew where it was not full.
#[test]
fn a_timeout_leaves_a_segment() {
    let mut flow = cruising();
    flow.rounds(4, 100);
    let before = flow.window();
    flow.repairs(Repair::Timeout, 0);
    assert_eq!(flow.window(), 1);
    flow.in_flight = 1;
    flow.round(1, |_| {});
    assert_eq!(flow.window(), 4, "never fewer once something is delivered");
    flow.rate().on_repaired(us(0));
    flow.round(1, |_| {});
    assert!(flow.window() >= before, "{} of {before}", flow.window());
    let mut young = Flow::new();
    young.rounds(3, 10);
    young.repairs(Repair::Timeout, 0);
    young.rounds(3, 10);
    assert_eq!(young.bbr().state(), State::Startup, "two of the three round trips counted before");
}

/// Breaks if a timeout that overtakes a recovery forgets the window of before that.
#[test]
fn a_timeout_in_a_recovery_keeps_the_window_of_before() {
    let mut flow = cruising();
    flow.rounds(4, 100);
    let before = flow.window();
    flow.repairs(Repair::Fast, 10);
    flow.in_flight = 10;
    flow.round(1, |sample| sample.prior = 0);
    assert!(flow.window() < 20);
    flow.repairs(Repair::Timeout, 0);
    flow.rate().on_repaired(us(0));
    flow.round(1, |_| {});
    assert!(flow.window() >= before, "{} of {before}", flow.window());
}

/// Breaks if the shortest round trip is not looked for after its time with four segments for so
/// long and a round trip, or if an ACK that may have been delayed is taken for it.
#[test]
fn a_shortest_round_trip_is_looked_for() {
    let mut flow = Flow::with(&[
        ("min_rtt_window", Value::Span(Span::from_millis(20))),
        ("probe_rtt_duration", Value::Span(Span::from_millis(3))),
    ]);
    for segments in [10, 29, 84, 100, 100, 100, 100, 100] {
        flow.round(segments, |_| {});
    }
    let before = flow.window();
    flow.now = us(20_500);
    assert!(!flow.round(100, |_| {}), "20 ticks are not over");
    flow.now = us(21_000);
    flow.rtt = Span::from_micros(150);
    assert!(flow.round(100, |sample| sample.ack_delayed = true));
    assert_eq!((flow.window(), flow.bbr().state()), (4, State::ProbeRtt));
    near(flow.pace(), 100.0 * MARGIN);
    flow.in_flight = 4;
    flow.round(4, |_| {});
    flow.now = us(24_700);
    flow.rounds(1, 4);
    assert_eq!(flow.bbr().state(), State::ProbeRtt);
    flow.now = us(26_500);
    flow.rounds(1, 4);
    assert_eq!(flow.bbr().state(), State::ProbeBw);
    assert!(flow.window() >= before.min(300), "{}", flow.window());
}

/// Breaks if a token bucket is not found: two intervals of four round trips that lose a third. The
/// rate is then the policer's, and gains do not cycle; a recovery that was in vain forgets it.
#[test]
fn a_policer_is_kept_to() {
    let mut flow = cruising();
    flow.rtt = Span::from_millis(1);
    let mut gains = Vec::new();
    for _ in 0..9 {
        flow.round(60, |sample| sample.newly_lost = 20 * MSS);
        gains.push(flow.bbr().pacing_gain());
    }
    assert_eq!((gains[7], gains[8]), (256, 256), "{gains:?}");
    near(flow.pace(), 6.0 * MARGIN);
    flow.rounds(20, 60);
    near(flow.pace(), 6.0 * MARGIN);
    flow.rate().on_spurious(us(0));
    let cycles = (0..20).any(|_| {
        flow.in_flight = 500;
        flow.rounds(1, 60);
        flow.bbr().pacing_gain() == 320
    });
    assert!(cycles);
}

/// Breaks if a flow that sends again after a pause probes at once, or enters `ProbeRTT`.
#[test]
fn a_pause_is_no_reason_to_probe() {
    let mut flow = cruising();
    while flow.bbr().pacing_gain() != 320 {
        flow.now += Span::from_micros(1);
        flow.rounds(1, 100);
    }
    flow.now = us(11_000_000);
    let now = flow.now;
    flow.rate().on_restart(now);
    near(flow.pace(), 100.0 * MARGIN);
    // An ACK that delivers nothing does not end it.
    flow.round(0, |sample| {
        sample.rtt = None;
        sample.interval = None;
    });
    flow.round(1, |_| {});
    assert_ne!(flow.bbr().state(), State::ProbeRtt);
}

/// Breaks if without a round trip the window is not that of a flow that begins, or the rate that of
/// a millisecond.
#[test]
fn without_a_round_trip() {
    let mut flow = Flow::new();
    let mut control = flow.control.clone();
    let rate = control.by_rate().expect("BBR goes by rates");
    rate.begin(Span::ZERO, Rng::new(1, Role::Transport, 0), us(0));
    near(rate.pacing_rate() / SEGMENT, HIGH * MARGIN);
    flow.control = control;
    let nothing = |sample: &mut RateSample| {
        sample.rtt = None;
        sample.interval = None;
    };
    flow.round(10, nothing);
    near(flow.pace(), 10.0 * HIGH * MARGIN);
    // Ten and three bursts of 285.8 MB/s.
    for _ in 0..100 {
        flow.round(10, nothing);
    }
    assert_eq!(
        flow.window(),
        (10 + BURSTS).next_multiple_of(2) + 4,
        "20 and steps of ten go beyond 206 by four"
    );
}

/// Breaks if a lost segment of a timeout is not counted before the timeout looks for a policer.
#[test]
fn losses_count_when_they_are_marked() {
    let mut flow = cruising();
    let lost = LostSegment {
        number: 1,
        size: MSS,
        tx_in_flight: MSS,
        lost: u64::from(MSS),
        app_limited: false,
        total: flow.total,
    };
    let now = flow.now;
    flow.rate().on_lost(&lost, now);
    assert_eq!(flow.bbr().lost(), 1);
}
