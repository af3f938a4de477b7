//! The resolved scenario: every default written out, and stable.

mod common;

use common::{BASE, cases, one};

/// Breaks if a default changes, is left out, or if the order of keys does.
#[test]
fn every_default_is_written_out() {
    insta::assert_snapshot!(one("").toml);
}
