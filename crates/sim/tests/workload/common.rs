//! Fabrics and workloads that the tests of flows share.
#![allow(dead_code, reason = "each test file uses its part")]

use leafspine_core::{Bytes, HostId, Rate, Span, Time, TorId};
use leafspine_sim::spec::{
    Arrivals, HostSet, LoadBasis, Pattern, SizeSpec, Stop, WorkloadKind, WorkloadSpec,
};
use leafspine_sim::workload::{Fabric, Flow, FlowSource};
use std::collections::HashMap;

/// Leaves with `spines` uplinks of 40 Gb/s and `hosts_per_leaf` hosts of 10 Gb/s each.
pub(crate) fn leaf_spine(leaves: u16, spines: u64, hosts_per_leaf: u16) -> Fabric {
    Fabric {
        tor_of: (0..leaves * hosts_per_leaf).map(|host| TorId(host / hosts_per_leaf)).collect(),
        tor_names: (0..leaves).map(|leaf| format!("leaf{leaf}")).collect(),
        uplinks: vec![Rate::from_gbps(40 * spines); usize::from(leaves)],
        host_links: vec![Rate::from_gbps(10); usize::from(leaves * hosts_per_leaf)],
        host_names: HashMap::new(),
        uplink_names: (0..leaves)
            .map(|leaf| (0..spines).map(|spine| format!("leaf{leaf}-spine{spine}")).collect())
            .collect(),
    }
}

/// One switch.
pub(crate) fn star(hosts: u16) -> Fabric {
    Fabric {
        tor_of: vec![TorId(0); usize::from(hosts)],
        tor_names: vec!["switch0".into()],
        uplinks: vec![Rate(0)],
        host_links: vec![Rate::from_gbps(1); usize::from(hosts)],
        host_names: HashMap::new(),
        uplink_names: vec![Vec::new()],
    }
}

/// A workload of all hosts and any pairs.
pub(crate) fn workload(kind: WorkloadKind) -> WorkloadSpec {
    WorkloadSpec {
        kind,
        sizes: SizeSpec::Fixed(Bytes(10_000)),
        senders: HostSet::All,
        receivers: HostSet::All,
        pattern: Pattern::Any,
        start: Time::ZERO,
        class: None,
    }
}

pub(crate) fn at_load(load: f64, basis: LoadBasis, flows: u64) -> WorkloadKind {
    WorkloadKind::Poisson { arrivals: Arrivals::Load { load, basis }, stop: Stop::Flows(flows) }
}

pub(crate) fn every(span: Span, flows: u64) -> WorkloadKind {
    WorkloadKind::Poisson { arrivals: Arrivals::Interarrival(span), stop: Stop::Flows(flows) }
}

pub(crate) fn list(hosts: &[u16]) -> HostSet {
    HostSet::List(hosts.iter().map(|host| HostId(*host)).collect())
}

pub(crate) fn source(workloads: &[WorkloadSpec], fabric: &Fabric, seed: u64) -> FlowSource {
    FlowSource::new(workloads, fabric, seed).expect("good workloads")
}

/// All flows, checked to come in order and to be as many as announced.
pub(crate) fn flows(workloads: &[WorkloadSpec], fabric: &Fabric, seed: u64) -> Vec<Flow> {
    let mut source = source(workloads, fabric, seed);
    let announced = source.total();
    let mut flows: Vec<Flow> = Vec::new();
    while let Some(flow) = source.next().expect("good flows") {
        assert!(flows.last().is_none_or(|last| last.start <= flow.start), "out of order");
        assert!(flow.src != flow.dst && flow.bytes > 0);
        flows.push(flow);
    }
    assert_eq!(announced.unwrap_or(flows.len() as u64), flows.len() as u64);
    assert_eq!(source.total(), Some(flows.len() as u64));
    assert_eq!(source.last_start(), flows.last().map(|flow| flow.start));
    flows
}

/// The message for a workload that cannot be.
pub(crate) fn refusal(spec: &WorkloadSpec, fabric: &Fabric) -> String {
    match FlowSource::new(std::slice::from_ref(spec), fabric, 1) {
        Ok(_) => panic!("{spec:?} was accepted"),
        Err(error) => error.to_string(),
    }
}

/// Sources and destinations as numbers.
pub(crate) fn pairs(flows: &[Flow]) -> Vec<(u16, u16)> {
    flows.iter().map(|flow| (flow.src.0, flow.dst.0)).collect()
}
