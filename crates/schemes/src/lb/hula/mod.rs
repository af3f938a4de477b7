//! HULA: probes carry the best path's utilisation to every switch, and flowlets follow it hop by hop.
//!
//! Source: Katta, Hira, Kim, Sivaraman, Rexford, "HULA: Scalable Load Balancing Using Programmable Data
//! Planes", SOSR 2016, §3 and §4.
//!
//! 1. Every switch with hosts (ToR) sends a probe on all its uplinks once a probe period (§3.1).
//! 2. A switch that gets a probe from below sends it on all its other ports, up and down; one from
//!    above only down. So it climbs, turns once and descends: every switch has it, and there are no
//!    loops (§3.1).
//! 3. A probe carries the largest utilisation on the way to its ToR: a switch raises it to that of the
//!    port by which it came, which is the one that data to the ToR would take ([`utilisation`]). Of all
//!    ways a switch keeps the best next hop only, and passes on its own view (§3.2).
//! 4. The first packet of a flowlet takes the best next hop towards its ToR, at every switch on the way
//!    (§3.3). A next hop that has not been confirmed for three periods may be replaced by any (§3.4).
//! 5. A switch passes on one probe a ToR and period, so that a link carries no more than that (§3.5).
//!
//! State per switch: 32 bytes a ToR, 16 a port to another switch, a flowlet table of 16 bytes an entry
//! (1 MiB for 2^16 entries). Cost per packet: one hash and one entry where there is a choice; two multiplications at
//! every port. Probes are packets: they queue, take time on the line and can be lost.
//!
//! Unspecified in the source or done differently here, and what was chosen:
//! - Period and gap of two base round trips (the paper's period: 200 us), tau of twice the period
//!   (§3.2 asks for at least that), 64 bytes a probe.
//! - ToRs begin at a random time within the first period; together they would send bursts.
//! - A copy is passed on if the last one for its ToR was sent more than half a period ago: with a whole
//!   period one that comes a little early, because its queue was shorter, would be lost.
//! - A probe is not sent back to the switch it came from, by parallel links either.
//! - A tie keeps the best next hop. The estimate of an idle port fades between packets.
//! - Before the first probe, when an entry has aged, or when its port is on no shortest path (a link
//!   has failed), new flowlets follow a hash.
//! - ACKs are flowlets like data.
//!
//! Provenance: paper.

#[cfg(test)]
mod tests;
mod utilisation;

use super::age::mean_age;
use super::flowlets::{self, Flowlets};
use super::hash::by_hash;
use super::{Arrival, Entry, LoadBalancer, Needs};
use crate::{
    Context, Demands, Footprint, Inspect, Kind, Meaning, Neighbour, Param, ParamError, Params,
    Paths, Provenance, SchemeInfo, SwitchEnv, parameters,
};
use leafspine_core::{Bytes, Flags, PacketMeta, PortId, SchemeHeader, Span, SwitchId, Time, TorId};
use utilisation::{PortState, Window};

/// A probe's header (§3.1): 24 bits of ToR in the paper, 16 here, and 8 of utilisation.
struct Probe {
    tor: TorId,
    utilisation: u8,
    /// When the ToR sent it, in units of a time stamp: to tell how old information is. Nothing is decided by it.
    born: u32,
}

impl Probe {
    /// Tells HULA's probes from those of hosts.
    const HULA: u32 = 1 << 31;

    /// A time stamp's unit is so many times 2 ps (`PacketMeta::stamp`).
    const UNIT_BITS: u32 = 16;

    /// The time stamp of a probe that is sent now.
    fn stamp(now: Time) -> u32 {
        (now.0 >> Probe::UNIT_BITS) as u32
    }

    /// When the ToR sent it, to a unit, if that is no longer ago than stamps take to come round.
    fn sent(&self, now: Time) -> Time {
        let ago = Probe::stamp(now).wrapping_sub(self.born);
        Time(now.0.saturating_sub(u64::from(ago) << Probe::UNIT_BITS))
    }

    fn read(packet: &PacketMeta) -> Option<Probe> {
        let word = packet.header.0[0];
        (packet.flags.has(Flags::PROBE) && word & Probe::HULA != 0).then_some(Probe {
            tor: TorId(word as u16),
            utilisation: (word >> 16) as u8,
            born: packet.stamp,
        })
    }

    /// Its five-tuple is all zeros: every switch takes it in, so it has no destination.
    fn packet(self, size: u16) -> PacketMeta {
        let word = Probe::HULA | u32::from(self.utilisation) << 16 | u32::from(self.tor.0);
        PacketMeta {
            size,
            flags: Flags::PROBE,
            header: SchemeHeader([word, 0]),
            path: PacketMeta::NO_PATH,
            stamp: self.born,
            ..PacketMeta::default()
        }
    }
}

/// The best way to a ToR.
#[derive(Clone, Copy)]
struct Best {
    /// When a probe last confirmed it.
    updated: Time,
    /// When a probe of this ToR was last passed on.
    sent: Option<Time>,
    port: Option<PortId>,
    utilisation: u8,
    /// When its ToR sent that probe, and the time stamp that says so. Nothing is decided by them.
    origin: Origin,
}

