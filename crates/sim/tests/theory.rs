//! Closed forms that a single queue and a lone flow must meet.

mod common;

use common::*;
use leafspine_core::{Bytes, Rate, Span, Time};
use leafspine_schemes::Amount;
use leafspine_sim::spec::*;

/// One packet a flow, Poisson, into one slow link: M/D/1.
fn single_queue(load: f64, seed: u64, packets: u64) -> leafspine_sim::Output {
    let mut spec = base();
    spec.topology.kind = leaf_spine(2, 1, 50);
    // Hosts' links are 1000 times faster, so that what they add is lost in the error bound.
    spec.topology.host_link = link(Rate::from_gbps(1000), Span::from_nanos(10));
    spec.topology.fabric_link = link(Rate::from_gbps(1), Span::from_nanos(10));
    spec.aqm = scheme("droptail");
    spec.switch.buffer = Amount::Packets(1_000_000);
    spec.transport.handshake = false;
    spec.transport.min_rto = Span::from_millis(10_000);
    let mut workload = fixed_flows(packets, 1460, 1.0);
    workload.senders = HostSet::Under("leaf0".to_owned());
    workload.receivers = HostSet::Under("leaf1".to_owned());
    // 1500 bytes of wire per packet at the queue: the load that theory means.
    let service = Rate::from_gbps(1).time_for(1500);
    let apart = Span((service.0 as f64 / load) as u64);
    workload.kind =
        WorkloadKind::Poisson { arrivals: Arrivals::Interarrival(apart), flows: packets };
    spec.workloads = vec![workload];
    spec.run.seed = seed;
    run(&spec)
}

/// Mean wait of M/D/1 (Pollaczek-Khinchine): `rho D / (2 (1 - rho))`. Breaks if a queue serves too
/// fast or too slow, or if arrivals are not Poisson. Within 2 % or three standard errors of the mean
/// of the seeds, whichever is larger.
#[test]
fn md1_mean_wait() {
    for (load, packets) in [(0.5, 100_000), (0.8, 200_000), (0.95, 600_000)] {
        let waits: Vec<f64> = (1..=8)
            .map(|seed| port(&single_queue(load, seed, packets), "leaf0-spine0").delay_mean_ps)
            .collect();
        let n = waits.len() as f64;
        let mean = waits.iter().sum::<f64>() / n;
        let variance = waits.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let error = (variance / n).sqrt();
        let service = Rate::from_gbps(1).time_for(1500).0 as f64;
        let theory = load * service / (2.0 * (1.0 - load));
        let allowed = (0.02 * theory).max(3.0 * error);
        println!("load {load}: {mean:.0} ps, theory {theory:.0}, standard error {error:.0}");
        assert!((mean - theory).abs() <= allowed, "load {load}: {mean} against {theory}");
    }
}

fn lone_flow(spec: &Spec, bytes: u64, src: u16, dst: u16) -> leafspine_sim::Output {
    let mut spec = spec.clone();
    let host = |h| HostSet::List(vec![leafspine_core::HostId(h)]);
    spec.workloads = vec![WorkloadSpec {
        kind: WorkloadKind::LongFlows { count: 1, stagger: Span::ZERO },
        sizes: SizeSpec::Fixed(Bytes(bytes)),
        senders: host(src),
        receivers: host(dst),
        pattern: Pattern::Any,
        start: Time::ZERO,
    }];
    run(&spec)
}

/// A lone flow that its window does not limit takes exactly the ideal time. Breaks if any hop adds
/// or loses a picosecond, or if the transport waits where it need not.
#[test]
fn a_lone_flow_takes_the_ideal_time() {
    // 10 segments are sent back to back in the initial window.
    for bytes in [1, 100, 1460, 1461, 5000, 14_600] {
        for (src, dst) in [(0, 1), (0, 5), (15, 2)] {
            let output = lone_flow(&base(), bytes, src, dst);
            assert_eq!(output.flows.fct_ps, output.flows.ideal_fct_ps, "{bytes} B {src}-{dst}");
        }
    }
}

/// By hand: 3 segments over 4 hops at 10 Gb/s with 1 us a hop. SYN and SYN-ACK: 4 x (32 ns + 1 us)
/// each. The first segment: 4 x (1.2 us + 1 us); two more follow 1.2 us apart.
#[test]
fn a_lone_flow_by_hand() {
    let output = lone_flow(&base(), 3 * 1460, 0, 5);
    let expected = 2 * 4 * (32_000 + 1_000_000) + 4 * (1_200_000 + 1_000_000) + 2 * 1_200_000;
    assert_eq!(output.flows.fct_ps, [expected]);
}

/// With a window that covers the bandwidth-delay product the line stays full, however long the
/// flow. Breaks if slow start or ACK clocking leaves gaps.
#[test]
fn a_long_lone_flow_fills_the_line() {
    let mut spec = base();
    spec.transport.init_cwnd = Amount::Packets(40);
    let output = lone_flow(&spec, 20_000_000, 0, 5);
    assert_eq!(output.flows.fct_ps, output.flows.ideal_fct_ps);
}

/// Rates that are no whole picoseconds a byte: exact all the same.
#[test]
fn odd_rates_are_exact() {
    for mbps in [12, 300, 900] {
        let mut spec = base();
        spec.topology.fabric_link.rate = Rate::from_mbps(mbps);
        let output = lone_flow(&spec, 14_600, 0, 5);
        assert_eq!(output.flows.fct_ps, output.flows.ideal_fct_ps, "{mbps} Mb/s");
    }
}
