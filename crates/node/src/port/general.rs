//! The general port: real queues, a scheduler, and an event when the line becomes idle.
//!
//! It serves what the one-event port cannot: several service queues, decisions at dequeue, shared
//! buffers, links that change, ingress holds.

use super::pause::{Begins, Pauses};
use super::scheduler::{Backlogged, Scheduler, Turn};
use crate::pfc::PRIORITIES;
use crate::prefetch::prefetch;
use crate::spec::WatchdogAction;
use leafspine_core::{Flags, Pace, PacketMeta, Span, Time};
use leafspine_schemes::Backlog;
use std::collections::VecDeque;

/// A packet in a queue.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    /// Since when it waits.
    pub since: Time,
    /// Whether it was accepted while the measurement window was open.
    pub counted: bool,
    /// Its service queue; where it came in it is counted for the priority of this number.
    pub queue: u8,
    /// The port by which it came in, where that counts it ([`NO_INGRESS`](crate::pfc::NO_INGRESS): nowhere).
    pub from: u16,
    /// The packet.
    pub packet: PacketMeta,
}

/// Since when a packet is at a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stay {
    /// It came.
    pub(crate) since: Time,
    /// Whether the measurement window was open then.
    pub(crate) counted: bool,
}

impl Queued {
    /// A packet of a service queue that came in by port `from`, if that counts it.
    #[inline]
    #[must_use]
    pub(crate) fn new(stay: Stay, queue: usize, from: u16, packet: PacketMeta) -> Queued {
        Queued { since: stay.since, counted: stay.counted, queue: queue as u8, from, packet }
    }

    /// Since when it waits.
    #[inline]
    #[must_use]
    pub(crate) fn stay(&self) -> Stay {
        Stay { since: self.since, counted: self.counted }
    }

    /// Its bytes on the wire.
    #[inline]
    pub fn size(&self) -> u32 {
        u32::from(self.packet.size)
    }
}

#[derive(Debug, Default)]
struct ServiceQueue {
    packets: VecDeque<Queued>,
    bytes: u32,
}

/// Takes the first packet of a queue. By the next one's turn it would be out of the cache, so it is
/// prefetched; a queue that has become empty begins again at its first place, which the cache has,
/// instead of going round its memory.
#[inline(always)]
fn take_first(packets: &mut VecDeque<Queued>) -> Queued {
    let first = *packets.front().expect("schedulers choose queues with packets");
    packets.pop_front();
    match packets.as_slices().0 {
        [] => packets.clear(),
        waiting => prefetch(waiting, 0),
    }
    first
}

/// What waits, in order.
#[derive(Debug)]
enum Queues {
    /// First in, first out.
    One(VecDeque<Queued>),
    /// Several, and how they share the line.
    Several(Box<ServiceQueues>),
}

/// One cache line.
#[derive(Debug)]
#[repr(align(64))]
struct ServiceQueues {
    backlogged: Backlogged,
    scheduler: Scheduler,
    queues: Box<[ServiceQueue]>,
}

/// Whether a packet that finds the line idle and nothing waiting goes on it as at a one-event port: a link that never
/// changes, no scheme that follows every change of the backlog, no limits but the port's and the shared buffer's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direct {
    /// No.
    No,
    /// Yes, and the manager has no say.
    Unasked,
    /// Yes, after the manager has been asked.
    Asking,
}

/// When a port's manager is asked of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asks {
    /// When they leave.
    pub at_release: bool,
    /// When they come, also where they find the line idle and nothing waiting.
    pub admits_idle: bool,
    /// When they leave, also where they had found that.
    pub releases_idle: bool,
}

impl Asks {
    /// Of every packet, twice.
    pub const ALWAYS: Asks = Asks { at_release: true, admits_idle: true, releases_idle: true };
}

/// See the module's text. Two cache lines: in the first is what a packet needs that finds the line
/// idle, in the second what waits.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct GeneralPort {
    /// When the line has sent what it is sending.
    pub busy_until: Time,
    /// Bytes that it has sent, those of the packet in transmission among them.
    pub(crate) sent: u64,
    /// How long bytes take at the line's rate.
    pub pace: Pace,
    /// Service queues that are paused, a bit each.
    stopped: u64,
    total: Backlog,
    /// Whether an event is pending for `busy_until`.
    pub wake_pending: bool,
    /// When the manager is asked.
    pub(crate) asks: Asks,
    /// Whether it has one queue, and its manager is asked of packets that have to wait and at no other time.
    pub(crate) plain: bool,
    /// What becomes of a packet that finds the line idle and nothing waiting.
    pub(crate) direct: Direct,
    queues: Queues,
    /// In runs with flow control.
    pauses: Option<Box<Pauses>>,
    /// The manager of a plain port is asked of packets that come when as many bytes wait or more.
    pub(crate) admits_from: u32,
}

