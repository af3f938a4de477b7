//! Dequeues that are replayed later against dequeues that are told at once.

use super::*;
use proptest::prelude::*;

/// A FIFO port's packets: when each is queued, what it found waiting, when it is dequeued.
struct Fifo {
    queued: Vec<u64>,
    starts: Vec<u64>,
    sizes: Vec<u64>,
}

impl Fifo {
    /// From pairs of a pause before the packet and its transmission time, both small: ties are common.
    fn new(packets: &[(u64, u64)]) -> Fifo {
        let (mut now, mut free) = (0, 0);
        let mut fifo = Fifo { queued: vec![], starts: vec![], sizes: vec![] };
        for (pause, length) in packets {
            now += pause;
            let start = free.max(now);
            free = start + length;
            fifo.queued.push(now);
            fifo.starts.push(start);
            fifo.sizes.push(*length);
        }
        fifo
    }

    /// Sum of the sizes of the packets among `of` that are queued before `time`, or later by `or_at`,
    /// and dequeued after it.
    fn waiting(&self, of: std::ops::Range<usize>, time: u64, or_at: bool) -> u64 {
        let there = |i: &usize| self.queued[*i] < time || (or_at && self.queued[*i] == time);
        of.filter(|i| there(i) && self.starts[*i] > time).map(|i| self.sizes[i]).sum()
    }
}

proptest! {
    /// Breaks if what the ingress knows at any time depends on whether the port tells of dequeues
    /// when packets are queued or when they are sent: L at either end, any clone delay and period,
    /// ties included (a dequeue at an instant comes before the arrivals of that instant).
    #[test]
    fn lazy_and_exact_dequeues_give_the_same_state(
        packets in proptest::collection::vec((0u64..6, 1u64..4), 1..200),
        period in 0u64..8,
        delay in 0u64..12,
        at_dequeue: bool,
        by_packet: bool,
        p4: bool,
        shift in 0u64..2,
    ) {
        let unit = 10 * US;
        let rules = Rules {
            tau: 40,
            update_period: Span(period * unit),
            clone_delay: Span(delay * unit + shift),
            growth_weight: 2,
            buffer: 20,
            at_dequeue,
            by_packet: by_packet && !at_dequeue,
            p4,
        };
        let fifo = Fifo::new(&packets);
        let n = packets.len();
        let (mut lazy, mut exact) = (PortState::new(40, 1_000), PortState::new(40, 1_000));
        let tell = |port: &mut PortState, i: usize, now: u64| {
            let found = fifo.waiting(0..i, fifo.queued[i], true);
            let left = fifo.waiting(i + 1..n, now, false);
            let waiting = || if at_dequeue { left } else { found };
            port.leaving(Time(fifo.starts[i] * unit), Time(now * unit), fifo.sizes[i], waiting, &rules);
        };
        for now in 0..fifo.starts[n - 1] + 20 {
            for i in (0..n).filter(|i| fifo.starts[*i] == now && fifo.queued[*i] < now) {
                tell(&mut exact, i, now);
            }
            for i in (0..n).filter(|i| fifo.queued[*i] == now) {
                tell(&mut lazy, i, now);
                if fifo.starts[i] == now {
                    tell(&mut exact, i, now);
                }
            }
            if now % 3 == 0 {
                let now = Time(now * unit);
                lazy.receive(4, now, &rules);
                exact.receive(4, now, &rules);
                prop_assert_eq!(lazy.known, exact.known);
                prop_assert_eq!(lazy.next <= now, exact.next <= now);
            }
        }
    }
}
