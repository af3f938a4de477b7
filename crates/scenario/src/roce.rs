//! `[transport]` with `kind = "roce"`: queue pairs of RDMA over converged Ethernet.

use crate::error::ScenarioError;
use crate::schemes;
use crate::section::{Section, content};
use crate::transport::Entry;
use crate::tree::Node;
use leafspine_core::{Rate, Span};
use leafspine_schemes::rdma::{
    CONTROLS, DcqcnSettings, HpccSettings, NsccSettings, PAIR_KEYS, SwiftSettings,
};
use leafspine_schemes::{Kind, Scale, Value, registry};
use leafspine_sim::spec::{CreditSpec, PairControl, Recovery, RoceSpec, TransportSpec};

/// Keys that it shares with TCP.
const SHARED: &[&str] = &["kind", "scheme", "mss", "header", "source_ports"];
/// Words of `scheme`: rate controls.
const SCHEMES: &[&str] = &["dcqcn", "line-rate", "hpcc", "nscc", "swift"];
/// Words of `recovery`.
const RECOVERIES: &[&str] = &["go-back-n", "irn", "each"];
const TIMEOUT: Kind = Kind::Span(1, u64::MAX);
const CLASSES: Kind = Kind::Int(0, 63);

/// A header has IP, UDP, the base transport header and its check: 20, 8, 12 and 4 bytes.
pub(crate) const ENTRY: Entry = Entry {
    word: "roce",
    schemes: SCHEMES,
    packet: ("1024", "44"),
    read,
    more: &["recovery = \"irn\"", "recovery = \"each\"\ncredits = \"receiver\""],
};

/// The transport.
fn read(
    section: &mut Section<'_>,
    (mss, header): (u32, u32),
    source_ports: Option<u16>,
) -> Result<TransportSpec, ScenarioError> {
    let line = section.place.scale.unwrap_or(Scale::REFERENCE).rate;
    let name = section.word("scheme", SCHEMES, Some("dcqcn")).map_err(|mut error| {
        let found = section.node("scheme").and_then(Node::text).unwrap_or_default();
        if registry::congestion_control(&found.to_lowercase()).is_some() {
            error.found += ", which is of transport.kind = \"tcp\"";
            error.nearest = None;
        } else {
            schemes::belongs(&mut error, found, SCHEMES.iter().copied());
        }
        error
    })?;
    let own = own_keys(section, &name)?;
    let keys: Vec<&str> = SHARED.iter().chain(PAIR_KEYS).chain(own).copied().collect();
    section.allow(&keys, "a key that RoCE does not have")?;
    section.write("mss", mss.to_string());
    section.write("header", header.to_string());
    let word = section.word("recovery", RECOVERIES, Some("go-back-n"))?;
    let timeout = section.span("timeout", Some(if word == "irn" { "20rtt" } else { "4ms" }))?;
    let recovery = recovery(section, &word, timeout)?;
    let window = match (section.node("window"), word.as_str()) {
        (None, "irn") => Some(section.value("window", Kind::Amount, Some("1bdp"))?),
        _ => section.unless("window", Kind::Amount, "none")?,
    };
    let window = window.map(|value| content!(value, Amount).in_bytes(mss));
    let spec = RoceSpec {
        control: control(section, &name, (mss + header, line))?,
        recovery,
        window,
        credits: credits(section, &word, mss + header)?,
        ack_every: section.count("ack_every", (1, 1 << 16), Some("1"))?,
        timeout,
        max_timeout: longest(section, timeout)?,
        nak_each: nak_each(section, &word)?,
        nak_cuts: nak_cuts(section, &name)?,
        classes: (
            content!(section.value("data_class", CLASSES, Some("0"))?, Int) as u8,
            content!(section.value("ack_class", CLASSES, Some("0"))?, Int) as u8,
        ),
    };
    if let Some(scale) = section.place.scale {
        check_least_rate(section, &spec, scale.rate)?;
    }
    Ok(TransportSpec { source_ports, ..TransportSpec::pairs(name, (mss, header), spec) })
}

