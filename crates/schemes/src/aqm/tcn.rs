//! TCN: marks a departing packet that has waited longer than a threshold.
//!
//! Source: Bai, Chen, Chen, Kim and Wu, "Enabling ECN over Generic Packet Scheduling", CoNEXT 2016:
//! with several queues a length says little, because a queue's rate varies with the others';
//! its sojourn time means the same under any scheduler. A packet is marked at dequeue if it has
//! waited longer than `T = RTT x lambda`. The decision is instantaneous and keeps no state.
//!
//! State per port: none beyond the threshold. Cost per packet: one comparison; decisions are at
//! dequeue, so ports keep real queues.
//!
//! Unspecified in the source: packets that are not ECN-capable pass unmarked. The round-trip time
//! is that of the empty fabric unless given.
//!
//! Provenance: paper.

use super::{Admit, Aqm, Entry, Needs, Release};
use crate::{
    Demands, Footprint, Inspect, Kind, Param, ParamError, Params, Provenance, QueueView,
    SchemeInfo, SwitchEnv, parameters,
};
use leafspine_core::{Ecn, PacketMeta, PortId, Rng, Span, Time};

struct Tcn {
    threshold: Span,
}

impl Aqm for Tcn {
    fn needs(&self) -> Needs {
        Needs { release: true, passes_idle: true, sends_idle: true, ..Needs::default() }
    }

    fn admit(&mut self, _: &PacketMeta, _: &QueueView, _: Time, _: &mut Rng) -> Admit {
        Admit::Take
    }

    fn release(
        &mut self,
        packet: &mut PacketMeta,
        _: &QueueView,
        waited: Span,
        _: Time,
        _: &mut Rng,
    ) -> Release {
        // Marked if the sojourn time is larger than T.
        let mark = waited > self.threshold && packet.ecn != Ecn::NotCapable;
        if mark { Release::Mark } else { Release::Send }
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Tcn {
    fn footprint(&self, _: Time) -> Footprint {
        let bytes = size_of::<Tcn>();
        Footprint { bytes: bytes as u64, per_port: bytes as u32, ..Footprint::default() }
    }
}

parameters! {
    struct Settings {
        rtt: Option<Span> = Param::new(
            Kind::SpanOr(1, 1_000_000_000_000, "fabric"),
            "1rtt",
            "The round-trip time that the threshold is a multiple of; \"fabric\" is the empty \
             fabric's.",
        ),
        lambda: f64 = Param::new(
            Kind::Float(f64::MIN_POSITIVE, 1e6),
            "1",
            "The threshold on the sojourn time, in round-trip times.",
        ),
    }
}

fn build(params: &Params, env: &SwitchEnv, _: PortId) -> Result<Box<dyn Aqm>, ParamError> {
    let settings = Settings::read(params)?;
    let rtt = settings.rtt.unwrap_or(env.base_rtt);
    let threshold = Span((rtt.0 as f64 * settings.lambda) as u64);
    Ok(Box::new(Tcn { threshold }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "tcn",
        summary: "Marks a departing packet that has waited longer than a threshold.",
        source: "Bai et al., TCN, CoNEXT 2016",
        provenance: Provenance::Paper,
        unspecified: &[
            "The round-trip time is that of the empty fabric between its farthest hosts, unless \
             given.",
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
    use leafspine_core::{Flags, Role};

    fn verdict(params: &Params, packet: PacketMeta, waited: Span) -> Release {
        let env = FakeLeaf::new(1, 1, 1).env; // An empty fabric's round trip of 20 us.
        let mut tcn = build(params, &env, PortId(0)).unwrap();
        assert!(tcn.needs().release);
        let (view, mut rng) = (queue_view(100, true), Rng::new(1, Role::Aqm, 0));
        assert_eq!(tcn.admit(&packet, &view, Time::ZERO, &mut rng), Admit::Take);
        tcn.release(&mut packet.clone(), &view, waited, Time::ZERO, &mut rng)
    }

    /// Breaks if the threshold is not RTT x lambda, or if a wait of just that long is marked
    /// (larger than T).
    #[test]
    fn longer_than_t_is_marked() {
        let defaults = stated(ENTRY.info.params, &[("rtt", "fabric")]);
        let packet = data(0, 1, 1, 0);
        let at = |ns| verdict(&defaults, packet, Span::from_nanos(ns));
        assert_eq!([at(20_000), at(20_001)], [Release::Send, Release::Mark]);
        let params = defaults
            .with("rtt", Value::Span(Span::from_micros(100)))
            .with("lambda", Value::Float(0.5));
        let at = |ns| verdict(&params, packet, Span::from_nanos(ns));
        assert_eq!([at(50_000), at(50_001)], [Release::Send, Release::Mark]);
    }

    /// Breaks if a pure ACK is marked or dropped.
    #[test]
    fn what_is_not_capable_passes() {
        let defaults = stated(ENTRY.info.params, &[("rtt", "fabric")]);
        let ack = control(0, 1, 1, Flags::ACK);
        assert_eq!(verdict(&defaults, ack, Span::from_millis(5)), Release::Send);
    }
}
