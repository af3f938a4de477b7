//! What only the built graph shows to be wrong, as an error at the line that is to blame.

use crate::error::{Problem, ScenarioError};
use crate::expand::Case;
use crate::path;
use leafspine_fabric::{ChangeProblem, TopologyError};
use leafspine_schemes::ParamError;
use leafspine_sim::{Memory, SetupError, Simulation};

/// A key, what was found there, what is allowed, and the nearest name.
struct Refusal {
    key: String,
    found: String,
    allowed: String,
    nearest: Option<String>,
}

impl Refusal {
    fn new(
        key: impl Into<String>,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Refusal {
        Refusal { key: key.into(), found: found.into(), allowed: allowed.into(), nearest: None }
    }
}

impl Case {
    /// Makes the simulation, only to see whether it can be made.
    ///
    /// # Errors
    /// What only the built graph shows: a link, a switch or a port that is not there, a fabric that
    /// stays split, hosts that a pattern cannot pair, parameters that do not fit a place.
    pub fn check(&self) -> Result<(), ScenarioError> {
        Simulation::new(&self.spec).map(drop).map_err(|error| self.refused(&error))
    }

    /// The memory that the run will need; a part of the sum if that is above `enough` already.
    /// `other`: a case whose estimate is known.
    ///
    /// # Errors
    /// As [`Case::check`].
    pub fn memory(
        &self,
        other: Option<(&Case, &Memory)>,
        enough: u64,
    ) -> Result<Memory, ScenarioError> {
        let other = other.map(|(case, memory)| (&case.spec, memory));
        Memory::beside(other, &self.spec, enough).map_err(|error| self.refused(&error))
    }

    /// The engine's refusal of this case, with the file and the line where the key was written.
    #[must_use]
    pub fn refused(&self, error: &SetupError) -> ScenarioError {
        let error = &self.of_what_was_written(error);
        let mut refused = refusal(error, self.file());
        if let SetupError::Topology(TopologyError::UnknownPort { pattern, .. }) = error {
            let at = self.spec.probes.iter().position(|probe| probe.ports == *pattern);
            refused.key = format!("probe.{}.ports", at.unwrap_or(0));
        }
        if refused.file == self.file() {
            match self.option(&refused.key) {
                Some(option) => refused.file = option,
                None => refused.line = self.locate(&refused.key),
            }
        }
        refused
    }

