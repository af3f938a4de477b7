//! QDAPS's choices by hand. Ports 8 to 11 are the uplinks Q1 to Q4. Unless a test says otherwise their
//! links have 1 Gb/s, as in §IV: a full packet takes 12 us, and S is 33 packets.

use super::entries::{build, build_star};
use super::*;
use crate::testing::{FakeLeaf, chi_square, control, data};
use crate::{Params, SwitchEnv, Value};
use leafspine_core::{Bytes, Flags, Rate};

const Q1: PortId = PortId(8);
const Q2: PortId = PortId(9);
const Q3: PortId = PortId(10);
const Q4: PortId = PortId(11);

fn defaults() -> Params {
    Params::defaults(ENTRY.info.params)
}

fn word(text: &str) -> Value {
    Value::Word(text.to_owned())
}

/// A leaf with so many uplinks at 1 Gb/s.
fn leaf(uplinks: u16) -> FakeLeaf {
    let mut leaf = FakeLeaf::new(8, uplinks, 1);
    for (port, info) in leaf.ports.ports.iter_mut().zip(&mut leaf.env.ports) {
        (port.rate, info.rate) = (Rate::from_gbps(1), Rate::from_gbps(1));
    }
    leaf
}

/// So many bytes wait at `port`.
fn wait_bytes(leaf: &mut FakeLeaf, port: PortId, packets: u32, bytes: u32) {
    leaf.ports.ports[usize::from(port.0)].queues[0] = Backlog { packets, bytes, in_service: 0 };
}

/// So many full packets wait at Q1, Q2 and so on, as far as there are such ports.
fn queues(leaf: &mut FakeLeaf, packets: &[u32]) {
    let ports = leaf.ports.ports.len() as u16;
    for (port, packets) in (Q1.0..ports).map(PortId).zip(packets) {
        wait_bytes(leaf, port, *packets, packets * 1500);
    }
}

fn us(us: u64) -> Span {
    Span::from_micros(us)
}

/// A switch and its balancer, fed with one flow.
struct Flow {
    leaf: FakeLeaf,
    qdaps: Box<dyn LoadBalancer>,
    seq: u32,
}

impl Flow {
    fn new(leaf: FakeLeaf, params: &Params) -> Flow {
        let qdaps = build(params, &leaf.env).unwrap();
        Flow { leaf, qdaps, seq: 0 }
    }

    /// Where the flow's next packet goes when so many packets wait at Q1, Q2 and so on.
    fn next(&mut self, packets: &[u32]) -> PortId {
        queues(&mut self.leaf, packets);
        self.send(1500)
    }

    fn send(&mut self, size: u16) -> PortId {
        self.seq += 1;
        let mut packet = PacketMeta { size, ..data(0, 9, 1, self.seq) };
        self.leaf.pick(&mut *self.qdaps, &mut packet)
    }

    /// Sends full packets until the flow has sent so many bytes, all by an empty Q1, and waits until
    /// nothing is left of the last one's delay.
    fn grow(&mut self, bytes: u32) {
        let mut left = bytes;
        while left > 0 {
            queues(&mut self.leaf, &[0, 9, 9, 9]);
            let size = left.min(1500);
            assert_eq!(self.send(size as u16), Q1);
            left -= size;
            self.leaf.wait(us(12));
        }
    }
}

/// Breaks if a first packet does not take the shortest queue, or a later one not the shortest of those
/// by which it leaves after the packet before it: Fig. 7, which gives the queues' parts and no lengths.
/// Packet 3 goes to Q2, where 2 packets wait (only Q2 and Q3 are up, and 5 wait at Q3): QD = 36 us.
/// 12 us later RQD = 24 us, and 3, 4 and 0 packets wait. Packet 4 would be out of Q3 after 12 us, out
/// of Q1 after 48 and of Q2 after 60: it goes to Q1, the shorter of the latter two.
#[test]
fn fig_7() {
    let mut flow = Flow::new(leaf(3), &defaults());
    flow.leaf.live = vec![Q2, Q3];
    assert_eq!(flow.next(&[2, 2, 5]), Q2);
    flow.leaf.live = vec![Q1, Q2, Q3];
    flow.leaf.wait(us(12));
    assert_eq!(flow.next(&[3, 4, 0]), Q1);
}

