//! A queue pair's packet: RoCEv2 (InfiniBand Architecture Specification, annex A17), less the payload.
//!
//! The invariant CRC, four bytes at the end, is not captured and counts as payload does.

use super::frame::FlowFacts;
use leafspine_core::{Flags, PacketMeta};
use leafspine_node::roce::{ASKS, CNP, NAK};

pub(super) const UDP: u8 = 17;
/// RoCEv2's destination port.
const PORT: u16 = 4791;
const UDP_BYTES: u16 = 8;
const CRC_BYTES: u16 = 4;

/// Opcodes of a reliable connection (§9.2.1): SEND first, middle, last, only; acknowledgment; and the CNP.
const FIRST: u8 = 0;
const MIDDLE: u8 = 1;
const LAST: u8 = 2;
const ONLY: u8 = 4;
const ACKNOWLEDGE: u8 = 0x11;
const NOTIFY: u8 = 0x81;
/// Syndromes: an acknowledgment without credits, a sequence error.
const ACK_SYNDROME: u8 = 0x1f;
const NAK_SYNDROME: u8 = 0x60;

/// UDP's header and what follows, and the length of all of it with payload and CRC.
pub(super) fn datagram(packet: &PacketMeta, flow: FlowFacts) -> (Vec<u8>, u16) {
    let back = packet.notes & PacketMeta::REPLY != 0;
    // What switches hash is the flow's own port, whichever way.
    let ports = &packet.tuple.wire_bytes()[9..13];
    let source = if back { &ports[2..4] } else { &ports[..2] };
    let mut rest = transport(packet, flow);
    let length = UDP_BYTES + rest.len() as u16 + packet.payload + CRC_BYTES;
    let mut out = Vec::with_capacity(48);
    out.extend(source);
    out.extend(PORT.to_be_bytes());
    out.extend(length.to_be_bytes());
    // No checksum: the CRC has its place.
    out.extend([0, 0]);
    out.append(&mut rest);
    (out, length)
}

/// The base transport header, and what an answer or a CNP has beyond it.
fn transport(packet: &PacketMeta, flow: FlowFacts) -> Vec<u8> {
    let (first, last) = (packet.seq == 0, packet.flags.has(Flags::FIN));
    let opcode = match packet.flags {
        CNP => NOTIFY,
        flags if !flags.has(Flags::DATA) && packet.notes & PacketMeta::TRIMMED == 0 => ACKNOWLEDGE,
        _ if first && last => ONLY,
        _ if first => FIRST,
        _ if last => LAST,
        _ => MIDDLE,
    };
    let asks = packet.is_data() && packet.flags.has(ASKS);
    let pair = flow.number.to_be_bytes();
    // An acknowledgment has the last packet in order, a NAK the one that is expected.
    let number = match opcode {
        ACKNOWLEDGE if !packet.flags.has(NAK) => packet.seq.wrapping_sub(1),
        _ => packet.seq,
    };
    let number = number.to_be_bytes();
    let becn = if opcode == NOTIFY { 0x40 } else { 0 };
    let mut out = vec![opcode, 0, 0xff, 0xff, becn, pair[1], pair[2], pair[3]];
    out.extend([u8::from(asks) << 7, number[1], number[2], number[3]]);
    match opcode {
        ACKNOWLEDGE => {
            let syndrome = if packet.flags.has(NAK) { NAK_SYNDROME } else { ACK_SYNDROME };
            out.extend([syndrome, 0, 0, 0]);
        }
        NOTIFY => out.extend([0; 16]),
        _ => {}
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafspine_core::{FiveTuple, HostId};

    /// Breaks if a field of RoCEv2's headers is wrong, or an answer hashes differently from its data.
    #[test]
    fn headers_by_hand() {
        let flow = FlowFacts { number: 0x01_02_03, bytes: 4_000 };
        let tuple = FiveTuple::new(HostId(1), HostId(2), 1030, 5001);
        let data = PacketMeta {
            tuple,
            seq: 5,
            payload: 1024,
            flags: Flags::DATA.with(ASKS),
            ..PacketMeta::default()
        };
        let (bytes, length) = datagram(&data, flow);
        assert_eq!(length, 8 + 12 + 1024 + 4);
        assert_eq!(
            bytes[..8],
            [1030u16.to_be_bytes(), 4791u16.to_be_bytes(), length.to_be_bytes(), [0, 0]].concat()
        );
        assert_eq!(bytes[8..], [1, 0, 0xff, 0xff, 0, 1, 2, 3, 0x80, 0, 0, 5]);
        let answer = |flags| PacketMeta {
            tuple: tuple.reversed(),
            flags,
            payload: 0,
            notes: PacketMeta::REPLY,
            ..data
        };
        let (bytes, length) = datagram(&answer(NAK), flow);
        assert_eq!((length, &bytes[..2]), (8 + 12 + 4 + 4, &1030u16.to_be_bytes()[..]));
        assert_eq!(bytes[8..], [0x11, 0, 0xff, 0xff, 0, 1, 2, 3, 0, 0, 0, 5, 0x60, 0, 0, 0]);
        assert_eq!(datagram(&answer(Flags::ACK), flow).0[19..21], [4, 0x1f]);
        let (bytes, length) = datagram(&answer(CNP), flow);
        assert_eq!((bytes[8], bytes[12], length), (0x81, 0x40, 8 + 12 + 16 + 4));
    }
}
