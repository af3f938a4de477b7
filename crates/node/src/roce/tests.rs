//! A queue pair's two ends, packet by packet.

use super::*;
use crate::transport::{AckOutcome, Received};
use leafspine_core::{Ecn, FiveTuple, HostId, PacketMeta, Rate, Span, Time};
use leafspine_schemes::rdma::{DcqcnSettings, NsccSettings};

fn config(recovery: Recovery, window: Option<u64>) -> RoceConfig {
    let max_timeout = Span::from_micros(300);
    let plain = RoceSpec::line_rate(Span::from_micros(100));
    let spec = RoceSpec { recovery, window, max_timeout, ..plain };
    RoceConfig::new(spec, 1000, 50)
}

const IRN: Recovery = Recovery::Selective { low: Span::from_micros(30), few: 3, after: 1 };

const DCQCN: DcqcnSettings = DcqcnSettings {
    cnp_interval: Span::from_micros(50),
    g: 1.0 / 256.0,
    alpha_timer: Span::from_micros(55),
    alpha_by_timer: false,
    decrease_timer: None,
    increase_timer: Span::from_micros(55),
    byte_counter: Some(10_000_000),
    fast_recovery: 5,
    clamp_target: true,
    additive: Rate::from_mbps(40),
    hyper: Rate::from_mbps(400),
    hyper_grows: true,
    least: Rate::from_mbps(100),
};

/// A message and its queue pair.
struct Sending {
    message: Sender,
    pair: QueuePair,
}

impl Sending {
    fn on_packet(&mut self, cfg: &RoceConfig, p: &PacketMeta, now: Time) -> AckOutcome {
        self.message.on_packet(cfg, &mut self.pair, (p, &[]), now)
    }

    fn on_timer(&mut self, cfg: &RoceConfig, now: Time) -> bool {
        self.message.on_timer(cfg, &mut self.pair, now)
    }

    fn poll_send(&mut self, cfg: &RoceConfig, now: Time, out: &mut PacketMeta) -> bool {
        self.message.poll_send(cfg, &mut self.pair, now, out)
    }

    fn ready_at(&self, cfg: &RoceConfig) -> Option<Time> {
        self.message.ready_at(cfg, &self.pair)
    }
}

/// A flow of so many packets at 10 Gb/s, and its receiver.
fn ends(cfg: &RoceConfig, packets: u64) -> (Sending, Receiver) {
    let (mut message, mut receiver) = (Sender::default(), Receiver::default());
    message.reset(cfg, packets * 1000);
    receiver.reset();
    (Sending { message, pair: QueuePair::new(cfg, Rate::from_gbps(10)) }, receiver)
}

/// Packets that may be sent at once.
fn send(sender: &mut Sending, cfg: &RoceConfig, now: Time) -> Vec<PacketMeta> {
    std::iter::from_fn(|| {
        let mut packet = PacketMeta::default();
        sender.poll_send(cfg, now, &mut packet).then_some(packet)
    })
    .collect()
}

fn numbers(packets: &[PacketMeta]) -> Vec<u32> {
    packets.iter().map(|packet| packet.seq).collect()
}

fn take(receiver: &mut Receiver, cfg: &RoceConfig, packet: &PacketMeta) -> (Received, PacketMeta) {
    let mut reply = PacketMeta::default();
    let received = receiver.on_packet(cfg, &mut { Time::MAX }, packet, Time(0), &mut reply);
    (received, reply)
}

