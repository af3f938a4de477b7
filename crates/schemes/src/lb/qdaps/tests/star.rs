//! QDAPS*: two leaves, each with hosts 8n to 8n + 7 and four uplinks. Uplink n of the one leads
//! over a spine to uplink n of the other, as in Fig. 2.

use super::*;
use crate::Neighbour;
use leafspine_core::TorId;

fn defaults() -> Params {
    stated(STAR.info.params, &[("marking", "65"), ("threshold", "41pkt")])
}

struct Side {
    leaf: FakeLeaf,
    star: Box<dyn LoadBalancer>,
}

impl Side {
    fn new(tor: u16, params: &Params) -> Side {
        let mut leaf = leaf(4);
        leaf.env.tor = Some(TorId(tor));
        let star = build_star(params, &leaf.env).unwrap();
        Side { leaf, star }
    }

    /// `call` with the balancer and a context at `now`.
    fn at<T>(
        &mut self,
        now: Time,
        call: impl FnOnce(&mut dyn LoadBalancer, &mut Context<'_>) -> T,
    ) -> T {
        let leaf = &mut self.leaf;
        leaf.wait(now.since(leaf.now));
        let (rng, ports, outbox) = (&mut leaf.rng, &mut leaf.ports, &mut leaf.outbox);
        call(&mut *self.star, &mut Context { now, rng, ports, outbox })
    }
}

/// Leaves 0 and 1.
struct Pair {
    sides: [Side; 2],
    now: Time,
}

impl Pair {
    fn new(params: &Params) -> Pair {
        Pair { sides: [Side::new(0, params), Side::new(1, params)], now: Time::ZERO }
    }

    /// Carries a full packet from a host under leaf `from` to one under the other: it begins its
    /// transmission by `port` now, and the first bit arrives so long after the last bit has left.
    /// With 12 us on either line it has arrived 24 us later than that. Returns it.
    fn carry(&mut self, from: usize, port: PortId, takes: Span) -> PacketMeta {
        let mut packet = match from {
            0 => data(0, 9, 1, 0),
            _ => data(9, 0, 80, 0),
        };
        let now = self.now;
        self.sides[from].at(now, |star, cx| star.leaving(&mut packet, port, now, cx));
        self.now += takes + us(24);
        let now = self.now;
        let arrival = self.sides[1 - from].at(now, |star, cx| star.arrived(&mut packet, port, cx));
        assert_eq!(arrival, Arrival::Forward);
        packet
    }

    /// Tells leaf 0 the delay to leaf 1 by each uplink, in microseconds.
    fn learn(&mut self, delays: [u64; 4]) {
        for (port, delay) in [Q1, Q2, Q3, Q4].into_iter().zip(delays) {
            self.carry(0, port, us(delay));
            self.carry(1, port, us(50));
        }
    }

