//! What a node may do to the rest of the world.

use crate::event::Key;
use crate::record::Record;
use leafspine_core::{PacketMeta, Time};

/// The driver of a node, as the node sees it: links, timers, and a place to write down what happened.
pub trait World {
    /// The time of the event that the node is being told of.
    fn now(&self) -> Time;

    /// `packet` is on the link that has this number in its `Port`, and at its far end at
    /// `at`, later than now. A port's packets are delivered in the order of `at`.
    fn deliver(&mut self, link: u32, at: Time, packet: &PacketMeta);

    /// The node wants to be told of this event at `at`, not before now. Events cannot be taken back.
    fn schedule(&mut self, at: Time, key: Key, item: u32);

    /// What the nodes of this driver (or of this part of it) have counted.
    fn record(&mut self) -> &mut Record;
}

impl<W: World + ?Sized> World for &mut W {
    fn now(&self) -> Time {
        (**self).now()
    }

    fn deliver(&mut self, link: u32, at: Time, packet: &PacketMeta) {
        (**self).deliver(link, at, packet);
    }

    fn schedule(&mut self, at: Time, key: Key, item: u32) {
        (**self).schedule(at, key, item);
    }

    fn record(&mut self) -> &mut Record {
        (**self).record()
    }
}
