//! The keys of `[switch]` that say how ports pause each other.

use crate::error::ScenarioError;
use crate::section::{Section, content};
use crate::tree::Node;
use leafspine_schemes::Kind;
use leafspine_sim::spec::{PfcSpec, PfcThreshold, WatchdogAction, WatchdogSpec};

/// `pfc` itself, and what stands beside it.
pub(crate) const KEYS: &[&str] = &[
    "pfc",
    "pfc_priorities",
    "pfc_alpha",
    "pfc_threshold",
    "pfc_reserve",
    "pfc_resume",
    "pfc_headroom",
    "pfc_watchdog",
    "pfc_restore",
    "pfc_action",
];
/// Words of `pfc`.
const WORDS: &[&str] = &["off", "dynamic", "static"];
/// Priorities that a pause frame can name.
const PRIORITIES: u32 = leafspine_sim::spec::PRIORITIES as u32;
const BYTES: Kind = Kind::Bytes(0, u32::MAX as u64);
const TIME: Kind = Kind::Span(1, u64::MAX);

/// Flow control, if the table has it. The default is not written out: resolved scenarios of before there was a
/// choice stay as they are.
pub(crate) fn flow_control(
    section: &mut Section<'_>,
    queues: u32,
) -> Result<Option<PfcSpec>, ScenarioError> {
    let word = content!(section.quiet_value("pfc", Kind::Word(WORDS), Some("off"))?, Word);
    if word == "off" {
        return match KEYS.iter().skip(1).find(|key| section.has(key)) {
            None => Ok(None),
            Some(key) => {
                let found = format!("{key} without pfc");
                Err(section.wrong(
                    key,
                    found,
                    format!("{key} beside pfc = \"dynamic\" or \"static\""),
                ))
            }
        };
    }
    if !section.has("shared_buffer") {
        let allowed = "pfc beside shared_buffer: ingress ports count what they have of it";
        return Err(section.wrong("pfc", format!("\"{word}\" without shared_buffer"), allowed));
    }
    let lossless = priorities(section, queues)?;
    let threshold = threshold(section, &word)?;
    let reserve = content!(section.value("pfc_reserve", BYTES, Some("4KB"))?, Bytes);
    let resume = content!(section.value("pfc_resume", BYTES, Some("3KB"))?, Bytes);
    let headroom = section.unless("pfc_headroom", BYTES, "auto")?;
    let headroom = headroom.map(|value| content!(value, Bytes));
    let watchdog = watchdog(section)?;
    Ok(Some(PfcSpec { lossless, threshold, reserve, resume, headroom, watchdog }))
}

/// The lossless priorities, a bit each: by default all.
fn priorities(section: &mut Section<'_>, queues: u32) -> Result<u8, ScenarioError> {
    let known = queues.min(PRIORITIES);
    let allowed = format!("service queues from 0 to {}, each once", known - 1);
    let listed = match section.node("pfc_priorities") {
        None if queues > PRIORITIES => {
            let found = format!("nothing, for {queues} queues");
            let allowed = format!(
                "those of the first {PRIORITIES} queues that are lossless: a pause frame names no others"
            );
            return Err(section.wrong("pfc_priorities", found, allowed));
        }
        None => (0..queues).collect(),
        Some(node) => {
            let one = |node: &Node| {
                node.whole().and_then(|n| u32::try_from(n).ok()).filter(|n| *n < known)
            };
            let listed: Option<Vec<u32>> =
                node.array().and_then(|nodes| nodes.iter().map(one).collect());
            let sorted = listed.as_ref().is_some_and(|list| !list.is_empty());
            match listed
                .filter(|list| sorted && (1..list.len()).all(|i| !list[..i].contains(&list[i])))
            {
                Some(listed) => listed,
                None => return Err(section.wrong("pfc_priorities", node.shown(), allowed)),
            }
        }
    };
    section.write("pfc_priorities", format!("{listed:?}"));
    Ok(listed.iter().fold(0, |mask, priority| mask | 1 << priority))
}

/// A multiple of what is free, or so many bytes.
fn threshold(section: &mut Section<'_>, word: &str) -> Result<PfcThreshold, ScenarioError> {
    let (key, other) = match word {
        "static" => ("pfc_threshold", "pfc_alpha"),
        _ => ("pfc_alpha", "pfc_threshold"),
    };
    if section.has(other) {
        let found = format!("{other} beside pfc = \"{word}\"");
        return Err(section.wrong(other, found, key));
    }
    if word == "static" {
        let bytes = section.value("pfc_threshold", BYTES, None)?;
        return Ok(PfcThreshold::Static(content!(bytes, Bytes)));
    }
    let alpha = Kind::Float(1e-3, 1e3);
    Ok(PfcThreshold::Dynamic(content!(section.value("pfc_alpha", alpha, Some("0.125"))?, Float)))
}

/// The watchdog, if there is one.
fn watchdog(section: &mut Section<'_>) -> Result<Option<WatchdogSpec>, ScenarioError> {
    let detect = section.unless_or("pfc_watchdog", TIME, "off", None)?;
    let Some(detect) = detect else {
        return match ["pfc_restore", "pfc_action"].into_iter().find(|key| section.has(key)) {
            None => Ok(None),
            Some(key) => {
                let found = format!("{key} without pfc_watchdog");
                Err(section.wrong(key, found, format!("{key} beside pfc_watchdog")))
            }
        };
    };
    let detect = content!(detect, Span);
    let restore = content!(section.value("pfc_restore", TIME, Some(&detect.to_string()))?, Span);
    let action = match section.word("pfc_action", &["drop", "forward"], Some("drop"))?.as_str() {
        "forward" => WatchdogAction::Forward,
        _ => WatchdogAction::Drop,
    };
    Ok(Some(WatchdogSpec { detect, restore, action }))
}
