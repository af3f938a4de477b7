//! What cannot be: a count that does not add up, a scheme that breaks its contract.

use super::Simulation;
use leafspine_core::Time;
use leafspine_fabric::Owner;
pub use leafspine_node::FaultKind;

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
    /// What is wrong there.
    pub what: FaultKind,
}

impl Simulation {
    /// Ends the run with a fault. The first one stays.
    #[cold]
    pub(super) fn fail(&mut self, time: Time, place: Owner, what: FaultKind) {
        let place = match place {
            Owner::Switch(id) => self.graph.switch(id).name.clone(),
            Owner::Host(id) => format!("host{}", id.0),
        };
        self.fail_at(time, place, what);
    }

    /// The same with the place in words.
    #[cold]
    pub(super) fn fail_at(&mut self, time: Time, place: String, what: FaultKind) {
        self.finished = true;
        if self.fault.is_none() {
            self.fault = Some(Box::new(Fault { time, events: 0, place, what }));
        }
    }
}
