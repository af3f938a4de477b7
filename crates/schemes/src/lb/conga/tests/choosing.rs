//! Which uplink a flowlet takes (§3.4, §3.5).

use super::*;

/// Breaks if the larger of local and remote metric does not decide: uplink 0 has 3 here and 0 behind,
/// uplink 1 has 0 and 5, 2 has 4 and 4, 3 has 5 and 1. The least of the largest is uplink 0's.
#[test]
fn the_larger_of_local_and_remote_counts() {
    let mut leaf = Switch::new(leaf(0, UPLINKS), &defaults());
    for (number, (local, remote)) in [(3, 0), (0, 5), (4, 4), (5, 1)].into_iter().enumerate() {
        let number = number as u16;
        leaf.load(uplink(number), local * 25_000);
        let mut packet = back(1);
        packet.header.0[1] = Tag { uplink: number, metric: remote }.word();
        leaf.arrive(&mut packet, uplink(0));
    }
    for sport in 0..50 {
        assert_eq!(leaf.pick(&mut forth(sport)), uplink(0));
    }
}

/// Breaks if a flow moves for nothing: as long as no uplink has strictly less congestion, every new
/// flowlet takes the cached one (§3.5).
#[test]
fn a_flow_moves_only_to_a_strictly_better_uplink() {
    let mut leaf = Switch::new(leaf(0, UPLINKS), &defaults());
    let first = leaf.pick(&mut forth(1));
    for _ in 0..200 {
        leaf.at.wait(Span(GAP.0 + 1));
        assert_eq!(leaf.pick(&mut forth(1)), first);
    }
    leaf.at.wait(Span(GAP.0 + 1));
    leaf.load(first, 25_000);
    assert_ne!(leaf.pick(&mut forth(1)), first);
}

/// Breaks if a new flow does not draw evenly among equal minima: uplink 0 is loaded, 3,000 flows on
/// the other three; chi-square with 2 degrees of freedom, 0.1 % point 13.8.
#[test]
fn ties_without_a_cached_uplink_are_drawn() {
    let mut leaf = Switch::new(leaf(0, UPLINKS), &defaults());
    leaf.load(uplink(0), 50_000);
    let mut flows = [0u64; 4];
    for sport in 0..3_000 {
        flows[usize::from(leaf.pick(&mut forth(sport)).0 - HOSTS)] += 1;
    }
    assert_eq!(flows[0], 0);
    let chi2 = chi_square(&flows[1..], &[1_000.0; 3]);
    assert!(chi2 < 13.8, "chi-square {chi2}: {flows:?}");
}

/// Breaks if a flowlet is moved before its gap, or not after it (§3.4).
#[test]
fn flowlets_stay_and_then_move() {
    let mut leaf = Switch::new(leaf(0, UPLINKS), &defaults());
    let first = leaf.pick(&mut forth(1));
    for _ in 0..20 {
        leaf.at.wait(GAP);
        leaf.load(first, 150_000);
        assert_eq!(leaf.pick(&mut forth(1)), first);
    }
    leaf.at.wait(Span(GAP.0 + 1));
    leaf.load(first, 150_000);
    assert_ne!(leaf.pick(&mut forth(1)), first);
}

/// Breaks if a flowlet stays on an uplink that has gone.
#[test]
fn a_lost_uplink_is_left_at_once() {
    let mut leaf = Switch::new(leaf(0, UPLINKS), &defaults());
    let first = leaf.pick(&mut forth(1));
    leaf.at.live.retain(|port| *port != first);
    assert!(leaf.at.live.contains(&leaf.at.clone().pick(&mut *leaf.conga, &mut forth(1))));
}

/// Breaks if a stale metric keeps flows away for ever: 7 on uplinks 0 to 2 at time 0. After 10 ms all
/// new flows still take uplink 3, after 17 ms all are alike again (§3.3).
#[test]
fn stale_congestion_is_forgotten() {
    let mut leaf = Switch::new(leaf(0, UPLINKS), &defaults());
    for number in 0..3 {
        let mut packet = back(1);
        packet.header.0[1] = Tag { uplink: number, metric: 7 }.word();
        leaf.arrive(&mut packet, uplink(0));
    }
    leaf.at.wait(Span::from_millis(10));
    assert!((0..50).all(|sport| leaf.pick(&mut forth(sport)) == uplink(3)));
    leaf.at.wait(Span::from_millis(7));
    let taken: std::collections::BTreeSet<_> =
        (100..200).map(|sport| leaf.pick(&mut forth(sport))).collect();
    assert_eq!(taken.len(), 4);
}

/// Breaks if an uplink on which nothing is sent any more keeps its metric: 150,000 bytes by all but
/// uplink 3 are level 6. For the rest of the period new flows take uplink 3; 2 ms, 62 periods, later all are
/// alike (§3.2).
#[test]
fn an_idle_uplink_is_taken_again() {
    let mut leaf = Switch::new(leaf(0, UPLINKS), &defaults());
    (0..3).for_each(|number| leaf.load(uplink(number), 150_000));
    let mut taken = |from: u16| -> std::collections::BTreeSet<PortId> {
        leaf.at.wait(Span::from_micros(if from == 0 { 30 } else { 2_000 }));
        (from..from + 100).map(|sport| leaf.pick(&mut forth(sport))).collect()
    };
    assert_eq!(taken(0), [uplink(3)].into());
    assert_eq!(taken(1_000).len(), 4);
}

/// Breaks if bytes count before they are sent: 150,000 wait behind each other on uplink 0, 100 us
/// apart in five lots. At first a new flow may take uplink 0 (all are at zero), later it does not;
/// and CE of the packets that wait is that of the time at which they will go.
#[test]
fn waiting_packets_have_not_been_sent() {
    let params = defaults().with("tau", Value::Span(Span::from_millis(100)));
    let mut leaf = Switch::new(leaf(0, 2), &params);
    // 10 Gb/s for 100 ms are 125 MB: a level is 15.6 MB. Lots of 20 MB: 1.28, 2.56, ... levels.
    let mut stamps = Vec::new();
    for lot in 1..=5u64 {
        let at = Time(Span::from_micros(100 * lot).0);
        for _ in 0..400 {
            let mut packet = PacketMeta { size: 50_000, ..forth(1) };
            packet.header.0[0] = Tag { uplink: 0, metric: 0 }.word();
            leaf.leave(&mut packet, uplink(0), at);
            stamps.push(tags(&packet)[0].unwrap().1);
        }
    }
    let last_of_lots: Vec<u8> = stamps.chunks(400).map(|lot| lot[399]).collect();
    assert_eq!(last_of_lots, [1, 2, 3, 5, 6]);
    let on_first = |leaf: &mut Switch, from: u16| {
        (from..from + 100).filter(|sport| leaf.pick(&mut forth(*sport)) == uplink(0)).count()
    };
    leaf.at.wait(Span::from_micros(99));
    assert!((30..70).contains(&on_first(&mut leaf, 0)), "nothing has been sent");
    leaf.at.wait(Span::from_micros(1));
    assert_eq!(on_first(&mut leaf, 1_000), 0);
}
