//! Key paths: `workload.0.load`, as `--set`, `[[variant]].set` and `[sweep]` write them.

use crate::error::ScenarioError;
use crate::section::Around;
use crate::tree::{self, Data, Node, Origin, Table, quote_key};

/// The most parts of a path: a mix of sizes in a mix of sizes has ten.
const DEEPEST: usize = 32;

/// The parts of a path.
///
/// # Errors
/// If it is no dotted TOML key, or deeper than any key is.
pub(crate) fn split(
    place: Around<'_>,
    text: &str,
    origin: Origin,
) -> Result<Vec<String>, ScenarioError> {
    parts(text).ok_or_else(|| {
        let found = format!("{text:?}, which is not a key");
        place.error(Some(origin), text, found, "a dotted key such as workload.0.load")
    })
}

/// The parts of a path, if the text is one.
pub(crate) fn parts(text: &str) -> Option<Vec<String>> {
    let keys = toml_edit::Key::parse(text).ok().filter(|keys| keys.len() <= DEEPEST)?;
    Some(keys.iter().map(|key| key.get().to_owned()).collect())
}

/// A path in text.
pub(crate) fn text(parts: &[String]) -> String {
    parts.iter().map(|part| quote_key(part)).collect::<Vec<_>>().join(".")
}

/// `key` under `path`; the root's path is empty.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { quote_key(key) } else { format!("{path}.{}", quote_key(key)) }
}