/// Breaks if a receiver of go-back-N takes what is not the next, tells of a gap more than once, or if the sender does
/// anything else than begin again there.
#[test]
fn go_back_n_begins_again_at_the_gap() {
    let cfg = config(Recovery::GoBackN, None);
    let (mut sender, mut receiver) = ends(&cfg, 5);
    let sent = send(&mut sender, &cfg, Time(0));
    assert_eq!(numbers(&sent), [0, 1, 2, 3, 4]);
    let (_, ack) = take(&mut receiver, &cfg, &sent[0]);
    assert_eq!((ack.flags, ack.seq, ack.size), (Flags::ACK, 1, 54));
    let (gap, nak) = take(&mut receiver, &cfg, &sent[2]);
    assert_eq!((gap.reply, nak.flags, nak.seq, gap.delivered), (true, NAK, 1, 0));
    let (again, _) = take(&mut receiver, &cfg, &sent[3]);
    assert!(!again.reply, "once for each gap");
    sender.on_packet(&cfg, &ack, Time(1));
    assert!(sender.on_packet(&cfg, &nak, Time(1)).fast_retransmit);
    let sent = send(&mut sender, &cfg, Time(1));
    assert_eq!(
        (numbers(&sent), sender.message.retransmits(), sender.message.naks()),
        (vec![1, 2, 3, 4], 4, 1)
    );
    assert!(sent.iter().all(|packet| packet.notes & PacketMeta::RETRANSMIT != 0));
    let mut last = PacketMeta::default();
    for packet in &sent {
        let (received, reply) = take(&mut receiver, &cfg, packet);
        assert_eq!((received.delivered, received.complete_now), (1000, packet.seq == 4));
        last = reply;
    }
    assert!(sender.on_packet(&cfg, &last, Time(2)).finished);
    assert_eq!((sender.message.deadline(), sender.ready_at(&cfg)), (Time::MAX, None));
}

/// By hand: of packets 0 to 4, number 1 is lost. With a NAK for each packet beyond the gap, 2, 3
/// and 4 cause three, and each makes the sender begin again with 1. Number 1 is lost once more:
/// number 2 tells of that, without a timeout. Then 1 comes, and what was beyond the gap is in
/// order.
///
/// Breaks if packets beyond a gap cause one NAK only, if a NAK is not followed, or if one is sent
/// where there is no gap.
#[test]
fn go_back_n_tells_of_each_packet_beyond_a_gap() {
    let mut cfg = config(Recovery::GoBackN, None);
    cfg.spec.nak_each = true;
    let (mut sender, mut receiver) = ends(&cfg, 5);
    let sent = send(&mut sender, &cfg, Time(0));
    let mut tell = |packet: &PacketMeta| {
        let (received, reply) = take(&mut receiver, &cfg, packet);
        assert!(received.reply);
        (reply.flags, reply.seq, reply)
    };
    let (_, _, ack) = tell(&sent[0]);
    sender.on_packet(&cfg, &ack, Time(1));
    for packet in &sent[2..] {
        let (flags, seq, nak) = tell(packet);
        assert_eq!((flags, seq), (NAK, 1));
        assert!(sender.on_packet(&cfg, &nak, Time(1)).fast_retransmit);
        assert_eq!(numbers(&send(&mut sender, &cfg, Time(1))), [1, 2, 3, 4]);
    }
    let (flags, seq, nak) = tell(&sent[2]);
    assert_eq!((flags, seq), (NAK, 1));
    sender.on_packet(&cfg, &nak, Time(2));
    let again = send(&mut sender, &cfg, Time(2));
    assert_eq!((numbers(&again), sender.message.timeouts()), (vec![1, 2, 3, 4], 0));
    let answers = [0, 1, 2, 3].map(|n: usize| tell(&again[n]));
    assert_eq!(answers.map(|(flags, seq, _)| (flags, seq)), [2, 3, 4, 5].map(|n| (Flags::ACK, n)));
}

/// Breaks if IRN's receiver does not keep what comes out of order, if the sender sends more again than what is missing
/// below the highest, or new packets before that, or if it loses count when the gap is filled.
#[test]
fn irn_sends_what_is_missing() {
    let cfg = config(IRN, Some(6_000));
    let (mut sender, mut receiver) = ends(&cfg, 9);
    let sent = send(&mut sender, &cfg, Time(0));
    assert_eq!(numbers(&sent), [0, 1, 2, 3, 4, 5], "the window");
    // 0 and 3 are lost.
    let answers: Vec<_> = [1, 2, 4, 5].map(|n| take(&mut receiver, &cfg, &sent[n]).1).to_vec();
    assert!(answers.iter().all(|answer| answer.flags == NAK && answer.seq == 0));
    sender.on_packet(&cfg, &answers[0], Time(1));
    assert_eq!(numbers(&send(&mut sender, &cfg, Time(1))), [0]);
    sender.on_packet(&cfg, &answers[1], Time(2));
    assert_eq!(numbers(&send(&mut sender, &cfg, Time(2))), [0; 0]);
    sender.on_packet(&cfg, &answers[2], Time(3));
    let again = send(&mut sender, &cfg, Time(3));
    assert_eq!(numbers(&again), [3]);
    let (filled, ack) = take(&mut receiver, &cfg, &sent[0]);
    assert_eq!((filled.delivered, ack.flags, ack.seq), (3_000, Flags::ACK, 3));
    sender.on_packet(&cfg, &ack, Time(4));
    assert_eq!(numbers(&send(&mut sender, &cfg, Time(4))), [6, 7, 8]);
    let (filled, ack) = take(&mut receiver, &cfg, &again[0]);
    assert_eq!((filled.delivered, ack.seq, receiver.assembly.expected()), (3_000, 6, 6));
    sender.on_packet(&cfg, &ack, Time(5));
    assert_eq!((sender.message.retransmits(), sender.message.timeouts()), (2, 0));
}

