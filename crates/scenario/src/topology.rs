//! `[topology]` and `[[topology.change]]`.

use crate::error::ScenarioError;
use crate::section::{Place, Section, content, tables};
use crate::tree::{Node, quote};
use leafspine_core::{Rate, Span, Time};
use leafspine_fabric::{Flap, LinkChange, LinkSpec, TopologyKind, TopologySpec};
use leafspine_schemes::Kind;

const KINDS: &[&str] = &["star", "leaf-spine", "fat-tree", "tree"];
/// The most hosts: a host's number has 16 bits.
const HOSTS: u64 = 65_536;
/// The most switches, and the most ports of one.
const MOST: u32 = 65_536;
/// The fastest link: a byte takes a picosecond, so that no two packets of a link arrive at once.
const FASTEST: Rate = Rate(8_000_000_000_000);
const LOSS: Kind = Kind::Float(0.0, 0.999_999);

/// The graph, its changes, and both written out.
pub(crate) fn topology(
    place: Place<'_>,
    node: Option<&Node>,
) -> Result<(TopologySpec, Vec<LinkChange>, String), ScenarioError> {
    let mut section = Section::open(place, "topology".to_owned(), node)?;
    let kind = section.word("kind", KINDS, None)?;
    let (own, fabric): (&[&str], bool) = match kind.as_str() {
        "star" => (&["hosts"], false),
        "leaf-spine" => (&["leaves", "spines", "hosts_per_leaf", "links_per_pair"], true),
        "fat-tree" => (&["k"], true),
        _ => (&["tors", "hosts_per_tor", "links_per_pair"], true),
    };
    let mut allowed = vec!["kind"];
    allowed.extend(own);
    allowed.push("host_link");
    allowed.extend(fabric.then_some("fabric_link"));
    allowed.extend(["host_delay", "host_jitter", "change"]);
    section.allow(&allowed, &format!("a key that a {kind} does not have"))?;
    let shape = shape(&mut section, &kind)?;
    check_size(&section, shape)?;
    let host_link = link(&mut section, "host_link")?;
    let fabric_link = if fabric { link(&mut section, "fabric_link")? } else { host_link };
    let host_delay = section.span("host_delay", Some("0us"))?;
    let host_jitter = section.span("host_jitter", Some("0us"))?;
    let mut text = section.block("[topology]");
    let mut changes = Vec::new();
    for section in tables(place, "topology.change", section.node("change"))? {
        let (change, block) = change(section)?;
        changes.push(change);
        text += &format!("\n{block}");
    }
    let spec = TopologySpec { kind: shape, host_link, fabric_link, host_delay, host_jitter };
    Ok((spec, changes, text))
}

fn shape(section: &mut Section<'_>, kind: &str) -> Result<TopologyKind, ScenarioError> {
    let mut count = |key: &str, default: Option<&str>| section.count(key, (1, MOST), default);
    Ok(match kind {
        "star" => TopologyKind::Star { hosts: count("hosts", None)? },
        "leaf-spine" => TopologyKind::LeafSpine {
            leaves: count("leaves", None)?,
            spines: count("spines", None)?,
            hosts_per_leaf: count("hosts_per_leaf", None)?,
            links_per_pair: count("links_per_pair", Some("1"))?,
        },
        "fat-tree" => TopologyKind::FatTree { k: even(section)? },
        _ => TopologyKind::Tree {
            tors: count("tors", None)?,
            hosts_per_tor: count("hosts_per_tor", None)?,
            links_per_pair: count("links_per_pair", Some("1"))?,
        },
    })
}

fn even(section: &mut Section<'_>) -> Result<u32, ScenarioError> {
    let k = section.count("k", (2, 64), None)?;
    if k % 2 == 1 {
        return Err(section.wrong("k", k.to_string(), "an even number from 2 to 64"));
    }
    Ok(k)
}

/// How many hosts a shape has.
pub(crate) fn hosts(kind: TopologyKind) -> u64 {
    let product = |a: u32, b: u32| u64::from(a) * u64::from(b);
    match kind {
        TopologyKind::Star { hosts } => u64::from(hosts),
        TopologyKind::LeafSpine { leaves, hosts_per_leaf, .. } => product(leaves, hosts_per_leaf),
        TopologyKind::FatTree { k } => u64::from(k).pow(3) / 4,
        TopologyKind::Tree { tors, hosts_per_tor, .. } => product(tors, hosts_per_tor),
    }
}

/// How many switches have hosts.
pub(crate) fn tors(kind: TopologyKind) -> u32 {
    match kind {
        TopologyKind::Star { .. } => 1,
        TopologyKind::LeafSpine { leaves, .. } => leaves,
        TopologyKind::FatTree { k } => k * k / 2,
        TopologyKind::Tree { tors, .. } => tors,
    }
}

/// Refuses what the engine's numbers cannot count.
fn check_size(section: &Section<'_>, kind: TopologyKind) -> Result<(), ScenarioError> {
    let (key, detail) = match kind {
        TopologyKind::Star { .. } => ("hosts", String::new()),
        TopologyKind::LeafSpine { leaves, hosts_per_leaf, .. } => {
            ("hosts_per_leaf", format!(" ({leaves} leaves of {hosts_per_leaf})"))
        }
        TopologyKind::FatTree { .. } => ("k", String::new()),
        TopologyKind::Tree { tors, hosts_per_tor, .. } => {
            ("hosts_per_tor", format!(" ({tors} switches of {hosts_per_tor})"))
        }
    };
    let count = hosts(kind);
    if !(2..=HOSTS).contains(&count) {
        let found = format!("{count} hosts{detail}");
        return Err(section.wrong(key, found, format!("2 to {HOSTS} hosts")));
    }
    let links = |pairs: u32, each: u32| u64::from(pairs) * u64::from(each);
    let ports = match kind {
        TopologyKind::LeafSpine { leaves, spines, hosts_per_leaf, links_per_pair } => {
            links(leaves, links_per_pair)
                .max(links(spines, links_per_pair) + u64::from(hosts_per_leaf))
        }
        TopologyKind::Tree { tors, hosts_per_tor, links_per_pair } => {
            links(tors, links_per_pair).max(u64::from(links_per_pair) + u64::from(hosts_per_tor))
        }
        TopologyKind::Star { .. } | TopologyKind::FatTree { .. } => 0,
    };
    if ports > u64::from(MOST) {
        let found = format!("{ports} ports at one switch");
        return Err(section.wrong("links_per_pair", found, format!("at most {MOST} ports")));
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
