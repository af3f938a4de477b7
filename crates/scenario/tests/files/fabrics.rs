//! Fabrics of one's own: Clos networks and files of links.

use crate::common::{BASE, cases};
use leafspine_core::{Rate, Span};
use leafspine_fabric::Graph;
use leafspine_scenario::{Case, Source, expand, single};
use leafspine_sim::spec::{HostSet, WorkloadKind};
use std::path::{Path, PathBuf};

const LINKS: &str = "host_link = { rate = \"100Gbps\", delay = \"1us\" }\n\
                     fabric_link = { rate = \"100Gbps\", delay = \"1us\" }\n";
const FLOWS: &str = "[[workload]]\nsizes = \"web-search\"\nload = 0.3\nflows = 10\n";

fn clos(keys: &str, tiers: &[&str]) -> String {
    let tiers: String = tiers.iter().map(|tier| format!("[[topology.tier]]\n{tier}\n")).collect();
    format!("[topology]\nkind = \"clos\"\n{keys}\n{LINKS}{tiers}{FLOWS}")
}

/// A text's one case, which its resolved text gives again.
fn one(text: &str, base: &Path) -> Case {
    let source = Source { text, file: "f.toml", base, sets: &[], options: &[] };
    let case = expand(&source).unwrap_or_else(|e| panic!("{e}\n{text}")).remove(0);
    let again = single(&case.toml, "f.toml", Path::new("/")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.toml, case.toml);
    assert_eq!(again.spec.topology, case.spec.topology);
    case
}

fn refused(text: &str, base: &Path) -> String {
    let source = Source { text, file: "f.toml", base, sets: &[], options: &[] };
    match expand(&source) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// Hosts under a switch, and switches of each tier.
fn numbers(text: &str) -> (u32, Vec<usize>) {
    let case = one(text, Path::new(""));
    let graph = Graph::build(&case.spec.topology).expect("a fabric");
    let tier = |level| graph.switches.iter().filter(|switch| switch.level.0 == level).count();
    let highest = graph.switches.iter().map(|switch| switch.level.0).max().unwrap_or(0);
    (graph.hosts() / u32::from(graph.tors()), (0..=highest).map(tier).collect())
}

/// Breaks if one network has other numbers by its counts, by its oversubscription and by its radix.
#[test]
fn numbers_are_given_or_follow() {
    let counts = ["switches = 8", "switches = 8\npods = 4", "switches = 4"];
    assert_eq!(numbers(&clos("hosts_per_tor = 2", &counts)), (2, vec![8, 8, 4]));
    assert_eq!(numbers(&clos("oversubscription = 1.5", &counts)), (3, vec![8, 8, 4]));
    assert_eq!(numbers(&clos("radix = 4\ntiers = 3", &[])), (2, vec![8, 8, 4]));
    assert_eq!(numbers(&clos("radix = 8\ntiers = 2\noversubscription = 3", &[])), (6, vec![8, 2]));
    let fast = ["", "link = { rate = \"400Gbps\", delay = \"1us\" }"];
    assert_eq!(numbers(&clos("radix = 10", &fast)), (8, vec![10, 2]));
    assert_eq!(numbers(&clos("radix = 8\ntiers = 2\nlinks_per_pair = 2", &[])), (4, vec![4, 2]));
}

/// Breaks if a tier has another link than its own, or the base round trip leaves one out: 100 Gb/s and 1
/// us at the hosts, 200 ns and 400 Gb/s at the top.
#[test]
fn every_tier_has_its_link() {
    let top = "switches = 2\nlink = { rate = \"400Gbps\", delay = \"200ns\" }";
    let text = clos("hosts_per_tor = 2", &["switches = 4", "switches = 4\npods = 2", top]);
    let case = one(&text, Path::new(""));
    let graph = Graph::build(&case.spec.topology).expect("a fabric");
    let rate = |name: &str| {
        let port = &graph.ports[graph.ports_matching(name).expect(name)[0] as usize];
        (port.rate, port.delay)
    };
    assert_eq!(rate("tor0-agg0"), (Rate::from_gbps(100), Span::from_micros(1)));
    assert_eq!(rate("agg3-core1"), (Rate::from_gbps(400), Span::from_nanos(200)));
    // Both ways 4.4 us; 1500 and 40 bytes over four links of 100 Gb/s and two of 400.
    let bytes = (4 * 80 + 2 * 20) * 1540;
    assert_eq!(case.scale.base_rtt, Span(8_800_000 + bytes));
}

/// Breaks if what is no network is accepted, or the wrong key or line is blamed.
#[test]
fn networks_that_cannot_be_are_refused() {
    let three = ["switches = 8", "switches = 8\npods = 4", "switches = 4"];
    let said = |keys: &str, tiers: &[&str]| refused(&clos(keys, tiers), Path::new(""));
    let all = [
        said("", &three),
        said("hosts_per_tor = 2", &[]),
        said("hosts_per_tor = 2", &["switches = 8"]),
        said("hosts_per_tor = 2\noversubscription = 2", &three),
        said("oversubscription = 0.3", &three),
        said("radix = 4\nhosts_per_tor = 2\ntiers = 3", &[]),
        said("radix = 4\ntiers = 2\noversubscription = 7", &[]),
        said("radix = 64\ntiers = 4", &[]),
        said("radix = 128\ntiers = 3", &[]),
        said("radix = 4", &three),
        said("tiers = 2\nhosts_per_tor = 2", &three),
        said("hosts_per_tor = 2", &["switches = 8", "switches = 6\npods = 3", "switches = 4"]),
        said("hosts_per_tor = 2", &["switches = 8\npods = 2", "switches = 2"]),
        said("hosts_per_tor = 2", &["switches = 8", "switchs = 2"]),
        said("hosts_per_tor = 2", &["switches = 8\nname = \"host\"", "switches = 2"]),
        said("hosts_per_tor = 60000", &three),
        said("hosts_per_leaf = 2", &three),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

/// A folder that is gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("leafspine-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a writable directory");
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).expect("room");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("still there");
    }
}

