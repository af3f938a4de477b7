//! BBR's two versions, driven by samples made by hand: segments of 1000 bytes, a round trip of 100 us, and so
//! many segments a round trip as a test says. A rate of 10 MB/s is a segment a round trip.

use super::*;
use crate::Value;
use leafspine_core::{Rng, Role};

const MSS: u32 = 1000;
const RTT: Span = Span::from_micros(100);
/// Bytes a second of a segment a round trip.
const SEGMENT: f64 = 1e7;

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

/// A flow whose ACKs come once a round trip, each for all that was sent in the one before.
struct Flow {
    control: Control,
    now: Time,
    total: u64,
    /// Segments in flight after an ACK.
    in_flight: u32,
    sample: RateSample,
}

impl Flow {
    fn new(name: &str, changes: &[(&str, Value)], quantum: u32) -> Flow {
        let entry = ALL.iter().find(|entry| entry.info.name == name).expect("registered");
        let params =
            changes.iter().fold(Params::defaults(entry.info.params), |all, (key, value)| {
                all.with(key, value.clone())
            });
        let env =
            FlowEnv { init_cwnd: 10 * MSS, quantum: quantum * MSS, ..FlowEnv::of_segments(MSS) };
        let mut control = (entry.build)(&params, &env).expect("valid");
        let rate = control.by_rate().expect("BBR goes by rates");
        rate.begin(RTT, Rng::new(1, Role::Transport, 0), us(100));
        let sample = RateSample::default();
        Flow { control, now: us(100), total: 0, in_flight: 10, sample }
    }

    fn rate(&mut self) -> &mut dyn RateControl {
        self.control.by_rate().expect("BBR goes by rates")
    }

    /// A round trip in which `segments` are delivered at that rate; all else as `change` has it.
    fn round(&mut self, segments: u32, change: impl FnOnce(&mut RateSample)) -> bool {
        self.now += RTT;
        let mut sample = RateSample {
            newly_acked: segments * MSS,
            prior: self.total,
            delivered: u64::from(segments * MSS),
            rate: f64::from(segments) * SEGMENT,
            rtt: Some(RTT),
            srtt: RTT,
            tx_in_flight: segments * MSS,
            prior_in_flight: (self.in_flight + segments) * MSS,
            in_flight: self.in_flight * MSS,
            ..RateSample::default()
        };
        self.total += u64::from(segments * MSS);
        sample.total = self.total;
        change(&mut sample);
        self.sample = sample;
        let now = self.now;
        self.rate().on_rate(&sample, now)
    }

    fn rounds(&mut self, n: u32, segments: u32) {
        (0..n).for_each(|_| {
            self.round(segments, |_| {});
        });
    }

    fn loses(&mut self, number: u32, tx_in_flight: u32, lost: u64) {
        let segment = LostSegment {
            number,
            size: MSS,
            tx_in_flight: tx_in_flight * MSS,
            lost: lost * u64::from(MSS),
            app_limited: false,
            total: self.total,
        };
        let now = self.now;
        self.rate().on_lost(&segment, now);
    }

    fn window(&self) -> u32 {
        self.control.window() / MSS
    }

    /// The pacing rate in segments a round trip.
    fn pace(&mut self) -> f64 {
        self.rate().pacing_rate() / SEGMENT
    }

    fn one(&self) -> &Bbr1 {
        match &self.control {
            Control::Bbr1(bbr) => bbr,
            other => panic!("{other:?}"),
        }
    }

    fn three(&self) -> &Bbr3 {
        match &self.control {
            Control::Bbr3(bbr) => bbr,
            other => panic!("{other:?}"),
        }
    }
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6 * expected, "{found}, not {expected}");
}

/// Version 1 whose pipe holds 100 segments, in `ProbeBW`.
fn cruising_1() -> Flow {
    let mut flow = Flow::new("bbr1", &[], 1);
    for segments in [10, 29, 84] {
        flow.round(segments, |_| {});
    }
    flow.in_flight = 300;
    flow.rounds(4, 100);
    flow.in_flight = 100;
    flow.rounds(1, 100);
    assert_eq!(flow.one().state(), Bbr1State::ProbeBw);
    flow
}