/// Receivers' credits, if there are any. The default is not written out: resolved scenarios of
/// before there was a choice stay as they are.
fn credits(
    section: &mut Section<'_>,
    recovery: &str,
    mtu: u32,
) -> Result<Option<CreditSpec>, ScenarioError> {
    let word = section.quiet_value("credits", Kind::Word(&["off", "receiver"]), Some("off"))?;
    if content!(word, Word) == "off" {
        return match ["credit_first", "credit_share"].into_iter().find(|key| section.has(key)) {
            None => Ok(None),
            Some(key) => {
                let found = format!("{key} without credits");
                Err(section.wrong(key, found, format!("{key} beside credits = \"receiver\"")))
            }
        };
    }
    if recovery != "each" {
        let found = format!("\"receiver\" beside recovery = \"{recovery}\"");
        let allowed = "credits beside recovery = \"each\": what is sent again needs a credit, too, and the others do not wait for one";
        return Err(section.wrong("credits", found, allowed));
    }
    let first = content!(section.value("credit_first", Kind::Amount, Some("1bdp"))?, Amount);
    let share = Kind::Float(0.01, 1.0);
    let share = content!(section.value("credit_share", share, Some("1"))?, Float);
    Ok(Some(CreditSpec { first: first.in_bytes(mtu), share }))
}

