//! Windows as Linux's kernel counts them, by hand: whole segments, CUBIC's curve by steps, slow
//! starts and what an undoing leaves. Segments are 1000 bytes.

use super::steps::Steps;
use super::tests::{MSS, ack, entry, halved, slow_start};
use super::*;
use crate::Value;

/// Counted as Linux counts them.
fn whole(name: &str, segments: u32, changes: &[(&str, Value)]) -> Control {
    let entry = entry(name);
    let params = changes.iter().fold(Params::defaults(entry.info.params), |all, (key, value)| {
        all.with(key, value.clone())
    });
    let env =
        FlowEnv { init_cwnd: segments * MSS, whole: true, gso: true, ..FlowEnv::of_segments(MSS) };
    (entry.build)(&params, &env).expect("valid")
}

/// Breaks if a cut leaves a part of a segment or fewer than two.
///
/// DCTCP with alpha 0.3: of 6 segments 0.9 are cut, which is none, of 7 one (1.05). Halves of 9 are 4.
#[test]
fn whole_windows_are_whole() {
    let alpha = [("initial_alpha", Value::Float(0.3))];
    for (segments, left) in [(6, 6), (7, 6), (2, 2)] {
        let mut control = whole("dctcp", segments, &alpha);
        control.on_loss(Loss::Ecn, 0, Time::ZERO);
        assert_eq!(control.window(), left * MSS, "{segments}");
    }
    let after = |name, loss| {
        let mut control = whole(name, 9, &[]);
        control.on_loss(loss, 9 * MSS, Time::ZERO);
        control.window() / MSS
    };
    assert_eq!([Loss::Fast, Loss::Ecn].map(|loss| after("newreno", loss)), [4, 4]);
    assert_eq!([Loss::Fast, Loss::Ecn].map(|loss| after("cubic", loss)), [6, 6]);
    let mut small = whole("newreno", 2, &[]);
    small.on_loss(Loss::Ecn, 0, Time::ZERO);
    assert_eq!(small.window(), 2 * MSS);
}

/// Breaks if alpha is not counted in 1024ths, or without the ACK in hand, or if the last segment's
/// ACK does not end a window.
///
/// 1024 less a 16th is 960, less a 16th 900. Of two segments the second is marked: 900 - 56 + 64 /
/// 2 = 876. A 16th of 10 is none: all go.
#[test]
fn alpha_is_counted_as_linux_does() {
    let of = |una, nxt, marked| AckSample {
        acked: MSS,
        marked: if marked { MSS } else { 0 },
        in_flight: 0,
        window_limited: false,
        in_recovery: false,
        rtt: None,
        srtt: Span::ZERO,
        una,
        nxt,
    };
    let alpha = |control: &Control| match control {
        Control::Dctcp(control) => control.alpha() * 1024.0,
        _ => unreachable!("DCTCP"),
    };
    let mut control = whole("dctcp", 10, &[]);
    let mut after = |una, nxt, marked| {
        control.on_ack(&of(una, nxt, marked), Time::ZERO);
        alpha(&control)
    };
    let found = [after(1, 10, false), after(9, 18, false), after(10, 20, false)];
    assert_eq!(found, [960.0, 960.0, 900.0]);
    assert_eq!([after(11, 22, false), after(20, 30, true)], [900.0, 876.0]);
    let mut small = whole("dctcp", 10, &[("initial_alpha", Value::Float(0.01))]);
    small.on_ack(&of(1, 10, false), Time::ZERO);
    assert_eq!(alpha(&small), 0.0);
}

/// Windows of a CUBIC flow in segments at these milliseconds, with 10 ACKs a millisecond.
fn cubic_windows(control: &mut Control, from: u64, until: u64, looked_at: &[u64]) -> Vec<u32> {
    let mut windows = Vec::new();
    for ms in from..until {
        for tenth in 0..10 {
            let now = Time::ZERO + Span::from_micros(1000 * ms + 100 * tenth);
            control.on_ack(&ack(1, 2), now);
        }
        if looked_at.contains(&ms) {
            windows.push(control.window() / MSS);
        }
    }
    windows
}

/// CUBIC with ten segments, cut to seven.
fn cut_from_ten() -> Control {
    let mut control = whole("cubic", 10, &[]);
    control.on_loss(Loss::Fast, 10 * MSS, Time::ZERO);
    control
}

