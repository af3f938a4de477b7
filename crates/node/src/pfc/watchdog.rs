//! The watchdog: a queue of a switch that stays paused with packets in it is in a storm (a neighbour that pauses for
//! ever, a ring of ports that wait for each other), and gives up being lossless until the storm is over.

use super::Due;
use crate::counters::Cause;
use crate::egress::Egress;
use crate::event::{Class, Key};
use crate::network::Network;
use crate::spec::WatchdogAction;
use crate::world::World;
use leafspine_core::PortId;

impl Egress {
    /// Looks at a queue that was paused one detection time ago.
    pub(super) fn detect<W: World>(
        &mut self,
        at: PortId,
        priority: usize,
        net: &Network,
        world: &mut W,
    ) {
        let (now, global) = (world.now(), self.global(at));
        let Some(watchdog) = self.pfc.as_ref().and_then(|pfc| pfc.watchdog) else { return };
        let general = self.port(at).store.general();
        let Some(since) = general.paused_since(priority) else { return };
        if now - since < watchdog.detect || general.in_storm(priority) {
            // Another pause, which has its own look.
            return;
        }
        if general.queue(priority, now).packets == 0 {
            let again = now + watchdog.detect;
            let key = Key::new(Class::Pause, global);
            return world.schedule(again, key, Due::Detection(priority).item());
        }
        world.record().counters.storms += 1;
        general.begin_storm(priority, watchdog.action);
        match watchdog.action {
            WatchdogAction::Forward => self.go_on(at, net, world),
            WatchdogAction::Drop => {
                for queued in self.port(at).store.general().empty(priority) {
                    world.record().counters.storm_drops += 1;
                    self.leave(at, &queued);
                    self.abandon(at, queued.stay(), &queued.packet, Cause::Manager, net, world);
                    self.tell_far_end(queued.from, queued.queue, net, world);
                }
                self.tell_hold(at, world);
            }
        }
    }

    /// Looks whether a storm is over: the queue has not been paused for the restoration time.
    pub(super) fn restore<W: World>(
        &mut self,
        at: PortId,
        priority: usize,
        net: &Network,
        world: &mut W,
    ) {
        let now = world.now();
        let Some(watchdog) = self.pfc.as_ref().and_then(|pfc| pfc.watchdog) else { return };
        let general = self.port(at).store.general();
        if general.is_calm(priority, now, watchdog.restore) {
            general.end_storm(priority);
            self.go_on(at, net, world);
        }
    }
}
