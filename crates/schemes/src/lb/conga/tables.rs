//! The two congestion tables of a leaf (CONGA §3.3), and which entry is fed back next.

use leafspine_core::{Span, Time};

/// One metric and when it came.
#[derive(Clone, Copy, Default)]
struct Metric {
    since: Time,
    value: u8,
}

/// Metrics by remote leaf and uplink tag. An entry that has never been set is 0.
pub(super) struct Metrics {
    tags: usize,
    entries: Vec<Metric>,
    age: Span,
    fade: Span,
}

impl Metrics {
    /// Bytes of an entry.
    pub(super) const ENTRY: u64 = size_of::<Metric>() as u64;

    pub(super) fn new(leaves: usize, tags: usize, age: Span, fade: Span) -> Metrics {
        Metrics { tags, entries: vec![Metric::default(); leaves * tags], age, fade }
    }

    /// The metric now. CONGA §3.3: one that has not been updated for long (10 ms) gradually decays to
    /// zero, so that a path which once was congested is tried again.
    #[inline]
    pub(super) fn get(&self, leaf: usize, tag: usize, now: Time) -> u8 {
        let metric = self.entries[leaf * self.tags + tag];
        let silent = now.since(metric.since);
        if silent <= self.age { metric.value } else { self.aged(metric.value, silent) }
    }

    /// One level less for every `fade` that has begun since the age was reached.
    #[cold]
    fn aged(&self, value: u8, silent: Span) -> u8 {
        match (silent - self.age).0.checked_div(self.fade.0) {
            Some(whole) => u64::from(value).saturating_sub(whole.saturating_add(1)) as u8,
            None => 0,
        }
    }

    /// Sets a metric; returns whether it was another before.
    #[inline]
    pub(super) fn set(&mut self, leaf: usize, tag: usize, value: u8, now: Time) -> bool {
        let metric = &mut self.entries[leaf * self.tags + tag];
        let changed = metric.value != value;
        *metric = Metric { since: now, value };
        changed
    }

    /// When the entries that were ever set were set last.
    pub(super) fn times(&self) -> impl Iterator<Item = Time> {
        self.entries.iter().map(|metric| metric.since).filter(|since| *since > Time::ZERO)
    }

    /// Bytes of the table.
    pub(super) fn bytes(&self) -> u64 {
        self.entries.len() as u64 * Metrics::ENTRY
    }
}

/// The congestion-from-leaf table: what packets from each leaf have met on their way here, to be
/// fed back to that leaf entry by entry.
pub(super) struct FromLeaf {
    metrics: Metrics,
    /// Per leaf, a bit for each tag whose metric has changed since it was last fed back.
    changed: Vec<u64>,
    /// Words of `changed` that a leaf has.
    words: usize,
    /// Per leaf, the tag at which the round goes on.
    next: Vec<u16>,
}

impl FromLeaf {
    pub(super) fn new(leaves: usize, tags: usize, age: Span, fade: Span) -> FromLeaf {
        let words = tags.div_ceil(64);
        FromLeaf {
            metrics: Metrics::new(leaves, tags, age, fade),
            changed: vec![0; leaves * words],
            words,
            next: vec![0; leaves],
        }
    }

    pub(super) fn set(&mut self, leaf: usize, tag: usize, value: u8, now: Time) {
        if self.metrics.set(leaf, tag, value, now) {
            self.changed[leaf * self.words + tag / 64] |= 1 << (tag % 64);
        }
    }

    /// The entry to feed back to `leaf` with the next packet to it: tag and metric. CONGA §3.3: round
    /// robin, but those first whose value has changed since they were last fed back.
    #[inline]
    pub(super) fn feed_back(&mut self, leaf: usize, now: Time) -> (u16, u8) {
        let turn = usize::from(self.next[leaf]);
        let tag = self.changed_from(leaf, turn).unwrap_or(turn);
        self.changed[leaf * self.words + tag / 64] &= !(1 << (tag % 64));
        self.next[leaf] = if tag + 1 < self.metrics.tags { tag as u16 + 1 } else { 0 };
        (tag as u16, self.metrics.get(leaf, tag, now))
    }

    /// The first changed tag at `turn` or after it, going round.
    fn changed_from(&self, leaf: usize, turn: usize) -> Option<usize> {
        let words = &self.changed[leaf * self.words..(leaf + 1) * self.words];
        let (word, bit) = (turn / 64, turn % 64);
        let in_word = |at: usize, mask: u64| match words[at] & mask {
            0 => None,
            set => Some(at * 64 + set.trailing_zeros() as usize),
        };
        in_word(word, u64::MAX << bit)
            .or_else(|| (word + 1..words.len()).find_map(|at| in_word(at, u64::MAX)))
            .or_else(|| (0..=word).find_map(|at| in_word(at, u64::MAX)))
    }

