//! Messages of one channel of a pair of hosts share a connection.

use super::*;
use leafspine_sim::Column;

fn ring(bytes: u64, iterations: u32) -> JobSpec {
    let what = JobKind::Collective(of(Collective::AllReduce, Algorithm::Ring, bytes));
    JobSpec { iterations, ..JobSpec::once(what) }
}

/// Breaks if every message of a connection has a handshake, or none: one for each of the ring's links,
/// whatever the number of messages.
#[test]
fn a_connection_has_one_handshake() {
    let mut spec = star(4, ring(400_000, 3));
    spec.transport.handshake = true;
    let output = run(&spec);
    let data: u64 = output.flows.packets.iter().map(|packets| u64::from(*packets)).sum();
    // SYN and SYN-ACK of four connections, data and as many ACKs.
    assert_eq!(output.counters.sent, 8 + 2 * data);
    // Only the first message of each is as late as its handshake.
    let first = |row: &usize| output.flows.fct_ps[*row] > alone(&spec, 100_000) + 4_000_000;
    assert_eq!((0..output.flows.len()).filter(first).count(), 4);
}

/// Breaks if a message begins with the initial window when the one before has left a larger one.
#[test]
fn windows_are_kept() {
    let mut spec = star(2, ring(20_000_000, 4));
    spec.transport.init_cwnd = Amount::Packets(2);
    let output = run(&spec);
    let times = |iteration: usize| took(&output, iteration);
    // Slow start from two segments costs the first iteration round trips, and no other.
    assert!(times(0) > times(1) + 2 * 4_000_000, "{} and {}", times(0), times(1));
    let ideal = 2 * alone(&spec, 10_000_000);
    assert!(times(3) < ideal + ideal / 50, "{} and {ideal}", times(3));
}

/// Breaks if messages of one connection are sent side by side: their last bytes would all come at the
/// end.
#[test]
fn messages_of_a_connection_follow_each_other() {
    let what = of(Collective::AllGather, Algorithm::Ring, 1_792_000);
    let what = JobKind::Collective(CollectiveSpec { chunk: Some(Bytes(89_600)), ..what });
    let spec = star(2, JobSpec::once(what));
    let output = run(&spec);
    let apart = ends_apart(&output);
    assert_eq!(apart.len(), 9);
    // Ten packets of 9,000 bytes at 100 Gb/s, and an ACK at times.
    assert!(apart.iter().all(|apart| apart.abs_diff(7_200_000) < 100_000), "{apart:?}");
}

/// Breaks if channels share a connection, or if a connection changes its ports: over 16 paths ECMP puts
/// each of a pair's 8 channels always on the same one, and not all on one.
#[test]
fn channels_are_connections() {
    let what = of(Collective::AllGather, Algorithm::Ring, 160_000);
    let what = JobKind::Collective(CollectiveSpec { channels: 8, ..what });
    let mut spec = star(2, JobSpec { iterations: 4, ..JobSpec::once(what) });
    spec.topology.kind = leaf_spine(2, 16, 1);
    spec.topology.fabric_link = spec.topology.host_link;
    spec.probes = vec![ProbeSpec {
        kind: ProbeKind::Packets,
        ports: "leaf0-spine*".to_owned(),
        flows: Vec::new(),
        every: Span(1),
        name: "packets".to_owned(),
    }];
    let output = run(&spec);
    let columns = &output.jobs.as_ref().expect("jobs").columns;
    let of = |wanted: &str| {
        let found = output.probes[0].columns.iter().find(|(name, _)| *name == wanted);
        match &found.expect("a column").1 {
            Column::U32(values) | Column::Index(values) => values.clone(),
            _ => unreachable!("whole numbers"),
        }
    };
    let (flows, ports) = (of("flow"), of("port"));
    let mut port_of = vec![None; 8];
    for (flow, port) in flows.iter().zip(&ports) {
        let flow = *flow as usize;
        if output.flows.src[flow] == 0 {
            let known = &mut port_of[columns.channel[flow] as usize];
            assert_eq!(*known.get_or_insert(*port), *port, "a channel has one path");
        }
    }
    port_of.sort_unstable();
    port_of.dedup();
    assert!(port_of.len() > 3, "{port_of:?}");
}

/// Breaks if many short messages of a connection are in the network at once, whatever its window.
#[test]
fn short_messages_keep_to_the_window() {
    let what = of(Collective::AllGather, Algorithm::Ring, 2 * 100 * 8_960);
    let what = JobKind::Collective(CollectiveSpec { chunk: Some(Bytes(8_960)), ..what });
    let mut spec = star(2, JobSpec::once(what));
    spec.transport.init_cwnd = Amount::Packets(4);
    spec.transport.max_cwnd = Some(Amount::Packets(4));
    spec.topology.host_link.delay = Span::from_micros(100);
    let output = run_long(&spec);
    // A hundred packets each way, four in a round trip of 400 us: 25 of them.
    let trips = took(&output, 0) / 400_000_000;
    assert!((24..=26).contains(&trips), "{trips}");
}
