//! CONGA: flowlets take the uplink with the least congestion between here and the remote leaf.
//!
//! Source: Alizadeh, Edsall, Dharmapurikar, Vaidyanathan, Chu, Fingerhut, Lam, Matus, Pan, Yadav,
//! Varghese, "CONGA: Distributed Congestion-Aware Load Balancing for Datacenters", SIGCOMM 2014, §3.
//!
//! 1. Every link of the fabric has a rate estimator ([`dre`], §3.2).
//! 2. The source leaf writes into each packet the uplink that it takes (LBTag) and a metric CE of 0;
//!    each link on the way raises CE to its own metric if that is larger (§3.1, §3.3).
//! 3. The destination leaf stores CE in its congestion-from-leaf table, by source leaf and LBTag. With
//!    each packet that goes back to that leaf it sends one entry of it (FB_LBTag, FB_Metric), which
//!    ends in that leaf's congestion-to-leaf table ([`tables`], §3.3).
//! 4. The first packet of a flowlet (§3.4) takes the uplink with the least `max(local DRE, entry of the
//!    congestion-to-leaf table)`; the flow's last uplink, if it is among the best, else one of the best
//!    at random (§3.5).
//!
//! State of a leaf: a flowlet table, 16 bytes an entry (1 MiB for 2^16 entries); two tables of 16 bytes
//! per remote leaf and uplink; two registers of 16 bytes an uplink (one, at the line; the second
//! stands in for what a switch reads from its queue). Of a spine: 16 bytes a port. Cost per packet: at a leaf
//! one hash and one entry, one entry fed back and one or two stored; at every port two additions and
//! three comparisons, a division once in Tdre; per flowlet a walk over the uplinks.
//!
//! Unspecified in the source or done differently here, and what was chosen:
//! - "Gradually decays" of stale metrics (§3.3): one level a `fade` from `age` on, 10 and
//!   100 base round trips: 1 and 10 ms in a fabric of 100 us.
//! - Age bits are time stamps ([`flowlets`](super::flowlets)), here and in the tables.
//! - tau is two base round trips. The paper's 160 us (§3.6; `auto`) is for links of gigabits: at
//!   100 Mb/s a packet takes 120 us and every packet would fill the register; `auto` then takes two
//!   round trips as well.
//! - X is read for CE when the packet's transmission begins, itself included, and for the choice of an
//!   uplink when the flowlet arrives. A port learns a new speed of its link within one Tdre.
//! - An entry that has never been heard of is fed back as 0 in its turn, as the tables start at 0.
//! - Spines with parallel links (§3.3: ECMP) hash the five-tuple together with LBTag, so that a
//!   flowlet on another uplink may also take another downlink.
//! - ACKs and connection packets are tagged, and are flowlets, like data. Packets that pass a leaf on a
//!   way around failed links follow a hash there, and keep their tags.
//! - More than two tiers are out of the paper's scope. Here the middle tiers act as spines: they hash,
//!   and every link raises CE; so the metric of an uplink is that of whichever way behind it the
//!   latest packet took.
//!
//! Provenance: paper.

mod dre;
mod tables;
#[cfg(test)]
mod tests;

use super::age::mean_age;
use super::departures::Departures;
use super::flowlets::{self, Flowlets};
use super::hash::{by_hash, flow_hash, region};
use super::{Arrival, Entry, LoadBalancer, Needs};
use crate::{
    Context, Demands, Footprint, Inspect, Kind, Neighbour, Param, ParamError, Params, Paths,
    Provenance, SchemeInfo, SwitchEnv, parameters,
};
use dre::{Discount, Dre};
use leafspine_core::{PacketMeta, PortId, Rate, SchemeHeader, Span, Time, TorId};
use std::sync::Arc;
use tables::{FromLeaf, Metrics};

/// The header that CONGA adds (§3.1): `LBTag | CE` in the first word, `FB_LBTag | FB_Metric` in the
/// second. The paper has 4 + 3 bits for each; here a tag has 16, so that any leaf fits.
struct Tag {
    uplink: u16,
    metric: u8,
}

impl Tag {
    /// Set in a word that has a tag: 0 is what a packet without one has.
    const PRESENT: u32 = 1 << 31;

    #[inline]
    fn read(word: u32) -> Option<Tag> {
        (word & Tag::PRESENT != 0)
            .then_some(Tag { uplink: word as u16, metric: (word >> 16) as u8 })
    }

