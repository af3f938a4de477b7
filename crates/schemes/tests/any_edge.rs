//! Whatever a host edge is fed, it delivers every packet in the end and does not panic.

use leafspine_core::{Flags, PacketMeta, Rng, Role, Span, Time};
use leafspine_schemes::Params;
use leafspine_schemes::edge::{self, Entry, HostEdge, Waiting};
use leafspine_schemes::testing::{FakeHost, control, data, random_params};
use proptest::prelude::*;

const MSS: u32 = 1_460;

/// One packet on its way: how the network treats it.
#[derive(Clone, Debug)]
struct Trip {
    /// New data, or a retransmission of something sent before.
    again: Option<u32>,
    /// Never arrives.
    lost: bool,
    /// Arrives so many places late.
    late: usize,
    /// Time since the packet before arrived, in picoseconds.
    pause: u64,
}

fn trip() -> impl Strategy<Value = Trip> {
    let again = prop_oneof![4 => Just(None), 1 => any::<u32>().prop_map(Some)];
    let pause = prop_oneof![0..2_000_000u64, 0..2_000_000_000u64];
    (again, prop::bool::weighted(0.1), 0..60usize, pause)
        .prop_map(|(again, lost, late, pause)| Trip { again, lost, late, pause })
}

/// Sends one packet a trip through the edge's sending side.
fn send_all(edge: &mut dyn HostEdge, trips: &[Trip]) -> Vec<PacketMeta> {
    let mut host = FakeHost::new(MSS);
    let mut next = 0;
    let mut send = |trip: &Trip| {
        let seq = trip.again.filter(|_| next > 0).map_or(next, |old| old % next);
        let mut packet = data(0, 9, 1, seq);
        host.send(edge, &mut packet);
        if seq == next {
            next += 1;
            host.bytes_sent += u64::from(MSS);
        }
        let mut ack = control(9, 0, 80, Flags::ACK);
        let rtt = trip.again.map(|random| Span(u64::from(random)));
        host.with(|flow, cx| {
            edge.acked(&ack, rtt, flow, cx);
            if trip.lost {
                edge.lost(trip.late < 30, flow, cx);
            }
        });
        host.send(edge, &mut ack);
        host.now += Span(trip.pause);
        packet
    };
    trips.iter().map(&mut send).collect()
}

/// A receiving host: what waits for the edge's word, and how many have gone up.
struct Receiver {
    host: FakeHost,
    waiting: Vec<Waiting>,
    up: Vec<u32>,
    again: Option<Time>,
}

impl Receiver {
    fn ask(&mut self, edge: &mut dyn HostEdge) {
        let deliver = self.host.reassemble(edge, &self.waiting);
        assert!(deliver.count <= self.waiting.len(), "more than there is");
        self.up.extend(self.waiting.drain(..deliver.count).map(|w| w.packet.seq));
        while self.up.contains(&self.host.expected) {
            self.host.expected += 1;
        }
        assert!(self.waiting.is_empty() || deliver.again.is_some(), "packets forgotten");
        assert!(deliver.again.is_none_or(|at| at > self.host.now), "asks again for ever");
        self.again = deliver.again;
    }

    /// Lets every timer up to `now` fire, then the clock stand at `now`.
    fn run_until(&mut self, edge: &mut dyn HostEdge, now: Time) {
        while let Some(at) = self.again.filter(|at| *at <= now) {
            self.host.now = at;
            self.ask(edge);
        }
        self.host.now = now;
    }

    fn arrive(&mut self, edge: &mut dyn HostEdge, mut packet: PacketMeta) {
        self.host.with(|flow, cx| edge.receiving(&mut packet, flow, cx));
        if !edge.reassembles() {
            // The engine hands packets straight to the transport then.
            self.up.push(packet.seq);
            return;
        }
        let at = self.waiting.partition_point(|w| w.packet.seq <= packet.seq);
        self.waiting.insert(at, Waiting { packet, since: self.host.now });
        self.ask(edge);
    }
}

fn drive(entry: &Entry, params: &Params, trips: &[Trip]) -> Result<(), TestCaseError> {
    let host = FakeHost::new(MSS);
    let Ok(mut edge) = (entry.build)(params, &host.env) else { return Ok(()) };
    let packets = send_all(&mut *edge, trips);
    let mut order: Vec<usize> = (0..trips.len()).filter(|i| !trips[*i].lost).collect();
    order.sort_by_key(|i| i + trips[*i].late);
    let mut receiver = Receiver { host, waiting: Vec::new(), up: Vec::new(), again: None };
    for index in &order {
        let now = receiver.host.now + Span(trips[*index].pause);
        receiver.run_until(&mut *edge, now);
        receiver.arrive(&mut *edge, packets[*index]);
    }
    receiver.run_until(&mut *edge, Time(u64::MAX / 2));
    let mut arrived: Vec<u32> = order.iter().map(|i| packets[*i].seq).collect();
    arrived.sort_unstable();
    receiver.up.sort_unstable();
    prop_assert_eq!(receiver.up, arrived, "{}", entry.info.name);
    Ok(())
}

proptest! {
    /// Breaks if any registered edge, with any parameters in their declared ranges, panics, loses
    /// or doubles a packet that it holds, or asks to be called again without end.
    #[test]
    fn any_edge_delivers_everything(
        seed in any::<u64>(),
        trips in proptest::collection::vec(trip(), 1..150),
    ) {
        for entry in edge::ALL {
            let mut rng = Rng::new(seed, Role::Edge, 1);
            drive(entry, &random_params(entry.info.params, &mut rng), &trips)?;
            drive(entry, &Params::defaults(entry.info.params), &trips)?;
        }
    }
}

/// Breaks if an edge cannot be made from its own defaults.
#[test]
fn every_edge_can_be_made() {
    for entry in edge::ALL {
        let made = (entry.build)(&Params::defaults(entry.info.params), &FakeHost::new(MSS).env);
        assert!(made.is_ok(), "{}: {:?}", entry.info.name, made.err());
    }
}
