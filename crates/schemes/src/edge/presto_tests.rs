//! Flowcells and reassembly, after Algorithms 1 and 2 of the Presto paper.

use super::*;
use crate::Value;
use crate::testing::{FakeHost, control, data};
use leafspine_core::{Bytes, Flags};

const IN_ORDER: Span = Span::from_micros(5);
const OUT_OF_ORDER: Span = Span::from_micros(500);

fn made(host: &FakeHost, reassemble: bool) -> Box<dyn HostEdge> {
    let params = Params::defaults(ENTRY.info.params).with("reassemble", Value::Bool(reassemble));
    build(&params, &host.env).unwrap()
}

/// The flowcell of each of `segments` segments of `mss` bytes, sent once each.
fn cells(mss: u16, segments: u32) -> Vec<u32> {
    let mut host = FakeHost::new(u32::from(mss));
    let mut edge = made(&host, false);
    (0..segments)
        .map(|seq| {
            let mut packet = PacketMeta { payload: mss, ..data(0, 9, 1, seq) };
            host.send(&mut *edge, &mut packet);
            host.bytes_sent += u64::from(mss);
            assert_eq!(path_number(&packet), Some(cell(&packet) - 1), "one path a flowcell");
            cell(&packet) - 1
        })
        .collect()
}

/// Breaks if a flowcell ends before or after 65,536 bytes: 64 segments of 1024 bytes fill it
/// exactly, and of 1460 bytes 44 fit (64,240) but 45 do not (Algorithm 1).
#[test]
fn cells_end_at_64_kib() {
    for (mss, per_cell) in [(1_024, 64), (1_460, 44)] {
        for (seq, cell) in cells(mss, 300).into_iter().enumerate() {
            assert_eq!(cell, seq as u32 / per_cell, "segment {seq} of {mss} bytes");
        }
    }
}

/// Breaks if a retransmission begins a flowcell, fills one, or goes back to its old one.
#[test]
fn retransmissions_keep_to_the_current_cell() {
    let mut host = FakeHost::new(1_024);
    let mut edge = made(&host, false);
    let mut send = |host: &mut FakeHost, seq: u32| {
        let mut packet = PacketMeta { payload: 1_024, ..data(0, 9, 1, seq) };
        host.send(&mut *edge, &mut packet);
        host.bytes_sent = host.bytes_sent.max(u64::from(seq + 1) * 1_024);
        cell(&packet) - 1
    };
    for seq in 0..128 {
        assert_eq!(send(&mut host, seq), seq / 64);
    }
    // The second flowcell is full, but only new data begins the third.
    assert_eq!((send(&mut host, 3), send(&mut host, 100)), (1, 1));
    assert_eq!((send(&mut host, 128), send(&mut host, 5)), (2, 2));
    for seq in 129..192 {
        assert_eq!(send(&mut host, seq), 2);
    }
    assert_eq!(send(&mut host, 192), 3);
}

/// Breaks if an ACK or a SYN is put into a flowcell.
#[test]
fn control_packets_have_no_cell() {
    let mut host = FakeHost::new(1_460);
    let mut edge = made(&host, false);
    for flags in [Flags::ACK, Flags::SYN, Flags::SYN.with(Flags::ACK), Flags::FIN] {
        let mut packet = control(0, 9, 1, flags);
        host.send(&mut *edge, &mut packet);
        assert_eq!(path_number(&packet), None);
    }
}

/// A receiver: what waits, and what has gone up.
struct Receiver {
    host: FakeHost,
    edge: Box<dyn HostEdge>,
    waiting: Vec<Waiting>,
    up: Vec<u32>,
    again: Option<Time>,
}

impl Receiver {
    fn new() -> Receiver {
        let host = FakeHost::new(1_460);
        let edge = made(&host, true);
        assert!(edge.needs().reassembly && !made(&host, false).needs().reassembly);
        Receiver { host, edge, waiting: Vec::new(), up: Vec::new(), again: None }
    }

