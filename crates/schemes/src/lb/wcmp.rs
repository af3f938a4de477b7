//! WCMP: ECMP with the hash space shared out by the capacity of the paths.
//!
//! Source: Zhou, Tewari, Zhu, Kabbani, Poutievski, Singh, Vahdat, "WCMP: Weighted Cost Multipathing
//! for Improved Fairness in Data Centers", EuroSys 2014. A flow takes a next hop with
//! probability proportional to the capacity through it. Switches store a group by replicating
//! each member by its weight; to fit their tables, weights are reduced greedily, the load on every
//! member staying within a bound (maximum oversubscription) of its share.
//!
//! `entries = 0` weighs exactly: the hash is scaled to the sum of the capacities. `entries > 0`
//! replicates: tables of at most so many entries, reduced under `oversubscription`.
//!
//! State per switch: the seed, 8 bytes; with a table, 2 bytes an entry and 6 a port for each
//! destination leaf. Cost per packet: one hash; exact: a walk over the ports; table: a comparison
//! of the ports with those the table was made for, and one look-up.
//!
//! Unspecified in the source: the hash function (as `ecmp`); what happens when a link changes
//! (here the table towards each destination is rebuilt at once; flows may move). Exact weighting
//! is the default because it is what the table approximates and depends on no hardware's size.
//!
//! Provenance: paper.

use super::hash::{by_hash, flow_hash, region};
use super::slots::Slots;
use super::{Entry, LoadBalancer};
use crate::{
    Context, Demands, Footprint, Inspect, Kind, Param, ParamError, Params, Paths, Provenance,
    SchemeInfo, SwitchEnv, parameters,
};
use leafspine_core::{PacketMeta, PortId, Time};

struct Exact {
    seed: u64,
}

impl LoadBalancer for Exact {
    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, _: &mut Context<'_>) -> PortId {
        let total: u64 = paths.capacity.iter().map(|c| u64::from(*c)).sum();
        let mut point = region(flow_hash(packet, self.seed), total as usize) as u64;
        for (port, capacity) in paths.ports.iter().zip(paths.capacity) {
            if point < u64::from(*capacity) {
                return *port;
            }
            point -= u64::from(*capacity);
        }
        // No path has any capacity: all are alike.
        by_hash(packet, paths, self.seed)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Exact {
    fn footprint(&self, _: Time) -> Footprint {
        Footprint { bytes: size_of::<Exact>() as u64, ..Footprint::default() }
    }
}

struct Table {
    seed: u64,
    slots: Slots,
}

impl LoadBalancer for Table {
    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, _: &mut Context<'_>) -> PortId {
        let slots = self.slots.towards(paths);
        slots[region(flow_hash(packet, self.seed), slots.len())]
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Table {
    fn footprint(&self, _: Time) -> Footprint {
        Footprint { bytes: 8 + self.slots.bytes(), ..Footprint::default() }
    }
}

parameters! {
    struct Settings {
        entries: usize = Param::new(
            Kind::Int(0, 4096),
            "0",
            "Most entries of a destination's multipath table; 0 weighs exactly.",
        ),
        oversubscription: f64 = Param::new(
            Kind::Float(1.0, 16.0),
            "1.05",
            "With a table: the most that a port may be loaded, as a multiple of its share.",
        ),
    }
}

fn build(params: &Params, env: &SwitchEnv) -> Result<Box<dyn LoadBalancer>, ParamError> {
    let settings = Settings::read(params)?;
    let seed = env.hash_seed;
    let entries = settings.entries;
    if entries == 0 {
        return Ok(Box::new(Exact { seed }));
    }
    let slots = Slots::new(env, entries, settings.oversubscription);
    Ok(Box::new(Table { seed, slots }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "wcmp",
        summary: "Hashes each flow to a port with probability proportional to path capacity.",
        source: "Zhou et al., WCMP, EuroSys 2014",
        provenance: Provenance::Paper,
        unspecified: &[
            "The hash function is left open: that of ecmp.",
            "Exact weighting is the default; entries > 0 gives the paper's replicated table.",
            "When a link changes, the table is rebuilt at once, and flows may move.",
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
    use crate::testing::{FakeLeaf, data};

    /// Flows on each of three uplinks of 10, 5 and 1 Gb/s, of 64,000.
    fn shares(params: &Params) -> [i64; 3] {
        let mut leaf = FakeLeaf::new(8, 3, 1);
        leaf.capacity = vec![10_000_000, 5_000_000, 1_000_000];
        let mut wcmp = build(params, &leaf.env).unwrap();
        let mut flows = [0; 3];
        for sport in 0..64_000 {
            let port = leaf.pick(&mut *wcmp, &mut data(0, 9, sport, 0));
            flows[usize::from(port.0 - 8)] += 1;
        }
        flows
    }

    fn assert_near(flows: [i64; 3], expected: [i64; 3], deviations: [i64; 3]) {
        for i in 0..3 {
            assert!((flows[i] - expected[i]).abs() <= 4 * deviations[i], "{flows:?}");
        }
    }

    /// Breaks if shares are not 10/16, 5/16, 1/16 of 64,000 flows. Binomial standard deviations:
    /// sqrt(n p (1 - p)) = 122, 117, 61; four of them.
    #[test]
    fn shares_follow_capacity() {
        let defaults = Params::defaults(ENTRY.info.params);
        assert_near(shares(&defaults), [40_000, 20_000, 4_000], [122, 117, 61]);
    }

    /// Breaks if the table's size is not obeyed: with four entries the greedy reduction gives
    /// 2:1:1 (1/10 < 1/5 < 1), so the shares are 1/2, 1/4, 1/4. Standard deviations 126, 110.
    #[test]
    fn a_small_table_rounds_the_weights() {
        let params = Params::defaults(ENTRY.info.params).with("entries", Value::Int(4));
        assert_near(shares(&params), [32_000, 16_000, 16_000], [126, 110, 110]);
    }

    /// Breaks if zero capacity everywhere divides by zero or leaves the offered ports.
    #[test]
    fn no_capacity_is_equal_capacity() {
        let mut leaf = FakeLeaf::new(8, 3, 1);
        leaf.capacity = vec![0; 3];
        for entries in [0, 8] {
            let params = Params::defaults(ENTRY.info.params).with("entries", Value::Int(entries));
            let mut wcmp = build(&params, &leaf.env).unwrap();
            for sport in 0..100 {
                let port = leaf.pick(&mut *wcmp, &mut data(0, 9, sport, 0));
                assert!(leaf.live.contains(&port));
            }
        }
    }
}
