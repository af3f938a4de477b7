//! What receivers send back, and the rack's probes (§3.1).

use super::*;

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
    assert!(!make(&by_default(), &env).needs().tick);
}

/// Breaks if a probe does not come back by its path, with its path, mark and time, or if what it says is not
/// shared with the rack: another host of it, which knows nothing else, avoids a congested path.
#[test]
fn replies_are_shared_with_the_rack() {
    let (mut hermes, mut host) = made();
    let (mut far, mut far_host) = made();
    let mut neighbour = {
        let mut env = FakeHost::new(1_460).env;
        env.host = HostId(1);
        make(&by_default(), &env)
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
    assert_eq!(hermes.bounds.class(hermes.table.get(1, 3).sense), PathClass::Good);
    assert_eq!(hermes.bounds.class(hermes.table.get(1, 0).sense), PathClass::Congested);
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
    assert_eq!(class(&hermes, &host), PathClass::Grey);
    host.board[10..12].copy_from_slice(&[1_001, good.to_word()]);
    assert_eq!(class(&hermes, &host), PathClass::Good);
    host.now = Time(1_002);
    ack(&mut hermes, &mut host, 1, 100, false);
    assert_eq!(class(&hermes, &host), PathClass::Grey);
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
