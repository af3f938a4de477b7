//! NSCC in running fabrics.

use crate::common::*;
use leafspine_core::{Bytes, Span, Time};
use leafspine_schemes::rdma::NsccSettings;
use leafspine_schemes::{Amount, Value};
use leafspine_sim::Output;
use leafspine_sim::spec::*;

/// By its constants, for a star of 10 Gb/s links of 1 us: 5.8 us, 7,250 bytes.
fn nscc() -> NsccSettings {
    NsccSettings {
        base_rtt: Span(5_800_000),
        target: Span(4_350_000),
        proportional: 73,
        fair: 253,
        eta: 8,
        fast: 0.012,
        gamma: 0.8,
        gate: 3,
        no_wait: Span::from_micros(1),
        weight: 0.0125,
        packet: 1050,
        most: 1.5,
    }
}

/// Many to one, over switches that trim and mark as Ultra Ethernet's do: by probability from a part of the buffer on.
fn incast(senders: u16, bytes: u64, control: PairControl) -> Spec {
    let from: Vec<u16> = (0..senders).collect();
    let flows = long_flows(u32::from(senders), bytes, hosts(&from), hosts(&[senders]));
    let roce = RoceSpec { control, recovery: Recovery::Each, classes: (1, 0), ..roce() };
    let mut spec = pairs(TopologyKind::Star { hosts: u32::from(senders) + 1 }, roce, vec![flows]);
    let trim = TrimSpec { class: 0, buffer: Bytes(100_000), either: true, returns: false };
    trim_at(&mut spec, 10, trim);
    spec.aqm = scheme_with("ecn-threshold", "threshold", Value::Amount(Amount::Packets(5)));
    spec
}

fn packets(output: &Output) -> Vec<f64> {
    output.flows.packets.iter().map(|n| f64::from(*n)).collect()
}

/// Breaks if a lone queue pair does not have its line.
#[test]
fn a_lone_queue_pair_has_the_line() {
    let mut spec = incast(1, 1 << 32, PairControl::Nscc(nscc()));
    spec.run.until = Some(Time(5_000_000_000));
    let output = run_long(&spec);
    let line = 5e9 / 840_000.0;
    assert!(packets(&output)[0] > 0.97 * line, "{:?} {line}", packets(&output));
    assert_eq!(output.counters.trimmed, 0);
}

/// Breaks if eight senders do not keep the link busy and share it, or if they go on being trimmed
/// once they have adapted: without control most of what they send is.
#[test]
fn senders_adapt_and_share() {
    let of = |control| {
        let mut spec = incast(8, 1 << 32, control);
        spec.run.until = Some(Time(20_000_000_000));
        run_long(&spec)
    };
    let (plain, controlled) = (of(PairControl::LineRate), of(PairControl::Nscc(nscc())));
    let shares = packets(&controlled);
    let line = 20e9 / 840_000.0;
    assert!(shares.iter().sum::<f64>() > 0.9 * line, "{shares:?} {line}");
    assert!(jain(&shares) > 0.95, "{shares:?}");
    let share =
        |output: &Output| output.counters.trimmed as f64 / output.counters.data_packets as f64;
    assert!(
        share(&plain) > 1.0 && share(&controlled) < 0.05,
        "{} {}",
        share(&plain),
        share(&controlled)
    );
    assert!(controlled.counters.marks > 100);
}

/// Breaks if an acknowledgment does not echo a mark, or one of a transport that does not ask for it
/// does: coalesced, it tells of any packet since the last.
#[test]
fn marks_come_back() {
    let echoed = |control, ack_every| {
        let mut spec = incast(4, 200_000, control);
        if let Protocol::Roce(roce) = &mut spec.transport.protocol {
            roce.ack_every = ack_every;
        }
        spec.probes = vec![probe_of(ProbeKind::Packets, "host4-*", Span::ZERO)];
        let flags = numbers_of(&run(&spec).probes[0], "flags");
        let echo = flags.iter().filter(|flags| **flags & 2 != 0 && **flags & 16 != 0).count();
        (echo, flags.len())
    };
    let (each, answers) = echoed(PairControl::Nscc(nscc()), 1);
    assert!(each > 20 && each < answers, "{each} {answers}");
    let (coalesced, fewer) = echoed(PairControl::Nscc(nscc()), 4);
    assert!(coalesced > 10 && fewer < answers, "{coalesced} {fewer}");
    assert_eq!(echoed(hpcc_of(), 1).0, 0);
}

fn hpcc_of() -> PairControl {
    PairControl::Hpcc(leafspine_schemes::rdma::HpccSettings {
        base_rtt: Span(5_800_000),
        eta: 0.95,
        stages: 5,
        additive: 8,
    })
}