/// Breaks if version 1 does not start at 2.885 initial windows a round trip, if its window does not double
/// while the rate does, if three round trips without a quarter more do not end Startup, or two do, or if Drain
/// does not last until a bandwidth-delay product is in flight.
#[test]
fn one_starts_up_and_drains() {
    let mut flow = Flow::new("bbr1", &[], 1);
    near(flow.pace(), 28.85);
    flow.round(10, |_| {});
    // The first sample: 10 a round trip, and 20 in the window, below 2.885 x 10 + 3.
    assert_eq!((flow.window(), flow.one().state()), (20, Bbr1State::Startup));
    flow.round(29, |_| {});
    assert_eq!(flow.window(), 49);
    near(flow.pace(), 2.885 * 29.0);
    flow.in_flight = 120;
    flow.rounds(1, 100);
    assert_eq!(flow.window(), 149);
    flow.rounds(2, 100);
    // 2.885 x 100 + 3 is 291: no ACK grows a window that is there.
    assert_eq!((flow.window(), flow.one().state()), (349, Bbr1State::Startup));
    flow.rounds(1, 100);
    assert_eq!(flow.one().state(), Bbr1State::Drain);
    near(flow.pace(), 100.0 / 2.885);
    assert_eq!(flow.window(), 291);
    flow.in_flight = 104;
    flow.rounds(1, 100);
    assert_eq!(flow.one().state(), Bbr1State::Drain, "103 may be in flight");
    flow.in_flight = 103;
    flow.rounds(1, 100);
    assert_eq!((flow.one().state(), flow.window()), (Bbr1State::ProbeBw, 203));
}

/// Breaks if a round trip limited by the application counts as one without growth, or one whose rate is above
/// the estimate does not raise it.
#[test]
fn one_asks_what_limits_the_rate() {
    let mut flow = Flow::new("bbr1", &[], 1);
    flow.round(50, |sample| sample.app_limited = true);
    near(flow.one().bw(), 50.0 * SEGMENT);
    for _ in 0..6 {
        flow.round(20, |sample| sample.app_limited = true);
    }
    assert_eq!(flow.one().state(), Bbr1State::Startup);
    near(flow.one().bw(), 50.0 * SEGMENT);
}

/// Breaks if the gains of a cycle are others than 5/4, 3/4 and six times 1, a phase is shorter than a round
/// trip, the first gain ends before a quarter more is in flight, or the second lasts once the queue is gone.
#[test]
fn one_cycles_its_gains() {
    let mut flow = cruising_1();
    let mut wait = 0;
    while flow.one().pacing_gain() != 1.25 {
        flow.rounds(1, 100);
        flow.now += Span(1);
        wait += 1;
        assert!(wait <= 8);
    }
    near(flow.pace(), 125.0);
    // 1.25 x 100 + 3 are to be in flight, before the ACK; 100 of them are acknowledged.
    flow.in_flight = 27;
    for _ in 0..3 {
        flow.now += Span(1);
        flow.rounds(1, 100);
        assert_eq!(flow.one().pacing_gain(), 1.25);
    }
    flow.in_flight = 28;
    flow.rounds(1, 100);
    assert_eq!(flow.one().pacing_gain(), 0.75);
    near(flow.pace(), 75.0);
    let mut gains = Vec::new();
    for _ in 0..7 {
        flow.in_flight = 3;
        flow.now += Span(1);
        flow.rounds(1, 100);
        gains.push(flow.one().pacing_gain());
    }
    assert_eq!(gains, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.25]);
}

/// Breaks if a gain above 1 goes on when something is lost.
#[test]
fn one_ends_a_probe_with_a_loss() {
    let mut flow = cruising_1();
    flow.in_flight = 10;
    while flow.one().pacing_gain() != 1.25 {
        flow.now += Span(1);
        flow.rounds(1, 100);
    }
    flow.now += Span(1);
    flow.round(100, |sample| sample.newly_lost = MSS);
    assert_eq!(flow.one().pacing_gain(), 0.75);
}

