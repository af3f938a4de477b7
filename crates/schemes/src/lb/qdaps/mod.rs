//! QDAPS: each packet takes the shortest queue that does not let it overtake the packet before it.
//!
//! Source: Huang, Lv, Li, Wang, He, "QDAPS: Queueing Delay Aware Packet Spraying for Load Balancing
//! in Data Center", §III.
//!
//! 1. *Queueing delay* (§III-B eq. 1): what waits at the port and the packet itself, over the
//!    line's rate.
//! 2. *Packet reorder resolution* (§III-B eq. 2): a flow's first packet takes the shortest queue. A
//!    later one takes the shortest of those where its delay is larger than what remains of the
//!    delay of the packet before it.
//! 3. *Large flow rerouting* (§III-C): where that queue is longer than S, a large flow takes the
//!    shortest queue of all and risks reordering.
//!
//! QDAPS* (`qdaps-star`, §III-D) adds the measured leaf-to-leaf delay of each path to the local
//! queueing delay; see `feedback.rs`. Both are `Qdaps` below, with or without `feedback`.
//!
//! State per switch: the flow table, 24 bytes for each of 2^16 entries (the paper counts 8, with
//! coarser times), and 16 bytes a port. QDAPS* keeps 32 bytes more for each pair of an uplink and a
//! leaf. Cost per packet: a CRC-16, one entry, one look at each port; two looks when a large flow is
//! rerouted.
//!
//! Unspecified or contradictory in the source:
//!
//! - *Delays.* Eq. 1 counts packets of one size; here they have their own. What is in transmission
//!   is not part of a queue (as in ns-2), so eq. 1 is up to a packet's time short of the truth and
//!   packets may still overtake by as much; `in_service` counts it.
//! - *The last port* is a candidate even if its delay is not larger, which the formula alone does
//!   not give: a small packet behind a large one in transmission, several service queues, a rate
//!   that has changed.
//! - *Shortest* means fewest bytes waiting; `by = "delay"` weighs them with the line's rate. Ties are
//!   drawn. A flow whose remaining delay is used up, or whose port has gone, starts over.
//! - *Eq. 14* reduces to `sqrt(1.6 Y) - C RTT` packets, in which K cancels, because r1 is 3C/4
//!   whatever K and RTT are. It is the largest S for which rerouting pays, not "the minimum value
//!   satisfying" FCT1 >= FCT2; eq. 11 averages r1 and r2 where the sentence above it says r1/2 and
//!   r2; and S is negative for RTT = 300 us and Y = 500 KB, or at 10 Gb/s with 100 us. So S is
//!   clamped to 1..=K. Y is the mean of the run's workload by default.
//! - *Large* are flows that have sent more than 100 KB of packets through the switch; the paper
//!   reroutes "large flows" and gives no bound. After a reroute the new, smaller delay is remembered.
//! - *The flow table* is swept every 2 RTT, where RTT is a parameter: Fig. 14's paths have different
//!   ones. The literal rule would forget a flow while its last packet still waits; here the sweep
//!   leaves such entries to a later one, unless `strict_age`. What a flow "has already sent through the switch" is in
//!   the entry and goes with it ("removes the idle connections from the flow table"): a large flow that is idle for
//!   2 to 4 RTT, a timeout's time, is small again for 100 KB. So the text has it, and so it is here; the data that
//!   it is not rerouted for meanwhile starts with a window of one anyway. Pure ACKs are flows of their own.
//! - *Which switches*: every one that has a choice.
//! - *QDAPS\*.* It decides by the sum of both delays (`by = "delay"`), since the shortest local queue
//!   says nothing of the path behind it. For the same reason the queue that is compared with S is that
//!   of the whole path: a large flow would stay behind a far queue for good. Leaf-to-leaf delays leave
//!   the packet's own time on the lines out (`samples`). Before the first echo, and `stale` after the
//!   last, a path is taken to be idle and has its propagation delay (2 ns more, so that one that is
//!   known to be idle is preferred). A measurement is sent back no longer than it is believed, or a
//!   path that is avoided would be kept bad by old echoes. Where a spine has parallel links to a leaf,
//!   a delay is credited to the link that its echo came by.
//!
//! What follows from the mechanism, and is measured in `crates/sim/tests/behaviour/qdaps.rs`:
//!
//! - Order is kept at the leaf, and with it at the receiver if nothing behind the leaf has a queue of its
//!   own: where one leaf sends, QDAPS reorders a tenth of what RPS does. Where several leaves send to
//!   one, their packets meet in the spines' queues, and it is two thirds.
//! - A delay can only be echoed by the port it was measured at. Where only ACKs come back, and find other
//!   uplinks faster, nothing is heard of a slow path and it is taken to be idle. That a path *known* to
//!   be idle comes first is what keeps the data off it.
//!
//! Provenance: paper.

