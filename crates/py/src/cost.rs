//! What schemes cost: time per decision, speed beside ECMP on the same kind of port, memory.

use crate::bench::WEB_SEARCH;
use crate::errors::{run_error, scenario_error, setup_error};
use crate::guard::guarded;
use leafspine_core::Span;
use leafspine_scenario::{Case, Source, expand};
use leafspine_schemes::registry::{self, Place};
use leafspine_schemes::{Footprint, microbench};
use leafspine_sim::spec::{ProbeKind, ProbeSpec};
use leafspine_sim::{Column, Output, Progress, Series, Simulation};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// Rounds of which the fastest counts, and decisions in each.
const ROUNDS: usize = 7;
const DECISIONS: u32 = 100_000;

/// What one decision of a load balancer or queue manager costs, with its defaults on a mock
/// leaf (16 hosts, 8 uplinks, 1,000 flows): nanoseconds, and bytes of state. As JSON.
///
/// # Errors
/// `KeyError` for a scheme that is not there; `ValueError` for a place whose decisions are not timed.
#[pyfunction]
pub(crate) fn decision_cost(place: &str, name: &str) -> PyResult<String> {
    guarded(|| decisions(place, name))
}

fn decisions(place: &str, name: &str) -> PyResult<String> {
    let unknown = || PyKeyError::new_err(name.to_owned());
    let (nanoseconds, kept) = if place == Place::LoadBalancer.table() {
        let mut bench =
            microbench::Balancer::new(registry::load_balancer(name).ok_or_else(unknown)?);
        (fastest(|| bench.decide()), bench.footprint())
    } else if place == Place::Aqm.table() {
        let mut bench =
            microbench::Manager::new(registry::queue_manager(name).ok_or_else(unknown)?);
        (fastest(|| bench.decide()), bench.footprint())
    } else {
        return Err(PyValueError::new_err(format!("no decisions of {place} are timed")));
    };
    let mut found = footprint(kept);
    found["ns_per_decision"] = json!(nanoseconds);
    Ok(found.to_string())
}

fn footprint(kept: Footprint) -> Value {
    json!({
        "bytes": kept.bytes,
        "bytes_per_flow": kept.per_flow,
        "bytes_per_port": kept.per_port,
        "slots": kept.slots,
    })
}

/// Nanoseconds a call, of the fastest round.
fn fastest<T>(mut call: impl FnMut() -> T) -> f64 {
    let mut round = || {
        let start = Instant::now();
        for _ in 0..DECISIONS {
            black_box(call());
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(DECISIONS)
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// Runs the 128-host web-search case of so many flows with the keys of `sets`, and with ECMP on the same kind
/// of port, in turns: packet-hops per second of each, the best of so many rounds. A last run looks at the tables
/// of leaf switches every 100 us: means of the occupied slots, the flows that have one, and those that share.
/// As JSON.
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
    guarded(|| compared(py, sets, flows, rounds))
}

fn compared(
    py: Python<'_>,
    sets: Vec<(String, String)>,
    flows: u32,
    rounds: u32,
) -> PyResult<String> {
    let flows = ("workload.0.flows".to_owned(), flows.to_string());
    let sets: Vec<_> = sets.into_iter().chain([flows.clone()]).collect();
    let case = case(py, &sets)?;
    let first = run(py, &case)?;
    let port = if first.general_ports { "general" } else { "auto" };
    let reference = [flows, ("run.ports".to_owned(), port.to_owned())];
    let reference = self::case(py, &reference)?;
    let (mut best, mut beside) = (first.speed, 0.0_f64);
    for _ in 0..rounds {
        beside = beside.max(run(py, &reference)?.speed);
        best = best.max(run(py, &case)?.speed);
    }
    let mut found = tables(py, case)?;
    found["packet_hops_per_second"] = json!(best);
    found["ecmp_packet_hops_per_second"] = json!(beside);
    found["share_of_ecmp"] = json!(best / beside);
    found["ports"] = json!(if first.general_ports { "general" } else { "one-event" });
    found["events_per_hop"] = json!(first.events_per_hop);
    Ok(found.to_string())
}

fn case(py: Python<'_>, sets: &[(String, String)]) -> PyResult<Case> {
    let (file, base) = ("web-search-128", Path::new("."));
    let source = Source { text: WEB_SEARCH, file, base, sets, options: &[] };
    let mut cases = expand(&source).map_err(|error| scenario_error(py, &error))?;
    Ok(cases.remove(0))
}

struct Ran {
    speed: f64,
    events_per_hop: f64,
    general_ports: bool,
}

fn run(py: Python<'_>, case: &Case) -> PyResult<Ran> {
    let (output, seconds, general_ports) = timed(py, case)?;
    let hops = output.counters.packet_hops as f64;
    let events_per_hop = output.counters.events as f64 / hops;
    Ok(Ran { speed: hops / seconds, events_per_hop, general_ports })
}

/// The run's output, its seconds, and whether switches had general ports.
fn timed(py: Python<'_>, case: &Case) -> PyResult<(Output, f64, bool)> {
    let simulation =
        Simulation::new(&case.spec).map_err(|error| setup_error(py, &error, case.file()))?;
    let general_ports = simulation.has_general_ports();
    let start = Instant::now();
    let output = py.detach(|| simulation.run(&Progress::default()));
    let seconds = start.elapsed().as_secs_f64();
    let output = output.map_err(|error| run_error(py, error, case.file()))?;
    Ok((output, seconds, general_ports))
}

/// What a state probe at the leaves saw.
fn tables(py: Python<'_>, mut case: Case) -> PyResult<Value> {
    case.spec.probes = vec![ProbeSpec {
        kind: ProbeKind::State,
        ports: "leaf*-spine*".to_owned(),
        flows: Vec::new(),
        every: Span::from_micros(100),
        name: "state".to_owned(),
    }];
    let (output, ..) = timed(py, &case)?;
    let state = &output.probes[0];
    let mean = |column| {
        let values = column_of(state, column);
        values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    let (flows, sharing) = (mean("flows"), mean("sharing"));
    Ok(json!({
        "leaf_bytes": column_of(state, "bytes").into_iter().fold(0.0, f64::max),
        "slots": column_of(state, "slots").into_iter().fold(0.0, f64::max),
        "occupied_mean": mean("occupied"),
        "flows_mean": flows,
        "sharing_mean": sharing,
    }))
}

fn column_of(series: &Series, name: &str) -> Vec<f64> {
    let found = series.columns.iter().find(|(column, _)| *column == name);
    match found.map(|(_, column)| column) {
        Some(Column::U64(values)) => values.iter().map(|v| *v as f64).collect(),
        Some(Column::U32(values) | Column::Index(values)) => {
            values.iter().map(|v| f64::from(*v)).collect()
        }
        Some(Column::F64(values)) => values.clone(),
        None => Vec::new(),
    }
}
