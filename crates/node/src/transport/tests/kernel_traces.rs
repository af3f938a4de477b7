//! What Linux's kernel does beyond the RFCs, each by its switch: trains, marks by proportional rate reduction, SYNs
//! without ECN, SACKs that are put off. Segments of 1000 bytes, round trips of 100 us.

use super::pipe::{config, spec};
use crate::spec::{Stack, Timestamps, TransportSpec};
use crate::transport::config::stamp;
use crate::transport::{Receiver, Sender, TcpConfig};
use leafspine_core::{Ecn, Flags, PacketMeta, SackBlock, Span, Time};
use leafspine_schemes::Amount;

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

fn with(scheme: &str, stack: Stack) -> TransportSpec {
    TransportSpec { stack, ..spec(scheme) }
}

fn ack(seq: u32, sent: Time, flags: Flags) -> PacketMeta {
    PacketMeta { seq, stamp: stamp(sent), size: 40, flags, ..PacketMeta::default() }
}

/// How many segments leave now.
fn leaving(sender: &mut Sender, cfg: &TcpConfig, now: Time) -> u32 {
    let mut packet = PacketMeta::default();
    let mut count = 0;
    while sender.poll_send(cfg, now, &mut packet) {
        count += 1;
    }
    count
}

fn opened(cfg: &TcpConfig, segments: u64) -> Sender {
    let mut sender = Sender::new();
    sender.reset(cfg, segments * 1000);
    sender.open(cfg, us(0));
    sender
}

/// What leaves with each of so many ACKs of a segment, 1 us apart.
fn trains(cfg: &TcpConfig, segments: u64, acks: u32) -> Vec<u32> {
    let mut sender = opened(cfg, segments);
    leaving(&mut sender, cfg, us(0));
    let one = |una| {
        let now = us(100 + u64::from(una));
        sender.on_packet(cfg, &ack(una, us(0), Flags::ACK), now);
        leaving(&mut sender, cfg, now)
    };
    (1..=acks).map(one).collect()
}

/// Breaks if a sender does not wait until a third of its window may leave, or waits where all the rest may.
///
/// DCTCP's window of 12 grows by a segment an ACK: with the n-th, 2n segments may leave of a window
/// of 12 + n. Two of 13 are fewer than a third, 4 of 14 too (4.67 count as 5), 6 of 15 are not.
/// Half of the window is a train at most: all six.
#[test]
fn trains_are_a_third_of_the_window() {
    let spec = TransportSpec {
        init_cwnd: Amount::Packets(12),
        ..with("dctcp", Stack { gso: true, rack: true, ..Stack::default() })
    };
    assert_eq!(trains(&config(&spec), 1000, 6), [0, 0, 6, 0, 0, 6]);
    let plain = TransportSpec { stack: Stack::default(), ..spec.clone() };
    assert_eq!(trains(&config(&plain), 1000, 6), [2; 6]);
    // 13 segments: the last one does not wait for more.
    assert_eq!(trains(&config(&spec), 13, 2), [1, 0]);
}

/// Breaks if the end of a flow waits for more although more may leave than it has, in bytes: its
/// last segment may be short.
///
/// As above: with the second ACK four segments may leave, and four are left. 4,000 bytes are not
/// fewer, 3,500 are.
#[test]
fn the_end_of_a_flow_is_counted_in_bytes() {
    let spec = TransportSpec {
        init_cwnd: Amount::Packets(12),
        ..with("dctcp", Stack { gso: true, rack: true, ..Stack::default() })
    };
    let cfg = config(&spec);
    let left = |bytes| {
        let mut sender = Sender::new();
        sender.reset(&cfg, bytes);
        sender.open(&cfg, us(0));
        leaving(&mut sender, &cfg, us(0));
        for una in 1..=2 {
            sender.on_packet(&cfg, &ack(una, us(0), Flags::ACK), us(102));
        }
        leaving(&mut sender, &cfg, us(102))
    };
    assert_eq!([left(16_000), left(15_500)], [0, 4]);
}

