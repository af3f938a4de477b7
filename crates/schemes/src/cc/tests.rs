//! Each control against numbers worked out by hand. Segments are 1000 bytes.

use super::*;
use crate::Value;

pub(super) const MSS: u32 = 1000;

pub(super) fn entry(name: &str) -> &'static Entry {
    ALL.iter().find(|entry| entry.info.name == name).expect("registered")
}

fn control(name: &str, segments: u32, changes: &[(&str, Value)]) -> Control {
    starting(name, segments, changes, SlowStart::Standard)
}

fn starting(
    name: &str,
    segments: u32,
    changes: &[(&str, Value)],
    slow_start: SlowStart,
) -> Control {
    let entry = entry(name);
    let params =
        changes.iter().fold(Params::defaults(entry.info.params), |params, (key, value)| {
            params.with(key, value.clone())
        });
    let env = FlowEnv { init_cwnd: segments * MSS, slow_start, ..FlowEnv::of_segments(MSS) };
    (entry.build)(&params, &env).expect("valid")
}

/// An ACK of one segment in a window that is used up, after a round trip of 100 us.
pub(super) fn ack(una: u32, nxt: u32) -> AckSample {
    AckSample {
        acked: MSS,
        marked: 0,
        in_flight: 0,
        window_limited: true,
        in_recovery: false,
        rtt: Some(Span::from_micros(100)),
        srtt: Span::from_micros(100),
        una,
        nxt,
    }
}

pub(super) fn halved(name: &str, from: u32) -> Control {
    let mut control = control(name, from, &[]);
    control.on_loss(Loss::Fast, from * MSS, Time::ZERO);
    control
}

/// Breaks if slow start adds anything but `min(N, SMSS)` an ACK (RFC 5681 §3.1 eq. 2).
#[test]
fn slow_start_adds_at_most_a_segment_an_ack() {
    for name in ["newreno", "dctcp", "cubic"] {
        let mut control = control(name, 10, &[]);
        control.on_ack(&ack(1, 10), Time::ZERO);
        assert_eq!(control.window(), 11_000, "{name}");
        control.on_ack(&AckSample { acked: 300, ..ack(2, 12) }, Time::ZERO);
        assert_eq!(control.window(), 11_300, "{name}: a short segment counts by its bytes");
        control.on_ack(&AckSample { acked: 5_000, ..ack(7, 12) }, Time::ZERO);
        assert_eq!(control.window(), 12_300, "{name}: a stretch ACK counts as one segment");
    }
}

/// Breaks if RFC 3465's L is ignored.
#[test]
fn slow_start_limit_counts_bytes() {
    let mut control = control("newreno", 10, &[("slow_start_limit", Value::Int(4))]);
    control.on_ack(&AckSample { acked: 5_000, ..ack(7, 12) }, Time::ZERO);
    assert_eq!(control.window(), 14_000);
}

/// Breaks if congestion avoidance adds more or less than a segment a window (RFC 5681 §3.1).
#[test]
fn congestion_avoidance_adds_a_segment_a_window() {
    let mut control = halved("newreno", 20);
    for una in 1..10 {
        control.on_ack(&ack(una, 20), Time::ZERO);
    }
    assert_eq!(control.window(), 10_000, "nine of ten segments acknowledged");
    control.on_ack(&ack(10, 20), Time::ZERO);
    assert_eq!(control.window(), 11_000);
}

/// Breaks if bytes beyond a window are not carried to the next, or if a loss does not reset them.
///
/// By hand: window 10, ACKs of 3: the fourth makes 12, so 11 with 2 carried; three more make 11: 12.
#[test]
fn counted_bytes_are_carried_until_a_loss() {
    let mut control = halved("newreno", 20);
    let mut windows = vec![];
    for una in 1..=8 {
        control.on_ack(&AckSample { acked: 3_000, ..ack(3 * una, 40) }, Time::ZERO);
        windows.push(control.window() / MSS);
    }
    assert_eq!(windows, [10, 10, 10, 11, 11, 11, 12, 12]);
    control.on_loss(Loss::Fast, 6_000, Time::ZERO);
    control.on_ack(&ack(30, 40), Time::ZERO);
    control.on_ack(&ack(31, 40), Time::ZERO);
    assert_eq!(control.window(), 3_000, "two of three");
    control.on_ack(&ack(32, 40), Time::ZERO);
    assert_eq!(control.window(), 4_000);
}

