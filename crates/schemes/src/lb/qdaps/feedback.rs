//! Leaf-to-leaf delays for QDAPS* (§III-D, "Leaf-to-leaf Delay Estimation").
//!
//! A packet that leaves its source's leaf by port `p_s` is stamped with the time. The destination's
//! leaf, which it enters by `p_d`, takes the stamp from its own clock (the simulation has one for
//! all) and keeps the difference. Whatever it sends by `p_d` towards that leaf carries the
//! difference back, in the header's other word, and enters by `p_s`, where it is read.
//!
//! A delay is *net* by default: from the last bit out to the first bit in. The packet's own time on
//! the uplink is part of the local delay already (eq. 1), and an ACK's sample says the same of a path as a
//! full packet's. The *whole* delay runs from the first bit out to the last bit in, which differs
//! by up to two packets' times between the two.

use crate::{Neighbour, Paths, SwitchEnv, side_by_side};
use leafspine_core::{PacketMeta, PortId, Span, Time, TorId};
use std::ops::Range;
use std::sync::Arc;

/// Header word with the time of sending.
pub(super) const STAMP: usize = 0;
/// Header word with the delay of the opposite direction; 0: none known.
pub(super) const ECHO: usize = 1;

/// Times and delays in headers are in units of 2^10 ps (1.024 ns). 32 bits of them wrap after 4.4 s, and
/// differences of up to half of that are told from negative ones: 14 times what a queue of 256
/// packets takes at 20 Mb/s (§V).
pub(super) const UNIT: u32 = 10;

/// The clock that goes into headers.
#[inline]
pub(super) fn clock(time: Time) -> u32 {
    (time.0 >> UNIT) as u32
}

/// A delay of a header.
#[inline]
fn in_time(delay: u32) -> Span {
    Span(u64::from(delay) << UNIT)
}

/// The leaf-to-leaf delay of a path of which nothing is known, and whose delay is `base` when all
/// queues are empty. A path known to be idle is better than one that is only taken to be: its
/// samples are a unit more than its delay at most.
#[inline]
pub(super) fn taken_to_be_idle(base: Span) -> Span {
    Span(base.0.saturating_add(2 << UNIT))
}

/// A delay that was measured.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Time,
    /// In header units; 0: never.
    delay: u32,
}

impl Sample {
    /// In header units; 0 if it is older than `stale`.
    #[inline]
    fn unless_stale(self, now: Time, stale: Span) -> u32 {
        if now.since(self.at) <= stale { self.delay } else { 0 }
    }
}

const UNKNOWN: Sample = Sample { at: Time::ZERO, delay: 0 };
/// Not an uplink.
const NO_ROW: u16 = u16::MAX;

/// The latest delay for each leaf and uplink. A leaf's uplinks stand side by side: a choice reads
/// them all.
struct Delays {
    uplinks: usize,
    samples: Vec<Sample>,
}

impl Delays {
    fn new(uplinks: usize, tors: usize) -> Delays {
        Delays { uplinks, samples: vec![UNKNOWN; uplinks * tors] }
    }

    #[inline]
    fn set(&mut self, row: usize, leaf: TorId, delay: u32, at: Time) {
        self.samples[usize::from(leaf.0) * self.uplinks + row] = Sample { at, delay };
    }

    /// In header units; 0 if there is none younger than `stale`.
    #[inline]
    fn get(&self, row: usize, leaf: TorId, now: Time, stale: Span) -> u32 {
        self.samples[usize::from(leaf.0) * self.uplinks + row].unless_stale(now, stale)
    }

    /// Those of a leaf, by row.
    #[inline]
    fn of(&self, leaf: TorId) -> &[Sample] {
        &self.samples[usize::from(leaf.0) * self.uplinks..][..self.uplinks]
    }
}

/// What a leaf knows of the delays to and from others.
pub(super) struct Feedback {
    own: TorId,
    tor_of: Arc<[TorId]>,
    /// The row of each port that leads to a switch.
    row: Vec<u16>,
    stale: Span,
    /// Whether delays leave out the packet's own time on the first and the last line.
    pub(super) net: bool,
    /// From the leaf to here, entering by the uplink: to be sent back.
    measured: Delays,
    /// From here to the leaf, leaving by the uplink: what came back.
    heard: Delays,
}

impl Feedback {
    /// Of a switch with hosts. Others neither stamp nor measure: they know no leaf-to-leaf delay.
    pub(super) fn new(stale: Span, net: bool, env: &SwitchEnv) -> Option<Feedback> {
        let own = env.tor?;
        let mut uplinks = 0;
        let mut row = |neighbour| match neighbour {
            Neighbour::Host(_) => NO_ROW,
            Neighbour::Switch(..) => {
                uplinks += 1;
                uplinks - 1
            }
        };
        let row = env.ports.iter().map(|port| row(port.neighbour)).collect();
        let delays = || Delays::new(usize::from(uplinks), usize::from(env.tors));
        let (measured, heard) = (delays(), delays());
        Some(Feedback { own, tor_of: env.tor_of.clone(), row, stale, net, measured, heard })
    }

