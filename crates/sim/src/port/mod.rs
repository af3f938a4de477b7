//! Ports: a queue, a line, and the packets between.

mod fifo;
mod general;
mod scheduler;

pub(crate) use fifo::FifoPort;
pub(crate) use general::{GeneralPort, Queued};
pub(crate) use scheduler::{Scheduler, Turn};

use crate::measure::PortStats;
use crate::pool::Handle;
use leafspine_core::{PortId, Rate, Rng, Span, Time};
use leafspine_schemes::aqm::Aqm;
use leafspine_schemes::{Amount, Backlog, Ports};
use std::collections::VecDeque;

/// How a port keeps what waits.
pub(crate) enum Store {
    /// One event a packet.
    Fifo(FifoPort),
    /// Real queues.
    General(GeneralPort),
}

impl Store {
    /// The general port that the caller knows this one to be.
    #[inline]
    pub(crate) fn general(&mut self) -> &mut GeneralPort {
        let Store::General(general) = self else { unreachable!("the caller has looked") };
        general
    }
}

/// Who decides about packets that ask to be queued.
pub(crate) enum Manager {
    /// Nobody: the buffer's limit alone.
    DropTail,
    /// The port's own.
    Own(Box<dyn Aqm>),
    /// The switch's balancer.
    Balancer,
}

/// How much a port may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    /// No limit.
    None,
    /// So many packets waiting.
    Packets(u32),
    /// So many bytes waiting, at most what a backlog counts.
    Bytes(u32),
    /// A share of the switch's free buffer.
    Shared,
}

impl Limit {
    pub(crate) fn of(buffer: Amount) -> Limit {
        match buffer {
            Amount::Packets(n) => Limit::Packets(n),
            Amount::Bytes(n) => Limit::Bytes(u32::try_from(n).unwrap_or(u32::MAX)),
        }
    }

    /// Whether a packet of `size` bytes still fits behind `backlog`.
    #[inline]
    pub(crate) fn admits(self, backlog: Backlog, size: u32) -> bool {
        match self {
            Limit::None | Limit::Shared => true,
            Limit::Packets(n) => backlog.packets < n,
            Limit::Bytes(n) => u64::from(backlog.bytes) + u64::from(size) <= u64::from(n),
        }
    }
}

/// One end of a link: what sends into it. The order of the fields is that of their use: what every
/// packet touches fills the first two cache lines, what is counted of every packet the third.
#[repr(C, align(64))]
pub(crate) struct Port {
    pub(crate) store: Store,
    pub(crate) delay: Span,
    pub(crate) limit: Limit,
    pub(crate) manager: Manager,
    /// The switch that owns the port; `NO_SWITCH` for hosts' ports.
    pub(crate) switch: u16,
    /// The port's number there.
    pub(crate) local: PortId,
    /// Whether departures need more than scheduling: loss, a balancer that is told, a probe,
    /// a link that changes.
    pub(crate) special: bool,
    pub(crate) up: bool,
    /// Whether the switch has an ingress hold, which is told of the backlog.
    pub(crate) has_hold: bool,
    pub(crate) rate: Rate,
    pub(crate) stats: PortStats,
    /// Time the line has been given work for since the start of the run.
    pub(crate) line_time: u64,
    pub(crate) rng: Rng,
    pub(crate) loss: Option<Box<Lossy>>,
    /// Kept only for links that ever change.
    pub(crate) wire: Option<Box<OnWire>>,
    /// The `packets` probes that watch this port.
    pub(crate) watched: Vec<u16>,
}

/// Random loss on a link, drawn from the link's own stream.
pub(crate) struct Lossy {
    pub(crate) probability: f64,
    pub(crate) rng: Rng,
}

/// What is on the wire of a link that may change.
#[derive(Debug, Default)]
pub(crate) struct OnWire {
    /// Oldest first.
    pub(crate) packets: VecDeque<Handle>,
    last_arrival: Time,
}

impl OnWire {
    /// A packet that would arrive at `time` enters the wire. Returns when it does arrive: a delay
    /// that has just become shorter must not let packets overtake on the same link.
    pub(crate) fn enter(&mut self, handle: Handle, time: Time) -> Time {
        self.packets.push_back(handle);
        self.last_arrival = time.max(self.last_arrival + Span(1));
        self.last_arrival
    }
}

/// Packets and bytes that something counts, and those that really wait.
fn miscount(who: &str, counted: (u64, u64), waits: (u64, u64)) -> String {
    format!(
        "{who} counts {} packets and {} bytes waiting, but {} packets and {} bytes do",
        counted.0, counted.1, waits.0, waits.1
    )
}

/// `Port::switch` of a host's port.
pub(crate) const NO_SWITCH: u16 = u16::MAX;

