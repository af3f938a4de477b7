//! The CSV files that a workload reads: one row at a time, columns by name.

use super::WorkloadError;
use csv::{ByteRecord, Reader, ReaderBuilder, Terminator, Trim};
use leafspine_fabric::nearest;
use std::borrow::Cow;
use std::io::{Chain, Cursor, Read};
use std::path::{Path, PathBuf};

/// A CSV file with some of `N` known columns; others are left aside. Empty lines are skipped; there
/// are no quotes (a stray one could make a single field of the rest of the file) and no comments.
pub(super) struct Rows<R, const N: usize> {
    reader: Reader<Framed<R>>,
    file: PathBuf,
    columns: [Option<usize>; N],
    unknown: Vec<String>,
    fields: usize,
    row: ByteRecord,
    /// Line of `row`.
    line: u64,
}

/// A file with a line feed before it and one behind. The one behind makes every row end in one: see
/// `read`. The one before keeps the reader from looking for a byte order mark, which it finds only if
/// it gets it in one piece: see `leave_out_mark`.
type Framed<R> = Chain<Chain<&'static [u8], Chain<Cursor<Vec<u8>>, R>>, &'static [u8]>;

/// What a file that is no text begins with, and what it is.
const BINARY: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "gzip"),
    (b"PAR1", "Parquet"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ\0", "xz"),
    (b"BZh", "bzip2"),
    (b"PK\x03\x04", "zip"),
];
/// Bytes of a file that are looked at to see that it is text.
pub(super) const HEAD: u64 = 512;

impl<R: Read, const N: usize> Rows<R, N> {
    /// Reads the header. `known` columns are found in it, each at most once.
    pub(super) fn new(mut input: R, file: &Path, known: [&str; N]) -> Result<Self, WorkloadError> {
        let mut head = Vec::new();
        input
            .by_ref()
            .take(HEAD)
            .read_to_end(&mut head)
            .map_err(|error| WorkloadError::at("row", error.to_string(), READABLE))
            .and_then(|_| check_text(&head))
            .map_err(|error| error.in_file(file, 1))?;
        let reader = ReaderBuilder::new()
            .quoting(false)
            .trim(Trim::All)
            .terminator(Terminator::Any(b'\n'))
            .flexible(true)
            .has_headers(false)
            .from_reader(b"\n".chain(Cursor::new(head).chain(input)).chain(b"\n".as_slice()));
        let (file, row) = (file.to_owned(), ByteRecord::new());
        let columns = [None; N];
        let unknown = Vec::new();
        let mut rows = Rows { reader, file, columns, unknown, fields: 0, row, line: 1 };
        if !rows.read()? {
            rows.row.clear();
        }
        rows.leave_out_mark();
        let header: Vec<Cow<'_, str>> = (0..rows.row.len()).map(|at| text(&rows.row, at)).collect();
        let header: Vec<&str> = header.iter().map(Cow::as_ref).collect();
        // Names that are of no use here may be any.
        let fault = match header.iter().any(|name| known.contains(name)) {
            true => None,
            false => not_a_header(&header),
        };
        let found = fault.map_or_else(|| locate(&header, known), Err);
        (rows.columns, rows.unknown) = found.map_err(|error| rows.here(error))?;
        rows.fields = rows.row.len();
        Ok(rows)
    }

    /// Some editors begin a file with a byte order mark.
    fn leave_out_mark(&mut self) {
        if let Some(first) = self.row.get(0).and_then(|name| name.strip_prefix(b"\xef\xbb\xbf")) {
            let rest = self.row.iter().skip(1);
            self.row = std::iter::once(first.trim_ascii()).chain(rest).collect();
        }
    }

    /// Goes to the next row; `false` after the last.
    pub(super) fn next(&mut self) -> Result<bool, WorkloadError> {
        if !self.read()? {
            return Ok(false);
        }
        if self.row.len() != self.fields {
            let found = format!("{} fields", self.row.len());
            let allowed = format!("{} fields, as in the header", self.fields);
            return Err(self.here(WorkloadError::at("row", found, allowed)));
        }
        Ok(true)
    }

