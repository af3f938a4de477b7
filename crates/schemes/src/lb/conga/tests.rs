//! CONGA's decisions at a leaf, and its tags through leaf, spine and leaf.

use super::*;
use crate::Value;
use crate::testing::{FakeLeaf, chi_square, control, data};
use leafspine_core::{Flags, SwitchId};

const HOSTS: u16 = 4;
const UPLINKS: u16 = 4;
const GAP: Span = Span::from_micros(500);

/// A switch and its balancer.
struct Switch {
    at: FakeLeaf,
    conga: Box<dyn LoadBalancer>,
}

impl Switch {
    fn new(at: FakeLeaf, params: &Params) -> Switch {
        let conga = build(params, &at.env).unwrap();
        Switch { at, conga }
    }

    fn pick(&mut self, packet: &mut PacketMeta) -> PortId {
        self.at.pick(&mut *self.conga, packet)
    }

    fn arrive(&mut self, packet: &mut PacketMeta, from: PortId) {
        let arrival = self.at.with(|cx| self.conga.arrived(packet, from, cx));
        assert_eq!(arrival, Arrival::Forward);
    }

    fn leave(&mut self, packet: &mut PacketMeta, to: PortId, at: Time) {
        self.at.with(|cx| self.conga.leaving(packet, to, at, cx));
    }

    /// Sends so many bytes by `port` at once, in packets that say nothing.
    fn load(&mut self, port: PortId, bytes: u32) {
        let now = self.at.now;
        for _ in 0..bytes / 1000 {
            self.leave(&mut PacketMeta { size: 1000, ..data(0, 9, 1, 0) }, port, now);
        }
    }
}

/// Leaves 0 and 1 and a spine for each uplink, without time on the way.
struct Fabric {
    leaves: [Switch; 2],
    spines: Vec<Switch>,
}

fn defaults() -> Params {
    Params::defaults(ENTRY.info.params)
}

fn leaf(number: u16, uplinks: u16) -> FakeLeaf {
    let mut leaf = FakeLeaf::new(HOSTS, uplinks, 1 + u64::from(number));
    (leaf.env.switch, leaf.env.tor) = (SwitchId(number), Some(TorId(number)));
    leaf
}

fn uplink(number: u16) -> PortId {
    PortId(HOSTS + number)
}

/// Data of a flow from the first host of leaf 0 to the first of leaf 1.
fn forth(sport: u16) -> PacketMeta {
    data(0, HOSTS, sport, 0)
}

/// Any packet the other way.
fn back(sport: u16) -> PacketMeta {
    control(HOSTS, 0, sport, Flags::ACK)
}

impl Fabric {
    fn new() -> Fabric {
        let leaves = [0, 1].map(|number| Switch::new(leaf(number, UPLINKS), &defaults()));
        let spine = |_| Switch::new(FakeLeaf::spine(HOSTS, 1, 9), &defaults());
        Fabric { leaves, spines: (0..UPLINKS).map(spine).collect() }
    }

    /// Carries a packet from leaf `from` to the other by the uplink that it picks, or by `only`.
    /// Returns the uplink's number and the packet as the spine sent it.
    fn carry(
        &mut self,
        mut packet: PacketMeta,
        from: usize,
        only: Option<u16>,
    ) -> (u16, PacketMeta) {
        let source = &mut self.leaves[from];
        source.arrive(&mut packet, PortId(0));
        let all = source.at.live.clone();
        if let Some(number) = only {
            source.at.live = vec![uplink(number)];
        }
        let port = source.pick(&mut packet);
        source.at.live = all;
        let now = source.at.now;
        source.leave(&mut packet, port, now);
        let number = port.0 - HOSTS;
        // A spine has one port a leaf here.
        self.spines[usize::from(number)].leave(&mut packet, PortId(1 - from as u16), now);
        let on_wire = packet;
        self.leaves[1 - from].arrive(&mut packet, port);
        assert_eq!(packet.header, SchemeHeader::default(), "the header ends at the leaf");
        (number, on_wire)
    }
}

fn tags(packet: &PacketMeta) -> [Option<(u16, u8)>; 2] {
    packet.header.0.map(|word| Tag::read(word).map(|tag| (tag.uplink, tag.metric)))
}

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

/// Breaks if what a packet met does not come back to its leaf, changed entries first, or if the leaf
/// does not heed it: three of four ways are loaded behind the spines, so every new flow takes the
/// fourth as soon as all three are known (§3.3, §3.5).
#[test]
fn congestion_far_away_comes_back_and_is_avoided() {
    let mut fabric = Fabric::new();
    for number in [0, 1, 3] {
        fabric.spines[usize::from(number)].load(PortId(1), 130_000);
        fabric.carry(forth(number), 0, Some(number));
    }
    let told: Vec<_> = (0..3).map(|n| tags(&fabric.carry(back(n), 1, Some(2)).1)[1]).collect();
    assert_eq!(told, [Some((0, 5)), Some((1, 5)), Some((3, 5))]);
    // Small packets, which load nothing themselves.
    for sport in 100..200 {
        assert_eq!(fabric.carry(control(0, HOSTS, sport, Flags::SYN), 0, None).0, 2);
    }
    // Nobody told leaf 1 anything of its own uplinks but zeros: flows there use all.
    let taken = (0..100).map(|sport| fabric.carry(back(1_000 + sport), 1, None).0);
    assert_eq!(taken.collect::<std::collections::BTreeSet<_>>().len(), 4);
}

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

