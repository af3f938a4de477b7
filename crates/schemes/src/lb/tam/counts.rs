//! The active long flows of an uplink, counted without a walk over the flow table.
//!
//! Time is cut into refreshes, one an RTT. A flow is active on a port if it has sent there since the
//! refresh before the last: in this interval or the one before. So it is enough to count, in each interval,
//! the flows whose first packet of the interval comes; a flow's entry says in which interval it was
//! counted last. No refresh touches a flow's entry.

/// The refreshes. Two comparisons a packet: of several that are due two are enough, since all counts are gone
/// after two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refreshes {
    pub(super) every: u64,
    pub(super) next: u64,
    pub(super) done: u32,
}

impl Refreshes {
    pub(super) fn advance(&mut self, now: u64) {
        if now < self.next {
            return;
        }
        if now - self.next < self.every {
            self.done = self.done.wrapping_add(1);
            self.next += self.every;
        } else {
            self.done = self.done.wrapping_add(2);
            self.next = now + self.every;
        }
    }

    /// When the last one was.
    pub(super) fn last(&self) -> u64 {
        self.next - self.every
    }
}

/// An uplink's register.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Count {
    interval: u32,
    /// Flows of the interval before, of this one, and of this one that were not in the one before.
    before: u16,
    here: u16,
    fresh: u16,
}

/// Which of them a flow is among: the interval in which it was counted last, and whether it was not in the one
/// before.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Counted {
    interval: u32,
    fresh: bool,
}

impl Count {
    /// The interval is `now`.
    pub(super) fn roll(&mut self, now: u32) {
        match now.wrapping_sub(self.interval) {
            0 => return,
            1 => self.before = self.here,
            _ => self.before = 0,
        }
        (self.here, self.fresh, self.interval) = (0, 0, now);
    }

    /// Active flows.
    pub(super) fn active(&self) -> u64 {
        u64::from(self.before) + u64::from(self.fresh)
    }

    /// A flow that was counted here has gone to another port.
    pub(super) fn leave(&mut self, flow: Counted) {
        match (self.interval.wrapping_sub(flow.interval), flow.fresh) {
            (0, true) => {
                self.here = self.here.saturating_sub(1);
                self.fresh = self.fresh.saturating_sub(1);
            }
            (0, false) => {
                self.here = self.here.saturating_sub(1);
                self.before = self.before.saturating_sub(1);
            }
            (1, _) => self.before = self.before.saturating_sub(1),
            _ => {}
        }
    }

    /// A long flow sends here; `flow` if it was counted here before.
    pub(super) fn join(&mut self, flow: Option<Counted>) -> Counted {
        let since = flow.map(|flow| self.interval.wrapping_sub(flow.interval));
        if since == Some(0) {
            return flow.unwrap_or_default();
        }
        let fresh = since != Some(1);
        self.here = self.here.saturating_add(1);
        self.fresh = self.fresh.saturating_add(u16::from(fresh));
        Counted { interval: self.interval, fresh }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a flow is not active in the interval in which it sends and the next, is counted twice for
    /// sending in both, or stays active in the one after.
    #[test]
    fn a_flow_is_active_for_this_interval_and_the_next() {
        let mut count = Count::default();
        count.roll(5);
        let flow = count.join(None);
        assert_eq!((count.active(), count.join(Some(flow))), (1, flow), "once an interval");
        count.roll(6);
        assert_eq!(count.active(), 1);
        let again = count.join(Some(flow));
        assert_eq!((count.active(), again.fresh), (1, false), "not counted twice");
        count.roll(7);
        assert_eq!(count.active(), 1);
        count.roll(8);
        assert_eq!(count.active(), 0);
        count.join(None);
        count.roll(10);
        assert_eq!(count.active(), 0, "two at once");
    }

    /// Breaks if a flow that goes elsewhere is still counted: in the interval of its first packet, in the next
    /// before and after it has sent again, and later, when there is nothing to take back.
    #[test]
    fn a_flow_that_leaves_is_taken_back() {
        let counted = |rolls: &[u32], sends_again: bool| {
            let mut count = Count::default();
            count.roll(5);
            let (mut flow, _other) = (count.join(None), count.join(None));
            for interval in rolls {
                count.roll(*interval);
            }
            if sends_again {
                flow = count.join(Some(flow));
            }
            let before = count.active();
            count.leave(flow);
            (before, count.active())
        };
        assert_eq!(counted(&[], false), (2, 1));
        assert_eq!(counted(&[6], false), (2, 1));
        assert_eq!(counted(&[6], true), (2, 1));
        assert_eq!(counted(&[6, 7], false), (0, 0));
        assert_eq!(counted(&[6, 7], true), (1, 0));
    }

    /// Breaks if refreshes are not one an RTT, or if a long silence costs more than two.
    #[test]
    fn refreshes_are_two_comparisons() {
        let mut refreshes = Refreshes { every: 100, next: 100, done: 0 };
        let mut done = |now| {
            refreshes.advance(now);
            (refreshes.done, refreshes.last())
        };
        assert_eq!([done(0), done(99)], [(0, 0); 2]);
        assert_eq!([done(100), done(199)], [(1, 100); 2]);
        assert_eq!(done(299), (2, 200));
        assert_eq!([done(400), done(401)], [(4, 400); 2], "two were due");
        assert_eq!(done(987), (6, 987), "six were, the next comes an interval later");
    }
}
