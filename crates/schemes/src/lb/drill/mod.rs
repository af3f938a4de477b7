//! DRILL: every packet takes the shortest of a few queues: some drawn at random, one remembered.
//!
//! Source: Ghorbani, Yang, Godfrey, Ganjali, Firoozshahian, "DRILL: Micro Load Balancing for Low-latency
//! Data Center Networks", SIGCOMM 2017, §3. `DRILL(d, m)`: for each packet a forwarding engine draws `d`
//! of the possible ports and compares their queues and those of the `m` ports that were least loaded among
//! the last samples; the packet takes the shortest, and the engine remembers the `m` shortest (§3.2).
//! All that it looks at is local.
//!
//! In asymmetric fabrics (§3.4) paths of one destination are grouped into components whose paths are
//! alike; flows are hashed to components in proportion to their capacity, packets are spread within.
//! Here a component is the ports behind which there is equal capacity.
//!
//! State per switch: 2 bytes for each remembered port, `m` of them per engine and destination leaf, and with a
//! clone delay 4 a port to a switch. Cost
//! per packet: `d` random numbers and `d + m` backlogs, a walk over the ports' capacities; where these
//! differ, a hash and a second walk.
//!
//! Unspecified in the source or done differently here, and what was chosen:
//! - A queue's length is what waits and what is in transmission, in bytes (§3.2 speaks of occupancy).
//! - Samples are drawn without replacement; a tie goes to the one drawn first, and to a sample before a
//!   remembered port, so that idle ports share packets evenly.
//! - What is remembered are the shortest queues as they were seen, before the packet is added.
//! - Engines share no memory; a packet's engine follows from the port by which it came. The paper's
//!   engines work at the same time and see queues late; here one decides after the other.
//! - Components: §3.4 builds them from the whole fabric (the Quiver), so that also paths with equal capacity
//!   part when other leaves' traffic on them differs, as behind a failed link elsewhere. A switch here
//!   knows capacities only, and does not tell those apart. Ports of all components share the memory; one of
//!   another component than the packet's is passed over.
//! - ACKs and connection packets are spread like data.
//! - Queues are read as they are. With `clone_delay` (not in the source: how QALL's authors run DRILL on
//!   programmable switches, `reported.rs`) a queue's length is what waited behind a packet that left it so long
//!   ago.
//!
//! Provenance: paper.

mod reported;

use super::age::mean_age;
use super::hash::{flow_hash, region};
use super::{Arrival, Entry, LoadBalancer, Needs};
use crate::{
    Context, Demands, Footprint, Inspect, Kind, Meaning, Neighbour, Param, ParamError, Params,
    Paths, PortInfo, Provenance, SchemeInfo, SwitchEnv, parameters, words,
};
use leafspine_core::{PacketMeta, PortId, Span, Time};
use reported::ReportedLength;

/// A register with the length of a queue, at the ingress.
const LENGTH_BYTES: u32 = 4;

/// No port has this number.
const NONE: PortId = PortId(u16::MAX);

struct Drill {
    seed: u64,
    samples: usize,
    /// Whether flows are hashed to components (§3.4).
    by_capacity: bool,
    engines: usize,
    /// The engine of the packet in hand.
    engine: usize,
    tors: usize,
    remembers: usize,
    /// `remembers` ports per engine and destination, shortest first.
    memory: Vec<PortId>,
    /// The ports that the packet may take, while one is chosen: those drawn stand first.
    ports: Vec<PortId>,
    /// Queue lengths and ports that are compared, shortest first.
    seen: Vec<(u64, PortId)>,
    /// Per port, with a clone delay: of those that may have to be chosen among, not those of hosts.
    reported: Vec<Option<ReportedLength>>,
}

/// §3.4: the ports of the flow's component: those with the capacity of the port that a hash weighted by
/// capacity gives.
fn component(paths: &Paths<'_>, packet: &PacketMeta, seed: u64) -> Option<u32> {
    let first = *paths.capacity.first()?;
    if paths.capacity.iter().all(|capacity| *capacity == first) {
        return None;
    }
    let total: u64 = paths.capacity.iter().map(|capacity| u64::from(*capacity)).sum();
    let mut point = region(flow_hash(packet, seed), total as usize) as u64;
    paths.capacity.iter().copied().find(|capacity| {
        let here = point < u64::from(*capacity);
        point = point.saturating_sub(u64::from(*capacity));
        here
    })
}

impl Drill {
    /// Fills `ports` with those that `packet` may take.
    fn narrow(&mut self, packet: &PacketMeta, paths: &Paths<'_>) {
        self.ports.clear();
        match self.by_capacity.then(|| component(paths, packet, self.seed)).flatten() {
            None => self.ports.extend_from_slice(paths.ports),
            Some(wanted) => {
                let alike = paths.ports.iter().zip(paths.capacity).filter(|(_, c)| **c == wanted);
                self.ports.extend(alike.map(|(port, _)| *port));
            }
        }
    }

    /// Looks at `port`'s queue, and sorts it in behind those that are no longer.
    fn look(&mut self, port: PortId, cx: &mut Context<'_>) {
        let length = match self.reported.get_mut(usize::from(port.0)) {
            Some(Some(reported)) => reported.length(cx.now),
            _ => {
                let backlog = cx.ports.backlog(port);
                u64::from(backlog.bytes) + u64::from(backlog.in_service)
            }
        };
        let at = self.seen.partition_point(|(seen, _)| *seen <= length);
        self.seen.insert(at, (length, port));
    }

