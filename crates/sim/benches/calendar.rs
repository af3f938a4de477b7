//! The calendar in the hold model: take the earliest event, add one at a random time after it, so
//! that as many are pending as before (Jones, "An empirical comparison of priority-queue and
//! event-set implementations", CACM 29(4), 1986).

use criterion::{BenchmarkId, Criterion};
use leafspine_core::{Rng, Role, Time};
use leafspine_sim::internals::EventQueue;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

const WIDTH_PS: u64 = 1 << 10;
/// As many buckets as the engine's calendar has.
const BUCKETS: usize = 1 << 13;
const RING_PS: u64 = WIDTH_PS * BUCKETS as u64;
/// The furthest that surely is in the ring, wherever in its bucket time stands.
const NEAR_PS: u64 = RING_PS - 2 * WIDTH_PS;

/// How far ahead events are put.
#[derive(Clone, Copy, PartialEq)]
enum Delays {
    /// Anywhere in the ring.
    Near,
    /// One in ten, drawn at random, between one and two rings ahead.
    TenthFar,
}

impl Delays {
    #[inline]
    fn draw(self, rng: &mut Rng) -> u64 {
        let near = rng.below(NEAR_PS);
        if self == Delays::TenthFar && rng.below(10) == 0 { RING_PS + near } else { near }
    }
}

trait Queue {
    fn push(&mut self, time: u64, item: u32);
    fn pop(&mut self) -> (u64, u32);
}

impl Queue for EventQueue {
    #[inline]
    fn push(&mut self, time: u64, item: u32) {
        EventQueue::push(self, Time(time), item);
    }

    #[inline]
    fn pop(&mut self) -> (u64, u32) {
        let (time, item) = EventQueue::pop(self).expect("never empty");
        (time.0, item)
    }
}

/// The yardstick: the same events, ordered by the same (time, key).
impl Queue for BinaryHeap<Reverse<(u64, u64)>> {
    #[inline]
    fn push(&mut self, time: u64, item: u32) {
        BinaryHeap::push(self, Reverse((time, u64::from(item) << 32 | u64::from(item))));
    }

    #[inline]
    fn pop(&mut self) -> (u64, u32) {
        let Reverse((time, tag)) = BinaryHeap::pop(self).expect("never empty");
        (time, tag as u32)
    }
}

/// A queue with a number of pending events that stays.
struct Hold<Q> {
    queue: Q,
    delays: Delays,
    rng: Rng,
}

impl<Q: Queue> Hold<Q> {
    /// `queue` with `pending` events, long enough in use for their times to have settled.
    fn new(mut queue: Q, pending: u32, delays: Delays) -> Hold<Q> {
        let mut rng = Rng::new(1, Role::Workload, 0);
        for item in 0..pending {
            queue.push(delays.draw(&mut rng), item);
        }
        let mut hold = Hold { queue, delays, rng };
        (0..4 * pending).for_each(|_| _ = hold.step());
        hold
    }

    #[inline]
    fn step(&mut self) -> u64 {
        let (now, item) = self.queue.pop();
        self.queue.push(now + self.delays.draw(&mut self.rng), item);
        now
    }
}

/// `calendar/<delays>/<pending>` and, as a yardstick, `heap/<delays>/<pending>`: ns for one event,
/// taken and put back, with 1,000, 10,000 and 100,000 pending. 1 or 2 ns are random numbers. A
/// bucket of the ring holds a quarter of an event, 2.4 and 24 of them on average.
///
/// - `near`: delays uniform over the ring. A packet-hop, about 50 ns, is one such event, so 5 ns more
///   here are some 10 % of a run. Worse at 1,000 only: finding the next bucket; at 100,000 only:
///   sorting it, or cache misses. `std`'s binary heap grows with the logarithm, and faster than this.
/// - `tenth-far`: one event in ten goes through the heap of the far future and back into the ring,
///   as retransmission timers do; one in twelve of those pending is there. If only this gets worse,
///   look at what `advance` does for far events.
///
/// If the yardstick moves as well, the machine has changed, not the calendar.
pub(crate) fn bench(criterion: &mut Criterion) {
    let new_calendar = || EventQueue::new(WIDTH_PS, BUCKETS);
    measure(criterion, "calendar", new_calendar);
    measure(criterion, "heap", BinaryHeap::new);
}

fn measure<Q: Queue>(criterion: &mut Criterion, name: &str, new: impl Fn() -> Q) {
    let mut group = criterion.benchmark_group(name);
    for (mix, delays) in [("near", Delays::Near), ("tenth-far", Delays::TenthFar)] {
        for pending in [1_000, 10_000, 100_000] {
            let mut made = None;
            group.bench_function(BenchmarkId::new(mix, pending), |bencher| {
                let hold = made.get_or_insert_with(|| Hold::new(new(), pending, delays));
                bencher.iter(|| black_box(hold.step()));
            });
        }
    }
    group.finish();
}
