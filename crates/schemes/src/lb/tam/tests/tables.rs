//! §2.8: the flow table, the port table, and their refreshes.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Breaks if a long flow without a packet in a whole RTT stays active, if one with a packet does
/// not, or if the refreshes are not at multiples of the RTT.
#[test]
fn a_long_flow_is_inactive_after_an_idle_refresh() {
    let mut leaf = Leaf::new(&small());
    leaf.wait(Span::from_micros(50));
    leaf.make_long(1, 9);
    let touch = |leaf: &mut Leaf| _ = leaf.send_by(11, 2);
    // The refresh at 200 us finds a packet since that at 0, the one at 400 us none since 200.
    leaf.wait(Span::from_micros(349));
    touch(&mut leaf);
    assert_eq!(leaf.long_flows(9), (1, 1));
    leaf.wait(Span::from_micros(1));
    touch(&mut leaf);
    assert_eq!(leaf.long_flows(9), (0, 1));
    leaf.send_by(9, 1);
    assert_eq!(leaf.long_flows(9), (1, 1), "active again");
}

/// Breaks if a flow is forgotten before ten refreshes have found it idle, or after: it is then
/// counted nowhere, short again, and its next packet is a first one.
#[test]
fn a_flow_is_forgotten_after_ten_idle_refreshes() {
    for (long, idle, remembered) in
        [(true, 2_199, true), (true, 2_200, false), (false, 2_199, true), (false, 2_200, false)]
    {
        let mut leaf = Leaf::new(&small());
        leaf.wait(Span::from_micros(1));
        leaf.send_by(9, 1);
        if long {
            leaf.make_long(1, 9);
        }
        (8..12).filter(|port| *port != 10).for_each(|port| leaf.queue(port, 3));
        // The refresh at 2,200 us finds nothing since that at 200: ten RTTs.
        leaf.wait(Span::from_micros(idle - 1));
        leaf.with(|tam, cx| tam.arrived(&mut data(0, 9, 2, 0), PortId(0), cx));
        assert_eq!(leaf.footprint().occupied, 1 + u32::from(remembered));
        assert_eq!(leaf.long_flows(9), (0, u32::from(long && remembered)));
        let port = leaf.send(1).0;
        assert_eq!(port == 9, remembered && !long, "the flow's port, or the fastest");
        let is_long = leaf.tam.flows.is_long(leaf.tam.flows.slot(&data(0, 9, 1, 0)));
        assert_eq!(is_long, long && remembered);
    }
}

/// Breaks if a flow is forgotten while its flowlet may still go on: at 40 Gb/s ten RTTs of 8 us are
/// shorter than the gap of 100 us, and no long flow would ever begin a second flowlet.
#[test]
fn nothing_is_forgotten_within_two_gaps() {
    let rtt = Value::Span(Span::from_micros(8));
    let mut leaf = Leaf::at(&small().with("rtt", rtt), Rate::from_gbps(40), 1);
    leaf.make_long(1, 9);
    leaf.queue(9, 1);
    leaf.wait(Span::from_micros(100));
    assert_eq!(leaf.send(1).0, 9, "no flowlet: the gap is not exceeded");
    leaf.wait(Span::from_micros(150));
    assert_ne!(leaf.send(1).0, 9, "a flowlet");
    assert!(leaf.tam.flows.is_long(leaf.tam.flows.slot(&data(0, 9, 1, 0))), "of a long flow");
}

/// Breaks if the flowlet gap does not follow the switch's fastest port, or a stated one does not go
/// first.
#[test]
fn the_gap_follows_the_rate() {
    for (gbps, stated, us) in [(1, None, 500), (10, None, 100), (40, None, 100), (40, Some(7), 7)] {
        let rtt = Value::Span(Span::from_micros(1_000));
        let mut params = small().with("rtt", rtt);
        if let Some(us) = stated {
            params = params.with("gap", Value::Span(Span::from_micros(us)));
        }
        let mut leaf = Leaf::at(&params, Rate::from_gbps(gbps), 1);
        leaf.make_long(1, 9);
        leaf.queue(9, 100);
        leaf.make_long(2, 9);
        leaf.wait(Span::from_micros(us));
        assert_eq!(leaf.send(1).0, 9, "{gbps} Gb/s");
        leaf.wait(Span(Span::from_micros(us).0 + 1));
        assert_ne!(leaf.send(1).0, 9, "{gbps} Gb/s");
    }
}

