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
    last: Time,
    /// When the port will have sent the last one of which it was asked.
    sent: Time,
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

    /// The same, to be changed.
    pub(crate) fn packets_mut(&mut self) -> impl Iterator<Item = &mut PacketMeta> {
        self.packets.iter_mut()
    }

    /// When a packet that is handed down now is at the port: after those before it.
    pub(crate) fn put_off(&mut self, packet: &PacketMeta, now: Time) -> Time {
        self.last = self.last.max(now + Span(self.rng.below(self.most.0 + 1)));
        self.packets.push_back(*packet);
        self.last
    }

    /// When the port will have sent a packet that was put off, if it is free from `free` on and takes
    /// so long: those of which it was asked before leave before it.
    pub(crate) fn leaves(&mut self, free: Time, takes: Span) -> Time {
        self.sent = free.max(self.last).max(self.sent) + takes;
        self.sent
    }

    /// The packet that is at the port now.
    pub(crate) fn arrived(&mut self) -> Option<PacketMeta> {
        self.packets.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: two packets are at the port within a nanosecond, and take 1 us and 0.1 us. The second leaves
    /// 0.1 us after the first.
    ///
    /// Breaks if a short packet leaves before the one that it follows.
    #[test]
    fn one_leaves_after_the_other() {
        let us = Span::from_micros;
        let mut jitter = Jitter::new(Span::from_nanos(1), HostId(0), 1).expect("some");
        let packet = PacketMeta::default();
        let first = jitter.put_off(&packet, Time::ZERO);
        let leaves = jitter.leaves(Time::ZERO, us(1));
        assert_eq!(leaves, first + us(1));
        jitter.put_off(&packet, Time::ZERO);
        let short = Span::from_nanos(100);
        assert_eq!(jitter.leaves(Time::ZERO, short), leaves + short);
        assert_eq!(jitter.leaves(Time::ZERO + us(90), short), Time::ZERO + us(90) + short);
    }
}
