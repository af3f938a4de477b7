//! Queue managers: one packet.

use criterion::Criterion;
use leafspine_schemes::aqm;
use leafspine_schemes::microbench::Manager;
use std::hint::black_box;

/// `manage/<queue manager>`: ns for one ECN-capable data packet, defaults, at a 10 Gb/s port whose
/// backlog wanders between 0 and 100 packets, above and below the thresholds; `admit`, and
/// `release` where the manager decides then.
///
/// `droptail` is the floor: the call itself. Each packet-hop, about 50 ns, asks once, so 1 ns more
/// here is some 2 % of a run. `red` keeps an average, draws random numbers, and costs the most.
pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("manage");
    for entry in aqm::ALL {
        let mut bench = Manager::new(entry);
        group.bench_function(entry.info.name, |bencher| bencher.iter(|| black_box(bench.decide())));
    }
    group.finish();
}