/// Breaks if a window grows that was not used up, in recovery, or by an ACK with ECE.
#[test]
fn windows_grow_only_when_they_may() {
    for name in ["newreno", "dctcp", "cubic"] {
        let mut control = control(name, 10, &[]);
        for not in [
            AckSample { window_limited: false, ..ack(1, 10) },
            AckSample { in_recovery: true, ..ack(2, 10) },
            AckSample { marked: MSS, ..ack(3, 10) },
        ] {
            control.on_ack(&not, Time::ZERO);
            assert_eq!(control.window(), 10_000, "{name}: {not:?}");
        }
    }
}

/// Breaks if eq. 4 of RFC 5681 or its exception for repeated timeouts is wrong.
#[test]
fn losses_shrink_windows_as_reno_does() {
    for name in ["newreno", "dctcp"] {
        let mut control = control(name, 20, &[]);
        control.on_loss(Loss::Fast, 16_000, Time::ZERO);
        assert_eq!((control.window(), control.ssthresh()), (8_000, 8_000), "{name}");
        control.on_loss(Loss::Timeout { first: true }, 8_000, Time::ZERO);
        assert_eq!((control.window(), control.ssthresh()), (1_000, 4_000), "{name}");
        control.on_loss(Loss::Timeout { first: false }, 1_000, Time::ZERO);
        assert_eq!((control.window(), control.ssthresh()), (1_000, 4_000), "{name}: held");
        control.on_loss(Loss::Timeout { first: true }, 1_000, Time::ZERO);
        assert_eq!((control.window(), control.ssthresh()), (1_000, 2_000), "{name}: at least 2");
    }
}

/// Breaks if a classic ECE does anything but halve, or goes below a segment (RFC 3168 §6.1.2).
#[test]
fn ece_halves_newreno_down_to_a_segment() {
    let mut control = control("newreno", 5, &[]);
    control.on_loss(Loss::Ecn, 5_000, Time::ZERO);
    assert_eq!((control.window(), control.ssthresh()), (2_500, 2_500));
    control.on_loss(Loss::Ecn, 2_500, Time::ZERO);
    control.on_loss(Loss::Ecn, 1_250, Time::ZERO);
    assert_eq!((control.window(), control.ssthresh()), (1_000, 1_000));
}

/// Breaks if a lost SYN leaves more than a segment, or touches the threshold (RFC 5681 §3.1).
#[test]
fn a_lost_syn_leaves_one_segment() {
    for name in ["newreno", "dctcp", "cubic"] {
        let mut control = control(name, 10, &[]);
        control.on_loss(Loss::Handshake, 0, Time::ZERO);
        assert_eq!((control.window(), control.ssthresh()), (1_000, u32::MAX), "{name}");
    }
}

/// Breaks if a burst after recovery is allowed (RFC 6582 §3.2 step 3).
#[test]
fn recovery_ends_without_a_burst() {
    let mut control = halved("newreno", 20);
    control.on_recovered(3_000, Time::ZERO);
    assert_eq!((control.window(), control.ssthresh()), (3_000, 10_000));
}

