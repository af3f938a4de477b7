//! Delay, marks and rates of paths (§3.1).

use super::*;

/// Breaks if a class of Algorithm 1 has another bound: good needs both low, congested both high,
/// the rest is grey, and so is an unknown path.
#[test]
fn classes_need_both_signs() {
    let (hermes, _) = made();
    let class = |us, marked: f64| {
        hermes.bounds.class(Sense { rtt: units(us), marked: (marked * 65_536.0) as u32 })
    };
    assert_eq!([class(49, 0.39), class(51, 0.39)], [PathClass::Good, PathClass::Grey]);
    assert_eq!([class(49, 0.41), class(136, 0.41)], [PathClass::Grey, PathClass::Grey]);
    assert_eq!([class(138, 0.41), class(138, 0.39)], [PathClass::Congested, PathClass::Grey]);
    assert_eq!(hermes.bounds.class(Sense::default()), PathClass::Grey);
}

/// Breaks if delay and marks of an ACK do not go to the path that it names, or are not smoothed by
/// 1/16: the first delay is taken whole, then 100 + (260 - 100)/16 = 110; one mark is 1/16.
#[test]
fn acks_teach_their_path() {
    let (mut hermes, mut host) = made();
    ack(&mut hermes, &mut host, 2, 100, false);
    ack(&mut hermes, &mut host, 2, 260, true);
    let sense = hermes.table.get(1, 2).sense;
    assert!(sense.rtt.abs_diff(units(110)) <= 3 << GAIN, "{sense:?}");
    assert_eq!(sense.marked, 65_536 / 16);
    assert!([0, 1, 3].iter().all(|path| hermes.table.get(1, *path).sense == Sense::default()));
}

/// Breaks if a path's rate is that of its last packet only, or counts packets without data: after three
/// packets of one flow, a SYN and a packet each on the other paths, new flows leave the first alone.
#[test]
fn rates_are_of_all_data() {
    let (mut hermes, mut host) = made();
    let busy = send(&mut hermes, &mut host);
    (0..2).for_each(|_| _ = send(&mut hermes, &mut host));
    for path in (0..4).filter(|path| *path != busy) {
        host.state = [0, 0, 0, 0];
        host.state[PATH] = 1 << ROW_SHIFT | u64::from(path + 1);
        host.send(&mut hermes, &mut control(0, 9, 2, Flags::SYN));
        assert_eq!(hermes.table.get(1, usize::from(path)).rate.bytes, 0, "a SYN");
        assert_eq!(send(&mut hermes, &mut host), path);
    }
    assert_eq!(hermes.table.get(1, usize::from(busy)).rate.bytes, 3 * 1_500);
    for _ in 0..3 {
        host.state = [0; 4];
        assert_ne!(send(&mut hermes, &mut host), busy);
    }
}

/// Breaks if the average of short round trips sticks: at 400 Gb/s the bounds are 2 us apart, and so the
/// average must come to within a tenth of a microsecond of what it is told.
#[test]
fn averages_of_short_times_do_not_stick() {
    let tenth = u32::try_from(Span::from_nanos(100).0 >> (STAMP_SHIFT - GAIN)).unwrap();
    for (from, to) in [(120, 133), (133, 120), (8, 1), (1, 8)] {
        let mut sense = Sense::default();
        sense.learn(from, false);
        (0..200).for_each(|_| sense.learn(to, false));
        assert!(sense.rtt.abs_diff(to << GAIN) <= tenth, "from {from} to {to}: {sense:?}");
    }
    let mut sense = Sense::default();
    (0..200).for_each(|_| sense.learn(u32::MAX, true));
    assert!(sense.rtt > u32::MAX / 4, "the longest times do not wrap: {sense:?}");
}

/// Breaks if racks that a host has nothing to do with take memory: the list of 4 rows and the board
/// of 2 words a path, then a row of 4 paths.
#[test]
fn only_racks_that_are_met_cost_memory() {
    let (mut hermes, mut host) = made();
    assert_eq!(size_of::<Path>(), 64);
    assert_eq!(hermes.footprint(Time::ZERO).bytes, 4 * 16 + 16 * 16);
    send(&mut hermes, &mut host);
    assert_eq!(hermes.footprint(Time::ZERO).bytes, 4 * 16 + 16 * 16 + 4 * 64);
}

/// Breaks if an estimate does not fade to nothing over its time constant.
#[test]
fn rates_fade() {
    let (hermes, _) = made();
    let rate = Rate { bytes: 96_000, at: 0 };
    let left = |part: u64| rate.left(Time(hermes.tau / 4 * part), hermes.tau, hermes.reciprocal);
    for (part, expected) in [(0, 96_000), (1, 72_000), (2, 48_000), (3, 24_000), (4, 0)] {
        assert!(left(part).abs_diff(expected) < 100, "{part}/4: {}", left(part));
    }
}

/// Breaks if bounds that cross are taken.
#[test]
fn the_bounds_must_not_cross() {
    let span = |us| Value::Span(Span::from_micros(us));
    let params = Params::defaults(ENTRY.info.params)
        .with("low_delay", span(40))
        .with("hop_delay", span(20))
        .with("sent", Value::Bytes(Bytes(0)));
    let error = build(&params, &FakeHost::new(1_460).env).err().unwrap().to_string();
    assert!(error.starts_with("low_delay: found a low bound 40us above"), "{error}");
}
