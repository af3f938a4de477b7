//! REPS: entropy values that came back without a mark are used again, and kept in use while paths fail.
//!
//! Source: Bonato et al., "REPS: Recycled Entropy Packet Spraying for Adaptive Load Balancing and Failure Mitigation"
//! (arXiv:2407.21625), the algorithm of its design section. Its rules, each with a test of that number:
//!
//! 1. A connection's first packets, a bandwidth-delay product of them, take random values.
//! 2. An ACK without a mark puts the value of its packet into a circular buffer at the head, over
//!    the oldest, and makes the entry valid.
//! 3. An ACK with a mark puts nothing in: the value of a congested path is not used again. Nor does
//!    what tells of a trimmed packet.
//! 4. A packet takes the oldest valid value, and the entry is valid no longer.
//! 5. If no entry is valid, the packet takes a random value.
//! 6. A failure that is detected (a timeout) freezes the sender, for a time; not while it explores.
//! 7. While it is frozen and no entry is valid, packets take the values of the buffer in turn, valid or not: no
//!    random value, which may lead into the failed path.
//! 8. While it is frozen, ACKs go on to put values in, and valid entries come first.
//! 9. The first ACK without a mark after the time is over thaws it, and it explores again: so many
//!    packets take random values.
//! 10. ACKs for several packets: an ACK tells of the last one's value only, or of several
//!     (`carry`), and a value may be used several times (`reuse`).
//!
//! State per connection: 2 words and one for each of 8 entries (25 bytes would do: the paper's
//! count). Cost per packet: a random number or a look at the buffer.
//!
//! Unspecified, or chosen: the time that a sender stays frozen. The loss that a NAK tells of is no
//! failure: under spraying most of them tell of reordering. A buffer that was never full has only
//! the values that were put in.
//!
//! Provenance: paper.

use super::cache::Cache;
use super::{BALANCERS, Call, ENTROPIES, any, echo};
use crate::edge::{EdgeContext, Entry, FlowView, HostEdge, HostEnv, Needs};
use crate::{Demands, Kind, Param, ParamError, Params, Provenance, SchemeInfo, parameters};
use leafspine_core::{PacketMeta, Span};

/// The first word of a connection: until when it is frozen, plus one; 0 if it is not. The others are the buffer's.
const FROZEN: usize = 0;
const CACHE: usize = 1;
/// In the buffer's extra bits: packets that explore still, and whether the connection has begun.
const BEGUN: u64 = 1 << 32;

struct Reps {
    entropies: u64,
    entries: usize,
    explore: u64,
    freeze: Option<Span>,
    carry: u64,
    reuse: u64,
}

impl Reps {
    /// Packets that explore still: as many as at the start, if it has not begun.
    fn exploring(&self, cache: &Cache<'_>) -> u64 {
        if cache.extra() & BEGUN == 0 { self.explore } else { cache.extra() & (BEGUN - 1) }
    }

    fn next(&self, (flow, cx): Call<'_, '_, '_, '_>) -> u16 {
        let frozen = flow.memory[FROZEN] != 0;
        let mut cache = Cache::of(&mut flow.memory[CACHE..]);
        let exploring = self.exploring(&cache);
        cache.set_extra(BEGUN | exploring.saturating_sub(1));
        if exploring > 0 || cache.is_empty() {
            return any(self.entropies, cx.rng);
        }
        match cache.take() {
            Some(ev) => ev,
            None if frozen => cache.again(),
            None => any(self.entropies, cx.rng),
        }
    }

    fn came(&self, ev: u16, (flow, cx): Call<'_, '_, '_, '_>) {
        let thaws = flow.memory[FROZEN] != 0 && cx.now.0 >= flow.memory[FROZEN];
        if thaws {
            flow.memory[FROZEN] = 0;
        }
        let mut cache = Cache::of(&mut flow.memory[CACHE..]);
        cache.put(ev, self.reuse);
        if thaws {
            cache.set_extra(BEGUN | self.explore);
        }
    }
}

impl HostEdge for Reps {
    fn needs(&self) -> Needs {
        Needs { memory: CACHE + Cache::words(self.entries), keeps_class: true, ..Needs::default() }
    }

    fn sending(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        packet.tag = self.next((flow, cx));
    }

    fn acked(
        &mut self,
        ack: &PacketMeta,
        _: Option<Span>,
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        for told in echo::read(ack).filter(|told| !told.marked) {
            self.came(told.ev, (flow, cx));
        }
    }

    fn lost(&mut self, timeout: bool, flow: &mut FlowView<'_>, cx: &mut EdgeContext<'_>) {
        let Some(freeze) = self.freeze.filter(|_| timeout) else { return };
        let explores = self.exploring(&Cache::of(&mut flow.memory[CACHE..])) > 0;
        if flow.memory[FROZEN] == 0 && !explores {
            flow.memory[FROZEN] = (cx.now + freeze).0 + 1;
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

/// Entries of the buffer.
pub(super) const BUFFER: Param =
    Param::new(Kind::Int(1, 64), "8", "Entropy values that a connection keeps.");
/// See the module.
pub(super) const CARRY: Param = Param::new(
    Kind::Int(1, echo::MOST),
    "1",
    "Entropy values of how many packets an ACK tells of, at most: the last ones before it.",
);
pub(super) const REUSE: Param =
    Param::new(Kind::Int(1, 255), "1", "How often a value that has come back may be used again.");

parameters! {
    struct Settings {
        entropies: u64 = ENTROPIES,
        buffer: usize = BUFFER,
        explore: u64 = Param::new(
            Kind::Packets(0, 1 << 24),
            "1bdp",
            "Packets with random values at the start of a connection, and after it was frozen.",
        ),
        freeze: Option<Span> = Param::new(
            Kind::SpanOr(1, 1_000_000_000_000_000, "never"),
            "20rtt",
            "How long a sender stays frozen, at least, after a timeout.",
        ),
        carry: u64 = CARRY,
        reuse: u64 = REUSE,
    }
}

fn build(params: &Params, _: &HostEnv) -> Result<Box<dyn HostEdge>, ParamError> {
    let Settings { entropies, buffer: entries, explore, freeze, carry, reuse } =
        Settings::read(params)?;
    Ok(Box::new(Reps { entropies, entries, explore, freeze, carry, reuse }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "reps",
        summary: "Uses entropy values again whose packets came without a mark, else random ones; after a timeout \
                  only values that have come back.",
        source: "Bonato et al., REPS, arXiv:2407.21625",
        provenance: Provenance::Paper,
        unspecified: &[
            "A failure is detected by the transport's timeout, never by a NAK or duplicate ACKs, which reordering causes.",
            "How long a sender stays frozen (freeze): 20 round trips.",
            "A buffer that was never full has only the values that were put in.",
            "An ACK takes the value of the packet that it answers.",
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
#[path = "reps_tests.rs"]
mod tests;
