//! `[transport]`: the congestion control by name, its parameters, and TCP's own settings.

use crate::error::ScenarioError;
use crate::profile::Profile;
use crate::roce;
use crate::schemes;
use crate::section::{Around, Section, content, decode};
use crate::tree::Node;
use leafspine_core::Span;
use leafspine_schemes::cc::{self, CongestionControl, FlowEnv};
use leafspine_schemes::{Kind, Scale, Value, registry};
use leafspine_sim::spec::{Protocol, SchemeSpec, Timestamps, TransportSpec};

/// The table's own keys, beside those of the congestion control.
pub(crate) const KEYS: &[&str] = registry::Place::Transport.keys();
/// Source ports that there are above the well-known ones.
const SOURCE_PORTS: u16 = u16::MAX - 1023;
/// A protocol other than TCP: what its word of `kind` takes.
pub(crate) struct Entry {
    /// The word.
    pub(crate) word: &'static str,
    /// Words of its `scheme`, which are no congestion controls of the registry; the first is the default.
    pub(crate) schemes: &'static [&'static str],
    /// Payload and header of a full packet by default.
    pub(crate) packet: (&'static str, &'static str),
    /// Reads the table: its packets and the source ports of a pair of hosts are known.
    pub(crate) read: Read,
    /// Lines with which further keys are read, each together with `kind` and `scheme`.
    pub(crate) more: &'static [&'static str],
}
type Read = fn(&mut Section<'_>, (u32, u32), Option<u16>) -> Result<TransportSpec, ScenarioError>;

/// Every protocol other than TCP.
pub(crate) const OTHERS: &[Entry] = &[roce::ENTRY];
/// Words of `kind`.
const KINDS: [&str; OTHERS.len() + 1] = {
    let (mut all, mut at) = (["tcp"; OTHERS.len() + 1], 0);
    while at < OTHERS.len() {
        all[at + 1] = OTHERS[at].word;
        at += 1;
    }
    all
};
/// Timeouts are above zero: a timer of no length would fire for ever.
const TIMEOUT: Kind = Kind::Span(1, u64::MAX);

/// The transport, and the table written out.
pub(crate) fn transport(
    place: Around<'_>,
    node: Option<&Node>,
    full_round_trip: Span,
) -> Result<(TransportSpec, String), ScenarioError> {
    let mut section = Section::open(place, "transport".to_owned(), node)?;
    if let Some(entry) = other(&mut section, true)? {
        let written = section.written();
        let packet = packet(&mut section)?;
        section.forget(written);
        let ports = source_ports(&mut section)?;
        let spec = (entry.read)(&mut section, packet, ports)?;
        check_size(&section, &spec)?;
        return Ok((spec, section.block("[transport]")));
    }
    let name = schemes::name(&mut section, registry::Place::Transport, "dctcp")?;
    let entry = registry::congestion_control(&name);
    let declared = entry.map_or(&[][..], |entry| entry.info.params);
    let own = registry::TCP.iter().copied();
    let keys: Vec<&str> = own.chain(declared.iter().map(|param| param.name)).collect();
    section.allow(&keys, &format!("a key that \"{name}\" does not have"))?;
    let params = schemes::parameters(&mut section, declared)?;
    let params = Profile::of(&mut section)?.parameters(&mut section, params);
    let scheme = SchemeSpec { name, params };
    let ecn = if entry.is_some_and(|entry| entry.ecn) { "true" } else { "false" };
    let by_rate = entry.is_some_and(|entry| goes_by_rate(entry, &scheme));
    let spec = settings(&mut section, scheme, (ecn, by_rate), full_round_trip)?;
    check_size(&section, &spec)?;
    Ok((spec, section.block("[transport]")))
}

/// Refuses packets that no length field can count.
fn check_size(section: &Section<'_>, spec: &TransportSpec) -> Result<(), ScenarioError> {
    let more = spec.largest_packet() - spec.mss - spec.header;
    if spec.mss + spec.header + more <= u32::from(u16::MAX) {
        return Ok(());
    }
    let found = format!("{} bytes and a header of {}", spec.mss, spec.header);
    Err(section.wrong("mss", found, format!("at most {} bytes in all", u32::from(u16::MAX) - more)))
}

/// The protocol, if it is not TCP. That, the default, is not written out: resolved scenarios of
/// before there was a choice stay as they are.
fn other(
    section: &mut Section<'_>,
    written: bool,
) -> Result<Option<&'static Entry>, ScenarioError> {
    let before = section.written();
    let kind = content!(section.quiet_value("kind", Kind::Word(&KINDS), Some("tcp"))?, Word);
    if !written {
        section.forget(before);
    }
    Ok(OTHERS.iter().find(|entry| entry.word == kind))
}

