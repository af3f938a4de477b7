//! RDMA over converged Ethernet: queue pairs whose packets leave at a rate, with an acknowledgment
//! or a negative one for what comes.
//!
//! A flow is one message of a reliable connection (InfiniBand Architecture Specification, volume 1,
//! §9.7; RoCEv2 is its annex A17) that is set up already. Like TCP's ends a [`Sender`] and a
//! [`Receiver`] have no clock and no events; which queue pair sends next is the host's network
//! card's to say (`nic.rs`).
//!
//! What is lost comes again in one of three ways. **Go-back-N**: the receiver takes packets in
//! order only and tells of the first one that is not (a NAK, once until it has come or for each
//! packet until then); the sender begins again there. **Selective repeat** is IRN's (Mittal et al.,
//! SIGCOMM 2018): the receiver keeps what comes out of order and tells of each such packet; the
//! sender sends again what is missing below the highest, and never has more than a bandwidth-delay
//! product under way. **Packet by packet** (`each.rs`): nothing is concluded from the order, and
//! what switches have trimmed is sent again.

mod config;
mod control;
mod credit;
mod each;
mod pair;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub(crate) use config::{ACK_BYTES, CNP_BYTES};
pub use config::{Recovery, RoceConfig, RoceSpec};
pub use control::PairControl;
pub use credit::{Credit, CreditSpec, Demand};
pub use pair::QueuePair;
pub(crate) use pair::{Incoming, Shared};
pub use receiver::Receiver;
pub use sender::Sender;

use leafspine_core::Flags;

/// Of data: the receiver is to acknowledge it at once (the AckReq bit).
pub const ASKS: Flags = Flags::CWR;
/// A negative acknowledgment.
pub const NAK: Flags = Flags::ACK.with(Flags::CWR);
/// A congestion notification packet (RoCEv2, annex A17.9.3).
pub const CNP: Flags = Flags::ECE;
/// A receiver asks for packets.
pub const PULL: Flags = Flags::ECE.with(Flags::CWR);
