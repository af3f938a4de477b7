//! Real kernels, where `make linux` has built one: without, these tests say so and pass, unless
//! `LEAFSPINE_NEEDS` names `linux`.

mod common;

use common::{Wire, one_flow, setup};
use leafspine_linux::Fleet;
use leafspine_linux::fleet::BOOTED;
use leafspine_linux::orders::{Order, Report};
use std::process::Command;
use std::sync::Arc;

fn between_two(seed: u64, bytes: u64) -> Option<Wire> {
    let setup = setup(seed)?;
    let mut fleet = Fleet::boot(&setup, &Arc::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut wire = Wire::new(10_000);
    fleet.order(1, BOOTED, &Order::Expect(one_flow(0, bytes)));
    fleet.order(0, BOOTED, &Order::Start(one_flow(1, bytes)));
    wire.run(&mut fleet, 2);
    Some(wire)
}

/// Breaks if a kernel does not boot, a flow does not arrive, or its bytes are others.
#[test]
fn a_flow_between_two_kernels() {
    let Some(wire) = between_two(1, 1_000_000) else { return };
    let [(received, 1, Report::Received(7)), (_, 0, Report::Sent(7, info))] = &wire.reports[..]
    else {
        panic!("{:?}", wire.reports)
    };
    assert_eq!(info.retransmits, 0);
    // Slow start from ten segments over 20 us, and no line to share.
    let took = received - BOOTED;
    assert!((20_000..1_000_000).contains(&took), "{took} ns");
}

/// Breaks if anything of this machine leaks into a guest, or a seed does not.
#[test]
fn runs_repeat() {
    let Some(wire) = between_two(1, 300_000) else { return };
    let again = between_two(1, 300_000).expect("it is there");
    assert_eq!((wire.hash, wire.frames, &wire.reports), (again.hash, again.frames, &again.reports));
    let other = between_two(2, 300_000).expect("it is there");
    assert_ne!(wire.hash, other.hash, "initial sequence numbers are of the seed");
}

/// Breaks if tests pass for want of a kernel where one has been built for them, or fail where nobody has built one.
#[test]
fn no_kernel_is_a_failure_where_one_is_needed() {
    let passes = |needs: Option<&str>| {
        let mut test = Command::new(std::env::current_exe().unwrap());
        test.args(["--exact", "a_flow_between_two_kernels"]);
        test.env("LEAFSPINE_LINUX_FOLDER", "/nowhere").env_remove("LEAFSPINE_LINUX");
        test.env_remove("LEAFSPINE_NEEDS");
        test.envs(needs.map(|needs| ("LEAFSPINE_NEEDS", needs)));
        test.output().unwrap().status.success()
    };
    assert!(passes(None) && passes(Some("tshark")) && !passes(Some("tshark linux")));
}
