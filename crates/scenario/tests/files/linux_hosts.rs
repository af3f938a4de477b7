//! `[hosts]`: what is refused, what is written out. A `kernel` given by name needs none to be there.

use leafspine_core::Span;
use leafspine_scenario::{Case, ScenarioError, Source, expand, single};
use leafspine_schemes::registry;
use leafspine_sim::spec::HostsSpec;
use std::path::Path;

const KERNEL: &str = "kind = \"linux\"\nkernel = \"6.12.0-0123456789abcdef\"\n";

fn text(hosts: &str, more: &str) -> String {
    let link = "{ rate = \"10Gbps\", delay = \"2us\" }";
    format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n\
         host_link = {link}\nfabric_link = {link}\n[[workload]]\nkind = \"poisson\"\n\
         sizes = \"web-search\"\nload = 0.5\nflows = 9\n{more}\n[hosts]\n{hosts}"
    )
}

fn case(hosts: &str, more: &str) -> Result<Case, ScenarioError> {
    single(&text(hosts, more), "f.toml", Path::new("."))
}

fn refused(hosts: &str, more: &str) -> String {
    case(hosts, more).expect_err("refused").to_string()
}

/// Breaks if a run with kernels is written down as another, or without what it was of: its resolved
/// scenario gives itself, names the kernel, and has no setting that is the model's alone.
#[test]
fn resolved_scenarios_name_the_kernel() {
    let sysctl = "sysctl = { \"net.ipv4.tcp_rto_min_us\" = 5000, net.ipv4.tcp_sack = true }\n";
    let card = "interrupt_moderation = \"10us\"\n";
    let one = case(&format!("{KERNEL}{sysctl}{card}"), "").unwrap();
    assert!(one.toml.contains(card), "{}", one.toml);
    assert!(one.toml.contains("kernel = \"6.12.0-0123456789abcdef\"\n"), "{}", one.toml);
    assert!(
        one.toml.contains("[transport]\necn = true\nmss = 1448\nheader = 52\n"),
        "{}",
        one.toml
    );
    let HostsSpec::Linux(linux) = &one.spec.hosts else { panic!("the model's hosts") };
    assert_eq!((linux.congestion.as_str(), linux.ecn), ("dctcp", true));
    let given = [("net.ipv4.tcp_rto_min_us", "5000"), ("net.ipv4.tcp_sack", "1")];
    assert_eq!(linux.sysctl, given.map(|(key, value)| (key.to_owned(), value.to_owned())));
    assert_eq!(linux.interrupt_moderation, Span::from_micros(10));
    let again = single(&one.toml, "f.toml", Path::new(".")).unwrap();
    assert_eq!((&again.toml, &again.spec.hosts), (&one.toml, &one.spec.hosts));
}

/// Breaks if the model's hosts leave a trace in scenarios of before, or queues do not follow the
/// congestion control that the kernels have.
#[test]
fn defaults() {
    // What is for kernels may stand beside, for other variants.
    let model = case("kind = \"model\"\ncongestion = \"cubic\"\n", "").unwrap();
    assert!(!model.toml.contains("[hosts]"));
    assert_eq!(model.spec.hosts, HostsSpec::Model);
    assert!(!case(KERNEL, "").unwrap().toml.contains("interrupt_moderation"));
    let aqm = |hosts: &str, more: &str| case(hosts, more).unwrap().spec.aqm.name;
    let own = |control: &str| format!("{KERNEL}congestion = \"{control}\"\n");
    assert_eq!(aqm(&own("dctcp"), "[transport]\nscheme = \"cubic\"\n"), "ecn-threshold");
    assert_eq!(aqm(&own("cubic"), ""), "droptail");
    let reno = case(KERNEL, "[transport]\nscheme = \"newreno\"\n").unwrap();
    assert!(reno.toml.contains("congestion = \"reno\"\n") && reno.toml.contains("ecn = false\n"));
    let bbr = case(KERNEL, "[transport]\nscheme = \"bbr1\"\n").unwrap();
    assert!(bbr.toml.contains("congestion = \"bbr\"\n"), "{}", bbr.toml);
    let none = refused(KERNEL, "[transport]\nscheme = \"bbr3\"\n");
    assert!(none.contains("\"bbr3\", which no kernel has"), "{none}");
}

const ALL_REDUCE: &str =
    "[[workload]]\nkind = \"collective\"\ncollective = \"all-reduce\"\nbytes = \"1MB\"\n";