    #[inline]
    fn word(self) -> u32 {
        Tag::PRESENT | u32::from(self.metric) << 16 | u32::from(self.uplink)
    }
}

/// Raises a packet's CE to a link's metric (§3.3). A packet without a tag has none.
#[inline]
fn raise(packet: &mut PacketMeta, metric: u8) {
    if let Some(tag) = Tag::read(packet.header.0[0])
        && tag.metric < metric
    {
        packet.header.0[0] = Tag { metric, ..tag }.word();
    }
}

/// The estimator of one link, at the start of its transmissions.
struct Link {
    dre: Dre,
    /// X that is one level of the metric at the link's rate.
    level: u64,
}

/// What all links of a switch have in common.
struct Meter {
    discount: Discount,
    bits: u32,
}

impl Meter {
    fn link(&self, rate: Rate) -> Link {
        Link { dre: Dre::default(), level: self.discount.level(rate, self.bits) }
    }

    /// A packet's transmission on `port` begins at `at`: it is counted, and CE is raised.
    #[inline]
    fn sent(
        &self,
        link: &mut Link,
        packet: &mut PacketMeta,
        port: PortId,
        at: Time,
        cx: &Context<'_>,
    ) {
        if link.dre.advance(at, &self.discount) {
            link.level = self.discount.level(cx.ports.rate(port), self.bits);
        }
        link.dre.sent(u32::from(packet.size));
        raise(packet, link.dre.metric(link.level, self.bits));
    }
}

/// An uplink of a leaf.
struct Uplink {
    link: Link,
    /// The estimator as it is now: `link` runs ahead, to the last packet that is queued.
    now: Dre,
    departures: Departures,
}

impl Uplink {
    /// The metric now.
    fn metric(&mut self, now: Time, meter: &Meter) -> u8 {
        self.catch_up(now, meter);
        self.now.advance(now, &meter.discount);
        self.now.metric(self.link.level, meter.bits)
    }

    #[inline]
    fn catch_up(&mut self, now: Time, meter: &Meter) {
        while let Some((at, bytes)) = self.departures.next_begun(now) {
            self.now.advance(at, &meter.discount);
            self.now.sent(bytes);
        }
    }
}

/// CONGA at a switch with hosts.
struct Leaf {
    tor: TorId,
    tor_of: Arc<[TorId]>,
    seed: u64,
    meter: Meter,
    /// Ports to hosts come first: the port of uplink 0.
    first: u16,
    uplinks: Vec<Uplink>,
    flowlets: Flowlets,
    from_leaf: FromLeaf,
    to_leaf: Metrics,
    /// Metrics of the paths on offer, while a flowlet is placed.
    scratch: Vec<u8>,
}

impl Leaf {
    fn is_under(&self, host: leafspine_core::HostId, tor: TorId) -> bool {
        self.tor_of.get(usize::from(host.0)) == Some(&tor)
    }

    /// §3.5: the uplink for a flowlet that begins now.
    fn place(&mut self, slot: usize, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        let to = usize::from(paths.to.0);
        self.scratch.clear();
        for port in paths.ports {
            let tag = usize::from(port.0 - self.first);
            let local = self.uplinks[tag].metric(cx.now, &self.meter);
            self.scratch.push(local.max(self.to_leaf.get(to, tag, cx.now)));
        }
        let least = self.scratch.iter().copied().min().unwrap_or(0);
        let mut best = paths.ports.iter().zip(&self.scratch).filter(|(_, m)| **m == least);
        // §3.5: of several minima the one cached from the flow's last flowlet, so that a flow moves
        // only if there is strictly less congestion elsewhere.
        if let Some(cached) = self.flowlets.cached(slot)
            && best.clone().any(|(port, _)| *port == cached)
        {
            return cached;
        }
        let nth = cx.rng.below(best.clone().count() as u64) as usize;
        best.nth(nth).map_or(paths.ports[0], |(port, _)| *port)
    }

    /// §3.1: LBTag, CE = 0, and one entry of the congestion-from-leaf table.
    #[inline]
    fn tag(&mut self, packet: &mut PacketMeta, port: PortId, to: TorId, now: Time) {
        let (uplink, metric) = self.from_leaf.feed_back(usize::from(to.0), now);
        packet.header = SchemeHeader([
            Tag { uplink: port.0 - self.first, metric: 0 }.word(),
            Tag { uplink, metric }.word(),
        ]);
    }