    /// The row of `port`, if it is an uplink.
    #[inline]
    fn row(&self, port: PortId) -> Option<usize> {
        let row = self.row.get(usize::from(port.0)).copied()?;
        (row != NO_ROW).then_some(usize::from(row))
    }

    /// The rows of `ports`, if they are uplinks and stand side by side.
    #[inline]
    fn rows(&self, ports: &[PortId]) -> Option<Range<usize>> {
        let range = side_by_side(ports)?;
        let (first, last) = (self.row(ports[0])?, self.row(ports[range.len() - 1])?);
        (last - first + 1 == range.len()).then_some(first..last + 1)
    }

    /// Whether `port` leads to a switch: only there is anything stamped or measured.
    #[inline]
    pub(super) fn is_uplink(&self, port: PortId) -> bool {
        self.row(port).is_some()
    }

    /// The leaves of a packet's source and destination, and the row of `port`; nothing if it stays
    /// under this leaf or `port` is no uplink.
    #[inline]
    fn way(&self, packet: &PacketMeta, port: PortId) -> Option<(TorId, TorId, usize)> {
        let row = self.row(port)?;
        let leaf = |host: leafspine_core::HostId| self.tor_of.get(usize::from(host.0)).copied();
        let (source, destination) = (leaf(packet.src())?, leaf(packet.dst())?);
        (source != destination).then_some((source, destination, row))
    }

    /// A packet's last bit has come in by `from`, its first bit at `first`.
    #[inline]
    pub(super) fn arrived(&mut self, packet: &PacketMeta, from: PortId, first: Time, now: Time) {
        let Some((source, destination, row)) = self.way(packet, from) else { return };
        if destination != self.own {
            return;
        }
        // "calculates the leaf-to-leaf delay by subtracting the sending time from the arriving
        // time": modulo the wrap, like the clock. Rounding, or a rate that has just changed, may make
        // it negative; and 0 stands for none. So it is a unit at least.
        let arrived = if self.net { first } else { now };
        let difference = clock(arrived).wrapping_sub(packet.header.0[STAMP]) as i32;
        self.measured.set(row, source, difference.max(1) as u32, now);
        // "obtains the delay from p_s to p_d by reading the timestamp field of packets arriving
        // port p_s".
        if packet.header.0[ECHO] != 0 {
            self.heard.set(row, source, packet.header.0[ECHO], now);
        }
    }

    /// A packet's first bit leaves by `to` at `first`, its last at `last`.
    #[inline]
    pub(super) fn leaving(&self, packet: &mut PacketMeta, to: PortId, first: Time, last: Time) {
        let Some((source, destination, row)) = self.way(packet, to) else { return };
        if source != self.own {
            return;
        }
        // "When a packet is sent by the port p_s of source leaf switch, the sending time is filled
        // in the timestamp field"; "employs all available packets in reverse direction".
        packet.header.0[STAMP] = clock(if self.net { last } else { first });
        packet.header.0[ECHO] = self.measured.get(row, destination, first, self.stale);
    }

    /// Adds the leaf-to-leaf delay of each path to `delays`: the measured one, or that of `bases`
    /// where none is known.
    #[inline(always)]
    pub(super) fn add(
        &self,
        delays: &mut [Span],
        paths: &Paths<'_>,
        bases: impl Iterator<Item = Span>,
        now: Time,
    ) {
        let (heard, stale) = (self.heard.of(paths.to), self.stale);
        let with = |sample: Sample, base: Span, delay: &mut Span| {
            let heard = sample.unless_stale(now, stale);
            let beyond = if heard == 0 { taken_to_be_idle(base) } else { in_time(heard) };
            *delay = Span(delay.0.saturating_add(beyond.0));
        };
        let each = bases.zip(delays);
        match self.rows(paths.ports) {
            Some(rows) => {
                each.zip(&heard[rows]).for_each(|((base, delay), at)| with(*at, base, delay));
            }
            None => each.zip(paths.ports).for_each(|((base, delay), port)| {
                with(self.row(*port).map_or(UNKNOWN, |row| heard[row]), base, delay);
            }),
        }
    }

    /// The leaf-to-leaf delay by `port` to `leaf`, if it is known.
    #[inline]
    pub(super) fn delay(&self, port: PortId, leaf: TorId, now: Time) -> Option<Span> {
        match self.heard.get(self.row(port)?, leaf, now, self.stale) {
            0 => None,
            delay => Some(in_time(delay)),
        }
    }

    /// Bytes a port takes, and all of it.
    pub(super) fn bytes(&self) -> (u64, u64) {
        let leaves = self.measured.samples.len() / self.measured.uplinks.max(1);
        let row = 2 * leaves * size_of::<Sample>();
        let samples =
            (self.measured.samples.len() + self.heard.samples.len()) * size_of::<Sample>();
        (row as u64, (samples + self.row.len() * size_of::<u16>()) as u64)
    }
}
