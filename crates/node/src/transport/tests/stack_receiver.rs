//! What receivers and windows do by a switch: D-SACK, quick acknowledgments, option bytes, lost SYNs,
//! Karn's samples, pauses.

use super::pipe::{Fate, MSS, Network, Pipe, config, losing, spec};
use crate::spec::{Stack, Timestamps, TransportSpec};
use crate::transport::config::stamp;
use crate::transport::{Receiver, Sender, TcpConfig};
use leafspine_core::{Ecn, Flags, PacketMeta, Span, Time};
use leafspine_schemes::Amount;

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

fn with(stack: Stack) -> TransportSpec {
    TransportSpec { stack, ..spec("newreno") }
}

fn data(seq: u32) -> PacketMeta {
    let flags = Flags::DATA.with(Flags::ACK);
    PacketMeta { seq, size: 1040, payload: 1000, flags, ..PacketMeta::default() }
}

fn give(receiver: &mut Receiver, cfg: &TcpConfig, packet: &PacketMeta) -> Option<PacketMeta> {
    let mut reply = PacketMeta::default();
    receiver.on_packet(cfg, packet, us(1000), &mut reply).reply.then_some(reply)
}

fn blocks(reply: &PacketMeta) -> Vec<(u32, u32)> {
    let held = reply.sack.iter().filter(|block| block.end > block.start);
    held.map(|block| (block.start, block.end)).collect()
}

/// Breaks if a duplicate is not the first block of its ACK, and of that one only, or if the block that
/// it is part of does not follow (RFC 2883 §4, and its examples 4.1.1 and 4.2.1 in segments).
#[test]
fn duplicates_are_reported_once() {
    let cfg = config(&with(Stack { dsack: true, ..Stack::default() }));
    let mut receiver = Receiver::new();
    let mut ack = |seq| give(&mut receiver, &cfg, &data(seq)).expect("every segment has its ACK");
    assert_eq!(blocks(&ack(0)), []);
    assert_eq!(blocks(&ack(0)), [(0, 1)], "below the cumulative ACK");
    assert_eq!(blocks(&ack(1)), []);
    assert_eq!(blocks(&ack(3)), [(3, 4)]);
    assert_eq!(blocks(&ack(4)), [(3, 5)]);
    assert_eq!(blocks(&ack(3)), [(3, 4), (3, 5)], "part of the second block");
    assert_eq!(blocks(&ack(6)), [(6, 7), (3, 5)]);
    assert_eq!(blocks(&ack(1)), [(1, 2), (6, 7), (3, 5)]);
}

/// Breaks if an ACK is not longer by its SACK option: 4 bytes with padding and 8 a block (RFC 2018 §3).
#[test]
fn sack_blocks_take_bytes() {
    let cfg = config(&with(Stack { sack_bytes: true, ..Stack::default() }));
    let mut receiver = Receiver::new();
    let sizes: Vec<u16> = [0, 2, 4, 6, 8]
        .map(|seq| give(&mut receiver, &cfg, &data(seq)).expect("an ACK").size)
        .into();
    assert_eq!(sizes, [40, 52, 60, 68, 68]);
}

/// Breaks if the first segments, those after a duplicate, and two after the first mark are not
/// acknowledged at once, or if any other is.
#[test]
fn quick_acknowledgments() {
    let quick = |quick_acks| TransportSpec {
        delayed_ack: Some(Span::from_millis(40)),
        ecn: Some(true),
        ..with(Stack { quick_acks, ..Stack::default() })
    };
    let cfg = config(&quick(4));
    let mut receiver = Receiver::new();
    let mut acked = |packet| give(&mut receiver, &cfg, &packet).is_some();
    let start: Vec<bool> = (0..8).map(|seq| acked(data(seq))).collect();
    assert_eq!(
        start,
        [true, true, true, true, false, true, false, true],
        "four, then every second"
    );
    assert!(acked(data(0)), "a duplicate is acknowledged at once");
    let after: Vec<bool> = (8..14).map(|seq| acked(data(seq))).collect();
    assert_eq!(after, [true, true, true, false, true, false], "three, for that was the first");
    let marked = PacketMeta { ecn: Ecn::Congested, ..data(14) };
    assert_eq!([acked(marked), acked(data(15)), acked(data(16))], [true, true, false]);
    let cfg = config(&quick(0));
    let mut plain = Receiver::new();
    assert!(give(&mut plain, &cfg, &data(0)).is_none(), "off: the first waits for the second");
}

