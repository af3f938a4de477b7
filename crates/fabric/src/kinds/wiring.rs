//! Any fabric: switches, hosts and links as a list has them.

use super::Entry;
use crate::LinkSpec;
use leafspine_core::{Rate, Span};
use leafspine_schemes::Level;
use std::collections::{BTreeMap, HashMap, HashSet};

/// `topology.kind = "file"`.
pub const ENTRY: Entry =
    Entry { name: "file", keys: &[], hosts_key: "path", tors: None, fabric: true, kind: None };

/// A node of a list, as it describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vertex {
    /// Its name.
    pub name: String,
    /// Whether it is a host, if the list says so.
    pub host: Option<bool>,
    /// A switch's tier, if the list says so: it rises with the distance from the hosts.
    pub tier: Option<u32>,
}

/// A link of a list, as it describes it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Edge {
    /// The two nodes it joins, by number.
    pub ends: (usize, usize),
    /// Its rate, if the list says so.
    pub rate: Option<Rate>,
    /// Its propagation delay, if the list says so.
    pub delay: Option<Span>,
    /// Its random loss, if the list says so.
    pub loss: Option<f64>,
}

/// What links have that a list says nothing of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Defaults {
    /// Of hosts.
    pub host: Option<LinkSpec>,
    /// Between switches.
    pub fabric: Option<LinkSpec>,
}

/// Which entry of a list is to blame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Blamed {
    /// The node of this number.
    Vertex(usize),
    /// The link of this number.
    Edge(usize),
    /// The list as a whole.
    Whole,
}

/// A list that is no fabric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WiringError {
    /// Which entry.
    pub place: Blamed,
    /// Which attribute of it; empty for the entry itself.
    pub key: &'static str,
    /// What was found.
    pub found: String,
    /// What is allowed.
    pub allowed: String,
}

/// A host and its link.
#[derive(Clone, PartialEq, Debug)]
pub struct WiredHost {
    /// Its name.
    pub name: String,
    /// The number of its switch.
    pub switch: u16,
    /// Its link.
    pub link: LinkSpec,
}

/// A link between switches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Wire {
    /// Number of the lower-numbered switch.
    pub lower: u16,
    /// Number of the other.
    pub upper: u16,
    /// Its number among the parallel links of the two.
    pub parallel: u16,
    /// Rate, delay, loss.
    pub link: LinkSpec,
}

/// A fabric as a list of links, numbered as the [`Graph`](crate::Graph) numbers it.
///
/// Switches with hosts come first, in the list's order; then all others by tier, and in the list's
/// order. Hosts are numbered switch by switch, under one switch in the list's order.
#[derive(Clone, PartialEq, Debug)]
pub struct Wiring {
    /// Name and tier of each switch.
    pub switches: Vec<(String, Level)>,
    /// How many of them have hosts.
    pub tors: u16,
    /// The hosts.
    pub hosts: Vec<WiredHost>,
    /// Links between switches, by lower switch, upper switch and number.
    pub wires: Vec<Wire>,
    host_numbers: HashMap<String, u32>,
}

/// As many as a switch's number has room for.
const MOST_SWITCHES: usize = 65_535;
/// As many as a host's number has room for.
const MOST_HOSTS: usize = 65_536;
/// As many as a port's number has room for.
const MOST_PARALLEL: usize = 65_535;

