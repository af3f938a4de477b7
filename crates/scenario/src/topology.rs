//! `[topology]` and `[[topology.change]]`.

use crate::error::ScenarioError;
use crate::section::{Around, Section, content, tables};
use crate::tree::{Node, quote};
use crate::{clos, fabric_file};
use leafspine_core::{Rate, Span, Time};
use leafspine_fabric::kinds::{self, Entry, Key, Plan};
use leafspine_fabric::{
    Flap, LinkChange, LinkSpec, TopologyError, TopologyKind, TopologySpec, size,
};
use leafspine_schemes::Kind;

/// The most hosts: a host's number has 16 bits.
const HOSTS: u64 = 65_536;
/// The most ports of a switch.
const PORTS: u64 = 65_536;
/// The fastest link: a byte takes a picosecond, so that no two packets of a link arrive at once.
pub(crate) const FASTEST: Rate = Rate(8_000_000_000_000);
const LOSS: Kind = Kind::Float(0.0, 0.999_999);

/// The graph, its changes, and both written out.
pub(crate) fn topology(
    place: Around<'_>,
    node: Option<&Node>,
) -> Result<(TopologySpec, Vec<LinkChange>, String), ScenarioError> {
    let mut section = Section::open(place, "topology".to_owned(), node)?;
    let name = section.word("kind", &kinds::NAMES, None)?;
    let entry = kinds::ALL.iter().find(|entry| entry.name == name).expect("one of the names");
    let found = match entry.name {
        "clos" => clos::clos(&mut section),
        "file" => fabric_file::file(&mut section).map(|parts| (parts, String::new())),
        _ => counted(&mut section, entry).map(|parts| (parts, String::new())),
    };
    let (Parts { kind, host_link, fabric_link }, blocks) = match found {
        // A survey has no file to read; it goes on to the keys that all kinds have.
        Err(_) if place.survey.is_some() => (Parts::STAND_IN, String::new()),
        found => found?,
    };
    let host_delay = section.span("host_delay", Some("0us"))?;
    let host_jitter = section.span("host_jitter", Some("0us"))?;
    let mut text = section.block("[topology]") + &blocks;
    let mut changes = Vec::new();
    for section in tables(place, "topology.change", section.node("change"))? {
        let (change, block) = change(section)?;
        changes.push(change);
        text += &format!("\n{block}");
    }
    let spec = TopologySpec { kind, host_link, fabric_link, host_delay, host_jitter };
    Ok((spec, changes, text))
}

/// The links and switches of a topology.
pub(crate) struct Parts {
    pub(crate) kind: TopologyKind,
    pub(crate) host_link: LinkSpec,
    pub(crate) fabric_link: LinkSpec,
}

impl Parts {
    const STAND_IN: Parts = Parts {
        kind: TopologyKind::Star { hosts: 2 },
        host_link: LinkSpec { rate: Rate(1), delay: Span(1), loss: 0.0 },
        fabric_link: LinkSpec { rate: Rate(1), delay: Span(1), loss: 0.0 },
    };
}

/// Refuses keys but these, those that all topologies have, and `fabric_link` if there is any.
pub(crate) fn allow(
    section: &Section<'_>,
    entry: &Entry,
    own: &[&str],
) -> Result<(), ScenarioError> {
    let mut allowed = vec!["kind"];
    allowed.extend(own);
    allowed.push("host_link");
    allowed.extend(entry.fabric.then_some("fabric_link"));
    allowed.extend(["host_delay", "host_jitter", "change"]);
    section.allow(&allowed, &format!("a key that a {} does not have", entry.name))
}

/// A kind that is made from counts.
fn counted(section: &mut Section<'_>, entry: &Entry) -> Result<Parts, ScenarioError> {
    let keys: Vec<&str> = entry.keys.iter().map(|key| key.name).collect();
    allow(section, entry, &keys)?;
    let counts: Result<Vec<u32>, _> = entry.keys.iter().map(|key| count(section, key)).collect();
    let kind = (entry.kind.expect("made from counts"))(&counts?);
    check_size(section, &kind)?;
    let host_link = link(section, "host_link")?;
    let fabric_link = if entry.fabric { link(section, "fabric_link")? } else { host_link };
    Ok(Parts { kind, host_link, fabric_link })
}

/// A count of the topology's kind.
fn count(section: &mut Section<'_>, key: &Key) -> Result<u32, ScenarioError> {
    let count = section.count(key.name, key.range, key.default)?;
    if key.even && count % 2 == 1 {
        let (least, most) = key.range;
        let allowed = format!("an even number from {least} to {most}");
        return Err(section.wrong(key.name, count.to_string(), allowed));
    }
    Ok(count)
}

