//! Mixed spraying: a value that came back without a mark is used again, as REPS does; when there is
//! none, the bitmap's next.
//!
//! Source: none of its own. It is the union of the two that the sources of [`super::reps`] and
//! [`super::bitmap`] describe, as simulators of Ultra Ethernet offer it: recycled values as long as
//! there are some, and instead of random ones those that were not marked lately.
//!
//! State per connection: that of both. Cost per packet: that of one of them.
//!
//! Unspecified: it does not freeze. What a timeout would keep it from, exploring, the bitmap does
//! in turn and not at random.
//!
//! Provenance: reconstructed.

use super::bitmap::{self, Bitmap};
use super::cache::Cache;
use super::{BALANCERS, echo, reps};
use crate::edge::{EdgeContext, Entry, FlowView, HostEdge, HostEnv, Needs};
use crate::{Demands, ParamError, Params, Provenance, SchemeInfo, parameters};
use leafspine_core::{PacketMeta, Span};

struct Mixed {
    bitmap: Bitmap,
    entries: usize,
    carry: u64,
    reuse: u64,
}

impl Mixed {
    /// The buffer's words, and the bitmap's.
    fn parts<'a>(&self, memory: &'a mut [u64]) -> (Cache<'a>, &'a mut [u64]) {
        let (cache, bits) = memory.split_at_mut(Cache::words(self.entries));
        (Cache::of(cache), bits)
    }
}

impl HostEdge for Mixed {
    fn needs(&self) -> Needs {
        let memory = Cache::words(self.entries) + self.bitmap.words();
        Needs { memory, keeps_class: true, ..Needs::default() }
    }

    fn sending(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        let (mut cache, bits) = self.parts(flow.memory);
        packet.tag = cache.take().unwrap_or_else(|| self.bitmap.next(bits, cx.rng));
    }

    fn acked(
        &mut self,
        ack: &PacketMeta,
        _: Option<Span>,
        flow: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) {
        let (mut cache, bits) = self.parts(flow.memory);
        for reported in echo::read(ack) {
            self.bitmap.reported(bits, reported);
            if !reported.marked {
                cache.put(reported.ev, self.reuse);
            }
        }
    }

    fn receiving(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) {
        echo::note(packet, self.carry, flow);
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

parameters! {
    struct Settings {
        entropies: u64 = bitmap::ENTROPIES,
        buffer: usize = reps::BUFFER,
        carry: u64 = reps::CARRY,
        reuse: u64 = reps::REUSE,
    }
}

fn build(params: &Params, _: &HostEnv) -> Result<Box<dyn HostEdge>, ParamError> {
    let Settings { entropies, buffer: entries, carry, reuse } = Settings::read(params)?;
    Ok(Box::new(Mixed { bitmap: Bitmap::new(entropies), entries, carry, reuse }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "mixed",
        summary: "Uses entropy values again whose packets came without a mark, else the next one whose packets were not \
                  marked.",
        source: "Bonato et al., REPS, arXiv:2407.21625, with Le et al., STrack, arXiv:2407.15266",
        provenance: Provenance::Reconstructed,
        unspecified: &[
            "There is no source of its own: it is REPS' buffer before the bitmap.",
            "It does not freeze.",
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
    use crate::testing::{FakeHost, control, data, stated};
    use leafspine_core::{Ecn, Flags};

    /// A host sends ten packets into a network in which all but two of four values are marked.
    ///
    /// Breaks if a value that came back without a mark is not used before the bitmap's next, if one
    /// that came back with a mark is, or if a mark does not reach the bitmap.
    #[test]
    fn recycled_values_come_before_the_bitmap() {
        let mut host = FakeHost::new(1_000);
        let params = stated(ENTRY.info.params, &[("entropies", "4"), ("buffer", "2")]);
        let mut edge = build(&params, &host.env).unwrap();
        host.memory = vec![0; edge.needs().memory];
        let take = |host: &mut FakeHost, edge: &mut dyn HostEdge| {
            let mut packet = data(0, 9, 1, 0);
            host.send(edge, &mut packet);
            packet.tag
        };
        let first = take(&mut host, &mut *edge);
        let answer = |host: &mut FakeHost, edge: &mut dyn HostEdge, ev: u16, marked: bool| {
            let ecn = if marked { Ecn::Congested } else { Ecn::Capable };
            let mut packet = PacketMeta { tag: ev, ecn, ..data(0, 9, 1, 0) };
            let mut ack = control(9, 0, 1, Flags::ACK);
            let mut there = FakeHost::new(1_000);
            there.with(|flow, cx| edge.receiving(&mut packet, flow, cx));
            there.with(|flow, cx| edge.replying(&mut ack, flow, cx));
            host.with(|flow, cx| edge.acked(&ack, None, flow, cx));
        };
        let after = |n: u16| (first + n) % 4;
        answer(&mut host, &mut *edge, first, false);
        answer(&mut host, &mut *edge, after(1), true);
        assert_eq!(take(&mut host, &mut *edge), first, "came back without a mark");
        assert_eq!(
            take(&mut host, &mut *edge),
            after(2),
            "the next is marked, the one after is not"
        );
        assert_eq!(take(&mut host, &mut *edge), after(3));
    }
}
