//! Scenario files: what they mean, and what is refused with which words.

#[path = "../common/mod.rs"]
mod common;

mod acting;
mod diagnosis;
mod edges;
mod errors;
mod expansion;
mod fabrics;
mod graph;
mod jobs;
mod linux_hosts;
mod never_panics;
mod pairs;
mod profiles;
mod programs;
mod resolved;
mod scaled;
