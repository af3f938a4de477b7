//! The kinds of topology, one file each.
//!
//! A file has what is known of its kind alone: the scenario's keys (its [`Entry`]), its tiers of
//! switches and which of them are linked (its [`Shape`]). All else, from the number of hosts to the
//! names of links, follows for every kind alike. A new kind is a file with an `ENTRY` and a `shape`,
//! and four lines here: its `mod`, a variant of [`TopologyKind`], an arm of [`TopologyKind::shape`] and
//! a line of [`ALL`]; `docs/adding-a-topology.md` walks through it.

mod fat_tree;
mod leaf_spine;
mod star;
mod tree;

/// A topology's kind and its counts. Link names are `host3-leaf0`, `leaf0-spine1`, `leaf0-spine1#1`
/// (second of several parallel links; `#0` is the first and may be left out), `edge0-agg1`,
/// `agg0-core3`, `host0-switch0` (star), `tor0-core0` (tree). Hosts, switches of a tier and parallel
/// links are counted from 0, in order, through the whole fabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TopologyKind {
    /// One switch, `hosts` hosts.
    Star {
        /// Hosts.
        hosts: u32,
    },
    /// Every leaf is linked to every spine.
    LeafSpine {
        /// Leaf switches.
        leaves: u32,
        /// Spine switches.
        spines: u32,
        /// Hosts under a leaf.
        hosts_per_leaf: u32,
        /// Parallel links between a leaf and a spine.
        links_per_pair: u32,
    },
    /// Three tiers from `k`-port switches (Al-Fares et al., SIGCOMM 2008): `k` pods of `k/2` edge
    /// and `k/2` aggregation switches, `(k/2)^2` cores, `k^3/4` hosts.
    FatTree {
        /// Ports of a switch; even.
        k: u32,
    },
    /// Two tiers, one core (ABQ §IV).
    Tree {
        /// Switches with hosts.
        tors: u32,
        /// Hosts under each.
        hosts_per_tor: u32,
        /// Parallel links to the core.
        links_per_pair: u32,
    },
}

impl TopologyKind {
    /// What a fabric of this kind looks like.
    #[must_use]
    pub fn shape(self) -> Shape {
        match self {
            TopologyKind::Star { hosts } => star::shape(hosts),
            TopologyKind::LeafSpine { leaves, spines, hosts_per_leaf, links_per_pair } => {
                leaf_spine::shape(leaves, spines, hosts_per_leaf, links_per_pair)
            }
            TopologyKind::FatTree { k } => fat_tree::shape(k),
            TopologyKind::Tree { tors, hosts_per_tor, links_per_pair } => {
                tree::shape(tors, hosts_per_tor, links_per_pair)
            }
        }
    }
}

/// Every kind, in the order in which messages list them.
pub const ALL: &[Entry] = &[star::ENTRY, leaf_spine::ENTRY, fat_tree::ENTRY, tree::ENTRY];

/// Their names.
pub const NAMES: [&str; ALL.len()] = {
    let mut names = [""; ALL.len()];
    let mut at = 0;
    while at < ALL.len() {
        names[at] = ALL[at].name;
        at += 1;
    }
    names
};

/// A kind of topology as scenarios have it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What `topology.kind` says.
    pub name: &'static str,
    /// Its counts, in the order in which they are written.
    pub keys: &'static [Key],
    /// The key that is to blame for too many hosts.
    pub hosts_key: &'static str,
    /// What its switches with hosts are, where there may be several: `leaves`.
    pub tors: Option<&'static str>,
    /// Whether it has links between switches.
    pub fabric: bool,
    /// The kind with these counts, one for each key.
    pub kind: fn(&[u32]) -> TopologyKind,
}

/// A count that a scenario gives.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// The least and the most that a scenario may ask for.
    pub range: (u32, u32),
    /// What it is if the scenario does not say.
    pub default: Option<&'static str>,
    /// Whether it must be even.
    pub even: bool,
}

/// A key that has to be given: as many as there may be switches or ports.
const fn count(name: &'static str) -> Key {
    Key { name, range: (1, 65_536), default: None, even: false }
}

/// Parallel links between two switches.
const LINKS_PER_PAIR: Key = Key { default: Some("1"), ..count("links_per_pair") };

/// Switches of one tier.
#[derive(Clone, Copy, Debug)]
pub struct Tier {
    /// What they are called, before the number.
    pub name: &'static str,
    /// How many there are.
    pub count: u64,
}

/// What a fabric looks like, before anything is allocated for it. The numbers may be larger than
/// any fabric: [`size`](crate::size) refuses those.
pub struct Shape {
    /// Its kind.
    pub entry: &'static Entry,
    /// The counts it is made from, one for each key.
    pub counts: Vec<u32>,
    /// The tiers of switches, those with hosts first.
    pub tiers: Vec<Tier>,
    /// Hosts under each switch that has hosts.
    pub hosts_per_tor: u32,
    /// Parallel links between two switches.
    pub links_per_pair: u32,
    /// Ports of the switch that has most.
    pub most_ports: u64,
    /// Links between switches that a packet crosses between the hosts that are farthest apart.
    pub farthest: usize,
    /// How many pairs of switches are linked.
    pub pairs: u64,
    /// Those pairs, the lower switch first, in the order of the [`Graph`](crate::Graph)'s links.
    /// Switches are numbered tier by tier.
    pub wiring: Box<dyn Iterator<Item = (u64, u64)>>,
    /// What a list of the names of tiers leaves open about the links between them.
    pub note: &'static str,
}

impl Shape {
    /// How many switches have hosts.
    #[must_use]
    pub fn tors(&self) -> u64 {
        self.tiers[0].count
    }

    /// How many hosts there are.
    #[must_use]
    pub fn hosts(&self) -> u64 {
        self.tors().saturating_mul(u64::from(self.hosts_per_tor))
    }
}