/// Breaks if flows that hash to one entry do not share it: with a single one, two flows of 60 KB
/// are a long one, on the port of the first.
#[test]
fn collisions_share_an_entry() {
    let mut leaf = Leaf::new(&small().with("entries", Value::Int(1)));
    let first = leaf.send(1).0;
    leaf.queue(first, 50);
    for _ in 0..40 {
        assert_eq!((leaf.send(1).0, leaf.send(2).0), (first, first));
    }
    assert_eq!(leaf.long_flows(first), (1, 1));
}

/// Breaks if a flow is short where this switch has not seen its first packets (§2.5: "the amount of
/// data sent so far"): after it has moved here, and after it was forgotten. What the switch has seen
/// makes it long too late.
#[test]
fn a_flow_has_what_it_has_sent() {
    for (size, long) in [("sent", true), ("seen", false)] {
        let mut leaf = Leaf::new(&small().with("size", word(size)));
        let slot = leaf.tam.flows.slot(&data(0, 9, 1, 0));
        let send = |leaf: &mut Leaf, seq| {
            leaf.pick(&mut data(0, 9, 1, seq));
            leaf.tam.flows.is_long(slot)
        };
        assert!(!send(&mut leaf, 0));
        // 67 packets of 1,500 bytes are the first above 100 KB.
        assert!(!send(&mut leaf, 65), "{size}");
        assert_eq!(send(&mut leaf, 66), long, "{size}");
        assert_eq!(send(&mut leaf, 3), long, "sent again: {size}");
        leaf.wait(Span::from_micros(5_000));
        assert_eq!(send(&mut leaf, 70), long, "forgotten meanwhile: {size}");
    }
}

/// Breaks if the footprint leaves a table out, or the slot of a flow is not in the table.
#[test]
fn the_footprint_is_the_tables() {
    let mut leaf = Leaf::new(&small().with("entries", Value::Int(1024)));
    (0..3).for_each(|sport| _ = leaf.send(sport));
    let ports = leaf.fake.env.ports.len() as u64;
    let footprint = leaf.footprint();
    assert_eq!((footprint.slots, footprint.occupied, footprint.per_flow), (1024, 3, 20));
    assert_eq!(footprint.per_port, 48);
    assert_eq!(footprint.bytes, 1024 * 20 + ports * u64::from(footprint.per_port));
    assert!(leaf.tam.slot(&data(0, 9, 1, 0)).is_some_and(|slot| slot < 1024));
}

/// The tables as the paper keeps them: every entry is looked at once per RTT.
#[derive(Default)]
struct Literal {
    /// Bytes, time and port of the latest packet, refreshes without a packet, activity sign.
    flows: BTreeMap<u16, (u32, Time, u16, u32, bool)>,
    refreshes: u64,
}

impl Literal {
    fn refresh(&mut self, now: Time) {
        while Time(RTT.0 * (self.refreshes + 1)) <= now {
            self.refreshes += 1;
            for flow in self.flows.values_mut() {
                let since = Time(RTT.0 * (self.refreshes - 1));
                flow.3 = if flow.1 >= since { 0 } else { flow.3 + 1 };
                flow.4 &= flow.3 == 0;
            }
            self.flows.retain(|_, flow| flow.3 < 10);
        }
    }

    fn sent(&mut self, sport: u16, port: u16, now: Time) {
        let flow = self.flows.entry(sport).or_insert((0, now, port, 0, false));
        let bytes = flow.0 + 1500;
        *flow = (bytes, now, port, 0, bytes > 100_000);
    }

    fn long_flows(&self, port: u16) -> (u32, u32) {
        let long = || self.flows.values().filter(|flow| flow.0 > 100_000 && flow.2 == port);
        (long().filter(|flow| flow.4).count() as u32, long().count() as u32)
    }
}

proptest! {
    /// Breaks if making up for refreshes later differs from refreshing every entry when it is due,
    /// or if a flow that moves, falls idle, is forgotten or comes back is counted twice or not at
    /// all.
    #[test]
    fn the_tables_are_those_of_a_literal_refresh(
        steps in proptest::collection::vec(
            (0..5u16, 8..12u16, 0..80u32, prop_oneof![
                Just(0u64), 1..1_000_000u64, 0..700_000_000u64, 0..5_000_000_000u64,
            ]),
            1..80,
        ),
    ) {
        let mut leaf = Leaf::new(&small());
        let mut literal = Literal::default();
        for (sport, port, packets, pause) in steps {
            leaf.wait(Span(pause));
            literal.refresh(leaf.fake.now);
            for _ in 0..=packets {
                leaf.send_by(port, sport);
                literal.sent(sport, port, leaf.fake.now);
            }
            for port in 8..12 {
                prop_assert_eq!(leaf.long_flows(port), literal.long_flows(port), "port {}", port);
            }
            prop_assert_eq!(
                leaf.footprint().occupied as usize,
                literal.flows.len()
            );
        }
    }
}
