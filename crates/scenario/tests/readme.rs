//! The README's example of a scheme: the file that is shown is the file that is compiled and run.

#[expect(dead_code, reason = "the example's main is not called")]
#[path = "../examples/least_backlog.rs"]
mod least_backlog;

use leafspine_sim::Factories;
use std::path::Path;

/// Breaks if the README shows another program than the one that is compiled.
#[test]
fn the_readme_shows_the_example() {
    let file = include_str!("../examples/least_backlog.rs");
    let header = file.lines().take_while(|line| line.starts_with("//!")).count();
    let code: Vec<&str> = file.lines().skip(header + 1).collect();
    let block = format!("```rust\n{}\n```", code.join("\n"));
    assert!(include_str!("../../../README.md").contains(&block), "not in README.md:\n{block}");
}

/// Breaks if a scheme that is no part of the registry cannot be run on a scenario, or is not asked:
/// looking at the queues must beat looking away.
#[test]
fn the_example_runs_and_beats_ecmp() {
    let scenario =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/quickstart.toml"));
    let ecmp = least_backlog::mean_fct(scenario, &Factories::default());
    let ours = least_backlog::mean_fct(scenario, &least_backlog::ours());
    assert!(ours < 0.9 * ecmp, "{ours} us against {ecmp} us");
}
