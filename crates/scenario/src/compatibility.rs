//! Schemes that make no sense together are refused, with the reason.

use crate::error::{ScenarioError, quoted};
use crate::section::Around;
use crate::tree::{Node, Origin, Table, quote};
use crate::trim;
use leafspine_core::Time;
use leafspine_schemes::bundle::Bundle;
use leafspine_schemes::edge::InOrder;
use leafspine_schemes::{SchemeInfo, edge, registry};
use leafspine_sim::spec::{Classifier, HostsSpec, SchemeSpec, Spec, WorkloadKind, WorkloadSpec};
use leafspine_sim::workload::{Fabric, Trace, WorkloadError};

/// The balancer that obeys the paths that traces and edges give.
const PINNED: &str = "pinned";

/// A scheme of the scenario, and where it stands.
struct Named {
    place: registry::Place,
    info: &'static SchemeInfo,
}

/// Checks every pair of schemes that could get into each other's way.
pub(crate) fn check(place: Around<'_>, root: &Table, spec: &Spec) -> Result<(), ScenarioError> {
    lossless(place, root, spec)?;
    classes(place, root, spec)?;
    let named = named(spec);
    queues(place, root, spec, &named)?;
    headers(place, root, &named)?;
    let edge = spec.edge.as_ref().and_then(|scheme| registry::host_edge(&scheme.name));
    if let Some(edge) = edge {
        edge_and_balancer(place, root, spec, edge)?;
        marks(place, root, spec, edge)?;
        order(place, root, spec, edge)?;
    }
    paths(place, root, spec, edge)
}

/// Kernels know no pause frames.
fn lossless(place: Around<'_>, root: &Table, spec: &Spec) -> Result<(), ScenarioError> {
    let kernels = spec.hosts != HostsSpec::Model;
    let at = |table: &str, key: &str| written(root, table, key);
    if spec.switch.pfc.is_some() && kernels {
        let allowed = "\"off\" for hosts that are Linux kernels, which know no pause frames";
        let at = Around::later(at("switch", "pfc"), at("hosts", "kind"));
        return Err(place.error(at, "switch.pfc", "flow control", allowed));
    }
    Ok(())
}

/// A workload's class is written by hosts of the model, unless their edge writes another, and its queue is
/// not that of headers without payload.
fn classes(place: Around<'_>, root: &Table, spec: &Spec) -> Result<(), ScenarioError> {
    let edge = spec.edge.as_ref().filter(|edge| edge::classes_written(&edge.name).is_some());
    for (number, workload) in spec.workloads.iter().enumerate() {
        let Some(class) = workload.class else { continue };
        let tables = root.get("workload").and_then(Node::array);
        let table = tables.and_then(|tables| tables.get(number)).and_then(Node::table);
        let at = table.and_then(|table| table.get("class")).map(|node| node.origin);
        let refuse = |(table, key): (&str, &str), found: String, allowed: String| {
            let at = Around::later(at, written(root, table, key));
            Err(place.error(at, &format!("workload.{number}.class"), found, allowed))
        };
        if spec.hosts != HostsSpec::Model {
            let found = format!("{class} beside hosts.kind = \"linux\"");
            let allowed = "a class of flows whose hosts are the model's".to_owned();
            return refuse(("hosts", "kind"), found, allowed);
        }
        if let Some(edge) = edge {
            let found = format!("{class} beside host_edge {}", quote(&edge.name));
            let allowed = "a class beside a host edge that writes none itself".to_owned();
            return refuse(("host_edge", "scheme"), found, allowed);
        }
        if spec.switch.queues > 1 && spec.switch.classifier == Classifier::Hash {
            let found = format!("{class} beside switch.classifier = \"hash\"");
            let allowed = "a class beside switch.classifier = \"dscp\" or \"stage\", by which it has its queue";
            return refuse(("switch", "classifier"), found, allowed.to_owned());
        }
        let queue = trim::queue_of(&spec.switch, class);
        let headers =
            spec.switch.trim.map(|trim| (trim.class, trim::queue_of(&spec.switch, trim.class)));
        if let Some((of, _)) = headers.filter(|(_, own)| *own == queue) {
            let found = format!("{class}, whose queue {queue} is also that of headers");
            let allowed = format!("a class of another queue than that of switch.trim_class = {of}");
            return refuse(("switch", "trim_class"), found, allowed);
        }
    }
    Ok(())
}

