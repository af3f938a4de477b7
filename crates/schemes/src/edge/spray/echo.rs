//! What a receiver tells of the packets that have come: their EVs, and which were marked.
//!
//! The ACK's own EV is that of the last of them, so that ACKs are sprayed as data is. Up to three
//! more are in its header. A packet that was trimmed is told of by the answer to its header, alone
//! and as a marked one: what has come before waits for the next ACK.

use crate::edge::FlowView;
use leafspine_core::{Ecn, Flags, PacketMeta, SchemeHeader};

/// As many as an ACK can tell of.
pub(super) const MOST: u64 = 4;
/// Words of the receiving side: the EVs, the last one lowest, and how many of them count, with their marks above.
const EVS: usize = 0;
const COUNT: usize = 1;
const MARKS: u32 = 8;
/// The EV of a header that is answered next, plus one.
const TRIMMED: usize = 2;
/// Where the second word of the header has how many EVs count, and their marks.
const IN_HEADER: u32 = 16;

/// A packet that has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reported {
    pub(super) ev: u16,
    pub(super) marked: bool,
}

/// A packet has come: of the last `carry` the next ACK tells.
pub(super) fn note(packet: &PacketMeta, carry: u64, flow: &mut FlowView<'_>) {
    let marked = u64::from(packet.ecn == Ecn::Congested);
    let (count, marks) = (flow.state[COUNT] & 0xff, flow.state[COUNT] >> MARKS);
    flow.state[EVS] = flow.state[EVS] << 16 | u64::from(packet.tag);
    let marks = (marks << 1 | marked) % (1 << MOST);
    flow.state[COUNT] = (count + 1).min(carry) | marks << MARKS;
}

/// A header has come, whose payload was cut off.
pub(super) fn trimmed(header: &PacketMeta, flow: &mut FlowView<'_>) {
    flow.state[TRIMMED] = u64::from(header.tag) + 1;
}

/// An answer leaves: an acknowledgment tells of what has come since the last one. A CNP acknowledges nothing.
pub(super) fn write(answer: &mut PacketMeta, flow: &mut FlowView<'_>) {
    if !answer.flags.has(Flags::ACK) {
        return;
    }
    let (evs, count) = match std::mem::take(&mut flow.state[TRIMMED]) {
        0 => (std::mem::take(&mut flow.state[EVS]), std::mem::take(&mut flow.state[COUNT])),
        ev => (ev - 1, 1 | 1 << MARKS),
    };
    if count == 0 {
        return;
    }
    answer.tag = evs as u16;
    let marks = (count >> MARKS) as u32 % (1 << MOST);
    let reported = (count as u32 & 0x7) | marks << 3;
    answer.header = SchemeHeader([(evs >> 16) as u32, (evs >> 48) as u32 | reported << IN_HEADER]);
}

/// What an answer tells, in the order in which it came. A header that a switch has sent back tells of itself.
pub(super) fn read(answer: &PacketMeta) -> impl Iterator<Item = Reported> {
    let [low, high] = answer.header.0;
    let reported = high >> IN_HEADER;
    let evs = u64::from(answer.tag) | u64::from(low) << 16 | u64::from(high & 0xffff) << 48;
    let back = answer.notes & PacketMeta::TRIMMED != 0;
    let count = match answer.flags.has(Flags::ACK) {
        _ if back => 1,
        true => u64::from(reported & 0x7).min(MOST),
        false => 0,
    };
    (0..count)
        .rev()
        .map(move |at| (at, reported >> (3 + at) & 1 == 1 || back))
        .map(move |(at, marked)| Reported { ev: (evs >> (16 * at)) as u16, marked })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FakeHost, control, data};

    fn came(host: &mut FakeHost, carry: u64, ev: u16, marked: bool) {
        let ecn = if marked { Ecn::Congested } else { Ecn::Capable };
        let packet = PacketMeta { tag: ev, ecn, ..data(9, 0, 1, 0) };
        host.with(|flow, _| note(&packet, carry, flow));
    }

    fn answer(host: &mut FakeHost, flags: Flags) -> Vec<(u16, bool)> {
        let mut ack = control(0, 9, 1, flags);
        host.with(|flow, _| write(&mut ack, flow));
        read(&ack).map(|reported| (reported.ev, reported.marked)).collect()
    }

    /// Breaks if an EV or its mark is lost on its way back, if their order changes, if more is reported
    /// than asked for, or if anything is reported twice.
    #[test]
    fn the_last_ones_are_told_in_order() {
        let mut host = FakeHost::new(1_000);
        for (ev, marked) in [(7, true), (65_535, false), (0, true), (9, false), (40_000, true)] {
            came(&mut host, 4, ev, marked);
        }
        let reported = [(65_535, false), (0, true), (9, false), (40_000, true)];
        assert_eq!(answer(&mut host, Flags::ACK), reported);
        assert_eq!(answer(&mut host, Flags::ACK), [], "once");
        for (ev, marked) in [(7, false), (8, true), (9, false)] {
            came(&mut host, 1, ev, marked);
        }
        assert_eq!(answer(&mut host, Flags::ACK), [(9, false)]);
    }

    /// Breaks if a CNP takes away what the ACK behind it is to tell, if an answer to nothing tells
    /// something, or if the ACK does not take the EV of the last packet.
    #[test]
    fn only_an_acknowledgment_tells() {
        let mut host = FakeHost::new(1_000);
        assert_eq!(answer(&mut host, Flags::SYN.with(Flags::ACK)), []);
        came(&mut host, 1, 300, true);
        assert_eq!(answer(&mut host, Flags::ECE), []);
        let mut ack = control(0, 9, 1, Flags::ACK);
        host.with(|flow, _| write(&mut ack, flow));
        assert_eq!((ack.tag, read(&ack).count()), (300, 1));
    }

    /// Breaks if the answer to a header without payload tells of anything but that its packet met
    /// congestion, if a CNP before it does, if what came before is lost or told of as trimmed; or
    /// if a header that comes back is not heard.
    #[test]
    fn a_trimmed_packet_is_a_marked_one() {
        let mut host = FakeHost::new(1_000);
        came(&mut host, 4, 7, false);
        let header = PacketMeta { tag: 40_000, notes: PacketMeta::TRIMMED, ..data(9, 0, 1, 0) };
        host.with(|flow, _| trimmed(&header, flow));
        assert_eq!(answer(&mut host, Flags::ECE), []);
        assert_eq!(answer(&mut host, Flags::ACK.with(Flags::CWR)), [(40_000, true)]);
        assert_eq!(answer(&mut host, Flags::ACK), [(7, false)]);
        let reported: Vec<Reported> = read(&header).collect();
        assert_eq!(reported, [Reported { ev: 40_000, marked: true }]);
    }
}