    fn ask(&mut self) {
        let deliver = self.host.reassemble(&mut *self.edge, &self.waiting);
        self.up.extend(self.waiting.drain(..deliver.count).map(|w| w.packet.seq));
        while self.up.contains(&self.host.expected) {
            self.host.expected += 1;
        }
        self.again = deliver.again;
    }

    /// Segment `seq` of flowcell `cell` comes `after` the last event.
    fn arrive(&mut self, after: Span, seq: u32, cell: u32) {
        self.host.now += after;
        let mut packet = data(0, 9, 1, seq);
        set_cell(&mut packet, cell);
        let at = self.waiting.partition_point(|w| w.packet.seq <= seq);
        self.waiting.insert(at, Waiting { packet, since: self.host.now });
        self.ask();
    }

    /// Lets the timer fire that was asked for; returns how long that took.
    fn fire(&mut self) -> Span {
        let at = self.again.expect("a timer is set");
        let took = at - self.host.now;
        self.host.now = at;
        self.ask();
        took
    }
}

/// Breaks if packets in order are not held for the in-order timer of the oldest, or not
/// delivered together.
#[test]
fn packets_in_order_go_up_together() {
    let mut receiver = Receiver::new();
    for seq in 0..3 {
        receiver.arrive(Span::from_micros(1), seq, 0);
    }
    assert!(receiver.up.is_empty());
    assert_eq!(receiver.fire(), Span::from_micros(3));
    assert_eq!((receiver.up, receiver.again), (vec![0, 1, 2], None));
}

/// Breaks if a batch grows beyond a flowcell: 45 segments of 1460 bytes are the first to exceed
/// 65,536 bytes.
#[test]
fn a_batch_is_a_cell_at_most() {
    let mut receiver = Receiver::new();
    for seq in 0..44 {
        receiver.arrive(Span::from_nanos(1), seq, 0);
    }
    assert!(receiver.up.is_empty());
    receiver.arrive(Span::from_nanos(1), 44, 1);
    assert_eq!(receiver.up.len(), 45);
}

/// Breaks if a batch of exactly a flowcell waits for more: 64 segments of 1024 bytes.
#[test]
fn a_full_cell_goes_up() {
    let mut host = FakeHost::new(1_024);
    let mut edge = made(&host, true);
    let segment = |seq| Waiting {
        packet: PacketMeta { payload: 1_024, ..data(0, 9, 1, seq) },
        since: Time::ZERO,
    };
    let waiting: Vec<Waiting> = (0..64).map(segment).collect();
    assert_eq!(host.reassemble(&mut *edge, &waiting[..63]).count, 0);
    assert_eq!(host.reassemble(&mut *edge, &waiting).count, 64);
}

/// Breaks if packets in order wait longer than the in-order timer when others wait behind a gap, or if the
/// gap is forgotten when they go up; or if the number of segments is taken for that of flowcells.
#[test]
fn the_earlier_of_the_two_timers_is_set() {
    let mut receiver = Receiver::new();
    for seq in 0..3 {
        receiver.arrive(Span::ZERO, seq, 0);
    }
    receiver.fire();
    receiver.arrive(Span::from_micros(1), 3, 0);
    receiver.arrive(Span::from_micros(1), 5, 1);
    assert_eq!(receiver.up, [0, 1, 2]);
    assert_eq!(receiver.fire(), Span(IN_ORDER.0 - Span::from_micros(1).0));
    assert_eq!(receiver.up, [0, 1, 2, 3]);
    assert_eq!(receiver.fire(), Span(OUT_OF_ORDER.0 - Span::from_micros(4).0));
    assert_eq!(receiver.up, [0, 1, 2, 3, 5]);
}