/// Refuses what the engine's numbers cannot count.
pub(crate) fn check_size(section: &Section<'_>, kind: &TopologyKind) -> Result<(), ScenarioError> {
    let (hosts, entry) = (kind.hosts(), kind.entry());
    // Counts may follow from another key, which is then the one to change.
    let given = [entry.hosts_key, "radix", "oversubscription"];
    let hosts_key = given.into_iter().find(|key| section.has(key)).unwrap_or(entry.hosts_key);
    if !(2..=HOSTS).contains(&hosts) {
        let of_them = match (entry.tors, kind.plan()) {
            (Some(tors), Plan::Tiers(shape)) => {
                format!(" ({} {tors} of {})", shape.tors(), shape.hosts_per_tor())
            }
            _ => String::new(),
        };
        let found = format!("{hosts} hosts{of_them}");
        return Err(section.wrong(hosts_key, found, format!("2 to {HOSTS} hosts")));
    }
    match (kind.plan(), size(kind)) {
        (Plan::Tiers(shape), _) if shape.most_ports() > PORTS => {
            let found = format!("{} ports at one switch", shape.most_ports());
            Err(section.wrong("links_per_pair", found, format!("at most {PORTS} ports")))
        }
        // What is made from counts is refused where all kinds are.
        (_, Err(TopologyError::TooMany { what, found, most })) if entry.keys.is_empty() => {
            let found = format!("{found} {what}");
            Err(section.wrong(hosts_key, found, format!("at most {most}")))
        }
        _ => Ok(()),
    }
}

pub(crate) fn link(section: &mut Section<'_>, key: &str) -> Result<LinkSpec, ScenarioError> {
    let Some(node) = section.node(key) else {
        let allowed = "a link such as { rate = \"10Gbps\", delay = \"5us\" }";
        return Err(section.wrong(key, "nothing", allowed));
    };
    let mut inner = Section::open(section.place, section.key(key), Some(node))?;
    inner.allow(&["rate", "delay", "loss"], "an unknown key")?;
    let rate = content!(inner.value("rate", Kind::Rate, None)?, Rate);
    check_rate(&inner, rate)?;
    let delay = inner.span("delay", None)?;
    let loss = content!(inner.value("loss", LOSS, Some("0"))?, Float);
    section.write(key, inner.inline());
    Ok(LinkSpec { rate, delay, loss })
}

/// As [`link`], if the file has one; the resolved scenario has it elsewhere.
pub(crate) fn unwritten_link(
    section: &mut Section<'_>,
    key: &str,
) -> Result<Option<LinkSpec>, ScenarioError> {
    let written = section.written();
    let found = section.has(key).then(|| link(section, key)).transpose();
    section.forget(written);
    found
}

fn check_rate(section: &Section<'_>, rate: Rate) -> Result<(), ScenarioError> {
    if rate <= FASTEST {
        return Ok(());
    }
    let allowed = format!("at most {FASTEST}, a picosecond a byte");
    Err(section.wrong("rate", format!("\"{rate}\""), allowed))
}

fn change(mut section: Section<'_>) -> Result<(LinkChange, String), ScenarioError> {
    const WHAT: [&str; 5] = ["rate", "delay", "loss", "state", "flap"];
    section.allow(&["link", "at", "rate", "delay", "loss", "state", "flap"], "an unknown key")?;
    let link = link_name(&mut section)?;
    let at = section.span("at", Some("0us"))?;
    if !WHAT.iter().any(|key| section.has(key)) {
        return Err(section.wrong("link", "a change of nothing", WHAT.join(", ")));
    }
    if section.has("state") && section.has("flap") {
        return Err(section.wrong("flap", "both state and flap", "one of state, flap"));
    }
    let rate = section.given("rate", Kind::Rate)?.map(|value| content!(value, Rate));
    rate.map_or(Ok(()), |rate| check_rate(&section, rate))?;
    let delay = section.given("delay", Kind::Span(0, u64::MAX))?;
    let loss = section.given("loss", LOSS)?;
    let state = section.given("state", Kind::Word(&["down", "up"]))?;
    let flap = flap(&mut section)?;
    let change = LinkChange {
        link,
        at: Time(at.0),
        rate,
        delay: delay.map(|value| content!(value, Span)),
        loss: loss.map(|value| content!(value, Float)),
        up: state.map(|value| content!(value, Word) == "up"),
        flap,
    };
    Ok((change, section.block("[[topology.change]]")))
}

fn link_name(section: &mut Section<'_>) -> Result<String, ScenarioError> {
    let allowed = "a link such as \"leaf0-spine3\", or several such as \"leaf0-*\"";
    let Some(node) = section.node("link") else {
        return Err(section.wrong("link", "nothing", allowed));
    };
    let Some(text) = node.text() else {
        return Err(section.wrong("link", node.shown(), allowed));
    };
    section.write("link", quote(text));
    Ok(text.to_owned())
}

fn flap(section: &mut Section<'_>) -> Result<Option<Flap>, ScenarioError> {
    let Some(node) = section.node("flap") else {
        return Ok(None);
    };
    let mut inner = Section::open(section.place, section.key("flap"), Some(node))?;
    inner.allow(&["every", "down_for", "times"], "an unknown key")?;
    let every = inner.span("every", None)?;
    let down_for = inner.span("down_for", None)?;
    if down_for == Span::ZERO || down_for >= every {
        let allowed = format!("a time above zero and below every = \"{every}\"");
        return Err(inner.wrong("down_for", format!("\"{down_for}\""), allowed));
    }
    let times = inner.count("times", (1, u32::MAX), None)?;
    section.write("flap", inner.inline());
    Ok(Some(Flap { every, down_for, times }))
}
