//! Numbers as other programs write them.

use crate::spec::TimeUnit;

/// A whole number; tables with gaps write `1460.0`.
pub(super) fn whole(text: &str) -> Option<u64> {
    decimal(text, 0)
}

/// A time in picoseconds, rounded to the nearest; of picoseconds a whole number.
pub(super) fn picoseconds(text: &str, unit: TimeUnit) -> Option<u64> {
    let power = unit.power();
    if power > 0 && text.contains(['e', 'E']) {
        let found = text.parse::<f64>().ok()? * 10f64.powi(power as i32);
        return (0.0..=1.8e19).contains(&found).then(|| found.round() as u64);
    }
    decimal(text, power)
}

/// A decimal number of so many places, exact; without any, its fraction must be zero.
fn decimal(text: &str, places: u32) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let kept = fraction.len().min(places as usize);
    let (kept, rest) = fraction.split_at(kept);
    if places == 0 && rest.bytes().any(|digit| digit != b'0') {
        return None;
    }
    let tail = if kept.is_empty() { 0 } else { kept.parse::<u64>().ok()? };
    let shift = |power: u32| 10u64.checked_pow(power);
    let high = whole.parse::<u64>().ok()?.checked_mul(shift(places)?)?;
    let low = tail.checked_mul(shift(places - kept.len() as u32)?)?;
    high.checked_add(low)?.checked_add(u64::from(rest.bytes().next().is_some_and(|d| d >= b'5')))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a time is off by a picosecond, or something that is no time is taken for one.
    #[test]
    fn times_are_exact() {
        for (text, unit, ps) in [
            ("12", TimeUnit::Ps, 12),
            ("12.0", TimeUnit::Ps, 12),
            ("18446744073709551615", TimeUnit::Ps, u64::MAX),
            ("0.000001", TimeUnit::Us, 1),
            ("1.2345678", TimeUnit::Us, 1_234_568),
            ("1.5e-6", TimeUnit::S, 1_500_000),
            ("3.", TimeUnit::Ns, 3_000),
        ] {
            assert_eq!(picoseconds(text, unit), Some(ps), "{text}");
        }
        for text in ["", "-1", "1.5", "1e3", "x", ".5", "18446744073709551616", "+1", "NaN"] {
            assert_eq!(picoseconds(text, TimeUnit::Ps), None, "{text}");
        }
        assert_eq!(picoseconds("99999999", TimeUnit::S), None);
    }
}
