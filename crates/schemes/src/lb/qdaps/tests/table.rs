//! The flow table, and what is kept and counted.

use super::*;

/// Breaks if flows of one entry do not share its last packet and its size, or others do: with one entry,
/// a new flow waits for the other one's packet, and is large because that one is.
#[test]
fn collisions_share_an_entry() {
    let second = |entries: u64, grown: u32, first: u32| {
        let mut flow = Flow::new(leaf(2), &defaults().with("entries", Value::Int(entries)));
        flow.grow(grown);
        flow.leaf.live = vec![Q2];
        flow.next(&[0, first]);
        flow.leaf.live = vec![Q1, Q2];
        let [one, other] = [data(0, 9, 1, 0), data(3, 17, 7, 0)];
        let same = flow.qdaps.inspect().slot(&one) == flow.qdaps.inspect().slot(&other);
        assert_eq!(same, entries == 1);
        flow.leaf.pick(&mut *flow.qdaps, &mut { other })
    };
    assert_eq!([second(1, 0, 20), second(65_536, 0, 20)], [Q2, Q1]);
    assert_eq!([second(1, 0, 40), second(1, 150_000, 40)], [Q2, Q1]);
}

/// Breaks if an idle flow keeps its size beyond the second sweep (they come every 200 us), loses it
/// earlier, or if `strict_age` does not forget the packet that still waits: 60 packets wait,
/// QD = 732 us, and the flow is silent for 450 us.
#[test]
fn idle_flows_are_forgotten() {
    let after = |idle: u64, params: &Params| {
        let mut flow = Flow::new(leaf(2), params);
        flow.grow(150_000);
        // 100 packets of 12 us: the sweep at 1,200 us clears the age bit of the last, at 1,188.
        assert_eq!(flow.leaf.now, Time(us(1_200).0));
        flow.leaf.wait(us(idle));
        flow.leaf.live = vec![Q2];
        flow.next(&[0, 60]);
        flow.leaf.live = vec![Q1, Q2];
        flow.next(&[0, 60])
    };
    assert_eq!([after(199, &defaults()), after(200, &defaults())], [Q1, Q2], "the size is gone");

    let silent = |strict: bool| {
        let mut flow = Flow::new(leaf(2), &defaults().with("strict_age", Value::Bool(strict)));
        flow.leaf.live = vec![Q2];
        flow.next(&[0, 60]);
        flow.leaf.live = vec![Q1, Q2];
        flow.leaf.wait(us(450));
        flow.next(&[0, 40])
    };
    assert_eq!([silent(false), silent(true)], [Q2, Q1]);
}

/// Breaks if `in_service` does not add what is left of the packet in transmission to the delay, and its
/// bytes to the queue: the fake port's line is busy for the whole packet. Q1 sends one and nothing waits;
/// QD is 24 us instead of 12. 6 us later 18 are left: an idle Q2 (12 us) may not be used by a rule that
/// knows, and may by eq. 1, where 6 are left.
#[test]
fn the_packet_in_transmission_counts_on_request() {
    for (in_service, port) in [(false, Q2), (true, Q1)] {
        let params = defaults().with("in_service", Value::Bool(in_service));
        let mut flow = Flow::new(leaf(2), &params);
        flow.leaf.ports.ports[usize::from(Q1.0)].in_service = 1500;
        flow.leaf.live = vec![Q1];
        flow.next(&[0, 0]);
        flow.leaf.live = vec![Q1, Q2];
        flow.leaf.wait(us(6));
        assert_eq!(flow.next(&[1, 0]), port, "{in_service}");
    }
    let params = defaults().with("in_service", Value::Bool(true));
    let mut flow = Flow::new(leaf(2), &params);
    flow.leaf.ports.ports[usize::from(Q1.0)].in_service = 1500;
    assert_eq!(flow.next(&[0, 0]), Q2, "idle is shorter than busy");
}

/// Breaks if ACKs share their data's entry.
#[test]
fn acks_are_flows_of_their_own() {
    let leaf = leaf(2);
    let qdaps = build(&defaults(), &leaf.env).unwrap();
    let mut ack = control(0, 9, 1, Flags::ACK);
    ack.tuple = ack.tuple.reversed();
    assert_ne!(qdaps.inspect().slot(&data(0, 9, 1, 0)), qdaps.inspect().slot(&ack));
}

/// Breaks if the footprint is another state than is kept: 24 bytes for each of 65,536 flows, 16 for
/// each of 12 ports; QDAPS* adds 2 x 16 for each uplink and leaf, and 2 a port.
#[test]
fn the_footprint_is_what_is_kept() {
    let mut leaf = leaf(4);
    let mut qdaps = build(&defaults(), &leaf.env).unwrap();
    for sport in 0..10 {
        leaf.pick(&mut *qdaps, &mut data(0, 9, sport, 0));
    }
    let print = qdaps.inspect().footprint(leaf.now);
    assert_eq!((print.per_flow, print.slots, print.occupied), (24, 65_536, 10));
    assert_eq!(print.bytes, 24 * 65_536 + 12 * 16);
    assert_eq!(qdaps.inspect().footprint(Time(us(400).0)).occupied, 0);
    let star = build_star(&Params::defaults(STAR.info.params), &leaf.env).unwrap();
    let print = star.inspect().footprint(leaf.now);
    assert_eq!(
        (print.bytes, print.per_port),
        (24 * 65_536 + 12 * 16 + 4 * 4 * 32 + 24, 16 + 4 * 32)
    );
}
