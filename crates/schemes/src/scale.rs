//! Times in base round trips, sizes in bandwidth-delay products: `"2rtt"`, `"4bdp"`.
//!
//! What suits a fabric of 1 Gb/s misleads at 400 Gb/s: a flowlet gap of 500 us is five base round
//! trips there and fifty here. So a time may be said in base round trips and a size in
//! bandwidth-delay products, `"max(20pkt, 1bdp)"` takes the larger of two, and the defaults that
//! depend on rates and delays are said so. What a run uses is a number: it is worked out when the
//! scenario is read.

use crate::units::{self, BYTES_FORM, DEPTH_FORM, PACKETS_FORM, SPAN_FORM, UnitError};
use crate::{Amount, Value};
use leafspine_core::{Bytes, Rate, Span};

/// What times and sizes follow from: the fabric without load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scale {
    /// Rate of the hosts' links: no flow is faster.
    pub rate: Rate,
    /// Round-trip time of the empty fabric between the farthest hosts: a full-sized packet and its
    /// ACK.
    pub base_rtt: Span,
    /// Bytes of a full-sized packet.
    pub mtu: u32,
}

/// Parts of a base round trip or bandwidth-delay product that a text can name.
const PARTS: u64 = 1_000_000;
/// From here on times are whole microseconds, below whole nanoseconds.
const COARSE: u128 = 10_000_000;
const NO_FABRIC: &str = "the topology, from which it follows, cannot itself be given in it";

impl Scale {
    /// 1 Gb/s and 100 us, as in DCTCP's testbed: where a scheme is made without a scenario.
    pub const REFERENCE: Scale =
        Scale { rate: Rate::from_gbps(1), base_rtt: Span::from_micros(100), mtu: 1_500 };

    /// The bandwidth-delay product in bytes, rounded up.
    #[must_use]
    pub fn bdp(&self) -> Bytes {
        // Bits per second times picoseconds, to bytes.
        let bytes =
            (u128::from(self.rate.0) * u128::from(self.base_rtt.0)).div_ceil(8 * 10u128.pow(12));
        Bytes(fit(bytes))
    }
}

/// `picoseconds` as a time that a person would write: rounded up to whole microseconds, or to whole
/// nanoseconds below 10 us.
#[must_use]
pub fn round_up(picoseconds: u128) -> Span {
    let unit = if picoseconds >= COARSE { 1_000_000 } else { 1_000 };
    Span(fit(picoseconds.div_ceil(unit) * unit))
}

/// A length of time, in any unit, in base round trips, or the larger of two.
///
/// # Errors
/// As [`units::parse_span`]; and for round trips without a `scale`.
pub fn parse_span(text: &str, scale: Option<&Scale>) -> Result<Span, UnitError> {
    let one = |text: &str| match parts(text, "rtt", scale, SPAN_FORM)? {
        Some((n, scale)) => {
            Ok(round_up((u128::from(n) * u128::from(scale.base_rtt.0)).div_ceil(PARTS.into())))
        }
        None => units::parse_span(text),
    };
    larger(text, SPAN_FORM, one, |span| span.0)
}

/// A number of bytes, in any unit, in bandwidth-delay products, or the larger of two.
///
/// # Errors
/// As [`units::parse_bytes`]; and for bandwidth-delay products without a `scale`.
pub fn parse_bytes(text: &str, scale: Option<&Scale>) -> Result<Bytes, UnitError> {
    let one = |text: &str| match parts(text, "bdp", scale, BYTES_FORM)? {
        Some((n, scale)) => Ok(products(n, scale)),
        None => units::parse_bytes(text),
    };
    larger(text, BYTES_FORM, one, |bytes| bytes.0)
}

/// Packets or bytes; in bandwidth-delay products it is full-sized packets, rounded up. Of two, the
/// one that is larger with full-sized packets.
///
/// # Errors
/// As [`units::parse_amount`]; and for bandwidth-delay products without a `scale`.
pub fn parse_amount(text: &str, scale: Option<&Scale>) -> Result<Amount, UnitError> {
    let one = |text: &str| match parts(text, "bdp", scale, units::AMOUNT_FORM)? {
        Some((n, scale)) => {
            let packets = products(n, scale).0.div_ceil(u64::from(scale.mtu.max(1)));
            Ok(Amount::Packets(u32::try_from(packets).unwrap_or(u32::MAX)))
        }
        None => units::parse_amount(text),
    };
    let mtu = scale.map_or(Scale::REFERENCE.mtu, |scale| scale.mtu);
    larger(text, units::AMOUNT_FORM, one, |amount| amount.in_bytes(mtu))
}

