//! Credits of receivers (EQDS: Olteanu et al., NSDI 2022; Ultra Ethernet's RCCC): a sender says how much it has, a receiver says when.
//!
//! Packets are counted, all that a queue pair has sent, over and over. What a sender may send without being asked (its first window, and
//! what keeps it from waiting for ever) it counts apart, so that what it asks for is what it lacks.

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

    /// How many the receiver has to ask for in all, if `more` are to follow those `sent`.
    pub(super) fn wanted(self, sent: u32, more: u32) -> u32 {
        sent.wrapping_add(more).wrapping_sub(self.unasked)
    }
}

/// What a receiver knows of a queue pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Demand {
    /// Packets that it has asked for.
    pub granted: u32,
    /// Packets that it should ask for.
    wanted: u32,
    /// The last packet of the queue pair that it knows of, and the slot of the message.
    latest: u32,
    slot: u16,
    /// Whether it waits for its turn.
    listed: bool,
}

impl Demand {
    /// A packet `number` of the message in `slot` has come and says what is wanted; if it is trimmed, it will be sent again, too.
    pub(crate) fn note(&mut self, number: u32, wanted: u32, trimmed: bool, slot: u16) {
        if wanted.wrapping_sub(self.wanted) as i32 > 0 {
            self.wanted = wanted;
        }
        if trimmed {
            // Before that nothing may be wanted for what was sent unasked.
            if self.granted.wrapping_sub(self.wanted) as i32 > 0 {
                self.wanted = self.granted;
            }
            self.wanted = self.wanted.wrapping_add(1);
        }
        if number.wrapping_sub(self.latest) as i32 >= 0 {
            (self.latest, self.slot) = (number, slot);
        }
    }

    /// The message in `slot` has come, or is over: if it is the latest, nothing more is wanted.
    pub(crate) fn end(&mut self, slot: u16) {
        if self.slot == slot {
            self.wanted = self.granted;
        }
    }

    /// Whether it takes its place among those that wait for their turn now.
    pub(crate) fn joins(&mut self) -> bool {
        let wants = self.wanted.wrapping_sub(self.granted) as i32 > 0;
        wants && !std::mem::replace(&mut self.listed, true)
    }

    /// Its turn: it is asked for one more, by the message in a slot, if it still wants to be.
    pub(crate) fn take_turn(&mut self) -> Option<u16> {
        self.listed = false;
        if self.wanted.wrapping_sub(self.granted) as i32 <= 0 {
            return None;
        }
        self.granted = self.granted.wrapping_add(1);
        Some(self.slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: a message of ten packets, four of them unasked. The first says that six are wanted. The second comes trimmed: seven, which the sender
    /// knows of later and says itself, and once only. The receiver asks, one turn each. What was overtaken changes nothing.
    ///
    /// Breaks if a lost packet is asked for twice or not at all, or if a sender takes a credit for more than it is.
    #[test]
    fn credits_by_hand() {
        let (mut credit, mut demand) = (Credit::default(), Demand::default());
        credit.begin(0, 4);
        assert_eq!((credit.left(0), credit.left(4)), (4, 0));
        demand.note(0, credit.wanted(1, 9), false, 3);
        demand.note(1, credit.wanted(2, 8), true, 3);
        assert!(demand.joins() && !demand.joins());
        assert_eq!(
            (demand.take_turn(), demand.joins(), demand.take_turn()),
            (Some(3), true, Some(3))
        );
        credit.grant(2);
        credit.grant(1);
        assert_eq!(credit.left(4), 2);
        // The sender sends the second packet again: six are left, and seven were sent or wanted beyond the four.
        demand.note(4, credit.wanted(5, 6), false, 3);
        let turns = std::iter::from_fn(|| demand.joins().then(|| demand.take_turn())).count();
        assert_eq!((turns, demand.granted), (5, 7));
        credit.grant(7);
        assert_eq!(credit.left(11), 0);
    }

    /// Breaks if an idle queue pair has more than its first window, if what it had left is lost, or if one without credit is not wanted less for
    /// what it sent unasked.
    #[test]
    fn unasked_packets_are_not_wanted() {
        let mut credit = Credit { unasked: 4, granted: 7 };
        credit.begin(9, 4);
        assert_eq!((credit.left(9), credit.unasked), (4, 6));
        credit.overdraw();
        assert_eq!(credit.left(13), 1);
        assert_eq!(credit.wanted(14, 3), 10, "three more than were granted");
    }

    /// Breaks if a message that is over is asked for more, or one that is not the latest stops the latest.
    #[test]
    fn messages_end() {
        let mut demand = Demand::default();
        demand.note(0, 5, false, 1);
        demand.note(7, 9, false, 2);
        demand.note(3, 4, false, 1);
        demand.end(1);
        assert!(demand.joins());
        demand.end(2);
        assert_eq!((demand.take_turn(), demand.joins()), (None, false));
        demand.note(8, 0, true, 2);
        assert!(demand.joins(), "a trimmed packet is wanted again");
    }
}
