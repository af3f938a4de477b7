//! The one error of this crate: what is wrong, where, and what would be right.

pub(crate) use leafspine_fabric::nearest;
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
    /// The scenario file, or the option for an override from the command line: `--set`. Empty of a
    /// text that nobody has written, such as a resolved scenario: it is not shown, nor is the line.
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
    fn from(mut problem: Problem) -> ScenarioError {
        let Problem { file, key, found, allowed, .. } = &mut problem;
        for text in [file, key, found, allowed] {
            make_printable(text);
        }
        ScenarioError(Box::new(problem))
    }
}

/// Escapes what would do something to a terminal instead of being shown: control characters, which a
/// damaged file or a path may have, and marks that turn the direction of writing.
fn make_printable(text: &mut String) {
    let acts =
        |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if text.contains(acts) {
        let show = |c: char| if acts(c) { c.escape_unicode().to_string() } else { c.to_string() };
        *text = text.chars().map(show).collect();
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
        if let Some(line) = self.line.filter(|_| !self.file.is_empty()) {
            write!(f, ":{line}")?;
        }
        // An override reads as it was typed: `--set aqm.threshold: found ...`, `--load: found ...`.
        let option = OWN_KEYS.iter().find(|(option, _)| *option == self.file);
        let said = option.is_some_and(|(_, keys)| keys.contains(&self.key.as_str()));
        let before_key = if self.file.is_empty() { "" } else { ": " };
        if !self.key.is_empty() && !said {
            let with_key = WITH_KEYS.contains(&self.file.as_str());
            f.write_str(if with_key { " " } else { before_key })?;
            f.write_str(&self.key)?;
        }
        f.write_str(": ")?;
        write!(f, "found {}; allowed: {}", self.found, self.allowed)?;
        if let Some(nearest) = &self.nearest {
            write!(f, "; did you mean \"{nearest}\"?")?;
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioError {}

/// What stands for the file's name when an override is wrong that has no option of its own.
pub const OVERRIDE: &str = "--set";

/// Options that are given with a key.
const WITH_KEYS: &[&str] = &[OVERRIDE, "--param"];

/// Options that set keys of their own, which go without saying.
const OWN_KEYS: &[(&str, &[&str])] = &[
    ("--lb", &["load_balancer.scheme", "scheme"]),
    ("--load", &["workload.0.load"]),
    ("--seed", &["run.seed"]),
    ("--seeds", &["run.seed", "sweep"]),
];

/// `"a", "b", "c"`.
pub(crate) fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a file's bytes can clear a terminal, or begin a second line.
    #[test]
    fn nothing_acts_on_a_terminal() {
        let text = || "a\u{1b}[2J\n\u{202e}\u{7f}b".to_owned();
        let (file, key, found, allowed) = (text(), text(), text(), text());
        let error = Problem { file, line: None, key, found, allowed, nearest: None };
        let said = ScenarioError::from(error).to_string();
        let shown = r"a\u{1b}[2J\u{a}\u{202e}\u{7f}b";
        assert_eq!(said, format!("{shown}: {shown}: found {shown}; allowed: {shown}"));
    }

    /// Breaks if an option is blamed on `--set`, or a key that another one set is not named.
    #[test]
    fn an_option_is_blamed_by_its_name() {
        let said = |file: &str, key: &str| {
            let [file, key, found, allowed] = [file, key, "1", "2"].map(str::to_owned);
            let error = Problem { file, line: None, key, found, allowed, nearest: None };
            ScenarioError::from(error).to_string()
        };
        assert_eq!(said("--load", "workload.0.load"), "--load: found 1; allowed: 2");
        assert_eq!(said("--lb", "aqm.scheme"), "--lb: aqm.scheme: found 1; allowed: 2");
        assert_eq!(said("--set a=b", "run.seed"), "--set a=b: run.seed: found 1; allowed: 2");
        assert_eq!(said("--set", "run.seed"), "--set run.seed: found 1; allowed: 2");
        assert_eq!(said("f.toml", "run.seed"), "f.toml: run.seed: found 1; allowed: 2");
        assert_eq!(said("", "run.seed"), "run.seed: found 1; allowed: 2");
    }
}