impl GeneralPort {
    /// An idle port with so many service queues.
    #[must_use]
    pub fn new(pace: Pace, queues: u8, scheduler: Scheduler) -> GeneralPort {
        GeneralPort {
            busy_until: Time::ZERO,
            sent: 0,
            pace,
            wake_pending: false,
            asks: Asks::ALWAYS,
            plain: false,
            direct: Direct::No,
            stopped: 0,
            pauses: None,
            admits_from: 0,
            total: Backlog::default(),
            queues: Queues::new(queues, scheduler),
        }
    }

    /// Service queues.
    #[inline]
    #[must_use]
    pub fn queues(&self) -> usize {
        match &self.queues {
            Queues::One(_) => 1,
            Queues::Several(several) => several.queues.len(),
        }
    }

    /// When its manager is asked; whether nothing but the manager and the scheduler hears of a packet that goes on
    /// an idle line, as at a one-event port.
    pub fn set_asks(&mut self, asks: Asks, direct: bool) {
        self.asks = asks;
        self.direct = match (direct, asks.admits_idle || asks.releases_idle) {
            (false, _) => Direct::No,
            (true, false) => Direct::Unasked,
            (true, true) => Direct::Asking,
        };
        let one = matches!(self.queues, Queues::One(_));
        self.plain = one && self.direct == Direct::Unasked && !asks.at_release;
    }

    /// Of a packet that finds fewer bytes waiting the manager of a plain port is not asked.
    pub fn set_admits_from(&mut self, bytes: u32) {
        self.admits_from = bytes;
    }

    /// Whether anything waits.
    #[inline]
    pub fn has_packets(&self) -> bool {
        self.total.packets > 0
    }

    /// Bytes that wait in all queues.
    #[inline]
    pub(crate) fn waiting_bytes(&self) -> u32 {
        self.total.bytes
    }

    /// What waits in all queues.
    #[inline]
    pub fn backlog(&self, now: Time) -> Backlog {
        let in_service = if now < self.busy_until { self.total.in_service } else { 0 };
        Backlog { in_service, ..self.total }
    }

    /// What waits in one queue. The packet in service is reported with every queue.
    #[inline]
    pub fn queue(&self, queue: usize, now: Time) -> Backlog {
        let total = self.backlog(now);
        match &self.queues {
            Queues::One(_) => total,
            Queues::Several(several) => {
                let own = &several.queues[queue];
                Backlog { packets: own.packets.len() as u32, bytes: own.bytes, ..total }
            }
        }
    }

    /// When the line would have sent all that is queued, at its present rate.
    pub fn free_at(&self, now: Time) -> Time {
        self.busy_until.max(now) + self.pace.ahead(self.total.bytes)
    }

    /// Queues a packet.
    #[inline]
    pub fn push(&mut self, queue: usize, packet: Queued) {
        self.total.packets += 1;
        self.total.bytes += packet.size();
        match &mut self.queues {
            Queues::One(packets) => packets.push_back(packet),
            Queues::Several(several) => several.push(queue, packet),
        }
    }

    /// The queue whose first packet the scheduler would send next, and the turn that ended with this choice.
    #[inline(always)]
    pub fn choose(&mut self, now: Time) -> (Option<usize>, Option<Turn>) {
        match &mut self.queues {
            Queues::One(packets) => {
                let sends = !packets.is_empty() && self.stopped & 1 == 0;
                (sends.then_some(0), None)
            }
            Queues::Several(several) => several.choose(now, self.stopped),
        }
    }

    /// Takes the first packet of the queue that [`GeneralPort::choose`] has just given.
    ///
    /// # Panics
    /// If that is empty.
    #[inline(always)]
    pub fn take(&mut self, queue: usize) -> Queued {
        let taken = match &mut self.queues {
            Queues::One(packets) => take_first(packets),
            Queues::Several(several) => several.take(queue),
        };
        self.total.packets -= 1;
        self.total.bytes -= taken.size();
        taken
    }

    /// Takes the last packet of a queue back, if it has these flags.
    pub(crate) fn take_last(&mut self, queue: usize, flags: Flags) -> Option<Queued> {
        let has = |packet: &mut Queued| packet.packet.flags.has(flags);
        let last = match &mut self.queues {
            Queues::One(packets) => packets.pop_back_if(has),
            Queues::Several(several) => several.take_last(queue, has),
        }?;
        self.total.packets -= 1;
        self.total.bytes -= last.size();
        Some(last)
    }

