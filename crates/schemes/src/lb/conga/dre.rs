//! The discounting rate estimator (CONGA §3.2).
//!
//! A register X per link grows by the bytes of each packet sent and is multiplied by `1 - alpha` every
//! Tdre. It is proportional to the rate over a time of about `tau = Tdre / alpha`: a link sent at rate R
//! for long has X near R x tau. The congestion metric is `X / (C x tau)` in a few bits.
//!
//! The timer is not run: discounts that are due are applied when X is looked at, `(1 - alpha)^n` by
//! squares. X has 16 fractional bits and the factors 32, so nothing here is a float after it is made.

use leafspine_core::{Rate, Span, Time};

/// Fractional bits of X.
const POINT: u32 = 16;
/// Fractional bits of a factor.
const FACTOR: u32 = 32;
/// Squares of the factor that are kept: 2^40 periods leave nothing of any X.
const SQUARES: usize = 40;

/// Tdre and alpha, the same at all ports of a switch.
pub(super) struct Discount {
    /// Tdre.
    period: Span,
    tau: Span,
    /// `(1 - alpha)^(2^i)`.
    squares: [u64; SQUARES],
}

impl Discount {
    pub(super) fn new(tau: Span, alpha: f64) -> Discount {
        let mut squares = [((1.0 - alpha) * (1u64 << FACTOR) as f64 + 0.5) as u64; SQUARES];
        for i in 1..SQUARES {
            squares[i] = times(squares[i - 1], squares[i - 1]);
        }
        // tau = Tdre / alpha (§3.2).
        let period = Span(((tau.0 as f64 * alpha) as u64).max(1));
        Discount { period, tau, squares }
    }

    /// What is left of `x` after so many periods.
    fn after(&self, mut x: u64, mut periods: u64) -> u64 {
        for factor in self.squares {
            if periods == 0 || x == 0 {
                return x;
            }
            if periods & 1 == 1 {
                x = times(x, factor);
            }
            periods >>= 1;
        }
        0
    }

    /// X of a link that is sent at `rate` for long, in steps of `2^-bits`: a level of the metric.
    pub(super) fn level(&self, rate: Rate, bits: u32) -> u64 {
        let bits_in_tau = u128::from(rate.0) * u128::from(self.tau.0) / 1_000_000_000_000;
        let full = (bits_in_tau << POINT) / 8;
        u64::try_from(full >> bits).unwrap_or(u64::MAX).max(1)
    }
}

/// Rounded to the nearest.
#[inline]
fn times(x: u64, factor: u64) -> u64 {
    ((u128::from(x) * u128::from(factor) + (1 << (FACTOR - 1))) >> FACTOR) as u64
}

/// The register X of one link.
#[derive(Clone, Copy, Default)]
pub(super) struct Dre {
    x: u64,
    /// The next discount is due then: a multiple of Tdre.
    due: Time,
}

impl Dre {
    /// Applies the discounts that are due by `now`. Returns whether there were any.
    #[inline]
    pub(super) fn advance(&mut self, now: Time, discount: &Discount) -> bool {
        if now < self.due {
            return false;
        }
        // One division a period, not a packet.
        let periods = now.since(self.due).0 / discount.period.0 + 1;
        // CONGA §3.2: every Tdre, X <- X (1 - alpha).
        self.x = discount.after(self.x, periods);
        self.due = Time(self.due.0.saturating_add(discount.period.0.saturating_mul(periods)));
        true
    }

    /// CONGA §3.2: X <- X + bytes, for every packet sent.
    #[inline]
    pub(super) fn sent(&mut self, bytes: u32) {
        self.x = self.x.saturating_add(u64::from(bytes) << POINT);
    }

