//! What a port learns at its dequeues, and how the ingress hears of it.

use super::*;
use proptest::prelude::*;

/// Breaks if a field of the clone packet has another place or width: Fig. 6 has occupancy in 16
/// bits, interval in 48, trend in 8, egress port in 8.
#[test]
fn a_clone_has_ten_bytes() {
    let clone = Clone10::encode(queue(77, 0x1234, 2), 9);
    assert_eq!(clone.0, [0, 77, 0, 0, 0, 0, 0x12, 0x34, 2, 9]);
    let longest = Clone10::encode(queue(100, (1 << 48) - 1, 1), 255);
    assert_eq!(longest.0, [0, 100, 255, 255, 255, 255, 255, 255, 1, 255]);
}

proptest! {
    /// Breaks if decoding does not give back what was encoded.
    #[test]
    fn clones_decode(occupancy in 0u8..=100, interval in 0u64..1 << 48, trend: u8, port: u8) {
        let behaviour = queue(occupancy, interval, trend);
        prop_assert_eq!(Clone10::encode(behaviour, port).decode(), (behaviour, port));
    }
}

/// Breaks if T is not the time between the last two dequeues in whole microseconds (Fig. 2), or
/// exceeds tau, or is known at the first dequeue.
#[test]
fn interval_of_the_last_two_dequeues() {
    let mut leaf = leaf();
    let mut qall = make(&defaults(), &leaf.env).unwrap();
    for (wait, interval) in
        [(2_000 * US, TAU), (3_000 * US, 3_000), (1_500 * US + US - 1, 1_500), (11_000 * US, TAU)]
    {
        leaf.wait(Span(wait));
        leave(&mut leaf, &mut qall, 4, 0);
        assert_eq!(known(&mut leaf, &mut qall, 4).interval, interval);
    }
    // Only the last two dequeues count, not those that returned state.
    leaf.wait(Span(999 * US));
    leave(&mut leaf, &mut qall, 4, 0);
    leaf.wait(Span(30 * US));
    leave(&mut leaf, &mut qall, 4, 0);
    assert_eq!(known(&mut leaf, &mut qall, 4).interval, 30);
}

/// Breaks if V is another than: larger while L has grown since the last return, 1 while it has
/// shrunk, as before while it is equal, 1 at the start (§IV-C).
#[test]
fn trend_has_three_cases() {
    let mut leaf = leaf();
    let mut qall = make(&defaults(), &leaf.env).unwrap();
    assert_eq!(known(&mut leaf, &mut qall, 4), queue(0, TAU, 1));
    for (packets, trend) in [(0, 1), (10, 2), (10, 2), (11, 2), (9, 1), (9, 1), (10, 2), (0, 1)] {
        leaf.wait(Span(1_001 * US));
        leave(&mut leaf, &mut qall, 4, packets);
        let known = known(&mut leaf, &mut qall, 4);
        assert_eq!((u32::from(known.occupancy), known.trend), (packets, trend));
    }
    // Dequeues that return no state do not count.
    leave(&mut leaf, &mut qall, 4, 90);
    leaf.wait(Span(1_001 * US));
    leave(&mut leaf, &mut qall, 4, 20);
    assert_eq!(known(&mut leaf, &mut qall, 4).trend, 2);
}

/// Breaks if V with `trend_since = "packet"` is not of what the packet before found, whether or not that one
/// returned state: growing, shrinking, and as before while it is equal.
#[test]
fn trend_since_the_packet_before() {
    let mut leaf = leaf();
    let params = defaults().with("trend_since", Value::Word("packet".to_owned()));
    let mut qall = make(&params, &leaf.env).unwrap();
    // What the packets found, of which the last returns state, and V then. Against the return before V would be
    // 2, 2, 1, 1, 1 and 1.
    for (found, trend) in [
        (&[10][..], 2),
        (&[90, 20], 1),
        (&[5, 8, 15], 2),
        (&[9, 15, 15], 2),
        (&[30, 30, 14, 14], 1),
        (&[0, 14], 2),
    ] {
        let (last, before) = found.split_last().unwrap();
        for packets in before {
            leave(&mut leaf, &mut qall, 4, *packets);
        }
        leaf.wait(Span(1_001 * US));
        leave(&mut leaf, &mut qall, 4, *last);
        let known = known(&mut leaf, &mut qall, 4);
        assert_eq!((u32::from(known.occupancy), known.trend), (*last, trend), "{found:?}");
    }
}

