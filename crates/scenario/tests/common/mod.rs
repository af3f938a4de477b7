//! A small scenario and ways to change it.

#![allow(dead_code, reason = "each test file uses a part")]

use leafspine_scenario::{Case, ScenarioError, Source, expand};
use std::path::Path;

/// The smallest leaf-spine scenario that says nothing twice.
pub(crate) const BASE: &str = r#"[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_link = { rate = "10Gbps", delay = "5us" }
fabric_link = { rate = "10Gbps", delay = "5us" }

[[workload]]
sizes = "web-search"
load = 0.6
flows = 100
"#;

/// The cases of a text with overrides.
pub(crate) fn cases(text: &str, sets: &[(&str, &str)]) -> Result<Vec<Case>, ScenarioError> {
    let sets: Vec<(String, String)> =
        sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let base = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data"));
    expand(&Source { text, file: "f.toml", base, sets: &sets, options: &[] })
}

/// The only case of [`BASE`] with more text behind it.
pub(crate) fn one(more: &str) -> Case {
    let mut cases = cases(&format!("{BASE}{more}"), &[]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(cases.len(), 1);
    cases.remove(0)
}

/// The value of a key in the resolved text: `aqm.threshold`.
pub(crate) fn get(case: &Case, key: &str) -> String {
    let (section, key) = key.split_once('.').unwrap();
    let body = case.toml.split(&format!("[{section}]")).nth(1).unwrap();
    let line = body.lines().find(|line| line.starts_with(&format!("{key} = "))).unwrap();
    line.split_once(" = ").unwrap().1.to_owned()
}
