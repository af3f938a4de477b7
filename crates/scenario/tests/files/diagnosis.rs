//! What is said of a finished run.

use crate::common::cases;
use leafspine_core::Time;
use leafspine_scenario::Case;
use leafspine_scenario::diagnosis::warnings;
use leafspine_sim::{Deadlock, Output, Progress, Simulation};

/// Four hosts of 10 Gb/s under each of two leaves.
fn fabric(rest: &str) -> String {
    format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n\
         host_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\n\
         fabric_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\n{rest}"
    )
}

fn finished(text: &str, sets: &[(&str, &str)]) -> (Case, Output) {
    let case = cases(text, sets).unwrap_or_else(|e| panic!("{e}")).remove(0);
    let output = Simulation::new(&case.spec).expect("a run").run(&Progress::default());
    (case, output.unwrap_or_else(|e| panic!("{e}")))
}

fn said(text: &str, sets: &[(&str, &str)]) -> Vec<String> {
    let (case, output) = finished(text, sets);
    warnings(&case, &output)
}

const WEB: &str = "[[workload]]\nsizes = \"web-search\"\nload = 0.6\nflows = 200\n";

/// Breaks if few flows at a high rate pass for a load, as they do without this diagnosis: 200 web-search
/// flows at a load of 0.6 of 64 uplinks of 100 Gb/s start within a millisecond.
#[test]
fn few_flows_at_a_high_rate_are_no_load() {
    let fast = "100Gbps";
    let found = said(
        &fabric(WEB),
        &[
            ("topology.leaves", "8"),
            ("topology.spines", "8"),
            ("topology.hosts_per_leaf", "8"),
            ("topology.host_link.rate", fast),
            ("topology.fabric_link.rate", fast),
        ],
    );
    insta::assert_snapshot!(found.join("\n"), @r"
    not in steady state: flows start over 700 us, but 1 % of the long flows take 4.1 ms or longer: have more flows or a longer duration, and a warm-up (measure.warmup)
    offered 3528 Gb/s, carried 1269 Gb/s (36 %): flows pile up while they arrive, so completion times depend on the length of the run; if a longer run carries no more, this is an overload
    ");
}

const BULK: &str = "[[workload]]\nkind = \"long-flows\"\ncount = 1\nsenders = [0]\nreceivers = [4]\n\
                    sizes = { kind = \"fixed\", bytes = \"30KB\" }\n";

/// Breaks if a class that no switch sees is taken without a word, or if one by which switches have
/// queues is warned of.
#[test]
fn a_class_that_no_switch_sees_is_warned_of() {
    let classes = |sets: &[(&str, &str)]| {
        let found = said(&fabric(&format!("{BULK}class = 7\n")), sets);
        found.into_iter().filter(|line| line.starts_with("workload.class")).collect::<Vec<_>>()
    };
    assert_eq!(
        classes(&[]),
        [
            "workload.class changes nothing but what packet captures show: switches have one service \
          queue (switch.queues)"
        ]
    );
    let two = [("switch.queues", "2"), ("switch.scheduler", "wrr"), ("switch.classifier", "dscp")];
    assert_eq!(classes(&two), [""; 0]);
}

/// Breaks if nothing is said of ports that waited for each other at the end of a run.
#[test]
fn a_deadlock_is_warned_of() {
    let (case, mut output) = finished(&fabric(BULK), &[]);
    let ring = "s0-s1 waits for s1-s0 waits for s0-s1 (priority 0)".to_owned();
    output.deadlock = Some(Deadlock { since: Time(12_500_000), ring });
    assert_eq!(
        warnings(&case, &output),
        ["ports have paused each other for ever (a deadlock of flow control) since 12.5us: s0-s1 \
          waits for s1-s0 waits for s0-s1 (priority 0); switch.pfc_watchdog would end it"]
    );
}

/// Breaks if a run long enough is warned of: small flows whose times are a hundredth of the run's.
#[test]
fn a_run_in_steady_state_is_not_warned_of() {
    let small = "[[workload]]\nsizes = { kind = \"fixed\", bytes = \"30KB\" }\nload = 0.5\nduration = \"20ms\"\n";
    assert_eq!(said(&fabric(small), &[]), [""; 0]);
    assert_eq!(said(&fabric(small), &[("measure.warmup", "5ms")]), [""; 0]);
}

/// Breaks if the time in which flows arrive counts the warm-up: 20 ms are enough for flows of a
/// millisecond, the time between the last two of them is not.
#[test]
fn the_warmup_is_no_part_of_the_arrivals() {
    let text = fabric(
        "[[workload]]\nsizes = { kind = \"fixed\", bytes = \"1MB\" }\ninterarrival = \"500us\"\n\
         duration = \"20ms\"\n",
    );
    let (case, output) = finished(&text, &[]);
    assert_eq!(warnings(&case, &output), [""; 0]);
    let last_but_one = output.flows.start_ps[output.flows.len() - 2];
    let found = said(&text, &[("measure.warmup", &format!("{last_but_one}ps"))]);
    assert!(found[0].starts_with("not in steady state: flows start over"), "{found:?}");
    assert!(found[0].contains(" us, but 1 % of the medium flows take"), "{found:?}");
}

/// Breaks if flows that the end cut off count as short ones: each is as old as it is, at least.
#[test]
fn unfinished_flows_count_at_their_age() {
    let stuck = "[[workload]]\nsizes = { kind = \"fixed\", bytes = \"500MB\" }\ninterarrival = \"1us\"\nflows = 100\n\
                 [run]\nuntil = \"5ms\"\n";
    let found = said(&fabric(stuck), &[]);
    assert!(found[0].contains("1 % of the long flows take 5 ms or longer"), "{found:?}");
    assert!(found[1].contains("Gb/s (0 %)"), "{found:?}");
}

/// Breaks if an overload is not said to be carried less than it is offered.
#[test]
fn an_overload_is_not_carried() {
    let over = "[[workload]]\nsizes = { kind = \"fixed\", bytes = \"30KB\" }\nload = 1.5\nduration = \"20ms\"\n";
    let found = said(&fabric(over), &[]);
    let carried = "offered 58.6 Gb/s, carried 34.3 Gb/s (59 %)";
    assert!(found.iter().any(|line| line.starts_with(carried)), "{found:?}");
}

/// Breaks if a handful of flows are said to pile up: the last of them are under way as the window
/// closes, and that is much of what came.
#[test]
fn few_flows_do_not_pile_up() {
    let flows = |every: &str, count: u32| {
        fabric(&format!(
            "[[workload]]\nsizes = {{ kind = \"fixed\", bytes = \"1MB\" }}\nflows = {count}\n\
             interarrival = \"{every}\"\nreceivers = [0]\nsenders = [4, 5, 6, 7]\n"
        ))
    };
    // The receiver's link would need 800 us for each.
    let found = said(&flows("700us", 6), &[]);
    let few = "6 flows arrived while the run was measured, too few to say whether it is in a steady state";
    assert!(found[0].starts_with(few), "{found:?}");
    let found = said(&flows("100us", 12), &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("not in steady state: "), "{found:?}");
    let found = said(&flows("500us", 120), &[]);
    assert!(found.iter().any(|line| line.contains("flows pile up")), "{found:?}");
}

/// Breaks if flows that do not arrive for as long as there are any are asked for a steady state: a
/// burst, bulk flows, a trace of flows that start at once.
#[test]
fn bursts_have_no_steady_state_to_reach() {
    for workload in [
        "kind = \"incast\"\nsenders = \"the rest\"\nreceivers = [0]\nrounds = 3\nevery = \"10us\"\n",
        "kind = \"long-flows\"\ncount = 4\nstagger = \"1us\"\n",
        "kind = \"permutation\"\nstagger = \"1us\"\n",
    ] {
        let text =
            format!("[[workload]]\nsizes = {{ kind = \"fixed\", bytes = \"2MB\" }}\n{workload}");
        assert_eq!(said(&fabric(&text), &[]), [""; 0], "{workload}");
    }
    // Beside them, a Poisson workload is looked at alone.
    let both = format!(
        "{WEB}[[workload]]\nkind = \"long-flows\"\ncount = 4\nsizes = {{ kind = \"fixed\", bytes = \"20MB\" }}\n"
    );
    let found = said(&fabric(&both), &[("workload.0.flows", "20")]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("not in steady state"), "{found:?}");
}

/// Breaks if the classes that are looked at are not the largest sizes', or an empty one is taken.
#[test]
fn the_largest_sizes_are_looked_at() {
    let large = "[[workload]]\nsizes = { kind = \"fixed\", bytes = \"50KB\" }\ninterarrival = \"1us\"\nflows = 50\n";
    for (classes, name) in [
        ("", "short flows"),
        ("[classes]\nmice = \"0..10KB\"\nelephants = \"10KB..\"\n", "elephants flows"),
        ("[classes]\nlong = \"20KB..60KB\"\nhuge = \"1KB..\"\n", "long flows"),
        ("[classes]\nhuge = \"1MB..\"\n", "the flows"),
    ] {
        let found = said(&fabric(&format!("{large}{classes}")), &[]);
        assert!(found.iter().any(|line| line.contains(name)), "{name}: {found:?}");
    }
}

/// Breaks if a run that its end cut short does not say how many flows it is without; of a duration
/// they have not been counted.
#[test]
fn flows_that_had_not_started_are_told_of() {
    let cut = |stop: &str| {
        let text = WEB.replace("flows = 200", stop) + "[run]\nuntil = \"1ms\"\n";
        said(&fabric(&text), &[]).remove(0)
    };
    let late = "more flows had not started when the run ended: they are in no table";
    assert_eq!(cut("duration = \"50ms\""), late);
    let counted = cut("flows = 200");
    assert!(counted.ends_with(late) && counted.starts_with('1'), "{counted}");
}

/// Seven hosts write to the eighth at once over flow control.
const INCAST: &str = "[transport]\nkind = \"roce\"\nscheme = \"line-rate\"\nmss = 1000\n\
    [switch]\nshared_buffer = \"1MB\"\npfc = \"dynamic\"\n\
    [[workload]]\nkind = \"incast\"\nfan_in = 7\nrounds = 1\nevery = \"1ms\"\n\
    sizes = { kind = \"fixed\", bytes = \"400KB\" }\nsenders = \"the rest\"\nreceivers = [0]\n\
    [measure]\nwindow = \"all\"\n";

/// Breaks if a drop of a lossless priority, or a watchdog that has acted, is not told with its count and cause, or if
/// flow control that lost nothing is warned of.
#[test]
fn lossless_priorities_that_lose_are_told_of() {
    assert_eq!(said(&fabric(INCAST), &[]), [""; 0]);
    let few = said(&fabric(INCAST), &[("switch.pfc_headroom", "1KB")]);
    let lossy = said(&fabric(INCAST), &[("topology.fabric_link.loss", "0.1")]);
    let drops = said(&fabric(INCAST), &[("switch.pfc_watchdog", "20us")]);
    let forward = [("switch.pfc_watchdog", "20us"), ("switch.pfc_action", "forward")];
    let sends = said(&fabric(INCAST), &forward);
    // Timeouts are told of, too.
    let all = [few, lossy, drops, sends].concat();
    let pauses: Vec<String> = all.into_iter().filter(|line| line.contains("lossless")).collect();
    insta::assert_snapshot!(pauses.join("\n"), @r#"
    7698 packets of lossless priorities dropped, for the headroom was full: switch.pfc_headroom = "1KB" is less than what comes until a pause takes effect
    784 packets of lossless priorities dropped, for the headroom was full: a pause frame was lost, or a link came up before its far end was paused
    the watchdog (switch.pfc_watchdog) acted 13 times on a lossless queue that stayed paused: 1077 packets dropped
    1064 packets of lossless priorities dropped, for the headroom was full: the watchdog had a port send though it was paused
    the watchdog (switch.pfc_watchdog) acted 1 time on a lossless queue that stayed paused: it was sent though paused
    "#);
}
