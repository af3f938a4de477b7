//! Traces: what is read, how little of it at a time, and every message for a bad one.

use crate::common::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use leafspine_core::{PacketMeta, Span, Time};
use leafspine_sim::spec::{HostSet, LoadBasis, TimeUnit, TraceSpec, WorkloadKind, WorkloadSpec};
use leafspine_sim::workload::{Fabric, Flow, FlowSource, Trace, WorkloadError, survey};
use std::io::{Cursor, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const NO_PATH: u16 = PacketMeta::NO_PATH;

/// All flows of a trace for eight hosts.
fn read(text: &str) -> Result<Vec<Flow>, WorkloadError> {
    let input = Box::new(Cursor::new(text.as_bytes().to_vec()));
    let mut trace = Trace::new(input, &TraceSpec::new("flows.csv"), &star(8), Time::ZERO)?;
    let mut flows = Vec::new();
    while let Some(flow) = trace.next()? {
        flows.push(flow);
    }
    Ok(flows)
}

fn refused(text: &str) -> String {
    read(text).expect_err("a bad trace").to_string()
}

/// A file that is gone with the test.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, text: &str) -> Temporary {
        let path = std::env::temp_dir().join(format!("leafspine-{}-{name}", std::process::id()));
        std::fs::write(&path, text).expect("the temporary directory is writable");
        Temporary(path)
    }

    fn spec(&self) -> TraceSpec {
        TraceSpec::new(&self.0)
    }

    fn workload(&self) -> WorkloadSpec {
        workload(WorkloadKind::Trace(self.spec()))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).expect("still there");
    }
}

/// Breaks if a column is taken for another, whatever their order, or line ends and spaces disturb.
#[test]
fn columns_may_come_in_any_order() {
    let flows = read("bytes,dst,start_ps,src\n100,1,5,0\n200, 7 ,5,2\r\n300,3,9,4").expect("good");
    let rows: Vec<_> = flows.iter().map(|f| (f.start.0, f.src.0, f.dst.0, f.bytes)).collect();
    assert_eq!(rows, [(5, 0, 1, 100), (5, 2, 7, 200), (9, 4, 3, 300)]);
    assert!(flows.iter().all(|flow| (flow.path, flow.ack_path) == (NO_PATH, NO_PATH)));
}

/// A file that comes byte by byte, as from a slow pipe.
struct ByteByByte(std::io::Cursor<Vec<u8>>);

impl Read for ByteByByte {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(1);
        self.0.read(&mut buffer[..most])
    }
}

/// Breaks if a byte order mark is taken for a part of the first column's name, be it that the file comes
/// in small pieces.
#[test]
fn a_byte_order_mark_is_left_out() {
    let text = "\u{feff}start_ps,src,dst,bytes\n7,0,1,100\n";
    assert_eq!(read(text).unwrap()[0].start, Time(7));
    let slow = Box::new(ByteByByte(std::io::Cursor::new(text.into())));
    let mut trace = Trace::new(slow, &TraceSpec::new("slow.csv"), &star(8), Time::ZERO).unwrap();
    assert_eq!(trace.next().unwrap().unwrap().start, Time(7));
}

/// Breaks if ACKs do not follow the data's path unless told otherwise, or an empty cell pins a flow.
#[test]
fn paths_are_optional() {
    let paths = |text| -> Vec<_> {
        read(text).expect("good").iter().map(|flow| (flow.path, flow.ack_path)).collect()
    };
    assert_eq!(
        paths("start_ps,src,dst,bytes,path\n0,0,1,9,3\n0,0,1,9,\n"),
        [(3, 3), (NO_PATH, NO_PATH)]
    );
    assert_eq!(
        paths("start_ps,src,dst,bytes,path,ack_path\n0,0,1,9,3,2\n0,0,1,9,3,\n0,0,1,9,,2\n"),
        [(3, 2), (3, 3), (NO_PATH, 2)]
    );
}

