//! DRILL against its algorithm (§3.2) and its components (§3.4).

use super::*;
use crate::testing::{FakeLeaf, chi_square, data};
use crate::{Backlog, Value};
use leafspine_core::TorId;

const UPLINKS: u16 = 8;

fn leaf() -> FakeLeaf {
    FakeLeaf::new(4, UPLINKS, 1)
}

fn made(leaf: &FakeLeaf, d: u64, m: u64) -> Box<dyn LoadBalancer> {
    let params = Params::defaults(ENTRY.info.params);
    let params = params.with("d", Value::Int(d)).with("m", Value::Int(m));
    build(&params, &leaf.env).unwrap()
}

fn uplink(number: u16) -> PortId {
    PortId(4 + number)
}

fn fill(leaf: &mut FakeLeaf, number: u16, bytes: u32, in_service: u32) {
    let port = &mut leaf.ports.ports[usize::from(uplink(number).0)];
    port.queues[0] = Backlog { packets: bytes / 1500, bytes, in_service: 0 };
    port.in_service = in_service;
}

fn pick(leaf: &mut FakeLeaf, drill: &mut dyn LoadBalancer, seq: u32) -> PortId {
    leaf.pick_towards(drill, &mut data(0, 5, 1, seq), TorId(1))
}

/// So many packets that every uplink has been drawn, but for (3/4)^300.
fn warm_up(leaf: &mut FakeLeaf, drill: &mut dyn LoadBalancer) {
    for seq in 0..300 {
        pick(leaf, drill, seq);
    }
}

/// Breaks if the shortest of the samples is not taken: uplink n has n packets, so with d = 2 and no
/// memory the shortest but k is taken when it and a longer one are drawn: (7 - k) of 28 pairs.
/// Chi-square with 6 degrees of freedom, 0.1 % point 22.5. The longest is never taken.
#[test]
fn the_shortest_of_two_samples_is_taken() {
    let mut leaf = leaf();
    (0..UPLINKS).for_each(|n| fill(&mut leaf, n, 1500 * u32::from(n), 0));
    let mut drill = made(&leaf, 2, 0);
    let mut taken = [0u64; 8];
    for seq in 0..28_000 {
        taken[usize::from(pick(&mut leaf, &mut *drill, seq).0 - 4)] += 1;
    }
    let expected = [7e3, 6e3, 5e3, 4e3, 3e3, 2e3, 1e3];
    let chi2 = chi_square(&taken[..7], &expected);
    assert!(chi2 < 22.5 && taken[7] == 0, "chi-square {chi2}: {taken:?}");
}

/// Breaks if the best seen is not compared again: uplink 3 is empty, all others have a packet. Once
/// it has been drawn, every packet takes it; without memory, a quarter.
#[test]
fn the_best_seen_is_compared_again() {
    for (m, all) in [(1, true), (0, false)] {
        let mut leaf = leaf();
        (0..UPLINKS).filter(|n| *n != 3).for_each(|n| fill(&mut leaf, n, 1500, 0));
        let mut drill = made(&leaf, 2, m);
        warm_up(&mut leaf, &mut *drill);
        let best = (0..1_000).filter(|s| pick(&mut leaf, &mut *drill, *s) == uplink(3)).count();
        if all {
            assert_eq!(best, 1_000);
        } else {
            // Binomial(1,000, 1/4): standard deviation 13.7; four of them.
            assert!((195..=305).contains(&best), "{best} of 1,000");
        }
    }
}

/// Breaks if the memory keeps anything but the m shortest, or one of them twice: m = 2, uplinks 0
/// and 1 short, the longer of them is taken as soon as the other has grown, without being drawn (twenty
/// times; by chance a quarter of the times at most).
#[test]
fn the_m_shortest_are_remembered() {
    for d in [1, 2] {
        let mut leaf = leaf();
        (0..UPLINKS).for_each(|n| fill(&mut leaf, n, 15_000, 0));
        fill(&mut leaf, 1, 3000, 0);
        let mut drill = made(&leaf, d, 2);
        for _ in 0..20 {
            fill(&mut leaf, 0, 1500, 0);
            warm_up(&mut leaf, &mut *drill);
            assert_eq!(pick(&mut leaf, &mut *drill, 300), uplink(0));
            fill(&mut leaf, 0, 30_000, 0);
            assert_eq!(pick(&mut leaf, &mut *drill, 301), uplink(1), "d = {d}");
        }
    }
}

