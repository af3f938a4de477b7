//! What there is, as JSON.

use leafspine_scenario::{Known, KnownKey};
use leafspine_schemes::bundle::Bundle;
use leafspine_schemes::registry::{self, Extension, Place};
use leafspine_schemes::{Kind, Param, Provenance, SchemeInfo};
use leafspine_sim::spec::SizeSpec;
use leafspine_sim::workload;
use pyo3::prelude::*;
use serde_json::{Value, json};

/// Every scheme and bundle: name, place (the scenario's table), summary, source, provenance, what
/// the source leaves unspecified (`unspecified`), and the parameters; those from outside say whose they are (`from`).
#[pyfunction]
pub(crate) fn schemes() -> String {
    let scheme = |(place, info)| scheme(place, info);
    let schemes = Place::ALL
        .into_iter()
        .flat_map(|place| place.schemes().into_iter().map(move |info| (place, info)));
    let all: Vec<Value> = schemes.map(scheme).chain(registry::bundles().map(bundle)).collect();
    Value::Array(all).to_string()
}

fn scheme(place: Place, info: &SchemeInfo) -> Value {
    let extension = registry::extension().filter(|found| found.has(place, info.name));
    let mut entry = json!({
        "name": info.name,
        "place": place.table(),
        "summary": info.summary,
        "source": info.source,
        "provenance": match (info.provenance, extension) {
            (Provenance::Own, Some(_)) => "own",
            (known, _) => provenance(known),
        },
        "unspecified": info.unspecified,
        "header_bits": info.demands.header_bits,
        "queues": info.demands.queues,
        "params": info.params.iter().map(param).collect::<Vec<_>>(),
    });
    if let Some(extension) = extension {
        entry["from"] = json!(extension.from);
    }
    entry
}

fn provenance(provenance: Provenance) -> &'static str {
    match provenance {
        Provenance::Paper => "paper",
        Provenance::Rfc => "RFC",
        Provenance::Artefact => "artefact",
        Provenance::Reconstructed => "reconstructed",
        Provenance::Own => "leafspine",
    }
}

fn param(param: &Param) -> Value {
    json!({
        "name": param.name,
        "kind": kind(&param.kind),
        "default": param.default,
        "allowed": param.kind.allowed(),
        "doc": param.doc,
    })
}

fn kind(kind: &Kind) -> &'static str {
    match kind {
        Kind::Span(..) => "time",
        Kind::Bytes(..) => "bytes",
        Kind::Amount => "packets or bytes",
        Kind::Rate => "rate",
        Kind::Int(..) => "integer",
        Kind::Packets(..) => "packets",
        Kind::Float(..) => "number",
        Kind::Bool => "boolean",
        Kind::Word(_) => "word",
        Kind::SpanOr(..) => "time or a word",
        Kind::AmountOr(_) => "packets, bytes or a word",
        Kind::Depth => "packets, bytes or time",
        Kind::Numbers(_) => "numbers",
    }
}

fn bundle(bundle: &Bundle) -> Value {
    let key = |(key, value): &(&str, &str)| json!({ "key": key, "value": value });
    let mut entry = json!({
        "name": bundle.name,
        "place": "scheme",
        "summary": bundle.doc,
        "keys": bundle.keys.iter().map(key).collect::<Vec<_>>(),
    });
    let ours = |found: &&Extension| found.bundles.iter().any(|own| own.name == bundle.name);
    if let Some(extension) = registry::extension().filter(ours) {
        entry["from"] = json!(extension.from);
    }
    entry
}

/// Every table of the scenario file and its keys: `table`, `of` (the key and the word that make it this
/// kind of table, or null), `protocol` (the `transport.kind` that it goes with, if not TCP), and `keys`, each with `name`, `kind`, `allowed` and bounds `low` and `high`
/// (null for what is more than a value), the word that may stand there instead (`or`) and its `default`.
#[pyfunction]
pub(crate) fn keys() -> String {
    let table = |known: Known| {
        json!({
            "table": known.table,
            "of": known.of,
            "protocol": known.protocol,
            "keys": known.keys.iter().map(known_key).collect::<Vec<_>>(),
        })
    };
    Value::Array(leafspine_scenario::known().into_iter().map(table).collect()).to_string()
}

fn known_key(key: &KnownKey) -> Value {
    let (low, high) = key.kind.as_ref().map_or((None, None), bounds);
    let (or, words): (Option<&str>, &[&str]) = match key.kind {
        Some(Kind::SpanOr(_, _, word) | Kind::AmountOr(word)) => (Some(word), &[]),
        Some(Kind::Word(words)) => (key.or, words),
        _ => (key.or, &[]),
    };
    json!({
        "name": key.name,
        "kind": key.kind.as_ref().map(kind),
        "allowed": key.kind.as_ref().map(Kind::allowed),
        "low": low,
        "high": high,
        "words": words,
        "or": or,
        "default": key.default,
    })
}

/// The bounds of a number, or of a list's length; those of quantities are in their unit's own words.
fn bounds(kind: &Kind) -> (Option<Value>, Option<Value>) {
    match *kind {
        Kind::Int(low, high) | Kind::Packets(low, high) => (Some(json!(low)), Some(json!(high))),
        Kind::Float(low, high) => (Some(json!(low)), Some(json!(high))),
        Kind::Numbers(most) => (None, Some(json!(most))),
        _ => (None, None),
    }
}

/// Every named distribution of flow sizes: name, mean, quantiles (bytes) and source.
#[pyfunction]
pub(crate) fn workloads() -> String {
    let points = |name: &str| match workload::named(name) {
        Some(SizeSpec::Table { points, .. }) => json!(points.to_vec()),
        _ => Value::Null,
    };
    let entry = |d: workload::Description| {
        json!({
            "name": d.name,
            "mean": d.mean,
            "p10": d.p10,
            "p50": d.p50,
            "p90": d.p90,
            "p99": d.p99,
            "max": d.max,
            "source": d.source,
            "points": points(d.name),
        })
    };
    let all: Vec<Value> = workload::names().filter_map(workload::describe).map(entry).collect();
    Value::Array(all).to_string()
}
