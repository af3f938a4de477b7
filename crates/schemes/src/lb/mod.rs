//! Load balancers: which of several equal-cost ports a packet takes.

mod age;
mod aq_car;
mod conga;
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
mod rps;
mod slots;
mod tam;
mod wcmp;

use crate::aqm::Aqm;
use crate::hold::IngressHold;
use crate::{Context, Footprint, ParamError, Params, Paths, SchemeInfo, SwitchEnv};
use leafspine_core::{PacketMeta, PortId, Span, Time};

/// What a balancer wants to be told besides being asked. Each costs time per packet, so each is
/// asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Call [`LoadBalancer::arrived`] for every packet that enters the switch.
    pub arrived: bool,
    /// Call [`LoadBalancer::leaving`] for every packet that is queued, with the time at which its
    /// transmission will begin. Calls come in order of queueing.
    pub leaving: bool,
    /// Call `leaving` at that very time instead, from a port that has a real queue.
    pub exact_dequeue: bool,
    /// Call [`LoadBalancer::tick`] at the start of the run (and then when it asks).
    pub tick: bool,
}

/// What becomes of a packet that has entered a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// It goes on.
    Forward,
    /// It was for this switch (a probe) and ends here.
    Consume,
}

/// Chooses next hops at one switch. One object per switch.
///
/// Only [`pick`](LoadBalancer::pick) is required. A system that acts in several places at a switch
/// and shares state between them (TAM, AQ-CAR, ABQ) hands out its other roles with
/// [`aqm`](LoadBalancer::aqm) and [`hold`](LoadBalancer::hold); the scenario says
/// `aqm.scheme = "balancer"` to use them.
pub trait LoadBalancer: Send {
    /// What this balancer wants to be told.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The port for `packet`, one of `paths.ports`. Called only when there are at least two,
    /// unless [`always_asked`](LoadBalancer::always_asked).
    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId;

    /// Whether to be asked even when there is a single next hop (flow tables that count every
    /// packet).
    fn always_asked(&self) -> bool {
        false
    }

    /// `packet` has entered the switch by `from`.
    fn arrived(&mut self, packet: &mut PacketMeta, from: PortId, cx: &mut Context<'_>) -> Arrival {
        let _ = (packet, from, cx);
        Arrival::Forward
    }

    /// `packet` begins its transmission on `to` at `at`, now or later. A port's packets are told of in the
    /// order of their transmission, so `at` never goes back there.
    fn leaving(&mut self, packet: &mut PacketMeta, to: PortId, at: Time, cx: &mut Context<'_>) {
        let _ = (packet, to, at, cx);
    }

    /// Time-driven work (probes, aging). Returns when to be called again.
    fn tick(&mut self, cx: &mut Context<'_>) -> Option<Time> {
        let _ = cx;
        None
    }

    /// What it keeps at this switch.
    fn footprint(&self, now: Time) -> Footprint {
        let _ = now;
        Footprint::default()
    }

    /// How old, on average, the reports are by which it chooses: of other switches, or of its own egress. `None`
    /// as long as there are none, and for a balancer that goes by what it sees itself, or by nothing.
    fn information_age(&self, now: Time) -> Option<Span> {
        let _ = now;
        None
    }

    /// The slot of its flow table that `packet`'s flow has, if it has one: flows of one slot share
    /// its entry, as in hardware.
    fn slot(&self, packet: &PacketMeta) -> Option<u32> {
        let _ = packet;
        None
    }

    /// The queue manager that shares this object's state, if it is one.
    fn aqm(&mut self) -> Option<&mut dyn Aqm> {
        None
    }

    /// The queue manager of a port of a host under this switch, where the switches' queues are this
    /// object's: a NIC is no switch and has none of its state. None: drop-tail. `env` is the port's.
    fn host_aqm(&self, env: &SwitchEnv) -> Option<Box<dyn Aqm>> {
        let _ = env;
        None
    }

    /// The ingress hold that shares this object's state, if it is one.
    fn hold(&mut self) -> Option<&mut dyn IngressHold> {
        None
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
}

/// Every balancer, in the catalogue's order.
pub const ALL: &[Entry] = &[
    ecmp::ENTRY,
    wcmp::ENTRY,
    rps::ENTRY,
    drb::ENTRY,
    letflow::ENTRY,
    conga::ENTRY,
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
