//! Metrics of links, at leaves and spines, and what a switch keeps (§3.2, §3.3).

use super::*;

/// Breaks if CE is not the largest metric of the links on the way, or LBTag not the uplink: with
/// 25,000 bytes a level, the uplink has 2 and the spine's port 5, then 3 more on the uplink (§3.3).
#[test]
fn ce_is_the_largest_metric_on_the_way() {
    let mut fabric = Fabric::new();
    fabric.leaves[0].load(uplink(2), 60_000);
    fabric.spines[2].load(PortId(1), 130_000);
    let (_, packet) = fabric.carry(forth(1), 0, Some(2));
    assert_eq!(tags(&packet)[0], Some((2, 5)));
    fabric.leaves[0].load(uplink(2), 100_000);
    let (_, packet) = fabric.carry(forth(1), 0, Some(2));
    assert_eq!(tags(&packet)[0], Some((2, 6)));
    let (_, packet) = fabric.carry(forth(1), 0, Some(3));
    assert_eq!(tags(&packet)[0], Some((3, 0)));
}

/// Breaks if a leaf is not called for arrivals and departures, or a spine not for departures.
#[test]
fn switches_ask_for_the_calls_that_they_need() {
    let needs = |at: FakeLeaf| Switch::new(at, &defaults()).conga.needs();
    let leaving = Needs { leaving: true, ..Needs::default() };
    assert_eq!(needs(FakeLeaf::spine(HOSTS, 1, 1)), leaving);
    assert_eq!(needs(leaf(0, UPLINKS)), Needs { arrived: true, every_packet: true, ..leaving });
}

/// Breaks if a spine does not keep a flowlet on one of its parallel links, whatever its CE, if another tag does not
/// draw again, or if the draw is uneven: 4,000 flows over 4 links, chi-square with 3 degrees of freedom,
/// 0.1 % point 16.3; of 400 flows that change their tag a quarter stays, four standard deviations.
#[test]
fn spines_hash_over_parallel_links() {
    let mut spine = Switch::new(FakeLeaf::spine(HOSTS, 4, 1), &defaults());
    let mut metric = 0;
    let mut pick = |sport, uplink| {
        let mut packet = forth(sport);
        metric = (metric + 1) % 8;
        packet.header.0[0] = Tag { uplink, metric }.word();
        spine.pick(&mut packet)
    };
    let mut flows = [0u64; 4];
    for sport in 0..4_000 {
        let port = pick(sport, 1);
        assert_eq!(pick(sport, 1), port);
        flows[usize::from(port.0 - 4)] += 1;
    }
    let chi2 = chi_square(&flows, &[1_000.0; 4]);
    assert!(chi2 < 16.3, "chi-square {chi2}: {flows:?}");
    let same = (0..400).filter(|sport| pick(*sport, 1) == pick(*sport, 2)).count();
    assert!((66..=134).contains(&same), "{same} of 400");
}

/// Breaks if a port does not learn its link's new speed: 100,000 bytes are level 4 at 10 Gb/s, and
/// five times full at 1 Gb/s.
#[test]
fn a_port_learns_its_links_speed() {
    let mut spine = Switch::new(FakeLeaf::spine(HOSTS, 1, 1), &defaults());
    let mut stamp = |rate: Rate| {
        spine.at.ports.ports[1].rate = rate;
        // A period later, when little is left of what was sent.
        spine.at.wait(Span::from_millis(2));
        spine.load(PortId(1), 100_000);
        let mut packet = forth(1);
        packet.header.0[0] = Tag { uplink: 0, metric: 0 }.word();
        let now = spine.at.now;
        spine.leave(&mut packet, PortId(1), now);
        tags(&packet)[0].unwrap().1
    };
    assert_eq!(stamp(Rate::from_gbps(10)), 4);
    assert_eq!(stamp(Rate::from_gbps(1)), 7);
}

/// Breaks if tau is not 160 us from 1 Gb/s on and two round trips below: at 100 Mb/s and 2 x 20 us a
/// full register is 500 bytes. One byte more than what is given here is a level.
#[test]
fn tau_follows_the_rate() {
    for (mbps, bytes) in [(10_000, 24_999), (1_000, 2_499), (100, 62)] {
        let mut at = FakeLeaf::spine(HOSTS, 1, 1);
        for (info, port) in at.env.ports.iter_mut().zip(&mut at.ports.ports) {
            (info.rate, port.rate) = (Rate::from_mbps(mbps), Rate::from_mbps(mbps));
        }
        let mut spine = Switch::new(at, &defaults());
        let mut metric = |size| {
            let mut packet = PacketMeta { size, ..forth(1) };
            packet.header.0[0] = Tag { uplink: 0, metric: 0 }.word();
            let now = spine.at.now;
            spine.leave(&mut packet, PortId(1), now);
            tags(&packet)[0].unwrap().1
        };
        assert_eq!(metric(bytes), 0, "{mbps} Mb/s");
        assert_eq!(metric(1), 1, "{mbps} Mb/s");
    }
}

/// Breaks if one slow link of a switch does not make tau two round trips at all of its ports: 40 us at 10
/// Gb/s have levels of 6,250 bytes.
#[test]
fn one_slow_link_makes_tau_two_round_trips() {
    let mut at = FakeLeaf::spine(HOSTS, 1, 1);
    at.env.ports[2].rate = Rate::from_mbps(900);
    let mut spine = Switch::new(at, &defaults());
    let mut metric = |size| {
        let mut packet = PacketMeta { size, ..forth(1) };
        packet.header.0[0] = Tag { uplink: 0, metric: 0 }.word();
        spine.leave(&mut packet, PortId(1), Time::ZERO);
        tags(&packet)[0].unwrap().1
    };
    assert_eq!((metric(6_249), metric(1)), (0, 1));
}

/// Breaks if the state is not what is kept: 64 flowlets of 16 bytes, two tables of 4 leaves and 4
/// uplinks at 16, one word of bits and one turn a leaf, two registers of 16 an uplink; at a spine one register
/// for each of 4 ports.
#[test]
fn the_footprint_is_what_is_kept() {
    let params = defaults().with("entries", Value::Int(64));
    let mut leaf = Switch::new(leaf(0, UPLINKS), &params);
    leaf.pick(&mut forth(1));
    let footprint = leaf.conga.inspect().footprint(leaf.at.now);
    assert_eq!(footprint.bytes, 64 * 16 + 2 * 4 * 4 * 16 + 4 * 8 + 4 * 2 + 4 * 32);
    assert_eq!((footprint.per_flow, footprint.per_port), (16, 32));
    assert_eq!((footprint.slots, footprint.occupied), (64, 1));
    assert!(leaf.conga.inspect().slot(&forth(1)).is_some_and(|slot| slot < 64));
    let later = Time(leaf.at.now.0 + GAP.0 + 1);
    assert_eq!(leaf.conga.inspect().footprint(later).occupied, 0);
    let spine = Switch::new(FakeLeaf::spine(HOSTS, 1, 1), &defaults());
    assert_eq!(spine.conga.inspect().footprint(Time::ZERO).bytes, 4 * 16);
}
