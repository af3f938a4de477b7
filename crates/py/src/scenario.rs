//! Scenario files to cases.

use crate::errors::{Cancelled, scenario_error};
use crate::facts::facts;
use crate::guard::guarded;
use crate::simulate::Progress;
use leafspine_scenario::{Case, PointValue, ScenarioError, SizeClass, Source};
use leafspine_sim::{BuildError, Factories, Memory, Simulation, Work};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::Path;
use std::sync::Arc;

/// All runs that a scenario describes, a dict each: variant, point, seed, toml, classes; name
/// and title, which are the file's; memory, the bytes that it will need by what needs them, and
/// `rows`, its flows; skipped, keys that were overridden and schemes that do not have them; facts,
/// what the resolved scenario says, typed ([`facts`]).
/// `options` are the options that the overrides came by, for messages.
///
/// The first run of each variant is set up as for simulation, so that what only the graph can tell
/// is refused with its line before anything runs; but not if some run needs more than `memory` bytes.
///
/// # Errors
/// `ScenarioError`; `Cancelled`.
#[pyfunction]
#[pyo3(signature = (text, file_name, base_dir, sets, memory = None, progress = None, options = None))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are made for the call")]
#[expect(clippy::too_many_arguments, reason = "Python has no other way to give them")]
pub(crate) fn expand<'py>(
    py: Python<'py>,
    text: &str,
    file_name: &str,
    base_dir: &str,
    sets: Vec<(String, String)>,
    memory: Option<u64>,
    progress: Option<&Bound<'py, Progress>>,
    options: Option<Vec<String>>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let (base, options) = (base_dir.as_ref(), &options.unwrap_or_default());
    let source = Source { text, file: file_name, base, sets: &sets, options };
    let progress = progress.map_or_else(Arc::default, |p| Arc::clone(&p.get().0));
    guarded(|| {
        let checked = py.detach(|| checked(&source, memory.unwrap_or(u64::MAX), &progress));
        let (cases, needs) = checked.map_err(|error| match error {
            Unchecked::Refused(error) => scenario_error(py, &error),
            Unchecked::Cancelled => Cancelled::new_err("cancelled"),
        })?;
        cases.iter().zip(&needs).map(|(case, memory)| dict(py, case, memory)).collect()
    })
}

/// The seed from which sweeps over seeds count: `run.seed` of the overrides or the file, or 1.
///
/// # Errors
/// `ScenarioError` if the text is no TOML, an override is no key, or the seed no whole number.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are made for the call")]
pub(crate) fn first_seed(
    py: Python<'_>,
    text: &str,
    file_name: &str,
    sets: Vec<(String, String)>,
    options: Vec<String>,
) -> PyResult<u64> {
    let base = Path::new(".");
    let source = Source { text, file: file_name, base, sets: &sets, options: &options };
    guarded(|| leafspine_scenario::first_seed(&source).map_err(|error| scenario_error(py, &error)))
}

/// The line, from 1, of a TOML text on which the key of these parts was written, or the nearest table
/// above it; `None` if there is none.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are made for the call")]
pub(crate) fn line_of(text: &str, parts: Vec<String>) -> PyResult<Option<usize>> {
    guarded(|| Ok(leafspine_scenario::line_of(text, &parts)))
}

/// What a resolved scenario's run will do, about: `flows`, of them `messages` of jobs, `bytes`,
/// `packets`, `packet_hops`, `last_start_ps`, and whether that is all from its flows (`exact`).
///
/// # Errors
/// `ScenarioError` for what only the graph or a trace can tell.
#[pyfunction]
pub(crate) fn work<'py>(
    py: Python<'py>,
    toml: &str,
    base_dir: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let found = guarded(|| {
        py.detach(|| {
            let case = resolved(toml, base_dir)?;
            Work::of(&case.spec).map_err(|error| case.refused(&error))
        })
        .map_err(|error| scenario_error(py, &error))
    })?;
    let dict = PyDict::new(py);
    dict.set_item("flows", found.flows)?;
    dict.set_item("messages", found.messages)?;
    dict.set_item("bytes", found.bytes)?;
    dict.set_item("packets", found.packets)?;
    dict.set_item("packet_hops", found.packet_hops)?;
    dict.set_item("last_start_ps", found.last_start.0)?;
    dict.set_item("exact", found.exact)?;
    Ok(dict)
}

/// The one case of a resolved scenario, with traces in Parquet's format too.
///
/// # Errors
/// As [`leafspine_scenario::single_with`].
pub(crate) fn resolved(toml: &str, base_dir: &str) -> Result<Case, ScenarioError> {
    let converter = Some(crate::parquet::to_csv as leafspine_scenario::Converter);
    leafspine_scenario::single_with(toml, RESOLVED, base_dir.as_ref(), converter)
}

