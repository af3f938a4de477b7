//! What lists say of links and nodes, by the names of columns or attributes.

use super::Fault;
use crate::topology::FASTEST;
use leafspine_core::{Rate, Span};
use leafspine_fabric::kinds::{Edge, Vertex};
use leafspine_schemes::units::{parse_rate, parse_span};

/// A number or a text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Given<'a> {
    Text(&'a str),
    Number(f64),
}

impl Given<'_> {
    fn number(self) -> Option<f64> {
        match self {
            Given::Number(number) => Some(number),
            Given::Text(text) => text.parse().ok(),
        }
    }

    fn shown(self) -> String {
        match self {
            Given::Text(text) => format!("{text:?}"),
            Given::Number(number) => number.to_string(),
        }
    }
}

/// A link's attributes: what they say, and of a number how many of the base unit (b/s, ps) it counts.
/// Without a unit in the name, the value has it.
const LINK: &[(&str, What, f64)] = &[
    ("rate", What::Rate, 0.0),
    ("rate_bps", What::Rate, 1.0),
    ("rate_kbps", What::Rate, 1e3),
    ("rate_mbps", What::Rate, 1e6),
    ("rate_gbps", What::Rate, 1e9),
    ("rate_tbps", What::Rate, 1e12),
    ("delay", What::Delay, 0.0),
    ("delay_ps", What::Delay, 1.0),
    ("delay_ns", What::Delay, 1e3),
    ("delay_us", What::Delay, 1e6),
    ("delay_ms", What::Delay, 1e9),
    ("delay_s", What::Delay, 1e12),
    ("loss", What::Loss, 1.0),
];

#[derive(Clone, Copy, PartialEq, Debug)]
enum What {
    Rate,
    Delay,
    Loss,
}

/// The names of a link's attributes.
pub(super) fn link_names() -> impl Iterator<Item = &'static str> {
    LINK.iter().map(|(name, ..)| *name)
}

/// Longer than any link.
const LONGEST: Span = Span(1_000_000_000_000_000);
const TIER: &str = "a whole number, 0 to 255";

/// Adds to a link what an attribute says of it; `false` if it says nothing that links have.
pub(super) fn of_link(
    edge: &mut Edge,
    name: &str,
    given: Given<'_>,
    line: usize,
) -> Result<bool, Fault> {
    let Some((_, what, unit)) = LINK.iter().find(|(known, ..)| *known == name) else {
        return Ok(false);
    };
    let fault = |allowed: &str| Fault::new(line, name, given.shown(), allowed);
    let (said, word) = match what {
        What::Rate => (edge.rate.is_some(), "rate"),
        What::Delay => (edge.delay.is_some(), "delay"),
        What::Loss => (edge.loss.is_some(), "loss"),
    };
    if said {
        let names = LINK.iter().filter(|(_, other, _)| other == what).map(|(name, ..)| *name);
        let allowed = format!("one of {}", names.collect::<Vec<_>>().join(", "));
        let found = format!("{}, the link's second {word}", given.shown());
        return Err(Fault::new(line, name, found, allowed));
    }
    match what {
        What::Rate => {
            let allowed = match unit {
                0.0 => "a rate such as \"100Gbps\", up to 8Tbps".to_owned(),
                _ => "a number above 0, up to 8 Tb/s".to_owned(),
            };
            let rate = quantity(given, *unit, |text| parse_rate(text).ok().map(|rate| rate.0));
            let rate = rate.map(Rate).filter(|rate| (Rate(1)..=FASTEST).contains(rate));
            edge.rate = Some(rate.ok_or_else(|| fault(&allowed))?);
        }
        What::Delay => {
            let allowed = match unit {
                0.0 => "a time such as \"1us\", up to 1000s",
                _ => "a number, 0 or more, up to 1000 s",
            };
            let delay = quantity(given, *unit, |text| parse_span(text).ok().map(|span| span.0));
            let delay = delay.map(Span).filter(|delay| *delay <= LONGEST);
            edge.delay = Some(delay.ok_or_else(|| fault(allowed))?);
        }
        What::Loss => {
            let loss = given.number().filter(|loss| (0.0..=0.999_999).contains(loss));
            edge.loss = Some(loss.ok_or_else(|| fault("a probability from 0 to below 1"))?);
        }
    }
    Ok(true)
}

/// A quantity in its base unit: a text that has its unit, or a number whose unit is known.
fn quantity(given: Given<'_>, unit: f64, parse: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    match given {
        Given::Text(text) if unit == 0.0 => parse(text),
        _ if unit == 0.0 => None,
        _ => {
            let found = given.number()? * unit;
            (0.0..=1e18).contains(&found).then(|| found.round() as u64)
        }
    }
}

/// What hosts are called, and what switches.
const HOSTS: &[&str] = &["host", "server"];
const SWITCHES: &[&str] =
    &["switch", "router", "tor", "leaf", "spine", "edge", "agg", "aggregation", "core"];

/// Adds a node's role. Nodes of a CSV file have it in each of their rows, the same.
pub(super) fn role(
    vertex: &mut Vertex,
    key: &str,
    given: Given<'_>,
    line: usize,
) -> Result<(), Fault> {
    let word = match given {
        Given::Text(text) => text.to_lowercase(),
        Given::Number(_) => String::new(),
    };
    let host = match (HOSTS.contains(&&*word), SWITCHES.contains(&&*word)) {
        (true, _) => true,
        (_, true) => false,
        _ => {
            let allowed = format!("{}, {}", HOSTS.join(", "), SWITCHES.join(", "));
            return Err(Fault::new(line, key, given.shown(), allowed));
        }
    };
    if vertex.host.is_some_and(|before| before != host) {
        let found = format!("{} of {:?}, which had another role", given.shown(), vertex.name);
        return Err(Fault::new(line, key, found, "one role of a node"));
    }
    vertex.host = Some(host);
    Ok(())
}

/// Adds a node's tier, likewise.
pub(super) fn tier(
    vertex: &mut Vertex,
    key: &str,
    given: Given<'_>,
    line: usize,
) -> Result<(), Fault> {
    let whole = |tier: &f64| tier.fract() == 0.0 && (0.0..=255.0).contains(tier);
    let Some(tier) = given.number().filter(whole) else {
        return Err(Fault::new(line, key, given.shown(), TIER));
    };
    let tier = tier as u32;
    if vertex.tier.is_some_and(|before| before != tier) {
        let found = format!("{tier} of {:?}, which had another tier", vertex.name);
        return Err(Fault::new(line, key, found, "one tier of a node"));
    }
    vertex.tier = Some(tier);
    Ok(())
}
