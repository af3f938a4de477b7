//! A scheme's parameters as a struct of its own: declared once, read once when the scheme is made.
//!
//! [`parameters!`](crate::parameters) makes of one list the declarations for scenario file and catalogue
//! and the struct that the scheme reads, so neither can name what the other does not have.

use crate::{Amount, Depth, Kind, ParamError, Params, Value};
use leafspine_core::{Bytes, Rate, Span};

/// A type that a parameter can be read as.
pub trait FromValue: Sized {
    /// The widest kind whose values are all of this type.
    const WIDEST: Kind;

    /// `value`, if it is of that kind.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! read_as {
    ($($type:ty, $kind:expr, $($value:pat => $read:expr),+;)*) => {$(
        impl FromValue for $type {
            const WIDEST: Kind = $kind;

            fn from_value(value: &Value) -> Option<$type> {
                match value {
                    $($value => $read,)+
                    _ => None,
                }
            }
        }
    )*};
}

read_as! {
    Span, Kind::Span(0, u64::MAX), Value::Span(v) => Some(*v);
    Option<Span>, Kind::SpanOr(0, u64::MAX, ""), Value::Span(v) => Some(Some(*v)), Value::Word(_) => Some(None);
    Bytes, Kind::Bytes(0, u64::MAX), Value::Bytes(v) => Some(*v);
    Amount, Kind::Amount, Value::Amount(v) => Some(*v);
    Option<Amount>, Kind::AmountOr(""), Value::Amount(v) => Some(Some(*v)), Value::Word(_) => Some(None);
    Depth, Kind::Depth, Value::Amount(v) => Some(Depth::Amount(*v)), Value::Span(v) => Some(Depth::Time(*v));
    Rate, Kind::Rate, Value::Rate(v) => Some(*v);
    u8, Kind::Int(0, u8::MAX as u64), Value::Int(v) => (*v).try_into().ok();
    u16, Kind::Int(0, u16::MAX as u64), Value::Int(v) => (*v).try_into().ok();
    u32, Kind::Int(0, u32::MAX as u64), Value::Int(v) => (*v).try_into().ok();
    u64, Kind::Int(0, u64::MAX), Value::Int(v) => Some(*v);
    usize, Kind::Int(0, usize::MAX as u64), Value::Int(v) => (*v).try_into().ok();
    f64, Kind::Float(f64::NEG_INFINITY, f64::INFINITY), Value::Float(v) => Some(*v);
    bool, Kind::Bool, Value::Bool(v) => Some(*v);
    Vec<f64>, Kind::Numbers(usize::MAX), Value::Numbers(v) => Some(v.clone());
}

impl Params {
    /// The value of the parameter `key`.
    ///
    /// # Errors
    /// If there is none, or one of another kind.
    pub fn read<T: FromValue>(&self, key: &str) -> Result<T, ParamError> {
        let found = self.0.get(key);
        found.and_then(T::from_value).ok_or_else(|| {
            let found = found.map_or("nothing".to_owned(), Value::to_string);
            ParamError::new(key, found, T::WIDEST.allowed())
        })
    }
}

impl Kind {
    /// Whether all values of this kind are values of `widest` too. Of the kinds that take a word instead of a
    /// number, the word does not matter.
    #[must_use]
    pub const fn is_within(&self, widest: &Kind) -> bool {
        match (self, widest) {
            (Kind::Int(_, high) | Kind::Packets(_, high), Kind::Int(_, most)) => *high <= *most,
            (Kind::Word(own), Kind::Word(all)) => same_words(own, all),
            (own, all) => matches!(
                (own, all),
                (Kind::Span(..), Kind::Span(..))
                    | (Kind::SpanOr(..), Kind::SpanOr(..))
                    | (Kind::Bytes(..), Kind::Bytes(..))
                    | (Kind::Amount, Kind::Amount)
                    | (Kind::AmountOr(_), Kind::AmountOr(_))
                    | (Kind::Depth, Kind::Depth)
                    | (Kind::Rate, Kind::Rate)
                    | (Kind::Float(..), Kind::Float(..))
                    | (Kind::Bool, Kind::Bool)
                    | (Kind::Numbers(_), Kind::Numbers(_))
            ),
        }
    }
}

