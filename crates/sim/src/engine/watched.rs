//! A balancer whose picks are looked at: in checked runs every balancer is within one.

use leafspine_core::{PacketMeta, PortId, Span, Time};
use leafspine_schemes::aqm::Aqm;
use leafspine_schemes::hold::IngressHold;
use leafspine_schemes::lb::{Arrival, LoadBalancer, Needs};
use leafspine_schemes::{Context, Footprint, Paths, SwitchEnv};
use std::sync::{Arc, OnceLock};

/// What the first balancer that picked no path did: where the switch is and what it said.
pub(super) type Astray = Arc<OnceLock<(u32, String)>>;

/// A balancer, and where to write down that it went astray.
pub(super) struct Watched {
    pub(super) inner: Box<dyn LoadBalancer>,
    pub(super) switch: u32,
    pub(super) astray: Astray,
}

impl LoadBalancer for Watched {
    fn needs(&self) -> Needs {
        self.inner.needs()
    }

    /// Puts the first path in place of what is none, so that the run lives until somebody reads it.
    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        let picked = self.inner.pick(packet, paths, cx);
        if paths.ports.contains(&picked) {
            return picked;
        }
        let what = || format!("the balancer picked port {}, no path: {:?}", picked.0, paths.ports);
        self.astray.get_or_init(|| (self.switch, what()));
        paths.ports[0]
    }

    fn always_asked(&self) -> bool {
        self.inner.always_asked()
    }

    fn arrived(&mut self, packet: &mut PacketMeta, from: PortId, cx: &mut Context<'_>) -> Arrival {
        self.inner.arrived(packet, from, cx)
    }

    fn leaving(&mut self, packet: &mut PacketMeta, to: PortId, at: Time, cx: &mut Context<'_>) {
        self.inner.leaving(packet, to, at, cx);
    }

    fn tick(&mut self, cx: &mut Context<'_>) -> Option<Time> {
        self.inner.tick(cx)
    }

    fn footprint(&self, now: Time) -> Footprint {
        self.inner.footprint(now)
    }

    fn information_age(&self, now: Time) -> Option<Span> {
        self.inner.information_age(now)
    }

    fn slot(&self, packet: &PacketMeta) -> Option<u32> {
        self.inner.slot(packet)
    }

    fn aqm(&mut self) -> Option<&mut dyn Aqm> {
        self.inner.aqm()
    }

    fn host_aqm(&self, env: &SwitchEnv) -> Option<Box<dyn Aqm>> {
        self.inner.host_aqm(env)
    }

    fn hold(&mut self) -> Option<&mut dyn IngressHold> {
        self.inner.hold()
    }
}

/// What stands in a balancer's place while it is put into another's.
pub(super) struct Nobody;

impl LoadBalancer for Nobody {
    fn pick(&mut self, _: &mut PacketMeta, paths: &Paths<'_>, _: &mut Context<'_>) -> PortId {
        paths.ports[0]
    }
}
