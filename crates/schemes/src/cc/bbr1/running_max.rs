//! The largest of a sliding window's values, from three of them (Linux: `lib/win_minmax.c`, after
//! Kathleen Nichols): the largest, the largest since that, and the largest since the second.

/// A value and the round trip that it is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Seen {
    round: u64,
    value: u64,
}

/// See the module. It forgets the largest when that is `WINDOW` rounds old, and is exact but for
/// what it did not keep: values that were below the third largest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunningMax<const WINDOW: u64> {
    best: [Seen; 3],
}

impl<const WINDOW: u64> RunningMax<WINDOW> {
    pub(super) fn largest(&self) -> u64 {
        self.best[0].value
    }

    /// A value of `round`, which is no earlier than any before.
    pub(super) fn add(&mut self, round: u64, value: u64) {
        let seen = Seen { round, value };
        if value >= self.best[0].value || round - self.best[2].round > WINDOW {
            self.best = [seen; 3];
            return;
        }
        if value >= self.best[1].value {
            self.best[1] = seen;
            self.best[2] = seen;
        } else if value >= self.best[2].value {
            self.best[2] = seen;
        }
        self.forget(seen);
    }

    /// The first is too old: the others move up. Else, so that there is one to move up, the second
    /// is from after the first quarter of the window, and the third from after its first half.
    fn forget(&mut self, seen: Seen) {
        let age = seen.round - self.best[0].round;
        if age > WINDOW {
            self.best = [self.best[1], self.best[2], seen];
            if seen.round - self.best[0].round > WINDOW {
                self.best = [self.best[1], self.best[2], seen];
            }
        } else if self.best[1].round == self.best[0].round && age > WINDOW / 4 {
            self.best[1] = seen;
            self.best[2] = seen;
        } else if self.best[2].round == self.best[1].round && age > WINDOW / 2 {
            self.best[2] = seen;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What it says after each of these values, one a round.
    fn after(values: &[u64]) -> Vec<u64> {
        let mut max = RunningMax::<10>::default();
        let step = |(round, value): (usize, &u64)| {
            max.add(round as u64, *value);
            max.largest()
        };
        values.iter().enumerate().map(step).collect()
    }

    /// Breaks if the largest is forgotten before it is ten rounds old or stands longer, or if what
    /// follows it is not the largest since.
    #[test]
    fn the_largest_of_ten_rounds() {
        let mut values = vec![9, 5, 4, 7, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2];
        assert_eq!(after(&values), [[9; 11].as_slice(), &[7; 3]].concat());
        values.truncate(3);
        values.push(11);
        assert_eq!(after(&values), [9, 9, 9, 11]);
        // 7 of round 3 stands until round 13.
        let long: Vec<u64> = [9, 5, 4, 7].into_iter().chain((0..12).map(|_| 3)).collect();
        assert_eq!(after(&long), [[9; 11].as_slice(), &[7; 3], &[3; 2]].concat());
    }

    /// Breaks if values of long ago stand because nothing came since.
    #[test]
    fn nothing_for_a_window_forgets_all() {
        let mut max = RunningMax::<10>::default();
        max.add(0, 9);
        max.add(11, 1);
        assert_eq!(max.largest(), 1);
    }
}