mod crc16;
mod entries;
mod feedback;
mod flow_table;
mod line;
mod on_p4;
mod reroute;
#[cfg(test)]
mod tests;

use super::{Arrival, LoadBalancer, Needs};
use crate::{Amount, Backlog, Context, Footprint, Inspect, Load, Paths};
use entries::By;
pub(super) use entries::{ENTRY, STAR};
use feedback::Feedback;
use flow_table::FlowTable;
use leafspine_core::{PacketMeta, PortId, Rate, Span, Time};
use line::Lines;
use reroute::Reroute;
use std::hint::select_unpredictable;

/// The packet that must not be overtaken.
#[derive(Clone, Copy, Debug)]
struct Before {
    /// RQD of eq. 2, above zero.
    remaining: Span,
    /// A live port.
    port: PortId,
}

impl Before {
    /// Whether a packet that goes by `port` with `delay` stays behind: "chooses d output ports with
    /// larger queueing delay than RQD" (§III-B); the flow's own last port always is one of them.
    #[inline]
    fn is_kept_by(self, port: PortId, delay: Span) -> bool {
        (port == self.port) | (delay > self.remaining)
    }
}

/// A path, by its index, and what it was chosen for.
#[derive(Clone, Copy, Debug)]
struct Choice {
    index: u16,
    found: Found,
}

/// What is known of a path that was chosen.
#[derive(Clone, Copy, Debug)]
enum Found {
    /// What waits there.
    Waits(Backlog),
    /// Its delay.
    Delay(Span),
}

struct Qdaps {
    table: FlowTable,
    lines: Lines,
    by: By,
    in_service: bool,
    reroute: Reroute,
    mtu: u64,
    /// QDAPS* at switches with hosts.
    feedback: Option<Feedback>,
    /// Whether echoes are written when packets leave, not when they are queued.
    exact: bool,
    /// The shortest queues found so far; kept for its memory only.
    ties: Vec<Choice>,
    /// Of the paths of the packet that was last sent by delay: what waits there.
    loads: Vec<Load>,
    /// Their delays.
    delays: Vec<Span>,
    /// The same, but of no path that is no candidate; kept for its memory only.
    lengths: Vec<Span>,
}

impl Qdaps {
    /// The delay of `size` bytes by the `index`-th path: `QD` of §III-B eq. 1, for QDAPS* with the
    /// leaf-to-leaf delay.
    #[inline(always)]
    fn delay(
        &mut self,
        index: usize,
        size: u64,
        (waits, rate): (Backlog, Rate),
        paths: &Paths<'_>,
        cx: &mut Context<'_>,
    ) -> Span {
        let port = paths.ports[index];
        let local = if self.in_service {
            let free = cx.ports.free_at(port).since(cx.now);
            free.0.saturating_add(self.lines.time(port, rate, size).0)
        } else {
            // Eq. 1: M (l + 1) / C, with the real sizes.
            self.lines.time(port, rate, u64::from(waits.bytes) + size).0
        };
        match self.beyond(index, paths, cx) {
            None => Span(local),
            Some(beyond) => Span(local.saturating_add(beyond.0)),
        }
    }

    /// The leaf-to-leaf delay of the `index`-th path: the measured one, or the base delay.
    #[inline(always)]
    fn beyond(&mut self, index: usize, paths: &Paths<'_>, cx: &mut Context<'_>) -> Option<Span> {
        let base = self.base(index, paths, cx);
        let heard = self.feedback.as_ref()?.delay(paths.ports[index], paths.to, cx.now);
        Some(heard.unwrap_or(feedback::taken_to_be_idle(base)))
    }

    /// The leaf-to-leaf delay of the `index`-th path when all queues are empty: its propagation, and two
    /// full packets' times unless delays are net.
    #[inline(always)]
    fn base(&mut self, index: usize, paths: &Paths<'_>, cx: &mut Context<'_>) -> Span {
        if self.feedback.as_ref().is_none_or(|feedback| feedback.net) {
            return paths.delay[index];
        }
        let port = paths.ports[index];
        let lines = self.lines.time(port, cx.ports.rate(port), 2 * self.mtu);
        Span(paths.delay[index].0.saturating_add(lines.0))
    }

