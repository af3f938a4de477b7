//! ConWeave at the destination's ToR: answers, and keeps what has overtaken a TAIL until that has come.

use super::Settings;
use super::header::{CLEAR, Epoch, Header, NOTIFY, REPLY, REQUEST, REROUTED, TAIL, between};
use crate::lb::Arrival;
use leafspine_core::{Ecn, FiveTuple, Flags, PacketMeta, PortId, Span, Time, TorId};
use std::collections::HashMap;

/// A flow whose destination is below this switch, in its present epoch.
#[derive(Clone, Copy, Debug)]
struct Flow {
    epoch: Epoch,
    last: Time,
    /// The TAIL has come, or is no longer waited for.
    tail_came: bool,
    /// The reordering queue that it has.
    queue: Option<u32>,
    /// Of the last packet on the path before the TAIL: when it was sent and when it came.
    old: Option<(u32, Time)>,
}

/// A reordering queue in use.
#[derive(Clone, Copy, Debug)]
struct Paused {
    queue: u32,
    flow: FiveTuple,
    /// When it is resumed without the TAIL, and when that was sent.
    resume_at: Time,
    tail_sent: u32,
    /// The port by which the CLEAR goes back.
    back: PortId,
}

/// The flows that end below this switch, and their reordering queues.
pub(super) struct Destination {
    flows: HashMap<FiveTuple, Flow>,
    sweep_at: usize,
    paused: Vec<Paused>,
    /// Numbers of queues that are free.
    free: Vec<u32>,
    /// Queues that are to go on, and packets that are to be sent.
    resumed: Vec<u32>,
    /// By source's ToR and path: when a NOTIFY was last sent.
    notified: HashMap<(TorId, u8), Time>,
}

/// Packets to send back, each by the port that its cause came by.
type Outbox = Vec<(PortId, PacketMeta)>;

impl Destination {
    pub(super) fn new(queues: u32) -> Destination {
        Destination {
            flows: HashMap::new(),
            sweep_at: 1024,
            paused: Vec::new(),
            free: (0..queues).rev().collect(),
            resumed: Vec::new(),
            notified: HashMap::new(),
        }
    }

    /// Bytes that it keeps of a flow, and how many flows.
    pub(super) fn kept(&self) -> (u32, usize) {
        (size_of::<(FiveTuple, Flow)>() as u32, self.flows.len())
    }

    /// The next queue that is to go on. Only then may another flow have it.
    pub(super) fn resumed(&mut self) -> Option<u32> {
        if self.resumed.is_empty() {
            return None;
        }
        let queue = self.resumed.remove(0);
        self.free.push(queue);
        Some(queue)
    }

    /// When the next queue is resumed without its TAIL.
    pub(super) fn wakes_at(&self) -> Option<Time> {
        self.paused.iter().map(|paused| paused.resume_at).min()
    }

    /// A data packet with a header has come by a port.
    pub(super) fn takes(
        &mut self,
        packet: &PacketMeta,
        header: Header,
        (from, source): (PortId, TorId),
        settings: &Settings,
        now: Time,
        out: &mut Outbox,
    ) -> Arrival {
        self.sweep(settings, now);
        if packet.ecn == Ecn::Congested {
            self.notify(packet, header, (from, source), settings, now, out);
        }
        if header.has(REQUEST) {
            out.push((from, answer(packet.tuple, REPLY, header, settings)));
        }
        let forgotten = Span(settings.theta_inactive.0.saturating_mul(2));
        let fresh =
            Flow { epoch: header.epoch, last: now, tail_came: false, queue: None, old: None };
        let mut flow = self.flows.get(&packet.tuple).copied().unwrap_or(fresh);
        let idle = flow.queue.is_none() && now.since(flow.last) > forgotten;
        let is_new = idle || header.epoch.is_after(flow.epoch);
        if !is_new && header.epoch != flow.epoch {
            // Of an epoch that is over.
            return Arrival::Forward;
        }
        let waits = if is_new { std::mem::replace(&mut flow, fresh).queue } else { None };
        flow.last = now;
        let arrival = self.in_order(&mut flow, packet.tuple, header, from, settings, now);
        if header.has(TAIL) {
            out.push((from, answer(packet.tuple, CLEAR, header, settings)));
        }
        self.flows.insert(packet.tuple, flow);
        // What waits still, of an epoch that is over, goes on first; behind it, this packet.
        let Some(queue) = waits else { return arrival };
        self.resume(queue);
        if arrival == Arrival::Forward { Arrival::Keep(queue) } else { arrival }
    }

