//! ECN threshold: marks ECN-capable packets while at least K wait.
//!
//! Source: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, §3.1: an arriving packet is
//! marked if the queue occupancy is greater than K upon its arrival (RFC 8257 §3.1 the same). Marking
//! at dequeue: Wu et al., "Tuning ECN for Data Center Networks", CoNEXT 2012.
//!
//! Exactly: the backlog is what waits, neither the packet in question nor the one in transmission
//! counted, and a packet is marked if that backlog has reached K. In packets this is the paper's
//! rule with the arriving packet counted (n + 1 > K is n >= K), and what ns-2's RED queue does when
//! both its thresholds are K and its average is the instantaneous queue, the set-up of nearly all
//! published DCTCP simulations. The unit of K chooses packets or bytes; a time is the bytes that the
//! port sends in it, by its rate as built. `at = "dequeue"` looks at what a departing packet leaves
//! behind.
//!
//! State per port: none beyond the parameters. Cost per packet: one comparison; at dequeue, a port
//! with a real queue.
//!
//! Unspecified in the source: what becomes of packets that are not ECN-capable. They pass (pure
//! ACKs would otherwise die where data is marked); `drop_not_capable = true` drops them, as RFC
//! 3168 §5 has a router do where it would mark.
//!
//! Provenance: paper.

use super::{Admit, Aqm, Entry, Needs, Release};
use crate::{
    Amount, Backlog, Demands, Depth, Footprint, Inspect, Kind, Meaning, Param, ParamError, Params,
    Provenance, QueueView, SchemeInfo, SwitchEnv, parameters, words,
};
use leafspine_core::{Ecn, PacketMeta, PortId, Rng, Span, Time};

/// The manager of most runs. Ports keep it by value, which saves a virtual call for each packet.
#[derive(Clone, Copy, Debug)]
pub struct EcnThreshold {
    threshold: Bound,
    per_port: bool,
    at_dequeue: bool,
    drop_not_capable: bool,
}

/// An [`Amount`] as two numbers, of which one is out of reach: comparing both takes no branch.
#[derive(Clone, Copy, Debug)]
struct Bound {
    packets: u32,
    bytes: u64,
}

impl Bound {
    fn new(amount: Amount) -> Bound {
        match amount {
            Amount::Packets(packets) => Bound { packets, bytes: u64::MAX },
            Amount::Bytes(bytes) => Bound { packets: u32::MAX, bytes },
        }
    }

    #[inline]
    fn is_reached_by(self, backlog: Backlog) -> bool {
        (backlog.packets >= self.packets) | (u64::from(backlog.bytes) >= self.bytes)
    }
}

/// What becomes of a packet.
enum Verdict {
    Pass,
    Mark,
    Drop,
}

impl EcnThreshold {
    /// What becomes of `packet` at a port with one queue, in which `backlog` waits.
    #[inline]
    #[must_use]
    pub fn admit_to(&self, packet: &PacketMeta, backlog: Backlog) -> Admit {
        if !self.threshold.is_reached_by(backlog) || self.at_dequeue {
            return Admit::Take;
        }
        match self.judge(packet, backlog) {
            Verdict::Pass => Admit::Take,
            Verdict::Mark => Admit::Mark,
            Verdict::Drop => Admit::Drop,
        }
    }

    #[inline]
    fn scope(&self, queue: &QueueView) -> Backlog {
        if self.per_port { queue.port_total } else { queue.this }
    }

    #[inline]
    fn judge(&self, packet: &PacketMeta, backlog: Backlog) -> Verdict {
        let reached = self.threshold.is_reached_by(backlog);
        match (reached, packet.ecn) {
            (false, _) => Verdict::Pass,
            (true, Ecn::NotCapable) if self.drop_not_capable => Verdict::Drop,
            (true, Ecn::NotCapable) => Verdict::Pass,
            (true, Ecn::Capable | Ecn::Congested) => Verdict::Mark,
        }
    }
}

impl Aqm for EcnThreshold {
    fn needs(&self) -> Needs {
        let spares_idle = !self.threshold.is_reached_by(Backlog::default());
        Needs {
            release: self.at_dequeue,
            passes_idle: self.at_dequeue || spares_idle,
            sends_idle: spares_idle,
            ..Needs::default()
        }
    }

