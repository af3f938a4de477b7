//! Whatever stands in a file, the answer is cases or one error.

use crate::common::{BASE, cases};
use proptest::prelude::*;

/// Lines that a file may have, right and wrong.
const LINES: &[&str] = &[
    "[aqm]",
    "[load_balancer]",
    "[[workload]]",
    "[[variant]]",
    "[sweep]",
    "[topology]",
    "[[topology.change]]",
    "[[probe]]",
    "[classes]",
    "[hold]",
    "scheme = \"presto\"",
    "scheme = \"red\"",
    "name = \"a\"",
    "kind = \"incast\"",
    "kind = \"window\"",
    "set = { \"workload.0\" = 3 }",
    "set = { \"\" = 3, scheme = \"tcp\" }",
    "workload = [[1, 2], { a = 1 }]",
    "sizes = [[1, 0.5], [\"2KB\", 1]]",
    "sizes = [{ sizes = [{ sizes = 3 }] }]",
    "senders = -1",
    "receivers = [0, 99999999999]",
    "weights = [1e300]",
    "queues = 9223372036854775807",
    "leaves = 65536",
    "links_per_pair = 65536",
    "hosts_per_leaf = 65536",
    "flap = { every = \"1us\", down_for = \"0us\", times = 1 }",
    "at = \"99999999999s\"",
    "load = -0.0",
    "load = inf",
    "short = \"..\"",
    "short = \"1..2\"",
    "\"a.b\" = [1]",
    "\"workload.0.sizes.0.0\" = [1, \"x\"]",
    "window = []",
    "path = \"\"",
    "points = [[1, 1]]",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Breaks if lines in any order and number make the parser panic.
    #[test]
    fn lines_at_random(picks in proptest::collection::vec(0..LINES.len() + 12, 0..12)) {
        let base: Vec<&str> = BASE.lines().collect();
        let line = |pick: usize| LINES.get(pick).copied().unwrap_or(base[(pick - LINES.len().min(pick)) % base.len()]);
        let text: Vec<&str> = base.iter().copied().chain(picks.iter().map(|pick| line(*pick))).collect();
        let _ = cases(&text.join("\n"), &[]);
    }

    /// Breaks if a file with a piece cut out, put in or overwritten makes the parser panic.
    #[test]
    fn mutations(at in 0usize..400, cut in 0usize..12, piece in "\\PC{0,6}|[\\[\\]{}=\".,0-9\n#']{0,6}") {
        let text: Vec<char> = BASE.chars().collect();
        let at = at.min(text.len());
        let end = (at + cut).min(text.len());
        let mutated: String =
            text[..at].iter().copied().chain(piece.chars()).chain(text[end..].iter().copied()).collect();
        let _ = cases(&mutated, &[]);
    }

    /// Breaks if an override makes the parser panic.
    #[test]
    fn overrides(
        key in "\\PC{0,8}|(workload|sweep|variant|aqm|topology)(\\.(0|1|x|load|sizes|change|name)){0,4}",
        value in "\\PC{0,10}|[\\[{]{0,3}[0-9]{0,3}[a-zA-Z]{0,4}[\\]}]{0,3}",
    ) {
        let _ = cases(BASE, &[(&key, &value)]);
    }
}

/// Breaks if deep nesting overflows the stack.
#[test]
fn deep_nesting() {
    let deep = format!("{BASE}senders = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(cases(&deep, &[]).is_err());
    let value = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(cases(BASE, &[("run.seed", &value)]).is_err());
    let key = ["a"; 100_000].join(".");
    assert!(cases(BASE, &[(&key, "1")]).is_err());
}

/// Breaks if a sweep that no memory can hold is tried.
#[test]
fn a_sweep_too_large_is_refused() {
    let values = format!("{:?}", (0..1000).collect::<Vec<_>>());
    let sweep: String = (0..12).map(|i| format!("\"workload.{i}.load\" = {values}\n")).collect();
    let error = cases(&format!("{BASE}[sweep]\n{sweep}"), &[]).map(|_| ()).unwrap_err();
    assert_eq!(error.found, "more cases than can be counted");
    let sweep: String = (0..2).map(|i| format!("\"workload.{i}.load\" = {values}\n")).collect();
    let error = cases(&format!("{BASE}[sweep]\n{sweep}"), &[]).map(|_| ()).unwrap_err();
    assert_eq!(error.found, "1000000 cases");
}
