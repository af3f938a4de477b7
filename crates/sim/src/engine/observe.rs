//! Looking on: the measurement window, how flows share tables, and what a run leaves behind. Nothing
//! here changes what packets do.

use super::Simulation;
use super::agenda::Item;
use crate::output::{Output, PortRow, Warmup};
use crate::spec::Window;
use leafspine_core::{Flags, HostId, PacketMeta, SwitchId, Time, TorId};
use leafspine_node::{Class, Key, Port, Switch};
use std::sync::Arc;

/// When ports are measured.
pub(super) struct Measurement {
    pub(super) window: Window,
    pub(super) open: Option<Time>,
    pub(super) close: Option<Time>,
    /// Payload that applications had when the window opened; what they got in it once it is closed.
    pub(super) bytes: u64,
    /// What starts before `warmup.end` is in no statistic.
    pub(super) warmup: Warmup,
}

impl Measurement {
    pub(super) fn new(window: Window, warmup: Time) -> Measurement {
        let warmup = Warmup { end: warmup, ..Warmup::default() };
        Measurement { window, open: None, close: None, bytes: 0, warmup }
    }
}

impl Simulation {
    pub(super) fn start_observing(&mut self) {
        match self.measurement.window {
            Window::All | Window::Between(Time::ZERO, _) => self.move_window(true),
            Window::Between(from, _) => self.schedule_window(from, Item::Open),
            Window::Arrivals => {}
        }
        if let Window::Between(_, to) = self.measurement.window {
            self.schedule_window(to, Item::Close);
        }
        let warmup = self.measurement.warmup.end;
        if warmup > Time::ZERO {
            self.schedule_window(warmup, Item::Warm);
        }
        self.start_probes();
        self.start_recovery();
        if let Some(operations) = &self.flows.operations {
            self.expect_jobs(operations.first_start());
        }
    }

    /// When the first job starts, the window of arrivals opens, or when the warm-up ends; it stays open
    /// to the end of the run.
    fn expect_jobs(&mut self, start: Time) {
        if self.measurement.window != Window::Arrivals {
            return;
        }
        if start < self.measurement.warmup.end {
            self.schedule_window(self.measurement.warmup.end, Item::Open);
        } else {
            self.agenda.add((start, Key::new(Class::FlowStart, 0)), Item::Open);
        }
    }

    fn schedule_window(&mut self, at: Time, what: Item) {
        // At one instant: it opens, closes, the warm-up ends.
        let order = match what {
            Item::Open => 0,
            Item::Close => 1,
            _ => 2,
        };
        self.agenda.add((at, Key::new(Class::Window, order)), what);
    }

    /// The first flow starts: the window of arrivals opens, or will when the warm-up ends.
    pub(super) fn first_flow(&mut self, now: Time) {
        if self.measurement.window != Window::Arrivals {
            return;
        }
        if now < self.measurement.warmup.end {
            self.schedule_window(self.measurement.warmup.end, Item::Open);
        } else {
            self.now = now;
            self.move_window(true);
        }
    }

    /// The last flow has started: the window of arrivals closes. If all flows (or all after the
    /// warm-up) started at one instant it stays open to the end of the run.
    pub(super) fn source_exhausted(&mut self) {
        if self.measurement.window == Window::Arrivals
            && self.flows.operations.is_none()
            && self.net.measuring
            && self.measurement.open.is_some_and(|open| self.now > open)
        {
            self.move_window(false);
        }
    }

    /// The warm-up is over: what has been counted so far is no part of the statistics.
    pub(super) fn end_warmup(&mut self) {
        let counters = self.driver.counters();
        self.measurement.warmup = Warmup {
            dropped: counters.dropped.iter().sum(),
            lost: counters.lost,
            marks: counters.marks,
            data_packets: counters.data_packets,
            ..self.measurement.warmup
        };
    }

    pub(super) fn move_window(&mut self, open: bool) {
        if open == self.net.measuring {
            return;
        }
        Arc::make_mut(&mut self.net).measuring = open;
        let measurement = &mut self.measurement;
        measurement.bytes = self.driver.counters().bytes_delivered - measurement.bytes;
        for at in 0..self.graph.ports.len() as u32 {
            let port = self.driver.port_mut(&self.layout, at);
            port.cut_window(self.now, if open { 1 } else { -1 });
        }
        let edge = if open { &mut measurement.open } else { &mut measurement.close };
        *edge = Some(self.now);
    }

    /// The flows under way that have an entry in a switch's flow table, and how many more they are than
    /// the entries that they have.
    pub(super) fn shared_at(&mut self, switch: SwitchId) -> (u64, u64) {
        let mut entries = std::mem::take(&mut self.entries);
        self.entries_at(switch, &mut entries);
        let flows = entries.len();
        entries.sort_unstable();
        entries.dedup();
        let shared = (flows as u64, (flows - entries.len()) as u64);
        self.entries = entries;
        shared
    }

