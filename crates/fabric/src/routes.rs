//! Equal-cost next hops towards every switch with hosts.

use crate::{Graph, Owner};
use leafspine_core::{PortId, Rate, Span, SwitchId, TorId};
use leafspine_schemes::Paths;
use std::collections::HashMap;
use std::convert::Infallible;

/// What routing knows of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkState {
    /// Whether it carries packets.
    pub up: bool,
    /// Its rate now.
    pub rate: Rate,
    /// Its propagation delay now.
    pub delay: Span,
}

impl LinkState {
    /// The state of every link before any change: up, at its own rate.
    #[must_use]
    pub fn initial(graph: &Graph) -> Vec<LinkState> {
        let state = |port: u32| {
            let port = &graph.ports[port as usize];
            LinkState { up: true, rate: port.rate, delay: port.delay }
        };
        graph.links.iter().map(|link| state(link.a)).collect()
    }
}

/// A set of next hops: a piece of `Routes::ports`, of `Routes::capacity` and of `Routes::delay`.
#[derive(Clone, Copy, Debug)]
struct Set {
    first: u32,
    ports: u16,
    /// The first of them, if there is one.
    port: PortId,
}

/// How a packet goes on.
#[derive(Clone, Copy, Debug)]
pub enum Onward<'a> {
    /// It is at its destination's switch, or there is no way.
    Nowhere,
    /// By the only port.
    Only(PortId),
    /// By one of several ports.
    OneOf(Paths<'a>),
}

/// For each switch and each switch with hosts, the live ports that begin a way with the fewest
/// hops, what each can carry and how long it is. Equal sets are stored once.
///
/// Fewest hops is the only rule: when links are down, a way may go down and up again (from a leaf
/// over a spine and another leaf to a second spine) if there is none that is shorter.
///
/// A port's capacity is the smaller of its link's rate and the sum of the capacities of the next
/// switch's own equal-cost ports; at the destination's switch nothing limits any more. In kb/s,
/// rounded down, but at least 1 and at most `u32::MAX` (4.29 Tb/s).
///
/// A port's delay is its link's propagation delay and the smallest delay of the next switch's own
/// equal-cost ports: what a packet needs at least, were all queues empty and all lines infinitely
/// fast.
#[derive(Clone, Debug)]
pub struct Routes {
    tors: usize,
    /// The set of (switch, destination), at `switch * tors + destination`.
    set_of: Vec<u32>,
    sets: Vec<Set>,
    ports: Vec<PortId>,
    capacity: Vec<u32>,
    delay: Vec<Span>,
    state: Vec<LinkState>,
    work: Work,
}

/// A next hop: its port, its capacity in kb/s, its delay.
type Hop = (PortId, u32, Span);

/// Storage that a recomputation needs and the next one uses again.
#[derive(Clone, Debug, Default)]
struct Work {
    /// The number of every set; only looked up in, its order is never seen.
    known: HashMap<Vec<Hop>, u32>,
    live: Live,
    set: Vec<Hop>,
    /// Hops to the destination, `u32::MAX` where there is no way.
    distance: Vec<u32>,
    /// Sum of the capacities of a switch's equal-cost ports, in b/s.
    onward: Vec<u64>,
    /// Smallest delay of a switch's equal-cost ports.
    nearest: Vec<Span>,
    /// Switches in the order of their distance.
    order: Vec<SwitchId>,
}

/// The live links between switches as they are walked, once for each destination: each switch's, side
/// by side.
#[derive(Clone, Debug, Default)]
struct Live {
    /// Where each switch's begin in `ways`, and where the last one's end.
    first: Vec<u32>,
    ways: Vec<Way>,
}

/// A live port of a switch to another.
#[derive(Clone, Copy, Debug)]
struct Way {
    port: PortId,
    next: SwitchId,
    /// In b/s.
    rate: u64,
    delay: Span,
}

impl Live {
    /// Those of the fabric in this state, each switch's by ascending port.
    fn collect(&mut self, graph: &Graph, state: &[LinkState]) {
        self.first.clear();
        self.ways.clear();
        for switch in 0..graph.switches.len() {
            self.first.push(self.ways.len() as u32);
            self.ways.extend(live_ways(graph, state, SwitchId(switch as u16)));
        }
        self.first.push(self.ways.len() as u32);
    }

    fn of(&self, switch: SwitchId) -> &[Way] {
        let at = usize::from(switch.0);
        &self.ways[self.first[at] as usize..self.first[at + 1] as usize]
    }
}

