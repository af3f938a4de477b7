//! The nodes of a trace.

use super::wire::{Broken, Cursor, Value, numbers};
use crate::spec::Collective;
use crate::workload::WorkloadError;
use flate2::read::MultiGzDecoder;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What a node does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// Something that others wait for, and which takes no time.
    Point,
    /// So many microseconds, by the processor or not.
    Compute {
        micros: u64,
        on_cpu: bool,
    },
    Send {
        to: u64,
        bytes: u64,
        tag: u64,
    },
    Receive {
        from: u64,
        bytes: u64,
        tag: u64,
    },
    /// Among all ranks that have nodes of this group.
    Collective {
        what: Collective,
        bytes: u64,
        group: String,
    },
}

/// A node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Node {
    /// Where it begins in the file.
    pub(crate) at: usize,
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) what: What,
    pub(crate) after: Vec<u64>,
}

/// A rank's trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Trace {
    pub(crate) file: PathBuf,
    pub(crate) nodes: Vec<Node>,
}

impl Trace {
    /// An error at a node.
    pub(crate) fn wrong(&self, node: &Node, found: &str, allowed: &str) -> WorkloadError {
        let found = format!("{found} (node {} \"{}\", byte {})", node.id, node.name, node.at);
        WorkloadError {
            file: Some(self.file.as_path().into()),
            ..WorkloadError::at("", found, allowed)
        }
    }
}

/// Reads the trace of each rank.
///
/// # Errors
/// A file that cannot be read, or is no trace.
pub(crate) fn read(files: &[PathBuf]) -> Result<Vec<Trace>, WorkloadError> {
    files.iter().map(|file| parse(&contents(file)?, file)).collect()
}

/// What is in a file, which may be compressed by gzip.
fn contents(file: &Path) -> Result<Vec<u8>, WorkloadError> {
    let unreadable = |error: std::io::Error| {
        let found = format!("{} ({})", file.display(), error.kind());
        WorkloadError::at("path", found, "an execution trace of Chakra that can be read")
    };
    let bytes = std::fs::read(file).map_err(unreadable)?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut plain).map_err(unreadable)?;
    Ok(plain)
}

fn parse(bytes: &[u8], file: &Path) -> Result<Trace, WorkloadError> {
    let mut trace = Trace { file: file.to_owned(), nodes: Vec::new() };
    let mut cursor = Cursor::new(bytes);
    let broken = |start: usize, Broken { at, what }: Broken| {
        let found = format!("{what} (byte {})", start + at);
        let allowed = "Chakra's metadata and nodes, each behind its length (et_def.proto)";
        WorkloadError { file: Some(file.into()), ..WorkloadError::at("", found, allowed) }
    };
    let mut first = true;
    while !cursor.is_empty() {
        let message = cursor.delimited().map_err(|error| broken(0, error))?;
        let start = cursor.at - message.len();
        // Metadata of the whole trace: a version and attributes, which say nothing of when.
        if std::mem::take(&mut first) {
            metadata(message).map_err(|error| broken(start, error))?;
            continue;
        }
        let raw = Raw::read(message).map_err(|error| broken(start, error))?;
        let mut node = Node {
            at: start,
            id: raw.id,
            name: String::from_utf8_lossy(raw.name).into_owned(),
            what: What::Point,
            after: raw.after.clone(),
        };
        node.what = raw.what().map_err(|(found, allowed)| trace.wrong(&node, &found, allowed))?;
        trace.nodes.push(node);
    }
    match trace.nodes.is_empty() {
        true => Err(broken(0, Broken { at: bytes.len(), what: "no node" })),
        false => Ok(trace),
    }
}

/// Its first field is a text, which tells it from a node.
fn metadata(message: &[u8]) -> Result<(), Broken> {
    let mut cursor = Cursor::new(message);
    while !cursor.is_empty() {
        let start = cursor.at;
        if !matches!(cursor.field()?, (1 | 2, Value::Bytes(_)) | (3.., _)) {
            return Err(Broken { at: start, what: "a node where the metadata should be" });
        }
    }
    Ok(())
}

/// A node's fields, those that count.
#[derive(Default)]
struct Raw<'a> {
    id: u64,
    name: &'a [u8],
    kind: u64,
    after: Vec<u64>,
    micros: u64,
    on_cpu: bool,
    comm: Option<u64>,
    bytes: Option<u64>,
    src: Option<u64>,
    dst: Option<u64>,
    tag: u64,
    group: &'a [u8],
    operations: u64,
}