    /// The entries that the flows under way have at a switch: their data at the source's, what is sent
    /// back at the destination's.
    fn entries_at(&self, switch: SwitchId, entries: &mut Vec<u32>) {
        entries.clear();
        let switch = self.driver.switch(switch);
        let balancer = &switch.chooser().balancer;
        let places = &self.net.places;
        if switch.tor == Switch::NO_TOR {
            return;
        }
        for host in self.graph.hosts_under(TorId(switch.tor)) {
            let host = self.driver.host(&self.layout, HostId(host as u16));
            let data = host.sending.iter().filter(|flow| flow.live);
            let data = data.map(|flow| (flow.tuple, Flags::DATA.with(Flags::ACK)));
            let back = host.receiving.iter().filter(|flow| flow.live);
            let back = back.map(|flow| (flow.tuple.reversed(), Flags::ACK));
            for (tuple, flags) in data.chain(back) {
                if places[usize::from(tuple.dst().0)].tor != switch.tor {
                    let packet = PacketMeta { tuple, flags, ..PacketMeta::default() };
                    entries.extend(balancer.inspect().slot(&packet));
                }
            }
        }
    }

    /// Closes everything and hands it over.
    pub(super) fn into_output(mut self) -> Output {
        if self.net.measuring {
            self.move_window(false);
        }
        let (packets, payload) = self.in_network();
        for at in 0..self.graph.ports.len() as u32 {
            self.driver.port_mut(&self.layout, at).settle_delays(self.now);
        }
        // A window that the run did not reach is empty.
        let close = self.measurement.close.unwrap_or(self.now);
        let window = (self.measurement.open.unwrap_or(close), close);
        self.close_all();
        let mut counters = self.counters();
        (counters.in_flight, counters.payload.in_flight) = (packets, payload);
        counters.peak_packets = self.peak_packets.max(packets);
        let length = window.1.since(window.0).0 as f64;
        self.count_lost();
        let ports =
            (0..self.graph.ports.len() as u32).map(|at| self.port_row(at, length)).collect();
        let mut probes = self.take_series();
        let warmup = self.measurement.warmup;
        let since = window.0.max(warmup.end);
        let recovery = self.recovery.take().map(|recovery| recovery.rows((since, window.1)));
        let (table, jobs) = self.flows.take_tables(&mut probes, self.now);
        counters.peak_flows = self.flows.peak(&table);
        let early = table.start_ps.partition_point(|start| *start < warmup.end.0);
        let not_started = self.flows.not_started(&table);
        let programs = self.take_programs();
        Output {
            not_started,
            flows: table,
            ports,
            priorities: self.priorities,
            probes,
            counters,
            table_use: self.table_use,
            trace_hash: self.driver.trace_hash(self.graph.ports.len()),
            end: self.now,
            window,
            delivered_in_window: self.measurement.bytes,
            warmup: Warmup { flows: early as u64, ..warmup },
            jobs,
            recovery,
            programs,
            deadlock: self.deadlock,
        }
    }

    /// Gives ports the packets that were lost on their links: whoever saw them end is at the far end.
    fn count_lost(&mut self) {
        let mut lost = Vec::new();
        self.driver.each_record(&mut |record| lost.extend(std::mem::take(&mut record.lost_of)));
        for (at, packets) in lost {
            self.driver.port_mut(&self.layout, at).stats.lost += packets;
        }
    }

    fn port_row(&mut self, at: u32, window: f64) -> PortRow {
        let port = self.driver.port_mut(&self.layout, at);
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
            trims: stats.trims,
            utilisation: over_window(i128::from(stats.busy)),
            queue_mean_packets: over_window(stats.waited),
            queue_mean_bytes: over_window(stats.byte_waited),
            queue_p99_packets: stats.length_quantile(0.99).unwrap_or(0.0),
            queue_max_packets: stats.max_packets,
            delay_mean_ps: stats.total_wait as f64 / left,
            delay_p99_ps: stats.delay_quantile_ps(0.99).unwrap_or(0.0),
            pause_ps: stats.paused as u64,
            pauses: stats.pauses as u64,
            own_pauses: self.priorities.iter().map(|n| of_priority(port, *n)).collect(),
            uplink: self.graph.is_uplink(at),
            tier: self.graph.tier(at),
        }
    }
}

/// For how long a priority of a port was paused in the window, ps, and how often.
fn of_priority(port: &Port, priority: u8) -> (u64, u64) {
    port.pauses().map_or((0, 0), |pauses| pauses.in_window(usize::from(priority)))
}
