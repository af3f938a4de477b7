//! A set of segments within a window, as a ring of bits.

/// Segments of a sliding window: what a receiver holds out of order, what a sender knows to have
/// arrived.
///
/// Segment `s` is bit `s % 64` of word `s / 64`, and the words form a ring: the window slides
/// without moving anything. All members lie in `base..top`, where `base` is the window's lower
/// edge that every call is given or implies, and the ring is always at least as wide.
#[derive(Clone, Debug, Default)]
pub(crate) struct SegmentSet {
    words: Box<[u64]>,
    /// Members.
    len: u32,
    /// One past the highest member that has been since the set was last empty.
    top: u32,
}

/// The bits `lo..hi` of one word, where `0 <= lo < hi <= 64`.
#[inline]
fn bits(lo: u32, hi: u32) -> u64 {
    (u64::MAX << lo) & (u64::MAX >> (64 - hi))
}

/// The words that `lo..hi` touches, each with the bits in question.
#[inline]
fn spans(lo: u32, hi: u32) -> impl Iterator<Item = (u32, u64)> {
    let last = hi.saturating_sub(1) >> 6;
    let words = if lo < hi { lo >> 6..last + 1 } else { 0..0 };
    words.map(move |word| {
        let from = if word == lo >> 6 { lo & 63 } else { 0 };
        let to = if word == last { ((hi - 1) & 63) + 1 } else { 64 };
        (word, bits(from, to))
    })
}

