//! ABQ: keeps ACKs back at the port that their congested queue leaves by, and lets them go with ECE.
//!
//! A queue at a switch's port is fed by senders whose ACKs come back in by the same port. ABQ watches
//! that queue, Q. While it is long the port's ingress keeps the ACKs, so their senders stop; as it
//! shrinks all are let go at once, again and again at half the length, each ACK with ECE so that the
//! windows do not grow meanwhile. Data is never kept.
//!
//! Source: "Active Buffer Queueing (ABQ)", IEEE Network, March/April 2020: "Queuing Discipline",
//! "Congestion Window Corrector", Fig. 2 and Algorithm 1.
//!
//! Per output port, all in packets or all in bytes, with Q what waits at the port (all its service queues together,
//! the packet in transmission not counted):
//! * Q > K: congested (CS), ACKs stay. The spell's largest queue is Qmax, and
//!   `X = min(Qmax - K, K)`.
//! * then at Q <= X: all go, each with ECE; X is halved; light congestion (LCS). Between X and K they
//!   stay; above K a new spell begins.
//! * X below four packets: uncongested (US), ACKs pass.
//!
//! A peak of 60 with K = 20 releases at 20, 10 and 5, one of 30 at 10 and 5.
//!
//! **Bytes.** The text gives K as 20 packets, but Algorithm 1 compares `Num_Words_in_Q`, the queue
//! has 128 KB and X ends below "the size of four maximum transmission units". With `threshold` and
//! `floor` in bytes (30 KB and 6 KB for full packets of 1500) all of the above is in bytes: 20
//! queued ACKs are then no congestion.
//!
//! **Pace.** "Once dequeuing, Q_in dequeues all the Ack packets in it". In the prototype they are
//! in SRAM, and Remove Pkt gets "a packet from SRAM" by a read request (Fig. 3); how long that
//! takes is not said. With `pace` zero all go in one instant, and where they leave by one port they
//! are queued there in that instant, beyond its buffer if they are many. Else a release reads one
//! after the other, and of what happens meanwhile the text decides all: an ACK that comes in LCS
//! waits for the next release (those "in it" go), one that comes in US follows, since Q_in is a
//! FIFO queue; Q > K again is CS, in which Q_in "does not dequeue", so that those not read stay.
//!
//! **The constant.** Setting ECE adds 0x0040 to one 16-bit word of the TCP header, so the checksum, the
//! one's complement of the words' one's complement sum, falls by 0x0040: a subtraction with its borrow
//! brought round to the low end (RFC 1624 eq. 3). "Subtracting the fix value" without that borrow would
//! be wrong for checksums below 0x0040. A test goes through all of them.
//!
//! **What ECE does at the sender.** It counts if the flow uses ECN; others only feel the delay. One
//! reduction a window of data (RFC 3168 §6.1.2), whatever many ACKs carry it, and no growth by any of
//! them. DCTCP takes the bytes that such an ACK covers for marked ones: alpha rises towards the share of
//! ACKs that were held, beside what the queue itself has marked. NewReno with ECN halves and answers with
//! CWR, which the receiver, who never saw a mark, ignores. A receiver repeats ECE until it sees CWR; ABQ
//! does not, so an ACK lost after its release takes the signal along. Being held is part of the round
//! trips that senders measure, and so of their timeouts.
//!
//! State: 8 bytes a port; the packets held are the switch's (40 bytes each on the wire, `capacity` a port).
//! Cost: a comparison a packet, another at each change of a backlog; general ports (two events a hop).
//!
//! Unspecified or contradictory in the source:
//! * X of exactly four: the text's formula makes it 0, its sentence and Algorithm 1 (line 5) keep it. Kept.
//! * A peak below K + 4 has X < 4 before any halving. The text makes X 0 and the state US, Algorithm 1
//!   would wait for Q <= X < 4. Here all go as soon as Q <= K, without ECE: no light congestion was met, and the
//!   corrector acts "when ABQ is in LCS". `ece_below_floor` sets it. (An incast's queue differed by 3 % at most.)
//! * Algorithm 1 stands in an `always` statement. If Q falls past several X at once (its link went down),
//!   all the halvings follow at once.
//! * "The length of Q is X" is Q <= X, as in Algorithm 1. X is halved in whole packets or bytes, which makes no
//!   difference: Q and four are whole.
//! * Several changes of a queue in one instant are several steps, in their order.
//! * How many ACKs fit, and what becomes of one that does not: `capacity`, and the oldest goes. How long
//!   one may wait: `max_hold`; during a release it then goes behind those that are being read. Q may stay above X
//!   for as long as something feeds it that no held ACK stops: flows whose ACKs return by another port (the paper's
//!   "non-symmetric traffic"), a balancer's probes on a slow link. Held senders would run into their timeouts, without
//!   a bound for ever. ACKs that go for either reason get ECE, since the queue is still congested; both are counted.
//!   The paper has neither bound: the bundle `abq` sets `max_hold = "none"`.
//! * An ACK that bears ECE already, or CWR, is an ACK; ECE set again changes nothing, nor its checksum.
//! * An ACK is a packet with the ACK flag and neither payload nor SYN, FIN, RST; a duplicate is one. A FIN
//!   that overtakes held ACKs does no harm: it is of another flow, or acknowledges no less than they do.
//! * Every output port is watched, those towards switches too.
//!
//! The authors' release differs from the paper: it shrinks the receive window instead of setting ECE,
//! keeps only the newest ACK of a flow, releases last in, first out within a budget of bytes, and has
//! K = 10. That is not here: packets carry no receive window, and holds know no order but arrival's.
//!
//! Provenance: paper.

