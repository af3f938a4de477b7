//! Random frames: of ACKs all that the parser has to tell from what only looks like one.

use leafspine_core::Rng;

/// A frame, and whether it is an ACK that a hold keeps.
pub struct Frame {
    pub bytes: Vec<u8>,
    pub is_ack: bool,
}

/// Ethernet's smallest frame, and largest, without the check sequence.
const SMALLEST: usize = 60;
const LARGEST: usize = 1514;
/// A slot's bytes.
const SLOT: usize = 128;

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const PSH: u8 = 8;
const ACK: u8 = 16;
const URG: u8 = 32;
const ECE: u8 = 64;
const CWR: u8 = 128;

fn sum(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    bytes.chunks(2).map(word).sum()
}

fn checksum(mut sum: u32) -> [u8; 2] {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// The parts of a TCP segment over IPv4 that vary.
struct Segment {
    ip_options: usize,
    tcp_options: usize,
    flags: u8,
    payload: usize,
    /// Bit 13: more fragments; below: the offset.
    fragment: u16,
    protocol: u8,
}

fn random(rng: &mut Rng, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|_| rng.below(256) as u8).collect()
}

fn ip(segment: &Segment, rng: &mut Rng) -> Vec<u8> {
    let (header, tcp) = (20 + segment.ip_options, 20 + segment.tcp_options);
    let mut packet = vec![0x40 | (header / 4) as u8, rng.below(4) as u8];
    packet.extend(((header + tcp + segment.payload) as u16).to_be_bytes());
    packet.extend(random(rng, 2));
    packet.extend(segment.fragment.to_be_bytes());
    packet.extend([64, segment.protocol, 0, 0, 10, 0]);
    packet.extend(random(rng, 2));
    packet.extend([10, 0]);
    packet.extend(random(rng, 2));
    // No operation.
    packet.extend(vec![1; segment.ip_options]);
    let ip_sum = checksum(sum(&packet));
    packet[10..12].copy_from_slice(&ip_sum);
    let start = packet.len();
    packet.extend(random(rng, 12));
    packet.extend([(tcp / 4 * 16) as u8, segment.flags]);
    packet.extend(random(rng, 2));
    packet.extend([0, 0, 0, 0]);
    packet.extend(vec![1; segment.tcp_options]);
    packet.extend(random(rng, segment.payload));
    let length = (packet.len() - start) as u32;
    let pseudo = sum(&packet[12..20]) + u32::from(segment.protocol) + length;
    let tcp_sum = checksum(sum(&packet[start..]) + pseudo);
    packet[start + 16..start + 18].copy_from_slice(&tcp_sum);
    packet
}

impl Frame {
    /// The `number`-th frame, which stands in its destination's address.
    pub fn random(number: u32, rng: &mut Rng) -> Frame {
        let mut segment = Segment {
            ip_options: 0,
            tcp_options: 4 * rng.below(11) as usize,
            flags: ACK,
            payload: 0,
            fragment: if rng.chance(0.5) { 0x4000 } else { 0 },
            protocol: 6,
        };
        if rng.chance(0.1) {
            segment.ip_options = 4 * rng.below(11) as usize;
        }
        let mut tag: &[u8] = &[];
        let mut ethertype = [8, 0];
        let mut trailer = 0;
        match rng.below(20) {
            // ACKs, with flags that do not matter.
            0..=8 => {}
            9 => segment.flags |= [ECE, CWR, PSH, URG, ECE | CWR][rng.below(5) as usize],
            // Data, with and without a flag; a byte of it in a frame that is padded all the same.
            10..=12 => segment.payload = 1 + rng.below(1400) as usize,
            13 => segment.payload = 1,
            14 => segment.flags |= [SYN, FIN, RST][rng.below(3) as usize],
            15 => segment.flags = [0, PSH, FIN, ECE][rng.below(4) as usize],
            // What looks like an ACK.
            16 => tag = &[0x81, 0, 0, 7],
            17 => ethertype = [[0x86, 0xdd], [8, 6], [0x88, 0x47]][rng.below(3) as usize],
            18 if rng.chance(0.5) => {
                segment.fragment =
                    if rng.chance(0.5) { 0x2000 } else { rng.below(0x1fff) as u16 + 1 };
            }
            18 => segment.protocol = [17, 1, 50][rng.below(3) as usize],
            _ => trailer = rng.below(200) as usize,
        }
        let plain = tag.is_empty()
            && ethertype == [8, 0]
            && segment.protocol == 6
            && segment.fragment & 0x3fff == 0
            && segment.payload == 0
            && segment.flags & (ACK | SYN | FIN | RST) == ACK;
        let mut bytes = vec![2, 0];
        bytes.extend(number.to_be_bytes());
        bytes.extend([2, 0, 0, 0, 0, 1]);
        bytes.extend(tag);
        bytes.extend(ethertype);
        bytes.extend(ip(&segment, rng));
        bytes.resize((bytes.len() + trailer).clamp(SMALLEST, LARGEST), 0);
        Frame { is_ack: plain && bytes.len() <= SLOT, bytes }
    }

    /// A frame's number.
    pub fn number(bytes: &[u8]) -> u32 {
        u32::from_be_bytes([bytes[2], bytes[3], bytes[4], bytes[5]])
    }

    /// The frame with ECE in its TCP header, its checksum recomputed.
    pub fn with_ece(bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        let start = 14 + usize::from(bytes[14] & 15) * 4;
        let end = 14 + usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
        bytes[start + 13] |= ECE;
        bytes[start + 16..start + 18].fill(0);
        let pseudo = sum(&bytes[26..34]) + 6 + (end - start) as u32;
        let tcp_sum = checksum(sum(&bytes[start..end]) + pseudo);
        bytes[start + 16..start + 18].copy_from_slice(&tcp_sum);
        bytes
    }
}
