//! MQ-ECN: a marking threshold per queue, in proportion to the rate that the scheduler gives it.
//!
//! Source: Bai, Chen, Chen and Wu, "Enabling ECN in Multi-Service Multi-Queue Data
//! Centers", NSDI 2016. A queue of a round-robin scheduler that sends `quantum_q` bytes each
//! round of `T_round` has the rate `quantum_q / T_round`, at most the line's C. Its threshold is
//! that rate times `RTT x lambda`:
//!
//! `K_q = min(quantum_q / (T_round C), 1) K_port`, with `K_port = C x RTT x lambda`.
//!
//! `T_round` is smoothed, `T_round <- beta T_round + (1 - beta) T_sample` with beta = 0.75; a
//! sample is taken whenever a queue has finished its turn: the time since it joined the round, which
//! is when it last finished a turn or found something to send. While the port is idle, T_round decays
//! by beta for every 1500 bytes that the line could have sent, so that a new burst on an idle port is
//! not judged by an old round.
//!
//! State per port: 80 bytes; per service queue 24. Cost per packet: two multiplications; a turn's
//! end one more. The comparison `backlog >= K_q` is multiplied out, so nothing is divided.
//!
//! Unspecified in the source: what a queue's turn is when it empties and refills within it; here
//! the turn goes on while its credit lasts, and is measured from its beginning. The last turn before the
//! port falls idle is over when the line has sent its last packet; the scheduler reports it only when the
//! next packet comes, so its sample is aged with the round. Packets are marked at enqueue; those that are not
//! ECN-capable pass. With strict priority there are no rounds: refused. A WRR turn of w packets is taken as w
//! full-sized packets.
//!
//! Provenance: paper.

use super::{Admit, Aqm, Entry};
use crate::{
    Amount, Demands, Footprint, Inspect, Kind, Meaning, Param, ParamError, Params, Provenance,
    QueueView, SchemeInfo, SwitchEnv, parameters,
};
use leafspine_core::{Ecn, PacketMeta, PortId, Rate, Rng, Span, Time};

/// beta = 0.75, over 4: shifts instead of divisions.
const KEPT: u64 = 3;
/// What the line could have sent while T_round decays once.
const IDLE_BYTES: u64 = 1500;
/// So many decays leave nothing of a round of an hour.
const MOST_DECAYS: u64 = 160;

/// A service queue of a port.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// When it joined the present round.
    joined: Time,
    /// Bytes of a turn.
    quantum: u64,
    /// The time these bytes take on the line.
    turn: Span,
}

struct MqEcn {
    threshold: Amount,
    round: Span,
    rate: Rate,
    /// The time of [`IDLE_BYTES`] on the line.
    idle_step: Span,
    /// When the line will have sent all that was accepted.
    free_at: Time,
    /// The last idle spell: when the line had sent all, when something came again, and how often the
    /// round has decayed meanwhile.
    fell_idle: Time,
    resumed: Time,
    decays: u32,
    queues: Vec<Queue>,
}

impl MqEcn {
    /// All times that depend on the line's rate.
    fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
        self.idle_step = rate.time_for(IDLE_BYTES).max(Span(1));
        for queue in &mut self.queues {
            queue.turn = rate.time_for(queue.quantum);
        }
    }

    /// T_round decays while the line has nothing to send.
    fn resume(&mut self, now: Time) {
        (self.fell_idle, self.resumed) = (self.free_at.min(now), now);
        // Divides once per idle spell, and not at all on a busy port.
        let idle = now.since(self.fell_idle).0;
        self.decays = (idle / self.idle_step.0).min(MOST_DECAYS) as u32;
        self.round = decayed(self.round, self.decays);
    }

    /// Keeps `free_at`: the line sends what it accepts, one packet after the other.
    fn account(&mut self, size: u16, now: Time) {
        let sending = self.idle_step.0 / IDLE_BYTES * u64::from(size);
        self.free_at = self.free_at.max(now) + Span(sending);
    }

    /// Whether the backlog has reached K_q = min(turn / T_round, 1) K_port, multiplied out.
    fn reached(&self, view: &QueueView) -> bool {
        let turn = self.queues[usize::from(view.queue)].turn;
        let round = u128::from(self.round.0.max(turn.0));
        let (backlog, threshold) = match self.threshold {
            Amount::Packets(k) => (u128::from(view.this.packets), u128::from(k)),
            Amount::Bytes(k) => (u128::from(view.this.bytes), u128::from(k)),
        };
        backlog * round >= threshold * u128::from(turn.0)
    }
}

