//! Goldens: small runs as tables that can be checked by eye, with the hash of every packet-hop.
//!
//! A change of the engine that is not meant to change results must leave all of them as they are.
//! Times are in microseconds. At 10 Gb/s a full packet (1460 bytes of payload, 1500 on the wire)
//! takes 1.2 us, an ACK 0.032 us; links are 1 us long. A flow over four hops (leaf-spine) opens
//! with 2 x 4 x 1.032 us = 8.256 us of handshake and its first segment takes 8.8 us more: that is
//! the least that `ideal` can be. From then on a flow that is alone adds 1.2 us a segment.

use crate::common::*;
use leafspine_core::{Bytes, Flags, Rate, Span};
use leafspine_schemes::{Amount, Value};
use leafspine_sim::spec::*;
use leafspine_sim::{Output, UNFINISHED};
use std::fmt::Write;

/// With this seed ECMP puts two of the four flows on either uplink.
const SEED: u64 = 2;

/// Two leaves with four hosts each, two spines; 4 flows of 200 KB from leaf 0 to leaf 1, then 2
/// back, all at once.
fn small() -> Spec {
    let mut spec = base();
    spec.topology.kind = leaf_spine(2, 2, 4);
    spec.workloads = vec![
        long_flows(4, 200_000, hosts(&[0, 1, 2, 3]), hosts(&[4, 5, 6, 7])),
        long_flows(2, 50_000, hosts(&[4, 5]), hosts(&[0, 1])),
    ];
    spec.measure.window = Window::All;
    spec.run.seed = SEED;
    spec
}

/// So many senders under a star's switch, one receiver (host 0), flows of 60 KB at once.
fn incast(senders: u32) -> Spec {
    let mut spec = small();
    spec.topology.kind = TopologyKind::Star { hosts: senders + 1 };
    spec.workloads = vec![long_flows(senders, 60_000, HostSet::Rest, HostSet::First(1))];
    spec
}

fn us(ps: u64) -> String {
    format!("{}.{:03}", ps / 1_000_000, ps / 1_000 % 1_000)
}

fn flow_table(out: &mut String, output: &Output) {
    let f = &output.flows;
    writeln!(
        out,
        "flow  src  dst    bytes    start       fct     ideal  retx  rto  reord  dupack  paths"
    )
    .unwrap();
    for i in 0..f.len() {
        let fct = if f.fct_ps[i] == UNFINISHED { "-".to_owned() } else { us(f.fct_ps[i]) };
        writeln!(
            out,
            "{i:4} {:4} {:4} {:8} {:>8} {fct:>9} {:>9} {:5} {:4} {:6} {:7} {:6}",
            f.src[i],
            f.dst[i],
            f.bytes[i],
            us(f.start_ps[i]),
            us(f.ideal_fct_ps[i]),
            f.retransmits[i],
            f.timeouts[i],
            f.reordered[i],
            f.dup_acks[i],
            f.path_changes[i],
        )
        .unwrap();
    }
}

/// The ports whose names begin with one of `shown`.
fn port_table(out: &mut String, output: &Output, shown: &[&str]) {
    writeln!(out, "port             packets     bytes  marks  drops  lost  max queue  mean wait")
        .unwrap();
    for p in output.ports.iter().filter(|p| shown.iter().any(|s| p.name.starts_with(s))) {
        writeln!(
            out,
            "{:15} {:8} {:9} {:6} {:6} {:5} {:10} {:>10}",
            p.name,
            p.packets,
            p.bytes,
            p.marks,
            p.drops,
            p.lost,
            p.queue_max_packets,
            us(p.delay_mean_ps as u64),
        )
        .unwrap();
    }
}

fn totals(out: &mut String, output: &Output) {
    let c = &output.counters;
    let [buffer, manager, down, no_route] = c.dropped;
    let per_hop = c.events as f64 / c.packet_hops as f64;
    writeln!(out, "sent {}, delivered {}, data {}", c.sent, c.delivered, c.data_packets).unwrap();
    writeln!(out, "hops {}, events/hop {per_hop:.2}, marks {}", c.packet_hops, c.marks).unwrap();
    writeln!(
        out,
        "drops: buffer {buffer}, manager {manager}, link down {down}, no route {no_route}"
    )
    .unwrap();
    writeln!(out, "lost {}, reordered {}, end {}", c.lost, c.reordered_packets, us(output.end.0))
        .unwrap();
    writeln!(out, "hash {:016x}", output.trace_hash).unwrap();
}

/// Runs `spec` and compares its report with the golden of this name.
fn check(name: &str, spec: &Spec, ports: &[&str]) {
    let output = run(spec);
    let mut report = String::new();
    flow_table(&mut report, &output);
    report.push('\n');
    port_table(&mut report, &output, ports);
    report.push('\n');
    totals(&mut report, &output);
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(name, report) });
}

