//! Trains: segments that leave back to back, as a kernel with segmentation offload builds them, and what
//! a sender waits for so that they are long (Linux: `tcp_tso_autosize`, `tcp_tso_should_defer`).
//!
//! A kernel's TCP works by pieces of up to 64 KB (`send_buffer.rs`), whoever cuts them into
//! segments in the end. While an acknowledgment lets less go than a third of the window or a full
//! train, it waits for the next ones.

use super::TcpConfig;
use super::extra::Extra;
use super::send_buffer::{LONGEST, Push, Standing};
use super::sender::{Phase, Sender};
use leafspine_core::{PacketMeta, Span, Time};
use leafspine_schemes::cc::CongestionControl;

/// A train is no shorter if there is data and the window allows it.
const SHORTEST: u64 = 2;
/// What may leave in this time, a 1024th of a second, at the sender's rate may be one train.
const IN: Span = Span(1_000_000_000_000 >> 10);
/// Bytes a second below which a train may be one segment, of a control that has a rate of its own.
const SLOW: u64 = 1_200_000 / 8;
/// Every so much of the shortest round trip halves what a train may have beyond that.
const NEAR: Span = Span::from_micros(512);
/// A sender that has not sent for so long does not wait.
const RECENT: Span = Span::from_millis(1);
/// A window's share that is worth a train, as a divisor.
const SHARE: u32 = 3;

/// Whether the acknowledgment of what was sent so long ago is due within a millisecond and half a round trip.
fn is_near(ago: Span, srtt: Span) -> bool {
    ago.0 >= srtt.0 - RECENT.0.min(srtt.0 / 2)
}

/// Bytes that leave in a millisecond at so many a second.
pub(super) fn in_a_millisecond(rate: u64) -> u64 {
    rate >> 10
}

/// A sender's train under way, and how far its window has been used up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Train {
    /// Its first segment.
    begun: u32,
    /// One past its last; a recovery may have sent it since.
    end: u32,
    /// Whether the window, and not the application, was the limit in this window of data.
    limited: bool,
    /// The most segments that were outstanding in it.
    most: u32,
    /// What was outstanding when that was noted.
    until: u32,
}

