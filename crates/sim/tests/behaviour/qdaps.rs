//! QDAPS in a fabric: what its order is worth, and where it ends.

use super::common::*;
use super::{two_leaves, uplink_packets};
use leafspine_core::{Bytes, Rate, Span};
use leafspine_schemes::{Amount, Value};
use leafspine_sim::Output;
use leafspine_sim::spec::*;

const SPINES: u32 = 4;

/// QDAPS or QDAPS* for the base's fabric, whose links of 1 us make a round trip of 8 us.
fn with_rtt(name: &str) -> SchemeSpec {
    scheme_with(name, "rtt", Value::Span(Span::from_micros(8)))
}

/// QDAPS that counts what is left of the packet in transmission and never gives up order.
fn exact() -> SchemeSpec {
    let SchemeSpec { name, params } = with_rtt("qdaps");
    let params = params.with("in_service", Value::Bool(true));
    SchemeSpec { name, params: params.with("reroute", Value::Word("off".to_owned())) }
}

/// One flow of 7,000 segments from leaf 0 to leaf 1 over four uplinks of this rate; hosts have 10 Gb/s.
fn one_long_flow(balancer: SchemeSpec, uplinks: Rate) -> Output {
    let mut spec = two_leaves(1, SPINES);
    spec.balancer = balancer;
    spec.topology.fabric_link.rate = uplinks;
    spec.switch.buffer = Amount::Packets(10_000);
    spec.workloads = vec![long_flows(1, 7_000 * 1460, hosts(&[0]), hosts(&[1]))];
    run(&spec)
}

/// Breaks if QDAPS keeps a flow on an uplink where nothing waits. With uplinks as fast as the host, each
/// packet has left when the next one comes: nothing is left of its delay, all queues are empty, and
/// each packet draws one of four. Binomial(7,001, 1/4): mean 1750, standard deviation 36.2; four of them.
/// Equal paths then keep the order they were sent in.
#[test]
fn qdaps_draws_where_nothing_waits() {
    let output = one_long_flow(with_rtt("qdaps"), Rate::from_gbps(10));
    for packets in uplink_packets(&output, SPINES) {
        assert!(packets.abs_diff(1750) < 145, "{packets}");
    }
    assert_eq!(output.counters.reordered_packets, 0);
}

/// Breaks if QDAPS leaves an uplink idle while packets wait, or mixes up their order: a flow of 10 Gb/s over
/// four uplinks of 2.5 Gb/s must use all four all the time, one after the other. Each then has a
/// quarter of the packets, a round more or less, none overtakes another if the rest of the packet in
/// transmission counts, and the flow takes the time that it takes at 10 Gb/s, and a hop's more.
/// On one uplink (ECMP) it takes four times as long.
#[test]
fn qdaps_uses_all_uplinks_in_order_where_packets_wait() {
    let slow = Rate::from_mbps(2_500);
    let output = one_long_flow(exact(), slow);
    for packets in uplink_packets(&output, SPINES) {
        assert!(packets.abs_diff(1750) <= 2, "{packets}");
    }
    assert_eq!(output.counters.reordered_packets, 0);
    let fct = |output: &Output| output.flows.fct_ps[0] as f64;
    let fast = fct(&one_long_flow(scheme("ecmp"), Rate::from_gbps(10)));
    let ecmp = fct(&one_long_flow(scheme("ecmp"), slow));
    assert!(fct(&output) < 1.01 * fast && ecmp > 3.9 * fast);
    // Eq. 1 as it stands does not see the packet in transmission: packets overtake each other by one,
    // which costs a few rounds of the window.
    let literal = one_long_flow(with_rtt("qdaps"), slow);
    assert!(fct(&literal) < 1.1 * fast, "{} against {fast}", fct(&literal));
}

/// 200 flows at load 0.8 from some leaves to all others.
fn leaves_send(balancer: SchemeSpec, senders: HostSet, sizes: SizeSpec) -> Output {
    let mut spec = base();
    spec.balancer = balancer;
    spec.switch.buffer = Amount::Packets(10_000);
    spec.workloads = vec![WorkloadSpec { sizes, senders, ..fixed_flows(200, 1, 0.8) }];
    run(&spec)
}

fn web_search() -> SizeSpec {
    leafspine_sim::workload::named("web-search").expect("ships")
}

fn leaf0() -> HostSet {
    HostSet::Under("leaf0".to_owned())
}

/// Breaks if QDAPS does not keep order at the leaf. Where one leaf sends, a spine gets from one link what
/// it sends by another of the same rate, so nothing waits behind the leaf and packets arrive in the order
/// in which they have left it. With the packet in transmission counted, and only full packets (a short
/// last segment is stored and forwarded faster), no packet is ever overtaken. By eq. 1 as it stands one
/// may be by a packet's time, and large flows give up order: a tenth of what RPS reorders.
#[test]
fn qdaps_keeps_order_where_one_leaf_sends() {
    let full = SizeSpec::Fixed(Bytes(1_000 * 1460));
    let output = leaves_send(exact(), leaf0(), full);
    assert_eq!((output.counters.reordered_packets, output.counters.dropped), (0, [0; 4]));
    let reordered = |scheme| {
        let output = leaves_send(scheme, leaf0(), web_search());
        assert_eq!(output.counters.dropped, [0; 4]);
        output.counters.reordered_packets
    };
    let (rps, qdaps) = (reordered(scheme("rps")), reordered(with_rtt("qdaps")));
    assert!(qdaps * 5 < rps, "QDAPS {qdaps}, RPS {rps}");
}