/// Breaks if alpha is not `alpha (1 - g) + g M` per window (RFC 8257 §3.3).
///
/// By hand, g = 1/4, alpha starts at 0, segments of 1000 bytes:
/// the first ACK (una 1 > `WindowEnd` 0) ends a window of 1 segment without marks: alpha = 0,
/// `WindowEnd` = 10. ACKs of 2..=11, three of them marked; the one of 11 > 10 ends the window:
/// M = 3/10, alpha = 0.25 x 0.3 = 0.075, `WindowEnd` = 20. ACKs of 12..=21, all ten marked: alpha =
/// 0.075 x 0.75 + 0.25 x 1 = 0.30625. A cut is then by the factor 1 - 0.153125 = 0.846875.
#[test]
fn alpha_follows_the_marks() {
    let changes = [("g", Value::Float(0.25)), ("initial_alpha", Value::Float(0.0))];
    let mut control = control("dctcp", 10, &changes);
    let alpha = |control: &Control| match control {
        Control::Dctcp(dctcp) => dctcp.alpha(),
        other => panic!("{other:?}"),
    };
    control.on_ack(&ack(1, 10), Time::ZERO);
    assert_eq!(alpha(&control), 0.0);
    for una in 2..=11 {
        let marked = if una <= 4 { MSS } else { 0 };
        control.on_ack(&AckSample { marked, ..ack(una, 20) }, Time::ZERO);
        assert_eq!(alpha(&control), if una == 11 { 0.25 * 0.3 } else { 0.0 }, "ACK {una}");
    }
    for una in 12..=21 {
        control.on_ack(&AckSample { marked: MSS, ..ack(una, 30) }, Time::ZERO);
    }
    assert_eq!(alpha(&control), 0.306_25);
    let before = control.window();
    control.on_loss(Loss::Ecn, before, Time::ZERO);
    assert_eq!(control.window(), (f64::from(before) * 0.846_875) as u32);
    assert_eq!(control.ssthresh(), control.window());
}

/// Breaks if the default alpha is not 1: the first mark halves the window (RFC 8257 §3.3).
#[test]
fn alpha_starts_at_one() {
    let mut control = control("dctcp", 10, &[]);
    control.on_loss(Loss::Ecn, 10_000, Time::ZERO);
    assert_eq!(control.window(), 5_000);
}

fn cubic(control: &Control) -> &Cubic {
    match control {
        Control::Cubic(cubic) => cubic,
        other => panic!("{other:?}"),
    }
}

/// Breaks if K, W_max or the shape of the cubic is wrong (RFC 9438 §4.2).
///
/// By hand: 1000 segments, loss, beta 0.7: cwnd 700, W_max 1000, K = cbrt(300 / 0.4) = 9.0856 s.
/// At t = K the window has come back to W_max; at 2K it has gained as much again: 1300.
#[test]
fn cubic_is_concave_then_convex() {
    let off = [("tcp_friendliness", Value::Bool(false))];
    let mut control = control("cubic", 1000, &off);
    control.on_loss(Loss::Fast, 1_000_000, Time::ZERO);
    assert_eq!((control.window(), control.ssthresh()), (700_000, 700_000));

    // A round trip of 1 ms; each gives a window's worth of ACKs in one.
    let mut windows = vec![];
    let mut now = Time::ZERO;
    for i in 0..=18_172u32 {
        let sample =
            AckSample { acked: control.window(), srtt: Span::from_millis(1), ..ack(i + 1, i + 2) };
        control.on_ack(&sample, now);
        now += Span::from_millis(1);
        if i % 4543 == 0 {
            windows.push(control.window() / MSS);
        }
    }
    assert!((cubic(&control).k() - 9.085_603).abs() < 1e-6, "K {}", cubic(&control).k());
    // 0.4 (t - K)^3 + 1000 at t = 0, K/2, K, 3K/2, 2K: 700, 962.5, 1000, 1037.5, 1300. The
    // window moves by whole segments, so it may be one behind.
    for (window, expected) in windows.iter().zip([700u32, 962, 1000, 1037, 1300]) {
        assert!(expected.abs_diff(*window) <= 1, "{windows:?}");
    }
}

/// Breaks if fast convergence keeps the old maximum (RFC 9438 §4.7).
///
/// By hand: 100 segments, loss: cwnd 70, W_max 100. Loss again at 70 < 100: W_max = 70 x 0.85 =
/// 59.5 segments, cwnd 49.
#[test]
fn fast_convergence_gives_up_bandwidth() {
    let mut control = control("cubic", 100, &[]);
    control.on_loss(Loss::Fast, 100_000, Time::ZERO);
    control.on_loss(Loss::Fast, 70_000, Time::ZERO);
    assert_eq!((cubic(&control).w_max(), control.window()), (59_500.0, 49_000));
}

