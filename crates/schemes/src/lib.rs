//! The schemes: one file each, pure decisions.
//!
//! A scheme acts in up to four places: a switch choosing a next hop ([`lb`]), a switch's queue
//! ([`aqm`]), a switch's ingress ([`hold`]) and the host edge ([`edge`]); congestion control
//! ([`cc`]) is the fifth kind of file here. A scheme gets the time, a random stream and a view of
//! what it may see as arguments. It has no clock, does no I/O, allocates nothing per packet, and
//! never imports the engine.

pub mod aqm;
pub mod bundle;
pub mod cc;
pub mod edge;
mod extension;
pub mod hold;
mod inspect;
pub mod lb;
mod levels;
#[doc(hidden)]
pub mod microbench;
pub mod p4;
mod param;
pub mod rdma;
pub mod registry;
pub mod scale;
mod settings;
mod stages;
#[doc(hidden)]
pub mod testing;
pub mod units;
mod view;

pub use inspect::{Footprint, Inspect};
pub use param::{
    Amount, Demands, Depth, Kind, Meaning, Param, ParamError, Params, Provenance, SchemeInfo, Value,
};
pub use scale::Scale;
pub use settings::FromValue;
pub use view::{
    Backlog, Context, Level, Load, Neighbour, Paths, PortInfo, Ports, QueueView, SwitchEnv,
    side_by_side,
};
