//! Parameters of schemes: declared once, read by the scenario file, the catalogue and the scheme.

use crate::scale::{Scale, parse_amount, parse_bytes, parse_depth, parse_packets, parse_span};
use crate::units::{
    AMOUNT_FORM, BYTES_FORM, DEPTH_FORM, PACKETS_FORM, RATE_FORM, SPAN_FORM, parse_rate,
};
use leafspine_core::{Bytes, Rate, Span};
use std::collections::BTreeMap;
use std::fmt;

/// A size in packets (of any length) or in bytes. The unit chooses the accounting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// `"256pkt"`.
    Packets(u32),
    /// `"375KB"`.
    Bytes(u64),
}

impl Amount {
    /// Whether a backlog of so many packets and bytes has reached this amount.
    #[inline]
    #[must_use]
    pub fn reached_by(self, packets: u32, bytes: u32) -> bool {
        match self {
            Amount::Packets(limit) => packets >= limit,
            Amount::Bytes(limit) => u64::from(bytes) >= limit,
        }
    }

    /// In bytes, a packet counted as `mtu` bytes.
    #[must_use]
    pub fn in_bytes(self, mtu: u32) -> u64 {
        match self {
            Amount::Packets(n) => u64::from(n) * u64::from(mtu),
            Amount::Bytes(n) => n,
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Packets(n) => write!(f, "{n}pkt"),
            Amount::Bytes(n) => Bytes(*n).fmt(f),
        }
    }
}

/// A size, or what a port's line sends in a time: published thresholds are often so many bytes for
/// each so many Gb/s.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// `"65pkt"` or `"30KB"`.
    Amount(Amount),
    /// `"32us"`.
    Time(Span),
}

impl Depth {
    /// The size at a port of this rate: of a time the bytes, rounded down, one at least.
    #[must_use]
    pub fn at(self, rate: Rate) -> Amount {
        match self {
            Depth::Amount(amount) => amount,
            Depth::Time(time) => Amount::Bytes(rate.bytes_in(time).0.max(1)),
        }
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Depth::Amount(amount) => amount.fmt(f),
            Depth::Time(time) => time.fmt(f),
        }
    }
}

/// The value of a parameter.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// `"500us"`.
    Span(Span),
    /// `"64KB"`.
    Bytes(Bytes),
    /// `"65pkt"` or `"30KB"`.
    Amount(Amount),
    /// `"10Gbps"`.
    Rate(Rate),
    /// `3`.
    Int(u64),
    /// `0.25`.
    Float(f64),
    /// `true`.
    Bool(bool),
    /// One of a list of words.
    Word(String),
    /// `[0.5, 1.0]`.
    Numbers(Vec<f64>),
}

impl fmt::Display for Value {
    /// As the scenario file writes it, quotes included.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Span(v) => write!(f, "\"{v}\""),
            Value::Bytes(v) => write!(f, "\"{v}\""),
            Value::Amount(v) => write!(f, "\"{v}\""),
            Value::Rate(v) => write!(f, "\"{v}\""),
            Value::Int(v) => write!(f, "{v}"),
            Value::Float(v) => write!(f, "{v:?}"),
            Value::Bool(v) => write!(f, "{v}"),
            Value::Word(v) => write!(f, "\"{v}\""),
            Value::Numbers(v) => write!(f, "{v:?}"),
        }
    }
}

