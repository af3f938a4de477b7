//! Units in text: `"12.5us"`, `"10Gbps"`, `"256pkt"`, `"375KB"`.
//!
//! A quantity is a decimal number and its unit, with or without a space between. Digits may have
//! underscores between them, `µs` is `us`, and `Gb/s` is `Gbps`. Everything is done in integers: a
//! number that is not a whole number of picoseconds, bytes or bits per second is refused, never
//! rounded. KB, MB and GB are powers of 1000; KiB, MiB and GiB are powers of 1024.

use crate::Amount;
use leafspine_core::{Bytes, Rate, Span};
use std::borrow::Cow;

/// A unit's name and its size in the smallest unit of its kind.
pub(crate) type Unit = (&'static str, u64);

const SPAN: &[Unit] =
    &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];
const RATE: &[Unit] = &[
    ("bps", 1),
    ("kbps", 1_000),
    ("Mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
    ("Tbps", 1_000_000_000_000),
];
const BYTES: &[Unit] = &[
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];
const PACKETS: &[Unit] = &[("pkt", 1)];

/// What a time may look like.
pub const SPAN_FORM: &str = "a time such as \"12.5us\" (ps, ns, us, ms, s, rtt)";
/// What a rate may look like.
pub const RATE_FORM: &str = "a rate such as \"10Gbps\" (bps, kbps, Mbps, Gbps, Tbps)";
/// What a number of bytes may look like.
pub const BYTES_FORM: &str = "a size such as \"64KB\" (B, KB, MB, GB, KiB, MiB, GiB, bdp)";
/// What an amount of packets or bytes may look like.
pub const AMOUNT_FORM: &str =
    "packets or bytes such as \"65pkt\" or \"30KB\" (pkt, B, KB, MB, GB, KiB, MiB, GiB, bdp)";
/// What an amount or a time may look like.
pub const DEPTH_FORM: &str = "packets, bytes or a time such as \"65pkt\", \"30KB\" or \"32us\" \
     (pkt, B, KB, MB, GB, KiB, MiB, GiB, bdp, ps, ns, us, ms, s, rtt)";

/// What a number of packets may look like.
pub const PACKETS_FORM: &str = "a number of packets such as 65, \"65pkt\" or \"1bdp\"";

/// A text that is no quantity of the kind wanted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("found \"{found}\" ({why}); allowed: {allowed}")]
pub struct UnitError {
    /// The text.
    pub found: String,
    /// What is wrong with it.
    pub why: String,
    /// What would be right.
    pub allowed: &'static str,
}

/// A length of time, exact to the picosecond.
///
/// # Errors
/// If the text is no non-negative number with a unit of time, is finer than 1 ps, or exceeds
/// 2^64 - 1 ps (213 days).
pub fn parse_span(text: &str) -> Result<Span, UnitError> {
    quantity(text, SPAN, "1ps").map(Span).map_err(|why| error(text, why, SPAN_FORM))
}

/// A rate, exact to the bit per second. Zero is a rate here.
///
/// # Errors
/// If the text is no non-negative number with a unit of rate, or is finer than 1 b/s.
pub fn parse_rate(text: &str) -> Result<Rate, UnitError> {
    quantity(text, RATE, "1bps").map(Rate).map_err(|why| error(text, why, RATE_FORM))
}

/// A number of bytes.
///
/// # Errors
/// If the text is no non-negative number with a unit of bytes, or is finer than 1 byte.
pub fn parse_bytes(text: &str) -> Result<Bytes, UnitError> {
    quantity(text, BYTES, "1B").map(Bytes).map_err(|why| error(text, why, BYTES_FORM))
}

/// A number of packets or of bytes; the unit says which.
///
/// # Errors
/// If the text is no non-negative number with one of these units, is a fraction of a packet or
/// of a byte, or exceeds 2^32 - 1 packets.
pub fn parse_amount(text: &str) -> Result<Amount, UnitError> {
    let packets = || {
        let count = quantity(text, PACKETS, "1pkt")?;
        u32::try_from(count).map(Amount::Packets).map_err(|_| "too large".to_owned())
    };
    let amount = if text.trim_end().ends_with("pkt") {
        packets()
    } else {
        quantity(text, BYTES, "1B").map(Amount::Bytes)
    };
    amount.map_err(|why| error(text, why, AMOUNT_FORM))
}

/// Whether the unit of the text is one of time, whatever its number.
pub(crate) fn is_time(text: &str) -> bool {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || ".-_ ".contains(c));
    let unit = spelled(unit.trim());
    unit == "rtt" || SPAN.iter().any(|(name, _)| *name == unit)
}

