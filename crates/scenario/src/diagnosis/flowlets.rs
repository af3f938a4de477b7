//! Whether a scheme that cuts flows at their pauses had any to cut at.

use super::{about, counted, in_round_trips, words};
use crate::expand::Case;
use leafspine_core::Span;
use leafspine_fabric::TopologyKind;
use leafspine_fabric::kinds::Plan;
use leafspine_schemes::registry::Place;
use leafspine_schemes::{Meaning, Value};
use leafspine_sim::spec::Spec;
use leafspine_sim::{Output, UNFINISHED};

/// A scheme has acted if it moved one flow in so many of those that it could move.
const ONE_IN: u64 = 100;
/// With fewer flows that it could move nothing is said: they may have had no reason.
const FEWEST: u64 = 20;
/// A flow that lasts so many base round trips sends several windows, with time for pauses between.
const LASTING: u64 = 10;

/// A scheme whose flows hardly ever took another path is ECMP by another name.
pub(super) fn hardly_moved(case: &Case, output: &Output) -> Option<String> {
    let (scheme, key, gap) = gap(&case.spec)?;
    let (flows, changes) = lasting(case, output);
    if flows < FEWEST || changes * ONE_IN >= flows {
        return None;
    }
    Some(format!(
        "{}: {} in {} that could have taken another path; its {key} of {} is {}",
        scheme,
        counted(changes, "path change"),
        counted(flows, "flow"),
        words(gap),
        in_round_trips(gap, case.scale),
    ))
}

/// The pause that ends a flowlet: of the balancer, or else of the host edge. With the scheme's name and the
/// parameter's.
fn gap(spec: &Spec) -> Option<(&str, &'static str, Span)> {
    let steering = |place: &Place| matches!(place, Place::LoadBalancer | Place::HostEdge);
    about(spec, Meaning::FlowletGap).filter(|(place, ..)| steering(place)).find_map(
        |(_, scheme, key, value)| match value {
            Value::Span(gap) => Some((scheme, key, *gap)),
            _ => None,
        },
    )
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
