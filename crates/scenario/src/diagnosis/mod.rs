//! What a reader should know of a finished run before believing its numbers, one line each.
//!
//! A file a question; [`warnings`] asks them all.

mod classes;
mod collisions;
mod flowlets;
mod pauses;
mod programs;
mod schemes;
mod steady;
mod thresholds;
mod timers;
mod traces;

use crate::expand::Case;
use leafspine_core::Span;
use leafspine_schemes::registry::Place;
use leafspine_schemes::{Meaning, Scale, Value};
use leafspine_sim::Output;
use leafspine_sim::spec::{SchemeSpec, Spec};

/// All that is to be said of a run, in plain English and with its numbers; nothing of one that needs
/// no warning.
#[must_use]
pub fn warnings(case: &Case, output: &Output) -> Vec<String> {
    let mut said = schemes::reconstructed(&case.spec);
    said.extend(not_started(output));
    said.extend(traces::unused_columns(case));
    said.extend(steady::warnings(case, output));
    said.extend(flowlets::hardly_moved(case, output));
    said.extend(timers::slow_periods(case, output));
    said.extend(timers::late_timeouts(case, output));
    said.extend(timers::held_to_the_last(case, output));
    said.extend(thresholds::out_of_reach(case));
    said.extend(thresholds::idle_manager(case, output));
    said.extend(collisions::shared_entries(case, output));
    said.extend(pauses::lossless_drops(&case.spec, output));
    said.extend(pauses::storms(&case.spec, output));
    said.extend(programs::warnings(output));
    said.extend(classes::nobody_looks(case));
    said.extend(output.deadlock.iter().map(ToString::to_string));
    said
}

/// Flows that the run's end was too early for.
fn not_started(output: &Output) -> Option<String> {
    let late = match output.not_started {
        Some(0) => return None,
        Some(flows) => format!("{flows} more flows"),
        None => "more flows".to_owned(),
    };
    Some(format!("{late} had not started when the run ended: they are in no table"))
}

/// The schemes that a run names, with the places they stand in.
fn schemes_of(spec: &Spec) -> Vec<(Place, &SchemeSpec)> {
    let places = [
        (Place::LoadBalancer, Some(&spec.balancer)),
        (Place::Aqm, Some(&spec.aqm)),
        (Place::Hold, spec.hold.as_ref()),
        (Place::HostEdge, spec.edge.as_ref()),
        (Place::Transport, Some(&spec.transport.scheme)),
    ];
    places.into_iter().filter_map(|(place, scheme)| Some((place, scheme?))).collect()
}

/// The parameters of this meaning that the run's schemes look at: place, scheme, parameter, value.
fn about(
    spec: &Spec,
    meaning: Meaning,
) -> impl Iterator<Item = (Place, &str, &'static str, &Value)> {
    schemes_of(spec).into_iter().flat_map(move |(place, scheme)| {
        let info = place.find(&scheme.name);
        let found = info.into_iter().flat_map(move |info| info.about(meaning, &scheme.params));
        found.map(move |(key, value)| (place, scheme.name.as_str(), key, value))
    })
}

/// `1 path change`, `5000 flows`.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `50 base round trips`.
fn in_round_trips(span: Span, scale: Scale) -> String {
    let trips = span.0 as f64 / scale.base_rtt.0.max(1) as f64;
    let places = usize::from(trips < 10.0);
    format!("{trips:.places$} base round trips")
}

/// A time in two digits, as a sentence has it: `8.1 ms`.
fn words(time: Span) -> String {
    let text = time.about(2).to_string();
    let unit = text.find(char::is_alphabetic).unwrap_or(text.len());
    format!("{} {}", &text[..unit], &text[unit..])
}
