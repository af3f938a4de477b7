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
use leafspine_schemes::rdma::SwiftSettings;

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
