//! AQ-CAR's queue length levels: a threshold K cut into L equal parts.

use crate::{Amount, Backlog};

/// The thresholds `TL_i = i K / L`, i from 1 to L (AQ-CAR §II-B3a).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Levels {
    /// The whole threshold K; its unit says what is counted.
    pub(crate) whole: Amount,
    /// The number of thresholds L.
    pub(crate) count: u32,
}

/// Levels that two bits of a header tell apart (§II-B2): none, one, two or more quarters of K.
const STAMPS: u32 = 4;

impl Levels {
    /// The four levels "based on the value of K/4" that leaf switches exchange (§II-B2).
    pub(crate) fn exchanged(whole: Amount) -> Levels {
        Levels { whole, count: STAMPS }
    }

    /// How many of the thresholds a backlog has reached, 0 to L. Without a division: `q >= i K / L`
    /// is `q L >= i K`.
    #[inline]
    pub(crate) fn reached(self, backlog: Backlog) -> u32 {
        let (waits, whole) = match self.whole {
            Amount::Packets(whole) => (backlog.packets, u64::from(whole)),
            Amount::Bytes(whole) => (backlog.bytes, whole),
        };
        let scaled = u64::from(waits) * u64::from(self.count);
        let mut level = 0;
        while level < self.count && scaled >= whole.saturating_mul(u64::from(level) + 1) {
            level += 1;
        }
        level
    }

    /// The same as a stamp of two bits. Four thresholds make five intervals: the last two share 3.
    #[inline]
    pub(crate) fn stamp(self, backlog: Backlog) -> u32 {
        self.reached(backlog).min(STAMPS - 1)
    }

    /// Bytes that wait where a level begins, `level x K/4` packets of `size` bytes (§II-B2b eq. 2). It ends
    /// where the next one begins, the last at K.
    #[inline]
    pub(crate) fn bytes_at(self, level: u32, size: u16) -> u64 {
        let whole = match self.whole {
            Amount::Packets(whole) => u64::from(whole) * u64::from(size),
            Amount::Bytes(whole) => whole,
        };
        whole.saturating_mul(u64::from(level)) / u64::from(STAMPS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(packets: u32) -> Backlog {
        Backlog { packets, bytes: packets * 1500, in_service: 0 }
    }

    /// Breaks if a threshold is off by one: K = 64 and L = 4 give 16, 32, 48 and 64 (§II-B3a).
    #[test]
    fn thresholds_are_quarters_of_k() {
        let levels = Levels::exchanged(Amount::Packets(64));
        for (level, threshold) in [16, 32, 48, 64].into_iter().enumerate() {
            assert_eq!(levels.reached(waits(threshold - 1)), level as u32);
            assert_eq!(levels.reached(waits(threshold)), level as u32 + 1);
        }
        // K = 65 in 4: 16.25, so 17 is the first to reach it.
        let uneven = Levels::exchanged(Amount::Packets(65));
        assert_eq!([uneven.reached(waits(16)), uneven.reached(waits(17))], [0, 1]);
        let bytes = Levels::exchanged(Amount::Bytes(96_000));
        assert_eq!([bytes.reached(waits(15)), bytes.reached(waits(16))], [0, 1]);
        assert_eq!(Levels::exchanged(Amount::Bytes(u64::MAX)).reached(waits(9)), 0);
    }

    /// Breaks if a level does not fit two bits, or is not min(3, floor(q / (K/4))).
    #[test]
    fn stamps_have_two_bits() {
        let levels = Levels::exchanged(Amount::Packets(64));
        let stamps = [0, 15, 16, 31, 32, 47, 48, 64, 200].map(|q| levels.stamp(waits(q)));
        assert_eq!(stamps, [0, 0, 1, 1, 2, 2, 3, 3, 3]);
    }

    /// Breaks if a level stands for another length than level x K/4 (§II-B2b): level 2 is 32 packets.
    #[test]
    fn a_level_stands_for_a_length() {
        let levels = Levels::exchanged(Amount::Packets(64));
        assert_eq!([0, 1, 2, 3].map(|l| levels.bytes_at(l, 1500)), [0, 24_000, 48_000, 72_000]);
        let bytes = Levels::exchanged(Amount::Bytes(96_000));
        assert_eq!(bytes.bytes_at(2, 40), 48_000);
    }
}
