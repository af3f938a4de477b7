//! HPCC in running fabrics.

use crate::common::*;
use leafspine_core::{Rate, Span, Time};
use leafspine_schemes::rdma::HpccSettings;
use leafspine_sim::Output;
use leafspine_sim::spec::*;

/// HPCC by its paper's constants. The round trip of these stars: two links of 10 Gb/s and 1 us each way.
fn hpcc(base_rtt: Span) -> PairControl {
    PairControl::Hpcc(HpccSettings { base_rtt, eta: 0.95, stages: 5, additive: 8 })
}

/// What a packet of 1,052 to 1,060 bytes and its answer of 64 take over two links of a star.
const STAR: Span = Span(5_800_000);

fn by_hpcc(kind: TopologyKind, base_rtt: Span, flows: Vec<WorkloadSpec>) -> Spec {
    pairs(kind, RoceSpec { control: hpcc(base_rtt), ..roce() }, flows)
}

/// Sizes of the packets of a lone flow of one packet, on every link in order.
fn sizes_on_the_way(kind: TopologyKind, to: u16) -> Vec<u64> {
    let mut spec =
        by_hpcc(kind, Span::from_micros(20), vec![long_flows(1, 1000, hosts(&[0]), hosts(&[to]))]);
    spec.probes = vec![probe_of(ProbeKind::Packets, "*", Span::ZERO)];
    let output = run(&spec);
    let (start, size) =
        (numbers_of(&output.probes[0], "time_ps"), numbers_of(&output.probes[0], "size"));
    let mut sent: Vec<_> = start.into_iter().zip(size).collect();
    sent.sort_unstable();
    sent.into_iter().map(|(_, size)| size).collect()
}

/// Breaks if telemetry takes no bytes on the wire: two from the host on, eight more from each
/// switch, and all of them in the answer, whose own header is 54 bytes, on all its links. In a
/// fat-tree five switches are on the way.
#[test]
fn telemetry_takes_room_on_the_wire() {
    let found = sizes_on_the_way(leaf_spine(2, 2, 2), 3);
    assert_eq!(found, [1052, 1060, 1068, 1076, 80, 80, 80, 80]);
    let found = sizes_on_the_way(TopologyKind::FatTree { k: 4 }, 15);
    assert_eq!(found, [1052, 1060, 1068, 1076, 1084, 1092, 96, 96, 96, 96, 96, 96]);
}

/// A packet of 1,052 bytes goes over four links of 10 Gb/s and 1 us; each switch adds 8 bytes before it sends it: so
/// (1,052 + 1,060 + 1,068 + 1,076) x 0.8 ns + 4 us. A switch's ports are general ones, whose lines are idle.
///
/// Breaks if what a switch adds takes no time on the line.
#[test]
fn telemetry_takes_time_on_the_line() {
    let flow = long_flows(1, 1000, hosts(&[0]), hosts(&[3]));
    let spec = by_hpcc(leaf_spine(2, 2, 2), Span::from_micros(20), vec![flow]);
    let output = run(&spec);
    assert_eq!(output.flows.fct_ps, [7_404_800]);
}

/// Payload that came in the second half of a run of so long, as a share of a line of 10 Gb/s, by flow.
fn shares(spec: &Spec, until: Span) -> (Vec<f64>, Output) {
    let at = |share: u64| {
        let mut spec = spec.clone();
        spec.run.until = Some(Time(until.0 * share / 2));
        run_long(&spec)
    };
    let (half, whole) = (at(1), at(2));
    let come = half.flows.packets.iter().zip(&whole.flows.packets).map(|(a, b)| f64::from(b - a));
    let line = until.0 as f64 / 2.0 / 800.0 / 1000.0;
    (come.map(|packets| packets / line).collect(), whole)
}

/// Breaks if a lone queue pair does not come to eta of its line, or if it leaves a queue.
#[test]
fn a_lone_queue_pair_takes_eta_of_the_line() {
    let flow = long_flows(1, 1 << 32, hosts(&[0]), hosts(&[1]));
    let spec = by_hpcc(TopologyKind::Star { hosts: 2 }, STAR, vec![flow]);
    let (shares, output) = shares(&spec, Span::from_millis(4));
    // Of 1,060 bytes on the last link 1,000 are payload.
    let found = shares[0] * 1.06;
    assert!((0.93..0.97).contains(&found), "{found}");
    assert!(port(&output, "switch0-host1").queue_mean_packets < 0.1);
}

/// Breaks if eight senders do not share a link fairly, or keep a queue or a pause beyond the first
/// round trips. Without control all that the buffer takes waits.
#[test]
fn senders_share_a_link_without_a_queue() {
    let kind = TopologyKind::Star { hosts: 9 };
    let senders: Vec<u16> = (0..8).collect();
    let flows = vec![long_flows(8, 1 << 32, hosts(&senders), hosts(&[8]))];
    let spec = by_hpcc(kind.clone(), STAR, flows.clone());
    let (shares, output) = shares(&spec, Span::from_millis(20));
    assert!(jain(&shares) > 0.95, "{shares:?}");
    let sum = shares.iter().sum::<f64>() * 1.06;
    assert!((0.85..0.97).contains(&sum), "{sum}");
    let mut plain = pairs(kind, roce(), flows);
    plain.run.until = Some(Time(20_000_000_000));
    let queue = |output: &Output| port(output, "switch0-host8").queue_mean_packets;
    let uncontrolled = queue(&run_long(&plain));
    assert!(queue(&output) < 5.0 && uncontrolled > 200.0, "{} {uncontrolled}", queue(&output));
    assert_eq!(output.counters.dropped, [0; 4]);
}

/// Breaks if senders do not go by the rate that a link has now: at a tenth of it, and back.
#[test]
fn senders_follow_a_link_that_changes() {
    let flows = vec![long_flows(2, 1 << 32, hosts(&[0, 1]), hosts(&[2]))];
    let mut spec = by_hpcc(TopologyKind::Star { hosts: 3 }, STAR, flows);
    let to = |at, gbps| LinkChange {
        rate: Some(Rate::from_gbps(gbps)),
        ..change("switch0-host2", Span::from_millis(at))
    };
    spec.changes = vec![to(4, 1), to(12, 10)];
    spec.probes = vec![probe_of(ProbeKind::Queue, "switch0-host2", Span::from_micros(5))];
    spec.run.until = Some(Time(20_000_000_000));
    let output = run(&spec);
    let (at, bytes) =
        (numbers_of(&output.probes[0], "time_ps"), numbers_of(&output.probes[0], "bytes"));
    let most = |from: u64, to: u64| {
        let within =
            at.iter().zip(&bytes).filter(|(at, _)| (from..to).contains(&(**at / 1_000_000_000)));
        within.map(|(_, bytes)| *bytes).max().expect("samples")
    };
    assert!(most(4, 5) > 3_000, "the change was not felt: {}", most(4, 5));
    assert!(most(8, 12) < 2_500, "{}", most(8, 12));
    // 4 ms at 10, 8 at 1, 8 at 10 Gb/s: 128 Mb, of which 0.95 x 1,000 / 1,060 are payload.
    let carried = output.counters.bytes_delivered as f64 * 8.0 / 128e6;
    assert!((0.80..0.90).contains(&carried), "{carried}");
}
