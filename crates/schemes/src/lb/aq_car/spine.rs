//! AQ-CAR at a spine: stamps the level of the queue that a packet leaves (§II-B2).

use super::super::hash::by_hash;
use super::super::{LoadBalancer, Needs};
use super::header::{goes_forward, set_stamp, stamp};
use crate::levels::Levels;
use crate::stages::Stages;
use crate::{Context, Footprint, Inspect, Paths, SwitchEnv};
use leafspine_core::{PacketMeta, PortId, Time};

pub(super) struct Spine {
    seed: u64,
    stages: Stages,
    levels: Levels,
    /// The last service queue of a port.
    last_queue: u8,
}

impl Spine {
    pub(super) fn new(env: &SwitchEnv, stages: Stages, levels: Levels) -> Spine {
        Spine { seed: env.hash_seed, stages, levels, last_queue: env.queues.max(1) - 1 }
    }
}

impl LoadBalancer for Spine {
    fn needs(&self) -> Needs {
        Needs { leaving: true, exact_dequeue: true, ..Needs::default() }
    }

    /// Where a spine has a choice (parallel links), it makes ECMP's.
    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, _: &mut Context<'_>) -> PortId {
        by_hash(packet, paths, self.seed)
    }

    /// §II-B2a: "spine switches tag SYN and data packets with the congestion level of the queue that
    /// dequeued the packet". On a way over several switches above the leaves, the highest counts.
    fn leaving(&mut self, packet: &mut PacketMeta, to: PortId, _: Time, cx: &mut Context<'_>) {
        if !goes_forward(packet) {
            return;
        }
        let queue = self.stages.class(packet.class).queue().min(self.last_queue);
        let level = self.levels.stamp(cx.ports.queue(to, queue));
        if level > stamp(packet) {
            set_stamp(packet, level);
        }
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Spine {
    fn footprint(&self, _: Time) -> Footprint {
        Footprint { bytes: size_of::<Spine>() as u64, ..Footprint::default() }
    }
}
