//! Whether thresholds lie where a queue can be.

use super::{about, counted, in_round_trips, words};
use crate::expand::Case;
use leafspine_core::Span;
use leafspine_schemes::{Amount, Meaning, Value, registry};
use leafspine_sim::Output;
use leafspine_sim::spec::SharedBuffer;

/// A time constant of more base round trips than this is named where a queue manager did nothing.
const LONG: u64 = 20;

/// Thresholds that no queue stays below, and such as no queue reaches.
pub(super) fn out_of_reach(case: &Case) -> Vec<String> {
    let mtu = case.scale.mtu;
    let (buffer, most) = buffer(case);
    let said = |(_, scheme, key, value): (_, &str, &str, &Value)| {
        let Value::Amount(amount) = value else { return None };
        let named = format!("{scheme}: its {key} of {amount} is");
        if amount.in_bytes(mtu) < u64::from(mtu) {
            return Some(format!("{named} less than a packet of {mtu}B"));
        }
        // Against a buffer in packets of any size, bytes may be reached or not.
        let comparable = matches!(
            (amount, buffer),
            (Amount::Packets(_), Amount::Packets(_)) | (Amount::Bytes(_), Amount::Bytes(_))
        );
        (comparable && amount.in_bytes(mtu) >= most)
            .then(|| format!("{named} not below the buffer of {buffer}: no queue gets there"))
    };
    about(&case.spec, Meaning::Backlog).filter_map(said).collect()
}

/// What a port may hold, as the scenario says it and in bytes.
fn buffer(case: &Case) -> (Amount, u64) {
    let switch = &case.spec.switch;
    let amount = match switch.shared {
        Some(SharedBuffer { size, .. }) => Amount::Bytes(size.0),
        None => switch.buffer,
    };
    (amount, amount.in_bytes(case.scale.mtu))
}

/// A queue manager that let every buffer overflow without a mark or a drop of its own.
pub(super) fn idle_manager(case: &Case, output: &Output) -> Option<String> {
    let aqm = &case.spec.aqm;
    let marks = registry::queue_manager(&aqm.name).is_some_and(|m| (m.marks)(&aqm.params));
    let drops = output.counters.dropped;
    let (by_buffer, by_manager) = (drops[0], drops[1]);
    if !marks || by_buffer == 0 || by_manager > 0 || output.counters.marks > 0 {
        return None;
    }
    let long = aqm.params.0.iter().filter_map(|(key, value)| match value {
        Value::Span(span) if span.0 / LONG > case.scale.base_rtt.0 => Some((key, *span)),
        _ => None,
    });
    let why: Vec<String> = long
        .map(|(key, span): (&String, Span)| {
            format!("; its {key} of {} is {}", words(span), in_round_trips(span, case.scale))
        })
        .collect();
    let ecn = if case.spec.transport.ecn == Some(false) { "; transport.ecn is false" } else { "" };
    Some(format!(
        "{}: marked and dropped nothing while full buffers dropped {}{ecn}{}",
        aqm.name,
        counted(by_buffer, "packet"),
        why.concat()
    ))
}