/// By hand, of packets 0 to 5: 1 and 4 are lost. 2 comes, and 1 is sent again; the NAK of 5 is
/// overtaken by the acknowledgment of all below 4, which 1 causes. It is the only one to tell that
/// 5 has come, and so that 4 is lost, which its sender would else learn by a timeout.
///
/// Breaks if a NAK that is overtaken tells of nothing, or sends the sender back behind what is
/// acknowledged; if one that is about nothing new makes it send.
#[test]
fn irn_hears_a_nak_that_was_overtaken() {
    let cfg = config(IRN, Some(6_000));
    let (mut sender, mut receiver) = ends(&cfg, 9);
    let sent = send(&mut sender, &cfg, Time(0));
    let mut answer = |packet: &PacketMeta| take(&mut receiver, &cfg, packet).1;
    let [first, third, fourth, last] = [0, 2, 3, 5].map(|n: usize| answer(&sent[n]));
    sender.on_packet(&cfg, &first, Time(1));
    sender.on_packet(&cfg, &third, Time(1));
    let again = send(&mut sender, &cfg, Time(1));
    assert_eq!(numbers(&again), [1, 6]);
    let filled = answer(&again[0]);
    assert_eq!((last.flags, last.seq, filled.flags, filled.seq), (NAK, 1, Flags::ACK, 4));
    sender.on_packet(&cfg, &filled, Time(2));
    assert_eq!(numbers(&send(&mut sender, &cfg, Time(2))), [7, 8]);
    assert!(sender.on_packet(&cfg, &last, Time(3)).fast_retransmit);
    assert_eq!((numbers(&send(&mut sender, &cfg, Time(3))), sender.message.una), (vec![4], 4));
    sender.on_packet(&cfg, &fourth, Time(3));
    assert_eq!(numbers(&send(&mut sender, &cfg, Time(3))), [0; 0]);
}

/// By hand, of nine packets with a threshold of 3: 1 and 2 come before 0, which allows for
/// reordering; 3 comes, and 0 is lost, but 4 is not when 5 and 6 have come; with 7 it is.
///
/// Breaks if a packet is sent again that may only be late, or one that is lost is not.
#[test]
fn irn_allows_for_reordering() {
    let later = Recovery::Selective { low: Span::from_micros(30), few: 3, after: 3 };
    let cfg = config(later, None);
    let (mut sender, mut receiver) = ends(&cfg, 9);
    let sent = send(&mut sender, &cfg, Time(0));
    let mut came = |sender: &mut Sending, n: usize| {
        let answer = take(&mut receiver, &cfg, &sent[n]).1;
        sender.on_packet(&cfg, &answer, Time(1));
        numbers(&send(sender, &cfg, Time(1)))
    };
    let again = [1, 2, 3, 5, 6, 7, 0].map(|n| came(&mut sender, n));
    let none = Vec::new;
    assert_eq!(again, [none(), none(), vec![0], none(), none(), vec![4], none()]);
    assert_eq!((sender.message.retransmits(), sender.message.naks()), (2, 6));
}

