//! A multipath table: ports replicated by weight, as switches store a weighted group.
//!
//! Weights are reduced as WCMP does it (Zhou et al., EuroSys 2014, the greedy reduction of one
//! group under a bound on oversubscription), and the entries stand interleaved as Presto sends
//! flowcells (He et al., SIGCOMM 2015, §3.3: weights 1, 2, 1 give p1, p2, p3, p2).

use crate::{Paths, SwitchEnv};
use leafspine_core::PortId;

/// One table per destination, rebuilt when the paths towards it have changed.
pub(crate) struct Slots {
    groups: Vec<Group>,
    weights: Vec<u32>,
    used: Vec<u32>,
    limit: usize,
    oversubscription: f64,
}

struct Group {
    ports: Vec<PortId>,
    capacity: Vec<u32>,
    slots: Vec<PortId>,
}

impl Slots {
    /// Tables of at most `limit` entries (or one a port, if that is more), the load on no port
    /// more than `oversubscription` times its share, if the limit allows.
    pub(crate) fn new(env: &SwitchEnv, limit: usize, oversubscription: f64) -> Slots {
        let ports = env.ports.len();
        // Sized for the worst case now: nothing is allocated when a link fails.
        let group = || Group {
            ports: Vec::with_capacity(ports),
            capacity: Vec::with_capacity(ports),
            slots: Vec::with_capacity(limit.max(ports)),
        };
        Slots {
            groups: (0..env.tors).map(|_| group()).collect(),
            weights: Vec::with_capacity(ports),
            used: Vec::with_capacity(ports),
            limit,
            oversubscription,
        }
    }

    /// Bytes of all tables.
    pub(crate) fn bytes(&self) -> u64 {
        let group = |g: &Group| {
            g.ports.capacity() * size_of::<PortId>()
                + g.capacity.capacity() * size_of::<u32>()
                + g.slots.capacity() * size_of::<PortId>()
        };
        self.groups.iter().map(group).sum::<usize>() as u64
    }

    /// The table towards `paths.to`. Never empty if there are paths.
    pub(crate) fn towards(&mut self, paths: &Paths<'_>) -> &[PortId] {
        let group = &mut self.groups[usize::from(paths.to.0)];
        if group.ports != paths.ports || group.capacity != paths.capacity {
            group.ports.clear();
            group.ports.extend_from_slice(paths.ports);
            group.capacity.clear();
            group.capacity.extend_from_slice(paths.capacity);
            reduce(paths.capacity, self.limit, self.oversubscription, &mut self.weights);
            interleave(paths.ports, &self.weights, &mut self.used, &mut group.slots);
        }
        &group.slots
    }
}

/// Whole weights for `capacity`, the smallest that the greedy reduction of WCMP finds: starting
/// from one entry a port, the port that is oversubscribed least by one more entry gets it, until
/// no port has more than `bound` times its share, the weights are exact, or `limit` is reached.
/// Ports without capacity get no entry, unless none has any: then all get one.
pub(crate) fn reduce(capacity: &[u32], limit: usize, bound: f64, weights: &mut Vec<u32>) {
    weights.clear();
    let divisor = capacity.iter().fold(0, |a, b| gcd(a, *b));
    if divisor == 0 {
        weights.resize(capacity.len(), 1);
        return;
    }
    let exact = |i: usize| u64::from(capacity[i] / divisor);
    let total: u64 = (0..capacity.len()).map(exact).sum();
    weights.extend(capacity.iter().map(|c| u32::from(*c > 0)));
    let mut entries: u64 = weights.iter().map(|w| u64::from(*w)).sum();
    while entries < total && entries < limit as u64 {
        // Oversubscription of port i: its share of entries over its share of capacity.
        let over = |i: usize| {
            let (has, due) = (u64::from(weights[i]) * total, exact(i) * entries);
            has as f64 > bound * due as f64
        };
        if !(0..weights.len()).any(over) {
            return;
        }
        // (w'_i + 1) / w_i, compared without dividing; the first of equals.
        let cheaper = |a: usize, b: usize| {
            u64::from(weights[a] + 1) * exact(b) < u64::from(weights[b] + 1) * exact(a)
        };
        // Never one without capacity: it is cheaper than none.
        let Some(next) = (0..weights.len()).reduce(|a, b| if cheaper(b, a) { b } else { a }) else {
            return;
        };
        weights[next] += 1;
        entries += 1;
    }
}

