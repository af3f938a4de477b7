//! A run that gets nowhere is stopped, and says why.

use super::audit::Spot;
use super::{RunError, Simulation};
use crate::measure::UNFINISHED;
use leafspine_core::{Flags, Span, Time};
use std::collections::BTreeMap;

/// Why a run was stopped: it got nowhere.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("stuck at {time}, after {events} events: {why}; {state}")]
pub struct Stuck {
    /// When it was stopped.
    pub time: Time,
    /// Events processed by then.
    pub events: u64,
    /// How it was seen.
    pub why: String,
    /// Which flows are under way, where their packets are, what waits.
    pub state: String,
}

/// How long a run may get nowhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Events at one instant. A port has at most one arrival and one departure then, and there are
    /// at most 2^21 ports; what else happens at an instant does so once a flow, and starting a flow
    /// is progress.
    pub(super) instant: u64,
    /// Longest retransmission timeouts without a new byte for any flow: each has tried so often.
    pub(super) timeouts: u64,
    /// Events without a new byte for any flow, if shortest timeouts also have passed.
    pub(super) events: u64,
    /// So many of them.
    pub(super) least_timeouts: u64,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { instant: 1 << 24, timeouts: 64, events: 1 << 28, least_timeouts: 64 }
    }
}

/// What moves when a run does: bytes that applications have, flows started, flows under way.
type Done = (u64, usize, usize);

/// When a run was last seen to get somewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standstill {
    pub(super) patience: Patience,
    done: Done,
    since: Time,
    since_event: u64,
    /// The time at the last look, and the number of events when it was first seen.
    now: Time,
    now_event: u64,
}

/// Flows and ports that a diagnosis names.
const NAMED: usize = 4;

impl Simulation {
    /// Looks whether the run gets anywhere.
    pub(super) fn watch_progress(&mut self, events: u64) -> Result<(), RunError> {
        let done = (self.counters.bytes_delivered, self.table.len(), self.endpoints.active());
        let seen = &mut self.standstill;
        let moved = done != seen.done;
        if moved || self.endpoints.active() == 0 {
            (seen.done, seen.since, seen.since_event) = (done, self.now, events);
        }
        if moved || self.now != seen.now {
            (seen.now, seen.now_event) = (self.now, events);
        }
        let seen = self.standstill;
        if events - seen.now_event >= seen.patience.instant {
            let many = events - seen.now_event;
            return Err(self.stuck(events, format!("time has stood still for {many} events")));
        }
        if self.nothing_to_come() && self.out_of_patience(events) {
            let (many, long) = (events - seen.since_event, self.now - seen.since);
            let why = format!("no flow has had a new byte for {long} and {many} events");
            return Err(self.stuck(events, why));
        }
        Ok(())
    }

    /// Whether the scenario has nothing in store that could change anything: no end, no flow, no
    /// change of a link.
    fn nothing_to_come(&self) -> bool {
        let changes = self.changes.iter().any(|change| change.at > self.now);
        self.until.is_none() && self.next_flow.is_none() && !changes
    }

    fn out_of_patience(&self, events: u64) -> bool {
        let Standstill { patience, since, since_event, .. } = self.standstill;
        let waited = (self.now - since).0;
        let longer = |timeout: Span, times: u64| waited > timeout.0.saturating_mul(times);
        longer(self.tcp.max_rto, patience.timeouts)
            || (events - since_event >= patience.events
                && longer(self.tcp.min_rto, patience.least_timeouts))
    }

    /// Nothing is left to happen: that is an error if flows wait for it.
    pub(super) fn ran_dry(&self, events: u64) -> Result<(), RunError> {
        if self.finished || self.until.is_some() || self.endpoints.active() == 0 {
            return Ok(());
        }
        Err(self.stuck(events, "nothing is left to happen".to_owned()))
    }

    fn stuck(&self, events: u64, why: String) -> RunError {
        RunError::Stuck(Box::new(Stuck { time: self.now, events, why, state: self.state() }))
    }

    /// What a run that is stuck looks like.
    fn state(&self) -> String {
        let mut spots: BTreeMap<u32, BTreeMap<String, u32>> = BTreeMap::new();
        let (mut own, mut all) = (0, 0);
        self.each_packet(&mut |handle, spot| {
            let packet = &self.pool[handle];
            if spot == Spot::Unused {
                return;
            }
            all += 1;
            if packet.flags.has(Flags::PROBE) {
                own += 1;
            } else {
                *spots.entry(packet.flow).or_default().entry(self.spot_name(spot)).or_default() +=
                    1;
            }
        });
        let live = self.endpoints.places.iter().enumerate().filter(|(_, place)| place.live);
        let named =
            live.take(NAMED).map(|(slot, _)| self.flow_text(slot, spots.get(&(slot as u32))));
        let named: Vec<String> = named.collect();
        let more = self.endpoints.active().saturating_sub(named.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!(
            "under way: {}{more}; {all} packets in the network, of which {own} are schemes' own; {}; \
             to see such a run as it is, give it an end (run.until)",
            if named.is_empty() { "no flow".to_owned() } else { named.join(", ") },
            self.queues_text(),
        )
    }

    fn flow_text(&self, slot: usize, spots: Option<&BTreeMap<String, u32>>) -> String {
        let (place, sender) = (&self.endpoints.places[slot], &self.endpoints.senders[slot]);
        let row = place.number as usize;
        let (has, size) = (self.endpoints.receivers[slot].delivered(), self.table.bytes[row]);
        let where_ = match spots {
            None => "no packet in the network".to_owned(),
            Some(spots) => {
                let each = spots.iter().take(NAMED).map(|(name, many)| format!("{many} at {name}"));
                each.collect::<Vec<_>>().join(" and ")
            }
        };
        let ended = if self.table.fct_ps[row] == UNFINISHED { "" } else { ", not acknowledged" };
        format!(
            "flow {row} (host{} to host{}, {has} of {size} bytes{ended}, {} timeouts, {where_})",
            place.tuple.src().0,
            place.tuple.dst().0,
            sender.timeouts(),
        )
    }

    fn queues_text(&self) -> String {
        let mut waiting: BTreeMap<String, u32> = BTreeMap::new();
        for (at, port) in self.ports.iter().enumerate() {
            let packets = port.waiting(self.now);
            if packets > 0 {
                waiting.insert(self.graph.port_name(at as u32), packets);
            }
        }
        let mut longest: Vec<_> = waiting.into_iter().collect();
        longest.sort_by_key(|(_, packets)| std::cmp::Reverse(*packets));
        if longest.is_empty() {
            return "all queues are empty".to_owned();
        }
        let each = longest.iter().take(NAMED).map(|(name, packets)| format!("{name} ({packets})"));
        format!("longest queues, in packets: {}", each.collect::<Vec<_>>().join(", "))
    }
}
