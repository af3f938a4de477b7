//! Which nodes have their windows in common, and how long these are.

use super::wheel::Grid;
use crate::drive::Layout;
use leafspine_core::Span;

/// So many sides there can be: two that take turns, and the hosts.
pub(super) const SIDES: usize = 3;

/// Hosts' windows are at most so many of the switches' long. In longer ones hosts would be visited for
/// no fewer misses a packet, and a run would not be interrupted for as long as one takes.
const LONGEST: u64 = 64;

/// The side of hosts that have longer links than the rest.
const HOSTS: u8 = 2;

/// The shortest delays that links have, or will have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lookahead {
    /// Of hosts' links.
    pub(crate) hosts: Span,
    /// Of links between switches; `None` if there are none.
    pub(crate) switches: Option<Span>,
}

impl Lookahead {
    /// The shortest of all.
    pub(crate) fn least(self) -> Span {
        self.switches.map_or(self.hosts, |switches| switches.min(self.hosts))
    }

    /// Between switches, if hosts' links are so much longer that hosts have windows of their own: these
    /// are then longer than the two in which the switches may take turns.
    pub(super) fn of_switches_alone(self) -> Option<Span> {
        self.switches.filter(|switches| self.hosts.0 > switches.0.saturating_mul(2))
    }
}

/// The sides of a fabric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Sides {
    /// The side of each node.
    pub(super) of: Vec<u8>,
    /// Whether the first two take turns.
    two: bool,
    lookahead: Lookahead,
}

impl Sides {
    pub(super) fn new(layout: &Layout, lookahead: Lookahead) -> Sides {
        let switches = match lookahead.of_switches_alone() {
            Some(_) => layout.switches as usize,
            None => layout.nodes as usize,
        };
        let mut of = in_turn(layout, switches);
        of.resize(layout.nodes as usize, HOSTS);
        Sides { two: of.contains(&1), of, lookahead }
    }

    /// The windows of each side.
    ///
    /// Hosts may go a link's delay further than all has happened at the switches, and these, which take
    /// turns with each other, go no further than twice their own delay, which is less.
    pub(super) fn grids(&self) -> [Grid; SIDES] {
        let switches = self.lookahead.of_switches_alone();
        let [first, second] = Grid::in_turn(switches.unwrap_or(self.lookahead.least()), self.two);
        let hosts = match switches {
            Some(_) => {
                let most = self.window().0.saturating_mul(LONGEST);
                Grid::new(self.lookahead.hosts.min(Span(most)), Span::ZERO)
            }
            None => first,
        };
        [first, second, hosts]
    }

    /// How long the switches' windows are, at most.
    pub(super) fn window(&self) -> Span {
        let lookahead = self.lookahead.of_switches_alone().unwrap_or(self.lookahead.least());
        Span(lookahead.0.saturating_mul(1 + u64::from(self.two)))
    }

    /// Nodes that have these windows.
    pub(super) fn nodes(&self) -> usize {
        self.of.iter().filter(|side| **side != HOSTS).count()
    }
}

