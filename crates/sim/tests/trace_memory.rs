//! A trace streams: a million flows cost their result rows and little else.

mod common;
#[path = "common/counting.rs"]
mod counting;

use common::*;
use leafspine_core::Span;
use leafspine_sim::Factories;
use leafspine_sim::spec::*;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

const HOSTS: u64 = 16;

/// Flows of one packet, one every 100 ns, from each host in turn to one of the others: 16 links of
/// 10 Gb/s are three quarters busy.
fn write_trace(flows: u64) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("flows-{flows}.csv"));
    let mut file = BufWriter::new(File::create(&path).expect("a writable directory for tests"));
    writeln!(file, "start_ps,src,dst,bytes").expect("room for the trace");
    for i in 0..flows {
        let (src, step) = (i % HOSTS, 1 + i / HOSTS % (HOSTS - 1));
        writeln!(file, "{},{src},{},1460", i * 100_000, (src + step) % HOSTS).expect("room");
    }
    file.into_inner().expect("room for the rest");
    path
}

/// The most bytes in use at once while a trace of so many flows runs.
fn peak(flows: u64) -> i64 {
    let mut spec = base();
    spec.topology.kind = TopologyKind::Star { hosts: HOSTS as u32 };
    spec.transport.handshake = false;
    let path = write_trace(flows);
    let kind = WorkloadKind::Trace(TraceSpec::new(&path));
    spec.workloads = vec![WorkloadSpec { kind, ..long_flows(1, 1, HostSet::All, HostSet::All) }];
    let last = flows * 100_000 + Span::from_micros(100).0;
    let cost = counting::cost(|| {
        let output = run_once(&spec, &Factories::default());
        assert_eq!(output.flows.finished(), flows);
        assert!(output.end.0 < last, "they end as they come");
    });
    std::fs::remove_file(path).expect("it was there");
    cost.peak
}

/// Breaks if a trace is read ahead, or if a flow that has ended keeps anything besides its row: a
/// million flows may take 150 bytes each beyond the row's 82 in 17 columns.
#[test]
fn a_million_flows_stream() {
    let (few, many) = (peak(100_000), peak(1_000_000));
    let per_flow = (many - few) as f64 / 900_000.0;
    println!("{per_flow:.1} bytes a flow");
    assert!(per_flow < 82.0 + 150.0, "{per_flow} bytes a flow");
}
