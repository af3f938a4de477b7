//! Flows from a CSV file.

use super::WorkloadError;
use super::hosts::Fabric;
use super::quantity::{picoseconds, whole};
use super::rows::{Rows, missing};
use super::source::Flow;
use crate::spec::{TimeUnit, TraceSpec};
use flate2::read::MultiGzDecoder;
use leafspine_core::{HostId, PacketMeta, Time};
use leafspine_fabric::matches_glob;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

/// The columns. A start is in the unit that its name says, or the trace's own.
const COLUMNS: [&str; 11] = [
    "src", "dst", "bytes", "path", "ack_path", "start_ps", "start_ns", "start_us", "start_ms",
    "start_s", "start",
];
const SRC: usize = 0;
const DST: usize = 1;
const BYTES: usize = 2;
const PATH: usize = 3;
const ACK_PATH: usize = 4;
/// The first of those that are starts, in the order of [`TimeUnit::ALL`]; the last has no unit.
const STARTS: usize = 5;
const NO_UNIT: usize = 10;

/// A trace that is read row by row.
///
/// Columns `src,dst,bytes`, one for the start, which counts from the workload's start, and optionally
/// `path` and `ack_path`, in any order; others are left aside. Rows are sorted by their starts, unless
/// they are read [in any order](Trace::in_any_order). An empty `path` pins nothing; an empty or missing
/// `ack_path` is the row's `path`. Empty lines are skipped; there are no quotes and no comments.
pub struct Trace {
    rows: Rows<Box<dyn Read + Send>, 11>,
    fabric: Fabric,
    origin: Time,
    /// Which column is the start, and its unit.
    start: (usize, TimeUnit),
    sorted: bool,
    last_start: Option<u64>,
}

impl Trace {
    /// Opens a trace for a fabric.
    ///
    /// # Errors
    /// If it cannot be opened (key `path`), or a column is missing or there twice.
    pub fn open(spec: &TraceSpec, fabric: &Fabric, origin: Time) -> Result<Trace, WorkloadError> {
        let input = input(&spec.file).map_err(|error| WorkloadError {
            file: Some(spec.name.as_path().into()),
            ..WorkloadError::at("path", error.to_string(), "a readable CSV file")
        })?;
        Trace::new(input, spec, fabric, origin)
    }

    /// Reads the trace from `input`.
    ///
    /// # Errors
    /// If a column is missing or there twice.
    pub fn new(
        input: Box<dyn Read + Send>,
        spec: &TraceSpec,
        fabric: &Fabric,
        origin: Time,
    ) -> Result<Trace, WorkloadError> {
        let rows = Rows::new(input, &spec.name, COLUMNS)?;
        let start = columns(&rows, spec.unit).map_err(|error| rows.here(error))?;
        let fabric = fabric.clone();
        Ok(Trace { rows, fabric, origin, start, sorted: true, last_start: None })
    }

    /// The same, its rows in any order.
    #[must_use]
    pub fn in_any_order(self) -> Trace {
        Trace { sorted: false, ..self }
    }

    /// Whether it has a column of paths, for data or for ACKs.
    #[must_use]
    pub fn has_paths(&self) -> bool {
        self.rows.has(PATH) || self.rows.has(ACK_PATH)
    }

    /// Columns of which no use is made.
    #[must_use]
    pub fn unused_columns(&self) -> &[String] {
        self.rows.unknown()
    }

    /// The next row's flow, or `None` after the last.
    ///
    /// # Errors
    /// With file, line and column: a row of another length, a number that is none, a host that is
    /// none, a flow to its own sender, a flow of zero bytes, a path that is no uplink, a start before
    /// the row above's. A trace without rows.
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
            let found = format!("{}, which is src", self.text(DST));
            return Err(WorkloadError::at(COLUMNS[DST], found, "another host than src"));
        }
        let text = self.text(BYTES);
        let bytes = whole(&text).filter(|bytes| *bytes > 0).ok_or_else(|| {
            WorkloadError::at("bytes", format!("\"{text}\""), "a whole number, at least 1")
        })?;
        let path = self.path(PATH, src)?.unwrap_or(PacketMeta::NO_PATH);
        let ack_path = self.path(ACK_PATH, dst)?.unwrap_or(path);
        let start = Time(self.origin.0 + after);
        self.last_start = Some(after);
        Ok(Flow { path, ack_path, ..Flow::new(start, src, dst, bytes) })
    }

    fn text(&self, column: usize) -> std::borrow::Cow<'_, str> {
        self.rows.field(column).unwrap_or_default()
    }

    fn start(&self) -> Result<u64, WorkloadError> {
        let ((column, unit), text) = (self.start, self.text(self.start.0));
        let latest = Time::MAX.0 - self.origin.0;
        let start = picoseconds(&text, unit).filter(|after| *after <= latest).ok_or_else(|| {
            let allowed = match unit {
                TimeUnit::Ps => "a whole number of picoseconds".to_owned(),
                _ => format!("a number of {}, 0 or more", TimeUnit::NAMES[unit as usize]),
            };
            WorkloadError::at(COLUMNS[column], format!("\"{text}\""), allowed)
        })?;
        match self.last_start {
            Some(last) if self.sorted && start < last => {
                let allowed = format!("rows sorted by {}", COLUMNS[column]);
                let found = format!("{start} after {last}");
                Err(WorkloadError::at(COLUMNS[column], found, allowed))
            }
            _ => Ok(start),
        }
    }

    fn host(&self, column: usize) -> Result<HostId, WorkloadError> {
        let text = self.text(column);
        self.fabric.host(&text).ok_or_else(|| {
            WorkloadError::at(COLUMNS[column], format!("\"{text}\""), self.fabric.allowed_host())
        })
    }

    /// The number of the uplink that a row names, at the switch of `host`.
    fn path(&self, column: usize, host: HostId) -> Result<Option<u16>, WorkloadError> {
        let text = self.text(column);
        if text.is_empty() {
            return Ok(None);
        }
        let most = PacketMeta::NO_PATH - 1;
        if let Some(path) = whole(&text).filter(|path| *path <= u64::from(most)) {
            return Ok(Some(path as u16));
        }
        let tor = usize::from(self.fabric.tor(host).0);
        let names = self.fabric.uplink_names.get(tor).map_or(&[][..], Vec::as_slice);
        let mut found = (0u16..).zip(names).filter(|(_, name)| matches_glob(&text, name));
        match (found.next(), found.next()) {
            (Some((path, _)), None) => Ok(Some(path)),
            (Some((_, one)), Some((_, other))) => {
                let found = format!("\"{text}\", which is {one}, {other}");
                Err(WorkloadError::at(COLUMNS[column], found, "a pattern of one uplink"))
            }
            _ => {
                let mut allowed = format!("an uplink's index, 0 to {most}, or nothing");
                if let [first, ..] = names {
                    allowed = format!("{allowed}, or an uplink by name, as {first}");
                }
                Err(WorkloadError::at(COLUMNS[column], format!("\"{text}\""), allowed))
            }
        }
    }
}

