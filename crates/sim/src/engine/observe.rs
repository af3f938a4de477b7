//! Looking on: the measurement window, probes, and what a run leaves behind. Nothing here changes
//! what packets do.

use super::Simulation;
use crate::calendar::{Class, Key};
use crate::output::{Column, Output, PortRow, Series, Warmup};
use crate::pool::Handle;
use crate::port::Store;
use crate::spec::{ProbeKind, Window};
use leafspine_core::{Flags, HostId, Span, Time};

/// A probe and what it has seen.
pub(super) struct Probe {
    pub(super) kind: ProbeKind,
    pub(super) name: String,
    pub(super) every: Span,
    /// Ports watched, by global number; for windows, flows.
    pub(super) targets: Vec<u32>,
    pub(super) times: Vec<u64>,
    pub(super) which: Vec<u32>,
    pub(super) first: Vec<u64>,
    pub(super) second: Vec<u64>,
    /// Of the time, for utilisation; ages in picoseconds, for states.
    pub(super) numbers: Vec<f64>,
    /// Busy time of each target at the last sample, for utilisation.
    pub(super) busy: Vec<u64>,
    /// The flows watched that are under way: number and slot.
    pub(super) live: Vec<(u32, u32)>,
}

impl Probe {
    /// Puts a `packets` probe's rows in the order of their transmissions, and drops those that had
    /// not begun at `end`: the one-event port tells of them when they are queued.
    fn settle(&mut self, end: Time) {
        if self.kind != ProbeKind::Packets {
            return;
        }
        let begun = |row: &usize| self.times[*row] <= end.0;
        let mut rows: Vec<usize> = (0..self.times.len()).filter(begun).collect();
        rows.sort_by_key(|row| (self.times[*row], self.which[*row]));
        let of = |column: &[u64]| rows.iter().map(|row| column[*row]).collect();
        self.which = rows.iter().map(|row| self.which[*row]).collect();
        (self.first, self.second) = (of(&self.first), of(&self.second));
        (self.busy, self.times) = (of(&self.busy), of(&self.times));
    }
}

/// What a `packets` probe shows as the flow of a scheme's own packet.
const NO_FLOW: u32 = u32::MAX;

/// The flow table is looked at when every 64th flow starts: what there is to look at grows with the
/// flows under way, and costs nothing beside the packets of 64 flows.
const LOOK_EVERY: u32 = 64;

/// `item` of a window event.
const OPEN: u32 = 0;
const CLOSE: u32 = 1;
const WARM: u32 = 2;

impl Simulation {
    pub(super) fn start_observing(&mut self) {
        match self.window {
            Window::All | Window::Between(Time::ZERO, _) => self.move_window(OPEN),
            Window::Between(from, _) => self.schedule_window(from, OPEN),
            Window::Arrivals => {}
        }
        if let Window::Between(_, to) = self.window {
            self.schedule_window(to, CLOSE);
        }
        if self.warmup.end > Time::ZERO {
            self.schedule_window(self.warmup.end, WARM);
        }
        for (index, probe) in self.probes.iter().enumerate() {
            if probe.kind != ProbeKind::Packets {
                let key = Key::new(Class::Probe, index as u32);
                self.calendar.push(Time::ZERO, key, index as u32);
            }
        }
    }

    fn schedule_window(&mut self, at: Time, what: u32) {
        self.calendar.push(at, Key::new(Class::Window, what), what);
    }

    /// The first flow starts: the window of arrivals opens, or will when the warm-up ends.
    pub(super) fn first_flow(&mut self) {
        if self.window != Window::Arrivals {
            return;
        }
        if self.now < self.warmup.end {
            self.schedule_window(self.warmup.end, OPEN);
        } else {
            self.move_window(OPEN);
        }
    }

    /// The last flow has started: the window of arrivals closes. If all flows (or all after the
    /// warm-up) started at one instant it stays open to the end of the run.
    pub(super) fn source_exhausted(&mut self) {
        if self.window == Window::Arrivals
            && self.measuring
            && self.window_open.is_some_and(|open| self.now > open)
        {
            self.move_window(CLOSE);
        }
    }

    pub(super) fn window_event(&mut self, what: u32) {
        if what == WARM { self.end_warmup() } else { self.move_window(what) }
    }

    /// The warm-up is over: what has been counted so far is no part of the statistics.
    fn end_warmup(&mut self) {
        let counters = &self.counters;
        let live = self.endpoints.places.iter().filter(|place| place.live);
        self.warmup = Warmup {
            dropped: counters.dropped.iter().sum(),
            lost: counters.lost,
            marks: counters.marks,
            // Those of flows under way are counted when the flows end.
            data_packets: counters.data_packets
                + live.map(|place| u64::from(place.packets)).sum::<u64>(),
            ..self.warmup
        };
    }

    pub(super) fn move_window(&mut self, what: u32) {
        let open = what == OPEN;
        if open == self.measuring {
            return;
        }
        self.measuring = open;
        self.window_bytes = self.counters.bytes_delivered - self.window_bytes;
        for port in &mut self.ports {
            port.cut_window(self.now, if open { 1 } else { -1 });
        }
        if open {
            self.window_open = Some(self.now);
        } else {
            self.window_close = Some(self.now);
        }
    }

