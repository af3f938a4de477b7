//! `arithmetic = "p4"`.

use super::*;
use crate::lb::qdaps::entries::Settings;
use crate::lb::qdaps::on_p4::ranges;

fn reroute(key: &str, value: Value, marking: u64, leaf: &FakeLeaf) -> Reroute {
    let params = defaults().with("reroute", word("sent")).with("marking", Value::Int(marking));
    let settings = Settings::read(&params.with(key, value)).expect("its parameters");
    Reroute::new(&settings, Span::from_micros(100), &leaf.env)
}

/// Breaks if the table of eq. 14 gives another S than the root, for any number of bytes sent around its edges, or has
/// an entry for a flow that is not large; with K = 1,000 packets, if S is above the root's or four packets
/// or more below.
#[test]
fn the_table_is_eq_14() {
    let leaf = leaf(4);
    for (marking, coarse) in [(65, 1), (1_000, 4)] {
        let reroute = reroute("long_flow", Value::Bytes(Bytes(100_000)), marking, &leaf);
        let table = ranges(&reroute);
        assert!(table.len() <= 256 && table[0].0 == 100_001, "{} ranges", table.len());
        assert_eq!(table.last().map(|last| last.1), Some(u64::from(u32::MAX)));
        let edges = table.iter().flat_map(|(from, to, _)| [*from, *to, (*from + *to) / 2]);
        for sent in edges.chain([0, 99_999, 100_000]) {
            let found = table.iter().find(|(from, to, _)| (*from..=*to).contains(&sent));
            let found = found.map(|(.., threshold)| *threshold);
            let exact = reroute.threshold(sent as u32);
            match (found, exact) {
                (Some(Amount::Packets(found)), Some(Amount::Packets(exact))) => {
                    assert!(found <= exact && exact < found + coarse, "{sent}: {found}, {exact}");
                }
                (found, exact) => assert_eq!(found, exact, "{sent}"),
            }
        }
    }
}

/// Breaks if a fixed threshold is more than one entry, or if no rerouting has any.
#[test]
fn a_fixed_threshold_is_one_entry() {
    let leaf = leaf(4);
    let fixed = ranges(&reroute("reroute", word("fixed"), 65, &leaf));
    assert_eq!(fixed, [(100_001, u64::from(u32::MAX), Amount::Packets(41))]);
    assert_eq!(ranges(&reroute("reroute", word("off"), 65, &leaf)), []);
}

/// Breaks if a packet in transmission is counted though no P4 program sees it.
#[test]
fn what_the_target_cannot_do_is_refused() {
    let params = defaults().with("arithmetic", word("p4"));
    assert!(build(&params, &leaf(4).env).is_ok());
    let error = build(&params.clone().with("in_service", Value::Bool(true)), &leaf(4).env).err();
    let error = error.expect("refused");
    assert!(error.key == "in_service" && error.allowed.contains("in transmission"), "{error:?}");
    assert_eq!(
        build(&params, &leaf(17).env).err().map(|error| error.key).as_deref(),
        Some("arithmetic")
    );
}
