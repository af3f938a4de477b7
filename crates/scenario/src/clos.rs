//! `topology.kind = "clos"`: tiers with counts, or with what follows from their switches' ports.

use crate::error::ScenarioError;
use crate::section::{Section, content, tables};
use crate::topology::{Parts, allow, check_size, link, unwritten_link};
use crate::tree::{Data, Node, quote};
use leafspine_core::Rate;
use leafspine_fabric::kinds::{
    Bundle, CLOS, Clos, ClosError, ClosTier, MOST_TIERS, of_radix, oversubscribed,
};
use leafspine_fabric::{LinkSpec, TopologyKind};
use leafspine_schemes::Kind;
use std::sync::Arc;

const COUNT: (u32, u32) = (1, 65_536);
/// What tiers are called, for each number of them.
const NAMES: [&[&str]; MOST_TIERS - 1] =
    [&["leaf", "spine"], &["tor", "agg", "core"], &["tor", "agg", "spine", "core"]];
/// Ratios of rates; a network with less than a hundredth of its hosts' rate is none.
const RATIO: Kind = Kind::Float(0.01, 100.0);

/// The network, and its tiers written out.
pub(crate) fn clos(section: &mut Section<'_>) -> Result<(Parts, String), ScenarioError> {
    let own = ["hosts_per_tor", "radix", "oversubscription", "tiers", "links_per_pair", "tier"];
    allow(section, &CLOS, &own)?;
    let mut tables = tables(section.place, "topology.tier", section.node("tier"))?;
    let tiers = number_of_tiers(section, tables.len())?;
    if tables.is_empty() {
        for number in 0..tiers {
            tables.push(Section::open(section.place, format!("topology.tier.{number}"), None)?);
        }
    }
    let written = section.written();
    let host_link = link(section, "host_link")?;
    section.forget(written);
    let default = Default {
        link: unwritten_link(section, "fabric_link")?,
        links: section.unwritten("links_per_pair", Kind::Int(1, u64::from(COUNT.1)), "1")?,
    };
    let mut read = Vec::with_capacity(tiers);
    for (at, table) in tables.iter_mut().enumerate() {
        read.push(tier(table, (at, tiers), section.has("radix"), host_link, &default)?);
    }
    let hosts = match section.has("radix") {
        true => by_radix(section, &mut read, host_link.rate)?,
        false => by_counts(section, &tables, &read, host_link.rate)?,
    };
    let network = Clos::new(hosts, read.clone()).map_err(|error| refused(section, error))?;
    section.write("hosts_per_tor", hosts.to_string());
    link(section, "host_link")?;
    let kind = TopologyKind::Clos(Arc::new(network));
    check_size(section, &kind)?;
    let blocks = read.iter().enumerate().map(|(at, tier)| block(at, tier, &mut tables[at]));
    let blocks: String = blocks.collect();
    let fabric_link = read[1].link;
    Ok((Parts { kind, host_link, fabric_link }, blocks))
}

/// What tiers have that do not say otherwise.
struct Default {
    link: Option<LinkSpec>,
    links: leafspine_schemes::Value,
}

fn refused(section: &Section<'_>, error: ClosError) -> ScenarioError {
    let key = format!("topology.tier.{}.{}", error.tier, error.key);
    let nodes = section.node("tier").and_then(Node::array);
    let node = nodes.and_then(|nodes| nodes.get(error.tier));
    let inner = node.and_then(|node| node.table()?.get(error.key));
    let origin = inner.or(node).map(|node| node.origin);
    section.place.error(origin, &key, error.found, error.allowed)
}

/// How many tiers there are: as many as are described, or as the file says.
fn number_of_tiers(section: &mut Section<'_>, described: usize) -> Result<usize, ScenarioError> {
    let allowed = format!("2 to {MOST_TIERS} tiers");
    if !section.has("tiers") {
        return match described {
            0 => Err(section.wrong(
                "tier",
                "nothing",
                format!("{allowed}, each a [[topology.tier]], or tiers = 3 beside radix"),
            )),
            2..=MOST_TIERS => Ok(described),
            _ => Err(section.wrong("tier", format!("{described} of them"), allowed)),
        };
    }
    let written = section.written();
    let tiers = section.count("tiers", (2, MOST_TIERS as u32), None)? as usize;
    section.forget(written);
    if described != 0 && described != tiers {
        let found = format!("{tiers} beside {described} [[topology.tier]]");
        return Err(section.wrong("tiers", found, format!("{described}, or no such key")));
    }
    Ok(tiers)
}