use super::{Entry, Held, Ingress, IngressHold, Needs, Unit};
use crate::{
    Amount, Demands, Footprint, Inspect, Kind, Meaning, Param, ParamError, Params, Provenance,
    SchemeInfo, SwitchEnv, parameters,
};
use leafspine_core::{PacketMeta, PortId, Span, Time};

/// A port's state (ABQ Fig. 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// US: ACKs pass.
    Uncongested,
    /// CS: Q > K. The largest queue of this spell, Qmax.
    Congested { peak: u32 },
    /// LCS, and the end of CS between K and the first X: the queue at which ACKs go next, X.
    Light { level: u32 },
}

struct Abq {
    /// What K, X and Q are in.
    unit: Unit,
    /// K.
    threshold: u32,
    /// Below this X is zero.
    floor: u32,
    /// The corrector also acts on ACKs whose spell had no X.
    ece_below_floor: bool,
    /// The time to read an ACK.
    pace: Span,
    /// The congestion window corrector.
    corrector: bool,
    capacity: usize,
    max_hold: Option<Span>,
    ports: Vec<State>,
}

impl Abq {
    /// Algorithm 1, run at a change of the queue: the state after it, and whether ACKs go.
    fn step(&self, state: State, queue: u32) -> (State, Held) {
        // Lines 1 and 2. Above K again is a new spell, from a Qmax of its own.
        if queue > self.threshold {
            let State::Congested { peak } = state else {
                // CS: "Q_in does not dequeue Ack packets", those of a release that is not over either.
                let held = if self.pace > Span::ZERO { Held::Stop } else { Held::Keep };
                return (State::Congested { peak: queue }, held);
            };
            return (State::Congested { peak: peak.max(queue) }, Held::Keep);
        }
        let level = match state {
            State::Uncongested => return (state, Held::Keep),
            State::Light { level } => level,
            State::Congested { peak } => {
                // "Once in congestion state, X = min(Qmax - K, K)."
                let level = (peak - self.threshold).min(self.threshold);
                // "If X is less than the size of four MTUs, X is set as zero and ABQ is in US."
                if level < self.floor {
                    let ece = self.corrector && self.ece_below_floor;
                    return (State::Uncongested, Held::Release { ece });
                }
                level
            }
        };
        // Line 3.
        if queue > level {
            return (State::Light { level }, Held::Keep);
        }
        // Line 7, and the corrector: LCS, "including CS changing to LCS and LCS changing to US".
        (self.halve(level, queue), Held::Release { ece: self.corrector })
    }

    /// Lines 4 to 6, as often as they apply to a queue of this length.
    fn halve(&self, mut level: u32, queue: u32) -> State {
        while queue <= level {
            level /= 2;
            if level < self.floor {
                return State::Uncongested;
            }
        }
        State::Light { level }
    }
}

impl IngressHold for Abq {
    fn needs(&self) -> Needs {
        Needs {
            capacity: self.capacity,
            max_hold: self.max_hold,
            ece_when_forced: self.corrector,
            unit: self.unit,
            pace: self.pace,
        }
    }

    /// "Enqueue Discipline" and IsAck: while a port is not in US its ACKs stay; data never does.
    fn arrived(&mut self, packet: &PacketMeta, port: PortId, _: u32, _: Time) -> Ingress {
        if !packet.is_pure_ack() {
            return Ingress::Pass;
        }
        match self.ports[usize::from(port.0)] {
            // "In US, Q_in dequeues Ack packets as long as Q_in is not empty": it is a FIFO queue.
            State::Uncongested if self.pace > Span::ZERO => Ingress::Follow,
            State::Uncongested => Ingress::Pass,
            State::Congested { .. } | State::Light { .. } => Ingress::Hold,
        }
    }

