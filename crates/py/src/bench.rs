//! The fixed scenarios that measure speed.

use crate::errors::{run_error, scenario_error, setup_error};
use crate::guard::guarded;
use leafspine_sim::{Progress, Simulation};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use serde_json::json;
use std::path::Path;
use std::time::Instant;

/// The case that schemes are compared on.
pub(crate) const WEB_SEARCH: &str = include_str!("../../../benches/web-search-128.toml");

/// Name and text of each; the last is short and for smoke tests.
const CASES: &[(&str, &str)] = &[
    ("web-search-128", WEB_SEARCH),
    ("web-search-128-rps", include_str!("../../../benches/web-search-128-rps.toml")),
    ("web-search-1024", include_str!("../../../benches/web-search-1024.toml")),
    ("incast-80", include_str!("../../../benches/incast-80.toml")),
    ("smoke", include_str!("../../../benches/smoke.toml")),
];

/// Names of the cases.
#[pyfunction]
pub(crate) fn bench_cases() -> Vec<&'static str> {
    CASES.iter().map(|(name, _)| *name).collect()
}

/// The process's largest memory so far in bytes, where the system tells (Linux).
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Runs one case and gives its figures as JSON. Call it in a fresh process: memory is the
/// process's peak, less what it was before.
///
/// # Errors
/// `KeyError` for a case that is not there.
#[pyfunction]
pub(crate) fn bench(py: Python<'_>, case: &str) -> PyResult<String> {
    guarded(|| measured(py, case))
}

fn measured(py: Python<'_>, case: &str) -> PyResult<String> {
    let found = CASES.iter().find(|(name, _)| *name == case);
    let (name, text) = found.ok_or_else(|| PyKeyError::new_err(case.to_owned()))?;
    let case = leafspine_scenario::single(text, name, Path::new("."))
        .map_err(|error| scenario_error(py, &error))?;
    let before = peak_memory();
    let simulation = Simulation::new(&case.spec).map_err(|error| setup_error(py, &error, name))?;
    let start = Instant::now();
    let output = py.detach(|| simulation.run(&Progress::default()));
    let seconds = start.elapsed().as_secs_f64();
    let output = output.map_err(|error| run_error(py, error, name))?;
    let memory = peak_memory().zip(before).map(|(after, before)| after.saturating_sub(before));
    let counters = output.counters;
    Ok(json!({
        "packet_hops_per_second": counters.packet_hops as f64 / seconds,
        "packet_hops": counters.packet_hops,
        "events_per_hop": counters.events as f64 / counters.packet_hops as f64,
        "seconds": seconds,
        "peak_memory_bytes": memory,
        "flows": output.flows.len(),
        "peak_packets": counters.peak_packets,
        "trace_hash": format!("{:016x}", output.trace_hash),
    })
    .to_string())
}
