//! Algorithm 1, lines 1 to 31, and §2.5 to §2.7.

use super::*;
use crate::lb::ecmp;
use crate::testing::{chi_square, control};
use leafspine_core::Flags;

/// Breaks if a packet without payload is TAM's (line 2: "a normal data packet"): it follows ECMP's
/// hash, whatever the queues and the paths, makes no flow, no activity, and bears no mark.
#[test]
fn only_data_packets_count() {
    let flags = [
        Flags::SYN,
        Flags::SYN.with(Flags::ACK),
        Flags::ACK,
        Flags::ACK.with(Flags::ECE),
        Flags::FIN.with(Flags::ACK),
        Flags::RST,
        Flags::PROBE,
    ];
    let mut leaf = Leaf::new(&small());
    let params = Params::defaults(ecmp::ENTRY.info.params);
    let mut hash = (ecmp::ENTRY.build)(&params, &leaf.fake.env).unwrap();
    (8..12).for_each(|port| leaf.queue(port, 100));
    for sport in 0..50 {
        for flags in flags {
            let mut packet = control(0, 9, sport, flags);
            let port = leaf.pick(&mut packet);
            assert_eq!(port, leaf.fake.pick(&mut *hash, &mut packet).0, "{flags:?}");
            assert_eq!(leaf.admit(&packet, port), Admit::Take, "{flags:?}");
            assert_eq!(leaf.tam.slot(&packet), None);
        }
    }
    assert_eq!(leaf.footprint().occupied, 0);
    assert!((8..12).all(|port| !leaf.tam.ports.of(PortId(port)).has_short(leaf.fake.now)));
}

/// Breaks if bytes are not counted with headers, if the packet itself is not counted in (line 3
/// stands before line 4), or if 100 KB exactly fall through (line 4 has `<`, line 18 `>`): 66 full
/// packets and one of 1000 bytes are 100,000, and the flow is short; with one more byte it is long.
#[test]
fn a_flow_is_short_up_to_100_kb() {
    let mut leaf = Leaf::new(&small());
    let long = |leaf: &mut Leaf, size: u16| {
        let mut packet = PacketMeta { size, payload: size - 40, ..data(0, 9, 1, 0) };
        leaf.pick(&mut packet);
        leaf.tam.flows.is_long(leaf.tam.flows.slot(&packet))
    };
    assert!((0..66).all(|_| !long(&mut leaf, 1500)));
    assert!(!long(&mut leaf, 1000), "100,000 bytes");
    assert!(long(&mut leaf, 41), "100,041 bytes");
}

/// Breaks if a retransmission is not counted: "the amount of data sent so far" (§2.5).
#[test]
fn what_is_sent_again_is_sent() {
    let mut leaf = Leaf::new(&small());
    (0..67).for_each(|_| _ = leaf.pick(&mut data(0, 9, 1, 0)));
    assert!(leaf.tam.flows.is_long(leaf.tam.flows.slot(&data(0, 9, 1, 0))));
}

/// Breaks if a first packet (line 5) does not take the port with the shortest transmission delay
/// (lines 6 to 8), or if that is not the sum of queueing and propagation delay (§2.6, item 4). At
/// 1 Gb/s a full packet takes 12 us: 3 x 12 + 50, 1 x 12 + 100, 6 x 12 + 25 and 4 x 12 + 30 us.
#[test]
fn a_short_flow_takes_the_fastest_path() {
    let mut leaf = Leaf::new(&small());
    for (port, waiting, us) in [(8, 2, 50), (9, 0, 100), (10, 5, 25), (11, 3, 30)] {
        leaf.queue(port, waiting);
        leaf.fake.delay[usize::from(port) - 8] = Span::from_micros(us);
    }
    let sent = |leaf: &mut Leaf, sport| leaf.pick(&mut data(0, 9, sport, 0));
    assert_eq!(sent(&mut leaf, 1), 11, "78 us");
    leaf.queue(11, 4);
    assert_eq!(sent(&mut leaf, 2), 8, "86 us against 90");
    leaf.queue(8, 9);
    leaf.queue(11, 9);
    assert_eq!(sent(&mut leaf, 3), 10, "97 us");
    leaf.fake.delay[1] = Span::from_micros(84);
    assert_eq!(sent(&mut leaf, 4), 9, "96 us");
}

/// Breaks if the queueing delay forgets the port's rate: one packet at 100 Mb/s is slower than
/// eight at 1 Gb/s.
#[test]
fn a_slow_port_delays_longer() {
    let mut leaf = Leaf::new(&small());
    leaf.fake.ports.ports[8].rate = Rate::from_mbps(100);
    leaf.queue(8, 0);
    (9..12).for_each(|port| leaf.queue(port, 7));
    assert_ne!(leaf.pick(&mut data(0, 9, 1, 0)), 8);
}

