//! The fixed scenarios that measure speed, and what schemes cost in one of them.

mod cost;

pub use cost::{DecisionCost, RunCost, Tables, decision_cost, run_cost};

use crate::error::ScenarioError;
use crate::expand::{Case, single};
use leafspine_sim::{Output, Progress, RunError, Simulation};
use std::path::Path;
use std::time::Instant;

/// The case that schemes are compared on.
pub(crate) const WEB_SEARCH: &str = include_str!("../../../../benches/web-search-128.toml");

/// Name and text of each; the last is short and for smoke tests.
const CASES: &[(&str, &str)] = &[
    ("web-search-128", WEB_SEARCH),
    ("web-search-128-rps", include_str!("../../../../benches/web-search-128-rps.toml")),
    ("general-128", include_str!("../../../../benches/general-128.toml")),
    ("web-search-1024", include_str!("../../../../benches/web-search-1024.toml")),
    ("web-search-8192", include_str!("../../../../benches/web-search-8192.toml")),
    ("permutation-8192", include_str!("../../../../benches/permutation-8192.toml")),
    ("permutation-8192-roce", include_str!("../../../../benches/permutation-8192-roce.toml")),
    ("all-reduce-128", include_str!("../../../../benches/all-reduce-128.toml")),
    ("all-reduce-128-roce", include_str!("../../../../benches/all-reduce-128-roce.toml")),
    ("incast-80", include_str!("../../../../benches/incast-80.toml")),
    ("dctcp-128", include_str!("../../../../benches/dctcp-128.toml")),
    ("roce-128", include_str!("../../../../benches/roce-128.toml")),
    ("smoke", include_str!("../../../../benches/smoke.toml")),
];

/// Names of the cases.
pub fn cases() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|(name, _)| *name)
}

/// Why nothing was measured.
#[derive(Debug)]
pub enum BenchError {
    /// No case, or no scheme, of this name.
    Unknown(String),
    /// A place whose decisions are not timed.
    Untimed(String),
    /// The scenario cannot be run.
    Scenario(ScenarioError),
    /// The run has no output.
    Run(RunError),
}

impl From<ScenarioError> for BenchError {
    fn from(error: ScenarioError) -> BenchError {
        BenchError::Scenario(error)
    }
}

impl From<RunError> for BenchError {
    fn from(error: RunError) -> BenchError {
        BenchError::Run(error)
    }
}

/// What a case's run measured.
#[derive(Debug)]
pub struct Measured {
    /// All that it counted.
    pub output: Output,
    /// Seconds from the first event to the last.
    pub seconds: f64,
    /// Bytes that the process's largest memory grew by, where the system tells (Linux).
    pub peak_memory: Option<u64>,
}

/// Runs one case. Call it in a fresh process: memory is the process's peak, less what it was before.
///
/// # Errors
/// If there is no such case.
pub fn measure(name: &str) -> Result<Measured, BenchError> {
    let found = CASES.iter().find(|(known, _)| *known == name);
    let (name, text) = found.ok_or_else(|| BenchError::Unknown(name.to_owned()))?;
    let case = single(text, name, Path::new("."))?;
    let before = peak_memory();
    let Timed { output, seconds, .. } = timed(&case)?;
    let grown = peak_memory().zip(before).map(|(after, before)| after.saturating_sub(before));
    Ok(Measured { output, seconds, peak_memory: grown })
}

/// A run's output, its seconds, and whether switches had general ports.
struct Timed {
    output: Output,
    seconds: f64,
    general_ports: bool,
}

fn timed(case: &Case) -> Result<Timed, BenchError> {
    let simulation = Simulation::new(&case.spec).map_err(|error| case.refused(&error))?;
    let general_ports = simulation.has_general_ports();
    let start = Instant::now();
    let output = simulation.run(&Progress::default())?;
    Ok(Timed { output, seconds: start.elapsed().as_secs_f64(), general_ports })
}

/// The process's largest memory so far in bytes, where the system tells (Linux).
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a case's scenario no longer reads: `leafspine bench` would end there.
    #[test]
    fn every_case_is_one_run() {
        for (name, text) in CASES {
            single(text, name, Path::new(".")).unwrap();
        }
        assert!(matches!(measure("none"), Err(BenchError::Unknown(name)) if name == "none"));
    }
}
