//! A receiver's window that grows, as Linux tunes its buffers (`tcp_rcv_space_adjust`,
//! `tcp_grow_window`): while it does, no ACK is delayed.
//!
//! Once in a round trip the receiver looks at how much has come. If it is more than ever before in
//! one, the buffer becomes as large as twice that, and more the faster it grew; and the window that
//! is offered follows by two segments with each segment that comes. The sender's window is a
//! constant here: what counts is that these segments are acknowledged at once.
//!
//! It sees a round trip in two ways: by the timestamps that come back, in ticks, and as the time in
//! which all that the window offered has come, if that is shorter.

use leafspine_core::{Span, Time};

/// Linux's clock of timestamps, by which receivers measure round trips.
const TICK: u64 = Span::from_millis(1).0;
/// What a buffer of 128 KB offers before a segment has come, and a segment more: half of it.
const FIRST: u64 = 65_536;
/// What it could hold in fact: the first segment's memory, of 2,176 bytes, tells by how much data
/// is smaller (170 of 256).
const HOLDS: u64 = 87_040;
/// So much less of the window is taken by a segment that joins the one before it in the buffer
/// (`tcp_ooo_try_coalesce`): the 256 bytes of a description.
const JOINS: u64 = 170;
/// What the first round trip is held against, in segments.
const USUAL: u64 = 10;
/// Segments that a buffer has more than twice what comes in a round trip.
const MORE: u64 = 16;
/// Segments by which the window grows with each that comes.
const STEP: u64 = 2;
/// Segments of fewer bytes in order do not widen it (`tcp_event_data_recv`).
pub(super) const SHORT: u32 = 128;

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
    /// The round trip as it is seen (`rcv_rtt_est`); zero before that.
    trip: u64,
    /// When so many bytes have come, all has that the window offered at `begun`.
    full: u64,
    begun: Time,
    /// The tick of the timestamp that came back last.
    echoed: u64,
    /// Bytes of a full segment.
    mss: u64,
    /// Segments in the buffer that have joined the one before.
    joined: u64,
}

impl Default for Growth {
    fn default() -> Growth {
        Growth {
            offered: FIRST,
            most: HOLDS,
            usual: 0,
            seen: 0,
            since: Time::ZERO,
            trip: 0,
            full: 0,
            begun: Time::ZERO,
            echoed: u64::MAX,
            mss: 0,
            joined: 0,
        }
    }
}

impl Growth {
    /// Bytes that the window offers.
    pub(super) fn offered(&self) -> u64 {
        self.offered
    }

    /// Whether no segment has come.
    pub(super) fn is_unused(&self) -> bool {
        self.mss == 0
    }

    /// A flow begins, with segments of `mss` bytes.
    pub(super) fn begin(&mut self, mss: u32, now: Time) {
        let mss = u64::from(mss);
        let offered = FIRST.saturating_sub(mss);
        let (usual, full) = (USUAL * mss, mss + offered);
        *self = Growth { offered, since: now, begun: now, mss, usual, full, ..Growth::default() };
    }

    /// Bytes of the window that the buffer's `held` segments take, which wait for something before
    /// them, and the one that has come. It is in order, or joins the one before it; one that does
    /// neither is not counted yet (`tcp_data_queue_ofo`).
    pub(super) fn taken(&mut self, held: u32, in_order: bool, joins: bool) -> u64 {
        self.joined = self.joined.min(u64::from(held)) + u64::from(joins);
        let counted = u64::from(held) + u64::from(in_order || joins);
        counted * self.mss - self.joined * JOINS.min(self.mss)
    }

    /// A segment has come: whether the window grows with it. `limit`: the largest window; `taken`:
    /// bytes of it that the buffer takes (Linux: `tcp_space`).
    pub(super) fn comes(&mut self, limit: u64, taken: u64) -> bool {
        // Beyond half of the largest, what is offered follows no more.
        let room = if self.offered > limit / 2 {
            0
        } else {
            self.most.saturating_sub(self.offered + taken)
        };
        self.offered += room.min(STEP * self.mss);
        room > 0
    }

    /// A segment came in order, `delivered` bytes have in all. It tells the round trip: `echoed` is
    /// when that was sent which its sender had last heard.
    pub(super) fn measure(&mut self, delivered: u64, echoed: Time, now: Time) {
        let tick = echoed.0 / TICK;
        if tick != self.echoed {
            self.echoed = tick;
            let trip = (now.0 / TICK - tick) * TICK;
            if self.trip == 0 || (trip > 0 && trip < self.trip) {
                self.trip = trip;
            } else if trip > 0 {
                self.trip = self.trip - self.trip / 8 + trip / 8;
            }
        }
        if delivered >= self.full {
            let trip = now.since(self.begun).0;
            self.trip = if self.trip == 0 { trip } else { self.trip.min(trip) };
            (self.full, self.begun) = (delivered + self.offered, now);
        }
    }

