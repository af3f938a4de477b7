//! TAM as `hardware/p4/tam.p4` has it.
//!
//! What differs from the rest of this module: the clock has whole microseconds; queueing delays are those of
//! what waits, in 1/1024 us, without the packet in transmission; flows are found and hashed by CRC-32; one
//! random number of 32 bits a packet decides all ties; a flow's size is what has passed here; active long flows
//! are counted by intervals (`counts.rs`), so nothing walks over the flow table.

use super::counts::{Count, Counted, Refreshes};
use super::ports::Thresholds;
use super::{LongFlows, Settings, Size, Ties, flowlet_gap};
use crate::aqm::{Admit, Aqm};
use crate::lb::{Arrival, LoadBalancer, Needs, Roles};
use crate::p4::{self, ControlPlane, Word, uplinks::Uplinks};
use crate::{
    Amount, Context, Footprint, Inspect, ParamError, Paths, PortInfo, QueueView, SwitchEnv,
};
use leafspine_core::{Ecn, PacketMeta, PortId, Rate, Rng, Span, Time, TorId};
use std::sync::Arc;

/// An entry of the flow table; all zeros: free.
#[derive(Clone, Copy, Default, Debug)]
struct Flow {
    /// When the latest packet came, in us.
    last: u64,
    bytes: u32,
    /// The latest packet's uplink, from 1.
    uplink: u8,
    flowlet: bool,
    counted: Option<Counted>,
}

/// What the control plane has written down for a port.
#[derive(Clone, Copy, Debug)]
struct Line {
    rate: Rate,
    per_byte: u64,
    long: u32,
    short: Amount,
}

impl Line {
    fn new(rate: Rate, thresholds: Thresholds) -> Line {
        let (long, short) = (thresholds.long(rate), thresholds.short(rate));
        Line { rate, per_byte: p4::per_byte(rate), long, short }
    }
}

pub(super) struct OnP4 {
    flows: Vec<Flow>,
    refreshes: Refreshes,
    counts: Vec<Count>,
    uplinks: Uplinks,
    lines: Vec<Line>,
    /// By port: until when a short flow uses it.
    short_until: Vec<u64>,
    thresholds: Thresholds,
    gap: u64,
    forget: u64,
    short: u32,
    tie_by_queueing: bool,
    salt: u32,
    tor: Option<TorId>,
    tor_of: Arc<[TorId]>,
    /// The keys of the paths, while one is chosen.
    keys: Vec<u64>,
}

/// What a P4 switch cannot do.
fn refuse(settings: &Settings) -> Result<(), ParamError> {
    if settings.size == Size::Sent {
        let allowed =
            "\"seen\" with arithmetic = \"p4\": on the wire sequence numbers begin anywhere";
        return Err(ParamError::new("size", "\"sent\"", allowed));
    }
    if settings.long_flows == LongFlows::Total {
        let allowed = "\"active\" with arithmetic = \"p4\", which cannot walk over the flow table to \
                       take idle flows out";
        return Err(ParamError::new("long_flows", "\"total\"", allowed));
    }
    Ok(())
}

impl OnP4 {
    /// # Errors
    /// For what a P4 switch cannot do.
    pub(super) fn new(settings: &Settings, env: &SwitchEnv) -> Result<OnP4, ParamError> {
        refuse(settings)?;
        let rtt = settings.rtt.unwrap_or(env.base_rtt);
        let every = p4::ticks(rtt);
        let gap = p4::ticks(flowlet_gap(settings, env));
        let thresholds = Thresholds {
            rtt: rtt.max(Span(1)),
            divisor: settings.divisor,
            short: settings.threshold,
        };
        let uplinks = Uplinks::new(env)?;
        let line = |port: &PortInfo| Line::new(port.rate, thresholds);
        Ok(OnP4 {
            flows: vec![Flow::default(); p4::table(settings.entries)?],
            refreshes: Refreshes { every, next: every, done: 0 },
            counts: vec![Count::default(); uplinks.0.len()],
            uplinks,
            lines: env.ports.iter().map(line).collect(),
            short_until: vec![0; env.ports.len()],
            thresholds,
            gap,
            forget: every.saturating_mul(settings.forget).max(gap.saturating_mul(2)),
            short: settings.short.0 as u32,
            tie_by_queueing: settings.ties == Ties::Queueing,
            salt: (env.hash_seed >> 32) as u32,
            tor: env.tor,
            tor_of: env.tor_of.clone(),
            keys: Vec::with_capacity(env.ports.len()),
        })
    }

