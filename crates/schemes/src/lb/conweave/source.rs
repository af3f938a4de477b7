//! ConWeave at the source's ToR: watches each flow's round trip, and moves it to another path.

use super::Settings;
use super::header::{Epoch, Header, REQUEST, REROUTED, TAIL, stamp};
use crate::Paths;
use leafspine_core::{FiveTuple, PacketMeta, PortId, Rng, Span, Time, TorId};
use std::collections::HashMap;

/// A flow whose source is below this switch.
#[derive(Clone, Copy, Debug)]
struct Flow {
    port: PortId,
    epoch: Epoch,
    /// When it last sent.
    last: Time,
    /// An RTT_REQUEST is out, and this is until when its answer may come.
    reply_by: Option<Time>,
    /// It has not come by then, and there was no other path: a late answer will do.
    stuck: bool,
    /// A TAIL is out, since then: no CLEAR has come.
    tail_at: Option<Time>,
}

/// The flows below this switch, and the paths that are busy.
pub(super) struct Source {
    flows: HashMap<FiveTuple, Flow>,
    /// When so many flows are known, those that have been inactive for long are forgotten.
    sweep_at: usize,
    /// By destination's ToR and port: until when a path is not to be taken.
    busy: Vec<Time>,
    ports: usize,
    first_epoch: Epoch,
}

impl Source {
    pub(super) fn new(ports: usize, tors: u16) -> Source {
        Source {
            flows: HashMap::new(),
            sweep_at: 1024,
            busy: vec![Time::ZERO; ports * usize::from(tors)],
            ports,
            first_epoch: Epoch::default(),
        }
    }

    /// Bytes that it keeps of a flow, and how many flows.
    pub(super) fn kept(&self) -> (u32, usize) {
        (size_of::<(FiveTuple, Flow)>() as u32, self.flows.len())
    }

    fn path(&self, to: TorId, port: PortId) -> Option<usize> {
        let at = usize::from(to.0) * self.ports + usize::from(port.0);
        (usize::from(port.0) < self.ports && at < self.busy.len()).then_some(at)
    }

    /// NOTIFY: a path to a ToR is congested.
    pub(super) fn notified(&mut self, from: TorId, port: PortId, until: Time) {
        if let Some(path) = self.path(from, port) {
            self.busy[path] = until;
        }
    }

    /// RTT_REPLY: a flow's path answers.
    pub(super) fn replied(&mut self, flow: FiveTuple, epoch: Epoch, now: Time) {
        if let Some(flow) = self.flows.get_mut(&flow)
            && flow.epoch == epoch
            && flow.reply_by.is_some_and(|by| now <= by || flow.stuck)
        {
            (flow.reply_by, flow.stuck) = (None, false);
        }
    }

    /// CLEAR: what was sent before and after the TAIL is in order at the other end.
    pub(super) fn cleared(&mut self, flow: FiveTuple, epoch: Epoch) {
        if let Some(flow) = self.flows.get_mut(&flow)
            && flow.epoch == epoch
        {
            flow.tail_at = None;
        }
    }

    /// A path that is not busy and not the one to leave: any of those evenly that are among `samples` drawn paths.
    fn viable(
        &self,
        paths: &Paths<'_>,
        leave: Option<PortId>,
        (samples, now): (u64, Time),
        rng: &mut Rng,
    ) -> Option<PortId> {
        let is_busy =
            |port| self.path(paths.to, port).is_some_and(|path: usize| self.busy[path] > now);
        let others = || paths.ports.iter().copied().filter(|port| Some(*port) != leave);
        let mut left = others().count() as u64;
        let (mut draws, mut free, mut found) = (if samples == 0 { left } else { samples }, 0, None);
        for port in others() {
            // As many of those left as are still to be drawn.
            if rng.below(left) < draws {
                draws -= 1;
                free += u64::from(!is_busy(port));
                if !is_busy(port) && rng.below(free) == 0 {
                    found = Some(port);
                }
            }
            left -= 1;
        }
        found
    }

    /// The port for a data packet, whose header is written.
    pub(super) fn route(
        &mut self,
        packet: &mut PacketMeta,
        paths: &Paths<'_>,
        settings: &Settings,
        now: Time,
        rng: &mut Rng,
    ) -> PortId {
        self.sweep(settings, now);
        let known = self.flows.get(&packet.tuple).copied();
        let goes_on = known.filter(|flow| {
            let active = now.since(flow.last) <= settings.theta_inactive;
            active && paths.ports.contains(&flow.port)
        });
        let mut flow = goes_on.unwrap_or_else(|| {
            let any = paths.ports[rng.below(paths.ports.len() as u64) as usize];
            let port = self.viable(paths, None, (settings.samples, now), rng).unwrap_or(any);
            // An end that has not forgotten the flow is to see that this is new.
            let epoch = known.map_or(self.first_epoch, |flow| flow.epoch.next());
            self.first_epoch = self.first_epoch.next();
            Flow { port, epoch, last: now, reply_by: None, stuck: false, tail_at: None }
        });
        flow.last = now;
        let (port, header) = self.step(&mut flow, goes_on.is_none(), paths, settings, now, rng);
        let header = Header { epoch: flow.epoch, sent: stamp(now), path: port.0 as u8, ..header };
        header.write(packet);
        self.flows.insert(packet.tuple, flow);
        port
    }

    /// What this packet is to its flow: the port that it takes, and the flags.
    fn step(
        &self,
        flow: &mut Flow,
        is_new: bool,
        paths: &Paths<'_>,
        settings: &Settings,
        now: Time,
        rng: &mut Rng,
    ) -> (PortId, Header) {
        if let Some(tail_at) = flow.tail_at {
            if now.since(tail_at) <= settings.theta_inactive {
                let tail_sent = stamp(tail_at);
                return (flow.port, Header { flags: REROUTED, tail_sent, ..Header::default() });
            }
            // The CLEAR is lost: by now the other end has given up waiting.
            (flow.tail_at, flow.reply_by) = (None, None);
        }
        let asks = Header { flags: REQUEST, ..Header::default() };
        match flow.reply_by {
            Some(by) if now <= by => return (flow.port, Header::default()),
            Some(_) => {
                if let Some(other) =
                    self.viable(paths, Some(flow.port), (settings.samples, now), rng)
                {
                    let old = std::mem::replace(&mut flow.port, other);
                    (flow.tail_at, flow.reply_by, flow.stuck) = (Some(now), None, false);
                    return (old, Header { flags: TAIL, ..Header::default() });
                }
                // An epoch without an answer does not end: the far end tells epochs apart by few bits.
                flow.stuck = true;
                return (flow.port, Header::default());
            }
            None => {}
        }
        if !is_new {
            flow.epoch = flow.epoch.next();
        }
        flow.reply_by = Some(now + settings.theta_reply);
        (flow.port, asks)
    }

    /// Forgets flows that have been inactive for so long that the other end has, too.
    fn sweep(&mut self, settings: &Settings, now: Time) {
        if self.flows.len() >= self.sweep_at {
            let long = Span(settings.theta_inactive.0.saturating_mul(4));
            self.flows.retain(|_, flow| now.since(flow.last) <= long);
            self.sweep_at = (2 * self.flows.len()).max(1024);
        }
    }
}