/// Where a key of a table was written, if it was.
pub(crate) fn written(root: &Table, table: &str, key: &str) -> Option<Origin> {
    Some(root.get(table)?.table()?.get(key)?.origin)
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
    place: Around<'_>,
    root: &Table,
    spec: &Spec,
    named: &[Named],
) -> Result<(), ScenarioError> {
    let Some(Named { place: role, info }) =
        named.iter().find(|named| named.info.demands.queues > spec.switch.queues)
    else {
        return Ok(());
    };
    let mut allowed =
        format!("{} or more, which {} \"{}\" needs", info.demands.queues, role.table(), info.name);
    let sets = |bundle: &&Bundle| bundle.keys.iter().any(|(key, _)| *key == "switch.queues");
    if let Some(bundle) = registry::bundle(info.name).filter(sets) {
        allowed += &format!(" and the bundle scheme = \"{}\" has", bundle.name);
    }
    let origin = Around::later(written(root, "switch", "queues"), origin(root, *role));
    Err(place.error(origin, "switch.queues", spec.switch.queues.to_string(), allowed))
}

/// A header has two words. Two schemes that write the same one would read each other's.
fn headers(place: Around<'_>, root: &Table, named: &[Named]) -> Result<(), ScenarioError> {
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
            let at = Around::later(origin(root, other.place), origin(root, one.place));
            return Err(place.error(at, &key, found, allowed));
        }
    }
    Ok(())
}

/// An edge that steers by what the switch hashes or obeys does nothing beside a balancer that does
/// neither.
fn edge_and_balancer(
    place: Around<'_>,
    root: &Table,
    spec: &Spec,
    edge: &edge::Entry,
) -> Result<(), ScenarioError> {
    let balancer = spec.balancer.name.as_str();
    let one_of_its = edge.balancers.is_empty() || edge.balancers.contains(&balancer);
    let params = spec.edge.as_ref().map(|edge| &edge.params);
    let in_order =
        |found: InOrder| params.is_some_and(|p| (found.beside_any)(p, spec.transport.mss));
    if one_of_its || edge.in_order.is_some_and(in_order) {
        return Ok(());
    }
    let (are, obey) = if edge.balancers.len() == 1 { ("", "s") } else { ("s", "") };
    let mut allowed = format!(
        "{}: the only one{are} that obey{obey} the host edge {}",
        quoted(edge.balancers.iter().copied()),
        quote(edge.info.name)
    );
    if let Some(InOrder { how, .. }) = edge.in_order {
        allowed += &format!("; or {how}");
    }
    let edge = origin(root, registry::Place::HostEdge);
    let at = Around::later(origin(root, registry::Place::LoadBalancer), edge);
    Err(place.error(at, "load_balancer.scheme", quote(balancer), allowed))
}

/// An edge that steers by marks needs packets that can be marked, and queues that do it.
fn marks(
    place: Around<'_>,
    root: &Table,
    spec: &Spec,
    edge: &edge::Entry,
) -> Result<(), ScenarioError> {
    if !edge.by_marks {
        return Ok(());
    }
    let of_edge = origin(root, registry::Place::HostEdge);
    let needs = format!("without which the host edge {} never sees a mark", quote(edge.info.name));
    let protocol = &spec.transport.protocol;
    if !protocol.echoes_marks() && !edge.sprays {
        let at = Around::later(written(root, "transport", "kind"), of_edge);
        let needs = format!(
            "\"tcp\", whose ACKs echo marks: those of queue pairs do not, and the host edge {} goes by them",
            quote(edge.info.name)
        );
        return Err(place.error(at, "transport.kind", quote(protocol.word()), needs));
    }
    if spec.transport.ecn == Some(false) {
        let of = |key| written(root, "transport", key);
        let at = Around::later(of("ecn").or_else(|| of("scheme")), of_edge);
        return Err(place.error(at, "transport.ecn", "false", format!("true, {needs}")));
    }
    // The balancer's own queue manager (`balancer`) is no registered one, and left to say for itself.
    let manager = registry::queue_manager(&spec.aqm.name);
    if manager.is_some_and(|manager| !(manager.marks)(&spec.aqm.params)) {
        let at = Around::later(origin(root, registry::Place::Aqm), of_edge);
        let found = format!("{}, which never marks as it stands here", quote(&spec.aqm.name));
        let allowed = format!("a queue manager that marks, {needs}");
        return Err(place.error(at, "aqm.scheme", found, allowed));
    }
    Ok(())
}

