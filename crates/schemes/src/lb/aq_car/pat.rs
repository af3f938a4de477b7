//! The path allocation table (PAT): which uplink each flow of this leaf's hosts takes (§II-B2).
//!
//! An entry has "flow ID, selected port number, destination leaf ID, arrival time of the last enqueued
//! packet, a valid bit and an age bit". The flow ID is the five-tuple, which tells the destination
//! leaf. "Only one bit is needed to implement the timer for each entry and a global timer for the
//! entire PAT": each firing invalidates entries whose age bit is set and sets that of the others, each
//! packet clears its entry's. So an entry lives from one to two periods beyond its last packet: it is
//! valid if that packet came in this period or the one before. The arrival time says so without a
//! sweep, at the very same instants.

use leafspine_core::{FiveTuple, PortId, Span, Time, mix};

/// What a flow waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Never used.
    Empty,
    /// Its SYN has gone by ECMP; the SYN-ACK will choose.
    Opening,
    /// It keeps its port.
    Settled,
    /// Its ACKs carry the medium table: it is to be rerouted.
    MediumAsked,
    /// The same, and the delay of its last packet has been recorded (eq. 1).
    MediumTimed,
    /// An ACK has named ports without large flows.
    LargeAsked,
    /// It has moved; ACKs that still ask are older than that.
    Moved,
}

/// One flow's path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    pub(super) flow: FiveTuple,
    /// When its last packet came.
    pub(super) last: Time,
    /// That packet's queueing delay here (eq. 1), if the flow is `MediumTimed`.
    pub(super) delay: Span,
    pub(super) port: PortId,
    pub(super) state: State,
}

/// Where a flow's entry is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    /// Here.
    Valid(usize),
    /// Here it may have one.
    Vacant(usize),
    /// Another flow has a valid entry there.
    Taken,
}

/// See the module's text.
pub(super) struct Pat {
    seed: u64,
    pub(super) paths: Vec<Path>,
    period: Span,
    /// When the global timer fires next.
    next: Time,
    /// Beginning of the period before this one: older entries are invalid.
    horizon: Time,
}

impl Pat {
    pub(super) fn new(entries: usize, period: Span, seed: u64) -> Pat {
        let path = Path {
            flow: FiveTuple(0),
            last: Time::ZERO,
            delay: Span::ZERO,
            port: PortId(u16::MAX),
            state: State::Empty,
        };
        let next = Time::ZERO + period;
        Pat { seed, paths: vec![path; entries], period, next, horizon: Time::ZERO }
    }

    /// The slot of a flow.
    #[inline]
    pub(super) fn slot(&self, flow: FiveTuple) -> usize {
        super::super::hash::region(mix(flow.0 ^ self.seed), self.paths.len())
    }

    /// Beginning of the period before the one that `now` is in.
    fn horizon_at(&self, now: Time) -> Time {
        Time((now.0 / self.period.0).saturating_sub(1) * self.period.0)
    }

    fn is_valid(path: &Path, horizon: Time) -> bool {
        path.state != State::Empty && path.last >= horizon
    }

    /// Looks a flow up.
    #[inline]
    pub(super) fn find(&mut self, flow: FiveTuple, now: Time) -> Entry {
        if now >= self.next {
            self.horizon = self.horizon_at(now);
            self.next = self.horizon + self.period + self.period;
        }
        let slot = self.slot(flow);
        let path = &self.paths[slot];
        match (Pat::is_valid(path, self.horizon), path.flow == flow) {
            (true, true) => Entry::Valid(slot),
            (true, false) => Entry::Taken,
            (false, _) => Entry::Vacant(slot),
        }
    }

    /// The flow's path, if it has a valid one.
    pub(super) fn get(&mut self, flow: FiveTuple, now: Time) -> Option<&mut Path> {
        match self.find(flow, now) {
            Entry::Valid(slot) => Some(&mut self.paths[slot]),
            Entry::Vacant(_) | Entry::Taken => None,
        }
    }

    /// Entries valid at `now`.
    pub(super) fn occupied(&self, now: Time) -> usize {
        // Before the timer has fired for the first time, horizon and age are those of period 0.
        let horizon = self.horizon_at(now);
        self.paths.iter().filter(|path| Pat::is_valid(path, horizon)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Span = Span::from_micros(500);

    fn micros(us: u64) -> Time {
        Time::ZERO + Span::from_micros(us)
    }

    fn put(pat: &mut Pat, flow: u64, now: Time) -> usize {
        let Entry::Vacant(slot) = pat.find(FiveTuple(flow), now) else { panic!("taken") };
        let (flow, delay, port) = (FiveTuple(flow), Span::ZERO, PortId(1));
        pat.paths[slot] = Path { flow, last: now, delay, port, state: State::Settled };
        slot
    }

    /// The table as the paper has it: valid and age bits, swept by a global timer.
    struct Swept {
        valid: bool,
        age: bool,
        fired: u64,
    }

    impl Swept {
        fn run_to(&mut self, now: Time) {
            while (self.fired + 1) * PERIOD.0 <= now.0 {
                self.fired += 1;
                self.valid &= !self.age;
                self.age = true;
            }
        }
    }

    /// Breaks if an entry outlives, or does not live as long as, one with valid and age bits under a
    /// global timer (§II-B2): packets at every 50 us after one another, from pauses of none to 2 ms.
    #[test]
    fn entries_age_as_swept_ones_do() {
        for start in (0..500).step_by(50) {
            for pause in (0..2_000).step_by(50) {
                let mut pat = Pat::new(1, PERIOD, 1);
                let mut swept = Swept { valid: false, age: false, fired: 0 };
                let (first, second) = (micros(start), micros(start + pause));
                swept.run_to(first);
                put(&mut pat, 7, first);
                (swept.valid, swept.age) = (true, false);
                swept.run_to(second);
                let found = matches!(pat.find(FiveTuple(7), second), Entry::Valid(_));
                assert_eq!(found, swept.valid, "packets at {start} and {} us", start + pause);
                assert_eq!(pat.occupied(second), usize::from(swept.valid));
            }
        }
    }

    /// Breaks if a flow takes over another's valid entry, or does not take an expired one.
    #[test]
    fn an_entry_is_its_flows_until_it_expires() {
        let mut pat = Pat::new(1, PERIOD, 1);
        put(&mut pat, 7, Time::ZERO);
        assert_eq!(pat.find(FiveTuple(8), micros(999)), Entry::Taken);
        assert_eq!(pat.find(FiveTuple(7), micros(999)), Entry::Valid(0));
        assert_eq!(pat.find(FiveTuple(8), micros(1_000)), Entry::Vacant(0));
    }

    /// Breaks if an entry takes more than half a cache line.
    #[test]
    fn an_entry_is_32_bytes() {
        assert_eq!(size_of::<Path>(), 32);
    }
}