/// Breaks if a large flow follows the rule into a queue longer than S, or a small one does not:
/// Fig. 8. Packet 3 of the flow waits in Q3 behind 39 others (QD = 480 us). 12 us later packet 4
/// would leave after it only by Q3, where 39 wait; 20 wait at Q1, none at Q2. S is 33: a large flow
/// goes to Q2.
#[test]
fn fig_8() {
    for (sent, port) in [(90_000, Q3), (150_000, Q2)] {
        let mut flow = Flow::new(leaf(3), &defaults());
        flow.grow(sent);
        flow.leaf.live = vec![Q3];
        assert_eq!(flow.next(&[20, 0, 39]), Q3);
        flow.leaf.live = vec![Q1, Q2, Q3];
        flow.leaf.wait(us(12));
        assert_eq!(flow.next(&[20, 0, 39]), port, "{sent} bytes sent");
    }
}

/// Breaks if QD is not (backlog + packet) / rate, RQD not what is left of it, or a port whose delay
/// equals RQD counts as later (eqs. 1 and 2). Five packets wait: QD = 6 x 12 = 72 us. After 30 us,
/// RQD = 42 us: 3,750 waiting bytes and 1,500 take exactly that, one byte more takes 8 ns more.
#[test]
fn eqs_1_and_2() {
    for (bytes, port) in [(3_750, Q1), (3_751, Q2)] {
        let mut flow = Flow::new(leaf(2), &defaults());
        flow.leaf.live = vec![Q1];
        assert_eq!(flow.next(&[5, 9]), Q1);
        flow.leaf.live = vec![Q1, Q2];
        flow.leaf.wait(us(30));
        wait_bytes(&mut flow.leaf, Q2, 3, bytes);
        assert_eq!(flow.send(1500), port, "{bytes} bytes");
    }
}

/// Breaks if every packet is taken for a full one (eq. 1's M): behind a full packet (QD 12 us), a
/// packet of 40 bytes would take 0.32 us on an idle port, 12.32 us behind one full packet.
#[test]
fn sizes_are_real() {
    for (waits, port) in [(0, Q1), (1, Q2)] {
        let mut flow = Flow::new(leaf(2), &defaults());
        flow.leaf.live = vec![Q1];
        flow.next(&[0, 0]);
        flow.leaf.live = vec![Q1, Q2];
        queues(&mut flow.leaf, &[4, waits]);
        assert_eq!(flow.send(40), port, "{waits} wait");
    }
}

/// Breaks if a flow waits for a packet whose delay is over, or does not wait for one whose delay has a
/// picosecond left: QD = 72 us.
#[test]
fn nothing_left_is_a_first_packet() {
    for (later, port) in [(us(72), Q2), (Span(us(72).0 - 1), Q1)] {
        let mut flow = Flow::new(leaf(2), &defaults());
        flow.leaf.live = vec![Q1];
        flow.next(&[5, 0]);
        flow.leaf.live = vec![Q1, Q2];
        flow.leaf.wait(later);
        // Q2 takes 0 ps for a packet without size: never more than what is left.
        queues(&mut flow.leaf, &[5, 0]);
        assert_eq!(flow.send(0), port, "{later}");
    }
}

/// Breaks if the flow's own last port is no candidate where its delay is not larger: the full packet
/// before is in transmission, so nothing waits, and 40 bytes take 0.32 us by eq. 1, less than what
/// is left of 12 us. Q2, at 24.32 us, would be the only other candidate.
#[test]
fn the_last_port_is_always_a_candidate() {
    let mut flow = Flow::new(leaf(2), &defaults());
    flow.next(&[0, 2]);
    flow.leaf.wait(us(1));
    assert_eq!(flow.send(40), Q1);
}

/// Breaks if a flow whose last port is gone does not begin anew at the shortest queue.
#[test]
fn a_lost_port_is_a_first_packet() {
    let mut flow = Flow::new(leaf(3), &defaults());
    flow.leaf.live = vec![Q3];
    flow.next(&[0, 0, 20]);
    flow.leaf.live = vec![Q1, Q2];
    assert_eq!(flow.next(&[1, 0, 0]), Q2);
}

/// Breaks if "shortest" mixes up bytes and delay: 3 packets wait at Q1, whose link has 1 Gb/s, 1 at
/// Q2 with 0.2: 48 against 120 us. The rate changes during the run.
#[test]
fn shortest_by_bytes_or_by_delay() {
    for (by, port) in [("bytes", Q2), ("delay", Q1)] {
        let mut flow = Flow::new(leaf(2), &defaults().with("by", word(by)));
        assert_eq!(flow.next(&[3, 1]), Q2, "{by}");
        flow.leaf.ports.ports[usize::from(Q2.0)].rate = Rate::from_mbps(200);
        flow.leaf.wait(Span::from_millis(10));
        assert_eq!(flow.next(&[3, 1]), port, "{by}");
    }
}

