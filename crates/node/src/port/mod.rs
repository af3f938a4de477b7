//! Ports: a queue, a line, and the packets between.

mod fifo;
mod general;
mod histogram;
mod pause;
mod scheduler;
mod stats;

pub use fifo::FifoPort;
pub use general::{Asks, GeneralPort, Queued};
pub(crate) use general::{Direct, Stay};
pub use pause::Pauses;
pub use scheduler::Scheduler;
pub(crate) use scheduler::Turn;
pub use stats::{PortStats, Signals};

use leafspine_core::{PortId, Rate, Rng, Span, Time};
use leafspine_schemes::aqm::{self, Aqm, EcnThreshold};
use leafspine_schemes::{Amount, Backlog, Load, Ports, QueueView, side_by_side};

/// How a port keeps what waits.
pub enum Store {
    /// One event a packet.
    Fifo(FifoPort),
    /// Real queues.
    General(Box<GeneralPort>),
}

impl Store {
    /// The general port that the caller knows this one to be.
    #[inline]
    pub fn general(&mut self) -> &mut GeneralPort {
        let Store::General(general) = self else { unreachable!("the caller has looked") };
        general
    }
}

/// Who decides about packets that ask to be queued.
pub enum Manager {
    /// The buffer's limit alone.
    DropTail,
    /// The port's own, the most common one.
    Threshold(EcnThreshold),
    /// The port's own.
    Own(Box<dyn Aqm>),
    /// The switch's balancer.
    Balancer,
}

impl Manager {
    /// A port's own manager.
    #[must_use]
    pub fn own(aqm: Box<dyn Aqm>) -> Manager {
        match aqm.as_threshold() {
            Some(threshold) => Manager::Threshold(threshold),
            None => Manager::Own(aqm),
        }
    }

    /// The port's own, if it has one.
    #[must_use]
    pub fn get(&self) -> Option<&dyn Aqm> {
        match self {
            Manager::DropTail | Manager::Balancer => None,
            Manager::Threshold(threshold) => Some(threshold),
            Manager::Own(aqm) => Some(aqm.as_ref()),
        }
    }
}

impl Manager {
    fn needs(&self) -> aqm::Needs {
        self.get().map(|aqm| aqm.needs()).unwrap_or_default()
    }

    /// When it is asked of packets, at a general port. A balancer's manager is asked whether it wants to be.
    #[must_use]
    pub fn asks(&self) -> Asks {
        let needs = self.needs();
        let at_release = needs.release || matches!(self, Manager::Balancer);
        Asks {
            at_release,
            admits_idle: !needs.passes_idle && !matches!(self, Manager::DropTail),
            releases_idle: at_release && !needs.sends_idle,
        }
    }

    /// Where fewer bytes wait at a plain port it takes what comes, unasked.
    #[must_use]
    pub fn passes_below(&self) -> u32 {
        self.needs().passes_below
    }
}

/// How much may wait at a port: packets and bytes, or what the switch's shared buffer admits. Both numbers
/// are compared for every packet, which takes no branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// [`Limit::BY_SHARED`] where the shared buffer decides.
    packets: u32,
    bytes: u32,
}

impl Limit {
    /// So many packets wait nowhere.
    const BY_SHARED: u32 = u32::MAX;
    /// No limit.
    pub const NONE: Limit = Limit { packets: Limit::BY_SHARED - 1, bytes: u32::MAX };
    /// A share of the switch's free buffer.
    pub const SHARED: Limit = Limit { packets: Limit::BY_SHARED, ..Limit::NONE };

    /// So many packets.
    #[must_use]
    pub fn packets(packets: u32) -> Limit {
        Limit { packets: packets.min(Limit::NONE.packets), ..Limit::NONE }
    }

    /// A port's own buffer; of bytes at most what a backlog counts.
    #[must_use]
    pub fn of(buffer: Amount) -> Limit {
        match buffer {
            Amount::Packets(n) => Limit::packets(n),
            Amount::Bytes(n) => {
                Limit { bytes: u32::try_from(n).unwrap_or(u32::MAX), ..Limit::NONE }
            }
        }
    }

