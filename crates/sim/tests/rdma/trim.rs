//! Trimming in running fabrics.

use crate::common::*;
use leafspine_core::{Bytes, Span};
use leafspine_schemes::Amount;
use leafspine_sim::Output;
use leafspine_sim::spec::*;

/// Senders to one host over switches with room for eight packets of data at a port; headers and answers go first.
fn trimming(senders: u16, packets: u64, trim: TrimSpec) -> Spec {
    let from: Vec<u16> = (0..senders).collect();
    let flows = long_flows(u32::from(senders), 1000 * packets, hosts(&from), hosts(&[senders]));
    let roce = RoceSpec { recovery: Recovery::Each, classes: (1, 0), ..roce() };
    let kind = TopologyKind::Star { hosts: u32::from(senders) + 1 };
    let mut spec = pairs(kind, roce, vec![flows]);
    trim_at(&mut spec, 8, trim);
    spec
}

const PLAIN: TrimSpec =
    TrimSpec { class: 0, buffer: Bytes(100_000), either: false, returns: false };

fn sum(column: &[u32]) -> u64 {
    column.iter().map(|n| u64::from(*n)).sum()
}

/// Breaks if what has no room is dropped, or comes again later than the answer to its header has
/// it: of eight senders' 800 packets most are trimmed, none is dropped, each is sent again once for
/// each time, nobody waits for a timeout, and the last one is there not much later than the line
/// needs.
#[test]
fn what_has_no_room_comes_again() {
    for either in [false, true] {
        let output = run(&trimming(8, 100, TrimSpec { either, ..PLAIN }));
        let (flows, counters) = (&output.flows, &output.counters);
        assert!(counters.trimmed > 300, "{counters:?}");
        assert_eq!(counters.dropped, [0; 4]);
        assert_eq!(sum(&flows.retransmits), counters.trimmed);
        assert_eq!((sum(&flows.timeouts), sum(&flows.spurious_retransmits)), (0, 0));
        let line = 800 * 1050 * 800;
        let last = *flows.fct_ps.iter().max().expect("flows");
        // Headers take a part of the line, at most 50 of 1,050 bytes each.
        let headers = counters.trimmed * 50 * 800;
        assert!(last < line + headers + 40_000_000, "{last} {line} {headers}");
        assert_eq!(port(&output, "switch0-host8").trims, counters.trimmed);
    }
}

/// By hand: ten packets of 1,050 bytes come at once to a port of 10 Gb/s (840 ns each) with room
/// for eight: the first goes at once, the tenth is trimmed to 50 bytes and leaves after the first,
/// before the eight that wait.
///
/// Breaks if a header is not so long, is not in the queue of its class, or waits behind data.
#[test]
fn headers_go_first() {
    let mut spec = trimming(10, 1, PLAIN);
    spec.probes = vec![probe_of(ProbeKind::Packets, "switch0-host10", Span::ZERO)];
    let output = run(&spec);
    let get = |column| numbers_of(&output.probes[0], column);
    let start = 840_000 + 1_000_000;
    let sent: Vec<_> = get("time_ps").into_iter().zip(get("size")).take(3).collect();
    assert_eq!(sent, [(start, 1050), (start + 840_000, 50), (start + 880_000, 1050)]);
    let (segments, flags) = (get("segment"), get("flags"));
    assert_eq!((segments[1], flags[1] & 64), (0, 0), "no data");
}

/// Breaks if headers have more room than is said, or one without room is not dropped, or, where
/// switches send them back, is: then no sender waits for its timeout.
#[test]
fn headers_without_room() {
    let little = TrimSpec { buffer: Bytes(120), ..PLAIN };
    let output = run(&trimming(16, 40, little));
    let waited = |output: &Output| sum(&output.flows.timeouts);
    assert!(output.counters.dropped[0] > 20 && waited(&output) > 0, "{:?}", output.counters);
    let output = run(&trimming(16, 40, TrimSpec { returns: true, ..little }));
    let counters = &output.counters;
    assert!(counters.returned > 20, "{counters:?}");
    assert_eq!((counters.dropped, waited(&output)), ([0; 4], 0));
    assert_eq!(sum(&output.flows.retransmits), counters.trimmed);
}

/// Breaks if a switch with a coin trims what arrives alone: two senders in step, of which the
/// second finds the full queue each time, would not share.
#[test]
fn a_coin_chooses_whom_to_trim() {
    let trimmed = |either| {
        let output = run(&trimming(2, 400, TrimSpec { either, ..PLAIN }));
        output.flows.retransmits.iter().map(|n| f64::from(*n)).collect::<Vec<_>>()
    };
    let (arriving, either) = (trimmed(false), trimmed(true));
    assert!(jain(&arriving) < 0.6, "{arriving:?}");
    assert!(jain(&either) > 0.9, "{either:?}");
}

/// Breaks if a balancer that takes packets apart cannot be used: with answers packet by packet no
/// order is needed, so nothing is sent again that was not trimmed.
#[test]
fn order_is_no_sign_of_loss() {
    let flows = fixed_flows(200, 100_000, 0.5);
    let mut spec = trimming(8, 1, PLAIN);
    spec.topology.kind = leaf_spine(3, 3, 3);
    spec.workloads = vec![flows];
    spec.balancer = scheme("rps");
    spec.switch.buffer = Amount::Packets(30);
    let output = run(&spec);
    assert!(sum(&output.flows.reordered) > 1_000);
    assert_eq!(sum(&output.flows.retransmits), output.counters.trimmed);
}
