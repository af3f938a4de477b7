//! What a resolved scenario says, as Python's own types.

use leafspine_scenario::Case;
use leafspine_schemes::{Amount, Value};
use leafspine_sim::spec::{HostsSpec, ProbeKind, ProbeSpec, SchemeSpec, SwitchSpec};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// The facts of a case that the package needs. Times are picoseconds, sizes bytes, rates bits per
/// second; what may be either packets or bytes is a pair of a number and which of the two.
///
/// `family` is all that decides the run but its seed and the version, as one text.
pub(crate) fn facts<'py>(py: Python<'py>, case: &Case) -> PyResult<Bound<'py, PyDict>> {
    let spec = &case.spec;
    let dict = PyDict::new(py);
    dict.set_item("load_balancer", scheme(py, &spec.balancer)?)?;
    dict.set_item("aqm", scheme(py, &spec.aqm)?)?;
    dict.set_item("hold", spec.hold.as_ref().map(|hold| scheme(py, hold)).transpose()?)?;
    dict.set_item("host_edge", spec.edge.as_ref().map(|edge| scheme(py, edge)).transpose()?)?;
    dict.set_item("transport", scheme(py, &spec.transport.scheme)?)?;
    dict.set_item("buffer", amount(buffer(&spec.switch)))?;
    let probes = spec.probes.iter().map(|each| probe(py, each)).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("probes", PyList::new(py, probes)?)?;
    dict.set_item("mss", spec.transport.mss)?;
    dict.set_item("pauses", spec.switch.pfc.is_some())?;
    dict.set_item("recovery", spec.measure.recovery.is_some())?;
    dict.set_item("until", spec.run.until.map(|until| until.0))?;
    let kernel = match &spec.hosts {
        HostsSpec::Linux(linux) => Some(linux.kernel.clone()),
        _ => None,
    };
    dict.set_item("kernel", kernel)?;
    let family = case.family().map_err(|error| crate::errors::scenario_error(py, &error))?;
    dict.set_item("family", family)?;
    Ok(dict)
}

/// The buffer of a port, or what the ports of a switch share.
fn buffer(switch: &SwitchSpec) -> Amount {
    switch.shared.map_or(switch.buffer, |shared| Amount::Bytes(shared.size.0))
}

/// A number, and whether it counts packets or bytes.
fn amount(amount: Amount) -> (u64, &'static str) {
    match amount {
        Amount::Packets(count) => (u64::from(count), "packets"),
        Amount::Bytes(count) => (count, "bytes"),
    }
}

fn scheme<'py>(py: Python<'py>, scheme: &SchemeSpec) -> PyResult<Bound<'py, PyDict>> {
    let params = PyDict::new(py);
    for (key, value) in &scheme.params.0 {
        match value {
            Value::Span(span) => params.set_item(key, span.0)?,
            Value::Bytes(bytes) => params.set_item(key, bytes.0)?,
            Value::Amount(found) => params.set_item(key, amount(*found))?,
            Value::Rate(rate) => params.set_item(key, rate.0)?,
            Value::Int(number) => params.set_item(key, number)?,
            Value::Float(number) => params.set_item(key, number)?,
            Value::Bool(flag) => params.set_item(key, flag)?,
            Value::Word(word) => params.set_item(key, word)?,
            Value::Numbers(numbers) => params.set_item(key, numbers)?,
        }
    }
    let dict = PyDict::new(py);
    dict.set_item("scheme", &scheme.name)?;
    dict.set_item("params", params)?;
    Ok(dict)
}

fn probe<'py>(py: Python<'py>, probe: &ProbeSpec) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &probe.name)?;
    dict.set_item("kind", kind(probe.kind))?;
    dict.set_item("ports", &probe.ports)?;
    Ok(dict)
}

fn kind(kind: ProbeKind) -> &'static str {
    match kind {
        ProbeKind::Queue => "queue",
        ProbeKind::Utilisation => "utilisation",
        ProbeKind::Window => "window",
        ProbeKind::State => "state",
        ProbeKind::Signals => "signals",
        ProbeKind::Pause => "pause",
        ProbeKind::Packets => "packets",
        ProbeKind::TcpInfo => "tcp-info",
    }
}