/// Breaks if a packet that is kept already is answered by anything but a NAK of its own: if the
/// first one's is lost, the sender would send it at every timeout until all before it has come.
/// What lies below the next is acknowledged as that.
#[test]
fn irn_tells_again_of_what_it_has() {
    let cfg = config(IRN, None);
    let (mut sender, mut receiver) = ends(&cfg, 3);
    let sent = send(&mut sender, &cfg, Time(0));
    take(&mut receiver, &cfg, &sent[1]);
    let (received, nak) = take(&mut receiver, &cfg, &sent[1]);
    assert_eq!((received.duplicate, nak.flags, nak.seq, nak.sack[0].start), (true, NAK, 0, 1));
    sender.on_packet(&cfg, &nak, Time(1));
    assert!(sender.on_timer(&cfg, Time(0) + Span::from_micros(100)));
    assert_eq!(numbers(&send(&mut sender, &cfg, Time(1))), [0], "nothing tells that 2 is lost");
    take(&mut receiver, &cfg, &sent[0]);
    let (received, ack) = take(&mut receiver, &cfg, &sent[1]);
    assert_eq!((received.duplicate, ack.flags, ack.seq), (true, Flags::ACK, 2));
    assert_eq!(receiver.assembly.duplicates(), 2);
}

/// By hand, of packets 0 to 8: 0, 2 and 4 are lost, and 0 once more; 6 to 8 are on their way. The
/// timeout sends 0 and 2 and 4 again, which lie below 5, the highest that is known to have come,
/// and none of those beyond it. Nothing is known of 7 and 8 when 6 comes: they are not sent before
/// a timeout of their own, which sends 7 alone.
///
/// Breaks if a timeout sends again what may be on its way, or not what is known to be lost: a
/// window of packets would be sent twice for each.
#[test]
fn irn_sends_what_is_known_to_be_lost_after_a_timeout() {
    let cfg = config(IRN, None);
    let (mut sender, mut receiver) = ends(&cfg, 9);
    let sent = send(&mut sender, &cfg, Time(0));
    let mut come = |sender: &mut Sending, packets: &[PacketMeta]| {
        for packet in packets {
            let answer = take(&mut receiver, &cfg, packet).1;
            sender.on_packet(&cfg, &answer, Time(1));
        }
        send(sender, &cfg, Time(1))
    };
    assert_eq!(numbers(&come(&mut sender, &[sent[1], sent[3], sent[5]])), [0, 2, 4]);
    let expire = |sender: &mut Sending| while !sender.on_timer(&cfg, sender.message.deadline()) {};
    expire(&mut sender);
    let again = send(&mut sender, &cfg, Time(2));
    assert_eq!(numbers(&again), [0, 2, 4]);
    assert_eq!(numbers(&come(&mut sender, &again)), [0; 0]);
    assert_eq!(numbers(&come(&mut sender, &[sent[6]])), [0; 0]);
    expire(&mut sender);
    let last = send(&mut sender, &cfg, Time(3));
    assert_eq!((numbers(&last), sender.message.retransmits()), (vec![7], 7));
}

/// By hand: a window of six packets is lost, and 64 may come before one that is not missing. The
/// timeout sends 0 again, whose acknowledgment lets 6 go, and when that comes 1 to 5 are lost:
/// whatever was late would have come before the timeout.
///
/// Breaks if reordering is allowed for among packets that were sent before a timeout: with fewer
/// than 64 under way each lost one would cost a timeout.
#[test]
fn what_was_sent_before_a_timeout_is_not_late() {
    let tolerant = Recovery::Selective { low: Span::from_micros(100), few: 3, after: 64 };
    let cfg = config(tolerant, Some(6_000));
    let (mut sender, mut receiver) = ends(&cfg, 9);
    assert_eq!(send(&mut sender, &cfg, Time(0)).len(), 6);
    while !sender.on_timer(&cfg, sender.message.deadline()) {}
    let again = send(&mut sender, &cfg, Time(1));
    let answer = take(&mut receiver, &cfg, &again[0]).1;
    sender.on_packet(&cfg, &answer, Time(2));
    let next = send(&mut sender, &cfg, Time(2));
    assert_eq!((numbers(&again), numbers(&next)), (vec![0], vec![6]));
    let answer = take(&mut receiver, &cfg, &next[0]).1;
    sender.on_packet(&cfg, &answer, Time(3));
    assert_eq!(numbers(&send(&mut sender, &cfg, Time(3))), [1, 2, 3, 4, 5]);
}