/// Breaks if ECMP with DCTCP over a leaf-spine changes in a single packet-hop.
#[test]
fn ecmp_dctcp() {
    check("ecmp_dctcp", &small(), &["leaf0-spine", "leaf1-spine", "leaf1-host"]);
}

/// Breaks if the balancers of a leaf-spine change in a single packet-hop. With DRB, uplinks of a
/// leaf differ by at most a packet per destination; Presto's 200 KB are 4 flowcells, 3 changes.
#[test]
fn balancers() {
    for name in ["rps", "drb", "presto"] {
        let mut spec = small();
        spec.balancer = scheme(name);
        spec.edge = (name == "presto").then(|| edge("presto"));
        check(name, &spec, &["leaf0-spine", "leaf1-spine"]);
    }
    let mut letflow = small();
    // Shorter than a round trip (12 us and more), longer than a packet: a burst of the window
    // stays together.
    letflow.balancer = scheme_with("letflow", "gap", Value::Span(Span::from_micros(5)));
    check("letflow", &letflow, &["leaf0-spine", "leaf1-spine"]);
}

/// Breaks if weighted hashing, or a link that is slow from the start, changes.
#[test]
fn wcmp_with_a_slow_link() {
    let mut spec = small();
    spec.balancer = scheme("wcmp");
    spec.changes =
        vec![LinkChange { rate: Some(Rate::from_gbps(2)), ..change("leaf0-spine0", Span::ZERO) }];
    spec.workloads = vec![long_flows(12, 50_000, hosts(&[0, 1, 2, 3]), hosts(&[4, 5, 6, 7]))];
    check("wcmp_slow_link", &spec, &["leaf0-spine", "spine0-leaf", "spine1-leaf"]);
}

/// Breaks if a fat-tree's ways change: 6 hops between pods, 4 within one, 2 under one switch.
#[test]
fn fat_tree() {
    let mut spec = small();
    spec.topology.kind = TopologyKind::FatTree { k: 4 };
    spec.workloads = vec![
        long_flows(4, 100_000, hosts(&[0, 1, 2, 3]), hosts(&[4, 5, 8, 12])),
        long_flows(2, 100_000, hosts(&[12]), hosts(&[13, 14])),
    ];
    check("fat_tree", &spec, &["edge0-agg", "edge1-agg", "agg0-core", "agg1-core"]);
}

/// Breaks if incast over a tree with drop-tail and NewReno changes. Two switches with four senders
/// each meet at the core, so its port to the receiver's switch overflows. Their packets come at the
/// same instants and the lower port's are taken first, which is why flows 4 to 7 lose whole windows
/// (the phase effect of drop-tail, Floyd and Jacobson 1992).
#[test]
fn tree_incast_newreno() {
    let mut spec = small();
    spec.topology.kind = TopologyKind::Tree { tors: 3, hosts_per_tor: 4, links_per_pair: 1 };
    spec.transport.scheme = scheme("newreno");
    spec.aqm = scheme("droptail");
    spec.switch.buffer = Amount::Packets(40);
    spec.workloads = vec![long_flows(8, 60_000, hosts(&[4, 5, 6, 7, 8, 9, 10, 11]), hosts(&[0]))];
    check("tree_incast_newreno", &spec, &["tor0-host0", "core0-tor0", "tor1-core"]);
}

/// Breaks if an incast on a star under DCTCP changes.
#[test]
fn star_incast_dctcp() {
    check("star_incast_dctcp", &incast(8), &["switch0-host0", "host1-"]);
}

/// Breaks if CUBIC changes: two flows share a link through a buffer that overflows.
#[test]
fn cubic() {
    let mut spec = incast(2);
    spec.transport.scheme = scheme("cubic");
    spec.aqm = scheme("droptail");
    spec.switch.buffer = Amount::Packets(30);
    spec.workloads = vec![long_flows(2, 1_000_000, HostSet::Rest, HostSet::First(1))];
    check("cubic", &spec, &["switch0-host"]);
}

/// Breaks if delayed ACKs change: about one ACK for two segments.
#[test]
fn delayed_acks() {
    let mut spec = small();
    spec.transport.delayed_ack = Some(Span::from_micros(100));
    check("delayed_acks", &spec, &["leaf1-host", "host4-", "host5-", "host6-", "host7-"]);
}

/// Breaks if recovery without SACK changes: drops that SACK would mend in a round trip.
#[test]
fn newreno_without_sack() {
    let mut spec = incast(4);
    spec.transport.scheme = scheme("newreno");
    spec.transport.sack = false;
    spec.aqm = scheme("droptail");
    spec.switch.buffer = Amount::Packets(30);
    check("newreno_without_sack", &spec, &["switch0-host"]);
}

/// Breaks if three service queues with weights 4:2:1 change: flows of one host pair each.
#[test]
fn three_queues_wrr() {
    let mut spec = incast(6);
    spec.switch.queues = 3;
    spec.switch.scheduler = SchedulerKind::Wrr;
    spec.switch.weights = vec![4, 2, 1];
    check("three_queues_wrr", &spec, &["switch0-host0"]);
}

