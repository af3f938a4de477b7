//! How service queues share a line.

use crate::spec::SchedulerKind;
use leafspine_core::Time;

/// A turn that has ended: MQ-ECN's round time is measured from one to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    pub queue: u8,
    pub since: Time,
}

/// The queues that have packets, one bit each: there are 64 at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlogged(u64);

impl Backlogged {
    pub fn only(queue: usize) -> Backlogged {
        Backlogged(1 << queue)
    }

    #[inline]
    pub fn set(&mut self, queue: usize) {
        self.0 |= 1 << queue;
    }

    #[inline]
    pub fn clear(&mut self, queue: usize) {
        self.0 &= !(1 << queue);
    }

    #[inline]
    pub(super) fn has(self, queue: usize) -> bool {
        self.0 >> queue & 1 == 1
    }

    /// These without the queues of `others`, a bit each.
    #[inline]
    pub(super) fn but(self, others: u64) -> Backlogged {
        Backlogged(self.0 & !others)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    fn first(self) -> Option<usize> {
        (self.0 != 0).then(|| self.0.trailing_zeros() as usize)
    }

    /// The first from `queue` on, going round.
    #[inline]
    fn first_from(self, queue: usize) -> Option<usize> {
        Backlogged(self.0 >> queue << queue).first().or(self.first())
    }
}

/// Chooses the queue whose head is sent next.
#[derive(Clone, Debug)]
pub enum Scheduler {
    /// The lowest-numbered queue that has a packet (one queue: FIFO).
    Strict,
    /// Round robin with credits a turn.
    RoundRobin(RoundRobin),
}

/// Weighted round robin, by packets (WRR) or by bytes (DWRR, Shreedhar and Varghese 1995: what a
/// turn leaves over is kept while the queue stays backlogged).
#[derive(Clone, Debug)]
pub struct RoundRobin {
    credits: Box<[Credit]>,
    /// When the present turn began.
    since: Time,
    /// Whose turn it is; [`NOBODY`]'s.
    turn: u8,
    next: u8,
    by_bytes: bool,
}

/// Not a queue.
const NOBODY: u8 = u8::MAX;

/// What a queue may send: in packets, or in bytes.
#[derive(Clone, Copy, Debug)]
struct Credit {
    quantum: u64,
    left: u64,
}

impl Scheduler {
    /// `weights` in packets a turn; DWRR counts a packet as `mtu` bytes.
    pub fn new(kind: SchedulerKind, weights: &[u32], mtu: u32) -> Scheduler {
        let by_bytes = match kind {
            SchedulerKind::Fifo | SchedulerKind::Strict => return Scheduler::Strict,
            SchedulerKind::Wrr => false,
            SchedulerKind::Dwrr => true,
        };
        let unit = if by_bytes { mtu } else { 1 };
        let credit = |w: &u32| Credit { quantum: u64::from(*w) * u64::from(unit), left: 0 };
        let credits = weights.iter().map(credit).collect();
        let since = Time::ZERO;
        Scheduler::RoundRobin(RoundRobin { credits, since, turn: NOBODY, next: 0, by_bytes })
    }

    /// The queue to serve, and the turn that ended with this choice. `None` when all are empty;
    /// a turn may end then, too. `size` tells the bytes of the packet at the head of a queue that
    /// has one.
    #[inline]
    pub fn choose(
        &mut self,
        now: Time,
        queues: Backlogged,
        size: impl Fn(usize) -> u32,
    ) -> (Option<usize>, Option<Turn>) {
        match self {
            Scheduler::Strict => (queues.first(), None),
            Scheduler::RoundRobin(robin) => robin.choose(now, queues, size),
        }
    }
}

impl RoundRobin {
    fn choose(
        &mut self,
        now: Time,
        queues: Backlogged,
        size: impl Fn(usize) -> u32,
    ) -> (Option<usize>, Option<Turn>) {
        let mut ended = None;
        if self.turn != NOBODY {
            let turn = Turn { queue: self.turn, since: self.since };
            let queue = usize::from(turn.queue);
            if !queues.has(queue) {
                // An emptied queue loses what is left.
                self.credits[queue].left = 0;
            } else if self.spend(queue, &size) {
                return (Some(queue), None);
            }
            self.turn = NOBODY;
            ended = Some(turn);
        }
        (self.begin_turn(now, queues, size), ended)
    }

    /// Gives the next backlogged queue its quantum. A head larger than a quantum waits for more
    /// turns, so this goes round until a queue can pay.
    fn begin_turn(
        &mut self,
        now: Time,
        queues: Backlogged,
        size: impl Fn(usize) -> u32,
    ) -> Option<usize> {
        loop {
            let queue = queues.first_from(usize::from(self.next))?;
            self.next = if queue + 1 == self.credits.len() { 0 } else { queue as u8 + 1 };
            self.credits[queue].left += self.credits[queue].quantum;
            if self.spend(queue, &size) {
                (self.turn, self.since) = (queue as u8, now);
                return Some(queue);
            }
        }
    }

