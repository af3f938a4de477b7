//! What Linux's kernel does in a recovery, and what it lets wait, each by its switch. Segments of 1000 bytes.

use super::pipe::{Pipe, config, losing, spec};
use crate::spec::{Reduction, Stack, Timestamps, TransportSpec};
use crate::transport::config::stamp;
use crate::transport::ticks::{fires, in_ticks};
use crate::transport::{Fired, Receiver, Sender, TcpConfig};
use leafspine_core::{Ecn, Flags, PacketMeta, SackBlock, Span, Time};
use leafspine_schemes::Amount;
use leafspine_schemes::cc::CongestionControl;

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

fn with(scheme: &str, stack: Stack) -> TransportSpec {
    TransportSpec { stack, ..spec(scheme) }
}

/// An ACK that echoes what was sent at `sent`, and SACKs up to `sacked` from 3 on.
fn ack(seq: u32, sent: Time, sacked: u32, flags: Flags) -> PacketMeta {
    let mut sack = [SackBlock::default(); 3];
    if sacked > 3 {
        sack[0] = SackBlock { start: 3, end: sacked };
    }
    PacketMeta { seq, stamp: stamp(sent), size: 40, flags, sack, ..PacketMeta::default() }
}

/// What leaves now: segments, and whether they are sent again.
fn leaving(sender: &mut Sender, cfg: &TcpConfig, now: Time) -> Vec<(u32, bool)> {
    let mut packet = PacketMeta::default();
    let mut sent = Vec::new();
    while sender.poll_send(cfg, now, &mut packet) {
        sent.push((packet.seq, packet.notes & PacketMeta::RETRANSMIT != 0));
    }
    sent
}

fn undoing(waits: bool) -> Stack {
    Stack {
        rack: true,
        eifel: Some(Span::from_micros(1)),
        timestamps: Timestamps::Option,
        undo_waits: waits,
        ece_forbids_undo: true,
        ..Stack::default()
    }
}

/// Ten segments leave at 0. 3, 4 and 5 come first, then 6: 0, 1 and 2 count as lost, the window is
/// 5, and 0 and 1 are sent again at 100 and 101 us. At 110 us the first transmission of 0 has come:
/// gives what leaves then.
fn late(waits: bool, flags: Flags) -> (TcpConfig, Sender, Vec<(u32, bool)>) {
    let cfg = config(&with("newreno", undoing(waits)));
    let mut sender = Sender::new();
    sender.reset(&cfg, 100_000);
    sender.open(&cfg, us(0));
    assert_eq!(leaving(&mut sender, &cfg, us(0)).len(), 10);
    sender.on_packet(&cfg, &ack(0, us(0), 6, Flags::ACK), us(100));
    assert_eq!(leaving(&mut sender, &cfg, us(100)), [(0, true)]);
    sender.on_packet(&cfg, &ack(0, us(0), 7, Flags::ACK), us(101));
    assert_eq!(leaving(&mut sender, &cfg, us(101)), [(1, true)]);
    sender.on_packet(&cfg, &ack(1, us(0), 7, flags), us(110));
    let sent = leaving(&mut sender, &cfg, us(110));
    (cfg, sender, sent)
}

/// Breaks if a reduction is undone while 1, sent again, is outstanding, or if 2 is sent again until
/// then, or if it is not undone once the first transmission of 1 has come as well. What is late was
/// reordered: 2 has a quarter of a round trip more, until 125 us.
#[test]
fn undoing_waits_for_what_was_sent_again() {
    let (cfg, mut sender, sent) = late(true, Flags::ACK);
    assert_eq!((sender.undos(), sender.window(&cfg)), (0, 5_000));
    assert_eq!(sent, [(10, false)], "new data in place of 2");
    sender.on_packet(&cfg, &ack(2, us(0), 7, Flags::ACK), us(120));
    assert_eq!((sender.undos(), sender.window(&cfg)), (1, 10_000));
    let (cfg, sender, _) = late(false, Flags::ACK);
    assert_eq!((sender.undos(), sender.window(&cfg)), (1, 10_000));
}

