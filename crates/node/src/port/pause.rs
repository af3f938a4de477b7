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
    /// By priority: the same two of it alone.
    own: [(Span, u64); PRIORITIES],
    /// By priority: both over the measurement window, ps and pauses; while it is open, less what was before.
    window: [(i64, i64); PRIORITIES],
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
            own: [(Span::ZERO, 0); PRIORITIES],
            window: [(0, 0); PRIORITIES],
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

    /// The time for which a priority has been paused since the start of the run, and how many of its
    /// pauses have begun.
    #[must_use]
    pub fn of(&self, priority: usize, now: Time) -> (Span, u64) {
        let (total, count) = self.own[priority];
        (total + self.paused_since(priority).map_or(Span::ZERO, |since| now - since), count)
    }

    /// The window opens (`sign` 1) or closes (-1).
    pub(super) fn cut_window(&mut self, now: Time, sign: i64) {
        for priority in 0..PRIORITIES {
            let (time, count) = self.of(priority, now);
            self.window[priority].0 -= sign * time.0 as i64;
            self.window[priority].1 -= sign * count as i64;
        }
    }

    /// Of a priority, over the window: ps for which it was paused, and pauses that began.
    #[must_use]
    pub fn in_window(&self, priority: usize) -> (u64, u64) {
        let (time, count) = self.window[priority];
        (time as u64, count as u64)
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
            self.own[priority].1 += 1;
        }
        Begins { first, expiry: !std::mem::replace(&mut self.watched[priority], true) }
    }

    /// Whether it was paused.
    pub(super) fn resume(&mut self, priority: usize, now: Time) -> bool {
        if self.paused & bit(priority) == 0 {
            return false;
        }
        self.paused &= !bit(priority);
        let own = &mut self.own[priority].0;
        *own = *own + (now - self.since[priority]);
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
