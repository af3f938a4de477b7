//! Packets that a switch's balancer keeps, in queues by number, until it lets them go on.

use crate::egress::Egress;
use crate::event::{Class, Key};
use crate::world::World;
use leafspine_core::{PacketMeta, PortId, SwitchId, Time};
use std::collections::VecDeque;

/// What a balancer that keeps packets keeps, and when it wants to be called.
pub struct Kept {
    /// By number; each packet with the port that it came by.
    queues: Vec<VecDeque<(PortId, PacketMeta)>>,
    /// When its next tick is due.
    wake: Time,
}

impl Kept {
    /// Nothing yet; the first tick is at the start of the run.
    pub(crate) fn new() -> Kept {
        Kept { queues: Vec::new(), wake: Time::ZERO }
    }

    pub(crate) fn keep(&mut self, queue: u32, from: PortId, packet: PacketMeta) {
        let queue = queue as usize;
        if self.queues.len() <= queue {
            self.queues.resize_with(queue + 1, VecDeque::new);
        }
        self.queues[queue].push_back((from, packet));
    }

    /// The oldest packet of a queue.
    pub(crate) fn next(&mut self, queue: u32) -> Option<(PortId, PacketMeta)> {
        self.queues.get_mut(queue as usize)?.pop_front()
    }

    /// Loses the oldest packet of some queue: for tests of what finds that. Whether there was one.
    #[doc(hidden)]
    pub fn lose_one(&mut self) -> bool {
        self.queues.iter_mut().any(|queue| queue.pop_front().is_some())
    }

    /// All of them.
    pub fn packets(&self) -> impl Iterator<Item = &PacketMeta> {
        self.queues.iter().flatten().map(|(_, packet)| packet)
    }

    /// The same, to be changed.
    pub(crate) fn packets_mut(&mut self) -> impl Iterator<Item = &mut PacketMeta> {
        self.queues.iter_mut().flatten().map(|(_, packet)| packet)
    }
}

impl Egress {
    /// Whether a tick that has come is the one that is wanted: an earlier one may have been asked for since.
    pub(crate) fn is_wanted(&mut self, now: Time) -> bool {
        let Some(kept) = &mut self.kept else { return true };
        let wanted = kept.wake == now;
        if wanted {
            kept.wake = Time::MAX;
        }
        wanted
    }

    /// Sees that a balancer that keeps packets is called when it says.
    pub(crate) fn see_to_wake<W: World>(&mut self, switch: SwitchId, world: &mut W) {
        let (Some(kept), Some(chooser)) = (&mut self.kept, &self.chooser) else { return };
        let now = world.now();
        if let Some(at) = chooser.balancer.wakes_at().map(|at| at.max(now))
            && at < kept.wake
        {
            kept.wake = at;
            world.schedule(at, Key::new(Class::Tick, u32::from(switch.0)), 0);
        }
    }
}
