//! From a description to a graph: sizes are checked, links are listed, ports follow from links.

use crate::kinds::{Shape, Tier};
use crate::{Graph, Link, LinkSpec, Node, Port, Switch, TopologyError, TopologyKind, TopologySpec};
use leafspine_core::{HostId, PortId, Rate, Span, SwitchId, TorId};
use leafspine_schemes::Level;

/// Longer than any link; keeps sums of delays far from the end of time.
pub(super) const MAX_DELAY: Span = Span(1_000_000_000_000_000);
const MAX_HOSTS: u64 = 65_536;
const MAX_SWITCHES: u64 = 65_535;
const MAX_PORTS: u64 = 65_535;
const MAX_LINKS: u64 = 1 << 20;
const MAX_ROUTES: u64 = 1 << 28;

pub(super) fn build(spec: &TopologySpec) -> Result<Graph, TopologyError> {
    let shape = spec.kind.shape();
    check_counts(&shape)?;
    size(spec.kind)?;
    check_link("host_link", &spec.host_link)?;
    check_delay("host_link.delay", spec.host_link.delay)?;
    check_delay("host_delay", spec.host_delay)?;
    check_delay("host_jitter", spec.host_jitter)?;
    if shape.entry.fabric {
        check_link("fabric_link", &spec.fabric_link)?;
        check_delay("fabric_link.delay", spec.fabric_link.delay)?;
    }
    Ok(wire(spec, shape))
}

fn check_counts(shape: &Shape) -> Result<(), TopologyError> {
    for (key, found) in shape.entry.keys.iter().zip(&shape.counts) {
        match *found {
            found if key.even && (found == 0 || found % 2 == 1) => {
                return Err(TopologyError::OddCount { key: key.name, found });
            }
            0 => return Err(TopologyError::ZeroCount { key: key.name }),
            _ => {}
        }
    }
    Ok(())
}

/// How large a fabric is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Hosts.
    pub hosts: u64,
    /// Switches.
    pub switches: u64,
    /// Of which so many have hosts.
    pub tors: u64,
    /// Links, those of hosts included.
    pub links: u64,
}

/// The size of a fabric, before anything is allocated for it. Refuses what would not fit.
///
/// # Errors
/// [`TopologyError::TooMany`], see [`Graph::build`].
pub fn size(kind: TopologyKind) -> Result<Size, TopologyError> {
    let shape = kind.shape();
    let (hosts, tors) = (shape.hosts(), shape.tors());
    let switches = shape.tiers.iter().fold(0, |sum: u64, tier| sum.saturating_add(tier.count));
    let fabric_links = shape.pairs.saturating_mul(u64::from(shape.links_per_pair));
    for (what, found, most) in [
        ("hosts", hosts, MAX_HOSTS),
        ("switches", switches, MAX_SWITCHES),
        ("ports at one switch", shape.most_ports, MAX_PORTS),
        ("links", hosts.saturating_add(fabric_links), MAX_LINKS),
        ("pairs of a switch and a switch with hosts", switches.saturating_mul(tors), MAX_ROUTES),
    ] {
        if found > most {
            return Err(TopologyError::TooMany { what, found, most });
        }
    }
    Ok(Size { hosts, switches, tors, links: hosts + fabric_links })
}

fn check_link(link: &'static str, spec: &LinkSpec) -> Result<(), TopologyError> {
    if spec.rate == Rate(0) {
        return Err(TopologyError::ZeroRate { link });
    }
    if !(0.0..1.0).contains(&spec.loss) {
        return Err(TopologyError::BadLoss { link, found: spec.loss });
    }
    Ok(())
}

fn check_delay(key: &'static str, found: Span) -> Result<(), TopologyError> {
    if found > MAX_DELAY {
        return Err(TopologyError::LongDelay { key, found, most: MAX_DELAY });
    }
    Ok(())
}

/// A link to be: lower end, upper end, number among parallel links.
struct Cable {
    lower: Node,
    upper: SwitchId,
    parallel: u16,
}

/// All links in the contract's order (see [`Graph`]).
fn cables(shape: Shape) -> Vec<Cable> {
    let host = |host: u64| Cable {
        lower: Node::Host(HostId(host as u16)),
        upper: SwitchId((host / u64::from(shape.hosts_per_tor)) as u16),
        parallel: 0,
    };
    let mut cables: Vec<Cable> = (0..shape.hosts()).map(host).collect();
    for (lower, upper) in shape.wiring {
        let lower = Node::Switch(SwitchId(lower as u16));
        cables.extend((0..shape.links_per_pair as u16).map(|parallel| Cable {
            lower,
            upper: SwitchId(upper as u16),
            parallel,
        }));
    }
    cables
}

