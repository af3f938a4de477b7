//! How long bytes take on a port's line, without dividing.

use crate::{Load, side_by_side};
use leafspine_core::{PortId, Rate, Span};

/// Fraction bits of a time per byte.
const FRACTION: u32 = 16;
const PS_BITS_PER_BYTE: u128 = 8_000_000_000_000;

/// A line's rate, and its reciprocal in 2^-16 ps a byte.
#[derive(Clone, Copy, Debug)]
struct Line {
    rate: Rate,
    per_byte: u64,
}

impl Line {
    #[cold]
    fn new(rate: Rate) -> Line {
        let per_byte = (PS_BITS_PER_BYTE << FRACTION) / u128::from(rate.0.max(1));
        Line { rate, per_byte: u64::try_from(per_byte).unwrap_or(u64::MAX) }
    }
}

impl Line {
    /// The time of `bytes` at `rate`, see [`Lines::time`].
    #[inline]
    fn time(&mut self, rate: Rate, bytes: u64) -> Span {
        if self.rate != rate {
            *self = Line::new(rate);
        }
        match self.per_byte.checked_mul(bytes) {
            Some(time) => Span(time >> FRACTION),
            None => self.long_time(bytes),
        }
    }

    /// A time that is too long for one multiplication of 64 bits.
    #[cold]
    fn long_time(self, bytes: u64) -> Span {
        let time = (u128::from(self.per_byte) * u128::from(bytes)) >> FRACTION;
        Span(u64::try_from(time).unwrap_or(u64::MAX))
    }
}

/// The lines of a switch, by [`PortId`].
pub(super) struct Lines(Vec<Line>);

impl Lines {
    pub(super) fn new(rates: impl Iterator<Item = Rate>) -> Lines {
        Lines(rates.map(Line::new).collect())
    }

    /// The time of `bytes` on `port`, whose link has `rate` now: a millionth of a packet's time short
    /// at most. The reciprocal is computed again only when the rate has changed.
    #[inline]
    pub(super) fn time(&mut self, port: PortId, rate: Rate, bytes: u64) -> Span {
        self.0[usize::from(port.0)].time(rate, bytes)
    }

    /// The times of `size` bytes behind what waits at each of `ports`, whose `loads` stand beside
    /// them.
    #[inline]
    pub(super) fn times(
        &mut self,
        ports: &[PortId],
        loads: &[Load],
        size: u64,
        times: &mut Vec<Span>,
    ) {
        times.clear();
        let lines = &mut self.0[..];
        match side_by_side(ports) {
            Some(range) => {
                let beside = lines[range].iter_mut().zip(loads);
                times.extend(
                    beside.map(|(line, load)| line.time(load.rate, u64::from(load.bytes) + size)),
                );
            }
            None => times.extend(ports.iter().zip(loads).map(|(port, load)| {
                lines[usize::from(port.0)].time(load.rate, u64::from(load.bytes) + size)
            })),
        }
    }

    /// Bytes of a port's entry.
    pub(super) const ENTRY: u32 = size_of::<Line>() as u32;

    /// Bytes of all.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(Lines::ENTRY) * self.0.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a common rate is not exact, another is off by more than its last fraction bit times
    /// the bytes, or a changed rate is not noticed.
    #[test]
    fn times_are_those_of_the_rate() {
        let mut lines = Lines::new([Rate::from_gbps(1)].into_iter());
        for (rate, bytes, ps) in [
            (Rate::from_gbps(1), 1500, 12_000_000),
            (Rate::from_gbps(10), 1500, 1_200_000),
            (Rate::from_gbps(100), 40, 3_200),
            (Rate::from_mbps(20), 256 * 1500, 153_600_000_000),
            (Rate::from_mbps(300), 1500, 39_999_999),
            (Rate(1), 1_000_000, 8_000_000_000_000_000_000),
        ] {
            assert_eq!(lines.time(PortId(0), rate, bytes), Span(ps), "{bytes} at {rate}");
        }
        for mbps in [3, 7, 12, 333, 900, 40_001] {
            let rate = Rate::from_mbps(mbps);
            for bytes in [40, 1_500, 384_000] {
                let exact = rate.time_for(bytes).0;
                let short = exact - lines.time(PortId(0), rate, bytes).0;
                assert!(short <= 1 + (bytes >> FRACTION), "{bytes} at {rate}: {short} ps short");
            }
        }
    }
}
