//! The worlds around schemes that `crates/schemes/tests/any` has.
#![allow(missing_docs, unused, reason = "files of a test, of which this is another user")]

#[path = "../../crates/schemes/tests/any/host.rs"]
pub mod host;
#[path = "../../crates/schemes/tests/any/packets.rs"]
pub mod packets;
#[path = "../../crates/schemes/tests/any/switch.rs"]
pub mod switch;
#[path = "../../crates/schemes/tests/any/world.rs"]
pub mod world;
