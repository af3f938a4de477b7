//! AQ-CAR at the host: tags each packet with a stage that rises with the bytes its flow has sent.
//!
//! Source: Alanazi and Hamdaoui, "AQ-CAR: Adaptive-Queueing Congestion-Aware Routing for Datacenter
//! Traffic Forwarding", §II-A: switches should not have to count, so the sender's TCP counts what a
//! flow has sent and tags each packet with the threshold level that the flow has reached; §II-B1: the
//! tag is in the DSCP field, and two thresholds make small, medium and large flows of it.
//!
//! Stage 0 up to `small` bytes of payload, this packet included; 1 to S up to `medium`, S being the
//! number of ones in `switch.stage_queues`; S + 1 beyond. The bounds between have equal ratios: with
//! S = 4, 100 KB and 10 MB they are 316 KB, 1 MB and 3.16 MB. A packet without payload (SYN, ACK) is of
//! stage 0, which the small queue serves.
//!
//! State: the transport's own count of bytes; 8 bytes a bound. Cost per packet: at most S + 1
//! comparisons.
//!
//! Unspecified in the source: the number of stages and their bounds. A retransmission has the stage
//! that its flow has reached, and is not counted again.
//!
//! Provenance: paper.

use super::by_bytes::classify;
use super::{EdgeContext, Entry, FlowView, HostEdge, HostEnv};
use crate::stages::Stages;
use crate::{
    Demands, Footprint, Inspect, Kind, Param, ParamError, Params, Provenance, SchemeInfo,
    parameters,
};
use leafspine_core::{Bytes, PacketMeta, Time};

struct AqCar {
    mss: u64,
    /// Bytes up to which a flow is of stage 0, 1, ..., S.
    bounds: Vec<u64>,
}

impl HostEdge for AqCar {
    fn sending(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) {
        // §II-A: once the bytes sent reach a threshold, its level is tagged.
        classify(packet, flow, self.mss, &self.bounds);
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for AqCar {
    fn footprint(&self, _: Time) -> Footprint {
        let bytes = size_of::<AqCar>() + self.bounds.len() * size_of::<u64>();
        Footprint { bytes: bytes as u64, ..Footprint::default() }
    }
}

/// The upper bounds of stages 0 to S: from `small` to `medium` in equal ratios.
fn bounds(small: u64, medium: u64, stages: u8) -> Vec<u64> {
    let ratio = medium as f64 / small as f64;
    let bound = |stage: u8| {
        let share = f64::from(stage) / f64::from(stages);
        libm::round(small as f64 * libm::pow(ratio, share)) as u64
    };
    // The ends are exact whatever the logarithms say.
    std::iter::once(small).chain((1..stages).map(bound)).chain([medium]).collect()
}

parameters! {
    struct Settings {
        small: Bytes = Param::new(
            Kind::Bytes(1, u64::MAX),
            "100KB",
            "Bytes of payload up to which a flow is small.",
        ),
        medium: Bytes = Param::new(
            Kind::Bytes(1, u64::MAX),
            "10MB",
            "Bytes of payload up to which a flow is medium; beyond, it is large.",
        ),
    }
}

fn build(params: &Params, env: &HostEnv) -> Result<Box<dyn HostEdge>, ParamError> {
    let settings = Settings::read(params)?;
    let stages = Stages::of(&env.stage_queues)?;
    let (Bytes(small), Bytes(medium)) = (settings.small, settings.medium);
    if medium <= small {
        let allowed = format!("more than small, {}", Bytes(small));
        return Err(ParamError::new("medium", Bytes(medium), allowed));
    }
    Ok(Box::new(AqCar { mss: u64::from(env.mss), bounds: bounds(small, medium, stages.medium) }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "aq-car",
        summary: "Tags packets with AQ-CAR's stage: small, one of several medium ones, large, by the \
                  bytes the flow has sent.",
        source: "Alanazi and Hamdaoui, AQ-CAR, §II-A and §II-B1",
        provenance: Provenance::Paper,
        unspecified: &[
            "How many medium stages there are: as many as switch.stage_queues has ones, 4 in the \
             bundle.",
            "Their bounds: equal ratios from small to medium.",
            "The packet's own payload counts: the packet that passes a bound is of the next stage.",
            "A retransmission has the stage that its flow has reached.",
            "Packets without payload are of stage 0.",
        ],
        params: Settings::PARAMS,
        demands: Demands { header_bits: 6, header_words: 0, queues: 1 },
    },
    build,
    balancers: &[],
    by_marks: false,
    by_stack: false,
    in_order: None,
    sprays: false,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use crate::testing::{FakeHost, control, data};
    use leafspine_core::Flags;

    fn made(host: &FakeHost) -> Box<dyn HostEdge> {
        build(&Params::defaults(ENTRY.info.params), &host.env).unwrap()
    }

    /// The stage of segment `seq` of 1000 bytes when `sent` bytes have gone before it.
    fn stage(seq: u32, sent: u64) -> u8 {
        let mut host = FakeHost::new(1_000);
        host.env.stage_queues = vec![0, 1, 1, 1, 1, 2];
        let mut edge = made(&host);
        let mut packet = PacketMeta { payload: 1_000, ..data(0, 9, 1, seq) };
        host.bytes_sent = sent;
        host.send(&mut *edge, &mut packet);
        packet.class
    }

    /// Breaks if the bounds are not in equal ratios: 100 KB x 100^(s/4).
    #[test]
    fn bounds_are_in_equal_ratios() {
        let four = [100_000, 316_228, 1_000_000, 3_162_278, 10_000_000];
        assert_eq!(bounds(100_000, 10_000_000, 4), four);
        assert_eq!(bounds(100_000, 10_000_000, 1), [100_000, 10_000_000]);
        assert_eq!(bounds(100_000, 10_000_000, 2), [100_000, 1_000_000, 10_000_000]);
    }

    /// Breaks if a stage begins a packet early or late: the packet that ends at a bound is still of
    /// the stage below (§III: "(0, 100KB], (100KB, 10MB]").
    #[test]
    fn stages_change_at_the_bounds() {
        let at = |seq: u32| stage(seq, u64::from(seq) * 1_000);
        assert_eq!([at(0), at(99), at(100)], [0, 0, 1]);
        assert_eq!([at(315), at(316), at(999), at(1_000)], [1, 2, 2, 3]);
        assert_eq!([at(3_161), at(3_162), at(9_999), at(10_000)], [3, 4, 4, 5]);
    }

    /// Breaks if an old segment sent again goes back to the flow's first stage.
    #[test]
    fn retransmissions_have_the_stage_reached() {
        assert_eq!(stage(3, 500_000), 2);
    }

    /// Breaks if the SYN or the ACKs of a large flow leave the small queue.
    #[test]
    fn control_packets_are_of_stage_0() {
        let mut host = FakeHost::new(1_000);
        let mut edge = made(&host);
        host.bytes_sent = 20_000_000;
        for flags in [Flags::ACK, Flags::SYN] {
            let mut packet = PacketMeta { seq: 20_000, ..control(0, 9, 1, flags) };
            host.send(&mut *edge, &mut packet);
            assert_eq!(packet.class, 0);
        }
    }

    /// Breaks if thresholds that do not rise are taken, or the message does not name both.
    #[test]
    fn bounds_must_rise() {
        let params = Params::defaults(ENTRY.info.params).with("medium", Value::Bytes(Bytes(5_000)));
        let error = build(&params, &FakeHost::new(1_000).env).err().unwrap();
        assert_eq!(error.to_string(), "medium: found 5KB; allowed: more than small, 100KB");
    }
}
