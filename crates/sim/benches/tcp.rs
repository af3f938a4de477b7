//! TCP by itself: what an ACK costs a sender and a segment a receiver.

use crate::common::{base, scheme};
use criterion::{BenchmarkId, Criterion};
use leafspine_core::{Ecn, Flags, PacketMeta, Rng, Role, Span, Time};
use leafspine_schemes::cc;
use leafspine_sim::transport::{Received, Receiver, Sender, TcpConfig};
use std::hint::black_box;

/// A full segment at 10 Gb/s.
const APART: Span = Span(1_200_000);
/// ACKs carry ECE while more segments than this are in flight.
const THRESHOLD: u32 = 100;
/// More segments than are ever in flight.
const STAMPS: usize = 1 << 10;

/// The transport of the tests' base scenario, without its handshake and with ECN for all.
fn config(entry: &cc::Entry) -> TcpConfig {
    let mut spec = base().transport;
    spec.scheme = scheme(entry.info.name);
    spec.handshake = false;
    spec.ecn = Some(true);
    let control = (entry.build)(&spec.scheme.params, &TcpConfig::flow_env(&spec));
    TcpConfig::new(&spec, control.expect("defaults fit"), entry.ecn)
}

/// Controls that do not pace: a flow here sends when an ACK comes.
fn by_window() -> impl Iterator<Item = &'static cc::Entry> {
    cc::ALL.iter().filter(|entry| !matches!(entry.info.name, "bbr1" | "bbr3"))
}

/// A flow over a line that marks at a threshold: each segment is acknowledged after all that were
/// sent before it.
struct Acks {
    cfg: TcpConfig,
    sender: Sender,
    now: Time,
    /// What the segments in flight were stamped with, by segment.
    stamps: Vec<u32>,
    sent: PacketMeta,
    ack: PacketMeta,
}

impl Acks {
    /// A flow that has found its window.
    fn new(entry: &cc::Entry) -> Acks {
        let cfg = config(entry);
        let mut sender = Sender::new();
        sender.reset(&cfg, u64::from(cfg.mss) << 31);
        sender.open(&cfg, Time::ZERO);
        let ack = PacketMeta { size: 40, flags: Flags::ACK, ..PacketMeta::default() };
        let (stamps, sent) = (vec![0; STAMPS], PacketMeta::default());
        let mut flow = Acks { cfg, sender, now: Time::ZERO, stamps, sent, ack };
        flow.send();
        for _ in 0..100_000 {
            flow.step();
            let (window, lost) = (flow.sender.in_flight(), flow.sender.retransmits());
            assert!((1..STAMPS as u32).contains(&window) && lost == 0, "window {window}");
        }
        flow
    }

    #[inline]
    fn step(&mut self) -> u32 {
        self.now += APART;
        let una = self.sender.una();
        self.ack.seq = una + 1;
        self.ack.stamp = self.stamps[una as usize % STAMPS];
        let marked = self.sender.in_flight() > THRESHOLD;
        self.ack.flags = if marked { Flags::ACK.with(Flags::ECE) } else { Flags::ACK };
        let outcome = self.sender.on_packet(&self.cfg, &self.ack, self.now);
        self.send();
        outcome.acked
    }

    #[inline]
    fn send(&mut self) {
        while self.sender.poll_send(&self.cfg, self.now, &mut self.sent) {
            self.stamps[self.sent.seq as usize % STAMPS] = self.sent.stamp;
            black_box(&self.sent);
        }
    }
}

/// Segments that a reordering puts in another order; those of the next such block follow.
const BLOCK: u32 = 1 << 12;

/// A flow of segments that arrive at a receiver.
struct Segments {
    cfg: TcpConfig,
    receiver: Receiver,
    now: Time,
    /// The order in which a block's segments arrive.
    order: Vec<u32>,
    arrived: u32,
    packet: PacketMeta,
    reply: PacketMeta,
}

impl Segments {
    /// Each segment arrives as if sent up to `late` segments later than it was, uniformly: 0 is in
    /// order.
    fn new(entry: &cc::Entry, late: u64) -> Segments {
        let mut rng = Rng::new(1, Role::Workload, 0);
        let mut order: Vec<(u64, u32)> =
            (0..BLOCK).map(|n| (u64::from(n) + rng.below(late + 1), n)).collect();
        order.sort_unstable();
        let packet = PacketMeta { size: 1500, payload: 1460, ..PacketMeta::default() };
        Segments {
            cfg: config(entry),
            receiver: Receiver::new(),
            now: Time::ZERO,
            order: order.into_iter().map(|(_, segment)| segment).collect(),
            arrived: 0,
            packet,
            reply: PacketMeta::default(),
        }
    }

    /// One in four segments is marked, sixteen in a row; CWR follows.
    #[inline]
    fn step(&mut self) -> Received {
        const DATA: Flags = Flags::DATA.with(Flags::ACK);
        self.now += APART;
        let at = self.arrived % BLOCK;
        let segment = self.arrived - at + self.order[at as usize];
        self.arrived += 1;
        self.packet.seq = segment;
        self.packet.stamp = (self.now.0 >> 12) as u32;
        self.packet.ecn = if segment % 64 < 16 { Ecn::Congested } else { Ecn::Capable };
        self.packet.flags = if segment % 64 == 32 { DATA.with(Flags::CWR) } else { DATA };
        self.receiver.on_packet(&self.cfg, &self.packet, self.now, &mut self.reply)
    }
}

/// - `sender/<control>`: ns for one ACK of one new segment and all that it lets the sender send, one
///   segment on average. Nothing is lost, nothing reordered; the window swings below 100 segments
///   because ACKs carry ECE beyond. Timers are not called.
/// - `receiver/<control>`: ns for one segment in order, acknowledged at once; one in four is marked.
///   Controls differ in how marks are echoed only.
/// - `receiver/reordered-<n>`: the same for `dctcp`'s receiver if packets are up to `n` segments late,
///   as if sprayed over unequal queues: gaps, held segments and SACK blocks in nearly every ACK.
///
/// A data packet that crosses a leaf-spine fabric and its ACK make eight packet-hops, about 50 ns
/// each, and one call of each: 8 ns more in either are some 2 % of a run. One control alone: its
/// `on_ack`; all senders: the sender's common path. One flow is always in the cache: what a larger
/// layout costs, only whole runs show. A reordered receiver that slows down with `n` walks over
/// what it holds.
pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sender");
    for entry in by_window() {
        group.bench_function(entry.info.name, |bencher| {
            let mut flow = Acks::new(entry);
            bencher.iter(|| black_box(flow.step()));
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group("receiver");
    for entry in by_window() {
        group.bench_function(entry.info.name, |bencher| {
            let mut flow = Segments::new(entry, 0);
            bencher.iter(|| black_box(flow.step()));
        });
    }
    let dctcp = leafspine_schemes::registry::congestion_control("dctcp").expect("registered");
    for late in [4, 64] {
        group.bench_function(BenchmarkId::from_parameter(format!("reordered-{late}")), |bencher| {
            let mut flow = Segments::new(dctcp, late);
            bencher.iter(|| black_box(flow.step()));
        });
    }
    group.finish();
}
