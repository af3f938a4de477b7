//! Tests of medium routing (AQ-CAR §II-B2b).

use super::super::Settings;
use super::super::fabric::*;
use super::super::header::Feedback;
use super::super::leaf::Leaf;
use super::super::table::Table;
use super::remaining;
use crate::levels::Levels;
use crate::stages::Stages;
use crate::testing::{FakeLeaf, data};
use crate::{Amount, Backlog, Context, Params, Paths, Value};
use leafspine_core::{PacketMeta, PortId, Rate, Span, TorId};

const US: Span = Span::from_micros(1);

/// LQD and SQD of a full packet at each uplink, when leaf 1's piggy table is `known`.
fn delays(place: &mut FakeLeaf, known: Table) -> Vec<(Span, Span)> {
    delays_under(&first_read(), place, known)
}

fn delays_under(params: &Params, place: &mut FakeLeaf, known: Table) -> Vec<(Span, Span)> {
    let levels = Levels::exchanged(Amount::Packets(64));
    let settings = Settings::read(params).unwrap();
    let mut leaf = Leaf::new(&settings, &place.env, Stages { medium: 4 }, levels).unwrap();
    leaf.known[1].medium = known;
    let (ports, capacity, delay) = (&place.live, &place.capacity, &place.delay);
    let paths = Paths { to: TorId(1), ports, capacity, delay };
    let mut cx = Context {
        now: place.now,
        rng: &mut place.rng,
        ports: &mut place.ports,
        outbox: &mut place.outbox,
    };
    let both = |port: &PortId| {
        let local = leaf.leaf_delay(*port, 1500, &mut cx);
        (local, leaf.spine_delay(*port, 1500, &paths, &cx))
    };
    place.live.iter().map(both).collect()
}

/// Breaks if eqs. 1 to 3 are not those of the paper: 1500-byte packets at 10 Gb/s with weight 2/7, so
/// 4.2 us each. Ten wait: LQD = 11 x 4.2 = 46.2 us. Level 2 is 32 packets: SQD = 134.4 us. 100 us later
/// RQD = 80.6 us.
#[test]
fn the_delays_are_the_papers() {
    let mut place = FakeLeaf::new(HOSTS, 4, 1);
    (place.env.queues, place.env.weights) = (3, vec![4, 2, 1]);
    for port in &mut place.ports.ports {
        port.queues = vec![Backlog { packets: 10, bytes: 15_000, in_service: 0 }; 3];
    }
    let nanos = |ns: u64| Span::from_nanos(ns);
    let found = delays(&mut place, table(&[2, 0, 3, 0]));
    let (lqd, sqd) = found[0];
    assert_eq!((lqd, sqd), (nanos(46_200), nanos(134_400)));
    assert_eq!([found[1].1, found[2].1], [Span::ZERO, nanos(201_600)]);
    assert_eq!(remaining(sqd, lqd, US * 100), nanos(80_600));
    assert_eq!(remaining(sqd, lqd, US * 200), Span::ZERO);
    // A link that has become slower is slower at once.
    place.ports.ports[usize::from(HOSTS)].rate = Rate::from_gbps(1);
    let found = delays(&mut place, table(&[2, 0, 3, 0]));
    assert_eq!(found[0], (nanos(462_000), nanos(1_344_000)));
}

/// Breaks if a level stands for another length in eq. 2 than its threshold, K/4 packets each, or the next
/// threshold where that is asked for: 16 packets of 4.2 us are 67.2 us.
#[test]
fn a_level_is_its_threshold_or_the_next() {
    let mut place = FakeLeaf::new(HOSTS, 4, 1);
    (place.env.queues, place.env.weights) = (3, vec![4, 2, 1]);
    for port in &mut place.ports.ports {
        port.queues = vec![Backlog::default(); 3];
    }
    let mut spines = |word: &str| -> Vec<Span> {
        let params = first_read().with("level_edge", Value::Word(word.to_owned()));
        let found = delays_under(&params, &mut place, table(&[0, 1, 2, 3]));
        found.into_iter().map(|(_, spine)| spine).collect()
    };
    let quarters = |counts: [u64; 4]| counts.map(|count| Span::from_nanos(67_200 * count));
    assert_eq!(spines("lower"), quarters([0, 1, 2, 3]));
    assert_eq!(spines("upper"), quarters([1, 2, 3, 4]));
}

