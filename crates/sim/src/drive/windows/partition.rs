//! Which nodes are worked on together.

use super::domain::Domain;
use super::wheel::Grid;
use crate::drive::Layout;
use leafspine_core::{PortId, Span};
use leafspine_node::{Node, Switch};
use std::sync::Arc;

/// A node with its links: the ports that send into them, and where they come in.
type Linked = (Node, Vec<(u32, PortId)>);

/// The nodes of a domain: those of the first side, then those of the second.
type Home = [Vec<Linked>; 2];

/// What [`partition`] has made of the nodes.
pub(super) struct Parts {
    pub(super) domains: Vec<Domain>,
    /// Per node: its domain, and its place there.
    pub(super) places: Vec<(u32, u32)>,
    /// The windows of each side.
    pub(super) grids: [Grid; 2],
}

/// `nodes` in at most so many domains. Hosts are with their switch: what that counts of a flow, and most
/// of its packets, stay in the domain. Switches are dealt out by tiers, each in order, so that domains
/// have about equally much to do.
pub(super) fn partition(
    nodes: Vec<Node>,
    layout: &Layout,
    lookahead: Span,
    domains: usize,
) -> Parts {
    let sides = sides(layout);
    let grids = Grid::of_sides(lookahead, two_sided(&sides));
    let of = assign(&nodes, layout, domains as u32);
    let count = of.iter().max().map_or(1, |most| *most as usize + 1);
    let mut links: Vec<Vec<(u32, PortId)>> = vec![Vec::new(); nodes.len()];
    for (port, target) in (0..).zip(&layout.targets) {
        links[target.node as usize].push((port, target.into));
    }
    let mut homes: Vec<Home> = (0..count).map(|_| Home::default()).collect();
    let mut places = Vec::with_capacity(nodes.len());
    for (((node, links), domain), side) in nodes.into_iter().zip(links).zip(of).zip(&sides) {
        let home = &mut homes[domain as usize][usize::from(*side)];
        places.push((domain, home.len() as u32));
        home.push((node, links));
    }
    for ((domain, place), side) in places.iter_mut().zip(sides) {
        *place += u32::from(side) * homes[*domain as usize][0].len() as u32;
    }
    Parts { domains: connect(homes, layout, grids), places, grids }
}

/// The side of each node, 0 or 1, such that every link leads from one side to the other: hosts and spines
/// are on one side, leaves on the other. If links form a ring of odd length, all are on side 0.
pub(super) fn sides(layout: &Layout) -> Vec<u8> {
    const UNKNOWN: u8 = 2;
    let mut peers: Vec<Vec<u32>> = vec![Vec::new(); layout.nodes as usize];
    for (owner, target) in layout.owners.iter().zip(&layout.targets) {
        peers[*owner as usize].push(target.node);
    }
    let mut sides = vec![UNKNOWN; peers.len()];
    let mut next = Vec::new();
    for start in 0..peers.len() {
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
                    return vec![0; peers.len()];
                }
            }
        }
    }
    sides
}

/// Whether there are nodes on both sides.
pub(super) fn two_sided(sides: &[u8]) -> bool {
    sides.contains(&1)
}

/// Numbers all links, tells the ports that send into them, and makes the domains.
fn connect(homes: Vec<Home>, layout: &Layout, grids: [Grid; 2]) -> Vec<Domain> {
    let (mut lines, mut firsts) = (0, Vec::with_capacity(homes.len()));
    let mut link_of = vec![0; layout.targets.len()];
    for home in &homes {
        firsts.push(lines);
        for (_, links) in home.iter().flatten() {
            // The node's own events have a line, too.
            links
                .iter()
                .zip(lines + 1..)
                .for_each(|((port, _), line)| link_of[*port as usize] = line);
            lines += 1 + links.len() as u32;
        }
    }
    let firsts: Arc<[u32]> = firsts.into();
    let domain = |(at, home): (usize, Home)| {
        let side = home[0].len();
        let (mut nodes, links): (Vec<Node>, Vec<_>) = home.into_iter().flatten().unzip();
        for node in &mut nodes {
            node.each_port(&mut |number, port| port.link = link_of[number as usize]);
        }
        Domain::new(nodes, &links, side, grids, at, firsts.clone())
    };
    homes.into_iter().enumerate().map(domain).collect()
}

/// The domain of each node.
fn assign(nodes: &[Node], layout: &Layout, domains: u32) -> Vec<u32> {
    let tor = |node: &Node| {
        let tor = node.switch().map(|switch| switch.tor);
        tor.filter(|tor| *tor != Switch::NO_TOR).map(u32::from)
    };
    let tors = nodes.iter().filter_map(tor).count() as u32;
    let rest = nodes.iter().filter(|n| matches!(n, Node::Switch(_)) && tor(n).is_none()).count();
    let domains = domains.clamp(1, tors.max(1));
    let (mut of, mut seen) = (Vec::with_capacity(nodes.len()), 0);
    for node in nodes {
        let domain = match (node, tor(node)) {
            (Node::Switch(_), Some(tor)) => tor * domains / tors,
            (Node::Switch(_), None) => {
                seen += 1;
                (seen - 1) * domains / rest as u32
            }
            _ => {
                let port = node.hosts()[0].egress.first;
                of[layout.targets[port as usize].node as usize]
            }
        };
        of.push(domain);
    }
    of
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::layout::Target;

    /// Nodes joined by these pairs, both ways.
    fn layout(nodes: u32, pairs: &[(u32, u32)]) -> Layout {
        let both = pairs.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
        let target = |(_, node)| Target { node, into: PortId(0) };
        Layout {
            hosts: Vec::new(),
            targets: both.clone().map(target).collect(),
            owners: both.map(|(owner, _)| owner).collect(),
            nodes,
        }
    }

    /// Breaks if two nodes of a side are linked, or a fabric without an odd ring has only one.
    #[test]
    fn links_lead_from_side_to_side() {
        let ring = |nodes: u32| (0..nodes).map(|at| (at, (at + 1) % nodes)).collect::<Vec<_>>();
        assert_eq!(sides(&layout(4, &ring(4))), [0, 1, 0, 1]);
        assert_eq!(sides(&layout(5, &ring(5))), [0; 5]);
        assert_eq!(sides(&layout(5, &[(4, 0), (0, 2), (3, 1)])), [0, 0, 1, 1, 1]);
    }
}
