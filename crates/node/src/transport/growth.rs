//! A receiver's window that grows, as Linux tunes its buffers (`tcp_rcv_space_adjust`, `tcp_grow_window`): while it does, no ACK
//! is delayed.
//!
//! Once in a round trip the receiver looks at how much has come. If it is more than ever before in one, the buffer becomes as large as
//! twice that, and more the faster it grew; and the window that is offered follows by two segments with each segment that comes. The
//! sender's window is a constant here: what counts is that these segments are acknowledged at once.

use leafspine_core::{Span, Time};

/// Linux's clock of timestamps, by which receivers measure round trips.
const TICK: u64 = Span::from_millis(1).0;
/// What a buffer of 128 KB offers, half of it, and that in whole segments of this size.
const FIRST: u64 = 65_536;
const SEGMENT: u64 = 1_460;
/// What the first round trip is held against, in segments.
const USUAL: u64 = 10;
/// Segments that a buffer has more than twice what comes in a round trip.
const MORE: u64 = 16;
/// Segments by which the window grows with each that comes.
const STEP: u64 = 2;

/// How far it is.
#[derive(Debug)]
pub(super) struct Growth {
    /// Bytes that the window offers (`rcv_ssthresh`), and could (`window_clamp`).
    offered: u64,
    most: u64,
    /// The most that has come in a round trip (`rcvq_space.space`).
    usual: u64,
    /// Bytes that had come when it was looked last, and when that was.
    seen: u64,
    since: Time,
    /// Whether a round trip has been measured.
    measured: bool,
}

impl Default for Growth {
    fn default() -> Growth {
        Growth {
            offered: FIRST / SEGMENT * SEGMENT,
            most: FIRST,
            usual: USUAL * SEGMENT,
            seen: 0,
            since: Time::ZERO,
            measured: false,
        }
    }
}

impl Growth {
    /// Another flow begins.
    pub(super) fn begin(&mut self, now: Time) {
        *self = Growth { since: now, ..Growth::default() };
    }

    /// A segment has come: whether the window grows with it. `limit`: the largest window.
    pub(super) fn comes(&mut self, limit: u64) -> bool {
        // Beyond half of the largest, what is offered follows no more.
        let room =
            if self.offered > limit / 2 { 0 } else { self.most.saturating_sub(self.offered) };
        self.offered += room.min(STEP * SEGMENT);
        room > 0
    }

    /// The application has read `delivered` bytes in all; `rtt` is the handshake's round trip, which the receiver sees
    /// by timestamps, in ticks.
    pub(super) fn read(&mut self, delivered: u64, rtt: Span, limit: u64, now: Time) {
        self.measured |= now.0 / TICK > now.0.saturating_sub(rtt.0) / TICK;
        let trip = rtt.0.div_ceil(TICK).max(1) * TICK;
        if !self.measured || now.since(self.since).0 < trip {
            return;
        }
        let copied = delivered - self.seen;
        if copied > self.usual {
            let twice = 2 * copied + MORE * SEGMENT;
            let faster = twice * (copied - self.usual) / self.usual;
            self.most = self.most.max((twice + 2 * faster).min(limit));
            self.usual = copied;
        }
        (self.seen, self.since) = (delivered, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u64 = 3_145_728;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_micros(us)
    }

    /// Breaks if the window does not grow as fast as what comes in a round trip asks for.
    ///
    /// 44 segments of 1460 bytes are offered of 65,536: one more grows it to that. Within the first millisecond no round trip is seen. Of 50,000 bytes in
    /// one, where 14,600 were usual: 2 x 50,000 + 16 x 1460 = 123,360, and twice 123,360 x 35,400 / 14,600 more, 721,570 in all:
    /// 656,034 more, 224.7 steps of 2920.
    #[test]
    fn it_grows_with_what_comes() {
        let (mut growth, rtt) = (Growth::default(), Span::from_micros(100));
        assert!(growth.comes(LIMIT) && !growth.comes(LIMIT));
        growth.read(20_000, rtt, LIMIT, us(900));
        assert!(!growth.comes(LIMIT), "nothing is measured yet");
        growth.read(50_000, rtt, LIMIT, us(1_050));
        assert_eq!((0..1000).filter(|_| growth.comes(LIMIT)).count(), 225);
        // No more than before comes in the next one.
        growth.read(100_000, rtt, LIMIT, us(2_100));
        assert!(!growth.comes(LIMIT));
    }

    /// Breaks if the window grows beyond half of the largest (and the step that passes it): 1,572,864 less 64,240 bytes are 516.7 steps.
    #[test]
    fn it_stops_at_half_of_the_largest() {
        let mut growth = Growth::default();
        growth.read(1_000_000, Span::from_micros(100), LIMIT, us(1_050));
        assert_eq!((0..2000).filter(|_| growth.comes(LIMIT)).count(), 517);
    }
}