/// A fabric of four spines in which flow 7, of stage 4, is on a path whose spine has level 2 and ten
/// packets of medium flows wait at the uplink, and the source's leaf has been asked to move it. Other
/// spines have `levels`. Returns the fabric and the spine.
fn asked(levels: [u32; 4]) -> (Fabric, u16) {
    asked_under(&first_read(), levels)
}

/// The same with these parameters.
fn asked_under(params: &Params, levels: [u32; 4]) -> (Fabric, u16) {
    let mut fabric = Fabric::with(4, params);
    let (_, spine) = fabric.open(7);
    let mut levels = levels;
    levels[usize::from(spine)] = 2;
    fabric.show(4, &levels);
    fabric.deliver(marked(7, 4), spine);
    assert_eq!(fabric.reply(ack(7)), Feedback::Medium(table(&levels)));
    fabric.source.fill(HOSTS + spine, 1, 10);
    (fabric, spine)
}

/// Lets so many packets of medium flows wait at every uplink but that to `spine`, in the order given.
fn fill_others(fabric: &mut Fabric, spine: u16, packets: [u32; 3]) -> [u16; 3] {
    let mut others = [0; 3];
    let numbers = (0..4).filter(|other| *other != spine);
    for (at, (other, packets)) in numbers.zip(packets).enumerate() {
        fabric.source.fill(HOSTS + other, 1, packets);
        others[at] = other;
    }
    others
}

/// Breaks if eq. 3 is another sum, or candidates need not be beyond it: 100 us after the packet before,
/// RQD = 134.4 + 46.2 - 100 = 80.6 us. Of paths with 18, 19 and 25 packets waiting (79.8, 84 and 109.2 us
/// with the packet itself) the second is the shortest that is longer.
#[test]
fn the_shortest_path_beyond_the_remaining_delay() {
    let (mut fabric, spine) = asked([0; 4]);
    let others = fill_others(&mut fabric, spine, [18, 19, 25]);
    assert_eq!(fabric.send(staged(7, 4)), spine, "packet i is only timed");
    fabric.wait(US * 100);
    assert_eq!(fabric.send(staged(7, 4)), others[1]);
}

/// Breaks if the boundary of RQD is elsewhere than at 80.6 us: 18 packets of 1500 bytes (79.8 us) are too
/// few at 100 us and enough at 101.
#[test]
fn a_path_no_longer_than_what_remains_is_none() {
    for (pause, moves) in [(100, false), (101, true)] {
        let (mut fabric, spine) = asked([0; 4]);
        let others = fill_others(&mut fabric, spine, [18, 100, 100]);
        // The flow's own queue has grown since: 20 packets, 88.2 + 134.4 us.
        fabric.send(staged(7, 4));
        fabric.source.fill(HOSTS + spine, 1, 20);
        fabric.wait(US * pause);
        let taken = fabric.send(staged(7, 4));
        assert_eq!(taken == others[0], moves, "after {pause} us");
        assert!(taken != others[1] && taken != others[2], "222.6 us are shorter than 424.2");
    }
}

/// Breaks if a flow leaves a path for a longer one because its own queue has drained faster than eq. 3 reckons:
/// 10 us after the first packet RQD = 134.4 + 46.2 - 10 = 170.6 us, the own path's 5 packets are 25.2 + 134.4 =
/// 159.6 us, the others' 50 are 214.2 us.
#[test]
fn the_own_path_stays_a_candidate() {
    let (mut fabric, spine) = asked([0; 4]);
    fill_others(&mut fabric, spine, [50; 3]);
    fabric.send(staged(7, 4));
    fabric.source.fill(HOSTS + spine, 1, 5);
    fabric.wait(US * 10);
    assert_eq!(fabric.send(staged(7, 4)), spine);
}

/// Breaks if a candidate's delay leaves out its spine: with an empty uplink and level 1 (67.2 us and
/// 4.2) it is too short, with level 2 (138.6 us) it is not.
#[test]
fn a_candidates_delay_counts_its_spine() {
    for (level, moves) in [(1, false), (2, true)] {
        let (mut fabric, spine) = asked([level; 4]);
        fill_others(&mut fabric, spine, [0, 0, 0]);
        fabric.send(staged(7, 4));
        fabric.wait(US * 100);
        assert_eq!(fabric.send(staged(7, 4)) != spine, moves, "level {level}");
    }
}

