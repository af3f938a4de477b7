//! Trains: segments that leave back to back, as a kernel with segmentation offload builds them, and what
//! a sender waits for so that they are long (Linux: `tcp_tso_autosize`, `tcp_tso_should_defer`).
//!
//! A kernel's TCP works by buffers of up to 64 KB, whoever cuts them into segments in the end. While an
//! acknowledgment lets less go than a third of the window or a full train, it waits for the next ones.

use super::TcpConfig;
use super::sender::{Phase, Sender};
use leafspine_core::{PacketMeta, Span, Time};
use leafspine_schemes::cc::CongestionControl;

/// The longest train in bytes: 64 KB less room for headers.
const LONGEST: u64 = 65_215;
/// A train is no shorter if there is data and the window allows it.
const SHORTEST: u64 = 2;
/// What may leave in this time, a 1024th of a second, at the sender's rate may be one train.
const IN: Span = Span(1_000_000_000_000 >> 10);
/// Every so much of the shortest round trip halves what a train may have beyond that.
const NEAR: Span = Span::from_micros(512);
/// A sender that has not sent for so long does not wait.
const RECENT: Span = Span::from_millis(1);
/// A window's share that is worth a train, as a divisor.
const SHARE: u32 = 3;

/// Buffers are no longer than half of what the other end offers, so that they are whole only after a while: five have some 30 segments, half
/// of what is offered then. The first one has 44, for a reason that is not known. Inferred from where a kernel's trains end at 1 Gb/s over
/// 40 us; at other rates they end elsewhere.
const EARLY: [(u32, u64); 2] = [(1, 64_240), (5, 85_680 / 2)];

/// Whether the acknowledgment of what was sent so long ago is due within a millisecond and half a round trip.
fn is_near(ago: Span, srtt: Span) -> bool {
    ago.0 >= srtt.0 - RECENT.0.min(srtt.0 / 2)
}

/// Full segments in so many bytes.
fn segments(mss: u32, bytes: u64) -> u32 {
    (bytes / u64::from(mss)).max(1) as u32
}

/// Segments from `nxt` to the end of its buffer, those of after a recovery moved by `shift`.
fn left_in_buffer(mss: u32, nxt: u32, shift: u32) -> u32 {
    let mut begins = 0;
    for (count, bytes) in EARLY {
        let each = segments(mss, bytes);
        if nxt - begins < count * each {
            return each - (nxt - begins) % each;
        }
        begins += count * each;
    }
    let whole = segments(mss, LONGEST);
    whole - (nxt - begins + shift) % whole
}

/// A sender's train under way, and how far its window has been used up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Train {
    /// Segments that may still leave with it.
    left: u32,
    /// Its first segment.
    begun: u32,
    /// Whether the window, and not the application, was the limit in this window of data.
    limited: bool,
    /// The most segments that were outstanding in it.
    most: u32,
    /// What was outstanding when that was noted.
    until: u32,
    /// By how much buffers end earlier than those of a flow that has lost nothing.
    shift: u32,
    /// One past the last segment of the next buffer, if it was cut off or has taken some of the one behind it.
    cut: u32,
}

impl Train {
    /// Whether nothing is outstanding before it.
    pub(super) fn is_first(&self, una: u32) -> bool {
        una >= self.begun
    }

    /// A recovery begins, after which buffers end elsewhere: acknowledged segments that wait for a lost one keep their room in the
    /// sender's memory, the application fills what there is, and a buffer leaves before it is full. By how many segments hangs
    /// on when the application is woken, which is not modelled (kernels' captures show 1 and 4): it is drawn, from the next segment's number.
    pub(super) fn shift(&mut self, mss: u32, nxt: u32) {
        let drawn = nxt.wrapping_mul(0x9E37_79B1) >> 7;
        self.shift = drawn % segments(mss, LONGEST);
    }

    /// Linux's `tcp_cwnd_validate`: how far the window has been used up.
    fn note(&mut self, una: u32, nxt: u32, limited: bool) {
        let out = nxt - una;
        if una >= self.until || limited || (!self.limited && out > self.most) {
            *self = Train { limited, most: out, until: nxt, ..*self };
        }
    }
}

impl Sender {
    /// Whether the next new segment may leave now: with the train under way, or as the first of one. `beyond`: what may be
    /// outstanding besides the window, since as much has been SACKed.
    pub(super) fn may_leave(
        &mut self,
        cfg: &TcpConfig,
        (window, beyond): (u32, u32),
        now: Time,
    ) -> bool {
        let (una, nxt, total) = (self.una, self.nxt, self.total);
        let most = (window + beyond).min(cfg.max_cwnd) / cfg.mss;
        let room = most.saturating_sub(nxt - una);
        let window = window.min(cfg.max_cwnd) / cfg.mss;
        let left = self.extra.as_ref().map_or(0, |x| x.train.left);
        let mut limited = false;
        let quota = if room == 0 || left > 0 {
            left.min(room)
        } else {
            let most = self.longest_train(cfg);
            // No train takes more than half of the window.
            let quota = room.min(most).min((window / 2).max(1)).min(total - nxt);
            let buffer = self.buffer(cfg, quota);
            if self.waits_for_more((room, window, most), buffer, now) {
                self.cut(nxt + buffer);
                0
            } else {
                let quota = quota.min(buffer);
                self.cut(nxt + quota);
                let port = cfg.stack.small_queues && self.waits_for_port(cfg, quota, now);
                limited = port;
                if port { 0 } else { quota }
            }
        };
        let Some(x) = &mut self.extra else { return false };
        if left == 0 && quota > 0 {
            x.train.begun = nxt;
        }
        x.train.left = quota.saturating_sub(1);
        // Who waits for the port does not wait for the window.
        x.train.note(una, nxt + u32::from(quota > 0), quota == 0 && !limited);
        quota > 0
    }

