//! Settings that are laid over a scenario: a variant's `set`, a point of the sweep, overrides.

use crate::error::{ScenarioError, quoted};
use crate::path;
use crate::schemes::belongs;
use crate::section::Around;
use crate::tree::{Data, Node, Origin, Table, parse_value};
use leafspine_schemes::registry;

/// A value and where it goes.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) path: Vec<String>,
    pub(crate) node: Node,
}

/// Values that are one thing although they may be tables: set whole, never merged.
const WHOLE: &[&str] = &["sizes", "senders", "receivers", "flap", "classes"];

/// Tables whose keys belong to the scheme that they name: the table, the scheme when none is named
/// (where that is fixed), and the keys that belong to the table itself.
pub(crate) const SCHEME_TABLES: &[(&str, Option<&str>, &[&str])] = &[
    ("load_balancer", Some("ecmp"), &[]),
    ("aqm", None, &[]),
    ("hold", Some("none"), &[]),
    ("host_edge", Some("none"), &[]),
    ("transport", Some("dctcp"), crate::transport::KEYS),
];

/// Keys of which a table has one: setting one takes the others out, with the keys that go with them.
const ALTERNATIVES: &[(&str, &[&[&str]])] = &[
    ("switch", &[&["buffer"], &["shared_buffer", "dt_alpha"]]),
    ("workload", &[&["load", "load_basis"], &["interarrival"], &["rate"]]),
    ("workload", &[&["flows"], &["duration"]]),
];

/// The settings that a table of dotted keys holds. Tables in it are merged key by key.
pub(crate) fn settings(place: Around<'_>, table: &Table) -> Result<Vec<Setting>, ScenarioError> {
    let mut out = Vec::new();
    for (key, node) in &table.0 {
        flatten(path::split(place, key, node.origin)?, node, &mut out);
    }
    Ok(out)
}

fn flatten(path: Vec<String>, node: &Node, out: &mut Vec<Setting>) {
    let whole = path.last().is_some_and(|last| WHOLE.contains(&last.as_str()));
    match &node.data {
        Data::Table(table) if !whole => {
            for (key, node) in &table.0 {
                let path = path.iter().cloned().chain([key.clone()]).collect();
                flatten(path, node, out);
            }
        }
        _ => out.push(Setting { path, node: node.clone() }),
    }
}

/// Lays settings over a scenario: a bundle first, then what is written out.
pub(crate) fn apply(
    place: Around<'_>,
    root: &mut Table,
    settings: &[Setting],
) -> Result<(), ScenarioError> {
    let names_bundle = |setting: &&Setting| setting.path == ["scheme"];
    if let Some(setting) = settings.iter().rev().find(names_bundle) {
        let bundle = bundle_settings(place, &setting.node)?;
        write(place, root, &bundle)?;
    }
    let rest: Vec<Setting> = settings.iter().filter(|s| !names_bundle(s)).cloned().collect();
    write(place, root, &rest)
}

/// Fills in what the file's own bundle says and the file itself does not.
pub(crate) fn apply_under(place: Around<'_>, root: &mut Table) -> Result<(), ScenarioError> {
    let Some(node) = root.remove("scheme") else {
        return Ok(());
    };
    let mut under = Table::default();
    write(place, &mut under, &bundle_settings(place, &node)?)?;
    let mut file = Vec::new();
    for (key, node) in &root.0 {
        flatten(vec![key.clone()], node, &mut file);
    }
    write(place, &mut under, &file)?;
    // What is left of the bundle beside the file's keys is what the file does not say.
    let mut left = Vec::new();
    for (key, node) in &under.0 {
        flatten(vec![key.clone()], node, &mut left);
    }
    for Setting { path, node } in left {
        if path::get(root, &path).is_none() {
            path::set(place, root, &path, node)?;
        }
    }
    Ok(())
}

fn bundle_settings(place: Around<'_>, node: &Node) -> Result<Vec<Setting>, ScenarioError> {
    let Some(bundle) = node.text().and_then(registry::bundle) else {
        let names = || registry::bundles().map(|bundle| bundle.name);
        let allowed = quoted(names());
        let mut error = place.error(Some(node.origin), "scheme", node.shown(), allowed);
        belongs(&mut error, node.text().unwrap_or_default(), names());
        return Err(error);
    };
    let setting = |(key, value): &(&str, &str)| Setting {
        path: key.split('.').map(str::to_owned).collect(),
        node: at(parse_value(value, 0), node.origin),
    };
    Ok(bundle.keys.iter().map(setting).collect())
}

fn at(mut node: Node, origin: Origin) -> Node {
    node.origin = origin;
    node
}

/// Puts settings in their places, having taken out what they replace.
fn write(place: Around<'_>, root: &mut Table, settings: &[Setting]) -> Result<(), ScenarioError> {
    for setting in settings {
        drop_parameters(root, setting);
        drop_alternatives(root, setting);
    }
    for setting in settings {
        path::set(place, root, &setting.path, setting.node.clone())?;
    }
    Ok(())
}

/// A table that names another scheme than before loses the parameters of the one before.
fn drop_parameters(root: &mut Table, setting: &Setting) {
    let [table, key] = setting.path.as_slice() else { return };
    let rule = SCHEME_TABLES.iter().find(|(name, ..)| name == table && key == "scheme");
    let Some((_, default, own)) = rule else { return };
    let Some(Data::Table(entries)) = root.get_mut(table).map(|node| &mut node.data) else { return };
    let before = match entries.get("scheme") {
        Some(node) => node.text(),
        None => *default,
    };
    if before != setting.node.text() {
        entries.0.retain(|(name, _)| own.contains(&name.as_str()));
    }
}

fn drop_alternatives(root: &mut Table, setting: &Setting) {
    let Some((key, table)) = setting.path.split_last() else { return };
    let Some(first) = table.first() else { return };
    let holds = |rule: &&(&str, &[&[&str]])| rule.0 == first && rule.1.iter().any(|g| g[0] == key);
    let Some(rule) = ALTERNATIVES.iter().find(holds) else { return };
    let Some(Data::Table(entries)) = get_mut(root, table).map(|node| &mut node.data) else {
        return;
    };
    let others = || rule.1.iter().filter(|group| group[0] != key).flat_map(|group| group.iter());
    entries.0.retain(|(name, _)| !others().any(|other| other == name));
}

fn get_mut<'a>(root: &'a mut Table, parts: &[String]) -> Option<&'a mut Node> {
    let (first, rest) = parts.split_first()?;
    rest.iter().try_fold(root.get_mut(first)?, |node, part| match &mut node.data {
        Data::Table(table) => table.get_mut(part),
        Data::Array(nodes) => nodes.get_mut(part.parse::<usize>().ok()?),
        _ => None,
    })
}
