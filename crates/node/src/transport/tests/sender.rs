//! The sender alone, with packets made by hand.

use super::pipe::{Pipe, config, losing, spec};
use crate::spec::{Stack, TransportSpec};
use crate::transport::config::stamp;
use crate::transport::rtt::RttEstimator;
use crate::transport::{AckOutcome, Fired, Receiver, Sender, TcpConfig};
use leafspine_core::{Flags, PacketMeta, SackBlock, Span, Time};
use leafspine_schemes::Amount;
use leafspine_schemes::cc::{AckSample, CongestionControl, Control, CustomControl, Loss};

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_micros(us)
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

/// Breaks if the sample is not now minus the echo, in units of 65,536 ps.
#[test]
fn round_trips_are_sampled_by_stamps() {
    let cfg = config(&spec("newreno"));
    let mut sender = opened(&cfg, 100_000);
    let sent = us(0);
    let now = Time(123_456_789);
    let rtt = sender.on_packet(&cfg, &ack(1, sent), now).rtt.expect("new data");
    assert_eq!(rtt, Span(now.0 / 65_536 * 65_536));
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
    assert_eq!(sender.on_timer(&cfg, us(10_099)), Fired::Nothing, "early: nothing happens");
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
    assert_eq!(sent_now(&mut sender, &cfg, us(600)), [12, 13]);
    for _ in 0..3 {
        sender.on_packet(&cfg, &ack(11, us(500)), us(601));
    }
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
    assert_eq!(sender.on_timer(&cfg, us(10_000)), Fired::Timeout);
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
        assert_eq!(sender.on_timer(&cfg, us(at)), Fired::Timeout);
        thresholds.push(sender.control().ssthresh());
        assert_eq!(sent_now(&mut sender, &cfg, us(at)), [0]);
    }
    sender.on_packet(&cfg, &ack(1, us(30_000)), us(30_100));
    assert_eq!(sender.on_timer(&cfg, sender.deadline()), Fired::Timeout);
    thresholds.push(sender.control().ssthresh());
    assert_eq!(thresholds, [8_000, 8_000, 2_000]);
}

/// Breaks if duplicates of exactly `recover` start a fast retransmit without SACK (RFC 6582 §3.2
/// step 2: the ACK has to cover more than `recover`).
#[test]
fn duplicates_of_recover_itself_are_not_trusted() {
    let careful = TransportSpec { sack: false, ..spec("newreno") };
    assert_eq!(duplicates_of_recover(&careful), [false; 4]);
}

/// Breaks if the less careful variant does not take the third of them for a loss (RFC 2582).
#[test]
fn duplicates_of_recover_itself_are_trusted_by_the_less_careful() {
    let stack = Stack { less_careful: true, ..Stack::default() };
    let less = TransportSpec { sack: false, stack, ..spec("newreno") };
    assert_eq!(duplicates_of_recover(&less), [false, false, true, false]);
}

/// Whether each of four duplicates of `recover` starts a fast retransmit; and those of the ACK beyond it do.
fn duplicates_of_recover(spec: &TransportSpec) -> [bool; 4] {
    let cfg = config(spec);
    let mut sender = opened(&cfg, 100_000);
    sender.on_timer(&cfg, us(10_000));
    let mut packet = PacketMeta::default();
    while sender.poll_send(&cfg, us(10_000), &mut packet) {}
    sender.on_packet(&cfg, &ack(10, us(0)), us(10_001));
    while sender.poll_send(&cfg, us(10_001), &mut packet) {}
    let mut entered = |seq| sender.on_packet(&cfg, &ack(seq, us(0)), us(10_002)).fast_retransmit;
    let seen = [entered(10), entered(10), entered(10), entered(10)];
    assert!(!entered(11));
    // One that has begun at `recover` takes 11 for a partial ACK, and none of its duplicates for a loss.
    assert_eq!([entered(11), entered(11), entered(11)], [false, false, seen == [false; 4]]);
    seen
}

