//! How long a flow would take if it had the whole fabric to itself.
//!
//! The ideal flow completion time is that of a lone flow on the best path of the unchanged fabric,
//! without a window: what the network allows, whatever the transport makes of it. Slowdown is the
//! measured time over this one.

use crate::{Graph, Owner, Routes};
use leafspine_core::{Bytes, HostId, Pace, Rate, Span, SwitchId, TorId};
use leafspine_schemes::Paths;
use std::collections::HashMap;
use std::convert::Infallible;
use std::ops::Range;

/// Ideal completion times between any two hosts, to the picosecond.
///
/// The time runs from the first packet sent until the receiver has the last byte. With a handshake
/// it is: the SYN to the receiver, the SYN-ACK back (both are `header` bytes), then the data, full
/// segments and a last one with the rest, sent back to back. Every hop stores a packet whole before
/// it forwards it; switches take no time of their own.
///
/// The best path takes at each switch the equal-cost port with the highest capacity, then the
/// lowest delay, then the lowest number. The SYN-ACK takes the best path of its own direction.
///
/// Rates whose time per byte is whole picoseconds (1, 10, 25, 40, 100, 400 Gb/s) have one answer.
/// At another (900 Mb/s) a packet's time depends on the fraction that [`Pace`] has carried over
/// from the packets before; the answer is that of ports that have never sent before. A later
/// lone flow may differ by less than a picosecond a hop. For such rates the packets are replayed
/// one by one, up to 2^20 of them; a longer flow's answer (up to 1 TB) is within two picoseconds a
/// hop.
#[derive(Clone, Debug)]
pub struct Ideal {
    /// Every different sequence of hops, stored once.
    ways: Vec<Box<[Hop]>>,
    /// The way from each host to its switch.
    host_up: Vec<u32>,
    /// The way to each host from its switch.
    host_down: Vec<u32>,
    host_tor: Vec<TorId>,
    /// The way between two switches with hosts, at `source * tors + destination`.
    between: Vec<u32>,
    tors: usize,
    mss: u32,
    header: u32,
    handshake: bool,
    base_rtt: Span,
}

/// Rate and delay of one transmission.
#[derive(Clone, Debug)]
struct Hop {
    rate: Rate,
    /// Never used itself, only copied: what the packets before have left over is zero.
    pace: Pace,
    /// Time of a byte in units of 2^-40 ps, rounded down.
    byte_time: u128,
    /// Whether a byte takes whole picoseconds.
    whole: bool,
    delay: Span,
}

const FRACTION_BITS: u32 = 40;
const PS_BITS_PER_BYTE: u64 = 8_000_000_000_000;
/// Packets that are replayed at most: some milliseconds' work.
const MOST_REPLAYED: u64 = 1 << 20;

impl Hop {
    fn new(rate: Rate, delay: Span) -> Hop {
        Hop {
            rate,
            pace: Pace::new(rate),
            byte_time: (u128::from(PS_BITS_PER_BYTE) << FRACTION_BITS) / u128::from(rate.0),
            whole: PS_BITS_PER_BYTE.is_multiple_of(rate.0),
            delay,
        }
    }

    /// From the first bit sent until the last has arrived.
    fn time(&self, bytes: u32) -> Span {
        let mut pace = self.pace.clone();
        pace.take(bytes) + self.delay
    }
}

impl Ideal {
    /// The ideal of the fabric `graph`, whose `routes` are those before any change. Full segments
    /// carry `mss` bytes, and every packet has `header` bytes beside its payload.
    ///
    /// # Panics
    /// If `mss` is zero or `routes` has no way between two switches with hosts.
    #[must_use]
    pub fn new(graph: &Graph, routes: &Routes, mss: u32, header: u32, handshake: bool) -> Ideal {
        let watch = |_, _| Ok::<(), Infallible>(());
        let Ok(ideal) = Ideal::watched(graph, routes, (mss, header, handshake), watch);
        ideal
    }