const UNREACHED: u32 = u32::MAX;
/// The set without ports.
const NO_WAY: u32 = 0;

impl Routes {
    /// The routes of the fabric before any change.
    #[must_use]
    pub fn new(graph: &Graph) -> Routes {
        let Ok(routes) = Routes::watched(graph, |_, _| Ok::<(), Infallible>(()));
        routes
    }

    /// The same. `watch` is called with how many destinations of how many are done, and may put an end
    /// to it.
    ///
    /// # Errors
    /// What `watch` gives.
    pub fn watched<E>(
        graph: &Graph,
        watch: impl Fn(usize, usize) -> Result<(), E>,
    ) -> Result<Routes, E> {
        let mut routes = Routes {
            tors: graph.tor_switch.len(),
            set_of: vec![NO_WAY; graph.switches.len() * graph.tor_switch.len()],
            sets: Vec::new(),
            ports: Vec::new(),
            capacity: Vec::new(),
            delay: Vec::new(),
            state: LinkState::initial(graph),
            work: Work::default(),
        };
        routes.recompute(graph, watch)?;
        Ok(routes)
    }

    /// The next hops at `switch` towards `to`. Empty at `to` itself and where no way is left.
    #[inline(always)]
    #[must_use]
    pub fn paths(&self, switch: SwitchId, to: TorId) -> Paths<'_> {
        let set = self.sets[self.set_at(switch, to) as usize];
        let range = set.first as usize..set.first as usize + usize::from(set.ports);
        Paths {
            to,
            ports: &self.ports[range.clone()],
            capacity: &self.capacity[range.clone()],
            delay: &self.delay[range],
        }
    }

    /// The same, without looking at more than is needed.
    #[inline(always)]
    #[must_use]
    pub fn onward(&self, switch: SwitchId, to: TorId) -> Onward<'_> {
        let set = self.sets[self.set_at(switch, to) as usize];
        match set.ports {
            0 => Onward::Nowhere,
            1 => Onward::Only(set.port),
            _ => Onward::OneOf(self.paths(switch, to)),
        }
    }

    /// The number of the set of next hops at `switch` towards `to`: the same for the same hops.
    #[inline]
    pub(crate) fn set_at(&self, switch: SwitchId, to: TorId) -> u32 {
        self.set_of[usize::from(switch.0) * self.tors + usize::from(to.0)]
    }

    /// Recomputes for links in another state, one [`LinkState`] a link. Returns whether anything
    /// had to be recomputed: hosts' links are on no way between switches.
    ///
    /// # Panics
    /// If `state` has another length than `graph.links`.
    pub fn update(&mut self, graph: &Graph, state: &[LinkState]) -> bool {
        assert_eq!(state.len(), graph.links.len(), "one state a link");
        let fabric = graph.hosts() as usize..;
        let same = self.state[fabric.clone()] == state[fabric];
        self.state.copy_from_slice(state);
        if !same {
            let Ok(()) = self.recompute(graph, |_, _| Ok::<(), Infallible>(()));
        }
        !same
    }

    /// Two switches with hosts that have no way to each other, if there are any.
    #[must_use]
    pub fn partitioned(&self, graph: &Graph) -> Option<(SwitchId, SwitchId)> {
        split(graph, &self.state)
    }

    /// `watch` is called with the destinations that are done, and may put an end to it.
    fn recompute<E>(
        &mut self,
        graph: &Graph,
        watch: impl Fn(usize, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        self.sets.clear();
        self.ports.clear();
        self.capacity.clear();
        self.delay.clear();
        self.work.known.clear();
        self.work.known.insert(Vec::new(), NO_WAY);
        self.sets.push(Set { first: 0, ports: 0, port: PortId(0) });
        self.set_of.fill(NO_WAY);
        self.work.live.collect(graph, &self.state);
        for (tor, switch) in graph.tor_switch.iter().enumerate() {
            watch(tor, self.tors)?;
            self.work.measure_distances(graph.switches.len(), *switch);
            self.collect_sets(graph, tor);
        }
        Ok(())
    }

    /// The sets towards one destination, nearest switches first: a port's capacity and delay need
    /// those of the next switch.
    fn collect_sets(&mut self, graph: &Graph, tor: usize) {
        self.work.onward.clear();
        self.work.onward.resize(graph.switches.len(), 0);
        self.work.nearest.clear();
        self.work.nearest.resize(graph.switches.len(), Span::ZERO);
        for index in 0..self.work.order.len() {
            let Work { set, live, distance, onward, nearest, order, .. } = &mut self.work;
            let switch = order[index];
            let here = distance[usize::from(switch.0)];
            if here == 0 {
                onward[usize::from(switch.0)] = u64::MAX;
                continue;
            }
            set.clear();
            let (mut sum, mut least) = (0u64, Span::MAX);
            for way in live.of(switch) {
                let next = usize::from(way.next.0);
                if distance[next] + 1 == here {
                    let capacity = way.rate.min(onward[next]);
                    let delay = Span(way.delay.0.saturating_add(nearest[next].0));
                    sum = sum.saturating_add(capacity);
                    least = least.min(delay);
                    set.push((way.port, kilobits(capacity), delay));
                }
            }
            onward[usize::from(switch.0)] = sum;
            nearest[usize::from(switch.0)] = least;
            let at = usize::from(switch.0) * self.tors + tor;
            // Neighbouring destinations mostly have the same set: cheaper to compare than to look up.
            let before = if tor > 0 { self.set_of[at - 1] } else { NO_WAY };
            self.set_of[at] = if self.is_set(before) { before } else { self.number_of_set() };
        }
    }

    /// Whether the set in `work.set` is that of this number.
    fn is_set(&self, number: u32) -> bool {
        let Set { first, ports, .. } = self.sets[number as usize];
        let of = first as usize..;
        let stored = self.ports[of.clone()].iter().zip(&self.capacity[of.clone()]);
        self.work.set.len() == usize::from(ports)
            && stored
                .zip(&self.delay[of])
                .zip(&self.work.set)
                .all(|(((port, capacity), delay), hop)| (*port, *capacity, *delay) == *hop)
    }

    /// The number of the set in `work.set`, stored if it is new.
    fn number_of_set(&mut self) -> u32 {
        if let Some(number) = self.work.known.get(&self.work.set) {
            return *number;
        }
        let number = self.sets.len() as u32;
        // A switch has fewer than 65,536 ports.
        let (first, ports) = (self.ports.len() as u32, self.work.set.len() as u16);
        self.sets.push(Set { first, ports, port: self.work.set[0].0 });
        self.ports.extend(self.work.set.iter().map(|(port, _, _)| *port));
        self.capacity.extend(self.work.set.iter().map(|(_, capacity, _)| *capacity));
        self.delay.extend(self.work.set.iter().map(|(_, _, delay)| *delay));
        self.work.known.insert(self.work.set.clone(), number);
        number
    }
}

