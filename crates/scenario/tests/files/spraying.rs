//! Every host that sprays, over every transport: it runs, or is refused with the reason.

use crate::common::{BASE, cases};
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

/// The transports: every congestion control with ECN and without, and queue pairs of every kind.
fn transports() -> Vec<String> {
    let control = |entry: &cc::Entry| {
        let table = format!("scheme = \"{}\"\n", entry.info.name);
        [table.clone() + "ecn = true\n", table + "ecn = false\n"]
    };
    let tcp = cc::ALL.iter().flat_map(control);
    let pairs = ["dcqcn", "line-rate"].into_iter().flat_map(|scheme| {
        ["go-back-n", "irn"].map(|recovery| {
            format!("kind = \"roce\"\nscheme = \"{scheme}\"\nrecovery = \"{recovery}\"\n")
        })
    });
    tcp.chain(pairs).collect()
}

/// Breaks if a spraying host cannot run over a transport and is not refused, if it is refused for
/// another reason than that it would see no mark or that the receiver takes nothing out of order,
/// or if it is refused where neither is so.
#[test]
fn each_over_each_transport() {
    let edges: Vec<_> = registry::host_edges().filter(|edge| edge.sprays).collect();
    assert_eq!(edges.len(), 4);
    for edge in edges {
        for transport in transports() {
            let name = edge.info.name;
            let aqm = "[aqm]\nscheme = \"ecn-threshold\"\nthreshold = \"20pkt\"\n";
            let text = format!("[host_edge]\nscheme = \"{name}\"\n[transport]\n{transport}{aqm}");
            let blind = edge.by_marks && transport.contains("ecn = false");
            let in_order = transport.contains("go-back-n");
            match (outcome(&text), blind, in_order) {
                (None, false, false) => {}
                (Some(said), true, false) => assert!(said.contains("never sees a mark"), "{said}"),
                (Some(said), false, true) => assert!(said.contains("out of order"), "{said}"),
                (found, ..) => panic!("{name} over {transport}: {found:?}"),
            }
        }
    }
}
