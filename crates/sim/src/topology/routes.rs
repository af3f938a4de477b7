//! Equal-cost next hops towards every switch with hosts.

use crate::topology::{Graph, Node};
use leafspine_core::{PortId, Rate, Span, SwitchId, TorId};
use leafspine_schemes::Paths;
use std::collections::HashMap;

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
    ports: u32,
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

const UNREACHED: u32 = u32::MAX;
/// The set without ports.
const NO_WAY: u32 = 0;

impl Routes {
    /// The routes of the fabric before any change.
    #[must_use]
    pub fn new(graph: &Graph) -> Routes {
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
        routes.recompute(graph);
        routes
    }

    /// The next hops at `switch` towards `to`. Empty at `to` itself and where no way is left.
    #[inline]
    #[must_use]
    pub fn paths(&self, switch: SwitchId, to: TorId) -> Paths<'_> {
        let at = usize::from(switch.0) * self.tors + usize::from(to.0);
        let set = self.sets[self.set_of[at] as usize];
        let range = set.first as usize..(set.first + set.ports) as usize;
        Paths {
            to,
            ports: &self.ports[range.clone()],
            capacity: &self.capacity[range.clone()],
            delay: &self.delay[range],
        }
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
            self.recompute(graph);
        }
        !same
    }

    /// Two switches with hosts that have no way to each other, if there are any.
    #[must_use]
    pub fn partitioned(&self, graph: &Graph) -> Option<(SwitchId, SwitchId)> {
        // Links go both ways, so a fabric that is split anywhere is split from its first switch.
        let cut = |from: &&SwitchId| self.paths(**from, TorId(0)).ports.is_empty();
        let first = graph.tor_switch[0];
        graph.tor_switch[1..].iter().find(cut).map(|other| (first, *other))
    }

    fn recompute(&mut self, graph: &Graph) {
        self.sets.clear();
        self.ports.clear();
        self.capacity.clear();
        self.delay.clear();
        self.work.known.clear();
        self.work.known.insert(Vec::new(), NO_WAY);
        self.sets.push(Set { first: 0, ports: 0 });
        self.set_of.fill(NO_WAY);
        for (tor, switch) in graph.tor_switch.iter().enumerate() {
            self.measure_distances(graph, *switch);
            self.collect_sets(graph, tor);
        }
    }

    /// Breadth-first search from the destination over live links.
    fn measure_distances(&mut self, graph: &Graph, to: SwitchId) {
        let Work { distance, order, .. } = &mut self.work;
        distance.clear();
        distance.resize(graph.switches.len(), UNREACHED);
        order.clear();
        distance[usize::from(to.0)] = 0;
        order.push(to);
        let mut next = 0;
        while let Some(&switch) = order.get(next) {
            next += 1;
            for (_, neighbour, _) in live_neighbours(graph, &self.state, switch) {
                if distance[usize::from(neighbour.0)] == UNREACHED {
                    distance[usize::from(neighbour.0)] = distance[usize::from(switch.0)] + 1;
                    order.push(neighbour);
                }
            }
        }
    }

    /// The sets towards one destination, nearest switches first: a port's capacity and delay need
    /// those of the next switch.
    fn collect_sets(&mut self, graph: &Graph, tor: usize) {
        self.work.onward.clear();
        self.work.onward.resize(graph.switches.len(), 0);
        self.work.nearest.clear();
        self.work.nearest.resize(graph.switches.len(), Span::ZERO);
        for index in 0..self.work.order.len() {
            let Work { set, distance, onward, nearest, order, .. } = &mut self.work;
            let switch = order[index];
            let here = distance[usize::from(switch.0)];
            if here == 0 {
                onward[usize::from(switch.0)] = u64::MAX;
                continue;
            }
            set.clear();
            let (mut sum, mut least) = (0u64, Span::MAX);
            for (port, neighbour, link) in live_neighbours(graph, &self.state, switch) {
                if distance[usize::from(neighbour.0)] + 1 == here {
                    let capacity = link.rate.0.min(onward[usize::from(neighbour.0)]);
                    let onwards = nearest[usize::from(neighbour.0)];
                    let delay = Span(link.delay.0.saturating_add(onwards.0));
                    sum = sum.saturating_add(capacity);
                    least = least.min(delay);
                    set.push((port, kilobits(capacity), delay));
                }
            }
            onward[usize::from(switch.0)] = sum;
            nearest[usize::from(switch.0)] = least;
            self.set_of[usize::from(switch.0) * self.tors + tor] = self.number_of_set();
        }
    }

    /// The number of the set in `work.set`, stored if it is new.
    fn number_of_set(&mut self) -> u32 {
        if let Some(number) = self.work.known.get(&self.work.set) {
            return *number;
        }
        let number = self.sets.len() as u32;
        self.sets.push(Set { first: self.ports.len() as u32, ports: self.work.set.len() as u32 });
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

/// A switch's live ports to other switches, ascending: port, switch at the other end, link.
fn live_neighbours<'a>(
    graph: &'a Graph,
    state: &'a [LinkState],
    switch: SwitchId,
) -> impl Iterator<Item = (PortId, SwitchId, LinkState)> + 'a {
    graph.fabric_ports_of(switch).filter_map(move |port| {
        let port = &graph.ports[port as usize];
        let link = state[port.link as usize];
        match graph.ports[port.peer as usize].owner {
            Node::Switch(neighbour) if link.up => Some((port.local, neighbour, link)),
            _ => None,
        }
    })
}