/// Breaks if few packets under way wait for the long timeout, if timeouts do not double up to the
/// longest, or if what has come is sent again after one.
#[test]
fn timeouts_by_hand() {
    let cfg = config(IRN, None);
    let (mut sender, mut receiver) = ends(&cfg, 2);
    let sent = send(&mut sender, &cfg, Time(0));
    assert_eq!(sender.message.deadline(), Time(0) + Span::from_micros(30), "two under way");
    let (_, nak) = take(&mut receiver, &cfg, &sent[1]);
    sender.on_packet(&cfg, &nak, Time(0));
    assert_eq!(numbers(&send(&mut sender, &cfg, Time(0))), [0]);
    for (due, next) in [(30, 90), (90, 210), (210, 450), (450, 750)] {
        let at = |us| Time(0) + Span::from_micros(us);
        assert!(!sender.on_timer(&cfg, Time(at(due).0 - 1)) && sender.on_timer(&cfg, at(due)));
        assert_eq!(sender.message.deadline(), at(next));
        assert_eq!(numbers(&send(&mut sender, &cfg, at(due))), [0]);
    }
    let cfg = config(Recovery::GoBackN, None);
    let (mut sender, _) = ends(&cfg, 2);
    send(&mut sender, &cfg, Time(0));
    assert_eq!(sender.message.deadline(), Time(0) + Span::from_micros(100));
}

/// Breaks if the low timeout counts where many packets are under way, because the first of them was
/// alone when the timer began.
#[test]
fn few_packets_are_counted_at_the_end() {
    let cfg = config(IRN, None);
    let (mut sender, _) = ends(&cfg, 9);
    send(&mut sender, &cfg, Time(0));
    let [low, long] = [30, 100].map(|us| Time(0) + Span::from_micros(us));
    assert!(!sender.on_timer(&cfg, low));
    assert_eq!((sender.message.deadline(), sender.message.timeouts()), (long, 0));
    assert!(sender.on_timer(&cfg, long));
}

/// Breaks if messages of one queue pair have a rate or a window each: a CNP that answers the first
/// slows the second, whose packets wait for those of the first, and what is acknowledged of the
/// first makes room.
#[test]
fn messages_share_a_queue_pair() {
    let mut cfg = config(Recovery::GoBackN, Some(4_000));
    cfg.spec.control = PairControl::Dcqcn(DCQCN);
    let (mut sender, mut receiver) = ends(&cfg, 3);
    let mut second = Sender::default();
    second.reset(&cfg, 5_000);
    let sent = send(&mut sender, &cfg, Time(0));
    let mut next = |pair: &mut QueuePair| {
        let mut packet = PacketMeta::default();
        second.poll_send(&cfg, pair, Time(0), &mut packet).then_some(packet.seq)
    };
    assert_eq!([next(&mut sender.pair), next(&mut sender.pair)], [Some(0), None]);
    let (_, ack) = take(&mut receiver, &cfg, &sent[0]);
    sender.on_packet(&cfg, &ack, Time(1));
    let cnp = PacketMeta { flags: CNP, ..PacketMeta::default() };
    sender.on_packet(&cfg, &cnp, Time(1));
    assert_eq!([next(&mut sender.pair), next(&mut sender.pair)], [Some(1), None]);
    assert_eq!(sender.pair.next_at, Time(1_680_000), "at half of the line's rate");
    // All that is under way of the first is to be sent again: it is no longer under way.
    assert!(sender.on_timer(&cfg, sender.message.deadline()));
    assert_eq!([next(&mut sender.pair), next(&mut sender.pair)], [Some(2), Some(3)]);
}

/// Breaks if two messages of a connection have something each, if two flows share, or if what is given back is kept.
#[test]
fn connections_share() {
    let connection = |port| Some(FiveTuple::new(HostId(0), HostId(1), port, 5001));
    let mut shared = Shared::default();
    let numbers = [None, connection(1), connection(2), connection(1), None]
        .map(|connection| shared.take(connection, || Time(7)));
    assert_eq!(numbers, [0, 1, 2, 1, 3]);
    *shared.get_mut(1) = Time(8);
    shared.give_back(3);
    assert_eq!([shared.take(None, || Time(9)), shared.take(connection(1), || Time(9))], [3, 1]);
    assert_eq!((*shared.get_mut(3), *shared.get_mut(1)), (Time(9), Time(8)));
}

