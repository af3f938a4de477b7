//! The engine: how a run is built, what its ports, queues and links do, and what it says when something is wrong.

#[path = "../common/mod.rs"]
mod common;

mod building;
mod golden;
mod limits;
mod links;
mod places;
mod ports;
mod queues;
mod regressions;
mod standstill;
mod threads;