/// What the file says of a tier. `by_radix`: its counts follow.
fn tier(
    table: &mut Section<'_>,
    (at, tiers): (usize, usize),
    by_radix: bool,
    host_link: LinkSpec,
    default: &Default,
) -> Result<ClosTier, ScenarioError> {
    let mut keys = vec!["name"];
    keys.extend((!by_radix).then_some("switches"));
    keys.extend((!by_radix && at > 0).then_some("pods"));
    keys.extend((at > 0).then_some(["links_per_pair", "link"]).into_iter().flatten());
    let what = match (by_radix, at) {
        (true, _) => "a key that a tier does not have beside radix",
        (false, 0) => "a key that the tier of the hosts does not have",
        (false, _) => "an unknown key",
    };
    table.allow(&keys, what)?;
    let name = name(table, NAMES[tiers - 2][at])?;
    let count = |table: &mut Section<'_>, key: &str, default| table.count(key, COUNT, default);
    let (mut switches, mut pods) = (1, 1);
    if !by_radix {
        switches = count(table, "switches", None)?;
        pods = if at > 0 { count(table, "pods", Some("1"))? } else { switches };
    }
    let (mut links_per_pair, mut own) = (1, host_link);
    if at > 0 {
        let links = content!(default.links.clone(), Int).to_string();
        links_per_pair = count(table, "links_per_pair", Some(&links))?;
        own = match (table.has("link"), default.link) {
            (false, Some(link)) => link,
            _ => link(table, "link")?,
        };
    }
    Ok(ClosTier { name, switches, pods, links_per_pair, link: own })
}

/// What a tier's switches are called: letters, so that a number can follow.
fn name(table: &Section<'_>, default: &str) -> Result<String, ScenarioError> {
    let Some(node) = table.node("name") else { return Ok(default.to_owned()) };
    let letters = |name: &&str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase()) && *name != "host"
    };
    match node.text().filter(letters) {
        Some(name) => Ok(name.to_owned()),
        None => {
            let allowed = "a name of lower-case letters other than \"host\"";
            Err(table.wrong("name", node.shown(), allowed))
        }
    }
}

/// How many times the rate of its links upwards a switch of tier `at` has downwards, as the file says:
/// one number is that of the lowest tier, the others then have 1.
fn ratio(section: &Section<'_>, tiers: usize) -> Result<Vec<f64>, ScenarioError> {
    let mut ratios = vec![1.0; tiers - 1];
    let Some(node) = section.node("oversubscription") else { return Ok(ratios) };
    let number = |node: &Node| {
        let found =
            crate::section::decode(section.place, &section.key("oversubscription"), node, RATIO)?;
        Ok::<f64, ScenarioError>(content!(found, Float))
    };
    match &node.data {
        Data::Array(nodes) if nodes.len() == tiers - 1 => {
            for (ratio, node) in ratios.iter_mut().zip(nodes) {
                *ratio = number(node)?;
            }
        }
        Data::Array(_) => {
            let allowed = format!("a number, or one for each of the {} lower tiers", tiers - 1);
            return Err(section.wrong("oversubscription", node.shown(), allowed));
        }
        _ => ratios[0] = number(node)?,
    }
    Ok(ratios)
}

