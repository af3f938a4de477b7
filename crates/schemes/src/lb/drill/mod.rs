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
    Context, Demands, Footprint, Inspect, Kind, Neighbour, Param, ParamError, Params, Paths,
    PortInfo, Provenance, SchemeInfo, SwitchEnv, parameters, words,
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
        ),
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
mod tests {
    use super::*;
    use crate::testing::{FakeLeaf, chi_square, data};
    use crate::{Backlog, Value};
    use leafspine_core::TorId;

    const UPLINKS: u16 = 8;

    fn leaf() -> FakeLeaf {
        FakeLeaf::new(4, UPLINKS, 1)
    }

    fn made(leaf: &FakeLeaf, d: u64, m: u64) -> Box<dyn LoadBalancer> {
        let params = Params::defaults(ENTRY.info.params);
        let params = params.with("d", Value::Int(d)).with("m", Value::Int(m));
        build(&params, &leaf.env).unwrap()
    }

    fn uplink(number: u16) -> PortId {
        PortId(4 + number)
    }

    fn fill(leaf: &mut FakeLeaf, number: u16, bytes: u32, in_service: u32) {
        let port = &mut leaf.ports.ports[usize::from(uplink(number).0)];
        port.queues[0] = Backlog { packets: bytes / 1500, bytes, in_service: 0 };
        port.in_service = in_service;
    }

    fn pick(leaf: &mut FakeLeaf, drill: &mut dyn LoadBalancer, seq: u32) -> PortId {
        leaf.pick_towards(drill, &mut data(0, 5, 1, seq), TorId(1))
    }

    /// So many packets that every uplink has been drawn, but for (3/4)^300.
    fn warm_up(leaf: &mut FakeLeaf, drill: &mut dyn LoadBalancer) {
        for seq in 0..300 {
            pick(leaf, drill, seq);
        }
    }

    /// Breaks if the shortest of the samples is not taken: uplink n has n packets, so with d = 2 and no
    /// memory the shortest but k is taken when it and a longer one are drawn: (7 - k) of 28 pairs.
    /// Chi-square with 6 degrees of freedom, 0.1 % point 22.5. The longest is never taken.
    #[test]
    fn the_shortest_of_two_samples_is_taken() {
        let mut leaf = leaf();
        (0..UPLINKS).for_each(|n| fill(&mut leaf, n, 1500 * u32::from(n), 0));
        let mut drill = made(&leaf, 2, 0);
        let mut taken = [0u64; 8];
        for seq in 0..28_000 {
            taken[usize::from(pick(&mut leaf, &mut *drill, seq).0 - 4)] += 1;
        }
        let expected = [7e3, 6e3, 5e3, 4e3, 3e3, 2e3, 1e3];
        let chi2 = chi_square(&taken[..7], &expected);
        assert!(chi2 < 22.5 && taken[7] == 0, "chi-square {chi2}: {taken:?}");
    }

    /// Breaks if the best seen is not compared again: uplink 3 is empty, all others have a packet. Once
    /// it has been drawn, every packet takes it; without memory, a quarter.
    #[test]
    fn the_best_seen_is_compared_again() {
        for (m, all) in [(1, true), (0, false)] {
            let mut leaf = leaf();
            (0..UPLINKS).filter(|n| *n != 3).for_each(|n| fill(&mut leaf, n, 1500, 0));
            let mut drill = made(&leaf, 2, m);
            warm_up(&mut leaf, &mut *drill);
            let best = (0..1_000).filter(|s| pick(&mut leaf, &mut *drill, *s) == uplink(3)).count();
            if all {
                assert_eq!(best, 1_000);
            } else {
                // Binomial(1,000, 1/4): standard deviation 13.7; four of them.
                assert!((195..=305).contains(&best), "{best} of 1,000");
            }
        }
    }

    /// Breaks if the memory keeps anything but the m shortest, or one of them twice: m = 2, uplinks 0
    /// and 1 short, the longer of them is taken as soon as the other has grown, without being drawn (twenty
    /// times; by chance a quarter of the times at most).
    #[test]
    fn the_m_shortest_are_remembered() {
        for d in [1, 2] {
            let mut leaf = leaf();
            (0..UPLINKS).for_each(|n| fill(&mut leaf, n, 15_000, 0));
            fill(&mut leaf, 1, 3000, 0);
            let mut drill = made(&leaf, d, 2);
            for _ in 0..20 {
                fill(&mut leaf, 0, 1500, 0);
                warm_up(&mut leaf, &mut *drill);
                assert_eq!(pick(&mut leaf, &mut *drill, 300), uplink(0));
                fill(&mut leaf, 0, 30_000, 0);
                assert_eq!(pick(&mut leaf, &mut *drill, 301), uplink(1), "d = {d}");
            }
        }
    }

