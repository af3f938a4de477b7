//! Links that change: slow, lossy, flapping, down and up again.

use crate::common::*;
use leafspine_core::{PacketMeta, PortId, Rate, Span, Time};
use leafspine_schemes::lb::LoadBalancer;
use leafspine_schemes::{Context, Paths};
use leafspine_sim::Factories;
use leafspine_sim::spec::*;

/// Breaks if packets are still sent to a dead link, if what was on it is delivered, or if the
/// fabric does not come back. `run` checks that every byte arrives all the same.
#[test]
fn a_link_goes_down_and_up() {
    for balancer in ["ecmp", "rps", "letflow", "ars", "drb", "wcmp", "conga", "hula", "drill"] {
        let mut spec = base();
        spec.balancer = scheme(balancer);
        let whole = run(&spec);
        let (down, up) = (Span(whole.end.0 / 4), Span(whole.end.0 / 2));
        spec.changes = vec![
            LinkChange { up: Some(false), ..change("leaf0-spine1", down) },
            LinkChange { up: Some(true), ..change("leaf0-spine1", up) },
        ];
        spec.measure.window = Window::Between(Time(down.0), Time(up.0));
        let output = run(&spec);
        assert!(output.counters.lost + output.counters.dropped[2] > 0, "{balancer}");
        assert_eq!(port(&output, "leaf0-spine1").packets, 0, "{balancer}: nothing while down");
        assert_eq!(port(&output, "spine1-leaf0").packets, 0, "{balancer}: nothing while down");
        assert!(port(&output, "leaf0-spine2").packets > 0, "{balancer}: the others carry on");
    }
}

/// Breaks if a changed rate is not the line's: the time that the line was busy must be that of its
/// bytes at the new rate, and it must be the busiest of its leaf's uplinks under random spraying.
#[test]
fn a_slow_link_is_slow() {
    let mut spec = base();
    spec.balancer = scheme("rps");
    spec.measure.window = Window::All;
    spec.changes =
        vec![LinkChange { rate: Some(Rate::from_gbps(1)), ..change("leaf0-spine1", Span::ZERO) }];
    let output = run(&spec);
    let slow = port(&output, "leaf0-spine1");
    let busy = slow.utilisation * (output.window.1 - output.window.0).as_secs_f64();
    assert_eq!(slow.rate_bps, 1_000_000_000);
    assert!((busy - slow.bytes as f64 * 8.0 / 1e9).abs() < 1e-9, "{busy} s for {}", slow.bytes);
    assert!(slow.utilisation > 3.0 * port(&output, "leaf0-spine2").utilisation);
}

/// Breaks if random loss is not drawn per packet at its probability: three standard errors.
#[test]
fn a_lossy_link_loses_its_share() {
    let mut spec = base();
    spec.topology.fabric_link.loss = 0.01;
    spec.measure.window = Window::All;
    let output = run(&spec);
    let fabric = output.ports.iter().filter(|p| !p.name.contains("host"));
    let (sent, lost) =
        fabric.fold((0.0, 0.0), |(s, l), p| (s + p.packets as f64, l + p.lost as f64));
    let expected = 0.01 * sent;
    assert!((lost - expected).abs() < 3.0 * expected.sqrt(), "{lost} of {sent}");
    assert_eq!(output.counters.lost as f64, lost);
}

/// Breaks if the two kinds of port lose different packets: the stream is the link direction's, and is
/// drawn from once a packet in the order of transmissions.
#[test]
fn both_kinds_of_port_lose_the_same_packets() {
    let mut spec = base();
    spec.topology.fabric_link.loss = 0.01;
    spec.topology.host_link.loss = 0.001;
    let fast = run(&spec);
    spec.run.ports = PortModel::General;
    let general = run(&spec);
    assert!(fast.counters.lost > 0);
    assert_eq!((fast.trace_hash, fast.counters.lost), (general.trace_hash, general.counters.lost));
}

/// Breaks if a flap is not repeated, or a transport does not survive it.
#[test]
fn a_flapping_link_flaps() {
    let mut spec = base();
    let flap = Flap { every: Span::from_micros(200), down_for: Span::from_micros(50), times: 20 };
    spec.changes = vec![LinkChange { flap: Some(flap), ..change("leaf1-spine0", Span::ZERO) }];
    let output = run(&spec);
    assert!(output.counters.lost > 0, "{:?}", output.counters);
}

/// Breaks if packets on one link overtake when its delay shrinks under them.
#[test]
fn a_shorter_delay_does_not_reorder() {
    let mut spec = base();
    spec.topology.kind = leaf_spine(2, 1, 2);
    spec.workloads = vec![fixed_flows(50, 300_000, 0.8)];
    let mut at = Span::ZERO;
    for i in 0..40 {
        at = at + Span::from_micros(37);
        let delay = if i % 2 == 0 { Span::from_micros(20) } else { Span::from_nanos(100) };
        spec.changes.push(LinkChange { delay: Some(delay), ..change("leaf0-spine0", at) });
    }
    assert_eq!(run(&spec).counters.reordered_packets, 0);
}

/// Takes the way of the lowest propagation delay, the first of several.
struct Nearest;

impl LoadBalancer for Nearest {
    fn pick(&mut self, _: &mut PacketMeta, paths: &Paths<'_>, _: &mut Context<'_>) -> PortId {
        let nearest = (0..paths.ports.len()).min_by_key(|i| paths.delay[*i]);
        paths.ports[nearest.expect("never asked without a path")]
    }
}

/// Breaks if a balancer goes on seeing a delay that has changed, here or behind the next switch:
/// from 1 ms on the way over spine 0 is the longer one because of the far link.
#[test]
fn balancers_see_delays_change() {
    let mut spec = base();
    spec.topology.kind = leaf_spine(2, 2, 2);
    spec.workloads = vec![long_flows(4, 2_000_000, hosts(&[0, 1]), hosts(&[2, 3]))];
    let slower =
        |link: &str, at: Span, delay: Span| LinkChange { delay: Some(delay), ..change(link, at) };
    let (start, later) = (Span::ZERO, Span::from_millis(1));
    spec.changes = vec![
        slower("leaf0-spine1", start, Span::from_micros(2)),
        slower("leaf1-spine0", later, Span::from_micros(20)),
    ];
    let factories =
        Factories { balancer: Some(Box::new(|_| Box::new(Nearest))), ..Factories::default() };
    for (from, to, idle) in [(start, later, "leaf0-spine1"), (later, later * 2, "leaf0-spine0")] {
        spec.measure.window = Window::Between(Time(from.0), Time(to.0));
        let output = run_with(&spec, &factories);
        for name in ["leaf0-spine0", "leaf0-spine1"] {
            assert_eq!(port(&output, name).packets == 0, name == idle, "{name} from {from}");
        }
    }
}

/// Breaks if a fabric that is split for a while kills flows for good, or delivers through the gap.
#[test]
fn a_split_that_heals_delays_flows() {
    let mut spec = base();
    spec.topology.kind = leaf_spine(2, 1, 2);
    spec.workloads = vec![fixed_flows(40, 100_000, 0.5)];
    spec.changes = vec![
        LinkChange { up: Some(false), ..change("leaf0-spine0", Span::from_micros(100)) },
        LinkChange { up: Some(true), ..change("leaf0-spine0", Span::from_millis(30)) },
    ];
    let output = run(&spec);
    assert!(output.counters.dropped[3] + output.counters.dropped[2] > 0);
    let slowest = output.flows.fct_ps.iter().max().expect("flows");
    assert!(*slowest > Span::from_millis(20).0, "{slowest}");
}
