//! A packet's bytes: Ethernet, IPv4 and TCP as they would be on a wire, less the payload.
//!
//! The model counts segments and has no header bytes; here segment `n` is byte `n * mss` of a stream
//! that begins at a number of its own, as in a kernel. Payload is zeros that are not captured. The
//! checksums are those of the whole packet.

use super::roce;
use crate::spec::Timestamps;
use leafspine_core::{Flags, HostId, PacketMeta, Time, mix};
use leafspine_node::pfc::{Frame, PRIORITIES, QUANTA};
use leafspine_node::{Network, ProtocolConfig, Tapped};

const IPV4: [u8; 2] = [0x08, 0x00];
/// An EtherType for experiments within one's own network (IEEE 802): schemes' own packets.
const OWN: [u8; 2] = [0x88, 0xb5];
const ETHERNET_BYTES: u32 = 14;
/// Of an Ethernet frame's check sequence, which captures leave out.
const CHECK_BYTES: u32 = 4;
const IP_BYTES: u16 = 20;
const TCP_BYTES: u16 = 20;
const DONT_FRAGMENT: u16 = 0x4000;
const TIME_TO_LIVE: u8 = 64;
const TCP: u8 = 6;

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const PSH: u8 = 8;
const ACK: u8 = 16;
const ECE: u8 = 64;
const CWR: u8 = 128;

/// What a packet's flow is, beyond what the packet says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FlowFacts {
    /// In the flow table.
    pub(crate) number: u32,
    /// Of payload.
    pub(crate) bytes: u64,
}

/// What all flows of a run have in common.
#[derive(Clone, Debug)]
pub(super) struct Headers {
    mss: u32,
    /// Whether flows are queue pairs'.
    pairs: bool,
    sack: bool,
    timestamps: bool,
    /// What the receiver could take, in bytes: the window that TCP may have at most.
    window: u32,
    /// By how many bits a header's window is shorter (RFC 7323 §2).
    scale: u8,
    seed: u64,
}

/// A MAC control frame (IEEE 802.3 §31, 802.1Qbb), without padding and check sequence: to the address that no bridge
/// forwards, with the priorities that it is about and how long each is to pause.
fn pause_frame(frame: Frame) -> [u8; 34] {
    let mut bytes = [0; 34];
    bytes[..6].copy_from_slice(&[0x01, 0x80, 0xc2, 0, 0, 1]);
    bytes[6] = 2;
    bytes[12..18].copy_from_slice(&[0x88, 0x08, 0x01, 0x01, 0, frame.about]);
    for priority in (0..PRIORITIES).filter(|priority| frame.stop >> priority & 1 == 1) {
        bytes[18 + 2 * priority..20 + 2 * priority].copy_from_slice(&QUANTA.to_be_bytes());
    }
    bytes
}

impl Headers {
    pub(super) fn new(net: &Network, seed: u64) -> Headers {
        let tcp = &net.tcp;
        let window = tcp.max_cwnd;
        let scale = (0..14).find(|scale| window >> scale <= 0xffff).unwrap_or(14);
        Headers {
            mss: tcp.mss,
            pairs: match net.protocol {
                ProtocolConfig::Tcp => false,
                ProtocolConfig::Roce(_) => true,
            },
            sack: tcp.sack,
            timestamps: tcp.stack.timestamps == Timestamps::Option,
            window,
            scale,
            seed,
        }
    }

    /// Adds the bytes of a packet, and says how long it was on the wire.
    pub(super) fn frame(&self, tapped: &Tapped, flow: Option<FlowFacts>, out: &mut Vec<u8>) -> u32 {
        let packet = &tapped.packet;
        let kind = if flow.is_some() { IPV4 } else { OWN };
        if let Some(frame) = Frame::of(packet) {
            out.extend(pause_frame(frame));
            return u32::from(Frame::BYTES) - CHECK_BYTES;
        }
        out.extend(hardware(packet.dst()));
        out.extend(hardware(packet.src()));
        out.extend(kind);
        let Some(flow) = flow else { return ETHERNET_BYTES + u32::from(packet.size) };
        if self.pairs {
            let (udp, length) = roce::datagram(packet, flow);
            let mut ip = self.internet(packet, IP_BYTES + length);
            ip[9] = roce::UDP;
            let sum = checksum(&[&ip]);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
            out.extend(ip);
            out.extend(udp);
            return ETHERNET_BYTES + u32::from(IP_BYTES + length);
        }
        let tcp = self.segment(packet, flow, tapped.start);
        let length = IP_BYTES.saturating_add(tcp.len() as u16).saturating_add(packet.payload);
        let mut ip = self.internet(packet, length);
        let sum = checksum(&[&ip]);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        out.extend(ip);
        out.extend(with_checksum(tcp, &ip, length - IP_BYTES));
        ETHERNET_BYTES + u32::from(length)
    }

    fn internet(&self, packet: &PacketMeta, length: u16) -> [u8; 20] {
        let wire = packet.tuple.wire_bytes();
        let mut ip = [0; 20];
        ip[0] = 0x45;
        ip[1] = packet.class << 2 | packet.ecn as u8;
        ip[2..4].copy_from_slice(&length.to_be_bytes());
        ip[6..8].copy_from_slice(&DONT_FRAGMENT.to_be_bytes());
        (ip[8], ip[9]) = (TIME_TO_LIVE, TCP);
        ip[12..20].copy_from_slice(&wire[..8]);
        ip
    }