/// Breaks if CUBIC is slower than Reno where windows are small (RFC 9438 §4.3).
///
/// By hand: 10 segments, loss: cwnd 7, alpha = 3 x 0.3 / 1.7 = 9/17. At RTT 100 us the cubic needs
/// seconds, so W_est leads: 7 segments grow by one after 7 x 17/9 = 13.2 acknowledged segments,
/// i.e. with the 14th.
#[test]
fn cubic_is_reno_friendly() {
    let mut control = halved("cubic", 10);
    let mut now = Time::ZERO;
    let mut first_growth = None;
    for una in 1..=14 {
        now += Span::from_micros(10);
        control.on_ack(&ack(una, 20), now);
        if control.window() > 7_000 && first_growth.is_none() {
            first_growth = Some(una);
        }
    }
    assert_eq!((first_growth, control.window()), (Some(14), 8_000));
}

/// Breaks if the estimate of Reno's window does not grow as Reno's once it is back at the window
/// before the loss (RFC 9438 §4.3).
///
/// By hand: from 9 to 10, 9 x 17/9 = 17 acknowledged segments; from 10 on, a window's worth.
#[test]
fn cubic_is_as_fast_as_reno_above_the_old_window() {
    let mut control = halved("cubic", 10);
    let (mut una, mut reached) = (0, [0; 13]);
    while control.window() < 12_000 {
        una += 1;
        control.on_ack(&ack(una, una + 10), Time(u64::from(una) * 10_000_000));
        let segments = (control.window() / MSS) as usize;
        if reached[segments] == 0 {
            reached[segments] = una;
        }
    }
    let apart = [9, 10, 11].map(|from| reached[from + 1] - reached[from]);
    assert_eq!(apart, [17, 10, 11], "{reached:?}");
}

/// Breaks if the window may grow by more than half in a round trip (RFC 9438 §4.2: the target is
/// at most 1.5 windows), however far the cubic has gone.
#[test]
fn cubic_grows_by_half_a_window_at_most() {
    let off = [("tcp_friendliness", Value::Bool(false))];
    let mut control = control("cubic", 100, &off);
    control.on_loss(Loss::Fast, 100_000, Time::ZERO);
    control.on_ack(&ack(1, 2), Time::ZERO);
    let window = AckSample { acked: 70_000, ..ack(71, 72) };
    control.on_ack(&window, Time(60_000_000_000_000));
    // The credit is spent at growing prices: 35 x 70 = 2450, and
    // 70 + 71 + .. + 98 = 2436: 29 segments.
    assert_eq!(control.window(), 99_000);
}

/// Breaks if the stage after a timeout is not flat at its start (RFC 9438 §4.8).
#[test]
fn cubic_after_a_timeout_starts_at_its_own_plateau() {
    let mut control = control("cubic", 100, &[]);
    control.on_loss(Loss::Timeout { first: true }, 100_000, Time::ZERO);
    assert_eq!((control.window(), control.ssthresh()), (1_000, 70_000));
    for una in 1..=70 {
        control.on_ack(&ack(una, una + 1), Time::ZERO);
    }
    assert_eq!((cubic(&control).k(), cubic(&control).w_max()), (0.0, 70_000.0));
}

/// Breaks if idle time counts as elapsed: the window would jump (RFC 9438 §5.8).
#[test]
fn cubic_does_not_grow_while_idle() {
    let off = [("tcp_friendliness", Value::Bool(false))];
    let mut control = control("cubic", 100, &off);
    control.on_loss(Loss::Fast, 100_000, Time::ZERO);
    control.on_ack(&ack(1, 2), Time(1));
    let idle = AckSample { window_limited: false, ..ack(2, 3) };
    control.on_ack(&idle, Time(60_000_000_000_000));
    for una in 3..=80 {
        control.on_ack(&ack(una, una + 1), Time(60_000_000_000_000));
    }
    // t = 0 still; the target is 100 us away on a curve with K = 4.2 s: less than a segment.
    assert_eq!(control.window(), 70_000);
}

