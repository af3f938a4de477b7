//! Buffers in parts that differ by a byte at most.

use crate::spec::CollectiveSpec;

/// Where the `i`-th of so many parts of `bytes` begins; with the number of parts, where the last ends.
pub(super) fn start_of(bytes: u64, parts: u64, i: u64) -> u64 {
    (u128::from(bytes) * u128::from(i) / u128::from(parts)) as u64
}

/// The bytes of the `i`-th of so many parts.
pub(super) fn part(bytes: u64, parts: u64, i: u64) -> u64 {
    start_of(bytes, parts, i + 1) - start_of(bytes, parts, i)
}

/// Into how many messages so many bytes go.
pub(super) fn pieces(spec: &CollectiveSpec, bytes: u64) -> u64 {
    spec.chunk.map_or(1, |chunk| bytes.div_ceil(chunk.0)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Breaks if parts are not all of the bytes, or differ by more than one.
        #[test]
        fn parts_are_alike_and_all(bytes in 0u64..u64::MAX / 2, parts in 1u64..999) {
            let all: Vec<u64> = (0..parts).map(|i| part(bytes, parts, i)).collect();
            prop_assert_eq!(all.iter().sum::<u64>(), bytes);
            let (least, most) = (all.iter().min().unwrap(), all.iter().max().unwrap());
            prop_assert!(most - least <= 1);
        }
    }
}
