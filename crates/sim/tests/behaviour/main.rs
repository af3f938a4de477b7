//! What schemes and measurements do in a running fabric, each with the reason why it must be so.

mod abq;
mod aq_car;
mod balancers;
mod bbr;
mod congestion_aware;
mod conweave;
mod edges;
mod jitter;
mod managers;
mod measurements;
mod pinned;
mod qall;
mod qdaps;
mod queues;
mod recovery;
mod spraying;
mod tam;

#[path = "../common/mod.rs"]
mod common;

use common::*;
use leafspine_core::Span;
use leafspine_sim::Output;
use leafspine_sim::spec::*;

/// Two leaves with `hosts` each and so many spines; everything is measured.
fn two_leaves(hosts: u32, spines: u32) -> Spec {
    let mut spec = base();
    spec.topology.kind = leaf_spine(2, spines, hosts);
    spec.measure.window = Window::All;
    spec
}

fn probe(kind: ProbeKind, ports: &str, every: Span) -> ProbeSpec {
    let name = format!("{kind:?}");
    ProbeSpec { kind, ports: ports.to_owned(), flows: Vec::new(), every, name }
}

/// Packets sent on each of `leaf0`'s uplinks to the first so many spines.
fn uplink_packets(output: &Output, spines: u32) -> Vec<u64> {
    (0..spines).map(|s| port(output, &format!("leaf0-spine{s}")).packets).collect()
}
