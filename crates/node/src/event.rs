//! What happens at nodes, and in which order at one instant.
//!
//! Order is a contract: events come by `(time, key)`, and the key says what the event is (its
//! [`Class`] and whose it is), never when it was scheduled.

use leafspine_core::Time;

/// Makes [`Class`], and the way back to it from a key: both from one list, so that none is forgotten.
macro_rules! classes {
    ($($(#[doc = $doc:literal])+ $name:ident = $bits:literal,)+) => {
        /// What an event is. At one instant, lower classes come first.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum Class {
            $($(#[doc = $doc])+ $name = $bits,)+
        }

        impl Key {
            /// The class that the key was made with.
            #[must_use]
            pub fn class(self) -> Class {
                match self.class_bits() {
                    $($bits => Class::$name,)+
                    bits => unreachable!("no class has the number {bits}"),
                }
            }
        }
    };
}

classes! {
    /// A link changes.
    Link = 0,
    /// A general port has sent a packet and may take the next: before arrivals, because a packet
    /// that has begun transmission no longer waits when another arrives at the same instant. Id: the
    /// port's global number.
    Departure = 1,
    /// A packet arrives at the end of a link. Id: the global number of the port that sent it.
    Arrival = 2,
    /// A held packet has waited long enough, or one that was let go has been read. Id: the switch; item: the port,
    /// and which of the two.
    HoldExpiry = 3,
    /// A balancer asked to be called. Id: the switch.
    Tick = 4,
    /// A flow starts. Id: its number; item: its sender's [`Address`](crate::Address).
    FlowStart = 5,
    /// A sender's retransmission timer. Id: the flow's number; item: the sender's address.
    Retransmit = 6,
    /// A receiver's delayed ACK. Id: the flow's number; item: the receiver's address. With queue
    /// pairs: a receiver's card asks for a packet. Id: the host; item: an address there.
    DelayedAck = 7,
    /// A host edge's reassembly timer. Id: the flow's number; item: the receiver's address.
    Reassembly = 8,
    /// A host edge asked to be called. Id: the host.
    EdgeTick = 9,
    /// A packet has come from a host's transport or edge to the host's port (runs with jitter): after
    /// all that hands packets down. Id: the host.
    HandDown = 10,
    /// An operation of a host is due: a message that others let go starts, or a computation has ended.
    /// After all that may let one go. Id: its number; item: its host, as a sender's address.
    Operation = 11,
    /// Flow control: a pause ends or is renewed, a watchdog looks. Id: the port's global number; item: the
    /// priority, and which of these.
    Pause = 12,
    /// A host's network card sends the next packet of its queue pairs: after all that may give them one. Id: the host.
    Nic = 13,
    /// The measurement window opens or closes.
    Window = 14,
    /// A probe samples: after all else, since it only looks.
    Probe = 15,
}

/// The class and the identity of an event: what decides between events at one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key(u32);

impl Key {
    const ID_BITS: u32 = 28;
    /// Ids reach this far: ports, flows and switches are counted below it.
    pub const MAX_ID: u32 = (1 << Self::ID_BITS) - 1;
    /// Before all others.
    pub const FIRST: Key = Key(0);
    /// After all others.
    pub const LAST: Key = Key(u32::MAX);

    /// The key of a `class` event of `id`.
    #[inline]
    #[must_use]
    pub fn new(class: Class, id: u32) -> Key {
        debug_assert!(id <= Self::MAX_ID);
        Key((class as u32) << Self::ID_BITS | id)
    }

    /// Whose event it is.
    #[inline]
    #[must_use]
    pub fn id(self) -> u32 {
        self.0 & Self::MAX_ID
    }

    /// The class; of a bound between classes ([`Key::LAST`] among them), the last one before it.
    #[inline]
    #[must_use]
    pub fn class_or_last(self) -> Class {
        if self == Key::LAST { Class::Probe } else { self.class() }
    }

    #[inline]
    fn class_bits(self) -> u32 {
        self.0 >> Self::ID_BITS
    }

    /// Whether it is of this class.
    #[inline]
    #[must_use]
    pub fn is(self, class: Class) -> bool {
        self.class_bits() == class as u32
    }
}

/// Something that happens: two words, which are also its rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Event {
    /// When.
    pub time: Time,
    /// The key above the item.
    tag: u64,
}

impl Event {
    /// What happens at `time`; `item` is what the class says.
    #[inline]
    #[must_use]
    pub fn new(time: Time, key: Key, item: u32) -> Event {
        Event { time, tag: u64::from(key.0) << 32 | u64::from(item) }
    }

    /// From a time and what [`Event::tag`] gave.
    #[inline]
    #[must_use]
    pub fn from_tag(time: Time, tag: u64) -> Event {
        Event { time, tag }
    }

    /// Key and item in one word.
    #[inline]
    #[must_use]
    pub fn tag(self) -> u64 {
        self.tag
    }

    /// The order of events. Times are seldom equal, so the tags are seldom looked at.
    #[inline]
    #[must_use]
    pub fn comes_before(self, other: Event) -> bool {
        if self.time != other.time { self.time < other.time } else { self.tag < other.tag }
    }

    /// What and whose it is.
    #[inline]
    #[must_use]
    pub fn key(self) -> Key {
        Key((self.tag >> 32) as u32)
    }

    /// The flow's address, the port or whatever the class says.
    #[inline]
    #[must_use]
    pub fn item(self) -> u32 {
        self.tag as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a class, an id or an item spills into another.
    #[test]
    fn keys_keep_their_parts() {
        let event = Event::new(Time(3), Key::new(Class::Probe, Key::MAX_ID), u32::MAX);
        assert_eq!((event.key().class(), event.key().id()), (Class::Probe, Key::MAX_ID));
        assert_eq!((event.item(), event.time), (u32::MAX, Time(3)));
        assert!(Key::FIRST <= Key::new(Class::Link, 0) && event.key() <= Key::LAST);
    }
}