/// What stands at a path.
pub(crate) fn get<'a>(root: &'a Table, parts: &[String]) -> Option<&'a Node> {
    let (first, rest) = parts.split_first()?;
    rest.iter().try_fold(root.get(first)?, |node, part| match &node.data {
        Data::Table(table) => table.get(part),
        Data::Array(nodes) => nodes.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Where what stands at a path was written, or the nearest thing above it.
pub(crate) fn origin(root: &Table, parts: &[String]) -> Option<Origin> {
    (1..=parts.len()).rev().find_map(|end| get(root, &parts[..end])).map(|node| node.origin)
}

/// The line of what stands at a path, or of the nearest thing above it.
pub(crate) fn locate(root: &Table, parts: &[String]) -> Option<usize> {
    match origin(root, parts)? {
        Origin::Line(line) => Some(line),
        Origin::Override(_) => None,
    }
}

/// The line, from 1, of a TOML text on which what stands at `parts` was written; if nothing stands
/// there, that of the nearest table above it. `None` if the text is no TOML, or there is no such table.
#[must_use]
pub fn line_of(text: &str, parts: &[String]) -> Option<usize> {
    locate(&tree::parse(text, "").ok()?, parts)
}

/// The path with the number of the only element of a list, where it was left out: `workload.load` is
/// `workload.0.load` if there is one workload.
pub(crate) fn numbered(root: &Table, mut parts: Vec<String>) -> Vec<String> {
    let [list, key, ..] = parts.as_slice() else { return parts };
    let lone = |node: &Node| matches!(node.array(), Some([only]) if only.table().is_some());
    if key.parse::<usize>().is_err() && root.get(list).is_some_and(lone) {
        parts.insert(1, "0".to_owned());
    }
    parts
}

/// Puts `node` at a path; tables on the way are made, elements of arrays must be there.
///
/// # Errors
/// If the way leads through a value, or beyond an array.
pub(crate) fn set(
    place: Around<'_>,
    root: &mut Table,
    parts: &[String],
    node: Node,
) -> Result<(), ScenarioError> {
    let origin = node.origin;
    put(root, parts, 0, node)
        .map_err(|(found, allowed)| place.error(Some(origin), &text(parts), found, allowed))
}

/// What was found and what is allowed.
type Refused = Result<(), (String, String)>;

fn put(table: &mut Table, parts: &[String], at: usize, node: Node) -> Refused {
    let part = &parts[at];
    if at + 1 == parts.len() {
        table.insert(part, node);
        return Ok(());
    }
    if table.get(part).is_none() {
        let origin = node.origin;
        table.insert(part, Node { data: Data::Table(Table::default()), origin });
    }
    table.get_mut(part).map_or(Ok(()), |next| put_into(next, parts, at + 1, node))
}

fn put_into(next: &mut Node, parts: &[String], at: usize, node: Node) -> Refused {
    let shown = next.shown();
    match &mut next.data {
        Data::Table(table) => put(table, parts, at, node),
        Data::Array(nodes) => {
            let count = nodes.len();
            match parts[at].parse::<usize>().ok().and_then(|index| nodes.get_mut(index)) {
                Some(slot) if at + 1 == parts.len() => {
                    *slot = node;
                    Ok(())
                }
                Some(slot) => put_into(slot, parts, at + 1, node),
                None if parts[at].parse::<usize>().is_ok() => Err((
                    format!("number {} of {count}", parts[at]),
                    format!("0 to {} after {}", count.max(1) - 1, text(&parts[..at])),
                )),
                None => {
                    let list = text(&parts[..at]);
                    let rest = text(&parts[at..]);
                    let python =
                        [&parts[..at], &["0".to_owned()], &parts[at..]].concat().join("__");
                    Err((
                        format!("no number after {list}, which is a list of {count}"),
                        format!(
                            "0 to {} there, such as {list}.0.{rest} ({python} in Python)",
                            count.max(1) - 1
                        ),
                    ))
                }
            }
        }
        _ => Err((format!("a key under a value ({shown})"), "a table there".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::FilesRead;
    use crate::tree::parse;
    use std::path::Path;

    /// Breaks if a mistake in another TOML file, such as a figure's, is said to be on another line.
    #[test]
    fn lines_of_any_file_are_found() {
        let text = "title = \"a\"\n[runs.\"b c\"]\n[[panel]]\nkind = 1\n[[panel]]\nkind = 2\n";
        let line = |parts: &[&str]| {
            let parts: Vec<_> = parts.iter().map(|part| (*part).to_owned()).collect();
            line_of(text, &parts)
        };
        assert_eq!(line(&["panel", "1", "kind"]), Some(6));
        assert_eq!(line(&["panel", "1", "name"]), Some(5));
        assert_eq!(line(&["runs", "b c", "set"]), Some(2));
        assert_eq!(line(&["place"]), None);
        assert_eq!(line_of("a = ", &["a".to_owned()]), None);
    }

    fn changed(text: &str, key: &str) -> Result<String, String> {
        let (file, base, files_read) = ("t.toml", Path::new(""), &FilesRead::default());
        let place = Around {
            file,
            base,
            files_read,
            options: &[],
            sets: &[],
            scale: None,
            linux: false,
            resolved: false,
            survey: None,
        };
        let mut root = parse(text, "t.toml").map_err(|e| e.to_string())?;
        let parts = split(place, key, Origin::Override(0)).map_err(|e| e.to_string())?;
        let node = Node { data: Data::Int(7), origin: Origin::Override(0) };
        set(place, &mut root, &parts, node).map_err(|e| e.to_string())?;
        let mut out = String::new();
        Data::Table(root).write(&mut out);
        Ok(out)
    }

    /// Breaks if a path lands elsewhere, or if elements of arrays are made up.
    #[test]
    fn paths_reach_into_tables_and_arrays() {
        assert_eq!(changed("a = 1", "a").unwrap(), "{ a = 7 }");
        assert_eq!(changed("", "a.b").unwrap(), "{ a = { b = 7 } }");
        assert_eq!(changed("", "a.\"b.c\"").unwrap(), "{ a = { \"b.c\" = 7 } }");
        assert_eq!(changed("a = [1, 2]", "a.1").unwrap(), "{ a = [1, 7] }");
        assert_eq!(changed("[[w]]\n[[w]]\nl = 1", "w.1.l").unwrap(), "{ w = [{}, { l = 7 }] }");
        assert_eq!(
            changed("a = [1, 2]", "a.2").unwrap_err(),
            "--set a.2: found number 2 of 2; allowed: 0 to 1 after a"
        );
        assert_eq!(
            changed("a = 1", "a.b").unwrap_err(),
            "--set a.b: found a key under a value (1); allowed: a table there"
        );
        assert!(changed("", "a b").is_err());
        assert!(changed("", "").is_err());
    }
}