/// Breaks if a combination that makes no sense is run.
#[test]
fn nonsense_is_refused() {
    for (hosts, more, says) in [
        ("congestion = \"cubic\"\n", String::new(), "congestion without kind = \"linux\""),
        ("kind = \"windows\"\n", String::new(), "\"model\", \"linux\""),
        (KERNEL, "[transport]\nmss = 8948\n".into(), "256 to 1500 bytes"),
        (KERNEL, "[transport]\nhandshake = false\n".into(), "shake hands"),
        (KERNEL, "[transport]\nsource_ports = 8\n".into(), "one a flow"),
        (KERNEL, "[transport]\nkind = \"roce\"\n".into(), "\"tcp\" for hosts that"),
        (
            KERNEL,
            "[switch]\nshared_buffer = \"9MB\"\npfc = \"dynamic\"\n".into(),
            "no pause frames",
        ),
        (KERNEL, ALL_REDUCE.into(), "messages wait for each other"),
        (KERNEL, "[transport]\ntimestamps = \"off\"\n".into(), "hosts.sysctl changes it"),
        ("", "[[probe]]\nkind = \"tcp-info\"\nevery = \"1ms\"\n".into(), "hosts.kind = \"linux\""),
    ] {
        let error = refused(hosts, &more);
        assert!(error.contains(says), "{error}");
    }
    let sysctl = |table: &str| refused(&format!("{KERNEL}sysctl = {table}\n"), "");
    assert!(
        sysctl("{ \"net.ipv4.tcp_congestion_control\" = \"cubic\" }").contains("hosts.congestion")
    );
    assert!(sysctl("{ \"net..x\" = 1 }").contains("a key such as"));
    assert!(sysctl("{ \"net.x\" = 1.5 }").contains("a whole number or a text"));
    assert!(sysctl("7").contains("a table such as"));
}

/// The names in the sentence of docs/linux.md that begins so: as code, and up to the first full stop.
fn documented(begin: &str) -> Vec<&'static str> {
    let page = include_str!("../../../../docs/linux.md");
    let (_, rest) = page.split_once(begin).unwrap_or_else(|| panic!("docs/linux.md: no {begin:?}"));
    rest[..rest.find('.').expect("an end")].split('`').skip(1).step_by(2).collect()
}

/// Breaks if a host edge that the hosts' TCP would have to tell of ACKs, losses or order is run
/// with kernels, which tell nothing, if one that goes by packets alone is refused, or if the
/// documentation has another list of either than there is.
#[test]
fn edges_that_need_the_stack_are_refused() {
    let edge = |words: &str| format!("[host_edge]\n{words}\n");
    let fit = |name: &str| match name {
        "hermes" | "clove-ecn" => "[load_balancer]\nscheme = \"pinned\"\n",
        "presto" => "[load_balancer]\nscheme = \"presto\"\n",
        _ => "",
    };
    let (mut run, mut not) = (Vec::new(), Vec::new());
    for name in registry::host_edges().map(|entry| entry.info.name) {
        let given = format!("{}{}", fit(name), edge(&format!("scheme = \"{name}\"")));
        match case(KERNEL, &given) {
            Ok(_) => run.push(name),
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("told by the hosts' TCP of ACKs"), "{error}");
                not.push(name);
            }
        }
    }
    assert_eq!(documented("Host edges that go by packets alone work"), run);
    assert_eq!(documented("Host edges that the hosts' TCP has to tell"), not);
    let in_order = format!("{}{}", fit("presto"), edge("scheme = \"presto\"\nreassemble = true"));
    assert!(refused(KERNEL, &in_order).contains("hands it packets in order"));
}

/// Breaks if the model and a kernel cannot stand side by side in one file.
#[test]
fn variants_of_hosts() {
    let file = format!(
        "{}[[variant]]\nname = \"model\"\n[[variant]]\nname = \"linux\"\n\
         set = {{ \"hosts.kind\" = \"linux\", \"hosts.kernel\" = \"6.12.0-0\" }}\n",
        text("kind = \"model\"\n", "")
    );
    let (base, sets, options) = (Path::new("."), &[], &[]);
    let source = Source { text: &file, file: "f.toml", base, sets, options };
    let cases = expand(&source).unwrap();
    let linux: Vec<bool> = cases.iter().map(|case| case.spec.hosts != HostsSpec::Model).collect();
    assert_eq!(linux, [false, true]);
}

/// Breaks if a setting that no kernel reads is passed over in silence, or refused where the model's
/// hosts are in the same file or kernels are asked for from outside.
#[test]
fn settings_that_nobody_reads() {
    let more = "[transport]\nscheme = \"cubic\"\nmin_rto = \"5ms\"\n";
    let error = refused(KERNEL, more);
    assert!(error.contains("transport.min_rto: found \"5ms\", and kernels as hosts"), "{error}");
    assert!(error.contains("hosts.sysctl"), "{error}");
    let mixed = format!("{}[sweep]\n\"hosts.kind\" = [\"model\", \"linux\"]\n", text(KERNEL, more));
    let kind = ("hosts.kind".to_owned(), "linux".to_owned());
    let asked = text("kernel = \"6.12.0-0\"\nkind = \"model\"\n", more);
    for (file, sets, count) in [(mixed, vec![], 2), (asked, vec![kind.clone()], 1)] {
        let base = Path::new(".");
        let source = Source { text: &file, file: "f.toml", base, sets: &sets, options: &[] };
        assert_eq!(expand(&source).unwrap().len(), count);
    }
    // Kernels have timestamps also where the model's hosts, whose settings these are, have none.
    for without in ["timestamps = \"off\"", "profile = \"rfc\""] {
        let more = format!("[transport]\nscheme = \"cubic\"\n{without}\n");
        let file = text("kernel = \"6.12.0-0\"\nkind = \"model\"\n", &more);
        let (base, sets) = (Path::new("."), [kind.clone()]);
        let source = Source { text: &file, file: "f.toml", base, sets: &sets, options: &[] };
        let transport = &expand(&source).unwrap()[0].spec.transport;
        assert_eq!((transport.mss, transport.header), (1448, 52), "{without}");
    }
}
