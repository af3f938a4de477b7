//! A trace's flows in the order of their starts, and at the load that is asked for.
//!
//! What is sorted is streamed. What is not is sorted in pieces, which are written to a file of their own
//! if there are several, and merged: memory stays bounded, whatever the length of the trace.

use super::WorkloadError;
use super::hosts::Fabric;
use super::load::trace_load;
use super::source::Flow;
use super::trace::{Trace, survey};
use crate::spec::TraceSpec;
use leafspine_core::{HostId, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows that are sorted at once: 32 MB of them.
const PIECE: usize = 1 << 20;

/// A trace as it is played.
pub(super) struct Replay {
    rows: Source,
    origin: Time,
    /// What times are multiplied by.
    stretch: Option<f64>,
}

enum Source {
    Streamed(Box<Trace>),
    Sorted(Merge),
}

impl Replay {
    /// Reads the trace once to see whether it is sorted, and what it asks for.
    ///
    /// # Errors
    /// What [`Trace::open`] and [`Trace::next`] refuse, but for unsorted rows; a load of a trace whose
    /// flows start all at once; a disk that has no room for the pieces of an unsorted one.
    pub(super) fn open(
        spec: &TraceSpec,
        fabric: &Fabric,
        origin: Time,
    ) -> Result<Replay, WorkloadError> {
        Replay::in_pieces(spec, fabric, origin, PIECE)
    }

    fn in_pieces(
        spec: &TraceSpec,
        fabric: &Fabric,
        origin: Time,
        piece: usize,
    ) -> Result<Replay, WorkloadError> {
        let found = survey(spec, fabric)?;
        let stretch = match spec.load {
            Some((load, basis)) => Some(trace_load(&found, basis, fabric)? / load),
            None => None,
        };
        if found.last_start.0.checked_add(origin.0).is_none() {
            let found = format!("{} after the workload's start at {origin}", found.last_start);
            return Err(WorkloadError::at("start", found, "starts within 213 days"));
        }
        // The origin is added when times have been stretched.
        let trace = Trace::open(spec, fabric, Time::ZERO)?;
        let rows = match found.sorted {
            true => Source::Streamed(Box::new(trace)),
            false => Source::Sorted(Merge::new(trace.in_any_order(), piece, spec)?),
        };
        Ok(Replay { rows, origin, stretch })
    }

    pub(super) fn next(&mut self) -> Result<Option<Flow>, WorkloadError> {
        let flow = match &mut self.rows {
            Source::Streamed(trace) => trace.next()?,
            Source::Sorted(merge) => merge.next()?,
        };
        let Some(flow) = flow else { return Ok(None) };
        let after = match self.stretch {
            // Beyond the end of time it stays there.
            Some(stretch) => (flow.start.0 as f64 * stretch).round() as u64,
            None => flow.start.0,
        };
        Ok(Some(Flow { start: Time(self.origin.0.saturating_add(after)), ..flow }))
    }
}

/// A flow by its start and its row.
type Row = (u64, u64, FlowOf);
/// Bytes, source, destination, path, path of ACKs.
type FlowOf = (u64, u16, u16, u16, u16);
/// Bytes of a row in a file.
const ROW: usize = 32;

/// Pieces of a trace, each sorted, as one.
struct Merge {
    pieces: Vec<Piece>,
    heads: BinaryHeap<Reverse<(Row, usize)>>,
    name: std::path::PathBuf,
}

enum Piece {
    Held(std::vec::IntoIter<Row>),
    /// Rows that are left in a file.
    Written(BufReader<File>, u64),
}

impl Merge {
    fn new(mut trace: Trace, most: usize, spec: &TraceSpec) -> Result<Merge, WorkloadError> {
        let mut merge =
            Merge { pieces: Vec::new(), heads: BinaryHeap::new(), name: spec.name.clone() };
        let (mut rows, mut number): (Vec<Row>, u64) = (Vec::new(), 0);
        while let Some(flow) = trace.next()? {
            if rows.len() == most {
                rows.sort_unstable();
                let written = write(&rows).map_err(|error| merge.failed(&error))?;
                merge.pieces.push(written);
                rows.clear();
            }
            let of = (flow.bytes, flow.src.0, flow.dst.0, flow.path, flow.ack_path);
            rows.push((flow.start.0, number, of));
            number += 1;
        }
        rows.sort_unstable();
        merge.pieces.push(Piece::Held(rows.into_iter()));
        for piece in 0..merge.pieces.len() {
            merge.advance(piece)?;
        }
        Ok(merge)
    }

    fn failed(&self, error: &io::Error) -> WorkloadError {
        let found = format!("rows that are not sorted, and {error} where they were to be");
        let allowed = "rows sorted by their starts, or room in the directory for temporary files";
        WorkloadError {
            file: Some(self.name.as_path().into()),
            ..WorkloadError::at("path", found, allowed)
        }
    }

    fn advance(&mut self, piece: usize) -> Result<(), WorkloadError> {
        let head = match &mut self.pieces[piece] {
            Piece::Held(rows) => Ok(rows.next()),
            Piece::Written(_, 0) => Ok(None),
            Piece::Written(file, left) => {
                *left -= 1;
                read(file).map(Some)
            }
        };
        let head = head.map_err(|error| self.failed(&error))?;
        self.heads.extend(head.map(|row| Reverse((row, piece))));
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Flow>, WorkloadError> {
        let Some(Reverse(((start, _, of), piece))) = self.heads.pop() else { return Ok(None) };
        self.advance(piece)?;
        let (bytes, src, dst, path, ack_path) = of;
        let flow = Flow::new(Time(start), HostId(src), HostId(dst), bytes);
        Ok(Some(Flow { path, ack_path, ..flow }))
    }
}

/// Writes rows to a file that is gone with the run.
fn write(rows: &[Row]) -> io::Result<Piece> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("leafspine-{}-{number}.rows", std::process::id());
    let path = std::env::temp_dir().join(name);
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    // Without a name no other process finds it, and nothing is left if the run is killed.
    std::fs::remove_file(&path)?;
    let mut out = BufWriter::new(file);
    for (start, number, (bytes, src, dst, path, ack_path)) in rows {
        for word in [start, number, bytes] {
            out.write_all(&word.to_le_bytes())?;
        }
        for half in [src, dst, path, ack_path] {
            out.write_all(&half.to_le_bytes())?;
        }
    }
    let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(Piece::Written(BufReader::new(file), rows.len() as u64))
}

fn read(file: &mut BufReader<File>) -> io::Result<Row> {
    let mut row = [0; ROW];
    file.read_exact(&mut row)?;
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| row[at + byte]));
    let half = |at: usize| u16::from_le_bytes(std::array::from_fn(|byte| row[at + byte]));
    Ok((word(0), word(8), (word(16), half(24), half(26), half(28), half(30))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a row is lost or doubled between pieces, or if flows that start together change
    /// places, in memory or by way of files.
    #[test]
    fn pieces_make_one_sorted_trace() {
        let rows: Vec<(u64, u64)> = (0..1000).map(|n| (n * 7919 % 97, n + 1)).collect();
        let text: String = rows.iter().map(|(start, n)| format!("{start},0,1,{n}\n")).collect();
        let name = format!("leafspine-{}-pieces.csv", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, format!("start_ps,src,dst,bytes\n{text}")).unwrap();
        let mut wanted = rows;
        wanted.sort_by_key(|(start, _)| *start);
        let (spec, fabric) = (TraceSpec::new(&path), Fabric::of_hosts(2));
        for piece in [1, 7, 300, 2000] {
            let mut replay = Replay::in_pieces(&spec, &fabric, Time(5), piece).unwrap();
            let mut found = Vec::new();
            while let Some(flow) = replay.next().unwrap() {
                found.push((flow.start.0 - 5, flow.bytes));
            }
            assert_eq!(found, wanted, "pieces of {piece}");
        }
        std::fs::remove_file(path).unwrap();
    }
}