    /// Of two parameters that do not fit each other the one that somebody wrote is to blame, and
    /// the default that it does not fit is called one; of two that were written, the one that an
    /// option gave.
    fn of_what_was_written(&self, error: &SetupError) -> SetupError {
        let SetupError::Scheme { section, error: seen } = error else { return error.clone() };
        let Some(other) = &seen.other else { return error.clone() };
        let written = |key: &str| self.has(&path::join(section, key));
        let by_option = |key: &str| self.option(&path::join(section, key)).is_some();
        let mut told = match (written(&seen.key), written(&other.key)) {
            (true, true) if by_option(&other.key) && !by_option(&seen.key) => {
                return SetupError::Scheme { section, error: (**other).clone() };
            }
            (true, true) | (false, false) => return error.clone(),
            (true, false) => seen.clone(),
            (false, true) => (**other).clone(),
        };
        told.allowed += " by default";
        SetupError::Scheme { section, error: told }
    }
}

/// The engine's refusal of a scenario called `file`, without its line; see [`Case::refused`].
#[must_use]
pub fn refusal(error: &SetupError, file: &str) -> ScenarioError {
    let (mut file, mut line) = (file.to_owned(), None);
    let Refusal { key, found, allowed, nearest } = match error {
        SetupError::Topology(error) => topology(error),
        SetupError::Workload(error) => {
            // A file without lines says where by itself, and has no key of the scenario's.
            let inside = error.line.is_some() || error.key.is_empty();
            if let Some(inner) = error.file.as_ref().filter(|_| inside) {
                file = inner.display().to_string();
                line = error.line.and_then(|at| usize::try_from(at).ok());
            }
            let nearest = error.nearest.as_deref().map(str::to_owned);
            Refusal { nearest, ..Refusal::new(&error.key, &error.found, &error.allowed) }
        }
        SetupError::Scheme { section, error: ParamError { key, found, allowed, .. } } => {
            Refusal::new(format!("{section}.{key}"), found, allowed)
        }
        SetupError::NoScheme { section, found, allowed } => {
            Refusal::new(format!("{section}.scheme"), found, allowed)
        }
    };
    Problem { file, line, key, found, allowed, nearest }.into()
}

fn topology(error: &TopologyError) -> Refusal {
    use TopologyError as E;
    match error {
        E::ZeroCount { key } => Refusal::new(format!("topology.{key}"), "0", "1 or more"),
        E::OddCount { key, found } => {
            Refusal::new(format!("topology.{key}"), found.to_string(), "an even number, 2 or more")
        }
        E::TooMany { what, found, most } => {
            Refusal::new("topology", format!("{found} {what}"), format!("at most {most}"))
        }
        E::ZeroRate { link } => {
            Refusal::new(format!("topology.{link}.rate"), "0bps", "a rate above zero")
        }
        E::BadLoss { link, found } => {
            Refusal::new(format!("topology.{link}.loss"), found.to_string(), LOSS)
        }
        E::LongDelay { key, found, most } => {
            let allowed = format!("at most {most}");
            Refusal::new(format!("topology.{key}"), found.to_string(), allowed)
        }
        E::LongRoundTrip { found, most } => Refusal::new(
            "topology",
            format!("a round trip of {found} in the empty fabric"),
            format!("at most {most}"),
        ),
        E::UnknownLink { name, nearest, allowed } | E::UnknownTor { name, nearest, allowed } => {
            unknown("topology".to_owned(), name, allowed, nearest)
        }
        E::UnknownPort { pattern, nearest, allowed } => {
            unknown("probe".to_owned(), pattern, allowed, nearest)
        }
        E::Change { index, problem } => change(*index, problem),
        E::Split { a, b } => Refusal::new(
            "topology.change",
            format!("a fabric split in two after the last change: no path from {a} to {b}"),
            "a split that a later change heals",
        ),
        E::CutOff { index, link, at } => Refusal::new(
            format!("topology.change.{index}"),
            format!("{link} down from {at} for good, which cuts off a host"),
            "an outage that a later change ends",
        ),
    }
}

const LOSS: &str = "a probability from 0 to below 1";

fn unknown(key: String, name: &str, allowed: &str, nearest: &str) -> Refusal {
    let nearest = Some(nearest.to_owned()).filter(|nearest| !nearest.is_empty());
    Refusal { key, found: format!("{name:?}"), allowed: allowed.to_owned(), nearest }
}

fn change(index: usize, problem: &ChangeProblem) -> Refusal {
    use ChangeProblem as P;
    let key = |key: &str| format!("topology.change.{index}.{key}");
    match problem {
        P::Link(error) => Refusal { key: key("link"), ..topology(error) },
        P::Nothing => {
            Refusal::new(key("link"), "a change of nothing", "rate, delay, loss, state, flap")
        }
        P::ZeroRate => Refusal::new(key("rate"), "0bps", "a rate above zero"),
        P::BadLoss(found) => Refusal::new(key("loss"), found.to_string(), LOSS),
        P::LongDelay { found, most } => {
            Refusal::new(key("delay"), found.to_string(), format!("at most {most}"))
        }
        P::StateAndFlap => Refusal::new(key("flap"), "both state and flap", "one of state, flap"),
        P::FlapDown { down_for, every } => Refusal::new(
            key("flap.down_for"),
            down_for.to_string(),
            format!("above 0 and below every = \"{every}\""),
        ),
        P::FlapNever => Refusal::new(key("flap.times"), "0", "1 or more"),
        P::FlapTooOften { times, most } => Refusal::new(
            key("flap.times"),
            times.to_string(),
            format!("at most {most} cycles, within 213 days"),
        ),
    }
}
