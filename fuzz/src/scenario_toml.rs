//! Scenario files: any text gives cases or one error, and each case is written out as a file that
//! gives itself.

use leafspine_scenario::{Source, expand, single};
use std::path::Path;

/// The folder of the files that scenarios may name.
pub fn base() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/scenario/tests/data"))
}

/// Reads the text, and what it was resolved to once more.
///
/// # Panics
/// If the reader does, if an error says nothing, or if a resolved case reads as another.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // A device never ends; who names one as a trace waits for ever, and may.
    if ["/dev", "/proc", "/sys"].iter().any(|device| text.contains(device)) {
        return;
    }
    match expand(&Source { text, file: "fuzz.toml", base: base(), sets: &[], options: &[] }) {
        Err(error) => {
            assert!(!error.found.is_empty() && !error.allowed.is_empty(), "{error:?}");
            let lines = text.lines().count().max(1);
            // A text that ends too early is wrong behind its last line.
            assert!(error.line.is_none_or(|line| (1..=lines + 1).contains(&line)), "{error}");
        }
        Ok(cases) => cases.iter().take(4).for_each(|case| reads_as_itself(&case.toml)),
    }
}

/// Breaks off if a resolved text gives any other.
///
/// # Panics
/// Then.
pub fn reads_as_itself(toml: &str) {
    let again = single(toml, "resolved.toml", base());
    let again = again.unwrap_or_else(|error| panic!("a resolved scenario: {error}\n{toml}"));
    assert_eq!(again.toml, toml, "a resolved scenario that reads as another");
}
