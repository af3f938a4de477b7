//! The CSV files of workloads: traces of flows, and tables of sizes. What is refused must be named with
//! its line. Of files in their plainest form, with the columns' own names and numbers alone, what is
//! read must be what splitting at line feeds and commas gives.

use leafspine_core::{PacketMeta, Rate, Rng, Role, Time, TorId};
use leafspine_sim::spec::{SizeSpec, TraceSpec};
use leafspine_sim::workload::{Fabric, Sizes, Trace, WorkloadError, read_points};
use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::path::Path;

const HOSTS: u64 = 16;

/// What a file in its plainest form says.
enum Plain<T> {
    /// It has another form: nothing is known of it.
    Other,
    Refused,
    Read(T),
}

impl<T> From<Option<T>> for Plain<T> {
    fn from(read: Option<T>) -> Plain<T> {
        read.map_or(Plain::Refused, Plain::Read)
    }
}

/// Sixteen hosts at one switch.
fn star() -> Fabric {
    Fabric {
        tor_of: vec![TorId(0); HOSTS as usize],
        tor_names: vec!["switch0".into()],
        uplinks: vec![Rate(0)],
        host_links: vec![Rate::from_gbps(1); HOSTS as usize],
        host_names: HashMap::new(),
        uplink_names: vec![Vec::new()],
    }
}

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
    if let Err(error) = &whole {
        in_the_file(error, data);
    }
    match (plain_trace(data), whole) {
        (Plain::Other, _) | (Plain::Refused, Err(_)) => {}
        (Plain::Read(flows), Ok(whole)) => assert_eq!(whole, flows, "not what stands there"),
        (Plain::Read(_), Err(error)) => panic!("refused: {error}"),
        (Plain::Refused, Ok(flows)) => panic!("taken: {flows:?}"),
    }
}

fn read_trace(input: Box<dyn Read + Send>) -> Result<Vec<Row>, WorkloadError> {
    let mut trace = Trace::new(input, &TraceSpec::new("fuzz.csv"), &star(), Time::ZERO)?;
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

fn plain_trace(data: &[u8]) -> Plain<Vec<Row>> {
    let rows = rows(data);
    let columns = ["start_ps", "src", "dst", "bytes", "path", "ack_path"];
    let Some((header, rest)) = rows.split_first() else { return Plain::Refused };
    // Others may be units, or be left aside. Hosts may have names; numbers other forms, such as 158.0.
    let plain = |name: &str, field: &str| {
        let digits = field.bytes().all(|byte| byte.is_ascii_digit());
        digits || !["src", "dst"].contains(&name) && field.parse::<f64>().is_err()
    };
    let plain_row =
        |row: &Vec<String>| header.iter().zip(row).all(|(name, field)| plain(name, field));
    if !header.iter().all(|name| columns.contains(&name.as_str())) || !rest.iter().all(plain_row) {
        return Plain::Other;
    }
    flows(&rows, &columns).into()
}

fn flows(rows: &[Vec<String>], columns: &[&str]) -> Option<Vec<Row>> {
    let places = places(rows.first()?, columns, 4)?;
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
            assert!(!matches!(plain, Plain::Read(_)), "refused: {error}");
            return;
        }
        Ok(points) => points,
    };
    match plain {
        Plain::Other => {}
        Plain::Read(plain) => assert_eq!(points.to_vec(), plain, "not what stands there"),
        Plain::Refused => panic!("taken: {points:?}"),
    }
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

/// Digits, and perhaps a point among them.
fn is_plain(field: &str) -> bool {
    let (whole, part) = field.split_once('.').unwrap_or((field, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && digits(part)
}

fn plain_points(data: &[u8]) -> Plain<Vec<(f64, f64)>> {
    let rows = rows(data);
    let Some((header, rest)) = rows.split_first() else { return Plain::Refused };
    let columns = ["bytes", "cumulative_probability"];
    // Spaces may part fields; sizes may have units.
    let plain = |row: &Vec<String>| row.len() > 1 && row.iter().all(|field| is_plain(field));
    let named = |name: &String| columns.contains(&name.as_str());
    if header.len() != 2 || !header.iter().all(named) || !rest.iter().all(plain) {
        return Plain::Other;
    }
    points(&rows, &columns).into()
}

fn points(rows: &[Vec<String>], columns: &[&str]) -> Option<Vec<(f64, f64)>> {
    let places = places(rows.first()?, columns, 2)?;
    let number = |row: &Vec<String>, column: usize| row[places[column]?].parse::<f64>().ok();
    // What ends at 100 is percent.
    let scale = if number(rows.last()?, 1) == Some(100.0) { 100.0 } else { 1.0 };
    let mut points: Vec<(f64, f64)> = Vec::new();
    for row in &rows[1..] {
        if row.len() != rows[0].len() {
            return None;
        }
        let (bytes, probability) = (number(row, 0)?, number(row, 1)? / scale);
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
