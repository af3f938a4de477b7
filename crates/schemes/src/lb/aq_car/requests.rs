//! The medium rerouting table of a destination's leaf: flows whose ACKs carry the medium table (§II-B2b).

use super::super::hash::region;
use leafspine_core::{FiveTuple, mix};

/// No uplink has this number: the entry is empty.
const NONE: u8 = u8::MAX;

#[derive(Clone, Copy, Debug)]
struct Request {
    flow: FiveTuple,
    /// The ingress port that it should leave.
    from: u8,
}

/// Hashed: of two flows that share an entry, the one that asked last has it.
pub(super) struct Requests {
    seed: u64,
    table: Vec<Request>,
    /// Entries in use: mostly none, which saves the search.
    live: usize,
}

impl Requests {
    pub(super) fn new(entries: usize, seed: u64) -> Requests {
        let empty = Request { flow: FiveTuple(0), from: NONE };
        Requests { seed, table: vec![empty; entries], live: 0 }
    }

    fn slot(&self, flow: FiveTuple) -> usize {
        region(mix(flow.0 ^ self.seed), self.table.len())
    }

    /// A medium packet of `flow` has come by ingress port `from`; `congested` if both conditions of
    /// §II-B2b hold. A packet that shows that its flow has moved ends the request and makes none.
    pub(super) fn arrived(&mut self, flow: FiveTuple, from: u8, congested: bool) {
        if self.live == 0 && !congested {
            return;
        }
        let slot = self.slot(flow);
        let request = &mut self.table[slot];
        if request.from != NONE && request.flow == flow {
            if request.from != from {
                request.from = NONE;
                self.live -= 1;
            }
            return;
        }
        if congested {
            self.live += usize::from(request.from == NONE);
            *request = Request { flow, from };
        }
    }

    /// The ingress port that `flow` should leave, if it is to be rerouted.
    #[inline]
    pub(super) fn of(&self, flow: FiveTuple) -> Option<u8> {
        if self.live == 0 {
            return None;
        }
        let request = &self.table[self.slot(flow)];
        (request.from != NONE && request.flow == flow).then_some(request.from)
    }

    /// `flow` need not move any more.
    pub(super) fn forget(&mut self, flow: FiveTuple) {
        if self.of(flow).is_some() {
            let slot = self.slot(flow);
            self.table[slot].from = NONE;
            self.live -= 1;
        }
    }

    /// Bytes that all this takes.
    pub(super) fn bytes(&self) -> usize {
        self.table.len() * size_of::<Request>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a displaced or ended request is counted on, or a flow has another's.
    #[test]
    fn the_last_to_ask_has_the_entry() {
        let mut requests = Requests::new(1, 1);
        let (one, two) = (FiveTuple(1), FiveTuple(2));
        requests.arrived(one, 3, true);
        assert_eq!([requests.of(one), requests.of(two)], [Some(3), None]);
        requests.arrived(two, 4, true);
        assert_eq!(
            [requests.of(one), requests.of(two), requests.of(FiveTuple(9))],
            [None, Some(4), None]
        );
        requests.forget(one);
        assert_eq!((requests.of(two), requests.live), (Some(4), 1));
        requests.arrived(two, 5, true);
        assert_eq!((requests.of(two), requests.live), (None, 0), "it has moved");
        requests.forget(two);
        assert_eq!(requests.live, 0);
    }
}
