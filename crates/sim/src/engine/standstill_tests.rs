//! Runs that go on and on, stopped by the number of events: with less patience than real runs have,
//! so that the tests end.

use super::{RunError, Simulation};
use crate::Progress;
use crate::spec::{Spec, TopologyKind};
use crate::specs::*;
use leafspine_core::{Bytes, Span, Time};
use leafspine_schemes::{Amount, Value};

/// Probes that fill every queue: data seldom finds room.
fn flooded() -> Spec {
    let mut spec = base();
    spec.topology.kind = leaf_spine(2, 2, 2);
    spec.balancer = scheme_with("hula", "probe_period", Value::Span(Span::from_micros(1)));
    spec.balancer.params = spec.balancer.params.with("probe_size", Value::Bytes(Bytes(1500)));
    spec.switch.buffer = Amount::Packets(4);
    spec.workloads = vec![long_flows(4, 1_000_000_000, hosts(&[0, 1]), hosts(&[2, 3]))];
    spec
}

fn impatient(spec: &Spec) -> Result<(), RunError> {
    let mut simulation = Simulation::new(spec).expect("a valid spec");
    simulation.standstill.patience.events = 1 << 20;
    simulation.standstill.patience.least_timeouts = 1;
    simulation.advance(&Progress::default())
}

/// Breaks if a run whose flows starve while probes go round is not stopped, or if the diagnosis does
/// not say whose packets are in the queues.
#[test]
fn starving_flows_are_found() {
    match impatient(&flooded()) {
        Err(RunError::Stuck(stuck)) => {
            assert!(stuck.why.starts_with("no flow has had a new byte for "), "{stuck}");
            assert!(stuck.state.contains("flow 0 (host0 to host2, "), "{stuck}");
            assert!(stuck.state.contains("longest queues, in packets: "), "{stuck}");
        }
        other => panic!("{other:?}"),
    }
}

/// Breaks if a run with an end of its own is stopped before: whoever sets one wants to see it.
#[test]
fn a_run_with_an_end_is_left_alone() {
    let mut spec = flooded();
    spec.run.until = Some(Time(300_000_000_000));
    impatient(&spec).expect("it ends when it was told to");
}

/// Breaks if long idle times between flows, or before a link comes up again, count as standing
/// still: here each lasts longer than patience.
#[test]
fn waiting_for_what_is_to_come_is_no_standstill() {
    let mut spec = base();
    spec.topology.kind = TopologyKind::Star { hosts: 3 };
    spec.workloads = vec![long_flows(1, 100_000, hosts(&[0]), hosts(&[2]))];
    let day = Span(86_400_000_000_000_000);
    spec.changes =
        vec![change("host2-switch0", Span::from_micros(50)), change("host2-switch0", day)];
    spec.changes[0].up = Some(false);
    spec.changes[1].up = Some(true);
    let output = run(&spec);
    assert!(output.end > Time(day.0), "{}", output.end);
    assert!(output.flows.timeouts[0] > 1000, "{:?}", output.flows.timeouts);
}
