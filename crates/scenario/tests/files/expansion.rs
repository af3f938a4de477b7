//! Variants, sweeps, bundles and overrides: what replaces what.

use crate::common::{BASE, cases, get};
use leafspine_scenario::Case;

fn all(more: &str, sets: &[(&str, &str)]) -> Vec<Case> {
    cases(&format!("{BASE}{more}"), sets).unwrap_or_else(|e| panic!("{e}"))
}

fn params(case: &Case) -> Vec<&str> {
    case.spec.balancer.params.0.keys().map(String::as_str).collect()
}

/// Breaks if points are missing, twice, or in another order than the file's keys say.
#[test]
fn a_sweep_is_a_product_with_the_last_key_fastest() {
    let cases = all(
        "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n\
         [sweep]\n\"workload.0.load\" = [0.2, 0.4]\nrun.seed = [1, 2, 3]\n",
        &[],
    );
    let points: Vec<String> = cases
        .iter()
        .map(|case| {
            let point: Vec<String> =
                case.point.iter().map(|(key, value)| format!("{key}={value}")).collect();
            format!("{} {} {}", case.variant, point.join(" "), case.seed)
        })
        .collect();
    insta::assert_snapshot!(points.join("\n"), @r"
    a workload.0.load=0.2 run.seed=1 1
    a workload.0.load=0.2 run.seed=2 2
    a workload.0.load=0.2 run.seed=3 3
    a workload.0.load=0.4 run.seed=1 1
    a workload.0.load=0.4 run.seed=2 2
    a workload.0.load=0.4 run.seed=3 3
    b workload.0.load=0.2 run.seed=1 1
    b workload.0.load=0.2 run.seed=2 2
    b workload.0.load=0.2 run.seed=3 3
    b workload.0.load=0.4 run.seed=1 1
    b workload.0.load=0.4 run.seed=2 2
    b workload.0.load=0.4 run.seed=3 3
    ");
}

/// Breaks if a scheme keeps the parameters of the one it replaces, or loses those it is given.
#[test]
fn another_scheme_drops_the_parameters_of_the_one_before() {
    let cases = all(
        "[load_balancer]\nscheme = \"letflow\"\ngap = \"1ms\"\n\
         [transport]\ng = 0.25\nmss = 1000\n\
         [[variant]]\nname = \"as in the file\"\n\
         [[variant]]\nname = \"the same scheme\"\nset = { \"load_balancer.scheme\" = \"letflow\" }\n\
         [[variant]]\nname = \"another\"\nset = { \"load_balancer.scheme\" = \"ecmp\", \"transport.scheme\" = \"newreno\" }\n\
         [[variant]]\nname = \"dotted\"\nset = { load_balancer.scheme = \"ecmp\" }\n\
         [[variant]]\nname = \"named default\"\nset = { transport.scheme = \"dctcp\" }\n",
        &[],
    );
    assert_eq!(get(&cases[0], "load_balancer.gap"), "\"1ms\"");
    assert_eq!(get(&cases[1], "load_balancer.gap"), "\"1ms\"");
    assert!(params(&cases[2]).is_empty());
    assert_eq!(get(&cases[2], "transport.mss"), "1000", "mss is no parameter of the scheme");
    assert!(params(&cases[3]).is_empty());
    assert_eq!(get(&cases[4], "transport.g"), "0.25", "dctcp is the default");
}

/// Breaks if a sweep over schemes fails for parameters, or an override does not reach every case.
#[test]
fn schemes_can_be_swept() {
    let cases = all(
        "[load_balancer]\nscheme = \"letflow\"\ngap = \"1ms\"\n\
         [sweep]\n\"load_balancer.scheme\" = [\"ecmp\", \"letflow\"]\n",
        &[("run.seed", "9")],
    );
    assert_eq!(cases[0].spec.balancer.name, "ecmp");
    assert_eq!(get(&cases[1], "load_balancer.gap"), "\"1ms\"");
    assert!(cases.iter().all(|case| case.seed == 9));
}

/// Breaks if the file's keys do not win over its own bundle, or a variant's bundle not over them.
#[test]
fn bundles_yield_to_keys_written_in_the_same_place() {
    let of = |text: &str| cases(text, &[]).unwrap_or_else(|e| panic!("{e}")).remove(0);
    let names = |case: &Case| {
        let edge = case.spec.edge.as_ref().map_or("none", |edge| edge.name.as_str());
        format!("{} {edge}", case.spec.balancer.name)
    };
    let file = format!("scheme = \"flowbender\"\n{BASE}");
    assert_eq!(names(&of(&file)), "ecmp flowbender");
    let explicit = format!("{file}[load_balancer]\nscheme = \"wcmp\"\nentries = 64\n");
    assert_eq!(names(&of(&explicit)), "wcmp flowbender");
    let variant = "[[variant]]\nname = \"p\"\nset = { scheme = \"presto\" }\n";
    assert_eq!(
        names(&of(&format!("{BASE}[load_balancer]\nscheme = \"letflow\"\n{variant}"))),
        "presto presto"
    );
    let both = "[[variant]]\nname = \"p\"\nset = { \"load_balancer.scheme\" = \"wcmp\", scheme = \"flowbender\" }\n";
    assert_eq!(names(&of(&format!("{BASE}{both}"))), "wcmp flowbender");
    let queues = format!("scheme = \"tcp\"\n{BASE}[aqm]\nscheme = \"red\"\n");
    assert_eq!(of(&queues).spec.aqm.name, "red");
    assert!(
        !of(&file).toml.contains("\nscheme = \"flowbender\"\n\n[topology]"),
        "a bundle is written as its keys"
    );
}

/// Breaks if a bundle leaves a part of its system as the file has it: AQ-CAR is its queues, too.
#[test]
fn a_bundle_may_set_the_switches_queues() {
    let variant = "[[variant]]\nname = \"a\"\nset = { scheme = \"aq-car\" }\n";
    let case = all(&format!("[switch]\nbuffer = \"200pkt\"\n{variant}"), &[]).remove(0);
    let edge = case.spec.edge.as_ref().map(|edge| edge.name.as_str());
    assert_eq!((case.spec.balancer.name.as_str(), edge), ("aq-car", Some("aq-car")));
    assert_eq!(case.spec.aqm.name, "ml-ecn");
    let keys = ["buffer", "queues", "scheduler", "weights", "classifier", "stage_queues"];
    let found = keys.map(|key| get(&case, &format!("switch.{key}")));
    let expected = ["\"200pkt\"", "3", "\"wrr\"", "[4, 2, 1]", "\"stage\"", "[0, 1, 1, 1, 1, 2]"];
    assert_eq!(found, expected);
}

/// Breaks if the bundle does not have the text's readings of AQ-CAR §II-B2b and c, if a file cannot say the others,
/// or if the resolved scenario of a run does not tell which it had: it says what differs from the first
/// readings, so that kept results of before belong to what they were made of.
#[test]
fn aq_cars_bundle_has_the_texts_readings() {
    let keys = ["reroute_stages", "stop_level", "uncongested_only", "large_sharing"];
    let of = |more: &str| {
        let set = format!("scheme = \"aq-car\"{more}");
        let case = all(&format!("[[variant]]\nname = \"a\"\nset = {{ {set} }}\n"), &[]).remove(0);
        let said = keys.map(|key| case.toml.contains(&format!("\n{key} = ")));
        (keys.map(|key| case.spec.balancer.params.0[key].to_string()), said)
    };
    assert_eq!(of(""), (["\"top\"", "2", "true", "\"any\""].map(str::to_owned), [true; 4]));
    let first = ", \"load_balancer.reroute_stages\" = \"upper-half\", \"load_balancer.stop_level\" = 1, \
                 \"load_balancer.uncongested_only\" = false, \"load_balancer.large_sharing\" = \"one-leaf\"";
    let found = ["\"upper-half\"", "1", "false", "\"one-leaf\""].map(str::to_owned);
    assert_eq!(of(first), (found, [false; 4]));
}

/// Breaks if a word for hosts' own ports means another kind of port, or if none is refused or needed.
#[test]
fn hosts_ports_are_what_the_word_says() {
    use leafspine_sim::spec::HostPorts::{LikeSwitch, Unlimited, WithQueues};
    let of = |line: &str| {
        cases(&format!("[switch]\n{line}\n{BASE}"), &[])
            .map(|cases| cases[0].spec.switch.host_ports)
    };
    let words =
        [("like-switch", LikeSwitch), ("with-queues", WithQueues), ("unlimited", Unlimited)];
    for (word, ports) in words {
        assert_eq!(of(&format!("host_ports = \"{word}\"")).expect("valid"), ports);
    }
    assert_eq!(of("").expect("valid"), LikeSwitch);
    assert!(of("host_ports = \"like-host\"").is_err());
}

/// Breaks if a balancer runs without the host edge that it lives on: by itself, or with another.
#[test]
fn a_balancer_brings_its_host_edge() {
    let presto = format!("{BASE}[load_balancer]\nscheme = \"presto\"\n");
    let of = |text: &str| cases(text, &[]).map(|cases| cases[0].spec.edge.clone());
    assert_eq!(of(&presto).expect("valid").expect("an edge").name, "presto");
    assert_eq!(of(BASE).expect("valid"), None);
    for other in ["none", "stage"] {
        let error = of(&format!("{presto}[host_edge]\nscheme = \"{other}\"\n")).unwrap_err();
        let said = format!(
            "host_edge.scheme: found \"{other}\"; allowed: \"presto\", without which the load \
             balancer \"presto\" does nothing"
        );
        assert!(error.to_string().ends_with(&said), "{error}");
    }
}

/// Breaks if one of two alternatives stays behind when a later place sets the other.
#[test]
fn alternatives_replace_each_other() {
    let cases = all(
        "[switch]\nbuffer = \"100pkt\"\n\
         [[variant]]\nname = \"shared\"\nset = { switch.shared_buffer = \"9MB\" }\n\
         [[variant]]\nname = \"rate\"\nset = { workload.0.rate = \"1Gbps\" }\n",
        &[],
    );
    assert!(cases[0].spec.switch.shared.is_some());
    assert_eq!(get(&cases[1], "switch.buffer"), "\"100pkt\"");
    assert!(cases[1].toml.contains("rate = \"1Gbps\"\nflows"));
}

/// Breaks if sizes of one law keep the keys of another.
#[test]
fn sizes_are_replaced_whole() {
    let text = BASE.replace("\"web-search\"", "{ kind = \"fixed\", bytes = \"1KB\" }");
    let uniform = "{ kind = \"uniform\", low = \"1KB\", high = \"2KB\" }";
    let cases = cases(&text, &[("workload.0.sizes", uniform)]).unwrap();
    assert!(cases[0].toml.contains(uniform));
}

/// Breaks if an override does not win, or if it leaves a sweep of equal points.
#[test]
fn overrides_win_over_everything() {
    let file = "[[variant]]\nname = \"a\"\nset = { aqm.threshold = \"10pkt\" }\n\
                [sweep]\n\"run.seed\" = [1, 2, 3]\n\"workload.0.load\" = [0.2, 0.4]\n";
    let cases = all(file, &[("run.seed", "8"), ("aqm.threshold", "40pkt")]);
    assert_eq!(cases.len(), 2);
    assert!(cases.iter().all(|case| case.seed == 8 && case.point.len() == 1));
    assert_eq!(get(&cases[0], "aqm.threshold"), "\"40pkt\"");
    let swept = all(file, &[("sweep.run.seed", "[4, 5]"), ("variant.0.name", "b")]);
    assert_eq!(swept.len(), 4);
    assert_eq!((swept[0].variant.as_str(), swept[0].seed), ("b", 4));
    let other = all("", &[("variant", "[{ name = \"x\", set = { scheme = \"tcp\" } }]")]);
    assert_eq!(other[0].spec.transport.scheme.name, "newreno");
}

/// Breaks if the same sweep point of two variants differs in more than the variant.
#[test]
fn variants_differ_in_what_they_set_only() {
    let cases = all(
        "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nset = { aqm.threshold = \"9pkt\" }\n",
        &[],
    );
    let differ: Vec<_> =
        cases[0].toml.lines().zip(cases[1].toml.lines()).filter(|(a, b)| a != b).collect();
    assert_eq!(differ, [("threshold = \"38pkt\"", "threshold = \"9pkt\"")]);
}

/// Breaks if a key is located on another line than it was written on.
#[test]
fn keys_are_located() {
    let case = &all("[aqm]\nthreshold = \"9pkt\"\n", &[("run.seed", "3")])[0];
    assert_eq!(case.locate("aqm.threshold"), Some(14));
    assert_eq!(case.locate("workload.0.load"), Some(11));
    assert_eq!(case.locate("workload.0.pattern"), Some(9), "not written: the table's line");
    assert_eq!(case.locate("run.seed"), None, "from the command line");
    assert_eq!(case.locate("switch.buffer"), None, "a default");
}

/// Breaks if a number of flows and a duration stand beside each other once a layer gives the one that
/// the file does not, or if that costs the workload its load.
#[test]
fn flows_and_a_duration_drive_each_other_out() {
    let stop = |case: &Case| {
        let stops = |line: &&str| line.starts_with("flows = ") || line.starts_with("duration = ");
        let text = case.toml.split("[[workload]]").nth(1).unwrap().split("\n\n").next().unwrap();
        assert!(text.contains("load = 0.6\n"), "{text}");
        text.lines().filter(stops).map(str::to_owned).collect::<Vec<_>>()
    };
    let cases = all(
        "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nset = { \"workload.0.duration\" = \"5ms\" }\n",
        &[],
    );
    assert_eq!(stop(&cases[0]), ["flows = 100"]);
    assert_eq!(stop(&cases[1]), ["duration = \"5ms\""]);
    let over = all("", &[("workload.0.duration", "200us")]);
    assert_eq!(stop(&over[0]), ["duration = \"200us\""]);
    let swept = all(
        "[sweep]\n\"workload.0.duration\" = [\"1ms\", \"2ms\"]\n",
        &[("workload.0.flows", "7")],
    );
    assert_eq!(swept.iter().map(stop).collect::<Vec<_>>(), [["flows = 7"], ["flows = 7"]]);
}

/// The schemes' parameter at `key` of each case, as it is written out; `-` where there is none.
fn each(cases: &[Case], key: &str) -> Vec<String> {
    let (table, key) = key.split_once('.').unwrap();
    let block = |case: &Case| {
        let block = case.toml.split(&format!("[{table}]")).nth(1)?.split('[').next()?.to_owned();
        let line = block.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")))?;
        Some(line.to_owned())
    };
    cases.iter().map(|case| block(case).unwrap_or("-".to_owned())).collect()
}

const SCHEMES: &str = r#"
[[variant]]
name = "ecmp"
set = { "load_balancer.scheme" = "ecmp" }
[[variant]]
name = "letflow"
set = { "load_balancer.scheme" = "letflow", "aqm.scheme" = "red" }
[[variant]]
name = "presto"
set = { scheme = "presto", "transport.scheme" = "newreno" }
"#;

/// Breaks if an override of a parameter that some variants' schemes have is refused because of the
/// others, does not reach those that have it, or is left out of the others in silence.
#[test]
fn overrides_go_where_there_is_such_a_parameter() {
    let said = |case: &Case| -> Vec<String> {
        case.skipped.iter().map(|s| format!("{}: {}", s.key, s.scheme)).collect()
    };
    let gap = all(SCHEMES, &[("load_balancer.gap", "5 us")]);
    assert_eq!(each(&gap, "load_balancer.gap"), ["-", "\"5us\"", "-"]);
    assert_eq!(said(&gap[0]), ["load_balancer.gap: ecmp"]);
    assert!(said(&gap[1]).is_empty());
    assert_eq!(said(&gap[2]), ["load_balancer.gap: presto"]);
    // Places that have a default of their own: the queue manager's and the edge's follow others.
    let aqm = all(SCHEMES, &[("aqm.threshold", "9pkt")]);
    assert_eq!(each(&aqm, "aqm.threshold"), ["\"9pkt\"", "-", "-"]);
    assert_eq!(said(&aqm[1]), ["aqm.threshold: red"]);
    let edge = all(SCHEMES, &[("host_edge.cell", "9KB")]);
    assert_eq!(each(&edge, "host_edge.cell"), ["-", "-", "\"9KB\""]);
    assert_eq!(said(&edge[0]), ["host_edge.cell: none"]);
    let transport = all(SCHEMES, &[("transport.g", "0.5"), ("transport.mss", "1000")]);
    assert_eq!(each(&transport, "transport.g"), ["0.5", "0.5", "-"]);
    assert_eq!(each(&transport, "transport.mss"), ["1000"; 3]);
}

/// Breaks if a key that no variant's scheme has is taken, or its nearest name is looked for in one
/// scheme only; or if a file may say what only an override may.
#[test]
fn parameters_that_no_variant_has_are_refused() {
    let said = |file: &str, key: &str| {
        let text = format!("{BASE}{file}");
        cases(&text, &[(key, "5us")]).map(|_| ()).unwrap_err().to_string()
    };
    insta::assert_snapshot!(said(SCHEMES, "load_balancer.gpa"), @r#"--set load_balancer.gpa: found a key that none of "ecmp", "letflow", "presto" has; allowed: scheme, gap, entries, start, weighted; did you mean "gap"?"#);
    insta::assert_snapshot!(said(SCHEMES, "load_balancer.threshold"), @r#"--set load_balancer.threshold: found a key that none of "ecmp", "letflow", "presto" has; allowed: scheme, gap, entries, start, weighted"#);
    insta::assert_snapshot!(said("", "load_balancer.gap"), @r#"--set load_balancer.gap: found a key that "ecmp" does not have; allowed: scheme"#);
    let file = SCHEMES.replace("\"ecmp\" }", "\"ecmp\", \"load_balancer.gap\" = \"5us\" }");
    let error = cases(&format!("{BASE}{file}"), &[]).map(|_| ()).unwrap_err();
    insta::assert_snapshot!(error, @r#"f.toml:16: load_balancer.gap: found a key that "ecmp" does not have; allowed: scheme"#);
}

/// Breaks if the only workload must be numbered, or if a number is guessed where there are two.
#[test]
fn the_only_workload_needs_no_number() {
    let sweep = "[sweep]\n\"workload.load\" = [0.2, 0.4]\n";
    let variant = "[[variant]]\nname = \"a\"\nset = { \"workload.flows\" = 7 }\n";
    let cases = all(&format!("{variant}{sweep}"), &[]);
    assert_eq!(cases.len(), 2);
    assert_eq!(cases[0].point[0].0, "workload.0.load");
    assert!(cases.iter().all(|case| case.toml.contains("flows = 7\n")));
    assert_eq!(all(sweep, &[("workload.load", "0.3")]).len(), 1);
    assert_eq!(all(sweep, &[("sweep.workload.0.load", "[1, 2, 3]")]).len(), 3);
    assert_eq!(
        all("", &[("workload.load", "0.3")])[0].toml,
        all("", &[("workload.0.load", "0.3")])[0].toml
    );
    let two = format!("{BASE}[[workload]]\nsizes = \"hadoop\"\nload = 0.1\nflows = 1\n");
    let error = crate::common::cases(&two, &[("workload.load", "0.3")]).map(|_| ()).unwrap_err();
    insta::assert_snapshot!(error, @r#"--set workload.load: found no number after workload, which is a list of 2; allowed: 0 to 1 there, such as workload.0.load (workload__0__load in Python)"#);
}

/// Breaks if a setting of what ECMP can tell apart is not run or not written, or if the default is written: every
/// resolved scenario, and with it the key of every result, would be another one.
#[test]
fn what_hashes_see_is_written_where_it_is_set() {
    let case =
        |sets: &[(&str, &str)]| cases(PLAIN, sets).unwrap_or_else(|e| panic!("{e}")).remove(0);
    let plain = case(&[]);
    assert!(!plain.toml.contains("hash_seeds") && !plain.toml.contains("source_ports"));
    assert_eq!((plain.spec.switch.one_hash, plain.spec.transport.source_ports), (false, None));
    let sets = [("switch.hash_seeds", "each"), ("transport.source_ports", "one a flow")];
    assert_eq!(case(&sets).toml, plain.toml);
    let set = case(&[("switch.hash_seeds", "one"), ("transport.source_ports", "4")]);
    assert!(set.toml.contains("hash_seeds = \"one\"\n") && set.toml.contains("source_ports = 4\n"));
    assert_eq!((set.spec.switch.one_hash, set.spec.transport.source_ports), (true, Some(4)));
    let said = |key, value| cases(PLAIN, &[(key, value)]).map(|_| ()).unwrap_err().to_string();
    assert!(said("transport.source_ports", "0").contains("one a flow"));
    assert!(said("switch.hash_seeds", "two").contains("\"each\", \"one\""));
}

const PLAIN: &str = "[topology]\nkind = \"star\"\nhosts = 4\n\
    host_link = { rate = \"1Gbps\", delay = \"1us\" }\n\
    [[workload]]\nsizes = \"web-search\"\nload = 0.5\nload_basis = \"host\"\nflows = 1\n";