/// Breaks if equally fast ports are not told apart by their long flows (lines 9 to 12), or if those
/// win over the delay.
#[test]
fn equally_fast_ports_are_told_apart_by_long_flows() {
    let mut leaf = Leaf::new(&small());
    for (sport, port) in [(1, 8), (2, 8), (3, 9), (4, 11), (5, 11)] {
        leaf.make_long(sport, port);
    }
    leaf.make_long(6, 10);
    leaf.make_long(7, 10);
    for sport in 100..120 {
        assert_eq!(leaf.pick(&mut data(0, 9, sport, 0)), 9, "one long flow against two");
    }
    leaf.queue(9, 1);
    leaf.queue(10, 1);
    leaf.queue(11, 1);
    assert_eq!(leaf.pick(&mut data(0, 9, 200, 0)), 8, "the fastest, for all its long flows");
}

/// Breaks if a tie in both is not broken uniformly (lines 13 and 14): 3,000 flows over the three
/// ports without a long flow, chi-square with 2 degrees of freedom, 0.1 % point 13.8.
#[test]
fn short_flows_draw_among_equals() {
    let mut leaf = Leaf::new(&small());
    leaf.make_long(1, 9);
    let mut flows = [0; 4];
    for sport in 0..3_000 {
        flows[usize::from(leaf.pick(&mut data(1, 9, sport, 0))) - 8] += 1;
    }
    assert_eq!(flows[1], 0);
    let chi2 = chi_square(&[flows[0], flows[2], flows[3]], &[1_000.0; 3]);
    assert!(chi2 < 13.8, "chi-square {chi2}: {flows:?}");
}

/// Breaks if a short flow moves after its first packet (lines 15 and 16), for whatever queue or
/// pause: it is routed "in flow units".
#[test]
fn a_short_flow_stays() {
    let mut leaf = Leaf::new(&small());
    let first = leaf.pick(&mut data(0, 9, 1, 0));
    leaf.queue(first, 100);
    for seq in 1..60 {
        leaf.wait(if seq == 30 { GAP * 3 } else { Span::from_micros(10) });
        assert_eq!(leaf.pick(&mut data(0, 9, 1, seq)), first);
    }
}

/// Breaks if a flow leaves its port because it has turned long: it has no flowlet yet (lines 29 and
/// 30).
#[test]
fn a_flow_that_turns_long_keeps_its_port() {
    let mut leaf = Leaf::new(&small());
    let first = leaf.pick(&mut data(0, 9, 1, 0));
    leaf.queue(first, 100);
    leaf.make_long(2, first);
    assert!((0..200).all(|seq| leaf.pick(&mut data(0, 9, 1, seq)) == first));
    assert_eq!(leaf.long_flows(first), (2, 2));
}

/// Breaks if a pause of exactly the gap ends a flowlet, or a longer one does not (line 19), or if
/// the flowlet does not take the port with the fewest long flows (lines 20 to 22) however slow.
#[test]
fn a_long_flowlet_goes_where_the_fewest_long_flows_are() {
    let mut leaf = Leaf::new(&small());
    let keep_up = |leaf: &mut Leaf, pause: Span| {
        leaf.wait(Span(pause.0 - 1_000));
        for (sport, port) in [(2, 8), (3, 9), (4, 9), (5, 11)] {
            leaf.send_by(port, sport);
        }
        leaf.wait(Span(1_000));
    };
    for (sport, port) in [(1, 8), (2, 8), (3, 9), (4, 9), (5, 11)] {
        leaf.make_long(sport, port);
    }
    leaf.queue(10, 100);
    keep_up(&mut leaf, GAP);
    assert_eq!(leaf.send(1).0, 8, "no pause longer than the gap");
    keep_up(&mut leaf, Span(GAP.0 + 1));
    assert_eq!(leaf.send(1).0, 10, "no long flow there");
    assert_eq!(leaf.send(1).0, 10, "it stays");
    assert_eq!((leaf.long_flows(8), leaf.long_flows(10)), ((1, 1), (1, 1)));
}

/// Breaks if a flow counts against its own port when it begins a flowlet: idle for longer than the
/// gap, it is not among the active ones, so its old port has as few long flows as any.
#[test]
fn a_flow_does_not_flee_from_itself() {
    let mut leaf = Leaf::new(&small());
    leaf.make_long(1, 10);
    (8..12).filter(|port| *port != 10).for_each(|port| leaf.queue(port, 1));
    leaf.wait(GAP * 2);
    assert_eq!(leaf.send(1).0, 10);
}

