//! Load balancers: one `pick` among eight uplinks.

use criterion::Criterion;
use leafspine_core::{PacketMeta, PortId, Rng, Role, Span, TorId};
use leafspine_schemes::lb::{self, Entry, LoadBalancer};
use leafspine_schemes::testing::{FakeHost, FakeLeaf, LEAVES, data};
use leafspine_schemes::{Params, registry};
use std::hint::black_box;

const HOSTS: u16 = 16;
const UPLINKS: u16 = 8;
const FLOWS: u16 = 1_000;
/// Eight uplinks of 10 Gb/s, full: a packet every 150 ns. A flow then sends every 150 us on average,
/// and 4 % of its pauses are longer than `letflow`'s 500 us.
const APART: Span = Span::from_nanos(150);
/// Packets after which the same flows come again in the same order.
const ROUND: usize = 1 << 13;

/// A leaf with a balancer, and the packets that ask it.
struct Asked {
    leaf: FakeLeaf,
    balancer: Box<dyn LoadBalancer>,
    packets: Vec<(PacketMeta, TorId)>,
    order: Vec<u16>,
    next: usize,
}

impl Asked {
    fn new(entry: &Entry) -> Asked {
        let leaf = FakeLeaf::new(HOSTS, UPLINKS, 1);
        let params = Params::defaults(entry.info.params);
        let balancer = (entry.build)(&params, &leaf.env).expect("defaults fit");
        let mut rng = Rng::new(1, Role::Workload, 0);
        let packets = (0..FLOWS).map(|flow| packet(entry, flow, &mut rng)).collect();
        let order = (0..ROUND).map(|_| rng.below(u64::from(FLOWS)) as u16).collect();
        Asked { leaf, balancer, packets, order, next: 0 }
    }

    fn pick(&mut self) -> PortId {
        let flow = self.order[self.next % ROUND];
        self.next += 1;
        let (mut packet, to) = self.packets[usize::from(flow)];
        self.leaf.wait(APART);
        self.leaf.pick_towards(&mut *self.balancer, &mut packet, to)
    }
}

/// A data packet from a host of this leaf to one of another, as the host edge that the balancer
/// needs sends it.
fn packet(entry: &Entry, flow: u16, rng: &mut Rng) -> (PacketMeta, TorId) {
    let dst = HOSTS + rng.below(u64::from(HOSTS * (LEAVES - 1))) as u16;
    let mut packet = data(flow % HOSTS, dst, flow, 0);
    packet.path = flow % UPLINKS;
    if let Some(name) = entry.edge {
        let mut host = FakeHost::new(u32::from(packet.payload));
        let edge = registry::host_edge(name).expect("registered");
        let params = Params::defaults(edge.info.params);
        let mut edge = (edge.build)(&params, &host.env).expect("defaults fit");
        // Flows are at different places, so that flowcells are.
        for seq in 0..=u32::from(flow % 400) {
            packet.seq = seq;
            host.send(&mut *edge, &mut packet);
            host.bytes_sent += u64::from(packet.payload);
        }
    }
    (packet, TorId(dst / HOSTS))
}

/// `pick/<balancer>`: ns for one data packet of one of 1,000 flows to 48 hosts, defaults, all paths
/// live and idle. `pinned` finds its path in the packet; `presto` finds its host edge's flowcell.
///
/// About 3 ns of each are the packet's copy and the choice of the flow, the same for all. A packet
/// that crosses a leaf-spine fabric makes four packet-hops, about 50 ns each, and is asked for
/// once: 10 ns more here are some 5 % of a run. `letflow` alone: its table's cache misses; all:
/// the arguments of [`LoadBalancer::pick`], or the call.
pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pick");
    for entry in lb::ALL {
        let mut asked = Asked::new(entry);
        group.bench_function(entry.info.name, |bencher| bencher.iter(|| black_box(asked.pick())));
    }
    group.finish();
}