/// Breaks if a rate counts for more or fewer than ten round trips.
#[test]
fn one_remembers_a_rate_for_ten_round_trips() {
    let mut flow = cruising_1();
    flow.rounds(9, 40);
    near(flow.one().bw(), 100.0 * SEGMENT);
    flow.rounds(1, 40);
    near(flow.one().bw(), 40.0 * SEGMENT);
}

/// Breaks if a path of more bytes than a window can count overflows it: 100 TB/s over 100 us.
#[test]
fn a_window_has_a_largest() {
    for name in ["bbr1", "bbr3"] {
        let mut flow = Flow::new(name, &[], 64);
        for _ in 0..20 {
            flow.round(100, |sample| sample.rate = 1e14);
        }
        assert!(flow.window() > 10, "{name}");
    }
}

/// Breaks if version 1 does not look for the shortest round trip after ten seconds without one, if it leaves
/// four segments in flight for less than 200 ms or a round trip, or does not give the window back.
#[test]
fn one_probes_the_round_trip() {
    let mut flow = cruising_1();
    let longer = |sample: &mut RateSample| sample.rtt = Some(RTT * 2);
    flow.round(100, |_| {});
    let since = flow.now;
    flow.now = since + (Span::from_millis(10_000) - RTT);
    flow.round(100, longer);
    assert_eq!(flow.one().state(), Bbr1State::ProbeBw);
    assert!(flow.round(100, longer), "rates measured now are not the path's");
    assert_eq!((flow.one().state(), flow.window()), (Bbr1State::ProbeRtt, 4));
    assert_eq!(flow.one().min_rtt(), Some(RTT * 2));
    flow.in_flight = 5;
    flow.round(4, longer);
    flow.in_flight = 4;
    flow.round(4, longer);
    let begun = flow.now;
    flow.round(4, longer);
    flow.now = begun + (Span::from_millis(200) - RTT);
    flow.round(4, longer);
    assert_eq!(flow.one().state(), Bbr1State::ProbeRtt, "for 200 ms");
    flow.round(4, longer);
    assert_eq!(flow.one().state(), Bbr1State::ProbeBw);
    assert!(flow.window() >= 203, "{}", flow.window());
}

/// Breaks if version 1's window is anything but what is in flight and newly acknowledged for the first round trip
/// of a recovery, if a timeout leaves more than a segment, or if either's end does not give the window back.
#[test]
fn one_conserves_packets_for_a_round_trip() {
    let mut flow = cruising_1();
    assert_eq!(flow.window(), 203);
    flow.loses(1, 100, 1);
    let now = flow.now;
    flow.rate().on_repair(Repair::Fast, 80 * MSS, 2 * MSS, now);
    assert_eq!(flow.window(), 82);
    flow.in_flight = 80;
    let total = flow.total;
    flow.round(2, |sample| (sample.newly_lost, sample.prior) = (MSS, total - 1));
    assert_eq!(flow.window(), 82, "in flight 80, acknowledged 2");
    flow.round(2, |sample| sample.prior = total);
    assert_eq!(flow.window(), 84, "a round trip later it grows by what is acknowledged");
    let now = flow.now;
    flow.rate().on_repair(Repair::Timeout, 0, 0, now);
    assert_eq!(flow.window(), 1);
    flow.rate().on_repaired(now);
    assert_eq!(flow.window(), 203);
}

/// Breaks if the quantum is not what the rate sends in a millisecond, two segments at least from 1.2 Mb/s on,
/// within the hosts' offloading.
#[test]
fn quanta_follow_the_rate() {
    let mut flow = Flow::new("bbr1", &[], 44);
    // 2.885 x 10 segments in 100 us: 288 in a millisecond.
    assert_eq!(flow.rate().quantum(), 44 * MSS);
    let mut slow = Flow::new("bbr1", &[], 44);
    slow.rate().begin(Span::from_millis(100), Rng::new(1, Role::Transport, 0), us(0));
    // 288,500 bytes a second: 2.3 Mb/s.
    assert_eq!(slow.rate().quantum(), 2 * MSS);
    slow.rate().begin(Span::from_millis(1000), Rng::new(1, Role::Transport, 0), us(0));
    assert_eq!(slow.rate().quantum(), MSS, "below 1.2 Mb/s");
    let mut three = Flow::new("bbr3", &[], 44);
    three.rate().begin(Span::from_millis(1000), Rng::new(1, Role::Transport, 0), us(0));
    assert_eq!(three.rate().quantum(), 2 * MSS);
    assert_eq!(Flow::new("bbr3", &[], 1).rate().quantum(), MSS);
}

