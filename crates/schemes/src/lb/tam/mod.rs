//! TAM: short flows take the fastest path and stay, long flows' flowlets go where the fewest long
//! flows are, and wherever a short flow is, the long ones are marked until it has gone.
//!
//! Source: Huang, Zhang, Hu, Zou, Luan, Hu, Ruan, Zhang, "Coarse-Grained Load Balancing with
//! Traffic-Aware Marking in Data Center Networks", 2022, §2: Algorithm 1 (cited by line), Table 1
//! (marking), Table 2 (flow table), Table 3 (port table). A flow is short for its first 100 KB
//! (§2.5), by its sequence numbers, so that it is long at a switch that it has just moved to. At
//! the source's leaf, a short flow's first packet takes the port with the lowest sum of queueing
//! delay here and propagation delay to the destination's leaf; ties go to the port with the fewest
//! long flows, then to a random one (§2.6). A long flow moves only between flowlets, to the port
//! with the fewest long flows; ties go to the lowest delay, then to a random port (§2.7). At every
//! switch, a long flow's packet is marked if a short flow is active on its port or if the queue has
//! reached k* = C x RTT / 7; a short flow's packet if it has reached DCTCP's K (§2.4.1).
//!
//! One object is both: the balancer, and with `aqm.scheme = "balancer"` the queue manager of all its
//! switch's ports, which has the flow's type from the same table (the bundle `tam` names both).
//! Beside another queue manager it routes and does not mark.
//!
//! The parts: `flows` (Table 2), `ports` (Table 3), `routing` (lines 4 to 31), `marking` (lines 32 to
//! 38).
//!
//! State per switch: the flow table, 16 bytes an entry (8 of time, 4 of bytes, 2 of port, the signs)
//! and 4 for its place in the list of long flows: 1.25 MiB for the default 2^16 entries; the port
//! table, 48 bytes a port. Cost per packet: a hash and an entry, twice (thrice at the source's leaf),
//! one line of the port table; at the source's leaf a scan of the live ports for the flow's own; a look
//! at every live port for a short flow's first packet and a long flow's flowlet; once per RTT a walk
//! over the long flows. No division per packet, random numbers for ties alone.
//!
//! Where the source contradicts itself:
//! - Algorithm 1 marks long packets only and compares with `>`; Table 1 marks short ones too and
//!   compares with `>=`; §2.4.1 says both that "the marking operation in TAM is only executed for long
//!   flows" and that short flows are marked at DCTCP's threshold. Here Table 1 holds, its "threshold"
//!   being k* for long flows and K for short ones. The tests name the meaning in each of its rows.
//! - 100 KB exactly are neither `< 100 KB` (line 4) nor `> 100 KB` (line 18): short.
//! - Ties between long flows' ports: transmission delay (line 24) or queueing delay (§2.7): `ties`.
//! - "The least number of long flows": those "in present" (line 20) or "the least total number"
//!   (§2.7); Table 3 has a column for each: `long_flows`.
//!
//! Unspecified in the source: see `unspecified` below. Two things that decide outcomes:
//! - The flowlet gap. DCTCP, marked on every packet, still sends one per round trip; with a gap of
//!   500 us and an RTT of 250 us its flows hardly ever pause, so they are placed once, as short flows,
//!   and rarely move. In the paper's small fabric 100 long flows of 10 MB, ten at a time beside short
//!   ones, changed their paths 68 times; 4,000 web-search flows at 40 Gb/s at load 0.8, once.
//! - The hosts. TAM is "only deployed on the switch"; a NIC cannot mark by what switches know. But where
//!   all links are alike, a flow's queue is at its NIC: with drop-tail NICs those 100 flows lost 202
//!   packets there and none at switches, while the paper's TAM loses none (Fig. 7b). So NICs mark
//!   everything at K, as they do beside the balancers that TAM is compared with; then nothing is lost.
//!
//! Provenance: paper.

mod counts;
mod flows;
mod marking;
mod on_p4;
mod ports;
mod routing;

use super::hash::by_hash;
use super::{Arrival, Entry, LoadBalancer, Needs, Roles};
use crate::aqm::Aqm;
use crate::aqm::ecn_threshold::marks_at;
use crate::p4::{ARITHMETIC, Arithmetic};
use crate::{
    Amount, Context, Demands, Footprint, Inspect, Kind, Meaning, Param, ParamError, Params, Paths,
    Provenance, SchemeInfo, SwitchEnv, parameters, words,
};
use flows::{Flow, FlowTable, Terms};
use leafspine_core::{Bytes, PacketMeta, PortId, Rate, Span, Time, TorId};
use on_p4::OnP4;
use ports::{FAST, PortState, PortTable, Thresholds};
use std::mem::size_of;
use std::sync::Arc;