impl Wiring {
    /// The fabric of a list.
    ///
    /// Where the list calls any node a host, those are the hosts; where it does not, the nodes with
    /// one link are that it does not call switches. A switch's tier is what the list says, or else
    /// its distance from the switches with hosts.
    ///
    /// # Errors
    /// A name that cannot be one or is there twice, a host without exactly one link or linked to
    /// another host, a switch linked to itself, a link without a rate or delay, a fabric in several
    /// parts, tiers for some switches only or that do not begin at those with hosts; more than there
    /// may be.
    pub fn new(
        vertices: &[Vertex],
        edges: &[Edge],
        defaults: &Defaults,
    ) -> Result<Wiring, WiringError> {
        check_names(vertices)?;
        let hosts = hosts(vertices, edges)?;
        check_ends(vertices, edges, &hosts)?;
        let tiers = tiers(vertices, edges, &hosts)?;
        let numbers = numbers(&hosts, edges, &tiers);
        let number = |vertex: usize| numbers.of[vertex];
        let mut found: Vec<WiredHost> = Vec::new();
        let mut wires: Vec<Wire> = Vec::new();
        for (at, edge) in edges.iter().enumerate() {
            let (a, b) = edge.ends;
            let link = |default: &Option<LinkSpec>| spec(edge, at, default);
            if hosts[a] || hosts[b] {
                let (host, switch) = if hosts[a] { (a, b) } else { (b, a) };
                let (name, link) = (vertices[host].name.clone(), link(&defaults.host)?);
                found.push(WiredHost { name, switch: number(switch), link });
            } else {
                let (lower, upper) = (number(a).min(number(b)), number(a).max(number(b)));
                wires.push(Wire { lower, upper, parallel: 0, link: link(&defaults.fabric)? });
            }
        }
        let order: HashMap<&str, usize> =
            vertices.iter().enumerate().map(|(at, vertex)| (vertex.name.as_str(), at)).collect();
        found.sort_by_key(|host| (host.switch, order[host.name.as_str()]));
        wires.sort_by_key(|wire| (wire.lower, wire.upper));
        count_parallel(&mut wires)?;
        let by_name = found.iter().enumerate();
        let host_numbers = by_name.map(|(at, host)| (host.name.clone(), at as u32)).collect();
        let name = |vertex: &usize| (vertices[*vertex].name.clone(), tiers[*vertex]);
        let switches = numbers.order.iter().map(name).collect();
        Ok(Wiring { switches, tors: numbers.tors, hosts: found, wires, host_numbers })
    }

    /// The number of the host of this name.
    #[must_use]
    pub fn host_named(&self, name: &str) -> Option<u32> {
        self.host_numbers.get(name).copied()
    }

    /// Names of the switches with hosts.
    pub fn tor_names(&self) -> impl Iterator<Item = &str> {
        self.switches[..usize::from(self.tors)].iter().map(|(name, _)| name.as_str())
    }

    /// The hosts' links.
    pub fn host_links(&self) -> impl Iterator<Item = LinkSpec> {
        self.hosts.iter().map(|host| host.link)
    }

    /// Ports of the switch that has most.
    pub(crate) fn most_ports(&self) -> u64 {
        let mut ports = vec![0u64; self.switches.len()];
        for host in &self.hosts {
            ports[usize::from(host.switch)] += 1;
        }
        for wire in &self.wires {
            ports[usize::from(wire.lower)] += 1;
            ports[usize::from(wire.upper)] += 1;
        }
        ports.into_iter().max().unwrap_or(0)
    }
}

fn refuse<T>(
    place: Blamed,
    key: &'static str,
    found: impl Into<String>,
    allowed: &str,
) -> Result<T, WiringError> {
    Err(WiringError { place, key, found: found.into(), allowed: allowed.to_owned() })
}

/// Ports and links are called by the names of their ends, patterns and numbers of parallel links
/// included.
fn check_names(vertices: &[Vertex]) -> Result<(), WiringError> {
    let mut seen = HashSet::new();
    for (at, vertex) in vertices.iter().enumerate() {
        let name = vertex.name.as_str();
        let odd = |c: char| c.is_whitespace() || c.is_control() || "*#,\"'".contains(c);
        if name.is_empty() || name.contains(odd) {
            let allowed = "a name without spaces, quotes, commas, * and #";
            return refuse(Blamed::Vertex(at), "name", format!("{name:?}"), allowed);
        }
        if !seen.insert(name) {
            let found = format!("{name:?} a second time");
            return refuse(Blamed::Vertex(at), "name", found, "a name of its own for each node");
        }
    }
    Ok(())
}

