//! The resolved scenario: every default written out, and the same when read again.

use crate::common::{BASE, cases, one};

/// A file that uses every section, none of it as by default.
const FULL: &str = r#"title = "All of it"

[topology]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts_per_leaf = 4
links_per_pair = 2
host_link = { rate = "0.5Gbps", delay = "12.5us", loss = 1e-4 }
fabric_link = { rate = "1Gbps", delay = "12500ns" }
host_delay = "20us"
host_jitter = "2us"

[[topology.change]]
link = "leaf0-spine1#1"
at = "1ms"
rate = "200Mbps"
loss = 0.5

[[topology.change]]
link = "leaf1-spine0"
flap = { every = "10ms", down_for = "1ms", times = 3 }

[switch]
shared_buffer = "9MB"
dt_alpha = 2
queues = 3
scheduler = "wrr"
weights = [4, 2, 1]
classifier = "stage"
host_ports = "unlimited"

[aqm]
scheme = "red"

[load_balancer]
scheme = "presto"

[host_edge]
scheme = "presto"

[transport]
scheme = "cubic"
init_cwnd = "15KB"
max_cwnd = "64KiB"
min_rto = "5ms"
delayed_ack = "1ms"
sack = false

[[workload]]
interarrival = "10us"
flows = 10
sizes = [{ weight = 1, sizes = "sizes.csv" }, { sizes = { kind = "uniform", low = "1B", high = "2KB" } }]
senders = "leaf0"
receivers = [4, 5, 6]
pattern = "any"
start = "1ms"

[[workload]]
kind = "incast"
sizes = { kind = "pareto", mean = "10KB", shape = 1.05 }
receivers = { first = 1 }
senders = "the rest"
rounds = 2
every = "10ms"
fan_in = 3

[[workload]]
kind = "long-flows"
count = 2
sizes = [["1KB", 0], [2500.5, 0.5], [4000, 1]]
senders = 2
receivers = "a random half"

[[workload]]
kind = "permutation"
sizes = { kind = "fixed", bytes = "1MB" }

[[workload]]
kind = "all-to-all"
sizes = { kind = "fixed", bytes = "1MB" }
stagger = "1us"

[[workload]]
kind = "trace"
path = "trace.csv"

[run]
seed = 7
until = "2s"
ports = "general"

[classes]
tiny = "0..10KB"
"more than that" = "10KB.."

[measure]
window = ["10ms", "2s"]

[[probe]]
kind = "queue"
ports = "leaf0-*"
every = "100us"

[[probe]]
kind = "queue"
ports = "leaf1-*"
every = "100us"

[[probe]]
kind = "window"
flows = [0, 3]
every = "1ms"

[[probe]]
kind = "packets"
name = "all-packets"
ports = "leaf0-spine0"
"#;

/// The absolute folder of the trace differs from machine to machine.
fn portable(toml: &str) -> String {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    toml.replace(data, "DATA")
}

/// Breaks if a default changes, is left out, or if the order of keys does.
#[test]
fn every_default_is_written_out() {
    insta::assert_snapshot!(one("").toml);
}

/// Breaks if a value is lost or changed on its way, whatever its section.
#[test]
fn every_section_is_written_out() {
    let case = cases(FULL, &[]).unwrap_or_else(|e| panic!("{e}")).remove(0);
    case.check().unwrap_or_else(|e| panic!("{e}"));
    insta::assert_snapshot!(portable(&case.toml));
}

/// Breaks if the resolved text, read again, means or says something else: it could be no key then.
#[test]
fn resolved_text_resolves_to_itself() {
    let star = "[topology]\nkind = \"star\"\nhosts = 4\nhost_link = { rate = \"1Gbps\", delay = \"1us\" }\n\
                [[workload]]\nsizes = \"hadoop\"\nrate = \"2Gbps\"\nflows = 1\n";
    let tree = BASE.replace(
        "\"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf",
        "\"tree\"\ntors = 3\nhosts_per_tor",
    );
    let fat = BASE.replace(
        "\"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4",
        "\"fat-tree\"\nk = 4",
    );
    for text in [BASE, FULL, star, &tree, &fat, &format!("scheme = \"presto\"\n{BASE}")] {
        let first = cases(text, &[]).unwrap_or_else(|e| panic!("{e}")).remove(0);
        let again =
            cases(&first.toml, &[]).unwrap_or_else(|e| panic!("{e}\n{}", first.toml)).remove(0);
        assert_eq!(first.toml, again.toml);
        assert_eq!(format!("{:?}", first.spec), format!("{:?}", again.spec));
    }
}

/// Breaks if a duration or a warm-up is lost on its way or does not read as itself, or if a scenario
/// without them is written otherwise than before there were any: results are found by that text.
#[test]
fn durations_and_warmups_are_written_only_if_given() {
    let with = |duration: &str, warmup: &str| {
        let text = BASE.replace("flows = 100", duration);
        cases(&format!("{text}[measure]\n{warmup}"), &[])
            .unwrap_or_else(|e| panic!("{e}"))
            .remove(0)
    };
    let case = with("duration = \"0.2s\"", "warmup = \"20000us\"");
    assert!(case.toml.contains("load_basis = \"fabric\"\nduration = \"200ms\"\nsizes"));
    assert!(case.toml.contains("[measure]\nwindow = \"arrivals\"\nwarmup = \"20ms\"\n"));
    assert!(!case.toml.contains("flows ="));
    let again = cases(&case.toml, &[]).unwrap_or_else(|e| panic!("{e}")).remove(0);
    assert_eq!(
        (&case.toml, format!("{:?}", case.spec)),
        (&again.toml, format!("{:?}", again.spec))
    );
    assert_eq!(with("flows = 100", "warmup = \"0ms\"").toml, one("").toml);
}

