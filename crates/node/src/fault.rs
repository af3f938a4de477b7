//! What cannot be: a scheme that breaks its contract, a count that does not add up.

use leafspine_core::{PortId, Time};

/// A fault of leafspine or of a scheme, never of the scenario.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FaultKind {
    /// Counts do not add up, in words.
    #[error("{0}")]
    Count(String),
    /// A balancer picked a port by which the packet's destination cannot be reached.
    #[error("the balancer \"{scheme}\" picked port {}, no path; allowed: {}", .port.0, list(.paths))]
    NoPath {
        /// The balancer's name in the scenario.
        scheme: String,
        /// What it picked.
        port: PortId,
        /// What it could have picked.
        paths: Vec<PortId>,
    },
    /// A balancer sends a packet of its own by a port that its switch does not have.
    #[error("the balancer \"{scheme}\" sends by port {}, but the switch has {ports}", .port.0)]
    NoPort {
        /// The balancer's name in the scenario.
        scheme: String,
        /// Where it sends.
        port: PortId,
        /// How many ports there are, numbered from 0.
        ports: u32,
    },
    /// A balancer answers each packet that it sends with another.
    #[error(
        "the balancer \"{scheme}\" answers each packet that it sends with another, {depth} deep"
    )]
    Endless {
        /// The balancer's name in the scenario.
        scheme: String,
        /// So many within one another.
        depth: u32,
    },
    /// A queue manager marks a packet that is not ECN-capable: a mark that no host would take for one.
    #[error("a queue manager marks a packet that is not ECN-capable")]
    Unmarkable,
    /// A host edge sends a packet of its own that is no probe: a transport would take it for one of a flow's.
    #[error("a host edge sends a packet that is no probe")]
    NoProbe,
    /// A host edge that reassembles lets more packets go up than wait.
    #[error("a host edge lets {count} packets go up, but {waiting} wait")]
    TooMany {
        /// So many it lets go.
        count: usize,
        /// So many there are.
        waiting: usize,
    },
    /// A scheme asks to be called again at this time, which is not later.
    #[error("a scheme asks to be called again at {0}, which is not later")]
    Backward(Time),
}

fn list(ports: &[PortId]) -> String {
    ports.iter().map(|port| port.0.to_string()).collect::<Vec<_>>().join(", ")
}
