//! Whether timers went off often enough to matter, or so late that waiting for them is what was
//! measured.

use super::{about, counted, in_round_trips, words};
use crate::expand::Case;
use leafspine_core::Span;
use leafspine_schemes::{Meaning, Value};
use leafspine_sim::Output;

/// After so many base round trips what a scheme knows is old.
const OLD: u64 = 20;
/// A bound of the RTO so many times the round trip through full buffers is longer than it needs to be.
const NEEDLESS: u64 = 2;
/// ACKs that were held to the last are many from one in so many on.
const ONE_IN: u64 = 100;

/// Schemes that look so seldom that the network has changed in between.
pub(super) fn slow_periods(case: &Case, output: &Output) -> Vec<String> {
    let length = Span(output.end.0);
    let said = |(_, scheme, key, value): (_, &str, &str, &Value)| {
        let Value::Span(span) = *value else { return None };
        let named = format!("{scheme}: its {key} of {}", words(span));
        if span >= length {
            return Some(format!("{named} is longer than the run, {}", words(length)));
        }
        let old = span.0 / OLD > case.scale.base_rtt.0;
        old.then(|| format!("{named} is {}", in_round_trips(span, case.scale)))
    };
    about(&case.spec, Meaning::Period).filter_map(said).collect()
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
        case.spec.transport.protocol.timeout_key(),
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