/// Which nodes are hosts.
fn hosts(vertices: &[Vertex], edges: &[Edge]) -> Result<Vec<bool>, WiringError> {
    let mut links = vec![0usize; vertices.len()];
    for edge in edges {
        links[edge.ends.0] += 1;
        links[edge.ends.1] += 1;
    }
    let named = vertices.iter().any(|vertex| vertex.host == Some(true));
    let is_host = |(at, vertex): (usize, &Vertex)| match vertex.host {
        Some(host) => host,
        None => !named && links[at] == 1,
    };
    let hosts: Vec<bool> = vertices.iter().enumerate().map(is_host).collect();
    if !hosts.contains(&true) {
        let allowed = "nodes with the role \"host\", or with one link only";
        return refuse(Blamed::Whole, "role", "no hosts", allowed);
    }
    for (at, vertex) in vertices.iter().enumerate().filter(|(at, _)| hosts[*at]) {
        if links[at] != 1 {
            let found = format!("{} links of the host {:?}", links[at], vertex.name);
            return refuse(Blamed::Vertex(at), "role", found, "one link of a host");
        }
        if vertex.tier.is_some_and(|tier| tier > 0) {
            let found = format!("a tier of the host {:?}", vertex.name);
            return refuse(Blamed::Vertex(at), "tier", found, "tiers of switches only");
        }
    }
    let switches = hosts.iter().filter(|host| !**host).count();
    for (what, found, most) in
        [("hosts", hosts.len() - switches, MOST_HOSTS), ("switches", switches, MOST_SWITCHES)]
    {
        if found > most {
            return refuse(
                Blamed::Whole,
                "",
                format!("{found} {what}"),
                &format!("at most {most}"),
            );
        }
    }
    Ok(hosts)
}

/// Whether links join what may be joined, and give every port a name of its own.
fn check_ends(vertices: &[Vertex], edges: &[Edge], hosts: &[bool]) -> Result<(), WiringError> {
    let mut ports: HashMap<String, (usize, usize)> = HashMap::new();
    for (at, edge) in edges.iter().enumerate() {
        let (a, b) = edge.ends;
        let names = (vertices[a].name.as_str(), vertices[b].name.as_str());
        if a == b {
            let found = format!("a link from {:?} to itself", names.0);
            return refuse(Blamed::Edge(at), "target", found, "two different nodes");
        }
        if hosts[a] && hosts[b] {
            let found = format!("a link between the hosts {:?} and {:?}", names.0, names.1);
            let allowed =
                "a switch at one end; nodes with one link are hosts where no role says so";
            return refuse(Blamed::Edge(at), "target", found, allowed);
        }
        for (own, other) in [(a, b), (b, a)] {
            let name = format!("{}-{}", vertices[own].name, vertices[other].name);
            let same = *ports.entry(name.clone()).or_insert((own, other));
            if same != (own, other) {
                let found = format!(
                    "two ports called {name:?}, of {:?} and {:?}",
                    vertices[own].name, vertices[same.0].name
                );
                return refuse(
                    Blamed::Edge(at),
                    "",
                    found,
                    "names that differ where \"-\" joins two",
                );
            }
        }
    }
    Ok(())
}

/// Each node's tier; of a host nothing that matters.
fn tiers(vertices: &[Vertex], edges: &[Edge], hosts: &[bool]) -> Result<Vec<Level>, WiringError> {
    let mut near: Vec<Vec<usize>> = vec![Vec::new(); vertices.len()];
    for edge in edges {
        near[edge.ends.0].push(edge.ends.1);
        near[edge.ends.1].push(edge.ends.0);
    }
    let has_hosts = |at: usize| near[at].iter().any(|other| hosts[*other]);
    let lowest: Vec<usize> =
        (0..vertices.len()).filter(|at| !hosts[*at] && has_hosts(*at)).collect();
    check_connected(vertices, &near, lowest[0])?;
    let stated = |at: &usize| vertices[*at].tier;
    let switches = || (0..vertices.len()).filter(|at| !hosts[*at]);
    if switches().any(|at| stated(&at).is_some()) {
        return stated_tiers(vertices, hosts, &lowest);
    }
    let distance = distances(&near, &lowest, hosts);
    let level = |(at, steps): (usize, &u32)| match u8::try_from(*steps) {
        Ok(level) => Ok(Level(level)),
        Err(_) => {
            let found = format!("{:?}, {steps} links from a switch with hosts", vertices[at].name);
            refuse(Blamed::Vertex(at), "", found, "at most 255 links")
        }
    };
    distance.iter().enumerate().map(level).collect()
}

/// Links to the nearest of `from`, hosts left out.
fn distances(near: &[Vec<usize>], from: &[usize], hosts: &[bool]) -> Vec<u32> {
    let mut distance = vec![u32::MAX; near.len()];
    let mut order = from.to_vec();
    from.iter().for_each(|at| distance[*at] = 0);
    let mut next = 0;
    while let Some(&at) = order.get(next) {
        next += 1;
        for &other in &near[at] {
            if distance[other] == u32::MAX && !hosts[other] {
                distance[other] = distance[at] + 1;
                order.push(other);
            }
        }
    }
    (0..near.len()).filter(|at| hosts[*at]).for_each(|at| distance[at] = 0);
    distance
}

