//! Two choices: every flowlet takes the less loaded of two ports drawn at random.
//!
//! Source: Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing", IEEE TPDS 12(10),
//! 2001, §1: of `d = 2` bins drawn independently and uniformly, the one with less in it. Applied
//! here to the uplinks of a switch and their backlogs, once per flowlet (Vanini et al., LetFlow,
//! NSDI 2017, §3): a flow whose last packet is more than `gap` ago draws anew.
//!
//! State per switch: a table indexed by a hash of the five-tuple, 16 bytes an entry: 1 MiB for the
//! default 2^16 entries. Flows that collide share an entry. Cost per packet: one hash, one entry, a
//! scan of the live ports for the remembered one; per flowlet two random numbers and two backlogs.
//!
//! Unspecified in the sources: what counts as load (the bytes that wait and those of the packet in
//! transmission), what ports of different rates mean (nothing: bytes are compared), and what becomes
//! of a flowlet whose port has gone (it draws at once).

use leafspine_core::{PacketMeta, PortId, Span, Time, mix};
use leafspine_schemes::lb::{Entry, LoadBalancer};
use leafspine_schemes::{
    Context, Demands, Kind, Meaning, Param, ParamError, Params, Paths, Provenance, SchemeInfo,
    SwitchEnv, parameters,
};

/// No port has this number: the entry has never been used.
const NONE: PortId = PortId(u16::MAX);

#[derive(Clone, Copy)]
struct Flowlet {
    last: Time,
    port: PortId,
}

/// One object a switch.
struct TwoChoices {
    seed: u64,
    gap: Span,
    table: Vec<Flowlet>,
}

impl LoadBalancer for TwoChoices {
    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        // A power of two, so that the hash's low bits are the entry.
        let index = mix(packet.entropy() ^ self.seed) as usize & (self.table.len() - 1);
        let flowlet = &mut self.table[index];
        // NSDI 2017 §3: a longer pause ends the flowlet.
        if cx.now.since(flowlet.last) > self.gap || !paths.ports.contains(&flowlet.port) {
            flowlet.port = less_loaded(paths.ports, cx);
        }
        flowlet.last = cx.now;
        flowlet.port
    }
}

/// Mitzenmacher 2001 §1: two independent draws, the less loaded of the two; the first of equals.
fn less_loaded(ports: &[PortId], cx: &mut Context<'_>) -> PortId {
    let mut draw = || ports[cx.rng.below(ports.len() as u64) as usize];
    let (first, second) = (draw(), draw());
    let mut load = |port| {
        let backlog = cx.ports.backlog(port);
        u64::from(backlog.bytes) + u64::from(backlog.in_service)
    };
    if load(second) < load(first) { second } else { first }
}

parameters! {
    /// As a scenario file gives them, or by default.
    struct Settings {
        gap: Span = Param::new(
            Kind::Span(1, u64::MAX),
            "500us",
            "Flowlet timeout: a longer pause between a flow's packets ends its flowlet.",
        )
        .means(Meaning::FlowletGap),
        entries: usize = Param::new(
            Kind::Int(1, 1 << 24),
            "65536",
            "Entries of the flowlet table, a power of two; flows of one entry share it.",
        ),
    }
}