/// Version 3 whose pipe holds 100 segments, in `ProbeBW_CRUISE`.
fn cruising_3(changes: &[(&str, Value)]) -> Flow {
    let mut flow = Flow::new("bbr3", changes, 1);
    for segments in [10, 28, 78] {
        flow.round(segments, |_| {});
    }
    flow.in_flight = 100;
    flow.rounds(6, 100);
    assert_eq!(flow.three().state(), Bbr3State::Cruise, "{:?}", flow.three());
    flow
}

/// Goes on until the state is there.
fn until(flow: &mut Flow, state: Bbr3State, segments: u32) -> u32 {
    for n in 0..200 {
        if flow.three().state() == state {
            return n;
        }
        flow.round(segments, |_| {});
    }
    panic!("never {state:?}: {:?}", flow.three());
}

/// Breaks if version 3 does not start at 2.77 initial windows a round trip, if three round trips without a
/// quarter more do not end Startup, or if Drain lasts when a bandwidth-delay product is in flight or for more than
/// three round trips.
#[test]
fn three_starts_up_and_drains() {
    let mut flow = Flow::new("bbr3", &[], 1);
    near(flow.pace(), 27.7);
    flow.round(10, |_| {});
    flow.round(28, |_| {});
    near(flow.pace(), 2.77 * 28.0 * 0.99);
    flow.in_flight = 150;
    flow.rounds(3, 100);
    assert_eq!(flow.three().state(), Bbr3State::Startup);
    flow.rounds(1, 100);
    assert_eq!(flow.three().state(), Bbr3State::Drain);
    near(flow.pace(), 0.5 * 100.0 * 0.99);
    let mut late = Flow { control: flow.control.clone(), ..flow };
    late.rounds(3, 100);
    assert_eq!(late.three().state(), Bbr3State::Drain);
    late.rounds(1, 100);
    assert_eq!(late.three().state(), Bbr3State::Down, "after more than three round trips");
    let mut flow = late;
    flow.in_flight = 101;
    flow.rounds(1, 100);
    assert_eq!(flow.three().state(), Bbr3State::Down);
    near(flow.pace(), 0.9 * 100.0 * 0.99);
    flow.in_flight = 100;
    flow.rounds(1, 100);
    assert_eq!(flow.three().state(), Bbr3State::Cruise);
    near(flow.pace(), 99.0);
}

/// Breaks if bandwidth is not probed for after 62 or 63 round trips (`T_reno`), if refilling is not one, or if the
/// probe goes on when the rate does not.
#[test]
fn three_probes_for_bandwidth() {
    let mut flow = cruising_3(&[]);
    until(&mut flow, Bbr3State::Refill, 100);
    near(flow.pace(), 99.0);
    flow.rounds(1, 100);
    assert_eq!(flow.three().state(), Bbr3State::Up);
    near(flow.pace(), 1.25 * 99.0);
    assert_eq!(
        until(&mut flow, Bbr3State::Down, 100),
        3,
        "three round trips without a quarter more"
    );
    let rounds = until(&mut flow, Bbr3State::Refill, 100);
    assert!((62..=63).contains(&rounds), "{rounds}");
    // With a pipe of 20 segments, Reno would have won a segment for each of them.
    let mut small = Flow::new("bbr3", &[], 1);
    small.in_flight = 20;
    small.rounds(6, 20);
    until(&mut small, Bbr3State::Down, 20);
    until(&mut small, Bbr3State::Up, 20);
    until(&mut small, Bbr3State::Down, 20);
    let rounds = until(&mut small, Bbr3State::Refill, 20);
    assert!((19..=20).contains(&rounds), "{rounds}");
}

