//! Queue managers: take, mark or drop. A decision, never a container.

mod a_ecn;
mod codel;
mod droptail;
pub(crate) mod ecn_threshold;
mod ml_ecn;
mod mq_ecn;
mod red;
mod tcn;

use crate::{Footprint, ParamError, Params, QueueView, SchemeInfo, SwitchEnv};
use leafspine_core::{PacketMeta, PortId, Rng, Span, Time};

/// What becomes of a packet that asks to be queued. The buffer's own limit comes first: a packet
/// that does not fit is dropped without asking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admit {
    /// Queue it.
    Take,
    /// Mark it (CE) and queue it. Only for ECN-capable packets.
    Mark,
    /// Drop it.
    Drop,
}

/// What becomes of a packet at the head of its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Release {
    /// Send it.
    Send,
    /// Mark it (CE) and send it. Only for ECN-capable packets.
    Mark,
    /// Drop it and take the next.
    Drop,
}

/// Manages the queues of one port. One object per port.
pub trait Aqm: Send {
    /// `packet` asks to be queued.
    fn admit(&mut self, packet: &PacketMeta, queue: &QueueView, now: Time, rng: &mut Rng) -> Admit;

    /// `packet` is about to be sent after `waited` in the queue. Called only if
    /// [`needs_release`](Aqm::needs_release).
    fn release(
        &mut self,
        packet: &mut PacketMeta,
        queue: &QueueView,
        waited: Span,
        now: Time,
        rng: &mut Rng,
    ) -> Release {
        let _ = (packet, queue, waited, now, rng);
        Release::Send
    }

    /// Whether [`release`](Aqm::release) is to be called; the port then keeps a real queue.
    fn needs_release(&self) -> bool {
        false
    }

    /// What it keeps for this port.
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }

    /// The scheduler has finished a turn of `queue` that began at `since` (MQ-ECN's round time).
    fn turn_ended(&mut self, queue: u8, since: Time, now: Time) {
        let _ = (queue, since, now);
    }
}

/// Makes a manager for one port of a switch.
pub type Build = fn(&Params, &SwitchEnv, PortId) -> Result<Box<dyn Aqm>, ParamError>;

/// A queue manager that scenarios can name.
#[derive(Clone, Copy)]
pub struct Entry {
    /// What it is.
    pub info: SchemeInfo,
    /// How it is made.
    pub build: Build,
    /// Whether it ever marks a packet, with these parameters. An edge that steers by marks does nothing
    /// beside one that does not.
    pub marks: fn(&Params) -> bool,
}

/// Every queue manager, in the catalogue's order.
pub const ALL: &[Entry] = &[
    droptail::ENTRY,
    red::ENTRY,
    ecn_threshold::ENTRY,
    codel::ENTRY,
    mq_ecn::ENTRY,
    tcn::ENTRY,
    a_ecn::ENTRY,
    ml_ecn::ENTRY,
];
