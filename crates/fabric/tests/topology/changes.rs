//! Link changes: what they become and what is refused.

use crate::{build, leaf_spine};
use leafspine_core::{Rate, Span, Time};
use leafspine_fabric::{
    Flap, Graph, LinkChange, ResolvedChange, TopologyKind, check_changes, restores,
};

fn at(link: &str, us: u64) -> LinkChange {
    LinkChange {
        link: link.to_owned(),
        at: Time::ZERO + Span::from_micros(us),
        rate: None,
        delay: None,
        loss: None,
        up: None,
        flap: None,
    }
}

fn state(link: &str, us: u64, up: bool) -> LinkChange {
    LinkChange { up: Some(up), ..at(link, us) }
}

fn flap(link: &str, us: u64, every: u64, down_for: u64, times: u32) -> LinkChange {
    let (every, down_for) = (Span::from_micros(every), Span::from_micros(down_for));
    LinkChange { flap: Some(Flap { every, down_for, times }), ..at(link, us) }
}

fn refused(graph: &Graph, changes: &[LinkChange]) -> String {
    check_changes(graph, changes).unwrap_err().to_string()
}

/// Time in us, link and state of each event.
fn states(graph: &Graph, changes: &[LinkChange]) -> Vec<(u64, String, Option<bool>)> {
    let events = check_changes(graph, changes).expect("changes");
    let name = |event: &ResolvedChange| graph.links[event.link as usize].name.clone();
    events.iter().map(|event| (event.at.0 / 1_000_000, name(event), event.up)).collect()
}

/// Breaks if a property is lost, or if a host link's new delay loses the host's own.
#[test]
fn changes_are_resolved() {
    let graph = build(leaf_spine(2, 2, 2, 1));
    let change = LinkChange {
        rate: Some(Rate::from_mbps(200)),
        delay: Some(Span::from_micros(7)),
        loss: Some(0.25),
        ..at("spine1-leaf0", 3)
    };
    let host = LinkChange { delay: Some(Span::from_micros(7)), ..at("host3-leaf1", 3) };
    let events = check_changes(&graph, &[change, host]).expect("changes");
    let first = ResolvedChange {
        at: Time(3_000_000),
        link: graph.link_by_name("leaf0-spine1").expect("a link"),
        rate: Some(Rate::from_mbps(200)),
        delay: Some(Span::from_micros(7)),
        loss: Some(0.25),
        up: None,
        index: 0,
    };
    let delay = Some(Span::from_nanos(7_500));
    assert_eq!(events[0], first);
    assert_eq!(
        events[1],
        ResolvedChange { link: 3, rate: None, loss: None, delay, index: 1, ..first }
    );
}

/// Breaks if what a link gets back does not count as restored, on a host's link with the host's own delay; or if
/// one property of several, a link that is down, a flap, or one link of several makes no difference.
#[test]
fn what_was_built_is_restored() {
    let graph = build(leaf_spine(2, 2, 2, 1));
    let port = |name: &str| {
        let link = &graph.links[graph.link_by_name(name).expect("a link") as usize];
        graph.ports[link.a as usize]
    };
    let built = port("leaf0-spine1");
    let whole = LinkChange {
        rate: Some(built.rate),
        delay: Some(built.delay),
        loss: Some(built.loss),
        up: Some(true),
        ..at("leaf*-spine1", 3)
    };
    assert!(restores(&graph, &whole));
    let own = Span(port("host3-leaf1").delay.0 - graph.host_delay.0);
    assert!(graph.host_delay > Span::ZERO);
    assert!(restores(&graph, &LinkChange { delay: Some(own), ..at("host3-leaf1", 3) }));
    for other in [
        LinkChange { rate: Some(Rate(built.rate.0 + 1)), ..whole.clone() },
        LinkChange { delay: Some(Span(built.delay.0 + 1)), ..whole.clone() },
        LinkChange { loss: Some(0.5), ..whole.clone() },
        LinkChange { up: Some(false), ..whole.clone() },
        LinkChange { link: "*-*".to_owned(), ..whole.clone() },
        LinkChange { link: "leaf7-spine1".to_owned(), ..whole.clone() },
        LinkChange { up: None, ..flap("leaf0-spine1", 3, 10, 5, 3) },
    ] {
        assert!(!restores(&graph, &other), "{other:?}");
    }
}

/// Breaks if events are not sorted by time, or if the file's order is lost at equal times.
#[test]
fn flaps_expand_and_sort() {
    let graph = build(leaf_spine(2, 2, 1, 1));
    let changes = [
        flap("leaf0-spine0", 10, 100, 30, 2),
        state("leaf1-spine0", 40, false),
        state("leaf1-spine0", 5, true),
        state("leaf1-spine0", 110, true),
    ];
    let event = |us, link: &str, up| (us, link.to_owned(), Some(up));
    assert_eq!(
        states(&graph, &changes),
        [
            event(5, "leaf1-spine0", true),
            event(10, "leaf0-spine0", false),
            event(40, "leaf0-spine0", true),
            event(40, "leaf1-spine0", false),
            event(110, "leaf0-spine0", false),
            event(110, "leaf1-spine0", true),
            event(140, "leaf0-spine0", true),
        ]
    );
}

