//! Table 1 row by row, Algorithm 1 lines 32 to 40, and the two thresholds.

use super::*;
use leafspine_core::Ecn;

/// A port with a backlog between the two thresholds: k* = 3571 bytes is reached by three packets
/// waiting, K = 20 packets by far not. Two waiting and one in service do not reach it.
const ABOVE_K_STAR: u32 = 3;
const BELOW_K_STAR: u32 = 2;
/// K = 20 is reached.
const ABOVE_K: u32 = 20;
const BELOW_K: u32 = 19;

/// A leaf with a long flow on port 9 and so many packets waiting there; a short flow, too, if asked.
fn port_9(short: bool, waiting: u32) -> Leaf {
    let mut leaf = Leaf::new(&small());
    leaf.make_long_alone(1, 9);
    if short {
        leaf.send_by(9, 2);
    }
    leaf.queue(9, waiting);
    leaf
}

/// What becomes of the next packets on port 9: of the long flow, and then of a short one.
fn long_packet(leaf: &mut Leaf) -> Admit {
    leaf.send_by(9, 1)
}

fn short_packet(leaf: &mut Leaf) -> Admit {
    leaf.send_by(9, 2)
}

/// Row 1: only long flows, queue below the threshold (k*, as they are long): no mark. Lines 36, 37.
#[test]
fn row_1_only_long_flows_below() {
    assert_eq!(long_packet(&mut port_9(false, BELOW_K_STAR)), Admit::Take);
}

/// Row 2: only short flows, queue below the threshold (K, as they are short: k* does not count).
#[test]
fn row_2_only_short_flows_below() {
    let mut leaf = Leaf::new(&small());
    leaf.queue(9, BELOW_K);
    assert_eq!(short_packet(&mut leaf), Admit::Take);
}

/// Row 3: both, queue below the threshold (k*): the long flow is marked (lines 34 and 35), the short
/// one is not, even with k* reached.
#[test]
fn row_3_both_below() {
    assert_eq!(long_packet(&mut port_9(true, BELOW_K_STAR)), Admit::Mark);
    assert_eq!(short_packet(&mut port_9(true, BELOW_K_STAR)), Admit::Take);
    assert_eq!(short_packet(&mut port_9(true, BELOW_K)), Admit::Take);
}

/// Row 4: only long flows, the queue has reached the threshold (k*): mark (lines 32 and 33).
#[test]
fn row_4_only_long_flows_above() {
    assert_eq!(long_packet(&mut port_9(false, ABOVE_K_STAR)), Admit::Mark);
}

/// Row 5: only short flows, the queue has reached the threshold (K): mark.
#[test]
fn row_5_only_short_flows_above() {
    let mut leaf = Leaf::new(&small());
    leaf.queue(9, ABOVE_K);
    assert_eq!(short_packet(&mut leaf), Admit::Mark);
}

/// Row 6: both, the queue has reached the threshold (K, as the short flow is marked, too): mark both.
#[test]
fn row_6_both_above() {
    assert_eq!(long_packet(&mut port_9(true, ABOVE_K)), Admit::Mark);
    assert_eq!(short_packet(&mut port_9(true, ABOVE_K)), Admit::Mark);
}

/// Breaks if k* is not C x RTT / 7, in bytes that wait (as K is in what waits), or is exceeded rather
/// than reached: 3571 bytes at 1 Gb/s and 200 us, 5714 at 40 Gb/s and 8 us.
#[test]
fn k_star_is_a_seventh_of_the_bandwidth_delay_product() {
    for (gbps, us, k_star) in [(1, 200, 3571), (40, 8, 5714)] {
        let rtt = Value::Span(Span::from_micros(us));
        let mut leaf = Leaf::at(&small().with("rtt", rtt), Rate::from_gbps(gbps), 1);
        leaf.make_long(1, 9);
        leaf.wait(Span::from_micros(us));
        let mut marked = |waiting: u32, in_service: u32| {
            let port = &mut leaf.fake.ports.ports[9];
            port.queues[0] = Backlog { packets: 1, bytes: waiting, in_service: 0 };
            port.in_service = in_service;
            leaf.send_by(9, 1) == Admit::Mark
        };
        assert!(!marked(k_star - 1, 1500) && !marked(k_star - 1, 0));
        assert!(marked(k_star, 1500) && marked(k_star, 0));
    }
}

/// Breaks if the thresholds stay behind when a link's rate changes: at 100 Mb/s k* is 357 bytes, so
/// any packet that waits reaches it; at 10 Gb/s K is 65 packets.
#[test]
fn thresholds_follow_the_rate() {
    let mut leaf = port_9(false, 1);
    assert_eq!(long_packet(&mut leaf), Admit::Take);
    leaf.fake.ports.ports[9].rate = Rate::from_mbps(100);
    assert_eq!(long_packet(&mut leaf), Admit::Mark);
    leaf.fake.ports.ports[9].rate = Rate::from_gbps(10);
    for (waiting, verdict) in [(64, Admit::Take), (65, Admit::Mark)] {
        leaf.queue(9, waiting);
        assert_eq!(short_packet(&mut leaf), verdict);
    }
}

