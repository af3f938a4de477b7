//! Queue managers: one `admit`.

use criterion::Criterion;
use leafspine_core::{PacketMeta, PortId, Rng, Role, Span, Time};
use leafspine_schemes::aqm::{self, Admit, Aqm, Entry};
use leafspine_schemes::testing::{FakeLeaf, data, queue_view};
use leafspine_schemes::{Params, QueueView};
use std::hint::black_box;

/// One 1500-byte packet after another at 10 Gb/s.
const APART: Span = Span(1_200_000);
/// The longest backlog that is shown, in packets. Every default threshold lies below.
const LONGEST: u64 = 100;
/// Packets after which the same backlogs come again.
const ROUND: usize = 1 << 10;

/// A port with a queue manager, and the backlogs it is shown.
struct Asked {
    aqm: Box<dyn Aqm>,
    packet: PacketMeta,
    backlogs: Vec<QueueView>,
    now: Time,
    rng: Rng,
    next: usize,
}

impl Asked {
    fn new(entry: &Entry) -> Asked {
        let env = FakeLeaf::new(16, 8, 1).env;
        let port = PortId(16);
        let params = Params::defaults(entry.info.params);
        let aqm = (entry.build)(&params, &env, port).expect("defaults fit");
        let packet = data(0, 20, 1, 0);
        let rng = Rng::new(1, Role::Aqm, 16);
        Asked { aqm, packet, backlogs: backlogs(port), now: Time::ZERO, rng, next: 0 }
    }

    fn admit(&mut self) -> Admit {
        let queue = &self.backlogs[self.next % ROUND];
        self.next += 1;
        self.now += APART;
        self.aqm.admit(&self.packet, queue, self.now, &mut self.rng)
    }
}

/// Backlogs as a queue has them: each one packet more or less than the last, between none and
/// [`LONGEST`].
fn backlogs(port: PortId) -> Vec<QueueView> {
    let mut rng = Rng::new(1, Role::Workload, 0);
    let mut waits = LONGEST / 2;
    let step = |_| {
        waits = if rng.chance(0.5) { (waits + 1).min(LONGEST) } else { waits.saturating_sub(1) };
        QueueView { port, ..queue_view(waits as u32, true) }
    };
    (0..ROUND).map(step).collect()
}

/// `admit/<queue manager>`: ns for one ECN-capable data packet, defaults, at a 10 Gb/s port whose
/// backlog wanders between 0 and 100 packets, above and below the thresholds.
///
/// `droptail` is the floor: the call itself. Each packet-hop, about 50 ns, asks once, so 1 ns more
/// here is some 2 % of a run. `red` keeps an average, draws random numbers, and costs the most.
pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("admit");
    for entry in aqm::ALL {
        let mut asked = Asked::new(entry);
        group.bench_function(entry.info.name, |bencher| bencher.iter(|| black_box(asked.admit())));
    }
    group.finish();
}
