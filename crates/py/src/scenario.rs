//! Scenario files to cases.

use crate::errors::scenario_error;
use crate::guard::guarded;
use leafspine_scenario::{Case, Class, PointValue, Source};
use leafspine_sim::Memory;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// All runs that a scenario describes, a dict each: variant, point, seed, toml, classes; name
/// and title, which are the file's; memory, the bytes that it will need by what needs them, and
/// `rows`, its flows.
///
/// The first run of each variant is set up as for simulation, so that what only the graph can tell
/// is refused with its line before anything runs; but not if some run needs more than `memory` bytes.
///
/// # Errors
/// `ScenarioError`.
#[pyfunction]
#[pyo3(signature = (text, file_name, base_dir, sets, memory = None))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are made for the call")]
pub(crate) fn expand<'py>(
    py: Python<'py>,
    text: &str,
    file_name: &str,
    base_dir: &str,
    sets: Vec<(String, String)>,
    memory: Option<u64>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let source = Source { text, file: file_name, base: base_dir.as_ref(), sets: &sets };
    guarded(|| {
        let cases = py.detach(|| {
            let cases = leafspine_scenario::expand(&source)?;
            let enough = memory.unwrap_or(u64::MAX);
            let needs =
                cases.iter().map(|case| case.memory(enough)).collect::<Result<Vec<_>, _>>()?;
            // What is too large for this machine is not even set up.
            if needs.iter().all(|memory| memory.total() <= enough) {
                cases
                    .chunk_by(|one, next| one.variant == next.variant)
                    .try_for_each(|variant| variant[0].check())?;
            }
            Ok((cases, needs))
        });
        let (cases, needs): (Vec<Case>, Vec<Memory>) =
            cases.map_err(|error| scenario_error(py, &error))?;
        cases.iter().zip(&needs).map(|(case, memory)| dict(py, case, memory)).collect()
    })
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

fn class<'py>(py: Python<'py>, class: &Class) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &class.name)?;
    dict.set_item("low", class.low.0)?;
    dict.set_item("high", class.high.map(|high| high.0))?;
    dict.set_item("low_inclusive", class.low_inclusive())?;
    dict.set_item("high_inclusive", true)?;
    Ok(dict)
}