    fn slot(&self, packet: &PacketMeta) -> usize {
        let hash = Word(p4::crc32(packet.tuple, 0).into());
        p4::place32(hash, Word(self.flows.len() as u64)).0 as usize
    }

    fn line(&mut self, port: PortId, rate: Rate) -> Line {
        let line = &mut self.lines[usize::from(port.0)];
        if line.rate != rate {
            *line = Line::new(rate, self.thresholds);
        }
        *line
    }

    /// A data packet has come: Table 2, columns 2 and 4, and whether it begins a flowlet.
    fn arrived_at(&mut self, packet: &PacketMeta, now: u64) {
        let slot = self.slot(packet);
        self.refreshes.advance(now);
        let (flow, last) = (&mut self.flows[slot], self.refreshes.last());
        if last.saturating_sub(flow.last) > self.forget {
            *flow = Flow::default();
        }
        flow.bytes = flow.bytes.saturating_add(packet.size.into());
        flow.flowlet = now - flow.last > self.gap;
        flow.last = now;
    }

    /// The packet goes out by `port`: its flow is counted there if it is long, and nowhere else.
    fn forwarded(&mut self, slot: usize, port: PortId) {
        let (flow, uplink) = (&mut self.flows[slot], self.uplinks.number(port));
        let interval = self.refreshes.done;
        if flow.uplink != uplink {
            let counted = flow.counted.take();
            if let (Some(counted), Some(left)) = (counted, self.counts.get_mut(place(flow.uplink)))
            {
                left.roll(interval);
                left.leave(counted);
            }
            flow.uplink = uplink;
        }
        if flow.bytes > self.short
            && let Some(count) = self.counts.get_mut(place(uplink))
        {
            count.roll(interval);
            flow.counted = Some(count.join(flow.counted));
        }
    }

    /// Algorithm 1, lines 4 to 31.
    fn route(
        &mut self,
        slot: usize,
        random: Word,
        paths: &Paths<'_>,
        cx: &mut Context<'_>,
    ) -> PortId {
        let flow = self.flows[slot];
        let long = flow.bytes > self.short;
        let kept = self.uplinks.0.get(place(flow.uplink)).filter(|port| paths.ports.contains(port));
        if let Some(port) = kept
            && !(long && flow.flowlet)
        {
            return *port;
        }
        self.keys.clear();
        for (port, beyond) in paths.ports.iter().zip(paths.delay) {
            let (waits, rate) = cx.ports.line(*port);
            let per_byte = Word(self.line(*port, rate).per_byte);
            let queueing = p4::line_time(Word(waits.bytes.into()), per_byte).0;
            let delay = match long && self.tie_by_queueing {
                true => queueing,
                false => queueing + p4::fine_span(*beyond),
            };
            let count = &mut self.counts[place(self.uplinks.number(*port))];
            count.roll(self.refreshes.done);
            let active = count.active();
            self.keys.push(if long { active << 48 | delay } else { delay << 16 | active });
        }
        let least = self.keys.iter().min().copied();
        let ties = || paths.ports.iter().zip(&self.keys).filter(|(_, key)| Some(**key) == least);
        let chosen = p4::draw(random, Word(ties().count() as u64)).0 as usize;
        ties().nth(chosen).map_or(paths.ports[0], |(port, _)| *port)
    }
}

/// The place of an uplink among the registers; none for 0.
fn place(uplink: u8) -> usize {
    usize::from(uplink).wrapping_sub(1)
}

impl LoadBalancer for OnP4 {
    fn needs(&self) -> Needs {
        Needs { arrived: true, ..Needs::default() }
    }

