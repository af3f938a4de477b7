//! Every balancer with every transport of queue pairs.

use crate::RTT;
use crate::common::*;
use leafspine_core::Bytes;
use leafspine_schemes::registry;
use leafspine_schemes::{Amount, Value};
use leafspine_sim::spec::*;

fn controls() -> [(&'static str, PairControl); 5] {
    [
        ("line-rate", PairControl::LineRate),
        ("dcqcn", by_dcqcn()),
        ("hpcc", crate::hpcc()),
        ("nscc", crate::nscc(RTT)),
        ("swift", PairControl::Swift(crate::swift(RTT * 2, RTT, RTT))),
    ]
}

/// How lost packets come again, and what keeps queues from losing them.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Repair {
    GoBackN,
    Irn,
    Trimming,
    Credits,
}

const REPAIRS: [Repair; 4] = [Repair::GoBackN, Repair::Irn, Repair::Trimming, Repair::Credits];

fn fabric(balancer: &str, control: PairControl, repair: Repair) -> Spec {
    let (recovery, window) = match repair {
        Repair::GoBackN => (Recovery::GoBackN, None),
        Repair::Irn => (IRN, Some(15_000)),
        Repair::Trimming | Repair::Credits => (Recovery::Each, None),
    };
    let credits = (repair == Repair::Credits).then_some(CreditSpec { first: 15_000, share: 1.0 });
    let trims = recovery == Recovery::Each;
    let classes = if trims { (2, 0) } else { (0, 0) };
    let roce = RoceSpec { control, recovery, window, credits, classes, ..roce() };
    let mut spec = pairs(leaf_spine(3, 3, 3), roce, vec![fixed_flows(60, 100_000, 0.7)]);
    spec.aqm = scheme("ecn-threshold");
    spec.aqm.params = spec.aqm.params.with("threshold", Value::Amount(Amount::Packets(20)));
    spec.balancer = scheme(balancer);
    let entry = registry::load_balancer(balancer).expect("a registered balancer");
    spec.edge = entry.edge.map(edge);
    if trims || entry.info.demands.queues > 1 || balancer == "aq-car" {
        spec.switch.queues = 3;
        spec.switch.scheduler = SchedulerKind::Wrr;
        spec.switch.weights = vec![1; 3];
        spec.switch.stage_queues = vec![0, 1, 2];
        spec.switch.classifier = Classifier::Stage;
        spec.switch.pfc.as_mut().expect("on").lossless = 7;
    }
    if trims {
        (spec.switch.pfc, spec.switch.shared) = (None, None);
        spec.switch.buffer = Amount::Packets(20);
        spec.switch.trim =
            Some(TrimSpec { class: 0, buffer: Bytes(100_000), either: true, returns: false });
    }
    spec
}

/// Breaks if a balancer loses, repeats or keeps a byte under one of the transports, or under one
/// driver something else than under another (`run` sees to both): all of today's balancers with all
/// congestion controls and all ways of repair.
#[test]
fn every_balancer_carries_every_transport() {
    let controls = controls();
    for info in balancers() {
        for (name, control) in &controls {
            for repair in REPAIRS {
                let output = run(&fabric(info, *control, repair));
                let end = output.flows.fct_ps.iter().all(|fct| *fct != leafspine_sim::UNFINISHED);
                assert!(end, "{info} {name} {repair:?}");
                assert_eq!(output.counters.lossless_drops, 0, "{info} {name} {repair:?}");
            }
        }
    }
}

fn balancers() -> impl Iterator<Item = &'static str> {
    leafspine_schemes::lb::ALL.iter().map(|entry| entry.info.name)
}
