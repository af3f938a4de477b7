//! ConWeave's rules, one by one; the numbers are those of the module. theta_reply and theta_path_busy are 100 us here,
//! theta_inactive 3 ms, theta_resume 1 ms, theta_resume_extra 200 us.

use super::header::{Epoch, REQUEST, REROUTED, TAIL, stamp};
use super::*;
use crate::testing::{FakeLeaf, control, data, stated};
use leafspine_core::{Ecn, Span};

const HOSTS: u16 = 8;

fn params(more: &[(&str, &str)]) -> Params {
    let times =
        [("theta_inactive", "3ms"), ("theta_resume", "1ms"), ("theta_resume_extra", "200us")];
    stated(ENTRY.info.params, &[&times, more].concat())
}

/// Leaf 0, with four uplinks: ports 8 to 11.
struct Bench {
    tor: Box<dyn LoadBalancer>,
    leaf: FakeLeaf,
}

/// What a data packet was sent with.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Sent {
    port: PortId,
    header: Header,
}

impl Sent {
    fn is(&self, flags: u32) -> bool {
        self.header.flags == flags
    }
}

impl Bench {
    fn new() -> Bench {
        Bench::with(&params(&[]))
    }

    fn with(params: &Params) -> Bench {
        let mut leaf = FakeLeaf::new(HOSTS, 4, 1);
        leaf.wait(Span::from_millis(1));
        Bench { tor: build(params, &leaf.env).unwrap(), leaf }
    }

    fn wait(&mut self, us: u64) {
        self.leaf.wait(Span::from_micros(us));
    }

    /// A data packet of a flow from host 0 to host 9, under leaf 1.
    fn send(&mut self) -> Sent {
        let mut packet = data(0, 9, 1, 0);
        let port = self.leaf.pick(&mut *self.tor, &mut packet);
        Sent { port, header: Header::read(&packet).expect("a header") }
    }

    fn arrives(&mut self, packet: &mut PacketMeta) -> Arrival {
        let tor = &mut self.tor;
        self.leaf.with(|cx| tor.arrived(packet, PortId(8), cx))
    }

    /// A packet of leaf 1's own about that flow comes in.
    fn hear(&mut self, what: u32, epoch: Epoch, path: u8) {
        let mut packet = PacketMeta { flags: Flags::PROBE, ..control(9, 0, 80, Flags::ACK) };
        packet.tuple = data(0, 9, 1, 0).tuple.reversed();
        Header { flags: what, epoch, path, ..Header::default() }.write(&mut packet);
        assert_eq!(self.arrives(&mut packet), Arrival::Consume);
    }

    /// The flow is moved: the TAIL, and the first packet after it.
    fn moves(&mut self) -> (Sent, Sent) {
        self.send();
        self.wait(101);
        (self.send(), self.send())
    }

    /// A packet of a flow from host 9 to host 0 comes in, sent so many microseconds ago.
    fn comes(&mut self, flags: u32, epoch: Epoch, sent_ago: u64, tail_ago: u64) -> Arrival {
        let ago = |us| stamp(Time(self.leaf.now.0 - Span::from_micros(us).0));
        let (sent, tail_sent) = (ago(sent_ago), ago(tail_ago));
        let mut packet = data(9, 0, 1, 0);
        Header { flags, epoch, sent, tail_sent, path: 3 }.write(&mut packet);
        self.arrives(&mut packet)
    }

    /// What has been sent back: what it is, and by which port.
    fn said(&mut self) -> Vec<(u32, PortId)> {
        let said = self.leaf.outbox.drain(..);
        said.map(|(port, packet)| (Header::read(&packet).expect("a header").flags, port)).collect()
    }

    fn resumed(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.tor.released()).collect()
    }

    fn ticks(&mut self) -> Option<Time> {
        let tor = &mut self.tor;
        self.leaf.with(|cx| tor.tick(cx))
    }
}

const FIRST: PortId = PortId(8);

/// Rule 1. Breaks if a path is watched by more than one request at once, if the answer does not
/// begin another epoch, or if an answer to another epoch does.
#[test]
fn a_path_is_watched_epoch_by_epoch() {
    let mut bench = Bench::new();
    let first = bench.send();
    assert!(first.is(REQUEST));
    bench.wait(50);
    assert!(bench.send().is(0), "one is out");
    bench.hear(REPLY, first.header.epoch.next(), 0);
    assert!(bench.send().is(0), "that was another's answer");
    bench.hear(REPLY, first.header.epoch, 0);
    let next = bench.send();
    assert!(next.is(REQUEST) && next.header.epoch == first.header.epoch.next());
    assert_eq!(next.port, first.port);
}

