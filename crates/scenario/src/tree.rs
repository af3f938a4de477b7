//! A parsed file as plain data: values with the line that each came from.
//!
//! Variants, sweeps and overrides change copies of this tree, so that every value that is wrong can
//! still be traced to the line where it was written.

use crate::error::{Problem, ScenarioError};
use std::fmt::Write;
use toml_edit::{Document, InlineTable, Item, Value};

/// Where a value was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// In the file, on this line.
    Line(usize),
    /// On the command line, as the override of this number.
    Override(usize),
}

/// A value and where it was written.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Node {
    pub(crate) data: Data,
    pub(crate) origin: Origin,
}

/// What TOML can hold.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Data {
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    /// A date or a time of day: never allowed, kept to be shown.
    Date(String),
    Array(Vec<Node>),
    Table(Table),
}

/// A table in the file's order.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Table(pub(crate) Vec<(String, Node)>);

impl Table {
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.0.iter_mut().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// Replaces `key` in place, or appends it.
    pub(crate) fn insert(&mut self, key: &str, node: Node) {
        match self.get_mut(key) {
            Some(old) => *old = node,
            None => self.0.push((key.to_owned(), node)),
        }
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Node> {
        let at = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(at).1)
    }
}

impl Node {
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn table(&self) -> Option<&Table> {
        match &self.data {
            Data::Table(table) => Some(table),
            _ => None,
        }
    }

    /// A whole number, however it is written: `1000000`, `1e6`.
    pub(crate) fn whole(&self) -> Option<i64> {
        match &self.data {
            Data::Int(number) => Some(*number),
            Data::Float(number) => whole(*number),
            _ => None,
        }
    }

    pub(crate) fn array(&self) -> Option<&[Node]> {
        match &self.data {
            Data::Array(nodes) => Some(nodes),
            _ => None,
        }
    }

    /// As a message shows it: TOML, cut after some 60 characters.
    pub(crate) fn shown(&self) -> String {
        let mut text = String::new();
        self.data.write(&mut text);
        if text.chars().count() > 60 {
            text = text.chars().take(57).chain("...".chars()).collect();
        }
        text
    }
}

/// The whole number that this is, if it is one. Those beyond the integers are not.
fn whole(number: f64) -> Option<i64> {
    const END: f64 = 9_223_372_036_854_775_808.0;
    (number.fract() == 0.0 && (-END..END).contains(&number)).then_some(number as i64)
}

impl Data {
    /// TOML on one line.
    pub(crate) fn write(&self, out: &mut String) {
        match self {
            Data::Text(text) => out.push_str(&quote(text)),
            Data::Int(number) => _ = write!(out, "{number}"),
            Data::Float(number) => _ = write!(out, "{number:?}"),
            Data::Bool(flag) => _ = write!(out, "{flag}"),
            Data::Date(date) => out.push_str(date),
            Data::Array(nodes) => {
                out.push('[');
                for (i, node) in nodes.iter().enumerate() {
                    out.push_str(if i > 0 { ", " } else { "" });
                    node.data.write(out);
                }
                out.push(']');
            }
            Data::Table(Table(entries)) => {
                out.push('{');
                for (i, (key, node)) in entries.iter().enumerate() {
                    out.push_str(if i > 0 { ", " } else { " " });
                    _ = write!(out, "{} = ", quote_key(key));
                    node.data.write(out);
                }
                out.push_str(if entries.is_empty() { "}" } else { " }" });
            }
        }
    }
}

/// A TOML string on one line.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => _ = write!(out, "\\u{:04X}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A TOML key, quoted only if it must be.
pub(crate) fn quote_key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !key.is_empty() && key.chars().all(bare) { key.to_owned() } else { quote(key) }
}

/// Parses a file.
///
/// # Errors
/// If it is no TOML, with the line.
pub(crate) fn parse(text: &str, file: &str) -> Result<Table, ScenarioError> {
    let document = Document::parse(text).map_err(|error| Problem {
        file: file.to_owned(),
        line: error.span().map(|span| Lines::new(text).at(span.start)),
        key: String::new(),
        found: format!("invalid TOML ({})", error.message().trim().replace('\n', ", ")),
        allowed: "TOML 1.0 (strings in quotes, one key = value a line)".to_owned(),
        nearest: None,
    })?;
    let lines = Lines::new(text);
    Ok(lines.table(document.as_table(), 1))
}

/// Parses what stands after `--set key=`: TOML if it is, else the bare words.
/// It is the override of this number.
pub(crate) fn parse_value(text: &str, number: usize) -> Node {
    let data = match text.trim().parse::<Value>() {
        Ok(value) => Lines::new("").value(&value, 1).data,
        Err(_) => Data::Text(text.to_owned()),
    };
    let mut node = Node { data, origin: Origin::Override(number) };
    mark_override(&mut node, number);
    node
}

