//! A file that a scenario names, a trace or a fabric, by its path and held to its contents.
//!
//! The resolved scenario names the file by its absolute path and carries a checksum of what is in
//! it: a result belongs to the flows that made it, not to a name that something else may bear by now.

use crate::error::ScenarioError;
use crate::scale::Trips;
use crate::section::Section;
use crate::tree::quote;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The file's absolute path; it and the checksum are written out. `what` is `a CSV file`.
///
/// # Errors
/// If the file cannot be read, or is not the one that a given checksum was taken of.
pub(crate) fn path(section: &mut Section<'_>, what: &str) -> Result<PathBuf, ScenarioError> {
    let files = paths(section, what, |_| Ok(Vec::new()))?;
    Ok(files.into_iter().next().unwrap_or_default())
}

/// The same with the files that `others` knows to belong to it: the checksum is that of all of them.
///
/// # Errors
/// Those of [`path`], of any file, and what `others` allows instead of a path.
pub(crate) fn paths(
    section: &mut Section<'_>,
    what: &str,
    others: impl Fn(&Path) -> Result<Vec<PathBuf>, String>,
) -> Result<Vec<PathBuf>, ScenarioError> {
    let allowed = format!("the path of {what}, from the scenario's folder");
    let Some(node) = section.node("path") else {
        return Err(section.wrong("path", "nothing", allowed));
    };
    let Some(name) = node.text() else {
        return Err(section.wrong("path", node.shown(), allowed));
    };
    let path = section.place.base.join(name);
    let readable = |error: &io::Error| {
        let found = format!("{} ({})", node.shown(), error.kind());
        section.wrong("path", found, format!("{what} that can be read"))
    };
    let path = std::path::absolute(path).map_err(|error| readable(&error))?;
    // A survey asks for keys, with a file that is none.
    if section.place.survey.is_none() && endless(&path) {
        let found = format!("{}, which is not a regular file", node.shown());
        return Err(section.wrong("path", found, what));
    }
    let mut sum = section.place.files_read.of(&path).map_err(|error| readable(&error))?;
    let more = others(&path).map_err(|allowed| section.wrong("path", node.shown(), allowed))?;
    if !more.is_empty() {
        let sums = more.iter().map(|file| section.place.files_read.of(file));
        let sums: String = sums.collect::<io::Result<_>>().map_err(|error| readable(&error))?;
        sum = of_text(&(sum + &sums));
    }
    if let Some(node) = section.node("checksum")
        && node.text() != Some(&sum)
    {
        let allowed = format!("{} (the file has changed since), or no checksum", quote(&sum));
        return Err(section.wrong("checksum", node.shown(), allowed));
    }
    section.write("path", quote(&path.display().to_string()));
    section.write("checksum", quote(&sum));
    Ok([vec![path], more].concat())
}

/// Whether a path is that of a device, a pipe or a socket: there may be no end of it, and it can be
/// read once at most.
pub(crate) fn endless(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| !file.is_file() && !file.is_dir())
}

/// Makes a CSV file of a trace in Parquet's format, of which it is told the path and the checksum, and
/// says where it is, or why there is none.
pub type Converter = fn(&Path, &str) -> Result<PathBuf, String>;

/// What has been found out about other files: once, however many cases name them.
#[derive(Debug, Default)]
pub(crate) struct FilesRead {
    /// Checksums.
    found: RefCell<BTreeMap<PathBuf, String>>,
    /// Round trips of their fabrics.
    pub(crate) trips: Trips,
    converter: Option<Converter>,
}

impl FilesRead {
    pub(crate) fn new(converter: Option<Converter>) -> FilesRead {
        FilesRead { converter, ..FilesRead::default() }
    }

    /// The checksum of a file.
    pub(crate) fn of(&self, path: &Path) -> io::Result<String> {
        if let Some(sum) = self.found.borrow().get(path) {
            return Ok(sum.clone());
        }
        let sum = checksum(path)?;
        self.found.borrow_mut().insert(path.to_owned(), sum.clone());
        Ok(sum)
    }

    /// The file that the engine reads for the trace at `path`: itself, unless it is no text.
    ///
    /// # Errors
    /// What was found, if that is nothing the engine can be given.
    pub(crate) fn streamed(&self, path: &Path) -> Result<PathBuf, String> {
        let mut magic = [0; 4];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
        if read.is_err() || magic != *b"PAR1" {
            return Ok(path.to_owned());
        }
        match self.converter {
            Some(converter) => {
                let sum = self.of(path).map_err(|error| error.kind().to_string())?;
                converter(path, &sum)
            }
            None => Err("a Parquet file, which only leafspine's Python package reads".to_owned()),
        }
    }
}

/// Where FNV-1a begins.
const START: u64 = 0xcbf2_9ce4_8422_2325;

/// The checksum of a text: of others.
pub(crate) fn of_text(text: &str) -> String {
    format!("{:016x}", text.bytes().fold(START, fold))
}

/// A byte more.
fn fold(sum: u64, byte: u8) -> u64 {
    (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
}

/// 64-bit FNV-1a over the contents: against mistakes, not against malice.
fn checksum(path: &Path) -> io::Result<String> {
    let (mut file, mut buffer) = (File::open(path)?, vec![0; 1 << 16]);
    let mut sum = START;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(format!("{sum:016x}"));
        }
        sum = buffer[..read].iter().copied().fold(sum, fold);
    }
}
