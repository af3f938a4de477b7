//! Ports that wait for each other, the watchdog that ends it, and its storms.

use super::*;
use crate::common::*;
use leafspine_core::{Span, Time};
use leafspine_sim::spec::*;
use leafspine_sim::{Cause, Deadlock, Factories, Output, Progress, RunError, Simulation, Stuck};

/// A ring of five switches: each host sends to the one two further on, so that every link's packets go on by the
/// next.
fn ring() -> Spec {
    let links: Vec<_> = (0..5).map(|n| (n, (n + 1) % 5)).collect();
    let kind = fabric(5, &[10_000; 5], &links, 1);
    let flows = long_flows(5, 1460 * 2_000, hosts(&[0, 1, 2, 3, 4]), hosts(&[2, 3, 4, 0, 1]));
    bursts(kind, 2_000, vec![flows])
}

/// All ways to run a spec: looked at closely or not, by each driver.
fn all_ways(spec: &Spec) -> Vec<Result<Output, RunError>> {
    use DriverKind::{Calendar, Domains, Threads, Windows};
    let mut found = Vec::new();
    for (driver, threads) in [(Calendar, 1), (Windows, 1), (Domains, 3), (Threads, 2)] {
        let spec = Spec { run: RunSpec { driver, threads, ..spec.run }, ..spec.clone() };
        let simulation = || Simulation::with(&spec, &Factories::default()).expect("a valid spec");
        for simulation in [simulation(), simulation().checked()] {
            found.push(simulation.run(&Progress::default()));
        }
    }
    found
}

/// The ring's ports, all of which are alike and paused at once: at 26 us a packet has come to each switch, 1.2 us
/// after another, with which more than 6,000 bytes wait, and the frame takes 51.2 ns and 1 us.
fn deadlock() -> Deadlock {
    let ring = "s0-s1 waits for s1-s2 waits for s2-s3 waits for s3-s4 waits for s4-s0 waits for \
                s0-s1 (priority 0)";
    Deadlock { since: Time(27_051_200), ring: ring.to_owned() }
}

/// Breaks if a ring of ports that wait for each other is not seen, or not named, or if when that is depends on who
/// drives the run or on whether it is checked.
#[test]
fn a_deadlock_ends_a_run_that_has_no_end() {
    let stuck = |result: Result<Output, RunError>| match result {
        Err(RunError::Stuck(stuck)) => *stuck,
        other => panic!("it ends: {:?}", other.map(|output| output.end)),
    };
    let found: Vec<Stuck> = all_ways(&ring()).into_iter().map(stuck).collect();
    assert_eq!(found[0].why, deadlock().to_string());
    assert_eq!(found[0].time, Time(1_000_000_000), "the first look");
    assert!(found.iter().all(|other| *other == found[0]), "{found:?}");
}

/// The ring is there from 27 us on; a link of it goes down just when it is looked for.
///
/// Breaks if that look is before the change, wherever that stands among changes: the run would end,
/// though its flows need not wait for each other for ever.
#[test]
fn a_change_at_the_time_of_a_look_is_seen() {
    let other = LinkChange { up: Some(true), ..change("s1-s2", Span::from_micros(10)) };
    let down = LinkChange { up: Some(false), ..change("s0-s1", Span::from_micros(1_000)) };
    for changes in [vec![down.clone(), other.clone()], vec![other, down]] {
        let spec = Spec { changes, ..ring() };
        for output in all_ways(&spec) {
            assert_eq!(output.expect("it goes on").deadlock, None);
        }
    }
}

/// Breaks if a run with an end of its own does not go on to it, or does not tell of the ring then; if a change of a
/// link that it does not live to see keeps it from that, or if it is told of before it is there.
#[test]
fn a_deadlock_is_told_of_at_the_end_that_a_run_has() {
    let ended = |us: u64| {
        let mut spec = ring();
        spec.run.until = Some(Time(us * 1_000_000));
        spec.changes =
            vec![LinkChange { up: Some(true), ..change("s0-s1", Span::from_micros(40_000)) }];
        let found: Vec<Output> =
            all_ways(&spec).into_iter().map(|run| run.expect("it goes on")).collect();
        for output in &found {
            assert_eq!(output.end, Time(us * 1_000_000));
            assert_eq!(output.trace_hash, found[0].trace_hash);
            assert_eq!(output.deadlock, found[0].deadlock);
        }
        found[0].deadlock.clone()
    };
    assert_eq!([10, 20_000].map(ended), [None, Some(deadlock())]);
}

/// Breaks if a watchdog leaves a queue paused, by either action, if it acts where nothing is stuck, or if what it
/// drops is not counted.
#[test]
fn a_watchdog_ends_a_deadlock() {
    for action in [WatchdogAction::Drop, WatchdogAction::Forward] {
        let ms = Span::from_millis(1);
        let watchdog = Some(WatchdogSpec { detect: ms, restore: ms, action });
        let mut spec = ring();
        spec.switch.pfc.as_mut().expect("on").watchdog = watchdog;
        let output = run(&spec);
        assert!(output.counters.storms > 0, "{action:?}");
        // Of these priorities a queue manager drops nothing, so what is counted as its is the watchdog's.
        let dropped = output.counters.dropped[Cause::Manager as usize];
        assert_eq!(output.counters.storm_drops, dropped, "{action:?}");
        assert_eq!(dropped > 0, action == WatchdogAction::Drop);
        let mut spec = incast(200);
        spec.switch.pfc.as_mut().expect("on").watchdog = watchdog;
        assert_eq!(run(&spec).counters.storms, 0);
    }
}

/// Breaks if a port whose link goes down in a storm stays in it for ever: with nothing paused any more nobody
/// would look at it again, and all that it is given would be dropped.
#[test]
fn a_storm_ends_though_the_link_goes_down_in_it() {
    for action in [WatchdogAction::Drop, WatchdogAction::Forward] {
        let mut spec = flapping(900, 1_000);
        let detect = Span::from_micros(100);
        spec.switch.pfc.as_mut().expect("on").watchdog =
            Some(WatchdogSpec { detect, restore: detect, action });
        spec.run.until = Some(Time(60_000_000_000_000));
        let output = run(&spec);
        assert!(output.counters.storms > 0, "{action:?}");
        assert!(output.flows.fct_ps[0] < 20_000_000_000_000, "{action:?}");
    }
}
