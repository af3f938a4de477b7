//! Presto at the host: cuts flows into 64 KiB flowcells, and can put them in order again.
//!
//! Source: He et al., "Presto: Edge-based Load Balancing for Fast Datacenter Networks", SIGCOMM
//! 2015, §3.1, Algorithm 1 (sender) and §3.2, Algorithm 2 (receiver).
//!
//! Sender: a segment that would take the flow's count beyond `cell` bytes begins the next flowcell.
//! The packet carries the flowcell's number; the balancer `presto` chooses paths by it.
//!
//! Receiver (`reassemble = true`): all packets of a flowcell take one path, so
//! * a gap within a flowcell is a loss: what follows goes up at once, and TCP sees the hole;
//! * a gap between flowcells may be reordering: what follows waits until the gap is filled, or
//!   until one of the packets has waited for `out_of_order_timer`; then the gap is given up;
//! * packets in order may wait for `in_order_timer` to go up together, at most `cell` bytes.
//!
//! With `cell = "1B"` every packet is a flowcell of its own and every gap is waited for: so it puts in order
//! what any balancer has mixed up, DRILL's or RPS's spray too. That is no part of Presto.
//!
//! State per flow: two words at either side. Cost per packet: a comparison and an addition; with
//! reassembly a walk over what waits.
//!
//! Unspecified in the source, or done differently here: the paper's 64 KB is the largest TSO segment, 65,536
//! bytes. A retransmission stays in the flow's current flowcell and is not counted. The paper adapts
//! the receiver's timeout to the reordering it sees; here it is fixed. Its batches end with the
//! NIC's polling, here with a timer.
//!
//! Provenance: paper.

use super::{Deliver, EdgeContext, Entry, FlowView, HostEdge, HostEnv, InOrder, Needs, Waiting};
use crate::{Demands, Kind, Param, ParamError, Params, Provenance, SchemeInfo, parameters};
use leafspine_core::{Bytes, PacketMeta, Span, Time};

// The scheme's header: word 0 is the flowcell's number plus one, 0 for none; word 1 is the number
// of the path, of which each switch takes its digit.

/// Writes the flowcell's number, which is also the number of its path.
pub(crate) fn set_cell(packet: &mut PacketMeta, number: u32) {
    packet.header.0 = [number.wrapping_add(1), number];
}

/// The flowcell plus one; 0 if the packet is in none.
fn cell(packet: &PacketMeta) -> u32 {
    packet.header.0[0]
}

/// What is left of the path's number, if the packet is in a flowcell.
pub(crate) fn path_number(packet: &PacketMeta) -> Option<u32> {
    (cell(packet) != 0).then_some(packet.header.0[1])
}

/// Leaves `number` for the next switch.
pub(crate) fn set_path_number(packet: &mut PacketMeta, number: u32) {
    packet.header.0[1] = number;
}

struct Presto {
    cell: u64,
    mss: u64,
    reassemble: bool,
    in_order: Span,
    out_of_order: Span,
}

impl HostEdge for Presto {
    fn needs(&self) -> Needs {
        Needs { reassembly: self.reassemble, keeps_class: true, ..Needs::default() }
    }

    fn sending(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) {
        if !packet.is_data() {
            return;
        }
        let [filled, number, ..] = flow.state;
        let again = u64::from(packet.seq) * self.mss < flow.bytes_sent;
        if !again {
            let payload = u64::from(packet.payload);
            if *filled > 0 && *filled + payload > self.cell {
                *number += 1;
                *filled = 0;
            }
            *filled += payload;
        }
        set_cell(packet, *number as u32);
    }

    fn reassemble(
        &mut self,
        waiting: &[Waiting],
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) -> Deliver {
        let ready = self.ready(waiting, flow, cx.now);
        let (run, rest) = waiting.split_at(ready.count);
        let oldest = |packets: &[Waiting]| packets.iter().map(|w| w.since).min();
        let give_up = oldest(rest).map(|since| since + self.out_of_order);
        let flush = oldest(run).map(|since| since + self.in_order);
        let bytes: u64 = run.iter().map(|w| u64::from(w.packet.payload)).sum();
        let go = ready.urgent || bytes >= self.cell || flush.is_some_and(|at| at <= cx.now);
        if !go {
            let again = flush.into_iter().chain(give_up).min();
            return Deliver { count: 0, again };
        }
        flow.state[0] = ready.last_cell;
        flow.state[1] = ready.expected;
        Deliver { count: ready.count, again: give_up }
    }
}

