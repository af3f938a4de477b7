//! Decision vectors: any text is replayed, or refused with a line and a reason. What a replay
//! writes is a vector that gives itself.

use crate::scenario_run::few;
use crate::vectors::header::Header;
use crate::vectors::vector::replay;

/// Whether its scheme's tables are made in no time. A header that is refused is small.
fn small(text: &str) -> bool {
    let header: Vec<&str> =
        text.lines().take_while(|line| !line.starts_with(|c: char| c.is_ascii_digit())).collect();
    Header::parse(&header).map_or(true, |header| few(&header.params))
}

/// Replays the text.
///
/// # Panics
/// If the reader or a scheme does, or if the vector that is written reads as another.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if !small(text) {
        return;
    }
    match replay(text) {
        Err((line, why)) => {
            assert!(line <= text.lines().count().max(1), "line {line} is not there");
            assert!(!why.is_empty(), "refused without a reason");
        }
        Ok(written) => {
            let again = replay(&written).unwrap_or_else(|(line, why)| panic!("{line}: {why}"));
            assert_eq!(again, written, "a vector that reads as another");
        }
    }
}
