//! What is said of schemes that could not act.

use crate::common::cases;
use leafspine_scenario::diagnosis::warnings;
use leafspine_sim::{Progress, Simulation};

/// Eight hosts of 400 Gb/s under each of four leaves; a base round trip of 4 x (530 + 500.8) ns, 4.12 us.
const FAST: &str = "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts_per_leaf = 8\n\
    host_link = { rate = \"400Gbps\", delay = \"500ns\" }\n\
    fabric_link = { rate = \"400Gbps\", delay = \"500ns\" }\n\
    [[workload]]\nsizes = \"web-search\"\nload = 0.6\nflows = 300\n";

/// The warnings that name `scheme`, of a run on [`FAST`] with these settings.
fn said(scheme: &str, sets: &[(&str, &str)]) -> Vec<String> {
    let case = cases(FAST, sets).unwrap_or_else(|e| panic!("{e}")).remove(0);
    let run = Simulation::new(&case.spec).unwrap_or_else(|e| panic!("{e}"));
    let output = run.run(&Progress::default()).unwrap_or_else(|e| panic!("{e}"));
    warnings(&case, &output).into_iter().filter(|line| line.starts_with(scheme)).collect()
}

/// Breaks if LetFlow with a gap that no flow ever pauses for passes for LetFlow, or if it is warned of with
/// a gap that fits the fabric, as the default does.
#[test]
fn flowlets_that_never_end_are_told() {
    let balancer = ("load_balancer.scheme", "letflow");
    assert_eq!(
        said("letflow", &[balancer, ("load_balancer.gap", "500us")]),
        ["letflow: 0 path changes in 108 flows that could have taken another path; its gap of \
          500 us is 121 base round trips"]
    );
    assert_eq!(said("letflow", &[balancer]), [""; 0]);
    let ars = [("load_balancer.scheme", "ars"), ("load_balancer.idle_time", "500us")];
    let late = said("ars: 0 path changes", &ars);
    assert!(late[0].ends_with("its idle_time of 500 us is 121 base round trips"), "{late:?}");
    let no_flowlets = ("load_balancer.mode", "fixed");
    assert_eq!(said("ars: 0 path changes", &[ars[0], ars[1], no_flowlets]), [""; 0]);
    let edge = [("load_balancer.scheme", "pinned"), ("host_edge.scheme", "clove-ecn")];
    let late = said("clove-ecn", &[edge[0], edge[1], ("host_edge.gap", "1ms")]);
    assert!(late[0].contains("its gap of 1 ms is 243 base round trips"), "{late:?}");
}

/// Breaks if flows that have no other path count: none leaves its rack here.
#[test]
fn flows_within_a_rack_have_no_path_to_change() {
    let sets = [
        ("load_balancer.scheme", "letflow"),
        ("load_balancer.gap", "500us"),
        ("workload.0.pattern", "intra-leaf"),
        ("workload.0.load_basis", "host"),
    ];
    assert_eq!(said("letflow", &sets), [""; 0]);
}

/// Breaks if a scheme that measures the network once in a while, or never within the run, is not told of.
#[test]
fn slow_periods_are_told() {
    let hula = ("load_balancer.scheme", "hula");
    assert_eq!(said("hula: its probe", &[hula]), [""; 0]);
    assert_eq!(
        said("hula: its probe", &[hula, ("load_balancer.probe_period", "200us")]),
        ["hula: its probe_period of 200 us is 49 base round trips"]
    );
    let never = said("hula: its probe", &[hula, ("load_balancer.probe_period", "1s")]);
    assert!(never[0].starts_with("hula: its probe_period of 1 s is longer than the run, "));
    let drill = [("load_balancer.scheme", "drill"), ("load_balancer.clone_delay", "621us")];
    assert_eq!(said("drill", &drill), ["drill: its clone_delay of 620 us is 151 base round trips"]);
    let qall = [("load_balancer.scheme", "qall"), ("load_balancer.update_period", "1ms")];
    assert_eq!(said("qall", &qall), ["qall: its update_period of 1 ms is 243 base round trips"]);
}

