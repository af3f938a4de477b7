//! Looking on: the measurement window, how flows share tables, and what a run leaves behind. Nothing
//! here changes what packets do.

use super::Simulation;
use crate::calendar::{Class, Key};
use crate::output::{Output, PortRow, Warmup};
use crate::spec::Window;
use leafspine_core::{HostId, Time};

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
        self.start_probes();
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
    pub(super) fn shared_at(&mut self, switch: u32) -> (u64, u64) {
        let state = &self.switches[switch as usize];
        let entries = &mut self.entries;
        self.endpoints.slots_at(state.tor, state.balancer.as_ref(), &self.places, entries);
        let flows = entries.len();
        entries.sort_unstable();
        entries.dedup();
        (flows as u64, (flows - entries.len()) as u64)
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
        let probes = self.take_series();
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
}
