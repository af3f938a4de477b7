//! What happened at nodes: counts, and what the driver has to be told of.

use crate::counters::{Cause, Counters};
use crate::fault::FaultKind;
use crate::flow::Address;
use crate::telemetry::Telemetry;
use leafspine_core::{Flags, PacketMeta, Span, Time};
use leafspine_fabric::Owner;
use std::collections::BTreeMap;

/// What the nodes of one part of a run have written down. Parts are merged by whoever drives them.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Counts.
    pub counters: Counters,
    /// Flows' packets that were sent here, less those that ended here: the sum over all parts is what
    /// is in the network.
    pub flow_packets: i64,
    /// Senders all of whose data is acknowledged, so far.
    pub senders_done: u64,
    /// Those of them that the driver has not taken note of.
    pub done: Vec<Address>,
    /// Flows whose last byte has arrived, and when.
    pub finished: Vec<(u32, Time)>,
    /// Operations that have started or, of computations, ended here.
    pub operations: Vec<Operated>,
    /// Flows' packets that have ended on their way.
    pub ended: Vec<Ended>,
    /// Packets lost on the wire while ports were measured, by the port that sent them.
    pub lost_of: BTreeMap<u32, u64>,
    /// What `packets` probes have seen.
    pub seen: Vec<Seen>,
    /// What ports that are captured have sent.
    pub tapped: Vec<Tapped>,
    /// What the packets here carry beside their headers.
    pub telemetry: Telemetry,
    /// So many events of one node at one instant: it will not come to an end.
    pub stalled: Option<u64>,
    /// The first fault.
    pub fault: Option<(Time, Owner, FaultKind)>,
}

/// A message has started, or a computation has ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Operated {
    /// When it started; of a computation, when it ended.
    pub time: Time,
    /// The operation.
    pub number: u32,
    /// The message's sender; `None` of a computation.
    pub sender: Option<Address>,
    /// Whether the message's connection was there: it needs no handshake.
    pub connected: bool,
}

/// A flow's packet was dropped, lost or consumed.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Its flow's sender.
    pub sender: Address,
    /// When.
    pub time: Time,
    /// See [`PacketMeta::frame`].
    pub frame: u32,
}

/// A packet begins its transmission on a port that a `packets` probe watches.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The probe.
    pub probe: u16,
    /// By global number.
    pub port: u32,
    /// When its transmission begins.
    pub start: Time,
    /// How long it has waited.
    pub waited: Span,
    /// Its flow's sender; `None` for a scheme's own packet.
    pub sender: Option<Address>,
    /// See [`PacketMeta::seq`].
    pub segment: u32,
    /// Bytes on the wire.
    pub size: u16,
    /// TCP flags.
    pub flags: u8,
    /// ECN field.
    pub ecn: u8,
}

/// A packet begins its transmission on a port that is captured.
#[derive(Clone, Copy, Debug)]
pub struct Tapped {
    /// By global number.
    pub port: u32,
    /// When its transmission begins.
    pub start: Time,
    /// The packet.
    pub packet: PacketMeta,
}

impl Record {
    /// A transport sends a packet.
    #[inline]
    pub(crate) fn sent(&mut self, packet: &PacketMeta) {
        self.counters.sent += 1;
        self.counters.payload.sent += u64::from(packet.payload);
        self.flow_packets += 1;
    }

    /// A scheme sends a packet.
    pub(crate) fn injected(&mut self, packet: &PacketMeta) {
        self.counters.injected += 1;
        self.counters.payload.sent += u64::from(packet.payload);
        self.flow_packets += i64::from(!packet.flags.has(Flags::PROBE));
    }

    /// A switch cuts a packet's payload off.
    #[cold]
    pub(crate) fn trimmed(&mut self, packet: &PacketMeta) {
        self.counters.trimmed += 1;
        self.counters.payload.trimmed += u64::from(packet.payload);
    }

    /// A packet ends at a port that did not take it.
    #[cold]
    pub(crate) fn dropped(&mut self, packet: &PacketMeta, cause: Cause, now: Time) {
        self.counters.dropped[cause as usize] += 1;
        self.counters.payload.dropped += u64::from(packet.payload);
        self.ended(packet, now);
    }

    /// A packet of the port with this global number is lost on the wire.
    #[cold]
    pub fn lost(&mut self, packet: &PacketMeta, port: u32, measuring: bool, now: Time) {
        self.counters.lost += 1;
        self.counters.payload.lost += u64::from(packet.payload);
        if measuring {
            *self.lost_of.entry(port).or_default() += 1;
        }
        self.ended(packet, now);
    }

    /// A switch's scheme takes a packet out of the network.
    pub(crate) fn consumed(&mut self, packet: &PacketMeta, now: Time) {
        self.counters.consumed += 1;
        self.counters.payload.consumed += u64::from(packet.payload);
        self.ended(packet, now);
    }

    fn ended(&mut self, packet: &PacketMeta, time: Time) {
        self.telemetry.close(packet);
        if !packet.flags.has(Flags::PROBE) {
            self.flow_packets -= 1;
            let (sender, frame) = (Address::of_sender(packet), packet.frame());
            self.ended.push(Ended { sender, time, frame });
        }
    }

    /// What another part has written down is this one's from now on. Its packets' telemetry has come over
    /// with them.
    pub fn absorb(&mut self, other: Record) {
        let Record {
            counters,
            flow_packets,
            senders_done,
            done,
            finished,
            operations,
            ended,
            lost_of,
            seen,
            tapped,
            telemetry,
            stalled,
            fault,
        } = other;
        debug_assert_eq!(telemetry.in_use(), 0, "lists go with their packets");
        self.counters.add(&counters);
        self.flow_packets += flow_packets;
        self.senders_done += senders_done;
        self.done.extend(done);
        self.finished.extend(finished);
        self.operations.extend(operations);
        self.ended.extend(ended);
        lost_of.into_iter().for_each(|(port, lost)| *self.lost_of.entry(port).or_default() += lost);
        self.seen.extend(seen);
        self.tapped.extend(tapped);
        self.stalled = self.stalled.or(stalled);
        if let Some((at, place, what)) = fault {
            self.fail(at, place, what);
        }
    }

    /// Notes a fault, which ends the run after the event under way. The first one stays, of several at one instant
    /// the first place's.
    #[cold]
    pub fn fail(&mut self, now: Time, place: Owner, what: FaultKind) {
        if self.fault.as_ref().is_none_or(|(first, at, _)| (now, place) < (*first, *at)) {
            self.fault = Some((now, place, what));
        }
    }
}
