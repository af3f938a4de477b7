//! Hosts that take a random time to hand a packet to their port: only in runs that ask for it.
//!
//! Without it synchronous flows in a symmetric fabric meet at a full queue in the same order every
//! time, and the drops always hit the same ones (Floyd and Jacobson, "On Traffic Phase Effects in
//! Packet-Switched Gateways", 1992, §3).

use super::Simulation;
use crate::calendar::{Class, Key};
use crate::pool::Handle;
use leafspine_core::{HostId, Rng, Role, Span, Time};
use std::collections::VecDeque;

/// What all hosts have handed down that is not at their ports yet.
pub(super) struct Jitter {
    most: Span,
    hosts: Vec<OnTheirWay>,
}

/// One host's packets on their way to its port, in order.
struct OnTheirWay {
    rng: Rng,
    /// When the last of them will be there.
    last: Time,
    packets: VecDeque<Handle>,
}

impl Jitter {
    /// A uniform delay of at most `most` at each of so many hosts; `None` if that is no delay.
    pub(super) fn new(most: Span, hosts: u32, seed: u64) -> Option<Box<Jitter>> {
        let host = |host| OnTheirWay {
            rng: Rng::new(seed, Role::HostJitter, u64::from(host)),
            last: Time::ZERO,
            packets: VecDeque::new(),
        };
        (most > Span::ZERO)
            .then(|| Box::new(Jitter { most, hosts: (0..hosts).map(host).collect() }))
    }

    /// Calls `visit` with every packet on its way, and its host.
    pub(super) fn each_packet(&self, mut visit: impl FnMut(u32, Handle)) {
        for (host, on_their_way) in self.hosts.iter().enumerate() {
            on_their_way.packets.iter().for_each(|handle| visit(host as u32, *handle));
        }
    }

    /// When a packet that `host` hands down now is at its port: after those before it.
    fn put_off(&mut self, host: HostId, handle: Handle, now: Time) -> Time {
        let most = self.most.0;
        let host = &mut self.hosts[usize::from(host.0)];
        host.last = host.last.max(now + Span(host.rng.below(most + 1)));
        host.packets.push_back(handle);
        host.last
    }
}

impl Simulation {
    /// A transport or an edge of `host`, whose port is `port`, sends a packet.
    #[inline]
    pub(super) fn hand_down(&mut self, host: HostId, port: u32, handle: Handle) {
        let Some(jitter) = &mut self.jitter else { return self.enqueue(port, handle) };
        let at = jitter.put_off(host, handle, self.now);
        self.calendar.push(at, Key::new(Class::HandDown, u32::from(host.0)), port);
    }

    /// The first of the packets on their way to a host's port is there. Which one that is does not
    /// depend on the order of events at one instant.
    pub(super) fn handed_down(&mut self, host: u32, port: u32) {
        let Some(jitter) = &mut self.jitter else { return };
        if let Some(handle) = jitter.hosts[host as usize].packets.pop_front() {
            self.enqueue(port, handle);
        }
    }
}