    /// Breaks if a memory serves another destination, or another engine: uplink 3 is remembered for
    /// leaf 1 by the engine of port 0, the others must find it for themselves (one packet each: a
    /// quarter draws it).
    #[test]
    fn memories_are_per_destination_and_engine() {
        let params = Params::defaults(ENTRY.info.params).with("engines", Value::Int(2));
        let mut cold = [0; 2];
        for seed in 0..200 {
            let mut leaf = FakeLeaf::new(4, UPLINKS, seed);
            (0..UPLINKS).filter(|n| *n != 3).for_each(|n| fill(&mut leaf, n, 1500, 0));
            let mut drill = build(&params, &leaf.env).unwrap();
            let mut ask = |from: u16, to: u16| {
                let mut packet = data(0, 4 * to, 1, 0);
                leaf.with(|cx| drill.arrived(&mut packet, PortId(from), cx));
                leaf.pick_towards(&mut *drill, &mut packet, TorId(to)) == uplink(3)
            };
            assert!((0..100).filter(|_| ask(0, 1)).count() > 50);
            assert!(ask(2, 1), "port 2 has the same engine");
            cold[0] += usize::from(ask(0, 2));
            cold[1] += usize::from(ask(1, 1));
        }
        // Binomial(200, 1/4): mean 50, standard deviation 6.1; four of them.
        assert!(cold.iter().all(|n| (26..=74).contains(n)), "{cold:?} of 200");
    }

    /// Breaks if a dead port stays in the memory: uplink 3 goes, is left at once, and when it comes
    /// back full it has been forgotten.
    #[test]
    fn a_dead_port_leaves_the_memory() {
        let mut leaf = leaf();
        (0..UPLINKS).filter(|n| *n != 3).for_each(|n| fill(&mut leaf, n, 15_000, 0));
        let mut drill = made(&leaf, 2, 1);
        warm_up(&mut leaf, &mut *drill);
        assert_eq!(pick(&mut leaf, &mut *drill, 300), uplink(3));
        leaf.offer(4..4 + UPLINKS);
        leaf.live.retain(|port| *port != uplink(3));
        leaf.capacity.pop();
        assert_ne!(pick(&mut leaf, &mut *drill, 301), uplink(3));
        leaf.offer(4..4 + UPLINKS);
        // All alike but uplink 3, still the shortest: only a draw finds it again, a quarter of a time.
        let again = (0..200).filter(|seq| {
            let mut fresh = leaf.clone();
            fresh.rng = leafspine_core::Rng::new(*seq, leafspine_core::Role::Balancer, 9);
            fresh.live.retain(|port| *port != uplink(3));
            pick(&mut fresh, &mut *drill, 0);
            fresh.offer(4..4 + UPLINKS);
            pick(&mut fresh, &mut *drill, 0) == uplink(3)
        });
        let again = again.count();
        assert!((26..=74).contains(&again), "{again} of 200");
    }

    /// Breaks if packets are counted instead of bytes, or if the packet in transmission is not: one
    /// waiting full packet is longer than 30 small ones, and a busy line longer than an idle one.
    #[test]
    fn length_is_bytes_with_those_in_transmission() {
        let mut leaf = leaf();
        leaf.offer(4..6);
        let mut drill = made(&leaf, 2, 1);
        fill(&mut leaf, 0, 1500, 0);
        leaf.ports.ports[5].queues[0] = Backlog { packets: 30, bytes: 1200, in_service: 0 };
        assert!((0..20).all(|seq| pick(&mut leaf, &mut *drill, seq) == uplink(1)));
        fill(&mut leaf, 0, 0, 0);
        fill(&mut leaf, 1, 0, 40);
        assert!((0..20).all(|seq| pick(&mut leaf, &mut *drill, seq) == uplink(0)));
    }

    /// Breaks if idle ports do not share packets evenly: with ties to the memory, all would go one way.
    /// 8,000 packets over 8 ports, chi-square with 7 degrees of freedom, 0.1 % point 24.3.
    #[test]
    fn ties_are_drawn() {
        let mut leaf = leaf();
        let mut drill = made(&leaf, 2, 1);
        let mut taken = [0u64; 8];
        for seq in 0..8_000 {
            taken[usize::from(pick(&mut leaf, &mut *drill, seq).0 - 4)] += 1;
        }
        let chi2 = chi_square(&taken, &[1_000.0; 8]);
        assert!(chi2 < 24.3, "chi-square {chi2}: {taken:?}");
    }

    /// Breaks if flows are not hashed to components by weight, or if their packets leave them: two
    /// ports of 10 Gb/s, two of 2.5: 4/5 of 4,000 flows take the former (standard deviation 25; four of
    /// them), each flow both ports of its own pair and never the other pair's.
    #[test]
    fn flows_keep_to_ports_of_one_capacity() {
        let mut leaf = leaf();
        leaf.offer(4..8);
        leaf.capacity = vec![10_000_000, 2_500_000, 10_000_000, 2_500_000];
        let mut drill = made(&leaf, 2, 1);
        let mut fast = 0;
        for sport in 0..4_000 {
            let mut taken = [0; 4];
            for seq in 0..12 {
                let port = leaf.pick_towards(&mut *drill, &mut data(0, 5, sport, seq), TorId(1));
                taken[usize::from(port.0 - 4)] += 1;
            }
            let (ten, two) = (taken[0] + taken[2], taken[1] + taken[3]);
            assert!(ten == 0 || two == 0, "{taken:?}");
            fast += u32::from(ten > 0);
        }
        assert!(fast.abs_diff(3_200) <= 100, "{fast} of 4,000");
        let params = Params::defaults(ENTRY.info.params);
        let none = params.with("components", Value::Word("none".to_owned()));
        let mut drill = build(&none, &leaf.env).unwrap();
        let all: std::collections::BTreeSet<PortId> =
            (0..100).map(|seq| pick(&mut leaf, &mut *drill, seq)).collect();
        assert_eq!(all.len(), 4, "without components a flow takes all ports");
    }