const ROWS: &str = "source,target,rate,delay_us\nweb,rack-a,10Gbps,0.5\ndb,rack-b,25Gbps,0.5\n\
                    rack-a,top,100Gbps,1\nrack-b,top,100Gbps,1\n";
const FILE: &str = "[topology]\nkind = \"file\"\npath = \"links.csv\"\n";

/// Breaks if an edited file passes for the one before, by name or by checksum, or if a path is not taken
/// from the scenario's folder.
#[test]
fn a_file_is_its_contents() {
    let folder = Folder::new("contents");
    folder.write("links.csv", ROWS);
    let text = format!("{FILE}{FLOWS}");
    let before = one(&text, &folder.0);
    assert_eq!(before.scale.rate, Rate::from_gbps(25));
    folder.write("links.csv", &ROWS.replace("25Gbps", "40Gbps"));
    let after = one(&text, &folder.0);
    assert_ne!(before.toml, after.toml);
    let error = single(&before.toml, "f.toml", &folder.0).map(|_| ()).unwrap_err();
    assert_eq!(error.key, "topology.checksum");
}

/// Breaks if the same fabric is another one as node-link JSON, with units in attributes' names, roles,
/// and numbers for names.
#[test]
fn rows_and_node_link_data_are_one_fabric() {
    let folder = Folder::new("json");
    folder.write("links.csv", ROWS);
    let json = r#"{"directed": false, "multigraph": false, "graph": {"name": "lab"},
 "nodes": [{"id": "web", "role": "host"}, {"id": "rack-a", "kind": "leaf"}, {"id": "db", "role": "server"},
  {"id": "rack-b"}, {"id": "top", "pos": [0, 1]}],
 "edges": [
  {"source": "web", "target": "rack-a", "rate_gbps": 10, "delay": "500ns"},
  {"source": "db", "target": "rack-b", "rate": "25Gbps", "delay_ns": 500, "weight": 3},
  {"source": "rack-a", "target": "top", "rate_mbps": 1e5, "delay_us": 1},
  {"source": "rack-b", "target": "top", "rate_tbps": 0.1, "delay_us": 1}]}"#;
    folder.write("links.json", json);
    let csv = one(&format!("{FILE}{FLOWS}"), &folder.0);
    let text = format!("{FILE}{FLOWS}").replace("links.csv", "links.json");
    assert_eq!(one(&text, &folder.0).spec.topology, csv.spec.topology);
    folder.write("links.json", &json.replace("\"edges\"", "\"links\"").replace("\"web\"", "7"));
    let numbered =
        one(&text.replace("[[workload]]\n", "[[workload]]\nsenders = [\"7\"]\n"), &folder.0);
    assert_eq!(numbered.spec.workloads[0].senders, HostSet::List(vec![leafspine_core::HostId(0)]));
}

/// Breaks if links without a rate do not take the scenario's, or one of their own is overridden.
#[test]
fn the_scenario_fills_in_what_a_file_leaves_out() {
    let folder = Folder::new("defaults");
    folder.write("links.csv", "source,target,rate\na,s,\nb,t,40Gbps\ns,t,\n");
    let case = one(&format!("{FILE}{LINKS}{FLOWS}"), &folder.0);
    let graph = Graph::build(&case.spec.topology).expect("a fabric");
    let rates: Vec<Rate> =
        graph.links.iter().map(|link| graph.ports[link.a as usize].rate).collect();
    assert_eq!(rates, [100, 40, 100].map(Rate::from_gbps));
}