/// Breaks if anything but the last segment of a train, of two at least, says so, or does without
/// the switch; or if a segment that leaves alone does because it ends a buffer (in a kernel's
/// captures of 1,781 segments with PSH none follows another at once).
///
/// Trains of five and five, then the ACK of the first lets two go.
#[test]
fn trains_end_with_psh() {
    let pushed = |push_acks, first: u32, acks: &[u32]| {
        let stack = Stack { gso: true, rack: true, push_acks, ..Stack::default() };
        let spec = TransportSpec { init_cwnd: Amount::Packets(first), ..with("newreno", stack) };
        let cfg = config(&spec);
        let mut sender = opened(&cfg, 1000);
        let mut found = Vec::new();
        for una in std::iter::once(&0).chain(acks) {
            let now = us(u64::from(*una) * 2_000);
            if *una > 0 {
                sender.on_packet(&cfg, &ack(*una, now, Flags::ACK), now);
            }
            let mut packet = PacketMeta::default();
            while sender.poll_send(&cfg, now, &mut packet) {
                if packet.notes & PacketMeta::PUSH != 0 {
                    found.push(packet.seq);
                }
            }
        }
        found
    };
    assert_eq!(pushed(true, 10, &[1]), [4, 9, 11]);
    assert_eq!(pushed(false, 10, &[1]), []);
    // After nine, pairs leave from odd numbers on, and the 64th segment, which ends a buffer, alone.
    let all: Vec<u32> = (1..60).collect();
    let found = pushed(true, 9, &all);
    assert!(found.windows(2).all(|two| two[1] > two[0] + 1), "{found:?}");
}

/// Breaks if what leaves in a recovery, where there are no trains, says that it ends one.
///
/// Ten have left. The first is lost, and ACKs that SACK the others let new ones go.
#[test]
fn recoveries_have_no_trains() {
    let stack = Stack { gso: true, rack: true, push_acks: true, ..Stack::default() };
    let spec = TransportSpec { init_cwnd: Amount::Packets(10), ..with("newreno", stack) };
    let cfg = config(&spec);
    let mut sender = opened(&cfg, 1000);
    leaving(&mut sender, &cfg, us(0));
    let (mut packet, mut new) = (PacketMeta::default(), Vec::new());
    for end in 2..=10 {
        let mut sack = ack(0, us(0), Flags::ACK);
        sack.sack[0] = SackBlock { start: 1, end };
        let now = us(100 + u64::from(end));
        sender.on_packet(&cfg, &sack, now);
        while sender.poll_send(&cfg, now, &mut packet) {
            if end > 4 && packet.seq >= 10 {
                new.push(packet.notes);
            }
        }
    }
    assert!(new.len() > 1 && new.iter().all(|notes| *notes == 0), "{new:?}");
}

/// Breaks if a segment that says that it is the last of a train waits for another one, or one that
/// does not is not waited with.
#[test]
fn what_is_pushed_is_acknowledged_at_once() {
    let acked = |push_acks, notes| {
        let stack = Stack { push_acks, ..Stack::default() };
        let cfg = config(&TransportSpec {
            delayed_ack: Some(Span::from_millis(40)),
            ..with("newreno", stack)
        });
        let (mut receiver, mut reply) = (Receiver::new(), PacketMeta::default());
        let flags = Flags::DATA.with(Flags::ACK);
        let data = PacketMeta { size: 1040, payload: 1000, flags, notes, ..PacketMeta::default() };
        receiver.on_packet(&cfg, &data, us(0), &mut reply).reply
    };
    let push = PacketMeta::PUSH;
    assert_eq!([acked(true, push), acked(true, 0), acked(false, push)], [true, false, false]);
}

