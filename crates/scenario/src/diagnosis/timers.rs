//! Whether timers went off often enough to matter, or so late that waiting for them is what was
//! measured.

use super::{counted, in_round_trips, schemes_of, words};
use crate::expand::Case;
use leafspine_core::Span;
use leafspine_schemes::Value;
use leafspine_sim::Output;
use leafspine_sim::spec::SchemeSpec;

/// How often a scheme measures, probes or ages, and how late its reports come. A parameter of one of these names
/// is taken for that.
const PERIODS: [&str; 5] =
    ["probe_period", "probe_interval", "update_period", "timer", "clone_delay"];
/// After so many base round trips what a scheme knows is old.
const OLD: u64 = 20;
/// A bound of the RTO so many times the round trip through full buffers is longer than it needs to be.
const NEEDLESS: u64 = 2;
/// ACKs that were held to the last are many from one in so many on.
const ONE_IN: u64 = 100;

/// Schemes that look so seldom that the network has changed in between.
pub(super) fn slow_periods(case: &Case, output: &Output) -> Vec<String> {
    let length = Span(output.end.0);
    let one = |scheme: &SchemeSpec, key: &str, span: Span| {
        let named = format!("{}: its {key} of {}", scheme.name, words(span));
        if span >= length {
            return Some(format!("{named} is longer than the run, {}", words(length)));
        }
        let old = span.0 / OLD > case.scale.base_rtt.0;
        old.then(|| format!("{named} is {}", in_round_trips(span, case.scale)))
    };
    let said = |scheme: &SchemeSpec| -> Vec<String> {
        let period = |key: &&str| match scheme.params.0.get(*key) {
            Some(Value::Span(span)) => one(scheme, key, *span),
            _ => None,
        };
        PERIODS.iter().filter_map(period).collect()
    };
    schemes_of(&case.spec).into_iter().flat_map(|(_, scheme)| said(scheme)).collect()
}

/// Flows that waited for a timeout far longer than any packet could have been under way.
pub(super) fn late_timeouts(case: &Case, output: &Output) -> Option<String> {
    let flows = output.flows.timeouts.iter().filter(|count| **count > 0).count() as u64;
    let (bound, full) = (case.spec.transport.min_rto, case.full_round_trip);
    if flows == 0 || bound.0 / NEEDLESS <= full.0 {
        return None;
    }
    Some(format!(
        "{} waited for a timeout of {} or longer: transport.{} is {}, and a round trip with \
         every buffer full takes {}",
        counted(flows, "flow"),
        words(bound),
        if case.spec.transport.roce.is_some() { "timeout" } else { "min_rto" },
        in_round_trips(bound, case.scale),
        words(full)
    ))
}

/// ACKs that an ingress hold let go because they had waited their longest, or for want of room.
pub(super) fn held_to_the_last(case: &Case, output: &Output) -> Option<String> {
    let hold = case.spec.hold.as_ref()?;
    let counters = &output.counters;
    let let_go = counters.hold_expiries + counters.hold_overflows;
    if let_go * ONE_IN <= counters.data_packets {
        return None;
    }
    Some(format!(
        "{}: {} let go after max_hold, {} for want of room, of {}",
        hold.name,
        counted(counters.hold_expiries, "ACK"),
        counters.hold_overflows,
        counted(counters.data_packets, "data packet"),
    ))
}