impl Port {
    #[inline]
    pub(crate) fn backlog(&mut self, now: Time) -> Backlog {
        match &mut self.store {
            Store::Fifo(fifo) => fifo.backlog(now),
            Store::General(general) => general.backlog(now),
        }
    }

    /// Packets that wait.
    pub(crate) fn waiting(&self, now: Time) -> u32 {
        match &self.store {
            Store::Fifo(fifo) => fifo.waiting(now),
            Store::General(general) => general.backlog(now).packets,
        }
    }

    /// What is wrong with its queues, if anything is.
    pub(crate) fn wrong(&mut self, now: Time) -> Option<String> {
        let wrong = match &self.store {
            Store::Fifo(fifo) => fifo.wrong(),
            Store::General(general) => general.wrong(),
        };
        let backlog = self.backlog(now);
        wrong.or_else(|| {
            let over = match self.limit {
                Limit::None | Limit::Shared => false,
                Limit::Packets(n) => backlog.packets > n,
                Limit::Bytes(n) => backlog.bytes > n,
            };
            let (packets, bytes) = (backlog.packets, backlog.bytes);
            over.then(|| {
                format!("{packets} packets and {bytes} bytes wait in a buffer of {:?}", self.limit)
            })
        })
    }

    /// Counts the delays of packets that wait when the run is cut, as the one-event port has done
    /// already: each as if nothing came after it. Leaves the queues empty.
    pub(crate) fn settle_delays(&mut self, now: Time) {
        let Store::General(general) = &mut self.store else { return };
        let mut start = general.busy_until.max(now);
        while let (Some((_, packet)), _) = general.pop(start) {
            if packet.counted() {
                self.stats.delayed(start - packet.since);
            }
            start += general.pace.take(packet.size());
        }
    }

    /// Puts the part of each waiting packet's wait that lies after `now` into (`sign` 1: the window
    /// opens) or out of (`sign` -1: it closes) the statistics; likewise the line's work.
    pub(crate) fn cut_window(&mut self, now: Time, sign: i128) {
        let (stats, work) = (&mut self.stats, &mut self.store);
        match work {
            Store::Fifo(fifo) => {
                stats.busy += sign as i64 * fifo.residual_work(now).0 as i64;
                for (size, wait) in fifo.residual_waits(now) {
                    stats.correct(size, -sign * i128::from(wait.0));
                }
            }
            // Its packets are counted when they leave: those that wait have added nothing yet, so
            // what lies before the edge is taken out when it opens, and put in when it closes.
            Store::General(general) => {
                stats.busy += sign as i64 * general.busy_until.since(now).0 as i64;
                for packet in general.waiting() {
                    stats.correct(packet.size(), sign * i128::from((now - packet.since).0));
                }
            }
        }
    }
}

/// A switch's ports as its schemes see them.
pub(crate) struct SwitchPorts<'a> {
    pub(crate) ports: &'a mut [Port],
    pub(crate) now: Time,
}

impl SwitchPorts<'_> {
    #[inline]
    fn at(&self, port: PortId) -> &Port {
        &self.ports[usize::from(port.0)]
    }
}

impl Ports for SwitchPorts<'_> {
    #[inline]
    fn backlog(&mut self, port: PortId) -> Backlog {
        self.ports[usize::from(port.0)].backlog(self.now)
    }

    fn queue(&mut self, port: PortId, queue: u8) -> Backlog {
        match &mut self.ports[usize::from(port.0)].store {
            Store::Fifo(fifo) => fifo.backlog(self.now),
            Store::General(general) => general.queue(usize::from(queue), self.now),
        }
    }

    fn free_at(&mut self, port: PortId) -> Time {
        match &self.ports[usize::from(port.0)].store {
            Store::Fifo(fifo) => fifo.free_at(self.now),
            Store::General(general) => general.free_at(self.now),
        }
    }

    fn rate(&self, port: PortId) -> Rate {
        self.at(port).rate
    }

    #[inline]
    fn line(&mut self, port: PortId) -> (Backlog, Rate) {
        let port = &mut self.ports[usize::from(port.0)];
        (port.backlog(self.now), port.rate)
    }

    fn delay(&self, port: PortId) -> Span {
        self.at(port).delay
    }

    fn is_up(&self, port: PortId) -> bool {
        self.at(port).up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a field pushes what every packet touches out of the first two cache lines, or what
    /// is counted of every packet out of the third.
    #[test]
    fn the_hot_fields_fill_three_cache_lines() {
        assert!(std::mem::offset_of!(Port, rate) <= 128);
        assert!(std::mem::offset_of!(Port, stats) <= 144);
    }
}