fn error(found: &str, why: String, allowed: &'static str) -> UnitError {
    UnitError { found: found.to_owned(), why, allowed }
}

/// `text` in the smallest unit, `finest` in words.
pub(crate) fn quantity(text: &str, units: &[Unit], finest: &str) -> Result<u64, String> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err("negative".to_owned());
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_');
    let (number, name) = text.split_at(end.unwrap_or(text.len()));
    let (number, name) = (&*without_underscores(number)?, &*spelled(name.trim_start()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let dangling = number.contains('.') && fraction.is_empty();
    if whole.is_empty() || dangling || fraction.contains('.') {
        return Err("not a number with a unit".to_owned());
    }
    if name.is_empty() {
        return Err("the unit is missing".to_owned());
    }
    let Some((_, size)) = units.iter().find(|(unit, _)| *unit == name) else {
        return Err(format!("unknown unit \"{name}\""));
    };
    scale(whole, fraction, *size, finest)
}

/// A number without the underscores that may stand between two digits, as TOML has them.
fn without_underscores(number: &str) -> Result<Cow<'_, str>, String> {
    if !number.contains('_') {
        return Ok(number.into());
    }
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit());
    if number.split('.').all(|side| side.split('_').all(digits)) {
        Ok(number.replace('_', "").into())
    } else {
        Err("an underscore that is not between two digits".to_owned())
    }
}

/// A unit as the tables above have it: `µs` (either of the two letters) is `us`, `Gb/s` and `Gbit/s`
/// are `Gbps`.
fn spelled(unit: &str) -> Cow<'_, str> {
    if let Some(rest) = unit.strip_prefix(['\u{b5}', '\u{3bc}']) {
        return format!("u{rest}").into();
    }
    match unit.strip_suffix("b/s").or_else(|| unit.strip_suffix("bit/s")) {
        Some(prefix) => format!("{prefix}bps").into(),
        None => unit.into(),
    }
}

/// `whole.fraction * size`, exactly.
fn scale(whole: &str, fraction: &str, size: u64, finest: &str) -> Result<u64, String> {
    let too_large = || "too large".to_owned();
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    let whole = whole.checked_mul(size).ok_or_else(too_large)?;
    let part = part_of(fraction.trim_end_matches('0'), u128::from(size));
    let part = part.ok_or_else(|| format!("finer than {finest}"))?;
    whole.checked_add(part).ok_or_else(too_large)
}