/// Breaks if a threshold that every packet is above, or none can reach, is not told of; or one in bytes
/// is held against a buffer in packets of any size.
#[test]
fn thresholds_out_of_reach_are_told() {
    let found = |threshold: &str| said("ecn-threshold: its", &[("aqm.threshold", threshold)]);
    assert_eq!(found("99pkt"), [""; 0]);
    assert_eq!(
        found("1499B"),
        ["ecn-threshold: its threshold of 1499B is less than a packet of 1500B"]
    );
    let small = [("switch.buffer", "40pkt"), ("aqm.threshold", "40pkt")];
    assert_eq!(
        said("ecn-threshold: its", &small),
        ["ecn-threshold: its threshold of 40pkt is not below the buffer of 40pkt: no queue gets \
          there"]
    );
    assert_eq!(said("ecn-threshold: its", &[small[0], ("aqm.threshold", "60KB")]), [""; 0]);
    let qdaps = [("load_balancer.scheme", "qdaps"), ("load_balancer.threshold", "9000pkt")];
    assert_eq!(said("qdaps", &qdaps), [""; 0]);
    let fixed = [qdaps[0], qdaps[1], ("load_balancer.reroute", "fixed")];
    assert_eq!(said("qdaps", &fixed).len(), 1);
}

/// Breaks if a queue manager that lets buffers overflow goes unnoticed, or one that was told that
/// packets cannot be marked is blamed without that.
#[test]
fn managers_that_do_nothing_are_told() {
    let small = ("switch.buffer", "15pkt");
    let idle = said("codel", &[small, ("aqm.scheme", "codel"), ("aqm.interval", "1ms")]);
    assert!(idle[0].starts_with("codel: marked and dropped nothing while full buffers dropped "));
    assert!(idle[0].ends_with("; its interval of 1 ms is 243 base round trips"), "{idle:?}");
    let unmarked = said(
        "ecn-threshold: marked",
        &[small, ("aqm.threshold", "5pkt"), ("transport.ecn", "false")],
    );
    assert!(unmarked[0].ends_with("; transport.ecn is false"), "{unmarked:?}");
    assert_eq!(said("ecn-threshold: marked", &[small, ("aqm.threshold", "5pkt")]), [""; 0]);
}

/// Breaks if waiting for timeouts far longer than a packet can be under way is not told of.
#[test]
fn late_timeouts_are_told() {
    let lossy = [("switch.buffer", "8pkt"), ("transport.scheme", "newreno")];
    let late = said("", &[lossy[0], lossy[1], ("transport.min_rto", "10ms")]);
    let late = late.iter().find(|line| line.contains("min_rto")).expect("a warning");
    assert!(
        late.ends_with(
            " waited for a timeout of 10 ms or longer: transport.min_rto is 2425 base round trips, \
             and a round trip with every buffer full takes 5.1 us"
        ),
        "{late}"
    );
    let fitting = said("", &lossy);
    assert!(!fitting.iter().any(|line| line.contains("min_rto")), "{fitting:?}");
}

/// Breaks if flows that share the entries of a table too small for them are not told of.
#[test]
fn shared_entries_are_told() {
    let small = [("load_balancer.scheme", "letflow"), ("load_balancer.entries", "16")];
    let found = said("letflow", &small);
    assert!(found[0].starts_with("letflow: "), "{found:?}");
    assert!(
        found[0].ends_with(
            " % of the flows under way share an entry of their switch's flow table with another; \
             have more entries"
        ),
        "{found:?}"
    );
}

/// Breaks if ACKs that ABQ could not time are not told of.
#[test]
fn acks_held_to_the_last_are_told() {
    let held = [
        ("hold.scheme", "abq"),
        ("hold.threshold", "2pkt"),
        ("hold.floor", "1pkt"),
        ("hold.max_hold", "1us"),
    ];
    let found = said("abq", &held);
    assert!(found[0].contains(" let go after max_hold, "), "{found:?}");
}
