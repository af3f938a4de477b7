//! Errors as Python's exceptions.

use leafspine_sim::SetupError;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    leafspine._engine,
    ScenarioError,
    PyValueError,
    "Bad input. str() is the one-line message; file, line, key, found, allowed and nearest are its parts."
);
pyo3::create_exception!(
    leafspine._engine,
    Cancelled,
    PyException,
    "The run was cancelled through its Progress."
);

/// A scenario's error with its parts as attributes.
pub(crate) fn scenario_error(py: Python<'_>, error: &leafspine_scenario::ScenarioError) -> PyErr {
    let exception = ScenarioError::new_err(error.to_string());
    let value = exception.value(py);
    let set = || -> PyResult<()> {
        value.setattr("file", &error.file)?;
        value.setattr("line", error.line)?;
        value.setattr("key", &error.key)?;
        value.setattr("found", &error.found)?;
        value.setattr("allowed", &error.allowed)?;
        value.setattr("nearest", error.nearest.as_deref())
    };
    match set() {
        Ok(()) => exception,
        Err(other) => other,
    }
}

/// The engine's refusal of the scenario called `file`.
pub(crate) fn setup_error(py: Python<'_>, error: &SetupError, file: &str) -> PyErr {
    scenario_error(py, &leafspine_scenario::refusal(error, file))
}

/// A run that was told to stop.
pub(crate) fn cancelled() -> PyErr {
    Cancelled::new_err("cancelled")
}