/// `==` of two lists of words, which constants cannot call.
const fn same_words(one: &[&str], other: &[&str]) -> bool {
    let mut same = one.len() == other.len();
    let mut word = 0;
    while same && word < one.len() {
        let (left, right) = (one[word].as_bytes(), other[word].as_bytes());
        same = left.len() == right.len();
        let mut at = 0;
        while same && at < left.len() {
            same = left[at] == right[at];
            at += 1;
        }
        word += 1;
    }
    same
}

/// Declares a scheme's parameters and the struct that it reads them into.
///
/// Each field is a parameter of the field's name, with a [`Param`](crate::Param) that says what it may be. A
/// type that does not have all values of the declared kind does not compile.
///
/// ```
/// use leafspine_core::Span;
/// use leafspine_schemes::{Kind, Param, Params, parameters};
///
/// parameters! {
///     struct Settings {
///         gap: Span = Param::new(Kind::Span(1, u64::MAX), "500us", "Flowlet timeout."),
///         entries: usize = Param::new(Kind::Int(1, 1 << 24), "65536", "Entries of the table."),
///     }
/// }
///
/// let settings = Settings::read(&Params::defaults(Settings::PARAMS)).unwrap();
/// assert_eq!((settings.gap, settings.entries), (Span::from_micros(500), 65_536));
/// ```
///
/// ```compile_fail
/// # use leafspine_schemes::{Kind, Param, parameters};
/// parameters! {
///     struct Settings {
///         entries: u16 = Param::new(Kind::Int(1, 1 << 24), "65536", "2^24 is no u16."),
///     }
/// }
/// ```
#[macro_export]
macro_rules! parameters {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($field:ident: $type:ty = $param:expr,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug)]
        $vis struct $name {
            $($vis $field: $type,)*
        }

        impl $name {
            /// The declarations, in the catalogue's order.
            $vis const PARAMS: &'static [$crate::Param] =
                &[$($crate::Param { name: stringify!($field), ..$param },)*];

            /// The values of the declared parameters.
            ///
            /// # Errors
            /// If one is missing or of another kind than declared.
            $vis fn read(params: &$crate::Params) -> Result<$name, $crate::ParamError> {
                Ok($name { $($field: params.read(stringify!($field))?,)* })
            }
        }

        const _: () = {
            $(assert!(
                ($param).kind.is_within(&<$type as $crate::FromValue>::WIDEST),
                concat!("the type of `", stringify!($field), "` does not have all values of its kind"),
            );)*
        };
    };
}

