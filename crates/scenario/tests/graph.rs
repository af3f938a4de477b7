//! What only the graph can tell, at the line that asked for it.

mod common;

use common::one;

fn said(more: &str) -> String {
    let error = one(more).check().unwrap_err();
    format!("{}\n    {error}\n", more.trim())
}

/// Breaks if the engine's refusal loses the file's line.
#[test]
fn refusals_name_their_line() {
    let all = [
        said("[[topology.change]]\nlink = \"leaf0-spine9\"\nrate = \"1Gbps\""),
        said("[[topology.change]]\nat = \"1ms\"\nlink = \"host0-leaf0\"\nstate = \"down\""),
        said(
            "[[topology.change]]\nlink = \"leaf0-spine0\"\nstate = \"down\"\n\
             [[topology.change]]\nlink = \"leaf0-spine1\"\nstate = \"down\"",
        ),
        said("[[probe]]\nkind = \"queue\"\nports = \"leaf7-*\"\nevery = \"1us\""),
        said("senders = \"leaf0\"\nreceivers = \"leaf0\""),
        said("senders = [1, 1]"),
        said("[aqm]\nscheme = \"red\"\nmin_threshold = \"90pkt\"\nmax_threshold = \"30pkt\""),
        said("[aqm]\nscheme = \"balancer\""),
    ];
    insta::assert_snapshot!(all.concat());
}

/// Breaks if a good scenario is refused.
#[test]
fn a_good_scenario_passes() {
    one("").check().unwrap();
}
