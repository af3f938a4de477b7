//! Scenario files to cases.

use crate::errors::scenario_error;
use crate::guard::guarded;
use leafspine_scenario::{Case, Class, PointValue, Source};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// All runs that a scenario describes, a dict each: variant, point, seed, toml, classes; and name
/// and title, which are the file's.
///
/// The first run of each variant is set up as for simulation, so that what only the graph can tell
/// is refused with its line before anything runs.
///
/// # Errors
/// `ScenarioError`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are made for the call")]
pub(crate) fn expand<'py>(
    py: Python<'py>,
    text: &str,
    file_name: &str,
    base_dir: &str,
    sets: Vec<(String, String)>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let source = Source { text, file: file_name, base: base_dir.as_ref(), sets: &sets };
    guarded(|| {
        let cases = py.detach(|| {
            let cases = leafspine_scenario::expand(&source)?;
            cases
                .chunk_by(|one, next| one.variant == next.variant)
                .try_for_each(|v| v[0].check())?;
            Ok(cases)
        });
        let cases: Vec<Case> = cases.map_err(|error| scenario_error(py, &error))?;
        cases.iter().map(|case| dict(py, case)).collect()
    })
}

fn dict<'py>(py: Python<'py>, case: &Case) -> PyResult<Bound<'py, PyDict>> {
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