/// Breaks if state returns before more than T_b has passed (Algorithm 3 line 4: not at T_b), if
/// the period does not start at the last return (line 8), or if ports share it.
#[test]
fn state_returns_once_a_period() {
    let mut leaf = leaf();
    let mut qall = make(&defaults(), &leaf.env).unwrap();
    let mut at = |us: u64, extra: u64, port: u16, packets: u32| {
        leaf.wait(Span((us * US + extra) - leaf.now.0));
        leave(&mut leaf, &mut qall, port, packets);
        known(&mut leaf, &mut qall, port).occupancy
    };
    assert_eq!(at(1_000, 0, 4, 10), 0);
    assert_eq!(at(1_000, 1, 4, 20), 20);
    assert_eq!(at(1_500, 0, 4, 30), 20);
    assert_eq!(at(1_500, 0, 5, 40), 40);
    assert_eq!(at(2_000, 1, 4, 50), 20);
    assert_eq!(at(2_000, 2, 4, 60), 60);
    assert_eq!(at(2_300, 0, 5, 70), 40);
}

/// Breaks if the ingress knows before the clone has come, or if several on their way get lost or
/// change places.
#[test]
fn clones_take_their_time() {
    let mut leaf = leaf();
    let params = defaults().with("clone_delay", Value::Span(Span::from_micros(2_500)));
    let mut qall = make(&params, &leaf.env).unwrap();
    for packets in [10, 20, 30] {
        leaf.wait(Span(1_100 * US));
        leave(&mut leaf, &mut qall, 4, packets);
    }
    // Sent at 1,100, 2,200 and 3,300 us.
    for (us, occupancy) in
        [(3_599, 0), (3_600, 10), (4_699, 10), (4_700, 20), (5_799, 20), (5_800, 30)]
    {
        leaf.wait(Span(us * US - leaf.now.0));
        assert_eq!(known(&mut leaf, &mut qall, 4).occupancy, occupancy, "{us} us");
    }
    assert_eq!(known(&mut leaf, &mut qall, 4).trend, 2);
}

/// Breaks if L is not what waited over the buffer in percent, rounded down, at most 100; in the
/// buffer's unit.
#[test]
fn occupancy_in_whole_percent() {
    let cases = [
        (Amount::Packets(64), 63, 98),
        (Amount::Packets(64), 64, 100),
        (Amount::Packets(64), 1, 1),
        (Amount::Packets(256), 2, 0),
        (Amount::Packets(256), 700, 100),
        (Amount::Bytes(375_000), 3_749, 0),
        (Amount::Bytes(375_000), 3_750, 1),
        (Amount::Bytes(375_000), u32::MAX, 100),
    ];
    for (buffer, waiting, percent) in cases {
        let mut leaf = leaf();
        leaf.env.buffer = buffer;
        let mut qall = make(&defaults(), &leaf.env).unwrap();
        leaf.wait(Span(2_000 * US));
        leave(&mut leaf, &mut qall, 4, waiting);
        assert_eq!(known(&mut leaf, &mut qall, 4).occupancy, percent, "{buffer} {waiting}");
    }
}

/// Breaks if the packet does not carry what waited at the port picked for it, packets or bytes,
/// or not when there is a single port.
#[test]
fn a_packet_carries_what_it_found() {
    for (buffer, carries) in [(Amount::Packets(100), 7), (Amount::Bytes(150_000), 10_500)] {
        let mut leaf = leaf();
        leaf.env.buffer = buffer;
        let mut qall = make(&defaults(), &leaf.env).unwrap();
        for port in &mut leaf.ports.ports {
            port.queues[0] = Backlog { packets: 7, bytes: 10_500, in_service: 0 };
        }
        let mut packet = data(0, 9, 1, 0);
        leaf.pick(&mut qall, &mut packet);
        assert_eq!(packet.header.0, [0, carries]);
        leaf.live = vec![PortId(5)];
        let mut packet = data(0, 9, 1, 0);
        assert_eq!(leaf.pick(&mut qall, &mut packet), PortId(5));
        assert_eq!(packet.header.0, [0, carries]);
    }
}