/// Breaks if, where that is asked for (ns-3's without SACK), a duplicate after a fast recovery does not
/// count on, the first outstanding segment is not sent again while one counts, or the window is not the
/// threshold; if any of that is without being asked for, or before a duplicate, or still after a timeout.
///
/// By hand: ten segments go, and two more with the first duplicates. The third has 0 sent again and
/// halves the window of ten. 12 ends the recovery with a window of two segments (RFC 6582 §3.2 step 3,
/// option 1), which grows by one with each ACK: three with 13, four with 14; or with the threshold of
/// five (option 2). A duplicate of 13 lets one more go either way, and counts on with 14 where that
/// lingers: six may be outstanding. After the timeout the window is one, then two, and a half more; or
/// two at the threshold of three.
#[test]
fn recoveries_linger_where_asked_for() {
    let sent = |lingering_recovery| {
        let stack = Stack { lingering_recovery, ..Stack::default() };
        let cfg = config(&TransportSpec { sack: false, stack, ..spec("newreno") });
        let mut sender = opened(&cfg, 100_000);
        let acks = [0, 0, 0, 12, 13, 13, 14];
        let mut sent: Vec<_> = acks.map(|seq| heard(&mut sender, &cfg, seq)).into();
        assert_eq!(sender.on_timer(&cfg, us(100_000)), Fired::Timeout);
        let high = sender.high;
        sent.extend([14, high, high + 1].map(|seq| heard(&mut sender, &cfg, seq)));
        sent
    };
    let first: [&[u32]; 3] = [&[10], &[11], &[0]];
    let by_rfc: [&[u32]; 7] = [&[12, 13], &[14, 15], &[16], &[17], &[14], &[18, 19], &[20]];
    assert_eq!(sent(false), [&first[..], &by_rfc].concat());
    let lingering: [&[u32]; 7] =
        [&[12, 13, 14, 15, 16], &[17], &[18], &[14, 19], &[14], &[20, 21], &[22, 23]];
    assert_eq!(sent(true), [&first[..], &lingering].concat());
}

/// Breaks if an ACK takes more than it covers out of what duplicates have told, or less; or if without
/// limited transmit the first two duplicates count at ns-3's, or do not by the RFC.
///
/// By hand: the window of ten is halved; with eight duplicates of 0 thirteen segments may be
/// outstanding. 3 covers three, one of which was missing, and takes two back: eleven, from 3 on.
/// ns-3 without limited transmit counts six of the eight: eleven may be outstanding, and nine then.
#[test]
fn what_lingers_is_what_was_told() {
    let sent = |limited_transmit, lingering_recovery| {
        let stack = Stack { lingering_recovery, ..Stack::default() };
        let spec = TransportSpec { sack: false, limited_transmit, stack, ..spec("newreno") };
        let cfg = config(&spec);
        let mut sender = opened(&cfg, 100_000);
        [0, 0, 0, 0, 0, 0, 0, 0, 3].map(|seq| heard(&mut sender, &cfg, seq))
    };
    let limited: [&[u32]; 9] = [&[10], &[11], &[0], &[], &[], &[], &[], &[12], &[3, 13]];
    assert_eq!([sent(true, false), sent(true, true)], [limited; 2]);
    let without: [&[u32]; 9] = [&[], &[], &[0], &[], &[], &[10], &[11], &[12], &[3, 13]];
    assert_eq!(sent(false, false), without);
    let without: [&[u32]; 9] = [&[], &[], &[0], &[], &[], &[], &[], &[10], &[3, 11]];
    assert_eq!(sent(false, true), without);
}

/// Breaks if without limited transmit a duplicate outside a recovery lets new data go, or counts on.
///
/// By hand: ten segments, three duplicates; 10 ends the recovery with a window of five segments, and
/// each ACK of one lets one go.
#[test]
fn without_limited_transmit_open_counts_nothing() {
    let stack = Stack { lingering_recovery: true, ..Stack::default() };
    let spec = TransportSpec { sack: false, limited_transmit: false, stack, ..spec("newreno") };
    let cfg = config(&spec);
    let mut sender = opened(&cfg, 100_000);
    let sent = [0, 0, 0, 10, 11, 11, 12].map(|seq| heard(&mut sender, &cfg, seq));
    let expected: [&[u32]; 7] = [&[], &[], &[0], &[10, 11, 12, 13, 14], &[15], &[], &[16]];
    assert_eq!(sent, expected);
}

/// What is sent upon an ACK.
fn heard(sender: &mut Sender, cfg: &TcpConfig, seq: u32) -> Vec<u32> {
    sender.on_packet(cfg, &ack(seq, us(0)), us(10));
    sent_now(sender, cfg, us(10))
}

