//! A flow that has the fabric to itself, to the picosecond.

use super::{Case, Row};
use crate::common::*;
use leafspine_core::{Rate, Span};
use leafspine_schemes::Amount;
use leafspine_sim::spec::*;

/// The completion time of a lone flow of `bytes` from `src` to `dst`, ps.
pub fn lone(spec: &Spec, bytes: u64, src: u16, dst: u16) -> f64 {
    let spec = Spec {
        workloads: vec![long_flows(1, bytes, hosts(&[src]), hosts(&[dst]))],
        ..spec.clone()
    };
    run_long(&spec).flows.fct_ps[0] as f64
}

/// SYN and SYN-ACK of 40 bytes, then `packets` full packets back to back over `hops` links of 1 us
/// whose time per byte is `slowest` at one of them and `ps` at the others.
fn train(hops: u64, packets: u64, ps: u64, slowest: u64) -> f64 {
    let once = |size: u64| (hops - 1) * size * ps + size * slowest + hops * 1_000_000;
    (2 * once(40) + once(1500) + (packets - 1) * 1500 * slowest) as f64
}

/// The first window covers the way: nothing waits for anything.
pub fn ideal() -> Case {
    let mut spec = base();
    spec.transport.init_cwnd = Amount::Packets(40);
    let whole = |packets: u64| packets * 1460;
    let figure = "completion time, ps";
    let mut rows = Vec::new();
    for packets in [1, 3, 10, 10_000] {
        for (dst, hops, way) in [(1, 2, "same leaf"), (5, 4, "other leaf")] {
            let s = if packets == 1 { "" } else { "s" };
            let setting = format!("{packets} packet{s}, {way}");
            let measured = lone(&spec, whole(packets), 0, dst);
            rows.push(Row::exact(setting, figure, train(hops, packets, 800, 800), measured));
        }
    }
    // One slow link on the way: the last one, with 8,000 ps a byte.
    let slow = LinkChange { rate: Some(Rate::from_gbps(1)), ..change("host5-leaf1", Span::ZERO) };
    spec.changes = vec![slow];
    let measured = lone(&spec, whole(100), 0, 5);
    let expected = train(4, 100, 800, 8000);
    // The SYN-ACK's first link is the slow one, which takes as long.
    rows.push(Row::exact("100 packets, last link at 1 Gb/s", figure, expected, measured));
    Case {
        title: "A lone flow: transmission and propagation",
        law: "SYN and SYN-ACK, then the packets back to back: each hop takes size / rate + delay, and the slowest link spaces the packets.",
        source: "Store and forward, by hand",
        setup: "10 Gb/s, 1 us a hop, first window of 40 packets.",
        domain: "Only if the window covers the way; otherwise the next law but one.",
        rows,
    }
}

/// A host's link is down at first: the SYN is sent again and again.
pub fn syn_timeouts() -> Case {
    let row = |(up_ms, expected_ms): (u64, u64)| {
        let mut spec = base();
        spec.transport.max_rto = Span::from_millis(40);
        spec.changes = vec![
            LinkChange { up: Some(false), ..change("host0-leaf0", Span::ZERO) },
            LinkChange { up: Some(true), ..change("host0-leaf0", Span::from_millis(up_ms)) },
        ];
        let alone = train(4, 1, 800, 800);
        let expected = Span::from_millis(expected_ms).0 as f64 + alone;
        let setting = format!("link up at {up_ms} ms");
        Row::exact(setting, "completion time, ps", expected, lone(&spec, 1460, 0, 5))
    };
    // SYNs at 0, 10, 30, 70, and from there every 40 ms.
    let cases = [(5, 10), (25, 30), (60, 70), (100, 110), (140, 150), (155, 190)];
    Case {
        title: "Retransmission timeouts of a SYN",
        law: "SYNs at 0, T, 3 T, 7 T, ...: the timeout doubles up to its maximum.",
        source: "RFC 6298 §5.5",
        setup: "T = 10 ms, at most 40 ms; a flow of one packet whose host's link comes up later.",
        domain: "Exact; longer flows go on with a window of one packet (RFC 5681 §3.1).",
        rows: cases.map(row).into(),
    }
}