/// Breaks if what waits for the undoing still waits after a timeout: the flow would stand still for ever.
#[test]
fn a_timeout_ends_the_wait() {
    let (cfg, mut sender, _) = late(true, Flags::ACK);
    let at = sender.deadline();
    assert_eq!(sender.on_timer(&cfg, at), Fired::Timeout);
    assert_eq!(leaving(&mut sender, &cfg, at)[0], (1, true));
}

/// Breaks if a window is given back although an ACK of the recovery had ECE.
#[test]
fn ece_forbids_to_undo() {
    let ecn = |forbids| {
        let stack = Stack { ece_forbids_undo: forbids, ..undoing(false) };
        let cfg = config(&TransportSpec { ecn: Some(true), ..with("newreno", stack) });
        let mut sender = Sender::new();
        sender.reset(&cfg, 100_000);
        sender.open(&cfg, us(0));
        leaving(&mut sender, &cfg, us(0));
        sender.on_packet(&cfg, &ack(0, us(0), 6, Flags::ACK), us(100));
        leaving(&mut sender, &cfg, us(100));
        sender.on_packet(&cfg, &ack(1, us(0), 6, Flags::ACK.with(Flags::ECE)), us(150));
        (sender.undos(), sender.window(&cfg))
    };
    assert_eq!(ecn(true), (1, 5_000));
    assert_eq!(ecn(false), (1, 10_000));
}

/// The ECN fields of a SYN, its answer, the third packet, data, and an ACK.
fn fields(scheme: &str, all: bool) -> [Ecn; 5] {
    let stack = Stack { ecn_all: all, ..Stack::default() };
    let spec = TransportSpec {
        handshake: true,
        handshake_ack: true,
        ecn: Some(true),
        ..with(scheme, stack)
    };
    let cfg = config(&spec);
    let (mut sender, mut receiver) = (Sender::new(), Receiver::new());
    sender.reset(&cfg, 10_000);
    sender.open(&cfg, us(0));
    let (mut sent, mut reply) = (PacketMeta::default(), PacketMeta::default());
    let mut found = [Ecn::Congested; 5];
    assert!(sender.poll_send(&cfg, us(0), &mut sent));
    found[0] = sent.ecn;
    assert!(receiver.on_packet(&cfg, &sent, us(50), &mut reply).reply);
    found[1] = reply.ecn;
    sender.on_packet(&cfg, &reply, us(100));
    for field in &mut found[2..4] {
        assert!(sender.poll_send(&cfg, us(100), &mut sent));
        *field = sent.ecn;
    }
    assert!(receiver.on_packet(&cfg, &sent, us(150), &mut reply).reply);
    found[4] = reply.ecn;
    found
}

/// Breaks if under DCTCP a SYN, an ACK or what follows is not ECN-capable, or if another control's is.
#[test]
fn all_of_dctcps_packets_are_capable() {
    use Ecn::{Capable, NotCapable};
    assert_eq!(fields("dctcp", true), [Capable; 5]);
    let data_only = [NotCapable, NotCapable, NotCapable, Capable, NotCapable];
    assert_eq!(fields("dctcp", false), data_only);
    assert_eq!(fields("newreno", true), data_only);
}

