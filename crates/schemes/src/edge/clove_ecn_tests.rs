//! CLOVE-ECN against its paper.

use super::*;
use crate::testing::{FakeHost, control, data, stated};
use leafspine_core::Flags;

/// Host 0 with 4 paths to each of 4 racks of 8; an empty fabric's round trip of 20 us.
fn made() -> (CloveEcn, FakeHost) {
    let host = FakeHost::new(1_000);
    (
        make(
            &Settings::read(&stated(
                Settings::PARAMS,
                &[("gap", "40us"), ("relay", "10us"), ("recent", "40us")],
            ))
            .unwrap(),
            &host.env,
        ),
        host,
    )
}

fn us(n: u64) -> Span {
    Span::from_micros(n)
}

/// The path of a packet to rack 1, sent after a pause.
fn send(edge: &mut CloveEcn, host: &mut FakeHost, pause: Span) -> u16 {
    host.now += pause;
    let mut packet = data(0, 9, 1, 0);
    host.send(edge, &mut packet);
    packet.path
}

/// How many of `flowlets` take each path.
fn counts(edge: &mut CloveEcn, host: &mut FakeHost, flowlets: u32) -> [u32; 4] {
    let mut counts = [0; 4];
    for _ in 0..flowlets {
        counts[usize::from(send(edge, host, us(41)))] += 1;
    }
    counts
}

/// A report about a path from here to rack 1.
fn report(edge: &mut CloveEcn, host: &mut FakeHost, path: u32) {
    let mut ack = control(9, 0, 80, Flags::ACK);
    ack.header.0[1] = FEEDBACK | path;
    host.with(|flow, cx| edge.acked(&ack, None, flow, cx));
}

/// Breaks if a flowlet ends at its gap instead of after it, or does not end, or if equal weights
/// do not take turns.
#[test]
fn flowlets_take_turns() {
    let (mut edge, mut host) = made();
    let first = send(&mut edge, &mut host, us(100));
    assert_eq!(send(&mut edge, &mut host, us(40)), first);
    assert_ne!(send(&mut edge, &mut host, us(41)), first);
    assert_eq!(counts(&mut edge, &mut host, 400), [100; 4]);
}

/// Breaks if all hosts begin at one path, where flows that start together would meet: 400 hosts over
/// 4 paths, standard deviation 8.7; five of them.
#[test]
fn turns_begin_anywhere() {
    let mut firsts = [0; 4];
    for seed in 0..400 {
        let (mut edge, mut host) = made();
        host.rng = Rng::new(seed, leafspine_core::Role::Edge, 0);
        firsts[usize::from(send(&mut edge, &mut host, us(100)))] += 1;
    }
    assert!(firsts.iter().all(|n| (57..=143).contains(n)), "{firsts:?}");
}

/// Breaks if racks that a host has nothing to do with take memory: 4 racks' lists and turns, then
/// a row of 4 paths of 16 bytes.
#[test]
fn only_racks_that_are_met_cost_memory() {
    let (mut edge, mut host) = made();
    let before = edge.inspect().footprint(Time::ZERO).bytes;
    assert_eq!(before, 4 * (16 + 16 + 2));
    send(&mut edge, &mut host, us(0));
    assert_eq!(edge.inspect().footprint(Time::ZERO).bytes - before, 4 * 16);
}

/// Breaks if a report does not take a third from its path and spread it over the others: 4 x
/// 1/4 become 1/6 and 3 x 5/18, that is 3, 5, 5, 5 of 18.
#[test]
fn a_report_moves_a_third() {
    let (mut edge, mut host) = made();
    host.now = Time(1);
    report(&mut edge, &mut host, 0);
    assert_eq!(counts(&mut edge, &mut host, 180), [30, 50, 50, 50]);
}

