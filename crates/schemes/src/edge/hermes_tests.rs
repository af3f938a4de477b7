//! Hermes against its algorithms.

use super::*;
use crate::Value;
use crate::testing::{FakeHost, control, data};
use leafspine_core::Bytes;

/// So many microseconds in the units of a `Sense`.
fn units(us: u64) -> u32 {
    (Span::from_micros(us).0 >> (STAMP_SHIFT - GAIN)) as u32
}

/// Host 0, rack 0's agent, with 4 paths to each of 4 racks. At 10 Gb/s with 1500-byte packets and a
/// round trip of 20 us the low bound is 50 us, the high one 137, and notably better 78 less.
fn made() -> (Hermes, FakeHost) {
    made_with(&Params::defaults(ENTRY.info.params))
}

fn made_with(params: &Params) -> (Hermes, FakeHost) {
    let host = FakeHost::new(1_460);
    (make(params, &host.env), host)
}

/// Makes a path to rack 1 known as this.
fn know(hermes: &mut Hermes, path: usize, us: u64, marked: f64) {
    hermes.table.row(1)[path].sense = Sense { rtt: units(us), marked: (marked * 65_536.0) as u32 };
}

/// The path of the flow's next segment to rack 1.
fn send(hermes: &mut Hermes, host: &mut FakeHost) -> u16 {
    let mut packet = data(0, 9, 1, 0);
    host.send(hermes, &mut packet);
    packet.path
}

/// An ACK from rack 1 about a path.
fn ack(hermes: &mut Hermes, host: &mut FakeHost, path: u32, us: u64, marked: bool) {
    let mut ack = control(9, 0, 80, Flags::ACK);
    ack.header.0[1] = VALID | if marked { MARKED } else { 0 } | path;
    let rtt = Some(Span::from_micros(us));
    host.with(|flow, cx| hermes.acked(&ack, rtt, flow, cx));
}

/// Breaks if a class of Algorithm 1 has another bound: good needs both low, congested both high,
/// the rest is grey, and so is what nobody knows.
#[test]
fn classes_need_both_signs() {
    let (hermes, _) = made();
    let class = |us, marked: f64| {
        hermes.bounds.class(Sense { rtt: units(us), marked: (marked * 65_536.0) as u32 })
    };
    assert_eq!([class(49, 0.39), class(51, 0.39)], [Class::Good, Class::Grey]);
    assert_eq!([class(49, 0.41), class(136, 0.41)], [Class::Grey, Class::Grey]);
    assert_eq!([class(138, 0.41), class(138, 0.39)], [Class::Congested, Class::Grey]);
    assert_eq!(hermes.bounds.class(Sense::default()), Class::Grey);
}

/// Breaks if delay and marks of an ACK do not go to the path that it names, or are not smoothed by
/// 1/16: the first delay is taken whole, then 100 + (260 - 100)/16 = 110; one mark is 1/16.
#[test]
fn acks_teach_their_path() {
    let (mut hermes, mut host) = made();
    ack(&mut hermes, &mut host, 2, 100, false);
    ack(&mut hermes, &mut host, 2, 260, true);
    let sense = hermes.table.get(1, 2).sense;
    assert!(sense.rtt.abs_diff(units(110)) <= 3 << GAIN, "{sense:?}");
    assert_eq!(sense.marked, 65_536 / 16);
    assert!([0, 1, 3].iter().all(|path| hermes.table.get(1, *path).sense == Sense::default()));
}

/// Breaks if a new flow does not prefer good to grey to congested paths (Algorithm 2).
#[test]
fn new_flows_take_the_best_class() {
    let (mut hermes, mut host) = made();
    for path in [0, 1, 3] {
        know(&mut hermes, path, 200, 0.9);
    }
    know(&mut hermes, 2, 80, 0.1);
    assert_eq!(send(&mut hermes, &mut host), 2, "the only grey one");
    know(&mut hermes, 3, 30, 0.1);
    host.state = [0; 4];
    assert_eq!(send(&mut hermes, &mut host), 3, "the only good one");
}

/// Breaks if ties are not broken by this host's own rate: each new flow takes an unused
/// path.
#[test]
fn the_smallest_local_rate_wins() {
    let (mut hermes, mut host) = made();
    let mut paths: Vec<u16> = (0..4)
        .map(|_| {
            host.state = [0; 4];
            send(&mut hermes, &mut host)
        })
        .collect();
    paths.sort_unstable();
    assert_eq!(paths, [0, 1, 2, 3]);
}