/// Breaks if QD is taken at the rate a link had at the start of the run: three packets wait at a Q1 of
/// 0.2 Gb/s, QD = 240 us; 200 us later there are 40 left, more than Q2's 24.
#[test]
fn delays_follow_the_rate() {
    let mut flow = Flow::new(leaf(2), &defaults());
    flow.leaf.ports.ports[usize::from(Q1.0)].rate = Rate::from_mbps(200);
    flow.leaf.live = vec![Q1];
    flow.next(&[3, 0]);
    flow.leaf.live = vec![Q1, Q2];
    flow.leaf.wait(us(200));
    assert_eq!(flow.next(&[3, 1]), Q1);
    assert_eq!(flow.next(&[3, 20]), Q1);
}

/// Breaks if equal queues are not drawn evenly, or a longer one is ever drawn: chi-square over the
/// three shortest of four with 2 degrees of freedom, 0.1 % point 13.8.
#[test]
fn ties_are_drawn() {
    let mut leaf = leaf(4);
    queues(&mut leaf, &[2, 2, 3, 2]);
    let mut qdaps = build(&defaults(), &leaf.env).unwrap();
    let mut drawn = [0; 4];
    for sport in 0..9_000 {
        let port = leaf.pick(&mut *qdaps, &mut data(0, 9, sport, 0));
        drawn[usize::from(port.0 - Q1.0)] += 1;
    }
    let chi2 = chi_square(&[drawn[0], drawn[1], drawn[3]], &[3_000.0; 3]);
    assert!(chi2 < 13.8 && drawn[2] == 0, "chi-square {chi2}: {drawn:?}");
}

/// Breaks if eq. 14 is not sqrt(1.6 Y) - C RTT in packets, to the nearest, within 1 to K: by hand with
/// packets of 1,500 bytes and K = 65. The first three rows are the paper's fabric with the mean of its
/// two workloads and 500 KB; then the two cases where eq. 14 is negative; then the testbed of §V.
#[test]
fn eq_14() {
    for (mbps, rtt, size, threshold) in [
        (1_000, 100, 1_600_000, 33), // sqrt(1.6 x 1066.7) = 41.3, less 8.3
        (1_000, 100, 7_400_000, 65), // 88.8 - 8.3 = 80.5: K
        (1_000, 100, 500_000, 15),   // 23.1 - 8.3 = 14.8
        (1_000, 300, 500_000, 1),    // 23.1 - 25
        (10_000, 100, 1_600_000, 1), // 41.3 - 83.3
        (10_000, 8, 1_600_000, 35),  // 41.3 - 6.7 = 34.6
        (20, 1_000, 64_000, 7),      // 8.3 - 1.7 = 6.6
        (1_000, 100, u64::MAX, 65),
        (1_000, 100, 0, 1),
    ] {
        let pipe = Rate::from_mbps(mbps).bytes_in(us(rtt)).0;
        let eq14 = reroute::Eq14 { pipe, mtu: 1500, marking: 65 };
        assert_eq!(eq14.threshold(size), threshold, "{size} bytes, {mbps} Mb/s, {rtt} us");
    }
}

/// How many packets must wait for a flow that has sent so much to be rerouted: the smallest number of
/// 1 to 99.
fn rerouted_at(sent: u32, params: &Params, env: impl Fn(&mut SwitchEnv)) -> Option<u32> {
    let rerouted = |packets: &u32| {
        let mut leaf = leaf(2);
        env(&mut leaf.env);
        let mut flow = Flow::new(leaf, params);
        flow.grow(sent);
        flow.leaf.live = vec![Q2];
        flow.next(&[0, *packets]);
        flow.leaf.live = vec![Q1, Q2];
        flow.next(&[0, *packets]) == Q1
    };
    (1..100).find(rerouted)
}

