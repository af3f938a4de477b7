//! Lossless Ethernet and queue pairs in running fabrics.

#[path = "../common/mod.rs"]
mod common;

mod credits;
mod hpcc;
mod nscc;
mod pairs_table;
mod pfc;
mod roce;
mod swift;
mod trim;