/// Breaks if acknowledgments are not coalesced, or if a window that is full waits for one that no packet asks for.
#[test]
fn acknowledgments_are_asked_for() {
    let mut cfg = config(Recovery::GoBackN, None);
    cfg.spec.ack_every = 4;
    let asked = |cfg: &RoceConfig, packets| {
        let (mut sender, mut receiver) = ends(cfg, packets);
        let sent = send(&mut sender, cfg, Time(0));
        sent.iter()
            .filter(|p| take(&mut receiver, cfg, p).0.reply)
            .map(|p| p.seq)
            .collect::<Vec<_>>()
    };
    assert_eq!(asked(&cfg, 10), [3, 7, 9]);
    cfg.window = 3;
    assert_eq!(asked(&cfg, 10), [2]);
}

/// Breaks if marked packets cause more than one CNP an interval, if the first one waits, or if a CNP does not cut the
/// rate at which the next packet leaves. A NAK does so only where the card takes it for congestion.
#[test]
fn marks_cut_the_rate() {
    let mut cfg = config(Recovery::GoBackN, None);
    cfg.spec.control = PairControl::Dcqcn(DCQCN);
    let (mut sender, mut receiver) = ends(&cfg, 9);
    let mut packet = PacketMeta::default();
    assert!(sender.poll_send(&cfg, Time(0), &mut packet));
    assert_eq!(sender.ready_at(&cfg), Some(Time(840_000)), "1,050 bytes at 10 Gb/s");
    packet.ecn = Ecn::Congested;
    let mut notify_at = Time::ZERO;
    let mut notified = |us: u64| {
        let now = Time(0) + Span::from_micros(us);
        let mut reply = PacketMeta::default();
        receiver.on_packet(&cfg, &mut notify_at, &packet, now, &mut reply).notify
    };
    assert_eq!([0, 1, 49, 50, 99, 100].map(&mut notified), [true, false, false, true, false, true]);
    let cnp = PacketMeta { flags: CNP, ..PacketMeta::default() };
    assert!(!sender.on_packet(&cfg, &cnp, Time(100)).fast_retransmit);
    assert!(sender.poll_send(&cfg, Time(840_000), &mut packet));
    assert_eq!(sender.ready_at(&cfg), Some(Time(840_000 + 1_680_000)), "at half of it");
    let nak = PacketMeta { flags: NAK, ..PacketMeta::default() };
    sender.on_packet(&cfg, &nak, Time(900_000));
    assert_eq!(sender.pair.rate(&cfg), Rate::from_gbps(5));
    // No more often than a CNP would come: every packet behind a gap has its NAK.
    cfg.spec.nak_cuts = true;
    let mut after_naks = |us: u64| {
        sender.on_packet(&cfg, &nak, Time(900_000) + Span::from_micros(us));
        sender.pair.rate(&cfg)
    };
    let cut = after_naks(0);
    assert!(cut < Rate::from_gbps(3));
    assert_eq!([1, 2, 49].map(&mut after_naks), [cut; 3]);
    assert!(after_naks(50) < cut);
}

