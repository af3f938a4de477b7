//! One end at a time, with packets made by hand.

use super::pipe::{Pipe, config, losing, spec};
use crate::spec::TransportSpec;
use crate::transport::config::stamp;
use crate::transport::rtt::RttEstimator;
use crate::transport::{AckOutcome, Received, Receiver, Sender, TcpConfig};
use leafspine_core::{Ecn, Flags, PacketMeta, SackBlock, Span, Time};

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

/// Breaks if a wrapped timestamp looks old: the clock wraps after 17.6 s.
#[test]
fn stamps_wrap() {
    let (mut receiver, cfg) = (Receiver::new(), config(&spec("newreno")));
    let before = PacketMeta { stamp: u32::MAX - 1, ..data(0, us(0)) };
    let after = PacketMeta { stamp: 3, ..data(1, us(0)) };
    assert_eq!(give(&mut receiver, &cfg, &before).0.stamp, u32::MAX - 1);
    assert_eq!(give(&mut receiver, &cfg, &after).0.stamp, 3);
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
    assert_eq!((receiver.reordered(), receiver.duplicates()), (2, 2));
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
    assert!(receiver.complete());
    assert_eq!(receiver.delivered(), 2007);
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

/// Breaks if RFC 6298's arithmetic is off.
///
/// By hand, in us: first sample 800: SRTT 800, RTTVAR 400, RTO 2400. Sample 1600: RTTVAR = 300 +
/// 800/4 = 500, SRTT = 700 + 200 = 900, RTO 2900. Backed off twice: 5800, then 10000, the maximum.
/// Sample 900: RTTVAR = 375, SRTT 900, RTO 2400: the back-off is over. Long calm: RTTVAR vanishes and
/// the minimum holds.
#[test]
fn timeout_arithmetic() {
    let cfg = TcpConfig {
        min_rto: Span::from_micros(1000),
        max_rto: Span::from_micros(10_000),
        initial_rto: Span::from_micros(3000),
        ..config(&spec("newreno"))
    };
    let mut rtt = RttEstimator::default();
    rtt.reset(&cfg);
    let mut rtos = vec![rtt.rto()];
    rtt.sample(&cfg, Span::from_micros(800));
    rtos.push(rtt.rto());
    rtt.sample(&cfg, Span::from_micros(1600));
    rtos.push(rtt.rto());
    rtt.back_off(&cfg);
    rtos.push(rtt.rto());
    rtt.back_off(&cfg);
    rtos.push(rtt.rto());
    rtt.sample(&cfg, Span::from_micros(900));
    rtos.push(rtt.rto());
    (0..100).for_each(|_| rtt.sample(&cfg, Span::from_micros(900)));
    rtos.push(rtt.rto());
    assert_eq!(rtos, [3000, 2400, 2900, 5800, 10_000, 2400, 1000].map(Span::from_micros));
    assert_eq!(rtt.srtt(), Span::from_micros(900));
}

/// An ACK of `seq` that echoes `sent`.
fn ack(seq: u32, sent: Time) -> PacketMeta {
    PacketMeta { seq, stamp: stamp(sent), size: 40, flags: Flags::ACK, ..PacketMeta::default() }
}

fn opened(cfg: &TcpConfig, bytes: u64) -> Sender {
    let mut sender = Sender::new();
    sender.reset(cfg, bytes);
    sender.open(cfg, us(0));
    let mut packet = PacketMeta::default();
    while sender.poll_send(cfg, us(0), &mut packet) {}
    sender
}

/// Breaks if an ACK of what was never sent, or an old one, moves anything (RFC 9293 §3.10.7.4).
#[test]
fn impossible_and_old_acks_are_ignored() {
    let cfg = config(&spec("newreno"));
    let mut sender = opened(&cfg, 100_000);
    assert_eq!(sender.on_packet(&cfg, &ack(11, us(0)), us(100)), AckOutcome::default());
    sender.on_packet(&cfg, &ack(4, us(0)), us(100));
    assert_eq!(sender.on_packet(&cfg, &ack(2, us(0)), us(110)), AckOutcome::default());
    assert_eq!((sender.una(), sender.dup_acks()), (4, 0));
}

/// Breaks if the sample is not now minus the echo, in units of 4096 ps.
#[test]
fn round_trips_are_sampled_by_stamps() {
    let cfg = config(&spec("newreno"));
    let mut sender = opened(&cfg, 100_000);
    let sent = us(0);
    let now = Time(123_456_789);
    let rtt = sender.on_packet(&cfg, &ack(1, sent), now).rtt.expect("new data");
    assert_eq!(rtt, Span(now.0 / 4096 * 4096));
    assert_eq!(sender.on_packet(&cfg, &ack(1, sent), now).rtt, None, "a duplicate gives none");
}

/// Breaks if a new ACK does not restart the timer, or the last one does not stop it (RFC 6298
/// §5.2, §5.3).
#[test]
fn the_timer_follows_the_acks() {
    let cfg = config(&spec("newreno"));
    let mut sender = opened(&cfg, 3_000);
    assert_eq!(sender.deadline(), us(10_000));
    sender.on_packet(&cfg, &ack(1, us(0)), us(100));
    assert_eq!(sender.deadline(), us(10_100));
    assert!(!sender.on_timer(&cfg, us(10_099)), "early: nothing happens");
    sender.on_packet(&cfg, &ack(3, us(0)), us(200));
    assert_eq!((sender.deadline(), sender.done()), (Time::MAX, true));
}

/// Breaks if only the first partial ACK's restart of the timer is not enforced without SACK
/// (RFC 6582 §3.2 step 3).
#[test]
fn later_partial_acks_leave_the_timer() {
    let cfg = config(&TransportSpec { sack: false, ..spec("newreno") });
    let mut sender = opened(&cfg, 100_000);
    for at in [100, 101, 102] {
        sender.on_packet(&cfg, &ack(0, us(0)), us(at));
    }
    sender.on_packet(&cfg, &ack(2, us(0)), us(200));
    assert_eq!(sender.deadline(), us(10_200));
    sender.on_packet(&cfg, &ack(4, us(0)), us(300));
    assert_eq!(sender.deadline(), us(10_200), "not restarted");
    sender.on_packet(&cfg, &ack(10, us(0)), us(400));
    assert_eq!(sender.deadline(), Time::MAX, "all that was sent is acknowledged");

    // The next recovery's first partial ACK restarts it again.
    assert_eq!(sent_now(&mut sender, &cfg, us(500)), [10, 11]);
    sender.on_packet(&cfg, &ack(11, us(500)), us(600));
    assert_eq!(sent_now(&mut sender, &cfg, us(600)), [12, 13, 14]);
    (0..3).for_each(|_| drop(sender.on_packet(&cfg, &ack(11, us(500)), us(601))));
    sender.on_packet(&cfg, &ack(13, us(500)), us(700));
    assert_eq!(sender.deadline(), us(10_700));
}

/// An ACK of `seq` with one SACK block.
fn sack(seq: u32, start: u32, end: u32) -> PacketMeta {
    let mut packet = ack(seq, us(0));
    packet.sack[0] = SackBlock { start, end };
    packet
}

/// Breaks if, with SACK, an ACK that reports nothing new counts as a duplicate (RFC 6675 §2): it
/// stems from a segment that came twice.
#[test]
fn duplicates_without_news_are_no_loss() {
    let cfg = config(&spec("newreno"));
    let mut sender = opened(&cfg, 100_000);
    sender.on_packet(&cfg, &sack(1, 3, 5), us(100));
    for _ in 0..5 {
        assert!(!sender.on_packet(&cfg, &sack(1, 3, 5), us(100)).fast_retransmit);
    }
    assert_eq!(sender.dup_acks(), 5);
    // The fourth segment above una is news, and the third SACKed one: it is lost.
    assert!(sender.on_packet(&cfg, &sack(1, 3, 6), us(100)).fast_retransmit);
}

/// Breaks if a partial ACK does not deflate the window by what it acknowledges, less the segment
/// that it lets go (RFC 6582 §3.2 step 3).
///
/// By hand: 10 in flight, nine duplicates: ssthresh 5, inflated to 14, so 4 new segments. A partial
/// ACK of 5: 14 - 5 + 1 = 10, and 14 - 5 = 9 are outstanding: the hole and one new segment.
#[test]
fn partial_acks_deflate_the_window() {
    let cfg = config(&TransportSpec { sack: false, limited_transmit: false, ..spec("newreno") });
    let mut sender = opened(&cfg, 100_000);
    let mut step = |seq| {
        sender.on_packet(&cfg, &ack(seq, us(0)), us(100));
        sent_now(&mut sender, &cfg, us(100))
    };
    let sent: Vec<_> = (0..9).flat_map(|_| step(0)).collect();
    assert_eq!(sent, [0, 10, 11, 12, 13]);
    assert_eq!(step(5), [5, 14]);
}

/// What the sender sends now.
fn sent_now(sender: &mut Sender, cfg: &TcpConfig, now: Time) -> Vec<u32> {
    let mut packet = PacketMeta::default();
    std::iter::from_fn(|| sender.poll_send(cfg, now, &mut packet).then_some(packet.seq)).collect()
}

/// Breaks if, after a timeout, segments that the SACKs report count as in flight, or are sent.
#[test]
fn after_a_timeout_sacked_segments_are_not_in_flight() {
    let cfg = config(&spec("newreno"));
    let mut sender = opened(&cfg, 100_000);
    sender.on_packet(&cfg, &sack(0, 1, 3), us(100));
    sender.on_packet(&cfg, &sack(0, 4, 6), us(100));
    assert!(sender.on_timer(&cfg, us(10_000)));
    assert_eq!(sent_now(&mut sender, &cfg, us(10_000)), [0]);
    sender.on_packet(&cfg, &sack(3, 4, 6), us(10_100));
    assert_eq!(sent_now(&mut sender, &cfg, us(10_100)), [3, 6], "4 and 5 have arrived");
    sender.on_packet(&cfg, &sack(3, 7, 8), us(10_101));
    assert_eq!(sender.in_flight(), 2);
}

/// Breaks if the threshold is not held while one timeout follows another (RFC 5681 §3.1), or is
/// held once something was acknowledged between them.
#[test]
fn only_the_first_timeout_of_a_series_moves_the_threshold() {
    let cfg = config(&TransportSpec { init_cwnd: Amount::Packets(16), ..spec("newreno") });
    let mut sender = opened(&cfg, 100_000);
    let mut thresholds = vec![];
    for at in [10_000, 30_000] {
        assert!(sender.on_timer(&cfg, us(at)));
        thresholds.push(sender.control().ssthresh());
        assert_eq!(sent_now(&mut sender, &cfg, us(at)), [0]);
    }
    sender.on_packet(&cfg, &ack(1, us(30_000)), us(30_100));
    assert!(sender.on_timer(&cfg, sender.deadline()));
    thresholds.push(sender.control().ssthresh());
    assert_eq!(thresholds, [8_000, 8_000, 2_000]);
}

/// Breaks if duplicates of exactly `recover` start a fast retransmit without SACK (RFC 6582 §3.2
/// step 2: the ACK has to cover more than `recover`).
#[test]
fn duplicates_of_recover_itself_are_not_trusted() {
    let cfg = config(&TransportSpec { sack: false, ..spec("newreno") });
    let mut sender = opened(&cfg, 100_000);
    sender.on_timer(&cfg, us(10_000));
    let mut packet = PacketMeta::default();
    while sender.poll_send(&cfg, us(10_000), &mut packet) {}
    sender.on_packet(&cfg, &ack(10, us(0)), us(10_001));
    while sender.poll_send(&cfg, us(10_001), &mut packet) {}
    let mut entered = |seq| sender.on_packet(&cfg, &ack(seq, us(0)), us(10_002)).fast_retransmit;
    assert_eq!([entered(10), entered(10), entered(10), entered(10)], [false; 4]);
    assert!(!entered(11));
    assert_eq!([entered(11), entered(11), entered(11)], [false, false, true]);
}

/// Breaks if a burst follows recovery without SACK (RFC 6582 §3.2 step 3, option 1).
#[test]
fn a_full_ack_sends_no_burst() {
    let cfg = config(&TransportSpec { sack: false, limited_transmit: false, ..spec("newreno") });
    let mut sender = opened(&cfg, 100_000);
    for _ in 0..3 {
        sender.on_packet(&cfg, &ack(0, us(0)), us(100));
    }
    // All ten arrive; five would fit at once. Nothing is in flight: one segment, and one more.
    sender.on_packet(&cfg, &ack(10, us(0)), us(200));
    let mut packet = PacketMeta::default();
    let mut sent = 0;
    while sender.poll_send(&cfg, us(200), &mut packet) {
        sent += 1;
    }
    assert_eq!(sent, 2);
}

/// Breaks if a SYN-ACK that comes twice opens the flow twice.
#[test]
fn a_second_syn_ack_is_ignored() {
    let cfg = config(&TransportSpec { handshake: true, ..spec("newreno") });
    let mut sender = opened(&cfg, 100_000);
    let syn_ack = PacketMeta { flags: Flags::SYN.with(Flags::ACK), ..ack(0, us(0)) };
    assert_eq!(sender.on_packet(&cfg, &ack(0, us(0)), us(90)), AckOutcome::default());
    assert!(sender.on_packet(&cfg, &syn_ack, us(100)).rtt.is_some());
    assert_eq!(sender.on_packet(&cfg, &syn_ack, us(100)), AckOutcome::default());
}

/// Breaks if a slot's memory is given away on reuse, or if anything of the old flow stays.
#[test]
fn reuse_keeps_memory_and_nothing_else() {
    let spec = spec("newreno");
    let mut first = Pipe::new(&spec, 60_000, losing(&[(3, 1), (5, 1)]));
    first.run(us(1_000_000));
    let (mut sender, mut receiver) = (first.sender, first.receiver);
    assert!(!sender.board.never_used());
    sender.reset(&first.cfg, 60_000);
    receiver.reset();
    assert!(!sender.board.never_used(), "the bitmap is kept");

    let mut again = Pipe::new(&spec, 60_000, losing(&[(3, 1), (5, 1)]));
    (again.sender, again.receiver) = (sender, receiver);
    assert_eq!(again.run(us(1_000_000)), first.trace);
}

/// Breaks if a field is added that makes flows larger unnoticed.
#[test]
fn endpoints_are_small() {
    assert!(size_of::<Sender>() <= 264, "sender {}", size_of::<Sender>());
    assert!(size_of::<Receiver>() <= 128, "receiver {}", size_of::<Receiver>());
    assert_eq!(size_of::<SackBlock>(), 8);
}

/// Breaks if the length of the last segment, or the number of segments, is wrong.
#[test]
fn flows_are_cut_into_segments() {
    let cfg = config(&spec("newreno"));
    for (bytes, segments, last) in [(1, 1, 1), (1000, 1, 1000), (1001, 2, 1), (9_999, 10, 999)] {
        let mut sender = Sender::new();
        sender.reset(&cfg, bytes);
        sender.open(&cfg, us(0));
        let (mut packet, mut sent) = (PacketMeta::default(), 0);
        while sender.poll_send(&cfg, us(0), &mut packet) {
            sent += u64::from(packet.payload);
            assert_eq!(packet.flags.has(Flags::FIN), packet.seq + 1 == segments);
        }
        assert_eq!((sent, sender.bytes_sent(&cfg)), (bytes, bytes));
        assert_eq!((sender.segments(), packet.payload, packet.size), (segments, last, last + 40));
    }
}

/// Keeps the last thing it was told.
#[derive(Debug)]
struct Listener(Option<AckSample>);

impl CongestionControl for Listener {
    fn on_ack(&mut self, ack: &AckSample, _now: Time) {
        assert!(ack.acked > 0);
        self.0 = Some(*ack);
    }
    fn on_loss(&mut self, _loss: Loss, _in_flight: u32, _now: Time) {}
    fn window(&self) -> u32 {
        3_000
    }
    fn ssthresh(&self) -> u32 {
        // The test reads the sample through the only number that nothing here depends on.
        self.0.map_or(0, |ack| ack.acked + 10_000 * ack.marked + 100 * u32::from(ack.window_limited))
    }
}

impl CustomControl for Listener {
    fn fresh(&self) -> Box<dyn CustomControl> {
        Box::new(Listener(None))
    }
}