/// Breaks if a bad trace is accepted, or its message does not name file, line, column, what was found
/// and what is allowed.
#[test]
fn bad_traces_are_refused() {
    let columns = "allowed: the columns start_ps (or start_ns, start_us, start_ms, start_s), src, dst, bytes and \
                   optionally path, ack_path";
    let comma = "allowed: columns separated by commas";
    let empty = "flows.csv:1: row: found an empty file; allowed: a header and a row or more";
    for (text, message) in [
        ("start_ps,src,dst\n", format!("flows.csv:1: bytes: found no such column; {columns}")),
        ("time,src,dst,bytes\n", format!("flows.csv:1: start_ps: found no such column; {columns}")),
        (
            "Start_us,src,dst,bytes\n",
            format!(
                "flows.csv:1: Start_us: found an unknown column, and no start_us; {columns}; \
                 did you mean \"start_us\"?"
            ),
        ),
        ("", empty.to_owned()),
        ("\n\n", empty.to_owned()),
        ("\u{feff}", empty.to_owned()),
        (
            "\u{feff}start_us;src;dst;bytes\n1;0;1;9\n",
            format!("flows.csv:1: row: found columns separated by semicolons; {comma}"),
        ),
        (
            "start_us\tsrc\tdst\tbytes\n",
            format!("flows.csv:1: row: found columns separated by tabs; {comma}"),
        ),
        (
            "\"start_us\",\"src\",\"dst\",\"bytes\"\n",
            "flows.csv:1: row: found column names in quotes; allowed: no quotes".to_owned(),
        ),
        (
            "1,0,1,9\n2,0,1,9\n",
            "flows.csv:1: row: found no header, but numbers (1,0,1,9); allowed: the columns' names in the \
             first row"
                .to_owned(),
        ),
        ("\n\nstart_ps,src,dst\n", format!("flows.csv:3: bytes: found no such column; {columns}")),
        (
            "start_ps,src,dest,bytes\n",
            format!(
                "flows.csv:1: dest: found an unknown column, and no dst; {columns}; did you mean \"dst\"?"
            ),
        ),
        (
            "start_ps,src,dst,bytes,src\n",
            "flows.csv:1: src: found the column twice; allowed: each column once".to_owned(),
        ),
        (
            "start,src,dst,bytes\n",
            "flows.csv:1: start: found a start without its unit; allowed: start_ps, start_ns, \
             start_us, start_ms or start_s, or time_unit in the scenario"
                .to_owned(),
        ),
        (
            "start_us,start_ns,src,dst,bytes\n",
            "flows.csv:1: start_us: found start_us beside start_ns; allowed: one column of starts"
                .to_owned(),
        ),
    ] {
        assert_eq!(refused(text), message);
    }
    for (rows, message) in [
        ("", "1: row: found none; allowed: at least one"),
        ("0,8,1,9\n", "2: src: found \"8\"; allowed: a host, 0 to 7"),
        ("0,0,1,9\n0,0,70000,9\n", "3: dst: found \"70000\"; allowed: a host, 0 to 7"),
        ("0,-1,1,9\n", "2: src: found \"-1\"; allowed: a host, 0 to 7"),
        ("0,3,3,9\n", "2: dst: found 3, which is src; allowed: another host than src"),
        ("0,0,1,0\n", "2: bytes: found \"0\"; allowed: a whole number, at least 1"),
        ("0,0,1,1e6\n", "2: bytes: found \"1e6\"; allowed: a whole number, at least 1"),
        ("0,0,1,\n", "2: bytes: found \"\"; allowed: a whole number, at least 1"),
        ("1.5,0,1,9\n", "2: start_ps: found \"1.5\"; allowed: a whole number of picoseconds"),
        (
            "5,0,1,9\n7,0,1,9\n6,0,1,9\n",
            "4: start_ps: found 6 after 7; allowed: rows sorted by start_ps",
        ),
        ("0,0,1\n", "2: row: found 3 fields; allowed: 4 fields, as in the header"),
        ("0,0,1,9\n\n0,0,1,9,9\n", "4: row: found 5 fields; allowed: 4 fields, as in the header"),
        ("0,0,1,9\r\n\r\n0,0,1", "4: row: found 3 fields; allowed: 4 fields, as in the header"),
        ("0,0,1,9\n0,0,0,9", "3: dst: found 0, which is src; allowed: another host than src"),
        (
            "0,0,1,9\n\n0,0,1,\"9\"\n",
            "4: bytes: found \"\"9\"\"; allowed: a whole number, at least 1",
        ),
    ] {
        let text = format!("start_ps,src,dst,bytes\n{rows}");
        assert_eq!(refused(&text), format!("flows.csv:{message}"));
    }
    assert_eq!(
        refused("start_ps,src,dst,bytes,path\n0,0,1,9,65535\n"),
        "flows.csv:2: path: found \"65535\"; allowed: an uplink's index, 0 to 65534, or nothing"
    );
    assert_eq!(
        refused("start_ps,src,dst,bytes,ack_path\n0,0,1,9,x\n"),
        "flows.csv:2: ack_path: found \"x\"; allowed: an uplink's index, 0 to 65534, or nothing"
    );
}

