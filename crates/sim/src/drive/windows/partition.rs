//! Which nodes are worked on together.

use super::domain::{Domain, Domains};
use super::sides::{SIDES, Sides};
use super::wheel::Grid;
use crate::drive::Layout;
use leafspine_core::PortId;
use leafspine_node::{Node, Switch};
use std::sync::Arc;

/// A node with its links: the ports that send into them, and where they come in.
type Linked = (Node, Vec<(u32, PortId)>);

/// The nodes of a domain, side by side.
type Home = [Vec<Linked>; SIDES];

/// What [`partition`] has made of the nodes.
pub(super) struct Parts {
    pub(super) domains: Domains,
    /// Per node: its domain, and its place there.
    pub(super) places: Vec<(u32, u32)>,
}

/// `nodes` in so many domains, at most [`most_domains`]. Hosts are with their switch: what that counts of
/// a flow, and most of its packets, stay in the domain. Switches are dealt out by tiers, each in order, so that
/// domains have about equally much to do.
pub(super) fn partition(nodes: Vec<Node>, layout: &Layout, sides: &Sides, domains: usize) -> Parts {
    let of = assign(&nodes, layout, domains as u32);
    let count = of.iter().max().map_or(1, |most| *most as usize + 1);
    let mut links: Vec<Vec<(u32, PortId)>> = vec![Vec::new(); nodes.len()];
    for (port, target) in (0..).zip(&layout.targets) {
        links[target.node as usize].push((port, target.into));
    }
    let mut homes: Vec<Home> = (0..count).map(|_| Home::default()).collect();
    let mut places = Vec::with_capacity(nodes.len());
    for (((node, links), domain), side) in nodes.into_iter().zip(links).zip(of).zip(&sides.of) {
        let home = &mut homes[domain as usize][usize::from(*side)];
        places.push((domain, home.len() as u32));
        home.push((node, links));
    }
    for ((domain, place), side) in places.iter_mut().zip(&sides.of) {
        let before = &homes[*domain as usize][..usize::from(*side)];
        *place += before.iter().map(|nodes| nodes.len() as u32).sum::<u32>();
    }
    Parts { domains: connect(homes, layout, sides.grids()), places }
}

/// Numbers all links, tells the ports that send into them, and makes the domains.
fn connect(homes: Vec<Home>, layout: &Layout, grids: [Grid; SIDES]) -> Domains {
    let mut lines = 0;
    let mut link_of = vec![0; layout.targets.len()];
    let mut number = |nodes: &Vec<Linked>| {
        let first = lines;
        for (_, links) in nodes {
            // The node's own events have a line, too.
            links
                .iter()
                .zip(lines + 1..)
                .for_each(|((port, _), line)| link_of[*port as usize] = line);
            lines += 1 + links.len() as u32;
        }
        first
    };
    let firsts: Arc<[_]> = homes.iter().map(|home| home.each_ref().map(&mut number)).collect();
    let domain = |(at, home): (usize, Home)| {
        let sizes = home.each_ref().map(Vec::len);
        let (mut nodes, links): (Vec<Node>, Vec<_>) = home.into_iter().flatten().unzip();
        for node in &mut nodes {
            node.each_port(&mut |number, port| port.link = link_of[number as usize]);
        }
        Box::new(Domain::new(nodes, &links, sizes, grids, at, firsts.clone()))
    };
    homes.into_iter().enumerate().map(domain).collect()
}

/// A node's number among the switches that have hosts, if it is one.
fn tor(node: &Node) -> Option<u32> {
    let tor = node.switch().map(|switch| switch.tor);
    tor.filter(|tor| *tor != Switch::NO_TOR).map(u32::from)
}

/// How many domains there can be: each has a switch with its hosts.
pub(super) fn most_domains(nodes: &[Node]) -> usize {
    nodes.iter().filter_map(tor).count().max(1)
}

/// The domain of each node.
fn assign(nodes: &[Node], layout: &Layout, domains: u32) -> Vec<u32> {
    let tors = nodes.iter().filter_map(tor).count() as u32;
    let rest = nodes.iter().filter(|n| matches!(n, Node::Switch(_)) && tor(n).is_none()).count();
    assert!(domains <= tors.max(1), "every domain has hosts");
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
