//! Jobs hold what is under way: a million messages cost their result rows and little else.

mod common;
#[path = "common/counting.rs"]
mod counting;

use common::*;
use leafspine_core::Bytes;
use leafspine_sim::Factories;
use leafspine_sim::spec::*;
use std::sync::{Mutex, PoisonError};

/// What is counted is the whole process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The most bytes in use at once while rings of 64 ranks send so many messages.
fn peak(iterations: u32) -> (i64, u64) {
    let mut spec = base();
    spec.transport.handshake = false;
    peak_of(spec, (Collective::AllReduce, Algorithm::Ring), 64, iterations)
}

/// The most bytes in use at once in a run of this collective, a kilobyte a message, and its messages.
fn peak_of(
    mut spec: Spec,
    (collective, algorithm): (Collective, Algorithm),
    ranks: u32,
    iterations: u32,
) -> (i64, u64) {
    spec.topology.kind = TopologyKind::Star { hosts: ranks };
    let bytes = Bytes(u64::from(ranks) * 1000);
    let all = CollectiveSpec { collective, algorithm, bytes, channels: 1, chunk: None };
    let what = JobKind::Collective(all);
    let kind = WorkloadKind::Job(Box::new(JobSpec { iterations, ..JobSpec::once(what) }));
    spec.workloads = vec![WorkloadSpec { kind, ..long_flows(1, 1, HostSet::All, HostSet::All) }];
    let mut messages = 0;
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let cost =
        counting::cost(|| messages = run_once(&spec, &Factories::default()).flows.finished());
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

/// Breaks if what waits in one large iteration, every message on a connection of its own, keeps
/// more than its place in the plan and its queue pair: of an all-to-all among a thousand ranks, a
/// million messages in one iteration, that would be more than 1 GB.
#[test]
fn a_large_iteration() {
    let pairwise = (Collective::AllToAll, Algorithm::Pairwise);
    let peak = |ranks: u32| {
        let mut spec = base();
        carry_by_pairs(&mut spec, roce());
        peak_of(spec, pairwise, ranks, 1)
    };
    let ((small, few), (large, many)) = (peak(96), peak(192));
    assert_eq!((few, many), (96 * 95, 192 * 191));
    let each = (large - small) as f64 / (many - few) as f64;
    println!("{many} messages: {:.0} MB at most, {each:.0} bytes each", large as f64 / 1e6);
    assert!(each < 800.0, "{each} bytes a message");
}