/// The packets from the front that may go up.
struct Ready {
    count: usize,
    /// Whether one of them must not wait for a batch: a duplicate, or one behind a gap.
    urgent: bool,
    /// The flowcell of the last of them, plus one.
    last_cell: u64,
    /// The segment after the last of them.
    expected: u64,
}

impl Presto {
    /// Walks over what waits, lowest segment first (Algorithm 2).
    fn ready(&self, waiting: &[Waiting], flow: &FlowView<'_>, now: Time) -> Ready {
        let mut ready = Ready {
            count: 0,
            urgent: false,
            // Before anything has come up, the flow is in its first flowcell.
            last_cell: flow.state[0].max(1),
            expected: flow.state[1].max(u64::from(flow.expected)),
        };
        for (index, w) in waiting.iter().enumerate() {
            let (seq, cell) = (u64::from(w.packet.seq), u64::from(cell(&w.packet)));
            if seq > ready.expected && cell > ready.last_cell {
                let expired = |w: &Waiting| w.since + self.out_of_order <= now;
                if !waiting[index..].iter().any(expired) {
                    break;
                }
            }
            ready.urgent |= seq != ready.expected;
            ready.count = index + 1;
            ready.expected = ready.expected.max(seq + 1);
            ready.last_cell = ready.last_cell.max(cell);
        }
        ready
    }
}

parameters! {
    struct Settings {
        cell: Bytes = Param::new(
            Kind::Bytes(1, 1 << 32),
            "64KiB",
            "Most bytes of payload in a flowcell.",
        ),
        reassemble: bool = Param::new(
            Kind::Bool,
            "false",
            "Whether the receiving host puts flowcells in order before TCP sees them.",
        ),
        in_order_timer: Span = Param::new(
            Kind::Span(0, SECOND),
            "0.05rtt",
            "Longest wait of packets in order, to go up together.",
        ),
        out_of_order_timer: Span = Param::new(
            Kind::Span(0, SECOND),
            "5rtt",
            "Longest wait of packets behind a gap between flowcells.",
        ),
    }
}

fn build(params: &Params, env: &HostEnv) -> Result<Box<dyn HostEdge>, ParamError> {
    let settings = Settings::read(params)?;
    Ok(Box::new(Presto {
        cell: settings.cell.0,
        mss: u64::from(env.mss),
        reassemble: settings.reassemble,
        in_order: settings.in_order_timer,
        out_of_order: settings.out_of_order_timer,
    }))
}

/// Timers end within a second: nothing waits longer than any retransmission.
const SECOND: u64 = 1_000_000_000_000;

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "presto",
        summary: "Cuts flows into 64 KiB flowcells, and can put them in order at the receiver.",
        source: "He et al., Presto, SIGCOMM 2015, §3.1 and §3.2",
        provenance: Provenance::Paper,
        unspecified: &[
            "64 KB is 65,536 bytes, the largest TSO segment.",
            "A retransmission stays in the flow's current flowcell and is not counted.",
            "The receiver's timers are fixed; the paper adapts the out-of-order one.",
            "Not the paper's: reassemble = true with cell = \"1B\", a packet each, puts in order what any \
             balancer mixes up. Otherwise the edge is for the balancer presto only.",
        ],
        params: Settings::PARAMS,
        demands: Demands { header_bits: 32, header_words: 3, queues: 1 },
    },
    build,
    balancers: &["presto"],
    by_marks: false,
    by_stack: false,
    in_order: Some(InOrder {
        on: |params| Settings::read(params).is_ok_and(|settings| settings.reassemble),
        beside_any: |params, mss| {
            let one_packet = |settings: Settings| settings.cell.0 <= u64::from(mss);
            Settings::read(params).is_ok_and(|s| s.reassemble && one_packet(s))
        },
        how: "reassemble = true with a cell of one packet (cell = \"1B\"), which puts packets in order beside any",
    }),
    sprays: false,
};

#[cfg(test)]
#[path = "presto_tests.rs"]
mod tests;