/// Breaks if a flow without a candidate moves, or if its delay is not computed again with each packet and moved as
/// soon as there is one: after 190 us nothing remains (180.6 - 190 < 0), so any path will do.
#[test]
fn without_a_candidate_the_flow_stays_and_tries_again() {
    let (mut fabric, spine) = asked([0; 4]);
    fill_others(&mut fabric, spine, [0, 0, 0]);
    for _ in 0..20 {
        assert_eq!(fabric.send(staged(7, 4)), spine);
        fabric.wait(US * 10);
    }
    fabric.wait(US * 180);
    assert_ne!(fabric.send(staged(7, 4)), spine);
}

/// Breaks if a flow leaves a path that is as short as any other.
#[test]
fn the_present_path_is_a_candidate() {
    let (mut fabric, spine) = asked([2; 4]);
    fill_others(&mut fabric, spine, [10, 10, 10]);
    for _ in 0..20 {
        assert_eq!(fabric.send(staged(7, 4)), spine);
        fabric.wait(US * 200);
    }
}

/// Breaks if equal candidates are not drawn from at random: each of three must come up in 60 draws (the
/// chance that one does not is 3 x (2/3)^60, below 1e-10).
#[test]
fn equal_candidates_are_drawn_from() {
    let (mut fabric, mut spine) = asked([0; 4]);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..60 {
        for other in 0..4 {
            fabric.source.fill(HOSTS + other, 1, if other == spine { 50 } else { 0 });
        }
        fabric.send(staged(7, 4));
        fabric.wait(US * 400);
        spine = fabric.send(staged(7, 4));
        seen.insert(spine);
        // The move is known, and it is asked to move again.
        fabric.destination.pick(&mut ack(7));
        fabric.reply(ack(7));
        fabric.spines[usize::from(spine)].fill(1, 1, 40);
        fabric.deliver(marked(7, 4), spine);
        fabric.reply(ack(7));
    }
    assert_eq!(seen.len(), 4);
}

/// Breaks if one of the conditions is missing: the packet is marked, "the queue length exceeds the
/// rerouting threshold" (level 2 of 3), and the flow is "among the larger flows in the medium class
/// range" (stages 3 and 4 of 4).
#[test]
fn all_conditions_make_a_request() {
    for stage in 0..=5 {
        for level in 0..=3 {
            for marks in [false, true] {
                let mut fabric = Fabric::new(4);
                for queue in 0..3 {
                    fabric.spines[2].fill(1, queue, level * 16);
                }
                let packet = if marks { marked(7, stage) } else { staged(7, stage) };
                fabric.deliver(packet, 2);
                let expected = marks && level >= 2 && (3..=4).contains(&stage);
                let fed_back = fabric.reply(ack(7));
                let asks = matches!(fed_back, Feedback::Medium(_));
                assert_eq!(asks, expected, "stage {stage} level {level} marked {marks}");
                assert!(asks || fed_back == Feedback::None);
            }
        }
    }
}

/// Breaks if `reroute_level` is not the threshold, or `medium_rerouting = false` asks.
#[test]
fn the_threshold_is_a_parameter() {
    let asks = |key: &str, value: Value, level: u32| {
        let mut fabric = Fabric::with(2, &first_read().with(key, value));
        fabric.spines[0].fill(1, 1, level * 16);
        fabric.deliver(marked(7, 4), 0);
        matches!(fabric.reply(ack(7)), Feedback::Medium(_))
    };
    assert!(asks("reroute_level", Value::Int(1), 1) && !asks("reroute_level", Value::Int(3), 2));
    assert!(!asks("medium_rerouting", Value::Bool(false), 3));
}

/// Breaks if "the larger flows in the medium class range" are not those that the parameter says: of four
/// stages the last, or the upper half.
#[test]
fn which_flows_are_the_larger_ones_is_a_parameter() {
    for (word, asked) in [("top", vec![4]), ("upper-half", vec![3, 4])] {
        let params = first_read().with("reroute_stages", Value::Word(word.to_owned()));
        let asks = |stage: &u8| {
            let mut fabric = Fabric::with(2, &params);
            fabric.spines[0].fill(1, 1, 48);
            fabric.deliver(marked(7, *stage), 0);
            matches!(fabric.reply(ack(7)), Feedback::Medium(_))
        };
        assert_eq!((0..=5).filter(asks).collect::<Vec<u8>>(), asked, "{word}");
    }
}