/// Breaks if what a flapping change sets beside the state is lost or set again each cycle.
#[test]
fn a_flap_sets_the_rest_once() {
    let graph = build(leaf_spine(2, 2, 1, 1));
    let change = LinkChange { loss: Some(0.5), ..flap("leaf0-spine0", 0, 10, 5, 3) };
    let events = check_changes(&graph, &[change]).expect("changes");
    let losses: Vec<Option<f64>> = events.iter().map(|event| event.loss).collect();
    assert_eq!(losses, [Some(0.5), None, None, None, None, None]);
}

/// Breaks if a change that makes no sense gets through, or if its error does not say what would.
#[test]
fn senseless_changes_are_refused() {
    let graph = build(leaf_spine(2, 2, 1, 1));
    let link = "leaf0-spine0";
    let loss = |loss| LinkChange { loss: Some(loss), ..at(link, 0) };
    let flap_range = "allowed is above 0 and below flap.every = 10us";
    let cycles = "allowed are at most 1000000 cycles, within 213 days";
    for (change, problem) in [
        (
            state("leaf0-spine2", 0, true),
            "no link \"leaf0-spine2\"; nearest is \"leaf0-spine0\"; links are host0..host1 to \
             leaf0..leaf1, leaf0..leaf1 to spine0..spine1"
                .to_owned(),
        ),
        (
            at(link, 0),
            "nothing changes; allowed are rate, delay, loss, state and flap, one or more"
                .to_owned(),
        ),
        (
            LinkChange { rate: Some(Rate(0)), ..at(link, 0) },
            "rate = 0bps: allowed is a rate above zero; state = \"down\" stops a link".to_owned(),
        ),
        (loss(1.0), "loss = 1: allowed is a probability from 0 to below 1".to_owned()),
        (loss(f64::NAN), "loss = NaN: allowed is a probability from 0 to below 1".to_owned()),
        (
            LinkChange { delay: Some(Span(u64::MAX)), ..at(link, 0) },
            "delay = 18446744.073709551615s: allowed is at most 1000s".to_owned(),
        ),
        (
            LinkChange { up: Some(true), ..flap(link, 0, 10, 5, 1) },
            "both state and flap: a flap sets the state itself, allowed is one of the two"
                .to_owned(),
        ),
        (flap(link, 0, 10, 10, 1), format!("flap.down_for = 10us: {flap_range}")),
        (flap(link, 0, 10, 0, 1), format!("flap.down_for = 0ps: {flap_range}")),
        (flap(link, 0, 10, 5, 0), "flap.times = 0: allowed is 1 or more".to_owned()),
        (flap(link, 0, 10, 5, 1_000_001), format!("flap.times = 1000001: {cycles}")),
        (flap(link, 0, 1 << 40, 5, 100), format!("flap.times = 100: {cycles}")),
    ] {
        let good = state(link, 0, true);
        assert_eq!(refused(&graph, &[good, change]), format!("topology.change[1]: {problem}"));
    }
}

/// Breaks if a fabric may stay split, or if one that heals is refused.
#[test]
fn a_lasting_split_is_refused() {
    let graph = build(leaf_spine(3, 2, 1, 1));
    let down = [state("leaf1-spine0", 5, false), state("leaf1-spine1", 2, false)];
    assert_eq!(
        refused(&graph, &down),
        "after the last topology.change the fabric is split in two: no path from leaf0 to leaf1; \
         allowed is a split that a later change heals"
    );
    assert!(check_changes(&graph, &down[..1]).is_ok());
    let healed = [down.as_slice(), &[state("leaf1-spine0", 9, true)]].concat();
    assert!(check_changes(&graph, &healed).is_ok());
    // Healed in the file's order, but not in time's.
    let late = [down.as_slice(), &[state("leaf1-spine0", 4, true)]].concat();
    assert!(check_changes(&graph, &late).is_err());
    let flapping = [down[1].clone(), flap("leaf1-spine0", 5, 10, 5, 4)];
    assert!(check_changes(&graph, &flapping).is_ok());
}

/// Breaks if a host may be cut off for good, or if an outage that ends is refused.
#[test]
fn a_host_is_not_cut_off_for_good() {
    let graph = build(TopologyKind::Star { hosts: 3 });
    let down = [state("host0-switch0", 4, true), state("host1-switch0", 3, false)];
    assert_eq!(
        refused(&graph, &down),
        "topology.change[1]: host1-switch0 goes down at 3us for good, which cuts off a host; \
         allowed is an outage that a later change ends"
    );
    let healed = [down.as_slice(), &[state("host1-switch0", 8, true)]].concat();
    assert_eq!(states(&graph, &healed).len(), 3);
    assert!(check_changes(&graph, &[flap("host1-switch0", 0, 10, 9, 2)]).is_ok());
}
