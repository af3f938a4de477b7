//! `[transport]` with `kind = "roce"`: queue pairs of RDMA over converged Ethernet.

use crate::error::ScenarioError;
use crate::section::{Section, content};
use leafspine_core::{Rate, Span};
use leafspine_schemes::rdma::{CONTROL_KEYS, DcqcnSettings, KEYS};
use leafspine_schemes::{Amount, Kind, Params};
use leafspine_sim::spec::{Recovery, RoceSpec, SchemeSpec, Stack, TransportSpec};

/// Keys that it shares with TCP.
const SHARED: &[&str] = &["kind", "scheme", "mss", "header", "source_ports"];
/// Words of `scheme`: rate controls.
pub(crate) const SCHEMES: &[&str] = &["dcqcn", "line-rate"];
/// Words of `recovery`.
const RECOVERIES: &[&str] = &["go-back-n", "irn"];
const TIMEOUT: Kind = Kind::Span(1, u64::MAX);
/// A header has IP, UDP, the base transport header and its check: 20, 8, 12 and 4 bytes.
pub(crate) const PACKET: (&str, &str) = ("1024", "44");
const CLASSES: Kind = Kind::Int(0, 63);

/// The transport.
pub(crate) fn settings(
    section: &mut Section<'_>,
    (mss, header): (u32, u32),
    source_ports: Option<u16>,
    line: Rate,
) -> Result<TransportSpec, ScenarioError> {
    let name = section.word("scheme", SCHEMES, Some("dcqcn"))?;
    let keys = if name == "dcqcn" { &KEYS[..] } else { without_control(section)? };
    let keys: Vec<&str> = SHARED.iter().chain(keys).copied().collect();
    section.allow(&keys, "a key that RoCE does not have")?;
    section.write("mss", mss.to_string());
    section.write("header", header.to_string());
    let selective = section.word("recovery", RECOVERIES, Some("go-back-n"))? == "irn";
    let timeout = section.span("timeout", Some(if selective { "20rtt" } else { "4ms" }))?;
    let recovery = recovery(section, selective, timeout)?;
    let window = match (section.node("window"), selective) {
        (None, true) => Some(section.value("window", Kind::Amount, Some("1bdp"))?),
        _ => section.unless("window", Kind::Amount, "none")?,
    };
    let window = window.map(|value| content!(value, Amount).in_bytes(mss));
    let spec = RoceSpec {
        dcqcn: (name == "dcqcn").then(|| dcqcn(section, line)).transpose()?,
        recovery,
        window,
        ack_every: section.count("ack_every", (1, 1 << 16), Some("1"))?,
        timeout,
        max_timeout: longest(section, timeout)?,
        nak_cuts: section.flag("nak_cuts", "false")?,
        classes: (
            content!(section.value("data_class", CLASSES, Some("0"))?, Int) as u8,
            content!(section.value("ack_class", CLASSES, Some("0"))?, Int) as u8,
        ),
    };
    Ok(transport(name, spec, (mss, header), source_ports))
}

/// The keys that there are without a rate control.
fn without_control(section: &Section<'_>) -> Result<&'static [&'static str], ScenarioError> {
    let (keys, controls) = KEYS.split_at(KEYS.len() - CONTROL_KEYS);
    match controls.iter().find(|key| section.has(key)) {
        None => Ok(keys),
        Some(key) => {
            let found = format!("{key} beside scheme = \"line-rate\"");
            Err(section.wrong(key, found, format!("{key} beside scheme = \"dcqcn\"")))
        }
    }
}

fn recovery(
    section: &mut Section<'_>,
    selective: bool,
    timeout: Span,
) -> Result<Recovery, ScenarioError> {
    if !selective {
        let theirs = ["low_timeout", "low_timeout_below", "nak_threshold"];
        return match theirs.into_iter().find(|key| section.has(key)) {
            None => Ok(Recovery::GoBackN),
            Some(key) => {
                let found = format!("{key} beside recovery = \"go-back-n\"");
                Err(section.wrong(key, found, format!("{key} beside recovery = \"irn\"")))
            }
        };
    }
    let low = section.span("low_timeout", Some(&Span((timeout.0 / 3).max(1)).to_string()))?;
    if low > timeout || low == Span::ZERO {
        let allowed = format!("above zero, and at most timeout = \"{timeout}\"");
        return Err(section.wrong("low_timeout", format!("\"{low}\""), allowed));
    }
    let few = section.count("low_timeout_below", (0, u32::MAX), Some("3"))?;
    let after = content!(section.quiet_value("nak_threshold", THRESHOLD, Some("1pkt"))?, Int);
    Ok(Recovery::Selective { low, few, after: after as u32 })
}

fn longest(section: &mut Section<'_>, timeout: Span) -> Result<Span, ScenarioError> {
    if timeout == Span::ZERO {
        return Err(section.wrong("timeout", "\"0us\"", "a time above zero"));
    }
    let default = Span(timeout.0.saturating_mul(64)).to_string();
    let longest = content!(section.value("max_timeout", TIMEOUT, Some(&default))?, Span);
    if longest < timeout {
        let allowed = format!("at least timeout = \"{timeout}\"");
        return Err(section.wrong("max_timeout", format!("\"{longest}\""), allowed));
    }
    Ok(longest)
}

/// DCQCN's parameters: those of its paper, where the line has 40 Gb/s; rates in proportion.
fn dcqcn(section: &mut Section<'_>, line: Rate) -> Result<DcqcnSettings, ScenarioError> {
    let of_line = |part: u64| Rate((line.0 / part).max(1)).to_string();
    let rate = |section: &mut Section<'_>, key: &str, part: u64| {
        let default = of_line(part);
        Ok::<_, ScenarioError>(content!(section.value(key, Kind::Rate, Some(&default))?, Rate))
    };
    Ok(DcqcnSettings {
        cnp_interval: section.span("cnp_interval", Some("50us"))?,
        g: content!(section.value("dcqcn_g", Kind::Float(0.0, 1.0), Some("0.00390625"))?, Float),
        alpha_timer: content!(section.value("alpha_timer", TIMER, Some("55us"))?, Span),
        increase_timer: content!(section.value("increase_timer", TIMER, Some("55us"))?, Span),
        byte_counter: content!(section.value("byte_counter", COUNTER, Some("10MB"))?, Bytes).0,
        fast_recovery: section.count("fast_recovery", (1, 1 << 16), Some("5"))?,
        additive: rate(section, "additive_increase", 1000)?,
        hyper: rate(section, "hyper_increase", 100)?,
        least: rate(section, "least_rate", 1000)?,
    })
}

/// A timer of less than this would fire for each packet of the fastest line and more.
const TIMER: Kind = Kind::Span(10_000, u64::MAX);
/// Above it no packet would ever be taken for lost.
const THRESHOLD: Kind = Kind::Packets(1, 1 << 24);
const COUNTER: Kind = Kind::Bytes(65_536, u64::MAX);

fn transport(
    name: String,
    roce: RoceSpec,
    (mss, header): (u32, u32),
    source_ports: Option<u16>,
) -> TransportSpec {
    TransportSpec {
        scheme: SchemeSpec { name, params: Params::default() },
        ecn: Some(true),
        mss,
        header,
        init_cwnd: Amount::Packets(1),
        max_cwnd: None,
        min_rto: roce.timeout,
        initial_rto: None,
        max_rto: roce.max_timeout,
        dupack_threshold: 3,
        sack: false,
        limited_transmit: false,
        delayed_ack: None,
        handshake: false,
        handshake_ack: false,
        source_ports,
        stack: Stack::default(),
        roce: Some(roce),
    }
}
