//! QALL: a port at random, the likelier the less congested its queue's behaviour says it is.
//!
//! Source: Liu, Cai, Ling, Zhang, Chen, "QALL: Distributed Queue-Behavior-Aware Load Balancing Using
//! Programmable Data Planes", IEEE TNSM 21(2), 2024: Algorithms 1-3, §III-B, §IV-B to §IV-E, §V.
//!
//! Per egress port the switch knows L, the occupancy of its queue in percent; T, the time between the
//! last two dequeues; V, whether L grows. From these, at the ingress:
//! * `C = L (tau - T) V` (eq. 4), or a polynomial of L and T fitted to egress traffic (eqs. 8-10);
//! * `W = Cmax - C` (eq. 6), Cmax the largest that C can be;
//! * a packet, or with `granularity = "flowlet"` each new flowlet, takes port i with probability
//!   `Wi / sum W` (eq. 5): one number drawn from a grid of `sum W` cells (Algorithm 2).
//!
//! The egress pipeline has L, T and V, the ingress pipeline decides: a clone packet of ten bytes (Fig. 6)
//! loops back with them at the first dequeue after `update_period` (Algorithm 3), per port.
//!
//! `index.rs` has C and W, `port.rs` collection and return. A FIFO port announces a dequeue as soon as
//! the packet is queued, with its future time. That time alone decides whether state returns, so the
//! returns are kept in a ring of fixed size until they reach the ingress, and no port needs an event of
//! its own per dequeue. The ring has room for all returns within the longest queueing and clone delay.
//!
//! State per switch: 120 bytes a port, of which the paper's registers (4 times of 48 bits, occupancies and
//! trends, at both pipelines) would be about 40; the flowlet table has 16 bytes an entry, 1 MiB for 2^16
//! entries, none with packets. The returns on their way are no state of a switch and not counted. Cost per
//! packet: two comparisons and an addition a port, one random number, one look at the chosen port's backlog.
//! Divisions happen once per return, that is once per `update_period` and port, and for ports gone idle.
//!
//! The occupancy that a packet finds travels with it through the switch, as BMv2's `enq_qdepth` does; here in a
//! word of the packet's header, which costs nothing on the wire.
//!
//! Unspecified or contradictory in the source: see `unspecified` below. Beyond it:
//! * Eq. 3 lacks parentheses; `L (1 - T/tau) V` is meant, as eq. 4 has it.
//! * Eq. 13 has 188 where eq. 10 has 18.873; the coefficients here are those of eqs. 8-10.
//! * The fits are not monotone. Eq. 9 rates a full busy port (L = 1, T = 0: -0.10) better than an empty one
//!   (0.175), eq. 10 falls between L = 0.23 and 0.78 at T = 0, and is -62 at L = T = 1, beside which all
//!   other differences vanish. They are as printed; `leafspine fit-qall` makes others.
//! * With tau = 10 ms, a packet time of 30 us (400 Mb/s) takes 0.3 % off C: the derived index is L and its
//!   trend, until a port goes idle.
//!
//! Provenance: paper.

mod index;
mod on_p4;
mod port;

use super::age::mean_age;
use super::flowlets::{self, Flowlets};
use super::{Entry, LoadBalancer, Needs};
use crate::p4::{ARITHMETIC, Arithmetic, ControlPlane, in_ticks};
use crate::{
    Amount, Backlog, Context, Demands, Footprint, Inspect, Kind, Meaning, Neighbour, Param,
    ParamError, Params, Paths, PortInfo, Provenance, SchemeInfo, SwitchEnv, parameters, words,
};
use index::{Index, MOST_MICROS, micros};
use leafspine_core::{PacketMeta, PortId, Span, Time};
use on_p4::OnP4;
use port::{PortState, Rules};

struct Qall {
    index: Index,
    rules: Rules,
    idle_growth: bool,
    in_bytes: bool,
    ports: Vec<PortState>,
    /// Weights of the ports on offer, while one is chosen.
    grid: Vec<u64>,
    /// With `arithmetic = "p4"`.
    p4: Option<OnP4>,
    /// With flowlet granularity.
    flowlets: Option<Flowlets>,
}

/// The word of the packet's header that holds what waited when the packet was queued.
const FOUND: usize = 1;

impl Qall {
    /// What waits, in the buffer's unit.
    fn waiting(in_bytes: bool, backlog: Backlog) -> u32 {
        if in_bytes { backlog.bytes } else { backlog.packets }
    }

