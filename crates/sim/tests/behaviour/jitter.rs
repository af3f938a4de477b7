//! Hosts that take a random time to send.

use super::common::*;
use super::{numbers, probe};
use leafspine_core::{Span, Time};
use leafspine_schemes::Amount;
use leafspine_sim::Output;
use leafspine_sim::spec::*;

const JITTER: Span = Span::from_micros(50);

/// 100 senders, one flow of ten packets each to host 0, all at once and without a handshake.
fn bursts() -> Spec {
    let mut spec = base();
    spec.topology.kind = TopologyKind::Star { hosts: 101 };
    spec.topology.host_jitter = JITTER;
    spec.switch.buffer = Amount::Packets(2000);
    spec.transport.handshake = false;
    spec.workloads = vec![long_flows(100, 14_600, HostSet::Rest, HostSet::First(1))];
    spec
}

/// Breaks if a host's packets overtake each other, if one waits longer than the jitter or if the time is
/// not uniform. Ten that are handed down at once are at the port one after the other, each after its
/// own draw and all before it: the first after J/2 on average, the last after the largest of ten draws,
/// 10/11 J. With 100 hosts the standard errors are J/sqrt(12 x 100) = 0.029 J and, as the largest of ten
/// has the variance 10/(11^2 x 12), 0.0083 J; four of them.
#[test]
fn packets_are_put_off_in_order() {
    let mut spec = bursts();
    spec.probes = vec![probe(ProbeKind::Packets, "host*", Span::ZERO)];
    let output = run(&spec);
    let series = &output.probes[0];
    let get = |column| numbers(series, column);
    let (start, waited) = (get("time_ps"), get("waited_ps"));
    let (port, segment, size) = (get("port"), get("segment"), get("size"));
    let (mut first, mut last) = (0.0, 0.0);
    for host in 1..=100 {
        let name = format!("host{host}-switch0");
        let at = series.ports.iter().position(|port| *port == name).expect("watched") as u64;
        let rows: Vec<usize> =
            (0..port.len()).filter(|i| port[*i] == at && size[*i] == 1500).take(10).collect();
        assert!(rows.iter().map(|i| segment[*i]).eq(0..10), "host {host} overtakes");
        let came: Vec<u64> = rows.iter().map(|i| start[*i] - waited[*i]).collect();
        assert!(came.is_sorted() && came[9] <= JITTER.0, "{came:?}");
        first += came[0] as f64 / JITTER.0 as f64 / 100.0;
        last += came[9] as f64 / JITTER.0 as f64 / 100.0;
    }
    println!("first {first:.3}, last {last:.3} of the jitter");
    assert!((first - 0.5).abs() < 4.0 * 0.029 && (last - 10.0 / 11.0).abs() < 4.0 * 0.0083);
    assert_eq!(output.counters.reordered_packets, 0);
}

/// Breaks if a SYN, a SYN-ACK or an ACK is not put off, or if the ideal time counts it: a lone segment is
/// there after SYN, SYN-ACK and data, three draws beyond its ideal time: 1.5 J on average, with 400 flows
/// and a standard error of J sqrt(3/12/400) = 0.025 J; four of them.
#[test]
fn every_packet_of_a_flow_is_put_off() {
    let mut spec = bursts();
    spec.transport.handshake = true;
    let flows = long_flows(400, 1000, HostSet::Rest, HostSet::First(1));
    let kind = WorkloadKind::LongFlows { count: 400, stagger: Span::from_millis(1) };
    spec.workloads = vec![WorkloadSpec { kind, ..flows }];
    let flows = run(&spec).flows;
    let beyond = |(fct, ideal): (&u64, &u64)| (fct - ideal) as f64 / JITTER.0 as f64;
    let late: Vec<f64> = flows.fct_ps.iter().zip(&flows.ideal_fct_ps).map(beyond).collect();
    let mean = late.iter().sum::<f64>() / 400.0;
    println!("{mean:.3} of the jitter");
    assert!(late.iter().all(|late| (0.0..=3.0).contains(late)), "{late:?}");
    assert!((mean - 1.5).abs() < 4.0 * 0.025, "{mean}");
}