/// `0.digits * size`, if that is a whole number.
fn part_of(digits: &str, size: u128) -> Option<u64> {
    // A size is at most 2^30 or 10^12 times a unit: more than 30 digits leave a remainder for sure.
    if digits.len() > 30 {
        return None;
    }
    let tens = 10u128.pow(digits.len() as u32);
    let number = digits.bytes().fold(0u128, |sum, digit| sum * 10 + u128::from(digit - b'0'));
    // number * size / tens, with the common factor taken out so that nothing overflows.
    let common = gcd(size, tens);
    let (size, tens) = (size / common, tens / common);
    if number % tens == 0 { u64::try_from(number / tens * size).ok() } else { None }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Breaks if a unit has a wrong size, or if a fraction goes through a float.
    #[test]
    fn quantities_are_exact() {
        assert_eq!(parse_span("12.5us"), Ok(Span(12_500_000)));
        assert_eq!(parse_span("0.1s"), Ok(Span(100_000_000_000)));
        assert_eq!(parse_span("1.000000000001s"), Ok(Span(1_000_000_000_001)));
        assert_eq!(parse_span("7ps"), Ok(Span(7)));
        assert_eq!(parse_span("18446744073709551615ps"), Ok(Span(u64::MAX)));
        assert_eq!(parse_rate("10Gbps"), Ok(Rate::from_gbps(10)));
        assert_eq!(parse_rate("0.3Gbps"), Ok(Rate::from_mbps(300)));
        assert_eq!(parse_rate("0.000000001Gbps"), Ok(Rate(1)));
        assert_eq!(parse_bytes("375KB"), Ok(Bytes(375_000)));
        assert_eq!(parse_bytes("1.5KiB"), Ok(Bytes(1_536)));
        assert_eq!(parse_bytes("0.000000000931322574615478515625GiB"), Ok(Bytes(1)));
        assert_eq!(parse_bytes("9MB"), Ok(Bytes(9_000_000)));
        assert_eq!(parse_amount("256pkt"), Ok(Amount::Packets(256)));
        assert_eq!(parse_amount("2MiB"), Ok(Amount::Bytes(2 << 20)));
    }

    /// Breaks if a way to write a quantity that can mean one thing only is refused, or means another.
    #[test]
    fn one_thing_has_several_spellings() {
        for text in ["2us", "2 us", " 2us ", "2\u{b5}s", "2 \u{3bc}s", "2.0us", "2_000ns", "2\tus"]
        {
            assert_eq!(parse_span(text), Ok(Span(2_000_000)), "{text:?}");
        }
        for text in ["10Gbps", "10 Gbps", "10Gb/s", "10 Gbit/s", "10_000 Mb/s", "1_0.0_0Gbps"] {
            assert_eq!(parse_rate(text), Ok(Rate::from_gbps(10)), "{text:?}");
        }
        assert_eq!(parse_rate("7 b/s"), Ok(Rate(7)));
        assert_eq!(parse_bytes("64 KB"), Ok(Bytes(64_000)));
        assert_eq!(parse_amount("65 pkt "), Ok(Amount::Packets(65)));
        assert_eq!(parse_amount("30 KB"), Ok(Amount::Bytes(30_000)));
        assert_eq!(parse_bytes("1Kb/s").unwrap_err().why, "unknown unit \"Kbps\"");
    }

    /// Breaks if something that is no exact quantity is taken, or refused for another reason.
    #[test]
    fn the_rest_is_refused_with_a_reason() {
        let span = |text: &str| parse_span(text).unwrap_err().why;
        for (text, why) in [
            ("-5us", "negative"),
            ("5", "the unit is missing"),
            ("5usec", "unknown unit \"usec\""),
            ("5 usec", "unknown unit \"usec\""),
            ("5_us", "an underscore that is not between two digits"),
            ("_5us", "an underscore that is not between two digits"),
            ("1__0us", "an underscore that is not between two digits"),
            ("1_.5us", "an underscore that is not between two digits"),
            ("5 ", "the unit is missing"),
            (" -5 us", "negative"),
            ("us", "not a number with a unit"),
            ("", "not a number with a unit"),
            (".5us", "not a number with a unit"),
            ("5.us", "not a number with a unit"),
            ("1.2.3us", "not a number with a unit"),
            ("0.5ps", "finer than 1ps"),
            ("0.0000000000000000000000000000000000001s", "finer than 1ps"),
            ("18446744073709551616ps", "too large"),
            ("18446744073709.6s", "too large"),
            ("99999999999999999999999999s", "too large"),
        ] {
            assert_eq!(span(text), why, "{text:?}");
        }
        assert_eq!(parse_bytes("0.5B").unwrap_err().why, "finer than 1B");
        assert_eq!(parse_amount("1.5pkt").unwrap_err().why, "finer than 1pkt");
        assert_eq!(parse_amount("4294967296pkt").unwrap_err().why, "too large");
        assert_eq!(parse_rate("10GBps").unwrap_err().why, "unknown unit \"GBps\"");
    }

    /// Breaks if the message leaves out what was found, or which units there are.
    #[test]
    fn the_message_says_what_was_found_and_what_is_allowed() {
        assert_eq!(
            parse_span("5sec").unwrap_err().to_string(),
            "found \"5sec\" (unknown unit \"sec\"); \
             allowed: a time such as \"12.5us\" (ps, ns, us, ms, s, rtt)"
        );
    }

    proptest! {
        /// Breaks if printing and parsing are not inverse.
        #[test]
        fn what_is_printed_parses_back(shift in 0u32..64, raw: u64) {
            let n = raw >> shift;
            prop_assert_eq!(parse_span(&Span(n).to_string()), Ok(Span(n)));
            prop_assert_eq!(parse_rate(&Rate(n).to_string()), Ok(Rate(n)));
            prop_assert_eq!(parse_bytes(&Bytes(n).to_string()), Ok(Bytes(n)));
            prop_assert_eq!(parse_amount(&Amount::Bytes(n).to_string()), Ok(Amount::Bytes(n)));
            let packets = Amount::Packets(n as u32);
            prop_assert_eq!(parse_amount(&packets.to_string()), Ok(packets));
        }

        /// Breaks if any text makes a parser panic.
        #[test]
        fn no_text_panics(text in "\\PC{0,40}|[0-9.]{0,45}[a-zA-Z]{0,4}") {
            let _ = (parse_span(&text), parse_rate(&text), parse_bytes(&text), parse_amount(&text));
        }
    }
}
