//! Lossless Ethernet and queue pairs in running fabrics.

#[path = "../common/mod.rs"]
mod common;

mod credits;
mod hpcc;
mod nscc;
mod pairs_table;
mod pfc;
mod roce;
mod swift;
mod trim;
mod uet_table;

use leafspine_core::Span;
use leafspine_schemes::rdma::{HpccSettings, NsccSettings, SwiftSettings};
use leafspine_sim::spec::PairControl;

/// Swift with a target of this much, and up to `range` more for small windows, on paths of such a round trip.
fn swift(target: Span, range: Span, base_rtt: Span) -> SwiftSettings {
    SwiftSettings {
        target,
        range,
        small: 0.1,
        large: 100.0,
        additive: 1.0,
        beta: 0.8,
        most_cut: 0.5,
        least: 0.01,
        reset: 3,
        packet: 1050,
        base_rtt,
    }
}

/// The round trip between the farthest hosts of the tables' fabrics, about.
const RTT: Span = Span(12_000_000);

/// The tables' controls that go by delay or telemetry; NSCC with this target.
fn nscc(target: Span) -> PairControl {
    PairControl::Nscc(NsccSettings {
        base_rtt: RTT,
        target,
        proportional: 400,
        fair: 500,
        eta: 15,
        fast: 0.025,
        gamma: 0.8,
        gate: 3,
        no_wait: Span::from_micros(1),
        weight: 0.0125,
        packet: 1050,
        most: 1.5,
    })
}

/// See [`nscc()`].
fn hpcc() -> PairControl {
    PairControl::Hpcc(HpccSettings { base_rtt: RTT, eta: 0.95, stages: 5, additive: 8 })
}