/// By hand: of packets 0 to 4, number 1 comes trimmed, 2 and 3 come in the other order, 4 is lost.
///
/// Breaks if a header without payload counts as come, or is told of twice; if order means loss; if
/// what has come is sent again, or what is missing is not, or before its turn; if a timeout finds
/// anything else than what no acknowledgment has reported; or if packets that are not under way
/// fill the window.
#[test]
fn packet_by_packet_what_is_trimmed_comes_again() {
    let mut cfg = config(Recovery::Each, Some(5_000));
    cfg.spec.ack_every = 1;
    let (mut sender, mut receiver) = ends(&cfg, 7);
    let sent = send(&mut sender, &cfg, Time(0));
    assert_eq!(numbers(&sent), [0, 1, 2, 3, 4]);
    let header = PacketMeta {
        size: 50,
        payload: 0,
        flags: sent[1].flags.without(Flags::DATA),
        notes: PacketMeta::TRIMMED,
        ..sent[1]
    };
    let (_, first) = take(&mut receiver, &cfg, &sent[0]);
    let (seen, nak) = take(&mut receiver, &cfg, &header);
    assert_eq!(
        (seen.reply, seen.delivered, nak.flags, nak.seq, nak.sack[0].start),
        (true, 0, NAK, 1, 1)
    );
    let [third, second] = [3, 2].map(|n: usize| take(&mut receiver, &cfg, &sent[n]).1);
    assert_eq!([third.flags, second.flags], [Flags::ACK; 2]);
    assert_eq!((second.seq, second.sack[0].start), (1, 2));
    // The last of these tells of what has come in order; the others of their own packets alone.
    let under_way = [&second, &first, &nak, &third].map(|answer| {
        let again = sender.on_packet(&cfg, answer, Time(1)).fast_retransmit;
        assert_eq!(again, answer.flags == NAK);
        sender.pair.under_way()
    });
    assert_eq!(under_way, [3, 3, 2, 1]);
    assert_eq!(numbers(&send(&mut sender, &cfg, Time(1))), [1, 5, 6]);
    assert_eq!((sender.message.retransmits(), sender.message.naks()), (1, 1));
    // Told twice.
    sender.on_packet(&cfg, &third, Time(1));
    assert_eq!(sender.pair.under_way(), 4);
}

/// NSCC's constants for packets of this size: 8 us on a line of 10 Gb/s are ten of 1,000 bytes.
fn nscc(packet: u32) -> NsccSettings {
    NsccSettings {
        base_rtt: Span::from_micros(8),
        target: Span::from_micros(4),
        proportional: 4_000,
        fair: 500,
        eta: 10,
        fast: 0.25,
        gamma: 0.8,
        gate: 3,
        no_wait: Span::from_micros(1),
        weight: 0.5,
        packet,
        most: 1.5,
    }
}

/// By hand, with an acknowledgment for every fourth packet: 3 asks for one, but comes first and without
/// its payload. 0, 1 and 2 are in order and ask for nothing; they are answered all the same, and so the
/// sender, whose window of three packets they fill, sends 3 again. 4 to 6 ask for nothing, and nobody
/// has asked for them: they are not.
///
/// Breaks if a request for an acknowledgment is lost with a payload: all would wait for a timeout.
#[test]
fn a_header_without_payload_still_asks() {
    let mut cfg = config(Recovery::Each, None);
    cfg.spec.ack_every = 4;
    let (mut sender, mut receiver) = ends(&cfg, 9);
    let sent = send(&mut sender, &cfg, Time(0));
    let header = PacketMeta {
        flags: sent[3].flags.without(Flags::DATA),
        notes: PacketMeta::TRIMMED,
        ..sent[3]
    };
    assert!(sent[3].flags.has(ASKS) && !sent[2].flags.has(ASKS));
    let nak = take(&mut receiver, &cfg, &header).1;
    assert_eq!((nak.flags, nak.seq), (NAK, 0));
    for packet in &sent[..3] {
        let (seen, reply) = take(&mut receiver, &cfg, packet);
        assert_eq!((seen.reply, reply.flags, reply.seq), (true, Flags::ACK, packet.seq + 1));
    }
    assert!(take(&mut receiver, &cfg, &sent[3]).0.reply);
    assert_eq!([4, 5, 6].map(|n| take(&mut receiver, &cfg, &sent[n]).0.reply), [false; 3]);
}