/// Breaks if the floor of RFC 9438 §4.6 for ECE (one segment, threshold two) is not kept.
#[test]
fn cubic_ece_floor() {
    let mut control = control("cubic", 1, &[]);
    control.on_loss(Loss::Ecn, 1_000, Time::ZERO);
    assert_eq!((control.window(), control.ssthresh()), (1_000, 2_000));
}

#[derive(Debug)]
struct Fixed(u32);

impl CongestionControl for Fixed {
    fn on_ack(&mut self, _ack: &AckSample, _now: Time) {
        self.0 += 1;
    }
    fn on_loss(&mut self, _loss: Loss, _in_flight: u32, _now: Time) {}
    fn window(&self) -> u32 {
        self.0
    }
    fn ssthresh(&self) -> u32 {
        self.0
    }
}

impl CustomControl for Fixed {
    fn fresh(&self) -> Box<dyn CustomControl> {
        Box::new(Fixed(7))
    }
}

/// Breaks if a custom control's clone shares or inherits a flow's state.
#[test]
fn a_custom_control_starts_fresh() {
    let mut prototype = Control::Custom(Box::new(Fixed(7)));
    prototype.on_ack(&ack(1, 2), Time::ZERO);
    assert_eq!((prototype.window(), prototype.clone().window()), (8, 7));
}

/// Breaks if a control's place in each flow grows unnoticed.
#[test]
fn controls_are_small() {
    assert!(size_of::<Dctcp>() <= 64, "{}", size_of::<Dctcp>());
    assert!(size_of::<Control>() <= 104, "{}", size_of::<Control>());
}

/// Windows after ACKs, one a segment, of so many segments each, with these round trips in ms; a round
/// of ACKs comes in a burst, and the next begins when all that was sent is acknowledged.
pub(super) fn slow_start(control: &mut Control, rounds: &[u64]) -> Vec<u32> {
    let (mut una, mut now) = (0, Time::ZERO);
    let after_round = |rtt: &u64| {
        let segments = control.window() / MSS;
        let nxt = una + segments;
        now += Span::from_millis(*rtt);
        for _ in 0..segments {
            una += 1;
            let rtt = Some(Span::from_millis(*rtt));
            control.on_ack(&AckSample { rtt, ..ack(una, nxt) }, now);
        }
        control.window() / MSS
    };
    rounds.iter().map(after_round).collect()
}

/// Breaks if HyStart++ does not slow down when a round trip is an eighth longer than that of the round
/// before (40 and 46 ms: 45 are enough), or does not end slow start after five rounds (RFC 9406 §4.2).
///
/// 16 segments double to 32 and 64. The third round has 46 ms: its eighth sample is the first to tell, so
/// 7 ACKs add a segment each and 57 a quarter: 85.25. Then a quarter of 85, 106, 133 and 166 whole
/// segments is added; the first ACK of the sixth round ends it.
#[test]
fn hystart_plus_plus_goes_by_way_of_a_slower_growth() {
    for name in ["newreno", "cubic", "dctcp"] {
        let mut control = starting(name, 16, &[], SlowStart::HyStartPlusPlus);
        let windows = slow_start(&mut control, &[40, 40, 46, 46, 46, 46, 46]);
        assert_eq!(windows, [32, 64, 85, 106, 133, 166, 207], "{name}");
        assert_eq!(control.ssthresh(), u32::MAX, "{name}");
        let mut control = starting(name, 16, &[], SlowStart::HyStartPlusPlus);
        slow_start(&mut control, &[40, 40, 46, 46, 46, 46, 46, 46]);
        assert_eq!(control.ssthresh(), 207_750, "{name}");
    }
}

