//! Whether a scheme that cuts flows at their pauses had any to cut at.

use super::{counted, in_round_trips, words};
use crate::expand::Case;
use leafspine_core::Span;
use leafspine_fabric::TopologyKind;
use leafspine_fabric::kinds::Plan;
use leafspine_schemes::Value;
use leafspine_sim::spec::SchemeSpec;
use leafspine_sim::{Output, UNFINISHED};

/// The parameters that say how long a pause must be. A scheme with one of them is taken to cut flowlets.
const GAPS: [&str; 2] = ["gap", "lowest"];
/// A scheme has acted if it moved one flow in so many of those that it could move.
const ONE_IN: u64 = 100;
/// With fewer flows that it could move nothing is said: they may have had no reason.
const FEWEST: u64 = 20;
/// A flow that lasts so many base round trips sends several windows, with time for pauses between.
const LASTING: u64 = 10;

/// A scheme whose flows hardly ever took another path is ECMP by another name.
pub(super) fn hardly_moved(case: &Case, output: &Output) -> Option<String> {
    let (scheme, key, gap) =
        [Some(&case.spec.balancer), case.spec.edge.as_ref()].into_iter().flatten().find_map(gap)?;
    let (flows, changes) = lasting(case, output);
    if flows < FEWEST || changes * ONE_IN >= flows {
        return None;
    }
    Some(format!(
        "{}: {} in {} that could have taken another path; its {key} of {} is {}",
        scheme.name,
        counted(changes, "path change"),
        counted(flows, "flow"),
        words(gap),
        in_round_trips(gap, case.scale),
    ))
}

/// The scheme, if its flowlets end by a pause.
fn gap(scheme: &SchemeSpec) -> Option<(&SchemeSpec, &'static str, Span)> {
    let params = &scheme.params.0;
    // QALL has a gap that it uses for flowlets only.
    if params.get("granularity") == Some(&Value::Word("packet".to_owned())) {
        return None;
    }
    GAPS.into_iter().find_map(|key| match params.get(key) {
        Some(Value::Span(gap)) => Some((scheme, key, *gap)),
        _ => None,
    })
}

/// The number of the switch that a host is under.
fn tor_of(kind: &TopologyKind) -> impl Fn(u16) -> u64 {
    let (under_each, listed) = match kind.plan() {
        Plan::Tiers(shape) => (shape.hosts_per_tor(), Vec::new()),
        Plan::Links(wiring) => (1, wiring.hosts.iter().map(|host| host.switch).collect()),
    };
    move |host| match listed.get(usize::from(host)) {
        Some(switch) => u64::from(*switch),
        None => u64::from(host) / under_each,
    }
}

/// How many flows between switches lasted long enough, and how often they took another path.
fn lasting(case: &Case, output: &Output) -> (u64, u64) {
    let tor = tor_of(&case.spec.topology.kind);
    let flows = &output.flows;
    let lasts = |row: &usize| {
        let took = match flows.fct_ps[*row] {
            UNFINISHED => output.end.0.saturating_sub(flows.start_ps[*row]),
            fct => fct,
        };
        took >= case.scale.base_rtt.0.saturating_mul(LASTING)
    };
    (0..flows.len())
        .filter(|row| tor(flows.src[*row]) != tor(flows.dst[*row]))
        .filter(lasts)
        .fold((0, 0), |(count, changes), row| {
            (count + 1, changes + u64::from(flows.path_changes[row]))
        })
}
