//! The 64 bits that AQ-CAR's switches write into packets.
//!
//! Bits 0 and 1 say what the other 62 are. A packet from a host has none set.
//!
//! | bits 0-1 | on | the rest |
//! | --- | --- | --- |
//! | 0 | SYN, data | bits 2-3: the level that the spine's queue had (stamp) |
//! | 0 | ACK | nothing is fed back |
//! | 1 | SYN-ACK | the small table: 2 bits for each ingress port of the destination's leaf |
//! | 2 | ACK | the medium table, likewise |
//! | 3 | ACK | the ports without large flows: 1 bit for each |
//!
//! So a leaf may have [`MOST_UPLINKS`] uplinks.

use super::table::{PortSet, Table};
use leafspine_core::{Flags, PacketMeta};

/// The most uplinks of a leaf whose table fits: 62 bits of two each.
pub(super) const MOST_UPLINKS: usize = 31;

/// Bits that say what the rest is.
const KIND_BITS: u32 = 2;

/// What a destination's leaf feeds back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Feedback {
    /// Nothing.
    None,
    /// Levels of small flows' queues (§II-B2a).
    Small(Table),
    /// Levels of medium flows' queues: this flow should move (§II-B2b).
    Medium(Table),
    /// Ports without large flows: this flow should move to one (§II-B2c).
    Free(PortSet),
}

/// Whether spines stamp this packet and PAT knows its flow: data and the SYN, in the direction of
/// the data (§II-B2a: "spine switches tag SYN and data packets").
#[inline]
pub(super) fn goes_forward(packet: &PacketMeta) -> bool {
    packet.is_data() || is_syn(packet)
}

/// A SYN that no SYN has answered.
#[inline]
pub(super) fn is_syn(packet: &PacketMeta) -> bool {
    packet.flags.has(Flags::SYN) && !packet.flags.has(Flags::ACK)
}

/// A SYN-ACK.
#[inline]
pub(super) fn is_syn_ack(packet: &PacketMeta) -> bool {
    packet.flags.has(Flags::SYN.with(Flags::ACK))
}

fn read(packet: &PacketMeta) -> u64 {
    let [low, high] = packet.header.0;
    u64::from(high) << 32 | u64::from(low)
}

fn write(packet: &mut PacketMeta, kind: u64, rest: u64) {
    let bits = kind | rest << KIND_BITS;
    packet.header.0 = [bits as u32, (bits >> 32) as u32];
}

/// The level that spines have stamped.
#[inline]
pub(super) fn stamp(packet: &PacketMeta) -> u32 {
    packet.header.0[0] >> KIND_BITS & 3
}

/// Stamps a level.
#[inline]
pub(super) fn set_stamp(packet: &mut PacketMeta, level: u32) {
    write(packet, 0, u64::from(level & 3));
}

/// What is fed back with a packet in the direction of ACKs.
#[inline]
pub(super) fn feedback(packet: &PacketMeta) -> Feedback {
    let bits = read(packet);
    let rest = bits >> KIND_BITS;
    match bits & 3 {
        0 => Feedback::None,
        1 => Feedback::Small(Table(rest)),
        2 => Feedback::Medium(Table(rest)),
        _ => Feedback::Free(PortSet(rest as u32)),
    }
}

/// Feeds back.
pub(super) fn set_feedback(packet: &mut PacketMeta, feedback: Feedback) {
    match feedback {
        Feedback::None => write(packet, 0, 0),
        Feedback::Small(table) => write(packet, 1, table.0),
        Feedback::Medium(table) => write(packet, 2, table.0),
        Feedback::Free(ports) => write(packet, 3, u64::from(ports.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{control, data};

    /// Breaks if a table of 31 ports loses a level, or a word of the header: every port gets its
    /// level, and both kinds of table come out as what they were.
    #[test]
    fn tables_of_31_ports_pass() {
        let mut table = Table::default();
        for port in 0..MOST_UPLINKS {
            table.set(port as u8, (port as u32 * 7 + 1) % 4);
        }
        for feedback in [Feedback::Small(table), Feedback::Medium(table), Feedback::None] {
            let mut ack = control(0, 9, 1, Flags::ACK);
            set_feedback(&mut ack, feedback);
            assert_eq!(super::feedback(&ack), feedback);
        }
        for port in 0..MOST_UPLINKS {
            assert_eq!(table.level(port as u8), (port as u32 * 7 + 1) % 4);
        }
    }

    /// Breaks if the ports without large flows do not pass, the 31st included.
    #[test]
    fn free_ports_pass() {
        let mut ack = control(0, 9, 1, Flags::ACK);
        for ports in [0, 1, 1 << 30, 0x7fff_ffff, 0x2aaa_5555] {
            set_feedback(&mut ack, Feedback::Free(PortSet(ports)));
            assert_eq!(feedback(&ack), Feedback::Free(PortSet(ports)));
        }
    }

    /// Breaks if a stamp is not two bits, or if a fresh packet has one.
    #[test]
    fn stamps_pass() {
        let mut packet = data(0, 9, 1, 0);
        assert_eq!(stamp(&packet), 0);
        for level in 0..4 {
            set_stamp(&mut packet, level);
            assert_eq!(stamp(&packet), level);
        }
    }

    /// Breaks if an ACK counts as forward (it would be stamped), or a SYN-ACK as SYN.
    #[test]
    fn directions_are_told_apart() {
        let forward = |flags| goes_forward(&control(0, 9, 1, flags));
        assert!(goes_forward(&data(0, 9, 1, 0)) && forward(Flags::SYN));
        let syn_ack = Flags::SYN.with(Flags::ACK);
        assert!(!forward(Flags::ACK) && !forward(syn_ack) && !forward(Flags::FIN));
        assert!(
            is_syn_ack(&control(0, 9, 1, syn_ack)) && !is_syn_ack(&control(0, 9, 1, Flags::ACK))
        );
    }
}