    /// Whether the switch's shared buffer decides.
    #[inline]
    #[must_use]
    pub fn is_shared(self) -> bool {
        self.packets == Limit::BY_SHARED
    }

    /// Whether a packet of `size` bytes still fits behind `backlog`.
    #[inline]
    pub fn admits(self, backlog: Backlog, size: u32) -> bool {
        (backlog.packets < self.packets) & (backlog.bytes.saturating_add(size) <= self.bytes)
    }

    /// Whether more waits than may.
    fn is_exceeded(self, backlog: Backlog) -> bool {
        backlog.packets > self.packets || backlog.bytes > self.bytes
    }
}

/// One end of a link: what sends into it. The order of the fields is that of their use: what every
/// packet touches fills the first two cache lines, what is counted of every packet the third, and what
/// is counted of those that wait the fourth.
#[repr(C, align(64))]
pub struct Port {
    /// What waits.
    pub store: Store,
    /// Propagation delay of the link.
    pub delay: Span,
    /// How much may wait.
    pub limit: Limit,
    /// Who decides about what asks to be queued.
    pub manager: Manager,
    /// What the driver calls its link.
    pub link: u32,
    /// The port's number at its switch or host.
    pub local: PortId,
    /// Whether departures need more than scheduling: loss, a balancer that is told, a probe,
    /// a link that changes.
    pub special: bool,
    /// Whether the link is up.
    pub up: bool,
    /// Time the line has been given work for since the start of the run.
    pub line_time: u64,
    /// Rate of the link.
    pub rate: Rate,
    /// What is counted while ports are measured.
    pub stats: PortStats,
    /// The queue manager's random stream.
    pub rng: Rng,
    /// Random loss on the link, if it ever has any.
    pub loss: Option<Box<Lossy>>,
    /// Of links that ever change: when the last packet sent arrives.
    pub last_arrival: Option<Time>,
    /// The `packets` probes that watch this port.
    pub watched: Vec<u16>,
    /// Whether what it sends is captured.
    pub tapped: bool,
}

/// Random loss on a link, drawn from the link's own stream.
pub struct Lossy {
    /// Of each packet.
    pub probability: f64,
    /// The link's random stream.
    pub rng: Rng,
}

/// Packets and bytes that something counts, and those that really wait.
fn miscount(who: &str, counted: (u64, u64), waits: (u64, u64)) -> String {
    format!(
        "{who} counts {} packets and {} bytes waiting, but {} packets and {} bytes do",
        counted.0, counted.1, waits.0, waits.1
    )
}

impl Port {
    /// Service queues.
    #[inline]
    pub(crate) fn queues(&self) -> usize {
        match &self.store {
            Store::Fifo(_) => 1,
            Store::General(general) => general.queues(),
        }
    }

    /// What its manager is shown of a service queue in which `this` waits, and `port_total` in all.
    #[inline]
    pub(crate) fn view(&self, queue: u8, this: Backlog, port_total: Backlog) -> QueueView {
        QueueView { port: self.local, queue, this, port_total, rate: self.rate }
    }

    /// A packet that would arrive at `time` enters the wire. Returns when it does arrive: a delay
    /// that has just become shorter must not let packets overtake on the same link.
    #[inline]
    pub(crate) fn arrival(&mut self, time: Time) -> Time {
        let Some(last) = &mut self.last_arrival else { return time };
        *last = time.max(*last + Span(1));
        *last
    }

    /// Time for which the line has been sending since the start of the run, up to `now`.
    pub fn sent_until(&mut self, now: Time) -> u64 {
        let ahead = match &self.store {
            Store::Fifo(fifo) => fifo.residual_work(now),
            Store::General(general) => general.busy_until.since(now),
        };
        self.line_time - ahead.0
    }

    /// Time for which some priority has been paused since the start of the run, and how many pauses have begun.
    #[must_use]
    pub fn paused_until(&self, now: Time) -> (Span, u64) {
        match &self.store {
            Store::General(general) => {
                general.pauses().map_or((Span::ZERO, 0), |pauses| (pauses.time(now), pauses.count))
            }
            Store::Fifo(_) => (Span::ZERO, 0),
        }
    }

