//! RACK: a segment is lost if one that was sent enough later has arrived (RFC 8985 §6).

use super::scoreboard::Scoreboard;
use super::segments::SegmentSet;
use super::ticks::in_micros;
use leafspine_core::{Span, Time};

/// When each segment of the window was last sent, and whether it had been before: a ring by segment
/// number, as wide as the window has been.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Picoseconds, shifted by the bit that says whether the segment was retransmitted.
    slots: Box<[u64]>,
}

impl Sent {
    /// `segment` is sent at `now`; no segment below `una` will be asked for.
    pub(super) fn note(&mut self, una: u32, segment: u32, again: bool, now: Time) {
        let needed = (segment - una + 1) as usize;
        if needed > self.slots.len() {
            let mut wider = vec![0; needed.next_power_of_two().max(64)].into_boxed_slice();
            if !self.slots.is_empty() {
                for known in una..segment {
                    wider[known as usize & (wider.len() - 1)] = self.slot(known);
                }
            }
            self.slots = wider;
        }
        let at = segment as usize & (self.slots.len() - 1);
        self.slots[at] = now.0 << 1 | u64::from(again);
    }

    fn slot(&self, segment: u32) -> u64 {
        self.slots[segment as usize & (self.slots.len() - 1)]
    }

    /// When `segment` was last sent.
    pub(super) fn at(&self, segment: u32) -> Time {
        Time(self.slot(segment) >> 1)
    }

    /// Whether `segment` was sent more than once.
    pub(super) fn again(&self, segment: u32) -> bool {
        self.slot(segment) & 1 == 1
    }
}

/// Recoveries that a wider window for reordering lasts (RFC 8985 §6.2 step 4).
const PERSIST: u32 = 16;

/// Linux's `tcp_max_reordering`, in segments.
const MOST_REORDERED: u32 = 300;

/// RFC 8985 §5.3's variables, of a sender.
#[derive(Debug, Default)]
pub(super) struct Rack {
    /// Segments marked lost and not sent again since.
    pub(super) lost: SegmentSet,
    /// Segments that were sent again and have neither been delivered nor marked lost again since.
    pub(super) resent: SegmentSet,
    /// Those of them that do not count as lost any more, since the timeout was in vain.
    forgiven: SegmentSet,
    /// Linux: what it has marked lost and has not been sent again since. It is off its list of what was sent
    /// (`tcp_rack_detect_loss`), and is not marked again when a recovery in vain has unmarked it.
    given_up: SegmentSet,
    /// Those that were marked with the ACK or the timer in hand.
    pub(super) marked: Vec<u32>,
    /// `RACK.xmit_ts`: when the segment was sent that, of those delivered, was sent last.
    xmit: Time,
    /// `RACK.end_seq` of that segment.
    end: u32,
    /// `RACK.rtt` of that segment.
    rtt: Span,
    /// `RACK.min_RTT`: the shortest round trip of the flow; zero before the first.
    min_rtt: Span,
    /// `RACK.fack`: one past the highest segment that was delivered.
    fack: u32,
    /// Linux's `advanced`: what was delivered, a reduction undone or a timer asks for another look at what may be lost.
    advanced: bool,
    /// `RACK.reordering_seen`.
    reordering: bool,
    /// By how many segments, at most: Linux's `reordering`.
    reordered_by: u32,
    /// `RACK.dsack_round`.
    dsack_round: Option<u32>,
    /// Linux's: a D-SACK is to be counted; when the last one was.
    dsack_seen: bool,
    widened: Time,
    /// `RACK.reo_wnd_mult`, less one.
    wider: u32,
    /// `RACK.reo_wnd_persist`.
    pub(super) persist: u32,
}

/// Where the sender stands when it looks for losses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    pub(super) una: u32,
    pub(super) high: u32,
    /// Fast recovery or the recovery of a timeout is under way.
    pub(super) recovering: bool,
    /// `DupThresh`.
    pub(super) threshold: u32,
    pub(super) srtt: Span,
    pub(super) now: Time,
    /// As Linux does it: round trips in whole microseconds, and what is given up is off the list.
    pub(super) as_linux: bool,
}