    /// The application has read `delivered` bytes in all.
    pub(super) fn read(&mut self, delivered: u64, limit: u64, now: Time) {
        if self.trip == 0 || now.since(self.since).0 < self.trip {
            return;
        }
        let copied = delivered - self.seen;
        if copied > self.usual {
            let twice = 2 * copied + MORE * self.mss;
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
    const MSS: u32 = 1_448;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_micros(us)
    }

    /// A receiver whose first segment has come now.
    fn begun(now: Time) -> Growth {
        let mut growth = Growth::default();
        growth.begin(MSS, now);
        growth
    }

    /// With how many of 1,000 segments the window grows.
    fn steps(growth: &mut Growth) -> usize {
        (0..1000).filter(|_| growth.comes(LIMIT, u64::from(MSS))).count()
    }

    /// Breaks if the window does not grow at first to what the buffer holds besides the segment in
    /// hand: from 64,088 bytes to 85,592, which are 7.4 steps of two segments.
    #[test]
    fn it_grows_to_what_the_buffer_holds() {
        assert_eq!(steps(&mut begun(us(0))), 8);
    }

    /// A kernel that printed it: with the window at 710,970 of 764,543 bytes a segment is missing,
    /// and the first that comes beyond it is not counted yet. Those that join it take 1,275 bytes
    /// each (it counts 1,445 where 1,448 are taken here); the sixth begins a run of its own. The
    /// window grows with thirteen.
    ///
    /// Breaks if what waits for something before it takes more room or less.
    #[test]
    fn what_is_held_takes_room() {
        let mut growth = Growth { offered: 710_970, most: 764_543, ..begun(us(0)) };
        let runs = [0, 5, 11, 12];
        let mut grows = |held: u32| {
            let taken = growth.taken(held, false, !runs.contains(&held));
            (taken, growth.comes(LIMIT, taken))
        };
        let found: Vec<_> = (0..14).map(&mut grows).collect();
        assert_eq!(found.iter().filter(|(_, grown)| *grown).count(), 13);
        let taken: Vec<u64> = found.iter().take(6).map(|(taken, _)| *taken).collect();
        assert_eq!(taken, [0, 2_726, 4_004, 5_282, 6_560, 6_560]);
    }

    /// Breaks if segments that are shorter than a description take less than nothing.
    #[test]
    fn short_segments_take_no_less_than_nothing() {
        let mut growth = Growth::default();
        growth.begin(100, us(0));
        let taken: Vec<u64> = (1..4).map(|held| growth.taken(held, false, true)).collect();
        assert_eq!(taken, [100; 3]);
    }

    /// Breaks if the window does not grow as fast as what comes in a round trip asks for.
    ///
    /// Of 46 segments in one, where ten were usual: 2 x 66,608 + 16 x 1,448 = 156,384, and twice
    /// 156,384 x 52,128 / 14,480 more, 1,282,346 in all. Besides the segment in hand that is
    /// 1,195,306 more than the buffer held, 412.7 steps of 2,896 (a kernel was seen to take 413).
    #[test]
    fn it_grows_with_what_comes() {
        let mut growth = begun(us(0));
        steps(&mut growth);
        growth.measure(66_608, us(0), us(700));
        growth.read(66_608, LIMIT, us(699));
        assert_eq!(steps(&mut growth), 0, "the round trip is not over");
        growth.read(66_608, LIMIT, us(700));
        assert_eq!(steps(&mut growth), 413);
        // No more than before comes in the next one.
        growth.read(130_000, LIMIT, us(1_400));
        assert_eq!(steps(&mut growth), 0);
    }

    /// Breaks if a round trip is not the time in which all comes that was offered (one segment and
    /// 64,088 bytes), or, by timestamps, whole ticks of a millisecond: none within one, an eighth
    /// of each longer one, a shorter one whole, and none from a timestamp that has told already.
    #[test]
    fn round_trips_are_seen_in_two_ways() {
        let mut growth = begun(us(100));
        growth.measure(1_448, us(50), us(100));
        growth.measure(65_535, us(60), us(790));
        assert_eq!(growth.trip, 0);
        growth.measure(65_536, us(60), us(800));
        assert_eq!(growth.trip, Span::from_micros(700).0);
        let mut far = begun(us(2_100));
        far.measure(1_448, us(100), us(2_100));
        assert_eq!(far.trip, 2 * TICK);
        far.measure(2_896, us(200), us(4_900));
        assert_eq!(far.trip, 2 * TICK, "the same tick");
        far.measure(4_344, us(1_100), us(4_900));
        assert_eq!(far.trip, 2 * TICK + TICK / 8);
        far.measure(5_792, us(4_100), us(5_050));
        assert_eq!(far.trip, TICK, "a shorter one counts at once");
    }

    /// Breaks if the window grows beyond half of the largest (and the step that passes it):
    /// 1,572,864 less 64,088 bytes are 521.0 steps.
    #[test]
    fn it_stops_at_half_of_the_largest() {
        let mut growth = begun(us(0));
        growth.measure(1_000_000, us(0), us(700));
        growth.read(1_000_000, LIMIT, us(1_050));
        assert_eq!(steps(&mut growth), 521);
    }
}