    /// Algorithm 2: a cell of the grid, and whose it is.
    fn draw(&mut self, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        self.grid.clear();
        let mut total = 0;
        for id in paths.ports {
            let weight = self.weight(*id, cx);
            // Line 3: W_total.
            total += weight;
            self.grid.push(weight);
        }
        if total == 0 {
            return paths.ports[cx.rng.below(paths.ports.len() as u64) as usize];
        }
        // Line 4: Grid_ID, here from 0. Line 5: the port it belongs to.
        let mut cell = cx.rng.below(total);
        for (id, weight) in paths.ports.iter().zip(&self.grid) {
            match cell.checked_sub(*weight) {
                Some(beyond) => cell = beyond,
                None => return *id,
            }
        }
        paths.ports[0]
    }

    /// The port's weight as the ingress knows it now.
    #[inline]
    fn weight(&mut self, id: PortId, cx: &mut Context<'_>) -> u64 {
        let Some(port) = self.ports.get_mut(usize::from(id.0)) else { return 0 };
        if port.receive(id.0 as u8, cx.now, &self.rules) {
            reweigh(port, &self.index);
        }
        let idle = port.idle_for(cx.now);
        if self.idle_growth && idle >= port.fades_after && cx.ports.free_at(id) <= cx.now {
            let interval = micros(idle).min(self.rules.tau);
            return self.index.weight(index::Behaviour { interval, ..port.known });
        }
        port.weight
    }

    /// Algorithm 1 lines 11-20: a flowlet keeps its port, a new one draws.
    fn of_flowlet(
        &mut self,
        packet: &PacketMeta,
        paths: &Paths<'_>,
        cx: &mut Context<'_>,
    ) -> PortId {
        let slot = self.slot(packet).map_or(0, |slot| slot as usize);
        let kept = self.flowlets.as_ref().and_then(|table| table.under_way(slot, cx.now));
        let port = match kept.filter(|port| paths.ports.contains(port)) {
            Some(port) => port,
            None => self.draw(paths, cx),
        };
        if let Some(table) = &mut self.flowlets {
            table.note(slot, port, cx.now);
        }
        port
    }
}

/// Computes the port's weight from what the ingress knows, and from which idle time on it changes.
fn reweigh(port: &mut PortState, index: &Index) {
    port.weight = index.weight(port.known);
    port.fades_after = match index.depends_on_interval(port.known) {
        true => Span::from_micros(port.known.interval + 1),
        false => Span::MAX,
    };
}