/// Breaks if the piggyback ends at another level than the parameter says ("the queue length falls below a
/// predefined threshold"), or if one above the rerouting threshold ends it at once.
#[test]
fn the_level_that_ends_the_piggyback_is_a_parameter() {
    for (reroute, stop, ends_at) in [(2, 1, 0), (2, 2, 1), (3, 2, 1), (3, 3, 2), (1, 3, 0)] {
        let level = |key: &str, level| (key.to_owned(), Value::Int(level));
        let [(one, reroute), (two, stop)] =
            [level("reroute_level", reroute), level("stop_level", stop)];
        let params = first_read().with(&one, reroute).with(&two, stop);
        for level in 0..=3 {
            let mut fabric = Fabric::with(2, &params);
            fabric.show(4, &[3, 3]);
            fabric.deliver(marked(7, 4), 0);
            fabric.show(4, &[level, 3]);
            let goes_on = matches!(fabric.reply(ack(7)), Feedback::Medium(_));
            assert_eq!(goes_on, level > ends_at, "{params:?} at level {level}");
        }
    }
}

/// Breaks if goal 1 is not kept where it is asked for ("ensure that the newly selected path is not
/// congested"): 32 packets at an uplink are level 2, 31 are not, and a spine at level 2 is none to go to. Eq. 3
/// alone takes whatever is longer than what remains and shorter than the present queue of 100.
#[test]
fn a_congested_path_is_none_to_move_to() {
    for only in [true, false] {
        let params = first_read().with("uncongested_only", Value::Bool(only));
        let taken = |spines: u32, packets: [u32; 3]| {
            let (mut fabric, spine) = asked_under(&params, [spines; 4]);
            let others = fill_others(&mut fabric, spine, packets);
            fabric.send(staged(7, 4));
            fabric.source.fill(HOSTS + spine, 1, 100);
            fabric.wait(US * 400);
            let taken = fabric.send(staged(7, 4));
            others.iter().position(|other| *other == taken)
        };
        assert_eq!(taken(0, [31, 40, 50]), Some(0));
        assert_eq!(taken(0, [40, 32, 50]), (!only).then_some(1), "only {only}");
        assert_eq!(taken(1, [50, 50, 31]), Some(2));
        assert_eq!(taken(2, [50, 0, 50]), (!only).then_some(1), "only {only}");
    }
}

/// Breaks if the present path, which is no newly selected one, is left because it is congested: nothing else
/// is shorter.
#[test]
fn a_congested_present_path_is_kept() {
    let params = first_read().with("uncongested_only", Value::Bool(true));
    let (mut fabric, spine) = asked_under(&params, [1; 4]);
    fill_others(&mut fabric, spine, [31; 3]);
    for _ in 0..20 {
        assert_eq!(
            fabric.send(staged(7, 4)),
            spine,
            "46.2 + 134.4 us here, 134.4 + 67.2 elsewhere"
        );
        fabric.wait(US * 400);
    }
}

/// Breaks if not every ACK of the flow carries the table as it is then, or another flow's does ("it
/// piggybacks every ACK for this flow with congestion information of all the ports").
#[test]
fn every_ack_of_the_flow_carries_the_table() {
    let mut fabric = Fabric::new(4);
    fabric.show(1, &[1, 2, 3, 0]);
    fabric.deliver(marked(7, 4), 2);
    for levels in [[1, 2, 3, 0], [0, 2, 3, 1], [3, 0, 1, 2]] {
        fabric.show(1, &levels);
        assert_eq!(fabric.reply(ack(7)), Feedback::Medium(table(&levels)));
        assert_eq!(fabric.reply(ack(8)), Feedback::None);
    }
}

/// Breaks if the piggyback goes on when the flow comes by another port, or ends because packets come by
/// the old one.
#[test]
fn the_piggyback_ends_with_the_move() {
    let mut fabric = Fabric::new(4);
    fabric.show(1, &[2, 2, 2, 2]);
    fabric.deliver(marked(7, 4), 2);
    fabric.deliver(staged(7, 4), 2);
    assert!(matches!(fabric.reply(ack(7)), Feedback::Medium(_)));
    // The packet that shows the move asks for no other, marked as it is; the next one may.
    fabric.deliver(marked(7, 4), 3);
    assert_eq!(fabric.reply(ack(7)), Feedback::None);
    fabric.deliver(marked(7, 4), 3);
    assert!(matches!(fabric.reply(ack(7)), Feedback::Medium(_)));
}