/// Breaks if K does not have the accounting of its unit, or does not go before the port's rate.
#[test]
fn k_is_in_packets_or_bytes() {
    for (k, most) in [(Amount::Packets(7), 6), (Amount::Bytes(15_000), 9)] {
        let mut leaf = Leaf::new(&small().with("threshold", Value::Amount(k)));
        leaf.queue(9, most);
        assert_eq!(short_packet(&mut leaf), Admit::Take, "{k}");
        leaf.queue(9, most + 1);
        assert_eq!(short_packet(&mut leaf), Admit::Mark, "{k}");
    }
}

/// Breaks if a short flow is active for longer or shorter than one RTT after its last packet (§2.8,
/// port table, items 4 and 5), or on another port than its own.
#[test]
fn a_short_flow_is_active_for_one_rtt() {
    let mut leaf = port_9(true, 0);
    leaf.make_long(3, 10);
    leaf.wait(Span(RTT.0 - 1));
    assert_eq!(long_packet(&mut leaf), Admit::Mark);
    leaf.wait(Span(1));
    assert_eq!(long_packet(&mut leaf), Admit::Take, "200 us after the short flow's packet");
    leaf.send_by(11, 4);
    assert_eq!(long_packet(&mut leaf), Admit::Take, "that one is on port 11");
    leaf.send_by(9, 4);
    assert_eq!(long_packet(&mut leaf), Admit::Mark);
}

/// Breaks if a long flow's packet counts as a short flow's presence: two long flows on a port would
/// mark each other for ever.
#[test]
fn long_flows_are_no_short_flows() {
    let mut leaf = port_9(false, 0);
    leaf.make_long(5, 9);
    leaf.wait(RTT);
    for _ in 0..20 {
        leaf.wait(Span::from_micros(12));
        assert_eq!(long_packet(&mut leaf), Admit::Take);
        assert_eq!(leaf.send_by(9, 5), Admit::Take);
    }
}

/// Breaks if marking is left to the source's leaf (line 40 and §2.2: "the switch"): on the way down,
/// where TAM routes nothing, flows are told apart and ports are watched all the same.
#[test]
fn every_switch_marks() {
    let mut leaf = Leaf::new(&small());
    let down = |leaf: &mut Leaf, sport: u16| {
        let mut packet = data(20, 3, sport, 0);
        leaf.with(|tam, cx| tam.arrived(&mut packet, PortId(8), cx));
        leaf.admit(&packet, 3)
    };
    assert!((0..67).all(|_| down(&mut leaf, 1) == Admit::Take || leaf.long_flows(3) == (1, 1)));
    assert_eq!(leaf.long_flows(3), (1, 1));
    leaf.wait(RTT);
    assert_eq!(down(&mut leaf, 1), Admit::Take);
    assert_eq!(down(&mut leaf, 2), Admit::Take, "a short flow");
    assert_eq!(down(&mut leaf, 1), Admit::Mark, "is there");
}

/// Breaks if a packet that is not ECN-capable is marked; its flow counts like any other.
#[test]
fn what_is_not_capable_is_not_marked() {
    let mut leaf = Leaf::new(&small());
    leaf.queue(9, 200);
    for _ in 0..70 {
        let mut packet = PacketMeta { ecn: Ecn::NotCapable, ..data(0, 9, 1, 0) };
        leaf.only(9, |leaf| leaf.pick(&mut packet));
        assert_eq!(leaf.admit(&packet, 9), Admit::Take);
    }
    assert_eq!(leaf.long_flows(9), (1, 1));
}

/// Breaks if a NIC's port does not mark at K as it would beside another balancer, or does so by
/// what the switch knows of flows.
#[test]
fn a_nic_marks_everything_at_k() {
    for (gbps, k) in [(1, 20), (10, 65), (40, 65)] {
        let params = small();
        let mut env = SwitchEnv { tor: None, ..Leaf::new(&params).fake.env };
        env.ports.truncate(1);
        env.ports[0].rate = Rate::from_gbps(gbps);
        let mut nic = host_aqm(&params, &env, PortId(0)).expect("a manager");
        for (waiting, verdict) in [(k - 1, Admit::Take), (k, Admit::Mark)] {
            let queue = crate::testing::queue_view(waiting, true);
            let mut rng = Rng::new(1, Role::Aqm, 0);
            let packet = data(0, 9, 1, 0);
            assert_eq!(nic.admit(&packet, &queue, Time::ZERO, &mut rng), verdict, "{gbps} Gb/s");
        }
    }
}
