use super::*;
use leafspine_core::HostId;

const FIRST: u32 = u32::MAX - 1000;
const MSS: u32 = 1448;

fn segment(flags: u8, at: u32, payload: u16) -> Segment {
    Segment {
        source: [10, 0, 0, 0],
        destination: [10, 0, 0, 1],
        source_port: 1024,
        destination_port: 5001,
        service: 2,
        ip_bytes: 52 + payload,
        sequence: FIRST.wrapping_add(1).wrapping_add(at),
        acknowledged: 100,
        flags,
        payload,
    }
}

fn syn() -> Segment {
    Segment { sequence: FIRST, ..segment(SYN, 0, 0) }
}

fn opened(bytes: u64) -> Watch {
    let mut watch = Watch::new(Address::new(HostId(0), 0), bytes);
    watch.leaves(&syn(), false, MSS, Time(0));
    watch
}

fn data(watch: &mut Watch, number: u32) -> PacketMeta {
    watch.leaves(&segment(ACK, number.wrapping_mul(MSS), MSS as u16), false, MSS, Time(1 << 20))
}

/// Breaks if a sequence number that wraps is another segment's, or a segment that was sent before is
/// none that is sent again.
#[test]
fn segments_are_counted_from_the_first_byte() {
    let mut watch = opened(10_000_000_000);
    let sent: Vec<PacketMeta> = [0, 1, 2, 1].map(|n| data(&mut watch, n)).into();
    assert_eq!(sent.iter().map(|p| p.seq).collect::<Vec<_>>(), [0, 1, 2, 1]);
    assert_eq!(sent.iter().map(|p| p.notes).collect::<Vec<_>>(), [0, 0, 0, PacketMeta::RETRANSMIT]);
    assert_eq!((watch.retransmits, sent[0].stamp, sent[0].size), (1, 16, 1500));
    assert!(sent[0].is_data() && sent[0].ecn == Ecn::Capable);
    // Beyond 4 GiB.
    (3..3_100_000).for_each(|n| _ = data(&mut watch, n));
    assert_eq!((data(&mut watch, 3_100_000).seq, watch.retransmits), (3_100_000, 1));
}

/// Breaks if a hole is filled twice, what comes late is in order, or a copy is new.
#[test]
fn what_comes_is_put_in_order() {
    let mut watch = opened(5 * u64::from(MSS));
    (0..5).for_each(|n| _ = data(&mut watch, n));
    let mut come = |n: u32, again| watch.arrives(&segment(ACK, n * MSS, MSS as u16), again);
    let got = [come(0, false), come(2, false), come(4, false), come(1, true), come(3, false)];
    assert_eq!(got.map(|bytes| bytes / u64::from(MSS)), [1, 0, 0, 2, 2]);
    come(2, false);
    assert_eq!((watch.received.reordered, watch.received.duplicates), (2, 1));
    assert_eq!(watch.delivered(), 5 * u64::from(MSS));
}

/// Breaks if a flow is over before both ends are: the sender's application has seen the end, and the
/// receiver has the acknowledgment of its own.
#[test]
fn a_flow_ends_at_both_ends() {
    let mut watch = opened(100);
    watch.leaves(&segment(ACK, 0, 100), false, MSS, Time(0));
    let fin = Segment {
        sequence: 500,
        acknowledged: FIRST.wrapping_add(102),
        ..segment(FIN | ACK, 0, 0)
    };
    let reply = watch.leaves(&fin, true, MSS, Time(0));
    assert_eq!((reply.seq, reply.notes), (1, PacketMeta::REPLY));
    watch.sent = true;
    assert!(!watch.is_over());
    watch.arrives(&Segment { acknowledged: 500, ..segment(ACK, 101, 0) }, false);
    assert!(!watch.is_over());
    watch.arrives(&Segment { acknowledged: 501, ..segment(ACK, 101, 0) }, false);
    assert!(watch.is_over());
}

/// Breaks if an ACK of something new counts as a duplicate, or one that came when nothing was to be
/// acknowledged.
#[test]
fn duplicate_acks() {
    let mut watch = opened(1 << 20);
    let ack =
        |n: u32| Segment { acknowledged: FIRST.wrapping_add(1 + n * MSS), ..segment(ACK, 0, 0) };
    watch.comes_back(&ack(0));
    assert_eq!(watch.dup_acks, 0);
    (0..3).for_each(|n| _ = data(&mut watch, n));
    [1, 1, 1, 3, 3].into_iter().for_each(|n| watch.comes_back(&ack(n)));
    assert_eq!(watch.dup_acks, 2);
}
