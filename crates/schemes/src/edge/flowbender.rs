//! FlowBender: a flow whose ACKs say "congested" for a round trip asks for another path.
//!
//! Source: Kabbani, Vamanan, Hasan and Duchene, "FlowBender: Flow-level Adaptive Routing for
//! Improved Latency and Throughput in Datacenter Networks", CoNEXT 2014, §3. The switches hash the
//! five-tuple together with a field V that the host writes. The sender counts ACKs with ECE; if their
//! share F exceeds the threshold T in a round trip, N of them in a row, it changes V, and with it
//! the flow's path. It does so at once upon a timeout, so flows leave broken paths.
//!
//! State per flow: 2 words at the sender. Cost per ACK: a comparison and an addition.
//!
//! Unspecified in the source: which value V takes next; any other of `values`, evenly drawn. The
//! paper counts round trips by the sender's own clock; here one ends when all is acknowledged that
//! had been sent at its start. ACKs of a flow have no V of their own and keep their path: a flow whose ACKs
//! fall into a black hole cannot leave it.
//!
//! Provenance: paper.

use super::round_trip::count;
use super::{EdgeContext, Entry, FlowView, HostEdge, HostEnv, Needs};
use crate::{Demands, Kind, Param, ParamError, Params, Provenance, SchemeInfo, parameters};
use leafspine_core::{PacketMeta, Span};

/// Words of a flow's state: its round trip, and V with the count of congested round trips.
const ROUND_TRIP: usize = 0;
const CHOICE: usize = 1;

struct FlowBender {
    mss: u64,
    /// T in millionths.
    threshold: u32,
    /// N.
    round_trips: u32,
    /// Values of V.
    values: u64,
}

impl FlowBender {
    /// Any other V.
    fn bend(&self, flow: &mut FlowView<'_>, cx: &mut EdgeContext<'_>) {
        let v = flow.state[CHOICE] & 0xff;
        let step = 1 + cx.rng.below(self.values - 1);
        let v = v + step;
        flow.state[CHOICE] = if v < self.values { v } else { v - self.values };
    }
}

impl HostEdge for FlowBender {
    fn needs(&self) -> Needs {
        Needs { keeps_class: true, ..Needs::default() }
    }

    fn sending(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) {
        packet.tag = (flow.state[CHOICE] & 0xff) as u16;
    }

    fn acked(
        &mut self,
        ack: &PacketMeta,
        _: Option<Span>,
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        let next = flow.bytes_sent.div_ceil(self.mss) as u32;
        let Some(share) = count(&mut flow.state[ROUND_TRIP], ack, next) else { return };
        // F > T, N round trips in a row.
        let congested = match share.exceeds(self.threshold) {
            true => (flow.state[CHOICE] >> 8) as u32 + 1,
            false => 0,
        };
        if congested >= self.round_trips {
            self.bend(flow, cx);
        } else {
            flow.state[CHOICE] = flow.state[CHOICE] & 0xff | u64::from(congested) << 8;
        }
    }

    fn lost(&mut self, timeout: bool, flow: &mut FlowView<'_>, cx: &mut EdgeContext<'_>) {
        // A path that times out may be gone.
        if timeout {
            self.bend(flow, cx);
        }
    }
}

parameters! {
    struct Settings {
        threshold: f64 = Param::new(
            Kind::Float(0.0, 1.0),
            "0.05",
            "The share T of marked ACKs above which a round trip was congested.",
        ),
        round_trips: u32 = Param::new(
            Kind::Int(1, 1_000),
            "1",
            "Congested round trips in a row, N, before the path changes.",
        ),
        values: u64 = Param::new(
            Kind::Int(2, 256),
            "8",
            "How many values V has.",
        ),
    }
}

