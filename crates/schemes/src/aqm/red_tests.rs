//! RED against averages and probabilities computed by hand from Floyd and Jacobson, 1993.

use super::*;
use crate::Value;
use crate::aqm::ecn_threshold;
use crate::testing::{FakeLeaf, chi_square, control, data, queue_view};
use leafspine_core::{Flags, Role};

fn params(settings: &[(&str, Value)]) -> Params {
    settings.iter().fold(Params::defaults(ENTRY.info.params), |params, (key, value)| {
        params.with(key, value.clone())
    })
}

fn red(settings: &[(&str, Value)]) -> Red {
    make(&params(settings), &FakeLeaf::new(1, 1, 1).env, PortId(0)).unwrap()
}

fn packets(n: u32) -> Value {
    Value::Amount(Amount::Packets(n))
}

/// By hand: HPCC's and DCQCN's evaluations mark from 100 to 400 KB for each 25 Gb/s of a port, which is
/// what it sends in 32 and in 128 us: 400 KB and 1.6 MB at 100 Gb/s.
///
/// Breaks if thresholds in time do not go by the port's own rate, count packets, or mix with sizes.
#[test]
fn thresholds_in_time_go_by_the_ports_rate() {
    let time = |us| Value::Span(Span::from_micros(us));
    let by_time = params(&[("min_threshold", time(32)), ("max_threshold", time(128))]);
    let mut env = FakeLeaf::new(1, 1, 1).env;
    (env.ports[0].rate, env.ports[1].rate) = (Rate::from_gbps(25), Rate::from_gbps(100));
    let at = |port| make(&by_time, &env, PortId(port)).unwrap();
    let of = |red: &Red| (red.low, red.high, red.byte_mode.is_some());
    assert_eq!(of(&at(0)), (100_000.0, 400_000.0, true));
    assert_eq!(of(&at(1)), (400_000.0, 1_600_000.0, true));
    let error = |low, high| {
        let params = params(&[("min_threshold", low), ("max_threshold", high)]);
        make(&params, &env, PortId(0)).err().unwrap().to_string()
    };
    assert_eq!(
        error(time(32), Value::Amount(Amount::Bytes(400_000))),
        "max_threshold: found 400KB; allowed: the unit of min_threshold, which is 32us"
    );
    assert_eq!(
        error(time(32), time(31)),
        "max_threshold: found 31us; allowed: at least min_threshold, 32us"
    );
}

/// Breaks if the average is not Fig. 2's: with w = 1/2 and 4, 4, 6, 0 waiting packets it is 2, 3,
/// 4.5, 2.25. A busy line with nothing waiting is a queue of 0, not an idle one.
#[test]
fn the_average_is_exponentially_weighted() {
    let mut red = red(&[("weight", Value::Float(0.5))]);
    let mut rng = Rng::new(1, Role::Aqm, 0);
    for (waiting, average) in [(4, 2.0), (4, 3.0), (6, 4.5), (0, 2.25)] {
        red.admit(&data(0, 1, 1, 0), &queue_view(waiting, true), Time::ZERO, &mut rng);
        assert_eq!(red.averages[0].queue, average, "{waiting} waiting");
    }
}

/// Breaks if an idle time does not count as that many small packets finding an empty queue (§4):
/// at 10 Gb/s two 1500-byte packets sent at 0 keep the line until 2.4 us and 500 bytes are 0.4 us,
/// so at 3.2 us m = 2, and 8 packets decay to 8 / 4 with w = 1/2.
#[test]
fn an_idle_line_decays_the_average() {
    let mut red = red(&[("weight", Value::Float(0.5))]);
    let mut rng = Rng::new(1, Role::Aqm, 0);
    red.admit(&data(0, 1, 1, 0), &queue_view(0, false), Time::ZERO, &mut rng);
    red.admit(&data(0, 1, 1, 1), &queue_view(0, true), Time::ZERO, &mut rng);
    red.averages[0].queue = 8.0;
    red.admit(&data(0, 1, 1, 2), &queue_view(0, false), Time(3_200_000), &mut rng);
    assert_eq!(red.averages[0].queue, 2.0);
}