/// Breaks if what a probe finds is not the rate from then on, or the rate of two cycles ago still is.
#[test]
fn three_takes_what_it_finds_and_forgets_after_two_cycles() {
    let mut flow = cruising_3(&[]);
    until(&mut flow, Bbr3State::Up, 100);
    flow.rounds(1, 125);
    near(flow.three().bw(), 125.0 * SEGMENT);
    until(&mut flow, Bbr3State::Down, 125);
    flow.in_flight = 60;
    until(&mut flow, Bbr3State::Up, 60);
    near(flow.three().bw(), 125.0 * SEGMENT);
    until(&mut flow, Bbr3State::Down, 60);
    flow.rounds(2, 60);
    near(flow.three().bw(), 60.0 * SEGMENT);
}

/// Breaks if a share of losses above 2 % in a probe does not bound what is in flight, at the segment where the share
/// passed it, or if the probe goes on; if the next one does not stop at the bound, and the one after that at once
/// follows.
///
/// The third segment of 101 in flight is lost: before it 100 and 2 lost, so nothing more fits than
/// (0.02 x 100 - 2) / 0.98 = 0.
#[test]
fn three_bounds_what_is_in_flight_by_losses() {
    let mut flow = cruising_3(&[]);
    until(&mut flow, Bbr3State::Up, 100);
    flow.loses(1, 101, 1);
    flow.loses(2, 101, 2);
    assert_eq!(flow.three().bounds().0, u32::MAX);
    flow.loses(3, 101, 3);
    assert_eq!((flow.three().state(), flow.three().bounds().0), (Bbr3State::Down, 100 * MSS));
    flow.loses(4, 101, 4);
    assert_eq!(flow.three().bounds().0, 100 * MSS, "once a probe");
    flow.rounds(2, 100);
    assert_eq!(flow.three().state(), Bbr3State::Down, "85 may be in flight");
    flow.in_flight = 85;
    flow.rounds(1, 100);
    assert_eq!((flow.three().state(), flow.window()), (Bbr3State::Cruise, 85));
    until(&mut flow, Bbr3State::Up, 85);
    flow.in_flight = 100;
    flow.rounds(1, 85);
    assert_eq!(flow.three().state(), Bbr3State::Down, "so much was too much");
    flow.in_flight = 90;
    flow.rounds(1, 85);
    assert_eq!(flow.three().state(), Bbr3State::Refill, "no loss: the next probe is at once");
}

/// Breaks if a bound is not raised in a probe that fills it: by a segment for each window, then twice as much.
#[test]
fn three_raises_its_bound() {
    let mut flow = cruising_3(&[]);
    until(&mut flow, Bbr3State::Up, 100);
    (1..=3).for_each(|n| flow.loses(n, 101, u64::from(n)));
    flow.in_flight = 80;
    flow.rounds(2, 80);
    until(&mut flow, Bbr3State::Up, 80);
    // The precaution of this probe: it ends at the bound. The one after it does not.
    flow.in_flight = 100;
    flow.rounds(1, 80);
    flow.in_flight = 80;
    until(&mut flow, Bbr3State::Up, 80);
    let from = flow.three().bounds().0;
    let full = |sample: &mut RateSample| sample.cwnd_limited = true;
    flow.round(100, full);
    let first = flow.three().bounds().0;
    flow.round(100, full);
    let second = flow.three().bounds().0;
    assert_eq!((from, first, second), (100_000, 101_000, 103_000));
    assert_eq!(flow.three().state(), Bbr3State::Up, "as long as the bound limits the rate");
}

/// Breaks if losses outside of probes do not lower the bounds of the short term once a round trip, by 0.7 at
/// most and not below what was delivered, or if the next probe does not forget them.
#[test]
fn three_bounds_the_short_term() {
    let mut flow = cruising_3(&[]);
    let window = flow.window();
    flow.loses(1, 100, 1);
    flow.round(90, |_| {});
    // 90 were delivered, of 100; and 0.7 of the window is more than that.
    near(flow.three().bw(), 100.0_f64.max(0.7 * 100.0) * SEGMENT);
    let short = flow.three().bounds().1;
    assert_eq!(short, (window * 7 / 10 * MSS).max(100 * MSS));
    flow.loses(2, 100, 1);
    flow.round(60, |_| {});
    near(flow.three().bw(), 90.0 * SEGMENT);
    flow.loses(3, 100, 1);
    flow.round(60, |_| {});
    near(flow.three().bw(), 63.0 * SEGMENT);
    until(&mut flow, Bbr3State::Refill, 60);
    flow.round(60, |_| {});
    assert_eq!(flow.three().bounds().1, u32::MAX);
    near(flow.three().bw(), 100.0 * SEGMENT);
}