struct Tam {
    flows: FlowTable,
    ports: PortTable,
    /// This switch's number among those with hosts, and every host's.
    tor: Option<TorId>,
    tor_of: Arc<[TorId]>,
    seed: u64,
    count_idle: bool,
    tie_by_queueing: bool,
    /// Ports among which only chance decides.
    ties: Vec<PortId>,
}

impl Tam {
    /// Whether this is the leaf under which the packet's source is.
    #[inline]
    fn is_source_leaf(&self, packet: &PacketMeta) -> bool {
        let source = || self.tor_of.get(usize::from(packet.src().0));
        self.tor.is_some_and(|tor| source() == Some(&tor))
    }
}

impl LoadBalancer for Tam {
    fn needs(&self) -> Needs {
        Needs { arrived: true, ..Needs::default() }
    }

    fn arrived(&mut self, packet: &mut PacketMeta, _: PortId, cx: &mut Context<'_>) -> Arrival {
        // Algorithm 1, line 2.
        if packet.is_data() {
            self.flows.refresh(cx.now, &mut self.ports);
            self.flows.arrived(packet, cx.now);
        }
        Arrival::Forward
    }

    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        if !packet.is_data() || !self.is_source_leaf(packet) {
            return by_hash(packet, paths, self.seed);
        }
        let slot = self.flows.slot(packet);
        let port = self.route(slot, paths, cx);
        self.flows.forwarded(slot, port, &mut self.ports);
        port
    }

    fn roles(&mut self) -> Roles<'_> {
        Roles::Aqm(self)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Tam {
    fn footprint(&self, now: Time) -> Footprint {
        // A slot has its flow's line, and a place among the slots of long flows.
        let (flow, port) = (size_of::<Flow>() + size_of::<u32>(), size_of::<PortState>());
        let slots = self.flows.slots();
        Footprint {
            bytes: u64::from(slots) * flow as u64 + (self.ports.ports.len() * port) as u64,
            per_flow: flow as u32,
            per_port: port as u32,
            slots,
            occupied: self.flows.occupied(now),
        }
    }

    fn slot(&self, packet: &PacketMeta) -> Option<u32> {
        packet.is_data().then(|| self.flows.slot(packet) as u32)
    }
}

/// The flowlet gap of a switch whose fastest port has this rate.
fn gap_by_rate(fastest: Rate) -> Span {
    if fastest >= FAST { Span::from_micros(100) } else { Span::from_micros(500) }
}

fn flowlet_gap(settings: &Settings, env: &SwitchEnv) -> Span {
    let fastest = env.ports.iter().map(|port| port.rate).max().unwrap_or_default();
    settings.gap.unwrap_or_else(|| gap_by_rate(fastest))
}

words! {
    enum Size {
        Sent = "sent",
        Seen = "seen",
    }
    enum LongFlows {
        Active = "active",
        Total = "total",
    }
    enum Ties {
        Transmission = "transmission",
        Queueing = "queueing",
    }
}

parameters! {
    struct Settings {
        short: Bytes = Param::new(
            Kind::Bytes(1, 4_000_000_000),
            "100KB",
            "Most bytes on the wire, headers included, that a flow has sent while it is short.",
        ),
        size: Size = Param::new(
            Size::KIND,
            "sent",
            "What a flow's size is: what it has sent by the packet's sequence number, or what this \
             switch has seen of it.",
        ),
        rtt: Option<Span> = Param::new(
            Kind::SpanOr(1, u64::MAX, "base"),
            "1rtt",
            "The RTT of k*, of the tables' refreshes and of a short flow's presence; base: \
             that of the empty fabric.",
        ),
        divisor: u64 = Param::new(
            Kind::Int(1, 1_000_000),
            "7",
            "Long packets are marked from a backlog of k* = port rate x rtt / divisor on.",
        ),
        threshold: Option<Amount> = Param::new(
            Kind::AmountOr("by-rate"),
            "max(20pkt, 1bdp)",
            "Short packets are marked from this backlog K on; by-rate: 20pkt at ports below \
             10 Gb/s, 65pkt at others.",
        )
        .means(Meaning::Backlog),
        gap: Option<Span> = Param::new(
            Kind::SpanOr(1, u64::MAX, "by-rate"),
            "2rtt",
            "A longer pause ends a long flow's flowlet; by-rate: 500us where the switch's \
             fastest port is below 10 Gb/s, 100us at others.",
        )
        .means(Meaning::FlowletGap),
        long_flows: LongFlows = Param::new(
            LongFlows::KIND,
            "active",
            "Which long flows of a port count: those active in the last RTT, or all that are \
             remembered.",
        ),
        ties: Ties = Param::new(
            Ties::KIND,
            "transmission",
            "What decides between ports with equally few long flows: queueing and propagation \
             delay, or the queueing delay alone.",
        ),
        forget: u64 = Param::new(
            Kind::Int(1, 1_000_000),
            "10",
            "A flow is forgotten after so many refreshes without a packet, but not within two \
             flowlet gaps.",
        ),
        entries: usize = Param::new(
            Kind::Int(1, 1 << 24),
            "65536",
            "Entries of the flow table; flows that hash to one entry share it.",
        ),
        arithmetic: Arithmetic = ARITHMETIC,
    }
}

