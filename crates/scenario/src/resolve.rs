//! One case's tree to its typed description and its text with every default.

use crate::classes::{SizeClass, classes};
use crate::error::ScenarioError;
use crate::section::Around;
use crate::tree::{Node, Table, quote};
use crate::trim;
use crate::{compatibility, linux, run, scale, schemes, switch, topology, transport, workload};
use leafspine_core::Span;
use leafspine_schemes::Scale;
use leafspine_sim::spec::{HostsSpec, Spec};

/// The version that results are made by: part of every resolved scenario.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What may stand at the top of a file.
pub(crate) const KEYS: &[&str] = &[
    "version",
    "name",
    "title",
    "scheme",
    "topology",
    "switch",
    "aqm",
    "load_balancer",
    "hold",
    "host_edge",
    "hosts",
    "transport",
    "workload",
    "run",
    "classes",
    "measure",
    "probe",
    "variant",
    "sweep",
];

/// A run's description, its classes, and the text.
pub(crate) struct Resolved {
    pub(crate) spec: Spec,
    pub(crate) classes: Vec<SizeClass>,
    pub(crate) toml: String,
    pub(crate) scale: Scale,
    pub(crate) full_round_trip: Span,
}

/// Reads every section, in the order in which they are written.
pub(crate) fn resolve(place: Around<'_>, root: &Table) -> Result<Resolved, ScenarioError> {
    check_top(place, root)?;
    let at = |key: &str| -> Option<&Node> { root.get(key) };
    let linux = linux::is_linux(at("hosts"));
    let place = Around { linux, resolved: at("version").is_some(), ..place };
    let kernels = linux::hosts(place, at("hosts"))?;
    let (topology, changes, topology_text) = topology::topology(place, at("topology"))?;
    let scale = scale::scale(place, &topology, at("transport"))?;
    let place = Around { scale: Some(scale.fabric), ..place };
    let (switch, switch_text) = switch::switch(place, at("switch"))?;
    let full_round_trip = scale.full_round_trip(&switch);
    let (mut transport, transport_text) =
        transport::transport(place, at("transport"), full_round_trip)?;
    switch::check_room(place, at("switch"), &switch, &transport)?;
    let control = kernels.as_ref().and_then(linux::Hosts::control);
    let control = control.unwrap_or(&transport.scheme.name).to_owned();
    let (hosts, hosts_text, transport_text) = match kernels {
        None => (HostsSpec::Model, String::new(), transport_text),
        Some(kernels) => kernels.with(place, root, &mut transport)?,
    };
    let hosts_text = if hosts_text.is_empty() { hosts_text } else { format!("{hosts_text}\n") };
    let (aqm, aqm_text) = schemes::aqm(place, at("aqm"), &control)?;
    let (balancer, balancer_text) = schemes::load_balancer(place, at("load_balancer"))?;
    let (hold, hold_text) = schemes::hold(place, at("hold"))?;
    let of_balancer = (balancer.name.as_str(), at("load_balancer"));
    let (edge, edge_text) = schemes::host_edge(place, at("host_edge"), of_balancer)?;
    trim::check(place, root, &switch, &transport, edge.as_ref())?;
    let (workloads, workload_text) = workload::workloads(place, at("workload"), &topology.kind)?;
    let (run, run_text) = run::run(place, at("run"))?;
    let (classes, classes_text) = classes(place, at("classes"))?;
    let (measure, measure_text) = run::measure(place, at("measure"))?;
    let (probes, probe_text) = run::probes(place, at("probe"))?;
    // Workloads and probes begin with the empty line that parts them.
    let toml = [
        format!("version = {}\n", quote(VERSION)),
        format!("\n{topology_text}\n{switch_text}\n{aqm_text}\n{balancer_text}"),
        format!("\n{hold_text}\n{edge_text}\n{hosts_text}{transport_text}{workload_text}"),
        format!("\n{run_text}\n{classes_text}\n{measure_text}{probe_text}"),
    ]
    .concat();
    let spec = Spec {
        topology,
        changes,
        switch,
        aqm,
        balancer,
        hold,
        edge,
        hosts,
        transport,
        workloads,
        run,
        measure,
        probes,
    };
    compatibility::check(place, root, &spec)?;
    linux::check(place, root, &spec)?;
    Ok(Resolved { spec, classes, toml, scale: scale.fabric, full_round_trip })
}

/// Refuses unknown sections, and a version that is no text. Any version is read: the text that is
/// made has this one's.
fn check_top(place: Around<'_>, root: &Table) -> Result<(), ScenarioError> {
    if let Some((name, node)) = root.0.iter().find(|(name, _)| !KEYS.contains(&name.as_str())) {
        let what = if node.table().is_some() || node.array().is_some() { "section" } else { "key" };
        let mut error =
            place.error(Some(node.origin), name, format!("an unknown {what}"), KEYS.join(", "));
        error.nearest = crate::error::nearest(name, KEYS.iter().copied());
        return Err(error);
    }
    match root.get("version") {
        Some(node) if node.text().is_none() => {
            let allowed = format!("a version such as {}", quote(VERSION));
            Err(place.error(Some(node.origin), "version", node.shown(), allowed))
        }
        _ => Ok(()),
    }
}
