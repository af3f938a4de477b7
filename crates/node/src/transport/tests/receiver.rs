//! The receiver alone, with packets made by hand.

use super::pipe::{config, spec};
use crate::spec::TransportSpec;
use crate::transport::config::stamp;
use crate::transport::{Received, Receiver, TcpConfig};
use leafspine_core::{Ecn, Flags, PacketMeta, Span, Time};

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

fn data(seq: u32, sent: Time) -> PacketMeta {
    PacketMeta {
        seq,
        stamp: stamp(sent),
        size: 1040,
        payload: 1000,
        flags: Flags::DATA.with(Flags::ACK),
        ..PacketMeta::default()
    }
}

/// Hands `packet` over and returns the reply, if any, and what was seen.
fn give(receiver: &mut Receiver, cfg: &TcpConfig, packet: &PacketMeta) -> (PacketMeta, Received) {
    let mut reply = PacketMeta::default();
    let seen = receiver.on_packet(cfg, packet, us(1000), &mut reply);
    (reply, seen)
}

fn blocks(reply: &PacketMeta) -> Vec<(u32, u32)> {
    let held = reply.sack.iter().filter(|block| block.end > block.start);
    held.map(|block| (block.start, block.end)).collect()
}

/// Breaks if the first block is not the one that triggered the ACK, or if the others are not those
/// most recently reported (RFC 2018 §4; its third example is the same with every second segment
/// lost).
#[test]
fn sack_blocks_come_most_recent_first() {
    let (mut receiver, cfg) = (Receiver::new(), config(&spec("newreno")));
    let mut reported = vec![];
    for seq in [2, 4, 6, 8, 5, 8] {
        reported.push(blocks(&give(&mut receiver, &cfg, &data(seq, us(0))).0));
    }
    assert_eq!(reported[0], [(2, 3)]);
    assert_eq!(reported[1], [(4, 5), (2, 3)]);
    assert_eq!(reported[2], [(6, 7), (4, 5), (2, 3)]);
    assert_eq!(reported[3], [(8, 9), (6, 7), (4, 5)], "three blocks, the oldest is left out");
    assert_eq!(reported[4], [(4, 7), (8, 9)], "5 joins two blocks");
    assert_eq!(reported[5], [(8, 9), (4, 7)], "a duplicate's block comes first, too");
    // 0 fills nothing; 1 takes in 2, whose block had been pushed out; 3 takes in 4..7.
    assert_eq!(give(&mut receiver, &cfg, &data(0, us(0))).0.seq, 1);
    let (ack, seen) = give(&mut receiver, &cfg, &data(1, us(0)));
    assert_eq!((ack.seq, blocks(&ack), seen.delivered), (3, vec![(8, 9), (4, 7)], 2000));
    let (ack, seen) = give(&mut receiver, &cfg, &data(3, us(0)));
    assert_eq!((ack.seq, blocks(&ack), seen.delivered), (7, vec![(8, 9)], 4000));
}

/// Breaks if SACK blocks are sent although SACK is off.
#[test]
fn no_blocks_without_sack() {
    let cfg = config(&TransportSpec { sack: false, ..spec("newreno") });
    let (ack, _) = give(&mut Receiver::new(), &cfg, &data(2, us(0)));
    assert_eq!((ack.seq, blocks(&ack)), (0, vec![]));
}

/// Breaks if the echoed stamp is that of a segment out of order, or not that of the segment which
/// fills the gap (RFC 7323 §4.3, examples A and B).
#[test]
fn stamps_echo_what_advances_the_window() {
    let (mut receiver, cfg) = (Receiver::new(), config(&spec("newreno")));
    let mut echo = |seq, sent| give(&mut receiver, &cfg, &data(seq, us(sent))).0.stamp;
    assert_eq!(echo(0, 10), stamp(us(10)));
    assert_eq!(echo(2, 30), stamp(us(10)), "out of order: the last that was in order");
    assert_eq!(echo(3, 40), stamp(us(10)));
    assert_eq!(echo(1, 50), stamp(us(50)), "fills the gap: its own");
    assert_eq!(echo(4, 45), stamp(us(50)), "never an older stamp than one echoed before");
}

/// Breaks if the ACK of two segments echoes the second's stamp: the sample has to contain the
/// delay (RFC 7323 §4.3, example A).
#[test]
fn a_delayed_ack_echoes_the_first_stamp() {
    let delayed = Some(Span::from_micros(500));
    let cfg = config(&TransportSpec { delayed_ack: delayed, ..spec("newreno") });
    let mut receiver = Receiver::new();
    assert!(!give(&mut receiver, &cfg, &data(0, us(10))).1.reply);
    let (ack, seen) = give(&mut receiver, &cfg, &data(1, us(20)));
    assert!(seen.reply);
    assert_eq!((ack.seq, ack.stamp), (2, stamp(us(10))));
}

