//! Hermes: hosts that know good, grey, congested and failed paths, and move flows with care.
//!
//! Source: Zhang, Zhang, Bai, Chen and Chowdhury, "Resilient Datacenter Load Balancing in the Wild",
//! SIGCOMM 2017, §3.
//!
//! * Sensing (§3.1, Algorithm 1). Every ACK reports its path's round-trip time and whether the data packet
//!   was marked. A path is *good* if its marked share is below `ecn` and its delay below the low bound,
//!   *congested* if both are above (the high bound for the delay), *grey* otherwise. It has *failed* if
//!   three timeouts passed on it without an ACK between (a black hole), or if more than 1 % of its packets in 10 ms
//!   were sent again although it was not congested (random drops).
//! * Probing (§3.1). One host per rack probes, every `probe_interval` and for every other rack, two paths
//!   at random and the best that it knows, and shares what it learns with its rack.
//! * Rerouting (§3.2, Algorithm 2). A new flow, one that timed out, and one whose path failed take a good
//!   path, else a grey one, else any that has not failed: of several the one with the smallest local
//!   sending rate. A flow on a congested path moves only if that pays: it has sent more than
//!   `sent`, its rate is below `rate` of the line, and the new path is notably better in delay and marks.
//!
//! A path is an uplink of the host's leaf, `packet.path`, which the balancer `pinned` obeys (the paper's
//! explicit routes). Data and probes of a path carry its number there; the receiver sends it back with the mark in
//! the header's second word.
//!
//! State per host: 64 bytes per path and destination rack (at most 256 rows, made when the rack is first
//! met); per rack and path 16 bytes shared; per flow 4 words. Cost per packet: two rate estimates; a pass
//! over the paths when a choice is due.
//!
//! Unspecified in the source, or done differently here:
//! - The defaults are within the ranges that the paper gives; delays are in packet times, so that they
//!   fit any rate.
//! - Hosts of a rack share what the probes say, free and at once.
//! - ACKs and answers to probes go back by the path of what they answer, so that delay and failures of both
//!   directions are that path's; were they hashed, a flow whose ACKs fall into a black hole would blame and leave
//!   one innocent path after the other. A SYN-ACK takes a path as a new flow does. `acks = "hash"` is the other
//!   choice.
//! - A segment that is sent again counts against the path that it took before, the flow's last one if
//!   the flow has moved since; and not at all if that path is congested at the time. A flow that moves
//!   away from a queue overtakes its own packets, and TCP sends some of them again: counted against a path that works
//!   well they would make it a failed one.
//! - If all paths to a rack have failed, flows stay where they are. A failed path is tried again
//!   after `retry`.
//!
//! Provenance: paper.

mod entry;
mod sense;
#[cfg(test)]
mod tests;

use super::racks::{Racks, Rows};
use super::{EdgeContext, FlowView, HostEdge, Needs};
use crate::{Footprint, Inspect};
use leafspine_core::{Ecn, FiveTuple, Flags, HostId, PacketMeta, Span, Time};
use sense::{Bounds, PathClass, Rate, Sense};

pub(crate) use entry::ENTRY;

/// Words of a flow's state. Sending: its path plus one, whether it timed out, and its destination's
/// row; its rate; the path before, and the first segment that went by the present one. Receiving: what the
/// next ACK echoes.
const PATH: usize = 0;
const RATE: usize = 1;
const RATE_AT: usize = 2;
const BEFORE: usize = 3;
const ECHO: usize = 0;
const TIMED_OUT: u64 = 1 << 32;
const ROW_SHIFT: u32 = 40;

/// In the header's second word.
const VALID: u32 = 1 << 31;
const MARKED: u32 = 1 << 30;
const NUMBER: u32 = 0xffff;

/// The window in which retransmissions are counted (§3.1: tau).
const DROP_WINDOW: Span = Span::from_millis(10);
/// Timeouts without an ACK that make a black hole (§3.1).
const BLACK_HOLE: u8 = 3;
/// Timestamps count units of 2^16 ps, as the transport's do.
const STAMP_SHIFT: u32 = 16;
/// Bytes of a probe on the wire.
const PROBE_BYTES: u16 = 64;
/// The port that probes go to, and the one that their answers go to. The ports tell which is which: a
/// header that another scheme has written over must not make answers answered.
const PROBE_PORT: u16 = 5_002;
const ANSWER_PORT: u16 = 5_003;

