//! Which nodes are worked on together.

use super::domain::{Domain, Wire};
use crate::drive::Layout;
use leafspine_core::PortId;
use leafspine_node::{Node, Switch};
use std::sync::Arc;

/// `nodes` in at most so many domains, and where each node is. Hosts are with their switch: what that
/// counts of a flow, and most of its packets, stay in the domain. Switches are dealt out by tiers, each
/// in order, so that domains have about equally much to do.
pub(super) fn partition(
    nodes: Vec<Node>,
    layout: &Layout,
    domains: usize,
) -> (Vec<Domain>, Vec<(u32, u32)>) {
    let of = assign(&nodes, layout, domains as u32);
    let count = of.iter().max().map_or(1, |most| *most as usize + 1);
    let mut domains: Vec<Domain> = (0..count).map(|id| Domain::new(id as u32, count)).collect();
    let mut links: Vec<Vec<(u32, PortId)>> = vec![Vec::new(); nodes.len()];
    for (port, target) in (0..).zip(&layout.targets) {
        links[target.node as usize].push((port, target.into));
    }
    let mut wires = vec![Wire::default(); layout.targets.len()];
    let mut places = Vec::with_capacity(nodes.len());
    for ((node, links), domain) in nodes.into_iter().zip(links).zip(of) {
        let home = &mut domains[domain as usize];
        let place = home.add(node, &links);
        for (line, (port, _)) in home.span(place).zip(&links) {
            wires[*port as usize] = Wire { domain, node: place, line };
        }
        places.push((domain, place));
    }
    let wires = Arc::new(wires);
    domains.iter_mut().for_each(|domain| domain.wires = wires.clone());
    (domains, places)
}

/// The domain of each node.
fn assign(nodes: &[Node], layout: &Layout, domains: u32) -> Vec<u32> {
    let tor = |node: &Node| match node {
        Node::Switch(switch) => (switch.tor != Switch::NO_TOR).then_some(u32::from(switch.tor)),
        Node::Rack(_) => None,
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
            (Node::Rack(rack), _) => {
                let port = rack.hosts[0].egress.first;
                of[layout.targets[port as usize].node as usize]
            }
        };
        of.push(domain);
    }
    of
}
