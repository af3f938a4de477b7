//! What is wrong with a workload, and where.

use std::fmt;
use std::path::{Path, PathBuf};

/// Input that no flow can be made of.
///
/// Printed as `traces/a.csv:7: dst: found "400"; allowed: a host, 0 to 127`, without the file and
/// the line where there is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkloadError {
    /// The trace or table it stands in; `None` for the scenario itself.
    pub file: Option<Box<Path>>,
    /// Line of `file`, from 1.
    pub line: Option<u64>,
    /// The scenario's key (`workload.0.load`), or the column of `file`.
    pub key: String,
    /// What was found.
    pub found: String,
    /// What is allowed there.
    pub allowed: String,
    /// The name that was probably meant, if there is one.
    pub nearest: Option<Box<str>>,
}

impl WorkloadError {
    /// An error at a key of the workload. [`WorkloadError::within`] completes the key.
    pub(crate) fn at(key: &str, found: impl Into<String>, allowed: impl Into<String>) -> Self {
        WorkloadError {
            file: None,
            line: None,
            key: key.to_owned(),
            found: found.into(),
            allowed: allowed.into(),
            nearest: None,
        }
    }

    /// The same error, found in a line of a file.
    pub(super) fn in_file(self, file: impl Into<PathBuf>, line: u64) -> Self {
        let file: PathBuf = file.into();
        WorkloadError { file: Some(file.into()), line: Some(line), ..self }
    }

    /// The same error with its key counted from the scenario's root, unless it is in a file of its
    /// own. One in a file that has no lines and no key of its own stays as it is.
    pub(crate) fn within(mut self, workload: usize) -> Self {
        let in_file_alone = self.file.is_some() && self.key.is_empty();
        if self.line.is_none() && !in_file_alone {
            self.key = format!("workload.{workload}.{}", self.key);
        }
        self
    }
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}:", file.display())?;
            if let Some(line) = self.line {
                write!(f, "{line}:")?;
            }
            f.write_str(" ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "found {}; allowed: {}", self.found, self.allowed)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean \"{nearest}\"?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for WorkloadError {}
