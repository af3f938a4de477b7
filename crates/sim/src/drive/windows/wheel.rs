//! Windows of time, and what is due in which.

use leafspine_core::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// A time that does not come.
pub(super) const NEVER: u64 = u64::MAX;

/// Time cut into windows, counted from the start of the run; that of a time takes one multiplication.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// Windows a picosecond, times 2^64, rounded up.
    rate: u64,
    /// By so much each window begins and ends earlier than it would if the first began with the run.
    earlier: u64,
}

impl Grid {
    /// Windows of `longest`, or as little less as makes them easy to count; each `earlier` by so much.
    pub(super) fn new(longest: Span, earlier: Span) -> Grid {
        let longest = u128::from(longest.0.clamp(1, Grid::LONGEST));
        let rate = u64::try_from((1u128 << 64).div_ceil(longest)).unwrap_or(u64::MAX);
        Grid { rate, earlier: earlier.0 }
    }

    /// The windows of two sides, or of all nodes if there is only one: of two they are twice as long,
    /// and begin in turn.
    pub(super) fn in_turn(lookahead: Span, two_sided: bool) -> [Grid; 2] {
        if !two_sided {
            return [Grid::new(lookahead, Span::ZERO); 2];
        }
        let longest = Span(lookahead.0.saturating_mul(2));
        [Grid::new(longest, Span::ZERO), Grid::new(longest, lookahead)]
    }

    /// No window is longer: some seconds, so that a time within one fits into [`Due`]'s word.
    ///
    /// [`Due`]: super::lines::Due
    const LONGEST: u64 = 1 << 43;

    /// The window in which `time` is.
    #[inline]
    pub(super) fn window_of(self, time: u64) -> u64 {
        ((u128::from(time + self.earlier) * u128::from(self.rate)) >> 64) as u64
    }

    /// The first instant of a window.
    pub(super) fn start_of(self, window: u64) -> Time {
        let start = (u128::from(window) << 64).div_ceil(u128::from(self.rate));
        Time(u64::try_from(start).unwrap_or(NEVER).saturating_sub(self.earlier))
    }
}

/// For each of the next [`Wheel::SLOTS`] windows, which lines have something due in it: a bit each. What
/// is due later is in a heap until then: timeouts, above all.
#[derive(Debug)]
pub(super) struct Wheel {
    pub(super) grid: Grid,
    /// The first of its lines: they have numbers without a gap.
    first: u32,
    /// Words of a slot.
    words: usize,
    /// Bits, slot by slot: window `w` has slot `w % SLOTS`.
    bits: Vec<u64>,
    /// Whether a slot has a bit.
    occupied: u64,
    /// The first window that is not behind us.
    pub(super) current: u64,
    /// Windows that have no slot yet, and lines.
    far: BinaryHeap<Reverse<(u64, u32)>>,
}

/// How far one has come with the lines of a window.
pub(super) struct Sweep {
    /// Where its slot begins.
    base: usize,
    word: usize,
    /// What is left of the word.
    bits: u64,
}

impl Wheel {
    const SLOTS: u64 = u64::BITS as u64;

    /// Room for these lines.
    pub(super) fn new(grid: Grid, lines: Range<u32>) -> Wheel {
        let words = lines.len().div_ceil(u64::BITS as usize).max(1);
        let bits = vec![0; words * Wheel::SLOTS as usize];
        let far = BinaryHeap::new();
        Wheel { grid, first: lines.start, words, bits, occupied: 0, current: 0, far }
    }

    /// `line` has something due at `time`.
    #[inline]
    pub(super) fn note(&mut self, line: u32, time: u64) {
        self.note_in(line, self.grid.window_of(time));
    }

    /// The same, by its window.
    #[inline]
    pub(super) fn note_in(&mut self, line: u32, window: u64) {
        debug_assert!(window >= self.current, "what is past cannot be due");
        if window >= self.current + Wheel::SLOTS {
            return self.far.push(Reverse((window, line)));
        }
        let (slot, line) = (window % Wheel::SLOTS, line - self.first);
        self.bits[slot as usize * self.words + (line / u64::BITS) as usize] |=
            1 << (line % u64::BITS);
        self.occupied |= 1 << slot;
    }

    /// The next window in which something is noted.
    pub(super) fn next(&self) -> Option<u64> {
        let ahead = self.occupied.rotate_right((self.current % Wheel::SLOTS) as u32);
        if ahead != 0 {
            return Some(self.current + u64::from(ahead.trailing_zeros()));
        }
        self.far.peek().map(|Reverse((window, _))| *window)
    }

    /// The first line from `from` on that is noted in `window`, the one turned to.
    pub(super) fn noted(&self, window: u64, from: u32) -> Option<u32> {
        let (slot, from) = ((window % Wheel::SLOTS) as usize, from.saturating_sub(self.first));
        let words = &self.bits[slot * self.words..][..self.words];
        let (word, bit) = (from / u64::BITS, from % u64::BITS);
        let here = words.get(word as usize)? >> bit << bit;
        let rest = words[word as usize + 1..].iter().copied();
        let mut words = (word..).zip(std::iter::once(here).chain(rest));
        let (word, bits) = words.find(|(_, bits)| *bits != 0)?;
        Some(self.first + word * u64::BITS + bits.trailing_zeros())
    }