/// What a parameter may be. Bounds are inclusive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// A span of time between the two, in picoseconds.
    Span(u64, u64),
    /// A span of time between the two, or this word for none.
    SpanOr(u64, u64, &'static str),
    /// A number of bytes between the two.
    Bytes(u64, u64),
    /// Packets or bytes, at least one.
    Amount,
    /// Packets or bytes, at least one, or this word for what the scheme finds itself.
    AmountOr(&'static str),
    /// Packets or bytes, at least one, or a time, at least 1 ps; the value is a [`Value::Amount`] or a
    /// [`Value::Span`].
    Depth,
    /// A rate, at least 1 b/s.
    Rate,
    /// A whole number between the two.
    Int(u64, u64),
    /// A number of packets between the two; the value is an [`Value::Int`].
    Packets(u64, u64),
    /// A number between the two.
    Float(f64, f64),
    /// `true` or `false`.
    Bool,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of at most so many numbers.
    Numbers(usize),
}

impl Kind {
    /// What is allowed, in words, for messages and the catalogue.
    #[must_use]
    pub fn allowed(&self) -> String {
        match *self {
            Kind::Span(low, high) => {
                SPAN_FORM.to_owned() + &between(low, high, |v| Span(v).to_string())
            }
            Kind::SpanOr(low, high, word) => {
                format!("{}, or \"{word}\"", Kind::Span(low, high).allowed())
            }
            Kind::Bytes(low, high) => {
                BYTES_FORM.to_owned() + &between(low, high, |v| Bytes(v).to_string())
            }
            Kind::Amount => format!("{AMOUNT_FORM}, above zero"),
            Kind::AmountOr(word) => format!("{}, or \"{word}\"", Kind::Amount.allowed()),
            Kind::Depth => format!("{DEPTH_FORM}, above zero"),
            Kind::Rate => format!("{RATE_FORM}, above zero"),
            Kind::Packets(low, high) => {
                PACKETS_FORM.to_owned() + &between(low, high, |v| v.to_string())
            }
            Kind::Int(0, MOST..) => "a whole number, at least 0".to_owned(),
            Kind::Int(low, high) => {
                "a whole number".to_owned() + &between(low, high, |v| v.to_string())
            }
            // The smallest positive number as a bound means: above zero.
            Kind::Float(f64::MIN_POSITIVE, high) if high < f64::MAX => {
                format!("a number above 0, at most {high}")
            }
            Kind::Float(f64::MIN_POSITIVE, _) => "a number above 0".to_owned(),
            Kind::Float(low, high) => match (low.is_finite(), high.is_finite()) {
                (true, true) => format!("a number from {low} to {high}"),
                (true, false) => format!("a number, at least {low}"),
                (false, true) => format!("a number, at most {high}"),
                (false, false) => "a number".to_owned(),
            },
            Kind::Bool => "true or false".to_owned(),
            Kind::Numbers(most) => format!("a list of numbers, at most {most}"),
            Kind::Word(words) => {
                words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// `value`, or the bound that it lies beyond: a default that follows from the fabric may leave a
    /// parameter's range where the fabric is an odd one.
    #[must_use]
    pub fn clamp(&self, value: Value) -> Value {
        match (*self, value) {
            (Kind::Span(low, high) | Kind::SpanOr(low, high, _), Value::Span(v)) => {
                Value::Span(Span(v.0.clamp(low, high)))
            }
            (Kind::Bytes(low, high), Value::Bytes(v)) => Value::Bytes(Bytes(v.0.clamp(low, high))),
            (Kind::Packets(low, high), Value::Int(v)) => Value::Int(v.clamp(low, high)),
            (Kind::Amount | Kind::AmountOr(_) | Kind::Depth, Value::Amount(Amount::Packets(0))) => {
                Value::Amount(Amount::Packets(1))
            }
            (_, value) => value,
        }
    }

    /// Whether `value` is of this kind and within its bounds.
    ///
    /// # Errors
    /// With what was found and what is allowed.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let fits = match (*self, value) {
            (Kind::Span(low, high), Value::Span(v)) => (low..=high).contains(&v.0),
            (Kind::Bytes(low, high), Value::Bytes(v)) => (low..=high).contains(&v.0),
            (Kind::Amount | Kind::AmountOr(_) | Kind::Depth, Value::Amount(v)) => {
                !matches!(v, Amount::Packets(0) | Amount::Bytes(0))
            }
            (Kind::AmountOr(word), Value::Word(v)) => v == word,
            (Kind::Depth, Value::Span(v)) => v.0 > 0,
            (Kind::Rate, Value::Rate(v)) => v.0 > 0,
            (Kind::Int(low, high) | Kind::Packets(low, high), Value::Int(v)) => {
                (low..=high).contains(v)
            }
            (Kind::Float(low, high), Value::Float(v)) => v.is_finite() && (low..=high).contains(v),
            (Kind::Bool, Value::Bool(_)) => true,
            (Kind::Word(words), Value::Word(v)) => words.contains(&v.as_str()),
            (Kind::SpanOr(low, high, _), Value::Span(v)) => (low..=high).contains(&v.0),
            (Kind::SpanOr(_, _, word), Value::Word(v)) => v == word,
            (Kind::Numbers(most), Value::Numbers(v)) => {
                v.len() <= most && v.iter().all(|number| number.is_finite())
            }
            _ => false,
        };
        if fits { Ok(()) } else { Err(format!("found {value}; allowed: {}", self.allowed())) }
    }
}

/// `[1, 2.5]`, or the same without brackets.
fn numbers(text: &str) -> Option<Vec<f64>> {
    let text = text.trim();
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let inner = inner.trim();
    if inner.is_empty() {
        return Some(Vec::new());
    }
    inner.split(',').map(|number| number.trim().parse().ok()).collect()
}

/// The largest whole number of TOML: as an upper bound it is none.
const MOST: u64 = i64::MAX as u64;

/// The bounds in words; those of the type itself go without saying.
fn between(low: u64, high: u64, show: impl Fn(u64) -> String) -> String {
    match (low, if high < MOST { high } else { u64::MAX }) {
        (0, u64::MAX) => String::new(),
        (low, u64::MAX) => format!(", at least {}", show(low)),
        (0, high) => format!(", at most {}", show(high)),
        (low, high) => format!(", from {} to {}", show(low), show(high)),
    }
}

impl Value {
    /// The value of kind `kind` that `text` is: a default, or what stands after `--set key=`, without
    /// quotes. Round trips and bandwidth-delay products are those of `scale`.
    ///
    /// # Errors
    /// With what was found and what is allowed, if the text is of another kind, lacks its unit or is
    /// out of range.
    pub fn parse(kind: &Kind, text: &str, scale: &Scale) -> Result<Value, String> {
        let value = Value::read(kind, text, scale)?;
        kind.check(&value)?;
        Ok(value)
    }

    /// The default of a parameter of kind `kind` that `text` declares, in the fabric of `scale`.
    ///
    /// # Errors
    /// As [`Value::parse`].
    pub fn default(kind: &Kind, text: &str, scale: &Scale) -> Result<Value, String> {
        let follows = text.contains("rtt") || text.contains("bdp");
        let value = Value::read(kind, text, scale)?;
        let value = if follows { kind.clamp(value) } else { value };
        kind.check(&value)?;
        Ok(value)
    }

    fn read(kind: &Kind, text: &str, scale: &Scale) -> Result<Value, String> {
        let other = |_| format!("found \"{text}\"; allowed: {}", kind.allowed());
        let scale = Some(scale);
        let value = match kind {
            Kind::Span(..) => Value::Span(parse_span(text, scale).map_err(|e| e.to_string())?),
            Kind::Bytes(..) => Value::Bytes(parse_bytes(text, scale).map_err(|e| e.to_string())?),
            Kind::AmountOr(word) if text == *word => Value::Word(text.to_owned()),
            Kind::Amount | Kind::AmountOr(_) => {
                Value::Amount(parse_amount(text, scale).map_err(|e| e.to_string())?)
            }
            Kind::Depth => parse_depth(text, scale).map_err(|e| e.to_string())?,
            Kind::Rate => Value::Rate(parse_rate(text).map_err(|e| e.to_string())?),
            Kind::Int(..) => Value::Int(text.parse().map_err(|_| other(()))?),
            Kind::Float(..) => Value::Float(text.parse().map_err(|_| other(()))?),
            Kind::Bool => Value::Bool(text.parse().map_err(|_| other(()))?),
            Kind::Word(_) => Value::Word(text.to_owned()),
            Kind::SpanOr(_, _, word) if text == *word => Value::Word(text.to_owned()),
            Kind::SpanOr(..) => Value::Span(parse_span(text, scale).map_err(|e| e.to_string())?),
            Kind::Packets(..) => Value::Int(parse_packets(text, scale).map_err(|e| e.to_string())?),
            Kind::Numbers(_) => Value::Numbers(numbers(text).ok_or_else(|| other(()))?),
        };
        Ok(value)
    }
}

/// A declared parameter.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its key in the scenario file.
    pub name: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// Its default as the scenario file would write it (without quotes), in `rtt` or `bdp` where it
    /// depends on the fabric; `None`: must be given.
    pub default: Option<&'static str>,
    /// One sentence: what it does.
    pub doc: &'static str,
    /// The value that resolved scenarios leave out, and that one without it has; `None`: all say it.
    pub before: Option<&'static str>,
    /// What it is about, where others than the scheme have to know.
    pub meaning: Option<Meaning>,
    /// Another parameter and its words with which alone the scheme looks at this one; `None`: it always does.
    pub only: Option<(&'static str, &'static [&'static str])>,
}

/// What a parameter is about: by this, and not by its name, the engine and the warnings after a run find it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// A flowlet ends by a pause of so long, or by none that is shorter: a time.
    FlowletGap,
    /// How often the scheme measures, probes or ages, or how late its reports come: a time.
    Period,
    /// The backlog of a queue from which on the scheme acts: a [`Value::Amount`].
    Backlog,
    /// How long packets are that the scheme sends itself: bytes.
    OwnPacket,
}

impl Meaning {
    /// Whether a parameter of this kind can be about this.
    pub(crate) fn fits(self, kind: &Kind) -> bool {
        match self {
            Meaning::FlowletGap | Meaning::Period => {
                matches!(kind, Kind::Span(..) | Kind::SpanOr(..))
            }
            Meaning::Backlog => matches!(kind, Kind::Amount | Kind::AmountOr(_) | Kind::Depth),
            Meaning::OwnPacket => matches!(kind, Kind::Bytes(..) | Kind::Int(..)),
        }
    }

    /// What it has to be, in words.
    pub(crate) fn is(self) -> &'static str {
        match self {
            Meaning::FlowletGap | Meaning::Period => "time",
            Meaning::Backlog => "number of packets or bytes",
            Meaning::OwnPacket => "number of bytes",
        }
    }
}

impl Param {
    /// A parameter with a default. [`parameters!`](crate::parameters) names it after its field.
    #[must_use]
    pub const fn new(kind: Kind, default: &'static str, doc: &'static str) -> Param {
        Param {
            name: "",
            kind,
            default: Some(default),
            doc,
            before: None,
            meaning: None,
            only: None,
        }
    }

    /// The same for a parameter that a scheme has gained since, with what it did before as default: a resolved
    /// scenario says it only where it differs, so that those of before, and the results kept under them, stay
    /// what they are.
    #[must_use]
    pub const fn quiet(self) -> Param {
        Param { before: self.default, ..self }
    }

    /// The same for one that is about this.
    #[must_use]
    pub const fn means(self, meaning: Meaning) -> Param {
        Param { meaning: Some(meaning), ..self }
    }

    /// The same for one that the scheme looks at only where the parameter `key` is one of these words.
    #[must_use]
    pub const fn only_with(self, key: &'static str, words: &'static [&'static str]) -> Param {
        Param { only: Some((key, words)), ..self }
    }

    /// Whether the scheme looks at it, with these parameters.
    fn is_used(&self, params: &Params) -> bool {
        self.only.is_none_or(|(key, words)| match params.0.get(key) {
            Some(Value::Word(word)) => words.contains(&word.as_str()),
            _ => false,
        })
    }

    /// The same where the default is another one: `value` is what the scheme did before it had the
    /// parameter, which resolved scenarios without it still mean.
    #[must_use]
    pub const fn quiet_at(self, value: &'static str) -> Param {
        Param { before: Some(value), ..self }
    }
}

/// How well a scheme's source defines it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Provenance {
    /// The text of a paper defines it.
    Paper,
    /// An RFC defines it.
    Rfc,
    /// It follows the authors' release.
    Artefact,
    /// Only an abstract or a mention was available.
    Reconstructed,
    /// leafspine's own: there is no outside source.
    Own,
}

/// What the catalogue says of a scheme.
#[derive(Clone, Copy, Debug)]
pub struct SchemeInfo {
    /// Its name in the scenario file.
    pub name: &'static str,
    /// One sentence: what it does.
    pub summary: &'static str,
    /// The paper or RFC.
    pub source: &'static str,
    /// How well the source defines it.
    pub provenance: Provenance,
    /// What the source leaves unspecified, and what was chosen. One item a choice.
    pub unspecified: &'static [&'static str],
    /// Its parameters.
    pub params: &'static [Param],
    /// What it asks of packets and switches.
    pub demands: Demands,
}