/// Which column is the start, and its unit; the others that must be there are.
fn columns<R: Read>(
    rows: &Rows<R, 11>,
    unit: Option<TimeUnit>,
) -> Result<(usize, TimeUnit), WorkloadError> {
    let allowed = "the columns start_ps (or start_ns, start_us, start_ms, start_s), src, dst, bytes \
                   and optionally path, ack_path";
    let missing = |names: &[&str]| missing(names, rows.unknown(), allowed);
    let starts: Vec<usize> = (STARTS..COLUMNS.len()).filter(|column| rows.has(*column)).collect();
    let start = match (starts.as_slice(), unit) {
        ([NO_UNIT], Some(unit)) => (NO_UNIT, unit),
        ([NO_UNIT], None) => {
            let allowed =
                "start_ps, start_ns, start_us, start_ms or start_s, or time_unit in the scenario";
            return Err(WorkloadError::at("start", "a start without its unit", allowed));
        }
        ([column], None) => (*column, TimeUnit::ALL[column - STARTS]),
        ([column], Some(unit)) if TimeUnit::ALL[column - STARTS] == unit => (*column, unit),
        ([column], Some(unit)) => {
            let found = format!(
                "{} beside time_unit = \"{}\"",
                COLUMNS[*column],
                TimeUnit::NAMES[unit as usize]
            );
            return Err(WorkloadError::at(
                COLUMNS[*column],
                found,
                "a column start, or no time_unit",
            ));
        }
        ([], _) => return Err(missing(&COLUMNS[STARTS..])),
        ([one, other, ..], _) => {
            let found = format!("{} beside {}", COLUMNS[*other], COLUMNS[*one]);
            return Err(WorkloadError::at(COLUMNS[*other], found, "one column of starts"));
        }
    };
    match [SRC, DST, BYTES].into_iter().find(|column| !rows.has(*column)) {
        Some(column) => Err(missing(&COLUMNS[column..=column])),
        None => Ok(start),
    }
}

/// A file's text; what is in gzip's format is decompressed as it is read.
fn input(path: &Path) -> std::io::Result<Box<dyn Read + Send>> {
    let mut file = File::open(path)?;
    let mut magic = [0; 2];
    let read = file.read(&mut magic)?;
    file.rewind()?;
    Ok(match magic[..read] == *b"\x1f\x8b" {
        true => Box::new(MultiGzDecoder::new(BufReader::new(file))),
        false => Box::new(file),
    })
}

/// What a trace holds.
#[derive(Clone, PartialEq, Debug)]
pub struct Survey {
    /// Flows.
    pub flows: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Of these, those between hosts under different switches.
    pub crossing: u64,
    /// Which hosts send, by host.
    pub senders: Vec<bool>,
    /// Start of the first, from the workload's start.
    pub first_start: Time,
    /// Start of the last, likewise.
    pub last_start: Time,
    /// Whether rows are sorted by their starts.
    pub sorted: bool,
}

/// Reads a trace once, row by row, and keeps nothing of it but its sums: to refuse a bad row before
/// hours of simulation have led up to it, and to know how its rows are to be read.
///
/// # Errors
/// Whatever [`Trace::open`] and [`Trace::next`] refuse.
pub fn survey(spec: &TraceSpec, fabric: &Fabric) -> Result<Survey, WorkloadError> {
    let mut trace = Trace::open(spec, fabric, Time::ZERO)?.in_any_order();
    let mut survey = Survey {
        flows: 0,
        bytes: 0,
        crossing: 0,
        senders: vec![false; fabric.hosts()],
        first_start: Time::MAX,
        last_start: Time::ZERO,
        sorted: true,
    };
    let mut before = Time::ZERO;
    while let Some(flow) = trace.next()? {
        survey.flows += 1;
        survey.bytes = survey.bytes.saturating_add(flow.bytes);
        if fabric.tor(flow.src) != fabric.tor(flow.dst) {
            survey.crossing = survey.crossing.saturating_add(flow.bytes);
        }
        survey.senders[usize::from(flow.src.0)] = true;
        survey.sorted &= before <= flow.start;
        before = flow.start;
        survey.first_start = survey.first_start.min(flow.start);
        survey.last_start = survey.last_start.max(flow.start);
    }
    Ok(survey)
}
