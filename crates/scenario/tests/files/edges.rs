//! Every host edge over every transport: it runs, or is refused with the reason.

use crate::common::{BASE, cases};
use leafspine_schemes::edge::Entry;
use leafspine_schemes::{cc, registry};
use leafspine_sim::{Progress, Simulation};

const FIXED: &str = "{ kind = \"fixed\", bytes = \"200KB\" }";

/// What becomes of a scenario: a refusal in its own words, or nothing, if every flow ends with its bytes.
fn outcome(more: &str) -> Option<String> {
    let text = BASE.replace("flows = 100", "flows = 20").replace("\"web-search\"", FIXED);
    let case = match cases(&format!("{text}{more}"), &[]) {
        Ok(mut cases) => cases.remove(0),
        Err(error) => return Some(error.to_string()),
    };
    let simulation =
        Simulation::new(&case.spec).expect("what is not refused can be made").checked();
    let output = simulation.run(&Progress::default()).unwrap_or_else(|e| panic!("{more}: {e}"));
    assert_eq!(output.flows.finished(), 20, "{more}");
    assert_eq!(output.counters.bytes_delivered, 20 * 200_000, "{more}");
    None
}

const CONTROLS: [&str; 5] = ["dcqcn", "line-rate", "hpcc", "nscc", "swift"];
const REPAIRS: [&str; 3] = ["go-back-n", "irn", "each"];

/// The transport of queue pairs.
fn pairs(scheme: &str, recovery: &str) -> String {
    format!("kind = \"roce\"\nscheme = \"{scheme}\"\nrecovery = \"{recovery}\"\n")
}

/// The transports: every congestion control with ECN and without, and queue pairs of every kind.
fn transports() -> Vec<String> {
    let control = |entry: &cc::Entry| {
        let table = format!("scheme = \"{}\"\n", entry.info.name);
        [table.clone() + "ecn = true\n", table + "ecn = false\n"]
    };
    let tcp = cc::ALL.iter().flat_map(control);
    let of = |scheme| REPAIRS.map(|recovery| pairs(scheme, recovery));
    tcp.chain(CONTROLS.into_iter().flat_map(of)).collect()
}

const STAGES: &str = "[switch]\nqueues = 3\nscheduler = \"wrr\"\nweights = [4, 2, 1]\n\
                      classifier = \"stage\"\nstage_queues = [0, 1, 1, 1, 1, 2]\n";

/// A scenario's end: the edge beside a balancer that obeys it, switches that mark, and a transport.
fn over(edge: &Entry, transport: &str) -> String {
    let aqm = "[aqm]\nscheme = \"ecn-threshold\"\nthreshold = \"20pkt\"\n";
    let name = edge.info.name;
    let balancer = edge.balancers.first().unwrap_or(&"ecmp");
    // The one that cannot be made without queues for its stages.
    let switch = if name == "aq-car" { STAGES } else { "" };
    format!(
        "[load_balancer]\nscheme = \"{balancer}\"\n[host_edge]\nscheme = \"{name}\"\n\
         [transport]\n{transport}{aqm}{switch}"
    )
}

/// Why an edge does not run, as the documentation's table has it.
fn word(said: Option<String>) -> &'static str {
    let reasons = [
        ("never sees a mark", "no marks"),
        ("whose ACKs echo marks", "no echo"),
        ("which keep what comes out of order", "in order"),
    ];
    let Some(said) = said else { return "runs" };
    let found = reasons.into_iter().find(|(part, _)| said.contains(part));
    found.unwrap_or_else(|| panic!("{said}")).1
}

/// Breaks if a host edge cannot run over a transport and is not refused, if it is refused for
/// another reason than that it would see no mark, that queue pairs' ACKs echo none, or that the
/// receiver takes nothing out of order, or if it is refused where nothing is so.
#[test]
fn each_over_each_transport() {
    for edge in registry::host_edges() {
        for transport in transports() {
            let roce = transport.contains("roce");
            let wanted = if roce && edge.by_marks && !edge.sprays {
                "no echo"
            } else if edge.by_marks && transport.contains("ecn = false") {
                "no marks"
            } else if edge.sprays && transport.contains("go-back-n") {
                "in order"
            } else {
                "runs"
            };
            let found = word(outcome(&over(edge, &transport)));
            assert_eq!(found, wanted, "{} over {transport}", edge.info.name);
        }
    }
}

/// Breaks if the documentation's table of edges and transports is not what is taken and refused.
#[test]
fn the_table_of_edges() {
    let tcp = ["scheme = \"dctcp\"\n", "scheme = \"newreno\"\n"].map(str::to_owned);
    let columns: Vec<String> =
        tcp.into_iter().chain(REPAIRS.map(|recovery| pairs("dcqcn", recovery))).collect();
    let row = |edge: &Entry| {
        let cells = columns.iter().map(|transport| word(outcome(&over(edge, transport))));
        let cells: Vec<&str> = cells.collect();
        format!("| `{}` | {} |\n", edge.info.name, cells.join(" | "))
    };
    let head = "| host edge | TCP with ECN | TCP without | go-back-N | IRN | packet by packet |\n\
                | --- | --- | --- | --- | --- | --- |\n";
    let table: String =
        std::iter::once(head.to_owned()).chain(registry::host_edges().map(row)).collect();
    let page = include_str!("../../../../docs/scenario.md");
    assert!(page.contains(&table), "docs/scenario.md should have\n{table}");
}
