//! `[transport]`: the congestion control by name, its parameters, and TCP's own settings.

use crate::error::ScenarioError;
use crate::schemes;
use crate::section::{Place, Section, content, decode};
use crate::tree::Node;
use leafspine_core::Span;
use leafspine_schemes::{Kind, registry};
use leafspine_sim::spec::{SchemeSpec, TransportSpec};

/// The table's own keys, beside those of the congestion control.
pub(crate) const KEYS: &[&str] = registry::Place::Transport.keys();
/// Timeouts are above zero: a timer of no length would fire for ever.
const TIMEOUT: Kind = Kind::Span(1, u64::MAX);
/// The default upper bound of a timeout (RFC 6298 §2.5).
const MAX_RTO: Span = Span(60_000_000_000_000);

/// The transport, and the table written out.
pub(crate) fn transport(
    place: Place<'_>,
    node: Option<&Node>,
    full_round_trip: Span,
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
    let spec = settings(&mut section, scheme, ecn, full_round_trip)?;
    if spec.mss + spec.header > u32::from(u16::MAX) {
        let found = format!("{} bytes and a header of {}", spec.mss, spec.header);
        return Err(section.wrong("mss", found, format!("at most {} bytes in all", u16::MAX)));
    }
    Ok((spec, section.block("[transport]")))
}

/// `max_rto`, ahead of its turn: no default of `min_rto` is above it.
fn highest_rto(section: &Section<'_>) -> Result<Span, ScenarioError> {
    let Some(node) = section.node("max_rto") else { return Ok(MAX_RTO) };
    Ok(content!(decode(section.place, &section.key("max_rto"), node, TIMEOUT)?, Span))
}

/// Payload and header of a full packet, from a table that need not be valid yet otherwise.
pub(crate) fn packet(section: &mut Section<'_>) -> Result<(u32, u32), ScenarioError> {
    let mss = section.count("mss", (1, 65_535), Some("1460"))?;
    Ok((mss, section.count("header", (1, 65_535), Some("40"))?))
}

/// `full_round_trip` is the default of `min_rto`: what a packet takes where every queue is full is no
/// sign of a loss.
fn settings(
    section: &mut Section<'_>,
    scheme: SchemeSpec,
    ecn: &str,
    full_round_trip: Span,
) -> Result<TransportSpec, ScenarioError> {
    let ecn = section.flag("ecn", ecn)?;
    let (mss, header) = packet(section)?;
    let init_cwnd = content!(section.value("init_cwnd", Kind::Amount, Some("10pkt"))?, Amount);
    let max_cwnd = section.unless("max_cwnd", Kind::Amount, "none")?;
    let default = full_round_trip.min(highest_rto(section)?).to_string();
    let min_rto = content!(section.value("min_rto", TIMEOUT, Some(&default))?, Span);
    let initial = section.value("initial_rto", TIMEOUT, Some(&min_rto.to_string()))?;
    let max_rto = content!(section.value("max_rto", TIMEOUT, Some(&MAX_RTO.to_string()))?, Span);
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
