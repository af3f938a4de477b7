//! QDAPS as `hardware/p4/qdaps.p4` has it.
//!
//! What differs from the rest of this module: the clock has whole microseconds, delays are counted in
//! 1/1024 us from reciprocals with 20 fraction bits, and a packet in transmission is not seen by the ingress
//! pipeline; one random number of 32 bits a packet decides all ties; eq. 14 is a table of ranges of bytes
//! sent; sweeps are counted by two comparisons, so that after a silence of two sweeps or more the next
//! comes a whole interval later, not at its place in the series.

use super::crc16::crc16;
use super::entries::{By, Settings};
use super::flow_table::FlowTable;
use super::reroute::Reroute;
use crate::lb::{LoadBalancer, Needs};
use crate::p4::{self, ControlPlane, Word, uplinks::Uplinks};
use crate::{Amount, Context, Footprint, Inspect, ParamError, Paths, SwitchEnv};
use leafspine_core::{PacketMeta, PortId, Rate, Time};

/// Ranges of bytes sent that eq. 14's table has at most.
const RANGES: u32 = 256;
/// The most that a flow's entry counts.
const MOST_SENT: u64 = u32::MAX as u64;

/// An entry of the flow table; all zeros: free.
#[derive(Clone, Copy, Default, Debug)]
struct Flow {
    /// When the last packet's delay is over, in 1/1024 us.
    departs: u64,
    /// How many sweeps there had been when it came.
    seen: u32,
    sent: u32,
    /// The last packet's uplink, from 1.
    uplink: u8,
}

/// The sweeps that idle entries are removed by.
#[derive(Clone, Copy, Debug)]
struct Sweeps {
    every: u64,
    next: u64,
    done: u32,
}

impl Sweeps {
    /// Two comparisons: of more than one sweep that is due, two are enough to remove what is idle.
    fn advance(&mut self, now: Word) {
        if now.0 < self.next {
            return;
        }
        if now.0 - self.next < self.every {
            self.done = self.done.wrapping_add(1);
            self.next += self.every;
        } else {
            self.done = self.done.wrapping_add(2);
            self.next = now.0 + self.every;
        }
    }

    fn removed(&self, flow: &Flow, strict: bool) -> bool {
        let last = p4::fine(Word(self.next - self.every)).0;
        self.done.wrapping_sub(flow.seen) >= 2 && (strict || flow.departs <= last)
    }
}

/// A path as the program looks at it once.
#[derive(Clone, Copy, Debug)]
struct Look {
    bytes: u64,
    packets: u64,
    delay: u64,
    keeps_order: bool,
}

pub(super) struct OnP4 {
    flows: Vec<Flow>,
    sweeps: Sweeps,
    strict: bool,
    by: By,
    uplinks: Uplinks,
    /// By port: the rate, and a byte's time at it.
    lines: Vec<(Rate, u64)>,
    /// Eq. 14's table: from and to of what a flow has sent, and S.
    ranges: Vec<(u64, u64, Amount)>,
    looks: Vec<Look>,
}

impl OnP4 {
    /// # Errors
    /// For what a P4 switch cannot do.
    pub(super) fn new(settings: &Settings, env: &SwitchEnv) -> Result<OnP4, ParamError> {
        if settings.in_service {
            let allowed = "false with arithmetic = \"p4\", whose ingress pipeline does not see what is in \
                           transmission";
            return Err(ParamError::new("in_service", true, allowed));
        }
        let rtt = settings.rtt.unwrap_or(env.base_rtt);
        let every = p4::ticks(rtt).saturating_mul(2);
        Ok(OnP4 {
            flows: vec![Flow::default(); settings.entries],
            sweeps: Sweeps { every, next: every, done: 0 },
            strict: settings.strict_age,
            by: settings.by,
            uplinks: Uplinks::new(env)?,
            lines: env.ports.iter().map(|port| (port.rate, p4::per_byte(port.rate))).collect(),
            ranges: ranges(&Reroute::new(settings, rtt, env)),
            looks: Vec::with_capacity(env.ports.len()),
        })
    }

    fn number(&self, packet: &PacketMeta) -> usize {
        let hash = Word(crc16(packet.tuple).into());
        p4::place16(hash, Word(self.flows.len() as u64)).0 as usize
    }

    /// A byte's time on the port's line: the control plane writes another when the rate changes.
    fn per_byte(&mut self, port: PortId, rate: Rate) -> Word {
        let line = &mut self.lines[usize::from(port.0)];
        if line.0 != rate {
            *line = (rate, p4::per_byte(rate));
        }
        Word(line.1)
    }

    /// Looks at every path: eq. 1, and whether the packet keeps behind the one before it (eq. 2).
    fn look(
        &mut self,
        size: u64,
        before: Option<(Word, PortId)>,
        paths: &Paths<'_>,
        cx: &mut Context<'_>,
    ) {
        self.looks.clear();
        for port in paths.ports {
            let (waits, rate) = cx.ports.line(*port);
            let bytes = u64::from(waits.bytes);
            let delay = p4::line_time(Word(bytes + size), self.per_byte(*port, rate)).0;
            let keeps_order =
                before.is_none_or(|(remaining, last)| *port == last || delay > remaining.0);
            let packets = waits.packets.into();
            self.looks.push(Look { bytes, packets, delay, keeps_order });
        }
    }

    /// The shortest queue, of all or of those that keep the order; the random number decides ties.
    fn shortest(&self, in_order: bool, random: Word) -> usize {
        let length = |look: &Look| match self.by {
            By::Bytes => look.bytes,
            By::Delay => look.delay,
        };
        let allowed = |look: &&Look| !in_order || look.keeps_order;
        let least = self.looks.iter().filter(allowed).map(length).min();
        let ties = || {
            let looks = self.looks.iter().enumerate();
            looks.filter(|(_, look)| allowed(look) && Some(length(look)) == least)
        };
        let chosen = p4::draw(random, Word(ties().count() as u64));
        ties().nth(chosen.0 as usize).map_or(0, |(at, _)| at)
    }

