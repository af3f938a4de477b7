//! How soon goodput is back after a fault.

use super::common::*;
use super::two_leaves;
use leafspine_core::{Rate, Span, Time};
use leafspine_schemes::Value;
use leafspine_sim::spec::*;
use leafspine_sim::{Output, RecoveryRow};

const MS: u64 = 1_000_000_000;

/// Four hosts that send without end to four others over four spines, twice what they need, for 40
/// ms; windows of 50 us, a share of 0.9.
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

/// Breaks if a link that goes down, loses packets or is slower is no fault, or one that comes back,
/// is faster or loses less is; if a run that has no fault has a row, or one that does not measure
/// it.
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
    assert_eq!(run_long(&two_leaves(2, 2)).recovery, None);
}

/// A link that runs at a tenth of its rate for good: hosts that spray blindly send a quarter of
/// their packets into it and never have nine tenths of their goodput again; REPS learns from marks,
/// and has.
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

/// What is measured of a lone flow when every uplink of its leaf loses this share of packets from
/// 30 ms on, over a round trip of 47 us.
fn lossy(loss: f64, recovery: Recovery) -> RecoveryRow {
    let mut spec = two_leaves(4, 4);
    spec.switch.host_ports = HostPorts::Unlimited;
    spec.topology.fabric_link.delay = Span::from_micros(10);
    let timeout = Span::from_micros(200);
    let roce = RoceSpec { recovery, timeout, max_timeout: timeout, ..roce() };
    carry_by_pairs(&mut spec, roce);
    spec.workloads = vec![long_flows(1, 1 << 40, hosts(&[0]), hosts(&[4]))];
    spec.run.until = Some(Time(110 * MS));
    spec.measure.recovery = Some(RecoverySpec { share: 0.9, window: Span::from_millis(20) });
    let loss = |spine: u32| LinkChange {
        loss: Some(loss),
        ..change(&format!("leaf0-spine{spine}"), Span::from_millis(30))
    };
    spec.changes = (0..4).map(loss).collect();
    let output = run(&spec);
    let [row] = rows(&output) else { panic!("{:?}", rows(&output)) };
    row.clone()
}

const SELECTIVE: Recovery = Recovery::Selective { low: Span::from_micros(200), few: 3, after: 1 };

/// One packet in a hundred; a round trip is N = 56 packets. Go-back-N sends all N again for each
/// loss: of the line it keeps 1 / (1 + 0.01 N) = 0.64, less a little for packets that are lost
/// twice, one in 10,000, each worth 200 us. IRN sends what is lost: 0.99, less the same.
///
/// Breaks if a loss of 1 % is no fault, or costs go-back-N what it does not cost IRN.
#[test]
fn one_percent_of_loss() {
    let [irn, again] = [SELECTIVE, Recovery::GoBackN].map(|recovery| lossy(0.01, recovery));
    assert!(irn.after == Some(Span::ZERO) && irn.lowest > Some(0.95), "{irn:?}");
    let lowest = again.lowest.expect("goodput was known before");
    assert!(again.after.is_none() && (0.6..0.66).contains(&lowest), "{again:?}");
}

/// One packet in ten, and one answer in ten: neither has nine tenths of its goodput again. IRN sends
/// 1.1 times what is lost once and what it is not told of, and for some packets waits for a timeout,
/// which is worth 240: 0.82 of the line by the closed form of `theory/cases/recovery.rs`, and less
/// in the lowest of four windows. Go-back-N loses a round trip with four fifths of what is lost and
/// a timeout with the rest: 1 / (1 + 0.1 (0.81 x 57 + 0.19 x 319)) = 0.085.
///
/// Breaks if a loss of 10 % costs IRN more than a quarter of the line, or either less than it must.
#[test]
fn ten_percent_of_loss() {
    let [irn, again] = [SELECTIVE, Recovery::GoBackN].map(|recovery| lossy(0.1, recovery));
    assert_eq!([irn.after, again.after], [None; 2]);
    let [irn, again] = [irn, again].map(|row| row.lowest.expect("goodput was known before"));
    assert!((0.75..0.82).contains(&irn), "{irn}");
    assert!((0.08..0.12).contains(&again), "{again}");
}

/// A link that goes down for 200 us every 4 ms, five times: five faults, each of which is over
/// before the next. All links of a leaf that do so for 50 us every 100 us, with a timeout of 1 ms:
/// one fault, since nobody has got anything between.
///
/// Breaks if a link that flaps is one fault where it is several, or several where it is one.
#[test]
fn flapping_links() {
    let flap = |links: &[&str], every: u64, down: u64| {
        let times = (0..5).map(|n| 10_000 + n * every);
        let changes = times.flat_map(|us| {
            links.iter().flat_map(move |link| {
                let at =
                    |us, up| LinkChange { up: Some(up), ..change(link, Span::from_micros(us)) };
                [at(us, false), at(us + down, true)]
            })
        });
        let mut changes: Vec<LinkChange> = changes.collect();
        changes.sort_by_key(|change| change.at);
        faulty(Some(edge("oblivious")), changes)
    };
    let slow = flap(&["leaf1-spine1"], 4_000, 200);
    let told: Vec<_> = rows(&slow).iter().map(|row| (row.at.0 / MS, &row.links[..])).collect();
    let link = ["leaf1-spine1".to_owned()];
    assert_eq!(told, [10, 14, 18, 22, 26].map(|ms| (ms, &link[..])));
    let over = |row: &RecoveryRow| row.after.is_some_and(|after| after < Span::from_millis(4));
    assert!(rows(&slow).iter().all(over), "{:?}", rows(&slow));
    let all = ["leaf1-spine0", "leaf1-spine1", "leaf1-spine2", "leaf1-spine3"];
    let fast = flap(&all, 100, 50);
    let [row] = rows(&fast) else { panic!("{:?}", rows(&fast)) };
    assert_eq!((row.links.len(), row.lowest), (20, Some(0.0)));
    let timeout = Span::from_micros(900)..Span::from_millis(2);
    assert!(row.after.is_some_and(|after| timeout.contains(&after)), "{row:?}");
}
