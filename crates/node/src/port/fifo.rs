//! The one-event port: a FIFO whose departures are known on arrival.
//!
//! A packet that is accepted at `now` begins its transmission at `max(now, busy_until)`, so its
//! arrival at the other end is scheduled at once and no departure event exists. What waits is kept
//! in a ring of `(start of transmission, size)`, and is brought up to date whenever it is looked at.

use leafspine_core::{Pace, Span, Time};
use leafspine_schemes::Backlog;
use std::hint::select_unpredictable;

/// When a packet goes out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placement {
    /// Its transmission begins.
    pub start: Time,
    /// Its last bit is on the line.
    pub end: Time,
}

#[derive(Clone, Copy, Debug, Default)]
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
    /// The ring's first packet that waits, and the place after the last: by their low bits.
    head: u32,
    tail: u32,
    /// A power of two of places, one of which at least is free.
    ring: Box<[Slot]>,
}

impl FifoPort {
    const SMALLEST: usize = 8;

    /// An idle port.
    #[must_use]
    pub fn new(pace: Pace) -> FifoPort {
        FifoPort {
            busy_until: Time::ZERO,
            pace,
            backlog: Backlog::default(),
            head: 0,
            tail: 0,
            ring: vec![Slot::default(); FifoPort::SMALLEST].into(),
        }
    }

    #[inline]
    fn place(&self, count: u32) -> usize {
        count as usize & (self.ring.len() - 1)
    }

    /// What waits now. A packet whose transmission begins at this very instant no longer waits.
    #[inline]
    pub fn backlog(&mut self, now: Time) -> Backlog {
        if now >= self.busy_until {
            (self.head, self.tail) = (0, 0);
            self.backlog = Backlog::default();
            return self.backlog;
        }
        while self.head != self.tail {
            let first = self.ring[self.place(self.head)];
            if first.start > now {
                break;
            }
            self.backlog.packets -= 1;
            self.backlog.bytes -= first.size;
            self.backlog.in_service = first.size;
            self.head = self.head.wrapping_add(1);
        }
        self.backlog
    }

    /// When the line has sent all that is queued.
    #[inline]
    pub fn free_at(&self, now: Time) -> Time {
        self.busy_until.max(now)
    }

    /// Queues a packet. The backlog must have been brought to `now` before. Whether it has to wait is
    /// anybody's guess, the processor's too: so there is no branch on it.
    #[inline]
    pub fn accept(&mut self, now: Time, size: u32) -> Placement {
        let start = self.busy_until.max(now);
        let end = start + self.pace.take(size);
        self.busy_until = end;
        let waits = select_unpredictable(start > now, 1, 0);
        let place = self.place(self.tail);
        self.ring[place] = Slot { start, size };
        self.tail = self.tail.wrapping_add(waits);
        self.backlog.packets += waits;
        self.backlog.bytes += size * waits;
        self.backlog.in_service = select_unpredictable(waits == 1, self.backlog.in_service, size);
        if self.tail.wrapping_sub(self.head) as usize == self.ring.len() {
            self.grow();
        }
        Placement { start, end }
    }

    /// Twice as many places.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut ring: Vec<Slot> = self.slots().copied().collect();
        let waiting = ring.len();
        ring.resize(2 * waiting, Slot::default());
        (self.head, self.tail) = (0, waiting as u32);
        self.ring = ring.into();
    }

    fn slots(&self) -> impl Iterator<Item = &Slot> {
        let waiting = self.tail.wrapping_sub(self.head);
        (0..waiting).map(|ahead| &self.ring[self.place(self.head.wrapping_add(ahead))])
    }

    /// Packets that wait.
    pub fn waiting(&self, now: Time) -> u32 {
        self.slots().filter(|slot| slot.start > now).count() as u32
    }

    /// What is wrong with the counts of what waits, if anything is.
    pub fn wrong(&self) -> Option<String> {
        let bytes: u64 = self.slots().map(|slot| u64::from(slot.size)).sum();
        let waits = (self.slots().count() as u64, bytes);
        let counted = (u64::from(self.backlog.packets), u64::from(self.backlog.bytes));
        (waits != counted).then(|| super::miscount("the port", counted, waits))
    }

    /// How long the packets that wait now have still to wait, with their sizes.
    pub fn residual_waits(&mut self, now: Time) -> impl Iterator<Item = (u32, Span)> {
        self.backlog(now);
        self.slots().map(move |slot| (slot.size, slot.start - now))
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
