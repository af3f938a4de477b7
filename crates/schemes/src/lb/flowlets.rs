//! A flowlet table: which port a flow's last packet took, and when.
//!
//! The table is indexed by a hash of the five-tuple and has a fixed number of entries; flows that
//! collide share one, its port and its idle time, as in hardware. Hardware sweeps an age bit, which
//! finds gaps between one and two timeouts; here each entry has a time stamp, so the gap is exact. A
//! gap of exactly the timeout does not end a flowlet.

use super::hash::{flow_hash, region};
use crate::{Footprint, Kind, Meaning, Param};
use leafspine_core::{PacketMeta, PortId, Span, Time};

/// How long a flow must pause for its flowlet to end, as the scenario says it.
pub(crate) const GAP: Param = Param::new(
    Kind::Span(1, u64::MAX),
    "2rtt",
    "Flowlet timeout: a longer pause between a flow's packets ends its flowlet.",
)
.means(Meaning::FlowletGap);

/// The size of the table.
pub(crate) const ENTRIES: Param = Param::new(
    Kind::Int(1, 1 << 24),
    "65536",
    "Entries of the flowlet table; flows that hash to one entry share it.",
);

/// No port has this number: the entry has never been used.
const NONE: PortId = PortId(u16::MAX);

#[derive(Clone, Copy)]
struct Flowlet {
    last: Time,
    port: PortId,
}

/// See the module's text.
pub(crate) struct Flowlets {
    seed: u64,
    gap: Span,
    table: Vec<Flowlet>,
}

impl Flowlets {
    /// Bytes of an entry.
    pub(crate) const ENTRY: u32 = size_of::<Flowlet>() as u32;

    pub(crate) fn new(seed: u64, gap: Span, entries: usize) -> Flowlets {
        Flowlets { seed, gap, table: vec![Flowlet { last: Time::ZERO, port: NONE }; entries] }
    }

    /// The entry of the packet's flow.
    #[inline]
    pub(crate) fn slot(&self, packet: &PacketMeta) -> usize {
        region(flow_hash(packet, self.seed), self.table.len())
    }

    /// The port of the flowlet that is under way.
    #[inline]
    pub(crate) fn under_way(&self, slot: usize, now: Time) -> Option<PortId> {
        let flowlet = self.table[slot];
        (flowlet.port != NONE && now.since(flowlet.last) <= self.gap).then_some(flowlet.port)
    }

    /// The port of the last flowlet, ended or not.
    #[inline]
    pub(crate) fn cached(&self, slot: usize) -> Option<PortId> {
        let port = self.table[slot].port;
        (port != NONE).then_some(port)
    }

    /// A packet takes `port` now.
    #[inline]
    pub(crate) fn note(&mut self, slot: usize, port: PortId, now: Time) {
        self.table[slot] = Flowlet { last: now, port };
    }

    /// What the table keeps, for a balancer that keeps nothing else.
    pub(crate) fn footprint(&self, now: Time) -> Footprint {
        Footprint {
            bytes: u64::from(self.len()) * u64::from(Flowlets::ENTRY),
            per_flow: Flowlets::ENTRY,
            slots: self.len(),
            occupied: self.occupied(now),
            ..Footprint::default()
        }
    }

    /// Entries.
    pub(crate) fn len(&self) -> u32 {
        self.table.len() as u32
    }

    /// Entries with a flowlet under way.
    pub(crate) fn occupied(&self, now: Time) -> u32 {
        (0..self.table.len()).filter(|slot| self.under_way(*slot, now).is_some()).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::data;

    /// Breaks if a flowlet ends at its timeout, or does not after it, or if the port of an ended one
    /// is forgotten, or if an unused entry has a port.
    #[test]
    fn a_flowlet_ends_after_the_gap_and_its_port_is_kept() {
        let mut flowlets = Flowlets::new(1, Span(100), 64);
        let slot = flowlets.slot(&data(0, 9, 1, 0));
        assert_eq!((flowlets.under_way(slot, Time(5)), flowlets.cached(slot)), (None, None));
        flowlets.note(slot, PortId(3), Time(50));
        assert_eq!(flowlets.under_way(slot, Time(150)), Some(PortId(3)));
        assert_eq!(flowlets.under_way(slot, Time(151)), None);
        assert_eq!(flowlets.cached(slot), Some(PortId(3)));
        assert_eq!((flowlets.occupied(Time(150)), flowlets.occupied(Time(151))), (1, 0));
    }
}