impl SchemeInfo {
    /// The parameters that are about this and that the scheme looks at, by name and value, in the order of their
    /// declaration.
    pub fn about<'a>(
        &self,
        meaning: Meaning,
        params: &'a Params,
    ) -> impl Iterator<Item = (&'static str, &'a Value)> {
        let meant = self.params.iter().filter(move |param| param.meaning == Some(meaning));
        meant
            .filter(|param| param.is_used(params))
            .filter_map(|param| Some((param.name, params.0.get(param.name)?)))
    }
}

/// What a scheme adds to packets and asks of switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demands {
    /// Bits that its header would take in a real packet, of the packet kind with the most.
    pub header_bits: u16,
    /// The words of [`leafspine_core::SchemeHeader`] that it writes: bit 0 for the first, bit 1 for
    /// the second. Schemes of one run may not share a word, except a balancer and the edge it needs.
    pub header_words: u8,
    /// Service queues a port, at least.
    pub queues: u8,
}

impl Demands {
    /// Of a scheme that works with what every switch and packet has.
    pub const NONE: Demands = Demands { header_bits: 0, header_words: 0, queues: 1 };
}

/// Why a scheme cannot be made with these parameters, here.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{key}: found {found}; allowed: {allowed}")]
pub struct ParamError {
    /// The parameter, or `scheme` if it is the scheme that does not fit.
    pub key: String,
    /// What is there.
    pub found: String,
    /// What could be.
    pub allowed: String,
    /// The same from the other side, where two parameters do not fit each other: what is told if
    /// only that one was written.
    pub other: Option<Box<ParamError>>,
}

