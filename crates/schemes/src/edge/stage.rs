//! Stage: tags each packet with a class that rises with the bytes its flow has sent.
//!
//! Source: Bai et al., "Information-Agnostic Flow Scheduling for Commodity Data Centers" (PIAS),
//! NSDI 2015, §3.1 and §4.1: the sending host counts a flow's bytes and demotes it as it passes
//! thresholds, so that short flows finish in the highest class without their sizes being known.
//! The class goes into the packet's DSCP; `switch.classifier = "stage"` makes it a service queue.
//!
//! Class 0 up to `bound1` bytes of payload, this packet included; 1 up to `bound2`; 2 beyond. A
//! packet without payload (SYN, ACK, FIN) is of class 0.
//!
//! State: the transport's own count of bytes. Cost per packet: two comparisons.
//!
//! Unspecified in the source: a retransmission has the class that the flow has reached, and is not
//! counted again.
//!
//! Provenance: paper.

use super::by_bytes::classify;
use super::{EdgeContext, Entry, FlowView, HostEdge, HostEnv};
use crate::{Demands, Kind, Param, ParamError, Params, Provenance, SchemeInfo, parameters};
use leafspine_core::{Bytes, PacketMeta};

struct Stage {
    mss: u64,
    bounds: [u64; 2],
}

impl HostEdge for Stage {
    fn sending(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) {
        classify(packet, flow, self.mss, &self.bounds);
    }
}

parameters! {
    struct Settings {
        bound1: Bytes = Param::new(
            Kind::Bytes(0, u64::MAX),
            "100KB",
            "Bytes of payload up to which a flow is of class 0.",
        ),
        bound2: Bytes = Param::new(
            Kind::Bytes(0, u64::MAX),
            "10MB",
            "Bytes of payload up to which a flow is of class 1; beyond, class 2.",
        ),
    }
}

fn build(params: &Params, env: &HostEnv) -> Result<Box<dyn HostEdge>, ParamError> {
    let settings = Settings::read(params)?;
    let bounds = [settings.bound1, settings.bound2];
    if bounds[1] < bounds[0] {
        let allowed = format!("at least bound1, {}", bounds[0]);
        return Err(ParamError::new("bound2", bounds[1], allowed));
    }
    Ok(Box::new(Stage { mss: u64::from(env.mss), bounds: bounds.map(|bound| bound.0) }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "stage",
        summary: "Tags packets with a class that rises with the bytes the flow has sent.",
        source: "Bai et al., PIAS, NSDI 2015, §3.1",
        provenance: Provenance::Paper,
        unspecified: &[
            "The packet's own payload counts: the packet that passes a bound is of the next class.",
            "A retransmission has the class that its flow has reached.",
            "Packets without payload are of class 0.",
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
    use leafspine_core::{Bytes, Flags};

    /// The class of segment `seq` of 1000 bytes when `sent` bytes have gone before it.
    fn class(seq: u32, sent: u64) -> u8 {
        let mut host = FakeHost::new(1_000);
        let mut stage = build(&Params::defaults(ENTRY.info.params), &host.env).unwrap();
        let mut packet = PacketMeta { payload: 1_000, ..data(0, 9, 1, seq) };
        host.bytes_sent = sent;
        host.send(&mut *stage, &mut packet);
        packet.class
    }

    /// Breaks if a bound is off by one packet, or if the count is not of bytes (PIAS §3.1).
    #[test]
    fn classes_change_at_the_bounds() {
        let at = |seq: u32| class(seq, u64::from(seq) * 1_000);
        assert_eq!([at(0), at(99), at(100), at(9_999), at(10_000)], [0, 0, 1, 1, 2]);
    }

    /// Breaks if an old segment sent again goes back to the flow's first class.
    #[test]
    fn retransmissions_have_the_class_reached() {
        assert_eq!(class(3, 500_000), 1);
    }

    /// Breaks if the ACKs of a long flow are demoted.
    #[test]
    fn control_packets_are_of_class_0() {
        let mut host = FakeHost::new(1_000);
        let mut stage = build(&Params::defaults(ENTRY.info.params), &host.env).unwrap();
        host.bytes_sent = 20_000_000;
        let mut ack = PacketMeta { seq: 20_000, ..control(0, 9, 1, Flags::ACK) };
        host.send(&mut *stage, &mut ack);
        assert_eq!(ack.class, 0);
    }

    /// Breaks if bounds that fall are taken, or the message does not name both.
    #[test]
    fn bounds_must_rise() {
        let params = Params::defaults(ENTRY.info.params).with("bound2", Value::Bytes(Bytes(5_000)));
        let error = build(&params, &FakeHost::new(1_000).env).err().unwrap();
        assert_eq!(error.to_string(), "bound2: found 5KB; allowed: at least bound1, 100KB");
    }
}
