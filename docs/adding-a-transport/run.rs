//! A fixed window: a scenario file that says so, run to its end.

mod common;

use common::{BASE, cases, get};
use leafspine_sim::spec::{DriverKind, RunSpec, Spec};
use leafspine_sim::{Output, Progress, Simulation};

const STEADY: &str = "\n[transport]\nkind = \"steady\"\n";

fn run(spec: &Spec, driver: DriverKind) -> Output {
    let spec = Spec { run: RunSpec { driver, ..spec.run }, ..spec.clone() };
    let simulation = Simulation::new(&spec).expect("a valid spec").checked();
    simulation.run(&Progress::default()).expect("a run that ends")
}

/// Breaks if the flows are another protocol's (no other has this window), do not end, or get a byte twice; if small
/// buffers lose nothing, or both drivers do not send the same packets.
#[test]
fn a_file_is_run_to_its_end() {
    for buffer in ["8pkt", "4096pkt"] {
        let text = format!("{BASE}{STEADY}[switch]\nbuffer = \"{buffer}\"\n");
        let case = cases(&text, &[]).unwrap_or_else(|e| panic!("{e}")).remove(0);
        assert_eq!(get(&case, "transport.kind"), "\"steady\"");
        let output = run(&case.spec, DriverKind::Windows);
        assert_eq!(output.trace_hash, run(&case.spec, DriverKind::Calendar).trace_hash);
        let flows = &output.flows;
        assert_eq!(flows.finished(), 100);
        assert_eq!(output.counters.bytes_delivered, flows.bytes.iter().sum::<u64>());
        assert!(flows.fct_ps.iter().zip(&flows.ideal_fct_ps).all(|(took, ideal)| took >= ideal));
        let most = flows.mean_window.iter().copied().fold(0.0, f64::max);
        assert!((most - 16.0 * 1460.0).abs() < 1.0, "{most}");
        assert_eq!(output.counters.dropped[0] > 0, buffer == "8pkt");
        // A resolved file is the same run.
        let again = cases(&case.toml, &[]).unwrap_or_else(|e| panic!("{e}")).remove(0);
        assert_eq!((again.spec.transport, again.toml), (case.spec.transport, case.toml));
    }
}

/// Breaks if TCP's keys, another protocol's scheme, or what a fixed window cannot stand are accepted in silence.
#[test]
fn what_does_not_go_together_is_refused() {
    for (more, key) in [
        ("min_rto = \"1ms\"", "transport.min_rto"),
        ("scheme = \"dctcp\"", "transport.scheme"),
        ("timeout = \"0us\"", "transport.timeout"),
        ("[host_edge]\nscheme = \"oblivious\"", "transport"),
        (
            "[host_edge]\nscheme = \"clove-ecn\"\n[load_balancer]\nscheme = \"pinned\"",
            "transport.kind",
        ),
        ("[hosts]\nkind = \"linux\"", "transport.kind"),
        (
            "[switch]\nqueues = 2\nscheduler = \"strict\"\nclassifier = \"dscp\"\ntrim = \"arriving\"\ntrim_class = 1",
            "switch.trim",
        ),
    ] {
        let error = cases(&format!("{BASE}{STEADY}{more}\n"), &[]).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(key), "{more}: {error}");
    }
}