impl LoadBalancer for Qall {
    fn needs(&self) -> Needs {
        // Every packet's queue is looked at, whether there is a choice or not.
        Needs { leaving: true, every_packet: true, ..Needs::default() }
    }

    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        let port = match paths.ports {
            [first, ..] if self.p4.as_ref().is_some_and(|p4| p4.chooses(*first)) => {
                self.pick_p4(packet, paths, cx)
            }
            [only] => *only,
            _ if self.flowlets.is_some() => self.of_flowlet(packet, paths, cx),
            _ => self.draw(paths, cx),
        };
        packet.header.0[FOUND] = Qall::waiting(self.in_bytes, cx.ports.backlog(port));
        port
    }

    fn leaving(&mut self, packet: &mut PacketMeta, to: PortId, at: Time, cx: &mut Context<'_>) {
        let Some(port) = self.ports.get_mut(usize::from(to.0)) else { return };
        if !port.collects() {
            return;
        }
        let (in_bytes, at_dequeue) = (self.in_bytes, self.rules.at_dequeue);
        let size = if in_bytes { u64::from(packet.size) } else { 1 };
        // §III-B: L is what the packet found when it entered; the other choice, what it leaves.
        let waiting = || match at_dequeue {
            false => u64::from(packet.header.0[FOUND]),
            true => u64::from(Qall::waiting(in_bytes, cx.ports.backlog(to))),
        };
        port.leaving(at, cx.now, size, waiting, &self.rules);
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Qall {
    fn footprint(&self, now: Time) -> Footprint {
        let flowlets = self.flowlets.as_ref().map(|table| table.footprint(now)).unwrap_or_default();
        let per_port = PortState::BYTES;
        let ports = self.ports.len() as u64 * u64::from(per_port);
        Footprint { bytes: flowlets.bytes + ports, per_port, ..flowlets }
    }

    /// Since the dequeues that the last clones have reported.
    fn information_age(&self, now: Time) -> Option<Span> {
        mean_age(self.ports.iter().filter_map(|port| port.known_since(now, &self.rules)), now)
    }

    fn slot(&self, packet: &PacketMeta) -> Option<u32> {
        let table = self.flowlets.as_ref()?;
        let slot = self.p4.as_ref().map_or_else(|| table.slot(packet), |p4| p4.slot(packet));
        Some(slot as u32)
    }

    fn control_plane(&self) -> Option<ControlPlane> {
        self.p4.as_ref().map(|p4| self.control(p4))
    }
}

words! {
    enum Variant {
        Derived = "derived",
        Linear = "linear",
        Poly2 = "poly2",
        Poly3 = "poly3",
    }
    enum Granularity {
        Packet = "packet",
        Flowlet = "flowlet",
    }
    enum OccupancyAt {
        Enqueue = "enqueue",
        Dequeue = "dequeue",
    }
    enum TrendSince {
        Return = "return",
        Packet = "packet",
    }
}

parameters! {
    struct Settings {
        variant: Variant = Param::new(
            Variant::KIND,
            "derived",
            "Congestion index: eq. 4, or the fit of degree 1, 2 or 3 (eqs. 8-10).",
        ),
        granularity: Granularity = Param::new(
            Granularity::KIND,
            "packet",
            "What draws a port: every packet, or every flowlet.",
        ),
        gap: Span = Param {
            doc: "Flowlet timeout (T_inter, 10 ms in the paper): a longer pause between a flow's packets \
                  ends its flowlet.",
            only: Some(("granularity", &["flowlet"])),
            ..flowlets::GAP
        },
        entries: usize = flowlets::ENTRIES,
        tau: Span = Param::new(
            Kind::Span(1_000_000, MOST_MICROS * 1_000_000),
            "max(10us, 100rtt)",
            "Longest dequeue interval that counts, in whole microseconds.",
        ),
        growth_weight: u8 = Param::new(
            Kind::Int(1, 255),
            "2",
            "V while the occupancy grows; it is 1 while it shrinks. 1 leaves the trend out.",
        ),
        update_period: Span = Param::new(
            Kind::Span(1_000_000, u64::MAX),
            "10rtt",
            "State returns at the first dequeue later than this after the last return (T_b).",
        )
        .means(Meaning::Period),
        clone_delay: Span = Param::new(
            Kind::Span(0, 1_000_000_000_000),
            "0us",
            "Time from that dequeue until the ingress knows.",
        )
        .means(Meaning::Period),
        occupancy_at: OccupancyAt = Param::new(
            OccupancyAt::KIND,
            "enqueue",
            "Whether L is what a packet found when it was queued or leaves when it is sent.",
        ),
        trend_since: TrendSince = Param::new(
            TrendSince::KIND,
            "return",
            "Whether L grows (V) since the return of state before, or since the packet before; with occupancy_at \
             = \"dequeue\" always the former.",
        )
        .quiet(),
        idle_growth: bool = Param::new(
            Kind::Bool,
            "true",
            "Whether the interval of an idle port grows until its next dequeue.",
        ),
        coefficients: Vec<f64> = Param::new(
            Kind::Numbers(10),
            "[]",
            "A refit's: 1, L, T (linear), L², LT, T² (poly2), L³, L²T, LT², T³ (poly3); none: the paper's.",
        ),
        normalise: Vec<f64> = Param::new(
            Kind::Numbers(4),
            "[]",
            "A refit's lowest and highest L (percent) and T (us), which become 0 and 1; none: 0, 100, 0, tau.",
        ),
        arithmetic: Arithmetic = ARITHMETIC,
    }
}

/// Returns that can be on their way from a port at once: one a period in the longest queueing delay (but
/// no more than packets) and in the clone delay, and those at the edges.
fn most_returns(info: &PortInfo, env: &SwitchEnv, rules: &Rules) -> usize {
    const MOST: u64 = 1 << 16;
    if matches!(info.neighbour, Neighbour::Host(_)) {
        return 0;
    }
    let bytes = env.buffer.in_bytes(env.mtu).saturating_add(u64::from(env.mtu));
    let packets = match env.buffer {
        Amount::Packets(packets) => u64::from(packets),
        Amount::Bytes(bytes) => bytes / 40,
    };
    let period = rules.update_period.0.max(1);
    let queued = (info.rate.time_for(bytes).0 / period).min(packets);
    (queued + rules.clone_delay.0 / period + 2).min(MOST) as usize
}

fn rules(settings: &Settings, env: &SwitchEnv) -> Rules {
    let p4 = settings.arithmetic == Arithmetic::P4;
    Rules {
        tau: micros(settings.tau),
        update_period: if p4 { in_ticks(settings.update_period) } else { settings.update_period },
        clone_delay: settings.clone_delay,
        growth_weight: settings.growth_weight,
        buffer: match env.buffer {
            Amount::Packets(packets) => u64::from(packets),
            Amount::Bytes(bytes) => bytes,
        },
        at_dequeue: settings.occupancy_at == OccupancyAt::Dequeue,
        by_packet: settings.trend_since == TrendSince::Packet
            && settings.occupancy_at == OccupancyAt::Enqueue,
        p4,
    }
}

fn make(params: &Params, env: &SwitchEnv) -> Result<Qall, ParamError> {
    let settings = Settings::read(params)?;
    let p4 = OnP4::new(&settings, env)?;
    let rules = rules(&settings, env);
    let index = Index::new(&settings, rules.tau)?;
    let port = |info| {
        let mut port = PortState::new(rules.tau, most_returns(info, env, &rules));
        reweigh(&mut port, &index);
        port
    };
    let gap = if rules.p4 { in_ticks(settings.gap) } else { settings.gap };
    let table = || Flowlets::new(env.hash_seed, gap, settings.entries);
    Ok(Qall {
        ports: env.ports.iter().map(port).collect(),
        grid: Vec::with_capacity(env.ports.len()),
        index,
        rules,
        p4,
        idle_growth: settings.idle_growth,
        in_bytes: matches!(env.buffer, Amount::Bytes(_)),
        flowlets: (settings.granularity == Granularity::Flowlet).then(table),
    })
}

fn build(params: &Params, env: &SwitchEnv) -> Result<Box<dyn LoadBalancer>, ParamError> {
    Ok(Box::new(make(params, env)?))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "qall",
        summary: "Draws a port at random, weighted by occupancy, trend and dequeue interval of its queue.",
        source: "Liu et al., QALL, IEEE TNSM 21(2), 2024, §III to §V",
        provenance: Provenance::Paper,
        unspecified: &[
            "L is what the packet that is dequeued found waiting when it was queued, itself not counted, in \
             percent of the buffer, rounded down.",
            "V keeps its value while L stays the same, and is 1 at the start; before a port's second \
             dequeue T is tau.",
            "Since when L has grown or shrunk (§III-B: \"whether the current queue occupancy is formed by an \
             increase from small to large or by a reduction\"): since the state returned before. trend_since = \
             \"packet\" compares it with what the packet before found, which the registers have at every packet \
             (Algorithm 3 line 5), in the buffer's unit and not in percent.",
            "An idle port sends no state. idle_growth is not in the paper: without it a port that was full at its \
             last dequeue counts as full until a packet is drawn to it all the same, however long it has been \
             empty; with it T grows with the idle time, so that C falls to 0 within tau. It matters where gaps \
             between packets are as long as tau; false is the paper's rule.",
            "If all weights are 0, all ports are equally likely.",
            "The fits' normalised L and T are 0..100 % and 0..tau: the data set's bounds are not given.",
            "The fits are evaluated in fixed point: coefficients times 100, truncated, as in eqs. 11-13; \
             L, T and their powers in units of 1/1024, of which the paper says nothing.",
            "Cmax of a fit is its largest value over all L and T, so that no weight is negative; the \
             paper has none.",
            "Eq. 13's 188 is taken for a misprint of 1887 (eq. 10: 18.873).",
            "A flowlet whose port has gone draws a new port at once.",
            "The clone's delay is 0; Table II's decision delay is 615us.",
            "Not a choice, but to be known: in the paper's fabric at load 0.7 occupancies are about 1 %, so \
             weights hardly differ; the variance of queue occupancy is about RPS's, and DRILL's a \
             tenth of both, which is not the order of Table III (a behaviour test).",
        ],
        params: Settings::PARAMS,
        demands: Demands { header_bits: 0, header_words: 1 << FOUND, queues: 1 },
    },
    build,
    edge: None,
    host_aqm: None,
};

#[cfg(test)]
mod tests;
