//! Packets of lossless priorities at a port: they are never dropped for want of room in its queue, but counted
//! where they came in.

use super::NO_INGRESS;
use crate::counters::Cause;
use crate::egress::{Egress, manager, mark};
use crate::event::{Class, Key};
use crate::network::Network;
use crate::port::Queued;
use crate::world::World;
use leafspine_core::{Ecn, PacketMeta, PortId};
use leafspine_schemes::aqm::Admit;

impl Egress {
    /// The packet that passes came in by this port. Gives the one before.
    #[inline]
    pub(crate) fn comes_from(&mut self, port: u16) -> u16 {
        let arriving = self.pfc.as_mut().map(|pfc| &mut pfc.arriving);
        arriving.map_or(NO_INGRESS, |arriving| std::mem::replace(arriving, port))
    }

    /// Whether packets of this service queue are lossless.
    pub(crate) fn is_lossless(&self, queue: usize) -> bool {
        self.pfc.as_ref().is_some_and(|pfc| pfc.is_lossless(queue))
    }

    /// Queues a packet of a lossless priority at a port whose link is up. One that has to wait takes room where
    /// it came in. A queue manager may mark it; what it would drop is marked, too, if it can be.
    pub(crate) fn enqueue_lossless<W: World>(
        &mut self,
        at: PortId,
        queue: usize,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let now = world.now();
        if self.port(at).store.general().is_stormy(queue) {
            return self.drop_packet(at, packet, Cause::Manager, net, world);
        }
        let waits = !self.port(at).store.general().is_free_for(queue, now);
        let mut queued = Queued::new(now, net.measuring, *packet);
        if waits && !self.take_ingress(queue, &mut queued) {
            world.record().counters.lossless_drops += 1;
            return self.drop_packet(at, packet, Cause::Buffer, net, world);
        }
        let port = &mut self.ports[usize::from(at.0)];
        let general = port.store.general();
        let (total, own) = (general.backlog(now), general.queue(queue, now));
        let view = port.view(queue as u8, own, total);
        if let Some(aqm) = manager(&mut port.manager, &mut self.chooser) {
            match aqm.admit(packet, &view, now, &mut port.rng) {
                Admit::Take => {}
                Admit::Drop if packet.ecn == Ecn::NotCapable => {}
                Admit::Mark | Admit::Drop => mark(port, packet, net, world),
            }
        }
        if net.measuring {
            port.stats.placed(u32::from(packet.size), total.packets);
        }
        queued.packet = *packet;
        if waits {
            self.wait(at, queue, queued, net, world);
        } else {
            self.pass_through(at, queue, queued, net, world);
        }
        self.tell_hold(at, world);
        self.tell_far_end(queued.from, net, world);
    }

    /// Takes the room of a packet that came in by one of the switch's ports; `false`: there is none. What a
    /// balancer has made came in nowhere: it has its room from the pool, which is not asked.
    fn take_ingress(&mut self, queue: usize, queued: &mut Queued) -> bool {
        let (Some(pfc), Some(pool)) = (&mut self.pfc, &mut self.shared) else { return true };
        if pfc.arriving == NO_INGRESS {
            pool.used += u64::from(queued.size());
            return true;
        }
        (queued.from, queued.queue) = (pfc.arriving, queue as u8);
        pfc.take(pfc.arriving, queue, queued.size(), pool)
    }

    /// Puts a packet that cannot be sent now into its queue.
    fn wait<W: World>(
        &mut self,
        at: PortId,
        queue: usize,
        queued: Queued,
        net: &Network,
        world: &mut W,
    ) {
        let (now, global) = (world.now(), self.global(at));
        let general = self.port(at).store.general();
        general.push(queue, queued);
        if general.wake_pending {
            return;
        }
        if now < general.busy_until {
            general.wake_pending = true;
            world.schedule(general.busy_until, Key::new(Class::Departure, global), 0);
        } else {
            self.serve(at, net, world);
        }
    }

    /// A packet that was counted where it came in no longer waits.
    pub(crate) fn leave_ingress(&mut self, queued: &Queued) {
        let (Some(pfc), Some(pool)) = (&mut self.pfc, &mut self.shared) else { return };
        pfc.give(queued.from, usize::from(queued.queue), queued.size(), pool);
    }
}