fn mark_override(node: &mut Node, number: usize) {
    node.origin = Origin::Override(number);
    match &mut node.data {
        Data::Array(nodes) => nodes.iter_mut().for_each(|node| mark_override(node, number)),
        Data::Table(Table(entries)) => {
            entries.iter_mut().for_each(|(_, node)| mark_override(node, number));
        }
        _ => {}
    }
}

/// Offsets of a text's line starts.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Lines {
        Lines(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1).collect())
    }

    /// The line, from 1, of a byte offset.
    fn at(&self, offset: usize) -> usize {
        1 + self.0.partition_point(|start| *start <= offset)
    }

    fn line(&self, span: Option<std::ops::Range<usize>>, otherwise: usize) -> usize {
        span.map_or(otherwise, |span| self.at(span.start))
    }

    fn table(&self, table: &toml_edit::Table, line: usize) -> Table {
        let entry = |(name, item): (&str, &Item)| {
            let line = self.line(table.key(name).and_then(|key| key.span()), line);
            Some((name.to_owned(), self.item(item, line)?))
        };
        Table(table.iter().filter_map(entry).collect())
    }

    fn inline(&self, table: &InlineTable, line: usize) -> Table {
        let entry = |(name, value): (&str, &Value)| {
            let line = self.line(table.key(name).and_then(|key| key.span()), line);
            (name.to_owned(), self.value(value, line))
        };
        Table(table.iter().map(entry).collect())
    }

    fn item(&self, item: &Item, line: usize) -> Option<Node> {
        let (data, line) = match item {
            Item::None => return None,
            Item::Value(value) => return Some(self.value(value, line)),
            Item::Table(table) => {
                let line = self.line(table.span(), line);
                (Data::Table(self.table(table, line)), line)
            }
            Item::ArrayOfTables(tables) => {
                let node = |table: &toml_edit::Table| {
                    let line = self.line(table.span(), line);
                    Node { data: Data::Table(self.table(table, line)), origin: Origin::Line(line) }
                };
                (Data::Array(tables.iter().map(node).collect()), line)
            }
        };
        Some(Node { data, origin: Origin::Line(line) })
    }

    /// A value; `line` is its key's.
    fn value(&self, value: &Value, line: usize) -> Node {
        let data = match value {
            Value::String(text) => Data::Text(text.value().clone()),
            Value::Integer(number) => Data::Int(*number.value()),
            Value::Float(number) => Data::Float(*number.value()),
            Value::Boolean(flag) => Data::Bool(*flag.value()),
            Value::Datetime(date) => Data::Date(date.value().to_string()),
            Value::Array(values) => {
                let node = |value: &Value| self.value(value, self.line(value.span(), line));
                Data::Array(values.iter().map(node).collect())
            }
            Value::InlineTable(table) => Data::Table(self.inline(table, line)),
        };
        Node { data, origin: Origin::Line(line) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "a = 1\n\n[b]\nc = { d = \"x\",\n  e = [1,\n 2] }\n[[f]]\ng = 1\n[[f]]\ng = 2\n";

    fn line(node: &Node) -> usize {
        match node.origin {
            Origin::Line(line) => line,
            Origin::Override(_) => 0,
        }
    }

    /// Breaks if a key, an element or a table is said to be on another line than it is.
    #[test]
    fn lines_are_those_of_the_file() {
        let root = parse(TEXT, "t.toml").unwrap();
        assert_eq!(line(root.get("a").unwrap()), 1);
        let b = root.get("b").unwrap();
        assert_eq!(line(b), 3);
        let c = b.table().unwrap().get("c").unwrap();
        assert_eq!(line(c), 4);
        let e = c.table().unwrap().get("e").unwrap();
        assert_eq!((line(e), line(&e.array().unwrap()[1])), (5, 6));
        let f = root.get("f").unwrap().array().unwrap();
        assert_eq!((line(&f[0]), line(&f[1])), (7, 9));
    }

    /// Breaks if a value is not written so that TOML reads it back.
    #[test]
    fn written_values_are_read_back() {
        let text = "v = { a = \"q\\\"\\\\ \\u0007é\", \"b.c\" = [1, 2.5, true, {}], d = 1e300 }";
        let node = parse(text, "t").unwrap().remove("v").unwrap();
        let mut written = String::new();
        node.data.write(&mut written);
        assert_eq!(parse_value(&written, 0).data, {
            let mut node = node;
            mark_override(&mut node, 0);
            node.data
        });
    }

    /// Breaks if bare words need quotes on the command line, or if numbers become words.
    #[test]
    fn overrides_take_bare_words() {
        assert_eq!(parse_value("40pkt", 0).data, Data::Text("40pkt".into()));
        assert_eq!(parse_value("a random half", 0).data, Data::Text("a random half".into()));
        assert_eq!(parse_value("0.4", 0).data, Data::Float(0.4));
        assert_eq!(parse_value("\"7\"", 0).data, Data::Text("7".into()));
        assert_eq!(parse_value("", 0).data, Data::Text(String::new()));
    }
}
