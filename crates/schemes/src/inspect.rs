//! What measurements read off a scheme's object. No scheme decides by any of it.

use crate::p4::ControlPlane;
use leafspine_core::{PacketMeta, Span, Time};

/// The state of one object of a scheme, in bytes as this implementation keeps them: the memory that a
/// switch, a port or a host would have to give it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    /// All of it.
    pub bytes: u64,
    /// Of which one entry of the flow table takes; 0 without a flow table.
    pub per_flow: u32,
    /// Of which each port takes (at a port's manager: all of it).
    pub per_port: u32,
    /// Slots of the flow table.
    pub slots: u32,
    /// Slots in use: taken by a flow, and not aged out.
    pub occupied: u32,
}

/// What can be measured of a scheme's object while a run goes on. All of it is optional.
pub trait Inspect {
    /// The state that it keeps.
    fn footprint(&self, now: Time) -> Footprint {
        let _ = now;
        Footprint::default()
    }

    /// The mean age of the reports by which it chooses, be they of other switches or of its own egress. `None`
    /// as long as there are none, and for a scheme that goes by what it sees itself, or by nothing.
    fn information_age(&self, now: Time) -> Option<Span> {
        let _ = now;
        None
    }

    /// The same since these reports set out, where a scheme knows when they did: the time on their way is in
    /// it. For others it is the age of the reports since they came.
    fn decision_delay(&self, now: Time) -> Option<Span> {
        self.information_age(now)
    }

    /// The slot of its flow table that `packet`'s flow has, if it has one: flows of one slot share
    /// its entry, as in hardware.
    fn slot(&self, packet: &PacketMeta) -> Option<u32> {
        let _ = packet;
        None
    }

    /// What the control plane of a P4 switch writes into the scheme's program, where it has one and decides as
    /// that does.
    fn control_plane(&self) -> Option<ControlPlane> {
        None
    }
}

/// Nothing to measure.
impl Inspect for () {}
