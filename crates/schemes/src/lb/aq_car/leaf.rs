//! AQ-CAR at a leaf: as the destination's it keeps levels and feeds them back, as the source's it
//! allocates paths to flows (§II-B2a). Rerouting is in `medium` and `large`.

use super::super::hash::by_hash;
use super::super::{Arrival, LoadBalancer, Needs};
use super::header::{Feedback, feedback, goes_forward, is_syn, is_syn_ack, set_feedback, stamp};
use super::large::LargeFlows;
use super::pat::{Entry, Pat, Path, State};
use super::requests::Requests;
use super::table::{PortSet, Table};
use super::uplinks::Uplinks;
use super::{Edge, Larger, Settings, Sharing};
use crate::levels::Levels;
use crate::stages::{FlowClass, LARGE, SMALL, Stages};
use crate::{Context, Footprint, Inspect, ParamError, Paths, SwitchEnv};
use leafspine_core::{Ecn, FiveTuple, Flags, HostId, PacketMeta, PortId, Span, Time, TorId};
use std::sync::Arc;

/// What another leaf has last fed back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// Levels of small flows' queues beyond each spine.
    pub(super) small: Table,
    /// Levels of medium flows' queues: the piggy table (§II-B2b).
    pub(super) medium: Table,
    /// Ports without large flows.
    pub(super) free: PortSet,
}

/// See the module's text.
pub(super) struct Leaf {
    seed: u64,
    tor: TorId,
    tor_of: Arc<[TorId]>,
    pub(super) stages: Stages,
    pub(super) levels: Levels,
    /// The last service queue of a port.
    last_queue: u8,
    pub(super) uplinks: Uplinks,
    pub(super) pat: Pat,
    /// As source, by destination leaf.
    pub(super) known: Vec<Known>,
    /// As destination, by ingress port: the small and the medium congestion feedback table.
    small: Table,
    medium: Table,
    /// As destination: the medium rerouting table.
    requests: Requests,
    /// As destination: the large feedback table.
    large: LargeFlows,
    pub(super) reroute_level: u32,
    /// The first medium stage whose flows are "among the larger flows in the medium class range".
    first_stage: u8,
    /// Below this level of its port a medium flow is asked no longer.
    stop_level: u32,
    /// Goal 1: whether a path that is congested is none to move to.
    pub(super) uncongested_only: bool,
    /// Eq. 2: how many levels above a stamp's own the length lies that it stands for.
    pub(super) edge: u32,
    medium_rerouting: bool,
    large_rerouting: bool,
}

impl Leaf {
    pub(super) fn new(
        settings: &Settings,
        env: &SwitchEnv,
        stages: Stages,
        levels: Levels,
    ) -> Result<Leaf, ParamError> {
        let (seed, leaves) = (env.hash_seed, usize::from(env.tors));
        let uplinks = Uplinks::new(env)?;
        let pace = (settings.large_silence, settings.large_pause);
        let any = settings.large_sharing == Sharing::Any;
        let leaves_apart = if any { None } else { Some(leaves) };
        let large =
            LargeFlows::new(settings.large_entries, leaves_apart, uplinks.len(), pace, seed);
        Ok(Leaf {
            seed,
            tor: env.tor.unwrap_or(TorId(u16::MAX)),
            tor_of: env.tor_of.clone(),
            stages,
            levels,
            last_queue: env.queues.max(1) - 1,
            pat: Pat::new(settings.entries, settings.timer, seed),
            known: vec![Known::default(); leaves],
            small: Table::default(),
            medium: Table::default(),
            requests: Requests::new(settings.requests, seed),
            large,
            uplinks,
            reroute_level: settings.reroute_level,
            first_stage: match settings.reroute_stages {
                Larger::Top => stages.medium,
                Larger::UpperHalf => stages.upper_half(),
            },
            stop_level: settings.stop_level.min(settings.reroute_level),
            uncongested_only: settings.uncongested_only,
            edge: u32::from(settings.level_edge == Edge::Upper),
            medium_rerouting: settings.medium_rerouting,
            large_rerouting: settings.large_rerouting,
        })
    }

    fn leaf_of(&self, host: HostId) -> Option<TorId> {
        self.tor_of.get(usize::from(host.0)).copied()
    }

    /// What the leaf `to` has last fed back.
    pub(super) fn known(&self, to: TorId) -> Known {
        self.known.get(usize::from(to.0)).copied().unwrap_or_default()
    }

    /// The level of a class' queue at `port`.
    pub(super) fn local_level(&self, port: PortId, queue: u8, cx: &mut Context<'_>) -> u32 {
        self.levels.stamp(cx.ports.queue(port, queue.min(self.last_queue)))
    }

    /// Packets and bytes in a class' queue at `port`.
    pub(super) fn backlog(&self, port: PortId, queue: u8, cx: &mut Context<'_>) -> u32 {
        cx.ports.queue(port, queue.min(self.last_queue)).packets
    }