/// Breaks if a path that was itself reported lately takes another's weight, or if weight is made
/// or lost, or moves when all were reported.
#[test]
fn only_quiet_paths_take() {
    let (mut edge, mut host) = made();
    host.now = Time(1);
    let row = |edge: &CloveEcn| -> Vec<u32> {
        (0..4).map(|path| edge.towards.get(1, path).weight * 18 / WEIGHT).collect()
    };
    report(&mut edge, &mut host, 0);
    report(&mut edge, &mut host, 1);
    // Path 1 gives a third of 20/18 to paths 2 and 3, none to 0.
    assert_eq!(row(&edge), [12, 13, 23, 23]);
    report(&mut edge, &mut host, 2);
    report(&mut edge, &mut host, 3);
    let before = row(&edge);
    report(&mut edge, &mut host, 3);
    assert_eq!(row(&edge), before);
    let total: u32 = (0..4).map(|path| edge.towards.get(1, path).weight).sum();
    assert_eq!(total, 4 * WEIGHT);
    host.now += us(40);
    report(&mut edge, &mut host, 3);
    assert_eq!(row(&edge), before, "two round trips later is still lately");
    host.now += us(1);
    report(&mut edge, &mut host, 3);
    assert!(row(&edge)[0] > before[0], "but no later");
}

/// Breaks if a mark is not reported to its rack, is reported twice, or more often than twice a round
/// trip, or to another rack.
#[test]
fn marks_are_relayed_at_a_bounded_rate() {
    let (mut edge, mut host) = made();
    let mark = |edge: &mut CloveEcn, host: &mut FakeHost| {
        let mut packet = PacketMeta { path: 2, ecn: Ecn::Congested, ..data(17, 0, 1, 0) };
        host.with(|flow, cx| edge.receiving(&mut packet, flow, cx));
    };
    let reported = |edge: &mut CloveEcn, host: &mut FakeHost, to: u16| {
        let mut ack = control(0, to, 80, Flags::ACK);
        host.with(|flow, cx| edge.replying(&mut ack, flow, cx));
        ack.header.0[1]
    };
    host.now = Time(1);
    mark(&mut edge, &mut host);
    assert_eq!(reported(&mut edge, &mut host, 9), 0, "rack 1 has not asked");
    assert_eq!(reported(&mut edge, &mut host, 18), FEEDBACK | 2, "any host of rack 2 will do");
    mark(&mut edge, &mut host);
    host.now += us(9);
    assert_eq!(reported(&mut edge, &mut host, 17), 0);
    host.now += us(1);
    assert_eq!(reported(&mut edge, &mut host, 17), FEEDBACK | 2);
    assert_eq!(reported(&mut edge, &mut host, 17), 0);
}

/// Breaks if an unmarked packet is reported, or if a report in a data packet is not heard: it cuts
/// the path that it names, for a host that only receives data from there.
#[test]
fn data_brings_reports_too() {
    let (mut edge, mut host) = made();
    host.now = Time(1);
    let mut packet = PacketMeta { path: 2, ..data(9, 0, 1, 0) };
    packet.header.0[1] = FEEDBACK | 3;
    host.with(|flow, cx| edge.receiving(&mut packet, flow, cx));
    assert_eq!(edge.towards.get(1, 3).weight, WEIGHT / 3 * 2);
    let mut ack = control(0, 9, 80, Flags::ACK);
    host.with(|flow, cx| edge.replying(&mut ack, flow, cx));
    assert_eq!(ack.header.0[1], 0);
}

/// Breaks if ACKs are not cut into flowlets and spread over the paths as data are.
#[test]
fn acks_are_flowlets() {
    let (mut edge, mut host) = made();
    let mut counts = [0; 4];
    for _ in 0..400 {
        host.now += us(41);
        let mut back = |now: Time| {
            host.now = now;
            let mut ack = control(0, 9, 80, Flags::ACK);
            host.with(|flow, cx| edge.replying(&mut ack, flow, cx));
            ack.path
        };
        let now = Time(us(41).0 * (1 + counts.iter().sum::<u64>()));
        let path = back(now);
        assert_eq!(back(now), path);
        counts[usize::from(path)] += 1;
    }
    assert_eq!(counts, [100; 4]);
}

/// Breaks if several marked paths do not take turns in being reported.
#[test]
fn reports_take_turns() {
    let (mut edge, mut host) = made();
    let mut reported = Vec::new();
    for step in 1..=6 {
        host.now = Time(us(10 * step).0);
        for path in [1, 3] {
            let mut packet = PacketMeta { path, ecn: Ecn::Congested, ..data(17, 0, 1, 0) };
            host.with(|flow, cx| edge.receiving(&mut packet, flow, cx));
        }
        let mut ack = control(0, 17, 80, Flags::ACK);
        host.with(|flow, cx| edge.replying(&mut ack, flow, cx));
        reported.push(ack.header.0[1] & !FEEDBACK);
    }
    assert_eq!(reported, [1, 3, 1, 3, 1, 3]);
}