    /// Whether the queue of the choice is longer than `threshold` (§III-C). That of QDAPS* reaches to
    /// the other leaf: what waits here, and what the leaf-to-leaf delay is above the base.
    fn exceeds(
        &mut self,
        threshold: Amount,
        choice: Choice,
        paths: &Paths<'_>,
        cx: &mut Context<'_>,
    ) -> bool {
        let index = usize::from(choice.index);
        let waits = match choice.found {
            Found::Waits(waits) => waits,
            Found::Delay(_) => cx.ports.backlog(paths.ports[index]),
        };
        let Some(beyond) = self.beyond(index, paths, cx) else {
            return match threshold {
                Amount::Packets(most) => waits.packets > most,
                Amount::Bytes(most) => u64::from(waits.bytes) > most,
            };
        };
        let queued = beyond.0.saturating_sub(self.base(index, paths, cx).0);
        let port = paths.ports[index];
        let rate = cx.ports.rate(port);
        let here = self.lines.time(port, rate, waits.bytes.into()).0;
        let most = self.lines.time(port, rate, threshold.in_bytes(self.mtu as u32)).0;
        here.saturating_add(queued) > most
    }

    /// The shortest queue among the ports that do not let the packet overtake the one `before` it;
    /// of all, if there is none. Ties are drawn. By delay: of what was last looked at.
    #[inline]
    fn shortest(
        &mut self,
        size: u64,
        before: Option<Before>,
        paths: &Paths<'_>,
        cx: &mut Context<'_>,
    ) -> Choice {
        match self.by {
            By::Bytes => self.by_bytes(size, before, paths, cx),
            By::Delay => self.by_delay(before, paths, cx),
        }
    }

    /// The candidate with the fewest bytes waiting.
    fn by_bytes(
        &mut self,
        size: u64,
        before: Option<Before>,
        paths: &Paths<'_>,
        cx: &mut Context<'_>,
    ) -> Choice {
        self.ties.clear();
        let mut least = u64::MAX;
        for (index, port) in paths.ports.iter().enumerate() {
            let waits = cx.ports.backlog(*port);
            let in_service = if self.in_service { waits.in_service } else { 0 };
            let length = u64::from(waits.bytes) + u64::from(in_service);
            // Longer than one found already: whether it is a candidate does not matter.
            if length > least {
                continue;
            }
            let keeps_order = before.is_none_or(|last| {
                let line = (waits, cx.ports.rate(*port));
                last.is_kept_by(*port, self.delay(index, size, line, paths, cx))
            });
            if !keeps_order {
                continue;
            }
            if length < least {
                least = length;
                self.ties.clear();
            }
            self.ties.push(Choice { index: index as u16, found: Found::Waits(waits) });
        }
        match self.ties.len() {
            1 => self.ties[0],
            several => self.ties[cx.rng.below(several as u64) as usize],
        }
    }

    /// Works out the delay of `size` bytes by every path. Each step is a loop of its own over what
    /// stands side by side in memory.
    fn look(&mut self, size: u64, paths: &Paths<'_>, cx: &mut Context<'_>) {
        cx.ports.loads(paths.ports, &mut self.loads);
        let Qdaps { lines, loads, delays, .. } = self;
        let rates = || paths.ports.iter().zip(&loads[..]);
        if self.in_service {
            delays.clear();
            delays.extend(rates().map(|(port, load)| {
                let free = cx.ports.free_at(*port).since(cx.now);
                Span(free.0.saturating_add(lines.time(*port, load.rate, size).0))
            }));
        } else {
            lines.times(paths.ports, loads, size, delays);
        }
        let Some(feedback) = &self.feedback else { return };
        if feedback.net {
            feedback.add(delays, paths, paths.delay.iter().copied(), cx.now);
        } else {
            let both = 2 * self.mtu;
            let bases = rates().zip(paths.delay).map(|((port, load), delay)| {
                Span(delay.0.saturating_add(lines.time(*port, load.rate, both).0))
            });
            feedback.add(delays, paths, bases, cx.now);
        }
    }

