//! Sets of hosts: `senders` and `receivers`.

use crate::error::ScenarioError;
use crate::section::{Section, content, decode};
use crate::tree::{Data, Node, quote};
use leafspine_core::HostId;
use leafspine_fabric::TopologyKind;
use leafspine_fabric::kinds::Plan;
use leafspine_schemes::Kind;
use leafspine_sim::spec::HostSet;

const ALLOWED: &str = "\"all\", \"a random half\", \"the rest\", a switch such as \"leaf0\", a list \
                       of hosts, how many at random, { first = how many }";

/// The hosts at `key`, all by default.
pub(crate) fn host_set(
    section: &mut Section<'_>,
    key: &str,
    graph: &TopologyKind,
) -> Result<HostSet, ScenarioError> {
    let set = match section.node(key) {
        None => HostSet::All,
        Some(node) => read(section, key, node, graph)?,
    };
    section.write(key, written(&set));
    Ok(set)
}

fn read(
    section: &Section<'_>,
    key: &str,
    node: &Node,
    graph: &TopologyKind,
) -> Result<HostSet, ScenarioError> {
    let hosts = graph.hosts();
    let count = |node: &Node, key: &str| {
        let value = decode(section.place, &section.key(key), node, Kind::Int(1, hosts))?;
        Ok::<u32, ScenarioError>(content!(value, Int) as u32) // At most `hosts`.
    };
    match &node.data {
        Data::Text(text) => named(text, graph).map_err(|allowed| {
            section.wrong(key, node.shown(), allowed.unwrap_or_else(|| ALLOWED.to_owned()))
        }),
        Data::Int(_) | Data::Float(_) => count(node, key).map(HostSet::Random),
        Data::Array(nodes) if !nodes.is_empty() => nodes
            .iter()
            .map(|node| match (node.whole(), node.text()) {
                (Some(host), _) if (0..hosts as i64).contains(&host) => Ok(HostId(host as u16)),
                (_, Some(name)) if graph.host_named(name).is_some() => {
                    Ok(HostId(graph.host_named(name).unwrap_or_default() as u16))
                }
                _ => {
                    Err(section.wrong(key, node.shown(), format!("hosts from 0 to {}", hosts - 1)))
                }
            })
            .collect::<Result<_, _>>()
            .map(HostSet::List),
        Data::Table(table) if table.0.len() == 1 => match table.get("first") {
            Some(node) => count(node, &format!("{key}.first")).map(HostSet::First),
            None => Err(section.wrong(key, node.shown(), ALLOWED)),
        },
        _ => Err(section.wrong(key, node.shown(), ALLOWED)),
    }
}

/// A set in words; the error says what is allowed, where it is more than the general answer.
fn named(text: &str, graph: &TopologyKind) -> Result<HostSet, Option<String>> {
    match text {
        "all" => return Ok(HostSet::All),
        "a random half" => return Ok(HostSet::RandomHalf),
        "the rest" => return Ok(HostSet::Rest),
        _ => {}
    }
    if graph.has_tor(text) {
        return Ok(HostSet::Under(text.to_owned()));
    }
    let Plan::Tiers(shape) = graph.plan() else { return Err(None) };
    let prefix = &shape.tiers[0].name;
    match text.starts_with(&**prefix) {
        true => Err(Some(format!("{prefix}0 to {prefix}{}", shape.tors() - 1))),
        false => Err(None),
    }
}

fn written(set: &HostSet) -> String {
    match set {
        HostSet::All => quote("all"),
        HostSet::RandomHalf => quote("a random half"),
        HostSet::Rest => quote("the rest"),
        HostSet::Under(name) => quote(name),
        HostSet::Random(count) => count.to_string(),
        HostSet::First(count) => format!("{{ first = {count} }}"),
        HostSet::List(hosts) => {
            let numbers: Vec<String> = hosts.iter().map(|host| host.0.to_string()).collect();
            format!("[{}]", numbers.join(", "))
        }
    }
}
