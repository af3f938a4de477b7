//! A CSV file with a row a link.

use super::attributes::{Given, link_names, of_link, role, tier};
use super::{Fault, List};
use crate::error::nearest;
use csv::{ReaderBuilder, StringRecord, Trim};
use leafspine_fabric::kinds::{Edge, Vertex};
use leafspine_sim::workload::{WorkloadError, not_a_header};
use std::collections::HashMap;

const ENDS: [&str; 2] = ["source", "target"];
/// What a row says of its ends beside their names.
const OF_ENDS: [(&str, usize); 4] =
    [("source_role", 0), ("target_role", 1), ("source_tier", 0), ("target_tier", 1)];

/// The list in a CSV file with the columns `source` and `target`, and what else is known of links and
/// of their ends.
pub(super) fn read(text: &str) -> Result<List, Fault> {
    let mut reader = ReaderBuilder::new()
        .trim(Trim::All)
        .flexible(true)
        .has_headers(false)
        .from_reader(text.as_bytes());
    let (mut row, mut header) = (StringRecord::new(), None::<Vec<String>>);
    let (mut list, mut numbers) = (List::default(), HashMap::new());
    loop {
        let more = reader.read_record(&mut row);
        let line = row.position().map_or(1, |at| at.line() as usize);
        let broken = |error: csv::Error| Fault::new(line, "row", error.to_string(), "a CSV file");
        if !more.map_err(broken)? {
            break;
        }
        match &header {
            None => {
                check_header(&row, line)?;
                header = Some(row.iter().map(str::to_owned).collect());
            }
            Some(header) => link(&mut list, &mut numbers, header, (&row, line))?,
        }
    }
    if list.edges.is_empty() {
        let found = if header.is_some() { "no links" } else { "an empty file" };
        return Err(Fault::new(
            1,
            "row",
            found,
            "a header with source and target, and a row a link",
        ));
    }
    Ok(list)
}

fn check_header(row: &StringRecord, line: usize) -> Result<(), Fault> {
    let names: Vec<&str> = row.iter().collect();
    if let Some(WorkloadError { key, found, allowed, .. }) = not_a_header(&names) {
        return Err(Fault::new(line, &key, found, allowed));
    }
    let known = || ENDS.into_iter().chain(link_names()).chain(OF_ENDS.map(|(name, _)| name));
    let allowed = || known().collect::<Vec<_>>().join(", ");
    let is_known = |name: &&str| known().any(|known| known == *name);
    if !names.iter().any(|name| is_known(name) || nearest(name, known()).is_some()) {
        let found = format!("no header, but {}", names.join(","));
        return Err(Fault::new(line, "row", found, "a header with source and target"));
    }
    for (at, name) in row.iter().enumerate() {
        if row.iter().take(at).any(|before| before == name) {
            return Err(Fault::new(line, name, "the column twice", "each column once"));
        }
        if !is_known(&name) {
            let missing = ENDS.into_iter().find(|end| !names.contains(end));
            let missing = missing.map_or_else(String::new, |end| format!(", and no {end}"));
            let fault = Fault::new(line, name, format!("an unknown column{missing}"), allowed());
            return Err(Fault { nearest: nearest(name, known()), ..fault });
        }
    }
    match ENDS.into_iter().find(|end| !row.iter().any(|name| name == *end)) {
        Some(missing) => Err(Fault::new(line, missing, "no such column", allowed())),
        None => Ok(()),
    }
}

/// Adds a row's link and its ends.
fn link(
    list: &mut List,
    numbers: &mut HashMap<String, usize>,
    header: &[String],
    (row, line): (&StringRecord, usize),
) -> Result<(), Fault> {
    if row.len() != header.len() {
        let found = format!("{} fields", row.len());
        let allowed = format!("{} fields, as in the header", header.len());
        return Err(Fault::new(line, "row", found, allowed));
    }
    let field = |name: &str| header.iter().position(|column| column == name).map(|at| &row[at]);
    let ends = ENDS.map(|end| {
        let name = field(end).unwrap_or_default();
        *numbers.entry(name.to_owned()).or_insert_with(|| {
            list.vertices.push(Vertex { name: name.to_owned(), host: None, tier: None });
            list.vertex_lines.push(line);
            list.vertices.len() - 1
        })
    });
    let mut edge = Edge { ends: (ends[0], ends[1]), rate: None, delay: None, loss: None };
    // An empty field says nothing.
    for (name, text) in header.iter().zip(row).filter(|(_, text)| !text.is_empty()) {
        of_link(&mut edge, name, Given::Text(text), line)?;
    }
    for (name, end) in OF_ENDS {
        let Some(text) = field(name).filter(|text| !text.is_empty()) else { continue };
        let vertex = &mut list.vertices[ends[end]];
        let add = if name.ends_with("role") { role } else { tier };
        add(vertex, name, Given::Text(text), line)?;
    }
    list.edges.push(edge);
    list.edge_lines.push(line);
    Ok(())
}
