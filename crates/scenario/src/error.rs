//! The one error of this crate: what is wrong, where, and what would be right.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// A scenario that cannot be run. Its [`Problem`] is read through it: `error.line`.
///
/// Boxed, so that results stay small.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioError(Box<Problem>);

/// The parts of a [`ScenarioError`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The scenario file, or `--set` for an override from the command line.
    pub file: String,
    /// Line in the file, from 1, where one can be named.
    pub line: Option<usize>,
    /// The key from the root, as `--set` takes it: `workload.0.load`. Empty for a syntax error.
    pub key: String,
    /// What was found there.
    pub found: String,
    /// What is allowed there.
    pub allowed: String,
    /// The nearest valid name, if a name was wrong and one is near.
    pub nearest: Option<String>,
}

impl From<Problem> for ScenarioError {
    fn from(problem: Problem) -> ScenarioError {
        ScenarioError(Box::new(problem))
    }
}

impl Deref for ScenarioError {
    type Target = Problem;

    fn deref(&self) -> &Problem {
        &self.0
    }
}

impl DerefMut for ScenarioError {
    fn deref_mut(&mut self) -> &mut Problem {
        &mut self.0
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        // An override reads as it was typed: `--set aqm.threshold: found ...`.
        f.write_str(if self.file == OVERRIDE { " " } else { ": " })?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "found {}; allowed: {}", self.found, self.allowed)?;
        if let Some(nearest) = &self.nearest {
            write!(f, "; did you mean \"{nearest}\"?")?;
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioError {}

/// What stands for the file's name when an override is wrong.
pub const OVERRIDE: &str = "--set";

/// The name that was probably meant: the fewest edits, the first among equals, and no more edits
/// than a third of the name's length (but two for short names), or else none.
pub(crate) fn nearest<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = |name: &&str| {
        let distance = strsim::osa_distance(found, name);
        (distance <= (name.len() / 3).max(2) && distance < name.len()).then_some(distance)
    };
    names
        .into_iter()
        .filter_map(|name| near(&name).map(|distance| (distance, name)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name.to_owned())
}

/// `"a", "b", "c"`.
pub(crate) fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a transposition or a missing letter is not mended, or if far names are suggested.
    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let names = ["web-search", "data-mining", "k", "ecmp"];
        for (found, meant) in [
            ("web-serch", Some("web-search")),
            ("datamining", Some("data-mining")),
            ("emcp", Some("ecmp")),
            ("letflow", None),
            ("", None),
        ] {
            assert_eq!(nearest(found, names).as_deref(), meant, "{found}");
        }
    }
}
