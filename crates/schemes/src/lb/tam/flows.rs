//! The flow table (§2.8, Table 2): what has been seen of each flow.
//!
//! The paper refreshes its tables periodically, the activity signs once per RTT. Here no timer
//! runs: the refreshes that are due are made up for when the next packet comes. Nothing has
//! happened in between, so all but the last of them find what the last finds.

use super::ports::PortTable;
use crate::lb::hash::{flow_hash, region};
use leafspine_core::{PacketMeta, PortId, Span, Time};

/// No port has this number: the flow has not been forwarded yet.
pub(super) const NONE: PortId = PortId(u16::MAX);

/// One flow's line of the table; 16 bytes. The flow's identity (column 1) is its place in the
/// table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// Column 2: when the latest packet arrived.
    pub(super) last: Time,
    /// Columns 4 (packets) and Algorithm 1's size of each in one: bytes on the wire so far, sent by the
    /// flow or seen here.
    pub(super) bytes: u32,
    /// Column 3: the port by which the latest packet left.
    pub(super) port: PortId,
    /// Columns 5 and 6, and whether the latest packet began a flowlet.
    signs: u8,
}

/// Column 5: the flow is long and counts among its port's active ones.
const ACTIVE: u8 = 1;
/// Column 6: the flow is long and counts among all of its port's.
const COUNTED: u8 = 2;
/// The latest packet came after a pause longer than the flowlet gap.
const FLOWLET: u8 = 4;

impl Flow {
    const UNUSED: Flow = Flow { last: Time::ZERO, bytes: 0, port: NONE, signs: 0 };

    #[inline]
    fn has(&self, sign: u8) -> bool {
        self.signs & sign != 0
    }

    /// Its port counts it no longer. A short flow is counted nowhere.
    fn leave(&self, ports: &mut PortTable) {
        if self.has(COUNTED) {
            ports.of(self.port).total -= 1;
            ports.of(self.port).active -= u32::from(self.has(ACTIVE));
        }
    }

    /// Its port counts it, as its signs have it.
    fn join(&self, ports: &mut PortTable) {
        if self.has(COUNTED) {
            ports.of(self.port).total += 1;
            ports.of(self.port).active += u32::from(self.has(ACTIVE));
        }
    }

    /// Whether the latest packet began a flowlet.
    #[inline]
    pub(super) fn begins_flowlet(&self) -> bool {
        self.has(FLOWLET)
    }
}

/// What the table goes by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// Most bytes of a short flow.
    pub(super) short: u32,
    /// Whether a flow has what it has sent, or what has been seen of it here.
    pub(super) by_sequence: bool,
    /// Time between refreshes.
    pub(super) rtt: Span,
    /// Idle for longer than this at a refresh, a flow is forgotten.
    pub(super) forget: Span,
    /// A longer pause ends a flowlet.
    pub(super) gap: Span,
}

/// Every flow's line, indexed by a hash of the five-tuple.
#[derive(Debug)]
pub(super) struct FlowTable {
    flows: Vec<Flow>,
    /// The slots of flows that are counted, in no order: what a refresh has to look at.
    long: Vec<u32>,
    terms: Terms,
    seed: u64,
    /// The latest refresh (Table 3, column 1), and the next.
    refreshed: Time,
    next: Time,
}

impl FlowTable {
    pub(super) fn new(entries: usize, seed: u64, terms: Terms) -> FlowTable {
        FlowTable {
            flows: vec![Flow::UNUSED; entries],
            long: Vec::with_capacity(entries),
            terms,
            seed,
            refreshed: Time::ZERO,
            next: Time::ZERO + terms.rtt,
        }
    }

    /// The flow's place in the table.
    #[inline]
    pub(super) fn slot(&self, packet: &PacketMeta) -> usize {
        region(flow_hash(packet, self.seed), self.flows.len())
    }

    #[inline]
    pub(super) fn flow(&self, slot: usize) -> &Flow {
        &self.flows[slot]
    }

