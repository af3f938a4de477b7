//! Measurements: ports while the window is open, flows when they end.

mod flow_table;
mod histogram;
mod port_stats;

pub(crate) use flow_table::FlowStats;
pub use flow_table::{FlowTable, UNFINISHED};
pub(crate) use port_stats::PortStats;