/// For each of the first so many nodes 0 or 1, such that every link between two of them leads from one
/// to the other: spines (and hosts, if they are among them) are on one side, leaves on the other. If
/// links form a ring of odd length, all are 0.
fn in_turn(layout: &Layout, nodes: usize) -> Vec<u8> {
    const UNKNOWN: u8 = 2;
    let mut peers: Vec<Vec<u32>> = vec![Vec::new(); nodes];
    for (owner, target) in layout.owners.iter().zip(&layout.targets) {
        if (*owner as usize) < nodes && (target.node as usize) < nodes {
            peers[*owner as usize].push(target.node);
        }
    }
    let mut sides = vec![UNKNOWN; nodes];
    let mut next = Vec::new();
    for start in 0..nodes {
        if sides[start] == UNKNOWN {
            sides[start] = 0;
            next.push(start);
        }
        while let Some(node) = next.pop() {
            let other = 1 - sides[node];
            for peer in peers[node].iter().map(|peer| *peer as usize) {
                if sides[peer] == UNKNOWN {
                    sides[peer] = other;
                    next.push(peer);
                } else if sides[peer] != other {
                    return vec![0; nodes];
                }
            }
        }
    }
    sides
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::layout::Target;
    use leafspine_core::{PortId, Time};
    use proptest::prelude::*;

    /// Nodes joined by these pairs, both ways; the first so many are switches.
    fn layout(switches: u32, nodes: u32, pairs: &[(u32, u32)]) -> Layout {
        let both = pairs.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
        let target = |(_, node)| Target { node, into: PortId(0) };
        Layout {
            hosts: Vec::new(),
            targets: both.clone().map(target).collect(),
            owners: both.map(|(owner, _)| owner).collect(),
            switches,
            nodes,
        }
    }

    fn lookahead(hosts: u64, switches: u64) -> Lookahead {
        Lookahead { hosts: Span(hosts), switches: Some(Span(switches)) }
    }

    /// Breaks if two nodes of a side are linked, or a fabric without an odd ring has only one.
    #[test]
    fn links_lead_from_side_to_side() {
        let ring = |nodes: u32| (0..nodes).map(|at| (at, (at + 1) % nodes)).collect::<Vec<_>>();
        let sides =
            |nodes, pairs: &[_]| Sides::new(&layout(nodes, nodes, pairs), lookahead(1, 1)).of;
        assert_eq!(sides(4, &ring(4)), [0, 1, 0, 1]);
        assert_eq!(sides(5, &ring(5)), [0; 5]);
        assert_eq!(sides(5, &[(4, 0), (0, 2), (3, 1)]), [0, 0, 1, 1, 1]);
    }

    /// Breaks if hosts with long links are held to the switches' short windows, or those with links
    /// that are no longer than two of them get windows of their own. Two leaves, a spine, two hosts.
    #[test]
    fn hosts_with_longer_links_are_a_side() {
        let fabric = layout(3, 5, &[(0, 2), (1, 2), (0, 3), (1, 4)]);
        assert_eq!(Sides::new(&fabric, lookahead(20, 10)).of, [0, 0, 1, 1, 1]);
        let sides = Sides::new(&fabric, lookahead(21, 10));
        assert_eq!(sides.of, [0, 0, 1, 2, 2]);
        assert_eq!((sides.window(), sides.nodes()), (Span(20), 3));
        let lengths = sides.grids().map(|grid| grid.start_of(2).0 - grid.start_of(1).0);
        assert_eq!(lengths, [20, 20, 21]);
        // Windows end some time.
        let far = Sides::new(&fabric, lookahead(1 << 40, 10)).grids()[2];
        assert_eq!(far.start_of(2).0 - far.start_of(1).0, 64 * 20);
        // Three switches in a ring do not take turns.
        let fabric = layout(3, 5, &[(0, 1), (1, 2), (2, 0), (0, 3), (1, 4)]);
        let sides = Sides::new(&fabric, lookahead(21, 10));
        assert_eq!((sides.of.as_slice(), sides.window()), ([0, 0, 0, 2, 2].as_slice(), Span(10)));
    }

    proptest! {
        /// Breaks if a side's window reaches so far that another side, up to whose next window all has
        /// happened, could still send into it. Windows are taken in the order in which they begin.
        #[test]
        fn a_side_knows_what_arrives(hosts in 1u64..1 << 44, switches in 1u64..1 << 44, at in 0u64..1 << 60) {
            let fabric = layout(3, 5, &[(0, 2), (1, 2), (0, 3), (1, 4)]);
            let sides = Sides::new(&fabric, lookahead(hosts, switches));
            let grids = sides.grids();
            let used: Vec<u8> = (0..SIDES as u8).filter(|side| sides.of.contains(side)).collect();
            for mine in &used {
                let grid = grids[usize::from(*mine)];
                let window = grid.window_of(at);
                let (start, end) = (grid.start_of(window).0, grid.start_of(window + 1).0);
                for theirs in used.iter().filter(|theirs| *theirs != mine) {
                    // The other side's next window begins no earlier than this one.
                    let other = grids[usize::from(*theirs)];
                    let mut next = other.window_of(start);
                    next += u64::from(other.start_of(next).0 < start);
                    let to_hosts = *mine == HOSTS || *theirs == HOSTS;
                    let delay = match to_hosts || sides.nodes() == 5 {
                        true if sides.nodes() == 5 => hosts.min(switches),
                        true => hosts,
                        false => switches,
                    };
                    prop_assert!(end <= other.start_of(next).0 + delay, "{mine} {theirs}");
                }
            }
        }
    }

    /// Breaks if the first instants of a run are in no window.
    #[test]
    fn windows_begin_with_the_run() {
        let sides = Sides::new(&layout(3, 5, &[(0, 2), (1, 2), (0, 3), (1, 4)]), lookahead(50, 7));
        assert!(sides.grids().iter().all(|grid| grid.start_of(0) == Time::ZERO));
    }
}