/// Breaks if a train waits although nothing has been sent for a millisecond.
#[test]
fn a_pause_ends_the_wait() {
    let spec = with("dctcp", Stack { gso: true, rack: true, ..Stack::default() });
    let cfg = config(&spec);
    let mut sender = opened(&cfg, 1000);
    leaving(&mut sender, &cfg, us(0));
    sender.on_packet(&cfg, &ack(1, us(0), Flags::ACK), us(1_001));
    assert_eq!(leaving(&mut sender, &cfg, us(1_001)), 2);
}

/// Breaks if a mark does not shrink the window in proportion to what arrives, or the window grows
/// in the round trip after it.
///
/// Of 20 outstanding, alpha is 1: the new window is 10, so every second ACK lets one go. PRR sends the first at once.
#[test]
fn marks_shrink_in_proportion() {
    let spec = TransportSpec {
        init_cwnd: Amount::Packets(20),
        ..with("dctcp", Stack { mark_prr: true, ..Stack::default() })
    };
    let cfg = config(&spec);
    let mut sender = opened(&cfg, 1000);
    leaving(&mut sender, &cfg, us(0));
    let mut sent = Vec::new();
    for una in 1..=20 {
        let flags = if una == 1 { Flags::ACK.with(Flags::ECE) } else { Flags::ACK };
        let now = us(100 + u64::from(una));
        sender.on_packet(&cfg, &ack(una, us(0), flags), now);
        sent.push(leaving(&mut sender, &cfg, now));
    }
    // Half of what has come, rounded up to a segment; at the end the pipe has come down to the
    // window, and each ACK lets one go.
    assert_eq!(sent[..16], [1, 0].repeat(8));
    assert_eq!(
        (sent.iter().sum::<u32>(), sender.window(&cfg), sender.in_flight()),
        (10, 10_000, 10)
    );
    // The round trip is over: it grows again, by a segment a window.
    for una in 21..=31 {
        sender.on_packet(&cfg, &ack(una, us(100), Flags::ACK), us(200 + u64::from(una)));
        leaving(&mut sender, &cfg, us(200 + u64::from(una)));
    }
    assert_eq!(sender.window(&cfg), 11_000);
}

/// Opens a connection whose first SYN is lost, or answered; gives whether its data is ECN-capable.
fn opens_with_ecn(lost: bool, answer_lost: bool) -> bool {
    let stack = Stack { ecn_fallback: true, syn_options: 8, ..Stack::default() };
    let cfg = config(&TransportSpec { handshake: true, ..with("dctcp", stack) });
    let (mut sender, mut receiver) = (opened(&cfg, 10), Receiver::new());
    let (mut syn, mut reply) = (PacketMeta::default(), PacketMeta::default());
    assert!(sender.poll_send(&cfg, us(0), &mut syn) && syn.size == 48);
    if !lost {
        assert!(receiver.on_packet(&cfg, &syn, us(50), &mut reply).reply);
    }
    let mut now = us(100);
    if lost || answer_lost {
        now = sender.deadline();
        sender.on_timer(&cfg, now);
        assert!(sender.poll_send(&cfg, now, &mut syn));
        assert!(!syn.flags.has(Flags::ECE));
        assert!(receiver.on_packet(&cfg, &syn, now, &mut reply).reply);
    }
    assert_eq!(reply.size, 48);
    sender.on_packet(&cfg, &reply, now);
    assert!(sender.poll_send(&cfg, now, &mut syn) && syn.is_data());
    syn.ecn == Ecn::Capable
}

/// Breaks if a connection has ECN whose SYN was lost, or none because its answer was: the receiver
/// goes by the first SYN that comes (RFC 3168 §6.1.1.1).
#[test]
fn a_syn_again_asks_for_no_ecn() {
    let with_ecn = [(false, false), (true, false), (false, true)];
    assert_eq!(with_ecn.map(|(lost, answer)| opens_with_ecn(lost, answer)), [true, false, true]);
}

