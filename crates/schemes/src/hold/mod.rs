//! Ingress holds: keep arriving packets back while the same port's output queue is long.

mod abq;
mod queue;

pub use queue::{Expired, HoldQueue};

use crate::{Inspect, ParamError, Params, SchemeInfo, SwitchEnv};
use leafspine_core::{PacketMeta, PortId, Span, Time};

/// What becomes of a packet that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ingress {
    /// It goes on at once.
    Pass,
    /// It waits in the port's hold queue. If that is full, its oldest packet is released first.
    Hold,
    /// It goes on behind those of the port that a paced release is letting go; at once if there are none.
    Follow,
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
    /// They stay, and those with them that a paced release was letting go.
    Stop,
}

/// What a hold counts backlogs in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unit {
    /// Packets of any size.
    #[default]
    Packets,
    /// Bytes.
    Bytes,
}

/// What a hold asks of its switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Room for so many packets at each port; a port that holds as many lets its oldest packet go before it
    /// takes another.
    pub capacity: usize,
    /// Let packets go that have been held so long; `None`: never.
    pub max_hold: Option<Span>,
    /// Set ECE on packets that go for one of these two reasons.
    pub ece_when_forced: bool,
    /// What backlogs are counted in.
    pub unit: Unit,
    /// The time that a release takes for each packet; zero: all go at once.
    pub pace: Span,
}

/// Holds packets at one switch's ingress. One object per switch.
///
/// `port` is the port the packet came in by; the backlog is that of the same port's output.
pub trait IngressHold: Send {
    /// What this hold asks for. It does not change during a run.
    fn needs(&self) -> Needs;

    /// `packet` has come in by `port`, whose output has a backlog of so many of its unit waiting.
    fn arrived(&mut self, packet: &PacketMeta, port: PortId, backlog: u32, now: Time) -> Ingress;

    /// `port`'s output backlog has changed to `backlog` of its unit: asked after every enqueue and
    /// dequeue there.
    fn backlog_changed(&mut self, port: PortId, backlog: u32, now: Time) -> Held;

    /// What can be measured of it; held packets are the switch's.
    fn inspect(&self) -> &dyn Inspect {
        &()
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