impl SegmentSet {
    /// Empties the set and keeps its memory.
    pub(crate) fn clear(&mut self) {
        if self.len > 0 {
            self.words.fill(0);
        }
        self.len = 0;
        self.top = 0;
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[cfg(test)]
    pub(super) fn never_used(&self) -> bool {
        self.words.is_empty()
    }

    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// One past the highest member; 0 if there is none.
    #[inline]
    pub(crate) fn top(&self) -> u32 {
        self.top
    }

    #[inline]
    fn slot(&self, word: u32) -> usize {
        word as usize & (self.words.len() - 1)
    }

    /// Whether `segment`, at or above the lower edge, is a member.
    #[inline]
    pub(crate) fn contains(&self, segment: u32) -> bool {
        segment < self.top && self.words[self.slot(segment >> 6)] >> (segment & 63) & 1 == 1
    }

    /// Widens the ring for `base..end`. Twice as wide each time, so rarely.
    fn reserve(&mut self, base: u32, end: u32) {
        let needed = ((end - 1) >> 6) - (base >> 6) + 1;
        if needed as usize <= self.words.len() {
            return;
        }
        let mut wider = vec![0; needed.next_power_of_two().max(4) as usize].into_boxed_slice();
        if self.len > 0 {
            for word in base >> 6..=(self.top - 1) >> 6 {
                wider[word as usize & (wider.len() - 1)] = self.words[self.slot(word)];
            }
        }
        self.words = wider;
    }

    /// Adds `lo..hi`; no member is below `base`. Returns how many are new.
    pub(crate) fn insert(&mut self, base: u32, lo: u32, hi: u32) -> u32 {
        debug_assert!(base <= lo);
        if lo >= hi {
            return 0;
        }
        self.reserve(base, hi);
        let mut new = 0;
        for (word, mask) in spans(lo, hi) {
            let slot = self.slot(word);
            new += (mask & !self.words[slot]).count_ones();
            self.words[slot] |= mask;
        }
        self.len += new;
        self.top = self.top.max(hi);
        new
    }

    /// Removes `lo..hi`, where no member is below `lo`.
    pub(crate) fn remove_below(&mut self, lo: u32, hi: u32) {
        if self.len == 0 {
            return;
        }
        for (word, mask) in spans(lo, hi.min(self.top)) {
            let slot = self.slot(word);
            self.len -= (mask & self.words[slot]).count_ones();
            self.words[slot] &= !mask;
        }
        if self.len == 0 {
            self.top = 0;
        }
    }

    /// Removes one that may be a member; none is below `base`.
    pub(crate) fn remove(&mut self, base: u32, segment: u32) {
        if !self.contains(segment) {
            return;
        }
        let slot = self.slot(segment >> 6);
        self.words[slot] &= !(1 << (segment & 63));
        self.len -= 1;
        if segment + 1 == self.top {
            let highest = self.down(base, segment, |word| word).next();
            self.top = highest.map_or(0, |highest| highest + 1);
        }
    }

    /// The first member from `from` on; nothing is a member below it.
    pub(crate) fn first_present(&self, from: u32) -> Option<u32> {
        for (word, mask) in spans(from, self.top) {
            let present = mask & self.words[self.slot(word)];
            if present != 0 {
                return Some((word << 6) + present.trailing_zeros());
            }
        }
        None
    }

    /// Members in `lo..hi`.
    pub(crate) fn count(&self, lo: u32, hi: u32) -> u32 {
        spans(lo, hi.min(self.top))
            .map(|(word, mask)| (mask & self.words[self.slot(word)]).count_ones())
            .sum()
    }

    /// Runs of members from `lo` on.
    pub(super) fn runs(&self, lo: u32) -> u32 {
        let mut before = 0;
        spans(lo, self.top)
            .map(|(word, mask)| {
                let present = mask & self.words[self.slot(word)];
                let starts = present & !(present << 1 | before);
                before = present >> 63;
                starts.count_ones()
            })
            .sum()
    }

    /// The first segment from `from` on that is not a member.
    pub(crate) fn first_absent(&self, from: u32) -> u32 {
        for (word, mask) in spans(from, self.top) {
            let absent = mask & !self.words[self.slot(word)];
            if absent != 0 {
                return (word << 6) + absent.trailing_zeros();
            }
        }
        from.max(self.top)
    }

    /// The last segment of `lo..hi` that is not a member, if there is one.
    pub(super) fn last_absent(&self, lo: u32, hi: u32) -> Option<u32> {
        if hi > self.top {
            return (lo < hi).then(|| hi - 1);
        }
        self.down(lo, hi, |word| !word).next()
    }

    /// The `n`-th highest member from `lo` on, counted from 1; `None` if there are fewer.
    pub(super) fn nth_from_top(&self, lo: u32, n: u32) -> Option<u32> {
        if self.len < n {
            return None;
        }
        self.down(lo, self.top, |word| word).nth(n as usize - 1)
    }

    /// The first segment of the run of members that ends with `segment`, a member.
    pub(super) fn run_start(&self, base: u32, segment: u32) -> u32 {
        self.last_absent(base, segment).map_or(base, |absent| absent + 1)
    }

    /// The set bits of `of(word)` in `lo..hi`, from the highest down.
    fn down(&self, lo: u32, hi: u32, of: fn(u64) -> u64) -> impl Iterator<Item = u32> {
        let words = if lo < hi { lo >> 6..((hi - 1) >> 6) + 1 } else { 0..0 };
        words.rev().flat_map(move |word| {
            let from = if word == lo >> 6 { lo & 63 } else { 0 };
            let to = if word == (hi - 1) >> 6 { ((hi - 1) & 63) + 1 } else { 64 };
            let mut left = bits(from, to) & of(self.words[self.slot(word)]);
            std::iter::from_fn(move || {
                let bit = 63u32.checked_sub(left.leading_zeros())?;
                left ^= 1 << bit;
                Some((word << 6) + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// One step: the window's edge moves up, then a range is added above it.
    fn steps() -> impl Strategy<Value = Vec<(u32, u32, u32)>> {
        proptest::collection::vec((0u32..150, 0u32..700, 0u32..130), 1..60)
    }

    proptest! {
        /// Breaks if any answer differs from a plain sorted set's, at any place of the window.
        #[test]
        fn answers_as_a_plain_set(start in 0u32..1000, steps in steps(), probe in 0u32..900) {
            let (mut set, mut plain) = (SegmentSet::default(), BTreeSet::new());
            let mut base = start;
            for (forward, offset, width) in steps {
                set.remove_below(base, base + forward);
                base += forward;
                plain.retain(|segment| *segment >= base);
                let (lo, hi) = (base + offset, base + offset + width);
                let before = plain.len();
                plain.extend(lo..hi);
                prop_assert_eq!(set.insert(base, lo, hi) as usize, plain.len() - before);

                let top = plain.last().map_or(0, |last| last + 1);
                let at = base + probe;
                prop_assert_eq!(set.len() as usize, plain.len());
                prop_assert_eq!(set.top(), top);
                prop_assert_eq!(set.contains(at), plain.contains(&at));
                prop_assert_eq!(set.count(base, at) as usize, plain.range(base..at).count());
                prop_assert_eq!(set.first_absent(at), (at..).find(|s| !plain.contains(s)).unwrap());
                prop_assert_eq!(
                    set.last_absent(base, at), (base..at).rev().find(|s| !plain.contains(s)));
                prop_assert_eq!(set.first_present(base), plain.first().copied());
                let begins = |s: &&u32| **s == base || !plain.contains(&(**s - 1));
                prop_assert_eq!(set.runs(base) as usize, plain.iter().filter(begins).count());
                for gone in [at, top.saturating_sub(1).max(base)] {
                    set.remove(base, gone);
                    plain.remove(&gone);
                }
                prop_assert_eq!(set.top(), plain.last().map_or(0, |last| last + 1));
                prop_assert_eq!(set.len() as usize, plain.len());
                for n in 1..4 {
                    prop_assert_eq!(
                        set.nth_from_top(base, n), plain.iter().rev().nth(n as usize - 1).copied());
                }
            }
        }
    }

    /// Breaks if `clear` gives memory away or leaves members behind.
    #[test]
    fn clearing_keeps_the_memory() {
        let mut set = SegmentSet::default();
        set.insert(5, 900, 901);
        let width = set.words.len();
        set.clear();
        assert_eq!((set.len(), set.top(), set.words.len()), (0, 0, width));
        assert!(set.words.iter().all(|word| *word == 0));
    }
}