/// One path towards one rack, as this host sees it.
#[derive(Clone, Copy, Debug, Default)]
struct Path {
    sense: Sense,
    learned: Time,
    rate: Rate,
    /// Data packets sent in this window, and those that had been sent before.
    sent: u32,
    again: u32,
    window: Time,
    /// Timeouts since the last ACK.
    timeouts: u8,
    /// Until when it counts as failed.
    failed: Time,
}

struct Hermes {
    racks: Racks,
    paths: usize,
    mss: u64,
    bounds: Bounds,
    retry: Span,
    /// Bytes after which a flow may leave a congested path.
    enough_sent: u64,
    /// A flow's bytes within the time constant that are too fast to move.
    too_fast: u64,
    tau: u64,
    reciprocal: u64,
    table: Rows<Path>,
    prober: Option<Prober>,
    acks_by_path: bool,
}

/// The probing side of a rack's agent.
struct Prober {
    interval: Span,
    here: HostId,
    /// The agents of the other racks.
    agents: Vec<HostId>,
}

impl Hermes {
    /// For each rack and path: what its agents have sensed, in two words.
    fn board_words(&self) -> usize {
        if self.prober.is_some() { 2 * self.racks.rows() * self.paths } else { 0 }
    }

    /// What is known of a path: this host's own samples or its rack's probes, whichever is newer.
    fn sense(&self, row: usize, path: usize, board: &[u64]) -> Sense {
        let (own, shared) = (self.table.get(row, path), 2 * (row * self.paths + path));
        match board.get(shared..shared + 2) {
            Some([when, word]) if *when > own.learned.0 => Sense::from_word(*word),
            _ => own.sense,
        }
    }

    fn failed(&self, row: usize, path: usize, now: Time) -> bool {
        self.table.get(row, path).failed > now
    }

    /// How many paths have not failed.
    fn alive(&self, row: usize, now: Time) -> usize {
        (0..self.paths).filter(|path| !self.failed(row, *path, now)).count()
    }

    /// Of the paths of `row` that `fits`, the one with the smallest local sending rate; ties at random.
    fn slowest(
        &self,
        row: usize,
        cx: &mut EdgeContext<'_>,
        fits: impl Fn(Sense) -> bool,
    ) -> Option<usize> {
        let (mut best, mut ties) = (None, 0);
        for path in 0..self.paths {
            if self.failed(row, path, cx.now) || !fits(self.sense(row, path, cx.board)) {
                continue;
            }
            let rate = self.table.get(row, path).rate.left(cx.now, self.tau, self.reciprocal);
            ties = match best {
                Some((least, _)) if rate > least => continue,
                Some((least, _)) if rate == least => ties + 1,
                _ => 1,
            };
            if ties == 1 || cx.rng.below(ties) == 0 {
                best = Some((rate, path));
            }
        }
        best.map(|(_, path)| path)
    }

    /// Algorithm 2, for a flow that must take a path: a good one, else a grey one, else any.
    fn place(&self, row: usize, cx: &mut EdgeContext<'_>) -> usize {
        let of = |class| move |sense| self.bounds.class(sense) == class;
        self.slowest(row, cx, of(PathClass::Good))
            .or_else(|| self.slowest(row, cx, of(PathClass::Grey)))
            .unwrap_or_else(|| self.any(row, cx))
    }

    /// At random among those that have not failed; if all have, among all.
    fn any(&self, row: usize, cx: &mut EdgeContext<'_>) -> usize {
        let alive = self.alive(row, cx.now);
        if alive == 0 {
            return cx.rng.below(self.paths as u64) as usize;
        }
        let nth = cx.rng.below(alive as u64) as usize;
        (0..self.paths).filter(|path| !self.failed(row, *path, cx.now)).nth(nth).unwrap_or(0)
    }

    /// Algorithm 2, for a flow on a congested path: a good one that is notably better, else a grey one.
    fn improve(&self, row: usize, current: usize, cx: &mut EdgeContext<'_>) -> Option<usize> {
        let old = self.sense(row, current, cx.board);
        let better = |class| {
            move |new: Sense| {
                self.bounds.class(new) == class && self.bounds.notably_better(new, old)
            }
        };
        self.slowest(row, cx, better(PathClass::Good))
            .or_else(|| self.slowest(row, cx, better(PathClass::Grey)))
    }