/// Breaks if a memory serves another destination, or another engine: uplink 3 is remembered for
/// leaf 1 by the engine of port 0, the others must find it for themselves (one packet each: a
/// quarter draws it).
#[test]
fn memories_are_per_destination_and_engine() {
    let params = Params::defaults(ENTRY.info.params).with("engines", Value::Int(2));
    let mut cold = [0; 2];
    for seed in 0..200 {
        let mut leaf = FakeLeaf::new(4, UPLINKS, seed);
        (0..UPLINKS).filter(|n| *n != 3).for_each(|n| fill(&mut leaf, n, 1500, 0));
        let mut drill = build(&params, &leaf.env).unwrap();
        let mut ask = |from: u16, to: u16| {
            let mut packet = data(0, 4 * to, 1, 0);
            leaf.with(|cx| drill.arrived(&mut packet, PortId(from), cx));
            leaf.pick_towards(&mut *drill, &mut packet, TorId(to)) == uplink(3)
        };
        assert!((0..100).filter(|_| ask(0, 1)).count() > 50);
        assert!(ask(2, 1), "port 2 has the same engine");
        cold[0] += usize::from(ask(0, 2));
        cold[1] += usize::from(ask(1, 1));
    }
    // Binomial(200, 1/4): mean 50, standard deviation 6.1; four of them.
    assert!(cold.iter().all(|n| (26..=74).contains(n)), "{cold:?} of 200");
}

/// Breaks if a dead port stays in the memory: uplink 3 goes, is left at once, and when it comes
/// back full it has been forgotten.
#[test]
fn a_dead_port_leaves_the_memory() {
    let mut leaf = leaf();
    (0..UPLINKS).filter(|n| *n != 3).for_each(|n| fill(&mut leaf, n, 15_000, 0));
    let mut drill = made(&leaf, 2, 1);
    warm_up(&mut leaf, &mut *drill);
    assert_eq!(pick(&mut leaf, &mut *drill, 300), uplink(3));
    leaf.offer(4..4 + UPLINKS);
    leaf.live.retain(|port| *port != uplink(3));
    leaf.capacity.pop();
    assert_ne!(pick(&mut leaf, &mut *drill, 301), uplink(3));
    leaf.offer(4..4 + UPLINKS);
    // All alike but uplink 3, still the shortest: only a draw finds it again, a quarter of a time.
    let again = (0..200).filter(|seq| {
        let mut fresh = leaf.clone();
        fresh.rng = leafspine_core::Rng::new(*seq, leafspine_core::Role::Balancer, 9);
        fresh.live.retain(|port| *port != uplink(3));
        pick(&mut fresh, &mut *drill, 0);
        fresh.offer(4..4 + UPLINKS);
        pick(&mut fresh, &mut *drill, 0) == uplink(3)
    });
    let again = again.count();
    assert!((26..=74).contains(&again), "{again} of 200");
}

/// Breaks if packets are counted instead of bytes, or if the packet in transmission is not: one
/// waiting full packet is longer than 30 small ones, and a busy line longer than an idle one.
#[test]
fn length_is_bytes_with_those_in_transmission() {
    let mut leaf = leaf();
    leaf.offer(4..6);
    let mut drill = made(&leaf, 2, 1);
    fill(&mut leaf, 0, 1500, 0);
    leaf.ports.ports[5].queues[0] = Backlog { packets: 30, bytes: 1200, in_service: 0 };
    assert!((0..20).all(|seq| pick(&mut leaf, &mut *drill, seq) == uplink(1)));
    fill(&mut leaf, 0, 0, 0);
    fill(&mut leaf, 1, 0, 40);
    assert!((0..20).all(|seq| pick(&mut leaf, &mut *drill, seq) == uplink(0)));
}

/// Breaks if idle ports do not share packets evenly: with ties to the memory, all would go one way.
/// 8,000 packets over 8 ports, chi-square with 7 degrees of freedom, 0.1 % point 24.3.
#[test]
fn ties_are_drawn() {
    let mut leaf = leaf();
    let mut drill = made(&leaf, 2, 1);
    let mut taken = [0u64; 8];
    for seq in 0..8_000 {
        taken[usize::from(pick(&mut leaf, &mut *drill, seq).0 - 4)] += 1;
    }
    let chi2 = chi_square(&taken, &[1_000.0; 8]);
    assert!(chi2 < 24.3, "chi-square {chi2}: {taken:?}");
}

/// Breaks if flows are not hashed to components by weight, or if their packets leave them: two
/// ports of 10 Gb/s, two of 2.5: 4/5 of 4,000 flows take the former (standard deviation 25; four of
/// them), each flow both ports of its own pair and never the other pair's.
#[test]
fn flows_keep_to_ports_of_one_capacity() {
    let mut leaf = leaf();
    leaf.offer(4..8);
    leaf.capacity = vec![10_000_000, 2_500_000, 10_000_000, 2_500_000];
    let mut drill = made(&leaf, 2, 1);
    let mut fast = 0;
    for sport in 0..4_000 {
        let mut taken = [0; 4];
        for seq in 0..12 {
            let port = leaf.pick_towards(&mut *drill, &mut data(0, 5, sport, seq), TorId(1));
            taken[usize::from(port.0 - 4)] += 1;
        }
        let (ten, two) = (taken[0] + taken[2], taken[1] + taken[3]);
        assert!(ten == 0 || two == 0, "{taken:?}");
        fast += u32::from(ten > 0);
    }
    assert!(fast.abs_diff(3_200) <= 100, "{fast} of 4,000");
    let params = Params::defaults(ENTRY.info.params);
    let none = params.with("components", Value::Word("none".to_owned()));
    let mut drill = build(&none, &leaf.env).unwrap();
    let all: std::collections::BTreeSet<PortId> =
        (0..100).map(|seq| pick(&mut leaf, &mut *drill, seq)).collect();
    assert_eq!(all.len(), 4, "without components a flow takes all ports");
}

