//! Schemes of every place from outside: named by scenario files, checked, made and asked like the
//! built-in ones. One test in a process of its own, because the registry is filled once.

mod common;

use common::{BASE, cases};
use leafspine_core::{PacketMeta, PortId, Rng, Span, Time};
use leafspine_schemes::bundle::Bundle;
use leafspine_schemes::cc::{AckSample, CongestionControl, Control, CustomControl, Loss};
use leafspine_schemes::edge::{EdgeContext, FlowView, HostEdge};
use leafspine_schemes::hold::{Held, Ingress, IngressHold};
use leafspine_schemes::lb::LoadBalancer;
use leafspine_schemes::registry::{self, Extension, Place};
use leafspine_schemes::{
    Context, Demands, Kind, Param, Paths, Provenance, QueueView, SchemeInfo, parameters,
};
use leafspine_schemes::{aqm, cc, edge, hold, lb};
use leafspine_sim::{Output, Progress, Simulation};
use std::sync::atomic::{AtomicU64, Ordering};

/// How often the schemes below were asked, in the order of [`Place::ALL`].
static ASKED: [AtomicU64; 5] = [const { AtomicU64::new(0) }; 5];

fn ask(place: Place) {
    ASKED[place as usize].fetch_add(1, Ordering::Relaxed);
}

fn asked(place: Place) -> bool {
    ASKED[place as usize].load(Ordering::Relaxed) > 0
}

/// The path of a fixed number; the last one if there are fewer.
struct Fixed(usize);

impl LoadBalancer for Fixed {
    fn pick(&mut self, _: &mut PacketMeta, paths: &Paths<'_>, _: &mut Context<'_>) -> PortId {
        ask(Place::LoadBalancer);
        paths.ports[self.0.min(paths.ports.len() - 1)]
    }
}

/// Takes, passes and leaves everything as it is.
struct Idle;

impl aqm::Aqm for Idle {
    fn admit(&mut self, _: &PacketMeta, _: &QueueView, _: Time, _: &mut Rng) -> aqm::Admit {
        ask(Place::Aqm);
        aqm::Admit::Take
    }
}

impl IngressHold for Idle {
    fn arrived(&mut self, _: &PacketMeta, _: PortId, _: u32, _: Time) -> Ingress {
        ask(Place::Hold);
        Ingress::Pass
    }

    fn backlog_changed(&mut self, _: PortId, _: u32, _: Time) -> Held {
        Held::Keep
    }

    fn needs(&self) -> hold::Needs {
        hold::Needs { capacity: 1, ..hold::Needs::default() }
    }
}

impl HostEdge for Idle {
    fn sending(&mut self, _: &mut PacketMeta, _: &mut FlowView<'_>, _: &mut EdgeContext<'_>) {
        ask(Place::HostEdge);
    }
}

/// A window that never changes.
#[derive(Clone, Debug)]
struct Steady(u32);

impl CongestionControl for Steady {
    fn on_ack(&mut self, _: &AckSample, _: Time) {
        ask(Place::Transport);
    }

    fn on_loss(&mut self, _: Loss, _: u32, _: Time) {}

    fn window(&self) -> u32 {
        self.0
    }

    fn ssthresh(&self) -> u32 {
        self.0
    }
}

impl CustomControl for Steady {
    fn fresh(&self) -> Box<dyn CustomControl> {
        Box::new(self.clone())
    }
}

const fn info(name: &'static str, params: &'static [Param]) -> SchemeInfo {
    SchemeInfo {
        name,
        summary: "For a test.",
        source: "none",
        provenance: Provenance::Own,
        unspecified: &[],
        params,
        demands: Demands::NONE,
    }
}

parameters! {
    struct Settings {
        path: usize = Param::new(Kind::Int(0, 7), "0", "The path's number."),
        wait: Span = Param::new(Kind::Span(1, 1_000_000), "1us", "Unused."),
    }
}