/// Breaks if ports with equally few long flows are not told apart by the transmission delay (line
/// 24), or with `ties = "queueing"` not by the queueing delay (§2.7, item 2): 36 + 25, 24 + 100 us.
#[test]
fn long_flowlets_settle_ties_by_delay() {
    for (ties, port) in [("transmission", 9), ("queueing", 11)] {
        let mut leaf = Leaf::new(&small().with("ties", word(ties)));
        leaf.make_long(1, 8);
        for (port, waiting, us) in [(8, 9, 25), (9, 2, 25), (10, 9, 25), (11, 1, 100)] {
            leaf.queue(port, waiting);
            leaf.fake.delay[usize::from(port) - 8] = Span::from_micros(us);
        }
        leaf.wait(GAP * 2);
        assert_eq!(leaf.send(1).0, port, "{ties}");
    }
}

/// Breaks if a tie in both is not broken uniformly (lines 27 and 28): 3,000 flowlets over three
/// ports, the fourth being slower; chi-square with 2 degrees of freedom, 0.1 % point 13.8.
#[test]
fn long_flowlets_draw_among_equals() {
    let mut leaf = Leaf::new(&small());
    leaf.make_long(1, 8);
    leaf.queue(8, 0);
    let mut flowlets = [0; 4];
    for _ in 0..3_000 {
        leaf.wait(GAP * 2);
        flowlets[usize::from(leaf.send(1).0) - 8] += 1;
    }
    assert_eq!(flowlets[0], 0);
    let chi2 = chi_square(&flowlets[1..], &[1_000.0; 3]);
    assert!(chi2 < 13.8, "chi-square {chi2}: {flowlets:?}");
}

/// Breaks if a flow goes on towards a port that has gone, or moves because another has: a short one
/// is routed again as its first packet was, a long one as a flowlet does.
#[test]
fn a_lost_port_is_left_at_once() {
    for long in [false, true] {
        let mut leaf = Leaf::new(&small());
        leaf.send_by(9, 1);
        if long {
            leaf.make_long(1, 9);
        }
        leaf.queue(8, 5);
        leaf.make_long(2, 10);
        leaf.make_long(3, 10);
        leaf.queue(10, 0);
        leaf.make_long(4, 11);
        leaf.queue(11, 1);
        leaf.fake.live.retain(|port| port.0 != 11);
        assert_eq!(leaf.send(1).0, 9, "another port has gone");
        leaf.fake.live.retain(|port| port.0 != 9);
        leaf.fake.live.push(PortId(11));
        // Of 8, 10 and 11 the tenth is the fastest, and the eighth has no long flow.
        assert_eq!(leaf.send(1).0, if long { 8 } else { 10 });
        assert_eq!(leaf.long_flows(9), (0, 0));
    }
}

/// Breaks if a switch that is not the source's leaf routes by its tables: there it hashes, for flows
/// from other leaves and at switches without hosts.
#[test]
fn elsewhere_the_hash_routes() {
    let mut leaf = Leaf::new(&small());
    let params = Params::defaults(ecmp::ENTRY.info.params);
    let mut hash = (ecmp::ENTRY.build)(&params, &leaf.fake.env).unwrap();
    (8..11).for_each(|port| leaf.queue(port, 100));
    let spine = SwitchEnv { tor: None, ..leaf.fake.env.clone() };
    for (src, env) in [(12, leaf.fake.env.clone()), (0, spine)] {
        leaf.tam = made(&Settings::read(&small()).unwrap(), &env);
        for sport in 0..100 {
            let mut packet = data(src, 25, sport, 0);
            let port = leaf.pick(&mut packet);
            assert_eq!(port, leaf.fake.pick(&mut *hash, &mut packet).0);
        }
    }
}

/// Breaks if `long_flows = "total"` does not count flows that are remembered though idle, or
/// "active" counts them (Table 3 has both; line 20: "long flows in present").
#[test]
fn idle_long_flows_count_only_in_total() {
    for (count, expected) in [("active", 8), ("total", 9)] {
        let mut leaf = Leaf::new(&small().with("long_flows", word(count)));
        // Two on port 8 that fall idle, one on each other port, of which 9 is slow.
        leaf.make_long(1, 8);
        leaf.make_long(2, 8);
        [9, 10, 11].into_iter().for_each(|port| leaf.make_long(port, port));
        leaf.queue(10, 9);
        leaf.queue(11, 9);
        leaf.queue(9, 8);
        leaf.queue(8, 9);
        for _ in 0..3 {
            leaf.wait(RTT);
            [9, 10, 11].into_iter().for_each(|port| _ = leaf.send_by(port, port));
        }
        assert_eq!((leaf.long_flows(8), leaf.long_flows(9)), ((0, 2), (1, 1)));
        // A long flow whose port has gone is a flowlet.
        leaf.fake.live.push(PortId(7));
        leaf.fake.delay.push(Span::ZERO);
        leaf.make_long(100, 7);
        leaf.fake.live.retain(|port| port.0 != 7);
        assert_eq!(leaf.send(100).0, expected, "{count}");
    }
}
