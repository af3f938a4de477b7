//! Where a flow goes (§2.6, §2.7; Algorithm 1, lines 4 to 31), at its source's leaf.

use super::Tam;
use super::flows::Flow;
use crate::{Context, Paths};
use leafspine_core::PortId;

/// What decides between ports, and what between those that it finds equal. The lowest wins.
type Key = (u64, u64);

impl Tam {
    /// The port for the latest packet of the flow at `slot`, which has been counted.
    pub(super) fn route(&mut self, slot: usize, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        let flow = *self.flows.flow(slot);
        // The port is new to a first packet (line 5); one that has gone cannot be followed.
        let stays = paths.ports.contains(&flow.port);
        if self.flows.is_long(slot) {
            // Line 18.
            self.route_long(flow, stays, paths, cx)
        } else {
            // Line 4.
            self.route_short(flow, stays, paths, cx)
        }
    }

    /// §2.6: a short flow takes the fastest path, and stays there.
    fn route_short(
        &mut self,
        flow: Flow,
        stays: bool,
        paths: &Paths<'_>,
        cx: &mut Context<'_>,
    ) -> PortId {
        if stays {
            // Lines 15 and 16.
            return flow.port;
        }
        // Lines 6 to 14: the shortest transmission delay; of those the fewest long flows.
        self.lowest(paths, cx, |tam, at, cx| {
            (transmission_delay(paths, at, cx), tam.long_flows(paths.ports[at]))
        })
    }

    /// §2.7: a long flow's flowlet takes the port with the fewest long flows, and stays there.
    fn route_long(
        &mut self,
        flow: Flow,
        stays: bool,
        paths: &Paths<'_>,
        cx: &mut Context<'_>,
    ) -> PortId {
        if stays && !flow.begins_flowlet() {
            // Lines 29 and 30.
            return flow.port;
        }
        // Lines 19 to 28: the fewest long flows; of those the shortest transmission delay (line 24)
        // or the shortest queueing delay (§2.7, item 2).
        self.lowest(paths, cx, |tam, at, cx| {
            let delay = match tam.tie_by_queueing {
                true => queueing_delay(paths, at, cx),
                false => transmission_delay(paths, at, cx),
            };
            (tam.long_flows(paths.ports[at]), delay)
        })
    }

    /// The port with the lowest key; of several a random one (lines 14 and 28), lest flows that come
    /// together all take the same (§2.6, item 3).
    fn lowest(
        &mut self,
        paths: &Paths<'_>,
        cx: &mut Context<'_>,
        key: impl Fn(&Tam, usize, &mut Context<'_>) -> Key,
    ) -> PortId {
        let mut lowest = (u64::MAX, u64::MAX);
        self.ties.clear();
        for (at, port) in paths.ports.iter().enumerate() {
            let key = key(self, at, cx);
            if key < lowest {
                lowest = key;
                self.ties.clear();
            }
            if key == lowest {
                self.ties.push(*port);
            }
        }
        match self.ties.as_slice() {
            // Lines 7, 8, 11, 12, 21, 22, 25, 26.
            [only] => *only,
            several => several[cx.rng.below(several.len() as u64) as usize],
        }
    }

    /// The number of long flows at `port` that counts (Table 3 has two).
    fn long_flows(&self, port: PortId) -> u64 {
        let port = &self.ports.ports[usize::from(port.0)];
        u64::from(if self.count_idle { port.total } else { port.active })
    }
}

/// §2.6, item 4: "the sum of the port queuing delay and the path propagation delay", in picoseconds.
fn transmission_delay(paths: &Paths<'_>, at: usize, cx: &mut Context<'_>) -> u64 {
    queueing_delay(paths, at, cx).saturating_add(paths.delay[at].0)
}

/// How long a packet would wait at the port, the one in transmission included.
fn queueing_delay(paths: &Paths<'_>, at: usize, cx: &mut Context<'_>) -> u64 {
    cx.ports.free_at(paths.ports[at]).since(cx.now).0
}
