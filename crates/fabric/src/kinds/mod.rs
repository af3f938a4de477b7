//! The kinds of topology, one file each.
//!
//! A file has what is known of its kind alone: the scenario's keys (its [`Entry`]) and what it is made
//! of. Nearly all kinds are tiers of switches, a [`Shape`]: how many below and above there are decides
//! which are linked, and all else, from the number of hosts to the names of links, follows for every
//! kind alike. [`Wiring`] is any fabric, switch by switch. A new kind of tiers is a file with an `ENTRY`
//! and a `shape`, and four lines here: its `mod`, a variant of [`TopologyKind`], an arm of
//! [`TopologyKind::plan`] and a line of [`ALL`]; `docs/adding-a-topology.md` walks through it.

mod clos;
mod fat_tree;
mod leaf_spine;
mod shape;
mod star;
mod tree;
mod wiring;

pub use clos::{
    Bundle, Clos, ClosError, ClosTier, ENTRY as CLOS, MOST_TIERS, of_radix, oversubscribed,
};
pub use shape::{Shape, Tier};
use std::sync::Arc;
pub use wiring::{
    Blamed, Defaults, ENTRY as FILE, Edge, Vertex, Wire, WiredHost, Wiring, WiringError,
};

/// A topology's kind and its counts. Link names are `host3-leaf0`, `leaf0-spine1`, `leaf0-spine1#1`
/// (second of several parallel links; `#0` is the first and may be left out), `edge0-agg1`,
/// `agg0-core3`, `host0-switch0` (star), `tor0-core0` (tree). Hosts, switches of a tier and parallel
/// links are counted from 0, in order, through the whole fabric.
#[derive(Clone, PartialEq, Debug)]
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
    /// Tiers of any numbers and links.
    Clos(Arc<Clos>),
    /// Any switches and links, from a file.
    File(Arc<Wiring>),
}

/// What a fabric is built from.
pub enum Plan<'a> {
    /// Tiers of like switches.
    Tiers(Shape),
    /// A list of links.
    Links(&'a Wiring),
}

impl TopologyKind {
    /// What a fabric of this kind is built from.
    #[must_use]
    pub fn plan(&self) -> Plan<'_> {
        Plan::Tiers(match *self {
            TopologyKind::Star { hosts } => star::shape(hosts),
            TopologyKind::LeafSpine { leaves, spines, hosts_per_leaf, links_per_pair } => {
                leaf_spine::shape(leaves, spines, hosts_per_leaf, links_per_pair)
            }
            TopologyKind::FatTree { k } => fat_tree::shape(k),
            TopologyKind::Tree { tors, hosts_per_tor, links_per_pair } => {
                tree::shape(tors, hosts_per_tor, links_per_pair)
            }
            TopologyKind::Clos(ref clos) => clos.shape(),
            TopologyKind::File(ref wiring) => return Plan::Links(wiring),
        })
    }

    /// Its kind as scenarios have it.
    #[must_use]
    pub fn entry(&self) -> &'static Entry {
        match self.plan() {
            Plan::Tiers(shape) => shape.entry,
            Plan::Links(_) => &FILE,
        }
    }

    /// How many hosts there are, or would be: it may be more than any fabric has.
    #[must_use]
    pub fn hosts(&self) -> u64 {
        match self.plan() {
            Plan::Tiers(shape) => shape.hosts(),
            Plan::Links(wiring) => wiring.hosts.len() as u64,
        }
    }

    /// How many switches have hosts, or would have.
    #[must_use]
    pub fn tors(&self) -> u64 {
        match self.plan() {
            Plan::Tiers(shape) => shape.tors(),
            Plan::Links(wiring) => u64::from(wiring.tors),
        }
    }

    /// The number of the host of this name: `host5`, or what a file calls it.
    #[must_use]
    pub fn host_named(&self, name: &str) -> Option<u64> {
        match self {
            TopologyKind::File(wiring) => wiring.host_named(name).map(u64::from),
            _ => {
                let number = canonical_number(name.strip_prefix("host")?)?;
                Some(u64::from(number)).filter(|number| *number < self.hosts())
            }
        }
    }

    /// Whether a switch with hosts has this name.
    #[must_use]
    pub fn has_tor(&self, name: &str) -> bool {
        match self.plan() {
            Plan::Tiers(shape) => {
                let number = name.strip_prefix(&*shape.tiers[0].name).and_then(canonical_number);
                number.is_some_and(|number| u64::from(number) < shape.tors())
            }
            Plan::Links(wiring) => wiring.tor_names().any(|tor| tor == name),
        }
    }
}

/// A number without sign or leading zeros, so that every thing has one name.
pub(crate) fn canonical_number(text: &str) -> Option<u32> {
    let plain =
        text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

/// Every kind, in the order in which messages list them.
pub const ALL: &[Entry] =
    &[star::ENTRY, leaf_spine::ENTRY, fat_tree::ENTRY, tree::ENTRY, CLOS, FILE];

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
    /// The kind with these counts, one for each key; `None` if it takes more than counts.
    pub kind: Option<fn(&[u32]) -> TopologyKind>,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if one link can be written in two ways that are not meant.
    #[test]
    fn numbers_have_one_form() {
        assert_eq!(canonical_number("0"), Some(0));
        assert_eq!(canonical_number("10"), Some(10));
        for text in ["", "00", "01", "+1", "-1", "1 ", "99999999999"] {
            assert_eq!(canonical_number(text), None, "{text:?}");
        }
    }
}