    /// The path with the smallest delay among the candidates. Which that is follows no pattern that a
    /// processor could guess: hence no branch on it.
    fn by_delay(
        &mut self,
        before: Option<Before>,
        paths: &Paths<'_>,
        cx: &mut Context<'_>,
    ) -> Choice {
        let lengths = match before {
            None => &self.delays,
            Some(last) => {
                self.lengths.clear();
                self.lengths.extend(paths.ports.iter().zip(&self.delays).map(|(port, delay)| {
                    if last.is_kept_by(*port, *delay) { *delay } else { Span(u64::MAX) }
                }));
                &self.lengths
            }
        };
        let (mut least, mut first, mut ties) = (Span(u64::MAX), 0, 0);
        for (index, length) in (0..).zip(lengths) {
            let (less, same) = (*length < least, *length == least);
            first = select_unpredictable(less, index, first);
            ties = select_unpredictable(less, 1, ties + u64::from(same));
            least = least.min(*length);
        }
        let index = if ties == 1 {
            first
        } else {
            let drawn = cx.rng.below(ties) as usize;
            let tied = (0..).zip(lengths).filter(|(_, length)| **length == least);
            tied.map(|(index, _)| index).nth(drawn).unwrap_or(first)
        };
        Choice { index, found: Found::Delay(least) }
    }
}

impl LoadBalancer for Qdaps {
    fn needs(&self) -> Needs {
        let star = self.feedback.is_some();
        let exact_dequeue = star && self.exact;
        let told = Needs { arrived: star, leaving: star, ..Needs::default() };
        Needs { between_switches: star, exact_dequeue, ..told }
    }

    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        let size = u64::from(packet.size);
        let number = self.table.number(packet.tuple);
        let last = self.table.last(number, cx.now);
        let sent = last.map_or(0, |last| last.sent);

        // §III-B eq. 2: RQD = QD + t_i - t_{i+1}. Nothing is left of it, or the port has gone: the
        // packet is like a flow's first, which takes the shortest queue.
        let before = last
            .map(|last| Before { remaining: last.departs.since(cx.now), port: last.port })
            .filter(|last| last.remaining > Span::ZERO && paths.ports.contains(&last.port));
        if self.by == By::Delay {
            self.look(size, paths, cx);
        }
        let mut choice = self.shortest(size, before, paths, cx);

        // §III-C: "when the queue length exceeds a threshold S", "to the output port with shortest
        // queue length".
        if before.is_some()
            && let Some(threshold) = self.reroute.threshold(sent)
            && self.exceeds(threshold, choice, paths, cx)
        {
            choice = self.shortest(size, None, paths, cx);
        }

        // "For each flow, the engine only updates the arriving time t_i and queueing delay QD_i."
        let (index, port) = (usize::from(choice.index), paths.ports[usize::from(choice.index)]);
        let delay = match choice.found {
            Found::Delay(delay) => delay,
            Found::Waits(waits) => self.delay(index, size, (waits, cx.ports.rate(port)), paths, cx),
        };
        let sent = sent.saturating_add(u32::from(packet.size));
        self.table.remember(number, sent, port, cx.now + delay);
        port
    }

    fn arrived(&mut self, packet: &mut PacketMeta, from: PortId, cx: &mut Context<'_>) -> Arrival {
        if let Some(feedback) = &mut self.feedback
            && feedback.is_uplink(from)
        {
            let own = self.lines.time(from, cx.ports.rate(from), packet.size.into());
            let first = Time(cx.now.0.saturating_sub(own.0));
            feedback.arrived(packet, from, first, cx.now);
        }
        Arrival::Forward
    }

    fn leaving(&mut self, packet: &mut PacketMeta, to: PortId, at: Time, cx: &mut Context<'_>) {
        if let Some(feedback) = &self.feedback
            && feedback.is_uplink(to)
        {
            let own = self.lines.time(to, cx.ports.rate(to), packet.size.into());
            feedback.leaving(packet, to, at, at + own);
        }
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Qdaps {
    fn footprint(&self, now: Time) -> Footprint {
        let (port, all) = self.feedback.as_ref().map_or((0, 0), Feedback::bytes);
        let table = u64::from(FlowTable::ENTRY) * u64::from(self.table.entries());
        Footprint {
            bytes: table + self.lines.bytes() + all,
            per_flow: FlowTable::ENTRY,
            per_port: Lines::ENTRY + port as u32,
            slots: self.table.entries(),
            occupied: self.table.occupied(now),
        }
    }

    fn slot(&self, packet: &PacketMeta) -> Option<u32> {
        Some(self.table.number(packet.tuple) as u32)
    }
}