impl ParamError {
    /// Of a parameter `key`: what was `found`, what is `allowed` instead.
    #[expect(clippy::needless_pass_by_value, reason = "numbers and finished texts read alike")]
    pub fn new(
        key: impl Into<String>,
        found: impl ToString,
        allowed: impl Into<String>,
    ) -> ParamError {
        let (found, allowed) = (found.to_string(), allowed.into());
        ParamError { key: key.into(), found, allowed, other: None }
    }

    /// The same with how it is from the other parameter's side. Both say at the end of `allowed`
    /// what the one that they do not blame is.
    #[must_use]
    pub fn or(mut self, other: ParamError) -> ParamError {
        self.other = Some(Box::new(other));
        self
    }
}

/// The parameters of one scheme, all present and of their declared kind: the scenario crate puts
/// the defaults in.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Params(pub BTreeMap<String, Value>);

impl Params {
    /// The defaults of `declared` in the fabric of [`Scale::REFERENCE`], for tests and examples.
    ///
    /// # Panics
    /// If a parameter has no default, or one that is not of its kind.
    #[must_use]
    pub fn defaults(declared: &[Param]) -> Params {
        match Params::try_defaults(declared) {
            Ok(params) => params,
            Err(error) => panic!("{error}"),
        }
    }

    /// The defaults of `declared` in the fabric of [`Scale::REFERENCE`].
    ///
    /// # Errors
    /// Names the first parameter that has no default, or one that is not of its kind.
    pub fn try_defaults(declared: &[Param]) -> Result<Params, ParamError> {
        let value = |param: &Param| match param.default {
            Some(text) => Value::default(&param.kind, text, &Scale::REFERENCE),
            None => Err("nothing".to_owned()),
        };
        declared
            .iter()
            .map(|param| match value(param) {
                Ok(value) => Ok((param.name.to_owned(), value)),
                Err(found) => Err(ParamError::new(param.name, found, param.kind.allowed())),
            })
            .collect::<Result<_, _>>()
            .map(Params)
    }

