//! The keys of `[switch]` that have switches trim packets.

use crate::compatibility::written;
use crate::error::ScenarioError;
use crate::section::{Around, Section, content};
use crate::tree::Table;
use leafspine_core::Bytes;
use leafspine_schemes::edge::classes_written;
use leafspine_schemes::{Amount, Kind};
use leafspine_sim::spec::{Classifier, SchemeSpec, SwitchSpec, TransportSpec, TrimSpec};

/// `trim` itself, and what stands beside it.
pub(crate) const KEYS: &[&str] = &["trim", "trim_class", "trim_buffer", "trim_return"];
/// Words of `trim`.
const WORDS: &[&str] = &["off", "arriving", "either"];
const CLASSES: Kind = Kind::Int(0, 63);
const BYTES: Kind = Kind::Bytes(64, u32::MAX as u64);

/// Trimming, if the table has it; `buffer` is what a port has for data. The default is not written
/// out: resolved scenarios of before there was a choice stay as they are.
pub(crate) fn trimming(
    section: &mut Section<'_>,
    (queues, classifier, buffer): (u32, Classifier, Amount),
    mtu: u32,
) -> Result<Option<TrimSpec>, ScenarioError> {
    let word = content!(section.quiet_value("trim", Kind::Word(WORDS), Some("off"))?, Word);
    if word == "off" {
        return match KEYS.iter().skip(1).find(|key| section.has(key)) {
            None => Ok(None),
            Some(key) => {
                let allowed = format!("{key} beside trim = \"arriving\" or \"either\"");
                Err(section.wrong(key, format!("{key} without trim"), allowed))
            }
        };
    }
    let refuse = |found: &str, allowed: &str| {
        Err(section.wrong("trim", format!("\"{word}\" {found}"), allowed))
    };
    if queues < 2 {
        return refuse(
            "with one queue",
            "trim beside two queues or more: headers have one of their own",
        );
    }
    if classifier == Classifier::Hash {
        let allowed =
            "trim beside classifier = \"dscp\" or \"stage\": headers find their queue by class";
        return refuse("beside classifier = \"hash\"", allowed);
    }
    if section.node("pfc").is_some_and(|pfc| pfc.text() != Some("off")) {
        return refuse("beside pfc", "one of the two: what never overflows is never trimmed");
    }
    let class = content!(section.value("trim_class", CLASSES, Some("0"))?, Int) as u8;
    let default = Bytes(buffer.in_bytes(mtu)).to_string();
    let buffer = content!(section.value("trim_buffer", BYTES, Some(&default))?, Bytes);
    let returns = section.flag("trim_return", "false")?;
    Ok(Some(TrimSpec { class, buffer, either: word == "either", returns }))
}

/// The service queue of a class, where switches go by classes.
pub(crate) fn queue_of(switch: &SwitchSpec, class: u8) -> u8 {
    match switch.classifier {
        Classifier::Stage => {
            let last = switch.stage_queues.len() - 1;
            switch.stage_queues[usize::from(class).min(last)].min(switch.queues - 1)
        }
        _ => class % switch.queues,
    }
}

/// Refuses switches that trim beside hosts that know nothing of it, or data in the headers' queue.
pub(crate) fn check(
    place: Around<'_>,
    root: &Table,
    switch: &SwitchSpec,
    transport: &TransportSpec,
    edge: Option<&SchemeSpec>,
) -> Result<(), ScenarioError> {
    let Some(trim) = &switch.trim else { return Ok(()) };
    let refuse = |key: &str, other: (&str, &str), found: String, allowed: String| {
        let of_table = root.get("switch").map(|node| node.origin);
        let told = written(root, "switch", key).or(of_table);
        let at = Around::later(told, written(root, other.0, other.1));
        Err(place.error(at, &format!("switch.{key}"), found, allowed))
    };
    let protocol = &transport.protocol;
    if !protocol.tells_of_trimmed() {
        let allowed = "trim beside transport.kind = \"roce\" with recovery = \"each\": no other receiver tells of a header without payload";
        let key = if protocol.roce().is_some() { "recovery" } else { "kind" };
        let found = "trim beside another transport".to_owned();
        return refuse("trim", ("transport", key), found, allowed.to_owned());
    }
    let queue = |class: u8| queue_of(switch, class);
    let of_edge = edge.and_then(|edge| classes_written(&edge.name));
    let shared = match of_edge {
        Some(classes) => (0..classes).any(|class| queue(class) == queue(trim.class)),
        None => queue(protocol.class()) == queue(trim.class),
    };
    if !shared {
        return Ok(());
    }
    let found = format!("{}, whose queue {} is also that of data", trim.class, queue(trim.class));
    let (whose, other) = match (of_edge, edge) {
        (Some(classes), Some(edge)) => {
            let last = classes - 1;
            let whose =
                format!("those of classes 0 to {last}, which host_edge \"{}\" writes", edge.name);
            (whose, ("host_edge", "scheme"))
        }
        _ => {
            let whose = format!("that of transport.data_class = {}", protocol.class());
            (whose, ("transport", "data_class"))
        }
    };
    let allowed = format!(
        "a class of another queue than {whose}: headers must not wait behind what has no room"
    );
    refuse("trim_class", other, found, allowed)
}
