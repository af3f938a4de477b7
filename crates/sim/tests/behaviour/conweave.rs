//! ConWeave in running fabrics: flows move, and nobody sees their packets out of order.

use super::common::*;
use super::two_leaves;
use leafspine_core::Span;
use leafspine_schemes::{Amount, Value};
use leafspine_sim::Output;
use leafspine_sim::spec::*;

const SPINES: u32 = 4;

/// Queue pairs with go-back-N over flow control, at a high load: a packet out of order would be sent again.
fn lossless(balancer: SchemeSpec) -> Spec {
    let mut spec = two_leaves(8, SPINES);
    spec.balancer = balancer;
    carry_by_pairs(
        &mut spec,
        RoceSpec { control: PairControl::Dcqcn(dcqcn()), classes: (1, 0), ..roce() },
    );
    flow_control(&mut spec);
    // What is not data comes first.
    (spec.switch.queues, spec.switch.weights) = (2, vec![1, 1]);
    (spec.switch.scheduler, spec.switch.classifier) = (SchedulerKind::Strict, Classifier::Dscp);
    spec.switch.pfc = spec.switch.pfc.map(|pfc| PfcSpec { lossless: 0b10, ..pfc });
    spec.aqm = scheme_with("ecn-threshold", "threshold", Value::Amount(Amount::Packets(20)));
    spec.workloads = vec![fixed_flows(400, 300_000, 0.8)];
    spec
}

/// It waits for a TAIL for as long as flow control may hold one up.
fn patient() -> SchemeSpec {
    let SchemeSpec { name, mut params } = scheme("conweave");
    for (key, ms) in [("theta_inactive", 50), ("theta_resume", 40), ("theta_resume_extra", 40)] {
        params = params.with(key, Value::Span(Span::from_millis(ms)));
    }
    SchemeSpec { name, params }
}

fn moved(output: &Output) -> u32 {
    output.flows.path_changes.iter().sum()
}

/// Breaks if a flow that moves has a packet out of order at its receiver: with no lost TAIL all
/// wait long enough. Random spraying in its place has go-back-N send much again.
#[test]
fn go_back_n_sees_no_reordering() {
    let output = run(&lossless(patient()));
    assert!(moved(&output) > 20, "{} moves", moved(&output));
    assert!(output.counters.kept_packets > 20, "{:?}", output.counters);
    assert_eq!(output.counters.reordered_packets, 0);
    assert_eq!(output.flows.retransmits.iter().sum::<u32>(), 0);
    let sprayed = run(&lossless(scheme("rps")));
    assert!(sprayed.flows.retransmits.iter().sum::<u32>() > 1_000);
}

/// Breaks if moving flows off paths that do not answer is of no use: ECMP's collisions stay for the lives of the flows.
#[test]
fn flows_end_sooner_than_under_a_hash() {
    let mean = |output: &Output| {
        let fct = &output.flows.fct_ps;
        fct.iter().sum::<u64>() as f64 / fct.len() as f64
    };
    let half = |balancer| {
        let workloads = vec![fixed_flows(400, 300_000, 0.5)];
        run(&Spec { workloads, ..lossless(balancer) })
    };
    let (hashed, woven) = (half(scheme("ecmp")), half(scheme("conweave")));
    assert!(mean(&woven) < 0.8 * mean(&hashed), "{} {}", mean(&woven), mean(&hashed));
}

/// Breaks if a TAIL that is lost keeps packets for ever, or any is lost or told twice where links
/// lose packets, fail and come back: `run` looks at every byte.
#[test]
fn lost_tails_hold_nothing_up() {
    let mut spec = two_leaves(8, SPINES);
    spec.balancer = scheme("conweave");
    let loss = LinkChange { loss: Some(0.1), ..change("leaf0-spine1", Span::ZERO) };
    let down = LinkChange { up: Some(false), ..change("leaf0-spine2", Span::from_millis(1)) };
    let up = LinkChange { up: Some(true), ..change("leaf0-spine2", Span::from_millis(4)) };
    spec.changes = vec![loss, down, up];
    spec.workloads = vec![fixed_flows(400, 300_000, 0.8)];
    let output = run(&spec);
    assert!(output.counters.kept_packets > 20 && output.counters.lost > 100);
}

/// Breaks if a fabric of three tiers puts a flow's packets out of order: behind its ToR a hash keeps a path together.
#[test]
fn three_tiers_keep_the_order() {
    let mut spec = lossless(patient());
    spec.topology.kind = TopologyKind::FatTree { k: 4 };
    spec.workloads = vec![fixed_flows(400, 300_000, 0.9)];
    let output = run(&spec);
    assert!(moved(&output) > 0 && output.counters.kept_packets > 0, "{:?}", output.counters);
    assert_eq!(output.counters.reordered_packets, 0);
}