/// How many of 400 hosts' first flows take each path, with the paths as `known` makes them.
fn firsts(known: impl Fn(&mut Hermes)) -> [u32; 4] {
    let mut taken = [0; 4];
    for seed in 0..400 {
        let (mut hermes, mut host) = made();
        host.rng = leafspine_core::Rng::new(seed, leafspine_core::Role::Edge, 0);
        known(&mut hermes);
        taken[usize::from(send(&mut hermes, &mut host))] += 1;
    }
    taken
}

/// Breaks if paths alike are not drawn evenly: all unknown; two of them good; all congested, but one that
/// has failed. Binomial(400, 1/4) has a standard deviation of 8.7, with 1/2 10, with 1/3 9.4; five of them.
#[test]
fn paths_alike_are_drawn() {
    let even = |taken: &[u32], mean: u32, margin: u32| {
        assert!(taken.iter().all(|n| n.abs_diff(mean) <= margin), "{taken:?}");
    };
    even(&firsts(|_| ()), 100, 43);
    let two = firsts(|hermes| [1, 3].iter().for_each(|path| know(hermes, *path, 30, 0.0)));
    assert_eq!(two[0] + two[2], 0);
    even(&[two[1], two[3]], 200, 50);
    let three = firsts(|hermes| {
        (0..4).for_each(|path| know(hermes, path, 200, 0.9));
        hermes.table.row(1)[2].failed = Time(1);
    });
    assert_eq!(three[2], 0);
    even(&[three[0], three[1], three[3]], 133, 47);
}

/// Breaks if a path's rate is that of its last packet only, or counts packets without data: after three
/// packets of one flow, a SYN and a packet each on the other paths, new flows leave the first alone.
#[test]
fn rates_are_of_all_data() {
    let (mut hermes, mut host) = made();
    let busy = send(&mut hermes, &mut host);
    (0..2).for_each(|_| _ = send(&mut hermes, &mut host));
    for path in (0..4).filter(|path| *path != busy) {
        host.state = [0, 0, 0, 0];
        host.state[PATH] = 1 << ROW_SHIFT | u64::from(path + 1);
        host.send(&mut hermes, &mut control(0, 9, 2, Flags::SYN));
        assert_eq!(hermes.table.get(1, usize::from(path)).rate.bytes, 0, "a SYN");
        assert_eq!(send(&mut hermes, &mut host), path);
    }
    assert_eq!(hermes.table.get(1, usize::from(busy)).rate.bytes, 3 * 1_500);
    for _ in 0..3 {
        host.state = [0; 4];
        assert_ne!(send(&mut hermes, &mut host), busy);
    }
}

/// A flow on path 0, congested, with path 1 at 30 us and no marks: where it is after it has sent
/// `sent` bytes, the last `burst` packets of them at once.
fn on_congested(sent: u64, burst: u32) -> u16 {
    let (mut hermes, mut host) = made();
    know(&mut hermes, 0, 200, 0.9);
    know(&mut hermes, 1, 30, 0.0);
    host.state[PATH] = 1 << ROW_SHIFT | 1;
    host.bytes_sent = 0;
    for _ in 0..burst {
        send(&mut hermes, &mut host);
    }
    host.bytes_sent = sent;
    send(&mut hermes, &mut host)
}

/// Breaks if a flow leaves a congested path before it has sent S = 600 KB, or while it is faster
/// than R = 30 % of the line: in the time constant of 76.8 us the line sends 96 KB,
/// 30 % of it are 19 packets.
#[test]
fn small_and_fast_flows_stay() {
    assert_eq!(on_congested(600_000, 0), 0);
    assert_eq!(on_congested(600_001, 0), 1);
    assert_eq!(on_congested(600_001, 19), 1);
    assert_eq!(on_congested(600_001, 20), 0);
}

/// Breaks if a flow moves to a path that is better in one of the two only.
#[test]
fn only_notably_better_paths_are_worth_it() {
    for (us, marked, moves) in
        [(121, 0.84, true), (123, 0.84, false), (121, 0.86, false), (30, 0.0, true)]
    {
        let (mut hermes, mut host) = made();
        know(&mut hermes, 0, 200, 0.9);
        know(&mut hermes, 1, us, marked);
        host.state[PATH] = 1 << ROW_SHIFT | 1;
        host.bytes_sent = 1_000_000;
        let path = send(&mut hermes, &mut host);
        assert_eq!(path == 1, moves, "{us} us, {marked}");
    }
}

