//! `[load_balancer]`, `[aqm]`, `[hold]`, `[host_edge]`: a scheme by name, its parameters beside it.

use crate::error::{ScenarioError, nearest, quoted};
use crate::section::{Around, Section};
use crate::transport::{self, Entry};
use crate::tree::{Node, quote};
use leafspine_schemes::registry;
use leafspine_schemes::{Param, Params};
use leafspine_sim::spec::SchemeSpec;

/// `hold` and `host_edge` without a scheme.
const NONE: &str = "none";
/// `aqm` and `hold` that the load balancer brings along.
const BALANCER: &str = "balancer";

/// What a place's scheme may be besides the registered names.
pub(crate) fn words(role: registry::Place) -> &'static [&'static str] {
    match role {
        registry::Place::LoadBalancer | registry::Place::Transport => &[],
        registry::Place::Aqm => &[BALANCER],
        registry::Place::Hold => &[BALANCER, NONE],
        registry::Place::HostEdge => &[NONE],
    }
}

/// A scheme's table: the scheme (`None` for `none`) and the table written out.
fn table(
    place: Around<'_>,
    role: registry::Place,
    node: Option<&Node>,
    default: &str,
) -> Result<(Option<SchemeSpec>, String), ScenarioError> {
    let mut section = Section::open(place, role.table().to_owned(), node)?;
    let name = name(&mut section, role, default)?;
    let declared = role.find(&name).map_or(&[][..], |info| info.params);
    let keys: Vec<&str> = ["scheme"].into_iter().chain(declared.iter().map(|p| p.name)).collect();
    section.allow(&keys, &format!("a key that \"{name}\" does not have"))?;
    let params = parameters(&mut section, declared)?;
    let text = section.block(&format!("[{}]", role.table()));
    let spec = (name != NONE).then_some(SchemeSpec { name, params });
    Ok((spec, text))
}

/// The name of a scheme that there is.
pub(crate) fn name(
    section: &mut Section<'_>,
    role: registry::Place,
    default: &str,
) -> Result<String, ScenarioError> {
    let names = || role.names().into_iter().chain(words(role).iter().copied());
    let name = match section.node("scheme") {
        None => default.to_owned(),
        Some(node) => match node.text() {
            Some(text) if names().any(|name| name == text) => text.to_owned(),
            text => {
                let mut error = section.wrong("scheme", node.shown(), quoted(names()));
                let text = text.unwrap_or_default();
                let of = transport::OTHERS
                    .iter()
                    .find(|other| other.schemes.contains(&text.to_lowercase().as_str()));
                match of.filter(|_| role == registry::Place::Transport) {
                    Some(Entry { word, .. }) => {
                        error.found += &format!(", which is of transport.kind = \"{word}\"");
                    }
                    None => belongs(&mut error, text, names()),
                }
                return Err(error);
            }
        },
    };
    section.write("scheme", quote(&name));
    Ok(name)
}

/// Completes the error of a name that is none of `names`: with the key that it belongs to, if it is
/// known elsewhere, or else the nearest of the names.
pub(crate) fn belongs<'a>(
    error: &mut ScenarioError,
    found: &str,
    names: impl Iterator<Item = &'a str>,
) {
    let name = found.to_lowercase();
    let places = registry::Place::ALL.iter().filter(|place| place.find(&name).is_some());
    let mut keys: Vec<String> = places.map(|place| format!("{}.scheme", place.table())).collect();
    if registry::bundle(&name).is_some() {
        keys.insert(0, "scheme".to_owned());
    }
    error.nearest = nearest(found, names);
    if let Some(key) = keys.first().filter(|_| error.nearest.as_deref() != Some(&name)) {
        let keys = keys.join(" or ");
        error.found += &format!(", which belongs in {keys} ({key} = {name:?})");
        error.nearest = None;
    }
}

/// A scheme's parameters in the order of their declaration.
pub(crate) fn parameters(
    section: &mut Section<'_>,
    declared: &[Param],
) -> Result<Params, ScenarioError> {
    let mut params = Params::default();
    for param in declared {
        let value = match (param.default, param.before) {
            (Some(default), Some(before)) => {
                // A resolved scenario of before there was the parameter means what was done then.
                let default = if section.place.resolved { before } else { default };
                section.switch(param.name, param.kind, default, before)?
            }
            (default, _) => section.value(param.name, param.kind, default)?,
        };
        params.0.insert(param.name.to_owned(), value);
    }
    Ok(params)
}

/// `[load_balancer]`; `ecmp` by default.
pub(crate) fn load_balancer(
    place: Around<'_>,
    node: Option<&Node>,
) -> Result<(SchemeSpec, String), ScenarioError> {
    required(table(place, registry::Place::LoadBalancer, node, "ecmp")?)
}

/// `[aqm]`; by default `ecn-threshold` under DCTCP and DCQCN, which cannot do without marks, and `droptail`
/// under every other transport.
pub(crate) fn aqm(
    place: Around<'_>,
    node: Option<&Node>,
    transport: &str,
) -> Result<(SchemeSpec, String), ScenarioError> {
    required(table(place, registry::Place::Aqm, node, default_aqm(transport))?)
}

/// The queue manager where none is given.
pub(crate) fn default_aqm(transport: &str) -> &'static str {
    if ["dctcp", "dcqcn", "nscc"].contains(&transport) { "ecn-threshold" } else { "droptail" }
}

/// The host edge where none is given: the one that the balancer cannot do without.
pub(crate) fn needed_edge(balancer: &str) -> Option<&'static str> {
    registry::load_balancer(balancer).and_then(|entry| entry.edge)
}

/// `[hold]`; `none` by default.
pub(crate) fn hold(
    place: Around<'_>,
    node: Option<&Node>,
) -> Result<(Option<SchemeSpec>, String), ScenarioError> {
    table(place, registry::Place::Hold, node, NONE)
}

/// `[host_edge]`; by default what the balancer cannot do without, or `none`.
pub(crate) fn host_edge(
    place: Around<'_>,
    node: Option<&Node>,
    (balancer, of_balancer): (&str, Option<&Node>),
) -> Result<(Option<SchemeSpec>, String), ScenarioError> {
    let needed = needed_edge(balancer);
    let found = table(place, registry::Place::HostEdge, node, needed.unwrap_or(NONE))?;
    let name = found.0.as_ref().map_or(NONE, |spec| spec.name.as_str());
    match needed {
        Some(needed) if needed != name => {
            let scheme = |node: Option<&Node>| Some(node?.table()?.get("scheme")?.origin);
            let allowed = format!(
                "\"{needed}\", without which the load balancer \"{balancer}\" does nothing"
            );
            let origin = Around::later(scheme(node), scheme(of_balancer));
            Err(place.error(origin, "host_edge.scheme", quote(name), allowed))
        }
        _ => Ok(found),
    }
}

/// A table that always has a scheme.
fn required(
    (spec, text): (Option<SchemeSpec>, String),
) -> Result<(SchemeSpec, String), ScenarioError> {
    let none = || SchemeSpec { name: NONE.to_owned(), params: Params::default() };
    Ok((spec.unwrap_or_else(none), text))
}
