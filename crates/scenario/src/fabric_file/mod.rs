//! `topology.kind = "file"`: a fabric from a list of its links.
//!
//! A CSV file is a row a link; a JSON file is NetworkX's node-link data. Both become a [`List`], whose
//! entries know their lines.

mod attributes;
mod node_link;
mod rows;

use crate::error::{Problem, ScenarioError};
use crate::section::Section;
use crate::topology::{Parts, allow, check_size, unwritten_link};
use crate::trace;
use leafspine_fabric::kinds::{Blamed, Defaults, Edge, FILE, Vertex, Wiring};
use leafspine_fabric::{LinkSpec, TopologyKind};
use std::path::Path;
use std::sync::Arc;

/// Nodes and links in a file's order, and the lines that they stand on.
#[derive(Debug, Default)]
struct List {
    vertices: Vec<Vertex>,
    vertex_lines: Vec<usize>,
    edges: Vec<Edge>,
    edge_lines: Vec<usize>,
}

/// What is wrong in a file, and on which line.
struct Fault {
    line: Option<usize>,
    key: String,
    found: String,
    allowed: String,
    nearest: Option<String>,
}

impl Fault {
    fn new(line: usize, key: &str, found: impl Into<String>, allowed: impl Into<String>) -> Fault {
        let (found, allowed) = (found.into(), allowed.into());
        Fault { line: Some(line), key: key.to_owned(), found, allowed, nearest: None }
    }
}

/// The fabric; its file and its checksum are written out.
pub(crate) fn file(section: &mut Section<'_>) -> Result<Parts, ScenarioError> {
    allow(section, &FILE, &["path", "checksum"])?;
    let path = trace::path(section, "a CSV or JSON file")?;
    let defaults = Defaults {
        host: unwritten_link(section, "host_link")?,
        fabric: unwritten_link(section, "fabric_link")?,
    };
    for key in ["host_link", "fabric_link"] {
        if section.has(key) {
            crate::topology::link(section, key)?;
        }
    }
    let name = section.node("path").and_then(|node| node.text()).unwrap_or_default();
    let wiring = read(&path, &defaults).map_err(|fault| -> ScenarioError {
        let Fault { line, key, found, allowed, nearest } = fault;
        Problem { file: name.to_owned(), line, key, found, allowed, nearest }.into()
    })?;
    let fastest = |links: &mut dyn Iterator<Item = LinkSpec>| links.max_by_key(|link| link.rate);
    let host_link = fastest(&mut wiring.host_links()).expect("there are hosts");
    let fabric_link = fastest(&mut wiring.wires.iter().map(|wire| wire.link)).unwrap_or(host_link);
    let kind = TopologyKind::File(Arc::new(wiring));
    check_size(section, &kind)?;
    Ok(Parts { kind, host_link, fabric_link })
}

/// The fabric that a file describes.
fn read(path: &Path, defaults: &Defaults) -> Result<Wiring, Fault> {
    let unreadable = |found: String| Fault {
        line: None,
        key: String::new(),
        found,
        allowed: "a CSV or JSON file in UTF-8".to_owned(),
        nearest: None,
    };
    let bytes = std::fs::read(path).map_err(|error| unreadable(error.kind().to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| unreadable("no UTF-8 text".to_owned()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let list = match text.trim_start().starts_with('{') {
        true => node_link::read(text)?,
        false => rows::read(text)?,
    };
    Wiring::new(&list.vertices, &list.edges, defaults).map_err(|error| {
        let line = match error.place {
            Blamed::Vertex(at) => list.vertex_lines.get(at).copied(),
            Blamed::Edge(at) => list.edge_lines.get(at).copied(),
            Blamed::Whole => None,
        };
        let (key, found, allowed) = (error.key.to_owned(), error.found, error.allowed);
        Fault { line, key, found, allowed, nearest: None }
    })
}
