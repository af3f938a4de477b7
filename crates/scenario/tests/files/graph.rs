//! What only the graph can tell, at the line that asked for it.

use crate::common::{BASE, cases, one};

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

/// Breaks if a round trip is taken that timestamps cannot tell: its samples would be too short.
#[test]
fn round_trips_beyond_timestamps_are_refused() {
    let long = BASE.replace("5us", "18s");
    let error = cases(&long, &[]).unwrap()[0].check().unwrap_err();
    assert_eq!(
        error.to_string(),
        "f.toml:1: topology: found a round trip of 144.000004928s in the empty fabric; \
         allowed: at most 140s"
    );
    cases(&BASE.replace("5us", "17s"), &[]).unwrap()[0].check().unwrap();
}

/// Breaks if a good scenario is refused.
#[test]
fn a_good_scenario_passes() {
    one("").check().unwrap();
}
