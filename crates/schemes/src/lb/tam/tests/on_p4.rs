//! `arithmetic = "p4"`.

use super::*;

/// Breaks if what a P4 switch cannot know or do is accepted: what a flow has sent before it came here, and a walk over
/// the flow table.
#[test]
fn what_the_target_cannot_do_is_refused() {
    let leaf = FakeLeaf::new(8, 4, 1);
    let params = small().with("arithmetic", word("p4"));
    assert!(build(&params, &leaf.env).is_ok());
    for (key, value, reason) in [
        ("size", "sent", "sequence numbers begin anywhere"),
        ("long_flows", "total", "cannot walk over the flow table"),
    ] {
        let error =
            build(&params.clone().with(key, word(value)), &leaf.env).err().expect("refused");
        assert!(error.key == key && error.allowed.contains(reason), "{error:?}");
    }
    let large = params.with("entries", Value::Int(65_537));
    let error = build(&large, &leaf.env).err().expect("refused");
    assert!(error.key == "entries" && error.allowed.contains("at most 65536"), "{error:?}");
}