/// Breaks if Startup does not end when more than 2 % of a round trip is lost in six ranges of a recovery, or ends
/// in five.
#[test]
fn three_ends_startup_by_losses() {
    for (ranges, state) in [(5, Bbr3State::Startup), (6, Bbr3State::Drain)] {
        let mut flow = Flow::new("bbr3", &[], 1);
        flow.in_flight = 300;
        flow.round(50, |_| {});
        let now = flow.now;
        flow.loses(0, 100, 1);
        flow.rate().on_repair(Repair::Fast, 90 * MSS, 0, now);
        flow.round(70, |_| {});
        (1..=ranges).for_each(|n| flow.loses(2 * n, 100, u64::from(n)));
        flow.round(95, |sample| (sample.lost, sample.tx_in_flight) = (5 * 1000, 100 * MSS));
        assert_eq!(flow.three().state(), state);
        let bound = if ranges == 6 { 95 * MSS } else { u32::MAX };
        assert_eq!(flow.three().bounds().0, bound);
    }
}

/// Breaks if what a spurious recovery changed is not taken back: the bounds, the window, and the end of a probe.
#[test]
fn three_undoes() {
    let mut flow = cruising_3(&[]);
    until(&mut flow, Bbr3State::Up, 100);
    let (window, now) = (flow.window(), flow.now);
    (1..=3).for_each(|n| flow.loses(n, 101, u64::from(n)));
    flow.rate().on_repair(Repair::Fast, 90 * MSS, 0, now);
    flow.round(80, |_| {});
    assert!(flow.window() <= 100 && flow.three().state() == Bbr3State::Down);
    flow.rate().on_spurious(now);
    assert_eq!((flow.three().state(), flow.three().bounds().0), (Bbr3State::Refill, u32::MAX));
    assert!(flow.window() >= window);
    // And of Startup.
    let mut flow = Flow::new("bbr3", &[], 1);
    flow.in_flight = 300;
    flow.round(50, |_| {});
    flow.loses(0, 100, 1);
    flow.rate().on_repair(Repair::Fast, 90 * MSS, 0, now);
    flow.round(70, |_| {});
    (1..=6).for_each(|n| flow.loses(2 * n, 100, u64::from(n)));
    flow.round(95, |sample| (sample.lost, sample.tx_in_flight) = (5 * 1000, 100 * MSS));
    assert_eq!(flow.three().state(), Bbr3State::Drain);
    flow.rate().on_spurious(now);
    assert_eq!(flow.three().state(), Bbr3State::Startup);
}

/// Breaks if a timeout leaves more than a segment, or its end does not give the window back.
#[test]
fn three_restores_its_window_after_a_timeout() {
    let mut flow = cruising_3(&[]);
    let (window, now) = (flow.window(), flow.now);
    flow.loses(1, 100, 1);
    flow.rate().on_repair(Repair::Timeout, 3 * MSS, 0, now);
    assert_eq!(flow.window(), 4);
    flow.rate().on_repaired(now);
    assert_eq!(flow.window(), window);
}

/// Breaks if alpha is not 15/16 of what it was and 1/16 of the share of marks, each round trip; if marks do not
/// lower what may be in flight by a third of it; or if they are answered where the scenario says not to, or over
/// a long path.
#[test]
fn three_answers_marks() {
    let marked = |sample: &mut RateSample| {
        sample.newly_marked = sample.newly_acked / 5;
        sample.marked = u64::from(sample.newly_marked);
    };
    let mut flow = cruising_3(&[]);
    let alpha = flow.three().ecn_alpha();
    near(alpha, (15.0_f64 / 16.0).powi(9));
    let window = flow.window();
    flow.round(100, marked);
    let after = alpha + (0.2 - alpha) / 16.0;
    near(flow.three().ecn_alpha(), after);
    let cut = (f64::from(window * MSS) * (1.0 - 0.333 * after)) as u32;
    assert_eq!(flow.three().bounds(), (u32::MAX, cut));
    near(flow.three().bw(), 100.0 * SEGMENT);
    let deaf = [
        cruising_3(&[("ecn_factor", Value::Float(0.0))]),
        cruising_3(&[("ecn_max_rtt", Value::Span(Span::from_micros(99)))]),
    ];
    for mut flow in deaf {
        flow.round(100, marked);
        assert_eq!((flow.three().bounds().1, flow.three().ecn_alpha()), (u32::MAX, 1.0));
    }
}

