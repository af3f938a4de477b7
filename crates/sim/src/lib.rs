//! The packet-level engine: what drives switches and hosts, workloads, measurements.
//!
//! [`Simulation::new`] takes a [`spec::Spec`]; [`Simulation::run`] gives an [`Output`]. Nothing is
//! global, nothing depends on the machine: the same spec gives the same output, to the bit.

// Specs for tests within the crate, which know it by its name.
#[cfg(test)]
extern crate self as leafspine_sim;
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod specs;

mod capture;
mod drive;
mod engine;
mod flow_table;
mod memory;
mod output;
mod progress;
pub mod spec;
pub mod workload;

pub use capture::{CaptureError, check_captures};
pub use engine::{
    BuildError, Factories, Fault, FaultKind, RunError, SetupError, Simulation, Stuck, Work,
    control_planes,
};
pub use flow_table::{FlowTable, UNFINISHED, UNKNOWN};
pub use leafspine_linux::{Installed, LinuxError, installed as installed_linux};
pub use leafspine_node::transport;
pub use memory::{Memory, Overrun};
pub use output::{
    Cause, CollectiveRow, Column, Counters, Deadlock, JobOutput, OperationColumns, Output, Payload,
    PortRow, ProgramRow, RankRow, RecoveryRow, Series, TableUse, Warmup,
};
pub use progress::{Cancelled, Progress};

/// What benches measure by itself. Not part of the public interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::drive::queue::EventQueue;
}
