//! Traces that say which way each flow takes.

use super::common::*;
use super::{numbers, probe, two_leaves};
use leafspine_core::{Flags, Span};
use leafspine_sim::spec::*;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A trace of this name in the tests' own directory.
fn trace(name: &str, rows: &str) -> WorkloadSpec {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, format!("start_ps,src,dst,bytes,path,ack_path\n{rows}"))
        .expect("a writable directory for tests");
    let kind = WorkloadKind::Trace(TraceSpec::new(path));
    WorkloadSpec { kind, ..long_flows(1, 1, HostSet::All, HostSet::All) }
}

/// Breaks if a flow's data leaves its source's leaf by any uplink but `path`, or its ACKs their leaf
/// by any but `ack_path` (which is `path` where it is empty): every packet on the leaves' uplinks
/// is looked at.
#[test]
fn every_packet_takes_the_uplink_asked() {
    // Source, destination, path, ack_path.
    let flows: [(u16, u16, u64, Option<u64>); 5] = [
        (0, 2, 0, Some(3)),
        (0, 2, 1, None),
        (1, 3, 3, Some(0)),
        (2, 0, 2, Some(2)),
        (3, 1, 6, None),
    ];
    let rows: String = flows
        .iter()
        .enumerate()
        .map(|(i, (src, dst, path, ack))| {
            let ack = ack.map_or(String::new(), |ack| ack.to_string());
            format!("{},{src},{dst},100000,{path},{ack}\n", i * 1000)
        })
        .collect();
    let mut spec = two_leaves(2, 4);
    spec.balancer = scheme("pinned");
    spec.workloads = vec![trace("pinned.csv", &rows)];
    spec.probes = vec![probe(ProbeKind::Packets, "leaf*-spine*", Span::ZERO)];
    let output = run(&spec);
    let series = &output.probes[0];
    let column = |name| numbers(series, name);
    let (ports, flow, flags, size) =
        (column("port"), column("flow"), column("flags"), column("size"));
    let mut data = BTreeMap::new();
    for i in 0..ports.len() {
        let (src, dst, path, ack_path) = flows[flow[i] as usize];
        let flags = Flags(flags[i] as u8);
        // The SYN goes with the data, the SYN-ACK with the ACKs.
        let forwards = flags.has(Flags::DATA) || !flags.has(Flags::ACK);
        let (from, asked) = if forwards { (src, path) } else { (dst, ack_path.unwrap_or(path)) };
        let expected = format!("leaf{}-spine{}", from / 2, asked % 4);
        assert_eq!(series.ports[ports[i] as usize], expected, "flow {} {flags:?}", flow[i]);
        if flags.has(Flags::DATA) {
            *data.entry(flow[i]).or_insert(0) += size[i];
        }
    }
    // 69 segments: 100,000 bytes and 69 headers of 40.
    assert!(data.len() == 5 && data.values().all(|bytes| *bytes == 102_760), "{data:?}");
}