/// A host that sprays its packets and takes none out of order would send again whatever came late.
fn order(
    place: Around<'_>,
    root: &Table,
    spec: &Spec,
    edge: &edge::Entry,
) -> Result<(), ScenarioError> {
    if !edge.sprays || spec.transport.protocol.keeps_out_of_order() {
        return Ok(());
    }
    let of = |key| written(root, "transport", key);
    let edges = origin(root, registry::Place::HostEdge);
    let at = Around::later(of("recovery").or_else(|| of("kind")), edges);
    let protocol = &spec.transport.protocol;
    let (key, found, others) = match protocol.roce() {
        Some(_) => ("transport.recovery", "go-back-n", "\"irn\" or \"each\", which keep"),
        None => ("transport.kind", protocol.word(), "\"tcp\", which keeps"),
    };
    let allowed = format!(
        "{others} what comes out of order: the host edge {} gives each packet a path of its own",
        quote(edge.info.name)
    );
    Err(place.error(at, key, quote(found), allowed))
}

/// Paths that are given must be obeyed, and a balancer that obeys paths must be given some.
fn paths(
    place: Around<'_>,
    root: &Table,
    spec: &Spec,
    edge: Option<&edge::Entry>,
) -> Result<(), ScenarioError> {
    if spec.balancer.name != PINNED {
        // Any other balancer takes its own paths, so that one trace can serve to compare them.
        return Ok(());
    }
    match edge.filter(|edge| edge.balancers.contains(&PINNED)) {
        Some(edge) => one_gives_paths(place, root, spec, edge),
        None => someone_gives_paths(place, root, spec),
    }
}

/// An edge that gives paths would write over those of a trace.
fn one_gives_paths(
    place: Around<'_>,
    root: &Table,
    spec: &Spec,
    edge: &edge::Entry,
) -> Result<(), ScenarioError> {
    let gives = |workload: &WorkloadSpec| trace(workload).is_some_and(|trace| trace == Ok(true));
    let Some(number) = spec.workloads.iter().position(gives) else { return Ok(()) };
    let tables = root.get("workload").and_then(Node::array);
    let table = tables.and_then(|tables| tables.get(number)?.table());
    let at = table.and_then(|table| table.get("path")).map(|node| node.origin);
    let at = Around::later(at, origin(root, registry::Place::HostEdge));
    let key = format!("workload.{number}.path");
    let name = quote(edge.info.name);
    let allowed = format!("a trace without them: the host edge {name} chooses every path");
    Err(place.error(at, &key, "a trace with paths", allowed))
}

/// `pinned` without a path is `ecmp` by another name.
fn someone_gives_paths(place: Around<'_>, root: &Table, spec: &Spec) -> Result<(), ScenarioError> {
    // What cannot be read may have some: the engine will say what is wrong with it.
    let may_give =
        |workload: &WorkloadSpec| trace(workload).is_some_and(|trace| trace != Ok(false));
    if spec.workloads.iter().any(may_give) {
        return Ok(());
    }
    let edges = registry::host_edges().filter(|edge| edge.balancers.contains(&PINNED));
    let edges = quoted(edges.map(|edge| edge.info.name));
    let allowed = format!("a trace with the column path, or a host edge that gives paths: {edges}");
    let at = origin(root, registry::Place::LoadBalancer);
    let found = format!("{}, and nothing that gives it a path", quote(PINNED));
    Err(place.error(at, "load_balancer.scheme", found, allowed))
}

/// Whether the workload's trace has a column of paths, if it is a trace and that can be told.
fn trace(workload: &WorkloadSpec) -> Option<Result<bool, WorkloadError>> {
    let WorkloadKind::Trace(trace) = &workload.kind else { return None };
    let header = Trace::open(trace, &Fabric::of_hosts(0), Time::ZERO);
    Some(header.map(|trace| trace.has_paths()))
}