    /// §3.2: draws `d` ports, none twice: the first places of a shuffle.
    fn sample(&mut self, cx: &mut Context<'_>) {
        for drawn in 0..self.samples.min(self.ports.len()) {
            let rest = (self.ports.len() - drawn) as u64;
            self.ports.swap(drawn, drawn + cx.rng.below(rest) as usize);
            self.look(self.ports[drawn], cx);
        }
    }

    /// §3.2: the ports remembered from the last packets this way, if the packet may take them.
    fn recall(&mut self, first: usize, cx: &mut Context<'_>) {
        for at in first..first + self.remembers {
            let port = self.memory[at];
            let new = self.seen.iter().all(|(_, seen)| *seen != port);
            if new && self.ports.contains(&port) {
                self.look(port, cx);
            }
        }
    }
}

impl LoadBalancer for Drill {
    fn needs(&self) -> Needs {
        let leaving = !self.reported.is_empty();
        Needs { arrived: self.engines > 1, leaving, ..Needs::default() }
    }

    fn arrived(&mut self, _: &mut PacketMeta, from: PortId, _: &mut Context<'_>) -> Arrival {
        self.engine = usize::from(from.0) % self.engines;
        Arrival::Forward
    }

    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        let memory = (self.engine * self.tors + usize::from(paths.to.0)) * self.remembers;
        self.narrow(packet, paths);
        self.seen.clear();
        self.sample(cx);
        self.recall(memory, cx);
        for kept in 0..self.remembers {
            self.memory[memory + kept] = self.seen.get(kept).map_or(NONE, |(_, port)| *port);
        }
        // §3.2: the shortest queue of all that were compared.
        self.seen.first().map_or(paths.ports[0], |(_, port)| *port)
    }

    fn leaving(&mut self, packet: &mut PacketMeta, to: PortId, at: Time, cx: &mut Context<'_>) {
        if let Some(Some(reported)) = self.reported.get_mut(usize::from(to.0)) {
            reported.leaving(at, cx.now, packet.size, cx.ports.backlog(to).bytes);
        }
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Drill {
    fn footprint(&self, _: Time) -> Footprint {
        let per_port = if self.reported.is_empty() { 0 } else { LENGTH_BYTES };
        let reported = self.reported.iter().flatten().count() as u64 * u64::from(per_port);
        let bytes = (self.memory.len() * size_of::<PortId>()) as u64 + reported;
        Footprint { bytes, per_port, ..Footprint::default() }
    }

    /// Since the packets left of which the last clones have reported.
    fn information_age(&self, now: Time) -> Option<Span> {
        mean_age(self.reported.iter().flatten().filter_map(|reported| reported.since(now)), now)
    }
}

words! {
    enum Components {
        Capacity = "capacity",
        None = "none",
    }
}

parameters! {
    struct Settings {
        d: usize = Param::new(
            Kind::Int(1, 64),
            "2",
            "Ports drawn for each packet.",
        ),
        m: usize = Param::new(
            Kind::Int(0, 64),
            "1",
            "Ports remembered for the next packet.",
        ),
        engines: usize = Param::new(
            Kind::Int(1, 64),
            "1",
            "Forwarding engines of a switch, each with a memory of its own.",
        ),
        components: Components = Param::new(
            Components::KIND,
            "capacity",
            "How paths of unlike capacity are handled: flows hashed to groups of equal capacity, \
             by weight, or all paths taken together.",
        ),
        clone_delay: Span = Param::new(
            Kind::Span(0, 1_000_000_000_000),
            "0us",
            "Time from a packet's departure until the bytes that it left waiting are known; 0: queues are \
             read as they are.",
        )
        .means(Meaning::Period),
    }
}

fn build(params: &Params, env: &SwitchEnv) -> Result<Box<dyn LoadBalancer>, ParamError> {
    let settings = Settings::read(params)?;
    let (samples, remembers) = (settings.d, settings.m);
    let (engines, tors) = (settings.engines, usize::from(env.tors));
    let clone_delay = settings.clone_delay;
    let reported = |info: &PortInfo| {
        matches!(info.neighbour, Neighbour::Switch(..)).then(|| ReportedLength::new(clone_delay))
    };
    let late = clone_delay > Span::ZERO;
    Ok(Box::new(Drill {
        seed: env.hash_seed,
        samples,
        by_capacity: settings.components == Components::Capacity,
        engines,
        engine: 0,
        tors,
        remembers,
        memory: vec![NONE; engines * tors * remembers],
        ports: Vec::with_capacity(env.ports.len()),
        seen: Vec::with_capacity(samples + remembers),
        reported: if late { env.ports.iter().map(reported).collect() } else { Vec::new() },
    }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "drill",
        summary: "Sends every packet by the shortest of d random queues and the m remembered best.",
        source: "Ghorbani et al., DRILL, SIGCOMM 2017, §3.2 and §3.4",
        provenance: Provenance::Paper,
        unspecified: &[
            "A queue's length is what waits and what is in transmission, in bytes.",
            "Samples are drawn without replacement; ties go to the first drawn, to a sample before a \
             remembered port.",
            "The shortest queues are remembered per destination leaf, as seen before the packet joins.",
            "Engines decide one after the other and see queues as they are.",
            "Components (§3.4) are ports with equal capacity behind them; paths of equal capacity that \
             differ by other leaves' traffic, as after a failure elsewhere, are not told apart.",
            "ACKs and connection packets are spread like data.",
            "Queues are read at once; clone_delay (QALL's Table II: 621us) is how late they are known where \
             each departing packet tells of its queue by a clone. What is in transmission is not in such a report.",
        ],
        params: Settings::PARAMS,
        demands: Demands::NONE,
    },
    build,
    edge: None,
    host_aqm: None,
};

#[cfg(test)]
mod tests;
