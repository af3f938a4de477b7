//! Whether a token bucket polices the flow (Linux: `bbr_lt_bw_sampling`): two intervals in a row
//! that lose a fifth of what they deliver, at the same rate, are taken for one, and that rate is
//! kept to for 48 round trips.

/// The fewest round trips of an interval; four times as many are too many.
const ROUNDS: u32 = 4;
/// Of 256 segments delivered so many are lost.
const LOSSY: u64 = 50;
/// Rates are the same within an eighth, or within so many bytes a second.
const SAME: u64 = 8;
const SAME_RATE: u64 = 4_000 / 8;
/// Round trips that the rate stands.
const STANDS: u32 = 48;

/// What the flow has come to, in segments and microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub(super) delivered: u64,
    pub(super) lost: u64,
    pub(super) at: u64,
    /// Segments lost with the ACK in hand.
    pub(super) losses: u32,
    pub(super) app_limited: bool,
    pub(super) round_start: bool,
    pub(super) cycling: bool,
}

/// See the module. Rates are in 2^-24 segments a microsecond.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    uses: bool,
    bw: u64,
    rounds: u32,
    delivered: u64,
    lost: u64,
    /// Milliseconds.
    since: u64,
}

/// What follows for the gains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// Nothing.
    Nothing,
    /// A policer has been found: the rate is kept to.
    Found,
    /// It may be gone: the gains cycle again.
    Over,
}

impl Policer {
    /// The policed rate, if one has been found.
    pub(super) fn bw(&self) -> Option<u64> {
        self.uses.then_some(self.bw)
    }

    /// Forgets all.
    pub(super) fn reset(&mut self, at: &Progress) {
        *self = Policer::default();
        self.begin_interval(at);
    }

    fn begin_interval(&mut self, at: &Progress) {
        self.since = at.at / 1000;
        self.delivered = at.delivered;
        self.lost = at.lost;
        self.rounds = 0;
    }

    /// An ACK has come, or the timer has fired. `bytes_a_second`: what a rate is in them.
    pub(super) fn sample(&mut self, at: &Progress, bytes_a_second: impl Fn(u64) -> u64) -> Verdict {
        if self.uses {
            self.rounds += u32::from(at.cycling && at.round_start);
            if self.rounds < STANDS {
                return Verdict::Nothing;
            }
            self.reset(at);
            return Verdict::Over;
        }
        if !self.sampling {
            if at.losses == 0 {
                return Verdict::Nothing;
            }
            self.begin_interval(at);
            self.sampling = true;
        }
        if at.app_limited {
            self.reset(at);
            return Verdict::Nothing;
        }
        self.rounds += u32::from(at.round_start);
        if self.rounds > 4 * ROUNDS {
            self.reset(at);
            return Verdict::Nothing;
        }
        // An interval ends with a loss: the bucket is empty then.
        if self.rounds < ROUNDS || at.losses == 0 {
            return Verdict::Nothing;
        }
        let (lost, delivered) = (at.lost - self.lost, at.delivered - self.delivered);
        let millis = at.at / 1000 - self.since;
        if delivered == 0 || lost << 8 < LOSSY * delivered || millis == 0 {
            return Verdict::Nothing;
        }
        self.end_interval((delivered << 24) / (millis * 1000), at, bytes_a_second)
    }

    fn end_interval(
        &mut self,
        bw: u64,
        at: &Progress,
        bytes_a_second: impl Fn(u64) -> u64,
    ) -> Verdict {
        let apart = bw.abs_diff(self.bw);
        if self.bw > 0 && (apart * SAME <= self.bw || bytes_a_second(apart) <= SAME_RATE) {
            self.bw = (bw + self.bw) / 2;
            self.uses = true;
            self.rounds = 0;
            return Verdict::Found;
        }
        self.bw = bw;
        self.begin_interval(at);
        Verdict::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow that delivers so many segments in a round trip of 1 ms, and loses some.
    struct Flow {
        policer: Policer,
        at: Progress,
    }

    impl Flow {
        fn new() -> Flow {
            let at = Progress {
                delivered: 0,
                lost: 0,
                at: 0,
                losses: 0,
                app_limited: false,
                round_start: true,
                cycling: true,
            };
            Flow { policer: Policer::default(), at }
        }

        fn round(&mut self, delivered: u32, losses: u32) -> Verdict {
            self.at.at += 1000;
            self.at.delivered += u64::from(delivered);
            self.at.lost += u64::from(losses);
            self.at.losses = losses;
            self.policer.sample(&self.at, |bw| bw)
        }

        fn rounds(&mut self, n: u32, delivered: u32, losses: u32) -> Vec<Verdict> {
            (0..n).map(|_| self.round(delivered, losses)).collect()
        }
    }

    /// Breaks if anything but two lossy intervals of four round trips, one after the other and at
    /// the same rate, is taken for a policer, or if its rate is not their mean, or does not stand
    /// for 48 round trips.
    ///
    /// By hand: the first loss, in round 1, begins the first interval, which counts that round and
    /// ends in round 4, with 300 delivered in 3 ms. The second ends in round 8: 440 in 4 ms, which
    /// is 10 % more.
    #[test]
    fn two_intervals_find_a_policer() {
        let mut flow = Flow::new();
        assert_eq!(flow.rounds(3, 100, 30), [Verdict::Nothing; 3]);
        assert_eq!((flow.round(100, 30), flow.policer.bw), (Verdict::Nothing, (300 << 24) / 3000));
        assert_eq!(flow.rounds(3, 110, 30), [Verdict::Nothing; 3]);
        assert_eq!(flow.round(110, 30), Verdict::Found);
        let mean = ((300 << 24) / 3000 + (440 << 24) / 4000) / 2;
        assert_eq!(flow.policer.bw(), Some(mean));
        let stands = flow.rounds(48, 100, 0);
        assert_eq!(stands, [[Verdict::Nothing; 47].as_slice(), &[Verdict::Over]].concat());
        assert_eq!(flow.policer.bw(), None);
    }

    /// Breaks if intervals count that lose less than a fifth, have rates an eighth apart, ran out
    /// of data, or last for more than 16 round trips.
    #[test]
    fn what_is_no_policer() {
        let found = |flow: &mut Flow| flow.policer.uses;
        let mut few = Flow::new();
        few.rounds(16, 100, 19);
        assert!(!found(&mut few), "19 of 100");
        let mut unlike = Flow::new();
        unlike.rounds(4, 100, 30);
        unlike.rounds(4, 120, 30);
        assert!(!found(&mut unlike), "a fifth apart");
        let mut dry = Flow::new();
        dry.rounds(4, 100, 30);
        dry.at.app_limited = true;
        dry.round(100, 30);
        dry.at.app_limited = false;
        dry.rounds(4, 100, 30);
        assert!(!found(&mut dry), "no interval before");
        let mut long = Flow::new();
        long.round(100, 30);
        long.rounds(16, 100, 0);
        assert!(!long.policer.sampling, "17 round trips without a loss");
    }
}