    /// What [`GeneralPort::push`], `choose` and `take` would do with a packet that finds neither another one nor a busy
    /// line: it is the next, and a turn may end with it.
    #[inline]
    pub fn pass(&mut self, queue: usize, size: u32, now: Time) -> Option<Turn> {
        debug_assert!(self.total.packets == 0 || self.stopped != 0, "an idle line has sent all");
        match &mut self.queues {
            Queues::One(_) => None,
            Queues::Several(several) => several.pass(queue, size, now),
        }
    }

    /// Puts a packet on the line, which must be free. Returns the time it takes.
    #[inline]
    pub fn transmit(&mut self, now: Time, size: u32) -> Span {
        debug_assert!(now >= self.busy_until, "a line sends one packet at a time");
        let span = self.pace.take(size);
        self.busy_until = now + span;
        self.sent += u64::from(size);
        self.total.in_service = size;
        span
    }

    /// Empties all queues (the link has gone down).
    pub fn flush(&mut self) -> Vec<Queued> {
        self.total.packets = 0;
        self.total.bytes = 0;
        match &mut self.queues {
            Queues::One(packets) => packets.drain(..).collect(),
            Queues::Several(several) => several.flush(),
        }
    }

    /// What is wrong with the counts of what waits, if anything is.
    pub fn wrong(&self) -> Option<String> {
        let sum = |packets: &VecDeque<Queued>| {
            let bytes: u64 = packets.iter().map(|packet| u64::from(packet.size())).sum();
            (packets.len() as u64, bytes)
        };
        let waits = match &self.queues {
            Queues::One(packets) => sum(packets),
            Queues::Several(several) => {
                let mut all = (0, 0);
                for (queue, own) in several.queues.iter().enumerate() {
                    let waits = sum(&own.packets);
                    if u64::from(own.bytes) != waits.1 {
                        let counted = (waits.0, u64::from(own.bytes));
                        return Some(super::miscount(&format!("queue {queue}"), counted, waits));
                    }
                    if several.backlogged.has(queue) != (waits.0 > 0) {
                        return Some(format!(
                            "the scheduler is wrong about whether queue {queue} has packets: it has {}",
                            waits.0
                        ));
                    }
                    all = (all.0 + waits.0, all.1 + waits.1);
                }
                all
            }
        };
        let counted = (u64::from(self.total.packets), u64::from(self.total.bytes));
        if counted != waits {
            return Some(super::miscount("the port", counted, waits));
        }
        (self.can_send() && !self.wake_pending)
            .then(|| format!("{} packets wait and nothing will send them", waits.0))
    }

    /// Counts so many packets and bytes too many: for tests of what finds that.
    #[doc(hidden)]
    pub fn miscount(&mut self, packets: u32, bytes: u32) {
        self.total.packets += packets;
        self.total.bytes += bytes;
    }

    /// The packets that wait now, all queues.
    pub fn waiting(&self) -> impl Iterator<Item = &Queued> {
        let (one, several) = match &self.queues {
            Queues::One(packets) => (Some(packets), None),
            Queues::Several(several) => (None, Some(several)),
        };
        let several = several.into_iter().flat_map(|s| s.queues.iter().map(|q| &q.packets));
        one.into_iter().chain(several).flatten()
    }

    /// The same packets, to be changed.
    pub(crate) fn waiting_mut(&mut self) -> impl Iterator<Item = &mut PacketMeta> {
        let (one, several) = match &mut self.queues {
            Queues::One(packets) => (Some(packets), None),
            Queues::Several(several) => (None, Some(several)),
        };
        let several = several.into_iter().flat_map(|s| s.queues.iter_mut().map(|q| &mut q.packets));
        one.into_iter().chain(several).flatten().map(|queued| &mut queued.packet)
    }
}

/// Flow control.
impl GeneralPort {
    /// Whether the far end may pause it.
    pub(crate) fn obey_pauses(&mut self) {
        self.pauses = Some(Box::default());
    }

    /// Its pauses, in runs with flow control.
    #[must_use]
    pub fn pauses(&self) -> Option<&Pauses> {
        self.pauses.as_deref()
    }

    fn change<T>(&mut self, what: impl FnOnce(&mut Pauses) -> T) -> T {
        let pauses = self.pauses.as_mut().expect("a port with flow control");
        let answer = what(pauses);
        self.stopped = pauses.stopped();
        answer
    }