/// Breaks if a port towards a host keeps anything, or an uplink's ring is not fixed: at 10 Gb/s 257
/// packets take 308 us, so of a period of 10 us 30 returns lie in the queue and 61 in a clone
/// delay of 615 us.
#[test]
fn rings_have_the_size_of_the_longest_delay() {
    let leaf = FakeLeaf::new(4, 4, 1);
    let sizes = |params: &Params| {
        let qall = make(params, &leaf.env).unwrap();
        let port = |at: usize| qall.ports[at].returns().1;
        (port(0), port(4))
    };
    assert_eq!(sizes(&defaults()), (0, 2));
    let short = defaults().with("update_period", Value::Span(Span::from_micros(10)));
    assert_eq!(sizes(&short), (0, 32));
    let delay = Value::Span(Span::from_micros(615));
    assert_eq!(sizes(&short.with("clone_delay", delay)), (0, 93));
}

/// Breaks if more returns than fit are kept (an allocation), or end in a panic.
#[test]
fn a_full_ring_loses_clones() {
    let rules = Rules {
        tau: TAU,
        update_period: Span(0),
        clone_delay: Span(1_000 * US),
        growth_weight: 2,
        buffer: 100,
        at_dequeue: false,
        by_packet: false,
        p4: false,
    };
    let mut port = PortState::new(TAU, 3);
    for us in 1..=9 {
        port.leaving(Time(us * US), Time(us * US), 1, || us, &rules);
    }
    assert_eq!(port.returns(), (3, 3));
    assert!(port.receive(0, Time(2_000 * US), &rules));
    assert_eq!((port.known.occupancy, port.next), (3, Time::MAX));
}

/// Breaks if a buffer of any size or unit, with the shortest period and a long delay, makes a ring that
/// is empty or has no bound.
#[test]
fn any_buffer_will_do() {
    for buffer in [Amount::Packets(1), Amount::Bytes(9_000_000), Amount::Bytes(1_500)] {
        let mut leaf = leaf();
        leaf.env.buffer = buffer;
        let period = Value::Span(Span::from_micros(1));
        let params = defaults().with("update_period", period);
        let delay = Value::Span(Span::from_millis(1_000));
        let qall = make(&params.with("clone_delay", delay), &leaf.env).unwrap();
        assert!(qall.ports[4..].iter().all(|port| (2..=1 << 16).contains(&port.returns().1)));
    }
}

/// Breaks if information is not as old as the dequeue of which the last clone has told, whether or not the
/// ingress has been asked since; 615 us old when it comes, at two ports 300 us apart.
#[test]
fn information_ages_from_the_dequeue_on() {
    let mut leaf = leaf();
    let late = defaults().with("clone_delay", Value::Span(Span::from_micros(615)));
    let mut qall = make(&late, &leaf.env).unwrap();
    leaf.wait(Span(2_000 * US));
    leave(&mut leaf, &mut qall, 4, 0);
    leaf.wait(Span(300 * US));
    leave(&mut leaf, &mut qall, 5, 0);
    leaf.wait(Span(315 * US - 1));
    assert_eq!(qall.information_age(leaf.now), None);
    leaf.wait(Span(1));
    assert_eq!(qall.information_age(leaf.now), Some(Span(615 * US)));
    known(&mut leaf, &mut qall, 4);
    assert_eq!(qall.information_age(leaf.now), Some(Span(615 * US)));
    leaf.wait(Span(300 * US));
    assert_eq!(qall.information_age(leaf.now), Some(Span((915 + 615) * US / 2)));
}