/// Breaks if a start that the workload's own start pushes beyond time wraps round.
#[test]
fn starts_stay_within_time() {
    let text = format!("start_ps,src,dst,bytes\n{},0,1,9\n", u64::MAX - 5);
    assert!(read(&text).is_ok());
    let input = Box::new(Cursor::new(text.into_bytes()));
    let mut trace =
        Trace::new(input, &TraceSpec::new("flows.csv"), &star(8), Time(6)).expect("a good header");
    let message = trace.next().expect_err("too late").to_string();
    assert_eq!(
        message,
        "flows.csv:2: start_ps: found \"18446744073709551610\"; allowed: a whole number of picoseconds"
    );
}

/// A million rows that exist only as they are read, and a count of what was.
struct Endless {
    rows: u64,
    next: u64,
    line: Cursor<Vec<u8>>,
    served: Arc<AtomicU64>,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut read = self.line.read(buffer)?;
        if read == 0 && self.next < self.rows {
            let (start, src) = (self.next * 1_000, self.next % 7);
            self.line = Cursor::new(format!("{start},{src},7,1460\n").into_bytes());
            self.next += 1;
            read = self.line.read(buffer)?;
        }
        self.served.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Breaks if a trace is read far ahead of the flow asked for, let alone whole: never more than 64 KB
/// beyond the rows handed out.
#[test]
fn a_million_rows_are_streamed() {
    let served = Arc::new(AtomicU64::new(0));
    let header = b"start_ps,src,dst,bytes\n".to_vec();
    let mut handed_out = header.len() as u64;
    let input = Endless {
        rows: 1_000_000,
        next: 0,
        line: Cursor::new(header),
        served: Arc::clone(&served),
    };
    let spec = TraceSpec::new("endless.csv");
    let mut trace = Trace::new(Box::new(input), &spec, &star(8), Time::ZERO).expect("good");
    let mut flows = 0;
    while let Some(flow) = trace.next().expect("good rows") {
        handed_out += format!("{},{},7,1460\n", flow.start.0, flow.src.0).len() as u64;
        let ahead = served.load(Ordering::Relaxed) - handed_out;
        assert!(ahead <= 64 * 1024, "{ahead} bytes ahead after {flows} flows");
        flows += 1;
    }
    assert_eq!((flows, served.load(Ordering::Relaxed)), (1_000_000, handed_out));
}

/// Breaks if a trace in a source ignores the workload's start or its number, is not merged with
/// others, or claims to know its number of flows before its end.
#[test]
fn traces_are_merged_with_other_workloads() {
    let file = Temporary::new("merge.csv", "start_ps,src,dst,bytes,path\n0,0,1,9,2\n30,2,3,9,1\n");
    let mut trace = file.workload();
    trace.start = Time(10);
    // Unused by a trace, and so no reason to refuse one.
    trace.senders = HostSet::First(0);
    let ticks = WorkloadSpec {
        senders: list(&[5]),
        ..workload(WorkloadKind::LongFlows { count: 3, stagger: Span(20) })
    };
    let workloads = [ticks, trace];
    let merged = flows(&workloads, &star(8), 1);
    let rows: Vec<_> = merged.iter().map(|f| (f.start.0, f.workload, f.src.0, f.path)).collect();
    assert_eq!(
        rows,
        [
            (0, 0, 5, NO_PATH),
            (10, 1, 0, 2),
            (20, 0, 5, NO_PATH),
            (40, 0, 5, NO_PATH),
            (40, 1, 2, 1),
        ]
    );
    let mut source = source(&workloads, &star(8), 1);
    for _ in 0..4 {
        assert_eq!((source.total(), source.is_exhausted()), (None, false));
        source.next().expect("good");
    }
    source.next().expect("good");
    assert_eq!((source.total(), source.is_exhausted()), (Some(5), true));
}

/// Breaks if a bad row is passed over, or found only when hours of simulation have led up to it.
#[test]
fn a_bad_row_is_refused_before_the_first_flow() {
    let file = Temporary::new("bad.csv", "start_ps,src,dst,bytes\n0,0,1,9\n5,0,1,9\n9,0,0,9\n");
    let expected = format!(
        "{}:4: dst: found 0, which is src; allowed: another host than src",
        file.0.display()
    );
    assert_eq!(refusal(&file.workload(), &star(8)), expected);
    assert_eq!(survey(&file.spec(), &star(8)).expect_err("bad").to_string(), expected);
}

/// Flows' starts in ps, and their bytes.
fn played(spec: TraceSpec, fabric: &Fabric) -> Vec<(u64, u64)> {
    let flows = flows(&[workload(WorkloadKind::Trace(spec))], fabric, 1);
    flows.iter().map(|flow| (flow.start.0, flow.bytes)).collect()
}

/// Breaks if rows that are not sorted are refused, or come in another order than that of their starts
/// and, at one start, of the file.
#[test]
fn rows_may_come_in_any_order() {
    let text = "start_ns,src,dst,bytes\n7,0,1,1\n5,0,1,2\n7,0,1,3\n5,0,1,4\n";
    let file = Temporary::new("unsorted.csv", text);
    assert!(!survey(&file.spec(), &star(8)).expect("good").sorted);
    assert_eq!(played(file.spec(), &star(8)), [(5000, 2), (5000, 4), (7000, 1), (7000, 3)]);
}

/// Breaks if a unit is off, in the column's name or beside it, or if both may differ.
#[test]
fn starts_have_units() {
    let at = |column: &str, start: &str, unit| {
        let text = format!("{column},src,dst,bytes\n{start},0,1,9\n");
        let name = format!("unit-{column}-{}.csv", unit_name(unit));
        let file = Temporary::new(&name, &text);
        let spec = TraceSpec { unit, ..file.spec() };
        survey(&spec, &star(2)).map(|found| found.last_start.0).map_err(|error| error.found)
    };
    assert_eq!(at("start_ps", "3", None), Ok(3));
    assert_eq!(at("start_ns", "3", None), Ok(3_000));
    assert_eq!(at("start_us", "3.25", None), Ok(3_250_000));
    assert_eq!(at("start_ms", "0.5", None), Ok(500_000_000));
    assert_eq!(at("start_s", "1.5e-6", None), Ok(1_500_000));
    assert_eq!(at("start", "3", Some(TimeUnit::Us)), Ok(3_000_000));
    assert_eq!(at("start_us", "3", Some(TimeUnit::Us)), Ok(3_000_000));
    assert_eq!(
        at("start_us", "3", Some(TimeUnit::Ns)),
        Err("start_us beside time_unit = \"ns\"".to_owned())
    );
}

fn unit_name(unit: Option<TimeUnit>) -> &'static str {
    unit.map_or("none", |unit| TimeUnit::NAMES[unit as usize])
}

