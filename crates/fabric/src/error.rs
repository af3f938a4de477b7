//! What can be wrong with a topology, in words for the person who wrote the scenario.

use leafspine_core::{Rate, Span, Time};
use thiserror::Error;

/// A topology, a name in it or a change to it that cannot be.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum TopologyError {
    /// A count is zero.
    #[error("topology.{key} = 0: allowed is 1 or more")]
    ZeroCount {
        /// The count's key.
        key: &'static str,
    },
    /// A count that must be even is odd, or zero.
    #[error("topology.{key} = {found}: allowed is an even number, 2 or more")]
    OddCount {
        /// The count's key.
        key: &'static str,
        /// The number found.
        found: u32,
    },
    /// The fabric is too large.
    #[error("topology: {found} {what}: allowed are at most {most}")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many there would be.
        found: u64,
        /// How many there may be.
        most: u64,
    },
    /// A link without a rate.
    #[error("topology.{link}.rate = {}: allowed is a rate above zero", Rate(0))]
    ZeroRate {
        /// `host_link` or `fabric_link`.
        link: &'static str,
    },
    /// A loss that is no probability below one.
    #[error("topology.{link}.loss = {found}: allowed is a probability from 0 to below 1")]
    BadLoss {
        /// `host_link` or `fabric_link`.
        link: &'static str,
        /// The loss found.
        found: f64,
    },
    /// A delay that is longer than any link.
    #[error("topology.{key} = {found}: allowed is at most {most}")]
    LongDelay {
        /// The delay's key.
        key: &'static str,
        /// The delay found.
        found: Span,
        /// The longest delay allowed.
        most: Span,
    },
    /// A way there and back that is longer than timestamps can tell.
    #[error("topology: a round trip of {found} in the empty fabric: allowed is at most {most}")]
    LongRoundTrip {
        /// The longest round-trip time of a full packet and its acknowledgment.
        found: Span,
        /// The longest allowed.
        most: Span,
    },
    /// No link has this name.
    #[error("no link \"{name}\"; nearest is \"{nearest}\"; links are {allowed}")]
    UnknownLink {
        /// The name found.
        name: String,
        /// The most similar name of a link.
        nearest: String,
        /// Which links there are.
        allowed: String,
    },
    /// No switch with hosts has this name.
    #[error("no switch with hosts \"{name}\"; nearest is \"{nearest}\"; there are {allowed}")]
    UnknownTor {
        /// The name found.
        name: String,
        /// The most similar name of a switch with hosts.
        nearest: String,
        /// Which there are.
        allowed: String,
    },
    /// No port's name matches this pattern.
    #[error(
        "no port matches \"{pattern}\"; nearest is \"{nearest}\"; a port is named after its own \
         end first, * stands for any text, and links are {allowed}"
    )]
    UnknownPort {
        /// The pattern found.
        pattern: String,
        /// The most similar name of a port.
        nearest: String,
        /// Which links there are.
        allowed: String,
    },
    /// A change that makes no sense.
    #[error("topology.change[{index}]: {problem}")]
    Change {
        /// Which change, from 0 in the file's order.
        index: usize,
        /// What is wrong with it.
        problem: ChangeProblem,
    },
    /// The links that are down after the last change split the fabric.
    #[error(
        "after the last topology.change the fabric is split in two: no path from {a} to {b}; \
         allowed is a split that a later change heals"
    )]
    Split {
        /// A switch with hosts.
        a: String,
        /// A switch with hosts that it cannot reach.
        b: String,
    },
    /// A host's only link goes down and stays down.
    #[error(
        "topology.change[{index}]: {link} goes down at {at} for good, which cuts off a host; \
         allowed is an outage that a later change ends"
    )]
    CutOff {
        /// The change that takes the link down.
        index: usize,
        /// The link.
        link: String,
        /// When it goes down.
        at: Time,
    },
}

/// What is wrong with one change.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum ChangeProblem {
    /// No link has this name.
    #[error(transparent)]
    Link(#[from] Box<TopologyError>),
    /// Neither rate nor delay, loss, state nor flap.
    #[error("nothing changes; allowed are rate, delay, loss, state and flap, one or more")]
    Nothing,
    /// A rate of zero.
    #[error("rate = {}: allowed is a rate above zero; state = \"down\" stops a link", Rate(0))]
    ZeroRate,
    /// A loss that is no probability below one.
    #[error("loss = {0}: allowed is a probability from 0 to below 1")]
    BadLoss(f64),
    /// A delay that is longer than any link.
    #[error("delay = {found}: allowed is at most {most}")]
    LongDelay {
        /// The delay found.
        found: Span,
        /// The longest delay allowed.
        most: Span,
    },
    /// A flap beside a state.
    #[error("both state and flap: a flap sets the state itself, allowed is one of the two")]
    StateAndFlap,
    /// A flap that never is down, or never up.
    #[error("flap.down_for = {down_for}: allowed is above 0 and below flap.every = {every}")]
    FlapDown {
        /// How long the link is down in a cycle.
        down_for: Span,
        /// The cycle.
        every: Span,
    },
    /// A flap that never happens.
    #[error("flap.times = 0: allowed is 1 or more")]
    FlapNever,
    /// Flaps that do not fit into memory or into time.
    #[error("flap.times = {times}: allowed are at most {most} cycles, within 213 days")]
    FlapTooOften {
        /// Cycles found.
        times: u32,
        /// Cycles allowed.
        most: u32,
    },
}