/// Breaks if a shared buffer with a dynamic threshold changes: two receivers compete for 100 KB.
#[test]
fn shared_buffer() {
    let mut spec = incast(8);
    spec.transport.scheme = scheme("newreno");
    spec.aqm = scheme("droptail");
    spec.switch.shared = Some(SharedBuffer { size: Bytes(100_000), alpha: 1.0 });
    spec.workloads = vec![long_flows(7, 60_000, hosts(&[2, 3, 4, 5, 6, 7, 8]), hosts(&[0, 1]))];
    check("shared_buffer", &spec, &["switch0-host0", "switch0-host1"]);
}

/// Breaks if a link that goes down at 40 us and comes back at 100 us changes what is lost, or where
/// flows go meanwhile. Two of three uplinks are left.
#[test]
fn link_down_and_up() {
    let mut spec = small();
    spec.topology.kind = leaf_spine(2, 3, 4);
    spec.transport.min_rto = Span::from_millis(1);
    spec.changes = vec![
        LinkChange { up: Some(false), ..change("leaf0-spine1", Span::from_micros(40)) },
        LinkChange { up: Some(true), ..change("leaf0-spine1", Span::from_micros(100)) },
    ];
    check("link_down_and_up", &spec, &["leaf0-spine", "spine1-leaf"]);
}

fn kind(flags: u64) -> &'static str {
    let flags = Flags(flags as u8);
    match (flags.has(Flags::SYN), flags.has(Flags::ACK), flags.has(Flags::DATA)) {
        (true, false, _) => "SYN",
        (true, true, _) => "SYN-ACK",
        (_, _, true) if flags.has(Flags::FIN) => "data FIN",
        (_, _, true) => "data",
        _ => "ACK",
    }
}

/// The life of a flow of five segments (the last of 160 bytes) over four hops, each packet's start
/// of transmission on each port. Hosts' links have 10 Gb/s and 1 us, the fabric's 1 Gb/s and 2 us.
///
/// By hand: 40 bytes take 0.032 us at hosts and 0.32 us in the fabric, so a SYN or an ACK takes
/// 1.032 + 2.32 + 2.32 + 1.032 = 6.704 us from end to end, and data begins at 13.408. Its segments
/// leave the host every 1.2 us and come to leaf 0 after 2.2 us; there each takes 12 us, so segment
/// n finds the line busy and waits n x 10.8 us. It begins on leaf 0 at 15.608 + 12 n, on the spine
/// 14 us later and on leaf 1 another 14 us later, waiting at neither, and has arrived 2.2 us after
/// that, at 45.808 + 12 n: its ACK, sent at that instant, is back after 6.704 us.
///
/// The last segment, n = 4, has 200 bytes on the wire (0.16 and 1.6 us). It leaves the host with
/// the others at 13.408 + 4 x 1.2 = 18.208, so it is at leaf 0 at 19.368 and waits there until
/// 63.608 (44.24 us). It is at the spine at 67.208, where segment 3 is being sent since 65.608: it
/// waits until 77.608 (10.4 us). At leaf 1 (81.208) the line has been free since 80.808. It arrives
/// at 82.368: the FCT.
///
/// Breaks if any hop adds or loses a picosecond, or if the probe misses or repeats one.
#[test]
fn life_of_a_flow() {
    let mut spec = base();
    spec.topology.kind = leaf_spine(2, 1, 1);
    spec.topology.fabric_link = link(Rate::from_gbps(1), Span::from_micros(2));
    spec.workloads = vec![long_flows(1, 4 * 1460 + 160, hosts(&[0]), hosts(&[1]))];
    spec.probes = vec![ProbeSpec {
        kind: ProbeKind::Packets,
        ports: "*".to_owned(),
        flows: Vec::new(),
        every: Span::ZERO,
        name: "packets".to_owned(),
    }];
    let output = run(&spec);
    let series = &output.probes[0];
    let get = |column| numbers(series, column);
    let (time, at, flags) = (get("time_ps"), get("port"), get("flags"));
    let (segment, size, waited) = (get("segment"), get("size"), get("waited_ps"));
    let mut rows: Vec<usize> = (0..time.len()).collect();
    rows.sort_by_key(|row| (time[*row], at[*row]));
    let mut report = "   start  port          packet    segment  size   waited\n".to_owned();
    for row in rows {
        writeln!(
            report,
            "{:>8}  {:12}  {:8} {:8} {:5} {:>8}",
            us(time[row]),
            series.ports[at[row] as usize],
            kind(flags[row]),
            segment[row],
            size[row],
            us(waited[row]),
        )
        .unwrap();
    }
    writeln!(report, "\nfct {}, hash {:016x}", us(output.flows.fct_ps[0]), output.trace_hash)
        .unwrap();
    assert_eq!(output.flows.fct_ps, [82_368_000]);
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("life_of_a_flow", report);
    });
}