    /// §3.3: what a packet from another leaf says of its own way and of ours.
    fn learn(&mut self, packet: &PacketMeta, now: Time) {
        let Some(from) = self.tor_of.get(usize::from(packet.src().0)) else { return };
        let (leaf, [ours, theirs]) = (usize::from(from.0), packet.header.0);
        let fits = |tag: &Tag| usize::from(tag.uplink) < self.uplinks.len();
        let (there, here) = (Tag::read(ours).filter(fits), Tag::read(theirs).filter(fits));
        if let Some(Tag { uplink, metric }) = there {
            self.from_leaf.set(leaf, usize::from(uplink), metric, now);
        }
        if let Some(Tag { uplink, metric }) = here {
            self.to_leaf.set(leaf, usize::from(uplink), metric, now);
        }
    }
}

impl LoadBalancer for Leaf {
    fn needs(&self) -> Needs {
        // Even a packet with one way only carries tags and feedback.
        Needs { arrived: true, leaving: true, every_packet: true, ..Needs::default() }
    }

    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        if !self.is_under(packet.src(), self.tor) {
            return by_hash(packet, paths, self.seed);
        }
        let slot = self.flowlets.slot(packet);
        let port = match self.flowlets.under_way(slot, cx.now) {
            Some(port) if paths.ports.contains(&port) => port,
            _ => self.place(slot, paths, cx),
        };
        self.flowlets.note(slot, port, cx.now);
        self.tag(packet, port, paths.to, cx.now);
        port
    }

    fn arrived(&mut self, packet: &mut PacketMeta, from: PortId, cx: &mut Context<'_>) -> Arrival {
        if from.0 >= self.first && self.is_under(packet.dst(), self.tor) {
            self.learn(packet, cx.now);
            // The overlay's header ends here.
            packet.header = SchemeHeader::default();
        }
        Arrival::Forward
    }

    fn leaving(&mut self, packet: &mut PacketMeta, to: PortId, at: Time, cx: &mut Context<'_>) {
        let Some(uplink) = to.0.checked_sub(self.first) else { return };
        let Some(uplink) = self.uplinks.get_mut(usize::from(uplink)) else { return };
        // Only so that what is kept of the queue does not outgrow it.
        uplink.catch_up(cx.now, &self.meter);
        uplink.departures.queued(at, u32::from(packet.size));
        self.meter.sent(&mut uplink.link, packet, to, at, cx);
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Leaf {
    fn footprint(&self, now: Time) -> Footprint {
        let flowlets = self.flowlets.footprint(now);
        let per_port = 2 * size_of::<Dre>() as u32;
        let ports = u64::from(per_port) * self.uplinks.len() as u64;
        let tables = self.from_leaf.bytes() + self.to_leaf.bytes();
        Footprint { bytes: flowlets.bytes + ports + tables, per_port, ..flowlets }
    }

    /// Since the last feedback of each entry of the congestion-to-leaf table.
    fn information_age(&self, now: Time) -> Option<Span> {
        mean_age(self.to_leaf.times(), now)
    }

    fn slot(&self, packet: &PacketMeta) -> Option<u32> {
        Some(self.flowlets.slot(packet) as u32)
    }
}

/// CONGA at a switch without hosts.
struct Spine {
    seed: u64,
    meter: Meter,
    links: Vec<Link>,
}

impl LoadBalancer for Spine {
    fn needs(&self) -> Needs {
        Needs { leaving: true, ..Needs::default() }
    }

    /// §3.3: of several links towards the leaf, a hash picks one.
    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, _: &mut Context<'_>) -> PortId {
        let uplink = Tag::read(packet.header.0[0]).map_or(0, |tag| tag.uplink);
        let hash = flow_hash(packet, self.seed ^ u64::from(uplink) << 32);
        paths.ports[region(hash, paths.ports.len())]
    }

    fn leaving(&mut self, packet: &mut PacketMeta, to: PortId, at: Time, cx: &mut Context<'_>) {
        if let Some(link) = self.links.get_mut(usize::from(to.0)) {
            self.meter.sent(link, packet, to, at, cx);
        }
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Spine {
    fn footprint(&self, _: Time) -> Footprint {
        let per_port = size_of::<Dre>() as u32;
        let bytes = u64::from(per_port) * self.links.len() as u64;
        Footprint { bytes, per_port, ..Footprint::default() }
    }
}

/// tau of §3.6, and the rate below which it is too short.
const TAU: Span = Span::from_micros(160);
const SLOW: Rate = Rate::from_gbps(1);

/// The rates of the links to other switches, by port; hosts' ports come first at a leaf.
fn fabric_rates(env: &SwitchEnv) -> impl Iterator<Item = Rate> {
    let fabric = |port: &&crate::PortInfo| matches!(port.neighbour, Neighbour::Switch(..));
    env.ports.iter().filter(fabric).map(|port| port.rate)
}

parameters! {
    struct Settings {
        gap: Span = Param {
            doc: "Flowlet timeout: a longer pause between a flow's packets ends its flowlet \
                  (CONGA-Flow: 13 ms).",
            ..flowlets::GAP
        },
        entries: usize = flowlets::ENTRIES,
        tau: Option<Span> = Param::new(
            Kind::SpanOr(1, 1_000_000_000_000, "auto"),
            "2rtt",
            "Time constant of the rate estimator, Tdre / alpha; auto: the paper's 160 us, or two \
             round trips if a link of the switch is slower than 1 Gb/s.",
        ),
        alpha: f64 = Param::new(
            Kind::Float(0.001, 0.999),
            "0.2",
            "Share that the rate estimator forgets every Tdre = alpha x tau.",
        ),
        bits: u32 = Param::new(
            Kind::Int(1, 8),
            "3",
            "Bits of a congestion metric.",
        ),
        age: Span = Param::new(
            Kind::Span(0, u64::MAX),
            "100rtt",
            "A metric that has not been updated for so long begins to decay.",
        ),
        fade: Span = Param::new(
            Kind::Span(0, u64::MAX),
            "10rtt",
            "Time in which a stale metric loses one level; 0ps: all at once.",
        ),
    }
}

fn build(params: &Params, env: &SwitchEnv) -> Result<Box<dyn LoadBalancer>, ParamError> {
    let settings = Settings::read(params)?;
    let slow = fabric_rates(env).any(|rate| rate < SLOW);
    let usual = if slow { Span(env.base_rtt.0.saturating_mul(2)) } else { TAU };
    let tau = settings.tau.unwrap_or(usual);
    let discount = Discount::new(tau, settings.alpha);
    let (meter, seed) = (Meter { discount, bits: settings.bits }, env.hash_seed);
    let Some(tor) = env.tor else {
        let links = env.ports.iter().map(|port| meter.link(port.rate)).collect();
        return Ok(Box::new(Spine { seed, meter, links }));
    };
    let uplinks: Vec<Uplink> = fabric_rates(env)
        .map(|rate| Uplink {
            link: meter.link(rate),
            now: Dre::default(),
            departures: Departures::default(),
        })
        .collect();
    let (leaves, tags) = (usize::from(env.tors), uplinks.len());
    let (age, fade) = (settings.age, settings.fade);
    Ok(Box::new(Leaf {
        tor,
        tor_of: env.tor_of.clone(),
        seed,
        first: (env.ports.len() - uplinks.len()) as u16,
        flowlets: Flowlets::new(seed, settings.gap, settings.entries),
        from_leaf: FromLeaf::new(leaves, tags, age, fade),
        to_leaf: Metrics::new(leaves, tags, age, fade),
        scratch: Vec::with_capacity(uplinks.len()),
        uplinks,
        meter,
    }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "conga",
        summary: "Sends every flowlet by the uplink with the least congestion on the path to its leaf, \
                  which leaves feed back to each other.",
        source: "Alizadeh et al., CONGA, SIGCOMM 2014, §3",
        provenance: Provenance::Paper,
        unspecified: &[
            "Stale metrics \"gradually decay\": one level every 10 base round trips from 100 on (the paper: 10 ms).",
            "Flowlets and metrics are aged by time stamps, not by swept age bits.",
            "tau is two base round trips; `auto` is the paper's 160 us, for links of gigabits.",
            "CE is read when a packet's transmission begins, the packet included.",
            "Entries never heard of are fed back as 0 in their turn.",
            "Spines with parallel links hash the five-tuple and the uplink's tag.",
            "ACKs and connection packets are tagged, and cut into flowlets, like data.",
            "A packet that passes a leaf on its path around failed links follows a hash there.",
            "Made for two tiers: in a fat-tree the tiers above the leaves hash, and the metric of an \
             uplink is that of the path behind it that the latest packet took.",
            "The header costs no bytes on the wire.",
        ],
        params: Settings::PARAMS,
        // §3.1: LBTag 4, CE 3, FB_LBTag 4, FB_Metric 3.
        demands: Demands { header_bits: 14, header_words: 3, queues: 1 },
    },
    build,
    edge: None,
    host_aqm: None,
};