    /// A probe looks.
    pub(super) fn sample(&mut self, index: u32) {
        let now = self.now;
        let probe = &mut self.probes[index as usize];
        match probe.kind {
            ProbeKind::Queue => {
                for at in &probe.targets {
                    let backlog = self.ports[*at as usize].backlog(now);
                    probe.times.push(now.0);
                    probe.which.push(*at);
                    probe.first.push(u64::from(backlog.packets));
                    probe.second.push(u64::from(backlog.bytes));
                }
            }
            ProbeKind::Utilisation => {
                for (at, before) in probe.targets.iter().zip(&mut probe.busy) {
                    let busy = self.ports[*at as usize].sent_until(now);
                    probe.times.push(now.0);
                    probe.which.push(*at);
                    let share = (busy - *before) as f64 / probe.every.0 as f64;
                    probe.numbers.push(share);
                    *before = busy;
                }
            }
            ProbeKind::Window => {
                for (flow, slot) in &probe.live {
                    probe.times.push(now.0);
                    probe.which.push(*flow);
                    probe.first.push(u64::from(self.endpoints.window(*slot, &self.tcp)));
                }
            }
            ProbeKind::State => self.sample_state(index),
            ProbeKind::Packets => {}
        }
        let probe = &self.probes[index as usize];
        let next = now + probe.every;
        self.calendar.push(next, Key::new(Class::Probe, index), index);
    }

    /// A flow starts: now and then, how the flows of its source's switch share the entries of the flow
    /// table there.
    pub(super) fn look_at_table(&mut self, number: u32, source: HostId) {
        if !number.is_multiple_of(LOOK_EVERY) {
            return;
        }
        let tor = self.places[usize::from(source.0)].0;
        let switch = self.graph.tor_switch[usize::from(tor)];
        let (flows, sharing) = self.shared_at(u32::from(switch.0));
        self.table_use.flows += flows;
        self.table_use.sharing += sharing;
    }

    /// The flows under way that have an entry in a switch's flow table, and how many more they are than
    /// the entries that they have.
    fn shared_at(&mut self, switch: u32) -> (u64, u64) {
        let state = &self.switches[switch as usize];
        let entries = &mut self.entries;
        self.endpoints.slots_at(state.tor, state.balancer.as_ref(), &self.places, entries);
        let flows = entries.len();
        entries.sort_unstable();
        entries.dedup();
        (flows as u64, (flows - entries.len()) as u64)
    }

    /// What the balancers keep, and how the flows under way share the slots of their tables.
    fn sample_state(&mut self, index: u32) {
        let now = self.now;
        for target in 0..self.probes[index as usize].targets.len() {
            let switch = self.probes[index as usize].targets[target];
            let (flows, sharing) = self.shared_at(switch);
            let state = &self.switches[switch as usize];
            let found = state.balancer.footprint(now);
            let age = state.balancer.information_age(now);
            let probe = &mut self.probes[index as usize];
            probe.times.push(now.0);
            probe.which.push(switch);
            probe.first.push(found.bytes);
            probe.second.push(u64::from(found.slots) << 32 | u64::from(found.occupied));
            probe.busy.push(flows << 32 | sharing);
            probe.numbers.push(age.map_or(f64::NAN, |age| age.0 as f64));
        }
    }

    /// The `packets` probe sees a packet begin its transmission.
    pub(super) fn record_packet(
        &mut self,
        probe: u16,
        at: u32,
        handle: Handle,
        start: Time,
        wait: Span,
    ) {
        let packet = &self.pool[handle];
        let flow = match packet.flags.has(Flags::PROBE) {
            true => NO_FLOW,
            false => self.endpoints.number(packet.flow),
        };
        let probe = &mut self.probes[usize::from(probe)];
        probe.times.push(start.0);
        probe.which.push(at);
        probe.first.push(u64::from(flow) << 32 | u64::from(packet.seq));
        probe.second.push(
            u64::from(packet.size) << 32
                | u64::from(packet.flags.0) << 8
                | u64::from(packet.ecn as u8),
        );
        probe.busy.push(wait.0);
    }

    /// Tells the window probes that a flow has started or ended.
    pub(super) fn watch_flow(&mut self, flow: u32, slot: u32, starts: bool) {
        for probe in self.probes.iter_mut().filter(|p| p.kind == ProbeKind::Window) {
            if !starts {
                probe.live.retain(|(live, _)| *live != flow);
            } else if probe.targets.contains(&flow) {
                probe.live.push((flow, slot));
            }
        }
    }

