//! Errors as Python's exceptions.

use leafspine_sim::{BuildError, CaptureError, RunError, SetupError};
use pyo3::exceptions::{PyException, PyOSError, PyValueError};
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

pyo3::create_exception!(
    leafspine._engine,
    Stuck,
    PyException,
    "The run got nowhere and was stopped. str() says which flows wait, and where."
);
pyo3::create_exception!(
    leafspine._engine,
    GuestFailed,
    PyException,
    "A kernel that is a host has died, hangs, or reports that something failed. str() has its last lines."
);
pyo3::create_exception!(
    leafspine._engine,
    OutOfMemory,
    PyException,
    "The run held more memory than it may."
);
pyo3::create_exception!(
    leafspine._engine,
    EngineError,
    PyException,
    "A fault of leafspine or of a scheme from outside: a panic, or a violated invariant. str() says what and where."
);

/// A scenario's error with its parts as attributes.
pub(crate) fn scenario_error(py: Python<'_>, error: &leafspine_scenario::ScenarioError) -> PyErr {
    let exception = ScenarioError::new_err(error.to_string());
    let value = exception.value(py);
    let set = || -> PyResult<()> {
        let file = Some(&error.file).filter(|file| !file.is_empty());
        value.setattr("file", file)?;
        value.setattr("line", file.and(error.line))?;
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

/// No simulation of the scenario called `file`.
pub(crate) fn build_error(py: Python<'_>, error: BuildError, file: &str) -> PyErr {
    match error {
        BuildError::Cancelled(_) => Cancelled::new_err("cancelled"),
        BuildError::Setup(error) => setup_error(py, &error, file),
    }
}

/// A capture that cannot be made: of no port, or what the system says against a file.
pub(crate) fn capture_error(py: Python<'_>, error: CaptureError) -> PyErr {
    match error {
        CaptureError::Write { path, error } => match error.raw_os_error() {
            Some(number) => PyOSError::new_err((number, error.to_string(), path)),
            None => PyOSError::new_err(format!("{}: {error}", path.display())),
        },
        CaptureError::Port(error) => {
            let mut refused = leafspine_scenario::refusal(&SetupError::Topology(error), "--pcap");
            (refused.key, refused.line) = (String::new(), None);
            scenario_error(py, &refused)
        }
    }
}

/// A run of the scenario called `file` that has no output.
pub(crate) fn run_error(py: Python<'_>, error: RunError, file: &str) -> PyErr {
    match error {
        RunError::Cancelled => Cancelled::new_err("cancelled"),
        RunError::Workload(error) => setup_error(py, &error.into(), file),
        RunError::Stuck(stuck) => Stuck::new_err(stuck.to_string()),
        RunError::Capture(error) => capture_error(py, error),
        RunError::Memory(overrun) => OutOfMemory::new_err(overrun.to_string()),
        RunError::Setup(error) => setup_error(py, &error, file),
        RunError::Linux(error) => GuestFailed::new_err(error.to_string()),
        RunError::Fault(fault) => EngineError::new_err(fault.to_string()),
    }
}
