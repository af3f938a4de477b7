//! ConWeave: a flow leaves a path that does not answer in time, and the far ToR puts in order what that has mixed up.
//!
//! Source: Song, Khooi, Joshi, Choi, Li and Chan, "Network Load Balancing with In-network Reordering Support for RDMA",
//! SIGCOMM 2023, §3. Its rules, in the order of the paper, each with a test of that number:
//!
//! 1. The source's ToR watches each flow's path: a packet carries an RTT_REQUEST, which the
//!    destination's ToR answers with an RTT_REPLY; an answer in time begins another epoch with the
//!    next packet (§3.2).
//! 2. No answer within theta_reply says that the path is congested, and the flow is to be moved (§3.2).
//! 3. A few paths are drawn, and it is moved to one of them that is not known to be congested; if
//!    there is none, it stays (§3.2.2).
//! 4. The destination's ToR sends a NOTIFY for a path whose packet is marked; the source's does not
//!    move flows to it for theta_path_busy (§3.2).
//! 5. The packet that finds the path congested is the last on it, and says so (TAIL); those after
//!    it say that they are rerouted, and when the TAIL was sent (§3.2).
//! 6. A flow is moved again only after the CLEAR: two paths at most have its packets (§3.2).
//! 7. Rerouted packets that come before the TAIL wait in a queue of their flow's own, which is
//!    paused; they go on behind the TAIL (§3.3).
//! 8. Those that come after it go on at once. The TAIL is answered with a CLEAR (§3.3).
//! 9. A TAIL that is lost is waited for until it should have come, by the last packet before it:
//!    that one's way took as long; and theta_resume_extra (§3.3).
//! 10. A flow that has sent nothing for theta_inactive begins anew: on any path, without a TAIL (§3.2).
//!
//! State: 56 bytes for each flow at the source's ToR and 72 at the destination's while it is
//! active, 8 for each path and ToR; what waits. Cost per packet: a look into a table, where there
//! are hosts.
//!
//! Unspecified in the source, or done differently here: see `unspecified` below.
//!
//! Provenance: paper.

mod destination;
mod header;
mod source;
#[cfg(test)]
mod tests;

use super::hash::{FlowHash, by_hash};
use super::{Arrival, Entry, LoadBalancer, Needs};
use crate::{
    Context, Demands, Footprint, Inspect, Kind, Meaning, Param, ParamError, Params, Paths,
    Provenance, SchemeInfo, SwitchEnv, parameters,
};
use destination::Destination;
use header::{CLEAR, Header, NOTIFY, REPLY};
use leafspine_core::{Flags, PacketMeta, PortId, Span, Time, TorId};
use source::Source;
use std::sync::Arc;

/// A switch with hosts: the source's ToR of their flows, and the destination's of the others'.
struct Tor {
    id: TorId,
    tor_of: Arc<[TorId]>,
    seed: u64,
    settings: Settings,
    source: Source,
    destination: Destination,
}

impl Tor {
    fn tor_of(&self, host: leafspine_core::HostId) -> Option<TorId> {
        self.tor_of.get(usize::from(host.0)).copied()
    }

    /// A packet of another ToR's own has come.
    fn hears(&mut self, packet: &PacketMeta, header: Header, now: Time) {
        let flow = packet.tuple.reversed();
        match header.flags {
            REPLY => self.source.replied(flow, header.epoch, now),
            CLEAR => self.source.cleared(flow, header.epoch),
            NOTIFY => {
                let until = now + self.settings.theta_path_busy;
                if let Some(from) = self.tor_of(packet.src()) {
                    self.source.notified(from, PortId(header.path.into()), until);
                }
            }
            _ => {}
        }
    }
}

impl LoadBalancer for Tor {
    fn needs(&self) -> Needs {
        Needs { arrived: true, every_packet: true, tick: true, keeps: true, ..Needs::default() }
    }

    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        if !packet.is_data() || self.tor_of(packet.src()) != Some(self.id) {
            return by_hash(packet, paths, self.seed);
        }
        self.source.route(packet, paths, &self.settings, cx.now, cx.rng)
    }

    fn arrived(&mut self, packet: &mut PacketMeta, from: PortId, cx: &mut Context<'_>) -> Arrival {
        let Some(header) = Header::read(packet) else { return Arrival::Forward };
        if self.tor_of(packet.dst()) != Some(self.id) {
            return Arrival::Forward;
        }
        if packet.flags.has(Flags::PROBE) {
            self.hears(packet, header, cx.now);
            return Arrival::Consume;
        }
        let source = self.tor_of(packet.src()).filter(|tor| *tor != self.id);
        let Some(source) = source.filter(|_| packet.is_data()) else { return Arrival::Forward };
        let back = (from, source);
        let Context { now, outbox, ports, .. } = cx;
        let before = outbox.len();
        let arrival = self.destination.takes(packet, header, back, &self.settings, *now, outbox);
        if !ports.is_up(from) {
            // The link has gone down meanwhile: there is no way back by it.
            outbox.truncate(before);
        }
        arrival
    }

    fn tick(&mut self, cx: &mut Context<'_>) -> Option<Time> {
        self.destination.expire(&self.settings, cx.now, cx.outbox);
        self.destination.wakes_at()
    }

    fn released(&mut self) -> Option<u32> {
        self.destination.resumed()
    }

    fn wakes_at(&self) -> Option<Time> {
        self.destination.wakes_at()
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Tor {
    fn footprint(&self, _: Time) -> Footprint {
        let ((sent, sends), (came, comes)) = (self.source.kept(), self.destination.kept());
        let bytes = sends as u64 * u64::from(sent) + comes as u64 * u64::from(came);
        Footprint { bytes: bytes + size_of::<Tor>() as u64, ..Footprint::default() }
    }
}

/// A switch without hosts: a flow that takes one port of its ToR takes one path.
struct Transit {
    seed: u64,
}

impl LoadBalancer for Transit {
    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, _: &mut Context<'_>) -> PortId {
        by_hash(packet, paths, self.seed)
    }

    fn as_flow_hash(&self) -> Option<FlowHash> {
        Some(FlowHash { seed: self.seed })
    }
}