impl Situation {
    fn since(&self, when: Time) -> Span {
        let age = self.now.since(when);
        if self.as_linux { in_micros(age) } else { age }
    }
}

/// Whether the first, sent at a time and ending so, was sent after the second (`RACK_sent_after`).
fn sent_after(a: (Time, u32), b: (Time, u32)) -> bool {
    a.0 > b.0 || (a.0 == b.0 && a.1 > b.1)
}

impl Rack {
    pub(super) fn reset(&mut self) {
        let (mut lost, mut marked) =
            (std::mem::take(&mut self.lost), std::mem::take(&mut self.marked));
        let (mut resent, mut given_up) =
            (std::mem::take(&mut self.resent), std::mem::take(&mut self.given_up));
        let mut forgiven = std::mem::take(&mut self.forgiven);
        lost.clear();
        marked.clear();
        resent.clear();
        given_up.clear();
        forgiven.clear();
        *self = Rack { lost, marked, resent, forgiven, given_up, ..Rack::default() };
    }

    /// Step 3 for what an ACK delivers, in the order of their numbers: a segment sent once is out
    /// of order if a later one had been delivered before the ACK. What the ACK delivers at once is
    /// in order, whatever tells of it (Linux's `prior_fack`).
    pub(super) fn order(&mut self, sent: &Sent, fresh: &[u32]) {
        let late = fresh.iter().copied().find(|s| *s < self.fack && !sent.again(*s));
        self.fack = fresh.last().map_or(self.fack, |last| self.fack.max(last + 1));
        if let Some(first) = late {
            self.reordered(first);
        }
    }

    /// Steps 1 and 2 for one segment that an ACK delivers. `newer` is
    /// whether the ACK can be of its last transmission: what it echoes is no older.
    ///
    /// With `any_rtt` as Linux does it: whatever was delivered last gives the round trip, and the shortest one is
    /// told by [`Rack::measured`].
    pub(super) fn delivered(
        &mut self,
        sent: &Sent,
        segment: u32,
        newer: bool,
        any_rtt: bool,
        now: Time,
    ) {
        let (at, again) = (sent.at(segment), sent.again(segment));
        let rtt = if any_rtt { in_micros(now.since(at)) } else { now.since(at) };
        if again && (!newer || rtt < self.min_rtt) {
            return;
        }
        self.advanced = true;
        if !any_rtt {
            self.measured(rtt);
        }
        let latest = sent_after((at, segment + 1), (self.xmit, self.end));
        if latest {
            (self.xmit, self.end) = (at, segment + 1);
        }
        if latest || any_rtt {
            self.rtt = rtt;
        }
    }

    /// A reduction was undone, or the timer for what is late has fired.
    pub(super) fn look_again(&mut self) {
        self.advanced = true;
    }

    /// Whether there is something new to look for losses by; no longer after this.
    pub(super) fn take_advanced(&mut self) -> bool {
        std::mem::take(&mut self.advanced)
    }

    /// A round trip for [`Rack::min_rtt`].
    pub(super) fn measured(&mut self, rtt: Span) {
        if self.min_rtt == Span::ZERO || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
    }

    /// Reordering was seen: `segment` came after others that were sent later. It counts itself
    /// (`tcp_check_sack_reordering`: from its first byte).
    pub(super) fn reordered(&mut self, segment: u32) {
        self.reordering = true;
        let by = self.fack.saturating_sub(segment).min(MOST_REORDERED);
        self.reordered_by = self.reordered_by.max(by);
    }

    /// By how many segments packets have been seen out of order, at most.
    pub(super) fn reordered_by(&self) -> u32 {
        self.reordered_by
    }

    /// A segment was delivered, whatever transmission of it.
    pub(super) fn settled(&mut self, una: u32, segment: u32) {
        self.lost.remove(una, segment);
        self.not_under_way(una, segment);
    }

    /// What was sent again has come, or is given up once more.
    fn not_under_way(&mut self, una: u32, segment: u32) {
        self.resent.remove(una, segment);
        self.forgiven.remove(una, segment);
    }

    /// A timeout was in vain: nothing counts as lost (Linux: `tcp_try_undo_loss`).
    pub(super) fn forgive(&mut self) {
        self.lost.clear();
        self.forgiven.clone_from(&self.resent);
    }

