//! Flows from a CSV file.

use super::WorkloadError;
use super::rows::Rows;
use super::source::Flow;
use leafspine_core::{HostId, PacketMeta, Time};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The columns, and of these the number that must be there.
const COLUMNS: [&str; 6] = ["start_ps", "src", "dst", "bytes", "path", "ack_path"];
const REQUIRED: usize = 4;
const START: usize = 0;
const SRC: usize = 1;
const DST: usize = 2;
const BYTES: usize = 3;
const PATH: usize = 4;
const ACK_PATH: usize = 5;

/// A trace that is read row by row.
///
/// Columns `start_ps,src,dst,bytes` and optionally `path` and `ack_path`, in any order; rows sorted
/// by `start_ps`, which counts from the workload's start. An empty `path` pins nothing; an
/// empty or missing `ack_path` is the row's `path`. Empty lines are skipped; there are no quotes and
/// no comments.
pub struct Trace {
    rows: Rows<Box<dyn Read + Send>, 6>,
    hosts: usize,
    origin: Time,
    last_start: Option<u64>,
}

impl Trace {
    /// Opens the trace at `path` for a fabric of so many hosts.
    ///
    /// # Errors
    /// If it cannot be opened (key `path`), or a column is missing, unknown or there twice.
    pub fn open(path: &Path, hosts: usize, origin: Time) -> Result<Trace, WorkloadError> {
        let file = File::open(path).map_err(|error| WorkloadError {
            file: Some(path.to_owned()),
            ..WorkloadError::at("path", error.to_string(), "a readable CSV file")
        })?;
        Trace::new(Box::new(file), path, hosts, origin)
    }

    /// Reads the trace from `input`; `file` is for messages.
    ///
    /// # Errors
    /// If a column is missing, unknown or there twice.
    pub fn new(
        input: Box<dyn Read + Send>,
        file: &Path,
        hosts: usize,
        origin: Time,
    ) -> Result<Trace, WorkloadError> {
        let rows = Rows::new(input, file, COLUMNS, REQUIRED)?;
        Ok(Trace { rows, hosts, origin, last_start: None })
    }

    /// Whether it has a column of paths, for data or for ACKs.
    #[must_use]
    pub fn has_paths(&self) -> bool {
        self.rows.has(PATH) || self.rows.has(ACK_PATH)
    }

    /// The next row's flow, or `None` after the last.
    ///
    /// # Errors
    /// With file, line and column: a row of another length, a number that is none, a host out of
    /// range, a flow to its own sender, a flow of zero bytes, a start before the row above's. A
    /// trace without rows.
    #[allow(
        clippy::should_implement_trait,
        reason = "fallible: an iterator would go on after errors"
    )]
    pub fn next(&mut self) -> Result<Option<Flow>, WorkloadError> {
        if self.rows.next()? {
            return self.flow().map(Some).map_err(|error| self.rows.here(error));
        }
        match self.last_start {
            Some(_) => Ok(None),
            None => Err(self.rows.here(WorkloadError::at("row", "none", "at least one"))),
        }
    }

    /// The flow of the current row.
    fn flow(&mut self) -> Result<Flow, WorkloadError> {
        let after = self.start()?;
        let (src, dst) = (self.host(SRC)?, self.host(DST)?);
        if src == dst {
            let found = format!("{}, which is src", dst.0);
            return Err(WorkloadError::at(COLUMNS[DST], found, "another host than src"));
        }
        let bytes = self.number(BYTES, "a whole number, at least 1", |bytes| bytes > 0)?;
        let path = self.path(PATH)?.unwrap_or(PacketMeta::NO_PATH);
        let ack_path = self.path(ACK_PATH)?.unwrap_or(path);
        let start = Time(self.origin.0 + after);
        self.last_start = Some(after);
        Ok(Flow { path, ack_path, ..Flow::new(start, src, dst, bytes) })
    }

    fn start(&self) -> Result<u64, WorkloadError> {
        let latest = Time::MAX.0 - self.origin.0;
        let start = self.number(START, "a whole number of picoseconds", |after| after <= latest)?;
        match self.last_start {
            Some(last) if start < last => {
                let found = format!("{start} after {last}");
                Err(WorkloadError::at(COLUMNS[START], found, "rows sorted by start_ps"))
            }
            _ => Ok(start),
        }
    }

    fn host(&self, column: usize) -> Result<HostId, WorkloadError> {
        // `HostId` holds every host of a fabric, so the cast keeps what the bound lets through.
        let host = self.number_or(
            column,
            |host| host < self.hosts as u64,
            || format!("a host, 0 to {}", self.hosts.saturating_sub(1)),
        )?;
        Ok(HostId(host as u16))
    }

    fn path(&self, column: usize) -> Result<Option<u16>, WorkloadError> {
        if self.rows.field(column).is_none_or(|text| text.is_empty()) {
            return Ok(None);
        }
        let most = PacketMeta::NO_PATH - 1;
        let fits = |path| path <= u64::from(most);
        let allowed = || format!("an uplink's index, 0 to {most}, or nothing");
        Ok(Some(self.number_or(column, fits, allowed)? as u16))
    }

    fn number(
        &self,
        column: usize,
        allowed: &str,
        fits: impl Fn(u64) -> bool,
    ) -> Result<u64, WorkloadError> {
        self.number_or(column, fits, || allowed.to_owned())
    }

    /// A field of the row as a number that `fits`.
    fn number_or(
        &self,
        column: usize,
        fits: impl Fn(u64) -> bool,
        allowed: impl Fn() -> String,
    ) -> Result<u64, WorkloadError> {
        let text = self.rows.field(column).unwrap_or_default();
        match text.parse() {
            Ok(number) if fits(number) => Ok(number),
            _ => Err(WorkloadError::at(COLUMNS[column], format!("\"{text}\""), allowed())),
        }
    }
}

/// What a trace holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Survey {
    /// Flows.
    pub flows: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Start of the last, from the workload's start.
    pub last_start: Time,
}

/// Reads a trace once, row by row, and keeps nothing of it but its sums: to refuse a bad row before
/// hours of simulation have led up to it, and to know the number of flows for progress.
///
/// # Errors
/// Whatever [`Trace::open`] and [`Trace::next`] refuse.
pub fn survey(path: &Path, hosts: usize) -> Result<Survey, WorkloadError> {
    let mut trace = Trace::open(path, hosts, Time::ZERO)?;
    let mut survey = Survey { flows: 0, bytes: 0, last_start: Time::ZERO };
    while let Some(flow) = trace.next()? {
        survey.flows += 1;
        survey.bytes = survey.bytes.saturating_add(flow.bytes);
        survey.last_start = flow.start;
    }
    Ok(survey)
}
