//! The exact text of every refusal.

use crate::common::{BASE, cases, one};
use leafspine_scenario::{Source, expand};
use std::path::Path;

/// What the scenario says that `BASE` becomes when `from` is replaced by `to`.
fn said(from: &str, to: &str) -> String {
    assert!(from.is_empty() || BASE.contains(from), "{from} is not in BASE");
    let text = if from.is_empty() { format!("{BASE}{to}") } else { BASE.replacen(from, to, 1) };
    match cases(&text, &[]) {
        Ok(_) => "nothing wrong".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// One line for each change: the change and what is said about it.
fn table(changes: &[(&str, &str)]) -> String {
    let line = |(from, to): &(&str, &str)| format!("{}\n    {}\n", to.trim(), said(from, to));
    changes.iter().map(line).collect()
}

/// Breaks if an unknown name is taken, or if the message does not say where, what and what instead.
#[test]
fn unknown_names() {
    insta::assert_snapshot!(table(&[
        ("leaves = 2", "leafs = 2"),
        ("spines = 2", "spines = 2\nhosts = 3"),
        ("\"leaf-spine\"", "\"leafspine\""),
        ("", "[swich]\nqueues = 1"),
        ("", "sede = 1"),
        ("", "[load_balancer]\nscheme = \"letflo\""),
        ("", "[load_balancer]\nscheme = \"letflow\"\ngapp = \"1ms\""),
        ("", "[load_balancer]\ngap = \"1ms\""),
        ("", "[transport]\nscheme = \"newreno\"\ninitial_alpha = 1"),
        ("\"web-search\"", "\"web-serch\""),
        ("\"web-search\"", "\"100KB\""),
        ("leaves = 2", "leaves = 2\nfile = \"a.csv\""),
        ("rate = \"10Gbps\"", "bandwidth = \"10Gbps\""),
        ("", "[measure]\nwindows = \"all\""),
    ]));
}

/// Breaks if a quantity with a wrong, missing or too fine unit is taken, or one out of range.
#[test]
fn quantities() {
    insta::assert_snapshot!(table(&[
        ("delay = \"5us\"", "delay = \"5usec\""),
        ("delay = \"5us\"", "delay = 5"),
        ("delay = \"5us\"", "delay = \"5\""),
        ("delay = \"5us\"", "delay = \"-5us\""),
        ("delay = \"5us\"", "delay = \"0.0001ns\""),
        ("delay = \"5us\"", "delay = \"5us\", loss = 1.0"),
        ("delay = \"5us\"", "delay = \"5us\", loss = -0.1"),
        ("delay = \"5us\"", "delay = \"5us\", loss = \"1%\""),
        ("rate = \"10Gbps\"", "rate = \"0Gbps\""),
        ("rate = \"10Gbps\"", "rate = \"10GB\""),
        ("", "[aqm]\nthreshold = 65"),
        ("", "[aqm]\nthreshold = \"0pkt\""),
        ("", "[aqm]\nthreshold = true"),
        ("", "[switch]\nbuffer = \"99999999999pkt\""),
        ("", "[transport]\ng = 7.0"),
        ("", "[transport]\nmax_cwnd = \"64\""),
        ("", "[transport]\nmin_rto = \"2s\"\nmax_rto = \"1s\""),
        ("", "[classes]\nshort = \"100KB..10KB\""),
        ("", "[classes]\nshort = \"100\""),
        ("", "[classes]\nall = \"0..1KB\""),
        ("", "[measure]\nwindow = [\"2ms\", \"1ms\"]"),
        ("", "[measure]\nwarmup = 20"),
        ("", "[measure]\nwarmup = \"20\""),
        ("", "[measure]\nrecovery = 0"),
        ("", "[measure]\nrecovery = 1.5"),
        ("", "[measure]\nrecovery = 0.9\nrecovery_window = \"0us\""),
        ("", "[measure]\nrecovery_window = \"1ms\""),
        ("", "[measure]\nrecovery = 0.9"),
        ("", "[run]\nseed = -1"),
    ]));
}

/// Breaks if a load that nothing can carry, or that nothing is a fraction of, is taken.
#[test]
fn loads() {
    insta::assert_snapshot!(table(&[
        ("load = 0.6", "load = -0.6"),
        ("load = 0.6", "load = 0"),
        ("load = 0.6", "load = \"60%\""),
        ("load = 0.6", "load = nan"),
        ("load = 0.6", "load = 10.5"),
        ("load = 0.6", "load = 60"),
        ("load = 0.6", "load = 10"),
        ("flows = 100", "flows = 1.5"),
        ("flows = 100", "flows = 1e19"),
        ("flows = 100", "flows = \"many\""),
        ("load = 0.6", "load = 0.6\nrate = \"1Gbps\""),
        ("load = 0.6", ""),
        ("load = 0.6", "interarrival = \"0us\""),
        ("load = 0.6", "interarrival = \"1us\"\nload_basis = \"host\""),
        ("flows = 100", ""),
        ("flows = 100", "flows = 0"),
        ("flows = 100", "flows = 100\nduration = \"1ms\""),
        ("flows = 100", "duration = \"0ms\""),
        ("flows = 100", "duration = 200"),
    ]));
    let star = "[topology]\nkind = \"star\"\nhosts = 4\nhost_link = { rate = \"1Gbps\", delay = \"1us\" }\n\
                [[workload]]\nsizes = \"web-search\"\nflows = 1\n";
    let said = |more: &str| cases(&format!("{star}{more}"), &[]).map(|_| ()).unwrap_err();
    insta::assert_snapshot!(said("load = 0.5"), @r#"f.toml:8: workload.0.load: found a load of the fabric on a star, which has none; allowed: load_basis = "host", an interarrival or a rate"#);
    insta::assert_snapshot!(said("load = 0.5\nload_basis = \"host\"\npattern = \"inter-leaf\""), @r#"f.toml:10: workload.0.pattern: found "inter-leaf" where all hosts are under one switch; allowed: "any", "intra-leaf""#);
}

/// Breaks if things that contradict each other are taken.
#[test]
fn contradictions() {
    insta::assert_snapshot!(table(&[
        ("", "[switch]\nqueues = 2\nscheduler = \"wrr\"\nweights = [4, 2, 1]"),
        ("", "[switch]\nqueues = 3\nscheduler = \"wrr\"\nweights = [4, 0, 1]"),
        ("", "[switch]\nqueues = 2"),
        ("", "[switch]\nbuffer = \"9KB\"\nshared_buffer = \"9MB\""),
        ("", "[switch]\ndt_alpha = 2.0"),
        ("", "[switch]\npfc = \"dynamic\""),
        ("", "[switch]\npfc_alpha = 0.5"),
        ("", "[switch]\nshared_buffer = \"9MB\"\npfc = \"static\""),
        ("", "[switch]\nshared_buffer = \"9MB\"\npfc = \"dynamic\"\npfc_threshold = \"9KB\""),
        ("", "[switch]\nshared_buffer = \"9MB\"\npfc = \"dynamic\"\npfc_action = \"drop\""),
        ("", "[switch]\nshared_buffer = \"9MB\"\npfc = \"dynamic\"\npfc_priorities = [1]"),
        (
            "",
            "[switch]\nshared_buffer = \"9MB\"\npfc = \"dynamic\"\nqueues = 9\nscheduler = \"wrr\""
        ),
        ("", "[[topology.change]]\nlink = \"leaf0-spine0\""),
        ("", "[[topology.change]]\nrate = \"1Gbps\""),
        (
            "",
            "[[topology.change]]\nlink = \"l\"\nflap = { every = \"1ms\", down_for = \"1ms\", times = 2 }"
        ),
        ("", "[[probe]]\nkind = \"queue\"\nports = \"leaf0-*\""),
        ("", "[[probe]]\nkind = \"packets\"\nports = \"leaf0-*\"\nevery = \"1us\""),
        ("", "[[probe]]\nkind = \"window\"\nname = \"flows\"\nevery = \"1us\""),
        ("leaves = 2", "leaves = 0"),
        ("leaves = 2", ""),
        ("hosts_per_leaf = 4", "hosts_per_leaf = 40000"),
        ("hosts_per_leaf = 4", "hosts_per_leaf = 2.5"),
        (
            "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4",
            "kind = \"fat-tree\"\nk = 5"
        ),
        ("host_link = { rate = \"10Gbps\", delay = \"5us\" }\n", ""),
        ("host_link = { rate = \"10Gbps\", delay = \"5us\" }", "host_link = \"10Gbps\""),
        ("", "senders = \"leaf2\""),
        ("", "senders = \"spine0\""),
        ("", "senders = [7, 8]"),
        ("", "senders = 9"),
        ("", "senders = \"the rest\"\nreceivers = \"the rest\""),
    ]));
}

/// Breaks if a buffer is taken that no full packet ever fits into (its flow would never end), or a
/// link on which two packets could arrive at one instant.
#[test]
fn limits() {
    insta::assert_snapshot!(table(&[
        ("", "[switch]\nbuffer = \"1499B\""),
        ("", "[switch]\nbuffer = \"1500B\""),
        ("", "[switch]\nbuffer = \"8KB\"\n[transport]\nmss = 8960"),
        ("", "[switch]\nshared_buffer = \"1KB\""),
        ("", "[switch]\nshared_buffer = \"1MB\"\ndt_alpha = 0.001"),
        ("", "[switch]\nshared_buffer = \"1500B\"\ndt_alpha = 8"),
        ("rate = \"10Gbps\"", "rate = \"8.1Tbps\""),
        ("rate = \"10Gbps\"", "rate = \"8Tbps\""),
        ("", "[[topology.change]]\nlink = \"leaf0-spine0\"\nrate = \"9Tbps\""),
    ]));
}

/// Breaks if sizes that are no distribution are taken, or their place is not named.
#[test]
fn sizes() {
    let sizes = |to: &str| format!("{to}\n    {}\n", said("\"web-search\"", to).replace('\\', "/"));
    let all: String = [
        "[[1000, 0.5], [500, 1.0]]",
        "[[1000, 0.5]]",
        "[]",
        "[[1000, 0.5, 3]]",
        "[{ weight = 0, sizes = \"web-search\" }]",
        "[{ weight = 1, sizes = \"hadop\" }]",
        "{ kind = \"pareto\", mean = \"10KB\", shape = 1.0 }",
        "{ kind = \"pareto\", mean = \"10KB\" }",
        "{ kind = \"uniform\", low = \"9KB\", high = \"1KB\" }",
        "{ kind = \"fixed\", size = \"9KB\" }",
        "\"missing.csv\"",
        "\"falling.csv\"",
        "7",
    ]
    .into_iter()
    .map(sizes)
    .collect();
    insta::assert_snapshot!(all);
}

/// Breaks if a file that is no TOML is reported without its line, or wrong types pass.
#[test]
fn toml() {
    insta::assert_snapshot!(table(&[
        ("leaves = 2", "leaves = "),
        ("leaves = 2", "leaves = 2\nleaves = 3"),
        ("\"leaf-spine\"", "leaf-spine"),
        ("leaves = 2", "leaves = \"two\""),
        ("leaves = 2", "leaves = 1979-05-27"),
        ("", "[workload.x]"),
        ("[[workload]]", "[workload]"),
        ("[[workload]]\nsizes = \"web-search\"\nload = 0.6\nflows = 100", "workload = []"),
        ("[topology]", "version = 1\n[topology]"),
        ("[topology]", "title = 1\n[topology]"),
        ("[topology]", "switch = 3\n[topology]"),
    ]));
}

/// Breaks if variants or sweeps that make no sense are taken.
#[test]
fn variants_and_sweeps() {
    insta::assert_snapshot!(table(&[
        ("", "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"a\""),
        ("", "[[variant]]\nset = {}"),
        ("", "[[variant]]\nname = \"a\"\nsets = {}"),
        ("", "[[variant]]\nname = \"a\"\nset = { \"load_balancer.scheem\" = \"ecmp\" }"),
        ("", "[[variant]]\nname = \"a\"\nset = { scheme = \"prest\" }"),
        ("", "[[variant]]\nname = \"a\"\nset = { \"sweep.run.seed\" = [1] }"),
        ("", "[sweep]\n\"workload.0.laod\" = [0.2]"),
        ("", "[sweep]\n\"workload.1.load\" = [0.2]"),
        ("", "[sweep]\n\"aqms.threshold\" = [\"1pkt\"]"),
        ("", "[sweep]\n\"run.seed\" = []"),
        ("", "[sweep]\n\"run.seed\" = 3"),
        ("", "[sweep]\n\"run seed\" = [3]"),
        ("[topology]", "scheme = \"dctpc\"\n[topology]"),
    ]));
}

/// Breaks if an override is blamed on the file.
#[test]
fn overrides() {
    let said = |key: &str, value: &str| {
        let error = cases(BASE, &[(key, value)]).map(|_| ()).unwrap_err();
        format!("--set {key}={value}\n    {error}\n")
    };
    let all = [
        said("aqm.treshold", "40pkt"),
        said("aqm.threshold", "40"),
        said("workload.3.load", "0.4"),
        said("workload.0.load", "-1"),
        said("run.seed.x", "1"),
        said("load_balancer", "ecmp"),
        said("no key", "1"),
        said("workload.0.load", "30"),
        said("sweep.workload.0.load", "[0.3, 60]"),
    ];
    insta::assert_snapshot!(all.concat());
}

/// Breaks if an override that came by an option of its own is blamed on `--set`.
#[test]
fn options_are_blamed_by_name() {
    let said = |option: &str, key: &str, value: &str| {
        let (sets, options) = ([(key.to_owned(), value.to_owned())], [option.to_owned()]);
        let source = Source {
            text: BASE,
            file: "f.toml",
            base: Path::new(""),
            sets: &sets,
            options: &options,
        };
        let error = expand(&source).map(|_| ()).unwrap_err();
        format!("{option} as {key}={value}\n    {error}\n")
    };
    let variant = |set: &str| format!("[{{ name = \"a\", set = {{ {set} }} }}]");
    let all = [
        said("--load", "sweep.workload.0.load", "[30.0, 60.0]"),
        said("--seed", "run.seed", "-1"),
        said("--seeds", "sweep.run.seed", "[-1]"),
        said("--lb", "variant", &variant("\"load_balancer.scheme\" = \"LetFlow\"")),
        said("--lb", "variant", &variant("\"load_balancer.scheme\" = \"pinned\"")),
        said("--lb", "variant", &variant("\"aqm.scheme\" = \"RED\"")),
    ];
    insta::assert_snapshot!(all.concat());
}

/// Breaks if a file's bytes reach the terminal, or if it is not said what a file is that is no text.
#[test]
fn files_that_are_no_text() {
    let trace = |file: &str| {
        let sets = [("workload", format!("[{{ kind = \"trace\", path = \"{file}\" }}]"))];
        let sets: Vec<_> = sets.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let case = cases(BASE, &sets).unwrap_or_else(|e| panic!("{e}")).remove(0);
        case.check().unwrap_err().to_string()
    };
    let said =
        |file: &str| format!("{file}\n    {}\n", said("\"web-search\"", &format!("\"{file}\"")));
    let all: String = ["sizes.csv.gz", "binary.csv", "utf16.csv", "escape.csv"].map(said).concat();
    let traces = ["sizes.csv.gz", "binary.csv", "escape.csv"].map(trace).join("\n");
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/");
    let all = all + &traces.replace(here, "");
    assert!(!all.contains(|c: char| c.is_control() && c != '\n'), "{all:?}");
    insta::assert_snapshot!(all);
}

/// Breaks if the parts of an error are not those of its message.
#[test]
fn parts() {
    let text = BASE.replace("leaves", "leafs");
    let error = cases(&text, &[]).map(|_| ()).unwrap_err();
    assert_eq!(error.file, "f.toml");
    assert_eq!(error.line, Some(3));
    assert_eq!(error.key, "topology.leafs");
    assert_eq!(error.nearest.as_deref(), Some("leaves"));
}

/// Breaks if stages can be mapped to queues that are not there, or where nothing reads the map.
#[test]
fn stages_go_to_queues_that_there_are() {
    let three = "[switch]\nqueues = 3\nscheduler = \"wrr\"\n";
    let stage = format!("{three}classifier = \"stage\"\nstage_queues = [0, 1, 3]");
    let hash = format!("{three}stage_queues = [0, 1]");
    insta::assert_snapshot!(table(&[("", &stage), ("", &hash)]));
}

/// Breaks if a scheme is taken where it can do nothing.
#[test]
fn schemes_that_make_no_sense_together() {
    let bender = "[load_balancer]\nscheme = \"rps\"\n[host_edge]\nscheme = \"flowbender\"";
    let queues = "scheme = \"ml-ecn\"\n[switch]\nqueues = 2\nscheduler = \"wrr\"";
    insta::assert_snapshot!(table(&[
        ("", "[aqm]\nscheme = \"mq-ecn\""),
        ("", bender),
        ("", "[load_balancer]\nscheme = \"aq-car\""),
        ("", &format!("[aqm]\n{queues}")),
    ]));
}

/// Breaks if flowcells are cut for a balancer that does not read them, or if a receiver may not put in
/// order what another balancer has mixed up.
#[test]
fn flowcells_are_for_presto() {
    let beside = |balancer: &str, more: &str| {
        format!(
            "[load_balancer]\nscheme = \"{balancer}\"\n[host_edge]\nscheme = \"presto\"\n{more}"
        )
    };
    insta::assert_snapshot!(table(&[
        ("", "[host_edge]\nscheme = \"presto\""),
        ("", &beside("letflow", "cell = \"1B\"")),
        ("", &beside("drill", "reassemble = true\ncell = \"1461B\"")),
        ("", &beside("drill", "reassemble = true\ncell = \"1460B\"")),
        ("", &beside("presto", "")),
    ]));
}

/// Breaks if an edge that steers by marks is taken where there are none: without ECN, or with queues that
/// never mark, given or by default.
#[test]
fn edges_that_steer_by_marks_see_some() {
    let edge = |bundle: &str, more: &str| format!("scheme = \"{bundle}\"\n{more}[topology]");
    let said = |bundle: &str, more: &str| table(&[("[topology]", &edge(bundle, more))]);
    let newreno = "[transport]\nscheme = \"newreno\"\n";
    let all = [
        said("flowbender", "[transport]\necn = false\n"),
        said("clove-ecn", newreno),
        said("hermes", "[aqm]\nscheme = \"droptail\"\n"),
        said("hermes", "[transport]\nscheme = \"newreno\"\necn = true\n"),
        said("flowbender", "[aqm]\nscheme = \"codel\"\necn = false\n"),
        said("flowbender", "[aqm]\nscheme = \"codel\"\n"),
        said("hermes", "[transport]\nscheme = \"newreno\"\necn = true\n[aqm]\nscheme = \"red\"\n"),
        said("flex", newreno),
    ];
    insta::assert_snapshot!(all.concat());
}

/// Breaks if `pinned` is taken where nothing gives it a path, or a trace's paths where an edge would write
/// over them; or if one trace cannot serve `pinned` and the balancers that it is compared with.
#[test]
fn paths_have_one_giver() {
    let trace = |file: &str, more: &str| {
        format!("[[workload]]\nkind = \"trace\"\npath = \"{file}\"\n{more}")
    };
    let balancer = |name: &str| format!("[load_balancer]\nscheme = \"{name}\"");
    let edge = "[load_balancer]\nscheme = \"pinned\"\n[host_edge]\nscheme = \"hermes\"";
    insta::assert_snapshot!(table(&[
        ("", &balancer("pinned")),
        ("", &trace("trace.csv", &balancer("pinned"))),
        ("", &trace("paths.csv", &balancer("pinned"))),
        ("", &trace("paths.csv", &balancer("letflow"))),
        ("", &trace("paths.csv", edge)),
        ("", &trace("trace.csv", edge)),
        // No trace at all, which is said when it is run.
        ("", &trace("sizes.csv", &balancer("pinned"))),
        ("", &trace("sizes.csv", edge)),
    ]));
}

/// Breaks if a host may spray over go-back-N, given or by default, over queues that never mark or
/// switches that do not hash, or if it may not over selective repeat or TCP.
#[test]
fn who_sprays_takes_what_comes() {
    let spray = |edge: &str, transport: &str, more: &str| {
        format!("[host_edge]\nscheme = \"{edge}\"\n[transport]\n{transport}\n{more}")
    };
    let irn = "kind = \"roce\"\nrecovery = \"irn\"";
    insta::assert_snapshot!(table(&[
        ("", &spray("reps", "kind = \"roce\"", "")),
        ("", &spray("oblivious", "kind = \"roce\"\nrecovery = \"go-back-n\"", "")),
        ("", &spray("bitmap", irn, "[aqm]\nscheme = \"droptail\"")),
        ("", &spray("mixed", irn, "[load_balancer]\nscheme = \"letflow\"")),
        ("", &spray("reps", "scheme = \"newreno\"", "")),
        ("", &spray("oblivious", "scheme = \"newreno\"", "")),
        ("", &spray("reps", "scheme = \"dctcp\"", "")),
        ("", &spray("bitmap", irn, "")),
        ("", &spray("reps", irn, "")),
        ("", &spray("mixed", irn, "[load_balancer]\nscheme = \"wcmp\"")),
        ("", &spray("oblivious", irn, "")),
        ("", "[transport]\nkind = \"roce\"\nnak_threshold = \"3pkt\""),
        ("", &format!("[transport]\n{irn}\nnak_threshold = \"0pkt\"")),
    ]));
}

/// Breaks if switches trim where headers have no queue of their own, nothing overflows, or
/// receivers know nothing of it.
#[test]
fn trimming_and_what_it_needs() {
    let switch = |more: &str| format!("[switch]\ntrim = \"either\"\n{more}");
    let queues = "queues = 2\nscheduler = \"strict\"\n";
    let by_class = format!("{queues}classifier = \"dscp\"\n");
    let pairs = |more: &str| format!("[transport]\nkind = \"roce\"\n{more}");
    insta::assert_snapshot!(table(&[
        ("", "[switch]\ntrim_return = true"),
        ("", "[switch]\ntrim = \"all\""),
        ("", &switch("")),
        ("", &switch(queues)),
        ("", &switch(&(by_class.clone() + "shared_buffer = \"9MB\"\npfc = \"dynamic\""))),
        ("", &switch(&by_class)),
        ("", &(switch(&by_class) + &pairs("recovery = \"irn\"\ndata_class = 1"))),
        ("", &(switch(&by_class) + &pairs("recovery = \"each\"\ndata_class = 2"))),
        (
            "",
            &(switch(&by_class)
                + "[host_edge]\nscheme = \"stage\"\n"
                + &pairs("recovery = \"each\"\ndata_class = 1"))
        ),
        (
            "",
            &(switch(&(by_class.clone() + "trim_buffer = \"1B\"\n"))
                + &pairs("recovery = \"each\"\ndata_class = 1"))
        ),
    ]));
}

/// Breaks if keys of one transport are taken for another, or a host edge that goes by the marks of
/// ACKs for queue pairs, whose ACKs echo none (`edges.rs` has all others).
#[test]
fn queue_pairs_and_what_is_not_theirs() {
    let roce = |more: &str| format!("[transport]\nkind = \"roce\"\n{more}");
    let clove = "[host_edge]\nscheme = \"clove-ecn\"\n[load_balancer]\nscheme = \"pinned\"\n";
    insta::assert_snapshot!(table(&[
        ("", &roce("scheme = \"dctcp\"")),
        ("", &roce("min_rto = \"1ms\"")),
        ("", &roce("low_timeout = \"1ms\"")),
        ("", &roce("recovery = \"irn\"\ntimeout = \"1us\"\nlow_timeout = \"1ms\"")),
        ("", &roce("recovery = \"irn\"\nnaks = \"packet\"")),
        ("", &roce("max_timeout = \"1us\"")),
        ("", &roce("scheme = \"line-rate\"\ncnp_interval = \"1us\"")),
        ("", &roce("hpcc_eta = 0.9")),
        ("", &roce("alpha_update = \"mark\"")),
        ("", &roce("decrease_timer = \"0us\"")),
        ("", &roce("byte_counter = \"none\"")),
        ("", &roce("scheme = \"swift\"\nswift_large = 0.05")),
        ("", &roce("credit_first = \"1bdp\"")),
        ("", &roce("credits = \"receiver\"")),
        ("", &roce("credits = \"receiver\"\nrecovery = \"irn\"")),
        ("", &roce("credits = \"receiver\"\nrecovery = \"each\"\ncredit_share = 0.0")),
        ("", &roce("scheme = \"nscc\"\nnscc_gate = 99")),
        ("", &roce("scheme = \"hpcc\"\nhpcc_rtt = \"0us\"")),
        ("", "[transport]\nrecovery = \"irn\""),
        ("", "[transport]\nkind = \"rdma\""),
        ("", &(clove.to_owned() + &roce(""))),
    ]));
}

/// Breaks if a key is taken that would do nothing: a NAK cuts no rate but DCQCN's, and one that may not
/// fall below the line's is never cut. What is so anyhow may be said.
#[test]
fn queue_pairs_keys_that_would_do_nothing() {
    let roce = |more: &str| said("", &format!("[transport]\nkind = \"roce\"\n{more}"));
    for control in ["line-rate", "hpcc", "nscc", "swift"] {
        let with = |cuts: &str| roce(&format!("scheme = \"{control}\"\nnak_cuts = {cuts}"));
        let wrong = "f.toml:16: transport.nak_cuts: found true beside scheme = ";
        let right = "\"dcqcn\"";
        assert_eq!(
            with("true"),
            format!("{wrong}\"{control}\"; allowed: true beside scheme = {right}")
        );
        assert_eq!(with("false"), "nothing wrong");
    }
    assert_eq!(roce("nak_cuts = true"), "nothing wrong");
    assert_eq!(roce("least_rate = \"10Gbps\""), "nothing wrong");
    let least = "f.toml:15: transport.least_rate: found \"10.1Gbps\"; \
                 allowed: a rate of at most \"10Gbps\", the hosts' line";
    assert_eq!(roce("least_rate = \"10.1Gbps\""), least);
}

/// Breaks if a scheme's or a bundle's name in another's place gets a list of names that it is not
/// in, or is taken for a slip of the pen.
#[test]
fn names_in_the_wrong_place_are_told_where_they_belong() {
    let said = |key: &str, name: &str| {
        cases(BASE, &[(key, name)]).map(|_| ()).expect_err("a wrong place").to_string()
    };
    let reps = said("load_balancer.scheme", "reps");
    let belongs = "found \"reps\", which belongs in host_edge.scheme (host_edge.scheme = \"reps\")";
    assert!(reps.contains(belongs), "{reps}");
    assert!(!reps.contains("did you mean"), "{reps}");
    let flex = said("load_balancer.scheme", "Flex");
    assert!(flex.contains("belongs in scheme or host_edge.scheme (scheme = \"flex\")"), "{flex}");
    let letflow = said("scheme", "letflow");
    assert!(letflow.contains("belongs in load_balancer.scheme (load_bal"), "{letflow}");
    let near = said("load_balancer.scheme", "LetFlow");
    assert!(near.ends_with("; did you mean \"letflow\"?"), "{near}");
    let typo = said("aqm.scheme", "codell");
    assert!(typo.ends_with("; did you mean \"codel\"?"), "{typo}");
}

/// Breaks if an override is blamed at a key that it has not set, as if that had been written.
#[test]
fn an_override_is_blamed_with_its_own_key() {
    let said = |key: &str, value: &str| {
        cases(BASE, &[(key, value)]).map(|_| ()).expect_err("a bad value").to_string()
    };
    assert_eq!(
        said("load_balancer.scheme", "aq-car"),
        "--set load_balancer.scheme=aq-car: switch.queues: found 1; allowed: 3 or more, which \
         load_balancer \"aq-car\" needs and the bundle scheme = \"aq-car\" has"
    );
    // Its own key, however that is written, and one within it.
    assert!(said("workload.load", "20").starts_with("--set workload.0.load: found"));
    assert!(
        said("load_balancer", "{ scheme = \"x\" }").starts_with("--set load_balancer.scheme: ")
    );
}

/// Breaks if a line of the file is blamed for what an option made of it.
#[test]
fn an_option_that_does_not_fit_the_file_is_to_blame() {
    let classes = BASE.replace("flows = 100", "flows = 100\nclass = 1");
    let queues = "[switch]\nqueues = 3\nscheduler = \"wrr\"\nclassifier = \"dscp\"\n";
    let classes = format!("{classes}{queues}");
    let pairs = "[transport]\nkind = \"roce\"\n";
    let trims =
        "trim = \"arriving\"\ntrim_class = 1\n[transport]\nkind = \"roce\"\nrecovery = \"each\"\n";
    let trims = format!("{BASE}{queues}{trims}");
    let headers = "[load_balancer]\nscheme = \"pinned\"\n[host_edge]\nscheme = \"clove-ecn\"\n";
    for (text, key, value, wrong) in [
        (&classes, "host_edge.scheme", "stage", "workload.0.class: found 1 beside host_edge"),
        (&classes, "switch.classifier", "hash", "workload.0.class: found 1 beside switch"),
        (&trims, "transport.recovery", "irn", "switch.trim: found trim beside another"),
        (&trims, "transport.data_class", "1", "switch.trim_class: found 1, whose queue"),
        (&format!("{BASE}{pairs}"), "host_edge.scheme", "reps", "transport.recovery: found"),
        (&format!("{BASE}{headers}"), "load_balancer.scheme", "conga", "host_edge.scheme: "),
        (
            &format!("{BASE}[host_edge]\nscheme = \"none\"\n"),
            "load_balancer.scheme",
            "presto",
            "host_edge.scheme: ",
        ),
        (
            &format!("{BASE}[switch]\nqueues = 1\n"),
            "load_balancer.scheme",
            "aq-car",
            "switch.queues: found 1",
        ),
    ] {
        assert!(cases(text, &[]).is_ok(), "{text}");
        let said = cases(text, &[(key, value)]).map(|_| ()).expect_err(key).to_string();
        assert!(said.starts_with(&format!("--set {key}={value}: {wrong}")), "{said}");
    }
    let both = cases(BASE, &[("workload.0.class", "1"), ("host_edge.scheme", "stage")]);
    let said = both.map(|_| ()).expect_err("both").to_string();
    assert!(said.starts_with("--set workload.0.class: found 1 beside host_edge"), "{said}");
}

/// Breaks if a default is blamed for what was written beside it, or what it does not fit is not
/// said to be a default.
#[test]
fn what_was_written_is_to_blame() {
    let said = |more: &str, sets: &[(&str, &str)]| {
        let text = format!("{BASE}[aqm]\nscheme = \"red\"\n{more}");
        let case = cases(&text, sets).unwrap_or_else(|e| panic!("{e}")).remove(0);
        case.check().expect_err(more).to_string()
    };
    assert_eq!(
        said("min_threshold = \"32us\"\n", &[]),
        "f.toml:15: aqm.min_threshold: found 32us; allowed: the unit of max_threshold, which is \
         29pkt by default"
    );
    assert_eq!(
        said("max_threshold = \"128us\"\n", &[]),
        "f.toml:15: aqm.max_threshold: found 128us; allowed: the unit of min_threshold, which is \
         10pkt by default"
    );
    assert_eq!(
        said("min_threshold = \"9000pkt\"\n", &[]),
        "f.toml:15: aqm.min_threshold: found 9000pkt; allowed: at most max_threshold, 29pkt by default"
    );
    assert_eq!(
        said("min_threshold = \"32us\"\n", &[("aqm.max_threshold", "40pkt")]),
        "--set aqm.max_threshold: found 40pkt; allowed: the unit of min_threshold, which is 32us"
    );
    assert_eq!(
        said("max_threshold = \"40pkt\"\n", &[("aqm.min_threshold", "50pkt")]),
        "--set aqm.min_threshold: found 50pkt; allowed: at most max_threshold, 40pkt"
    );
    assert_eq!(
        said("", &[("aqm.min_threshold", "32us")]),
        "--set aqm.min_threshold: found 32us; allowed: the unit of max_threshold, which is 29pkt by \
         default"
    );
}

/// Breaks if a congestion control of the other kind of transport is taken for a typing error.
#[test]
fn a_control_of_the_other_transport_is_known() {
    let said = |kind: &str, scheme: &str| {
        let sets = [("transport.kind", kind), ("transport.scheme", scheme)];
        cases(BASE, &sets).map(|_| ()).expect_err(scheme).to_string()
    };
    for (kind, other, schemes) in [
        ("tcp", "roce", ["dcqcn", "line-rate", "hpcc", "nscc", "swift"]),
        ("roce", "tcp", ["newreno", "dctcp", "cubic", "bbr1", "bbr3"]),
    ] {
        for scheme in schemes {
            let said = said(kind, scheme);
            let found = format!(
                "--set transport.scheme: found \"{scheme}\", which is of transport.kind = \"{other}\"; \
                 allowed: "
            );
            assert!(said.starts_with(&found) && !said.contains("did you mean"), "{said}");
        }
    }
    assert!(said("tcp", "DCQCN").contains("which is of transport.kind = \"roce\""));
    assert!(said("tcp", "dctpc").ends_with("did you mean \"dctcp\"?"));
    assert!(said("roce", "dcqn").ends_with("did you mean \"dcqcn\"?"));
    assert!(said("roce", "ecmp").contains("belongs in load_balancer.scheme"));
}

/// Breaks if a flow at the edge of two classes counts in both, or in none, or if a class that is
/// open at its end loses its edge where no other ends there.
#[test]
fn classes_share_no_edge() {
    let edges = |classes: &str, bytes: u64| -> Vec<String> {
        let holds = one(classes).classes.into_iter().filter(|class| class.holds(bytes));
        holds.map(|class| class.name).collect()
    };
    assert_eq!(edges("", 100_000), ["short"]);
    assert_eq!(edges("", 1_000_000), ["medium"]);
    assert_eq!(edges("", 1_000_001), ["long"]);
    assert_eq!(edges("[classes]\nlong = \"1MB..\"\n", 1_000_000), ["long"]);
    assert_eq!(edges("[classes]\nlong = \"1MB..\"\nrest = \"0..1MB\"\n", 1_000_000), ["rest"]);
    assert_eq!(edges("[classes]\na = \"0..2MB\"\nb = \"1MB..\"\n", 1_000_000), ["a", "b"]);
}

/// Breaks if a device is read for ever as a trace, a fabric, or a table of sizes.
#[test]
fn files_without_an_end_are_refused() {
    for (key, value) in [
        ("workload", "[{ kind = \"trace\", path = \"/dev/zero\" }]"),
        ("topology", "{ kind = \"file\", path = \"/dev/zero\" }"),
        ("workload.0.sizes", "\"/dev/zero\""),
    ] {
        let text = match key {
            "topology" => BASE.split_once("\n\n").expect("a workload").1,
            _ => BASE,
        };
        let error = cases(text, &[(key, value)]).map(|_| ()).expect_err("no file").to_string();
        assert!(error.contains("found \"/dev/zero\", which is not a regular file"), "{error}");
    }
}