fn build(params: &Params, env: &SwitchEnv) -> Result<Box<dyn LoadBalancer>, ParamError> {
    let Settings { gap, entries } = Settings::read(params)?;
    if !entries.is_power_of_two() {
        return Err(ParamError::new("entries", entries, "a power of two"));
    }
    let unused = Flowlet { last: Time::ZERO, port: NONE };
    Ok(Box::new(TwoChoices { seed: env.hash_seed, gap, table: vec![unused; entries] }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "two-choices",
        summary: "Sends every flowlet by the less loaded of two ports drawn at random.",
        source: "Mitzenmacher, The Power of Two Choices, IEEE TPDS 12(10), 2001, §1",
        provenance: Provenance::Own,
        unspecified: &[
            "A port's load is what waits there and the packet in transmission, in bytes.",
            "A flowlet whose port has gone draws at once.",
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
    use leafspine_core::{Rng, Role};
    use leafspine_schemes::registry::Extension;
    use leafspine_schemes::testing::{FakeLeaf, data, random_params};
    use leafspine_schemes::{Backlog, Value};

    const GAP: Span = Span::from_micros(500);

    fn defaults() -> Params {
        Params::defaults(ENTRY.info.params)
    }

    fn wait_at(leaf: &mut FakeLeaf, port: PortId, bytes: u32, in_service: u32) {
        let port = &mut leaf.ports.ports[usize::from(port.0)];
        (port.queues[0].bytes, port.in_service) = (bytes, in_service);
    }

    /// Breaks if the registry will not take the entry.
    #[test]
    fn the_registry_takes_it() {
        let extension = Extension { balancers: &[ENTRY], ..Extension::EMPTY };
        assert_eq!(extension.check(), Ok(()));
    }

    /// Breaks if it is not the less loaded of two independent draws (Mitzenmacher 2001 §1). Of four
    /// ports with 0 to 3 packets, port i is drawn and not beaten with probability (7 - 2i)/16:
    /// binomial over 16,000 flowlets, five standard deviations (at most 63) either side.
    #[test]
    fn the_less_loaded_of_two() {
        let mut leaf = FakeLeaf::new(8, 4, 1);
        let mut balancer = build(&defaults(), &leaf.env).unwrap();
        for (packets, port) in (0..).zip(leaf.live.clone()) {
            wait_at(&mut leaf, port, packets * 1500, 0);
        }
        let mut counts = [0i32; 4];
        for seq in 0..16_000 {
            leaf.wait(Span(GAP.0 + 1));
            counts[usize::from(leaf.pick(&mut *balancer, &mut data(0, 9, 1, seq)).0 - 8)] += 1;
        }
        for (found, expected) in counts.into_iter().zip([7_000, 5_000, 3_000, 1_000]) {
            assert!((found - expected).abs() < 316, "{counts:?}");
        }
    }

    /// Breaks if the packet in transmission is no load: the busy one of two idle queues is taken
    /// only when it is drawn twice, a quarter of the time (binomial, 400: mean 100, deviation 8.7).
    #[test]
    fn a_packet_in_transmission_is_load() {
        let mut leaf = FakeLeaf::new(8, 2, 1);
        let mut balancer = build(&defaults(), &leaf.env).unwrap();
        wait_at(&mut leaf, PortId(8), 0, 1500);
        let busy = (0..400).filter(|seq| {
            leaf.wait(Span(GAP.0 + 1));
            leaf.pick(&mut *balancer, &mut data(0, 9, 1, *seq)) == PortId(8)
        });
        let busy = busy.count();
        assert!((56..=144).contains(&busy), "{busy} of 400");
    }

    /// Breaks if a flowlet is cut at or before the gap, or stays on a port that has gone.
    #[test]
    fn a_flowlet_keeps_its_port_while_it_lives() {
        let mut leaf = FakeLeaf::new(8, 8, 1);
        let mut balancer = build(&defaults(), &leaf.env).unwrap();
        let first = leaf.pick(&mut *balancer, &mut data(0, 9, 1, 0));
        wait_at(&mut leaf, first, 1_000_000, 0);
        for seq in 1..100 {
            leaf.wait(GAP);
            assert_eq!(leaf.pick(&mut *balancer, &mut data(0, 9, 1, seq)), first);
        }
        leaf.live.retain(|port| *port != first);
        let second = leaf.pick(&mut *balancer, &mut data(0, 9, 1, 100));
        assert!(leaf.live.contains(&second));
    }

    /// Breaks if a table is made whose entries the hash cannot reach evenly.
    #[test]
    fn entries_are_a_power_of_two() {
        let leaf = FakeLeaf::new(8, 4, 1);
        let error = build(&defaults().with("entries", Value::Int(1000)), &leaf.env).err().unwrap();
        assert_eq!(error.to_string(), "entries: found 1000; allowed: a power of two");
    }

    /// Breaks if anything makes it panic or leave the ports that it is offered: random parameters,
    /// flows, pauses, backlogs and failures.
    #[test]
    fn whatever_it_is_fed_it_answers_with_a_live_port() {
        let mut rng = Rng::new(1, Role::Balancer, 1);
        for round in 0..200 {
            let mut leaf = FakeLeaf::new(8, 8, round);
            let mut params = random_params(ENTRY.info.params, &mut rng);
            params = params.with("entries", Value::Int(1 << rng.below(12)));
            let mut balancer = build(&params, &leaf.env).unwrap();
            for seq in 0..200 {
                leaf.wait(Span(rng.next_u64() >> (20 + rng.below(40))));
                leaf.live = (8..15).filter(|_| rng.chance(0.5)).map(PortId).collect();
                leaf.live.push(PortId(15));
                let port = &mut leaf.ports.ports[8 + rng.below(8) as usize];
                let bytes = rng.next_u64() as u32;
                port.queues[0] = Backlog { packets: bytes / 1500, bytes, in_service: 0 };
                let mut packet = data(rng.below(8) as u16, 9, rng.below(99) as u16, seq);
                let port = leaf.pick(&mut *balancer, &mut packet);
                assert!(leaf.live.contains(&port), "{port:?} of {:?}", leaf.live);
            }
        }
    }
}
