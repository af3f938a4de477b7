//! Columns of the CSV files that a workload reads.

use super::WorkloadError;
use csv::{ByteRecord, ErrorKind};
use std::borrow::Cow;
use std::path::Path;

/// Where each of `known` stands in the header. The first `required` of them must be there.
pub(super) fn locate<const N: usize>(
    header: &ByteRecord,
    known: [&str; N],
    required: usize,
    file: &Path,
) -> Result<[Option<usize>; N], WorkloadError> {
    let refuse = |key: &str, found: &str| {
        let needed = known[..required].join(", ");
        let more = known[required..].join(", ");
        let allowed = match more.as_str() {
            "" => format!("the columns {needed}"),
            _ => format!("the columns {needed} and optionally {more}"),
        };
        Err(WorkloadError::at(key, found, allowed).in_file(file, 1))
    };
    let mut places = [None; N];
    for at in 0..header.len() {
        let name = field(header, at);
        match known.iter().position(|column| *column == name) {
            None => return refuse(&name, "an unknown column"),
            Some(column) if places[column].is_some() => return refuse(&name, "the column twice"),
            Some(column) => places[column] = Some(at),
        }
    }
    match (0..required).find(|column| places[*column].is_none()) {
        Some(missing) => refuse(known[missing], "no such column"),
        None => Ok(places),
    }
}

/// A field as text, for parsing and for messages.
#[inline]
pub(super) fn field(row: &ByteRecord, at: usize) -> Cow<'_, str> {
    String::from_utf8_lossy(row.get(at).unwrap_or_default())
}

/// A row that could not be read.
pub(super) fn row_error(error: &csv::Error, file: &Path) -> WorkloadError {
    let line = error.position().map_or(1, csv::Position::line);
    let (found, allowed) = match error.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            (format!("{len} fields"), format!("{expected_len} fields, as in the header"))
        }
        _ => (error.to_string(), "a readable CSV file".to_owned()),
    };
    WorkloadError::at("row", found, allowed).in_file(file, line)
}
