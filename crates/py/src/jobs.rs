//! What jobs leave behind, as columns.

use crate::simulate::array;
use leafspine_sim::{CollectiveRow, OperationColumns, RankRow};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// A column of whole numbers: its name, and what of a row it has.
type Whole<R> = (&'static str, fn(&R) -> u64);

/// What is not known: null in tables.
const NOT: u64 = u64::MAX;

/// Adds to the flows' columns which message of which job a flow is; 2^32 - 1 of a flow that is none.
pub(crate) fn flow_columns(
    py: Python<'_>,
    dict: &Bound<'_, PyDict>,
    columns: &OperationColumns,
) -> PyResult<()> {
    dict.set_item("job", array(py, columns.job.clone()))?;
    dict.set_item("iteration", array(py, columns.iteration.clone()))?;
    dict.set_item("phase", array(py, columns.phase.clone()))?;
    dict.set_item("channel", array(py, columns.channel.clone()))
}

/// A row a collective; 2^64 - 1 and NaN stand for what a collective that the run's end has cut off does
/// not have.
pub(crate) fn collectives<'py>(
    py: Python<'py>,
    rows: &[CollectiveRow],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let whole: [Whole<CollectiveRow>; 10] = [
        ("job", |row| u64::from(row.job)),
        ("workload", |row| u64::from(row.workload)),
        ("iteration", |row| u64::from(row.iteration)),
        ("phase", |row| u64::from(row.phase)),
        ("ranks", |row| u64::from(row.ranks)),
        ("bytes", |row| row.bytes),
        ("start_ps", |row| row.start.0),
        ("completion_ps", |row| row.end.map_or(NOT, |end| end.since(row.start).0)),
        ("spread_ps", |row| row.rank_ends.map_or(NOT, |(first, last)| last.since(first).0)),
        ("slowest_host", |row| row.end.map_or(NOT, |_| u64::from(row.slowest))),
    ];
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    dict.set_item("collective", PyList::new(py, names)?)?;
    for (name, value) in whole {
        dict.set_item(name, array(py, rows.iter().map(value).collect::<Vec<u64>>()))?;
    }
    let bandwidths = |factor: fn(&CollectiveRow) -> f64| {
        rows.iter().map(|row| bandwidth(row) * factor(row)).collect::<Vec<f64>>()
    };
    dict.set_item("algorithm_bandwidth_bps", array(py, bandwidths(|_| 1.0)))?;
    dict.set_item("bus_bandwidth_bps", array(py, bandwidths(|row| row.bus_factor)))?;
    Ok(dict)
}

/// Bytes over time; NaN of what has none.
fn bandwidth(row: &CollectiveRow) -> f64 {
    match row.end.map(|end| end.since(row.start).0) {
        Some(took) if took > 0 && row.bytes > 0 => row.bytes as f64 * 8e12 / took as f64,
        _ => f64::NAN,
    }
}

/// A row a rank; 2^64 - 1 stands for the end of one whose job the run's end has cut off. Idle is what it
/// does not compute from its job's start to its job's end, or the run's.
pub(crate) fn ranks<'py>(py: Python<'py>, rows: &[RankRow]) -> PyResult<Bound<'py, PyDict>> {
    let idle = |row: &RankRow| {
        let whole = row.until.since(row.start).0;
        if whole == 0 { f64::NAN } else { 1.0 - row.compute.0.min(whole) as f64 / whole as f64 }
    };
    let dict = PyDict::new(py);
    let whole: [Whole<RankRow>; 6] = [
        ("job", |row| u64::from(row.job)),
        ("rank", |row| u64::from(row.rank)),
        ("host", |row| u64::from(row.host)),
        ("start_ps", |row| row.start.0),
        ("end_ps", |row| row.end.map_or(NOT, |end| end.0)),
        ("compute_ps", |row| row.compute.0),
    ];
    for (name, value) in whole {
        dict.set_item(name, array(py, rows.iter().map(value).collect::<Vec<u64>>()))?;
    }
    dict.set_item("idle_share", array(py, rows.iter().map(idle).collect::<Vec<f64>>()))?;
    Ok(dict)
}