fn check_connected(
    vertices: &[Vertex],
    near: &[Vec<usize>],
    first: usize,
) -> Result<(), WiringError> {
    let reached = distances(near, &[first], &vec![false; near.len()]);
    match reached.iter().position(|distance| *distance == u32::MAX) {
        None => Ok(()),
        Some(at) => {
            let found =
                format!("no path from {:?} to {:?}", vertices[first].name, vertices[at].name);
            refuse(Blamed::Vertex(at), "", found, "a fabric in one part")
        }
    }
}

/// The tiers that the list gives, those of the switches with hosts counted as 0.
fn stated_tiers(
    vertices: &[Vertex],
    hosts: &[bool],
    lowest: &[usize],
) -> Result<Vec<Level>, WiringError> {
    let base = vertices[lowest[0]].tier.unwrap_or(0);
    let mut levels = vec![Level(0); vertices.len()];
    for (at, vertex) in vertices.iter().enumerate().filter(|(at, _)| !hosts[*at]) {
        let Some(tier) = vertex.tier else {
            let found = format!("no tier of {:?}, where other switches have one", vertex.name);
            return refuse(
                Blamed::Vertex(at),
                "tier",
                found,
                "a tier for each switch, or for none",
            );
        };
        let with_hosts = lowest.contains(&at);
        let above = tier.checked_sub(base).and_then(|above| u8::try_from(above).ok());
        match above {
            Some(above) if with_hosts == (above == 0) => levels[at] = Level(above),
            _ => {
                let what = if with_hosts { "with" } else { "without" };
                let found = format!("tier {tier} of {:?}, a switch {what} hosts", vertex.name);
                let allowed = match with_hosts {
                    true => format!("{base}, as that of the other switches with hosts"),
                    false => format!("{} to {}, above those with hosts", base + 1, base + 255),
                };
                return refuse(Blamed::Vertex(at), "tier", found, &allowed);
            }
        }
    }
    Ok(levels)
}

/// How switches are numbered.
struct Numbers {
    /// The number of each node that is a switch.
    of: Vec<u16>,
    /// The switches' nodes by number.
    order: Vec<usize>,
    tors: u16,
}

fn numbers(hosts: &[bool], edges: &[Edge], tiers: &[Level]) -> Numbers {
    let mut with_hosts = vec![false; hosts.len()];
    for &Edge { ends: (a, b), .. } in edges {
        with_hosts[a] |= hosts[b];
        with_hosts[b] |= hosts[a];
    }
    let mut order: Vec<usize> = (0..hosts.len()).filter(|at| !hosts[*at]).collect();
    // Stable: within a tier, the list's order stays.
    order.sort_by_key(|at| (!with_hosts[*at], tiers[*at]));
    let mut of = vec![u16::MAX; hosts.len()];
    for (number, at) in order.iter().enumerate() {
        of[*at] = number as u16;
    }
    let tors = order.iter().filter(|at| with_hosts[**at]).count() as u16;
    Numbers { of, order, tors }
}

/// A link's rate, delay and loss.
fn spec(edge: &Edge, at: usize, default: &Option<LinkSpec>) -> Result<LinkSpec, WiringError> {
    let missing = |key| {
        let allowed = "a rate and a delay of each link, here or in the scenario \
                       (topology.host_link, topology.fabric_link)";
        refuse(Blamed::Edge(at), key, "nothing", allowed)
    };
    let Some(rate) = edge.rate.or(default.map(|link| link.rate)) else { return missing("rate") };
    let Some(delay) = edge.delay.or(default.map(|link| link.delay)) else {
        return missing("delay");
    };
    let loss = edge.loss.or(default.map(|link| link.loss)).unwrap_or(0.0);
    Ok(LinkSpec { rate, delay, loss })
}

/// Numbers the parallel links of sorted wires.
fn count_parallel(wires: &mut [Wire]) -> Result<(), WiringError> {
    let mut seen: BTreeMap<(u16, u16), usize> = BTreeMap::new();
    for wire in wires {
        let before = seen.entry((wire.lower, wire.upper)).or_default();
        if *before >= MOST_PARALLEL {
            return refuse(Blamed::Whole, "", "65536 links between two switches", "at most 65535");
        }
        wire.parallel = *before as u16;
        *before += 1;
    }
    Ok(())
}