    /// Breaks if a component's share of the flows is not its capacity's: one unit of four, so a quarter of
    /// 4,000 flows (standard deviation 27; four of them).
    #[test]
    fn components_weigh_what_their_ports_carry() {
        let mut leaf = leaf();
        leaf.offer(4..6);
        leaf.capacity = vec![1, 3];
        let mut drill = made(&leaf, 2, 1);
        let mut first = |sport| leaf.pick_towards(&mut *drill, &mut data(0, 5, sport, 0), TorId(1));
        let slow = (0..4_000).filter(|sport| first(*sport) == PortId(4)).count();
        assert!(slow.abs_diff(1_000) <= 110, "{slow} of 4,000");
    }

    /// Breaks if the engines do not know by which port a packet comes, or one alone is, or if the state is
    /// not 2 bytes for each of m ports, 4 leaves and each engine.
    #[test]
    fn engines_cost_memory_and_a_call_a_packet() {
        for (engines, arrived) in [(1, false), (2, true), (3, true)] {
            let params = Params::defaults(ENTRY.info.params).with("engines", Value::Int(engines));
            let drill = build(&params.with("m", Value::Int(5)), &leaf().env).unwrap();
            assert_eq!(drill.needs(), Needs { arrived, ..Needs::default() });
            assert_eq!(drill.inspect().footprint(Time::ZERO).bytes, 2 * 5 * 4 * engines);
        }
    }

    /// Breaks if a queue is known before its clone has come, or never: uplink 3's packet leaves 3,000 bytes
    /// behind at 0, all others 6,000; 621 us later every packet takes 3, until a packet tells otherwise. If
    /// information is not as old as the packet that tells of it. And if the delay is free: it takes calls, and
    /// 4 bytes a port that does not lead to a host.
    #[test]
    fn with_a_clone_delay_queues_are_known_late() {
        let mut leaf = leaf();
        let params = Params::defaults(ENTRY.info.params);
        let params = params.with("clone_delay", Value::Span(Span::from_micros(621)));
        let mut drill = build(&params, &leaf.env).unwrap();
        assert!(drill.needs().leaving && !made(&leaf, 2, 1).needs().leaving);
        assert_eq!(drill.inspect().footprint(Time::ZERO).bytes, 2 * 4 + 4 * u64::from(UPLINKS));
        let tell = |leaf: &mut FakeLeaf, drill: &mut dyn LoadBalancer, number: u16, bytes: u32| {
            fill(leaf, number, bytes, 1500);
            let now = leaf.now;
            leaf.with(|cx| drill.leaving(&mut data(0, 5, 1, 0), uplink(number), now, cx));
        };
        (0..UPLINKS)
            .for_each(|n| tell(&mut leaf, &mut *drill, n, if n == 3 { 3000 } else { 6000 }));
        let share = |leaf: &mut FakeLeaf, drill: &mut dyn LoadBalancer| {
            warm_up(leaf, drill);
            (0..200).filter(|seq| pick(leaf, drill, *seq) == uplink(3)).count()
        };
        leaf.wait(Span::from_micros(620));
        assert!(share(&mut leaf, &mut *drill) < 60, "all queues are taken for empty");
        assert_eq!(drill.inspect().information_age(leaf.now), None);
        leaf.wait(Span::from_micros(1));
        assert_eq!(drill.inspect().information_age(leaf.now), Some(Span::from_micros(621)));
        assert_eq!(share(&mut leaf, &mut *drill), 200);
        assert_eq!(drill.inspect().information_age(leaf.now), Some(Span::from_micros(621)));
        tell(&mut leaf, &mut *drill, 3, 9000);
        leaf.wait(Span::from_micros(620));
        assert_eq!(share(&mut leaf, &mut *drill), 200);
        leaf.wait(Span::from_micros(1));
        assert_eq!(share(&mut leaf, &mut *drill), 0);
    }

    /// Breaks if more samples than ports are drawn, or a port twice: with d = 64 of 3 ports the
    /// shortest is always found.
    #[test]
    fn more_samples_than_ports_is_all_ports() {
        let mut leaf = leaf();
        leaf.offer(4..7);
        (0..3).for_each(|n| fill(&mut leaf, n, 1500 * u32::from(3 - n), 0));
        let mut drill = made(&leaf, 64, 64);
        assert!((0..50).all(|seq| pick(&mut leaf, &mut *drill, seq) == uplink(2)));
    }
}
