//! A run that gets nowhere is stopped, and says why.

use super::{RunError, Simulation};
use crate::drive::Driver;
use crate::flow_table::UNFINISHED;
use leafspine_core::{Flags, Span, Time};
use leafspine_node::Address;
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
type Done = (u64, u64, u64);

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

/// So long may programs that a run waits for write and send nothing, where no flow is under way: none of the model's
/// timeouts are theirs.
const IDLE: Span = Span::from_millis(600_000);
/// Flows and ports that a diagnosis names.
const NAMED: usize = 4;

impl Simulation {
    /// Looks whether the run gets anywhere.
    pub(super) fn watch_progress(&mut self, events: u64) -> Result<(), RunError> {
        let (programs, awaited) = self.programs_done();
        let bytes = self.driver.counters().bytes_delivered.wrapping_add(programs);
        let done = (bytes, self.flows.opened, self.flows.open);
        let seen = &mut self.standstill;
        let moved = done != seen.done;
        if moved || (self.flows.open == 0 && !awaited) {
            (seen.done, seen.since, seen.since_event) = (done, self.now, events);
        }
        if moved || self.now != seen.now {
            (seen.now, seen.now_event) = (self.now, events);
        }
        let seen = self.standstill;
        if events - seen.now_event >= seen.patience.instant {
            let many = events - seen.now_event;
            return Err(self.stands_still(many));
        }
        let idle = awaited && self.flows.open == 0 && (self.now - seen.since).0 > IDLE.0;
        if self.nothing_to_come() && idle {
            return Err(self.waits_for_programs(events));
        }
        if self.nothing_to_come() && self.out_of_patience(events) {
            let (many, long) = (events - seen.since_event, self.now - seen.since);
            let why = format!("no flow has had a new byte for {long} and {many} events");
            return Err(self.stuck(events, why));
        }
        Ok(())
    }

    /// So many events at one instant.
    pub(super) fn stands_still(&self, many: u64) -> RunError {
        self.stuck(self.events(), format!("time has stood still for {many} events"))
    }

    /// Whether the scenario has nothing in store that could change anything: no end, no flow, no
    /// change of a link.
    fn nothing_to_come(&self) -> bool {
        let changes = self.changes.iter().any(|change| change.at > self.now);
        self.until.is_none() && self.flows.next_at().is_none() && !changes
    }

    fn out_of_patience(&self, events: u64) -> bool {
        let Standstill { patience, since, since_event, .. } = self.standstill;
        let waited = (self.now - since).0;
        let longer = |timeout: Span, times: u64| waited > timeout.0.saturating_mul(times);
        longer(self.net.tcp.max_rto, patience.timeouts)
            || (events - since_event >= patience.events
                && longer(self.net.tcp.min_rto, patience.least_timeouts))
    }

    /// Nothing is left to happen: that is an error if flows wait for it.
    pub(super) fn ran_dry(&self) -> Result<(), RunError> {
        if self.until.is_some() {
            return Ok(());
        }
        if self.programs_done().1 {
            return Err(self.waits_for_programs(self.events()));
        }
        if self.flows.open == 0 {
            return Ok(());
        }
        Err(self.stuck(self.events(), "nothing is left to happen".to_owned()))
    }

    pub(super) fn stuck(&self, events: u64, why: String) -> RunError {
        RunError::Stuck(Box::new(Stuck { time: self.now, events, why, state: self.state() }))
    }

    /// What a run that is stuck looks like.
    fn state(&self) -> String {
        let mut spots: BTreeMap<Address, BTreeMap<String, u32>> = BTreeMap::new();
        let (mut own, mut all) = (0, 0);
        self.each_packet(&mut |packet, spot| {
            all += 1;
            if packet.flags.has(Flags::PROBE) {
                own += 1;
            } else {
                let flow = spots.entry(Address::of_sender(packet)).or_default();
                *flow.entry(self.spot_name(spot)).or_default() += 1;
            }
        });
        let mut live: Vec<Address> = self.live_senders().collect();
        live.sort_by_key(|sender| self.driver.sending(&self.layout, *sender).number);
        let named = live.iter().take(NAMED).map(|flow| self.flow_text(*flow, spots.get(flow)));
        let named: Vec<String> = named.collect();
        let more = live.len().saturating_sub(named.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!(
            "under way: {}{more}; {all} packets in the network, of which {own} are schemes' own; {}; \
             to see such a run as it is, give it an end (run.until)",
            if named.is_empty() { "no flow".to_owned() } else { named.join(", ") },
            self.queues_text(),
        )
    }

    fn flow_text(&self, flow: Address, spots: Option<&BTreeMap<String, u32>>) -> String {
        let source = self.driver.host(&self.layout, flow.host());
        let sending = &source.sending[usize::from(flow.slot())];
        let timeouts = match &self.driver {
            Driver::Linux(driver) => driver.flow(sending.number).stats().timeouts,
            _ => source.senders[usize::from(flow.slot())].timeouts(),
        };
        let has = self.delivered(flow);
        let (table, row) = self.flows.row_of(sending.number);
        let size = table.bytes[row];
        let where_ = match spots {
            None => "no packet in the network".to_owned(),
            Some(spots) => {
                let each = spots.iter().take(NAMED).map(|(name, many)| format!("{many} at {name}"));
                each.collect::<Vec<_>>().join(" and ")
            }
        };
        let unfinished = table.fct_ps[row] == UNFINISHED;
        let ended = if unfinished { "" } else { ", not acknowledged" };
        format!(
            "flow {row} (host{} to host{}, {has} of {size} bytes{ended}, {timeouts} timeouts, {where_})",
            sending.tuple.src().0,
            sending.tuple.dst().0,
        )
    }

    fn queues_text(&self) -> String {
        let mut waiting: BTreeMap<String, u32> = BTreeMap::new();
        self.each_port(&mut |at, port| {
            let packets = port.waiting(self.now);
            if packets > 0 {
                waiting.insert(self.graph.port_name(at), packets);
            }
        });
        let mut longest: Vec<_> = waiting.into_iter().collect();
        longest.sort_by_key(|(_, packets)| std::cmp::Reverse(*packets));
        if longest.is_empty() {
            return "all queues are empty".to_owned();
        }
        let each = longest.iter().take(NAMED).map(|(name, packets)| format!("{name} ({packets})"));
        format!("longest queues, in packets: {}", each.collect::<Vec<_>>().join(", "))
    }
}