    /// Algorithm 2 for one packet: the path it takes.
    fn choose(&self, row: usize, flow: &FlowView<'_>, cx: &mut EdgeContext<'_>) -> usize {
        let word = flow.state[PATH];
        let current = (word as u32 as usize).wrapping_sub(1);
        // A new flow, a timeout, a failed path.
        if current >= self.paths || word & TIMED_OUT != 0 {
            return self.place(row, cx);
        }
        if self.failed(row, current, cx.now) {
            return if self.alive(row, cx.now) > 0 { self.place(row, cx) } else { current };
        }
        let sense = self.sense(row, current, cx.board);
        if self.bounds.class(sense) != PathClass::Congested {
            return current;
        }
        // Small flows and fast ones have more to lose than to win.
        let rate = Rate { bytes: flow.state[RATE], at: flow.state[RATE_AT] };
        let slow = rate.left(cx.now, self.tau, self.reciprocal) < self.too_fast;
        match flow.bytes_sent > self.enough_sent && slow {
            true => self.improve(row, current, cx).unwrap_or(current),
            false => current,
        }
    }

    /// Counts a data packet in the rates of its path and its flow.
    fn account(&mut self, row: usize, path: usize, size: u16, flow: &mut FlowView<'_>, now: Time) {
        let (tau, reciprocal, size) = (self.tau, self.reciprocal, u64::from(size));
        let own = Rate { bytes: flow.state[RATE], at: flow.state[RATE_AT] };
        flow.state[RATE] = own.left(now, tau, reciprocal) + size;
        flow.state[RATE_AT] = now.0;
        let path = &mut self.table.row(row)[path];
        path.rate = Rate { bytes: path.rate.left(now, tau, reciprocal) + size, at: now.0 };
        path.sent = path.sent.saturating_add(1);
    }

    /// A segment is sent again that went by `path`: one of §3.1's random drops, unless congestion
    /// explains it.
    fn sent_again(&mut self, row: usize, path: usize) {
        if self.bounds.class(self.table.get(row, path).sense) != PathClass::Congested {
            let path = &mut self.table.row(row)[path];
            path.again = path.again.saturating_add(1);
        }
    }

    /// §3.1: at the end of each window, whether the path drops packets at random.
    fn judge(&mut self, row: usize, path: usize, now: Time) {
        let path = &mut self.table.row(row)[path];
        if now.since(path.window) < DROP_WINDOW {
            return;
        }
        // More than 1 % of at least 100 packets: of fewer, a single one would be.
        if path.sent >= 100 && path.again > path.sent / 100 {
            path.failed = now + self.retry;
        }
        (path.sent, path.again, path.window) = (0, 0, now);
    }

    /// The path that a segment which is sent again has taken before.
    fn taken_by(flow: &FlowView<'_>, packet: &PacketMeta) -> usize {
        let (before, first) = (flow.state[BEFORE] >> 32, flow.state[BEFORE] as u32);
        let path = if packet.seq < first { before } else { flow.state[PATH] & 0xffff_ffff };
        (path as usize).wrapping_sub(1)
    }

    /// The flow takes `path`; if that is another than before, what it sends from now on does.
    fn take(&self, row: usize, path: usize, flow: &mut FlowView<'_>) {
        let (before, path) = (flow.state[PATH] & 0xffff_ffff, path as u64 + 1);
        if before != path && before != 0 {
            let first = flow.bytes_sent.div_ceil(self.mss) & 0xffff_ffff;
            flow.state[BEFORE] = before << 32 | first;
        }
        flow.state[PATH] = (row as u64) << ROW_SHIFT | path;
    }

    /// Takes in what an ACK or a probe's reply says about a path of `row`.
    fn learn(&mut self, row: usize, path: usize, marked: bool, rtt: u32, now: Time) {
        let known = &mut self.table.row(row)[path];
        known.sense.learn(rtt, marked);
        known.learned = now;
    }

    /// The path that a receiver writes of, if it is one.
    fn named(&self, word: u32) -> Option<usize> {
        let path = (word & NUMBER) as usize;
        (word & VALID != 0 && path < self.paths).then_some(path)
    }
}

/// What a receiver sends back about a packet's path.
fn echo(packet: &PacketMeta) -> u32 {
    let marked = if packet.ecn == Ecn::Congested { MARKED } else { 0 };
    match packet.path {
        PacketMeta::NO_PATH => 0,
        path => VALID | marked | u32::from(path),
    }
}

fn stamp(now: Time) -> u32 {
    (now.0 >> STAMP_SHIFT) as u32
}

impl HostEdge for Hermes {
    fn needs(&self) -> Needs {
        Needs {
            tick: self.prober.is_some(),
            board_words: self.board_words(),
            keeps_class: true,
            ..Needs::default()
        }
    }

