//! Swift in running fabrics.

use crate::common::*;
use leafspine_core::{Span, Time};
use leafspine_schemes::rdma::SwiftSettings;
use leafspine_sim::spec::*;

/// Targets for a star of 10 Gb/s links of 1 us, whose round trip is 5.8 us.
fn swift() -> SwiftSettings {
    crate::swift(Span::from_micros(10), Span::from_micros(10), Span(5_800_000))
}

/// Breaks if senders do not share a link, keep it busy, or keep more waiting than their targets are
/// above the round trip: of eight windows of about two packets 10 + 10 / (1 / sqrt(0.1) - 0.1) x (1
/// / sqrt(2) - 0.1) = 12 us, 6 of them in the queue.
#[test]
fn senders_keep_to_the_target() {
    let senders: Vec<u16> = (0..8).collect();
    let flows = vec![long_flows(8, 1 << 32, hosts(&senders), hosts(&[8]))];
    let roce = RoceSpec { control: PairControl::Swift(swift()), ..roce() };
    let mut spec = pairs(TopologyKind::Star { hosts: 9 }, roce, flows);
    spec.run.until = Some(Time(20_000_000_000));
    let output = run_long(&spec);
    let shares: Vec<f64> = output.flows.packets.iter().map(|n| f64::from(*n)).collect();
    let line = 20e9 / 840_000.0;
    assert!(shares.iter().sum::<f64>() > 0.95 * line && jain(&shares) > 0.95, "{shares:?} {line}");
    let waits = port(&output, "switch0-host8").delay_mean_ps / 1e6;
    assert!((3.0..9.0).contains(&waits), "{waits} us");
}
