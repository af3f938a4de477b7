//! How many domains, and so threads, a run's windows are worth.

/// Packet-hops of a window that are worth a thread: one that has less for each is over before the
/// threads have found each other. Found by trying (`docs/performance.md`); changes no result.
const WORTH_A_THREAD: u64 = 24;

/// There are too many threads when windows have less than half the work for them, not just less: otherwise nodes
/// would be dealt out over and over where the load is between two numbers.
const SLACK: u64 = 2;

/// Packet-hops between two judgements, for each link. To deal nodes out takes about as long as one or two for each
/// link.
const HOPS_A_LINK: u64 = 64;

/// Windows between two deals in turn.
const WINDOWS: u64 = 100;

/// Windows, those of each side counted, and packet-hops in them.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Passed {
    pub(super) windows: u64,
    pub(super) hops: u64,
}

/// How nodes are dealt out to domains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deals {
    /// To as many as there is work for.
    ByLoad,
    /// To each possible number in turn, whatever there is to do; `threads`: one for each, or one for all.
    InTurn {
        /// Whether each has one.
        threads: bool,
    },
}

/// See the module's text.
pub(super) struct Dealing {
    deals: Deals,
    most: usize,
    /// Packet-hops that a judgement is made of.
    enough: u64,
    /// Since the last one.
    passed: Passed,
}

impl Dealing {
    /// To at most so many domains, of nodes with so many links.
    pub(super) fn new(deals: Deals, most: usize, links: usize) -> Dealing {
        let enough = HOPS_A_LINK * links as u64;
        Dealing { deals, most, enough, passed: Passed::default() }
    }

    /// So many domains there are to be at first.
    pub(super) fn first(&self) -> usize {
        if self.deals == Deals::ByLoad { 1 } else { self.most }
    }

    /// Whether several domains have a thread each.
    pub(super) fn has_threads(&self) -> bool {
        self.deals != Deals::InTurn { threads: false }
    }

    /// So many domains there are to be, after these windows with `now`; one while threads rest.
    pub(super) fn after(&mut self, passed: Passed, now: usize, rest: bool) -> usize {
        if rest && self.deals == Deals::ByLoad {
            return 1;
        }
        self.passed.windows += passed.windows;
        self.passed.hops += passed.hops;
        let due = match self.deals {
            Deals::ByLoad => self.most > 1 && self.passed.hops >= self.enough,
            Deals::InTurn { .. } => self.passed.windows >= WINDOWS,
        };
        if !due {
            return now;
        }
        let Passed { windows, hops } = std::mem::take(&mut self.passed);
        match self.deals {
            Deals::ByLoad => self.worth(hops / windows.max(1), now),
            Deals::InTurn { .. } => now % self.most + 1,
        }
    }

    fn worth(&self, hops: u64, now: usize) -> usize {
        let worth = ((hops / WORTH_A_THREAD) as usize).clamp(1, self.most);
        let few = hops * SLACK < WORTH_A_THREAD * now as u64;
        if worth > now || few { worth } else { now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(windows: u64, hops: u64) -> Passed {
        Passed { windows, hops }
    }

    /// By hand, with at most four domains of 10 links: a judgement after 640 packet-hops.
    ///
    /// Breaks if a run has threads that wait for each other, or none although there is work for them, or
    /// if its nodes are dealt out over and over where its load is between two numbers.
    #[test]
    fn as_many_as_there_is_work_for() {
        let mut dealing = Dealing::new(Deals::ByLoad, 4, 10);
        // Too few to judge by.
        assert_eq!(dealing.after(passed(1, 639), 1, false), 1);
        // 640 in two windows, then 640 in one: ten threads' work.
        assert_eq!(dealing.after(passed(1, 1), 1, false), 4);
        assert_eq!(dealing.after(passed(1, 640), 1, false), 4);
        // 47 a window are one thread's, 48 are two's, and those two go on down to 24.
        assert_eq!(dealing.after(passed(20, 940), 1, false), 1);
        assert_eq!(dealing.after(passed(20, 960), 1, false), 2);
        assert_eq!(dealing.after(passed(30, 720), 2, false), 2);
        assert_eq!(dealing.after(passed(30, 690), 2, false), 1);
        // Threads that rest are none.
        assert_eq!(dealing.after(passed(1, 640), 4, true), 1);
        // A run of few windows that has no more threads than one is not judged.
        assert_eq!(Dealing::new(Deals::ByLoad, 1, 10).after(passed(1, 1 << 40), 1, false), 1);
    }

    /// Breaks if tests do not see nodes dealt out to every number of domains.
    #[test]
    fn each_number_in_turn() {
        let mut dealing = Dealing::new(Deals::InTurn { threads: true }, 3, 10);
        assert_eq!(dealing.after(passed(99, 0), 1, false), 1);
        let turns: Vec<usize> =
            [1, 2, 3].map(|now| dealing.after(passed(100, 0), now, false)).to_vec();
        assert_eq!(turns, [2, 3, 1]);
    }
}
