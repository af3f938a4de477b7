//! What concerns the whole run, in its place among the events of nodes.

use crate::drive::Bound;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Item {
    /// A link changes: the key's id is the change's number.
    Change,
    /// The last flow has started.
    Exhausted,
    /// The measurement window opens.
    Open,
    /// It closes.
    Close,
    /// The warm-up is over.
    Warm,
    /// A probe looks: the key's id is its number.
    Sample,
    /// Goodput is looked at, to see how soon it is back after a fault.
    Goodput,
    /// It is looked whether ports have paused each other for ever.
    Pauses,
}

/// The items that are still to come.
#[derive(Default)]
pub(super) struct Agenda(BinaryHeap<Reverse<(Bound, Item)>>);

impl Agenda {
    pub(super) fn add(&mut self, at: Bound, item: Item) {
        self.0.push(Reverse((at, item)));
    }

    /// When the next is due: after all events of nodes before that.
    pub(super) fn next(&self) -> Option<Bound> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the next, if it is due when all before `bound` has happened.
    pub(super) fn take_due(&mut self, bound: Bound) -> Option<(Bound, Item)> {
        if self.next()? > bound {
            return None;
        }
        self.0.pop().map(|Reverse(entry)| entry)
    }
}