/// The switches, without ports yet.
fn switches(tiers: &[Tier]) -> Vec<Switch> {
    let mut switches = Vec::new();
    for (level, tier) in tiers.iter().enumerate() {
        for number in 0..tier.count {
            switches.push(Switch {
                first_port: 0,
                ports: 0,
                host_ports: 0,
                level: Level(level as u8),
                tor: (level == 0).then_some(TorId(number as u16)),
                name: format!("{}{number}", tier.name),
            });
        }
    }
    switches
}

/// Numbers the ports and joins them. Local ports are numbered in the order of the links.
fn wire(spec: &TopologySpec, shape: Shape) -> Graph {
    let hosts_per_tor = shape.hosts_per_tor;
    let mut switches = switches(&shape.tiers);
    let cables = cables(shape);
    for cable in &cables {
        let upper = &mut switches[usize::from(cable.upper.0)];
        upper.ports += 1;
        match cable.lower {
            Node::Host(_) => upper.host_ports += 1,
            Node::Switch(lower) => switches[usize::from(lower.0)].ports += 1,
        }
    }
    let mut next_port = 0;
    for switch in &mut switches {
        switch.first_port = next_port;
        next_port += u32::from(switch.ports);
    }
    let hosts = cables.iter().filter(|cable| matches!(cable.lower, Node::Host(_))).count();
    let tors = switches.iter().filter(|switch| switch.tor.is_some()).count();
    let mut graph = Graph {
        kind: spec.kind,
        ports: vec![UNWIRED; next_port as usize + hosts],
        links: Vec::with_capacity(cables.len()),
        host_port: (next_port..next_port + hosts as u32).collect(),
        host_tor: Vec::with_capacity(hosts),
        host_port_at_tor: Vec::with_capacity(hosts),
        tor_switch: (0..tors).map(|tor| SwitchId(tor as u16)).collect(),
        hosts_per_tor,
        host_delay: spec.host_delay,
        switches,
    };
    let mut wired = vec![0u16; graph.switches.len()];
    for cable in &cables {
        join(&mut graph, spec, &mut wired, cable);
    }
    graph
}

/// Stands in the array until the port's link is joined; every port has one.
const UNWIRED: Port = Port {
    owner: Node::Host(HostId(0)),
    local: PortId(0),
    peer: u32::MAX,
    link: u32::MAX,
    rate: Rate(0),
    delay: Span::ZERO,
    loss: 0.0,
};

/// Adds one link and its two ports. `wired`: ports used so far at each switch.
fn join(graph: &mut Graph, spec: &TopologySpec, wired: &mut [u16], cable: &Cable) {
    let mut next_of = |graph: &Graph, switch: SwitchId| {
        let local = PortId(wired[usize::from(switch.0)]);
        wired[usize::from(switch.0)] += 1;
        (local, graph.global(switch, local))
    };
    let upper_name = graph.switch(cable.upper).name.clone();
    let (upper_local, b) = next_of(graph, cable.upper);
    let (lower_name, lower_local, a, link_spec, extra) = match cable.lower {
        Node::Host(host) => {
            // A host's switch is a switch with hosts, and those have the same number twice.
            graph.host_tor.push(TorId(cable.upper.0));
            graph.host_port_at_tor.push(upper_local);
            let port = graph.host_port[usize::from(host.0)];
            (format!("host{}", host.0), PortId(0), port, &spec.host_link, spec.host_delay)
        }
        Node::Switch(lower) => {
            let (local, port) = next_of(graph, lower);
            (graph.switch(lower).name.clone(), local, port, &spec.fabric_link, Span::ZERO)
        }
    };
    let port = Port {
        link: graph.links.len() as u32,
        rate: link_spec.rate,
        delay: link_spec.delay + extra,
        loss: link_spec.loss,
        ..UNWIRED
    };
    graph.ports[a as usize] = Port { owner: cable.lower, local: lower_local, peer: b, ..port };
    graph.ports[b as usize] =
        Port { owner: Node::Switch(cable.upper), local: upper_local, peer: a, ..port };
    let suffix = match cable.parallel {
        0 => String::new(),
        number => format!("#{number}"),
    };
    let name = format!("{lower_name}-{upper_name}{suffix}");
    graph.links.push(Link { name, a, b, parallel: cable.parallel });
}
