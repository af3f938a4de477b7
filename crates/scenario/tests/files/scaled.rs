//! Defaults that follow from rate and base round trip.

use crate::common::{cases, get};
use leafspine_scenario::Case;

/// The only case of a text.
fn case_of(text: &str) -> Case {
    cases(text, &[]).unwrap_or_else(|e| panic!("{e}")).remove(0)
}

/// A fabric of these rates and this delay a link, with schemes that have a time constant.
fn fabric(rate: &str, delay: &str, more: &str) -> String {
    let link = format!("{{ rate = \"{rate}\", delay = \"{delay}\" }}");
    format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n\
         host_link = {link}\nfabric_link = {link}\n[[workload]]\nsizes = \"web-search\"\n\
         load = 0.5\nflows = 10\n{more}"
    )
}

/// Breaks if a default stays what it was for another fabric. By hand, for 1500 + 40 bytes over four
/// links: 1 Gb/s and 12.5 us: 149.28 us and 18,660 B, 13 packets; 400 Gb/s and 1 us: 8.1232 us and
/// 406,160 B, 271 packets.
#[test]
fn defaults_follow_the_fabric() {
    let keys = [
        "load_balancer.gap",
        "aqm.threshold",
        "switch.buffer",
        "transport.min_rto",
        "transport.initial_rto",
    ];
    let resolved = |rate, delay| {
        let case = &case_of(&fabric(rate, delay, "[load_balancer]\nscheme = \"letflow\"\n"));
        keys.map(|key| get(case, key))
    };
    assert_eq!(
        resolved("1Gbps", "12.5us"),
        ["\"299us\"", "\"20pkt\"", "\"256pkt\"", "\"12.438ms\"", "\"12.438ms\""]
    );
    assert_eq!(
        resolved("400Gbps", "1us"),
        ["\"17us\"", "\"271pkt\"", "\"1084pkt\"", "\"139us\"", "\"139us\""]
    );
}

/// Breaks if what a file says in round trips or bandwidth-delay products is not worked out with its
/// own fabric and packets, or is written into the resolved scenario as it was said: that is read again
/// without knowing better.
#[test]
fn files_may_say_round_trips_and_products() {
    let more = "[load_balancer]\nscheme = \"conga\"\ngap = \"0.5rtt\"\nage = \"max(1ms, 3rtt)\"\n\
                [aqm]\nthreshold = \"0.5bdp\"\n[switch]\nbuffer = \"2bdp\"\n\
                [transport]\nmss = 8960\n[run]\nuntil = \"1000rtt\"\n";
    let case = &case_of(&fabric("10Gbps", "5us", more));
    // 9000 + 40 bytes over four links of 10 Gb/s: 68.928 us, 86,160 B.
    for (key, value) in [
        ("load_balancer.gap", "\"35us\""),
        ("load_balancer.age", "\"1ms\""),
        ("aqm.threshold", "\"5pkt\""),
        ("switch.buffer", "\"20pkt\""),
        ("run.until", "\"68.928ms\""),
    ] {
        assert_eq!(get(case, key), value, "{key}");
    }
    assert_eq!(case_of(&case.toml).toml, case.toml);
}

/// Breaks if a default leaves the range of its parameter where the fabric is an odd one, or the RTO's
/// lower bound its upper one.
#[test]
fn odd_fabrics_have_defaults_too() {
    for (rate, delay) in [("1bps", "0us"), ("8Tbps", "0ps"), ("10Gbps", "9s"), ("1Mbps", "900s")] {
        for scheme in ["conga", "hula", "qall", "qdaps-star", "tam", "letflow"] {
            let more = format!("[load_balancer]\nscheme = \"{scheme}\"\n");
            case_of(&fabric(rate, delay, &more));
        }
    }
    let low = "[transport]\nmax_rto = \"3ms\"\n";
    let case = &case_of(&fabric("1Gbps", "12.5us", low));
    assert_eq!(get(case, "transport.min_rto"), "\"3ms\"");
}

/// Breaks if the topology can be given in what follows from it.
#[test]
fn the_topology_has_no_round_trip_yet() {
    let text = fabric("10Gbps", "0.1rtt", "");
    let error = cases(&text, &[]).unwrap_err().to_string();
    assert!(error.contains("topology.host_link.delay: found \"0.1rtt\" (the topology"), "{error}");
}
