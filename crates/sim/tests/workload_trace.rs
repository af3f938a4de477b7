//! Traces: what is read, how little of it at a time, and every message for a bad one.

mod workload_common;

use leafspine_core::{PacketMeta, Span, Time};
use leafspine_sim::spec::{HostSet, WorkloadKind, WorkloadSpec};
use leafspine_sim::workload::{Flow, FlowSource, Trace, WorkloadError, survey};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use workload_common::*;

const NO_PATH: u16 = PacketMeta::NO_PATH;

/// All flows of a trace for eight hosts.
fn read(text: &str) -> Result<Vec<Flow>, WorkloadError> {
    let input = Box::new(Cursor::new(text.as_bytes().to_vec()));
    let mut trace = Trace::new(input, Path::new("flows.csv"), 8, Time::ZERO)?;
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

    fn workload(&self) -> WorkloadSpec {
        workload(WorkloadKind::Trace { path: self.0.clone() })
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
    let mut trace = Trace::new(slow, Path::new("slow.csv"), 8, Time::ZERO).unwrap();
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
    let columns = "allowed: the columns start_ps, src, dst, bytes and optionally path, ack_path";
    for (text, message) in [
        ("start_ps,src,dst\n", format!("flows.csv:1: bytes: found no such column; {columns}")),
        ("", format!("flows.csv:1: start_ps: found no such column; {columns}")),
        ("\n\nstart_ps,src,dst\n", format!("flows.csv:3: bytes: found no such column; {columns}")),
        (
            "start_ps,src,dest,bytes\n",
            format!("flows.csv:1: dest: found an unknown column; {columns}"),
        ),
        (
            "start_ps,src,dst,bytes,src\n",
            format!("flows.csv:1: src: found the column twice; {columns}"),
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
    let mut trace = Trace::new(input, Path::new("flows.csv"), 8, Time(6)).expect("a good header");
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
    let mut trace =
        Trace::new(Box::new(input), Path::new("endless.csv"), 8, Time::ZERO).expect("good");
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

/// Breaks if a bad row is passed over, or the source goes on after it.
#[test]
fn a_bad_row_stops_the_source() {
    let file = Temporary::new("bad.csv", "start_ps,src,dst,bytes\n0,0,1,9\n5,0,1,9\n1,0,1,9\n");
    let mut source = source(&[file.workload()], &star(8), 1);
    assert!(matches!(source.next(), Ok(Some(_))));
    assert!(matches!(source.next(), Ok(Some(_))));
    assert!(!source.is_exhausted());
    let expected = format!(
        "{}:4: start_ps: found 1 after 5; allowed: rows sorted by start_ps",
        file.0.display()
    );
    assert_eq!(source.next().expect_err("unsorted").to_string(), expected);
    assert_eq!(source.next().expect_err("still unsorted").to_string(), expected);
    assert_eq!(survey(&file.0, 8).expect_err("unsorted").to_string(), expected);
}

/// Breaks if a survey miscounts.
#[test]
fn a_survey_sums_a_trace_up() {
    let file = Temporary::new("survey.csv", "start_ps,src,dst,bytes\n0,0,1,9\n5,0,1,10\n");
    let found = survey(&file.0, 8).expect("good");
    assert_eq!((found.flows, found.bytes, found.last_start), (2, 19, Time(5)));
}

/// Breaks if a file that is not there is named otherwise than by its path.
#[test]
fn a_missing_file_is_named() {
    let spec = workload(WorkloadKind::Trace { path: "no/such/flows.csv".into() });
    let error = FlowSource::new(&[spec], &star(8), 1).err().expect("no such file");
    assert_eq!((error.key.as_str(), error.line), ("workload.0.path", None));
    let message = error.to_string();
    assert!(message.starts_with("no/such/flows.csv: workload.0.path: found "), "{message}");
    assert!(message.ends_with("; allowed: a readable CSV file"), "{message}");
}
