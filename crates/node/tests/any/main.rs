//! Whatever they are fed, schemes keep to their bounds: every registered balancer, queue manager,
//! ingress hold and host edge is driven by random operations, with random parameters, in a real
//! switch or in real hosts.
//!
//! What must hold of all is asserted where it happens, in `switch` and `host`; here all are driven,
//! twice each, and must do the same both times.

#![allow(unreachable_pub, reason = "modules of one test")]

#[path = "../common/mod.rs"]
mod common;
mod host;
mod packets;
mod strategies;
mod switch;
mod world;

use leafspine_core::{Rng, Role};
use leafspine_node::Counters;
use leafspine_schemes::Params;
use leafspine_schemes::registry::{self, Place};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{FileFailurePersistence, TestRunner};
use std::panic::{AssertUnwindSafe, catch_unwind};
use world::World;

/// Drives one scheme, twice. `make` gives `None` if the parameters are refused, which is right.
fn drive<W: World>(
    name: &str,
    make: impl Fn() -> Option<W>,
    ops: &[W::Op],
) -> Result<(), TestCaseError> {
    let run = || {
        let mut world = make()?;
        ops.iter().for_each(|op| world.apply(op));
        world.finish();
        Some(world.decisions().to_vec())
    };
    let once = || {
        catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied());
            TestCaseError::fail(format!("{name}: {}", text.unwrap_or("a panic")))
        })
    };
    prop_assert!(once()? == once()?, "{name} does not repeat itself");
    Ok(())
}

/// Cases that once failed are kept, and tried first.
fn config() -> ProptestConfig {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/any/regressions.txt");
    ProptestConfig {
        cases: 300,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(kept))),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    /// Breaks if any scheme of a switch panics, picks a port that is not live, marks what is not
    /// ECN-capable, changes what is not its own, loses or doubles a packet, sends a probe that no
    /// network could carry, keeps a packet back for ever, asks to be called in the past, or does not
    /// repeat itself; or if the switch does any of this to it.
    #[test]
    fn any_scheme_of_a_switch_keeps_its_bounds(
        seed in any::<u64>(),
        ops in proptest::collection::vec(strategies::at_a_switch(), 1..150),
    ) {
        for place in [Place::LoadBalancer, Place::Aqm, Place::Hold] {
            for info in place.schemes() {
                let make = || switch::World::new(place, info, seed);
                drive(info.name, make, &ops)?;
            }
        }
    }

    /// Breaks if any edge panics, changes what is not its own, keeps a flow from its end in a network that
    /// has stopped losing packets, sends a probe that no host could send, or does not repeat itself.
    #[test]
    fn any_edge_keeps_its_bounds(
        seed in any::<u64>(),
        ops in proptest::collection::vec(strategies::between_hosts(), 1..200),
    ) {
        for entry in registry::host_edges() {
            drive(entry.info.name, || host::World::new(entry, seed), &ops)?;
        }
    }
}

/// Breaks if a scheme cannot be made from its own defaults, at a leaf that meets its demands: then
/// the tests above would pass it by.
#[test]
fn every_scheme_can_be_made() {
    for place in [Place::LoadBalancer, Place::Aqm, Place::Hold] {
        for info in place.schemes() {
            let made = (0..50).filter(|seed| switch::World::new(place, info, *seed).is_some());
            assert!(made.count() > 10, "{} is refused nearly always", info.name);
            let defaults = Params::defaults(info.params);
            let (_, env) = switch::env(info, &mut Rng::new(0, Role::Hash, 0));
            assert!(
                switch::Scheme::make(place, info.name, &defaults, &env).is_some(),
                "{}",
                info.name
            );
        }
    }
    for entry in registry::host_edges() {
        let made = (0..50).filter(|seed| host::World::new(entry, *seed).is_some());
        assert!(made.count() > 10, "{} is refused nearly always", entry.info.name);
    }
}

/// So many lists of operations, always the same.
fn drawn<T: std::fmt::Debug>(op: impl Strategy<Value = T>, lists: usize) -> Vec<Vec<T>> {
    let (mut runner, ops) = (TestRunner::deterministic(), proptest::collection::vec(op, 1..150));
    let list = |_| ops.new_tree(&mut runner).expect("nothing is refused").current();
    (0..lists).map(list).collect()
}

/// Breaks if nothing is dropped for some cause, marked, held back, kept, sent by a scheme itself or taken
/// out again in the worlds of the tests above: then their promises would be empty.
#[test]
fn all_that_can_happen_at_a_switch_does() {
    let (mut sum, mut held) = (Counters::default(), 0);
    for (seed, ops) in (0..).zip(drawn(strategies::at_a_switch(), 30)) {
        for place in [Place::LoadBalancer, Place::Aqm, Place::Hold] {
            let worlds = place.schemes().into_iter();
            for mut world in worlds.filter_map(|info| switch::World::new(place, info, seed)) {
                for op in &ops {
                    world.apply(op);
                    held += world.kept_back() as u64;
                }
                world.finish();
                sum.add(world.counters());
            }
        }
    }
    let Counters { dropped, marks, kept_packets, injected, consumed, .. } = sum;
    let happened = [marks, held, kept_packets, injected, consumed];
    assert!(happened.iter().chain(&dropped).all(|count| *count > 10), "{sum:?}");
}

/// Breaks if no edge sends a probe or holds packets, or if no flow has to send again what was lost.
#[test]
fn all_that_can_happen_between_hosts_does() {
    let mut sum = host::Happened::default();
    for (seed, ops) in (0..).zip(drawn(strategies::between_hosts(), 30)) {
        for mut world in registry::host_edges().filter_map(|entry| host::World::new(entry, seed)) {
            ops.iter().for_each(|op| world.apply(op));
            world.finish();
            sum.add(world.happened());
        }
    }
    let host::Happened { probes, held, again } = sum;
    assert!([probes, held, again].iter().all(|count| *count > 50), "{sum:?}");
}

/// Breaks if a manager drops or marks a lone packet at an idle port with its defaults.
#[test]
fn every_manager_takes_a_lone_packet() {
    for info in Place::Aqm.schemes() {
        switch::lone_packet(info);
    }
}
