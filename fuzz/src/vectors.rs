//! The reader of decision vectors that `crates/schemes/tests/vectors` has.
#![allow(missing_docs, unused, reason = "files of a test, of which this is another user")]

#[path = "../../crates/schemes/tests/vectors/bounds.rs"]
pub mod bounds;
#[path = "../../crates/schemes/tests/vectors/header.rs"]
pub mod header;
#[path = "../../crates/schemes/tests/vectors/host.rs"]
pub mod host;
#[path = "../../crates/schemes/tests/vectors/line.rs"]
pub mod line;
#[path = "../../crates/schemes/tests/vectors/packet.rs"]
pub mod packet;
#[path = "../../crates/schemes/tests/vectors/script.rs"]
pub mod script;
#[path = "../../crates/schemes/tests/vectors/switch.rs"]
pub mod switch;
#[path = "../../crates/schemes/tests/vectors/vector.rs"]
pub mod vector;
