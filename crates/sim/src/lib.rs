//! The packet-level engine.

pub mod ideal;
pub mod spec;
pub mod topology;
pub mod transport;
pub mod workload;