/// Breaks if a quiet parameter with its default is written out, even where the file gives it, or one with
/// another value is not: results of before there was such a parameter are found by the text without it.
#[test]
fn quiet_parameters_are_written_only_if_they_differ() {
    let with = |key: &str| {
        let text = format!("{BASE}[hold]\nscheme = \"abq\"\n{key}");
        cases(&text, &[]).unwrap_or_else(|e| panic!("{e}")).remove(0)
    };
    let (silent, same, other) = (with(""), with("pace = \"0ns\"\n"), with("pace = \"80ns\"\n"));
    assert!(silent.toml.contains("corrector = true\n") && !silent.toml.contains("pace"));
    assert_eq!(silent.toml, same.toml);
    assert!(other.toml.contains("pace = \"80ns\"\n"));
    let again = cases(&other.toml, &[]).unwrap_or_else(|e| panic!("{e}")).remove(0);
    assert_eq!(
        (other.toml, format!("{:?}", other.spec)),
        (again.toml, format!("{:?}", again.spec))
    );
}

/// Breaks if a default that has changed changes the keys of kept results or what a kept scenario does: the
/// resolved text leaves out what the scheme did before it had the parameter, and without the key means that.
#[test]
fn a_changed_default_changes_no_resolved_scenario() {
    let queues = "[switch]\nqueues = 3\nscheduler = \"wrr\"\nweights = [4, 2, 1]\nclassifier = \"stage\"\n\
                  stage_queues = [0, 1, 1, 1, 1, 2]\n[aqm]\nscheme = \"ml-ecn\"\n";
    let with = |top: &str, key: &str| {
        let text = format!("{top}{BASE}{queues}[load_balancer]\nscheme = \"aq-car\"\n{key}");
        let case = cases(&text, &[]).unwrap_or_else(|e| panic!("{e}")).remove(0);
        let again = cases(&case.toml, &[]).unwrap_or_else(|e| panic!("{e}")).remove(0);
        assert_eq!(
            (&case.toml, format!("{:?}", case.spec)),
            (&again.toml, format!("{:?}", again.spec))
        );
        let level = case.spec.balancer.params.0["stop_level"].to_string();
        (level, case.toml.contains("stop_level = "))
    };
    let said = |level: &str| (level.to_owned(), true);
    let silent = |level: &str| (level.to_owned(), false);
    assert_eq!([with("", ""), with("", "stop_level = 2\n")], [said("2"), said("2")]);
    assert_eq!(with("", "stop_level = 1\n"), silent("1"));
    // As it was resolved before there was the key.
    assert_eq!(with("version = \"0.1.0\"\n", ""), silent("1"));
}

/// Breaks if two ways to write one scenario give two keys.
#[test]
fn notation_does_not_matter() {
    let other = BASE
        .replace("\"10Gbps\"", "\"10000Mbps\"")
        .replace("\"5us\"", "\"0.005ms\"")
        .replace("load = 0.6", "load = 6e-1");
    assert_eq!(cases(&other, &[]).unwrap()[0].toml, one("").toml);
    let spaced = BASE
        .replace("\"10Gbps\"", "\"10_000 Mb/s\"")
        .replace("\"5us\"", "\"5 \u{b5}s\"")
        .replace("flows = 100", "flows = 1e2\nreceivers = [4.0, 5]\nstart = \" 0 us\"")
        .replace("leaves = 2", "leaves = 2.0")
        .replace("spines = 2", "spines = \"2\"");
    let more =
        "[classes]\nshort = \"0 .. 100 KB\"\n[switch]\nbuffer = \"256 pkt\"\nweights = [1.0]\n";
    let plain = one("receivers = [4, 5]\n[classes]\nshort = \"0..100KB\"\n");
    assert_eq!(cases(&format!("{spaced}{more}"), &[]).unwrap()[0].toml, plain.toml);
}

/// Breaks if a trace that has changed passes for the one a result was made from.
#[test]
fn a_trace_is_held_to_its_checksum() {
    let text = "[[workload]]\nkind = \"trace\"\npath = \"trace.csv\"\nchecksum = \"0\"\n";
    let error = cases(&format!("{BASE}{text}"), &[]).map(|_| ()).unwrap_err();
    insta::assert_snapshot!(error, @r#"f.toml:16: workload.1.checksum: found "0"; allowed: "78252fcf0b688b99" (the file has changed since), or no checksum"#);
}

/// Breaks if the queue manager's default does not follow the transport.
#[test]
fn the_default_queue_manager_follows_the_transport() {
    assert_eq!(one("").spec.aqm.name, "ecn-threshold");
    let newreno = one("[transport]\nscheme = \"newreno\"\n");
    assert_eq!(newreno.spec.aqm.name, "droptail");
    assert_eq!(newreno.spec.transport.ecn, Some(false));
}

/// Breaks if a class's bounds are not those its notation states.
#[test]
fn classes_are_open_below_and_closed_above() {
    let classes = one("").classes;
    let of = |bytes| -> Vec<&str> {
        classes.iter().filter(|class| class.holds(bytes)).map(|class| class.name.as_str()).collect()
    };
    assert_eq!(of(0), ["short"]);
    assert_eq!(of(100_000), ["short"]);
    assert_eq!(of(100_001), ["medium"]);
    assert_eq!(of(999_999), ["medium"]);
    assert_eq!(of(1_000_000), ["medium"]);
    assert_eq!(of(1_000_001), ["long"]);
}
