//! The port table (§2.8, Table 3): what goes out by each port of the switch.

use crate::{Amount, Backlog, PortInfo};
use leafspine_core::{PortId, Rate, Span, Time};

/// One port's line of the table. Its first column, the time of the last update, is the flow
/// table's: all ports are refreshed together.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortState {
    /// Column 2: long flows that have sent by this port since the refresh before the last.
    pub(super) active: u32,
    /// Column 3: long flows that the port is remembered for, idle ones included.
    pub(super) total: u32,
    /// Columns 4 and 5: a short flow uses the port until one RTT after its last packet arrived.
    short_until: Time,
    /// The rate that the thresholds stand for.
    rate: Rate,
    /// k*, in bytes that wait.
    long_threshold: u32,
    /// K, in what waits.
    short_threshold: Amount,
}

/// How a port's thresholds follow from its rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thresholds {
    /// The RTT of k* = C x RTT / 7.
    pub(super) rtt: Span,
    /// Its 7.
    pub(super) divisor: u64,
    /// K, if it does not follow the rate.
    pub(super) short: Option<Amount>,
}

/// From this rate on, K is DCTCP's for 10 Gb/s (and the flowlet gap the shorter one).
pub(super) const FAST: Rate = Rate::from_gbps(10);

impl Thresholds {
    /// k* = C x RTT / 7 (§2.3).
    pub(super) fn long(&self, rate: Rate) -> u32 {
        u32::try_from(rate.bytes_in(self.rtt).0 / self.divisor).unwrap_or(u32::MAX)
    }

    /// K at a port of this rate.
    pub(super) fn short(&self, rate: Rate) -> Amount {
        short_threshold(self.short, rate)
    }
}

/// K if it is given; else DCTCP's: 20 packets at 1 Gb/s and 65 at 10 Gb/s are its own paper's (SIGCOMM
/// 2010, §3.5).
pub(super) fn short_threshold(given: Option<Amount>, rate: Rate) -> Amount {
    let by_rate = if rate >= FAST { Amount::Packets(65) } else { Amount::Packets(20) };
    given.unwrap_or(by_rate)
}

impl PortState {
    /// Whether a short flow is active here (column 5).
    #[inline]
    pub(super) fn has_short(&self, now: Time) -> bool {
        now < self.short_until
    }

    /// Whether a long packet finds k* reached.
    #[inline]
    pub(super) fn long_reached(&self, backlog: Backlog) -> bool {
        backlog.bytes >= self.long_threshold
    }

    /// Whether a short packet finds K reached.
    #[inline]
    pub(super) fn short_reached(&self, backlog: Backlog) -> bool {
        self.short_threshold.reached_by(backlog.packets, backlog.bytes)
    }
}

/// All ports of the switch.
#[derive(Debug)]
pub(super) struct PortTable {
    pub(super) ports: Vec<PortState>,
    pub(super) thresholds: Thresholds,
}

impl PortTable {
    pub(super) fn new(ports: &[PortInfo], thresholds: Thresholds) -> PortTable {
        let port = |info: &PortInfo| PortState {
            active: 0,
            total: 0,
            short_until: Time::ZERO,
            rate: info.rate,
            long_threshold: thresholds.long(info.rate),
            short_threshold: thresholds.short(info.rate),
        };
        PortTable { ports: ports.iter().map(port).collect(), thresholds }
    }

    #[inline]
    pub(super) fn of(&mut self, port: PortId) -> &mut PortState {
        &mut self.ports[usize::from(port.0)]
    }

    /// The port's line, its thresholds those of `rate`: links change.
    #[inline]
    pub(super) fn at_rate(&mut self, port: PortId, rate: Rate) -> &mut PortState {
        let line = &mut self.ports[usize::from(port.0)];
        if line.rate != rate {
            line.rate = rate;
            line.long_threshold = self.thresholds.long(rate);
            line.short_threshold = self.thresholds.short(rate);
        }
        line
    }

    /// A short packet is sent by `port`.
    #[inline]
    pub(super) fn short_passes(&mut self, port: PortId, now: Time) {
        self.ports[usize::from(port.0)].short_until = now + self.thresholds.rtt;
    }
}
