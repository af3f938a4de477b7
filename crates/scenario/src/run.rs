//! `[run]`, `[measure]` and `[[probe]]`.

use crate::error::ScenarioError;
use crate::section::{Around, Section, content, decode, tables};
use crate::tree::{Data, Node, quote};
use leafspine_core::{Span, Time};
use leafspine_schemes::Kind;
use leafspine_sim::spec::{
    MeasureSpec, PortModel, ProbeKind, ProbeSpec, RecoverySpec, RunSpec, Window,
};

/// Seeds are TOML integers.
pub(crate) const SEED: Kind = Kind::Int(0, i64::MAX as u64);
const WINDOW: &str = "\"arrivals\", \"all\", or from and until, such as [\"10ms\", \"2s\"]";
const SHARE: Kind = Kind::Float(0.0, 1.0);
const EVERY: Kind = Kind::Span(1, u64::MAX);
/// Files that results have besides.
const TAKEN: &[&str] = &["flows", "ports", "summary", "scenario", "collectives", "ranks"];

/// `[run]`, and the table written out.
pub(crate) fn run(
    place: Around<'_>,
    node: Option<&Node>,
) -> Result<(RunSpec, String), ScenarioError> {
    let mut section = Section::open(place, "run".to_owned(), node)?;
    section.allow(&["seed", "until", "ports"], "an unknown key")?;
    let seed = content!(section.value("seed", SEED, Some("1"))?, Int);
    let until = section.unless("until", EVERY, "none")?;
    let until = until.map(|value| Time(content!(value, Span).0));
    let ports = match section.word("ports", &["auto", "general"], Some("auto"))?.as_str() {
        "auto" => PortModel::Auto,
        _ => PortModel::General,
    };
    Ok((RunSpec { ports, ..RunSpec::new(seed, until) }, section.block("[run]")))
}

/// `[measure]`, and the table written out.
pub(crate) fn measure(
    place: Around<'_>,
    node: Option<&Node>,
) -> Result<(MeasureSpec, String), ScenarioError> {
    let mut section = Section::open(place, "measure".to_owned(), node)?;
    section.allow(&["window", "warmup", "recovery", "recovery_window"], "an unknown key")?;
    let window = match section.node("window").map(|node| (&node.data, node)) {
        None => Window::Arrivals,
        Some((Data::Text(text), _)) if text == "arrivals" => Window::Arrivals,
        Some((Data::Text(text), _)) if text == "all" => Window::All,
        Some((Data::Array(nodes), node)) if nodes.len() == 2 => {
            let key = section.key("window");
            let time = |node: &Node| {
                let value = decode(place, &key, node, Kind::Span(0, u64::MAX))?;
                Ok::<Time, ScenarioError>(Time(content!(value, Span).0))
            };
            let (from, until) = (time(&nodes[0])?, time(&nodes[1])?);
            if until <= from {
                return Err(section.wrong("window", node.shown(), "an end after the start"));
            }
            Window::Between(from, until)
        }
        Some((_, node)) => return Err(section.wrong("window", node.shown(), WINDOW)),
    };
    let written = match window {
        Window::Arrivals => quote("arrivals"),
        Window::All => quote("all"),
        Window::Between(from, until) => format!("[\"{from}\", \"{until}\"]"),
    };
    section.write("window", written);
    let warmup = warmup(&mut section)?;
    let recovery = recovery(&mut section)?;
    Ok((MeasureSpec { window, warmup, recovery }, section.block("[measure]")))
}

/// When goodput is back after a fault. Written out only where it is measured: resolved scenarios of
/// before there was a choice stay as they are.
fn recovery(section: &mut Section<'_>) -> Result<Option<RecoverySpec>, ScenarioError> {
    let surveyed = section.place.survey.is_some();
    if !section.has("recovery") && !surveyed {
        return match section.has("recovery_window") {
            false => Ok(None),
            true => {
                let found = "recovery_window without recovery";
                Err(section.wrong("recovery_window", found, "recovery_window beside recovery"))
            }
        };
    }
    let share = content!(section.value("recovery", SHARE, Some("0.9"))?, Float);
    if share <= 0.0 {
        return Err(section.wrong("recovery", "0", "a share above 0 and at most 1"));
    }
    let window = content!(section.value("recovery_window", EVERY, Some("20rtt"))?, Span);
    Ok(Some(RecoverySpec { share, window }))
}

/// The warm-up's end. None is not written out: resolved scenarios of before there were any stay as
/// they are.
fn warmup(section: &mut Section<'_>) -> Result<Time, ScenarioError> {
    let Some(node) = section.node("warmup") else { return Ok(Time::ZERO) };
    let value = decode(section.place, &section.key("warmup"), node, Kind::Span(0, u64::MAX))?;
    let warmup = content!(value.clone(), Span);
    if warmup > Span::ZERO {
        section.write("warmup", value.to_string());
    }
    Ok(Time(warmup.0))
}