/// The keys of this control. One that another has is told apart from one that none has.
fn own_keys(section: &Section<'_>, name: &str) -> Result<&'static [&'static str], ScenarioError> {
    let own = CONTROLS.iter().find(|control| control.scheme == name).map_or(&[][..], |c| c.keys);
    let others = CONTROLS.iter().filter(|control| control.scheme != name);
    let foreign = others.flat_map(|control| control.keys.iter().map(move |key| (control, key)));
    let mut foreign = foreign.filter(|(_, key)| !own.contains(key));
    match foreign.find(|(_, key)| section.has(key)) {
        None => Ok(own),
        Some((control, key)) => {
            let found = format!("{key} beside scheme = \"{name}\"");
            let allowed = format!("{key} beside scheme = \"{}\"", control.scheme);
            Err(section.wrong(key, found, allowed))
        }
    }
}

fn recovery(
    section: &mut Section<'_>,
    word: &str,
    timeout: Span,
) -> Result<Recovery, ScenarioError> {
    if word != "irn" {
        let theirs = ["low_timeout", "low_timeout_below", "nak_threshold"];
        return match theirs.into_iter().find(|key| section.has(key)) {
            None if word == "each" => Ok(Recovery::Each),
            None => Ok(Recovery::GoBackN),
            Some(key) => {
                let found = format!("{key} beside recovery = \"{word}\"");
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

/// Whether go-back-N's receivers tell of each packet beyond a gap. The default is not written out:
/// resolved scenarios of before there was a choice stay as they are.
fn nak_each(section: &mut Section<'_>, recovery: &str) -> Result<bool, ScenarioError> {
    if recovery != "go-back-n" && section.has("naks") {
        let found = format!("naks beside recovery = \"{recovery}\"");
        return Err(section.wrong("naks", found, "naks beside recovery = \"go-back-n\""));
    }
    let word = section.quiet_value("naks", Kind::Word(&["gap", "packet"]), Some("gap"))?;
    Ok(content!(word, Word) == "packet")
}

/// Whether a NAK cuts the rate as a CNP does: the other controls have no answer to either. `false` is
/// written out for them, too, as it always was.
fn nak_cuts(section: &mut Section<'_>, control: &str) -> Result<bool, ScenarioError> {
    let cuts = section.flag("nak_cuts", "false")?;
    if cuts && control != "dcqcn" {
        let found = format!("true beside scheme = \"{control}\"");
        return Err(section.wrong("nak_cuts", found, "true beside scheme = \"dcqcn\""));
    }
    Ok(cuts)
}

/// Refuses a `least_rate` that DCQCN never leaves: no cut would change anything.
fn check_least_rate(
    section: &Section<'_>,
    spec: &RoceSpec,
    line: Rate,
) -> Result<(), ScenarioError> {
    match spec.control.dcqcn() {
        Some(dcqcn) if dcqcn.least > line => {
            let allowed = format!("a rate of at most \"{line}\", the hosts' line");
            Err(section.wrong("least_rate", format!("\"{}\"", dcqcn.least), allowed))
        }
        _ => Ok(()),
    }
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

fn control(
    section: &mut Section<'_>,
    name: &str,
    (packet, line): (u32, Rate),
) -> Result<PairControl, ScenarioError> {
    Ok(match name {
        "dcqcn" => PairControl::Dcqcn(dcqcn(section, line)?),
        "hpcc" => PairControl::Hpcc(hpcc(section, line)?),
        "nscc" => PairControl::Nscc(nscc(section, packet, line)?),
        "swift" => PairControl::Swift(swift(section, packet)?),
        _ => PairControl::LineRate,
    })
}

/// HPCC's parameters, as its paper has them (sections 3.3 and 5.1): the additive step is what 100
/// flows have of the part of the line's product of bandwidth and delay that eta leaves free.
fn hpcc(section: &mut Section<'_>, line: Rate) -> Result<HpccSettings, ScenarioError> {
    let base_rtt = content!(section.value("hpcc_rtt", TIMER, Some("1rtt"))?, Span);
    let eta = content!(section.value("hpcc_eta", Kind::Float(0.01, 1.0), Some("0.95"))?, Float);
    let stages = section.count("hpcc_stages", (0, 1 << 16), Some("5"))?;
    let free = line.bytes_in(base_rtt).0 as f64 * (1.0 - eta) / 100.0;
    let default = format!("{}B", (free as u64).max(1));
    let kind = Kind::Bytes(1, u64::from(u32::MAX));
    let additive = content!(section.value("hpcc_additive", kind, Some(&default))?, Bytes).0;
    Ok(HpccSettings { base_rtt, eta, stages, additive })
}

/// NSCC's parameters. Steps are those of a line of 100 Gb/s and a round trip of 12 us, in
/// proportion to the bytes that this line sends in its round trip; the target is for fabrics that
/// trim (without, a whole round trip is said to be better).
fn nscc(section: &mut Section<'_>, packet: u32, line: Rate) -> Result<NsccSettings, ScenarioError> {
    let base_rtt = content!(section.value("nscc_rtt", TIMER, Some("1rtt"))?, Span);
    let default = Span((base_rtt.0 / 4 * 3).max(10_000)).to_string();
    let target = content!(section.value("nscc_target", TIMER, Some(&default))?, Span);
    let share = line.bytes_in(base_rtt).0 as f64 / 150_000.0;
    let mut step = |key: &str, packets: f64| {
        let default = format!("{}B", ((packets * share * f64::from(packet)) as u64).max(1));
        let kind = Kind::Bytes(0, u64::from(u32::MAX));
        Ok::<_, ScenarioError>(content!(section.value(key, kind, Some(&default))?, Bytes).0)
    };
    let proportional = step("nscc_proportional", 4.0 * target.0 as f64 / 12e6)?;
    let fair = step("nscc_fair", 5.0)?;
    let eta = step("nscc_eta", 0.15)?;
    let mut float = |key: &str, (least, most): (f64, f64), default: &str| {
        let kind = Kind::Float(least, most);
        Ok::<_, ScenarioError>(content!(section.value(key, kind, Some(default))?, Float))
    };
    let fast = float("nscc_fast", (0.0, 1000.0), &format!("{:?}", 0.25 * share))?;
    let gamma = float("nscc_gamma", (0.0, 1.0), "0.8")?;
    let weight = float("nscc_weight", (0.0, 1.0), "0.0125")?;
    let most = float("nscc_most", (0.01, 100.0), "1.5")?;
    let gate = section.count("nscc_gate", (0, 32), Some("3"))?;
    let no_wait = section.span("nscc_no_wait", Some("1us"))?;
    Ok(NsccSettings {
        base_rtt,
        target,
        proportional,
        fair,
        eta,
        fast,
        gamma,
        gate,
        no_wait,
        weight,
        packet,
        most,
    })
}

/// Swift's parameters: its paper's (section 3), and targets in proportion to the round trip.
fn swift(section: &mut Section<'_>, packet: u32) -> Result<SwiftSettings, ScenarioError> {
    let base_rtt = content!(section.value("swift_rtt", TIMER, Some("1rtt"))?, Span);
    let default = Span(base_rtt.0 / 2 * 3).to_string();
    let target = content!(section.value("swift_target", TIMER, Some(&default))?, Span);
    let range = section.span("swift_range", Some(&target.to_string()))?;
    let mut float = |key: &str, (least, most): (f64, f64), default: &str| {
        let kind = Kind::Float(least, most);
        Ok::<_, ScenarioError>(content!(section.value(key, kind, Some(default))?, Float))
    };
    let small = float("swift_small", (0.001, 1e6), "0.1")?;
    let large = float("swift_large", (0.001, 1e6), "100")?;
    let additive = float("swift_additive", (0.0, 1e3), "1")?;
    let beta = float("swift_beta", (0.0, 1.0), "0.8")?;
    let most_cut = float("swift_most_cut", (0.0, 1.0), "0.5")?;
    let least = float("swift_least", (1e-4, 1.0), "0.001")?;
    let reset = section.count("swift_reset", (1, 1 << 16), Some("3"))?;
    if large <= small {
        let allowed = format!("above swift_small = {small:?}");
        return Err(section.wrong("swift_large", format!("{large:?}"), allowed));
    }
    Ok(SwiftSettings {
        target,
        range,
        small,
        large,
        additive,
        beta,
        most_cut,
        least,
        reset,
        packet,
        base_rtt,
    })
}

/// DCQCN's parameters: those of its paper, where the line has 40 Gb/s; rates in proportion.
fn dcqcn(section: &mut Section<'_>, line: Rate) -> Result<DcqcnSettings, ScenarioError> {
    let of_line = |part: u64| Rate((line.0 / part).max(1)).to_string();
    let rate = |section: &mut Section<'_>, key: &str, part: u64| {
        let default = of_line(part);
        Ok::<_, ScenarioError>(content!(section.value(key, Kind::Rate, Some(&default))?, Rate))
    };
    let update = section.quiet_value("alpha_update", Kind::Word(&["cnp", "timer"]), Some("cnp"))?;
    let decrease = section.quiet_value("decrease_timer", DECREASE, Some("off"))?;
    let byte_counter = section.unless_or("byte_counter", COUNTER, "off", Some("10MB"))?;
    let hyper_grows = section.quiet_value("hyper_grows", Kind::Bool, Some("true"))?;
    Ok(DcqcnSettings {
        cnp_interval: section.span("cnp_interval", Some("50us"))?,
        g: content!(section.value("dcqcn_g", Kind::Float(0.0, 1.0), Some("0.00390625"))?, Float),
        alpha_timer: content!(section.value("alpha_timer", TIMER, Some("55us"))?, Span),
        alpha_by_timer: content!(update, Word) == "timer",
        decrease_timer: match decrease {
            Value::Span(period) => Some(period),
            _ => None,
        },
        increase_timer: content!(section.value("increase_timer", TIMER, Some("55us"))?, Span),
        byte_counter: byte_counter.map(|bytes| content!(bytes, Bytes).0),
        fast_recovery: section.count("fast_recovery", (1, 1 << 16), Some("5"))?,
        clamp_target: section.flag("clamp_target", "true")?,
        additive: rate(section, "additive_increase", 1000)?,
        hyper: rate(section, "hyper_increase", 100)?,
        hyper_grows: content!(hyper_grows, Bool),
        least: rate(section, "least_rate", 1000)?,
    })
}

/// A timer of less than this would fire for each packet of the fastest line and more.
const TIMER: Kind = Kind::Span(10_000, u64::MAX);
/// Above it no packet would ever be taken for lost.
const THRESHOLD: Kind = Kind::Packets(1, 1 << 24);
const COUNTER: Kind = Kind::Bytes(65_536, u64::MAX);
/// As [`TIMER`], or none.
const DECREASE: Kind = Kind::SpanOr(10_000, u64::MAX, "off");
