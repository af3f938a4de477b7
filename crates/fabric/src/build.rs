//! From a description to a graph: sizes are checked, links are listed, ports follow from links.

use crate::kinds::{Plan, Shape, Wiring};
use crate::{
    Graph, Link, LinkEnd, LinkSpec, Owner, Switch, TopologyError, TopologyKind, TopologySpec,
};
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
    let plan = spec.kind.plan();
    if let Plan::Tiers(shape) = &plan {
        check_counts(shape)?;
    }
    size(&spec.kind)?;
    check_link("host_link", &spec.host_link)?;
    check_delay("host_link.delay", spec.host_link.delay)?;
    check_delay("host_delay", spec.host_delay)?;
    check_delay("host_jitter", spec.host_jitter)?;
    if spec.kind.entry().fabric {
        check_link("fabric_link", &spec.fabric_link)?;
        check_delay("fabric_link.delay", spec.fabric_link.delay)?;
    }
    let parts = match plan {
        Plan::Tiers(shape) => of_tiers(spec, &shape),
        Plan::Links(wiring) => of_links(wiring),
    };
    for Cable { link, .. } in &parts.cables {
        check_link("link", link)?;
        check_delay("link.delay", link.delay)?;
    }
    Ok(wire(spec, parts))
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
pub fn size(kind: &TopologyKind) -> Result<Size, TopologyError> {
    let plan = kind.plan();
    let (hosts, tors) = (kind.hosts(), kind.tors());
    let (switches, fabric_links, most_ports) = match &plan {
        Plan::Tiers(shape) => (shape.switches(), shape.links(), shape.most_ports()),
        Plan::Links(wiring) => {
            (wiring.switches.len() as u64, wiring.wires.len() as u64, wiring.most_ports())
        }
    };
    for (what, found, most) in [
        ("hosts", hosts, MAX_HOSTS),
        ("switches", switches, MAX_SWITCHES),
        ("ports at one switch", most_ports, MAX_PORTS),
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

/// A link to be: lower end, upper end, number among parallel links, and what it is.
struct Cable {
    lower: Owner,
    upper: SwitchId,
    parallel: u16,
    link: LinkSpec,
}

/// What a graph is wired from.
struct Parts {
    /// The switches, without ports yet.
    switches: Vec<Switch>,
    /// All links in the contract's order (see [`Graph`]).
    cables: Vec<Cable>,
    /// The hosts' names, where they have their own.
    host_names: Vec<String>,
}

fn switch(name: String, level: Level, tor: Option<TorId>) -> Switch {
    Switch { first_port: 0, ports: 0, host_ports: 0, level, tor, name }
}

fn of_tiers(spec: &TopologySpec, shape: &Shape) -> Parts {
    let mut switches = Vec::new();
    for (level, tier) in shape.tiers.iter().enumerate() {
        for number in 0..shape.count(level) {
            let tor = (level == 0).then_some(TorId(number as u16));
            switches.push(switch(format!("{}{number}", tier.name), Level(level as u8), tor));
        }
    }
    let host = |host: u64| Cable {
        lower: Owner::Host(HostId(host as u16)),
        upper: SwitchId((host / shape.hosts_per_tor()) as u16),
        parallel: 0,
        link: spec.host_link,
    };
    let mut cables: Vec<Cable> = (0..shape.hosts()).map(host).collect();
    for (lower, upper, tier) in shape.wiring() {
        let (lower, upper) = (Owner::Switch(SwitchId(lower as u16)), SwitchId(upper as u16));
        let link = tier.link.unwrap_or(spec.fabric_link);
        let parallel = 0..tier.links as u16;
        cables.extend(parallel.map(|parallel| Cable { lower, upper, parallel, link }));
    }
    Parts { switches, cables, host_names: Vec::new() }
}

fn of_links(wiring: &Wiring) -> Parts {
    let numbered = wiring.switches.iter().enumerate().map(|(number, (name, level))| {
        let tor = (number < usize::from(wiring.tors)).then_some(TorId(number as u16));
        switch(name.clone(), *level, tor)
    });
    let hosts = wiring.hosts.iter().enumerate().map(|(number, host)| Cable {
        lower: Owner::Host(HostId(number as u16)),
        upper: SwitchId(host.switch),
        parallel: 0,
        link: host.link,
    });
    let between = wiring.wires.iter().map(|wire| Cable {
        lower: Owner::Switch(SwitchId(wire.lower)),
        upper: SwitchId(wire.upper),
        parallel: wire.parallel,
        link: wire.link,
    });
    Parts {
        switches: numbered.collect(),
        cables: hosts.chain(between).collect(),
        host_names: wiring.hosts.iter().map(|host| host.name.clone()).collect(),
    }
}

/// Numbers the ports and joins them. Local ports are numbered in the order of the links.
fn wire(spec: &TopologySpec, parts: Parts) -> Graph {
    let Parts { mut switches, cables, host_names } = parts;
    for cable in &cables {
        let upper = &mut switches[usize::from(cable.upper.0)];
        upper.ports += 1;
        match cable.lower {
            Owner::Host(_) => upper.host_ports += 1,
            Owner::Switch(lower) => switches[usize::from(lower.0)].ports += 1,
        }
    }
    let mut next_port = 0;
    for switch in &mut switches {
        switch.first_port = next_port;
        next_port += u32::from(switch.ports);
    }
    let hosts = cables.iter().filter(|cable| matches!(cable.lower, Owner::Host(_))).count();
    let tors = switches.iter().filter(|switch| switch.tor.is_some()).count();
    let first_host = switches[..tors].iter().scan(0, |next, tor| {
        *next += u32::from(tor.host_ports);
        Some(*next)
    });
    let mut graph = Graph {
        kind: spec.kind.clone(),
        ports: vec![UNWIRED; next_port as usize + hosts],
        links: Vec::with_capacity(cables.len()),
        host_port: (next_port..next_port + hosts as u32).collect(),
        host_tor: Vec::with_capacity(hosts),
        host_port_at_tor: Vec::with_capacity(hosts),
        tor_switch: (0..tors).map(|tor| SwitchId(tor as u16)).collect(),
        first_host: std::iter::once(0).chain(first_host).collect(),
        host_names,
        host_delay: spec.host_delay,
        switches,
    };
    let mut wired = vec![0u16; graph.switches.len()];
    for cable in &cables {
        join(&mut graph, &mut wired, cable);
    }
    graph
}

/// Stands in the array until the port's link is joined; every port has one.
const UNWIRED: LinkEnd = LinkEnd {
    owner: Owner::Host(HostId(0)),
    local: PortId(0),
    peer: u32::MAX,
    link: u32::MAX,
    rate: Rate(0),
    delay: Span::ZERO,
    loss: 0.0,
};

/// Adds one link and its two ports. `wired`: ports used so far at each switch.
fn join(graph: &mut Graph, wired: &mut [u16], cable: &Cable) {
    let mut next_of = |graph: &Graph, switch: SwitchId| {
        let local = PortId(wired[usize::from(switch.0)]);
        wired[usize::from(switch.0)] += 1;
        (local, graph.global(switch, local))
    };
    let upper_name = graph.switch(cable.upper).name.clone();
    let (upper_local, b) = next_of(graph, cable.upper);
    let (lower_local, a, extra) = match cable.lower {
        Owner::Host(host) => {
            // A host's switch is a switch with hosts, and those have the same number twice.
            graph.host_tor.push(TorId(cable.upper.0));
            graph.host_port_at_tor.push(upper_local);
            (PortId(0), graph.host_port[usize::from(host.0)], graph.host_delay)
        }
        Owner::Switch(lower) => {
            let (local, port) = next_of(graph, lower);
            (local, port, Span::ZERO)
        }
    };
    let lower_name = graph.node_name(cable.lower);
    let port = LinkEnd {
        link: graph.links.len() as u32,
        rate: cable.link.rate,
        delay: cable.link.delay + extra,
        loss: cable.link.loss,
        ..UNWIRED
    };
    graph.ports[a as usize] = LinkEnd { owner: cable.lower, local: lower_local, peer: b, ..port };
    graph.ports[b as usize] =
        LinkEnd { owner: Owner::Switch(cable.upper), local: upper_local, peer: a, ..port };
    let suffix = match cable.parallel {
        0 => String::new(),
        number => format!("#{number}"),
    };
    let name = format!("{lower_name}-{upper_name}{suffix}");
    graph.links.push(Link { name, a, b, parallel: cable.parallel });
}
