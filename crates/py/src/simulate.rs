//! Running a scenario, and handing over what it leaves behind as columns.

use crate::errors::{build_error, capture_error, run_error, scenario_error};
use crate::guard::{break_on_purpose, guarded};
use crate::jobs;
use crate::programs;
use crate::scenario::{RESOLVED, resolved};
use leafspine_scenario::diagnosis;
use leafspine_sim::spec::{Flap, LinkChange};
use leafspine_sim::{Column, Factories, FlowTable, PortRow, RecoveryRow, Series, Simulation};
use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Ports to be captured, and the folder for that.
type Captures = (Vec<String>, PathBuf);
/// A column of port statistics.
type PortColumn<T> = (&'static str, fn(&PortRow) -> T);
/// A probe's name, kind and columns.
type ProbeColumns<'py> = (String, &'static str, Bound<'py, PyDict>);

/// How far a run is. Read it from one thread while another simulates.
#[pyclass(module = "leafspine._engine", frozen)]
pub(crate) struct Progress(pub(crate) Arc<leafspine_sim::Progress>);

#[pymethods]
impl Progress {
    #[new]
    fn new() -> Progress {
        Progress(Arc::default())
    }

    /// Flows finished, flows in all (if known, or to be expected), simulated time in ps, packet-hops.
    fn read(&self) -> (u64, Option<u64>, u64, u64) {
        let (finished, total, time, hops) = self.0.read();
        (finished, total, time.0, hops)
    }

    /// The part of the fabric that is being made, and how many percent of it are; `None` if none is.
    fn building(&self) -> Option<(&'static str, u32)> {
        self.0.building()
    }

    /// Asks the run to stop soon.
    fn cancel(&self) {
        self.0.cancel();
    }
}

/// What a finished run measured.
#[pyclass(module = "leafspine._engine", frozen)]
pub(crate) struct Output {
    output: leafspine_sim::Output,
    wall_seconds: f64,
    warnings: Vec<String>,
    /// Whether switches ask for pauses: there are measures of these then.
    flow_control: bool,
    /// What the scenario changes of links, as the summary has it.
    link_changes: Vec<serde_json::Value>,
}

/// Runs one resolved scenario to its end, with its invariants checked if `check`, and ended
/// as soon as it holds more than `memory` bytes. Up to `threads` threads work on it where that is worth
/// it; the output is the same. What leaves by ports is captured in the folder of `captures`, by its patterns.
///
/// # Errors
/// `ScenarioError` for what only the graph or a trace can tell; `Cancelled`; `Stuck` for a run that
/// gets nowhere; `OutOfMemory` for one that holds too much;
/// `EngineError` for a fault of the engine or of a scheme.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "arguments from Python have names")]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are made for the call")]
#[pyo3(signature = (toml, base_dir, progress = None, check = false, memory = None, threads = 1, captures = None))]
pub(crate) fn simulate(
    py: Python<'_>,
    toml: &str,
    base_dir: &str,
    progress: Option<&Bound<'_, Progress>>,
    check: bool,
    memory: Option<u64>,
    threads: usize,
    captures: Option<Captures>,
) -> PyResult<Output> {
    let progress = progress.map_or_else(Arc::default, |p| Arc::clone(&p.get().0));
    guarded(|| run(py, toml, base_dir, &progress, (check, memory, threads), captures.as_ref()))
}

/// Whether a resolved scenario's fabric has all that `patterns` name for a capture.
///
/// # Errors
/// `ScenarioError` for the first that it has not.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are made for the call")]
pub(crate) fn check_captures(
    py: Python<'_>,
    toml: &str,
    base_dir: &str,
    patterns: Vec<String>,
) -> PyResult<()> {
    guarded(|| {
        let case = resolved(toml, base_dir).map_err(|error| scenario_error(py, &error))?;
        py.detach(|| leafspine_sim::check_captures(&case.spec.topology, &patterns))
            .map_err(|error| capture_error(py, error.into()))
    })
}

fn run(
    py: Python<'_>,
    toml: &str,
    base_dir: &str,
    progress: &leafspine_sim::Progress,
    (check, memory, threads): (bool, Option<u64>, usize),
    captures: Option<&Captures>,
) -> PyResult<Output> {
    let file = RESOLVED;
    let mut case =
        py.detach(|| resolved(toml, base_dir)).map_err(|error| scenario_error(py, &error))?;
    case.spec.run.threads = threads.max(1);
    let simulation = py
        .detach(|| Simulation::watched(&case.spec, &Factories::default(), progress))
        .map_err(|error| build_error(py, error, file))?;
    let simulation = simulation.within(memory.unwrap_or(u64::MAX));
    let simulation = if check { simulation.checked() } else { simulation };
    let simulation = match captures {
        Some((patterns, folder)) => {
            simulation.capturing(patterns, folder).map_err(|error| capture_error(py, error))?
        }
        None => simulation,
    };
    let changes = &case.spec.changes;
    let link_changes =
        changes.iter().map(|change| link_change(change, simulation.restores(change))).collect();
    let start = Instant::now();
    let output = py.detach(|| {
        break_on_purpose();
        simulation.run(progress)
    });
    let wall_seconds = start.elapsed().as_secs_f64();
    let output = output.map_err(|error| run_error(py, error, file))?;
    let warnings = diagnosis::warnings(&case, &output);
    let flow_control = case.spec.switch.pfc.is_some();
    Ok(Output { output, wall_seconds, warnings, flow_control, link_changes })
}

pub(crate) fn array<T: Element>(py: Python<'_>, values: Vec<T>) -> Py<PyAny> {
    PyArray1::from_vec(py, values).into_any().unbind()
}

#[pymethods]
impl Output {
    /// A numpy array a column, a row a flow in the order of their starts. An unfinished flow has
    /// 2^64 - 1 as its `fct_ps`.
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let t: &FlowTable = &self.output.flows;
        let wide = |v: &[u16]| array(py, v.iter().map(|x| u32::from(*x)).collect::<Vec<u32>>());
        dict.set_item("flow", array(py, (0..t.len() as u64).collect::<Vec<u64>>()))?;
        dict.set_item("src", wide(&t.src))?;
        dict.set_item("dst", wide(&t.dst))?;
        for (name, column) in [
            ("bytes", &t.bytes),
            ("start_ps", &t.start_ps),
            ("fct_ps", &t.fct_ps),
            ("ideal_fct_ps", &t.ideal_fct_ps),
        ] {
            dict.set_item(name, array(py, column.clone()))?;
        }
        for (name, column) in [
            ("retransmits", &t.retransmits),
            ("timeouts", &t.timeouts),
            ("reordered", &t.reordered),
            ("dup_acks", &t.dup_acks),
            ("spurious_retransmits", &t.spurious_retransmits),
            ("undos", &t.undos),
            ("tail_probes", &t.tail_probes),
            ("path_changes", &t.path_changes),
            ("packets", &t.packets),
        ] {
            dict.set_item(name, array(py, column.clone()))?;
        }
        dict.set_item("mean_window", array(py, t.mean_window.clone()))?;
        dict.set_item("workload", wide(&t.workload))?;
        if let Some(jobs) = &self.output.jobs {
            jobs::flow_columns(py, &dict, &jobs.columns)?;
        }
        Ok(dict)
    }

    /// `(name, columns)` of the tables that jobs leave behind: collectives and ranks. None of a run
    /// without jobs.
    fn jobs<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyDict>)>> {
        let Some(jobs) = &self.output.jobs else { return Ok(Vec::new()) };
        Ok(vec![
            ("collectives", jobs::collectives(py, &jobs.collectives)?),
            ("ranks", jobs::ranks(py, &jobs.ranks)?),
        ])
    }

    /// A column each of the programs that hosts ran, and of each what it wrote to its standard
    /// output and error. 2^64 - 1 stands for what a program that the run's end has cut off does not
    /// have.
    #[expect(clippy::type_complexity, reason = "columns, and pairs of bytes")]
    fn programs<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyDict>, Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>)> {
        programs::columns(py, &self.output.programs)
    }

    /// A column each of the ports' statistics over the measurement window; `name` is a list.
    fn ports<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let rows = &self.output.ports;
        let names: Vec<&str> = rows.iter().map(|p| p.name.as_str()).collect();
        dict.set_item("name", PyList::new(py, names)?)?;
        let whole: [PortColumn<u64>; 10] = [
            ("rate_bps", |p| p.rate_bps),
            ("packets", |p| p.packets),
            ("bytes", |p| p.bytes),
            ("marks", |p| p.marks),
            ("drops", |p| p.drops),
            ("lost", |p| p.lost),
            ("trims", |p| p.trims),
            ("queue_max_packets", |p| u64::from(p.queue_max_packets)),
            ("pause_ps", |p| p.pause_ps),
            ("pauses", |p| p.pauses),
        ];
        for (name, value) in whole {
            dict.set_item(name, array(py, rows.iter().map(value).collect::<Vec<u64>>()))?;
        }
        for (index, priority) in self.output.priorities.iter().enumerate() {
            let own = |p: &PortRow| p.own_pauses[index];
            let paused = rows.iter().map(|p| own(p).0).collect::<Vec<u64>>();
            dict.set_item(format!("pause_ps_{priority}"), array(py, paused))?;
            let pauses = rows.iter().map(|p| own(p).1).collect::<Vec<u64>>();
            dict.set_item(format!("pauses_{priority}"), array(py, pauses))?;
        }
        let real: [PortColumn<f64>; 6] = [
            ("utilisation", |p| p.utilisation),
            ("queue_mean_packets", |p| p.queue_mean_packets),
            ("queue_mean_bytes", |p| p.queue_mean_bytes),
            ("queue_p99_packets", |p| p.queue_p99_packets),
            ("delay_mean_ps", |p| p.delay_mean_ps),
            ("delay_p99_ps", |p| p.delay_p99_ps),
        ];
        for (name, value) in real {
            dict.set_item(name, array(py, rows.iter().map(value).collect::<Vec<f64>>()))?;
        }
        let uplinks = rows.iter().map(|port| port.uplink).collect::<Vec<bool>>();
        dict.set_item("uplink", array(py, uplinks))?;
        let tiers = rows.iter().map(|port| port.tier).collect::<Vec<u16>>();
        dict.set_item("tier", array(py, tiers))?;
        Ok(dict)
    }

    /// `(name, kind, columns)` of each probe. A column of ports is a list of names.
    fn probes<'py>(&self, py: Python<'py>) -> PyResult<Vec<ProbeColumns<'py>>> {
        self.output.probes.iter().map(|s| Ok((s.name.clone(), s.kind, series(py, s)?))).collect()
    }

    /// Counts, the trace hash and the window, as JSON.
    fn summary(&self) -> String {
        let (o, c) = (&self.output, &self.output.counters);
        let mut found = json!({
            "trace_hash": format!("{:016x}", o.trace_hash),
            "packet_hops": c.packet_hops,
            "events": c.events,
            "end_ps": o.end.0,
            "window_start_ps": o.window.0.0,
            "window_end_ps": o.window.1.0,
            "flows": o.flows.len(),
            "flows_finished": o.flows.finished(),
            "flows_not_started": o.not_started,
            "warmup_ps": o.warmup.end.0,
            "flows_in_warmup": o.warmup.flows,
            "dropped_in_warmup": o.warmup.dropped,
            "lost_in_warmup": o.warmup.lost,
            "marks_in_warmup": o.warmup.marks,
            "data_packets_in_warmup": o.warmup.data_packets,
            "packets_sent": c.sent,
            "packets_injected": c.injected,
            "delivered": c.delivered,
            "dropped": c.dropped.iter().sum::<u64>(),
            "dropped_buffer": c.dropped[0],
            "dropped_manager": c.dropped[1],
            "dropped_link_down": c.dropped[2],
            "dropped_no_route": c.dropped[3],
            "lost": c.lost,
            "consumed": c.consumed,
            "in_flight": c.in_flight,
            "data_packets": c.data_packets,
            "reordered_packets": c.reordered_packets,
            "marks": c.marks,
            "hold_overflows": c.hold_overflows,
            "hold_expiries": c.hold_expiries,
            "pause_frames": c.pause_frames,
            "lossless_drops": c.lossless_drops,
            "pause_storms": c.storms,
            "trimmed": c.trimmed,
            "returned": c.returned,
            "credits": c.credits,
            "peak_packets": c.peak_packets,
            "peak_flows": c.peak_flows,
            "bytes_delivered": c.bytes_delivered,
            "bytes_delivered_in_window": o.delivered_in_window,
            "conserved": c.conserved(),
            "wall_seconds": self.wall_seconds,
            "warnings": self.warnings,
        });
        // The macro takes no more of them at once.
        found["kept_packets"] = c.kept_packets.into();
        if self.flow_control {
            found["flow_control"] = true.into();
            found["storm_drops"] = c.storm_drops.into();
        }
        if !self.link_changes.is_empty() {
            found["link_changes"] = self.link_changes.as_slice().into();
        }
        if let Some(jobs) = &o.jobs {
            let messages = jobs.columns.job.iter().filter(|job| **job != u32::MAX);
            found["messages"] = messages.count().into();
        }
        if let Some(rows) = &o.recovery {
            found["faults"] = rows.iter().map(fault).collect();
        }
        found.to_string()
    }
}

