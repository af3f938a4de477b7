//! Parameters of schemes: declared once, read by the scenario file, the catalogue and the scheme.

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
        }
    }
}

/// What a parameter may be. Bounds are inclusive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// A span of time between the two, in picoseconds.
    Span(u64, u64),
    /// A number of bytes between the two.
    Bytes(u64, u64),
    /// Packets or bytes, at least one.
    Amount,
    /// A rate, at least 1 b/s.
    Rate,
    /// A whole number between the two.
    Int(u64, u64),
    /// A number between the two.
    Float(f64, f64),
    /// `true` or `false`.
    Bool,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// A declared parameter.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its key in the scenario file.
    pub name: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// Its default as the scenario file would write it (without quotes); `None`: must be given.
    pub default: Option<&'static str>,
    /// One sentence: what it does.
    pub doc: &'static str,
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
    /// Where the source is silent, and what was chosen. One item a choice.
    pub silent: &'static [&'static str],
    /// Its parameters.
    pub params: &'static [Param],
}

/// Why a scheme cannot be made with these parameters, here.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{key}: {message}")]
pub struct ParamError {
    /// The parameter.
    pub key: String,
    /// What is wrong, and what is allowed.
    pub message: String,
}

/// The parameters of one scheme, all present and of their declared kind: the scenario crate puts
/// the defaults in.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Params(pub BTreeMap<String, Value>);

macro_rules! getter {
    ($name:ident, $variant:ident, $type:ty) => {
        #[doc = concat!("The value of a declared `", stringify!($variant), "` parameter.\n\n# Panics\nIf the scheme did not declare it so.")]
        #[must_use]
        pub fn $name(&self, key: &str) -> $type {
            match self.0.get(key) {
                Some(Value::$variant(value)) => value.clone(),
                other => panic!("parameter {key} is {other:?}, declared otherwise"),
            }
        }
    };
}

impl Params {
    getter!(span, Span, Span);
    getter!(bytes, Bytes, Bytes);
    getter!(amount, Amount, Amount);
    getter!(rate, Rate, Rate);
    getter!(int, Int, u64);
    getter!(float, Float, f64);
    getter!(flag, Bool, bool);
    getter!(word, Word, String);

    /// These parameters with one changed: for tests and for examples.
    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> Params {
        self.0.insert(key.to_owned(), value);
        self
    }
}