/// Breaks if the first quick ACKs are used up by segments that leave a gap, or are granted although
/// the window could grow with such a one: Linux then takes the start to be over. Those that leave a
/// gap or fill it are acknowledged at once in any case.
#[test]
fn quick_acknowledgments_begin_in_order() {
    let acked = |growth_acks| {
        let spec = TransportSpec {
            delayed_ack: Some(Span::from_millis(40)),
            // With the first segment the window grows beyond half of it.
            max_cwnd: Some(Amount::Packets(130)),
            ..with(Stack { quick_acks: 4, growth_acks, ..Stack::default() })
        };
        let (cfg, mut receiver) = (config(&spec), Receiver::new());
        [2, 0, 1, 3, 4, 5, 6].map(|seq| give(&mut receiver, &cfg, &data(seq)).is_some())
    };
    assert_eq!(acked(false), [true, true, true, true, true, false, true]);
    assert_eq!(acked(true), [true, true, true, false, true, false, true]);
}

/// Breaks if segments below 128 bytes in order widen the window: no ACK is delayed while it grows.
#[test]
fn short_segments_do_not_widen_the_window() {
    let acked = |mss| {
        let stack = Stack { growth_acks: true, ..Stack::default() };
        let delayed_ack = Some(Span::from_millis(40));
        let spec = TransportSpec { delayed_ack, mss, ..with(stack) };
        let (cfg, mut receiver) = (config(&spec), Receiver::new());
        [0, 1, 2, 3].map(|seq| give(&mut receiver, &cfg, &data(seq)).is_some())
    };
    assert_eq!(acked(128), [true; 4]);
    assert_eq!(acked(127), [false, true, false, true]);
}

/// Breaks if a segment beyond a gap widens the window without SACK: nothing of it is kept (`tcp_data_queue_ofo`).
#[test]
fn what_is_beyond_a_gap_widens_the_window_with_sack() {
    let widens = |sack| {
        let stack = Stack { growth_acks: true, comp_sack: true, ..Stack::default() };
        let (cfg, mut receiver) = (config(&TransportSpec { sack, ..with(stack) }), Receiver::new());
        let mut offered = |seq| {
            give(&mut receiver, &cfg, &data(seq));
            receiver.compressed.as_ref().unwrap().growth.offered()
        };
        (offered(0), offered(2))
    };
    let ((_, with), (first, without)) = (widens(true), widens(false));
    assert!(with > first && without == first, "{first}, {with}, {without}");
}

/// The first `count` SYNs are lost.
fn losing_syns(mut count: u32) -> Network {
    Box::new(move |packet, to_receiver| {
        let syn = to_receiver && packet.flags.has(Flags::SYN) && count > 0;
        count -= u32::from(syn);
        if syn { Fate::Drop } else { Fate::Arrive }
    })
}

/// Segments of the first window after so many lost SYNs.
fn first_window(lost: u32, spared: u32) -> u32 {
    let stack = Stack { syn_losses_spared: spared, ..Stack::default() };
    let spec = TransportSpec { handshake: true, ..with(stack) };
    let mut pipe = Pipe::new(&spec, 100_000, losing_syns(lost));
    pipe.run(Time(if lost == 2 { 30_150_000_000 } else { 10_150_000_000 }));
    pipe.sender.sent()
}

/// Breaks if a lost SYN does not make the initial window one segment (RFC 5681 §3.1), or does although
/// it is spared.
#[test]
fn the_window_after_lost_syns() {
    assert_eq!([first_window(1, 0), first_window(2, 0)], [1, 1]);
    assert_eq!([first_window(1, 1), first_window(2, 1), first_window(2, 2)], [10, 1, 10]);
}

fn ack(seq: u32, sent: Time) -> PacketMeta {
    PacketMeta { seq, stamp: stamp(sent), size: 40, flags: Flags::ACK, ..PacketMeta::default() }
}

fn opened(cfg: &TcpConfig, bytes: u64) -> Sender {
    let mut sender = Sender::new();
    sender.reset(cfg, bytes);
    sender.open(cfg, us(0));
    send(&mut sender, cfg, us(0));
    sender
}