    fn admit(&mut self, packet: &PacketMeta, queue: &QueueView, _: Time, _: &mut Rng) -> Admit {
        self.admit_to(packet, self.scope(queue))
    }

    fn release(
        &mut self,
        packet: &mut PacketMeta,
        queue: &QueueView,
        _: Span,
        _: Time,
        _: &mut Rng,
    ) -> Release {
        if !self.at_dequeue {
            return Release::Send;
        }
        match self.judge(packet, self.scope(queue)) {
            Verdict::Pass => Release::Send,
            Verdict::Mark => Release::Mark,
            Verdict::Drop => Release::Drop,
        }
    }

    fn as_threshold(&self) -> Option<EcnThreshold> {
        Some(*self)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for EcnThreshold {
    fn footprint(&self, _: Time) -> Footprint {
        let bytes = size_of::<EcnThreshold>();
        Footprint { bytes: bytes as u64, per_port: bytes as u32, ..Footprint::default() }
    }
}

/// DCTCP's own: marks at enqueue by the packet's queue.
pub(crate) fn marks_at(threshold: Amount) -> Box<dyn Aqm> {
    Box::new(EcnThreshold {
        threshold: Bound::new(threshold),
        per_port: false,
        at_dequeue: false,
        drop_not_capable: false,
    })
}

words! {
    enum Scope {
        Queue = "queue",
        Port = "port",
    }
    enum At {
        Enqueue = "enqueue",
        Dequeue = "dequeue",
    }
}

parameters! {
    struct Settings {
        threshold: Depth = Param::new(
            Kind::Depth,
            "max(20pkt, 1bdp)",
            "The threshold K, in packets of any size, in bytes, or a time: what the port sends in it.",
        )
        .means(Meaning::Backlog),
        scope: Scope = Param::new(
            Scope::KIND,
            "queue",
            "Whose backlog counts: the packet's service queue or the whole port.",
        ),
        at: At = Param::new(
            At::KIND,
            "enqueue",
            "When packets are marked: as they arrive, or as their transmission begins.",
        ),
        drop_not_capable: bool = Param::new(
            Kind::Bool,
            "false",
            "Whether packets that are not ECN-capable are dropped where others are marked.",
        ),
    }
}

fn build(params: &Params, env: &SwitchEnv, port: PortId) -> Result<Box<dyn Aqm>, ParamError> {
    let settings = Settings::read(params)?;
    let rate = env.ports[usize::from(port.0)].rate;
    Ok(Box::new(EcnThreshold {
        threshold: Bound::new(settings.threshold.at(rate)),
        per_port: settings.scope == Scope::Port,
        at_dequeue: settings.at == At::Dequeue,
        drop_not_capable: settings.drop_not_capable,
    }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "ecn-threshold",
        summary: "Marks ECN-capable packets while the backlog has reached a threshold.",
        source: "Alizadeh et al., DCTCP, SIGCOMM 2010, §3.1; RFC 8257 §3.1; dequeue: Wu et al., \
                 CoNEXT 2012",
        provenance: Provenance::Paper,
        unspecified: &[
            "The backlog is what waits, without the packet in question and the one in transmission; \
             a packet is marked if it has reached the threshold (n + 1 > K).",
            "Packets that are not ECN-capable pass, unless drop_not_capable.",
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
    use leafspine_core::{Flags, Rate, Role};

    fn made(key: &str, value: Value) -> Box<dyn Aqm> {
        let params = stated(ENTRY.info.params, &[("threshold", "65pkt")]).with(key, value);
        build(&params, &FakeLeaf::new(1, 1, 1).env, PortId(0)).unwrap()
    }

    fn word(text: &str) -> Value {
        Value::Word(text.to_owned())
    }

    fn admit(aqm: &mut dyn Aqm, packet: &PacketMeta, queue: &QueueView) -> Admit {
        aqm.admit(packet, queue, Time::ZERO, &mut Rng::new(1, Role::Aqm, 0))
    }

    fn release(aqm: &mut dyn Aqm, packet: &PacketMeta, queue: &QueueView) -> Release {
        let mut rng = Rng::new(1, Role::Aqm, 0);
        aqm.release(&mut packet.clone(), queue, Span::ZERO, Time::ZERO, &mut rng)
    }

    /// Breaks if the comparison is off by one (DCTCP §3.1: the 66th waiting packet, itself
    /// included, is the first to exceed K = 65), or if the packet in transmission is counted.
    #[test]
    fn the_packet_that_exceeds_k_is_marked() {
        let mut aqm = made("threshold", Value::Amount(Amount::Packets(65)));
        assert_eq!(admit(&mut *aqm, &data(0, 1, 1, 0), &queue_view(64, true)), Admit::Take);
        assert_eq!(admit(&mut *aqm, &data(0, 1, 1, 0), &queue_view(65, false)), Admit::Mark);
    }

    /// By hand: 24 us at 10 Gb/s are 30,000 bytes, 20 packets of 1500; at 100 Gb/s ten times as much.
    ///
    /// Breaks if a threshold in time does not go by the port's own rate.
    #[test]
    fn a_time_is_what_the_port_sends_in_it() {
        let params = stated(ENTRY.info.params, &[("threshold", "24us")]);
        let mut env = FakeLeaf::new(1, 1, 1).env;
        (env.ports[0].rate, env.ports[1].rate) = (Rate::from_gbps(10), Rate::from_gbps(100));
        let verdicts = |port: u16, packets: [u32; 2]| {
            let mut aqm = build(&params, &env, PortId(port)).unwrap();
            packets.map(|n| admit(&mut *aqm, &data(0, 1, 1, 0), &queue_view(n, true)))
        };
        assert_eq!(verdicts(0, [19, 20]), [Admit::Take, Admit::Mark]);
        assert_eq!(verdicts(1, [199, 200]), [Admit::Take, Admit::Mark]);
    }

    /// Breaks if the unit of the threshold does not choose the accounting: 30 KB are 20 packets of
    /// 1500 bytes, or a thousand small ones.
    #[test]
    fn bytes_count_bytes() {
        let mut aqm = made("threshold", Value::Amount(Amount::Bytes(30_000)));
        assert_eq!(admit(&mut *aqm, &data(0, 1, 1, 0), &queue_view(19, true)), Admit::Take);
        assert_eq!(admit(&mut *aqm, &data(0, 1, 1, 0), &queue_view(20, true)), Admit::Mark);
        let small = Backlog { packets: 700, bytes: 28_000, in_service: 40 };
        let queue = QueueView { this: small, port_total: small, ..queue_view(0, true) };
        assert_eq!(admit(&mut *aqm, &data(0, 1, 1, 0), &queue), Admit::Take);
    }

    /// Breaks if a queue is judged by its port or the port by one queue.
    #[test]
    fn the_scope_chooses_the_backlog() {
        let port_total = Backlog { packets: 100, bytes: 150_000, in_service: 1500 };
        let queue = QueueView { port_total, ..queue_view(10, true) };
        let packet = data(0, 1, 1, 0);
        assert_eq!(admit(&mut *made("scope", word("queue")), &packet, &queue), Admit::Take);
        assert_eq!(admit(&mut *made("scope", word("port")), &packet, &queue), Admit::Mark);
    }

    /// Breaks if marking at dequeue also marks at enqueue, or asks for no real queue.
    #[test]
    fn dequeue_marks_by_what_is_left_behind() {
        let mut aqm = made("at", word("dequeue"));
        assert!(aqm.needs().release && !made("at", word("enqueue")).needs().release);
        let packet = data(0, 1, 1, 0);
        assert_eq!(admit(&mut *aqm, &packet, &queue_view(200, true)), Admit::Take);
        assert_eq!(release(&mut *aqm, &packet, &queue_view(64, true)), Release::Send);
        assert_eq!(release(&mut *aqm, &packet, &queue_view(65, true)), Release::Mark);
    }

    /// Breaks if a pure ACK is marked, or dropped without being told to (RFC 3168 §5).
    #[test]
    fn what_is_not_capable_passes_or_is_dropped() {
        let ack = control(0, 1, 1, Flags::ACK);
        let full = queue_view(200, true);
        let mut aqm = made("drop_not_capable", Value::Bool(false));
        assert_eq!(admit(&mut *aqm, &ack, &full), Admit::Take);
        let mut aqm = made("drop_not_capable", Value::Bool(true));
        assert_eq!(admit(&mut *aqm, &ack, &full), Admit::Drop);
        assert_eq!(admit(&mut *aqm, &ack, &queue_view(64, true)), Admit::Take);
    }
}