/// What so many decays leave of a round.
fn decayed(round: Span, decays: u32) -> Span {
    (0..decays).fold(round, |round, _| Span(round.0 / 4 * KEPT))
}

impl Aqm for MqEcn {
    fn admit(&mut self, packet: &PacketMeta, view: &QueueView, now: Time, _: &mut Rng) -> Admit {
        if view.rate != self.rate {
            self.set_rate(view.rate);
        }
        if view.port_total.packets == 0 && view.port_total.in_service == 0 {
            self.resume(now);
        }
        self.account(packet.size, now);
        if view.this.packets == 0 {
            self.queues[usize::from(view.queue)].joined = now;
        }
        match self.reached(view) && packet.ecn != Ecn::NotCapable {
            true => Admit::Mark,
            false => Admit::Take,
        }
    }

    /// One sample of the round time, smoothed.
    fn turn_ended(&mut self, queue: u8, since: Time, now: Time) {
        // A turn that began before the idle spell ended with it, and has aged since.
        let (ended, decays) = match since < self.resumed {
            true => (self.fell_idle, self.decays),
            false => (now, 0),
        };
        let queue = &mut self.queues[usize::from(queue)];
        // What came into the emptied queue during the turn has not begun another.
        let joined = queue.joined.min(since);
        queue.joined = queue.joined.max(ended);
        let sample = decayed(ended.since(joined), decays);
        self.round = Span(self.round.0 / 4 * KEPT + sample.0 / 4);
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for MqEcn {
    fn footprint(&self, _: Time) -> Footprint {
        let bytes = size_of::<MqEcn>() + self.queues.len() * size_of::<Queue>();
        Footprint { bytes: bytes as u64, per_port: bytes as u32, ..Footprint::default() }
    }
}

parameters! {
    struct Settings {
        threshold: Amount = Param::new(
            Kind::Amount,
            "max(20pkt, 1bdp)",
            "The port's standard threshold, C x RTT x lambda.",
        )
        .means(Meaning::Backlog),
    }
}

fn make(params: &Params, env: &SwitchEnv, port: PortId) -> Result<MqEcn, ParamError> {
    let settings = Settings::read(params)?;
    if env.queues > 1 && !env.in_turns {
        return Err(ParamError::new(
            "scheme",
            "\"mq-ecn\" over strict priorities",
            "a scheduler that serves queues in turns, \"wrr\" or \"dwrr\"",
        ));
    }
    let quantum = |weight: &u32| u64::from(*weight) * u64::from(env.mtu);
    let queue = |weight| Queue { joined: Time::ZERO, quantum: quantum(weight), turn: Span(0) };
    let mut made = MqEcn {
        threshold: settings.threshold,
        round: Span(0),
        rate: Rate(0),
        idle_step: Span(1),
        free_at: Time::ZERO,
        fell_idle: Time::ZERO,
        resumed: Time::ZERO,
        decays: 0,
        queues: env.weights.iter().map(queue).collect(),
    };
    let rate = env.ports.get(usize::from(port.0)).map_or(Rate::from_gbps(1), |port| port.rate);
    made.set_rate(rate);
    Ok(made)
}

fn build(params: &Params, env: &SwitchEnv, port: PortId) -> Result<Box<dyn Aqm>, ParamError> {
    Ok(Box::new(make(params, env, port)?))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "mq-ecn",
        summary: "Marks at a threshold per queue that follows the rate its scheduler gives it.",
        source: "Bai et al., MQ-ECN, NSDI 2016",
        provenance: Provenance::Paper,
        unspecified: &[
            "A queue that empties and refills within its turn goes on with it; the turn is measured \
             from its beginning.",
            "The last turn before the port falls idle ends when the line falls idle.",
            "A WRR turn of w packets counts as w full-sized packets.",
            "Packets that are not ECN-capable pass.",
            "At hosts' own ports, which have one queue, the threshold is the port's.",
        ],
        params: Settings::PARAMS,
        demands: Demands { queues: 2, ..Demands::NONE },
    },
    build,
    marks: |_| true,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FakeLeaf, control, data, queue_view, stated};
    use crate::{Backlog, Value};
    use leafspine_core::{Flags, Role};

