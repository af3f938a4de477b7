//! Ultra Ethernet's parts together: sprays at hosts, trimming, packets answered one by one, and controls.

use crate::RTT;
use crate::common::*;
use leafspine_core::{Bytes, Rate, Span};
use leafspine_schemes::{Amount, Value};
use leafspine_sim::Output;
use leafspine_sim::spec::*;

/// Of NSCC: three quarters of a round trip, where switches trim.
const TARGET: Span = Span(9_000_000);
const CARRY: [&str; 2] = ["reps", "mixed"];
pub(crate) const SPRAYS: [&str; 4] = ["oblivious", "bitmap", "reps", "mixed"];

/// Controls, and whether receivers give credits beside.
fn controls() -> [(&'static str, PairControl, bool); 7] {
    [
        ("line rate", PairControl::LineRate, false),
        ("dcqcn", by_dcqcn(), false),
        ("nscc", crate::nscc(TARGET), false),
        ("credits", PairControl::LineRate, true),
        ("credits and nscc", crate::nscc(TARGET), true),
        ("hpcc", crate::hpcc(), false),
        ("swift", PairControl::Swift(crate::swift(RTT * 2, RTT, RTT)), false),
    ]
}

/// Flows over three spines, whose switches have room for 20 packets of data at a port, trim, and
/// mark from `marks` packets on.
fn sprayed(spray: &str, control: PairControl, credits: bool, marks: u32) -> Spec {
    let credits = credits.then_some(CreditSpec { first: 15_000, share: 1.0 });
    let recovery = Recovery::Each;
    let roce = RoceSpec { control, recovery, credits, classes: (1, 0), ..roce() };
    let mut spec = pairs(leaf_spine(3, 3, 3), roce, vec![fixed_flows(60, 100_000, 0.7)]);
    let trim = TrimSpec { class: 0, buffer: Bytes(100_000), either: true, returns: false };
    trim_at(&mut spec, 20, trim);
    spec.aqm = scheme_with("ecn-threshold", "threshold", Value::Amount(Amount::Packets(marks)));
    spec.edge = Some(edge(spray));
    spec
}

fn sum(column: &[u32]) -> u64 {
    column.iter().map(|n| u64::from(*n)).sum()
}

/// Breaks if a spray and a control do not carry all flows to their end (`run` sees to that, to the
/// audit, and that three drivers agree), if a packet is sent again that was not trimmed, or if one
/// is delivered twice.
#[test]
fn every_spray_with_every_control() {
    for spray in SPRAYS {
        for (name, control, credits) in controls() {
            for ack_every in [1, 4] {
                let mut spec = sprayed(spray, control, credits, 10);
                if let Protocol::Roce(roce) = &mut spec.transport.protocol {
                    roce.ack_every = ack_every;
                }
                // As many values as an acknowledgment is for.
                if let Some(edge) = spec.edge.as_mut().filter(|edge| CARRY.contains(&&*edge.name)) {
                    let carry = Value::Int(u64::from(ack_every));
                    edge.params = edge.params.clone().with("carry", carry);
                }
                let output = run(&spec);
                let (flows, counters) = (&output.flows, &output.counters);
                let what = format!("{spray} {name} {ack_every}: {counters:?}");
                assert_eq!(counters.dropped, [0; 4], "{what}");
                assert_eq!(sum(&flows.retransmits), counters.trimmed, "{what}");
                assert_eq!(sum(&flows.spurious_retransmits), 0, "{what}");
                assert_eq!(counters.payload.delivered, 60 * 100_000, "{what}");
            }
        }
    }
}

/// One of three spines has links of a tenth of their rate to the leaf that all send to, and
/// switches do not mark: only headers without payload tell of it.
///
/// Breaks if a spray does not hear of what is trimmed: it would go on over that spine as the oblivious one does.
#[test]
fn sprays_hear_of_what_is_trimmed() {
    let trimmed = |spray: &str| {
        let mut spec = sprayed(spray, PairControl::LineRate, false, 1_000);
        if let Protocol::Roce(roce) = &mut spec.transport.protocol {
            roce.window = Some(20_000);
        }
        spec.workloads = vec![long_flows(3, 1_000_000, hosts(&[0, 1, 2]), hosts(&[3, 4, 5]))];
        if let Some(edge) = spec.edge.as_mut().filter(|edge| edge.name != "reps") {
            edge.params = edge.params.clone().with("entropies", Value::Int(32));
        }
        if spray == "oblivious"
            && let Some(edge) = &mut spec.edge
        {
            let order = Value::Word("round-robin".to_owned());
            edge.params = edge.params.clone().with("order", order);
        }
        let slow = Some(Rate::from_gbps(1));
        spec.changes = vec![LinkChange { rate: slow, ..change("leaf1-spine0", Span(1)) }];
        let output: Output = run(&spec);
        output.counters.trimmed as f64
    };
    let [oblivious, bitmap, reps, mixed] = SPRAYS.map(trimmed);
    let found = format!("{oblivious} {bitmap} {reps} {mixed}");
    assert!(
        bitmap < 0.8 * oblivious && reps < 0.5 * oblivious && mixed < 0.5 * oblivious,
        "{found}"
    );
}
