//! Packets of lossless priorities at a port: they are never dropped for want of room in its queue, but counted
//! where they came in.

use super::{NO_INGRESS, PRIORITIES};
use crate::counters::Cause;
use crate::egress::Egress;
use crate::port::Queued;
use crate::world::World;
use leafspine_core::{PacketMeta, PortId};

impl Egress {
    /// The packet that passes came in by this port. Gives the one before.
    #[inline]
    pub(crate) fn comes_from(&mut self, port: u16) -> u16 {
        std::mem::replace(&mut self.arriving, port)
    }

    /// Whether packets of this service queue are lossless.
    #[inline]
    pub(crate) fn is_lossless(&self, queue: usize) -> bool {
        queue < PRIORITIES && self.lossless >> queue & 1 == 1
    }

    /// The room of a packet of a lossless priority, and where it is counted: one that has to wait takes room where it
    /// came in, and is dropped only if there is none, the headroom included.
    #[inline]
    pub(crate) fn lossless_room<W: World>(
        &mut self,
        at: PortId,
        queue: usize,
        packet: &PacketMeta,
        waits: bool,
        world: &mut W,
    ) -> Result<u16, Cause> {
        if self.port(at).store.general().is_stormy(queue) {
            world.record().counters.storm_drops += 1;
            return Err(Cause::Manager);
        }
        if !waits {
            return Ok(NO_INGRESS);
        }
        self.take_ingress(queue, u32::from(packet.size), world)
    }

    /// Takes the room of a packet that came in by one of the switch's ports, which it gives. What a balancer has made came in nowhere: it has its room from the pool, which is not asked.
    #[inline(always)]
    pub(crate) fn take_ingress<W: World>(
        &mut self,
        queue: usize,
        size: u32,
        world: &mut W,
    ) -> Result<u16, Cause> {
        let (Some(pfc), Some(pool)) = (&mut self.pfc, &mut self.shared) else {
            return Ok(NO_INGRESS);
        };
        let from = self.arriving;
        if from == NO_INGRESS || pfc.take(from, queue, size, pool) {
            return Ok(from);
        }
        world.record().counters.lossless_drops += 1;
        Err(Cause::Buffer)
    }

    /// A packet that was counted where it came in no longer waits.
    #[inline(always)]
    pub(crate) fn leave_ingress(&mut self, queued: &Queued) {
        let (Some(pfc), Some(pool)) = (&mut self.pfc, &mut self.shared) else { return };
        pfc.give(queued.from, usize::from(queued.queue), queued.size(), pool);
    }
}
