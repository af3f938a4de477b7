//! Load balancers: which of several equal-cost ports a packet takes.

mod age;
mod aq_car;
mod ars;
mod conga;
mod conweave;
mod departures;
mod drb;
mod drill;
mod ecmp;
mod flowlets;
mod hash;
mod hula;
mod letflow;
mod pinned;
mod presto;
mod qall;
mod qdaps;
mod roles;
mod rps;
mod slots;
mod tam;
mod wcmp;

use crate::aqm;
use crate::{Context, Inspect, ParamError, Params, Paths, SchemeInfo, SwitchEnv};
use leafspine_core::{PacketMeta, PortId, Time};

pub use hash::FlowHash;
pub use roles::{AqmAndHold, Roles};

/// What a balancer asks of its switch besides calls of [`pick`](LoadBalancer::pick). Each costs time per
/// packet, so none is the default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Call [`LoadBalancer::arrived`] for every packet that enters the switch.
    pub arrived: bool,
    /// Call [`LoadBalancer::leaving`] for every packet that is queued, with the time at which its
    /// transmission will begin. Calls come in order of queueing.
    pub leaving: bool,
    /// Call `leaving` at that very time instead, from a port that has a real queue.
    pub exact_dequeue: bool,
    /// Neither `arrived` nor `leaving` need be called for ports to hosts: nothing comes of it.
    pub between_switches: bool,
    /// Call [`LoadBalancer::tick`] at the start of the run (and then when it says).
    pub tick: bool,
    /// Call [`LoadBalancer::pick`] even when there is a single next hop (flow tables that count every
    /// packet).
    pub every_packet: bool,
    /// It may answer [`Arrival::Keep`]. Then it is asked after every packet that has arrived, and
    /// every tick, what goes on ([`LoadBalancer::released`]) and when to be called
    /// ([`LoadBalancer::wakes_at`]); `tick` is called at the start and then.
    pub keeps: bool,
}

/// What becomes of a packet that has entered a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// It goes on.
    Forward,
    /// It was for this switch (a probe) and ends here.
    Consume,
    /// It waits in the queue of this number, behind those that wait there, until the queue is released.
    Keep(u32),
}

/// Chooses next hops at one switch. One object per switch. Only [`pick`](LoadBalancer::pick) is required.
pub trait LoadBalancer: Send {
    /// What this balancer asks for. It does not change during a run.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The port for `packet`, one of `paths.ports`. Called only when there are at least two,
    /// unless [`Needs::every_packet`].
    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId;

    /// `packet` has entered the switch by `from`.
    fn arrived(&mut self, packet: &mut PacketMeta, from: PortId, cx: &mut Context<'_>) -> Arrival {
        let _ = (packet, from, cx);
        Arrival::Forward
    }

    /// `packet` begins its transmission on `to` at `at`, now or later. Calls for one port come in the
    /// order of transmission, so `at` never goes back there.
    fn leaving(&mut self, packet: &mut PacketMeta, to: PortId, at: Time, cx: &mut Context<'_>) {
        let _ = (packet, to, at, cx);
    }

    /// Time-driven work (probes, aging). Returns when to be called again.
    fn tick(&mut self, cx: &mut Context<'_>) -> Option<Time> {
        let _ = cx;
        None
    }

    /// A queue all of whose packets go on now, in order, behind the packet that has just arrived; they do not arrive
    /// again. Asked until there is none. Only if [`Needs::keeps`].
    fn released(&mut self) -> Option<u32> {
        None
    }

    /// When `tick` is to be called next, if at all. Only if [`Needs::keeps`].
    fn wakes_at(&self) -> Option<Time> {
        None
    }

    /// Its other roles at the switch. The scenario uses them with `aqm.scheme = "balancer"` and
    /// `hold.scheme = "balancer"`. They do not change during a run.
    fn roles(&mut self) -> Roles<'_> {
        Roles::None
    }

    /// The hash that it is, if it is nothing else. It does not change during a run.
    fn as_flow_hash(&self) -> Option<FlowHash> {
        None
    }

    /// What can be measured of it.
    fn inspect(&self) -> &dyn Inspect {
        &()
    }
}

/// Makes a balancer for one switch, or says which parameter does not fit there.
pub type Build = fn(&Params, &SwitchEnv) -> Result<Box<dyn LoadBalancer>, ParamError>;

/// A balancer that scenarios can name.
#[derive(Clone, Copy)]
pub struct Entry {
    /// What it is.
    pub info: SchemeInfo,
    /// How it is made.
    pub build: Build,
    /// The host edge that it cannot do without: on by default beside it, any other is refused.
    pub edge: Option<&'static str>,
    /// For a balancer that manages its switch's queues ([`Roles::Aqm`]): how the manager of a port of a
    /// host below is made, for a NIC is no switch and has none of its state. `None`: drop-tail. The
    /// environment is that port's.
    pub host_aqm: Option<aqm::Build>,
}

/// Every balancer, in the catalogue's order.
pub const ALL: &[Entry] = &[
    ecmp::ENTRY,
    wcmp::ENTRY,
    rps::ENTRY,
    drb::ENTRY,
    letflow::ENTRY,
    ars::ENTRY,
    conga::ENTRY,
    conweave::ENTRY,
    hula::ENTRY,
    drill::ENTRY,
    presto::ENTRY,
    qdaps::ENTRY,
    qdaps::STAR,
    qall::ENTRY,
    tam::ENTRY,
    aq_car::ENTRY,
    pinned::ENTRY,
];
