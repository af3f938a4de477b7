//! A fabric and what happens to its links, as a scenario describes them.

use leafspine_core::{Rate, Span, Time};

/// Rate, propagation delay and random loss of a link, the same in both directions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkSpec {
    /// Rate, above zero.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Span,
    /// Probability that a packet is lost on the wire, in `0..1`.
    pub loss: f64,
}

/// The graph, before any change.
#[derive(Clone, PartialEq, Debug)]
pub struct TopologySpec {
    /// Its shape.
    pub kind: TopologyKind,
    /// Links between a host and its switch.
    pub host_link: LinkSpec,
    /// Links between switches. A star has none.
    pub fabric_link: LinkSpec,
    /// Added at each host, each way.
    pub host_delay: Span,
    /// Before a packet that a host sends joins the host's port: a time drawn uniformly from zero to
    /// this, in the order of sending. Zero: none, and no event.
    pub host_jitter: Span,
}

/// The shapes. Link names are `host3-leaf0`, `leaf0-spine1`, `leaf0-spine1#1` (second of several
/// parallel links; `#0` is the first and may be left out), `edge0-agg1`, `agg0-core3`,
/// `host0-switch0` (star), `tor0-core0` (tree). Hosts, switches of a kind and parallel links are
/// counted from 0, in order, through the whole fabric.
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

/// Something that happens to a link at a time, both directions alike.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkChange {
    /// The link's name.
    pub link: String,
    /// When.
    pub at: Time,
    /// A new rate.
    pub rate: Option<Rate>,
    /// A new propagation delay. Packets on a link never overtake each other.
    pub delay: Option<Span>,
    /// A new loss probability.
    pub loss: Option<f64>,
    /// Up or down.
    pub up: Option<bool>,
    /// Repeats `down` for `down_for`, then up for the rest of `every`, `times` times, from `at`.
    pub flap: Option<Flap>,
}

/// A flapping link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flap {
    /// Length of a cycle.
    pub every: Span,
    /// Of which the link is down, at the start of the cycle.
    pub down_for: Span,
    /// Cycles.
    pub times: u32,
}