    /// Segments that count as lost, of which some are under way again (Linux's `lost_out`).
    pub(super) fn lost_out(&self) -> u32 {
        self.lost.len() + self.resent.len() - self.forgiven.len()
    }

    /// A segment is sent again, by a probe or because it was given up.
    pub(super) fn sent_again(&mut self, una: u32, segment: u32, probes: bool) {
        if !probes {
            self.resent.insert(una, segment, segment + 1);
            self.forgiven.remove(una, segment);
        }
        self.given_up.remove(una, segment);
    }

    /// A timeout in which no recovery was under way: by how much packets come out of order was thought too much
    /// (Linux's `tcp_enter_loss`).
    pub(super) fn timed_out(&mut self, sacked: u32, threshold: u32) {
        if sacked >= threshold {
            self.reordered_by = self.reordered_by.min(threshold);
        }
    }

    /// All below `una` is acknowledged; before, `from` was the first.
    pub(super) fn acknowledged(&mut self, from: u32, una: u32) {
        self.lost.remove_below(from, una);
        self.resent.remove_below(from, una);
        self.forgiven.remove_below(from, una);
        self.given_up.remove_below(from, una);
    }

    /// The shortest round trip of the flow; zero before the first.
    pub(super) fn min_rtt(&self) -> Span {
        self.min_rtt
    }

    /// Step 4's share of D-SACK: one more quarter of a round trip for each round trip with one.
    pub(super) fn note_dsack(&mut self, una: u32, high: u32, reported: bool) {
        if self.dsack_round.is_some_and(|end| una >= end) {
            self.dsack_round = None;
        }
        if reported && self.dsack_round.is_none() {
            self.dsack_round = Some(high);
            self.wider += 1;
            self.persist = PERSIST;
        }
    }

    /// Linux's `tcp_dsack_seen`, before anything else is made of the ACK: what was sent again in
    /// vain asks for a wider window if reordering has been seen by then, and if it was not a
    /// `probe`, which RACK did not ask for.
    pub(super) fn see_dsack(&mut self, probe: bool) {
        self.dsack_seen |= self.reordering && !probe;
    }

    /// The same as [`Rack::note_dsack`] as Linux does it: the round is over when something is
    /// delivered that was sent after it began, and an ACK that delivers nothing leaves its D-SACK
    /// to the next. `latest`: when that was sent which this ACK delivers, the last of it.
    pub(super) fn widen(&mut self, latest: Option<Time>, now: Time) {
        let Some(latest) = latest else { return };
        let over = latest >= self.widened;
        if std::mem::take(&mut self.dsack_seen) && over {
            self.widened = now;
            self.wider += 1;
            self.persist = PERSIST;
        }
    }

    /// Linux: D-SACKs have shown a reduction to be in vain, and the wider window lasts one more
    /// recovery, sixteen at most (`tcp_try_undo_dsack`).
    pub(super) fn proven_late(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }

    /// Step 4: a recovery has ended. After sixteen without a D-SACK the window is narrow again.
    pub(super) fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.wider = 0;
        }
    }

    /// Step 4: how much later than it should a segment may come (`RACK.reo_wnd`).
    pub(super) fn reorder_window(&self, at: &Situation, sacked: u32) -> Span {
        if !self.reordering && (at.recovering || sacked >= at.threshold) {
            return Span::ZERO;
        }
        let quarters = u64::from(self.wider) + 1;
        let quarter = Span(self.min_rtt.0 / 4);
        let quarter = if at.as_linux { in_micros(quarter) } else { quarter };
        Span((quarters * quarter.0).min(at.srtt.0))
    }

    /// Step 5, `RACK_detect_loss`: marks what is lost. Gives whether anything was marked, and how long
    /// to wait for what may still come.
    ///
    /// Segments are sent for the first time in the order of their numbers, so that the first one that
    /// was not sent again and was sent later than the last one delivered ends the search.
    pub(super) fn detect(
        &mut self,
        sent: &Sent,
        board: &Scoreboard,
        at: &Situation,
    ) -> (bool, Option<Span>) {
        let patience = self.rtt + self.reorder_window(at, board.sacked());
        self.marked.clear();
        let (mut marked, mut wait) = (false, None);
        let mut segment = at.una;
        loop {
            segment = board.first_missing(segment);
            if segment >= at.high {
                return (marked, wait);
            }
            let when = sent.at(segment);
            let older = sent_after((self.xmit, self.end), (when, segment + 1));
            if !older && !sent.again(segment) {
                return (marked, wait);
            }
            if older && !self.lost.contains(segment) && !self.given_up.contains(segment) {
                let age = at.since(when);
                if age >= patience {
                    self.lost.insert(at.una, segment, segment + 1);
                    self.not_under_way(at.una, segment);
                    self.marked.push(segment);
                    if at.as_linux {
                        self.given_up.insert(at.una, segment, segment + 1);
                    }
                    marked = true;
                } else {
                    let left = Span(patience.0 - age.0);
                    wait = Some(wait.map_or(left, |most: Span| most.max(left)));
                }
            }
            segment += 1;
        }
    }

    /// §6.3: the retransmission timer has fired. The first segment is lost, and so is what was sent so
    /// long ago. (Linux gives nothing more time then: `tcp_timeout_mark_lost`.)
    pub(super) fn mark_after_timeout(&mut self, sent: &Sent, board: &Scoreboard, at: &Situation) {
        let more = if at.as_linux { Span::ZERO } else { self.reorder_window(at, board.sacked()) };
        let patience = self.rtt + more;
        self.marked.clear();
        let mut segment = board.first_missing(at.una);
        while segment < at.high {
            let late = segment == at.una || at.since(sent.at(segment)) >= patience;
            if late && self.lost.insert(at.una, segment, segment + 1) > 0 {
                self.not_under_way(at.una, segment);
                self.marked.push(segment);
            }
            segment = board.first_missing(segment + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafspine_core::SackBlock;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_micros(us)
    }

    fn at(now: u64) -> Situation {
        let srtt = Span::from_micros(100);
        Situation {
            una: 0,
            high: 8,
            recovering: false,
            threshold: 3,
            srtt,
            now: us(now),
            as_linux: false,
        }
    }

    /// Segments 0 to 7 are sent at 0, 1, .. 7 us; these are SACKed, each 100 us after it was sent.
    fn with(sacked: &[u32]) -> (Sent, Rack, Scoreboard) {
        let (mut sent, mut rack, mut board) =
            (Sent::default(), Rack::default(), Scoreboard::default());
        (0..8).for_each(|segment| sent.note(0, segment, false, us(u64::from(segment))));
        for segment in sacked {
            let mut blocks = [SackBlock::default(); 3];
            blocks[0] = SackBlock { start: *segment, end: segment + 1 };
            board.update(&blocks, 0, 8);
            rack.order(&sent, &[*segment]);
            rack.delivered(&sent, *segment, true, false, us(100 + u64::from(*segment)));
        }
        (sent, rack, board)
    }

    fn lost(rack: &Rack) -> Vec<u32> {
        (0..8).filter(|segment| rack.lost.contains(*segment)).collect()
    }

    /// Breaks if a segment is not given a quarter of the shortest round trip more than one that was
    /// sent after it (RFC 8985 §6.2 steps 4 and 5).
    ///
    /// 3 comes at 103 us: a round trip of 100 us, so 0, 1 and 2 are due at 125, 126 and 127 us, and
    /// 4 to 7, sent later, are none of RACK's business.
    #[test]
    fn late_is_a_quarter_of_a_round_trip() {
        let (sent, mut rack, board) = with(&[3]);
        assert_eq!(rack.detect(&sent, &board, &at(103)), (false, Some(Span::from_micros(24))));
        assert_eq!(rack.detect(&sent, &board, &at(125)), (true, Some(Span::from_micros(2))));
        assert_eq!(lost(&rack), [0]);
        assert_eq!(rack.detect(&sent, &board, &at(127)), (true, None));
        assert_eq!(lost(&rack), [0, 1, 2]);
    }

    /// Breaks if a timeout gives what is late no more than a round trip, or if Linux's gives it a
    /// quarter more. All was sent 103 to 110 us before.
    #[test]
    fn what_a_timeout_gives_up() {
        let after = |as_linux| {
            let (sent, mut rack, board) = with(&[3]);
            rack.mark_after_timeout(&sent, &board, &Situation { as_linux, ..at(110) });
            lost(&rack)
        };
        assert_eq!(after(false), [0]);
        assert_eq!(after(true), [0, 1, 2, 4, 5, 6, 7]);
    }

    /// Breaks if, while no reordering has been seen, three SACKed segments do not mean a loss at once,
    /// or if they do once it has been (step 4).
    #[test]
    fn three_sacked_segments_mean_a_loss_until_reordering_is_seen() {
        let (sent, mut rack, board) = with(&[3, 4, 5]);
        assert_eq!(rack.detect(&sent, &board, &at(105)), (true, None));
        assert_eq!(lost(&rack), [0, 1, 2]);
        // 1 comes after 5: it was sent before, and once.
        let (sent, mut rack, board) = with(&[3, 4, 5, 1]);
        assert_eq!(rack.reorder_window(&at(106), 4), Span::from_micros(25));
        assert!(!rack.detect(&sent, &board, &at(106)).0);
    }

    /// Breaks if Linux's round trips for D-SACK are not over with what was sent after the last one
    /// was counted, or a D-SACK that nothing is delivered with is lost, or one is counted that was
    /// early.
    #[test]
    fn linux_counts_dsacks_by_what_is_delivered() {
        let mut rack = Rack { reordering: true, ..Rack::default() };
        rack.see_dsack(false);
        rack.widen(None, us(100));
        assert_eq!(rack.wider, 0, "it waits for a delivery");
        rack.widen(Some(us(50)), us(110));
        assert_eq!(rack.wider, 1);
        rack.see_dsack(false);
        rack.widen(Some(us(109)), us(120));
        assert_eq!(rack.wider, 1, "sent before");
        rack.widen(Some(us(110)), us(130));
        assert_eq!(rack.wider, 1, "that one is forgotten");
        rack.see_dsack(false);
        rack.widen(Some(us(120)), us(140));
        assert_eq!(rack.wider, 2);
    }

    /// Breaks if Linux's window grows for a D-SACK before reordering has been seen, or for one of a probe.
    #[test]
    fn linux_counts_dsacks_of_what_came_late() {
        let mut rack = Rack::default();
        rack.see_dsack(false);
        rack.widen(Some(us(50)), us(110));
        assert_eq!(rack.wider, 0, "no reordering yet");
        rack.reordering = true;
        rack.see_dsack(true);
        rack.widen(Some(us(110)), us(120));
        assert_eq!(rack.wider, 0, "a probe");
        rack.see_dsack(false);
        rack.widen(Some(us(120)), us(130));
        assert_eq!(rack.wider, 1);
    }

    /// Breaks if D-SACKs do not widen the window by a quarter each round trip, up to the smoothed
    /// round trip, or if it does not narrow after sixteen recoveries (step 4).
    #[test]
    fn duplicates_widen_the_window() {
        let (_, mut rack, _) = with(&[3, 1]);
        let window = |rack: &Rack| rack.reorder_window(&at(110), 2);
        assert_eq!(window(&rack), Span::from_micros(25));
        rack.note_dsack(0, 8, true);
        rack.note_dsack(7, 8, true);
        assert_eq!(window(&rack), Span::from_micros(50), "once in a round trip");
        rack.note_dsack(8, 9, true);
        assert_eq!(window(&rack), Span::from_micros(75));
        (0..5).for_each(|round| rack.note_dsack(9 + round, 10 + round, true));
        assert_eq!(window(&rack), Span::from_micros(100), "no more than a round trip");
        (0..15).for_each(|_| rack.recovered());
        assert_eq!(window(&rack), Span::from_micros(100));
        rack.proven_late();
        rack.recovered();
        assert_eq!(window(&rack), Span::from_micros(100), "one more, where it was in vain");
        rack.recovered();
        assert_eq!(window(&rack), Span::from_micros(25));
    }

    /// Breaks if an ACK of a retransmission that may be of the first transmission moves RACK's time
    /// (step 2): by what it echoes, or because it came sooner than any.
    #[test]
    fn an_ambiguous_ack_measures_nothing() {
        let (mut sent, mut rack, _) = with(&[3]);
        sent.note(0, 0, true, us(104));
        rack.delivered(&sent, 0, false, false, us(205));
        assert_eq!((rack.xmit, rack.rtt), (us(3), Span::from_micros(100)));
        rack.delivered(&sent, 0, true, false, us(203));
        assert_eq!(rack.xmit, us(3), "99 us are shorter than the shortest");
        rack.delivered(&sent, 0, true, false, us(205));
        assert_eq!((rack.xmit, rack.end, rack.rtt), (us(104), 1, Span::from_micros(101)));
    }

    /// Breaks if Linux's round trips, and what they are held against, are not in whole microseconds.
    #[test]
    fn linux_counts_microseconds() {
        let (sent, mut rack, board) = with(&[]);
        let later = us(103) + Span::from_nanos(900);
        rack.delivered(&sent, 3, true, true, later);
        assert_eq!(rack.rtt, Span::from_micros(100));
        rack.measured(Span::from_micros(103));
        let at = |now| Situation { recovering: false, as_linux: true, ..at(now) };
        assert_eq!(rack.reorder_window(&at(0), 1), Span::from_micros(25));
        assert!(!rack.detect(&sent, &board, &at(124)).0);
        assert!(rack.detect(&sent, &board, &at(125)).0);
    }

    /// Breaks if what one ACK both acknowledges and SACKs counts as out of order, or what came
    /// after the SACK of a later one, and was sent once, does not; or if the extent does not count
    /// the late segment itself.
    #[test]
    fn what_one_ack_delivers_is_in_order() {
        let (mut sent, mut rack, _) = with(&[]);
        rack.order(&sent, &[0, 1, 4, 5]);
        assert_eq!((rack.reordering, rack.reordered_by()), (false, 0));
        sent.note(0, 2, true, us(104));
        rack.order(&sent, &[2]);
        assert!(!rack.reordering, "it may be the copy");
        rack.order(&sent, &[3, 6]);
        assert_eq!((rack.reordering, rack.reordered_by()), (true, 4));
    }

    /// Breaks if, as Linux has it, an earlier segment that is delivered later does not give the
    /// round trip, or if what a retransmission's first transmission may have brought does.
    #[test]
    fn any_delivery_gives_the_round_trip() {
        let (mut sent, mut rack, _) = with(&[3]);
        rack.delivered(&sent, 1, true, true, us(141));
        assert_eq!((rack.xmit, rack.rtt), (us(3), Span::from_micros(140)));
        sent.note(0, 0, true, us(150));
        rack.delivered(&sent, 0, false, true, us(300));
        assert_eq!(rack.rtt, Span::from_micros(140));
        rack.delivered(&sent, 0, true, true, us(300));
        assert_eq!((rack.xmit, rack.rtt), (us(150), Span::from_micros(150)));
    }

    /// Breaks if after a timeout the first segment is not lost, or one that was sent just now is
    /// (§6.3).
    #[test]
    fn after_a_timeout_the_first_and_the_old_are_lost() {
        let (mut sent, mut rack, board) = with(&[3]);
        sent.note(0, 5, true, us(10_000));
        let late = Situation { recovering: true, ..at(10_010) };
        rack.mark_after_timeout(&sent, &board, &late);
        assert_eq!(lost(&rack), [0, 1, 2, 4, 6, 7]);
        let (sent, mut rack, board) = with(&[3]);
        rack.mark_after_timeout(&sent, &board, &Situation { recovering: true, ..at(101) });
        assert_eq!(lost(&rack), [0, 1]);
    }

    /// Breaks if times of segments are mixed up when the ring widens.
    #[test]
    fn the_ring_widens_with_the_window() {
        let mut sent = Sent::default();
        (0..1_000).for_each(|s| sent.note(s / 2, s, s % 3 == 0, us(u64::from(s))));
        for segment in 500..1_000 {
            let found = (sent.at(segment), sent.again(segment));
            assert_eq!(found, (us(u64::from(segment)), segment % 3 == 0));
        }
    }
}