/// Whether this control goes by delivery rates and paces.
fn goes_by_rate(entry: &cc::Entry, scheme: &SchemeSpec) -> bool {
    let env = FlowEnv::of_segments(1);
    (entry.build)(&scheme.params, &env).is_ok_and(|mut control| control.by_rate().is_some())
}

/// `max_rto`, ahead of its turn: no default of `min_rto` is above it.
fn highest_rto(section: &Section<'_>, profile: &Profile) -> Result<Span, ScenarioError> {
    let Some(node) = section.node("max_rto") else {
        let default = Value::default(&TIMEOUT, profile.max_rto, &Scale::REFERENCE);
        return default
            .map(|value| content!(value, Span))
            .map_err(|found| section.wrong("max_rto", found, TIMEOUT.allowed()));
    };
    Ok(content!(decode(section.place, &section.key("max_rto"), node, TIMEOUT)?, Span))
}

/// Payload and header of a full packet, from a table that need not be valid yet otherwise. A
/// timestamp option takes 12 bytes of the payload (RFC 7323 §3, appendix A).
pub(crate) fn packet(section: &mut Section<'_>) -> Result<(u32, u32), ScenarioError> {
    let written = section.written();
    if let Some(entry) = other(section, false)? {
        let (mss, header) = entry.packet;
        let mss = section.count("mss", (1, 65_535), Some(mss))?;
        return Ok((mss, section.count("header", (1, 65_000), Some(header))?));
    }
    let profile = Profile::of(section)?;
    let timestamps = profile.timestamps(section)?;
    section.forget(written);
    // Kernels have timestamps, whatever the model's hosts would have here.
    let option = section.place.linux || timestamps == Timestamps::Option;
    let (mss, header) = if option { ("1448", "52") } else { ("1460", "40") };
    let mss = section.count("mss", (1, 65_535), Some(mss))?;
    Ok((mss, section.count("header", (1, 65_535), Some(header))?))
}

/// `full_round_trip` is the default of `min_rto`: what a packet takes where every queue is full is no
/// sign of a loss.
fn settings(
    section: &mut Section<'_>,
    scheme: SchemeSpec,
    (ecn, by_rate): (&str, bool),
    full_round_trip: Span,
) -> Result<TransportSpec, ScenarioError> {
    let ecn = section.flag("ecn", ecn)?;
    let (mss, header) = packet(section)?;
    let profile = Profile::of(section)?;
    let window = section.value("init_cwnd", Kind::Amount, Some(profile.init_cwnd))?;
    let init_cwnd = content!(window, Amount);
    let max_cwnd = section.unless_or("max_cwnd", Kind::Amount, "none", profile.max_cwnd)?;
    let full = full_round_trip.min(highest_rto(section, profile)?).to_string();
    let default = profile.min_rto.unwrap_or(&full);
    let min_rto = content!(section.value("min_rto", TIMEOUT, Some(default))?, Span);
    let initial = profile.initial_rto.map_or_else(|| min_rto.to_string(), str::to_owned);
    let initial = section.value("initial_rto", TIMEOUT, Some(&initial))?;
    let max_rto = content!(section.value("max_rto", TIMEOUT, Some(profile.max_rto))?, Span);
    if max_rto < min_rto {
        let allowed = format!("at least min_rto = \"{min_rto}\"");
        return Err(section.wrong("max_rto", format!("\"{max_rto}\""), allowed));
    }
    let dupack_threshold = section.count("dupack_threshold", (1, u32::MAX), Some("3"))?;
    let sack = section.flag("sack", "true")?;
    let limited_transmit = section.flag("limited_transmit", "true")?;
    let delayed_ack = section.unless_or("delayed_ack", TIMEOUT, "off", profile.delayed_ack)?;
    let handshake = section.flag("handshake", "true")?;
    let handshake_ack = section.flag("handshake_ack", profile.handshake_ack)?;
    let source_ports = source_ports(section)?;
    let stack = profile.stack(section, sack, &scheme.name, by_rate)?;
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
        source_ports,
        stack,
        protocol: Protocol::Tcp,
    })
}

/// How many source ports a pair of hosts uses. The default is not written out: resolved scenarios of before there
/// was a choice stay as they are.
fn source_ports(section: &mut Section<'_>) -> Result<Option<u16>, ScenarioError> {
    let kind = Kind::Int(1, u64::from(SOURCE_PORTS));
    let written = section.written();
    let ports = section.unless("source_ports", kind, "one a flow")?;
    if ports.is_none() {
        section.forget(written);
    }
    Ok(ports.map(|value| content!(value, Int) as u16)) // At most `SOURCE_PORTS`.
}
