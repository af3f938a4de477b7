//! When threads do not work: after one of them was put off its core.
//!
//! Who waits for it loses what the other process takes, milliseconds for a window of some microseconds. So
//! one thread does all for a while, and tries again.

use std::time::{Duration, Instant};

/// A rest is at least so many times as long as the thread that was late was waited for: its core may have been gone
/// for a moment only, as cores of virtual machines are every now and then, and a rest costs nearly half as much as a
/// wait.
const SHORT_REST: u32 = 2;
/// If one is late again soon after a rest, the next is longer by this factor; where none is late, shorter again.
const LONGER: u32 = 8;
/// No rest is more times as long as the wait: where a core stays busy, a part in so many of the time is lost.
const LONG_REST: u32 = 128;

/// No rest is longer: the whole process may have been stopped meanwhile.
const LONGEST: Duration = Duration::from_secs(2);

/// In a rest of so long all is done by one thread as if there were no other; shorter ones are over before
/// nodes are dealt out.
const WORTH_JOINING: Duration = Duration::from_millis(10);

/// When threads do not work.
#[derive(Clone, Copy)]
pub(super) struct Rest {
    /// The last time, or now, until then.
    until: Option<Instant>,
    /// For so long.
    took: Duration,
    /// The factor of the next one.
    times: u32,
}

impl Default for Rest {
    /// None yet.
    fn default() -> Rest {
        Rest { until: None, took: Duration::ZERO, times: SHORT_REST }
    }
}

impl Rest {
    pub(super) fn lasts_at(self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    /// One was late by so much.
    pub(super) fn after(self, late: Duration, now: Instant) -> Rest {
        let took = (late * self.times).min(LONGEST);
        Rest { until: Some(now + took), took, times: LONG_REST.min(self.times * LONGER) }
    }

    /// All have been in time. If they have for as long as they had rested, the next rest is shorter.
    pub(super) fn in_time(self, now: Instant) -> Rest {
        match self.until {
            Some(until) if now > until + self.took => {
                Rest { until: Some(now), times: SHORT_REST.max(self.times / LONGER), ..self }
            }
            _ => self,
        }
    }

    /// Whether so much of it is left that domains are to be joined meanwhile.
    pub(super) fn is_long_at(self, now: Instant) -> bool {
        self.until.is_some_and(|until| now + WORTH_JOINING < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: one is 1 ms late, and rests are 2 ms, 16 ms and 128 ms while that is so again right after
    /// each. After 129 ms in time it is 16 ms, then 2 ms.
    ///
    /// Breaks if a core that was gone for a moment costs more than a moment, or one that stays busy more than a
    /// part in 128.
    #[test]
    fn rests_are_short_at_first() {
        let (ms, mut now) = (Duration::from_millis, Instant::now());
        let mut rest = Rest::default();
        for took in [2, 16, 128, 128] {
            rest = rest.after(ms(1), now);
            assert_eq!(rest.took, ms(took));
            assert!(rest.lasts_at(now + ms(took - 1)) && !rest.lasts_at(now + ms(took)));
            now += ms(took + 1);
            rest = rest.in_time(now);
        }
        assert_eq!(
            rest.after(ms(3_600_000), now).took,
            ms(2_000),
            "an hour's pause is no busy core"
        );
        for took in [16, 2, 2] {
            now += ms(129);
            rest = rest.in_time(now);
            assert_eq!(rest.after(ms(1), now).took, ms(took));
        }
    }
}
