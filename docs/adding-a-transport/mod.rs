//! A fixed window: so many packets under way, each acknowledged, and after a timeout all from the first that is not
//! acknowledged.
//!
//! No handshake, no congestion control, no marks. Like TCP's ends a [`Sender`] and a [`Receiver`] have no clock and
//! no events, and keep no memory but themselves.

mod receiver;
mod sender;

use leafspine_core::Span;

pub use receiver::Receiver;
pub use sender::Sender;

/// Packets that a flow may have under way.
pub const WINDOW: u32 = 16;

/// The protocol as a scenario has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SteadySpec {
    /// After so long without progress all is sent again that is not acknowledged.
    pub timeout: Span,
}

/// Constants of all flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SteadyConfig {
    /// What the scenario says.
    pub spec: SteadySpec,
    /// Payload of a full packet.
    pub mss: u32,
    /// Header bytes of every packet; an acknowledgment is these alone.
    pub header: u32,
}
