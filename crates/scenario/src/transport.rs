//! `[transport]`: the congestion control by name, its parameters, and TCP's own settings.

use crate::error::ScenarioError;
use crate::schemes;
use crate::section::{Place, Section, content};
use crate::tree::Node;
use leafspine_schemes::{Kind, registry};
use leafspine_sim::spec::{SchemeSpec, TransportSpec};

/// The table's own keys, beside those of the congestion control.
pub(crate) const KEYS: &[&str] = registry::Place::Transport.keys();
/// Timeouts are above zero: a timer of no length would fire for ever.
const TIMEOUT: Kind = Kind::Span(1, u64::MAX);

/// The transport, and the table written out.
pub(crate) fn transport(
    place: Place<'_>,
    node: Option<&Node>,
) -> Result<(TransportSpec, String), ScenarioError> {
    let mut section = Section::open(place, "transport".to_owned(), node)?;
    let name = schemes::name(&mut section, registry::Place::Transport, "dctcp", &[])?;
    let entry = registry::congestion_control(&name);
    let declared = entry.map_or(&[][..], |entry| entry.info.params);
    let keys: Vec<&str> =
        KEYS.iter().copied().chain(declared.iter().map(|param| param.name)).collect();
    section.allow(&keys, &format!("a key that \"{name}\" does not have"))?;
    let params = schemes::parameters(&mut section, declared)?;
    let scheme = SchemeSpec { name, params };
    let ecn = if entry.is_some_and(|entry| entry.ecn) { "true" } else { "false" };
    let spec = settings(&mut section, scheme, ecn)?;
    if spec.mss + spec.header > u32::from(u16::MAX) {
        let found = format!("{} bytes and a header of {}", spec.mss, spec.header);
        return Err(section.wrong("mss", found, format!("at most {} bytes in all", u16::MAX)));
    }
    Ok((spec, section.block("[transport]")))
}

fn settings(
    section: &mut Section<'_>,
    scheme: SchemeSpec,
    ecn: &str,
) -> Result<TransportSpec, ScenarioError> {
    let ecn = section.flag("ecn", ecn)?;
    let mss = section.count("mss", (1, 65_535), Some("1460"))?;
    let header = section.count("header", (1, 65_535), Some("40"))?;
    let init_cwnd = content!(section.value("init_cwnd", Kind::Amount, Some("10pkt"))?, Amount);
    let max_cwnd = section.unless("max_cwnd", Kind::Amount, "none")?;
    let min_rto = content!(section.value("min_rto", TIMEOUT, Some("10ms"))?, Span);
    let initial = section.value("initial_rto", TIMEOUT, Some(&min_rto.to_string()))?;
    let max_rto = content!(section.value("max_rto", TIMEOUT, Some("60s"))?, Span);
    if max_rto < min_rto {
        let allowed = format!("at least min_rto = \"{min_rto}\"");
        return Err(section.wrong("max_rto", format!("\"{max_rto}\""), allowed));
    }
    let dupack_threshold = section.count("dupack_threshold", (1, u32::MAX), Some("3"))?;
    let sack = section.flag("sack", "true")?;
    let limited_transmit = section.flag("limited_transmit", "true")?;
    let delayed_ack = section.unless("delayed_ack", TIMEOUT, "off")?;
    let handshake = section.flag("handshake", "true")?;
    let handshake_ack = section.flag("handshake_ack", "false")?;
    Ok(TransportSpec {
        scheme,
        ecn: Some(ecn),
        mss,
        header,
        init_cwnd,
        max_cwnd: max_cwnd.map(|value| content!(value, Amount)),
        min_rto,
        initial_rto: Some(content!(initial, Span)),
        max_rto,
        dupack_threshold,
        sack,
        limited_transmit,
        delayed_ack: delayed_ack.map(|value| content!(value, Span)),
        handshake,
        handshake_ack,
    })
}
