//! Schemes that make no sense together are refused, with the reason.

use crate::error::{ScenarioError, quoted};
use crate::section::Place;
use crate::tree::{Node, Origin, Table, quote};
use leafspine_schemes::{SchemeInfo, registry};
use leafspine_sim::spec::{SchemeSpec, Spec};

/// A scheme of the scenario, and where it stands.
struct Named {
    place: registry::Place,
    info: &'static SchemeInfo,
}

/// Checks every pair of schemes that could get into each other's way.
pub(crate) fn check(place: Place<'_>, root: &Table, spec: &Spec) -> Result<(), ScenarioError> {
    let named = named(spec);
    queues(place, root, spec, &named)?;
    headers(place, root, &named)?;
    edge_and_balancer(place, root, spec)
}

/// The registered schemes that a run uses at switches and hosts.
fn named(spec: &Spec) -> Vec<Named> {
    use registry::Place as P;
    let places: [(P, Option<&SchemeSpec>); 4] = [
        (P::LoadBalancer, Some(&spec.balancer)),
        (P::Aqm, Some(&spec.aqm)),
        (P::Hold, spec.hold.as_ref()),
        (P::HostEdge, spec.edge.as_ref()),
    ];
    let found = |(place, scheme): (P, Option<&SchemeSpec>)| {
        let info = place.find(&scheme?.name)?;
        Some(Named { place, info })
    };
    places.into_iter().filter_map(found).collect()
}

/// Where the scenario says which scheme a place has.
fn origin(root: &Table, place: registry::Place) -> Option<Origin> {
    let table = root.get(place.table())?;
    Some(table.table().and_then(|table| table.get("scheme")).map_or(table.origin, |n| n.origin))
}

/// A scheme that tells classes apart by service queue cannot do so with fewer.
fn queues(
    place: Place<'_>,
    root: &Table,
    spec: &Spec,
    named: &[Named],
) -> Result<(), ScenarioError> {
    let Some(Named { place: role, info }) =
        named.iter().find(|named| named.info.demands.queues > spec.switch.queues)
    else {
        return Ok(());
    };
    let allowed =
        format!("{} or more, which {} \"{}\" needs", info.demands.queues, role.table(), info.name);
    let at = root.get("switch").and_then(Node::table).and_then(|table| table.get("queues"));
    let origin = at.map(|node| node.origin).or_else(|| origin(root, *role));
    Err(place.error(origin, "switch.queues", spec.switch.queues.to_string(), allowed))
}

/// A header has two words. Two schemes that write the same one would read each other's.
fn headers(place: Place<'_>, root: &Table, named: &[Named]) -> Result<(), ScenarioError> {
    for (at, one) in named.iter().enumerate() {
        for other in &named[at + 1..] {
            let shared = one.info.demands.header_words & other.info.demands.header_words;
            let together = registry::load_balancer(one.info.name)
                .is_some_and(|entry| entry.edge == Some(other.info.name));
            if shared == 0 || together {
                continue;
            }
            let key = format!("{}.scheme", other.place.table());
            let allowed = format!(
                "a scheme that leaves the packet header to the {} {}, which writes it too",
                one.place.table(),
                quote(one.info.name)
            );
            let found = quote(other.info.name);
            return Err(place.error(origin(root, other.place), &key, found, allowed));
        }
    }
    Ok(())
}

/// An edge that steers by what the switch hashes or obeys does nothing beside a balancer that does
/// neither.
fn edge_and_balancer(place: Place<'_>, root: &Table, spec: &Spec) -> Result<(), ScenarioError> {
    let Some(edge) = spec.edge.as_ref().and_then(|edge| registry::host_edge(&edge.name)) else {
        return Ok(());
    };
    let balancer = spec.balancer.name.as_str();
    if edge.balancers.is_empty() || edge.balancers.contains(&balancer) {
        return Ok(());
    }
    let allowed = format!(
        "{}: the only ones that obey the host edge {}",
        quoted(edge.balancers.iter().copied()),
        quote(edge.info.name)
    );
    let at = origin(root, registry::Place::LoadBalancer)
        .or_else(|| origin(root, registry::Place::HostEdge));
    Err(place.error(at, "load_balancer.scheme", quote(balancer), allowed))
}
