//! Priority-based flow control in running fabrics: what its tests share.

mod deadlock;
mod headroom;
mod pauses;
mod priorities;

use crate::common::*;
use leafspine_core::{Bytes, Rate, Span};
use leafspine_fabric::kinds::{Defaults, Edge, Vertex, Wiring};
use leafspine_schemes::Amount;
use leafspine_sim::spec::*;
use std::sync::Arc;

/// A fabric of switches and links in Mb/s and us, with a host at each switch, of its number.
fn fabric(
    switches: usize,
    host_mbps: &[u64],
    links: &[(usize, usize)],
    delay: u64,
) -> TopologyKind {
    let vertex = |name: String, host| Vertex { name, host, tier: None };
    let hosts = (0..switches).map(|n| vertex(format!("h{n}"), Some(true)));
    let vertices: Vec<Vertex> =
        hosts.chain((0..switches).map(|n| vertex(format!("s{n}"), Some(false)))).collect();
    let edge = |ends, mbps| Edge {
        ends,
        rate: Some(Rate::from_mbps(mbps)),
        delay: Some(Span::from_micros(delay)),
        loss: None,
    };
    let host_links = host_mbps.iter().enumerate().map(|(n, mbps)| edge((n, switches + n), *mbps));
    let fabric_links = links.iter().map(|(a, b)| edge((switches + a, switches + b), 10_000));
    let edges: Vec<Edge> = host_links.chain(fabric_links).collect();
    let none = Defaults { host: None, fabric: None };
    TopologyKind::File(Arc::new(Wiring::new(&vertices, &edges, &none).expect("a fabric")))
}

fn pfc(threshold: u64) -> PfcSpec {
    PfcSpec {
        lossless: 1,
        threshold: PfcThreshold::Static(Bytes(threshold)),
        reserve: Bytes(0),
        resume: Bytes(3_000),
        headroom: None,
        watchdog: None,
    }
}

/// NewReno that sends so many packets at once, without a handshake or marks.
fn bursts(kind: TopologyKind, packets: u32, flows: Vec<WorkloadSpec>) -> Spec {
    let mut spec = base();
    spec.topology.kind = kind;
    spec.aqm = scheme("droptail");
    spec.transport.scheme = scheme("newreno");
    spec.transport.handshake = false;
    spec.transport.init_cwnd = Amount::Packets(packets);
    spec.switch.shared = Some(SharedBuffer { size: Bytes(1_000_000), alpha: 1.0 });
    spec.switch.pfc = Some(pfc(6_000));
    spec.workloads = flows;
    spec.measure.window = Window::All;
    spec
}

/// Host 0 sends over two switches to host 1, whose link is slow.
fn two_switches(slow_mbps: u64, packets: u32) -> Spec {
    let kind = fabric(2, &[10_000, slow_mbps], &[(0, 1)], 1);
    let bytes = u64::from(packets) * 1460;
    bursts(kind, packets, vec![long_flows(1, bytes, hosts(&[0]), hosts(&[1]))])
}

/// Four hosts send to a fifth under one switch each.
fn incast(packets: u32) -> Spec {
    let kind = TopologyKind::Star { hosts: 5 };
    let bytes = u64::from(packets) * 1460;
    bursts(kind, packets, vec![long_flows(4, bytes, hosts(&[0, 1, 2, 3]), hosts(&[4]))])
}

/// Host 1 is slow until its link is mended, and what is for it waits in both switches; the link between these fails
/// and comes back meanwhile.
fn flapping(down: u64, up: u64) -> Spec {
    let mut spec = two_switches(100, 400);
    let us = Span::from_micros;
    spec.transport.min_rto = Span::from_millis(1);
    spec.changes = vec![
        LinkChange { up: Some(false), ..change("s0-s1", us(down)) },
        LinkChange { up: Some(true), ..change("s0-s1", us(up)) },
        LinkChange { rate: Some(Rate::from_gbps(10)), ..change("h1-s1", us(2_000)) },
    ];
    spec
}