/// Breaks if columns that mean nothing here are an error, or if nobody is told of them.
#[test]
fn other_columns_are_left_aside() {
    let text = "7,start_ps,src,dst,bytes,pth\n1,5,0,1,9,x\n";
    let input = Box::new(Cursor::new(text.as_bytes().to_vec()));
    let spec = TraceSpec::new("flows.csv");
    let mut trace = Trace::new(input, &spec, &star(8), Time::ZERO).expect("good");
    assert_eq!(trace.unused_columns(), ["7", "pth"]);
    assert_eq!(trace.next().expect("good").expect("a flow").start, Time(5));
}

/// Breaks if hosts are not known by name, or if a name that looks like a number is taken for one.
#[test]
fn hosts_have_names() {
    let file = Temporary::new("named.csv", "start_ps,src,dst,bytes\n0,host3,1,9\n1,7,host0,9\n");
    let ends = |file: &Temporary, fabric: &Fabric| -> Vec<(u16, u16)> {
        pairs(&flows(&[file.workload()], fabric, 1))
    };
    assert_eq!(ends(&file, &star(8)), [(3, 1), (7, 0)]);
    let named =
        Fabric { host_names: [("web-1".to_owned(), 0), ("7".to_owned(), 2)].into(), ..star(8) };
    let own = Temporary::new("own.csv", "start_ps,src,dst,bytes\n0,web-1,7,9\n1,6,web-1,9\n");
    assert_eq!(ends(&own, &named), [(0, 2), (6, 0)]);
    let refused = refusal(&file.workload(), &named);
    assert!(
        refused.ends_with("src: found \"host3\"; allowed: a host, 0 to 7, or one by name"),
        "{refused}"
    );
}