/// What errors call a resolved scenario: nothing, since nobody has written it.
pub(crate) const RESOLVED: &str = "";

/// What the control plane of a P4 switch writes, for every switch of a resolved scenario whose balancer decides as
/// a P4 program: its number and its JSON.
///
/// # Errors
/// `ScenarioError` for what only the graph can tell.
#[pyfunction]
pub(crate) fn control_planes(
    py: Python<'_>,
    toml: &str,
    base_dir: &str,
) -> PyResult<Vec<(u16, String)>> {
    guarded(|| {
        py.detach(|| {
            let case = resolved(toml, base_dir)?;
            let planes = leafspine_sim::control_planes(&case.spec);
            planes.map_err(|error| case.refused(&error))
        })
        .map(|planes| planes.iter().map(|(id, plane)| (id.0, plane.to_json())).collect())
        .map_err(|error| scenario_error(py, &error))
    })
}

/// Why there are no cases.
enum Unchecked {
    Refused(ScenarioError),
    Cancelled,
}

impl From<ScenarioError> for Unchecked {
    fn from(error: ScenarioError) -> Unchecked {
        Unchecked::Refused(error)
    }
}

/// A scenario's cases, and the memory that each needs.
fn checked(
    source: &Source<'_>,
    enough: u64,
    progress: &leafspine_sim::Progress,
) -> Result<(Vec<Case>, Vec<Memory>), Unchecked> {
    let cases = leafspine_scenario::expand_with(source, Some(crate::parquet::to_csv))?;
    let mut needs: Vec<Memory> = Vec::with_capacity(cases.len());
    for (number, case) in cases.iter().enumerate() {
        if progress.cancelled() {
            return Err(Unchecked::Cancelled);
        }
        let before = needs.last().map(|memory| (&cases[number - 1], memory));
        needs.push(case.memory(before, enough)?);
    }
    // What is too large for this machine is not even set up.
    if needs.iter().all(|memory| memory.total() <= enough) {
        for variant in cases.chunk_by(|one, next| one.variant == next.variant) {
            let case = &variant[0];
            Simulation::watched(&case.spec, &Factories::default(), progress).map_err(|error| {
                match error {
                    BuildError::Cancelled(_) => Unchecked::Cancelled,
                    BuildError::Setup(error) => case.refused(&error).into(),
                }
            })?;
        }
    }
    Ok((cases, needs))
}

fn dict<'py>(py: Python<'py>, case: &Case, memory: &Memory) -> PyResult<Bound<'py, PyDict>> {
    let point = PyDict::new(py);
    for (key, value) in &case.point {
        match value {
            PointValue::Text(text) => point.set_item(key, text)?,
            PointValue::Int(number) => point.set_item(key, number)?,
            PointValue::Float(number) => point.set_item(key, number)?,
            PointValue::Bool(flag) => point.set_item(key, flag)?,
        }
    }
    let classes: Vec<_> =
        case.classes.iter().map(|each| class(py, each)).collect::<PyResult<_>>()?;
    let dict = PyDict::new(py);
    dict.set_item("variant", &case.variant)?;
    dict.set_item("point", point)?;
    dict.set_item("seed", case.seed)?;
    dict.set_item("toml", &case.toml)?;
    dict.set_item("classes", PyList::new(py, classes)?)?;
    dict.set_item("name", &case.name)?;
    dict.set_item("title", &case.title)?;
    dict.set_item("memory", memory_dict(py, memory)?)?;
    let skipped = case.skipped.iter().map(|skipped| (&skipped.key, &skipped.scheme));
    dict.set_item("skipped", PyList::new(py, skipped.collect::<Vec<_>>())?)?;
    dict.set_item("facts", facts(py, case)?)?;
    Ok(dict)
}

fn memory_dict<'py>(py: Python<'py>, memory: &Memory) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("fabric", memory.fabric)?;
    dict.set_item("schemes", memory.schemes)?;
    dict.set_item("flows", memory.flows)?;
    dict.set_item("packets", memory.packets)?;
    dict.set_item("probes", memory.probes)?;
    dict.set_item("rows", memory.rows)?;
    Ok(dict)
}

fn class<'py>(py: Python<'py>, class: &SizeClass) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &class.name)?;
    dict.set_item("low", class.low.0)?;
    dict.set_item("high", class.high.map(|high| high.0))?;
    dict.set_item("low_inclusive", class.low_inclusive)?;
    dict.set_item("high_inclusive", true)?;
    Ok(dict)
}