/// What the scenario changes of links; null where it leaves a property as it is.
fn link_change(change: &LinkChange, restores: bool) -> serde_json::Value {
    let LinkChange { link, at, rate, delay, loss, up, flap } = change;
    let flap = flap.map(|Flap { every, down_for, times }| {
        json!({ "every_ps": every.0, "down_for_ps": down_for.0, "times": times })
    });
    json!({
        "at_ps": at.0,
        "link": link,
        "rate_bps": rate.map(|rate| rate.0),
        "delay_ps": delay.map(|delay| delay.0),
        "loss": loss,
        "up": up,
        "flap": flap,
        "restores": restores,
    })
}

/// What became of goodput after a fault.
fn fault(row: &RecoveryRow) -> serde_json::Value {
    json!({
        "at_ps": row.at.0,
        "links": row.links,
        "before_bps": row.before_bps,
        "lowest_share": row.lowest,
        "recovered_ps": row.after.map(|after| after.0),
        "missing_bytes": row.missing,
    })
}

fn series<'py>(py: Python<'py>, series: &Series) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, column) in &series.columns {
        match column {
            Column::U64(values) => dict.set_item(name, array(py, values.clone()))?,
            Column::U32(values) => dict.set_item(name, array(py, values.clone()))?,
            Column::F64(values) => dict.set_item(name, array(py, values.clone()))?,
            Column::Index(values) => {
                let names = values.iter().map(|at| series.ports[*at as usize].as_str());
                dict.set_item(name, PyList::new(py, names.collect::<Vec<_>>())?)?;
            }
        }
    }
    Ok(dict)
}
