//! When a large flow gives up order for a shorter queue (§III-C).

use super::entries::{Settings, Source};
use crate::{Amount, Neighbour, SwitchEnv};
use leafspine_core::Span;

/// Eq. 14, all of it but Y.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Eq14 {
    /// C x RTT in bytes.
    pub(super) pipe: u64,
    /// Bytes of a packet.
    pub(super) mtu: u32,
    /// The marking threshold K in packets.
    pub(super) marking: u32,
}

impl Eq14 {
    /// S in whole packets for flows of `size` bytes.
    ///
    /// By eqs. 3 and 4, r1 = 3/4 (C RTT + K) / (K/C + RTT), which is 3C/4 whatever K and RTT are.
    /// Put into eq. 14, (12YC - 8Y r1) / (6C - 3r1) is 1.6 Y, so `S = sqrt(1.6 Y) - C RTT`, all in
    /// packets. Here both terms are bytes until the last step, which rounds to the nearest packet.
    /// S is negative where the pipe is longer than the root, and no queue is held longer than K:
    /// it is clamped to 1..=K.
    pub(super) fn threshold(self, size: u64) -> u32 {
        let mtu = u64::from(self.mtu.max(1));
        let root = ((8 * mtu).saturating_mul(size) / 5).isqrt();
        let packets = (root + mtu / 2).saturating_sub(self.pipe) / mtu;
        packets.clamp(1, u64::from(self.marking)) as u32
    }
}

/// The queue length threshold S.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Threshold {
    /// No flow is ever rerouted.
    Never,
    /// One for the run.
    Fixed(Amount),
    /// Eq. 14 with Y = the bytes that the flow has sent.
    BySent(Eq14),
}

/// Who is rerouted, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reroute {
    /// Flows that have sent more bytes are large.
    long_flow: u64,
    threshold: Threshold,
}

impl Reroute {
    pub(super) fn new(settings: &Settings, rtt: Span, env: &SwitchEnv) -> Reroute {
        let to_switch = |port: &&crate::PortInfo| matches!(port.neighbour, Neighbour::Switch(..));
        // C: the fastest link between switches is the fabric's own, a slower one an exception.
        let rate = env.ports.iter().filter(to_switch).map(|port| port.rate).max();
        let eq14 = Eq14 {
            pipe: rate.map_or(0, |rate| rate.bytes_in(rtt).0),
            mtu: env.mtu,
            marking: settings.marking,
        };
        let flow_size = settings.flow_size;
        let of_size = |size| Threshold::Fixed(Amount::Packets(eq14.threshold(size)));
        let threshold = match settings.reroute {
            Source::Off => Threshold::Never,
            Source::Fixed => Threshold::Fixed(settings.threshold),
            Source::Sent => Threshold::BySent(eq14),
            Source::FlowSize => of_size(flow_size.0),
            Source::Mean => of_size(env.mean_flow.unwrap_or(flow_size).0),
        };
        Reroute { long_flow: settings.long_flow.0, threshold }
    }

    /// The S beyond which a flow that has `sent` so many bytes leaves a queue; none if it never does.
    #[inline]
    pub(super) fn threshold(&self, sent: u32) -> Option<Amount> {
        if u64::from(sent) <= self.long_flow {
            return None;
        }
        match self.threshold {
            Threshold::Never => None,
            Threshold::Fixed(threshold) => Some(threshold),
            Threshold::BySent(eq14) => Some(Amount::Packets(eq14.threshold(u64::from(sent)))),
        }
    }
}