    /// Segments of the next buffer, which takes of the one behind it what it has less than `quota` (Linux's `tcp_grow_skb`).
    fn buffer(&self, cfg: &TcpConfig, quota: u32) -> u32 {
        let Some(Train { shift, cut, .. }) = self.extra.as_ref().map(|x| x.train) else {
            return quota;
        };
        let left = |from| left_in_buffer(cfg.mss, from, shift);
        let own = if cut > self.nxt { cut - self.nxt } else { left(self.nxt) };
        let more = quota.saturating_sub(own);
        if more == 0 { own } else { own + more.min(left(self.nxt + own)) }
    }

    /// The next buffer ends there.
    fn cut(&mut self, end: u32) {
        if let Some(x) = &mut self.extra {
            x.train.cut = end;
        }
    }

    /// What the next new segment notes: that nothing follows it, if it ends a train of two at least (Linux: `__tcp_transmit_skb` sets PSH on what
    /// it gives to segmentation). A segment that leaves alone has none, though it may end a buffer. A recovery has no trains.
    pub(super) fn push_note(&self) -> u8 {
        let train = self.extra.as_ref().filter(|_| self.phase == Phase::Open).map(|x| x.train);
        if train.is_some_and(|train| train.left > 0) {
            return 0;
        }
        let ends = train.is_some_and(|train| self.nxt > train.begun);
        if ends { PacketMeta::PUSH } else { 0 }
    }

    /// Bytes that leave in a millisecond at the rate of the window, as many as there may be before the first round trip.
    pub(super) fn in_a_millisecond(&self) -> u64 {
        let window = u64::from(self.control.window());
        let percent = if self.control.window() < self.control.ssthresh() / 2 { 200 } else { 120 };
        let rate = u128::from(window * percent / 100) * u128::from(IN.0);
        let bytes = rate.checked_div(u128::from(self.rtt.srtt().0));
        bytes.map_or(u64::MAX, |bytes| u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// Segments of the longest train: what leaves in a millisecond at the rate of the window, and where the
    /// other end is near as much as a buffer holds.
    fn longest_train(&self, cfg: &TcpConfig) -> u32 {
        let by_rate = self.in_a_millisecond();
        let halvings = self.extra.as_ref().map_or(0, |x| x.rack.min_rtt().0 / NEAR.0);
        let near = if halvings < 32 { LONGEST >> halvings } else { 0 };
        let bytes = by_rate.saturating_add(near).min(LONGEST);
        (bytes / u64::from(cfg.mss)).max(SHORTEST) as u32
    }

    /// Whether it is worth waiting for more acknowledgments: `room`, `window` and `most` in segments.
    fn waits_for_more(
        &self,
        (room, window, most): (u32, u32, u32),
        buffer: u32,
        now: Time,
    ) -> bool {
        let Some(x) = &self.extra else { return false };
        let recent = x.last_sent.is_some_and(|last| now.since(last) <= RECENT);
        // What follows a full buffer's end is another's, and what ends the flow gets no more.
        let ends = self.total - self.nxt < room || buffer <= room;
        if !recent || room >= most || room >= window.div_ceil(SHARE) || ends {
            return false;
        }
        self.una < self.nxt && is_near(now.since(x.sent.at(self.una)), self.rtt.srtt())
    }

    /// Whether the window is used up in the sense of its growth (Linux's `tcp_is_cwnd_limited`).
    pub(super) fn is_train_limited(&self, cfg: &TcpConfig) -> bool {
        let Some(x) = &self.extra else { return false };
        let window = self.control.window();
        x.train.limited || (window < self.control.ssthresh() && window / cfg.mss < 2 * x.train.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, with segments of 1,448 bytes: buffers of 44, five of 29, then of 45 each, which end ten segments earlier
    /// after a recovery that moved them by ten; the early ones stay where they are.
    ///
    /// Breaks if a buffer begins or ends elsewhere, or if those of after a recovery are not moved.
    #[test]
    fn buffers_end_by_hand() {
        let left = |nxt, shift| left_in_buffer(1448, nxt, shift);
        assert_eq!([left(0, 0), left(43, 0), left(44, 0), left(188, 0)], [44, 1, 29, 1]);
        assert_eq!([left(189, 0), left(233, 0), left(234, 0)], [45, 1, 45]);
        assert_eq!([left(188, 10), left(189, 10), left(223, 10), left(224, 10)], [1, 35, 1, 45]);
    }

    /// Breaks if a sender waits for an acknowledgment that is further away than a millisecond or half a round trip, or not for one
    /// that is near.
    #[test]
    fn near_acknowledgments_by_hand() {
        let near = |ago, srtt| is_near(Span::from_micros(ago), Span::from_micros(srtt));
        assert_eq!([near(18_999, 20_000), near(19_000, 20_000)], [false, true]);
        assert_eq!([near(499, 1_000), near(500, 1_000)], [false, true]);
    }

    /// Breaks if a recovery leaves buffers where they were, moves them by what another run would not, or some places of a
    /// buffer's end are hardly drawn: of 45 places in 45,000 recoveries each is to have a tenth more or less than its share.
    #[test]
    fn recoveries_move_buffers() {
        let moved = |nxt| {
            let mut train = Train::default();
            train.shift(1448, nxt);
            train.shift
        };
        let mut places = [0; 45];
        (0..45_000).for_each(|nxt| places[moved(nxt) as usize] += 1);
        assert!(places.iter().all(|count| (900..=1100).contains(count)), "{places:?}");
        assert_eq!(moved(12_345), moved(12_345));
    }
}