/// Packets or bytes, or a time; what a unit of neither is is said of both.
///
/// # Errors
/// As [`parse_amount`] and [`parse_span`].
pub fn parse_depth(text: &str, scale: Option<&Scale>) -> Result<Value, UnitError> {
    let inner = text.trim().strip_prefix("max(").unwrap_or(text);
    if let Some((one, other)) = inner.trim_end_matches(')').split_once(',') {
        let is_time = |text: &str| parse_span(text.trim(), scale).is_ok();
        let is_size = |text: &str| parse_amount(text.trim(), scale).is_ok();
        if is_time(one) && is_size(other) || is_size(one) && is_time(other) {
            let why = "a size and a time in one max".to_owned();
            return Err(UnitError { found: text.to_owned(), why, allowed: DEPTH_FORM });
        }
    }
    let first = inner.split([',', ')']).next().unwrap_or(inner);
    let found = if units::is_time(first) {
        parse_span(text, scale).map(Value::Span)
    } else {
        parse_amount(text, scale).map(Value::Amount)
    };
    found.map_err(|error| UnitError { allowed: DEPTH_FORM, ..error })
}

/// A number of packets, with or without the unit.
///
/// # Errors
/// As [`parse_amount`]; and for a number of bytes.
pub fn parse_packets(text: &str, scale: Option<&Scale>) -> Result<u64, UnitError> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let error = |why: String| UnitError { found: text.to_owned(), why, allowed: PACKETS_FORM };
    match parse_amount(text, scale).map_err(|other| error(other.why))? {
        Amount::Packets(number) => Ok(u64::from(number)),
        Amount::Bytes(_) => Err(error("bytes, where packets are counted".to_owned())),
    }
}

/// So many parts of the bandwidth-delay product, in bytes, rounded up.
fn products(parts: u64, scale: &Scale) -> Bytes {
    Bytes(fit((u128::from(parts) * u128::from(scale.bdp().0)).div_ceil(PARTS.into())))
}

/// The number before `unit` in parts, and the scale; `None` if the text has another unit.
fn parts<'a>(
    text: &str,
    unit: &'static str,
    scale: Option<&'a Scale>,
    allowed: &'static str,
) -> Result<Option<(u64, &'a Scale)>, UnitError> {
    if !text.ends_with(unit) {
        return Ok(None);
    }
    let error = |why: String| UnitError { found: text.to_owned(), why, allowed };
    let number = units::quantity(text, &[(unit, PARTS)], "a millionth").map_err(error)?;
    scale.map(|scale| Some((number, scale))).ok_or_else(|| error(NO_FABRIC.to_owned()))
}

/// The value of `text`, or of the larger of `max(one, other)`.
fn larger<T>(
    text: &str,
    allowed: &'static str,
    one: impl Fn(&str) -> Result<T, UnitError>,
    size: impl Fn(&T) -> u64,
) -> Result<T, UnitError> {
    let Some(inner) = text.strip_prefix("max(").and_then(|text| text.strip_suffix(')')) else {
        return one(text);
    };
    let Some((first, second)) = inner.split_once(',') else {
        let why = "max takes two, with a comma between".to_owned();
        return Err(UnitError { found: text.to_owned(), why, allowed });
    };
    let (first, second) = (one(first.trim())?, one(second.trim())?);
    Ok(if size(&second) > size(&first) { second } else { first })
}