impl<'a> Raw<'a> {
    fn read(message: &'a [u8]) -> Result<Raw<'a>, Broken> {
        let (mut cursor, mut raw) = (Cursor::new(message), Raw::default());
        while !cursor.is_empty() {
            let at = cursor.at;
            let within = |error: Broken| Broken { at: at + error.at, ..error };
            match cursor.field()? {
                (1, Value::Varint(id)) => raw.id = id,
                (2, Value::Bytes(name)) => raw.name = name,
                (3, Value::Varint(kind)) => raw.kind = kind,
                (4 | 5, of) => numbers(of, &mut raw.after).map_err(within)?,
                (7, Value::Varint(micros)) => raw.micros = micros,
                (10, Value::Bytes(attribute)) => raw.attribute(attribute).map_err(within)?,
                (1..=3 | 6 | 7 | 10, _) => {
                    return Err(Broken { at, what: "a node's field of another kind" });
                }
                _ => {}
            }
        }
        Ok(raw)
    }

    /// A name and one of many kinds of value: numbers that are varints, or zigzag (`sint`), or fixed; or a text.
    fn attribute(&mut self, message: &'a [u8]) -> Result<(), Broken> {
        let (mut cursor, mut name, mut number) = (Cursor::new(message), &b""[..], None);
        let mut text = &b""[..];
        while !cursor.is_empty() {
            match cursor.field()? {
                (1, Value::Bytes(bytes)) => name = bytes,
                (7 | 9 | 11 | 13 | 27, Value::Varint(value)) => number = Some(value),
                (15 | 17, Value::Varint(value)) => {
                    number = Some((value >> 1) ^ (value & 1).wrapping_neg());
                }
                (19 | 21 | 23 | 25, Value::Fixed(value)) => number = Some(value),
                (29, Value::Bytes(bytes)) => text = bytes,
                _ => {}
            }
        }
        match (name, number) {
            (b"pg_name" | b"comm_group", _) if !text.is_empty() => self.group = text,
            (b"comm_type", Some(value)) => self.comm = Some(value),
            (b"comm_size", Some(value)) => self.bytes = Some(value),
            (b"comm_src", Some(value)) => self.src = Some(value),
            (b"comm_dst", Some(value)) => self.dst = Some(value),
            (b"comm_tag", Some(value)) => self.tag = value,
            (b"num_ops", Some(value)) => self.operations = value,
            (b"is_cpu_op", Some(value)) => self.on_cpu = value != 0,
            _ => {}
        }
        Ok(())
    }

    /// What the node does; else what was found and what is allowed.
    fn what(self) -> Result<What, (String, &'static str)> {
        let bytes = self.bytes.ok_or_else(|| {
            ("no comm_size".to_owned(), "the attribute comm_size of what communicates")
        });
        Ok(match self.kind {
            1 => What::Point,
            2..=4 | 8..=10 => {
                if self.operations > 0 && self.micros == 0 {
                    let allowed = "duration_micros: how fast a host computes is not in the trace";
                    return Err(("num_ops without a duration".to_owned(), allowed));
                }
                What::Compute { micros: self.micros, on_cpu: self.on_cpu }
            }
            5 => {
                let to = self.dst.ok_or(("no comm_dst".to_owned(), "the attribute comm_dst"))?;
                What::Send { to, bytes: bytes?, tag: self.tag }
            }
            6 => {
                let from = self.src.ok_or(("no comm_src".to_owned(), "the attribute comm_src"))?;
                What::Receive { from, bytes: bytes?, tag: self.tag }
            }
            7 => {
                let what = collective(self.comm)?;
                let group = String::from_utf8_lossy(self.group).into_owned();
                What::Collective { what, bytes: bytes?, group }
            }
            kind => return Err((format!("a node of type {kind}"), "types 1 to 10 of the schema")),
        })
    }
}

/// A collective by its number in the schema.
fn collective(number: Option<u64>) -> Result<Collective, (String, &'static str)> {
    const NAMES: [&str; 10] = [
        "ALL_REDUCE",
        "REDUCE",
        "ALL_GATHER",
        "GATHER",
        "SCATTER",
        "BROADCAST",
        "ALL_TO_ALL",
        "REDUCE_SCATTER",
        "REDUCE_SCATTER_BLOCK",
        "BARRIER",
    ];
    // The encoding leaves out what is zero, but a value of a oneof is always there.
    match number {
        // A barrier is a sum of nothing that all must have come to.
        Some(0 | 9) => Ok(Collective::AllReduce),
        Some(2) => Ok(Collective::AllGather),
        Some(6) => Ok(Collective::AllToAll),
        Some(7 | 8) => Ok(Collective::ReduceScatter),
        other => {
            let found = match other {
                None => "no comm_type".to_owned(),
                Some(number) => match NAMES.get(number as usize) {
                    Some(name) => format!("comm_type {name}"),
                    None => format!("comm_type {number}"),
                },
            };
            let allowed =
                "ALL_REDUCE, ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, BARRIER";
            Err((found, allowed))
        }
    }
}

#[cfg(test)]
#[path = "nodes_tests.rs"]
mod tests;