    /// Pays for the head of `queue`, which has one, if the credit reaches.
    #[inline]
    fn spend(&mut self, queue: usize, size: impl Fn(usize) -> u32) -> bool {
        let cost = if self.by_bytes { u64::from(size(queue)) } else { 1 };
        let credit = &mut self.credits[queue];
        let enough = credit.left >= cost;
        if enough {
            credit.left -= cost;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves always-backlogged queues and counts what each gets.
    fn shares(kind: SchedulerKind, weights: &[u32], sizes: &[u32], rounds: usize) -> Vec<u64> {
        shares_at(kind, weights, sizes, rounds, 1500)
    }

    fn shares_at(
        kind: SchedulerKind,
        weights: &[u32],
        sizes: &[u32],
        rounds: usize,
        mtu: u32,
    ) -> Vec<u64> {
        let mut scheduler = Scheduler::new(kind, weights, mtu);
        let mut bytes = vec![0; sizes.len()];
        let mut queues = Backlogged::default();
        (0..sizes.len()).filter(|q| sizes[*q] > 0).for_each(|q| queues.set(q));
        for i in 0..rounds {
            let (queue, _) = scheduler.choose(Time(i as u64), queues, |q| sizes[q]);
            let queue = queue.expect("some queue is backlogged");
            bytes[queue] += u64::from(sizes[queue]);
        }
        bytes
    }

    /// Breaks if WRR does not give packets 4:2:1.
    #[test]
    fn wrr_shares_packets_by_weight() {
        assert_eq!(
            shares(SchedulerKind::Wrr, &[4, 2, 1], &[1500, 1500, 1500], 700),
            [600_000, 300_000, 150_000]
        );
    }

    /// Breaks if DWRR shares packets instead of bytes: small packets must get as many bytes.
    #[test]
    fn dwrr_shares_bytes_by_weight() {
        let bytes = shares(SchedulerKind::Dwrr, &[1, 1], &[1500, 100], 16_000);
        let ratio = bytes[0] as f64 / bytes[1] as f64;
        assert!((ratio - 1.0).abs() < 0.01, "{bytes:?}");
    }

    /// Breaks if the largest weight with the largest packets is more than a counter holds.
    #[test]
    fn large_quanta_do_not_wrap() {
        let bytes = shares_at(SchedulerKind::Dwrr, &[1_000_000, 1], &[9000, 9000], 2_000_002, 9000);
        assert_eq!(bytes[0] / bytes[1], 1_000_000);
    }

    /// Breaks if a lower queue is served while a higher one has packets.
    #[test]
    fn strict_serves_the_first_backlogged_queue() {
        assert_eq!(shares(SchedulerKind::Strict, &[1, 1, 1], &[0, 700, 700], 10), [0, 7000, 0]);
    }

    /// Breaks if going round stops at the last queue, or skips one that has packets.
    #[test]
    fn turns_go_round_the_backlogged_queues() {
        let mut scheduler = Scheduler::new(SchedulerKind::Wrr, &[1; 64], 1500);
        let mut queues = Backlogged::only(63);
        queues.set(7);
        queues.set(8);
        let mut serve = |queues| scheduler.choose(Time(0), queues, |_| 1500).0.unwrap();
        assert_eq!([queues; 5].map(&mut serve), [7, 8, 63, 7, 8]);
        queues.clear(63);
        assert_eq!([queues; 3].map(serve), [7, 8, 7]);
    }

    /// Breaks if an emptied queue keeps its credit.
    #[test]
    fn an_emptied_queue_loses_its_credit() {
        let mut scheduler = Scheduler::new(SchedulerKind::Wrr, &[2, 1], 1500);
        let mut serve = |queues| scheduler.choose(Time(0), Backlogged(queues), |_| 1500).0;
        assert_eq!([serve(0b11), serve(0b10), serve(0b00)], [Some(0), Some(1), None]);
        // Its quantum alone: two packets, not the one that was left besides.
        assert_eq!([0b11; 4].map(serve), [Some(0), Some(0), Some(1), Some(0)]);
    }

    /// Breaks if a turn is reported before its queue's credit is gone, or with a wrong start.
    #[test]
    fn turns_end_when_the_credit_is_gone() {
        let mut scheduler = Scheduler::new(SchedulerKind::Wrr, &[2, 1], 1500);
        let turns: Vec<_> = (0..5)
            .map(|i| scheduler.choose(Time(i), Backlogged(0b11), |_| 1500))
            .map(|(queue, turn)| (queue.unwrap(), turn.map(|t| (t.queue, t.since.0))))
            .collect();
        assert_eq!(turns, [(0, None), (0, None), (1, Some((0, 0))), (0, Some((1, 2))), (0, None)]);
    }
}