const LONGEST: u64 = 10_000_000_000_000;

parameters! {
    pub(super) struct Settings {
        theta_reply: Span = Param::new(
            Kind::Span(1, LONGEST),
            "1rtt",
            "A path whose RTT_REPLY takes longer is congested.",
        ),
        theta_path_busy: Span = Param::new(
            Kind::Span(1, LONGEST),
            "1rtt",
            "How long no flow is moved to a path after a NOTIFY.",
        ),
        theta_inactive: Span = Param::new(
            Kind::Span(1, LONGEST),
            "120rtt",
            "After so long without a packet, or after a TAIL without a CLEAR, a flow begins anew.",
        ),
        theta_resume: Span = Param::new(
            Kind::Span(1, LONGEST),
            "60rtt",
            "How long a TAIL is waited for when no packet before it tells when it should come.",
        ),
        theta_resume_extra: Span = Param::new(
            Kind::Span(0, LONGEST),
            "8rtt",
            "How long a TAIL is waited for beyond the time at which it should have come.",
        ),
        samples: u64 = Param::new(
            Kind::Int(0, 256),
            "2",
            "Paths that are drawn when a flow needs another one; it takes one of them that is not busy. 0: all.",
        ),
        queues: u32 = Param::new(
            Kind::Int(1, 65_536),
            "256",
            "Reordering queues of a switch with hosts. A flow that finds none is passed on as it comes.",
        ),
        control_size: u16 = Param::new(
            Kind::Int(40, 1_500),
            "64",
            "Bytes of an RTT_REPLY, a CLEAR, a NOTIFY.",
        )
        .means(Meaning::OwnPacket),
        control_class: u8 = Param::new(
            Kind::Int(0, 63),
            "0",
            "Their class (DSCP).",
        ),
    }
}

fn build(params: &Params, env: &SwitchEnv) -> Result<Box<dyn LoadBalancer>, ParamError> {
    let settings = Settings::read(params)?;
    let Some(id) = env.tor else { return Ok(Box::new(Transit { seed: env.hash_seed })) };
    if env.ports.len() > 256 {
        let allowed = "at most 256 ports at a switch with hosts: a path has 8 bits in the header";
        return Err(ParamError::new("scheme", format!("{} ports", env.ports.len()), allowed));
    }
    if settings.theta_resume > settings.theta_inactive {
        let found = format!("\"{}\"", settings.theta_resume);
        let allowed = format!(
            "at most theta_inactive = \"{}\", after which the source no longer waits for the CLEAR",
            settings.theta_inactive
        );
        return Err(ParamError::new("theta_resume", found, allowed));
    }
    Ok(Box::new(Tor {
        id,
        tor_of: env.tor_of.clone(),
        seed: env.hash_seed,
        source: Source::new(env.ports.len(), env.tors),
        destination: Destination::new(settings.queues),
        settings,
    }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "conweave",
        summary: "Moves a flow when its path does not answer in time; the far ToR keeps what overtakes and passes it on in order.",
        source: "Song et al., ConWeave, SIGCOMM 2023, §3",
        provenance: Provenance::Paper,
        unspecified: &[
            "The thresholds in proportion to the fabric: one base round trip (of hosts, full packets) for theta_reply and \
             theta_path_busy, 120 for theta_inactive, 60 for theta_resume, 8 for theta_resume_extra (flow control may hold a TAIL up; without it less will do).",
            "A path is an uplink of the source's ToR; behind it switches hash, so a fabric of three tiers has fewer paths than routes.",
            "Drawn paths differ from each other and from the flow's own, and any that is not busy is as good as another; a new flow takes any path if none of them is free.",
            "A flow that has nowhere to go tries again with each packet until the answer has come, late as it is.",
            "One NOTIFY a path in half of theta_path_busy at most.",
            "RTT_REPLY, CLEAR and NOTIFY go back by the port that their cause came by; they have their class's priority only (control_class), where the paper gives them the highest.",
            "A CLEAR that does not come within theta_inactive of the TAIL is lost, and a new epoch begins.",
            "A TAIL that is no longer waited for is answered with a CLEAR, too.",
            "A flow whose port has gone begins anew at once.",
            "Only data is moved; acknowledgments are hashed.",
            "What waits at the destination's ToR has a memory of its own: neither a shared buffer nor flow control counts it.",
            "Time stamps have 24 bits of 16.384 ns, epochs 4 bits.",
        ],
        params: Settings::PARAMS,
        demands: Demands { header_bits: 64, header_words: 3, queues: 1 },
    },
    build,
    edge: None,
    host_aqm: None,
};
