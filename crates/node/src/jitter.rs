//! Hosts that take a random time to hand a packet to their port: only in runs that say so.
//!
//! Without it synchronous flows in a symmetric fabric meet at a full queue in the same order every
//! time, and the drops always hit the same ones (Floyd and Jacobson, "On Traffic Phase Effects in
//! Packet-Switched Gateways", 1992, §3).

use leafspine_core::{HostId, PacketMeta, Rng, Role, Span, Time};
use std::collections::VecDeque;

/// What a host has handed down that is not at its port yet.
pub struct Jitter {
    most: Span,
    rng: Rng,
    /// When the last of the packets will be there.
    pub(crate) last: Time,
    /// When the port will have sent the last one that its sender was told of, at the earliest.
    pub(crate) sent: Time,
    packets: VecDeque<PacketMeta>,
}

impl Jitter {
    /// A uniform delay of at most `most` at `host`; `None` if that is no delay.
    #[must_use]
    pub fn new(most: Span, host: HostId, seed: u64) -> Option<Box<Jitter>> {
        (most > Span::ZERO).then(|| {
            let rng = Rng::new(seed, Role::HostJitter, u64::from(host.0));
            Box::new(Jitter {
                most,
                rng,
                last: Time::ZERO,
                sent: Time::ZERO,
                packets: VecDeque::new(),
            })
        })
    }

    /// The packets on their way.
    pub fn packets(&self) -> impl Iterator<Item = &PacketMeta> {
        self.packets.iter()
    }

    /// When a packet that is handed down now is at the port: after those before it.
    pub(crate) fn put_off(&mut self, packet: &PacketMeta, now: Time) -> Time {
        self.last = self.last.max(now + Span(self.rng.below(self.most.0 + 1)));
        self.packets.push_back(*packet);
        self.last
    }

    /// The packet that is at the port now.
    pub(crate) fn arrived(&mut self) -> Option<PacketMeta> {
        self.packets.pop_front()
    }
}
