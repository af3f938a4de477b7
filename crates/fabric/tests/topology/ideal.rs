//! The ideal completion time against a packet-by-packet pipeline.

use crate::{build, leaf_spine, small_kind, spec};
use leafspine_core::{Bytes, HostId, Pace, Rate, Span};
use leafspine_fabric::{Graph, Ideal, LinkState, Owner, Routes, TopologyKind};
use proptest::prelude::*;

const MSS: u32 = 1460;
const HEADER: u32 = 40;

fn ideal(graph: &Graph, handshake: bool) -> Ideal {
    Ideal::new(graph, &Routes::new(graph), MSS, HEADER, handshake)
}

/// Global ports of the best path, found from the routes switch by switch.
fn path(graph: &Graph, src: usize, dst: usize) -> Vec<u32> {
    let routes = Routes::new(graph);
    let to = graph.host_tor[dst];
    let mut ports = vec![graph.host_port[src]];
    loop {
        let last = graph.ports[*ports.last().expect("a port") as usize];
        let Owner::Switch(here) = graph.ports[last.peer as usize].owner else { return ports };
        if graph.switch(here).tor == Some(to) {
            ports.push(graph.global(here, graph.host_port_at_tor[dst]));
            continue;
        }
        let paths = routes.paths(here, to);
        let mut choices: Vec<(u32, Span, u32)> = Vec::new();
        for (port, capacity) in paths.ports.iter().zip(paths.capacity) {
            let global = graph.global(here, *port);
            choices.push((u32::MAX - capacity, graph.ports[global as usize].delay, global));
        }
        choices.sort_unstable();
        ports.push(choices[0].2);
    }
}

/// One hop of the brute force: takes the times at which packets are there whole, and gives those at
/// which they are at the other end.
fn hop(pace: &mut Pace, delay: Span, packets: &mut [(u64, u32)]) {
    let mut line_free = 0;
    for (time, bytes) in packets {
        line_free = line_free.max(*time) + pace.take(*bytes).0;
        *time = line_free + delay.0;
    }
}

/// Sends `sizes` back to back from time zero along `ports`; when the last one has arrived.
fn send(graph: &Graph, paces: &mut [Pace], ports: &[u32], sizes: &[u32]) -> u64 {
    let mut packets: Vec<(u64, u32)> = sizes.iter().map(|bytes| (0, *bytes)).collect();
    for port in ports {
        hop(&mut paces[*port as usize], graph.ports[*port as usize].delay, &mut packets);
    }
    packets.last().expect("a packet").0
}

/// The whole flow, packet by packet.
fn brute_force(graph: &Graph, handshake: bool, src: usize, dst: usize, bytes: u64) -> Span {
    let mut paces: Vec<Pace> = graph.ports.iter().map(|port| Pace::new(port.rate)).collect();
    let (there, back) = (path(graph, src, dst), path(graph, dst, src));
    let mut start = 0;
    if handshake {
        start += send(graph, &mut paces, &there, &[HEADER]);
        start += send(graph, &mut paces, &back, &[HEADER]);
    }
    let mut sizes = Vec::new();
    let mut rest = bytes;
    while rest > 0 {
        let payload = rest.min(u64::from(MSS));
        sizes.push(payload as u32 + HEADER);
        rest -= payload;
    }
    Span(start + send(graph, &mut paces, &there, &sizes))
}

/// Rates of whole and of broken picoseconds a byte.
fn rate() -> impl Strategy<Value = Rate> {
    prop_oneof![
        proptest::sample::select(vec![1u64, 10, 25, 40, 100, 400]).prop_map(Rate::from_gbps),
        proptest::sample::select(vec![12u64, 300, 900]).prop_map(Rate::from_mbps),
        (1_000u64..1_000_000_000).prop_map(Rate),
    ]
}