    /// The time of 1500 bytes at 10 Gb/s.
    const PACKET: u64 = 1_200_000;

    /// Two queues of weights 1 and 3 at 10 Gb/s, K_port = 64 packets.
    fn made() -> MqEcn {
        let params = stated(ENTRY.info.params, &[("threshold", "65pkt")])
            .with("threshold", Value::Amount(Amount::Packets(64)));
        let mut env = FakeLeaf::new(1, 1, 1).env;
        env.weights = vec![1, 3];
        make(&params, &env, PortId(0)).unwrap()
    }

    fn view(queue: u8, waiting: u32) -> QueueView {
        QueueView { queue, ..queue_view(waiting, true) }
    }

    fn admit(aqm: &mut MqEcn, queue: u8, waiting: u32, now: Time) -> Admit {
        let mut rng = Rng::new(1, Role::Aqm, 0);
        aqm.admit(&data(0, 1, 1, 0), &view(queue, waiting), now, &mut rng)
    }

    /// The smallest backlog of `queue` that is marked.
    fn threshold(aqm: &MqEcn, queue: u8) -> u32 {
        (0..200).find(|waiting| aqm.reached(&view(queue, *waiting))).unwrap()
    }

    /// Breaks if K_q is not min(quantum / (T_round C), 1) K_port (the source's formula): a round of 8 packet
    /// times gives a turn of 1 packet an eighth of 64, one of 3 three eighths; a round
    /// shorter than the turn gives all.
    #[test]
    fn thresholds_follow_the_round() {
        let mut aqm = made();
        aqm.round = Span(8 * PACKET);
        assert_eq!([threshold(&aqm, 0), threshold(&aqm, 1)], [8, 24]);
        aqm.round = Span(2 * PACKET);
        assert_eq!([threshold(&aqm, 0), threshold(&aqm, 1)], [32, 64]);
        aqm.round = Span(0);
        assert_eq!([threshold(&aqm, 0), threshold(&aqm, 1)], [64, 64]);
    }

    /// Breaks if the round time is not smoothed with 0.75, or if a sample is not the time since the
    /// queue joined the round: four turns of a round of 8 packet times, hand-worked.
    #[test]
    fn the_round_is_smoothed() {
        let mut aqm = made();
        admit(&mut aqm, 0, 0, Time(0));
        let mut rounds = Vec::new();
        for turn in 1..=4 {
            aqm.turn_ended(0, Time((turn * 8 - 1) * PACKET), Time(turn * 8 * PACKET));
            rounds.push(aqm.round.0 as f64 / PACKET as f64);
        }
        assert_eq!(rounds, [2.0, 3.5, 4.625, 5.468_75]);
    }

    /// Breaks if a queue that was empty is measured from its last turn instead of its arrival.
    #[test]
    fn a_queue_joins_when_it_has_something() {
        let mut aqm = made();
        admit(&mut aqm, 0, 0, Time(100 * PACKET));
        admit(&mut aqm, 0, 3, Time(102 * PACKET));
        aqm.turn_ended(0, Time(103 * PACKET), Time(104 * PACKET));
        assert_eq!(aqm.round, Span(PACKET));
    }

    /// Breaks if a packet that comes into the queue while its last one is sent shortens the turn that
    /// this one has: the turn begins at 102 and ends at 106, a quarter of it is one packet's time.
    #[test]
    fn a_refill_is_in_the_same_turn() {
        let mut aqm = made();
        admit(&mut aqm, 0, 0, Time(102 * PACKET));
        admit(&mut aqm, 0, 0, Time(105 * PACKET));
        aqm.turn_ended(0, Time(102 * PACKET), Time(106 * PACKET));
        assert_eq!(aqm.round, Span(PACKET));
        aqm.turn_ended(0, Time(107 * PACKET), Time(110 * PACKET));
        assert_eq!(aqm.round.0 * 4 / PACKET, 3 + 4, "joined again at 106");
    }