const EXTENSION: Extension = Extension {
    from: "for-a-test 1.0",
    balancers: &[lb::Entry {
        info: info("fixed-path", Settings::PARAMS),
        build: |params, _| {
            let settings = Settings::read(params)?;
            assert!(settings.wait > Span(0));
            Ok(Box::new(Fixed(settings.path)))
        },
        edge: Some("idle"),
        host_aqm: None,
    }],
    managers: &[aqm::Entry {
        info: info("idle", &[]),
        build: |_, _, _| Ok(Box::new(Idle)),
        marks: |_| false,
    }],
    holds: &[hold::Entry { info: info("idle", &[]), build: |_, _| Ok(Box::new(Idle)) }],
    edges: &[edge::Entry {
        info: info("idle", &[]),
        build: |_, _| Ok(Box::new(Idle)),
        balancers: &["fixed-path"],
        by_marks: false,
        by_stack: false,
        in_order: None,
        sprays: false,
    }],
    controls: &[cc::Entry {
        info: info("steady", &[]),
        build: |_, env| Ok(Control::Custom(Box::new(Steady(env.init_cwnd)))),
        ecn: false,
    }],
    bundles: &[Bundle {
        name: "all-of-it",
        doc: "Everything here.",
        keys: &[
            ("load_balancer.scheme", "\"fixed-path\""),
            ("aqm.scheme", "\"idle\""),
            ("hold.scheme", "\"idle\""),
            ("transport.scheme", "\"steady\""),
        ],
    }],
};

fn run(sets: &[(&str, &str)]) -> Output {
    let case = cases(BASE, sets).unwrap_or_else(|e| panic!("{e}")).remove(0);
    Simulation::new(&case.spec).unwrap().checked().run(&Progress::default()).unwrap()
}

fn refused(sets: &[(&str, &str)]) -> String {
    cases(BASE, sets).unwrap_err().to_string()
}

fn packets(output: &Output, port: &str) -> u64 {
    output.ports.iter().find(|row| row.name == port).unwrap().packets
}

/// Breaks if a scheme from outside is not found at its place, is not asked, or gets parameters that
/// were not checked; or if the registry changes once it is in use.
#[test]
fn schemes_from_outside_are_schemes() {
    registry::register(EXTENSION).unwrap();
    let late = Extension { from: "late 1.0", ..Extension::EMPTY };
    assert_eq!(
        registry::register(late).unwrap_err().to_string(),
        "late 1.0: found a registry in use; allowed: one registration, before the first look-up"
    );
    assert_eq!(registry::extension().map(|found| found.from), Some("for-a-test 1.0"));
    assert!(EXTENSION.has(Place::HostEdge, "idle") && !EXTENSION.has(Place::LoadBalancer, "idle"));

    // The bundle names four; the balancer brings its edge.
    let output = run(&[("scheme", "all-of-it"), ("load_balancer.path", "1")]);
    for place in Place::ALL {
        assert!(asked(place), "{place:?}");
    }
    let (first, second) = (packets(&output, "leaf0-spine0"), packets(&output, "leaf0-spine1"));
    assert!(first == 0 && second > 0, "{first} and {second} packets");

    let own = ("load_balancer.scheme", "fixed-path");
    assert_eq!(
        refused(&[own, ("load_balancer.path", "8")]),
        "--set load_balancer.path: found 8; allowed: a whole number, at most 7"
    );
    assert_eq!(
        refused(&[own, ("load_balancer.wait", "1s")]),
        "--set load_balancer.wait: found \"1s\"; \
         allowed: a time such as \"12.5us\" (ps, ns, us, ms, s, rtt), from 1ps to 1us"
    );
    assert!(refused(&[own, ("load_balancer.pth", "1")]).ends_with("did you mean \"path\"?"));
    let nearly = refused(&[("load_balancer.scheme", "fixed-pth")]);
    assert!(nearly.ends_with("\"fixed-path\"; did you mean \"fixed-path\"?"), "{nearly}");
    let nearly = refused(&[("scheme", "all-of-if")]);
    assert!(nearly.ends_with("did you mean \"all-of-it\"?"), "{nearly}");
    let other = refused(&[own, ("host_edge.scheme", "presto")]);
    assert!(other.contains("\"idle\", without which"), "{other}");
}