    /// Bytes of the table, the bits and the turns.
    pub(super) fn bytes(&self) -> u64 {
        self.metrics.bytes() + self.changed.len() as u64 * 8 + self.next.len() as u64 * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGE: Span = Span::from_millis(10);
    const FADE: Span = Span::from_millis(1);

    fn at(us: u64) -> Time {
        Time(Span::from_micros(us).0)
    }

    /// Breaks if an entry loses anything within 10 ms, does not after, or does not reach zero one
    /// level a millisecond; a new value starts over.
    #[test]
    fn metrics_age() {
        let mut metrics = Metrics::new(2, 4, AGE, FADE);
        metrics.set(1, 2, 3, at(5));
        for (us, expected) in
            [(5, 3), (10_005, 3), (10_006, 2), (11_004, 2), (11_005, 1), (12_005, 0), (99_000, 0)]
        {
            assert_eq!(metrics.get(1, 2, at(us)), expected, "at {us} us");
        }
        assert_eq!((metrics.get(1, 1, at(5)), metrics.get(0, 2, at(5))), (0, 0));
        metrics.set(1, 2, 7, at(99_000));
        assert_eq!(metrics.get(1, 2, at(109_000)), 7);
    }

    /// Breaks if `fade = 0` is not at once.
    #[test]
    fn metrics_may_age_at_once() {
        let mut metrics = Metrics::new(1, 1, AGE, Span::ZERO);
        metrics.set(0, 0, 7, at(0));
        assert_eq!((metrics.get(0, 0, at(10_000)), metrics.get(0, 0, at(10_001))), (7, 0));
    }

    fn order(from: &mut FromLeaf, n: usize) -> Vec<u16> {
        (0..n).map(|_| from.feed_back(0, at(1)).0).collect()
    }

    /// Breaks if feedback is not round robin, if a changed entry does not come first, more than once,
    /// or takes the turn away from the others after it, or if a value that is merely confirmed counts
    /// as changed (§3.3).
    #[test]
    fn feedback_goes_round_and_changed_entries_first() {
        let mut from = FromLeaf::new(1, 4, AGE, FADE);
        assert_eq!(order(&mut from, 6), [0, 1, 2, 3, 0, 1]);
        // The turn is at 2. Entries 1 and 3 change, 2 is confirmed: 3, then 1, then on from there.
        from.set(0, 1, 5, at(1));
        from.set(0, 3, 6, at(1));
        from.set(0, 2, 0, at(1));
        assert_eq!(from.feed_back(0, at(1)), (3, 6));
        assert_eq!(from.feed_back(0, at(1)), (1, 5));
        assert_eq!(order(&mut from, 5), [2, 3, 0, 1, 2]);
        from.set(0, 1, 5, at(2));
        assert_eq!(order(&mut from, 2), [3, 0]);
    }

    /// Breaks if more than 64 tags lose one: the last of 130 changes while the turn is at 64, and at
    /// its own place, and past it.
    #[test]
    fn many_tags_go_round() {
        let mut from = FromLeaf::new(2, 130, AGE, FADE);
        assert_eq!(order(&mut from, 64), (0..64).collect::<Vec<_>>());
        from.set(0, 129, 1, at(1));
        from.set(0, 3, 1, at(1));
        from.set(1, 70, 1, at(1));
        assert_eq!(order(&mut from, 4), [129, 3, 4, 5]);
        assert_eq!(from.feed_back(1, at(1)), (70, 1));
    }

    /// Breaks if the changed entry that comes first from the turn on, going round, is not fed back first,
    /// or not once only, or if the turn does not go on behind it: every turn of 130, every changed entry and
    /// another, at the ends of the words of 64. Leaf 1 has its own turn and changes; leaf 0's stay.
    #[test]
    fn the_next_changed_entry_is_found_from_every_turn() {
        let (now, tags) = (at(1), 130usize);
        let mut from = FromLeaf::new(2, tags, AGE, FADE);
        from.set(0, 7, 1, now);
        for turn in 0..tags {
            for one in 0..tags {
                for other in [0, 63, 64, 127, 129] {
                    for tag in [one, other] {
                        from.changed[3 + tag / 64] |= 1 << (tag % 64);
                    }
                    from.next[1] = turn as u16;
                    let from_turn = |tag: &usize| (tag + tags - turn) % tags;
                    let mut expected = [one, other];
                    expected.sort_by_key(from_turn);
                    let second = if one == other { (one + 1) % tags } else { expected[1] };
                    let mut fed = || usize::from(from.feed_back(1, now).0);
                    assert_eq!(
                        [fed(), fed()],
                        [expected[0], second],
                        "turn {turn}: {one}, {other}"
                    );
                    assert_eq!(from.changed[3..], [0; 3]);
                }
            }
        }
        assert_eq!(from.feed_back(0, now), (7, 1));
    }

    /// Breaks if a change is noted for another entry than its own: each of 130 of leaf 1, alone.
    #[test]
    fn every_change_is_noted() {
        for tag in 0..130 {
            let mut from = FromLeaf::new(2, 130, AGE, FADE);
            from.set(1, tag, 5, at(1));
            assert_eq!(from.feed_back(1, at(1)), (tag as u16, 5));
            assert!(from.changed.iter().all(|bits| *bits == 0), "tag {tag}");
        }
    }

    /// Breaks if the bits of 64 tags take more than a word: 16 bytes an entry, 8 of bits, 2 of turn a leaf.
    #[test]
    fn a_word_has_the_bits_of_64_tags() {
        assert_eq!(FromLeaf::new(3, 64, AGE, FADE).bytes(), 3 * (64 * 16 + 8 + 2));
        assert_eq!(FromLeaf::new(3, 65, AGE, FADE).bytes(), 3 * (65 * 16 + 16 + 2));
    }
}
