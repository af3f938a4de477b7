//! Threads that share the windows of one run.

use crate::common::*;
use leafspine_core::{PacketMeta, PortId, Span};
use leafspine_schemes::lb::LoadBalancer;
use leafspine_schemes::{Context, Paths, SwitchEnv};
use leafspine_sim::spec::*;
use leafspine_sim::{Factories, Output, Progress, Simulation};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// 32 hosts whose windows have some hundred packet-hops: more than threads are asked to be worth.
fn dense() -> Spec {
    let mut spec = base();
    spec.topology.kind = leaf_spine(4, 4, 8);
    spec.topology.host_link.delay = Span::from_micros(20);
    spec.topology.fabric_link.delay = Span::from_micros(20);
    spec.workloads = vec![fixed_flows(400, 200_000, 0.8)];
    spec
}

fn on(spec: &Spec, driver: DriverKind, threads: usize, factories: &Factories<'_>) -> Output {
    let spec = Spec { run: RunSpec { driver, threads, ..spec.run }, ..spec.clone() };
    let simulation = Simulation::with(&spec, factories).expect("a valid spec");
    simulation.run(&Progress::default()).expect("a run that ends")
}

/// Breaks if what one thread does in a window depends on another, if a domain is handed out twice or
/// forgotten, or is not taken back where its thread has not begun.
#[test]
fn threads_change_no_packet() {
    let spec = dense();
    let schemes = Factories::default();
    let one = on(&spec, DriverKind::Windows, 1, &schemes);
    assert_eq!(one.flows.finished(), 400);
    for threads in [2, 3, 4, 7] {
        for driver in [DriverKind::Auto, DriverKind::Threads] {
            assert_same_packets(&one, &on(&spec, driver, threads, &schemes));
        }
    }
}

/// Breaks if what is on its way between two parts is forgotten where nothing else is there to be done, or if a
/// timeout is, when nodes are dealt out anew: one flow at a time, over links that lose a tenth, between two leaves
/// that are apart half of the time.
#[test]
fn parts_of_a_quiet_run_wait_for_each_other() {
    let mut spec = base();
    spec.topology.kind = leaf_spine(2, 2, 1);
    let lossy = |link: &str| LinkChange { loss: Some(0.1), ..change(link, Span::ZERO) };
    spec.changes = vec![lossy("leaf0-spine0"), lossy("leaf0-spine1")];
    spec.workloads = vec![fixed_flows(40, 20_000, 0.001)];
    let schemes = Factories::default();
    let one = on(&spec, DriverKind::Calendar, 1, &schemes);
    let timeouts: u32 = one.flows.timeouts.iter().sum();
    assert!(timeouts >= 20, "{timeouts} timeouts");
    for driver in [DriverKind::Domains, DriverKind::Threads] {
        assert_same_packets(&one, &on(&spec, driver, 2, &schemes));
    }
}

/// Panics at its hundredth pick.
struct Falls(u32);

impl LoadBalancer for Falls {
    fn pick(&mut self, _: &mut PacketMeta, paths: &Paths<'_>, _: &mut Context<'_>) -> PortId {
        self.0 += 1;
        assert!(self.0 < 100, "this balancer is done");
        paths.ports[0]
    }
}

/// Breaks if a scheme that panics in another thread leaves the run waiting for it, or ends in
/// another panic, of which nobody learns what it was.
#[test]
fn a_scheme_that_panics_in_a_thread_ends_the_run() {
    let make = |_: &SwitchEnv| Box::new(Falls(0)) as Box<dyn LoadBalancer>;
    let factories = Factories { balancer: Some(Box::new(make)), ..Factories::default() };
    for threads in [1, 2, 4] {
        let run = || on(&dense(), DriverKind::Threads, threads, &factories);
        let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("it panics");
        let said = panic.downcast_ref::<&str>().copied();
        assert_eq!(said, Some("this balancer is done"), "{threads} threads");
    }
}