/// Breaks if more of a flow waits in the port than two trains, or if a sender that waits is not asked again.
///
/// Of a window of a hundred segments 96 wait in the port from 200 ms on (the last four wait for a
/// longer train), one leaves each 10 us. The round trip is 100 ms, so a millisecond's worth is 2
/// segments, and so is a train: two of them count 5,664 bytes. Two segments in the port, which are
/// cut, count 4,608, and with three a train waits. At 200.93 ms the 94th has left.
#[test]
fn small_queues_wait_for_the_port() {
    let first = |small| {
        let spec = TransportSpec {
            init_cwnd: Amount::Packets(100),
            min_rto: Span::from_millis(500),
            ..with(
                "dctcp",
                Stack { gso: true, rack: true, small_queues: small, ..Stack::default() },
            )
        };
        let cfg = config(&spec);
        let mut sender = Sender::new();
        sender.reset(&cfg, 1_000_000);
        sender.open(&cfg, us(0));
        for place in 0..leaving(&mut sender, &cfg, us(0)).len() as u64 {
            sender.note_leaving(place as u32, us(200_000 + 10 * place), us(0));
        }
        let mut now = us(100_000);
        sender.on_packet(&cfg, &ack(2, us(0), 0, Flags::ACK), now);
        while leaving(&mut sender, &cfg, now).is_empty() {
            now = sender.deadline();
            assert_eq!(sender.on_timer(&cfg, now), Fired::Other);
        }
        now
    };
    assert_eq!(first(true), us(200_930));
    assert_eq!(first(false), us(100_000));
}

/// Breaks if a fast flow fills its port with more than a megabyte and a train, or if that bounds
/// one whose packets are paced.
///
/// The window is of 4,000 segments, and before the first round trip a millisecond's worth is
/// anything. Pieces have 32 segments. The ring takes 238, so that eight are cut: 256 segments of 2,304
/// bytes, 589,824. Another piece has 32,832: with 13 of them 1,016,640 bytes are there, and a 14th
/// leaves; with 14 there are 1,049,472, more than 1,048,576.
#[test]
fn no_more_than_a_megabyte_waits() {
    let sent = |pacing| {
        let stack = Stack { gso: true, rack: true, small_queues: true, pacing, ..Stack::default() };
        let cfg =
            config(&TransportSpec { init_cwnd: Amount::Packets(4000), ..with("dctcp", stack) });
        let mut sender = Sender::new();
        sender.reset(&cfg, 10_000_000);
        sender.open(&cfg, us(0));
        let mut packet = PacketMeta::default();
        let mut sent = 0;
        while sender.poll_send(&cfg, us(0), &mut packet) {
            sender.note_leaving(packet.seq, us(1000), us(0));
            sent += 1;
        }
        sent
    };
    assert_eq!(sent(false), 256 + 14 * 32);
    // The last ones wait for a longer train.
    assert!(sent(true) > 4_000 - 65, "{}", sent(true));
}

/// A sender under trains and a window of `window` segments, all of which leave at 0 and are acknowledged at `rtt`.
fn in_trains(window: u32, rtt: Time) -> (Sender, TcpConfig) {
    let stack = Stack { gso: true, rack: true, push_acks: true, ..Stack::default() };
    let init_cwnd = Amount::Packets(window);
    let cfg = config(&TransportSpec { init_cwnd, ..with("dctcp", stack) });
    let mut sender = Sender::new();
    sender.reset(&cfg, 10_000_000);
    sender.open(&cfg, us(0));
    assert_eq!(leaving(&mut sender, &cfg, us(0)).len(), window as usize);
    for next in 1..=window {
        sender.on_packet(&cfg, &ack(next, us(0), 0, Flags::ACK), rtt);
    }
    (sender, cfg)
}

/// Breaks if a train ends with a piece of the send buffer although the next one has what it has
/// room for, or does not end with that one.
///
/// Pieces are of 32 segments. The first two trains are half of the window each, 30; of the second
/// piece 32 are left, once it is full again. A train of 60, half the window, takes these and 28 of
/// the next; then there are four, with which all 32 of another leave, and room for 24.
#[test]
fn pieces_grow_into_trains() {
    let (mut sender, cfg) = in_trains(60, us(20));
    let mut packet = PacketMeta::default();
    let mut trains = vec![0];
    while sender.poll_send(&cfg, us(20), &mut packet) {
        *trains.last_mut().expect("the first") += 1;
        if packet.notes & PacketMeta::PUSH != 0 {
            trains.push(0);
        }
    }
    assert_eq!(trains, [60, 36, 24, 0]);
}

