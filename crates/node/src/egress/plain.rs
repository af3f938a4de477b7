//! A packet's way through a plain port (`GeneralPort::plain`): it has one queue, a link that never changes, and a
//! manager that is asked when a packet has to wait and at no other time. What `place`, `send_at_once` and `serve`
//! would do, less what makes no difference there.

use super::{Egress, admit};
use crate::counters::Cause;
use crate::network::Network;
use crate::pfc::NO_INGRESS;
use crate::port::{Queued, Stay};
use crate::world::World;
use leafspine_core::{PacketMeta, PortId};
use leafspine_schemes::aqm::Admit;

impl Egress {
    /// Queues a packet that finds the line busy or its queue paused, or drops it.
    #[inline(never)]
    pub(super) fn wait_plain<W: World>(
        &mut self,
        at: PortId,
        packet: &mut PacketMeta,
        net: &Network,
        world: &mut W,
    ) {
        let now = world.now();
        let lossless = self.is_lossless(0);
        let general = self.port(at).store.general();
        let (total, admits_from) = (general.backlog(now), general.admits_from);
        let room = match lossless {
            true => self.take_ingress(0, u32::from(packet.size), world),
            false => self.room(at, packet, total),
        };
        let from = match room {
            Ok(from) => from,
            Err(cause) => return self.drop_packet(at, packet, cause, net, world),
        };
        let verdict = match total.bytes < admits_from {
            true => Admit::Take,
            false => admit(&mut self.ports[usize::from(at.0)], packet, total, now),
        };
        if !self.is_taken(at, verdict, (lossless, total), packet, net, world) {
            return self.drop_packet(at, packet, Cause::Manager, net, world);
        }
        let stay = Stay { since: now, counted: net.measuring };
        let queued = Queued::new(stay, 0, from, *packet);
        if from == NO_INGRESS {
            self.use_shared(at, i64::from(queued.size()));
        }
        self.wait(at, 0, queued, net, world);
        self.tell_far_end(from, 0, net, world);
    }

    /// Sends the next packet of a port whose line is idle.
    #[inline(always)]
    pub(super) fn serve_plain<W: World>(&mut self, at: PortId, net: &Network, world: &mut W) {
        let general = self.port(at).store.general();
        if !general.can_send() {
            return;
        }
        let mut queued = general.take(0);
        self.leave(at, &queued);
        self.put_on_wire(at, queued.stay(), &mut queued.packet, net, world);
        self.tell_far_end(queued.from, 0, net, world);
    }
}
