//! What is told of a fabric while it is built, and how it is given up.

use crate::common::base;
use leafspine_sim::spec::{Spec, TopologyKind};
use leafspine_sim::{BuildError, Factories, Progress, Simulation};
use std::thread;
use std::time::{Duration, Instant};

fn fat_tree(k: u32) -> Spec {
    let mut spec = base();
    spec.topology.kind = TopologyKind::FatTree { k };
    spec
}

/// Breaks if a run that was cancelled before it began is built all the same, or if what was under
/// way is still told of after the end.
#[test]
fn a_cancelled_fabric_is_not_built() {
    let progress = Progress::default();
    assert_eq!(progress.building(), None);
    assert!(Simulation::watched(&fat_tree(4), &Factories::default(), &progress).is_ok());
    assert_eq!(progress.building(), None);
    progress.cancel();
    let made = Simulation::watched(&fat_tree(4), &Factories::default(), &progress);
    assert!(matches!(made, Err(BuildError::Cancelled(_))));
}

/// Builds a fat-tree, cancels it as soon as `part` is under way, and gives what was told before, and
/// how long the end took.
fn cancelled_at(part: &str, spec: &Spec) -> (Vec<(&'static str, u32)>, Duration) {
    let (progress, mut told) = (Progress::default(), Vec::new());
    let (made, late) = thread::scope(|scope| {
        let build = scope.spawn(|| Simulation::watched(spec, &Factories::default(), &progress));
        while !build.is_finished() && told.last().is_none_or(|(now, _)| *now != part) {
            told.extend(progress.building());
            thread::sleep(Duration::from_millis(1));
        }
        progress.cancel();
        let start = Instant::now();
        let made = build.join().expect("no panic");
        (made.map(drop), start.elapsed())
    });
    assert!(matches!(made, Err(BuildError::Cancelled(_))), "{part}: it was built all the same");
    (told, late)
}

/// Breaks if a large fabric's parts are not told of in their order, or if one of them cannot be
/// interrupted within a second.
#[test]
fn every_part_of_a_large_fabric_can_be_interrupted() {
    const PARTS: [&str; 4] = ["routes", "ideal times", "switches", "ports"];
    let spec = fat_tree(48);
    for part in PARTS {
        let (told, late) = cancelled_at(part, &spec);
        assert!(late < Duration::from_secs(1), "{part}: given up after {late:?}");
        assert!(told.iter().all(|(_, percent)| *percent < 100));
        let order =
            |(part, percent): &(&str, u32)| (PARTS.iter().position(|p| p == part), *percent);
        assert!(told.is_sorted_by_key(order), "{told:?}");
    }
}
