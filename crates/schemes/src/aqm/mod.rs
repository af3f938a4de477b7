//! Queue managers: take, mark or drop. A decision, never a container.

mod a_ecn;
mod codel;
mod droptail;
pub(crate) mod ecn_threshold;
mod ml_ecn;
mod mq_ecn;
mod red;
mod tcn;

pub use ecn_threshold::EcnThreshold;

use crate::{Inspect, ParamError, Params, QueueView, SchemeInfo, SwitchEnv};
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

/// What a queue manager asks of its port besides calls of [`admit`](Aqm::admit).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Call [`Aqm::release`] for every packet that is about to be sent; the port then has a real queue.
    pub release: bool,
    /// What finds the line idle and nothing waiting is always taken, and nothing is kept of it: of such a packet
    /// [`admit`](Aqm::admit) need not be called. Whether it is hangs on the port, and must make no difference.
    pub passes_idle: bool,
    /// The same of packets that are about to be sent: what came to an idle line with nothing waiting is sent as it is,
    /// and nothing is kept of it. Of such a packet [`release`](Aqm::release) need not be called.
    pub sends_idle: bool,
    /// What finds fewer bytes waiting in its queue than this is always taken, and nothing is kept of it that the next
    /// packet which finds as many would not overwrite: of the former [`admit`](Aqm::admit) need not be called.
    pub passes_below: u32,
}

/// Manages the queues of one port. One object per port.
pub trait Aqm: Send {
    /// What this manager asks for. It does not change during a run.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// `packet` asks to be queued.
    fn admit(&mut self, packet: &PacketMeta, queue: &QueueView, now: Time, rng: &mut Rng) -> Admit;

    /// `packet` is about to be sent after `waited` in the queue. Called only if
    /// [`Needs::release`].
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

    /// The scheduler has finished a turn of `queue` that began at `since` (MQ-ECN's round time).
    fn turn_ended(&mut self, queue: u8, since: Time, now: Time) {
        let _ = (queue, since, now);
    }

    /// Itself by value, if it is the most common manager: a port then needs no virtual call.
    fn as_threshold(&self) -> Option<EcnThreshold> {
        None
    }

    /// What can be measured of it.
    fn inspect(&self) -> &dyn Inspect {
        &()
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
