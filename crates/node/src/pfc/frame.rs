//! A pause frame as a packet of the model.

use super::PRIORITIES;
use leafspine_core::{Flags, PacketMeta, SackBlock, Span};

/// What a pause frame says of each priority (IEEE 802.1Qbb, 802.3 §31B).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// The priorities that it is about, a bit each.
    pub about: u8,
    /// Of these, those that are to stop; the others may go on.
    pub stop: u8,
    /// For how long, unless that is renewed.
    pub lasts: Span,
}

impl Frame {
    /// Bytes on the wire: the smallest Ethernet frame. Other packets of the model have no Ethernet header unless
    /// `transport.header` has it.
    pub const BYTES: u16 = 64;

    /// The frame as it travels.
    #[must_use]
    pub fn packet(self) -> PacketMeta {
        PacketMeta {
            seq: u32::from(self.about) << 8 | u32::from(self.stop),
            size: Frame::BYTES,
            flags: Flags::PROBE,
            notes: PacketMeta::PAUSE,
            // A frame acknowledges nothing: there is room for a time here.
            sack: [
                SackBlock { start: (self.lasts.0 >> 32) as u32, end: self.lasts.0 as u32 },
                SackBlock::default(),
                SackBlock::default(),
            ],
            ..PacketMeta::default()
        }
    }

    /// The frame that a packet is, if it is one.
    #[inline]
    #[must_use]
    pub fn of(packet: &PacketMeta) -> Option<Frame> {
        let is_frame = packet.notes & PacketMeta::PAUSE != 0;
        let SackBlock { start, end } = packet.sack[0];
        is_frame.then_some(Frame {
            about: (packet.seq >> 8) as u8,
            stop: packet.seq as u8,
            lasts: Span(u64::from(start) << 32 | u64::from(end)),
        })
    }

    /// The priorities that it is about, and whether each is to stop.
    pub(crate) fn orders(self) -> impl Iterator<Item = (usize, bool)> {
        let about = (0..PRIORITIES).filter(move |priority| self.about >> priority & 1 == 1);
        about.map(move |priority| (priority, self.stop >> priority & 1 == 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a frame says something else at its far end, or another packet is taken for one.
    #[test]
    fn a_frame_is_read_as_it_was_written() {
        let lasts = Span(0x1234_5678_9abc_def0);
        let frame = Frame { about: 0b1000_0110, stop: 0b1000_0010, lasts };
        let packet = frame.packet();
        assert_eq!((Frame::of(&packet), packet.size), (Some(frame), 64));
        assert_eq!(frame.orders().collect::<Vec<_>>(), [(1, true), (2, false), (7, true)]);
        assert_eq!(Frame::of(&PacketMeta { seq: 0x0101, ..PacketMeta::default() }), None);
    }
}