/// Breaks if a wrapped timestamp looks old: the clock wraps after 281 s.
#[test]
fn stamps_wrap() {
    let (mut receiver, cfg) = (Receiver::new(), config(&spec("newreno")));
    let before = PacketMeta { stamp: u32::MAX - 1, ..data(0, us(0)) };
    let after = PacketMeta { stamp: 3, ..data(1, us(0)) };
    assert_eq!(give(&mut receiver, &cfg, &before).0.stamp, u32::MAX - 1);
    assert_eq!(give(&mut receiver, &cfg, &after).0.stamp, 3);
}

/// Breaks if a stamp after a long silence looks old: backed-off timeouts reach 60 s.
#[test]
fn stamps_outlast_the_longest_timeout() {
    let cfg = config(&spec("newreno"));
    for seconds in [10, 30, 60, 130] {
        let (mut receiver, later) = (Receiver::new(), us(seconds * 1_000_000));
        give(&mut receiver, &cfg, &data(0, us(10)));
        let echo = give(&mut receiver, &cfg, &data(1, later)).0.stamp;
        assert_eq!(echo, stamp(later), "{seconds} s");
    }
}

/// Breaks if retransmissions or packets in order count as reordered, or if a packet overtaken
/// does not (RFC 4737 §3); and if duplicates are not told from new segments.
#[test]
fn reordering_and_duplicates_are_counted() {
    let (mut receiver, cfg) = (Receiver::new(), config(&spec("newreno")));
    let mut arrive = |seq, notes| {
        let seen = give(&mut receiver, &cfg, &PacketMeta { notes, ..data(seq, us(0)) }).1;
        (seen.reordered, seen.duplicate)
    };
    assert_eq!(arrive(0, 0), (false, false));
    assert_eq!(arrive(3, 0), (false, false), "beyond a gap: not reordered itself");
    assert_eq!(arrive(1, 0), (true, false), "3 was sent later and came earlier");
    assert_eq!(arrive(2, PacketMeta::RETRANSMIT), (false, false));
    assert_eq!(arrive(2, 0), (true, true), "the original, after its retransmission");
    assert_eq!(arrive(5, 0), (false, false));
    assert_eq!(arrive(5, PacketMeta::RETRANSMIT), (false, true));
    assert_eq!((receiver.assembly.reordered(), receiver.assembly.duplicates()), (2, 2));
}

/// Breaks if completion is told twice, early, or with the last segment counted as a full one.
#[test]
fn completion_is_told_once() {
    let (mut receiver, cfg) = (Receiver::new(), config(&spec("newreno")));
    let last = PacketMeta { payload: 7, size: 47, ..data(2, us(0)) };
    let last = PacketMeta { flags: last.flags.with(Flags::FIN), ..last };
    let told: Vec<_> = [data(0, us(0)), last, data(1, us(0)), last, data(1, us(0))]
        .iter()
        .map(|packet| give(&mut receiver, &cfg, packet).1)
        .map(|seen| (seen.complete_now, seen.delivered))
        .collect();
    assert_eq!(told, [(false, 1000), (false, 0), (true, 1007), (false, 0), (false, 0)]);
    assert!(receiver.assembly.complete());
    assert_eq!(receiver.assembly.delivered(), 2007);
}

/// Breaks if a segment out of order that also changes the mark loses one of its two ACKs: the one
/// put off leaves at once with the old state, its own by a timer that is due at once.
#[test]
fn a_flush_and_a_duplicate_ack_both_leave() {
    let delayed = Some(Span::from_micros(500));
    let cfg = config(&TransportSpec { delayed_ack: delayed, ..spec("dctcp") });
    let mut receiver = Receiver::new();
    give(&mut receiver, &cfg, &data(0, us(0)));
    let marked = PacketMeta { ecn: Ecn::Congested, ..data(3, us(0)) };
    let (first, seen) = give(&mut receiver, &cfg, &marked);
    assert!(seen.reply);
    assert_eq!((first.seq, blocks(&first), first.flags), (1, vec![], Flags::ACK));
    assert_eq!(receiver.deadline(), us(1000), "now");
    let mut second = PacketMeta::default();
    assert!(receiver.on_timer(&cfg, us(1000), &mut second));
    assert_eq!((second.seq, blocks(&second)), (1, vec![(3, 4)]));
    assert_eq!(second.flags, Flags::ACK.with(Flags::ECE));
    assert_eq!(receiver.deadline(), Time::MAX);
}

/// Breaks if a mark on the very packet that carries CWR is lost (RFC 3168 §6.1.3).
#[test]
fn a_mark_together_with_cwr_is_echoed() {
    let cfg = config(&TransportSpec { ecn: Some(true), ..spec("newreno") });
    let mut receiver = Receiver::new();
    let mut ece = |seq, ecn, flags: Flags| {
        let packet = PacketMeta { ecn, flags: flags.with(Flags::DATA), ..data(seq, us(0)) };
        give(&mut receiver, &cfg, &packet).0.flags.has(Flags::ECE)
    };
    assert!(ece(0, Ecn::Congested, Flags::ACK));
    assert!(ece(1, Ecn::Capable, Flags::ACK), "until CWR");
    assert!(ece(2, Ecn::Congested, Flags::CWR));
    assert!(!ece(3, Ecn::Capable, Flags::CWR));
}