/// Whether each of these segments is acknowledged at once: marked or not, with CWR or not.
fn at_once(changes: bool, segments: &[(bool, bool)]) -> Vec<bool> {
    let stack = Stack { ack_changes: changes, ..Stack::default() };
    let delayed_ack = Some(Span::from_millis(40));
    let cfg = config(&TransportSpec { delayed_ack, ..with("dctcp", stack) });
    let (mut receiver, mut reply) = (Receiver::new(), PacketMeta::default());
    let mut one = |(seq, (marked, cwr)): (usize, &(bool, bool))| {
        let flags = Flags::DATA.with(if *cwr { Flags::CWR } else { Flags::ACK });
        let ecn = if *marked { Ecn::Congested } else { Ecn::Capable };
        let seq = seq as u32;
        let data =
            PacketMeta { seq, size: 1040, payload: 1000, flags, ecn, ..PacketMeta::default() };
        receiver.on_packet(&cfg, &data, us(u64::from(seq)), &mut reply).reply
            && reply.seq == seq + 1
    };
    segments.iter().enumerate().map(&mut one).collect()
}

/// Breaks if a change of marks waits for a second segment, or CWR does.
#[test]
fn changes_are_acknowledged_at_once() {
    let segments = [(true, false), (true, false), (true, false), (false, false), (false, true)];
    assert_eq!(at_once(true, &segments), [true, false, true, true, true]);
    assert_eq!(at_once(false, &segments), [false, true, false, false, true]);
}

/// Breaks if a kernel's timer counts the tick under way, or if the longer ones are as fine as the shorter.
///
/// From 0.343 ms, 2.27 ms are three whole ticks, of which the first begins at 1 ms: 4 ms. 201 ticks
/// from 10 ms on are 211, and every 8th tick is looked at: 216. 1000 ticks: every 64th.
#[test]
fn kernels_timers_tick() {
    let stack = Stack { kernel_timers: true, ..Stack::default() };
    let (ticking, plain) = (config(&with("newreno", stack)), config(&spec("newreno")));
    let at = |span, now| (fires(&ticking, Span::from_micros(span), us(now)).0 / 1_000_000) as u32;
    assert_eq!(at(2_270, 343), 4_000);
    assert_eq!(at(40_000, 1_900), 42_000);
    assert_eq!(at(200_400, 10_200), 216_000);
    assert_eq!(at(1_000_000, 0), 1_024_000);
    assert_eq!(fires(&plain, Span::from_micros(2_270), us(343)), us(2_613));
}

/// Breaks if a kernel knows the round trip of what it has sent twice to less than a tick: then an
/// initial one of 0.1 ms after a lost SYN, where the kernel has 1 ms, would have trains wait for
/// more acknowledgments.
///
/// From 1.8 to 2.1 ms is one tick, from 1.8 to 4.1 ms three. The SYN is lost, the next one leaves
/// with the timer at 1.024 s, and is answered after 0.1 ms.
#[test]
fn what_is_sent_twice_is_timed_in_ticks() {
    assert_eq!(in_ticks(us(1_800), us(2_100)), Span::from_millis(1));
    assert_eq!(in_ticks(us(1_800), us(4_100)), Span::from_millis(3));
    assert_eq!(in_ticks(us(2_090), us(2_100)), Span::from_millis(1));
    let found = |kernel_timers, lost| {
        let stack = Stack { kernel_timers, ..Stack::default() };
        let cfg = config(&TransportSpec { handshake: true, ..with("newreno", stack) });
        let mut sender = Sender::new();
        sender.reset(&cfg, 2_000);
        sender.open(&cfg, us(0));
        leaving(&mut sender, &cfg, us(0));
        let sent = if lost { sender.deadline() } else { us(0) };
        if lost {
            sender.on_timer(&cfg, sent);
            leaving(&mut sender, &cfg, sent);
        }
        let now = sent + Span::from_micros(100);
        sender.on_packet(&cfg, &ack(0, sent, 0, Flags::SYN.with(Flags::ACK)), now);
        sender.rtt.srtt().0 / 1_000_000
    };
    assert_eq!([found(true, true), found(true, false), found(false, true)], [1_000, 99, 100]);
}

