//! Quantiles of many values in little space: a log-linear histogram.

/// Buckets an octave: values below this are exact, above it a bucket spans 1/64 of its value, so
/// a quantile (the middle of its bucket) is off by at most 1/128, 0.8 %.
const SUB: u64 = 64;
const SUB_BITS: u32 = 6;

/// Counts of values by size. Grows to the largest value seen and is then reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    counts: Box<[u32]>,
}

#[inline]
fn bucket(value: u64) -> usize {
    if value < SUB {
        return value as usize;
    }
    let octave = 63 - value.leading_zeros();
    let shift = octave - SUB_BITS;
    ((u64::from(shift) + 1) * SUB + (value >> shift) - SUB) as usize
}

/// The smallest and the largest value of a bucket.
fn bounds(bucket: usize) -> (u64, u64) {
    let bucket = bucket as u64;
    if bucket < SUB {
        return (bucket, bucket);
    }
    let shift = bucket / SUB - 1;
    let low = (bucket % SUB + SUB) << shift;
    (low, low + (1 << shift) - 1)
}

impl Histogram {
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        let at = bucket(value);
        match self.counts.get_mut(at) {
            Some(count) => *count = count.saturating_add(1),
            None => self.grow(at),
        }
    }

    /// Room for this bucket, with a first value in it.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, at: usize) {
        let mut counts = std::mem::take(&mut self.counts).into_vec();
        let octaves = (at / SUB as usize + 1) * SUB as usize;
        counts.resize(octaves, 0);
        counts[at] = 1;
        self.counts = counts.into();
    }

    /// The value that a share `q` of `total` values does not exceed (nearest rank), within 0.8 %.
    /// What is not in the histogram is zero. `None` without values.
    pub(crate) fn quantile_of(&self, q: f64, total: u64) -> Option<f64> {
        if total == 0 {
            return None;
        }
        let rank = ((q * total as f64).ceil() as u64).clamp(1, total);
        let counted: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        let mut below = total.saturating_sub(counted);
        if below >= rank {
            return Some(0.0);
        }
        for (at, count) in self.counts.iter().enumerate() {
            below += u64::from(*count);
            if below >= rank {
                let (low, high) = bounds(at);
                return Some((low as f64 + high as f64) / 2.0);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Breaks if a bucket does not hold the values it says, or neighbours leave a gap.
        #[test]
        fn buckets_tile_the_line(value in 0u64..1 << 50) {
            let (low, high) = bounds(bucket(value));
            prop_assert!(low <= value && value <= high);
            prop_assert_eq!(bucket(high) + 1, bucket(high + 1));
        }

        /// Breaks if a quantile is further than 1/128 from the exact nearest-rank one.
        #[test]
        fn quantiles_are_within_their_stated_error(
            mut values in proptest::collection::vec(prop_oneof![Just(0), 0u64..1 << 40], 1..300),
            q in 0.01f64..1.0,
        ) {
            let mut histogram = Histogram::default();
            values.iter().filter(|v| **v > 0).for_each(|v| histogram.add(*v));
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            let found = histogram.quantile_of(q, values.len() as u64).unwrap();
            prop_assert!((found - exact).abs() <= exact / 128.0 + 1e-9, "{found} for {exact}");
        }
    }
}