    fn arrived(&mut self, packet: &mut PacketMeta, _: PortId, cx: &mut Context<'_>) -> Arrival {
        if packet.is_data() {
            self.arrived_at(packet, p4::clock(cx.now).0);
        }
        Arrival::Forward
    }

    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        let random = p4::random(cx.rng);
        let source = || self.tor_of.get(usize::from(packet.src().0));
        let from_here = self.tor.is_some_and(|tor| source() == Some(&tor));
        if !packet.is_data() || !from_here {
            let hash = Word(p4::crc32(packet.tuple, self.salt).into());
            let number = p4::place32(hash, Word(paths.ports.len() as u64));
            return paths.ports[number.0 as usize];
        }
        let slot = self.slot(packet);
        let port = self.route(slot, random, paths, cx);
        self.forwarded(slot, port);
        port
    }

    fn roles(&mut self) -> Roles<'_> {
        Roles::Aqm(self)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Aqm for OnP4 {
    /// Algorithm 1, lines 32 to 38, by Table 1.
    fn admit(&mut self, packet: &PacketMeta, queue: &QueueView, now: Time, _: &mut Rng) -> Admit {
        if !packet.is_data() {
            return Admit::Take;
        }
        let (slot, now) = (self.slot(packet), p4::clock(now).0);
        let line = self.line(queue.port, queue.rate);
        let backlog = queue.port_total;
        let until = &mut self.short_until[usize::from(queue.port.0)];
        let mark = if self.flows[slot].bytes > self.short {
            now < *until || backlog.bytes >= line.long
        } else {
            *until = now + self.refreshes.every;
            line.short.reached_by(backlog.packets, backlog.bytes)
        };
        self.forwarded(slot, queue.port);
        if mark && packet.ecn != Ecn::NotCapable { Admit::Mark } else { Admit::Take }
    }
}

impl Inspect for OnP4 {
    fn footprint(&self, now: Time) -> Footprint {
        // Fields of the program's registers: docs/hardware.md.
        let (flow, port) = (20, 50);
        let slots = self.flows.len() as u32;
        let mut refreshes = self.refreshes;
        refreshes.advance(p4::clock(now).0);
        let last = refreshes.last();
        let held = |flow: &&Flow| flow.bytes > 0 && last.saturating_sub(flow.last) <= self.forget;
        Footprint {
            bytes: u64::from(slots) * u64::from(flow) + u64::from(port) * self.lines.len() as u64,
            per_flow: flow,
            per_port: port,
            slots,
            occupied: self.flows.iter().filter(held).count() as u32,
        }
    }

    fn slot(&self, packet: &PacketMeta) -> Option<u32> {
        packet.is_data().then(|| OnP4::slot(self, packet) as u32)
    }

    fn control_plane(&self) -> Option<ControlPlane> {
        let mut control = ControlPlane { program: "tam", ..ControlPlane::default() };
        self.uplinks.control(&mut control);
        self.uplinks.count_dequeues(&mut control);
        let data = [self.flows.len() as u64, self.short.into(), self.gap, self.forget];
        control.settings("flow_table", "set_flow_table", &data);
        let data = [self.refreshes.every, self.tie_by_queueing.into(), self.salt.into()];
        control.settings("tam_settings", "set_tam", &data);
        for (number, port) in self.uplinks.0.iter().enumerate() {
            let per_byte = self.lines[usize::from(port.0)].per_byte;
            control.settings(format!("line_{number}"), format!("set_line_{number}"), &[per_byte]);
        }
        for (port, line) in (0..).zip(&self.lines) {
            let (short, in_bytes) = match line.short {
                Amount::Packets(most) => (u64::from(most), 0),
                Amount::Bytes(most) => (most, 1),
            };
            let data = [line.long.into(), short, in_bytes];
            control.entry("thresholds", &[port], "set_thresholds", &data);
        }
        for (host, tor) in (0..).zip(self.tor_of.iter()) {
            if self.tor == Some(*tor) {
                control.entry("sources", &[p4::address(host)], "from_here", &[]);
            }
        }
        Some(control)
    }
}