/// Every `[[probe]]`, and all of them written out.
pub(crate) fn probes(
    place: Around<'_>,
    node: Option<&Node>,
) -> Result<(Vec<ProbeSpec>, String), ScenarioError> {
    let (mut probes, mut text): (Vec<ProbeSpec>, _) = (Vec::new(), String::new());
    for section in tables(place, "probe", node)? {
        let (probe, block) = probe(section, &probes)?;
        probes.push(probe);
        text += &format!("\n{block}");
    }
    Ok((probes, text))
}

fn probe(
    mut section: Section<'_>,
    before: &[ProbeSpec],
) -> Result<(ProbeSpec, String), ScenarioError> {
    const KINDS: &[&str] =
        &["queue", "utilisation", "window", "state", "signals", "pause", "packets", "tcp-info"];
    let word = section.word("kind", KINDS, None)?;
    let (kind, keys): (_, &[&str]) = match word.as_str() {
        "queue" => (ProbeKind::Queue, &["kind", "name", "ports", "every"]),
        "utilisation" => (ProbeKind::Utilisation, &["kind", "name", "ports", "every"]),
        "window" => (ProbeKind::Window, &["kind", "name", "flows", "every"]),
        "state" => (ProbeKind::State, &["kind", "name", "ports", "every"]),
        "tcp-info" => (ProbeKind::TcpInfo, &["kind", "name", "flows", "every"]),
        "signals" => (ProbeKind::Signals, &["kind", "name", "ports", "every"]),
        "pause" => (ProbeKind::Pause, &["kind", "name", "ports", "every"]),
        _ => (ProbeKind::Packets, &["kind", "name", "ports"]),
    };
    section.allow(keys, &format!("a key that a {word} probe does not have"))?;
    let name = name(&mut section, &word, before)?;
    let mut probe =
        ProbeSpec { kind, ports: String::new(), flows: Vec::new(), every: Span::ZERO, name };
    if keys.contains(&"ports") {
        probe.ports = ports(&mut section)?;
    }
    if keys.contains(&"flows") {
        probe.flows = flows(&mut section)?;
    }
    if keys.contains(&"every") {
        probe.every = content!(section.value("every", EVERY, None)?, Span);
    }
    Ok((probe, section.block("[[probe]]")))
}

/// The name of the probe's file: its kind, numbered from the second of a kind on.
fn name(
    section: &mut Section<'_>,
    kind: &str,
    before: &[ProbeSpec],
) -> Result<String, ScenarioError> {
    let taken = |name: &str| before.iter().any(|probe| probe.name == name);
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let name = match section.node("name").map(|node| (node.text(), node)) {
        None => std::iter::once(kind.to_owned())
            .chain((2..).map(|number| format!("{kind}-{number}")))
            .find(|name| !taken(name))
            .unwrap_or_default(),
        Some((Some(name), node)) if !name.is_empty() && name.chars().all(plain) => {
            if taken(name) || TAKEN.contains(&name) {
                let found = format!("{}, which is taken", node.shown());
                return Err(section.wrong("name", found, "a name of its own"));
            }
            name.to_owned()
        }
        Some((_, node)) => {
            let allowed = "a name for a file: letters, digits, - and _";
            return Err(section.wrong("name", node.shown(), allowed));
        }
    };
    section.write("name", quote(&name));
    Ok(name)
}

fn ports(section: &mut Section<'_>) -> Result<String, ScenarioError> {
    let allowed = "ports such as \"leaf0-*\" (all of leaf0) or \"leaf0-spine1\"";
    let Some(node) = section.node("ports") else {
        return Err(section.wrong("ports", "nothing", allowed));
    };
    let Some(text) = node.text().filter(|text| !text.is_empty()) else {
        return Err(section.wrong("ports", node.shown(), allowed));
    };
    section.write("ports", quote(text));
    Ok(text.to_owned())
}

/// Flow numbers; none stands for the first 16.
fn flows(section: &mut Section<'_>) -> Result<Vec<u32>, ScenarioError> {
    let flows = match section.node("flows") {
        None => Vec::new(),
        Some(node) => {
            let number = |node: &Node| u32::try_from(node.whole()?).ok();
            let flows = node.array().and_then(|nodes| nodes.iter().map(number).collect());
            flows.ok_or_else(|| {
                section.wrong("flows", node.shown(), "a list of flows' numbers, from 0")
            })?
        }
    };
    section.write("flows", format!("{flows:?}"));
    Ok(flows)
}
