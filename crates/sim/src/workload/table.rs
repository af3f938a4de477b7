//! Tables of flow sizes: points of a cumulative distribution.

use super::WorkloadError;
use super::rows::{HEAD, check_text, not_a_header};
use leafspine_fabric::nearest;
use leafspine_schemes::units::parse_bytes;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// The names that points have in messages.
const COLUMNS: [&str; 2] = ["bytes", "cumulative_probability"];
const RISING: &str = "rising from row to row";
/// What a column of sizes may be called, and how many bytes its numbers count.
const SIZES: &[(&str, f64)] = &[
    ("bytes", 1.0),
    ("size", 1.0),
    ("size_bytes", 1.0),
    ("kb", 1e3),
    ("kilobytes", 1e3),
    ("mb", 1e6),
    ("megabytes", 1e6),
];
/// What a column of probabilities may be called.
const PROBABILITIES: &[&str] =
    &["cumulative_probability", "probability", "cdf", "percent", "cumulative_percent"];

/// Reads a size table: a CSV file with a column of sizes (`bytes`) and one of cumulative probabilities
/// (`probability`), in any order, or rows of the two without a header, as simulators have them, parted by
/// spaces or commas. Sizes may have units (`10KB`); probabilities are percent if the last is 100.
///
/// Both rise from row to row (equal neighbours are allowed: equal sizes make an atom, equal
/// probabilities a gap), probabilities are within `0..=1` and the last is 1. Between points the
/// distribution is linear; the first point's probability is an atom at its size. `file` is for
/// messages.
///
/// # Errors
/// With file, line and column, for whatever is not so.
pub fn read_points(mut input: impl Read, file: &Path) -> Result<Arc<[(f64, f64)]>, WorkloadError> {
    let mut bytes = Vec::new();
    let broken = |error: std::io::Error| {
        WorkloadError::at("row", error.to_string(), "a readable CSV file").in_file(file, 1)
    };
    input.read_to_end(&mut bytes).map_err(broken)?;
    let head = &bytes[..bytes.len().min(HEAD as usize)];
    check_text(head).map_err(|error| error.in_file(file, 1))?;
    let text = String::from_utf8_lossy(&bytes);
    let rows = rows(text.trim_start_matches('\u{feff}'));
    let last = rows.last().map_or(1, |row| row.0);
    let here = |line: u64| move |error: WorkloadError| error.in_file(file, line);
    let (columns, rows) = columns(&rows).map_err(here(rows.first().map_or(1, |row| row.0)))?;
    let mut read = Vec::with_capacity(rows.len());
    for (line, fields) in rows {
        read.push((*line, columns.point(fields).map_err(here(*line))?));
    }
    // A distribution that ends at 100 is one of percent.
    let percent = read.last().is_some_and(|(_, (_, probability))| *probability == 100.0);
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (line, (bytes, probability)) in read {
        let probability = if percent { probability / 100.0 } else { probability };
        let point = (bytes, probability);
        follows(points.last().copied(), point).map_err(here(line))?;
        points.push(point);
    }
    complete(&points).map_err(here(last))?;
    Ok(points.into())
}

/// A row's line, from 1, and its fields.
type Row<'a> = (u64, Vec<&'a str>);

/// The rows that are not blank. Where there are no commas, spaces part fields.
fn rows(text: &str) -> Vec<Row<'_>> {
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| {
            let fields: Vec<&str> = match line.contains(',') {
                true => line.split(',').map(str::trim).collect(),
                false => line.split_whitespace().collect(),
            };
            (number, fields)
        })
        .collect()
}

/// Where a table has its points.
struct Columns {
    size: usize,
    /// Bytes that a number of that column counts.
    unit: f64,
    probability: usize,
    fields: usize,
    header: bool,
}

/// The columns, and the rows that are left.
fn columns<'a, 'b>(rows: &'b [Row<'a>]) -> Result<(Columns, &'b [Row<'a>]), WorkloadError> {
    let pairs = Columns { size: 0, unit: 1.0, probability: 1, fields: 2, header: false };
    let Some(((_, header), rest)) = rows.split_first() else {
        return not_a_header(&[]).map_or(Ok((pairs, &[])), Err);
    };
    if header.first().is_some_and(|field| size(field, 1.0).is_some()) {
        return Ok((pairs, rows));
    }
    let allowed =
        "the columns bytes, cumulative_probability (or kb, mb; probability, percent, cdf)";
    if let Some(error) = not_a_header(header) {
        return Err(error);
    }
    let names = || SIZES.iter().map(|(name, _)| *name).chain(PROBABILITIES.iter().copied());
    let (mut found, mut unit) = ([None; 2], 1.0);
    for (at, name) in header.iter().enumerate() {
        let sizes = SIZES.iter().find(|(known, _)| known == name);
        let column = match (sizes, PROBABILITIES.contains(name)) {
            (Some((_, bytes)), _) => {
                unit = *bytes;
                0
            }
            (_, true) => 1,
            _ => {
                let error = WorkloadError::at(name, "an unknown column", allowed);
                return Err(WorkloadError {
                    nearest: nearest(name, names()).map(Into::into),
                    ..error
                });
            }
        };
        if found[column].replace(at).is_some() {
            return Err(WorkloadError::at(name, "the column twice", allowed));
        }
    }
    match found {
        [Some(size), Some(probability)] => {
            let fields = header.len();
            Ok((Columns { size, unit, probability, fields, header: true }, rest))
        }
        [None, _] => Err(WorkloadError::at(COLUMNS[0], "no such column", allowed)),
        _ => Err(WorkloadError::at(COLUMNS[1], "no such column", allowed)),
    }
}

impl Columns {
    fn point(&self, fields: &[&str]) -> Result<(f64, f64), WorkloadError> {
        if fields.len() != self.fields {
            let found = format!("{} fields", fields.len());
            let allowed = match self.header {
                true => format!("{} fields, as in the header", self.fields),
                false => "2 fields, a size and its cumulative probability".to_owned(),
            };
            return Err(WorkloadError::at("row", found, allowed));
        }
        let wrong = |column: usize, text: &str| {
            WorkloadError::at(COLUMNS[column], format!("\"{text}\""), "a number")
        };
        let (bytes, text) = (fields[self.size], fields[self.probability]);
        let size = size(bytes, self.unit).ok_or_else(|| wrong(0, bytes))?;
        let probability = text.trim_end_matches('%').trim_end().parse();
        Ok((size, probability.map_err(|_| wrong(1, text))?))
    }
}

/// A number of bytes: with its unit, or as many of the column's.
fn size(text: &str, unit: f64) -> Option<f64> {
    match text.parse::<f64>() {
        Ok(number) => Some(number * unit),
        Err(_) => parse_bytes(text).ok().map(|bytes| bytes.0 as f64),
    }
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