/// Breaks if what is beyond a gap is acknowledged at once for ever, or too late, or a gap that is filled waits.
///
/// The handshake has taken 100 us: 5 us, and 100 of the kernel's timer.
#[test]
fn sacks_are_put_off() {
    let stack = Stack { comp_sack: true, timestamps: Timestamps::Option, ..Stack::default() };
    let cfg = config(&TransportSpec { handshake: true, ..with("newreno", stack) });
    let mut receiver = Receiver::new();
    let mut reply = PacketMeta::default();
    let syn = PacketMeta { flags: Flags::SYN, size: 40, ..PacketMeta::default() };
    receiver.on_packet(&cfg, &syn, us(1_000), &mut reply);
    let mut come = |seq, at| {
        let flags = Flags::DATA.with(Flags::ACK);
        let data = PacketMeta { seq, size: 1040, payload: 1000, flags, ..PacketMeta::default() };
        let seen = receiver.on_packet(&cfg, &data, us(at), &mut reply);
        (seen.reply, receiver.deadline())
    };
    assert_eq!(come(0, 1_100), (true, Time::MAX));
    for seq in [2, 3, 4] {
        assert_eq!(come(seq, 1_100 + u64::from(seq)), (true, Time::MAX), "{seq}");
    }
    assert_eq!(come(5, 1_110), (false, us(1_215)));
    assert_eq!(come(6, 1_120), (false, us(1_215)));
    assert!(!receiver.on_timer(&cfg, us(1_214), &mut reply));
    assert!(receiver.on_timer(&cfg, us(1_215), &mut reply));
    assert_eq!((reply.seq, reply.sack[0].start, reply.sack[0].end), (1, 2, 7));
    assert_eq!(receiver.deadline(), Time::MAX);
    let mut last = PacketMeta { seq: 1, size: 1040, payload: 1000, ..PacketMeta::default() };
    last.flags = Flags::DATA.with(Flags::ACK);
    assert!(receiver.on_packet(&cfg, &last, us(1_300), &mut reply).reply && reply.seq == 7);
}

/// Breaks if a block that no ACK has reported yet moves to where none may: 2, 4 and 6 are told of
/// at once, 8 waits, and 10 would be another block, so that the ACK with 8 goes first. With that
/// one none is due for 10: the next one waits from 11 on.
#[test]
fn blocks_are_told_of_before_others_come() {
    let stack = Stack { comp_sack: true, timestamps: Timestamps::Option, ..Stack::default() };
    let cfg = config(&with("newreno", stack));
    let (mut receiver, mut reply) = (Receiver::new(), PacketMeta::default());
    let mut come = |seq| {
        let flags = Flags::DATA.with(Flags::ACK);
        let data = PacketMeta { seq, size: 1040, payload: 1000, flags, ..PacketMeta::default() };
        let seen = receiver.on_packet(&cfg, &data, us(u64::from(seq)), &mut reply);
        (seen.reply, reply.sack.map(|block| block.start), receiver.deadline())
    };
    for (seq, blocks) in [(2, [2, 0, 0]), (4, [4, 2, 0]), (6, [6, 4, 2])] {
        assert_eq!(come(seq), (true, blocks, Time::MAX));
    }
    assert_eq!(come(8), (false, [6, 4, 2], us(108)));
    assert_eq!(come(10), (true, [8, 6, 4], Time::MAX));
    assert_eq!(come(11), (false, [8, 6, 4], us(111)), "it is part of the first block");
}

/// Breaks if RACK's timer does not tick, or fires before it has taken two milliseconds longer.
///
/// 25 us and 2 ms are three ticks, from that before 1.9 ms: 4 ms. 25 us alone are one.
#[test]
fn racks_timer_ticks() {
    let at = |slack, now| {
        let stack = Stack { rack: true, rack_slack: slack, ..Stack::default() };
        let cfg = config(&with("newreno", stack));
        crate::transport::probe::reorder_at(&cfg, Span::from_micros(25), now)
    };
    assert_eq!(at(None, us(1_900)), us(1_925));
    assert_eq!(at(Some(Span::from_millis(2)), us(1_900)), us(4_000));
    assert_eq!(at(Some(Span::ZERO), us(1_900)), us(2_000));
}