    /// Where leaf 0 sends a packet of flow `sport` to leaf 1 now.
    fn pick(&mut self, sport: u16) -> PortId {
        let side = &mut self.sides[0];
        side.leaf.wait(self.now.since(side.leaf.now));
        side.leaf.pick(&mut *side.star, &mut data(0, 9, sport, 0))
    }
}

/// Header units of a span.
fn units(span: Span) -> u32 {
    (span.0 >> feedback::UNIT) as u32
}

/// Breaks if the stamp is not the time when the packet has left the source's leaf, or the echo not
/// the latest delay of the opposite direction on the same uplink (§III-D): 70 us there by Q2, 55 us
/// back by Q2; nothing is known of Q3. The first is sent from 1,000 to 1,012 us and is there at 1,094.
#[test]
fn stamps_and_echoes() {
    let mut pair = Pair::new(&defaults());
    pair.now = Time(us(1_000).0);
    let first = pair.carry(0, Q2, us(70));
    assert_eq!(first.header.0, [units(us(1_012)), 0]);
    let back = pair.carry(1, Q2, us(55));
    let [stamp, echo] = back.header.0;
    assert_eq!(stamp, units(us(1_106)));
    assert!(echo.abs_diff(units(us(70))) <= 1, "{echo}");
    let again = pair.carry(0, Q2, us(80));
    assert!(again.header.0[1].abs_diff(units(us(55))) <= 1);
    assert!(pair.carry(1, Q2, us(55)).header.0[1].abs_diff(units(us(80))) <= 1, "the latest");
    assert_eq!(pair.carry(1, Q3, us(55)).header.0[1], 0, "nothing is known of Q3");
}

/// Breaks if a delay is lost or wrong where the 32-bit clock wraps, at 4.398 s: stamped 20 us before,
/// read 50 us after.
#[test]
fn the_clock_wraps() {
    let mut pair = Pair::new(&defaults());
    pair.now = Time((1 << 42) - us(32).0);
    let first = pair.carry(0, Q1, us(70));
    assert!(first.header.0[0] > u32::MAX - 20_000);
    let echo = pair.carry(1, Q1, us(55)).header.0[1];
    assert!(echo.abs_diff(units(us(70))) <= 1, "{echo}");
}

/// Breaks if queues of the testbed do not fit (§V: 20 Mb/s, 256 packets, two hops): 307.2 ms.
#[test]
fn slow_links_fit_the_stamps() {
    let mut pair = Pair::new(&defaults());
    pair.carry(0, Q1, us(307_200));
    assert!(pair.carry(1, Q1, us(55)).header.0[1].abs_diff(units(us(307_200))) <= 1);
}

/// Breaks if a small packet's sample differs from a full one's, or if `samples = "whole"` leaves the
/// packet's own time out: 50 us between its last bit out and its first bit in are 74 us for a full packet.
#[test]
fn samples_are_net_or_whole() {
    for (samples, full, small) in [("net", 50_000, 50_000), ("whole", 74_000, 50_640)] {
        let mut pair = Pair::new(&defaults().with("samples", word(samples)));
        pair.carry(0, Q1, us(50));
        let echo = pair.carry(1, Q1, us(50)).header.0[1];
        assert!(echo.abs_diff(units(Span::from_nanos(full))) <= 1, "{samples}: {echo}");
        // An ACK is on the lines for 320 ns each.
        let mut ack = control(0, 9, 1, Flags::ACK);
        let start = pair.now;
        pair.sides[0].at(start, |star, cx| star.leaving(&mut ack, Q1, start, cx));
        pair.now = start + us(50) + Span::from_nanos(640);
        let now = pair.now;
        pair.sides[1].at(now, |star, cx| star.arrived(&mut ack, Q1, cx));
        let echo = pair.carry(1, Q1, us(50)).header.0[1];
        assert!(echo.abs_diff(units(Span::from_nanos(small))) <= 1, "{samples}: {echo}");
    }
}

/// Breaks if a delay that comes out negative is taken for one of seconds: the last link becomes so slow,
/// while the packet is on it, that the packet's time there (60 us at 0.2 Gb/s) is more than it needed.
#[test]
fn negative_delays_are_none() {
    let mut pair = Pair::new(&defaults());
    pair.sides[1].leaf.ports.ports[usize::from(Q1.0)].rate = Rate::from_mbps(200);
    pair.carry(0, Q1, us(5));
    assert_eq!(pair.carry(1, Q1, us(5)).header.0[1], 1);
}

/// Breaks if the choice is not by the sum of both delays: all queues are empty, Q3's path is the
/// shortest by 10 us; with a packet (12 us) at Q3 it is no longer.
#[test]
fn the_smallest_sum_wins() {
    let mut pair = Pair::new(&defaults());
    pair.learn([90, 80, 70, 100]);
    assert_eq!(pair.pick(1), Q3);
    queues(&mut pair.sides[0].leaf, &[0, 0, 1, 0]);
    assert_eq!(pair.pick(2), Q2);
}

/// Breaks if RQD or the candidates' delays leave the leaf-to-leaf part out: a flow's packet has gone by
/// Q4 (Q1 to Q3 were down), 100 + 12 us. 25 us later 87 are left: Q3 would give 70 + 12, Q2 80 + 12
/// and is the smallest that is later; another 6 us later 86 are left of that, and Q2 it is again.
#[test]
fn order_is_kept_over_both_delays() {
    let mut pair = Pair::new(&defaults());
    pair.learn([90, 80, 70, 100]);
    pair.sides[0].leaf.live = vec![Q4];
    assert_eq!(pair.pick(1), Q4);
    pair.sides[0].leaf.live = vec![Q1, Q2, Q3, Q4];
    pair.now += us(25);
    assert_eq!(pair.pick(1), Q2);
    pair.now += us(6);
    assert_eq!(pair.pick(1), Q2);
    pair.now += us(10);
    assert_eq!(pair.pick(1), Q3, "76 are left, Q3 has 82");
}

/// Breaks if a delay is believed for longer than 10 ms, or not so long, or if an old measurement is
/// sent back and taken for a new one. Q1 is measured bad at first; then only leaf 1 sends, by all
/// uplinks, each millisecond.
#[test]
fn old_delays_are_forgotten() {
    let mut pair = Pair::new(&defaults());
    let base = [2_000_000, 5_000_000, 5_000_000, 5_000_000].map(Span);
    pair.sides[0].leaf.delay = base.to_vec();
    pair.learn([900, 80, 80, 80]);
    let learnt = pair.now;
    let mut sport = 0;
    let mut left_at = None;
    while left_at.is_none() {
        pair.now = Time(pair.now.0 - us(50).0) + us(1_000);
        for port in [Q1, Q2, Q3, Q4] {
            pair.carry(1, port, us(10));
            pair.now = Time(pair.now.0 - us(10).0);
        }
        pair.now += us(50);
        sport += 1;
        // Of the paths without a measurement, Q1 has the shortest way.
        left_at = (pair.pick(sport) == Q1).then_some(pair.now.since(learnt));
    }
    // Echoed for 10 ms, believed for 10 ms after the last echo.
    let left_at = left_at.unwrap();
    assert!((us(19_000)..=us(21_000)).contains(&left_at), "{left_at}");
}

/// Breaks if an unmeasured path is taken to have no delay, or another than its propagation, to which
/// two full packets (2 x 12 us) come if samples are whole; or if it is preferred to a path that is known
/// to be idle: Q2 is measured at 40 us (64 with its own times on the lines).
#[test]
fn unmeasured_paths_are_taken_to_be_idle() {
    for samples in ["net", "whole"] {
        for (long, on_q2) in [(us(41), true), (us(40), true), (us(39), false)] {
            let mut pair = Pair::new(&defaults().with("samples", word(samples)));
            pair.sides[0].leaf.delay = vec![long; 4];
            pair.carry(0, Q2, us(40));
            pair.carry(1, Q2, us(40));
            for sport in 1..20 {
                assert_eq!(pair.pick(sport) == Q2, on_q2, "{long}, {samples}");
            }
        }
    }
}

/// Breaks if a large flow is bound to a far queue for good, or a small one is not: S is 33 packets, 396 us.
/// The path by Q1 is 50 us long and measured at 480, 430 of which are a queue; nothing waits here.
#[test]
fn large_flows_leave_far_queues() {
    for (sent, delay, port) in [(150_000, 480, Q2), (50_000, 480, Q1), (150_000, 440, Q1)] {
        let mut pair = Pair::new(&defaults());
        pair.sides[0].leaf.delay = vec![us(50); 4];
        pair.learn([delay, 60, 70, 70]);
        for _ in 0..sent / 1500 {
            pair.pick(1);
        }
        pair.sides[0].leaf.live = vec![Q1];
        assert_eq!(pair.pick(1), Q1);
        pair.sides[0].leaf.live = vec![Q1, Q2, Q3, Q4];
        assert_eq!(pair.pick(1), port, "{sent} bytes, {delay} us");
    }
}

/// Breaks if delays of one leaf are taken for another's: towards leaf 2 nothing is known.
#[test]
fn each_leaf_has_its_own_delays() {
    let mut pair = Pair::new(&defaults());
    pair.learn([900, 900, 900, 100]);
    pair.sides[0].leaf.wait(pair.now.since(pair.sides[0].leaf.now));
    let side = &mut pair.sides[0];
    let mut used = [0; 4];
    for sport in 0..100 {
        let port = side.leaf.pick(&mut *side.star, &mut data(0, 17, sport, 0));
        used[usize::from(port.0 - Q1.0)] += 1;
    }
    assert!(used.iter().all(|n| *n > 10), "{used:?}");
    assert_eq!(pair.pick(1), Q4);
}

/// Breaks if packets are touched that are no business of this leaf's: between its own hosts, on a port
/// to a host, in transit between other leaves, or at a switch without hosts.
#[test]
fn others_are_left_alone() {
    let mut side = Side::new(0, &defaults());
    let untouched = |side: &mut Side, src, dst, port| {
        let mut packet = data(src, dst, 1, 0);
        packet.header.0 = [7, 8];
        side.at(Time(us(500).0), |star, cx| {
            star.leaving(&mut packet, port, Time(us(500).0), cx);
            star.arrived(&mut packet, port, cx);
        });
        packet.header.0 == [7, 8]
    };
    assert!(untouched(&mut side, 0, 1, PortId(1)), "own hosts");
    assert!(untouched(&mut side, 0, 1, Q1), "own hosts, on whatever port");
    assert!(untouched(&mut side, 9, 1, PortId(1)), "to a host");
    assert!(untouched(&mut side, 9, 17, Q1), "in transit");
    let mut own = data(1, 9, 1, 0);
    side.at(Time(us(500).0), |star, cx| star.leaving(&mut own, Q1, cx.now, cx));
    assert_eq!(own.header.0, [units(us(512)), 0], "nothing was learnt from them");
    side.leaf.env.tor = None;
    side.star = build_star(&defaults(), &side.leaf.env).unwrap();
    assert!(untouched(&mut side, 1, 9, Q1), "a spine");
    assert_eq!(side.star.needs(), Needs::default(), "nor is it called for them");
}

/// Breaks if a spine with a choice asks a leaf's table: it decides by local delay.
#[test]
fn spines_decide_alone() {
    let mut leaf = leaf(4);
    (leaf.env.tor, leaf.delay) = (None, vec![Span::ZERO; 4]);
    for port in &mut leaf.env.ports {
        port.neighbour = Neighbour::Switch(leafspine_core::SwitchId(0), PortId(0));
    }
    let mut star = build_star(&defaults(), &leaf.env).unwrap();
    queues(&mut leaf, &[3, 2, 1, 2]);
    assert_eq!(leaf.pick(&mut *star, &mut data(0, 9, 1, 0)), Q3);
}

/// Breaks if echoes are not asked for at dequeue by default, or not at queueing on request.
#[test]
fn echoes_are_written_at_the_head_of_the_queue() {
    for (echo, exact) in [("dequeue", true), ("queueing", false)] {
        let params = defaults().with("echo", word(echo));
        let needs = build_star(&params, &leaf(4).env).unwrap().needs();
        let told = Needs { arrived: true, leaving: true, ..Needs::default() };
        let asked = Needs { between_switches: true, exact_dequeue: exact, ..told };
        assert_eq!(needs, asked);
    }
    let plain = build(
        &stated(ENTRY.info.params, &[("marking", "65"), ("threshold", "41pkt")]),
        &leaf(4).env,
    )
    .unwrap();
    assert_eq!(plain.needs(), Needs::default());
}
