//! What programs leave behind.

use crate::simulate::array;
use leafspine_sim::ProgramRow;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

/// What is not known: null in tables.
const NOT: u64 = u64::MAX;

/// What a program wrote to its standard output and error.
type Written<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// A column of whole numbers.
type Whole<'a> = (&'a str, &'a dyn Fn(&ProgramRow) -> u64);

/// A column each, and what each program wrote.
pub(crate) fn columns<'py>(
    py: Python<'py>,
    rows: &[ProgramRow],
) -> PyResult<(Bound<'py, PyDict>, Vec<Written<'py>>)> {
    let dict = PyDict::new(py);
    let number = |value: Option<i32>| value.map_or(NOT, |value| value as u64);
    let whole: [Whole<'_>; 6] = [
        ("workload", &|row| u64::from(row.workload)),
        ("host", &|row| u64::from(row.host)),
        ("start_ps", &|row| row.start.0),
        ("end_ps", &|row| row.end.map_or(NOT, |end| end.0)),
        ("exit_code", &|row| number(row.exit_code())),
        ("signal", &|row| number(row.signal())),
    ];
    for (name, value) in whole {
        dict.set_item(name, array(py, rows.iter().map(value).collect::<Vec<u64>>()))?;
    }
    let cut: Vec<bool> = rows.iter().map(|row| row.cut).collect();
    dict.set_item("cut", PyList::new(py, cut)?)?;
    let commands = rows.iter().map(|row| PyList::new(py, &row.command));
    dict.set_item("command", PyList::new(py, commands.collect::<PyResult<Vec<_>>>()?)?)?;
    let written =
        rows.iter().map(|row| (PyBytes::new(py, &row.stdout), PyBytes::new(py, &row.stderr)));
    Ok((dict, written.collect()))
}
