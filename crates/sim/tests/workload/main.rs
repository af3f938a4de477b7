//! Workloads as flows: when they start, where, how long they are, and what a trace says.

mod common;

mod arrivals;
mod hosts;
mod shapes;
mod sizes;
mod trace;
