//! Sizes, rates, and the exact time a size takes at a rate.

use crate::time::Span;
use std::fmt;

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Bytes(pub u64);

/// A rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Rate(pub u64);

const PS_BITS_PER_BYTE: u64 = 8_000_000_000_000;

impl Rate {
    /// `mbps` megabits per second.
    #[must_use]
    pub const fn from_mbps(mbps: u64) -> Rate {
        Rate(mbps * 1_000_000)
    }

    /// `gbps` gigabits per second.
    #[must_use]
    pub const fn from_gbps(gbps: u64) -> Rate {
        Rate(gbps * 1_000_000_000)
    }

    /// The time `bytes` take at this rate, rounded down. A port's packets go by [`Pace`], which
    /// keeps the fractions.
    #[must_use]
    pub fn time_for(self, bytes: u64) -> Span {
        // Of a packet there is no need of a division by 128 bits, which is a call.
        if let Some(ps) = bytes.checked_mul(PS_BITS_PER_BYTE) {
            return Span(ps / self.0);
        }
        let ps = u128::from(bytes) * u128::from(PS_BITS_PER_BYTE) / u128::from(self.0);
        Span(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    /// Bytes sent at this rate in `span`, rounded down.
    #[must_use]
    pub fn bytes_in(self, span: Span) -> Bytes {
        let bytes = u128::from(self.0) * u128::from(span.0) / u128::from(PS_BITS_PER_BYTE);
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

/// A rate as a time per byte, with the remainder carried from packet to packet.
///
/// 10 Gb/s is 800 ps a byte, exactly; 300 Mb/s is 26,666 2/3 ps. The fraction is kept as
/// `part / parts` and what is left over after a packet is added to the next one, so that the
/// long-run rate is exact for every rate and no packet of a common rate costs a division. It is
/// boxed, because few rates have one and a pace stands in the busiest cache line of every port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pace {
    whole: u64,
    fraction: Option<Box<Fraction>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Fraction {
    part: u64,
    parts: u64,
    carry: u64,
}

impl Pace {
    /// The pace of `rate`.
    ///
    /// # Panics
    /// If `rate` is zero: the scenario refuses that long before.
    #[must_use]
    pub fn new(rate: Rate) -> Pace {
        assert!(rate.0 > 0, "a link needs a rate");
        let (whole, rest) = (PS_BITS_PER_BYTE / rate.0, PS_BITS_PER_BYTE % rate.0);
        let divisor = gcd(rest, rate.0);
        let fraction = Fraction { part: rest / divisor, parts: rate.0 / divisor, carry: 0 };
        Pace { whole, fraction: (rest > 0).then(|| Box::new(fraction)) }
    }

    /// The time that `bytes` would occupy the line now: what [`take`](Pace::take) would say, with
    /// nothing taken.
    #[inline]
    #[must_use]
    pub fn ahead(&self, bytes: u32) -> Span {
        let whole = self.whole * u64::from(bytes);
        match &self.fraction {
            None => Span(whole),
            Some(fraction) => Span(whole + fraction.sum(bytes) / fraction.parts),
        }
    }

    /// The time that `bytes` occupy the line, given what earlier packets left over.
    #[inline(always)]
    pub fn take(&mut self, bytes: u32) -> Span {
        let whole = self.whole * u64::from(bytes);
        match &mut self.fraction {
            None => Span(whole),
            Some(fraction) => Span(whole + fraction.take(bytes)),
        }
    }
}

impl Fraction {
    /// In parts: the fraction of `bytes` and what earlier packets left over.
    fn sum(&self, bytes: u32) -> u64 {
        self.part * u64::from(bytes) + self.carry
    }

    #[inline(always)]
    fn take(&mut self, bytes: u32) -> u64 {
        let sum = self.sum(bytes);
        self.carry = sum % self.parts;
        sum / self.parts
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] =
            [(1_000_000_000, "Gbps"), (1_000_000, "Mbps"), (1_000, "kbps"), (1, "bps")];
        let (unit, name) =
            UNITS.into_iter().find(|(unit, _)| self.0 >= *unit).unwrap_or((1, "bps"));
        let (whole, rest) = (self.0 / unit, self.0 % unit);
        if rest == 0 {
            return write!(f, "{whole}{name}");
        }
        let digits = unit.ilog10() as usize;
        let fraction = format!("{rest:0digits$}");
        write!(f, "{whole}.{}{name}", fraction.trim_end_matches('0'))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB")];
        match UNITS.into_iter().find(|(unit, _)| self.0 > 0 && self.0.is_multiple_of(*unit)) {
            Some((unit, name)) => write!(f, "{}{name}", self.0 / unit),
            None => write!(f, "{}B", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Breaks if 10 Gb/s is anything but 800 ps a byte.
    #[test]
    fn common_rates_are_whole() {
        let mut pace = Pace::new(Rate::from_gbps(10));
        assert_eq!(pace.take(1500), Span(1_200_000));
    }

    proptest! {
        /// Breaks if looking ahead says anything else than taking would, or takes anything itself.
        #[test]
        fn looking_ahead_is_taking(
            mbps in prop_oneof![Just(10_000u64), Just(300), 1u64..400_000],
            sizes in proptest::collection::vec(0u32..9000, 1..200),
        ) {
            let mut pace = Pace::new(Rate::from_mbps(mbps));
            for size in sizes {
                let said = pace.ahead(size);
                prop_assert_eq!(said, pace.clone().take(size));
                prop_assert_eq!(said, pace.take(size));
            }
        }

        /// Breaks if the carry is lost: after any packets, the sum is the exact time rounded down.
        #[test]
        fn long_run_rate_is_exact(
            mbps in prop_oneof![Just(12u64), Just(300), Just(900), 1u64..400_000],
            sizes in proptest::collection::vec(1u32..9000, 1..200),
        ) {
            let rate = Rate::from_mbps(mbps);
            let mut pace = Pace::new(rate);
            let total: u64 = sizes.iter().map(|s| pace.take(*s).0).sum();
            let bytes: u64 = sizes.iter().map(|s| u64::from(*s)).sum();
            prop_assert_eq!(total, rate.time_for(bytes).0);
        }
    }
}