/// Breaks if a packet sent takes any other number of events than one more, or none without jitter.
#[test]
fn jitter_is_an_event_a_packet() {
    let counts = |jitter| {
        let mut spec = base();
        spec.topology.host_jitter = jitter;
        spec.workloads = vec![long_flows(1, 146_000, hosts(&[0]), hosts(&[15]))];
        run(&spec).counters
    };
    let (without, with) = (counts(Span::ZERO), counts(Span(1)));
    assert_eq!((without.sent, without.packet_hops), (with.sent, with.packet_hops));
    assert_eq!(with.events - without.events, with.sent);
}

/// Breaks if a run with jitter is another one each time, does not depend on the seed, or draws from a
/// stream that flows are drawn from.
#[test]
fn jitter_has_a_stream_of_its_own() {
    let run_with = |jitter, seed| {
        let mut spec = base();
        spec.topology.host_jitter = jitter;
        spec.run.seed = seed;
        run(&spec)
    };
    let (without, with) = (run_with(Span::ZERO, 1), run_with(JITTER, 1));
    assert_eq!(with.trace_hash, run_with(JITTER, 1).trace_hash);
    assert_ne!(with.trace_hash, without.trace_hash);
    let drawn = |output: &Output| {
        let flows = &output.flows;
        (flows.start_ps.clone(), flows.src.clone(), flows.dst.clone(), flows.bytes.clone())
    };
    assert_eq!(drawn(&with), drawn(&without));
    assert_eq!(with.flows.ideal_fct_ps, without.flows.ideal_fct_ps);
    let joins = |seed| {
        let mut spec = bursts();
        spec.run.seed = seed;
        run(&spec).flows.fct_ps
    };
    assert_ne!(joins(1), joins(2), "nothing else is drawn here");
}

/// Shares of eight long flows at a drop-tail port, as multiples of the fair one, over 400 ms; ascending.
fn shares(transport: &str, jitter: Span, seed: u64) -> Vec<f64> {
    let mut spec = base();
    spec.topology.kind = TopologyKind::Star { hosts: 9 };
    spec.topology.host_link.delay = Span::from_micros(10);
    spec.topology.host_jitter = jitter;
    spec.switch.buffer = Amount::Packets(100);
    spec.transport.scheme = scheme(transport);
    spec.aqm = scheme("droptail");
    spec.workloads = vec![long_flows(8, 1_000_000_000, HostSet::Rest, HostSet::First(1))];
    spec.run.until = Some(Time(Span::from_millis(400).0));
    spec.run.seed = seed;
    let packets = run(&spec).flows.packets;
    let all: u32 = packets.iter().sum();
    let mut shares: Vec<f64> =
        packets.iter().map(|n| 8.0 * f64::from(*n) / f64::from(all)).collect();
    shares.sort_by(f64::total_cmp);
    shares
}

/// Breaks if jitter does not undo the phase effect. Eight synchronous senders and the port they share
/// have one clock: a packet's place in the cycle of arrivals never changes, so at a full queue the same
/// flow finds the room that the others miss, until these are left with timeouts (Floyd and Jacobson
/// 1992, §3). A jitter of one packet's time on the line, 1.2 us, makes the place random, losses fall
/// on all, and equal windows are the fixed point. Measured: 7.97 and 7.99 of the fair share without, 0.86 to
/// 1.17 of it with jitter.
#[test]
fn jitter_undoes_the_lock_out_at_a_full_queue() {
    for transport in ["newreno", "cubic"] {
        let locked = shares(transport, Span::ZERO, 1);
        assert!(locked[7] > 7.5, "{transport}: one flow has nearly all, {locked:.2?}");
        for seed in 1..=4 {
            let shares = shares(transport, Span::from_nanos(1200), seed);
            println!("{transport}, seed {seed}: {shares:.2?}");
            assert!(shares[0] > 0.75 && shares[7] < 1.3, "{transport}: {shares:.2?}");
        }
    }
}
