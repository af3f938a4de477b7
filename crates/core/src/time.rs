//! Simulated time in whole picoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// An instant: picoseconds since the start of the run. `u64` reaches 213 days.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(pub u64);

/// A length of time in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span(pub u64);

impl Time {
    /// The start of a run.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const MAX: Time = Time(u64::MAX);
    /// A run ends here at the latest: 100 days. Half of what the clock holds, so that what is
    /// scheduled during a run lies between.
    pub const END: Time = Time(8_640_000_000_000_000_000);

    /// The time since `earlier`, zero if `earlier` is in fact later.
    #[inline]
    #[must_use]
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// Seconds since the start, for display and for statistics.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// Longer than any run.
    pub const MAX: Span = Span(u64::MAX);

    /// `ns` nanoseconds.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Span {
        Span(ns * 1_000)
    }

    /// `us` microseconds.
    #[must_use]
    pub const fn from_micros(us: u64) -> Span {
        Span(us * 1_000_000)
    }

    /// `ms` milliseconds.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Span {
        Span(ms * 1_000_000_000)
    }

    /// The nearest span of so many digits, to be read: of 2, 8.0763ms is 8.1ms.
    #[must_use]
    pub fn about(self, digits: u32) -> Span {
        let places = self.0.checked_ilog10().map_or(0, |most| (most + 1).saturating_sub(digits));
        let unit = 10u64.pow(places);
        Span((self.0 / unit + u64::from(self.0 % unit >= unit.div_ceil(2))).saturating_mul(unit))
    }

    /// Seconds, for display and for statistics.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }

    /// The nearest span to `secs` seconds; zero for negative or NaN, saturating at the far end.
    #[must_use]
    pub fn from_secs_f64(secs: f64) -> Span {
        // Adding one half and truncating rounds to nearest without a libm call.
        Span((secs * 1e12 + 0.5) as u64)
    }
}

/// Stays at [`Time::MAX`] rather than wrap to zero.
impl Add<Span> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Time> for Time {
    type Output = Span;
    #[inline]
    fn sub(self, earlier: Time) -> Span {
        debug_assert!(self >= earlier, "time runs forwards");
        Span(self.0 - earlier.0)
    }
}

impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, other: Span) -> Span {
        Span(self.0 + other.0)
    }
}

impl Sub for Span {
    type Output = Span;
    #[inline]
    fn sub(self, other: Span) -> Span {
        Span(self.0 - other.0)
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    #[inline]
    fn mul(self, factor: u64) -> Span {
        Span(self.0 * factor)
    }
}

impl Div<u64> for Span {
    type Output = Span;
    #[inline]
    fn div(self, divisor: u64) -> Span {
        Span(self.0 / divisor)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

/// Written in the largest unit that keeps the number exact, as the scenario file has it: `12.5us`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 5] = [
            (1_000_000_000_000, "s"),
            (1_000_000_000, "ms"),
            (1_000_000, "us"),
            (1_000, "ns"),
            (1, "ps"),
        ];
        let (unit, name) = UNITS.into_iter().find(|(unit, _)| self.0 >= *unit).unwrap_or((1, "ps"));
        let (whole, rest) = (self.0 / unit, self.0 % unit);
        if rest == 0 {
            return write!(f, "{whole}{name}");
        }
        let digits = unit.ilog10() as usize;
        let fraction = format!("{rest:0digits$}");
        write!(f, "{whole}.{}{name}", fraction.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a span is printed in a unit or with digits that lose picoseconds.
    #[test]
    fn spans_print_exactly() {
        for (span, text) in [
            (Span(0), "0ps"),
            (Span(12_500_000), "12.5us"),
            (Span::from_millis(500), "500ms"),
            (Span(1_000_000_000_001), "1.000000000001s"),
            (Span(999), "999ps"),
        ] {
            assert_eq!(span.to_string(), text);
        }
    }

    /// Breaks if a span that is rounded to be read loses a place, or one of few digits changes.
    #[test]
    fn spans_round_to_few_digits() {
        for (span, digits, text) in [
            (8_076_300_000, 2, "8.1ms"),
            (9_960_000_000, 2, "10ms"),
            (12_345_678, 3, "12.3us"),
            (7, 3, "7ps"),
            (0, 2, "0ps"),
            (15, 1, "20ps"),
            (u64::MAX, 2, "18000000s"),
        ] {
            assert_eq!(Span(span).about(digits).to_string(), text);
        }
    }

    /// Breaks if time wraps to zero when its end is passed.
    #[test]
    fn time_does_not_wrap() {
        let mut time = Time(u64::MAX - 1);
        assert_eq!(time + Span(7), Time::MAX);
        time += Span(7);
        assert_eq!(time, Time::MAX);
    }

    /// Breaks if rounding truncates: 0.1 s is not representable in binary.
    #[test]
    fn seconds_round_to_the_nearest_picosecond() {
        assert_eq!(Span::from_secs_f64(0.1), Span::from_millis(100));
        assert_eq!(Span::from_secs_f64(-1.0), Span::ZERO);
    }
}