    /// Breaks if the time for which the port was idle is taken for a round, whichever queue the next
    /// packet comes into: a packet of queue 0 is sent at 0, the next comes 10 ms later.
    #[test]
    fn idleness_is_no_round() {
        for next in [0, 1] {
            let idle = Backlog::default();
            let mut aqm = made();
            let mut rng = Rng::new(1, Role::Aqm, 0);
            let later = Time(Span::from_millis(10).0);
            for (queue, now) in [(0, Time(0)), (next, later)] {
                let nothing = QueueView { this: idle, port_total: idle, ..view(queue, 0) };
                aqm.admit(&data(0, 1, 1, 0), &nothing, now, &mut rng);
            }
            aqm.turn_ended(0, Time(0), later);
            assert_eq!(threshold(&aqm, next), 64, "the next in queue {next}: {:?}", aqm.round);
            aqm.turn_ended(next, later, later + Span(4 * PACKET));
            assert_eq!(aqm.round, Span(PACKET), "a turn that began after it counts");
        }
    }

    /// Breaks if the sample of the last turn before a short idle spell is lost, or not aged as the
    /// round is: four packets' time, a quarter of it, three quarters of that for one packet's idleness.
    #[test]
    fn the_last_turn_ages_with_the_round() {
        let idle = Backlog::default();
        let mut aqm = made();
        let mut rng = Rng::new(1, Role::Aqm, 0);
        let nothing = QueueView { this: idle, port_total: idle, ..view(0, 0) };
        aqm.admit(&data(0, 1, 1, 0), &nothing, Time(0), &mut rng);
        for waiting in 0..3 {
            admit(&mut aqm, 0, waiting, Time(0));
        }
        aqm.admit(&data(0, 1, 1, 0), &nothing, Time(5 * PACKET), &mut rng);
        aqm.turn_ended(0, Time(0), Time(5 * PACKET));
        assert_eq!(aqm.round, Span(PACKET / 4 * 3));
    }

    /// Breaks if an idle line does not shorten the round by a quarter for every 1500 bytes that it
    /// could have sent, or if a busy one does.
    #[test]
    fn the_round_decays_while_idle() {
        let idle = Backlog::default();
        let nothing = QueueView { this: idle, port_total: idle, ..view(0, 0) };
        let mut aqm = made();
        let mut rng = Rng::new(1, Role::Aqm, 0);
        let mut arrive = |aqm: &mut MqEcn, packets| {
            aqm.admit(&data(0, 1, 1, 0), &nothing, Time(packets * PACKET), &mut rng);
            aqm.round.0 / PACKET
        };
        aqm.round = Span(64 * PACKET);
        assert_eq!(arrive(&mut aqm, 0), 64);
        // Sent at 1; at 4 it has been idle for three packets' times.
        assert_eq!(arrive(&mut aqm, 4), 27);
        assert_eq!(arrive(&mut aqm, 5), 27);
        admit(&mut aqm, 0, 9, Time(500 * PACKET));
        assert_eq!(aqm.round.0 / PACKET, 27, "a port with a backlog is not idle");
    }

    /// Breaks if a changed rate leaves the old times.
    #[test]
    fn a_slower_line_has_longer_turns() {
        let mut aqm = made();
        aqm.round = Span(80 * PACKET);
        let slow = QueueView { rate: Rate::from_gbps(1), ..view(0, 8) };
        let verdict = aqm.admit(&data(0, 1, 1, 0), &slow, Time(0), &mut Rng::new(1, Role::Aqm, 0));
        assert_eq!((verdict, threshold(&aqm, 0)), (Admit::Mark, 8));
    }

    /// Breaks if a pure ACK is marked.
    #[test]
    fn what_is_not_capable_passes() {
        let mut aqm = made();
        let mut rng = Rng::new(1, Role::Aqm, 0);
        let verdict = aqm.admit(&control(0, 1, 1, Flags::ACK), &view(0, 200), Time(0), &mut rng);
        assert_eq!(verdict, Admit::Take);
    }

    /// Breaks if a scheduler without rounds is taken, or a port with one queue is not.
    #[test]
    fn strict_priorities_have_no_rounds() {
        let env = SwitchEnv { in_turns: false, ..FakeLeaf::new(1, 1, 1).env };
        let error = make(&stated(ENTRY.info.params, &[("threshold", "65pkt")]), &env, PortId(0))
            .err()
            .unwrap();
        assert!(error.to_string().contains("over strict priorities"), "{error}");
        let host = SwitchEnv { queues: 1, weights: vec![1], ..env };
        let aqm =
            make(&stated(ENTRY.info.params, &[("threshold", "65pkt")]), &host, PortId(0)).unwrap();
        assert_eq!(threshold(&aqm, 0), 65, "a host's port has one queue, and all of the threshold");
    }
}
