//! `[classes]`: flows by size, for the tables.
//!
//! `"100KB..1MB"` holds the sizes above 100 KB up to 1 MB: the lower bound is outside, the upper one
//! inside. Two exceptions: a lower bound of 0 is inside, and so is that of an open-ended class
//! (`"1MB.."` is 1 MB and more) at which no other class ends: else a flow of 1 MB would be in both.
//! Classes may overlap otherwise; a flow counts in each that holds it.

use crate::error::ScenarioError;
use crate::section::{Around, Section};
use crate::tree::{Node, quote, quote_key};
use leafspine_core::Bytes;
use leafspine_schemes::units::parse_bytes;

/// A range of flow sizes with a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SizeClass {
    /// Its name in tables.
    pub name: String,
    /// Lower bound.
    pub low: Bytes,
    /// Upper bound, always part of the class; `None`: no bound.
    pub high: Option<Bytes>,
    /// Whether the lower bound is part of the class.
    pub low_inclusive: bool,
}

impl SizeClass {
    /// A class by itself.
    fn new(name: &str, low: Bytes, high: Option<Bytes>) -> SizeClass {
        let low_inclusive = low == Bytes(0) || high.is_none();
        SizeClass { name: name.to_owned(), low, high, low_inclusive }
    }

    /// Whether a flow of `bytes` bytes belongs to it.
    #[must_use]
    pub fn holds(&self, bytes: u64) -> bool {
        let above = bytes > self.low.0 || bytes == self.low.0 && self.low_inclusive;
        above && self.high.is_none_or(|high| bytes <= high.0)
    }

    fn range(&self) -> String {
        let low = if self.low == Bytes(0) { "0".to_owned() } else { self.low.to_string() };
        format!("{low}..{}", self.high.map_or_else(String::new, |high| high.to_string()))
    }
}

const ALLOWED: &str = "a range of sizes such as \"0..100KB\", \"100KB..1MB\" or \"1MB..\"";
const DEFAULT: &[(&str, u64, Option<u64>)] =
    &[("short", 0, Some(100_000)), ("medium", 100_000, Some(1_000_000)), ("long", 1_000_000, None)];

/// The classes in the file's order, and the table written out.
pub(crate) fn classes(
    place: Around<'_>,
    node: Option<&Node>,
) -> Result<(Vec<SizeClass>, String), ScenarioError> {
    let section = Section::open(place, "classes".to_owned(), node)?;
    let mut classes: Vec<SizeClass> = match node.and_then(Node::table) {
        None => DEFAULT
            .iter()
            .map(|(name, low, high)| SizeClass::new(name, Bytes(*low), high.map(Bytes)))
            .collect(),
        Some(table) => table
            .0
            .iter()
            .map(|(name, node)| class(&section, name, node))
            .collect::<Result<_, _>>()?,
    };
    let ends: Vec<Bytes> = classes.iter().filter_map(|class| class.high).collect();
    for class in classes.iter_mut().filter(|class| ends.contains(&class.low)) {
        class.low_inclusive = false;
    }
    let line =
        |class: &SizeClass| format!("{} = {}\n", quote_key(&class.name), quote(&class.range()));
    Ok((classes.clone(), "[classes]\n".to_owned() + &classes.iter().map(line).collect::<String>()))
}

fn class(section: &Section<'_>, name: &str, node: &Node) -> Result<SizeClass, ScenarioError> {
    if name == "all" {
        let allowed = "another name: the class of all flows is always there";
        return Err(section.wrong(name, "a class named all", allowed));
    }
    let refuse = |found: String| Err(section.wrong(name, found, ALLOWED));
    let Some((low, high)) = node.text().and_then(|text| text.split_once("..")) else {
        return refuse(node.shown());
    };
    let (low, high) = (low.trim(), high.trim());
    let bound = |text: &str| match text {
        "0" => Ok(Bytes(0)),
        text => parse_bytes(text).map_err(|error| format!("{} ({})", node.shown(), error.why)),
    };
    let high = if high.is_empty() { Ok(None) } else { bound(high).map(Some) };
    match (bound(low), high) {
        (Err(found), _) | (_, Err(found)) => refuse(found),
        (Ok(low), Ok(Some(high))) if high <= low => refuse(format!("{} (empty)", node.shown())),
        (Ok(low), Ok(high)) => Ok(SizeClass::new(name, low, high)),
    }
}
