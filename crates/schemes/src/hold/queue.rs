//! What a port keeps back: the order in which it goes on, and when.
//!
//! A release lets all go that wait. Without a pace they go at once. With one they are read from a memory one after
//! another: the n-th goes n times the pace after the release began. What comes meanwhile waits for the next release,
//! or follows, as the hold says; a stop leaves those that have not been read where they were. What has waited its
//! longest goes at once, but does not overtake what is being read: then it is read behind that.

use super::Needs;
use leafspine_core::{Span, Time};
use std::collections::VecDeque;

/// What becomes of a packet that has waited its longest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expired<T> {
    /// It goes on, with ECE or without.
    Goes(T, bool),
    /// It is read behind those that are being read.
    IsRead,
}

/// Packets (or what stands for them) of one port. The times that its methods return are when it has to be called
/// again; it asks for one call of each kind at a time.
#[derive(Clone, Debug)]
pub struct HoldQueue<T> {
    /// Oldest first, and since when.
    held: VecDeque<(T, Time)>,
    /// The same that have been let go and are being read, with ECE or without. Older than all of `held`.
    going: VecDeque<(T, Time, bool)>,
    /// Whether a call of [`HoldQueue::expire`] is due.
    expiry_due: bool,
    /// Whether a call of [`HoldQueue::read`] is due.
    read_due: bool,
}

impl<T> Default for HoldQueue<T> {
    fn default() -> HoldQueue<T> {
        let (held, going) = (VecDeque::new(), VecDeque::new());
        HoldQueue { held, going, expiry_due: false, read_due: false }
    }
}

impl<T> HoldQueue<T> {
    /// Whether packets are being read, which one that may go on has to follow.
    #[must_use]
    pub fn is_reading(&self) -> bool {
        !self.going.is_empty()
    }

    /// All of them, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let going = self.going.iter().map(|(packet, ..)| packet);
        going.chain(self.held.iter().map(|(packet, _)| packet))
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let going = self.going.iter_mut().map(|(packet, ..)| packet);
        going.chain(self.held.iter_mut().map(|(packet, _)| packet))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.going.len() + self.held.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lets the oldest go if there is room for no more: with ECE as said.
    fn make_room(&mut self, needs: &Needs) -> Option<(T, bool)> {
        if self.len() < needs.capacity {
            return None;
        }
        if let Some((packet, _, ece)) = self.going.pop_front() {
            return Some((packet, ece));
        }
        self.held.pop_front().map(|(packet, _)| (packet, needs.ece_when_forced))
    }

    /// Keeps a packet until the next release. Returns the one that has to go for it, and when to call
    /// [`HoldQueue::expire`].
    pub fn keep(
        &mut self,
        packet: T,
        now: Time,
        needs: &Needs,
    ) -> (Option<(T, bool)>, Option<Time>) {
        let oldest = self.make_room(needs);
        self.held.push_back((packet, now));
        (oldest, self.expiry(now, needs))
    }

    /// Puts a packet behind those that are being read. Returns the one that has to go for it.
    pub fn follow(&mut self, packet: T, now: Time, needs: &Needs) -> Option<(T, bool)> {
        let oldest = self.make_room(needs);
        self.going.push_back((packet, now, false));
        oldest
    }

    /// Lets all go. Without a pace they are handed to `out`; with one, this is when to call
    /// [`HoldQueue::read`].
    pub fn release(
        &mut self,
        ece: bool,
        now: Time,
        pace: Span,
        mut out: impl FnMut(T, bool),
    ) -> Option<Time> {
        if pace == Span::ZERO {
            self.held.drain(..).for_each(|(packet, _)| out(packet, ece));
            return None;
        }
        let all = self.held.drain(..).map(|(packet, since)| (packet, since, ece));
        self.going.extend(all);
        let due = self.is_reading() && !std::mem::replace(&mut self.read_due, true);
        due.then_some(now + pace)
    }

    /// The next of those that have been let go, and when to call this again.
    pub fn read(&mut self, now: Time, pace: Span) -> (Option<(T, bool)>, Option<Time>) {
        let next = self.going.pop_front().map(|(packet, _, ece)| (packet, ece));
        self.read_due = self.is_reading();
        (next, self.read_due.then_some(now + pace))
    }

