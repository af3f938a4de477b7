//! A fabric and what happens to its links, as a scenario describes them.

use crate::TopologyKind;
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
    /// Its kind.
    pub kind: TopologyKind,
    /// Links between a host and its switch; the fastest of those of [`TopologyKind::File`].
    pub host_link: LinkSpec,
    /// Links between switches that the kind says nothing else of. A star has none.
    pub fabric_link: LinkSpec,
    /// Added at each host, each way.
    pub host_delay: Span,
    /// Before a packet that a host sends joins the host's port: a time drawn uniformly from zero to
    /// this, in the order of sending. Zero: none, and no event.
    pub host_jitter: Span,
}

/// Something that happens to a link at a time, both directions alike.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkChange {
    /// The link's name; with `*`, which stands for any text, those of several.
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
