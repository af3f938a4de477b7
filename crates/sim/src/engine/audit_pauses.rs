//! The check's part of flow control: who stands still is who has been told to.

use super::Simulation;
use super::audit::Wrong;
use leafspine_fabric::Owner;
use leafspine_node::Store;
use leafspine_node::pfc::PRIORITIES;

impl Simulation {
    /// A port's priority is paused if the far end of its link last told it to stop, and only then; unless a frame that
    /// tells it something else is on its way (`frames`, by the port that sent it), or may have been lost.
    pub(super) fn pauses_add_up(&self, frames: &[u32], paused: &mut Vec<u8>) -> Result<(), Wrong> {
        let lossless = self.counters().lost == 0;
        let fails = |link: u32| {
            let mut of_link = self.changes.iter().filter(|change| change.link == link);
            of_link.any(|change| change.loss.is_some() || change.up.is_some())
        };
        self.find_paused(paused);
        let mut found = Ok(());
        self.each_egress(&mut |egress| {
            let Some(pfc) = egress.pfc() else { return };
            for (at, port) in (egress.first..).zip(&egress.ports) {
                let may_lose = port.loss.is_some() || fails(self.graph.ports[at as usize].link);
                if frames[at as usize] > 0 || (!lossless && may_lose) {
                    continue;
                }
                // A host counts nothing, and sends no pause frames.
                let groups = pfc.ports.get((at - egress.first) as usize);
                let told = groups.map_or(0, |port| {
                    let told = |(n, group): (usize, &leafspine_node::pfc::Group)| {
                        u8::from(group.announced) << n
                    };
                    port.groups.iter().enumerate().map(told).fold(0, |all, one| all | one)
                });
                let far = self.graph.ports[at as usize].peer;
                if paused[far as usize] != told && found.is_ok() {
                    let by = match egress.owner {
                        Owner::Host(_) => "a host, which never tells anybody to".to_owned(),
                        Owner::Switch(_) => self.graph.port_name(at),
                    };
                    let what = format!(
                        "priorities {:?} are paused, but {by} told {:?} to stop",
                        names(paused[far as usize]),
                        names(told)
                    );
                    found = Err((self.graph.port_name(far), what));
                }
            }
        });
        found
    }

    /// By port: its paused priorities, a bit each.
    fn find_paused(&self, paused: &mut Vec<u8>) {
        paused.clear();
        paused.resize(self.graph.ports.len(), 0);
        self.each_port(&mut |at, port| {
            let Store::General(general) = &port.store else { return };
            let Some(pauses) = general.pauses() else { return };
            let bits = (0..PRIORITIES).filter(|n| pauses.paused_since(*n).is_some());
            paused[at as usize] = bits.fold(0, |all, n| all | 1 << n);
        });
    }
}

/// The priorities of a set.
fn names(bits: u8) -> Vec<usize> {
    (0..PRIORITIES).filter(|n| bits >> n & 1 == 1).collect()
}