/// Breaks if a flow on a grey path moves.
#[test]
fn grey_is_good_enough() {
    let (mut hermes, mut host) = made();
    know(&mut hermes, 0, 200, 0.3);
    know(&mut hermes, 1, 30, 0.0);
    host.state[PATH] = 1 << ROW_SHIFT | 1;
    host.bytes_sent = 10_000_000;
    assert_eq!(send(&mut hermes, &mut host), 0);
}

/// Breaks if a timeout does not place the flow anew, once.
#[test]
fn a_timeout_moves_the_flow() {
    let (mut hermes, mut host) = made();
    know(&mut hermes, 0, 100, 0.3);
    for path in 1..4 {
        know(&mut hermes, path, 30, 0.0);
    }
    host.state[PATH] = 1 << ROW_SHIFT | 1;
    host.with(|flow, cx| hermes.lost(false, flow, cx));
    assert_eq!(send(&mut hermes, &mut host), 0, "a fast retransmit is none");
    host.with(|flow, cx| hermes.lost(true, flow, cx));
    let moved = send(&mut hermes, &mut host);
    assert_ne!(moved, 0);
    assert_eq!(send(&mut hermes, &mut host), moved, "and stays");
}

/// Breaks if three timeouts without an ACK do not fail a path, if an ACK between does not forgive
/// them, or if the path is not tried again after `retry` (100 ms).
#[test]
fn three_timeouts_are_a_black_hole() {
    let (mut hermes, mut host) = made();
    let timeout = |hermes: &mut Hermes, host: &mut FakeHost| {
        host.state[PATH] = 1 << ROW_SHIFT | 1;
        host.with(|flow, cx| hermes.lost(true, flow, cx));
    };
    timeout(&mut hermes, &mut host);
    timeout(&mut hermes, &mut host);
    ack(&mut hermes, &mut host, 0, 30, false);
    timeout(&mut hermes, &mut host);
    timeout(&mut hermes, &mut host);
    assert!(!hermes.failed(1, 0, host.now));
    timeout(&mut hermes, &mut host);
    assert!(hermes.failed(1, 0, host.now));
    know(&mut hermes, 0, 20, 0.0);
    host.state = [0; 4];
    assert_ne!(send(&mut hermes, &mut host), 0, "the only good path, but failed");
    host.now += Span::from_millis(100);
    assert!(!hermes.failed(1, 0, host.now));
    timeout(&mut hermes, &mut host);
    timeout(&mut hermes, &mut host);
    assert!(!hermes.failed(1, 0, host.now), "it takes three again");
}

/// Breaks if fewer than 100 packets can fail a path, or if one window's packets are counted in the next.
#[test]
fn windows_have_a_hundred_packets() {
    let (mut hermes, mut host) = made();
    let mut window = |sent, again| {
        let path = &mut hermes.table.row(1)[0];
        (path.sent, path.again) = (path.sent + sent, path.again + again);
        host.now += DROP_WINDOW;
        hermes.judge(1, 0, host.now);
        hermes.failed(1, 0, host.now)
    };
    assert_eq!([window(99, 50), window(99, 1), window(300, 3)], [false; 3]);
    assert!(window(100, 2));
}

/// Sends 200 packets on path 0, so many of them again, then the packet that ends the 10 ms.
fn lossy(again: u32, congested: bool) -> bool {
    let (mut hermes, mut host) = made();
    host.now = Time(Span::from_millis(20).0);
    let (us, marked) = if congested { (200, 0.9) } else { (30, 0.0) };
    know(&mut hermes, 0, us, marked);
    hermes.table.row(1)[0].window = host.now;
    host.state[PATH] = 1 << ROW_SHIFT | 1;
    for n in 0..200 {
        let notes = if n < again { PacketMeta::RETRANSMIT } else { 0 };
        let mut packet = PacketMeta { notes, ..data(0, 9, 1, n) };
        host.send(&mut hermes, &mut packet);
        assert_eq!(packet.path, 0);
    }
    host.now += Span::from_millis(10);
    send(&mut hermes, &mut host);
    hermes.failed(1, 0, host.now)
}

