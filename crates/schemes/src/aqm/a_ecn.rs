//! A-ECN: a marking threshold per queue that moves with what the queue needs.
//!
//! Source: Wang, Zhang, Huang, Pan, Liu and Liu, "A-ECN Minimizing Queue Length for Datacenter
//! Networks", IEEE Access 8, 2020; reconstructed from its descriptions. Its abstract has thresholds
//! that adapt by themselves, so that queues are short and links stay busy, under any scheduler.
//! AQ-CAR (§I, its reference 14) has it compared: an adaptive ECN marking scheme "that does not
//! consider time interval, as in MQ-ECN, to update the marking threshold. Instead, it uses the
//! number of enqueued packets as the interval". What moves the threshold is not stated there.
//! Chosen here: after every `interval` packets enqueued in a queue, its threshold goes up by a step
//! if the queue ran empty meanwhile (it lost throughput), and down by a step if it did not (it only
//! adds delay), within `lowest` and `threshold`.
//!
//! State per service queue: 12 bytes. Cost per packet: two comparisons and a count.
//!
//! A queue runs empty if a packet finds nothing waiting in it on arrival. Packets are marked at enqueue, as by
//! `ecn-threshold`; packets that are not ECN-capable pass. With a threshold in bytes the step is a
//! full-sized packet and `lowest` counts such packets.
//!
//! Provenance: reconstructed.

use super::{Admit, Aqm, Entry};
use crate::{
    Amount, Demands, Footprint, Inspect, Kind, Meaning, Param, ParamError, Params, Provenance,
    QueueView, SchemeInfo, SwitchEnv, parameters,
};
use leafspine_core::{Ecn, PacketMeta, PortId, Rng, Time};

/// A service queue.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// Marking threshold, in steps.
    threshold: u32,
    /// Packets enqueued in this interval.
    enqueued: u32,
    /// Whether it ran empty in this interval.
    ran_empty: bool,
}

struct AEcn {
    /// What one step is.
    step: Amount,
    lowest: u32,
    highest: u32,
    interval: u32,
    queues: Vec<Queue>,
}

impl AEcn {
    fn reached(&self, threshold: u32, queue: &QueueView) -> bool {
        match self.step {
            Amount::Packets(_) => queue.this.packets >= threshold,
            Amount::Bytes(step) => u64::from(queue.this.bytes) >= u64::from(threshold) * step,
        }
    }
}

impl Queue {
    /// Counts a packet; at the end of an interval the threshold moves.
    fn count(&mut self, found_empty: bool, interval: u32, lowest: u32, highest: u32) {
        self.ran_empty |= found_empty;
        self.enqueued += 1;
        if self.enqueued < interval {
            return;
        }
        self.threshold = match self.ran_empty {
            true => self.threshold.saturating_add(1).min(highest),
            false => (self.threshold - 1).max(lowest),
        };
        (self.enqueued, self.ran_empty) = (0, false);
    }
}