    /// The same of (`mss`, `header`, `handshake`). `watch` is called with how many destinations of how many
    /// are done, and may put an end to it.
    ///
    /// # Errors
    /// What `watch` gives.
    ///
    /// # Panics
    /// As [`Ideal::new`].
    pub fn watched<E>(
        graph: &Graph,
        routes: &Routes,
        (mss, header, handshake): (u32, u32, bool),
        watch: impl Fn(usize, usize) -> Result<(), E>,
    ) -> Result<Ideal, E> {
        assert!(mss > 0, "a segment carries at least a byte");
        let mut ways = Ways::new(graph);
        let peer = |port: u32| graph.ports[port as usize].peer;
        let host_up = graph.host_port.iter().map(|port| ways.before(*port, NO_HOPS)).collect();
        let host_down =
            graph.host_port.iter().map(|port| ways.before(peer(*port), NO_HOPS)).collect();
        let tors = graph.tor_switch.len();
        let mut between = vec![NO_HOPS; tors * tors];
        for to in 0..tors {
            watch(to, tors)?;
            ways.towards(graph, TorId(to as u16));
            for (from, switch) in graph.tor_switch.iter().enumerate() {
                between[from * tors + to] = ways.from(graph, routes, *switch);
            }
        }
        let mut ideal = Ideal {
            ways: ways.list,
            host_up,
            host_down,
            host_tor: graph.host_tor.clone(),
            between,
            tors,
            mss,
            header,
            handshake,
            base_rtt: Span::ZERO,
        };
        ideal.base_rtt = ideal.farthest_rtt();
        Ok(ideal)
    }

    /// The ideal completion time of a flow of `size` bytes; the longest span if it exceeds that.
    /// An empty flow counts as one packet without payload. The hosts are two different ones.
    #[must_use]
    pub fn fct(&self, src: HostId, dst: HostId, size: Bytes) -> Span {
        self.time(src, dst, size, self.handshake)
    }

    /// The same of a flow whose connection is there: without a handshake, whatever others have.
    #[must_use]
    pub fn fct_connected(&self, src: HostId, dst: HostId, size: Bytes) -> Span {
        self.time(src, dst, size, false)
    }

    fn time(&self, src: HostId, dst: HostId, size: Bytes, handshake: bool) -> Span {
        let there = || self.hops(src, dst);
        let segments = size.0.div_ceil(u64::from(self.mss)).max(1);
        let train = Train {
            before: if handshake { self.header } else { 0 },
            full: self.mss + self.header,
            fulls: segments - 1,
            last: (size.0 - (segments - 1) * u64::from(self.mss)) as u32 + self.header,
        };
        let replayed = segments <= MOST_REPLAYED && !there().all(|hop| hop.whole);
        let data = if replayed { train.replay(there()) } else { train.closed_form(there()) };
        let shake = if handshake { self.handshake_time(src, dst) } else { Span::ZERO };
        Span(u64::try_from(data.saturating_add(u128::from(shake.0))).unwrap_or(u64::MAX))
    }

    /// The round-trip time of a full-sized packet and its ACK, which is a header alone, between
    /// the two hosts that are farthest apart, in an empty fabric.
    #[must_use]
    pub fn base_rtt(&self) -> Span {
        self.base_rtt
    }

    /// The hops from `src` to `dst` on the best path.
    fn hops(&self, src: HostId, dst: HostId) -> impl Iterator<Item = &Hop> {
        let (src, dst) = (usize::from(src.0), usize::from(dst.0));
        let (from, to) = (usize::from(self.host_tor[src].0), usize::from(self.host_tor[dst].0));
        let between = self.between[from * self.tors + to];
        [self.host_up[src], between, self.host_down[dst]]
            .into_iter()
            .flat_map(|way| self.ways[way as usize].iter())
    }

    /// From the SYN's first bit to the SYN-ACK's last.
    fn handshake_time(&self, src: HostId, dst: HostId) -> Span {
        let way =
            |from, to| self.hops(from, to).fold(Span::ZERO, |sum, hop| sum + hop.time(self.header));
        way(src, dst) + way(dst, src)
    }

    /// The largest round-trip time over all pairs of different hosts.
    fn farthest_rtt(&self) -> Span {
        let time = |bytes: u32| -> Vec<Span> {
            let sum = |way: &[Hop]| way.iter().fold(Span::ZERO, |sum, hop| sum + hop.time(bytes));
            self.ways.iter().map(|way| sum(way)).collect()
        };
        let (full, ack) = (time(self.mss + self.header), time(self.header));
        let ends = self.host_up.iter().zip(&self.host_down);
        let (sender, receiver): (Vec<Span>, Vec<Span>) = ends
            .map(|(up, down)| (*up as usize, *down as usize))
            .map(|(up, down)| (full[up] + ack[down], full[down] + ack[up]))
            .unzip();
        let under: Vec<_> = self.under_each().collect();
        let largest = |spans: &[Span]| spans.iter().copied().max().unwrap_or_default();
        let slowest = |of: &[Span]| -> Vec<Span> {
            under.iter().map(|hosts| largest(&of[hosts.clone()])).collect()
        };
        let (senders, receivers) = (slowest(&sender), slowest(&receiver));
        let mut farthest = Span::ZERO;
        for (from, hosts) in under.iter().cloned().enumerate() {
            let pair = farthest_pair(&sender[hosts.clone()], &receiver[hosts]);
            farthest = farthest.max(pair);
            for to in (0..self.tors).filter(|to| *to != from) {
                let there = full[self.between[from * self.tors + to] as usize];
                let back = ack[self.between[to * self.tors + from] as usize];
                farthest = farthest.max(senders[from] + there + receivers[to] + back);
            }
        }
        // A single host has no destination but itself.
        if self.host_tor.len() == 1 { sender[0] + receiver[0] } else { farthest }
    }
}