    /// The row's field in one of the known columns, `None` if the file has no such column.
    #[inline]
    pub(super) fn field(&self, column: usize) -> Option<Cow<'_, str>> {
        Some(text(&self.row, self.columns[column]?))
    }

    /// Whether the file has this one of the known columns.
    pub(super) fn has(&self, column: usize) -> bool {
        self.columns[column].is_some()
    }

    /// Columns that are not known.
    pub(super) fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// The error, found in the current row; behind the last row, in that.
    pub(super) fn here(&self, error: WorkloadError) -> WorkloadError {
        error.in_file(&self.file, self.line)
    }

    /// Reads a row that is not blank.
    fn read(&mut self) -> Result<bool, WorkloadError> {
        loop {
            let more = self.reader.read_byte_record(&mut self.row).map_err(|error| {
                self.here(WorkloadError::at("row", error.to_string(), READABLE))
            })?;
            // A carriage return alone is a blank line too.
            let blank = self.row.len() == 1 && self.row[0].is_empty();
            if more && !blank {
                // A record's own position is that of empty lines before it, but the reader's is
                // just behind the row, and counts the line feed before the file.
                self.line = self.reader.position().line() - 2;
            }
            if !more || !blank {
                return Ok(more);
            }
        }
    }
}

const READABLE: &str = "a readable CSV file";

/// Refuses what begins as no text does: to say so is more than to show some of it.
pub(super) fn check_text(head: &[u8]) -> Result<(), WorkloadError> {
    let refuse = |found: String, allowed| Err(WorkloadError::at("", found, allowed));
    if let Some((_, name)) = BINARY.iter().find(|(magic, _)| head.starts_with(magic)) {
        return refuse(format!("a {name} file"), "a CSV file: decompress it first");
    }
    let utf16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    let plain = |byte: &u8| *byte >= b' ' || byte.is_ascii_whitespace() || *byte == b'\x0b';
    match head.iter().position(|byte| !plain(byte)) {
        _ if utf16 => refuse("UTF-16 text".to_owned(), "a CSV file in UTF-8"),
        Some(at) => {
            let found = format!("a byte {:#04x} at offset {at}: not text", head[at]);
            refuse(found, "a CSV file")
        }
        None => Ok(()),
    }
}

/// What is wrong with a first row that is no header at all, whatever columns are known.
#[must_use]
pub fn not_a_header(fields: &[&str]) -> Option<WorkloadError> {
    let wrong = |found: &str, allowed: &str| Some(WorkloadError::at("row", found, allowed));
    let separated =
        |by: &str| wrong(&format!("columns separated by {by}"), "columns separated by commas");
    match fields {
        [] | [""] => wrong("an empty file", "a header and a row or more"),
        [one] if one.contains(';') => separated("semicolons"),
        [one] if one.contains('\t') => separated("tabs"),
        [first, ..] if first.starts_with('"') => wrong("column names in quotes", "no quotes"),
        [first, ..] if first.parse::<f64>().is_ok() => {
            let found = format!("no header, but numbers ({})", fields.join(","));
            wrong(&found, "the columns' names in the first row")
        }
        _ => None,
    }
}

/// The error of a column that must be there by one of its names and is not: at the unknown one that was
/// probably to be it, if one is.
pub(super) fn missing(names: &[&str], unknown: &[String], allowed: &str) -> WorkloadError {
    let near = |found: &str| nearest(found, names.iter().copied());
    match unknown.iter().find_map(|found| Some((found, near(found)?))) {
        Some((found, name)) => {
            let what = format!("an unknown column, and no {name}");
            WorkloadError { nearest: Some(name.into()), ..WorkloadError::at(found, what, allowed) }
        }
        None => WorkloadError::at(names[0], "no such column", allowed),
    }
}

/// Where each of `known` stands in the header, and all other names in it.
fn locate<const N: usize>(
    header: &[&str],
    known: [&str; N],
) -> Result<([Option<usize>; N], Vec<String>), WorkloadError> {
    let (mut places, mut unknown) = ([None; N], Vec::new());
    for (at, name) in header.iter().enumerate() {
        match known.iter().position(|column| column == name) {
            None => unknown.push((*name).to_owned()),
            Some(column) if places[column].is_some() => {
                return Err(WorkloadError::at(name, "the column twice", "each column once"));
            }
            Some(column) => places[column] = Some(at),
        }
    }
    Ok((places, unknown))
}

#[inline]
fn text(row: &ByteRecord, at: usize) -> Cow<'_, str> {
    String::from_utf8_lossy(row.get(at).unwrap_or_default())
}
