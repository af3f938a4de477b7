//! GOAL schedules, as text or in binary: per rank, what it sends, receives and computes, and what
//! waits for what (Hoefler, Siebert and Lumsdaine, ICPP 2009; the schedules that LogGOPSim and ATLAHS
//! read). The text of one:
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//!   l1: calc 1000 cpu 0
//!   l2: send 4096b to 1 tag 7
//!   l2 requires l1
//! }
//! rank 1 {
//!   l1: recv 4096b from 0 tag 7
//! }
//! ```
//!
//! A send and a receive belong together by their ranks and their tag, in the order of the file. What
//! waits for a receive waits for its message and for what the receive itself waits for; what waits for a
//! send waits for its acknowledgment; `irequires` waits for a start.

mod binary;
mod lines;
mod resolve;

pub(crate) use resolve::template;

use super::WorkloadError;
use lines::Rank;
use std::path::Path;

/// What a file says.
pub(crate) struct File {
    pub(crate) ranks: Vec<Rank>,
    form: Form,
}

/// How a file is written, which is what a place in it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// Places are lines, from 1.
    Text,
    /// Places are bytes, from 0.
    Binary,
}

impl Form {
    /// An error at a place of the file `name`.
    fn wrong(
        self,
        key: &str,
        found: impl Into<String>,
        allowed: &str,
        (name, place): (&Path, u64),
    ) -> WorkloadError {
        match self {
            Form::Text => WorkloadError::at(key, found, allowed).in_file(name, place),
            Form::Binary => {
                let found = format!("{} at byte {place}", found.into());
                let file = Some(name.into());
                WorkloadError { file, ..WorkloadError::at("", found, allowed) }
            }
        }
    }

    /// A place that is told beside that of an error.
    fn place(self, place: u64) -> String {
        match self {
            Form::Text => format!("line {place}"),
            Form::Binary => format!("byte {place}"),
        }
    }
}

/// Reads a schedule.
///
/// # Errors
/// A file that cannot be read, or is no schedule.
pub(crate) fn read(path: &Path, name: &Path) -> Result<File, WorkloadError> {
    let bytes = std::fs::read(path).map_err(|error| {
        let found = format!("{} ({})", name.display(), error.kind());
        WorkloadError::at("path", found, "a GOAL schedule that can be read")
    })?;
    if binary::begins(&bytes) {
        return Ok(File { ranks: binary::read(&bytes, name)?, form: Form::Binary });
    }
    Ok(File { ranks: lines::read(bytes, name)?, form: Form::Text })
}