/// Breaks if a packet without tags, or with the tag of an uplink that there is not, changes what is known,
/// or gets a tag on its way. The last leaf's entries are the last of the tables.
#[test]
fn tags_that_are_none_say_nothing() {
    let mut leaf = Switch::new(leaf(0, UPLINKS), &defaults());
    let from_last = |header: [u32; 2]| {
        let mut packet = data(3 * HOSTS, 0, 1, 0);
        packet.header = SchemeHeader(header);
        packet
    };
    let tag = |uplink, metric| Tag { uplink, metric }.word();
    leaf.arrive(&mut from_last([tag(0, 5), tag(0, 7)]), uplink(0));
    leaf.arrive(&mut from_last([0, 0]), uplink(0));
    leaf.arrive(&mut from_last([tag(UPLINKS, 6), tag(UPLINKS, 6)]), uplink(0));
    let mut packet = data(0, 3 * HOSTS, 1, 0);
    assert_ne!(leaf.pick(&mut packet), uplink(0));
    assert_eq!(tags(&packet)[1], Some((0, 5)));
    let mut spine = Switch::new(FakeLeaf::spine(HOSTS, 1, 9), &defaults());
    spine.load(PortId(1), 130_000);
    let mut bare = forth(1);
    spine.leave(&mut bare, PortId(1), Time::ZERO);
    assert_eq!(bare, forth(1));
}

/// Breaks if a leaf is not told what comes and goes, or a spine not what goes.
#[test]
fn switches_are_told_what_they_need() {
    let needs = |at: FakeLeaf| Switch::new(at, &defaults()).conga.needs();
    let leaving = Needs { leaving: true, ..Needs::default() };
    assert_eq!(needs(FakeLeaf::spine(HOSTS, 1, 1)), leaving);
    assert_eq!(needs(leaf(0, UPLINKS)), Needs { arrived: true, ..leaving });
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

/// Breaks if a packet with a single way carries no tag or no feedback.
#[test]
fn a_single_way_is_tagged() {
    let mut leaf = Switch::new(leaf(0, UPLINKS), &defaults());
    assert!(leaf.conga.always_asked());
    leaf.at.live = vec![uplink(1)];
    let mut packet = forth(1);
    leaf.pick(&mut packet);
    assert_eq!(tags(&packet), [Some((1, 0)), Some((0, 0))]);
}

/// Breaks if a leaf in the middle of a way around failed links takes a packet for its own: its tags
/// must stay, its hash must decide, and the leaf must learn nothing.
#[test]
fn packets_that_pass_a_leaf_keep_their_tags() {
    let mut middle = Switch::new(leaf(1, UPLINKS), &defaults());
    // From leaf 0 to leaf 2, over leaf 1.
    let mut packet = data(0, 2 * HOSTS, 1, 0);
    packet.header.0 = [Tag { uplink: 3, metric: 4 }.word(), Tag { uplink: 1, metric: 6 }.word()];
    let before = packet;
    middle.arrive(&mut packet, uplink(0));
    let port = middle.pick(&mut packet);
    assert!((0..10).all(|_| middle.pick(&mut before.clone()) == port));
    middle.leave(&mut packet, port, Time::ZERO);
    assert_eq!(packet, before);
    let mut answer = data(HOSTS, 0, 9, 0);
    middle.pick(&mut answer);
    assert_eq!(tags(&answer)[1], Some((0, 0)), "nothing changed");
}

/// Breaks if traffic within the rack is tagged, or counted anywhere.
#[test]
fn traffic_within_the_rack_is_left_alone() {
    let mut leaf = Switch::new(leaf(0, UPLINKS), &defaults());
    let mut packet = data(0, 1, 1, 0);
    leaf.arrive(&mut packet, PortId(0));
    leaf.leave(&mut packet, PortId(1), Time::ZERO);
    assert_eq!(packet, data(0, 1, 1, 0));
}

/// Breaks if a spine does not keep a flowlet on one of its parallel links, whatever its CE, if another tag does not
/// draw anew, or if the draw is uneven: 4,000 flows over 4 links, chi-square with 3 degrees of freedom,
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
    let footprint = leaf.conga.footprint(leaf.at.now);
    assert_eq!(footprint.bytes, 64 * 16 + 2 * 4 * 4 * 16 + 4 * 8 + 4 * 2 + 4 * 32);
    assert_eq!((footprint.per_flow, footprint.per_port), (16, 32));
    assert_eq!((footprint.slots, footprint.occupied), (64, 1));
    assert!(leaf.conga.slot(&forth(1)).is_some_and(|slot| slot < 64));
    let later = Time(leaf.at.now.0 + GAP.0 + 1);
    assert_eq!(leaf.conga.footprint(later).occupied, 0);
    let spine = Switch::new(FakeLeaf::spine(HOSTS, 1, 1), &defaults());
    assert_eq!(spine.conga.footprint(Time::ZERO).bytes, 4 * 16);
}