/// Breaks if more than 1 % of retransmissions in 10 ms do not fail a path, if fewer do, or if those of
/// a congested path are taken for random drops (§3.1).
#[test]
fn random_drops_fail_a_path() {
    assert_eq!([lossy(2, false), lossy(3, false), lossy(3, true)], [false, true, false]);
}

/// A flow sends segments 0 to 99 on path 0, which is congested then, and 100 to 199 on path 1. Some are sent
/// again, while path 0 is congested or is not: which of the two have failed at the end of the window.
fn sent_again_after_a_move(segments: std::ops::Range<u32>, congested: bool) -> [bool; 2] {
    let params = Params::defaults(ENTRY.info.params).with("sent", Value::Bytes(Bytes(0)));
    let (mut hermes, mut host) = made_with(&params);
    host.now = Time(Span::from_millis(20).0);
    host.state[PATH] = 1 << ROW_SHIFT | 1;
    (0..2).for_each(|path| hermes.table.row(1)[path].window = host.now);
    for seq in 0..200 {
        if seq == 100 {
            know(&mut hermes, 0, 200, 0.9);
            know(&mut hermes, 1, 30, 0.0);
            host.now += Span::from_millis(1);
        }
        let mut packet = data(0, 9, 1, seq);
        host.send(&mut hermes, &mut packet);
        host.bytes_sent += u64::from(host.env.mss);
        assert_eq!(packet.path, u16::from(seq >= 100), "segment {seq}");
    }
    if !congested {
        know(&mut hermes, 0, 30, 0.0);
    }
    for seq in segments {
        let mut packet = PacketMeta { notes: PacketMeta::RETRANSMIT, ..data(0, 9, 1, seq) };
        host.send(&mut hermes, &mut packet);
        assert_eq!(packet.path, 1);
    }
    host.now += DROP_WINDOW;
    [0, 1].map(|path| {
        hermes.judge(1, path, host.now);
        hermes.failed(1, path, host.now)
    })
}

/// Breaks if a flow that has left a congested path makes the new one fail: segments that it had sent
/// before it moved count against the old path, and are random drops only if that is not congested.
/// Segments sent since count against the new path.
#[test]
fn a_move_fails_no_path() {
    assert_eq!(sent_again_after_a_move(0..100, true), [false, false]);
    assert_eq!(sent_again_after_a_move(0..100, false), [true, false]);
    assert_eq!(sent_again_after_a_move(100..200, true), [false, true]);
}

/// Breaks if flows are thrown about packet by packet when all paths to a rack have failed.
#[test]
fn flows_stay_when_all_paths_have_failed() {
    let (mut hermes, mut host) = made();
    let path = send(&mut hermes, &mut host);
    hermes.table.row(1).iter_mut().for_each(|p| p.failed = Time(1));
    assert!((0..50).all(|_| send(&mut hermes, &mut host) == path));
    hermes.table.row(1)[usize::from(path ^ 1)].failed = Time::ZERO;
    assert_eq!(send(&mut hermes, &mut host), path ^ 1, "the only one that works");
}

/// Breaks if the average of short round trips sticks: at 400 Gb/s the bounds are 2 us apart, and so the
/// average must come to within a tenth of a microsecond of what it is told.
#[test]
fn averages_of_short_times_do_not_stick() {
    let tenth = u32::try_from(Span::from_nanos(100).0 >> (STAMP_SHIFT - GAIN)).unwrap();
    for (from, to) in [(120, 133), (133, 120), (8, 1), (1, 8)] {
        let mut sense = Sense::default();
        sense.learn(from, false);
        (0..200).for_each(|_| sense.learn(to, false));
        assert!(sense.rtt.abs_diff(to << GAIN) <= tenth, "from {from} to {to}: {sense:?}");
    }
    let mut sense = Sense::default();
    (0..200).for_each(|_| sense.learn(u32::MAX, true));
    assert!(sense.rtt > u32::MAX / 4, "the longest times do not wrap: {sense:?}");
}

/// Breaks if a probe's reply, which a hole for some hosts lets pass, forgives the timeouts of flows.
#[test]
fn probes_do_not_forgive_timeouts() {
    let (mut hermes, mut host) = made();
    for _ in 0..3 {
        host.state[PATH] = 1 << ROW_SHIFT | 1;
        host.with(|flow, cx| hermes.lost(true, flow, cx));
        let mut reply = probe(HostId(0), HostId(8), 0, stamp(host.now));
        reply.tuple = reply.tuple.reversed();
        reply.header.0[1] = VALID;
        host.with(|_, cx| hermes.probed(&reply, cx));
        assert_ne!(hermes.table.get(1, 0).sense, Sense::default(), "the reply is read");
    }
    assert!(hermes.failed(1, 0, host.now));
}

