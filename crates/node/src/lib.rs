//! Switches and hosts as machines: no clock, no calendar, no thread.
//!
//! A node is handed packets, timers and the time, and answers through its [`World`]: a packet is on a
//! link until then, call me then. Whoever implements [`World`] drives it: one simulation in the order of
//! a calendar, one on several cores in windows, a test by hand. What all nodes share and none changes
//! is the [`Network`].
//!
//! A packet's way: [`Host`] (transport, edge, port), link, [`Switch`] (hold, balancer, port), link,
//! and so on to the destination's [`Host`] (edge, transport).

mod counters;
mod edge;
mod egress;
mod ends;
mod event;
mod fault;
mod flow;
mod guest;
mod hold;
mod host;
mod jitter;
mod kept;
mod network;
mod nic;
pub mod pfc;
mod port;
mod prefetch;
mod program;
mod pull;
mod rack;
mod record;
pub mod roce;
pub mod spec;
mod stack;
mod switch;
mod telemetry;
pub mod transport;
mod trim;
mod world;

pub use counters::{Cause, Counters, Payload};
pub use edge::EdgeState;
pub use egress::{Egress, Shared};
pub use ends::{Receiver, Sender, SenderReport, flow_bytes};
pub use event::{Class, Event, Key};
pub use fault::FaultKind;
pub use flow::{Address, FLOW_BYTES, FlowId, Opening, Receiving, Sending};
pub use hold::{HoldState, Holder};
pub use host::{Full, Host};
pub use jitter::Jitter;
pub use network::{Attachment, Network, ProtocolConfig};
pub use port::{
    Asks, FifoPort, GeneralPort, Limit, Lossy, Manager, Pauses, Port, PortStats, Queued, Scheduler,
    Signals, Store,
};
pub use prefetch::prefetch;
pub use program::{FIRST_MESSAGE, Operations, Program, Step};
pub use rack::{Node, Rack};
pub use record::{Ended, Operated, Record, Seen, Tapped};
pub use switch::{Chooser, Switch};
pub use telemetry::Telemetry;
pub use world::World;