/// Breaks if pb is not Fig. 2's straight line (half-way up is max_p / 2), or if gentle does not go
/// on to 1 at twice the upper threshold (Floyd, 2000): half-way there it is 0.02 + 0.98 / 2.
#[test]
fn probabilities_are_the_figures() {
    let near = |a: f64, b: f64| (a - b) * (a - b) < 1e-24;
    let (steep, gentle) = (red(&[]), red(&[("gentle", Value::Bool(true))]));
    for (average, plain, soft) in [
        (5.0, 0.0, 0.0),
        (10.0, 0.01, 0.01),
        (15.0, 1.0, 0.02),
        (22.5, 1.0, 0.51),
        (30.0, 1.0, 1.0),
    ] {
        assert!(near(steep.probability(average), plain), "{average}");
        assert!(near(gentle.probability(average), soft), "gentle {average}");
    }
}

/// Breaks if gentle marks every packet beyond the upper threshold, or not every one beyond twice
/// that. At 22 packets pb is 0.48: of 100 fresh decisions some go either way, but for 2^-90.
#[test]
fn gentle_is_sure_only_at_twice_the_threshold() {
    let mut red = red(&[("gentle", Value::Bool(true)), ("weight", Value::Float(1.0))]);
    let mut rng = Rng::new(1, Role::Aqm, 0);
    let mut marks = |waiting| {
        let mut admit = |waiting| {
            red.admit(&data(0, 1, 1, 0), &queue_view(waiting, true), Time::ZERO, &mut rng)
        };
        let fresh = (0..100).map(|_| (admit(0), admit(waiting)).1);
        fresh.filter(|verdict| *verdict == Admit::Mark).count()
    };
    assert!((1..100).contains(&marks(22)));
    assert_eq!(marks(30), 100);
}

/// Breaks if marks are not spread by the count (Fig. 2): with pb = 0.1 the distance between marks
/// is uniform on 1..=9 (the product of the pa's telescopes). Chi-square of 9,000 distances, 8
/// degrees of freedom, 0.1 % point 26.1; none may be longer.
#[test]
fn distances_between_marks_are_uniform() {
    let mut red = red(&[("weight", Value::Float(1.0)), ("max_probability", Value::Float(0.2))]);
    let mut rng = Rng::new(1, Role::Aqm, 0);
    let (mut distances, mut since, mut marks) = ([0u64; 9], 0, 0);
    while marks <= 9_000 {
        since += 1;
        let verdict = red.admit(&data(0, 1, 1, 0), &queue_view(10, true), Time::ZERO, &mut rng);
        if verdict == Admit::Mark {
            // The first one counts from the start, not from a mark.
            if marks > 0 {
                distances[since - 1] += 1;
            }
            (marks, since) = (marks + 1, 0);
        }
    }
    let chi2 = chi_square(&distances, &[1_000.0; 9]);
    assert!(chi2 < 26.1, "chi-square {chi2}: {distances:?}");
}

/// Breaks if a small packet is marked as often as a full one in byte mode (§4): the first packet
/// after a spell below the threshold has pa = pb, here 0.5 x 750/1500. Binomial(40,000, 1/4):
/// mean 10,000, standard deviation 87; five of them.
#[test]
fn byte_mode_marks_by_size() {
    let bytes = |n| Value::Amount(Amount::Bytes(n));
    let mut red = red(&[
        ("min_threshold", bytes(7_500)),
        ("max_threshold", bytes(22_500)),
        ("weight", Value::Float(1.0)),
        ("max_probability", Value::Float(1.0)),
    ]);
    let mut rng = Rng::new(1, Role::Aqm, 0);
    let packet = PacketMeta { size: 750, ..data(0, 1, 1, 0) };
    let marks = (0..40_000)
        .filter(|_| {
            red.admit(&packet, &queue_view(1, true), Time::ZERO, &mut rng);
            red.admit(&packet, &queue_view(10, true), Time::ZERO, &mut rng) == Admit::Mark
        })
        .count();
    assert!((9_565..=10_435).contains(&marks), "{marks} of 40000 marked");
}

/// Breaks if, with one threshold and no averaging, RED is not the DCTCP marking that published
/// simulations make of it (DCTCP §3.1): the two managers must agree on every packet, also on those
/// that find an idle line.
#[test]
fn with_one_threshold_it_is_the_ecn_threshold() {
    let mut red = red(&[
        ("min_threshold", packets(20)),
        ("max_threshold", packets(20)),
        ("weight", Value::Float(1.0)),
    ]);
    let simple = Params::defaults(ecn_threshold::ENTRY.info.params).with("threshold", packets(20));
    let leaf = FakeLeaf::new(1, 1, 1);
    let mut simple = (ecn_threshold::ENTRY.build)(&simple, &leaf.env, PortId(0)).unwrap();
    let mut rng = Rng::new(1, Role::Aqm, 0);
    let mut now = Time::ZERO;
    for _ in 0..10_000 {
        let waiting = rng.below(40) as u32;
        let queue = queue_view(waiting, waiting > 0 || rng.chance(0.5));
        let packet = data(0, 1, 1, 0);
        let expected = simple.admit(&packet, &queue, now, &mut rng);
        assert_eq!(red.admit(&packet, &queue, now, &mut rng), expected, "{waiting} waiting");
        now += Span(rng.below(4_000_000));
    }
}