/// Writes each port as often as it weighs, as evenly spaced as whole turns allow: always the port
/// that has had the smallest part of its weight, the first of equals.
fn interleave(ports: &[PortId], weights: &[u32], used: &mut Vec<u32>, slots: &mut Vec<PortId>) {
    slots.clear();
    used.clear();
    used.resize(weights.len(), 0);
    for _ in 0..weights.iter().sum::<u32>() {
        let behind = |a: usize, b: usize| {
            u64::from(used[a]) * u64::from(weights[b]) < u64::from(used[b]) * u64::from(weights[a])
        };
        let weighing = (0..weights.len()).filter(|i| weights[*i] > 0);
        if let Some(next) = weighing.reduce(|a, b| if behind(b, a) { b } else { a }) {
            used[next] += 1;
            slots.push(ports[next]);
        }
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeLeaf;
    use leafspine_core::TorId;

    fn reduced(capacity: &[u32], limit: usize, bound: f64) -> Vec<u32> {
        let mut weights = Vec::new();
        reduce(capacity, limit, bound, &mut weights);
        weights
    }

    /// Breaks if the reduction does not stop at the exact weights.
    #[test]
    fn exact_weights_are_the_smallest_whole_ones() {
        assert_eq!(reduced(&[1_000_000, 200_000, 1_000_000], 64, 1.0), [5, 1, 5]);
        assert_eq!(reduced(&[10; 8], 64, 1.0), [1; 8]);
        assert_eq!(reduced(&[7, 0, 7], 64, 1.0), [1, 0, 1]);
        assert_eq!(reduced(&[0, 2, 1], 64, 1.0), [0, 2, 1]);
        assert_eq!(reduced(&[0, 0], 64, 1.0), [1, 1]);
    }

    /// Breaks if the greedy step is another. By hand, weights 10:9 under a bound of 1.06: (1, 1)
    /// gives the second port 19/18 = 1.056 times its share, so two entries do. Under 1.05: the
    /// first port is next (2/10 < 2/9): (2, 1) loads it 2/3 : 10/19 = 1.267, then (2, 2) 1.056,
    /// (3, 2) 1.14, (3, 3) 1.056, (4, 3) 1.086, (4, 4), (5, 4) 1.056, (5, 5), (6, 5) 1.036.
    #[test]
    fn reduction_stops_at_the_bound() {
        assert_eq!(reduced(&[10, 9], 64, 1.06), [1, 1]);
        assert_eq!(reduced(&[10, 9], 64, 1.05), [6, 5]);
        assert_eq!(reduced(&[10, 9], 4, 1.05), [2, 2]);
        // 10:5:1 in six entries: 2/10, 3/10 and 4/10 (no dearer than 2/5, and first) go to port 1.
        assert_eq!(reduced(&[10, 5, 1], 6, 1.0), [4, 1, 1]);
    }

    /// Breaks if the order is not the interleaved one: Presto §3.3's example.
    #[test]
    fn slots_are_interleaved() {
        let (mut used, mut slots) = (Vec::new(), Vec::new());
        interleave(&[PortId(1), PortId(2), PortId(3)], &[1, 2, 1], &mut used, &mut slots);
        assert_eq!(slots, [PortId(1), PortId(2), PortId(3), PortId(2)]);
        interleave(&[PortId(1), PortId(2), PortId(3)], &[0, 2, 1], &mut used, &mut slots);
        assert_eq!(slots, [PortId(2), PortId(3), PortId(2)]);
    }

    /// Breaks if a table outlives the paths that it was made for.
    #[test]
    fn a_change_of_paths_makes_a_new_table() {
        let leaf = FakeLeaf::new(2, 3, 1);
        let mut slots = Slots::new(&leaf.env, 16, 1.0);
        let ports = [PortId(2), PortId(3), PortId(4)];
        let mut towards = |ports: &[PortId], capacity: &[u32]| {
            slots.towards(&Paths { to: TorId(1), ports, capacity, delay: &[] }).to_vec()
        };
        assert_eq!(towards(&ports, &[10, 10, 10]), ports);
        assert_eq!(towards(&ports[..2], &[10, 10]), ports[..2]);
        assert_eq!(towards(&ports[1..], &[10, 10]), ports[1..]);
        assert_eq!(towards(&ports[..2], &[10, 20]), [PortId(2), PortId(3), PortId(3)]);
    }

    /// Breaks if a table is rebuilt though its paths have not changed, or because another destination was
    /// asked for: what is written into it would be gone.
    #[test]
    fn a_table_is_made_once() {
        let leaf = FakeLeaf::new(2, 3, 1);
        let mut slots = Slots::new(&leaf.env, 16, 1.0);
        let ports = [PortId(2), PortId(3)];
        let towards = |to, capacity| Paths { to: TorId(to), ports: &ports, capacity, delay: &[] };
        slots.towards(&towards(1, &[10, 10]));
        slots.groups[1].slots[0] = PortId(4);
        slots.towards(&towards(2, &[10, 20]));
        assert_eq!(slots.towards(&towards(1, &[10, 10])), [PortId(4), PortId(3)]);
    }

    /// Breaks if the tables' room is not that of the worst case, counted in full: for each of 4 leaves 5 ports of 2
    /// bytes with 4 of capacity, and as many slots of 2 bytes as the limit or the ports.
    #[test]
    fn room_is_made_for_the_worst_case() {
        let leaf = FakeLeaf::new(2, 3, 1);
        let bytes = |limit| Slots::new(&leaf.env, limit, 1.0).bytes();
        assert_eq!([bytes(16), bytes(3)], [4 * (5 * 6 + 16 * 2), 4 * (5 * 6 + 5 * 2)]);
    }
}
