//! A packet as the network and the schemes see it: headers and sizes, never contents.

use crate::id::{FiveTuple, HostId};

/// The TCP flags, and whether the packet carries data or is a scheme's probe.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// Opens a connection.
    pub const SYN: Flags = Flags(1);
    /// Carries an acknowledgment.
    pub const ACK: Flags = Flags(2);
    /// The sender's last segment.
    pub const FIN: Flags = Flags(4);
    /// Aborts a connection.
    pub const RST: Flags = Flags(8);
    /// Congestion was seen (RFC 3168 §6.1).
    pub const ECE: Flags = Flags(16);
    /// The window was reduced (RFC 3168 §6.1).
    pub const CWR: Flags = Flags(32);
    /// Carries payload.
    pub const DATA: Flags = Flags(64);
    /// Made by a switch for a scheme (HULA); no transport will see it.
    pub const PROBE: Flags = Flags(128);

    /// Whether all of `other`'s flags are set.
    #[inline]
    #[must_use]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any of `other`'s flags is set.
    #[inline]
    #[must_use]
    pub const fn any(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    /// Both sets of flags.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// These flags except `other`'s.
    #[inline]
    #[must_use]
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
}

/// The ECN field of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: dropped where another would be marked.
    #[default]
    NotCapable = 0,
    /// ECN-capable transport.
    Capable = 2,
    /// Congestion experienced.
    Congested = 3,
}

/// Segments `start..end` that the receiver holds beyond the cumulative acknowledgment (RFC 2018).
/// An empty block (`start == end`) is no block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SackBlock {
    /// First segment held.
    pub start: u32,
    /// One past the last segment held.
    pub end: u32,
}

/// Eight bytes that the run's scheme may use in each packet, as it likes.
///
/// They cost no wire bytes: a scheme that pays for its header adds to `PacketMeta::size`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SchemeHeader(pub [u32; 2]);

/// One packet. At most 64 bytes, one cache line.
///
/// Sequence numbers count segments, not bytes: a flow's segments are all `mss` long but the last,
/// so segment `n` is byte `n * mss`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct PacketMeta {
    /// Source, destination and port numbers.
    pub tuple: FiveTuple,
    /// The flow's slots at its two hosts. Not a flow's identity (slots are reused): schemes key on
    /// `tuple`.
    pub flow: u32,
    /// Data: the segment. Anything else: the next segment expected (cumulative acknowledgment).
    pub seq: u32,
    /// Timestamp (RFC 7323) in units of 65,536 ps: data carries the sender's, an ACK echoes it.
    pub stamp: u32,
    /// Bytes on the wire, headers included.
    pub size: u16,
    /// Bytes of payload.
    pub payload: u16,
    /// TCP flags.
    pub flags: Flags,
    /// ECN field.
    pub ecn: Ecn,
    /// DSCP: the stage or class that a host edge wrote; 0 if none did.
    pub class: u8,
    /// The engine's own notes (retransmission, lost on the wire). Schemes leave it alone.
    pub notes: u8,
    /// The scheme's own header.
    pub header: SchemeHeader,
    /// The uplink that `pinned` obeys, by index at the source's leaf; `NO_PATH` if none was given.
    pub path: u16,
    /// Entropy that a host edge gives (FlowBender, Flex; edges that spray): what the source port of
    /// an encapsulation or of a queue pair stands for. Switches hash it with the five-tuple.
    pub tag: u16,
    /// ACKs: what the receiver holds, most recent block first (RFC 2018 §4).
    pub sack: [SackBlock; 3],
}

impl PacketMeta {
    /// `path` of a packet that no trace has pinned.
    pub const NO_PATH: u16 = u16::MAX;
    /// In `notes`: this segment has been sent before.
    pub const RETRANSMIT: u8 = 1;
    /// In `notes`: the packet was on a link when it went down, and will not arrive.
    pub const LOST: u8 = 2;
    /// In `notes`: sent by its flow's receiver.
    pub const REPLY: u8 = 4;
    /// In `notes`: a pause frame of the link's far end (IEEE 802.1Qbb). Nothing but the far end's port sees it.
    pub const PAUSE: u8 = 8;
    /// In `notes`: a list of what ports have written stands beside the packet (in-band telemetry);
    /// `sack[2]` says which.
    pub const TELEMETRY: u8 = 16;
    /// In `notes`: a switch has cut the payload off; with [`PacketMeta::REPLY`], and sent the header back.
    pub const TRIMMED: u8 = 32;
    /// In `notes`: TCP's PSH. The sender's stack had no more to send with it.
    pub const PUSH: u8 = 64;

    /// The source host.
    #[inline]
    #[must_use]
    pub fn src(&self) -> HostId {
        self.tuple.src()
    }

    /// The destination host.
    #[inline]
    #[must_use]
    pub fn dst(&self) -> HostId {
        self.tuple.dst()
    }

    /// Whether the packet carries payload.
    #[inline]
    #[must_use]
    pub fn is_data(&self) -> bool {
        self.flags.has(Flags::DATA)
    }

    /// A pure ACK: no payload, ACK flag, no SYN, FIN or RST (`schemes.md`, ABQ).
    #[inline]
    #[must_use]
    pub fn is_pure_ack(&self) -> bool {
        const REST: Flags = Flags::SYN.with(Flags::FIN).with(Flags::RST).with(Flags::DATA);
        self.flags.has(Flags::ACK) && !self.flags.any(REST)
    }

    /// In runs whose hosts are kernels: the frame that the packet stands for, by a number of the driver's.
    /// It is where a transport of the model has its third SACK block, which such a packet has in its
    /// frame.
    #[inline]
    #[must_use]
    pub fn frame(&self) -> u32 {
        self.sack[2].end
    }

    /// Sets [`PacketMeta::frame`].
    #[inline]
    pub fn set_frame(&mut self, frame: u32) {
        self.sack[2] = SackBlock { start: frame, end: frame };
    }

    /// What switches hash: the five-tuple with the entropy tag folded in.
    #[inline]
    #[must_use]
    pub fn entropy(&self) -> u64 {
        self.tuple.0 ^ u64::from(self.tag) << 12
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a field is added that pushes a packet over one cache line.
    #[test]
    fn a_packet_fits_a_cache_line() {
        assert_eq!(size_of::<PacketMeta>(), 64);
    }

    /// Breaks if a SYN-ACK or a FIN counts as a pure ACK.
    #[test]
    fn pure_acks_have_nothing_else() {
        let with = |flags| PacketMeta { flags, ..PacketMeta::default() }.is_pure_ack();
        assert!(with(Flags::ACK) && with(Flags::ACK.with(Flags::ECE)));
        for other in [Flags::SYN, Flags::FIN, Flags::RST, Flags::DATA] {
            assert!(!with(Flags::ACK.with(other)), "{other:?}");
        }
        assert!(!with(Flags::PROBE));
    }
}