impl Ideal {
    /// The hosts under each switch with hosts.
    fn under_each(&self) -> impl Iterator<Item = Range<usize>> {
        let mut next = 0;
        self.host_tor.chunk_by(|one, other| one == other).map(move |hosts| {
            let first = next;
            next += hosts.len();
            first..next
        })
    }

    /// The rates of the links between two hosts, in a packet's order, on which a byte takes longest in
    /// all.
    #[must_use]
    pub fn slowest_way(&self) -> Vec<Rate> {
        let cost = |way: u32| self.ways[way as usize].iter().map(|hop| hop.byte_time).sum::<u128>();
        let costs: Vec<u128> = (0..self.ways.len() as u32).map(cost).collect();
        let slowest = |ways: &[u32]| -> Vec<u32> {
            let of = |hosts: Range<usize>| ways[hosts].iter().copied();
            let most = |hosts| of(hosts).max_by_key(|way| costs[*way as usize]).unwrap_or(NO_HOPS);
            self.under_each().map(most).collect()
        };
        let (up, down) = (slowest(&self.host_up), slowest(&self.host_down));
        let whole =
            |from: usize, to: usize| [up[from], self.between[from * self.tors + to], down[to]];
        let pairs = (0..self.tors).flat_map(|from| (0..self.tors).map(move |to| (from, to)));
        let sum = |ways: &[u32; 3]| ways.iter().map(|way| costs[*way as usize]).sum::<u128>();
        let most = pairs.map(|(from, to)| whole(from, to)).max_by_key(sum).unwrap_or([NO_HOPS; 3]);
        most.iter().flat_map(|way| self.ways[*way as usize].iter().map(|hop| hop.rate)).collect()
    }
}

/// The largest `senders[a] + receivers[b]` with `a != b`; zero for a single sender.
fn farthest_pair(senders: &[Span], receivers: &[Span]) -> Span {
    let (mut first, mut second) = ((Span::ZERO, usize::MAX), Span::ZERO);
    for (index, span) in senders.iter().enumerate() {
        if first.1 == usize::MAX || *span > first.0 {
            (second, first) = (first.0, (*span, index));
        } else {
            second = second.max(*span);
        }
    }
    let other = |index| if index == first.1 { second } else { first.0 };
    let pairs = receivers.iter().take(senders.len()).enumerate();
    match senders.len() {
        1 => Span::ZERO,
        _ => pairs.map(|(index, span)| *span + other(index)).max().unwrap_or_default(),
    }
}

/// The sequence without hops.
const NO_HOPS: u32 = 0;
/// What is not known yet.
const UNKNOWN: u32 = u32::MAX;

/// Numbers sequences of hops; equal ones get the same number. Each is a hop and the sequence behind it.
struct Ways {
    list: Vec<Box<[Hop]>>,
    /// By the first hop's number and the sequence behind it.
    known: HashMap<(u32, u32), u32>,
    /// The number of each port's hop, and a hop of each number.
    hop_of: Vec<u32>,
    hops: Vec<Hop>,
    /// Each switch's last set of next hops and its best port: mostly the next destination's as well.
    best: Vec<(u32, u32)>,
    /// The sequence from each switch to `to`.
    way_of: Vec<u32>,
    to: TorId,
}

impl Ways {
    fn new(graph: &Graph) -> Ways {
        let (mut known, mut hops) = (HashMap::new(), Vec::new());
        let mut number = |rate: Rate, delay: Span| {
            *known.entry((rate, delay)).or_insert_with(|| {
                hops.push(Hop::new(rate, delay));
                hops.len() as u32 - 1
            })
        };
        let hop_of = graph.ports.iter().map(|port| number(port.rate, port.delay)).collect();
        Ways {
            list: vec![Box::default()],
            known: HashMap::new(),
            hop_of,
            hops,
            best: vec![(UNKNOWN, UNKNOWN); graph.switches.len()],
            way_of: vec![UNKNOWN; graph.switches.len()],
            to: TorId(0),
        }
    }

