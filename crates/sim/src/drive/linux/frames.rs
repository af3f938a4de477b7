//! The frames that packets stand for, by number.

use leafspine_core::{Ecn, Flags, PacketMeta};
use leafspine_linux::frame;

/// A frame on its way.
#[derive(Debug, Default)]
struct Frame {
    bytes: Vec<u8>,
    /// The host that sent it.
    from: u16,
    /// What that host's device knows it by, until it has left.
    token: Option<u16>,
}

/// All frames on their way. Freed numbers are used again.
#[derive(Debug, Default)]
pub(super) struct Frames {
    all: Vec<Frame>,
    free: Vec<u32>,
}

impl Frames {
    /// Takes a frame in, which the device of `from` knows by `token`.
    pub(super) fn put(&mut self, bytes: Vec<u8>, from: u16, token: u16) -> u32 {
        let frame = Frame { bytes, from, token: Some(token) };
        let Some(number) = self.free.pop() else {
            self.all.push(frame);
            return (self.all.len() - 1) as u32;
        };
        self.all[number as usize] = frame;
        number
    }

    /// A frame leaves its host, or never will: who has to be told that, and by which token. `None` if it
    /// has been told.
    pub(super) fn leaves(&mut self, number: u32) -> Option<(u16, u16)> {
        let frame = &mut self.all[number as usize];
        Some((frame.from, frame.token.take()?))
    }

    /// The bytes of `packet` as it is now, with what switches and edges have written into it.
    pub(super) fn of(&self, packet: &PacketMeta) -> Vec<u8> {
        let mut bytes = self.all[packet.frame() as usize].bytes.clone();
        rewrite(&mut bytes, packet);
        bytes
    }

    /// The same for the last time.
    pub(super) fn take(&mut self, packet: &PacketMeta) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.all[packet.frame() as usize].bytes);
        rewrite(&mut bytes, packet);
        self.free.push(packet.frame());
        bytes
    }

    /// The packet has ended on its way.
    pub(super) fn drop(&mut self, number: u32) {
        self.all[number as usize].bytes = Vec::new();
        self.free.push(number);
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.all.len() - self.free.len()
    }
}

/// Writes into a frame what a packet's way through edges and switches has changed: the class, a mark, an
/// echo of congestion that a hold has set.
fn rewrite(bytes: &mut [u8], packet: &PacketMeta) {
    let Some(segment) = frame::Segment::of_any(bytes) else { return };
    let ecn = match packet.ecn {
        Ecn::Congested => 3,
        // ECT(0) and ECT(1) are both Ecn::Capable.
        Ecn::Capable | Ecn::NotCapable => segment.service & 3,
    };
    let service = packet.class << 2 | ecn;
    if service != segment.service {
        frame::set_service(bytes, service);
    }
    if packet.flags.has(Flags::ECE) && segment.flags & frame::ECE == 0 {
        frame::set_flags(bytes, segment.flags | frame::ECE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if what switches and edges have done to a packet is not in its frame when it arrives:
    /// a mark, a class, an ECE that a hold has set; or if anything else in it changes.
    #[test]
    fn frames_say_what_packets_say() {
        let mut frame = vec![2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 8, 0];
        frame.extend([0x45, 0x02, 0, 40, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 0]);
        frame.extend([0x13, 0x89, 4, 0, 0, 0, 0, 9, 0, 0, 1, 0, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
        let sent = frame::Segment::parse(&frame).expect("an ACK");
        let says = |packet: PacketMeta| {
            let mut bytes = frame.clone();
            rewrite(&mut bytes, &packet);
            frame::Segment::parse(&bytes).expect("still one")
        };
        let plain = PacketMeta { ecn: Ecn::Capable, ..PacketMeta::default() };
        assert_eq!(says(plain), sent);
        let marked = says(PacketMeta { ecn: Ecn::Congested, class: 3, ..plain });
        assert_eq!(marked, frame::Segment { service: 3 << 2 | 3, ..sent });
        let flags = Flags::ACK.with(Flags::ECE);
        let held = says(PacketMeta { flags, ..plain });
        assert_eq!(held, frame::Segment { flags: frame::ACK | frame::ECE, ..sent });
    }

    /// Breaks if a number is used twice at once, a token is given back twice, or a freed frame stays.
    #[test]
    fn numbers_are_used_again() {
        let mut frames = Frames::default();
        let [one, two] = [7, 8].map(|token| frames.put(vec![1], 3, token));
        assert_eq!((one, two, frames.len()), (0, 1, 2));
        assert_eq!(frames.leaves(two), Some((3, 8)));
        assert_eq!(frames.leaves(two), None);
        frames.drop(one);
        assert_eq!((frames.put(vec![2], 4, 9), frames.len()), (one, 2));
        let mut packet = PacketMeta::default();
        packet.set_frame(two);
        assert_eq!((frames.take(&packet), frames.len()), (vec![1], 1));
    }
}