    fn sending(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        let row = self.racks.row(packet.dst());
        let path = self.choose(row, flow, cx);
        if packet.is_data() {
            if packet.notes & PacketMeta::RETRANSMIT != 0 {
                let lost_by = Hermes::taken_by(flow, packet);
                if lost_by < self.paths {
                    self.sent_again(row, lost_by);
                }
            }
            self.account(row, path, packet.size, flow, cx.now);
            self.judge(row, path, cx.now);
        }
        self.take(row, path, flow);
        packet.path = path as u16;
    }

    fn acked(
        &mut self,
        ack: &PacketMeta,
        rtt: Option<Span>,
        _: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        let (row, word) = (self.racks.row(ack.src()), ack.header.0[1]);
        let Some(path) = self.named(word) else { return };
        // No black hole.
        self.table.row(row)[path].timeouts = 0;
        if let Some(rtt) = rtt {
            let units = (rtt.0 >> STAMP_SHIFT).min(u64::from(u32::MAX)) as u32;
            self.learn(row, path, word & MARKED != 0, units, cx.now);
        }
    }

    fn lost(&mut self, timeout: bool, flow: &mut FlowView<'_>, cx: &mut EdgeContext<'_>) {
        let current = (flow.state[PATH] as u32 as usize).wrapping_sub(1);
        if !timeout || current >= self.paths {
            return;
        }
        flow.state[PATH] |= TIMED_OUT;
        let row = (flow.state[PATH] >> ROW_SHIFT) as usize;
        let path = &mut self.table.row(row)[current];
        path.timeouts = path.timeouts.saturating_add(1);
        // §3.1: a black hole.
        if path.timeouts >= BLACK_HOLE {
            path.timeouts = 0;
            path.failed = cx.now + self.retry;
        }
    }

    fn receiving(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) {
        flow.state[ECHO] = u64::from(echo(packet));
    }

    fn replying(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        let word = flow.state[ECHO] as u32;
        packet.header.0[1] = word;
        if self.acks_by_path {
            let back = self.named(word);
            let path = back.unwrap_or_else(|| self.place(self.racks.row(packet.dst()), cx));
            packet.path = path as u16;
        }
    }

    /// §3.1: power of two choices, and the best so far.
    fn tick(&mut self, cx: &mut EdgeContext<'_>) -> Option<Time> {
        let prober = self.prober.as_ref()?;
        for agent in &prober.agents {
            let row = self.racks.row(*agent);
            let rtt = |path: &usize| match self.sense(row, *path, cx.board).rtt {
                0 => u32::MAX,
                rtt => rtt,
            };
            let best = (0..self.paths).min_by_key(rtt).unwrap_or(0);
            let draw = |rng: &mut leafspine_core::Rng| rng.below(self.paths as u64) as usize;
            for path in [draw(cx.rng), draw(cx.rng), best] {
                cx.outbox.push(probe(prober.here, *agent, path as u16, stamp(cx.now)));
            }
        }
        Some(cx.now + prober.interval)
    }

    fn probed(&mut self, probe: &PacketMeta, cx: &mut EdgeContext<'_>) {
        let word = probe.header.0[1];
        if probe.tuple == probe_tuple(probe.src(), probe.dst()) {
            let mut reply = *probe;
            reply.tuple = probe.tuple.reversed();
            reply.ecn = Ecn::NotCapable;
            reply.path = if self.acks_by_path { probe.path } else { PacketMeta::NO_PATH };
            reply.header.0[1] = echo(probe);
            cx.outbox.push(reply);
            return;
        }
        let row = self.racks.row(probe.src());
        let Some(path) = self.named(word) else { return };
        let rtt = stamp(cx.now).wrapping_sub(probe.stamp);
        self.learn(row, path, word & MARKED != 0, rtt, cx.now);
        let shared = 2 * (row * self.paths + path);
        if let Some(shared) = cx.board.get_mut(shared..shared + 2) {
            shared.copy_from_slice(&[cx.now.0, self.table.get(row, path).sense.to_word()]);
        }
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Hermes {
    fn footprint(&self, _: Time) -> Footprint {
        let bytes = self.table.bytes() + self.board_words() as u64 * 8;
        Footprint { bytes, per_flow: 32, ..Footprint::default() }
    }
}

fn probe_tuple(from: HostId, to: HostId) -> FiveTuple {
    FiveTuple::new(from, to, ANSWER_PORT, PROBE_PORT)
}

/// A probe of one path to another rack's agent. It can be marked, as data can.
fn probe(from: HostId, to: HostId, path: u16, stamp: u32) -> PacketMeta {
    PacketMeta {
        tuple: probe_tuple(from, to),
        stamp,
        size: PROBE_BYTES,
        flags: Flags::PROBE,
        ecn: Ecn::Capable,
        path,
        ..PacketMeta::default()
    }
}