    /// Whether the flow counts as long, by what it has sent so far (§2.5).
    #[inline]
    pub(super) fn is_long(&self, slot: usize) -> bool {
        self.flows[slot].bytes > self.terms.short
    }

    /// A data packet has arrived: it is counted, and the pause before it is judged.
    #[inline]
    pub(super) fn arrived(&mut self, packet: &PacketMeta, now: Time) {
        let slot = self.slot(packet);
        let (terms, refreshed) = (self.terms, self.refreshed);
        let flow = &mut self.flows[slot];
        // Short flows are not looked at by the refreshes: one that is idle for too long was
        // forgotten at the latest by the last. (Long ones have been, and have no sign left.)
        if refreshed.since(flow.last) > terms.forget {
            *flow = Flow::UNUSED;
        }
        // Algorithm 1, lines 3 and 4: s_i packets of ps_i bytes, on the wire. §2.5: "the amount of data
        // sent so far", which the sequence number says at every switch, whatever has passed there.
        flow.bytes = if terms.by_sequence {
            let sent = u64::from(packet.seq) + 1;
            flow.bytes.max(u32::try_from(sent * u64::from(packet.size)).unwrap_or(u32::MAX))
        } else {
            flow.bytes.saturating_add(u32::from(packet.size))
        };
        let flowlet = now.since(flow.last) > terms.gap;
        flow.signs = flow.signs & !FLOWLET | if flowlet { FLOWLET } else { 0 };
        flow.last = now;
    }

    /// The flow's latest packet leaves by `port`: a long flow is counted there, and nowhere else.
    #[inline]
    pub(super) fn forwarded(&mut self, slot: usize, port: PortId, ports: &mut PortTable) {
        let long = self.is_long(slot);
        let flow = &mut self.flows[slot];
        if flow.port != port {
            flow.leave(ports);
            flow.port = port;
            flow.join(ports);
        }
        if !long {
            return;
        }
        if !flow.has(ACTIVE) {
            flow.signs |= ACTIVE;
            ports.of(port).active += 1;
        }
        if !flow.has(COUNTED) {
            flow.signs |= COUNTED;
            ports.of(port).total += 1;
            self.long.push(slot as u32);
        }
    }

    /// Makes up for the refreshes that are due, if any are.
    #[inline]
    pub(super) fn refresh(&mut self, now: Time, ports: &mut PortTable) {
        if now >= self.next {
            self.make_up(now, ports);
        }
    }

    /// Refreshes happen at multiples of the RTT; `now` is at the last of those due or after it.
    #[cold]
    fn make_up(&mut self, now: Time, ports: &mut PortTable) {
        let rtt = self.terms.rtt.0;
        self.refreshed = Time(now.0 - now.0 % rtt);
        self.next = self.refreshed + self.terms.rtt;
        let mut at = 0;
        while let Some(&slot) = self.long.get(at) {
            let flow = &mut self.flows[slot as usize];
            let idle = self.refreshed.since(flow.last);
            if idle > self.terms.forget {
                flow.leave(ports);
                *flow = Flow::UNUSED;
                self.long.swap_remove(at);
                continue;
            }
            // Nothing since the refresh before (§2.8: "active in the current RTT").
            if idle > self.terms.rtt && flow.has(ACTIVE) {
                flow.signs &= !ACTIVE;
                ports.of(flow.port).active -= 1;
            }
            at += 1;
        }
    }

    /// Lines that hold a flow.
    pub(super) fn occupied(&self, now: Time) -> u32 {
        let terms = self.terms;
        let refreshed = Time(now.0 - now.0 % terms.rtt.0);
        let held = |flow: &&Flow| flow.bytes > 0 && refreshed.since(flow.last) <= terms.forget;
        self.flows.iter().filter(held).count() as u32
    }

    pub(super) fn slots(&self) -> u32 {
        self.flows.len() as u32
    }
}