    /// Whether eq. 14 sends the packet of a flow that has `sent` so much away from a queue.
    fn leaves(&self, sent: u64, queue: Look) -> bool {
        let range = self.ranges.iter().find(|(from, to, _)| (*from..=*to).contains(&sent));
        range.is_some_and(|(.., threshold)| match *threshold {
            Amount::Packets(most) => queue.packets > u64::from(most),
            Amount::Bytes(most) => queue.bytes > most,
        })
    }
}

/// Eq. 14 (or a fixed threshold) as a table: for every range of bytes sent, S. A flow that has sent less than the
/// first range's is never rerouted.
pub(super) fn ranges(reroute: &Reroute) -> Vec<(u64, u64, Amount)> {
    let at = |sent: u64| reroute.threshold(u32::try_from(sent).unwrap_or(u32::MAX));
    let Some(most) = at(MOST_SENT) else { return Vec::new() };
    // The least number of bytes sent for which `is` holds; it holds for the most.
    let first = |is: &dyn Fn(u64) -> bool| {
        let (mut low, mut high) = (0, MOST_SENT);
        while low < high {
            let middle = (low + high) / 2;
            if is(middle) { high = middle } else { low = middle + 1 }
        }
        low
    };
    let from = first(&|sent| at(sent).is_some());
    let (Some(Amount::Packets(least)), Amount::Packets(most)) = (at(from), most) else {
        return vec![(from, MOST_SENT, most)];
    };
    // S rises with what was sent. Beyond so many values the table has every second, third, ... of them.
    let step = (most - least + 1).div_ceil(RANGES).max(1) as usize;
    let values: Vec<u32> = (least..=most).step_by(step).collect();
    let reaches = |value: u32| {
        first(&|sent| matches!(at(sent), Some(Amount::Packets(packets)) if packets >= value))
    };
    let starts: Vec<u64> = values.iter().map(|value| reaches(*value)).collect();
    let ends = starts.iter().skip(1).map(|next| next - 1).chain([MOST_SENT]);
    let each = starts.iter().zip(ends).zip(values);
    each.map(|((from, to), value)| (*from, to, Amount::Packets(value))).collect()
}

impl LoadBalancer for OnP4 {
    fn needs(&self) -> Needs {
        // The program goes through its flow table wherever a packet leaves by an uplink, also if by the only one.
        Needs { every_packet: true, ..Needs::default() }
    }

    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        if self.uplinks.number(paths.ports[0]) == 0 {
            return paths.ports[0];
        }
        let (random, now) = (p4::random(cx.rng), p4::clock(cx.now));
        let size = u64::from(packet.size);
        self.sweeps.advance(now);
        let number = self.number(packet);
        let flow = self.flows[number];
        let known = flow.uplink > 0 && !self.sweeps.removed(&flow, self.strict);
        let sent = if known { u64::from(flow.sent) } else { 0 };
        // Eq. 2, in 1/1024 us.
        let remaining = p4::above(Word(flow.departs), p4::fine(now));
        let before = known
            .then(|| (remaining, self.uplinks.0[usize::from(flow.uplink) - 1]))
            .filter(|(remaining, port)| remaining.0 > 0 && paths.ports.contains(port));
        self.look(size, before, paths, cx);
        let mut choice = self.shortest(before.is_some(), random);
        if before.is_some() && self.leaves(sent, self.looks[choice]) {
            choice = self.shortest(false, random);
        }
        let port = paths.ports[choice];
        self.flows[number] = Flow {
            departs: p4::fine(now).0 + self.looks[choice].delay,
            seen: self.sweeps.done,
            sent: (sent + size).min(MOST_SENT) as u32,
            uplink: self.uplinks.number(port),
        };
        port
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for OnP4 {
    fn footprint(&self, now: Time) -> Footprint {
        let mut sweeps = self.sweeps;
        sweeps.advance(p4::clock(now));
        let taken = |flow: &&Flow| flow.uplink > 0 && !sweeps.removed(flow, self.strict);
        let entries = self.flows.len() as u32;
        Footprint {
            bytes: u64::from(entries) * u64::from(FlowTable::ENTRY) + 16 * self.lines.len() as u64,
            per_flow: FlowTable::ENTRY,
            per_port: 16,
            slots: entries,
            occupied: self.flows.iter().filter(taken).count() as u32,
        }
    }

    fn slot(&self, packet: &PacketMeta) -> Option<u32> {
        Some(self.number(packet) as u32)
    }

    fn control_plane(&self) -> Option<ControlPlane> {
        let mut control = ControlPlane { program: "qdaps", ..ControlPlane::default() };
        self.uplinks.control(&mut control);
        self.uplinks.count_dequeues(&mut control);
        let by_delay = u64::from(self.by == By::Delay);
        let data = [self.flows.len() as u64, self.sweeps.every, u64::from(self.strict), by_delay];
        control.settings("flow_table", "set_flow_table", &data);
        for (number, port) in self.uplinks.0.iter().enumerate() {
            let per_byte = self.lines[usize::from(port.0)].1;
            control.settings(format!("line_{number}"), format!("set_line_{number}"), &[per_byte]);
        }
        for (from, to, threshold) in &self.ranges {
            let data = match *threshold {
                Amount::Packets(most) => [most.into(), 0],
                Amount::Bytes(most) => [most, 1],
            };
            control.range("reroute", (*from, *to), "set_threshold", &data);
        }
        Some(control)
    }
}