fn fit(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 400 Gb/s and 9.96 us: a product of 498,000 bytes, 332 packets.
    const FAST: Scale =
        Scale { rate: Rate(400_000_000_000), base_rtt: Span(9_960_000), mtu: 1_500 };

    fn span(text: &str) -> Span {
        parse_span(text, Some(&FAST)).unwrap()
    }

    /// Breaks if a round trip is another, is rounded down, or not to what a person would write; or
    /// if other units are no longer exact.
    #[test]
    fn times_follow_the_round_trip() {
        assert_eq!(span("2rtt"), Span::from_micros(20));
        assert_eq!(span("0.5rtt"), Span::from_nanos(4_980));
        assert_eq!(span("0.1rtt"), Span::from_nanos(996));
        assert_eq!(span("0.12345rtt"), Span::from_nanos(1_230));
        assert_eq!(span("0rtt"), Span::ZERO);
        assert_eq!(span("9.96us"), Span(9_960_000));
        assert_eq!(span("max(1us, 2rtt)"), Span::from_micros(20));
        assert_eq!(span("max(1ms,2rtt)"), Span::from_millis(1));
        assert_eq!(span("99999999999rtt"), Span(995_999_999_991_000_000));
    }

    /// Breaks if a product is not rate times round trip, is rounded down, or if packets and bytes are
    /// compared without the packets' size.
    #[test]
    fn sizes_follow_the_product() {
        let amount = |text: &str| parse_amount(text, Some(&FAST)).unwrap();
        assert_eq!(FAST.bdp(), Bytes(498_000));
        assert_eq!(Scale::REFERENCE.bdp(), Bytes(12_500));
        assert_eq!(amount("1bdp"), Amount::Packets(332));
        assert_eq!(amount("4bdp"), Amount::Packets(1_328));
        assert_eq!(amount("0.001bdp"), Amount::Packets(1));
        assert_eq!(amount("max(256pkt, 1bdp)"), Amount::Packets(332));
        assert_eq!(amount("max(1MB, 1bdp)"), Amount::Bytes(1_000_000));
        assert_eq!(amount("max(333pkt, 499KB)"), Amount::Packets(333));
        assert_eq!(parse_bytes("1.5bdp", Some(&FAST)), Ok(Bytes(747_000)));
        assert_eq!(parse_bytes("max(600KB, 1bdp)", Some(&FAST)), Ok(Bytes(600_000)));
    }

    /// Breaks if the unit does not say whether a threshold is a size or a time, or if the larger of two is taken of both.
    #[test]
    fn thresholds_are_sizes_or_times() {
        let depth = |text: &str| parse_depth(text, Some(&FAST));
        assert_eq!(depth("32us"), Ok(Value::Span(Span::from_micros(32))));
        assert_eq!(depth("0.5 µs"), Ok(Value::Span(Span::from_nanos(500))));
        assert_eq!(depth("2rtt"), Ok(Value::Span(Span::from_micros(20))));
        assert_eq!(depth("max(1us, 2rtt)"), Ok(Value::Span(Span::from_micros(20))));
        assert_eq!(depth("65pkt"), Ok(Value::Amount(Amount::Packets(65))));
        assert_eq!(depth("100KB"), Ok(Value::Amount(Amount::Bytes(100_000))));
        assert_eq!(depth("max(20pkt, 1bdp)"), Ok(Value::Amount(Amount::Packets(332))));
        let why = |text: &str| depth(text).unwrap_err();
        assert_eq!(why("max(20pkt, 1us)").why, "a size and a time in one max");
        assert_eq!(why("max(1rtt, 0.5bdp)").why, "a size and a time in one max");
        assert_eq!(why("max(20pkt, 1Gbps)").why, "unknown unit \"Gbps\"");
        assert_eq!(why("32").why, "the unit is missing");
        assert_eq!(
            (why("10Gbps").why, why("-1us").why),
            ("unknown unit \"Gbps\"".into(), "negative".into())
        );
        assert_eq!(why("10Gbps").allowed, DEPTH_FORM);
    }

    /// Breaks if the topology itself could be given in round trips, or if what is no number is
    /// taken.
    #[test]
    fn the_rest_is_refused_with_a_reason() {
        let why = |text: &str, scale| parse_span(text, scale).unwrap_err().why;
        assert_eq!(why("2rtt", None), NO_FABRIC);
        assert_eq!(why("-2rtt", Some(&FAST)), "negative");
        assert_eq!(why("rtt", Some(&FAST)), "not a number with a unit");
        assert_eq!(why("0.0000001rtt", Some(&FAST)), "finer than a millionth");
        assert_eq!(why("max(2rtt)", Some(&FAST)), "max takes two, with a comma between");
        assert_eq!(why("max(2rtt, 3)", Some(&FAST)), "the unit is missing");
        assert_eq!(why("2bdp", Some(&FAST)), "unknown unit \"bdp\"");
        assert_eq!(parse_amount("1bdp", None).unwrap_err().why, NO_FABRIC);
    }
}