    /// Takes what is noted in `window` out of it, one line after the other by [`Wheel::peek`]. Lines may
    /// be noted in it again meanwhile, for a later sweep. `None` if nothing is.
    pub(super) fn sweep(&mut self, window: u64) -> Option<Sweep> {
        self.turn_to(window);
        let slot = window % Wheel::SLOTS;
        if self.occupied >> slot & 1 == 0 {
            return None;
        }
        self.occupied &= !(1 << slot);
        let base = slot as usize * self.words;
        Some(Sweep { base, word: 0, bits: std::mem::take(&mut self.bits[base]) })
    }

    /// The line that comes next.
    #[inline]
    pub(super) fn peek(&mut self, sweep: &mut Sweep) -> Option<u32> {
        while sweep.bits == 0 {
            sweep.word += 1;
            if sweep.word == self.words {
                sweep.word -= 1;
                return None;
            }
            sweep.bits = std::mem::take(&mut self.bits[sweep.base + sweep.word]);
        }
        Some(self.first + sweep.word as u32 * u64::BITS + sweep.bits.trailing_zeros())
    }

    /// Nothing of the windows before is left: later ones get slots.
    pub(super) fn turn_to(&mut self, window: u64) {
        self.current = window;
        while let Some(Reverse((noted, line))) = self.far.peek().copied()
            && noted < window + Wheel::SLOTS
        {
            self.far.pop();
            if noted >= window {
                self.note_in(line, noted);
            }
        }
    }

    /// What `line` had in `window`, the one turned to, is done with.
    pub(super) fn forget(&mut self, line: u32, window: u64) {
        let (slot, line) = ((window % Wheel::SLOTS) as usize, line - self.first);
        let words = &mut self.bits[slot * self.words..][..self.words];
        words[(line / u64::BITS) as usize] &= !(1 << (line % u64::BITS));
        if words.iter().all(|word| *word == 0) {
            self.occupied &= !(1 << slot);
        }
    }
}

impl Sweep {
    /// The line that came by [`Wheel::peek`] is done with.
    #[inline]
    pub(super) fn consume(&mut self) {
        self.bits &= self.bits - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Breaks if windows overlap, leave a gap, or are longer than they may be: a packet could then
        /// arrive in the window in which it was sent.
        #[test]
        fn windows_tile_time(
            longest in 1u64..1 << 42,
            earlier in 0u64..1 << 41,
            at in 0u64..1 << 62,
        ) {
            let grid = Grid::new(Span(longest), Span(earlier));
            let window = grid.window_of(at);
            let (start, end) = (grid.start_of(window).0, grid.start_of(window + 1).0);
            prop_assert!(start <= at && at < end);
            prop_assert!(end - start <= longest.max(2));
            prop_assert_eq!(grid.window_of(end), window + 1);
        }

        /// Breaks if a side's window reaches so far that the other side, up to whose next window all has
        /// happened, could still send into it.
        #[test]
        fn a_side_knows_what_arrives(lookahead in 1u64..1 << 45, at in 0u64..1 << 60) {
            let [one, other] = Grid::in_turn(Span(lookahead), true);
            for (mine, theirs) in [(one, other), (other, one)] {
                let window = mine.window_of(at);
                let start = mine.start_of(window).0;
                // The other side's next window begins no earlier than this one.
                let mut next = theirs.window_of(start);
                next += u64::from(theirs.start_of(next).0 < start);
                let sent = theirs.start_of(next).0;
                prop_assert!(mine.start_of(window + 1).0 <= sent + lookahead);
            }
        }

        /// Breaks if what is noted is not found again in its window, be it near or far.
        #[test]
        fn what_is_noted_is_found(notes in proptest::collection::vec((0u32..200, 0u64..500), 1..60)) {
            let mut wheel = Wheel::new(Grid::new(Span(10), Span(3)), 5..205);
            let time = |window: u64| wheel.grid.start_of(window + 1).0 + 1;
            let times: Vec<u64> = notes.iter().map(|(_, window)| time(*window)).collect();
            let mut due: Vec<Vec<u64>> = vec![Vec::new(); 200];
            for ((line, _), time) in notes.iter().zip(&times) {
                wheel.note(5 + *line, *time);
                due[*line as usize].push(*time);
            }
            while let Some(window) = wheel.next() {
                let mut sweep = wheel.sweep(window).expect("the next has something");
                while let Some(line) = wheel.peek(&mut sweep) {
                    sweep.consume();
                    let of_line = &mut due[line as usize - 5];
                    prop_assert!(of_line.iter().any(|time| wheel.grid.window_of(*time) == window));
                    of_line.retain(|time| wheel.grid.window_of(*time) != window);
                }
                wheel.turn_to(window + 1);
            }
            prop_assert!(due.iter().all(Vec::is_empty));
        }
    }
}
