//! The ideal completion time that results carry is that of a lone flow.

use crate::cases::lone_flow::lone;
use crate::common::*;
use leafspine_core::Rate;
use leafspine_schemes::Amount;
use leafspine_sim::spec::*;

fn ideal(spec: &Spec, bytes: u64, src: u16, dst: u16) -> f64 {
    let workloads = vec![long_flows(1, bytes, hosts(&[src]), hosts(&[dst]))];
    run_long(&Spec { workloads, ..spec.clone() }).flows.ideal_fct_ps[0] as f64
}

/// Breaks if the ideal of a flow that its window does not limit is not what it takes.
#[test]
fn a_lone_flow_takes_the_ideal_time() {
    // 10 segments are sent back to back in the initial window.
    for bytes in [1, 100, 1460, 1461, 5000, 14_600] {
        for (src, dst) in [(0, 1), (0, 5), (15, 2)] {
            let spec = base();
            let (found, ideal) = (lone(&spec, bytes, src, dst), ideal(&spec, bytes, src, dst));
            assert_eq!(found, ideal, "{bytes} B {src}-{dst}");
        }
    }
}

/// Breaks if slow start or ACK clocking leaves gaps though the window covers the way.
#[test]
fn a_long_lone_flow_fills_the_line() {
    let mut spec = base();
    spec.transport.init_cwnd = Amount::Packets(40);
    assert_eq!(lone(&spec, 20_000_000, 0, 5), ideal(&spec, 20_000_000, 0, 5));
}

/// Breaks if rates that are no whole picoseconds a byte are not exact.
#[test]
fn odd_rates_are_exact() {
    for mbps in [12, 300, 900] {
        let mut spec = base();
        spec.topology.fabric_link.rate = Rate::from_mbps(mbps);
        assert_eq!(lone(&spec, 14_600, 0, 5), ideal(&spec, 14_600, 0, 5), "{mbps} Mb/s");
    }
}

/// Breaks if the handshake's third ACK as a packet of its own costs a flow anything but its 32 ns on
/// the first line, which the data behind it waits for.
#[test]
fn a_third_ack_costs_its_time_on_the_first_line() {
    let mut spec = base();
    spec.transport.handshake_ack = true;
    for bytes in [1_460, 14_600] {
        let (found, ideal) = (lone(&spec, bytes, 0, 5), ideal(&spec, bytes, 0, 5));
        assert_eq!(found, ideal + 32_000.0, "{bytes} B");
    }
}
