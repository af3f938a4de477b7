//! Packets that are queued and have not begun their transmission.
//!
//! A one-event port announces a departure when the packet is queued, with the time at which it will
//! begin. An estimator that counts what has been *sent* keeps those ahead of the clock here and takes
//! them out as their times pass. A switch has no such list: its queue is one. So it is no part of a
//! balancer's footprint.

use leafspine_core::Time;
use std::collections::VecDeque;

/// What a port has queued, in order: when each transmission begins, and its bytes.
#[derive(Default)]
pub(crate) struct Departures {
    ahead: VecDeque<(Time, u32)>,
}

impl Departures {
    /// A packet has been queued; its transmission begins at `at`.
    #[inline]
    pub(crate) fn queued(&mut self, at: Time, bytes: u32) {
        self.ahead.push_back((at, bytes));
    }

    /// Takes out the first packet whose transmission has begun by `now`.
    #[inline]
    pub(crate) fn next_begun(&mut self, now: Time) -> Option<(Time, u32)> {
        let first = *self.ahead.front()?;
        if first.0 > now {
            return None;
        }
        self.ahead.pop_front();
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a packet counts as sent before its transmission begins, or not at that instant.
    #[test]
    fn departures_come_when_they_begin() {
        let mut departures = Departures::default();
        departures.queued(Time(10), 1500);
        departures.queued(Time(20), 40);
        assert_eq!(departures.next_begun(Time(9)), None);
        assert_eq!(departures.next_begun(Time(10)), Some((Time(10), 1500)));
        assert_eq!(departures.next_begun(Time(19)), None);
        assert_eq!(departures.next_begun(Time(99)), Some((Time(20), 40)));
        assert_eq!(departures.next_begun(Time(99)), None);
    }
}
