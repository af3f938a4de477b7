//! LetFlow: every flowlet takes a port of its own, uniformly at random.
//!
//! Source: Vanini, Pan, Alizadeh, Taheri, Edsall, "Let It Flow: Resilient Asymmetric Load
//! Balancing with Flowlet Switching", NSDI 2017, §3. A flow whose last packet
//! is more than the flowlet timeout ago draws a new port; otherwise it keeps the last one. Flowlets
//! on congested paths end sooner, so their sizes balance the load without any measurement.
//!
//! State per switch: a table indexed by a hash of the five-tuple, 16 bytes an entry (8 of time, 2
//! of port, padded): 1 MiB for the default 2^16 entries. Flows that collide share an entry, its
//! port and its idle time, as in hardware. Cost per packet: one hash, one entry, a scan of the live
//! ports for the remembered one; a random number per flowlet.
//!
//! Unspecified in the source, or done differently here: the hardware has an age bit swept by a timer, which finds
//! gaps somewhere between one and two timeouts; here each entry has a time stamp, so the gap is
//! exact. A flowlet whose port has gone draws again. An ACK stream is a flow of its own. A gap of
//! exactly the timeout does not end a flowlet.
//!
//! Provenance: paper.

use super::flowlets::{self, Flowlets};
use super::{Entry, LoadBalancer};
use crate::{
    Context, Demands, Footprint, Inspect, ParamError, Params, Paths, Provenance, SchemeInfo,
    SwitchEnv, parameters,
};
use leafspine_core::{PacketMeta, PortId, Span, Time};

struct LetFlow {
    flowlets: Flowlets,
}

impl LoadBalancer for LetFlow {
    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        let slot = self.flowlets.slot(packet);
        let port = match self.flowlets.under_way(slot, cx.now) {
            Some(port) if paths.ports.contains(&port) => port,
            _ => paths.ports[cx.rng.below(paths.ports.len() as u64) as usize],
        };
        self.flowlets.note(slot, port, cx.now);
        port
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for LetFlow {
    fn footprint(&self, now: Time) -> Footprint {
        self.flowlets.footprint(now)
    }

    fn slot(&self, packet: &PacketMeta) -> Option<u32> {
        Some(self.flowlets.slot(packet) as u32)
    }
}

parameters! {
    struct Settings {
        gap: Span = flowlets::GAP,
        entries: usize = flowlets::ENTRIES,
    }
}

fn build(params: &Params, env: &SwitchEnv) -> Result<Box<dyn LoadBalancer>, ParamError> {
    let Settings { gap, entries } = Settings::read(params)?;
    Ok(Box::new(LetFlow { flowlets: Flowlets::new(env.hash_seed, gap, entries) }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "letflow",
        summary: "Sends every flowlet by a port drawn uniformly at random.",
        source: "Vanini et al., LetFlow, NSDI 2017, §3",
        provenance: Provenance::Paper,
        unspecified: &[
            "Entries are aged by a time stamp, not by a swept age bit: the gap is exact.",
            "A flowlet whose port has gone draws a new port at once.",
            "A gap of exactly the timeout does not end a flowlet.",
        ],
        params: Settings::PARAMS,
        demands: Demands::NONE,
    },
    build,
    edge: None,
    host_aqm: None,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use crate::testing::{FakeLeaf, chi_square, control, data, stated};
    use leafspine_core::{Flags, Span};

    const GAP: Span = Span::from_micros(500);

    fn defaults() -> Params {
        stated(ENTRY.info.params, &[("gap", "500us")])
    }

    /// Breaks if a flowlet is cut at or before the timeout (NSDI 2017 §3).
    #[test]
    fn a_flowlet_keeps_its_port() {
        let mut leaf = FakeLeaf::new(8, 8, 1);
        let mut letflow = build(&defaults(), &leaf.env).unwrap();
        let first = leaf.pick(&mut *letflow, &mut data(0, 9, 1, 0));
        for seq in 1..1_000 {
            leaf.wait(GAP);
            assert_eq!(leaf.pick(&mut *letflow, &mut data(0, 9, 1, seq)), first);
        }
    }

    /// Breaks if a pause longer than the timeout does not draw again, or not uniformly, or if the
    /// draw depends on the port before: successive pairs over 4 ports, chi-square with 15 degrees
    /// of freedom, 0.1 % point 37.7.
    #[test]
    fn flowlets_are_uniform_and_independent() {
        let mut leaf = FakeLeaf::new(8, 4, 1);
        let mut letflow = build(&defaults(), &leaf.env).unwrap();
        let (mut pairs, mut last) = ([0u64; 16], 0);
        for seq in 0..16_000 {
            leaf.wait(Span(GAP.0 + 1));
            let port = usize::from(leaf.pick(&mut *letflow, &mut data(0, 9, 1, seq)).0 - 8);
            pairs[last * 4 + port] += 1;
            last = port;
        }
        let chi2 = chi_square(&pairs, &[1_000.0; 16]);
        assert!(chi2 < 37.7, "chi-square {chi2}: {pairs:?}");
    }

    /// Breaks if the timer is not started again by every packet, other flows' included when they
    /// share an entry: with one entry, a second flow keeps the first one's port alive.
    #[test]
    fn collisions_share_an_entry() {
        let mut leaf = FakeLeaf::new(8, 8, 1);
        let params = defaults().with("entries", Value::Int(1));
        let mut letflow = build(&params, &leaf.env).unwrap();
        let first = leaf.pick(&mut *letflow, &mut data(0, 9, 1, 0));
        for seq in 1..200 {
            leaf.wait(Span(GAP.0 - 1));
            let (src, sport) = (seq as u16 % 7, seq as u16);
            assert_eq!(leaf.pick(&mut *letflow, &mut data(src, 9, sport, seq)), first);
        }
    }

    /// Breaks if a flowlet stays on a port that has gone, or moves because another has.
    #[test]
    fn a_lost_port_is_left_at_once() {
        let mut leaf = FakeLeaf::new(8, 4, 1);
        let mut letflow = build(&defaults(), &leaf.env).unwrap();
        let first = leaf.pick(&mut *letflow, &mut data(0, 9, 1, 0));
        leaf.live.retain(|port| *port != first);
        let second = leaf.pick(&mut *letflow, &mut data(0, 9, 1, 1));
        assert!(leaf.live.contains(&second));
        leaf.live = (8..12).map(PortId).collect();
        assert_eq!(leaf.pick(&mut *letflow, &mut data(0, 9, 1, 2)), second);
    }

    /// Breaks if an ACK stream shares the entry of its data: their ports would always agree.
    #[test]
    fn acks_are_flows_of_their_own() {
        let mut leaf = FakeLeaf::new(8, 8, 1);
        let mut letflow = build(&defaults(), &leaf.env).unwrap();
        let agree = (0..400)
            .filter(|sport| {
                let port = leaf.pick(&mut *letflow, &mut data(0, 9, *sport, 0));
                let mut ack = control(0, 9, *sport, Flags::ACK);
                ack.tuple = ack.tuple.reversed();
                leaf.pick(&mut *letflow, &mut ack) == port
            })
            .count();
        // Binomial(400, 1/8): mean 50, standard deviation 6.6; five of them.
        assert!((17..=83).contains(&agree), "{agree} of 400 agree");
    }
}
