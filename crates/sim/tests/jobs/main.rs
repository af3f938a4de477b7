//! Messages that wait for each other: held against times that are computed by hand, whatever drives
//! the nodes (`common::run` drives each scenario three times and wants the same).

#[path = "../common/mod.rs"]
mod common;

mod chakra;
mod closed_forms;
mod connections;
mod determinism;
mod goal;
mod pairs;
mod simai;

use common::*;
use leafspine_core::HostId;
use leafspine_core::{Bytes, Rate, Span, Time};
use leafspine_fabric::{Graph, Ideal, Routes};
use leafspine_schemes::Amount;
use leafspine_sim::Output;
use leafspine_sim::spec::*;

/// A collective with one channel and whole steps.
fn of(collective: Collective, algorithm: Algorithm, bytes: u64) -> CollectiveSpec {
    CollectiveSpec { collective, algorithm, bytes: Bytes(bytes), channels: 1, chunk: None }
}

fn workload(job: JobSpec) -> WorkloadSpec {
    WorkloadSpec {
        kind: WorkloadKind::Job(Box::new(job)),
        sizes: SizeSpec::Fixed(Bytes(1)),
        senders: HostSet::All,
        receivers: HostSet::All,
        pattern: Pattern::Any,
        start: Time::ZERO,
        class: None,
    }
}

/// Times between the ends of host 0's messages, in their order.
fn ends_apart(output: &Output) -> Vec<u64> {
    let flows = &output.flows;
    let mut ends: Vec<u64> = (0..flows.len())
        .filter(|row| flows.src[*row] == 0)
        .map(|row| flows.start_ps[row] + flows.fct_ps[row])
        .collect();
    ends.sort_unstable();
    ends.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Hosts at one switch, with windows that never limit: a message alone takes its ideal time.
fn star(hosts: u32, job: JobSpec) -> Spec {
    let mut spec = base();
    spec.topology.kind = TopologyKind::Star { hosts };
    spec.topology.host_link = link(Rate::from_gbps(100), Span::from_micros(1));
    spec.switch.buffer = Amount::Packets(1 << 20);
    spec.aqm = scheme("droptail");
    spec.transport.scheme = scheme("newreno");
    spec.transport.init_cwnd = Amount::Bytes(1 << 29);
    spec.transport.mss = 8960;
    spec.transport.handshake = false;
    spec.workloads = vec![workload(job)];
    spec
}

/// The time that a message takes alone between two hosts of a spec's fabric.
fn alone(spec: &Spec, bytes: u64) -> u64 {
    let graph = Graph::build(&spec.topology).expect("a valid fabric");
    let routes = Routes::new(&graph);
    let TransportSpec { mss, header, .. } = spec.transport;
    Ideal::new(&graph, &routes, mss, header, false).fct(HostId(0), HostId(1), Bytes(bytes)).0
}

/// Rings, of whole steps.
const RING: HowSpec = HowSpec { algorithm: Algorithm::Ring, channels: 1, chunk: None };

/// When the last rank had done.
fn all_done(output: &Output) -> u64 {
    let ranks = &output.jobs.as_ref().expect("jobs").ranks;
    ranks.iter().map(|rank| rank.until.0).max().expect("ranks")
}

/// How long the collective of an iteration took.
fn took(output: &Output, iteration: usize) -> u64 {
    let row = &output.jobs.as_ref().expect("jobs").collectives[iteration];
    row.end.expect("it ended").since(row.start).0
}
