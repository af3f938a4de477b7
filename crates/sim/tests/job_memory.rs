//! Jobs hold what is under way: a million messages cost their result rows and little else.

mod common;
#[path = "common/counting.rs"]
mod counting;

use common::*;
use leafspine_core::{Bytes, Span};
use leafspine_sim::spec::*;

/// The most bytes in use at once while rings of 64 ranks send so many messages.
fn peak(iterations: u32) -> (i64, u64) {
    let mut spec = base();
    spec.topology.kind = TopologyKind::Star { hosts: 64 };
    spec.transport.handshake = false;
    let what = JobKind::Collective(CollectiveSpec {
        collective: Collective::AllReduce,
        algorithm: Algorithm::Ring,
        bytes: Bytes(64 * 1000),
        channels: 1,
        chunk: None,
    });
    let kind = WorkloadKind::Job(Box::new(JobSpec {
        what,
        jobs: 1,
        ranks: None,
        placement: Placement::Packed,
        iterations,
        compute: Span::ZERO,
        compute_jitter: Span::ZERO,
        delay: Span::ZERO,
    }));
    spec.workloads = vec![WorkloadSpec { kind, ..long_flows(1, 1, HostSet::All, HostSet::All) }];
    let mut messages = 0;
    let cost = counting::cost(|| messages = run_alone(&spec).flows.finished());
    (cost.peak, messages)
}

/// Breaks if messages that have ended, or that are far from starting, keep anything but their rows: a
/// million of them are to fit into 1 GB, and the rows alone, once more at the end, when all are put in
/// order, take some 250 bytes each.
#[test]
fn a_million_messages() {
    let ((small, few), (large, many)) = (peak(12), peak(124));
    assert_eq!((few, many), (12 * 64 * 126, 124 * 64 * 126));
    let each = (large - small) as f64 / (many - few) as f64;
    println!("{many} messages: {:.0} MB at most, {each:.0} bytes each", large as f64 / 1e6);
    assert!(large < 1_000_000_000, "{large} bytes");
    assert!(each < 450.0, "{each} bytes a message");
}