/// Breaks if a component's share of the flows is not its capacity's: one unit of four, so a quarter of
/// 4,000 flows (standard deviation 27; four of them).
#[test]
fn components_weigh_what_their_ports_carry() {
    let mut leaf = leaf();
    leaf.offer(4..6);
    leaf.capacity = vec![1, 3];
    let mut drill = made(&leaf, 2, 1);
    let mut first = |sport| leaf.pick_towards(&mut *drill, &mut data(0, 5, sport, 0), TorId(1));
    let slow = (0..4_000).filter(|sport| first(*sport) == PortId(4)).count();
    assert!(slow.abs_diff(1_000) <= 110, "{slow} of 4,000");
}

/// Breaks if the engines do not know by which port a packet comes, or one alone is, or if the state is
/// not 2 bytes for each of m ports, 4 leaves and each engine.
#[test]
fn engines_cost_memory_and_a_call_a_packet() {
    for (engines, arrived) in [(1, false), (2, true), (3, true)] {
        let params = Params::defaults(ENTRY.info.params).with("engines", Value::Int(engines));
        let drill = build(&params.with("m", Value::Int(5)), &leaf().env).unwrap();
        assert_eq!(drill.needs(), Needs { arrived, ..Needs::default() });
        assert_eq!(drill.inspect().footprint(Time::ZERO).bytes, 2 * 5 * 4 * engines);
    }
}

/// Breaks if a queue is known before its clone has come, or never: uplink 3's packet leaves 3,000 bytes
/// behind at 0, all others 6,000; 621 us later every packet takes 3, until a packet tells otherwise. If
/// information is not as old as the packet that tells of it. And if the delay is free: it takes calls, and
/// 4 bytes a port that does not lead to a host.
#[test]
fn with_a_clone_delay_queues_are_known_late() {
    let mut leaf = leaf();
    let params = Params::defaults(ENTRY.info.params);
    let params = params.with("clone_delay", Value::Span(Span::from_micros(621)));
    let mut drill = build(&params, &leaf.env).unwrap();
    assert!(drill.needs().leaving && !made(&leaf, 2, 1).needs().leaving);
    assert_eq!(drill.inspect().footprint(Time::ZERO).bytes, 2 * 4 + 4 * u64::from(UPLINKS));
    let tell = |leaf: &mut FakeLeaf, drill: &mut dyn LoadBalancer, number: u16, bytes: u32| {
        fill(leaf, number, bytes, 1500);
        let now = leaf.now;
        leaf.with(|cx| drill.leaving(&mut data(0, 5, 1, 0), uplink(number), now, cx));
    };
    (0..UPLINKS).for_each(|n| tell(&mut leaf, &mut *drill, n, if n == 3 { 3000 } else { 6000 }));
    let share = |leaf: &mut FakeLeaf, drill: &mut dyn LoadBalancer| {
        warm_up(leaf, drill);
        (0..200).filter(|seq| pick(leaf, drill, *seq) == uplink(3)).count()
    };
    leaf.wait(Span::from_micros(620));
    assert!(share(&mut leaf, &mut *drill) < 60, "all queues are taken for empty");
    assert_eq!(drill.inspect().information_age(leaf.now), None);
    leaf.wait(Span::from_micros(1));
    assert_eq!(drill.inspect().information_age(leaf.now), Some(Span::from_micros(621)));
    assert_eq!(share(&mut leaf, &mut *drill), 200);
    assert_eq!(drill.inspect().information_age(leaf.now), Some(Span::from_micros(621)));
    tell(&mut leaf, &mut *drill, 3, 9000);
    leaf.wait(Span::from_micros(620));
    assert_eq!(share(&mut leaf, &mut *drill), 200);
    leaf.wait(Span::from_micros(1));
    assert_eq!(share(&mut leaf, &mut *drill), 0);
}

/// Breaks if more samples than ports are drawn, or a port twice: with d = 64 of 3 ports the
/// shortest is always found.
#[test]
fn more_samples_than_ports_is_all_ports() {
    let mut leaf = leaf();
    leaf.offer(4..7);
    (0..3).for_each(|n| fill(&mut leaf, n, 1500 * u32::from(3 - n), 0));
    let mut drill = made(&leaf, 64, 64);
    assert!((0..50).all(|seq| pick(&mut leaf, &mut *drill, seq) == uplink(2)));
}