/// Rules 2 and 5. Breaks if a flow is moved before theta_reply is over, later than by the packet
/// after it, if the TAIL does not take the old path or the next packet a new one, or if that does
/// not say when the TAIL was sent.
#[test]
fn no_answer_moves_the_flow() {
    let mut bench = Bench::new();
    let first = bench.send();
    bench.wait(100);
    assert!(bench.send().is(0), "100 us are not more");
    bench.wait(1);
    let tail = bench.send();
    assert!(tail.is(TAIL) && tail.port == first.port);
    let at = stamp(bench.leaf.now);
    bench.wait(1);
    let moved = bench.send();
    assert!(moved.is(REROUTED) && moved.port != first.port);
    assert_eq!((moved.header.tail_sent, moved.header.epoch), (at, first.header.epoch));
}

/// Rule 2. Breaks if an answer that is too late keeps a flow where it is.
#[test]
fn a_late_answer_is_none() {
    let mut bench = Bench::new();
    let first = bench.send();
    bench.wait(101);
    bench.hear(REPLY, first.header.epoch, 0);
    assert!(bench.send().is(TAIL));
}

/// Rule 3, by hand: of four paths three are busy. A new flow that draws one finds the free one with
/// 1/4, else takes any, which is that one with 1/4: 7/16 of the flows; that draws two, 1/2 + 1/8;
/// three, 3/4 + 1/16; all, each. 2,000 flows are 0.011 off at one standard deviation.
///
/// Breaks if other than so many different paths are drawn, or a busy one is taken while a drawn one is free.
#[test]
fn some_paths_are_drawn() {
    for (samples, share) in [("1", 7.0 / 16.0), ("2", 5.0 / 8.0), ("3", 13.0 / 16.0), ("0", 1.0)] {
        let mut bench = Bench::with(&params(&[("samples", samples)]));
        (9..12).for_each(|path| bench.hear(NOTIFY, Epoch::default(), path));
        let picks = (0..2_000).filter(|sport| {
            let mut packet = data(0, 9, *sport, 0);
            bench.leaf.pick(&mut *bench.tor, &mut packet) == FIRST
        });
        let found = picks.count() as f64 / 2_000.0;
        assert!((found - share).abs() < 0.04, "{samples}: {found}, not {share}");
    }
}

/// Rules 3 and 4. Breaks if a flow moves to a path with a NOTIFY, before theta_path_busy is over,
/// or for another ToR; if one that has nowhere to go does not try again with its next packet, or
/// goes on to try when the answer has come.
#[test]
fn a_flow_moves_to_paths_that_are_not_busy() {
    let mut bench = Bench::with(&params(&[("samples", "0")]));
    let first = bench.send();
    bench.wait(101);
    let others: Vec<u16> = (8..12).filter(|port| *port != first.port.0).collect();
    others.iter().for_each(|port| bench.hear(NOTIFY, first.header.epoch, *port as u8));
    let stays = bench.send();
    assert!(stays.is(0) && stays.port == first.port);
    bench.hear(REPLY, first.header.epoch, 0);
    let asks = bench.send();
    assert!(asks.is(REQUEST) && asks.header.epoch == first.header.epoch.next());
    bench.wait(99);
    // Two of them are notified once more; the third is free after 100 us.
    others[..2].iter().for_each(|port| bench.hear(NOTIFY, first.header.epoch, *port as u8));
    bench.wait(2);
    assert!(bench.send().is(TAIL));
    assert_eq!(bench.send().port, PortId(others[2]));
    let mut elsewhere = data(0, 17, 1, 0);
    let mut seen = std::collections::BTreeSet::new();
    for sport in 0..200 {
        elsewhere.tuple = data(0, 17, sport, 0).tuple;
        seen.insert(bench.leaf.pick(&mut *bench.tor, &mut elsewhere));
    }
    assert_eq!(seen.len(), 4, "they are busy towards leaf 1, not leaf 2");
}