/// Breaks if a packet that is not ECN-capable is marked (RFC 3168 §5), or if one service queue's
/// average is another's.
#[test]
fn others_are_dropped_and_queues_are_apart() {
    let mut red = red(&[("weight", Value::Float(1.0))]);
    let mut rng = Rng::new(1, Role::Aqm, 0);
    let ack = control(0, 1, 1, Flags::ACK);
    assert_eq!(red.admit(&ack, &queue_view(50, true), Time::ZERO, &mut rng), Admit::Drop);
    let second = QueueView { queue: 1, ..queue_view(0, true) };
    assert_eq!(red.admit(&ack, &second, Time::ZERO, &mut rng), Admit::Take);
    assert_eq!((red.averages[0].queue, red.averages[1].queue), (50.0, 0.0));
}

/// Breaks if answers are dropped where the switches of a RoCE fabric would let them pass, or marked.
#[test]
fn what_cannot_be_marked_may_pass() {
    let off = ("drop_not_capable", Value::Bool(false));
    let mut red = red(&[("weight", Value::Float(1.0)), off]);
    let mut rng = Rng::new(1, Role::Aqm, 0);
    let answer = control(0, 1, 1, Flags::ACK);
    assert_eq!(red.admit(&answer, &queue_view(50, true), Time::ZERO, &mut rng), Admit::Take);
    let data = PacketMeta { ecn: Ecn::Capable, ..answer };
    assert_eq!(red.admit(&data, &queue_view(50, true), Time::ZERO, &mut rng), Admit::Mark);
}

/// Breaks if thresholds of two units or in the wrong order are taken.
#[test]
fn thresholds_must_fit_each_other() {
    let env = FakeLeaf::new(1, 1, 1).env;
    let refusal = |value| {
        let error = make(&params(&[("max_threshold", value)]), &env, PortId(0)).err();
        error.map(|e| e.to_string())
    };
    assert_eq!(
        refusal(packets(4)).as_deref(),
        Some("max_threshold: found 4pkt; allowed: at least min_threshold, 5pkt")
    );
    assert_eq!(
        refusal(Value::Amount(Amount::Bytes(30_000))).as_deref(),
        Some("max_threshold: found 30KB; allowed: the unit of min_threshold, which is 5pkt")
    );
}

/// Breaks if RED whose average is the queue says that it need not be asked of packets that find
/// nothing, and judges others by whether it was: a queue of 0 to 39 packets that rises and falls.
#[test]
fn what_finds_nothing_need_not_be_asked_of() {
    let settings = [("weight", Value::Float(1.0)), ("max_probability", Value::Float(0.3))];
    let (mut asked, mut spared) = (red(&settings), red(&settings));
    assert!(asked.needs().passes_idle && !red(&[]).needs().passes_idle);
    let from_zero = [("weight", Value::Float(1.0)), ("min_threshold", packets(0))];
    assert!(!red(&from_zero).needs().passes_idle);
    let draws = || Rng::new(3, Role::Aqm, 0);
    let (mut first, mut second, mut walk) = (draws(), draws(), Rng::new(9, Role::Aqm, 0));
    let (mut waiting, mut marked) = (0, 0);
    for seq in 0..20_000 {
        let packet = data(0, 1, 1, seq);
        if waiting == 0 {
            let idle = asked.admit(&packet, &queue_view(0, false), Time::ZERO, &mut first);
            assert_eq!(idle, Admit::Take);
        }
        let view = queue_view(waiting, true);
        let verdict = asked.admit(&packet, &view, Time::ZERO, &mut first);
        assert_eq!(verdict, spared.admit(&packet, &view, Time::ZERO, &mut second));
        marked += u32::from(verdict == Admit::Mark);
        let rises = waiting == 0 || (waiting < 39 && walk.chance(0.52));
        waiting = if rises { waiting + 1 } else { waiting - 1 };
    }
    assert!(marked > 100, "{marked}");
}
