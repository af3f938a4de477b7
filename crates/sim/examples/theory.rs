//! Prints what closed forms predict and what the engine gives, as JSON: the figures of
//! `docs/validation.md`. The cases are those of the tests in `tests/theory`.
//!
//! ```sh
//! cargo run --release -p leafspine-sim --example theory [PART OF A NAME] > validation/results/theory.json
//! ```

#[path = "../tests/theory/cases/mod.rs"]
mod cases;
#[path = "../tests/common/mod.rs"]
mod common;

use cases::Case;
use std::collections::BTreeMap;

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let mut found: Vec<(&str, Case)> = Vec::new();
    for (name, case) in cases::ALL.iter().filter(|(name, _)| name.contains(&wanted)) {
        eprintln!("{name}");
        found.push((name, case()));
    }
    let cases: Vec<_> = found.iter().map(|(name, case)| BTreeMap::from([(*name, case)])).collect();
    println!("{}", serde_json::to_string_pretty(&cases).expect("plain data"));
}
