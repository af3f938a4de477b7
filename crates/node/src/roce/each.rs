//! Recovery packet by packet: each one that has come is known to have, each one that a switch has
//! trimmed is known to be missing, and the rest waits for a timeout. Nothing is concluded from the
//! order in which packets come, so they may take any ways.

use super::{QueuePair, Sender};
use crate::transport::SegmentSet;
use leafspine_core::PacketMeta;

/// What is known of the packets from the oldest that is not acknowledged on.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Have come, in no order.
    come: SegmentSet,
    /// Are missing, and not yet sent again. None of them has come, as far as is known.
    missing: SegmentSet,
}

impl Known {
    pub(super) fn clear(&mut self) {
        self.come.clear();
        self.missing.clear();
    }

    /// The first packet from `una` on that is to be sent again.
    #[inline]
    pub(super) fn first_missing(&self, una: u32) -> Option<u32> {
        if self.missing.is_empty() { None } else { self.missing.first_present(una) }
    }

    /// Packets to be sent again.
    pub(super) fn missing(&self) -> u32 {
        self.missing.len()
    }

    /// One that was missing is sent again.
    pub(super) fn sent_again(&mut self, una: u32, packet: u32) {
        self.missing.remove(una, packet);
    }

    /// All from `una` to `upto` have come. How many of them were thought to be under way.
    #[inline]
    pub(super) fn advance(&mut self, una: u32, upto: u32) -> u32 {
        if self.come.is_empty() && self.missing.is_empty() {
            return upto - una;
        }
        let before = self.come.len() + self.missing.len();
        self.come.remove_below(una, upto);
        self.missing.remove_below(una, upto);
        upto - una - (before - self.come.len() - self.missing.len())
    }

    /// A packet has come. Whether that is news, and whether it was thought to be under way.
    fn note_come(&mut self, una: u32, packet: u32) -> (bool, bool) {
        let new = self.come.insert(una, packet, packet + 1) == 1;
        let missing = new && self.missing.contains(packet);
        self.missing.remove(una, packet);
        (new, new && !missing)
    }

    /// A packet is missing. Whether it was thought to be under way.
    fn note_missing(&mut self, una: u32, packet: u32) -> bool {
        !self.come.contains(packet) && self.missing.insert(una, packet, packet + 1) == 1
    }
}

impl Sender {
    /// An answer tells of a packet, or a switch has sent one's header back. Whether that is news.
    pub(super) fn learn_of(&mut self, pair: &mut QueuePair, packet: u32, is_missing: bool) -> bool {
        if packet < self.una || packet >= self.high {
            return false;
        }
        let (news, under_way) = if is_missing {
            let under_way = self.known.note_missing(self.una, packet);
            (under_way, under_way)
        } else {
            self.known.note_come(self.una, packet)
        };
        pair.count(0, u32::from(under_way));
        self.recount(pair);
        news
    }

    /// After a timeout: what is not known to have come is missing.
    pub(super) fn lose_all(&mut self, pair: &mut QueuePair) {
        for packet in self.una..self.high {
            let under_way = self.known.note_missing(self.una, packet);
            pair.count(0, u32::from(under_way));
        }
        self.recount(pair);
    }

    /// The packet whose header a switch has sent back.
    pub(super) fn returned(p: &PacketMeta) -> Option<u32> {
        (p.notes & PacketMeta::TRIMMED != 0).then_some(p.seq)
    }
}
