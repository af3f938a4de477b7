//! Bitmap spraying: entropy values one after the other, without those that were marked.
//!
//! Sources: Le et al., "STrack: A Reliable Multipath Transport for AI/ML Clusters"
//! (arXiv:2407.15266), adaptive load balancing; the Ultra Ethernet specification 1.0 describes the
//! like as one of its ways to choose entropy values.
//!
//! * The sender keeps a bit for each entropy value and goes through the values in turn.
//! * An ACK whose packet was marked sets the bit of its value, as does one whose packet was trimmed.
//! * A value whose bit is set is passed over, and the bit is cleared: it is passed over once for
//!   each mark that has been told of.
//!
//! State per connection: a bit for each value, and the turn. Cost per packet: a look at a bit, and
//! at one more for each that is passed over.
//!
//! Unspecified: the turn begins at a random value. An ACK whose packet was not marked clears the
//! bit: what came last counts. If all bits are set, all are cleared and the turn goes on. What is
//! lost without a trace tells of no value, since it is unknown which one it had. A header whose
//! payload was cut off has its value: the path had no room at all, and a mark says less.
//!
//! Provenance: paper.

use super::{BALANCERS, any, echo};
use crate::edge::{EdgeContext, Entry, FlowView, HostEdge, HostEnv, Needs};
use crate::{Demands, Kind, Param, ParamError, Params, Provenance, SchemeInfo, parameters};
use leafspine_core::{PacketMeta, Rng, Span};

/// The bits of a connection: its first word keeps the turn.
#[derive(Clone, Copy)]
pub(super) struct Bitmap {
    entropies: u64,
}

impl Bitmap {
    pub(super) fn new(entropies: u64) -> Bitmap {
        Bitmap { entropies }
    }

    /// Words of memory.
    pub(super) fn words(self) -> usize {
        1 + self.entropies.div_ceil(64) as usize
    }

    /// What has become of a packet with this value.
    pub(super) fn reported(self, memory: &mut [u64], reported: echo::Reported) {
        let ev = u64::from(reported.ev);
        if ev < self.entropies {
            let word = &mut memory[1 + ev as usize / 64];
            *word = *word & !(1 << (ev % 64)) | u64::from(reported.marked) << (ev % 64);
        }
    }

    /// The next value whose bit is not set; the bits of those before it are cleared.
    pub(super) fn next(self, memory: &mut [u64], rng: &mut Rng) -> u16 {
        if memory[0] == 0 {
            memory[0] = u64::from(any(self.entropies, rng)) + 1;
        }
        loop {
            let ev = memory[0] - 1;
            memory[0] = (ev + 1) % self.entropies + 1;
            let (word, bit) = (&mut memory[1 + ev as usize / 64], 1 << (ev % 64));
            if *word & bit == 0 {
                return ev as u16;
            }
            *word &= !bit;
        }
    }
}

struct Edge {
    bitmap: Bitmap,
}

impl HostEdge for Edge {
    fn needs(&self) -> Needs {
        Needs { memory: self.bitmap.words(), keeps_class: true, ..Needs::default() }
    }

    fn sending(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        packet.tag = self.bitmap.next(flow.memory, cx.rng);
    }

    fn acked(
        &mut self,
        ack: &PacketMeta,
        _: Option<Span>,
        flow: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) {
        echo::read(ack).for_each(|reported| self.bitmap.reported(flow.memory, reported));
    }

    fn receiving(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) {
        echo::note(packet, echo::MOST, flow);
    }

    fn trimmed(&mut self, header: &PacketMeta, flow: &mut FlowView<'_>, _: &mut EdgeContext<'_>) {
        echo::trimmed(header, flow);
    }

    fn replying(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) {
        echo::write(packet, flow);
    }
}

/// A bit for each of 65,536 values would be 8 KB a connection.
pub(super) const ENTROPIES: Param = Param::new(
    Kind::Int(1, 65_536),
    "256",
    "How many entropy values there are, from 0 on; a bit each.",
);

parameters! {
    struct Settings {
        entropies: u64 = ENTROPIES,
    }
}

fn build(params: &Params, _: &HostEnv) -> Result<Box<dyn HostEdge>, ParamError> {
    let Settings { entropies } = Settings::read(params)?;
    Ok(Box::new(Edge { bitmap: Bitmap::new(entropies) }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "bitmap",
        summary: "Goes through entropy values in turn and passes over those whose packets were marked, once.",
        source: "Le et al., STrack, arXiv:2407.15266; Ultra Ethernet Specification 1.0",
        provenance: Provenance::Paper,
        unspecified: &[
            "The turn begins at a random value for each connection.",
            "An ACK whose packet was not marked clears the value's bit: what came last counts.",
            "If all values are marked, all bits are cleared and the turn goes on.",
            "A packet that was trimmed counts as a marked one: its header has the value. What is lost otherwise tells of none.",
            "An ACK tells of the last four packets that came since the one before it.",
        ],
        params: Settings::PARAMS,
        demands: Demands { header_bits: 64, header_words: 3, queues: 1 },
    },
    build,
    balancers: BALANCERS,
    by_marks: true,
    by_stack: true,
    in_order: None,
    sprays: true,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeHost;

    fn reported(ev: u16, marked: bool) -> echo::Reported {
        echo::Reported { ev, marked }
    }

    /// By hand, of four values whose turn is at 0: 1 and 2 are marked, so 0, 3, and in the next
    /// round, since they were passed over once, 0, 1, 2, 3. 3 is marked twice, which one look
    /// clears; 0 is marked and then came without a mark.
    ///
    /// Breaks if a marked value is taken, is passed over more than once, or if an unmarked ACK does not count.
    #[test]
    fn marked_values_are_passed_over_once() {
        let (bitmap, mut memory) = (Bitmap::new(4), vec![1, 0]);
        let mut rng = FakeHost::new(1_000).rng;
        let mut take = |memory: &mut [u64], n| -> Vec<u16> {
            (0..n).map(|_| bitmap.next(memory, &mut rng)).collect()
        };
        bitmap.reported(&mut memory, reported(1, true));
        bitmap.reported(&mut memory, reported(2, true));
        assert_eq!(take(&mut memory, 6), [0, 3, 0, 1, 2, 3]);
        for (ev, marked) in [(3, true), (3, true), (0, true), (0, false), (9, true)] {
            bitmap.reported(&mut memory, reported(ev, marked));
        }
        assert_eq!(take(&mut memory, 7), [0, 1, 2, 0, 1, 2, 3]);
    }

    /// Breaks if a sender with nothing but marked values finds none, or if bits beyond the first
    /// word are another value's.
    #[test]
    fn all_marked_begins_anew() {
        let bitmap = Bitmap::new(130);
        let mut memory = vec![0; bitmap.words()];
        let mut rng = FakeHost::new(1_000).rng;
        (0..130).for_each(|ev| bitmap.reported(&mut memory, reported(ev, true)));
        let first = bitmap.next(&mut memory, &mut rng);
        assert!(memory[1..].iter().all(|word| *word == 0), "{memory:?}");
        let rest: Vec<u16> = (0..129).map(|_| bitmap.next(&mut memory, &mut rng)).collect();
        assert!((0..129).all(|n| rest[usize::from(n)] == (first + 1 + n) % 130));
    }
}
