//! How much more than the estimated rate explains ACKs deliver at once (Linux:
//! `bbr_update_ack_aggregation`): so much is in flight besides, or a sender falls silent between
//! two bunches of ACKs.

/// Round trips that one of the two largest is of.
const WINDOW: u32 = 5;
/// Segments after which an epoch ends in any case.
const LONG: u32 = 1 << 20;
/// No more than the rate delivers in this time.
const LONGEST_US: u64 = 100_000;

/// See the module. Segments, and microseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    /// The most of the window of round trips under way, and of the one before.
    most: [u32; 2],
    at: usize,
    rounds: u32,
    epoch_from: u64,
    epoch_acked: u32,
}

impl Aggregation {
    /// An epoch begins.
    pub(super) fn restart(&mut self, now: u64) {
        self.epoch_from = now;
        self.epoch_acked = 0;
    }

    /// `acked` segments were delivered at `now`; `bw`: the estimated rate, in 2^-24 segments a
    /// microsecond.
    pub(super) fn update(
        &mut self,
        (acked, cwnd): (u32, u32),
        bw: u64,
        round_start: bool,
        now: u64,
    ) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW {
                self.rounds = 0;
                self.at = 1 - self.at;
                self.most[self.at] = 0;
            }
        }
        let mut expected = super::linux::in_time(bw, now - self.epoch_from);
        // The epoch ends when ACKs are no longer ahead of the rate.
        if u64::from(self.epoch_acked) <= expected || self.epoch_acked + acked >= LONG {
            self.restart(now);
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked + acked).min(LONG - 1);
        let extra = (u64::from(self.epoch_acked) - expected).min(u64::from(cwnd)) as u32;
        self.most[self.at] = self.most[self.at].max(extra);
    }

    /// Segments by which the window is larger.
    pub(super) fn extra(&self, bw: u64) -> u32 {
        let most = self.most[0].max(self.most[1]);
        most.min(u32::try_from(super::linux::in_time(bw, LONGEST_US)).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment a microsecond.
    const BW: u64 = 1 << 24;

    /// Breaks if what is ahead of the rate is not counted from where ACKs were last behind it.
    ///
    /// By hand: 20 at once after 100 us of nothing begin an epoch, and all 20 are ahead. 20 more 10
    /// us later make 40, of which 10 were due. 60 us later 70 were due, and the epoch begins anew:
    /// 5 are ahead.
    #[test]
    fn ahead_of_the_rate() {
        let mut ahead = Aggregation::default();
        ahead.update((20, 100), BW, false, 100);
        assert_eq!(ahead.extra(BW), 20);
        ahead.update((20, 100), BW, false, 110);
        assert_eq!(ahead.extra(BW), 30);
        ahead.update((5, 100), BW, false, 170);
        assert_eq!((ahead.extra(BW), ahead.epoch_acked), (30, 5));
    }

    /// Breaks if the most is forgotten before five round trips, or is not by the tenth; if it is
    /// more than a window, or than 100 ms at the rate.
    #[test]
    fn the_most_of_five_to_ten_round_trips() {
        let mut ahead = Aggregation::default();
        ahead.update((50, 30), BW, false, 100);
        assert_eq!(ahead.extra(BW), 30);
        let mut extras = Vec::new();
        for round in 1..=10 {
            ahead.update((1, 30), BW, true, 100 + 1000 * round);
            extras.push(ahead.extra(BW));
        }
        assert_eq!(extras, [[30; 9].as_slice(), &[1]].concat());
        let mut slow = Aggregation::default();
        slow.update((50, 100), BW / 10_000, false, 100);
        assert_eq!(slow.extra(BW / 10_000), 9, "0.0001 segments a microsecond, rounded down");
    }
}
