//! Slow start of a lone flow, to the picosecond.

use super::lone_flow::lone;
use super::{Case, Row};
use crate::common::*;
use leafspine_core::{Rate, Span};
use leafspine_sim::spec::*;

/// A full packet's time on the line, ps.
const PACKET: u64 = 1_200_000;
/// An ACK's, a SYN's.
const ACK: u64 = 32_000;
const HOPS: u64 = 4;
const DELAY: u64 = 10_000_000;
const FIRST_WINDOW: u64 = 10;

/// When the packet of index `n` is sent, after the first: rounds of 10, 20, 40, ... begin a round trip
/// apart and are sent back to back, until a round takes longer than a round trip: then there is no
/// pause any more.
fn sent(mut n: u64) -> u64 {
    let round_trip = HOPS * (PACKET + ACK + 2 * DELAY);
    let (mut window, mut begins) = (FIRST_WINDOW, 0);
    while n >= window && window * PACKET < round_trip {
        n -= window;
        window *= 2;
        begins += round_trip;
    }
    begins + n * PACKET
}

/// Sizes at the edges of rounds, and one far beyond the last.
pub fn rounds() -> Case {
    let mut spec = base();
    spec.topology.kind = leaf_spine(2, 1, 1);
    let ten = link(Rate::from_gbps(10), Span(DELAY));
    (spec.topology.host_link, spec.topology.fabric_link) = (ten, ten);
    spec.switch.host_ports = HostPorts::Unlimited;
    spec.aqm = scheme("droptail");
    spec.transport.scheme = scheme("newreno");
    let row = |packets: u64| {
        let handshake = 2 * HOPS * (ACK + DELAY);
        let expected = handshake + sent(packets - 1) + HOPS * (PACKET + DELAY);
        let measured = lone(&spec, packets * 1460, 0, 1);
        Row::exact(format!("{packets} packets"), "completion time, ps", expected as f64, measured)
    };
    Case {
        title: "Slow start of a lone flow",
        law: "Rounds of 10, 20, 40, ... packets begin a round trip apart, until a round fills it.",
        source: "RFC 5681 §3.1, by hand",
        setup: "10 Gb/s, four hops of 10 us (a round trip of 70.8 packets), first window of 10, every packet acknowledged, NewReno.",
        domain: "Every packet acknowledged; with delayed ACKs a round grows by half at most.",
        rows: [10, 11, 30, 31, 70, 71, 150, 151, 5000].map(row).into(),
    }
}
