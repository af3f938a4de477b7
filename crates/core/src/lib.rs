//! The types that every part of leafspine shares.
//!
//! Nothing here knows about switches, schemes or simulation: only time, sizes, rates, packets,
//! identifiers and random streams. This crate has no dependencies.

mod id;
mod packet;
mod rate;
mod rng;
mod time;

pub use id::{FiveTuple, HostId, PortId, SwitchId, TorId, mix};
pub use packet::{Ecn, Flags, PacketMeta, SackBlock, SchemeHeader};
pub use rate::{Bytes, Pace, Rate};
pub use rng::{Rng, Role};
pub use time::{Span, Time};