/// Breaks if slow start does not go on when the delay is gone: the baseline is 46 ms, and the eighth
/// sample of 40 ms is below it.
#[test]
fn hystart_plus_plus_goes_on_when_the_delay_is_gone() {
    let mut control = starting("newreno", 16, &[], SlowStart::HyStartPlusPlus);
    let windows = slow_start(&mut control, &[40, 40, 46, 40]);
    // Of 85 ACKs, seven add a quarter: 85.25 + 1.75 + 78.
    assert_eq!(windows, [32, 64, 85, 165]);
}

/// Breaks if HyStart does not end slow start by the first samples of a round that are an eighth (of
/// the shortest: 5 ms) longer, or if it looks at a window below 16 segments.
///
/// 45 ms are not more than 40 + 5, 46 are: eight samples, and the ninth ACK ends it.
#[test]
fn hystart_ends_with_the_delay() {
    let mut control = starting("cubic", 16, &[], SlowStart::HyStart);
    slow_start(&mut control, &[40, 45]);
    assert_eq!((control.window(), control.ssthresh()), (64 * MSS, u32::MAX));
    let mut control = starting("cubic", 16, &[], SlowStart::HyStart);
    slow_start(&mut control, &[40, 45, 46]);
    assert_eq!(control.ssthresh(), (64 + 8) * MSS);
    let mut small = starting("cubic", 4, &[], SlowStart::HyStart);
    slow_start(&mut small, &[40, 80]);
    assert_eq!((small.window(), small.ssthresh()), (16 * MSS, u32::MAX));
}

/// Breaks if a train of ACKs, 2 ms apart or less, that is longer than half of the shortest round trip
/// does not end slow start: of 100 us, with an ACK each 3 us, the 18th (51 us after the first) does.
#[test]
fn hystart_ends_with_a_long_train() {
    let mut control = starting("cubic", 16, &[], SlowStart::HyStart);
    for number in 0..18 {
        assert_eq!(control.ssthresh(), u32::MAX, "ACK {number}");
        let now = Time::ZERO + Span::from_micros(100 + 3 * number);
        control.on_ack(&ack(number as u32 + 1, 40), now);
    }
    assert_eq!((control.window(), control.ssthresh()), (33 * MSS, 33 * MSS));
}

/// Breaks if undoing does not bring window and threshold back, or, of CUBIC, the curve; or if it takes
/// away a window that has grown beyond (RFC 9438 §4.9).
#[test]
fn reductions_are_undone() {
    for name in ["newreno", "dctcp", "cubic"] {
        let mut control = halved(name, 40);
        let (window, threshold) = (control.window(), control.ssthresh());
        let before = control.before_reduction().expect("one of ours");
        control.on_loss(Loss::Timeout { first: true }, window, Time::ZERO);
        assert_eq!(control.window(), MSS, "{name}");
        control.undo(&before, Time::ZERO);
        assert_eq!((control.window(), control.ssthresh()), (window, threshold), "{name}");
        if let (Control::Cubic(now), Control::Cubic(then)) = (&control, &before) {
            assert_eq!((now.w_max(), now.k()), (then.w_max(), then.k()));
        }
        let small = starting(name, 2, &[], SlowStart::Standard);
        control.undo(&small, Time::ZERO);
        assert_eq!(control.window(), window, "{name}");
    }
}

/// Breaks if the window of a pause is not halved for each timeout, the threshold not at three quarters
/// of it at least (RFC 2861 §3.1), or if it falls below the restart window.
#[test]
fn windows_decay_in_a_pause() {
    for name in ["newreno", "dctcp", "cubic"] {
        let mut control = halved(name, 80);
        let window = control.window();
        control.on_idle(10 * MSS, 1, Time::ZERO);
        assert_eq!(control.window(), window / 2, "{name}");
        assert!(control.ssthresh() >= window / 4 * 3, "{name}");
        control.on_idle(10 * MSS, 40, Time::ZERO);
        assert_eq!(control.window(), 10 * MSS, "{name}");
    }
}
