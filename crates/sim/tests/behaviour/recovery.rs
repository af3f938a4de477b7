//! How soon goodput is back after a fault.

use super::common::*;
use super::two_leaves;
use leafspine_core::{Rate, Span, Time};
use leafspine_schemes::Value;
use leafspine_sim::spec::*;
use leafspine_sim::{Output, RecoveryRow};

const MS: u64 = 1_000_000_000;

/// Four hosts that send without end to four others over four spines, twice what they need, for 40 ms; windows of 50 us, a share of 0.9.
fn faulty(edge_scheme: Option<SchemeSpec>, changes: Vec<LinkChange>) -> Output {
    let mut spec = two_leaves(4, 4);
    spec.edge = edge_scheme;
    spec.switch.host_ports = HostPorts::Unlimited;
    spec.topology.fabric_link.rate = Rate::from_gbps(20);
    let irn = Recovery::Selective { low: Span::from_micros(300), few: 3, after: 64 };
    let timeout = Span::from_millis(1);
    let roce = RoceSpec { recovery: irn, window: Some(60_000), timeout, ..roce() };
    carry_by_pairs(&mut spec, roce);
    spec.workloads = vec![long_flows(4, 1 << 40, hosts(&[0, 1, 2, 3]), hosts(&[4, 5, 6, 7]))];
    spec.run.until = Some(Time(40 * MS));
    spec.measure.recovery = Some(RecoverySpec { share: 0.9, window: Span::from_micros(50) });
    spec.changes = changes;
    run(&spec)
}

fn rows(output: &Output) -> &[RecoveryRow] {
    output.recovery.as_deref().expect("it is measured")
}

/// Breaks if a link that goes down, loses packets or is slower is no fault, or one that comes back, is faster or loses less is; if a
/// run that has no fault has a row, or one that does not measure it.
#[test]
fn faults_are_changes_for_the_worse() {
    let at = |ms, link: &str| change(link, Span::from_millis(ms));
    let link = "leaf0-spine1";
    let output = faulty(
        None,
        vec![
            LinkChange { loss: Some(0.1), ..at(5, link) },
            LinkChange { loss: Some(0.0), ..at(10, link) },
            LinkChange { rate: Some(Rate::from_gbps(2)), ..at(20, link) },
            LinkChange { rate: Some(Rate::from_gbps(40)), ..at(24, link) },
            LinkChange { up: Some(false), ..at(30, "leaf1-spine0") },
            LinkChange { up: Some(true), ..at(31, "leaf1-spine0") },
        ],
    );
    let told: Vec<_> = rows(&output).iter().map(|row| (row.at.0 / MS, &row.links[..])).collect();
    let [down, loss] = [["leaf1-spine0".to_owned()], [link.to_owned()]];
    assert_eq!(told, [(5, &loss[..]), (20, &loss[..]), (30, &down[..])]);
    assert!(rows(&output).iter().all(|row| row.before_bps.is_some()), "{:?}", rows(&output));
    assert_eq!(rows(&faulty(None, Vec::new())), []);
    assert_eq!(run_alone(&two_leaves(2, 2)).recovery, None);
}

/// A link that runs at a tenth of its rate for good: hosts that spray blindly send a quarter of their packets into it and never have nine tenths of
/// their goodput again; REPS learns from marks, and has.
///
/// Breaks if either is measured otherwise, or if what is missing is not less for who recovers.
#[test]
fn who_sprays_blindly_does_not_recover() {
    let slow = || {
        let rate = Some(Rate::from_gbps(2));
        vec![LinkChange { rate, ..change("leaf1-spine1", Span::from_millis(10)) }]
    };
    let reps = || {
        let SchemeSpec { name, params } = edge("reps");
        SchemeSpec { name, params: params.with("entropies", Value::Int(64)) }
    };
    let mut blind = faulty(Some(edge("oblivious")), slow());
    let mut told = faulty(Some(reps()), slow());
    let [blind, told] = [&mut blind, &mut told].map(|output| rows(output)[0].clone());
    assert_eq!(blind.after, None);
    let after = told.after.expect("it recovers");
    assert!(after > Span::ZERO && after < Span::from_millis(1), "{after}");
    let share = |row: &RecoveryRow| row.missing.expect("goodput was known before");
    assert!(share(&told) < share(&blind) && told.lowest > blind.lowest);
}