/// Rule 6. Breaks if a flow moves again, or asks again, before its CLEAR; or if another epoch's CLEAR counts.
#[test]
fn a_flow_moves_again_after_the_clear() {
    let mut bench = Bench::new();
    let (tail, moved) = bench.moves();
    bench.wait(1_000);
    assert_eq!(bench.send().port, moved.port);
    bench.hear(CLEAR, tail.header.epoch.next(), 0);
    assert!(bench.send().is(REROUTED));
    bench.hear(CLEAR, tail.header.epoch, 0);
    let next = bench.send();
    assert!(next.is(REQUEST) && next.port == moved.port);
    assert_eq!(next.header.epoch, tail.header.epoch.next());
    bench.wait(101);
    assert!(bench.send().is(TAIL));
}

/// Rule 10. Breaks if a flow that was inactive goes on in its epoch, or a CLEAR that is lost is waited for without end.
#[test]
fn an_inactive_flow_begins_anew() {
    let mut bench = Bench::new();
    let first = bench.send();
    bench.wait(3_001);
    let next = bench.send();
    assert!(next.is(REQUEST) && next.header.epoch == first.header.epoch.next());
    let (tail, _) = bench.moves();
    for _ in 0..3 {
        bench.wait(1_000);
        assert!(bench.send().is(REROUTED));
    }
    bench.wait(1);
    let next = bench.send();
    assert!(next.is(REQUEST) && next.header.epoch == tail.header.epoch.next());
}

/// Breaks if a flow stays on a port that has gone, or if anything but data of the switch's own hosts is moved.
#[test]
fn only_its_own_data_is_moved() {
    let mut bench = Bench::new();
    let first = bench.send();
    bench.leaf.live.retain(|port| *port != first.port);
    let next = bench.send();
    assert!(next.port != first.port && next.is(REQUEST));
    for mut packet in [control(0, 9, 1, Flags::ACK), data(17, 9, 1, 0)] {
        let port = bench.leaf.pick(&mut *bench.tor, &mut packet);
        bench.wait(1_000);
        assert_eq!(bench.leaf.pick(&mut *bench.tor, &mut packet), port);
        assert_eq!(Header::read(&packet), None);
    }
}

/// Rule 1, at the other end. Breaks if a request is not answered, once, by the port that it came
/// by, or anything else is.
#[test]
fn requests_are_answered() {
    let mut bench = Bench::new();
    let epoch = Epoch::default();
    assert_eq!(bench.comes(REQUEST, epoch, 10, 0), Arrival::Forward);
    assert_eq!(bench.said(), [(REPLY, FIRST)]);
    assert_eq!(bench.comes(0, epoch, 10, 0), Arrival::Forward);
    assert_eq!(bench.said(), []);
    bench.leaf.ports.ports[8].up = false;
    bench.comes(REQUEST, epoch.next(), 10, 0);
    assert_eq!(bench.said(), [], "there is no way back");
}

/// Rule 4, at the other end. Breaks if a marked packet causes no NOTIFY of its path, or each does.
#[test]
fn marks_are_told() {
    let mut bench = Bench::new();
    let marked = |bench: &mut Bench| {
        let mut packet = PacketMeta { ecn: Ecn::Congested, ..data(9, 0, 1, 0) };
        Header { path: 3, ..Header::default() }.write(&mut packet);
        bench.arrives(&mut packet);
        let said = std::mem::take(&mut bench.leaf.outbox);
        said.iter().map(|(_, packet)| Header::read(packet).expect("a header").path).collect()
    };
    let mut told: Vec<Vec<u8>> = Vec::new();
    for wait in [0, 50, 1] {
        bench.wait(wait);
        told.push(marked(&mut bench));
    }
    assert_eq!(told, [vec![3], vec![], vec![3]]);
}

/// Rules 7 and 8. Breaks if a rerouted packet passes one that was sent before it, if it does not go
/// on with the TAIL, if those after it wait, or if the TAIL is not answered.
#[test]
fn what_overtakes_the_tail_waits_for_it() {
    let mut bench = Bench::new();
    let epoch = Epoch::default();
    bench.comes(REQUEST, epoch, 10, 0);
    bench.said();
    let Arrival::Keep(queue) = bench.comes(REROUTED, epoch, 5, 6) else { panic!("it waits") };
    assert_eq!(bench.comes(REROUTED, epoch, 4, 6), Arrival::Keep(queue));
    assert_eq!(bench.comes(0, epoch, 12, 0), Arrival::Forward, "on the old path");
    assert_eq!((bench.resumed(), bench.said()), (vec![], vec![]));
    assert_eq!(bench.comes(TAIL, epoch, 7, 0), Arrival::Forward);
    assert_eq!((bench.resumed(), bench.said()), (vec![queue], vec![(CLEAR, FIRST)]));
    assert_eq!(bench.comes(REROUTED, epoch, 3, 7), Arrival::Forward);
    assert_eq!(bench.tor.wakes_at(), None);
}

