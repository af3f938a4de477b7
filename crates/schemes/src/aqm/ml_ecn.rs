//! ML-ECN: marks by several thresholds, each service queue by a rule for its class of flows.
//!
//! Source: Alanazi and Hamdaoui, "AQ-CAR: Adaptive-Queueing Congestion-Aware Routing for Datacenter
//! Traffic Forwarding", §II-B3a (the marking of AQ-CAR, whose scheduler is §II-B3b's WRR). Packets are
//! marked at dequeue ("marks all dequeued packets"). K cut into L levels gives thresholds
//! `TL_i = i K / L`; i is the number of them that the packet's queue has reached.
//!
//! | queue | port total < K | port total >= K |
//! | --- | --- | --- |
//! | small | all if the queue has reached K | the same |
//! | medium | stage s of S: with probability `max(0, i - (S - s)) / L` | all if the queue has reached TL_1 |
//! | large | all stages: with probability `i / L` | all |
//!
//! So at the first threshold only the flows of the largest medium stage are marked, and each further
//! one takes in the next smaller stage and raises the probability of the larger ones. The stage is the
//! DSCP that the host edge `aq-car` wrote; S is the number of ones in `switch.stage_queues`.
//!
//! State per port: none beyond the parameters. Cost per packet: at most L multiplications and
//! comparisons, one random number between the extremes; a port with a real queue.
//!
//! Unspecified or contradictory in the source: the probabilities ("low", "will increase"). The
//! backlog is what the departing packet leaves behind, all sizes alike if K is in packets. "Exceeds"
//! is "has reached", as at every threshold here: the packet itself would be the one more. Below a port
//! total of K the level L is never reached. Packets that are not ECN-capable pass. A host's port of one
//! queue is marked as the small one: at K, as DCTCP does.
//!
//! Provenance: paper; the probabilities are ours.

use super::{Admit, Aqm, Entry, Needs, Release};
use crate::levels::Levels;
use crate::stages::{FlowClass, MEDIUM, SMALL, Stages};
use crate::{
    Amount, Demands, Footprint, Inspect, Kind, Meaning, Param, ParamError, Params, Provenance,
    QueueView, SchemeInfo, SwitchEnv, parameters,
};
use leafspine_core::{Ecn, PacketMeta, PortId, Rng, Span, Time};

struct MlEcn {
    stages: Stages,
    levels: Levels,
}

impl MlEcn {
    /// The marking probability of a packet that leaves `queue`, in parts of L.
    fn odds(&self, tag: u8, queue: &QueueView) -> u32 {
        let all = self.levels.count;
        let reached = self.levels.reached(queue.this);
        if queue.queue == SMALL {
            // "Small service-queue: per-queue standard threshold K."
            return if reached == all { all } else { 0 };
        }
        let pressed = self.levels.reached(queue.port_total) == all;
        match (queue.queue == MEDIUM, pressed) {
            (true, true) if reached >= 1 => all,
            (true, true) => 0,
            // "At the first threshold only flows with maximum stage value; as the level increases,
            // also flows with lower stage values, and the probability increases on larger stages."
            (true, false) => reached.saturating_sub(self.spared(tag)),
            // "Marks all packets regardless of the current queue length."
            (false, true) => all,
            // "All packets at each threshold level with increasing probability."
            (false, false) => reached,
        }
    }

    /// How many levels spare a packet with this tag in the medium queue: S - s.
    fn spared(&self, tag: u8) -> u32 {
        let stage = match self.stages.class(tag) {
            FlowClass::Small => 0,
            FlowClass::Medium(stage) => stage,
            FlowClass::Large => self.stages.medium,
        };
        u32::from(self.stages.medium - stage)
    }
}

impl Aqm for MlEcn {
    fn needs(&self) -> Needs {
        let sends_idle = self.levels.reached(crate::Backlog::default()) == 0;
        Needs { release: true, passes_idle: true, sends_idle, ..Needs::default() }
    }

    fn admit(&mut self, _: &PacketMeta, _: &QueueView, _: Time, _: &mut Rng) -> Admit {
        Admit::Take
    }

    fn release(
        &mut self,
        packet: &mut PacketMeta,
        queue: &QueueView,
        _: Span,
        _: Time,
        rng: &mut Rng,
    ) -> Release {
        if packet.ecn == Ecn::NotCapable {
            return Release::Send;
        }
        let (odds, all) = (self.odds(packet.class, queue), self.levels.count);
        let sure = odds == all;
        let mark = sure || (odds > 0 && rng.below(u64::from(all)) < u64::from(odds));
        if mark { Release::Mark } else { Release::Send }
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for MlEcn {
    fn footprint(&self, _: Time) -> Footprint {
        let bytes = size_of::<MlEcn>();
        Footprint { bytes: bytes as u64, per_port: bytes as u32, ..Footprint::default() }
    }
}

parameters! {
    struct Settings {
        threshold: Amount = Param::new(
            Kind::Amount,
            "max(20pkt, 1bdp)",
            "The standard threshold K, in packets of any size or in bytes.",
        )
        .means(Meaning::Backlog),
        levels: u32 = Param::new(
            Kind::Int(1, 64),
            "4",
            "The number L of threshold levels that K is cut into.",
        ),
    }
}

fn make(params: &Params, env: &SwitchEnv) -> Result<MlEcn, ParamError> {
    let settings = Settings::read(params)?;
    let levels = Levels { whole: settings.threshold, count: settings.levels };
    Ok(MlEcn { stages: Stages::of(&env.stage_queues)?, levels })
}

fn build(params: &Params, env: &SwitchEnv, _: PortId) -> Result<Box<dyn Aqm>, ParamError> {
    Ok(Box::new(make(params, env)?))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "ml-ecn",
        summary: "Marks by several thresholds: small, medium and large flows' queues each by their \
                  own rule, larger flows sooner.",
        source: "Alanazi and Hamdaoui, AQ-CAR, §II-B3a",
        provenance: Provenance::Paper,
        unspecified: &[
            "The probabilities: max(0, i - (S - s)) / L for stage s of S medium ones at level i, \
             i / L for large flows.",
            "A queue counts without the departing packet; \"exceeds\" is \"has reached\".",
            "Packets that are not ECN-capable pass.",
            "A host's port of one queue (`switch.host_ports`) is marked as the small one.",
        ],
        params: Settings::PARAMS,
        demands: Demands { header_bits: 6, header_words: 0, queues: 3 },
    },
    build,
    marks: |_| true,
};

#[cfg(test)]
#[path = "ml_ecn_tests.rs"]
mod tests;