    /// TCP's header, without its checksum.
    fn segment(&self, packet: &PacketMeta, flow: FlowFacts, start: Time) -> Vec<u8> {
        let is_syn = packet.flags.has(Flags::SYN);
        let (sequence, acknowledged) = self.numbers(packet, flow);
        let options = self.options(packet, flow, start);
        let mut tcp = Vec::with_capacity(60);
        tcp.extend(&packet.tuple.wire_bytes()[9..13]);
        tcp.extend(sequence.to_be_bytes());
        tcp.extend(acknowledged.to_be_bytes());
        let words = (usize::from(TCP_BYTES) + options.len()) / 4;
        tcp.push((words as u8) << 4);
        let pushed = if packet.notes & PacketMeta::PUSH != 0 { PSH } else { 0 };
        tcp.push(flags(packet.flags) | pushed);
        // A SYN's window is not scaled.
        let window = if is_syn { self.window.min(0xffff) } else { self.window >> self.scale };
        tcp.extend((window.min(0xffff) as u16).to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(options);
        tcp
    }

    /// Sequence number and acknowledgment.
    fn numbers(&self, packet: &PacketMeta, flow: FlowFacts) -> (u32, u32) {
        let (sender, receiver) = (self.first(flow, 0), self.first(flow, 1));
        let is_syn = packet.flags.has(Flags::SYN);
        if packet.notes & PacketMeta::REPLY != 0 {
            let sequence = receiver.wrapping_add(u32::from(!is_syn));
            return (sequence, self.byte(sender, flow, packet.seq));
        }
        if is_syn {
            return (sender, 0);
        }
        let segment = if packet.is_data() { packet.seq } else { 0 };
        (self.byte(sender, flow, segment), receiver.wrapping_add(1))
    }

    /// The number that a flow's sender or receiver begins with: as random as a kernel's, and the same
    /// in every run of this seed.
    fn first(&self, flow: FlowFacts, side: u64) -> u32 {
        (mix(self.seed ^ mix(u64::from(flow.number) << 1 | side)) >> 32) as u32
    }

    /// The sequence number at which a segment begins. The one after the last is beyond the FIN.
    fn byte(&self, first: u32, flow: FlowFacts, segment: u32) -> u32 {
        let at = u64::from(segment) * u64::from(self.mss);
        let at = if at >= flow.bytes { flow.bytes + 1 } else { at };
        first.wrapping_add(1).wrapping_add(at as u32)
    }

    fn options(&self, packet: &PacketMeta, flow: FlowFacts, start: Time) -> Vec<u8> {
        const NOTHING: u8 = 1;
        let mut options = Vec::with_capacity(40);
        if packet.flags.has(Flags::SYN) {
            options.extend([2, 4]);
            options.extend((self.mss.min(0xffff) as u16).to_be_bytes());
            options.extend([NOTHING, 3, 3, self.scale]);
            if self.sack {
                options.extend([NOTHING, NOTHING, 4, 2]);
            }
        }
        if self.timestamps {
            // An ACK in the model has the echo alone; its own time is when it leaves.
            let reply = packet.notes & PacketMeta::REPLY != 0;
            let now = (start.0 >> 16) as u32;
            let (value, echo) = if reply { (now, packet.stamp) } else { (packet.stamp, 0) };
            options.extend([NOTHING, NOTHING, 8, 10]);
            options.extend(value.to_be_bytes());
            options.extend(echo.to_be_bytes());
        }
        let blocks: Vec<_> = packet.sack.iter().filter(|block| block.end > block.start).collect();
        if !blocks.is_empty() {
            let sender = self.first(flow, 0);
            options.extend([NOTHING, NOTHING, 5, 2 + 8 * blocks.len() as u8]);
            for block in blocks {
                options.extend(self.byte(sender, flow, block.start).to_be_bytes());
                options.extend(self.byte(sender, flow, block.end).to_be_bytes());
            }
        }
        options
    }
}

/// Adds a kernel's frame without its payload, and says how long it was on the wire.
pub(super) fn of_a_kernel(frame: &[u8], packet: &PacketMeta, out: &mut Vec<u8>) -> u32 {
    let headers = frame.len() - usize::from(packet.payload).min(frame.len());
    out.extend(hardware(packet.dst()));
    out.extend(&frame[6..headers]);
    frame.len() as u32
}

/// A host's hardware address, of those that anybody may give.
fn hardware(host: HostId) -> [u8; 6] {
    let [high, low] = host.0.to_be_bytes();
    [0x02, 0, 0, 0, high, low]
}

fn flags(flags: Flags) -> u8 {
    const SAME: [(Flags, u8); 6] = [
        (Flags::FIN, FIN),
        (Flags::SYN, SYN),
        (Flags::RST, RST),
        (Flags::ACK, ACK),
        (Flags::ECE, ECE),
        (Flags::CWR, CWR),
    ];
    SAME.iter().filter(|(ours, _)| flags.has(*ours)).fold(0, |sum, (_, theirs)| sum | theirs)
}

/// The segment with its checksum (RFC 9293 §3.1): over addresses, protocol, length, header and a
/// payload of zeros.
fn with_checksum(mut tcp: Vec<u8>, ip: &[u8; 20], length: u16) -> Vec<u8> {
    let [high, low] = length.to_be_bytes();
    let sum = checksum(&[&ip[12..20], &[0, TCP, high, low], &tcp]);
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    tcp
}

/// The Internet checksum (RFC 1071) of parts of even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks_exact(2));
    let sum = words.fold(0u32, |sum, word| sum + u32::from(u16::from_be_bytes([word[0], word[1]])));
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}
