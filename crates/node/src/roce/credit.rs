//! Credits of receivers (EQDS: Olteanu et al., NSDI 2022; Ultra Ethernet's RCCC): a sender says how
//! much it has, a receiver says when.
//!
//! Packets are counted, all that a queue pair has sent, over and over. What a sender may send
//! without being asked (its first window, and what keeps it from waiting for ever) it counts apart,
//! so that what it asks for is what it lacks. What has been trimmed the receiver knows first and
//! counts itself: a sender leaves out what it has been told of, so nothing is asked for twice,
//! whichever of the two is heard first.

/// Credits as a scenario has them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CreditSpec {
    /// Bytes that an idle queue pair sends at once, before it is asked.
    pub first: u64,
    /// The share of its line that a receiver gives away.
    pub share: f64,
}

/// A queue pair's credit at its sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Credit {
    /// Packets sent unasked, or allowed to be.
    pub unasked: u32,
    /// Packets that the receiver has asked for.
    pub granted: u32,
    /// Headers that the receiver has reported: it asks for their packets by itself.
    pub reported: u32,
}

impl Credit {
    /// How many packets may be sent, after `sent`.
    #[inline]
    pub(super) fn left(self, sent: u32) -> u32 {
        self.unasked.wrapping_add(self.granted).wrapping_sub(sent)
    }

    /// An idle queue pair begins: it may send so many packets at least.
    pub(super) fn begin(&mut self, sent: u32, first: u32) {
        let left = self.left(sent);
        self.unasked = self.unasked.wrapping_add(first.saturating_sub(left));
    }

    /// A packet goes without credit.
    pub(super) fn overdraw(&mut self) {
        self.unasked = self.unasked.wrapping_add(1);
    }

    /// The receiver has asked for so many in all. One that was overtaken changes nothing.
    pub(super) fn grant(&mut self, granted: u32) {
        if granted.wrapping_sub(self.granted) as i32 > 0 {
            self.granted = granted;
        }
    }

    /// How many the receiver has to ask for in all, besides what it knows to be trimmed, if `more`
    /// are to follow those `sent`.
    pub(super) fn wanted(self, sent: u32, more: u32) -> u32 {
        sent.wrapping_add(more).wrapping_sub(self.unasked).wrapping_sub(self.reported)
    }
}

/// What a receiver knows of a queue pair, of which several messages may be under way.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Demand {
    /// Packets that it has asked for.
    pub granted: u32,
    /// Packets that it should ask for.
    wanted: u32,
    /// Headers that have come without their payload.
    trimmed: u32,
    /// The slots of messages that have begun to come and are not over.
    open: Vec<u16>,
    /// Whether it waits for its turn.
    listed: bool,
}

impl Demand {
    /// A packet of the message in `slot` has come and says what is wanted; if it is trimmed, it
    /// will be sent again, too.
    pub(crate) fn note(&mut self, slot: u16, wanted: u32, trimmed: bool) {
        if !self.open.contains(&slot) {
            self.open.push(slot);
        }
        let wanted = wanted.wrapping_add(self.trimmed);
        if wanted.wrapping_sub(self.wanted) as i32 > 0 {
            self.wanted = wanted;
        }
        if trimmed {
            self.trimmed = self.trimmed.wrapping_add(1);
            self.wanted = self.wanted.wrapping_add(1);
        }
    }

    /// The message in `slot` has come, or is over: it wants nothing any more. What else is wanted
    /// others of its queue pair want; if there are none, nothing is.
    pub(crate) fn end(&mut self, slot: u16) {
        self.open.retain(|open| *open != slot);
        if self.open.is_empty() {
            self.wanted = self.granted;
        }
    }

    /// Packets that it has still to ask for.
    fn wants(&self) -> u32 {
        self.wanted.wrapping_sub(self.granted)
    }

    /// Whether it takes its place among those that wait for their turn now.
    pub(crate) fn joins(&mut self) -> bool {
        self.wants() > 0 && !std::mem::replace(&mut self.listed, true)
    }

