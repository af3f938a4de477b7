//! The worlds around schemes that `crates/node/tests/any` has: real switches and hosts.
#![allow(missing_docs, unused, reason = "files of a test, of which this is another user")]

#[path = "../../crates/node/tests/common/mod.rs"]
pub mod common;
#[path = "../../crates/node/tests/any/host.rs"]
pub mod host;
#[path = "../../crates/node/tests/any/packets.rs"]
pub mod packets;
#[path = "../../crates/node/tests/any/switch.rs"]
pub mod switch;
#[path = "../../crates/node/tests/any/world.rs"]
pub mod world;