impl Train {
    /// Segments that may still leave with it, the next of which is `nxt`.
    fn left(&self, nxt: u32) -> u32 {
        self.end.saturating_sub(nxt)
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
    /// Whether the next new segment may leave now: with the train under way, or as the first of
    /// one. `beyond`: what may be outstanding besides the window, since as much has been SACKed.
    pub(super) fn may_leave(
        &mut self,
        cfg: &TcpConfig,
        (window, beyond): (u32, u32),
        now: Time,
    ) -> bool {
        let most = (window + beyond).min(cfg.max_cwnd) / cfg.mss;
        let room = most.saturating_sub(self.nxt - self.una);
        let window = window.min(cfg.max_cwnd) / cfg.mss;
        let left = self.extra.as_ref().map_or(0, |x| x.train.left(self.nxt)).min(room);
        if left > 0 {
            self.goes(left);
            return true;
        }
        let mut push = Some(Push::Pending);
        while let Some(which) = push {
            if which != Push::None && self.begins_train(cfg, (room, window), which, now) {
                return true;
            }
            push = self.application_writes(cfg, now);
        }
        false
    }

    /// Whether a train may leave, with `room` segments free in a window of so many.
    fn begins_train(
        &mut self,
        cfg: &TcpConfig,
        (room, window): (u32, u32),
        push: Push,
        now: Time,
    ) -> bool {
        let (una, nxt) = (self.una, self.nxt);
        let most = self.longest_train(cfg);
        let (quota, piece) = self.next_piece((room, window, most));
        let Some(x) = &mut self.extra else { return false };
        if quota == 0 || piece == 0 {
            x.train.end = nxt;
            if quota == 0 {
                x.train.note(una, nxt, true);
            }
            return false;
        }
        if push != Push::One && self.waits_for_more(cfg, (room, window, most), piece, now) {
            self.note_waiting(room <= piece);
            return false;
        }
        let quota = quota.min(piece);
        let Some(x) = &mut self.extra else { return false };
        // It is cut off also if it has to wait for the port then.
        x.buffer.split(nxt + quota);
        if self.waits_for_port(cfg, quota, false, now) {
            // Who waits for the port does not wait for the window.
            self.note_waiting(false);
            return false;
        }
        let Some(x) = &mut self.extra else { return false };
        x.train.begun = nxt;
        x.backlog.release(nxt..nxt + quota, now);
        self.goes(quota);
        true
    }

    /// Segments that may leave as one train, and those of the next piece in the send buffer, which
    /// takes of the one behind it what it lacks: with `room` segments free in a window of so many, and
    /// `most` in the longest train. No train takes more than half of the window (`tcp_cwnd_test`).
    pub(super) fn next_piece(&mut self, (room, window, most): (u32, u32, u32)) -> (u32, u32) {
        let next = self.high;
        let quota = room.min(most).min((window / 2).max(1));
        let Some(x) = &mut self.extra else { return (0, 0) };
        let piece = x.buffer.end_of(next) - next;
        if quota <= piece {
            return (quota, piece);
        }
        x.buffer.grow(next, quota - piece);
        (quota, x.buffer.end_of(next) - next)
    }

    /// Whether new data may leave in a recovery, or as a probe: with the piece under way, or as the
    /// first segment of one. A probe is of one segment here; where the window has room the kernel's is
    /// of all that may leave (`tcp_send_loss_probe`), which follows here as another train.
    pub(super) fn new_may_leave(&mut self, cfg: &TcpConfig, now: Time) -> bool {
        let nxt = self.high;
        let released = |x: &Extra| x.backlog.is_released(nxt, now);
        if !cfg.stack.gso && !cfg.stack.small_queues || self.extra.as_deref().is_some_and(released)
        {
            return true;
        }
        let asked = self.extra.as_ref().map_or(0, |x| x.frto_new);
        let room = match self.phase {
            Phase::Probing => 1,
            Phase::Loss if asked > 0 => self.room(cfg).min(asked),
            _ => self.room(cfg),
        };
        let window = self.window_in_force() / cfg.mss;
        let (quota, piece) = self.next_piece((room, window, self.longest_train(cfg)));
        // Without trains each segment is a piece.
        let piece = quota.min(piece).max(1);
        let waits = self.waits_for_port(cfg, piece, false, now);
        if let Some(x) = self.extra.as_mut().filter(|_| !waits) {
            x.backlog.release(nxt..nxt + piece, now);
        }
        !waits
    }

    /// The next segment leaves, as the first of so many.
    fn goes(&mut self, left: u32) {
        let (una, nxt) = (self.una, self.nxt);
        let Some(x) = &mut self.extra else { return };
        x.train.end = nxt + left;
        x.train.note(una, nxt + 1, false);
    }

    /// No train leaves, though there is data and room.
    fn note_waiting(&mut self, limited: bool) {
        let (una, nxt) = (self.una, self.nxt);
        let Some(x) = &mut self.extra else { return };
        x.train.end = nxt;
        if limited {
            x.train.note(una, nxt, true);
        }
    }

    /// The application writes what it may; `None` if it waits.
    pub(super) fn application_writes(&mut self, cfg: &TcpConfig, now: Time) -> Option<Push> {
        let dry = self.is_dry(cfg, now);
        let sacked = self.board.sacked();
        let in_flight =
            if self.phase == Phase::Open { self.nxt - self.una - sacked } else { self.pipe };
        let window = self.window_in_force() / cfg.mss;
        let x = self.extra.as_mut()?;
        let at = Standing {
            una: self.una,
            nxt: self.high,
            total: self.total,
            window,
            in_flight,
            reordered_by: x.rack.reordered_by(),
            by_rate: cfg.by_rate,
            board: &self.board,
        };
        let push = x.buffer.write(cfg.mss, &at);
        if dry && push.is_some() {
            self.note_dry(cfg);
        }
        push
    }

    /// The application may be woken in a recovery, too: the next segment that leaves by it.
    pub(super) fn poll_written(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        out: &mut PacketMeta,
    ) -> bool {
        if !matches!(self.phase, Phase::Recovery | Phase::Loss) {
            return false;
        }
        let before = self.written(cfg);
        while self.application_writes(cfg, now).is_some() {}
        self.written(cfg) > before && self.poll_recovering(cfg, now, out)
    }

    /// A segment has left that ends a train, or a piece that a recovery sends.
    pub(super) fn end_piece(&mut self, now: Time) {
        let (alone, high) = (self.phase != Phase::Open, self.high);
        let Some(x) = &mut self.extra else { return };
        let ends = if alone { !x.backlog.is_released(high, now) } else { x.train.left(high) == 0 };
        if ends {
            x.buffer.split(high);
        }
    }

    /// Segments that the application has written.
    pub(super) fn written(&self, cfg: &TcpConfig) -> u32 {
        let buffer = self.extra.as_ref().filter(|_| cfg.stack.gso).map(|x| x.buffer.written());
        buffer.unwrap_or(self.total)
    }

    /// What the next new segment notes: that nothing follows it, if it ends a train of two at least
    /// (Linux: `__tcp_transmit_skb` sets PSH on what it gives to segmentation). A segment that
    /// leaves alone has none, though it may end a buffer. None is set in a recovery.
    pub(super) fn push_note(&self) -> u8 {
        let train = self.extra.as_ref().filter(|_| self.phase == Phase::Open).map(|x| x.train);
        if train.is_some_and(|train| train.left(self.nxt) > 1) {
            return 0;
        }
        let ends = train.is_some_and(|train| self.nxt > train.begun);
        if ends { PacketMeta::PUSH } else { 0 }
    }

    /// Bytes that leave in a millisecond at the rate that the last ACK has left: that of the window.
    pub(super) fn in_a_millisecond(&self, cfg: &TcpConfig) -> u64 {
        let noted = self.extra.as_ref().and_then(|x| x.in_a_millisecond);
        noted.unwrap_or_else(|| self.rate_now(cfg))
    }

    /// An ACK has been dealt with, and nothing has left yet. A control with a rate of its own has
    /// said it.
    pub(super) fn note_rate(&mut self, cfg: &TcpConfig) {
        if cfg.by_rate {
            return;
        }
        let rate = self.rate_now(cfg);
        if let Some(x) = &mut self.extra {
            x.in_a_millisecond = Some(rate);
        }
    }

    /// Bytes in a millisecond at the rate of the window, or of what is outstanding if that is more;
    /// as many as there may be before the first round trip (`tcp_update_pacing_rate`).
    fn rate_now(&self, cfg: &TcpConfig) -> u64 {
        let cwnd = self.window_in_force();
        let window = u64::from(cwnd.max((self.high - self.una) * cfg.mss));
        let percent = if cwnd < self.control.ssthresh() / 2 { 200 } else { 120 };
        // At most 33 and 30 bits.
        let rate = (window * percent / 100) * IN.0;
        rate.checked_div(self.rtt.srtt().0).unwrap_or(u64::MAX)
    }

    /// Segments of the longest train: what leaves in a millisecond at the rate of the window, and where the
    /// other end is near as much as a buffer holds.
    pub(super) fn longest_train(&self, cfg: &TcpConfig) -> u32 {
        let by_rate = self.in_a_millisecond(cfg);
        let halvings = self.extra.as_ref().map_or(0, |x| x.rack.min_rtt().0 / NEAR.0);
        let near = if halvings < 32 { LONGEST >> halvings } else { 0 };
        let bytes = by_rate.saturating_add(near).min(LONGEST);
        let slow = cfg.by_rate && by_rate < in_a_millisecond(SLOW);
        (bytes / u64::from(cfg.mss)).max(if slow { 1 } else { SHORTEST }) as u32
    }

    /// Whether it is worth waiting for more acknowledgments, with `piece` segments next in the send
    /// buffer: `room`, `window` and `most` in segments.
    fn waits_for_more(
        &self,
        cfg: &TcpConfig,
        (room, window, most): (u32, u32, u32),
        piece: u32,
        now: Time,
    ) -> bool {
        let Some(x) = &self.extra else { return false };
        let recent = x.last_sent.is_some_and(|last| now <= last.max(x.free_at) + RECENT);
        // To a piece that others follow nothing is added, nor to one that ends the flow, whose last
        // segment may be short; a lone segment does not wait.
        let whole = if x.buffer.is_last(self.nxt) {
            let bytes = piece * cfg.mss - self.short_of(cfg);
            self.nxt + piece == self.total && bytes < room * cfg.mss
        } else {
            piece <= room
        };
        if !recent || room >= most || room >= window.div_ceil(SHARE) || whole || piece == 1 {
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

    /// Breaks if a sender waits for an acknowledgment that is further away than a millisecond or
    /// half a round trip, or not for one that is near.
    #[test]
    fn near_acknowledgments_by_hand() {
        let near = |ago, srtt| is_near(Span::from_micros(ago), Span::from_micros(srtt));
        assert_eq!([near(18_999, 20_000), near(19_000, 20_000)], [false, true]);
        assert_eq!([near(499, 1_000), near(500, 1_000)], [false, true]);
    }
}
