//! Tables of flow sizes: points of a cumulative distribution.

use super::WorkloadError;
use super::rows::Rows;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

const COLUMNS: [&str; 2] = ["bytes", "cumulative_probability"];
const RISING: &str = "rising from row to row";

/// Reads a size table from CSV with the columns `bytes` and `cumulative_probability`, in any order.
///
/// Both rise from row to row (equal neighbours are allowed: equal sizes make an atom, equal
/// probabilities a gap), probabilities are within `0..=1` and the last is 1. Between points the
/// distribution is linear; the first point's probability is an atom at its size. `file` is for
/// messages.
///
/// # Errors
/// With file, line and column, for whatever is not so.
pub fn read_points(input: impl Read, file: &Path) -> Result<Arc<[(f64, f64)]>, WorkloadError> {
    let mut rows = Rows::new(input, file, COLUMNS, 2)?;
    let mut points = Vec::new();
    while rows.next()? {
        let number = |column: usize| {
            let found = rows.field(column).unwrap_or_default();
            found.parse::<f64>().map_err(|_| {
                rows.here(WorkloadError::at(COLUMNS[column], format!("\"{found}\""), "a number"))
            })
        };
        let point = (number(0)?, number(1)?);
        follows(points.last().copied(), point).map_err(|error| rows.here(error))?;
        points.push(point);
    }
    complete(&points).map_err(|error| rows.here(error))?;
    Ok(points.into())
}

/// Whether points are a distribution; the key is `sizes`.
pub(super) fn check(points: &[(f64, f64)]) -> Result<(), WorkloadError> {
    let mut before = None;
    for point in points {
        follows(before, *point).map_err(in_scenario)?;
        before = Some(*point);
    }
    complete(points).map_err(in_scenario)
}

/// A table in the scenario has a key where one in a file has a column.
fn in_scenario(error: WorkloadError) -> WorkloadError {
    WorkloadError { found: format!("{} {}", error.key, error.found), key: "sizes".into(), ..error }
}

/// Whether `point` may come next.
fn follows(before: Option<(f64, f64)>, point: (f64, f64)) -> Result<(), WorkloadError> {
    let (bytes, probability) = point;
    if !(bytes.is_finite() && bytes >= 0.0) {
        return Err(WorkloadError::at(COLUMNS[0], bytes.to_string(), "a size, at least 0"));
    }
    if !(0.0..=1.0).contains(&probability) {
        return Err(WorkloadError::at(COLUMNS[1], probability.to_string(), "from 0 to 1"));
    }
    let (last_bytes, last_probability) = before.unwrap_or((0.0, 0.0));
    if bytes < last_bytes {
        let found = format!("{bytes} after {last_bytes}");
        return Err(WorkloadError::at(COLUMNS[0], found, RISING));
    }
    if probability < last_probability {
        let found = format!("{probability} after {last_probability}");
        return Err(WorkloadError::at(COLUMNS[1], found, RISING));
    }
    Ok(())
}

/// Whether the last point ends a distribution.
fn complete(points: &[(f64, f64)]) -> Result<(), WorkloadError> {
    let Some((bytes, probability)) = points.last() else {
        return Err(WorkloadError::at(COLUMNS[0], "no rows", "at least one"));
    };
    if *probability < 1.0 {
        let found = format!("{probability} in the last row");
        return Err(WorkloadError::at(COLUMNS[1], found, "1 in the last row"));
    }
    if *bytes < 1.0 {
        let found = format!("{bytes} in the last row");
        return Err(WorkloadError::at(COLUMNS[0], found, "at least 1 in the last row"));
    }
    Ok(())
}
