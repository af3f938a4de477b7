//! What `leafspine bench` measures, as JSON.

use crate::errors::{run_error, scenario_error};
use crate::guard::guarded;
use leafspine_scenario::bench::{self as measuring, BenchError, DecisionCost, Measured, RunCost};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};

/// Names of the fixed scenarios that measure speed.
#[pyfunction]
pub(crate) fn bench_cases() -> Vec<&'static str> {
    measuring::cases().collect()
}

/// Runs one of them and gives its figures as JSON, in a fresh process: memory is the process's peak,
/// less what it was before.
///
/// # Errors
/// `KeyError` for a case that is not there.
#[pyfunction]
pub(crate) fn bench(py: Python<'_>, case: &str) -> PyResult<String> {
    said(py, case, || measuring::measure(case), |found| measured(&found))
}

/// What one decision of a load balancer or queue manager costs: nanoseconds, and bytes of state.
///
/// # Errors
/// `KeyError` for a scheme that is not there; `ValueError` for a place whose decisions are not timed.
#[pyfunction]
pub(crate) fn decision_cost(py: Python<'_>, place: &str, name: &str) -> PyResult<String> {
    said(py, name, || measuring::decision_cost(place, name), |found| decision(&found))
}

/// What a run with the keys of `sets` costs beside one with ECMP, of so many flows and rounds.
///
/// # Errors
/// What the scenario file's errors are.
#[pyfunction]
pub(crate) fn run_cost(
    py: Python<'_>,
    sets: Vec<(String, String)>,
    flows: u32,
    rounds: u32,
) -> PyResult<String> {
    said(py, "web-search-128", || measuring::run_cost(sets, flows, rounds), |found| run(&found))
}

/// Does `work` while other threads of Python may run, and writes what it found.
fn said<T: Send>(
    py: Python<'_>,
    file: &str,
    work: impl FnOnce() -> Result<T, BenchError> + Send,
    write: impl FnOnce(T) -> Value,
) -> PyResult<String> {
    guarded(|| match py.detach(work) {
        Ok(found) => Ok(write(found).to_string()),
        Err(BenchError::Unknown(name)) => Err(PyKeyError::new_err(name)),
        Err(BenchError::Untimed(place)) => {
            Err(PyValueError::new_err(format!("no decisions of {place} are timed")))
        }
        Err(BenchError::Scenario(error)) => Err(scenario_error(py, &error)),
        Err(BenchError::Run(error)) => Err(run_error(py, error, file)),
    })
}

fn measured(found: &Measured) -> Value {
    let (output, counters) = (&found.output, &found.output.counters);
    json!({
        "packet_hops_per_second": counters.packet_hops as f64 / found.seconds,
        "packet_hops": counters.packet_hops,
        "events_per_hop": counters.events as f64 / counters.packet_hops as f64,
        "seconds": found.seconds,
        "peak_memory_bytes": found.peak_memory,
        "flows": output.flows.len(),
        "peak_packets": counters.peak_packets,
        "trace_hash": format!("{:016x}", output.trace_hash),
    })
}

fn decision(found: &DecisionCost) -> Value {
    json!({
        "bytes": found.footprint.bytes,
        "bytes_per_flow": found.footprint.per_flow,
        "bytes_per_port": found.footprint.per_port,
        "slots": found.footprint.slots,
        "ns_per_decision": found.nanoseconds,
    })
}

fn run(found: &RunCost) -> Value {
    let tables = found.tables;
    json!({
        "leaf_bytes": tables.leaf_bytes,
        "slots": tables.slots,
        "occupied_mean": tables.occupied,
        "flows_mean": tables.flows,
        "sharing_mean": tables.sharing,
        "packet_hops_per_second": found.speed,
        "ecmp_packet_hops_per_second": found.ecmp_speed,
        "share_of_ecmp": found.speed / found.ecmp_speed,
        "ports": if found.general_ports { "general" } else { "one-event" },
        "events_per_hop": found.events_per_hop,
    })
}