    /// What has not been read stays, without ECE. Returns when to call [`HoldQueue::expire`].
    pub fn stop(&mut self, now: Time, needs: &Needs) -> Option<Time> {
        while let Some((packet, since, _)) = self.going.pop_back() {
            self.held.push_front((packet, since));
        }
        self.expiry(now, needs)
    }

    /// Hands what has waited its longest to `out`. Returns when to call this again.
    pub fn expire(
        &mut self,
        now: Time,
        needs: &Needs,
        mut out: impl FnMut(Expired<T>),
    ) -> Option<Time> {
        self.expiry_due = false;
        while let Some(expired) = self.expire_next(now, needs) {
            out(expired);
        }
        self.expiry(now, needs)
    }

    /// The first of what has waited its longest.
    pub fn expire_next(&mut self, now: Time, needs: &Needs) -> Option<Expired<T>> {
        let (limit, ece) = (needs.max_hold?, needs.ece_when_forced);
        let (packet, since) = self.held.pop_front_if(|(_, since)| *since + limit <= now)?;
        if !self.is_reading() {
            return Some(Expired::Goes(packet, ece));
        }
        self.going.push_back((packet, since, ece));
        Some(Expired::IsRead)
    }

    /// When the oldest will have waited its longest, unless that call is due already.
    fn expiry(&mut self, now: Time, needs: &Needs) -> Option<Time> {
        let (limit, (_, since)) = (needs.max_hold?, self.held.front()?);
        let at = (*since + limit).max(now + Span(1));
        (!std::mem::replace(&mut self.expiry_due, true)).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Unit;
    use super::*;

    const NEEDS: Needs = Needs {
        capacity: 3,
        max_hold: Some(Span(100)),
        ece_when_forced: true,
        unit: Unit::Packets,
        pace: Span::ZERO,
    };
    const PACE: Span = Span(10);

    fn kept(numbers: &[u32], now: u64) -> HoldQueue<u32> {
        let mut queue = HoldQueue::default();
        for number in numbers {
            assert_eq!(queue.keep(*number, Time(now), &NEEDS).0, None);
        }
        queue
    }

    fn all(queue: &HoldQueue<u32>) -> Vec<u32> {
        queue.iter().copied().collect()
    }

    /// Breaks if a release without a pace leaves one, changes their order or waits.
    #[test]
    fn without_a_pace_all_go_at_once() {
        let mut queue = kept(&[1, 2, 3], 0);
        let mut gone = Vec::new();
        let out = |number, ece| gone.push((number, ece));
        assert_eq!(queue.release(true, Time(5), Span::ZERO, out), None);
        assert_eq!((gone, queue.len()), (vec![(1, true), (2, true), (3, true)], 0));
    }

    /// Breaks if paced packets go in another order, at other times, or with another's ECE; if one that comes
    /// meanwhile overtakes, or joins the release that it came too late for; or if two reads are due at once.
    #[test]
    fn with_a_pace_one_goes_after_another() {
        let none = |_, _| unreachable!("they are paced");
        let mut queue = kept(&[1, 2], 0);
        assert_eq!(queue.release(true, Time(5), PACE, none), Some(Time(15)));
        queue.keep(3, Time(6), &NEEDS);
        assert_eq!(queue.read(Time(15), PACE), (Some((1, true)), Some(Time(25))));
        assert_eq!(queue.read(Time(25), PACE), (Some((2, true)), None));
        assert_eq!((all(&queue), queue.is_reading()), (vec![3], false));
        // The next release takes it, and one that follows goes behind it without ECE.
        assert_eq!(queue.release(true, Time(30), PACE, none), Some(Time(40)));
        assert_eq!(queue.follow(4, Time(31), &NEEDS), None);
        queue.keep(5, Time(32), &NEEDS);
        assert_eq!(queue.release(false, Time(33), PACE, none), None, "one read is due");
        assert_eq!(queue.read(Time(40), PACE), (Some((3, true)), Some(Time(50))));
        assert_eq!(queue.read(Time(50), PACE), (Some((4, false)), Some(Time(60))));
        assert_eq!(queue.read(Time(60), PACE), (Some((5, false)), None));
        assert_eq!(queue.release(true, Time(61), PACE, none), None, "nothing waits");
    }

    /// Breaks if a stop lets one go, loses the order, or leaves ECE; or if the read that was due takes one of
    /// those that stay.
    #[test]
    fn a_stop_leaves_what_is_not_read() {
        let none = |_, _| unreachable!("they are paced");
        let mut queue = kept(&[1, 2, 3], 0);
        queue.release(true, Time(5), PACE, none);
        queue.read(Time(15), PACE);
        assert_eq!(queue.stop(Time(16), &NEEDS), None, "an expiry is due");
        queue.keep(4, Time(17), &NEEDS);
        assert_eq!((all(&queue), queue.is_reading()), (vec![2, 3, 4], false));
        assert_eq!(queue.read(Time(25), PACE), (None, None));
        let mut gone = Vec::new();
        queue.release(false, Time(30), Span::ZERO, |number, ece| gone.push((number, ece)));
        assert_eq!(gone, [(2, false), (3, false), (4, false)]);
    }

    /// Breaks if a full queue takes another without letting its oldest go, with ECE if that is asked for: of those
    /// being read the first, as it was to go.
    #[test]
    fn a_full_queue_lets_its_oldest_go() {
        let mut queue = kept(&[1, 2, 3], 0);
        assert_eq!(queue.keep(4, Time(1), &NEEDS).0, Some((1, true)));
        let plain = Needs { ece_when_forced: false, ..NEEDS };
        assert_eq!(queue.keep(5, Time(1), &plain).0, Some((2, false)));
        queue.release(false, Time(2), PACE, |_, _| unreachable!("they are paced"));
        assert_eq!(queue.follow(6, Time(3), &NEEDS), Some((3, false)));
        assert_eq!(queue.keep(7, Time(4), &NEEDS).0, Some((4, false)));
        assert_eq!(all(&queue), [5, 6, 7]);
    }

    /// Breaks if a packet goes before or after it has waited its longest, if its expiry is not asked for, or twice;
    /// or if one that a stop has brought back is forgotten, or expires in the past.
    #[test]
    fn nothing_waits_longer_than_it_may() {
        let mut queue = HoldQueue::default();
        assert_eq!(queue.keep(1, Time(7), &NEEDS).1, Some(Time(107)));
        assert_eq!(queue.keep(2, Time(8), &NEEDS).1, None);
        let mut gone = Vec::new();
        let next = queue.expire(Time(107), &NEEDS, |expired| gone.push(expired));
        assert_eq!((next, gone), (Some(Time(108)), vec![Expired::Goes(1, true)]));
        queue.release(true, Time(107), PACE, |_, _| unreachable!("they are paced"));
        let never = queue.expire(Time(108), &NEEDS, |_| unreachable!("it is being read"));
        assert_eq!(never, None);
        assert_eq!(queue.stop(Time(109), &NEEDS), Some(Time(110)));
        let unlimited = Needs { max_hold: None, ..NEEDS };
        assert_eq!(HoldQueue::default().keep(1, Time(7), &unlimited).1, None);
    }
    /// Breaks if a packet that has waited its longest overtakes those that are being read, or is forgotten or without
    /// ECE when its turn comes.
    #[test]
    fn what_expires_during_a_release_is_read_behind_it() {
        let mut queue = kept(&[1, 2], 0);
        queue.release(true, Time(90), PACE, |_, _| unreachable!("they are paced"));
        queue.keep(3, Time(0), &NEEDS);
        let mut expired = Vec::new();
        queue.expire(Time(100), &NEEDS, |what| expired.push(what));
        assert_eq!(expired, [Expired::IsRead]);
        assert_eq!(queue.read(Time(100), PACE), (Some((1, true)), Some(Time(110))));
        assert_eq!(queue.read(Time(110), PACE), (Some((2, true)), Some(Time(120))));
        assert_eq!(queue.read(Time(120), PACE), (Some((3, true)), None));
    }
}