impl Best {
    /// Bytes that a switch would keep of it.
    const BYTES: usize = size_of::<Best>() - size_of::<Origin>();
}

#[derive(Clone, Copy)]
struct Origin {
    sent: Time,
    stamp: u32,
}

const UNKNOWN: Best = Best {
    updated: Time::ZERO,
    sent: None,
    port: None,
    utilisation: 0,
    origin: Origin { sent: Time::ZERO, stamp: 0 },
};

/// Where a port leads.
#[derive(Clone, Copy)]
struct End {
    /// The switch there; hosts get no probes.
    switch: Option<SwitchId>,
    up: bool,
}

struct Hula {
    tor: Option<TorId>,
    seed: u64,
    period: Span,
    age: Span,
    probe_size: u16,
    window: Window,
    ends: Vec<End>,
    ports: Vec<PortState>,
    best: Vec<Best>,
    flowlets: Flowlets,
    started: bool,
}

impl Hula {
    /// The best next hop towards `tor` (§3.3), unless it has aged.
    fn best_hop(&self, tor: TorId, now: Time) -> Option<PortId> {
        let best = self.best.get(usize::from(tor.0))?;
        best.port.filter(|_| now.since(best.updated) <= self.age)
    }

    /// §3.2: what a probe says of the way by `from`.
    fn learn(&mut self, probe: &Probe, from: PortId, now: Time) {
        let Some(best) = self.best.get_mut(usize::from(probe.tor.0)) else { return };
        // Better than the best, or the best itself has changed, or (§3.4) it has not been heard of.
        let take = match best.port {
            None => true,
            Some(port) => {
                probe.utilisation < best.utilisation
                    || port == from
                    || now.since(best.updated) > self.age
            }
        };
        if take {
            let utilisation = probe.utilisation;
            let origin = Origin { sent: probe.sent(now), stamp: probe.born };
            *best = Best { updated: now, port: Some(from), utilisation, origin, ..*best };
        }
    }

    /// §3.1: passes this switch's own view of the best way on, to all ports that should have it.
    fn pass_on(&mut self, tor: TorId, from: PortId, cx: &mut Context<'_>) {
        let Some(best) = self.best.get_mut(usize::from(tor.0)) else { return };
        // §3.5: once a period. See the head of the file for the half.
        if best.sent.is_some_and(|sent| cx.now.since(sent) <= self.period / 2) {
            return;
        }
        best.sent = Some(cx.now);
        let (utilisation, born) = (best.utilisation, best.origin.stamp);
        let came = self.ends[usize::from(from.0)];
        // Not back to the switch that has sent it, by a parallel link either: it knows.
        let elsewhere = |end: &End| end.switch.is_some() && end.switch != came.switch;
        // §3.1: what comes from above goes only down, so that it turns once.
        let turns_once = |end: &End| !(came.up && end.up);
        for (port, end) in self.ends.iter().enumerate() {
            let port = PortId(port as u16);
            if elsewhere(end) && turns_once(end) && cx.ports.is_up(port) {
                cx.outbox.push((port, Probe { tor, utilisation, born }.packet(self.probe_size)));
            }
        }
    }
}

