//! What packets carry between leaves (§3.1, §3.3).

use super::*;

/// Breaks if what a packet met does not come back to its leaf, changed entries first, or if the leaf
/// ignores it: three of four ways are loaded behind the spines, so every new flow takes the
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
    // Leaf 1 has had feedback on its own uplinks of zeros alone: flows there use all.
    let taken = (0..100).map(|sport| fabric.carry(back(1_000 + sport), 1, None).0);
    assert_eq!(taken.collect::<std::collections::BTreeSet<_>>().len(), 4);
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

/// Breaks if a packet with a single way carries no tag or no feedback.
#[test]
fn a_single_way_is_tagged() {
    let mut leaf = Switch::new(leaf(0, UPLINKS), &defaults());
    assert!(leaf.conga.needs().every_packet);
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

/// Breaks if information is not as old as its last feedback, is counted where none ever came, or if what a
/// leaf has met itself counts: feedback on two uplinks at 10 and 30 us, one of it again at 40.
#[test]
fn information_ages_from_the_feedback_on() {
    let mut leaf = Switch::new(leaf(0, UPLINKS), &defaults());
    let feedback = |uplink| {
        let mut packet = back(1);
        packet.header = SchemeHeader([0, Tag { uplink, metric: 3 }.word()]);
        packet
    };
    leaf.arrive(&mut back(1), uplink(0));
    assert_eq!(leaf.conga.inspect().information_age(leaf.at.now), None);
    for (wait, of) in [(10, 0), (20, 1), (10, 0)] {
        leaf.at.wait(Span::from_micros(wait));
        leaf.arrive(&mut feedback(of), uplink(0));
    }
    leaf.at.wait(Span::from_micros(50));
    assert_eq!(
        leaf.conga.inspect().information_age(leaf.at.now),
        Some(Span::from_micros((50 + 60) / 2))
    );
}
