//! Medium rerouting at the source's leaf: a flow moves when that reorders none of its packets (§II-B2b).

use super::leaf::Leaf;
use super::pat::State;
use crate::stages::MEDIUM;
use crate::{Context, Paths};
use leafspine_core::{PortId, Span};

/// Eq. 3: how much longer the flow's last packet will wait, `RQD_i = SQD_i + LQD_i + t_i - t_(i+1)`.
fn remaining(spine: Span, leaf: Span, since: Span) -> Span {
    Span(spine.0.saturating_add(leaf.0).saturating_sub(since.0))
}

impl Leaf {
    /// Eq. 1: the leaf queueing delay, `LQD = P (q + 1) / (C w / W)`, of a packet of `size` bytes.
    fn leaf_delay(&mut self, port: PortId, size: u16, cx: &mut Context<'_>) -> Span {
        let packets = u64::from(self.backlog(port, MEDIUM, cx)) + 1;
        self.uplinks.medium_time(port, u64::from(size) * packets, cx)
    }

    /// Eq. 2: the spine queueing delay, `SQD = P q / (C w / W)`, with the length that the piggy table's
    /// level of the spine behind `port` stands for.
    fn spine_delay(&mut self, port: PortId, size: u16, to: &Paths<'_>, cx: &Context<'_>) -> Span {
        let level = self.uplinks.level_beyond(port, self.known(to.to).medium);
        let bytes = self.levels.bytes_at(level + self.edge, size);
        self.uplinks.medium_time(port, bytes, cx)
    }

    /// A packet of a medium flow that is to be rerouted. The first one's delay is recorded, the next
    /// ones may move.
    pub(super) fn reroute_medium(
        &mut self,
        slot: usize,
        size: u16,
        paths: &Paths<'_>,
        cx: &mut Context<'_>,
    ) {
        let path = self.pat.paths[slot];
        if path.state == State::MediumTimed {
            let spine = self.spine_delay(path.port, size, paths, cx);
            let left = remaining(spine, path.delay, cx.now.since(path.last));
            let better = self.shortest_beyond(left, path.port, size, paths, cx);
            if let Some(port) = better.filter(|port| *port != path.port) {
                let path = &mut self.pat.paths[slot];
                (path.port, path.state) = (port, State::Moved);
                return;
            }
        }
        let delay = self.leaf_delay(path.port, size, cx);
        let path = &mut self.pat.paths[slot];
        (path.delay, path.state) = (delay, State::MediumTimed);
    }

    /// Goal 1 of §II-B2b: whether a new path is congested, which the paper does not define further: it has
    /// reached the level at which the flow would be asked to leave it, here or at its spine ("the maximum
    /// load of the two hops", §II-B2a).
    fn is_congested(&self, port: PortId, paths: &Paths<'_>, cx: &mut Context<'_>) -> bool {
        if !self.uncongested_only {
            return false;
        }
        let spine = self.uplinks.level_beyond(port, self.known(paths.to).medium);
        self.local_level(port, MEDIUM, cx).max(spine) >= self.reroute_level
    }

    /// §II-B2b: "the paths with a larger queueing delay than RQD", and of those "the path with the
    /// current minimum queueing delay": the flow's own if it is as good as any, else ties at random.
    ///
    /// Goal 1, if it is asked for: "ensure that the newly selected path is not congested".
    ///
    /// Its own path is a candidate whatever its delay: a packet does not overtake there, and it is no
    /// newly selected one. Eqs. 1 to 3 may
    /// say otherwise, for a queue drains faster than they reckon while other queues are idle.
    fn shortest_beyond(
        &mut self,
        left: Span,
        current: PortId,
        size: u16,
        paths: &Paths<'_>,
        cx: &mut Context<'_>,
    ) -> Option<PortId> {
        let (mut best, mut ties, mut choice) = (Span::MAX, 0, None);
        for port in paths.ports.iter().copied() {
            let spine = self.spine_delay(port, size, paths, cx);
            let delay = Span(self.leaf_delay(port, size, cx).0.saturating_add(spine.0));
            let reorders = delay <= left;
            if port != current && (reorders || self.is_congested(port, paths, cx)) || delay > best {
                continue;
            }
            ties = if delay < best { 1 } else { ties + 1 };
            best = delay;
            let stays = ties > 1 && choice == Some(current);
            if port == current || ties == 1 || (!stays && cx.rng.below(ties) == 0) {
                choice = Some(port);
            }
        }
        choice
    }
}

#[cfg(test)]
#[path = "medium_tests.rs"]
mod tests;