fn made(settings: &Settings, env: &SwitchEnv) -> Tam {
    let rtt = settings.rtt.unwrap_or(env.base_rtt).max(Span(1));
    let gap = flowlet_gap(settings, env);
    let refreshes = Span(rtt.0.saturating_mul(settings.forget));
    let terms = Terms {
        short: settings.short.0 as u32,
        by_sequence: settings.size == Size::Sent,
        rtt,
        // A flow that is forgotten before its flowlet has ended would be new, not a flowlet.
        forget: refreshes.max(Span(gap.0.saturating_mul(2))),
        gap,
    };
    let thresholds = Thresholds { rtt, divisor: settings.divisor, short: settings.threshold };
    Tam {
        flows: FlowTable::new(settings.entries, env.hash_seed, terms),
        ports: PortTable::new(&env.ports, thresholds),
        tor: env.tor,
        tor_of: env.tor_of.clone(),
        seed: env.hash_seed,
        count_idle: settings.long_flows == LongFlows::Total,
        tie_by_queueing: settings.ties == Ties::Queueing,
        ties: Vec::with_capacity(env.ports.len()),
    }
}

fn build(params: &Params, env: &SwitchEnv) -> Result<Box<dyn LoadBalancer>, ParamError> {
    let settings = Settings::read(params)?;
    match settings.arithmetic {
        Arithmetic::Exact => Ok(Box::new(made(&settings, env))),
        Arithmetic::P4 => Ok(Box::new(OnP4::new(&settings, env)?)),
    }
}

/// What manages the port of a host: it marks everything at K.
fn host_aqm(params: &Params, env: &SwitchEnv, port: PortId) -> Result<Box<dyn Aqm>, ParamError> {
    let settings = Settings::read(params)?;
    let rate = env.ports[usize::from(port.0)].rate;
    Ok(marks_at(ports::short_threshold(settings.threshold, rate)))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "tam",
        summary: "Routes short flows by delay and long flowlets by the number of long flows; with \
                  aqm \"balancer\" marks long flows wherever short ones are.",
        source: "Huang et al., Coarse-Grained Load Balancing with Traffic-Aware Marking in Data \
                 Center Networks, 2022",
        provenance: Provenance::Paper,
        unspecified: &[
            "Table 1's threshold is k* for long flows and DCTCP's K for short ones; Algorithm 1 marks long \
             flows only. Both are reached at >= by what waits, without the packet in transmission.",
            "K is a bandwidth-delay product, 20 packets at least, the flowlet gap two base round trips: \
             neither is stated. `by-rate` takes DCTCP's own K, 20 packets below 10 Gb/s and 65 from there \
             on, and a gap of 500 us and 100 us.",
            "A flow of exactly 100 KB is short. How a switch knows what a flow has sent (§2.5) if it has not \
             seen all of it: by the sequence number, in packets of this one's size, itself included (Algorithm 1: \
             s_i * ps_i). `size = \"seen\"` counts wire bytes that have passed here, retransmissions too: a flow that \
             moves, or was forgotten, is short again.",
            "Routing is the source leaf's, marking every switch's; a switch with a choice elsewhere hashes.",
            "ACKs, SYN and FIN follow the hash: they are no flow and show no activity.",
            "The RTT of k*, of the refreshes and of a short flow's activity is that of the empty fabric.",
            "A short flow is active on a port for one RTT after each of its packets.",
            "A long flow is inactive after a refresh that finds it idle for a whole RTT, and forgotten after \
             ten; not within two flowlet gaps, or at 40 Gb/s no flow would have a second flowlet.",
            "Fewest long flows means active ones; their ties go to the transmission delay (Algorithm 1), not \
             the queueing delay (§2.7).",
            "A flow that turns long keeps its port until its next flowlet; a flow whose port has gone is \
             routed again at once.",
            "The propagation delay of a path is the sum of its links', known from the routing tables.",
            "Hosts' own ports mark everything at K: a NIC does not run TAM.",
            "Flows that hash to one entry of the flow table share it.",
        ],
        params: Settings::PARAMS,
        demands: Demands::NONE,
    },
    build,
    edge: None,
    host_aqm: Some(host_aqm),
};

#[cfg(test)]
mod tests;