    /// The hop of a port, and then this sequence.
    fn before(&mut self, port: u32, rest: u32) -> u32 {
        let hop = self.hop_of[port as usize];
        *self.known.entry((hop, rest)).or_insert_with(|| {
            let behind = self.list[rest as usize].iter();
            let all = std::iter::once(&self.hops[hop as usize]).chain(behind).cloned().collect();
            self.list.push(all);
            self.list.len() as u32 - 1
        })
    }

    /// From now on sequences lead to `to`.
    fn towards(&mut self, graph: &Graph, to: TorId) {
        self.to = to;
        self.way_of.fill(UNKNOWN);
        self.way_of[usize::from(graph.tor_switch[usize::from(to.0)].0)] = NO_HOPS;
    }

    /// The hops from a switch on the best path.
    fn from(&mut self, graph: &Graph, routes: &Routes, here: SwitchId) -> u32 {
        let at = usize::from(here.0);
        if self.way_of[at] == UNKNOWN {
            let set = routes.set_at(here, self.to);
            if self.best[at].0 != set {
                self.best[at] = (set, best_port(graph, here, routes.paths(here, self.to)));
            }
            let port = self.best[at].1;
            let Owner::Switch(next) = graph.ports[graph.ports[port as usize].peer as usize].owner
            else {
                unreachable!("routes lead through switches")
            };
            // No deeper than the longest path, since every hop is nearer to the end.
            let rest = self.from(graph, routes, next);
            self.way_of[at] = self.before(port, rest);
        }
        self.way_of[at]
    }
}

/// Global index of the port with the highest capacity, then the lowest delay, then number.
fn best_port(graph: &Graph, here: SwitchId, paths: Paths<'_>) -> u32 {
    let ports = paths.ports.iter().map(|port| graph.global(here, *port));
    let cost =
        |(port, capacity): &(u32, &u32)| (u32::MAX - **capacity, graph.ports[*port as usize].delay);
    // The first of equal ones is the one with the lowest number.
    ports.zip(paths.capacity).min_by_key(cost).expect("an unchanged fabric is connected").0
}

/// Packets sent back to back over a line of store-and-forward hops.
struct Train {
    /// Bytes that every hop has sent before (the SYN).
    before: u32,
    /// Bytes of a full packet.
    full: u32,
    /// How many of those.
    fulls: u64,
    /// Bytes of the packet that comes last.
    last: u32,
}

impl Train {
    /// When the last packet has arrived, in ps, from the times per byte alone.
    ///
    /// A packet starts at a hop when it is there and the one before has left. So the end is the
    /// longest chain of transmissions in which each step goes to the next hop or to the next
    /// packet. Equal packets make the steps to the next packet all at the slowest hop so far; the
    /// last packet takes over at some hop, and every one is tried.
    fn closed_form<'a>(&self, hops: impl Iterator<Item = &'a Hop>) -> u128 {
        let (full, last) = (u128::from(self.full), u128::from(self.last));
        let waits = u128::from(self.fulls.saturating_sub(1));
        let (mut delay, mut to_here, mut slowest, mut longest) = (0u128, 0u128, 0u128, 0u128);
        for hop in hops {
            delay += u128::from(hop.delay.0);
            // `longest` ends with the last packet at this hop.
            if self.fulls > 0 {
                to_here += full * hop.byte_time;
                slowest = slowest.max(full * hop.byte_time);
                longest = longest.max(to_here.saturating_add(waits.saturating_mul(slowest)));
            }
            longest = longest.saturating_add(last * hop.byte_time);
        }
        (longest >> FRACTION_BITS).saturating_add(delay)
    }

    /// The same from every packet's own time, for rates that carry a fraction.
    fn replay<'a>(&self, hops: impl Iterator<Item = &'a Hop>) -> u128 {
        let mut line: Vec<(Pace, u128, u128)> = hops
            .map(|hop| {
                let mut pace = hop.pace.clone();
                pace.take(self.before);
                (pace, u128::from(hop.delay.0), 0)
            })
            .collect();
        let mut arrival = 0;
        for packet in 0..=self.fulls {
            let bytes = if packet < self.fulls { self.full } else { self.last };
            arrival = 0;
            for (pace, delay, free) in &mut line {
                *free = arrival.max(*free) + u128::from(pace.take(bytes).0);
                arrival = *free + *delay;
            }
        }
        arrival
    }
}
