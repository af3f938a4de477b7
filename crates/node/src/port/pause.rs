//! What a general port knows of its pauses.

use crate::pfc::PRIORITIES;
use crate::spec::WatchdogAction;
use leafspine_core::{Span, Time};

/// Pauses of a port's priorities, as the far end of its link has asked for them.
#[derive(Clone, Debug)]
pub struct Pauses {
    /// By priority: when its pause ends, unless it is renewed.
    until: [Time; PRIORITIES],
    /// By priority: whether an event is pending that looks for the end.
    watched: [bool; PRIORITIES],
    /// By priority: since when it is paused, or not.
    since: [Time; PRIORITIES],
    /// Paused priorities, a bit each, whatever a watchdog makes of it.
    paused: u8,
    /// Priorities whose packets are dropped, a bit each.
    dropping: u8,
    /// Priorities that are sent in spite of their pause, a bit each.
    forwarding: u8,
    /// Since when some priority is paused.
    since_any: Time,
    /// Time for which some priority was paused, but for the pause that lasts.
    total: Span,
    /// Pauses that have begun.
    pub count: u64,
}

/// What a pause that has begun, or was renewed, makes necessary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Begins {
    /// The priority was not paused before.
    pub(crate) first: bool,
    /// No event is pending that looks for its end.
    pub(crate) expiry: bool,
}

impl Default for Pauses {
    fn default() -> Pauses {
        Pauses {
            until: [Time::ZERO; PRIORITIES],
            watched: [false; PRIORITIES],
            since: [Time::ZERO; PRIORITIES],
            paused: 0,
            dropping: 0,
            forwarding: 0,
            since_any: Time::ZERO,
            total: Span::ZERO,
            count: 0,
        }
    }
}

fn bit(priority: usize) -> u8 {
    1 << priority
}

impl Pauses {
    /// The priorities that are not sent now, a bit each.
    pub(super) fn stopped(&self) -> u64 {
        u64::from(self.paused & !self.forwarding)
    }

    /// Time for which some priority has been paused since the start of the run.
    #[must_use]
    pub fn time(&self, now: Time) -> Span {
        if self.paused == 0 { self.total } else { self.total + (now - self.since_any) }
    }

    /// Since when a priority is paused, if it is.
    #[must_use]
    pub fn paused_since(&self, priority: usize) -> Option<Time> {
        (self.paused & bit(priority) != 0).then(|| self.since[priority])
    }

    pub(super) fn pause(&mut self, priority: usize, now: Time, until: Time) -> Begins {
        let first = self.paused & bit(priority) == 0;
        self.until[priority] = until;
        if first {
            if self.paused == 0 {
                self.since_any = now;
            }
            self.paused |= bit(priority);
            self.since[priority] = now;
            self.count += 1;
        }
        Begins { first, expiry: !std::mem::replace(&mut self.watched[priority], true) }
    }

    /// Whether it was paused.
    pub(super) fn resume(&mut self, priority: usize, now: Time) -> bool {
        if self.paused & bit(priority) == 0 {
            return false;
        }
        self.paused &= !bit(priority);
        self.since[priority] = now;
        if self.paused == 0 {
            self.total = self.total + (now - self.since_any);
        }
        true
    }

    /// Somebody looks for the end of a pause: when to look again, if it is later and not over.
    pub(super) fn expiry(&mut self, priority: usize, now: Time) -> Option<Time> {
        let later = self.paused & bit(priority) != 0 && self.until[priority] > now;
        self.watched[priority] = later;
        later.then(|| self.until[priority])
    }

    pub(super) fn begin_storm(&mut self, priority: usize, action: WatchdogAction) {
        match action {
            WatchdogAction::Drop => self.dropping |= bit(priority),
            WatchdogAction::Forward => self.forwarding |= bit(priority),
        }
    }

    pub(super) fn end_storm(&mut self, priority: usize) {
        self.dropping &= !bit(priority);
        self.forwarding &= !bit(priority);
    }

    pub(super) fn in_storm(&self, priority: usize) -> bool {
        (self.dropping | self.forwarding) & bit(priority) != 0
    }

    pub(super) fn drops(&self, priority: usize) -> bool {
        self.dropping & bit(priority) != 0
    }

    /// Whether a priority has not been paused for so long.
    pub(super) fn is_calm(&self, priority: usize, now: Time, time: Span) -> bool {
        self.paused & bit(priority) == 0 && now - self.since[priority] >= time
    }
}