/// Breaks if CUBIC looks at its curve before a 32nd of a second has passed in which the window
/// stayed as it was, or does not catch up then.
///
/// Cut from 10 to 7 at 100 ms. A tick past the cut the curve is at 7.005, which counts as 8, and
/// seven ACKs later so is the window. Reno's estimate is no larger, so that it is to grow by a
/// segment for 800. At 133 ms the estimate has long overtaken it: one for two, and on from there
/// with every change.
#[test]
fn cubic_looks_again_after_31_milliseconds() {
    let mut control = cut_from_ten();
    let windows = cubic_windows(&mut control, 100, 140, &[101, 132, 133]);
    assert_eq!(windows[..2], [8, 8]);
    assert!(windows[2] > 9, "{windows:?}");
}

/// Breaks if the curve is not looked at a tick ahead, or a cut leaves credit from before: of 70
/// segments 49 are left, and the 50th comes with 49 ACKs, not later (a kernel's window, followed).
#[test]
fn cubic_is_a_tick_ahead() {
    let mut control = whole("cubic", 70, &[]);
    let Control::Cubic(cubic) = &mut control else { panic!("CUBIC") };
    cubic.reno.ssthresh = 70 * MSS;
    for _ in 0..9 {
        control.on_ack(&ack(1, 2), Time::ZERO);
    }
    control.on_loss(Loss::Fast, 70 * MSS, Time::ZERO);
    assert_eq!(cubic_windows(&mut control, 100, 105, &[100, 103, 104]), [49, 49, 50]);
}

/// Breaks if a cut that is undone begins an epoch before the curve is looked at again, which is
/// when the window has been the same for a 32nd of a second: Reno's estimate then knows only of
/// what came after, and the window stands for twice as long.
///
/// From 10 to 7, and to 8 at 101 ms. Cut and undone at 105, it is looked at in 133 and 165.
#[test]
fn cubic_stands_still_after_what_is_undone() {
    let mut control = cut_from_ten();
    assert_eq!(cubic_windows(&mut control, 100, 105, &[101, 104]), [8, 8]);
    let (before, now) = (control.before_reduction().expect("CUBIC"), Time::ZERO);
    control.on_loss(Loss::Fast, 8 * MSS, now);
    control.undo(&before, now);
    let windows = cubic_windows(&mut control, 105, 170, &[105, 164, 168]);
    assert_eq!(windows[..2], [8, 8]);
    assert!(windows[2] > 9, "{windows:?}");
}

/// Breaks if a timeout leaves anything of the curve.
#[test]
fn a_timeout_forgets_the_steps() {
    let mut control = cut_from_ten();
    cubic_windows(&mut control, 100, 105, &[]);
    control.on_loss(Loss::Timeout { first: true }, 8 * MSS, Time::ZERO);
    let Control::Cubic(cubic) = &mut control else { panic!("CUBIC") };
    assert_eq!(format!("{:?}", cubic.reno.steps()), format!("{:?}", Some(Steps::default())));
}

/// Breaks if Linux's threshold is not three quarters of the window after an undoing, or if another's is.
#[test]
fn an_undone_threshold_is_three_quarters() {
    let after = |name, mut control: Control| {
        match &mut control {
            Control::NewReno(control) => control.ssthresh = 10 * MSS,
            Control::Cubic(control) => control.reno.ssthresh = 10 * MSS,
            _ => unreachable!("{name}"),
        }
        let before = control.before_reduction().expect(name);
        control.on_loss(Loss::Fast, 22 * MSS, Time::ZERO);
        control.undo(&before, Time::ZERO);
        (control.window() / MSS, control.ssthresh() / MSS)
    };
    for name in ["newreno", "cubic"] {
        assert_eq!(after(name, whole(name, 22, &[])), (22, 16), "{name}");
    }
    let mut plain = halved("dctcp", 20);
    while plain.window() < 22 * MSS {
        plain.on_ack(&ack(1, 2), Time::ZERO);
    }
    let before = plain.before_reduction().expect("DCTCP");
    plain.on_loss(Loss::Fast, 22 * MSS, Time::ZERO);
    plain.undo(&before, Time::ZERO);
    assert_eq!((plain.window() / MSS, plain.ssthresh() / MSS), (22, 10));
}

/// Breaks if Linux's slow start passes the threshold, or if what is left of the ACK counts for
/// nothing: of 8 segments and five acknowledged two lead to the threshold of 10; the other three
/// and seven more are a window.
#[test]
fn slow_start_ends_at_the_threshold() {
    let mut control = whole("newreno", 8, &[("slow_start_limit", Value::Int(100))]);
    let Control::NewReno(reno) = &mut control else { panic!("NewReno") };
    reno.ssthresh = 10 * MSS;
    let windows = [5, 6, 1].map(|acked| {
        control.on_ack(&AckSample { acked: acked * MSS, ..ack(1, 40) }, Time::ZERO);
        control.window() / MSS
    });
    assert_eq!(windows, [10, 10, 11]);
}