    fn backlog_changed(&mut self, port: PortId, backlog: u32, _: Time) -> Held {
        let (state, held) = self.step(self.ports[usize::from(port.0)], backlog);
        self.ports[usize::from(port.0)] = state;
        held
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Abq {
    fn footprint(&self, _: Time) -> Footprint {
        let per_port = size_of::<State>();
        let bytes = (size_of::<Abq>() + self.ports.len() * per_port) as u64;
        Footprint { bytes, per_port: per_port as u32, ..Footprint::default() }
    }
}

/// K and the floor of X in the unit that both must have.
fn sizes(threshold: Amount, floor: Amount) -> Result<(Unit, u32, u32), ParamError> {
    let fits = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    match (threshold, floor) {
        (Amount::Packets(threshold), Amount::Packets(floor)) => {
            Ok((Unit::Packets, threshold, floor))
        }
        (Amount::Bytes(threshold), Amount::Bytes(floor)) => {
            Ok((Unit::Bytes, fits(threshold), fits(floor)))
        }
        (_, floor) => {
            let (unit, example) = match threshold {
                Amount::Packets(_) => ("packets", "4pkt"),
                Amount::Bytes(_) => ("bytes", "6KB"),
            };
            let allowed = format!("{unit} as in threshold, such as \"{example}\"");
            Err(ParamError::new("floor", floor, allowed))
        }
    }
}

parameters! {
    struct Settings {
        threshold: Amount = Param::new(
            Kind::Amount,
            "max(20pkt, 1bdp)",
            "K, in packets or bytes: a longer queue is congested.",
        )
        .means(Meaning::Backlog),
        floor: Amount = Param::new(
            Kind::Amount,
            "max(4pkt, 0.2bdp)",
            "In the unit of threshold: an X below this ends the congestion.",
        ),
        corrector: bool = Param::new(
            Kind::Bool,
            "true",
            "Whether ACKs that were held go on with ECE.",
        ),
        ece_below_floor: bool = Param::new(
            Kind::Bool,
            "false",
            "Whether they do, too, where the queue's peak was below threshold + floor.",
        )
        .quiet(),
        pace: Span = Param::new(
            Kind::Span(0, 1_000_000_000_000),
            "0ns",
            "The time in which a release lets each ACK go after the one before; 0: all at once.",
        )
        .quiet(),
        capacity: usize = Param::new(
            Kind::Int(1, 1 << 20),
            "1024",
            "ACKs that a port holds at most; the oldest goes on when one more comes.",
        ),
        max_hold: Option<Span> = Param::new(
            Kind::SpanOr(1, u64::MAX, "none"),
            "50rtt",
            "The longest time that an ACK is held.",
        ),
    }
}

fn make(params: &Params, env: &SwitchEnv) -> Result<Abq, ParamError> {
    let settings = Settings::read(params)?;
    let (unit, threshold, floor) = sizes(settings.threshold, settings.floor)?;
    Ok(Abq {
        unit,
        threshold,
        floor,
        ece_below_floor: settings.ece_below_floor,
        pace: settings.pace,
        corrector: settings.corrector,
        capacity: settings.capacity,
        max_hold: settings.max_hold,
        ports: vec![State::Uncongested; env.ports.len()],
    })
}

fn build(params: &Params, env: &SwitchEnv) -> Result<Box<dyn IngressHold>, ParamError> {
    Ok(Box::new(make(params, env)?))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "abq",
        summary: "Keeps ACKs back while the queue that their port sends from is long, and lets them \
                  go with ECE as it shrinks.",
        source: "Active Buffer Queueing (ABQ), IEEE Network, March/April 2020, Fig. 2, Algorithm 1",
        provenance: Provenance::Paper,
        unspecified: &[
            "An X of exactly four packets counts (Algorithm 1; the text's formula makes it zero).",
            "A peak below threshold + floor lets all go as soon as the queue is back at the threshold, \
             without ECE (the text; Algorithm 1 would wait for fewer than four packets): `ece_below_floor`.",
            "K is 20 packets in the text and words in Algorithm 1: in packets, or with threshold and floor in \
             bytes all in bytes.",
            "A release takes no time; with `pace` ACKs are read one by one, those that come meanwhile wait for \
             the next release or, uncongested, follow, and a queue above the threshold stops it.",
            "A queue that falls past several X at once takes all the halvings at once.",
            "Qmax is the largest queue since it last rose above the threshold.",
            "The hold has room for 1024 ACKs a port; when it is full the oldest goes on, with ECE.",
            "An ACK waits 50 base round trips at most, and goes on with ECE, behind those that a paced release is \
             reading; the paper has no bound, nor has the bundle.",
            "ACKs without payload, SYN, FIN or RST are held, duplicates among them; all output ports.",
            "The authors' release shrinks the receive window instead of setting ECE and holds otherwise: \
             not offered.",
        ],
        params: Settings::PARAMS,
        demands: Demands::NONE,
    },
    build,
};

#[cfg(test)]
#[path = "abq_tests.rs"]
mod tests;
