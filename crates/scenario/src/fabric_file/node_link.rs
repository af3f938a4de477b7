//! NetworkX's node-link data, as `networkx.node_link_data` gives it.

use super::attributes::{Given, of_link, role, tier};
use super::{Fault, List};
use leafspine_fabric::kinds::{Edge, Vertex};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashMap};

type Attributes = BTreeMap<String, Value>;
const EDGES: [&str; 2] = ["links", "edges"];

/// The list in a node-link JSON file: `nodes` with an `id`, `links` (or `edges`) with `source` and
/// `target`. Attributes that say nothing of a fabric are left aside.
pub(super) fn read(text: &str) -> Result<List, Fault> {
    let text = Text { text, feeds: text.match_indices('\n').map(|(at, _)| at).collect() };
    let root: BTreeMap<String, &RawValue> = text.parse(text.text)?;
    if root.get("directed").is_some_and(|raw| raw.get() == "true") {
        let found = "a directed graph";
        return Err(Fault::new(1, "directed", found, "an undirected one: G.to_undirected()"));
    }
    let (mut list, mut numbers) = (List::default(), HashMap::new());
    for raw in entries(&text, &root, &["nodes"])? {
        node(&mut list, &mut numbers, &text, raw)?;
    }
    for raw in entries(&text, &root, &EDGES)? {
        edge(&mut list, &numbers, &text, raw)?;
    }
    Ok(list)
}

/// A file's text, and where its lines end.
struct Text<'a> {
    text: &'a str,
    feeds: Vec<usize>,
}

impl Text<'_> {
    /// The line of a piece of the text.
    fn line(&self, piece: &str) -> usize {
        let at = (piece.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        self.feeds.partition_point(|feed| *feed < at) + 1
    }

    fn parse<'a, T: serde::Deserialize<'a>>(&self, piece: &'a str) -> Result<T, Fault> {
        serde_json::from_str(piece).map_err(|error| {
            let at = self.line(piece) + error.line().saturating_sub(1);
            let allowed = "NetworkX's node-link JSON: nodes, and links or edges";
            Fault::new(at, "", error.to_string(), allowed)
        })
    }
}

/// The entries of the array that goes by one of `names`.
fn entries<'a>(
    text: &Text<'_>,
    root: &BTreeMap<String, &'a RawValue>,
    names: &[&str],
) -> Result<Vec<&'a RawValue>, Fault> {
    match names.iter().find_map(|name| root.get(*name)) {
        Some(raw) => text.parse(raw.get()),
        None => Err(Fault::new(1, names[0], "nothing", "a list: NetworkX's node-link JSON")),
    }
}

/// A node's name; NetworkX may have numbers for it.
fn name(value: Option<&Value>, key: &str, line: usize) -> Result<String, Fault> {
    match value {
        Some(Value::String(name)) => Ok(name.clone()),
        Some(Value::Number(number)) => Ok(number.to_string()),
        Some(other) => Err(Fault::new(line, key, other.to_string(), "a name or a number")),
        None => Err(Fault::new(line, key, "nothing", "a name or a number")),
    }
}

fn given(value: &Value) -> Option<Given<'_>> {
    match value {
        Value::String(text) => Some(Given::Text(text)),
        Value::Number(number) => number.as_f64().map(Given::Number),
        _ => None,
    }
}

fn node(
    list: &mut List,
    numbers: &mut HashMap<String, usize>,
    text: &Text<'_>,
    raw: &RawValue,
) -> Result<(), Fault> {
    let at = text.line(raw.get());
    let attributes: Attributes = text.parse(raw.get())?;
    let name = name(attributes.get("id"), "id", at)?;
    let mut vertex = Vertex { name: name.clone(), host: None, tier: None };
    for key in ["role", "kind"] {
        if let Some(found) = attributes.get(key).and_then(given) {
            role(&mut vertex, key, found, at)?;
        }
    }
    if let Some(found) = attributes.get("tier").and_then(given) {
        tier(&mut vertex, "tier", found, at)?;
    }
    numbers.insert(name, list.vertices.len());
    list.vertices.push(vertex);
    list.vertex_lines.push(at);
    Ok(())
}

fn edge(
    list: &mut List,
    numbers: &HashMap<String, usize>,
    text: &Text<'_>,
    raw: &RawValue,
) -> Result<(), Fault> {
    let at = text.line(raw.get());
    let attributes: Attributes = text.parse(raw.get())?;
    let end = |key: &str| {
        let name = name(attributes.get(key), key, at)?;
        numbers.get(&name).copied().ok_or_else(|| {
            let nearest = crate::error::nearest(&name, numbers.keys().map(String::as_str));
            let fault = Fault::new(at, key, format!("{name:?}"), "the id of one of the nodes");
            Fault { nearest, ..fault }
        })
    };
    let ends = (end("source")?, end("target")?);
    let mut edge = Edge { ends, rate: None, delay: None, loss: None };
    for (key, value) in &attributes {
        if let Some(found) = given(value) {
            of_link(&mut edge, key, found, at)?;
        }
    }
    list.edges.push(edge);
    list.edge_lines.push(at);
    Ok(())
}