/// Breaks if `min_rto` is not the least of the variation, or a probe of a lone segment does not wait as long.
///
/// A round trip of 100 us: the timeout after 10.1 ms, 11 ticks, so at 12 ms.
#[test]
fn kernels_timeouts_are_longer() {
    let stack = Stack {
        kernel_timers: true,
        rack: true,
        tlp: Some(Span::from_millis(2)),
        ..Stack::default()
    };
    let cfg = config(&TransportSpec { init_cwnd: Amount::Packets(2), ..with("newreno", stack) });
    let mut sender = Sender::new();
    sender.reset(&cfg, 2_000);
    sender.open(&cfg, us(0));
    leaving(&mut sender, &cfg, us(0));
    sender.on_packet(&cfg, &ack(1, us(0), 0, Flags::ACK), us(100));
    assert_eq!(sender.deadline(), us(12_000));
    let two = config(&TransportSpec { init_cwnd: Amount::Packets(3), ..with("newreno", stack) });
    sender.reset(&two, 3_000);
    sender.open(&two, us(0));
    leaving(&mut sender, &two, us(0));
    sender.on_packet(&two, &ack(1, us(0), 0, Flags::ACK), us(100));
    assert_eq!(sender.deadline(), us(4_000), "two segments: 2.2 ms");
}

/// How many segments each ACK lets go: twenty leave at 0, the first three are lost, and every ACK
/// SACKs one more from 3 on. The first three ACKs are left out, the third of which begins the
/// recovery.
fn shares(mark_prr: bool) -> Vec<usize> {
    let stack = Stack { reduction: Reduction::Prr6937, mark_prr, ..Stack::default() };
    let spec = TransportSpec {
        init_cwnd: Amount::Packets(20),
        limited_transmit: true,
        ..with("newreno", stack)
    };
    let cfg = config(&spec);
    let mut sender = Sender::new();
    sender.reset(&cfg, 1_000_000);
    sender.open(&cfg, us(0));
    assert_eq!(leaving(&mut sender, &cfg, us(0)).len(), 20);
    let mut counts = Vec::new();
    for sacked in 4..20 {
        let now = us(100 + u64::from(sacked));
        sender.on_packet(&cfg, &ack(0, us(0), sacked, Flags::ACK), now);
        counts.push(leaving(&mut sender, &cfg, now).len());
    }
    assert_eq!(counts[..3], [1, 1, 1], "limited transmit, and the first that is sent again");
    counts.split_off(3)
}

/// Breaks if a recovery's share is not one of the window, 20, but of what was outstanding, 22 with
/// limited transmit's two.
///
/// The window becomes 10, and one segment has been sent again with the third ACK. With n segments
/// that have come since then, it included, n x 10 / 20 may have been sent, rounded up to a segment:
/// two of them with the third. Or n x 10 / 22 in bytes: two with the fifth.
#[test]
fn a_recovery_shares_out_the_window() {
    assert_eq!(shares(true)[..10], [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!(shares(false)[..9], [0, 0, 0, 1, 0, 1, 0, 1, 0]);
}

/// Breaks if a timeout in a recovery, which has halved the window already, halves the threshold
/// again, as RFC 5681 has it.
///
/// Of 20 segments 1 is lost, and so is what is sent again.
#[test]
fn a_timeout_in_a_recovery_halves_once() {
    let threshold = |whole_windows| {
        let stack = Stack { whole_windows, ..Stack::default() };
        let spec = TransportSpec { init_cwnd: Amount::Packets(20), ..with("newreno", stack) };
        let mut pipe = Pipe::new(&spec, 60_000, losing(&[(1, 1), (1, 2)]));
        pipe.run(us(10_000_000));
        assert_eq!((pipe.sender.done(), pipe.sender.timeouts()), (true, 1), "{}", pipe.trace);
        pipe.sender.control().ssthresh() / 1000
    };
    assert_eq!((threshold(true), threshold(false)), (10, 5));
}