/// Sizes around the ends of segments, and any others.
fn size() -> impl Strategy<Value = u64> {
    prop_oneof![
        1u64..400_000,
        (1u64..200, -1i64..=1)
            .prop_map(|(segments, off)| { (segments * u64::from(MSS)).saturating_add_signed(off) })
    ]
}

proptest! {
    /// Breaks if one picosecond is missing: any small fabric, each link with its own rate and delay.
    #[test]
    fn the_ideal_is_the_pipeline_to_the_picosecond(
        kind in small_kind(),
        links in proptest::collection::vec((rate(), 0u64..20_000_000), 64),
        whole in any::<bool>(),
        handshake in any::<bool>(),
        bytes in size(),
        pair in any::<(proptest::sample::Index, proptest::sample::Index)>(),
    ) {
        let mut graph = build(kind);
        for port in &mut graph.ports {
            let (rate, delay) = links[port.link as usize % links.len()];
            let common = Rate::from_gbps([1, 10, 25, 40, 100][(rate.0 % 7 % 5) as usize]);
            port.rate = if whole { common } else { rate };
            port.delay = Span(delay);
        }
        let hosts = graph.host_port.len();
        prop_assume!(hosts > 1);
        let src = pair.0.index(hosts);
        let dst = (src + 1 + pair.1.index(hosts - 1)) % hosts;
        let found = ideal(&graph, handshake).fct(HostId(src as u16), HostId(dst as u16), Bytes(bytes));
        prop_assert_eq!(found, brute_force(&graph, handshake, src, dst, bytes));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Breaks if the form for very long flows strays from the replay by two picoseconds a hop. The
    /// bound is 2^20 packets, so segments of one byte make such a flow cheap.
    #[test]
    fn beyond_the_replay_the_form_is_close(mbps in 300u64..1000, fabric in 300u64..1000) {
        let mut spec = spec(leaf_spine(2, 1, 1, 1));
        (spec.host_link.rate, spec.fabric_link.rate) = (Rate::from_mbps(mbps), Rate::from_mbps(fabric));
        let graph = Graph::build(&spec).expect("a fabric");
        let ideal = Ideal::new(&graph, &Routes::new(&graph), 1, 39, false);
        let fct = |bytes| ideal.fct(HostId(0), HostId(1), Bytes(bytes)).0;
        // At the bound the replay answers, one byte on the form; between them is one packet's time
        // at the slowest hop.
        let step = fct((1 << 20) + 1) - fct(1 << 20);
        let packet = Rate::from_mbps(mbps.min(fabric)).time_for(40).0;
        prop_assert!(step.abs_diff(packet) <= 8, "{step} ps, a packet takes {packet} ps");
    }
}

/// Breaks if the sum that anyone can check by hand comes out otherwise: 3 full packets and one of
/// 20 bytes of payload over 10, 40, 40 and 10 Gb/s, with 1.5, 2, 2 and 1.5 us of delay.
#[test]
fn a_sum_by_hand() {
    let graph = build(leaf_spine(2, 1, 1, 1));
    let bytes = Bytes(3 * 1460 + 20);
    // At 10 Gb/s a full packet takes 1.2 us and the last one (60 bytes) 48 ns; a quarter at 40.
    let first_host = 3 * 1_200_000;
    let fabric = 2 * 300_000;
    // At the last hop the third full packet is still being sent when the last one arrives.
    let last_host = 1_200_000 + 48_000;
    let data = first_host + fabric + last_host + 7_000_000;
    assert_eq!(ideal(&graph, false).fct(HostId(0), HostId(1), bytes), Span(data));
    // A header takes 32 ns at 10 Gb/s and 8 ns at 40.
    let header = 2 * 32_000 + 2 * 8_000 + 7_000_000;
    assert_eq!(ideal(&graph, true).fct(HostId(0), HostId(1), bytes), Span(data + 2 * header));
}

/// Breaks if the base round-trip time is not that of QDAPS §IV-C's fabric: 8 hops of 12.5 us, and
/// at 1 Gb/s 12 us for each full-sized packet and 320 ns for each ACK.
#[test]
fn base_rtt_of_a_known_fabric() {
    let mut spec = spec(leaf_spine(8, 8, 32, 1));
    for link in [&mut spec.host_link, &mut spec.fabric_link] {
        (link.rate, link.delay) = (Rate::from_gbps(1), Span::from_nanos(12_500));
    }
    spec.host_delay = Span::ZERO;
    let graph = Graph::build(&spec).expect("a fabric");
    let expected = Span(8 * 12_500_000 + 4 * 12_000_000 + 4 * 320_000);
    assert_eq!(ideal(&graph, true).base_rtt(), expected);
}

/// Breaks if the farthest pair is not the one farthest apart when hosts differ.
#[test]
fn base_rtt_is_the_largest() {
    let mut graph = build(TopologyKind::FatTree { k: 4 });
    let slow = graph.host_port[5] as usize;
    let peer = graph.ports[slow].peer as usize;
    let plain = ideal(&graph, true).base_rtt();
    for port in [slow, peer] {
        graph.ports[port].delay = Span::from_micros(11) + Span::from_nanos(500);
    }
    assert_eq!(ideal(&graph, true).base_rtt(), plain + Span::from_micros(20));
}

/// Breaks if the best path ignores a capacity, a delay, or prefers a later port among equals.
#[test]
fn the_best_path_is_wide_then_short() {
    let mut graph = build(leaf_spine(2, 3, 1, 1));
    let set = |graph: &mut Graph, link: &str, gbps, us| {
        let link = &graph.links[graph.link_by_name(link).expect(link) as usize];
        for port in [link.a as usize, link.b as usize] {
            graph.ports[port].rate = Rate::from_gbps(gbps);
            graph.ports[port].delay = Span::from_micros(us);
        }
    };
    let names = |graph: &Graph| -> Vec<String> {
        path(graph, 0, 1).into_iter().map(|port| graph.port_name(port)).collect()
    };
    let fct = |graph: &Graph| ideal(graph, false).fct(HostId(0), HostId(1), Bytes(1460));
    let unchanged = fct(&graph);
    // The way through spine0 has a slow second half, which the leaf's capacity shows.
    set(&mut graph, "leaf1-spine0", 10, 0);
    set(&mut graph, "leaf0-spine1", 40, 3);
    assert_eq!(names(&graph)[1], "leaf0-spine2");
    assert_eq!(fct(&graph), unchanged);
    set(&mut graph, "leaf0-spine2", 40, 3);
    assert_eq!(names(&graph)[1], "leaf0-spine1");
    assert_eq!(fct(&graph), unchanged + Span::from_micros(1));
    assert_eq!(LinkState::initial(&graph)[2].rate, Rate::from_gbps(40));
}

/// Breaks if an absurdly long flow wraps round instead of saturating, or an empty one panics.
#[test]
fn extremes() {
    let mut spec = spec(TopologyKind::Star { hosts: 2 });
    let graph = Graph::build(&spec).expect("a fabric");
    let fct = |graph: &Graph, bytes| ideal(graph, true).fct(HostId(0), HostId(1), Bytes(bytes));
    assert_eq!(fct(&graph, u64::MAX), Span::MAX);
    // SYN, SYN-ACK and one packet of a header: each two hops of 32 ns and 1.5 us.
    assert_eq!(fct(&graph, 0), Span(3 * 2 * 1_532_000));
    spec.host_link.rate = Rate(1);
    let graph = Graph::build(&spec).expect("a fabric");
    assert_eq!(fct(&graph, 1_000_000_000_000), Span::MAX);
    // 41 bytes of eight seconds each, twice, after 40 four times, and 6 delays.
    let expected = (2 * 41 + 4 * 40) * 8_000_000_000_000 + 6 * 1_500_000;
    assert_eq!(fct(&graph, 1), Span(expected));
}
