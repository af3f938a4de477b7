use super::*;
use crate::Value;
use crate::testing::{FakeLeaf, chi_square, data};

const IDLE: Span = Span::from_micros(256);
const SAMPLE: Span = Span::from_micros(16);

fn with(settings: &[(&str, Value)]) -> Params {
    settings.iter().fold(Params::defaults(Settings::PARAMS), |params, (key, value)| {
        params.with(key, value.clone())
    })
}

fn mode(word: &str) -> (&'static str, Value) {
    ("mode", Value::Word(word.to_owned()))
}

fn made(leaf: &FakeLeaf, settings: &[(&str, Value)]) -> Box<dyn LoadBalancer> {
    build(&with(settings), &leaf.env).unwrap()
}

/// Lets `count` sampling intervals pass.
fn sampled(leaf: &mut FakeLeaf, ars: &mut dyn LoadBalancer, count: u64) {
    for _ in 0..count {
        leaf.wait(SAMPLE);
        leaf.with(|cx| ars.tick(cx));
    }
}

/// The uplinks, of four, that new flows get.
fn used(leaf: &mut FakeLeaf, ars: &mut dyn LoadBalancer) -> Vec<u16> {
    let mut ports: Vec<u16> =
        (0..200).map(|sport| leaf.pick(ars, &mut data(0, 9, sport, 0)).0 - 8).collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

fn waits(leaf: &mut FakeLeaf, port: usize, bytes: u32) {
    leaf.ports.ports[port].queues[0].bytes = bytes;
}

/// Breaks if a flowlet is cut at or before `idle_time`, or moves though its port is the worst.
#[test]
fn a_flowlet_keeps_its_port() {
    let mut leaf = FakeLeaf::new(8, 4, 1);
    let mut ars = made(&leaf, &[]);
    let first = leaf.pick(&mut *ars, &mut data(0, 9, 1, 0));
    waits(&mut leaf, usize::from(first.0), 300_000);
    sampled(&mut leaf, &mut *ars, 16);
    assert_eq!(leaf.now, Time::ZERO + IDLE);
    assert_eq!(leaf.pick(&mut *ars, &mut data(0, 9, 1, 1)), first);
    leaf.wait(Span(IDLE.0 + 1));
    assert_ne!(leaf.pick(&mut *ars, &mut data(0, 9, 1, 2)), first);
}

/// Breaks if the future load is not the queue, or its bands do not lie between the thresholds: with weight 1 a
/// sample is the average, 3 KB is in band 0, and from there to 96 KB are six bands of 15.5 KB.
#[test]
fn queues_are_quantised() {
    let mut leaf = FakeLeaf::new(8, 4, 1);
    let mut ars = made(&leaf, &[("port_load_future_weight", Value::Int(1))]);
    for (others, one, same) in [
        (0, 3_000, true),
        (0, 3_001, false),
        (3_001, 18_499, true),
        (3_001, 18_500, false),
        (80_500, 95_999, true),
        (80_500, 96_000, false),
        (96_000, 900_000, true),
    ] {
        for port in 9..12 {
            waits(&mut leaf, port, others);
        }
        waits(&mut leaf, 8, one);
        sampled(&mut leaf, &mut *ars, 1);
        leaf.wait(Span(IDLE.0 + 1));
        let wanted: &[u16] = if same { &[0, 1, 2, 3] } else { &[1, 2, 3] };
        assert_eq!(used(&mut leaf, &mut *ars), wanted, "{others} B and {one} B");
    }
}

/// Breaks if the average is not SAI's, `average += (sample - average) / 16` from 0: a queue of 1 MB is above
/// 3 KB at once, at 62,500 B in band 4 (3 + 15.5 x 3 = 49.5 to 65 KB), where a steady queue of 60 KB is too.
#[test]
fn averages_are_exponential() {
    let (mut one, mut steady) = (0, 0);
    let future = Bands { least: 3_000, greatest: 96_000 };
    one = averaged(one, 1_000_000, 16, false);
    assert_eq!((one >> FRACTION, future.of(one)), (62_500, 4));
    one = averaged(one, 0, 16, false);
    assert_eq!(one >> FRACTION, 58_593);
    for _ in 0..500 {
        steady = averaged(steady, 60_000, 16, false);
    }
    assert_eq!(future.of(steady), 4);
    assert_eq!(averaged(one, 1_000, 16, true) >> FRACTION, 1_000, "port_load_current");
}

/// Breaks if what left is not measured against the line's rate, or counts before it leaves: 20 KB in 16 us are
/// all of 10 Gb/s, 1 KB 5 %, which is in the best band.
#[test]
fn what_left_is_the_past_load() {
    let mut leaf = FakeLeaf::new(8, 4, 1);
    let settings =
        [("port_load_past_weight", Value::Int(1)), ("load_past_weight", Value::Int(100))];
    let mut ars = made(&leaf, &settings);
    let send = |leaf: &mut FakeLeaf, ars: &mut dyn LoadBalancer, port, bytes, after: u64| {
        let mut packet = data(0, 9, 1, 0);
        packet.size = bytes;
        let at = leaf.now + Span(after);
        leaf.with(|cx| ars.leaving(&mut packet, PortId(port), at, cx));
    };
    send(&mut leaf, &mut *ars, 8, 20_000, 1_000);
    send(&mut leaf, &mut *ars, 9, 1_000, 1_000);
    send(&mut leaf, &mut *ars, 10, 20_000, SAMPLE.0 + 1_000);
    sampled(&mut leaf, &mut *ars, 1);
    assert_eq!(used(&mut leaf, &mut *ars), [1, 2, 3]);
    sampled(&mut leaf, &mut *ars, 1);
    leaf.wait(Span(IDLE.0 + 1));
    assert_eq!(used(&mut leaf, &mut *ars), [0, 1, 3]);
}

/// Breaks if `load_past_weight` is not the past load's share of the quality: at 0 a busy line is as good as an
/// idle one.
#[test]
fn the_loads_are_weighted() {
    for (share, wanted) in [(0, vec![0, 2, 3]), (100, vec![1, 2, 3]), (50, vec![2, 3])] {
        let mut leaf = FakeLeaf::new(8, 4, 1);
        let mut ars = made(&leaf, &[("load_past_weight", Value::Int(share))]);
        let mut packet = data(0, 9, 1, 0);
        packet.size = 20_000;
        for _ in 0..100 {
            let at = leaf.now;
            leaf.with(|cx| ars.leaving(&mut packet, PortId(8), at, cx));
            waits(&mut leaf, 9, 96_000);
            sampled(&mut leaf, &mut *ars, 1);
        }
        assert_eq!(used(&mut leaf, &mut *ars), wanted, "{share} %");
    }
}

/// Breaks if a mode places something else than its name says, or a random one looks at the loads.
#[test]
fn modes_place_what_they_say() {
    for (word, moves, avoids) in [
        ("flowlet-quality", "after a pause", true),
        ("flowlet-random", "after a pause", false),
        ("per-packet-quality", "always", true),
        ("per-packet-random", "always", false),
        ("fixed", "never", true),
    ] {
        let mut leaf = FakeLeaf::new(8, 4, 1);
        let mut ars = made(&leaf, &[mode(word)]);
        assert_eq!((ars.needs().tick, ars.needs().leaving), (avoids, avoids), "{word}");
        let mut different = |leaf: &mut FakeLeaf, pause: Span| {
            let mut ports: Vec<PortId> = (0..100)
                .map(|seq| {
                    leaf.wait(pause);
                    leaf.pick(&mut *ars, &mut data(0, 9, 1, seq))
                })
                .collect();
            ports.sort_unstable();
            ports.dedup();
            ports.len()
        };
        let packets = different(&mut leaf, Span(1));
        let flowlets = different(&mut leaf, Span(IDLE.0 + 1));
        let wanted = match moves {
            "always" => (4, 4),
            "never" => (1, 1),
            _ => (1, 4),
        };
        assert_eq!((packets, flowlets), wanted, "{word}");
        waits(&mut leaf, 8, 900_000);
        if avoids {
            sampled(&mut leaf, &mut *ars, 1);
        }
        leaf.wait(Span(IDLE.0 + 1));
        if word != "fixed" {
            assert_eq!(used(&mut leaf, &mut *ars).contains(&0), !avoids, "{word}");
        }
    }
}

/// Breaks if ports of equal quality are not drawn uniformly: 4 ports, chi-square with 3 degrees of freedom,
/// 0.1 % point 16.3.
#[test]
fn ties_are_broken_at_random() {
    let mut leaf = FakeLeaf::new(8, 4, 1);
    let mut ars = made(&leaf, &[mode("per-packet-quality")]);
    let mut counts = [0u64; 4];
    for seq in 0..8_000 {
        counts[usize::from(leaf.pick(&mut *ars, &mut data(0, 9, 1, seq)).0 - 8)] += 1;
    }
    let chi2 = chi_square(&counts, &[2_000.0; 4]);
    assert!(chi2 < 16.3, "chi-square {chi2}: {counts:?}");
}

/// Breaks if a flow stays on a port that has gone, in any mode.
#[test]
fn a_lost_port_is_left_at_once() {
    for word in ["flowlet-quality", "fixed"] {
        let mut leaf = FakeLeaf::new(8, 4, 1);
        let mut ars = made(&leaf, &[mode(word)]);
        let first = leaf.pick(&mut *ars, &mut data(0, 9, 1, 0));
        leaf.live.retain(|port| *port != first);
        let second = leaf.pick(&mut *ars, &mut data(0, 9, 1, 1));
        assert!(leaf.live.contains(&second), "{word}");
        leaf.live = (8..12).map(PortId).collect();
        assert_eq!(leaf.pick(&mut *ars, &mut data(0, 9, 1, 2)), second, "{word}");
    }
}

/// Breaks if thresholds that leave no room for a band divide by nothing.
#[test]
fn thresholds_are_in_order() {
    let leaf = FakeLeaf::new(8, 4, 1);
    for (key, value) in [
        ("load_past_max_val", Value::Int(1_000)),
        ("load_future_max_val", Value::Bytes(Bytes(3_000))),
    ] {
        let error = build(&with(&[(key, value)]), &leaf.env).err().unwrap();
        assert_eq!(error.key, key.replace("max", "min"));
        assert!(error.allowed.starts_with("less than the greatest threshold"), "{error}");
    }
}
