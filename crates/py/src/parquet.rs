//! Traces in Parquet's format: pyarrow reads them, the engine streams what it makes of them.

use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// A CSV file with the rows of a Parquet file of this checksum, by `leafspine.traces.to_csv`.
///
/// # Errors
/// In words, if it cannot be read or written.
pub(crate) fn to_csv(path: &Path, checksum: &str) -> Result<PathBuf, String> {
    Python::attach(|py| {
        let module = py.import("leafspine.traces")?;
        module.call_method1("to_csv", (path, checksum))?.extract()
    })
    .map_err(|error: PyErr| error.to_string())
}