/// By hand, with an acknowledgment for every fourth packet and NSCC's window of ten packets, which
/// losses have made smaller than the three that are under way: 3, which asks, comes back to the sender
/// without its payload, and 0 to 2 ask for nothing. 3 goes again at once, and asks; nothing else does.
///
/// Breaks if a sender waits for an answer that nobody has been asked for.
#[test]
fn a_header_that_has_come_back_asked_nobody() {
    let control = PairControl::Nscc(nscc(1_050));
    let spec = RoceSpec { control, ack_every: 4, ..config(Recovery::Each, None).spec };
    let cfg = RoceConfig::new(spec, 1000, 50);
    let (mut sender, _) = ends(&cfg, 9);
    let mut packet = PacketMeta::default();
    let mut one =
        |sender: &mut Sending| sender.poll_send(&cfg, Time(0), &mut packet).then_some(packet);
    let sent: Vec<PacketMeta> = (0..4).filter_map(|_| one(&mut sender)).collect();
    assert!(sent[3].flags.has(ASKS) && !sent[2].flags.has(ASKS));
    sender.pair.lose(&cfg, 9, Time(0));
    let back = PacketMeta {
        flags: sent[3].flags.without(Flags::DATA),
        notes: PacketMeta::TRIMMED,
        ..sent[3]
    };
    sender.on_packet(&cfg, &back, Time(0));
    let again = send(&mut sender, &cfg, Time(0));
    let what: Vec<(u32, bool)> = again.iter().map(|p| (p.seq, p.flags.has(ASKS))).collect();
    assert_eq!(what, [(3, true)]);
}

/// By hand, with an acknowledgment for every fourth packet: 0 comes with a mark and is not
/// answered, 1 comes trimmed (and was marked itself), and 2 is the first to be acknowledged; the
/// NAK tells the sender's control of a loss alone, so it is 2's that has to tell of 0's mark, and
/// 3's has none.
///
/// Breaks if the mark of a packet that came is lost with a NAK, is told of twice, or if that of a
/// trimmed packet counts as one that came.
#[test]
fn a_nak_keeps_no_mark() {
    let control = PairControl::Nscc(nscc(1_050));
    let spec = RoceSpec { control, ack_every: 4, ..config(Recovery::Each, None).spec };
    let cfg = RoceConfig::new(spec, 1000, 50);
    let (mut sender, mut receiver) = ends(&cfg, 9);
    let sent = send(&mut sender, &cfg, Time(0));
    let marked = |packet: &PacketMeta| PacketMeta { ecn: Ecn::Congested, ..*packet };
    let header = |packet: &PacketMeta| PacketMeta {
        flags: packet.flags.without(Flags::DATA),
        notes: PacketMeta::TRIMMED,
        ..marked(packet)
    };
    assert!(!take(&mut receiver, &cfg, &marked(&sent[0])).0.reply);
    let mut flags = |packet: &PacketMeta| take(&mut receiver, &cfg, packet).1.flags;
    let answers = [header(&sent[1]), sent[2], sent[3]].map(|packet| flags(&packet));
    assert_eq!(answers, [NAK, Flags::ACK.with(Flags::ECE), Flags::ACK]);
    assert_eq!([header(&sent[4]), sent[5]].map(|packet| flags(&packet)), [NAK, Flags::ACK]);
}

/// Breaks if a header that a switch has sent back is not sent again at once, or a packet twice for
/// two signs of one loss; or if a timeout sends again what has come.
#[test]
fn packet_by_packet_returned_headers_and_timeouts() {
    let cfg = config(Recovery::Each, None);
    let (mut sender, mut receiver) = ends(&cfg, 4);
    let sent = send(&mut sender, &cfg, Time(0));
    let back = PacketMeta { notes: PacketMeta::TRIMMED | PacketMeta::REPLY, ..sent[2] };
    assert!(sender.on_packet(&cfg, &back, Time(1)).fast_retransmit);
    assert!(!sender.on_packet(&cfg, &back, Time(1)).fast_retransmit);
    assert_eq!(numbers(&send(&mut sender, &cfg, Time(1))), [2]);
    let (_, ack) = take(&mut receiver, &cfg, &sent[1]);
    sender.on_packet(&cfg, &ack, Time(2));
    assert_eq!(sender.message.deadline(), Time(2) + Span::from_micros(100), "news");
    assert!(sender.on_timer(&cfg, Time(2) + Span::from_micros(100)));
    assert_eq!(sender.pair.under_way(), 0);
    let again = send(&mut sender, &cfg, Time(200_000_000));
    assert_eq!(numbers(&again), [0, 2, 3]);
    let mut last = ack;
    for packet in &again {
        last = take(&mut receiver, &cfg, packet).1;
    }
    assert!(sender.on_packet(&cfg, &last, Time(3)).finished);
    assert_eq!(sender.pair.under_way(), 0);
}