    /// Closes everything and hands it over.
    pub(super) fn into_output(mut self) -> Output {
        if self.measuring {
            self.move_window(1);
        }
        self.counters.payload.in_flight = self.payload_in_flight();
        self.ports.iter_mut().for_each(|port| port.settle_delays(self.now));
        // A window that the run did not reach is empty.
        let close = self.window_close.unwrap_or(self.now);
        let window = (self.window_open.unwrap_or(close), close);
        self.endpoints.close_all(&self.tcp, &mut self.table, &mut self.counters, self.now);
        self.counters.in_flight = self.pool.in_use() as u64;
        self.counters.peak_packets = self.pool.high_water() as u64;
        self.counters.peak_flows = self.endpoints.peak() as u64;
        let length = window.1.since(window.0).0 as f64;
        let ports = (0..self.ports.len()).map(|at| self.port_row(at as u32, length)).collect();
        let mut probes = std::mem::take(&mut self.probes);
        probes.iter_mut().for_each(|probe| probe.settle(self.now));
        let probes = probes.into_iter().map(|probe| self.series(probe)).collect();
        let early = self.table.start_ps.partition_point(|start| *start < self.warmup.end.0);
        let not_started = self.source.total().map(|all| all - self.table.len() as u64);
        Output {
            not_started,
            flows: self.table,
            ports,
            probes,
            counters: self.counters,
            table_use: self.table_use,
            trace_hash: self.trace_hash,
            end: self.now,
            window,
            delivered_in_window: self.window_bytes,
            warmup: Warmup { flows: early as u64, ..self.warmup },
        }
    }

    fn port_row(&self, at: u32, window: f64) -> PortRow {
        let port = &self.ports[at as usize];
        let stats = &port.stats;
        let over_window = |x: i128| if window > 0.0 { x as f64 / window } else { 0.0 };
        let left = stats.left.max(1) as f64;
        PortRow {
            name: self.graph.port_name(at),
            rate_bps: port.rate.0,
            packets: stats.packets,
            bytes: stats.bytes,
            marks: stats.marks,
            drops: stats.drops,
            lost: stats.lost,
            utilisation: over_window(i128::from(stats.busy)),
            queue_mean_packets: over_window(stats.waited),
            queue_mean_bytes: over_window(stats.byte_waited),
            queue_p99_packets: stats.length_quantile(0.99).unwrap_or(0.0),
            queue_max_packets: stats.max_packets,
            delay_mean_ps: stats.total_wait as f64 / left,
            delay_p99_ps: stats.delay_quantile_ps(0.99).unwrap_or(0.0),
        }
    }

    fn series(&self, probe: Probe) -> Series {
        let Probe { kind, name, targets, times, which, first, second, numbers, busy, .. } = probe;
        let time = ("time_ps", Column::U64(times));
        let mut names = Vec::new();
        let place = |at| targets.iter().position(|t| *t == at).unwrap_or(0) as u32;
        let index = |which: Vec<u32>| Column::Index(which.into_iter().map(place).collect());
        let mut port_column = |which| {
            names = targets.iter().map(|at| self.graph.port_name(*at)).collect();
            ("port", index(which))
        };
        let high = |v: &[u64]| v.iter().map(|x| (x >> 32) as u32).collect();
        let low = |v: &[u64]| v.iter().map(|x| *x as u32).collect();
        let (kind, columns) = match kind {
            ProbeKind::Queue => (
                "queue",
                vec![
                    time,
                    port_column(which),
                    ("packets", Column::U64(first)),
                    ("bytes", Column::U64(second)),
                ],
            ),
            ProbeKind::Utilisation => (
                "utilisation",
                vec![time, port_column(which), ("utilisation", Column::F64(numbers))],
            ),
            ProbeKind::Window => (
                "window",
                vec![time, ("flow", Column::U32(which)), ("window_bytes", Column::U64(first))],
            ),
            ProbeKind::State => (
                "state",
                vec![
                    time,
                    ("switch", index(which)),
                    ("bytes", Column::U64(first)),
                    ("slots", Column::U32(high(&second))),
                    ("occupied", Column::U32(low(&second))),
                    ("flows", Column::U32(high(&busy))),
                    ("sharing", Column::U32(low(&busy))),
                    ("information_age_ps", Column::F64(numbers)),
                ],
            ),
            ProbeKind::Packets => (
                "packets",
                vec![
                    time,
                    port_column(which),
                    ("flow", Column::U32(high(&first))),
                    ("segment", Column::U32(low(&first))),
                    ("size", Column::U32(high(&second))),
                    ("flags", Column::U32(second.iter().map(|x| (x >> 8) as u32 & 0xff).collect())),
                    ("ecn", Column::U32(second.iter().map(|x| *x as u32 & 0xff).collect())),
                    ("waited_ps", Column::U64(busy)),
                ],
            ),
        };
        if kind == "state" {
            let name = |id: &u32| self.graph.switches[*id as usize].name.clone();
            names = targets.iter().map(name).collect();
        }
        Series { name, kind, ports: names, columns }
    }
}

impl crate::port::Port {
    /// Time for which the line has been sending since the start of the run, up to `now`.
    fn sent_until(&mut self, now: Time) -> u64 {
        let ahead = match &self.store {
            Store::Fifo(fifo) => fifo.residual_work(now),
            Store::General(general) => general.busy_until.since(now),
        };
        self.line_time - ahead.0
    }
}
