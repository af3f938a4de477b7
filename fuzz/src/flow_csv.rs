//! The CSV files of workloads: traces of flows, and tables of sizes. What is read must be what plain
//! splitting at line feeds and commas gives, and what is refused must be named with its line.

use leafspine_core::{PacketMeta, Rng, Role, Time};
use leafspine_sim::spec::SizeSpec;
use leafspine_sim::workload::{Sizes, Trace, WorkloadError, read_points};
use std::io::{Cursor, Read};
use std::path::Path;

const HOSTS: u64 = 16;

/// Reads the bytes as either file.
///
/// # Panics
/// If a reader does, or if it reads other than [`rows`].
pub fn check(data: &[u8]) {
    trace(data);
    sizes(data);
}

/// A flow: start, source, destination, bytes, path, path of its ACKs.
type Row = (u64, u64, u64, u64, u64, u64);

fn trace(data: &[u8]) {
    let whole = read_trace(Box::new(Cursor::new(data.to_vec())));
    let bytewise = read_trace(Box::new(ByteByByte(Cursor::new(data.to_vec()))));
    match (&whole, &bytewise) {
        (Ok(whole), Ok(bytewise)) => assert_eq!(whole, bytewise, "by how much is read at once"),
        (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
        _ => panic!("whole: {whole:?}, byte by byte: {bytewise:?}"),
    }
    let plain = plain_trace(data);
    match whole {
        Ok(flows) => assert_eq!(Some(flows), plain, "not what stands there"),
        Err(error) => {
            in_the_file(&error, data);
            assert_eq!(plain, None, "refused: {error}");
        }
    }
}

fn read_trace(input: Box<dyn Read + Send>) -> Result<Vec<Row>, WorkloadError> {
    let mut trace = Trace::new(input, Path::new("fuzz.csv"), HOSTS as usize, Time::ZERO)?;
    let mut rows = Vec::new();
    while let Some(flow) = trace.next()? {
        let (src, dst) = (flow.src.0.into(), flow.dst.0.into());
        rows.push((flow.start.0, src, dst, flow.bytes, flow.path.into(), flow.ack_path.into()));
    }
    Ok(rows)
}

/// Gives one byte at a time, as a slow pipe may.
struct ByteByByte(Cursor<Vec<u8>>);

impl Read for ByteByByte {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(1);
        self.0.read(&mut buffer[..most])
    }
}

fn in_the_file(error: &WorkloadError, data: &[u8]) {
    let lines = data.split(|byte| *byte == b'\n').count() as u64;
    let line = error.line.expect("a line");
    assert!((1..=lines).contains(&line), "{error}: of {lines} lines");
}

/// The rows of a file with their fields, blank lines left out; the first is the header.
fn rows(data: &[u8]) -> Vec<Vec<String>> {
    let field = |bytes: &[u8]| String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
    let lines = data.split(|byte| *byte == b'\n');
    let rows = lines.map(|line| line.split(|byte| *byte == b',').map(field).collect::<Vec<_>>());
    let mut rows: Vec<Vec<String>> = rows.filter(|row| *row != [""]).collect();
    // A byte order mark belongs to no name.
    if let Some(name) = rows.first_mut().map(|header| &mut header[0]) {
        *name = name.strip_prefix('\u{feff}').unwrap_or(name).trim_ascii().to_owned();
    }
    rows
}

/// Where each of the columns stands: those required, then others. `None` if the header is wrong.
fn places(header: &[String], columns: &[&str], required: usize) -> Option<Vec<Option<usize>>> {
    let known = |name: &String| columns.contains(&name.as_str());
    let twice = |at: usize| header[..at].contains(&header[at]);
    if !header.iter().all(known) || (0..header.len()).any(twice) {
        return None;
    }
    let place = |column: &&str| header.iter().position(|name| name == column);
    let places: Vec<_> = columns.iter().map(place).collect();
    places[..required].iter().all(Option::is_some).then_some(places)
}

fn plain_trace(data: &[u8]) -> Option<Vec<Row>> {
    let rows = rows(data);
    let columns = ["start_ps", "src", "dst", "bytes", "path", "ack_path"];
    let places = places(rows.first()?, &columns, 4)?;
    let mut flows: Vec<Row> = Vec::new();
    for row in &rows[1..] {
        if row.len() != rows[0].len() {
            return None;
        }
        let number = |column: usize| row[places[column]?].parse::<u64>().ok();
        let path = |column: usize, otherwise: u64| match places[column].map(|at| &row[at]) {
            None => Some(otherwise),
            Some(text) if text.is_empty() => Some(otherwise),
            Some(text) => text.parse().ok().filter(|path| *path < PacketMeta::NO_PATH.into()),
        };
        let (start, src, dst, bytes) = (number(0)?, number(1)?, number(2)?, number(3)?);
        let path_there = path(4, PacketMeta::NO_PATH.into())?;
        let sorted = flows.last().is_none_or(|before| before.0 <= start);
        if !sorted || src >= HOSTS || dst >= HOSTS || src == dst || bytes == 0 {
            return None;
        }
        flows.push((start, src, dst, bytes, path_there, path(5, path_there)?));
    }
    (!flows.is_empty()).then_some(flows)
}

fn sizes(data: &[u8]) {
    let read = read_points(data, Path::new("fuzz.csv"));
    let plain = plain_points(data);
    let points = match read {
        Err(error) => {
            in_the_file(&error, data);
            assert_eq!(plain, None, "refused: {error}");
            return;
        }
        Ok(points) => points,
    };
    assert_eq!(Some(points.to_vec()), plain, "not what stands there");
    let most = points.last().expect("checked by the reader").0;
    let spec = SizeSpec::Table { name: "fuzz".to_owned(), points };
    // Sizes beyond what a flow may have are refused here.
    let Ok(sizes) = Sizes::new(&spec) else { return };
    let mut rng = Rng::new(1, Role::Workload, 0);
    for _ in 0..8 {
        let bytes = sizes.sample(&mut rng);
        assert!(bytes >= 1 && bytes as f64 <= most.max(1.0).ceil(), "{bytes} of at most {most}");
    }
}

fn plain_points(data: &[u8]) -> Option<Vec<(f64, f64)>> {
    let rows = rows(data);
    let places = places(rows.first()?, &["bytes", "cumulative_probability"], 2)?;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for row in &rows[1..] {
        if row.len() != rows[0].len() {
            return None;
        }
        let number = |column: usize| row[places[column]?].parse::<f64>().ok();
        let (bytes, probability) = (number(0)?, number(1)?);
        let (last_bytes, last_probability) = points.last().copied().unwrap_or_default();
        let rising = bytes >= last_bytes && probability >= last_probability;
        if !rising || !bytes.is_finite() || probability > 1.0 {
            return None;
        }
        points.push((bytes, probability));
    }
    points.last().filter(|last| last.0 >= 1.0 && last.1 == 1.0)?;
    Some(points)
}