/// Counts of all tiers, and hosts under a switch, from the number of a switch's ports.
fn by_radix(
    section: &mut Section<'_>,
    tiers: &mut [ClosTier],
    host: Rate,
) -> Result<u32, ScenarioError> {
    if section.has("hosts_per_tor") {
        let found = "hosts_per_tor beside radix";
        return Err(section.wrong(
            "hosts_per_tor",
            found,
            "one of the two; oversubscription divides a switch's ports",
        ));
    }
    let ratios = ratio(section, tiers.len())?;
    let written = section.written();
    let radix = section.count("radix", (2, 1024), None)?;
    section.forget(written);
    let bundles: Vec<Bundle> = tiers
        .iter()
        .enumerate()
        .map(|(at, tier)| Bundle {
            links_per_pair: tier.links_per_pair,
            rate: if at == 0 { host } else { tier.link.rate },
        })
        .collect();
    let (hosts, counts) = of_radix(radix, &bundles, |tier| ratios[tier]).map_err(|tier| {
        let ratio = ratios.get(tier).copied().unwrap_or(1.0);
        let found = format!("{radix} ports, which {} switches cannot split", tiers[tier].name);
        let allowed = format!("a number of which some can be {ratio} times the rate of the others");
        section.wrong("radix", found, allowed)
    })?;
    for (tier, (switches, pods)) in tiers.iter_mut().zip(counts) {
        let most = u64::from(COUNT.1);
        if switches > most || pods > most {
            let found = format!("{switches} {} switches", tier.name);
            return Err(section.wrong("radix", found, format!("at most {most}")));
        }
        (tier.switches, tier.pods) = (switches as u32, pods as u32);
    }
    Ok(hosts)
}

/// Hosts under a switch, as the file says or as its oversubscription does.
fn by_counts(
    section: &mut Section<'_>,
    tables: &[Section<'_>],
    tiers: &[ClosTier],
    host: Rate,
) -> Result<u32, ScenarioError> {
    let has = |key| section.has(key);
    match (has("hosts_per_tor"), has("oversubscription")) {
        (true, true) => {
            let found = "both hosts_per_tor and oversubscription";
            Err(section.wrong("oversubscription", found, "one of the two, or radix"))
        }
        (false, false) => {
            let allowed = "a whole number from 1 to 65536, or oversubscription, or radix";
            Err(section.wrong("hosts_per_tor", "nothing", allowed))
        }
        (true, false) => {
            let written = section.written();
            let hosts = section.count("hosts_per_tor", COUNT, None)?;
            section.forget(written);
            Ok(hosts)
        }
        (false, true) => {
            if section.node("oversubscription").is_some_and(|node| node.array().is_some()) {
                let found = "a list beside counts of switches";
                return Err(section.wrong(
                    "oversubscription",
                    found,
                    "a number: that of the hosts' tier",
                ));
            }
            // A network that cannot be is refused for that.
            let fitting = Clos::new(1, tiers.to_vec()).map_err(|error| refused(section, error))?;
            let fitting = fitting.tiers();
            let above = fitting[1].switches / fitting[1].pods;
            let uplinks = u64::from(above) * u64::from(fitting[1].links_per_pair);
            let (ratio, up) = (ratio(section, tables.len())?[0], fitting[1].link.rate);
            oversubscribed(ratio, host, up, uplinks).ok_or_else(|| {
                let found = format!("{ratio}, with {uplinks} uplinks of {up} and hosts of {host}");
                let allowed = "a ratio that makes a whole number of hosts";
                section.wrong("oversubscription", found, allowed)
            })
        }
    }
}

/// A tier as the resolved scenario has it.
fn block(at: usize, tier: &ClosTier, table: &mut Section<'_>) -> String {
    table.forget(0);
    table.write("name", quote(&tier.name));
    table.write("switches", tier.switches.to_string());
    if at > 0 {
        table.write("pods", tier.pods.to_string());
        table.write("links_per_pair", tier.links_per_pair.to_string());
        let LinkSpec { rate, delay, loss } = tier.link;
        let value = |value: leafspine_schemes::Value| value.to_string();
        let (rate, delay) =
            (leafspine_schemes::Value::Rate(rate), leafspine_schemes::Value::Span(delay));
        let loss = leafspine_schemes::Value::Float(loss);
        let inline = format!(
            "{{ rate = {}, delay = {}, loss = {} }}",
            value(rate),
            value(delay),
            value(loss)
        );
        table.write("link", inline);
    }
    format!("\n{}", table.block("[[topology.tier]]"))
}