/// Breaks if a flow is rerouted where the queue does not *exceed* S, before it has sent *more* than
/// `long_flow`, or at all where it must not (§III-C: "when the queue length exceeds a threshold S"). S is 33
/// for the workload's mean of 1.6 MB. The packet that finds the queue has been preceded by another one
/// of 1,500 bytes after those counted here.
#[test]
fn large_flows_leave_queues_longer_than_s() {
    let same = |_: &mut SwitchEnv| {};
    let fixed =
        |amount| defaults().with("reroute", word("fixed")).with("threshold", Value::Amount(amount));
    let cases = [
        ("beyond S", 100_000, defaults(), Some(34)),
        ("100 KB are not large", 98_500, defaults(), None),
        ("a byte more is", 98_501, defaults(), Some(34)),
        ("other bound", 98_501, defaults().with("long_flow", Value::Bytes(Bytes(200_000))), None),
        ("off", 500_000, defaults().with("reroute", word("off")), None),
        ("fixed, packets", 150_000, fixed(Amount::Packets(41)), Some(42)),
        ("fixed, bytes", 150_000, fixed(Amount::Bytes(15_000)), Some(11)),
        ("K below", 150_000, defaults().with("marking", Value::Int(20)), Some(21)),
        // Y = 498,500 + 1,500 bytes: S = 15.
        ("by bytes sent", 498_500, defaults().with("reroute", word("sent")), Some(16)),
        ("by bytes sent, few", 98_501, defaults().with("reroute", word("sent")), Some(3)),
        ("flow size", 150_000, defaults().with("reroute", word("flow-size")), Some(34)),
    ];
    for (name, sent, params, at) in cases {
        assert_eq!(rerouted_at(sent, &params, same), at, "{name}");
    }
    let mean = |bytes: Option<u64>| {
        rerouted_at(150_000, &defaults(), |env| env.mean_flow = bytes.map(Bytes))
    };
    assert_eq!((mean(Some(500_000)), mean(None)), (Some(16), Some(34)));
    // One slow link does not make the fabric slow.
    let slow = rerouted_at(150_000, &defaults(), |env| env.ports[8].rate = Rate::from_mbps(200));
    assert_eq!(slow, Some(34));
    let rtt = |value| rerouted_at(150_000, &defaults().with("rtt", value), same);
    // The fake leaf's empty fabric has 20 us: S = 41.3 - 1.7.
    assert_eq!((rtt(Value::Span(us(300))), rtt(word("base"))), (Some(17), Some(41)));
}

/// Breaks if a rerouted flow is still bound to the queue that it has left: its new delay is 12 us, so
/// 12 us later it is free to go anywhere.
#[test]
fn a_reroute_is_remembered() {
    let mut flow = Flow::new(leaf(3), &defaults());
    flow.grow(150_000);
    flow.leaf.live = vec![Q3];
    flow.next(&[0, 0, 60]);
    flow.leaf.live = vec![Q1, Q2, Q3];
    assert_eq!(flow.next(&[0, 5, 60]), Q1);
    flow.leaf.wait(us(12));
    assert_eq!(flow.next(&[7, 6, 60]), Q2);
}

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
        let same = flow.qdaps.slot(&one) == flow.qdaps.slot(&other);
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
    assert_ne!(qdaps.slot(&data(0, 9, 1, 0)), qdaps.slot(&ack));
}

/// Breaks if the catalogue is told another state than is kept: 24 bytes for each of 65,536 flows, 16 for
/// each of 12 ports; QDAPS* adds 2 x 16 for each uplink and leaf, and 2 a port.
#[test]
fn the_footprint_is_what_is_kept() {
    let mut leaf = leaf(4);
    let mut qdaps = build(&defaults(), &leaf.env).unwrap();
    for sport in 0..10 {
        leaf.pick(&mut *qdaps, &mut data(0, 9, sport, 0));
    }
    let print = qdaps.footprint(leaf.now);
    assert_eq!((print.per_flow, print.slots, print.occupied), (24, 65_536, 10));
    assert_eq!(print.bytes, 24 * 65_536 + 12 * 16);
    assert_eq!(qdaps.footprint(Time(us(400).0)).occupied, 0);
    let star = build_star(&Params::defaults(STAR.info.params), &leaf.env).unwrap();
    let print = star.footprint(leaf.now);
    assert_eq!(
        (print.bytes, print.per_port),
        (24 * 65_536 + 12 * 16 + 4 * 4 * 32 + 24, 16 + 4 * 32)
    );
}

mod star {
    //! QDAPS*: two leaves, each with hosts 8n to 8n + 7 and four uplinks. Uplink n of the one leads
    //! over a spine to uplink n of the other, as in Fig. 2.

    use super::*;
    use crate::Neighbour;
    use leafspine_core::TorId;

    fn defaults() -> Params {
        Params::defaults(STAR.info.params)
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
            let arrival =
                self.sides[1 - from].at(now, |star, cx| star.arrived(&mut packet, port, cx));
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
        assert_eq!(side.star.needs(), Needs::default(), "nor is it told of them");
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
            let asked = Needs { arrived: true, leaving: true, exact_dequeue: exact, tick: false };
            assert_eq!(needs, asked);
        }
        let plain = build(&Params::defaults(ENTRY.info.params), &leaf(4).env).unwrap();
        assert_eq!(plain.needs(), Needs::default());
    }
}
