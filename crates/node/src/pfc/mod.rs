//! Priority-based flow control (IEEE 802.1Qbb): a switch asks its neighbours to pause before its buffer
//! overflows, priority by priority.
//!
//! A switch counts what waits by the port that it came in by (`ingress`). Beyond a threshold it sends a
//! frame (`frame`) that has the far end stop sending that priority (XOFF); what is on its way until that takes
//! effect goes into the port's headroom. When enough has left, a second frame lets the far end go on (XON). How
//! ports obey and send such frames is in `pausing`, the state of a port in `port`.

mod frame;
mod ingress;
mod pausing;
mod queueing;
mod watchdog;

pub use frame::Frame;
pub use ingress::{Group, Held, NO_INGRESS, Pfc, PortGroups};
pub(crate) use pausing::Due;

/// Priorities that a frame can name.
pub const PRIORITIES: usize = 8;

/// How long a pause lasts unless it is renewed: the most that a frame can say, in units of 512 bit times.
pub const QUANTA: u16 = u16::MAX;

/// Bits of a quantum (IEEE 802.3 §31B.2).
pub const QUANTUM_BITS: u64 = 512;

/// What a line could send while it is paused once.
pub const PAUSED_BYTES: u64 = QUANTA as u64 * QUANTUM_BITS / 8;