/// Breaks if the piggyback goes on when "the congestion is alleviated": the level of the flow's port is
/// 0, even if another flow's packet showed it; or if it comes back by itself.
#[test]
fn the_piggyback_ends_with_the_congestion() {
    let mut fabric = Fabric::new(4);
    fabric.show(1, &[2, 2, 2, 2]);
    fabric.deliver(marked(7, 4), 2);
    fabric.show(1, &[0, 0, 1, 0]);
    assert!(matches!(fabric.reply(ack(7)), Feedback::Medium(_)), "level 1 is not 0");
    fabric.show(1, &[2, 2, 0, 2]);
    assert_eq!(fabric.reply(ack(7)), Feedback::None);
    fabric.show(1, &[2, 2, 2, 2]);
    assert_eq!(fabric.reply(ack(7)), Feedback::None);
}

/// Breaks if ACKs that were sent before the move was seen move the flow again, or if it may never move
/// again.
#[test]
fn requests_from_before_a_move_are_not_heeded() {
    let (mut fabric, spine) = asked([0; 4]);
    fill_others(&mut fabric, spine, [0, 0, 0]);
    let mut old = ack(7);
    fabric.destination.pick(&mut old);
    fabric.send(staged(7, 4));
    fabric.wait(US * 200);
    let second = fabric.send(staged(7, 4));
    assert_ne!(second, spine);
    let push = |fabric: &mut Fabric| {
        fabric.source.fill(HOSTS + second, 1, 50);
        fabric.source.arrived(&mut old.clone(), HOSTS);
        fabric.send(staged(7, 4));
        fabric.wait(US * 400);
        fabric.send(staged(7, 4))
    };
    assert_eq!(push(&mut fabric), second);
    // An ACK without a table: the move is known.
    assert_eq!(fabric.reply(ack(7)), Feedback::None);
    assert_ne!(push(&mut fabric), second);
}

/// Breaks if a request outlives its end at the destination: an ACK without a table takes it back.
#[test]
fn an_ack_without_a_table_takes_the_request_back() {
    let (mut fabric, spine) = asked([0; 4]);
    fill_others(&mut fabric, spine, [0, 0, 0]);
    fabric.send(staged(7, 4));
    fabric.show(4, &[0; 4]);
    assert_eq!(fabric.reply(ack(7)), Feedback::None);
    fabric.wait(US * 200);
    assert_eq!(fabric.send(staged(7, 4)), spine);
}

/// Breaks if a flow that has become large is still moved as a medium one, or is still asked.
#[test]
fn a_flow_that_has_become_large_is_not_moved_as_a_medium_one() {
    let (mut fabric, spine) = asked([0; 4]);
    fill_others(&mut fabric, spine, [0, 0, 0]);
    fabric.send(staged(7, 4));
    fabric.wait(US * 200);
    assert_eq!(fabric.send(staged(7, 5)), spine);
    assert_eq!(fabric.reply(ack(7)), Feedback::None);
}

/// Breaks if small packets' delays are those of full ones: a level is K/4 packets of the packet's size.
#[test]
fn delays_are_of_packets_of_the_same_size() {
    let levels = Levels::exchanged(Amount::Packets(64));
    assert_eq!(levels.bytes_at(2, 500), 16_000);
    let (mut fabric, spine) = asked([0; 4]);
    let others = fill_others(&mut fabric, spine, [15, 15, 15]);
    // 60.2 us wait, and (16 x 500 B) 22.4 us on the others: enough after 38 us, not after 37.
    let small = || PacketMeta { size: 500, ..staged(7, 4) };
    fabric.send(small());
    fabric.wait(US * 37);
    assert_eq!(fabric.send(small()), spine);
    fabric.wait(US * 38);
    assert!(others.contains(&fabric.send(small())));
}

/// Breaks if what another leaf fed back is taken for the destination's.
#[test]
fn tables_are_kept_by_destination_leaf() {
    let (mut fabric, spine) = asked([3; 4]);
    fill_others(&mut fabric, spine, [0, 0, 0]);
    fabric.send(staged(7, 4));
    // A table without congestion, from a host at leaf 2.
    let mut other = PacketMeta { tuple: data(SRC, 9, 1, 0).tuple.reversed(), ..ack(1) };
    super::super::header::set_feedback(&mut other, Feedback::Medium(Table::default()));
    fabric.source.arrived(&mut other, HOSTS);
    fabric.wait(US * 100);
    assert_eq!(fabric.send(staged(7, 4)), spine, "201.6 + 4.2 us elsewhere, 180.6 here");
}