    /// Its turn: it is asked for one more, if it still wants to be, under the slot of a message
    /// that is not over; its sender sends what it has of any.
    pub(crate) fn take_turn(&mut self) -> Option<u16> {
        self.listed = false;
        let slot = *self.open.last().filter(|_| self.wants() > 0)?;
        self.granted = self.granted.wrapping_add(1);
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: a message of ten packets, four of them unasked. The first says that six are wanted.
    /// The second comes trimmed: seven, which the sender knows of later and says itself, and once
    /// only. The receiver asks, one turn each. What was overtaken changes nothing.
    ///
    /// Breaks if a lost packet is asked for twice or not at all, or if a sender takes a credit for more than it is.
    #[test]
    fn credits_by_hand() {
        let (mut credit, mut demand) = (Credit::default(), Demand::default());
        credit.begin(0, 4);
        assert_eq!((credit.left(0), credit.left(4)), (4, 0));
        demand.note(3, credit.wanted(1, 9), false);
        demand.note(3, credit.wanted(2, 8), true);
        assert!(demand.joins() && !demand.joins());
        assert_eq!(
            (demand.take_turn(), demand.joins(), demand.take_turn()),
            (Some(3), true, Some(3))
        );
        credit.grant(2);
        credit.grant(1);
        assert_eq!(credit.left(4), 2);
        // The sender sends the second packet again: six are left, and seven were sent or wanted beyond the four.
        credit.reported = 1;
        demand.note(3, credit.wanted(5, 6), false);
        assert_eq!((turns(&mut demand), demand.granted), (5, 7));
        credit.grant(7);
        assert_eq!(credit.left(11), 0);
    }

    /// Turns until nothing more is wanted.
    fn turns(demand: &mut Demand) -> usize {
        std::iter::from_fn(|| demand.joins().then(|| demand.take_turn())).count()
    }

    /// Breaks if an idle queue pair has more than its first window, if what it had left is lost, or
    /// if one without credit is not wanted less for what it sent unasked.
    #[test]
    fn unasked_packets_are_not_wanted() {
        let mut credit = Credit { unasked: 4, granted: 7, reported: 0 };
        credit.begin(9, 4);
        assert_eq!((credit.left(9), credit.unasked), (4, 6));
        credit.overdraw();
        assert_eq!(credit.left(13), 1);
        assert_eq!(credit.wanted(14, 3), 10, "three more than were granted");
    }

    /// Breaks if a message that is over is asked, or for more.
    #[test]
    fn messages_end() {
        let mut demand = Demand::default();
        demand.note(1, 5, false);
        demand.note(2, 9, false);
        demand.note(1, 4, false);
        demand.end(1);
        assert_eq!((demand.joins(), demand.take_turn()), (true, Some(2)));
        demand.end(2);
        assert_eq!((demand.joins(), demand.take_turn()), (false, None));
        demand.note(2, 0, true);
        assert!(demand.joins(), "a trimmed packet is wanted again");
    }

    /// By hand: of a message of five packets, all unasked, the headers of two come; then one of
    /// three packets begins, of which the first goes without credit and says that two are wanted:
    /// four in all. It is over when three have been asked for: the fourth is the older message's,
    /// which is asked. Its third header is late and comes when it is alone: it is asked for there,
    /// too, and nothing more when it is over.
    ///
    /// Breaks if the end of a message takes what another one lacks; if a message that is over is
    /// asked; if the trimmed packets of one are wanted no more when another says what it wants, or
    /// twice when its sender does.
    #[test]
    fn a_message_ends_with_its_own_share() {
        let (mut credit, mut demand) = (Credit::default(), Demand::default());
        credit.begin(0, 5);
        demand.note(1, credit.wanted(1, 4), false);
        demand.note(1, credit.wanted(2, 3), true);
        demand.note(1, credit.wanted(3, 2), true);
        credit.overdraw();
        demand.note(2, credit.wanted(6, 2), false);
        let turn = |demand: &mut Demand| demand.joins().then(|| demand.take_turn()).flatten();
        assert_eq!([0; 3].map(|_| turn(&mut demand)), [Some(2); 3]);
        demand.end(2);
        assert_eq!([turn(&mut demand), turn(&mut demand)], [Some(1), None]);
        demand.note(1, credit.wanted(4, 1), true);
        // The sender has been told of two, and sends one of them: one is left, besides two that are new.
        credit.reported = 2;
        demand.note(1, credit.wanted(7, 3), false);
        assert_eq!([turn(&mut demand), turn(&mut demand)], [Some(1), None]);
        demand.note(1, credit.wanted(8, 9), false);
        demand.end(1);
        assert_eq!((turn(&mut demand), demand.granted), (None, 5));
    }
}