/// Breaks if an uplink by name is another, if a pattern may mean several, or if one of another switch is
/// accepted.
#[test]
fn paths_have_names() {
    let fabric = leaf_spine(2, 3, 4);
    let paths = |path: &str, ack: &str| {
        let text = format!("start_ps,src,dst,bytes,path,ack_path\n0,0,5,9,{path},{ack}\n");
        let file = Temporary::new(&format!("paths-{}.csv", path.replace('*', "x")), &text);
        survey(&file.spec(), &fabric).map_err(|error| error.found)?;
        Ok::<_, String>(flows(&[file.workload()], &fabric, 1)[0])
    };
    let flow = paths("leaf0-spine2", "*-spine1").expect("good");
    assert_eq!((flow.path, flow.ack_path), (2, 1));
    assert_eq!(
        paths("leaf0-*", "").expect_err("three"),
        "\"leaf0-*\", which is leaf0-spine0, leaf0-spine1"
    );
    assert_eq!(paths("leaf1-spine0", "").expect_err("the other's"), "\"leaf1-spine0\"");
}

/// Breaks if a load does not stretch a trace's times to what the same load means elsewhere: 2 leaves with
/// 3 uplinks of 40 Gb/s, of which one sends; 9 MB across in 1 ms are 72 Gb/s, a load of 0.6.
#[test]
fn a_load_stretches_times() {
    let text = "start_us,src,dst,bytes\n100,0,4,4500000\n1100,1,5,4500000\n700,0,1,1\n";
    let file = Temporary::new("load.csv", text);
    let at = |load, basis| {
        let spec = TraceSpec { load: Some((load, basis)), ..file.spec() };
        played(spec, &leaf_spine(2, 3, 4)).iter().map(|flow| flow.0 / 1_000_000).collect::<Vec<_>>()
    };
    assert_eq!(at(0.6, LoadBasis::Fabric), [100, 700, 1100]);
    assert_eq!(at(0.3, LoadBasis::Fabric), [200, 1400, 2200]);
    // Two hosts of 10 Gb/s send: 3.6 of what their links carry.
    assert_eq!(at(1.8, LoadBasis::Host), [200, 1400, 2200]);
    let spec =
        WorkloadKind::Trace(TraceSpec { load: Some((0.5, LoadBasis::Fabric)), ..file.spec() });
    assert!(
        refusal(&workload(spec), &star(8)).contains("workload.0.load: found a load of the fabric")
    );
}

/// Breaks if a compressed trace is another than what it was made from.
#[test]
fn gzip_is_decompressed_as_it_is_read() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(b"start_ps,src,dst,bytes\n5,0,1,9\n6,0,1,8\n").expect("room");
    let file = Temporary::new("flows.csv.gz", "");
    std::fs::write(&file.0, packed.finish().expect("whole")).expect("room");
    assert_eq!(played(file.spec(), &star(8)), [(5, 9), (6, 8)]);
}

/// Breaks if a survey miscounts.
#[test]
fn a_survey_sums_a_trace_up() {
    let file = Temporary::new("survey.csv", "start_ps,src,dst,bytes\n0,0,1,9\n5,0,1,10\n");
    let found = survey(&file.spec(), &star(8)).expect("good");
    assert_eq!((found.flows, found.bytes, found.last_start), (2, 19, Time(5)));
}

/// Breaks if a file that is not there is named otherwise than by its path.
#[test]
fn a_missing_file_is_named() {
    let spec = workload(WorkloadKind::Trace(TraceSpec::new("no/such/flows.csv")));
    let error = FlowSource::new(&[spec], &star(8), 1).err().expect("no such file");
    assert_eq!((error.key.as_str(), error.line), ("workload.0.path", None));
    let message = error.to_string();
    assert!(message.starts_with("no/such/flows.csv: workload.0.path: found "), "{message}");
    assert!(message.ends_with("; allowed: a readable CSV file"), "{message}");
}