    /// §II-B2a: "the effective congestion of all n paths between the source leaf and the spine level
    /// is the maximum load of the two hops"; the minimum wins, ties at random.
    pub(super) fn least_congested(
        &self,
        ports: impl Iterator<Item = PortId>,
        table: Table,
        queue: u8,
        cx: &mut Context<'_>,
    ) -> Option<PortId> {
        let (mut best, mut ties, mut choice) = (u32::MAX, 0, None);
        for port in ports {
            let local = self.local_level(port, queue, cx);
            let load = local.max(self.uplinks.level_beyond(port, table));
            if load > best {
                continue;
            }
            ties = if load < best { 1 } else { ties + 1 };
            best = load;
            if ties == 1 || cx.rng.below(ties) == 0 {
                choice = Some(port);
            }
        }
        choice
    }

    // The destination's leaf.

    /// §II-B2a: "upon the arrival of the SYN or a data packet, the destination leaf switch detects the
    /// flow class, pulls the congestion information" and updates the table of that class.
    fn learn(&mut self, packet: &PacketMeta, from: u8, now: Time) {
        let (flow, level) = (packet.tuple, stamp(packet));
        match self.stages.class(packet.class) {
            FlowClass::Small => self.small.set(from, level),
            FlowClass::Medium(stage) => {
                self.medium.set(from, level);
                // §II-B2b: a marked packet, the queue above the rerouting threshold, and a flow that
                // is "among the larger flows in the medium class range".
                let congested = packet.ecn == Ecn::Congested
                    && level >= self.reroute_level
                    && stage >= self.first_stage;
                if self.medium_rerouting {
                    self.requests.arrived(flow, from, congested);
                }
            }
            FlowClass::Large => {
                self.requests.forget(flow);
                if self.large_rerouting
                    && let Some(leaf) = self.leaf_of(packet.src())
                {
                    self.large.arrived(flow, leaf.0, from, packet.flags.has(Flags::FIN), now);
                }
            }
        }
    }

    /// Writes into a SYN-ACK or ACK of this leaf's hosts what the source's leaf is to know.
    fn answer(&mut self, packet: &mut PacketMeta, cx: &mut Context<'_>) {
        if is_syn_ack(packet) {
            // §II-B2a: "the leaf switch tags the packet with the ingress congestion information saved
            // in the small feedback table for each port".
            set_feedback(packet, Feedback::Small(self.small));
        } else if packet.is_pure_ack() {
            set_feedback(packet, self.reply(packet.tuple.reversed(), cx));
        }
    }

    /// What an ACK of `flow` carries.
    fn reply(&mut self, flow: FiveTuple, cx: &mut Context<'_>) -> Feedback {
        if let Some(from) = self.requests.of(flow) {
            // §II-B2b: every ACK of the flow carries the table, until "the flow is rerouted or the
            // congestion is alleviated (the queue length falls below a predefined threshold)".
            if self.medium.level(from) >= self.stop_level {
                return Feedback::Medium(self.medium);
            }
            self.requests.forget(flow);
        }
        let now = cx.now;
        let named = self.large.named(flow, || self.uplinks.live(cx), now);
        named.map_or(Feedback::None, Feedback::Free)
    }

    // The source's leaf.

    /// A SYN-ACK or ACK for one of this leaf's hosts.
    fn fed_back(&mut self, packet: &PacketMeta, cx: &mut Context<'_>) {
        let Some(leaf) = self.leaf_of(packet.src()) else { return };
        let Some(known) = self.known.get_mut(usize::from(leaf.0)) else { return };
        let flow = packet.tuple.reversed();
        match feedback(packet) {
            Feedback::Small(table) => {
                known.small = table;
                self.open(flow, table, cx);
            }
            Feedback::Medium(table) => {
                known.medium = table;
                self.ask(flow, State::MediumAsked, cx.now);
            }
            Feedback::Free(ports) => {
                known.free = ports;
                self.ask(flow, State::LargeAsked, cx.now);
            }
            Feedback::None => {
                // What asked the flow to move has ended, or the ACK is of a packet that has moved.
                if let Some(path) = self.pat.get(flow, cx.now) {
                    path.state = State::Settled;
                }
            }
        }
    }

    /// The SYN-ACK has come: the flow's path is chosen, once.
    fn open(&mut self, flow: FiveTuple, table: Table, cx: &mut Context<'_>) {
        let (slot, last) = match self.pat.find(flow, cx.now) {
            Entry::Valid(slot) if self.pat.paths[slot].state == State::Opening => {
                (slot, self.pat.paths[slot].last)
            }
            Entry::Vacant(slot) => (slot, cx.now),
            Entry::Valid(_) | Entry::Taken => return,
        };
        let live = self.uplinks.live(cx);
        let ports = self.uplinks.ports_of(live);
        if let Some(port) = self.least_congested(ports, table, SMALL, cx) {
            let state = State::Settled;
            self.pat.paths[slot] = Path { flow, last, delay: Span::ZERO, port, state };
        }
    }

    /// An ACK asks `flow` to move. Ignored before an ACK has shown that the last move is known.
    fn ask(&mut self, flow: FiveTuple, state: State, now: Time) {
        if let Some(path) = self.pat.get(flow, now) {
            let timed = path.state == State::MediumTimed && state == State::MediumAsked;
            if path.state != State::Moved && !timed {
                path.state = state;
            }
        }
    }

