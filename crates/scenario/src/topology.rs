//! `[topology]` and `[[topology.change]]`.

use crate::error::ScenarioError;
use crate::section::{Place, Section, content, tables};
use crate::tree::{Node, quote};
use leafspine_core::{Rate, Span, Time};
use leafspine_fabric::kinds::{self, Key, Shape};
use leafspine_fabric::{Flap, LinkChange, LinkSpec, TopologySpec};
use leafspine_schemes::Kind;

/// The most hosts: a host's number has 16 bits.
const HOSTS: u64 = 65_536;
/// The most ports of a switch.
const PORTS: u64 = 65_536;
/// The fastest link: a byte takes a picosecond, so that no two packets of a link arrive at once.
const FASTEST: Rate = Rate(8_000_000_000_000);
const LOSS: Kind = Kind::Float(0.0, 0.999_999);

/// The graph, its changes, and both written out.
pub(crate) fn topology(
    place: Place<'_>,
    node: Option<&Node>,
) -> Result<(TopologySpec, Vec<LinkChange>, String), ScenarioError> {
    let mut section = Section::open(place, "topology".to_owned(), node)?;
    let name = section.word("kind", &kinds::NAMES, None)?;
    let entry = kinds::ALL.iter().find(|entry| entry.name == name).expect("one of the names");
    let mut allowed = vec!["kind"];
    allowed.extend(entry.keys.iter().map(|key| key.name));
    allowed.push("host_link");
    allowed.extend(entry.fabric.then_some("fabric_link"));
    allowed.extend(["host_delay", "host_jitter", "change"]);
    section.allow(&allowed, &format!("a key that a {name} does not have"))?;
    let counts: Result<Vec<u32>, _> =
        entry.keys.iter().map(|key| count(&mut section, key)).collect();
    let kind = (entry.kind)(&counts?);
    check_size(&section, &kind.shape())?;
    let host_link = link(&mut section, "host_link")?;
    let fabric_link = if entry.fabric { link(&mut section, "fabric_link")? } else { host_link };
    let host_delay = section.span("host_delay", Some("0us"))?;
    let host_jitter = section.span("host_jitter", Some("0us"))?;
    let mut text = section.block("[topology]");
    let mut changes = Vec::new();
    for section in tables(place, "topology.change", section.node("change"))? {
        let (change, block) = change(section)?;
        changes.push(change);
        text += &format!("\n{block}");
    }
    let spec = TopologySpec { kind, host_link, fabric_link, host_delay, host_jitter };
    Ok((spec, changes, text))
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
fn check_size(section: &Section<'_>, shape: &Shape) -> Result<(), ScenarioError> {
    let hosts = shape.hosts();
    if !(2..=HOSTS).contains(&hosts) {
        let of_them = match shape.entry.tors {
            Some(tors) => format!(" ({} {tors} of {})", shape.tors(), shape.hosts_per_tor),
            None => String::new(),
        };
        let found = format!("{hosts} hosts{of_them}");
        return Err(section.wrong(shape.entry.hosts_key, found, format!("2 to {HOSTS} hosts")));
    }
    if shape.most_ports > PORTS {
        let found = format!("{} ports at one switch", shape.most_ports);
        return Err(section.wrong("links_per_pair", found, format!("at most {PORTS} ports")));
    }
    Ok(())
}

fn link(section: &mut Section<'_>, key: &str) -> Result<LinkSpec, ScenarioError> {
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
    let allowed = "a link such as \"leaf0-spine3\"";
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