/// Breaks if ECE on a duplicate ACK does not reduce the window (RFC 3168 §6.1.2: any ACK), or does where
/// that is to be ignored; or if ECE on an ACK of new data is ignored as well.
#[test]
fn an_echo_on_a_duplicate_is_heard_unless_ignored() {
    let after = |ignore_duplicate_ece, seq| {
        let stack = Stack { ignore_duplicate_ece, ..Stack::default() };
        let cfg = config(&TransportSpec { ecn: Some(true), stack, ..spec("newreno") });
        let mut sender = opened(&cfg, 100_000);
        let mut marked = sack(seq, seq + 2, seq + 3);
        marked.flags = Flags::ACK.with(Flags::ECE);
        sender.on_packet(&cfg, &marked, us(100));
        sender.control().window()
    };
    assert_eq!([after(false, 0), after(true, 0)], [5_000, 10_000]);
    assert!(after(true, 1) < 10_000);
    // With a switch that keeps more of each segment, too.
    let stack = Stack { ignore_duplicate_ece: true, idle_restart: true, ..Stack::default() };
    let cfg = config(&TransportSpec { ecn: Some(true), stack, ..spec("newreno") });
    let mut sender = opened(&cfg, 100_000);
    let marked = PacketMeta { flags: Flags::ACK.with(Flags::ECE), ..sack(0, 2, 3) };
    sender.on_packet(&cfg, &marked, us(100));
    assert_eq!(sender.control().window(), 10_000);
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

/// Breaks if a SYN-ACK that comes twice opens the flow twice, or if the SYN's timer goes on.
#[test]
fn a_second_syn_ack_is_ignored() {
    let cfg = config(&TransportSpec { handshake: true, ..spec("newreno") });
    let mut sender = opened(&cfg, 100_000);
    let syn_ack = PacketMeta { flags: Flags::SYN.with(Flags::ACK), ..ack(0, us(0)) };
    assert_eq!(sender.on_packet(&cfg, &ack(0, us(0)), us(90)), AckOutcome::default());
    assert!(sender.on_packet(&cfg, &syn_ack, us(100)).rtt.is_some());
    assert_eq!(sender.deadline(), Time::MAX, "the SYN's timer stops");
    assert_eq!(sent_now(&mut sender, &cfg, us(100)).len(), 10);
    assert_eq!(sender.deadline(), us(10_100), "the data's timer starts");
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
    assert!(size_of::<Sender>() <= 256, "sender {}", size_of::<Sender>());
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

/// A control with a window of three segments that checks what it is told, one ACK after another.
#[derive(Debug)]
struct Listener(usize);

/// Acked, marked, in flight (bytes), window used up, una, nxt.
const TOLD: [(u32, u32, u32, bool, u32, u32); 3] = [
    (1000, 0, 3000, true, 1, 3),
    (2000, 2000, 3000, true, 3, 4),
    // Two segments left of a flow of five: the window is no longer used up; the last one is short.
    (1500, 0, 2000, false, 5, 5),
];

impl CongestionControl for Listener {
    fn on_ack(&mut self, ack: &AckSample, now: Time) {
        let told = (ack.acked, ack.marked, ack.in_flight, ack.window_limited, ack.una, ack.nxt);
        assert_eq!(told, TOLD[self.0]);
        assert_eq!(ack.rtt, Some(Span(now.0 / 65_536 * 65_536)));
        self.0 += 1;
    }
    fn on_loss(&mut self, _loss: Loss, _in_flight: u32, _now: Time) {}
    fn window(&self) -> u32 {
        3_000
    }
    fn ssthresh(&self) -> u32 {
        self.0 as u32
    }
}

impl CustomControl for Listener {
    fn fresh(&self) -> Box<dyn CustomControl> {
        Box::new(Listener(0))
    }
}

/// Breaks if the control is not told the truth about an ACK.
#[test]
fn controls_are_told_what_an_ack_did() {
    let mut cfg = config(&TransportSpec { ecn: Some(true), ..spec("newreno") });
    cfg.control = Control::Custom(Box::new(Listener(0)));
    let mut sender = opened(&cfg, 4_500);
    sender.on_packet(&cfg, &ack(1, us(0)), us(100));
    assert_eq!(sent_now(&mut sender, &cfg, us(100)), [3]);
    let marked = PacketMeta { flags: Flags::ACK.with(Flags::ECE), ..ack(3, us(0)) };
    sender.on_packet(&cfg, &marked, us(110));
    assert_eq!(sent_now(&mut sender, &cfg, us(110)), [4]);
    assert!(sender.on_packet(&cfg, &ack(5, us(0)), us(200)).finished);
    assert_eq!(sender.control().ssthresh(), TOLD.len() as u32);
}
