//! The one-event port: a FIFO whose departures are known on arrival.
//!
//! A packet that is accepted at `now` begins its transmission at `max(now, busy_until)`, so its
//! arrival at the other end is scheduled at once and no departure event exists. What waits is kept
//! in a ring of `(start of transmission, size)`, and is brought up to date whenever it is looked at.

use leafspine_core::{Pace, Span, Time};
use leafspine_schemes::Backlog;
use std::collections::VecDeque;

/// When a packet goes out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placement {
    /// Its transmission begins.
    pub start: Time,
    /// Its last bit is on the line.
    pub end: Time,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    start: Time,
    size: u32,
}

/// See the module's text.
#[derive(Debug)]
pub struct FifoPort {
    busy_until: Time,
    pace: Pace,
    backlog: Backlog,
    waiting: VecDeque<Slot>,
}

impl FifoPort {
    /// An idle port.
    #[must_use]
    pub fn new(pace: Pace) -> FifoPort {
        FifoPort {
            busy_until: Time::ZERO,
            pace,
            backlog: Backlog::default(),
            waiting: VecDeque::new(),
        }
    }

    /// What waits now. A packet whose transmission begins at this very instant no longer waits.
    #[inline]
    pub fn backlog(&mut self, now: Time) -> Backlog {
        if now >= self.busy_until {
            self.waiting.clear();
            self.backlog = Backlog::default();
            return self.backlog;
        }
        while let Some(first) = self.waiting.front() {
            if first.start > now {
                break;
            }
            self.backlog.packets -= 1;
            self.backlog.bytes -= first.size;
            self.backlog.in_service = first.size;
            self.waiting.pop_front();
        }
        self.backlog
    }

    /// When the line has sent all that is queued.
    #[inline]
    pub fn free_at(&self, now: Time) -> Time {
        self.busy_until.max(now)
    }

    /// Queues a packet. The backlog must have been brought to `now` before.
    #[inline]
    pub fn accept(&mut self, now: Time, size: u32) -> Placement {
        let start = self.busy_until.max(now);
        let end = start + self.pace.take(size);
        self.busy_until = end;
        if start > now {
            self.waiting.push_back(Slot { start, size });
            self.backlog.packets += 1;
            self.backlog.bytes += size;
        } else {
            self.backlog.in_service = size;
        }
        Placement { start, end }
    }

    /// Packets that wait.
    pub fn waiting(&self, now: Time) -> u32 {
        self.waiting.iter().filter(|slot| slot.start > now).count() as u32
    }

    /// What is wrong with the counts of what waits, if anything is.
    pub fn wrong(&self) -> Option<String> {
        let bytes: u64 = self.waiting.iter().map(|slot| u64::from(slot.size)).sum();
        let waits = (self.waiting.len() as u64, bytes);
        let counted = (u64::from(self.backlog.packets), u64::from(self.backlog.bytes));
        (waits != counted).then(|| super::miscount("the port", counted, waits))
    }

    /// How long the packets that wait now have still to wait, with their sizes.
    pub fn residual_waits(&mut self, now: Time) -> impl Iterator<Item = (u32, Span)> {
        self.backlog(now);
        self.waiting.iter().map(move |slot| (slot.size, slot.start - now))
    }

    /// How long the line has still to send all that is queued.
    pub fn residual_work(&self, now: Time) -> Span {
        self.busy_until.since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafspine_core::Rate;

    /// Breaks if the packet in transmission counts as waiting, or one that begins right now does.
    #[test]
    fn the_packet_in_transmission_does_not_wait() {
        let mut port = FifoPort::new(Pace::new(Rate::from_gbps(10)));
        for _ in 0..3 {
            port.backlog(Time(0));
            port.accept(Time(0), 1500);
        }
        let at = |port: &mut FifoPort, ps| {
            let b = port.backlog(Time(ps));
            (b.packets, b.bytes, b.in_service)
        };
        assert_eq!(at(&mut port, 0), (2, 3000, 1500));
        assert_eq!(at(&mut port, 1_199_999), (2, 3000, 1500));
        assert_eq!(at(&mut port, 1_200_000), (1, 1500, 1500));
        assert_eq!(at(&mut port, 2_400_000), (0, 0, 1500));
        assert_eq!(at(&mut port, 3_600_000), (0, 0, 0));
    }

    /// Breaks if an idle line delays a packet or a busy one overlaps two.
    #[test]
    fn transmissions_follow_each_other() {
        let mut port = FifoPort::new(Pace::new(Rate::from_gbps(10)));
        port.backlog(Time(100));
        assert_eq!(
            port.accept(Time(100), 1000),
            Placement { start: Time(100), end: Time(800_100) }
        );
        port.backlog(Time(200));
        let second = port.accept(Time(200), 40);
        assert_eq!(second, Placement { start: Time(800_100), end: Time(832_100) });
        assert_eq!(port.residual_waits(Time(200)).collect::<Vec<_>>(), [(40, Span(799_900))]);
    }
}
