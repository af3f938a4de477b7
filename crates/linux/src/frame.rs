//! Headers of frames: Ethernet II, IPv4 without options of interest, TCP (RFC 791, RFC 9293).

const ETHERNET: usize = 14;
const MOST_HEADERS: usize = ETHERNET + 60 + 20;

/// Bytes of an Ethernet header, which is not counted in [`Segment::ip_bytes`].
pub const ETHERNET_BYTES: usize = ETHERNET;

/// What the headers of a frame with a TCP segment say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// The source's address.
    pub source: [u8; 4],
    /// The destination's.
    pub destination: [u8; 4],
    /// The source's port.
    pub source_port: u16,
    /// The destination's.
    pub destination_port: u16,
    /// DSCP and ECN.
    pub service: u8,
    /// Bytes from the IP header on.
    pub ip_bytes: u16,
    /// Sequence number of the first byte.
    pub sequence: u32,
    /// Acknowledgment number.
    pub acknowledged: u32,
    /// TCP's flags: FIN is 1, SYN 2, RST 4, ACK 16, ECE 64, CWR 128.
    pub flags: u8,
    /// Bytes of payload.
    pub payload: u16,
}

impl Segment {
    /// From a frame; `None` if it is none with a TCP segment, or a damaged one.
    #[must_use]
    pub fn parse(frame: &[u8]) -> Option<Segment> {
        const TCP: u8 = 6;
        let headers = &frame[..frame.len().min(MOST_HEADERS)];
        if headers.get(12..14)? != [8, 0] {
            return None;
        }
        let ip = headers.get(ETHERNET..)?;
        let (first, ip_bytes) = (*ip.first()?, be16(ip, 2)?);
        let header = usize::from(first & 15) * 4;
        // What is not a packet's first fragment has no header of TCP's.
        let is_first = be16(ip, 6)? & 0x1fff == 0;
        if first >> 4 != 4 || header < 20 || *ip.get(9)? != TCP || !is_first {
            return None;
        }
        let tcp = ip.get(header..)?;
        let tcp_header = usize::from(*tcp.get(12)? >> 4) * 4;
        let whole = ETHERNET + usize::from(ip_bytes) <= frame.len();
        let payload = usize::from(ip_bytes).checked_sub(header + tcp_header)?;
        if !whole || tcp_header < 20 {
            return None;
        }
        Some(Segment {
            source: ip.get(12..16)?.try_into().ok()?,
            destination: ip.get(16..20)?.try_into().ok()?,
            source_port: be16(tcp, 0)?,
            destination_port: be16(tcp, 2)?,
            service: *ip.get(1)?,
            ip_bytes,
            sequence: be32(tcp, 4)?,
            acknowledged: be32(tcp, 8)?,
            flags: *tcp.get(13)?,
            payload: payload as u16,
        })
    }
}

