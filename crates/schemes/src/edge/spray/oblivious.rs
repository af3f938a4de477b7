//! Oblivious packet spraying: each packet takes an entropy value without regard to what became of those before it.
//!
//! Sources: oblivious spraying as REPS' paper compares it (Bonato et al., arXiv:2407.21625: a
//! random EV for each packet), and the round robin over paths of Multi-Path RDMA designs (Le et
//! al., STrack, arXiv:2407.15266). `order` chooses.
//!
//! State per connection: a word. Cost per packet: a random number or an addition.
//!
//! Unspecified: round robin begins at a random value for each connection.
//!
//! Provenance: paper.

use super::{BALANCERS, Call, ENTROPIES, any, echo, in_turn};
use crate::edge::{EdgeContext, Entry, FlowView, HostEdge, HostEnv, Needs};
use crate::{Demands, Param, ParamError, Params, Provenance, SchemeInfo, parameters, words};
use leafspine_core::PacketMeta;

struct Oblivious {
    entropies: u64,
    order: Order,
}

impl Oblivious {
    fn next(&self, (flow, cx): Call<'_, '_, '_, '_>) -> u16 {
        match self.order {
            Order::Random => any(self.entropies, cx.rng),
            Order::RoundRobin => in_turn(&mut flow.memory[0], self.entropies, cx.rng),
        }
    }
}

impl HostEdge for Oblivious {
    fn needs(&self) -> Needs {
        Needs { memory: 1, keeps_class: true, ..Needs::default() }
    }

    fn sending(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        packet.tag = self.next((flow, cx));
    }

    /// The feedback is not read, but ACKs are sprayed like the others'. (Where a kernel is the
    /// transport, nobody calls this, nor what is below: data are sprayed, and ACKs take the way of
    /// their connection.)
    fn receiving(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) {
        echo::note(packet, 1, flow);
    }

    fn trimmed(&mut self, header: &PacketMeta, flow: &mut FlowView<'_>, _: &mut EdgeContext<'_>) {
        echo::trimmed(header, flow);
    }

    fn replying(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) {
        echo::write(packet, flow);
    }
}

words! {
    enum Order {
        Random = "random",
        RoundRobin = "round-robin",
    }
}

parameters! {
    struct Settings {
        entropies: u64 = ENTROPIES,
        order: Order = Param::new(
            Order::KIND,
            "random",
            "Any entropy value for each packet, or one after the other.",
        ),
    }
}

fn build(params: &Params, _: &HostEnv) -> Result<Box<dyn HostEdge>, ParamError> {
    let Settings { entropies, order } = Settings::read(params)?;
    Ok(Box::new(Oblivious { entropies, order }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "oblivious",
        summary: "Gives each packet a random entropy value, or one after the other; switches hash it.",
        source: "Bonato et al., REPS, arXiv:2407.21625 (as what it is compared with)",
        provenance: Provenance::Paper,
        unspecified: &[
            "Round robin begins at a random value for each connection.",
            "An ACK takes the value of the packet that it answers.",
        ],
        params: Settings::PARAMS,
        demands: Demands { header_bits: 16, header_words: 3, queues: 1 },
    },
    build,
    balancers: BALANCERS,
    by_marks: false,
    by_stack: false,
    in_order: None,
    sprays: true,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FakeHost, chi_square, data, stated};

    fn evs(params: &[(&str, &str)], count: usize) -> Vec<u16> {
        let mut host = FakeHost::new(1_000);
        host.memory = vec![0; 1];
        let mut edge = build(&stated(ENTRY.info.params, params), &host.env).unwrap();
        let mut next = || {
            let mut packet = data(0, 9, 1, 0);
            host.send(&mut *edge, &mut packet);
            packet.tag
        };
        (0..count).map(|_| next()).collect()
    }

    /// Breaks if some value is favoured (chi-square, 7 degrees of freedom, 0.1 % point 24.3), or lies out of range.
    #[test]
    fn random_values_are_even() {
        let mut cells = [0; 8];
        evs(&[("entropies", "8")], 40_000).iter().for_each(|ev| cells[usize::from(*ev)] += 1);
        assert!(chi_square(&cells, &[5_000.0; 8]) < 24.3, "{cells:?}");
        assert!(evs(&[], 100).iter().any(|ev| *ev > 1_000), "65,536 by default");
    }

    /// Breaks if round robin leaves a value out, takes one twice, or stops at the end of the set.
    #[test]
    fn round_robin_takes_one_after_the_other() {
        let seen = evs(&[("entropies", "5"), ("order", "round-robin")], 11);
        assert!(seen.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 5), "{seen:?}");
    }
}