/// Rule 9. By hand: the last packet before the TAIL was sent 40 us ago and comes now; the TAIL was
/// sent 10 us ago. It takes the same way, so it should come in 30 us, and 200 us later it is no
/// longer waited for. Stamps are 16.384 ns coarse. Another packet of the old path, 20 us later,
/// that was sent 10 us later, moves that by 10 us.
///
/// Breaks if the time is not told by what came on the old path last, or if waiting does not end then, with a CLEAR.
#[test]
fn a_tail_that_does_not_come_is_waited_for_so_long() {
    let mut bench = Bench::new();
    let epoch = Epoch::default();
    let unit = |at: Option<Time>, us: u64, now: Time| {
        let off = at.expect("it waits").0 as i64 - (now + Span::from_micros(us)).0 as i64;
        off.unsigned_abs() < 2 << 14
    };
    bench.wait(100);
    bench.comes(0, epoch, 40, 0);
    bench.comes(REROUTED, epoch, 5, 10);
    assert!(unit(bench.tor.wakes_at(), 230, bench.leaf.now));
    bench.wait(20);
    bench.comes(0, epoch, 50, 0);
    assert!(unit(bench.tor.wakes_at(), 220, bench.leaf.now), "{:?}", bench.tor.wakes_at());
    bench.said();
    let due = bench.tor.wakes_at().expect("it waits");
    bench.leaf.wait(Span(due.0 - bench.leaf.now.0 - 1));
    assert_eq!((bench.ticks(), bench.resumed()), (Some(due), vec![]));
    bench.leaf.wait(Span(1));
    assert_eq!((bench.ticks(), bench.resumed()), (None, vec![0]));
    assert_eq!(bench.said(), [(CLEAR, FIRST)]);
    assert_eq!(bench.comes(REROUTED, epoch, 3, 300), Arrival::Forward, "nothing is waited for");
    // Where nothing came by the old path, theta_resume it is.
    bench.comes(REROUTED, epoch.next(), 5, 10);
    assert!(unit(bench.tor.wakes_at(), 1_000, bench.leaf.now));
}

/// Breaks if a packet of a new epoch passes what waits of the one before, or if one of an epoch
/// that is over changes anything.
#[test]
fn a_new_epoch_goes_behind_what_waits() {
    let mut bench = Bench::new();
    let epoch = Epoch::default();
    let Arrival::Keep(queue) = bench.comes(REROUTED, epoch, 5, 10) else { panic!("it waits") };
    assert_eq!(bench.comes(REQUEST, epoch.next(), 5, 0), Arrival::Keep(queue));
    assert_eq!(bench.resumed(), [queue]);
    assert_eq!(bench.comes(TAIL, epoch, 5, 0), Arrival::Forward);
    assert!(matches!(bench.comes(REROUTED, epoch.next(), 5, 10), Arrival::Keep(_)));
}

/// Breaks if a flow that finds no queue takes another's, or if a queue is not free again when it has gone on.
#[test]
fn queues_are_counted() {
    let mut bench = Bench::with(&params(&[("queues", "1")]));
    let rerouted = |bench: &mut Bench, sport: u16, flags: u32| {
        let mut packet = data(9, 0, sport, 0);
        Header { flags, ..Header::default() }.write(&mut packet);
        bench.arrives(&mut packet)
    };
    assert_eq!(rerouted(&mut bench, 1, REROUTED), Arrival::Keep(0));
    assert_eq!(rerouted(&mut bench, 2, REROUTED), Arrival::Forward);
    assert_eq!(rerouted(&mut bench, 1, TAIL), Arrival::Forward);
    assert_eq!(bench.resumed(), [0]);
    assert_eq!(rerouted(&mut bench, 3, REROUTED), Arrival::Keep(0));
}

/// Breaks if switches between ToRs do anything but hash, or a time that makes no sense is taken.
#[test]
fn spines_hash() {
    let spine = FakeLeaf::spine(HOSTS, 2, 1);
    let made = build(&Params::defaults(ENTRY.info.params), &spine.env).unwrap();
    assert!(made.as_flow_hash().is_some() && made.needs() == Needs::default());
    let long = params(&[("theta_resume", "4ms")]);
    let refused = build(&long, &FakeLeaf::new(HOSTS, 4, 1).env).err().expect("refused");
    assert_eq!(refused.key, "theta_resume");
}