    /// Its pauses, in runs with flow control.
    #[must_use]
    pub fn pauses(&self) -> Option<&Pauses> {
        match &self.store {
            Store::General(general) => general.pauses(),
            Store::Fifo(_) => None,
        }
    }

    /// What waits now.
    #[inline]
    pub fn backlog(&mut self, now: Time) -> Backlog {
        match &mut self.store {
            Store::Fifo(fifo) => fifo.backlog(now),
            Store::General(general) => general.backlog(now),
        }
    }

    /// Bytes that wait now.
    #[inline(always)]
    fn waiting_bytes(&mut self, now: Time) -> u32 {
        match &mut self.store {
            Store::Fifo(fifo) => fifo.backlog(now).bytes,
            Store::General(general) => general.waiting_bytes(),
        }
    }

    /// Packets that wait.
    pub fn waiting(&self, now: Time) -> u32 {
        match &self.store {
            Store::Fifo(fifo) => fifo.waiting(now),
            Store::General(general) => general.backlog(now).packets,
        }
    }

    /// What is wrong with its queues, if anything is. `headers`: the queue of trimmed packets,
    /// which has a limit of its own, where there is one.
    pub fn wrong(&mut self, now: Time, headers: Option<(usize, u64)>) -> Option<String> {
        let wrong = match &self.store {
            Store::Fifo(fifo) => fifo.wrong(),
            Store::General(general) => general.wrong(),
        };
        let mut backlog = self.backlog(now);
        let mut headers_over = false;
        if let (Some((queue, most)), Store::General(general)) = (headers, &self.store) {
            let own = general.queue(queue, now);
            headers_over = u64::from(own.bytes) > most;
            backlog.packets -= own.packets;
            backlog.bytes -= own.bytes;
        }
        wrong.or_else(|| {
            if headers_over {
                return Some("more headers wait than their queue may have".to_owned());
            }
            let over = self.limit.is_exceeded(backlog);
            let (packets, bytes) = (backlog.packets, backlog.bytes);
            over.then(|| {
                format!("{packets} packets and {bytes} bytes wait in a buffer of {:?}", self.limit)
            })
        })
    }

    /// Counts the delays of packets that wait when the run is cut, as the one-event port has done
    /// already: each as if nothing came after it. Leaves the queues empty.
    pub fn settle_delays(&mut self, now: Time) {
        let Store::General(general) = &mut self.store else { return };
        general.ignore_pauses();
        let mut start = general.busy_until.max(now);
        while let (Some(queue), _) = general.choose(start) {
            let packet = general.take(queue);
            if packet.counted {
                self.stats.delayed(start - packet.since);
            }
            start += general.pace.take(packet.size());
        }
    }

    /// Puts the part of each waiting packet's wait that lies after `now` into (`sign` 1: the window
    /// opens) or out of (`sign` -1: it closes) the statistics; likewise the line's work.
    pub fn cut_window(&mut self, now: Time, sign: i128) {
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
                if let Some(pauses) = general.pauses() {
                    stats.paused -= sign as i64 * pauses.time(now).0 as i64;
                    stats.pauses -= sign as i64 * pauses.count as i64;
                }
                if let Some(pauses) = general.pauses_mut() {
                    pauses.cut_window(now, sign as i64);
                }
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

    fn loads(&mut self, ports: &[PortId], found: &mut Vec<Load>) {
        found.clear();
        let load = |port: &mut Port| Load { bytes: port.waiting_bytes(self.now), rate: port.rate };
        match side_by_side(ports) {
            Some(range) => found.extend(self.ports[range].iter_mut().map(load)),
            None => found.extend(ports.iter().map(|at| load(&mut self.ports[usize::from(at.0)]))),
        }
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
    fn the_hot_fields_fill_cache_lines() {
        assert_eq!(size_of::<Store>(), 64);
        assert_eq!(std::mem::offset_of!(Port, delay), 64);
        assert_eq!(std::mem::offset_of!(Port, stats), 128);
        assert_eq!(std::mem::offset_of!(PortStats, total_wait), 64);
    }
}