/// Breaks if a later flowcell that overtakes is not held until the earlier one is complete
/// (Algorithm 2: a gap at a flowcell's edge).
#[test]
fn overtaking_cells_wait_for_the_gap_to_fill() {
    let mut receiver = Receiver::new();
    receiver.arrive(Span::ZERO, 0, 0);
    receiver.fire();
    receiver.arrive(Span::from_micros(1), 2, 1);
    receiver.arrive(Span::from_micros(1), 3, 1);
    assert_eq!(receiver.up, [0]);
    receiver.arrive(Span::from_micros(1), 1, 0);
    receiver.fire();
    assert_eq!((receiver.up, receiver.again), (vec![0, 1, 2, 3], None));
}

/// Breaks if a gap is waited for longer, or shorter, than the out-of-order timer, or if the late
/// packet is then held as if it were in order.
#[test]
fn gaps_are_given_up() {
    let mut receiver = Receiver::new();
    receiver.arrive(Span::ZERO, 0, 0);
    assert_eq!(receiver.fire(), IN_ORDER);
    receiver.arrive(Span::from_micros(1), 2, 1);
    receiver.arrive(Span::from_micros(1), 3, 1);
    assert_eq!(receiver.fire(), Span(OUT_OF_ORDER.0 - Span::from_micros(1).0));
    assert_eq!(receiver.up, [0, 2, 3]);
    receiver.arrive(Span::from_micros(1), 1, 1);
    assert_eq!((receiver.up, receiver.again), (vec![0, 2, 3, 1], None));
}

/// Breaks if a late packet makes the receiver forget which gaps it has given up: segment 5 would
/// then wait behind the gap at 3 again.
#[test]
fn gaps_are_given_up_for_good() {
    let mut receiver = Receiver::new();
    receiver.arrive(Span::ZERO, 0, 0);
    receiver.fire();
    receiver.arrive(Span::ZERO, 2, 1);
    receiver.arrive(Span::ZERO, 4, 2);
    assert_eq!(receiver.fire(), OUT_OF_ORDER);
    receiver.arrive(Span::ZERO, 1, 2);
    assert_eq!(receiver.up, [0, 2, 4, 1]);
    receiver.arrive(Span::ZERO, 5, 3);
    assert_eq!(receiver.fire(), IN_ORDER);
    assert_eq!(receiver.up, [0, 2, 4, 1, 5]);
}

/// Breaks if TCP has to wait to hear of a loss: a gap within a flowcell is no reordering, because
/// a flowcell takes one path (Algorithm 2, the case of the same flowcell). The first flowcell is
/// one from the start.
#[test]
fn a_gap_within_a_cell_goes_up_at_once() {
    let mut receiver = Receiver::new();
    receiver.arrive(Span::ZERO, 1, 0);
    assert_eq!((&receiver.up[..], receiver.again), (&[1][..], None));
    receiver.arrive(Span::from_micros(1), 2, 1);
    receiver.fire();
    receiver.arrive(Span::from_micros(1), 4, 1);
    assert_eq!((receiver.up, receiver.again), (vec![1, 2, 4], None));
}

/// Breaks if the size of a flowcell is not the scenario's, or if a segment larger than that skips
/// a flowcell.
#[test]
fn the_cell_size_is_a_parameter() {
    for (mss, size, expected) in [
        (1_000, 2_000, [0, 0, 1, 1, 2, 2]),
        (1_000, 500, [0, 1, 2, 3, 4, 5]),
        (1, 1, [0, 1, 2, 3, 4, 5]),
    ] {
        let mut host = FakeHost::new(u32::from(mss));
        let params = Params::defaults(ENTRY.info.params).with("cell", Value::Bytes(Bytes(size)));
        let mut edge = build(&params, &host.env).unwrap();
        let cells: Vec<u32> = (0..6)
            .map(|seq| {
                let mut packet = PacketMeta { payload: mss, ..data(0, 9, 1, seq) };
                host.send(&mut *edge, &mut packet);
                host.bytes_sent += u64::from(mss);
                cell(&packet) - 1
            })
            .collect();
        assert_eq!(cells, expected, "flowcells of {size} bytes");
    }
}
