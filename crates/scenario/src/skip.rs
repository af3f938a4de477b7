//! Overrides of a parameter that some variants' schemes have and others have not.
//!
//! `--lb ecmp,letflow --set load_balancer.gap=5us` gives the gap to the one that has a gap. What no
//! variant has a use for is refused.

use crate::error::{ScenarioError, nearest, quoted};
use crate::expand::Skipped;
use crate::layer::{SCHEME_TABLES, Setting};
use crate::path;
use crate::schemes::{default_aqm, needed_edge};
use crate::section::Around;
use crate::tree::{Data, Node, Origin, Table};
use leafspine_schemes::registry;

/// Takes such overrides out of the trees whose schemes do not have them, and says which, tree by tree.
///
/// # Errors
/// If no tree's scheme has one, and there are several schemes: for one alone the scheme's own table
/// says it.
pub(crate) fn leave_out(
    place: Around<'_>,
    trees: &mut [Table],
    overrides: &[Setting],
) -> Result<Vec<Vec<Skipped>>, ScenarioError> {
    let mut skipped = vec![Vec::new(); trees.len()];
    for setting in overrides {
        let Some((role, key)) = parameter(&setting.path) else { continue };
        let schemes: Vec<Option<String>> = trees.iter().map(|tree| scheme(tree, role)).collect();
        let has = |scheme: &String| declared(role, scheme).contains(&key);
        if !schemes.iter().flatten().any(has) {
            refuse(place, setting, role, &schemes)?;
            continue;
        }
        for ((tree, scheme), skipped) in trees.iter_mut().zip(schemes).zip(&mut skipped) {
            let Some(scheme) = scheme.filter(|scheme| !has(scheme)) else { continue };
            if remove(tree, role, key) {
                skipped.push(Skipped { key: path::text(&setting.path), scheme });
            }
        }
    }
    Ok(skipped)
}

/// The place and the parameter of a path, if it is that of a scheme's parameter.
fn parameter(path: &[String]) -> Option<(registry::Place, &str)> {
    let [table, key] = path else { return None };
    let own = SCHEME_TABLES.iter().find(|(name, ..)| name == table)?.2;
    let role = registry::Place::ALL.into_iter().find(|role| role.table() == table)?;
    (key != "scheme" && !own.contains(&key.as_str())).then_some((role, key))
}

fn declared(role: registry::Place, scheme: &str) -> Vec<&'static str> {
    role.find(scheme).map_or_else(Vec::new, |info| info.params.iter().map(|p| p.name).collect())
}

/// The scheme that a place has, given or by default; `None` if what is given is no text.
fn scheme(tree: &Table, role: registry::Place) -> Option<String> {
    use registry::Place as P;
    if let Some(node) = tree.get(role.table()).and_then(Node::table).and_then(|t| t.get("scheme")) {
        return node.text().map(str::to_owned);
    }
    let (_, fixed, _) = SCHEME_TABLES.iter().find(|(name, ..)| *name == role.table())?;
    Some(match role {
        P::Aqm => default_aqm(&scheme(tree, P::Transport)?).to_owned(),
        P::HostEdge => needed_edge(&scheme(tree, P::LoadBalancer)?).unwrap_or((*fixed)?).to_owned(),
        P::LoadBalancer | P::Hold | P::Transport => (*fixed)?.to_owned(),
    })
}

/// Takes an override out, if that is what stands there.
fn remove(tree: &mut Table, role: registry::Place, key: &str) -> bool {
    let Some(Data::Table(table)) = tree.get_mut(role.table()).map(|node| &mut node.data) else {
        return false;
    };
    let overridden = |node: &Node| matches!(node.origin, Origin::Override(_));
    table.get(key).is_some_and(overridden) && table.remove(key).is_some()
}

/// Refuses a parameter that none of several schemes has.
fn refuse(
    place: Around<'_>,
    setting: &Setting,
    role: registry::Place,
    schemes: &[Option<String>],
) -> Result<(), ScenarioError> {
    let mut names: Vec<&str> = Vec::new();
    for scheme in schemes.iter().flatten() {
        if !names.contains(&scheme.as_str()) {
            names.push(scheme);
        }
    }
    let known = names.iter().all(|name| role.find(name).is_some() || *name == "none");
    if names.len() < 2 || !known {
        return Ok(());
    }
    let mut keys = vec!["scheme"];
    for key in names.iter().flat_map(|name| declared(role, name)) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let found = format!("a key that none of {} has", quoted(names.iter().copied()));
    let key = path::text(&setting.path);
    let mut error = place.error(Some(setting.node.origin), &key, found, keys.join(", "));
    error.nearest = setting.path.last().and_then(|last| nearest(last, keys.iter().copied()));
    Err(error)
}
