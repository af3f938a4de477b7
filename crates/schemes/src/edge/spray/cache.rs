//! REPS' circular buffer of entropy values that have come back without a mark, in a connection's words.

/// The first word: head, valid and filled entries, a byte each; flags; packets that explore still.
const HEAD: u32 = 0;
const VALID: u32 = 8;
const FILLED: u32 = 16;
/// What [`Cache::extra`] keeps, above.
const EXTRA: u32 = 24;
/// An entry: the value, and how often it may yet be used; an entry is valid as long as that is not never.
const USES: u32 = 16;

/// The buffer in a connection's words: one, and one for each entry.
pub(super) struct Cache<'a> {
    words: &'a mut [u64],
}

impl<'a> Cache<'a> {
    pub(super) fn of(words: &'a mut [u64]) -> Cache<'a> {
        Cache { words }
    }

    /// Words for so many entries.
    pub(super) fn words(entries: usize) -> usize {
        1 + entries
    }

    fn size(&self) -> u64 {
        self.words.len() as u64 - 1
    }

    fn get(&self, field: u32) -> u64 {
        self.words[0] >> field & 0xff
    }

    fn set(&mut self, field: u32, value: u64) {
        self.words[0] = self.words[0] & !(0xff << field) | value << field;
    }

    /// Forty bits of the scheme's own.
    pub(super) fn extra(&self) -> u64 {
        self.words[0] >> EXTRA
    }

    pub(super) fn set_extra(&mut self, extra: u64) {
        self.words[0] = self.words[0] & ((1 << EXTRA) - 1) | extra << EXTRA;
    }

    fn advance(&mut self) -> u64 {
        let head = self.get(HEAD);
        self.set(HEAD, (head + 1) % self.size());
        head
    }

    /// Whether no value was ever put in.
    pub(super) fn is_empty(&self) -> bool {
        self.get(FILLED) == 0
    }

    /// Entries that may be used.
    pub(super) fn valid(&self) -> u64 {
        self.get(VALID)
    }

    /// Puts a value at the head, over the oldest, to be used so many times.
    pub(super) fn put(&mut self, ev: u16, uses: u64) {
        let at = self.advance();
        let entry = &mut self.words[1 + at as usize];
        let was_valid = *entry >> USES > 0;
        *entry = u64::from(ev) | uses << USES;
        self.set(VALID, self.get(VALID) + u64::from(!was_valid));
        // Where the head has moved on without a value put in, this is over an old one: no entry more is filled.
        self.set(FILLED, self.get(FILLED).max(at + 1));
    }

    /// The oldest valid value, used once more.
    pub(super) fn take(&mut self) -> Option<u16> {
        let valid = self.valid();
        let oldest = (self.get(HEAD) + self.size() - valid) % self.size();
        let entry = &mut self.words[1 + oldest as usize];
        if valid == 0 {
            return None;
        }
        *entry -= 1 << USES;
        let (ev, over) = (*entry as u16, *entry >> USES == 0);
        self.set(VALID, valid - u64::from(over));
        Some(ev)
    }

    /// Of a cache without valid values the one at the head, which moves on: old values again, in turn.
    pub(super) fn again(&mut self) -> u16 {
        let filled = self.get(FILLED);
        // A buffer that was never full has nothing beyond what was put in.
        let at = self.get(HEAD) % filled;
        self.set(HEAD, (at + 1) % self.size());
        self.words[1 + at as usize] as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, of three entries: 10, 11, 12 and 13 are put in, the last over the first; what comes
    /// out is the oldest first, then nothing; then, in turn from the head (1), 11, 12, 13, 11.
    ///
    /// Breaks if the buffer is not circular, if a value comes out twice, or if old ones do not take turns.
    #[test]
    fn oldest_first_then_in_turn() {
        let mut words = vec![0; Cache::words(3)];
        let mut cache = Cache::of(&mut words);
        assert!(cache.is_empty() && cache.take().is_none());
        (10..14).for_each(|ev| cache.put(ev, 1));
        assert_eq!(cache.valid(), 3);
        let out: Vec<Option<u16>> = (0..4).map(|_| cache.take()).collect();
        assert_eq!(out, [Some(11), Some(12), Some(13), None]);
        assert_eq!([cache.again(), cache.again(), cache.again(), cache.again()], [11, 12, 13, 11]);
    }

    /// Breaks if a buffer that was never full gives what was never put in, or if an entry is not
    /// used as often as it may be.
    #[test]
    fn what_was_never_there_is_not_taken() {
        let mut words = vec![0; Cache::words(8)];
        let mut cache = Cache::of(&mut words);
        cache.put(65_535, 2);
        cache.put(0, 1);
        cache.set_extra((1 << 40) - 1);
        let out: Vec<Option<u16>> = (0..4).map(|_| cache.take()).collect();
        assert_eq!(out, [Some(65_535), Some(65_535), Some(0), None]);
        assert_eq!([cache.again(), cache.again(), cache.again()], [65_535, 0, 65_535]);
        assert_eq!(cache.extra(), (1 << 40) - 1);
    }

    /// By hand, of eight entries: 10 and 11 are put in and used; of the old ones 10 is taken again,
    /// so that 12 goes over 11. What is left is 10 and 12.
    ///
    /// Then every sequence of nine calls, in which old values are only asked for as a frozen sender
    /// does: all that ever comes out was put in, and none of them is 0.
    ///
    /// Breaks if a value that goes over an old one counts as one more entry: then a word that was
    /// never written is taken for one.
    #[test]
    fn old_values_are_those_that_were_put_in() {
        let mut words = vec![0; Cache::words(8)];
        let mut cache = Cache::of(&mut words);
        (10..12).for_each(|ev| cache.put(ev, 1));
        assert_eq!([cache.take(), cache.take()], [Some(10), Some(11)]);
        assert_eq!(cache.again(), 10);
        cache.put(12, 1);
        assert_eq!(cache.take(), Some(12));
        assert_eq!([cache.again(), cache.again(), cache.again()], [10, 12, 10]);
        for calls in 0..3u32.pow(9) {
            let mut words = vec![0; Cache::words(4)];
            let (mut cache, mut last) = (Cache::of(&mut words), 0);
            for call in (0..9).map(|n| calls / 3u32.pow(n) % 3) {
                let out = match call {
                    0 => {
                        last += 1;
                        cache.put(last, 1);
                        None
                    }
                    1 => cache.take(),
                    _ => (!cache.is_empty() && cache.valid() == 0).then(|| cache.again()),
                };
                assert!(out.is_none_or(|ev| (1..=last).contains(&ev)), "{calls} {out:?}");
            }
        }
    }

    /// A valid entry that is written over while the buffer is full stays one valid entry.
    ///
    /// Breaks if the count of valid entries outgrows the buffer.
    #[test]
    fn writing_over_keeps_the_count() {
        let mut words = vec![0; Cache::words(2)];
        let mut cache = Cache::of(&mut words);
        for ev in 0..1_000 {
            cache.put(ev, 3);
            assert!(cache.valid() <= 2);
            if ev % 7 == 0 {
                cache.take();
            }
        }
        assert_eq!(cache.take(), Some(998));
    }
}