fn send(sender: &mut Sender, cfg: &TcpConfig, now: Time) -> u32 {
    let (mut packet, mut count) = (PacketMeta::default(), 0);
    while sender.poll_send(cfg, now, &mut packet) {
        count += 1;
    }
    count
}

/// Breaks if an ACK of a retransmission measures a round trip without timestamps (Karn's algorithm,
/// RFC 6298 §3), or if one beyond what was sent again does not; if the timeout does not stay doubled
/// until then; or if a lost SYN does not leave a timeout of 3 s (§5.7).
#[test]
fn karns_samples() {
    let cfg = config(&with(Stack { timestamps: Timestamps::Off, ..Stack::default() }));
    let mut sender = opened(&cfg, 100_000);
    assert!(sender.on_packet(&cfg, &ack(1, us(0)), us(100)).rtt.is_some());
    send(&mut sender, &cfg, us(100));
    sender.on_timer(&cfg, us(10_100));
    send(&mut sender, &cfg, us(10_100));
    assert_eq!(sender.on_packet(&cfg, &ack(2, us(10_100)), us(10_200)).rtt, None);
    assert_eq!(sender.deadline(), us(30_200), "20 ms, still backed off");
    send(&mut sender, &cfg, us(10_200));
    let beyond = sender.on_packet(&cfg, &ack(5, us(10_200)), us(10_300));
    assert!(beyond.rtt.is_none(), "3 and 4 were sent again");
    assert!(sender.on_packet(&cfg, &ack(6, us(10_200)), us(10_310)).rtt.is_some());

    let slow = TransportSpec {
        handshake: true,
        max_rto: Span::from_millis(60_000),
        ..with(Stack { timestamps: Timestamps::Off, ..Stack::default() })
    };
    let mut pipe = Pipe::new(&slow, 100_000, losing_syns(1));
    pipe.run(us(10_150));
    assert_eq!(pipe.sender.deadline(), us(3_010_100));
}

/// Breaks if the window does not halve for each timeout of a pause, down to the initial window, with
/// the threshold at three quarters (RFC 2861 §3.1), or if a shorter pause moves it.
///
/// Ten segments, doubled three times to 80, of whose ACKs one adds another; the timeout is 10 ms.
#[test]
fn the_window_after_a_pause() {
    let paused = |pause: u64, idle_restart| {
        let cfg = config(&with(Stack { idle_restart, ..Stack::default() }));
        let mut sender = opened(&cfg, 1_000_000);
        for seq in 1..=70 {
            sender.on_packet(&cfg, &ack(seq, us(0)), us(100));
            send(&mut sender, &cfg, us(100));
        }
        // Nothing is sent while the rest is acknowledged.
        for seq in 71..=150 {
            sender.on_packet(&cfg, &ack(seq, us(100)), us(200));
        }
        send(&mut sender, &cfg, us(pause))
    };
    let windows = [9_000, 15_000, 25_000, 95_000].map(|pause| paused(pause, true));
    assert_eq!(windows, [81, 40, 20, 10]);
    assert_eq!(paused(95_000, false), 81);
}

/// Breaks if segments that a switch has to keep are lost from sight on a long flow with losses: with
/// all switches of RFCs, every byte arrives once.
#[test]
fn all_switches_together() {
    let stack = Stack {
        syn_losses_spared: 1,
        idle_restart: true,
        quick_acks: 16,
        sack_bytes: true,
        timestamps: Timestamps::Option,
        reduction: crate::spec::Reduction::Prr9937,
        rack: true,
        tlp: Some(Span::from_micros(20)),
        dsack: true,
        undo_dsack: true,
        eifel: Some(Span(0)),
        frto: true,
        slow_start: leafspine_schemes::cc::SlowStart::HyStart,
        ..Stack::default()
    };
    let lost: Vec<(u32, u32)> = (0..60).map(|n| (n * 37, 1)).collect();
    let mut pipe = Pipe::new(&with(stack), u64::from(2_500 * MSS), losing(&lost));
    pipe.run(Time(10_000_000_000_000));
    assert!(
        pipe.sender.done() && pipe.receiver.assembly.duplicates() == 0,
        "{}",
        pipe.receiver.assembly.duplicates()
    );
    assert_eq!((pipe.sender.timeouts(), pipe.sender.retransmits()), (0, 60));
}
