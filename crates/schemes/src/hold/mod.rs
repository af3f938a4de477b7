//! Ingress holds: keep arriving packets back while the same port's output queue is long.

mod abq;

use crate::{Footprint, ParamError, Params, SchemeInfo, SwitchEnv};
use leafspine_core::{PacketMeta, PortId, Time};

/// What becomes of a packet that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ingress {
    /// It goes on at once.
    Pass,
    /// It waits in the port's hold queue. If that is full, its oldest packet is released first.
    Hold,
}

/// What becomes of the packets that a port holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// They stay.
    Keep,
    /// All go on, in the order they came, with ECE set on each if `ece`.
    Release {
        /// Set ECE (a change of one header bit; its checksum changes by a constant).
        ece: bool,
    },
}

/// Holds packets at one switch's ingress. One object per switch.
///
/// `port` is the port the packet came in by; the backlog is that of the same port's output.
pub trait IngressHold: Send {
    /// `packet` has come in by `port`, whose output has `backlog` packets waiting.
    fn arrived(&mut self, packet: &PacketMeta, port: PortId, backlog: u32, now: Time) -> Ingress;

    /// `port`'s output backlog has changed to `backlog` packets: asked after every enqueue and
    /// dequeue there.
    fn backlog_changed(&mut self, port: PortId, backlog: u32, now: Time) -> Held;

    /// What it keeps at this switch, the held packets not included.
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }

    /// The most packets that one port holds.
    fn capacity(&self) -> usize;

    /// The longest time that a packet is held, if there is such a bound; older ones are released.
    fn max_hold(&self) -> Option<leafspine_core::Span> {
        None
    }

    /// Whether packets that a full hold or `max_hold` lets go get ECE.
    fn ece_when_forced(&self) -> bool {
        false
    }
}

/// Makes a hold for one switch.
pub type Build = fn(&Params, &SwitchEnv) -> Result<Box<dyn IngressHold>, ParamError>;

/// An ingress hold that scenarios can name.
#[derive(Clone, Copy)]
pub struct Entry {
    /// What it is.
    pub info: SchemeInfo,
    /// How it is made.
    pub build: Build,
}

/// Every ingress hold, in the catalogue's order.
pub const ALL: &[Entry] = &[abq::ENTRY];