fn build(params: &Params, env: &HostEnv) -> Result<Box<dyn HostEdge>, ParamError> {
    let settings = Settings::read(params)?;
    Ok(Box::new(FlowBender {
        mss: u64::from(env.mss),
        threshold: (settings.threshold * 1e6).round() as u32,
        round_trips: settings.round_trips,
        values: settings.values,
    }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "flowbender",
        summary: "Changes a flow's hash when the marked share of a round trip's ACKs is too large, and \
                  upon a timeout.",
        source: "Kabbani et al., FlowBender, CoNEXT 2014, §3",
        provenance: Provenance::Paper,
        unspecified: &[
            "The next value of V is any other one, evenly drawn.",
            "A round trip ends when everything is acknowledged that had been sent at its start.",
            "ACKs have no V of their own: they keep the path of their hash, into a black hole too.",
            "A mark is a mark wherever it comes from: with switch.host_ports = \"like-switch\" the \
             host's own port may mark, and the flow bends although no other path would help.",
        ],
        params: Settings::PARAMS,
        demands: Demands { header_bits: 3, ..Demands::NONE },
    },
    build,
    balancers: &["ecmp", "wcmp"],
    by_marks: true,
    by_stack: true,
    in_order: None,
    sprays: false,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use crate::testing::{FakeHost, control, data};
    use leafspine_core::Flags;

    const MSS: u32 = 1_000;

    fn made(params: &Params) -> (Box<dyn HostEdge>, FakeHost) {
        let host = FakeHost::new(MSS);
        (build(params, &host.env).unwrap(), host)
    }

    fn defaults() -> Params {
        Params::defaults(ENTRY.info.params)
    }

    fn tag(edge: &mut dyn HostEdge, host: &mut FakeHost) -> u16 {
        let mut packet = data(0, 9, 1, 0);
        host.send(edge, &mut packet);
        packet.tag
    }

    /// One round trip of 100 ACKs, so many of them marked.
    fn round_trip(edge: &mut dyn HostEdge, host: &mut FakeHost, marked: u32) {
        let start = (host.bytes_sent / u64::from(MSS)) as u32;
        host.bytes_sent += 100 * u64::from(MSS);
        for n in 0..100 {
            let flags = if n < marked { Flags::ACK.with(Flags::ECE) } else { Flags::ACK };
            let ack = PacketMeta { seq: start + n + 1, ..control(9, 0, 80, flags) };
            host.with(|flow, cx| edge.acked(&ack, None, flow, cx));
        }
    }

    /// Breaks if V changes at a share of T, or stays above it (F > T, 5 % of 100 ACKs are 5).
    #[test]
    fn more_than_five_percent_bends() {
        let (mut edge, mut host) = made(&defaults());
        round_trip(&mut *edge, &mut host, 0);
        for _ in 0..20 {
            round_trip(&mut *edge, &mut host, 5);
            assert_eq!(tag(&mut *edge, &mut host), 0);
        }
        round_trip(&mut *edge, &mut host, 6);
        assert_ne!(tag(&mut *edge, &mut host), 0);
    }

    /// Breaks if N congested round trips need not be in a row.
    #[test]
    fn n_in_a_row() {
        let (mut edge, mut host) = made(&defaults().with("round_trips", Value::Int(3)));
        round_trip(&mut *edge, &mut host, 0);
        for congested in [90, 90, 0, 90, 90, 0] {
            round_trip(&mut *edge, &mut host, congested);
        }
        assert_eq!(tag(&mut *edge, &mut host), 0);
        for congested in [90, 90, 90] {
            round_trip(&mut *edge, &mut host, congested);
        }
        assert_ne!(tag(&mut *edge, &mut host), 0);
    }

    /// Breaks if what was counted towards N stays after a change of V, upon a timeout or after N, or gets
    /// into V.
    #[test]
    fn a_change_forgets_what_was_counted() {
        let (mut edge, mut host) = made(&defaults().with("round_trips", Value::Int(3)));
        round_trip(&mut *edge, &mut host, 0);
        let mut v = tag(&mut *edge, &mut host);
        for change in 0..20 {
            round_trip(&mut *edge, &mut host, 90);
            round_trip(&mut *edge, &mut host, 90);
            assert_eq!(tag(&mut *edge, &mut host), v, "two of three");
            match change % 2 {
                0 => host.with(|flow, cx| edge.lost(true, flow, cx)),
                _ => round_trip(&mut *edge, &mut host, 90),
            }
            let next = tag(&mut *edge, &mut host);
            assert!(next != v && next < 8, "from {v} to {next}");
            v = next;
        }
    }

    /// Breaks if a timeout does not change V, if a fast retransmit does, or if some value is never
    /// taken or lies out of range.
    #[test]
    fn a_timeout_bends_at_once() {
        let (mut edge, mut host) = made(&defaults());
        let mut seen = [0; 8];
        for _ in 0..800 {
            let before = tag(&mut *edge, &mut host);
            host.with(|flow, cx| edge.lost(false, flow, cx));
            assert_eq!(tag(&mut *edge, &mut host), before);
            host.with(|flow, cx| edge.lost(true, flow, cx));
            let after = tag(&mut *edge, &mut host);
            assert_ne!(after, before, "any other value");
            seen[usize::from(after)] += 1;
        }
        // Binomial(800, 1/8): standard deviation 9.4; five of them.
        assert!(seen.iter().all(|n| (53..=147).contains(n)), "{seen:?}");
    }
}