/// Breaks if racks that a host has nothing to do with take memory: the list of 4 rows and the board
/// of 2 words a path, then a row of 4 paths.
#[test]
fn only_racks_that_are_met_cost_memory() {
    let (mut hermes, mut host) = made();
    assert_eq!(size_of::<Path>(), 64);
    assert_eq!(hermes.footprint().bytes, 4 * 16 + 16 * 16);
    send(&mut hermes, &mut host);
    assert_eq!(hermes.footprint().bytes, 4 * 16 + 16 * 16 + 4 * 64);
}

/// Breaks if the receiver does not echo path and mark of the data packet that it acknowledges.
#[test]
fn receivers_echo_path_and_mark() {
    let (mut hermes, mut host) = made();
    let mut echoed = |path, ecn| {
        let mut packet = PacketMeta { path, ecn, ..data(9, 0, 1, 0) };
        host.with(|flow, cx| hermes.receiving(&mut packet, flow, cx));
        let mut ack = control(0, 9, 80, Flags::ACK);
        host.with(|flow, cx| hermes.replying(&mut ack, flow, cx));
        ack.header.0[1]
    };
    assert_eq!(echoed(3, Ecn::Congested), VALID | MARKED | 3);
    assert_eq!(echoed(1, Ecn::Capable), VALID | 1);
    assert_eq!(echoed(PacketMeta::NO_PATH, Ecn::Capable), 0);
}

/// Breaks if ACKs do not go back by the path of their data, if a SYN-ACK, before any data, does not
/// take the path that a new flow would, or if `acks = "hash"` gives either a path.
#[test]
fn acks_go_back_by_the_path_of_their_data() {
    for (word, expected) in [
        ("path", [3, 1, 2]),
        ("hash", [PacketMeta::NO_PATH, PacketMeta::NO_PATH, PacketMeta::NO_PATH]),
    ] {
        let params = Params::defaults(ENTRY.info.params).with("acks", Value::Word(word.to_owned()));
        let (mut hermes, mut host) = made_with(&params);
        know(&mut hermes, 3, 30, 0.0);
        let mut back = |flags, data_by: Option<u16>| {
            if let Some(path) = data_by {
                let mut packet = PacketMeta { path, ..data(9, 0, 1, 0) };
                host.with(|flow, cx| hermes.receiving(&mut packet, flow, cx));
            }
            let mut ack = control(0, 9, 80, flags);
            host.with(|flow, cx| hermes.replying(&mut ack, flow, cx));
            ack.path
        };
        let syn_ack = back(Flags::SYN.with(Flags::ACK), None);
        assert_eq!([syn_ack, back(Flags::ACK, Some(1)), back(Flags::ACK, Some(2))], expected);
    }
}

/// Breaks if the agent does not send three probes to each other rack's agent, the best known path's
/// among them, or if another host probes.
#[test]
fn agents_probe_two_at_random_and_the_best() {
    let (mut hermes, mut host) = made();
    know(&mut hermes, 2, 25, 0.0);
    know(&mut hermes, 1, 90, 0.0);
    let mut others = [0; 4];
    for round in 0..200u64 {
        host.now = Time(round * Span::from_micros(500).0);
        let again = host.with(|_, cx| hermes.tick(cx));
        assert_eq!(again, Some(host.now + Span::from_micros(500)));
        assert_eq!(host.outbox.len(), 9);
        let to: Vec<u16> = host.outbox.iter().map(|p| p.dst().0).collect();
        assert_eq!(to, [8, 8, 8, 16, 16, 16, 24, 24, 24]);
        assert_eq!(host.outbox[2].path, 2);
        for probe in host.outbox.drain(..).take(2) {
            assert_eq!((probe.flags, probe.size, probe.src()), (Flags::PROBE, 64, HostId(0)));
            others[usize::from(probe.path)] += 1;
        }
    }
    // Binomial(400, 1/4): standard deviation 8.7; five of them.
    assert!(others.iter().all(|n| (57..=143).contains(n)), "{others:?}");
    let mut env = FakeHost::new(1_460).env;
    env.host = HostId(1);
    assert!(!make(&Params::defaults(ENTRY.info.params), &env).ticks());
}