    /// The metric in `bits` bits: whole levels in X, clamped to the highest number there is. Found bit
    /// by bit instead of by division.
    #[inline]
    pub(super) fn metric(&self, level: u64, bits: u32) -> u8 {
        let mut metric = 0;
        for bit in (0..bits).rev() {
            let more = metric | 1 << bit;
            if u128::from(self.x) >= u128::from(level) * more as u128 {
                metric = more;
            }
        }
        metric as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tau = 160 us and alpha = 0.2: Tdre = 32 us.
    fn paper() -> Discount {
        Discount::new(Span::from_micros(160), 0.2)
    }

    fn bytes(dre: &Dre) -> f64 {
        dre.x as f64 / f64::from(1 << POINT)
    }

    /// Breaks if X is not discounted by 0.8 at every multiple of 32 us, and only there. By hand: 1500
    /// bytes at 1 us; 1200 at 32 us; 1500 more make 2700; at 96 us, two discounts later, 1728; ten
    /// more, at 416 us, 1728 x 0.8^10 = 185.5.
    #[test]
    fn x_grows_by_bytes_and_shrinks_every_period() {
        let (discount, mut dre) = (paper(), Dre::default());
        assert_eq!(discount.period, Span::from_micros(32));
        let at = |us: u64| Time(Span::from_micros(us).0);
        dre.advance(at(1), &discount);
        dre.sent(1500);
        for (us, due, add, expected) in [
            (31, false, 0, 1500.0),
            (32, true, 1500, 2700.0),
            (63, false, 0, 2700.0),
            (96, true, 0, 1728.0),
            (127, false, 0, 1728.0),
            (416, true, 0, 185.542_587),
        ] {
            assert_eq!(dre.advance(at(us), &discount), due, "at {us} us");
            dre.sent(add);
            assert!((bytes(&dre) - expected).abs() < 0.01, "at {us} us: {}", bytes(&dre));
        }
    }

    /// Breaks if many periods at once are not the same as one after the other (to the rounding: a
    /// part in 2^32 a period), or if anything is left after years.
    #[test]
    fn skipped_periods_count() {
        let discount = paper();
        for periods in [1u64, 2, 3, 7, 20, 45] {
            let start = 1_000_000_000 << POINT;
            let one_by_one = (0..periods).fold(start, |x, _| discount.after(x, 1));
            let at_once = discount.after(start, periods);
            assert!(one_by_one.abs_diff(at_once) <= (start >> 30) + 64, "{periods} periods");
        }
        assert_eq!(discount.after(u64::MAX, 1 << 39), 0);
        assert_eq!(discount.after(u64::MAX, u64::MAX), 0);
        assert_eq!(discount.after(1, 100), 0);
    }

    /// Breaks if factors and products are not rounded to the nearest: 0.8 of 2^32 is 3,435,973,836.8;
    /// halves of 1 and 3, and just less than half of 1.
    #[test]
    fn products_are_rounded_to_the_nearest() {
        assert_eq!(paper().squares[0], 3_435_973_837);
        let half = 1 << (FACTOR - 1);
        assert_eq!([times(1, half), times(3, half), times(1, half - 1)], [1, 2, 0]);
    }

    /// Breaks if the shortest of periods or the slowest of links has none, or no level: the smallest
    /// values that a scenario may give.
    #[test]
    fn periods_and_levels_are_at_least_one() {
        let discount = Discount::new(Span(1), 0.001);
        assert_eq!((discount.period, discount.level(Rate(1), 3)), (Span(1), 1));
    }

    /// Breaks if X of a link that is always busy is not C x tau: 10 Gb/s for 160 us are 200,000 bytes,
    /// just before a discount; 0.8 of it just after. Packets of 1.28 us, 25 of them in a Tdre.
    #[test]
    fn a_busy_link_has_x_of_rate_times_tau() {
        let (discount, mut dre) = (paper(), Dre::default());
        for packet in 0..25 * 150 {
            dre.advance(Time(packet * 1_280_000), &discount);
            dre.sent(1600);
        }
        assert!((bytes(&dre) - 200_000.0).abs() < 0.01, "{}", bytes(&dre));
        assert_eq!(dre.metric(discount.level(Rate::from_gbps(10), 3), 3), 7);
        dre.advance(Time(150 * 32_000_000), &discount);
        assert!((bytes(&dre) - 160_000.0).abs() < 0.01);
        assert_eq!(dre.metric(discount.level(Rate::from_gbps(10), 3), 3), 6);
    }

    /// Breaks if a level is not an eighth of C x tau (25,000 bytes here), if it is rounded up, or if
    /// more than the highest number comes out: §3.3, three bits.
    #[test]
    fn the_metric_is_clamped_to_three_bits() {
        let level = paper().level(Rate::from_gbps(10), 3);
        for (bytes, expected) in [
            (0, 0),
            (24_999, 0),
            (25_000, 1),
            (49_999, 1),
            (174_999, 6),
            (175_000, 7),
            (199_999, 7),
            (200_000, 7),
            (4_000_000_000, 7),
        ] {
            let mut dre = Dre::default();
            dre.sent(bytes);
            assert_eq!(dre.metric(level, 3), expected, "{bytes}");
        }
        let full = Dre { x: u64::MAX, due: Time::ZERO };
        assert_eq!((full.metric(1, 8), full.metric(u64::MAX, 3)), (255, 1));
    }
}