/// Declares enums, each for a parameter that is one of a list of words; `KIND` is that parameter's kind.
///
/// ```
/// leafspine_schemes::words! {
///     enum By {
///         Bytes = "bytes",
///         Delay = "delay",
///     }
/// }
/// assert_eq!(By::KIND, leafspine_schemes::Kind::Word(&["bytes", "delay"]));
/// ```
#[macro_export]
macro_rules! words {
    ($($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$note:meta])* $variant:ident = $word:literal,)*
    })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        $vis enum $name {
            $($(#[$note])* $variant,)*
        }

        impl $name {
            /// One of the words.
            $vis const KIND: $crate::Kind = $crate::Kind::Word(&[$($word,)*]);
        }

        impl $crate::FromValue for $name {
            const WIDEST: $crate::Kind = $name::KIND;

            fn from_value(value: &$crate::Value) -> Option<$name> {
                match value {
                    $crate::Value::Word(word) => match word.as_str() {
                        $($word => Some($name::$variant),)*
                        _ => None,
                    },
                    _ => None,
                }
            }
        }
    )*};
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Param;

    words! {
        enum By {
            Bytes = "bytes",
            Delay = "delay",
        }
    }

    parameters! {
        struct Settings {
            gap: Span = Param::new(Kind::Span(1, u64::MAX), "500us", "A time."),
            relay: Option<Span> = Param::new(Kind::SpanOr(0, 9, "never"), "never", "A time or a word."),
            size: Bytes = Param::new(Kind::Bytes(1, 1_500), "64B", "A size."),
            threshold: Amount = Param::new(Kind::Amount, "65pkt", "A threshold."),
            marking: Option<Amount> = Param::new(Kind::AmountOr("auto"), "30KB", "A threshold or a word."),
            rate: Rate = Param::new(Kind::Rate, "10Gbps", "A rate."),
            bits: u8 = Param::new(Kind::Int(1, 8), "3", "A number."),
            most: u32 = Param::new(Kind::Packets(1, 1 << 20), "20", "Packets."),
            gain: f64 = Param::new(Kind::Float(0.0, 1.0), "0.0625", "A share."),
            ecn: bool = Param::new(Kind::Bool, "true", "A switch."),
            by: By = Param::new(By::KIND, "delay", "A word."),
            fit: Vec<f64> = Param::new(Kind::Numbers(2), "[0.5, 1]", "Numbers."),
        }
    }

    fn defaults() -> Params {
        Params::defaults(Settings::PARAMS)
    }

    /// Breaks if a field has another parameter's value, or a kind is read as something else.
    #[test]
    fn every_kind_is_read_as_its_type() {
        let expected = Settings {
            gap: Span::from_micros(500),
            relay: None,
            size: Bytes(64),
            threshold: Amount::Packets(65),
            marking: Some(Amount::Bytes(30_000)),
            rate: Rate::from_gbps(10),
            bits: 3,
            most: 20,
            gain: 0.0625,
            ecn: true,
            by: By::Delay,
            fit: vec![0.5, 1.0],
        };
        assert_eq!(Settings::read(&defaults()), Ok(expected));
        let others = defaults()
            .with("relay", Value::Span(Span(7)))
            .with("marking", Value::Word("auto".to_owned()))
            .with("by", Value::Word("bytes".to_owned()));
        let others = Settings::read(&others).unwrap();
        assert_eq!((others.relay, others.marking, others.by), (Some(Span(7)), None, By::Bytes));
    }

    /// Breaks if a declaration has another name than its field, or stands at another place.
    #[test]
    fn declarations_are_named_after_their_fields() {
        let names: Vec<&str> = Settings::PARAMS.iter().map(|param| param.name).collect();
        assert_eq!((names[0], names[6], names[11], names.len()), ("gap", "bits", "fit", 12));
        assert_eq!(Settings::PARAMS[10].kind, Kind::Word(&["bytes", "delay"]));
    }

    /// Breaks if a value that is missing, of another kind or too large for its type is no error, or one
    /// that does not say which parameter it is.
    #[test]
    fn what_does_not_fit_is_an_error() {
        let said = |params: Params| Settings::read(&params).unwrap_err().to_string();
        let mut without = defaults();
        without.0.remove("ecn");
        assert_eq!(said(without), "ecn: found nothing; allowed: true or false");
        let other = defaults().with("size", Value::Int(1));
        assert!(said(other).starts_with("size: found 1; allowed: a size"));
        let large = defaults().with("bits", Value::Int(256));
        assert_eq!(said(large), "bits: found 256; allowed: a whole number, at most 255");
        let word = defaults().with("by", Value::Word("size".to_owned()));
        assert_eq!(said(word), "by: found \"size\"; allowed: \"bytes\", \"delay\"");
    }

    /// Breaks if a type is taken that does not have all values of the kind: `parameters!` would compile.
    #[test]
    fn types_have_all_values_of_the_kind() {
        let fits = |kind: Kind, widest: Kind| kind.is_within(&widest);
        assert!(fits(Kind::Int(0, 255), u8::WIDEST) && !fits(Kind::Int(0, 256), u8::WIDEST));
        assert!(fits(Kind::Packets(1, 9), u32::WIDEST) && !fits(Kind::Int(0, 9), f64::WIDEST));
        assert!(!fits(Kind::Span(0, 1), <Option<Span>>::WIDEST));
        assert!(!fits(Kind::SpanOr(0, 1, "none"), Span::WIDEST));
        assert!(!fits(Kind::Amount, <Option<Amount>>::WIDEST));
        assert!(fits(Kind::Word(&["bytes", "delay"]), By::WIDEST));
        for words in [&["bytes"][..], &["bytes", "delax"], &["delay", "bytes"], &["byte", "delay"]]
        {
            assert!(!same_words(words, &["bytes", "delay"]), "{words:?}");
        }
    }
}
