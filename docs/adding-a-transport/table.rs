//! `[transport]` with `kind = "steady"`: a fixed window, and a fixed timeout.

use crate::error::ScenarioError;
use crate::section::{Section, content};
use crate::transport::Entry;
use leafspine_core::Span;
use leafspine_schemes::{Amount, Kind, Params};
use leafspine_sim::spec::{Protocol, SchemeSpec, SteadySpec, TransportSpec};

/// Its keys.
const KEYS: &[&str] = &["kind", "scheme", "mss", "header", "source_ports", "timeout"];

pub(crate) const ENTRY: Entry =
    Entry { word: "steady", schemes: &["fixed-window"], packet: ("1460", "40"), read, more: &[] };

/// The transport.
fn read(
    section: &mut Section<'_>,
    (mss, header): (u32, u32),
    source_ports: Option<u16>,
) -> Result<TransportSpec, ScenarioError> {
    let name = section.word("scheme", ENTRY.schemes, Some(ENTRY.schemes[0]))?;
    section.allow(KEYS, "a key that a fixed window does not have")?;
    section.write("mss", mss.to_string());
    section.write("header", header.to_string());
    let timeout = section.value("timeout", Kind::Span(1, u64::MAX), Some("20rtt"))?;
    let timeout: Span = content!(timeout, Span);
    let scheme = SchemeSpec { name, params: Params::default() };
    Ok(TransportSpec {
        ecn: Some(false),
        mss,
        header,
        init_cwnd: Amount::Packets(16),
        source_ports,
        protocol: Protocol::Steady(SteadySpec { timeout }),
        ..TransportSpec::other(scheme, (timeout, timeout))
    })
}
