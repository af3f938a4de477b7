//! How service queues share a line.

use crate::spec::SchedulerKind;
use leafspine_core::Time;

/// A turn that has ended: MQ-ECN's round time is measured from one to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Turn {
    pub(crate) queue: u8,
    pub(crate) since: Time,
}

/// What a scheduler needs to know of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    /// Bytes of the packet at the head; 0 if the queue is empty.
    pub(crate) size: u32,
}

/// Chooses the queue whose head is sent next.
#[derive(Clone, Debug)]
pub(crate) enum Scheduler {
    /// The lowest-numbered queue that has a packet (one queue: FIFO).
    Strict,
    /// Round robin with credits a turn.
    RoundRobin(RoundRobin),
}

/// Weighted round robin, by packets (WRR) or by bytes (DWRR, Shreedhar and Varghese 1995: what a
/// turn leaves over is kept while the queue stays backlogged).
#[derive(Clone, Debug)]
pub(crate) struct RoundRobin {
    quantum: Vec<u64>,
    by_bytes: bool,
    deficit: Vec<u64>,
    turn: Option<Turn>,
    next: u8,
}

impl Scheduler {
    /// `weights` in packets a turn; DWRR counts a packet as `mtu` bytes.
    pub(crate) fn new(kind: SchedulerKind, weights: &[u32], mtu: u32) -> Scheduler {
        let by_bytes = match kind {
            SchedulerKind::Fifo | SchedulerKind::Strict => return Scheduler::Strict,
            SchedulerKind::Wrr => false,
            SchedulerKind::Dwrr => true,
        };
        let unit = if by_bytes { mtu } else { 1 };
        Scheduler::RoundRobin(RoundRobin {
            quantum: weights.iter().map(|w| u64::from(*w) * u64::from(unit)).collect(),
            by_bytes,
            deficit: vec![0; weights.len()],
            turn: None,
            next: 0,
        })
    }

    /// The queue to serve, and the turn that ended with this choice. `None` when all are empty;
    /// a turn may end then, too.
    #[inline]
    pub(crate) fn choose(
        &mut self,
        now: Time,
        head: impl Fn(usize) -> Head,
        queues: usize,
    ) -> (Option<usize>, Option<Turn>) {
        match self {
            Scheduler::Strict => ((0..queues).find(|q| head(*q).size > 0), None),
            Scheduler::RoundRobin(robin) => robin.choose(now, head),
        }
    }
}

impl RoundRobin {
    fn choose(&mut self, now: Time, head: impl Fn(usize) -> Head) -> (Option<usize>, Option<Turn>) {
        let mut ended = None;
        if let Some(turn) = self.turn {
            let queue = usize::from(turn.queue);
            if self.spend(queue, head(queue).size) {
                return (Some(queue), None);
            }
            self.turn = None;
            ended = Some(turn);
        }
        (self.begin_turn(now, head), ended)
    }

    /// Gives the next backlogged queue its quantum. A head larger than a quantum waits for more
    /// turns, so this goes round until a queue can pay.
    fn begin_turn(&mut self, now: Time, head: impl Fn(usize) -> Head) -> Option<usize> {
        let queues = self.quantum.len();
        let mut empty = 0;
        while empty < queues {
            let queue = usize::from(self.next);
            self.next = ((queue + 1) % queues) as u8;
            let size = head(queue).size;
            if size == 0 {
                empty += 1;
                continue;
            }
            empty = 0;
            self.deficit[queue] += self.quantum[queue];
            if self.spend(queue, size) {
                self.turn = Some(Turn { queue: queue as u8, since: now });
                return Some(queue);
            }
        }
        None
    }

    /// Pays for the head of `queue` if there is one and the turn's credit reaches. An emptied
    /// queue loses what is left.
    fn spend(&mut self, queue: usize, size: u32) -> bool {
        if size == 0 {
            self.deficit[queue] = 0;
            return false;
        }
        let cost = if self.by_bytes { u64::from(size) } else { 1 };
        let enough = self.deficit[queue] >= cost;
        if enough {
            self.deficit[queue] -= cost;
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
        for i in 0..rounds {
            let head = |q: usize| Head { size: sizes[q] };
            let (queue, _) = scheduler.choose(Time(i as u64), head, sizes.len());
            let queue = queue.expect("all queues are backlogged");
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

    /// Breaks if a turn is reported before its queue's credit is gone, or with a wrong start.
    #[test]
    fn turns_end_when_the_credit_is_gone() {
        let mut scheduler = Scheduler::new(SchedulerKind::Wrr, &[2, 1], 1500);
        let turns: Vec<_> = (0..5)
            .map(|i| scheduler.choose(Time(i), |_| Head { size: 1500 }, 2))
            .map(|(queue, turn)| (queue.unwrap(), turn.map(|t| (t.queue, t.since.0))))
            .collect();
        assert_eq!(turns, [(0, None), (0, None), (1, Some((0, 0))), (0, Some((1, 2))), (0, None)]);
    }
}
