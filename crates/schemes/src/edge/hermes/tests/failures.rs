//! Black holes and random drops (§3.1).

use super::*;

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