/// Breaks if QDAPS orders more or less than the queues it sees. Where all leaves send, three of them meet in
/// each spine's queue towards the fourth. These queues are unlike and nobody at the leaf sees them: packets
/// that have left in order overtake each other there, even if the leaf has counted to the picosecond. So
/// QDAPS reorders less than RPS by what the leaf's own queues contribute, and nowhere near five times less.
#[test]
fn order_ends_at_the_spines() {
    let reordered =
        |scheme| leaves_send(scheme, HostSet::All, web_search()).counters.reordered_packets;
    let rps = reordered(scheme("rps"));
    for qdaps in [reordered(with_rtt("qdaps")), reordered(exact())] {
        assert!(qdaps * 10 < rps * 9 && qdaps * 5 > rps, "QDAPS {qdaps}, RPS {rps}");
    }
}

/// Packets by each of leaf 0's uplinks and the mean FCT, for 300 flows at load 0.5 between two leaves of
/// which spine 1 reaches the other with a quarter of the rate.
fn beside_a_slow_link(balancer: SchemeSpec, senders: HostSet) -> (Vec<u64>, f64) {
    let mut spec = two_leaves(4, SPINES);
    spec.balancer = balancer;
    let rate = Some(Rate::from_mbps(2_500));
    spec.changes = vec![LinkChange { rate, ..change("leaf1-spine1", Span::ZERO) }];
    let load = fixed_flows(300, 1, 0.5);
    spec.workloads = vec![WorkloadSpec { sizes: web_search(), senders, ..load }];
    let output = run(&spec);
    let mean = output.flows.fct_ps.iter().sum::<u64>() as f64 / output.flows.len() as f64;
    (uplink_packets(&output, SPINES), mean)
}

/// Breaks if QDAPS* does not hear of a slow link behind a spine, or does not avoid it. Leaf 0's own uplinks
/// are alike, so QDAPS sends a quarter of 20 Gb/s towards spine 1, twice what the link behind it
/// carries, and flows wait for their packets there. QDAPS* adds the delay that comes back. Where leaf 1
/// sends ACKs only, these find its other uplinks faster, and little comes back by the slow one; a path
/// that nothing is known of is the last choice among those that are idle.
#[test]
fn qdaps_star_avoids_a_slow_link_far_away() {
    for senders in [HostSet::All, leaf0()] {
        let (packets, mean) = beside_a_slow_link(with_rtt("qdaps"), senders.clone());
        let all: u64 = packets.iter().sum();
        assert!((all / 5..all * 3 / 10).contains(&packets[1]), "QDAPS {packets:?}");
        let (star, star_mean) = beside_a_slow_link(with_rtt("qdaps-star"), senders);
        assert!(star[1] * 3 < packets[1], "QDAPS {packets:?}, QDAPS* {star:?}");
        assert!(star_mean * 2.0 < mean, "{star_mean} against {mean}");
    }
}

/// Breaks if QDAPS* does not add the length of the way: Fig. 14's last point, 30 flows of 50 to 500 KB from one
/// leaf to another over four paths at 1 Gb/s, one of which has 300 us of propagation there and back, the others
/// 100. A packet by the long one comes 100 us late, when the eight after it are there, unless that many wait
/// elsewhere. QDAPS sends it a quarter of all packets, and its flows take them for lost.
#[test]
fn qdaps_star_avoids_a_long_way() {
    let with = |balancer: &str| {
        let mut spec = two_leaves(15, SPINES);
        spec.balancer = scheme(balancer);
        let link = link(Rate::from_gbps(1), Span::from_nanos(12_500));
        (spec.topology.host_link, spec.topology.fabric_link) = (link, link);
        let delay = Some(Span::from_nanos(62_500));
        spec.changes = ["leaf0-spine1", "leaf1-spine1"]
            .map(|link| LinkChange { delay, ..change(link, Span::ZERO) })
            .to_vec();
        let sizes = SizeSpec::Uniform(Bytes(50_000), Bytes(500_000));
        spec.workloads = vec![WorkloadSpec { sizes, senders: leaf0(), ..fixed_flows(30, 1, 0.6) }];
        let output = run(&spec);
        (output.counters.reordered_packets, output.flows.fct_ps.iter().sum::<u64>())
    };
    let (qdaps, star) = (with("qdaps"), with("qdaps-star"));
    assert!(star.0 * 5 < qdaps.0, "QDAPS {qdaps:?}, QDAPS* {star:?}");
    assert!(star.1 * 3 < qdaps.1 * 2, "QDAPS {qdaps:?}, QDAPS* {star:?}");
}