    /// A priority is paused, or its pause renewed.
    pub(crate) fn pause(&mut self, priority: usize, now: Time, until: Time) -> Begins {
        self.change(|pauses| pauses.pause(priority, now, until))
    }

    /// A priority may be sent. Whether it was paused.
    pub(crate) fn resume(&mut self, priority: usize, now: Time) -> bool {
        self.change(|pauses| pauses.resume(priority, now))
    }

    /// When to look again for the end of a priority's pause, if it is not over.
    pub(crate) fn expiry(&mut self, priority: usize, now: Time) -> Option<Time> {
        self.change(|pauses| pauses.expiry(priority, now))
    }

    /// The watchdog gives up on a priority.
    pub(crate) fn begin_storm(&mut self, priority: usize, action: WatchdogAction) {
        self.change(|pauses| pauses.begin_storm(priority, action));
    }

    /// And obeys its pauses again.
    pub(crate) fn end_storm(&mut self, priority: usize) {
        self.change(|pauses| pauses.end_storm(priority));
    }

    /// Whether packets of a queue are not sent for now.
    pub(crate) fn is_stopped(&self, queue: usize) -> bool {
        self.stopped >> queue & 1 == 1
    }

    /// Whether packets of some queue are not sent for now.
    #[inline]
    pub(crate) fn has_stopped(&self) -> bool {
        self.stopped != 0
    }

    /// The same as [`GeneralPort::pauses`], to be changed.
    pub(crate) fn pauses_mut(&mut self) -> Option<&mut Pauses> {
        self.pauses.as_deref_mut()
    }

    /// Whether the watchdog has given up on a priority.
    pub(crate) fn in_storm(&self, priority: usize) -> bool {
        self.pauses().is_some_and(|pauses| pauses.in_storm(priority))
    }

    /// Whether packets of a priority are dropped.
    pub(crate) fn is_stormy(&self, queue: usize) -> bool {
        queue < PRIORITIES && self.pauses().is_some_and(|pauses| pauses.drops(queue))
    }

    /// Whether a priority has not been paused for so long.
    pub(crate) fn is_calm(&self, priority: usize, now: Time, time: Span) -> bool {
        self.pauses().is_some_and(|pauses| pauses.is_calm(priority, now, time))
    }

    /// Since when a priority is paused, if it is.
    #[must_use]
    pub fn paused_since(&self, priority: usize) -> Option<Time> {
        self.pauses().and_then(|pauses| pauses.paused_since(priority))
    }

    /// Whether a packet of this queue would be sent at once.
    #[inline]
    pub(crate) fn is_free_for(&self, queue: usize, now: Time) -> bool {
        !self.wake_pending && now >= self.busy_until && self.stopped >> queue & 1 == 0
    }

    /// Whether a packet of this queue that comes now goes on the line at once, and nothing waits: of schemes the
    /// port's manager alone has to be asked.
    #[inline]
    pub(crate) fn sends_at_once(&self, queue: usize, now: Time) -> bool {
        self.direct != Direct::No && !self.has_packets() && self.is_free_for(queue, now)
    }

    /// Whether something waits that is not paused.
    pub(crate) fn can_send(&self) -> bool {
        match &self.queues {
            Queues::One(packets) => !packets.is_empty() && self.stopped & 1 == 0,
            Queues::Several(several) => !several.backlogged.but(self.stopped).is_empty(),
        }
    }

    /// Takes all packets out of a queue.
    pub(crate) fn empty(&mut self, queue: usize) -> Vec<Queued> {
        let taken: Vec<Queued> = match &mut self.queues {
            Queues::One(packets) => packets.drain(..).collect(),
            Queues::Several(several) => several.empty(queue),
        };
        self.total.packets -= taken.len() as u32;
        self.total.bytes -= taken.iter().map(Queued::size).sum::<u32>();
        taken
    }

    /// Sends what waits whatever is paused: at the end of a run.
    pub(crate) fn ignore_pauses(&mut self) {
        self.stopped = 0;
    }
}

impl Queues {
    fn new(queues: u8, scheduler: Scheduler) -> Queues {
        if queues == 1 && matches!(scheduler, Scheduler::Strict) {
            return Queues::One(VecDeque::new());
        }
        let queues = (0..queues).map(|_| ServiceQueue::default()).collect();
        Queues::Several(Box::new(ServiceQueues {
            backlogged: Backlogged::default(),
            scheduler,
            queues,
        }))
    }
}