    /// The port of a SYN or data packet of this leaf's hosts.
    fn forward(&mut self, packet: &PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        let (flow, last) = (packet.tuple, cx.now);
        match self.pat.find(flow, cx.now) {
            Entry::Valid(slot) if paths.ports.contains(&self.pat.paths[slot].port) => {
                self.reroute(slot, packet, paths, cx);
                let path = &mut self.pat.paths[slot];
                path.last = last;
                path.port
            }
            Entry::Valid(slot) | Entry::Vacant(slot) => {
                let (port, state) = self.allocate(packet, paths, cx);
                self.pat.paths[slot] = Path { flow, last, delay: Span::ZERO, port, state };
                port
            }
            Entry::Taken => by_hash(packet, paths, self.seed),
        }
    }

    /// §II-B2: a flow without an entry "starts a new path allocation process". The SYN goes by ECMP and
    /// the SYN-ACK will choose; a packet in the middle of a flow has only what is known already.
    fn allocate(
        &self,
        packet: &PacketMeta,
        paths: &Paths<'_>,
        cx: &mut Context<'_>,
    ) -> (PortId, State) {
        let hashed = by_hash(packet, paths, self.seed);
        if is_syn(packet) {
            return (hashed, State::Opening);
        }
        let class = self.stages.class(packet.class);
        let known = self.known(paths.to);
        let table = match class {
            FlowClass::Small => known.small,
            FlowClass::Medium(_) => known.medium,
            FlowClass::Large => Table::default(),
        };
        let ports = paths.ports.iter().copied();
        let chosen = self.least_congested(ports, table, class.queue(), cx);
        (chosen.unwrap_or(hashed), State::Settled)
    }

    /// Moves the flow of this slot if its ACKs have asked for it and its class is still the one that
    /// was meant.
    fn reroute(
        &mut self,
        slot: usize,
        packet: &PacketMeta,
        paths: &Paths<'_>,
        cx: &mut Context<'_>,
    ) {
        let state = self.pat.paths[slot].state;
        match (state, self.stages.class(packet.class)) {
            (State::MediumAsked | State::MediumTimed, FlowClass::Medium(_)) => {
                self.reroute_medium(slot, packet.size, paths, cx);
            }
            (State::LargeAsked, FlowClass::Large) => self.reroute_large(slot, paths, cx),
            (State::MediumAsked | State::MediumTimed | State::LargeAsked, _) => {
                self.pat.paths[slot].state = State::Settled;
            }
            _ => {}
        }
    }

    /// §II-B2c: "the source leaf reroutes the flow to a new path that has no large flows": of those
    /// the one whose large queue here is least congested.
    fn reroute_large(&mut self, slot: usize, paths: &Paths<'_>, cx: &mut Context<'_>) {
        let (current, free) = (self.pat.paths[slot].port, self.known(paths.to).free);
        let other = |port: &PortId| *port != current && self.uplinks.is_free_beyond(*port, free);
        let ports = paths.ports.iter().copied().filter(other);
        let chosen = self.least_congested(ports, Table::default(), LARGE, cx);
        let path = &mut self.pat.paths[slot];
        (path.port, path.state) = match chosen {
            Some(port) => (port, State::Moved),
            None => (current, State::Settled),
        };
    }
}

impl LoadBalancer for Leaf {
    fn needs(&self) -> Needs {
        Needs { arrived: true, ..Needs::default() }
    }

    fn arrived(&mut self, packet: &mut PacketMeta, from: PortId, cx: &mut Context<'_>) -> Arrival {
        if let Some(uplink) = self.uplinks.number(from)
            && self.leaf_of(packet.dst()) == Some(self.tor)
        {
            if goes_forward(packet) {
                self.learn(packet, uplink, cx.now);
            } else if is_syn_ack(packet) || packet.is_pure_ack() {
                self.fed_back(packet, cx);
            }
        }
        Arrival::Forward
    }

    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        if self.leaf_of(packet.src()) == Some(self.tor) {
            if goes_forward(packet) {
                return self.forward(packet, paths, cx);
            }
            self.answer(packet, cx);
        }
        by_hash(packet, paths, self.seed)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Leaf {
    fn footprint(&self, now: Time) -> Footprint {
        let known = self.known.len() * size_of::<Known>();
        let pat = self.pat.paths.len() * size_of::<Path>();
        let tables = self.uplinks.bytes() + self.requests.bytes() + self.large.bytes();
        Footprint {
            bytes: (size_of::<Leaf>() + pat + known + tables) as u64,
            per_flow: size_of::<Path>() as u32,
            slots: self.pat.paths.len() as u32,
            occupied: self.pat.occupied(now) as u32,
            ..Footprint::default()
        }
    }

    fn slot(&self, packet: &PacketMeta) -> Option<u32> {
        let here = self.leaf_of(packet.src()) == Some(self.tor);
        (here && goes_forward(packet)).then(|| self.pat.slot(packet.tuple) as u32)
    }
}