/// Breaks if a probe does not come back by its path, with its path, mark and time, or if what it says is not
/// shared with the rack: another host of it, told nothing else, avoids a congested path.
#[test]
fn replies_are_shared_with_the_rack() {
    let (mut hermes, mut host) = made();
    let (mut far, mut far_host) = made();
    let mut neighbour = {
        let mut env = FakeHost::new(1_460).env;
        env.host = HostId(1);
        make(&Params::defaults(ENTRY.info.params), &env)
    };
    for round in 0..40 {
        for path in 0..4 {
            host.now = Time(Span::from_micros(1_000 + 500 * round).0);
            let mut request = probe(HostId(0), HostId(8), path, stamp(host.now));
            let slow = path != 3;
            request.ecn = if slow { Ecn::Congested } else { Ecn::Capable };
            far_host.now = host.now;
            far_host.with(|_, cx| far.probed(&request, cx));
            let reply = far_host.outbox.pop().expect("a reply");
            assert_eq!(
                (reply.src(), reply.dst(), reply.ecn, reply.path),
                (HostId(8), HostId(0), Ecn::NotCapable, path)
            );
            host.now += Span::from_micros(if slow { 300 } else { 20 });
            host.with(|_, cx| hermes.probed(&reply, cx));
        }
    }
    assert_eq!(hermes.bounds.class(hermes.table.get(1, 3).sense), Class::Good);
    assert_eq!(hermes.bounds.class(hermes.table.get(1, 0).sense), Class::Congested);
    // The neighbour has the rack's board.
    let mut beside = FakeHost { board: host.board.clone(), ..host.clone() };
    beside.state = [0; 4];
    assert_eq!(send(&mut neighbour, &mut beside), 3);
}

/// Breaks if a host's own samples do not count as long as they are newer than its rack's probes, or if they
/// count when older: path 1 of rack 1 is words 10 and 11 of the board.
#[test]
fn the_newest_news_counts() {
    let (mut hermes, mut host) = made();
    let good = Sense { rtt: units(30), marked: 0 };
    let class =
        |hermes: &Hermes, host: &FakeHost| hermes.bounds.class(hermes.sense(1, 1, &host.board));
    host.now = Time(1_000);
    ack(&mut hermes, &mut host, 1, 100, false);
    assert_eq!(class(&hermes, &host), Class::Grey);
    host.board[10..12].copy_from_slice(&[1_001, good.to_word()]);
    assert_eq!(class(&hermes, &host), Class::Good);
    host.now = Time(1_002);
    ack(&mut hermes, &mut host, 1, 100, false);
    assert_eq!(class(&hermes, &host), Class::Grey);
}

/// Breaks if an estimate does not fade to nothing over its time constant.
#[test]
fn rates_fade() {
    let (hermes, _) = made();
    let rate = Rate { bytes: 96_000, at: 0 };
    let left = |part: u64| rate.left(Time(hermes.tau / 4 * part), hermes.tau, hermes.reciprocal);
    for (part, expected) in [(0, 96_000), (1, 72_000), (2, 48_000), (3, 24_000), (4, 0)] {
        assert!(left(part).abs_diff(expected) < 100, "{part}/4: {}", left(part));
    }
}

/// Breaks if bounds that cross are taken.
#[test]
fn the_bounds_must_not_cross() {
    let span = |us| Value::Span(Span::from_micros(us));
    let params = Params::defaults(ENTRY.info.params)
        .with("low_delay", span(40))
        .with("hop_delay", span(20))
        .with("sent", Value::Bytes(Bytes(0)));
    let error = build(&params, &FakeHost::new(1_460).env).err().unwrap().to_string();
    assert!(error.starts_with("low_delay: found a low bound 40us above"), "{error}");
}

/// Breaks if an answer whose header was written over is answered: two agents would send it to and fro for
/// ever.
#[test]
fn answers_are_never_answered() {
    let (mut hermes, mut host) = made();
    for word in [0, VALID | 2, u32::MAX] {
        let mut answer = probe(HostId(0), HostId(8), 2, 0);
        answer.tuple = answer.tuple.reversed();
        answer.header.0[1] = word;
        host.with(|_, cx| hermes.probed(&answer, cx));
        assert!(host.outbox.is_empty(), "{word:x}");
    }
}
