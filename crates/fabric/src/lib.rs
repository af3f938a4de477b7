//! Fabrics: graphs of hosts, switches and links, the ways through them, and what changes them.
//!
//! [`Graph`] is the fabric as the scenario describes it and never changes. [`Routes`] holds the
//! equal-cost next hops of the fabric as it is now and is recomputed when a link changes.
//! [`check_changes`] turns the scenario's link changes into single events on link numbers.
//! [`Ideal`] says how long a flow would take alone. [`kinds`] has the kinds of topology.

mod build;
mod changes;
mod error;
mod graph;
mod ideal;
pub mod kinds;
mod names;
mod routes;
mod spec;

pub use build::{Size, size};
pub use changes::{ResolvedChange, check_changes, restores};
pub use error::{ChangeProblem, TopologyError};
pub use graph::{Graph, Link, LinkEnd, Owner, Switch};
pub use ideal::Ideal;
pub use kinds::TopologyKind;
pub use names::{matches_glob, nearest};
pub use routes::{LinkState, Onward, Routes};
pub use spec::{Flap, LinkChange, LinkSpec, TopologySpec};