/// Breaks if what is wrong in a file is not said with its line and column, or another line is blamed.
#[test]
fn bad_files_are_refused_with_their_lines() {
    let folder = Folder::new("bad");
    let said = |name: &str, contents: &str| {
        folder.write(name, contents);
        refused(&format!("{FILE}{FLOWS}").replace("links.csv", name), &folder.0)
    };
    let json = |nodes: &str, links: &str| {
        said("bad.json", &format!("{{\"nodes\": [\n{nodes}\n],\n\"links\": [\n{links}\n]}}"))
    };
    let ab = "{\"id\": \"a\"},\n{\"id\": \"b\"}";
    let all = [
        said("bad.csv", ""),
        said("bad.csv", "source,target\n"),
        said("bad.csv", "source,traget,rate\na,b,1Gbps\n"),
        said("bad.csv", "source,dst\na,b\n"),
        said("bad.csv", "\u{feff}source;target\na;b\n"),
        said("bad.csv", "a,s\nb,s\n"),
        said("bad.csv", "source,target,rate,delay\na,s,10,1us\n"),
        said("bad.csv", "source,target,rate,delay\na,s,10Gbps,1us\nb,s,10Gbps\n"),
        said("bad.csv", "source,target,rate_gbps,delay\na,s,fast,1us\n"),
        said("bad.csv", "source,target,rate,delay\na,s,10Gbps,1us\nb,s,,1us\n"),
        said("bad.csv", "source,target,rate_gbps,rate_mbps\na,s,10,\nb,s,10,1\n"),
        json(ab, "{\"source\": \"a\", \"target\": \"b\", \"delay\": \"1us\", \"delay_us\": 2}"),
        said("bad.csv", "source,target,rate,delay\na,s,10Gbps,1us\n\nb,b,10Gbps,1us\n"),
        said("bad.csv", "source,target,source_role\na,s,hots\n"),
        said(
            "bad.csv",
            "source,target,rate,delay\na,s,10Gbps,1us\nb,t,10Gbps,1us\nc,t,10Gbps,1us\n",
        ),
        said("bad.json", "{"),
        json(ab, "{\"source\": \"a\", \"target\": \"c\"}"),
        json(ab, "{\"source\": \"a\", \"target\": \"b\", \"rate\": 10}"),
        json("{\"name\": \"a\"}", ""),
        said("bad.json", "{\"directed\": true, \"nodes\": [], \"links\": []}"),
        refused(&format!("{FILE}{FLOWS}").replace("links.csv", "none.csv"), &folder.0),
        refused(&format!("{FILE}leaves = 2\n{FLOWS}"), &folder.0),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

/// Breaks if a change cannot name several links, or the file's own names with dashes.
#[test]
fn changes_and_probes_take_patterns() {
    let changed = |link: &str| {
        let text = format!("[[topology.change]]\nlink = \"{link}\"\nrate = \"1Gbps\"\n");
        cases(&format!("{BASE}{text}"), &[]).expect("a scenario").remove(0).check()
    };
    for link in ["leaf0-spine1", "spine1-leaf0", "leaf*-spine1", "*", "spine1-*", "*#0"] {
        assert_eq!(changed(link).map_err(|error| error.to_string()), Ok(()), "{link}");
    }
    let error = changed("leaf9-*").unwrap_err().to_string();
    assert!(
        error.starts_with("f.toml:14: topology.change.0.link: found \"leaf9-*\"; allowed: host0"),
        "{error}"
    );
}

/// Breaks if a trace's unit or load is lost on the way to the engine.
#[test]
fn traces_have_a_unit_and_a_load() {
    let text =
        "[[workload]]\nkind = \"trace\"\npath = \"trace.csv\"\ntime_unit = \"us\"\nload = 0.5\n";
    let case = crate::common::one(text);
    let WorkloadKind::Trace(trace) = &case.spec.workloads[1].kind else { panic!("no trace") };
    assert_eq!(trace.unit, Some(leafspine_sim::spec::TimeUnit::Us));
    assert_eq!(trace.load, Some((0.5, leafspine_sim::spec::LoadBasis::Fabric)));
    let refused =
        cases(&format!("{BASE}{}", text.replace("load = 0.5", "load_basis = \"host\"")), &[]);
    assert!(refused.is_err());
}