    /// These parameters with one changed: for tests and for examples.
    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> Params {
        self.0.insert(key.to_owned(), value);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GAP: Param = Param {
        name: "gap",
        kind: Kind::Span(1, 1_000_000_000_000),
        default: Some("500us"),
        doc: "The gap.",
        before: None,
        meaning: None,
        only: None,
    };

    /// Breaks if a bound is exclusive, or if a value of another kind passes.
    #[test]
    fn bounds_are_inclusive() {
        let int = Kind::Int(1, 8);
        for (text, fits) in [("0", false), ("1", true), ("8", true), ("9", false), ("x", false)] {
            assert_eq!(Value::parse(&int, text, &Scale::REFERENCE).is_ok(), fits, "{text}");
        }
        assert!(int.check(&Value::Bool(true)).is_err());
        assert!(Value::parse(&Kind::Rate, "0Gbps", &Scale::REFERENCE).is_err());
        assert!(Value::parse(&Kind::Amount, "0pkt", &Scale::REFERENCE).is_err());
        assert!(Value::parse(&Kind::Float(0.0, f64::INFINITY), "inf", &Scale::REFERENCE).is_err());
        assert!(Value::parse(&Kind::Float(0.0, 1.0), "nan", &Scale::REFERENCE).is_err());
    }

    /// Breaks if a message does not say what was found and what is allowed.
    #[test]
    fn messages_name_the_range() {
        assert_eq!(
            Value::parse(&Kind::Span(1, 1_000_000_000_000), "2s", &Scale::REFERENCE).unwrap_err(),
            "found \"2s\"; allowed: a time such as \"12.5us\" (ps, ns, us, ms, s, rtt), from 1ps to 1s"
        );
        assert_eq!(
            Value::parse(&Kind::Word(&["delay", "bytes"]), "size", &Scale::REFERENCE).unwrap_err(),
            "found \"size\"; allowed: \"delay\", \"bytes\""
        );
        assert_eq!(
            Value::parse(&Kind::Int(1, u64::MAX), "0.5", &Scale::REFERENCE).unwrap_err(),
            "found \"0.5\"; allowed: a whole number, at least 1"
        );
    }

    /// Breaks if a default is not parsed as its kind, or a missing one is made up.
    #[test]
    fn defaults_are_parsed_as_declared() {
        let gap = Params::defaults(&[GAP]).read("gap");
        assert_eq!(gap, Ok(Span::from_micros(500)));
        let error = Params::try_defaults(&[Param { default: None, ..GAP }]).unwrap_err();
        assert_eq!((error.key.as_str(), error.found.as_str()), ("gap", "nothing"));
    }

    /// Breaks if a parameter is found whose scheme does not look at it, or not found though it does.
    #[test]
    fn parameters_are_found_by_what_they_are_about() {
        const WORDS: &[&str] = &["packet", "flowlet", "flow"];
        const PARAMS: &[Param] = &[
            Param { name: "by", ..Param::new(Kind::Word(WORDS), "packet", "What is placed.") },
            Param { only: Some(("by", &["flowlet", "flow"])), ..GAP.means(Meaning::FlowletGap) },
            Param { name: "every", ..GAP.means(Meaning::Period) },
            Param { name: "other", ..GAP },
        ];
        let info = SchemeInfo {
            name: "a",
            summary: "A.",
            source: "",
            provenance: Provenance::Own,
            unspecified: &[],
            params: PARAMS,
            demands: Demands::NONE,
        };
        let found = |by: &str, meaning: Meaning| -> Vec<&str> {
            let params = Params::defaults(PARAMS).with("by", Value::Word(by.to_owned()));
            info.about(meaning, &params).map(|(name, _)| name).collect()
        };
        assert_eq!(found("flowlet", Meaning::FlowletGap), ["gap"]);
        assert_eq!(found("flow", Meaning::FlowletGap), ["gap"]);
        assert_eq!(found("packet", Meaning::FlowletGap), [""; 0]);
        assert_eq!(found("packet", Meaning::Period), ["every"]);
        assert_eq!(found("packet", Meaning::OwnPacket), [""; 0]);
    }

    fn any_value() -> impl Strategy<Value = (Kind, Value)> {
        const WORDS: &[&str] = &["delay", "bytes"];
        prop_oneof![
            any::<u64>().prop_map(|n| (Kind::Span(0, u64::MAX), Value::Span(Span(n)))),
            any::<u64>().prop_map(|n| (Kind::Bytes(0, u64::MAX), Value::Bytes(Bytes(n)))),
            (1..u64::MAX).prop_map(|n| (Kind::Amount, Value::Amount(Amount::Bytes(n)))),
            (1..u32::MAX).prop_map(|n| (Kind::Amount, Value::Amount(Amount::Packets(n)))),
            (1..u64::MAX).prop_map(|n| (Kind::Rate, Value::Rate(Rate(n)))),
            any::<u64>().prop_map(|n| (Kind::Int(0, u64::MAX), Value::Int(n))),
            proptest::num::f64::NORMAL
                .prop_map(|x| (Kind::Float(f64::NEG_INFINITY, f64::INFINITY), Value::Float(x))),
            (1..u32::MAX).prop_map(|n| (Kind::AmountOr("auto"), Value::Amount(Amount::Packets(n)))),
            Just((Kind::AmountOr("auto"), Value::Word("auto".to_owned()))),
            (1..u32::MAX).prop_map(|n| (Kind::Depth, Value::Amount(Amount::Packets(n)))),
            (1..u64::MAX).prop_map(|n| (Kind::Depth, Value::Amount(Amount::Bytes(n)))),
            (1..u64::MAX).prop_map(|n| (Kind::Depth, Value::Span(Span(n)))),
            any::<bool>().prop_map(|b| (Kind::Bool, Value::Bool(b))),
            (0..2usize).prop_map(|i| (Kind::Word(WORDS), Value::Word(WORDS[i].to_owned()))),
        ]
    }

    proptest! {
        /// Breaks if a printed value, its quotes taken off, is not read back as itself.
        #[test]
        fn what_is_printed_parses_back((kind, value) in any_value()) {
            let text = value.to_string();
            prop_assert_eq!(Value::parse(&kind, text.trim_matches('"'), &Scale::REFERENCE), Ok(value));
        }
    }
}