impl Aqm for AEcn {
    fn admit(&mut self, packet: &PacketMeta, view: &QueueView, _: Time, _: &mut Rng) -> Admit {
        let (interval, lowest, highest) = (self.interval, self.lowest, self.highest);
        let queue = &mut self.queues[usize::from(view.queue)];
        queue.count(view.this.packets == 0, interval, lowest, highest);
        let threshold = queue.threshold;
        match self.reached(threshold, view) && packet.ecn != Ecn::NotCapable {
            true => Admit::Mark,
            false => Admit::Take,
        }
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for AEcn {
    fn footprint(&self, _: Time) -> Footprint {
        let bytes = self.queues.len() * size_of::<Queue>();
        Footprint { bytes: bytes as u64, per_port: bytes as u32, ..Footprint::default() }
    }
}

parameters! {
    struct Settings {
        threshold: Amount = Param::new(
            Kind::Amount,
            "max(20pkt, 1bdp)",
            "The largest marking threshold of a queue, and the first.",
        )
        .means(Meaning::Backlog),
        lowest: u32 = Param::new(
            Kind::Int(1, 1_000_000),
            "2",
            "The smallest marking threshold, in (full-sized) packets.",
        ),
        interval: u32 = Param::new(
            Kind::Int(1, 1_000_000),
            "64",
            "Packets enqueued in a queue between two moves of its threshold.",
        ),
    }
}

fn make(params: &Params, env: &SwitchEnv) -> Result<AEcn, ParamError> {
    let settings = Settings::read(params)?;
    let (step, highest) = match settings.threshold {
        Amount::Packets(packets) => (Amount::Packets(1), packets),
        Amount::Bytes(bytes) => {
            let mtu = u64::from(env.mtu);
            (Amount::Bytes(mtu), (bytes / mtu).min(u64::from(u32::MAX)) as u32)
        }
    };
    let lowest = settings.lowest;
    if lowest > highest {
        let most = settings.threshold;
        let of_threshold = format!("at least lowest, {lowest} packets");
        return Err(ParamError::new("lowest", lowest, format!("at most the threshold, {most}"))
            .or(ParamError::new("threshold", most, of_threshold)));
    }
    let queue = Queue { threshold: highest, enqueued: 0, ran_empty: false };
    Ok(AEcn {
        step,
        lowest,
        highest,
        interval: settings.interval,
        queues: vec![queue; usize::from(env.queues)],
    })
}

fn build(params: &Params, env: &SwitchEnv, _: PortId) -> Result<Box<dyn Aqm>, ParamError> {
    Ok(Box::new(make(params, env)?))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "a-ecn",
        summary: "Marks at a threshold per queue that falls while the queue never runs empty.",
        source: "Wang et al., A-ECN, IEEE Access 2020, as AQ-CAR describes and compares it",
        provenance: Provenance::Reconstructed,
        unspecified: &[
            "How the threshold moves: by one packet after every interval, up if the queue ran empty \
             in it, down if it did not, between lowest and threshold; it starts at threshold.",
            "How many packets an interval has: 64.",
            "A queue ran empty if an arriving packet found nothing waiting in it.",
            "Packets that are not ECN-capable pass.",
        ],
        params: Settings::PARAMS,
        demands: Demands::NONE,
    },
    build,
    marks: |_| true,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use crate::testing::{FakeLeaf, control, data, queue_view, stated};
    use leafspine_core::{Bytes, Flags, Role};

    /// Thresholds from 2 to 10 packets, intervals of 4.
    fn small(threshold: Amount) -> AEcn {
        let params = stated(ENTRY.info.params, &[("threshold", "65pkt")])
            .with("threshold", Value::Amount(threshold))
            .with("interval", Value::Int(4));
        make(&params, &FakeLeaf::new(1, 1, 1).env).unwrap()
    }

    fn admit(aqm: &mut AEcn, waiting: u32) -> Admit {
        let mut rng = Rng::new(1, Role::Aqm, 0);
        aqm.admit(&data(0, 1, 1, 0), &queue_view(waiting, true), Time::ZERO, &mut rng)
    }

    /// The thresholds after each of so many intervals in which the queue has these lengths.
    fn thresholds(aqm: &mut AEcn, intervals: usize, lengths: [u32; 4]) -> Vec<u32> {
        let mut interval = || {
            for waiting in lengths {
                admit(aqm, waiting);
            }
            aqm.queues[0].threshold
        };
        (0..intervals).map(|_| interval()).collect()
    }

    /// Breaks if a queue that never runs empty keeps its threshold, or loses more than one a time.
    #[test]
    fn a_standing_queue_lowers_its_threshold() {
        let mut aqm = small(Amount::Packets(10));
        let expected = [9, 8, 7, 6, 5, 4, 3, 2, 2, 2];
        assert_eq!(thresholds(&mut aqm, 10, [1, 2, 3, 1]), expected);
    }

    /// Breaks if one empty moment in an interval does not raise the threshold, or if it passes its
    /// bound.
    #[test]
    fn an_empty_queue_raises_it() {
        let mut aqm = small(Amount::Packets(10));
        thresholds(&mut aqm, 3, [5; 4]);
        assert_eq!(thresholds(&mut aqm, 5, [3, 0, 3, 3]), [8, 9, 10, 10, 10]);
        assert_eq!(thresholds(&mut aqm, 2, [5; 4]), [9, 8], "an interval forgets the one before");
    }

    /// Breaks if a threshold as high as any goes round to 0, and then marks everything.
    #[test]
    fn the_highest_threshold_stays() {
        let mut aqm = small(Amount::Packets(u32::MAX));
        assert_eq!(thresholds(&mut aqm, 2, [0; 4]), [u32::MAX; 2]);
        assert_eq!(admit(&mut aqm, 1_000_000), Admit::Take);
    }

    /// Breaks if the threshold that has moved is not the one that marks.
    #[test]
    fn the_moved_threshold_marks() {
        let mut aqm = small(Amount::Packets(10));
        assert_eq!([admit(&mut aqm, 9), admit(&mut aqm, 10)], [Admit::Take, Admit::Mark]);
        admit(&mut aqm, 5);
        admit(&mut aqm, 5);
        assert_eq!([admit(&mut aqm, 8), admit(&mut aqm, 9)], [Admit::Take, Admit::Mark]);
    }

    /// Breaks if one queue's history moves another's threshold, or what waits in one keeps another from
    /// being empty.
    #[test]
    fn queues_are_apart() {
        let mut aqm = small(Amount::Packets(10));
        thresholds(&mut aqm, 4, [5; 4]);
        assert_eq!([aqm.queues[0].threshold, aqm.queues[1].threshold], [6, 10]);
        let mut rng = Rng::new(1, Role::Aqm, 0);
        let mut beside = |waiting| {
            let this = queue_view(waiting, true).this;
            let view = QueueView { queue: 1, this, ..queue_view(50, true) };
            for _ in 0..4 {
                aqm.admit(&data(0, 1, 1, 0), &view, Time::ZERO, &mut rng);
            }
            aqm.queues[1].threshold
        };
        assert_eq!([beside(1), beside(1), beside(0)], [9, 8, 9]);
    }

    /// Breaks if a threshold in bytes is not counted in full-sized packets: 15 KB are ten.
    #[test]
    fn bytes_move_by_full_packets() {
        let mut aqm = small(Amount::Bytes(15_000));
        assert_eq!([admit(&mut aqm, 9), admit(&mut aqm, 10)], [Admit::Take, Admit::Mark]);
        thresholds(&mut aqm, 1, [5; 4]);
        assert_eq!(aqm.queues[0].threshold, 9);
    }

    /// Breaks if a pure ACK is marked.
    #[test]
    fn what_is_not_capable_passes() {
        let mut aqm = small(Amount::Packets(10));
        let (ack, view) = (control(0, 1, 1, Flags::ACK), queue_view(200, true));
        let verdict = aqm.admit(&ack, &view, Time::ZERO, &mut Rng::new(1, Role::Aqm, 0));
        assert_eq!(verdict, Admit::Take);
    }

    /// Breaks if bounds that cross are taken: less than a full packet leaves nothing to move in.
    #[test]
    fn the_bounds_must_not_cross() {
        let params = stated(ENTRY.info.params, &[("threshold", "65pkt")])
            .with("threshold", Value::Amount(Amount::Bytes(2_000)));
        let error = make(&params, &FakeLeaf::new(1, 1, 1).env).err().unwrap();
        let expected = format!("lowest: found 2; allowed: at most the threshold, {}", Bytes(2_000));
        assert_eq!(error.to_string(), expected);
    }
}
