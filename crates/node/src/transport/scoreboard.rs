//! What the sender knows of the receiver's holdings, and what RFC 6675 concludes from it.

use super::segments::SegmentSet;
use leafspine_core::SackBlock;

/// The scoreboard of RFC 6675 §3. The sender's `una` (`HighACK` + 1) and `high` (`HighData` + 1)
/// are handed in.
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    sacked: SegmentSet,
    /// `HighRxt` + 1: below it, all that is not SACKed has been retransmitted in this recovery.
    high_rxt: u32,
    /// A rescue retransmission only once `una` is beyond this (`RescueRxt` + 2: `HighACK` >
    /// `RescueRxt`).
    rescue_after: u32,
}

/// What to send next in recovery (RFC 6675 §4, `NextSeg`), by its rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextSeg {
    /// Rule 1 or 3: a segment that is lost, or at least below what has been SACKed.
    Resend(u32),
    /// Rule 2: new data.
    New,
    /// Rule 4: the highest segment that is not SACKed, once per recovery.
    Rescue(u32),
}

impl Scoreboard {
    pub(super) fn reset(&mut self) {
        self.sacked.clear();
        self.high_rxt = 0;
        self.rescue_after = 0;
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// RFC 6675 §4 `Update`, SACK blocks: returns how many segments are newly known to have
    /// arrived. Blocks below `una` or above `high` tell nothing (a D-SACK is looked at before).
    pub(super) fn update(&mut self, blocks: &[SackBlock; 3], una: u32, high: u32) -> u32 {
        let mut new = 0;
        for block in blocks {
            new += self.sacked.insert(una, block.start.max(una), block.end.min(high));
        }
        new
    }

    /// RFC 6675 §4 `Update`, cumulative: `from..una` is acknowledged.
    #[inline]
    pub(super) fn advance(&mut self, from: u32, una: u32) {
        self.sacked.remove_below(from, una);
    }

    /// A recovery begins: nothing has been retransmitted in it. No rescue before the first
    /// retransmission, which is `una`, and one more segment are acknowledged (RFC 6675 §5 step 4.3
    /// sets `RescueRxt` so).
    pub(super) fn begin_recovery(&mut self, una: u32) {
        self.high_rxt = una;
        self.rescue_after = una + 1;
    }

    /// Every segment below this that is not SACKed counts as lost: RFC 6675 §4 `IsLost`, where
    /// `threshold` SACKed segments above are the test. (With full segments the test by bytes is
    /// the same one.)
    pub(super) fn lost_below(&self, una: u32, threshold: u32) -> u32 {
        self.sacked.nth_from_top(una, threshold).unwrap_or(una)
    }

    /// `IsLost(HighACK + 1)`.
    pub(super) fn first_is_lost(&self, una: u32, threshold: u32) -> bool {
        self.lost_below(una, threshold) > una
    }

    /// SACKed segments in `lo..hi`.
    pub(super) fn count(&self, lo: u32, hi: u32) -> u32 {
        self.sacked.count(lo, hi)
    }

    /// The first segment from `from` on that is not SACKed.
    pub(super) fn first_missing(&self, from: u32) -> u32 {
        self.sacked.first_absent(from)
    }

    /// Whether nothing has been SACKed since the sender was made: no memory is held.
    #[cfg(test)]
    pub(super) fn never_used(&self) -> bool {
        self.sacked.never_used()
    }

    /// Segments that are SACKed.
    pub(super) fn sacked(&self) -> u32 {
        self.sacked.len()
    }

    /// Runs of segments that are SACKed.
    pub(super) fn runs(&self, una: u32) -> u32 {
        self.sacked.runs(una)
    }

    /// Whether `segment`, at or above `una`, is SACKed.
    pub(super) fn is_sacked(&self, segment: u32) -> bool {
        self.sacked.contains(segment)
    }

    /// RFC 6675 §4 `SetPipe`: segments thought to be in the network. One that is not SACKed counts
    /// once if it is not lost, and once more if it has been retransmitted.
    pub(super) fn pipe(&self, una: u32, high: u32, threshold: u32) -> u32 {
        let lost_below = self.lost_below(una, threshold);
        let missing = |lo: u32, hi: u32| (hi - lo) - self.sacked.count(lo, hi);
        missing(lost_below, high) + missing(una, self.high_rxt.max(una))
    }

    /// RFC 6675 §4 `NextSeg`. `new_data` is whether there is data that was never sent and that the
    /// receive window has room for.
    pub(super) fn next_seg(
        &self,
        una: u32,
        high: u32,
        threshold: u32,
        new_data: bool,
    ) -> Option<NextSeg> {
        let candidate = self.sacked.first_absent(self.high_rxt.max(una));
        if candidate < self.lost_below(una, threshold) {
            return Some(NextSeg::Resend(candidate));
        }
        if new_data {
            return Some(NextSeg::New);
        }
        if candidate < self.sacked.top() {
            return Some(NextSeg::Resend(candidate));
        }
        if una <= self.rescue_after {
            return None;
        }
        self.sacked.last_absent(una, high).map(NextSeg::Rescue)
    }

    /// RFC 6675 §5 step C.2: `segment` has been retransmitted.
    pub(super) fn resent(&mut self, segment: u32) {
        self.high_rxt = segment + 1;
    }

    /// RFC 6675 §4 `NextSeg` rule 4: the rescue of this recovery is spent; `HighRxt` stays.
    pub(super) fn rescue_sent(&mut self) {
        self.rescue_after = u32::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THRESHOLD: u32 = 3;

    fn blocks(given: &[(u32, u32)]) -> [SackBlock; 3] {
        let mut blocks = [SackBlock::default(); 3];
        for (block, (start, end)) in blocks.iter_mut().zip(given) {
            *block = SackBlock { start: *start, end: *end };
        }
        blocks
    }

    /// Sent 0..20; 5..7 and 9..12 have arrived.
    fn board() -> Scoreboard {
        let mut board = Scoreboard::default();
        assert_eq!(board.update(&blocks(&[(9, 12), (5, 7)]), 0, 20), 5);
        board.begin_recovery(0);
        board
    }

    /// Breaks if `IsLost` counts otherwise than `DupThresh` SACKed segments above.
    ///
    /// SACKed 5, 6, 9, 10, 11: the third highest is 9, so 0-4, 7 and 8 are lost, 12-19 are not.
    /// With a threshold of 4 it is 6, and 7 and 8 are not lost.
    #[test]
    fn lost_is_below_the_threshold_th_sacked() {
        let board = board();
        assert_eq!((board.lost_below(0, 3), board.lost_below(0, 4)), (9, 6));
        assert_eq!(board.lost_below(0, 6), 0, "fewer SACKed than the threshold: nothing is lost");
        assert!(board.first_is_lost(0, 5) && !board.first_is_lost(0, 6));
    }

    /// Breaks if `SetPipe` forgets lost, SACKed or retransmitted segments.
    ///
    /// Not SACKed and not lost: 12-19, 8 segments. After 0, 1 and 2 are retransmitted, 11.
    #[test]
    fn pipe_counts_what_is_under_way() {
        let mut board = board();
        assert_eq!(board.pipe(0, 20, THRESHOLD), 8);
        board.resent(2);
        assert_eq!(board.pipe(0, 20, THRESHOLD), 11);
        board.resent(7);
        assert_eq!(board.pipe(0, 20, THRESHOLD), 8 + 6, "5 and 6 are SACKed");
    }

    /// Breaks if the rules of `NextSeg` are taken in another order.
    #[test]
    fn next_seg_follows_its_rules() {
        let mut board = board();
        let mut sent = vec![];
        for _ in 0..7 {
            let Some(NextSeg::Resend(segment)) = board.next_seg(0, 20, THRESHOLD, true) else {
                panic!("rule 1 first, after {sent:?}");
            };
            board.resent(segment);
            sent.push(segment);
        }
        assert_eq!(sent, [0, 1, 2, 3, 4, 7, 8], "rule 1: what is lost");
        assert_eq!(board.next_seg(0, 20, THRESHOLD, true), Some(NextSeg::New), "rule 2");
        assert_eq!(board.next_seg(0, 20, THRESHOLD, false), None, "no premature rescue");
        board.advance(0, 2);
        assert_eq!(board.next_seg(2, 20, THRESHOLD, false), Some(NextSeg::Rescue(19)), "rule 4");
        board.rescue_sent();
        assert_eq!(board.next_seg(2, 20, THRESHOLD, false), None, "once per recovery");
        board.begin_recovery(2);
        assert_eq!(board.next_seg(2, 20, 9, false), Some(NextSeg::Resend(2)), "rule 3 again");
        board.resent(15);
        assert_eq!(board.next_seg(4, 20, 9, false), Some(NextSeg::Rescue(19)), "and a new rescue");
    }

    /// Breaks if rule 3 is left out: 7 and 8 are below SACKed data, though not lost at a threshold
    /// of 4.
    #[test]
    fn next_seg_fills_holes_when_there_is_nothing_else() {
        let mut board = board();
        board.resent(4);
        assert_eq!(board.next_seg(0, 20, 4, true), Some(NextSeg::New));
        assert_eq!(board.next_seg(0, 20, 4, false), Some(NextSeg::Resend(7)));
    }

    /// Breaks if old or impossible blocks reach the set.
    #[test]
    fn blocks_outside_the_window_tell_nothing() {
        let mut board = Scoreboard::default();
        assert_eq!(board.update(&blocks(&[(2, 6), (18, 30), (9, 9)]), 5, 20), 3);
        assert!(board.is_sacked(5) && board.is_sacked(19) && !board.is_sacked(20));
        board.advance(5, 20);
        assert!(board.is_empty());
    }
}