/// Breaks if Linux's HyStart does not look at a slow start that goes on after an undoing, or at one
/// after a timeout, or if it looks at one again that it has ended.
#[test]
fn hystart_goes_on() {
    let entry = entry("cubic");
    let env = FlowEnv {
        init_cwnd: 60 * MSS,
        slow_start: SlowStart::HyStart,
        whole: true,
        ..FlowEnv::of_segments(MSS)
    };
    let mut control = (entry.build)(&Params::defaults(entry.info.params), &env).expect("valid");
    let mut at = 0;
    let mut train = |control: &mut Control| {
        at += 1_000;
        for number in 0..60 {
            let now = Time::ZERO + Span::from_micros(at + 3 * number);
            control.on_ack(&ack(number as u32 + 1, 200), now);
        }
        control.ssthresh() / MSS
    };
    let before = control.before_reduction().expect("CUBIC");
    control.on_loss(Loss::Fast, 60 * MSS, Time::ZERO);
    control.undo(&before, Time::ZERO);
    assert_eq!((train(&mut control), control.window() / MSS), (77, 77));
    let Control::Cubic(cubic) = &mut control else { panic!("CUBIC") };
    cubic.reno.ssthresh = u32::MAX;
    assert_eq!((train(&mut control), control.window() / MSS), (u32::MAX / MSS, 137));
    control.on_loss(Loss::Timeout { first: true }, 60 * MSS, Time::ZERO);
    assert_eq!((control.window() / MSS, control.ssthresh() / MSS), (1, 95));
    assert_eq!(train(&mut control), 18, "once there are 16");
}

/// Breaks if a window whose maximum is not known does not grow by a twentieth a round trip, or one
/// whose maximum is does.
///
/// 100 ACKs with a window of 40 past slow start: five segments.
#[test]
fn cubic_searches_before_its_first_loss() {
    let mut control = whole("cubic", 40, &[]);
    let Control::Cubic(cubic) = &mut control else { panic!("CUBIC") };
    cubic.reno.ssthresh = 40 * MSS;
    assert_eq!(cubic_windows(&mut control, 0, 10, &[9]), [45]);
}

/// New windows counted in whole segments, watched.
fn watched(slow_start: SlowStart) -> NewReno {
    let env = FlowEnv { init_cwnd: 16 * MSS, whole: true, slow_start, ..FlowEnv::of_segments(MSS) };
    NewReno::new(&env, 1)
}

/// Breaks if the ACK with which HyStart ends slow start counts for slow start, or not for what follows.
///
/// The window is 64 when round trips are 46 ms after 40 ms. Eight ACKs add a segment each; the
/// ninth ends slow start, and acknowledges all 72, which is worth one segment.
#[test]
fn the_ack_that_ends_slow_start_counts_for_what_follows() {
    let mut control = Control::NewReno(watched(SlowStart::HyStart));
    assert_eq!(slow_start(&mut control, &[40, 45]), [32, 64]);
    let late = |acked| AckSample { acked, rtt: Some(Span::from_millis(46)), ..ack(200, 300) };
    (0..8).for_each(|_| control.on_ack(&late(MSS), Time::ZERO));
    control.on_ack(&late(72 * MSS), Time::ZERO);
    assert_eq!((control.window() / MSS, control.ssthresh() / MSS), (73, 72));
}

/// Breaks if HyStart++, which Linux has not, looks at another slow start than the first: after a
/// loss 46 ms are no sign.
#[test]
fn hystart_plus_plus_looks_at_the_first_slow_start() {
    let mut control = Control::NewReno(watched(SlowStart::HyStartPlusPlus));
    slow_start(&mut control, &[40]);
    control.on_loss(Loss::Fast, 32 * MSS, Time::ZERO);
    let Control::NewReno(reno) = &mut control else { panic!("NewReno") };
    reno.ssthresh = u32::MAX;
    assert_eq!(slow_start(&mut control, &[40, 40, 46]), [32, 64, 128]);
}

/// Breaks if trains do not lengthen what HyStart bears: with them, a train of ACKs of 51 us is no sign.
#[test]
fn hystart_bears_trains() {
    let ends = |gso| {
        let entry = entry("cubic");
        let env = FlowEnv {
            init_cwnd: 16 * MSS,
            slow_start: SlowStart::HyStart,
            gso,
            ..FlowEnv::of_segments(MSS)
        };
        let mut control = (entry.build)(&Params::defaults(entry.info.params), &env).expect("valid");
        for number in 0..18 {
            let now = Time::ZERO + Span::from_micros(100 + 3 * number);
            control.on_ack(&ack(number as u32 + 1, 40), now);
        }
        control.ssthresh() < u32::MAX
    };
    assert_eq!([false, true].map(ends), [true, false]);
}