impl LoadBalancer for Hula {
    fn needs(&self) -> Needs {
        Needs { arrived: true, leaving: true, tick: self.tor.is_some(), ..Needs::default() }
    }

    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        let offered = |port: &PortId| paths.ports.contains(port);
        let slot = self.flowlets.slot(packet);
        // §3.3: a flowlet stays; a new one takes the best next hop of the moment.
        let port = self
            .flowlets
            .under_way(slot, cx.now)
            .filter(offered)
            .or_else(|| self.best_hop(paths.to, cx.now).filter(offered))
            .unwrap_or_else(|| by_hash(packet, paths, self.seed));
        self.flowlets.note(slot, port, cx.now);
        port
    }

    fn arrived(&mut self, packet: &mut PacketMeta, from: PortId, cx: &mut Context<'_>) -> Arrival {
        let Some(mut probe) = Probe::read(packet) else { return Arrival::Forward };
        let number = usize::from(from.0);
        if self.ends[number].switch.is_some() && Some(probe.tor) != self.tor {
            let (port, rate) = (&mut self.ports[number], cx.ports.rate(from));
            // §3.2: the largest utilisation on the way to the ToR, this link included.
            probe.utilisation = probe.utilisation.max(port.utilisation(cx.now, rate, self.window));
            self.learn(&probe, from, cx.now);
            self.pass_on(probe.tor, from, cx);
        }
        Arrival::Consume
    }

    fn leaving(&mut self, packet: &mut PacketMeta, to: PortId, at: Time, cx: &mut Context<'_>) {
        // No probe comes from a host, so the utilisation towards one is never read.
        let port = usize::from(to.0);
        if self.ends[port].switch.is_some() {
            self.ports[port].queued(u32::from(packet.size), at, cx.now, self.window);
        }
    }

    /// §3.1: a ToR sends its probe on all uplinks.
    fn tick(&mut self, cx: &mut Context<'_>) -> Option<Time> {
        let tor = self.tor?;
        if !std::mem::replace(&mut self.started, true) {
            return Some(cx.now + Span(1 + cx.rng.below(self.period.0)));
        }
        for (port, end) in self.ends.iter().enumerate() {
            let port = PortId(port as u16);
            if end.up && cx.ports.is_up(port) {
                cx.outbox.push((
                    port,
                    Probe { tor, utilisation: 0, born: Probe::stamp(cx.now) }
                        .packet(self.probe_size),
                ));
            }
        }
        Some(cx.now + self.period)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Hula {
    fn footprint(&self, now: Time) -> Footprint {
        let flowlets = self.flowlets.footprint(now);
        let best = (self.best.len() * Best::BYTES) as u64;
        let ports = self.ends.iter().filter(|end| end.switch.is_some()).count();
        let bytes = flowlets.bytes + best + ports as u64 * u64::from(PortState::BYTES);
        Footprint { bytes, per_port: PortState::BYTES, ..flowlets }
    }

    /// Since the last probe that has confirmed the best way to each ToR.
    fn information_age(&self, now: Time) -> Option<Span> {
        let heard = self.best.iter().filter(|best| best.port.is_some());
        mean_age(heard.map(|best| best.updated), now)
    }

    /// Since that probe left its ToR: "the time required for the probe packets to reach each switch" (QALL
    /// §VI-D1) is in it.
    fn decision_delay(&self, now: Time) -> Option<Span> {
        let heard = self.best.iter().filter(|best| best.port.is_some());
        mean_age(heard.map(|best| best.origin.sent), now)
    }

    fn slot(&self, packet: &PacketMeta) -> Option<u32> {
        Some(self.flowlets.slot(packet) as u32)
    }
}

parameters! {
    struct Settings {
        probe_period: Span = Param::new(
            Kind::Span(1_000_000, 1_000_000_000_000),
            "2rtt",
            "Time between the probes of a ToR.",
        )
        .means(Meaning::Period),
        probe_size: Bytes = Param::new(
            Kind::Bytes(20, 1_500),
            "64B",
            "Bytes of a probe on the wire.",
        )
        .means(Meaning::OwnPacket),
        gap: Span = flowlets::GAP,
        entries: usize = flowlets::ENTRIES,
        tau: Option<Span> = Param::new(
            Kind::SpanOr(1_000_000, 4_000_000_000_000, "auto"),
            "auto",
            "Time constant of the utilisation estimator; auto: two probe periods.",
        ),
        age_periods: u64 = Param::new(
            Kind::Int(1, 1_000_000),
            "3",
            "Probe periods after which a best next hop that no probe has confirmed has aged.",
        ),
    }
}

fn build(params: &Params, env: &SwitchEnv) -> Result<Box<dyn LoadBalancer>, ParamError> {
    let settings = Settings::read(params)?;
    let period = settings.probe_period;
    let end = |port: usize| End {
        switch: match env.ports[port].neighbour {
            Neighbour::Switch(switch, _) => Some(switch),
            Neighbour::Host(_) => None,
        },
        up: env.leads_up(PortId(port as u16)),
    };
    Ok(Box::new(Hula {
        tor: env.tor,
        seed: env.hash_seed,
        period,
        age: Span(period.0.saturating_mul(settings.age_periods)),
        probe_size: settings.probe_size.0 as u16,
        window: Window::new(settings.tau.unwrap_or(Span(period.0.saturating_mul(2)))),
        ends: (0..env.ports.len()).map(end).collect(),
        ports: env.ports.iter().map(|_| PortState::default()).collect(),
        best: vec![UNKNOWN; usize::from(env.tors)],
        flowlets: Flowlets::new(env.hash_seed, settings.gap, settings.entries),
        started: false,
    }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "hula",
        summary: "Sends every flowlet by the next hop of the least utilised path, which probes make \
                  known to every switch.",
        source: "Katta et al., HULA, SOSR 2016, §3",
        provenance: Provenance::Paper,
        unspecified: &[
            "A probe every two base round trips (§3.2: no more often than once a round trip), a flowlet gap as long; tau is two probe periods.",
            "Each ToR begins at a random time within the first period.",
            "A switch passes a probe on if it has not done so for the same ToR within half a period.",
            "No probe goes back to the switch that it came from, by parallel links either.",
            "A tie keeps the best next hop; the estimate of an idle port fades between packets.",
            "Before the first probe, when an entry has aged, or when its port is on no shortest path, new \
             flowlets follow the hash of ecmp.",
            "ACKs and connection packets are cut into flowlets like data.",
            "Not of the paper: a probe has the time at which its ToR sent it in the field of TCP's time stamp, to \
             tell how old information is. No switch decides by it.",
        ],
        params: Settings::PARAMS,
        // §3.1: 24 bits of ToR, 8 of utilisation.
        demands: Demands { header_bits: 32, header_words: 1, queues: 1 },
    },
    build,
    edge: None,
    host_aqm: None,
};
