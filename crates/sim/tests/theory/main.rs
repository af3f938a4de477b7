//! Theory: closed forms that the engine must meet, each within a limit that has a reason.
//!
//! The same figures are in `validation/results/theory.json` and on the page `docs/validation.md`; a
//! test fails if they are no longer what the engine gives.

mod cases;
#[path = "../common/mod.rs"]
mod common;
mod ideal;

use cases::Case;
use serde_json::Value;

/// The figures of the documentation.
const STORED: &str = include_str!("../../../../validation/results/theory.json");

/// Holds every row to its limit, and the documentation to the rows.
fn check(name: &str) {
    let case = cases::ALL.iter().find(|(other, _)| *other == name).expect("is listed").1;
    let case: Case = case();
    for row in &case.rows {
        let (found, off) = (row.measured, (row.measured - row.prediction).abs());
        println!("{}: {found} for {}, {:?}", row.setting, row.prediction, row.allowed);
        let fits = row.allowed.is_none_or(|allowed| off <= allowed);
        assert!(fits, "{}, {}: {found} for {}", row.setting, row.figure, row.prediction);
    }
    let stored: Vec<Value> = serde_json::from_str(STORED).expect("JSON");
    let stored = stored.iter().find_map(|case| case.get(name));
    let now = serde_json::to_value(&case).expect("plain data");
    assert!(stored == Some(&now), "the stored figures are others: run make validate-theory");
}

/// Breaks if a case is not tested, or stored without being one.
#[test]
fn every_case_is_here() {
    let source = include_str!("main.rs");
    let stored: Vec<Value> = serde_json::from_str(STORED).expect("JSON");
    assert_eq!(stored.len(), cases::ALL.len());
    for (name, _) in cases::ALL {
        assert!(source.contains(&format!("check(\"{name}\")")), "{name}");
    }
}

/// Breaks if any hop adds or loses a picosecond, or a packet is not sent back to back.
#[test]
fn a_lone_flow() {
    check("lone-flow");
}

/// Breaks if the timeout does not double, or not up to its maximum.
#[test]
fn syn_timeouts_double() {
    check("syn-timeouts");
}

/// Breaks if a round of slow start grows by anything but the packets acknowledged, or if ACKs wait.
#[test]
fn slow_start_doubles() {
    check("slow-start");
}

/// Breaks if the last link idles though packets wait for it.
#[test]
fn incast_meets_its_bound() {
    check("incast");
}

/// Breaks if a queue serves too fast or too slow, or if arrivals are not Poisson.
#[test]
fn packets_of_one_size_wait_as_in_md1() {
    check("md1");
}

/// Breaks if a packet's time on the line is not that of its bytes.
#[test]
fn packets_of_two_sizes_wait_as_in_mg1() {
    check("mg1");
}

/// Breaks if a lower queue is served before a higher one, or interrupted.
#[test]
fn priorities_wait_as_cobham_says() {
    check("priority");
}

/// Breaks if a buffer of n holds one more or one less.
#[test]
fn a_full_buffer_drops_its_share() {
    check("full-buffer");
}

/// Breaks if spraying favours a port, or follows what is queued.
#[test]
fn sprayed_packets_wait_as_in_md1() {
    check("spraying");
}

/// Breaks if marks come at another backlog than K, or windows are cut by another share than alpha / 2.
#[test]
fn dctcp_saws() {
    check("dctcp");
}

/// Breaks if a loss does not halve the window once, or a round trip does not add one packet.
#[test]
fn throughput_follows_the_square_root() {
    check("square-root");
}

/// Breaks if the cubic has another constant, or Reno's region is missed.
#[test]
fn cubic_follows_its_response_function() {
    check("cubic");
}

/// Breaks if weights do not decide shares.
#[test]
fn weights_decide_shares() {
    check("round-robin");
}

/// Breaks if a queue's unused share goes to the wrong one, or equal flows do not share equally.
#[test]
fn long_flows_are_max_min_fair() {
    check("max-min");
}

/// Breaks if the estimator's time constant, discount or scale is another.
#[test]
fn the_rate_estimator_knows_a_rate() {
    check("rate-estimator");
}

/// Breaks if feedback does not reach the leaf, or the least metric is not taken.
#[test]
fn conga_makes_metrics_equal() {
    check("conga");
}

/// Breaks if a queue pair leaves a gap between two packets, or the line anything.
#[test]
fn a_lone_queue_pair_has_the_line() {
    check("lone-queue-pair");
}

/// Breaks if flow control or DCQCN prefers one of several senders.
#[test]
fn queue_pairs_share_a_link() {
    check("queue-pairs");
}

/// Breaks if a pause begins or ends a picosecond early or late.
#[test]
fn pauses_begin_and_end_as_they_should() {
    check("pauses");
}

/// Breaks if a recovery sends more or waits longer than its rules make it.
#[test]
fn recoveries_lose_what_they_must() {
    check("recovery");
}

/// Breaks if a step of a ring takes longer than its bytes and its way.
#[test]
fn all_reduce_takes_its_steps() {
    check("all-reduce");
}
