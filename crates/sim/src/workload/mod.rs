//! Flows: when they start, between which hosts, and how long they are.
//!
//! [`FlowSource`] merges a run's workloads into one stream of [`Flow`]s in order of their starts,
//! made one at a time. What a workload draws is keyed by the run's seed, the workload's number and
//! what is drawn (starts, pairs, sizes), each from a stream of its own and always the same number of
//! words a flow: the same seed gives the same flows to every scheme, and a sweep over load moves
//! nothing but the starts.

mod all_to_all;
mod chakra;
mod collective;
mod dag;
mod error;
mod goal;
mod hosts;
mod incast;
mod law;
mod load;
mod long_flows;
mod named;
mod pairs;
mod permutation;
mod poisson;
mod programs;
mod quantity;
mod replay;
mod rows;
mod schedule;
mod simai;
mod sizes;
mod source;
mod stream;
mod table;
mod trace;

pub(crate) use collective::jobs;
pub use dag::Phase;
pub(crate) use dag::{Dags, Job, Numbered, What};
pub use error::WorkloadError;
pub use hosts::{Fabric, HostSets};
pub use named::{Description, describe, named, names};
pub(crate) use programs::{Launch, programs};
pub use rows::not_a_header;
pub use schedule::read_schedule;
pub use sizes::Sizes;
pub(crate) use source::Demand;
pub use source::{Flow, FlowSource};
pub use table::read_points;
pub use trace::{Survey, Trace, survey};
