//! What cannot be: a count that does not add up, a scheme that breaks its contract.

use super::Simulation;
use leafspine_core::Time;

/// A fault of leafspine or of a scheme, never of the scenario: what a check found
/// ([`Simulation::checked`]), or a scheme that broke its contract.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{what}, {}at {time}, after {events} events; this is a fault of leafspine or of a scheme from \
     outside: please report it with the scenario",
    if .place.is_empty() { String::new() } else { format!("at {} ", .place) }
)]
pub struct Fault {
    /// When.
    pub time: Time,
    /// Events processed by then.
    pub events: u64,
    /// The port, switch, host or flow; empty for the run as a whole.
    pub place: String,
    /// What does not add up.
    pub what: String,
}

/// What is wrong with a scheme that asks to be called again at `time`.
pub(super) fn backward(time: Time) -> String {
    format!("a scheme asks to be called again at {time}, which is not later")
}

impl Simulation {
    /// Ends the run with a fault, after the event under way. The first one stays.
    #[cold]
    pub(super) fn fail(&mut self, place: String, what: String) {
        self.finished = true;
        if self.fault.is_none() {
            self.fault = Some(Box::new(Fault { time: self.now, events: 0, place, what }));
        }
    }
}