fn kilobits(bits: u64) -> u32 {
    u32::try_from(bits / 1000).unwrap_or(u32::MAX).max(1)
}

impl Work {
    /// Breadth-first search from the destination over live links.
    fn measure_distances(&mut self, switches: usize, to: SwitchId) {
        let Work { distance, order, live, .. } = self;
        distance.clear();
        distance.resize(switches, UNREACHED);
        order.clear();
        distance[usize::from(to.0)] = 0;
        order.push(to);
        let mut next = 0;
        while let Some(&switch) = order.get(next) {
            next += 1;
            let further = distance[usize::from(switch.0)] + 1;
            for way in live.of(switch) {
                let there = &mut distance[usize::from(way.next.0)];
                if *there == UNREACHED {
                    *there = further;
                    order.push(way.next);
                }
            }
        }
    }
}

/// Two switches with hosts that have no way to each other, if there are any.
///
/// Links go both ways, so a fabric that is split anywhere is split from its first switch.
pub(super) fn split(graph: &Graph, state: &[LinkState]) -> Option<(SwitchId, SwitchId)> {
    let first = graph.tor_switch[0];
    let mut work = Work::default();
    work.live.collect(graph, state);
    work.measure_distances(graph.switches.len(), first);
    let cut = |other: &&SwitchId| work.distance[usize::from(other.0)] == UNREACHED;
    graph.tor_switch.iter().find(cut).map(|other| (first, *other))
}

/// A switch's live ports to other switches, ascending.
fn live_ways<'a>(
    graph: &'a Graph,
    state: &'a [LinkState],
    switch: SwitchId,
) -> impl Iterator<Item = Way> + 'a {
    graph.fabric_ports_of(switch).filter_map(move |port| {
        let port = &graph.ports[port as usize];
        let link = state[port.link as usize];
        match graph.ports[port.peer as usize].owner {
            Owner::Switch(next) if link.up => {
                Some(Way { port: port.local, next, rate: link.rate.0, delay: link.delay })
            }
            _ => None,
        }
    })
}