impl Segment {
    /// From a frame with an IPv4 packet of whatever protocol. One that has no ports (ICMP, a fragment that is not
    /// the first) has zero for them; what only TCP has is zero with all but TCP.
    #[must_use]
    pub fn of_any(frame: &[u8]) -> Option<Segment> {
        const UDP: u8 = 17;
        if let Some(segment) = Segment::parse(frame) {
            return Some(segment);
        }
        if frame.get(12..14)? != [8, 0] {
            return None;
        }
        let ip = frame.get(ETHERNET..)?;
        let (first, ip_bytes) = (*ip.first()?, be16(ip, 2)?);
        let header = usize::from(first & 15) * 4;
        let payload = usize::from(ip_bytes).checked_sub(header)?;
        let whole = ETHERNET + usize::from(ip_bytes) <= frame.len();
        if first >> 4 != 4 || header < 20 || !whole {
            return None;
        }
        let is_first = be16(ip, 6)? & 0x1fff == 0;
        let has_ports = is_first && *ip.get(9)? == UDP && payload >= 8;
        let port = |at| if has_ports { be16(ip, header + at) } else { Some(0) };
        Some(Segment {
            source: ip.get(12..16)?.try_into().ok()?,
            destination: ip.get(16..20)?.try_into().ok()?,
            source_port: port(0)?,
            destination_port: port(2)?,
            service: *ip.get(1)?,
            ip_bytes,
            sequence: 0,
            acknowledged: 0,
            flags: 0,
            payload: payload as u16,
        })
    }
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Writes DSCP and ECN into a frame with an IPv4 header, and mends the header's checksum for it
/// (RFC 1624, eqn. 3). Any other frame is left alone.
pub fn set_service(frame: &mut [u8], service: u8) {
    const SUM: usize = ETHERNET + 10;
    let (Some([8, 0]), Some(old), Some(sum)) =
        (frame.get(12..14), be16(frame, ETHERNET), be16(frame, SUM))
    else {
        return;
    };
    let new = old & 0xff00 | u16::from(service);
    frame[ETHERNET + 1] = service;
    frame[SUM..SUM + 2].copy_from_slice(&mend(sum, old, new).to_be_bytes());
}

/// TCP's flags.
pub const FIN: u8 = 1;
/// See [`FIN`].
pub const SYN: u8 = 2;
/// See [`FIN`].
pub const RST: u8 = 4;
/// See [`FIN`].
pub const ACK: u8 = 16;
/// See [`FIN`].
pub const ECE: u8 = 64;
/// See [`FIN`].
pub const CWR: u8 = 128;

/// Writes TCP's flags into a frame with a TCP segment, and mends that header's checksum for it
/// (RFC 1624, eqn. 3). Any other frame is left alone.
pub fn set_flags(frame: &mut [u8], flags: u8) {
    if Segment::parse(frame).is_none() {
        return;
    }
    let at = ETHERNET + usize::from(frame[ETHERNET] & 15) * 4;
    let (Some(old), Some(sum)) = (be16(frame, at + 12), be16(frame, at + 16)) else { return };
    let mended = mend(sum, old, old & 0xff00 | u16::from(flags));
    frame[at + 13] = flags;
    frame[at + 16..at + 18].copy_from_slice(&mended.to_be_bytes());
}

/// The checksum of a header in which one word has changed.
fn mend(sum: u16, old: u16, new: u16) -> u16 {
    let mended = u32::from(!sum) + u32::from(!old) + u32::from(new);
    let mended = (mended & 0xffff) + (mended >> 16);
    !((mended & 0xffff) + (mended >> 16)) as u16
}

/// Addresses a frame to a device: guests have no ARP, and address all to themselves.
pub fn set_destination(frame: &mut [u8], address: [u8; 6]) {
    if let Some(destination) = frame.get_mut(..6) {
        destination.copy_from_slice(&address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An ACK with timestamps, as a kernel sent it: 10.0.0.1:5001 to 10.0.0.0:1024.
    fn ack() -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 8, 0];
        frame.extend([0x45, 0x02, 0, 52, 0xab, 0xcd, 0x40, 0, 64, 6, 0, 0]);
        frame.extend([10, 0, 0, 1, 10, 0, 0, 0]);
        frame.extend([0x13, 0x89, 4, 0, 0, 0, 0, 9, 0, 0, 1, 0, 0x80, 0x50, 1, 0, 0, 0, 0, 0]);
        frame.extend([1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6]);
        let sum = checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    /// Breaks if a datagram has not its ports, a fragment has some, or TCP is taken for another protocol.
    #[test]
    fn packets_of_other_protocols() {
        assert_eq!(Segment::of_any(&ack()), Segment::parse(&ack()));
        let mut frame = ack()[..14 + 20 + 8].to_vec();
        frame[14 + 2..14 + 4].copy_from_slice(&28u16.to_be_bytes());
        frame[14 + 9] = 17;
        assert_eq!(Segment::parse(&frame), None);
        let of = |frame: &[u8]| {
            let found = Segment::of_any(frame)?;
            assert_eq!((found.flags, found.sequence, found.payload), (0, 0, 8));
            assert_eq!((found.source, found.destination), ([10, 0, 0, 1], [10, 0, 0, 0]));
            Some((found.source_port, found.destination_port))
        };
        assert_eq!(of(&frame), Some((5001, 1024)));
        frame[14 + 9] = 1;
        assert_eq!(of(&frame), Some((0, 0)), "ICMP");
        (frame[14 + 9], frame[14 + 7]) = (17, 1);
        assert_eq!(of(&frame), Some((0, 0)), "a fragment");
        assert_eq!(of(&frame[..41]), None, "cut off");
        (frame[12], frame[13]) = (8, 6);
        assert_eq!(of(&frame), None, "ARP");
    }

    /// Over a whole header (RFC 1071).
    fn checksum(header: &[u8]) -> u16 {
        let words = header.chunks_exact(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
        let sum: u32 = words.sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        !((sum & 0xffff) + (sum >> 16)) as u16
    }

    /// Breaks if a field is read from another's place.
    #[test]
    fn a_kernels_ack() {
        let segment = Segment {
            source: [10, 0, 0, 1],
            destination: [10, 0, 0, 0],
            source_port: 5001,
            destination_port: 1024,
            service: 2,
            ip_bytes: 52,
            sequence: 9,
            acknowledged: 256,
            flags: 0x50,
            payload: 0,
        };
        assert_eq!(Segment::parse(&ack()), Some(segment));
        let mut padded = ack();
        padded.extend([0; 10]);
        assert_eq!(Segment::parse(&padded), Some(segment), "padding is no payload");
    }

    /// Breaks if a frame that is cut, or no TCP segment, is taken for one.
    #[test]
    fn others_are_none() {
        for (at, value) in [(12, 9), (14, 0x65), (14, 0x44), (23, 17), (46, 0x40), (16, 1)] {
            let mut frame = ack();
            frame[at] = value;
            assert_eq!(Segment::parse(&frame), None, "byte {at}");
        }
        (0..66).for_each(|bytes| assert_eq!(Segment::parse(&ack()[..bytes]), None, "{bytes}"));
    }

    /// Breaks if a marked frame's checksum is wrong, or more than the mark changes.
    #[test]
    fn a_mark_mends_the_checksum() {
        for service in 0..=255 {
            let (before, mut frame) = (ack(), ack());
            set_service(&mut frame, service);
            assert_eq!(checksum(&frame[14..34]), 0, "{service}");
            assert_eq!(Segment::parse(&frame).unwrap().service, service);
            frame[15] = before[15];
            frame[24..26].copy_from_slice(&before[24..26]);
            assert_eq!(frame, before);
        }
    }

    /// Breaks if a flag that a switch sets makes the segment one that a kernel throws away: the sum
    /// over header and payload must change by the flag alone.
    #[test]
    fn a_flag_mends_the_checksum() {
        let mut frame = ack();
        let tcp_sum = checksum(&frame[34..]);
        frame[50..52].copy_from_slice(&tcp_sum.to_be_bytes());
        for flags in 0..=255 {
            set_flags(&mut frame, flags);
            assert_eq!(checksum(&frame[34..]), 0, "{flags}");
            assert_eq!(Segment::parse(&frame).unwrap().flags, flags);
        }
    }

    proptest! {
        /// Breaks if any frame makes the reader panic or read beyond its end.
        #[test]
        fn any_frame(frame: Vec<u8>, changes: Vec<(u8, u8)>) {
            let mut near = ack();
            changes.iter().for_each(|(at, value)| near[usize::from(*at) % 66] = *value);
            for mut frame in [frame, near] {
                let read = Segment::parse(&frame);
                prop_assert!(read.is_none_or(|s| usize::from(s.ip_bytes) + 14 <= frame.len()));
                let any = Segment::of_any(&frame);
                prop_assert!(any.is_none_or(|s| usize::from(s.ip_bytes) + 14 <= frame.len()));
                set_service(&mut frame, 3);
                set_flags(&mut frame, 64);
                set_destination(&mut frame, [2; 6]);
            }
        }
    }
}