impl ServiceQueues {
    fn push(&mut self, queue: usize, packet: Queued) {
        self.backlogged.set(queue);
        let own = &mut self.queues[queue];
        own.packets.push_back(packet);
        own.bytes += packet.size();
    }

    /// Of the queues that are not `stopped`, a bit each.
    #[inline(never)]
    fn choose(&mut self, now: Time, stopped: u64) -> (Option<usize>, Option<Turn>) {
        let queues = &self.queues;
        let size = |q: usize| queues[q].packets.front().map_or(0, |p| p.size());
        self.scheduler.choose(now, self.backlogged.but(stopped), size)
    }

    #[inline(always)]
    fn take(&mut self, queue: usize) -> Queued {
        let own = &mut self.queues[queue];
        let taken = take_first(&mut own.packets);
        own.bytes -= taken.size();
        if own.packets.is_empty() {
            self.backlogged.clear(queue);
        }
        taken
    }

    fn take_last(
        &mut self,
        queue: usize,
        which: impl FnOnce(&mut Queued) -> bool,
    ) -> Option<Queued> {
        let own = &mut self.queues[queue];
        let last = own.packets.pop_back_if(which)?;
        own.bytes -= last.size();
        if own.packets.is_empty() {
            self.backlogged.clear(queue);
        }
        Some(last)
    }

    fn pass(&mut self, queue: usize, size: u32, now: Time) -> Option<Turn> {
        self.scheduler.choose(now, Backlogged::only(queue), |_| size).1
    }

    fn empty(&mut self, queue: usize) -> Vec<Queued> {
        self.backlogged.clear(queue);
        let own = &mut self.queues[queue];
        own.bytes = 0;
        own.packets.drain(..).collect()
    }

    fn flush(&mut self) -> Vec<Queued> {
        self.backlogged = Backlogged::default();
        let mut flushed = Vec::new();
        for queue in &mut self.queues {
            queue.bytes = 0;
            flushed.extend(queue.packets.drain(..));
        }
        flushed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfc::NO_INGRESS;
    use crate::spec::SchedulerKind;
    use leafspine_core::Rate;
    use proptest::prelude::*;

    /// Breaks if a field pushes another into a further cache line.
    #[test]
    fn a_port_is_two_cache_lines() {
        assert_eq!(std::mem::offset_of!(GeneralPort, queues), 64);
        assert_eq!(size_of::<GeneralPort>(), 128);
        assert_eq!(size_of::<ServiceQueues>(), 64);
    }

    fn port(kind: SchedulerKind) -> GeneralPort {
        let scheduler = Scheduler::new(kind, &[3, 1, 2], 1500);
        GeneralPort::new(Pace::new(Rate::from_gbps(10)), 3, scheduler)
    }

    fn pop(port: &mut GeneralPort, now: Time) -> (Option<(usize, Queued)>, Option<Turn>) {
        let (queue, turn) = port.choose(now);
        (queue.map(|queue| (queue, port.take(queue))), turn)
    }

    proptest! {
        /// Breaks if a packet that goes past the empty queues leaves the scheduler anywhere else
        /// than one that is queued and taken at once: later choices and turns would differ.
        #[test]
        fn passing_is_pushing_and_popping(
            kind in prop_oneof![
                Just(SchedulerKind::Wrr), Just(SchedulerKind::Dwrr), Just(SchedulerKind::Strict),
            ],
            steps in proptest::collection::vec((0usize..3, 40u32..6000, 0usize..3), 1..200),
        ) {
            let (mut passing, mut queueing) = (port(kind), port(kind));
            for (step, (queue, size, pops)) in steps.into_iter().enumerate() {
                let now = Time(step as u64);
                let packet = PacketMeta { seq: step as u32, size: size as u16, ..PacketMeta::default() };
                let stay = Stay { since: now, counted: false };
                let packet = Queued::new(stay, queue, NO_INGRESS, packet);
                queueing.push(queue, packet);
                if passing.has_packets() {
                    passing.push(queue, packet);
                } else {
                    let turn = passing.pass(queue, size, now);
                    let (taken, ended) = pop(&mut queueing, now);
                    prop_assert_eq!(taken.map(|(q, p)| (q, p.packet.seq)), Some((queue, step as u32)));
                    prop_assert_eq!(turn, ended);
                }
                for _ in 0..pops {
                    let shown = |port: &mut GeneralPort| {
                        let (taken, turn) = pop(port, now);
                        (taken.map(|(q, p)| (q, p.packet.seq, p.size())), turn, port.backlog(now))
                    };
                    prop_assert_eq!(shown(&mut passing), shown(&mut queueing));
                }
            }
        }
    }
}