    /// What becomes of a packet of the flow's present epoch.
    fn in_order(
        &mut self,
        flow: &mut Flow,
        tuple: FiveTuple,
        header: Header,
        from: PortId,
        settings: &Settings,
        now: Time,
    ) -> Arrival {
        if header.has(TAIL) {
            flow.tail_came = true;
            // Behind the TAIL, which goes on at once.
            flow.queue.take().into_iter().for_each(|queue| self.resume(queue));
        } else if header.has(REROUTED) {
            if flow.tail_came {
                return Arrival::Forward;
            }
            return self.keep(flow, tuple, header, from, settings, now);
        } else {
            flow.old = Some((header.sent, now));
            if let Some(paused) = self.paused.iter_mut().find(|p| Some(p.queue) == flow.queue) {
                paused.resume_at = resume_at(paused.tail_sent, flow.old, settings, now);
            }
        }
        Arrival::Forward
    }

    /// A packet that has overtaken the TAIL waits in the flow's queue, if there is one to be had.
    fn keep(
        &mut self,
        flow: &mut Flow,
        tuple: FiveTuple,
        header: Header,
        from: PortId,
        settings: &Settings,
        now: Time,
    ) -> Arrival {
        if let Some(queue) = flow.queue {
            return Arrival::Keep(queue);
        }
        let Some(queue) = self.free.pop() else { return Arrival::Forward };
        flow.queue = Some(queue);
        let tail_sent = header.tail_sent;
        let resume_at = resume_at(tail_sent, flow.old, settings, now);
        self.paused.push(Paused { queue, flow: tuple, resume_at, tail_sent, back: from });
        Arrival::Keep(queue)
    }

    fn resume(&mut self, queue: u32) {
        self.paused.retain(|paused| paused.queue != queue);
        self.resumed.push(queue);
    }

    /// Queues whose TAIL has not come in time go on without it.
    pub(super) fn expire(&mut self, settings: &Settings, now: Time, out: &mut Outbox) {
        while let Some(paused) = self.paused.iter().find(|paused| paused.resume_at <= now).copied()
        {
            self.resume(paused.queue);
            let Some(flow) = self.flows.get_mut(&paused.flow) else { continue };
            (flow.tail_came, flow.queue) = (true, None);
            let header = Header { epoch: flow.epoch, ..Header::default() };
            out.push((paused.back, answer(paused.flow, CLEAR, header, settings)));
        }
    }

    /// NOTIFY for a path whose packet is marked, unless there was one half of the busy time ago or less.
    fn notify(
        &mut self,
        packet: &PacketMeta,
        header: Header,
        (from, source): (PortId, TorId),
        settings: &Settings,
        now: Time,
        out: &mut Outbox,
    ) {
        let path = (source, header.path);
        let last = self.notified.get(&path);
        if last.is_none_or(|last| now.since(*last).0 > settings.theta_path_busy.0 / 2) {
            self.notified.insert(path, now);
            out.push((from, answer(packet.tuple, NOTIFY, header, settings)));
        }
    }

    /// Forgets flows that have been inactive for long and wait for nothing.
    fn sweep(&mut self, settings: &Settings, now: Time) {
        if self.flows.len() >= self.sweep_at {
            let long = Span(settings.theta_inactive.0.saturating_mul(2));
            self.flows.retain(|_, flow| flow.queue.is_some() || now.since(flow.last) <= long);
            self.sweep_at = (2 * self.flows.len()).max(1024);
        }
    }
}

/// When a TAIL that was sent then should have come: as long after the last packet before it as it
/// was sent after that one, and a little; if no packet tells, after a time that is long enough.
fn resume_at(tail_sent: u32, old: Option<(u32, Time)>, settings: &Settings, now: Time) -> Time {
    let expected =
        old.map(|(sent, came)| came + between(sent, tail_sent) + settings.theta_resume_extra);
    expected.unwrap_or(now + settings.theta_resume).max(now + Span(1))
}

/// A packet of the switch's own about a flow, to the ToR of its source.
fn answer(flow: FiveTuple, what: u32, header: Header, settings: &Settings) -> PacketMeta {
    let mut packet = PacketMeta {
        tuple: flow.reversed(),
        size: settings.control_size,
        flags: Flags::PROBE,
        class: settings.control_class,
        path: PacketMeta::NO_PATH,
        ..PacketMeta::default()
    };
    Header { flags: what, epoch: header.epoch, path: header.path, ..Header::default() }
        .write(&mut packet);
    packet
}
