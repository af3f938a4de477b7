//! What a reader should know of a finished run before believing its numbers, one line each.
//!
//! A file a question; [`warnings`] asks them all.

mod schemes;
mod steady;

use crate::expand::Case;
use leafspine_core::Span;
use leafspine_sim::Output;

/// All that is to be said of a run, in plain English and with its numbers; nothing of one that needs
/// no warning.
#[must_use]
pub fn warnings(case: &Case, output: &Output) -> Vec<String> {
    let mut said = schemes::reconstructed(&case.spec);
    said.extend(not_started(output));
    said.extend(steady::warnings(case, output));
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

/// A time in two digits, as a sentence has it: `8.1 ms`.
fn words(time: Span) -> String {
    let text = time.about(2).to_string();
    let unit = text.find(char::is_alphabetic).unwrap_or(text.len());
    format!("{} {}", &text[..unit], &text[unit..])
}