/// Breaks if half of a round trip marked is not too much in flight: in a probe, which it ends, and twice in
/// Startup.
#[test]
fn three_ends_probes_by_marks() {
    let half = |sample: &mut RateSample| {
        sample.newly_marked = sample.newly_acked / 2;
        sample.marked = u64::from(sample.newly_marked);
    };
    let mut flow = cruising_3(&[]);
    until(&mut flow, Bbr3State::Up, 100);
    flow.round(100, half);
    assert_eq!((flow.three().state(), flow.three().bounds().0), (Bbr3State::Down, 100 * MSS));
    let mut flow = Flow::new("bbr3", &[], 1);
    flow.in_flight = 300;
    flow.round(50, half);
    assert_eq!(flow.three().state(), Bbr3State::Startup);
    flow.round(90, half);
    assert_eq!(flow.three().state(), Bbr3State::Drain);
    assert_eq!(flow.three().bounds().0, 90 * MSS);
}

/// Breaks if version 3 does not look for the shortest round trip after five seconds without one, with half a
/// bandwidth-delay product in flight for 200 ms and a round trip, if it then does not cruise, or if a round trip
/// measured five seconds ago is forgotten before ten.
#[test]
fn three_probes_the_round_trip() {
    let mut flow = cruising_3(&[]);
    let longer = |sample: &mut RateSample| sample.rtt = Some(RTT * 2);
    let since = us(200);
    flow.now = since + (Span::from_millis(5_000) - RTT);
    flow.round(100, longer);
    assert_ne!(flow.three().state(), Bbr3State::ProbeRtt);
    assert!(flow.round(100, longer));
    assert_eq!((flow.three().state(), flow.window()), (Bbr3State::ProbeRtt, 50));
    flow.in_flight = 51;
    flow.round(50, longer);
    flow.in_flight = 50;
    flow.round(50, longer);
    let begun = flow.now;
    flow.round(50, longer);
    flow.now = begun + (Span::from_millis(200) - RTT);
    flow.round(50, longer);
    assert_eq!(flow.three().state(), Bbr3State::ProbeRtt);
    flow.round(50, longer);
    assert_eq!((flow.three().state(), flow.three().min_rtt()), (Bbr3State::Cruise, Some(RTT)));
    assert!(flow.window() > 100, "{}", flow.window());
    flow.now = us(100) + Span::from_millis(10_000);
    flow.round(100, longer);
    assert_eq!(flow.three().min_rtt(), Some(RTT * 2));
}

/// Breaks if data after a pause is not paced at the rate as it is, or leads to a search for the shortest round
/// trip: the pause has emptied the queue.
#[test]
fn a_pause_is_a_search_of_its_own() {
    for name in ["bbr1", "bbr3"] {
        let mut flow = if name == "bbr1" { cruising_1() } else { cruising_3(&[]) };
        flow.now += Span::from_millis(20_000);
        let now = flow.now;
        flow.rate().on_restart(now);
        near(flow.pace(), if name == "bbr1" { 100.0 } else { 99.0 });
        assert!(!flow.round(10, |sample| sample.app_limited = true), "{name}");
    }
}

/// Breaks if ACKs that come in bunches do not widen version 3's window by what is above the rate.
#[test]
fn three_allows_for_aggregation() {
    let mut flow = cruising_3(&[]);
    let window = flow.window();
    // A second ACK of 50 segments at the same instant, 50 more than the rate delivers.
    flow.now = Time(flow.now.0 - RTT.0);
    flow.round(50, |sample| sample.rate = 0.0);
    flow.rounds(2, 100);
    assert!(flow.window() >= window + 49, "{} after {window}", flow.window());
}
